"""Choosing a number by leaving each row out: how well are the classes of the rows predicted without them?

Formula: T on leave-one-out scores
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.encoder import Encoder
from bayeskit.data.source import Source
from bayeskit.estimate.temperature import fit_temperature
from bayeskit.evaluate.selection import ColumnSearch
from bayeskit.memory import MEMORY
from bayeskit.models.base.estimator import clone
from bayeskit.models.base.settings import seed_of
from bayeskit.models.naive_bayes.left_out import NaiveLeftOut
from bayeskit.typing import Floats, Ints

if TYPE_CHECKING:
    from bayeskit.models.naive_bayes.classifier import NaiveBayes

ALPHAS = np.logspace(-3, 3, 13)
STEPS = 10  # golden-section steps between the neighbours of the best of these


def best_smoothing(model: NaiveBayes, source: Source) -> float:
    """The α with the least leave-one-out log loss −Σ w ln P(class | row) on the rows the model has learnt.

    Probabilities are those at the model's temperature: else a large α would stand in for a high temperature.
    """

    start = model._left_out()
    blocks = [(block, start.unsmoothed(block)) for block in weighty_blocks(model, source)]

    def loss(log_alpha: float) -> float:
        other = clone(model).set_params(smoothing=float(logspace.exp(log_alpha))).fit_tally(model.tally_)
        left_out = NaiveLeftOut(other)
        total = 0.0
        for block, unsmoothed in blocks:
            scores = left_out.scores(block, unsmoothed)
            scores /= model.temperature
            labels: Ints = np.asarray(block.labels, dtype=np.int64)
            log_p = logspace.log_posterior_of(scores, labels)
            known = np.isfinite(log_p)  # a class that only one row shows is lost for every α
            total -= float((log_p * (1.0 if block.weights is None else block.weights))[known].sum())
        return total

    grid = logspace.log(ALPHAS)
    losses = [loss(log_alpha) for log_alpha in grid]
    best = int(np.argmin(losses))
    return float(logspace.exp(_golden(loss, grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])))


def judged_terms(model: NaiveBayes, source: Source) -> ColumnSearch:
    """The terms of the rows that the model has learnt, each without itself; parts of a date are one column."""
    left_out, schema = model._left_out(), model.schema_
    n_rows = sum(batch.n_rows for batch in source.batches())
    per_row = 8 * len(model.classes_) * (len(schema.used) + 2)
    chosen = np.ones(n_rows, dtype=bool)
    if n_rows * per_row > MEMORY:
        order = np.random.default_rng(seed_of(model.random_state)).permutation(n_rows)
        chosen[order[int(MEMORY // per_row) :]] = False
    priors, labels, weights, start = [], [], [], 0
    terms: dict[str, list[Floats]] = {}
    for block in model._encoder().blocks(source):
        here = chosen[start : start + block.n_rows]
        start += block.n_rows
        rows = block.take(np.flatnonzero(here if block.weights is None else here & (block.weights > 0)))
        if not rows.n_rows:
            continue
        prior, columns = left_out.column_terms(rows)
        for name in schema.needed:
            of_name = [columns[part] for part in columns if schema.input_of(part) == name]
            if of_name:
                terms.setdefault(name, []).append(sum(of_name[1:], of_name[0]) / model.temperature)
        priors.append(prior / model.temperature)
        labels.append(np.asarray(rows.labels, dtype=np.int64))
        weights.append(np.ones(rows.n_rows) if rows.weights is None else rows.weights)
    joined = {name: np.concatenate(parts) for name, parts in terms.items()}
    return ColumnSearch(np.concatenate(priors), joined, np.concatenate(labels), np.concatenate(weights))


def weighty_blocks(model: LeavesOut, source: Source) -> Iterator[Block]:
    """The rows in the model's codes, without those of weight zero, which it has not learnt."""
    for block in model._encoder().blocks(source):
        yield block if block.weights is None or block.weights.all() else block.take(block.weights > 0)


class LeavesOut(Protocol):
    """A model that scores its own rows, each without itself."""

    def _left_out(self) -> Any: ...
    def _encoder(self) -> Encoder: ...


def best_temperature(model: LeavesOut, source: Source, capped: bool = False) -> float:
    """The T with the least leave-one-out log loss of softmax(scores / T) on the rows the model has learnt.

    ``capped`` probabilities are (n p + 1) / (n + C): one row that is wholly mistaken decides nothing then.
    """
    left_out = model._left_out()
    scores, labels, weights = [], [], []
    for block in weighty_blocks(model, source):
        block_scores = left_out.scores(block)
        block_labels = np.asarray(block.labels, dtype=np.int64)
        # a class that only one row shows is lost for every T
        known = np.isfinite(block_scores[np.arange(block.n_rows), block_labels])
        scores.append(block_scores[known])
        labels.append(block_labels[known])
        weights.append((np.ones(block.n_rows) if block.weights is None else block.weights)[known])
    s, y, w = np.concatenate(scores), np.concatenate(labels), np.concatenate(weights)
    return 1 / fit_temperature(s, y, w, capped) if len(y) and s.shape[1] > 1 else 1.0


def _golden(loss: object, low: float, high: float) -> float:
    """The minimum of a function between two points, by golden section."""
    assert callable(loss)
    ratio = (5**0.5 - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = loss(a), loss(b)
    for _ in range(STEPS):
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = loss(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = loss(b)
    return a if at_a <= at_b else b

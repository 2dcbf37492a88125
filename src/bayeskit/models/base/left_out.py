"""Choose settings of a model by its leave-one-out scores, and name the choices that these cannot judge.

Formula: T on leave-one-out scores
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.schema import Numeric, Schema
from bayeskit.data.source import Source
from bayeskit.errors import BayesError, NotLearned
from bayeskit.estimate.prior import log_prior_without
from bayeskit.estimate.smoothing import Automatic, BackOff, as_smoothing
from bayeskit.estimate.temperature import fit_temperature
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array, Floats, Ints


class LeftOutRows:
    """Base of leave-one-out scores: the model, its counts and the class prior without each row."""

    def __init__(self, model: Any, tally: Tally) -> None:
        self.model, self.tally = model, tally

    def log_prior(self, label: int, unit: float) -> Floats:
        """Return ln P(class) without ``unit`` rows of a class; a class without other rows is impossible."""
        prior = self.model._prior_setting()
        return log_prior_without(prior, self.tally.classes, self.tally.class_counts, label, unit)

    def log_priors(self, labels: Array, units: Floats) -> Floats:
        """Return ln P(class) without each row, shape (n_rows, n_classes)."""
        whole = np.zeros((len(self.tally.classes),) * 2)
        for label in np.flatnonzero(np.bincount(labels)).tolist():
            whole[label] = self.log_prior(label, 1.0)
        priors = np.take(whole, labels, axis=0, mode="clip")
        for label in np.unique(labels[units < 1]).tolist():
            rows = np.flatnonzero((labels == label) & (units < 1))
            distinct, which = np.unique(units[rows], return_inverse=True)
            priors[rows] = np.stack([self.log_prior(label, unit) for unit in distinct.tolist()])[which]
        return priors

    def labels_and_units(self, block: Block) -> tuple[Ints, Floats]:
        """Return the class code of each row, and how much of the row its count holds: 1, or a smaller weight."""
        need_one_label(block)
        if block.labels is None or (block.labels >= len(self.tally.classes)).any():
            raise NotLearned(f"{self.model._rows_are} to leave out have a class that was never learned")
        units = np.ones(block.n_rows) if block.weights is None else np.minimum(block.weights, 1.0)
        return block.labels.astype(np.int64), units


def need_one_label(block: Block) -> None:
    """Raise an error for rows with class probabilities, which cannot be left out in closed form."""
    if block.responsibilities is not None:
        raise BayesError("rows to leave out need one label each, not class probabilities")


def learned_blocks(model: Any, X: Any, y: Any, sample_weight: Any, max_rows: int, seed: Any) -> list[Block]:
    """Return the learned rows whose class has other rows; of more than ``max_rows``, a random part."""
    from bayeskit.evaluate.leave_one_out import is_last_of_class

    counts = model.tally_.class_counts.astype(np.float64)
    share, rng, blocks = max_rows / max(float(counts.sum()), 1.0), np.random.default_rng(seed), []
    for block in model._blocks_learned(X, y, sample_weight):
        need_one_label(block)
        chosen = np.ones(block.n_rows, dtype=bool) if share >= 1 else rng.random(block.n_rows) < share
        chosen &= True if block.weights is None else block.weights > 0
        labels = np.where(chosen, np.asarray(block.labels), 0).astype(np.intp)
        alone = is_last_of_class(counts, labels, None if block.weights is None else np.minimum(block.weights, 1.0))
        blocks.append(block.take(np.flatnonzero(chosen if alone is None else chosen & ~alone)))
    return [block for block in blocks if block.n_rows]


def weighty_blocks(model: Any, source: Source) -> Iterator[Block]:
    """Yield the rows in the codes of the model, without those of weight zero."""
    for block in model._encoder().blocks(source):
        need_one_label(block)
        yield block if block.weights is None or block.weights.all() else block.take(block.weights > 0)


def sample_blocks(model: Any, source: Source, limit: int, seed: Any) -> list[Block]:
    """Return the rows of positive weight in the codes of the model; of more than ``limit`` rows, a random part."""
    n_rows = sum(batch.n_rows for batch in source.batches())
    chosen = np.ones(n_rows, dtype=bool)
    if limit < n_rows:
        chosen[np.random.default_rng(seed).permutation(n_rows)[limit:]] = False
    blocks = []
    for block in model._encoder().blocks(source):
        keep = chosen[block.start : block.start + block.n_rows]
        blocks.append(block.take(np.flatnonzero(keep if block.weights is None else keep & (block.weights > 0))))
    return [block for block in blocks if block.n_rows]


def labels_and_weights(blocks: Iterable[Block]) -> tuple[Ints, Floats]:
    """Return the class codes and the weights of all rows."""
    pairs = (
        (np.asarray(b.labels, dtype=np.int64), np.ones(b.n_rows) if b.weights is None else b.weights) for b in blocks
    )
    labels, weights = map(np.concatenate, zip(*pairs, strict=True))
    return labels, weights


def best_temperature(model: Any, source: Source, capped: bool = False) -> float:
    """Return the T with the least leave-one-out log loss of softmax(scores / T) on the training rows.

    ``capped`` probabilities are (n p + 1) / (n + C): one row that is wholly mistaken decides nothing then.
    """
    left_out = model._left_out()
    parts = [(left_out.scores(block), *labels_and_weights([block])) for block in weighty_blocks(model, source)]
    s, y, w = map(np.concatenate, zip(*parts, strict=True))
    known = np.isfinite(s[np.arange(len(y)), y])  # a class that only one row shows is lost for every T
    return 1 / fit_temperature(s[known], y[known], w[known], capped) if known.any() and s.shape[1] > 1 else 1.0


def left_out_loss(scored: Iterable[tuple[Block, Floats]]) -> float:
    """Return −Σ w ln P(class | row) of left-out log scores, shape (n_rows, n_classes) per block.

    Rows that are the only ones of their class are left out: no model without them knows it.
    """
    total = 0.0
    for block, scores in scored:
        log_p = logspace.log_posterior_of(scores, np.asarray(block.labels, dtype=np.int64))
        known = np.isfinite(log_p)
        total -= float((log_p * (1.0 if block.weights is None else block.weights))[known].sum())
    return total


def choices_by_class(smoothing: Any, cuts: Any, schema: Schema) -> tuple[str, ...]:
    """Return which of cut points and smoothing were chosen by looking at the classes of the rows.

    >>> choices_by_class("auto", "mdl", Schema({"age": Numeric((27.5,))})), choices_by_class(1.0, 10, Schema({}))
    (('cuts', 'smoothing'), ())
    """
    ways = cuts.values() if isinstance(cuts, Mapping) else [cuts]
    by_class = any(
        "mdl" in ((way,) if isinstance(way, str) else way[:1] if isinstance(way, tuple) else ()) for way in ways
    )
    cut = any(isinstance(role, Numeric) and role.cuts for role in schema.columns.values())
    amounts = [as_smoothing(one) for one in (smoothing.values() if isinstance(smoothing, Mapping) else [smoothing])]
    fitted = any(isinstance(one, Automatic) or (isinstance(one, BackOff) and one.m is None) for one in amounts)
    smoothed = bool(schema.coded or schema.texts)
    return ("cuts",) * (by_class and cut) + ("smoothing",) * (fitted and smoothed)

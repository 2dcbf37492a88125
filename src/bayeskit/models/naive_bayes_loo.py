"""Leave-one-out scores of naive Bayes in closed form: each row is scored by the model fitted without it.

The rows of one class share their left-out tables, and a Gaussian without one value is a Gaussian again, so a row costs
about as much as a prediction.


Formula: what the estimates are without one row
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.source import Source
from bayeskit.data.vocabulary import positions
from bayeskit.errors import NotLearnt
from bayeskit.estimate.columns.column import Leaving, LeftOutColumns
from bayeskit.estimate.prior import log_prior_without, prior_without_class
from bayeskit.evaluate.selection import ColumnSearch
from bayeskit.memory import MEMORY
from bayeskit.models.base.estimator import clone, seed_of
from bayeskit.models.base.tally_classifier import weighty_blocks
from bayeskit.threads import thread_count
from bayeskit.tolerance import GONE
from bayeskit.typing import Floats, Ints

if TYPE_CHECKING:
    from bayeskit.models.naive_bayes import NaiveBayes


class NaiveLeftOut:
    """Scores of labelled rows that the model has learnt, each without itself (rows, classes).

    Classes are those of the model; a class that only the row shows is impossible without it.
    """

    def __init__(self, model: NaiveBayes) -> None:
        self.model = model
        self.tally = model.tally_
        self.params = model.params_

    @cached_property
    def kinds(self) -> list[LeftOutColumns]:
        """The columns of each kind, in the order of their scores."""
        return [kind.left_out(self.tally, self.model) for kind in self.params.kinds]

    def scores(self, block: Block, unsmoothed: Floats | None = None) -> Floats:
        """ln P(x, class) of each row under the estimates made without it.

        ``unsmoothed`` are the scores of the kinds that no smoothing changes, where they are known.
        """
        leaving = self._leaving(block)
        scores = self._prior(leaving)
        for kind, left_out in zip(self.params.kinds, self.kinds, strict=True):
            if unsmoothed is None or kind.smoothed:
                left_out.add_scores(leaving, scores, thread_count(self.model.n_threads))
            elif unsmoothed is not None:
                scores += unsmoothed
                unsmoothed = np.zeros(1)  # they are all in it
        for label in () if leaving.whole else np.unique(leaving.labels[~leaving.stays]):
            rows = ~leaving.stays & (leaving.labels == label)
            scores[rows] = self._without_class(block.take(rows), int(label))
        return scores

    def unsmoothed(self, block: Block) -> Floats:
        """The scores of the kinds that no smoothing changes."""
        leaving = self._leaving(block)
        scores = np.zeros((block.n_rows, len(self.tally.classes)))
        for kind, left_out in zip(self.params.kinds, self.kinds, strict=True):
            if not kind.smoothed:
                left_out.add_scores(leaving, scores, thread_count(self.model.n_threads))
        return scores

    def log_prior(self, label: int, unit: float) -> Floats:
        """ln P(class) without a row of a class, or a part of one."""
        return log_prior_without(self.model.prior, self.tally.classes, self.tally.class_counts, label, unit)

    def _leaving(self, block: Block) -> Leaving:
        labels, counts = block.labels, self.tally.class_counts
        if labels is None or (labels >= len(self.tally.classes)).any():
            raise NotLearnt("a row to leave out has a class that was never learnt")
        gone = GONE * self.tally.n_rows
        unit = np.ones(block.n_rows) if block.weights is None else np.minimum(block.weights, 1.0)
        whole = block.weights is None and not (counts - 1 <= gone).any()
        stays = np.ones(block.n_rows, dtype=bool) if whole else ~(counts[labels] - unit <= gone)
        return Leaving(block, labels, unit, stays, whole, self.tally.classes)

    def _prior(self, leaving: Leaving) -> Floats:
        """ln P(class) without the row; nothing yet for rows that take their class along."""
        labels, unit, stays = leaving.labels, leaving.unit, leaving.stays
        prior = np.stack([self.log_prior(label, 1.0) for label in range(len(self.tally.classes))])
        if leaving.whole:
            return np.take(prior, labels, axis=0, mode="clip")
        scores = np.zeros((len(labels), len(self.tally.classes)))
        whole = stays & (unit == 1)
        scores[whole] = prior[labels[whole]]
        for label in np.unique(labels[stays & ~whole]):
            rows = stays & ~whole & (labels == label)
            distinct, which = np.unique(unit[rows], return_inverse=True)
            scores[rows] = np.stack([self.log_prior(int(label), float(u)) for u in distinct])[which]
        return scores

    # -- term by term ----------------------------------------------------------------------------------

    @cached_property
    def term_names(self) -> list[str]:
        """What the terms stand for: the class prior by the target's name, then the columns that speak."""
        for kind in self.params.kinds:
            kind.powered(dict.fromkeys(kind.used, 1.0))  # refuses kinds without terms
        return [self.tally.schema.target.name, *self.params.used]

    def terms(self, block: Block) -> Floats:
        """The scores term by term (rows, classes, terms): they sum to :meth:`scores`.

        A row that is the last of its class has −∞ for it in the term of the prior, and 0 in the others.
        """
        prior, columns = self.column_terms(block)
        terms = np.zeros((*prior.shape, len(self.term_names)))
        terms[:, :, 0] = prior
        for name, term in columns.items():
            terms[:, :, self.term_names.index(name)] = term
        return terms

    def column_terms(self, block: Block) -> tuple[Floats, dict[str, Floats]]:
        """(ln P(class) without the row, what each column that speaks adds to it), all (rows, classes)."""
        leaving = self._leaving(block)
        prior = np.zeros((block.n_rows, len(self.tally.classes)))
        for label in np.unique(leaving.labels):
            of_class = leaving.labels == label
            for u in np.unique(leaving.unit[of_class]):
                prior[of_class & (leaving.unit == u)] = self.log_prior(int(label), float(u))
        return prior, {name: term for kind in self.kinds for name, term in kind.terms(leaving).items()}

    def _without_class(self, block: Block, label: int) -> Floats:
        """Rows that take their class along: a model of the other classes alone scores them."""
        tally, keep = self.tally, np.arange(len(self.tally.classes)) != label
        scores = np.full((block.n_rows, len(keep)), -np.inf)
        if not keep.any():
            return scores
        classes = tuple(c for c, stays in zip(tally.classes, keep, strict=True) if stays)
        schema = replace(tally.schema, target=replace(tally.schema.target, domain=None))
        rest = tally.with_classes(np.flatnonzero(keep), classes).with_schema(schema).tidy()
        model = copy(self.model)
        model.prior = prior_without_class(model.prior, tally.classes, label)
        params = model.estimate(rest)
        held = np.flatnonzero(keep)[positions(rest.classes, classes)]
        pairs = zip(params.kinds, self.params.kinds, strict=True)
        params = replace(params, kinds=tuple(kind.holding(before, held) for kind, before in pairs))
        codes = {}
        for name, vocabulary in params.vocabularies.items():
            values = vocabulary.values
            new = positions(self.params.vocabularies[name].values, values)
            slots = np.concatenate([[0], np.where(new < 0, len(values) + 1, new + 1), [len(values) + 1]])
            codes[name] = slots.astype(np.uint32)[block.codes[name]]
        tokens = {name: rows.among(params.words[name]) for name, rows in block.tokens.items()}
        scores[:, held] = self.model.log_joint(params, replace(block, codes=codes, tokens=tokens))
        return scores


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

"""Leave-one-out for naive Bayes, in closed form: each learnt row scored by the model made without it.

The rows of one class share their left-out tables, so a row costs about what a prediction costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.data.encode import Block
from bayeskit.data.schema import Categorical
from bayeskit.data.vocabulary import positions
from bayeskit.errors import NotLearnt
from bayeskit.estimate.left_out import GONE, LeftOutGaussians, LeftOutValues
from bayeskit.estimate.prior import class_prior
from bayeskit.estimate.smoothing import as_smoothing
from bayeskit.tally.families import Family
from bayeskit.tally.tally import Tally

if TYPE_CHECKING:
    from bayeskit.models.naive_bayes import NaiveBayes

Floats = npt.NDArray[np.float64]
CHUNK = 4096  # rows of the exact Gaussian path at a time


class NaiveLeftOut:
    """Scores of labelled rows that the model has learnt, each without itself (rows, classes).

    Classes are those of the model; a class that only the row shows is impossible without it.
    """

    def __init__(self, model: NaiveBayes) -> None:
        self.model = model
        self.tally = model.tally_
        self.params = model.params_
        self._tables: dict[int, list[Floats]] = {}

    def scores(self, block: Block) -> Floats:
        """ln P(x, class) of each row under the estimates made without it."""
        counted = self.by_class(block, self.values_of_class) + self.by_class(block, self.words_of_class)
        return counted + self.by_class(block, self.gaussians_of_class)

    def by_class(self, block: Block, score: Callable[[Block, int, Floats], Floats]) -> Floats:
        """Scores of all rows, the rows of a class together."""
        labels = block.labels
        if labels is None or (labels >= len(self.tally.classes)).any():
            raise NotLearnt("a row to leave out has a class that was never learnt")
        scores = np.empty((block.n_rows, len(self.tally.classes)))
        for label in np.unique(labels):
            rows = np.flatnonzero(labels == label)
            part = block.take(rows)
            unit = np.ones(part.n_rows) if part.weights is None else np.minimum(part.weights, 1.0)
            scores[rows] = score(part, int(label), unit)
        return scores

    def values_of_class(self, block: Block, label: int, unit: Floats) -> Floats:
        """Prior and coded columns; rows that take their class along are scored as a whole."""
        if self._is_last(label, unit):
            return self._without_class(block, label)
        scores = np.empty((block.n_rows, len(self.tally.classes)))
        if (unit == 1).all():
            scores[:] = self._prior(label, 1.0)
            self._add_whole_values(block, label, scores)
        else:
            for u in np.unique(unit):
                scores[unit == u] = self._prior(label, float(u))
            self._add_values(block, label, unit, scores)
        return scores

    def words_of_class(self, block: Block, label: int, unit: Floats) -> Floats:
        """Texts."""
        scores = np.zeros((block.n_rows, len(self.tally.classes)))
        if self._is_last(label, unit):
            return scores
        labels = np.full(block.n_rows, label, dtype=np.int64)
        for name, table in self.params.texts.items():
            scores += table.left_out(block.tokens[name], self.tally.words[name], labels, unit)
        return scores

    def gaussians_of_class(self, block: Block, label: int, unit: Floats) -> Floats:
        """Measured columns."""
        scores = np.zeros((block.n_rows, len(self.tally.classes)))
        if self._is_last(label, unit):
            return scores
        for names, gaussians in self._gaussians:
            for start in range(0, block.n_rows, CHUNK):
                rows = slice(start, min(start + CHUNK, block.n_rows))
                x = np.column_stack([block.floats[name][rows] for name in names])
                scores[rows] += gaussians.scores(x, np.full(len(x), label), unit[rows])
        return scores

    def _is_last(self, label: int, unit: Floats) -> bool:
        """Whether a row of this class leaves nothing of it."""
        return bool(self.tally.class_counts[label] - unit.max() <= GONE * self.tally.n_rows)

    def _prior(self, label: int, unit: float) -> Floats:
        counts = self.tally.class_counts.astype(np.float64)
        counts[label] -= unit
        return np.asarray(logspace.log(class_prior(self.model.prior, self.tally.classes, counts)))

    @cached_property
    def _values(self) -> dict[str, LeftOutValues]:
        found = {}
        for name, table in self.params.tables.items():
            if table.used:
                role = self.tally.schema.columns[name]
                declared = not isinstance(role, Categorical) or role.domain is not None
                smoothing = as_smoothing(self.model.setting_for("smoothing", name, self.tally.schema))
                found[name] = LeftOutValues.of(table, self.tally.families[name], smoothing, declared)
        return found

    def _add_whole_values(self, block: Block, label: int, scores: Floats) -> None:
        """Rows that leave as a whole: a table of all slots serves them all."""
        if label not in self._tables:
            self._tables[label] = []
            for values in self._values.values():
                slots = np.arange(values.counts.shape[1])
                others, own = values.scores(slots, np.full(len(slots), label), np.ones(len(slots)))
                others[:, label] = own
                self._tables[label].append(np.ascontiguousarray(others))
        codes = [block.codes[name] for name in self._values]
        kernels.score_codes(codes, self._tables[label], scores, self.model._threads())

    def _add_values(self, block: Block, label: int, unit: Floats, scores: Floats) -> None:
        """Rows that leave by a part of their weight, each by its own."""
        for name, values in self._values.items():
            others, own = values.scores(block.codes[name], np.full(block.n_rows, label), unit)
            others[:, label] = own
            scores += others

    @cached_property
    def _gaussians(self) -> list[tuple[list[str], LeftOutGaussians]]:
        """Measured columns by their variance rule."""
        groups: dict[str, list[str]] = {}
        for name in self.params.columns:
            groups.setdefault(self.model.setting_for("variance", name, self.tally.schema), []).append(name)
        counts = self.tally.class_counts.astype(np.float64)
        found = []
        for rule, names in groups.items():
            moments = self.tally.moments.columns([self.params.columns.index(name) for name in names])
            found.append((names, LeftOutGaussians(moments, counts, rule, self.model.ddof)))  # type: ignore[arg-type]
        return found

    def _without_class(self, block: Block, label: int) -> Floats:
        """Rows that take their class along: a model of the other classes alone scores them."""
        tally, keep = self.tally, np.arange(len(self.tally.classes)) != label
        scores = np.full((block.n_rows, len(keep)), -np.inf)
        if not keep.any():
            return scores
        families = {n: Family(f.values, f.counts[keep]) for n, f in tally.families.items()}
        classes = tuple(c for c, kept in zip(tally.classes, keep, strict=True) if kept)
        schema = replace(tally.schema, target=replace(tally.schema.target, domain=None))
        moments = tally.moments.take(np.flatnonzero(keep))
        words = {name: counted.with_classes(np.flatnonzero(keep)) for name, counted in tally.words.items()}
        rest = Tally(schema, classes, tally.class_counts[keep], families, tally.moment_columns, moments, words).tidy()
        params = self.model.estimate(rest)
        codes = {}
        for name, table in params.tables.items():
            new = positions(self.params.tables[name].values, table.values)
            slots = np.concatenate([[0], np.where(new < 0, len(table.values) + 1, new + 1), [len(table.values) + 1]])
            codes[name] = slots.astype(np.uint32)[block.codes[name]]
        shown = np.flatnonzero(keep)[positions(rest.classes, classes)]
        tokens = {name: rows.among(params.words[name]) for name, rows in block.tokens.items()}
        scores[:, shown] = self.model.log_joint(params, replace(block, codes=codes, tokens=tokens))
        return scores

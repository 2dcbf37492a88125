"""Leave-one-out for naive Bayes, in closed form: each learnt row scored by the model made without it.

The rows of one class share their left-out tables, and a Gaussian without one value is a Gaussian again, so a row
costs about what a prediction costs.

Formula: what the estimates are without one row
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.data.encode import Block, raise_unusable
from bayeskit.data.schema import Categorical
from bayeskit.data.vocabulary import positions
from bayeskit.errors import BayesError, NotLearnt
from bayeskit.estimate.left_out import (
    GONE,
    LEAST,
    ClosedGaussian,
    LeftOutGaussians,
    LeftOutKernel,
    LeftOutValues,
)
from bayeskit.estimate.prior import class_prior
from bayeskit.estimate.smoothing import as_smoothing
from bayeskit.estimate.variance import as_variance_floor

if TYPE_CHECKING:
    from bayeskit.models.naive_bayes import NaiveBayes

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[Any]
CELLS = 1 << 20  # rows × classes × columns of the exact Gaussian path at a time


class NaiveLeftOut:
    """Scores of labelled rows that the model has learnt, each without itself (rows, classes).

    Classes are those of the model; a class that only the row shows is impossible without it.
    """

    def __init__(self, model: NaiveBayes) -> None:
        self.model = model
        self.tally = model.tally_
        self.params = model.params_

    def scores(self, block: Block) -> Floats:
        """ln P(x, class) of each row under the estimates made without it."""
        scores = self.values(block)
        self._add_numbers(block, scores)
        self.add_texts(block, scores)
        return scores

    def values(self, block: Block) -> Floats:
        """Prior and coded columns; rows that take their class along are scored as a whole."""
        labels, unit = self._labels(block), _unit(block)
        scores = np.empty((block.n_rows, len(self.tally.classes)))
        if self._all_plain(block):
            self._whole_values(block, scores)
            self._refuse_unlearnt(block, labels, scores)
            return scores
        last = self._last(labels, unit)
        plain = (unit == 1) & ~last
        if plain.any():
            part = np.empty((int(plain.sum()), scores.shape[1]))
            self._whole_values(block.take(plain), part)
            scores[plain] = part
        for label in np.unique(labels[~plain]):
            of_class = ~plain & (labels == label)
            for rows, score in ((of_class & last, self._without_class), (of_class & ~last, self._parts_of_values)):
                if rows.any():
                    scores[rows] = score(block.take(rows), int(label))
        self._refuse_unlearnt(block, labels, scores)
        return scores

    def numbers(self, block: Block) -> Floats:
        """Measured columns."""
        scores = np.zeros((block.n_rows, len(self.tally.classes)))
        self._add_numbers(block, scores)
        return scores

    def log_prior(self, label: int, unit: float) -> Floats:
        """ln P(class) without a row of a class, or a part of one."""
        counts = self.tally.class_counts.astype(np.float64)
        counts[label] -= unit
        if counts[label] <= GONE * self.tally.n_rows:
            counts[label] = 0.0
        return np.asarray(logspace.log(class_prior(self.model.prior, self.tally.classes, counts)))

    def _labels(self, block: Block) -> Labels:
        labels = block.labels
        if labels is None or (labels >= len(self.tally.classes)).any():
            raise NotLearnt("a row to leave out has a class that was never learnt")
        return labels

    def _all_plain(self, block: Block) -> bool:
        """Whether all rows leave as a whole, and leave something of their class."""
        return block.weights is None and not (self.tally.class_counts - 1 <= GONE * self.tally.n_rows).any()

    def _last(self, labels: Labels, unit: Floats) -> npt.NDArray[np.bool_]:
        """Rows that leave nothing of their class."""
        last: npt.NDArray[np.bool_] = self.tally.class_counts[labels] - unit <= GONE * self.tally.n_rows
        return last

    # -- coded columns ---------------------------------------------------------------------------------

    @cached_property
    def _columns(self) -> dict[str, LeftOutValues]:
        """The coded columns that the model uses."""
        found = {}
        for name, table in self.params.tables.items():
            if table.used:
                role = self.tally.schema.columns[name]
                declared = not isinstance(role, Categorical) or role.domain is not None
                smoothing = as_smoothing(self.model.setting_for("smoothing", name, self.tally.schema))
                found[name] = LeftOutValues.of(table, self.tally.families[name], smoothing, declared)
        return found

    @cached_property
    def _tables(self) -> list[Floats]:
        """ln P'(value | class) of each column, a table for each label: (labels, slots, classes)."""
        tables = []
        for name, column in self._columns.items():
            slots = np.arange(column.counts.shape[1])
            by_label = []
            for label in range(len(self.tally.classes)):
                labels, unit = np.full(len(slots), label), np.ones(len(slots))
                others, own = column.scores(slots, labels, unit)
                others[:, label] = np.where(self._lacks(name, slots, label, unit), np.nan, own)
                by_label.append(others)
            tables.append(np.stack(by_label))
        return tables

    def _whole_values(self, block: Block, scores: Floats) -> None:
        """Rows that leave as a whole: a table of all slots serves all rows of a class."""
        labels = self._labels(block)
        prior = np.stack([self.log_prior(label, 1.0) for label in range(len(self.tally.classes))])
        np.take(prior, labels, axis=0, out=scores, mode="clip")
        if self._columns:
            codes = [block.codes[name] for name in self._columns]
            kernels.score_codes_left_out(codes, self._tables, labels, scores, self.model._threads())

    def _parts_of_values(self, block: Block, label: int) -> Floats:
        """Rows of one class that leave by a part of their weight, each by its own."""
        unit = _unit(block)
        distinct, which = np.unique(unit, return_inverse=True)
        scores = np.stack([self.log_prior(label, float(u)) for u in distinct])[which]
        labels = np.full(block.n_rows, label)
        for name, column in self._columns.items():
            others, own = column.scores(block.codes[name], labels, unit)
            others[:, label] = np.where(self._lacks(name, block.codes[name], label, unit), np.nan, own)
            scores += others
        return scores

    def _lacks(self, name: str, slots: Labels, label: int, unit: Floats) -> npt.NDArray[np.bool_]:
        """Cells that cannot have been learnt: there are not as many of them in the class."""
        counts = np.append(self.tally.families[name].counts[label], 0)
        lacks: npt.NDArray[np.bool_] = counts[slots] < unit * (1 - GONE)
        return lacks

    def _refuse_unlearnt(self, block: Block, labels: Labels, scores: Floats) -> None:
        if not np.isnan(scores.sum()):  # −∞ for an impossible class is no NaN
            return
        own = scores[np.arange(len(labels)), labels]
        row, unit = int(np.argmax(np.isnan(own))), _unit(block)
        label = int(labels[row])
        for name in self._columns:
            if self._lacks(name, block.codes[name][[row]], label, unit[[row]])[0]:
                raise NotLearnt(never(block.start + row, name, self.tally.classes[label]))

    # -- measured columns ------------------------------------------------------------------------------

    @cached_property
    def _gaussians(self) -> list[tuple[list[str], LeftOutGaussians, ClosedGaussian | None]]:
        """Measured columns by their variance rule, those with a closed form apart."""
        groups: dict[str, list[str]] = {}
        for name in self.params.columns:
            groups.setdefault(self.model.setting_for("variance", name, self.tally.schema), []).append(name)
        counts = self.tally.class_counts.astype(np.float64)
        found: list[tuple[list[str], LeftOutGaussians, ClosedGaussian | None]] = []
        for rule, names in groups.items():
            moments = self.tally.moments.columns([self.params.columns.index(name) for name in names])
            floor = as_variance_floor(self.model.variance_floor)
            gaussians = LeftOutGaussians(moments, counts, rule, self.model.ddof, floor)  # type: ignore[arg-type]
            closed = gaussians.closed()
            for index in (np.flatnonzero(closed), np.flatnonzero(~closed)):
                if len(index):
                    part = gaussians.columns(index)
                    form = part.closed_form() if closed[index[0]] else None
                    found.append(([names[i] for i in index], part, form))
        return found

    def _add_numbers(self, block: Block, scores: Floats) -> None:
        """Rows that take their class along have their measured columns scored with the rest, in `values`."""
        if self._gaussians:
            self._add_gaussians(block, scores)
        if self._kernels:
            self._add_kernels(block, scores)

    @cached_property
    def _kernels(self) -> dict[str, LeftOutKernel]:
        return {name: LeftOutKernel(density) for name, density in self.params.kernels.items() if density.used}

    def _add_kernels(self, block: Block, scores: Floats) -> None:
        raise_unusable({name: block.floats[name] for name in self._kernels}, block.start)
        labels, unit = self._labels(block), _unit(block)
        rows = np.flatnonzero(~self._last(labels, unit))
        labels, unit = labels[rows], unit[rows]
        for name, kernel in self._kernels.items():
            x = block.floats[name][rows]
            lacks = kernel.lacks(x, labels, unit)
            if lacks.any():
                i = int(np.argmax(lacks))
                raise NotLearnt(never(block.start + int(rows[i]), name, self.tally.classes[labels[i]]))
            scores[rows] += kernel.scores(x, labels, unit)

    def _add_gaussians(self, block: Block, scores: Floats) -> None:
        labels, plain = self._labels(block), self._all_plain(block)
        stays = np.ones(len(labels), dtype=bool) if plain else ~self._last(labels, _unit(block))
        for names, gaussians, form in self._gaussians:
            rows = stays
            if form is not None and plain:
                columns = [block.floats[name] for name in names]
                threads = self.model._threads()
                least = max(LEAST, float(gaussians.floored_rest().max()))
                rows = kernels.score_gaussian_left_out(columns, labels, *form.parts, least, scores, threads)
            if rows.any():
                self._add_exactly(block, np.flatnonzero(rows), names, gaussians, scores)

    def _add_exactly(
        self, block: Block, rows: Labels, names: list[str], gaussians: LeftOutGaussians, scores: Floats
    ) -> None:
        """Rows in double-double, some at a time."""
        raise_unusable({name: block.floats[name] for name in names}, block.start)
        labels, unit = self._labels(block), _unit(block)
        for some in self._in_steps(rows, names):
            x = np.column_stack([block.floats[name][some] for name in names])
            lacks = gaussians.lacks(x, labels[some], unit[some])
            if lacks.any():
                i, j = np.argwhere(lacks)[0]
                raise NotLearnt(never(block.start + int(some[i]), names[j], self.tally.classes[labels[some[i]]]))
            scores[some] += gaussians.scores(x, labels[some], unit[some])

    # -- texts -----------------------------------------------------------------------------------------

    def add_texts(self, block: Block, scores: Floats) -> None:
        """Rows that take their class along have their texts scored with the rest, in `values`."""
        if not self.params.texts:
            return
        labels, unit = self._labels(block), _unit(block)
        rows = np.flatnonzero(~self._last(labels, unit))
        labels, unit = labels[rows].astype(np.int64), unit[rows]
        for name, table in self.params.texts.items():
            scores[rows] += table.left_out(block.tokens[name].take(rows), self.tally.words[name], labels, unit)

    # -- term by term ----------------------------------------------------------------------------------

    @cached_property
    def term_names(self) -> list[str]:
        """What the terms stand for: the class prior by the target's name, then the columns that speak."""
        if self.params.texts:
            raise BayesError(f"texts have no terms of their own yet ({', '.join(self.params.texts)}): leave them out")
        if self.params.kernels:
            names = ", ".join(self.params.kernels)
            raise BayesError(
                f'kernel densities have no terms of their own yet ({names}): use "gaussian" or "histogram"'
            )
        return [self.tally.schema.target.name, *self._columns, *self.params.speaking]

    def terms(self, block: Block) -> Floats:
        """The scores term by term (rows, classes, terms): they sum to :meth:`scores`.

        A row that is the last of its class has −∞ for it in the term of the prior, and 0 in the others.
        """
        labels, unit = self._labels(block), _unit(block)
        terms = np.zeros((block.n_rows, len(self.tally.classes), len(self.term_names)))
        stays = ~self._last(labels, unit)
        for label in np.unique(labels):
            of_class = labels == label
            for u in np.unique(unit[of_class]):
                terms[of_class & (unit == u), :, 0] = self.log_prior(int(label), float(u))
            rows = np.flatnonzero(of_class & stays)
            for j, (name, column) in enumerate(self._columns.items()):
                codes = block.codes[name][rows]
                if (unit[rows] == 1).all():
                    terms[rows, :, j + 1] = self._tables[j][label][codes]
                else:
                    terms[rows, :, j + 1], terms[rows, label, j + 1] = column.scores(codes, labels[rows], unit[rows])
        for names, gaussians, _ in self._gaussians:
            index = [self.term_names.index(name) for name in names if name in self.params.speaking]
            keep = [name in self.params.speaking for name in names]
            for some in self._in_steps(np.flatnonzero(stays), names):
                x = np.column_stack([block.floats[name][some] for name in names])
                found = gaussians.terms(x, labels[some], unit[some])[:, :, keep]
                for j, term in enumerate(index):
                    terms[some, :, term] = found[:, :, j]
        return terms

    def _in_steps(self, rows: Labels, names: list[str]) -> list[Labels]:
        """Rows of the exact Gaussian path, some at a time."""
        step = max(1, CELLS // (len(self.tally.classes) * len(names)))
        return np.split(rows, range(step, len(rows), step))

    def _without_class(self, block: Block, label: int) -> Floats:
        """Rows that take their class along: a model of the other classes alone scores them."""
        tally, keep = self.tally, np.arange(len(self.tally.classes)) != label
        scores = np.full((block.n_rows, len(keep)), -np.inf)
        if not keep.any():
            return scores
        classes = tuple(c for c, kept in zip(tally.classes, keep, strict=True) if kept)
        schema = replace(tally.schema, target=replace(tally.schema.target, domain=None))
        rest = tally.with_classes(np.flatnonzero(keep), classes).with_schema(schema).tidy()
        params = self.model.estimate(rest)
        held = np.flatnonzero(keep)[positions(rest.classes, classes)]
        kernels_held = {name: density.restrict(held) for name, density in self.params.kernels.items()}
        params = replace(params, kernels=kernels_held)
        codes = {}
        for name, table in params.tables.items():
            new = positions(self.params.tables[name].values, table.values)
            slots = np.concatenate([[0], np.where(new < 0, len(table.values) + 1, new + 1), [len(table.values) + 1]])
            codes[name] = slots.astype(np.uint32)[block.codes[name]]
        tokens = {name: rows.among(params.words[name]) for name, rows in block.tokens.items()}
        scores[:, held] = self.model.log_joint(params, replace(block, codes=codes, tokens=tokens))
        return scores


def _unit(block: Block) -> Floats:
    """What leaves with each row: one, or its weight where that is less."""
    return np.ones(block.n_rows) if block.weights is None else np.minimum(block.weights, 1.0)


def never(row: int, column: str, label: object) -> str:
    """What is said of a row that cannot have been learnt."""
    return (
        f"row {row} was never learnt: its value of column {column!r} is not among those of class {label!r}. "
        "Leave-one-out scores the rows that the model was fitted on."
    )

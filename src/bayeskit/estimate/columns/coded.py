"""Tables of P(value | class), of categorical columns, histograms of numeric columns and leaves of a tree.

Formula: P(value ∣ class) with missing and unseen values
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.data.schema import Categorical, Numeric
from bayeskit.data.vocabulary import MISSING, Value, Vocabulary
from bayeskit.estimate import cuts as cut_points
from bayeskit.estimate.columns.column import (
    Columns,
    Leaving,
    LeftOutColumns,
    NotFastPath,
    Row,
    Settings,
    number,
    probability_table,
)
from bayeskit.estimate.formulas import Given, Share, Written, WrittenFactor
from bayeskit.estimate.leave_one_out import LeftOutValue, LeftOutValues
from bayeskit.estimate.sampling import cells_of, draw_slots
from bayeskit.estimate.smoothing import (
    UNSEEN,
    BackOff,
    Lidstone,
    Smoothing,
    as_smoothing,
    backed_off,
    probabilities,
    smoothed,
)
from bayeskit.tables import ProbabilityTable
from bayeskit.tally.counts import Family
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array, Floats

KEPT = 4096  # largest number of values whose scores are cached as tuples


@dataclass(frozen=True)
class ValueTable:
    """Probabilities, shape (n_classes, n_slots), and their logs as scores, shape (n_slots, n_classes).

    Slot 0 is a missing cell, slots 1..V the values, slot V + 1 a value never seen. An unused slot has log probability 0
    for all classes and NaN as probability.
    """

    values: tuple[Value, ...]
    probabilities: Floats
    log_table: Floats
    pseudo: Floats  # shape (n_slots,): pseudo-counts; NaN for unused slots
    used: bool  # False if some class has no distribution: the column is left out for all

    @property
    def n_free(self) -> int:
        """Return the number of free parameters in each class."""
        return max(int((~np.isnan(self.pseudo)).sum()) - 1, 0) if self.used else 0

    @property
    def labels(self) -> list[Value]:
        """Return the values in readable form."""
        return list(self.values)

    def one_cell(self, refuse_unseen: bool) -> Callable[[Any], Row]:
        """Return a function that scores one plain cell."""
        return CodedCell(Vocabulary(self.values), self.log_table, self.used, refuse_unseen)

    def write_factors(self, code: int, family: Family) -> tuple[Written, ...]:
        """Return P(value | class) as counts and pseudo-counts for each class; empty for unused slots."""
        if not self.used or np.isnan(self.probabilities[:, code]).any():
            return ()
        # a missing cell, if unseen values are smoothed
        slot = code if not np.isnan(self.pseudo[code]) else len(self.pseudo) - 1
        takes_part = ~np.isnan(self.pseudo)
        counts = np.concatenate([family.counts, np.zeros((len(family.counts), 1))], axis=1)
        totals = counts[:, takes_part].sum(axis=1)
        added, whole = float(self.pseudo[slot]), float(np.nansum(self.pseudo))
        shares: list[Written] = []
        for count, total, p in zip(counts[:, slot].tolist(), totals.tolist(), self.probabilities[:, slot], strict=True):
            nowhere = total + whole <= 0  # a declared class without rows
            shares.append(Given(float(logspace.log(p))) if nowhere else Share(count, total, added, whole))
        return tuple(shares)

    def sample(self, labels: Array, rng: np.random.Generator) -> Any:
        """Draw a cell for each row of these classes."""
        return self.cells(draw_slots(np.nan_to_num(self.probabilities[:, : len(self.values) + 1])[labels], rng), rng)

    def cells(self, slots: Array, rng: np.random.Generator) -> Any:
        """Return the cells of slots."""
        return cells_of(self.values if self.used else (), Categorical(), slots, rng)


def value_table(family: Family, smoothing: Smoothing, class_counts: Array, missing: str, unseen: str) -> ValueTable:
    """Estimate the table of a family under a smoothing.

    ``missing="value"`` treats missing cells as one more value if they occur; ``unseen="smooth"`` treats all unseen
    values as one more value with count 0.

    >>> from bayeskit.estimate.smoothing import Laplace
    >>> family = Family(("rain", "sun"), np.array([[0, 2, 0], [1, 1, 1]]))
    >>> value_table(family, Laplace(), np.array([2, 3]), "ignore", "ignore").probabilities[:, 1:3]
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    n_slots, counts = len(family.values) + 2, family.counts
    first = 0 if missing == "value" and bool(family.missing.any()) else 1
    last = n_slots if unseen == "smooth" else n_slots - 1
    if last == n_slots:
        counts = np.concatenate([counts, np.zeros((len(counts), 1), dtype=counts.dtype)], axis=1)
    counts, takes_part = counts[:, first:], slice(first, last)  # used slots are contiguous
    pseudo, p = np.full(n_slots, np.nan), np.full((len(counts), n_slots), np.nan)
    log_table = np.zeros((n_slots, len(counts)))
    used = last > first
    if used:
        pseudo[takes_part] = smoothing.pseudo_counts((None, *family.values, UNSEEN)[takes_part], counts)
        part = probabilities(counts, pseudo[takes_part])
        nowhere = np.asarray(np.isnan(part).any(axis=1))
        used = not nowhere[class_counts > 0].any()
        part[nowhere] = 1 / (last - first)  # a declared class without rows
    if used:
        p[:, takes_part], log_table[takes_part] = part, logspace.log(part).T
        if missing == "value" and first == 1 and last == n_slots:
            p[:, 0], log_table[0] = p[:, -1], log_table[-1]
    return ValueTable(family.values, p, log_table, pseudo, used)


class CodedCell:
    """Scorer of a cell of a categorical column."""

    def __init__(self, vocabulary: Vocabulary, log_table: Floats, used: bool, refuse_unseen: bool) -> None:
        self.vocabulary = vocabulary
        self.log_table = log_table if used else np.zeros((len(log_table), 0))
        self.row_of_cell: dict[Any, Row] = {}
        self.missing: Row = tuple(self.log_table[MISSING].tolist())
        self.words = {isinstance(value, str) for value in vocabulary.values} == {True} and not refuse_unseen

    def __call__(self, cell: Any) -> Row:
        known = self.row_of_cell.get(cell)
        if known is not None:
            return known
        if cell is None or cell != cell:
            return self.missing
        code = self.vocabulary.codes((cell,))[0]
        if code == self.vocabulary.unseen and not (self.words and type(cell) is str and cell.isascii()):
            raise NotFastPath
        row = tuple(self.log_table[code].tolist())
        if len(self.row_of_cell) < KEPT:
            self.row_of_cell[cell] = row
        return row


@dataclass(frozen=True)
class LeafTable:
    """Counts of one column, shape (n_leaves, n_classes, n_values), and their smoothing: by α, or by m towards the
    class."""

    counts: Floats
    alpha: float | None
    m: float

    @classmethod
    def of(cls, counts: Floats, smoothing: Lidstone | BackOff) -> LeafTable:
        """Build the table from counts; m is chosen if it is not given."""
        if isinstance(smoothing, Lidstone):
            return cls(counts, float(smoothing.alpha), 0.0)
        whole = counts.sum(axis=0)
        n_values = max(counts.shape[2], 1)
        # Leave out the row here too, as in the counts of the leaves.
        total = np.maximum(whole.sum(axis=1, keepdims=True) - 1, 0.0)
        lower = smoothed(np.maximum(whole - 1, 0.0), total, 1.0, n_values)
        spread = np.broadcast_to(lower, counts.shape)
        return cls(counts, None, smoothing.weight(counts, counts.sum(axis=2, keepdims=True), spread))

    @cached_property
    def _class_counts(self) -> Floats:
        """Return the counts of the classes, shape (n_classes, n_values)."""
        return self.counts.sum(axis=0)

    @cached_property
    def probabilities(self) -> Floats:
        """Return P(value | leaf, class), shape (n_leaves, n_classes, n_values)."""
        n_values, total = max(self.counts.shape[2], 1), self.counts.sum(axis=2, keepdims=True)
        if self.alpha is not None:
            return smoothed(self.counts, total, self.alpha, self.alpha * n_values)
        of_class = smoothed(self._class_counts, self._class_counts.sum(axis=1, keepdims=True), 1.0, n_values)
        return backed_off(self.counts, total, self.m, of_class)

    @cached_property
    def log_table(self) -> Floats:
        """Return ln P as scores, shape (n_leaves, n_slots, n_classes); 0 for missing (first) and unseen (last)
        cells."""
        n_leaves, n_classes, n_values = self.counts.shape
        table = np.zeros((n_leaves, n_values + 2, n_classes))
        table[:, 1 : n_values + 1] = np.swapaxes(logspace.log(self.probabilities), 1, 2)
        return table

    def left_out(self, leaf: int, slots: Array, labels: Array, at_home: Floats, unit: float) -> Floats:
        """Return ln P'(cell | leaf, own class) of rows removed from their class and, if ``at_home``, from this leaf.

        Unused cells have 0.
        """
        n_values = self.counts.shape[2]
        says = (slots > 0) & (slots <= n_values)
        value = np.where(says, slots.astype(np.int64) - 1, 0)
        n = np.maximum(self.counts[leaf][labels, value] - at_home, 0.0)
        total = np.maximum(self.counts[leaf].sum(axis=1)[labels] - at_home, 0.0)
        if self.alpha is not None:
            share = smoothed(n, total, self.alpha, self.alpha * max(n_values, 1))
        else:
            whole = np.maximum(self._class_counts[labels, value] - unit, 0.0)
            rest = np.maximum(self._class_counts.sum(axis=1)[labels] - unit, 0.0)
            share = backed_off(n, total, self.m, smoothed(whole, rest, 1.0, max(n_values, 1)))
        return np.where(says, logspace.log(np.where(says, share, 1.0)), 0.0)


@dataclass(frozen=True)
class Histogram(ValueTable):
    """Probabilities of the intervals between cut points. No number is outside of all."""

    cuts: tuple[float, ...] = ()

    @property
    def labels(self) -> list[Value]:
        """Return the intervals in readable form."""
        return list(cut_points.labels(self.cuts))

    def one_cell(self, refuse_unseen: bool) -> Callable[[Any], Row]:
        """Return a scorer of one number, which is read as its interval."""
        rows: list[Row] = [tuple(row) if self.used else () for row in self.log_table.tolist()]
        return partial(_score_interval, rows, self.cuts)

    def cells(self, slots: Array, rng: np.random.Generator) -> Any:
        """Draw numbers uniformly inside the intervals."""
        return cells_of(self.values if self.used else (), Numeric(self.cuts), slots, rng)


def _score_interval(rows: Sequence[Row], cuts: Sequence[float], cell: Any) -> Row:
    """Return the scores of the interval that contains a number; they come after those of a missing cell."""
    x = number(cell)
    return rows[0 if x is None else 1 + bisect_left(cuts, x)]


@dataclass(frozen=True, eq=False)
class CodedColumns(Columns):
    """The value table of each column, or its histogram; in the order in which they are counted."""

    kind = "histogram"
    statistic = "families"
    smoothed = True
    names: tuple[str, ...]
    tables: dict[str, ValueTable]

    @classmethod
    def estimate(cls, names: Sequence[str], tally: Tally, settings: Settings) -> Self:
        """Estimate P(value | class) under the smoothing of each column."""
        tables: dict[str, ValueTable] = {}
        for name in names:
            family, role = tally.families[name], tally.schema.columns[name]
            smoothing = as_smoothing(settings._setting_for("smoothing", name, tally.schema))
            unseen = "ignore" if isinstance(role, Numeric) else settings.unseen  # no interval is unseen
            table = value_table(family, smoothing, tally.class_counts, settings.missing, unseen)
            tables[name] = Histogram(**vars(table), cuts=role.cuts or ()) if isinstance(role, Numeric) else table
        return cls(tuple(names), tables)

    @cached_property
    def used(self) -> list[str]:
        """Return the columns with a distribution in every class."""
        return [name for name, table in self.tables.items() if table.used]

    def add_scores(self, block: Block, scores: Floats, n_threads: int) -> None:
        """Call the kernel once for all columns."""
        if self.used:
            tables = [self.tables[name].log_table for name in self.used]
            kernels.score_codes([block.codes[name] for name in self.used], tables, scores, n_threads)

    def scores(self, name: str, cells: Array) -> Floats:
        """Return rows of the log table."""
        table = self.tables[name]
        return np.asarray(table.log_table[cells]) if table.used else np.zeros((len(cells), table.log_table.shape[1]))

    @property
    def values(self) -> Mapping[str, tuple[Value, ...]]:
        """Return the values of each table, in the order of their codes."""
        return {name: table.values for name, table in self.tables.items()}

    def labels(self, name: str) -> list[Value]:
        """Return values or intervals."""
        return self.tables[name].labels

    def cells(self, name: str, block: Block) -> Array:
        """Return the codes of the cells."""
        return block.codes[name]

    def write_factors(self, name: str, block: Block, tally: Tally) -> list[WrittenFactor]:
        """Return the counts and pseudo-counts of the value in each class."""
        table, code = self.tables[name], int(block.codes[name][0])
        shares = table.write_factors(code, tally.families[name])
        labels = {0: "missing", len(table.values) + 1: "(never seen)"}
        value = labels.get(code) or str(table.labels[code - 1])
        return [WrittenFactor(name, value, shares)] if shares else []

    def table(self, name: str, tally: Tally) -> ProbabilityTable:
        """Return P(value | class) with counts."""
        family, table = tally.families[name], self.tables[name]
        first = 1 if np.isnan(table.pseudo[0]) else 0  # missing cells as a value
        slots = slice(first, len(table.labels) + 1)
        return probability_table(
            name, [None, *table.labels][slots], family.counts[:, slots], table.probabilities[:, slots], tally
        )

    def sample(self, name: str, labels: Array, rng: np.random.Generator) -> Any:
        """Draw values by their probability, uniformly inside intervals."""
        return self.tables[name].sample(labels, rng)

    def n_parameters(self) -> int:
        """Return the number of values less one, for each column and class."""
        return sum(table.log_table.shape[1] * table.n_free for table in self.tables.values())

    def one_cell(self, name: str, refuse_unseen: bool) -> Callable[[Any], Row]:
        """Return a scorer of one value."""
        return self.tables[name].one_cell(refuse_unseen)

    def powered(self, powers: Mapping[str, float]) -> Self:
        """Multiply log probabilities by the exponents; impossible values stay impossible."""
        scored = {n: logspace.power(self.tables[n].log_table, p) for n, p in powers.items() if n in self.tables}
        return replace(self, tables=self.tables | {n: replace(self.tables[n], log_table=t) for n, t in scored.items()})

    def left_out(self, tally: Tally, settings: Settings) -> LeftOutColumns:
        """Return the columns without one cell."""
        columns = {}
        for name in self.used:
            role = tally.schema.columns[name]
            declared = not isinstance(role, Categorical) or role.domain is not None
            smoothing = as_smoothing(settings._setting_for("smoothing", name, tally.schema))
            columns[name] = LeftOutValue(self.tables[name], tally.families[name].counts, smoothing, declared)
        return LeftOutCodes(columns)


@dataclass(frozen=True, eq=False)
class LeftOutCodes(LeftOutColumns):
    """The coded columns that the model uses, without one row."""

    columns: Mapping[str, LeftOutValue]

    def add_scores(self, leaving: Leaving, scores: Floats, n_threads: int) -> None:
        """Score rows of weight one by tables of all slots, and rows of smaller weight one by one."""
        if not self.columns:
            return
        block, labels = leaving.block, leaving.labels
        if leaving.whole:
            self._score_complete_rows(block, labels, scores, n_threads)
        else:
            whole = (leaving.unit == 1) & leaving.stays
            if whole.any():
                part = scores[whole]
                self._score_complete_rows(block.take(whole), labels[whole], part, n_threads)
                scores[whole] = part
            for label in np.unique(labels[leaving.stays & ~whole]):
                rows = np.flatnonzero(leaving.stays & ~whole & (labels == label))
                for name, start in zip(self.columns, self._values.starts, strict=False):
                    scores[rows] += self._parts(start + block.codes[name][rows], int(label), leaving.unit[rows])
        self._refuse_unlearned(leaving, scores)

    def terms(self, leaving: Leaving) -> Mapping[str, Floats]:
        """Return the terms of each column."""
        if not self.columns:
            return {}
        block, labels, unit = leaving.block, leaving.labels, leaving.unit
        terms = {name: np.zeros((block.n_rows, len(leaving.classes))) for name in self.columns}
        if leaving.whole:
            for (name, term), table in zip(terms.items(), self._tables, strict=True):
                kernels.score_codes_left_out([block.codes[name]], [table], labels, term, 1)
            return terms
        for label in np.unique(labels):
            rows = np.flatnonzero((labels == label) & leaving.stays)
            for name, start, table in zip(self.columns, self._values.starts, self._tables, strict=False):
                codes = block.codes[name][rows]
                if (unit[rows] == 1).all():
                    terms[name][rows] = table[label][codes]
                else:
                    scores = self._values.scores(start + codes, labels[rows], unit[rows])
                    terms[name][rows], terms[name][rows, label] = scores
        return terms

    def _score_complete_rows(self, block: Block, labels: Array, scores: Floats, n_threads: int) -> None:
        codes = [block.codes[name] for name in self.columns]
        kernels.score_codes_left_out(codes, self._tables, labels, scores, n_threads)

    def _parts(self, slots: Array, label: int, unit: Floats) -> Floats:
        """Return the scores of rows of one class; NaN for cells that cannot have been learned."""
        labels = np.full(len(slots), label)
        others, in_class = self._values.scores(slots, labels, unit)
        others[:, label] = np.where(self._values.lacks(slots, labels, unit), np.nan, in_class)
        return others

    @cached_property
    def _values(self) -> LeftOutValues:
        return LeftOutValues(list(self.columns.values()))

    @cached_property
    def _tables(self) -> list[Floats]:
        """Return ln P'(value | class) of each column, (n_labels, n_slots, n_classes)."""
        return self._values.tables()

    def _refuse_unlearned(self, leaving: Leaving, scores: Floats) -> None:
        if not np.isnan(scores.sum()):  # −∞ for an impossible class is not a NaN
            return
        in_class = scores[np.arange(len(scores)), leaving.labels]
        row = int(np.argmax(np.isnan(in_class)))
        label, unit = leaving.labels[[row]], leaving.unit[[row]]
        for name, start in zip(self.columns, self._values.starts, strict=False):
            if self._values.lacks(start + leaving.block.codes[name][[row]], label, unit)[0]:
                raise leaving.refuse(row, name)

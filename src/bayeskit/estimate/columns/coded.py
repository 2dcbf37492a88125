"""Categorical columns and histograms of numeric columns."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.data.schema import Categorical, Numeric
from bayeskit.data.vocabulary import Value
from bayeskit.estimate import cuts as cut_points
from bayeskit.estimate.columns.column import Columns, Leaving, LeftOutColumns, Row, Settings, number, probability_table
from bayeskit.estimate.formulas import WrittenFactor
from bayeskit.estimate.leave_one_out import LeftOutValue, LeftOutValues
from bayeskit.estimate.sampling import cells_of
from bayeskit.estimate.smoothing import as_smoothing
from bayeskit.estimate.value_table import ValueTable, value_table
from bayeskit.tables import ProbabilityTable
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array, Floats


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

        def score(cell: Any) -> Row:
            x = number(cell)
            return rows[0 if x is None else 1 + bisect_left(self.cuts, x)]

        return score

    def cells(self, slots: Array, rng: np.random.Generator) -> Any:
        """Draw numbers uniformly inside the intervals."""
        return cells_of(self.values if self.used else (), Numeric(self.cuts), slots, rng)


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
            self._score_whole_rows(block, labels, scores, n_threads)
        else:
            whole = (leaving.unit == 1) & leaving.stays
            if whole.any():
                part = scores[whole]
                self._score_whole_rows(block.take(whole), labels[whole], part, n_threads)
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

    def _score_whole_rows(self, block: Block, labels: Array, scores: Floats, n_threads: int) -> None:
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
        if not np.isnan(scores.sum()):  # −∞ for an impossible class is no NaN
            return
        in_class = scores[np.arange(len(scores)), leaving.labels]
        row = int(np.argmax(np.isnan(in_class)))
        label, unit = leaving.labels[[row]], leaving.unit[[row]]
        for name, start in zip(self.columns, self._values.starts, strict=False):
            if self._values.lacks(start + leaving.block.codes[name][[row]], label, unit)[0]:
                raise leaving.refuse(row, name)

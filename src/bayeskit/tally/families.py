"""Counts of a column's values by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from bayeskit.data.vocabulary import Value
from bayeskit.errors import NotLearned
from bayeskit.tally.plan import EqualFields, Recoding, Request, Space, check_file, format_times
from bayeskit.tally.statistic import ArrayStatistic, BlockCounts, Statistic, register
from bayeskit.tolerance import ROUNDING
from bayeskit.typing import Array, Bools, Counts


@dataclass(frozen=True, eq=False)
class Family(EqualFields):
    """Counts of one column, (n_classes, 1 + n_values): slot 0 holds missing cells, slot i + 1 the i-th value.

    >>> Family(("rain", "sun"), np.array([[0, 2, 1]])).present.tolist()
    [[2, 1]]
    """

    values: tuple[Value, ...]
    counts: Counts

    @property
    def present(self) -> Counts:
        """Return the counts of present cells, (n_classes, n_values)."""
        return self.counts[:, 1:]

    @property
    def missing(self) -> Counts:
        """Return the number of missing cells by class."""
        return self.counts[:, 0]


@register
class Families(ArrayStatistic):
    """Value counts of each coded column, (n_classes, n_slots)."""

    kind = "families"

    @classmethod
    def single_columns(cls, request: Request) -> Sequence[str]:
        """Return all columns, which are counted in the shared pass."""
        return request.columns

    @classmethod
    def shape(cls, key: str, space: Space) -> tuple[int, ...]:
        """Return one cell for each slot of the column."""
        check_file(key in space.slots, "the tally's counts do not fit its columns")
        return (space.slots[key],)

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Take the tables of the shared pass."""
        return cls({name: counter.counts[1][name] for name in request.columns})

    def value_axes(self, key: str, recoding: Recoding) -> Sequence[Array]:
        """Return the slots of the column."""
        return (recoding.slots[key],)

    def not_learned(self, key: str, table: Counts, other: Counts, cell: tuple[int, ...], space: Space) -> NotLearned:
        """Build an error that names the value with too few counts."""
        value = f"{space.values[key][cell[1] - 1]!r}" if cell[1] else "a missing cell"
        return NotLearned(
            f"column {key!r} had {value} {format_times(table[cell])}{space.in_class(cell[0])} and cannot "
            f"forget it {format_times(other[cell])}; nothing was changed"
        )

    def occurring_values(self, column: str) -> Bools | None:
        """Return which values have a count above zero."""
        return np.asarray(self.tables[column][:, 1:].any(axis=0)) if column in self.tables else None

    def check(self, space: Space, class_counts: Counts, others: Mapping[str, Statistic]) -> None:
        """Check that the counts of every column sum to the class counts."""
        for table in self.tables.values():
            apart = np.abs(table.sum(axis=1, dtype=np.float64) - class_counts)  # floats cannot wrap around
            fits = (apart <= (ROUNDING * class_counts if space.weighted else 0)).all()
            check_file(fits, "the counts of a column do not sum to those of the classes")

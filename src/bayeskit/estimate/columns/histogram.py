"""A number read as its interval: a table of values whose values are intervals."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.data.schema import Numeric
from bayeskit.data.vocabulary import Value
from bayeskit.estimate import cuts as cut_points
from bayeskit.estimate.columns.one_cell import Row, number
from bayeskit.estimate.sampling import cells_of
from bayeskit.estimate.value_table import ValueTable
from bayeskit.typing import Array, Floats


@dataclass(frozen=True)
class Histogram(ValueTable):
    """Probabilities of the intervals between cut points. No number is outside of all."""

    cuts: tuple[float, ...] = ()

    @classmethod
    def of(cls, table: ValueTable, cuts: Sequence[float]) -> Histogram:
        """The table of a column of numbers with these cuts."""
        return cls(table.values, table.probabilities, table.log_table, table.pseudo, table.used, tuple(cuts))

    @property
    def labels(self) -> list[Value]:
        """The intervals."""
        return list(cut_points.labels(self.cuts))

    def one_cell(self, refuse_unseen: bool) -> Callable[[Any], Row]:
        """Scores one number."""
        return BinnedCell(self.cuts, self.log_table, self.used)

    def cells(self, slots: Array, rng: np.random.Generator) -> Any:
        """Numbers drawn evenly inside the intervals."""
        return cells_of(self.values if self.used else (), Numeric(self.cuts), slots, rng)


class BinnedCell:
    """The scores of a number that is read as its interval."""

    def __init__(self, cuts: Sequence[float], log_table: Floats, used: bool) -> None:
        self.cuts = cuts
        self.rows: list[Row] = [tuple(row) for row in log_table.tolist()] if used else [()] * len(log_table)

    def __call__(self, cell: Any) -> Row:
        x = number(cell)
        return self.rows[0 if x is None else 1 + bisect_left(self.cuts, x)]

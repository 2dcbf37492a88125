"""Counts of a column's values by class, aligned by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.vocabulary import Value, positions, union

Counts = npt.NDArray[Any]  # int64, or float64 where rows have weights


@dataclass(frozen=True, eq=False)
class Family:
    """Counts (classes, 1 + values): slot 0 holds the missing cells, slot i + 1 the i-th value.

    >>> Family(("rain", "sun"), np.array([[0, 2, 1]])).present.tolist()
    [[2, 1]]
    """

    values: tuple[Value, ...]
    counts: Counts

    @property
    def present(self) -> Counts:
        """Counts (classes, values) of the cells that are there."""
        return self.counts[:, 1:]

    @property
    def missing(self) -> Counts:
        """Missing cells by class."""
        return self.counts[:, 0]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Family)
            and self.values == other.values
            and self.counts.dtype == other.counts.dtype
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    def align(self, class_index: npt.NDArray[np.int64], values: Sequence[Value]) -> Family:
        """The same counts under other classes (-1: a new one, empty) and values."""
        if not self.counts.size:
            return Family(tuple(values), np.zeros((len(class_index), len(values) + 1), dtype=self.counts.dtype))
        value_index = positions(values, self.values)
        columns = np.concatenate([[0], np.where(value_index < 0, 0, value_index + 1)])
        counts = self.counts[np.ix_(np.maximum(class_index, 0), columns)]
        counts[class_index < 0] = 0
        counts[:, 1:][:, value_index < 0] = 0
        return Family(tuple(values), counts)

    def keep(self, values: npt.NDArray[np.bool_]) -> Family:
        """The same counts without the values that are not marked."""
        kept = tuple(value for value, keep in zip(self.values, values, strict=True) if keep)
        return Family(kept, self.counts[:, np.concatenate([[True], values])])


def aligned(
    a: Family, b: Family, a_classes: npt.NDArray[np.int64], b_classes: npt.NDArray[np.int64]
) -> tuple[Family, Family]:
    """Both sides over the values of either."""
    values = union(a.values, b.values)
    return a.align(a_classes, values), b.align(b_classes, values)

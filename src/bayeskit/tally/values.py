"""Distinct numbers with counts: what a kernel density needs counted, as a value with + and −.

A column of many different numbers would grow without end. So past ``max_values`` all of them are read with fewer
digits: the last bits of the mantissa are dropped, one more bit at a time, until they fit. What is dropped depends on
the set of numbers alone, so the order in which tallies are merged cannot matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bayeskit.data.encode import LARGEST
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BadFile, NotLearnt, SchemaMismatch

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[Any]  # int64, or float64 where rows have weights
TOP = 63  # at this level there is only the sign
LEAST, MOST = 16, 1 << 20  # values that a column may always have, and that it may be allowed


@dataclass(frozen=True, eq=False)
class Values:
    """Rising ``values`` (values,), their ``counts`` (classes, values), and how many bits were dropped (``level``).

    >>> few = Values.of(np.array([1.0, 2.0, 1.0, np.nan]), np.array([0, 0, 1, 1]), 2)
    >>> few.values.tolist(), few.counts.tolist(), few.level
    ([1.0, 2.0], [[1, 1], [1, 0]], 0)
    >>> many = Values.of(np.arange(100) / 100 + 1, np.zeros(100, dtype=int), 1, max_values=16)
    >>> len(many.values), many.level, many.values[:3].tolist(), many.points[:3].tolist()
    (16, 48, [1.0, 1.0625, 1.125], [1.03125, 1.09375, 1.15625])
    """

    values: Floats
    counts: Counts
    level: int
    max_values: int

    @classmethod
    def of(
        cls,
        x: Floats,
        labels: npt.NDArray[Any],
        n_classes: int,
        weights: Floats | None = None,
        max_values: int = 4096,
    ) -> Self:
        """Numbers of rows in these classes; NaN is missing, and a row of weight 0 is not there."""
        there = ~np.isnan(x) if weights is None else ~np.isnan(x) & (weights > 0)
        distinct, which = np.unique(x[there] + 0.0, return_inverse=True)  # −0 is 0
        w = None if weights is None else weights[there]
        cells = labels[there].astype(np.intp) * len(distinct) + which
        counts = np.bincount(cells, w, minlength=n_classes * len(distinct)).reshape(n_classes, len(distinct))
        return cls(distinct, counts.astype(np.int64 if w is None else np.float64), 0, max_values)._fitted()

    @classmethod
    def of_responsibilities(cls, x: Floats, shares: Floats, max_values: int = 4096) -> Self:
        """Numbers of rows that belong to the classes by shares (rows, classes)."""
        there = ~np.isnan(x) & (shares > 0).any(axis=1)
        distinct, which = np.unique(x[there] + 0.0, return_inverse=True)
        counts = [np.bincount(which, share, minlength=len(distinct)) for share in shares[there].T]
        table = np.array(counts, dtype=np.float64).reshape(shares.shape[1], len(distinct))
        return cls(distinct, table, 0, max_values)._fitted()

    @classmethod
    def checked(cls, level: Any, max_values: Any, values: Counts, counts: Counts, class_counts: Counts) -> Self:
        """What a file holds, once it is found to be possible."""
        whole = type(level) is int and 0 <= level <= TOP and type(max_values) is int and LEAST <= max_values <= MOST
        if not whole or values.ndim != 1 or values.dtype.kind != "f" or len(values) > max_values:
            raise BadFile("the distinct values of a column do not fit its header")
        if counts.shape != (len(class_counts), len(values)) or counts.dtype != class_counts.dtype:
            raise BadFile("the counts of distinct values do not fit them")
        finite = (np.abs(values) <= LARGEST).all() and np.isfinite(counts).all() and (counts >= 0).all()
        rising = (np.diff(values) > 0).all() and np.array_equal(_dropped(values, level), values)
        fits = (counts.sum(axis=1) <= class_counts * (1 + 1e-6)).all() and (counts > 0).any(axis=0).all()
        if not (finite and rising and fits):
            raise BadFile("the distinct values of a column are not sorted, or their counts are impossible")
        return cls(values, counts, level, max_values)

    @property
    def points(self) -> Floats:
        """Where the values stand for all that was read as them: in the middle of what the dropped bits can say."""
        return self.values if not self.level else _half_way(self.values, self.level)

    def read(self, x: Floats) -> Floats:
        """Numbers as this column reads them: with the bits that are left, NaN as it is."""
        return x if not self.level else np.where(np.isnan(x), x, _half_way(_dropped(x + 0.0, self.level), self.level))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Values)
            and (self.level, self.max_values) == (other.level, other.max_values)
            and self.counts.dtype == other.counts.dtype
            and np.array_equal(self.values, other.values)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Values) -> Values:
        """All numbers of both sides, whose classes are aligned."""
        a, b = self._aligned(other)
        return Values(a.values, a.counts + b.counts, a.level, a.max_values)._fitted()

    def __sub__(self, other: Values) -> Values:
        """The numbers of this side without those of the other; refuses nothing (see the signs of the counts)."""
        a, b = self._aligned(other)
        return Values(a.values, a.counts - b.counts, a.level, a.max_values)

    def minus(self, less: Values, name: str, classes: Sequence[Value], tolerance: float) -> Values:
        """The numbers of a column without some; more of one than there are is refused."""
        left = self - less
        if tolerance:
            left.counts[np.abs(left.counts) <= tolerance] = 0
        if (left.counts < 0).any():
            c, i = np.argwhere(left.counts < 0)[0]
            raise NotLearnt(
                f"column {name!r} had {left.values[i]:g} not as often in class {classes[c]!r} as it is to be "
                "forgotten; nothing was changed"
            )
        return left

    def take(self, class_index: npt.NDArray[np.int64]) -> Values:
        """The same for these classes in this order; −1 stands for a class without values."""
        if not len(self.counts):
            counts = np.zeros((len(class_index), len(self.values)), dtype=self.counts.dtype)
        else:
            counts = np.where((class_index < 0)[:, None], self.counts.dtype.type(0), self.counts[class_index])
        return Values(self.values, counts, self.level, self.max_values)

    def tidy(self) -> Values:
        """Without the values that no row shows."""
        shown = (self.counts > 0).any(axis=0)
        if shown.all():
            return self
        return Values(self.values[shown], self.counts[:, shown], self.level, self.max_values)

    def _aligned(self, other: Values) -> tuple[Values, Values]:
        """Both sides over the same values, with as many bits as the coarser one has."""
        if self.max_values != other.max_values:
            raise SchemaMismatch(
                f"the two sides keep up to {self.max_values} and {other.max_values} values of a column: "
                "learn both with the same max_values"
            )
        level = max(self.level, other.level)
        a, b = self._at(level), other._at(level)
        values = np.union1d(a.values, b.values)
        return a._over(values), b._over(values)

    def _over(self, values: Floats) -> Values:
        """The same counts among these values, which contain all of its own."""
        counts = np.zeros((len(self.counts), len(values)), dtype=self.counts.dtype)
        counts[:, np.searchsorted(values, self.values)] = self.counts
        return Values(values, counts, self.level, self.max_values)

    def _at(self, level: int) -> Self:
        """The same numbers with this many bits dropped."""
        if level == self.level:
            return self
        values, which = np.unique(_dropped(self.values, level), return_inverse=True)
        counts = np.zeros((len(self.counts), len(values)), dtype=self.counts.dtype)
        np.add.at(counts.T, which, self.counts.T)
        return type(self)(values, counts, level, self.max_values)

    def _fitted(self) -> Self:
        """The same with the first level at which there are not too many."""
        level = self.level
        while level < TOP and len(np.unique(_dropped(self.values, level))) > self.max_values:
            level += 1
        return self._at(level)


def _dropped(x: Floats, level: int) -> Floats:
    """Numbers without the last bits: nearer to zero, and the same whether dropped at once or one by one."""
    keep = np.uint64((2**64 - 1) ^ (2**level - 1))
    return (np.ascontiguousarray(x).view(np.uint64) & keep).view(np.float64) + 0.0


def _half_way(x: Floats, level: int) -> Floats:
    half = np.uint64(1 << (level - 1))
    return (np.ascontiguousarray(x).view(np.uint64) | half).view(np.float64)

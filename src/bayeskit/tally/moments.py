"""Moments: what a Gaussian needs counted, as a value with + and −.

Per class and column: how many values, their sum and their sum of squares. Plain floats would lose the
variance of values far from zero, and would not get back to where they were after an outlier is
forgotten; so both sums are kept in double-double, and + and − are exact to some 32 digits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayeskit import kernels
from bayeskit.errors import SchemaMismatch
from bayeskit.tally import double_double as dd

Floats = NDArray[np.float64]

_CANCELLED = 1e-9  # of a column's total weight: what a subtraction of float weights may leave behind
_NOISE = 1e-24  # of Σx²: what is rounding and not spread; only the last digits of double-double are in doubt


@dataclass(frozen=True, eq=False)
class Moments:
    """n, Σx and Σx² over (classes, columns); the sums as hi + lo.

    Counts are whole numbers, or floats where rows have weights; what a float loses of Σw is in `n_lo`.

    >>> m = Moments.of(np.array([[1.0], [3.0], [100.0]]), classes=[0, 0, 1], n_classes=2)
    >>> m.n.tolist(), m.mean().tolist(), m.squared_deviations().tolist()
    ([[2], [1]], [[2.0], [100.0]], [[2.0], [0.0]])
    >>> m + Moments.zeros(2, 1) == m
    True
    >>> (m - m) == Moments.zeros(2, 1)
    True
    """

    n: NDArray[Any]
    sum_hi: Floats
    sum_lo: Floats
    square_hi: Floats
    square_lo: Floats
    n_lo: Floats  # what a sum of weights loses in n

    @classmethod
    def zeros(cls, n_classes: int, n_columns: int, weighted: bool = False) -> Self:
        """Nothing counted: neutral under +. `weighted` makes n a float."""
        shape = (n_classes, n_columns)
        n = np.zeros(shape, dtype=np.float64 if weighted else np.int64)
        return cls(n, *(np.zeros(shape) for _ in range(5)))

    @classmethod
    def of(cls, values: Floats, classes: ArrayLike, n_classes: int) -> Self:
        """Moments of values (rows, columns), NaN for missing, of rows in these classes."""
        columns = list(np.array(values, dtype=np.float64, ndmin=2).T.copy())
        counted = kernels.moments(columns, np.asarray(classes, dtype=np.uint16), n_classes, None, 1)
        return cls(*counted[:6])

    @property
    def shape(self) -> tuple[int, int]:
        """(classes, columns)"""
        n_classes, n_columns = self.n.shape
        return n_classes, n_columns

    def __add__(self, other: "Moments") -> "Moments":
        """All values of both sides. The sides must be aligned: equal classes and columns in equal order."""
        self._check_aligned(other)
        sums, squares = dd.add(self._sum, other._sum), dd.add(self._square, other._square)
        n, n_lo = dd.add(self._count, other._count)
        return Moments(n if self._weighted or other._weighted else self.n + other.n, *sums, *squares, n_lo)

    def __sub__(self, other: "Moments") -> "Moments":
        """The values of this side without those of the other; a cell left without values is exactly zero.

        Refuses nothing: `negative` tells afterwards, `lacks` before, whether more was taken than was there.
        """
        (n, n_lo), sums, squares = self._difference(other)
        count = n if self._weighted or other._weighted else self.n - other.n
        return Moments(count, *(np.where(n == 0, 0.0, part) for part in (*sums, *squares, n_lo)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Moments) and self.equals(other)

    __hash__ = None  # type: ignore[assignment]  # holds arrays

    def equals(self, other: "Moments") -> bool:
        """The same to the last bit."""
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    def lacks(self, other: "Moments") -> NDArray[np.bool_]:
        """Which cells of the other side cannot be part of this one, (classes, columns).

        There are not as many values, or without them the squares would sum to less than Σx and n allow.
        Necessary, not sufficient: sums do not know their values.

        >>> learnt = Moments.of(np.array([[1.0], [2.0]]), classes=[0, 0], n_classes=1)
        >>> never = Moments.of(np.array([[5.0]]), classes=[0], n_classes=1)
        >>> learnt.lacks(never), learnt.lacks(learnt)
        (array([[ True]]), array([[False]]))
        """
        (n, n_lo), sums, squares = self._difference(other)
        noise = _NOISE * self.square_hi
        mean = dd.divide(sums, (np.where(n > 0, n, 1.0), np.where(n > 0, n_lo, 0.0)))
        spread, _ = dd.subtract(squares, dd.multiply(mean, sums))
        left_over = (n == 0) & (np.abs(squares[0]) > noise)
        lacking: NDArray[np.bool_] = (n < 0) | (spread < -noise) | left_over
        return lacking

    def negative(self) -> NDArray[np.bool_]:
        """Which cells a subtraction has driven below nothing, (classes, columns)."""
        below: NDArray[np.bool_] = self.n < 0
        return below

    def take(self, class_index: Sequence[int] | NDArray[np.int64]) -> "Moments":
        """The rows of these classes in this order; −1 stands for a class without values.

        >>> m = Moments.of(np.array([[5.0]]), classes=[0], n_classes=1)
        >>> m.take([-1, 0]).n.tolist()
        [[0], [1]]
        """
        index = np.asarray(class_index, dtype=np.int64)
        empty = (index < 0)[:, None]
        if not self.shape[0]:
            return Moments.zeros(len(index), self.shape[1], weighted=self._weighted)
        parts = (getattr(self, f.name) for f in fields(self))
        return Moments(*(np.where(empty, part.dtype.type(0), part[index]) for part in parts))

    def columns(self, index: Any) -> "Moments":
        """The same classes, these columns only."""
        return Moments(*(getattr(self, f.name)[:, index] for f in fields(self)))

    def pooled(self) -> "Moments":
        """All classes together: shape (1, columns)."""
        total = Moments.zeros(1, self.shape[1], weighted=self._weighted)
        for c in range(self.shape[0]):
            total = total + self.take([c])
        return total

    def mean(self) -> Floats:
        """Σx / n; NaN where there is no value."""
        with np.errstate(invalid="ignore", divide="ignore"):
            hi, lo = dd.divide(self._sum, self._count)
        return np.where(self.n == 0, np.nan, hi + lo)

    def squared_deviations(self) -> Floats:
        """Σ(x − mean)² = Σx² − mean · Σx, in double-double; zero where there is no value.

        >>> far = Moments.of(1e9 + np.array([[1.0], [2.0], [3.0]]), classes=[0, 0, 0], n_classes=1)
        >>> float(far.squared_deviations()[0, 0])
        2.0
        """
        sums, squares = self._sum, self._square
        # mean · Σx and not (Σx)²/n, which overflows for many values of 1e150 although Σx² does not.
        n, n_lo = self._count
        mean = dd.divide(sums, (np.where(n == 0, 1.0, n), n_lo))
        spread, _ = dd.subtract(squares, dd.multiply(mean, sums))
        return np.where(spread <= _NOISE * squares[0], 0.0, spread)

    def _difference(self, other: "Moments") -> tuple[dd.Pair, dd.Pair, dd.Pair]:
        self._check_aligned(other)
        n, n_lo = dd.subtract(self._count, other._count)
        if self._weighted or other._weighted:
            gone = np.abs(n) <= _CANCELLED * self.n.sum(axis=0)
            n, n_lo = np.where(gone, 0.0, n), np.where(gone, 0.0, n_lo)
        return (n, n_lo), dd.subtract(self._sum, other._sum), dd.subtract(self._square, other._square)

    def _check_aligned(self, other: "Moments") -> None:
        if self.shape != other.shape:
            raise SchemaMismatch(
                f"Moments of {self.shape} and of {other.shape} (classes, columns) do not fit together. "
                "Align them first with take and columns."
            )

    @property
    def _weighted(self) -> bool:
        return self.n.dtype.kind == "f"

    @property
    def _count(self) -> dd.Pair:
        return self.n.astype(np.float64), self.n_lo

    @property
    def _sum(self) -> dd.Pair:
        return self.sum_hi, self.sum_lo

    @property
    def _square(self) -> dd.Pair:
        return self.square_hi, self.square_lo

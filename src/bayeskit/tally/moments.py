"""Sum moments and products, the sufficient statistics of a Gaussian and of a multivariate normal.

Per class and column: how many values, their sum and their sum of squares. Plain floats would lose the
variance of values far from zero, and would not get back to where they were after an outlier is
forgotten; so both sums are kept in double-double, and + and − are exact to some 32 digits.

Formula: n, Σx, Σx² and Σ(x − mean)²

Products hold, for k columns, the moments of all k · k pairs (i, j), one after the other, over the rows where both cells
are there: n, Σx_i and Σx_i·x_j, in double-double like all moments, so that + and − are exact.

Formula: counts of pairs and of any set of columns; of products of numbers
"""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import reduce
from math import isqrt
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bayeskit import kernels
from bayeskit.data.block import Block
from bayeskit.data.cells import LARGEST
from bayeskit.errors import BadFile, BayesError, NotLearned, SchemaMismatch, format_setting
from bayeskit.tally import double_double as dd
from bayeskit.tally.plan import EqualFields, Recoding, Request, Space, arrays_of, check_file, check_measured
from bayeskit.tally.statistic import BlockCounts, ColumnStatistic, Statistic, register
from bayeskit.tolerance import GONE, LOW_PART, LOW_TINY, RESIDUE, ROUNDING, SPREAD_NOISE
from bayeskit.typing import Array, Bools, Floats, Ints

LARGEST_COUNT = 2.0**53  # beyond it floats have no fractions, and are not counts either
MANY_CLASSES = 32


@dataclass(frozen=True, eq=False)
class Moments(EqualFields):
    """The sums n, Σx and Σx² of shape (n_classes, n_columns); sums are stored as hi + lo.

    Counts are whole numbers, or floats where rows have weights; what a float loses of Σw is in `n_lo`.

    >>> m = Moments.of(np.array([[1.0], [3.0], [100.0]]), classes=[0, 0, 1], n_classes=2)
    >>> m.n.tolist(), m.mean().tolist(), m.squared_deviations().tolist()
    ([[2], [1]], [[2.0], [100.0]], [[2.0], [0.0]])
    >>> m + Moments.zeros(2, 1) == m
    True
    >>> (m - m) == Moments.zeros(2, 1)
    True
    """

    count_fields = ("n",)
    n: Array
    sum_hi: Floats
    sum_lo: Floats
    square_hi: Floats
    square_lo: Floats
    n_lo: Floats  # what a sum of weights loses in n

    @classmethod
    def zeros(cls, n_classes: int, n_columns: int, weighted: bool = False) -> Self:
        """Return zero moments, neutral under +; `weighted` makes n a float."""
        shape = (n_classes, n_columns)
        n = np.zeros(shape, dtype=np.float64 if weighted else np.int64)
        return cls(n, *(np.zeros(shape) for _ in range(5)))

    @classmethod
    def of(cls, values: Floats, classes: ArrayLike, n_classes: int) -> Self:
        """Compute moments of values (n_rows, n_columns), NaN for missing, by class."""
        columns = list(np.array(values, dtype=np.float64, ndmin=2).T.copy())
        counted = kernels.moments(columns, np.asarray(classes, dtype=np.uint16), n_classes, None, 1)
        return cls(*counted[:6])

    @classmethod
    def from_sums(cls, n: Any, sums: Any, squares: Any) -> Self:
        """Build moments from exact n, Σx and Σx² (n_classes, n_columns): integers, fractions or decimals.

        >>> far = Moments.from_sums([[3]], [[3 * 10**9 + 6]], [[3 * 10**18 + 12 * 10**9 + 14]])
        >>> far.squared_deviations().tolist()
        [[2.0]]
        """
        count = np.array(n)
        pairs = [_hi_lo(part) for part in (n, sums, squares)]
        whole = count.dtype.kind in "iu"
        return cls(count.astype(np.int64) if whole else pairs[0][0], *pairs[1], *pairs[2], pairs[0][1])

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_classes, n_columns)."""
        n_classes, n_columns = self.n.shape
        return n_classes, n_columns

    def __add__(self, other: Moments) -> Moments:
        """Add moments with equal classes and columns in equal order."""
        self._check_aligned(other)
        sums, squares = dd.add(self._sum, other._sum), dd.add(self._square, other._square)
        n, n_lo = dd.add(self._count, other._count)
        return Moments(n if self._weighted or other._weighted else self.n + other.n, *sums, *squares, n_lo)

    def __sub__(self, other: Moments) -> Moments:
        """Subtract moments; a cell left without values is exactly zero.

        Refuses nothing: `n` below zero tells afterwards, `lacks` before, whether more was taken than was there.
        """
        (n, n_lo), sums, squares = self._difference(other)
        count = n if self._weighted or other._weighted else self.n - other.n
        left = Moments(count, *(np.where(n == 0, 0.0, part) for part in (*sums, *squares, n_lo)))
        return left._without_residue(RESIDUE * self.square_hi)

    def _without_residue(self, residue: Floats) -> Moments:
        """Set deviations within the subtraction error to zero: Σx² becomes mean · Σx."""
        spread, flat = _spread(self._count, self._sum, self._square)
        nothing = (self.n > 0) & (np.abs(spread) <= residue) & (np.abs(spread) > SPREAD_NOISE * np.abs(self.square_hi))
        if not nothing.any():
            return self
        hi, lo = (np.where(nothing, part, square) for part, square in zip(flat, self._square, strict=True))
        return replace(self, square_hi=hi, square_lo=lo)

    def lacks(self, other: Moments) -> Bools:
        """Return a mask (n_classes, n_columns) of cells of the other side that cannot be part of this one.

        There are not as many values, or without them the squares would sum to less than Σx and n allow.
        Necessary, not sufficient: sums do not know their values.

        >>> learned = Moments.of(np.array([[1.0], [2.0]]), classes=[0, 0], n_classes=1)
        >>> never = Moments.of(np.array([[5.0]]), classes=[0], n_classes=1)
        >>> learned.lacks(never), learned.lacks(learned)
        (array([[ True]]), array([[False]]))
        """
        count, sums, squares = self._difference(other)
        noise = SPREAD_NOISE * self.square_hi
        left_over = (count[0] == 0) & (np.abs(squares[0]) > noise)
        lacking: Bools = (count[0] < 0) | (_spread(count, sums, squares)[0] < -noise) | left_over
        return lacking

    def take(self, class_index: Sequence[int] | Ints) -> Moments:
        """Return the moments of these classes in this order; −1 is a class without values.

        >>> m = Moments.of(np.array([[5.0]]), classes=[0], n_classes=1)
        >>> m.take([-1, 0]).n.tolist()
        [[0], [1]]
        """
        index = np.asarray(class_index, dtype=np.int64)
        empty = (index < 0)[:, None]
        if not self.shape[0]:
            return Moments.zeros(len(index), self.shape[1], weighted=self._weighted)
        return Moments(*(np.where(empty, part.dtype.type(0), part[index]) for part in self.parts()))

    def columns(self, index: Any) -> Moments:
        """Return the moments of these columns."""
        return Moments(*(part[:, index] for part in self.parts()))

    @classmethod
    def concatenate(cls, sides: Sequence[Moments]) -> Self:
        """Concatenate moments along the classes."""
        return cls(*map(np.concatenate, zip(*(side.parts() for side in sides), strict=True)))

    def pooled(self) -> Moments:
        """Sum over classes; return shape (1, n_columns)."""
        if not self.shape[0]:
            return Moments.zeros(1, self.shape[1], weighted=self._weighted)
        left = self
        while (n := left.shape[0]) > MANY_CLASSES:  # add halves, since classes one by one take long
            half = (n + 1) // 2
            left = left.take(range(half)) + left.take([*range(half, n), *[-1] * (2 * half - n)])
        return reduce(operator.add, (left.take([c]) for c in range(left.shape[0])))

    def with_total(self) -> Moments:
        """Append the sum over classes; return shape (n_classes + 1, n_columns)."""
        return self.concatenate([self, self.pooled()])

    def mean(self) -> Floats:
        """Return Σx / n, NaN without values."""
        with np.errstate(invalid="ignore", divide="ignore"):
            hi, lo = dd.divide(self._sum, self._count)
        return np.where(self.n == 0, np.nan, hi + lo)

    def squared_deviations(self) -> Floats:
        """Return Σ(x − mean)² = Σx² − mean · Σx in double-double, zero without values.

        >>> far = Moments.of(1e9 + np.array([[1.0], [2.0], [3.0]]), classes=[0, 0, 0], n_classes=1)
        >>> float(far.squared_deviations()[0, 0])
        2.0
        """
        spread, _ = _spread(self._count, self._sum, self._square)
        return np.where(spread <= SPREAD_NOISE * self.square_hi, 0.0, spread)

    def _difference(self, other: Moments) -> tuple[dd.Pair, dd.Pair, dd.Pair]:
        self._check_aligned(other)
        n, n_lo = dd.subtract(self._count, other._count)
        if self._weighted or other._weighted:
            gone = np.abs(n) <= GONE * self.n.sum(axis=0)
            n, n_lo = np.where(gone, 0.0, n), np.where(gone, 0.0, n_lo)
        return (n, n_lo), dd.subtract(self._sum, other._sum), dd.subtract(self._square, other._square)

    def _check_aligned(self, other: Moments) -> None:
        if self.shape != other.shape:
            raise SchemaMismatch(
                f"Moments of {self.shape} and of {other.shape} (classes, columns) do not fit together. "
                "Align them first with take and columns."
            )

    def parts(self) -> list[Array]:
        """Return the arrays in file order."""
        return arrays_of(self)

    @classmethod
    def of_parts(cls, arrays: Sequence[Array], shape: tuple[int, int], dtype: Any) -> Self:
        """Restore :meth:`parts` of this shape and dtype; raise :class:`BadFile` for others."""
        fit = len(arrays) == len(fields(cls)) and all(array.shape == shape for array in arrays)
        fit = fit and arrays[0].dtype == dtype and all(array.dtype == np.float64 for array in arrays[1:])
        check_file(fit, "the tally's sums do not fit its columns")
        check_file(arrays[0].min(initial=0) >= 0, "the tally holds counts that are negative or no numbers")
        sums = cls(*arrays)
        sums._check_possible()
        return sums

    def _check_possible(self) -> None:
        """Raise an error for sums that no values within ∣x∣ ≤ 1e150 have, or for invalid low parts."""
        count = self.n.astype(np.float64)
        for high, low in (self._count, self._sum, self._square):
            valid = (np.abs(low) <= np.abs(high) * LOW_PART + LOW_TINY).all()
            check_file(valid, "the sums of a column have low parts that are not a rounding of the high ones")
        with np.errstate(over="ignore"):
            for total, limit in ((self.sum_hi, LARGEST), (self.square_hi, LARGEST**2)):
                valid = (np.abs(total) <= count * limit * (1 + ROUNDING)).all()
                check_file(valid, "the sums of a column are beyond those of its numbers")

    @property
    def _weighted(self) -> bool:
        return bool(self.n.dtype.kind == "f")

    @property
    def _count(self) -> dd.Pair:
        return self.n.astype(np.float64), self.n_lo

    @property
    def _sum(self) -> dd.Pair:
        return self.sum_hi, self.sum_lo

    @property
    def _square(self) -> dd.Pair:
        return self.square_hi, self.square_lo


def _spread(count: dd.Pair, sums: dd.Pair, squares: dd.Pair) -> tuple[Floats, dd.Pair]:
    """Return (Σx² − mean · Σx, mean · Σx); not (Σx)²/n, which overflows for many values of 1e150 where Σx² does not."""
    n, n_lo = count
    mean = dd.divide(sums, (np.where(n > 0, n, 1.0), np.where(n > 0, n_lo, 0.0)))
    flat = dd.multiply(mean, sums)
    return dd.subtract(squares, flat)[0], flat


def _hi_lo(exact: Any) -> dd.Pair:
    """Convert exact numbers to the nearest float and the nearest float to the remainder."""
    cells = np.array(exact, dtype=object)
    hi = np.array([float(Fraction(x)) for x in cells.flat]).reshape(cells.shape)
    lo = np.array([float(Fraction(x) - Fraction(h)) for x, h in zip(cells.flat, hi.flat, strict=True)])
    return hi, lo.reshape(cells.shape)


@dataclass(frozen=True, eq=False)
class MomentStatistic(ColumnStatistic):
    """Moments (n_classes, …) of some columns, in one object."""

    count_fields = ("moments",)
    moments: Moments

    @abstractmethod
    def of(self, columns: Sequence[str]) -> Moments:
        """Return the moments of these columns, in this order."""

    def recode(self, recoding: Recoding) -> Self:
        """Return the moments under other classes."""
        return replace(self, moments=self.moments.take(recoding.classes))

    def plus(self, other: Self) -> Self:
        """Add the moments of the same columns."""
        return replace(self, moments=self.moments + other.of(self.columns))

    def select(self, columns: tuple[str, ...]) -> Self:
        """Return the moments of these columns, in this order."""
        return replace(self, columns=columns, moments=self.of(columns))


@register
class ColumnMoments(MomentStatistic):
    """The moments of numeric columns, (n_classes, n_columns)."""

    kind = "moments"

    @classmethod
    def empty(cls, request: Request, space: Space) -> Self:
        """Return zero moments."""
        return cls(request.columns, Moments.zeros(space.n_classes, len(request.columns), space.weighted))

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Call the kernel once for all columns."""
        sums = counter.moments([counter.block.floats[name] for name in request.columns])
        return cls(request.columns, Moments(*sums))

    def of(self, columns: Sequence[str]) -> Moments:
        """Return the moments (n_classes, n_columns) of these columns, in this order."""
        if tuple(columns) == self.columns:
            return self.moments
        return self.moments.columns([self.columns.index(name) for name in columns])

    def minus(self, other: Self, space: Space, tolerance: float) -> Self:
        """Subtract moments, which have a tolerance of their own."""
        theirs = other.of(self.columns)
        lacks = self.moments.lacks(theirs)
        if lacks.any():
            c, column = np.argwhere(lacks)[0]
            raise NotLearned(
                f"column {self.columns[column]!r} had {self.moments.n[c, column]} numbers in class "
                f"{space.classes[c]!r}, and the {theirs.n[c, column]} to forget cannot have been among them; "
                "nothing was changed"
            )
        return replace(self, moments=self.moments - theirs)

    @classmethod
    def from_parts(cls, request: Request, header: Any, arrays: list[Array], space: Space) -> Self:
        """Read arrays of shape (n_classes, n_columns)."""
        check_measured(request, space)
        shape = (space.n_classes, len(request.columns))
        return cls(request.columns, Moments.of_parts(arrays, shape, space.dtype))

    def class_totals(self) -> Iterable[Array]:
        """Return how many numbers each class has in each column."""
        return self.moments.n.T

    def check_sums(self) -> None:
        """Raise an error for sums of squares that overflowed, as those of numbers near 1e150 do."""
        if not all(np.isfinite(part).all() for part in (self.moments.sum_hi, self.moments.square_hi)):
            raise BayesError("the sums of squares of a column overflow: scale its numbers down")


def are_counts(x: Floats) -> Bools:
    """Return which numbers are counts: whole numbers from 0.

    >>> are_counts(np.array([0.0, 3.0, -1.0, 0.5, np.nan, 1e300])).tolist()
    [True, True, False, False, False, False]
    """
    counts: Bools = (x >= 0) & (x <= LARGEST_COUNT) & (x == np.floor(x))
    return counts


def refuse_no_counts(block: Block, names: Sequence[str]) -> None:
    """Raise an error for a number that is not a count."""
    for name in names:
        x = block.floats[name]
        rows = np.flatnonzero(~np.isnan(x) & ~are_counts(x))
        if len(rows):
            raise BayesError(
                f"column {name!r} has {x[rows[0]]:g} in row {block.start + rows[0]}, which is not a count (a whole "
                "number from 0).",
                hint='Choose another kind: numeric="gaussian", for all columns or for this one.',
            )


@register
class CountMoments(ColumnMoments):
    """The moments of columns of counts, (n_classes, n_columns)."""

    kind = "counts"

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Count a block; raise an error for the first number that is not a count."""
        refuse_no_counts(counter.block, request.columns)
        return super().count(request, counter)


def logarithm(x: Floats) -> Floats:
    """Return ln x; NaN where there is none.

    >>> logarithm(np.array([1.0, 0.0, -2.0, np.nan])).tolist()
    [0.0, nan, nan, nan]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        log_x = np.log(np.asarray(x, order="C"))  # several times faster than with strides
    none = np.isneginf(log_x)
    return np.where(none, np.nan, log_x) if none.any() else log_x


@register
class LogMoments(ColumnMoments):
    """The moments of ln x for columns of positive numbers, (n_classes, n_columns)."""

    kind = "logarithms"

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Count a block; raise an error for the first number that has no logarithm."""
        logs = [logarithm(counter.block.floats[name]) for name in request.columns]
        for name, log_x in zip(request.columns, logs, strict=True):
            if np.isfinite(log_x.sum()):
                continue  # each has a logarithm and none is missing
            x = counter.block.floats[name]
            rows = np.flatnonzero(~np.isnan(x) & ~((x > 0) & (x < np.inf)))
            if len(rows):
                raise BayesError(
                    f"column {name!r} has {x[rows[0]]:g} in row {counter.block.start + rows[0]}, which has no logarithm"
                    ": log-normal columns hold numbers above zero.",
                    hint=f"Choose another kind: {format_setting('numeric', {name: 'gaussian'})}",
                )
        return cls(request.columns, Moments(*counter.moments(logs)))


def pair_columns(n_columns: int, index: Sequence[int]) -> Ints:
    """Return the positions of the pairs of some columns among those of all.

    >>> pair_columns(3, [2, 0]).tolist()            # (2, 2), (2, 0), (0, 2), (0, 0)
    [8, 6, 2, 0]
    """
    at = np.asarray(index, dtype=np.int64)
    return (at[:, None] * n_columns + at).ravel()


def count_products(
    columns: Sequence[Floats],
    labels: Array,
    n_classes: int,
    weights: Floats | None,
    moments: Moments,
    n_threads: int,
) -> Moments:
    """Compute the products of rows whose moments are known, of shape (n_classes, n_columns²).

    A weighted sum of x_j with the weights w·x_i is Σw·x_i·x_j, and its total weight Σw·x_i, over the rows where both
    are there: the kernel of the moments serves.
    """
    k = len(columns)
    n, n_lo = (np.repeat(part[:, :, None], k, axis=2) for part in (moments.n, moments.n_lo))
    sums = [np.repeat(part[:, :, None], k, axis=2) for part in (moments.sum_hi, moments.sum_lo)]
    products = [np.zeros((n_classes, k, k)), np.zeros((n_classes, k, k))]
    gaps = any(bool(np.isnan(column).any()) for column in columns)
    once = np.ones(len(labels)) if weights is None else weights
    for i, column in enumerate(columns):
        present = ~np.isnan(column)
        x = np.where(present, column, 0.0)
        by = x if weights is None else x * weights
        parts = [by] if weights is None else [by, dd.two_prod(x, weights)[1]]
        part_moments = [kernels.moments(columns, labels, n_classes, np.ascontiguousarray(p), n_threads) for p in parts]
        product = part_moments[0][1], part_moments[0][2]
        total = part_moments[0][0].astype(np.float64), part_moments[0][5]
        for more in part_moments[1:]:
            with np.errstate(invalid="ignore"):  # ∞ − ∞: sums too large for a float, refused with the moments
                product = dd.add(product, (more[1], more[2]))
                total = dd.add(total, (more[0].astype(np.float64), more[5]))
        products[0][:, i], products[1][:, i] = product
        if gaps:
            sums[0][:, i], sums[1][:, i] = total
            both = np.where(present, once, 0.0)
            count = kernels.moments(columns, labels, n_classes, both, n_threads)
            n[:, i], n_lo[:, i] = count[0].astype(n.dtype), count[5]
    at, (above, below) = np.arange(k), np.triu_indices(k, 1)
    whole = [n, *sums, *products, n_lo]
    for part, diagonal in zip(
        whole, moments.parts(), strict=True
    ):  # the bits of the moments, and the same on both sides
        part[:, at, at] = diagonal
        if part is not sums[0] and part is not sums[1]:
            part[:, below, above] = part[:, above, below]
    return Moments(*(part.reshape(n_classes, k * k) for part in whole))


def pairs(products: Moments) -> tuple[Array, Floats]:
    """Return (n, Σ(x_i − mean_i)(x_j − mean_j)), both (n_classes, n_columns, n_columns), over rows with both cells.

    >>> x = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 2.0]])
    >>> labels = np.zeros(3, dtype=np.uint8)
    >>> n, spread = pairs(count_products(list(x.T.copy()), labels, 1, None, Moments.of(x, labels, 1), 1))
    >>> n[0].tolist(), spread[0].tolist()
    ([[3, 3], [3, 3]], [[8.0, 2.0], [2.0, 2.0]])
    """
    k = isqrt(products.shape[1])
    n, sum_hi, sum_lo, product_hi, product_lo, n_lo = (part.reshape(len(part), k, k) for part in products.parts())
    count = np.where(n == 0, 1.0, n.astype(np.float64)), n_lo
    mean = dd.divide((sum_hi, sum_lo), count)
    across = np.swapaxes(sum_hi, 1, 2), np.swapaxes(sum_lo, 1, 2)
    spread, _ = dd.subtract((product_hi, product_lo), dd.multiply(mean, across))
    size = np.sqrt(np.maximum(np.diagonal(product_hi, axis1=1, axis2=2), 0.0))
    spread = np.where(np.abs(spread) <= SPREAD_NOISE * size[:, :, None] * size[:, None, :], 0.0, spread)
    upper = np.triu_indices(k, 1)
    spread[:, upper[1], upper[0]] = spread[:, upper[0], upper[1]]
    return n, spread


def products_of_rows(x: Floats, unit: Floats) -> Moments:
    """Return the weighted products of each row, (n_rows, n_columns²); zero where a cell is missing."""
    whole = bool((unit == 1).all())
    n_rows, k = x.shape
    present = ~np.isnan(x)
    both = present[:, :, None] & present[:, None, :]
    cells = np.where(present, x, 0.0)
    first = np.where(both, cells[:, :, None], 0.0)
    second = np.where(both, cells[:, None, :], 0.0)
    weight = np.where(both, unit[:, None, None], 0.0)
    zero = np.zeros_like(first)
    weighted = dd.multiply((weight, zero), (first, zero))
    product = dd.multiply(weighted, (second, zero))
    n: Array = weight.astype(np.int64) if whole else weight
    return Moments(*(part.reshape(n_rows, k * k) for part in (n, *weighted, *product, zero)))


@register
class Products(MomentStatistic):
    """Products of all pairs of columns, (n_classes, n_columns²); their moments are counted too."""

    kind = "products"

    @classmethod
    def empty(cls, request: Request, space: Space) -> Self:
        """Return zero products."""
        return cls(request.columns, Moments.zeros(space.n_classes, len(request.columns) ** 2, space.weighted))

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Count a block; the diagonal is taken from its moments."""
        alone = counter.statistic(Request(ColumnMoments.kind, request.columns))
        assert isinstance(alone, ColumnMoments)
        floats, shares = [counter.block.floats[name] for name in request.columns], counter.block.responsibilities
        n_classes, n_threads = counter.space.n_classes, counter.n_threads
        if shares is None:
            by = counter.labels, n_classes, counter.block.weights
            return cls(request.columns, count_products(floats, *by, alone.moments, n_threads))
        one = np.zeros(counter.block.n_rows, dtype=np.uint8)
        parts = [
            count_products(floats, one, 1, np.ascontiguousarray(shares[:, c]), alone.moments.take([c]), n_threads)
            for c in range(n_classes)
        ]
        return cls(request.columns, Moments.concatenate(parts))

    def of(self, columns: Sequence[str]) -> Moments:
        """Return the products of these columns among each other, in this order."""
        at = [self.columns.index(name) for name in columns]
        return self.moments.columns(pair_columns(len(self.columns), at))

    def minus(self, other: Self, space: Space, tolerance: float) -> Self:
        """Subtract products; raise an error where a pair of columns was not there so often."""
        left = self.moments - other.of(self.columns)
        if (left.n < 0).any():
            c, cell = np.argwhere(left.n < 0)[0]
            first, second = (self.columns[i] for i in divmod(int(cell), len(self.columns)))
            raise NotLearned(
                f"columns {first!r} and {second!r} were not both there so often in class {space.classes[c]!r}; "
                "nothing was changed"
            )
        return replace(self, moments=left)

    @classmethod
    def from_parts(cls, request: Request, header: Any, arrays: list[Array], space: Space) -> Self:
        """Read symmetric arrays of shape (n_classes, n_columns²)."""
        k = len(request.columns)
        products = Moments.of_parts(arrays, (space.n_classes, k * k), space.dtype)
        n = products.n.reshape(space.n_classes, k, k)
        check_file((n == np.swapaxes(n, 1, 2)).all(), "the tally's products do not fit each other")
        return cls(request.columns, products)

    def check(self, space: Space, class_counts: Array, others: Mapping[str, Statistic]) -> None:
        """Check that the diagonal equals the moments and that no pair has more rows than its columns."""
        k, alone = len(self.columns), others.get(ColumnMoments.kind)
        if not isinstance(alone, ColumnMoments) or alone.columns != self.columns:
            raise BadFile("the tally has products of columns without their moments")
        n = self.moments.n.reshape(-1, k, k)
        same = self.moments.columns(np.arange(k) * (k + 1)) == alone.moments
        fits = same and (n <= alone.moments.n[:, :, None]).all()
        check_file(fits, "the tally's products do not fit its moments")

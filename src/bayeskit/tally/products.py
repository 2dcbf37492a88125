"""Sum products of pairs of numbers, the sufficient statistics of a multivariate normal besides the moments.

For k columns the moments of all k · k pairs (i, j), one after the other, over the rows where both cells are there:
n, Σx_i and Σx_i·x_j, in double-double like all moments, so that + and − are exact.

Formula: counts of pairs and of any set of columns; of products of numbers
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isqrt
from typing import Any, Self

import numpy as np

from bayeskit import kernels
from bayeskit.errors import BadFile, NotLearned
from bayeskit.tally import double_double as dd
from bayeskit.tally.moments import ColumnMoments, Moments, MomentStatistic
from bayeskit.tally.plan import Request, Space, check_file
from bayeskit.tally.statistic import BlockCounts, Statistic, register
from bayeskit.tolerance import SPREAD_NOISE
from bayeskit.typing import Array, Floats, Ints


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

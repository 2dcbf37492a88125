"""Sums of x and x² by class: pairs of floats whose sum holds twice the digits."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayeskit.kernels.twins.checks import (
    Codes,
    Floats,
    check_labels,
    check_matrix,
    check_weights,
    length,
)

Moments = tuple[NDArray[np.int64] | Floats, Floats, Floats, Floats, Floats, Floats, bool]

LIMIT = 1e150  # beyond it a square may overflow, and the sums have no meaning


def moments(
    columns: Sequence[Floats], labels: Codes, n_classes: int, weights: Floats | None, n_threads: int
) -> Moments:
    """n, Σx (high, low), Σx² (high, low), the low part of n as (classes, columns), and whether they can be used.

    Sums are double-double: high + low holds about 32 digits. A NaN cell is left out. Any |x| over 1e150
    makes the sums unusable. With weights: Σw, Σwx and Σwx².

    >>> x, labels = np.array([1.0, 2.0, np.nan, 1e20, 3.0]), np.array([0, 0, 0, 1, 1], dtype=np.uint8)
    >>> n, high, low, square, _, _, usable = moments([x], labels, 2, None, 1)
    >>> n.tolist(), high.tolist(), low.tolist(), square.tolist(), usable
    ([[2], [2]], [[3.0], [1e+20]], [[0.0], [3.0]], [[5.0], [1e+40]], True)
    """
    check_labels(labels, n_classes, length(columns, n_threads, "floats", len(labels)))
    check_weights(weights, len(labels))
    by_class = np.argsort(labels, kind="stable")
    groups = np.split(by_class, np.cumsum(np.bincount(labels, minlength=n_classes))[:-1])
    x = _matrix(columns, len(labels))
    with np.errstate(over="ignore", invalid="ignore"):  # sums too large for a float: as the kernel, without a word
        parts = [weighted_sums(x[rows], np.ones(len(rows)) if weights is None else weights[rows]) for rows in groups]
    n, *sums = (np.array(part).reshape(n_classes, len(columns)) for part in zip(*parts, strict=True))
    count = n.astype(np.int64) if weights is None else n
    return count, sums[0], sums[1], sums[2], sums[3], sums[4], _usable(x)


def moments_responsibilities(columns: Sequence[Floats], responsibilities: Floats, n_threads: int) -> Moments:
    """As `moments`, every row counted in each class by its responsibility: arrays (classes, columns).

    >>> n, high, *_ = moments_responsibilities([np.array([2.0, 4.0])], np.array([[1.0, 0.0], [0.5, 0.5]]), 1)
    >>> n.tolist(), high.tolist()
    ([[1.5], [0.5]], [[4.0], [2.0]])
    """
    check_matrix("responsibilities", responsibilities, length(columns, n_threads, "floats", len(responsibilities)))
    x = _matrix(columns, len(responsibilities))
    parts = [weighted_sums(x, share) for share in responsibilities.T]
    n, *sums = (np.array(part).reshape(len(parts), len(columns)) for part in zip(*parts, strict=True))
    return n, sums[0], sums[1], sums[2], sums[3], sums[4], _usable(x)


def weighted_sums(x: Floats, w: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
    """Σw, Σwx (high, low), Σwx² (high, low), the low part of Σw over rows (rows, columns), NaN left out."""
    with np.errstate(over="ignore", invalid="ignore"):
        weight = np.where(np.isnan(x), 0.0, w[:, None])
        x = np.where(np.isnan(x), 0.0, x)
        n, n_low = _tree_sum(weight, np.zeros_like(weight))
        sum_high, sum_low = _tree_sum(*_two_product(weight, x))
        square, error = _two_product(x, x)
        high, low = _two_product(weight, square)
        square_high, square_low = _tree_sum(*_quick_two_sum(high, low + weight * error))
    return n, sum_high, sum_low, square_high, square_low, n_low


def _tree_sum(high: Floats, low: Floats) -> tuple[Floats, Floats]:
    """Sum over the first axis of double-doubles, pairs first, so that errors grow as log n."""
    if len(high) == 0:
        return np.zeros(high.shape[1:]), np.zeros(high.shape[1:])
    while len(high) > 1:
        if len(high) % 2:
            high = np.concatenate([high, np.zeros_like(high[:1])])
            low = np.concatenate([low, np.zeros_like(low[:1])])
        total, error = _two_sum(high[::2], high[1::2])
        high, low = _quick_two_sum(total, error + (low[::2] + low[1::2]))
    return high[0], low[0]


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """a + b as the rounded sum and its exact error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _quick_two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """As `_two_sum`, where |a| >= |b| (Dekker)."""
    total = a + b
    return total, b - (total - a)


def _two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """a · b as the rounded product and its exact error, by splitting both sides in halves (Dekker)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _split(a), _split(b)
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _split(a: Floats) -> tuple[Floats, Floats]:
    scaled = a * 134217729.0  # 2**27 + 1
    high = scaled - (scaled - a)
    return high, a - high


def _usable(x: Floats) -> bool:
    return not bool(np.any(np.abs(x) > LIMIT))


def _matrix(columns: Sequence[Floats], n: int) -> Floats:
    return np.stack(columns, axis=1) if len(columns) else np.zeros((n, 0))

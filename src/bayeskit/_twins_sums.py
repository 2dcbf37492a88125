"""Error-free sums of the twins: pairs of floats whose sum holds twice the digits."""

import numpy as np

from bayeskit._twins_checks import Floats


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

"""Compute sums and products in double-double: a number is hi + lo, two floats, about 32 decimal digits.

The rounding error of a float addition or multiplication is itself a float and can be computed
exactly (an error-free transformation); carrying it along doubles the digits. All functions work on
arrays, cell by cell.

>>> hi, lo = two_sum(np.array([1e16]), np.array([1.0]))   # 1e16 + 1 has no float of its own
>>> float(hi[0]), float(lo[0])
(1e+16, 1.0)

Dekker, "A floating-point technique for extending the available precision", 1971;
Joldes, Muller, Popescu, "Tight and rigorous error bounds for basic building blocks of double-word
arithmetic", 2017.

Formula: double-double arithmetic
"""

import numpy as np

from bayeskit.typing import Floats

Pair = tuple[Floats, Floats]

_SPLIT = 134217729.0  # 2^27 + 1: halves the 53 bits of a float
_BIG = 2.0**990  # above, the splitting would overflow
_DOWN, _UP = 2.0**-30, 2.0**30


def two_sum(a: Floats, b: Floats) -> Pair:
    """Return a + b and its exact rounding error."""
    s = a + b
    bb = s - a
    return s, (a - (s - bb)) + (b - bb)


def _fast_two_sum(a: Floats, b: Floats) -> Pair:
    """Return `two_sum` for |a| ≥ |b|."""
    s = a + b
    return s, b - (s - a)


def _split(a: Floats) -> Pair:
    """Split a float into two of 26 bits each, whose products are exact."""
    big = np.abs(a) > _BIG
    scaled = np.where(big, a * _DOWN, a)
    c = _SPLIT * scaled
    hi = c - (c - scaled)
    lo = scaled - hi
    return np.where(big, hi * _UP, hi), np.where(big, lo * _UP, lo)


def two_prod(a: Floats, b: Floats) -> Pair:
    """Return a · b and its exact rounding error (barring underflow).

    >>> p, e = two_prod(np.array([0.1]), np.array([0.1]))
    >>> from fractions import Fraction
    >>> Fraction(p[0]) + Fraction(e[0]) == Fraction(0.1) ** 2
    True
    """
    p = a * b
    a_hi, a_lo = _split(a)
    b_hi, b_lo = _split(b)
    return p, ((a_hi * b_hi - p) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo


def add(a: Pair, b: Pair) -> Pair:
    """Return a + b, accurate to about 2^-105 of the larger operand even under cancellation."""
    s, e = two_sum(a[0], b[0])
    t, f = two_sum(a[1], b[1])
    s, e = _fast_two_sum(s, e + t)
    return _fast_two_sum(s, e + f)


def subtract(a: Pair, b: Pair) -> Pair:
    """Return a − b."""
    return add(a, (-b[0], -b[1]))


def multiply(a: Pair, b: Pair) -> Pair:
    """Return a · b."""
    p, e = two_prod(a[0], b[0])
    return _fast_two_sum(p, e + (a[0] * b[1] + a[1] * b[0]))


def divide(a: Pair, b: Pair) -> Pair:
    """Return a / b, by long division in two steps.

    >>> third = divide((np.array([1.0]), np.array([0.0])), (np.array([3.0]), np.array([0.0])))
    >>> back = multiply(third, (np.array([3.0]), np.array([0.0])))
    >>> float(back[0][0]), abs(float(back[1][0])) < 1e-31
    (1.0, True)
    """
    q = a[0] / b[0]
    p, e = two_prod(q, b[0])
    rest = (((a[0] - p) - e) + a[1]) - q * b[1]
    return _fast_two_sum(q, rest / b[0])

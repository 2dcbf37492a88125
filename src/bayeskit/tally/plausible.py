"""Whether the arrays of a tally can be what its header says: asked of the bytes, before any value is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.encode import LARGEST as LARGEST_NUMBER
from bayeskit.errors import BadFile

Array = npt.NDArray[Any]
CHUNK = 1 << 16
LARGEST = 2**53  # rows
LOW = 2.0**-50  # of the high part of a double-double: the low part is at most a rounding of it
TINY = 1e-290
ROUNDING = 1e-6  # of a class's weight: what sums of weights in another order may differ by


def check_sizes(header: Any, arrays: list[Array]) -> None:
    """Refuse arrays of other shapes than the header's classes and values, impossible numbers, sums that do not fit."""
    try:
        n_classes = len(header["classes"])
        sizes = [len(values) for _, values in header["families"]]
        n_moments = len(header["moments"])
    except (KeyError, TypeError, ValueError) as problem:
        raise BadFile(f"this is no tally: {problem!r}") from None
    if len(arrays) < 2 + len(sizes):
        raise BadFile("the tally's arrays do not fit its header")
    for array in arrays:
        _check_numbers(array)
    rows, families = arrays[0], arrays[1 : 1 + len(sizes)]
    if rows.shape != (n_classes,):
        raise BadFile("the tally's class counts do not fit its classes")
    total = rows.sum(dtype=np.float64)
    if not np.isfinite(total) or (rows.dtype.kind == "i" and total > LARGEST):
        raise BadFile("the tally counts more rows than there can be")
    for size, counts in zip(sizes, families, strict=True):
        if counts.shape != (n_classes, size + 1):
            raise BadFile("the tally's counts do not fit its values")
        together = counts.sum(axis=1, dtype=np.float64)  # which cannot wrap around
        apart = np.abs(together - rows)
        if (apart > (ROUNDING * rows if rows.dtype.kind == "f" else 0)).any():
            raise BadFile("the counts of a column do not sum to those of the classes")
    numbers = arrays[1 + len(sizes)]
    if numbers.shape != (n_classes, n_moments) or (numbers > rows[:, None] * (1 + ROUNDING)).any():
        raise BadFile("the tally has more numbers than rows")


def check_moments(moments: Sequence[Array]) -> None:
    """Refuse sums that no values within ∣x∣ ≤ 1e150 have, or whose low parts are more than a rounding of the high ones.

    In the order of a file: n, Σx and Σx² as high and low parts, and what n loses. Shapes were checked before.
    """
    n, sum_hi, sum_lo, square_hi, square_lo, n_lo = moments
    count = n.astype(np.float64)
    for high, low in ((count, n_lo), (sum_hi, sum_lo), (square_hi, square_lo)):
        if (np.abs(low) > np.abs(high) * LOW + TINY).any():
            raise BadFile("the sums of a column have low parts that are no rounding of the high ones")
    with np.errstate(over="ignore"):
        limits = (sum_hi, LARGEST_NUMBER), (square_hi, LARGEST_NUMBER**2)
        impossible = [(np.abs(total) > count * limit * (1 + ROUNDING)).any() for total, limit in limits]
    if any(impossible):
        raise BadFile("the sums of a column are beyond those of its numbers")


def _check_numbers(array: Array) -> None:
    """Every number finite, without a copy of the array: NaN and infinity show in the extremes."""
    if array.dtype.kind == "f" and array.size and not (np.isfinite(array.min()) and np.isfinite(array.max())):
        raise BadFile("the tally holds counts that are negative or no numbers")


def uncounted(counts: Array) -> Array:
    """The values (slots after the first) that no row shows, in parts, so that no copy of the counts is made."""
    found = []
    for start in range(1, counts.shape[1], CHUNK):
        part = counts[:, start : start + CHUNK]
        found.append(np.flatnonzero(~part.any(axis=0)) + start - 1)
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)

"""Cut points with as many numbers in each interval as ties allow."""

from collections.abc import Sequence

import numpy as np

from bayeskit.kernels.twins.checks import Floats, length, same_number


def frequency_cuts(
    columns: Sequence[Floats], intervals: Sequence[int], tolerance: float, n_threads: int
) -> list[Floats]:
    """Cut points of each column after the numbers at ranks i n / k, half way to the next larger one, rising.

    A rank that is beyond a whole number by this share of the numbers or less is that number.

    >>> frequency_cuts([np.array([1.0, 2.0, np.nan, 3.0, 10.0, 20.0, 30.0])], [3], 1e-9, 1)
    [array([ 2.5, 15. ])]
    """
    length(columns, n_threads, "floats")
    same_number(columns, intervals=intervals)
    if any(k < 1 for k in intervals):
        raise ValueError(f"intervals holds {min(intervals)}, not 1 or more")
    if not 0 <= tolerance < 1:
        raise ValueError("tolerance is no share of the rows")
    cuts = []
    for i, (column, k) in enumerate(zip(columns, intervals, strict=True)):
        if (np.abs(column) > 1e150).any():
            raise ValueError(f"column {i} holds a number beyond 1e150")
        x = np.sort(column[~np.isnan(column)])
        k = min(k, max(len(x), 1))  # more intervals have no number
        places = np.ceil(np.arange(1.0, k) * (len(x) / k) - tolerance * len(x))
        left = np.unique(x[np.clip(places, 1, len(x)).astype(np.int64) - 1]) if len(x) > 1 else x[:0]
        left = left[left < x[-1:]]
        right = x[np.searchsorted(x, left, side="right")]
        middle = left + (right - left) / 2
        cuts.append(np.where(middle < right, middle, left))
    return cuts

"""Numbers to codes of intervals."""

from collections.abc import Sequence

import numpy as np

from bayeskit.kernels.twins.checks import (
    Codes,
    Floats,
    check_cells,
    length,
    same_number,
)


def bin_codes(columns: Sequence[Floats], cuts: Sequence[Floats], n_threads: int) -> list[Codes]:
    """Code of the interval of each number: 1 + how many cuts lie below it; 0 for NaN.

    >>> bin_codes([np.array([0.5, 1.0, 1.5, np.nan])], [np.array([1.0])], 1)
    [array([1, 1, 2, 0], dtype=uint8)]
    """
    length(columns, n_threads, "floats")
    same_number(columns, cuts=cuts)
    coded: list[Codes] = []
    for j, (column, at) in enumerate(zip(columns, cuts, strict=True)):
        check_cells(f"the cuts of column {j}", at, "float64", None)
        if not np.all(at[:-1] <= at[1:]) or np.isnan(at).any():
            raise ValueError(f"the cuts of column {j} are not sorted")
        code = np.where(np.isnan(column), 0, 1 + np.searchsorted(at, column, side="left"))
        coded.append(code.astype(np.min_scalar_type(len(at) + 1)))
    return coded

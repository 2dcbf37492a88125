"""Integer columns: their range, and their codes through a table."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayeskit.kernels.twins.checks import (
    Codes,
    Integers,
    check_cells,
    length,
    same_number,
)


def int_ranges(columns: Sequence[Integers], n_threads: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Smallest and largest value of each integer column: arrays (columns,).

    >>> low, high = int_ranges([np.array([3, 1, 2]), np.array([7, 7, 7])], 1)
    >>> low.tolist(), high.tolist()
    ([1, 7], [3, 7])
    """
    if length(columns, n_threads, "integers") == 0 and columns:
        raise ValueError("an empty column has no range")
    ends = [(int(column.min()), int(column.max())) for column in columns]
    for j, (_, high) in enumerate(ends):
        if high > np.iinfo(np.int64).max:
            raise ValueError(f"column {j} has {high}, beyond a 64-bit signed integer")
    both = np.array(ends, dtype=np.int64).reshape(len(ends), 2)
    return both[:, 0].copy(), both[:, 1].copy()


def lookup_codes(
    columns: Sequence[Integers],
    lo: NDArray[np.int64],
    tables: Sequence[NDArray[np.uint32]],
    unseen: NDArray[np.uint32],
    n_threads: int,
) -> list[Codes]:
    """Code of each integer: ``table[x - lo]``, and ``unseen`` for an x outside the table.

    >>> table = np.array([1, 0, 2], dtype=np.uint32)  # 10 -> 1, 12 -> 2
    >>> lookup_codes([np.array([10, 12, 99])], np.array([10]), [table], np.array([3], dtype=np.uint32), 1)
    [array([1, 2, 3], dtype=uint8)]
    """
    length(columns, n_threads, "integers")
    same_number(columns, lo=lo, tables=tables, unseen=unseen)
    check_cells("lo", lo, "int64", len(columns))
    check_cells("unseen", unseen, "uint32", len(columns))
    for j, table in enumerate(tables):
        check_cells(f"table {j}", table, "uint32", None)
    coded: list[Codes] = []
    for column, low, table, other in zip(columns, lo, tables, unseen, strict=True):
        largest = max(int(table.max(initial=0)), int(other))
        padded = np.append(table, other).astype(np.min_scalar_type(largest))
        value = column.astype(np.int64)
        index = value.view(np.uint64) - np.uint64(int(low) % 2**64)  # modulo 2**64, so it cannot overflow
        inside = (value >= low) & (index < len(table))
        if column.dtype == np.uint64:
            inside &= column <= np.uint64(np.iinfo(np.int64).max)
        coded.append(padded[np.where(inside, index, len(table)).astype(np.intp)])
    return coded

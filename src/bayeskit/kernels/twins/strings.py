"""Python objects to indices."""

import numpy as np
from numpy.typing import NDArray


def factor_strings(cells: NDArray[np.object_], most_others: int) -> tuple[NDArray[np.int32], NDArray[np.int64]] | None:
    """Indices of Python objects in the order they are first met, and the rows where that is.

    Strings are told apart by their characters, anything else by identity; None where there are more than
    `most_others` of those.

    >>> indices, first = factor_strings(np.array(["sun", "rain", None, "sun"], dtype=object), 10)
    >>> indices.tolist(), first.tolist()
    ([0, 1, 2, 0], [0, 1, 2])
    """
    if cells.dtype != object or cells.ndim != 1:
        raise TypeError("cells is no one-dimensional array of objects")
    keys = [cell if type(cell) is str else id(cell) for cell in cells]
    index = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    if sum(type(key) is int for key in index) > most_others:
        return None
    indices = np.fromiter(map(index.__getitem__, keys), dtype=np.int32, count=len(keys))
    first = np.empty(len(index), dtype=np.int64)
    first[indices[::-1]] = np.arange(len(keys))[::-1]  # where an index stands twice, the last assignment stays
    return indices, first

"""What every kernel checks at its door: types, shapes and bounds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.threads import MOST_THREADS

Floats = NDArray[np.float64]
Codes = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.uint32]
Integers = NDArray[np.integer[Any]] | NDArray[np.bool_]
MOST_CODES = 2**32


def check_threads(n_threads: int) -> None:
    if not 1 <= n_threads <= MOST_THREADS:
        raise ValueError(f"n_threads is {n_threads}, not from 1 to {MOST_THREADS}")


def length(columns: Sequence[NDArray[Any]], n_threads: int, kind: str, n: int | None = None) -> int:
    """Number of rows of all columns; an error where they differ, or are not of their kind."""
    check_threads(n_threads)
    for j, column in enumerate(columns):
        check_kind(f"column {j}", column, kind)
    for j, column in enumerate(columns):
        n = len(column) if n is None else n
        if column.shape != (n,):
            raise ValueError(f"column {j} has shape {column.shape}, not ({n},)")
    return n or 0


def check_kind(name: str, array: NDArray[Any], kind: str) -> None:
    allowed = {"codes": "BHIL", "integers": "?bhilqBHILQ", "floats": "d"}[kind]
    if array.dtype.char not in allowed or (kind == "codes" and array.itemsize > 4):
        raise TypeError(f"{name} is {array.dtype}: not an array of {kind}")
    if kind == "codes" and not array.flags.c_contiguous:
        raise ValueError(f"{name} is not contiguous")
    if not array.flags.aligned:
        raise ValueError(f"{name} is not aligned")


def check_cells(name: str, array: NDArray[Any], dtype: str, *shape: int | None) -> None:
    """An array of this type and shape without gaps; None stands for any length."""
    if not isinstance(array, np.ndarray) or array.dtype != dtype:
        raise TypeError(f"{name} is not {dtype}")
    fits = array.ndim == len(shape) and all(a == b for a, b in zip(shape, array.shape, strict=True) if a is not None)
    if not fits:
        raise ValueError(f"{name} has shape {array.shape}, not {shape}")
    if not array.flags.c_contiguous or not array.flags.aligned:
        raise ValueError(f"{name} is not contiguous, or not aligned")


def check_starts(starts: NDArray[np.int64], n: int, end: int, name: str) -> None:
    """Where each of n parts begins, and the last one ends."""
    if len(starts) != n + 1 or starts[0] != 0 or starts[-1] != end or (np.diff(starts) < 0).any():
        raise ValueError(f"the arrays of {name} do not fit together")


def same_number(columns: Sequence[Any], **others: Any) -> None:
    for name, other in others.items():
        if len(other) != len(columns):
            raise ValueError(f"{len(columns)} columns, but {name} has {len(other)}")


def check_codes(columns: Sequence[Codes], sizes: Sequence[int]) -> None:
    same_number(columns, sizes=sizes)
    for j, (column, size) in enumerate(zip(columns, sizes, strict=True)):
        if not 0 <= size <= MOST_CODES:
            raise ValueError(f"size {size} is negative, or more than codes can tell apart")
        if len(column) and int(column.max()) >= size:
            raise ValueError(f"column {j} has code {column.max(initial=0)}, beyond its size {size}")


def check_labels(labels: Codes, n_classes: int, n: int) -> None:
    check_kind("labels", labels, "codes")
    if labels.shape != (n,):
        raise ValueError(f"labels have shape {labels.shape}, not ({n},)")
    if not 1 <= n_classes < MOST_CODES:
        raise ValueError(f"n_classes is {n_classes}, not 1 or more, or beyond 32 bits")
    if n and int(labels.max()) >= n_classes:
        raise ValueError(f"labels hold {labels.max()}, beyond the {n_classes} classes")


def check_weights(weights: Floats | None, n: int) -> None:
    if weights is not None:
        check_cells("weights", weights, "float64", n)


def check_matrix(name: str, matrix: Floats, n: int, columns: int = 0) -> None:
    check_kind(name, matrix, "floats")
    if matrix.ndim != 2 or len(matrix) != n or matrix.shape[1] == 0 or matrix.shape[1] != (columns or matrix.shape[1]):
        raise ValueError(f"{name} has shape {matrix.shape}, not ({n}, {columns or 'classes'}) with one class or more")
    if not matrix.flags.c_contiguous:
        raise ValueError(f"{name} is not contiguous")

"""What every kernel checks at its door: types, shapes and bounds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.uint32]
Integers = NDArray[np.integer[Any]] | NDArray[np.bool_]


def check_threads(n_threads: int) -> None:
    if n_threads < 1:
        raise ValueError(f"n_threads is {n_threads}, not 1 or more")


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


def same_number(columns: Sequence[Any], **others: Any) -> None:
    for name, other in others.items():
        if len(other) != len(columns):
            raise ValueError(f"{len(columns)} columns, but {name} has {len(other)}")


def check_codes(columns: Sequence[Codes], sizes: Sequence[int]) -> None:
    same_number(columns, sizes=sizes)
    for j, (column, size) in enumerate(zip(columns, sizes, strict=True)):
        if size < 0 or (len(column) and int(column.max()) >= size):
            raise ValueError(f"column {j} has code {column.max(initial=0)}, beyond its size {size}")


def check_labels(labels: Codes, n_classes: int, n: int) -> None:
    check_kind("labels", labels, "codes")
    if labels.shape != (n,):
        raise ValueError(f"labels have shape {labels.shape}, not ({n},)")
    if n_classes < 1:
        raise ValueError(f"n_classes is {n_classes}, not 1 or more")
    if n and int(labels.max()) >= n_classes:
        raise ValueError(f"labels hold {labels.max()}, beyond the {n_classes} classes")


def check_weights(weights: Floats | None, n: int) -> None:
    if weights is not None and weights.shape != (n,):
        raise ValueError(f"weights have shape {weights.shape}, not ({n},)")


def check_matrix(name: str, matrix: Floats, n: int, columns: int = 0) -> None:
    check_kind(name, matrix, "floats")
    if matrix.ndim != 2 or len(matrix) != n or matrix.shape[1] == 0 or matrix.shape[1] != (columns or matrix.shape[1]):
        raise ValueError(f"{name} has shape {matrix.shape}, not ({n}, {columns or 'classes'}) with one class or more")

"""Codes counted by class."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.kernels.twins.checks import (
    Codes,
    Floats,
    check_codes,
    check_labels,
    check_matrix,
    check_weights,
    length,
)


def count_codes(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    labels: Codes,
    n_classes: int,
    weights: Floats | None,
    n_threads: int,
) -> list[NDArray[Any]]:
    """Rows of each class with each code: arrays (classes, size), or their weights summed in row order.

    >>> codes, labels = np.array([1, 2, 1], dtype=np.uint8), np.array([0, 0, 1], dtype=np.uint8)
    >>> count_codes([codes], [3], labels, 2, None, 1)[0].tolist()
    [[0, 1, 1], [0, 1, 0]]
    """
    check_labels(labels, n_classes, length(columns, n_threads, "codes", len(labels)))
    check_weights(weights, len(labels))
    check_codes(columns, sizes)
    tables = []
    for column, size in zip(columns, sizes, strict=True):
        cell = labels.astype(np.intp) * size + column
        table = np.bincount(cell, weights, minlength=n_classes * size)
        tables.append(table.astype(np.int64 if weights is None else np.float64).reshape(n_classes, size))
    return tables


def count_responsibilities(
    columns: Sequence[Codes], sizes: Sequence[int], responsibilities: Floats, n_threads: int
) -> list[Floats]:
    """Responsibilities of each class summed by code, in row order: arrays (classes, size).

    >>> shares = np.array([[1.0, 0.0], [0.25, 0.75]])
    >>> count_responsibilities([np.array([1, 1], dtype=np.uint8)], [2], shares, 1)[0].tolist()
    [[0.0, 1.25], [0.0, 0.75]]
    """
    check_matrix("responsibilities", responsibilities, length(columns, n_threads, "codes", len(responsibilities)))
    check_codes(columns, sizes)
    tables = []
    for column, size in zip(columns, sizes, strict=True):
        counts = [np.bincount(column, share, minlength=size) for share in responsibilities.T]
        tables.append(np.array(counts, dtype=np.float64).reshape(responsibilities.shape[1], size))
    return tables

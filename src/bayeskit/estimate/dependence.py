"""How much two columns tell about each other once the class is known, from counts of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels

Floats = npt.NDArray[np.float64]
WIDEST = 4_000_000  # cells of the largest table of a pair


def conditional_information(
    columns: Sequence[npt.NDArray[Any]],
    sizes: Sequence[int],
    labels: npt.NDArray[np.uint32],
    n_classes: int,
    weights: Floats | None,
    n_threads: int,
) -> Floats:
    """I(x; u | class) in nats of all pairs (columns, columns), less its expectation under independence, df / 2n.

    >>> x, y = np.array([0, 0, 1, 1] * 5), np.array([0, 1, 0, 1] * 5)                    # x XOR y is the class
    >>> found = conditional_information([x, y], [2, 2], (x ^ y).astype(np.uint32), 2, None, 1)
    >>> round(float(found[0, 1]), 6), round(float(np.log(2) - 2 / 40), 6)
    (0.643147, 0.643147)
    """
    n_columns = len(columns)
    total = float(len(labels) if weights is None else weights.sum())
    found = np.zeros((n_columns, n_columns))
    pairs = np.arange(n_columns)
    for i in range(n_columns):
        others = [j for j in pairs[:i] if sizes[i] * sizes[j] * n_classes <= WIDEST]
        if not others:
            continue  # a pair of columns with too many values for a table counts as independent
        mine = columns[i].astype(np.uint32)
        cells = [mine * np.uint32(sizes[j]) + columns[j].astype(np.uint32) for j in others]
        tables = kernels.count_codes(cells, [sizes[i] * sizes[j] for j in others], labels, n_classes, weights, n_threads)
        for j, table in zip(others, tables, strict=True):
            found[i, j] = found[j, i] = _information(table.reshape(n_classes, sizes[i], sizes[j]), total)
    return found


def _information(counts: npt.NDArray[Any], total: float) -> float:
    """From counts (classes, x, u)."""
    of_class, of_x, of_u = counts.sum(axis=(1, 2)), counts.sum(axis=2), counts.sum(axis=1)
    y, x, u = np.nonzero(counts)
    here = counts[y, x, u]
    information = here @ np.log(here / of_x[y, x] * (of_class[y] / of_u[y, u]))
    seen_x, seen_u = (of_x > 0).sum(axis=1), (of_u > 0).sum(axis=1)
    freedom = (np.maximum(seen_x - 1, 0) * np.maximum(seen_u - 1, 0)).sum()
    return float(information - freedom / 2) / total

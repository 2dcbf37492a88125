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
        tables = kernels.count_codes(
            cells, [sizes[i] * sizes[j] for j in others], labels, n_classes, weights, n_threads
        )
        for size in sorted({sizes[j] for j in others}):  # tables of one shape together
            alike = [at for at, j in enumerate(others) if sizes[j] == size]
            counts = np.stack([tables[at] for at in alike]).reshape(len(alike), n_classes, sizes[i], size)
            own = np.array(others)[alike]
            found[i, own] = found[own, i] = _information(counts.astype(np.float64)) / total
    return found


def _information(counts: Floats) -> Floats:
    """n · I(x; u | class) − df / 2 of each table of counts (tables, classes, x, u)."""
    of_class, of_x, of_u = counts.sum(axis=(2, 3)), counts.sum(axis=3), counts.sum(axis=2)
    together = _n_log_n(counts).sum(axis=(1, 2, 3)) + _n_log_n(of_class).sum(axis=1)
    apart = _n_log_n(of_x).sum(axis=(1, 2)) + _n_log_n(of_u).sum(axis=(1, 2))
    seen_x, seen_u = (of_x > 0).sum(axis=2), (of_u > 0).sum(axis=2)
    freedom = (np.maximum(seen_x - 1, 0) * np.maximum(seen_u - 1, 0)).sum(axis=1)
    information: Floats = together - apart - freedom / 2
    return information


def _n_log_n(counts: Floats) -> Floats:
    logs = np.log(counts, out=np.zeros_like(counts), where=counts > 0)
    return np.asarray(counts * logs)

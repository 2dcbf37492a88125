"""How much coded columns tell about each other once the class is known: all pairs, counted and measured at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.estimate.structure import conditional_information

Floats = npt.NDArray[np.float64]
WIDEST = 4_000_000  # cells of the largest table of a pair


def pair_information(
    columns: Sequence[npt.NDArray[Any]],
    sizes: Sequence[int],
    labels: npt.NDArray[np.uint32],
    n_classes: int,
    weights: Floats | None,
    n_threads: int,
) -> Floats:
    """I(x; u | class) in nats of all pairs (columns, columns), less its expectation under independence, df / 2n.

    >>> x, y = np.array([0, 0, 1, 1] * 5), np.array([0, 1, 0, 1] * 5)                    # x XOR y is the class
    >>> found = pair_information([x, y], [2, 2], (x ^ y).astype(np.uint32), 2, None, 1)
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
            gain, freedom = conditional_information(counts)
            found[i, own] = found[own, i] = (gain - freedom / 2) / total
    return found

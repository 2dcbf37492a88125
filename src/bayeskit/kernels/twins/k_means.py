"""K-means: seeds drawn by k-means++, then Lloyd's rounds, from several starts."""

import numpy as np
from numpy.typing import NDArray

from bayeskit.kernels.twins.checks import Floats, check_cells, check_threads

MOST_TRIALS, MOST_ROUNDS = 64, 1_000_000
Labels = NDArray[np.uint32]


def k_means(
    rows: Floats, first: NDArray[np.int64], uniforms: Floats, max_rounds: int, tolerance: float, n_threads: int
) -> tuple[Floats, NDArray[np.uint32], float]:
    """(centres (clusters, columns), the cluster of each row, Σ of squared distances) of the best of several starts.

    A start begins with the row ``first``. Each next centre is the best of some rows: ``uniforms`` (starts,
    clusters − 1, trials) draw them with the probability of their squared distance from the centres so far, and the
    one that leaves the least sum of these stays. Lloyd's rounds end when no row changes its cluster, or when the
    squares of how far the centres moved sum up to the ``tolerance`` at most; a cluster without rows takes the row that
    is farthest from its centre. A later start is better if its sum is less and its clusters are not the same ones.

    >>> rows = np.array([[0.0], [1.0], [8.0], [9.0]])
    >>> centres, labels, inertia = k_means(rows, np.array([3]), np.full((1, 1, 2), 0.5), 300, 0.0, 1)
    >>> centres.tolist(), labels.tolist(), inertia
    ([[8.5], [0.5]], [1, 1, 0, 0], 1.0)
    """
    check_threads(n_threads)
    check_cells("rows", rows, "float64", None, None)
    check_cells("first", first, "int64", None)
    check_cells("uniforms", uniforms, "float64", len(first), None, None)
    n, n_clusters = len(rows), uniforms.shape[1] + 1
    if not rows.size or n_clusters > n or not len(first) or not 1 <= uniforms.shape[2] <= MOST_TRIALS:
        raise ValueError(f"{n_clusters} clusters of {rows.shape} rows and columns, from {uniforms.shape} draws")
    if (first < 0).any() or (first >= n).any() or not 1 <= max_rounds <= MOST_ROUNDS:
        raise ValueError("first is beyond the rows, or max_rounds is")
    best: tuple[Floats, Labels, float] | None = None
    with np.errstate(invalid="ignore", over="ignore"):
        for row, draws in zip(first.tolist(), uniforms, strict=True):
            start = _settled(rows, _seeds(rows, row, draws), max_rounds, tolerance)
            if best is None or (start[2] < best[2] and not _same_clusters(start[1], best[1])):
                best = start
    assert best is not None
    return best


def _seeds(rows: Floats, first: int, uniforms: Floats) -> Floats:
    centres = [rows[first]]
    closest = _squares(rows, rows[[first]])[0]
    for draws in uniforms:
        reached = np.searchsorted(np.cumsum(closest), draws * closest.sum())
        candidates = rows[np.minimum(reached, len(rows) - 1)]
        left = np.minimum(closest, _squares(rows, candidates))
        best = int(left.sum(axis=1).argmin())
        centres.append(candidates[best])
        closest = left[best]
    return np.stack(centres)


def _settled(rows: Floats, centres: Floats, max_rounds: int, tolerance: float) -> tuple[Floats, Labels, float]:
    labels = None
    for _ in range(max_rounds):
        before, labels = labels, _squares(rows, centres).argmin(axis=0)
        old, centres = centres, _means(rows, labels, centres)
        if before is not None and np.array_equal(labels, before):
            break
        if ((centres - old) ** 2).sum() <= tolerance:
            labels = _squares(rows, centres).argmin(axis=0)
            break
    else:
        labels = _squares(rows, centres).argmin(axis=0)
    return centres, labels.astype(np.uint32), float(((rows - centres[labels]) ** 2).sum())


def _means(rows: Floats, labels: NDArray[np.int64], centres: Floats) -> Floats:
    sizes = np.bincount(labels, minlength=len(centres))
    sums = np.stack([np.bincount(labels, column, len(centres)) for column in rows.T], axis=1)
    empty = np.flatnonzero(sizes == 0)
    apart = ((rows - centres[labels]) ** 2).sum(axis=1)
    if len(empty) and apart.max() > 0:
        farthest = np.lexsort((np.arange(len(rows)), apart))[::-1]
        for cluster, far in zip(empty.tolist(), farthest.tolist(), strict=False):
            sums[labels[far]] -= rows[far]
            sizes[labels[far]] -= 1
            sums[cluster], sizes[cluster] = rows[far], 1
    means: Floats = sums / np.maximum(sizes, 1)[:, None]
    means[sizes <= 0] = means[sizes.argmax()]
    return means


def _squares(rows: Floats, centres: Floats) -> Floats:
    """Squared distances (centres, rows)."""
    return np.stack([((rows - centre) ** 2).sum(axis=1) for centre in centres])


def _same_clusters(labels: Labels, others: Labels) -> bool:
    pairs = np.unique(np.stack([labels, others]), axis=1)
    return bool(len(np.unique(pairs[0])) == pairs.shape[1])

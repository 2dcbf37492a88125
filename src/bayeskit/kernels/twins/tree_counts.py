"""Trees counted on all rows: P(class | node) by back-off from each node to the one above it.

    g_root = P(class)        g_node = (n(class, node) + m g_above) / (n(node) + m)        h = (n g + 1) / (n + C)

A row ends at a leaf, or at a node that asks for a code of it that is not known (255).

Formula: P(class ∣ node of a tree) = (n(class, node) + m P(class ∣ the node above)) / (n(node) + m)
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.kernels.twins.checks import Floats, check_cells, check_labels, check_threads, check_weights
from bayeskit.kernels.twins.tree_growth import IS_SET, SET_WORDS, Trees

UNKNOWN = 255


def count_leaves(
    codes: NDArray[np.uint8],
    labels: NDArray[np.uint32],
    n_classes: int,
    weights: Floats | None,
    trees: Trees,
    n_threads: int,
) -> Floats:
    """Rows that end at each node, weighed (nodes, classes).

    >>> trees = (np.array([0, 3]), np.array([[1, 4], [0, 0], [0, 0]], dtype=np.uint32),      # column 0 at most 4
    ...          np.full(3, -1, dtype=np.int32), np.zeros((0, 4), dtype=np.uint64))
    >>> codes, labels = np.array([[3], [4], [9], [255]], dtype=np.uint8), np.array([0, 0, 1, 1], dtype=np.uint32)
    >>> count_leaves(codes, labels, 2, None, trees, 1).tolist()
    [[0.0, 1.0], [2.0, 0.0], [0.0, 1.0]]
    """
    check_threads(n_threads)
    check_cells("codes", codes, "uint8", None, None)
    check_labels(labels, n_classes, len(codes))
    check_weights(weights, len(codes))
    check_trees(trees)
    counts = np.zeros((len(trees[1]), n_classes))
    by = np.ones(len(codes)) if weights is None else weights
    for t in range(len(trees[0]) - 1):
        np.add.at(counts, (trees[0][t] + paths(trees, t, codes)[-1], labels), by)
    return counts


def total_leaves(trees: Trees, counts: Floats, n_threads: int) -> Floats:
    """Rows that end at each node or below it (nodes, classes), from those that end there.

    >>> trees = (np.array([0, 3]), np.array([[1, 4], [0, 0], [0, 0]], dtype=np.uint32),
    ...          np.full(3, -1, dtype=np.int32), np.zeros((0, 4), dtype=np.uint64))
    >>> total_leaves(trees, np.array([[1.0], [2], [4]]), 1).ravel().tolist()
    [7.0, 2.0, 4.0]
    """
    check_threads(n_threads)
    check_trees(trees)
    check_cells("counts", counts, "float64", len(trees[1]), None)
    totals = counts.copy()
    for t in range(len(trees[0]) - 1):
        of_tree = totals[trees[0][t] : trees[0][t + 1]]
        left = trees[1][trees[0][t] : trees[0][t + 1], 0].astype(np.int64)
        for at in np.flatnonzero(left)[::-1]:
            of_tree[at] += of_tree[left[at]] + of_tree[left[at] + 1]
    return totals


def smooth_leaves(
    trees: Trees, totals: Floats, prior: Floats, n: float, m: float, n_threads: int
) -> NDArray[np.float32]:
    """h of every node (nodes, classes), ready to be asked.

    >>> trees = (np.array([0, 3]), np.array([[1, 4], [0, 0], [0, 0]], dtype=np.uint32),
    ...          np.full(3, -1, dtype=np.int32), np.zeros((0, 4), dtype=np.uint64))
    >>> totals = np.array([[2.0, 2], [2, 0], [0, 2]])
    >>> smooth_leaves(trees, totals, np.full(2, 0.5), 4.0, 0.5, 1)[1].astype(float).round(3).tolist()    # .9
    [0.767, 0.233]
    """
    _check_counted(trees, totals, n, m, n_threads)
    check_cells("prior", prior, "float64", totals.shape[1])
    values = np.empty(totals.shape, dtype=np.float32)
    for t in range(len(trees[0]) - 1):
        of_tree = slice(trees[0][t], trees[0][t + 1])
        left, here = trees[1][of_tree, 0].astype(np.int64), totals[of_tree]
        g = np.tile(prior, (len(left), 1))
        for at in np.flatnonzero(left):
            for child in (left[at], left[at] + 1):
                g[child] = (here[child] + m * g[at]) / (here[child].sum() + m)
        values[of_tree] = (n * g + 1) / (n + totals.shape[1])
    return values


def leave_out_leaves(
    codes: NDArray[np.uint8],
    labels: NDArray[np.uint32],
    taken: Floats,
    parts: NDArray[np.uint8] | None,
    trees: Trees,
    totals: Floats,
    prior: Floats,
    n: float,
    m: float,
    n_threads: int,
) -> tuple[Floats, Floats]:
    """Σ ln h and Σ h (rows, classes) over the trees that a row has not grown, its own weight taken from its path.

    ``parts`` (trees, rows) says which rows have grown a tree; None where none has. ``prior`` (rows, classes) is
    P(class) without the row.
    """
    _check_counted(trees, totals, n, m, n_threads)
    check_cells("codes", codes, "uint8", None, None)
    check_labels(labels, totals.shape[1], len(codes))
    check_cells("taken", taken, "float64", len(codes))
    check_cells("prior", prior, "float64", len(codes), totals.shape[1])
    if parts is not None:
        check_cells("parts", parts, "uint8", len(trees[0]) - 1, len(codes))
    log_sum, sums, rows = np.zeros(prior.shape), np.zeros(prior.shape), np.arange(len(codes))
    for t in range(len(trees[0]) - 1):
        here, g, before = totals[trees[0][t] : trees[0][t + 1]], prior.copy(), np.zeros(len(codes), dtype=np.int64)
        for at in paths(trees, t, codes)[1:]:
            less = here[at].copy()
            less[rows, labels] -= taken
            size = np.maximum(here[at].sum(axis=1) - taken, 0.0)
            g = np.where((at != before)[:, None], (less + m * g) / (size + m)[:, None], g)
            before = at
        h = (n * np.maximum(g, 0.0) + 1) / (n + totals.shape[1])
        judged = np.ones(len(codes), dtype=bool) if parts is None else parts[t] == 0
        log_sum[judged] += np.log(h[judged])
        sums[judged] += h[judged]
    return log_sum, sums


def score_leaves(
    codes: NDArray[np.uint8], trees: Trees, values: NDArray[np.float32], n_threads: int
) -> tuple[Floats, Floats]:
    """Σ ln h and Σ h (rows, classes) over all trees, h that of the node where a row ends."""
    check_threads(n_threads)
    check_trees(trees)
    check_cells("codes", codes, "uint8", None, None)
    check_cells("values", values, "float32", len(trees[1]), None)
    log_sum, total = np.zeros((len(codes), values.shape[1])), np.zeros((len(codes), values.shape[1]))
    for t in range(len(trees[0]) - 1):
        h = values[trees[0][t] + paths(trees, t, codes)[-1]].astype(np.float64)
        log_sum += np.log(h)
        total += h
    return log_sum, total


def paths(trees: Trees, t: int, codes: NDArray[np.uint8]) -> list[NDArray[np.int64]]:
    """The node of each row after 0, 1, … steps in a tree; a row that ends stays where it is."""
    start, nodes, subset, sets = trees
    of_tree = slice(start[t], start[t + 1])
    left, split, which = nodes[of_tree, 0].astype(np.int64), nodes[of_tree, 1].astype(np.int64), subset[of_tree]
    column, is_set = (split & (IS_SET - 1)) >> 8, split >= IS_SET
    if (column[left > 0] >= codes.shape[1]).any() or (which[is_set & (left > 0)] >= len(sets)).any():
        raise ValueError("a tree points outside its own arrays")
    at = np.zeros(len(codes), dtype=np.int64)
    walk, rows = [at], np.arange(len(codes))
    while True:
        code = codes[rows, column[at]].astype(np.int64) if codes.shape[1] else np.zeros(len(codes), np.int64)
        words = sets[which[at], code >> 6] if len(sets) else np.zeros(len(codes), np.uint64)
        inside = (words >> (code & 63).astype(np.uint64) & np.uint64(1)).astype(bool)
        right = np.where(is_set[at], ~inside, code > (split[at] & 255))
        after = np.where((left[at] > 0) & (code != UNKNOWN), left[at] + right, at)
        if np.array_equal(after, at):
            return walk
        walk.append(at := after)


def check_trees(trees: Trees) -> None:
    """Arrays that fit together, children behind their parents."""
    if not isinstance(trees, tuple) or len(trees) != 4:
        raise ValueError("trees is no tuple of 4 arrays")
    start, nodes, subset, sets = trees
    check_cells("trees, part 0", start, "int64", None)
    check_cells("trees, part 1", nodes, "uint32", None, 2)
    check_cells("trees, part 2", subset, "int32", None)
    check_cells("trees, part 3", sets, "uint64", None, SET_WORDS)
    if not len(start) or start[0] != 0 or start[-1] != len(nodes) != 0 or (np.diff(start) < 1).any():
        raise ValueError("the arrays of the trees do not fit together")
    if len(subset) != len(nodes):
        raise ValueError("the arrays of the trees do not fit together")
    place = np.arange(len(nodes)) - np.repeat(start[:-1], np.diff(start))
    left, size = nodes[:, 0].astype(np.int64), np.repeat(np.diff(start), np.diff(start))
    if ((left > 0) & ((left <= place) | (left >= size - 1))).any():
        raise ValueError("a tree points outside its own arrays")


def _check_counted(trees: Trees, totals: Any, n: float, m: float, n_threads: int) -> None:
    check_threads(n_threads)
    check_trees(trees)
    check_cells("totals", totals, "float64", len(trees[1]), None)
    if not totals.shape[1]:
        raise ValueError("totals has no classes")
    if not 0 <= n < np.inf or not 0 < m < np.inf:
        raise ValueError("n or m is no finite number above zero")

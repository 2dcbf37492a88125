"""Columns counted and coded together: all pairs, distinct rows, contexts of parents."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.kernels.twins.checks import (
    Codes,
    Floats,
    check_cells,
    check_codes,
    check_labels,
    check_weights,
    length,
    same_number,
)


def count_pairs(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    labels: Codes,
    n_classes: int,
    weights: Floats | None,
    n_threads: int,
) -> NDArray[Any]:
    """Rows of each class with each pair of codes, (classes, cells): pairs a < b in order, each (size a, size b).

    >>> a, b = np.array([0, 1, 1], dtype=np.uint8), np.array([1, 0, 1], dtype=np.uint8)
    >>> count_pairs([a, b], [2, 2], np.array([0, 0, 1], dtype=np.uint8), 2, None, 1).tolist()
    [[0, 1, 1, 0], [0, 0, 0, 1]]
    """
    check_labels(labels, n_classes, length(columns, n_threads, "codes", len(labels)))
    check_weights(weights, len(labels))
    check_codes(columns, sizes)
    dtype = np.int64 if weights is None else np.float64
    tables = [np.zeros((n_classes, 0), dtype=dtype)]
    for i, a in enumerate(columns):
        for b, size in zip(columns[i + 1 :], sizes[i + 1 :], strict=True):
            block = sizes[i] * size
            if block > np.iinfo(np.int64).max:
                raise ValueError("sizes are too large together")
            cell = labels.astype(np.intp) * block + a.astype(np.intp) * size + b
            table = np.bincount(cell, weights, minlength=n_classes * block)
            tables.append(table.astype(dtype).reshape(n_classes, block))
    return np.concatenate(tables, axis=1)


def factor_codes(columns: Sequence[Codes], sizes: Sequence[int]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Which distinct row of codes each row is, in the order they are first met, and the rows where that is.

    >>> a, b = np.array([3, 1, 3], dtype=np.uint8), np.array([0, 0, 0], dtype=np.uint8)
    >>> indices, first = factor_codes([a, b], [4, 1])
    >>> indices.tolist(), first.tolist()
    ([0, 1, 0], [0, 1])
    """
    n = length(columns, 1, "codes")
    check_codes(columns, sizes)
    indices, first = np.zeros(n, dtype=np.int64), np.zeros(min(n, 1), dtype=np.int64)
    for column, size in zip(columns, sizes, strict=True):
        _, first, indices = np.unique(indices * size + column, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[indices].astype(np.uint32), first[order].astype(np.int64)


def context_codes(
    parents: Sequence[Codes],
    child: Codes,
    child_size: int,
    steps: Sequence[NDArray[np.int32]],
    n_nodes: int,
    n_threads: int,
) -> NDArray[np.uint32]:
    """node · child size + child's code: the context that the parents' codes lead to, as far as it is known.

    Node 0 knows no parent. ``steps[d]`` (nodes of level d, codes) gives the node of the next level, counted
    within it, or −1 where the walk ends; levels are numbered one after another.

    >>> sky, wind = np.array([1, 2, 0], dtype=np.uint8), np.array([1, 1, 0], dtype=np.uint8)
    >>> step = np.array([[-1, 0, 1]], dtype=np.int32)      # missing: none; 1 and 2: a node each
    >>> context_codes([sky], wind, 2, [step], 3, 1).tolist()
    [3, 5, 0]
    """
    n = length([*parents, child], n_threads, "codes")
    same_number(parents, steps=steps)
    for d, step in enumerate(steps):
        check_cells(f"step {d}", step, "int32", None, None)
    check_codes([*parents, child], [*(step.shape[1] for step in steps), child_size])
    before = 1 + sum(len(step) for step in steps[1:])
    if n_nodes < before or (not steps and n_nodes != 1):
        raise ValueError("n_nodes is less than the steps have")
    if n_nodes * child_size > np.iinfo(np.uint32).max:
        raise ValueError("the contexts do not fit in 32-bit codes")
    follow = [*(len(step) for step in steps[1:]), n_nodes - before]
    node, local, alive, offset = np.zeros(n, np.int64), np.zeros(n, np.int64), np.ones(n, bool), 1
    for d, (step, column, nodes) in enumerate(zip(steps, parents, follow, strict=False)):
        if (d == 0 and len(step) != 1) or (step >= nodes).any():
            raise ValueError(f"step {d} leads beyond its nodes")
        rows = np.flatnonzero(alive)
        following = step[local[rows], column[rows]]
        alive[rows] = following >= 0
        rows, following = rows[following >= 0], following[following >= 0]
        local[rows], node[rows] = following, offset + following
        offset += nodes
    return (node * child_size + child).astype(np.uint32)

"""More kernels in NumPy: cut points, columns counted and coded together, every column as a parent.

As in `bayeskit._twins`, which has their names too: oracle in the tests, stand-in without a compiler.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._twins_checks import (
    Codes,
    Floats,
    check_cells,
    check_codes,
    check_labels,
    check_matrix,
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


def score_parents(
    columns: Sequence[Codes], sizes: Sequence[int], tables: Sequence[Floats], base: Floats, n_threads: int
) -> Floats:
    """Scores (rows, columns, classes) with each column as the parent of all others.

    ``base`` (all slots, classes) is where a parent's value begins, ``tables[p]`` (own slots · all slots,
    classes) what each value of another column adds to each of its own.

    >>> a, b = np.array([1], dtype=np.uint8), np.array([0], dtype=np.uint8)
    >>> base = np.array([[0.0], [-1.0], [-2.0]])                            # a: two slots, b: one
    >>> tables = [np.array([[0.0], [0], [7], [0], [0], [-5]]), np.array([[0.0], [-3], [0]])]
    >>> score_parents([a, b], [2, 1], tables, base, 1).tolist()             # −1 − 5, and −2 − 3
    [[[-6.0], [-5.0]]]
    """
    n = length(columns, n_threads, "codes")
    total = _check_parents(columns, sizes, tables, base)
    starts = np.cumsum([0, *sizes[:-1]])
    out = np.empty((n, len(columns), base.shape[1]))
    for p, column in enumerate(columns):
        own = column.astype(np.int64)
        score = base[starts[p] + own]
        for j, other in enumerate(columns):
            if j != p:
                score = score + tables[p][own * total + starts[j] + other]
        out[:, p] = score
    return out


def score_aode(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    tables: Sequence[Floats],
    base: Floats,
    log_weights: Floats,
    scores: Floats,
    n_threads: int,
) -> None:
    """The logarithm of the weighted mean of `score_parents` over the columns, into scores (rows, classes).

    ``log_weights`` (all slots,) of −inf leave a parent out; a row without any has −inf everywhere.

    >>> a, scores = np.array([1, 0], dtype=np.uint8), np.zeros((2, 1))
    >>> score_aode([a], [2], [np.zeros((4, 1))], np.array([[0.0], [-1.0]]), np.array([-np.inf, 0.0]), scores, 1)
    >>> scores.tolist()
    [[-1.0], [-inf]]
    """
    check_matrix("scores", scores, length(columns, n_threads, "codes", len(scores)))
    total = _check_parents(columns, sizes, tables, base)
    check_cells("log_weights", log_weights, "float64", total)
    if not columns:
        scores[:] = -np.inf
        return
    starts = np.cumsum([0, *sizes[:-1]])
    own = np.stack([log_weights[s + column] for s, column in zip(starts, columns, strict=True)], axis=1)
    terms = score_parents(columns, sizes, tables, base, 1) + own[:, :, None]
    terms[np.isneginf(own)] = -np.inf
    top = terms.max(axis=1)
    top[np.isneginf(top)] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.exp(terms - top[:, None]).sum(axis=1) / np.exp(own).sum(axis=1)[:, None]
        scores[:] = np.where(mean > 0, top + np.log(mean), -np.inf)


def _check_parents(columns: Sequence[Codes], sizes: Sequence[int], tables: Sequence[Floats], base: Floats) -> int:
    check_codes(columns, sizes)
    same_number(columns, tables=tables)
    total = sum(sizes)
    check_matrix("base", base, total)
    for p, table in enumerate(tables):
        check_cells(f"table {p}", table, "float64", sizes[p] * total, base.shape[1])
    return total


def mdl_cuts(
    columns: Sequence[Floats], labels: Codes, n_classes: int, weights: Floats | None, n_threads: int
) -> list[Floats]:
    """Cut points of each column by minimum description length (Fayyad and Irani), rising.

    Of a set S of N rows and k classes the cut with the least N₁Ent(S₁) + N₂Ent(S₂) is made, and both sides are
    cut again, as long as N Gain > ln(N − 1) + ln(3^k − 2) − (k Ent(S) − k₁Ent(S₁) − k₂Ent(S₂)).

    >>> x, labels = np.arange(12.0), np.repeat(np.array([0, 1], dtype=np.uint8), 6)
    >>> mdl_cuts([x], labels, 2, None, 1)
    [array([5.5])]
    """
    check_labels(labels, n_classes, length(columns, n_threads, "floats", len(labels)))
    check_weights(weights, len(labels))
    if weights is not None and not np.isfinite(weights).all():
        raise ValueError("weights holds what is no finite number")
    weight = np.ones(len(labels)) if weights is None else _on_a_grid(weights)
    found = []
    for i, column in enumerate(columns):
        if (np.abs(column) > 1e150).any():
            raise ValueError(f"column {i} holds a number beyond 1e150")
        rows = np.flatnonzero(~np.isnan(column) & (weight > 0))
        rows = rows[np.argsort(column[rows], kind="stable")]
        shares = np.zeros((len(rows) + 1, n_classes))
        shares[np.arange(1, len(rows) + 1), labels[rows]] = weight[rows]
        found.append(np.array(sorted(_mdl(column[rows], shares.cumsum(axis=0), 0, len(rows))), dtype=np.float64))
    return found


def _on_a_grid(weights: Floats) -> Floats:
    """Weights as multiples of a power of two so small that it hardly matters and so large that sums are exact."""
    grid = np.ldexp(1.0, int(np.frexp(weights.max(initial=0.0) * len(weights))[1]) - 52)
    return np.rint(weights / grid) * grid if grid > 0 else weights


def _mdl(x: Floats, before: Floats, first: int, last: int) -> list[float]:
    """The cuts of sorted rows first..last; `before` (rows + 1, classes) are the weights before each."""
    at = first + 1 + np.flatnonzero(x[first + 1 : last] != x[first : last - 1])
    here = before[last] - before[first]
    if not len(at) or (here > 0).sum() < 2:
        return []
    left = before[at] - before[first]
    right = np.maximum(here - left, 0.0)
    sides = [_spread(side) for side in (left, right)]
    both, total = sides[0] + sides[1], here.sum()
    best = int(np.argmax(both <= both.min() + 1e-10 * total))
    k, entropy = (here > 0).sum(), _spread(here[None])[0]
    delta = k * np.log(3) + np.log1p(-2 * 3.0**-k) - k * entropy / total
    for side, spread in zip((left, right), sides, strict=True):
        delta += (side[best] > 0).sum() * spread[best] / side[best].sum()
    if not entropy - both[best] > np.log(max(total - 1, 1.0)) + delta:
        return []
    cut, (a, b) = int(at[best]), x[at[best] - 1 : at[best] + 1]
    middle = a + (b - a) / 2
    return [float(middle if middle < b else a), *_mdl(x, before, first, cut), *_mdl(x, before, cut, last)]


def _spread(counts: Floats) -> Floats:
    """N · Ent of counts (cases, classes), in nats."""
    total = counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.where(counts > 0, counts * np.log(counts), 0.0).sum(axis=1)
        outer = np.where(total > 0, total * np.log(total), 0.0)
    return np.asarray(outer - inner)

"""Class chains: P(class | context) refined one column at a time, chosen on a part of the rows, counted on all."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.kernels.twins.backoff import ONE_ROW, Learnt, check_rows, check_trees, flat_trees, pairs_of, tree_of
from bayeskit.kernels.twins.checks import (
    MOST_CODES,
    Codes,
    Floats,
    check_cells,
    check_kind,
    check_starts,
    check_threads,
)

CHAIN_M = (1.0, 4.0, 16.0)
GAIN = 1e-9
MOST_CUTS = 3


def learn_chains(
    columns: Sequence[Codes | Floats],
    sizes: NDArray[np.int64],
    labels: NDArray[np.uint32],
    n_classes: int,
    weights: Floats | None,
    asked: NDArray[np.int64],
    parts: NDArray[np.uint8],
    candidates: NDArray[np.int32],
    cuts: Floats,
    prior: Floats,
    n_threads: int,
) -> tuple[Floats, Floats, Learnt]:
    """Class chains: Σ ln h and Σ h over the chains of the asked rows outside their part (asked, classes), each left
    out, and what was counted.

    A chain starts from g = P(class). In each step, of the candidate columns and m ∈ {1, 4, 16}, the one is taken with
    the largest Σ ln g'(y) of the rows of the part, each left out, g' = (n(y, c') + m g) / (n(c') + m); none without
    gain. Then the contexts are counted on all rows. h = (n g + 1) / (n + C).

    A step splits a number at its cuts, and a coded column into the codes that its cuts single out and all others
    together; where the first cut is NaN, all codes are told apart.
    """
    columns = _check_chains(columns, sizes, labels, n_classes, weights, asked, prior, n_threads)
    check_cells("parts", parts, "uint8", None, len(labels))
    check_cells("candidates", candidates, "int32", len(parts), None, None)
    check_cells("cuts", cuts, "float64", *candidates.shape, MOST_CUTS)
    if candidates.size and not 0 <= candidates.min() <= candidates.max() < len(columns):
        raise ValueError("candidates names a column that is not there")
    weight = np.ones(len(labels)) if weights is None else weights
    start = _left_out_prior(labels, n_classes, weight, prior)
    taken = np.minimum(weight, 1.0)
    inside = parts.astype(bool)
    chains = [
        _choose(columns, labels, n_classes, weight, taken, part, choices, where, start)
        for part, choices, where in zip(inside, candidates, cuts, strict=True)
    ]
    return _count(columns, labels, n_classes, weight, asked, chains, ~inside[:, asked], start)


def count_chains(
    columns: Sequence[Codes | Floats],
    sizes: NDArray[np.int64],
    labels: NDArray[np.uint32],
    n_classes: int,
    weights: Floats | None,
    asked: NDArray[np.int64],
    start: NDArray[np.int64],
    column: NDArray[np.int32],
    m: Floats,
    cuts: Floats,
    prior: Floats,
    n_threads: int,
) -> tuple[Floats, Floats, Learnt]:
    """The same as :func:`learn_chains` for chains whose steps are known: those of chain b from ``start[b]`` to
    ``start[b + 1]``. No row has chosen them, so all asked rows are scored by all chains."""
    columns = _check_chains(columns, sizes, labels, n_classes, weights, asked, prior, n_threads)
    _check_steps(start, column, m, cuts, len(columns))
    steps = [(int(c), float(by), where) for c, by, where in zip(column, m, cuts, strict=True)]
    chains = [steps[first:last] for first, last in pairwise(start.tolist())]
    weight = np.ones(len(labels)) if weights is None else weights
    outside = np.ones((len(chains), len(asked)), dtype=bool)
    begin = _left_out_prior(labels, n_classes, weight, prior)
    return _count(columns, labels, n_classes, weight, asked, chains, outside, begin)


def _left_out_prior(labels: Any, n_classes: int, weight: Floats, prior: Floats) -> Floats:
    """P(class) of each row without itself (rows, classes)."""
    total, taken = float(weight.sum()), np.minimum(weight, 1.0)
    left_out = np.tile(prior * (total + n_classes), (len(labels), 1))
    left_out[np.arange(len(labels)), labels] -= taken
    return np.asarray(left_out / (total - taken + n_classes)[:, None])


def _count(
    columns: Any, labels: Any, n_classes: int, weight: Floats, asked: Any, chains: Any, outside: Any, start: Floats
) -> tuple[Floats, Floats, Learnt]:
    total = float(weight.sum())
    log_sum, sums = np.zeros((len(asked), n_classes)), np.zeros((len(asked), n_classes))
    trees = []
    for steps, said in zip(chains, outside, strict=True):
        tree, g = _recount(columns, labels, n_classes, weight, np.minimum(weight, 1.0), steps, start)
        h = (total * g[asked] + 1) / (total + n_classes)
        log_sum[said] += np.log(h[said])
        sums[said] += h[said]
        trees.append(tree)
    steps = [step for chain in chains for step in chain]
    found = (
        np.cumsum([0, *map(len, chains)], dtype=np.int64),
        np.array([step[0] for step in steps], dtype=np.int32),
        np.array([step[1] for step in steps], dtype=np.float64),
        np.array([step[2] for step in steps], dtype=np.float64).reshape(len(steps), MOST_CUTS),
        flat_trees(trees),
    )
    return log_sum, sums, found


def _choose(
    columns: Any,
    labels: Any,
    n_classes: int,
    weight: Floats,
    taken: Floats,
    part: Any,
    choices: Any,
    where: Any,
    start: Any,
) -> list[tuple[int, float, Floats]]:
    own = np.flatnonzero(part)
    y, w, t = labels[own].astype(np.int64), weight[own], taken[own]
    context, g, n_contexts = np.zeros(len(own), dtype=np.int64), start[own, y], min(len(own), 1)
    steps = []
    for some, their_cuts in zip(choices, where, strict=True):
        best, step, chosen = GAIN, None, (context, g, n_contexts)
        shared = (np.bincount(context)[context] > 1) | (w > 1)  # nothing changes any more for a row that is alone
        for column, cut in zip(some, their_cuts, strict=True):
            value = _values(columns[column], cut)[own]
            distinct, ids = np.unique(context << 32 | value, return_inverse=True)
            if len(distinct) <= n_contexts:
                continue
            cell = np.bincount(ids * n_classes + y, w, minlength=len(distinct) * n_classes)
            a, b = cell[ids * n_classes + y] - t, np.bincount(ids, w)[ids] - t
            for m in CHAIN_M:
                after = np.where(shared, (a + m * g) / (b + m), g)
                gain = float(w @ np.log(after / g))
                if gain > best:
                    best, step, chosen = gain, (int(column), m, cut), (ids, after, len(distinct))
        if step is not None:
            steps.append(step)
            context, g, n_contexts = chosen
    return steps


def _recount(
    columns: Any, labels: Any, n_classes: int, weight: Floats, taken: Floats, steps: Any, start: Floats
) -> tuple[Any, Floats]:
    """(tree of contexts, g of every row left out)"""
    g, node, going, n = start.copy(), np.zeros(len(labels), dtype=np.int64), np.arange(len(labels)), len(labels)
    first_child, n_children, value = [0], [ONE_ROW if n == 1 else 0], [0]
    counts = [np.bincount(labels, weight, minlength=n_classes).astype(np.float64)]
    alone = going[:0]
    if n == 1:
        alone, going = going, alone
    for column, m, cut in steps:
        distinct, ids = np.unique(node[going] << 32 | _values(columns[column], cut)[going], return_inverse=True)
        for key in distinct:
            parent = int(key) >> 32
            first_child[parent] = first_child[parent] if n_children[parent] else len(value)
            n_children[parent] += 1
            value.append(int(key) & 0xFFFFFFFF)
        here = np.zeros((len(distinct), n_classes))
        np.add.at(here, (ids, labels[going]), weight[going])
        counts += list(here)
        node[going] = len(first_child) + ids
        shared = np.bincount(ids, minlength=len(distinct))[ids] > 1
        first, number = np.zeros(len(distinct), dtype=np.int64), np.zeros(len(distinct), dtype=np.int64)
        first[ids[~shared]], number[ids[~shared]] = going[~shared], ONE_ROW
        first_child += first.tolist()
        n_children += number.tolist()
        alone = np.concatenate([alone, going[~shared]])
        going, ids = going[shared], ids[shared]
        without = here[ids]
        without[np.arange(len(going)), labels[going]] -= taken[going]
        g[going] = (without + m * g[going]) / (here.sum(axis=1)[ids] - taken[going] + m)[:, None]
        left = np.zeros((len(alone), n_classes))
        left[np.arange(len(alone)), labels[alone]] = weight[alone] - taken[alone]
        g[alone] = (left + m * g[alone]) / (left.sum(axis=1) + m)[:, None]
    return (first_child, n_children, value, *pairs_of(counts)), g


def score_chains(
    columns: Sequence[Codes | Floats],
    sizes: NDArray[np.int64],
    learnt_columns: Sequence[Codes | Floats],
    n_learnt: float,
    prior: Floats,
    learnt: Learnt,
    n_threads: int,
) -> tuple[Floats, Floats]:
    """Σ ln h and Σ h over the chains for new rows (rows, classes); a value never seen ends a chain. In a context of one
    learnt row, a new one goes on as long as the two agree."""
    check_threads(n_threads)
    check_cells("prior", prior, "float64", None)
    if not len(prior):
        raise ValueError("prior has no classes")
    n, n_learnt_rows = (len(some[0]) if len(some) else 0 for some in (columns, learnt_columns))
    for some, length in ((columns, n), (learnt_columns, n_learnt_rows)):
        _check_columns(some, sizes, length)
    for i, (column, before) in enumerate(zip(columns, learnt_columns, strict=True)):
        if (column.dtype.kind == "u") != (before.dtype.kind == "u"):
            raise ValueError(f"column {i} was learnt as another kind")
    if not isinstance(learnt, tuple) or len(learnt) != 5:
        raise ValueError("learnt is no tuple of 5 parts")
    _check_steps(*learnt[:4], len(columns))
    check_trees(learnt[4], len(learnt[0]) - 1, len(prior), n_learnt_rows)
    columns, learnt_columns, n_classes = _signed(columns, sizes), _signed(learnt_columns, sizes), len(prior)
    ends, column, m, cuts, trees = learnt
    log_sum, sums = np.zeros((n, n_classes)), np.zeros((n, n_classes))
    for f in range(len(ends) - 1):
        tree, g = tree_of(trees, f, n_classes), np.tile(prior, (n, 1))
        node, going = np.zeros(n, dtype=np.int64), np.arange(n)
        for s in range(ends[f], ends[f + 1]):
            values = _values(columns[column[s]], cuts[s])[going]
            at = node[going]
            node[going], there = tree.child(at, values)
            one = tree.rows[at] >= 0
            there[one] = _values(learnt_columns[column[s]], cuts[s])[tree.rows[at[one]]] == values[one]
            going = going[there]
            counts = tree.counts[node[going]]
            g[going] = (counts + m[s] * g[going]) / (counts.sum(axis=1) + m[s])[:, None]
        h = (n_learnt * g + 1) / (n_learnt + n_classes)
        log_sum += np.log(h)
        sums += h
    return log_sum, sums


def _values(column: Any, cuts: Floats) -> NDArray[np.int64]:
    """A code as it is, or as which of the cuts it is, 0 for none of them; a number as how many cuts it is greater than,
    a missing one as the next. What is not known, infinity or a code below zero, is something else."""
    if column.dtype.kind == "i" and np.isnan(cuts[0]):
        return np.asarray(np.where(column < 0, 2**31, column))
    if column.dtype.kind == "i":
        which = ((column[:, None] == cuts) * np.arange(1, len(cuts) + 1)).max(axis=1)
        return np.where(column < 0, len(cuts) + 2, which)
    found = np.where(np.isnan(column), len(cuts) + 1, (column[:, None] > cuts).sum(axis=1))
    return np.where(column == np.inf, len(cuts) + 2, found)


def _signed(columns: Any, sizes: Any) -> Any:
    """Codes as signed numbers, −1 for one beyond the size."""
    return [
        np.where(column < size, column.astype(np.int64), -1) if column.dtype.kind == "u" else column
        for column, size in zip(columns, sizes, strict=True)
    ]


def _check_columns(columns: Any, sizes: Any, n: int) -> None:
    check_cells("sizes", sizes, "int64", len(columns))
    for i, column in enumerate(columns):
        if column.dtype.kind == "u":
            check_kind(f"column {i}", column, "codes")
        check_cells(f"column {i}", column, column.dtype.name if column.dtype.kind == "u" else "float64", n)
        if column.dtype.kind == "u" and not 1 <= sizes[i] <= MOST_CODES:
            raise ValueError(f"column {i} has the size {sizes[i]}, which is no number of values")


def _check_steps(start: Any, column: Any, m: Any, cuts: Any, n_columns: int) -> None:
    check_cells("start", start, "int64", None)
    check_cells("m", m, "float64", None)
    check_cells("column", column, "int32", len(m))
    check_cells("cuts", cuts, "float64", len(m), MOST_CUTS)
    check_starts(start, max(len(start) - 1, 0), len(m), "the chains")
    if len(column) and not 0 <= column.min() <= column.max() < n_columns:
        raise ValueError("a step names a column that is not there")
    if not ((m > 0) & np.isfinite(m)).all():
        raise ValueError("a step has an m that is no finite number above zero")


def _check_chains(
    columns: Any, sizes: Any, labels: Any, n_classes: int, weights: Any, asked: Any, prior: Any, n_threads: int
) -> Any:
    check_rows(labels, n_classes, weights, asked)
    check_threads(n_threads)
    check_cells("prior", prior, "float64", n_classes)
    _check_columns(columns, sizes, len(labels))
    for i, column in enumerate(columns):
        if column.dtype.kind == "u" and column.max(initial=0) >= sizes[i]:
            raise ValueError(f"column {i} has a code beyond its size")
    return _signed(columns, sizes)

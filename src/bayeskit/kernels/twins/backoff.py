"""P(x | class, context) by back-off from longer to shorter contexts, with m chosen by leave-one-out.

A *tree* of contexts is flat arrays: of each node its first child, the number of its children (side by side, sorted by
value), the value by which it is reached, and the weights of its classes as pairs (label, count), those of place i
from ``start[i]`` to ``start[i + 1]``. In the trees of chains a context of one row is that row: −1 stands for the
number of its children, and the row's number for the first. Several trees stand one after the other; every number in a
tree counts from its own beginning, and so do its pairs.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.kernels.twins.checks import (
    MOST_CODES,
    Codes,
    Floats,
    check_cells,
    check_kind,
    check_starts,
    check_threads,
)

Learnt = tuple[Any, ...]

LEAST = 5  # rows a context must have to be used
BACKOFF_M = (0.5, 2.0, 8.0, 32.0, 128.0, 512.0)
ONE_ROW = -1  # in place of the number of children


def learn_backoff(
    codes: Codes,
    sizes: NDArray[np.int64],
    parents: NDArray[np.int32],
    columns: NDArray[np.int64],
    labels: NDArray[np.uint32],
    n_classes: int,
    weights: Floats | None,
    asked: NDArray[np.int64],
    n_threads: int,
    m: Floats | None = None,
) -> tuple[Floats, Learnt]:
    """Back-off estimates of P(x_i | class, parents) for some columns: mean ln P over the members of the asked rows,
    each left out (asked, classes, columns), and what was counted.

    ``codes`` are (members, columns, rows). With u_1 … u_d the first d parents, p_{-1} = 1 / V and

        p_d = (n(x, y, u_1 … u_d) + m_d p_{d-1}) / (n(y, u_1 … u_d) + m_d)   where n(u_1 … u_d) ≥ 5, else p_{d-1}

    and m_d has the largest Σ ln p_d of the rows, each left out, unless ``m`` (families, levels) is given.

    >>> codes = np.array([[[0, 0, 0, 0, 1, 1, 1, 1]]], dtype=np.uint8)                    # one column, one member
    >>> labels = np.array([0, 0, 0, 0, 1, 1, 1, 1], dtype=np.uint32)
    >>> none, asked = np.zeros((1, 1, 0), dtype=np.int32), np.array([0])
    >>> log_p, _ = learn_backoff(codes, np.array([[2]]), none, np.array([0]), labels, 2, None, asked, 1)
    >>> np.exp(log_p[0, :, 0]).round(4).tolist()                       # (3 + ½ · ½) / (3 + ½), (0 + ½ · ½) / (4 + ½)
    [0.9286, 0.0556]
    """
    _check(codes, sizes, parents, columns, n_threads, 0)
    check_rows(labels, n_classes, weights, asked)
    if codes.shape[2] != len(labels):
        raise ValueError("codes has another number of rows than labels")
    if m is not None:
        check_cells("m", m, "float64", len(columns) * len(codes), parents.shape[2] + 1)
    log_p = np.zeros((len(asked), n_classes, len(columns)))
    grids, trees, entries = [], [], []
    for at, i in enumerate(columns):
        for j in range(len(codes)):
            above = [int(u) for u in parents[j, i] if u >= 0]
            family = [codes[j, u] for u in above], [int(sizes[j, u]) for u in above]
            held = None if m is None else m[at * len(codes) + j]
            p, chosen, tree, family_entries = _learn_family(
                codes[j, i], int(sizes[j, i]), *family, labels, n_classes, weights, held
            )
            log_p[:, :, at] += np.log(p[asked])
            grids.append(chosen + [0.0] * (parents.shape[2] + 1 - len(chosen)))
            trees.append(tree)
            entries.append(family_entries)
    first, number, value, start, label, count = (
        np.concatenate([np.asarray(one[part], dtype=kind) for one in entries] or [np.zeros(0, kind)])
        for part, kind in enumerate(("int32", "int32", "uint32", "int32", "uint16", "float32"))
    )
    ends = [np.cumsum([0, *(len(one[part]) for one in entries)], dtype=np.int64) for part in (2, 4)]
    grid = np.array(grids).reshape(len(grids), parents.shape[2] + 1)
    return log_p / len(codes), (grid, flat_trees(trees), *ends, first, number, value, start, label, count)


def _learn_family(
    x: Codes,
    size: int,
    above: list[Codes],
    widths: list[int],
    labels: Any,
    n_classes: int,
    weights: Floats | None,
    held: Floats | None,
) -> tuple[Floats, list[float], Any, Any]:
    """(P(x | class) of every row left out, m of each level, tree of contexts, entries)"""
    n = len(labels)
    weight = np.ones(n) if weights is None else weights
    taken = np.minimum(weight, 1.0)
    inside, context = np.arange(n), np.zeros(n, dtype=np.int64)
    own_class, full = np.full(n, 1 / size), np.full((n, n_classes), 1 / size)
    left_out = full.copy()
    first_child, n_children, value, counts = [0], [0], [0], []
    first_entry: list[int] = []
    n_entries: list[int] = []
    entry: list[int] = []
    entry_counts: list[Floats] = []
    chosen, level, totals = [], 0, np.array([weight.sum()])
    if totals[0] < LEAST:
        inside = inside[:0]
    for d in range(len(above) + 1):
        if d:
            key = context[inside] * widths[d - 1] + above[d - 1][inside]
            distinct, ids = np.unique(key, return_inverse=True)
            sums = np.bincount(ids, weight[inside], minlength=len(distinct))
            frequent = sums >= LEAST
            for by in distinct[frequent]:
                parent = level + int(by) // widths[d - 1]
                first_child[parent] = first_child[parent] if n_children[parent] else len(value)
                n_children[parent] += 1
                value.append(int(by) % widths[d - 1])
            level = len(first_child)
            first_child += [0] * int(frequent.sum())
            n_children += [0] * int(frequent.sum())
            totals, numbers = sums[frequent], np.cumsum(frequent) - 1
            context[inside] = numbers[ids]
            inside = inside[frequent[ids]]
        y, here = labels[inside], context[inside]
        distinct, ids = np.unique(here * size + x[inside], return_inverse=True)
        of_entry, of_context = np.zeros((len(distinct), n_classes)), np.zeros((len(totals), n_classes))
        np.add.at(of_entry, (ids, y), weight[inside])
        np.add.at(of_context, (here, y), weight[inside])
        used = totals[here] - taken[inside] >= LEAST
        rows, by = inside[used], weight[inside][used]
        a = of_entry[ids, y][used] - taken[rows]
        b = of_context[here, y][used] - taken[rows]
        gains = [float(by @ np.log((a + m * own_class[rows]) / (b + m))) for m in BACKOFF_M]
        m = BACKOFF_M[int(np.argmax(gains))] if held is None else float(held[d])
        chosen.append(m)
        own_class[rows] = (a + m * own_class[rows]) / (b + m)
        full[inside] = (of_entry[ids] + m * full[inside]) / (of_context[here] + m)
        left_out[rows] = full[rows]
        left_out[rows, labels[rows]] = own_class[rows]
        counts += list(of_context)
        ends = len(entry) + np.searchsorted(distinct, np.arange(len(totals) + 1) * size)
        first_entry += ends[:-1].tolist()
        n_entries += np.diff(ends).tolist()
        entry += (distinct % size).tolist()
        entry_counts += list(of_entry)
    tree = (first_child, n_children, value, *pairs_of(counts))
    return left_out, chosen, tree, (first_entry, n_entries, entry, *pairs_of(entry_counts))


def score_backoff(
    codes: Codes,
    sizes: NDArray[np.int64],
    parents: NDArray[np.int32],
    columns: NDArray[np.int64],
    n_classes: int,
    learnt: Learnt,
    n_threads: int,
) -> Floats:
    """Mean ln P(x_i | class, parents) over the members for new rows (rows, classes, columns): 0 for a value never
    seen (its code is the size); a parent's value never seen ends the context."""
    _check(codes, sizes, parents, columns, n_threads, 1)
    n_members, n = len(codes), codes.shape[2]
    _check_learnt(learnt, len(columns) * n_members, parents.shape[2] + 1, n_classes)
    grid, trees, entry_ends, pair_ends, first, number, value, start, label, count = learnt
    log_p = np.zeros((n, n_classes, len(columns)))
    for f in range(len(columns) * n_members):
        i, j = int(columns[f // n_members]), f % n_members
        tree = tree_of(trees, f, n_classes)
        here, e = slice(trees[0][f], trees[0][f + 1]), slice(entry_ends[f], entry_ends[f + 1])
        pairs = slice(pair_ends[f], pair_ends[f + 1])
        table = _dense(start[e.start + f : e.stop + f + 1], label[pairs], count[pairs], n_classes)
        keys = np.repeat(np.arange(len(first[here])), number[here]) << 32 | value[e].astype(np.int64)
        x, size = codes[j, i].astype(np.int64), int(sizes[j, i])
        p, node = np.full((n, n_classes), 1 / size), np.zeros(n, dtype=np.int64)
        going = np.full(n, number[here][0] > 0)
        for d, m in enumerate(grid[f]):
            rows = np.flatnonzero(going)
            entry, there = _find(keys, node[rows] << 32 | x[rows])
            seen = np.where(there[:, None], table[entry] if len(table) else 0.0, 0.0)
            p[rows] = (seen + m * p[rows]) / (tree.counts[node[rows]] + m)
            if d == parents.shape[2] or parents[j, i, d] < 0:
                break
            node[rows], there = tree.child(node[rows], codes[j, parents[j, i, d]][rows])
            going[rows[~there]] = False
        log_p[:, :, f // n_members] += np.where((x < size)[:, None], np.log(p), 0.0)
    return log_p / n_members


class _Tree:
    """One tree, for walking many rows at once."""

    def __init__(self, first: Any, number: Any, value: Any, counts: Floats) -> None:
        order = np.repeat(np.arange(len(first)), np.maximum(number, 0))
        self.rows = np.where(number == ONE_ROW, first, -1)
        self.keys = order << 32 | value[1:].astype(np.int64)  # every node but the root, parent by parent
        self.counts = counts

    def child(self, node: NDArray[np.int64], by: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """(the child of each node by its value, or the node itself; whether there is one)"""
        place, there = _find(self.keys, node << 32 | np.asarray(by, dtype=np.int64))
        return np.where(there, place + 1, node), there


def tree_of(trees: Learnt, f: int, n_classes: int) -> _Tree:
    nodes, pairs, first, number, value, start, label, count = trees
    node, pair = slice(nodes[f], nodes[f + 1]), slice(pairs[f], pairs[f + 1])
    counts = _dense(start[node.start + f : node.stop + f + 1], label[pair], count[pair], n_classes)
    return _Tree(first[node], number[node], value[node], counts)


def _find(keys: Any, wanted: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    if not len(keys):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=bool)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return at, keys[at] == wanted


def _dense(start: Any, label: Any, count: Any, n_classes: int) -> Floats:
    table = np.zeros((len(start) - 1, n_classes))
    table[np.repeat(np.arange(len(start) - 1), np.diff(start)), label] = count
    return table


def pairs_of(counts: list[Floats]) -> tuple[Any, Any, Any]:
    table = np.array(counts) if counts else np.zeros((0, 1))
    place, label = np.nonzero(table)
    return np.cumsum([0, *(table > 0).sum(axis=1)]), label, table[place, label]


def flat_trees(trees: list[Any]) -> Learnt:
    kinds = ("int32", "int32", "uint32", "int32", "uint16", "float32")
    parts = [np.concatenate([np.asarray(tree[i], dtype=kind) for tree in trees]) for i, kind in enumerate(kinds)]
    ends = [np.cumsum([0, *(len(tree[i]) for tree in trees)], dtype=np.int64) for i in (2, 4)]
    return (*ends, *parts)


def _check(codes: Any, sizes: Any, parents: Any, columns: Any, n_threads: int, beyond: int) -> None:
    check_threads(n_threads)
    check_kind("codes", codes, "codes")
    if codes.ndim != 3 or not len(codes):
        raise ValueError("codes does not have three axes (members, columns, rows), or no members")
    check_cells("sizes", sizes, "int64", *codes.shape[:2])
    check_cells("parents", parents, "int32", *codes.shape[:2], None)
    check_cells("columns", columns, "int64", None)
    if ((sizes < 1) | (sizes > MOST_CODES)).any():
        raise ValueError("a column has a size which is no number of values")
    if codes.size and (codes.max(axis=2) >= sizes + beyond).any():
        raise ValueError("a column has a code beyond its size")
    for name, numbers in (("columns", columns), ("parents", parents)):
        if numbers.size and (numbers.max() >= codes.shape[1] or (name == "columns" and numbers.min() < 0)):
            raise ValueError(f"{name} names no column {numbers.max()}")


def _check_learnt(learnt: Learnt, n: int, n_levels: int, n_classes: int) -> None:
    """What came back fits together, and points nowhere but into itself."""
    if not isinstance(learnt, tuple) or len(learnt) != 10:
        raise ValueError("learnt is no tuple of 10 parts")
    grid, trees, entry_ends, pair_ends, first, number, value, start, label, count = learnt
    check_trees(trees, n, n_classes)
    check_cells("learnt, part 0", grid, "float64", n, n_levels)
    _check_pairs(entry_ends, pair_ends, value, start, label, count, n, n_classes, "what was learnt")
    for part in (first, number):
        check_cells("learnt, part 4 or 5", part, "int32", len(trees[2]))
    _check_parts(first, number, np.diff(trees[0]), np.diff(entry_ends))


def check_trees(trees: Learnt, n: int, n_classes: int, n_rows: int | None = None) -> None:
    """The same of n trees; a context of one row names one of so many."""
    if not isinstance(trees, tuple) or len(trees) != 8:
        raise ValueError("the trees is no tuple of 8 parts")
    nodes, pairs, first, number, value, start, label, count = trees
    _check_pairs(nodes, pairs, value, start, label, count, n, n_classes, "the trees")
    if (np.diff(nodes) < 1).any():
        raise ValueError("a tree has no root")
    for part in (first, number):
        check_cells("the trees, part 2 or 3", part, "int32", len(value))
    alone = (number == ONE_ROW) & (n_rows is not None)
    if n_rows is not None and ((first[alone] < 0) | (first[alone] >= n_rows)).any():
        raise ValueError("what was learnt points outside its own arrays")
    _check_parts(np.where(alone, 0, first), np.where(alone, 0, number), np.diff(nodes), np.diff(nodes))


def _check_pairs(
    ends: Any, pair_ends: Any, value: Any, start: Any, label: Any, count: Any, n: int, n_classes: int, name: str
) -> None:
    kinds = "int64", "int64", "uint32", "uint16", "float32"
    for array, kind in zip((ends, pair_ends, value, label, count), kinds, strict=True):
        check_cells(name, array, kind, None)
    check_cells(name, start, "int32", len(value) + n)
    check_starts(ends, n, len(value), name)
    check_starts(pair_ends, n, len(label), name)
    if len(label) != len(count):
        raise ValueError(f"the arrays of {name} do not fit together")
    for f in range(n):
        starts = start[ends[f] + f : ends[f + 1] + f + 1]
        if starts[0] < 0 or starts[-1] > pair_ends[f + 1] - pair_ends[f] or (np.diff(starts) < 0).any():
            raise ValueError("what was learnt points outside its own arrays")
    if label.max(initial=0) >= n_classes:
        raise ValueError("what was learnt has more classes than asked for")


def _check_parts(first: Any, number: Any, owners: Any, lengths: Any) -> None:
    last = first.astype(np.int64) + number
    if ((first < 0) | (number < 0) | (last > np.repeat(lengths, owners))).any():
        raise ValueError("what was learnt points outside its own arrays")


def check_rows(labels: Any, n_classes: int, weights: Any, asked: Any) -> None:
    check_cells("labels", labels, "uint32", None)
    check_cells("asked", asked, "int64", None)
    if weights is not None:
        check_cells("weights", weights, "float64", len(labels))
    if not 1 <= n_classes <= np.iinfo(np.uint16).max:
        raise ValueError(f"n_classes is {n_classes}, not 1 or more, or beyond 65535")
    if labels.max(initial=0) >= n_classes:
        raise ValueError(f"labels hold {labels.max()}, beyond the classes")
    if len(asked) and not 0 <= asked.min() <= asked.max() < len(labels):
        raise ValueError("asked names a row that is not there")

"""Boosting of what a model has left over: trees that lower the log loss of scores that are given.

    p = softmax(offset + what the trees have added)      G = Σ w (p − [class])      H = Σ w p (1 − p)

A tree divides rows where Σ G² / (H + 1) over a few classes gains most, and adds −0.1 G / (H + 1) to each class.

Formula: what a boosted tree adds to a class = −0.1 G / (H + 1), G and H the first two slopes of the log loss
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.kernels.twins.checks import Floats, check_cells, check_labels, check_threads, check_weights
from bayeskit.kernels.twins.tree_counts import UNKNOWN, check_trees, paths
from bayeskit.kernels.twins.tree_growth import IS_SET, SET_WORDS, WORD, Random, Trees

LEAVES = 20  # of a tree
LEAST_ROWS = 5  # of a leaf
MOST_CLASSES = 3  # that choose the splits of a tree
RATE, RIDGE, SHARE, LEAST_GAIN = 0.1, 1.0, 0.8, 1e-6
MOST_BOOSTED = 1 << 22  # rows: sums of their gradients are whole numbers below 2^31


def boost_trees(
    codes: NDArray[np.uint8],
    categorical: NDArray[np.uint8],
    labels: NDArray[np.uint32],
    weights: Floats | None,
    offset: Floats,
    folds: NDArray[np.uint8],
    n_folds: int,
    seed: int,
    n_tried: int,
    most_rounds: int,
    patience: int,
    n_threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int32], NDArray[np.uint64], NDArray[np.float32], Floats]:
    """(*trees, what their nodes add (nodes, classes), offset and what was added for rows that are left out).

    Every fold has a model of its own, which learns from the rows of all others; a round adds a tree to each. ``folds``
    says in which fold a row is, whose model alone judges it. The rounds end ``patience`` rounds after the least loss of
    all rows judged so, and trees of later rounds are gone. The trees of a round stand side by side.

    A tree has 20 leaves of 5 rows at least, is grown on four fifths of its rows and ``n_tried`` columns, and is divided
    by three classes, drawn by their squared gradients, which are rounded so that their sums are whole numbers.

    >>> codes, labels = np.repeat(np.arange(4, dtype=np.uint8), 20)[:, None], np.repeat(np.uint32([0, 1, 1, 0]), 20)
    >>> folds, number = np.tile(np.uint8([0, 1]), 40), np.zeros(1, dtype=np.uint8)
    >>> *trees, values, scores = boost_trees(codes, number, labels, None, np.zeros((80, 2)), folds, 2, 7, 1, 9, 3, 1)
    >>> (scores.argmax(axis=1) == labels).all()
    np.True_
    """
    check_threads(n_threads)
    check_cells("codes", codes, "uint8", None, None)
    check_cells("categorical", categorical, "uint8", codes.shape[1])
    check_cells("offset", offset, "float64", len(codes), None)
    if offset.shape[1] < 2 or not np.isfinite(offset).all():
        raise ValueError("offset does not have two classes or more, or holds a number that is not finite")
    check_labels(labels, offset.shape[1], len(codes))
    check_cells("folds", folds, "uint8", len(codes))
    if not 1 <= n_folds <= 255 or folds.max(initial=0) >= n_folds:
        raise ValueError(f"n_folds is {n_folds}, not between 1 and 255, or folds hold one beyond it")
    if not 0 <= seed < WORD:
        raise TypeError(f"seed is {seed}, not of 64 bits")
    if n_tried < 1 or most_rounds < 0 or patience < 1 or len(codes) > MOST_BOOSTED:
        raise ValueError("n_tried, most_rounds or patience is too small, or there are too many rows")
    if (codes == UNKNOWN).any():
        raise ValueError("codes hold one that is not known")
    check_weights(weights, len(codes))
    if weights is not None and not ((weights > 0) & (weights < np.inf)).all():
        raise ValueError("weights hold a number that is not finite and above zero")
    by = np.ones(len(codes)) if weights is None else weights
    rows = Rows(codes, categorical, labels, by)
    models = [_Fold(rows, offset.copy(), folds == k, Random((seed + k) % WORD), n_tried) for k in range(n_folds)]
    trees: list[tuple[_Tree, NDArray[np.float32]]] = []
    least, best, kept = math.inf, 0, offset.copy()
    for done in range(most_rounds + 1):
        loss = sum(model.judge() for model in models)
        if loss < least - LEAST_GAIN:
            least, best = loss, done
            for model in models:
                kept[model.own] = model.scores[model.own]
        if done == most_rounds or done - best >= patience or not math.isfinite(loss):
            break
        trees += [model.grow() for model in models]
    grown, values = _side_by_side(trees[: best * n_folds], offset.shape[1])
    return (*grown, values, kept)


def add_leaves(codes: NDArray[np.uint8], trees: Trees, values: NDArray[np.float32], n_threads: int) -> Floats:
    """Σ of the values (rows, classes) of the nodes where a row ends, over all trees.

    >>> trees = (np.array([0, 3]), np.array([[1, 4], [0, 0], [0, 0]], dtype=np.uint32),      # column 0 at most 4
    ...          np.full(3, -1, dtype=np.int32), np.zeros((0, 4), dtype=np.uint64))
    >>> values = np.array([[0.5], [1.0], [2.0]], dtype=np.float32)
    >>> add_leaves(np.array([[3], [9], [255]], dtype=np.uint8), trees, values, 1).ravel().tolist()
    [1.0, 2.0, 0.5]
    """
    check_threads(n_threads)
    check_trees(trees)
    check_cells("codes", codes, "uint8", None, None)
    check_cells("values", values, "float32", len(trees[1]), None)
    sums = np.zeros((len(codes), values.shape[1]))
    for t in range(len(trees[0]) - 1):
        sums += values[trees[0][t] + paths(trees, t, codes)[-1]]
    return sums


@dataclass
class Rows:
    """What is learnt from."""

    codes: NDArray[np.uint8]
    categorical: NDArray[np.uint8]
    labels: NDArray[np.uint32]
    weights: Floats


@dataclass
class _Tree:
    nodes: list[list[int]] = field(default_factory=lambda: [[0, 0]])
    sets: dict[int, int] = field(default_factory=dict)  # of a node: 256 bits

    def arrays(self) -> Trees:
        which = {node: i for i, node in enumerate(self.sets)}
        words = [[bits >> 64 * word & WORD - 1 for word in range(SET_WORDS)] for bits in self.sets.values()]
        return (
            np.array([0, len(self.nodes)], dtype=np.int64),
            np.array(self.nodes, dtype=np.uint32),
            np.array([which.get(node, -1) for node in range(len(self.nodes))], dtype=np.int32),
            np.array(words, dtype=np.uint64).reshape(len(words), SET_WORDS),
        )


def _side_by_side(trees: list[tuple[_Tree, NDArray[np.float32]]], n_classes: int) -> tuple[Trees, NDArray[np.float32]]:
    start, before = [0], 0
    nodes, subset, sets = [np.zeros((0, 2), np.uint32)], [np.zeros(0, np.int32)], [np.zeros((0, SET_WORDS), np.uint64)]
    for tree, _ in trees:
        _, own, which, words = tree.arrays()
        start.append(start[-1] + len(own))
        nodes.append(own)
        subset.append(np.where(which < 0, which, which + np.int32(before)))
        sets.append(words)
        before += len(words)
    arrays = np.array(start, dtype=np.int64), np.concatenate(nodes), np.concatenate(subset), np.concatenate(sets)
    return arrays, np.concatenate([np.zeros((0, n_classes), np.float32), *(values for _, values in trees)])


@dataclass
class _Fold:
    """The model of the rows outside a fold."""

    rows: Rows
    scores: Floats
    own: NDArray[np.bool_]
    random: Random
    n_tried: int

    def __post_init__(self) -> None:
        self.columns = list(range(self.rows.codes.shape[1]))
        self.scale = math.ldexp(1.0, 30 - math.frexp(float(self.rows.weights.sum()))[1])

    def judge(self) -> float:
        shifted = self.scores - self.scores.max(axis=1, keepdims=True, initial=-np.inf)
        shares = np.exp(shifted)
        totals = shares.sum(axis=1, keepdims=True)
        self.shares = shares / totals
        lost = np.log(totals[:, 0]) - shifted[np.arange(len(shifted)), self.rows.labels]
        return float((self.rows.weights * lost)[self.own].sum())

    def grow(self) -> tuple[_Tree, NDArray[np.float32]]:
        part = int(SHARE * 2.0**64)
        grows = [r for r in range(len(self.own)) if not self.own[r] and self.random.next() < part]
        n_tried = min(self.n_tried, len(self.columns))
        for i in range(n_tried):
            j = i + self.random.below(len(self.columns) - i)
            self.columns[i], self.columns[j] = self.columns[j], self.columns[i]
        classes = [1] if self.scores.shape[1] == 2 else self._draw_classes(grows)
        tree, ends = _Grower(self, classes, self.columns[:n_tried]).grow(np.array(grows, dtype=np.int64))
        values = self._values(tree, ends)
        self.scores += values[paths(tree.arrays(), 0, self.rows.codes)[-1]]
        return tree, values

    def gradients(self) -> tuple[Floats, Floats]:
        """Of every row (rows, classes), weighed, and the curvatures."""
        one_hot, by = np.eye(self.shares.shape[1])[self.rows.labels], self.rows.weights[:, None]
        return by * (self.shares - one_hot), by * (self.shares * (1 - self.shares))

    def _draw_classes(self, rows: list[int]) -> list[int]:
        n_classes = self.scores.shape[1]
        if n_classes == MOST_CLASSES:
            return [0, 1, 2]
        of, own = self.shares[rows], self.rows.labels[rows]
        by = self.rows.weights[rows]
        squares = (by[:, None] * of**2).sum(axis=0) + np.bincount(
            own, by * (1 - 2 * of[np.arange(len(own)), own]), minlength=n_classes
        )
        squares, chosen = np.maximum(squares, 1e-12), []
        for _ in range(MOST_CLASSES):
            at, k = (self.random.next() >> 11) * 2.0**-53 * float(squares.sum()), 0
            while k + 1 < n_classes and (at >= squares[k] or squares[k] == 0):
                at -= squares[k]
                k += 1
            squares[k] = 0
            chosen.append(k)
        return chosen

    def _values(self, tree: _Tree, ends: dict[int, Any]) -> NDArray[np.float32]:
        g, h = self.gradients()
        sums = np.zeros((2, len(tree.nodes), g.shape[1]))
        for node, rows in ends.items():
            sums[:, node] = g[rows].sum(axis=0), h[rows].sum(axis=0)
        for node in range(len(tree.nodes) - 1, -1, -1):
            if left := tree.nodes[node][0]:
                sums[:, node] = sums[:, left] + sums[:, left + 1]
        return np.asarray(-RATE * sums[0] / (sums[1] + RIDGE), dtype=np.float32)


@dataclass
class _Open:
    node: int
    rows: NDArray[np.int64]
    gain: float = 0.0
    column: int = 0
    cut: int | None = None
    left: int = 0  # codes that go to the left, 256 bits


class _Grower:
    """One tree of a fold: always the leaf that gains most is divided."""

    def __init__(self, fold: _Fold, classes: list[int], columns: list[int]) -> None:
        self.of, self.random, self.columns, self.n_classes = fold.rows, fold.random, columns, len(classes)
        g, h = fold.gradients()
        slopes = np.concatenate([g[:, classes], h[:, classes]], axis=1)
        counted = np.rint(slopes * fold.scale).astype(np.int64)
        self.cells = np.concatenate([counted, np.ones((len(g), 1), np.int64)], axis=1)
        self.ridge, self.least = RIDGE * fold.scale, LEAST_GAIN * fold.scale

    def grow(self, rows: NDArray[np.int64]) -> tuple[_Tree, dict[int, NDArray[np.int64]]]:
        tree, leaves = _Tree(), [_Open(0, rows)]
        self._find_division(leaves[0])
        while len(leaves) < LEAVES:
            best = max(range(len(leaves)), key=lambda i: (leaves[i].gain, -i))
            at = leaves[best]
            if not at.gain > self.least:
                break
            child = len(tree.nodes)
            tree.nodes[at.node] = [child, at.column << 8 | at.cut if at.cut is not None else IS_SET | at.column << 8]
            if at.cut is None:
                tree.sets[at.node] = at.left
            tree.nodes += [[0, 0], [0, 0]]
            goes = np.array([at.left >> int(code) & 1 for code in self.of.codes[at.rows, at.column]], dtype=bool)
            leaves[best] = _Open(child, at.rows[goes])
            leaves.append(_Open(child + 1, at.rows[~goes]))
            if len(leaves) < LEAVES:
                self._find_division(leaves[best])
                self._find_division(leaves[-1])
        return tree, {leaf.node: leaf.rows for leaf in leaves}

    def _score(self, sums: Any) -> float:
        total = 0.0
        for k in range(self.n_classes):
            g = float(sums[k])
            total += g * g / (float(sums[self.n_classes + k]) + self.ridge)
        return total

    def _find_division(self, leaf: _Open) -> None:
        if len(leaf.rows) < 2 * LEAST_ROWS:
            return
        total = self.cells[leaf.rows].sum(axis=0)
        before = self._score(total)
        for column in self.columns:
            table = np.zeros((256, len(total)), dtype=np.int64)
            np.add.at(table, self.of.codes[leaf.rows, column], self.cells[leaf.rows])
            for sums, codes, cut in self._divisions(table, bool(self.of.categorical[column])):
                if sums[-1] < LEAST_ROWS or total[-1] - sums[-1] < LEAST_ROWS:
                    continue
                gain = self._score(sums) + self._score(total - sums) - before
                if gain > leaf.gain:
                    leaf.gain, leaf.column, leaf.cut, leaf.left = gain, column, cut, codes
        if leaf.gain > 0 and leaf.cut is None:  # values that none of the rows has go to either side
            present = sum(1 << int(code) for code in np.unique(self.of.codes[leaf.rows, leaf.column]))
            bits = sum(self.random.next() << 64 * word for word in range(SET_WORDS))
            leaf.left |= bits & ~present

    def _divisions(self, table: NDArray[np.int64], is_set: bool) -> Iterator[tuple[Any, int, int | None]]:
        """(sums on the left, codes that go there, cut or None for a set)"""
        order = [int(code) for code in np.flatnonzero(table[:, -1])]
        if is_set:
            k = 0 if self.n_classes == 1 else self.random.below(self.n_classes)
            slope = {c: float(table[c, k]) / (float(table[c, self.n_classes + k]) + self.ridge) for c in order}
            order.sort(key=lambda code: (slope[code], code))
        sums, codes = np.zeros(table.shape[1], dtype=np.int64), 0
        for code in order:
            sums, codes = sums + table[code], codes | 1 << code
            yield sums, codes if is_set else (2 << code) - 1, None if is_set else code

"""Grow the tree of an NBTree: split where naive Bayes in the branches has fewer held-out errors.

The utility of a node is the cross-validated accuracy of naive Bayes on its rows; that of a split, the accuracy of naive
Bayes in each branch, together. A split must take away a share of the errors (Kohavi 1996).

Formula: naive Bayes in the leaves of a tree
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.vocabulary import Value, Vocabulary, blank_names
from bayeskit.errors import BayesError
from bayeskit.estimate.information import mutual_information
from bayeskit.estimate.smoothing import smoothed
from bayeskit.models.base.scoring import first_best
from bayeskit.typing import Array, Floats

Tree = Any  # a leaf's number, or {"column": name, "default": branch, "branches": [[value, Tree], …]}

MOST_BRANCHES = 64  # of a split
LEAST_ROWS = 5  # of two branches at least
CELLS = 20_000_000  # of the counts behind one utility


@dataclass
class Growth:
    """The rows of a table as codes (0 missing, i + 1 the i-th value), and when a node is split."""

    columns: Mapping[str, Array]
    values: Mapping[str, tuple[Value, ...]]
    labels: Array
    n_classes: int
    weights: Floats | None
    folds: Array
    n_folds: int
    min_rows: float
    min_gain: float
    max_columns: int
    n_threads: int
    tell: Callable[[int], None]
    n_leaves: int = 0  # so far

    def tree(self) -> Tree:
        """The tree of all rows, its leaves numbered from 0, left to right."""
        self.n_leaves = 0
        return self._node(np.arange(len(self.labels)))

    def _node(self, rows: Array) -> Tree:
        split = self._best_split(rows)
        if split is None:
            self.n_leaves += 1
            self.tell(self.n_leaves)
            return self.n_leaves - 1
        name, slots, branch, default = split
        children = [self._node(rows[branch == b]) for b in range(len(slots))]
        values = self.values[name]
        branches = [[values[slot - 1], child] for slot, child in zip(slots, children, strict=True)]
        return {"column": name, "default": default, "branches": branches}

    def _best_split(self, rows: Array) -> tuple[str, list[int], Array, int] | None:
        """(column, slots of its branches, branch of each row, branch of other values), None for a leaf."""
        weights = None if self.weights is None else self.weights[rows]
        total = float(len(rows) if weights is None else weights.sum())
        if total < self.min_rows or len(np.unique(self.labels[rows])) < 2:
            return None
        errors = total - self._right(rows, np.zeros(len(rows), dtype=np.int64), 1)
        if errors <= 0:
            return None
        best, least = None, errors * (1 - self.min_gain)
        for name in self._candidates(rows):
            split = self._branches(name, rows, weights)
            if split is None:
                continue
            slots, branch, default = split
            left = total - self._right(rows, branch, len(slots))
            if left < least or (best is None and left <= least):
                best, least = (name, slots, branch, default), left
        return best

    def _branches(self, name: str, rows: Array, weights: Floats | None) -> tuple[list[int], Array, int] | None:
        """A branch for each value that the rows show; missing cells go where most rows go."""
        codes = self.columns[name][rows]
        size = len(self.values[name]) + 1
        counts = np.bincount(codes, weights, minlength=size)
        slots = np.flatnonzero(counts[1:]) + 1
        if not 2 <= len(slots) <= MOST_BRANCHES or (counts[slots] >= LEAST_ROWS).sum() < 2:
            return None
        default = int(np.argmax(counts[slots]))
        to = np.full(size, default)
        to[slots] = np.arange(len(slots))
        return slots.tolist(), to[codes], default

    def _candidates(self, rows: Array) -> list[str]:
        """The columns to try; of very many, those that tell most of the class."""
        if len(self.columns) <= self.max_columns:
            return list(self.columns)
        names = list(self.columns)
        labels = self.labels[rows].astype(np.uint32)
        sizes = [len(self.values[name]) + 1 for name in names]
        parts = [np.ascontiguousarray(self.columns[name][rows]) for name in names]
        counted = kernels.count_codes(parts, sizes, labels, self.n_classes, None, self.n_threads)
        information = [mutual_information(table[:, 1:]) for table in counted]
        chosen = sorted(range(len(names)), key=lambda i: -information[i])[: self.max_columns]
        return [names[i] for i in sorted(chosen)]

    def _right(self, rows: Array, branch: Array, n_branches: int) -> float:
        """The weight of the rows that naive Bayes in their branch puts right, learned from the other folds."""
        n_contexts, n_classes = self.n_folds * n_branches, self.n_classes
        sizes = {name: len(self.values[name]) + 1 for name in self.columns}
        if n_contexts * n_classes * sum(sizes.values()) > CELLS:
            return 0.0
        labels, weights = self.labels[rows], None if self.weights is None else self.weights[rows]
        context = self.folds[rows] * n_branches + branch
        key = (context * n_classes + labels).astype(np.uint32)
        parts = [np.ascontiguousarray(column[rows]) for column in self.columns.values()]
        counted = kernels.count_codes(parts, list(sizes.values()), key, n_contexts * n_classes, weights, self.n_threads)
        shape = (self.n_folds, n_branches, n_classes)
        of_class = np.bincount(key, weights, minlength=n_contexts * n_classes).reshape(shape)
        others = of_class.sum(axis=0) - of_class
        prior = logspace.log(smoothed(others, others.sum(axis=2, keepdims=True), 1.0, n_classes))
        scores = np.ascontiguousarray(prior.reshape(n_contexts, n_classes)[context])
        cells, tables = [], []
        for codes, size, counts in zip(parts, sizes.values(), counted, strict=True):
            by_fold = counts.reshape(*shape, size)
            rest = (by_fold.sum(axis=0) - by_fold)[..., 1:]
            table = np.zeros((n_contexts, size, n_classes))
            share = smoothed(rest, rest.sum(axis=3, keepdims=True), 1.0, max(size - 1, 1))
            table[:, 1:] = np.swapaxes(logspace.log(share).reshape(n_contexts, n_classes, size - 1), 1, 2)
            tables.append(table.reshape(n_contexts * size, n_classes))
            cells.append((context * size + codes).astype(np.uint32))
        kernels.score_codes(cells, tables, scores, self.n_threads)
        right = first_best(scores, self.n_threads) == labels
        return float(right.sum() if weights is None else weights[right].sum())


def stratified_folds(labels: Array, n_folds: int, rng: np.random.Generator) -> Array:
    """A fold for each row, every class spread evenly over them.

    >>> stratified_folds(np.array([0, 0, 1, 1, 0, 0]), 2, np.random.default_rng(0)).tolist()
    [0, 1, 1, 0, 1, 0]
    """
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    folds = np.empty(len(labels), dtype=np.int64)
    folds[order] = np.arange(len(labels)) % n_folds
    return folds


@dataclass(frozen=True)
class Routes:
    """The way of coded rows through a tree."""

    tree: Tree
    vocabularies: Mapping[str, Vocabulary]

    def leaves(self, codes: Mapping[str, Array], n: int) -> Array:
        """The leaf in which each row is counted: missing and other values take the branch of most rows."""
        leaf_of_row = np.zeros(n, dtype=np.int64)
        for leaf, rows in self._walk(self.tree, codes, np.arange(n), False):
            leaf_of_row[rows] = leaf
        return leaf_of_row

    def compatible(self, codes: Mapping[str, Array], n: int) -> list[tuple[int, Array]]:
        """(leaf, the rows that may be in it): missing and other values may be in all branches."""
        return self._walk(self.tree, codes, np.arange(n), True)

    def _walk(self, node: Tree, codes: Mapping[str, Array], rows: Array, all_ways: bool) -> list[tuple[int, Array]]:
        if not isinstance(node, Mapping):
            return [(int(node), rows)]
        vocabulary = self.vocabularies[node["column"]]
        to = np.full(len(vocabulary.values) + 2, -1 if all_ways else int(node["default"]))
        slots = vocabulary.codes([value for value, _ in node["branches"]])
        for b, slot in enumerate(slots):
            if 0 < slot <= len(vocabulary.values):
                to[slot] = b
        branch = to[codes[node["column"]][rows]]
        leaf_rows = []
        for b, (_, child) in enumerate(node["branches"]):
            there = rows[(branch == b) | (branch < 0)]
            if len(there):
                leaf_rows += self._walk(child, codes, there, all_ways)
        return leaf_rows


def leaf_paths(tree: Tree) -> list[list[tuple[str, Value]]]:
    """The columns and values on the way to each leaf, in the order of their numbers."""
    if not isinstance(tree, Mapping):
        return [[]]
    return [[(tree["column"], value), *path] for value, child in tree["branches"] for path in leaf_paths(child)]


def forget_names(tree: Tree, values: Mapping[str, Sequence[Value]]) -> Tree:
    """Blank the branch values that no column has any more; the branches and their leaves stay.

    >>> forget_names({"column": "sky", "default": 0, "branches": [["rain", 0], ["sun", 1]]}, {"sky": ("sun",)})
    {'column': 'sky', 'default': 0, 'branches': [[None, 0], ['sun', 1]]}
    """
    if not isinstance(tree, Mapping):
        return tree
    names = blank_names([value for value, _ in tree["branches"]], values[tree["column"]])
    children = [forget_names(child, values) for _, child in tree["branches"]]
    return {**tree, "branches": [list(branch) for branch in zip(names, children, strict=True)]}


def check_tree(tree: Tree) -> None:
    """Refuse what is no tree with leaves numbered from 0, left to right."""

    def leaves(node: Any) -> Iterator[int]:
        if isinstance(node, Mapping):
            if set(node) != {"column", "default", "branches"} or not 0 <= node["default"] < len(node["branches"]):
                raise ValueError
            for value, child in node["branches"]:
                if not isinstance(value, (str, int, float, NoneType)) or not isinstance(node["column"], str):
                    raise ValueError
                yield from leaves(child)
        elif isinstance(node, bool) or not isinstance(node, (int, np.integer)):
            raise ValueError
        else:
            yield int(node)

    try:
        numbers = list(leaves(tree))
        if numbers != list(range(len(numbers))):
            raise ValueError
    except (TypeError, ValueError, RecursionError):
        raise BayesError("tree= takes the tree_ of another NBTree") from None

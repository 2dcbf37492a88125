"""A tree that is grown to purity by entropy, on a part of the rows."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.kernels.twins.checks import Floats, check_cells, check_labels, check_threads, check_weights

Trees = tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int32], NDArray[np.uint64]]
IS_SET = 1 << 31
WORD, SET_WORDS = 2**64, 4


def grow_trees(
    codes: NDArray[np.uint8],
    categorical: NDArray[np.uint8],
    labels: NDArray[np.uint32],
    n_classes: int,
    weights: Floats | None,
    parts: NDArray[np.uint8],
    seeds: NDArray[np.uint64],
    n_tried: int,
    at_random: bool,
    n_threads: int,
) -> Trees:
    """Trees (start, nodes, subset, sets), each grown on its part of the rows until its leaves are pure.

    A node draws ``n_tried`` columns, and goes on until one divides its rows; of these the best is taken by entropy.
    A number is cut where that is best, the values of a column of categories are put in the order of the share of one
    class, which is drawn, and the best of their first ones go to the left. ``at_random`` draws one cut for each column
    instead, and values in random order. A value that no row of the node has goes to either side.

    Tree t has the nodes from ``start[t]`` on. A node is (left child within its tree, the right one is the next, 0 for a
    leaf; column << 8 | cut), and a row goes to the left where its code is at most the cut; or IS_SET | column << 8, and
    a row goes to the left where its code is in ``sets[subset]``, 256 bits.

    >>> codes = np.array([[0], [1], [2], [3]], dtype=np.uint8)
    >>> labels, parts = np.array([0, 0, 1, 1], dtype=np.uint32), np.ones((1, 4), dtype=np.uint8)
    >>> number, seeds = np.zeros(1, dtype=np.uint8), np.array([7], dtype=np.uint64)
    >>> grow_trees(codes, number, labels, 2, None, parts, seeds, 1, False, 1)[1].tolist()   # at most 1, or more
    [[1, 1], [0, 0], [0, 0]]
    """
    check_threads(n_threads)
    check_cells("codes", codes, "uint8", None, None)
    check_cells("categorical", categorical, "uint8", codes.shape[1])
    check_labels(labels, n_classes, len(codes))
    check_weights(weights, len(codes))
    if weights is not None and not ((weights > 0) & (weights < np.inf)).all():
        raise ValueError("weights hold a number that is not finite and above zero")
    check_cells("parts", parts, "uint8", None, len(codes))
    check_cells("seeds", seeds, "uint64", len(parts))
    if n_tried < 1:
        raise ValueError(f"n_tried is {n_tried}, not 1 or more")
    start, nodes, subset = [0], list[list[int]](), list[int]()
    sets: list[list[int]] = []
    for part, seed in zip(parts, seeds, strict=True):
        grower = _Grower(codes, categorical, labels, weights, n_tried, at_random, int(seed))
        grower.grow(np.flatnonzero(part).tolist())
        subset += [-1 if which is None else which + len(sets) for which in grower.subset]
        nodes += grower.nodes
        sets += grower.sets
        start.append(len(nodes))
    return (
        np.array(start, dtype=np.int64),
        np.array(nodes, dtype=np.uint32).reshape(len(nodes), 2),
        np.array(subset, dtype=np.int32),
        np.array(sets, dtype=np.uint64).reshape(len(sets), SET_WORDS),
    )


class Random:
    """splitmix64"""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def next(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) % WORD
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % WORD
        return z ^ (z >> 31)

    def below(self, n: int) -> int:
        return self.next() % n


def _x_log_x(x: float) -> float:
    return x * math.log(x) if x > 0 else 0.0


class _Sides:
    """Counts of the classes on both sides of a split."""

    def __init__(self, total: dict[int, float]) -> None:
        self.left, self.right = dict.fromkeys(total, 0.0), dict(total)
        self.all_left, self.all_right, self.sum_left, self.sum_right = 0.0, 0.0, 0.0, 0.0
        for count in total.values():
            self.all_right += count
            self.sum_right += _x_log_x(count)

    def move(self, label: int, weight: float) -> None:
        a, b = self.left[label], self.right[label]
        self.sum_left += _x_log_x(a + weight) - _x_log_x(a)
        self.sum_right += _x_log_x(b - weight) - _x_log_x(b)
        self.left[label], self.right[label] = a + weight, b - weight
        self.all_left += weight
        self.all_right -= weight

    def purity(self) -> float:
        return self.sum_left - _x_log_x(self.all_left) + self.sum_right - _x_log_x(self.all_right)


class _Grower:
    def __init__(
        self, codes: Any, categorical: Any, labels: Any, weights: Any, n_tried: int, at_random: bool, seed: int
    ) -> None:
        self.codes, self.categorical, self.labels = codes, categorical, labels
        self.weights, self.n_tried, self.at_random = weights, n_tried, at_random
        self.random, self.columns = Random(seed), list(range(codes.shape[1]))
        self.nodes: list[list[int]] = []
        self.subset: list[int | None] = []
        self.sets: list[list[int]] = []

    def weight(self, row: int) -> float:
        return 1.0 if self.weights is None else float(self.weights[row])

    def grow(self, rows: list[int]) -> None:
        self._add_node()
        opened = [(0, rows)]
        while opened:
            node, here = opened.pop()
            total: dict[int, float] = {}
            for row in here:
                label = int(self.labels[row])
                total[label] = total.get(label, 0.0) + self.weight(row)
            split = self._choose(here, dict(sorted(total.items()))) if len(total) > 1 else None
            if split is None:
                continue
            column, left_codes, cut = split
            left = len(self.nodes)
            self.nodes[node] = [left, column << 8 | cut if cut is not None else IS_SET | column << 8]
            if cut is None:
                self.subset[node] = len(self.sets)
                bits = sum(1 << code for code in left_codes)
                self.sets.append([bits >> 64 * word & WORD - 1 for word in range(SET_WORDS)])
            self._add_node()
            self._add_node()
            sides = [int(self.codes[row, column]) in left_codes for row in here]
            opened.append((left + 1, [row for row, goes in zip(here, sides, strict=True) if not goes]))
            opened.append((left, [row for row, goes in zip(here, sides, strict=True) if goes]))

    def _add_node(self) -> None:
        self.nodes.append([0, 0])
        self.subset.append(None)

    def _choose(self, rows: list[int], total: dict[int, float]) -> tuple[int, set[int], int | None] | None:
        """(column, codes that go to the left, cut or None for a set) of the best split, if there is one."""
        best, chosen = -math.inf, None
        for i in range(len(self.columns)):
            if i >= self.n_tried and chosen is not None:
                break
            j = i + self.random.below(len(self.columns) - i)
            self.columns[i], self.columns[j] = self.columns[j], self.columns[i]
            column = self.columns[i]
            present = sorted({int(self.codes[row, column]) for row in rows})
            if len(present) < 2:
                continue
            if self.at_random:
                candidates = self._at_random(column, present, rows, total)
            elif self.categorical[column]:
                candidates = self._sets(column, rows, total)
            else:
                candidates = self._cuts(column, rows, total)
            for purity, left, cut in candidates:
                if purity > best:
                    best, chosen = purity, (column, set(left), cut)
        if chosen is not None and chosen[2] is None:  # values that no row has go to either side
            present_codes = {int(self.codes[row, chosen[0]]) for row in rows}
            bits = sum(self.random.next() << 64 * word for word in range(SET_WORDS))
            chosen[1].update(code for code in range(256) if bits >> code & 1 and code not in present_codes)
        return chosen

    def _cells(self, column: int, rows: list[int]) -> dict[int, dict[int, float]]:
        """Weight of each class by code, both in their order."""
        cells: dict[tuple[int, int], float] = {}
        for row in rows:
            cell = int(self.codes[row, column]), int(self.labels[row])
            cells[cell] = cells.get(cell, 0.0) + self.weight(row)
        by_code: dict[int, dict[int, float]] = {}
        for (code, label), weight in sorted(cells.items()):
            by_code.setdefault(code, {})[label] = weight
        return by_code

    def _cuts(self, column: int, rows: list[int], total: dict[int, float]) -> Iterator[Any]:
        cells, sides = self._cells(column, rows), _Sides(total)
        for code in list(cells)[:-1]:
            for label, weight in cells[code].items():
                sides.move(label, weight)
            yield sides.purity(), range(code + 1), code

    def _sets(self, column: int, rows: list[int], total: dict[int, float]) -> Iterator[Any]:
        cells, sides = self._cells(column, rows), _Sides(total)
        label = list(total)[self.random.below(len(total))]
        share = {code: weights.get(label, 0.0) / sum(weights.values()) for code, weights in cells.items()}
        order, left = sorted(cells, key=lambda code: -share[code]), []
        for code in order[:-1]:
            left.append(code)
            for k, weight in cells[code].items():
                sides.move(k, weight)
            yield sides.purity(), list(left), None

    def _at_random(self, column: int, present: list[int], rows: list[int], total: dict[int, float]) -> Iterator[Any]:
        cut: int | None = None
        if self.categorical[column]:
            for i in range(len(present) - 1, 0, -1):
                j = self.random.below(i + 1)
                present[i], present[j] = present[j], present[i]
            left = set(present[: 1 + self.random.below(len(present) - 1)])
        else:
            cut = present[0] + self.random.below(present[-1] - present[0])
            left = set(range(cut + 1))
        goes = dict.fromkeys(total, 0.0)
        for row in rows:
            if int(self.codes[row, column]) in left:
                goes[int(self.labels[row])] += self.weight(row)
        sides = _Sides({})
        for label, count in goes.items():
            sides.all_left += count
            sides.all_right += total[label] - count
            sides.sum_left += _x_log_x(count)
            sides.sum_right += _x_log_x(total[label] - count)
        yield sides.purity(), left, cut

"""Estimate P(value | class, values of the parents) of one coded column.

Contexts form a tree: the root has no parents, a node of level d the values of the first d parents. A row descends while
its parents' values are present and were seen together; the node where it stops gives the table. A class that was never
seen in a context uses the estimate of the shorter context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.data.vocabulary import Value
from bayeskit.estimate.formulas import Given, Share, Written
from bayeskit.estimate.smoothing import BackOff, Smoothing, backed_off, smoothed
from bayeskit.memory import Need, check_memory
from bayeskit.tolerance import GONE
from bayeskit.typing import Array, Codes, Floats, Ints


@dataclass(frozen=True)
class Contexts:
    """Counts by context: ``counts[d]`` (n_nodes, n_values, n_classes) of level d, and the transitions between
    levels."""

    counts: tuple[Floats, ...]
    steps: tuple[npt.NDArray[np.int32], ...]  # shape (n_nodes, n_parent_slots): the child node, or −1
    above: tuple[Ints, ...]  # parent node of each node of level d + 1

    @classmethod
    def of(cls, cells: Array, counts: Array, n_values: Sequence[int], memory_limit: float | None = None) -> Contexts:
        """Build from occurring slots, shape (n_cells, n_parents + 1), and their counts, shape (n_cells, n_classes).

        >>> cells, counts = np.array([[1, 1], [1, 2], [2, 2]]), np.array([[3, 0], [1, 1], [0, 2]])
        >>> contexts = Contexts.of(cells, counts, [2, 2])
        >>> contexts.counts[1][0].tolist()                  # the first parent's value: (values, classes)
        [[3.0, 0.0], [1.0, 1.0]]
        """
        child, n_child, n_classes = cells[:, -1].astype(np.int64) - 1, n_values[-1], counts.shape[1]
        alive, node, n_nodes = child >= 0, np.zeros(len(cells), dtype=np.int64), 1
        levels, steps, above = [_summed(node[alive], child[alive], counts[alive], 1, n_child)], [], []
        for parent, n_parent in enumerate(n_values[:-1]):
            alive = alive & (cells[:, parent] > 0)
            keys, child_node = np.unique(node[alive] * (n_parent + 2) + cells[alive, parent], return_inverse=True)
            step = np.full((n_nodes, n_parent + 2), -1, dtype=np.int32)
            step.flat[keys] = np.arange(len(keys))
            n_bytes = 32.0 * (len(keys) * n_child * n_classes)  # counts and tables, twice for leave-one-out
            what = f"{len(keys):,} contexts of {n_child} values and {n_classes} classes"
            hint = "Use fewer parents (a smaller k), or cut numbers more coarsely."
            check_memory(Need(what, n_bytes, hint), memory_limit)
            node[alive], n_nodes = child_node.ravel(), len(keys)
            levels.append(_summed(node[alive], child[alive], counts[alive], n_nodes, n_child))
            steps.append(step)
            above.append(keys // (n_parent + 2))
        return cls(tuple(levels), tuple(steps), tuple(above))


def _summed(node: Any, child: Any, counts: Any, n_nodes: int, n_child: int) -> Floats:
    total = np.zeros((n_nodes * n_child, counts.shape[1]))
    np.add.at(total, node * n_child + child, counts)
    return total.reshape(n_nodes, n_child, counts.shape[1])


@dataclass(frozen=True)
class ConditionalTable:
    """Table of a column in its contexts; slots of the child are as in :class:`ValueTable`."""

    parents: tuple[str, ...]
    values: tuple[Value, ...]
    contexts: Contexts
    pseudo: tuple[Any, ...]  # per level: pseudo-counts (n_values,), or m of back-off
    backs_off: bool
    used: bool  # False if some class has no distribution: the column is left out for all

    @property
    def n_nodes(self) -> int:
        """Return the number of contexts of all levels, including the root."""
        return sum(len(level) for level in self.contexts.counts)

    @cached_property
    def probabilities(self) -> tuple[Floats, ...]:
        """Return P of each level, shape (n_nodes, n_values, n_classes)."""
        return self._levels([0.0] * (len(self.parents) + 1))

    def _levels(self, units: Sequence[float], is_gone: bool = False, of_other: bool = False) -> tuple[Floats, ...]:
        """Return the probabilities of each cell after removing a row of weight ``units[d]`` from its class in level d.

        ``of_other`` removes a row with another value. ``is_gone`` removes the only row with a value: the probabilities
        are those of the other values.
        """
        levels: list[Floats] = []
        for d, (n, pseudo, unit) in enumerate(zip(self.contexts.counts, self.pseudo, units, strict=True)):
            uniform = 1 / max(n.shape[1] - is_gone, 1)
            lower = levels[-1][self.contexts.above[d - 1]] if d else np.full(n.shape, uniform)
            levels.append(_estimate(n, pseudo, lower, d, self.backs_off, unit, is_gone=is_gone, of_other=of_other))
        return tuple(levels)

    @cached_property
    def log_table(self) -> Floats:
        """Return ln P, shape (n_nodes · n_slots, n_classes), 0 for unused slots."""
        return self._flat(self.probabilities)

    def left_out(self, unit: float) -> Floats:
        """Return the log table with one row of this weight removed from each cell's own class."""
        return self._flat(self._levels([unit] * (len(self.parents) + 1)))

    def left_out_cases(self, unit: float) -> list[Floats]:
        """Return the log tables for left-out rows with missing cells, as :func:`kernels.score_missing` reads them.

        A row is counted in the contexts of its parents before the first missing one. If its own cell is missing it is
        not counted at all; if it is the only row with its value, the other values remain.
        """
        k = len(self.parents)
        units = [[unit] * (d + 1) + [0.0] * (k - d) for d in range(k + 1)]
        known, gone = ([self._flat(self._levels(u, is_gone)) for u in units] for is_gone in (False, True))
        return [self.log_table, *known, *gone]

    def _flat(self, levels: Sequence[Floats]) -> Floats:
        joined = np.concatenate(levels)
        table = np.zeros((joined.shape[0], joined.shape[1] + 2, joined.shape[2]))
        if self.used:
            table[:, 1:-1] = logspace.log(np.nan_to_num(joined, nan=1.0))
        return np.ascontiguousarray(table.reshape(-1, joined.shape[2]))

    def codes(self, parents: Sequence[Codes], child: Codes, n_threads: int) -> npt.NDArray[np.uint32]:
        """Return the row of the flat table for each row of codes."""
        return kernels.context_codes(parents, child, len(self.values) + 2, self.contexts.steps, self.n_nodes, n_threads)

    def write_factors(self, row: int) -> tuple[tuple[int, Written], ...]:
        """Return P of a row of the flat table as counts and pseudo-counts, and in how many parents' contexts, by class.

        The result is empty for unused slots.
        """
        node, slot = divmod(row, len(self.values) + 2)
        if not self.used or not 1 <= slot <= len(self.values):
            return ()
        level = 0
        while node >= len(self.contexts.counts[level]):
            node -= len(self.contexts.counts[level])
            level += 1
        classes = range(self.contexts.counts[0].shape[2])
        return tuple(self._write_share(level, node, slot - 1, label) for label in classes)

    def _write_share(self, level: int, node: int, value: int, label: int) -> tuple[int, Written]:
        counts, pseudo = self.contexts.counts[level][node, :, label], self.pseudo[level]
        count, total = float(counts[value]), float(counts.sum())
        above = int(self.contexts.above[level - 1][node]) if level else 0
        if total <= 0 and level:  # the class has no row in this context: the estimate is that of the shorter one
            return self._write_share(level - 1, above, value, label)
        if self.backs_off:
            shorter = self.probabilities[level - 1][above, value, label] if level else 1 / len(self.values)
            return level, Share(count, total, float(pseudo * shorter), float(pseudo))
        if total + np.sum(pseudo) <= 0:
            return level, Given(float(logspace.log(self.probabilities[level][node, value, label])))
        return level, Share(count, total, float(pseudo[value]), float(np.sum(pseudo)))

    @property
    def n_free(self) -> int:
        """Count the free parameters in each class: one less than the number of values, in every possible context."""
        n_contexts = int(np.prod([step.shape[1] - 2 for step in self.contexts.steps], dtype=np.float64))
        return n_contexts * max(len(self.values) - 1, 0) if self.used else 0


def conditional_table(
    parents: tuple[str, ...], values: tuple[Value, ...], contexts: Contexts, smoothing: Smoothing, class_counts: Array
) -> ConditionalTable:
    """Estimate the table of a column: pseudo-counts in every context, or back-off to the shorter one."""
    backs_off = isinstance(smoothing, BackOff)
    pseudo: list[Any] = []
    left: Floats | None = None
    for d, n in enumerate(contexts.counts):
        if isinstance(smoothing, BackOff):
            lower = np.full(n.shape, 1 / max(n.shape[1], 1)) if left is None else left[contexts.above[d - 1]]
            total = n.sum(axis=1, keepdims=True)
            by_value = (a.transpose(0, 2, 1) for a in (n, np.broadcast_to(total, n.shape), lower))
            pseudo.append(smoothing.weight(*by_value) if n.size else 1.0)
            left = _estimate(n, pseudo[-1], lower, d, True, 1.0)
        else:
            by_context = n.transpose(0, 2, 1).reshape(n.shape[0] * n.shape[2], n.shape[1])
            pseudo.append(smoothing.pseudo_counts(values, by_context))
    totals = contexts.counts[0].sum(axis=(0, 1))
    added = pseudo[0] if backs_off else np.sum(pseudo[0])
    used = bool(len(values)) and not ((totals + added <= 0) & (class_counts > 0)).any()
    return ConditionalTable(parents, values, contexts, tuple(pseudo), backs_off, used)


def _estimate(
    n: Floats,
    pseudo: Any,
    lower: Floats,
    level: int,
    backs_off: bool,
    unit: float,
    *,
    is_gone: bool = False,
    of_other: bool = False,
) -> Floats:
    """Return P of one level, shape (n_nodes, n_values, n_classes), from the level above, with ``unit`` removed from
    each cell, from another cell (``of_other``), or from a cell that is then no value any more (``is_gone``)."""
    total = n.sum(axis=1, keepdims=True)
    less = total - unit
    less = np.where(np.abs(less) <= GONE * total, 0.0, less)
    counts = n if is_gone or of_other else np.maximum(n - unit, 0.0)
    if backs_off:
        return backed_off(counts, np.maximum(less, 0.0), pseudo, lower)
    added = np.sum(pseudo) * (1 - is_gone / max(n.shape[1], 1))
    estimate = smoothed(counts, less, pseudo[:, None], added)
    if level == 0:
        nowhere = less + added <= 0
        return np.where(nowhere, lower if unit == 0 or is_gone else np.nan, estimate)
    return np.where(less > 0, estimate, lower)

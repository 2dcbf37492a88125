"""Counts of sets of columns together by class: of the rows of slots that occur, not of all there could be.

Slot 0 is a missing cell, i + 1 the i-th value of the tally's space.

Formula: counts of pairs and of any set of columns; of products of numbers
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.memory import Need
from bayeskit.tally.pairs import FEWER, check_edges, not_learned_together, tables_alone
from bayeskit.tally.plan import EqualFields, Recoding, Request, Space, check_counts, check_file, new_codes, take_codes
from bayeskit.tally.statistic import BlockCounts, Statistic, TableStatistic, register
from bayeskit.typing import Array, Counts


@dataclass(frozen=True, eq=False)
class Joint(EqualFields):
    """Counts of shape (n_cells, n_classes) of the combinations of slots (n_cells, n_columns) that occur, sorted.

    >>> Joint.of(("a", "b"), np.array([[1, 2], [1, 1], [1, 2]]), np.array([[1], [1], [1]])).counts.tolist()
    [[1], [2]]
    """

    count_fields = ("counts",)
    columns: tuple[str, ...]
    cells: npt.NDArray[np.uint32]
    counts: Counts

    @classmethod
    def of(cls, columns: tuple[str, ...], cells: Array, counts: Counts) -> Joint:
        """Build sorted cells without duplicates and zero counts."""
        seen = (counts != 0).any(axis=1)
        cells, counts = cells[seen].astype(np.uint32), counts[seen]
        if not len(cells) or not columns:
            total = counts.sum(axis=0, keepdims=True) if len(counts) else counts
            return cls(columns, cells[:1], total)
        order = np.lexsort(cells.T[::-1])
        cells, counts = cells[order], counts[order]
        starts = np.flatnonzero(np.concatenate([[True], (cells[1:] != cells[:-1]).any(axis=1)]))
        return cls(columns, cells[starts], np.add.reduceat(counts, starts, axis=0))

    def recode(self, recoding: Recoding) -> Joint:
        """Return the counts under other classes and values, with cells sorted again."""
        cells = np.empty_like(self.cells)
        for j, name in enumerate(self.columns):
            cells[:, j] = new_codes(recoding.slots[name], int(self.cells[:, j].max(initial=0)) + 1)[self.cells[:, j]]
        return Joint.of(self.columns, cells, take_codes(self.counts, recoding.classes, 1))

    def plus(self, other: Joint) -> Joint:
        """Add counts with the same classes and values."""
        return self._concatenate(other.cells, other.counts)

    def minus(self, other: Joint, space: Space, tolerance: float, key: tuple[str, ...]) -> Joint:
        """Subtract counts; raise an error for values that were not counted together so often."""
        left = self._concatenate(other.cells, -other.counts)
        left.counts[np.abs(left.counts) <= tolerance] = 0
        if (left.counts < 0).any():
            raise not_learned_together(key)
        return Joint.of(key, left.cells, left.counts)

    def _concatenate(self, cells: Array, counts: Counts) -> Joint:
        return Joint.of(self.columns, np.concatenate([self.cells, cells]), np.concatenate([self.counts, counts]))

    def marginal(self, columns: Sequence[str]) -> Joint:
        """Return the counts of some of the columns, in their order here."""
        index = [j for j, name in enumerate(self.columns) if name in columns]
        return Joint.of(tuple(self.columns[j] for j in index), self.cells[:, index], self.counts)


@register
class Joints(TableStatistic[Joint]):
    """Joint counts of sets of columns, such as parents and their child."""

    kind = "joints"
    by_column_set = True

    @classmethod
    def empty(cls, request: Request, space: Space) -> Self:
        """Return zero counts."""
        counts = np.zeros((0, space.n_classes), space.dtype)
        return cls({names: Joint(names, np.zeros((0, len(names)), np.uint32), counts) for names in request.columns})

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Count the distinct combinations of slots of a block by class."""
        tables = {}
        for names in request.columns:
            columns = [counter.block.codes[name] for name in names]
            indices, first = kernels.factor_codes(columns, [counter.space.slots[name] for name in names])
            counts = counter.by_class([indices], [len(first)])[0]
            cells = np.stack([column[first].astype(np.uint32) for column in columns], axis=1)
            tables[names] = Joint.of(names, cells, np.ascontiguousarray(counts.T))
        return cls(tables)

    def memory_used(self) -> Need | None:
        """Return twice the size of the cells, to allow for one addition."""
        cells = sum(joint.counts.size + joint.cells.size for joint in self.tables.values())
        return Need("counting columns together", 16.0 * cells, FEWER)

    def restrict(self, names: Sequence[str]) -> Self | None:
        """Restrict to these columns; a child, the last of a set, keeps its remaining parents."""
        columns = {old: tuple(n for n in old if n in names) for old in self.tables if old[-1] in names}
        tables = {new: self.tables[old].marginal(new) for old, new in columns.items()}
        return self.with_tables(tables) if tables else None

    @classmethod
    def from_parts(cls, request: Request, header: Any, arrays: list[Array], space: Space) -> Self:
        """Read sorted, distinct cells with nonnegative counts."""
        tables = {}
        for names, (cells, counts) in cls.read_tables(request, arrays, 2).items():
            known = set(names) <= space.slots.keys() and len(set(names)) == len(names)
            fits = known and cells.dtype == np.uint32 and cells.shape == (len(cells), len(names))
            fits = fits and not (cells >= [space.slots[name] for name in names]).any()
            check_file(fits, "the cells of columns counted together do not fit their values")
            check_counts(counts, (len(cells), space.n_classes), space)
            tables[names] = Joint(names, cells, counts)
            is_sorted = tables[names] == Joint.of(names, cells, counts)
            check_file(is_sorted, "the cells of columns counted together are not sorted, or some were never counted")
        return cls(tables)

    def check(self, space: Space, class_counts: Counts, others: Mapping[str, Statistic]) -> None:
        """Check that the counts of each column are the sums over the others."""
        for names, joint in self.tables.items():
            alone = tables_alone(others, names)
            for j, name in enumerate(names):
                sums = np.zeros((alone[name].shape[1], joint.counts.shape[1]))
                np.add.at(sums, joint.cells[:, j], joint.counts)
                check_edges(sums.T, alone[name])

"""Count all pairs of columns by class, in dense tables of slots: 0 is a missing cell, i + 1 the i-th value.

Formula: counts of pairs and of any set of columns; of products of numbers
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayeskit import kernels
from bayeskit.errors import BadFile, NotLearned, format_setting
from bayeskit.memory import Need
from bayeskit.tally.families import Families
from bayeskit.tally.plan import Recoding, Request, Space, check_counts, check_file, is_identity, take_codes
from bayeskit.tally.statistic import BlockCounts, ColumnStatistic, CountArrays, Statistic, register
from bayeskit.tolerance import ROUNDING
from bayeskit.typing import Array, Counts

FEWER = (
    f"Leave columns out ({format_setting('roles', {'name': 'ignore'})}), cut numbers more coarsely (cuts=), or use "
    "NaiveBayes, which counts each column alone; or raise memory_limit=."
)


@register
@dataclass(frozen=True, eq=False)
class Pairs(CountArrays, ColumnStatistic):
    """Counts of all pairs of columns a < b, (n_classes, n_cells), one table (slots of a, slots of b) after another.

    >>> pairs = Pairs(("a", "b"), (2, 3), np.arange(6)[None])
    >>> pairs.table("b", "a")[0].tolist()
    [[0, 3], [1, 4], [2, 5]]
    """

    kind = "pairs"
    sizes: tuple[int, ...]  # slots of each column
    counts: Counts

    @cached_property
    def starts(self) -> dict[tuple[int, int], int]:
        """Return the start of the table of each pair."""
        starts, at = {}, 0
        for a, size in enumerate(self.sizes):
            for b in range(a + 1, len(self.sizes)):
                starts[a, b] = at
                at += size * self.sizes[b]
        return starts

    @cached_property
    def position(self) -> dict[str, int]:
        """Return the position of each column."""
        return {name: i for i, name in enumerate(self.columns)}

    def table(self, first: str, second: str) -> Counts:
        """Return counts of shape (n_classes, slots of first, slots of second)."""
        a, b = self.position[first], self.position[second]
        low, high = min(a, b), max(a, b)
        shape = (len(self.counts), self.sizes[low], self.sizes[high])
        start = self.starts[low, high]
        block = self.counts[:, start : start + shape[1] * shape[2]].reshape(shape)
        return block if a < b else block.transpose(0, 2, 1)

    @classmethod
    def memory_needed(cls, request: Request, space: Space) -> Need | None:
        """Return twice the size of the tables, to allow for adding a block."""
        sizes = [space.slots[name] for name in request.columns]
        what = f"counting all pairs of {len(sizes)} columns ({sum(sizes):,} values in all) in {space.n_classes} classes"
        return Need(what, 16.0 * space.n_classes * pair_cells(sizes), FEWER)

    @classmethod
    def empty(cls, request: Request, space: Space) -> Self:
        """Return zero counts."""
        sizes = tuple(space.slots[name] for name in request.columns)
        return cls(request.columns, sizes, np.zeros((space.n_classes, pair_cells(sizes)), space.dtype))

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Count a block with one kernel call; class shares are counted pair by pair."""
        block, n_classes = counter.block, counter.space.n_classes
        sizes = tuple(counter.space.slots[name] for name in request.columns)
        columns = [block.codes[name] for name in request.columns]
        if block.responsibilities is None:
            by = counter.labels, n_classes, block.weights, counter.n_threads
            return cls(request.columns, sizes, kernels.count_pairs(columns, sizes, *by))
        tables = [np.zeros((n_classes, 0))]
        for i, a in enumerate(columns):
            for j in range(i + 1, len(columns)):
                cells = (a.astype(np.uint32) * sizes[j] + columns[j]).astype(np.uint32)
                tables += counter.by_class([cells], [sizes[i] * sizes[j]])
        return cls(request.columns, sizes, np.concatenate(tables, axis=1))

    def recode(self, recoding: Recoding, columns: tuple[str, ...] | None = None) -> Self:
        """Return the counts under other classes and values, of some columns and in their order."""
        columns = self.columns if columns is None else columns
        slots, counts = recoding.slots, self.counts
        sizes = tuple(len(slots[name]) for name in columns)
        same = columns == self.columns and all(map(is_identity, (slots[n] for n in columns), self.sizes))
        if not same:
            blocks = [np.zeros((len(counts), 0), dtype=counts.dtype)]
            for i, a in enumerate(columns):
                for b in columns[i + 1 :]:
                    block = take_codes(take_codes(self.table(a, b), slots[a], 1), slots[b], 2)
                    blocks.append(block.reshape(len(counts), len(slots[a]) * len(slots[b])))
            counts = np.concatenate(blocks, axis=1)
        return type(self)(columns, sizes, take_codes(counts, recoding.classes, 0))

    def select(self, columns: tuple[str, ...]) -> Self:
        """Return the pairs of these columns, in this order."""
        slots = {name: np.arange(size) for name, size in zip(self.columns, self.sizes, strict=True)}
        return self.recode(Recoding(np.arange(len(self.counts)), slots), columns)

    def align(self, other: Self) -> tuple[Self, Self]:
        """Return both sides with columns in the order of this one."""
        return self, other.select(self.columns)

    def not_learned(self, other: Self, name: str, cell: tuple[int, ...], space: Space, key: Any) -> NotLearned:
        """Return an error that names the two columns."""
        a, b = max((start, pair) for pair, start in self.starts.items() if start <= cell[1])[1]
        return not_learned_together((self.columns[a], self.columns[b]))

    @classmethod
    def from_parts(cls, request: Request, header: Any, arrays: list[Array], space: Space) -> Self:
        """Read nonnegative counts of the expected sizes."""
        known = len(arrays) == 1 and set(request.columns) <= space.slots.keys()
        check_file(known, "the arrays of columns counted together do not fit the header")
        sizes = tuple(space.slots[name] for name in request.columns)
        check_counts(arrays[0], (space.n_classes, pair_cells(sizes)), space)
        return cls(request.columns, sizes, arrays[0])

    def check(self, space: Space, class_counts: Counts, others: Mapping[str, Statistic]) -> None:
        """Check that the margins of every table equal the counts of its columns."""
        alone = tables_alone(others, self.columns)
        for i, a in enumerate(self.columns):
            for b in self.columns[i + 1 :]:
                table = self.table(a, b)
                check_edges(table.sum(axis=2), alone[a])
                check_edges(table.sum(axis=1), alone[b])


def pair_cells(sizes: Sequence[int]) -> int:
    """Return the number of cells of all pairs of columns with these numbers of slots.

    >>> pair_cells([2, 3, 4])      # 2·3 + 2·4 + 3·4
    26
    """
    return (sum(sizes) ** 2 - sum(size * size for size in sizes)) // 2


def not_learned_together(columns: Sequence[str]) -> NotLearned:
    """Return the error for forgetting value combinations that were not learned."""
    return NotLearned(
        f"columns {' and '.join(map(repr, columns))} were not learned with these values together and cannot forget "
        "them; nothing was changed"
    )


def tables_alone(statistics: Mapping[str, Statistic], columns: Sequence[str]) -> dict[str, Counts]:
    """Return the counts of each single column, which a file stores beside joint counts."""
    families = statistics.get(Families.kind)
    if not isinstance(families, Families) or not set(columns) <= families.tables.keys():
        raise BadFile("columns are counted together that are not counted alone")
    return {name: families.tables[name] for name in columns}


def check_edges(sums: Counts, alone: Counts) -> None:
    """Raise an error for joint counts whose margins (n_classes, n_slots) differ from the single-column counts."""
    slack = ROUNDING * alone.sum(axis=1, keepdims=True) if alone.dtype.kind == "f" else 0
    check_file(
        (np.abs(sums - alone) <= slack).all(), "the counts of columns together do not sum to those of each alone"
    )

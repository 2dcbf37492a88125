"""Counts of values by class: of each column, of all pairs, of sets of columns, and of a child given its parents.

Pairs are dense tables of slots: 0 is a missing cell, i + 1 the i-th value of the tally's space. Joints hold only the
combinations of slots that occur. Contexts are dense without missing cells, for a table of a network has a row for each
context, seen or not; a row with a missing cell is left out of the tables that need the cell, and of no other.

Formula: counts of pairs and of any set of columns; of products of numbers
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BadFile, NotLearned, format_setting
from bayeskit.memory import Need
from bayeskit.tally.plan import (
    EqualFields,
    Recoding,
    Request,
    Space,
    check_counts,
    check_file,
    format_times,
    is_identity,
    new_codes,
    take_codes,
)
from bayeskit.tally.statistic import (
    ArrayStatistic,
    BlockCounts,
    ColumnStatistic,
    CountArrays,
    Statistic,
    TableStatistic,
    register,
)
from bayeskit.tolerance import ROUNDING
from bayeskit.typing import Array, Bools, Counts


@dataclass(frozen=True, eq=False)
class Family(EqualFields):
    """Counts of one column, (n_classes, 1 + n_values): slot 0 holds missing cells, slot i + 1 the i-th value.

    >>> Family(("rain", "sun"), np.array([[0, 2, 1]])).present.tolist()
    [[2, 1]]
    """

    values: tuple[Value, ...]
    counts: Counts

    @property
    def present(self) -> Counts:
        """Return the counts of present cells, (n_classes, n_values)."""
        return self.counts[:, 1:]

    @property
    def missing(self) -> Counts:
        """Return the number of missing cells by class."""
        return self.counts[:, 0]


@register
class Families(ArrayStatistic):
    """Value counts of each coded column, (n_classes, n_slots)."""

    kind = "families"

    @classmethod
    def single_columns(cls, request: Request) -> Sequence[str]:
        """Return all columns, which are counted in the shared pass."""
        return request.columns

    @classmethod
    def shape(cls, key: str, space: Space) -> tuple[int, ...]:
        """Return one cell for each slot of the column."""
        check_file(key in space.slots, "the tally's counts do not fit its columns")
        return (space.slots[key],)

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Take the tables of the shared pass."""
        return cls({name: counter.counts[1][name] for name in request.columns})

    def value_axes(self, key: str, recoding: Recoding) -> Sequence[Array]:
        """Return the slots of the column."""
        return (recoding.slots[key],)

    def not_learned(self, key: str, table: Counts, other: Counts, cell: tuple[int, ...], space: Space) -> NotLearned:
        """Build an error that names the value with too few counts."""
        value = f"{space.values[key][cell[1] - 1]!r}" if cell[1] else "a missing cell"
        return NotLearned(
            f"column {key!r} had {value} {format_times(table[cell])}{space.in_class(cell[0])} and cannot "
            f"forget it {format_times(other[cell])}; nothing was changed"
        )

    def occurring_values(self, column: str) -> Bools | None:
        """Return which values have a count above zero."""
        return np.asarray(self.tables[column][:, 1:].any(axis=0)) if column in self.tables else None

    def check(self, space: Space, class_counts: Counts, others: Mapping[str, Statistic]) -> None:
        """Check that the counts of every column sum to the class counts."""
        for table in self.tables.values():
            apart = np.abs(table.sum(axis=1, dtype=np.float64) - class_counts)  # floats cannot wrap around
            fits = (apart <= (ROUNDING * class_counts if space.weighted else 0)).all()
            check_file(fits, "the counts of a column do not sum to those of the classes")


LARGEST = 2**32 - 1  # cells, which are numbered in 32 bits
FEWER_PARENTS = "Give the child fewer parents, or the parents fewer values; or raise memory_limit=."
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
        """Count a block with one kernel call; rows with weights or class shares are counted pair by pair."""
        block, n_classes = counter.block, counter.space.n_classes
        sizes = tuple(counter.space.slots[name] for name in request.columns)
        columns = [block.codes[name] for name in request.columns]
        if block.responsibilities is None and block.weights is None:
            by = counter.labels, n_classes, counter.n_threads
            return cls(request.columns, sizes, kernels.count_pairs(columns, sizes, *by))
        tables = counter.by_class(columns, sizes, list(combinations(range(len(columns)), 2)))
        return cls(request.columns, sizes, np.concatenate([np.zeros((n_classes, 0)), *tables], axis=1))

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
        return unknown_combination((self.columns[a], self.columns[b]))

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


def unknown_combination(columns: Sequence[str]) -> NotLearned:
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
            raise unknown_combination(key)
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


@register
class ContextCounts(ArrayStatistic):
    """Counts (n_classes, values of each parent …, values of the child) of each set (parents …, child) of columns."""

    kind = "contexts"
    by_column_set = True

    @classmethod
    def memory_needed(cls, request: Request, space: Space) -> Need | None:
        """Return the size of three copies of each table: two while adding a block, one for probabilities."""
        sizes = {names: prod(space.slots[name] for name in names) for names in request.columns}
        largest = max(sizes, key=sizes.__getitem__)
        parents = f" given its {len(largest) - 1} parents ({', '.join(largest[:-1][:4])})" if len(largest) > 1 else ""
        what = f"counting {len(sizes)} tables, the largest that of {largest[-1]!r}{parents},"
        n_bytes = 24.0 * space.n_classes * sum(sizes.values())
        return Need(what, np.inf if sizes[largest] > LARGEST else n_bytes, FEWER_PARENTS)

    @classmethod
    def shape(cls, key: tuple[str, ...], space: Space) -> tuple[int, ...]:
        """Return one axis for the values of each column."""
        known = set(key) <= space.slots.keys() and len(set(key)) == len(key)
        check_file(known, "the tables of contexts do not fit the header")
        return tuple(space.slots[name] - 1 for name in key)

    @classmethod
    def column_sets(cls, request: Request) -> Sequence[tuple[str, ...]]:
        """Return all sets, which are counted in the shared pass."""
        return request.columns

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Take the tables of the shared pass, without slot 0 of each column."""
        present = {n: counter.counts[2][n][(slice(None), *[slice(1, None)] * len(n))] for n in request.columns}
        return cls({names: np.ascontiguousarray(table) for names, table in present.items()})

    def value_axes(self, key: tuple[str, ...], recoding: Recoding) -> Sequence[Array]:
        """Return the values of each column, without the missing slot."""
        slots = [recoding.slots[name][1:] for name in key]
        return [np.where(index < 0, -1, index - 1) for index in slots]

    def not_learned(
        self, key: tuple[str, ...], table: Counts, other: Counts, cell: tuple[int, ...], space: Space
    ) -> NotLearned:
        """Build an error that names the value and its context."""
        values = ", ".join(f"{name} = {space.values[name][i]}" for name, i in zip(key, cell[1:], strict=True))
        return NotLearned(
            f"the table of {key[-1]!r} would count {values} less often than never; these rows were not all learned, "
            "and nothing was changed"
        )

    def occurring_values(self, column: str) -> Bools | None:
        """Return the values that occur in some table."""
        masks = []
        for names, table in self.tables.items():
            if column in names:
                masks.append(table.any(axis=tuple({*range(table.ndim)} - {names.index(column) + 1})))
        return np.any(masks, axis=0) if masks else None

    def class_totals(self) -> Iterable[Counts]:
        """Return the rows of each class in each table."""
        return (table.sum(axis=tuple(range(1, table.ndim)), dtype=np.float64) for table in self.tables.values())

"""Define trees and the codes in which they read columns, and count the rows that reach each leaf, by class.

The trees are part of what is asked for; they do not change while rows come and go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.data.cells import raise_unusable
from bayeskit.data.vocabulary import Value, positions
from bayeskit.errors import BadFile, BayesError, NotLearned
from bayeskit.memory import Need, check_memory
from bayeskit.tally.plan import EqualFields, Recoding, Request, Space, check_file, take_codes
from bayeskit.tally.statistic import BlockCounts, CountArrays, Parts, Statistic, register
from bayeskit.tolerance import ROUNDING
from bayeskit.typing import Array, Bytes, Counts, Floats, Ints


@dataclass(frozen=True)
class ColumnCodes:
    """The coding of one column: its values, and whether missing is one of them."""

    # None for a number; the intervals of given cuts are 0, 1, …; a value of forgotten rows alone is None.
    values: tuple[Value | None, ...] | None
    missing: bool

    @property
    def size(self) -> int:
        """Return the number of values of a coded column, at least one; 0 for a number."""
        return 0 if self.values is None else max(len(self.values) + self.missing, 1)

    def shift(self, codes: Array) -> Array:
        """Convert encoder codes (0 missing, 1 … V, V + 1 unseen) to model codes."""
        if self.missing:
            return codes
        unknown = self.size
        return np.where(codes == 0, unknown, np.minimum(codes - 1, unknown)).astype(np.min_scalar_type(unknown))

    def codes_in(self, other: ColumnCodes) -> Ints:
        """Return the code of each value in another coding, −1 if absent.

        >>> ColumnCodes(("rain", "sun"), True).codes_in(ColumnCodes(("hail", "sun"), True)).tolist()
        [0, -1, 2]
        """
        among = positions(self.values or (), other.values or ())
        among[among >= 0] += other.missing
        return np.concatenate([[0 if other.missing else -1], among]) if self.missing else among


Trees = tuple[Ints, npt.NDArray[np.uint32], npt.NDArray[np.int32], npt.NDArray[np.uint64]]
Coding = Mapping[str, ColumnCodes]
MOST_CODES = 254  # of values or intervals; 254 itself is missing, 255 not known
UNKNOWN = 255
BY_RANK = 169  # intervals of equally many rows, as many cuts and one; the others are at ranks of distinct numbers
FEWEST = 4  # values of a column of categories that is read as numbers as well
NO_CUTS = np.zeros(0)


@dataclass(frozen=True, eq=False)
class TreeColumn(EqualFields):
    """A column as trees read it: a number by cuts, a coded column by a lookup table."""

    name: str
    categorical: bool
    cuts: Floats
    table: Bytes  # of the values of a column of codes, missing among them
    missing: bool

    @cached_property
    def size(self) -> int:
        """Return the number of codes."""
        return int(self.table.max(initial=0)) + 1 if len(self.table) else len(self.cuts) + 1 + self.missing


@dataclass(frozen=True, eq=False)
class CodedTrees(EqualFields):
    """Trees, the columns they read, and the codes of the lookup tables."""

    coding: Coding
    columns: tuple[TreeColumn, ...]
    arrays: Trees

    def __len__(self) -> int:
        return len(self.arrays[0]) - 1

    @property
    def n_nodes(self) -> int:
        """Return the number of nodes of all trees."""
        return len(self.arrays[1])

    @cached_property
    def hot_columns(self) -> list[int]:
        """Return the categorical columns that can split rows."""
        return [j for j, column in enumerate(self.columns) if column.categorical and column.size > 1]

    def some(self, first: int, last: int) -> Trees:
        """Return a range of trees."""
        start, nodes, subset, sets = self.arrays
        of_trees = self.nodes_of(first, last)
        return start[first : last + 1] - start[first], nodes[of_trees], subset[of_trees], sets

    def nodes_of(self, first: int, last: int) -> slice:
        """Return the slice of nodes of a range of trees."""
        return slice(int(self.arrays[0][first]), int(self.arrays[0][last]))

    def tables(self, coding: Coding) -> list[Bytes]:
        """Return a lookup table from current codes, and an unknown one, to tree codes for each coded column."""
        tables = []
        for column in self.columns:
            now, before = coding[column.name], self.coding[column.name]
            known = np.append(column.table, np.uint8(UNKNOWN))
            if now.values is not None and now != before:
                size = max(now.size, 1)
                among = np.full(size, -1, dtype=np.int64)
                among[: len(now.values) + now.missing] = now.codes_in(before)
                known = np.append(known[among], np.uint8(UNKNOWN))
            tables.append(known)
        return tables

    def codes(self, cells: Mapping[str, Array], tables: list[Bytes], n_threads: int) -> Bytes:
        """Encode cells as a row-major array (n_rows, n_columns): numbers by cuts, codes by ``tables``; infinity is
        unknown.
        """
        n_rows = len(next(iter(cells.values()))) if cells else 0
        out = np.empty((n_rows, len(self.columns)), dtype=np.uint8)
        for j, (column, table) in enumerate(zip(self.columns, tables, strict=True)):
            values = cells[column.name]
            out[:, j] = intervals(column, values, n_threads) if values.dtype.kind == "f" else table[values]
        return out

    def to_parts(self) -> tuple[list[Any], list[Array]]:
        """Return (plain header, arrays)."""
        header = [[c.name, c.categorical, len(c.cuts), len(c.table), c.missing] for c in self.columns]
        cuts = np.concatenate([NO_CUTS, *(column.cuts for column in self.columns)])
        tables = np.concatenate([np.zeros(0, np.uint8), *(column.table for column in self.columns)])
        return header, [cuts, tables, *plain_arrays(self.arrays)]

    @classmethod
    def from_parts(cls, coding: Coding, header: Any, arrays: list[Array]) -> Self:
        """Restore :meth:`to_parts` and check everything that traversal does not check."""
        need(len(arrays) == N_ARRAYS and [a.dtype.str[1:] for a in arrays[:2]] == ["f8", "u1"])
        cuts, tables, start, nodes, subset, sets = arrays
        need(cuts.ndim == tables.ndim == 1 and isinstance(header, list))
        columns, at_cut, at_table = [], 0, 0
        for name, categorical, n_cuts, n_codes, missing in header:
            need(type(n_cuts) is int and type(n_codes) is int and name in coding)
            need(isinstance(categorical, bool) and isinstance(missing, bool))
            mine = cuts[at_cut : at_cut + n_cuts], tables[at_table : at_table + n_codes]
            of = coding[name]
            need(0 <= n_cuts < MOST_CODES and len(mine[0]) == n_cuts and bool((np.diff(mine[0]) > 0).all()))
            need(len(mine[1]) == n_codes == of.size and missing == of.missing and (of.values is None or not n_cuts))
            need(not categorical or of.values is not None)
            columns.append(TreeColumn(name, categorical, *mine, missing))
            at_cut, at_table = at_cut + n_cuts, at_table + n_codes
        need(at_cut == len(cuts) and at_table == len(tables) and bool(np.isfinite(cuts).all()))
        return cls(coding, tuple(columns), tree_arrays([start, nodes, subset, sets], len(columns)))


N_ARRAYS = 6


def plain_arrays(trees: Trees) -> list[Array]:
    """Return the arrays of trees for a file."""
    start, nodes, subset, sets = trees
    return [start, nodes, subset.astype(np.int64), sets.view(np.uint32)]


def tree_arrays(arrays: list[Array], n_columns: int) -> Trees:
    """Restore :func:`plain_arrays` and check that all node links are in range."""
    need([array.dtype.str[1:] for array in arrays] == ["i8", "u4", "i8", "u4"])
    start, nodes, subset, sets = arrays
    need(start.ndim == subset.ndim == 1)
    need(nodes.ndim == 2 and nodes.shape[1] == 2 and sets.ndim == 2 and sets.shape[1] == 8)
    need(len(start) > 0 and start[0] == 0 and start[-1] == len(nodes) == len(subset))
    need(bool((start[1:] > start[:-1]).all()) and len(nodes) < 2**31)
    need(bool(((subset >= -1) & (subset < len(sets))).all()))
    size = np.diff(start)
    left, place = nodes[:, 0].astype(np.int64), np.arange(len(nodes)) - np.repeat(start[:-1], size)
    behind = (left > place) & (left < np.repeat(size, size) - 1)
    need(bool(((left == 0) | behind).all()))
    children = (np.repeat(start[:-1], size) + left)[left > 0]
    above = np.bincount(np.concatenate([start[:-1], children, children + 1]), minlength=len(nodes))
    need(bool((above == 1).all()))  # one node above each but the roots: shared ones would count rows twice
    asks_set, column = nodes[:, 1] >= 2**31, (nodes[:, 1].astype(np.int64) & (2**31 - 1)) >> 8
    need(bool(((left == 0) | ((column < n_columns) & (~asks_set | (subset >= 0)))).all()))
    words = np.ascontiguousarray(sets).view(np.uint64).reshape(-1, 4)
    return start, nodes, subset.astype(np.int32), words


def need(holds: bool) -> None:
    """Raise an error for invalid trees."""
    if not holds:
        raise BadFile("these are not trees: what they read, or where they lead, cannot be right")


def intervals(column: TreeColumn, numbers: Floats, n_threads: int) -> Bytes:
    """Encode numbers by cuts, a number on a cut to the left; missing gets the last code if it was seen.

    >>> column = TreeColumn("x", False, np.array([1.0, 2.0]), np.zeros(0, np.uint8), True)
    >>> intervals(column, np.array([0.5, 1.0, 1.5, 9.0, np.nan, np.inf]), 1).tolist()
    [0, 0, 1, 2, 3, 255]
    """
    numbers = np.ascontiguousarray(numbers)
    codes = kernels.bin_codes([numbers], [column.cuts], n_threads)[0]
    codes = (codes - codes.dtype.type(1)).astype(np.uint8)  # missing, 0, becomes 255
    if column.missing:
        codes[codes == UNKNOWN] = len(column.cuts) + 1
    if len(numbers) and numbers.max(initial=-np.inf, where=~np.isnan(numbers)) == np.inf:
        codes[numbers == np.inf] = UNKNOWN
    return np.asarray(codes)


def tree_columns(cells: Mapping[str, Array], coding: Coding) -> tuple[TreeColumn, ...]:
    """Build tree columns from a table, without looking at the classes.

    >>> size = {"size": ColumnCodes(("10", "2", "30", "4"), False)}
    >>> columns = tree_columns({"size": np.array([0, 1, 2, 3], dtype=np.uint8)}, size)
    >>> [(column.categorical, column.table.tolist()) for column in columns]
    [(True, [0, 1, 2, 3]), (False, [2, 0, 3, 1])]
    """
    columns = []
    for name, codes in coding.items():
        if codes.values is None:
            columns.append(TreeColumn(name, False, class_blind_cuts(cells[name]), np.zeros(0, np.uint8), codes.missing))
            continue
        columns.append(TreeColumn(name, True, NO_CUTS, _value_table(cells[name], codes.size), codes.missing))
        if (numbers := _numbers(codes)) is not None:
            columns.append(TreeColumn(name, False, NO_CUTS, _in_order(numbers, codes), codes.missing))
    return tuple(columns)


def class_blind_cuts(column: Floats) -> Floats:
    """Place cuts between all numbers if there are few; else two thirds at row ranks, one third at value ranks.

    >>> class_blind_cuts(np.array([3.0, 1.0, 1.0, np.nan, 2.0])).tolist()
    [1.5, 2.5]
    """
    distinct, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    if len(distinct) < 2:
        return NO_CUTS
    if len(distinct) <= MOST_CODES:
        before = np.arange(1, len(distinct))
    else:
        rows = np.cumsum(counts)
        ranks = rows[-1] * np.arange(1, BY_RANK) // BY_RANK
        n_others = MOST_CODES - BY_RANK + 1
        others = len(distinct) * np.arange(1, n_others) // n_others
        before = np.unique(np.concatenate([np.searchsorted(rows, ranks, side="right"), others]))
        before = before[before > 0]
    cuts = distinct[before - 1] / 2 + distinct[before] / 2
    return np.unique(cuts[cuts < distinct[-1]])


def _value_table(codes: Array, size: int) -> Bytes:
    """Build a lookup table; if there are too many values, the rarest share the last code."""
    if size <= MOST_CODES:
        return np.arange(size, dtype=np.uint8)
    often = np.argsort(-np.bincount(codes, minlength=size)[:size], kind="stable")[: MOST_CODES - 1]
    table = np.full(size, MOST_CODES - 1, dtype=np.uint8)
    table[np.sort(often)] = np.arange(len(often), dtype=np.uint8)
    return table


def _numbers(codes: ColumnCodes) -> Floats | None:
    """Return the values as numbers if all of them are numbers, else None."""
    if codes.values is None or len(codes.values) < FEWEST:
        return None
    try:
        numbers = np.array([float(value) for value in codes.values if value is not None])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _in_order(numbers: Floats, codes: ColumnCodes) -> Bytes:
    distinct, rank = np.unique(numbers, return_inverse=True)
    if len(distinct) > MOST_CODES:
        rank = rank * MOST_CODES // len(distinct)
    rank = rank.ravel()
    table = np.append(rank.max() + 1, rank) if codes.missing else rank
    return table.astype(np.uint8)


FEWER = "Grow fewer trees, or raise the limit."


@dataclass(frozen=True, eq=False)
class LeavesRequest(Request):
    """A request for the leaves of these trees. A file stores the trees with the counts, not with the request."""

    trees: CodedTrees | None = None

    @classmethod
    def of(cls, trees: CodedTrees) -> LeavesRequest:
        """Build a request for all columns of the trees."""
        return cls(Leaves.kind, tuple(trees.coding), trees=trees)

    def is_for(self, other: Request) -> bool:
        """Return True if the other requests leaves of the same trees."""
        return isinstance(other, LeavesRequest) and super().is_for(other) and self.trees == other.trees


@register
@dataclass(frozen=True, eq=False)
class Leaves(CountArrays, Statistic):
    """Counts of the rows that end at each node, (n_nodes, n_classes)."""

    kind = "leaves"
    may_hold_nan = True  # the tables of trees may say that there is none
    trees: CodedTrees
    counts: Counts

    @property
    def request(self) -> Request:
        """Return the request that this statistic answers."""
        return LeavesRequest.of(self.trees)

    @classmethod
    def memory_needed(cls, request: Request, space: Space) -> Need | None:
        """Return twice the table size, to allow for adding a block."""
        n_nodes = trees_of(request).n_nodes
        return Need(f"counting {n_nodes:,} nodes of trees", 16.0 * n_nodes * max(space.n_classes, 1), FEWER)

    @classmethod
    def empty(cls, request: Request, space: Space) -> Self:
        """Return zero counts."""
        trees = trees_of(request)
        return cls(trees, np.zeros((trees.n_nodes, space.n_classes), space.dtype))

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Send each row of a block through all trees."""
        block, trees = counter.block, trees_of(request)
        if block.responsibilities is not None:
            raise BayesError("one label a row is needed here, not class probabilities")
        raise_unusable(block.floats, block.start)
        values = counter.space.values
        numbers = {name: before for name, before in trees.coding.items() if before.values is None}
        cells = {name: block.floats[name] if name in numbers else block.codes[name] for name in trees.coding}
        coding = {n: numbers[n] if n in numbers else ColumnCodes(tuple(values[n]), True) for n in trees.coding}
        codes = trees.codes(cells, trees.tables(coding), counter.n_threads)
        labels = counter.labels.astype(np.uint32)
        counts = kernels.count_leaves(
            codes, labels, counter.space.n_classes, block.weights, trees.arrays, counter.n_threads
        )
        return cls(trees, counts.astype(counter.space.dtype))

    def recode(self, recoding: Recoding) -> Self:
        """Return the counts under other classes; trees keep their own codes."""
        return type(self)(self.trees, take_codes(self.counts, recoding.classes, axis=1))

    def not_learned(self, other: Self, name: str, cell: tuple[int, ...], space: Space, key: Any) -> NotLearned:
        """Return an error that names the class with too few rows."""
        return NotLearned(f"some of these rows{space.in_class(cell[1])} were not learned; nothing was changed")

    def restrict(self, names: Sequence[str]) -> Self | None:
        """Return the statistic unless a column is dropped: trees need all of their columns."""
        return self if set(self.trees.coding) <= set(names) else None

    def to_parts(self) -> Parts:
        """Return the trees, and positions and values of the nonzero counts."""
        columns, arrays = self.trees.to_parts()
        coding = [[name, list(codes.values or ()), codes.missing] for name, codes in self.trees.coding.items()]
        at = np.flatnonzero(self.counts)
        numbers = self.counts.ravel()[at]
        if numbers.dtype.kind == "i" and numbers.max(initial=0) < 2**32:
            numbers = numbers.astype(np.uint32)
        return {"coding": coding, "columns": columns}, [*arrays, at.astype(np.int64), numbers]

    @classmethod
    def from_parts(cls, request: Request, header: Any, arrays: list[Array], space: Space) -> Self:
        """Read trees with valid links, and positive counts at distinct positions."""
        *of_trees, at, numbers = arrays
        coding = {
            str(name): ColumnCodes(tuple(values) if name in space.slots else None, missing)
            for name, values, missing in header["coding"]
        }
        known = set(coding) == set(request.columns) and all(type(codes.missing) is bool for codes in coding.values())
        check_file(known, "the trees do not read the columns that were counted")
        trees = CodedTrees.from_parts(coding, header["columns"], of_trees)
        fits = at.dtype == np.int64 and at.ndim == 1 and at.shape == numbers.shape
        size = trees.n_nodes * space.n_classes
        fits = fits and (not len(at) or bool(at[0] >= 0 and at[-1] < size and (at[1:] > at[:-1]).all()))
        check_file(fits, "the counts of leaves do not fit their trees")
        valid = numbers.dtype.kind in ("f" if space.weighted else "iu") and np.isfinite(numbers).all()
        check_file(valid and numbers.min(initial=1) > 0, "the tally holds counts that are negative or no numbers")
        if (whole := cls.memory_needed(LeavesRequest.of(trees), space)) is not None:  # a file holds few of its cells
            check_memory(whole, math.inf)
        counts = np.zeros((trees.n_nodes, space.n_classes), dtype=space.dtype)
        counts.ravel()[at] = numbers
        return cls(trees, counts)

    def check(self, space: Space, class_counts: Counts, others: Mapping[str, Statistic]) -> None:
        """Check that every tree has counted all rows."""
        start = self.trees.arrays[0][:-1]
        if len(start):
            by_tree = np.add.reduceat(self.counts.astype(np.float64), start, axis=0)
            same = np.allclose(by_tree, class_counts, rtol=ROUNDING, atol=ROUNDING)
            check_file(same, "the leaves of the trees have not counted the rows of the classes")


def trees_of(request: Request) -> CodedTrees:
    """Return the trees of a request."""
    if isinstance(request, LeavesRequest) and request.trees is not None:
        return request.trees
    raise BayesError("leaves are counted for trees that are given")

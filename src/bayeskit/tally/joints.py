"""Counts of several columns together: all pairs as dense tables, any other set by the rows of values that occur.

Both count slots of the families' values: 0 is a missing cell, i + 1 the i-th value. Which values those are
stands in the families of the same tally.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.errors import TooLarge
from bayeskit.tally.families import Counts

Index = npt.NDArray[np.int64]
Slots = Mapping[str, Index]  # by column: the old slot of each new one, −1 for a value that is new
MEMORY = 2_000_000_000  # bytes that counts and tables may take unless a setting says otherwise


def check_memory(what: str, n_bytes: float, limit: int | None, remedy: str) -> None:
    """Refuse work that would take more memory than allowed, before it is taken.

    >>> check_memory("pairs of 2,000 columns", 64e9, None, "Use fewer columns.")
    Traceback (most recent call last):
    ...
    bayeskit.errors.TooLarge: pairs of 2,000 columns would take 64 GB of memory, ...
    """
    allowed = min(MEMORY if limit is None else limit, memory_of_the_machine())  # a file may name any limit
    if n_bytes > allowed:
        raise TooLarge(
            f"{what} would take {memory_size(n_bytes)} of memory, more than memory_limit={memory_size(allowed)}. "
            f"{remedy}"
        )


def memory_of_the_machine() -> float:
    """Bytes, or infinity on a system that does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return float("inf")


def memory_size(n_bytes: float) -> str:
    """Bytes in words.

    >>> memory_size(999), memory_size(1.2e7)
    ('999 bytes', '12 MB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.3g} {unit}"
    return f"{n_bytes:.0f} bytes"


@dataclass(frozen=True, eq=False)
class Pairs:
    """Counts (classes, cells) of all pairs of columns a < b, one table (slots of a, slots of b) after another.

    >>> pairs = Pairs(("a", "b"), (2, 3), np.arange(6)[None])
    >>> pairs.table("b", "a")[0].tolist()
    [[0, 3], [1, 4], [2, 5]]
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]  # slots of each column
    counts: Counts

    @cached_property
    def starts(self) -> dict[tuple[int, int], int]:
        """Where the table of each pair begins."""
        starts, at = {}, 0
        for a, size in enumerate(self.sizes):
            for b in range(a + 1, len(self.sizes)):
                starts[a, b] = at
                at += size * self.sizes[b]
        return starts

    @cached_property
    def position(self) -> dict[str, int]:
        """Where each column stands."""
        return {name: i for i, name in enumerate(self.columns)}

    def table(self, first: str, second: str) -> Counts:
        """Counts (classes, slots of first, slots of second)."""
        a, b = self.position[first], self.position[second]
        low, high = min(a, b), max(a, b)
        shape = (len(self.counts), self.sizes[low], self.sizes[high])
        start = self.starts[low, high]
        block = self.counts[:, start : start + shape[1] * shape[2]].reshape(shape)
        return block if a < b else block.transpose(0, 2, 1)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Pairs)
            and self.columns == other.columns
            and self.sizes == other.sizes
            and self.counts.dtype == other.counts.dtype
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    def align(self, class_index: Index, slots: Slots, columns: Sequence[str] | None = None) -> Pairs:
        """The same counts under other classes (−1: a new one) and values, the columns in another order."""
        if not self.columns:
            return self
        names = self.columns if columns is None else tuple(columns)
        sizes = tuple(len(slots[name]) for name in names)
        if not len(self.counts):
            return Pairs(names, sizes, np.zeros((len(class_index), pair_cells(sizes)), dtype=self.counts.dtype))
        counts = self.counts
        same = names == self.columns and all(
            len(slots[n]) == size and (slots[n] == np.arange(size)).all()
            for n, size in zip(names, self.sizes, strict=True)
        )
        if not same:
            blocks = [np.zeros((len(counts), 0), dtype=counts.dtype)]
            for i, a in enumerate(names):
                for b in names[i + 1 :]:
                    block = self.table(a, b)[:, np.maximum(slots[a], 0)[:, None], np.maximum(slots[b], 0)]
                    block[:, slots[a] < 0] = 0
                    block[:, :, slots[b] < 0] = 0
                    blocks.append(block.reshape(len(counts), -1))
            counts = np.concatenate(blocks, axis=1)
        if not np.array_equal(class_index, np.arange(len(counts))):
            counts = counts[np.maximum(class_index, 0)]
            counts[class_index < 0] = 0
        return Pairs(names, sizes, counts)

    def restrict(self, columns: Sequence[str]) -> Pairs:
        """The pairs of these columns alone."""
        names = tuple(name for name in self.columns if name in columns)
        if not names:
            return Together.empty().pairs
        sizes = tuple(self.sizes[self.position[name]] for name in names)
        tables = [self.table(a, b).reshape(len(self.counts), -1) for i, a in enumerate(names) for b in names[i + 1 :]]
        empty = np.zeros((len(self.counts), 0), dtype=self.counts.dtype)
        return Pairs(names, sizes, np.concatenate([empty, *tables], axis=1))


def pair_cells(sizes: Sequence[int]) -> int:
    """Cells of all pairs of columns with so many slots.

    >>> pair_cells([2, 3, 4])      # 2·3 + 2·4 + 3·4
    26
    """
    return (sum(sizes) ** 2 - sum(size * size for size in sizes)) // 2


@dataclass(frozen=True, eq=False)
class Joint:
    """Counts (cells, classes) of the rows of slots (cells, columns) that occur, in rising order of the slots.

    >>> Joint.of(("a", "b"), np.array([[1, 2], [1, 1], [1, 2]]), np.array([[1], [1], [1]])).counts.tolist()
    [[1], [2]]
    """

    columns: tuple[str, ...]
    cells: npt.NDArray[np.uint32]
    counts: Counts

    @classmethod
    def of(cls, columns: tuple[str, ...], cells: npt.NDArray[Any], counts: Counts) -> Joint:
        """Cells in order, each once, without those that were never counted."""
        seen = (counts != 0).any(axis=1)
        cells, counts = cells[seen].astype(np.uint32), counts[seen]
        if not len(cells) or not columns:
            total = counts.sum(axis=0, keepdims=True) if len(counts) else counts
            return cls(columns, cells[:1], total)
        order = np.lexsort(cells.T[::-1])
        cells, counts = cells[order], counts[order]
        starts = np.flatnonzero(np.concatenate([[True], (cells[1:] != cells[:-1]).any(axis=1)]))
        return cls(columns, cells[starts], np.add.reduceat(counts, starts, axis=0))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Joint)
            and self.columns == other.columns
            and self.counts.dtype == other.counts.dtype
            and np.array_equal(self.cells, other.cells)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    def align(self, class_index: Index, slots: Slots) -> Joint:
        """The same counts under other classes (−1: a new one) and values."""
        cells = np.empty_like(self.cells)
        for j, name in enumerate(self.columns):
            new = np.zeros(int(max(slots[name].max(initial=0), self.cells[:, j].max(initial=0))) + 1, dtype=np.uint32)
            kept = slots[name] >= 0
            new[slots[name][kept]] = np.flatnonzero(kept)
            cells[:, j] = new[self.cells[:, j]]
        counts = np.zeros((len(self.counts), len(class_index)), dtype=self.counts.dtype)
        known = class_index >= 0
        counts[:, known] = self.counts[:, class_index[known]]
        return Joint.of(self.columns, cells, counts)

    def __add__(self, other: Joint) -> Joint:
        """All rows of both sides, which have the same classes and values."""
        return Joint.of(self.columns, np.concatenate([self.cells, other.cells]), _both(self.counts, other.counts))

    def __sub__(self, other: Joint) -> Joint:
        """This side without the other; may hold negative counts, which the tally refuses."""
        return Joint.of(self.columns, np.concatenate([self.cells, other.cells]), _both(self.counts, -other.counts))

    def marginal(self, columns: Sequence[str]) -> Joint:
        """The counts of some of the columns, in their order here."""
        index = [j for j, name in enumerate(self.columns) if name in columns]
        return Joint.of(tuple(self.columns[j] for j in index), self.cells[:, index], self.counts)


def _both(a: Counts, b: Counts) -> Counts:
    return np.concatenate([a, b]) if a.dtype == b.dtype else np.concatenate([a, b]).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Together:
    """All that a tally has counted of several columns together: a value with + and −, aligned by name."""

    pairs: Pairs
    joints: dict[tuple[str, ...], Joint]

    @classmethod
    def empty(cls, pairs: Sequence[str] = (), joints: Sequence[tuple[str, ...]] = ()) -> Together:
        """Nothing counted: neutral under +."""
        cells = {names: np.zeros((0, len(names)), dtype=np.uint32) for names in joints}
        none = np.zeros((0, 0), dtype=np.int64)
        sizes = (1,) * len(pairs)
        return cls(
            Pairs(tuple(pairs), sizes, np.zeros((0, pair_cells(sizes)), dtype=np.int64)),
            {names: Joint(names, empty, none) for names, empty in cells.items()},
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Together) and self.pairs == other.pairs and self.joints == other.joints

    __hash__ = None  # type: ignore[assignment]

    def align(self, class_index: Index, slots: Slots, columns: Sequence[str] | None = None) -> Together:
        """The same counts under other classes and values."""
        joints = {names: joint.align(class_index, slots) for names, joint in self.joints.items()}
        return Together(self.pairs.align(class_index, slots, columns), joints)

    def __add__(self, other: Together) -> Together:
        """All rows of both sides, which are aligned."""
        pairs = Pairs(self.pairs.columns, self.pairs.sizes, self.pairs.counts + other.pairs.counts)
        return Together(pairs, {names: joint + other.joints[names] for names, joint in self.joints.items()})

    def minus(self, other: Together, tolerance: float) -> Together:
        """This side without the other, magnitudes up to the tolerance being zero; `lacking` tells what is negative."""
        counts = self.pairs.counts - other.pairs.counts
        counts[np.abs(counts) <= tolerance] = 0
        joints = {}
        for names, joint in self.joints.items():
            left = joint - other.joints[names]
            left.counts[np.abs(left.counts) <= tolerance] = 0
            joints[names] = Joint.of(names, left.cells, left.counts)
        return Together(Pairs(self.pairs.columns, self.pairs.sizes, counts), joints)

    def lacking(self) -> str | None:
        """The columns of which more was taken away than was there."""
        if (self.pairs.counts < 0).any():
            cell = int(np.argmax((self.pairs.counts < 0).any(axis=0)))
            a, b = max((start, pair) for pair, start in self.pairs.starts.items() if start <= cell)[1]
            return f"{self.pairs.columns[a]!r} and {self.pairs.columns[b]!r}"
        for names, joint in self.joints.items():
            if (joint.counts < 0).any():
                return " and ".join(map(repr, names))
        return None

    def restrict(self, columns: Sequence[str]) -> Together:
        """The same for these columns alone; a child keeps those of its parents that stay."""
        kept = {names: tuple(n for n in names if n in columns) for names in self.joints if names[-1] in columns}
        return Together(
            self.pairs.restrict(columns), {new: self.joints[old].marginal(new) for old, new in kept.items()}
        )

    def to_parts(self) -> tuple[dict[str, Any], list[npt.NDArray[Any]]]:
        """(header, arrays) of what was counted; nothing where nothing was."""
        if not self.pairs.columns and not self.joints:
            return {}, []
        header = {"pairs": list(self.pairs.columns), "joints": [list(names) for names in self.joints]}
        parts = [part for joint in self.joints.values() for part in (joint.cells, joint.counts)]
        return header, [self.pairs.counts, *parts]

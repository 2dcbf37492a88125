"""Counts of a child's values in every combination of its parents' values by class: what a network's tables need.

Dense, unlike joints, for a table of a network has a row for each context, seen or not. A row with a missing cell is
left out of the tables that need the cell, and of no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bayeskit.errors import BadFile, NotLearnt
from bayeskit.memory import Need
from bayeskit.remedy import Remedy
from bayeskit.tally.plan import Request
from bayeskit.tally.space import Recoding, Space, counts_agree, taken, without
from bayeskit.tally.statistic import Parts, Statistic, register
from bayeskit.tolerance import ROUNDING
from bayeskit.typing import Array, Bools, Counts

if TYPE_CHECKING:
    from bayeskit.tally.block_counts import BlockCounts
    from bayeskit.tally.tally import Tally

LARGEST = 2**32 - 1  # cells, which are numbered in 32 bits
FEWER = ("Give the child fewer parents, or the parents fewer values; or raise ", Remedy("memory_limit"), ".")


@register
@dataclass(frozen=True, eq=False)
class Contexts(Statistic):
    """Counts (classes, values of each parent …, values of the child) of each set (parents …, child) of columns."""

    kind = "contexts"
    sets = True
    tables: Mapping[tuple[str, ...], Counts]

    @property
    def request(self) -> Request:
        """What asks for this."""
        return Request(self.kind, tuple(self.tables))

    @classmethod
    def needs(cls, request: Request, space: Space) -> Need | None:
        """All tables: two of each stand there while a block is added, and a third that is turned into probabilities."""
        sizes = {names: prod(space.slots[name] for name in names) for names in request.columns}
        largest = max(sizes, key=sizes.__getitem__)
        parents = f" given its {len(largest) - 1} parents ({', '.join(largest[:-1][:4])})" if len(largest) > 1 else ""
        what = f"counting {len(sizes)} tables, the largest that of {largest[-1]!r}{parents},"
        n_bytes = 24.0 * space.n_classes * sum(sizes.values())
        return Need(what, np.inf if sizes[largest] > LARGEST else n_bytes, FEWER)

    @classmethod
    def empty(cls, request: Request, space: Space) -> Self:
        """Nothing counted."""
        shapes = {names: (space.n_classes, *(space.slots[n] - 1 for n in names)) for names in request.columns}
        return cls({names: np.zeros(shape, space.dtype) for names, shape in shapes.items()})

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """The slots of all columns of a set are one number, in mixed radix; slot 0 of each is dropped."""
        tables = {}
        for names in request.columns:
            sizes = [counter.space.slots[name] for name in names]
            cells = np.zeros(counter.block.n_rows, dtype=np.uint32)
            for name, size in zip(names, sizes, strict=True):
                cells *= np.uint32(size)
                cells += counter.block.codes[name]
            table = counter.by_class([cells], [prod(sizes)])[0].reshape(-1, *sizes)
            tables[names] = np.ascontiguousarray(table[(slice(None), *[slice(1, None)] * len(sizes))])
        return cls(tables)

    def recode(self, recoding: Recoding) -> Self:
        """The same counts under other classes and values."""
        tables = {}
        for names, table in self.tables.items():
            for axis, name in enumerate(names):
                slots = recoding.slots[name][1:]
                table = taken(table, np.where(slots < 0, -1, slots - 1), axis + 1)
            tables[names] = taken(table, recoding.classes, 0)
        return type(self)(tables)

    def plus(self, other: Self) -> Self:
        """All rows of both sides."""
        return type(self)({names: table + other.tables[names] for names, table in self.tables.items()})

    def minus(self, other: Self, space: Space, tolerance: float) -> Self:
        """Refuses a value in a context in which it was not counted so often."""
        left = {}
        for names, table in self.tables.items():
            left[names] = without(table, other.tables[names], tolerance)
            if (left[names] < 0).any():
                raise NotLearnt(
                    f"the table of {names[-1]!r} would count {_cell(space, names, left[names])} less often than "
                    "never; these rows were not all learnt, and nothing was changed"
                )
        return type(self)(left)

    def as_float(self) -> Self:
        """The same as sums of weights."""
        return type(self)({names: table.astype(np.float64) for names, table in self.tables.items()})

    def agrees(self, other: Self) -> bool:
        """Whole counts to the bit, weights to 1e-12 of their total."""
        return self.request.is_for(other.request) and all(
            counts_agree(table, other.tables[names], float(table.sum())) for names, table in self.tables.items()
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Contexts)
            and self.tables.keys() == other.tables.keys()
            and all(np.array_equal(table, other.tables[names]) for names, table in self.tables.items())
        )

    __hash__ = None  # type: ignore[assignment]

    def seen(self, column: str) -> Bools | None:
        """The values that a row shows in some table."""
        seen: Bools | None = None
        for names, table in self.tables.items():
            if column in names:
                others = tuple(axis for axis in range(table.ndim) if axis != names.index(column) + 1)
                mask = np.asarray(table.any(axis=others))
                seen = mask if seen is None else seen | mask
        return seen

    def restrict(self, names: Sequence[str]) -> Self | None:
        """The tables of children whose parents all stay."""
        tables = {columns: table for columns, table in self.tables.items() if set(columns) <= set(names)}
        return type(self)(tables) if tables else None

    def to_parts(self) -> Parts:
        """A table a child."""
        return {}, list(self.tables.values())

    @classmethod
    def from_parts(cls, request: Request, header: Any, arrays: list[Array], space: Space) -> Self:
        """Tables of the sizes of their values, none negative."""
        if len(arrays) != len(request.columns) or not set(request.names) <= space.slots.keys():
            raise BadFile("the tables of contexts do not fit the header")
        for names, table in zip(request.columns, arrays, strict=True):
            shape = (space.n_classes, *(space.slots[name] - 1 for name in names))
            if len(set(names)) < len(names) or table.shape != shape:
                raise BadFile("the tables of contexts do not fit their values")
            if table.dtype != space.dtype or table.min(initial=0) < 0:
                raise BadFile("the tally holds counts that are negative or no numbers")
        return cls(dict(zip(request.columns, arrays, strict=True)))

    def check(self, tally: Tally) -> None:
        """No table has more rows of a class than there are."""
        for table in self.tables.values():
            rows = table.sum(axis=tuple(range(1, table.ndim)), dtype=np.float64)
            if (rows > tally.class_counts * (1 + ROUNDING)).any():
                raise BadFile("the tables of contexts have more rows than the classes")


def _cell(space: Space, names: tuple[str, ...], left: Counts) -> str:
    at = np.argwhere(left < 0)[0][1:]
    return ", ".join(f"{name} = {space.values[name][i]}" for name, i in zip(names, at, strict=True))

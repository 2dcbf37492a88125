"""Count a child's values by class and combination of its parents' values, for conditional probability tables.

Dense, unlike joints, for a table of a network has a row for each context, seen or not. A row with a missing cell is
left out of the tables that need the cell, and of no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Self

import numpy as np

from bayeskit.errors import NotLearned
from bayeskit.memory import Need
from bayeskit.tally.plan import Recoding, Request, Space, check_file
from bayeskit.tally.statistic import ArrayStatistic, BlockCounts, register
from bayeskit.typing import Array, Bools, Counts

LARGEST = 2**32 - 1  # cells, which are numbered in 32 bits
FEWER = "Give the child fewer parents, or the parents fewer values; or raise memory_limit=."


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
        return Need(what, np.inf if sizes[largest] > LARGEST else n_bytes, FEWER)

    @classmethod
    def shape(cls, key: tuple[str, ...], space: Space) -> tuple[int, ...]:
        """Return one axis for the values of each column."""
        known = set(key) <= space.slots.keys() and len(set(key)) == len(key)
        check_file(known, "the tables of contexts do not fit the header")
        return tuple(space.slots[name] - 1 for name in key)

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Count slots of all columns of a set as one mixed-radix number, dropping slot 0 of each."""
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

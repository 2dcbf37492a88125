"""Sample rows by their content: the distinct rows with the smallest hashes, the same in any order and any parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bayeskit.data.block import Block
from bayeskit.data.cells import raise_unusable
from bayeskit.errors import BayesError
from bayeskit.tally.plan import Request, Space, check_file
from bayeskit.tally.row_hash import Hashes
from bayeskit.tally.rows import RowBatch, StoredRows
from bayeskit.tally.statistic import BlockCounts, Parts, Statistic, register
from bayeskit.tolerance import ROUNDING
from bayeskit.typing import Array, Counts, Floats

HASH = "\0"  # the cells that hold the hash of each row
MARGINS = (1.25, 4)  # hashes that are looked at for each row of the sample; more where rows have copies


@register
@dataclass(frozen=True, eq=False)
class SampledRows(StoredRows):
    """At most ``n_rows`` distinct rows, by rising hash; the weight of a row is that of all its copies.

    ``positive`` are the columns in which no row, in the sample or not, has a number below or at zero.
    """

    kind = "sample"
    local_only = False
    n_rows: int
    positive: frozenset[str]

    @property
    def request(self) -> Request:
        """Return the request: the columns and the number of rows."""
        return Request(self.kind, self.columns, {"n_rows": self.n_rows})

    @classmethod
    def empty(cls, request: Request, space: Space) -> Self:
        """Return no rows."""
        cells: dict[str, Any] = {n: np.zeros(0, np.uint8 if n in space.slots else np.float64) for n in request.columns}
        cells[HASH] = np.zeros(0, np.uint64)
        nothing = RowBatch(cells, np.zeros(0, np.uint32), None)
        return cls(request.columns, (nothing,), request.options["n_rows"], frozenset(request.columns))

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Return the distinct rows of a block with the smallest hashes."""
        most, block = request.options["n_rows"], _with_one_label(counter.block)
        hashes = counter.hasher.rows(block, counter.space, counter.n_threads)
        if block.weights is not None:
            heavy = np.flatnonzero(block.weights > 0)
            block, hashes = block.take(heavy), hashes[heavy]
        chosen = _smallest(hashes, most)
        rows = block.take(chosen)
        try:
            raise_unusable(rows.floats, block.start)
        except BayesError:
            raise_unusable(counter.block.floats, block.start)  # names the row
        cells: dict[str, Any] = {**rows.floats, **rows.codes}
        cells = {name: cells[name] for name in request.columns}
        positive = frozenset(n for n in cells if n in rows.floats and _is_positive(cells[n], block.floats[n]))
        cells[HASH] = hashes[chosen]
        assert rows.labels is not None
        batch = RowBatch(cells, rows.labels.astype(np.uint32), rows.weights)
        return cls(request.columns, (_distinct(batch, most),), most, positive)

    def plus(self, other: Self) -> Self:
        """Return the rows of both sides with the smallest hashes."""
        sides = (self.all_rows, other.all_rows)
        cells = {name: np.concatenate([side.cells[name] for side in sides]) for name in (*self.columns, HASH)}
        weighted = any(side.weights is not None for side in sides)
        weights = np.concatenate([side.unit for side in sides]) if weighted else None
        both = RowBatch(cells, np.concatenate([side.labels for side in sides]), weights)
        return replace(self, batches=(_distinct(both, self.n_rows),), positive=self.positive & other.positive)

    def select(self, columns: tuple[str, ...]) -> Self:
        """Return the rows with these columns."""
        rows = self.all_rows
        cells = {name: rows.cells[name] for name in (*columns, HASH)}
        return replace(
            self, columns=columns, batches=(rows._replace(cells=cells),), positive=self.positive & {*columns}
        )

    def to_parts(self) -> Parts:
        """Return labels, weights, the cells of each column and the hashes."""
        _, arrays = super().to_parts()
        return {"positive": sorted(self.positive)}, [*arrays, self.all_rows.cells[HASH].view(np.int64)]

    @classmethod
    def from_parts(cls, request: Request, header: Any, arrays: list[Array], space: Space) -> Self:
        """Read rows and hashes; check their ranges."""
        most: Any = request.options.get("n_rows")
        check_file(type(most) is int and most > 0 and len(arrays) > 2, "the sample of rows does not fit its columns")
        *arrays, hashes = arrays
        fits = hashes.dtype == np.int64 and hashes.shape == arrays[0].shape and len(hashes) <= most
        check_file(fits, "the sample has not one hash for each row")
        positive: Any = header.get("positive") if isinstance(header, dict) else None
        fits = isinstance(positive, list) and {*positive} <= {*request.columns}
        check_file(fits, "the sample names positive columns that it does not have")
        rows = StoredRows.from_parts(request, header, arrays, space).all_rows
        cells = {**rows.cells, HASH: hashes.view(np.uint64)}
        return cls(request.columns, (rows._replace(cells=cells),), most, frozenset(positive))

    def check(self, space: Space, class_counts: Counts, others: Mapping[str, Statistic]) -> None:
        """Check that no class has more rows in the sample than in all."""
        rows = self.all_rows
        sampled = np.bincount(rows.labels, rows.unit, space.n_classes)
        check_file((sampled <= class_counts * (1 + ROUNDING)).all(), "the sample has more rows than were counted")


def _smallest(hashes: Hashes, most: int) -> Array:
    """Return the rows with the ``most`` smallest distinct hashes, by rising hash, with all their copies."""
    for margin in MARGINS:
        if margin * most < len(hashes):
            near = np.flatnonzero(hashes < np.uint64(int(margin * most / len(hashes) * 2**64)))
            chosen, n_distinct = _lowest(hashes[near], most)
            if n_distinct == most:
                return near[chosen]
    return _lowest(hashes, most)[0]


def _lowest(hashes: Hashes, most: int) -> tuple[Array, int]:
    """Return the places of the ``most`` smallest distinct hashes with all their copies, and how many are distinct."""
    order = np.argsort(hashes, kind="stable")
    first = np.flatnonzero(np.diff(hashes[order], prepend=~hashes[order[:1]]))  # of the copies of each
    return (order[: first[most]], most) if len(first) > most else (order, len(first))


def _is_positive(sampled: Floats, numbers: Floats) -> bool:
    """Return True if no number is below or at zero; few columns that have such numbers have none in the sample."""
    return not (sampled <= 0).any() and not (numbers <= 0).any()


def _distinct(rows: RowBatch, most: int) -> RowBatch:
    """Return one row for each of the ``most`` smallest hashes, with the weight of all its copies."""
    _, first, which = np.unique(rows.cells[HASH], return_index=True, return_inverse=True)
    kept = rows.take(first[:most])
    if rows.weights is None and len(first) == len(which):
        return kept
    return kept._replace(weights=np.bincount(which, rows.unit, len(first))[:most].astype(np.float64))


def _with_one_label(block: Block) -> Block:
    """Return rows with class probabilities once for each of their classes, with the probability as weight."""
    if block.responsibilities is None:
        return block
    rows, codes = np.nonzero(block.responsibilities)
    weights = block.responsibilities[rows, codes]
    return replace(block.take(rows), labels=codes.astype(np.uint32), weights=weights, responsibilities=None)

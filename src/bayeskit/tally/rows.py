"""Store the rows themselves as an additive multiset, for models whose counts would need more memory.

Marked as local: rows stay on the machine that reads them, and engines that count elsewhere refuse them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from bayeskit.data.numbers import LARGEST, raise_unusable
from bayeskit.errors import BadFile, BayesError, NotLearnt
from bayeskit.memory import Need
from bayeskit.tally.families import Families
from bayeskit.tally.plan import Request
from bayeskit.tally.space import Recoding, Space
from bayeskit.tally.statistic import Parts, Statistic, register
from bayeskit.tolerance import ROUNDING, SAME_WEIGHT
from bayeskit.typing import Array, Bools, Counts, Floats, Ints

if TYPE_CHECKING:
    from bayeskit.tally.block_counts import BlockCounts
    from bayeskit.tally.tally import Tally

SAMPLE = "learn from a sample of the rows, or use NaiveBayes, which counts row by row."
FEWER = f"Raise it, {SAMPLE}"


class Part(NamedTuple):
    """A set of rows: slots or floats by column, class codes, and optional weights."""

    cells: Mapping[str, Array]
    labels: Array
    weights: Floats | None

    @property
    def unit(self) -> Floats:
        """Return the weight of each row."""
        return np.ones(len(self.labels)) if self.weights is None else self.weights

    def take(self, rows: Array | slice) -> Part:
        """Return the rows at these indices."""
        cells = {name: column[rows] for name, column in self.cells.items()}
        return Part(cells, self.labels[rows], None if self.weights is None else self.weights[rows])


@register
@dataclass(frozen=True, eq=False)
class Rows(Statistic):
    """Rows in order of arrival, in parts that are concatenated on first use."""

    kind = "rows"
    may_hold_nan = True
    local_only = True
    columns: tuple[str, ...]
    parts: tuple[Part, ...]

    @property
    def request(self) -> Request:
        """Return the request that this statistic answers."""
        return Request(self.kind, self.columns)

    @cached_property
    def whole(self) -> Part:
        """Return all rows."""
        if len(self.parts) == 1:
            return self.parts[0]
        cells = {name: np.concatenate([part.cells[name] for part in self.parts]) for name in self.columns}
        labels = np.concatenate([part.labels for part in self.parts])
        weighted = any(part.weights is not None for part in self.parts)
        return Part(cells, labels, np.concatenate([part.unit for part in self.parts]) if weighted else None)

    @classmethod
    def empty(cls, request: Request, space: Space) -> Self:
        """Return no rows."""
        kinds = {name: np.uint8 if name in space.slots else np.float64 for name in request.columns}
        cells = {name: np.zeros(0, dtype) for name, dtype in kinds.items()}
        return cls(request.columns, (Part(cells, np.zeros(0, np.uint32), None),))

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Return the rows of a block with positive weight."""
        block = counter.block
        if block.responsibilities is not None:
            raise BayesError("one label a row is needed here, not responsibilities")
        raise_unusable(block.floats, block.start)
        cells = {n: block.codes[n] if n in block.codes else block.floats[n] for n in request.columns}
        part = Part(cells, counter.labels.astype(np.uint32), block.weights)
        return cls(request.columns, (part if part.weights is None else part.take(part.weights > 0),))

    def memory_used(self) -> Need | None:
        """Return eight bytes per cell."""
        n_rows = sum(len(part.labels) for part in self.parts)
        what = f"the first {n_rows:,} rows × {len(self.columns):,} columns"
        return Need(what, 8.0 * n_rows * len(self.columns), FEWER)

    def recode(self, recoding: Recoding) -> Self:
        """Return the rows in other codes, dropping rows of removed classes."""
        new_slots = {name: _new_codes(recoding.slots[name]) for name in self.columns if name in recoding.slots}
        new_labels = _new_codes(recoding.classes)
        parts = []
        for part in self.parts:
            there = np.isin(part.labels, recoding.classes)
            rows = part if there.all() else part.take(there)
            cells = {n: _moved(c, new_slots[n]) if n in new_slots else c for n, c in rows.cells.items()}
            parts.append(Part(cells, _moved(rows.labels, new_labels), rows.weights))
        return type(self)(self.columns, tuple(parts))

    def plus(self, other: Self) -> Self:
        """Concatenate the rows of both sides."""
        return type(self)(self.columns, (*self.parts, *other.parts))

    def minus(self, other: Self, space: Space, tolerance: float) -> Self:
        """Remove rows; raise an error for one that is not there as often. Of equal unweighted rows the last stay."""
        ours, theirs = self.whole, other.whole
        mine, gone = _bits(ours, self.columns), _bits(theirs, self.columns)
        maybe = np.flatnonzero(np.isin(_hashes(mine), _hashes(gone)))  # few rows go: only these are compared by cell
        group = np.unique(np.concatenate([mine[maybe], gone]), axis=0, return_inverse=True)[1].ravel()
        have, less = group[: len(maybe)], group[len(maybe) :]
        n_groups, weights = int(group.max(initial=-1)) + 1, ours.unit.copy()
        left = np.bincount(have, weights[maybe], n_groups) - np.bincount(less, theirs.unit, n_groups)
        left[np.abs(left) <= tolerance] = 0
        if (left < 0).any():
            row = int(np.flatnonzero(left[less] < 0)[0])
            raise NotLearnt(f"row {row} of those to forget was not learnt, or not as often; nothing was changed")
        stays = np.ones(len(weights), dtype=bool)
        if ours.weights is None and theirs.weights is None:
            order = np.argsort(have, kind="stable")
            rank = np.arange(len(have)) - np.searchsorted(have[order], have[order])
            stays[maybe[order]] = rank >= np.bincount(less, minlength=n_groups)[have[order]]
            return type(self)(self.columns, (ours.take(stays),))
        first = np.full(n_groups, -1)
        first[have[::-1]] = maybe[::-1]
        stays[maybe[np.isin(have, less)]] = False
        there = np.unique(less)
        stays[first[there]], weights[first[there]] = left[there] > 0, left[there]
        return type(self)(self.columns, (Part(ours.cells, ours.labels, weights).take(stays),))

    def as_float(self) -> Self:
        """Return the rows unchanged."""
        return self

    def __eq__(self, other: object) -> bool:
        """Compare rows in any order, with weights to 1e-12 of their total."""
        if not isinstance(other, Rows) or self.columns != other.columns:
            return False
        sides = [_bits(side.whole, self.columns) for side in (self, other)]
        distinct, which = np.unique(np.concatenate(sides), axis=0, return_inverse=True)
        ours, theirs = np.split(which.ravel(), [len(sides[0])])
        sums = [np.bincount(at, s.whole.unit, len(distinct)) for at, s in ((ours, self), (theirs, other))]
        return bool((np.abs(sums[0] - sums[1]) <= SAME_WEIGHT * max(float(sums[0].sum()), 1.0)).all())

    def occurring_values(self, column: str) -> Bools | None:
        """Return the values that occur in some row."""
        coded = [part.cells[column] for part in self.parts if column in part.cells]
        if not coded or coded[0].dtype.kind == "f":
            return None
        size = max(int(cells.max(initial=0)) for cells in coded) + 1
        counts = sum(np.bincount(cells, minlength=size) for cells in coded)
        return np.asarray(np.asarray(counts)[1:] > 0)

    def restrict(self, names: Sequence[str]) -> Self | None:
        """Restrict to these columns."""
        columns = tuple(name for name in self.columns if name in names)
        parts = (Part({name: part.cells[name] for name in columns}, part.labels, part.weights) for part in self.parts)
        return type(self)(columns, tuple(parts)) if columns else None

    def to_parts(self) -> Parts:
        """Return labels, weights (none if all are one) and the cells of each column."""
        rows = self.whole
        weights = np.zeros(0) if rows.weights is None else rows.weights
        cells = (rows.cells[name] for name in self.columns)
        columns = [cell if cell.dtype.kind == "f" else cell.astype(np.uint32) for cell in cells]
        return {}, [rows.labels.astype(np.uint32), weights, *columns]

    @classmethod
    def from_parts(cls, request: Request, header: Any, arrays: list[Array], space: Space) -> Self:
        """Read cells, labels and weights; check their ranges."""
        if len(arrays) != 2 + len(request.columns):
            raise BadFile("the rows do not fit their columns")
        labels, weights, *columns = arrays
        n_rows = len(labels)
        fits = labels.dtype == np.uint32 and labels.shape == (n_rows,) and (labels < space.n_classes).all()
        if not fits or weights.dtype != np.float64 or weights.shape not in ((n_rows,), (0,)):
            raise BadFile("the labels and weights of the rows do not fit the classes")
        if not (np.isfinite(weights).all() and (weights > 0).all()):
            raise BadFile("the weights of the rows are no weights")
        cells = {}
        for name, column in zip(request.columns, columns, strict=True):
            coded = name in space.slots
            if column.shape != (n_rows,) or column.dtype != (np.uint32 if coded else np.float64):
                raise BadFile(f"the rows have no column {name!r} of the right kind")
            within = (column < space.slots[name]).all() if coded else not (np.abs(column) > LARGEST).any()
            if not within:
                raise BadFile(f"the rows have cells of column {name!r} that cannot be")
            cells[name] = column.astype(np.min_scalar_type(space.slots[name])) if coded else column
        return cls(request.columns, (Part(cells, labels, weights if len(weights) else None),))

    def check(self, tally: Tally) -> None:
        """Check that every count table equals the counts of the rows."""
        rows, n_classes = self.whole, len(tally.classes)
        by = None if rows.weights is None else rows.weights
        _check_close(np.bincount(rows.labels, by, n_classes), tally.class_counts)
        families = tally.statistics.get(Families.kind)
        tables: Mapping[str, Counts] = families.tables if isinstance(families, Families) else {}
        for name, table in tables.items():
            if name in rows.cells:
                cells = rows.labels.astype(np.int64) * table.shape[1] + rows.cells[name]
                _check_close(np.bincount(cells, by, table.size).reshape(table.shape), table)


def _new_codes(old_codes: Ints) -> Ints | None:
    """Return the new code of each old one; None if the codes do not change."""
    known = old_codes >= 0
    n_known = int(known.sum())
    if known[:n_known].all() and (old_codes[:n_known] == np.arange(n_known)).all():
        return None
    new = np.zeros(int(old_codes.max(initial=0)) + 1, dtype=np.int64)
    new[old_codes[known]] = np.flatnonzero(known)
    return new


def _moved(codes: Array, new: Ints | None) -> Array:
    if new is None or not len(codes):
        return codes
    return new[codes].astype(np.min_scalar_type(int(new.max(initial=0))) if codes.dtype != np.uint32 else np.uint32)


def _bits(rows: Part, columns: Sequence[str]) -> npt.NDArray[np.uint64]:
    """Return bit patterns of shape (n_rows, n_columns + 1) that are equal for equal cells, including ±0 and NaN."""
    bits = np.empty((len(rows.labels), len(columns) + 1), dtype=np.uint64)
    for i, name in enumerate(columns):
        column = rows.cells[name]
        if column.dtype.kind == "f":
            bits[:, i] = np.where(np.isnan(column), np.nan, column + 0.0).view(np.uint64)
        else:
            bits[:, i] = column
    bits[:, -1] = rows.labels
    return bits


def _hashes(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    hashes = np.zeros(len(bits), dtype=np.uint64)
    for column in bits.T:
        hashes = (hashes ^ column) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(29)
    return hashes


def _check_close(ours: Counts, theirs: Counts) -> None:
    if ours.shape != theirs.shape or not np.allclose(ours, theirs, rtol=ROUNDING, atol=ROUNDING):
        raise BadFile("the rows are not those that were counted")

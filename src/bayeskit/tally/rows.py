"""Store rows or documents as an additive multiset, for models that need them again.

Marked as local: rows stay on the machine that reads them, and engines that count elsewhere refuse them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from bayeskit.data.cells import LARGEST, raise_unusable
from bayeskit.data.text.documents import Documents
from bayeskit.data.text.word_list import unpack_words
from bayeskit.errors import BayesError, NotLearned
from bayeskit.memory import Need
from bayeskit.tally.counts import Families
from bayeskit.tally.plan import Recoding, Request, Space, check_file, is_identity, new_codes
from bayeskit.tally.statistic import BlockCounts, ColumnStatistic, Parts, Statistic, register
from bayeskit.tolerance import ROUNDING, SAME_WEIGHT
from bayeskit.typing import Array, Bools, Counts, Floats, Ints

SAMPLE = "learn from a sample of the rows, or use NaiveBayes, which counts row by row."
FEWER = f"Raise it, {SAMPLE}"
# Arrays of a column of documents in a file.
OF_DOCUMENTS = 3


class RowBatch(NamedTuple):
    """A set of rows: slots, floats or documents by column, class codes, and optional weights."""

    cells: Mapping[str, Any]
    labels: Array
    weights: Floats | None

    @property
    def unit(self) -> Floats:
        """Return the weight of each row."""
        return np.ones(len(self.labels)) if self.weights is None else self.weights

    def take(self, rows: Any) -> RowBatch:
        """Return the rows at these indices."""
        cells = {n: c.take(rows) if isinstance(c, Documents) else c[rows] for n, c in self.cells.items()}
        return RowBatch(cells, self.labels[rows], None if self.weights is None else self.weights[rows])


@register
@dataclass(frozen=True, eq=False)
class StoredRows(ColumnStatistic):
    """Rows in order of arrival, in batches that are concatenated on first use."""

    kind = "rows"
    may_hold_nan = True
    local_only = True
    noun: ClassVar[str] = "row"  # in messages
    batches: tuple[RowBatch, ...]

    @cached_property
    def all_rows(self) -> RowBatch:
        """Return all rows."""
        if len(self.batches) == 1:
            return self.batches[0]
        cells = {name: _concatenate([batch.cells[name] for batch in self.batches]) for name in self.columns}
        labels = np.concatenate([batch.labels for batch in self.batches])
        weighted = any(batch.weights is not None for batch in self.batches)
        return RowBatch(cells, labels, np.concatenate([batch.unit for batch in self.batches]) if weighted else None)

    @classmethod
    def empty(cls, request: Request, space: Space) -> Self:
        """Return no rows."""
        cells: dict[str, Any] = {n: np.zeros(0, np.uint8 if n in space.slots else np.float64) for n in request.columns}
        cells |= {name: Documents.of([]) for name in request.columns if name in space.schema.texts}
        return cls(request.columns, (RowBatch(cells, np.zeros(0, np.uint32), None),))

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Return the rows of a block with positive weight."""
        block = counter.block
        if block.responsibilities is not None:
            raise BayesError(f"one label per {cls.noun} is needed here, not class probabilities")
        raise_unusable(block.floats, block.start)
        present: dict[str, Any] = {**block.floats, **block.texts, **block.codes}
        cells = {name: present[name] for name in request.columns}
        part = RowBatch(cells, counter.labels.astype(np.uint32), block.weights)
        return cls(request.columns, (part if part.weights is None else part.take(part.weights > 0),))

    def memory_used(self) -> Need | None:
        """Return eight bytes per cell."""
        n_rows = sum(len(batch.labels) for batch in self.batches)
        what = f"the first {n_rows:,} rows × {len(self.columns):,} columns"
        return Need(what, 8.0 * n_rows * len(self.columns), FEWER)

    def recode(self, recoding: Recoding) -> Self:
        """Return the rows in other codes, dropping rows of removed classes."""
        slots, batches = recoding.slots, []
        for batch in self.batches:
            there = np.isin(batch.labels, recoding.classes)
            rows = batch if there.all() else batch.take(there)
            cells = {n: _recode(codes, slots[n]) if n in slots else codes for n, codes in rows.cells.items()}
            batches.append(RowBatch(cells, _recode(rows.labels, recoding.classes), rows.weights))
        return replace(self, batches=tuple(batches))

    def plus(self, other: Self) -> Self:
        """Concatenate the rows of both sides."""
        return replace(self, batches=(*self.batches, *other.batches))

    def minus(self, other: Self, space: Space, tolerance: float) -> Self:
        """Remove rows; raise an error for one that is not there as often. Of equal rows the first stay."""
        ours, theirs = self.all_rows, other.all_rows
        mine, gone = _bits((ours, theirs), self.columns)
        maybe = np.flatnonzero(np.isin(_hashes(mine), _hashes(gone)))  # few rows go: only these are compared by cell
        group = np.unique(np.concatenate([mine[maybe], gone]), axis=0, return_inverse=True)[1].ravel()
        have, less = group[: len(maybe)], group[len(maybe) :]
        n_groups, weights = int(group.max(initial=-1)) + 1, ours.unit.copy()
        left = np.bincount(have, weights[maybe], n_groups) - np.bincount(less, theirs.unit, n_groups)
        left[np.abs(left) <= tolerance] = 0
        if (left < 0).any():
            row = int(np.flatnonzero(left[less] < 0)[0])
            what = f"{self.noun} {row} of those to forget"
            raise NotLearned(f"{what} was not learned, or not as often; nothing was changed")
        order = np.argsort(have, kind="stable")
        order = order[np.isin(have[order], less)]
        rows, groups = maybe[order], have[order]
        before = np.cumsum(weights[rows]) - weights[rows]  # of the copies ahead of a row
        before -= before[np.searchsorted(groups, groups)]
        keeps = np.clip(left[groups] - before, 0.0, weights[rows])
        weights[rows] = np.where(weights[rows] - keeps <= tolerance, weights[rows], keeps)
        stays = np.ones(len(weights), dtype=bool)
        stays[rows] = keeps > tolerance
        unweighted = ours.weights is None and theirs.weights is None
        return replace(self, batches=(ours._replace(weights=None if unweighted else weights).take(stays),))

    def __eq__(self, other: object) -> bool:
        """Compare rows in any order, with weights to 1e-12 of their total."""
        if not isinstance(other, StoredRows) or self.request != other.request:
            return False
        sides = _bits((self.all_rows, other.all_rows), self.columns)
        distinct, which = np.unique(np.concatenate(sides), axis=0, return_inverse=True)
        ours, theirs = np.split(which.ravel(), [len(sides[0])])
        sums = [np.bincount(at, s.all_rows.unit, len(distinct)) for at, s in ((ours, self), (theirs, other))]
        return bool((np.abs(sums[0] - sums[1]) <= SAME_WEIGHT * max(float(sums[0].sum()), 1.0)).all())

    def occurring_values(self, column: str) -> Bools | None:
        """Return the values that occur in some row."""
        coded = [batch.cells[column] for batch in self.batches if column in batch.cells]
        if not coded or isinstance(coded[0], Documents) or coded[0].dtype.kind == "f":
            return None
        size = max(int(cells.max(initial=0)) for cells in coded) + 1
        counts = sum(np.bincount(cells, minlength=size) for cells in coded)
        return np.asarray(np.asarray(counts)[1:] > 0)

    def select(self, columns: tuple[str, ...]) -> Self:
        """Return the rows with these columns."""
        batches = (batch._replace(cells={name: batch.cells[name] for name in columns}) for batch in self.batches)
        return type(self)(columns, tuple(batches))

    def to_parts(self) -> Parts:
        """Return labels, weights (none if all are one) and the cells of each column."""
        rows = self.all_rows
        arrays: list[Array] = [rows.labels.astype(np.uint32), np.zeros(0) if rows.weights is None else rows.weights]
        for cells in (rows.cells[name] for name in self.columns):
            if isinstance(cells, Documents):
                arrays += _document_arrays(cells)
            else:
                arrays.append(cells if cells.dtype.kind == "f" else cells.astype(np.uint32))
        return {}, arrays

    @classmethod
    def from_parts(cls, request: Request, header: Any, arrays: list[Array], space: Space) -> Self:
        """Read cells, labels and weights; check their ranges."""
        texts = space.schema.texts
        sizes = [OF_DOCUMENTS if name in texts else 1 for name in request.columns]
        check_file(len(arrays) == 2 + sum(sizes), "the rows do not fit their columns")
        labels, weights, *columns = arrays
        n_rows, cells = len(labels), dict[str, Any]()
        cls._check_labels(labels, weights, space)
        for name, size in zip(request.columns, sizes, strict=True):
            some, columns = columns[:size], columns[size:]
            if name in texts:
                cells[name] = _documents_from(some, n_rows)
                continue
            column = some[0]
            coded = name in space.slots
            fits = column.shape == (n_rows,) and column.dtype == (np.uint32 if coded else np.float64)
            check_file(fits, f"the rows have no column {name!r} of the right kind")
            within = (column < space.slots[name]).all() if coded else not (np.abs(column) > LARGEST).any()
            check_file(within, f"the rows have cells of column {name!r} that cannot be")
            cells[name] = column.astype(np.min_scalar_type(space.slots[name])) if coded else column
        return cls(request.columns, (RowBatch(cells, labels, weights if len(weights) else None),))

    @classmethod
    def _check_labels(cls, labels: Array, weights: Array, space: Space) -> None:
        """Check class codes and weights that were read from a file."""
        n_rows = len(labels)
        fits = labels.dtype == np.uint32 and labels.shape == (n_rows,) and bool((labels < space.n_classes).all())
        fits = fits and weights.dtype == np.float64 and weights.shape in ((n_rows,), (0,))
        fits = fits and bool(np.isfinite(weights).all() and (weights > 0).all())
        check_file(fits, f"the labels and weights of the {cls.noun}s do not fit the classes")

    def check(self, space: Space, class_counts: Counts, others: Mapping[str, Statistic]) -> None:
        """Check that every count table equals the counts of the rows."""
        rows, by = self.all_rows, self.all_rows.weights
        _check_close(np.bincount(rows.labels, by, space.n_classes), class_counts)
        families = others.get(Families.kind)
        for name, table in families.tables.items() if isinstance(families, Families) else ():
            if name in rows.cells:
                cells = rows.labels.astype(np.int64) * table.shape[1] + rows.cells[name]
                _check_close(np.bincount(cells, by, table.size).reshape(table.shape), table)


@register
class StoredDocuments(StoredRows):
    """Documents of one text column in order of arrival, for models that fit again when some are forgotten."""

    kind = "documents"
    noun = "document"
    may_hold_nan = False

    def to_parts(self) -> Parts:
        """Return the texts, labels and weights (none if all are one)."""
        rows = self.all_rows
        texts, weights = rows.cells[self.columns[0]], np.zeros(0) if rows.weights is None else rows.weights
        return {}, [*_document_arrays(texts), rows.labels.astype(np.uint32), weights]

    @classmethod
    def from_parts(cls, request: Request, header: Any, arrays: list[Array], space: Space) -> Self:
        """Read texts, labels and weights; check their ranges."""
        fits = len(arrays) == OF_DOCUMENTS + 2 and len(request.columns) == 1
        check_file(fits, "the documents do not fit their column")
        *texts, labels, weights = arrays
        cells = {request.columns[0]: _documents_from(texts, len(labels))}
        cls._check_labels(labels, weights, space)
        return cls(request.columns, (RowBatch(cells, labels, weights if len(weights) else None),))


def _document_arrays(texts: Documents) -> list[Array]:
    """Return text, offsets and marks of missing documents for a file."""
    return [texts.data, texts.offsets, texts.missing.astype(np.uint8)]


def _documents_from(arrays: list[Array], n_rows: int) -> Documents:
    """Read documents from a file; check that their arrays fit together."""
    data, offsets, missing = arrays
    fits = data.dtype == missing.dtype == np.uint8 and offsets.dtype == np.int64
    fits = fits and data.ndim == 1 and offsets.shape == (n_rows + 1,) and missing.shape == (n_rows,)
    fits = fits and offsets[0] == 0 and offsets[-1] == len(data) and bool((np.diff(offsets) >= 0).all())
    check_file(fits and (missing < 2).all(), "the documents do not fit together")
    return Documents(data, offsets, missing.astype(bool))


def _concatenate(parts: list[Any]) -> Any:
    return Documents.concatenate(parts) if isinstance(parts[0], Documents) else np.concatenate(parts)


def _recode(codes: Array, old_codes: Ints) -> Array:
    """Return codes under a recoding, in the smallest dtype (labels stay uint32); the same array if none changes."""
    known = np.flatnonzero(old_codes >= 0)
    if not len(codes) or not len(known) or (known[-1] == len(known) - 1 and is_identity(old_codes[known], len(known))):
        return codes
    new = new_codes(old_codes, 0)
    return new[codes].astype(np.uint32 if codes.dtype == np.uint32 else np.min_scalar_type(int(new.max(initial=0))))


def _bits(sides: Sequence[RowBatch], columns: Sequence[str]) -> list[npt.NDArray[np.uint64]]:
    """Return the rows of each side as integers (n_rows, n_columns + 1), equal where cells and labels are equal."""
    known: dict[tuple[bytes, bool], int] = {}  # documents of all sides
    found = []
    for rows in sides:
        bits = np.empty((len(rows.labels), len(columns) + 1), dtype=np.uint64)
        for i, name in enumerate(columns):
            column = rows.cells[name]
            if isinstance(column, Documents):
                texts = zip(unpack_words(column.data, column.offsets), column.missing.tolist(), strict=True)
                bits[:, i] = [known.setdefault(text, len(known)) for text in texts]
            elif column.dtype.kind == "f":
                bits[:, i] = np.where(np.isnan(column), np.nan, column + 0.0).view(np.uint64)
            else:
                bits[:, i] = column
        bits[:, -1] = rows.labels
        found.append(bits)
    return found


def _hashes(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    hashes = np.zeros(len(bits), dtype=np.uint64)
    for column in bits.T:
        hashes = (hashes ^ column) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(29)
    return hashes


def _check_close(ours: Counts, theirs: Counts) -> None:
    same = ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=ROUNDING, atol=ROUNDING)
    check_file(same, "the rows are not those that were counted")

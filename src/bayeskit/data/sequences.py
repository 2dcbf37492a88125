"""Sequences read from lists, arrays, frames or files: their steps are the rows of a table.

Roles, codes, missing cells and statistics are therefore those of tables. Batches end where sequences end.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.arrow_arrays import Column, as_one_array, cut, is_arrow, plain_strings, take_cells
from bayeskit.data import frames
from bayeskit.data.block import Block
from bayeskit.data.cells import LARGEST, as_floats, factor_values, plain_array
from bayeskit.data.encoder import Encoder
from bayeskit.data.frames import arrow_kind, collected, columns_of, from_list, kind_of, label_column, open_source
from bayeskit.data.reader import Taken, concatenate, read_batch, read_block
from bayeskit.data.schema import Kind
from bayeskit.data.source import Batch, as_weights, is_source
from bayeskit.data.text.word_list import take_ranges
from bayeskit.data.vocabulary import Value, Vocabulary, canonical
from bayeskit.errors import BadFile, BayesError, SchemaMismatch, with_article
from bayeskit.lazy import pa, pc
from bayeskit.nearest import did_you_mean
from bayeskit.tables import ROWS, Grid, Readable, Sheet
from bayeskit.typing import Array, Floats, Ints

ALONE = "for one alone give a list of one: [sequence]"
STEPS = 10  # of a sequence that are shown


@dataclass(frozen=True, eq=False, repr=False)
class Sequences(Taken, Readable):
    """Sequences: sequence i has the steps ``starts[i]`` to ``starts[i + 1]`` of every column.

    It is a source of rows, so anything that reads tables can read it.

    >>> days = Sequences.of([["sun", "rain", None], [], ["sun"]])
    >>> days.starts.tolist(), days.kinds, len(days)
    ([0, 3, 3, 4], {'x0': 'string'}, 3)
    >>> walks = Sequences.of({"who": [1, 2, 1], "at": [9, 3, 4], "sky": ["sun", "hail", "rain"]}, sequence="who",
    ...                      order="at")
    >>> walks.starts.tolist(), walks.columns["sky"].to_pylist(), walks.ids
    ([0, 2, 3], ['rain', 'sun', 'hail'], (1, 2))
    >>> print(walks)
    2 sequences with 3 steps
    sequence  steps  sky
    1             2  rain, sun
    2             1  hail
    """

    columns: Mapping[str, Column]
    starts: Ints
    named: bool = True  # False where the columns had no names: then position decides
    labels: Column | None = None  # of every position; missing where a position has none
    target: str | None = None  # what the labels are called
    ids: tuple[Any, ...] | None = None  # of the sequences, where they came with some
    rows: Ints | None = None  # in which row of the table each position stood, where that is not its own number
    weights: Floats | None = None  # of the sequences

    @property
    def sheet(self) -> Sheet:
        """The number and the first of the steps of each sequence, as a table."""
        n = min(len(self), ROWS)
        starts = self.starts[: n + 1].tolist()
        cells = {name: cut(column, 0, starts[-1]) for name, column in self.columns.items()}
        listed = {name: (c.to_pylist() if is_arrow(c) else c.tolist()) for name, c in cells.items()}
        grid: dict[str, Sequence[Any]] = {
            "sequence": [str(one) for one in (self.ids or range(len(self)))[:n]],
            "steps": np.diff(starts).tolist(),
        }
        for name, values in listed.items():
            grid[f"{name} (column)" if name in grid else name] = [
                ", ".join(map(str, values[a : min(b, a + STEPS)])) + (", …" if b - a > STEPS else "")
                for a, b in pairwise(starts)
            ]
        title = f"{len(self):,} sequences with {int(self.starts[-1]):,} steps"
        return Sheet(title, (Grid(grid, more=len(self) - n),))

    @classmethod
    def of(
        cls,
        data: Any,
        lengths: Any = None,
        *,
        labels: Any = None,
        sequence: str | None = None,
        order: str | None = None,
        weights: Any = None,
    ) -> Sequences:
        """Read sequences.

        Parameters
        ----------
        data : sequences
            Lists of symbols, numbers, records or rows; Arrow lists; a frame or file with a ``sequence`` column; an
            array with ``lengths``, as in hmmlearn. An array, series, frame or plain list with neither is one sequence.
        lengths : array-like of int, optional
        labels : optional
            Labels of the steps in the same form, or the name of a column; missing where a step is unlabeled.
        sequence : str, optional
            Column with the sequence of each row.
        order : str, optional
            Column that orders the rows of a sequence.
        weights : array-like of shape (n_sequences,), optional

        Returns
        -------
        Sequences
        """
        if isinstance(data, Sequences):
            if lengths is not None or sequence is not None or order is not None:
                raise BayesError("these are sequences already: lengths, sequence and order go with other data")
            made = data
        else:
            target = labels if isinstance(labels, str) else None
            made = _read_sequences(data, lengths, sequence, order, target)
            check_numbers(made.columns, made.starts)
        if labels is not None and not isinstance(labels, str):
            made = replace(made, labels=align_labels(labels, made.starts))
        elif labels is not None and made.target != labels:
            raise BayesError("labels by the name of a column go with a frame or file, not with sequences in lists")
        return made if weights is None else replace(made, weights=as_weights(weights, len(made)))

    @classmethod
    def read(
        cls, data: Any, lengths: Any = None, labels: Any = None, sequence: str | None = None, order: str | None = None
    ) -> Sequences:
        """Read sequences for a model whose settings name the sequence and order columns of tables.

        Parameters
        ----------
        data : object
            Anything that :meth:`of` takes, or an opened source.
        lengths : array-like of int, default=None
            Steps of each sequence where they lie one after the other.
        labels : array-like, default=None
            A state for each step.
        sequence, order : str, default=None
            Columns that name the sequence of a row, and the order of its rows.

        Returns
        -------
        Sequences
        """
        if sequence is None or lengths is not None or isinstance(data, Sequences) or not is_table(data):
            return cls.of(data, lengths, labels=labels)
        return cls.of(data, labels=labels, sequence=sequence, order=order)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def n_rows(self) -> int:
        """Number of steps of all sequences."""
        return int(self.starts[-1])

    @property
    def lengths(self) -> Ints:
        """Number of steps of each sequence."""
        return np.diff(self.starts)

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        """Kind of each column."""
        return {name: kind_of(column) for name, column in self.columns.items()}

    def place(self, row: int) -> tuple[int, int]:
        """Return the sequence and the step of a row, both counted from 1.

        Parameters
        ----------
        row : int
            Position among the steps of all sequences, from 0.

        Returns
        -------
        (int, int)
        """
        i = int(np.searchsorted(self.starts, row, side="right")) - 1
        return i + 1, row - int(self.starts[i]) + 1

    def name(self, i: int) -> str:
        """Return the name of a sequence for messages: its id, or its number from 1.

        Parameters
        ----------
        i : int
            Position of the sequence, from 0.

        Returns
        -------
        str
        """
        return f"sequence {i + 1}" if self.ids is None else f"sequence {self.ids[i]!r}"

    # -- as a source ---------------------------------------------------------------------------------

    def batches(self) -> Iterator[Batch]:
        """Yield batches of whole sequences of about one block of rows.

        Yields
        ------
        Batch
        """
        for first, last in self.parts(frames.BLOCK):
            yield self._batch(first, last)

    def parts(self, size: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of sequences (first, last) of about ``size`` steps.

        Parameters
        ----------
        size : int
            Steps of a part, about.

        Yields
        ------
        (int, int)

        Examples
        --------
        >>> list(Sequences.of([[1, 2], [3], [4, 5, 6, 7], []]).parts(3))
        [(0, 2), (2, 4)]
        """
        first = 0
        while first < len(self):
            filled = int(np.searchsorted(self.starts, self.starts[first], side="right"))  # the first with a step, + 1
            limit = max(self.starts[first] + size, self.starts[min(filled, len(self))])
            last = int(np.searchsorted(self.starts, limit, side="right")) - 1
            yield first, last
            first = last

    def _batch(self, first: int, last: int) -> Batch:
        a, b = int(self.starts[first]), int(self.starts[last])
        return Batch(
            {name: cut(column, a, b) for name, column in self.columns.items()},
            b - a,
            a,
            None if self.labels is None else cut(self.labels, a, b),
            None if self.weights is None else np.repeat(self.weights[first:last], self.lengths[first:last]),
            self.starts[first : last + 1] - a,
        )

    def block(self, encoder: Encoder) -> Block:
        """Encode all steps as one block; also if there are none.

        Parameters
        ----------
        encoder : Encoder

        Returns
        -------
        Block
        """
        if self.n_rows:
            return read_block(encoder, self)
        schema = encoder.schema
        codes = {name: np.zeros(0, np.uint8) for name in schema.coded}
        floats = {name: np.zeros(0) for name in schema.measured}
        return Block(0, 0, codes, floats, sequence_starts=self.starts)

    # -- as sequences --------------------------------------------------------------------------------

    def take(self, index: Any) -> Sequences:
        """Return the sequences with these indices, in this order.

        Parameters
        ----------
        index : array-like of int

        Returns
        -------
        Sequences
        """
        index = np.asarray(index)
        index = np.flatnonzero(index) if index.dtype == bool else index.astype(np.int64)
        starts, rows = take_ranges(self.starts, index)
        return Sequences(
            {name: take_cells(column, rows) for name, column in self.columns.items()},
            starts,
            self.named,
            None if self.labels is None else take_cells(self.labels, rows),
            self.target,
            None if self.ids is None else tuple(self.ids[i] for i in index.tolist()),
            rows if self.rows is None else self.rows[rows],
            None if self.weights is None else self.weights[index],
        )

    def of_sequence(self, name: str) -> tuple[Sequences, Column]:
        """Split off a column that is constant within each sequence.

        Parameters
        ----------
        name : str
            A column of these sequences.

        Returns
        -------
        (Sequences, array)
            The sequences without the column, and its value in each sequence.
        """
        if name not in self.columns:
            known = ", ".join(self.columns)
            raise BayesError(f"there is no column {name!r} (columns: {known})")
        column = self.columns[name]
        empty = np.flatnonzero(self.lengths == 0)
        if len(empty):
            raise BayesError(f"{self.name(int(empty[0]))} is empty, so column {name!r} has no value for it")
        codes = self.coded(column, Vocabulary(), grow=True, name=name)
        apart = codes != np.repeat(codes[self.starts[:-1]], self.lengths)
        if apart.any():
            i = self.place(int(np.argmax(apart)))[0] - 1
            raise BayesError(
                f"column {name!r} holds more than one value in {self.name(i)}: the label of a whole sequence is the "
                "same in all its rows",
            )
        others = {other: cells for other, cells in self.columns.items() if other != name}
        return replace(self, columns=others), take_cells(column, self.starts[:-1])

    def coded(self, column: Column, vocabulary: Vocabulary, *, grow: bool = False, name: str = "symbol") -> Ints:
        """Encode a column by a vocabulary: codes from 0, −1 if missing, −2 if unknown.

        Parameters
        ----------
        column : array of shape (n_steps,)
        vocabulary : Vocabulary
        grow : bool, default=False
            Add unknown values to the vocabulary.
        name : str, default="symbol"
            What the values are, for messages.

        Returns
        -------
        ndarray of shape (n_steps,)

        Examples
        --------
        >>> days, known = Sequences.of([["sun", None], ["hail"]]), Vocabulary(["rain", "sun"])
        >>> days.coded(days.columns["x0"], known).tolist()
        [1, -1, -2]
        """
        factor = factor_values(column, name, 0)
        codes = vocabulary.grow(factor.values) if grow else vocabulary.codes(factor.values)
        table = np.array(codes, dtype=np.int64) - 1
        table[table == vocabulary.unseen - 1] = -2
        return table[factor.indices.astype(np.int64) - factor.low]

    def hashed(self) -> npt.NDArray[np.uint64]:
        """Return a hash of the content of each sequence.

        Returns
        -------
        ndarray of shape (n_sequences,)
        """
        power, mixed = np.uint64(0x9E3779B97F4A7C15), np.zeros(len(self), dtype=np.uint64)
        steps = np.arange(self.n_rows) - np.repeat(self.starts[:-1], self.lengths) + 1
        for name, column in self.columns.items():
            factor = factor_values(column, name, 0)
            distinct = np.array([zlib.crc32(repr(value).encode()) for value in factor.values], dtype=np.uint64)
            words = distinct[factor.indices.astype(np.int64) - factor.low]
            keyed = (words + np.uint64(zlib.crc32(name.encode()))) * (steps.astype(np.uint64) * np.uint64(2) + power)
            np.add.at(mixed, np.repeat(np.arange(len(self)), self.lengths), keyed ^ (keyed >> np.uint64(29)))
        return mixed

    def listed(self, values: Sequence[Any] | Array) -> list[Any]:
        """Split values of all steps into one list per sequence.

        Parameters
        ----------
        values : sequence of length n_steps

        Returns
        -------
        list of list
        """
        cells = values.tolist() if isinstance(values, np.ndarray) else list(values)
        at = self.starts.tolist()
        return [cells[a:b] for a, b in pairwise(at)]


def label_values(labels: Any, n: int) -> list[Value | None]:
    """Return labels of whole sequences as plain values."""
    column, _ = frames.label_column(labels)
    listed = plain_strings(column).to_pylist() if is_arrow(column) else column.tolist()
    if len(listed) != n:
        plain = " (a plain list is one sequence: give a list of lists)" if n == 1 else ""
        what = f"there are {n:,} sequences and {len(listed):,} labels"
        raise BayesError(f"{what}: give one label for each sequence{plain}")
    return [canonical(value) for value in listed]


def is_table(data: Any) -> bool:
    """Return True for data with named columns: a frame, a mapping, records, a file or another source."""
    records = isinstance(data, (list, tuple)) and len(data) > 0 and isinstance(data[0], Mapping)
    return records or isinstance(data, (str, Path)) or is_source(data) or _is_table(collected(data))


def _read_sequences(data: Any, lengths: Any, sequence: str | None, order: str | None, target: str | None) -> Sequences:
    """Read sequences in any form."""
    if data is None:
        raise BayesError("there is no data: the sequences are None")
    data = collected(data)
    if sequence is not None:
        if lengths is not None:
            raise BayesError(f"the column {sequence!r} says which rows make up a sequence: leave out lengths")
        return _by_id(data, sequence, order, target)
    if order is not None:
        raise BayesError(f"order={order!r} goes with sequence=, the column that says which rows make up a sequence")
    if isinstance(data, (str, Path)) or is_source(data) or _is_table(data):
        try:
            columns, n_rows, named, labels = _table(data, target)
        except BadFile as problem:
            if not isinstance(data, str) or not data.isalnum():
                raise
            raise BadFile(f"{problem};", hint=f"for one sequence of letters, pass list({data[:20]!r})") from None
        return Sequences(columns, _starts_from_lengths(lengths, n_rows), named, labels, target)
    if isinstance(data, np.ndarray) and data.dtype != object:
        return _from_array(data, lengths)
    if lengths is not None:
        flat = list(data)
        return Sequences(*_columns(flat, _starts_from_lengths(lengths, len(flat))))
    return _from_lists(data)


def check_numbers(columns: Mapping[str, Column], starts: Ints) -> None:
    """Raise an error for the first number that is infinite or too large; NaN is a missing cell."""
    for name, column in columns.items():
        if kind_of(column) != "float":
            continue
        x = as_floats(column, name, 0)
        bad = np.abs(x) > LARGEST
        if bad.any():
            at = int(np.argmax(bad))
            i = int(np.searchsorted(starts, at, side="right")) - 1
            what = "infinite" if np.isinf(x[at]) else f"{x[at]:g}, too large (beyond {LARGEST:g})"
            where = f" in column {name!r}" if len(columns) > 1 else ""
            raise BayesError(
                f"step {at - starts[i] + 1} of sequence {i + 1} is {what}{where}: replace it by a number or by a "
                "missing cell",
            )


def align_labels(labels: Any, starts: Ints) -> Column:
    """Return labels of steps as one column, given in lists or one after another."""
    n = int(starts[-1])
    if _is_nested(labels):
        flat = _from_arrow_lists(labels) if _is_arrow_list(labels) else _concatenate(list(labels), "labels")
        column, theirs = next(iter(flat.columns.values()), np.zeros(0)), flat.starts
        if len(theirs) != len(starts):
            raise BayesError(f"there are {len(starts) - 1:,} sequences and labels of {len(theirs) - 1:,}")
        apart = np.flatnonzero(np.diff(theirs) != np.diff(starts))
        if len(apart):
            i = int(apart[0])
            raise BayesError(
                f"sequence {i + 1} has {np.diff(starts)[i]} steps and {np.diff(theirs)[i]} labels: give one label for "
                "each step, None where there is none",
            )
        return column
    column = label_column(labels)[0]
    if len(column) != n:
        raise BayesError(f"the sequences have {n:,} steps in all, and there are {len(column):,} labels")
    return column


def _is_nested(labels: Any) -> bool:
    """Return True if labels come in lists, one per sequence."""
    if _is_arrow_list(labels):
        return True
    if isinstance(labels, np.ndarray) and labels.dtype != object:
        return labels.ndim == 2
    if not isinstance(labels, (list, tuple)) and not isinstance(labels, np.ndarray):
        return False
    return any(isinstance(one, (list, tuple, np.ndarray)) or _is_arrow(one) for one in labels)


# -- tables ------------------------------------------------------------------------------------------


def _is_table(data: Any) -> bool:
    """Return True for a frame of pandas, polars or Arrow, or a mapping of columns."""
    if isinstance(data, (Mapping, list, tuple)):
        return isinstance(data, Mapping)
    return hasattr(data, "columns") or (hasattr(data, "__arrow_c_stream__") and hasattr(data, "schema"))


def _table(data: Any, target: str | None) -> tuple[dict[str, Column], int, bool, Column | None]:
    """Read columns, row count, whether columns are named, and labels of a frame or file."""
    if isinstance(data, (str, Path)) or is_source(data):
        source = open_source(data, target)
        batch = read_batch(source)
        columns, n_rows, named = dict(batch.columns), batch.n_rows, source.named
        return columns, n_rows, named, batch.labels
    names, columns, n_rows, named = columns_of(data)
    if target is not None and target not in columns:
        raise _no_column_error(target, "labels", names)
    return columns, n_rows, named, columns.pop(target) if target is not None else None


def _by_id(data: Any, sequence: str, order: str | None, target: str | None) -> Sequences:
    """Group rows by their sequence column; sequences are in order of first appearance."""
    columns, _, named, labels = _table(data, target)
    for name, what in ((sequence, "sequence"), (order, "order")):
        if name is not None and name not in columns:
            raise _no_column_error(name, what, list(columns))
    cells = _without_gaps(columns.pop(sequence), f"{sequence!r}: each row says to which sequence it belongs")
    encoded = cells.dictionary_encode()
    ids = tuple(canonical(value) for value in encoded.dictionary.to_pylist())
    codes = np.asarray(encoded.indices, dtype=np.int64)
    if order is None:
        rows = None if (codes[1:] >= codes[:-1]).all() else np.argsort(codes, kind="stable")
    else:
        places = _without_gaps(columns.pop(order), f"{order!r}, which says where it stands in its sequence")
        rows = np.lexsort((np.asarray(pc.rank(places, tiebreaker="first"), dtype=np.int64), codes))
    if rows is not None:
        columns = {name: take_cells(column, rows) for name, column in columns.items()}
        labels = None if labels is None else take_cells(labels, rows)
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(ids)))])
    if not columns:
        raise BayesError(f"beside {sequence!r} there is no column that the sequences could be made of")
    return Sequences(columns, starts.astype(np.int64), named, labels, target, ids, rows)


def _without_gaps(column: Column, needed: str) -> Any:
    """Return a column as an Arrow array of plain values; raise an error for the first missing cell."""
    array = plain_array(column)
    if array.null_count:
        row = int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
        raise BayesError(f"row {row} has no {needed}")
    return array


def _no_column_error(name: str, what: str, names: list[str]) -> SchemaMismatch:
    known = f"(columns: {', '.join(names)}){did_you_mean(name, names) or '.'}"
    return SchemaMismatch(f"there is no column {name!r} for the {what} {known}")


# -- arrays ------------------------------------------------------------------------------------------


def _from_array(array: Array, lengths: Any) -> Sequences:
    """Read an array of shape (n_steps, n_columns), (n_steps,) or (n_sequences, n_steps, n_columns)."""
    if array.ndim == 3:
        if lengths is not None:
            raise BayesError(f"an array of shape {array.shape} holds whole sequences: leave out lengths")
        lengths = np.full(array.shape[0], array.shape[1])
        array = array.reshape(-1, array.shape[2])
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    _, columns, n_rows, named = columns_of(array)
    return Sequences(columns, _starts_from_lengths(lengths, n_rows), named)


def _starts_from_lengths(lengths: Any, n_rows: int) -> Ints:
    """Return the starts of sequences of these lengths; without lengths all rows are one sequence."""
    if lengths is None:
        return np.array([0, n_rows], dtype=np.int64)
    listed = np.asarray(lengths)
    if listed.ndim != 1 or (listed.dtype.kind not in "iu" and listed.size):
        raise BayesError(f"lengths are whole numbers, one for each sequence: got {str(lengths)[:60]}")
    if (listed < 0).any():
        i = int(np.argmax(listed < 0))
        raise BayesError(f"sequence {i + 1} has the length {listed[i]}: lengths are 0 or more")
    if listed.sum() != n_rows:
        raise BayesError(f"the lengths sum to {listed.sum():,}, and there are {n_rows:,} steps")
    return np.concatenate([[0], np.cumsum(listed, dtype=np.int64)])


# -- lists -------------------------------------------------------------------------------------------


def _is_arrow(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "pyarrow"


def _is_arrow_list(data: Any) -> bool:
    """Return True for a column of lists in Arrow or polars."""
    kind = getattr(data, "type", None)
    if kind is not None and _is_arrow(data):
        return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))
    return type(data).__module__.partition(".")[0] == "polars" and str(getattr(data, "dtype", "")).startswith("List")


def _from_lists(data: Any) -> Sequences:
    if _is_arrow_list(data):
        return _from_arrow_lists(data)
    if isinstance(data, (str, bytes)) or not hasattr(data, "__iter__"):
        raise BayesError(f"{_describe(data)} is not a set of sequences: give a list of lists, an array or a frame")
    cells = list(data)
    if cells and not any(hasattr(cell, "__len__") and not isinstance(cell, (str, Mapping)) for cell in cells):
        return Sequences(*_columns(cells, np.array([0, len(cells)], dtype=np.int64)))
    return _concatenate(cells, "sequences")


def _concatenate(sequences: list[Any], what: str) -> Sequences:
    """Concatenate lists, arrays or frames, one per sequence."""
    for i, one in enumerate(sequences):
        if isinstance(one, (str, bytes, Mapping)) or not hasattr(one, "__len__"):
            raise _not_a_sequence_error(i, one, what)
    starts = np.cumsum([0, *map(len, sequences)], dtype=np.int64)
    arrays = [one for one in sequences if (isinstance(one, np.ndarray) and one.dtype != object) or _is_table(one)]
    if not arrays:
        lists = (one.tolist() if hasattr(one, "tolist") else one for one in sequences)
        return Sequences(*_columns(list(chain.from_iterable(lists)), starts))
    filled = [one for one in sequences if len(one)] or arrays[:1]
    parts = [columns_of(_two_dimensional(one)) for one in filled]
    names, *_, named = parts[0]
    for part in parts:
        if part[0] != names:
            raise SchemaMismatch(f"the sequences differ in their columns: {', '.join(names)} and {', '.join(part[0])}")
    return Sequences({name: concatenate([part[1][name] for part in parts]) for name in names}, starts, named)


def _two_dimensional(sequence: Any) -> Any:
    """Return a sequence with shape (n_steps, n_columns)."""
    array = np.asarray(sequence) if isinstance(sequence, (list, tuple)) else sequence
    return array.reshape(-1, 1) if getattr(array, "ndim", 2) == 1 else array


def _columns(flat: list[Any], starts: Ints) -> tuple[dict[str, Column], Ints, bool]:
    """Convert cells to columns: several for records and rows, one for single values."""
    if not flat:
        return {}, starts, False
    several = [isinstance(cell, (Mapping, list, tuple)) for cell in flat]
    if all(several):
        _, columns, _, named = columns_of(flat)
        return columns, starts, named
    if any(several):
        cell = flat[several.index(True)]
        raise BayesError(f"some steps are single values and some are not, such as {_describe(cell)}")
    if isinstance(flat[0], np.ndarray):
        return _columns([cell.tolist() for cell in flat], starts)
    return {"x0": from_list(flat)}, starts, False


def _from_arrow_lists(data: Any) -> Sequences:
    """Read Arrow lists of values or records."""
    column = as_one_array(data.to_arrow() if hasattr(data, "to_arrow") else data)
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise BayesError(f"sequence {row + 1} is missing: give an empty list where it has no steps")
    lengths = np.asarray(column.value_lengths(), dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    cells = column.flatten()
    if pa.types.is_struct(cells.type):
        named = {field.name: part for field, part in zip(cells.type, cells.flatten(), strict=True)}
        return Sequences(named, starts, True)
    if arrow_kind(cells.type) == "object":
        return Sequences(*_columns(cells.to_pylist(), starts))
    return Sequences({"x0": cells} if len(cells) or not pa.types.is_null(cells.type) else {}, starts, False)


def _not_a_sequence_error(i: int, one: Any, what: str) -> BayesError:
    if what == "labels":
        return BayesError(
            f"labels come in lists as the sequences do, and those of sequence {i + 1} are {_describe(one)}"
        )
    if isinstance(one, str):
        hint = f"a list of symbols is meant, for letters list({one[:20]!r}); {ALONE}"
    else:
        hint = f"a list of steps is meant; {ALONE}"
    return BayesError(f"sequence {i + 1} is {_describe(one)}: {hint}")


def _describe(value: Any) -> str:
    if value is None:
        return "missing"
    text = repr(value)
    return f"{with_article(type(value).__name__)} ({text[:40]}{'…' if len(text) > 40 else ''})"

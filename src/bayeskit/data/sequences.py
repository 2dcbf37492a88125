"""Sequences from anything: their positions are the rows of a table, and it is known where each sequence begins.

So roles, codes, missing cells and statistics are those of tables. Batches end where sequences end.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.data import frames
from bayeskit.data.arrow_arrays import arrow_array
from bayeskit.data.block import Block
from bayeskit.data.encoder import Encoder
from bayeskit.data.factors import factor_values
from bayeskit.data.frames import kind_of
from bayeskit.data.reader import Taken, read_block
from bayeskit.data.schema import Kind
from bayeskit.data.sequence_forms import as_positions, beside, check_numbers, is_table
from bayeskit.data.source import Batch, Column, as_weights, cut, is_arrow, plain_strings, taken
from bayeskit.data.vocabulary import Value, Vocabulary, canonical
from bayeskit.errors import BayesError
from bayeskit.typing import Array, Floats, Ints


@dataclass(frozen=True, eq=False)
class Sequences(Taken):
    """Sequences from anything: sequence i has the positions ``starts[i]`` to ``starts[i + 1]`` of every column.

    A source of rows, so that what reads tables reads them too.

    >>> days = Sequences.of([["sun", "rain", None], [], ["sun"]])
    >>> days.starts.tolist(), days.kinds, len(days)
    ([0, 3, 3, 4], {'x0': 'string'}, 3)
    >>> walks = Sequences.of({"who": [1, 2, 1], "at": [9, 3, 4], "sky": ["sun", "hail", "rain"]}, sequence="who",
    ...                      order="at")
    >>> walks.starts.tolist(), walks.columns["sky"].to_pylist(), walks.ids
    ([0, 2, 3], ['rain', 'sun', 'hail'], (1, 2))
    """

    columns: Mapping[str, Column]
    starts: Ints
    named: bool = True  # False where the columns had no names: then position decides
    labels: Column | None = None  # of every position; missing where a position has none
    target: str | None = None  # what the labels are called
    ids: tuple[Any, ...] | None = None  # of the sequences, where they came with some
    rows: Ints | None = None  # in which row of the table each position stood, where that is not its own number
    weights: Floats | None = None  # of the sequences

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
        """Lists of symbols, numbers, records or rows; Arrow lists; a frame or file in which the column ``sequence``
        says to which sequence a row belongs, and ``order`` where in it; arrays with ``lengths``, as hmmlearn has them.

        An array or frame with neither is one sequence. ``labels`` of the positions are given in the same form, or as
        the name of a column; missing where a position has none.
        """
        if isinstance(data, Sequences):
            if lengths is not None or sequence is not None or order is not None:
                raise BayesError("these are sequences already: lengths, sequence and order go with other data")
            made = data
        else:
            made = cls(
                **vars(as_positions(data, lengths, sequence, order, labels if isinstance(labels, str) else None))
            )
            check_numbers(made.columns, made.starts)
        if labels is not None and not isinstance(labels, str):
            made = replace(made, labels=beside(labels, made.starts))
        elif labels is not None and made.target != labels:
            raise BayesError("labels by the name of a column go with a frame or file, not with sequences in lists")
        return made if weights is None else replace(made, weights=as_weights(weights, len(made)))

    @classmethod
    def read(
        cls, data: Any, lengths: Any = None, labels: Any = None, sequence: str | None = None, order: str | None = None
    ) -> Sequences:
        """The same, for a model that knows by which columns sequences are found: in tables, and in no other form."""
        if sequence is None or lengths is not None or isinstance(data, Sequences) or not is_table(data):
            return cls.of(data, lengths, labels=labels)
        return cls.of(data, labels=labels, sequence=sequence, order=order)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def n_rows(self) -> int:
        """Positions in all."""
        return int(self.starts[-1])

    @property
    def lengths(self) -> Ints:
        """Positions of each sequence."""
        return np.diff(self.starts)

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        """What each column holds."""
        return {name: kind_of(column) for name, column in self.columns.items()}

    def place(self, row: int) -> tuple[int, int]:
        """(sequence, step of it), both counted from 1, of a position."""
        i = int(np.searchsorted(self.starts, row, side="right")) - 1
        return i + 1, row - int(self.starts[i]) + 1

    def name(self, i: int) -> str:
        """A sequence in a sentence: by its id, or by its number counted from 1."""
        return f"sequence {i + 1}" if self.ids is None else f"sequence {self.ids[i]!r}"

    # -- as a source ---------------------------------------------------------------------------------

    def batches(self) -> Iterator[Batch]:
        """Whole sequences, about as many positions as a block of rows has; one long sequence is one batch."""
        for first, last in self.parts(frames.BLOCK):
            yield self._batch(first, last)

    def parts(self, size: int) -> Iterator[tuple[int, int]]:
        """Cut into runs of sequences first … last − 1 of about ``size`` positions, each at the end of a sequence.

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
        """All positions as the kernels read them; also where there are none, and so no columns."""
        if self.n_rows:
            return read_block(encoder, self)
        schema = encoder.schema
        codes = {name: np.zeros(0, np.uint8) for name in schema.coded()}
        floats = {name: np.zeros(0) for name in schema.measured()}
        return Block(0, 0, codes, floats, sequence_starts=self.starts)

    # -- as sequences --------------------------------------------------------------------------------

    def take(self, index: Any) -> Sequences:
        """The sequences of some numbers, in this order."""
        index = np.asarray(index)
        index = np.flatnonzero(index) if index.dtype == bool else index.astype(np.int64)
        lengths = self.lengths[index]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.arange(starts[-1]) + np.repeat(self.starts[index] - starts[:-1], lengths)
        return Sequences(
            {name: taken(column, rows) for name, column in self.columns.items()},
            starts,
            self.named,
            None if self.labels is None else taken(self.labels, rows),
            self.target,
            None if self.ids is None else tuple(self.ids[i] for i in index.tolist()),
            rows if self.rows is None else self.rows[rows],
            None if self.weights is None else self.weights[index],
        )

    def of_sequence(self, name: str) -> tuple[Sequences, Column]:
        """(The sequences without a column, that column with one cell a sequence); its cells must agree within each."""
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
        return replace(self, columns=others), taken(column, self.starts[:-1])

    def coded(self, column: Column, vocabulary: Vocabulary, *, grow: bool = False, name: str = "symbol") -> Ints:
        """Which value of the vocabulary each cell is, from 0; −1 where it is missing, −2 where it is unknown.

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
        """One number for what each sequence shows: the same for the same steps in the same order."""
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
        """What was said of all positions, cut into lists as the sequences are."""
        cells = values.tolist() if isinstance(values, np.ndarray) else list(values)
        at = self.starts.tolist()
        return [cells[a:b] for a, b in pairwise(at)]


def label_values(labels: Any, n: int) -> list[Value | None]:
    """Labels of whole sequences as plain values, one each."""
    column, _ = frames.label_column(labels)
    listed = plain_strings(column).to_pylist() if is_arrow(column) else column.tolist()
    if len(listed) != n:
        raise BayesError(f"there are {n:,} sequences and {len(listed):,} labels: give one label for each sequence")
    return [canonical(value) for value in listed]


def as_arrow(values: Sequence[Any]) -> Any:
    """A list of plain values as a column."""
    return arrow_array(list(values))

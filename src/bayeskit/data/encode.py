"""Batch → Block: values become codes through vocabularies, numbers become floats or bins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.data.documents import Documents
from bayeskit.data.schema import NO_TARGET, Categorical, Numeric, Schema, Text
from bayeskit.data.source import (
    Batch,
    Column,
    Responsibilities,
    Source,
    aligned,
    as_one_array,
    for_schema,
    is_arrow,
    naming_the_file,
)
from bayeskit.data.tokens import Tokenizer, TokenRows, Words, count_documents
from bayeskit.data.vocabulary import Value, Vocabulary, canonical
from bayeskit.errors import BayesError, NotScalar, SchemaMismatch, UnknownValue
from bayeskit.remedy import Remedy

if TYPE_CHECKING:
    import pyarrow as pa

Codes = npt.NDArray[Any]  # uint8, uint16 or uint32
LARGEST = 1e150  # a square must not overflow
MANY = 256  # objects other than strings that are told apart one by one
NARROW = 1_024  # integers within this span are coded without looking for the values in between


@dataclass(frozen=True)
class Block:
    """Some rows as the kernels read them: codes, floats and texts by column, labels and weights."""

    n_rows: int
    start: int
    codes: Mapping[str, Codes]
    floats: Mapping[str, npt.NDArray[np.float64]]
    labels: Codes | None = None
    responsibilities: npt.NDArray[np.float64] | None = None
    weights: npt.NDArray[np.float64] | None = None
    texts: Mapping[str, Documents] = field(default_factory=dict)
    tokens: Mapping[str, TokenRows] = field(default_factory=dict)  # in the encoder's words, where it has some
    sequence_starts: npt.NDArray[np.int64] | None = None  # rows at which a sequence begins, where rows make up some

    def take(self, rows: npt.NDArray[Any]) -> Block:
        """These rows alone."""
        count = len(rows) if rows.dtype != bool else int(rows.sum())
        codes = {name: column[rows] for name, column in self.codes.items()}
        floats = {name: column[rows] for name, column in self.floats.items()}
        labels, soft, weights = (
            None if part is None else part[rows] for part in (self.labels, self.responsibilities, self.weights)
        )
        texts = {name: column.take(rows) for name, column in self.texts.items()}
        tokens = {name: column.take(rows) for name, column in self.tokens.items()}
        return Block(count, self.start, codes, floats, labels, soft, weights, texts, tokens)


@dataclass
class Encoder:
    """Reads a source as blocks of the schema's columns.

    Learning (``grow``), new values and classes are taken into the vocabularies; otherwise they get the
    vocabulary's code ``unseen``, or are refused where ``refuse_unseen`` is set.
    """

    schema: Schema
    vocabularies: dict[str, Vocabulary] = field(default_factory=dict)
    classes: Vocabulary = field(default_factory=Vocabulary)
    grow: bool = False
    refuse_unseen: bool = False
    n_threads: int = 1
    words: Mapping[str, Words] = field(default_factory=dict)

    def blocks(self, source: Source) -> Iterator[Block]:
        """All rows of the source, block by block."""
        with naming_the_file(source):
            where = self.schema.locate(list(source.kinds), source.named)
        values = {name: vocabulary.values for name, vocabulary in self.vocabularies.items()}
        for batch in for_schema(source, self.schema, values, self.classes.values).batches():
            with naming_the_file(source):
                block = self._encode(batch, where)
            yield block

    def _encode(self, batch: Batch, where: Mapping[str, str]) -> Block:
        columns = {name: batch.columns[theirs] for name, theirs in where.items()}
        codes = self._categorical(columns, batch.start)
        floats = {}
        for name, column in columns.items():
            role = self.schema.columns[name]
            if isinstance(role, Numeric):
                numbers = as_floats(column, name, batch.start)
                if role.cuts is None:
                    floats[name] = numbers
                else:
                    codes[name] = self._binned(numbers, role.cuts, name, batch.start)
        labels, responsibilities = self._labels(batch)
        texts = {n: Documents.of(columns[n], n, batch.start) for n in self.schema.texts()}
        tokens = {n: self._tokens(n, texts[n]) for n in texts if n in self.words}
        return Block(
            batch.n_rows, batch.start, codes, floats, labels, responsibilities, batch.weights, texts, tokens
        )  # fmt: skip

    def _tokens(self, name: str, documents: Documents) -> TokenRows:
        role = self.schema.columns[name]
        tokenizer = role.tokenizer if isinstance(role, Text) else Tokenizer()
        return count_documents(documents, tokenizer, self.words[name], self.n_threads, in_order=False)

    def _binned(self, numbers: npt.NDArray[np.float64], cuts: tuple[float, ...], name: str, start: int) -> Codes:
        raise_unusable({name: numbers}, start)
        return kernels.bin_codes([numbers], [np.array(cuts, dtype=np.float64)], self.n_threads)[0]

    def _labels(self, batch: Batch) -> tuple[Codes | None, npt.NDArray[np.float64] | None]:
        if batch.labels is None:
            return np.zeros(batch.n_rows, dtype=np.uint8) if self.schema.target == NO_TARGET else None, None
        if not isinstance(batch.labels, Responsibilities):
            return encode_labels(batch.labels, self.classes, batch.start, grow=self.grow), None
        order = self.classes.grow(batch.labels.classes)
        matrix = np.zeros((batch.n_rows, len(self.classes.values)))
        matrix[:, [code - 1 for code in order]] = batch.labels.matrix
        return None, matrix if batch.weights is None else matrix * batch.weights[:, None]

    def _categorical(self, columns: Mapping[str, Column], start: int) -> dict[str, Codes]:
        names = [name for name in columns if isinstance(self.schema.columns[name], Categorical)]
        factors = {name: self._factor(columns[name], name, start) for name in names}
        self._narrow_integers(factors)
        indices, lows, tables, unseen = [], [], [], []
        for name in names:
            vocabulary, factor = self._vocabulary(name), factors[name]
            grows = self.grow and self._domain(name) is None
            if factor.table is None:
                if not grows and vocabulary.is_foreign([v for v in factor.values if v is not None]):
                    raise self._foreign(name, factor, start)
                found = vocabulary.grow(factor.values) if grows else vocabulary.codes(factor.values)
                factor.table = np.array(found, dtype=np.uint32)
            indices.append(factor.indices)
            lows.append(factor.low)
            tables.append(factor.table)
            unseen.append(vocabulary.unseen)
        if not names:
            return {}
        coded = kernels.lookup_codes(
            indices, np.array(lows, dtype=np.int64), tables, np.array(unseen, dtype=np.uint32), self.n_threads
        )
        for name, codes in zip(names, coded, strict=True):
            if self.refuse_unseen or (self.grow and self._domain(name) is not None):
                self._refuse_unseen(name, codes, columns[name], start)
        return dict(zip(names, coded, strict=True))

    def _factor(self, column: Column, name: str, start: int) -> Factor:
        """The column as indices; the values of integers are looked up by a table where there is one."""
        if is_arrow(column) or column.dtype.kind not in "biu" or _is_beyond(column):
            return factor_values(column, name, start)
        if column.dtype.kind == "b":
            return Factor(column.view(np.uint8), 0, [False, True])
        vocabulary = self._vocabulary(name)
        if self.grow and self._domain(name) is None:
            return Factor(column, 0, None)  # the range is found for all such columns at once
        table = vocabulary.integer_table()
        if table is None or vocabulary.is_foreign([0]):
            return factor_values(column, name, start)
        return Factor(column, table[0], [], table[1])

    def _narrow_integers(self, factors: dict[str, Factor]) -> None:
        open_ = [name for name, factor in factors.items() if factor.values is None]
        found = factor_integers([factors[name].indices for name in open_], open_, self.n_threads)
        factors.update(zip(open_, found, strict=True))

    def _vocabulary(self, name: str) -> Vocabulary:
        if name not in self.vocabularies:
            self.vocabularies[name] = Vocabulary(self._domain(name) or ())
        return self.vocabularies[name]

    def _domain(self, name: str) -> tuple[Value, ...] | None:
        role = self.schema.columns[name]
        return role.domain if isinstance(role, Categorical) else None

    def _refuse_unseen(self, name: str, codes: Codes, column: Column, start: int) -> None:
        vocabulary = self._vocabulary(name)
        rows = np.flatnonzero(codes == vocabulary.unseen)
        if not len(rows):
            return
        cell = column[int(rows[0])]
        value = canonical(cell.as_py() if is_arrow(column) else cell)
        known = ", ".join(map(str, vocabulary.values[:8])) + (", …" if len(vocabulary.values) > 8 else "")
        row = start + int(rows[0])
        if self._domain(name) is not None and self.grow:
            raise UnknownValue(
                f"column {name!r} has {value!r} in row {row}, outside its declared domain ({known}). ",
                Remedy("domains", clause="Add it to {}, or mend the cell.", without="Mend the cell."),
                culprit=(name, value),
                place=row,
            )
        raise UnknownValue(
            f"column {name!r} has {value!r} in row {row}, not seen in training (known: {known}). Pass ",
            Remedy("unseen", "ignore"),
            " to leave the column out for such rows.",
            culprit=(name, value),
            place=row,
        )

    def _foreign(self, name: str, factor: Factor, start: int) -> SchemaMismatch:
        known = self._vocabulary(name).values[0]
        theirs = next(value for value in factor.values or () if value is not None)
        return SchemaMismatch(
            f"column {name!r} holds the {type(theirs).__name__} {theirs!r} (rows from {start} on), but in training it "
            f"held the {type(known).__name__} {known!r}: give it the same type."
        )


@dataclass
class Factor:
    """A column as integer indices: index ``low + i`` stands for ``values[i]``, None being missing."""

    indices: npt.NDArray[Any]
    low: int
    values: Any  # Sequence[Value | None], or None where still unknown
    table: npt.NDArray[np.uint32] | None = None


def factor_integers(columns: Sequence[npt.NDArray[Any]], names: Sequence[str], n_threads: int) -> list[Factor]:
    """Integers that lie close together are their own indices; the others are looked up."""
    if not columns:
        return []
    low, high = kernels.int_ranges(columns, n_threads)
    return [
        Factor(column, least, range(least, most + 1)) if most - least <= NARROW else factor_values(column, name, 0)
        for column, name, least, most in zip(columns, names, low.tolist(), high.tolist(), strict=True)
    ]


def _is_beyond(column: npt.NDArray[Any]) -> bool:
    """Whether some integer has no place in int64, which the kernels read."""
    return column.dtype == np.uint64 and bool(column.max(initial=0) > np.iinfo(np.int64).max)


def factor_values(column: Column, name: str, start: int) -> Factor:
    """Indices into the distinct values of any column."""
    import pyarrow as pa

    if not is_arrow(column):
        if column.dtype == object and (found := kernels.factor_strings(column, MANY)) is not None:
            indices, first = found
            return Factor(indices, 0, _canonical_cells(column[first].tolist(), name, start + first))
        try:
            column = pa.array(column, from_pandas=True)
        except (pa.ArrowException, OverflowError, UnicodeError):
            return _factor_objects(column, name, start)
    array = as_one_array(column)
    if pa.types.is_null(array.type):
        return Factor(np.zeros(len(array), dtype=np.uint8), 0, [None])
    if pa.types.is_nested(array.type):
        row = next(i for i in range(len(array)) if array[i].is_valid)
        raise _not_scalar(name, start + row, array[row].as_py())
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        array = array.cast(pa.timestamp("us", array.type.tz), safe=False)
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    indices = array.indices
    if indices.null_count:
        indices = indices.cast(pa.int32()) if pa.types.is_unsigned_integer(indices.type) else indices
        indices = _filled(indices, np.full(1, -1, dtype=f"i{indices.type.bit_width // 8}"))
    return Factor(_view(indices), -1, [None, *_canonical_all(array.dictionary, name)])


def _filled(array: pa.Array, one: npt.NDArray[Any]) -> pa.Array:
    """Nulls replaced by the one value. (Arrow's own ``scalar`` loads pandas where that is installed.)"""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.fill_null(array, pa.Array.from_buffers(array.type, 1, [None, pa.py_buffer(one)])[0])


def _view(array: pa.Array) -> npt.NDArray[Any]:
    """Numbers of Arrow, none null, where they lie. (Arrow's own ``to_numpy`` loads pandas where that is installed.)"""
    return aligned(np.from_dlpack(array))


def _canonical_all(values: pa.Array, name: str) -> list[Value | None]:
    import pyarrow.types as types

    try:
        listed: list[Any] = values.to_pylist()
        is_text = types.is_string(values.type) or types.is_large_string(values.type)
        return listed if is_text else [canonical(value) for value in listed]
    except UnicodeDecodeError as problem:
        raise BayesError(
            f"column {name!r} holds bytes that are no text ({problem.object[:20]!r}): write it again as UTF-8"
        ) from None
    except BayesError as problem:
        raise problem.within(f"column {name!r}") from None


def _factor_objects(column: npt.NDArray[Any], name: str, start: int) -> Factor:
    """Cells of several types: distinct by equality, at the speed of a dict."""
    cells = column.tolist()
    try:
        distinct = list(dict.fromkeys(cells))
    except TypeError:  # a cell that has no hash is no scalar
        _canonical_cells(cells, name, np.arange(start, start + len(cells)))
        raise
    index = {cell: i for i, cell in enumerate(distinct)}
    indices = np.fromiter(map(index.__getitem__, cells), dtype=np.int64, count=len(cells))
    first = np.full(len(distinct), len(cells))
    np.minimum.at(first, indices, np.arange(len(cells)))
    return Factor(indices, 0, _canonical_cells(distinct, name, start + first))


def _canonical_cells(cells: Sequence[Any], name: str, rows: npt.NDArray[np.int64]) -> list[Value | None]:
    """Plain values of cells that stand in these rows; the first that is none is named with its place."""
    values = []
    for cell, row in zip(cells, rows.tolist(), strict=True):
        try:
            values.append(canonical(cell))
        except NotScalar:
            raise _not_scalar(name, row, cell) from None
        except BayesError as problem:
            raise problem.within(f"column {name!r}, row {row}") from None
    return values


def _not_scalar(name: str, row: int, cell: object) -> NotScalar:
    return NotScalar(
        f"column {name!r} has {str(cell)[:40]} in row {row}, which is no single value: "
        "a cell's argument must be a string or a number. Split it into columns of its own."
    )


def as_floats(column: Column, name: str, start: int) -> npt.NDArray[np.float64]:
    """A column as float64, NaN where missing; a view where it is one already."""
    if isinstance(column, np.ndarray):
        if column.dtype == np.float64:
            return column
        if column.dtype.kind in "fiub":
            return column.astype(np.float64)
        if column.dtype.kind in "Mm":
            numbers = column.astype(f"{column.dtype.kind}8[us]").view(np.int64) / 1e6
            numbers[np.isnat(column)] = np.nan
            return numbers
    import pyarrow as pa
    import pyarrow.types as types

    try:
        array = as_one_array(column) if is_arrow(column) else pa.array(column, from_pandas=True)
        if types.is_dictionary(array.type):
            array = array.cast(array.type.value_type)
        if types.is_temporal(array.type):
            moment = pa.duration("us") if types.is_duration(array.type) else pa.timestamp("us")
            moment = pa.time64("us") if types.is_time(array.type) else moment
            numbers = array.cast(moment, safe=False).cast(pa.int64()).cast(pa.float64())
            return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64) / 1e6
        if types.is_boolean(array.type):
            array = array.cast(pa.uint8())
        numbers = array.cast(pa.float64(), safe=False)
        return _view(_filled(numbers, np.full(1, np.nan)) if numbers.null_count else numbers)
    except OverflowError:  # integers beyond 64 bits, as objects
        return _checked_numbers(column, name, start)
    except (pa.ArrowException, UnicodeError):
        raise _not_a_number(column, name, start) from None


def _checked_numbers(column: npt.NDArray[Any], name: str, start: int) -> npt.NDArray[np.float64]:
    try:
        return np.array([canonical(cell) for cell in column], dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        raise _not_a_number(column, name, start) from None


def _not_a_number(column: Column, name: str, start: int) -> SchemaMismatch:
    cells = column.to_pylist() if is_arrow(column) else column.tolist()
    for row, cell in enumerate(cells):
        try:
            float(cell if cell is not None else "nan")
        except (OverflowError, TypeError, ValueError):
            if cell is not None and not isinstance(cell, (str, bytes)) and not np.isscalar(cell):
                return _not_scalar(name, start + row, cell)  # type: ignore[return-value]
            return SchemaMismatch(
                f"column {name!r} has {cell!r} in row {start + row}, which is no number. Mend or empty the cell, or "
                "declare ",
                Remedy("roles", {name: "categorical"}),
                ".",
                culprit=(name, cell),
                place=start + row,
            )
    return SchemaMismatch(f"column {name!r} cannot be read as numbers")


def raise_unusable(floats: Mapping[str, npt.NDArray[np.float64]], start: int) -> None:
    """Refuse the first infinite or huge number of a block, if there is one."""
    for name, column in floats.items():
        rows = np.flatnonzero(np.abs(column) > LARGEST)
        if len(rows):
            value = column[rows[0]]
            what = "infinity or a value too large" if np.isinf(value) else "a value too large (beyond 1e150)"
            raise BayesError(
                f"Input X contains {what} for dtype('float64'): column {name!r} has {value} in row {start + rows[0]}. "
                "Replace it by a number or by a missing cell."
            )


def encode_labels(column: Column, classes: Vocabulary, start: int, *, grow: bool) -> Codes:
    """Class codes 0..C-1; a label that is missing or continuous is refused.

    Without ``grow`` a label that is no known class gets the code C.
    """
    if not is_arrow(column) and column.dtype.kind == "f":
        _refuse_continuous(column, start)
        if np.abs(column.astype(np.float64, copy=False)).max(initial=0) < 2**53:
            factor = factor_integers([column.astype(np.int64)], ["class"], 1)[0]
        else:
            factor = factor_values(column, "class", start)
        factor.values = [None if value is None else float(value) for value in factor.values]
    elif not is_arrow(column) and column.dtype.kind in "iu" and not _is_beyond(column):
        factor = factor_integers([column], ["class"], 1)[0]
    else:
        factor = factor_values(column, "class", start)
    if is_arrow(column) and any(isinstance(value, float) for value in factor.values):
        _refuse_continuous(as_floats(column, "class", start), start)
    known = classes.values[:1] + [value for value in factor.values if value is not None]
    if len({isinstance(value, str) for value in known}) > 1:
        raise BayesError(f"labels are all strings or all numbers, not both: {known[0]!r} and {_other(known)!r}")
    found = classes.grow(factor.values) if grow else classes.codes(factor.values)
    codes = kernels.lookup_codes(
        [factor.indices], np.array([factor.low]), [np.array(found, dtype=np.uint32)],
        np.array([classes.unseen], dtype=np.uint32), 1,
    )[0]  # fmt: skip
    if None in factor.values and not codes.all():
        raise BayesError(f"row {start + int(np.argmin(codes))} has no label (NaN or None); drop the row or label it")
    return np.subtract(codes, 1, dtype=codes.dtype)


def _other(values: Sequence[Value]) -> Value:
    return next(value for value in values if isinstance(value, str) != isinstance(values[0], str))


def _refuse_continuous(labels: npt.NDArray[Any], start: int) -> None:
    if np.isinf(labels).any():
        raise BayesError("Input y contains infinity or a value too large for dtype('float64').")
    if np.isnan(labels).any():
        row = start + int(np.argmax(np.isnan(labels)))
        raise BayesError(f"row {row} has no label (Input y contains NaN); drop the row or label it")
    broken = labels != np.floor(labels)
    if broken.any():
        row = int(np.argmax(broken))
        raise BayesError(
            f"Unknown label type: continuous (row {start + row} has {labels[row]}). Classes are strings, "
            "whole numbers or booleans; cut the numbers into classes first."
        )

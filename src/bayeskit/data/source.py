"""Where rows come from: a Source says the kinds of its columns and yields batches.

A column of a batch is an Arrow array or a NumPy view (strided views of a matrix are read where they lie: a
copy into Arrow would cost more than the counting). A source never holds more than it was given.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

import numpy as np

from bayeskit.data.schema import DatePart, Kind, Numeric, Schema, Text
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError, SchemaMismatch, Unlabelled
from bayeskit.nearest import did_you_mean
from bayeskit.remedy import OtherModel, Remedy
from bayeskit.typing import Array, Floats, Ints

if TYPE_CHECKING:
    import pyarrow as pa

Column = Any  # np.ndarray | pa.Array | pa.ChunkedArray

LIGHTEST, HEAVIEST = 1e-100, 1e100  # of weights over zero


@dataclass(frozen=True)
class Responsibilities:
    """Soft labels (rows, classes): how much of each row belongs to each class."""

    classes: tuple[Value, ...]
    matrix: Floats

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or self.matrix.shape[1] != len(set(self.classes)):
            raise BayesError(
                f"responsibilities of shape {self.matrix.shape} do not fit the classes {list(self.classes)}: "
                "one column a class, each class once"
            )
        bad = np.flatnonzero(~(np.isfinite(self.matrix) & (self.matrix >= 0)).all(axis=1))
        if len(bad):
            raise BayesError(f"row {bad[0]} has a responsibility that is negative or no finite number")

    def __len__(self) -> int:
        return len(self.matrix)


@dataclass(frozen=True)
class Batch:
    """Some rows in a row: columns by name, and what was said about the rows."""

    columns: Mapping[str, Column]
    n_rows: int
    start: int = 0
    labels: Column | Responsibilities | None = None
    weights: Floats | None = None
    sequence_starts: Ints | None = None  # where rows make up sequences: begin of each, and the end


class Source(Protocol):
    """Rows in batches, with the kinds of their columns."""

    @property
    def kinds(self) -> Mapping[str, Kind]: ...
    @property
    def named(self) -> bool: ...
    @property
    def target(self) -> str | None: ...
    def batches(self) -> Iterator[Batch]: ...


@dataclass(frozen=True)
class OneBatch:
    """One batch of a source as a source of its own, its labels left behind."""

    kinds: Mapping[str, Kind]
    batch: Batch
    here: str | None = None
    named: bool = True
    target: str | None = None

    def batches(self) -> Iterator[Batch]:
        yield replace(self.batch, labels=None)


@runtime_checkable
class Narrowing(Source, Protocol):
    """A source that can be told which columns are in use, and what they must hold."""

    @property
    def asked(self) -> Mapping[str, Kind | None] | None: ...
    def reading(self, asked: Mapping[str, Kind | None]) -> Source: ...


@runtime_checkable
class Divisible(Source, Protocol):
    """A source that can be cut into parts, each a source that may have no rows and can be sent to another process.

    There are ``n`` parts or fewer; one after another they have the rows of the whole, in its order.
    """

    def parts(self, n: int) -> Sequence[Source]: ...


@runtime_checkable
class Looking(Source, Protocol):
    """A source of which a few rows can be had at little cost, while all of them are read elsewhere."""

    def look(self) -> Batch | None: ...


def first_rows(source: Source) -> Batch | None:
    """Some of the first rows, for advice: never more than one batch is read. None where there are no rows."""
    if isinstance(source, Looking):
        return source.look()
    rows = iter(source.batches())
    first = next(rows, None)
    close_rows(rows)
    return first


def close_rows(rows: Iterator[Any]) -> None:
    """End a reading that nobody goes on with, so that what it reads from is free for others."""
    if isinstance(rows, Generator):
        rows.close()


@contextmanager
def closing_rows(rows: Iterator[Any]) -> Iterator[None]:
    """After an error nothing stays open that is read from: who tells of it may have to read again."""
    try:
        yield
    except BaseException:
        close_rows(rows)
        raise


def in_one_state(source: Any) -> AbstractContextManager[None]:
    """While it lasts every reading of a source finds the same rows, where the source can see to that."""
    return source.in_one_state() if hasattr(source, "in_one_state") else nullcontext()


def engine_of(source: Any) -> Any:
    """The engine whose workers read the rows of a source; None where they are read on this machine."""
    return getattr(source, "engine", None)


def open_source(data: Any, labels: Any = None, weights: Any = None, **reading: Any) -> Source:
    """Rows from anything: a table in memory, or the path of files (:class:`bayeskit.data.files.FileSource`), or a
    list of ``Path``.

    ``labels`` and ``weights`` are values, or the name of a column of ``data``. ``reading`` are settings for files:
    ``types``, ``watch``, ``delimiter``, ``encoding``, ``missing``, ``header``, ``columns``, ``decimal``, ``comment``.

    >>> source = open_source({"sky": ["sun", "rain"], "play": ["yes", "no"], "days": [3, 1]}, "play", "days")
    >>> dict(source.kinds), next(source.batches()).weights.tolist()
    ({'sky': 'string'}, [3.0, 1.0])
    """
    if isinstance(data, str) and data.startswith(("postgresql://", "postgres://")) and not reading:
        from bayeskit.data.databases.sql_source import SqlSource

        data = SqlSource.at(data)
    if isinstance(data, (str, Path)) or _are_paths(data):
        from bayeskit.data.files.file_source import FileSource

        data = FileSource.of(data, **reading)
    elif reading:
        raise BayesError(f"{', '.join(reading)}: settings for files, and the data is none")
    if is_source(data):
        return _labelled(data, labels, weights)
    if isinstance(data, bytes):
        raise BayesError(f"{data[:40]!r} is bytes, not a table: pass a frame, an array, records or the path of a file")
    refuse_frame_elsewhere(data)
    from bayeskit.data.frames import MemorySource, SparseSource, columns_of, is_sparse

    if is_sparse(data):
        return SparseSource.of(data, labels, as_weights(weights, data.shape[0]))
    names, columns, n_rows, named = columns_of(data)
    target = None
    if isinstance(weights, str):
        check_weight_column(weights, names, labels)
        weights = weight_column(columns.pop(weights), weights, 0)
    if isinstance(labels, str):
        if labels not in columns:
            hint = f" One label for one row is a list: [{labels!r}]." if n_rows == 1 else ""
            known = f"(columns: {', '.join(names)}){did_you_mean(labels, names) or '.'}"
            raise SchemaMismatch(f"there is no target column {labels!r} {known}{hint}", culprit=labels)
        target, labels = labels, columns.pop(labels)
    return MemorySource(columns, n_rows, named, target, labels, as_weights(weights, n_rows))


def _are_paths(data: Any) -> bool:
    """Whether these are several files; a list of strings is none, but a column or documents."""
    return isinstance(data, (list, tuple)) and bool(data) and all(isinstance(path, Path) for path in data)


def is_source(data: Any) -> bool:
    """Whether this is a source already."""
    return hasattr(data, "batches") and hasattr(data, "kinds")


def by_name(source: Source) -> Source:
    """The same rows with columns found by name, also where the names were made up (x0, x1, …)."""
    return source if source.named else replace(cast(Any, source), named=True)


def _labelled(source: Any, labels: Any, weights: Any) -> Source:
    """A source with the labels and the weights it has, or those of columns of it."""
    if weights is not None:
        if not isinstance(weights, str) or not hasattr(source, "with_weight"):
            raise BayesError(
                "weights as values go with data in memory; of files, frames and databases name the column that holds "
                "them: ",
                Remedy("sample_weight", "days"),
            )
        source = source.with_weight(weights)
    if labels is None or labels == source.target:
        return cast(Source, source)
    if not isinstance(labels, str) or not hasattr(source, "with_target"):
        raise BayesError(f"the labels of {getattr(source, 'name', 'a source')} are the name of one of its columns")
    return cast(Source, source.with_target(labels))


def for_schema(
    source: Source, schema: Schema, values: Mapping[str, Iterable[Value]], classes: Iterable[Value]
) -> Source:
    """The source reading only what the schema uses, as what it is known to hold: text stays text in every file."""
    if not isinstance(source, Narrowing) or source.asked is not None:
        return source
    asked: dict[str, Kind | None] = {}
    for name, theirs in schema.locate(list(source.kinds), source.named).items():
        role = schema.columns[name]
        if isinstance(role, (Text, DatePart)):
            asked[theirs] = "text" if isinstance(role, Text) else None
        else:
            asked[theirs] = "float" if isinstance(role, Numeric) else _text(values.get(name, ()))
    if source.target is not None:
        asked[source.target] = _text(classes)
    return source.reading(asked)


def _text(values: Iterable[Value]) -> Kind | None:
    return "string" if {type(value) for value in values} == {str} else None


@contextmanager
def naming_the_file(source: Source) -> Iterator[None]:
    """Errors about rows say which file they stand in; of rows without a label all are counted."""
    try:
        yield
    except Unlabelled as problem:
        from bayeskit.data.missing_labels import refusal_of_all

        raise refusal_of_all(source, problem) from None
    except BayesError as problem:
        here = getattr(source, "here", None)
        if here is None or here in str(problem):
            raise
        raise problem.within(here) from None


@contextmanager
def columns_held() -> Iterator[None]:
    """Errors about cells advise no other type and no other role: a model has learnt what the columns hold."""
    try:
        yield
    except BayesError as problem:
        if not any(getattr(remedy, "setting", None) in ("roles", "types") for remedy in problem.remedies):
            raise
        raise problem.without("roles", "types") from None


FRAMES_ELSEWHERE = {"pyspark": "frame.toArrow()", "dask": "frame.compute()"}
"""Packages whose frames lie on other machines, and what brings one of them here."""


def lies_elsewhere(data: Any) -> bool:
    """Whether this is a frame of a cluster, whose rows are on other machines."""
    return type(data).__module__.partition(".")[0] in FRAMES_ELSEWHERE and hasattr(data, "columns")


def refuse_frame_elsewhere(data: Any) -> None:
    """Refuse a frame of a cluster where rows are read on this machine: nobody brings them here unasked."""
    if lies_elsewhere(data):
        package = type(data).__module__.partition(".")[0]
        raise BayesError(
            f"the rows of this {package} frame lie on other machines, and this work reads rows on this one: pass "
            f"{FRAMES_ELSEWHERE[package]} where they fit in memory, or a model that needs counts alone, such as ",
            OtherModel("NaiveBayes"),
        )


def check_weight_column(name: str, there: Iterable[str], target: Any) -> None:
    """Refuse a column of weights that is not there, or is the target."""
    names = list(there)
    if name not in names:
        known = f"(columns: {', '.join(names)}){did_you_mean(name, names) or '.'}"
        raise SchemaMismatch(f"there is no column of weights {name!r} {known}", culprit=name)
    if name == target:
        raise BayesError(f"column {name!r} cannot be both the target and the weight of the rows", culprit=name)


def weight_column(column: Column, name: str, start: int) -> Floats:
    """The weights that a column holds; a cell that is missing or no weight is named with its row."""
    from bayeskit.data.numbers import as_floats

    numbers = as_floats(column, name, start)
    gaps = np.flatnonzero(np.isnan(numbers))
    if len(gaps):
        raise BayesError(
            f"row {start + gaps[0]} has no weight: column {name!r} is missing there",
            culprit=name,
            place=start + gaps[0],
        )
    try:
        weights = as_weights(numbers, len(numbers))
    except BayesError as problem:
        raise problem.within(f"column {name!r}, rows from {start} on") from None
    assert weights is not None
    return weights


def as_weights(weights: Any, n_rows: int) -> Floats | None:
    if weights is None:
        return None
    try:
        array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise BayesError("sample_weight holds no numbers; pass one a row, as a list, array or series") from None
    array = np.full(n_rows, array) if array.ndim == 0 else np.require(array, requirements=["C", "A"])
    if array.ndim != 1:
        raise BayesError(f"Sample weights must be 1D array or scalar, got an array of shape {array.shape}")
    if len(array) != n_rows:
        raise BayesError(f"sample_weight.shape == {array.shape}, expected ({n_rows},): one weight a row")
    bad = np.flatnonzero(~(array >= 0) | np.isinf(array))
    if len(bad):
        raise BayesError(f"row {bad[0]} has weight {array[bad[0]]}; weights are finite and not negative")
    far = np.flatnonzero((array > 0) & ((array < LIGHTEST) | (array > HEAVIEST)))
    if len(far):
        raise BayesError(
            f"row {far[0]} has weight {array[far[0]]:g}; weights are 0 or from {LIGHTEST:g} to {HEAVIEST:g}, so that "
            "products of their sums are numbers: scale them"
        )
    return array


def cut(column: Column, start: int, stop: int) -> Column:
    """Rows start..stop of a column, without a copy where the bytes are in this machine's order and aligned."""
    if not isinstance(column, np.ndarray):
        return column.slice(start, stop - start)
    part = column[start:stop]
    return aligned(part) if part.dtype.isnative else part.astype(part.dtype.newbyteorder("="))


def aligned(array: Array) -> Array:
    """An array whose cells stand where their type can be read, as the kernels ask: a copy where they do not.

    >>> record = np.zeros(2, dtype=[("flag", "u1"), ("x", "f8")])
    >>> record["x"].flags.aligned, aligned(record["x"]).flags.aligned
    (False, True)
    """
    return array if array.flags.aligned else array.copy()


def is_arrow(column: Column) -> bool:
    """Whether a column is an Arrow array (arrays of NumPy have no ``type``)."""
    return not isinstance(column, np.ndarray)


def as_one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A chunked column as one array."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(_unified(column))
    return column


def _unified(column: pa.ChunkedArray) -> list[pa.Array]:
    import pyarrow as pa

    if column.num_chunks == 0:
        return [pa.nulls(0, column.type)]
    return list((column.unify_dictionaries() if pa.types.is_dictionary(column.type) else column).chunks)


def taken(column: Column, rows: Array) -> Column:
    """Some cells of a column."""
    return plain_strings(column).take(rows) if is_arrow(column) else column[rows]


def plain_strings(column: Column) -> Column:
    """Strings as Arrow can take them by number: polars' views of them cannot be."""
    import pyarrow as pa

    return column.cast(pa.large_string()) if is_arrow(column) and pa.types.is_string_view(column.type) else column

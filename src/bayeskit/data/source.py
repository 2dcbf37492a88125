"""Define sources: objects that state the kinds of their columns and yield batches of rows.

A column of a batch is an Arrow array or a NumPy view (strided views of a matrix are read where they lie: a
copy into Arrow would cost more than the counting). A source never holds more than it was given.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Protocol, Self, cast, runtime_checkable

import numpy as np

from bayeskit.arrow_arrays import Column, take_cells
from bayeskit.data.cells import as_floats
from bayeskit.data.schema import DatePart, Kind, Numeric, Schema, Text, WrittenNumber
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError, SchemaMismatch, Unlabeled
from bayeskit.nearest import did_you_mean
from bayeskit.typing import Array, Floats, Ints

LIGHTEST, HEAVIEST = 1e-100, 1e100  # of weights over zero


@dataclass(frozen=True)
class Responsibilities:
    """Soft labels of shape (n_rows, n_classes): the share of each row in each class."""

    classes: tuple[Value, ...]
    matrix: Floats

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or self.matrix.shape[1] != len(set(self.classes)):
            raise BayesError(
                f"class probabilities of shape {self.matrix.shape} do not fit the classes {list(self.classes)}: "
                "one column a class, each class once"
            )
        bad = np.flatnonzero(~(np.isfinite(self.matrix) & (self.matrix >= 0)).all(axis=1))
        if len(bad):
            raise BayesError(f"row {bad[0]} has a class probability that is negative or no finite number")

    def __len__(self) -> int:
        return len(self.matrix)


@dataclass(frozen=True)
class Batch:
    """A contiguous batch of rows: columns, labels and weights."""

    columns: Mapping[str, Column]
    n_rows: int
    start: int = 0
    labels: Column | Responsibilities | None = None
    weights: Floats | None = None
    sequence_starts: Ints | None = None  # where rows make up sequences: begin of each, and the end
    kept: Mapping[str, Column] = field(default_factory=dict)  # columns to copy, as they are in the file

    def take(self, rows: Array, names: Iterable[str] | None = None) -> Batch:
        """Return some rows, of some columns or of all."""
        columns = {name: take_cells(self.columns[name], rows) for name in (self.columns if names is None else names)}
        weights = None if self.weights is None else self.weights[rows]
        labels = self.labels
        if isinstance(labels, Responsibilities):
            labels = Responsibilities(labels.classes, labels.matrix[rows])
        elif labels is not None:
            labels = take_cells(labels, rows)
        return Batch(columns, len(rows), self.start, labels, weights)

    def with_one_label(self) -> Batch:
        """Return rows with class probabilities once for each of their classes, with the probability as weight."""
        if not isinstance(self.labels, Responsibilities):
            return self
        rows, codes = np.nonzero(self.labels.matrix)
        shares = self.labels.matrix[rows, codes]
        classes = np.empty(len(self.labels.classes), dtype=object)
        classes[:] = self.labels.classes
        weights = shares if self.weights is None else shares * self.weights[rows]
        return replace(self.take(rows), labels=classes[codes], weights=weights)

    def cells_of(self, name: str) -> Column:
        """Return a column as it is in the file, where it was kept, else as it was read."""
        return self.kept[name] if name in self.kept else self.columns[name]


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
    """A source with a single batch, without its labels."""

    kinds: Mapping[str, Kind]
    batch: Batch
    here: str | None = None
    named: bool = True
    target: str | None = None

    def batches(self) -> Iterator[Batch]:
        yield replace(self.batch, labels=None)


@runtime_checkable
class Narrowing(Source, Protocol):
    """A source that can restrict its columns and the kinds it reads them as."""

    @property
    def columns_to_read(self) -> Mapping[str, Kind | None] | None: ...
    def reading(self, columns_to_read: Mapping[str, Kind | None]) -> Source: ...


def first_rows(source: Any) -> Batch | None:
    """Return some of the first rows for advice, reading at most one batch; None if there are no rows.

    A source whose rows are read by other machines has a method ``look`` for it.
    """
    if hasattr(source, "look"):
        looked: Batch | None = source.look()
        return looked
    rows = iter(source.batches())
    first = next(rows, None)
    close_rows(rows)
    return first


def close_rows(rows: Iterator[Any]) -> None:
    """Close an unfinished iteration, which frees the underlying file or connection."""
    if isinstance(rows, Generator):
        rows.close()


@contextmanager
def closing_rows(rows: Iterator[Any]) -> Iterator[None]:
    """Close the iteration after an error, so that the error handler can read the source again."""
    try:
        yield
    except BaseException:
        close_rows(rows)
        raise


@contextmanager
def naming_the_file(source: Source) -> Iterator[None]:
    """Add the file name to errors about rows; count all unlabeled rows."""
    try:
        yield
    except Unlabeled as problem:
        from bayeskit.data.missing_labels import refusal_of_all

        raise refusal_of_all(source, problem) from None
    except BayesError as problem:
        here = getattr(source, "here", None)
        if here is None or here in str(problem) or problem.is_about_setting:
            raise
        raise problem.within(here) from None


def in_one_state(source: Any) -> AbstractContextManager[None]:
    """Return a context in which every pass over a source finds the same rows, if the source supports it."""
    return source.in_one_state() if hasattr(source, "in_one_state") else nullcontext()


def engine_of(source: Any) -> Any:
    """Return the engine whose workers read the rows of a source; None if they are read on this machine."""
    return getattr(source, "engine", None)


def is_source(data: Any) -> bool:
    """Return True if the data is already a source."""
    return hasattr(data, "batches") and hasattr(data, "kinds")


def by_name(source: Source) -> Source:
    """Return the source with columns looked up by name, also if the names were generated (x0, x1, …)."""
    return source if source.named else replace(cast(Any, source), named=True)


def for_schema(
    source: Source, schema: Schema, values: Mapping[str, Iterable[Value]], classes: Iterable[Value]
) -> Source:
    """Restrict a source to the columns of the schema, read as the kinds it expects: text stays text in every file."""
    if not isinstance(source, Narrowing) or source.columns_to_read is not None:
        return source
    asked: dict[str, Kind | None] = {}
    for name, theirs in schema.locate(list(source.kinds), source.named).items():
        role = schema.columns[name]
        if isinstance(role, (Text, DatePart)):
            asked[theirs] = "text" if isinstance(role, Text) else None
        elif isinstance(role, Numeric):
            is_number = not isinstance(role, WrittenNumber) or source.kinds[theirs] in ("integer", "float")
            asked[theirs] = "float" if is_number else "string"
        elif name not in values and source.kinds[theirs] in ("integer", "float"):
            asked[theirs] = "code"
        else:
            asked[theirs] = _text(values.get(name, ()))
    if source.target is not None:
        asked[source.target] = _text(classes)
    return source.reading(asked)


def _text(values: Iterable[Value]) -> Kind | None:
    return "string" if {type(value) for value in values} == {str} else None


OR_DECLARE = re.compile(r", or (?:declare|read the column as text:) (?:roles|types)=.*\.$", re.DOTALL)
"""The end of a hint that suggests another role or type."""


@contextmanager
def without_type_hints() -> Iterator[None]:
    """Omit hints about other types or roles from errors about cells, since a fitted model fixes them."""
    try:
        yield
    except BayesError as problem:
        hint = OR_DECLARE.sub(".", problem.hint)
        if hint == problem.hint:
            raise
        raise type(problem)(problem.message, hint=hint) from None


def check_weight_column(name: str, there: Iterable[str], target: Any) -> None:
    """Raise an error for a weight column that is absent or is the target."""
    names = list(there)
    if name not in names:
        known = f"(columns: {', '.join(names)}){did_you_mean(name, names) or '.'}"
        raise SchemaMismatch(f"there is no column of weights {name!r} {known}")
    if name == target:
        raise BayesError(f"column {name!r} cannot be both the target and the weight of the rows")


class HasHead:
    """Mix-in of sources with a ``head`` of all columns: some are read, one is the target, one the weight."""

    head: Any
    target: str | None
    weight: str | None
    columns_to_read: Mapping[str, Kind | None] | None
    kinds: Any
    _subject: Any = "the frame"  # of messages, which may name several files

    def with_target(self, name: str) -> Self:
        """Return a source that takes its labels from this column."""
        if name not in self.head:
            known = f"(columns: {', '.join(self.head)}){did_you_mean(name, self.head)}"
            raise SchemaMismatch(f"there is no target column {name!r} in {self._subject} {known}")
        return self._copy(target=name)

    def with_weight(self, name: str) -> Self:
        """Return a source that takes its row weights from this column."""
        check_weight_column(name, self.head, self.target)
        return self._copy(weight=name)

    def reading(self, columns_to_read: Mapping[str, Kind | None]) -> Self:
        """Return a source restricted to these columns, read as these kinds (None: as inferred)."""
        return self._copy(columns_to_read=dict(columns_to_read))

    @property
    def columns_read(self) -> list[str]:
        """Return the names of the columns that are read, the target and the weight among them."""
        beside = [name for name in (self.target, self.weight) if name is not None]
        return list(dict.fromkeys([*(self.kinds if self.columns_to_read is None else self.columns_to_read), *beside]))

    def to_batch(self, columns: dict[str, Column], n_rows: int, start: int) -> Batch:
        """Return rows with their labels and weights taken out of the columns."""
        labels = None if self.target is None else columns.pop(self.target)
        weights = None if self.weight is None else weight_column(columns.pop(self.weight), self.weight, start)
        return Batch(columns, n_rows, start, labels, weights)

    def _copy(self, **changes: Any) -> Self:
        """Return a copy with some settings changed, keeping the inferred types."""
        copy = replace(cast(Any, self), **changes)
        copy.__dict__.update(
            {key: vars(self)[key] for key in ("head", "fields", "_now", "_codes") if key in vars(self)}
        )
        return copy


def weight_column(column: Column, name: str, start: int) -> Floats:
    """Return the weights of a column; raise an error naming the row of a missing or invalid weight."""
    numbers = as_floats(column, name, start)
    gaps = np.flatnonzero(np.isnan(numbers))
    if len(gaps):
        raise BayesError(
            f"row {start + gaps[0]} has no weight: column {name!r} is missing there",
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


@dataclass(frozen=True)
class ReadThrough:
    """A wrapper that forwards everything to an underlying source."""

    source: Any
    kinds = property(attrgetter("source.kinds"))
    named = property(attrgetter("source.named"))
    target = property(attrgetter("source.target"))

    @property
    def name(self) -> str | None:
        """Return the display name, None if there is none."""
        return getattr(self.source, "name", None)

    @property
    def here(self) -> str | None:
        """Return the location of the rows, for error messages."""
        return getattr(self.source, "here", None)

    @property
    def unordered(self) -> bool:
        """Return True if two passes may yield the rows in different orders."""
        return getattr(self.source, "unordered", False)

    def in_one_state(self) -> AbstractContextManager[None]:
        """Return a context in which every pass finds the same rows, if the source supports it."""
        return in_one_state(self.source)

    @property
    def columns_to_read(self) -> Mapping[str, Kind | None] | None:
        """Return the columns in use, if the source can be restricted."""
        return self.source.columns_to_read if isinstance(self.source, Narrowing) else {}

    def reading(self, columns_to_read: Mapping[str, Kind | None]) -> Self:
        """Return a source restricted to these columns."""
        return (
            replace(self, source=self.source.reading(columns_to_read)) if isinstance(self.source, Narrowing) else self
        )

    def batches(self) -> Iterator[Batch]:
        """Yield the rows of the source."""
        yield from self.source.batches()

"""Define the engine protocol, and sources that workers read: files in parts, and cluster frames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, Protocol

from bayeskit.data.frames import MemorySource, is_cluster_frame, open_source
from bayeskit.data.schema import Kind, Schema
from bayeskit.data.source import Batch, HasHead, ReadThrough, Source, close_rows, first_rows, for_schema
from bayeskit.errors import BayesError, SchemaMismatch, with_article
from bayeskit.lazy import pa
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally

MAX_CATEGORIES = 100_000  # values of a column that the tallies of parts may hold


class Engine(Protocol):
    """The protocol of engines, which count a source into a tally where the data is stored."""

    def owns(self, data: Any) -> Source | None:
        """Return the data as a source of this engine; None if its workers cannot read it.

        Such a source has kinds and a ``look`` at a few rows; its ``batches`` raise an error.
        """
        ...

    def collect(
        self, source: Any, schema: Schema, plan: Plan, *, n_threads: int = 1, memory_limit: float | None = None
    ) -> Tally:
        """Count the plan over all rows of a source that this engine owns."""
        ...


def open_on(engine: Engine | None, data: Any, labels: Any = None, weights: Any = None) -> Source:
    """Open data as a source of the given engine, or of the cluster of a frame."""
    for given, setting in ((labels, "y"), (weights, "sample_weight")):
        if given is not None and not isinstance(given, str) and is_cluster_frame(data):
            name = str(getattr(given, "name", None) or "y")
            raise BayesError(
                f"{setting}= of a frame of a cluster is the name of one of its columns, not "
                f"{with_article(type(given).__name__)}, whose rows have no order there",
                hint=f"pass the whole frame and the name, as in fit(frame, {name!r})",
            )
    if engine is None:
        return open_source(engine_of_frame(data).owns(data) if is_cluster_frame(data) else data, labels, weights)
    if not is_cluster_frame(data):
        data, labels, weights = open_source(data, labels, weights), None, None
    source = engine.owns(data)
    if source is None:
        what = getattr(data, "name", None) or with_article(type(data).__name__)
        raise BayesError(
            f"{type(engine).__name__} does not read {what}",
            hint="give it files, a table or a frame of its own, or fit without engine=",
        )
    return open_source(source, labels, weights)


def engine_of_frame(frame: Any) -> Any:
    """Return the engine of the cluster that holds a frame."""
    if type(frame).__module__.partition(".")[0] == "pyspark":
        from bayeskit.engines.spark import Spark

        return Spark(frame.sparkSession)
    from bayeskit.engines.dask import Dask

    return Dask()


def rows_not_here(engine: Any) -> BayesError:
    """Build the error for reading all rows on this machine."""
    return BayesError(
        f"this work must see the rows themselves, which {type(engine).__name__} reads elsewhere",
        hint="fit without engine=, on rows that this machine can read (a sample may do), or take a model that needs "
        "counts alone, such as NaiveBayes",
    )


@dataclass(frozen=True)
class RemoteSource(ReadThrough):
    """A divisible source that is read by the workers of an engine.

    ``passes`` are the rows that each reading has found so far: the data must not change between them.
    """

    engine: Any
    passes: list[int] = field(default_factory=list, compare=False, repr=False)

    @property
    def here(self) -> None:
        """Return None: workers report the files that they read."""

    def with_target(self, name: str) -> RemoteSource:
        """Return a source that takes its labels from this column."""
        return replace(self, source=open_source(self.source, name))

    def with_weight(self, name: str) -> RemoteSource:
        """Return a source that takes its row weights from this column."""
        return replace(self, source=open_source(self.source, None, name))

    def look(self) -> Batch | None:
        """Return some of the first rows."""
        return first_rows(self.source)

    def batches(self) -> Iterator[Batch]:
        """Raise an error: rows are never collected on this machine implicitly."""
        raise rows_not_here(self.engine)

    @property
    def n_bytes(self) -> int:
        """Return the stored size of all files, 0 if there are none."""
        return sum(place.size or 0 for place in places(self.source))

    def parts(self, n: int, schema: Schema) -> Sequence[Source]:
        """Split the columns of a schema into parts for the workers, with absolute file paths."""
        source: Any = for_schema(self.source, schema, {}, ())
        return [part.absolute() if hasattr(part, "absolute") else part for part in source.parts(n)]


@dataclass(frozen=True)
class FirstRows(ReadThrough):
    """The first batch of a source."""

    def batches(self) -> Iterator[Batch]:
        """Yield one batch."""
        rows = iter(self.source.batches())
        yield from islice(rows, 1)
        close_rows(rows)


def places(source: Any) -> list[Any]:
    """Return the files of a source, if any."""
    return [file.place for file in getattr(source, "files", ()) if hasattr(file, "place")]


def as_remote_source(data: Any, engine: Any) -> RemoteSource | None:
    """Return files or a table as a remote source; None for rows that cannot be split, such as a pipe."""
    if isinstance(data, RemoteSource):
        return replace(data, engine=engine)
    source = open_source(data)
    in_pipes = any(place.size is None for place in places(source))
    return RemoteSource(source, engine) if hasattr(source, "parts") and not in_pipes else None


Work = Callable[[Any], Mapping[str, Any]]  # from some rows as a table to more columns, Arrow arrays
LOOK = 10_000  # rows that are looked at for advice
TOGETHER = 1 << 17  # rows that are counted at a time: clusters send fewer


@dataclass(frozen=True)
class ClusterFrame(HasHead, ABC):
    """A cluster frame with the columns in use, the target and the weight column.

    ``passes`` are the rows that each reading has found so far: the data must not change between them.
    """

    frame: Any
    engine: Any
    target: str | None = None
    weight: str | None = None
    columns_to_read: Mapping[str, Kind | None] | None = None
    named: bool = True
    passes: list[int] = field(default_factory=list, compare=False, repr=False)

    @cached_property
    @abstractmethod
    def head(self) -> Mapping[str, Kind]:
        """Return the kinds of all columns."""

    @abstractmethod
    def first(self, names: list[str]) -> Any:
        """Return some of the first rows of these columns as a table in memory."""

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Return the kinds of all columns except the target and the weight."""
        return {name: kind for name, kind in self.head.items() if name not in (self.target, self.weight)}

    def look(self) -> Batch | None:
        """Return some of the first rows."""
        return next(iter(self.first_rows().batches()), None)

    def first_rows(self) -> Source:
        """Return some of the first rows as a table in memory with labels and weights."""
        return labeled(open_source(self.first(self.columns_read)), self.target, self.weight)

    def batches(self) -> Iterator[Batch]:
        """Raise an error: rows are never collected on this machine implicitly."""
        raise rows_not_here(self.engine)


def labeled(source: Source, target: str | None, weight: str | None) -> Source:
    """Return a table in memory with two of its columns as labels and weights."""
    assert isinstance(source, MemorySource)
    source = source if target is None else source.with_target(target)
    return source if weight is None else source.with_weight(weight)


def check_names(names: list[str]) -> None:
    """Raise an error for a frame with duplicate column names."""
    if twice := [name for name in names if names.count(name) > 1]:
        raise SchemaMismatch(f"the frame has more than one column named {twice[0]!r}: rename or drop one")


@dataclass(frozen=True)
class ArrivingBatches(HasHead):
    """The rows of a part as Arrow batches, read once and combined into larger ones."""

    number: int
    arriving: Iterator[pa.RecordBatch]
    names: tuple[str, ...]
    target: str | None = None
    weight: str | None = None
    named: bool = True

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Return the columns; their kinds come from the schema."""
        return {name: "object" for name in self.names if name not in (self.target, self.weight)}

    @property
    def here(self) -> str:
        """Return the location for error messages: rows are numbered within their part."""
        return f"part {self.number} of the frame"

    def batches(self) -> Iterator[Batch]:
        """Yield batches of some ten thousand rows."""
        waiting: list[pa.RecordBatch] = []
        start, n_rows = 0, 0
        for batch in self.arriving:
            waiting.append(batch)
            n_rows += batch.num_rows
            if n_rows >= TOGETHER:
                yield self._batch(pa.Table.from_batches(waiting), start)
                start, n_rows, waiting = start + n_rows, 0, []
        if n_rows:
            yield self._batch(pa.Table.from_batches(waiting), start)

    def _batch(self, table: pa.Table, start: int) -> Batch:
        columns = dict(zip(table.column_names, table.combine_chunks().columns, strict=True))
        return self.to_batch(columns, table.num_rows, start)

"""Wrap cluster frames as sources: kinds are known here, rows are read by the workers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bayeskit.data.frames import MemorySource, open_source
from bayeskit.data.schema import Kind
from bayeskit.data.source import Batch, HasHead, Source
from bayeskit.engines.engine import rows_not_here
from bayeskit.errors import SchemaMismatch
from bayeskit.lazy import pa

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
    asked: Mapping[str, Kind | None] | None = None
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
        source = labeled(open_source(self.first(self.columns_read)), self.target, self.weight)
        return next(iter(source.batches()), None)

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

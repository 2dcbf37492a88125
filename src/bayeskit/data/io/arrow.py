"""Stream the rows of pyarrow datasets, of record batch readers and of functions that open one."""

from __future__ import annotations

import functools
import inspect
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from typing import Any

from bayeskit.data.frames import arrow_kind
from bayeskit.data.io.streams import Spool
from bayeskit.data.schema import Kind
from bayeskit.data.source import Batch, HasHead
from bayeskit.errors import BadFile, BayesError, SchemaMismatch
from bayeskit.lazy import pa

SCAN = {"batch_size": 1 << 17, "batch_readahead": 2}  # bounds the memory of a scan


def as_arrow_source(data: Any) -> ReaderSource | None:
    """Return a dataset, a reader or a function that opens one as a source; None for anything else."""
    if type(data).__module__ == "pyarrow._dataset" and hasattr(data, "get_fragments"):
        if fragments := _fragments(data):
            return DatasetSource(data.schema, fragments=fragments)
        return ReaderSource(data.schema, lambda names: data.scanner(names, fragment_readahead=1, **SCAN).to_reader())
    if type(data).__module__ == "pyarrow.lib" and type(data).__name__ == "RecordBatchReader":
        data = _copy_to_disk(data)
    elif not (inspect.isroutine(data) or isinstance(data, functools.partial)):
        return None
    return ReaderSource(_open_reader(data).schema, lambda _: _open_reader(data))


def _fragments(dataset: Any) -> tuple[Any, ...]:
    """Return the files of a dataset; none where it has a filter, which fragments would not apply, or no files."""
    try:
        fragments = tuple(dataset.get_fragments())
    except ValueError:
        return ()
    return fragments if all(hasattr(one, "path") for one in fragments) else ()


@dataclass(frozen=True)
class ReaderSource(HasHead):
    """Rows of the reader that ``opener`` opens anew for each pass, with at least the columns of the given names."""

    schema: pa.Schema
    opener: Callable[[list[str]], Any] | None = None
    target: str | None = None
    weight: str | None = None
    columns_to_read: Mapping[str, Kind | None] | None = None
    named: bool = True

    name = here = "the reader"
    _subject = property(attrgetter("name"))

    @cached_property
    def head(self) -> Mapping[str, pa.DataType]:
        """Return the types of all columns."""
        names = self.schema.names
        if twice := [name for name in names if names.count(name) > 1]:
            raise SchemaMismatch(f"{self.name} has more than one column named {twice[0]!r}: rename or drop one")
        return dict(zip(names, self.schema.types, strict=True))

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Return the kinds of all columns except the target and the weight."""
        return {name: arrow_kind(type_) for name, type_ in self.head.items() if name not in (self.target, self.weight)}

    def batches(self) -> Iterator[Batch]:
        """Yield all rows."""
        start = 0
        try:
            for rows in self._stream(self.columns_read):
                if rows.num_rows:
                    rows.validate(full=True)
                    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
                    yield self.to_batch(columns, rows.num_rows, start)
                    start += rows.num_rows
        except (pa.ArrowException, OSError) as problem:
            raise BadFile(f"{self.name}, after row {start}: {problem}") from None

    def _stream(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        assert self.opener is not None
        for batch in self.opener(names):
            yield batch.select(names)


@dataclass(frozen=True)
class DatasetSource(ReaderSource):
    """Rows of the files of a dataset, its fragments, which are the parts."""

    fragments: tuple[Any, ...] = ()

    @property
    def name(self) -> str:  # type: ignore[override]
        """Return the display name: the first file of the dataset."""
        more = len(self.fragments) - 1
        return self.fragments[0].path + (f" and {more} more" if more else "")

    here = name

    def parts(self, n: int) -> list[DatasetSource]:
        """Split into at most ``n`` runs of fragments, or of row groups where there are few Parquet files."""
        pieces = list(self.fragments)
        if len(pieces) < n:
            pieces = [
                group
                for one in pieces
                for group in (one.split_by_row_group() if hasattr(one, "split_by_row_group") else [one])
            ]
        n = min(n, len(pieces))
        borders = [len(pieces) * i // n for i in range(n + 1)]
        return [self._copy(fragments=tuple(pieces[start:stop])) for start, stop in pairwise(borders)]

    def _stream(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        for fragment in self.fragments:
            yield from fragment.to_batches(schema=self.schema, columns=names, **SCAN)


def _open_reader(opener: Any) -> pa.RecordBatchReader:
    """Open a reader by its function."""
    opened = opener()
    try:
        return pa.RecordBatchReader.from_stream(opened)
    except (TypeError, pa.ArrowException):
        raise BayesError(
            f"give a function that opens a RecordBatchReader or a table: this one returned {str(opened)[:80]}"
        ) from None


def _copy_to_disk(reader: Any) -> Callable[[], Any]:
    """Copy a reader, which can be read once, to a temporary file; return a function that opens it."""
    spool = Spool(io.BytesIO(), "the reader")
    with pa.ipc.new_stream(pa.PythonFile(spool, mode="w"), reader.schema) as copy:
        for batch in reader:
            copy.write_batch(batch)
    return lambda: pa.ipc.open_stream(spool.raw())

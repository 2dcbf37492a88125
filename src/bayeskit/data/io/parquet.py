"""Parquet files, read by row group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from bayeskit.arrow_arrays import as_doubles
from bayeskit.data.io.streams import Place, Spool, fitting, reading_hint
from bayeskit.errors import BadFile, SchemaMismatch
from bayeskit.lazy import pa

ROWS = 1 << 17  # rows of a batch
MAGIC = b"PAR1"


class Piece(NamedTuple):
    """A file that can be read independently: its size in bytes, and its rows if known."""

    file: Any
    n_bytes: int
    n_rows: int | None = None


@dataclass(frozen=True)
class ParquetFile:
    """A Parquet file, or some of its row groups; ``first_row`` is the number of its first row."""

    place: Place
    row_groups: tuple[int, ...] | None = None
    first_row: int = 0

    def head(self) -> pa.Schema:
        """Return names and types."""
        file = self._open()
        try:
            return file.schema_arrow
        finally:
            file.close()

    def pieces(self) -> list[Piece]:
        """Return the row groups as independent files; the whole file if there are none or it is a pipe."""
        file = self._open()
        try:
            groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        finally:
            file.close()
        if isinstance(self.place, Spool) or not groups or self.row_groups is not None:
            return [Piece(self, self.place.size or 0, sum(group.num_rows for group in groups))]
        pieces, row = [], 0
        for i, group in enumerate(groups):
            size = sum(group.column(j).total_compressed_size for j in range(group.num_columns))
            pieces.append(Piece(replace(self, row_groups=(i,), first_row=row), size, group.num_rows))
            row += group.num_rows
        return pieces

    def joined(self, other: Any) -> ParquetFile | None:
        """Join two adjacent runs of row groups of one file; None if they are not adjacent."""
        if not isinstance(other, ParquetFile) or other.place != self.place or not self.row_groups:
            return None
        follows = other.row_groups and other.row_groups[0] == self.row_groups[-1] + 1
        return replace(self, row_groups=(*self.row_groups, *other.row_groups)) if follows and other.row_groups else None

    def batches(
        self, types: Mapping[str, pa.DataType], kept: Sequence[str] = ()
    ) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield batches of these columns, cast to these types, then ``kept`` ones as they are; and the bytes read."""
        names, row = list(dict.fromkeys([*types, *kept])), 0
        schema = self.head()
        if absent := [name for name in names if name not in schema.names]:
            raise SchemaMismatch(f"{self.place.name} has no column {absent[0]!r} (it has: {', '.join(schema.names)})")
        few = [n for n, wanted in types.items() if pa.types.is_dictionary(wanted)]
        texts = [n for n in few if pa.types.is_string(t := schema.field(n).type) or pa.types.is_large_string(t)]
        file = self._open(texts)
        try:
            total, size = max(file.metadata.num_rows, 1), self.place.size or 0
            groups = None if self.row_groups is None else list(self.row_groups)
            for batch in file.iter_batches(ROWS, groups, columns=names, use_threads=False):
                batch.validate(full=True)  # codes within their dictionary, texts in UTF-8: nothing else looks at it
                row += batch.num_rows
                cells = [batch.column(name) for name in kept]
                batch = _cast_columns(batch.select(list(types)), types, schema)
                if kept:
                    batch = pa.RecordBatch.from_arrays([*batch.columns, *cells], names=[*types, *kept])
                yield batch, size * row // total
        except (pa.ArrowException, OSError, UnicodeError) as problem:
            hint = reading_hint(problem, "The file is damaged; copy it again.")
            raise BadFile(f"{self.place.name}, after row {self.first_row + row}: {problem}. {hint}") from None
        finally:
            file.close()

    def lines_of(self, rows: Sequence[int]) -> None:
        """Return None: Parquet has no lines."""

    def _open(self, texts: list[str] | None = None) -> Any:
        import pyarrow.parquet as pq

        raw = self.place.raw()
        try:
            if isinstance(self.place, Spool):
                raw = pa.PythonFile(raw, mode="r")
            file = pq.ParquetFile(raw, read_dictionary=texts, pre_buffer=False)
            _ = file.schema_arrow.names  # names that are not text show up here
            return file
        except UnicodeDecodeError as problem:
            raise BadFile(
                f"{self.place.name}: the name of a column is not UTF-8; in {fitting(problem.object)} it would read "
                f"{problem.object.decode(fitting(problem.object), 'replace')!r}. "
                "Write the file again with names in UTF-8, or as CSV, which can be read in any encoding."
            ) from None
        except (pa.ArrowException, OSError) as problem:
            if hint := reading_hint(problem):
                raise BadFile(f"{self.place.name} cannot be read: {problem}. {hint}") from None
            raise BadFile(
                f"{self.place.name} is not a whole Parquet file: {str(problem).split('.')[0]} (at its last bytes, "
                "where the table of contents stands). It may be cut off; copy it again."
            ) from None


def _cast_columns(batch: pa.RecordBatch, types: Mapping[str, pa.DataType], schema: pa.Schema) -> pa.RecordBatch:
    for i, (name, wanted) in enumerate(types.items()):
        if wanted != schema.field(name).type:
            column = batch.column(name)
            if pa.types.is_dictionary(wanted):
                column = column if pa.types.is_dictionary(column.type) else column.cast(wanted.value_type)
            else:  # integers beyond 2^53 are the nearest float, as those of a table in memory are
                column = as_doubles(column) if wanted == pa.float64() else column.cast(wanted)
            batch = batch.set_column(i, name, column)
    return batch

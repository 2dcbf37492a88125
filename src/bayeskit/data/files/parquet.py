"""Parquet in batches: only the columns in use are read, strings as dictionaries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayeskit.data.files.encodings import fitting
from bayeskit.data.files.streams import Place, Spool
from bayeskit.errors import BadFile, SchemaMismatch

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 1 << 17  # rows of a batch
MAGIC = b"PAR1"


@dataclass(frozen=True)
class ParquetFile:
    """One Parquet file; types are its own."""

    place: Place

    def head(self) -> pa.Schema:
        """Names and types."""
        file = self._open()
        try:
            return file.schema_arrow
        finally:
            file.close()

    def batches(self, types: Mapping[str, pa.DataType]) -> Iterator[tuple[pa.RecordBatch, int]]:
        """These columns, in these types where they are others than the file's, with the bytes read so far."""
        import pyarrow as pa

        names, row = list(types), 0
        schema = self.head()
        if absent := [name for name in names if name not in schema.names]:
            raise SchemaMismatch(f"{self.place.name} has no column {absent[0]!r} (it has: {', '.join(schema.names)})")
        few = [n for n, wanted in types.items() if pa.types.is_dictionary(wanted)]
        texts = [n for n in few if pa.types.is_string(t := schema.field(n).type) or pa.types.is_large_string(t)]
        file = self._open(texts)
        try:
            total, size = max(file.metadata.num_rows, 1), self.place.size or 0
            for batch in file.iter_batches(ROWS, columns=names, use_threads=False):
                batch.validate(full=True)  # codes within their dictionary, texts in UTF-8: nothing else looks at it
                row += batch.num_rows
                yield _as_asked(batch, types, schema), size * row // total
        except (pa.ArrowException, OSError, UnicodeError) as problem:
            raise BadFile(
                f"{self.place.name}, after row {row}: {problem}. The file is damaged; copy it again."
            ) from None
        finally:
            file.close()

    def lines_of(self, rows: Sequence[int]) -> None:
        """There are no lines."""

    def _open(self, texts: list[str] | None = None) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        raw = self.place.raw()
        try:
            if isinstance(self.place, Spool):
                raw = pa.PythonFile(raw, mode="r")
            file = pq.ParquetFile(raw, read_dictionary=texts, pre_buffer=False)
            _ = file.schema_arrow.names  # names that are no text show up here
            return file
        except UnicodeDecodeError as problem:
            raise BadFile(
                f"{self.place.name}: the name of a column is not UTF-8; in {fitting(problem.object)} it would read "
                f"{problem.object.decode(fitting(problem.object), 'replace')!r}. "
                "Write the file again with names in UTF-8, or as CSV, which can be read in any encoding."
            ) from None
        except (pa.ArrowException, OSError) as problem:
            raise BadFile(
                f"{self.place.name} is no whole Parquet file: {str(problem).split('.')[0]} (at its last bytes, where "
                "the table of contents stands). It may be cut off; copy it again."
            ) from None


def _as_asked(batch: pa.RecordBatch, types: Mapping[str, pa.DataType], schema: pa.Schema) -> pa.RecordBatch:
    for i, (name, wanted) in enumerate(types.items()):
        if wanted != schema.field(name).type:
            import pyarrow as pa

            column = batch.column(name)
            if pa.types.is_dictionary(wanted):
                column = column if pa.types.is_dictionary(column.type) else column.cast(wanted.value_type)
            else:
                column = column.cast(wanted)
            batch = batch.set_column(i, name, column)
    return batch

"""Tables to a file or to standard output, batch by batch; a file appears when it is whole."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bayeskit.errors import BayesError
from bayeskit.printable import printable, printable_json
from bayeskit.storage.files import is_stream, replace_file

ENDINGS = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}


@contextmanager
def writer(output: str, kind: str | None = None) -> Iterator[Callable[[Any], None]]:
    """A function that writes one table after another, all with the same columns."""
    if output == "-":
        file = _Shown(sys.stdout.buffer) if sys.stdout.isatty() else sys.stdout.buffer
        with _Writer(file, kind or "csv") as write:
            yield write
        sys.stdout.flush()
        return
    kind = kind or ENDINGS.get(Path(output).suffix.lower()) or ("csv" if is_stream(output) else None)
    if kind is None:
        raise BayesError(f"{output}: the name's ending says the format, one of {', '.join(ENDINGS)}")
    with replace_file(output) as file, _Writer(file, kind) as write:
        yield write


class _Shown:
    """Standard output that is a terminal: the text is the data, but for what would steer the terminal.

    A file or a pipe gets the data as it is.
    """

    def __init__(self, file: Any) -> None:
        self.file = file

    def write(self, data: bytes) -> None:
        self.file.write(printable(data.decode()).encode())

    def flush(self) -> None:
        self.file.flush()


class _Writer:
    """Writes tables in one format; the first one says the columns."""

    def __init__(self, file: Any, kind: str) -> None:
        self.file, self.kind = file, kind
        self.open: Any = None
        self.first = True

    def __enter__(self) -> _Writer:
        return self

    def __call__(self, table: Any) -> None:
        table = plain(table)
        if self.kind == "jsonl":
            lines = [printable_json(json.dumps(row, ensure_ascii=False, default=str)) for row in table.to_pylist()]
            self.file.write(("\n".join(lines) + "\n").encode())
        elif self.kind == "csv":
            self._write_csv(table)
        else:
            import pyarrow as pa
            from pyarrow import parquet

            if self.open is None:
                self.open = parquet.ParquetWriter(pa.PythonFile(self.file, mode="w"), table.schema)
            self.open.write_table(table.cast(self.open.schema))
        self.first = False
        if self.kind != "parquet":
            self.file.flush()  # whoever reads a pipe gets each batch at once

    def _write_csv(self, table: Any) -> None:
        """Quotes only where a text needs them, which Arrow knows for a whole batch alone."""
        import csv as header
        import io

        import pyarrow as pa
        from pyarrow import csv

        if self.first:
            line = io.StringIO()
            header.writer(line, lineterminator="\n").writerow(table.column_names)
            self.file.write(line.getvalue().encode())
        for quoting in ("none", "needed"):
            block = io.BytesIO()
            try:
                csv.write_csv(table, block, csv.WriteOptions(include_header=False, quoting_style=quoting))
                break
            except pa.ArrowInvalid:  # some text has a comma, a quote or a line break
                continue
        self.file.write(block.getvalue())

    def __exit__(self, *_: object) -> None:
        if self.open is not None:
            self.open.close()


def plain(table: Any) -> Any:
    """Dictionaries as what they hold, so that every batch has the same columns."""
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(field.type.value_type))
    return table

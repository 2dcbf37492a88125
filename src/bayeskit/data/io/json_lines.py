"""Read JSON lines: one object per line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayeskit.data.io.streams import Place, Unreadable, marked, not_in, peek, transcoding, unpacked
from bayeskit.errors import BadFile, SchemaMismatch, with_article

if TYPE_CHECKING:
    import pyarrow as pa


SAMPLE = 1 << 22  # bytes that decide the types
BLOCK = 1 << 21  # bytes read at a time
LONGEST = 1 << 26  # bytes of a line


@dataclass(frozen=True)
class JsonLines:
    """A file of JSON lines."""

    place: Place
    encoding: str | None = None
    first_line: int = 1  # its number in messages
    unreadable: Unreadable | None = None  # where cells of another type are counted, which are then missing

    def head(self) -> pa.Schema:
        """Return keys and types, inferred from the first megabytes."""
        for lines, line, _ in self._blocks(SAMPLE):
            return self._read(lines, line, None).schema
        raise BadFile(f"{self.place.name} is empty: one JSON object a line is needed")

    def batches(self, types: Mapping[str, pa.DataType | None]) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield batches of these columns with the bytes read so far; a type of None is inferred from the cells."""
        import pyarrow as pa

        plain = {n: t.value_type if pa.types.is_dictionary(t) else t for n, t in types.items() if t is not None}
        schema = pa.schema(plain)
        for lines, line, read in self._blocks(BLOCK):
            try:
                table = self._read(lines, line, schema, as_they_look=len(plain) < len(types))
            except SchemaMismatch:
                if self.unreadable is None:
                    raise
                table = self._read_by_cell(lines, types)
            for name in types.keys() - set(table.column_names):
                table = table.append_column(name, pa.nulls(len(table)))
            table = table.select(list(types))
            for batch in table.combine_chunks().to_batches():
                yield batch, read

    def lines_of(self, rows: Sequence[int]) -> list[int] | None:
        """Return the line numbers of rows (rising, 0 is the first)."""
        lines, number = [], 0
        for block, first, _ in self._blocks(BLOCK):
            for i, line in enumerate(block.split(b"\n")):
                if line.strip():
                    lines += [first + i] if number in rows else []
                    number += 1
            if len(lines) == len(rows):
                break
        return lines

    def _blocks(self, size: int) -> Iterator[tuple[bytes, int, int]]:
        """Yield (complete lines, number of the first, bytes read so far)."""
        line, rest = self.first_line, b""
        with unpacked(self.place) as (raw, stream):
            read = self._reading(stream)
            while True:
                try:
                    chunk = read(size)
                except OSError as problem:
                    raise BadFile(
                        f"{self.place.name}, after line {line}: {problem}. The file may be cut off; copy it again."
                    ) from None
                end = chunk.rfind(b"\n") + 1 if chunk else 0
                if not end and chunk:
                    rest += chunk
                    if len(rest) > LONGEST:
                        raise BadFile(f"{self.place.name}: line {line} is longer than {LONGEST >> 20} MB")
                    continue
                lines, rest = rest + chunk[:end], chunk[end:]
                if lines.strip():
                    yield lines, line, raw.tell()
                line += lines.count(b"\n")
                if not chunk:
                    return

    def _reading(self, stream: Any) -> Callable[[int], bytes]:
        """Return a function that reads UTF-8 bytes."""
        encoding = self.encoding or marked(peek(self.place))
        if encoding is None or encoding == "utf-8-sig":
            plain: Callable[[int], bytes] = stream.read
            return plain
        return transcoding(stream.read, encoding, self.place.name)

    def _read(self, lines: bytes, line: int, schema: Any, *, as_they_look: bool = True) -> Any:
        import pyarrow as pa
        from pyarrow import json

        try:
            lines.decode()  # Arrow takes bytes as they come, in keys and in cells
        except UnicodeDecodeError as problem:
            at = line + lines.count(b"\n", 0, problem.start)
            raise not_in("UTF-8", f"{self.place.name}, line {at}", lines, problem.start) from None
        try:
            return json.read_json(
                pa.BufferReader(lines),
                read_options=json.ReadOptions(block_size=len(lines) + 1, use_threads=False),
                parse_options=json.ParseOptions(
                    explicit_schema=schema, unexpected_field_behavior="infer" if as_they_look else "ignore"
                ),
            )
        except (pa.ArrowException, UnicodeError) as problem:
            raise self._error(str(problem), lines, line) from None

    def _read_by_cell(self, lines: bytes, types: Mapping[str, pa.DataType | None]) -> Any:
        """Read lines cell by cell; a cell of the wrong type becomes missing."""
        import json

        import pyarrow as pa

        assert self.unreadable is not None
        rows = [json.loads(line) for line in lines.splitlines() if line.strip()]
        columns = {}
        for name, type_ in types.items():
            plain = type_.value_type if type_ is not None and pa.types.is_dictionary(type_) else type_
            columns[name] = self.unreadable.cells(name, [row.get(name) for row in rows], plain)
        return pa.table(columns)

    def _error(self, text: str, lines: bytes, line: int) -> BadFile | SchemaMismatch:
        row = re.search(r" in row (\d+)", text)
        where = f"{self.place.name}, line {line + int(row[1])}" if row else f"{self.place.name}, after line {line}"
        if lines.lstrip().startswith(b"["):
            return BadFile(f"{where}: a JSON array, where one object a line is needed: jq -c '.[]' makes them of it")
        if changed := re.search(r"Column\(/(.*)\) changed from (\w+) to (\w+)", text):
            column, before, now = changed.groups()
            return SchemaMismatch(
                f"{where}: column {column!r} holds {with_article(now)}, but before it held {with_article(before)}. "
                "Mend the cell, make it null, or leave the column out of all lines."
            )
        if other_type := re.search(r"Failed to convert JSON to (\w+).*?:(.*)", text):
            return SchemaMismatch(
                f"{where}: {other_type[2][:40]!r} stands where the first lines have {other_type[1]} alone. Mend the "
                "cell, or write the numbers of the first lines with a decimal point."
            )
        reason = re.sub(r"^JSON parse error: |\.? in row \d+", "", text)
        return BadFile(f"{where}: this is no JSON object ({reason}). Mend or remove the line.")

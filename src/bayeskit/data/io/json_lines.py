"""Read JSON lines: one object per line.

A cell is missing if it is null, lacking, or one of the texts that are missing in CSV, such as "".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from bayeskit.data.io.streams import Place, Unreadable, marked, not_in, peek, reading_hint, transcoding, unpacked
from bayeskit.errors import BadFile, SchemaMismatch, format_setting, with_article
from bayeskit.lazy import pa, pc

SAMPLE = 1 << 22  # bytes that decide the types
BLOCK = 1 << 21  # bytes read at a time
LONGEST = 1 << 26  # bytes of a line
DEEPEST = 1000  # brackets within brackets
NULL_LINE = re.compile(rb"(?:^|\n)[ \t\r\xef\xbb\xbf]*(null)")


@dataclass(frozen=True)
class JsonLines:
    """A file of JSON lines."""

    place: Place
    encoding: str | None = None
    missing: tuple[str, ...] = ("",)  # texts that are missing cells
    first_line: int = 1  # its number in messages
    unreadable: Unreadable | None = None  # where cells of another type are counted, which are then missing
    texts: tuple[str, ...] = ()  # columns whose cells are all read as text

    def head(self) -> pa.Schema:
        """Return keys and types, inferred from the first megabytes."""
        for lines, line, _ in self._blocks(SAMPLE):
            return self._read(lines, line, None).schema
        raise BadFile(f"{self.place.name} is empty: one JSON object a line is needed")

    def batches(
        self, types: Mapping[str, pa.DataType | None], kept: Sequence[str] = ()
    ) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield batches of these columns with the bytes read so far; a type of None is inferred from the cells.

        The columns in ``kept`` follow with the values of the lines.
        """
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
            if kept:
                cells = [*table.columns, *_cells(lines, kept)]
                table = pa.Table.from_arrays(cells, names=[*types, *kept])
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
                    hint = reading_hint(problem, "The file may be cut off; copy it again.")
                    raise BadFile(f"{self.place.name}, after line {line}: {problem}. {hint}") from None
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
        from pyarrow import json

        try:
            lines.decode()  # Arrow takes bytes as they come, in keys and in cells
        except UnicodeDecodeError as problem:
            at = line + lines.count(b"\n", 0, problem.start)
            raise not_in("UTF-8", f"{self.place.name}, line {at}", lines, problem.start) from None
        self._refuse_what_crashes(lines, line)

        def read(lines: bytes) -> Any:
            table = json.read_json(
                pa.BufferReader(lines),
                read_options=json.ReadOptions(block_size=len(lines) + 1, use_threads=False),
                parse_options=json.ParseOptions(
                    explicit_schema=schema, unexpected_field_behavior="infer" if as_they_look else "ignore"
                ),
            )
            return self._without_missing(table)

        try:
            return read(lines)
        except (pa.ArrowException, UnicodeError) as problem:
            first = problem
        try:  # texts among numbers may be missing cells, and numbers among texts may be asked for as text
            return read(self._normalize(lines))
        except (pa.ArrowException, ValueError):
            raise self._error(str(first), lines, line) from None

    def _refuse_what_crashes(self, lines: bytes, line: int) -> None:
        """Refuse lines that end the process inside Arrow's reader: null as the first line, and deep nesting."""
        if null := NULL_LINE.search(lines):
            at = line + lines.count(b"\n", 0, null.start(1))
            raise BadFile(f"{self.place.name}, line {at}: null is not a JSON object. Correct or remove the line.")
        for i, text in enumerate(lines.split(b"\n")):
            if text.count(b"[") + text.count(b"{") > DEEPEST and _depth(text) > DEEPEST:
                raise BadFile(f"{self.place.name}, line {line + i}: values are nested more than {DEEPEST:,} deep.")

    def _without_missing(self, table: Any) -> Any:
        """Replace the texts that mean a missing cell by null."""
        for i, column in enumerate(table.columns):
            if pa.types.is_string(column.type):
                is_missing = pc.is_in(column, value_set=pa.array(self.missing, pa.string()))
                if pc.any(is_missing).as_py():
                    column = pc.if_else(is_missing, pa.scalar(None, pa.string()), column)
                    table = table.set_column(i, table.column_names[i], column)
        return table

    def _normalize(self, lines: bytes) -> bytes:
        """Write lines anew with missing texts as null and the cells of ``texts`` as text."""
        import json

        normalized = []
        for line in lines.split(b"\n"):
            row = json.loads(line) if line.strip() else None
            if isinstance(row, dict):
                row = {name: None if _is_text(cell, self.missing) else cell for name, cell in row.items()}
                row |= {name: as_text(row[name]) for name in self.texts if name in row}
                line = json.dumps(row).encode()
            normalized.append(line)
        return b"\n".join(normalized)

    def _read_by_cell(self, lines: bytes, types: Mapping[str, pa.DataType | None]) -> Any:
        """Read lines cell by cell; a cell of the wrong type becomes missing."""
        import json

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
                f"{where}: column {column!r} holds {with_article(now)}, but before it held {with_article(before)}.",
                hint="Correct the cell, make it null, or read the column as text: "
                f"{format_setting('types', {column: 'string'})}.",
            )
        if other_type := re.search(r"Failed to convert JSON to (\w+).*?:(.*)", text):
            return SchemaMismatch(
                f"{where}: {other_type[2][:40]!r} stands where the first lines have {other_type[1]} alone. Correct the "
                "cell, or write the numbers of the first lines with a decimal point."
            )
        reason = re.sub(r"^JSON parse error: |\.? in row \d+", "", text)
        return BadFile(f"{where}: this is not a JSON object ({reason}). Correct or remove the line.")


def _depth(line: bytes) -> int:
    """Return how deep the brackets outside of texts are nested."""
    brackets = re.sub(rb'"(?:[^"\\]|\\.)*"|[^][{}]', b"", line)
    return max(accumulate(1 if bracket in b"[{" else -1 for bracket in brackets), default=0)


def _is_text(cell: Any, texts: Sequence[str]) -> bool:
    return isinstance(cell, str) and cell in texts


def as_text(cell: Any) -> str | None:
    """Return a JSON cell as text, None if it is null.

    >>> as_text("a"), as_text(1.5), as_text(True), as_text(None)
    ('a', '1.5', 'true', None)
    """
    import json

    return cell if cell is None or isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)


def _cells(lines: bytes, names: Sequence[str]) -> list[Any]:
    """Return the values of some keys; values of several types become text."""
    import json

    rows = [json.loads(line) for line in lines.split(b"\n") if line.strip()]
    columns = []
    for name in names:
        cells = [row.get(name) for row in rows]
        try:
            columns.append(pa.array(cells))
        except (pa.ArrowException, TypeError, OverflowError):
            columns.append(pa.array(map(as_text, cells), pa.string()))
    return columns

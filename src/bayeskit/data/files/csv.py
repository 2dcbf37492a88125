"""CSV in batches: types are decided once, by the first megabytes; what does not fit is told with its line."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bayeskit.data.files.encodings import marked, not_in
from bayeskit.data.files.streams import PEEK, Place, compression_of, peek, unpacked
from bayeskit.errors import BadFile, BayesError, SchemaMismatch
from bayeskit.remedy import Remedy, Setting

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLE = 1 << 22  # bytes that decide the types
BLOCK = 1 << 21  # bytes read at a time
TEXT_BLOCK = 1 << 20  # the same where whole documents are read, of which Arrow keeps many blocks
LONGEST = 1 << 26  # bytes read at a time where lines are very long
DELIMITERS = ",\t;|"
MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL", "n/a", "-NaN", "-nan", "#NA", "<NA>")


@dataclass(frozen=True)
class CsvFile:
    """One file of comma-separated (or tab, semicolon, bar) values with a header."""

    place: Place
    delimiter: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = MISSING

    def head(self) -> pa.Schema:
        """Names and types, as the first megabytes show them."""
        try:
            schema = self._head(SAMPLE)
        except _problems() as problem:
            if "straddling" not in str(problem):
                raise self._told(problem, 1) from None
            try:
                schema = self._head(LONGEST)
            except _problems() as again:
                raise self._told(again, 1) from None
        try:
            is_text = bool(schema.names) and not any(str(type_) == "binary" for type_ in schema.types)
        except UnicodeDecodeError:
            is_text = False
        if not is_text:  # binary is Arrow's word for what is no UTF-8
            raise self._badly_encoded()
        return schema

    def _head(self, size: int) -> pa.Schema:
        with unpacked(self.place) as (_, stream):
            return self._open(stream, {}, size, None).schema

    def batches(self, types: Mapping[str, pa.DataType]) -> Iterator[tuple[pa.RecordBatch, int]]:
        """These columns in these types, with the bytes read so far."""
        import pyarrow as pa

        done, problems = 0, _problems()
        block = self._block(TEXT_BLOCK if pa.string() in types.values() else BLOCK)
        try:
            for batch, read in self._rows(types, block, 0):
                yield batch, read
                done += batch.num_rows
        except problems as problem:
            if "straddling" not in str(problem) or block >= LONGEST:
                raise self._told(problem, done + 1) from None
        else:
            return
        try:  # a row is longer than what was read at a time: once more from the start, in larger parts
            for batch, read in self._rows(types, LONGEST, done):
                yield batch, read
                done += batch.num_rows
        except problems as problem:
            raise self._told(problem, done + 1) from None

    def _rows(self, types: Mapping[str, pa.DataType], block: int, skipped: int) -> Iterator[tuple[pa.RecordBatch, int]]:
        """The rows after the first ``skipped`` ones, and the bytes read so far."""
        parsed, packed = 0, compression_of(self.place) is not None
        with unpacked(self.place) as (raw, stream):
            for batch in self._open(stream, types, block, list(types)):
                parsed += block
                skip = min(skipped, batch.num_rows)
                skipped -= skip
                if skip < batch.num_rows or not skip:
                    read = raw.tell() if packed else min(raw.tell(), parsed)  # Arrow reads many blocks ahead
                    yield (batch.slice(skip) if skip else batch), read

    def _open(self, stream: Any, types: Mapping[str, pa.DataType], block: int, columns: list[str] | None) -> Any:
        from pyarrow import csv

        return csv.open_csv(
            stream,
            read_options=csv.ReadOptions(block_size=self._block(block), use_threads=False, encoding=self._encoding),
            parse_options=csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=dict(types),
                include_columns=columns,
                null_values=list(self.missing),
                strings_can_be_null=True,
            ),
        )

    def _block(self, size: int) -> int:
        """Bytes read at a time: more where not even the header ends soon."""
        return LONGEST if len(self._first) == PEEK and b"\n" not in self._first else size

    @cached_property
    def _first(self) -> bytes:
        try:
            return peek(self.place)
        except OSError as problem:
            raise self._told(problem, 1) from None

    @cached_property
    def _encoding(self) -> str:
        if self.encoding is not None:
            return self.encoding
        encoding = marked(self._first)
        return "utf-8" if encoding in (None, "utf-8-sig") else encoding

    @cached_property
    def _delimiter(self) -> str:
        if not self.delimiter:
            return delimiter_of(self._first.decode(self._encoding, "replace"))
        if len(self.delimiter) > 1 or not self.delimiter.isascii() or self.delimiter in '\0\r\n"':
            raise BayesError(Setting.given("delimiter", self.delimiter), ": give one character of ASCII, such as ';'")
        return self.delimiter

    def _told(self, problem: Exception, line: int) -> BadFile | SchemaMismatch:
        """What Arrow says, with the file, the line and what to do."""
        text, name = str(problem), self.place.name
        if found := re.search(r"Column '(.*)' in include_columns does not exist", text):
            return SchemaMismatch(f"{name} has no column {found[1]!r} (it has: {', '.join(self.names)})")
        if isinstance(problem, UnicodeError) or "invalid UTF8" in text:
            return self._badly_encoded()
        if "Empty CSV" in text:
            empty = not self._first.strip()
            return BadFile(f"{name} is empty: a header line and rows are needed" if empty else _header_only(name))
        if found := re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", text):
            at, wanted, got = found.groups()
            cells = "1 cell" if got == "1" else f"{got} cells"
            return BadFile(
                f"{name}, line {at}: {cells} where the header has {wanted}. Mend the line: a cell with "
                f"{self._delimiter!r} or a line break in it stands in double quotes (perhaps one was never closed)."
            )
        if found := re.search(
            r"column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\S+): invalid value '(.*)'", text, re.S
        ):
            index, at, kind, value = found.groups()
            column = self.names[int(index)]
            where = f"line {at}" if at else f"after line {line}"
            return SchemaMismatch(
                f"{name}, {where}: column {column!r} holds {value!r}, but it was taken for {_WORDS.get(kind, kind)} by "
                "its first rows. Mend or empty the cell",
                Remedy("types", {column: "string"}, clause=", or read the column as text: {}"),
                ".",
                culprit=(column, value),
                place=(name, where),
            )
        if "straddling" in text:
            return BadFile(
                f"{name}: a row after line {line} has no end within {LONGEST >> 20} MB. Most likely "
                "a double quote is opened there and never closed: close or remove it."
            )
        return BadFile(f"{name}, after line {line}: {text}. The file may be cut off or damaged; copy it again.")

    @cached_property
    def names(self) -> list[str]:
        """The header."""
        return list(self.head().names)

    def _badly_encoded(self) -> BadFile:
        decoder = codecs.getincrementaldecoder(self._encoding)()
        byte, line = 0, 1
        raw, at = self._first, 0
        with unpacked(self.place) as (_, stream):
            while chunk := stream.read(1 << 20):
                held = len(decoder.getstate()[0])
                try:
                    decoder.decode(chunk)
                except UnicodeDecodeError as problem:
                    raw, at = problem.object, problem.start
                    byte += at - held
                    line += chunk.count(b"\n", 0, max(at - held, 0))
                    break
                byte, line = byte + len(chunk), line + chunk.count(b"\n")
        where = f"{self.place.name}, line {line} (byte {byte})"
        return not_in(self._encoding, where, raw, at)


_WORDS = {"int64": "whole numbers", "double": "numbers", "bool": "true and false", "date32[day]": "dates"}


def _header_only(name: str) -> str:
    return f"{name} has a header and no rows: there is nothing to read"


def _problems() -> tuple[type[Exception], ...]:
    import pyarrow as pa

    return (pa.ArrowException, OSError, UnicodeError, LookupError)


def delimiter_of(text: str) -> str:
    r"""What stands between the cells, by the header: a comma, else the commonest of tab, semicolon and bar.

    >>> delimiter_of("sky;wind;play\nsun;weak;yes"), delimiter_of('"a;b",c')
    (';', ',')
    """
    header = re.sub(r'"[^"]*"', "", text.partition("\n")[0])
    return max(DELIMITERS, key=lambda d: (header.count(d), d == ","))

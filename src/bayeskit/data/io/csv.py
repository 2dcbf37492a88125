"""CSV files: rows, types and missing cells."""

from __future__ import annotations

import codecs
import csv as csv_module
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np

from bayeskit.data.cells import parse_number
from bayeskit.data.io.streams import (
    PEEK,
    BadLines,
    Place,
    Unreadable,
    compression_of,
    marked,
    not_in,
    peek,
    reading_hint,
    transcoding,
    unpacked,
)
from bayeskit.errors import BadFile, BayesError, SchemaMismatch, format_setting
from bayeskit.lazy import pa, pc

# Bytes of a row; a longer one is passed on as it is and refused where it is read.
LONGEST = 1 << 26
BREAK = b"\xff"  # stands for a line break inside a cell; no UTF-8 has it

Shape = re.Pattern[bytes]


def shape_of(delimiter: str, comment: str | None) -> Shape:
    """Build the patterns for quoted cells and comment lines, where line breaks do not end a row."""
    quoted = rb"(?:^|(?<=" + re.escape(delimiter.encode()) + rb'))"[^"]*(?:""[^"]*)*(?:"|\Z)'
    if comment is None:
        return re.compile(rb"(?P<quoted>" + quoted + rb")", re.MULTILINE)
    line = rb"^" + re.escape(comment.encode()) + rb"[^\r\n]*"
    return re.compile(rb"(?P<comment>" + line + rb")|(?P<quoted>" + quoted + rb")", re.MULTILINE)


def end_of_rows(text: bytes, shape: Shape) -> int:
    """Return the number of bytes of complete rows in a text that starts with a row."""
    end = text.rfind(b"\n") + 1
    if b'"' not in text:
        return end
    quoted = [match.span("quoted") for match in shape.finditer(text) if match["quoted"]]
    for start, stop in reversed(quoted):
        if stop < end:
            break
        if start < end:
            end = text.rfind(b"\n", 0, start) + 1
    return end


def end_of_first_row(text: bytes, shape: Shape) -> int:
    r"""Return the length of the first row with its line break, 0 if it is incomplete.

    >>> end_of_first_row(b'"a\nb",c\n1,2\n', shape_of(",", None)), end_of_first_row(b'a,"b\n', shape_of(",", None))
    (8, 0)
    """
    end = text.find(b"\n") + 1
    for match in shape.finditer(text):
        start, stop = match.span()
        if start >= end:
            break
        if end <= stop:
            end = text.find(b"\n", stop) + 1
    return end


def without_comments(text: bytes, shape: Shape) -> bytes:
    """Replace each comment by an empty line in a text of complete rows."""
    return shape.sub(lambda match: b"" if match["comment"] else match[0], text)


def line_of_row(parts: Iterable[bytes], shape: Shape, row: int) -> int:
    """Return the line, from 1, on which a row begins (rows from 1, without empty lines and comments)."""
    line, rest = 1, b""
    for part in (*parts, b"\n"):
        text = rest + part
        end = end_of_rows(text, shape)
        rest = text[end:]
        for one in shape.sub(_in_one_line, text[:end]).split(b"\n")[:-1]:
            row -= bool(one.strip(b"\r"))
            if row <= 0:
                return line
            line += 1 + one.count(BREAK)
    return line


def _in_one_line(match: re.Match[bytes]) -> bytes:
    return match["quoted"].replace(b"\n", BREAK) if match["quoted"] else b""


class CommentsRemoved(io.RawIOBase):
    """A text stream without its comments."""

    def __init__(self, read: Callable[[int], Any], shape: Shape) -> None:
        self._read, self._shape = read, shape
        self._rest = self._ready = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        while not self._ready and not self._ended:
            chunk = bytes(self._read(max(len(room), io.DEFAULT_BUFFER_SIZE)))
            self._ended = not chunk
            text = self._rest + chunk
            end = len(text) if self._ended or len(text) > LONGEST else end_of_rows(text, self._shape)
            self._ready, self._rest = without_comments(text[:end], self._shape), text[end:]
        count = min(len(room), len(self._ready))
        room[:count], self._ready = self._ready[:count], self._ready[count:]
        return count


class QuotesChecked(io.RawIOBase):
    """A CSV stream in UTF-8 that raises an error at its end if a quoted cell is never closed.

    Arrow takes an unclosed cell for the rest of the file. As for Arrow, a quote opens a cell only at its start.
    """

    def __init__(self, read: Callable[[int], Any], delimiter: str, error: Callable[[int], BadFile]) -> None:
        self._read, self._error = read, error
        self._precedes_cell = np.isin(np.arange(256), list(delimiter.encode() + b"\r\n"))
        self._before = b"\n"  # the last byte of the previous chunk
        self._line = 1
        self._is_open = False  # inside a quoted cell
        self._opened = 1  # the line on which the last quoted cell begins
        self._closed_last = False  # the last byte closed a cell, so that a quote after it opens the cell again

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        chunk = bytes(self._read(len(room)))
        if not chunk and self._is_open:
            raise self._error(self._opened)
        self._scan(chunk.removeprefix(codecs.BOM_UTF8) if self._line == 1 else chunk)
        room[: len(chunk)] = chunk
        return len(chunk)

    def _scan(self, chunk: bytes) -> None:
        """Update the state by the quotes of a chunk."""
        if not chunk:
            return
        text = np.frombuffer(self._before + chunk, np.uint8)
        quotes = np.flatnonzero(text[1:] == ord('"')) if b'"' in chunk else np.empty(0, np.int64)
        begins_cell = self._precedes_cell[text[quotes]]
        before = -1 if self._closed_last else -2
        openings = slice(int(self._is_open), None, 2)
        starts: Any
        closings: Any
        if (begins_cell | (np.diff(quotes, prepend=before) == 1))[openings].all():
            # Quotes open and close cells by turns; two in a row stand for one in a cell.
            starts = quotes[openings][begins_cell[openings]]
            closings = quotes[int(not self._is_open) :: 2]
            self._is_open ^= bool(len(quotes) & 1)
        else:
            starts, closings = [], [before]
            for at, begins in zip(quotes.tolist(), begins_cell.tolist(), strict=True):
                if self._is_open:
                    self._is_open = False
                    closings.append(at)
                elif begins or closings[-1] == at - 1:
                    self._is_open = True
                    starts += [at] * begins
        if len(starts):
            self._opened = self._line + chunk.count(b"\n", 0, int(starts[-1]))
        self._closed_last = not self._is_open and len(closings) > 0 and int(closings[-1]) == len(chunk) - 1
        self._before = chunk[-1:]
        self._line += chunk.count(b"\n")


SAMPLE = 1 << 22  # bytes that decide the types
BLOCK = 1 << 21  # bytes read at a time
TEXT_BLOCK = 1 << 20  # the same where whole documents are read, of which Arrow keeps many blocks
DELIMITERS = ",\t;|"
HEADER_SAMPLE = 50  # lines that show whether a file has a header
NUMBER = re.compile(r"\s*[-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?\s*")
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
CODE = r"^\s*[-+]?0[0-9xX]|[0-9]{17}"
MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL", "n/a", "-NaN", "-nan", "#NA", "<NA>")


@dataclass(frozen=True)
class CsvFile:
    """A file of comma-separated (or tab, semicolon, bar) values.

    Its first line names the columns, unless ``columns`` does or ``header`` is False: then they are c1, c2, …
    Lines that start with ``comment`` are left out. ``first_line`` is the number of the first line in messages.
    With ``unreadable``, cells that do not fit the type of their column are missing and counted there.
    """

    place: Place
    delimiter: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = MISSING
    header: bool = True
    columns: tuple[str, ...] | None = None
    decimal: str = "."
    comment: str | None = None
    first_line: int = 1
    unreadable: Unreadable | None = None
    bad_lines: BadLines | None = None  # where rows of another number of cells are counted, which are then skipped

    def head(self) -> pa.Schema:
        """Return names and types, inferred from the first megabytes."""
        for size in (SAMPLE, LONGEST):
            try:
                with unpacked(self.place) as (_, stream):
                    schema = self._open(stream, {}, size, None).schema
                break
            except _problems() as problem:
                if "straddling" not in str(problem) or size == LONGEST:
                    raise self._error(problem, 1) from None
        try:
            is_text = bool(schema.names) and not any(str(type_) == "binary" for type_ in schema.types)
        except UnicodeDecodeError:
            is_text = False
        if not is_text:  # binary is Arrow's word for what is not UTF-8
            raise self._badly_encoded()
        return schema

    def batches(
        self, types: Mapping[str, pa.DataType | None], kept: Sequence[str] = ()
    ) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield batches of these columns with the bytes read so far; a type of None is inferred from the cells.

        The columns in ``kept`` follow as the texts of their cells.
        """
        done, block = 0, self._block(TEXT_BLOCK if pa.string() in types.values() else BLOCK)
        for size in (block, LONGEST):  # where a row is longer than a block: once more from the start, in larger parts
            try:
                for batch, read in self._rows(types, kept, size, done):
                    yield batch, read
                    done += batch.num_rows
                return
            except _problems() as problem:
                if "straddling" not in str(problem) or size >= LONGEST:
                    raise self._error(problem, done + 1) from None

    def has_codes(self, name: str) -> bool:
        """Return True if some number of a column has a leading zero or more digits than a float."""
        for block in (BLOCK, LONGEST):
            try:
                return any(
                    pc.any(pc.match_substring_regex(texts, CODE)).as_py() for (texts,) in self._texts([name], block)
                )
            except _problems():  # a row longer than the block; other problems are reported where the rows are read
                continue
        return False

    def lines_of(self, rows: Sequence[int]) -> list[int]:
        """Return the line numbers on which rows begin (row 0 is the first)."""
        return [self._line_of(row + 1 + self._has_header) for row in rows]

    def _rows(
        self, types: Mapping[str, pa.DataType | None], kept: Sequence[str], block: int, skipped: int
    ) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield the rows after the first ``skipped`` ones, and the bytes read so far."""
        parsed, packed = 0, compression_of(self.place) is not None
        with unpacked(self.place) as (raw, stream):
            texts = self._texts(kept, block) if kept else repeat([])
            typed = self._open(stream, self._as_text(types), block, list(types))
            for rows, cells in zip(typed, texts, strict=bool(kept)):  # blocks of equal size have the same rows
                batch = self._readable(rows, types)
                if kept:
                    batch = pa.RecordBatch.from_arrays([*batch.columns, *cells], names=[*types, *kept])
                parsed += block
                skip = min(skipped, batch.num_rows)
                skipped -= skip
                if skip < batch.num_rows or not skip:
                    read = raw.tell() if packed else min(raw.tell(), parsed)  # Arrow reads many blocks ahead
                    yield (batch.slice(skip) if skip else batch), read

    def _texts(self, names: Sequence[str], block: int) -> Iterator[list[pa.Array]]:
        """Yield the cells of columns as they stand in the file."""
        with unpacked(self.place) as (_, stream):
            types = dict.fromkeys(names, pa.string())
            for batch in self._open(stream, types, block, list(types), can_be_null=False):
                yield [batch.column(name) for name in names]

    def _open(
        self, stream: Any, types: Mapping[str, pa.DataType | None], block: int, columns: list[str] | None,
        names: dict[str, Any] | None = None, *, can_be_null: bool = True,
    ) -> Any:  # fmt: skip
        from pyarrow import csv

        naming = {"column_names": self._column_names} if names is None else names
        read = self._in_utf8(stream)
        if self.comment is not None:
            read = io.BufferedReader(CommentsRemoved(read, self._shape), TEXT_BLOCK).read
        rows: Any = QuotesChecked(read, self.separator, self._unclosed)
        return csv.open_csv(
            pa.PythonFile(io.BufferedReader(rows, TEXT_BLOCK), mode="r"),
            read_options=csv.ReadOptions(block_size=self._block(block), use_threads=False, **naming),
            parse_options=csv.ParseOptions(
                delimiter=self.separator,
                newlines_in_values=True,
                invalid_row_handler=None if self.bad_lines is None else self._skip,
            ),
            convert_options=csv.ConvertOptions(
                column_types={name: type_ for name, type_ in types.items() if type_ is not None},
                include_columns=columns,
                null_values=list(self.missing),
                strings_can_be_null=can_be_null,
                decimal_point=self.decimal,
            ),
        )

    def _skip(self, row: Any) -> str:
        assert self.bad_lines is not None
        return self.bad_lines.skip(self.place.name, self.first_line, row)

    def _as_text(self, types: Mapping[str, pa.DataType | None]) -> Mapping[str, pa.DataType | None]:
        """Return the types for Arrow: text if unreadable cells must not stop the reading."""
        if self.unreadable is None:
            return types
        return {name: pa.string() if _is_parsed(type_) else type_ for name, type_ in types.items()}

    def _readable(self, batch: pa.RecordBatch, types: Mapping[str, pa.DataType | None]) -> pa.RecordBatch:
        if self.unreadable is None:
            return batch
        for i, (name, type_) in enumerate(types.items()):
            if _is_parsed(type_):
                column = self.unreadable.texts(name, batch.column(i), type_, self.decimal)
                batch = batch.set_column(i, name, column)
        return batch

    def _unclosed(self, line: int) -> BadFile:
        return BadFile(
            f"{self.place.name}, line {self.first_line - 1 + line}: "
            "a double quote opens a cell there and is never closed",
            hint="close or remove it",
        )

    def _in_utf8(self, stream: Any) -> Callable[[int], bytes]:
        encoding = marked(self._first) or self._encoding
        is_utf8 = codecs.lookup(encoding).name == "utf-8"
        plain: Callable[[int], bytes] = stream.read
        return plain if is_utf8 else transcoding(plain, encoding, self.place.name)

    @cached_property
    def _shape(self) -> Shape:
        return shape_of(self.separator, self.comment)

    @cached_property
    def _column_names(self) -> list[str] | None:
        """Return the column names if the first line is a row and not a header."""
        if self.columns is not None:
            self._check_no_header(self.columns)
        if self.columns is not None or self.header:
            return None if self.columns is None else list(self.columns)
        with unpacked(self.place) as (_, stream):
            unnamed = self._open(stream, {}, SAMPLE, None, {"autogenerate_column_names": True}).schema
        return [f"c{i}" for i in range(1, len(unnamed.names) + 1)]

    def _check_no_header(self, columns: Sequence[str]) -> None:
        """Raise an error if the first line looks like a header, which ``columns`` would take for a row.

        It does where it has one of the names, or where a name stands above numbers.
        """
        text = self._first.decode(self._encoding, "replace")
        lines = [
            line for line in text.splitlines()[:HEADER_SAMPLE] if not (self.comment and line.startswith(self.comment))
        ]
        first, *rows = list(csv_module.reader(lines[:-1] if len(lines) > 2 else lines, delimiter=self.separator)) or [
            []
        ]
        below = list(zip(*(row for row in rows if len(row) == len(first)), strict=True)) or [()] * len(first)
        for name, cell, others in zip(columns, first, below, strict=False):
            above_numbers = len(others) > 2 and all(NUMBER.fullmatch(other) for other in others)
            is_name = cell.isidentifier() and cell not in self.missing
            if cell == name or (above_numbers and is_name):
                what = f"{self.place.name}, line 1: the file has a header, in which {cell!r} stands"
                raise BayesError(what, hint="take its names, without columns=, or remove the line")

    def _block(self, size: int) -> int:
        """Return the block size in bytes, larger if the header is long."""
        return LONGEST if len(self._first) == PEEK and b"\n" not in self._first else size

    @cached_property
    def _first(self) -> bytes:
        try:
            return peek(self.place)
        except OSError as problem:
            raise self._error(problem, 1) from None

    @cached_property
    def _encoding(self) -> str:
        if self.encoding is not None:
            return self.encoding
        encoding = marked(self._first)
        return "utf-8" if encoding in (None, "utf-8-sig") else encoding

    @cached_property
    def separator(self) -> str:
        """Return the delimiter after checking the format settings."""
        if self.columns is not None and not all(self.columns):
            raise BayesError(f"columns={','.join(self.columns)!r}", hint="give each column a name, such as a,b,c")
        if self.decimal not in (".", ","):
            raise BayesError(f"decimal={self.decimal!r}: a number has a point or a comma in it")
        if self.comment is not None and (not self.comment.strip() or set(self.comment) & set('"\r\n')):
            raise BayesError(f"comment={self.comment!r}", hint="give what comment lines start with, such as '#'")
        if not self.delimiter:
            return delimiter_of(self._first.decode(self._encoding, "replace"), self.comment, self.decimal)
        if len(self.delimiter) > 1 or not self.delimiter.isascii() or self.delimiter in '\0\r\n"':
            raise BayesError(f"delimiter={self.delimiter!r}", hint="give one character of ASCII, such as ';'")
        return self.delimiter

    def _error(self, problem: Exception, line: int) -> BadFile | SchemaMismatch:
        """Convert an Arrow error to one with the file, the line and a hint."""
        text, name = str(problem), self.place.name
        if match := re.search(r"Column '(.*)' in include_columns does not exist", text):
            return SchemaMismatch(f"{name} has no column {match[1]!r} (it has: {', '.join(self.names)})")
        if isinstance(problem, UnicodeError) or "invalid UTF8" in text:
            return self._badly_encoded()
        if "Empty CSV" in text:
            if not self._first.strip():
                needed = "a header line and rows are" if self._has_header else "a row is"
                return BadFile(f"{name} is empty: {needed} needed")
            return BadFile(_header_only(name) if self._has_header else f"{name} has no rows: there is nothing to read")
        if match := re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", text):
            row, wanted, got = match.groups()
            cells = "1 cell" if got == "1" else f"{got} cells"
            where = f"{name}, line {self._line_of(int(row))}"
            advice = (
                f"Correct the line: a cell with {self.separator!r} or a line break in it stands in double quotes "
                "(perhaps one was never closed)."
            )
            if self.columns is not None and not self.header:
                advice = f"Name them all, or correct the line: {advice.partition(': ')[2]}"
                return BadFile(f"{where}: {cells} where columns= names {wanted}.", hint=advice)
            head = "header" if self.header else "first line"
            return BadFile(f"{where}: {cells} where the {head} has {wanted}.", hint=advice)
        if match := re.search(
            r"column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\S+): invalid value '(.*)'", text, re.S
        ):
            index, row, kind, value = match.groups()
            column = self.names[int(index)]
            where = f"line {self._line_of(int(row))}" if row else f"after line {line}"
            has_comma = self.decimal == "." and DECIMAL_COMMA.fullmatch(value)
            comma = 'If that is a number with a decimal comma, pass decimal=",". ' if has_comma else ""
            text, empty = format_setting("types", {column: "string"}), format_setting("missing", [value, ""])
            gap = "" if has_comma or not value.strip() else f"If that marks a missing cell, pass {empty}. "
            if not has_comma and parse_number(value) is not None:
                gap = f"To read such cells as numbers, pass {format_setting('roles', {column: 'number'})}. "
            return SchemaMismatch(
                f"{name}, {where}: column {column!r} holds {value!r}, but it was taken for {_WORDS.get(kind, kind)}.",
                hint=f"{comma}{gap}Correct the cell, or take the column as categories: {text}.",
            )
        if "straddling" in text:
            return BadFile(
                f"{name}: a row after line {line} has no end within {LONGEST >> 20} MB. Most likely "
                "a double quote is opened there and never closed: close or remove it."
            )
        hint = reading_hint(problem, "The file may be cut off or damaged; copy it again.")
        return BadFile(f"{name}, after line {line}: {text}. {hint}")

    @property
    def _has_header(self) -> bool:
        return self.header and self.columns is None

    def _line_of(self, row: int) -> int:
        """Return the line of a row as Arrow counts rows: without empty lines, comments and line breaks in cells."""
        with unpacked(self.place) as (_, stream):
            read = self._in_utf8(stream)
            return self.first_line - 1 + line_of_row(iter(lambda: bytes(read(BLOCK)), b""), self._shape, row)

    @cached_property
    def names(self) -> list[str]:
        """Return the header."""
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
        where = f"{self.place.name}, line {self.first_line - 1 + line}"
        where += f" (byte {byte})" if self.first_line == 1 else ""
        return not_in(self._encoding, where, raw, at)


_WORDS = {"int64": "whole numbers", "double": "numbers", "bool": "true and false", "date32[day]": "dates"}


def _is_parsed(type_: pa.DataType | None) -> bool:
    """Return True if a cell may fail to parse as this type."""
    import pyarrow.types as types

    return type_ is not None and not (types.is_string(type_) or types.is_dictionary(type_))


def _header_only(name: str) -> str:
    return f"{name} has a header and no rows: there is nothing to read"


def _problems() -> tuple[type[Exception], ...]:
    return (pa.ArrowException, OSError, UnicodeError, LookupError)


def delimiter_of(text: str, comment: str | None = None, decimal: str = ".") -> str:
    r"""Detect the delimiter from the first line: a comma, else the most frequent of tab, semicolon and bar.

    With a decimal comma, a comma is the delimiter only if there is no other; numbers are then quoted.

    >>> delimiter_of("sky;wind;play\nsun;weak;yes"), delimiter_of('"a;b",c')
    (';', ',')
    >>> delimiter_of("# 2026, by hand\n1,5;2,5;3,5", comment="#", decimal=","), delimiter_of("x,y", decimal=",")
    (';', ',')
    """
    lines = (line for line in text.splitlines() if line.strip() and not (comment and line.startswith(comment)))
    header = re.sub(r'"[^"]*"', "", next(lines, ""))
    delimiter = max(DELIMITERS.replace(decimal, ""), key=lambda d: (header.count(d), d == ","))
    beside_commas = decimal == "," in header and not DECIMAL_COMMA.fullmatch(header.strip())
    return "," if beside_commas and delimiter not in header else delimiter

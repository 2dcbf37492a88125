"""Read rows that are scored while they arrive through a pipe."""

from __future__ import annotations

import csv
import io
import json
import select
import sys
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

from bayeskit.data.io import streams
from bayeskit.data.io.csv import BLOCK, LONGEST, MISSING, CsvFile, Shape, end_of_first_row, end_of_rows, shape_of
from bayeskit.data.io.files import READ_AS, FileSource, Progress, arrow_type
from bayeskit.data.io.json_lines import JsonLines
from bayeskit.data.io.parquet import MAGIC as PARQUET
from bayeskit.data.io.streams import (
    COMPRESSIONS,
    InMemory,
    Spool,
    Unreadable,
    checked,
    marked,
    not_in,
    transcoding,
    wide,
)
from bayeskit.data.schema import Kind
from bayeskit.data.source import Batch
from bayeskit.errors import BadFile, BayesError, BayesWarning, SchemaMismatch, format_setting
from bayeskit.lazy import pa
from bayeskit.storage.files import open_bytes

FEW = 5  # bytes that tell what is packed, and Parquet, from text


@dataclass(frozen=True)
class ArrivingRows:
    """The rows of a pipe, read once, in batches of what is available.

    A column is read as what is asked for (``reading``); what nothing is asked of has in each batch the type that its
    cells have there. ``head`` has the columns of CSV; the keys of JSON lines are those of the first line.
    """

    lines: _IncomingText
    head: Mapping[str, None]
    csv: Mapping[str, Any] | None  # how CSV is read; None for JSON lines
    types: Mapping[str, str] = field(default_factory=dict)
    unreadable: Unreadable | None = None
    expected: Mapping[str, None] = field(default_factory=dict)  # keys that lines may have beside those of the first
    columns_to_read: Mapping[str, Kind | None] | None = None
    watch: Callable[[Progress], None] | None = None
    target: str | None = None
    named: bool = True
    kept: tuple[str, ...] = ()  # columns that batches also hold as they arrive
    missing: tuple[str, ...] = MISSING  # texts of JSON lines that are missing cells; those of CSV are in ``csv``

    name = here = property(attrgetter("lines.name"))  # for messages

    @property
    def has_header(self) -> bool:
        """Return True if the columns are known before the rows, as for CSV."""
        return self.csv is not None

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Return the columns with the requested kinds."""
        return {name: (self.columns_to_read or {}).get(name) or "string" for name in {**self.head, **self.expected}}

    def expecting(self, names: Iterable[str]) -> Self:
        """Return the JSON lines with extra keys, missing in lines that lack them."""
        return replace(self, expected=dict.fromkeys(names))

    def reading(self, columns_to_read: Mapping[str, Kind | None]) -> Self:
        """Return a source restricted to these columns, read as these kinds (None: as inferred)."""
        return replace(self, columns_to_read=dict(columns_to_read))

    def keeping(self, names: Iterable[str]) -> Self:
        """Return a source whose batches also hold these columns as they arrive."""
        return replace(self, kept=tuple(dict.fromkeys(names)))

    def watched(self, watch: Callable[[Progress], None] | None) -> Self:
        """Return a source that reports its progress to ``watch``."""
        return replace(self, watch=watch)

    def batches(self) -> Iterator[Batch]:
        """Yield the rows as they arrive; rows are numbered from the first."""
        types, start, read = self._types(), 0, 0
        for text, line in self.lines.complete_rows():
            read += len(text)
            place = InMemory(self.name, text)
            if self.csv is not None:
                file: Any = CsvFile(place, **self.csv, columns=tuple(self.head), first_line=line)
            else:
                self._tell_other_keys(text, line)
                texts = tuple(name for name, kind in self.types.items() if kind == "string")
                file = JsonLines(place, "utf-8", self.missing, line, self.unreadable, texts)
            for rows, _ in file.batches(types, self.kept) if text.strip() else ():
                columns = dict(zip(types, map(_typed, rows.columns), strict=not self.kept))
                kept = dict(zip(self.kept, rows.columns[len(types) :], strict=True))
                yield Batch(columns, rows.num_rows, start, kept=kept)
                start += rows.num_rows
                if self.watch is not None:
                    self.watch(Progress(start, read, None))
        if not start:
            raise BadFile(f"{self.name} has no rows: there is nothing to read after the header")

    def _types(self) -> dict[str, pa.DataType | None]:
        for name, declared in self.types.items():
            if declared not in READ_AS:
                raise BayesError(
                    f"{format_setting('types', {name: declared})}: a column is read as one of {', '.join(READ_AS)}"
                )
        types: dict[str, pa.DataType | None] = {}
        for name, asked in (self.head if self.columns_to_read is None else self.columns_to_read).items():
            kind = self.types.get(name) or asked
            types[name] = pa.string() if kind == "text" else arrow_type(kind) if kind in READ_AS else None
        return types

    def _tell_other_keys(self, text: bytes, line: int) -> None:
        """Warn if no line has a requested column, which suggests the wrong table."""
        written = (json.dumps(name, ensure_ascii=plain).encode() for name in self.expected for plain in (True, False))
        if line == 1 and self.expected and not any(name in text for name in written):
            names, there = ", ".join(self.expected), ", ".join(self.head)
            sentence = f"{self.name}, line 1: none of {names} is a key (there are: {there}): they are taken as missing"
            warnings.warn(BayesWarning(sentence), stacklevel=2)


class _IncomingText:
    """Incoming UTF-8 text, split at row ends."""

    def __init__(self, name: str, read: Callable[[int], bytes], started: bytes) -> None:
        self.name, self.read = name, read
        self.text = started.removeprefix("\ufeff".encode())
        self.line, self.ended = 1, False
        self.shape: Shape | None = None  # of CSV

    def more(self) -> bool:
        """Wait for more text; return False at the end."""
        chunk = bytes(self.read(BLOCK))
        self.ended = not chunk
        self.text += chunk
        if not self.ended and len(self.text) > LONGEST:
            cause = (
                "a double quote is opened there and never closed" if self.shape is not None else "it has no line breaks"
            )
            raise BadFile(
                f"{self.name}: a row after line {self.line} has no end within {LONGEST >> 20} MB. Most likely {cause}."
            )
        return not self.ended

    def take(self, size: int) -> tuple[bytes, int]:
        """Return (the next ``size`` bytes, their first line number)."""
        taken, line = self.text[:size], self.line
        self.text = self.text[size:]
        self.line += taken.count(b"\n")
        return taken, line

    def first_row(self, comment: str | None) -> bytes:
        """Return the complete first line that is neither empty nor a comment, without consuming it."""
        while True:
            end = self.text.find(b"\n") + 1 if self.shape is None else end_of_first_row(self.text, self.shape)
            if not end and self.more():
                continue
            if b"\n" not in self.text and b"\r" in self.text:  # how lines ended on machines of long ago
                self.text = self.text.replace(b"\r", b"\n")
                continue
            row = self.text[: end or len(self.text)]
            if not end or not (not row.strip() or (comment and row.startswith(comment.encode()))):
                return row
            self.take(end)

    def complete_rows(self) -> Iterator[tuple[bytes, int]]:
        """Yield (complete rows, line number of the first) as text arrives."""
        while True:
            shape = self.shape
            end = self.text.rfind(b"\n") + 1 if shape is None else end_of_rows(self.text, shape)
            if end:
                yield self.take(end)
            elif not self.more():
                if self.text:
                    yield self.take(len(self.text))
                return


def open_arriving(
    path: str | Path,
    types: Mapping[str, str] | None = None,
    look: Callable[[bytes, str], None] | None = None,
    **form: Any,
) -> ArrivingRows | FileSource:
    """Open ``-`` or another pipe as arriving rows; compressed data and Parquet are read as files.

    ``look`` sees the first bytes and the name, and may refuse them. ``form`` are the settings of ``FileSource.of``.
    """
    is_input = str(path) == streams.STDIN
    name = "standard input" if is_input else str(path)
    read: Callable[[int], bytes]
    read = pipe = _Pipe(sys.stdin.buffer if is_input else open_bytes(path), close=not is_input)
    started = b""
    while len(started) < FEW and (chunk := read(BLOCK)):
        started += chunk
    form = {setting: value for setting, value in form.items() if value is not None}
    if started.startswith((*COMPRESSIONS, PARQUET)):
        packed = Spool(pipe, name, started=started)
        if look is not None:
            look(streams.peek(packed), name)
        return FileSource.of_places([packed], types, **form)
    if look is not None:
        look(started, name)
    encoding = checked(form.pop("encoding", None))
    if encoding is None and wide(started) and not marked(started):
        raise not_in("utf-8", f"{name}, line 1", started, 0)
    encoding = encoding or marked(started) or "utf-8"
    if encoding != "utf-8":
        read, started = transcoding(_after(started, read), encoding, name), b""
    lines = _IncomingText(name, read, started)
    if not started:
        lines.more()
    if lines.text.lstrip().startswith(b"{"):
        missing = tuple(form.get("missing", MISSING))
        return ArrivingRows(
            lines, _keys(lines.first_row(None)), None, types or {}, form.get("unreadable"), missing=missing
        )
    return ArrivingRows(lines, *_csv_head(lines, {"missing": MISSING, **form}), types or {})


def _csv_head(lines: _IncomingText, form: dict[str, Any]) -> tuple[dict[str, None], dict[str, Any]]:
    """Return (the column names, the settings for reading each part)."""
    comment, columns, header = form.get("comment"), form.pop("columns", None), form.pop("header", True)
    form = {**form, "missing": tuple(form["missing"]), "encoding": "utf-8", "header": columns is None}
    form["columns"] = None if columns is None else tuple(columns) or ("",)
    form["delimiter"] = CsvFile(InMemory(lines.name, lines.first_row(comment)), **form).separator
    lines.shape = shape_of(form["delimiter"], comment)
    del form["columns"]
    first = lines.first_row(comment)
    has_header = header and columns is None
    if not first.strip():
        raise BadFile(f"{lines.name} is empty: {'a header line and rows are' if has_header else 'a row is'} needed")
    try:
        text = io.StringIO(first.decode(), newline="")
    except UnicodeDecodeError as problem:
        raise not_in("utf-8", f"{lines.name}, line {lines.line}", first, problem.start) from None
    cells = next(csv.reader(text, delimiter=form["delimiter"]))
    if has_header:
        lines.take(len(first))
    names = cells if has_header else columns or [f"c{i}" for i in range(1, len(cells) + 1)]
    if twice := [name for name in names if names.count(name) > 1]:
        raise SchemaMismatch(f"{lines.name} has more than one column named {twice[0]!r}: rename or drop one")
    return dict.fromkeys(names), form


def _keys(line: bytes) -> dict[str, None]:
    """Return the keys of a JSON line; an invalid line raises its error when it is read."""
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return dict.fromkeys(record) if isinstance(record, dict) else {}


def _typed(column: Any) -> Any:
    """Convert a column without any cell to empty texts, which every role can read."""
    return column.cast(pa.string()) if pa.types.is_null(column.type) else column


class _Pipe:
    """A pipe that returns the available bytes, at least one."""

    def __init__(self, pipe: Any, *, close: bool) -> None:
        self._pipe = pipe
        if close:  # when nobody reads on, also where an error has tied this into a ring of references
            weakref.finalize(self, pipe.close)

    def __call__(self, size: int) -> bytes:
        parts = [self._pipe.read1(size)]
        room = size - len(parts[0])
        while parts[-1] and room > 0 and _is_waiting(self._pipe):
            parts.append(self._pipe.read1(room))
            room -= len(parts[-1])
        return b"".join(parts)

    read = __call__


def _is_waiting(pipe: Any) -> bool:
    try:
        return bool(select.select([pipe.fileno()], [], [], 0)[0])
    except (OSError, ValueError):  # no pipe of the system
        return False


def _after(started: bytes, read: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """Return a function that first replays bytes already read."""
    again = [started] if started else []
    return lambda size: again.pop() if again else read(size)

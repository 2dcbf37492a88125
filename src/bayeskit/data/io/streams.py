"""Bytes of files and pipes: compression, encodings, and cells that cannot be read."""

from __future__ import annotations

import codecs
import errno
import io
import lzma
import re
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from bayeskit.errors import BadFile, format_setting
from bayeskit.lazy import pa, pc
from bayeskit.storage.files import check_readable, expand_user, open_bytes

STDIN = "-"
COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\xfd7zXZ": "xz"}
LONGEST_MARK = max(map(len, COMPRESSIONS))
PEEK = 1 << 16


@dataclass(frozen=True)
class OnDisk:
    """A file on disk; ``keys`` are those of its folders, as in ``year=2023/month=2``."""

    path: Path
    keys: tuple[tuple[str, str | None], ...] = ()

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def size(self) -> int | None:
        """Return the stored size in bytes."""
        return self.path.stat().st_size

    def absolute(self) -> OnDisk:
        """The same file, whatever the current folder is."""
        return replace(self, path=self.path.absolute())

    def raw(self) -> Any:
        """Open as an Arrow file that reports its position."""
        return pa.OSFile(str(self.path))


@dataclass(frozen=True)
class InMemory:
    """Bytes in memory."""

    name: str
    data: bytes

    @property
    def size(self) -> int | None:
        """Return the number of bytes."""
        return len(self.data)

    def raw(self) -> Any:
        """Open as an Arrow file that reports its position."""
        return pa.BufferReader(self.data)


class Spool:
    """A pipe copied to a temporary file while it is read, so that it can be read again.

    >>> pipe = Spool(io.BytesIO(b"sky,play"))
    >>> pipe.raw().read(3), pipe.raw().read(), pipe.raw().read(3)
    (b'sky', b'sky,play', b'sky')
    """

    closed = False  # pyarrow asks for it where it writes

    def __init__(self, pipe: Any, name: str = "standard input", *, close: bool = False, started: bytes = b"") -> None:
        self.name = name
        self.size = None
        self._pipe = pipe
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  (it lives as long as the spool)
        self._length = self._file.write(started)
        for file in (self._file, pipe) if close else (self._file,):
            weakref.finalize(self, file.close)  # also where an error has tied this into a ring of references

    def raw(self) -> Any:
        """Open a file over all bytes of the pipe, including those still to come."""
        return _SpoolReader(self)

    def read_at(self, position: int, size: int) -> bytes:
        """Read bytes at a position, from the pipe if they are not stored yet."""
        while self._length < position + size:
            more = self._pipe.read(position + size - self._length)
            if not more:
                break
            self.write(more)
        self._file.seek(position)
        return self._file.read(size)

    def write(self, data: bytes) -> int:
        """Append bytes to those that are stored."""
        self._file.seek(self._length)
        written = self._file.write(data)
        self._length += written
        return written

    def length(self) -> int:
        """Return the total number of bytes after reading the pipe to its end."""
        while self.read_at(self._length, 1 << 20):
            pass
        return self._length


class _SpoolReader(io.RawIOBase):
    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0:
            size = self._spool.length() - self._at
        data = self._spool.read_at(self._at, size)
        self._at += len(data)
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at}
        self._at = offset + (start[whence] if whence in start else self._spool.length())
        return self._at

    def tell(self) -> int:
        return self._at


Place = OnDisk | InMemory | Spool  # a readable location of bytes that can be opened repeatedly


def stdin() -> Spool:
    """Return standard input."""
    return Spool(sys.stdin.buffer)


def place_of(path: str | Path) -> OnDisk | Spool:
    """Return the file or pipe of this name."""
    if check_readable(path) == "file":
        return OnDisk(expand_user(path))
    return Spool(open_bytes(path), str(path), close=True)


def peek(place: Place) -> bytes:
    """Return the first bytes, decompressed."""
    with unpacked(place) as (_, stream):
        return bytes(stream.read(PEEK))


def compression_of(place: Place) -> str | None:
    """Return the compression format by the first bytes, None if uncompressed."""
    raw = place.raw()
    first = raw.read(LONGEST_MARK)
    raw.close()
    return next((name for magic, name in COMPRESSIONS.items() if first.startswith(magic)), None)


class _XZFile(io.RawIOBase):
    """A decompressed xz file; a damaged one raises OSError, as other formats do."""

    def __init__(self, raw: Any) -> None:
        self._file = lzma.LZMAFile(raw)  # noqa: SIM115 - unpacked closes the file below

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        try:
            return self._file.read(-1 if size is None else size)
        except (lzma.LZMAError, EOFError) as problem:
            raise OSError(f"xz: {problem}") from None


@contextmanager
def unpacked(place: Place) -> Iterator[tuple[Any, Any]]:
    """Yield (the raw file, which reports its position; the decompressed stream)."""
    compression = compression_of(place)
    raw = place.raw()
    file = raw if isinstance(raw, pa.NativeFile) else pa.PythonFile(raw, mode="r")
    try:
        stream: Any = file
        if compression == "xz":  # which Arrow does not read
            stream = pa.PythonFile(_XZFile(raw), mode="r")
        elif compression is not None:
            stream = pa.CompressedInputStream(file, compression)
        yield raw, stream
    finally:
        file.close()


MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
SAMPLE = 1 << 16  # bytes on each side of the first wrong one that decide which encoding fits
AROUND = 40  # bytes on each side that are shown, at most


def checked(encoding: str | None) -> str | None:
    """Return the encoding; raise an error for an unknown one."""
    if encoding is not None:
        try:
            with suppress(UnicodeError):
                bytes(4).decode(encoding)
        except (LookupError, ValueError):
            common = "common ones are utf-8, latin-1, cp1252, utf-16"
            raise BadFile(f"encoding={encoding!r}: there is no such encoding of text; {common}") from None
    return encoding


def marked(first: bytes) -> str | None:
    """Return the encoding that a byte order mark names."""
    return next((encoding for mark, encoding in MARKS.items() if first.startswith(mark)), None)


def fitting(raw: bytes) -> str:
    """Guess the encoding: byte order mark, UTF-16 by its zeros, UTF-8, else Western.

    >>> [fitting(text) for text in (b"sky", "Größe".encode("latin-1"), "Größe".encode("utf-16-le"), b"caf\\x81")]
    ['utf-8', 'cp1252', 'utf-16-le', 'latin-1']
    """
    if encoding := marked(raw):
        return encoding
    for encoding in (*wide(raw), "utf-8", "cp1252"):
        try:
            codecs.getincrementaldecoder(encoding)().decode(raw)  # it may end within a character
        except UnicodeError:
            continue
        return encoding
    return "latin-1"


def wide(raw: bytes) -> list[str]:
    """Return the UTF-16 encodings that fit text without a byte order mark."""
    zeros = (raw[::2].count(0), raw[1::2].count(0))
    if not any(zeros) or max(zeros) * 3 < len(raw) // 2 or max(zeros) < 3 * min(zeros):
        return []
    return ["utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"]


def reading(raw: bytes, at: int, encoding: str) -> str:
    """Return the word around a byte, decoded with an encoding.

    >>> reading("sky,Größe,y".encode("cp1252"), 6, "cp1252")
    'Größe'
    """
    start = max(raw.rfind(b"\n", 0, at) + 1, at - AROUND)
    if encoding.startswith("utf-16"):
        start -= start % 2
    if encoding.startswith("utf-32"):
        start -= start % 4
    before = raw[start:at].decode(encoding, "replace")
    after = raw[at : at + AROUND].decode(encoding, "replace")
    tail = re.match(r".\w*", after, re.DOTALL)
    head = re.search(r"\w*$", before)
    return (head[0] if head else "") + (tail[0] if tail else "")


def not_in(wanted: str, where: str, raw: bytes, at: int) -> BadFile:
    """Build the error for bytes that do not fit the expected encoding, the first wrong one at ``at``."""
    encoding = marked(raw) or fitting(raw[max(at - SAMPLE, 0) & ~3 : at + SAMPLE])
    word = reading(raw, at, encoding)
    return BadFile(
        f"{where}: the text is not {wanted}. In {encoding} it would read {word!r}",
        hint=f"if that is right, pass {format_setting('encoding', encoding)}, else the encoding that it was written "
        "in, or save the file as UTF-8.",
    )


def transcoding(read: Callable[[int], bytes], encoding: str, name: str) -> Callable[[int], bytes]:
    """Return a function that reads text of an encoding as UTF-8; errors report the line."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line, ended = 1, False

    def more(size: int) -> bytes:
        nonlocal line, ended
        while not ended:
            raw = bytes(read(size))
            ended = not raw
            try:
                text = decoder.decode(raw, ended)
            except UnicodeDecodeError as problem:
                line += problem.object[: problem.start].count(b"\n")
                raise not_in(encoding, f"{name}, line {line}", problem.object, problem.start) from None
            line += text.count("\n")
            if text:
                return text.encode("utf-8", "surrogatepass")
        return b""

    return more


@dataclass
class BadLines:
    """Rows of CSV with another number of cells than the header, which are skipped."""

    rows: set[tuple[str, int | None]] = field(default_factory=set)
    first: str = ""

    def skip(self, name: str, first_line: int, row: Any) -> str:
        """Note a row as Arrow found it; tell Arrow to skip it."""
        self.first = (
            self.first or f"{name}: {row.actual_columns} cells instead of {row.expected_columns} in {row.text!r}"
        )
        self.rows.add((name, None if row.number is None else first_line + row.number))
        return "skip"


@dataclass
class Unreadable:
    """The number of unreadable cells of each column, and the first of them.

    >>> import pyarrow as pa
    >>> cells = Unreadable()
    >>> cells.texts("x", pa.array(["1.5", "?", None, " 2", "?"]), pa.float64()).to_pylist()
    [1.5, None, None, 2.0, None]
    >>> cells.counts, cells.first
    ({'x': 2}, {'x': '?'})
    """

    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Return the number of all columns."""
        return sum(self.counts.values())

    def add(self, name: str, count: int, first: object) -> None:
        """Add unreadable cells of a column."""
        self.counts[name] = self.counts.get(name, 0) + count
        self.first.setdefault(name, str(first))

    def texts(self, name: str, column: Any, type_: pa.DataType, decimal: str = ".") -> Any:
        """Convert a text column to a type; texts that do not fit are counted and become missing."""
        coded = column.dictionary_encode()  # each text is looked at once
        texts = pc.utf8_trim_whitespace(coded.dictionary)
        if decimal != ".":
            texts = pc.replace_substring(texts, decimal, ".", max_replacements=1)
        values = _cast(texts, type_)
        if values.null_count:
            indices = coded.indices.to_numpy(zero_copy_only=False)
            bad = np.append(values.is_null().to_numpy(zero_copy_only=False), False)
            at = bad[np.nan_to_num(indices, nan=len(values)).astype(np.int64)]
            self.add(name, int(at.sum()), coded.dictionary[int(indices[at.argmax()])].as_py())
        return values.take(coded.indices)

    def cells(self, name: str, cells: Sequence[Any], type_: pa.DataType | None) -> Any:
        """Convert JSON cells to an array of a type; cells that do not fit are counted and become missing."""
        try:
            return pa.array(cells, type_)
        except (pa.ArrowException, TypeError, OverflowError):
            pass
        readable = [cell if _is_readable(cell, type_) else None for cell in cells]
        bad = [cell for cell, read in zip(cells, readable, strict=True) if read is None and cell is not None]
        self.add(name, len(bad), bad[0])
        return pa.array(readable, type_)


def _cast(texts: Any, type_: pa.DataType) -> Any:
    """Cast texts, null where one fails; bisect to find the failing ones."""
    try:
        return texts.cast(type_)
    except pa.ArrowInvalid:
        if len(texts) == 1:
            return pa.nulls(1, type_)
    half = len(texts) // 2
    return pa.concat_arrays([_cast(texts[:half], type_), _cast(texts[half:], type_)])


def _is_readable(cell: Any, type_: pa.DataType | None) -> bool:
    try:
        pa.scalar(cell, type_ or pa.string())
    except (pa.ArrowException, TypeError, OverflowError):
        return False
    return True


def reading_hint(problem: Exception, otherwise: str = "") -> str:
    """Return the hint for a reading error: lack of memory, disk or file handles does not mean a damaged file.

    >>> reading_hint(OSError(errno.ENOSPC, "No space left on device"))
    'The disk is full: make room on it.'
    >>> reading_hint(OSError("corrupt"), "Copy it again.")
    'Copy it again.'
    """
    code = errno.ENOMEM if isinstance(problem, MemoryError) else getattr(problem, "errno", None) or 0
    return READING_HINTS.get(code, otherwise)


READING_HINTS = {
    errno.ENOMEM: "The memory does not suffice: use fewer columns or a machine with more.",
    errno.ENOSPC: "The disk is full: make room on it.",
    errno.EDQUOT: "The disk is full: make room on it.",
    errno.EMFILE: "Too many files are open: close some, or raise the limit (ulimit -n).",
    errno.ENFILE: "Too many files are open: close some, or raise the limit (ulimit -n).",
}

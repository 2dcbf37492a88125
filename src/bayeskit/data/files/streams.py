"""Bytes of a file or of standard input, unpacked where they are compressed, and readable more than once."""

from __future__ import annotations

import io
import sys
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bayeskit.storage.files import check_readable, expand_user, open_bytes

STDIN = "-"
COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
PEEK = 1 << 16


class Place(Protocol):
    """Where bytes lie: they can be opened again and again."""

    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int | None: ...
    def raw(self) -> Any: ...


@dataclass(frozen=True)
class OnDisk:
    """A file."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def size(self) -> int | None:
        """Bytes as they lie there."""
        return self.path.stat().st_size

    def absolute(self) -> OnDisk:
        """The same file, whatever the current folder is."""
        return OnDisk(self.path.absolute())

    def raw(self) -> Any:
        """An Arrow file that says how far it was read."""
        import pyarrow as pa

        return pa.OSFile(str(self.path))


@dataclass(frozen=True)
class InMemory:
    """Bytes that are here already."""

    name: str
    data: bytes

    @property
    def size(self) -> int | None:
        """How many."""
        return len(self.data)

    def raw(self) -> Any:
        """An Arrow file that says how far it was read."""
        import pyarrow as pa

        return pa.BufferReader(self.data)


class Spool:
    """A pipe that is written to a temporary file as it is read, so that it can be read again.

    >>> pipe = Spool(io.BytesIO(b"sky,play"))
    >>> pipe.raw().read(3), pipe.raw().read(), pipe.raw().read(3)
    (b'sky', b'sky,play', b'sky')
    """

    def __init__(self, pipe: Any, name: str = "standard input", *, close: bool = False, started: bytes = b"") -> None:
        self.name = name
        self.size = None
        self._pipe = pipe
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  (it lives as long as the spool)
        self._length = self._file.write(started)
        for file in (self._file, pipe) if close else (self._file,):
            weakref.finalize(self, file.close)  # also where an error has tied this into a ring of references

    def raw(self) -> Any:
        """A file over all that came so far and will come."""
        return _SpoolReader(self)

    def read_at(self, position: int, size: int) -> bytes:
        """Bytes from there on, from the pipe where they are not kept yet."""
        while self._length < position + size:
            more = self._pipe.read(position + size - self._length)
            if not more:
                break
            self._file.seek(self._length)
            self._file.write(more)
            self._length += len(more)
        self._file.seek(position)
        return self._file.read(size)

    def length(self) -> int:
        """How many bytes there are, once all have come."""
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


def stdin() -> Spool:
    """What is piped in."""
    return Spool(sys.stdin.buffer)


def place_of(path: str | Path) -> OnDisk | Spool:
    """The file, or the pipe, of that name."""
    if check_readable(path) == "file":
        return OnDisk(expand_user(path))
    return Spool(open_bytes(path), str(path), close=True)


def peek(place: Place) -> bytes:
    """The first bytes, unpacked."""
    with unpacked(place) as (_, stream):
        return bytes(stream.read(PEEK))


def compression_of(place: Place) -> str | None:
    """What the bytes are packed with, by what they start with."""
    raw = place.raw()
    first = raw.read(4)
    raw.close()
    return next((name for magic, name in COMPRESSIONS.items() if first.startswith(magic)), None)


@contextmanager
def unpacked(place: Place) -> Iterator[tuple[Any, Any]]:
    """(the file, which says how far it was read; the stream of its bytes, unpacked)"""
    import pyarrow as pa

    compression = compression_of(place)
    raw = place.raw()
    file = raw if isinstance(raw, pa.NativeFile) else pa.PythonFile(raw, mode="r")
    try:
        stream = file if compression is None else pa.CompressedInputStream(file, compression)
        yield raw, stream
    finally:
        file.close()

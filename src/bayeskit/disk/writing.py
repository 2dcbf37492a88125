"""Files that are written as a whole or not at all: at any moment the old or the new one has the name.

The bytes go to a new file beside it, ``.NAME.….part``, then to the disk, and take the name at once. The name of that
file is drawn at random and must be new, so that no link someone laid there is followed. It is locked while it is
written: one that a killed process left behind is not, and the next write of the same name removes it.
"""

from __future__ import annotations

import io
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from bayeskit.disk.locks import beside, is_at, try_lock
from bayeskit.disk.paths import expanded, resolved
from bayeskit.errors import BayesError

ABANDONED = 3600.0  # seconds after which an unfinished file is removed where no lock tells (Windows)
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)


def write_whole(path: str | Path, data: bytes) -> None:
    """Write a file so that at any moment the old or the new one stands there, whole."""
    with replacing(path) as out:
        out.write(data)


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """A new file to write into, which takes the name when all went well; after an error, all is as it was.

    A pipe or a device is no file that could be replaced: it is written as it is.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "said.csv")) as out:
    ...         _ = out.write(b"class\\n")
    ...         there = Path(folder, "said.csv").exists()
    ...     there, Path(folder, "said.csv").read_bytes()
    (False, b'class\\n')
    """
    if takes_a_stream(path):
        with _telling(path):
            file = os.open(expanded(path), os.O_WRONLY | getattr(os, "O_BINARY", 0))
        with _writer(file, path) as out:
            yield out
        return
    where = resolved(path)
    with _telling(path):
        _sweep(where)
        file, part = _new_file(where)
    try:
        with _writer(file, path) as out:
            yield out
            out.flush()
            with _telling(path):
                if where.exists():
                    _keep_mode(where, file, part)
                os.fsync(file)
                if sys.platform != "win32":  # while it is locked: nobody takes it for left behind
                    part.replace(where)
        with _telling(path):
            if sys.platform == "win32":
                part.replace(where)
            _settle(where.parent)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def takes_a_stream(path: str | Path) -> bool:
    """Whether a pipe, a terminal or another device lies there."""
    try:
        mode = expanded(path).stat().st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


class _Raw(io.FileIO):
    """Says which file it is that cannot be written."""

    told: str | Path = ""

    def write(self, data: Any) -> int:
        with _telling(self.told):
            return super().write(data)


@contextmanager
def _writer(file: int, path: str | Path) -> Iterator[IO[bytes]]:
    raw = _Raw(file, "wb")
    raw.told = path
    out = io.BufferedWriter(raw)
    try:
        yield out
        out.flush()
    finally:
        raw.close()  # what an error left in the buffer is not wanted
        with suppress(ValueError):
            out.close()


@contextmanager
def _telling(path: str | Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise BayesError(f"{path} cannot be written: {problem.strerror}") from None


def _new_file(where: Path) -> tuple[int, Path]:
    """A locked file beside the other, and its name."""
    while True:
        part = beside(where, f".{secrets.token_hex(6)}.part")
        file = os.open(part, _FLAGS, 0o666)
        try:
            is_mine = sys.platform == "win32" or (try_lock(file) and is_at(file, part))
        except OSError:  # no locks on this disk: nobody sweeps here, either
            is_mine = True
        if is_mine:
            return file, part
        os.close(file)  # swept between being made and being locked


def _sweep(where: Path) -> None:
    """Remove what killed processes left behind when they wrote this file."""
    pattern = re.compile(re.escape(beside(where, "").name) + r"\.[0-9a-f]{12}\.part")
    with os.scandir(where.parent) as entries:
        left = [where.with_name(entry.name) for entry in entries if pattern.fullmatch(entry.name)]
    for part in left:
        with suppress(OSError):
            if sys.platform == "win32":
                if time.time() - part.stat().st_mtime > ABANDONED:
                    part.unlink()
                continue
            file = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                if stat.S_ISREG(os.fstat(file).st_mode) and try_lock(file) and is_at(file, part):
                    part.unlink()
            finally:
                os.close(file)


def _keep_mode(where: Path, file: int, part: Path) -> None:
    """Who may read the old file may read the new one."""
    mode = stat.S_IMODE(where.stat().st_mode)
    if hasattr(os, "fchmod"):
        os.fchmod(file, mode)
    else:
        part.chmod(mode)


def _settle(folder: Path) -> None:
    """The new name is on the disk, too, where the system can be asked for it."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

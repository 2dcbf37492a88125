"""Files and pipes: classify paths, read them, replace them as a whole and lock them.

A file is written to a temporary file beside it, ``.NAME.….part``, flushed to the disk, and renamed: at any moment the
old or the new file has the name. ``.NAME.lock`` carries the lock of a file that is read, changed and written in one
step. The lock belongs to the operating system and ends with the process that holds it.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Literal

from bayeskit.errors import BadFile, BayesError, Locked
from bayeskit.nearest import did_you_mean

if TYPE_CHECKING:
    from filelock import BaseFileLock

MAGIC = b"BAYES\x00"  # first bytes of a model file
NETWORK_ENDINGS = (".bif", ".xml", ".xmlbif", ".net", ".dsc")
PathKind = Literal["file", "folder", "pipe"]
# For a glob pattern, the system may report any of these.
NOT_FOUND = (errno.ENOENT, errno.ENOTDIR, errno.EINVAL, errno.ENAMETOOLONG)
PIPE_LIMIT = 1 << 32  # bytes read from a pipe into memory
CHUNK = 1 << 20  # bytes read at a time
SECRETS = ("password", "sslpassword", "passfile")  # settings of database connections
HIDDEN = "***"
LOCK_TIMEOUT = 600.0  # seconds
NOTICE_AFTER = 1.0  # seconds of waiting after which ``on_wait`` is called
POLL_INTERVAL = 0.01  # seconds
MOST_NAMES = 1000  # of a folder that are compared with a name that is not there


# -- paths ---------------------------------------------------------------------------------------------


def hide_secrets(path: str | Path) -> str:
    """Return a path for a message without its password, since it may be a mistyped connection string.

    >>> hide_secrets("mysql://ann:secret@shop/sales?x=y"), hide_secrets("host=shop password='my secret' user=ann")
    ('mysql://shop/sales', 'host=shop password=*** user=ann')
    >>> hide_secrets("postgres:ann:secret@shop"), hide_secrets("postgresql//ann:secret")
    ('postgres:***@shop', 'postgresql//ann:***')
    """
    text = str(path)
    scheme, separator, rest = text.partition("://")
    if separator:
        return f"{scheme}://{_hide_invalid_ports(rest.rpartition('@')[2].partition('?')[0])}"
    before, colon, after = text.partition(":")
    if colon and ("@" in after or re.match(r"(?i)\W*(jdbc|postgres|pgsql)", text)):
        return f"{before}:{HIDDEN}" + "@" * ("@" in after) + (after.rpartition("@")[2] if "@" in after else "")
    return re.sub(rf"(?i)({'|'.join(SECRETS)})(\s*=\s*)('[^']*'?|[^\s&]+)", rf"\1\2{HIDDEN}", text)


def invalid_ports(place: str) -> list[str]:
    """List the port positions that hold no port, such as a password without the @ that should follow it.

    >>> invalid_ports("shop:5432,[::1]:5433/sales"), invalid_ports("ann:secret/sales")
    ([], ['secret'])
    """
    ports = [re.sub(r"^\[[^]]*\]", "", host).partition(":")[2] for host in place.partition("/")[0].split(",")]
    return [port for port in ports if port and not (port.isdecimal() and len(port) < 6 and int(port) < 1 << 16)]


def _hide_invalid_ports(place: str) -> str:
    hosts, slash, rest = place.partition("/")
    for port in invalid_ports(place):
        hosts = hosts.replace(f":{port}", f":{HIDDEN}")
    return hosts + slash + rest


def expand_user(path: str | Path) -> Path:
    """Return the path with ``~`` filled in; ``~nobody`` stays as it is and is then not found."""
    if "\0" in str(path):
        raise BayesError(f"{str(path)!r} is not a path: it has a zero character in it")
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def resolve_links(path: str | Path) -> Path:
    """Return the file that links lead to; a link that leads back to itself stays as it is."""
    return Path(os.path.realpath(expand_user(path)))


def path_kind(path: str | Path) -> PathKind | None:
    """Return the kind of what a path leads to, None where nothing exists.

    >>> path_kind("no.csv"), path_kind(".")
    (None, 'folder')
    """
    where = expand_user(path)
    try:
        mode = where.stat().st_mode
    except OSError as problem:
        if problem.errno in NOT_FOUND and not os.path.islink(where):  # noqa: PTH114  (of any path)
            return None
        raise BadFile(f"{hide_secrets(path)} {_explain(where, problem)}") from None
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        return "pipe"
    kind = "a socket" if stat.S_ISSOCK(mode) else "a disk"
    raise BadFile(f"{path} is {kind}, which cannot be read as a file", hint="name a file or a pipe")


def no_file(path: str | Path, what: str = "there is no file") -> BadFile:
    """Build the error for a path at which nothing lies, with similar names in its folder."""
    if "://" in str(path):
        address = hide_secrets(path)
        return BadFile(
            f"{address} is not a path on this machine", hint="copy it to a file first, for instance by fsspec"
        )
    place = expand_user(path)
    try:
        names = [entry.name for entry in islice(place.parent.iterdir(), MOST_NAMES)]
    except (OSError, ValueError):
        names = []
    return BadFile(f"{what} {hide_secrets(path)!r} (looked in {Path.cwd()}){did_you_mean(place.name, names)}")


def check_readable(path: str | Path) -> Literal["file", "pipe"]:
    """Return the kind of a file or pipe; raise an error for anything else."""
    kind = path_kind(path)
    if kind is None:
        raise no_file(path)
    if kind == "folder":
        raise BadFile(f"{path} is a folder", hint="name a file in it")
    return kind


def is_stream(path: str | Path) -> bool:
    """Return True for a pipe, a terminal or another device."""
    try:
        return path_kind(path) == "pipe"
    except BadFile:
        return False


# -- reading -------------------------------------------------------------------------------------------


def open_bytes(path: str | Path) -> io.BufferedReader:
    """Open a file or a pipe for reading; opening a pipe waits for its writer."""
    check_readable(path)
    where = expand_user(path)
    try:
        return where.open("rb")
    except OSError as problem:
        raise BadFile(f"{path} {_explain(where, problem)}") from None


def read_bytes(path: str | Path, start: bytes = b"") -> bytes:
    """Read all bytes of a file or a pipe; where they do not begin with ``start``, only as many as that has."""
    with open_bytes(path) as file:
        try:
            return read_all(file, start)
        except OSError as problem:
            raise BadFile(f"{path} {_explain(expand_user(path), problem)}") from None
        except BadFile as problem:
            raise BadFile(f"{path} {problem}") from None


def read_all(file: BinaryIO, start: bytes = b"") -> bytes:
    """Read all bytes of an open file, up to a limit since a pipe may never end."""
    first = file.read(len(start))
    if first != start:
        return first
    parts, size = [first], len(first)
    while chunk := file.read(CHUNK):
        parts.append(chunk)
        size += len(chunk)
        if size > PIPE_LIMIT:
            raise BadFile(f"gives more than {PIPE_LIMIT >> 30} GB and may never end: save it to a file and name that")
    return b"".join(parts)


def _explain(where: Path, problem: OSError) -> str:
    """Explain why a path cannot be read, and how to fix it."""
    if problem.errno == errno.ELOOP:
        return "is a link that leads back to itself: correct the link, or name the file itself"
    if isinstance(problem, FileNotFoundError) and os.path.islink(where):  # noqa: PTH114
        return f"is a link to {where.readlink()}, where nothing is: correct the link, or name the file itself"
    if isinstance(problem, PermissionError):
        return f"cannot be read: {problem.strerror}. Ask its owner for the right to read it, or for a copy."
    return f"cannot be read: {problem.strerror or problem}"


# -- writing -------------------------------------------------------------------------------------------


def write_file(path: str | Path, data: bytes) -> None:
    """Write a file as a whole: at any moment the old or the new content has the name."""
    with replace_file(path) as out:
        out.write(data)


@contextmanager
def replace_file(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that takes the name when the block succeeds; an error leaves the old file.

    A pipe or a device cannot be replaced and is written directly.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replace_file(Path(folder, "rows.csv")) as out:
    ...         _ = out.write(b"class\\n")
    ...         exists = Path(folder, "rows.csv").exists()
    ...     exists, Path(folder, "rows.csv").read_bytes()
    (False, b'class\\n')
    """
    if is_stream(path):
        with _write_errors(path):
            file = os.open(expand_user(path), os.O_WRONLY | getattr(os, "O_BINARY", 0))
        with _writer(file, path) as out:
            yield out
        return
    where = resolve_links(path)
    part = hidden_name(where, f".{secrets.token_hex(6)}.part")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with _write_errors(path):
        file = os.open(part, flags, 0o666)
    try:
        with _writer(file, path) as out:
            yield out
            out.flush()
            with _write_errors(path):
                if where.exists():
                    part.chmod(stat.S_IMODE(where.stat().st_mode))
                os.fsync(file)
        with _write_errors(path):
            part.replace(where)
            _sync_folder(where.parent)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def hidden_name(where: Path, ending: str) -> Path:
    """Return a hidden name beside a file; long names are hashed to stay within the limit of the system.

    >>> hidden_name(Path("birds.bayes"), ".lock").name
    '.birds.bayes.lock'
    """
    name = where.name
    if len(os.fsencode(name)) > 200:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return where.with_name(f".{name}{ending}")


class _NamedWriter(io.FileIO):
    """A raw file whose write errors name the path that the user gave."""

    given_path: str | Path = ""

    def write(self, data: Any) -> int:
        with _write_errors(self.given_path):
            return super().write(data)


@contextmanager
def _writer(file: int, path: str | Path) -> Iterator[IO[bytes]]:
    raw = _NamedWriter(file, "wb")
    raw.given_path = path
    out = io.BufferedWriter(raw)
    try:
        yield out
        out.flush()
    finally:
        raw.close()  # after an error, the rest of the buffer is dropped
        with suppress(ValueError):
            out.close()


@contextmanager
def _write_errors(path: str | Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        if "://" in str(path):
            hint = "write a file and copy it there, for instance by fsspec"
            raise BayesError(f"{hide_secrets(path)} is not a path on this machine", hint=hint) from None
        raise BayesError(f"{path} cannot be written: {problem.strerror}") from None


def _sync_folder(folder: Path) -> None:
    """Flush the new name to the disk, too."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# -- locking -------------------------------------------------------------------------------------------


@contextmanager
def lock_file(
    path: str | Path, timeout: float | None = LOCK_TIMEOUT, on_wait: Callable[[], None] | None = None
) -> Iterator[None]:
    """Lock a file against other writers while it is read, changed and written; links lead to the same lock.

    Waits up to ``timeout`` seconds (None: without a limit), then raises :class:`Locked`. ``on_wait`` is called once,
    after a second of waiting.
    """
    if timeout is not None and not timeout >= 0:
        raise BayesError(f"timeout={timeout!r}: seconds to wait, 0 or more, or None to wait as long as it takes")
    lock = _lock_of(path)
    if lock.is_locked:
        raise BayesError(f"{path} is being changed by this thread: end that change first, or make it there")
    try:
        acquired = _acquire(lock, timeout, on_wait)
    except OSError as problem:
        raise BayesError(
            f"{path} cannot be changed: nothing can be written in its folder {Path(lock.lock_file).parent}, or its "
            f"lock {Path(lock.lock_file).name} cannot be opened ({problem.strerror})",
            hint="Ask for the right to write there, remove the lock, or change a copy.",
        ) from None
    if not acquired:
        raise Locked(
            f"{path} is being changed by another process, which did not end within {timeout:g} seconds; nothing was "
            "written.",
            hint="Wait for it, end it, or wait longer: timeout=.",
        )
    try:
        yield
    finally:
        # Whoever waits for this lock notices that the file is gone, and creates a new one.
        with suppress(OSError):
            Path(lock.lock_file).unlink()
        lock.release()


def holds_lock(path: str | Path) -> bool:
    """Return True where this thread holds the lock of the file."""
    return _lock_of(path).is_locked


def _lock_of(path: str | Path) -> BaseFileLock:
    from filelock import FileLock

    side = hidden_name(resolve_links(path), ".lock")
    return FileLock(str(side), poll_interval=POLL_INTERVAL, is_singleton=True)


def _acquire(lock: BaseFileLock, timeout: float | None, on_wait: Callable[[], None] | None) -> bool:
    """Acquire a lock; False after the timeout."""
    from filelock import Timeout

    start = time.monotonic()
    first = NOTICE_AFTER if timeout is None else min(NOTICE_AFTER, timeout)
    try:
        lock.acquire(timeout=first)
        return True
    except Timeout:
        if timeout is not None and timeout <= NOTICE_AFTER:
            return False
    if on_wait is not None:
        on_wait()
    try:
        lock.acquire(timeout=-1 if timeout is None else max(timeout - (time.monotonic() - start), 0))
    except Timeout:
        return False
    return True

"""One writer at a time: reading, changing and writing a file as one step that nobody else comes between.

The file cannot carry the lock itself, since writing replaces it. ``.NAME.lock`` beside it does; whoever lets go
removes it. The lock is the system's and ends with the process that holds it, however that ends: a ``.lock`` that a
killed process left behind holds nobody up.
"""

from __future__ import annotations

import errno
import os
import re
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bayeskit.disk.paths import resolved
from bayeskit.errors import BayesError, Locked
from bayeskit.remedy import Remedy

PATIENCE = 600.0  # seconds that a writer waits for the one before it
NOTICE = 1.0  # seconds after which a person is told that it waits
PAUSES = (0.001, 0.05)  # seconds between two looks, at first and at most
HOLDER = re.compile(rb"process \d{1,20} on [\w.-]{1,100}")

_in_this_process: dict[tuple[int, Path], int] = {}  # (process, file) → thread; a child after a fork holds nothing
_changed = threading.Condition()

if sys.platform == "win32":
    import msvcrt

    FAR = 1 << 30  # a locked byte cannot be read by others: it lies beyond the name of who holds the lock

    def try_lock(file: int) -> bool:
        """Take the lock of an open file, unless someone has it."""
        os.lseek(file, FAR, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _unlock(file: int) -> None:
        os.lseek(file, FAR, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def try_lock(file: int) -> bool:
        """Take the lock of an open file, unless someone has it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


@contextmanager
def locked(
    path: str | Path, timeout: float | None = PATIENCE, waiting: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Nobody else who asks for this lock changes the file meanwhile, by whatever symbolic link they come to it.

    Who comes second waits, ``timeout`` seconds at most (None: for as long as it takes), then :class:`Locked` is
    raised. ``waiting`` is told once, after a second, who holds it.
    """
    where = resolved(path)
    wait = _Wait(path, timeout, waiting)
    key = (os.getpid(), where)
    with _changed:
        if _in_this_process.get(key) == threading.get_ident():
            raise BayesError(f"{path} is being changed by this very thread: end that change first, or make it there")
        while key in _in_this_process:
            _changed.wait(wait.pause(b"another thread of this process"))
        _in_this_process[key] = threading.get_ident()
    try:
        side = beside(where, ".lock")
        file = _acquire(side, wait)
        try:
            yield
        finally:
            if os.getpid() == key[0]:
                _release(file, side)
    finally:
        with _changed:
            _in_this_process.pop(key, None)
            _changed.notify_all()


def is_mine(path: str | Path) -> bool:
    """Whether this thread holds the lock of the file."""
    return _in_this_process.get((os.getpid(), resolved(path))) == threading.get_ident()


def beside(where: Path, ending: str) -> Path:
    """The hidden name beside a file, also of a file whose name is nearly as long as names may be.

    >>> beside(Path("birds.bayes"), ".lock").name
    '.birds.bayes.lock'
    """
    name = where.name
    if len(os.fsencode(name)) > 200:
        import hashlib

        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return where.with_name(f".{name}{ending}")


def is_at(file: int, path: Path) -> bool:
    """Whether the open file is the one that has this name; on Windows an open file cannot lose it."""
    if sys.platform == "win32":
        return True
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except FileNotFoundError:
        return False


class NoLocks(BayesError):
    """The disk knows no locks."""


class _Wait:
    """How long is waited still, and who was told of it."""

    def __init__(self, path: str | Path, timeout: float | None, waiting: Callable[[str], None] | None) -> None:
        if timeout is not None and not timeout >= 0:
            raise BayesError(f"timeout={timeout!r}: seconds to wait, 0 or more, or None to wait as long as it takes")
        self.path, self.timeout, self.waiting = path, timeout, waiting
        self.start = time.monotonic()
        self.next = PAUSES[0]

    def pause(self, holder: bytes) -> float:
        """Seconds until the next look; an error where the time is up."""
        who = match[0].decode() if (match := HOLDER.search(holder)) else holder.decode("ascii", "replace")
        passed = time.monotonic() - self.start
        if self.timeout is not None and passed >= self.timeout:
            raise Locked(
                f"{self.path} is being changed by {who}, which did not end within {self.timeout:g} seconds; "
                "nothing was written. ",
                Remedy("timeout", clause="Wait for it, end it, or wait longer: {}"),
                ".",
                culprit=who,
                place=str(self.path),
            )
        if self.waiting is not None and passed >= NOTICE:
            self.waiting(who)
            self.waiting = None
        self.next = min(self.next * 2, PAUSES[1])
        return self.next if self.timeout is None else min(self.next, max(self.timeout - passed, 0.001))


def _acquire(side: Path, wait: _Wait) -> int:
    """The open and locked file of that name."""
    while True:
        file = _open(side, wait)
        if file is None:
            time.sleep(wait.pause(b"another process"))
            continue
        try:
            while not try_lock(file):
                time.sleep(wait.pause(_holder(file)))
            if is_at(file, side):  # else the one before removed it: what is locked is nobody's any more
                _sign(file)
                return file
            os.close(file)
        except OSError as problem:
            os.close(file)
            raise NoLocks(
                f"{wait.path} cannot be locked against other writers here: {problem.strerror}. "
                "Change a copy on a disk of this machine, and move that back."
            ) from None
        except BaseException:
            os.close(file)
            raise


def _open(side: Path, wait: _Wait) -> int | None:
    """The file that carries the lock; None where it is being removed (Windows)."""
    flags = os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        file = os.open(side, flags | os.O_RDWR, 0o666)
    except PermissionError as problem:
        if sys.platform == "win32":
            return None
        try:  # one that someone else left behind
            file = os.open(side, (flags | os.O_RDONLY) & ~os.O_CREAT)
        except OSError:
            raise _unwritable(side, wait, problem) from None
    except OSError as problem:
        if problem.errno == errno.ELOOP:
            raise BayesError(f"{side} is a link and cannot carry the lock of {wait.path}: remove it") from None
        raise _unwritable(side, wait, problem) from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise BayesError(f"{side} is no plain file and cannot carry the lock of {wait.path}: remove it")
    return file


def _unwritable(side: Path, wait: _Wait, problem: OSError) -> BayesError:
    return BayesError(
        f"{wait.path} cannot be changed: nothing can be written in its folder {side.parent} ({problem.strerror}). "
        "Ask for the right to write there, or change a copy."
    )


def _sign(file: int) -> None:
    """Say who holds the lock, for those who wait; not into a file that has another name as well."""
    if os.fstat(file).st_nlink == 1:
        with suppress(OSError):  # opened for reading alone
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
            os.write(file, f"process {os.getpid()} on {socket.gethostname()}\n".encode())


def _holder(file: int) -> bytes:
    try:
        os.lseek(file, 0, os.SEEK_SET)
        match = HOLDER.match(os.read(file, 200))
    except OSError:
        match = None
    return match[0] if match else b"another process"


def _release(file: int, side: Path) -> None:
    if sys.platform == "win32":  # an open file cannot be removed there: whoever waits keeps it alive
        _unlock(file)
        os.close(file)
        with suppress(OSError):
            side.unlink()
        return
    with suppress(OSError):
        if is_at(file, side):
            side.unlink()
        _unlock(file)
    os.close(file)

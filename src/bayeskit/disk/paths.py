"""What lies at a path: a file, a folder, a pipe. What can be none of them is refused with what it is and what helps."""

from __future__ import annotations

import errno
import io
import os
import re
import stat
from pathlib import Path
from typing import BinaryIO, Literal

from bayeskit.errors import BadFile, BayesError

Lying = Literal["file", "folder", "pipe"]
NOTHING = (errno.ENOENT, errno.ENOTDIR, errno.EINVAL, errno.ENAMETOOLONG)  # of a glob, the system may say any of them
MOST = 1 << 32  # bytes that are taken from a pipe into memory
CHUNK = 1 << 20  # bytes read at a time
SECRETS = ("password", "sslpassword", "passfile")  # settings of connections
HIDDEN = "***"


def without_secrets(path: str | Path) -> str:
    """A path as it may be told: it may be a mistyped connection string, whose password nobody is to read.

    >>> without_secrets("mysql://ann:secret@shop/sales?x=y"), without_secrets("host=shop password='my secret' user=ann")
    ('mysql://shop/sales', 'host=shop password=*** user=ann')
    >>> without_secrets("postgres:ann:secret@shop"), without_secrets("postgresql//ann:secret")
    ('postgres:***@shop', 'postgresql//ann:***')
    """
    text = str(path)
    scheme, there, rest = text.partition("://")
    if there:
        return f"{scheme}://{_without_strange_ports(rest.rpartition('@')[2].partition('?')[0])}"
    before, colon, after = text.partition(":")
    if colon and ("@" in after or re.match(r"(?i)\W*(jdbc|postgres|pgsql)", text)):
        return f"{before}:{HIDDEN}" + "@" * ("@" in after) + (after.rpartition("@")[2] if "@" in after else "")
    return re.sub(rf"(?i)({'|'.join(SECRETS)})(\s*=\s*)('[^']*'?|[^\s&]+)", rf"\1\2{HIDDEN}", text)


def strange_ports(place: str) -> list[str]:
    """What stands where the ports of hosts should, and is none: a password without the @ that should follow it.

    >>> strange_ports("shop:5432,[::1]:5433/sales"), strange_ports("ann:secret/sales")
    ([], ['secret'])
    """
    ports = [re.sub(r"^\[[^]]*\]", "", host).partition(":")[2] for host in place.partition("/")[0].split(",")]
    return [port for port in ports if port and not (port.isdecimal() and len(port) < 6 and int(port) < 1 << 16)]


def _without_strange_ports(place: str) -> str:
    hosts, slash, rest = place.partition("/")
    for port in strange_ports(place):
        hosts = hosts.replace(f":{port}", f":{HIDDEN}")
    return hosts + slash + rest


def expanded(path: str | Path) -> Path:
    """The path with ``~`` filled in; ``~nobody`` stays as it is, for the system to find that it is not there."""
    if "\0" in str(path):
        raise BayesError(f"{str(path)!r} is no path: it has a zero character in it")
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def resolved(path: str | Path) -> Path:
    """The file that links lead to, by its one name; a link that leads back to itself stays as it is."""
    return Path(os.path.realpath(expanded(path)))


def lying_at(path: str | Path) -> Lying | None:
    """What lies there, at the end of all links; None for nothing.

    >>> lying_at("no.csv"), lying_at(".")
    (None, 'folder')
    """
    where = expanded(path)
    try:
        mode = where.stat().st_mode
    except OSError as problem:
        if problem.errno in NOTHING and not os.path.islink(where):  # noqa: PTH114  (of any path)
            return None
        raise BadFile(f"{without_secrets(path)} {_reason(where, problem)}") from None
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        return "pipe"
    what = "a socket" if stat.S_ISSOCK(mode) else "a disk"
    raise BadFile(f"{path} is {what}, which cannot be read as a file: name a file or a pipe")


def readable_at(path: str | Path) -> Literal["file", "pipe"]:
    """Which of the two lies there; an error where it is neither."""
    lying = lying_at(path)
    if lying is None:
        raise BadFile(f"there is no file {without_secrets(path)!r} (looked in {Path.cwd()})")
    if lying == "folder":
        raise BadFile(f"{path} is a folder: name a file in it")
    return lying


def open_bytes(path: str | Path) -> io.BufferedReader:
    """A file or a pipe, opened to be read; of a pipe that nobody writes to yet, the writer is waited for."""
    readable_at(path)
    where = expanded(path)
    try:
        return where.open("rb")
    except OSError as problem:
        raise BadFile(f"{path} {_reason(where, problem)}") from None


def read_bytes(path: str | Path, start: bytes = b"") -> bytes:
    """All bytes of a file or a pipe; where they do not begin with ``start``, its length of them and no more."""
    with open_bytes(path) as file:
        try:
            return all_of(file, start)
        except OSError as problem:
            raise BadFile(f"{path} {_reason(expanded(path), problem)}") from None
        except BadFile as problem:
            raise BadFile(f"{path} {problem}") from None


def all_of(file: BinaryIO, start: bytes = b"") -> bytes:
    """All bytes of an open file, within bounds also where it never ends."""
    first = file.read(len(start))
    if first != start:
        return first
    parts, size = [first], len(first)
    while chunk := file.read(CHUNK):  # asking for all at once would take room for as much as is allowed
        parts.append(chunk)
        size += len(chunk)
        if size > MOST:
            raise BadFile(f"gives more than {MOST >> 30} GB and may never end: save it to a file and name that")
    return b"".join(parts)


def _reason(where: Path, problem: OSError) -> str:
    """Why it cannot be read, and what helps."""
    if problem.errno == errno.ELOOP:
        return "is a link that leads back to itself: mend the link, or name the file itself"
    if isinstance(problem, FileNotFoundError) and os.path.islink(where):  # noqa: PTH114
        return f"is a link to {where.readlink()}, where nothing is: mend the link, or name the file itself"
    if isinstance(problem, PermissionError):
        return f"cannot be read: {problem.strerror}. Ask its owner for the right to read it, or for a copy."
    return f"cannot be read: {problem.strerror or problem}"

"""Open the data that a command reads, and refuse files that are not tables."""

from __future__ import annotations

import glob  # Path.glob takes no absolute pattern
import os
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayeskit.cli.options import Reading, listed_names, pairs
from bayeskit.errors import BadFile, BayesError, BayesWarning, SchemaMismatch
from bayeskit.inner_model import reader_of
from bayeskit.progress import Bar
from bayeskit.storage import files
from bayeskit.storage.files import LOCK_TIMEOUT, MAGIC, NETWORK_ENDINGS, hide_secrets, resolve_links

if TYPE_CHECKING:
    from bayeskit.data.io.files import Progress
    from bayeskit.data.io.streams import Unreadable
    from bayeskit.storage.history import History


def open_data(paths: Sequence[str], target: str | None, reading: Reading, unreadable: Unreadable | None = None) -> Any:
    """Open the data of a command: the rows of all its files, or of a database."""
    if (rows := open_database(paths, reading)) is not None:
        return rows if target is None else rows.with_target(target)
    from bayeskit.data.io.files import FileSource

    types = pairs("--type", reading.column_type) or None
    rows = FileSource.of(paths, None, types, None, **reading.settings, unreadable=unreadable)
    return rows if target is None else rows.with_target(target)


def open_database(paths: Sequence[str], reading: Reading) -> Any:
    """Open the rows of a query or of a database table; None if the data is not a database."""
    from bayeskit.data.io.sql import SqlSource, is_address, is_database_file

    given = [path for path in paths if is_address(path) or is_database_file(path)]
    if not given:
        if reading.query is not None:
            raise BayesError("--query asks a database: give the file of one (.duckdb, .sqlite) or postgresql://...")
        return None
    if len(paths) > 1:
        raise BayesError(f"{public_address(given[0])} is a database: name it alone, and its tables in --query")
    if reading.settings != Reading().settings or reading.column_type:
        raise BayesError(f"{public_address(given[0])} is a database, whose cells have types: cast them in --query")
    return SqlSource.of(reading.query, given[0]) if reading.query is not None else SqlSource.at(given[0])


def public_address(path: str) -> str:
    """Return the name of data without its secrets."""
    from bayeskit.data.io.sql import Address, is_address

    if not is_address(path):
        return hide_secrets(path)
    address = Address.of(path)
    return address.shown if address.table is None else f"{address.shown}?table={address.table}"


def open_rows(
    paths: Sequence[str], reading: Reading, unreadable: Unreadable | None = None, *, as_they_come: bool = True
) -> Any:
    """Open rows to predict; those of a pipe are streamed."""
    if not as_they_come or len(paths) != 1 or not (paths[0] == "-" or files.path_kind(paths[0]) == "pipe"):
        return open_data(paths, None, reading, unreadable)
    from bayeskit.data.io.files import refuse_start
    from bayeskit.data.io.pipes import open_arriving

    look, types = partial(refuse_start, encoding=reading.encoding), pairs("--type", reading.column_type)
    return open_arriving(paths[0], types, look, **reading.settings, unreadable=unreadable)


def columns_to_keep(name: str, keep: Sequence[str], columns: Collection[str]) -> list[str]:
    """Return the columns of ``--keep``, each a name or names with commas; an unknown one is an error."""
    names = [name for given in keep for name in ([given] if given in columns else listed_names(given))]
    for column in names:
        if column not in columns:
            raise SchemaMismatch(f"{name} has no column {column!r} to keep (it has: {', '.join(columns)})")
    return list(dict.fromkeys(names))


def group_column(source: Any, name: str) -> Any:
    """Read the column that says which rows belong together; the target and unknown names are refused."""
    from bayeskit.data.reader import read_batch
    from bayeskit.errors import BayesError
    from bayeskit.nearest import did_you_mean

    if name not in source.kinds:
        raise BayesError(f"--group: there is no column {name!r} beside the class{did_you_mean(name, source.kinds)}")
    return read_batch(source, [name]).columns[name]


@contextmanager
def watched(source: Any, doing: str, *, printing: bool = False) -> Iterator[Any]:
    """Wrap a source in a progress bar with rows, bytes and remaining time.

    ``printing``: predictions go to standard output meanwhile, so no bar is shown on a terminal.
    """
    if not sys.stderr.isatty() or (printing and sys.stdout.isatty()) or not hasattr(source, "watched"):
        yield source
        return
    with FileBar(doing) as bar:
        yield source.watched(bar)


class FileBar(Bar):
    """Show the bytes and rows of files that are read so far."""

    def __init__(self, doing: str) -> None:
        super().__init__(True)
        self.doing = doing

    def __call__(self, progress: Progress) -> None:  # type: ignore[override]
        self.show(self.doing, progress.bytes_read, progress.bytes_total, f"{progress.rows:,} rows")

    def columns(self) -> list[Any]:
        """Return the bytes and the time left."""
        from rich.progress import DownloadColumn, TextColumn, TimeRemainingColumn

        return [DownloadColumn(), TimeRemainingColumn(compact=True), TextColumn("left")]


def load_model(path: str) -> Any:
    """Load a model from a file or from standard input."""
    return open_model(path)[0]


def open_model(path: str) -> tuple[Any, History]:
    """Load a model and the history of its file, or of standard input."""
    from bayeskit.models import open_bytes, open_file
    from bayeskit.storage.history import History

    if Path(path).suffix.lower() in NETWORK_ENDINGS:
        from bayeskit.network.formats import read_network

        return read_network(path), History()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesWarning)  # reported when the model was fitted
        try:
            return open_bytes(files.read_all(sys.stdin.buffer, MAGIC)) if path == "-" else open_file(path)
        except BadFile as problem:
            if "does not start" not in str(problem):
                raise
            raise BadFile(
                f"{str(problem).removesuffix('.')}.", hint="Name the model first, and the data after it."
            ) from None


MARK_WITHIN = 1 << 16  # first and last bytes of a file, in which the mark of its format or its columns stand


def check_writable(path: str, *, is_model: bool, reads: Sequence[str | None] = (), mark: bytes = b"") -> None:
    """Raise an error, before the work starts, if a file cannot be written or must not be replaced.

    A model may only replace a model, and a file with a mark (bytes near its start or end) only one that has it.
    """
    if path == "-" or files.is_stream(path):
        if path == "-" and is_model and sys.stdout.isatty():
            raise BayesError("a model is not text, and standard output is a terminal: name a file with -o, or a pipe")
        return
    where = resolve_links(path)
    if not os.access(where.parent, os.W_OK):
        why = "there is no such folder" if not where.parent.is_dir() else "the folder is not yours to write in"
        raise BayesError(f"{hide_secrets(path)} cannot be written: {why}")
    if not where.exists():
        return
    if not where.is_file():
        raise BayesError(f"{path} cannot be written: it is {'a folder' if where.is_dir() else 'no file'}")
    if not is_model and any(_covers(given, where) for given in reads if given):
        raise BayesError(f"{path} is read by this command and would be lost: name another file with -o")
    with where.open("rb") as file:
        start = file.read(MARK_WITHIN)
        file.seek(max(0, where.stat().st_size - MARK_WITHIN))
        end = file.read()
    holds_model = start.startswith(MAGIC)
    if start and (is_model != holds_model or mark not in start + end):  # an empty file is no loss
        other = "a model" if is_model else "a file of this command"
        what = "is a model" if holds_model else f"is there already and is not {other}"
        raise BayesError(f"{path} {what}: nothing is written over it. Name another file with -o, or remove it first.")


def _covers(given: str, file: Path) -> bool:
    """Return True if a path, a folder or a glob of the command line matches the file."""
    where = files.expand_user(given)
    if where.is_dir():
        return where.resolve() in file.parents
    return any(file.samefile(name) for name in ([where] if where.exists() else glob.glob(str(where), recursive=True)))  # noqa: PTH207


def save_model(model: Any, path: str, history: History, wait: float | None = LOCK_TIMEOUT) -> int:
    """Write a model to a file or to standard output; return the number of bytes."""
    from bayeskit.models import to_bytes
    from bayeskit.storage.model_file import write_model

    data = to_bytes(model, history)
    if path == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        write_model(path, data, wait, partial(_tell_waiting, path))
    return len(data)


def source_name(data: Sequence[str]) -> str:
    """Return the names of data without folders and secrets, for the history of a model file."""
    shown = map(public_address, data)
    return ", ".join(name if "://" in name else Path(name).name for name in shown)


def first_event(model: Any, source: str) -> History:
    """Return the history of a model that was just fitted on a source."""
    from bayeskit.models import n_rows
    from bayeskit.storage.history import Event, History

    return History((Event.now("fit", source, n_rows(reader_of(model) or model)),))


@dataclass
class OpenFile:
    """The model and the history of a file that is being changed."""

    model: Any
    history: History


@contextmanager
def rewriting(path: str, output: str | None, wait: float = LOCK_TIMEOUT) -> Iterator[OpenFile]:
    """Open the model of a file and write it back after the block; an error leaves the file unchanged.

    The file is locked meanwhile; other processes wait.
    """
    with changing([path], output or path, wait):
        opened = OpenFile(*open_model(path))
        yield opened
        save_model(opened.model, output or path, opened.history, wait)


def changing(paths: Sequence[str], output: str, wait: float = LOCK_TIMEOUT) -> AbstractContextManager[None]:
    """Return the lock of a file that is read and overwritten; no lock if the output is another file."""
    from bayeskit.storage.model_file import check_is_file

    if output == "-" or resolve_links(output) not in [resolve_links(path) for path in paths if path != "-"]:
        return nullcontext()
    check_is_file(output)
    return files.lock_file(output, wait, partial(_tell_waiting, output))


def _tell_waiting(path: str) -> None:
    print(f"bayes: note: {path} is being changed by another process: waiting for it", file=sys.stderr)

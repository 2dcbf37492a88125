"""Read documents from disk: a folder with one sub-folder per class, lines of a file, or a column of a table."""

from __future__ import annotations

import glob  # Path.glob takes no absolute pattern
import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any, Self, cast

from bayeskit.data.io import streams
from bayeskit.data.io.files import FileSource, Progress
from bayeskit.data.io.streams import checked, transcoding
from bayeskit.data.schema import Kind
from bayeskit.data.source import Batch
from bayeskit.errors import BadFile, BayesError
from bayeskit.lazy import pa
from bayeskit.nearest import did_you_mean
from bayeskit.storage.files import (
    check_readable,
    expand_user,
    no_file,
    open_bytes,
    path_kind,
    read_all,
    read_bytes,
)

# The name of the column of documents in every batch.
COLUMN = "text"
# About so many bytes of documents are in a batch.
TOGETHER = 1 << 24
# Bytes of lines read at a time; from a pipe, those available.
LINES = 1 << 20
Watch = Callable[[Progress], None]


class _TextSource:
    """Base of the sources of documents: one text column."""

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Return the kind of the single text column."""
        return {COLUMN: "string"}

    def watched(self: Any, watch: Watch | None) -> Any:
        """Return a source that reports its progress to ``watch``."""
        return replace(self, watch=watch)


@dataclass(frozen=True)
class FolderSource(_TextSource):
    """Files as documents, read as bytes; names of files are relative to ``folder``."""

    folder: Path
    files: tuple[Path, ...]
    labels: tuple[str, ...] | None = None
    target: str | None = None
    watch: Watch | None = None
    encoding: str | None = None
    named: bool = False

    @classmethod
    def of_classes(cls, folder: str | Path, target: str = "class", *, encoding: str | None = None) -> FolderSource:
        """Read every file below a sub-folder as a document of the class named by the sub-folder.

        Names that start with a dot are left out. ``encoding`` is that of the files, where they are not UTF-8.
        """
        folder = expand_user(folder)
        if not folder.is_dir():
            raise BayesError(f"{folder} is not a folder: it should hold one sub-folder for each class")
        classes = sorted(sub for sub in folder.iterdir() if sub.is_dir() and not sub.name.startswith("."))
        if not classes:
            raise BayesError(f"{folder} has no sub-folders: it should hold one for each class, named as the class")
        files: list[Path] = []
        labels: list[str] = []
        for sub in classes:
            documents = _files_below(sub)
            if not documents:
                raise BayesError(f"the class folder {sub} holds no file: put documents there, or remove it")
            files += documents
            labels += [sub.name] * len(documents)
        return cls(folder, tuple(files), tuple(labels), target, encoding=checked(encoding))

    @classmethod
    def of_files(cls, paths: str | Path | Sequence[str | Path], *, encoding: str | None = None) -> FolderSource:
        """Read every file as a document: a file, all files below a folder, or several paths.

        ``-`` and other pipes are a document each, too.
        """
        given = [paths] if isinstance(paths, (str, Path)) else list(paths)
        if list(map(str, given)).count(streams.STDIN) > 1:
            raise BayesError("standard input is read once: name - once")
        files = [file for path in given for file in _files_at(path)]
        folder = expand_user(given[0]) if len(given) == 1 and path_kind(given[0]) == "folder" else Path()
        return cls(folder, tuple(files), encoding=checked(encoding))

    @property
    def name(self) -> str:
        """Return the display name."""
        if self.folder != Path() or not self.files:
            return str(self.folder)
        return str(self.files[0]) if len(self.files) == 1 else f"{self.files[0]} and {len(self.files) - 1} more"

    def absolute(self) -> FolderSource:
        """Return the same files with absolute paths."""
        return replace(self, folder=self.folder.absolute(), files=tuple(map(Path.absolute, self.files)))

    def parts(self, n: int) -> list[FolderSource]:
        """Split the files into parts of about equal size."""
        count = max(1, min(n, len(self.files)))
        borders = [len(self.files) * i // count for i in range(count + 1)]
        return [
            replace(self, files=self.files[a:b], labels=None if self.labels is None else self.labels[a:b], watch=None)
            for a, b in pairwise(borders)
        ]

    @property
    def n_rows(self) -> int:
        """Return the number of documents."""
        return len(self.files)

    def batches(self) -> Iterator[Batch]:
        """Yield documents in order of file name, some megabytes at a time, with the column ``file``."""
        total = self._size() if self.watch is not None else None
        start, read = 0, 0
        while start < len(self.files):
            texts, size = [], 0
            for file in self.files[start:]:
                texts.append(_bytes_of(file, self.encoding))
                size += len(texts[-1])
                if size >= TOGETHER:
                    break
            part = slice(start, start + len(texts))
            names = [
                str(file.relative_to(self.folder) if file.is_relative_to(self.folder) else file)
                for file in self.files[part]
            ]
            columns = {"file": pa.array(names), COLUMN: pa.array(texts, pa.large_binary())}
            labels = None if self.labels is None else pa.array(self.labels[part])
            yield Batch(columns, len(texts), start, labels)
            start, read = start + len(texts), read + size
            if self.watch is not None:
                self.watch(Progress(start, read, total))

    def _size(self) -> int | None:
        return sum(file.stat().st_size for file in self.files) if all(map(Path.is_file, self.files)) else None


@dataclass(frozen=True)
class LinesSource(_TextSource):
    """Lines of files, standard input or another pipe, one document per line."""

    paths: tuple[str, ...]
    name: str
    encoding: str | None = None
    watch: Watch | None = None
    target: str | None = None
    named: bool = False

    @classmethod
    def of(cls, path: str | Path | Sequence[str | Path], *, encoding: str | None = None) -> LinesSource:
        """Read lines of one or more files (also .gz and .zst), of a pipe, or of ``-``."""
        paths = [str(path)] if isinstance(path, (str, Path)) else list(map(str, path))
        for one in paths:
            if one != streams.STDIN:
                check_readable(one)
        name = "standard input" if paths[0] == streams.STDIN else paths[0]
        name += f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        return cls(tuple(paths), name, checked(encoding))

    def batches(self) -> Iterator[Batch]:
        """Yield lines in order; from a pipe, a batch holds the lines available so far."""
        start, read, total = 0, 0, self._size()
        for chunk in (chunk for path in self.paths for chunk in self._chunks(path)):
            lines = chunk.split(b"\n")
            read += len(chunk)
            if not lines[-1]:
                lines.pop()
            lines = [line.removesuffix(b"\r") for line in lines]
            yield Batch({COLUMN: pa.array(lines, pa.large_binary())}, len(lines), start)
            start += len(lines)
            if self.watch is not None:
                self.watch(Progress(start, read, total))

    def _size(self) -> int | None:
        if any(path == streams.STDIN or check_readable(path) != "file" for path in self.paths):
            return None
        return sum(expand_user(path).stat().st_size for path in self.paths)

    def _chunks(self, path: str) -> Iterator[bytes]:
        """Yield UTF-8 bytes that end at a line end."""
        try:
            if path == streams.STDIN:
                yield from self._lines(cast(io.BufferedReader, sys.stdin.buffer).read1, "standard input")
            elif check_readable(path) == "file":
                with streams.unpacked(streams.OnDisk(expand_user(path))) as (_, stream):
                    yield from self._lines(stream.read, path)
            else:
                with open_bytes(path) as pipe:
                    yield from self._lines(pipe.read1, path)
        except OSError as problem:
            raise BadFile(f"{path} cannot be read: {problem}") from None

    def _lines(self, read: Callable[[int], bytes], name: str) -> Iterator[bytes]:
        return _line_blocks(read if self.encoding is None else transcoding(read, self.encoding, name))


@dataclass(frozen=True)
class TextColumn(_TextSource):
    """A text column of a table as documents, with the labels of the table."""

    source: FileSource
    column: str
    named: bool = False

    @classmethod
    def of(cls, source: FileSource, column: str | None) -> TextColumn:
        """Select the named column, or the only one there is."""
        names = list(source.kinds)
        if column is None and len(names) == 1:
            column = names[0]
        if column is None:
            raise BayesError(
                f"which column of {source.name} holds the text?", hint=f"Name it: column= (columns: {', '.join(names)})"
            )
        if column not in source.kinds:
            what = "the class and cannot be the text, too" if column == source.target else "not there"
            meant = did_you_mean(column, names)
            raise BayesError(f"{source.name}: column {column!r} is {what} (columns: {', '.join(names)}){meant}")
        return cls(source.reading({column: "text"}), column)

    # Those of the table.
    name = property(attrgetter("source.name"))
    here = property(attrgetter("source.here"))
    target = property(attrgetter("source.target"))
    n_rows = property(attrgetter("source.n_rows"))
    n_bytes = property(attrgetter("source.n_bytes"))
    files = property(attrgetter("source.files"))
    watch = property(attrgetter("source.watch"))

    def with_weight(self, name: str) -> TextColumn:
        """Return the documents with row weights from another column."""
        return replace(self, source=self.source.with_weight(name))

    def lines_of(self, file: str, rows: Sequence[int]) -> list[int] | None:
        """Return the line numbers on which these rows of a file begin."""
        return self.source.lines_of(file, rows)

    def keeping(self, names: list[str]) -> TextColumn:
        """Return the documents together with these other columns."""
        if isinstance(self.source, FileSource):
            return replace(self, source=self.source.keeping(names))
        return replace(self, source=self.source.reading({**dict.fromkeys(names), self.column: "text"}))

    def watched(self, watch: Watch | None) -> Self:
        """Return a source that reports its progress to ``watch``."""
        return replace(self, source=self.source.watched(watch))

    def absolute(self) -> TextColumn:
        """Return the same rows with absolute paths."""
        return replace(self, source=self.source.absolute())

    def parts(self, n: int) -> list[TextColumn]:
        """Split into groups of files, or of row groups for Parquet."""
        return [replace(self, source=part) for part in self.source.parts(n)]

    def batches(self) -> Iterator[Batch]:
        """Yield documents in row order."""
        for batch in self.source.batches():
            yield replace(batch, columns={**batch.columns, COLUMN: batch.columns[self.column]})


def _files_at(path: str | Path) -> list[Path]:
    """Return the file at a path, the files below a folder, or those that match a pattern."""
    kind = "pipe" if str(path) == streams.STDIN else path_kind(path)
    if kind is None:
        names = sorted(glob.glob(str(expand_user(path)), recursive=True))  # noqa: PTH207
        files = [Path(name) for name in names if Path(name).is_file()]
        if not files:
            raise no_file(path)
        return files
    files = _files_below(expand_user(path)) if kind == "folder" else [expand_user(path)]
    if not files:
        raise BadFile(f"the folder {path} holds no file")
    return files


def _files_below(folder: Path) -> list[Path]:
    return sorted(
        file
        for file in folder.rglob("*")
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(folder).parts)
    )


def _bytes_of(file: Path, encoding: str | None) -> bytes:
    raw = read_all(sys.stdin.buffer) if str(file) == streams.STDIN else read_bytes(file)
    return raw if encoding is None else transcoding(io.BytesIO(raw).read, encoding, str(file))(-1)


def _line_blocks(read: Callable[[int], Any]) -> Iterator[bytes]:
    """Yield blocks that end at a line end; the last line may lack one."""
    parts: list[bytes] = []
    while chunk := bytes(read(LINES)):
        head, end, rest = chunk.rpartition(b"\n")
        if not end:
            parts.append(chunk)
            continue
        yield b"".join([*parts, head, end])
        parts = [rest] if rest else []
    if parts:
        yield b"".join(parts)

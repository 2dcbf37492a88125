"""Read files as sources: CSV, JSON lines and Parquet, one or several."""

from __future__ import annotations

import glob  # Path.glob takes no absolute pattern
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote

from bayeskit.data.frames import arrow_kind
from bayeskit.data.io import parquet as parquet_files
from bayeskit.data.io import streams
from bayeskit.data.io.csv import MISSING, CsvFile
from bayeskit.data.io.json_lines import JsonLines
from bayeskit.data.io.parquet import ParquetFile, Piece
from bayeskit.data.io.sql import Address, is_address
from bayeskit.data.io.streams import OnDisk, Place, checked, marked, not_in, wide
from bayeskit.data.schema import Kind
from bayeskit.data.source import Batch, HasHead
from bayeskit.errors import BadFile, BayesError, SchemaMismatch, format_setting
from bayeskit.lazy import pa
from bayeskit.storage.files import MAGIC, NETWORK_ENDINGS, expand_user, hide_secrets, no_file, path_kind

FORMATS = {
    ".csv": "csv", ".tsv": "csv", ".tab": "csv", ".txt": "csv",
    ".parquet": "parquet", ".pq": "parquet",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl",
}  # fmt: skip
STARTS = {
    MAGIC: "a model of bayeskit",
    b"\x93NUMPY": "a NumPy array",
    b"\x89HDF": "an HDF5 file",
    b"ARROW1": "an Arrow file",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF",
    b"\xd0\xcf\x11\xe0": "an old Office file",
    b"\x80\x04\x95": "a Python pickle",
    b"\x80\x05\x95": "a Python pickle",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
}
ARCHIVES = {".npz": "a file of NumPy arrays", ".xlsx": "an Excel workbook", ".ods": "a spreadsheet"}
OTHER_READERS = {
    ".feather": "pyarrow.feather.read_table", ".arrow": "pyarrow.feather.read_table", ".orc": "pyarrow.orc.read_table",
    ".xlsx": "pandas.read_excel", ".xls": "pandas.read_excel", ".ods": "pandas.read_excel", ".npy": "numpy.load",
    ".sav": "pandas.read_spss", ".dta": "pandas.read_stata", ".sas7bdat": "pandas.read_sas",
    ".h5": "pandas.read_hdf", ".hdf5": "pandas.read_hdf", ".pkl": "pandas.read_pickle", ".zip": "pandas.read_csv",
}  # fmt: skip
PACKED = (".gz", ".zst", ".zstd", ".bz2", ".xz")
READ_AS = ("string", "float", "integer", "boolean")
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
HEADS = 16  # files of a folder that are asked for the type of a column that is empty in those before


DataFile = CsvFile | JsonLines | ParquetFile  # one file in one format


@dataclass(frozen=True)
class Progress:
    """Progress of a pass: rows and bytes so far, and the bytes of all files (None for a pipe)."""

    rows: int
    bytes_read: int
    bytes_total: int | None


@dataclass(frozen=True)
class FileSource(HasHead):
    """Rows of one or more files with the same columns.

    >>> from bayeskit.datasets import path
    >>> source = FileSource.of(path("tennis"), target="play")
    >>> dict(source.kinds), next(source.batches()).n_rows
    ({'outlook': 'string', 'temperature': 'string', 'humidity': 'string', 'wind': 'string'}, 14)
    """

    files: tuple[DataFile, ...]
    target: str | None = None
    types: Mapping[str, str] | None = None  # how some columns are to be read, whatever their first rows suggest
    columns_to_read: Mapping[str, Kind | None] | None = None  # the columns in use, and what they must hold
    watch: Callable[[Progress], None] | None = None
    named: bool = True
    weight: str | None = None  # the column that says how often each row counts
    is_part: bool = False  # such may have no rows
    n_rows: int | None = None  # of a part, where its files say how many it has
    n_bytes: int = 0  # of a part, as it lies there
    kept: tuple[str, ...] = ()  # columns that batches also hold as they are in the file
    _now: list[str] = field(default_factory=list, init=False, repr=False, compare=False)
    _codes: dict[str, bool] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        path: str | Path | Sequence[str | Path],
        target: str | None = None,
        types: Mapping[str, str] | None = None,
        watch: Callable[[Progress], None] | None = None,
        **csv: Any,
    ) -> FileSource:
        """Open the files at one or more paths: a file, a folder, a glob, or ``-`` for standard input.

        ``types`` reads columns as "string", "float", "integer" or "boolean"; ``encoding`` is that of
        text which is not UTF-8. For CSV there are ``delimiter``, ``missing`` (the texts that mean an empty cell),
        ``decimal`` ("," where numbers have a comma), ``comment`` (what comment lines start with), and
        ``header=False`` or ``columns`` (their names) for files without a line of names. Cells of CSV and JSON lines
        that do not fit the type of their column are missing with ``unreadable``, an ``Unreadable`` that counts them.
        """
        paths = [path] if isinstance(path, (str, Path)) else list(path)
        if not paths:
            raise BayesError("no file is named: give one path or more")
        for address in filter(is_address, paths):  # which may hold a password: it must not be told as a file not found
            raise BayesError(f"{Address.of(str(address)).shown} is a database, and files are read here")
        if list(map(str, paths)).count(streams.STDIN) > 1:
            raise BayesError("standard input is read once: name - once")
        places = (place for path in paths for place in _places(path))
        source = cls.of_places(places, types, watch, **csv)
        return source.with_target(target) if target is not None else source

    @classmethod
    def of_places(
        cls,
        places: Iterable[Place],
        types: Mapping[str, str] | None = None,
        watch: Callable[[Progress], None] | None = None,
        **csv: Any,
    ) -> FileSource:
        """Open files or pipes that are already located, with the settings of :meth:`of`."""
        settings = {name: value for name, value in csv.items() if value is not None}
        settings["missing"] = tuple(settings.get("missing", MISSING))
        if isinstance(columns := settings.get("columns"), str):
            raise BayesError(f"columns={columns!r}", hint="give a list of names")
        if columns is not None:
            settings |= {
                "columns": tuple(columns) or ("",),
                "header": False,
            }  # no name at all is refused like an empty one
        texts = tuple(name for name, kind in (types or {}).items() if kind == "string")
        return cls(tuple(_file(place, settings, texts) for place in places), types=types, watch=watch)

    @property
    def name(self) -> str:
        """Return the display name."""
        first = self.files[0].place.name
        return first if len(self.files) == 1 else f"{first} and {len(self.files) - 1} more"

    @property
    def here(self) -> str:
        """Return the file being read, for error messages."""
        return self._now[0] if self._now else self.name

    @cached_property
    def head(self) -> Mapping[str, pa.DataType]:
        """Return the types of all columns, from the first file in which a column is not empty."""
        schema = self.files[0].head()
        names = schema.names
        if twice := [name for name in names if names.count(name) > 1]:
            raise SchemaMismatch(
                f"{self.files[0].place.name} has more than one column named {twice[0]!r}: rename or drop one"
            )
        types = dict(zip(names, schema.types, strict=True))
        for file in self.files[1:HEADS]:
            if not any(pa.types.is_null(t) for t in types.values()):
                break
            later = file.head()
            types |= {
                n: t for n, t in zip(later.names, later.types, strict=True) if n in types and pa.types.is_null(types[n])
            }
        for name, type_ in self._keys.items():
            if name in types:
                folder = f"{name}={_key_values(self.files[0])[name]}"
                raise SchemaMismatch(f"{name!r} is a key of the folder {folder}, and also a column of {self.name}")
            types[name] = type_
        for name, kind in (self.types or {}).items():
            if name not in types:
                raise SchemaMismatch(
                    f"types= names {name!r}, which is not a column of {self.name} ({', '.join(types)})"
                )
            if kind not in READ_AS:
                raise BayesError(
                    f"{format_setting('types', {name: kind})}: a column is read as one of {', '.join(READ_AS)}"
                )
            types[name] = arrow_type(kind)
        return types

    @cached_property
    def _keys(self) -> dict[str, pa.DataType]:
        """Return the types of the keys of folders, integers where all values are."""
        values = [_key_values(file) for file in self.files]
        for file, one in zip(self.files, values, strict=True):
            if list(one) != list(values[0]):
                keys = [", ".join(f"{key}=" for key in keys) or "none" for keys in (values[0], one)]
                raise SchemaMismatch(
                    f"{file.place.name}: the keys of folders differ, {keys[0]} before and {keys[1]} here"
                )
        columns = {name: pa.array([one[name] for one in values], pa.string()) for name in values[0]}
        return {name: _integer_or_text(column) for name, column in columns.items()}

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        """Return the kinds of all columns except the target and the weight."""
        return {n: arrow_kind(type_) for n, type_ in self.head.items() if n not in (self.target, self.weight)}

    _subject = property(attrgetter("name"))

    def parts(self, n: int) -> list[FileSource]:
        """Split into at most ``n`` parts of similar size: groups of files, or of row groups for Parquet."""
        for name in (name for name, kind in (self.columns_to_read or {}).items() if kind == "code"):
            self._are_codes(name)  # the parts share the answer of the whole
        pieces = [piece for file in self.files for piece in _pieces(file)]
        total = sum(piece.n_bytes for piece in pieces) or 1
        runs: dict[int, list[Piece]] = {}
        before = 0
        for piece in pieces:  # a piece belongs to the part in which its middle lies
            runs.setdefault((2 * before + piece.n_bytes) * n // (2 * total), []).append(piece)
            before += piece.n_bytes
        return [self._part(run) for run in runs.values()]

    def absolute(self) -> FileSource:
        """Return the same files with absolute paths, valid in any process."""
        return self._copy(files=tuple(replace(file, place=file.place.absolute()) for file in self.files))  # type: ignore[union-attr]

    def _part(self, run: Sequence[Piece]) -> FileSource:
        files: list[DataFile] = []
        for piece in run:
            joined = files[-1].joined(piece.file) if files and isinstance(files[-1], ParquetFile) else None
            files[-1:] = [joined] if joined is not None else [*files[-1:], piece.file]
        counts = [piece.n_rows for piece in run]
        n_rows = None if None in counts else sum(count or 0 for count in counts)
        part = self._copy(
            files=tuple(files), watch=None, is_part=True, n_rows=n_rows, n_bytes=sum(p.n_bytes for p in run)
        )
        part.__dict__["_now"] = []
        return part

    @property
    def has_lines_of_keys(self) -> bool:
        """Return True if each row names its own columns, as in JSON lines."""
        return all(isinstance(file, JsonLines) for file in self.files)

    def expecting(self, kinds: Mapping[str, Kind]) -> Self:
        """Return a source with extra columns that the first rows lack."""
        copy = self._copy()
        copy.__dict__["head"] = {**self.head, **{name: arrow_type(kind) for name, kind in kinds.items()}}
        return copy

    def refuse_later(self, absent: Sequence[str]) -> None:
        """Raise an error if a later file has a column that the first lacks."""
        for file in self.files[1:]:
            for name in file.head().names:
                if name in absent:
                    first = self.files[0].place.name
                    raise SchemaMismatch(
                        f"{file.place.name} has a column {name!r}, and {first} has not: read files with the same "
                        "columns together, and the others by themselves",
                    )

    def keeping(self, names: Sequence[str]) -> Self:
        """Return a source whose batches also hold these columns as they are in the files."""
        return self._copy(kept=tuple(dict.fromkeys(names)))

    def watched(self, watch: Callable[[Progress], None] | None) -> Self:
        """Return a source that reports its progress to ``watch``."""
        return self._copy(watch=watch)

    def batches(self) -> Iterator[Batch]:
        """Yield all rows, file by file; rows are numbered within their file."""
        types = self._types()
        rows, before = 0, 0
        sizes = [file.place.size for file in self.files]
        total = None if None in sizes else sum(size or 0 for size in sizes)
        for file, size in zip(self.files, sizes, strict=True):
            start = file.first_row if isinstance(file, ParquetFile) else 0
            keys = _key_values(file)
            stored = {name: type_ for name, type_ in types.items() if name not in keys}
            copied = [name for name in self.kept if name not in keys]
            for batch, read in file.batches(stored, copied):
                cells = {name: pa.repeat(pa.scalar(keys[name]).cast(self.head[name]), batch.num_rows) for name in keys}
                columns = dict(zip(stored, batch.columns, strict=not copied)) | cells
                columns = {name: columns[name] for name in types}
                kept = dict(zip(copied, batch.columns[len(stored) :], strict=True)) | cells
                kept = {name: kept[name] for name in self.kept}
                self._now[:] = [file.place.name]
                yield replace(self.to_batch(columns, batch.num_rows, start), kept=kept)
                start += batch.num_rows
                rows += batch.num_rows
                if self.watch is not None:
                    self.watch(Progress(rows, before + read, total))
            before += size or 0
        if not rows and not self.is_part:
            raise BadFile(f"{self.name} has no rows: there is nothing to read after the header")

    def lines_of(self, file: str, rows: Sequence[int]) -> list[int] | None:
        """Return the line numbers on which rows of a file begin; None for files without lines."""
        return next(one for one in self.files if one.place.name == file).lines_of(rows)

    def _types(self) -> dict[str, pa.DataType]:
        """Return the Arrow types of the columns in use."""
        types = {}
        for name in self.columns_read:
            type_, kind = self.head[name], (self.columns_to_read or {}).get(name)
            declared = name in (self.types or {})
            if kind == "text":
                type_ = pa.string()  # no dictionary: documents do not come twice
            elif kind == "code" and not declared and self._are_codes(name):
                type_ = arrow_type("string")
            elif kind == "float" and not declared and _may_be_number(type_):
                type_ = pa.float64()
            elif (kind == "string" and not declared) or pa.types.is_null(type_) or pa.types.is_string(type_):
                type_ = arrow_type("string")
            types[name] = type_
        return types

    def _are_codes(self, name: str) -> bool:
        """Return True if a number of a CSV column would lose characters that a category needs, such as 01234.

        The whole column decides; it is read once for all passes.
        """
        if name not in self._codes:
            self._codes[name] = any(isinstance(file, CsvFile) and file.has_codes(name) for file in self.files)
        return self._codes[name]


def _key_values(file: DataFile) -> dict[str, str | None]:
    """Return the values of the keys of the folders in which a file lies."""
    return dict(getattr(file.place, "keys", ()))


def _integer_or_text(column: pa.Array) -> pa.DataType:
    """Return int64 for texts that are all whole numbers, else string."""
    try:
        same = column.cast(pa.int64()).cast(pa.string()).equals(column)
    except pa.ArrowInvalid:
        same = False
    return pa.int64() if same and column.null_count < len(column) else pa.string()


def _pieces(file: DataFile) -> list[Piece]:
    """Return the parts of a file that can be read independently."""
    if isinstance(file, ParquetFile):
        return file.pieces()
    return [Piece(file, file.place.size or 0)]


def arrow_type(kind: str) -> pa.DataType:
    """Return the Arrow type for a kind."""
    if kind == "text":
        return pa.string()
    if kind == "string":
        return pa.dictionary(pa.int32(), pa.string())
    return {"float": pa.float64(), "integer": pa.int64(), "boolean": pa.bool_()}[kind]


def _may_be_number(type_: pa.DataType) -> bool:
    """Return True if a numeric role can use this type directly; dates and booleans have their own rules."""
    import pyarrow.types as types

    return not (types.is_temporal(type_) or types.is_boolean(type_) or types.is_dictionary(type_))


def _places(path: str | Path) -> list[Place]:
    """Return the files of a path, sorted by name."""
    if str(path) == streams.STDIN:
        return [streams.stdin()]
    where, lying = expand_user(path), path_kind(path)
    if lying == "folder":
        files = [
            file for file in sorted(where.rglob("*")) if file.is_file() and _format(file) and not _hidden(file, where)
        ]
        if not files:
            raise BadFile(f"the folder {path} has no data files ({', '.join(FORMATS)}, also with {', '.join(PACKED)})")
    elif lying is not None:
        return [streams.place_of(path)]
    else:
        files = [Path(name) for name in sorted(glob.glob(str(where), recursive=True)) if Path(name).is_file()]  # noqa: PTH207
        if not files:
            if "://" in str(path):
                address = hide_secrets(path)
                raise BadFile(
                    f"{address} is not a path", hint=f'pass pyarrow.dataset.dataset("{address}"), its rows are read'
                )
            what = "no file matches" if glob.has_magic(str(path)) else "there is no file or folder"
            raise no_file(path, what)
    if lying in (None, "folder"):
        _refuse_table_formats(files)
    return [OnDisk(file, _keys_of(file.relative_to(where)) if lying else ()) for file in files]


TABLE_FORMATS = {
    "_delta_log": ("Delta", "DeltaTable(path).to_pyarrow_dataset()"),
    ".hoodie": ("Hudi", "a frame of Spark that reads it"),
    "metadata/*.metadata.json": ("Iceberg", "table.scan().to_arrow_batch_reader() of pyiceberg"),
}
"""What the folder of a table has in each format; its name, and what reads it."""


def _refuse_table_formats(files: Iterable[Path]) -> None:
    """Raise an error for files of a table whose log, and not its folder, says which files belong to it."""
    for folder in sorted({parent for file in files for parent in file.absolute().parents}):
        for mark, (title, reader) in TABLE_FORMATS.items():
            if any(folder.glob(mark)):
                raise BadFile(
                    f"{folder} holds the table format {title}: not all files in its folder belong to it",
                    hint=f"pass {reader}",
                )


def _keys_of(file: Path) -> tuple[tuple[str, str | None], ...]:
    """Return the keys and values of folders such as ``year=2023``, as Hive writes them.

    >>> _keys_of(Path("year=2023/place=a%20b/x.parquet"))
    (('year', '2023'), ('place', 'a b'))
    """
    pairs = [part.split("=", 1) for part in file.parent.parts if "=" in part]
    return tuple((unquote(key), None if value == HIVE_NULL else unquote(value)) for key, value in pairs)


def _hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)


def _format(path: Path) -> str | None:
    """Return the format by the file suffix."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    return FORMATS.get(suffixes[-1]) if suffixes else None


def refuse_start(start: bytes, name: str, encoding: str | None) -> None:
    """Raise an error if the first bytes and the name are not those of a table."""
    suffix = Path(name).suffix.lower()
    what = next((what for first, what in STARTS.items() if start.startswith(first)), None)
    if suffix in NETWORK_ENDINGS:
        what = "a Bayesian network, for bayes ask"
    elif start.startswith(b"PK\x03\x04"):
        what = ARCHIVES.get(suffix, "a zip archive")
    elif (
        what is None
        and b"\0" in start
        and encoding is None
        and not marked(start)
        and not start.startswith(parquet_files.MAGIC)
    ):
        what = "a binary file"
    if what is not None:
        reader = f", or, in Python, what {OTHER_READERS[suffix]} returns" if suffix in OTHER_READERS else ""
        raise BadFile(f"{name} is {what}, and no table", hint=f"give a CSV, Parquet or JSON lines file{reader}")


def _file(place: Place, csv: Mapping[str, Any], texts: tuple[str, ...]) -> DataFile:
    """Open a file in its format: by suffix, else by its first bytes."""
    try:
        start = streams.peek(place)
    except OSError as problem:
        hint = streams.reading_hint(problem, "If it is cut off or damaged, copy it again.")
        raise BadFile(f"{place.name} cannot be read: {problem}. {hint}") from None
    kind = _format(place.path) if isinstance(place, OnDisk) else None
    if kind is None:
        is_json = start.lstrip(b" \t\r\n\xef\xbb\xbf\xff\xfe\0").startswith(b"{")
        kind = "parquet" if start.startswith(parquet_files.MAGIC) else "jsonl" if is_json else "csv"
    if kind == "parquet":
        return ParquetFile(place)
    if checked(csv.get("encoding")) is None and wide(start) and not marked(start):
        raise not_in("utf-8", f"{place.name}, line 1", start, 0)
    refuse_start(start, place.name, csv.get("encoding"))
    if kind == "jsonl":
        return JsonLines(place, csv.get("encoding"), csv["missing"], unreadable=csv.get("unreadable"), texts=texts)
    return CsvFile(place, **csv)

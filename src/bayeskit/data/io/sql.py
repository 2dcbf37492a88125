"""Connections to databases and the rows of a query."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import unquote, unquote_plus

from bayeskit.data.frames import arrow_kind
from bayeskit.data.io import sql_syntax as syntax
from bayeskit.data.io.sql_syntax import Dialect, Node, exp
from bayeskit.data.schema import Kind
from bayeskit.data.source import Batch, HasHead, close_rows
from bayeskit.errors import BayesError, LostParts, SchemaMismatch, with_article
from bayeskit.lazy import pa
from bayeskit.storage.files import HIDDEN, SECRETS, hide_secrets, invalid_ports

POSTGRES = ("postgresql", "postgres")
SQLITE_FILES, DUCKDB_FILES = (".sqlite", ".sqlite3", ".db", ".db3"), (".duckdb", ".ddb")


@dataclass(frozen=True)
class Address:
    """The address of a database: dialect, connection string and a form without secrets for messages.

    >>> address = Address.of("postgresql://ann:secret@shop.example/sales?table=orders")
    >>> address
    Address(dialect='postgres', shown='postgresql://shop.example/sales', table='orders')
    >>> address.hide('FATAL: "secret" is wrong')
    'FATAL: "***" is wrong'
    """

    dialect: str
    driver: str = field(repr=False)
    shown: str
    table: str | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, text: str | Path) -> Address:
        """Parse a URI, or the path of a database file by its suffix."""
        written = str(text)
        if is_address(written):
            return _postgres(written)
        ending = Path(written).suffix.lower()
        if ending in DUCKDB_FILES or ending in SQLITE_FILES:
            return cls("duckdb" if ending in DUCKDB_FILES else "sqlite", written, hide_secrets(written))
        raise BayesError(
            f"{hide_secrets(written)!r} is no database: give a connection, postgresql://host/name, or a file whose "
            f"name ends in {', '.join((*DUCKDB_FILES, *SQLITE_FILES))}"
        )

    def hide(self, message: str) -> str:
        """Remove secrets from a driver's message, in any quoted form."""
        for secret in self.secrets:
            message = message.replace(secret, HIDDEN)
        return message


def is_address(text: object) -> bool:
    """Return True for the URI of a database."""
    return isinstance(text, str) and text.partition("://")[0] in POSTGRES and "://" in text


def is_database_file(path: object) -> bool:
    """Return True for a database file, by its suffix."""
    return isinstance(path, (str, Path)) and Path(str(path)).suffix.lower() in (*DUCKDB_FILES, *SQLITE_FILES)


def _postgres(text: str) -> Address:
    """Parse a PostgreSQL URI; passwords with unescaped characters are detected and hidden."""
    whole = text.partition("://")[2]
    signed_in = re.match("[^@/]*@", whole)  # as libpq reads it: up to there a question mark is part of a password
    start = signed_in.end() if signed_in else 0
    before, sign, query = whole[start:].partition("?")
    before = whole[:start] + before
    user, _, place = before.rpartition("@")
    written = [part.partition("=")[::2] for part in query.split("&")] if sign else []
    given = [(unquote_plus(name), value) for name, value in written]
    table = next((unquote_plus(value) for name, value in given if name == "table"), None)
    settings = "&".join(f"{name}={value}" for name, value in written if unquote_plus(name) != "table")
    passwords = [value for name, value in given if name.lower() in SECRETS]
    passwords += [user.partition(":")[2], *invalid_ports(place)]
    if "@" in query and not user:  # a slash and a question mark within a password, or an @ within the query
        passwords.append(whole.rpartition("@")[0].partition(":")[2])
    secrets = {piece for password in passwords for piece in _pieces(password)}
    driver = f"postgresql://{before}{'?' + settings if settings else ''}"
    address = Address("postgres", driver, "", table, tuple(sorted(secrets, key=len, reverse=True)))
    return replace(address, shown=hide_secrets(f"postgresql://{place if user else address.hide(place)}"))


def _pieces(password: str) -> set[str]:
    """Return the forms in which a message may quote a password: raw, decoded, and split where a driver misreads it.

    >>> sorted(_pieces("a%2Fb"))
    ['a', 'a%2Fb', 'a/b', 'b']
    """
    forms = {password, unquote(password), unquote_plus(password)}
    return {piece for form in forms for piece in (form, *re.split("[/?#@:&=]", form)) if piece}


T = TypeVar("T")
BATCH = 1 << 17  # rows at a time
LOOK = 1 << 10  # rows by which a person is advised


@dataclass(frozen=True)
class Field:
    """A column of a query: its Arrow type, and the expression that selects it in portable form.

    ``written``: from a name that is qualified to the expression; None where the column is taken as it is. ``is_text``:
    whether a collation could fold its values.
    """

    name: str
    type: pa.DataType
    written: Callable[[Node], Node] | None = None
    is_text: bool = False

    def select(self, node: Node) -> Node:
        """Return the expression that selects the column."""
        return node if self.written is None else self.written(node)


class Database(Protocol):
    """The database interface that sources use. Error messages contain no secrets."""

    dialect: Dialect
    shown: str

    def fields(self, query: str) -> list[Field]:
        """Return the columns of a query, running it only as far as types require."""
        ...

    def stream(self, query: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a query."""
        ...

    def table(self, query: str) -> pa.Table:
        """Return the few rows of a counting query."""
        ...

    def in_one_state(self) -> AbstractContextManager[None]:
        """Return a snapshot context for all passes of a fit; without one, a second pass raises an error."""
        ...

    def begin_reading(self) -> None:
        """Announce a full pass; raise an error if it may find other rows than the pass before."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Return a read-only context in which every query sees the same rows; raise an error if unsupported."""
        ...


def attempt(work: Callable[[], T], problems: tuple[type[BaseException], ...], shown: str, address: Address | None) -> T:
    """Run ``work`` and convert driver errors to ours, without secrets and without their cause."""
    try:
        return work()
    except problems as problem:
        message = str(problem)
    message = " ".join(line.strip() for line in message.splitlines() if line.strip() and "Query was:" not in line)
    message = message if address is None else address.hide(message)
    raise BayesError(f"{shown}: {message}")


def open_database(connection: Any) -> Database:
    """Open the database behind a connection, an address or a file."""
    if isinstance(connection, (str, Path)):
        address = Address.of(connection)
        if address.dialect == "duckdb":
            from bayeskit.data.io.sql_drivers import DuckDatabase

            return DuckDatabase.at(address)
        from bayeskit.data.io.sql_drivers import AdbcDatabase

        return AdbcDatabase.at(address)
    module = type(connection).__module__.partition(".")[0].lstrip("_")
    if module == "duckdb":
        from bayeskit.data.io.sql_drivers import DuckDatabase

        return DuckDatabase(connection)
    if module.startswith("adbc"):
        from bayeskit.data.io.sql_drivers import AdbcDatabase

        return AdbcDatabase.of(connection)
    if module == "sqlite3":
        return _file_of(connection)
    raise BayesError(
        f"{with_article(type(connection).__name__)} is no connection that can stream Arrow: give one of DuckDB or "
        "ADBC, an address (postgresql://…), or the file of a database"
    )


def _file_of(connection: Any) -> Database:
    """Open the file of a connection of Python's own sqlite3."""
    path = next((file for _, name, file in connection.execute("PRAGMA database_list") if name == "main"), "")
    if not path:
        raise BayesError(
            "this database of sqlite3 is in memory, where no other driver can read it: write it to a file, or read it "
            "into a frame"
        )
    from bayeskit.data.io.sql_drivers import AdbcDatabase

    return AdbcDatabase.at(Address("sqlite", path, path))


def closing(owner: object, connection: Any) -> None:
    """Close a connection when its owner is garbage-collected."""
    weakref.finalize(owner, connection.close)


def selected(query: Node, fields: list[Field], limit: int | None = None) -> Node:
    """Select some columns of a query in portable form."""
    columns = [syntax.named(field.select(syntax.column("q", field.name)), field.name) for field in fields]
    inner = exp.Subquery(this=query.copy(), alias=exp.TableAlias(this=syntax.name("q")))
    select = exp.Select(expressions=columns or [exp.Literal.number("1")]).from_(inner)
    return select if limit is None else select.limit(limit)


@dataclass(frozen=True, eq=False)
class SqlSource(HasHead):
    """The rows of a SELECT. Each pass runs the query again and must find the same number of rows.

    The passes of a fit share one snapshot if the database supports it.
    """

    query: Node = field(repr=False)
    database: Database = field(repr=False)
    target: str | None = None
    weight: str | None = None
    asked: Mapping[str, Kind | None] | None = None
    engine: Any = None  # which counts inside the database; None where rows are streamed
    named: bool = True
    passes: list[int] = field(default_factory=list, repr=False)  # rows of each reading so far
    unordered: bool = True  # two readings may give the rows in two orders

    @classmethod
    def of(cls, query: str, connection: Any) -> SqlSource:
        """Open the rows of a query over a connection, an address or a file."""
        database = open_database(connection)
        return cls(syntax.parsed(query, database.dialect), database)

    @classmethod
    def at(cls, text: str) -> SqlSource:
        """Open a table by its address, such as ``postgresql://host/sales?table=orders``."""
        address = Address.of(text)
        if address.table is None:
            where = (
                "Name it at the end of the address: ?table=… or give a query" if is_address(text) else "Give a query"
            )
            raise BayesError(f"which table of {address.shown}?", hint=f'{where}: sql="SELECT * FROM …"')
        query = exp.Select(expressions=[exp.Star()]).from_(syntax.table_name(address.table))
        return cls(query, open_database(text))

    @property
    def name(self) -> str:
        """Return the display name of the database, without secrets."""
        return self.database.shown

    @property
    def here(self) -> str:
        """Return the location of the rows, for error messages."""
        return self.database.shown

    @cached_property
    def fields(self) -> dict[str, Field]:
        """Return all columns of the query."""
        listed = self.database.fields(self.database.dialect.sql(self.query, pretty=False))
        names = [column.name for column in listed]
        if twice := self.database.dialect.one_to_it(names):
            duplicates = " or ".join(dict.fromkeys(twice))
            raise SchemaMismatch(f"the query has more than one column named {duplicates}: name each with AS")
        return {column.name: column for column in listed}

    @property
    def head(self) -> Mapping[str, Any]:
        """Return all columns with their Arrow types."""
        return {name: column.type for name, column in self.fields.items()}

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Return the kinds of all columns except the target and the weight."""
        beside = (self.target, self.weight)
        return {name: arrow_kind(column.type) for name, column in self.fields.items() if name not in beside}

    @property
    def _subject(self) -> str:
        return f"{self.name}: the query"

    @property
    def read(self) -> list[Field]:
        """Return the columns that are read."""
        return [self.fields[name] for name in self.columns_read]

    def in_one_state(self) -> AbstractContextManager[None]:
        """Return a context in which every pass finds the same rows, or a second pass raises an error."""
        return self.database.in_one_state()

    def look(self) -> Batch | None:
        """Return some rows, in the order of the database."""
        rows = self._batches(LOOK)
        first = next(rows, None)
        close_rows(rows)
        return first

    def batches(self) -> Iterator[Batch]:
        """Yield all rows, in the order of the database."""
        if self.engine is not None:
            raise self.engine.rows_not_here()
        self.database.begin_reading()
        n_rows, rows = 0, self._batches(None)
        try:
            for batch in rows:
                n_rows += batch.n_rows
                yield batch
        finally:
            close_rows(rows)
        self.check_passes(n_rows)

    def check_passes(self, n_rows: int) -> None:
        """Raise an error if the number of rows differs from the pass before: the table has changed."""
        if self.passes and self.passes[-1] != n_rows:
            raise LostParts(
                f"{self.name}: the rows changed between two readings, {self.passes[-1]:,} and then {n_rows:,}. Nothing "
                "was learned; learn from a table that stays as it is, such as a copy."
            )
        self.passes.append(n_rows)

    def _batches(self, limit: int | None) -> Iterator[Batch]:
        query = self.database.dialect.sql(selected(self.query, self.read, limit), pretty=False)
        stream = self.database.stream(query)
        try:
            yield from self._labeled_batches(stream)
        finally:
            close_rows(stream)

    def _labeled_batches(self, stream: Iterator[pa.RecordBatch]) -> Iterator[Batch]:
        start = 0
        for rows in stream:
            if not rows.num_rows:
                continue
            columns = {name: _in_utc(column) for name, column in zip(rows.schema.names, rows.columns, strict=True)}
            yield self.to_batch(columns, rows.num_rows, start)
            start += rows.num_rows


def _in_utc(column: pa.Array) -> pa.Array:
    """Convert timestamps with a zone to UTC."""
    type_ = column.type
    if not pa.types.is_timestamp(type_) or type_.tz in (None, "UTC"):
        return column
    return column.cast(pa.timestamp(type_.unit, "UTC"))

"""Connections to databases, by ADBC (PostgreSQL, SQLite) and DuckDB, and the rows of a query."""

from __future__ import annotations

import re
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, unquote_plus

from bayeskit.data.frames import arrow_kind
from bayeskit.data.io import sql_syntax as syntax
from bayeskit.data.io.sql_syntax import DIALECTS, Dialect, Node, exp
from bayeskit.data.schema import Kind
from bayeskit.data.source import Batch, HasHead, close_rows
from bayeskit.errors import BayesError, LostParts, SchemaMismatch, import_extra, with_article
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
            f"{hide_secrets(written)!r} is not a database: give a connection, postgresql://host/name, or a file whose "
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


class Database(ABC):
    """The database interface that sources use. Error messages contain no secrets."""

    dialect: Dialect
    shown: str
    address: Address | None = None  # of a connection that was opened here
    problems: tuple[type[BaseException], ...]  # errors of the driver

    def attempt(self, work: Callable[[], T]) -> T:
        """Run ``work`` and convert errors of the driver to ours."""
        return attempt(work, self.problems, self.shown, self.address)

    @abstractmethod
    def fields(self, query: str) -> list[Field]:
        """Return the columns of a query, running it only as far as types require."""

    @abstractmethod
    def stream(self, query: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a query."""

    @abstractmethod
    def table(self, query: str) -> pa.Table:
        """Return the few rows of a counting query."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """Return a read-only context in which every query sees the same rows; raise an error if unsupported."""

    def in_one_state(self) -> AbstractContextManager[None]:
        """Return a snapshot context for all passes of a fit; without one, a second pass raises an error."""
        return self.snapshot()

    def begin_reading(self) -> None:
        """Announce a full pass; raise an error if it may find other rows than the pass before."""
        return


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
        return DuckDatabase.at(address) if address.dialect == "duckdb" else AdbcDatabase.at(address)
    module = type(connection).__module__.partition(".")[0].lstrip("_")
    if module == "duckdb":
        return DuckDatabase(connection)
    if module.startswith("adbc"):
        return AdbcDatabase.of(connection)
    if module != "sqlite3":
        raise BayesError(
            f"{with_article(type(connection).__name__)} is not a connection that can stream Arrow: give one of DuckDB "
            "or ADBC, an address (postgresql://…), or the file of a database"
        )
    path = next((file for _, name, file in connection.execute("PRAGMA database_list") if name == "main"), "")
    if not path:
        raise BayesError(
            "this database of sqlite3 is in memory, where no other driver can read it: write it to a file, or read it "
            "into a frame"
        )
    return AdbcDatabase.at(Address("sqlite", path, path))


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
    columns_to_read: Mapping[str, Kind | None] | None = None
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

    name = here = property(attrgetter("database.shown"))  # for messages, without secrets

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
        return f"the query of {self.name}"

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


DRIVERS = {"postgres": "adbc_driver_postgresql", "sqlite": "adbc_driver_sqlite"}
SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
SNAPSHOTS = {"postgres": SNAPSHOT, "sqlite": "BEGIN"}
INFERRED = 1 << 16  # rows by which SQLite's driver tells what a column holds


def driver(dialect: str) -> Any:
    """Import the driver's module, an optional dependency."""
    name = DRIVERS[dialect]
    return import_extra(f"{name}.dbapi", f"{DIALECTS[dialect].title} is read by {name}", "sql")


class AdbcDatabase(Database):
    """An ADBC connection; one opened here leaves no transaction open after a query."""

    def __init__(self, connection: Any, dialect: str, shown: str, address: Address | None = None) -> None:
        self.connection, self.dialect, self.shown, self.address = connection, DIALECTS[dialect], shown, address
        self.problems = (driver(dialect).Error, pa.ArrowException, OSError)
        self._in_snapshot = False
        self._readings_left: int | None = None  # within a fit whose rows could change; None for any number

    @classmethod
    def at(cls, address: Address) -> AdbcDatabase:
        """Open a database for reading; SQLite would create a missing file."""
        if address.dialect == "sqlite" and not Path(address.driver).is_file():
            raise BayesError(f"there is no file {address.shown!r} (looked in {Path.cwd()})")
        module = driver(address.dialect)
        connection = attempt(
            lambda: module.connect(address.driver, autocommit=True), (module.Error,), address.shown, address
        )
        database = cls(connection, address.dialect, address.shown, address)
        weakref.finalize(database, connection.close)
        return database

    @classmethod
    def of(cls, connection: Any) -> AdbcDatabase:
        """Wrap a user's connection; the driver tells which database it is."""
        vendor = str(connection.adbc_get_info().get("vendor_name", ""))
        known = {"PostgreSQL": "postgres", "SQLite": "sqlite"}
        if vendor not in known:
            raise BayesError(f"this ADBC connection is to {vendor!r}: rows are read from PostgreSQL and SQLite")
        return cls(connection, known[vendor], f"this {vendor} connection")

    @contextmanager
    def in_one_state(self) -> Iterator[None]:
        """Use a snapshot, or the user's open transaction; without either, allow one pass only."""
        if not self._is_foreign_transaction() or self._keeps_to_one_snapshot():
            with self.snapshot():
                yield
            return
        self._readings_left = 1
        try:
            yield
        finally:
            self._readings_left = None

    def begin_reading(self) -> None:
        """Raise an error for a second pass of a fit if rows could change in between."""
        if self._readings_left == 0:
            raise self._other_isolation("two readings of a fit")
        self._readings_left = None if self._readings_left is None else 0

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Open a REPEATABLE READ, READ ONLY transaction, or use the one that is open."""
        if self._is_foreign_transaction() and not self._keeps_to_one_snapshot():
            raise self._other_isolation("two queries of a count")
        if self._in_snapshot or self._is_foreign_transaction():
            yield
            return
        self._execute(SNAPSHOTS[self.dialect.name])
        self._in_snapshot = True
        try:
            yield
        except BaseException:  # which is told, and not that a lost connection cannot be rolled back
            with suppress(BayesError):
                self._execute("ROLLBACK")
            raise
        else:
            self._execute("ROLLBACK")
        finally:
            self._in_snapshot = False

    def _is_foreign_transaction(self) -> bool:
        """Return True if the user began the transaction on their own connection."""
        if self.address is not None or self._in_snapshot:
            return False
        if self.dialect.name == "sqlite":
            try:
                self._execute("BEGIN")
            except BayesError:
                return True
            self._execute("ROLLBACK")
            return False
        first, second = (self._select_value("TRANSACTION_TIMESTAMP()") for _ in range(2))
        return bool(first == second)

    def _keeps_to_one_snapshot(self) -> bool:
        """Return True if all queries of a transaction see the same rows, as in SQLite."""
        return self.dialect.name == "sqlite" or self._isolation() in ("repeatable read", "serializable")

    def _isolation(self) -> str:
        return str(self._select_value("CURRENT_SETTING('transaction_isolation')"))

    def _select_value(self, expression: str) -> Any:
        return self.table(f"SELECT {expression} AS i")["i"][0].as_py()

    def _other_isolation(self, between: str) -> BayesError:
        return BayesError(
            f"{self.shown} reads at the isolation {self._isolation()!r}, under which rows could change between "
            f"{between}: {SNAPSHOT} first, or give the address in place of a connection"
        )

    def _execute(self, statement: str) -> None:
        def work() -> None:
            with self.connection.cursor() as cursor:
                cursor.execute(statement)

        self.attempt(work)

    def fields(self, query: str) -> list[Field]:
        """Return the columns of a query: PostgreSQL reports types, SQLite infers them from the first rows."""

        def look() -> pa.Schema:
            with self._cursor() as cursor:
                if self.dialect.name == "postgres":
                    return cursor.adbc_execute_schema(query)
                cursor.execute(query)
                reader = cursor.fetch_record_batch()
                schema = reader.schema
                reader.close()
                return schema

        return [_adbc_field(field) for field in self.attempt(look)]

    def _refuse_changed_values(self, query: str, schema: pa.Schema) -> None:
        """Raise an error where SQLite's driver would change values: it rounds numbers among texts to seven digits and
        converts integers among other values to doubles.
        """
        odd = {field.name: _changed(syntax.column("q", field.name), field.type) for field in schema}
        columns = [syntax.named(exp.Max(this=condition), f"o{i}") for i, condition in enumerate(odd.values())]
        alias = exp.TableAlias(this=syntax.name("q"))
        rows = exp.Subquery(this=syntax.parsed(query, self.dialect), alias=alias)
        table = self.table(self.dialect.sql(exp.Select(expressions=columns).from_(rows), pretty=False))
        if changed := [name for i, name in enumerate(odd) if table[f"o{i}"][0].as_py()]:
            raise BayesError(
                f"{self.shown}: column {changed[0]!r} holds values of several types, which SQLite's driver does not "
                "hand over as they are: CAST it in the query, to TEXT or to REAL",
            )

    def _cursor(self) -> Any:
        options = {"adbc.sqlite.query.batch_rows": INFERRED} if self.dialect.name == "sqlite" else None
        return self.connection.cursor(adbc_stmt_kwargs=options)

    def stream(self, query: str) -> Iterator[pa.RecordBatch]:
        """Yield batches as the driver returns them."""
        cursor = self._cursor()
        try:

            def begin() -> Any:
                cursor.execute(query)
                return cursor.fetch_record_batch()

            reader = self.attempt(begin)
            if self.dialect.name == "sqlite":
                self._refuse_changed_values(query, reader.schema)
            while (batch := self.attempt(lambda: next(reader, None))) is not None:
                yield batch
        finally:
            cursor.close()

    def table(self, query: str) -> pa.Table:
        """Return all rows as one table."""

        def work() -> pa.Table:
            with self._cursor() as cursor:
                cursor.execute(query)
                return cursor.fetch_arrow_table()

        return self.attempt(work)


def _changed(cell: Node, type_: pa.DataType) -> Node:
    """Return a condition that is true for SQLite cells of another type than their column is read as."""
    kind = "text" if pa.types.is_string(type_) else "blob" if pa.types.is_binary(type_) else "number"
    if kind != "number":
        kinds = [exp.Literal.string(stored) for stored in (kind, "null")]
        return exp.Not(this=exp.In(this=syntax.called("TYPEOF", cell), expressions=kinds))
    if not pa.types.is_floating(type_):  # of which the driver refuses all others itself
        return syntax.integer(0)
    is_integer = syntax.compared(syntax.called("TYPEOF", cell), "=", exp.Literal.string("integer"))
    large = syntax.compared(syntax.called("ABS", syntax.cast(cell.copy(), "double")), ">=", syntax.number(2.0**53))
    return syntax.all_of([is_integer, large])


TEXTS = ("text", "varchar", "bpchar", "name", "citext")


def _adbc_field(field: Any) -> Field:
    """Describe how to read a column: decimals as doubles, padded and user-defined texts as texts."""
    kind = (field.metadata or {}).get(b"POSTGRESQL:type", b"").decode()
    if kind in ("numeric", "money"):
        return Field(field.name, pa.float64(), _cast_to("decimal", "double") if kind == "money" else _cast_to("double"))
    foreign = isinstance(field.type, pa.BaseExtensionType)
    if kind in ("bpchar", "citext", "name") or foreign:
        return Field(field.name, pa.string(), _cast_to("text"), True)
    return Field(field.name, field.type, None, kind in TEXTS or pa.types.is_string(field.type))


def _cast_to(*types: str) -> Callable[[Node], Node]:
    """Return a function that casts an expression to these types, one after the other."""
    return lambda node: reduce(syntax.cast, types, node)


EXACT_DIGITS = 15  # decimals of as many digits become doubles by one division


def duckdb_library() -> Any:
    """Import DuckDB, an optional dependency."""
    return import_extra("duckdb", "DuckDB is read by its own library", "sql")


class DuckDatabase(Database):
    """A DuckDB connection."""

    dialect = DIALECTS["duckdb"]

    def __init__(self, connection: Any, shown: str = "this DuckDB connection") -> None:
        self.connection, self.shown = connection, shown
        self.problems = (duckdb_library().Error, OSError)
        self._unread: list[Iterator[pa.RecordBatch]] | None = None  # the one iterator of an unfinished query

    @classmethod
    def at(cls, address: Address) -> DuckDatabase:
        """Open a file for reading."""
        duckdb = duckdb_library()
        connection = attempt(
            lambda: duckdb.connect(address.driver, read_only=True), (duckdb.Error,), address.shown, address
        )
        database = cls(connection, address.shown)
        weakref.finalize(database, connection.close)
        return database

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Open a transaction, which is a snapshot, or use the one that is open."""
        if self._in_transaction():
            yield
            return
        self.connection.execute("BEGIN TRANSACTION")
        try:
            yield
        finally:
            self.connection.execute("ROLLBACK")

    def _in_transaction(self) -> bool:
        """Return True if two queries share a transaction; trying to begin another would abort it."""
        self._free()
        first, second = (self.connection.execute("SELECT TXID_CURRENT()").fetchall() for _ in range(2))
        return bool(first == second)

    def fields(self, query: str) -> list[Field]:
        """Return the columns of the relation without running it."""

        self._free()

        def look() -> list[Field]:
            relation = self.connection.sql(query)
            types = [str(type_) for type_ in relation.types]
            schema = relation.limit(0).to_arrow_table().schema
            return [_duck_field(name, t, f.type) for name, t, f in zip(relation.columns, types, schema, strict=True)]

        return self.attempt(look)

    def stream(self, query: str) -> Iterator[pa.RecordBatch]:
        """Yield batches lazily as DuckDB returns them."""
        self._free()
        reader = self.attempt(lambda: self.connection.sql(query).to_arrow_reader(BATCH))
        self._unread = unread = [iter(reader)]
        try:
            while (batch := self.attempt(lambda: next(unread[0], None))) is not None:
                yield batch
        finally:
            reader.close()
            self._unread = None if self._unread is unread else self._unread

    def _free(self) -> None:
        """Read an unfinished query to its end, into memory, since a connection runs one query at a time."""
        if (unread := self._unread) is not None:
            unread[0] = iter(self.attempt(lambda: list(unread[0])))
            self._unread = None

    def table(self, query: str) -> pa.Table:
        """Return all rows as one table."""
        self._free()
        return self.attempt(lambda: self.connection.sql(query).to_arrow_table())


def _duck_field(name: str, kind: str, type_: Any) -> Field:
    if kind.startswith("DECIMAL"):
        digits = int(kind[8:].partition(",")[0])
        return Field(name, pa.float64(), _cast_to("double") if digits <= EXACT_DIGITS else _cast_to("text", "double"))
    if kind in ("HUGEINT", "UHUGEINT"):
        return Field(name, pa.int64(), _cast_to("bigint"))
    is_text = kind.startswith(("VARCHAR", "ENUM"))
    return Field(name, type_, None, is_text)

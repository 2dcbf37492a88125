"""Drivers of databases: ADBC (PostgreSQL, SQLite) and DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

from bayeskit.data.io import sql_syntax as syntax
from bayeskit.data.io.sql import BATCH, Address, Field, T, attempt, closing
from bayeskit.data.io.sql_syntax import DIALECTS, Node, exp
from bayeskit.errors import BayesError, import_extra
from bayeskit.lazy import pa

DRIVERS = {"postgres": "adbc_driver_postgresql", "sqlite": "adbc_driver_sqlite"}
SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
SNAPSHOTS = {"postgres": SNAPSHOT, "sqlite": "BEGIN"}
INFERRED = 1 << 16  # rows by which SQLite's driver tells what a column holds


def driver(dialect: str) -> Any:
    """Import the driver's module, an optional dependency."""
    name = DRIVERS[dialect]
    return import_extra(f"{name}.dbapi", f"{DIALECTS[dialect].title} is read by {name}", "sql")


class AdbcDatabase:
    """An ADBC connection; one opened here leaves no transaction open after a query."""

    def __init__(self, connection: Any, dialect: str, shown: str, address: Address | None = None) -> None:
        self.connection, self.dialect, self.shown, self._address = connection, DIALECTS[dialect], shown, address
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
        closing(database, connection)
        return database

    @classmethod
    def of(cls, connection: Any) -> AdbcDatabase:
        """Wrap a user's connection; the driver tells which database it is."""
        vendor = str(connection.adbc_get_info().get("vendor_name", ""))
        known = {"PostgreSQL": "postgres", "SQLite": "sqlite"}
        if vendor not in known:
            raise BayesError(f"this ADBC connection is to {vendor!r}: rows are read from PostgreSQL and SQLite")
        return cls(connection, known[vendor], f"this {vendor} connection")

    @cached_property
    def _problems(self) -> tuple[type[BaseException], ...]:
        return (driver(self.dialect.name).Error, pa.ArrowException, OSError)

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
        if self._address is not None or self._in_snapshot:
            return False
        if self.dialect.name == "sqlite":
            try:
                self._execute("BEGIN")
            except BayesError:
                return True
            self._execute("ROLLBACK")
            return False
        first, second = (self._told("TRANSACTION_TIMESTAMP()") for _ in range(2))
        return bool(first == second)

    def _keeps_to_one_snapshot(self) -> bool:
        """Return True if all queries of a transaction see the same rows, as in SQLite."""
        return self.dialect.name == "sqlite" or self._isolation() in ("repeatable read", "serializable")

    def _isolation(self) -> str:
        return str(self._told("CURRENT_SETTING('transaction_isolation')"))

    def _told(self, expression: str) -> Any:
        return self.table(f"SELECT {expression} AS i")["i"][0].as_py()

    def _other_isolation(self, between: str) -> BayesError:
        return BayesError(
            f"{self.shown} reads at the isolation {self._isolation()!r}, under which rows could change between "
            f"{between}: {SNAPSHOT} first, or give the address in place of a connection"
        )

    def _attempt(self, work: Callable[[], T]) -> T:
        return attempt(work, self._problems, self.shown, self._address)

    def _execute(self, statement: str) -> None:
        def work() -> None:
            with self.connection.cursor() as cursor:
                cursor.execute(statement)

        self._attempt(work)

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

        return [_adbc_field(field) for field in self._attempt(look)]

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

            reader = self._attempt(begin)
            if self.dialect.name == "sqlite":
                self._refuse_changed_values(query, reader.schema)
            while (batch := self._attempt(lambda: next(reader, None))) is not None:
                yield batch
        finally:
            cursor.close()

    def table(self, query: str) -> pa.Table:
        """Return all rows as one table."""

        def work() -> pa.Table:
            with self._cursor() as cursor:
                cursor.execute(query)
                return cursor.fetch_arrow_table()

        return self._attempt(work)


def _changed(cell: Node, type_: pa.DataType) -> Node:
    """Return a condition that is true for SQLite cells of another type than their column is read as."""
    kind = "text" if pa.types.is_string(type_) else "blob" if pa.types.is_binary(type_) else "number"
    if kind != "number":
        kinds = [exp.Literal.string(stored) for stored in (kind, "null")]
        return exp.Not(this=exp.In(this=syntax.called("TYPEOF", cell), expressions=kinds))
    if not pa.types.is_floating(type_):  # of which the driver refuses all others itself
        return syntax.whole(0)
    is_whole = syntax.compared(syntax.called("TYPEOF", cell), "=", exp.Literal.string("integer"))
    large = syntax.compared(syntax.called("ABS", syntax.cast(cell.copy(), "double")), ">=", syntax.number(2.0**53))
    return syntax.all_of([is_whole, large])


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


class DuckDatabase:
    """A DuckDB connection."""

    dialect = DIALECTS["duckdb"]

    def __init__(self, connection: Any, shown: str = "this DuckDB connection") -> None:
        self.connection, self.shown = connection, shown
        self._open: _Rest | None = None
        self._problems = (duckdb_library().Error,)

    @classmethod
    def at(cls, address: Address) -> DuckDatabase:
        """Open a file for reading."""
        duckdb = duckdb_library()
        connection = attempt(
            lambda: duckdb.connect(address.driver, read_only=True), (duckdb.Error,), address.shown, address
        )
        database = cls(connection, address.shown)
        closing(database, connection)
        return database

    def _attempt(self, work: Callable[[], T]) -> T:
        return attempt(work, self._problems, self.shown, None)

    def begin_reading(self) -> None:
        """Allow any number of passes: they share one snapshot."""

    def in_one_state(self) -> AbstractContextManager[None]:
        """Return a snapshot context."""
        return self.snapshot()

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
            schema = _schema_of(relation)
            return [_duck_field(name, t, f.type) for name, t, f in zip(relation.columns, types, schema, strict=True)]

        return self._attempt(look)

    def stream(self, query: str) -> Iterator[pa.RecordBatch]:
        """Yield batches lazily as DuckDB returns them."""
        self._free()
        reader = self._attempt(lambda: self.connection.sql(query).to_arrow_reader(BATCH))
        self._open = rest = _Rest(reader, (*self._problems, OSError), self.shown)
        try:
            while (batch := rest.next()) is not None:
                yield batch
        finally:
            rest.close()
            self._open = None if self._open is rest else self._open

    def _free(self) -> None:
        """Read unfinished results to their end, since a connection runs one query at a time."""
        if self._open is not None:
            self._open.drain()
            self._open = None

    def table(self, query: str) -> pa.Table:
        """Return all rows as one table."""
        self._free()
        return self._attempt(lambda: self.connection.sql(query).to_arrow_table())


class _Rest:
    """The unread rows of a query."""

    def __init__(self, reader: Any, problems: tuple[type[BaseException], ...], database: str) -> None:
        self._reader, self._problems, self._database = reader, problems, database
        self._drained: list[pa.RecordBatch] | None = None

    def _attempt(self, work: Callable[[], T]) -> T:
        return attempt(work, self._problems, self._database, None)

    def next(self) -> pa.RecordBatch | None:
        """Return the next batch, None at the end."""
        if self._drained is not None:
            return self._drained.pop(0) if self._drained else None
        # What happens while Arrow asks for more rows is an error of its own.
        return self._attempt(lambda: next(self._reader, None))

    def drain(self) -> None:
        """Buffer the remaining rows, which frees the connection."""
        if self._drained is None:
            rest = self._attempt(lambda: list(self._reader))
            self._reader.close()
            self._drained = rest

    def close(self) -> None:
        """Discard the remaining rows."""
        self._reader.close()


def _schema_of(relation: Any) -> Any:
    """Return the Arrow schema of a relation without reading rows."""
    reader = relation.limit(0).to_arrow_reader(1)
    try:
        return reader.schema
    finally:
        reader.close()


def _duck_field(name: str, kind: str, type_: Any) -> Field:
    if kind.startswith("DECIMAL"):
        digits = int(kind[8:].partition(",")[0])
        return Field(name, pa.float64(), _cast_to("double") if digits <= EXACT_DIGITS else _cast_to("text", "double"))
    if kind in ("HUGEINT", "UHUGEINT"):
        return Field(name, pa.int64(), _cast_to("bigint"))
    is_text = kind.startswith(("VARCHAR", "ENUM"))
    return Field(name, type_, None, is_text)

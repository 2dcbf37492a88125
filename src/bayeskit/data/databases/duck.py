"""DuckDB: a file that is opened for reading, or a connection that someone has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from bayeskit.data.databases.address import Address
from bayeskit.data.databases.database import BATCH, Field, attempt, closing
from bayeskit.dialects import syntax
from bayeskit.dialects.dialect import DIALECTS
from bayeskit.dialects.syntax import Node
from bayeskit.errors import BayesError

if TYPE_CHECKING:
    import pyarrow as pa

EXACT_DIGITS = 15  # decimals of as many digits become doubles by one division


def duckdb_library() -> Any:
    """DuckDB, which comes with an extra of the package."""
    try:
        import duckdb
    except ImportError as missing:
        raise BayesError.not_installed("DuckDB is read by its own library", missing, "sql") from missing
    return duckdb


class DuckDatabase:
    """A connection."""

    dialect = DIALECTS["duckdb"]

    def __init__(self, connection: Any, shown: str = "this DuckDB connection") -> None:
        self.connection, self.shown = connection, shown
        self._open: _Rest | None = None
        self._problems = (duckdb_library().Error,)

    @classmethod
    def at(cls, address: Address) -> DuckDatabase:
        """A file, opened for reading."""
        duckdb = duckdb_library()
        connection = attempt(
            lambda: duckdb.connect(address.driver, read_only=True), (duckdb.Error,), address.shown, address
        )
        database = cls(connection, address.shown)
        closing(database, connection)
        return database

    def begin_reading(self) -> None:
        """Any number of readings of a fit are of one snapshot."""

    def in_one_state(self) -> AbstractContextManager[None]:
        """A snapshot."""
        return self.snapshot()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """A transaction is one; who has begun it already has it."""
        if self._in_transaction():
            yield
            return
        self.connection.execute("BEGIN TRANSACTION")
        try:
            yield
        finally:
            self.connection.execute("ROLLBACK")

    def _in_transaction(self) -> bool:
        """Whether two queries are of one transaction: to try and begin another would abort it."""
        self._free()
        first, second = (self.connection.execute("SELECT TXID_CURRENT()").fetchall() for _ in range(2))
        return bool(first == second)

    def fields(self, query: str) -> list[Field]:
        """From the relation, which is not run."""

        self._free()

        def look() -> list[Field]:
            relation = self.connection.sql(query)
            types = [str(type_) for type_ in relation.types]
            schema = _schema_of(relation)
            return [_field(name, t, f.type) for name, t, f in zip(relation.columns, types, schema, strict=True)]

        return attempt(look, self._problems, self.shown, None)

    def stream(self, query: str) -> Iterator[pa.RecordBatch]:
        """Batches as DuckDB makes them; what is not read is not made."""
        self._free()
        reader = attempt(lambda: self.connection.sql(query).to_arrow_reader(BATCH), self._problems, self.shown, None)
        self._open = rest = _Rest(reader, (*self._problems, OSError), self.shown)
        try:
            while (batch := rest.next()) is not None:
                yield batch
        finally:
            rest.close()
            self._open = None if self._open is rest else self._open

    def _free(self) -> None:
        """A connection runs one query at a time: what another reading still wants is read to its end."""
        if self._open is not None:
            self._open.drain()
            self._open = None

    def table(self, query: str) -> pa.Table:
        """All rows at once."""
        self._free()
        return attempt(lambda: self.connection.sql(query).to_arrow_table(), self._problems, self.shown, None)


class _Rest:
    """The rows that are still to be read of a query."""

    def __init__(self, reader: Any, problems: tuple[type[BaseException], ...], database: str) -> None:
        self._reader, self._problems, self._database = reader, problems, database
        self._drained: list[pa.RecordBatch] | None = None

    def next(self) -> pa.RecordBatch | None:
        """The next rows; None at the end."""
        if self._drained is not None:
            return self._drained.pop(0) if self._drained else None
        # What happens while Arrow asks for more rows is an error of its own.
        return attempt(lambda: next(self._reader, None), self._problems, self._database, None)

    def drain(self) -> None:
        """Keep the rest, so that the connection is free."""
        if self._drained is None:
            rest = attempt(lambda: list(self._reader), self._problems, self._database, None)
            self._reader.close()
            self._drained = rest

    def close(self) -> None:
        """Nobody reads on."""
        self._reader.close()


def _schema_of(relation: Any) -> Any:
    """The Arrow types of a relation, of which no row is read."""
    reader = relation.limit(0).to_arrow_reader(1)
    try:
        return reader.schema
    finally:
        reader.close()


def _field(name: str, kind: str, type_: Any) -> Field:
    import pyarrow as pa

    if kind.startswith("DECIMAL"):
        digits = int(kind[8:].partition(",")[0])
        return Field(name, pa.float64(), _double if digits <= EXACT_DIGITS else _double_by_text)
    if kind in ("HUGEINT", "UHUGEINT"):
        return Field(name, pa.int64(), _whole)
    is_text = kind.startswith(("VARCHAR", "ENUM"))
    return Field(name, type_, None, is_text)


def _double(node: Node) -> Node:
    return syntax.cast(node, "double")


def _double_by_text(node: Node) -> Node:
    return syntax.cast(syntax.cast(node, "text"), "double")


def _whole(node: Node) -> Node:
    return syntax.cast(node, "bigint")

"""A database that is read: which columns a query has, and its rows as Arrow batches."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from bayeskit.data.databases.address import Address
from bayeskit.dialects import syntax
from bayeskit.dialects.dialect import Dialect
from bayeskit.dialects.syntax import Node
from bayeskit.errors import BayesError, with_article

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
BATCH = 1 << 17  # rows at a time
LOOK = 1 << 10  # rows by which a person is advised


@dataclass(frozen=True)
class Field:
    """A column of a query: its type in Arrow, and how it is to be selected so that its values are everyone's.

    ``written``: from a name that is qualified to the expression; None where the column is taken as it is. ``is_text``:
    whether a collation could fold its values.
    """

    name: str
    type: pa.DataType
    written: Callable[[Node], Node] | None = None
    is_text: bool = False

    def select(self, node: Node) -> Node:
        """The expression by which it is read."""
        return node if self.written is None else self.written(node)


class Database(Protocol):
    """What a source asks of a database. Errors are told without what is secret."""

    dialect: Dialect
    shown: str

    def fields(self, query: str) -> list[Field]:
        """The columns of a query, which is not run, or only as far as its types are to be known."""
        ...

    def stream(self, query: str) -> Iterator[pa.RecordBatch]:
        """The rows of a query."""
        ...

    def table(self, query: str) -> pa.Table:
        """The few rows of a query that counts."""
        ...

    def in_one_state(self) -> AbstractContextManager[None]:
        """A snapshot for all readings of a fit; where it cannot be had, there is one reading and no second."""
        ...

    def begin_reading(self) -> None:
        """All rows are about to be read; refused where others may be found than in the reading before."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Within it every query sees the same rows, and changes none; refused where that cannot be had."""
        ...


def attempt(work: Callable[[], T], problems: tuple[type[BaseException], ...], shown: str, address: Address | None) -> T:
    """What work gives; a driver's error becomes ours, without secrets and without the error it came from."""
    try:
        return work()
    except problems as problem:
        message = str(problem)
    message = " ".join(line.strip() for line in message.splitlines() if line.strip() and "Query was:" not in line)
    message = message if address is None else address.hide(message)
    raise BayesError(f"{shown}: {message}", culprit=None, place=shown)


def open_database(connection: Any) -> Database:
    """The database behind a connection, an address or a file."""
    if isinstance(connection, (str, Path)):
        address = Address.of(connection)
        if address.dialect == "duckdb":
            from bayeskit.data.databases.duck import DuckDatabase

            return DuckDatabase.at(address)
        from bayeskit.data.databases.adbc import AdbcDatabase

        return AdbcDatabase.at(address)
    module = type(connection).__module__.partition(".")[0].lstrip("_")
    if module == "duckdb":
        from bayeskit.data.databases.duck import DuckDatabase

        return DuckDatabase(connection)
    if module.startswith("adbc"):
        from bayeskit.data.databases.adbc import AdbcDatabase

        return AdbcDatabase.of(connection)
    if module == "sqlite3":
        return _file_of(connection)
    raise BayesError(
        f"{with_article(type(connection).__name__)} is no connection that can stream Arrow: give one of DuckDB or "
        "ADBC, an address (postgresql://…), or the file of a database"
    )


def _file_of(connection: Any) -> Database:
    """The file that a connection of Python's own sqlite3 has open."""
    path = next((file for _, name, file in connection.execute("PRAGMA database_list") if name == "main"), "")
    if not path:
        raise BayesError(
            "this database of sqlite3 is in memory, where no other driver can read it: write it to a file, or read it "
            "into a frame"
        )
    from bayeskit.data.databases.adbc import AdbcDatabase

    return AdbcDatabase.at(Address("sqlite", path, path))


def closing(owner: object, connection: Any) -> None:
    """Close a connection when nobody reads from it any more."""
    weakref.finalize(owner, connection.close)


def selected(query: Node, fields: list[Field], limit: int | None = None) -> Node:
    """Some columns of a query, each as everyone's values."""
    exp = syntax.sqlglot().exp
    columns = [syntax.named(field.select(syntax.column("q", field.name)), field.name) for field in fields]
    inner = exp.Subquery(this=query.copy(), alias=exp.TableAlias(this=syntax.name("q")))
    select = exp.Select(expressions=columns or [exp.Literal.number("1")]).from_(inner)
    return select if limit is None else select.limit(limit)

"""The rows of a query as a source: streamed as Arrow, or for a database to count itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bayeskit.data.databases.address import Address, is_address
from bayeskit.data.databases.database import LOOK, Database, Field, open_database, selected
from bayeskit.data.frames import arrow_kind
from bayeskit.data.schema import Kind
from bayeskit.data.source import Batch, check_weight_column, close_rows, weight_column
from bayeskit.dialects import syntax
from bayeskit.dialects.syntax import Node
from bayeskit.errors import BayesError, LostParts, SchemaMismatch
from bayeskit.nearest import did_you_mean
from bayeskit.remedy import Remedy

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class SqlSource:
    """What a SELECT gives: each reading is the query run again, and must find as many rows as the one before.

    Within a fit they are one snapshot, where the database can give it.
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
        """The rows of a query over a connection, an address or a file."""
        database = open_database(connection)
        return cls(syntax.parsed(query, database.dialect), database)

    @classmethod
    def at(cls, text: str) -> SqlSource:
        """A table by its address, such as ``postgresql://host/sales?table=orders``."""
        address = Address.of(text)
        if address.table is None:
            where = " Name it at the end of the address: ?table=… or give a query" if is_address(text) else ""
            raise BayesError(
                f"which table of {address.shown}?{where}",
                Remedy("sql", "SELECT * FROM …", clause=": {}"),
                culprit="sql",
            )
        exp = syntax.sqlglot().exp
        query = exp.Select(expressions=[exp.Star()]).from_(syntax.table_name(address.table))
        return cls(query, open_database(text))

    @property
    def name(self) -> str:
        """The database, as it may be shown."""
        return self.database.shown

    @property
    def here(self) -> str:
        """Where rows are that an error names."""
        return self.database.shown

    @cached_property
    def fields(self) -> dict[str, Field]:
        """All columns of the query."""
        listed = self.database.fields(self.database.dialect.sql(self.query, pretty=False))
        names = [column.name for column in listed]
        if twice := self.database.dialect.one_to_it(names):
            duplicates = " or ".join(dict.fromkeys(twice))
            raise SchemaMismatch(
                f"the query has more than one column named {duplicates}: name each with AS", culprit=twice[0]
            )
        return {column.name: column for column in listed}

    @property
    def head(self) -> Mapping[str, Any]:
        """All columns with their types in Arrow."""
        return {name: column.type for name, column in self.fields.items()}

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Kinds of all columns but the target and the weight."""
        beside = (self.target, self.weight)
        return {name: arrow_kind(column.type) for name, column in self.fields.items() if name not in beside}

    def with_target(self, name: str) -> SqlSource:
        """The same rows, labelled by one of the columns."""
        if name not in self.fields:
            known = f"(columns: {', '.join(self.fields)}){did_you_mean(name, self.fields)}"
            raise SchemaMismatch(f"{self.name}: the query has no target column {name!r} {known}", culprit=name)
        return self._copy(target=name)

    def with_weight(self, name: str) -> SqlSource:
        """The same rows, each counting as often as one of the columns says."""
        check_weight_column(name, self.fields, self.target)
        return self._copy(weight=name)

    def reading(self, asked: Mapping[str, Kind | None]) -> SqlSource:
        """The same rows with these columns alone."""
        return self._copy(asked=dict(asked))

    def _copy(self, **changes: Any) -> SqlSource:
        copied = replace(self, **changes)
        if "fields" in self.__dict__:
            copied.__dict__["fields"] = self.fields
        return copied

    @property
    def read(self) -> list[Field]:
        """The columns that are read."""
        beside = [name for name in (self.target, self.weight) if name is not None]
        names = dict.fromkeys([*(self.asked if self.asked is not None else self.kinds), *beside])
        return [self.fields[name] for name in names]

    def in_one_state(self) -> AbstractContextManager[None]:
        """While it lasts every reading finds the same rows, or a second one is refused."""
        return self.database.in_one_state()

    def look(self) -> Batch | None:
        """Some rows, whichever the database gives first."""
        rows = self._batches(LOOK)
        first = next(rows, None)
        close_rows(rows)
        return first

    def batches(self) -> Iterator[Batch]:
        """All rows, in the order in which they come."""
        if self.engine is not None:
            raise self.engine.not_here()
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
        """Refuse rows that are not as many as in the reading before: the table has changed."""
        if self.passes and self.passes[-1] != n_rows:
            raise LostParts(
                f"{self.name}: the rows changed between two readings, {self.passes[-1]:,} and then {n_rows:,}. Nothing "
                "was learnt; learn from a table that stays as it is, such as a copy."
            )
        self.passes.append(n_rows)

    def _batches(self, limit: int | None) -> Iterator[Batch]:
        query = self.database.dialect.sql(selected(self.query, self.read, limit), pretty=False)
        stream = self.database.stream(query)
        try:
            yield from self._labelled_batches(stream)
        finally:
            close_rows(stream)

    def _labelled_batches(self, stream: Iterator[pa.RecordBatch]) -> Iterator[Batch]:
        start = 0
        for rows in stream:
            if not rows.num_rows:
                continue
            columns = {name: _in_utc(column) for name, column in zip(rows.schema.names, rows.columns, strict=True)}
            labels = None if self.target is None else columns.pop(self.target)
            weights = None
            if self.weight is not None:
                weights = weight_column(columns.pop(self.weight), self.weight, start)
            yield Batch(columns, rows.num_rows, start, labels, weights)
            start += rows.num_rows


def _in_utc(column: pa.Array) -> pa.Array:
    """Moments with a time zone in UTC, whatever the zone of the session."""
    import pyarrow as pa

    type_ = column.type
    if not pa.types.is_timestamp(type_) or type_.tz in (None, "UTC"):
        return column
    return column.cast(pa.timestamp(type_.unit, "UTC"))

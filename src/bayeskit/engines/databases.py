"""sql: the rows of a query, streamed from the database or counted inside it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bayeskit.data.databases.sql_source import SqlSource
from bayeskit.engines.engine import MAX_CATEGORIES
from bayeskit.engines.push_down import PushDown
from bayeskit.errors import BayesError


def sql(query: str, connection: Any, *, push: bool = False, max_categories: int | None = MAX_CATEGORIES) -> SqlSource:
    """Rows of a SELECT, for ``fit``, ``learn_source``, ``forget_source`` and everything else that takes rows.

    ``connection`` is one of DuckDB or ADBC, an address (``postgresql://user@host/name``), or the file of a database
    (``shop.duckdb``, ``shop.sqlite``). Rows are streamed as Arrow; with ``push`` the database counts itself, in one
    read-only snapshot, and only counts leave it: columns of more than ``max_categories`` values are then refused.

    >>> import duckdb
    >>> from bayeskit import NaiveBayes
    >>> shop = duckdb.connect()
    >>> days = "(VALUES ('sun', 'yes'), ('sun', 'yes'), ('rain', 'no')) AS days(sky, play)"
    >>> model = NaiveBayes().fit(sql(f"SELECT * FROM {days}", shop), "play")
    >>> pushed = NaiveBayes().fit(sql(f"SELECT * FROM {days}", shop, push=True), "play")
    >>> pushed.tally_ == model.tally_, model.tally_.n_rows
    (True, 3)
    """
    source = SqlSource.of(query, connection)
    return counted_there(source, max_categories) if push else source


def counted_there(source: Any, max_categories: int | None = MAX_CATEGORIES) -> SqlSource:
    """The same rows, counted inside their database; rows of files are refused."""
    if not isinstance(source, SqlSource):
        raise BayesError("there is no database that could count: push=True goes with a query", culprit="push")
    return replace(source, engine=PushDown.on(source, max_categories))

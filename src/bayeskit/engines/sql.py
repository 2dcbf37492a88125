"""Count inside a database, in one snapshot: grouped counts of coded columns, exact integer sums of numbers.

Rows never leave the database. The local engine counts the result as rows with weights, so that values mean the same
everywhere; the counts are then whole numbers again, equal to those of one machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from bayeskit.data.io import sql_syntax as syntax
from bayeskit.data.io.sql import SqlSource
from bayeskit.data.missing_labels import HINT, LabeledRows
from bayeskit.data.schema import DatePart, Numeric, Schema, Text
from bayeskit.data.source import Source
from bayeskit.engines import local
from bayeskit.engines.engine import MAX_CATEGORIES, rows_not_here
from bayeskit.engines.grouped_counts import (
    GroupedCounts,
    assembled,
    class_totals,
    classes_of,
    exact_moments,
    refuse_no_counts,
    refuse_unusable,
    rows_by_class,
    weight_scale,
)
from bayeskit.engines.records import tell_unlabeled
from bayeskit.errors import BayesError, Unlabeled
from bayeskit.tally.moments import MomentStatistic
from bayeskit.tally.plan import Plan
from bayeskit.tally.statistic import Statistic, statistic_of
from bayeskit.tally.tally import Tally


def sql(query: str, connection: Any, *, push: bool = False, max_categories: int | None = MAX_CATEGORIES) -> SqlSource:
    """Open the rows of a SELECT, for ``fit``, ``learn_source``, ``forget_source`` and everything else that takes rows.

    Parameters
    ----------
    query : str
        A single SELECT.
    connection : connection, str or Path
        A connection of DuckDB or ADBC, an address (``postgresql://user@host/name``) or the file of a database
        (``shop.duckdb``, ``shop.sqlite``).
    push : bool, default=False
        Count inside the database, in one read-only snapshot, so that only counts leave it; else stream rows.
    max_categories : int or None, default=100000
        With ``push``, raise an error for a column with more values.

    Returns
    -------
    SqlSource

    Raises
    ------
    BayesError
        If the query is not a SELECT, or the database cannot be opened or cannot count exactly.

    Examples
    --------
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
    return count_in_database(source, max_categories) if push else source


def count_in_database(source: Any, max_categories: int | None = MAX_CATEGORIES) -> SqlSource:
    """Return the same rows, counted inside the database; raise an error for files."""
    if not isinstance(source, SqlSource):
        raise BayesError("there is no database that could count: push=True goes with a query")
    return replace(source, engine=PushDown.on(source, max_categories))


COUNTED = ("families", "moments", "counts", "products", "pairs", "joints", "contexts", "distinct")


@dataclass(frozen=True)
class PushDown:
    """The engine of sources that count inside their database."""

    max_categories: int | None = MAX_CATEGORIES

    @classmethod
    def on(cls, source: SqlSource, max_categories: int | None) -> PushDown:
        """Build the engine for a source; raise an error for a database without exact sums."""
        dialect = source.database.dialect
        if not dialect.sums_exactly:
            raise BayesError(
                f"{dialect.title} adds whole numbers up in 64 bits, too few for exact sums: read its rows, without "
                "push=True"
            )
        return cls(max_categories)

    def rows_not_here(self) -> BayesError:
        """Build the error for reading all rows on this machine."""
        return rows_not_here(self)

    def owns(self, data: Any) -> Source | None:
        """Return the source for the rows of a query; None for anything else."""
        if not isinstance(data, SqlSource):
            return None
        return replace(data, engine=PushDown.on(data, self.max_categories))

    def collect(
        self, source: Any, schema: Schema, plan: Plan, *, n_threads: int = 1, memory_limit: float | None = None
    ) -> Tally:
        """Count inside the database; the tally equals that of a local fit."""
        drops = isinstance(source, LabeledRows)
        rows: SqlSource = source.source if drops else source
        self._check(rows, schema, plan)
        syntax.refuse_sampling(rows.query)
        counts = GroupedCounts(rows, schema, self.max_categories, drops, memory_limit)
        with rows.database.snapshot():
            counts = replace(counts, weight_scale=weight_scale(counts))
            tally = self._counted(counts, plan, source if drops else None)
        rows.check_passes(counts.n_rows)
        if self.max_categories is not None:
            local.check_categories(tally.space, self.max_categories)
        return local.check_totals(tally)

    def _counted(self, counts: GroupedCounts, plan: Plan, labeled: LabeledRows | None) -> Tally:
        schema = counts.schema
        classes, class_counts = self._classes(counts, labeled)
        numbers = [n for n in plan.names if isinstance(schema.columns[n], Numeric)]
        spans = refuse_unusable(counts, numbers)
        pieces: list[Tally] = []
        statistics: dict[str, Statistic] = {}
        for request in plan:
            kind = statistic_of(request.kind)
            if not issubclass(kind, MomentStatistic):
                pieces += counts.pieces(request)
                continue
            if request.kind == "counts":
                refuse_no_counts(counts, request.columns)
            columns = request.columns
            pairs = product(columns, columns) if request.kind == "products" else zip(columns, columns, strict=True)
            statistics[request.kind] = kind(columns, exact_moments(counts, list(pairs), classes, spans))
        return assembled(schema, plan, classes, class_counts, pieces, statistics)

    def _check(self, rows: SqlSource, schema: Schema, plan: Plan) -> None:
        """Raise an error for a request that a database cannot count."""
        for request in plan:
            texts = [name for name in request.names if isinstance(schema.columns[name], (Text, DatePart))]
            if texts or request.kind not in COUNTED:
                what = f"column {texts[0]!r} as text or as dates" if texts else f"the {request.kind} that are asked for"
                if request.kind == "sample":
                    raise BayesError(
                        'numeric="auto" chooses the kinds of numbers by a sample of rows, which a database that counts '
                        "does not give",
                        hint='pass numeric="gaussian", or read the rows, without push=True',
                    )
                raise BayesError(f"a database does not count {what}: read its rows, without push=True")
        where = schema.locate(list(rows.kinds), rows.named)
        for name in schema.measured:
            kind = rows.kinds[where[name]]
            if rows.fields[where[name]].is_text or kind in ("string", "object"):
                raise BayesError(
                    f"a database does not count column {name!r}, which is not a number there: CAST it in the query, or "
                    "read the rows, without push=True",
                )

    def _classes(self, counts: GroupedCounts, labeled: LabeledRows | None) -> tuple[tuple[Any, ...], Any]:
        """Return (classes, their rows); unlabeled rows raise an error or are left out with a warning."""
        table, missing = class_totals(counts)
        counts.class_rows.update(rows_by_class(table))
        n_rows = sum(counts.class_rows.values()) + missing
        counts.passed.append(n_rows)
        if missing and labeled is None:
            raise Unlabeled(
                f"{missing:,} of {n_rows:,} rows have no label in column {counts.source.target!r}",
                hint=HINT,
            ).within(counts.source.name)
        tell_unlabeled(missing, n_rows, labeled)
        return classes_of(counts, table)

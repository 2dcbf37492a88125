"""Count a query's values by class with GROUP BY; the result is read as weighted rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from bayeskit.data.frames import MemorySource
from bayeskit.data.io import sql_syntax as syntax
from bayeskit.data.io.sql import SqlSource, selected
from bayeskit.data.io.sql_syntax import Node, exp
from bayeskit.data.schema import Numeric, Schema
from bayeskit.data.vocabulary import Value
from bayeskit.engines import local
from bayeskit.errors import LostParts, TooLarge
from bayeskit.lazy import pa, pc
from bayeskit.tally.joints import Pairs
from bayeskit.tally.plan import Plan, Request, Space, cast_counts
from bayeskit.tally.statistic import Statistic, statistic_of
from bayeskit.tally.tally import Tally
from bayeskit.typing import Counts, Floats

CLASS, NUMBER, SET, WEIGHT = "class", "n", "grouped", "w"
HIGH, LOW = "wa", "wb"  # parts of a sum of weights
TOGETHER = 6  # sets of columns that one query groups: more in one were slower, and so was each by itself


@dataclass(frozen=True)
class GroupedCounts:
    """A source and its counting queries. Columns of the schema are cells c0, c1, … of a first step."""

    source: SqlSource
    schema: Schema
    max_categories: int | None
    labeled_only: bool = False
    memory_limit: float | None = None
    passed: list[int] = field(default_factory=list)  # rows that were there
    weight_scale: int | None = None  # of a column of weights: all of it lies below 2 to that power
    class_rows: dict[str, int] = field(default_factory=dict)  # by the label's repr; every later query must find them

    @property
    def n_rows(self) -> int:
        """Return the number of rows, including unlabeled ones."""
        return self.passed[-1]

    @cached_property
    def where(self) -> Mapping[str, str]:
        """Return the query column of each schema column."""
        return self.schema.locate(list(self.source.kinds), self.source.named)

    # -- queries -------------------------------------------------------------------------------------

    def run(self, query: Node) -> pa.Table:
        """Run a counting query."""
        database = self.source.database
        return database.table(database.dialect.sql(query, pretty=False))

    def step(self, cells: Mapping[str, Node]) -> Node:
        """Select the class and some cells of every row from the user's query."""
        needed = [column.name for node in cells.values() for column in node.find_all(exp.Column)]
        columns = [syntax.named(node, name) for name, node in cells.items()]
        if self.source.target is not None:
            needed.append(self.source.target)
            columns.insert(0, syntax.named(self._exact(self.source.target), CLASS))
        rows = selected(self.source.query, [self.source.fields[name] for name in dict.fromkeys(needed)])
        select = over(columns, rows, "r")
        if self.source.target is not None and self.labeled_only:
            there = exp.Not(this=syntax.is_null(syntax.column("r", self.source.target)))
            select.set("where", exp.Where(this=there))
        return select

    def aggregate(self, cells: Mapping[str, Node], parts: Mapping[str, Node], by_class: bool = False) -> pa.Table:
        """Run a query of aggregates over the cells of all rows, or of the rows of each class."""
        query = over([syntax.named(node, name) for name, node in parts.items()], self.step(cells))
        if by_class and self.source.target is not None:
            query.set("group", exp.Group(expressions=[syntax.column("s", CLASS)]))
        return self.run(query)

    def cell(self, name: str) -> Node:
        """Return the grouping expression of a column: the interval code if it has cuts, else its value."""
        role = self.schema.columns[name]
        if not isinstance(role, Numeric):
            return self._exact(self.where[name])
        x = self.number(name)
        if role.cuts is None:
            return x
        leaves = [syntax.whole(i) for i in range(len(role.cuts) + 1)]
        return syntax.case([(syntax.is_null(x), syntax.null())], syntax.interval(x.copy(), role.cuts, leaves))

    def number(self, name: str) -> Node:
        """Return a number, NULL if missing; for a date, the seconds since 1970."""
        cell, kind = syntax.column("r", self.where[name]), self.source.fields[self.where[name]].type
        if pa.types.is_boolean(kind):
            cell = syntax.cast(cell, "int")
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            micros = syntax.cast(self.source.database.dialect.microseconds(cell), "double")
            return syntax.over(micros, syntax.number(1e6))
        return syntax.called("NULLIF", syntax.cast(cell, "double"), self.source.database.dialect.nan())

    def _exact(self, name: str) -> Node:
        """Return a column compared bytewise, so that no collation merges texts."""
        node = syntax.column("r", name)
        if not self.source.fields[name].is_text:
            return node
        if self.source.database.dialect.name == "duckdb":
            return syntax.called("ENCODE", syntax.cast(node, "text"))
        return exp.Collate(this=syntax.cast(node, "text"), expression=syntax.name("C"))

    def decoded(self, name: str, cell: Node) -> Node:
        """Return a cell of ``_exact`` as text again; DuckDB groups texts by their bytes."""
        if self.source.fields[name].is_text and self.source.database.dialect.name == "duckdb":
            return syntax.called("DECODE", cell)
        return cell

    def check_rows(self, found: Mapping[str, int]) -> None:
        """Raise an error if a query found other rows of some class than the first one."""
        if dict(found) != self.class_rows:
            raise LostParts(
                f"{self.source.name}: the query gives other rows each time it runs. Nothing was learned.",
                hint="write its rows to a table first, or read them once, without push=True",
            )

    def weight(self) -> Node:
        """Return the weight of a row, NULL if missing."""
        assert self.source.weight is not None
        double = syntax.cast(syntax.column("r", self.source.weight), "double")
        return syntax.called("NULLIF", double, self.source.database.dialect.nan())

    def weight_cell(self) -> dict[str, Node]:
        """Return the weight of a row scaled to 0…1; empty if rows have no weights."""
        if self.weight_scale is None:
            return {}
        return {WEIGHT: syntax.times(self.weight(), syntax.number(2.0**-self.weight_scale))}

    def grouped(self, sets: Sequence[tuple[str, ...]], limit: int | None = None) -> Iterator[pa.Table]:
        """Yield for each set of columns a table of classes, cells and row counts."""
        for start in range(0, len(sets), TOGETHER):
            part = sets[start : start + TOGETHER]
            table = self._grouping_sets(part, None if limit is None else limit * len(part))
            tables = [self._of_set(table, i, names, part) for i, names in enumerate(part)]
            for names, one in zip(part, tables, strict=True):
                if limit is not None and one.num_rows >= limit:
                    raise TooLarge(
                        f"{' and '.join(map(repr, names))} would bring over {limit:,} counts from the database: leave "
                        "one out, or cut numbers more coarsely",
                    )
            yield from tables

    def _grouping_sets(self, sets: Sequence[tuple[str, ...]], limit: int | None) -> pa.Table:
        names = list(dict.fromkeys(name for one in sets for name in one))
        position = {name: f"c{i}" for i, name in enumerate(names)}
        weights = self.weight_cell()
        step = self.step({**{position[name]: self.cell(name) for name in names}, **weights})
        cells = {name: syntax.column("s", at) for name, at in position.items()}
        label = [] if self.source.target is None else [syntax.column("s", CLASS)]
        tuples = [exp.Tuple(expressions=[*(c.copy() for c in label), *(cells[n].copy() for n in one)]) for one in sets]
        groups = exp.GroupingSets(expressions=tuples)
        n = syntax.cast(exp.Count(this=exp.Star()), "bigint")
        columns = [syntax.named(self.decoded(str(self.source.target), c.copy()), CLASS) for c in label]
        for name, cell in cells.items():
            shown = cell.copy() if name in self.schema.measured else self.decoded(self.where[name], cell.copy())
            columns.append(syntax.named(shown, position[name]))
        columns.append(syntax.named(n, NUMBER))
        for kind, part in _limbs(syntax.column("s", WEIGHT)).items() if weights else ():
            columns.append(syntax.named(syntax.cast(exp.Sum(this=part), "text"), kind))
        if cells:
            which = syntax.called("GROUPING", *(cell.copy() for cell in cells.values()))
            columns.append(syntax.named(syntax.cast(which, "bigint"), SET))
        select = over(columns, step)
        select.set("group", exp.Group(grouping_sets=[groups]))
        return self.run(select if limit is None else select.limit(limit))

    def _of_set(self, table: pa.Table, index: int, names: tuple[str, ...], sets: Sequence[tuple[str, ...]]) -> pa.Table:
        every = list(dict.fromkeys(name for one in sets for name in one))
        if SET in table.column_names:
            bits = sum(1 << (len(every) - 1 - i) for i, name in enumerate(every) if name not in names)
            table = table.filter(pc.equal(table[SET], pa.scalar(bits, pa.int64())))
        columns = {name: table[f"c{every.index(name)}"] for name in names}
        if self.source.target is not None:
            columns[CLASS] = table[CLASS]
        sums = {NUMBER: table[NUMBER]}
        if self.weight_scale is not None:
            parts = zip(table[HIGH].to_pylist(), table[LOW].to_pylist(), strict=True)
            scale = Fraction(2) ** (self.weight_scale - 106)
            weights = [float((int(high or 0) * 2**53 + int(low or 0)) * scale) for high, low in parts]
            sums[WEIGHT] = pa.array(weights, pa.float64())
        return pa.table({**{f"={name}": column for name, column in columns.items()}, **sums})

    def weights(self, table: pa.Table) -> Floats:
        """Return the weight of each group: the sum of row weights, or the number of rows."""
        return np.asarray(table[NUMBER if self.weight_scale is None else WEIGHT].to_numpy(), dtype=np.float64)

    # -- pieces --------------------------------------------------------------------------------------

    def pieces(self, request: Request) -> Iterator[Tally]:
        """Yield one tally for each column or set of columns of a request."""
        sets: list[tuple[str, ...]]
        limit = None
        if request.kind == "pairs":
            sets = list(combinations(request.columns, 2)) or [(name,) for name in request.columns]
        else:
            sets = [one if isinstance(one, tuple) else (one,) for one in request.columns]
        if request.kind == "distinct":
            limit = 1 + 64 * (request.options.get("refuse_beyond") or request.options.get("max_values") or 1)
        elif self.max_categories is not None:
            limit = 1 + 64 * self.max_categories
        for names, table in zip(sets, self.grouped(sets, limit), strict=True):
            self.check_rows(rows_by_class(table))
            yield self._piece(request, names, table)

    def _piece(self, request: Request, names: tuple[str, ...], table: pa.Table) -> Tally:
        asked = names if request.kind == "pairs" else (names,) if statistic_of(request.kind).by_column_set else names
        schema = self.schema.restrict(names)
        source = MemorySource(
            {name: self._cells(name, table[f"={name}"]) for name in names},
            table.num_rows,
            True,
            self.source.target,
            None if self.source.target is None else table[f"={CLASS}"],
            self.weights(table),
        )
        narrowed = replace(request, columns=asked)
        coded = [name for name in names if name in schema.coded]
        alone = [Request("families", tuple(coded))] if request.kind != "families" and coded else []
        tally = local.collect_part(source, schema, Plan(*alone, narrowed), memory_limit=self.memory_limit)
        tally = whole(tally) if self.weight_scale is None else tally
        return replace(tally, statistics={request.kind: tally.statistics[request.kind]})  # alone, only to keep values

    def _cells(self, name: str, column: pa.ChunkedArray) -> Any:
        """Decode cells for the encoder; an interval becomes a number inside it."""
        role = self.schema.columns[name]
        if not isinstance(role, Numeric) or role.cuts is None:
            return column
        inside = np.array([*role.cuts, np.nextafter(role.cuts[-1], np.inf) if role.cuts else 0.0])
        codes = column.to_numpy()
        missing = np.isnan(codes.astype(np.float64))
        return np.where(missing, np.nan, inside[np.where(missing, 0, codes).astype(np.int64)])


def over(columns: Sequence[Node], step: Node, alias: str = "s") -> Node:
    """Return a query of some columns over a step."""
    inner = exp.Subquery(this=step, alias=exp.TableAlias(this=syntax.name(alias)))
    return exp.Select(expressions=list(columns)).from_(inner)


def class_totals(counts: GroupedCounts) -> tuple[pa.Table, int]:
    """Return the groups of each label, and the number of rows without one."""
    table = next(replace(counts, labeled_only=False).grouped([()]))
    if counts.source.target is None:
        return table, 0
    labeled = pc.is_valid(table[f"={CLASS}"])
    return table.filter(labeled), int(pc.sum(table.filter(pc.invert(labeled))[NUMBER]).as_py() or 0)


def rows_by_class(table: pa.Table) -> dict[str, int]:
    """Return the number of rows of each label in a table of groups, by the label's repr."""
    if f"={CLASS}" not in table.column_names:
        return {"": int(pc.sum(table[NUMBER]).as_py() or 0)}
    sums = table.group_by(f"={CLASS}").aggregate([(NUMBER, "sum")])
    labels, n_rows = sums[f"={CLASS}"].to_pylist(), sums[f"{NUMBER}_sum"].to_pylist()
    return {repr(label): n for label, n in zip(labels, n_rows, strict=True)}


def classes_of(counts: GroupedCounts, table: pa.Table) -> tuple[tuple[Value, ...], Counts]:
    """Return (classes, rows of each), sorted as in a tally; without labels there is one class."""
    target = counts.source.target
    labels = None if target is None else table[f"={CLASS}"]
    source = MemorySource({}, table.num_rows, True, target, labels, counts.weights(table))
    tally = local.collect_part(source, replace(counts.schema, columns={}), Plan())
    in_full = tally.class_counts if counts.weight_scale is not None else tally.class_counts.astype(np.int64)
    return tally.classes, in_full


def _limbs(x: Node) -> dict[str, Node]:
    """Split a number in 0…1 into two integers: ⌊x·2^53⌉, and the remainder times 2^106."""
    wide = syntax.times(x, syntax.number(2.0**53))
    high = syntax.cast(wide, "bigint")
    rest = exp.Paren(this=syntax.minus(wide.copy(), syntax.cast(high.copy(), "double")))
    return {HIGH: high, LOW: syntax.cast(syntax.times(rest, syntax.number(2.0**53)), "bigint")}


def whole(tally: Tally) -> Tally:
    """Convert counts that were read as weights to integers."""
    statistics = cast_counts(tally.statistics, np.int64)
    return Tally(replace(tally.space, weighted=False), tally.class_counts.astype(np.int64), statistics)


def assembled(
    schema: Schema,
    plan: Plan,
    classes: Sequence[Value],
    class_counts: Counts,
    pieces: Sequence[Tally],
    measured: Mapping[str, Statistic],
) -> Tally:
    """Combine all pieces into one tally, over the union of classes and values."""
    values: dict[str, Sequence[Value]] = {}
    for piece in pieces:
        for name, held in piece.space.values.items():
            values[name] = held if len(held) >= len(values.get(name, ())) else values[name]
    ordered = [name for name in schema.coded if name in values]
    weighted = class_counts.dtype.kind == "f"
    space = Space(schema, tuple(classes), {name: values[name] for name in ordered}, weighted)
    statistics: dict[str, Statistic] = dict(measured)
    for request in plan:
        if request.kind not in statistics:
            recoded = [
                piece.recode(piece.schema, classes, {name: values[name] for name in piece.space.values})
                for piece in pieces
                if request.kind in piece.statistics
            ]
            statistics[request.kind] = _joined(request, [piece.statistics[request.kind] for piece in recoded], space)
    in_order = {request.kind: statistics[request.kind] for request in plan}
    return Tally(space, class_counts, in_order).tidy()


def _joined(request: Request, parts: Sequence[Any], space: Space) -> Statistic:
    """Combine the statistics of single columns or sets into one."""
    if request.kind == "pairs":
        sizes = tuple(space.slots[name] for name in request.columns)
        counts = [np.zeros((space.n_classes, 0), space.dtype), *(p.counts for p in parts if len(p.columns) == 2)]
        return Pairs(request.columns, sizes, np.concatenate(counts, axis=1))
    joined: Statistic = parts[0].with_tables({key: table for part in parts for key, table in part.tables.items()})
    return joined

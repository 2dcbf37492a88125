"""Count inside a database: values by class with GROUP BY, and exact sums of numbers and products.

Counted values are read as weighted rows. Numbers are summed as integers, so that the order of rows does not matter.

A pilot finds E with |x| < 2^E for all x, and by how many bits the least of them is smaller. Then y = x · 2^−E is within
±1, and with ⌊·⌉ for rounding it falls into whole numbers of 54 bits, as many as its least bit asks for:

    y = ⌊y·2^53⌉ / 2^53 + ⌊(y·2^53 − ⌊y·2^53⌉) · 2^53⌉ / 2^106 + …

A product y·v is p = fl(y·v) and y·v − p, what p loses, which is had without loss by splitting y and v into two halves
(Dekker); both are summed so. A weight is one factor more. Each sum fits 128 bits, so nothing is lost. Plain sums of
doubles lost a fifth of a variance at a mean of 10⁶ deviations; and what was added in one order could not be taken away
in another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from bayeskit.data.cells import LARGEST, beyond_years
from bayeskit.data.frames import MemorySource
from bayeskit.data.io import sql_syntax as syntax
from bayeskit.data.io.sql import SqlSource, selected
from bayeskit.data.io.sql_syntax import Node, exp
from bayeskit.data.schema import Numeric, Schema
from bayeskit.data.source import HEAVIEST, LIGHTEST
from bayeskit.data.vocabulary import Value, canonical
from bayeskit.engines import local
from bayeskit.errors import BayesError, LostParts, TooLarge
from bayeskit.lazy import pa, pc
from bayeskit.tally.counts import Pairs
from bayeskit.tally.moments import LARGEST_COUNT, Moments
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
        select = over(columns or [syntax.named(syntax.integer(1), "one")], rows, "r")
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
        leaves = [syntax.integer(i) for i in range(len(role.cuts) + 1)]
        return syntax.case([(syntax.is_null(x), syntax.null())], syntax.interval(x.copy(), role.cuts, leaves))

    def number(self, name: str) -> Node:
        """Return a number, NULL if missing; for a date, the seconds since 1970."""
        cell, kind = syntax.column("r", self.where[name]), self.source.fields[self.where[name]].type
        if pa.types.is_boolean(kind):
            cell = syntax.cast(cell, "int")
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            return self.source.database.dialect.seconds(cell, getattr(kind, "unit", "") == "ns")
        return syntax.called("NULLIF", syntax.cast(cell, "double"), self.source.database.dialect.nan())

    def _exact(self, name: str) -> Node:
        """Return a column compared bytewise, so that no collation merges texts."""
        node = syntax.column("r", name)
        if not self.source.fields[name].is_text:
            return node
        return self.source.database.dialect.text(syntax.cast(node, "text"))

    def decoded(self, name: str, cell: Node) -> Node:
        """Return a cell of ``_exact`` as text again; DuckDB groups texts by their bytes."""
        return self.source.database.dialect.decoded(cell) if self.source.fields[name].is_text else cell

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
        tally = with_integer_counts(tally) if self.weight_scale is None else tally
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


def with_integer_counts(tally: Tally) -> Tally:
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


BITS = 2.0**53
SPLIT = 2.0**27 + 1  # Veltkamp's: times this, a double falls into two halves
DIGITS = 110  # bits of a double-double
MOST_APART = 200  # bits between the largest numbers of two classes
WEIGHT_BITS = 54  # between the largest weight and the least
LEAST_SCALE = -500  # numbers below it, and their squares, would vanish
SUMS_TOGETHER = 36  # sums of one query
ROWS = "rows"


@dataclass(frozen=True)
class Span:
    """The range of a column: all numbers are below 2^scale, significant bits above 2^(scale − bits)."""

    scale: int
    bits: int

    @classmethod
    def of(cls, name: str, largest: Sequence[float], least: float) -> Span:
        """Build from the largest magnitude of each class and the smallest nonzero one.

        Of a class everything counts that its own sums could hold in 32 digits.
        """
        sizes = [math.frexp(size)[1] for size in largest if size]
        if not sizes:
            return cls(0, 0)
        scale, apart = max(*sizes, LEAST_SCALE), max(sizes) - min(sizes)
        if apart > MOST_APART:
            raise BayesError(
                f"column {name!r} has numbers up to {max(largest):g} in one class and only up to "
                f"{min(size for size in largest if size):g} in another, too far apart for exact sums inside a "
                "database: read the rows, without push=True",
            )
        return cls(scale, max(min(scale - math.frexp(least)[1] + 1, apart + DIGITS), 0))


def refuse_unusable(counts: GroupedCounts, names: Sequence[str]) -> dict[str, Span]:
    """Return the range of each column; raise an error for infinite and huge numbers."""
    spans = {}
    for name, (largest, least) in zip(names, _extremes(counts, names) if names else (), strict=True):
        size = max(largest, default=0.0)
        if size == math.inf and pa.types.is_temporal(counts.source.fields[counts.where[name]].type):
            raise beyond_years(name, "some row")
        if size > LARGEST:
            what = "infinity or a value too large" if math.isinf(size) else "a value too large (beyond 1e150)"
            raise BayesError(
                f"Input X contains {what} for dtype('float64'): column {name!r} has {size:g} or its negative in some "
                "row. Replace it by a number or by a missing cell.",
            )
        spans[name] = Span.of(name, largest, least)
    return spans


def _extremes(counts: GroupedCounts, names: Sequence[str]) -> list[tuple[list[float], float]]:
    """Return (the largest magnitude by class, the smallest nonzero one) of each column."""
    parts: dict[str, Node] = {}
    for i in range(len(names)):
        size = syntax.called("ABS", _of(f"x{i}"))
        there = syntax.case([(syntax.compared(size, ">", syntax.number(0.0)), size.copy())])
        parts |= {f"m{i}": exp.Max(this=size.copy()), f"l{i}": exp.Min(this=there)}
    numbers = {f"x{i}": counts.number(name) for i, name in enumerate(names)}
    found = counts.aggregate(numbers, parts, by_class=True).to_pydict()
    largest = [[float(x or 0.0) for x in found[f"m{i}"]] for i in range(len(names))]
    return [(most, min(filter(None, found[f"l{i}"]), default=0.0)) for i, most in enumerate(largest)]


def weight_scale(counts: GroupedCounts) -> int | None:
    """Return E with w < 2^E for all weights, whose sums are exact in 106 bits; None without weights.

    Weights that are none are refused, and such as lie too far apart to be summed exactly.
    """
    if (name := counts.source.weight) is None:
        return None
    w = syntax.column("s", "w")
    over_zero = syntax.case([(syntax.compared(w, ">", syntax.number(0.0)), w.copy())])
    parts = {
        "n": exp.Count(this=exp.Star()),
        "there": exp.Count(this=w.copy()),
        "least": exp.Min(this=w.copy()),
        "light": exp.Min(this=over_zero),
        "most": exp.Max(this=w.copy()),
    }
    table = counts.aggregate({"w": counts.weight()}, parts)
    n, there, least, light, most = (table[part][0].as_py() for part in parts)
    if there < n:
        raise BayesError(f"some row has no weight: column {name!r} is missing there")
    for weight in (least, light, most):
        if weight and not LIGHTEST <= weight <= HEAVIEST:
            raise BayesError(
                f"column {name!r} has weight {weight:g} in some row; weights are 0 or from {LIGHTEST:g} to "
                f"{HEAVIEST:g}: scale them",
            )
    scale = math.frexp(most or 0.0)[1]
    if light is not None and light < 2.0 ** (scale - WEIGHT_BITS):
        raise BayesError(
            f"column {name!r} has weights from {light:g} to {most:g}, too far apart for exact sums inside a database: "
            "read the rows, without push=True",
        )
    return scale


def refuse_no_counts(counts: GroupedCounts, names: Sequence[str]) -> None:
    """Raise an error for count columns that hold other numbers."""
    parts = {}
    for i in range(len(names)):
        x = _of(f"x{i}")
        odd = syntax.any_of(
            [
                syntax.compared(x, "<", syntax.number(0.0)),
                syntax.compared(x.copy(), ">", syntax.number(LARGEST_COUNT)),
                syntax.compared(x.copy(), "<>", syntax.called("FLOOR", x.copy())),
            ]
        )
        parts[f"m{i}"] = exp.Max(this=syntax.case([(odd, x.copy())]))
    table = counts.aggregate({f"x{i}": counts.number(name) for i, name in enumerate(names)}, parts)
    for i, name in enumerate(names):
        if (odd_one := table[f"m{i}"][0].as_py()) is not None:
            raise BayesError(
                f"column {name!r} has {odd_one:g} in some row, which is not a count (a whole number from 0). Choose "
                'another kind: numeric="gaussian", for all columns or for this one.',
            )


@dataclass(frozen=True)
class Sum:
    """Σ of the product of some columns, over rows where these and other required columns are present."""

    factors: tuple[str, ...]
    beside: tuple[str, ...] = ()


def exact_moments(
    counts: GroupedCounts, pairs: Sequence[tuple[str, str]], classes: Sequence[Value], spans: Mapping[str, Span]
) -> Moments:
    """Return n, Σx and Σx·y (n_classes, n_pairs) of pairs of columns, over rows with both cells, in double-double."""
    cells = [
        (Sum((), tuple(sorted({a, b}))), Sum((a,), () if a == b else (b,)), Sum((min(a, b), max(a, b))))
        for a, b in pairs
    ]
    wanted = list(dict.fromkeys(one for cell in cells for one in cell))
    totals: dict[Sum, list[Fraction]] = {}
    for start in range(0, len(wanted), SUMS_TOGETHER):
        totals |= _totals(counts, wanted[start : start + SUMS_TOGETHER], classes, spans)
    parts = [[[totals[cell[k]][c] for cell in cells] for c in range(len(classes))] for k in range(3)]
    n, sums, squares = (np.array(part, dtype=object).reshape(len(classes), len(cells)) for part in parts)
    return Moments.from_sums(n if counts.weight_scale is not None else n.astype(np.int64), sums, squares)


def _totals(
    counts: GroupedCounts, sums: Sequence[Sum], classes: Sequence[Value], spans: Mapping[str, Span]
) -> dict[Sum, list[Fraction]]:
    """Compute each sum by class."""
    query = _Query(counts, sums, spans)
    position = {label: i for i, label in enumerate(classes)}
    totals = {one: [Fraction(0)] * len(classes) for one in sums}
    rows = counts.run(query.node()).to_pylist()
    has_labels = counts.source.target is not None
    counts.check_rows({repr(row[CLASS]) if has_labels else "": row[ROWS] for row in rows})
    for row in rows:
        label: Any = canonical(row[CLASS]) if has_labels else classes[0]
        for i, name in enumerate(query.columns):
            if (row[f"m{i}"] or 0.0) > 1.0:
                raise LostParts(
                    f"{counts.source.name}: column {name!r} changed while it was counted. Nothing was "
                    "learned; give an address in place of a connection."
                )
        if label in position:  # else it has rows of weight zero alone
            for j, one in enumerate(sums):
                totals[one][position[label]] = query.total(row, j)
    return totals


class _Query:
    """A query of several sums: steps that split each number, and the sums of the parts by class."""

    def __init__(self, counts: GroupedCounts, sums: Sequence[Sum], spans: Mapping[str, Span]) -> None:
        self.counts, self.sums = counts, sums
        self.columns = list(dict.fromkeys(name for one in sums for name in (*one.factors, *one.beside)))
        self.spans = {name: spans[name] for name in self.columns}
        self._at = {name: i for i, name in enumerate(self.columns)}

    def total(self, row: Mapping[str, Any], j: int) -> Fraction:
        """Return a sum from the integers that the database computed."""
        if not self._factors(self.sums[j]):
            return Fraction(row[f"n{j}"])
        scale = sum(self.spans[name].scale for name in self.sums[j].factors) + (self.counts.weight_scale or 0)
        parts = [(53, f"v{j}"), (106, f"e{j}")]
        limbs = [
            Fraction(int(row[f"{name}_{k}"] or 0), 2 ** (first + 53 * k))
            for first, name in parts
            for k in range(self._limbs(j, first))
        ]
        return sum(limbs, Fraction(0)) * Fraction(2) ** scale

    def _limbs(self, j: int, first: int) -> int:
        """Return the number of integers that a summand is split into, the first at bit ``first``."""
        factors = self._factors(self.sums[j])
        bits = sum(self.spans[name].bits for name in self.sums[j].factors)
        bits += 0 if self.counts.weight_scale is None else WEIGHT_BITS
        if first == 53:
            return -(-(bits + 53) // 53) if factors else 0
        return 1 + -(-bits // 53) if len(factors) > 1 else 0

    def node(self) -> Node:
        """Return the query."""
        scaled = {f"y{i}": _scaled(self.counts.number(x), self.spans[x]) for i, x in enumerate(self.columns)}
        held, step = list(scaled), self.counts.step(scaled | self.counts.weight_cell())
        label = [] if self.counts.source.target is None else [CLASS]
        held += [*label, *self.counts.weight_cell()]

        def fenced(new: Mapping[str, Node]) -> None:
            nonlocal step
            columns = [*((name, _of(name)) for name in held), *new.items()]
            step = _fenced(self.counts, columns, step)
            held.extend(new)

        factors = [self._factors(one) for one in self.sums]
        products = list(dict.fromkeys(parts[-2:] for parts in factors if len(parts) > 1))
        triples = list(dict.fromkeys(parts for parts in factors if len(parts) > 2))
        if products:
            fenced({f"h{a}": _high(_of(a)) for a in dict.fromkeys(a for parts in (*products, *triples) for a in parts)})
            fenced({f"p{a}{b}": syntax.times(_of(a), _of(b)) for a, b in products})
            fenced({f"e{a}{b}": _lost(a, b, f"p{a}{b}") for a, b in products})
        if triples:
            fenced({f"hp{b}{c}": _high(_of(f"p{b}{c}")) for _, b, c in triples})
            fenced({f"p{a}{b}{c}": syntax.times(_of(a), _of(f"p{b}{c}")) for a, b, c in triples})
            twice = {(a, b, c): syntax.times(_of(a), _of(f"e{b}{c}")) for a, b, c in triples}
            fenced(
                {
                    f"e{a}{b}{c}": syntax.plus(_lost(a, f"p{b}{c}", f"p{a}{b}{c}"), again)
                    for (a, b, c), again in twice.items()
                }
            )
        values = {j: self._value(one, parts) for j, (one, parts) in enumerate(zip(self.sums, factors, strict=True))}
        columns = [syntax.named(self.counts.decoded(str(self.counts.source.target), _of(name)), name) for name in label]
        columns.append(syntax.named(syntax.cast(exp.Count(this=exp.Star()), "bigint"), ROWS))
        sizes = {f"m{i}": syntax.called("ABS", _of(f"y{i}")) for i in range(len(self.columns))}
        columns += [syntax.named(exp.Max(this=size), name) for name, size in sizes.items()]
        columns += [syntax.named(exp.Count(this=values[j]), f"n{j}") for j, parts in enumerate(factors) if not parts]
        wide = {f"v{j}": syntax.times(values[j], syntax.number(BITS)) for j, parts in enumerate(factors) if parts}
        lost = {j: self._where(self.sums[j], _of("e" + "".join(p))) for j, p in enumerate(factors) if len(p) > 1}
        wide |= {f"e{j}": syntax.times(node, syntax.number(BITS * BITS)) for j, node in lost.items()}
        limbs = {name: self._limbs(int(name[1:]), 53 if name[0] == "v" else 106) for name in wide}
        k = 0
        while wide := {name: node for name, node in wide.items() if k < limbs[name]}:
            fenced({f"{name}_{k}": node for name, node in wide.items()})
            fenced({f"i{name}_{k}": syntax.cast(_of(f"{name}_{k}"), "bigint") for name in wide})
            for name in wide:
                total = syntax.cast(exp.Sum(this=_of(f"i{name}_{k}")), "text")
                columns.append(syntax.named(total, f"{name}_{k}"))
                rest = syntax.minus(_of(f"{name}_{k}"), syntax.cast(_of(f"i{name}_{k}"), "double"))
                wide[name] = syntax.times(_grouped(rest), syntax.number(BITS))
            k += 1
        query = over(columns, step)
        if label:
            query.set("group", exp.Group(expressions=[_of(CLASS)]))
        return query

    def _factors(self, one: Sum) -> tuple[str, ...]:
        """Return the cells whose product is summed, the weight first."""
        return (*self.counts.weight_cell(), *(f"y{self._at[name]}" for name in one.factors))

    def _value(self, one: Sum, parts: tuple[str, ...]) -> Node:
        """Return the summand of a row."""
        product = "p" + "".join(parts) if len(parts) > 1 else "".join(parts)
        return self._where(one, _of(product) if parts else syntax.integer(1))

    def _where(self, one: Sum, value: Node) -> Node:
        """Return NULL where a required cell is missing."""
        absent = [syntax.is_null(_of(f"y{self._at[name]}")) for name in one.beside]
        return syntax.case([(syntax.any_of(absent), syntax.null())], value) if absent else value


def _high(x: Node) -> Node:
    """Return the upper half of a double (Veltkamp)."""
    wide = syntax.times(x, syntax.number(SPLIT))
    return syntax.minus(wide, syntax.minus(wide.copy(), x.copy()))


def _lost(a: str, b: str, product: str) -> Node:
    """Return a · b − product exactly (Dekker)."""
    low_a, low_b = (syntax.minus(_of(x), _of(f"h{x}")) for x in (a, b))
    high_a, high_b = _of(f"h{a}"), _of(f"h{b}")
    lost = _grouped(syntax.minus(syntax.times(high_a, high_b), _of(product)))
    lost = _grouped(syntax.plus(lost, syntax.times(high_a.copy(), low_b)))
    lost = _grouped(syntax.plus(lost, syntax.times(low_a, high_b.copy())))
    return _grouped(syntax.plus(lost, syntax.times(low_a.copy(), low_b.copy())))


def _of(name: str) -> Node:
    return syntax.column("s", name)


def _grouped(node: Node) -> Node:
    """Add parentheses, since the order of floating-point operations matters."""
    return exp.Paren(this=node)


def _scaled(x: Node, span: Span) -> Node:
    """Return x · 2^−E, and 0 for negligible numbers."""
    y = syntax.times(x, syntax.number(2.0**-span.scale))
    small = syntax.compared(syntax.called("ABS", x.copy()), "<", syntax.number(2.0 ** (span.scale - span.bits - 1)))
    return syntax.case([(small, syntax.cast(syntax.number(0.0), "double"))], y)


def _fenced(counts: GroupedCounts, columns: Sequence[tuple[str, Node]], step: Node) -> Node:
    """Add a step that PostgreSQL does not inline, so that columns are computed once."""
    select = over([syntax.named(node, name) for name, node in columns], step)
    if counts.source.database.dialect.fences:
        select.set("offset", exp.Offset(expression=syntax.integer(0)))
    return select

"""Terms of a scoring form as SQL: for each class an expression, and the tables to be joined for it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bayeskit.data.vocabulary import Value
from bayeskit.dialects import syntax
from bayeskit.dialects.dialect import Dialect
from bayeskit.dialects.syntax import Node
from bayeskit.export.scoring_form import Coding, Context, ContextTerm, LinearTerm, QuadraticTerm, TableTerm, WordsTerm
from bayeskit.export.sql.lookups import Key, Lookup, Lookups, double
from bayeskit.export.sql.read_cells import Cells, kind_of, storable, value_node
from bayeskit.export.sql.relative import PolynomialTerm
from bayeskit.typing import Floats

CELLS = "r"  # the step that has the cells, as later steps name it


@dataclass(frozen=True)
class Join:
    """A table of the query itself, and the cells by which its row is found."""

    alias: str
    keys: tuple[str, ...]  # its columns
    cells: tuple[str, ...]  # those of the rows
    missing: bool = False  # whether a missing cell has a row, too


@dataclass
class Scores:
    """What a term adds to each class, what is joined for it, and when a row is refused."""

    by_class: list[Node]
    joins: list[Join] = field(default_factory=list)
    refused: list[Node] = field(default_factory=list)


def cell(name: str) -> Node:
    """A cell of the row that is scored."""
    return syntax.column(CELLS, name)


class TermWriter:
    """Writes terms of all kinds, the cells that they read and the tables that they look up."""

    def __init__(self, dialect: Dialect, cells: Cells, prefix: str = "") -> None:
        self.dialect, self.cells, self.lookups = dialect, cells, Lookups(prefix)
        self.codes: dict[tuple[str, bool], tuple[Node, list[Join]]] = {}  # made in a step between cells and scores

    def write(self, term: TableTerm | PolynomialTerm | QuadraticTerm | LinearTerm | ContextTerm) -> Scores:
        """What a term adds."""
        if isinstance(term, TableTerm):
            return self._intervals(term) if term.coding.cuts is not None else self._values(term)
        if isinstance(term, PolynomialTerm):
            return self._polynomial(term)
        if isinstance(term, QuadraticTerm):
            return self._quadratic(term)
        return self._linear(term) if isinstance(term, LinearTerm) else self._contexts(term)

    # -- numbers -------------------------------------------------------------------------------------

    def _polynomial(self, term: PolynomialTerm) -> Scores:
        x = self.cells.number(term.name, term.center)
        by_class = []
        for of_class in zip(term.constant, term.linear, term.square, strict=True):
            powers = zip(of_class, (f"{x}_0", x, f"{x}_2"), strict=True)
            parts = [syntax.times(double(by, self.dialect), cell(power)) for by, power in powers if by]
            by_class.append(syntax.total(parts) if parts else double(0.0, self.dialect))
        return Scores(by_class)

    def _quadratic(self, term: QuadraticTerm) -> Scores:
        x, zero = self.cells.number(term.name), double(0.0, self.dialect)
        by_class = []
        for mean, half, constant in zip(term.mean, 0.5 * term.precision, term.constant, strict=True):
            away = syntax.minus(cell(x), double(mean, self.dialect))
            square = syntax.times(double(half, self.dialect), syntax.times(away, away.copy()))
            by_class.append(syntax.minus(double(constant, self.dialect), square))
        first = by_class[0]
        relative = [zero] + [syntax.minus(density, first.copy()) for density in by_class[1:]]
        return Scores([syntax.first_known(node, zero.copy()) for node in relative])

    def _linear(self, term: LinearTerm) -> Scores:
        x, zero = self.cells.number(term.name), double(0.0, self.dialect)
        by_class = []
        for slope, present in zip(term.slope, term.present, strict=True):
            away = syntax.minus(cell(x), double(term.center, self.dialect))
            there = syntax.times(double(slope, self.dialect), away)
            there = syntax.plus(double(present, self.dialect), there) if present else there
            by_class.append(syntax.first_known(there, zero.copy()))
        return Scores(by_class)

    def _intervals(self, term: TableTerm) -> Scores:
        x, cuts = self.cells.number(term.coding.column), term.coding.cuts or ()
        by_class = []
        for scores in term.table.T:
            leaves = [double(score, self.dialect) for score in scores[1:-1]]
            leaf = syntax.interval(cell(x), cuts, leaves)
            missing = (syntax.is_null(cell(x)), double(scores[0], self.dialect))
            by_class.append(syntax.case([missing], leaf))
        return Scores(by_class)

    # -- values --------------------------------------------------------------------------------------

    def _values(self, term: TableTerm) -> Scores:
        name, kind, known = self.cells.text(term.coding), kind_of(term.coding), self._storable(term.coding)
        values = [value_node(value, kind, self.dialect) for _, value in known]
        rows = [code for code, _ in known]
        rest = [self._otherwise(name, *scores[[0, -1]]) for scores in term.table.T]
        if len(known) * (len(rest) - 1) <= self.dialect.case_up_to:
            branches = [list(zip(values, self._doubles(scores[rows]), strict=True)) for scores in term.table.T]
            by_class = [
                syntax.case([(v.copy(), s) for v, s in of_class], other, of=cell(name)) if of_class else other
                for of_class, other in zip(branches, rest, strict=True)
            ]
            return Scores(by_class, [], self._refusals(term.coding, name, None))
        keys: list[Value | None] = [value for _, value in known]
        if self.dialect.joins_missing:
            keys, rows, rest = [*keys, None], [*rows, 0], self._doubles(term.table[-1])
        alias = self.lookups.add(Lookup({"v": Key(kind, keys)}, _by_class(term.table[rows])))
        by_class = [syntax.first_known(syntax.column(alias, f"s{c}"), other) for c, other in enumerate(rest)]
        join = Join(alias, ("v",), (name,), self.dialect.joins_missing)
        return Scores(by_class, [join], self._refusals(term.coding, name, alias))

    def _storable(self, coding: Coding) -> list[tuple[int, Value]]:
        """(code, value) of the values that a column of the database can hold."""
        return [(i + 1, v) for i, v in enumerate(coding.values) if storable(v, self.dialect)]

    def _otherwise(self, name: str, missing: float, unseen: float) -> Node:
        if missing == unseen:
            return double(unseen, self.dialect)
        gap = (syntax.is_null(cell(name)), double(missing, self.dialect))
        return syntax.case([gap], double(unseen, self.dialect))

    def _doubles(self, scores: Floats) -> list[Node]:
        return [double(score, self.dialect) for score in scores]

    def _refusals(self, coding: Coding, name: str, alias: str | None) -> list[Node]:
        """Where values that were never seen are refused: the cell is there, and no value is it."""
        if not coding.refuses_unseen:
            return []
        exp = syntax.sqlglot().exp
        there = exp.Not(this=syntax.is_null(cell(name)))
        if alias is not None:
            return [syntax.all_of([there, syntax.is_null(syntax.column(alias, "v"))])]
        kind = kind_of(coding)
        nodes = [value_node(value, kind, self.dialect) for _, value in self._storable(coding)]
        return [syntax.all_of([there, exp.Not(this=exp.In(this=cell(name), expressions=nodes))]) if nodes else there]

    # -- contexts ------------------------------------------------------------------------------------

    def _contexts(self, term: ContextTerm) -> Scores:
        """The tables of all levels are joined; the longest context that has a row says it."""
        child, parents = self._code(term.coding), [self._code(parent) for parent in term.parents]
        joins, aliases = [], []
        for depth, level in enumerate(term.levels):
            alias = self._level(level)
            keys = ("v", *(f"p{d}" for d in range(depth)))
            joins.append(Join(alias, keys, (child, *parents[:depth])))
            aliases.append(alias)
        zero = double(0.0, self.dialect)
        by_class = [
            syntax.first_known(*(syntax.column(alias, f"s{c}") for alias in reversed(aliases)), zero.copy())
            for c in range(term.levels[0].tables.shape[2])
        ]
        refused: list[Node] = []
        if term.coding.refuses_unseen:
            refused = [syntax.compared(cell(child), "=", syntax.whole(-1))]
        return Scores(by_class, joins, refused)

    def _level(self, level: Context) -> str:
        n_contexts, n_values, n_classes = level.tables.shape
        keys = {"v": Key("integer", np.tile(np.arange(1, n_values + 1), n_contexts).tolist())}
        keys |= {f"p{d}": Key("integer", np.repeat(codes, n_values).tolist()) for d, codes in enumerate(level.codes.T)}
        return self.lookups.add(Lookup(keys, _by_class(level.tables.reshape(-1, n_classes))))

    def _code(self, coding: Coding) -> str:
        """The name of the code of a column: NULL where it is missing, −1 where the value was never seen."""
        key = (coding.column, coding.cuts is None)
        if key not in self.codes:
            self.codes[key] = self._made_code(coding)
        return f"b{list(self.codes).index(key)}"

    def _made_code(self, coding: Coding) -> tuple[Node, list[Join]]:
        if coding.cuts is not None:
            x = self.cells.number(coding.column)
            leaves = [syntax.whole(code) for code in range(1, coding.n_codes + 1)]
            return syntax.case(
                [(syntax.is_null(cell(x)), syntax.null())], syntax.interval(cell(x), coding.cuts, leaves)
            ), []
        name, kind, known = self.cells.text(coding), kind_of(coding), self._storable(coding)
        unseen = syntax.case([(syntax.is_null(cell(name)), syntax.null())], syntax.whole(-1))
        if len(known) <= self.dialect.case_up_to:
            pairs = [(value_node(value, kind, self.dialect), syntax.whole(code)) for code, value in known]
            return (syntax.case(pairs, unseen, of=cell(name)) if pairs else unseen), []
        codes, values = zip(*known, strict=True)
        alias = self.lookups.add(Lookup({"v": Key(kind, values), "code": Key("integer", codes)}, {}))
        return syntax.first_known(syntax.column(alias, "code"), unseen), [Join(alias, ("v",), (name,))]

    # -- words ---------------------------------------------------------------------------------------

    def words(self, term: WordsTerm, alias: str) -> Scores:
        """What the sums over the words of a document add; they are made in a step of their own."""
        zero, by_class = double(0.0, self.dialect), []
        n_classes = term.weights.shape[1]
        for c in range(n_classes):
            score = syntax.column(alias, f"s{c}")
            if term.scale:
                power = syntax.called(
                    "POWER", syntax.cast(syntax.column(alias, "u"), "double"), double(-term.scale, self.dialect)
                )
                score = syntax.times(score, power)
            if term.present is not None:
                score = syntax.plus(score, double(term.present[c], self.dialect))
            for part in () if term.shares is None else ("w", "m"):
                score = syntax.plus(score, self._share(alias, part, c))
            by_class.append(syntax.first_known(score, zero.copy()))
        return Scores(by_class)

    def _share(self, alias: str, part: str, c: int) -> Node:
        """A sum over words, by the length of the document in these words; nothing where that is 0."""
        square = syntax.column(alias, f"{part}q")
        share = syntax.over(syntax.column(alias, f"{part}{c}"), syntax.called("SQRT", square))
        there = syntax.compared(square.copy(), ">", double(0.0, self.dialect))
        return syntax.case([(there, share)], double(0.0, self.dialect))


def _by_class(table: Floats) -> dict[str, Floats]:
    """Columns of scores (rows, classes), each by its name."""
    return {f"s{c}": scores for c, scores in enumerate(table.T)}

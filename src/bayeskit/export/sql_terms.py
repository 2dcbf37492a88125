"""Terms of a scoring form as SQL expressions, one per class, with the cells they read and the tables to join.

Texts are compared byte by byte, numbers as doubles, intervals by their codes. Each cell is a column of the first step.
A cell that the model rejects (an infinite number, a text among numbers) makes the row's scores NULL.

If no probability is zero, scores are taken relative to the first class, which saves the work of one class:

    P(c) ∝ exp(z_c) = exp(z_0) · exp(z_c − z_0)

A difference of normal densities is a polynomial in the number, written around a center near the means. If a mean is too
many deviations away from the center, digits would cancel, and the difference stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bayeskit.data.cells import LARGEST
from bayeskit.data.io import sql_syntax as syntax
from bayeskit.data.io.sql_syntax import Dialect, Node, exp
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError
from bayeskit.export import scoring_form as terms
from bayeskit.export.scoring_form import PolynomialTerm
from bayeskit.tolerance import LEAST_NUMBER
from bayeskit.typing import Floats

ROWS = "t"  # alias of the scored table
CELLS = "r"  # alias of the cells in later steps
LONGEST_READABLE = 24  # characters: a name of PostgreSQL has 63, and wide tables repeat it often


@dataclass
class CellReader:
    """Read the columns of the first step, each once, and collect conditions that reject a row."""

    dialect: Dialect
    columns: Mapping[str, str]  # names of the model's columns in the table, if different
    read: dict[str, Node] = field(default_factory=dict)
    refused: list[Node] = field(default_factory=list)
    sizes: list[Node] = field(default_factory=list)  # absolute values of the numbers
    centered: dict[str, Node] = field(default_factory=dict)  # computed from cells in the next step
    remarks: dict[str, str] = field(default_factory=dict)  # comments on the cells: column and kind of value
    _names: dict[tuple[str, str], str] = field(default_factory=dict)

    def raw(self, column: str) -> Node:
        """Return the raw column."""
        return syntax.column(ROWS, self.columns.get(column, column))

    def text(self, coding: terms.Coding) -> str:
        """Return the cell name of a column that is compared with values."""
        kind = kind_of(coding)
        return self._named(coding.column, kind, lambda: self._comparable(coding, kind))

    def _comparable(self, coding: terms.Coding, kind: str) -> Node:
        raw, dialect = self.raw(coding.column), self.dialect
        if dialect.typed_cells:
            right = "text" if kind == "text" else "number"
            self.refused.append(_is_stored_as(raw, _OTHER_TYPES[right]))
            cell = syntax.case([(_is_stored_as(raw, _OTHER_TYPES[right]), syntax.null())], raw)
            return dialect.text(cell) if kind == "text" else cell
        if kind == "text":
            return dialect.text(raw)
        if kind == "boolean":
            return raw
        if dialect.casts_texts:
            self.refused.append(syntax.compared(syntax.called("TYPEOF", raw), "=", exp.Literal.string("string")))
        if kind == "float":
            return self._without_nan(syntax.cast(raw, "double"))
        if not all(map(_is_double, coding.values)) and dialect.floats:
            # A double as large is compared as one, and would be taken for its neighbors among the whole numbers.
            large = syntax.compared(syntax.called("ABS", syntax.cast(raw, "double")), ">=", syntax.number(2.0**53))
            self.refused.append(syntax.all_of([dialect.is_float(raw.copy()), large]))
        whole = syntax.plus(raw, syntax.integer(0))  # the database raises an error for a text
        nan = dialect.nan()
        if nan is None:
            return whole
        is_nan = syntax.compared(syntax.cast(raw.copy(), "double"), "=", nan)  # NULLIF would make it a double
        return syntax.case([(is_nan, syntax.null())], whole)

    def _without_nan(self, node: Node) -> Node:
        nan = self.dialect.nan()
        return node if nan is None else syntax.called("NULLIF", node, nan)

    def number(self, column: str) -> str:
        """Return the cell name of a number as a double, NULL if missing."""
        return self._named(column, "number", lambda: self._number(column))

    def logarithm(self, column: str, refuses_unseen: bool) -> str:
        """Return the cell name of the logarithm of a number, NULL where it is missing or not positive."""
        self.number(column)  # refuses what is not a number

        def make() -> Node:
            x, zero = self._present(column), syntax.cast(syntax.number(0.0), "double")
            if refuses_unseen:
                self.refused.append(syntax.compared(x.copy(), "<=", zero.copy()))
            largest = syntax.compared(x.copy(), "<=", syntax.number(LARGEST))  # not NaN, which PostgreSQL has above all
            return syntax.case(
                [(syntax.all_of([syntax.compared(x.copy(), ">", zero), largest]), syntax.called("LN", x))]
            )

        return self._named(column, "logarithm", make)

    def centered_at(self, center: float, number: str) -> str:
        """Return the cell name of a number less the center, and 0 where it is missing.

        With _0 after the name it is 1 where it is there and else 0, with _2 its square.
        """
        whole = syntax.column(CELLS, number)
        name = f"{number}_1"
        zero, one = (syntax.cast(syntax.number(x), "double") for x in (0.0, 1.0))
        away = syntax.first_known(syntax.minus(whole, syntax.number(center)), zero)
        self.centered[f"{name}_0"] = syntax.case([(syntax.is_null(whole.copy()), zero.copy())], one)
        self.centered[name] = away
        self.centered[f"{name}_2"] = syntax.times(away.copy(), away.copy())
        return name

    def _present(self, column: str) -> Node:
        raw = self.raw(column)
        x = syntax.cast(raw, "double")
        if self.dialect.typed_cells:
            x = syntax.case([(_is_stored_as(raw, _OTHER_TYPES["number"]), syntax.null())], x)
        return self._without_nan(x)

    def _number(self, column: str) -> Node:
        if self.dialect.typed_cells:
            self.refused.append(_is_stored_as(self.raw(column), _OTHER_TYPES["number"]))
        present, x = self._present(column), syntax.cast(self.raw(column), "double")
        self.sizes.append(syntax.called("ABS", present))
        if not self.dialect.refuses_underflow:
            return present
        # A product that overflows or vanishes would end the query.
        near = exp.Between(this=x, low=syntax.number(-LEAST_NUMBER), high=syntax.number(LEAST_NUMBER))
        within = exp.Between(this=x.copy(), low=syntax.number(-LARGEST), high=syntax.number(LARGEST))
        return syntax.case([(near, syntax.cast(syntax.number(0.0), "double")), (within, x.copy())])

    def refusal(self) -> Node | None:
        """Return the condition under which the model rejects a row, None if there is none."""
        conditions = list(self.refused)
        if self.sizes:
            sizes = self.sizes
            if self.dialect.typed_cells:  # where the greatest of several is NULL if one is
                sizes = [syntax.first_known(size, syntax.number(0.0)) for size in sizes]
            conditions.append(syntax.compared(self.dialect.largest(sizes), ">", syntax.number(LARGEST)))
        return syntax.any_of(conditions) if conditions else None

    def _named(self, column: str, kind: str, make: Callable[[], Node]) -> str:
        key = (column, kind)
        if key not in self._names:
            self._names[key] = name = f"c{len(self._names)}_{readable(column)}".rstrip("_")
            self.remarks[name] = f"{column} ({kind})"
            self.read[name] = make()
        return self._names[key]


def readable(column: str) -> str:
    """Return the part of a column name that fits into the name of a cell.

    >>> readable("body mass (g)"), readable("☃")
    ('body_mass_g_', '_')
    """
    return re.sub(r"\W+", "_", column, flags=re.ASCII)[:LONGEST_READABLE]


_OTHER_TYPES = {"text": ("integer", "real", "blob"), "number": ("text", "blob")}


def _is_stored_as(raw: Node, kinds: Sequence[str]) -> Node:
    """Return the condition that SQLite stored a cell as one of these types."""
    return exp.In(this=syntax.called("TYPEOF", raw), expressions=[exp.Literal.string(kind) for kind in kinds])


def kind_of(coding: terms.Coding) -> str:
    """Return the database type of the values: "text", "boolean", "integer" or "float"."""
    kinds = {type(value) for value in coding.values}
    if kinds <= {str}:
        return "text"
    if kinds == {bool}:
        return "boolean"
    if str in kinds:
        raise BayesError(f"column {coding.column!r} holds texts and numbers, and a column of a database has one type")
    if not kinds <= {int, bool}:
        return "float"
    are_doubles = not all(map(in_64_bits, coding.values)) and all(map(_is_double, coding.values))
    return "float" if are_doubles else "integer"


def value_node(value: Value, kind: str, dialect: Dialect) -> Node:
    """Return a value as a literal of this type."""
    if kind == "text":
        return dialect.value(str(value))
    if kind == "boolean":
        return dialect.truth(bool(value))
    return syntax.integer(int(value)) if kind == "integer" else syntax.cast(syntax.number(float(value)), "double")


def storable(value: Value, dialect: Dialect) -> bool:
    """Return True if a column of the database can hold this value."""
    if isinstance(value, str):
        return dialect.nul_in_text or "\x00" not in value
    return not dialect.typed_cells or isinstance(value, float) or in_64_bits(value) or _is_double(value)


def in_64_bits(value: Any) -> bool:
    """Return True if a number fits in 64 bits."""
    return bool(-(2**63) <= value < 2**63)


def _is_double(value: Any) -> bool:
    return bool(abs(value) < 2**1023 and int(float(value)) == value)


@dataclass(frozen=True)
class LookupKey:
    """Column of keys: type ("text", "boolean", "integer" or "float") and values."""

    kind: str
    values: Sequence[Value | None]


@dataclass(frozen=True, eq=False)
class Lookup:
    """Lookup table: ``keys`` by column name, ``scores`` of shape (n_rows,) by column name."""

    keys: Mapping[str, LookupKey]
    scores: Mapping[str, Floats]

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names, keys first."""
        return (*self.keys, *self.scores)

    def body(self, dialect: Dialect) -> Node:
        """Return the table as SQL."""
        return self._lists(dialect) if dialect.lists else self._rows(dialect)

    def _rows(self, dialect: Dialect) -> Node:
        columns = [[_key(value, key.kind, dialect) for value in key.values] for key in self.keys.values()]
        columns += [[double_literal(score, dialect) for score in scores] for scores in self.scores.values()]
        return exp.Values(expressions=[exp.Tuple(expressions=list(row)) for row in zip(*columns, strict=True)])

    def _lists(self, dialect: Dialect) -> Node:
        """Return columns as unnested lists."""
        columns = [_keys_in_a_list(key, dialect) for key in self.keys.values()]
        columns += [
            _numbers_in_a_list(map(repr, scores.tolist()), "double[]", dialect) for scores in self.scores.values()
        ]
        return exp.Select(expressions=columns)


def _key(value: Value | None, kind: str, dialect: Dialect) -> Node:
    return syntax.null() if value is None else value_node(value, kind, dialect)


def _keys_in_a_list(key: LookupKey, dialect: Dialect) -> Node:
    """Return the values of a key as a list; None is the missing cell."""
    if key.kind in ("integer", "float"):
        number = int if key.kind == "integer" else float
        fits = all(value is None or in_64_bits(value) for value in key.values)
        kind = "double[]" if number is float else "bigint[]" if fits else f"{dialect.whole_numbers}[]"
        digits = ["NULL" if value is None else repr(number(value)) for value in key.values]
        return _numbers_in_a_list(digits, kind, dialect)
    if key.kind == "text":
        texts = [syntax.null() if value is None else syntax.text(str(value), dialect) for value in key.values]
        return dialect.text(syntax.called("UNNEST", syntax.cast(exp.Array(expressions=texts), "text[]")))
    return syntax.called("UNNEST", exp.Array(expressions=[_key(value, key.kind, dialect) for value in key.values]))


def _numbers_in_a_list(digits: Iterable[str], kind: str, dialect: Dialect) -> Node:
    written = dialect.lists[0] + ", ".join(digits) + dialect.lists[1]
    return syntax.called("UNNEST", syntax.cast(exp.Literal.string(written), kind))


def double_literal(x: float, dialect: Dialect) -> Node:
    """Return a score as a double literal."""
    if np.isneginf(x):
        return dialect.minus_infinity()
    node = syntax.number(float(x))
    return syntax.cast(node, "double") if dialect.casts_literals else node


def relative_form(form: terms.ScoringForm) -> terms.ScoringForm:
    """Return the form with scores relative to the first class."""
    return replace(form, base=form.base - form.base[0], terms=tuple(map(_relative_term, form.terms)))


def _relative_term(term: Any) -> Any:
    if isinstance(term, terms.TableTerm):
        return replace(term, table=term.table - term.table[:, :1])
    if isinstance(term, terms.LinearTerm):
        return replace(term, slope=term.slope - term.slope[0], present=term.present - term.present[0])
    if isinstance(term, terms.ContextTerm):
        levels = (terms.ContextTables(level.codes, level.tables - level.tables[:, :, :1]) for level in term.levels)
        return replace(term, levels=tuple(levels))
    if isinstance(term, terms.LogNormalTerm):
        return term  # written relative to the first class
    if isinstance(term, terms.WordsTerm):
        repeats, present = (None if part is None else part - part[..., :1] for part in (term.repeats, term.present))
        shares = term.shares and replace(term.shares, scores=term.shares.scores - term.shares.scores[:, :1])
        weights = term.weights - term.weights[:, :1]
        return replace(term, weights=weights, repeats=repeats, present=present, shares=shares)
    return _polynomial(term)


def _polynomial(term: terms.QuadraticTerm) -> PolynomialTerm | terms.QuadraticTerm:
    """Return the polynomial of the differences from the first class, where no digits are lost."""
    made = terms.polynomial(term)
    if made is None:
        return term
    return PolynomialTerm(term.name, made.center, *(p - p[0] for p in (made.constant, made.linear, made.square)))


@dataclass(frozen=True)
class LookupJoin:
    """Join of a lookup table by cells of the row."""

    alias: str
    keys: tuple[str, ...]  # columns of the lookup table
    cells: tuple[str, ...]  # cells of the row
    missing: bool = False  # True if missing cells have a row


@dataclass
class TermScores:
    """Expressions of a term by class, its joins, and conditions that reject a row."""

    by_class: list[Node]
    joins: list[LookupJoin] = field(default_factory=list)
    refused: list[Node] = field(default_factory=list)


def cell(name: str) -> Node:
    """Return a cell of the scored row."""
    return syntax.column(CELLS, name)


class TermWriter:
    """Write terms of all kinds, with the cells and lookup tables they need."""

    def __init__(self, dialect: Dialect, cells: CellReader, prefix: str = "") -> None:
        self.dialect, self.cells, self.prefix = dialect, cells, prefix
        self.lookups: dict[str, Lookup] = {}  # by alias
        # Codes of columns, computed in a step between cells and scores.
        self.codes: dict[tuple[str, bool], tuple[Node, list[LookupJoin]]] = {}

    def write(
        self, term: terms.TableTerm | PolynomialTerm | terms.QuadraticTerm | terms.LinearTerm | terms.ContextTerm
    ) -> TermScores:
        """Return the expressions of a term."""
        if isinstance(term, terms.TableTerm):
            return self._intervals(term) if term.coding.cuts is not None else self._values(term)
        if isinstance(term, terms.LogNormalTerm):
            log_x = self.cells.logarithm(term.name, term.refuses_unseen)
            return self._normal(_polynomial(term.of_logarithm), log_x)
        if isinstance(term, (PolynomialTerm, terms.QuadraticTerm)):
            return self._normal(term, self.cells.number(term.name))
        return self._linear(term) if isinstance(term, terms.LinearTerm) else self._contexts(term)

    def _look_up(self, keys: Mapping[str, LookupKey], scores: Mapping[str, Floats]) -> str:
        """Add a lookup table; return its alias."""
        alias = f"{self.prefix}l{len(self.lookups)}"
        self.lookups[alias] = Lookup(keys, scores)
        return alias

    # -- numbers -------------------------------------------------------------------------------------

    def _normal(self, term: PolynomialTerm | terms.QuadraticTerm, number: str) -> TermScores:
        """Return the log density of a cell, relative to the first class."""
        return self._polynomial(term, number) if isinstance(term, PolynomialTerm) else self._quadratic(term, number)

    def _polynomial(self, term: PolynomialTerm, number: str) -> TermScores:
        x = self.cells.centered_at(term.center, number)
        by_class = []
        for of_class in zip(term.constant, term.linear, term.square, strict=True):
            powers = zip(of_class, (f"{x}_0", x, f"{x}_2"), strict=True)
            parts = [syntax.times(self._double(by), cell(power)) for by, power in powers if by]
            by_class.append(syntax.total(parts) if parts else self._double(0.0))
        return TermScores(by_class)

    def _quadratic(self, term: terms.QuadraticTerm, x: str) -> TermScores:
        zero = self._double(0.0)
        by_class = []
        for mean, half, constant in zip(term.mean, 0.5 * term.precision, term.constant, strict=True):
            away = syntax.minus(cell(x), self._double(mean))
            square = syntax.times(self._double(half), syntax.times(away, away.copy()))
            by_class.append(syntax.minus(self._double(constant), square))
        first = by_class[0]
        relative = [zero] + [syntax.minus(density, first.copy()) for density in by_class[1:]]
        return TermScores([syntax.first_known(node, zero.copy()) for node in relative])

    def _linear(self, term: terms.LinearTerm) -> TermScores:
        x, zero = self.cells.number(term.name), self._double(0.0)
        by_class = []
        for slope, present in zip(term.slope, term.present, strict=True):
            away = syntax.minus(cell(x), self._double(term.center))
            there = syntax.times(self._double(slope), away)
            there = syntax.plus(self._double(present), there) if present else there
            by_class.append(syntax.first_known(there, zero.copy()))
        return TermScores(by_class)

    def _intervals(self, term: terms.TableTerm) -> TermScores:
        x, cuts = self.cells.number(term.coding.column), term.coding.cuts or ()
        by_class = []
        for scores in term.table.T:
            leaves = [self._double(score) for score in scores[1:-1]]
            leaf = syntax.interval(cell(x), cuts, leaves)
            missing = (syntax.is_null(cell(x)), self._double(scores[0]))
            by_class.append(syntax.case([missing], leaf))
        return TermScores(by_class)

    # -- values --------------------------------------------------------------------------------------

    def _values(self, term: terms.TableTerm) -> TermScores:
        name, kind, known = self.cells.text(term.coding), kind_of(term.coding), self._storable(term.coding)
        values = [value_node(value, kind, self.dialect) for _, value in known]
        rows = [code for code, _ in known]
        rest = [self._otherwise(name, *scores[[0, -1]]) for scores in term.table.T]
        if len(known) * (len(rest) - 1) <= self.dialect.case_up_to:
            branches = [list(zip(values, map(self._double, scores[rows]), strict=True)) for scores in term.table.T]
            by_class = [
                syntax.case([(v.copy(), s) for v, s in of_class], other, of=cell(name)) if of_class else other
                for of_class, other in zip(branches, rest, strict=True)
            ]
            return TermScores(by_class, [], self._refusals(term.coding, name, None))
        keys: list[Value | None] = [value for _, value in known]
        if self.dialect.joins_missing:
            keys, rows, rest = [*keys, None], [*rows, 0], [*map(self._double, term.table[-1])]
        alias = self._look_up({"v": LookupKey(kind, keys)}, _class_columns(term.table[rows]))
        by_class = [syntax.first_known(syntax.column(alias, f"s{c}"), other) for c, other in enumerate(rest)]
        join = LookupJoin(alias, ("v",), (name,), self.dialect.joins_missing)
        return TermScores(by_class, [join], self._refusals(term.coding, name, alias))

    def _storable(self, coding: terms.Coding) -> list[tuple[int, Value]]:
        """Return (code, value) of the values that the database can store."""
        return [(i + 1, v) for i, v in enumerate(coding.values) if storable(v, self.dialect)]

    def _otherwise(self, name: str, missing: float, unseen: float) -> Node:
        if missing == unseen:
            return self._double(unseen)
        gap = (syntax.is_null(cell(name)), self._double(missing))
        return syntax.case([gap], self._double(unseen))

    def _double(self, x: float) -> Node:
        return double_literal(x, self.dialect)

    def _refusals(self, coding: terms.Coding, name: str, alias: str | None) -> list[Node]:
        """Return the condition that rejects unseen values, if they are rejected."""
        if not coding.refuses_unseen:
            return []
        there = exp.Not(this=syntax.is_null(cell(name)))
        if alias is not None:
            return [syntax.all_of([there, syntax.is_null(syntax.column(alias, "v"))])]
        kind = kind_of(coding)
        nodes = [value_node(value, kind, self.dialect) for _, value in self._storable(coding)]
        return [syntax.all_of([there, exp.Not(this=exp.In(this=cell(name), expressions=nodes))]) if nodes else there]

    # -- contexts ------------------------------------------------------------------------------------

    def _contexts(self, term: terms.ContextTerm) -> TermScores:
        """Join the tables of all levels; the longest context that was seen counts."""
        child, parents = self._code(term.coding), [self._code(parent) for parent in term.parents]
        joins, aliases = [], []
        for depth, level in enumerate(term.levels):
            alias = self._level(level)
            keys = ("v", *(f"p{d}" for d in range(depth)))
            joins.append(LookupJoin(alias, keys, (child, *parents[:depth])))
            aliases.append(alias)
        zero = self._double(0.0)
        by_class = [
            syntax.first_known(*(syntax.column(alias, f"s{c}") for alias in reversed(aliases)), zero.copy())
            for c in range(term.levels[0].tables.shape[2])
        ]
        there = syntax.compared(cell(child), ">", syntax.integer(0))
        gaps = [
            syntax.any_of([syntax.is_null(cell(p)), syntax.compared(cell(p), "<", syntax.integer(0))]) for p in parents
        ]
        refused: list[Node] = [syntax.all_of([there.copy(), gap]) for gap in gaps]
        if term.coding.refuses_unseen:
            refused.append(syntax.compared(cell(child), "=", syntax.integer(-1)))
        return TermScores(by_class, joins, refused)

    def _level(self, level: terms.ContextTables) -> str:
        n_contexts, n_values, n_classes = level.tables.shape
        keys = {"v": LookupKey("integer", np.tile(np.arange(1, n_values + 1), n_contexts).tolist())}
        keys |= {
            f"p{d}": LookupKey("integer", np.repeat(codes, n_values).tolist()) for d, codes in enumerate(level.codes.T)
        }
        return self._look_up(keys, _class_columns(level.tables.reshape(-1, n_classes)))

    def _code(self, coding: terms.Coding) -> str:
        """Return the name of a column's code: NULL if missing, −1 if unseen."""
        key = (coding.column, coding.cuts is None)
        if key not in self.codes:
            self.codes[key] = self._made_code(coding)
        return f"b{list(self.codes).index(key)}"

    def _made_code(self, coding: terms.Coding) -> tuple[Node, list[LookupJoin]]:
        if coding.cuts is not None:
            x = self.cells.number(coding.column)
            leaves = [syntax.integer(code) for code in range(1, coding.n_codes + 1)]
            return syntax.case(
                [(syntax.is_null(cell(x)), syntax.null())], syntax.interval(cell(x), coding.cuts, leaves)
            ), []
        name, kind, known = self.cells.text(coding), kind_of(coding), self._storable(coding)
        unseen = syntax.case([(syntax.is_null(cell(name)), syntax.null())], syntax.integer(-1))
        if len(known) <= self.dialect.case_up_to:
            pairs = [(value_node(value, kind, self.dialect), syntax.integer(code)) for code, value in known]
            return (syntax.case(pairs, unseen, of=cell(name)) if pairs else unseen), []
        codes, values = zip(*known, strict=True)
        alias = self._look_up({"v": LookupKey(kind, values), "code": LookupKey("integer", codes)}, {})
        return syntax.first_known(syntax.column(alias, "code"), unseen), [LookupJoin(alias, ("v",), (name,))]

    # -- words ---------------------------------------------------------------------------------------

    def words(self, term: terms.WordsTerm, alias: str) -> TermScores:
        """Return the expressions for the word sums of a document."""
        zero, by_class = self._double(0.0), []
        n_classes = term.weights.shape[1]
        for c in range(n_classes):
            score = syntax.column(alias, f"s{c}")
            if term.scale:
                power = syntax.called(
                    "POWER", syntax.cast(syntax.column(alias, "u"), "double"), self._double(-term.scale)
                )
                score = syntax.times(score, power)
            if term.present is not None:
                score = syntax.plus(score, self._double(term.present[c]))
            for part in () if term.shares is None else ("w", "m"):
                score = syntax.plus(score, self._share(alias, part, c))
            by_class.append(syntax.first_known(score, zero.copy()))
        return TermScores(by_class)

    def _share(self, alias: str, part: str, c: int) -> Node:
        """Return a sum over words divided by the document length, 0 for length 0."""
        square = syntax.column(alias, f"{part}q")
        share = syntax.over(syntax.column(alias, f"{part}{c}"), syntax.called("SQRT", square))
        there = syntax.compared(square.copy(), ">", self._double(0.0))
        return syntax.case([(there, share)], self._double(0.0))


def _class_columns(table: Floats) -> dict[str, Floats]:
    """Return the columns of scores of shape (n_rows, n_classes) by name."""
    return {f"s{c}": scores for c, scores in enumerate(table.T)}


Step = tuple[str, tuple[str, ...], Node]


@dataclass(frozen=True)
class WordTable:
    """Table with one row per document and word, tokenized as the model does.

    table: its name, as SQL writes it. word: the column with the word. count: that with the number of times it stands in
    the document; None where each row is one occurrence. keys: the columns that say which document it is, in the order
    of the query's keys; None where they have the same names.
    """

    table: str | tuple[str, ...]
    word: str = "word"
    count: str | None = None
    keys: tuple[str, ...] | None = None


def word_tables(words: Any, texts: Sequence[str]) -> dict[str, WordTable]:
    """Return the word table of each text column.

    >>> word_tables("words", ["review"])["review"].word
    'word'
    """
    if words is None:
        return {}
    given = words if isinstance(words, Mapping) else dict.fromkeys(texts[:1], words)
    if not isinstance(words, Mapping) and len(texts) != 1:
        raise BayesError(
            f"words={words!r}: the model reads {len(texts)} columns of text"
            + (f", name a table for each of {', '.join(texts)}" if texts else "")
        )
    if unknown := [name for name in given if name not in texts]:
        raise BayesError(f"words= names {unknown[0]!r}, which is not text of the model")
    return {name: table if isinstance(table, WordTable) else WordTable(table) for name, table in given.items()}


def word_sums(term: terms.WordsTerm, alias: str, words: WordTable, keys: Sequence[str], dialect: Dialect) -> list[Step]:
    """Return the steps that sum words; the last one has the sums of each document."""
    theirs = tuple(words.keys or keys)
    names = [f"k{i}" for i in range(len(keys))]
    n_classes = term.weights.shape[1]
    table, bags = f"{alias}_words", f"{alias}_bags"
    known = [i for i, word in enumerate(term.words) if storable(word, dialect)]
    scores = {f"s{c}": term.weights[known, c] for c in range(n_classes)}
    if term.repeats is not None:
        scores |= {f"r{c}": term.repeats[known, c] for c in range(n_classes)}
    if term.shares is not None:
        single = np.where(term.shares.runs, 0.0, 1.0)[known]
        for part, is_in in (("w", single), ("m", 1.0 - single)):
            scores |= {f"{part}{c}": is_in * term.shares.scores[known, c] for c in range(n_classes)}
            scores[f"{part}q"] = is_in * term.shares.lengths[known]
    lookup = Lookup({"v": LookupKey("text", [term.words[i] for i in known])}, scores)
    steps: list[Step] = [(table, lookup.columns, lookup.body(dialect))]

    word = dialect.text(syntax.column("w", words.word))
    n = exp.Count(this=exp.Star()) if words.count is None else exp.Sum(this=syntax.column("w", words.count))
    chosen = [syntax.named(syntax.column("w", key), name) for key, name in zip(theirs, names, strict=True)]
    bag = exp.Select(expressions=[*chosen, syntax.named(word, "word"), syntax.named(syntax.cast(n, "double"), "n")])
    bag = bag.from_(syntax.table_name(words.table, "w"))
    bag.set("group", exp.Group(expressions=[*(syntax.column("w", key) for key in theirs), word.copy()]))
    steps.append((bags, (), bag))

    sums = [syntax.named(syntax.column("g", name), name) for name in names]
    sums += [syntax.named(exp.Sum(this=_word_score(term, c, table, dialect)), f"s{c}") for c in range(n_classes)]
    sums.append(syntax.named(exp.Count(this=exp.Star()), "u"))
    if term.shares is not None:
        sums += [syntax.named(exp.Sum(this=node), name) for name, node in _shares(n_classes, table, dialect).items()]
    select = exp.Select(expressions=sums).from_(syntax.table_name((bags,), "g"))
    on = syntax.compared(syntax.column("g", "word"), "=", syntax.column(table, "v"))
    select = select.join(syntax.table_name((table,)), on=on, join_type="inner", copy=False)
    select.set("where", exp.Where(this=syntax.compared(syntax.column("g", "n"), ">", double_literal(0.0, dialect))))
    select.set("group", exp.Group(expressions=[syntax.column("g", name) for name in names]))
    steps.append((alias, (), select))
    return steps


def _shares(n_classes: int, table: str, dialect: Dialect) -> dict[str, Node]:
    """Return what one word adds to the sums of words (w), n-grams (m) and squared lengths."""
    by = syntax.plus(double_literal(1.0, dialect), syntax.called("LN", syntax.column("g", "n")))
    added: dict[str, Node] = {}
    for part in ("w", "m"):
        for c in range(n_classes):
            added[f"{part}{c}"] = syntax.times(by.copy(), syntax.column(table, f"{part}{c}"))
        length = syntax.times(by.copy(), syntax.column(table, f"{part}q"))
        added[f"{part}q"] = syntax.times(length, length.copy())
    return added


def _word_score(term: terms.WordsTerm, c: int, table: str, dialect: Dialect) -> Node:
    """Return what one word adds to the score of a class."""
    weight = syntax.column(table, f"s{c}")
    if term.repeats is not None:
        log_n = syntax.called("LN", syntax.column("g", "n"))
        once = syntax.times(syntax.plus(double_literal(1.0, dialect), log_n), weight)
        return syntax.plus(once, syntax.times(log_n.copy(), syntax.column(table, f"r{c}")))
    return weight if term.presence else syntax.times(syntax.column("g", "n"), weight)

"""Terms of a scoring form as SQL expressions, one per class, with the tables to join.

If no probability is zero, scores are taken relative to the first class, which saves the work of one class:

    P(c) ∝ exp(z_c) = exp(z_0) · exp(z_c − z_0)

A difference of normal densities is a polynomial in the number, written around a center near the means. If a mean is too
many deviations away from the center, digits would cancel, and the difference stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bayeskit.data.io import sql_syntax as syntax
from bayeskit.data.io.sql_syntax import Dialect, Node, exp
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError
from bayeskit.export.scoring_form import (
    Coding,
    ContextTables,
    ContextTerm,
    LinearTerm,
    QuadraticTerm,
    ScoringForm,
    TableTerm,
    Term,
    WordsTerm,
)
from bayeskit.export.sql_lookups import (
    CellReader,
    Lookup,
    LookupKey,
    Lookups,
    double_literal,
    kind_of,
    storable,
    value_node,
)
from bayeskit.typing import Floats

APART = 100.0  # nats between a mean and the center; differences then keep thirteen decimals


@dataclass(frozen=True, eq=False)
class PolynomialTerm(Term):
    """Polynomial score: constant_c + linear_c (x − center) + square_c (x − center)², each (n_classes,)."""

    center: float
    constant: Floats
    linear: Floats
    square: Floats


def relative_form(form: ScoringForm) -> ScoringForm:
    """Return the form with scores relative to the first class."""
    terms: tuple[Any, ...] = tuple(map(_relative_term, form.terms))
    return replace(form, base=form.base - form.base[0], terms=terms)


def _relative_term(term: Any) -> Any:
    if isinstance(term, TableTerm):
        return replace(term, table=term.table - term.table[:, :1])
    if isinstance(term, LinearTerm):
        return replace(term, slope=term.slope - term.slope[0], present=term.present - term.present[0])
    if isinstance(term, ContextTerm):
        levels = (ContextTables(level.codes, level.tables - level.tables[:, :, :1]) for level in term.levels)
        return replace(term, levels=tuple(levels))
    if isinstance(term, WordsTerm):
        repeats, present = (None if part is None else part - part[..., :1] for part in (term.repeats, term.present))
        shares = term.shares and replace(term.shares, scores=term.shares.scores - term.shares.scores[:, :1])
        weights = term.weights - term.weights[:, :1]
        return replace(term, weights=weights, repeats=repeats, present=present, shares=shares)
    return _polynomial(term)


def _polynomial(term: QuadraticTerm) -> PolynomialTerm | QuadraticTerm:
    center, half = float(term.mean.mean()), 0.5 * term.precision
    apart = term.mean - center
    if (half * apart**2).max() > APART:
        return term
    constant = term.constant - half * apart**2
    linear, square = 2 * half * apart, -half
    return PolynomialTerm(term.name, center, *(part - part[0] for part in (constant, linear, square)))


CELLS = "r"  # alias of the cells in later steps


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
        self.dialect, self.cells, self.lookups = dialect, cells, Lookups(prefix)
        # Codes of columns, computed in a step between cells and scores.
        self.codes: dict[tuple[str, bool], tuple[Node, list[LookupJoin]]] = {}

    def write(self, term: TableTerm | PolynomialTerm | QuadraticTerm | LinearTerm | ContextTerm) -> TermScores:
        """Return the expressions of a term."""
        if isinstance(term, TableTerm):
            return self._intervals(term) if term.coding.cuts is not None else self._values(term)
        if isinstance(term, PolynomialTerm):
            return self._polynomial(term)
        if isinstance(term, QuadraticTerm):
            return self._quadratic(term)
        return self._linear(term) if isinstance(term, LinearTerm) else self._contexts(term)

    # -- numbers -------------------------------------------------------------------------------------

    def _polynomial(self, term: PolynomialTerm) -> TermScores:
        x = self.cells.number(term.name, term.center)
        by_class = []
        for of_class in zip(term.constant, term.linear, term.square, strict=True):
            powers = zip(of_class, (f"{x}_0", x, f"{x}_2"), strict=True)
            parts = [syntax.times(self._double(by), cell(power)) for by, power in powers if by]
            by_class.append(syntax.total(parts) if parts else self._double(0.0))
        return TermScores(by_class)

    def _quadratic(self, term: QuadraticTerm) -> TermScores:
        x, zero = self.cells.number(term.name), self._double(0.0)
        by_class = []
        for mean, half, constant in zip(term.mean, 0.5 * term.precision, term.constant, strict=True):
            away = syntax.minus(cell(x), self._double(mean))
            square = syntax.times(self._double(half), syntax.times(away, away.copy()))
            by_class.append(syntax.minus(self._double(constant), square))
        first = by_class[0]
        relative = [zero] + [syntax.minus(density, first.copy()) for density in by_class[1:]]
        return TermScores([syntax.first_known(node, zero.copy()) for node in relative])

    def _linear(self, term: LinearTerm) -> TermScores:
        x, zero = self.cells.number(term.name), self._double(0.0)
        by_class = []
        for slope, present in zip(term.slope, term.present, strict=True):
            away = syntax.minus(cell(x), self._double(term.center))
            there = syntax.times(self._double(slope), away)
            there = syntax.plus(self._double(present), there) if present else there
            by_class.append(syntax.first_known(there, zero.copy()))
        return TermScores(by_class)

    def _intervals(self, term: TableTerm) -> TermScores:
        x, cuts = self.cells.number(term.coding.column), term.coding.cuts or ()
        by_class = []
        for scores in term.table.T:
            leaves = [self._double(score) for score in scores[1:-1]]
            leaf = syntax.interval(cell(x), cuts, leaves)
            missing = (syntax.is_null(cell(x)), self._double(scores[0]))
            by_class.append(syntax.case([missing], leaf))
        return TermScores(by_class)

    # -- values --------------------------------------------------------------------------------------

    def _values(self, term: TableTerm) -> TermScores:
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
        alias = self.lookups.add(Lookup({"v": LookupKey(kind, keys)}, _class_columns(term.table[rows])))
        by_class = [syntax.first_known(syntax.column(alias, f"s{c}"), other) for c, other in enumerate(rest)]
        join = LookupJoin(alias, ("v",), (name,), self.dialect.joins_missing)
        return TermScores(by_class, [join], self._refusals(term.coding, name, alias))

    def _storable(self, coding: Coding) -> list[tuple[int, Value]]:
        """Return (code, value) of the values that the database can store."""
        return [(i + 1, v) for i, v in enumerate(coding.values) if storable(v, self.dialect)]

    def _otherwise(self, name: str, missing: float, unseen: float) -> Node:
        if missing == unseen:
            return self._double(unseen)
        gap = (syntax.is_null(cell(name)), self._double(missing))
        return syntax.case([gap], self._double(unseen))

    def _double(self, x: float) -> Node:
        return double_literal(x, self.dialect)

    def _refusals(self, coding: Coding, name: str, alias: str | None) -> list[Node]:
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

    def _contexts(self, term: ContextTerm) -> TermScores:
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
        there = syntax.compared(cell(child), ">", syntax.whole(0))
        gaps = [
            syntax.any_of([syntax.is_null(cell(p)), syntax.compared(cell(p), "<", syntax.whole(0))]) for p in parents
        ]
        refused: list[Node] = [syntax.all_of([there.copy(), gap]) for gap in gaps]
        if term.coding.refuses_unseen:
            refused.append(syntax.compared(cell(child), "=", syntax.whole(-1)))
        return TermScores(by_class, joins, refused)

    def _level(self, level: ContextTables) -> str:
        n_contexts, n_values, n_classes = level.tables.shape
        keys = {"v": LookupKey("integer", np.tile(np.arange(1, n_values + 1), n_contexts).tolist())}
        keys |= {
            f"p{d}": LookupKey("integer", np.repeat(codes, n_values).tolist()) for d, codes in enumerate(level.codes.T)
        }
        return self.lookups.add(Lookup(keys, _class_columns(level.tables.reshape(-1, n_classes))))

    def _code(self, coding: Coding) -> str:
        """Return the name of a column's code: NULL if missing, −1 if unseen."""
        key = (coding.column, coding.cuts is None)
        if key not in self.codes:
            self.codes[key] = self._made_code(coding)
        return f"b{list(self.codes).index(key)}"

    def _made_code(self, coding: Coding) -> tuple[Node, list[LookupJoin]]:
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
        alias = self.lookups.add(Lookup({"v": LookupKey(kind, values), "code": LookupKey("integer", codes)}, {}))
        return syntax.first_known(syntax.column(alias, "code"), unseen), [LookupJoin(alias, ("v",), (name,))]

    # -- words ---------------------------------------------------------------------------------------

    def words(self, term: WordsTerm, alias: str) -> TermScores:
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
        raise BayesError(f"words= names {unknown[0]!r}, which is no text of the model")
    return {name: table if isinstance(table, WordTable) else WordTable(table) for name, table in given.items()}


def word_sums(term: WordsTerm, alias: str, words: WordTable, keys: Sequence[str], dialect: Dialect) -> list[Step]:
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


def _word_score(term: WordsTerm, c: int, table: str, dialect: Dialect) -> Node:
    """Return what one word adds to the score of a class."""
    weight = syntax.column(table, f"s{c}")
    if term.repeats is not None:
        log_n = syntax.called("LN", syntax.column("g", "n"))
        once = syntax.times(syntax.plus(double_literal(1.0, dialect), log_n), weight)
        return syntax.plus(once, syntax.times(log_n.copy(), syntax.column(table, f"r{c}")))
    return weight if term.presence else syntax.times(syntax.column("g", "n"), weight)

"""Export to SQL: one query that scores the rows of a table.

The steps are common table expressions: cells, codes, scores, the best score, powers and probabilities. Where a database
would compute a step's columns again at each use, the step is materialized (nested subqueries were forty times slower on
PostgreSQL).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit.data.io import sql_syntax as syntax
from bayeskit.data.io.sql_syntax import Dialect, Node, as_dialect, exp
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError
from bayeskit.export import sql_terms
from bayeskit.export.names import PREDICTED, probability_names, result_names
from bayeskit.export.scoring_form import ContextTerm, ScoringForm, TableTerm, WordsTerm
from bayeskit.export.sql_terms import CellReader, LookupJoin, TermScores, TermWriter, WordTable, cell, double_literal
from bayeskit.tolerance import TIE


def check_keys(keys: str | Sequence[str] | None, dialect: Dialect) -> tuple[str, ...]:
    """Check the key columns; at least one is needed since query results have no order."""
    given = (keys,) if isinstance(keys, str) else tuple(keys or ())
    if not given:
        raise BayesError("keys=: name the columns that say which row it is, since the rows of a query have no order")
    if twice := [key for i, key in enumerate(given) if key.casefold() in {k.casefold() for k in given[:i]}]:
        raise BayesError(f"keys= names {twice[0]!r} twice")
    if len(long := max(given, key=lambda key: len(key.encode())).encode()) > dialect.longest_name:
        raise BayesError(f"key {long.decode()!r} is longer than a name of {dialect.title} can be")
    return given


@dataclass(frozen=True)
class ScoringQuery:
    """SQL query that scores every row of a table.

    query: the SQL. dialect: of which database. keys: the columns that say which row it is.
    predicted: the column with the class. probabilities: for each class the column with P(class | row).
    evidence: for each column of the model the column with its log odds of the predicted class against ``against``, the
    runner-up; empty unless asked for. A row that the model refuses, such as one with an infinite number, has NULL in
    all of them.
    """

    query: str
    dialect: str
    keys: tuple[str, ...]
    predicted: str
    probabilities: Mapping[Value, str]
    evidence: Mapping[str, str]
    against: str | None = None

    def __str__(self) -> str:
        return self.query

    def __repr__(self) -> str:
        return f"<ScoringQuery in {self.dialect}: {len(self.query):,} characters, .query>"


STEPS = ("cells", "centered", "codes", "scores", "best", "powers", "sums", "l", "w")  # prefixes of step names
VANISHES = -700.0  # exp of this is 1e-304; PostgreSQL raises an error on underflow


def scoring_query(
    form: ScoringForm,
    table: str | Sequence[str],
    dialect: str,
    keys: str | Sequence[str] | None,
    columns: Mapping[str, str] | None = None,
    evidence: bool = False,
    words: Mapping[str, WordTable] | None = None,
) -> ScoringQuery:
    """Return the query that scores the rows of a table."""
    of = as_dialect(dialect)
    named = dict(columns or {})
    if unknown := [name for name in named if name not in form.columns]:
        raise BayesError(
            f"columns= names {unknown[0]!r}, which the model does not read (it reads: {', '.join(form.columns)})",
        )
    if alike := of.one_to_it(dict.fromkeys(named.get(name, name) for name in form.columns)):
        raise BayesError(
            f"{of.title} takes {' and '.join(map(repr, alike))} for one column: say by columns= what each is called in "
            "the table"
        )
    if evidence and len(form.classes) < 2:
        raise BayesError("there is one class only: there are no odds to give as evidence")
    shift = len(form.classes) > 1 and not can_be_impossible(form)
    form = sql_terms.relative_form(form) if shift else form
    return _QueryBuilder(form, of, table, check_keys(keys, of), named, evidence, words or {}, shift).record()


@dataclass
class _QueryBuilder:
    form: ScoringForm
    dialect: Dialect
    table: str | Sequence[str]
    keys: tuple[str, ...]
    columns: Mapping[str, str]
    evidence: bool
    words: Mapping[str, WordTable]
    is_relative: bool = False  # scores are relative to the first class
    steps: list[tuple[str, tuple[str, ...], Node]] = field(default_factory=list)

    def record(self) -> ScoringQuery:
        form = self.form
        names = probability_names(form.classes)
        term_names = [term.name for term in form.terms] if self.evidence else []
        parts = result_names("evidence_", term_names)
        taken = {name.casefold() for name in (PREDICTED, *names, *parts, *(["against"] if term_names else []))}
        if clash := [key for key in self.keys if key.casefold() in taken]:
            raise BayesError(f"the query gives a column {clash[0]!r} itself: rename the key, in a view for instance")
        evidence = dict(zip(term_names, parts, strict=True))
        query = self.dialect.sql(self._query(names, evidence))
        columns = PREDICTED, dict(zip(form.classes, names, strict=True)), evidence
        return ScoringQuery(query, self.dialect.name, self.keys, *columns, "against" if self.evidence else None)

    # -- steps ---------------------------------------------------------------------------------------

    def _query(self, names: list[str], parts: Mapping[str, str]) -> Node:
        cells = CellReader(self.dialect, self.columns)
        writer = TermWriter(self.dialect, cells, self.prefix)
        scores = [self._scores(writer, term, i) for i, term in enumerate(self.form.terms)]
        for alias, table in writer.lookups.items():
            self.steps.append((alias, table.columns, table.body(self.dialect)))
        last = self._centered(cells, self._cells(cells))
        last = self._codes(writer, last)
        last = self._sums(scores, last, [*cells.read, *(f"b{i}" for i in range(len(writer.codes)))], parts)
        last = self._best(last, parts)
        final = self._probabilities(last, names, parts)
        return self._with_steps(final)

    def _with_steps(self, final: Node) -> Node:
        tables = []
        for alias, columns, body in self.steps:
            named = exp.TableAlias(this=syntax.name(alias), columns=[syntax.name(c) for c in columns])
            written = self.dialect.materializes and (isinstance(body, exp.Values) or not self.dialect.fences)
            if self.dialect.fences and isinstance(body, exp.Select):
                body.set("offset", exp.Offset(expression=syntax.integer(0)))
            tables.append(exp.CTE(this=body, alias=named, materialized=True if written else None))
        final.set("with_", exp.With(expressions=tables))
        return final

    def _step(self, alias: str, select: Node) -> str:
        alias = self.prefix + alias
        if self.dialect.columns is not None and (n := len(select.expressions)) > self.dialect.columns:
            raise BayesError(
                f"the query has a step of {n:,} columns, and {self.dialect.title} takes {self.dialect.columns:,}",
                hint="fit on fewer columns or classes, or score in bayeskit or another database",
            )
        self.steps.append((alias, (), select))
        return alias

    @cached_property
    def prefix(self) -> str:
        """Prefix of the step names, so that none is the name of a table that is read."""
        tables = [self.table, *(words.table for words in self.words.values())]
        names = [
            str(part).strip('"').casefold() for t in tables for part in (t.split(".") if isinstance(t, str) else t)
        ]
        prefix = ""
        while any(name.startswith(prefix + step) for name in names for step in STEPS):
            prefix += "_"
        return prefix

    def _scores(self, writer: TermWriter, term: Any, position: int) -> TermScores:
        if not isinstance(term, WordsTerm):
            return writer.write(term)
        if term.name not in self.words:
            raise BayesError(
                f"column {term.name!r} is text, and a query has no words: give words=, a table that has them"
            )
        alias = f"{self.prefix}w{position}"
        self.steps += sql_terms.word_sums(term, alias, self.words[term.name], self.keys, self.dialect)
        scores = writer.words(term, alias)
        joined = tuple(f"k{i}" for i in range(len(self.keys)))
        scores.joins.append(LookupJoin(alias, joined, joined))
        return scores

    def _cells(self, cells: CellReader) -> str:
        columns = [
            syntax.named(syntax.column(sql_terms.ROWS, key), f"k{i}", f"key {key}") for i, key in enumerate(self.keys)
        ]
        columns += [syntax.named(node, name, cells.remarks[name]) for name, node in cells.read.items()]
        if (condition := cells.refusal()) is not None:
            columns.append(
                syntax.named(syntax.case([(condition, syntax.integer(1))], syntax.integer(0)), "bad", "refused")
            )
            cells.read["bad"] = None
        return self._step("cells", exp.Select(expressions=columns).from_(syntax.table_name(self.table, sql_terms.ROWS)))

    def _centered(self, cells: CellReader, last: str) -> str:
        """Add centered numbers and their squares."""
        if not cells.centered:
            return last
        columns = _passed_on([*self._key_names(), *cells.read])
        columns += [syntax.named(node, name) for name, node in cells.centered.items()]
        cells.read.update(dict.fromkeys(cells.centered))
        return self._step("centered", self._joined(columns, last, ()))

    def _codes(self, writer: TermWriter, last: str) -> str:
        """Add codes of columns that are looked up with their parents."""
        if not writer.codes:
            return last
        made = list(writer.codes.values())
        columns = _passed_on([*self._key_names(), *writer.cells.read])
        columns += [syntax.named(node, f"b{i}") for i, (node, _) in enumerate(made)]
        joins = [join for _, joins in made for join in joins]
        if len(joins) > self.dialect.joins:
            raise BayesError(
                f"{len(joins)} columns with over {self.dialect.case_up_to} values each are more tables than "
                f"{self.dialect.title} joins"
            )
        return self._step("codes", self._joined(columns, last, joins))

    def _joined(self, columns: list[Node], last: str, joins: Sequence[LookupJoin]) -> Node:
        select = exp.Select(expressions=columns).from_(syntax.table_name((last,), sql_terms.CELLS))
        for join in joins:
            sign, pairs = "is" if join.missing else "=", zip(join.keys, join.cells, strict=True)
            same = [syntax.compared(cell(theirs), sign, syntax.column(join.alias, ours)) for ours, theirs in pairs]
            table = syntax.table_name((join.alias,))
            select = select.join(table, on=syntax.all_of(same), join_type="left", copy=False)
        return select

    def _sums(self, scores: Sequence[TermScores], last: str, cells: list[str], parts: Mapping[str, str]) -> str:
        """Add the scores of each class, some terms at a time because joins are limited."""
        groups = list(_group_terms(scores, self.dialect.joins))
        n_classes = len(self.form.classes)
        for i, group in enumerate(groups):
            columns = _passed_on(self._key_names())
            if i < len(groups) - 1:
                columns += _passed_on(cells)
            for c in range(n_classes):
                before = self._double(self.form.base[c]) if i == 0 else cell(f"z{c}")
                if i == 0 and not self.dialect.casts_literals:
                    before = syntax.cast(before, "double")
                added = [] if self.is_relative and c == 0 else [part.by_class[c] for _, part in group]
                summed = syntax.total([before, *added])
                refused = [node for _, part in group for node in part.refused] if c == 0 else []
                if c == 0 and i == 0 and "bad" in cells:
                    refused.append(syntax.compared(cell("bad"), "=", syntax.integer(1)))
                if refused:
                    summed = syntax.case([(syntax.any_of(refused), syntax.null())], summed)
                columns.append(syntax.named(summed, f"z{c}", f"score of {self.form.classes[c]}"))
            if parts:
                before_parts = [f"e{t}_{c}" for other in groups[:i] for t, _ in other for c in range(n_classes)]
                columns += _passed_on(before_parts)
                columns += [
                    syntax.named(node.copy(), f"e{t}_{c}") for t, part in group for c, node in enumerate(part.by_class)
                ]
            joins = [join for _, part in group for join in part.joins]
            last = self._step(f"scores{i or ''}", self._joined(columns, last, joins))
        return last

    def _double(self, x: float) -> Node:
        return double_literal(x, self.dialect)

    def _key_names(self) -> list[str]:
        return [f"k{i}" for i in range(len(self.keys))]

    def _passed(self, parts: Mapping[str, str]) -> list[str]:
        n = len(self.form.classes)
        evidence = [f"e{t}_{c}" for t in range(len(parts)) for c in range(n)]
        return [*self._key_names(), *(f"z{c}" for c in range(n)), *evidence]

    def _best(self, last: str, parts: Mapping[str, str]) -> str:
        n = len(self.form.classes)
        columns = _passed_on(self._passed(parts))
        scores = [cell(f"z{c}") for c in range(n)]
        best = self.dialect.largest(scores)
        columns.append(
            syntax.named(syntax.case([(syntax.is_null(cell("z0")), syntax.null())], best), "m", "best score")
        )
        return self._step("best", self._joined(columns, last, ()))

    def _least(self) -> Node:
        """Return the threshold for a tie with the best score."""
        largest = syntax.called(self.dialect.greatest, self._double(1.0), syntax.called("ABS", cell("m")))
        return syntax.minus(cell("m"), syntax.times(self._double(TIE), largest))

    def _probabilities(self, last: str, names: list[str], parts: Mapping[str, str]) -> Node:
        n = len(self.form.classes)
        columns = [syntax.named(cell(name), name) for name in self._passed(parts) if parts or name[0] == "k"]
        labels = self.form.classes
        columns += [syntax.named(self._power(c), f"q{c}", f"relative probability of {labels[c]}") for c in range(n)]
        columns.append(syntax.named(self._chosen(), "a", "position of the predicted class"))
        last = self._step("powers", self._joined(columns, last, ()))
        scores = self._passed(parts)[len(self.keys) :] if parts else ()
        columns = _passed_on([*self._key_names(), "a", *(f"q{c}" for c in range(n)), *scores])
        columns.append(syntax.named(syntax.total(cell(f"q{c}") for c in range(n)), "s", "their sum"))
        if parts:
            columns.append(syntax.named(self._runner_up(), "b", "position of the runner-up"))
        last = self._step("sums", self._joined(columns, last, ()))
        columns = [syntax.named(cell(f"k{i}"), key) for i, key in enumerate(self.keys)]
        columns.append(syntax.named(self._class_of("a"), "predicted"))
        columns += [syntax.named(syntax.over(cell(f"q{c}"), cell("s")), name) for c, name in enumerate(names)]
        if parts:
            columns.append(syntax.named(self._class_of("b"), "against"))
            columns += [syntax.named(self._part(t), name) for t, name in enumerate(parts.values())]
        return self._joined(columns, last, ())

    def _power(self, c: int) -> Node:
        """Return exp((z − m) / T), or the prior if every class is impossible."""
        form, away = self.form, syntax.minus(cell(f"z{c}"), cell("m"))
        tempered = away if form.temperature == 1 else syntax.over(away, self._double(form.temperature))
        branches = []
        if can_be_impossible(form):
            instead = syntax.null() if form.prior is None else self._double(form.prior[c])
            branches.append((syntax.compared(cell("m"), "=", self.dialect.minus_infinity()), instead))
        if self.dialect.refuses_underflow:
            vanishes = syntax.compared(tempered.copy(), "<", self._double(VANISHES))
            branches.append((vanishes, self._double(0.0)))
        power = syntax.called("EXP", tempered)
        return syntax.case(branches, power) if branches else power

    def _chosen(self) -> Node:
        """Return the position of the first class within a tie of the best."""
        form, n = self.form, len(self.form.classes)
        branches = []
        if can_be_impossible(form):
            instead = syntax.null() if form.refuses_undecidable else syntax.integer(_fallback_class(form))
            branches.append((syntax.compared(cell("m"), "=", self.dialect.minus_infinity()), instead))
        least = self._least()
        branches += [(syntax.compared(cell(f"z{c}"), ">=", least.copy()), syntax.integer(c)) for c in range(n)]
        return syntax.case(branches)

    def _runner_up(self) -> Node:
        """Return the position of the best other class."""
        n = len(self.form.classes)
        others = []
        for c in range(n):
            is_predicted = syntax.compared(cell("a"), "=", syntax.integer(c))
            others.append(syntax.case([(is_predicted, self.dialect.minus_infinity())], cell(f"z{c}")))
        best = self.dialect.largest(others)
        branches = []
        for c in range(n):
            is_best = syntax.compared(cell(f"z{c}"), "=", best.copy())
            is_other = syntax.compared(cell("a"), "<>", syntax.integer(c))
            branches.append((syntax.all_of([is_other, is_best]), syntax.integer(c)))
        return syntax.case(branches)

    def _part(self, term: int) -> Node:
        """Return the log odds of one term for the predicted class against the runner-up."""
        n = len(self.form.classes)
        of = [[(syntax.integer(c), cell(f"e{term}_{c}")) for c in range(n)] for _ in range(2)]
        odds = syntax.minus(syntax.case(of[0], of=cell("a")), syntax.case(of[1], of=cell("b")))
        return odds if self.form.temperature == 1 else syntax.over(odds, self._double(self.form.temperature))

    def _class_of(self, position: str) -> Node:
        labels = [_label(label, self.form.classes, self.dialect) for label in self.form.classes]
        return syntax.case([(syntax.integer(c), label) for c, label in enumerate(labels)], of=cell(position))


def _passed_on(names: Iterable[str]) -> list[Node]:
    """Select cells of the step before under the same names."""
    return [syntax.named(cell(name), name) for name in names]


def _group_terms(scores: Sequence[TermScores], joins: int) -> Iterator[list[tuple[int, TermScores]]]:
    """Group terms so that each group needs no more joins than the database allows."""
    group: list[tuple[int, TermScores]] = []
    size = 0
    for i, part in enumerate(scores):
        cost = max(len(part.joins), 1)
        if group and size + cost > joins:
            yield group
            group, size = [], 0
        group.append((i, part))
        size += cost
    yield group


def can_be_impossible(form: ScoringForm) -> bool:
    """Return True if some class can have probability zero."""
    tables: list[Any] = [form.base]
    for term in form.terms:
        if isinstance(term, TableTerm):
            tables.append(term.table)
        elif isinstance(term, ContextTerm):
            tables += [level.tables for level in term.levels]
        elif isinstance(term, WordsTerm):
            tables.append(term.weights)
    return any(bool(np.isneginf(table).any()) for table in tables)


def _fallback_class(form: ScoringForm) -> int:
    """Return the class of a row that is impossible under all classes: by the prior, or the first."""
    if form.prior is None:
        return 0
    with np.errstate(divide="ignore"):
        scores = np.log(form.prior)
    best = scores.max()
    return int(np.argmax(scores >= best - TIE * max(1.0, abs(best))))


def _label(label: Value, classes: Sequence[Value], dialect: Dialect) -> Node:
    if isinstance(label, str):
        if not dialect.nul_in_text and "\x00" in label:
            raise BayesError(f"class {label!r} holds a NUL, which no text of {dialect.title} can")
        return syntax.text(label, dialect)
    if isinstance(label, bool) and all(isinstance(c, bool) for c in classes):
        return dialect.truth(label)
    if any(isinstance(c, float) and not c.is_integer() for c in classes):
        return syntax.cast(syntax.number(float(label)), "double")
    if dialect.typed_cells and not sql_terms.in_64_bits(label):  # SQLite would store it as a double
        raise BayesError(f"class {label!r} is beyond the whole numbers of {dialect.title}")
    return syntax.integer(int(label))

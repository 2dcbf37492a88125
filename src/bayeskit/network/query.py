"""Query language: ``P(event | condition)`` over columns and their values.

    query      = "P" "(" statement [ "|" statement ] ")"
               | "P" "(" name [ "|" statement ] ")"           of each value, where the column is not boolean
               | "E" "(" name [ "|" statement ] ")"           the mean of a column of numbers
    statement  = term { ( "and" | "or" | "," ) term }      "not" binds closest, then "and", "or", and "," (an "and")
    term       = "not" term | "(" statement ")" | comparison
    comparison = name ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) value
               | name [ "not" ] "in" "{" value { "," value } "}"
               | name "is" [ "not" ] "missing"
               | name                                        a boolean column that is true

Names and values are plain words or stand in quotes, double or single. Nothing is ever evaluated as Python; a statement
is a tree of three kinds of nodes. Its length is not limited; at most 1,000 parentheses
stand within one another.

>>> question = parse('P(wealth = rich | gender = female and hours_worked = ">40.5")')
>>> question.event.column, question.condition.kind, question.columns
('wealth', 'and', ['wealth', 'gender', 'hours_worked'])
>>> parse("P(wealth = | gender = female)")
Traceback (most recent call last):
...
bayeskit.errors.QueryError: a value is expected here, at character 12:
    P(wealth = | gender = female)
               ^

Formula: the query language, and when a statement holds
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import eq, ge, gt, le, lt, ne
from typing import Literal, NamedTuple

import numpy as np

from bayeskit.data.vocabulary import Value
from bayeskit.errors import QueryError
from bayeskit.nearest import nearest
from bayeskit.typing import Array, Bools

COMPARE = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
COMPARISONS = {operator: operator for operator in COMPARE} | {"==": "=", "≠": "!=", "≤": "<=", "≥": ">="}
MOST_OPEN = 1_000  # parentheses within one another
BINDS = {",": 1, "or": 2, "and": 3, "not": 4}
TOKEN = re.compile(
    r"""\s*(?: (?P<text> "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' )
          | (?P<sign> <= | >= | != | == | [≠≤≥=<>(){}|,] )
          | (?P<word> [^\s"'(){}|,=<>!≠≤≥]+ ) )""",
    re.VERBOSE | re.DOTALL,
)


class QueryToken(NamedTuple):
    """Token of a query or a file: content, kind ("text", "sign", "word" or "end") and position."""

    content: str
    kind: str
    at: int

    def is_(self, *words: str) -> bool:
        return self.kind != "text" and (self.content.lower() if self.kind == "word" else self.content) in words


IS_MISSING = ("missing", "not missing")


class Statement:
    """Event or condition: a comparison, a junction or a negation."""

    def leaves(self) -> Iterator[ColumnComparison]:
        """Yield the comparisons of a statement in order."""
        waiting: list[Statement] = [self]
        while waiting:
            one = waiting.pop()
            if isinstance(one, ColumnComparison):
                yield one
            elif isinstance(one, Negation):
                waiting.append(one.part)
            elif isinstance(one, Junction):
                waiting.extend(reversed(one.parts))

    def evaluate(self, leaf: Callable[[ColumnComparison], Bools]) -> Bools:
        """Evaluate a statement from the masks of its comparisons, without recursion."""
        work: list[Statement | str] = [self]
        held: list[Bools] = []
        while work:
            one = work.pop()
            if isinstance(one, ColumnComparison):
                held.append(leaf(one))
            elif isinstance(one, Negation):
                work += ["not", one.part]
            elif isinstance(one, Junction):
                for part in reversed(one.parts[1:]):
                    work += [one.kind, part]
                work.append(one.parts[0])
            elif one == "not":
                held[-1] = ~held[-1]
            else:
                last = held.pop()
                held[-1] = held[-1] & last if one == "and" else held[-1] | last
        return held[0]

    def conjuncts(self) -> list[Statement]:
        """Split a statement into conjuncts."""
        waiting: list[tuple[Statement, bool]] = [(self, False)]
        parts: list[Statement] = []
        while waiting:
            one, flip = waiting.pop()
            if isinstance(one, Negation):
                waiting.append((one.part, not flip))
            elif isinstance(one, Junction) and (one.kind == "and") != flip:
                waiting.extend((part, flip) for part in reversed(one.parts))
            else:
                parts.append(Negation(one) if flip else one)
        return parts


@dataclass(frozen=True, eq=False, repr=False)
class ColumnComparison(Statement):
    """Comparison ``column op values``.

    ``op`` is "in", "not in", "true" (the name alone), one of IS_MISSING, or a comparison with one value.
    """

    column: str
    op: str
    values: tuple[QueryToken, ...]
    at: int


@dataclass(frozen=True, eq=False, repr=False)
class Junction(Statement):
    """Statements joined by "and" or "or"."""

    kind: Literal["and", "or"]
    parts: list[Statement]


@dataclass(frozen=True, eq=False, repr=False)
class Negation(Statement):
    """Negation of a statement."""

    part: Statement


@dataclass(frozen=True)
class ProbabilityQuery:
    """Parsed query; ``condition`` is None if there is none."""

    text: str
    event: Statement
    condition: Statement | None
    condition_text: str = ""  # the condition as it was written
    asks: Literal["P", "E"] = "P"

    @property
    def variable(self) -> ColumnComparison | None:
        """Column whose values or mean are queried: a name alone before the bar."""
        return self.event if isinstance(self.event, ColumnComparison) and self.event.op == "true" else None

    @cached_property
    def comparisons(self) -> list[ColumnComparison]:
        """All comparisons, in order of appearance."""
        sides = [self.event] if self.condition is None else [self.event, self.condition]
        return [leaf for side in sides for leaf in side.leaves()]

    @property
    def columns(self) -> list[str]:
        """Columns named, in order of appearance."""
        return list(dict.fromkeys(leaf.column for leaf in self.comparisons))

    @property
    def conditions(self) -> list[Statement]:
        """Conjuncts of the condition."""
        return [] if self.condition is None else self.condition.conjuncts()

    def error(self, at: int, message: str) -> QueryError:
        """Build an error that points at a character."""
        return error(self.text, at, message)

    def check_columns(self, known: Collection[str]) -> None:
        """Raise an error for an unknown column."""
        for leaf in self.comparisons:
            if leaf.column not in known:
                raise self.error(leaf.at, f"there is no column {leaf.column!r} ({nearest(leaf.column, known)})")

    def check_asks_probability(self) -> None:
        """Raise an error for the query of a mean."""
        if self.asks == "E":
            raise self.error(0, "this asks for a mean: E( … has its answer from distribution(…).mean")

    def queried_variable(self, what: str) -> str:
        """Return the column whose distribution is queried; raise an error for any other query."""
        if self.variable is None:
            raise self.error(0, f"the name of one {what} alone is expected before the bar: P(name | condition)")
        return self.variable.column

    def values_where(self, comparison: ColumnComparison, domain: Domain, *, so_far: bool = False) -> Bools:
        """Return the mask of the values for which a comparison holds; ``so_far`` if more values may come.

        >>> question = parse("P(age >= 30)")
        >>> question.values_where(question.event, Domain("age", (25, 30, 35))).tolist()
        [False, True, True]
        """
        column = comparison.column
        if comparison.op == "true":
            if not domain.boolean:
                what = f"{column!r} alone is not a statement, for it is not boolean: compare it with one of "
                raise self.error(comparison.at, what + _list_values(domain.values))
            return np.array([value in (True, "true", "yes") for value in domain.folded], dtype=bool)
        if comparison.op in IS_MISSING:
            raise self.error(comparison.at, f"{column!r} is missing nowhere here: ask the data itself")
        if comparison.op in ("=", "!=", "in", "not in"):
            mask = np.zeros(len(domain.values), dtype=bool)
            for token in comparison.values:
                at = domain.position(token)
                if at is not None:
                    mask[at] = True
                elif not so_far:
                    meant = nearest(token.content, domain.values)
                    raise self.error(token.at, f"{domain.name!r} has no value {token.content!r} ({meant})")
            return ~mask if comparison.op in ("!=", "not in") else mask
        bound = self.number(comparison.values[0], comparison.op)
        listed = _list_values(domain.values)
        if domain.cuts is not None:
            if comparison.op not in ("<=", ">") or bound not in domain.cuts:
                what = f"{column!r} is known by its intervals only: ask <= or > at one of {_list_values(domain.cuts)}, "
                raise self.error(comparison.at, what + f"or for one of {listed}")
            below = np.arange(len(domain.values)) <= domain.cuts.index(bound)
            return below if comparison.op == "<=" else ~below
        if not domain.numeric:
            what = f"{comparison.op} needs a column of numbers, and {column!r} has the values {listed}"
            raise self.error(comparison.at, what)
        return compare(np.array(domain.values, dtype=np.float64), comparison.op, bound)

    def number(self, token: QueryToken, op: str) -> float:
        """Return the value as a number; raise an error if it is none."""
        try:
            bound = float(token.content)
        except ValueError:
            bound = np.nan
        if np.isnan(bound):
            raise self.error(token.at, f"{op} compares numbers, and {token.content!r} is none")
        return bound

    def check_numbers(self, domain: Domain) -> None:
        """Raise an error for the mean of a non-numeric column."""
        if domain.cuts is not None or not domain.numeric:
            raise self.no_mean_error(_list_values(domain.values))

    def no_mean_error(self, values: str) -> QueryError:
        """Build the error for the mean of a non-numeric column."""
        name, at = self.comparisons[0].column, self.comparisons[0].at
        what = f"{name!r} has no mean, for it holds no numbers ({values}): ask P({name} | …) for its values"
        return self.error(at, what)

    def impossible_condition_error(self) -> QueryError:
        """Build the error for a condition of probability zero."""
        condition = self.condition_text if len(self.condition_text) < 80 else self.condition_text[:77] + "…"
        return QueryError(f"the condition {condition} has probability 0, so nothing can be said given it")


def error(text: str, at: int, message: str) -> QueryError:
    """Build an error that shows the position, with an excerpt of a long text."""
    first, last = max(0, at - 50), at + 30
    excerpt = ("…" if first else "") + re.sub(r"\s", " ", text[first:last]) + ("…" if last < len(text) else "")
    pointer = " " * (at - first + bool(first)) + "^"
    return QueryError(f"{message}, at character {at + 1}:\n    {excerpt}\n    {pointer}")


# -- parser -------------------------------------------------------------------------------------------


def parse(text: str) -> ProbabilityQuery:
    """Parse a query."""
    if not isinstance(text, str):
        raise QueryError(f"a query is a text such as 'P(a = 1 | b = 2)', not {text!r}")
    return _QueryParser(text).query()


def parse_statement(text: str) -> ProbabilityQuery:
    """Parse a statement alone, such as ``"gender = female and not smokes"``, as the event of a query."""
    parser = _QueryParser(text)
    event = parser.statement("the statement")
    if parser.now.kind != "end":
        raise error(text, parser.now.at, "'and' or 'or' is expected here, or the end")
    return ProbabilityQuery(text, event, None)


class _QueryParser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)  # read as the parser goes, so that an error ends a long text at once
        self.now = next(self.tokens)
        self.following = next(self.tokens, self.now)

    def take(self) -> QueryToken:
        taken, self.now = self.now, self.following
        self.following = next(self.tokens, self.now)
        return taken

    def accept(self, *words: str) -> bool:
        """Take a token if it is one of these."""
        accepted = self.now.is_(*words)
        if accepted:
            self.take()
        return accepted

    def expect(self, sign: str, what: str) -> None:
        if not self.accept(sign):
            raise error(self.text, self.now.at, what)

    def query(self) -> ProbabilityQuery:
        asks: Literal["P", "E"] = "E" if self.now.is_("e") else "P"
        self.expect(asks.lower(), "a query begins with P( … or E( …")
        self.expect("(", "'(' is expected here: a query is P(event), P(event | condition) or E(column | condition)")
        event = self.statement("the event") if asks == "P" else self.variable()
        begin = self.now.at + 1
        condition = self.statement("the condition after '|'") if self.accept("|") else None
        condition_text = self.text[begin : self.now.at].strip()
        self.expect(")", "')' is expected here, or 'and', 'or'")
        if self.now.kind != "end":
            raise error(self.text, self.now.at, "nothing can follow the closing parenthesis")
        return ProbabilityQuery(self.text, event, condition, condition_text, asks)

    def variable(self) -> ColumnComparison:
        """Parse the column of E(…)."""
        name = self.name()
        if not self.now.is_("|", ")"):
            raise error(self.text, self.now.at, "'|' or ')' is expected here: E( takes the name of one column")
        return ColumnComparison(name.content, "true", (), name.at)

    def name(self) -> QueryToken:
        """Parse the name of a column."""
        name = self.take()
        if name.kind in ("sign", "end") or name.is_("and", "or", "in"):
            raise error(self.text, name.at, "the name of a column is expected here")
        return name

    def statement(self, what: str) -> Statement:
        """Parse one side by operator precedence, without recursion."""
        done: list[Statement] = []
        waiting: list[QueryToken] = []
        n_open = 0
        if self.now.is_("|", ")") or self.now.kind == "end":
            raise error(self.text, self.now.at, f"{what} is empty")
        while True:
            while self.now.is_("not", "("):
                waiting.append(self.take())
                n_open += waiting[-1].content == "("
                if n_open > MOST_OPEN:
                    raise error(self.text, waiting[-1].at, f"more than {MOST_OPEN:,} parentheses are open here")
            done.append(self.comparison())
            while self.now.is_(")") and n_open:
                n_open -= 1
                while waiting[-1].content != "(":
                    _reduce(done, waiting.pop())
                waiting.pop()
                self.take()
            if not self.now.is_("and", "or", ","):
                break
            joint = self.take()
            while waiting and BINDS.get(waiting[-1].content.lower(), 0) >= BINDS[joint.content.lower()]:
                _reduce(done, waiting.pop())
            waiting.append(joint)
        while waiting:
            if waiting[-1].content == "(":
                raise error(self.text, waiting[-1].at, "this parenthesis is never closed")
            _reduce(done, waiting.pop())
        return done[0]

    def comparison(self) -> ColumnComparison:
        name = self.name()
        if self.now.kind == "sign" and self.now.content in COMPARISONS:
            op = COMPARISONS[self.take().content]
            return ColumnComparison(name.content, op, (self.value(),), name.at)
        negated = self.now.is_("not") and self.following.is_("in")
        if negated or self.now.is_("in"):
            if negated:
                self.take()
            self.take()
            return ColumnComparison(name.content, "not in" if negated else "in", self.values(), name.at)
        if self.accept("is"):
            negated = self.accept("not")
            self.expect("missing", "'missing' or 'not missing' is expected here; a value is compared with =")
            return ColumnComparison(name.content, "not missing" if negated else "missing", (), name.at)
        return ColumnComparison(name.content, "true", (), name.at)

    def values(self) -> tuple[QueryToken, ...]:
        self.expect("{", "'{' is expected here: in {a, b}")
        tokens = [self.value()]
        while self.accept(","):
            tokens.append(self.value())
        self.expect("}", "',' or '}' is expected here")
        return tuple(tokens)

    def value(self) -> QueryToken:
        if self.now.kind in ("sign", "end"):
            hint = "; a value that is not a plain word stands in quotes" if self.now.content in COMPARISONS else ""
            raise error(self.text, self.now.at, f"a value is expected here{hint}")
        return self.take()


def _tokens(text: str) -> Iterator[QueryToken]:
    at, end = 0, len(text.rstrip())
    while at < end:
        match = TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            quote = text[at] in "\"'"
            raise error(text, at, "this quote is never closed" if quote else f"{text[at]!r} has no meaning here")
        content, kind = match[match.lastgroup], match.lastgroup
        begin, at = match.start(kind), match.end()
        if kind == "text":
            content = re.sub(r"\\(.)", r"\1", content[1:-1], flags=re.DOTALL)
        yield QueryToken(content, kind, begin)
    yield QueryToken("", "end", end)


def _reduce(done: list[Statement], operator: QueryToken) -> None:
    """Apply an operator to the last statements; chains of the same kind stay flat."""
    last = done.pop()
    word = operator.content.lower()
    if word == "not":
        done.append(Negation(last))
        return
    kind: Literal["and", "or"] = "or" if word == "or" else "and"
    first = done[-1]
    if isinstance(first, Junction) and first.kind == kind:
        first.parts.append(last)
    else:
        done[-1] = Junction(kind, [first, last])


def _list_values(values: Sequence[object]) -> str:
    return ", ".join(map(str, values[:6])) + (", …" if len(values) > 6 else "")


def compare(numbers: Array, op: str, bound: float) -> Bools:
    """Compare numbers with a bound."""
    return np.asarray(COMPARE[op](numbers, bound))


TRUE = ({True, False}, {"true", "false"}, {"yes", "no"})


class Domain:
    """Values of a column; ``cuts`` if they are intervals."""

    def __init__(self, name: str, values: Sequence[Value], cuts: tuple[float, ...] | None = None) -> None:
        self.name, self.values, self.cuts = name, tuple(values), cuts

    @cached_property
    def numeric(self) -> bool:
        """True if every value is a number."""
        return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in self.values)

    @cached_property
    def folded(self) -> list[Value]:
        """Values in lower case."""
        return [value.casefold() if isinstance(value, str) else value for value in self.values]

    @cached_property
    def boolean(self) -> bool:
        """True if the values are true and false, so that the name alone is a statement."""
        return any(set(self.folded) <= pair for pair in TRUE)

    @cached_property
    def _by_number(self) -> dict[float, int]:
        return {v: i for i, v in enumerate(self.values) if not isinstance(v, (str, bool))}

    @cached_property
    def _by_text(self) -> dict[str, int]:
        lower = {str(v).lower(): i for i, v in enumerate(self.values) if isinstance(v, bool)}
        return lower | {str(v): i for i, v in enumerate(self.values)}

    def position(self, token: QueryToken) -> int | None:
        """Return the index of the value meant by a token, None if there is none."""
        if token.kind == "word" and self._by_number:
            try:
                return self._by_number[float(token.content)]
            except (ValueError, KeyError):
                pass
        return self._by_text.get(token.content)

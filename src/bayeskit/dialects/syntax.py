"""Build SQL as a tree of names, numbers, texts and expressions with sqlglot, never by joining strings.

A name is always quoted. A text holds between its quotes no character that any database or setting reads as something
else than itself: a backslash, a control character and where needed the quote are written as numbers of characters. So
there is nothing in a name, a value or a model file that could end a literal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from bayeskit.errors import BayesError
from bayeskit.nearest import did_you_mean

if TYPE_CHECKING:
    from bayeskit.dialects.dialect import Dialect

Node = Any  # sqlglot.exp.Expression
NUL = "\x00"


def sqlglot() -> Any:
    """Import sqlglot, an optional dependency."""
    try:
        import sqlglot
    except ImportError as missing:
        raise BayesError.not_installed("SQL is written by sqlglot", missing, "sql") from missing
    return sqlglot


def name(text: str) -> Node:
    """Return a quoted name; raise an error for one that no database supports.

    >>> name('a"b').sql("duckdb"), name("a`b").sql("spark")
    ('"a""b"', '`a``b`')
    """
    if not isinstance(text, str) or not text or NUL in text:
        raise BayesError(f"{text!r} is no name that a database can hold: rename it")
    return sqlglot().exp.to_identifier(text, quoted=True)


def column(table: str, text: str) -> Node:
    """Return a qualified column: SQLite would read an unknown bare name as a text."""
    exp = sqlglot().exp
    return exp.Column(this=name(text), table=name(table))


def table_name(text: str | Sequence[str], alias: str | None = None) -> Node:
    """Return a table by its dotted name; a part in double quotes is taken literally.

    >>> table_name("shop.orders").sql("duckdb"), table_name('"a.b"').sql("duckdb")
    ('"shop"."orders"', '"a.b"')
    """
    exp = sqlglot().exp
    parts = _parts(text) if isinstance(text, str) else list(text)
    if not 1 <= len(parts) <= 3:
        raise BayesError(f"table {text!r}: give its name, or those of catalogue, schema and table with dots between")
    keys = ("this", "db", "catalog")
    named = {key: name(part) for key, part in zip(keys, reversed(parts), strict=False)}
    return exp.Table(**named, alias=None if alias is None else exp.TableAlias(this=name(alias)))


def _parts(text: str) -> list[str]:
    """Split a dotted name; quotes inside a quoted part are doubled."""
    parts, part, quoted, i = [], "", False, 0
    while i < len(text):
        here = text[i]
        if here == '"' and quoted and text[i + 1 : i + 2] == '"':
            part, i = part + here, i + 1
        elif here == '"':
            quoted = not quoted
        elif here == "." and not quoted:
            parts.append(part)
            part = ""
        else:
            part += here
        i += 1
    if quoted:
        raise BayesError(f"table {text!r} opens a double quote and does not close it")
    return [*parts, part]


def number(x: float) -> Node:
    """Return a double literal. The exponent prevents DECIMAL, and negative numbers are in parentheses.

    >>> number(0.5).sql(), number(-1e-5).sql(), number(3.0).sql()
    ('0.5e0', '(-1e-05)', '3.0e0')
    """
    exp = sqlglot().exp
    if not math.isfinite(x):
        raise ValueError(f"{x} is no literal")
    digits = repr(abs(float(x)))
    literal = exp.Literal.number(digits if "e" in digits else digits + "e0")
    return exp.Paren(this=exp.Neg(this=literal)) if x < 0 else literal


def whole(n: int) -> Node:
    """Return an integer literal.

    >>> whole(-3).sql(), whole(2**60).sql()
    ('(-3)', '1152921504606846976')
    """
    exp = sqlglot().exp
    literal = exp.Literal.number(str(abs(int(n))))
    return exp.Paren(this=exp.Neg(this=literal)) if n < 0 else literal


def text(value: str, dialect: Dialect) -> Node:
    r"""Return a text literal, with unsafe characters written as character codes.

    >>> from bayeskit.dialects.dialect import DIALECTS
    >>> print(text("it's \\ no", DIALECTS["postgres"]).sql("postgres"))
    ('it''s ' || CHR(92) || ' no')
    >>> print(text("it's", DIALECTS["spark"]).sql("spark"))
    ('it' || CHR(39) || 's')
    """
    exp = sqlglot().exp
    parts: list[Node] = []
    plain = ""
    for character in value:
        steers = character < " " or character in "\\\x7f" or character in dialect.escaped
        if not steers:
            plain += character
            continue
        if plain:
            parts.append(exp.Literal.string(plain))
        parts.append(exp.Anonymous(this=dialect.character, expressions=[exp.Literal.number(str(ord(character)))]))
        plain = ""
    if plain or not parts:
        parts.append(exp.Literal.string(plain))
    if len(parts) == 1:
        return parts[0]
    return exp.Paren(this=reduce(lambda left, right: exp.DPipe(this=left, expression=right), parts))


def called(function: str, *arguments: Node) -> Node:
    """Return a function call by its name in the dialect."""
    return sqlglot().exp.Anonymous(this=function, expressions=list(arguments))


def cast(node: Node, to: str) -> Node:
    """Return a cast to a type by its name in any dialect."""
    return sqlglot().exp.cast(node, to)


def total(terms: Iterable[Node]) -> Node:
    """Return a + b + …."""
    exp = sqlglot().exp
    return reduce(lambda left, right: exp.Add(this=left, expression=right), terms)


def plus(left: Node, right: Node) -> Node:
    """Return left + right."""
    return sqlglot().exp.Add(this=left, expression=right)


def minus(left: Node, right: Node) -> Node:
    """Return left − right, with a sum on the right in parentheses."""
    exp = sqlglot().exp
    return exp.Sub(this=left, expression=_operand(right))


def times(left: Node, right: Node) -> Node:
    """Return left · right."""
    exp = sqlglot().exp
    return exp.Mul(this=_operand(left), expression=_operand(right))


def over(left: Node, right: Node) -> Node:
    """Return left / right of doubles."""
    exp = sqlglot().exp
    return exp.Div(this=_operand(left), expression=_operand(right), typed=True, safe=False)


def _operand(node: Node) -> Node:
    exp = sqlglot().exp
    return exp.Paren(this=node) if isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Div)) else node


def case(branches: Sequence[tuple[Node, Node]], default: Node | None = None, of: Node | None = None) -> Node:
    """Return CASE [of] WHEN … THEN … ELSE default END, built from one list since appending copies the tree."""
    exp = sqlglot().exp
    return exp.Case(this=of, ifs=[exp.If(this=when, true=then) for when, then in branches], default=default)


def interval(x: Node, cuts: Sequence[float], leaves: Sequence[Node]) -> Node:
    """Return the leaf of the interval that contains a number, by bisection; a number on a cut belongs to the left."""
    if len(leaves) == 1:
        return leaves[0]
    middle = (len(leaves) - 1) // 2
    left = interval(x, cuts[:middle], leaves[: middle + 1])
    right = interval(x, cuts[middle + 1 :], leaves[middle + 1 :])
    return case([(compared(x, "<=", number(cuts[middle])), left)], right)


def is_null(node: Node) -> Node:
    """Return node IS NULL."""
    exp = sqlglot().exp
    return exp.Is(this=node, expression=exp.Null())


def null() -> Node:
    """Return NULL."""
    return sqlglot().exp.Null()


def compared(left: Node, operator: str, right: Node) -> Node:
    """Return left = right, or <=, >=, <, >, <>; "is" also holds for two nulls."""
    exp = sqlglot().exp
    kinds = {"=": exp.EQ, "is": exp.NullSafeEQ, "<=": exp.LTE, ">=": exp.GTE, "<": exp.LT, ">": exp.GT, "<>": exp.NEQ}
    return kinds[operator](this=left, expression=right)


def all_of(conditions: Sequence[Node]) -> Node:
    """Return a AND b AND …."""
    exp = sqlglot().exp
    return reduce(lambda left, right: exp.And(this=left, expression=right), map(_alone, conditions))


def any_of(conditions: Sequence[Node]) -> Node:
    """Return a OR b OR …."""
    exp = sqlglot().exp
    return reduce(lambda left, right: exp.Or(this=left, expression=right), map(_alone, conditions))


def _alone(condition: Node) -> Node:
    exp = sqlglot().exp
    return exp.Paren(this=condition) if isinstance(condition, (exp.And, exp.Or)) else condition


def first_known(*nodes: Node) -> Node:
    """Return COALESCE(…), the first value that is not null."""
    return sqlglot().exp.Coalesce(this=nodes[0], expressions=list(nodes[1:]))


def named(node: Node, alias: str) -> Node:
    """node AS "alias" """
    return sqlglot().exp.alias_(node, name(alias), quoted=True)


def parsed(query: str, dialect: Dialect) -> Node:
    """Parse a user's query, which must be a single SELECT.

    >>> from bayeskit.dialects.dialect import DIALECTS
    >>> parsed("DROP TABLE orders", DIALECTS["duckdb"])
    Traceback (most recent call last):
    ...
    bayeskit.errors.BayesError: 'DROP TABLE orders' is no SELECT: rows are read, and nothing else is done
    """
    glot = sqlglot()
    try:
        statements = [s for s in glot.parse(query, read=dialect.name) if s is not None]
    except glot.errors.SqlglotError as problem:
        where = str(problem).partition("\n")[0].rstrip(".")
        raise BayesError(f"this query cannot be read as {dialect.title}: {where}") from None
    if len(statements) != 1 or not isinstance(statements[0], glot.exp.Query) or _writes(statements[0]):
        raise BayesError(f"{query[:80]!r} is no SELECT: rows are read, and nothing else is done")
    return statements[0]


def _writes(query: Node) -> bool:
    """Return True if a statement inside a query modifies data, as DuckDB and PostgreSQL allow after WITH."""
    exp = sqlglot().exp
    doing = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Copy, exp.Command, exp.Into)
    return query.find(*doing) is not None


def one_of_dialects(dialect: str, known: Iterable[str]) -> BayesError:
    """Build the error for an unknown dialect."""
    names = list(known)
    return BayesError(f"dialect={dialect!r}: give one of {', '.join(names)}{did_you_mean(dialect, names)}")

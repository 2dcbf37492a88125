"""Build SQL as a tree of names, numbers, texts and expressions with sqlglot, never by joining strings.

A name is always quoted. A text holds between its quotes no character that any database or setting reads as something
else than itself: a backslash, a control character and where needed the quote are written as numbers of characters. So
there is nothing in a name, a value or a model file that could end a literal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from bayeskit.errors import BayesError, import_extra
from bayeskit.nearest import did_you_mean

Node = Any  # sqlglot.exp.Expression
NUL = "\x00"


def sqlglot() -> Any:
    """Import sqlglot, an optional dependency."""
    return import_extra("sqlglot", "SQL is written by sqlglot", "sql")


class _Expressions:
    """The expression classes of sqlglot, which is imported when the first of them is used."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sqlglot().exp, name)


exp: Any = _Expressions()


def name(text: str) -> Node:
    """Return a quoted name; raise an error for one that no database supports.

    >>> name('a"b').sql("duckdb"), name("a`b").sql("spark")
    ('"a""b"', '`a``b`')
    """
    if not isinstance(text, str) or not text or NUL in text:
        raise BayesError(f"{text!r} is not a name that a database can hold: rename it")
    return exp.to_identifier(text, quoted=True)


def column(table: str, text: str) -> Node:
    """Return a qualified column: SQLite would read an unknown bare name as a text."""
    return exp.Column(this=name(text), table=name(table))


def table_name(text: str | Sequence[str], alias: str | None = None) -> Node:
    """Return a table by its dotted name; a part in double quotes is taken literally.

    >>> table_name("shop.orders").sql("duckdb"), table_name('"a.b"').sql("duckdb")
    ('"shop"."orders"', '"a.b"')
    """
    parts = _parts(text) if isinstance(text, str) else list(text)
    if not 1 <= len(parts) <= 3:
        raise BayesError(f"table {text!r}: give its name, or those of catalog, schema and table with dots between")
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
    if not math.isfinite(x):
        raise ValueError(f"{x} is not a literal")
    digits = repr(abs(float(x)))
    literal = exp.Literal.number(digits if "e" in digits else digits + "e0")
    return exp.Paren(this=exp.Neg(this=literal)) if x < 0 else literal


def integer(n: int) -> Node:
    """Return an integer literal.

    >>> integer(-3).sql(), integer(2**60).sql()
    ('(-3)', '1152921504606846976')
    """
    literal = exp.Literal.number(str(abs(int(n))))
    return exp.Paren(this=exp.Neg(this=literal)) if n < 0 else literal


def text(value: str, dialect: Dialect) -> Node:
    r"""Return a text literal, with unsafe characters written as character codes.

    >>> print(text("it's \\ no", DIALECTS["postgres"]).sql("postgres"))
    ('it''s ' || CHR(92) || ' no')
    >>> print(text("it's", DIALECTS["spark"]).sql("spark"))
    ('it' || CHR(39) || 's')
    """
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
    return exp.Anonymous(this=function, expressions=list(arguments))


def cast(node: Node, to: str) -> Node:
    """Return a cast to a type by its name in any dialect."""
    return exp.cast(node, to)


TOGETHER = 50  # terms of a sum, arguments of a function: more are nested, as SQLite bounds both


def total(terms: Iterable[Node]) -> Node:
    """Return a + b + …; many terms as a sum of sums."""
    return _nested(list(terms), lambda few: reduce(plus, few), _operand)


def _nested(nodes: Sequence[Node], join: Callable[[Sequence[Node]], Node], inner: Callable[[Node], Node]) -> Node:
    """Join nodes in groups, then the groups, so that no expression is deep or long."""
    while len(nodes) > TOGETHER:
        nodes = [inner(join(nodes[i : i + TOGETHER])) for i in range(0, len(nodes), TOGETHER)]
    return join(nodes)


def plus(left: Node, right: Node) -> Node:
    """Return left + right."""
    return exp.Add(this=left, expression=right)


def minus(left: Node, right: Node) -> Node:
    """Return left − right, with a sum on the right in parentheses."""
    return exp.Sub(this=left, expression=_operand(right))


def times(left: Node, right: Node) -> Node:
    """Return left · right."""
    return exp.Mul(this=_operand(left), expression=_operand(right))


def over(left: Node, right: Node) -> Node:
    """Return left / right of doubles."""
    return exp.Div(this=_operand(left), expression=_operand(right), typed=True, safe=False)


def _operand(node: Node) -> Node:
    return exp.Paren(this=node) if isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Div)) else node


def case(branches: Sequence[tuple[Node, Node]], default: Node | None = None, of: Node | None = None) -> Node:
    """Return CASE [of] WHEN … THEN … ELSE default END, built from one list since appending copies the tree."""
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
    return exp.Is(this=node, expression=exp.Null())


def null() -> Node:
    """Return NULL."""
    return exp.Null()


def compared(left: Node, operator: str, right: Node) -> Node:
    """Return left = right, or <=, >=, <, >, <>; "is" also holds for two nulls."""
    kinds = {"=": exp.EQ, "is": exp.NullSafeEQ, "<=": exp.LTE, ">=": exp.GTE, "<": exp.LT, ">": exp.GT, "<>": exp.NEQ}
    return kinds[operator](this=left, expression=right)


def all_of(conditions: Sequence[Node]) -> Node:
    """Return a AND b AND …."""
    return reduce(lambda left, right: exp.And(this=left, expression=right), map(_alone, conditions))


def any_of(conditions: Sequence[Node]) -> Node:
    """Return a OR b OR …."""
    alone = list(map(_alone, conditions))
    return _nested(alone, lambda few: reduce(lambda left, right: exp.Or(this=left, expression=right), few), _alone)


def _alone(condition: Node) -> Node:
    return exp.Paren(this=condition) if isinstance(condition, (exp.And, exp.Or)) else condition


def first_known(*nodes: Node) -> Node:
    """Return COALESCE(…), the first value that is not null."""
    return exp.Coalesce(this=nodes[0], expressions=list(nodes[1:]))


def named(node: Node, alias: str, remark: str = "") -> Node:
    """Return node AS "alias", with a comment beside it.

    Nothing in a comment may end it, open another or look like a parameter to a driver: an underscore replaces all but
    letters, digits, spaces and a few signs.

    >>> named(column("t", "x"), "y", "x */ :z (number)").sql()
    '"t"."x" AS "y" /* x __ _z (number) */'
    """
    made = exp.alias_(node, name(alias), quoted=True)
    if remark:
        made.comments = [re.sub(r"[^\w .,()=<>-]", "_", remark)]
    return made


def parsed(query: str, dialect: Dialect) -> Node:
    """Parse a user's query, which must be a single SELECT.

    >>> parsed("DROP TABLE orders", DIALECTS["duckdb"])
    Traceback (most recent call last):
    ...
    bayeskit.errors.BayesError: 'DROP TABLE orders' is not a SELECT: rows are read, and nothing else is done
    """
    glot = sqlglot()
    try:
        statements = [s for s in glot.parse(query, read=dialect.name) if s is not None]
    except glot.errors.SqlglotError as problem:
        where = str(problem).partition("\n")[0].rstrip(".")
        raise BayesError(f"this query cannot be read as {dialect.title}: {where}") from None
    if len(statements) != 1 or not isinstance(statements[0], glot.exp.Query) or _writes(statements[0]):
        raise BayesError(f"{query[:80]!r} is not a SELECT: rows are read, and nothing else is done")
    return statements[0]


def _writes(query: Node) -> bool:
    """Return True if a statement inside a query modifies data, as DuckDB and PostgreSQL allow after WITH."""
    doing = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Copy, exp.Command, exp.Into)
    return query.find(*doing) is not None


def refuse_sampling(query: Node) -> None:
    """Raise an error for a query that draws its rows: each of several counting queries would see another draw."""
    for drawn in query.find_all(exp.TableSample, exp.Rand, exp.Uuid):
        if isinstance(drawn, exp.TableSample) and drawn.args.get("seed") is not None:
            continue
        raise BayesError(
            f"the query draws its rows ({drawn.sql().strip()}), and counting in the database runs it several times",
            hint="write the drawn rows to a table first, or read them once, without push=True",
        )


@dataclass(frozen=True)
class Dialect:
    """Describe a database as far as it matters to queries.

    Parameters
    ----------
    name, title : str
        The name in sqlglot, and the name for people.
    character, greatest : str
        Functions that return a character by its number, and the largest of several numbers.
    materializes : bool
        True if steps of a query are materialized, since the database would compute their columns at each use.
    case_up_to : int
        Largest CASE, as values times classes; a column with more joins a lookup table.
    joins : int
        Number of tables that one step may join.
    escaped : str
        Characters that no text contains as they are. Spark does not read '' as a quote under every setting, and $
        begins a variable.
    nul_in_text : bool
        True if texts may contain NUL.
    fences : bool
        True if OFFSET 0 keeps a step from being merged into the next, so that it need not be materialized.
    lists : str
        Brackets of lists, if a table inside a query is written as lists, one per column: these are parsed much faster
        than rows.
    whole_numbers : str
        Type of whole numbers beyond 64 bits.
    columns : int or None
        Number of columns that one step may have, if there is a limit.
    joins_missing : bool
        True if a lookup table has a row for missing cells. DuckDB splits its batches at rows without a partner, so
        that ten joins would leave batches of a few rows.
    longest_name : int
        Longest name in bytes.
    folds_names : bool
        True if quoted "x" and "X" are the same column.
    floats : tuple of str
        Names of the float types, where these are compared with integers as floats.
    collation : str
        Collation that compares texts byte by byte; "" if their encoded bytes are compared.
    typed_cells : bool
        True if every cell has a type of its own, as in SQLite. Then booleans are numbers, NaN is NULL, whole numbers
        beyond 64 bits are doubles, and the greatest of several numbers is NULL if one is.
    casts_texts : bool
        True if a text is compared with numbers without an error.
    casts_literals : bool
        True if a literal with an exponent is not a double.
    refuses_underflow : bool
        True if a product or a power that vanishes ends the query.
    sums_exactly : bool
        True if sums of whole numbers have over 64 bits.
    """

    name: str
    title: str
    character: str = "CHR"
    greatest: str = "GREATEST"
    materializes: bool = False
    case_up_to: int = 12
    joins: int = 50
    escaped: str = ""
    nul_in_text: bool = True
    fences: bool = False
    lists: str = ""
    whole_numbers: str = "numeric"
    columns: int | None = None
    joins_missing: bool = False
    longest_name: int = 255
    folds_names: bool = True
    floats: tuple[str, ...] = ()
    collation: str = ""
    typed_cells: bool = False
    casts_texts: bool = False
    casts_literals: bool = False
    refuses_underflow: bool = False
    sums_exactly: bool = False

    def largest(self, nodes: Sequence[Node]) -> Node:
        """Return the largest of several numbers."""
        return nodes[0] if len(nodes) == 1 else _nested(nodes, lambda few: called(self.greatest, *few), lambda one: one)

    def one_to_it(self, names: Iterable[str]) -> list[str]:
        """Return the first names that this database treats as one column; empty if all are distinct.

        >>> DIALECTS["sqlite"].one_to_it(["x", "y", "X"]), DIALECTS["postgres"].one_to_it(["x", "y", "X"])
        (['x', 'X'], [])
        """
        alike: dict[str, list[str]] = {}
        for name in names:
            alike.setdefault(name.casefold() if self.folds_names else name, []).append(name)
        return next((group for group in alike.values() if len(group) > 1), [])

    def text(self, node: Node) -> Node:
        """A column of texts as it is compared: byte by byte, whatever its collation. A column of another type is an
        error of the database, not a comparison."""
        if not self.collation:
            return called("ENCODE", node)
        return exp.Collate(this=node, expression=exp.to_identifier(self.collation, quoted=not self.folds_names))

    def decoded(self, node: Node) -> Node:
        """Return such a column as texts again."""
        return node if self.collation else called("DECODE", node)

    def value(self, value: str) -> Node:
        """Return a text to compare with such a column."""
        node = text(value, self)
        return cast(node, "text") if self.collation else called("ENCODE", node)

    def truth(self, value: bool) -> Node:
        """Return a boolean; SQLite stores them as numbers."""
        return integer(int(value)) if self.typed_cells else exp.Boolean(this=value)

    def is_float(self, node: Node) -> Node:
        """Return a condition that a column has a float type."""
        kind = cast(called("PG_TYPEOF" if self.name == "postgres" else "TYPEOF", node), "text")
        return exp.In(this=kind, expressions=[exp.Literal.string(name) for name in self.floats])

    def minus_infinity(self) -> Node:
        """Return −∞ as a double."""
        if self.typed_cells:
            return exp.Paren(this=exp.Neg(this=exp.Literal.number("9e999")))
        return cast(exp.Literal.string("-Infinity"), "double")

    def nan(self) -> Node | None:
        """Return NaN as a double; None if the database has no NaN that equals itself."""
        if self.typed_cells:
            return None
        return cast(exp.Literal.string("NaN"), "double")

    def seconds(self, node: Node, has_nanoseconds: bool = False) -> Node:
        """Return a date as seconds since 1970, infinite outside the years 1 to 9999, for DuckDB or PostgreSQL."""
        first, last = (cast(exp.Literal.string(day), "date") for day in ("0001-01-01", "9999-12-31"))
        day = cast(node.copy(), "date")
        beyond = any_of([compared(day, "<", first), compared(day.copy(), ">", last)])
        if self.name == "duckdb":
            micros: Node = called("EPOCH_US", node)
        else:
            micros = cast(times(exp.Extract(this=exp.Var(this="EPOCH"), expression=node), integer(10**6)), "bigint")
        seconds = over(cast(micros, "double"), number(1e6))
        if has_nanoseconds:
            rest = exp.Mod(this=called("EPOCH_NS", node.copy()), expression=integer(1_000))
            seconds = plus(exp.Paren(this=seconds), exp.Paren(this=over(cast(rest, "double"), number(1e9))))
        return case([(beyond, cast(exp.Literal.string("Infinity"), "double"))], seconds)

    def sql(self, node: Node, pretty: bool = True) -> str:
        """Return the query as text; raise an error for a name that Spark would expand as a variable."""
        text = str(node.sql(self.name, pretty=pretty))
        if self.name == "spark" and "${" in text:
            at = text.index("${")
            raise BayesError(f"Spark would replace {text[at : at + 20]!r} in a name by a variable: rename it")
        return text


DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect(
            "duckdb", "DuckDB", joins=100, joins_missing=True, floats=("DOUBLE", "FLOAT"), lists="[]",
            whole_numbers="hugeint", sums_exactly=True,
        ),
        Dialect(
            "postgres", "PostgreSQL", materializes=True, nul_in_text=False, fences=True, longest_name=63,
            folds_names=False, floats=("double precision", "real"), lists="{}", columns=1664, collation="C",
            casts_literals=True, refuses_underflow=True, sums_exactly=True,
        ),
        Dialect(
            "sqlite", "SQLite", character="CHAR", greatest="MAX", materializes=True, case_up_to=150, columns=2000,
            collation="BINARY", typed_cells=True,
        ),
        Dialect(
            "spark", "Spark SQL", case_up_to=30, escaped="'$", floats=("double", "float"), collation="UTF8_BINARY",
            casts_texts=True,
        ),
    )
}  # fmt: skip


def as_dialect(name: str) -> Dialect:
    """Return a dialect by name; "postgresql" is an alias of "postgres".

    >>> as_dialect("oracle")
    Traceback (most recent call last):
    ...
    bayeskit.errors.BayesError: dialect='oracle': give one of duckdb, postgres, sqlite, spark
    """
    known = DIALECTS.get("postgres" if name == "postgresql" else name) if isinstance(name, str) else None
    if known is None:
        raise BayesError(f"dialect={name!r}: give one of {', '.join(DIALECTS)}{did_you_mean(name, DIALECTS)}")
    return known

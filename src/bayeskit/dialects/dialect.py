"""Describe the differences between databases, one record per database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bayeskit.dialects import syntax
from bayeskit.dialects.syntax import Node
from bayeskit.errors import BayesError


@dataclass(frozen=True)
class Dialect:
    """The properties of a database that affect queries.

    name, title: sqlglot's name and a person's. character: the function from a number to a character.
    greatest: the largest of several numbers. materialises: whether a step of a query is to be written down, since the
    database would compute its columns again wherever they are used. case_up_to: branches of CASE, values times classes,
    by which a column is told apart; beyond it a lookup table is joined. joins: tables that one step may join.
    escaped: characters that stand in no text as they are: to Spark, '' is no quote under every setting, and $ begins a
    variable. infinity: how −∞ is written. fences: whether OFFSET 0 keeps a step from being merged into the next, so
    that it need not be written down. unnests: whether a table in a query is best written as lists, one for each column.
    joins_missing: whether a lookup table has a row for missing cells. Rows without a partner in a join go on through
    DuckDB by themselves, so that ten joins would cut its thousands of rows into pieces of a few. folds_names: whether
    "x" and "X" are one column, though they are quoted. floats: what its types of floats are called, where these are
    compared with whole numbers as floats.
    """

    name: str
    title: str
    character: str
    greatest: str
    materialises: bool
    case_up_to: int
    joins: int
    escaped: str
    infinity: str
    nul_in_text: bool = True
    fences: bool = False
    unnests: bool = False
    joins_missing: bool = False
    longest_name: int = 255
    folds_names: bool = True
    floats: tuple[str, ...] = ()

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
        exp = syntax.sqlglot().exp
        if self.name == "duckdb":
            return syntax.called("ENCODE", node)
        collation = {"postgres": "C", "sqlite": "BINARY", "spark": "UTF8_BINARY"}[self.name]
        return exp.Collate(this=node, expression=exp.to_identifier(collation, quoted=self.name == "postgres"))

    def value(self, value: str) -> Node:
        """Return a text to compare with such a column."""
        node = syntax.text(value, self)
        if self.name == "duckdb":
            return syntax.called("ENCODE", node)
        return syntax.cast(node, "text")

    def truth(self, value: bool) -> Node:
        """Return a boolean; SQLite stores them as numbers."""
        if self.name == "sqlite":
            return syntax.whole(int(value))
        return syntax.sqlglot().exp.Boolean(this=value)

    def is_float(self, node: Node) -> Node:
        """Return a condition that a column has a float type."""
        exp = syntax.sqlglot().exp
        kind = syntax.cast(syntax.called("PG_TYPEOF" if self.name == "postgres" else "TYPEOF", node), "text")
        return exp.In(this=kind, expressions=[exp.Literal.string(name) for name in self.floats])

    def minus_infinity(self) -> Node:
        """Return −∞ as a double."""
        exp = syntax.sqlglot().exp
        if self.name == "sqlite":
            return exp.Paren(this=exp.Neg(this=exp.Literal.number("9e999")))
        return syntax.cast(exp.Literal.string(self.infinity), "double")

    def nan(self) -> Node | None:
        """Return NaN as a double; None if the database has no NaN that equals itself."""
        if self.name == "sqlite":
            return None
        return syntax.cast(syntax.sqlglot().exp.Literal.string("NaN"), "double")

    def microseconds(self, node: Node) -> Node:
        """Return a date or timestamp as integer microseconds since 1970, for DuckDB or PostgreSQL."""
        exp = syntax.sqlglot().exp
        if self.name == "duckdb":
            return syntax.called("EPOCH_US", node)
        seconds = exp.Extract(this=exp.Var(this="EPOCH"), expression=node)
        return syntax.cast(syntax.times(seconds, syntax.whole(10**6)), "bigint")

    def sql(self, node: Node, pretty: bool = True) -> str:
        """Return the query as text; raise an error for a name that Spark would expand as a variable."""
        text = str(node.sql(self.name, pretty=pretty))
        if self.name == "spark" and "${" in text:
            at = text.index("${")
            raise BayesError(f"Spark would replace {text[at : at + 20]!r} in a name by a variable: rename it")
        return text


DIALECTS: dict[str, Dialect] = {
    "duckdb": Dialect(
        "duckdb",
        "DuckDB",
        "CHR",
        "GREATEST",
        False,
        12,
        100,
        "",
        "-Infinity",
        unnests=True,
        joins_missing=True,
        floats=("DOUBLE", "FLOAT"),
    ),
    "postgres": Dialect(
        "postgres",
        "PostgreSQL",
        "CHR",
        "GREATEST",
        True,
        12,
        50,
        "",
        "-Infinity",
        nul_in_text=False,
        fences=True,
        longest_name=63,
        folds_names=False,
        floats=("double precision", "real"),
    ),
    "sqlite": Dialect("sqlite", "SQLite", "CHAR", "MAX", True, 150, 50, "", ""),
    "spark": Dialect(
        "spark", "Spark SQL", "CHR", "GREATEST", False, 30, 50, "'$", "-Infinity", floats=("double", "float")
    ),
}


def as_dialect(name: str) -> Dialect:
    """Return a dialect by name; "postgresql" is an alias of "postgres".

    >>> as_dialect("oracle")
    Traceback (most recent call last):
    ...
    bayeskit.errors.BayesError: dialect='oracle': give one of duckdb, postgres, sqlite, spark
    """
    known = DIALECTS.get("postgres" if name == "postgresql" else name) if isinstance(name, str) else None
    if known is None:
        raise syntax.one_of_dialects(name, DIALECTS)
    return known

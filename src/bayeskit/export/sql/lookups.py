"""Tables that a query brings along: keys, and the scores that stand at each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bayeskit.data.vocabulary import Value
from bayeskit.dialects import syntax
from bayeskit.dialects.dialect import Dialect
from bayeskit.dialects.syntax import Node
from bayeskit.export.sql.read_cells import in_64_bits, value_node
from bayeskit.typing import Floats


@dataclass(frozen=True)
class Key:
    """A column of keys: what they are to a database ("text", "boolean", "integer" or "float"), and they themselves."""

    kind: str
    values: Sequence[Value | None]


@dataclass(frozen=True, eq=False)
class Lookup:
    """A row for each key: ``keys`` by the names of their columns, ``scores`` (rows,) by the names of theirs."""

    keys: Mapping[str, Key]
    scores: Mapping[str, Floats]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, keys first."""
        return (*self.keys, *self.scores)

    def body(self, dialect: Dialect) -> Node:
        """The table as SQL."""
        return self._lists(dialect) if dialect.unnests else self._rows(dialect)

    def _rows(self, dialect: Dialect) -> Node:
        exp = syntax.sqlglot().exp
        columns = [[_key(value, key.kind, dialect) for value in key.values] for key in self.keys.values()]
        columns += [[double(score, dialect) for score in scores] for scores in self.scores.values()]
        return exp.Values(expressions=[exp.Tuple(expressions=list(row)) for row in zip(*columns, strict=True)])

    def _lists(self, dialect: Dialect) -> Node:
        """Columns as lists that are unfolded side by side; numbers as one text, which is read much faster than each."""
        exp = syntax.sqlglot().exp
        columns = [_keys_in_a_list(key, dialect) for key in self.keys.values()]
        columns += [_numbers_in_a_list(map(repr, scores.tolist()), "double[]") for scores in self.scores.values()]
        return exp.Select(expressions=columns)


def _key(value: Value | None, kind: str, dialect: Dialect) -> Node:
    return syntax.null() if value is None else value_node(value, kind, dialect)


def _keys_in_a_list(key: Key, dialect: Dialect) -> Node:
    """The values of a key, of which one may be None: the missing cell."""
    exp = syntax.sqlglot().exp
    if key.kind in ("integer", "float"):
        number = int if key.kind == "integer" else float
        fits = all(value is None or in_64_bits(value) for value in key.values)
        kind = "double[]" if number is float else "bigint[]" if fits else "hugeint[]"
        return _numbers_in_a_list(["NULL" if value is None else repr(number(value)) for value in key.values], kind)
    if key.kind == "text":
        texts = [syntax.null() if value is None else syntax.text(str(value), dialect) for value in key.values]
        return dialect.text(syntax.called("UNNEST", exp.Array(expressions=texts)))
    return syntax.called("UNNEST", exp.Array(expressions=[_key(value, key.kind, dialect) for value in key.values]))


def _numbers_in_a_list(digits: Iterable[str], kind: str) -> Node:
    exp = syntax.sqlglot().exp
    return syntax.called("UNNEST", syntax.cast(exp.Literal.string(f"[{', '.join(digits)}]"), kind))


@dataclass
class Lookups:
    """The tables of a query by the names that they are given."""

    prefix: str = ""
    tables: dict[str, Lookup] = field(default_factory=dict)

    def add(self, table: Lookup) -> str:
        """The name of a new table."""
        alias = f"{self.prefix}l{len(self.tables)}"
        self.tables[alias] = table
        return alias


def double(x: float, dialect: Dialect) -> Node:
    """A score as a literal of the database's doubles."""
    if np.isneginf(x):
        return dialect.minus_infinity()
    node = syntax.number(float(x))
    return syntax.cast(node, "double") if dialect.name == "postgres" else node

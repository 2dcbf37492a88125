"""Cells of a table as the model reads them: texts byte by byte, numbers as doubles, intervals by their codes.

Each cell is a column of the first step of the query. What the model would refuse (an infinite number, a text where
there were numbers) is a condition, under which the row gets no scores at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayeskit.data.numbers import LARGEST
from bayeskit.data.vocabulary import Value
from bayeskit.dialects import syntax
from bayeskit.dialects.dialect import Dialect
from bayeskit.dialects.syntax import Node
from bayeskit.errors import BayesError
from bayeskit.export.scoring_form import Coding
from bayeskit.tolerance import LEAST_NUMBER
from bayeskit.typing import Floats

ROWS = "t"  # the table that is scored
CENTRED = "r"  # the step of the cells, as the next one names it


@dataclass
class Cells:
    """The columns that the first step of a query reads, each once; and when a row is refused."""

    dialect: Dialect
    columns: Mapping[str, str]  # where a column of the model has another name in the table
    read: dict[str, Node] = field(default_factory=dict)
    refused: list[Node] = field(default_factory=list)
    sizes: list[Node] = field(default_factory=list)  # of the numbers
    centred: dict[str, Node] = field(default_factory=dict)  # made of cells, in a step after them
    _names: dict[tuple[str, str], str] = field(default_factory=dict)

    def raw(self, column: str) -> Node:
        """The column as it stands in the table."""
        return syntax.column(ROWS, self.columns.get(column, column))

    def text(self, coding: Coding) -> str:
        """Texts, booleans or numbers as they are compared with values; the name of the cell."""
        kind = kind_of(coding)
        return self._named(coding.column, kind, lambda: self._comparable(coding, kind))

    def _comparable(self, coding: Coding, kind: str) -> Node:
        raw, dialect = self.raw(coding.column), self.dialect
        if dialect.name == "sqlite":
            right = "text" if kind == "text" else "number"
            self.refused.append(_stored(raw, _OTHER[right]))
            cell = syntax.case([(_stored(raw, _OTHER[right]), syntax.null())], raw)
            return dialect.text(cell) if kind == "text" else cell
        if kind == "text":
            return dialect.text(raw)
        if kind == "boolean":
            return raw
        if dialect.name == "spark":
            self.refused.append(
                syntax.compared(syntax.called("TYPEOF", raw), "=", syntax.sqlglot().exp.Literal.string("string"))
            )
        if kind == "float":
            return self._without_nan(syntax.cast(raw, "double"))
        if not all(map(_is_double, coding.values)) and dialect.floats:
            # A double as large is compared as one, and would be taken for its neighbours among the whole numbers.
            large = syntax.compared(syntax.called("ABS", syntax.cast(raw, "double")), ">=", syntax.number(2.0**53))
            self.refused.append(syntax.all_of([dialect.is_float(raw.copy()), large]))
        whole = syntax.plus(raw, syntax.whole(0))  # of a text there is no sum, and the database says so
        nan = dialect.nan()
        if nan is None:
            return whole
        is_nan = syntax.compared(syntax.cast(raw.copy(), "double"), "=", nan)  # NULLIF would make it a double
        return syntax.case([(is_nan, syntax.null())], whole)

    def _without_nan(self, node: Node) -> Node:
        nan = self.dialect.nan()
        return node if nan is None else syntax.called("NULLIF", node, nan)

    def number(self, column: str, center: float | None = None) -> str:
        """A number as a double, NULL where it is missing; the name of the cell.

        With a centre it is taken from that, and 0 where it is missing; with _0 after the name it is 1 where it is there
        and else 0, with _2 its square.
        """
        if center is None:
            return self._named(column, "number", lambda: self._number(column))
        whole = syntax.column(CENTRED, self.number(column))
        name = f"{self.number(column)}_1"
        zero, one = (syntax.cast(syntax.number(x), "double") for x in (0.0, 1.0))
        away = syntax.first_known(syntax.minus(whole, syntax.number(center)), zero)
        self.centred[f"{name}_0"] = syntax.case([(syntax.is_null(whole.copy()), zero.copy())], one)
        self.centred[name] = away
        self.centred[f"{name}_2"] = syntax.times(away.copy(), away.copy())
        return name

    def _number(self, column: str) -> Node:
        raw, exp = self.raw(column), syntax.sqlglot().exp
        x = syntax.cast(raw, "double")
        if self.dialect.name == "sqlite":
            self.refused.append(_stored(raw, _OTHER["number"]))
            x = syntax.case([(_stored(raw, _OTHER["number"]), syntax.null())], x)
        present = self._without_nan(x)
        self.sizes.append(syntax.called("ABS", present))
        if self.dialect.name != "postgres":
            return present
        # A product that overflows or vanishes would end the query.
        near = exp.Between(this=x, low=syntax.number(-LEAST_NUMBER), high=syntax.number(LEAST_NUMBER))
        within = exp.Between(this=x.copy(), low=syntax.number(-LARGEST), high=syntax.number(LARGEST))
        return syntax.case([(near, syntax.cast(syntax.number(0.0), "double")), (within, x.copy())])

    def refusal(self) -> Node | None:
        """When a row has a cell that the model refuses; None where there can be none."""
        conditions = list(self.refused)
        if self.sizes:
            sizes = self.sizes
            if self.dialect.name == "sqlite":  # whose largest of several is null where one of them is
                sizes = [syntax.first_known(size, syntax.number(0.0)) for size in sizes]
            largest = sizes[0] if len(sizes) == 1 else syntax.called(self.dialect.greatest, *sizes)
            conditions.append(syntax.compared(largest, ">", syntax.number(LARGEST)))
        return syntax.any_of(conditions) if conditions else None

    def _named(self, column: str, kind: str, make: Callable[[], Node]) -> str:
        key = (column, kind)
        if key not in self._names:
            cell = f"c{len(self._names)}"
            self._names[key] = cell
            self.read[cell] = make()
        return self._names[key]


_OTHER = {"text": ("integer", "real", "blob"), "number": ("text", "blob")}


def _stored(raw: Node, kinds: Sequence[str]) -> Node:
    """Whether SQLite has stored a cell as one of these kinds; its columns have no types that hold."""
    exp = syntax.sqlglot().exp
    return exp.In(this=syntax.called("TYPEOF", raw), expressions=[exp.Literal.string(kind) for kind in kinds])


def kind_of(coding: Coding) -> str:
    """What the values of a column are to a database: "text", "boolean", "integer" or "float"."""
    kinds = {type(value) for value in coding.values}
    if kinds <= {str}:
        return "text"
    if kinds == {bool}:
        return "boolean"
    if str in kinds:
        raise BayesError(
            f"column {coding.column!r} holds texts and numbers, and a column of a database has one type",
        )
    if not kinds <= {int, bool}:
        return "float"
    are_doubles = not all(map(in_64_bits, coding.values)) and all(map(_is_double, coding.values))
    return "float" if are_doubles else "integer"


def value_node(value: Value, kind: str, dialect: Dialect) -> Node:
    """A value as it is compared with a cell of this kind."""
    if kind == "text":
        return dialect.value(str(value))
    if kind == "boolean":
        return dialect.truth(bool(value))
    return syntax.whole(int(value)) if kind == "integer" else syntax.cast(syntax.number(float(value)), "double")


def storable(value: Value, dialect: Dialect) -> bool:
    """Whether a column of the database can hold this value at all."""
    if isinstance(value, str):
        return dialect.nul_in_text or "\x00" not in value
    return dialect.name != "sqlite" or isinstance(value, float) or in_64_bits(value) or _is_double(value)


def in_64_bits(value: Any) -> bool:
    """Whether a number is one of the whole numbers that every database has."""
    return bool(-(2**63) <= value < 2**63)


def _is_double(value: Any) -> bool:
    return bool(abs(value) < 2**1023 and int(float(value)) == value)


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

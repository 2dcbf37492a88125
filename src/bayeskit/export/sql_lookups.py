"""Cells and lookup tables of a scoring query.

Texts are compared byte by byte, numbers as doubles, intervals by their codes. Each cell is a column of the first step.
A cell that the model rejects (an infinite number, a text among numbers) makes the row's scores NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayeskit.data.cells import LARGEST
from bayeskit.data.io import sql_syntax as syntax
from bayeskit.data.io.sql_syntax import Dialect, Node, exp
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError
from bayeskit.export.scoring_form import Coding
from bayeskit.tolerance import LEAST_NUMBER
from bayeskit.typing import Floats

ROWS = "t"  # alias of the scored table
CENTERD = "r"  # alias of the cells in the next step


@dataclass
class CellReader:
    """Read the columns of the first step, each once, and collect conditions that reject a row."""

    dialect: Dialect
    columns: Mapping[str, str]  # names of the model's columns in the table, if different
    read: dict[str, Node] = field(default_factory=dict)
    refused: list[Node] = field(default_factory=list)
    sizes: list[Node] = field(default_factory=list)  # absolute values of the numbers
    centered: dict[str, Node] = field(default_factory=dict)  # computed from cells in the next step
    _names: dict[tuple[str, str], str] = field(default_factory=dict)

    def raw(self, column: str) -> Node:
        """Return the raw column."""
        return syntax.column(ROWS, self.columns.get(column, column))

    def text(self, coding: Coding) -> str:
        """Return the cell name of a column that is compared with values."""
        kind = kind_of(coding)
        return self._named(coding.column, kind, lambda: self._comparable(coding, kind))

    def _comparable(self, coding: Coding, kind: str) -> Node:
        raw, dialect = self.raw(coding.column), self.dialect
        if dialect.name == "sqlite":
            right = "text" if kind == "text" else "number"
            self.refused.append(_is_stored_as(raw, _OTHER_TYPES[right]))
            cell = syntax.case([(_is_stored_as(raw, _OTHER_TYPES[right]), syntax.null())], raw)
            return dialect.text(cell) if kind == "text" else cell
        if kind == "text":
            return dialect.text(raw)
        if kind == "boolean":
            return raw
        if dialect.name == "spark":
            self.refused.append(syntax.compared(syntax.called("TYPEOF", raw), "=", exp.Literal.string("string")))
        if kind == "float":
            return self._without_nan(syntax.cast(raw, "double"))
        if not all(map(_is_double, coding.values)) and dialect.floats:
            # A double as large is compared as one, and would be taken for its neighbors among the whole numbers.
            large = syntax.compared(syntax.called("ABS", syntax.cast(raw, "double")), ">=", syntax.number(2.0**53))
            self.refused.append(syntax.all_of([dialect.is_float(raw.copy()), large]))
        whole = syntax.plus(raw, syntax.whole(0))  # the database raises an error for a text
        nan = dialect.nan()
        if nan is None:
            return whole
        is_nan = syntax.compared(syntax.cast(raw.copy(), "double"), "=", nan)  # NULLIF would make it a double
        return syntax.case([(is_nan, syntax.null())], whole)

    def _without_nan(self, node: Node) -> Node:
        nan = self.dialect.nan()
        return node if nan is None else syntax.called("NULLIF", node, nan)

    def number(self, column: str, center: float | None = None) -> str:
        """Return the cell name of a number as a double, NULL if missing.

        With a center it is taken from that, and 0 where it is missing; with _0 after the name it is 1 where it is there
        and else 0, with _2 its square.
        """
        if center is None:
            return self._named(column, "number", lambda: self._number(column))
        whole = syntax.column(CENTERD, self.number(column))
        name = f"{self.number(column)}_1"
        zero, one = (syntax.cast(syntax.number(x), "double") for x in (0.0, 1.0))
        away = syntax.first_known(syntax.minus(whole, syntax.number(center)), zero)
        self.centered[f"{name}_0"] = syntax.case([(syntax.is_null(whole.copy()), zero.copy())], one)
        self.centered[name] = away
        self.centered[f"{name}_2"] = syntax.times(away.copy(), away.copy())
        return name

    def _number(self, column: str) -> Node:
        raw = self.raw(column)
        x = syntax.cast(raw, "double")
        if self.dialect.name == "sqlite":
            self.refused.append(_is_stored_as(raw, _OTHER_TYPES["number"]))
            x = syntax.case([(_is_stored_as(raw, _OTHER_TYPES["number"]), syntax.null())], x)
        present = self._without_nan(x)
        self.sizes.append(syntax.called("ABS", present))
        if self.dialect.name != "postgres":
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
            if self.dialect.name == "sqlite":  # where the greatest of several is NULL if one is
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


_OTHER_TYPES = {"text": ("integer", "real", "blob"), "number": ("text", "blob")}


def _is_stored_as(raw: Node, kinds: Sequence[str]) -> Node:
    """Return the condition that SQLite stored a cell as one of these types."""
    return exp.In(this=syntax.called("TYPEOF", raw), expressions=[exp.Literal.string(kind) for kind in kinds])


def kind_of(coding: Coding) -> str:
    """Return the database type of the values: "text", "boolean", "integer" or "float"."""
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
    """Return a value as a literal of this type."""
    if kind == "text":
        return dialect.value(str(value))
    if kind == "boolean":
        return dialect.truth(bool(value))
    return syntax.whole(int(value)) if kind == "integer" else syntax.cast(syntax.number(float(value)), "double")


def storable(value: Value, dialect: Dialect) -> bool:
    """Return True if a column of the database can hold this value."""
    if isinstance(value, str):
        return dialect.nul_in_text or "\x00" not in value
    return dialect.name != "sqlite" or isinstance(value, float) or in_64_bits(value) or _is_double(value)


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
        return self._lists(dialect) if dialect.unnests else self._rows(dialect)

    def _rows(self, dialect: Dialect) -> Node:
        columns = [[_key(value, key.kind, dialect) for value in key.values] for key in self.keys.values()]
        columns += [[double_literal(score, dialect) for score in scores] for scores in self.scores.values()]
        return exp.Values(expressions=[exp.Tuple(expressions=list(row)) for row in zip(*columns, strict=True)])

    def _lists(self, dialect: Dialect) -> Node:
        """Return columns as unnested lists, which are parsed much faster than rows."""
        columns = [_keys_in_a_list(key, dialect) for key in self.keys.values()]
        columns += [_numbers_in_a_list(map(repr, scores.tolist()), "double[]") for scores in self.scores.values()]
        return exp.Select(expressions=columns)


def _key(value: Value | None, kind: str, dialect: Dialect) -> Node:
    return syntax.null() if value is None else value_node(value, kind, dialect)


def _keys_in_a_list(key: LookupKey, dialect: Dialect) -> Node:
    """Return the values of a key as a list; None is the missing cell."""
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
    return syntax.called("UNNEST", syntax.cast(exp.Literal.string(f"[{', '.join(digits)}]"), kind))


@dataclass
class Lookups:
    """Lookup tables of a query by alias."""

    prefix: str = ""
    tables: dict[str, Lookup] = field(default_factory=dict)

    def add(self, table: Lookup) -> str:
        """Add a table; return its alias."""
        alias = f"{self.prefix}l{len(self.tables)}"
        self.tables[alias] = table
        return alias


def double_literal(x: float, dialect: Dialect) -> Node:
    """Return a score as a double literal."""
    if np.isneginf(x):
        return dialect.minus_infinity()
    node = syntax.number(float(x))
    return syntax.cast(node, "double") if dialect.name == "postgres" else node

"""Map values to codes: 0 is a missing cell, the i-th value has code i + 1."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.errors import BayesError, NotScalar
from bayeskit.typing import Ints

Value = str | int | float | bool
MISSING = 0  # the reserved code
SPAN = 65_534  # integers this close together are coded by a table instead of a hash


def canonical(value: Any) -> Value | None:
    """Convert a cell to a plain value, None if missing: 3.0 becomes 3, a date its ISO text.

    >>> canonical(3.0), canonical(float("nan")), canonical("sun")
    (3, None, 'sun')
    """
    if isinstance(value, (np.datetime64, np.timedelta64)):
        value = _moment(value)
    if isinstance(value, np.generic):
        value = float(value) if isinstance(value, np.longdouble) else value.item()
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise BayesError(
                f"{value!r} is not text: it holds half of a surrogate pair. Read the data again with its own encoding."
            ) from None
        return value
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, (float, Decimal)):
        number = float(value)
        if math.isnan(number):
            return None
        if math.isinf(number):
            raise BayesError("a value is infinite; replace infinity by a number or by a missing cell")
        return int(number) if number.is_integer() else number
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise BayesError(
                f"{value[:40]!r} is not text in UTF-8", hint="encode such bytes, as by .hex(), or ignore the column"
            ) from None
    if isinstance(value, (date, time)):
        return None if value != value else value.isoformat()  # pandas' NaT is not itself
    if isinstance(value, timedelta):
        return value.total_seconds()
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    text = repr(value)
    text = text[:40] + "…" if len(text) > 40 else text
    raise NotScalar(f"a cell holds the {type(value).__name__} {text}: its argument must be a string or a number")


def _moment(value: np.datetime64 | np.timedelta64) -> Any:
    """Convert a time of NumPy, which has no Python object for nanoseconds, to one of Python, a text or seconds."""
    plain = value.item()
    if not isinstance(plain, int) or np.datetime_data(value.dtype)[0] != "ns":
        return plain
    if isinstance(value, np.timedelta64):
        return plain / 1e9
    micros = value.astype("M8[us]")
    return str(value) if micros != value else micros.item()


def sort_values(values: Iterable[Value]) -> list[Value]:
    """Sort values: numbers first, then strings by code point."""
    return sorted(values, key=lambda v: (isinstance(v, str), v))


def plainest(a: Value, b: Value) -> Value:
    """Return the preferred one of two equal values (True == 1 == 1.0), independent of their order."""
    return max(a, b, key=lambda v: (not isinstance(v, bool), isinstance(v, float)))


def union(a: Sequence[Value], b: Sequence[Value]) -> tuple[Value, ...]:
    """Return all values of both sides, sorted."""
    merged = {value: value for value in a}
    for value in b:
        merged[value] = plainest(merged[value], value) if value in merged else value
    return tuple(sort_values(merged.values()))


def declared_first(declared: Sequence[Value], seen: Sequence[Value]) -> tuple[Value, ...]:
    """Return all values of both: declared ones in declared order, then the others, sorted.

    >>> declared_first(("low", "high"), ("medium", "high"))
    ('low', 'high', 'medium')
    """
    if not declared and len({*seen}) == len(seen):
        return tuple(sort_values(seen))
    merged = {value: value for value in union(declared, seen)}
    return (*(merged.pop(value) for value in dict.fromkeys(declared)), *merged.values())


def positions(values: Sequence[Value | None], among: Sequence[Value | None]) -> Ints:
    """Return the index of each of ``values`` ``among`` the others, -1 if absent."""
    index = {value: i for i, value in enumerate(among)}
    return np.array([index.get(value, -1) for value in values], dtype=np.int64)


def blank_names(names: Iterable[Value | None], present: Iterable[Value | None]) -> tuple[Value | None, ...]:
    """Replace names that are not present by None; positions stay, and with them what was fitted for each name.

    >>> blank_names(("hail", "rain", "sun"), ["rain", "snow", "sun"])
    (None, 'rain', 'sun')
    """
    there = set(present)
    return tuple(name if name in there else None for name in names)


def are_names(names: Sequence[Any]) -> bool:
    """Return True for values that differ, among which some may be blank."""
    named = [name for name in names if name is not None]
    return len({*named}) == len(named) and all(isinstance(name, (str, int, float)) for name in named)


class Vocabulary:
    """The values of one column and their codes.

    >>> sky = Vocabulary(["rain", "sun"])
    >>> sky.codes(["sun", None, "hail"])          # known, missing, unseen
    [2, 0, 3]
    >>> sky.grow(["hail"]), sky.values
    ([3], ['rain', 'sun', 'hail'])
    """

    def __init__(self, values: Iterable[Value] = ()) -> None:
        self.values: list[Value] = list(values)
        self._index: dict[Value, int] = {value: i + 1 for i, value in enumerate(self.values)}
        self._table: tuple[int, npt.NDArray[np.uint32]] | None = None

    @property
    def unseen(self) -> int:
        """Return the code of unknown values."""
        return len(self.values) + 1

    def codes(self, values: Iterable[Value | None]) -> list[int]:
        """Return the codes of values; unknown ones get ``unseen``."""
        get, unseen = self._index.get, self.unseen
        return [MISSING if value is None else get(value, unseen) for value in values]

    def grow(self, values: Iterable[Value | None]) -> list[int]:
        """Return the codes of values, adding new ones."""
        index = self._index
        codes = []
        for value in values:
            if value is None:
                codes.append(MISSING)
                continue
            code = index.setdefault(value, len(self.values) + 1)
            if code > len(self.values):
                self.values.append(value)
            elif type(value) is not str:  # True, 1 and 1.0 are equal, and one name
                self.values[code - 1] = plainest(self.values[code - 1], value)
            codes.append(code)
        return codes

    def integer_table(self) -> tuple[int, npt.NDArray[np.uint32]] | None:
        """Return (lowest integer, codes from there on) if the integers among the values are in a narrow range."""
        if self._table is None:
            integers = [int(v) for v in self.values if isinstance(v, int)]
            low, high = (min(integers), max(integers)) if integers else (0, -1)
            if high - low > SPAN or low < -(2**62) or high > 2**62:
                return None
            table = np.full(high - low + 1, self.unseen, dtype=np.uint32)
            for integer in integers:
                table[integer - low] = self._index[integer]
            self._table = (low, table)
        return self._table

    def is_foreign(self, values: Sequence[Value]) -> bool:
        """Return True if the types differ: strings against numbers."""
        theirs = {isinstance(value, str) for value in values}
        return bool(theirs) and bool(self.values) and theirs.isdisjoint(isinstance(v, str) for v in self.values)

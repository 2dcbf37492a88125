"""One plain cell as a number, for scoring one record at a time."""

from __future__ import annotations

from typing import Any

from bayeskit.data.numbers import LARGEST

Row = tuple[float, ...]
WIDEST = 2**63  # integers below it in size are read as 64 bits


class Odd(Exception):
    """A record that is not for here: it is scored as a table, which also says what is wrong with it."""


def number(cell: Any) -> float | None:
    """A cell as a float, None where it is missing.

    >>> number(3), number(None), number(float("nan"))
    (3.0, None, None)
    """
    kind = type(cell)
    if kind is float:
        if -LARGEST <= cell <= LARGEST:
            return float(cell)
        if cell != cell:
            return None
        raise Odd
    if cell is None:
        return None
    if kind is str or not -WIDEST < cell < WIDEST:
        raise Odd
    return float(cell)

"""Columns of Python objects: they have the type that their cells share, missing ones aside.

Frames and arrays hold numbers as objects where something else stood beside them, such as after a transformer of
scikit-learn. A column of texts is told by its first cell, at no cost; only of the others all cells are looked at.
"""

from __future__ import annotations

from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from bayeskit.data.schema import Kind
from bayeskit.data.source import Column
from bayeskit.typing import Array

NUMBERS = (int, float, Decimal, np.integer, np.floating)
MISSING = ("NoneType", "NAType", "NaTType")  # pandas' own by name: it need not be there
MOMENTS = (date, time, timedelta, np.datetime64, np.timedelta64)


def in_its_type(column: Array) -> Column:
    """The column as Arrow has numbers and truths, where all its cells are such; else as it is.

    >>> str(in_its_type(np.array([1, None, 2.5], dtype=object)).type)
    'double'
    >>> in_its_type(np.array([1, "two"], dtype=object)).dtype
    dtype('O')
    """
    if not isinstance(first_cell(column), (*NUMBERS, np.bool_)):
        return column
    import pyarrow as pa

    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError):  # mixed, or numbers that Arrow has no one type for
        return column


def object_kind(column: Array) -> Kind:
    """What the cells share.

    >>> [object_kind(np.array(cells, dtype=object)) for cells in ([2**70, 0.5], [date(2024, 5, 1), None], [1, "two"])]
    ['float', 'date', 'object']
    >>> object_kind(np.array(["1", None], dtype=object)), object_kind(np.array([None, np.nan], dtype=object))
    ('string', 'null')
    """
    first = first_cell(column)
    if first is None:
        return "null"
    if isinstance(first, str):
        return "string"  # or mixed with others: either is categorical
    cells = column.tolist()
    types = {kind for kind in set(map(type, cells)) if kind.__name__ not in MISSING}
    if float in types and not any(type(cell) is float and cell == cell for cell in cells):
        types.discard(float)  # NaN alone
    if types <= {bool, np.bool_}:
        return "boolean"
    if all(issubclass(kind, NUMBERS) and kind is not bool for kind in types):
        return "float"
    return "date" if all(issubclass(kind, MOMENTS) for kind in types) else "object"


def first_cell(column: Array) -> Any:
    """The first cell that is not missing; None where all are."""
    return next((cell for cell in column if not is_missing(cell)), None)


def is_missing(cell: Any) -> bool:
    """None, NaN, NA or NaT."""
    if type(cell).__name__ in MISSING:
        return True
    return isinstance(cell, (float, np.floating, Decimal)) and bool(cell != cell)

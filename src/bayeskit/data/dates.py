"""Extract parts of dates: year, month, day, weekday or hour."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from bayeskit.arrow_arrays import Column, as_one_array, is_arrow
from bayeskit.data.schema import WEEKDAYS
from bayeskit.errors import SchemaMismatch, format_setting

if TYPE_CHECKING:
    import pyarrow as pa


def date_part(column: Column, part: str, name: str, start: int = 0) -> pa.Array:
    """Return one part of each date, null if missing; timestamps with a zone are read in UTC, strings as ISO 8601.

    >>> import numpy as np
    >>> days = np.array(["2024-05-01", "NaT", "2024-12-31"], dtype="M8[D]")
    >>> date_part(days, "month", "day").to_pylist(), date_part(days, "weekday", "day").to_pylist()
    ([5, None, 12], ['Wed', None, 'Tue'])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    moments = _moments(column, name, start)
    if part == "weekday":
        codes = pc.day_of_week(moments, count_from_zero=True).cast(pa.int8())
        return pa.DictionaryArray.from_arrays(codes, pa.array(WEEKDAYS))
    of_part: Any = getattr(pc, part)
    return of_part(moments)


def _moments(column: Column, name: str, start: int) -> pa.Array:
    """Convert dates of any form to Arrow timestamps without a zone."""
    import pyarrow as pa
    import pyarrow.types as types

    try:
        array = as_one_array(column) if is_arrow(column) else pa.array(column, from_pandas=True)
        if types.is_dictionary(array.type):
            array = array.cast(array.type.value_type)
        texts = types.is_string(array.type) or types.is_large_string(array.type) or types.is_string_view(array.type)
        if texts or types.is_date(array.type) or types.is_timestamp(array.type) or types.is_null(array.type):
            return array.cast(pa.timestamp("us"), safe=False)
    except (pa.ArrowException, TypeError, OverflowError, UnicodeError):
        pass
    raise _no_date(column, name, start)


def _no_date(column: Column, name: str, start: int) -> SchemaMismatch:
    cells = column.to_pylist() if is_arrow(column) else column.tolist()
    for row, cell in enumerate(cells):
        if cell is not None and cell == cell and not _is_date(cell):
            return SchemaMismatch(
                f"column {name!r} has {cell!r} in row {start + row}, which is no date (such as 2024-05-01 or "
                "2024-05-01 17:30).",
                hint=f"Mend or empty the cell, or declare {format_setting('roles', {name: 'ignore'})}.",
            )
    return SchemaMismatch(f"column {name!r} cannot be read as dates: give all of them one form")


def _is_date(cell: object) -> bool:
    if isinstance(cell, str):
        try:
            return datetime.fromisoformat(cell) is not None
        except ValueError:
            return False
    return hasattr(cell, "year")

"""Convert columns to floats; a cell that is not a number or too large raises an error with its row."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bayeskit.arrow_arrays import Column, as_doubles, as_one_array, filled, is_arrow, view
from bayeskit.data.factors import not_scalar
from bayeskit.data.frames import NUMBERS, is_missing
from bayeskit.data.vocabulary import canonical
from bayeskit.errors import BayesError, SchemaMismatch, format_setting
from bayeskit.typing import Array, Floats

LARGEST = 1e150  # a square must not overflow


def as_floats(column: Column, name: str, start: int) -> Floats:
    """Convert a column to float64 with NaN for missing cells; a view if possible."""
    if isinstance(column, np.ndarray):
        if column.dtype == np.float64:
            return column
        if column.dtype.kind in "fiub":
            return column.astype(np.float64)
        if column.dtype.kind in "Mm":
            numbers = column.astype(f"{column.dtype.kind}8[us]").view(np.int64) / 1e6
            numbers[np.isnat(column)] = np.nan
            return numbers
    import pyarrow as pa
    import pyarrow.types as types

    try:
        array = as_one_array(column) if is_arrow(column) else pa.array(column, from_pandas=True)
        if types.is_dictionary(array.type):
            array = array.cast(array.type.value_type)
        if types.is_temporal(array.type):
            moment = pa.duration("us") if types.is_duration(array.type) else pa.timestamp("us")
            moment = pa.time64("us") if types.is_time(array.type) else moment
            numbers = array.cast(moment, safe=False).cast(pa.int64()).cast(pa.float64(), safe=False)
            return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64) / 1e6
        if types.is_boolean(array.type):
            array = array.cast(pa.uint8())
        numbers = as_doubles(array)
        return view(filled(numbers, np.full(1, np.nan)) if numbers.null_count else numbers)
    except OverflowError:  # integers beyond 64 bits, as objects
        return _checked_numbers(column, name, start)
    except (pa.ArrowException, UnicodeError):
        if not is_arrow(column) and all(is_missing(cell) or isinstance(cell, (*NUMBERS, np.bool_)) for cell in column):
            return _checked_numbers(column, name, start)  # of several types, such as decimals beside floats
        raise _not_a_number(column, name, start) from None


def _checked_numbers(column: Array, name: str, start: int) -> Floats:
    try:
        return np.array([canonical(cell) for cell in column], dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        raise _not_a_number(column, name, start) from None


def _not_a_number(column: Column, name: str, start: int) -> SchemaMismatch:
    cells = column.to_pylist() if is_arrow(column) else column.tolist()
    for row, cell in enumerate(cells):
        try:
            float(cell if cell is not None else "nan")
        except (OverflowError, TypeError, ValueError):
            if cell is not None and not isinstance(cell, (str, bytes)) and not np.isscalar(cell):
                return not_scalar(name, start + row, cell)  # type: ignore[return-value]
            return SchemaMismatch(
                f"column {name!r} has {cell!r} in row {start + row}, which is no number.",
                hint=f"Mend or empty the cell, or declare {format_setting('roles', {name: 'categorical'})}.",
            )
    return SchemaMismatch(f"column {name!r} cannot be read as numbers")


def raise_unusable(floats: Mapping[str, Floats], start: int) -> None:
    """Raise an error for the first infinite or huge number of a block."""
    for name, column in floats.items():
        rows = np.flatnonzero(np.abs(column) > LARGEST)
        if len(rows):
            value = column[rows[0]]
            what = "infinity or a value too large" if np.isinf(value) else "a value too large (beyond 1e150)"
            raise BayesError(
                f"Input X contains {what} for dtype('float64'): column {name!r} has {value} in row {start + rows[0]}. "
                "Replace it by a number or by a missing cell."
            )

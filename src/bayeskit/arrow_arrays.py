"""Convert columns to Arrow or NumPy arrays without importing pandas."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayeskit.lazy import pa, pc
from bayeskit.typing import Array

# List length from which importing pandas pays off.
MANY = 100_000

Column = Any
"""A column: ``np.ndarray``, ``pa.Array`` or ``pa.ChunkedArray``."""


def arrow_array(values: Any, nan_is_missing: bool = False) -> pa.Array:
    """Convert a list or a NumPy array as ``pyarrow.array`` does.

    >>> arrow_array(["rain", None]).to_pylist(), str(arrow_array([0.5, 1.0]).type), str(arrow_array([1, 2]).type)
    (['rain', None], 'double', 'int64')
    """
    if isinstance(values, np.ndarray) and values.ndim == 1:
        if values.dtype.kind in "fiu" and values.dtype.isnative and not nan_is_missing:
            return _numbers(values)
        values = values.tolist()
    plain = isinstance(values, (list, tuple)) and len(values) < MANY and "pandas" not in sys.modules
    kinds = set(map(type, values)) if plain else set()
    if kinds == {float}:
        numbers = np.array(values)
        if not (nan_is_missing and np.isnan(numbers).any()):
            return _numbers(numbers)
    elif kinds == {int} and min(values) >= -(2**63) and max(values) < 2**63:
        return _numbers(np.array(values, dtype=np.int64))
    elif str in kinds and kinds <= {str, type(None)}:
        return _texts(values)
    return pa.array(values, from_pandas=nan_is_missing)


def filled(array: pa.Array, one: Array) -> pa.Array:
    """Replace nulls by the single value of an array."""
    return pc.fill_null(array, pa.Array.from_buffers(array.type, 1, [None, pa.py_buffer(one)])[0])


def view(array: pa.Array) -> Array:
    """Return Arrow numbers without nulls as a NumPy view."""
    return aligned(np.from_dlpack(array))


def _numbers(values: Array) -> pa.Array:
    kind = pa.float64() if values.dtype == np.float64 else pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def _texts(values: Sequence[str | None]) -> pa.Array:
    """Convert strings to Arrow, through one buffer if there are many and all are one byte per character."""
    joined = "" if len(values) < 20 or None in values else "".join(values)  # type: ignore[arg-type]
    if joined and joined.isascii() and len(joined) < 2**31:
        ends = np.zeros(len(values) + 1, dtype=np.int32)
        np.cumsum(np.fromiter(map(len, values), np.int32, len(values)), out=ends[1:])  # type: ignore[arg-type]
        return pa.StringArray.from_buffers(len(values), pa.py_buffer(ends), pa.py_buffer(joined.encode()))
    texts = pa.lib.StringBuilder()
    texts.append_values(values)
    return texts.finish()


def as_doubles(array: pa.Array) -> pa.Array:
    """Convert numbers to the nearest doubles; decimals go through their digits because Arrow's cast may be inexact.

    >>> from decimal import Decimal
    >>> import pyarrow as pa
    >>> as_doubles(pa.array([Decimal("-0.07"), Decimal("1.15")])).to_pylist()
    [-0.07, 1.15]
    """
    exact = array.cast(pa.string()) if pa.types.is_decimal(array.type) else array
    return exact.cast(pa.float64(), safe=False)


def cut(column: Column, start: int, stop: int) -> Column:
    """Return rows start..stop of a column, without a copy if the bytes are aligned and in native order."""
    if not isinstance(column, np.ndarray):
        return column.slice(start, stop - start)
    part = column[start:stop]
    return aligned(part) if part.dtype.isnative else part.astype(part.dtype.newbyteorder("="))


def aligned(array: Array) -> Array:
    """Return an array aligned to its type, as the kernels require; copy it if necessary.

    >>> record = np.zeros(2, dtype=[("flag", "u1"), ("x", "f8")])
    >>> record["x"].flags.aligned, aligned(record["x"]).flags.aligned
    (False, True)
    """
    return array if array.flags.aligned else array.copy()


def is_arrow(column: Column) -> bool:
    """Return True if a column is an Arrow array (NumPy arrays have no ``type``)."""
    return not isinstance(column, np.ndarray)


def as_one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a chunked column as one array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 0:
        return pa.nulls(0, column.type)
    if column.num_chunks > 1 and pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def take_cells(column: Column, rows: Array) -> Column:
    """Return the cells of a column at the given rows."""
    return plain_strings(column).take(rows) if is_arrow(column) else column[rows]


def plain_strings(column: Column) -> Column:
    """Convert polars string views to plain strings, which Arrow can index."""
    return column.cast(pa.large_string()) if is_arrow(column) and pa.types.is_string_view(column.type) else column

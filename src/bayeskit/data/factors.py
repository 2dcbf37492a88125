"""Encode a column as indices into its distinct values; a cell that is not a scalar raises an error with its row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.arrow_arrays import Column, as_one_array, filled, is_arrow, view
from bayeskit.data.vocabulary import Value, canonical
from bayeskit.errors import BayesError, NotScalar
from bayeskit.typing import Array, Ints

if TYPE_CHECKING:
    import pyarrow as pa

MANY = 256  # objects other than strings that are told apart one by one
NARROW = 1_024  # integers within this span are coded without looking for the values in between


@dataclass
class Factor:
    """A column as integer indices: index ``low + i`` stands for ``values[i]``, None for a missing cell."""

    indices: Array
    low: int
    values: Any  # Sequence[Value | None], or None where still unknown
    table: npt.NDArray[np.uint32] | None = None


def factor_integers(columns: Sequence[Array], names: Sequence[str], n_threads: int) -> list[Factor]:
    """Encode integer columns; integers in a narrow range are their own indices."""
    if not columns:
        return []
    low, high = kernels.int_ranges(columns, n_threads)
    return [
        Factor(column, least, range(least, most + 1)) if most - least <= NARROW else factor_values(column, name, 0)
        for column, name, least, most in zip(columns, names, low.tolist(), high.tolist(), strict=True)
    ]


def beyond_int64(column: Array) -> bool:
    """Return True if some integer does not fit int64, which the kernels require."""
    return column.dtype == np.uint64 and bool(column.max(initial=0) > np.iinfo(np.int64).max)


def factor_values(column: Column, name: str, start: int) -> Factor:
    """Encode any column as indices into its distinct values."""
    import pyarrow as pa

    if not is_arrow(column):
        if column.dtype == object and (factored := kernels.factor_strings(column, MANY)) is not None:
            indices, first = factored
            return Factor(indices, 0, _canonical_cells(column[first].tolist(), name, start + first))
        try:
            column = pa.array(column, from_pandas=True)
        except (pa.ArrowException, OverflowError, UnicodeError):
            return _factor_objects(column, name, start)
    array = as_one_array(column)
    if pa.types.is_null(array.type):
        return Factor(np.zeros(len(array), dtype=np.uint8), 0, [None])
    if pa.types.is_nested(array.type):
        row = next(i for i in range(len(array)) if array[i].is_valid)
        raise not_scalar(name, start + row, array[row].as_py())
    if pa.types.is_timestamp(array.type):  # those with a zone in UTC, as everywhere
        array = array.cast(pa.timestamp("us", array.type.tz and "UTC"), safe=False)
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    indices = array.indices
    if indices.null_count:
        indices = indices.cast(pa.int32()) if pa.types.is_unsigned_integer(indices.type) else indices
        indices = filled(indices, np.full(1, -1, dtype=f"i{indices.type.bit_width // 8}"))
    return Factor(view(indices), -1, [None, *_canonical_all(array.dictionary, name)])


def _canonical_all(values: pa.Array, name: str) -> list[Value | None]:
    import pyarrow.types as types

    try:
        listed: list[Any] = values.to_pylist()
        is_text = types.is_string(values.type) or types.is_large_string(values.type)
        return listed if is_text else [canonical(value) for value in listed]
    except UnicodeDecodeError as problem:
        raise BayesError(
            f"column {name!r} holds bytes that are no text ({problem.object[:20]!r}): write it again as UTF-8"
        ) from None
    except BayesError as problem:
        raise problem.within(f"column {name!r}") from None


def _factor_objects(column: Array, name: str, start: int) -> Factor:
    """Encode cells of mixed types by equality, with a dict."""
    cells = column.tolist()
    try:
        distinct = list(dict.fromkeys(cells))
    except TypeError:  # a cell that has no hash is no scalar
        _canonical_cells(cells, name, np.arange(start, start + len(cells)))
        raise
    index = {cell: i for i, cell in enumerate(distinct)}
    indices = np.fromiter(map(index.__getitem__, cells), dtype=np.int64, count=len(cells))
    first = np.full(len(distinct), len(cells))
    np.minimum.at(first, indices, np.arange(len(cells)))
    return Factor(indices, 0, _canonical_cells(distinct, name, start + first))


def _canonical_cells(cells: Sequence[Any], name: str, rows: Ints) -> list[Value | None]:
    """Convert the cells of these rows to plain values; raise an error for the first that is not a scalar."""
    values = []
    for cell, row in zip(cells, rows.tolist(), strict=True):
        try:
            values.append(canonical(cell))
        except NotScalar:
            raise not_scalar(name, row, cell) from None
        except BayesError as problem:
            raise problem.within(f"column {name!r}, row {row}") from None
    return values


def not_scalar(name: str, row: int, cell: object) -> NotScalar:
    """Build the error for a cell that is a list, a set or similar."""
    return NotScalar(
        f"column {name!r} has {str(cell)[:40]} in row {row}, which is no single value: "
        "a cell's argument must be a string or a number. Split it into columns of its own."
    )

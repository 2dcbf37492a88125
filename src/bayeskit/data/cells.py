"""Convert columns to numbers, to indices into their distinct values, or to parts of dates.

A cell that does not fit raises an error that names its column and row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.arrow_arrays import Column, as_doubles, as_one_array, filled, is_arrow, view
from bayeskit.data.schema import WEEKDAYS, Kind, Role, WrittenNumber
from bayeskit.data.vocabulary import Value, canonical
from bayeskit.errors import BayesError, NotScalar, SchemaMismatch, format_setting
from bayeskit.lazy import pa, pc
from bayeskit.typing import Array, Floats, Ints

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
    check_years(array, name, start)
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    indices = array.indices
    if indices.null_count:
        indices = indices.cast(pa.int32()) if pa.types.is_unsigned_integer(indices.type) else indices
        indices = filled(indices, np.full(1, -1, dtype=f"i{indices.type.bit_width // 8}"))
    return Factor(view(indices), -1, [None, *_canonical_all(array.dictionary, name)])


def _canonical_all(values: pa.Array, name: str) -> list[Value | None]:
    try:
        if getattr(values.type, "unit", None) == "ns":
            if pa.types.is_duration(values.type):
                return [None if number != number else number for number in _seconds(values).tolist()]
            return _nanosecond_texts(values)
        if pa.types.is_timestamp(values.type):  # those with a zone in UTC, as everywhere
            values = values.cast(pa.timestamp("us", values.type.tz and "UTC"))
        listed: list[Any] = values.to_pylist()
        is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
        return listed if is_text else [canonical(value) for value in listed]
    except UnicodeDecodeError as problem:
        raise BayesError(
            f"column {name!r} holds bytes that are not text ({problem.object[:20]!r}): write it again as UTF-8"
        ) from None
    except (pa.ArrowException, OverflowError) as problem:
        raise BayesError(f"column {name!r} has a time that is too large: {problem}") from None
    except BayesError as problem:
        raise problem.within(f"column {name!r}") from None


def _nanosecond_texts(values: pa.Array) -> list[Value | None]:
    """Return times in nanoseconds as ISO texts, of nine decimals where microseconds do not hold them.

    >>> import pyarrow as pa
    >>> _nanosecond_texts(pa.array([1_000, 1_001, None], pa.timestamp("ns")))
    ['1970-01-01T00:00:00.000001', '1970-01-01T00:00:00.000001001', None]
    """
    is_time = pa.types.is_time(values.type)
    numbers = filled(values.view(pa.int64()), np.zeros(1, dtype=np.int64))
    micros, rest = np.divmod(view(numbers), 1_000)
    shorter = pa.time64("us") if is_time else pa.timestamp("us", values.type.tz and "UTC")
    moments = pa.array(micros, mask=np.asarray(values.is_null())).view(shorter).to_pylist()
    texts: list[Value | None] = []
    for moment, nanos in zip(moments, rest.tolist(), strict=True):
        text = moment and canonical(moment)
        if nanos and moment is not None:
            text = moment.isoformat(timespec="microseconds")
            end = text.index(".") + 7
            text = f"{text[:end]}{nanos:03}{text[end:]}"
        texts.append(text)
    return texts


FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # of the years 1 to 9999, counted from 1970
DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}


def check_years(array: pa.Array, name: str, start: int) -> None:
    """Raise an error for dates outside the years 1 to 9999, such as a database's infinity."""
    if not (pa.types.is_date(array.type) or pa.types.is_timestamp(array.type)):
        return
    if array.type == pa.date32():
        numbers, a_day = array.view(pa.int32()), 1
    else:
        numbers, a_day = array.view(pa.int64()), DAY.get(getattr(array.type, "unit", "ms"), 0)
    least, most = FIRST_DAY * a_day, (LAST_DAY + 1) * a_day - 1
    ends = pc.min_max(numbers)
    # Nanoseconds reach from 1677 to 2262.
    if a_day and ends["min"].is_valid and (ends["min"].as_py() < least or ends["max"].as_py() > most):
        beyond = pc.or_(pc.less(numbers, least), pc.greater(numbers, most))
        row = int(pc.index(beyond, True).as_py())
        raise beyond_years(name, f"row {start + row}")


def beyond_years(name: str, place: str) -> SchemaMismatch:
    """Build the error for a date before the year 1 or after 9999."""
    return SchemaMismatch(
        f"column {name!r} has an infinite date, or one outside the years 1 to 9999, in {place}.",
        hint=f"Correct or empty the cell, or declare {format_setting('roles', {name: 'ignore'})}.",
    )


def _factor_objects(column: Array, name: str, start: int) -> Factor:
    """Encode cells of mixed types by equality, with a dict."""
    cells = column.tolist()
    try:
        distinct = list(dict.fromkeys(cells))
    except TypeError:  # a cell that has no hash is not a scalar
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
        f"column {name!r} has {str(cell)[:40]} in row {row}, which is not a single value: "
        "a cell's argument must be a string or a number. Split it into columns of its own."
    )


LARGEST = 1e150  # a square must not overflow
IN_CACHE = 1 << 13  # rows whose cells stay in the cache while the columns are visited
NUMBERS = (int, float, Decimal, np.integer, np.floating)
MISSING = ("NoneType", "NAType", "NaTType")  # pandas' own by name: it need not be there
MOMENTS = (date, time, timedelta, np.datetime64, np.timedelta64)


def in_its_type(column: Array) -> Column:
    """Convert a column of numbers or booleans to its Arrow type; return any other column unchanged.

    >>> str(in_its_type(np.array([1, None, 2.5], dtype=object)).type)
    'double'
    >>> in_its_type(np.array([1, "two"], dtype=object)).dtype
    dtype('O')
    """
    if not isinstance(first_cell(column), (*NUMBERS, np.bool_)):
        return column
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError):  # mixed, or numbers that Arrow has no one type for
        return column


def object_kind(column: Array) -> Kind:
    """Return the kind that the cells of an object column share.

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
    """Return the first cell that is not missing; None if all are missing."""
    return next((cell for cell in column if not is_missing(cell)), None)


def is_missing(cell: Any) -> bool:
    """Return True for None, NaN, NA and NaT."""
    if type(cell).__name__ in MISSING:
        return True
    return isinstance(cell, (float, np.floating, Decimal)) and bool(cell != cell)


def plain_array(column: Column) -> pa.Array:
    """Return a column as one Arrow array, with a dictionary decoded."""
    array = as_one_array(column) if is_arrow(column) else pa.array(column, from_pandas=True)
    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array


def as_floats(column: Column, name: str, start: int) -> Floats:
    """Convert a column to float64 with NaN for missing cells; a view if possible."""
    if isinstance(column, np.ndarray):
        if column.dtype == np.float64:
            return column
        if column.dtype.kind in "fiub":
            return column.astype(np.float64)
        if column.dtype.kind in "Mm" and np.datetime_data(column.dtype)[0] not in ("s", "ms", "us", "ns"):
            column = column.astype(f"{column.dtype.kind}8[s]")
    try:
        array = plain_array(column)
        if pa.types.is_temporal(array.type):
            check_years(array, name, start)
            return _seconds(array)
        if pa.types.is_boolean(array.type):
            array = array.cast(pa.uint8())
        numbers = as_doubles(array)
        return view(filled(numbers, np.full(1, np.nan)) if numbers.null_count else numbers)
    except OverflowError:  # integers beyond 64 bits, as objects
        return _checked_numbers(column, name, start)
    except (pa.ArrowException, UnicodeError):
        if not is_arrow(column) and all(is_missing(cell) or isinstance(cell, (*NUMBERS, np.bool_)) for cell in column):
            return _checked_numbers(column, name, start)  # of several types, such as decimals beside floats
        raise _not_a_number(column, name, start) from None


def _seconds(array: pa.Array) -> Floats:
    """Convert times to seconds, NaN if missing: whole microseconds first, so that every unit gives the same number."""
    nanos = getattr(array.type, "unit", None) == "ns"
    if nanos:
        micros = pc.divide(array.view(pa.int64()), 1_000)
        rest = pc.subtract(array.view(pa.int64()), pc.multiply(micros, 1_000))
    else:
        moment = pa.duration("us") if pa.types.is_duration(array.type) else pa.timestamp("us")
        moment = pa.time64("us") if pa.types.is_time(array.type) else moment
        micros = array.cast(moment).cast(pa.int64())
    seconds = np.asarray(micros.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64) / 1e6
    return seconds + rest.to_numpy(zero_copy_only=False) / 1e9 if nanos else seconds


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
            role = "number" if isinstance(cell, str) and parse_number(cell) is not None else "categorical"
            return SchemaMismatch(
                f"column {name!r} has {cell!r} in row {start + row}, which is not a number.",
                hint=f"Correct or empty the cell, or declare {format_setting('roles', {name: role})}.",
            )
    return SchemaMismatch(f"column {name!r} cannot be read as numbers")


WRITTEN = re.compile(
    r"\s*([-+]?)\s*[$€£¥₹₩₽₺]?\s*([-+]?)\s*(\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*"
    r"(%|[kKMBT](?![a-zA-Z]))?\s*[$€£¥₹₩₽₺]?\s*"
)
UNITS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}


def parse_number(text: str) -> float | None:
    """Return the number that a text writes, with a currency sign, thousands, a percent sign or K, M, B, T.

    >>> [parse_number(text) for text in ("$50,000", "57%", "125K", "-€1.5M", "7,85", "cheap")]
    [50000.0, 0.57, 125000.0, -1500000.0, None, None]
    """
    found = WRITTEN.fullmatch(text)
    if found is None or (found[1] and found[2]):
        return None
    number = float(found[1] + found[2] + found[3].replace(",", "") + (found[4] or ""))
    return number / 100 if found[5] == "%" else number * UNITS[found[5] or ""]


def numbers_of(column: Column, role: Role, name: str, start: int) -> Floats:
    """Convert a column of a numeric role to float64 with NaN for missing cells; texts as `parse_number` does."""
    return _parse_numbers(column, name, start) if isinstance(role, WrittenNumber) else as_floats(column, name, start)


def _parse_numbers(column: Column, name: str, start: int) -> Floats:
    if not is_arrow(column) and column.dtype.kind in "fiubMm":
        return as_floats(column, name, start)
    factor = factor_values(column, name, start)
    indices = factor.indices.astype(np.int64) - factor.low
    numbers = np.full(len(factor.values), np.nan)
    for i, value in enumerate(factor.values):
        if value is None or (isinstance(value, str) and not value.strip()):
            continue
        number = parse_number(value) if isinstance(value, str) else float(value)
        if number is not None:
            numbers[i] = number
        elif len(rows := np.flatnonzero(indices == i)):
            raise SchemaMismatch(
                f"column {name!r} has {value!r} in row {start + int(rows[0])}, which is not a number (such as "
                "1,250.5, $50,000, 57% or 125K).",
                hint=f"Correct or empty the cell, or declare {format_setting('roles', {name: 'categorical'})}.",
            )
    return numbers[indices]


def raise_unusable(floats: Mapping[str, Floats], start: int) -> None:
    """Raise an error for the first infinite or huge number of a block."""
    n_rows = max(map(len, floats.values()), default=0)
    parts = (column[at : at + IN_CACHE] for at in range(0, n_rows, IN_CACHE) for column in floats.values())
    if not any((np.abs(part) > LARGEST).any() for part in parts):
        return
    for name, column in floats.items():
        rows = np.flatnonzero(np.abs(column) > LARGEST)
        if len(rows):
            value = column[rows[0]]
            what = "infinity or a value too large" if np.isinf(value) else "a value too large (beyond 1e150)"
            raise BayesError(
                f"Input X contains {what} for dtype('float64'): column {name!r} has {value} in row {start + rows[0]}. "
                "Replace it by a number or by a missing cell."
            )


def date_part(column: Column, part: str, name: str, start: int = 0) -> pa.Array:
    """Return one part of each date, null if missing; timestamps with a zone are read in UTC, strings as ISO 8601.

    >>> import numpy as np
    >>> days = np.array(["2024-05-01", "NaT", "2024-12-31"], dtype="M8[D]")
    >>> date_part(days, "month", "day").to_pylist(), date_part(days, "weekday", "day").to_pylist()
    ([5, None, 12], ['Wed', None, 'Tue'])
    """
    moments = _moments(column, name, start)
    if part == "weekday":
        codes = pc.day_of_week(moments, count_from_zero=True).cast(pa.int8())
        return pa.DictionaryArray.from_arrays(codes, pa.array(WEEKDAYS))
    of_part: Any = getattr(pc, part)
    return of_part(moments)


def _moments(column: Column, name: str, start: int) -> pa.Array:
    """Convert dates of any form to Arrow timestamps without a zone."""
    try:
        array = plain_array(column)
        texts = (
            pa.types.is_string(array.type)
            or pa.types.is_large_string(array.type)
            or pa.types.is_string_view(array.type)
        )
        check_years(array, name, start)
        if texts or pa.types.is_date(array.type) or pa.types.is_timestamp(array.type) or pa.types.is_null(array.type):
            return array.cast(pa.timestamp("us"), safe=False)
    except (pa.ArrowException, TypeError, OverflowError, UnicodeError):
        pass
    raise _no_date(column, name, start)


def _no_date(column: Column, name: str, start: int) -> SchemaMismatch:
    cells = column.to_pylist() if is_arrow(column) else column.tolist()
    for row, cell in enumerate(cells):
        if cell is not None and cell == cell and not _is_date(cell):
            return SchemaMismatch(
                f"column {name!r} has {cell!r} in row {start + row}, which is not a date (such as 2024-05-01 or "
                "2024-05-01 17:30).",
                hint=f"Correct or empty the cell, or declare {format_setting('roles', {name: 'ignore'})}.",
            )
    return SchemaMismatch(f"column {name!r} cannot be read as dates: give all of them one form")


def _is_date(cell: object) -> bool:
    if isinstance(cell, str):
        try:
            return datetime.fromisoformat(cell) is not None
        except ValueError:
            return False
    return hasattr(cell, "year")

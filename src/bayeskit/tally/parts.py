"""A tally as a plain header and arrays, and back: each statistic reads and checks its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import lt
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from bayeskit.data.schema import NO_TARGET, Schema
from bayeskit.data.vocabulary import Value, canonical, sort_values
from bayeskit.errors import BadFile
from bayeskit.storage.container import ValueList
from bayeskit.tally.matching import check_one_kind
from bayeskit.tally.plan import Request
from bayeskit.tally.space import Space, declared_values
from bayeskit.tally.statistic import Parts, Statistic, statistic_of
from bayeskit.typing import Array, Counts

if TYPE_CHECKING:
    from bayeskit.tally.tally import Tally

LARGEST = 2**53  # rows
T = TypeVar("T", bound="Tally")


def tally_to_parts(tally: Tally) -> Parts:
    """(plain header, arrays): the class counts first, then those of each statistic."""
    statistics, arrays = [], [tally.class_counts]
    for statistic in tally.statistics.values():
        details, more = statistic.to_parts()
        statistics.append([statistic.request.to_json(), details, len(more)])
        arrays += more
    header = {
        "schema": tally.schema.to_json(),
        "classes": [] if tally.schema.target == NO_TARGET else list(tally.classes),
        "values": [[name, list(values)] for name, values in tally.space.values.items()],
        "statistics": statistics,
    }
    return header, arrays


def tally_from_parts(
    make: Callable[[Space, Counts, Mapping[str, Statistic]], T], header: Any, arrays: list[Array]
) -> T:
    """The tally of :func:`tally_to_parts`; :class:`BadFile` where any part of it cannot be what it says."""
    try:
        space, requests = _outline(header, arrays)
        statistics, at, used = {}, 1, {*space.schema.used}
        for request, details, n_arrays in requests:
            kind = statistic_of(request.kind, BadFile)
            named = request.columns and all(isinstance(part, tuple) == kind.by_column_set for part in request.columns)
            known = kind.counts_classes or set(request.names) <= used
            if not named or request.kind in statistics or not known:
                raise BadFile("the tally's statistics do not fit its schema")
            parts = arrays[at : at + n_arrays]
            if not kind.may_hold_nan:
                _check_finite(*parts)
            statistics[request.kind] = kind.from_parts(request, details, parts, space)
            at += n_arrays
        # Lists of values are made only now, when all arrays are known to have their sizes.
        values = {n: _rising(listed, declared_values(space.schema, n)) for n, listed in space.values.items()}
        classes = _rising(space.classes)
        check_one_kind(classes)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise BadFile(f"this is no tally: {problem!r}") from None
    tally = make(Space(space.schema, classes, values, space.weighted), arrays[0], statistics)
    for statistic in statistics.values():
        statistic.check(tally)
    _check_tidy(tally)
    return tally


def _outline(header: Any, arrays: list[Array]) -> tuple[Space, list[tuple[Request, Any, int]]]:
    """The space, its values still as they were read, and what was counted: enough to judge every array by its size."""
    schema = Schema.from_json(header["schema"])
    values = {str(name): listed for name, listed in header["values"]}
    requests = [(Request.from_json(asked), details, n_arrays) for asked, details, n_arrays in header["statistics"]]
    if len(values) < len(header["values"]) or not values.keys() <= set(schema.coded()):
        raise BadFile("the tally's values do not fit its schema")
    if any(type(n) is not int or n < 0 for _, _, n in requests) or len(arrays) != 1 + sum(n for _, _, n in requests):
        raise BadFile("the tally's arrays do not fit its header")
    rows, classes = arrays[0], header["classes"]
    if schema.target == NO_TARGET and classes == []:
        classes = ("",)
    _check_finite(rows)
    if rows.dtype not in (np.int64, np.float64) or rows.shape != (len(classes),):
        raise BadFile("the tally's class counts do not fit its classes")
    total = rows.sum(dtype=np.float64)
    if rows.min(initial=0) < 0 or not np.isfinite(total) or (rows.dtype.kind == "i" and total > LARGEST):
        raise BadFile("the tally counts more rows than there can be, or fewer than none")
    return Space(schema, classes, values, rows.dtype.kind == "f"), requests


def _check_finite(*arrays: Array) -> None:
    """NaN and infinity show in the extremes: no copy of an array is made."""
    for array in arrays:
        if array.dtype.kind == "f" and array.size and not (np.isfinite(array.min()) and np.isfinite(array.max())):
            raise BadFile("the tally holds counts that are negative or no numbers")


def _rising(listed: Any, declared: tuple[Value, ...] = ()) -> tuple[Value, ...]:
    """Values from a file, as declared, or each once and sorted; long lists were looked through already, as bytes."""
    values = tuple(listed)
    if isinstance(listed, ValueList) or (declared and values == declared):
        return values
    if {*map(type, values)} == {str}:
        canonical("".join(values))  # refuses what is no text
        rise = all(map(lt, values, values[1:]))
    else:
        if None in [canonical(value) for value in values]:
            raise BadFile("a class or value is missing")
        rise = sort_values(dict.fromkeys(values)) == list(values)
    if not rise:
        raise BadFile("classes or values are not sorted, or stand there twice")
    return values


def _check_tidy(tally: Tally) -> None:
    """Refuse values and classes that no row shows and no schema declares, or a declared one that is not there."""
    for name, values in tally.space.values.items():
        declared = declared_values(tally.schema, name)
        if (declared and tuple(values) != declared) or (not declared and not tally.shown(name).all()):
            raise BadFile("the tally has values that were never counted, or lacks some that are declared")
    shown_classes = [label for label, n in zip(tally.classes, tally.class_counts, strict=True) if n > 0]
    if {*(tally.schema.target.domain or ()), *shown_classes} != {*tally.classes}:
        raise BadFile("the tally has classes that were never counted, or lacks some that are declared")

"""The forms in which sequences come, as columns of positions and where each sequence begins; checked at the door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from bayeskit.data.frames import arrow_kind, collected, columns_of, from_list, kind_of, label_column
from bayeskit.data.numbers import LARGEST, as_floats
from bayeskit.data.reader import read_batch, together
from bayeskit.data.source import Column, as_one_array, is_source, open_source, taken
from bayeskit.data.vocabulary import canonical
from bayeskit.errors import BayesError, SchemaMismatch, with_article
from bayeskit.nearest import did_you_mean
from bayeskit.typing import Array, Ints

ALONE = "for one alone give a list of one: [sequence]"


@dataclass(frozen=True)
class Positions:
    """All positions one after another: what a :class:`bayeskit.data.sequences.Sequences` is made of."""

    columns: Mapping[str, Column]
    starts: Ints
    named: bool = True
    labels: Column | None = None
    target: str | None = None
    ids: tuple[Any, ...] | None = None
    rows: Ints | None = None


def is_table(data: Any) -> bool:
    """Whether this is a frame, columns by name, records, a file or another source: what has columns to be named."""
    records = isinstance(data, (list, tuple)) and len(data) > 0 and isinstance(data[0], Mapping)
    return records or isinstance(data, (str, Path)) or is_source(data) or _is_table(collected(data))


def as_positions(data: Any, lengths: Any, sequence: str | None, order: str | None, target: str | None) -> Positions:
    """Any form that sequences may come in."""
    if data is None:
        raise BayesError("there is no data: the sequences are None")
    data = collected(data)
    if sequence is not None:
        if lengths is not None:
            raise BayesError(f"the column {sequence!r} says which rows make up a sequence: leave out lengths")
        return _by_id(data, sequence, order, target)
    if order is not None:
        raise BayesError(f"order={order!r} goes with sequence=, the column that says which rows make up a sequence")
    if isinstance(data, (str, Path)) or is_source(data) or _is_table(data):
        return _one_table(data, lengths, target)
    if isinstance(data, np.ndarray) and data.dtype != object:
        return _from_array(data, lengths)
    if lengths is not None:
        flat = list(data)
        return Positions(*_columns(flat, _starts_of(lengths, len(flat))))
    return _from_lists(data)


def check_numbers(columns: Mapping[str, Column], starts: Ints) -> None:
    """Refuse the first number that is infinite or too large, by its place; NaN is a missing cell."""
    for name, column in columns.items():
        if kind_of(column) != "float":
            continue
        x = as_floats(column, name, 0)
        bad = np.abs(x) > LARGEST
        if bad.any():
            at = int(np.argmax(bad))
            i = int(np.searchsorted(starts, at, side="right")) - 1
            what = "infinite" if np.isinf(x[at]) else f"{x[at]:g}, too large (beyond {LARGEST:g})"
            raise BayesError(
                f"step {at - starts[i] + 1} of sequence {i + 1} is {what}{_in_column(name, columns)}: replace it by a "
                "number or by a missing cell",
            )


def _in_column(name: str, columns: Mapping[str, Column]) -> str:
    return f" in column {name!r}" if len(columns) > 1 else ""


def beside(labels: Any, starts: Ints) -> Column:
    """Labels of the positions, in lists as the sequences are or one after another, as one column."""
    n = int(starts[-1])
    if _is_nested(labels):
        column, theirs = _flat_column(labels, "labels")
        if len(theirs) != len(starts):
            raise BayesError(f"there are {len(starts) - 1:,} sequences and labels of {len(theirs) - 1:,}")
        apart = np.flatnonzero(np.diff(theirs) != np.diff(starts))
        if len(apart):
            i = int(apart[0])
            raise BayesError(
                f"sequence {i + 1} has {np.diff(starts)[i]} steps and {np.diff(theirs)[i]} labels: give one label for "
                "each step, None where there is none",
            )
        return column
    column = label_column(labels)[0]
    if len(column) != n:
        raise BayesError(f"the sequences have {n:,} steps in all, and there are {len(column):,} labels")
    return column


def _is_nested(labels: Any) -> bool:
    """Whether labels come in lists, one a sequence."""
    if _is_arrow_list(labels):
        return True
    if isinstance(labels, np.ndarray) and labels.dtype != object:
        return labels.ndim == 2
    if not isinstance(labels, (list, tuple)) and not isinstance(labels, np.ndarray):
        return False
    return any(isinstance(one, (list, tuple, np.ndarray)) or _is_arrow(one) for one in labels)


# -- tables ------------------------------------------------------------------------------------------


def _is_table(data: Any) -> bool:
    """A frame of pandas, polars or Arrow, or columns by name."""
    if isinstance(data, (Mapping, list, tuple)):
        return isinstance(data, Mapping)
    return hasattr(data, "columns") or (hasattr(data, "__arrow_c_stream__") and hasattr(data, "schema"))


def _table(data: Any, target: str | None) -> tuple[dict[str, Column], int, bool, Column | None]:
    """(columns, rows, whether they have names, labels) of a frame or file, whole."""
    if isinstance(data, (str, Path)) or is_source(data):
        source = open_source(data, target)
        batch = read_batch(source)
        columns, n_rows, named = dict(batch.columns), batch.n_rows, source.named
        return columns, n_rows, named, batch.labels
    names, columns, n_rows, named = columns_of(data)
    if target is not None and target not in columns:
        raise _no_column(target, "labels", names)
    return columns, n_rows, named, columns.pop(target) if target is not None else None


def _one_table(data: Any, lengths: Any, target: str | None) -> Positions:
    """A frame is one sequence, or several one after another by their lengths."""
    columns, n_rows, named, labels = _table(data, target)
    return Positions(columns, _starts_of(lengths, n_rows), named, labels, target)


def _by_id(data: Any, sequence: str, order: str | None, target: str | None) -> Positions:
    """Rows that say to which sequence they belong, wherever they stand; sequences in the order of their first rows."""
    columns, _, named, labels = _table(data, target)
    for name, what in ((sequence, "sequence"), (order, "order")):
        if name is not None and name not in columns:
            raise _no_column(name, what, list(columns))
    ids, codes = _groups(columns.pop(sequence), sequence)
    if order is None:
        rows = None if (codes[1:] >= codes[:-1]).all() else np.argsort(codes, kind="stable")
    else:
        ranks = _ranks(columns.pop(order), order)
        rows = np.lexsort((ranks, codes))
    if rows is not None:
        columns = {name: taken(column, rows) for name, column in columns.items()}
        labels = None if labels is None else taken(labels, rows)
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(ids)))])
    if not columns:
        raise BayesError(f"beside {sequence!r} there is no column that the sequences could be made of")
    return Positions(columns, starts.astype(np.int64), named, labels, target, ids, rows)


def _groups(column: Column, name: str) -> tuple[tuple[Any, ...], Ints]:
    """(the different ids in the order in which they come, the number of each row's)"""
    import pyarrow as pa

    array = as_one_array(column) if not isinstance(column, np.ndarray) else pa.array(column, from_pandas=True)
    if array.null_count:
        row = int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
        raise BayesError(f"row {row} has no {name!r}: each row says to which sequence it belongs")
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    encoded = array.dictionary_encode()
    ids = tuple(canonical(value) for value in encoded.dictionary.to_pylist())
    return ids, np.asarray(encoded.indices, dtype=np.int64)


def _ranks(column: Column, name: str) -> Ints:
    """Which place each cell has among all, equal ones by row: of numbers, dates or texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = as_one_array(column) if not isinstance(column, np.ndarray) else pa.array(column, from_pandas=True)
    if array.null_count:
        row = int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
        raise BayesError(f"row {row} has no {name!r}, which says where it stands in its sequence")
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    return np.asarray(pc.rank(array, tiebreaker="first"), dtype=np.int64)


def _no_column(name: str, what: str, names: list[str]) -> SchemaMismatch:
    known = f"(columns: {', '.join(names)}){did_you_mean(name, names) or '.'}"
    return SchemaMismatch(f"there is no column {name!r} for the {what} {known}")


# -- arrays ------------------------------------------------------------------------------------------


def _from_array(array: Array, lengths: Any) -> Positions:
    """(positions, columns) or (positions,), as hmmlearn has them; (sequences, steps, columns)."""
    if array.ndim == 3:
        if lengths is not None:
            raise BayesError(f"an array of shape {array.shape} holds whole sequences: leave out lengths")
        lengths = np.full(array.shape[0], array.shape[1])
        array = array.reshape(-1, array.shape[2])
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    _, columns, n_rows, named = columns_of(array)
    return Positions(columns, _starts_of(lengths, n_rows), named)


def _starts_of(lengths: Any, n_rows: int) -> Ints:
    """Where sequences of these lengths begin; without lengths all rows are one."""
    if lengths is None:
        return np.array([0, n_rows], dtype=np.int64)
    listed = np.asarray(lengths)
    if listed.ndim != 1 or (listed.dtype.kind not in "iu" and listed.size):
        raise BayesError(f"lengths are whole numbers, one for each sequence: got {str(lengths)[:60]}")
    if (listed < 0).any():
        i = int(np.argmax(listed < 0))
        raise BayesError(f"sequence {i + 1} has the length {listed[i]}: lengths are 0 or more")
    if listed.sum() != n_rows:
        raise BayesError(f"the lengths sum to {listed.sum():,}, and there are {n_rows:,} steps")
    return np.concatenate([[0], np.cumsum(listed, dtype=np.int64)])


# -- lists -------------------------------------------------------------------------------------------


def _is_arrow(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "pyarrow"


def _is_arrow_list(data: Any) -> bool:
    """A column of lists in Arrow or polars."""
    kind = getattr(data, "type", None)
    if kind is not None and _is_arrow(data):
        import pyarrow.types as types

        return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))
    return type(data).__module__.partition(".")[0] == "polars" and str(getattr(data, "dtype", "")).startswith("List")


def _from_lists(data: Any) -> Positions:
    if _is_arrow_list(data):
        return _from_arrow(data)
    if isinstance(data, (str, bytes)) or not hasattr(data, "__iter__"):
        raise BayesError(f"{_shown(data)} is no sequences: give a list of lists, an array or a frame")
    return _joined(list(data), "sequences")


def _joined(sequences: list[Any], what: str) -> Positions:
    """Lists, arrays or frames, one a sequence, one after another."""
    for i, one in enumerate(sequences):
        if isinstance(one, (str, bytes, Mapping)) or not hasattr(one, "__len__"):
            raise _no_sequence(i, one, what)
    starts = np.cumsum([0, *map(len, sequences)], dtype=np.int64)
    arrays = [one for one in sequences if (isinstance(one, np.ndarray) and one.dtype != object) or _is_table(one)]
    if not arrays:
        lists = (one.tolist() if hasattr(one, "tolist") else one for one in sequences)
        return Positions(*_columns(list(chain.from_iterable(lists)), starts))
    filled = [one for one in sequences if len(one)] or arrays[:1]
    parts = [columns_of(_two_dimensional(one)) for one in filled]
    names, *_, named = parts[0]
    for part in parts:
        if part[0] != names:
            raise SchemaMismatch(f"the sequences differ in their columns: {', '.join(names)} and {', '.join(part[0])}")
    return Positions({name: together([part[1][name] for part in parts]) for name in names}, starts, named)


def _two_dimensional(sequence: Any) -> Any:
    """(steps, columns), also of a sequence of single values or a list among arrays."""
    array = np.asarray(sequence) if isinstance(sequence, (list, tuple)) else sequence
    return array.reshape(-1, 1) if getattr(array, "ndim", 2) == 1 else array


def _flat_column(labels: Any, what: str) -> tuple[Column, Ints]:
    """Labels that come in lists, as one column."""
    if _is_arrow_list(labels):
        made = _from_arrow(labels)
        return next(iter(made.columns.values())), made.starts
    made = _joined(list(labels), what)
    return next(iter(made.columns.values()), np.zeros(0)), made.starts


def _columns(flat: list[Any], starts: Ints) -> tuple[dict[str, Column], Ints, bool]:
    """Cells as columns: records and rows have several, symbols and numbers are one; none where there is no cell."""
    if not flat:
        return {}, starts, False
    several = [isinstance(cell, (Mapping, list, tuple)) for cell in flat]
    if all(several):
        _, columns, _, named = columns_of(flat)
        return columns, starts, named
    if any(several):
        cell = flat[several.index(True)]
        raise BayesError(f"some steps are single values and some are not, such as {_shown(cell)}")
    if isinstance(flat[0], np.ndarray):
        return _columns([cell.tolist() for cell in flat], starts)
    return {"x0": from_list(flat)}, starts, False


def _from_arrow(data: Any) -> Positions:
    """Arrow lists of values or of records."""
    import pyarrow as pa

    column = as_one_array(data.to_arrow() if hasattr(data, "to_arrow") else data)
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise BayesError(f"sequence {row + 1} is missing: give an empty list where it has no steps")
    lengths = np.asarray(column.value_lengths(), dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    cells = column.flatten()
    if pa.types.is_struct(cells.type):
        named = {field.name: part for field, part in zip(cells.type, cells.flatten(), strict=True)}
        return Positions(named, starts, True)
    if arrow_kind(cells.type) == "object":
        return Positions(*_columns(cells.to_pylist(), starts))
    return Positions({"x0": cells} if len(cells) or not pa.types.is_null(cells.type) else {}, starts, False)


def _no_sequence(i: int, one: Any, what: str) -> BayesError:
    if what == "labels":
        return BayesError(f"labels come in lists as the sequences do, and those of sequence {i + 1} are {_shown(one)}")
    if isinstance(one, str):
        hint = f"a list of symbols is meant, for letters list({one[:20]!r}); {ALONE}"
    else:
        hint = f"a list of steps is meant; {ALONE}"
    return BayesError(f"sequence {i + 1} is {_shown(one)}: {hint}")


def _shown(value: Any) -> str:
    if value is None:
        return "missing"
    text = repr(value)
    return f"{with_article(type(value).__name__)} ({text[:40]}{'…' if len(text) > 40 else ''})"

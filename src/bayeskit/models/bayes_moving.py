"""Learnt rows with + and −: what the counts of the ensemble are made of, moved exactly.

The contexts that are counted have up to five parents, cut differently by every member. All their counts together are
larger than the rows themselves, so the rows are what is kept, added and taken away; the counts follow from them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.schema import Categorical, Numeric, Schema
from bayeskit.data.vocabulary import Value, positions, union
from bayeskit.errors import NotLearnt
from bayeskit.models.bayes_rows import ColumnCodes, LearntRows

Floats = npt.NDArray[np.float64]
ROUNDING = 1e-9  # of the total: weights under it are nothing


def together(a: LearntRows, b: LearntRows) -> LearntRows:
    """The rows of both, columns of ``b`` matched by name."""
    codes, classes = _both(a, b)
    ours, theirs = recoded(a, codes, classes), recoded(b, codes, classes)
    columns = [np.concatenate(pair) for pair in zip(ours.columns, theirs.columns, strict=True)]
    weights = None
    if a.weights is not None or b.weights is not None:
        weights = np.concatenate([_weights(a), _weights(b)])
    return LearntRows(codes, columns, np.concatenate([ours.labels, theirs.labels]), classes, weights)


def without(a: LearntRows, b: LearntRows, schema: Schema) -> LearntRows:
    """The rows of ``a`` but for those of ``b``; a row that is not there as often is refused."""
    codes, classes = _both(a, b)
    ours, theirs = recoded(a, codes, classes), recoded(b, codes, classes)
    mine, gone = _bits(ours), _bits(theirs)
    hashes = _hashes(mine), _hashes(gone)
    maybe = np.flatnonzero(np.isin(hashes[0], hashes[1]))  # few rows go: only these are compared cell by cell
    group = np.unique(np.concatenate([mine[maybe], gone]), axis=0, return_inverse=True)[1].ravel()
    have, less = group[: len(maybe)], group[len(maybe) :]
    n_groups, w = int(group.max(initial=-1)) + 1, _weights(a)
    left = np.bincount(have, w[maybe], n_groups) - np.bincount(less, _weights(b), n_groups)
    left[np.abs(left) <= ROUNDING * a.n] = 0
    if (left < 0).any():
        row = int(np.flatnonzero(left[less] < 0)[0])
        raise NotLearnt(f"row {row} of those to forget was not learnt, or not as often; nothing was changed")
    kept, weights = np.ones(len(w), dtype=bool), w.copy()
    first = np.full(n_groups, -1)
    first[have[::-1]] = maybe[::-1]
    if a.weights is None and b.weights is None:  # the last of equal rows stay
        order = np.argsort(have, kind="stable")
        rank = np.arange(len(have)) - np.searchsorted(have[order], have[order])
        kept[maybe[order]] = rank >= np.bincount(less, minlength=n_groups)[have[order]]
    else:
        touched = np.isin(have, less)
        kept[maybe[touched]] = False
        there = np.unique(less)
        kept[first[there]], weights[first[there]] = left[there] > 0, left[there]
    columns = [column[kept] for column in ours.columns]
    some = None if (weights[kept] == 1).all() else weights[kept]
    return tidy(LearntRows(codes, columns, ours.labels[kept], classes, some), schema)


def tidy(rows: LearntRows, schema: Schema) -> LearntRows:
    """Without values and classes that no row shows and no schema declares."""
    codes = {}
    for (name, how), column in zip(rows.codes.items(), rows.columns, strict=True):
        role = schema.columns[name]
        if how.values is None:
            codes[name] = ColumnCodes(None, bool(np.isnan(column).any()))
            continue
        seen = np.bincount(column, minlength=len(how.values) + 1)
        of_values = seen[1:] if how.missing else seen
        declared = isinstance(role, Numeric) or (isinstance(role, Categorical) and role.domain is not None)
        values = how.values if declared else tuple(v for v, n in zip(how.values, of_values, strict=False) if n)
        codes[name] = ColumnCodes(values, bool(how.missing and seen[0]))
    shown = np.bincount(rows.labels, minlength=len(rows.classes))
    classes = union(schema.target.domain or (), [c for c, n in zip(rows.classes, shown, strict=True) if n])
    return recoded(rows, codes, classes)


def recoded(rows: LearntRows, codes: dict[str, ColumnCodes], classes: tuple[Value, ...]) -> LearntRows:
    """The same rows in other codes, which know every value that occurs; columns in the order of the codes."""
    own = dict(zip(rows.codes, rows.columns, strict=True))
    columns: list[npt.NDArray[Any]] = []
    for name, how in codes.items():
        before = rows.codes[name]
        if before.values is None or how.values is None or how == before:
            columns.append(own[name])
            continue
        table = np.maximum(before.codes_in(how), 0)
        table = table if len(table) else np.zeros(1, dtype=np.int64)
        columns.append(table[own[name]].astype(np.min_scalar_type(how.size)))
    labels = np.maximum(positions(rows.classes, classes), 0).astype(np.uint32)[rows.labels]
    return LearntRows(codes, columns, labels, classes, rows.weights)


def _both(a: LearntRows, b: LearntRows) -> tuple[dict[str, ColumnCodes], tuple[Value, ...]]:
    codes = {}
    for name, ours in a.codes.items():
        theirs = b.codes[name]
        values = None if ours.values is None else union(ours.values, theirs.values or ())
        codes[name] = ColumnCodes(values, ours.missing or theirs.missing)
    return codes, union(a.classes, b.classes)


def _weights(rows: LearntRows) -> Floats:
    return np.ones(len(rows.labels)) if rows.weights is None else rows.weights


def _bits(rows: LearntRows) -> npt.NDArray[np.uint64]:
    """(rows, columns and label): equal cells have equal bits, whatever the sign of zero or the kind of NaN."""
    bits = np.empty((len(rows.labels), len(rows.columns) + 1), dtype=np.uint64)
    for i, column in enumerate(rows.columns):
        if column.dtype.kind == "f":
            bits[:, i] = np.where(np.isnan(column), np.nan, column + 0.0).view(np.uint64)
        else:
            bits[:, i] = column
    bits[:, -1] = rows.labels
    return bits


def _hashes(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    found = np.zeros(len(bits), dtype=np.uint64)
    for column in bits.T:
        found = (found ^ column) * np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(29)
    return found

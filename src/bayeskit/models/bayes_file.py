"""The ensemble in a .bayes file: its rows and its structure. No count and no tree is read: they are counted again.

So nothing in a file can lead a kernel astray: what is read are plain arrays, each checked here.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.encode import LARGEST
from bayeskit.data.table import Table
from bayeskit.errors import BadFile
from bayeskit.models.bayes_rows import ColumnCodes, LearntRows
from bayeskit.models.bayes_structure import MOST_CUTS, PARENTS, Codes, Steps, Structure
from bayeskit.tally.tally import Tally

Array = npt.NDArray[Any]
Parts = tuple[dict[str, Any], list[Array]]
FIXED = 11  # arrays before those of the columns
MODELS = ("BayesClassifier", "NaiveBayes", "majority")
ROUNDING = 1e-6
MOST = 1e9  # m, an exponent or a temperature, and one part of the least: far beyond any that is learnt


def to_parts(rows: LearntRows, structure: Structure, left_out: Table, importance: Table) -> Parts:
    """(plain header, arrays)"""
    cuts = [mine[name] for mine in structure.cuts for name in structure.columns if name in mine]
    steps = structure.steps
    header = {
        "columns": list(structure.columns),
        "values": [list(how.values or ()) for how in structure.codes.values()],
        "missing": [how.missing for how in structure.codes.values()],
        "temperatures": list(structure.temperatures),
        "accuracy": left_out["accuracy"],
        "log loss": left_out["log loss"],
        "importance": importance["importance"],
    }
    arrays: list[Array] = [
        rows.labels,
        np.zeros(0) if rows.weights is None else rows.weights,
        np.cumsum([0, *map(len, cuts)]).astype(np.int64),
        np.concatenate([np.zeros(0), *cuts]),
        structure.parents.astype(np.int64),
        structure.m,
        structure.exponents,
        steps.start,
        steps.column.astype(np.int64),
        steps.m,
        np.nan_to_num(steps.cuts, nan=np.inf),
    ]
    return header, [*arrays, *(c if c.dtype.kind == "f" else c.astype(np.uint32) for c in rows.columns)]


def from_parts(tally: Tally, header: Any, arrays: list[Array]) -> tuple[LearntRows, Structure, Table, Table]:
    """(rows, structure, scores of rows left out, importance) of a file, everything checked."""
    names = [str(name) for name in header["columns"]]
    _need(set(names) == set(tally.schema.used) and len(names) == len(set(names)), "its columns")
    _need(len(arrays) == FIXED + len(names), "the number of its arrays")
    kinds = "ufififfiiff" + "".join("u" if name in tally.families else "f" for name in names)
    for array, kind in zip(arrays, kinds, strict=True):
        _need(array.dtype.kind == kind, "the types of its arrays")
    rows = _rows(tally, names, arrays[0], arrays[1], arrays[FIXED:])
    codes = _codes(rows, header["values"], header["missing"])
    structure = _structure(codes, header["temperatures"], arrays[2:FIXED])
    scores = {name: _numbers(header[name], len(MODELS)) for name in ("accuracy", "log loss")}
    importance = _numbers(header["importance"], len(names))
    return rows, structure, Table({"model": MODELS, **scores}), Table({"column": names, "importance": importance})


def _rows(tally: Tally, names: list[str], labels: Array, weights: Array, columns: list[Array]) -> LearntRows:
    n, n_classes = len(labels), len(tally.classes)
    _need(n > 0 and labels.ndim == 1 and int(labels.max()) < n_classes, "its labels")
    _need(weights.shape in ((n,), (0,)) and bool(np.isfinite(weights).all() and (weights > 0).all()), "its weights")
    by = weights if len(weights) else None
    _need(_close(np.bincount(labels, by, n_classes), tally.class_counts), "the rows of its classes")
    codes, found = {}, []
    for name, column in zip(names, columns, strict=True):
        _need(column.shape == (n,), f"its column {name!r}")
        if name not in tally.families:
            _need(bool((np.abs(column[~np.isnan(column)]) <= LARGEST).all()), f"its column {name!r}")
            codes[name] = ColumnCodes(None, bool(np.isnan(column).any()))
            found.append(np.ascontiguousarray(column))
            continue
        family = tally.families[name]
        how = ColumnCodes(family.values, bool(family.missing.any()))
        _need(int(column.max()) < how.size, f"its column {name!r}")
        cells = np.bincount(labels.astype(np.int64) * how.size + column, by, n_classes * how.size)
        counts = family.counts if how.missing else family.counts[:, 1:]
        _need(_close(cells.reshape(n_classes, how.size), counts) if family.values else True, f"its column {name!r}")
        codes[name] = how
        found.append(column.astype(np.min_scalar_type(how.size)))
    return LearntRows(codes, found, labels.astype(np.uint32), tally.classes, by)


def _codes(rows: LearntRows, values: Any, missing: Any) -> Codes:
    """The codes in which chains single out values: those of the first fit."""
    _need(len(values) == len(missing) == len(rows.codes), "its values")
    codes = {}
    for (name, how), own, lacks in zip(rows.codes.items(), values, missing, strict=True):
        _need(isinstance(lacks, bool) and all(isinstance(value, (str, int, float)) for value in own), "its values")
        _need(len(set(own)) == len(own) and (how.values is not None or not len(own)), "its values")
        codes[name] = ColumnCodes(None if how.values is None else tuple(own), lacks)
    return codes


def _structure(codes: Codes, temperatures: Any, arrays: list[Array]) -> Structure:
    ends, flat, parents, m, exponents, start, column, step_m, step_cuts = arrays
    numbers = [name for name, how in codes.items() if how.values is None]
    n_columns = len(codes)
    _need(parents.ndim == 3 and len(parents) > 0, "its parents")
    n_members, n_levels = len(parents), parents.shape[2] + 1
    _need(parents.shape == (n_members, n_columns, n_levels - 1) and n_levels <= PARENTS + 1, "its parents")
    _need(bool(((parents >= -1) & (parents < n_columns)).all()), "its parents")
    used = np.concatenate([np.ones((*parents.shape[:2], 1), bool), np.cumprod(parents >= 0, axis=2) > 0], axis=2)
    _need(m.shape == (n_columns, n_members, n_levels) and bool(np.isfinite(m).all()), "its m")
    _need(_between(m[used.transpose(1, 0, 2)], 1 / MOST, MOST), "its m")
    _need(ends.shape == (n_members * len(numbers) + 1,) and ends[0] == 0 and ends[-1] == len(flat), "its cuts")
    _need(flat.ndim == 1 and bool((ends[1:] >= ends[:-1]).all() and np.isfinite(flat).all()), "its cuts")
    parts = [flat[a:b] for a, b in pairwise(ends.tolist())]
    _need(all(bool((np.diff(part) > 0).all()) for part in parts), "its cuts")
    cuts = tuple(
        dict(zip(numbers, parts[j * len(numbers) : (j + 1) * len(numbers)], strict=True)) for j in range(n_members)
    )
    size = len(step_m)
    _need(start.ndim == 1 and len(start) > 0 and start[0] == 0 and start[-1] == size, "its chains")
    _need(bool((start[1:] >= start[:-1]).all()) and column.shape == step_m.shape == (size,), "its chains")
    _need(step_cuts.shape == (size, MOST_CUTS) and not np.isnan(step_cuts).any(), "its chains")
    _need(bool(((column >= 0) & (column < n_columns)).all()), "its chains")
    _need(_between(step_m, 1 / MOST, MOST), "its chains")
    sizes = np.array([np.inf if how.values is None else len(how.values) + how.missing for how in codes.values()])
    of = sizes[column][:, None]
    are_codes = (step_cuts >= 0) & (step_cuts < of) & (step_cuts == np.floor(step_cuts))
    _need(bool((are_codes | np.isposinf(step_cuts) | np.isinf(of)).all()), "its chains")
    n_terms = n_columns + 1 + (2 if len(start) > 1 else 0)
    _need(exponents.shape == (n_terms,) and _between(exponents, 0, MOST), "its exponents")
    by = _numbers(temperatures, 2)
    _need(_between(np.array(by), 1 / MOST, MOST), "its temperatures")
    steps = Steps(start, column.astype(np.int32), step_m, np.where(np.isinf(step_cuts), np.nan, step_cuts))
    return Structure(codes, cuts, parents.astype(np.int32), m, steps, (by[0], by[1]), exponents)


def _numbers(listed: Any, how_many: int) -> list[float]:
    found = [float(number) for number in listed]
    _need(len(found) == how_many and all(map(math.isfinite, found)), "its figures")
    return found


def _between(numbers: Array, low: float, high: float) -> bool:
    return bool(((numbers >= low) & (numbers <= high)).all())


def _close(ours: Array, theirs: Array) -> bool:
    return ours.shape == theirs.shape and bool(np.allclose(ours, theirs, rtol=ROUNDING, atol=ROUNDING))


def _need(holds: bool, what: str) -> None:
    if not holds:
        raise BadFile(f"this is no BayesClassifier: {what} cannot be right")

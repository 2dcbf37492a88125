"""Write the structure of the ensemble to a file as plain arrays, and check them when they are read.

Counts of contexts are not stored if the file has rows: they are counted again, so no file can make a kernel read out of
bounds.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from bayeskit.data.numbers import LARGEST
from bayeskit.errors import BadFile
from bayeskit.models.ensemble.linear import CODES, LinearPart
from bayeskit.models.ensemble.structure import MOST_CUTS, PARENTS, ChainSteps, Codes, ScoreTerms, Structure
from bayeskit.models.ensemble.trees import BoostedTrees
from bayeskit.tables.table import Table
from bayeskit.tally import coded_trees
from bayeskit.tally.coded_trees import CodedTrees, ColumnCodes
from bayeskit.tally.leaves import Leaves
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array

Parts = tuple[dict[str, Any], list[Array]]
FIXED = 9  # arrays of members, chains and exponents
OF_LINE = 5
OF_BOOSTING = 5
MODELS = ("BayesClassifier", "NaiveBayes", "majority")  # that are scored on rows left out
MOST = 1e9  # m, an exponent or a temperature, and one part of the least: far beyond any that is learnt


def to_parts(structure: Structure, left_out: Table, importance: Table, with_trees: bool) -> Parts:
    """Return (header, arrays); the trees are left out if the tally holds them with their counts."""
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
    if structure.trees is not None and with_trees:
        header["trees"], more = structure.trees.to_parts()
        arrays += more
    if structure.line is not None:
        header["line"] = {"classes": list(structure.line.classes), "numbers": list(structure.line.numbers)}
        arrays += structure.line.arrays()
    if structure.boosting is not None:
        header["boosting"] = {"classes": list(structure.boosting.classes)}
        arrays += [*coded_trees.plain_arrays(structure.boosting.trees), structure.boosting.values.astype(np.float64)]
    return header, arrays


def from_parts(tally: Tally, header: Any, arrays: list[Array]) -> tuple[Structure, Table, Table]:
    """(structure, scores of rows left out, importance) of a file, everything checked."""
    names = [str(name) for name in header["columns"]]
    _need(set(names) == set(tally.schema.used) and len(names) == len(set(names)), "its columns")
    n_trees, n_line = (coded_trees.N_ARRAYS if "trees" in header else 0), (OF_LINE if "line" in header else 0)
    n_boosting = OF_BOOSTING if "boosting" in header else 0
    _need(len(arrays) == FIXED + n_trees + n_line + n_boosting, "the number of its arrays")
    for array, kind in zip(arrays, "ififfiiff", strict=False):
        _need(array.dtype.kind == kind, "the types of its arrays")
    codes = _codes(tally, names, header["values"], header["missing"])
    trees = CodedTrees.from_parts(codes, header["trees"], arrays[FIXED : FIXED + n_trees]) if n_trees else None
    match tally.statistics.get(Leaves.kind):
        case Leaves() as leaves:
            _need(not n_trees and dict(leaves.trees.coding) == codes, "its trees")
            trees = leaves.trees
    line = None
    if n_line:
        _need(trees is not None, "its line")
        line = _line(header["line"], arrays[FIXED + n_trees : FIXED + n_trees + n_line], trees)
    structure = _structure(codes, header["temperatures"], arrays[:FIXED], trees, line)
    if n_boosting:
        structure = replace(structure, boosting=_boosting(header["boosting"], arrays[-n_boosting:], trees))
    losses = header["log loss"]  # none where every row took its class along
    no_losses = isinstance(losses, list) and losses == [None] * len(MODELS)
    scores = {
        "accuracy": _numbers(header["accuracy"], len(MODELS)),
        "log loss": losses if no_losses else _numbers(losses, len(MODELS)),
    }
    importance = _numbers(header["importance"], len(names))
    return structure, Table({"model": MODELS, **scores}), Table({"column": names, "importance": importance})


def _codes(tally: Tally, names: list[str], values: Any, missing: Any) -> Codes:
    """The codes in which chains single out values: those of the first fit."""
    _need(len(values) == len(missing) == len(names), "its values")
    codes = {}
    for name, own, lacks in zip(names, values, missing, strict=True):
        _need(isinstance(lacks, bool) and all(isinstance(value, (str, int, float)) for value in own), "its values")
        _need(len(set(own)) == len(own) and (name in tally.families or not len(own)), "its values")
        codes[name] = ColumnCodes(tuple(own) if name in tally.families else None, lacks)
    return codes


def _line(header: Any, arrays: list[Array], trees: CodedTrees | None) -> LinearPart:
    assert trees is not None
    centre, spread, read, tables, coefficients = arrays
    classes, numbers = tuple(header["classes"]), tuple(header["numbers"])
    _need([array.dtype.kind for array in arrays] == list("ffiff"), "its line")
    _need(len({*classes}) == len(classes) and all(isinstance(c, (str, int, float)) for c in classes), "its line")
    _need(len({*numbers}) == len(numbers), "its line")
    _need(all(n in trees.coding and trees.coding[n].values is None for n in numbers), "its line")
    _need(centre.shape == spread.shape == (len(numbers),) and read.shape == (len(tables),), "its line")
    _need(tables.ndim == 2 and tables.shape[1] == CODES, "its line")
    _need(bool(((read >= 0) & (read < len(trees.columns))).all()), "its line")
    hot = sum(trees.columns[j].size for j in trees.hot_columns)
    _need(coefficients.shape == (1 + len(numbers) + len(tables) + hot, len(classes)), "its line")
    _need(all(_between(array, -LARGEST, LARGEST) for array in (centre, tables, coefficients)), "its line")
    _need(_between(spread, 1 / LARGEST, LARGEST) and _between(np.abs(coefficients), 0, MOST), "its line")
    return LinearPart(classes, numbers, centre, spread, read, tables, coefficients)


def _boosting(header: Any, arrays: list[Array], trees: CodedTrees | None) -> BoostedTrees:
    *of_trees, values = arrays
    classes = tuple(header["classes"])
    _need(trees is not None and values.dtype.kind == "f", "its boosting")
    assert trees is not None
    _need(len({*classes}) == len(classes) and all(isinstance(c, (str, int, float)) for c in classes), "its boosting")
    read = coded_trees.tree_arrays(of_trees, len(trees.columns))
    _need(values.shape == (len(read[1]), len(classes)) and _between(np.abs(values), 0, MOST), "its boosting")
    return BoostedTrees(classes, read, values.astype(np.float32))


def _structure(
    codes: Codes, temperatures: Any, arrays: list[Array], trees: CodedTrees | None, line: LinearPart | None
) -> Structure:
    ends, flat, parents, m, exponents, start, column, step_m, step_cuts = arrays
    numbers = [name for name, how in codes.items() if how.values is None]
    n_columns = len(codes)
    _need(parents.ndim == 3 and (len(parents) > 0 or trees is not None or line is not None), "its parents")
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
    n_trees = 0 if trees is None else len(trees)
    _need(n_trees % 2 == 0, "its trees")
    terms = ScoreTerms.of(n_columns, n_members, len(start) - 1, n_trees, line is not None)
    _need(exponents.shape == (terms.size,) and _between(exponents, 0, MOST), "its exponents")
    by = _numbers(temperatures, 2 + terms.forests)
    _need(_between(np.array(by), 1 / MOST, MOST), "its temperatures")
    steps = ChainSteps(start, column.astype(np.int32), step_m, np.where(np.isinf(step_cuts), np.nan, step_cuts))
    return Structure(codes, cuts, parents.astype(np.int32), m, steps, tuple(by), exponents, trees, line)


def _numbers(listed: Any, how_many: int) -> list[float]:
    found = [float(number) for number in listed]
    _need(len(found) == how_many and all(map(math.isfinite, found)), "its figures")
    return found


def _between(numbers: Array, low: float, high: float) -> bool:
    return bool(((numbers >= low) & (numbers <= high)).all())


def _need(holds: bool, what: str) -> None:
    if not holds:
        raise BadFile(f"this is no BayesClassifier: {what} cannot be right")

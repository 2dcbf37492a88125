"""The structure of the ensemble: members with cuts and parents, and chains; how it is drawn, and how a file holds it.

Cuts have not seen the classes. In a file it is plain arrays, each checked when it is read; no count of a context is
read, they are counted again in the rows. So nothing in a file can lead a kernel astray.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.data.table import Table
from bayeskit.errors import BadFile
from bayeskit.estimate.information import pair_information
from bayeskit.models.ensemble.learnt_rows import ColumnCodes, LearntRows
from bayeskit.tally.plan import Request
from bayeskit.tally.rows import Rows
from bayeskit.tally.tally import Tally

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]
Codes = dict[str, ColumnCodes]
Parts = tuple[dict[str, Any], list[Array]]
PARENTS = 5  # of a column in a member, at most
COARSE = 5  # intervals in which dependence is measured
STEPS, TOGETHER, MOST_CUTS = 24, 12, 3  # of a chain: its length, the columns it chooses a step from, the cuts of each
PART = 5_000  # rows that choose a chain, about
FIXED = 9  # arrays of a structure in a file
MODELS = ("BayesClassifier", "NaiveBayes", "majority")  # that are scored on rows left out
MOST = 1e9  # m, an exponent or a temperature, and one part of the least: far beyond any that is learnt


@dataclass(frozen=True)
class Members:
    """Cuts of every number and the parents of every column, member by member."""

    cuts: tuple[dict[str, Floats], ...]
    sizes: npt.NDArray[np.int64]  # (members, columns)
    parents: npt.NDArray[np.int32]  # (members, columns, parents), −1 where there is none

    @classmethod
    def of(cls, cuts: tuple[dict[str, Floats], ...], parents: npt.NDArray[np.int32], how: Codes) -> Members:
        """With the number of values that each column has in each member."""
        sizes = [
            [len(mine[name]) + 1 + code.missing if code.values is None else code.size for name, code in how.items()]
            for mine in cuts
        ]
        return cls(cuts, np.array(sizes, dtype=np.int64).reshape(len(cuts), len(how)), parents)

    def codes(self, columns: list[npt.NDArray[Any]], how: Codes, n_threads: int) -> npt.NDArray[Any]:
        """(members, columns, rows): numbers by each member's own cuts."""
        n_rows = len(columns[0])
        out = np.empty((*self.sizes.shape, n_rows), dtype=np.min_scalar_type(int(self.sizes.max())))
        for j, cuts in enumerate(self.cuts):
            for i, (name, column) in enumerate(zip(how, columns, strict=True)):
                out[j, i] = column if how[name].values is not None else binned(column, cuts[name], how[name], n_threads)
        return out


def binned(column: Floats, cuts: Floats, how: ColumnCodes, n_threads: int) -> npt.NDArray[Any]:
    """Codes of numbers by cuts, a value on a cut to the left; infinity is a number that is not known."""
    by_cuts = ColumnCodes(tuple(range(len(cuts) + 1)), how.missing)
    codes = by_cuts.shift(kernels.bin_codes([column], [cuts], n_threads)[0])
    if len(column) and column.max() == np.inf:
        return np.where(column == np.inf, by_cuts.size, codes)
    return codes


@dataclass(frozen=True)
class Steps:
    """The steps of class chains, those of chain b from ``start[b]`` to ``start[b + 1]``."""

    start: npt.NDArray[np.int64]
    column: npt.NDArray[np.int32]
    m: Floats
    cuts: Floats  # (steps, most cuts), NaN where there is none; of a coded column the codes that are singled out

    @classmethod
    def of(cls, learnt: list[Any]) -> Steps:
        """Those of chains that were learnt, some together."""
        lengths = [np.diff(some[0]) for some in learnt]
        start = np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, dtype=np.int64), *lengths]))])
        parts = [np.concatenate([some[i] for some in learnt]) for i in (1, 2, 3)] if learnt else None
        if parts is None:
            parts = [np.zeros(0, dtype=np.int32), np.zeros(0), np.zeros((0, MOST_CUTS))]
        return cls(start.astype(np.int64), *parts)

    def __len__(self) -> int:
        return len(self.start) - 1

    def some(self, first: int, last: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], Floats, Floats]:
        """Start, column, m and cuts of some chains."""
        start = self.start[first : last + 1]
        own = slice(start[0], start[-1])
        return start - start[0], self.column[own], self.m[own], self.cuts[own]

    def recoded(self, before: Codes, now: Codes) -> Steps:
        """The same values singled out in other codes, −1 for one that is no longer there."""
        cuts = self.cuts.copy()
        for i, (name, how) in enumerate(before.items()):
            if how.values is not None and how != now[name]:
                places = (self.column == i)[:, None] & ~np.isnan(cuts)
                cuts[places] = how.codes_in(now[name])[cuts[places].astype(np.int64)]
        return Steps(self.start, self.column, self.m, cuts)


@dataclass(frozen=True, eq=False)
class Structure:
    """What stays as it is when the counts move: cuts, parents, m, steps of chains, temperatures, exponents.

    Given as ``structure=`` to another fit, it lets models of several places be merged.
    """

    codes: Codes  # in which the steps of chains single out values
    cuts: tuple[dict[str, Floats], ...]  # of each member
    parents: npt.NDArray[np.int32]  # (members, columns, parents)
    m: Floats  # (columns, members, levels)
    steps: Steps
    temperatures: tuple[float, float]
    exponents: Floats  # columns, two of the chains if there are any, prior

    @property
    def columns(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(self.codes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Structure) or len(self.cuts) != len(other.cuts):
            return False
        if self.columns != other.columns or self.codes != other.codes:
            return False
        ours, theirs = self._arrays(), other._arrays()
        return len(ours) == len(theirs) and all(
            np.array_equal(a, b, equal_nan=True) for a, b in zip(ours, theirs, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def _arrays(self) -> list[npt.NDArray[Any]]:
        cuts, steps = [mine[name] for mine in self.cuts for name in sorted(mine)], self.steps
        weighed = [np.array(self.temperatures), self.exponents]
        return [*cuts, self.parents, self.m, steps.start, steps.column, steps.m, steps.cuts, *weighed]

    def __repr__(self) -> str:
        return f"Structure({len(self.cuts)} members, {len(self.steps)} chains)"

    def members(self, how: Codes) -> Members:
        """The members for columns coded so."""
        return Members.of(self.cuts, self.parents, how)

    def steps_in(self, how: Codes) -> Steps:
        """The steps of chains for columns coded so."""
        return self.steps.recoded(self.codes, how)


def draw_members(rows: LearntRows, n_members: int, rng: np.random.Generator, n_threads: int) -> Members:
    """Odd members choose parents by dependence times chance, even ones by chance alone; all draw their own cuts.

    The cuts have not seen the classes: cuts that have make every leave-one-out figure far too good.
    """
    points = [
        cut_points(column) if how.values is None else None
        for column, how in zip(rows.columns, rows.codes.values(), strict=True)
    ]
    information = _information(rows, [among and among[0] for among in points], n_threads)
    n_columns, all_cuts = len(points), []
    orders: list[npt.NDArray[np.int64]] = []
    parents = np.full((n_members, n_columns, min(PARENTS, n_columns - 1)), -1, dtype=np.int32)
    for j in range(n_members):
        all_cuts.append(
            {
                name: random_cuts(*among, rng)
                for name, among in zip(rows.codes, points, strict=True)
                if among is not None
            }
        )
        # Every other order of each kind is the last one reversed: of two columns, each may depend on the other.
        orders.append(orders[j - 2][::-1] if j % 4 > 1 else rng.permutation(n_columns))
        for at, i in enumerate(order := orders[j]):
            before = order[:at]
            if j % 2 == 0:
                chosen = before[np.argsort(-information[i, before] * rng.exponential(size=at), kind="stable")]
            else:
                chosen = rng.permutation(before)
            parents[j, i, : min(at, PARENTS)] = chosen[:PARENTS]
    return Members.of(tuple(all_cuts), parents, rows.codes)


def cut_points(column: Floats) -> tuple[Floats, int]:
    """Sorted numbers between which cuts are drawn, and how many are: n^(1/3) intervals at ranks of the rows.

    Where one value takes more than half of the rows, most ranks would fall on it, and the other rows would stay
    together. There the ranks are those of the distinct numbers, √n of them.

    >>> cut_points(np.array([0.0, 5, 0, 7, 0, 0, 2, 0]))
    (array([0., 2., 5., 7.]), 3)
    """
    numbers, n = np.sort(column[~np.isnan(column)]), len(column)
    middle = numbers[len(numbers) // 2 :][:1]  # a value of more than half of the rows is this one
    if 2 * np.count_nonzero(numbers == middle) > len(numbers):
        return np.unique(numbers), max(2, round(n**0.5))
    return numbers, max(2, round(n ** (1 / 3))) - 1


def random_cuts(numbers: Floats, how_many: int, rng: np.random.Generator) -> Floats:
    """Midpoints of neighbours at random ranks of sorted numbers, each once; a cut beyond all numbers is none.

    A rank within ties cuts at the tied value itself, where `estimate.cuts.random` goes half way to the next: with both
    drawn there is one interval more, and the ensemble's figures were measured so.

    >>> random_cuts(np.array([1.0, 1.0, 2.0, 4.0]), 20, np.random.default_rng(0)).tolist()
    [1.0, 1.5, 3.0]
    """
    if len(numbers) < 2:
        return np.zeros(0)
    ranks = rng.integers(1, len(numbers), size=how_many)
    cuts: Floats = np.unique(numbers[ranks - 1] / 2 + numbers[ranks] / 2)
    return np.asarray(cuts[cuts < numbers[-1]])


def _information(rows: LearntRows, sorted_numbers: list[Floats | None], n_threads: int) -> Floats:
    """I(x; u | class) of all pairs of columns, numbers in a few intervals of equally many of the sorted ones."""
    codes, sizes = [], []
    for column, how, numbers in zip(rows.columns, rows.codes.values(), sorted_numbers, strict=True):
        if numbers is None:
            codes.append(column)
            sizes.append(how.size)
            continue
        ranks = [len(numbers) * q // COARSE for q in range(1, COARSE)]
        middles = [numbers[r - 1] / 2 + numbers[r] / 2 for r in ranks if r > 0]
        cuts = np.unique(np.array(middles, dtype=np.float64))
        codes.append(binned(column, cuts, how, n_threads))
        sizes.append(len(cuts) + 1 + how.missing)
    return pair_information(codes, sizes, rows.labels, len(rows.classes), rows.weights, n_threads)


def draw_chains(
    rows: LearntRows, n_chains: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32], Floats]:
    """Parts (chains, rows), candidate columns (chains, steps, together) and their cuts (…, most cuts), NaN for none.

    Every other chain tells all values of a coded column apart. For the others, its cuts are one to three codes: their
    values are singled out, and the rest stay together.
    """
    n_rows, n_columns = len(rows.labels), len(rows.columns)
    together = min(n_columns, TOGETHER)
    parts = (rng.random((n_chains, n_rows)) < min(0.5, PART / n_rows)).astype(np.uint8)
    drawn = rng.random((n_chains, STEPS, n_columns)).argsort(axis=2, kind="stable")[:, :, :together]
    candidates = np.ascontiguousarray(drawn, dtype=np.int32)
    how_many, where = rng.integers(1, MOST_CUTS + 1, candidates.shape), rng.random((*candidates.shape, MOST_CUTS))
    cuts = np.full((*candidates.shape, MOST_CUTS), np.nan)
    for i, (column, how) in enumerate(zip(rows.columns, rows.codes.values(), strict=True)):
        mine = candidates == i
        most = how_many[mine]
        if how.values is not None:
            at = np.floor(where[mine] * how.size)
            most = np.where(np.nonzero(mine)[0] % 2, np.minimum(most, how.size - 2), 0)
        else:
            numbers = cut_points(column)[0]
            if len(numbers) < 2:
                continue
            ranks = 1 + np.floor(where[mine] * (len(numbers) - 1)).astype(np.int64)
            at = numbers[ranks - 1] / 2 + numbers[ranks] / 2
            at[at >= numbers[-1]] = np.nan
        at[np.arange(MOST_CUTS) >= most[:, None]] = np.nan
        at.sort(axis=1)
        at[:, 1:][at[:, 1:] == at[:, :-1]] = np.nan
        cuts[mine] = at
    return parts, candidates, cuts


def to_parts(structure: Structure, left_out: Table, importance: Table) -> Parts:
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
    return header, arrays


def from_parts(tally: Tally, header: Any, arrays: list[Array]) -> tuple[Structure, Table, Table]:
    """(structure, scores of rows left out, importance) of a file, everything checked."""
    names = [str(name) for name in header["columns"]]
    _need(set(names) == set(tally.schema.used) and len(names) == len(set(names)), "its columns")
    _need(len(arrays) == FIXED, "the number of its arrays")
    for array, kind in zip(arrays, "ififfiiff", strict=True):
        _need(array.dtype.kind == kind, "the types of its arrays")
    codes = _codes(tally, names, header["values"], header["missing"])
    structure = _structure(codes, header["temperatures"], arrays)
    losses = header["log loss"]  # none where every row took its class along
    no_losses = isinstance(losses, list) and losses == [None] * len(MODELS)
    scores = {
        "accuracy": _numbers(header["accuracy"], len(MODELS)),
        "log loss": losses if no_losses else _numbers(losses, len(MODELS)),
    }
    importance = _numbers(header["importance"], len(names))
    return structure, Table({"model": MODELS, **scores}), Table({"column": names, "importance": importance})


def with_rows(tally: Tally, header: Any, arrays: list[Array]) -> tuple[Tally, list[Array]]:
    """(tally, arrays of the structure): version 0.1 wrote rows beside the structure, in the ensemble's own codes."""
    if Rows.kind in tally.statistics:
        return tally, arrays
    names = [str(name) for name in header["columns"]]
    _need(len(arrays) == FIXED + 2 + len(names) and set(names) == set(tally.schema.used), "its columns")
    labels, weights, *structure = arrays[: FIXED + 2]
    slots = []
    for name, column in zip(names, arrays[FIXED + 2 :], strict=True):
        family = tally.families.get(name)
        _need(column.dtype.kind == ("f" if family is None else "u"), "the types of its arrays")
        coded = family is not None and not family.missing.any()  # where nothing is missing, codes began with 0
        slots.append((column + np.uint32(1) if family.values else 0 * column) if coded and family else column)
    rows = Rows.from_parts(Request(Rows.kind, tuple(names)), {}, [labels, weights, *slots], tally.space)
    rows.check(tally)
    return tally.with_statistic(rows), structure


def _codes(tally: Tally, names: list[str], values: Any, missing: Any) -> Codes:
    """The codes in which chains single out values: those of the first fit."""
    _need(len(values) == len(missing) == len(names), "its values")
    codes = {}
    for name, own, lacks in zip(names, values, missing, strict=True):
        _need(isinstance(lacks, bool) and all(isinstance(value, (str, int, float)) for value in own), "its values")
        _need(len(set(own)) == len(own) and (name in tally.families or not len(own)), "its values")
        codes[name] = ColumnCodes(tuple(own) if name in tally.families else None, lacks)
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


def _need(holds: bool, what: str) -> None:
    if not holds:
        raise BadFile(f"this is no BayesClassifier: {what} cannot be right")

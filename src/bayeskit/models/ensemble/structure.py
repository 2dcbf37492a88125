"""The structure of the ensemble: members, class chains, and the terms of its score.

A member has cuts of every number and parents of every column, drawn without looking at the classes. A class chain is a
context that grows by one column at a time.

A file stores the structure as plain arrays, which are checked when they are read. Counts of contexts are not stored if
the file has rows: they are counted again, so no file can make a kernel read out of bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.data.cells import LARGEST
from bayeskit.data.vocabulary import Value, are_names, blank_names
from bayeskit.errors import BadFile
from bayeskit.estimate.information import pair_information
from bayeskit.explain.informative import LossImportance
from bayeskit.models.ensemble.linear import CODES, LinearPart
from bayeskit.models.ensemble.texts import Texts, sources_of
from bayeskit.models.ensemble.training_rows import HEAVIEST, LIGHTEST, TrainingRows
from bayeskit.models.ensemble.trees import BoostedTrees
from bayeskit.tables import Table
from bayeskit.tally import coded_trees
from bayeskit.tally.coded_trees import CodedTrees, ColumnCodes, Leaves
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array, Bytes, Floats, Ints

Codes = dict[str, ColumnCodes]
# None for names that only forgotten rows had.
Names = tuple[Value | None, ...]
# Most parents of a column in a member. Values from 3 to 8 were about as good.
PARENTS = 5
# Dependence of numbers is measured in so many intervals.
COARSE = 5


@dataclass(frozen=True)
class Members:
    """Cuts of every number and parents of every column, for each member.

    ``sizes`` (n_members, n_columns) counts values; ``parents`` (n_members, n_columns, n_parents) is −1 if none.
    """

    cuts: tuple[dict[str, Floats], ...]
    sizes: Ints
    parents: npt.NDArray[np.int32]

    @classmethod
    def of(cls, cuts: tuple[dict[str, Floats], ...], parents: npt.NDArray[np.int32], how: Codes) -> Members:
        """Count the values that each column has in each member."""
        sizes = [
            [len(mine[name]) + 1 + code.missing if code.values is None else code.size for name, code in how.items()]
            for mine in cuts
        ]
        return cls(cuts, np.array(sizes, dtype=np.int64).reshape(len(cuts), len(how)), parents)

    def codes(self, columns: list[Array], how: Codes, n_threads: int) -> Array:
        """Code the columns by the cuts of each member (members, columns, rows)."""
        n_rows = len(columns[0])
        out = np.empty((*self.sizes.shape, n_rows), dtype=np.min_scalar_type(int(self.sizes.max())))
        for j, cuts in enumerate(self.cuts):
            for i, (name, column) in enumerate(zip(how, columns, strict=True)):
                out[j, i] = (
                    column if how[name].values is not None else bin_numbers(column, cuts[name], how[name], n_threads)
                )
        return out


def bin_numbers(column: Floats, cuts: Floats, how: ColumnCodes, n_threads: int) -> Array:
    """Code numbers by cuts, a value on a cut to the left; infinity is an unknown number."""
    by_cuts = ColumnCodes(tuple(range(len(cuts) + 1)), how.missing)
    codes = by_cuts.shift(kernels.bin_codes([column], [cuts], n_threads)[0])
    if len(column) and column.max() == np.inf:
        return np.where(column == np.inf, by_cuts.size, codes)
    return codes


def draw_members(rows: TrainingRows, n_members: int, rng: np.random.Generator, n_threads: int) -> Members:
    """Draw members: odd ones choose parents by dependence times a random factor, even ones at random.

    Cuts are drawn without looking at the classes; otherwise every leave-one-out score would be far too good.
    """
    points = rows.cut_points
    information = _information(rows, [among and among[0] for among in points], n_threads)
    n_columns, all_cuts = len(points), []
    orders: list[Ints] = []
    parents = np.full((n_members, n_columns, min(PARENTS, n_columns - 1)), -1, dtype=np.int32)
    for j in range(n_members):
        pairs = zip(rows.codes, points, strict=True)
        all_cuts.append({name: random_cuts(*among, rng) for name, among in pairs if among is not None})
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


def random_cuts(numbers: Floats, how_many: int, rng: np.random.Generator) -> Floats:
    """Draw distinct cuts at midpoints of neighbors at random ranks of sorted numbers.

    A rank within ties cuts at the tied value itself, while `estimate.cuts.random` cuts half way to the next value.

    >>> random_cuts(np.array([1.0, 1.0, 2.0, 4.0]), 20, np.random.default_rng(0)).tolist()
    [1.0, 1.5, 3.0]
    """
    if len(numbers) < 2:
        return np.zeros(0)
    ranks = rng.integers(1, len(numbers), size=how_many)
    cuts: Floats = np.sort(numbers[ranks - 1] / 2 + numbers[ranks] / 2)
    inside = cuts < numbers[-1]
    inside[1:] &= cuts[1:] != cuts[:-1]
    return cuts[inside]


def _information(rows: TrainingRows, sorted_numbers: list[Floats | None], n_threads: int) -> Floats:
    """Compute I(x; u | class) of all pairs of columns (columns, columns), numbers in intervals of equal frequency."""
    codes, sizes = [], []
    for column, how, numbers in zip(rows.columns, rows.codes.values(), sorted_numbers, strict=True):
        if numbers is None:
            codes.append(column)
            sizes.append(how.size)
            continue
        ranks = [len(numbers) * q // COARSE for q in range(1, COARSE)]
        middles = [numbers[r - 1] / 2 + numbers[r] / 2 for r in ranks if r > 0]
        cuts = np.unique(np.array(middles, dtype=np.float64))
        codes.append(bin_numbers(column, cuts, how, n_threads))
        sizes.append(len(cuts) + 1 + how.missing)
    return pair_information(codes, sizes, rows.labels, len(rows.classes), rows.weights, n_threads)


# Length of a chain, columns that a step chooses from, and cuts of each column.
STEPS, TOGETHER, MOST_CUTS = 24, 12, 3
# About so many rows choose the steps of a chain.
PART = 5_000


@dataclass(frozen=True)
class ChainSteps:
    """The steps of class chains; chain b has those from ``start[b]`` to ``start[b + 1]``."""

    start: Ints
    column: npt.NDArray[np.int32]
    m: Floats
    cuts: Floats  # (steps, most cuts), NaN if none; for a coded column the codes that are singled out

    @classmethod
    def of(cls, learned: list[Any]) -> ChainSteps:
        """Concatenate the steps of chains that were learned in groups."""
        lengths = [np.diff(some[0]) for some in learned]
        start = np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, dtype=np.int64), *lengths]))])
        parts = [np.concatenate([some[i] for some in learned]) for i in (1, 2, 3)] if learned else None
        if parts is None:
            parts = [np.zeros(0, dtype=np.int32), np.zeros(0), np.zeros((0, MOST_CUTS))]
        return cls(start.astype(np.int64), *parts)

    def __len__(self) -> int:
        return len(self.start) - 1

    def some(self, first: int, last: int) -> tuple[Ints, npt.NDArray[np.int32], Floats, Floats]:
        """Return start, column, m and cuts of some chains."""
        start = self.start[first : last + 1]
        own = slice(start[0], start[-1])
        return start - start[0], self.column[own], self.m[own], self.cuts[own]

    def recoded(self, before: Codes, now: Codes) -> ChainSteps:
        """Translate singled-out values to other codes; −1 for a value that no longer exists."""
        cuts = self.cuts.copy()
        for i, (name, how) in enumerate(before.items()):
            if how.values is not None and how != now[name]:
                places = (self.column == i)[:, None] & ~np.isnan(cuts)
                cuts[places] = how.codes_in(now[name])[cuts[places].astype(np.int64)]
        return ChainSteps(self.start, self.column, self.m, cuts)


def draw_chains(
    rows: TrainingRows, n_chains: int, rng: np.random.Generator
) -> tuple[Bytes, npt.NDArray[np.int32], Floats]:
    """Draw samples (chains, rows), candidate columns (chains, steps, together) and their cuts (…, most cuts).

    Every other chain keeps all values of a coded column apart. The others single out one to three values and merge the
    rest. Unused cuts are NaN.
    """
    n_rows, n_columns = len(rows.labels), len(rows.columns)
    together = min(n_columns, TOGETHER)
    parts = (rng.random((n_chains, n_rows)) < min(0.5, PART / n_rows)).astype(np.uint8)
    drawn = rng.random((n_chains, STEPS, n_columns)).argsort(axis=2, kind="stable")[:, :, :together]
    candidates = np.ascontiguousarray(drawn, dtype=np.int32)
    how_many, where = rng.integers(1, MOST_CUTS + 1, candidates.shape), rng.random((*candidates.shape, MOST_CUTS))
    cuts = np.full((*candidates.shape, MOST_CUTS), np.nan)
    for i, (among, how) in enumerate(zip(rows.cut_points, rows.codes.values(), strict=True)):
        mine = candidates == i
        most = how_many[mine]
        if among is None:
            at = np.floor(where[mine] * how.size)
            most = np.where(np.nonzero(mine)[0] % 2, np.minimum(most, how.size - 2), 0)
        else:
            numbers = among[0]
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


# Penalty on the exponents of columns; that of the other exponents is 1. With the smaller one the many exponents of
# columns overfit (docs/quality.md).
COLUMN_PENALTY = 8.0


class ScoreTerms(NamedTuple):
    """The number of score terms of each kind; the prior is the last term.

    Chains have 2 terms (geometric and arithmetic mean), forests 4 (both means of each), and the linear part 1. A kind
    that the ensemble lacks has 0.
    """

    columns: int
    chains: int
    forests: int
    line: int

    @classmethod
    def of(cls, n_columns: int, n_members: int, n_chains: int, n_trees: int, line: bool) -> ScoreTerms:
        """Count the terms of an ensemble."""
        return cls(n_columns if n_members else 0, 2 if n_chains else 0, 4 if n_trees else 0, int(line))

    @property
    def size(self) -> int:
        """The number of all terms."""
        return sum(self) + 1

    @property
    def of_columns(self) -> slice:
        """The positions of the column terms."""
        return slice(0, self.columns)

    @property
    def of_chains(self) -> slice:
        """The positions of the chain terms."""
        return slice(self.columns, self.columns + self.chains)

    @property
    def of_forests(self) -> slice:
        """The positions of the forest terms."""
        return slice(self.of_chains.stop, self.of_chains.stop + self.forests)

    @property
    def light(self) -> list[int]:
        """The positions of forests, linear part and prior."""
        return list(range(self.of_forests.start, self.size))

    def center(self, beta: float) -> Floats:
        """Return the start and the center of the penalty of the exponents (terms,).

        Each kind has the same share, split equally among its terms. ``beta`` is the temperature of the product of
        columns and prior.

        >>> ScoreTerms(3, 2, 4, 1).center(0.8).round(3).tolist()
        [0.2, 0.2, 0.2, 0.125, 0.125, 0.062, 0.062, 0.062, 0.062, 0.25, 1.0]
        """
        kinds = sum(n > 0 for n in self)
        shares = [beta / kinds if i == 0 else 1 / (kinds * n) for i, n in enumerate(self) for _ in range(n)]
        return np.array([*shares, 1.0])

    def penalty(self) -> Floats:
        """Return the penalty on the squared distance of each exponent from its start (terms,)."""
        return np.array([COLUMN_PENALTY] * self.columns + [1.0] * (self.size - self.columns))


@dataclass(frozen=True, eq=False)
class Structure:
    """All that stays fixed when rows are added or removed: cuts, parents, chains, trees, linear part, exponents.

    Pass it as ``structure=`` to another fit, and the two models can be merged.

    Attributes
    ----------
    codes : dict of str to ColumnCodes
        Codes of the values that steps of chains single out.
    cuts : tuple of dict of str to ndarray
        Cuts of the numeric columns in each member.
    parents : ndarray of shape (n_members, n_columns, n_parents)
    m : ndarray of shape (n_columns, n_members, n_levels)
        Pseudo-counts of the back-off.
    steps : ChainSteps
    temperatures : tuple of float
        Those of the two means of chains and the four means of forests.
    exponents : ndarray of shape (n_terms,)
    trees : CodedTrees or None
        Both forests; the linear part reads their codes.
    line : LinearPart or None
    boosting : BoostedTrees or None
    weight : float
        Mean weight of the rows, by which counted leaves are divided where the model keeps no rows.
    silent : tuple of str
        Columns of many values that tell nothing of the class, which no part of the model reads.
    texts : dict of str to TextLogOdds
        The text models of the text columns, whose log odds are read as columns of numbers.
    grouped : bool
        Whether rows were left out by groups, which the model does not keep.
    """

    codes: Codes
    cuts: tuple[dict[str, Floats], ...]
    parents: npt.NDArray[np.int32]
    m: Floats
    steps: ChainSteps
    temperatures: tuple[float, ...]
    exponents: Floats
    trees: CodedTrees | None = None
    line: LinearPart | None = None
    boosting: BoostedTrees | None = None
    weight: float = 1.0
    silent: tuple[str, ...] = ()
    grouped: bool = False
    texts: Texts = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self.codes)

    @property
    def n_trees(self) -> int:
        """The number of trees of both forests."""
        return 0 if self.trees is None else len(self.trees)

    @property
    def terms(self) -> ScoreTerms:
        """The terms of the score."""
        return ScoreTerms.of(len(self.codes), len(self.cuts), len(self.steps), self.n_trees, self.line is not None)

    @property
    def column_exponents(self) -> Floats:
        """The exponent of each column (columns,); 0 without members."""
        n_columns = self.terms.columns
        return self.exponents[:n_columns] if n_columns else np.zeros(len(self.codes))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Structure):
            return False
        (ours, our_arrays), (theirs, their_arrays) = self.to_parts(), other.to_parts()
        return ours == theirs and all(map(np.array_equal, our_arrays, their_arrays)) and self.texts == other.texts

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Structure({len(self.cuts)} members, {len(self.steps)} chains, {self.n_trees} trees)"

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts."""
        has = {
            "text models": bool(self.texts),
            "cut points": bool(self.cuts) or self.n_trees > 0,
            "parents": bool(self.cuts),
            "class chains": len(self.steps) > 0,
            "trees": self.n_trees > 0,
            "linear part": self.line is not None,
            "boosting": self.boosting is not None,
            "exponents": True,
        }
        return tuple(name for name, there in has.items() if there)

    def by_source(self) -> dict[str, list[str]]:
        """Return the columns that are made of each column of the table: several of a text."""
        source, found = sources_of(self.texts), dict[str, list[str]]()
        for name in self.codes:
            found.setdefault(source.get(name, name), []).append(name)
        return found

    def members(self, how: Codes) -> Members:
        """Return the members for columns in these codes."""
        return Members.of(self.cuts, self.parents, how)

    def steps_in(self, how: Codes) -> ChainSteps:
        """Return the steps of chains for columns in these codes."""
        return self.steps.recoded(self.codes, how)

    def forget_names(self, how: Codes, classes: Iterable[Value]) -> Structure:
        """Blank the values and classes that are not in these codes and classes; all that was fitted stays."""
        present = {name: codes.values or () for name, codes in how.items()}
        there = tuple(classes)
        return self._with_names(
            {key: blank_names(own, there if key[1] is None else present[key[1]]) for key, own in self._names.items()}
        )

    def unite(self, other: Structure) -> Structure | None:
        """Return the structure with the names that either side still has; None if the structures differ."""
        mine, theirs = self._names, other._names
        if {key: len(own) for key, own in mine.items()} != {key: len(own) for key, own in theirs.items()}:
            return None
        names = {
            key: tuple(b if a is None else a for a, b in zip(own, theirs[key], strict=True))
            for key, own in mine.items()
        }
        united = self._with_names(names)
        return united if united == other._with_names(names) else None

    @property
    def _names(self) -> dict[tuple[str, str | None], Names]:
        """Names by place: values of the coded columns, and classes of the linear part and of boosting."""
        names: dict[tuple[str, str | None], Names] = {
            ("codes", name): how.values for name, how in self.codes.items() if how.values is not None
        }
        names |= {} if self.line is None else {("line", None): self.line.classes}
        return names | ({} if self.boosting is None else {("boosting", None): self.boosting.classes})

    def _with_names(self, names: Mapping[tuple[str, str | None], Names]) -> Structure:
        codes = {name: replace(how, values=names.get(("codes", name))) for name, how in self.codes.items()}
        line, boosting = self.line, self.boosting
        return replace(
            self,
            codes=codes,
            trees=None if self.trees is None else replace(self.trees, coding=codes),
            line=None if line is None else replace(line, classes=names["line", None]),
            boosting=None if boosting is None else replace(boosting, classes=names["boosting", None]),
        )

    def to_parts(self, with_trees: bool = True) -> tuple[dict[str, Any], list[Array]]:
        """Return (header, arrays) for a file; the trees are left out if the tally holds them with their counts."""
        cuts = [mine[name] for mine in self.cuts for name in self.columns if name in mine]
        header: dict[str, Any] = {
            "columns": list(self.columns),
            "values": [list(how.values or ()) for how in self.codes.values()],
            "missing": [how.missing for how in self.codes.values()],
            "temperatures": list(self.temperatures),
            "weight": self.weight,
            "silent": list(self.silent),
            "grouped": self.grouped,
        }
        if self.texts:
            header["texts"] = {name: list(part.classes) for name, part in self.texts.items()}
        arrays: list[Array] = [
            np.cumsum([0, *map(len, cuts)]).astype(np.int64),
            np.concatenate([np.zeros(0), *cuts]),
            self.parents.astype(np.int64),
            self.m,
            self.exponents,
            self.steps.start,
            self.steps.column.astype(np.int64),
            self.steps.m,
            np.nan_to_num(self.steps.cuts, nan=np.inf),
        ]
        if self.trees is not None and with_trees:
            header["trees"], more = self.trees.to_parts()
            arrays += more
        if self.line is not None:
            header["line"] = {
                "classes": list(self.line.classes),
                "numbers": list(self.line.numbers),
                "hot": list(self.line.hot),
            }
            arrays += self.line.arrays()
        if self.boosting is not None:
            header["boosting"] = {"classes": list(self.boosting.classes)}
            arrays += [*coded_trees.plain_arrays(self.boosting.trees), self.boosting.values.astype(np.float64)]
        return header, arrays


# -- persistence -----------------------------------------------------------------------------------------------------

# Numbers of arrays: of members, chains and exponents, of the linear part, and of boosting.
FIXED, OF_LINE, OF_BOOSTING = 9, 5, 5
# Models that are scored on rows left out.
MODELS = ("BayesClassifier", "NaiveBayes", "majority")
# Bound of m, exponents and temperatures, far beyond fitted values; its inverse is the lower bound.
MOST = 1e9


def from_parts(tally: Tally, header: Any, arrays: list[Array], texts: Texts) -> tuple[Structure, Table, LossImportance]:
    """Restore (structure, scores of rows left out, importance) from a file; check everything."""
    names = [str(name) for name in header["columns"]]
    # Files that were written before have no silent columns and no groups.
    silent = tuple(str(name) for name in header.get("silent", ()))
    read = {*tally.schema.used} - {*texts} | {*sources_of(texts)}
    _need(sorted([*names, *silent]) == sorted(read), "its columns")
    n_trees, n_line = (coded_trees.N_ARRAYS if "trees" in header else 0), (OF_LINE if "line" in header else 0)
    n_boosting = OF_BOOSTING if "boosting" in header else 0
    _need(len(arrays) == FIXED + n_trees + n_line + n_boosting, "the number of its arrays")
    for array, kind in zip(arrays, "ififfiiff", strict=False):
        _need(array.dtype.kind == kind, "the types of its arrays")
    codes = _codes(tally, names, header["values"], header["missing"])
    trees = CodedTrees.from_parts(codes, header["trees"], arrays[FIXED : FIXED + n_trees]) if n_trees else None
    leaves = tally.statistics.get(Leaves.kind)
    if isinstance(leaves, Leaves):
        _need(not n_trees and dict(leaves.trees.coding) == codes, "its trees")
        trees = leaves.trees
    line = boosting = None
    if n_line or n_boosting:
        if trees is None:
            raise BadFile("this is not a BayesClassifier: its linear part and boosting need trees")
        if n_line:
            line = _line(header["line"], arrays[FIXED + n_trees : FIXED + n_trees + n_line], trees)
        if n_boosting:
            boosting = _boosting(header["boosting"], arrays[-n_boosting:], trees)
    weight = _numbers([header["weight"]], 1)[0]
    _need(_between(np.array(weight), LIGHTEST, HEAVIEST), "its weight")
    structure = _structure(codes, header["temperatures"], arrays[:FIXED], trees, line)
    structure = replace(
        structure, boosting=boosting, weight=weight, silent=silent, grouped=bool(header.get("grouped")), texts=texts
    )
    # No losses if every row is the only one of its class.
    losses = header["log loss"]
    no_losses = isinstance(losses, list) and losses == [None] * len(MODELS)
    scores = {
        "accuracy": _numbers(header["accuracy"], len(MODELS)),
        "log loss": losses if no_losses else _numbers(losses, len(MODELS)),
    }
    sources = structure.by_source()
    importance = dict(zip(sources, _numbers(header["importance"], len(sources)), strict=True))
    importance |= dict.fromkeys(silent, 0.0)
    return structure, Table({"model": MODELS, **scores}), LossImportance.of(importance)


def _codes(tally: Tally, names: list[str], values: Any, missing: Any) -> Codes:
    """Restore the codes in which chains single out values: those of the first fit."""
    _need(len(values) == len(missing) == len(names), "its values")
    codes = {}
    for name, own, lacks in zip(names, values, missing, strict=True):
        _need(isinstance(lacks, bool) and are_names(own), "its values")
        _need(name in tally.families or not len(own), "its values")
        codes[name] = ColumnCodes(tuple(own) if name in tally.families else None, lacks)
    return codes


def _line(header: Any, arrays: list[Array], trees: CodedTrees) -> LinearPart:
    center, spread, read, tables, coefficients = arrays
    classes, numbers = tuple(header["classes"]), tuple(header["numbers"])
    _need([array.dtype.kind for array in arrays] == list("ffiff") and are_names(classes), "its line")
    are_numeric = all(n in trees.coding and trees.coding[n].values is None for n in numbers)
    _need(are_numeric and len({*numbers}) == len(numbers), "its line")
    _need(center.shape == spread.shape == (len(numbers),) and tables.shape == (len(read), CODES), "its line")
    _need(read.ndim == 1 and _between(read, 0, len(trees.columns) - 1), "its line")
    hot = tuple(header.get("hot", trees.hot_columns))
    _need(set(hot) <= set(trees.hot_columns) and list(hot) == sorted(set(hot)), "its line")
    n_features = 1 + len(numbers) + len(tables) + sum(trees.columns[j].size for j in hot)
    _need(coefficients.shape == (n_features, len(classes)), "its line")
    _need(all(_between(array, -LARGEST, LARGEST) for array in (center, tables, coefficients)), "its line")
    _need(_between(spread, 1 / LARGEST, LARGEST) and _between(np.abs(coefficients), 0, MOST), "its line")
    return LinearPart(classes, numbers, center, spread, read, tables, coefficients, hot)


def _boosting(header: Any, arrays: list[Array], trees: CodedTrees) -> BoostedTrees:
    *of_trees, values = arrays
    classes = tuple(header["classes"])
    _need(values.dtype.kind == "f" and are_names(classes), "its boosting")
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
    _need(_between(parents, -1, n_columns - 1), "its parents")
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
    _need(_between(column, 0, n_columns - 1) and _between(step_m, 1 / MOST, MOST), "its chains")
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
        raise BadFile(f"this is not a BayesClassifier: {what} cannot be right")

"""The structure of the ensemble: members, class chains, and the terms of its score.

A member has cuts of every number and parents of every column, drawn without looking at the classes. A class chain is a
context that grows by one column at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.estimate.information import pair_information
from bayeskit.models.ensemble.linear import LinearPart
from bayeskit.models.ensemble.training_rows import TrainingRows
from bayeskit.models.ensemble.trees import BoostedTrees
from bayeskit.tally.coded_trees import CodedTrees, ColumnCodes
from bayeskit.typing import Array, Bytes, Floats, Ints

Codes = dict[str, ColumnCodes]
# Most parents of a column in a member.
PARENTS = 5
# Dependence of numbers is measured in so many intervals.
COARSE = 5


@dataclass(frozen=True)
class Members:
    """Cuts of every number and parents of every column, for each member."""

    cuts: tuple[dict[str, Floats], ...]
    sizes: Ints  # (members, columns)
    parents: npt.NDArray[np.int32]  # (members, columns, parents), −1 if none

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
    def of(cls, learnt: list[Any]) -> ChainSteps:
        """Concatenate the steps of chains that were learned in groups."""
        lengths = [np.diff(some[0]) for some in learnt]
        start = np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, dtype=np.int64), *lengths]))])
        parts = [np.concatenate([some[i] for some in learnt]) for i in (1, 2, 3)] if learnt else None
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


# Penalty on the exponents of columns: their left-out terms are unbiased, but so many exponents overfit.
COLUMN_PENALTY = 8.0


class ScoreTerms(NamedTuple):
    """The number of score terms of each kind; the prior is the last term."""

    columns: int
    chains: int  # 2 (geometric and arithmetic mean), or 0
    forests: int  # 4 (both means of each forest), or 0
    line: int  # 1, or 0 without a linear part

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

    def centre(self, beta: float) -> Floats:
        """Return the start and the center of the penalty of the exponents (terms,).

        Each kind has the same share, split equally among its terms. ``beta`` is the temperature of the product of
        columns and prior.

        >>> ScoreTerms(3, 2, 4, 1).centre(0.8).round(3).tolist()
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
    """

    codes: Codes  # codes of the values that steps of chains single out
    cuts: tuple[dict[str, Floats], ...]  # of each member
    parents: npt.NDArray[np.int32]  # (members, columns, parents)
    m: Floats  # (columns, members, levels)
    steps: ChainSteps
    temperatures: tuple[float, ...]  # of the two means of chains and the four of forests
    exponents: Floats  # of the score terms
    trees: CodedTrees | None = None  # both forests; the linear part reads their codes
    line: LinearPart | None = None
    boosting: BoostedTrees | None = None

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
        if not isinstance(other, Structure) or len(self.cuts) != len(other.cuts):
            return False
        if self.columns != other.columns or self.codes != other.codes or self.trees != other.trees:
            return False
        ours, theirs = self._arrays(), other._arrays()
        return len(ours) == len(theirs) and all(
            np.array_equal(a, b, equal_nan=True) for a, b in zip(ours, theirs, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def _arrays(self) -> list[Array]:
        cuts, steps = [mine[name] for mine in self.cuts for name in sorted(mine)], self.steps
        weighed = [np.array(self.temperatures), self.exponents, *(self.line.arrays() if self.line else ())]
        weighed += self.boosting.arrays() if self.boosting else []
        return [*cuts, self.parents, self.m, steps.start, steps.column, steps.m, steps.cuts, *weighed]

    def __repr__(self) -> str:
        return f"Structure({len(self.cuts)} members, {len(self.steps)} chains, {self.n_trees} trees)"

    def members(self, how: Codes) -> Members:
        """Return the members for columns in these codes."""
        return Members.of(self.cuts, self.parents, how)

    def steps_in(self, how: Codes) -> ChainSteps:
        """Return the steps of chains for columns in these codes."""
        return self.steps.recoded(self.codes, how)

"""Members of the ensemble: cuts of numbers and parents of columns, drawn anew for each.

Cuts have not seen the classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.estimate.information import pair_information
from bayeskit.models.ensemble.learnt_rows import LearntRows
from bayeskit.tally.coded_trees import ColumnCodes
from bayeskit.typing import Array, Floats, Ints

Codes = dict[str, ColumnCodes]
PARENTS = 5  # of a column in a member, at most
COARSE = 5  # intervals in which dependence is measured


@dataclass(frozen=True)
class Members:
    """Cuts of every number and the parents of every column, member by member."""

    cuts: tuple[dict[str, Floats], ...]
    sizes: Ints  # (members, columns)
    parents: npt.NDArray[np.int32]  # (members, columns, parents), −1 where there is none

    @classmethod
    def of(cls, cuts: tuple[dict[str, Floats], ...], parents: npt.NDArray[np.int32], how: Codes) -> Members:
        """With the number of values that each column has in each member."""
        sizes = [
            [len(mine[name]) + 1 + code.missing if code.values is None else code.size for name, code in how.items()]
            for mine in cuts
        ]
        return cls(cuts, np.array(sizes, dtype=np.int64).reshape(len(cuts), len(how)), parents)

    def codes(self, columns: list[Array], how: Codes, n_threads: int) -> Array:
        """(members, columns, rows): numbers by each member's own cuts."""
        n_rows = len(columns[0])
        out = np.empty((*self.sizes.shape, n_rows), dtype=np.min_scalar_type(int(self.sizes.max())))
        for j, cuts in enumerate(self.cuts):
            for i, (name, column) in enumerate(zip(how, columns, strict=True)):
                out[j, i] = column if how[name].values is not None else binned(column, cuts[name], how[name], n_threads)
        return out


def binned(column: Floats, cuts: Floats, how: ColumnCodes, n_threads: int) -> Array:
    """Codes of numbers by cuts, a value on a cut to the left; infinity is a number that is not known."""
    by_cuts = ColumnCodes(tuple(range(len(cuts) + 1)), how.missing)
    codes = by_cuts.shift(kernels.bin_codes([column], [cuts], n_threads)[0])
    if len(column) and column.max() == np.inf:
        return np.where(column == np.inf, by_cuts.size, codes)
    return codes


def draw_members(rows: LearntRows, n_members: int, rng: np.random.Generator, n_threads: int) -> Members:
    """Odd members choose parents by dependence times chance, even ones by chance alone; all draw their own cuts.

    The cuts have not seen the classes: cuts that have make every leave-one-out figure far too good.
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
    """Midpoints of neighbours at random ranks of sorted numbers, each once; a cut beyond all numbers is none.

    A rank within ties cuts at the tied value itself, where `estimate.cuts.random` goes half way to the next: with both
    drawn there is one interval more, and the ensemble's figures were measured so.

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

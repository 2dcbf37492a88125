"""Which columns depend on each other: mutual information from counts, and the best tree over it.

    I(X; Y)     = Σ P(x, y) ln P(x, y) / (P(x) P(y))
    I(X; Z | Y) = Σ P(x, z, y) ln P(x, z | y) / (P(x | y) P(z | y))

In nats. Names decide between equals, so that the order of the columns does not matter.

Formula: I(X; Y ∣ C), the best tree, parents in order
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.tally.families import Family
from bayeskit.tally.pairs import Pairs

Floats = npt.NDArray[np.float64]


def mutual_information(counts: npt.NDArray[Any]) -> float:
    """I of the rows and columns of a table of counts.

    >>> round(mutual_information(np.array([[5, 0], [0, 5]])), 6), mutual_information(np.array([[4, 2], [2, 1]]))
    (0.693147, 0.0)
    """
    n = np.asarray(counts, dtype=np.float64)
    total = n.sum()
    if total <= 0:
        return 0.0
    outer = n.sum(axis=1, keepdims=True) * n.sum(axis=0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(n > 0, n * np.log(n * total / outer), 0.0)
    found = float(terms.sum() / total)
    return found if found > 1e-12 else 0.0


def information_about_class(family: Family) -> float:
    """I(X; Y) of a column and the class, over the rows where it is present."""
    return mutual_information(family.present)


def conditional_information(counts: npt.NDArray[Any]) -> tuple[Floats, Floats]:
    """(Σ over rows of I(X; Z | Y), degrees of freedom) of each table of counts (…, classes, values of X, values of Z).

    >>> xor = np.array([[[25, 0], [0, 25]], [[0, 25], [25, 0]]])
    >>> gain, freedom = conditional_information(xor)
    >>> round(float(gain) / 100, 6), float(freedom)
    (0.693147, 2.0)
    """
    n = np.asarray(counts, dtype=np.float64)
    x, z = n.sum(axis=-1, keepdims=True), n.sum(axis=-2, keepdims=True)
    product, total = x * z, x.sum(axis=-2, keepdims=True)
    ratio = np.divide(n * total, product, out=np.ones_like(n), where=n > 0)
    gain = (n * np.log(ratio)).reshape(*n.shape[:-3], -1).sum(axis=-1)
    free_x, free_z = (np.maximum((side > 0).sum(axis=(-2, -1)) - 1.0, 0.0) for side in (x, z))
    return np.maximum(gain, 0.0), np.asarray((free_x * free_z).sum(axis=-1))


def present(table: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The cells where both columns are there, of a pair's counts (classes, slots, slots)."""
    return table[:, 1:, 1:]


def dependence(pairs: Pairs) -> Floats:
    """Σ I(X; Z | Y) over the rows for all pairs (columns, columns), 0 where it is no more than chance would give.

    Independent columns have half a nat for each degree of freedom on average.
    """
    found = np.zeros((len(pairs.columns), len(pairs.columns)))
    for i, a in enumerate(pairs.columns):
        for j in range(i + 1, len(pairs.columns)):
            b = pairs.columns[j]
            gain, freedom = conditional_information(present(pairs.table(min(a, b), max(a, b))))
            found[i, j] = found[j, i] = gain if gain > freedom / 2 + 1e-9 else 0.0
    return found


def best_tree(names: Sequence[str], weights: Floats, roots: Sequence[float]) -> dict[str, str]:
    """Parent of each column in the forest of the largest total weight; weights of 0 are no arc.

    Each tree is rooted at its column with the largest of ``roots``.

    >>> best_tree(["a", "b", "c"], np.array([[0, 3, 2], [3, 0, 1], [2, 1, 0]]), [0, 5, 1])
    {'a': 'b', 'c': 'a'}
    """
    parent: dict[str, str] = {}
    open_ = sorted(range(len(names)), key=lambda i: (-roots[i], names[i]))
    nearest = [(0.0, "")] * len(names)  # of each column that is not reached: its heaviest arc to one that is
    while open_:
        best = min(open_, key=lambda j: (-nearest[j][0], names[j]))
        if nearest[best][0] > 0:
            parent[names[best]] = nearest[best][1]
        else:
            best = open_[0]  # a new tree
        open_.remove(best)
        for j in open_:
            found = (float(weights[best, j]), names[best])
            if found[0] > 0 and (-found[0], found[1]) < (-nearest[j][0], nearest[j][1]):
                nearest[j] = found
    return {name: parent[name] for name in names if name in parent}

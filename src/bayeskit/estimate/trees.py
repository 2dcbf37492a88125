"""Trees over columns: the forest in which those that tell most about each other are neighbors (Chow and Liu 1968).

Formula: the best tree
"""

from __future__ import annotations

from collections.abc import Sequence

from bayeskit.typing import Floats


def best_tree(names: Sequence[str], weights: Floats, roots: Sequence[float]) -> dict[str, str]:
    """Return the parent of each column in the forest of the largest total weight.

    Weights of 0 are not arcs. Names break ties, so the order of the columns does not matter. Each tree is rooted at its
    column with the largest of ``roots``.

    Parameters
    ----------
    names : sequence of str
    weights : ndarray of shape (n_columns, n_columns)
    roots : sequence of float, of length n_columns

    >>> import numpy as np
    >>> best_tree(["a", "b", "c"], np.array([[0, 3, 2], [3, 0, 1], [2, 1, 0]]), [0, 5, 1])
    {'a': 'b', 'c': 'a'}
    """
    parent: dict[str, str] = {}
    open_ = sorted(range(len(names)), key=lambda i: (-roots[i], names[i]))
    nearest = [(0.0, "")] * len(names)  # heaviest arc from each unreached column to the tree
    while open_:
        best = min(open_, key=lambda j: (-nearest[j][0], names[j]))
        if nearest[best][0] > 0:
            parent[names[best]] = nearest[best][1]
        else:
            best = open_[0]  # start a new tree
        open_.remove(best)
        for j in open_:
            arc = (float(weights[best, j]), names[best])
            if arc[0] > 0 and (-arc[0], arc[1]) < (-nearest[j][0], nearest[j][1]):
                nearest[j] = arc
    return {name: parent[name] for name in names if name in parent}

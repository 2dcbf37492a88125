"""Gaussian scores of rows that were learnt, each without itself."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayeskit.kernels.twins.checks import (
    Codes,
    Floats,
    check_cells,
    check_labels,
    check_matrix,
    length,
)


def score_gaussian_left_out(
    columns: Sequence[Floats],
    labels: Codes,
    mean: Floats,
    precision: Floats,
    constant: Floats,
    rate: Floats,
    own_precision: Floats,
    own_constant: Floats,
    least: float,
    scores: Floats,
    n_threads: int,
) -> NDArray[np.bool_]:
    """As `score_gaussian`, but in the class of its label a row is scored without itself, in place.

    Without x there is ``rest = 1 - rate (x - mean)²`` left of the spread of its class; the class then adds
    ``own_constant - own_precision (x - mean)² / (2 rest) - log(rest) / 2``. Rows where some ``rest`` is under
    ``least``, or no number, are left as they were: the result marks them (rows,).

    >>> scores, one = np.zeros((2, 1)), np.array([[1.0]])
    >>> x, label = np.array([3.0, 1.0]), np.zeros(2, dtype=np.uint8)
    >>> score_gaussian_left_out([x], label, one, one, one, one / 16, one, one, 0.8, scores, 1)
    array([ True, False])
    >>> scores.tolist()  # the second lies at the mean: 1 - 0 / 2 - log(1) / 2
    [[0.0], [1.0]]
    """
    check_matrix("scores", scores, length(columns, n_threads, "floats", len(scores)))
    check_labels(labels, scores.shape[1], len(scores))
    parts = {"mean": mean, "precision": precision, "constant": constant}
    parts |= {"rate": rate, "own_precision": own_precision, "own_constant": own_constant}
    for name, array in parts.items():
        check_cells(name, array, "float64", scores.shape[1], len(columns))
    added = np.zeros_like(scores)
    smallest = np.ones(len(scores))
    rows = np.arange(len(scores))
    with np.errstate(all="ignore"):
        for j, x in enumerate(columns):
            present = ~np.isnan(x)
            square = np.where(present, (x - mean[labels, j]) ** 2, 0.0)
            rest = 1.0 - rate[labels, j] * square
            term = constant[:, j] - 0.5 * precision[:, j] * (x[:, None] - mean[:, j]) ** 2
            term[rows, labels] = own_constant[labels, j] - 0.5 * own_precision[labels, j] * square / rest
            term[rows, labels] -= 0.5 * np.log(rest)
            added += np.where(present[:, None], term, 0.0)
            smallest = np.minimum(smallest, rest)
    left: NDArray[np.bool_] = ~(smallest >= least)
    scores[~left] += added[~left]
    return left

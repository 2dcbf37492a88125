"""A line in one-hot codes and numbers: its scores, and the log loss of classes with its gradient.

Coefficients (features, classes): those of the numbers first; those of the values of column j from ``place[j]`` to
``place[j + 1]``. A code beyond the values of its column says nothing.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.kernels.twins.checks import Floats, check_cells, check_labels, check_threads, check_weights


def score_line(
    codes: NDArray[np.uint8], place: NDArray[np.int64], numbers: Floats, coefficients: Floats, n_threads: int
) -> Floats:
    """Scores (rows, classes).

    >>> codes, place, numbers = np.array([[0], [1], [2]], dtype=np.uint8), np.array([1, 3]), np.array([[1.0], [2], [3]])
    >>> score_line(codes, place, numbers, np.array([[1.0], [10], [20]]), 1).ravel().tolist()
    [11.0, 22.0, 3.0]
    """
    check_threads(n_threads)
    return _features(codes, place, numbers, coefficients) @ coefficients


def line_loss(
    codes: NDArray[np.uint8],
    place: NDArray[np.int64],
    numbers: Floats,
    labels: NDArray[np.uint32],
    weights: Floats | None,
    coefficients: Floats,
    n_threads: int,
) -> tuple[float, Floats]:
    """Log loss Σ w (ln Σ_k exp s_k − s_y) and its gradient, like the coefficients.

    >>> loss, gradient = line_loss(np.zeros((1, 0), np.uint8), np.array([1]), np.ones((1, 1)),
    ...                            np.zeros(1, np.uint32), None, np.zeros((1, 2)), 1)
    >>> round(loss, 4), gradient.tolist()
    (0.6931, [[-0.5, 0.5]])
    """
    check_threads(n_threads)
    features = _features(codes, place, numbers, coefficients)
    check_labels(labels, coefficients.shape[1], len(codes))
    check_weights(weights, len(codes))
    scores, rows = features @ coefficients, np.arange(len(codes))
    by = np.ones(len(codes)) if weights is None else weights
    scores -= scores.max(axis=1, keepdims=True)
    shares = np.exp(scores)
    totals = shares.sum(axis=1, keepdims=True)
    loss = float(by @ (np.log(totals[:, 0]) - scores[rows, labels]))
    shares /= totals
    shares[rows, labels] -= 1
    return loss, features.T @ (shares * by[:, None])


def _features(codes: Any, place: Any, numbers: Any, coefficients: Any) -> Floats:
    """Numbers and one-hot values (rows, features)."""
    check_cells("codes", codes, "uint8", None, None)
    check_cells("numbers", numbers, "float64", len(codes), None)
    check_cells("coefficients", coefficients, "float64", None, None)
    check_cells("place", place, "int64", codes.shape[1] + 1)
    if place[0] != numbers.shape[1] or place[-1] != len(coefficients) or (np.diff(place) < 0).any():
        raise ValueError("place does not fit numbers and coefficients")
    features = np.zeros((len(codes), len(coefficients)))
    features[:, : numbers.shape[1]] = numbers
    for j, column in enumerate(codes.T):
        at = place[j] + column.astype(np.int64)
        present = np.flatnonzero(at < place[j + 1])
        features[present, at[present]] = 1
    return features

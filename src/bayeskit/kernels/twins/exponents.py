"""The log loss of a weighted sum of log factors, and its gradient."""

import numpy as np
from numpy.typing import NDArray

from bayeskit.kernels.twins.checks import (
    Floats,
    check_cells,
    check_threads,
)


def exponent_loss(
    factors: NDArray[np.float32],
    labels: NDArray[np.uint32],
    weights: Floats | None,
    exponents: Floats,
    n_threads: int,
) -> tuple[float, Floats]:
    """Log loss Σ w (ln Σ_k exp s_k − s_y), s = factors · exponents, and its gradient; factors (rows, classes, terms).

    >>> factors = np.array([[[1.0], [0.0]]], dtype=np.float32)
    >>> loss, gradient = exponent_loss(factors, np.zeros(1, np.uint32), None, np.zeros(1), 1)
    >>> round(loss, 4), gradient.tolist()
    (0.6931, [-0.5])
    """
    check_threads(n_threads)
    check_cells("factors", factors, "float32", None, None, None)
    check_cells("labels", labels, "uint32", len(factors))
    check_cells("exponents", exponents, "float64", factors.shape[2])
    if weights is not None:
        check_cells("weights", weights, "float64", len(factors))
    if labels.max(initial=0) >= factors.shape[1]:
        raise ValueError("labels hold a class beyond the factors")
    w, rows = np.ones(len(factors)) if weights is None else weights, np.arange(len(factors))
    scores = factors.astype(np.float64) @ exponents
    scores -= scores.max(axis=1, keepdims=True)
    shares = np.exp(scores)
    totals = shares.sum(axis=1, keepdims=True)
    loss = float(w @ (np.log(totals[:, 0]) - scores[rows, labels]))
    shares /= totals
    shares[rows, labels] -= 1
    return loss, np.einsum("r,rk,rkt->t", w, shares, factors.astype(np.float64))

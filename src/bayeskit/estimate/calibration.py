"""Exponents of log factors: s(y) = Σ_i w_i f_i(y), w ≥ 0, with the least log loss and not far from where they start.

    minimise  Σ_r (ln Σ_k exp s_r(k) − s_r(y_r)) + Σ_i a_i (w_i − c_i)²

The factors are those of rows left out, or the exponents would believe factors that have seen the answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace

Floats = npt.NDArray[np.float64]
ROUNDS = 60


def fit_exponents(
    factors: npt.NDArray[np.float32],
    labels: npt.NDArray[np.uint32],
    weights: Floats | None,
    centre: Floats,
    n_threads: int,
    penalty: Floats | float = 1.0,
) -> Floats:
    """Exponents of factors (rows, classes, terms) that stay near ``centre`` (terms,), by ``penalty`` a.

    >>> informed = np.log(np.array([[[0.9], [0.1]], [[0.1], [0.9]]] * 50, dtype=np.float32))   # right every time
    >>> fit_exponents(informed, np.array([0, 1] * 50, dtype=np.uint32), None, np.ones(1), 1).round(2).tolist()
    [2.09]
    """
    from scipy.optimize import minimize

    def loss(exponents: Floats) -> tuple[float, Floats]:
        value, gradient = kernels.exponent_loss(factors, labels, weights, exponents, n_threads)
        away = exponents - centre
        return value + float(penalty * away @ away), gradient + 2 * penalty * away

    bounds = [(0, None)] * len(centre)
    minimum = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": ROUNDS})
    return np.maximum(np.asarray(minimum.x, dtype=np.float64), 0.0)


def fit_temperature(scores: Floats, labels: npt.NDArray[Any], weights: Floats | None, capped: bool = False) -> float:
    """The single exponent β, from e⁻³ to e², with which softmax(β · scores) loses least.

    ``capped`` probabilities are (n p + 1) / (n + C) of n rows and C classes: no row that is wholly mistaken then counts
    for more than ln (n + C).

    >>> sure = np.array([[5.0, 0.0]] * 10)                  # e⁵ : 1 said, 7 : 3 seen
    >>> beta = fit_temperature(sure, np.array([0] * 7 + [1] * 3, dtype=np.uint32), None)
    >>> round(beta * 5, 3), round(float(np.log(7 / 3)), 3)
    (0.847, 0.847)
    """
    from scipy.optimize import minimize_scalar

    n = float(len(labels) if weights is None else weights.sum())
    shifted = np.asarray(scores - scores[np.arange(len(labels)), labels][:, None])

    def loss(log_beta: float) -> float:
        lost = logspace.log_sum_exp(float(np.exp(log_beta)) * shifted)
        if capped:
            lost = -log_capped(-lost, n, shifted.shape[1])
        return float(np.average(lost, weights=weights))

    return float(np.exp(minimize_scalar(loss, bounds=(-3, 2), method="bounded").x))


def log_capped(log_p: Floats, n: float, n_classes: int) -> Floats:
    """ln (n p + 1) / (n + C): what n rows of C classes allow to say.

    >>> log_capped(np.array([-np.inf, 0.0]), 8, 2).round(4).tolist()                   # 1 / 10 and 9 / 10
    [-2.3026, -0.1054]
    """
    return np.asarray(logspace.log((n * logspace.exp(log_p) + 1) / (n + n_classes)))

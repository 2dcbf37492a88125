"""Fit temperature scaling: one exponent that corrects the confidence of probabilities."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.threads import one_blas_thread
from bayeskit.typing import Array, Floats, Singles

ROUNDS = 60


def fit_exponents(
    factors: Singles,
    labels: npt.NDArray[np.uint32],
    weights: Floats | None,
    center: Floats,
    n_threads: int,
    penalty: Floats | float = 1.0,
) -> Floats:
    """Fit exponents of factors, shape (n_rows, n_classes, n_terms), with a penalty towards ``center``, shape
    (n_terms,).

    >>> informed = np.log(np.array([[[0.9], [0.1]], [[0.1], [0.9]]] * 50, dtype=np.float32))   # right every time
    >>> fit_exponents(informed, np.array([0, 1] * 50, dtype=np.uint32), None, np.ones(1), 1).round(2).tolist()
    [2.09]
    """
    from scipy.optimize import minimize

    def loss(exponents: Floats) -> tuple[float, Floats]:
        value, gradient = kernels.exponent_loss(factors, labels, weights, exponents, n_threads)
        away = exponents - center
        return value + float(penalty * away @ away), gradient + 2 * penalty * away

    bounds = [(0, None)] * len(center)
    with one_blas_thread():
        minimum = minimize(loss, center, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": ROUNDS})
    return np.maximum(np.asarray(minimum.x, dtype=np.float64), 0.0)


def fit_temperature(scores: Floats, labels: Array, weights: Floats | None, capped: bool = False) -> float:
    """Return the exponent β, from e⁻³ to e², that minimizes the log loss of softmax(β · scores).

    ``capped`` probabilities are (n p + 1) / (n + C) of n rows and C classes, which bounds the loss of a row by ln (n +
    C).

    >>> sure = np.array([[5.0, 0.0]] * 10)                  # e⁵ : 1 said, 7 : 3 seen
    >>> beta = fit_temperature(sure, np.array([0] * 7 + [1] * 3, dtype=np.uint32), None)
    >>> round(beta * 5, 3), round(float(np.log(7 / 3)), 3)
    (0.847, 0.847)
    """
    from scipy.optimize import minimize_scalar

    n = float(len(labels) if weights is None else weights.sum())
    shifted = np.asarray(scores - scores[np.arange(len(labels)), labels][:, None])
    largest = logspace.largest_of_rows(shifted)  # times β it is the largest of what is multiplied by β
    plain, room = bool(np.isfinite(largest).all()), np.empty_like(shifted)

    def loss(log_beta: float) -> float:
        beta = float(np.exp(log_beta))
        if plain:
            top = beta * largest
            np.multiply(shifted, beta, out=room)
            lost = logspace.log_sum_exp_below(room, top)
        else:
            lost = logspace.log_sum_exp(beta * shifted)
        if capped:
            lost = -log_capped(-lost, n, shifted.shape[1])
        return float(lost.mean() if weights is None else np.average(lost, weights=weights))

    return float(np.exp(minimize_scalar(loss, bounds=(-3, 2), method="bounded").x))


def fit_scale_and_bias(
    margins: Floats, labels: Array, importance: Floats, n_threads: int = 1
) -> tuple[float, Floats, float]:
    """Return s ≥ 0, b of shape (n_classes,), and the mean log loss that minimize the loss of softmax(s · margins + b).

    Margins have no unit: s is near that of margins of root mean square 1, and b near 0, by a penalty of half their
    squared distance beside the sum of the rows' losses. So they are finite where every row is right.

    >>> margins = np.array([[0.0, 0.02], [0.0, -0.02]] * 50)
    >>> s, b, loss = fit_scale_and_bias(margins, np.array([1, 0] * 40 + [0, 1] * 10), np.ones(100))   # 8 of 10 right
    >>> round(0.02 * s, 2), b.round(2).tolist(), round(float(np.log(0.8 / 0.2)), 2)
    (1.4, [0.0, 0.0], 1.39)
    """
    from scipy.optimize import minimize

    own, n = labels.astype(np.uint32), max(float(importance.sum()), 1.0)
    centered = margins - margins.mean(axis=1, keepdims=True) if margins.size else margins
    size = float(np.sqrt(np.square(centered).mean())) if margins.size else 0.0
    none = np.zeros(margins.shape[1])
    if not size > 0:  # no rows, or no informative ones
        return 1.0, none, float(logspace.log(len(none)))
    features, ones = np.ascontiguousarray(centered[:, None] / size), np.ones(len(labels))

    def lost(v: Floats) -> tuple[float, float, Floats]:
        total, by_scale, by_bias = kernels.softmax_loss(
            features, ones, importance, v[:1], np.ascontiguousarray(v[1:]), own, n_threads
        )
        return float(total), float(by_scale[0]), by_bias

    center = np.append(1.0, none)

    def loss(v: Floats) -> tuple[float, Floats]:
        total, by_scale, by_bias = lost(v)
        away = v - center
        return (total + float(away @ away) / 2) / n, (np.append(by_scale, by_bias) + away) / n

    bounds = [(0.0, None), *[(None, None)] * len(none)]
    with one_blas_thread():
        v = minimize(loss, center, jac=True, method="L-BFGS-B", bounds=bounds).x
    return float(v[0]) / size, np.asarray(v[1:]), lost(v)[0] / n


def log_capped(log_p: Floats, n: float, n_classes: int) -> Floats:
    """Return ln (n p + 1) / (n + C), the probability capped for n rows and C classes.

    >>> log_capped(np.array([-np.inf, 0.0]), 8, 2).round(4).tolist()                   # 1 / 10 and 9 / 10
    [-2.3026, -0.1054]
    """
    return logspace.log((n * logspace.exp(log_p) + 1) / (n + n_classes))

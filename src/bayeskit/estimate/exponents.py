"""Fit exponents that maximize the conditional likelihood of the classes, by Newton's method.

With d_icj the score of term j for class c minus that for the row's own class,

    minimize  Σ_i ω_i ln Σ_c exp(Σ_j w_j d_icj)  +  λ/2 · Σ_j (w_j − 1)²

which is a conditional likelihood with a Gaussian prior around naive Bayes, w = 1.

Formula: P(c)^w0 Π P(x_j ∣ c)^w_j
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.threads import one_blas_thread
from bayeskit.tolerance import LEAST_SQUARE
from bayeskit.typing import Array, Floats

NEAR = 1e-5  # tolerance of the gradient, for each exponent in units of equal curvature
STEPS = 50
HALVINGS = 20  # of a step
# Largest difference of log terms whose weighted square is finite.
LARGEST = 1e100


def best_exponents(terms: Floats, labels: Array, weights: Floats, penalty: float) -> Floats:
    """Return exponents, shape (n_terms,), from terms, shape (n_rows, n_classes, n_terms), labels and weights.

    Rows that are impossible under some class are left out.
    """
    n_rows, n_classes, n_terms = terms.shape
    rows = np.arange(n_rows)
    other = np.ones((n_rows, n_classes), dtype=bool)
    other[rows, labels] = False
    with np.errstate(invalid="ignore"):
        apart = (terms - terms[rows, labels][:, None, :])[other].reshape(n_rows, n_classes - 1, n_terms)
    usable = (np.abs(apart) < LARGEST).all(axis=(1, 2))  # NaN compares as False
    if not usable.any():
        return np.ones(n_terms)
    loss = _Loss(np.ascontiguousarray(apart[usable]), weights[usable], penalty)
    with one_blas_thread():
        squares = loss.weights @ (loss.apart**2).sum(axis=1)
        start = np.minimum(1.0, np.sqrt(loss.weights.sum() / np.maximum(squares, LEAST_SQUARE)))
        w = _by_newton(loss, start)  # at most ten steps for small data
        return _by_trust_regions(loss, start, squares) if w is None else w


def _by_newton(loss: _Loss, w: Floats) -> Floats | None:
    """Take full Newton steps, halved until they decrease the loss enough; None if the Hessian is inaccurate."""
    value = loss.value(w)
    for _ in range(STEPS):
        gradient, curvature = loss.gradient(w), loss.hessian(w)
        diagonal = np.diag(curvature)
        if not diagonal.min() > 0:
            return None
        scale = 1 / np.sqrt(diagonal)
        try:
            lower = np.linalg.cholesky(scale[:, None] * curvature * scale)
        except np.linalg.LinAlgError:
            return None
        halfway = np.linalg.solve(lower, scale * gradient)
        if halfway @ halfway <= NEAR**2 * len(w):
            return w
        step = -scale * np.linalg.solve(lower.T, halfway)
        length, least = 1.0, value - halfway @ halfway / 4
        for _ in range(HALVINGS):
            if (next_value := loss.value(w + length * step)) <= value + length * (least - value):
                break
            length /= 2
        else:
            return None
        w, value = w + length * step, next_value
    return None


def _by_trust_regions(loss: _Loss, start: Floats, squares: Floats) -> Floats:
    """Minimize with a trust region, for extreme cells that make Newton's steps unsafe."""
    from scipy.optimize import minimize as scipy_minimize

    minimize: Any = scipy_minimize
    # An extreme cell (a Gaussian at its variance floor) may contribute 1e9 nats where another contributes one. Scale
    # the parameters to equal curvature: first by an upper bound, then by the curvature at the first solution.
    step = 1 / np.sqrt(loss.penalty + squares / 4)
    for tolerance in (1e-2, NEAR):
        solved = minimize(
            lambda u, step=step: loss.value(u * step),
            start / step,
            jac=lambda u, step=step: step * loss.gradient(u * step),
            hess=lambda u, step=step: step[:, None] * loss.hessian(u * step) * step,
            method="trust-exact",
            options={"gtol": tolerance * np.sqrt(len(squares)), "maxiter": 100, "initial_trust_radius": 10.0},
        )
        start = solved.x * step
        step = 1 / np.sqrt(np.diag(loss.hessian(start)))
    return np.asarray(start)


@dataclass
class _Loss:
    """Objective, gradient and Hessian; caches the last point."""

    apart: Floats  # shape (n_rows, n_classes − 1, n_terms)
    weights: Floats
    penalty: float
    _at: Floats | None = None

    def _look(self, w: Floats) -> None:
        if self._at is not None and np.array_equal(w, self._at):
            return
        n_rows, n_others, n_terms = self.apart.shape
        scores = (self.apart.reshape(-1, n_terms) @ w).reshape(n_rows, n_others)
        top = np.maximum(scores.max(axis=1), 0.0)  # the own class has score 0
        shares = logspace.exp(scores - top[:, None])
        total = shares.sum(axis=1) + logspace.exp(-top)
        self._log_total = logspace.log(total) + top
        self._shares = shares / total[:, None]
        self._at = w.copy()

    def value(self, w: Floats) -> float:
        self._look(w)
        return float(self.weights @ self._log_total + self.penalty / 2 * ((w - 1) ** 2).sum())

    def gradient(self, w: Floats) -> Floats:
        self._look(w)
        shares = (self._shares * self.weights[:, None]).ravel()
        return shares @ self.apart.reshape(-1, len(w)) + self.penalty * (w - 1)

    def hessian(self, w: Floats) -> Floats:
        self._look(w)
        shares = self._shares * self.weights[:, None]
        flat = self.apart.reshape(-1, len(w))
        mean = np.matmul(self._shares[:, None, :], self.apart)[:, 0, :]
        second = (flat * shares.reshape(-1, 1)).T @ flat - (mean * self.weights[:, None]).T @ mean
        return second + self.penalty * np.eye(len(w))

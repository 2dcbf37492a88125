"""The conditional likelihood of classes given rows: its slope and curvature, its minimum, and the choice of λ.

    f(b, w) = −Σ_i ω_i ln P(y_i | x_i)  +  λ/2 · Σ_j (s_j w_j)²

The matrix is dense or sparse. Two classes have one vector of weights (the log odds of the second), more have one each.
Unknowns are measured for columns moved to mean 0 and scaled to deviation 1, without touching the matrix; that is only
a change of units.

Formula: conditional likelihood, its slope and curvature; λ by evidence
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.frames import is_sparse
from bayeskit.errors import BayesError
from bayeskit.typing import Array, Floats

NEWTON = 300  # unknowns up to which curvature is worth its price
RANGE = (1e-4, 1e6)  # of the λ that evidence may choose
EVIDENCE = 2000  # unknowns up to which a determinant is worth its price
SAMPLE = 50_000  # rows of the first approximation
STEPS = 8  # with the curvature of the sample
LAMBDAS = np.logspace(4, -4, 17)  # that cross-validation tries, from strong to weak
CHUNK = 4096  # rows whose cells stay in the cache


class LogisticLoss:
    """f at parameters θ (K, 1 + features), flat: intercept at the mean, then weights in deviations."""

    def __init__(
        self, M: Any, labels: Array, n_classes: int, weights: Floats | None, mean: Floats, spread: Floats
    ) -> None:
        self.M, self.labels, self.weights = M, labels, weights
        self.K = 1 if n_classes == 2 else n_classes
        self.sign = np.where(labels == 1, 1.0, -1.0)
        self.mean = mean
        self.inverse = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        self.total = float(len(labels) if weights is None else weights.sum())
        self.chunk = max(CHUNK, M.shape[0] // 16) if is_sparse(M) else CHUNK
        self.penalty = np.zeros(len(mean))  # on squares of the unknowns
        self._at: Floats | None = None

    def with_penalty(self, penalty: float, scale: bool) -> LogisticLoss:
        """The same data under another λ; on weights of plain columns where ``scale`` is off."""
        self.penalty = np.where(self.inverse > 0, penalty if scale else penalty * self.inverse**2, 1.0)
        self._at = None
        return self

    def plain(self, theta: Floats) -> tuple[Floats, Floats]:
        """(intercepts (K,), weights (K, features)) of the columns as they are."""
        parts = theta.reshape(self.K, -1)
        w = parts[:, 1:] * self.inverse
        return parts[:, 0] - w @ self.mean, w

    def _pass(self, theta: Floats) -> None:
        """One look at the data: loss and slope; the probabilities are kept for the curvature."""
        if self._at is not None and np.array_equal(theta, self._at):
            return
        b, w = self.plain(theta)
        n, K = self.M.shape[0], self.K
        loss, slope, sums = 0.0, np.zeros((K, len(self.mean))), np.zeros(K)
        self.p = np.empty((n, K))
        self.smallest_margin = np.inf
        for start in range(0, n, self.chunk):
            rows = slice(start, min(start + self.chunk, n))
            part, labels = self.M[rows], self.labels[rows]
            z = part @ (w[0] if K == 1 else w.T) + b
            if K == 1:
                margin = self.sign[rows] * z
                small = logspace.exp(-np.abs(margin))
                losses = logspace.log1p(small) - np.minimum(margin, 0.0)
                p = np.where(margin >= 0, small, 1.0) / (1.0 + small)  # of the other class
                residual = -self.sign[rows] * p
            else:
                at_label = (np.arange(len(labels)), labels)
                z -= z[at_label][:, None]
                margin = -np.where(np.arange(K) == labels[:, None], -np.inf, z).max(axis=1)
                losses = logspace.log_sum_exp(z)
                p = logspace.exp(z - losses[:, None])
                residual = p.copy()
                residual[at_label] -= 1.0
            if self.weights is not None:
                losses = losses * self.weights[rows]
                residual *= self.weights[rows] if K == 1 else self.weights[rows][:, None]
            self.p[rows] = p if K > 1 else p[:, None]
            self.smallest_margin = min(self.smallest_margin, float(margin.min()))
            loss += float(losses.sum())
            slope += residual @ part if K == 1 else (part.T @ residual).T
            sums += residual.sum(axis=0)
        parts = theta.reshape(K, -1)
        slope = (slope - sums[:, None] * self.mean) * self.inverse + self.penalty * parts[:, 1:]
        loss += 0.5 * float((self.penalty * parts[:, 1:] ** 2).sum())
        gradient = np.column_stack([sums, slope])
        if K > 1:  # adding the same to all classes changes nothing: pinned to sum to zero
            drift = parts.sum(axis=0)
            loss += 0.5 * self._pin * float(drift @ drift)
            gradient += self._pin * drift
        self._at, self._loss, self._gradient = theta.copy(), loss, gradient.ravel()

    @property
    def _pin(self) -> float:
        return self.total / self.K**2

    def value(self, theta: Floats) -> float:
        """The loss at θ."""
        self._pass(theta)
        return self._loss

    def gradient(self, theta: Floats) -> Floats:
        """Its slope."""
        self._pass(theta)
        return self._gradient

    def hessian(self, theta: Floats) -> Floats:
        """Its curvature (K (1 + features))²."""
        self._pass(theta)
        n, K, width = self.M.shape[0], self.K, 1 + len(self.mean)
        H = np.zeros((K, width, K, width))
        for start in range(0, n, CHUNK):
            rows = slice(start, min(start + CHUNK, n))
            part = self.M[rows]
            x = np.empty((part.shape[0], width))
            x[:, 0] = 1.0
            np.subtract(part.toarray() if is_sparse(part) else part, self.mean, out=x[:, 1:])
            p, omega = self.p[rows], 1.0 if self.weights is None else self.weights[rows]
            for k in range(K):
                for m in range(k, K):
                    d = (p[:, k] * ((k == m) - p[:, m])) * omega
                    H[k, :, m, :] += x.T @ (x * d[:, None])
        for k in range(K):
            for m in range(k):
                H[k, :, m, :] = H[m, :, k, :].T
        units = np.concatenate([[1.0], self.inverse])
        H *= units[:, None, None] * units
        flat = H.reshape(K * width, K * width)
        flat[np.diag_indices(K * width)] += np.tile(np.concatenate([[0.0], self.penalty]), K)
        if K > 1:
            flat += self._pin * np.kron(np.ones((K, K)), np.eye(width))
        return flat


def solve(
    loss: LogisticLoss, start: Floats, solver: str, tol: float, max_iter: int, curvature: Any = None
) -> tuple[Floats, int]:
    """(θ at the minimum, iterations); ``curvature`` stands for the loss's own where that is dear."""
    from scipy.optimize import minimize as scipy_minimize

    minimize: Any = scipy_minimize

    if solver == "auto":
        solver = "newton" if len(start) <= NEWTON else "lbfgs"
    # In units of about equal curvature: a strong prior on a column of small spread would else hold up the others.
    step = np.tile(np.concatenate([[1.0], 1 / np.sqrt(1 + 4 * loss.penalty / loss.total)]), loss.K)
    value, slope = (lambda u: loss.value(u * step)), (lambda u: step * loss.gradient(u * step))
    bound = tol * loss.total
    if solver == "newton":
        bend = curvature or loss.hessian
        options = {"gtol": bound, "maxiter": max_iter, "initial_trust_radius": 4.0, "max_trust_radius": 1e4}
        minimum = minimize(
            value, start / step, jac=slope, hess=lambda u: step[:, None] * bend(u * step) * step,
            method="trust-exact", options=options,
        )  # fmt: skip
    else:
        options = {"gtol": bound, "maxiter": max_iter, "maxls": 50, "ftol": 64 * np.finfo(float).eps}
        minimum = minimize(value, start / step, jac=slope, method="L-BFGS-B", options=options)
    return minimum.x * step, int(minimum.nit)


def good_start(loss: LogisticLoss, twin: Floats) -> Floats:
    """The generative twin, a part of the way to it, or nothing: where its overconfidence is worse than that."""
    starts = [_shrunk(twin, share, loss.K) for share in (1.0, 0.5, 0.25, 0.1, 0.0)] + [np.zeros_like(twin)]
    return starts[int(np.argmin([loss.value(start) for start in starts]))]


def _shrunk(theta: Floats, share: float, K: int) -> Floats:
    parts = theta.reshape(K, -1).copy()
    parts[:, 1:] *= share
    return parts.ravel()


def sample_of(loss: LogisticLoss) -> LogisticLoss:
    """The same loss on some of the rows, for a first approximation."""
    step = max(loss.M.shape[0] // SAMPLE, 1)
    weights = None if loss.weights is None else loss.weights[::step]
    part = LogisticLoss(loss.M[::step], loss.labels[::step], max(loss.K, 2), weights, loss.mean, loss.mean)
    part.inverse, part.penalty = loss.inverse, loss.penalty * (part.total / loss.total)
    return part


def fit_from(loss: LogisticLoss, twin: Floats, solver: str, tol: float, max_iter: int) -> tuple[Floats, int]:
    """The minimum, by way of a sample where rows are many: it gives the start, and the curvature of the first steps."""
    if loss.M.shape[0] < 2 * SAMPLE:
        return solve(loss, good_start(loss, twin), solver, tol, max_iter)
    part = sample_of(loss)
    ratio = loss.total / part.total
    start, _ = solve(part, good_start(part, twin), solver, 100 * tol, max_iter)
    start, nit = solve(loss, start, solver, tol, min(max_iter, STEPS), lambda theta: ratio * part.hessian(theta))
    if np.abs(loss.gradient(start)).max() <= tol * loss.total:
        return start, nit
    start, more = solve(loss, start, solver, tol, max_iter)
    return start, nit + more


def log_evidence(loss: LogisticLoss, theta: Floats) -> float:
    """ln P(labels | λ) by Laplace's approximation, up to a constant: −f(θ) + ½ Σ ln λ − ½ ln det H."""
    sign, determinant = np.linalg.slogdet(loss.hessian(theta))
    if sign <= 0:
        return -np.inf
    free = loss.inverse > 0
    return float(-loss.value(theta) + 0.5 * loss.K * logspace.log(loss.penalty[free]).sum() - 0.5 * determinant)


def by_evidence(loss: LogisticLoss, twin: Floats, scale: bool, solver: str, tol: float, max_iter: int) -> float:
    """The λ under which the labels are most probable, the weights integrated out."""
    from scipy.optimize import minimize_scalar

    if len(twin) > EVIDENCE:
        raise BayesError(
            f'penalty="evidence" needs the determinant of {len(twin)} × {len(twin)} curvatures; beyond {EVIDENCE} '
            'unknowns use penalty="cv" or a number'
        )
    at = good_start(loss.with_penalty(1.0, scale), twin)

    def against(log_penalty: float) -> float:
        nonlocal at
        at, _ = solve(loss.with_penalty(float(logspace.exp(log_penalty)), scale), at, solver, tol, max_iter)
        return -log_evidence(loss, at)

    minimum = minimize_scalar(against, bounds=tuple(logspace.log(RANGE)), method="bounded", options={"xatol": 0.02})
    return float(logspace.exp(minimum.x))


def by_cross_validation(
    loss: LogisticLoss, twin: Floats, scale: bool, cv: Any, seed: Any, solver: str, tol: float, max_iter: int
) -> tuple[float, list[tuple[float, float]]]:
    """(the λ that predicts left-out rows best, [(λ, mean log loss)]); from strong to weak, each from the one before."""
    from sklearn.model_selection import StratifiedKFold, check_cv

    if isinstance(cv, int):
        least = int(np.bincount(loss.labels).min())
        if least < 2:
            raise BayesError('penalty="cv" needs at least two rows of every class; give λ as a number, or more rows')
        cv = StratifiedKFold(min(cv, least), shuffle=True, random_state=seed if seed is not None else 0)
    folds = check_cv(cv, loss.labels, classifier=True)
    n_classes = max(loss.K, 2)
    totals = np.zeros(len(LAMBDAS))
    for learn, test in folds.split(np.zeros(len(loss.labels)), loss.labels):
        weights = [None if loss.weights is None else loss.weights[rows] for rows in (learn, test)]
        part, left = (
            LogisticLoss(loss.M[rows], loss.labels[rows], n_classes, w, loss.mean, loss.mean)
            for rows, w in zip((learn, test), weights, strict=True)
        )
        part.inverse = left.inverse = loss.inverse
        at = _shrunk(twin, 0.0, loss.K)
        for i, penalty in enumerate(LAMBDAS):
            at, _ = solve(part.with_penalty(float(penalty), scale), at, solver, tol, max_iter)
            totals[i] += left.value(at)
    means = totals / loss.total
    return float(LAMBDAS[int(np.argmin(means))]), list(zip(LAMBDAS.tolist(), means.tolist(), strict=True))

"""Minimize the conditional negative log-likelihood of classes given rows, and choose λ.

    f(b, w) = −Σ_i ω_i ln P(y_i | x_i)  +  λ/2 · Σ_j (s_j w_j)²

The matrix is dense or sparse. Two classes have one weight vector (the log odds of the second), more classes have one
each. Parameters refer to columns standardized to mean 0 and standard deviation 1; the matrix itself is not changed.

Exponents of the terms of a model are fitted by Newton's method: with d_icj the score of term j for class c minus that
for the row's own class,

    minimize  Σ_i ω_i ln Σ_c exp(Σ_j w_j d_icj)  +  λ/2 · Σ_j (w_j − 1)²

which is a conditional likelihood with a Gaussian prior around naive Bayes, w = 1.

Formula: conditional likelihood, its slope and curvature; λ by evidence
Formula: P(c)^w0 Π P(x_j ∣ c)^w_j
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.frames import is_sparse
from bayeskit.errors import BayesError
from bayeskit.threads import one_blas_thread
from bayeskit.tolerance import LEAST_SQUARE
from bayeskit.typing import Array, Floats

NEWTON = 300  # largest number of parameters for Newton's method
RANGE = (1e-4, 1e6)  # range of λ for evidence maximization
EVIDENCE = 2000  # largest number of parameters for a determinant
SAMPLE = 50_000  # rows of the first approximation
STEPS = 8  # iterations with the Hessian of the sample
LAMBDAS = np.logspace(4, -4, 17)  # grid of cross-validation, from strong to weak
CHUNK = 4096  # rows that fit the cache


class LogisticLoss:
    """Loss f at parameters θ (K, 1 + n_features), flattened: intercept at the mean, then standardized weights."""

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
        self.penalty = np.zeros(len(mean))  # on squared parameters
        self._at: Floats | None = None

    def with_penalty(self, penalty: float, scale: bool) -> LogisticLoss:
        """Return the loss of the same data with another λ; on unstandardized weights if ``scale`` is False."""
        self.penalty = np.where(self.inverse > 0, penalty if scale else penalty * self.inverse**2, 1.0)
        self._at = None
        return self

    def plain(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return intercepts, shape (K,), and weights, shape (K, n_features), of the unstandardized columns."""
        parts = theta.reshape(self.K, -1)
        w = parts[:, 1:] * self.inverse
        return parts[:, 0] - w @ self.mean, w

    def _pass(self, theta: Floats) -> None:
        """Compute loss and gradient in one pass; keep the probabilities for the Hessian."""
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
                p = np.where(margin >= 0, small, 1.0) / (1.0 + small)  # probability of the other class
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
        if K > 1:  # adding a constant to all classes changes nothing: constrain the sum to zero
            drift = parts.sum(axis=0)
            loss += 0.5 * self._pin * float(drift @ drift)
            gradient += self._pin * drift
        self._at, self._loss, self._gradient = theta.copy(), loss, gradient.ravel()

    @property
    def _pin(self) -> float:
        return self.total / self.K**2

    def value(self, theta: Floats) -> float:
        """Return the loss at θ."""
        self._pass(theta)
        return self._loss

    def gradient(self, theta: Floats) -> Floats:
        """Return the gradient at θ."""
        self._pass(theta)
        return self._gradient

    def hessian(self, theta: Floats) -> Floats:
        """Return the Hessian, shape (K (1 + n_features), K (1 + n_features))."""
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
    """Return θ at the minimum and the number of iterations; ``curvature`` replaces an expensive Hessian."""

    if solver == "auto":
        solver = "newton" if len(start) <= NEWTON else "lbfgs"
    # Rescale to about equal curvature: a strong prior on a column of small variance would slow down the others.
    step = np.tile(np.concatenate([[1.0], 1 / np.sqrt(1 + 4 * loss.penalty / loss.total)]), loss.K)
    bound = tol * loss.total
    if solver == "newton":
        options = {"gtol": bound, "maxiter": max_iter, "initial_trust_radius": 4.0, "max_trust_radius": 1e4}
        return _minimize(loss, start, step, options, curvature or loss.hessian)
    options = {"gtol": bound, "maxiter": max_iter, "maxls": 50, "ftol": 64 * np.finfo(float).eps}
    return _minimize(loss, start, step, options)


def _minimize(
    loss: LogisticLoss | _Loss, start: Floats, step: Floats, options: dict[str, Any], curvature: Any = None
) -> tuple[Floats, int]:
    """Minimize a loss in units of ``step``, by trust regions if there is a curvature, else by L-BFGS."""
    from scipy.optimize import minimize

    of_method: dict[str, Any] = {"method": "L-BFGS-B"}
    if curvature is not None:
        of_method = {"method": "trust-exact", "hess": lambda u: step[:, None] * curvature(u * step) * step}
    value, slope = (lambda u: loss.value(u * step)), (lambda u: step * loss.gradient(u * step))
    settings: dict[str, Any] = {"jac": slope, "options": options, **of_method}
    minimum = minimize(value, start / step, **settings)
    return minimum.x * step, int(minimum.nit)


def good_start(loss: LogisticLoss, twin: Floats) -> Floats:
    """Return the generative solution, a fraction of it, or zero, whichever has the smallest loss."""
    starts = [_shrunk(twin, share, loss.K) for share in (1.0, 0.5, 0.25, 0.1, 0.0)] + [np.zeros_like(twin)]
    return starts[int(np.argmin([loss.value(start) for start in starts]))]


def _shrunk(theta: Floats, share: float, K: int) -> Floats:
    parts = theta.reshape(K, -1).copy()
    parts[:, 1:] *= share
    return parts.ravel()


def sample_of(loss: LogisticLoss) -> LogisticLoss:
    """Return the loss on a sample of the rows, for a first approximation."""
    step = max(loss.M.shape[0] // SAMPLE, 1)
    weights = None if loss.weights is None else loss.weights[::step]
    part = LogisticLoss(loss.M[::step], loss.labels[::step], max(loss.K, 2), weights, loss.mean, loss.mean)
    part.inverse, part.penalty = loss.inverse, loss.penalty * (part.total / loss.total)
    return part


def fit_from(loss: LogisticLoss, twin: Floats, solver: str, tol: float, max_iter: int) -> tuple[Floats, int]:
    """Find the minimum; for many rows, a sample provides the start and the Hessian of the first steps."""
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
    """Return ln P(labels | λ) by Laplace's approximation, up to a constant: −f(θ) + ½ Σ ln λ − ½ ln det H."""
    sign, determinant = np.linalg.slogdet(loss.hessian(theta))
    if sign <= 0:
        return -np.inf
    free = loss.inverse > 0
    return float(-loss.value(theta) + 0.5 * loss.K * logspace.log(loss.penalty[free]).sum() - 0.5 * determinant)


def by_evidence(loss: LogisticLoss, twin: Floats, scale: bool, solver: str, tol: float, max_iter: int) -> float:
    """Return the λ that maximizes the marginal likelihood of the labels."""
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
    loss: LogisticLoss, twin: Floats, scale: bool, solver: str, tol: float, max_iter: int, *, cv: Any, seed: Any
) -> tuple[float, list[tuple[float, float]]]:
    """Return the λ with the best cross-validated log loss and [(λ, mean log loss)], with warm starts from strong to
    weak."""
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


NEAR = 1e-5  # tolerance of the gradient, for each exponent in units of equal curvature
NEWTON_STEPS = 50
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
    for _ in range(NEWTON_STEPS):
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
    # An extreme cell (a Gaussian at its variance floor) may contribute 1e9 nats where another contributes one. Scale
    # the parameters to equal curvature: first by an upper bound, then by the curvature at the first solution.
    step = 1 / np.sqrt(loss.penalty + squares / 4)
    for tolerance in (1e-2, NEAR):
        options = {"gtol": tolerance * np.sqrt(len(squares)), "maxiter": 100, "initial_trust_radius": 10.0}
        start, _ = _minimize(loss, start, step, options, loss.hessian)
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

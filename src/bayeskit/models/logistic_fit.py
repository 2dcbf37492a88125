"""Fitting a logistic loss: SciPy's Newton or L-BFGS from a good start, and λ by cross-validation or by evidence.

Formula: conditional likelihood, its slope and curvature; λ by evidence
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.errors import BayesError
from bayeskit.models.logistic_loss import LogisticLoss

Floats = npt.NDArray[np.float64]
NEWTON = 300  # unknowns up to which curvature is worth its price
RANGE = (1e-4, 1e6)  # of the λ that evidence may choose
EVIDENCE = 2000  # unknowns up to which a determinant is
SAMPLE = 50_000  # rows of the first approximation
STEPS = 8  # with the curvature of the sample
LAMBDAS = np.logspace(4, -4, 17)


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
        found = minimize(
            value, start / step, jac=slope, hess=lambda u: step[:, None] * bend(u * step) * step,
            method="trust-exact", options=options,
        )  # fmt: skip
    else:
        options = {"gtol": bound, "maxiter": max_iter, "maxls": 50, "ftol": 64 * np.finfo(float).eps}
        found = minimize(value, start / step, jac=slope, method="L-BFGS-B", options=options)
    return found.x * step, int(found.nit)


def good_start(loss: LogisticLoss, twin: Floats) -> Floats:
    """The generative twin, or a part of the way to it: its overconfidence is worse than knowing nothing."""
    shares = (1.0, 0.5, 0.25, 0.1, 0.0)
    losses = [loss.value(_shrunk(twin, share, loss.K)) for share in shares]
    return _shrunk(twin, shares[int(np.argmin(losses))], loss.K)


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

    found = minimize_scalar(against, bounds=tuple(logspace.log(RANGE)), method="bounded", options={"xatol": 0.02})
    return float(logspace.exp(found.x))


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

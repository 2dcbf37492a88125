"""Calibrate scores with isotonic, sigmoid and beta maps.

Formula: isotonic, sigmoid and beta maps of log odds
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit import logspace
from bayeskit.errors import BadFile
from bayeskit.tolerance import ARRIVED, RIDGE
from bayeskit.typing import Bools, Floats

CERTAIN = 1e6  # log odds that stand for certainty
ROUNDS = 50  # of Newton's method, which usually takes about eight


@dataclass(frozen=True, eq=False)
class Isotonic:
    """Increasing curve with probabilities ``share`` at the log odds ``at`` and linear interpolation."""

    at: Floats
    share: Floats

    def __call__(self, odds: Floats) -> Floats:
        return np.interp(odds, self.at, self.share)

    @property
    def numbers(self) -> Floats:
        """Return both arrays concatenated."""
        return np.concatenate([self.at, self.share])

    @classmethod
    def of_numbers(cls, numbers: Floats) -> Isotonic:
        """Build the map from the numbers of a file."""
        at, share = np.split(numbers, 2) if len(numbers) % 2 == 0 and len(numbers) else (numbers, numbers[:0])
        rises = len(at) == len(share) > 0 and (np.diff(at) >= 0).all() and (np.diff(share) >= 0).all()
        if not rises or share.min() < 0 or share.max() > 1:
            raise BadFile("a calibration curve does not rise from 0 to 1")
        return cls(at, share)


@dataclass(frozen=True, eq=False)
class Logistic:
    """Logistic map with a slope for ln P, one for −ln(1 − P), and an offset; a sigmoid has equal slopes."""

    of_log: float
    of_rest: float
    offset: float

    def __call__(self, odds: Floats) -> Floats:
        log_p, log_rest = -logspace.log_add_exp(0.0, -odds), -logspace.log_add_exp(0.0, odds)
        return logspace.logistic(self.of_log * log_p - self.of_rest * log_rest + self.offset)

    @property
    def numbers(self) -> Floats:
        """Return the three parameters."""
        return np.array([self.of_log, self.of_rest, self.offset])

    @classmethod
    def of_numbers(cls, numbers: Floats) -> Logistic:
        """Build the map from the numbers of a file."""
        if len(numbers) != 3 or not np.isfinite(numbers).all():
            raise BadFile("a calibration curve has other than three numbers")
        return cls(*numbers.tolist())


ScoreMap = Isotonic | Logistic  # from log odds, shape (n_rows,), to probabilities; a file stores its numbers


def fit_isotonic(odds: Floats, is_class: Bools, weights: Floats | None) -> Isotonic:
    """Fit the increasing curve with the least squared error.

    >>> curve = fit_isotonic(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, True, False, True]), None)
    >>> curve(np.array([-9.0, 0.0, 9.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    from scipy.optimize import isotonic_regression  # as scikit-learn does

    order = np.argsort(odds)  # rows with equal scores are merged below, so their order does not matter
    at, share = odds[order], is_class[order].astype(np.float64)
    total = None if weights is None else weights[order]
    is_first = np.append(True, at[1:] > at[:-1])
    if not is_first.all():  # rows with equal scores are one point
        first = np.flatnonzero(is_first)
        w = np.ones(len(at)) if total is None else total
        at, total, share = at[first], np.add.reduceat(w, first), np.add.reduceat(w * share, first)
        share /= total
    share = np.clip(isotonic_regression(share, weights=total).x, 0, 1)
    ends = np.ones(len(at), dtype=bool)  # drop the inner points of constant segments
    ends[1:-1] = (share[1:-1] != share[:-2]) | (share[1:-1] != share[2:])
    return Isotonic(at[ends], np.asarray(share[ends], dtype=np.float64))


def fit_sigmoid(odds: Floats, is_class: Bools, weights: Floats | None) -> Logistic:
    """Fit Platt's sigmoid.

    >>> odds, seen = np.repeat([-4.0, 4.0], 100), np.tile(np.arange(100), 2) < np.repeat([30, 70], 100)
    >>> fit_sigmoid(odds, seen, None)(np.array([-4.0, 4.0])).round(2).tolist()      # 2 % said, 30 % seen
    [0.3, 0.7]
    """
    targets, w = _platt(is_class, weights)
    slope, offset = _newton(np.stack([odds, np.ones(len(odds))], axis=1), targets, w, np.array([1.0, 0.0]))
    return Logistic(float(slope), float(slope), float(offset))


def fit_beta(odds: Floats, is_class: Bools, weights: Floats | None) -> Logistic:
    """Fit the beta map; a negative slope is set to 0 and the other parameters are refitted."""
    targets, w = _platt(is_class, weights)
    log_p, log_rest = -logspace.log_add_exp(0.0, -odds), -logspace.log_add_exp(0.0, odds)
    features = np.stack([log_p, -log_rest, np.ones(len(odds))], axis=1)
    used = np.ones(3, dtype=bool)
    while True:
        coefficients = np.zeros(3)
        coefficients[used] = _newton(features[:, used], targets, w, np.array([1.0, 1.0, 0.0])[used])
        if not (coefficients[:2] < 0).any():
            return Logistic(*coefficients.tolist())
        used[int(np.argmin(coefficients[:2]))] = False


def _platt(is_class: Bools, weights: Floats | None) -> tuple[Floats, Floats]:
    """Return (targets, weights) of Platt's method."""
    w = np.ones(len(is_class)) if weights is None else weights
    inside = float(w[is_class].sum())
    outside = float(w.sum()) - inside
    return np.where(is_class, (inside + 1) / (inside + 2), 1 / (outside + 2)), w


def _newton(features: Floats, targets: Floats, weights: Floats, start: Floats) -> Floats:
    """Fit a logistic regression of shares, shape (n_rows,), on features, (n_rows, n_features), by damped Newton
    steps."""
    scale = np.maximum(np.abs(features).max(axis=0, initial=0.0), 1.0)
    scaled, center = features / scale, start * scale
    theta, ridge = center, RIDGE * np.eye(len(start))

    def loss(numbers: Floats) -> float:
        z, away = scaled @ numbers, numbers - center
        return float(weights @ (logspace.log_add_exp(0.0, z) - targets * z)) + RIDGE * float(away @ away) / 2

    at = loss(theta)
    for _ in range(ROUNDS):
        p = logspace.logistic(scaled @ theta)
        gradient = scaled.T @ (weights * (p - targets)) + RIDGE * (theta - center)
        curvature = (scaled * (weights * p * (1 - p))[:, None]).T @ scaled + ridge
        step, size = np.linalg.solve(curvature, gradient), 1.0
        while (after := loss(theta - size * step)) > at and size > ARRIVED:
            size /= 2
        if after > at:
            break
        theta, at = theta - size * step, after
        if np.abs(size * step).max() <= ARRIVED * max(1.0, float(np.abs(theta).max())):
            break
    return np.asarray(theta / scale)

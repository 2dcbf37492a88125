"""The conditional likelihood of classes given rows, its slope and its curvature, over a dense or sparse matrix.

    f(b, w) = −Σ_i ω_i ln P(y_i | x_i)  +  λ/2 · Σ_j (s_j w_j)²

Two classes have one vector of weights (the log odds of the second), more have one each. Unknowns are measured for
columns moved to mean 0 and scaled to deviation 1, without touching the matrix; that is only a change of units.

Formula: conditional likelihood, its slope and curvature; λ by evidence
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.frames import is_sparse

Floats = npt.NDArray[np.float64]
CHUNK = 4096  # rows whose cells stay in the cache


class LogisticLoss:
    """f at parameters θ (K, 1 + features), flat: intercept at the mean, then weights in deviations."""

    def __init__(
        self, M: Any, labels: npt.NDArray[Any], n_classes: int, weights: Floats | None, mean: Floats, spread: Floats
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
                own = (np.arange(len(labels)), labels)
                z -= z[own][:, None]
                margin = -np.where(np.arange(K) == labels[:, None], -np.inf, z).max(axis=1)
                losses = logspace.log_sum_exp(z)
                p = logspace.exp(z - losses[:, None])
                residual = p.copy()
                residual[own] -= 1.0
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

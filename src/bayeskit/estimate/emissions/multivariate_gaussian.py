"""Multivariate Gaussian emission: a covariance matrix for each state ("full") or one for all ("tied").

    μ = (Σx + κ m0) / (n + κ)
    Σ = (S + κ (μ − m0)(μ − m0)ᵀ + w f diag(v0)) / (n + w + [κ > 0])

with the prior of `gaussian.py`; tied covariances sum S and n over all states. Missing cells are marginalized: the
density is that of the present cells, and the statistics use the conditional expectation of the missing ones.

Formula: covariance of a state, under a normal–inverse-Wishart prior
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.estimate.emissions.emission import MatrixEmission, Statistics, numeric_matrix
from bayeskit.estimate.emissions.gaussian import NumericEmission, mixture_moments
from bayeskit.estimate.sampling import nulls_for_nan
from bayeskit.tally.plan import Request
from bayeskit.tally.products import pairs
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import GONE, SINGULAR, UNDERFLOW
from bayeskit.typing import Bools, Floats, Ints

LOG_TWO_PI = float(logspace.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class MultivariateGaussianEmission(MatrixEmission, NumericEmission):
    """Means (n_states, n_columns) and covariances (n_states, n_columns, n_columns)."""

    kind = "joint normals"
    tied: bool = False
    mean: Floats = None  # type: ignore[assignment]  # set by estimate()
    covariance: Floats = None  # type: ignore[assignment]  # set by estimate()

    def requests(self) -> Sequence[Request]:
        return [Request("moments", self.names), Request("products", self.names)]

    def shapes(self, n_states: int) -> tuple[tuple[int, ...], ...]:
        d = len(self.names)
        return (n_states, 1), (n_states, d), (n_states, d, d)

    def statistics_of_tally(self, tally: Tally) -> Statistics:
        """Scale products of rows that have both cells as if no cell were missing."""
        moments, products = tally.moments_of(self.names), tally.products
        assert products is not None
        rows = tally.class_counts.astype(np.float64)[:, None]
        away = np.where(moments.n > 0, moments.mean() - self.center, 0.0)
        n, spread = pairs(products)
        covariance = np.divide(spread, n, out=np.zeros_like(spread), where=n > 0)
        return rows, rows * away, rows[:, :, None] * (covariance + away[:, :, None] * away[:, None, :])

    def statistics_of_rows(self, block: Block, shares: Floats, n_threads: int) -> Statistics:
        x = numeric_matrix(block, self.names) - self.center
        n_states = shares.shape[1]
        rows, first, second = (np.zeros(shape) for shape in self.shapes(n_states))
        for at, there in _patterns(x):
            part, own = x[at], shares[at]
            rows[:, 0] += own.sum(axis=0)
            if there.all():
                first += np.einsum("ns,ni->si", own, part)
                for s in range(n_states):
                    second[s] += np.einsum("ni,nj->ij", part * own[:, s : s + 1], part)
                continue
            for s in range(n_states):
                expected, doubt = self._completed(part, there, s)
                first[s] += own[:, s] @ expected
                second[s] += (expected * own[:, s : s + 1]).T @ expected + own[:, s].sum() * doubt
        return rows, first, second

    def _completed(self, x: Floats, there: Bools, state: int) -> tuple[Floats, Floats]:
        """Return rows with missing cells replaced by their expectation in a state, and its covariance."""
        expected, doubt = np.where(np.isnan(x), 0.0, x), np.zeros((x.shape[1], x.shape[1]))
        gone = ~there
        if self.mean is None or self.covariance is None:
            doubt[gone, gone] = self.total[gone]
            return expected, doubt
        mean, covariance = self.mean[state] - self.center, self.covariance[state]
        weights = np.linalg.solve(covariance[np.ix_(there, there)], covariance[np.ix_(there, gone)])
        expected[:, gone] = mean[gone] + (x[:, there] - mean[there]) @ weights
        doubt[np.ix_(gone, gone)] = covariance[np.ix_(gone, gone)] - covariance[np.ix_(gone, there)] @ weights
        return expected, doubt

    def estimate(self, sums: Statistics) -> Self:
        rows, first, second = sums
        n = rows[:, 0]
        reached = n > GONE * max(float(n.sum()), 1.0)
        k, w = self.prior.mean_weight, self.prior.freedom
        away = np.divide(first, rows + k, out=np.zeros_like(first), where=rows + k > 0)
        across = away[:, :, None] * first[:, None, :]
        spread = second - across - np.swapaxes(across, 1, 2) + (rows + k)[:, :, None] * away[:, :, None] * away[:, None]
        pseudo = np.diag(self.prior.variance_weight * self.prior.floor * self.total)
        if self.tied:
            shared = (spread.sum(axis=0) + pseudo) / max(float(n.sum()) + w + len(n) * (k > 0) - (k > 0), UNDERFLOW)
            covariance = np.repeat(shared[None], len(n), axis=0)
        else:
            covariance = (spread + pseudo) / np.maximum(n + w, UNDERFLOW)[:, None, None]
            covariance[~reached] = np.diag(self.total)
        return replace(self, mean=self.center + away, covariance=self._definite(covariance))

    def _definite(self, covariance: Floats) -> Floats:
        """Shrink singular correlation matrices to the identity."""
        size = np.sqrt(np.maximum(np.diagonal(covariance, axis1=1, axis2=2), np.maximum(GONE * self.total, UNDERFLOW)))
        correlation = covariance / (size[:, :, None] * size[:, None, :])
        at = np.arange(len(self.names))
        correlation[:, at, at] = 1.0
        least = np.linalg.eigvalsh(correlation)[:, 0]
        lift = np.maximum(SINGULAR - least, 0.0)
        pull = (lift / np.where(lift > 0, 1 - least, 1.0))[:, None, None]
        correlation = (1 - pull) * correlation + pull * np.eye(len(self.names))
        return correlation * size[:, :, None] * size[:, None, :]

    def log_prior(self) -> float:
        of, prior = self.used, self.prior
        if not len(of):
            return 0.0
        total = 0.0
        for s, (mean, covariance) in enumerate(zip(self.mean[:, of], self.covariance[:, of][:, :, of], strict=True)):
            precision = np.linalg.inv(covariance)
            away = mean - self.center[of]
            once = not self.tied or s == 0
            held = once * prior.variance_weight * prior.floor * float(np.diagonal(precision) @ self.total[of])
            weight = once * prior.variance_weight + (prior.mean_weight > 0)
            log_size = float(np.linalg.slogdet(covariance)[1])
            total -= 0.5 * (weight * log_size + held + prior.mean_weight * float(away @ precision @ away))
        return total

    def statistics_log_likelihood(self, sums: Statistics) -> float:
        rows, first, second = sums
        of, total = self.used, 0.0
        away = (self.mean - self.center)[:, of]
        for s in range(len(rows) if len(of) else 0):
            covariance, linear = self.covariance[s][np.ix_(of, of)], np.outer(away[s], first[s, of])
            spread = second[s][np.ix_(of, of)] - linear - linear.T + rows[s, 0] * np.outer(away[s], away[s])
            size = len(of) * LOG_TWO_PI + float(np.linalg.slogdet(covariance)[1])
            total -= 0.5 * (rows[s, 0] * size + float(np.trace(np.linalg.solve(covariance, spread))))
        return total

    def add_matrix_scores(self, x: Floats, scores: Floats) -> None:
        varies = np.zeros(len(self.names), dtype=bool)
        varies[self.used] = True
        for at, there in _patterns(x):
            some = np.flatnonzero(there & varies)
            if not len(some):
                continue
            for s, (mean, covariance) in enumerate(zip(self.mean, self.covariance, strict=True)):
                root = np.linalg.cholesky(covariance[np.ix_(some, some)])
                turned = np.linalg.inv(root)  # small matrices, which BLAS threads would slow down
                away = np.einsum("ij,nj->in", turned, x[at][:, some] - mean[some])
                constant = -0.5 * len(some) * LOG_TWO_PI - float(logspace.log(np.diagonal(root)).sum())
                scores[at, s] += constant - 0.5 * (away * away).sum(axis=0)

    @property
    def n_states(self) -> int:
        return len(self.mean)

    def table(self, name: str) -> Mapping[str, list[Any]]:
        j = self.names.index(name)
        own = {"mean": self.mean[:, j].tolist(), "variance": self.covariance[:, j, j].tolist()}
        others = {
            f"covariance with {other}": self.covariance[:, j, i].tolist()
            for i, other in enumerate(self.names)
            if i != j
        }
        return own | others

    def forecast(self, name: str, shares: Floats) -> Mapping[str, Floats]:
        j = self.names.index(name)
        return mixture_moments(self.mean[:, j], self.covariance[:, j, j], shares)

    def sample(self, states: Ints, rng: np.random.Generator) -> dict[str, Any]:
        roots = np.linalg.cholesky(self.covariance)
        noise = rng.standard_normal((len(states), len(self.names), 1))
        drawn = self.mean[states] + (roots[states] @ noise)[:, :, 0]
        return {name: nulls_for_nan(drawn[:, j]) for j, name in enumerate(self.names)}

    def n_parameters(self) -> int:
        states, d = len(self.mean), len(self.used)
        return states * d + (1 if self.tied else states) * d * (d + 1) // 2


def _patterns(x: Floats) -> Iterator[tuple[Any, Bools]]:
    """Yield (rows, present cells) for each pattern of missing cells."""
    there = ~np.isnan(x)
    if there.all():
        yield slice(None), np.ones(x.shape[1], dtype=bool)
        return
    patterns, which = np.unique(there, axis=0, return_inverse=True)
    for i, pattern in enumerate(patterns):
        yield np.flatnonzero(which.ravel() == i), pattern

"""Gaussian emission with independent columns: diagonal or spherical covariance.

With n rows in a state, m0 and v0 the mean and variance of the column over all rows, and a prior worth κ rows for the
mean and w rows of variance f·v0 for the variance, the posterior mode is

    μ = (Σx + κ m0) / (n + κ)
    σ² = (Σ(x − μ)² + κ (μ − m0)² + w f v0) / (n + w + [κ > 0])

This is a normal–inverse-gamma prior, so no variance is zero. A state without rows has m0 and v0. A constant column is
ignored.

Formula: mean and variance of a state, under a normal–inverse-gamma prior
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.estimate.emissions.emission import ColumnScale, Emission, Statistics, record_number
from bayeskit.estimate.sampling import nulls_for_nan
from bayeskit.estimate.variance import log_peak
from bayeskit.tally.plan import Request
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import GONE, UNDERFLOW
from bayeskit.typing import Floats, Ints


@dataclass(frozen=True)
class GaussianPrior:
    """Normal–inverse-gamma prior: weights in rows, and ``floor`` as a share of the total variance."""

    floor: float = 0.01
    variance_weight: float = 1.0
    mean_weight: float = 0.0

    @property
    def freedom(self) -> float:
        """Prior degrees of freedom of a variance."""
        return self.variance_weight + (self.mean_weight > 0)


def column_scales(block: Block, names: Sequence[str]) -> dict[str, ColumnScale]:
    """Return mean and variance of each column of a block."""
    found = {}
    for name in names:
        x = block.floats[name]
        x = x[~np.isnan(x)]
        found[name] = ColumnScale(float(x.mean()), float(x.var())) if len(x) else ColumnScale(0.0, 0.0)
    return found


def tally_column_scales(tally: Tally, names: Sequence[str]) -> dict[str, ColumnScale]:
    """Return mean and variance of each column of a tally."""
    found = {}
    for name in names:
        pooled = tally.moments_of([name]).pooled()
        n = float(pooled.n[0, 0])
        some = n > 0
        found[name] = ColumnScale(
            float(pooled.mean()[0, 0]) if some else 0.0,
            float(pooled.squared_deviations()[0, 0]) / n if some else 0.0,
        )
    return found


@dataclass(frozen=True, eq=False)
class NumericEmission(Emission):
    """Gaussian columns: scales and prior shared by all covariance types."""

    names: tuple[str, ...]
    scales: Mapping[str, ColumnScale]
    prior: GaussianPrior

    @cached_property
    def center(self) -> Floats:
        """Column means over all rows; statistics are centered on them to keep precision."""
        return np.array([self.scales[name].mean for name in self.names])

    @cached_property
    def total(self) -> Floats:
        """Column variances over all rows."""
        return np.array([self.scales[name].variance for name in self.names])

    @cached_property
    def used(self) -> Ints:
        """Indices of the columns that vary."""
        return np.flatnonzero(self.total > UNDERFLOW)


@dataclass(frozen=True, eq=False)
class GaussianEmission(NumericEmission):
    """Means and variances, shape (n_states, n_columns)."""

    kind = "normals"
    spherical: bool = False
    mean: Floats = None  # type: ignore[assignment]  # set by estimate()
    variance: Floats = None  # type: ignore[assignment]  # set by estimate()

    def requests(self) -> Sequence[Request]:
        return [Request("moments", self.names)]

    def shapes(self, n_states: int) -> tuple[tuple[int, ...], ...]:
        return ((n_states, len(self.names)),) * 3

    def statistics_of_tally(self, tally: Tally) -> Statistics:
        moments = tally.moments_of(self.names)
        n = moments.n.astype(np.float64)
        away = np.where(n > 0, moments.mean() - self.center, 0.0)
        return n, n * away, moments.squared_deviations() + n * away**2

    def statistics_of_rows(self, block: Block, shares: Floats, n_threads: int) -> Statistics:
        return kernels.weigh_numbers([block.floats[name] for name in self.names], self.center, shares, n_threads)

    def estimate(self, sums: Statistics) -> Self:
        n, first, second = sums
        total = n.sum(axis=0)
        reached = n > GONE * np.maximum(total, 1.0)
        k, w = self.prior.mean_weight, self.prior.freedom
        away = np.divide(first, n + k, out=np.zeros_like(first), where=n + k > 0)  # mean relative to the overall mean
        squares = np.maximum(second - 2 * away * first + away**2 * n, 0.0) + k * away**2
        pseudo = self.prior.variance_weight * self.prior.floor * self.total
        if self.spherical:
            of = self.used
            shared = (squares[:, of].sum(axis=1) + pseudo[of].sum()) / np.maximum((n[:, of] + w).sum(axis=1), UNDERFLOW)
            variance = np.repeat(shared[:, None], len(self.names), axis=1)
        else:
            variance = (squares + pseudo) / np.maximum(n + w, UNDERFLOW)
        floor = np.maximum(GONE * self.total, UNDERFLOW)
        variance = np.where(reached, np.maximum(variance, floor), np.maximum(self.total, UNDERFLOW))
        return replace(self, mean=self.center + away, variance=variance)

    def log_prior(self) -> float:
        of, prior = self.used, self.prior
        mean, variance = self.mean[:, of], self.variance[:, of]
        away = (mean - self.center[of]) ** 2
        held = prior.variance_weight * prior.floor * self.total[of] + prior.mean_weight * away
        return float(-0.5 * (prior.freedom * logspace.log(variance) + held / variance).sum())

    def statistics_log_likelihood(self, sums: Statistics) -> float:
        n, first, second = (part[:, self.used] for part in sums)
        variance, away = self.variance[:, self.used], (self.mean - self.center)[:, self.used]
        squares = second - 2 * away * first + n * away**2
        return float((n * log_peak(variance) - 0.5 * squares / variance).sum())

    @cached_property
    def normal_form(self) -> tuple[Floats, Floats, Floats]:
        """(mean, precision, constant) of the columns that vary, each of shape (n_states, n_columns)."""
        mean, variance = (np.ascontiguousarray(part[:, self.used]) for part in (self.mean, self.variance))
        return mean, 1 / variance, log_peak(variance)

    def add_scores(self, block: Block, scores: Floats, n_threads: int) -> None:
        if len(self.used):
            columns = [block.floats[self.names[j]] for j in self.used]
            kernels.score_gaussian(columns, *self.normal_form, scores, n_threads)

    def score_record(self, record: Mapping[str, Any]) -> Floats:
        mean, precision, constant = self.normal_form
        away = np.array([record_number(record, self.names[j]) for j in self.used]) - mean
        return np.asarray(np.where(np.isnan(away), 0.0, constant - 0.5 * precision * away**2).sum(axis=1))

    def table(self, name: str) -> Mapping[str, list[Any]]:
        j = self.names.index(name)
        return {"mean": self.mean[:, j].tolist(), "variance": self.variance[:, j].tolist()}

    def forecast(self, name: str, shares: Floats) -> Mapping[str, Floats]:
        return mixture_moments(self.mean[:, self.names.index(name)], self.variance[:, self.names.index(name)], shares)

    def sample(self, states: Ints, rng: np.random.Generator) -> dict[str, Any]:
        noise = rng.standard_normal((len(states), len(self.names)))
        drawn = self.mean[states] + np.sqrt(self.variance[states]) * noise
        return {name: nulls_for_nan(drawn[:, j]) for j, name in enumerate(self.names)}

    def n_parameters(self) -> int:
        states, columns = len(self.mean), len(self.used)
        return states * columns + (states if self.spherical and columns else states * columns)


def mixture_moments(mean: Floats, variance: Floats, shares: Floats) -> dict[str, Floats]:
    """Mean and variance of a mixture of states.

    >>> found = mixture_moments(np.array([0.0, 2.0]), np.array([1.0, 1.0]), np.array([[0.5, 0.5]]))
    >>> found["mean"].tolist(), found["variance"].tolist()
    ([1.0], [2.0])
    """
    expected = shares @ mean
    away = mean - expected[:, None]  # centered, to keep precision
    return {"mean": expected, "variance": shares @ variance + (shares * away**2).sum(axis=1)}

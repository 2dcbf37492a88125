"""Emissions of counts: Poisson rates, or multinomial shares of a row's total.

    Poisson       rate = (Σx + r) / (n + 1), r the rate of all rows: a Gamma prior worth one row
    multinomial   p_j = (Σx_j + a) / (Σ_j Σx_j + a·columns): a Dirichlet prior

Missing cells are ignored. In a multinomial row, the present cells share their total among themselves; if n counts fall
on cells of probability P, then n·p_j / P counts are expected on a missing cell j, which makes EM monotone. In labeled
rows a missing cell counts as the mean of its column.

Formula: rates of a state; shares of counts in a state
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.errors import BayesError
from bayeskit.estimate.emissions.emission import ColumnScale, MatrixEmission, Statistics, numeric_matrix
from bayeskit.estimate.emissions.gaussian import mixture_moments
from bayeskit.estimate.information import weighted_log_ratio
from bayeskit.estimate.sampling import nulls_for_nan
from bayeskit.tally.moments import are_counts
from bayeskit.tally.plan import Request
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import LEAST_SHARE
from bayeskit.typing import Floats, Ints


def check_counts(block: Block, names: Sequence[str]) -> None:
    """Raise an error for the first number that is not a count."""
    for name in names:
        x = block.floats[name]
        rows = np.flatnonzero(~np.isnan(x) & ~are_counts(x))
        if len(rows):
            raise BayesError(
                f"column {name!r} has {x[rows[0]]:g} in row {block.start + rows[0]}, which is no count (a whole number "
                'from 0). Take it otherwise: numeric="gaussian", for all columns or for this one.',
            )


@dataclass(frozen=True, eq=False)
class PoissonEmission(MatrixEmission):
    """Poisson columns; ``rate`` has shape (n_states, n_columns)."""

    kind = "rates"
    names: tuple[str, ...]
    scales: Mapping[str, ColumnScale]
    rate: Floats = None  # type: ignore[assignment]  # set by estimate()

    @cached_property
    def overall_rate(self) -> Floats:
        """Rate of each column over all rows, never zero."""
        return np.maximum([self.scales[name].mean for name in self.names], LEAST_SHARE)

    def requests(self) -> Sequence[Request]:
        return [Request("counts", self.names)]

    def shapes(self, n_states: int) -> tuple[tuple[int, ...], ...]:
        return ((n_states, len(self.names)),) * 2

    def statistics_of_tally(self, tally: Tally) -> Statistics:
        moments = tally.moments_of(self.names)
        n = moments.n.astype(np.float64)
        return n, np.where(n > 0, n * np.nan_to_num(moments.mean()), 0.0)

    def statistics_of_rows(self, block: Block, shares: Floats, n_threads: int) -> Statistics:
        x = numeric_matrix(block, self.names)
        there = ~np.isnan(x)
        return shares.T @ there.astype(np.float64), shares.T @ np.where(there, x, 0.0)

    def estimate(self, sums: Statistics) -> Self:
        n, total = sums
        return replace(self, rate=(total + self.overall_rate) / (n + 1))

    def log_prior(self) -> float:
        return float((self.overall_rate * logspace.log(self.rate) - self.rate).sum())

    def statistics_log_likelihood(self, sums: Statistics) -> float:
        n, total = sums
        return float((total * logspace.log(self.rate) - n * self.rate).sum())

    def add_matrix_scores(self, x: Floats, scores: Floats) -> None:
        from scipy.special import gammaln

        there = ~np.isnan(x)
        n = np.where(there, x, 0.0)
        scores += n @ logspace.log(self.rate).T - there @ self.rate.T - gammaln(n + 1).sum(axis=1)[:, None]

    @property
    def n_states(self) -> int:
        return len(self.rate)

    def table(self, name: str) -> Mapping[str, list[Any]]:
        return {"rate": self.rate[:, self.names.index(name)].tolist()}

    def forecast(self, name: str, shares: Floats) -> Mapping[str, Floats]:
        rate = self.rate[:, self.names.index(name)]
        return mixture_moments(rate, rate, shares)

    def sample(self, states: Ints, rng: np.random.Generator) -> dict[str, Any]:
        drawn = rng.poisson(self.rate[states]).astype(np.float64)
        return {name: nulls_for_nan(drawn[:, j]) for j, name in enumerate(self.names)}

    def n_parameters(self) -> int:
        return int(self.rate.size)


@dataclass(frozen=True, eq=False)
class MultinomialEmission(MatrixEmission):
    """Multinomial columns given the row total; ``probabilities`` has shape (n_states, n_columns)."""

    kind = "count shares"
    names: tuple[str, ...]
    smoothing: float
    mean_total: float = 0.0  # mean row total, for sampling
    probabilities: Floats = None  # type: ignore[assignment]  # set by estimate()

    def requests(self) -> Sequence[Request]:
        return [Request("counts", self.names)]

    def shapes(self, n_states: int) -> tuple[tuple[int, ...], ...]:
        return ((n_states, len(self.names)),)

    def statistics_of_tally(self, tally: Tally) -> Statistics:
        moments = tally.moments_of(self.names)
        rows = tally.class_counts.astype(np.float64)[:, None]
        return (np.where(moments.n > 0, rows * np.nan_to_num(moments.mean()), 0.0),)

    def statistics_of_rows(self, block: Block, shares: Floats, n_threads: int) -> Statistics:
        x = numeric_matrix(block, self.names)
        there = ~np.isnan(x)
        counts = np.where(there, x, 0.0)
        sums = shares.T @ counts
        gaps = ~there.all(axis=1)
        if self.probabilities is not None and gaps.any():
            open_ = there[gaps] @ self.probabilities.T
            totals = shares[gaps] * counts[gaps].sum(axis=1)[:, None]
            each = np.divide(totals, open_, out=np.zeros_like(totals), where=open_ > 0)
            sums += (each.T @ ~there[gaps]) * self.probabilities
        return (sums,)

    def estimate(self, sums: Statistics) -> Self:
        (counts,) = sums
        grown = counts + self.smoothing
        totals = grown.sum(axis=1, keepdims=True)
        even = 1.0 / len(self.names)
        with np.errstate(invalid="ignore", divide="ignore"):
            return replace(self, probabilities=np.where(totals > 0, grown / totals, even))

    def log_prior(self) -> float:
        weight = np.full(self.probabilities.shape, self.smoothing)
        return float(weighted_log_ratio(weight, self.probabilities, 1.0).sum())

    def statistics_log_likelihood(self, sums: Statistics) -> float:
        return float(weighted_log_ratio(sums[0], self.probabilities, 1.0).sum())

    def add_matrix_scores(self, x: Floats, scores: Floats) -> None:
        from scipy.special import gammaln

        there = ~np.isnan(x)
        n = np.where(there, x, 0.0)
        ways = gammaln(n.sum(axis=1) + 1) - gammaln(n + 1).sum(axis=1)
        logs = logspace.log(self.probabilities)
        if np.isneginf(logs).any():
            terms = np.where(n[:, None, :] > 0, n[:, None, :] * np.where(n[:, None, :] > 0, logs, 0.0), 0.0)
            scores += terms.sum(axis=2) + ways[:, None]
        else:
            scores += n @ logs.T + ways[:, None]
        gaps = ~there.all(axis=1)
        if gaps.any():
            totals = np.repeat(n[gaps].sum(axis=1)[:, None], len(self.probabilities), axis=1)
            scores[gaps] -= weighted_log_ratio(totals, there[gaps] @ self.probabilities.T, 1.0)

    @property
    def n_states(self) -> int:
        return len(self.probabilities)

    def table(self, name: str) -> Mapping[str, list[Any]]:
        return {"share": self.probabilities[:, self.names.index(name)].tolist()}

    def forecast(self, name: str, shares: Floats) -> Mapping[str, Floats]:
        return {"share": shares @ self.probabilities[:, self.names.index(name)]}

    def sample(self, states: Ints, rng: np.random.Generator) -> dict[str, Any]:
        totals = rng.poisson(self.mean_total, len(states))
        drawn = rng.multinomial(totals, self.probabilities[states]).astype(np.float64)
        return {name: nulls_for_nan(drawn[:, j]) for j, name in enumerate(self.names)}

    def n_parameters(self) -> int:
        return len(self.probabilities) * (len(self.names) - 1)

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
from bayeskit.estimate.emissions.emission import ColumnScale, Emission, Statistics, numeric_matrix, record_number
from bayeskit.estimate.emissions.gaussian import mixture_moments
from bayeskit.estimate.information import weighed_log_ratio
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
class PoissonEmission(Emission):
    """Poisson columns; ``rate`` has shape (n_states, n_columns)."""

    kind = "rates"
    names: tuple[str, ...]
    scales: Mapping[str, ColumnScale]
    rate: Floats | None = None

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
        assert self.rate is not None
        return float((self.overall_rate * logspace.log(self.rate) - self.rate).sum())

    def statistics_log_likelihood(self, sums: Statistics) -> float:
        assert self.rate is not None
        n, total = sums
        return float((total * logspace.log(self.rate) - n * self.rate).sum())

    def add_scores(self, block: Block, scores: Floats, n_threads: int) -> None:
        self._add(numeric_matrix(block, self.names), scores)

    def _add(self, x: Floats, scores: Floats) -> None:
        from scipy.special import gammaln

        assert self.rate is not None
        there = ~np.isnan(x)
        n = np.where(there, x, 0.0)
        scores += n @ logspace.log(self.rate).T - there @ self.rate.T - gammaln(n + 1).sum(axis=1)[:, None]

    def score_record(self, record: Mapping[str, Any]) -> Floats:
        assert self.rate is not None
        scores = np.zeros((1, len(self.rate)))
        self._add(np.array([[record_number(record, name) for name in self.names]]), scores)
        return np.asarray(scores[0])

    def table(self, name: str) -> Mapping[str, list[Any]]:
        assert self.rate is not None
        return {"rate": self.rate[:, self.names.index(name)].tolist()}

    def forecast(self, name: str, shares: Floats) -> Mapping[str, Floats]:
        assert self.rate is not None
        rate = self.rate[:, self.names.index(name)]
        return mixture_moments(rate, rate, shares)

    def sample(self, states: Ints, rng: np.random.Generator) -> dict[str, Any]:
        assert self.rate is not None
        drawn = rng.poisson(self.rate[states]).astype(np.float64)
        return {name: nulls_for_nan(drawn[:, j]) for j, name in enumerate(self.names)}

    def n_parameters(self) -> int:
        assert self.rate is not None
        return int(self.rate.size)


@dataclass(frozen=True, eq=False)
class MultinomialEmission(Emission):
    """Multinomial columns given the row total; ``probabilities`` has shape (n_states, n_columns)."""

    kind = "count shares"
    names: tuple[str, ...]
    smoothing: float
    mean_total: float = 0.0  # mean row total, for sampling
    probabilities: Floats | None = None

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
        assert self.probabilities is not None
        weight = np.full(self.probabilities.shape, self.smoothing)
        return float(weighed_log_ratio(weight, self.probabilities, 1.0).sum())

    def statistics_log_likelihood(self, sums: Statistics) -> float:
        assert self.probabilities is not None
        return float(weighed_log_ratio(sums[0], self.probabilities, 1.0).sum())

    def add_scores(self, block: Block, scores: Floats, n_threads: int) -> None:
        self._add(numeric_matrix(block, self.names), scores)

    def _add(self, x: Floats, scores: Floats) -> None:
        from scipy.special import gammaln

        assert self.probabilities is not None
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
            scores[gaps] -= weighed_log_ratio(totals, there[gaps] @ self.probabilities.T, 1.0)

    def score_record(self, record: Mapping[str, Any]) -> Floats:
        assert self.probabilities is not None
        scores = np.zeros((1, len(self.probabilities)))
        self._add(np.array([[record_number(record, name) for name in self.names]]), scores)
        return np.asarray(scores[0])

    def table(self, name: str) -> Mapping[str, list[Any]]:
        assert self.probabilities is not None
        return {"share": self.probabilities[:, self.names.index(name)].tolist()}

    def forecast(self, name: str, shares: Floats) -> Mapping[str, Floats]:
        assert self.probabilities is not None
        return {"share": shares @ self.probabilities[:, self.names.index(name)]}

    def sample(self, states: Ints, rng: np.random.Generator) -> dict[str, Any]:
        assert self.probabilities is not None
        totals = rng.poisson(self.mean_total, len(states))
        drawn = rng.multinomial(totals, self.probabilities[states]).astype(np.float64)
        return {name: nulls_for_nan(drawn[:, j]) for j, name in enumerate(self.names)}

    def n_parameters(self) -> int:
        assert self.probabilities is not None
        return len(self.probabilities) * (len(self.names) - 1)

"""Discrete emissions: symbols, Poisson rates, and multinomial shares of a row's total.

    categorical   P(symbol | state) = (n + a) / (N + a·m): the posterior mode under a Dirichlet prior
    Poisson       rate = (Σx + r) / (n + 1), r the rate of all rows: a Gamma prior worth one row
    multinomial   p_j = (Σx_j + a) / (Σ_j Σx_j + a·columns): a Dirichlet prior

A state without symbols or counts has a uniform distribution. Missing cells are ignored. Symbols never seen are ignored
unless they are smoothed: then m counts one more symbol, with a count of 0. In a multinomial row, the present cells
share their total among themselves; if n counts fall on cells of probability P, then n·p_j / P counts are expected on a
missing cell j, which makes EM monotone. In labeled rows a missing cell counts as the mean of its column.

Formula: P(symbol ∣ state), from shares of rows
Formula: rates of a state; shares of counts in a state
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.data.schema import Categorical
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.errors import BayesError, UnknownValue, format_setting
from bayeskit.estimate.emissions.emission import ColumnScale, Emission, MatrixEmission, Statistics, mixture_moments
from bayeskit.estimate.information import weighted_log_ratio
from bayeskit.estimate.sampling import cells_of, draw_slots
from bayeskit.tally.moments import are_counts
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


def smoothed_shares(counts: Floats, smoothing: float, unseen: bool = False) -> Floats:
    """Return the probabilities of values in each state from counts, both of shape (n_states, n_values).

    ``unseen`` reserves the smoothing of one more value.

    >>> smoothed_shares(np.array([[1.0, 0.0], [0.0, 0.0]]), 1.0).round(4).tolist()
    [[0.6667, 0.3333], [0.5, 0.5]]
    """
    grown = counts + smoothing
    totals = grown.sum(axis=1, keepdims=True) + smoothing * unseen
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(totals > 0, grown / totals, 1.0 / max(counts.shape[1], 1))


@dataclass(frozen=True, eq=False)
class CategoricalEmission(Emission):
    """Symbols of one column; ``probabilities`` has shape (n_states, n_symbols)."""

    kind = "symbols"
    statistics = ("families",)
    names: tuple[str, ...]
    values: tuple[Value, ...]
    smoothing: float
    unseen: str = "ignore"
    probabilities: Floats = None  # type: ignore[assignment]  # set by estimate()

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.names[0]

    def shapes(self, n_states: int) -> tuple[tuple[int, ...], ...]:
        return ((n_states, len(self.values)),)

    def statistics_of_tally(self, tally: Tally) -> Statistics:
        return (tally.families[self.name].present.astype(np.float64),)

    def statistics_of_rows(self, block: Block, shares: Floats, n_threads: int) -> Statistics:
        size = len(self.values) + 2
        counted = kernels.count_responsibilities([block.codes[self.name]], [size], shares, n_threads)[0]
        return (counted[:, 1:-1],)

    def estimate(self, sums: Statistics) -> Self:
        return replace(self, probabilities=smoothed_shares(sums[0], self.smoothing, self.unseen == "smooth"))

    def log_prior(self) -> float:
        if not self.smoothing:
            return 0.0
        rest = np.maximum(1 - self.probabilities.sum(axis=1, keepdims=True), 0.0)
        parts = np.hstack([self.probabilities, rest]) if self.unseen == "smooth" else self.probabilities
        return float(weighted_log_ratio(np.full(parts.shape, self.smoothing), parts, 1.0).sum())

    def statistics_log_likelihood(self, sums: Statistics) -> float:
        return float(weighted_log_ratio(sums[0], self.probabilities, 1.0).sum())

    @cached_property
    def log_table(self) -> Floats:
        """ln P, shape (n_symbols + 2, n_states): missing first, unseen last."""
        table = np.zeros((len(self.values) + 2, len(self.probabilities)))
        table[1:-1] = logspace.log(self.probabilities).T
        if self.unseen == "smooth":
            table[-1] = logspace.log(np.maximum(1 - self.probabilities.sum(axis=1), 0.0))
        return table

    def add_scores(self, block: Block, scores: Floats, n_threads: int) -> None:
        kernels.score_codes([block.codes[self.name]], [self.log_table], scores, n_threads)

    def score_record(self, record: Mapping[str, Any]) -> Floats:
        code = self._vocabulary.codes([record.get(self.name)])[0]
        if code == len(self.values) + 1 and self.unseen == "error":
            raise UnknownValue(
                f"column {self.name!r} has {record.get(self.name)!r}, not seen in training.",
                hint=f"Pass {format_setting('unseen', 'ignore')} to leave the column out for such rows.",
            )
        return self.log_table[code]

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(self.values)

    def table(self, name: str) -> Mapping[str, list[Any]]:
        return {str(value): self.probabilities[:, j].tolist() for j, value in enumerate(self.values)}

    def forecast(self, name: str, shares: Floats) -> Mapping[str, Floats]:
        expected = shares @ self.probabilities
        return {str(value): expected[:, j] for j, value in enumerate(self.values)}

    def sample(self, states: Ints, rng: np.random.Generator) -> dict[str, Any]:
        drawn = draw_slots(self.probabilities[states], rng) if self.values else np.zeros(len(states), np.int64) - 1
        return {self.name: cells_of(self.values, Categorical(), drawn + 1, rng)}

    def n_parameters(self) -> int:
        return len(self.probabilities) * max(len(self.values) - 1, 0)


@dataclass(frozen=True, eq=False)
class PoissonEmission(MatrixEmission):
    """Poisson columns; ``rate`` has shape (n_states, n_columns)."""

    kind = "rates"
    statistics = ("counts",)
    names: tuple[str, ...]
    scales: Mapping[str, ColumnScale]
    rate: Floats = None  # type: ignore[assignment]  # set by estimate()

    @cached_property
    def overall_rate(self) -> Floats:
        """Rate of each column over all rows, never zero."""
        return np.maximum([self.scales[name].mean for name in self.names], LEAST_SHARE)

    def shapes(self, n_states: int) -> tuple[tuple[int, ...], ...]:
        return ((n_states, len(self.names)),) * 2

    def statistics_of_tally(self, tally: Tally) -> Statistics:
        moments = tally.moments_of(self.names)
        n = moments.n.astype(np.float64)
        return n, np.where(n > 0, n * np.nan_to_num(moments.mean()), 0.0)

    def statistics_of_rows(self, block: Block, shares: Floats, n_threads: int) -> Statistics:
        x = self.matrix(block)
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

    def figures(self, j: int) -> dict[str, Floats]:
        return {"rate": self.rate[:, j]}

    def forecast(self, name: str, shares: Floats) -> Mapping[str, Floats]:
        rate = self.rate[:, self.names.index(name)]
        return mixture_moments(rate, rate, shares)

    def draw(self, states: Ints, rng: np.random.Generator) -> Floats:
        return rng.poisson(self.rate[states]).astype(np.float64)

    def n_parameters(self) -> int:
        return int(self.rate.size)


@dataclass(frozen=True, eq=False)
class MultinomialEmission(MatrixEmission):
    """Multinomial columns given the row total; ``probabilities`` has shape (n_states, n_columns)."""

    kind = "count shares"
    statistics = ("counts",)
    names: tuple[str, ...]
    smoothing: float
    mean_total: float = 0.0  # mean row total, for sampling
    probabilities: Floats = None  # type: ignore[assignment]  # set by estimate()

    def shapes(self, n_states: int) -> tuple[tuple[int, ...], ...]:
        return ((n_states, len(self.names)),)

    def statistics_of_tally(self, tally: Tally) -> Statistics:
        moments = tally.moments_of(self.names)
        rows = tally.class_counts.astype(np.float64)[:, None]
        return (np.where(moments.n > 0, rows * np.nan_to_num(moments.mean()), 0.0),)

    def statistics_of_rows(self, block: Block, shares: Floats, n_threads: int) -> Statistics:
        x = self.matrix(block)
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
        return replace(self, probabilities=smoothed_shares(sums[0], self.smoothing))

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

    def figures(self, j: int) -> dict[str, Floats]:
        return {"share": self.probabilities[:, j]}

    def forecast(self, name: str, shares: Floats) -> Mapping[str, Floats]:
        return {"share": shares @ self.probabilities[:, self.names.index(name)]}

    def draw(self, states: Ints, rng: np.random.Generator) -> Floats:
        totals = rng.poisson(self.mean_total, len(states))
        return rng.multinomial(totals, self.probabilities[states]).astype(np.float64)

    def n_parameters(self) -> int:
        return len(self.probabilities) * (len(self.names) - 1)

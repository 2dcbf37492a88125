"""Emissions: the columns of one kind and their distribution in each hidden state.

An emission is a posterior mode, so Baum–Welch never decreases the posterior. It is estimated from sufficient
statistics: sums over rows weighted by state probabilities, which can be added and stored.

Discrete emissions: symbols, Poisson rates, and multinomial shares of a row's total.

    categorical   P(symbol | state) = (n + a) / (N + a·m): the posterior mode under a Dirichlet prior
    Poisson       rate = (Σx + r) / (n + 1), r the rate of all rows: a Gamma prior worth one row
    multinomial   p_j = (Σx_j + a) / (Σ_j Σx_j + a·columns): a Dirichlet prior

A state without symbols or counts has a uniform distribution. Missing cells are ignored. Symbols never seen are ignored
unless they are smoothed: then m counts one more symbol, with a count of 0. In a multinomial row, the present cells
share their total among themselves; if n counts fall on cells of probability P, then n·p_j / P counts are expected on a
missing cell j, which makes EM monotone. In labeled rows a missing cell counts as the mean of its column.

Formula: P(symbol ∣ state), from shares of rows
Formula: rates of a state; shares of counts in a state

Gaussian emissions: independent columns (diagonal or spherical covariance) and multivariate ones (full or tied).

With n rows in a state, m0 and v0 the mean and variance of the column over all rows, and a prior worth κ rows for the
mean and w rows of variance f·v0 for the variance, the posterior mode is

    μ = (Σx + κ m0) / (n + κ)
    σ² = (Σ(x − μ)² + κ (μ − m0)² + w f v0) / (n + w + [κ > 0])

This is a normal–inverse-gamma prior, so no variance is zero. A state without rows has m0 and v0. A constant column is
ignored. A covariance matrix for each state ("full") or one for all ("tied", with S and n summed over all states) is

    Σ = (S + κ (μ − m0)(μ − m0)ᵀ + w f diag(v0)) / (n + w + [κ > 0])

Missing cells are marginalized: the density is that of the present cells, and the statistics use the conditional
expectation of the missing ones.

Formula: mean and variance of a state, under a normal–inverse-gamma prior
Formula: covariance of a state, under a normal–inverse-Wishart prior
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.data.schema import Categorical
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.errors import UnknownValue, format_setting
from bayeskit.estimate.covariance import missing_patterns
from bayeskit.estimate.information import weighted_log_ratio
from bayeskit.estimate.sampling import cells_of, draw_slots, nulls_for_nan
from bayeskit.estimate.variance import log_peak
from bayeskit.tally.moments import pairs
from bayeskit.tally.plan import Request
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import GONE, LEAST_SHARE, SINGULAR, UNDERFLOW
from bayeskit.typing import Bools, Floats, Ints

Statistics = tuple[Floats, ...]  # the first axis of each array is the states


@dataclass(frozen=True)
class ColumnScale:
    """Mean and variance of a column over all rows, to which priors and floors are relative."""

    mean: float
    variance: float


class Emission(Protocol):
    """Columns of one kind; :meth:`estimate` fills in the parameters of each state."""

    kind: ClassVar[str]
    statistics: ClassVar[tuple[str, ...]]  # to count in labeled rows
    names: tuple[str, ...]

    def requests(self) -> Sequence[Request]:
        """Return what to count in labeled rows."""
        return [Request(kind, self.names) for kind in self.statistics]

    def statistics_of_tally(self, tally: Tally) -> Statistics:
        """Return the statistics of labeled rows."""

    def statistics_of_rows(self, block: Block, shares: Floats, n_threads: int) -> Statistics:
        """Return the statistics of rows weighted by state probabilities, shape (n_rows, n_states)."""

    def shapes(self, n_states: int) -> tuple[tuple[int, ...], ...]:
        """Return the shapes of the arrays of the statistics."""

    def estimate(self, sums: Statistics) -> Self:
        """Return the emission with maximum a posteriori parameters."""

    def log_prior(self) -> float:
        """Return the log prior density of the parameters, up to a constant."""

    def statistics_log_likelihood(self, sums: Statistics) -> float:
        """Return ln P(rows) from their statistics, up to a constant."""

    def add_scores(self, block: Block, scores: Floats, n_threads: int) -> None:
        """Add ln P(cells | state) to scores of shape (n_rows, n_states); missing cells add 0."""

    def score_record(self, record: Mapping[str, Any]) -> Floats:
        """Return ln P(cells | state) of one record, shape (n_states,)."""

    def table(self, name: str) -> Mapping[str, list[Any]]:
        """Return the parameters of a column by state, for display."""

    def forecast(self, name: str, shares: Floats) -> Mapping[str, Floats]:
        """Return the expected values of a column under state probabilities, shape (n_rows, n_states)."""

    def sample(self, states: Ints, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a cell of each column for rows in given states."""

    def n_parameters(self) -> int:
        """Return the number of free parameters."""


class NumericColumns(Emission):
    """Numeric columns with parameters by state."""

    @abstractmethod
    def figures(self, j: int) -> dict[str, Floats]:
        """Return the parameters of column j by state, for display."""

    @abstractmethod
    def draw(self, states: Ints, rng: np.random.Generator) -> Floats:
        """Draw numbers for rows in given states, shape (n_rows, n_columns)."""

    def table(self, name: str) -> Mapping[str, list[Any]]:
        return {key: part.tolist() for key, part in self.figures(self.names.index(name)).items()}

    def forecast(self, name: str, shares: Floats) -> Mapping[str, Floats]:
        parameters = self.figures(self.names.index(name))
        return mixture_moments(parameters["mean"], parameters["variance"], shares)

    def sample(self, states: Ints, rng: np.random.Generator) -> dict[str, Any]:
        return dict(zip(self.names, map(nulls_for_nan, self.draw(states, rng).T), strict=True))


class MatrixEmission(NumericColumns):
    """Numeric columns that are scored together, as a matrix."""

    @property
    @abstractmethod
    def n_states(self) -> int:
        """Return the number of states."""

    @abstractmethod
    def add_matrix_scores(self, x: Floats, scores: Floats) -> None:
        """Add ln P(row | state) of rows x, (n_rows, n_columns), to scores of shape (n_rows, n_states)."""

    def matrix(self, block: Block) -> Floats:
        """Return the columns as a matrix, shape (n_rows, n_columns)."""
        return np.column_stack([block.floats[name] for name in self.names])

    def add_scores(self, block: Block, scores: Floats, n_threads: int) -> None:
        self.add_matrix_scores(self.matrix(block), scores)

    def score_record(self, record: Mapping[str, Any]) -> Floats:
        scores = np.zeros((1, self.n_states))
        self.add_matrix_scores(np.array([[record_number(record, name) for name in self.names]]), scores)
        return scores[0]


def add_statistics(a: Statistics, b: Statistics) -> Statistics:
    """Return the sum of both sides."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def record_number(record: Mapping[str, Any], name: str) -> float:
    """Return a number of a record, NaN if missing."""
    value = record.get(name)
    return float("nan") if value is None else float(value)


def mixture_moments(mean: Floats, variance: Floats, shares: Floats) -> dict[str, Floats]:
    """Mean and variance of a mixture of states.

    >>> found = mixture_moments(np.array([0.0, 2.0]), np.array([1.0, 1.0]), np.array([[0.5, 0.5]]))
    >>> found["mean"].tolist(), found["variance"].tolist()
    ([1.0], [2.0])
    """
    expected = shares @ mean
    away = mean - expected[:, None]  # centered, to keep precision
    return {"mean": expected, "variance": shares @ variance + (shares * away**2).sum(axis=1)}


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


LOG_TWO_PI = float(logspace.log(2 * np.pi))


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
        n, mean, squares = (float(part[0, 0]) for part in (pooled.n, pooled.mean(), pooled.squared_deviations()))
        found[name] = ColumnScale(mean, squares / n) if n > 0 else ColumnScale(0.0, 0.0)
    return found


@dataclass(frozen=True, eq=False)
class NumericEmission(NumericColumns):
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
    statistics = ("moments",)
    spherical: bool = False
    mean: Floats = None  # type: ignore[assignment]  # set by estimate()
    variance: Floats = None  # type: ignore[assignment]  # set by estimate()

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

    def figures(self, j: int) -> dict[str, Floats]:
        return {"mean": self.mean[:, j], "variance": self.variance[:, j]}

    def draw(self, states: Ints, rng: np.random.Generator) -> Floats:
        noise = rng.standard_normal((len(states), len(self.names)))
        return self.mean[states] + np.sqrt(self.variance[states]) * noise

    def n_parameters(self) -> int:
        states, columns = len(self.mean), len(self.used)
        return states * columns + (states if self.spherical and columns else states * columns)


@dataclass(frozen=True, eq=False)
class MultivariateGaussianEmission(MatrixEmission, NumericEmission):
    """Means (n_states, n_columns) and covariances (n_states, n_columns, n_columns)."""

    kind = "joint normals"
    statistics = ("moments", "products")
    tied: bool = False
    mean: Floats = None  # type: ignore[assignment]  # set by estimate()
    covariance: Floats = None  # type: ignore[assignment]  # set by estimate()

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
        x = self.matrix(block) - self.center
        n_states = shares.shape[1]
        rows, first, second = (np.zeros(shape) for shape in self.shapes(n_states))
        for there, at in missing_patterns(~np.isnan(x)):
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
        for there, at in missing_patterns(~np.isnan(x)):
            some = self.used[there[self.used]]
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

    def figures(self, j: int) -> dict[str, Floats]:
        others = (i for i in range(len(self.names)) if i != j)
        own = {"mean": self.mean[:, j], "variance": self.covariance[:, j, j]}
        return own | {f"covariance with {self.names[i]}": self.covariance[:, j, i] for i in others}

    def draw(self, states: Ints, rng: np.random.Generator) -> Floats:
        roots = np.linalg.cholesky(self.covariance)
        noise = rng.standard_normal((len(states), len(self.names), 1))
        return self.mean[states] + (roots[states] @ noise)[:, :, 0]

    def n_parameters(self) -> int:
        states, d = len(self.mean), len(self.used)
        return states * d + (1 if self.tied else states) * d * (d + 1) // 2

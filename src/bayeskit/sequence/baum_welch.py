"""Baum–Welch: expectation maximization for hidden Markov models, from several starts.

The E-step computes expected statistics under the current parameters, the M-step the most probable parameters given the
statistics. ln P(sequences) + ln P(parameters) never falls. The statistics of labeled sequences are added in every
round; a label at a single step restricts the paths to its state there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bayeskit.errors import BayesError, BayesWarning
from bayeskit.estimate.emissions.discrete import CategoricalEmission
from bayeskit.estimate.information import weighted_log_ratio
from bayeskit.estimate.sampling import k_means_plus_plus
from bayeskit.sequence.forward_backward import HMMStatistics, Observations
from bayeskit.sequence.parameters import HMMParameters, HMMStructure
from bayeskit.tolerance import ROUNDING
from bayeskit.typing import Floats, Ints

Report = Callable[[str, int, int], object]
# Rows that the initial parameters of a start are computed from.
START_ROWS = 20_000
LLOYD_ROUNDS = 8


class EMHistory(NamedTuple):
    """History of an EM run.

    ``log_posterior``: ln P(sequences) + ln P(parameters) in each round of the best start. ``log_likelihood``: ln
    P(sequences) in the last round. ``ends``: the final log posterior of every start.
    """

    log_posterior: tuple[float, ...]
    log_likelihood: float
    converged: bool
    interrupted: bool = False
    ends: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class BaumWelch:
    """Baum–Welch on sequences with hidden states, together with the statistics of fully labeled sequences."""

    structure: HMMStructure
    observed: Observations
    labeled: HMMStatistics
    max_rounds: int
    tol: float
    n_threads: int

    def fit(self, starts: int, seed: int | None, report: Report) -> tuple[HMMStatistics, HMMParameters, EMHistory]:
        """Run EM from several starts; return the expected statistics, parameters and history of the best one.

        An interruption stops the search and keeps the best result so far.
        """
        found: tuple[HMMStatistics, HMMParameters, EMHistory] | None = None
        ends: list[float] = []
        for i, child in enumerate(np.random.SeedSequence(seed).spawn(starts)):
            name = f"start {i + 1} of {starts}" if starts > 1 else "rounds"
            begin = self.initial_parameters(np.random.default_rng(child), i)

            def report_round(done: int, name: str = name) -> None:
                report(name, done, self.max_rounds)

            em = self.run(begin, report_round)
            ends.append(em[2].log_posterior[-1])
            if found is None or ends[-1] > found[2].log_posterior[-1]:
                found = em
            if em[2].interrupted:
                break
        assert found is not None
        sums, parameters, training = found
        return sums, parameters, training._replace(ends=tuple(ends))

    def run(
        self, parameters: HMMParameters, report: Callable[[int], object]
    ) -> tuple[HMMStatistics, HMMParameters, EMHistory]:
        """Alternate E-step and M-step from one start until the relative gain is below ``tol``."""
        sums, history, likelihood = self.structure.empty_statistics(), list[float](), -np.inf
        converged = interrupted = False
        try:
            for done in range(self.max_rounds):
                expected, likelihood, value = self.e_step(parameters)
                if history and not value > history[-1]:
                    # A loss is rounding error, or a variance at its floor.
                    converged = value >= history[-1] - ROUNDING * abs(history[-1])
                    break
                history.append(value)
                sums = expected
                parameters = self.m_step(sums)
                report(done + 1)
                if len(history) > 1 and history[-1] - history[-2] < self.tol * abs(history[-1]):
                    converged = True
                    break
        except KeyboardInterrupt:
            if not history:
                raise
            warnings.warn(
                f"the fit was interrupted after {len(history)} rounds; the model keeps the last parameters",
                BayesWarning,
                stacklevel=6,
            )
            interrupted = True
        return sums, parameters, EMHistory(tuple(history), likelihood, converged, interrupted)

    def e_step(self, parameters: HMMParameters) -> tuple[HMMStatistics, float, float]:
        """Return the expected statistics, ln P(sequences) and the log posterior under given parameters."""
        trellis = parameters.trellis(self.structure.stays, self.n_threads)
        log_likelihoods, expected = trellis.expected_counts(self.observed)
        likelihood = float(log_likelihoods.sum())
        log_posterior = likelihood + self._labeled_log_likelihood(parameters) + parameters.log_prior
        return expected, likelihood, log_posterior

    def m_step(self, expected: HMMStatistics) -> HMMParameters:
        """Return the most probable parameters given expected and labeled statistics."""
        return self.structure.estimate(self.labeled.plus(expected))

    def _labeled_log_likelihood(self, parameters: HMMParameters) -> float:
        """Return ln P(labeled sequences, their states) up to a constant."""
        own = self.labeled
        total = weighted_log_ratio(own.starts, parameters.start, 1.0).sum()
        total += weighted_log_ratio(own.moves, parameters.moves, 1.0).sum()
        for emission, sums in zip(parameters.emissions, own.emissions, strict=True):
            total += emission.statistics_log_likelihood(sums)
        return float(total)

    def initial_parameters(self, rng: np.random.Generator, i: int) -> HMMParameters:
        """Return the initial parameters of a start: from labels if there are any, else from similar rows."""
        block, k = self.observed.block, self.structure.n_states
        labels = self.observed.labels
        known = np.zeros(0, np.int64) if labels is None else np.flatnonzero(labels)
        has_labels = bool(self.labeled.starts.sum() or len(known))
        n_rows = len(known) if has_labels else block.n_rows
        rows = np.sort(rng.choice(n_rows, START_ROWS, replace=False)) if n_rows > START_ROWS else np.arange(n_rows)
        rows = known[rows] if has_labels else rows
        if has_labels:
            shares = np.zeros((len(rows), k))
            if labels is not None:
                shares[np.arange(len(rows)), labels[rows].astype(np.int64) - 1] = 1.0
        else:
            assign = self._assign_by_position if self._is_left_to_right() else self._assign_by_similarity
            shares = assign(rows, rng)
        scale = 1.0 if has_labels else block.n_rows / max(len(rows), 1)
        part = block.take(rows)
        emissions = tuple(
            tuple(scale * array for array in emission.statistics_of_rows(part, shares, self.n_threads))
            for emission in self.structure.emissions
        )
        steady = 0.5 * np.eye(k) + 0.5 * rng.dirichlet(np.ones(k), k)
        sums = HMMStatistics(rng.dirichlet(np.ones(k)), steady * (k if has_labels else block.n_rows), emissions)
        if has_labels:
            sums = self.labeled.plus(sums)
            if i:
                # Other starts deviate slightly from the labels.
                noise = rng.dirichlet(np.ones(k), k)
                sums = sums._replace(moves=sums.moves + noise * (1 + sums.moves.sum() / k))
        return self.structure.estimate(sums)

    def _is_left_to_right(self) -> bool:
        """Return True if the transitions forbid going back to an earlier state."""
        held = self.structure.rules.fixed
        below = np.tril_indices(len(held), -1)
        return len(held) > 1 and bool((held[below] == 0).all())

    def _assign_by_position(self, rows: Ints, rng: np.random.Generator) -> Floats:
        """Assign rows to states by relative position in their sequence, with some noise."""
        k, starts = self.structure.n_states, self.observed.starts
        of = np.searchsorted(starts, rows, side="right") - 1
        far = (rows - starts[of]) / np.maximum(np.diff(starts)[of], 1)
        shares = np.full((len(rows), k), 0.1 / k)
        shares[np.arange(len(rows)), np.minimum((far * k).astype(np.int64), k - 1)] += 0.9
        return shares * rng.uniform(0.5, 1.5, shares.shape)

    def _assign_by_similarity(self, rows: Ints, rng: np.random.Generator) -> Floats:
        """Assign rows to the nearest of k centers for numbers, and at random for symbols."""
        k, block = self.structure.n_states, self.observed.block
        shares = np.ones((len(rows), k))
        numbers = [
            name
            for emission in self.structure.emissions
            if not isinstance(emission, CategoricalEmission)
            for name in emission.names
        ]
        if numbers:
            x = np.column_stack([_standardize(block.floats[name][rows]) for name in numbers])
            nearest = _assign_to_centers(x, k, rng)
            shares *= 0.1 / k
            shares[np.arange(len(rows)), nearest] += 0.9
        for emission in self.structure.emissions:
            if isinstance(emission, CategoricalEmission):
                chances = rng.dirichlet(np.ones(k), len(emission.values) + 2)
                shares *= chances[block.codes[emission.name][rows]] + 0.05
        return shares / shares.sum(axis=1, keepdims=True)


def _standardize(x: Floats) -> Floats:
    """Standardize a column; missing numbers become 0."""
    there = ~np.isnan(x)
    if not there.any():
        return np.zeros(len(x))
    deviation = x[there].std()
    return np.where(there, (x - x[there].mean()) / (deviation or 1.0), 0.0)


def _assign_to_centers(x: Floats, k: int, rng: np.random.Generator) -> Ints:
    """Assign rows to the nearest of k centers: k-means++ initialization and a few Lloyd rounds."""
    if not len(x):
        return np.zeros(0, np.int64)
    rows, nearest = k_means_plus_plus(len(x), k, lambda row: _squared_distances(x, x[row][None])[:, 0], rng)
    centers = x[rows]
    for _ in range(LLOYD_ROUNDS):
        sizes = np.bincount(nearest, minlength=len(centers))
        sums = np.zeros_like(centers)
        np.add.at(sums, nearest, x)
        centers = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centers)
        nearest = _squared_distances(x, centers).argmin(axis=1)
    return nearest


def _squared_distances(x: Floats, centers: Floats) -> Floats:
    """Return squared distances, shape (n_rows, n_centers)."""
    return np.asarray(np.maximum((x**2).sum(axis=1)[:, None] - 2 * x @ centers.T + (centers**2).sum(axis=1), 0.0))


def impossible_error(name: str, step: int) -> BayesError:
    """Build the error for a sequence that no path of states can produce."""
    return BayesError(
        f"{name} is impossible from step {step} on: no path of states has a probability above zero there. Smooth the "
        "estimates, or allow more transitions"
    )

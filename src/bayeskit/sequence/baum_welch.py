"""Baum–Welch: structure and parameters of a hidden Markov model, and expectation maximization from several starts.

The E-step computes expected statistics under the current parameters, the M-step the most probable parameters given the
statistics. ln P(sequences) + ln P(parameters) never falls. The statistics of labeled sequences are added in every
round; a label at a single step restricts the paths to its state there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bayeskit.data.block import Block
from bayeskit.data.schema import Schema, as_classes
from bayeskit.data.sequences import Sequences
from bayeskit.data.vocabulary import Value, Vocabulary, sort_values
from bayeskit.errors import BayesError, BayesWarning
from bayeskit.estimate.emissions import (
    CategoricalEmission,
    ColumnScale,
    Emission,
    GaussianEmission,
    GaussianPrior,
    MultinomialEmission,
    MultivariateGaussianEmission,
    PoissonEmission,
)
from bayeskit.estimate.information import weighted_log_ratio
from bayeskit.estimate.sampling import k_means_plus_plus
from bayeskit.estimate.smoothing import is_number
from bayeskit.estimate.state_transitions import MinimumStays, TransitionRules, read_minimum_stays
from bayeskit.models.base.rules import one_of
from bayeskit.sequence.base import UNSEEN, step_name, unknown_step
from bayeskit.sequence.forward_backward import HMMStatistics, Observations, Trellis
from bayeskit.tally.moments import refuse_no_counts
from bayeskit.tally.plan import Plan, Request
from bayeskit.tally.tally import Tally
from bayeskit.tally.transitions import Transitions
from bayeskit.tolerance import ROUNDING
from bayeskit.typing import Bools, Floats, Ints

NUMERIC = ("gaussian", "poisson", "multinomial")
COVARIANCE = ("diagonal", "spherical", "full", "tied")


@dataclass(frozen=True, eq=False)
class HMMParameters:
    """Start and transition probabilities, emissions, and the log prior density of all parameters."""

    start: Floats
    moves: Floats
    emissions: tuple[Emission, ...]
    log_prior: float

    def trellis(self, stays: MinimumStays, n_threads: int) -> Trellis:
        """Return the trellis of these parameters."""
        return Trellis(self.start, self.moves, self.emissions, stays, n_threads)


@dataclass(frozen=True, eq=False)
class HMMStructure:
    """States, transition rules and emissions before anything is estimated."""

    rules: TransitionRules
    stays: MinimumStays
    emissions: tuple[Emission, ...]
    smoothing: float  # of transitions
    start_smoothing: float

    @classmethod
    def of(cls, settings: Any, tally: Tally, scales: Mapping[str, ColumnScale]) -> HMMStructure:
        """Build the structure for the states and columns of a tally."""
        states = tally.classes
        stays = read_minimum_stays(settings.min_stay, states)
        # Rows of transitions, and left-to-right, follow the declared order of the states.
        listed = [] if settings.states is None else [state for state in settings.states if state in states]
        order = [*listed, *(state for state in states if state not in listed)]
        rules = TransitionRules.of(settings.start, settings.transitions, order)
        at = [order.index(state) for state in states]
        rules = TransitionRules(rules.fixed_start[at], rules.fixed[np.ix_(at, at)], rules.ties[np.ix_(at, at)])
        emissions = build_emissions(settings, tally.schema, tally.space.values, scales)
        return cls(rules, stays, emissions, float(settings.transition_smoothing), float(settings.start_smoothing))

    @staticmethod
    def counting_plan(settings: Any, schema: Schema) -> Plan:
        """Return the plan for counting labeled sequences."""
        asked: dict[str, list[str]] = {}
        for emission in build_emissions(settings, schema, {}, dict.fromkeys(schema.measured, ColumnScale(0.0, 0.0))):
            for request in emission.requests():
                asked.setdefault(request.kind, []).extend(request.columns)
        return Plan(*(Request(kind, tuple(names)) for kind, names in asked.items()), Transitions.request_for(1))

    @staticmethod
    def check_settings(settings: Any) -> None:
        """Check the settings of states and emissions."""
        one_of("covariance", settings.covariance, COVARIANCE)
        one_of("unseen", settings.unseen, ("ignore", "smooth", "error"))
        for kind in settings.numeric.values() if isinstance(settings.numeric, Mapping) else [settings.numeric]:
            one_of("numeric", kind, NUMERIC)
        amounts = {k: v for k, v in vars(settings).items() if k.endswith(("smoothing", "_floor", "_weight"))}
        for name, given in amounts.items():
            for amount in given.values() if name == "smoothing" and isinstance(given, Mapping) else [given]:
                if not is_number(amount) or not 0 <= amount < np.inf:
                    raise BayesError(f"{name}={amount!r}: give a number, 0 or more")

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.stays.least)

    def check_counts(self, block: Block) -> None:
        """Raise an error for cells of count columns that are not counts."""
        for emission in self.emissions:
            if isinstance(emission, (PoissonEmission, MultinomialEmission)):
                refuse_no_counts(block, emission.names)

    def statistics_of_tally(self, tally: Tally) -> HMMStatistics:
        """Return the statistics of labeled sequences."""
        counted = tally.statistics[Transitions.kind]
        assert isinstance(counted, Transitions)
        starts, moves = counted.starts().astype(np.float64), counted.moves().astype(np.float64)
        free = self.stays.free_moves(moves, starts)
        return HMMStatistics(starts, free, tuple(emission.statistics_of_tally(tally) for emission in self.emissions))

    def empty_statistics(self) -> HMMStatistics:
        """Return statistics of zero."""
        return HMMStatistics.zeros(self.n_states, self.emissions)

    def statistics_from_arrays(self, arrays: Sequence[Floats]) -> HMMStatistics:
        """Rebuild statistics from :meth:`HMMStatistics.arrays`."""
        rest = iter(arrays)
        starts, moves = next(rest), next(rest)
        emissions = tuple(tuple(next(rest) for _ in e.shapes(self.n_states)) for e in self.emissions)
        return HMMStatistics(starts, moves, emissions)

    def estimate(self, sums: HMMStatistics) -> HMMParameters:
        """Return the maximum a posteriori parameters (the M-step)."""
        start = self.rules.start(sums.starts, self.start_smoothing)
        moves = self.rules.moves(sums.moves, self.smoothing)
        emissions = tuple(e.estimate(s) for e, s in zip(self.emissions, sums.emissions, strict=True))
        log_prior = self.rules.log_prior(start, moves, self.smoothing, self.start_smoothing)
        return HMMParameters(start, moves, emissions, log_prior + sum(e.log_prior() for e in emissions))


def build_emissions(settings: Any, schema: Schema, values: Mapping[str, Any], scales: Any) -> tuple[Emission, ...]:
    """Build the emissions of all columns before they are estimated."""
    gaussian, poisson, multinomial = (
        tuple(n for n in schema.measured if _setting(settings.numeric, n, schema, "gaussian") == kind)
        for kind in NUMERIC
    )
    emissions: list[Emission] = []
    for name in schema.coded:
        smoothing = float(_setting(settings.smoothing, name, schema, 1.0))
        emissions.append(CategoricalEmission((name,), tuple(values.get(name, ())), smoothing, settings.unseen))
    prior = GaussianPrior(settings.variance_floor, settings.variance_weight, settings.mean_weight)
    if gaussian and settings.covariance in ("full", "tied"):
        emissions.append(MultivariateGaussianEmission(gaussian, scales, prior, settings.covariance == "tied"))
    elif gaussian:
        emissions.append(GaussianEmission(gaussian, scales, prior, settings.covariance == "spherical"))
    if poisson:
        emissions.append(PoissonEmission(poisson, scales))
    if multinomial:
        smoothing = float(_setting(settings.smoothing, multinomial[0], schema, 1.0))
        total = sum(scales[name].mean for name in multinomial)
        emissions.append(MultinomialEmission(multinomial, smoothing, total))
    return tuple(emissions)


def _setting(setting: Any, name: str, schema: Schema, default: Any) -> Any:
    """Return a setting that may differ by column."""
    if not isinstance(setting, Mapping):
        return setting
    return {schema.find(key): value for key, value in setting.items()}.get(name, default)


@dataclass(frozen=True, eq=False)
class StateLabels:
    """Known states of steps: codes, −1 where hidden, None if all are hidden.

    ``whole`` marks the sequences without a hidden one.
    """

    sequences: Sequences
    codes: Ints | None
    whole: Bools

    @classmethod
    def of(cls, sequences: Sequences, states: Sequence[Value]) -> StateLabels:
        """Read the labels of sequences; raise an error for a label that is not a state."""
        if sequences.labels is None:
            return cls(sequences, None, sequences.lengths == 0)
        codes = sequences.coded(sequences.labels, Vocabulary(states), name="state")
        if (codes == UNSEEN).any():
            at = int(np.argmax(codes == UNSEEN))
            raise BayesError(unknown_step(sequences, sequences.labels, at, "which is not a state", states))
        hidden = np.concatenate([[0], np.cumsum(codes < 0)])
        return cls(sequences, codes, np.asarray(hidden[sequences.starts[1:]] == hidden[sequences.starts[:-1]]))

    @staticmethod
    def state_names(sequences: Sequences, n_states: Any, declared: Any) -> tuple[Value, ...]:
        """Return the sorted names of the states: declared, found in the labels, or numbers."""
        given = int(n_states) if isinstance(n_states, (int, np.integer)) else None
        if declared is not None:
            states = tuple(as_classes(declared, "state"))
            if given is not None and given != len(states):
                raise BayesError(f"n_states={given} and {len(states)} names in states: they are not as many")
            return tuple(sort_values(states))
        if sequences.labels is not None:
            seen = Vocabulary()
            sequences.coded(sequences.labels, seen, grow=True, name="state")
            if not seen.values:
                raise BayesError("no position has a state: leave out y, and give n_states")
            if given is not None and given != len(seen.values):
                what = f"n_states={given}, but the labels name {len(seen.values)} states"
                raise BayesError(f"{what}: leave n_states out, or name all states in states=")
            return tuple(sort_values(seen.values))
        if given is None:
            raise BayesError("how many states are there? Give n_states, a number or several to choose from, or y")
        return tuple(range(given))

    @property
    def labeled(self) -> Sequences:
        """Non-empty sequences whose steps are all labeled."""
        return self.sequences.take(self.whole & (self.sequences.lengths > 0))

    @property
    def hidden(self) -> Ints:
        """Indices of the sequences with hidden states."""
        return np.flatnonzero(~self.whole)

    def warn_forbidden_transitions(self, rules: TransitionRules) -> None:
        """Warn about labeled transitions that are forbidden; they have probability 0 and are not counted."""
        if self.codes is None:
            return
        lengths, starts = self.sequences.lengths, self.sequences.starts
        own = np.flatnonzero(np.repeat(self.whole, lengths))
        begins = np.isin(own, starts[:-1][lengths > 0])
        moves = rules.fixed[self.codes[np.maximum(own - 1, 0)], self.codes[own]]
        bad = own[np.where(begins, rules.fixed_start[self.codes[own]], moves) == 0]
        if len(bad):
            what = f"{len(bad):,} labeled steps begin or go where start= or transitions= forbid it, the first being "
            what += f"{step_name(self.sequences, int(bad[0]))}: they do not count as moves"
            warnings.warn(f"{what}. Change the labels, or allow them", BayesWarning, stacklevel=4)

    def observed(self, block: Block) -> Observations:
        """Return the observations of the sequences with hidden states."""
        which = ~self.whole
        starts = np.concatenate([[0], np.cumsum(self.sequences.lengths[which])])
        if self.codes is None:  # fully labeled sequences are empty here
            return Observations(block, starts)
        rows = np.repeat(which, self.sequences.lengths)
        known = self.codes[rows] + 1
        codes = known.astype(np.uint8 if known.max(initial=0) < 256 else np.uint16) if known.any() else None
        return Observations(block if which.all() else block.take(rows), starts, codes)


# -- expectation maximization ------------------------------------------------------------------------

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
        results: list[tuple[HMMStatistics, HMMParameters, EMHistory]] = []
        for i, child in enumerate(np.random.SeedSequence(seed).spawn(starts)):
            name = f"start {i + 1} of {starts}" if starts > 1 else "rounds"
            begin = self.initial_parameters(np.random.default_rng(child), i)
            results.append(self.run(begin, partial(report, name)))
            if results[-1][2].interrupted:
                break
        sums, parameters, training = max(results, key=lambda em: em[2].log_posterior[-1])
        return sums, parameters, training._replace(ends=tuple(em[2].log_posterior[-1] for em in results))

    def run(
        self, parameters: HMMParameters, report: Callable[[int, int], object]
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
                report(done + 1, self.max_rounds)
                if len(history) > 1 and history[-1] - history[-2] < self.tol * abs(history[-1]):
                    converged = True
                    break
        except KeyboardInterrupt:
            if not history:
                raise
            what = f"the fit was interrupted after {len(history)} rounds; the model keeps the last parameters"
            warnings.warn(what, BayesWarning, stacklevel=6)
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
            fixed = self.structure.rules.fixed
            left_to_right = k > 1 and bool((fixed[np.tril_indices(k, -1)] == 0).all())
            assign = self._assign_by_position if left_to_right else self._assign_by_similarity
            shares = assign(rows, rng)
        scale = 1.0 if has_labels else block.n_rows / max(len(rows), 1)
        part = block.take(rows)
        counted = (e.statistics_of_rows(part, shares, self.n_threads) for e in self.structure.emissions)
        emissions = tuple(tuple(scale * array for array in own) for own in counted)
        steady = 0.5 * np.eye(k) + 0.5 * rng.dirichlet(np.ones(k), k)
        sums = HMMStatistics(rng.dirichlet(np.ones(k)), steady * (k if has_labels else block.n_rows), emissions)
        if has_labels:
            sums = self.labeled.plus(sums)
            if i:
                # Other starts deviate slightly from the labels.
                noise = rng.dirichlet(np.ones(k), k)
                sums = sums._replace(moves=sums.moves + noise * (1 + sums.moves.sum() / k))
        return self.structure.estimate(sums)

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
        measured = [e for e in self.structure.emissions if not isinstance(e, CategoricalEmission)]
        numbers = [name for emission in measured for name in emission.names]
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

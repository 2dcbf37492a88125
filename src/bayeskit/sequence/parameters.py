"""Structure, statistics and parameters of a hidden Markov model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.data.block import Block
from bayeskit.data.schema import Schema, as_classes
from bayeskit.data.sequences import Sequences
from bayeskit.data.vocabulary import Value, Vocabulary, sort_values
from bayeskit.errors import BayesError, BayesWarning
from bayeskit.estimate.emissions.discrete import CategoricalEmission, MultinomialEmission, PoissonEmission, check_counts
from bayeskit.estimate.emissions.emission import ColumnScale, Emission
from bayeskit.estimate.emissions.gaussian import GaussianEmission, GaussianPrior, MultivariateGaussianEmission
from bayeskit.estimate.smoothing import is_number
from bayeskit.estimate.state_transitions import MinimumStays, TransitionRules, read_minimum_stays
from bayeskit.models.base.estimator import one_of
from bayeskit.sequence.base import UNSEEN, cell_at, list_values, step_name
from bayeskit.sequence.forward_backward import HMMStatistics, Observations, Trellis
from bayeskit.tally.plan import Plan, Request
from bayeskit.tally.tally import Tally
from bayeskit.tally.transitions import Transitions
from bayeskit.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from bayeskit.sequence.hidden_markov import HiddenMarkovModel


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


def counting_plan(settings: HiddenMarkovModel, schema: Schema) -> Plan:
    """Return the plan for counting labeled sequences."""
    asked: dict[str, list[str]] = {}
    for emission in build_emissions(settings, schema, {}, dict.fromkeys(schema.measured, ColumnScale(0.0, 0.0))):
        for request in emission.requests():
            asked.setdefault(request.kind, []).extend(request.columns)
    return Plan(*(Request(kind, tuple(names)) for kind, names in asked.items()), Transitions.request_for(1))


@dataclass(frozen=True, eq=False)
class HMMStructure:
    """States, transition rules and emissions before anything is estimated."""

    rules: TransitionRules
    stays: MinimumStays
    emissions: tuple[Emission, ...]
    smoothing: float  # of transitions
    start_smoothing: float

    @classmethod
    def of(
        cls,
        settings: HiddenMarkovModel,
        schema: Schema,
        states: Sequence[Value],
        values: Mapping[str, Sequence[Value]],
        scales: Mapping[str, ColumnScale],
    ) -> HMMStructure:
        """Build the structure for columns with given roles, symbols and scales."""
        stays = read_minimum_stays(settings.min_stay, states)
        # Rows of transitions, and left-to-right, follow the declared order of the states.
        listed = [] if settings.states is None else [state for state in settings.states if state in states]
        order = [*listed, *(state for state in states if state not in listed)]
        rules = TransitionRules.of(settings.start, settings.transitions, order)
        at = [order.index(state) for state in states]
        rules = TransitionRules(rules.fixed_start[at], rules.fixed[np.ix_(at, at)], rules.ties[np.ix_(at, at)])
        emissions = build_emissions(settings, schema, values, scales)
        return cls(rules, stays, emissions, settings.transition_smoothing, settings.start_smoothing)

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.stays.least)

    def check_counts(self, block: Block) -> None:
        """Raise an error for cells of count columns that are not counts."""
        for emission in self.emissions:
            if isinstance(emission, (PoissonEmission, MultinomialEmission)):
                check_counts(block, emission.names)

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

    def n_parameters(self, parameters: HMMParameters) -> int:
        """Return the number of free parameters."""
        return self.rules.n_parameters() + sum(emission.n_parameters() for emission in parameters.emissions)


NUMERIC = ("gaussian", "poisson", "multinomial")
COVARIANCE = ("diagonal", "spherical", "full", "tied")


def check_structure_settings(settings: HiddenMarkovModel) -> None:
    """Check the settings of states and emissions."""
    one_of("covariance", settings.covariance, COVARIANCE)
    one_of("unseen", settings.unseen, ("ignore", "smooth", "error"))
    for kind in settings.numeric.values() if isinstance(settings.numeric, Mapping) else [settings.numeric]:
        one_of("numeric", kind, NUMERIC)
    names = ("smoothing", "transition_smoothing", "start_smoothing", "variance_floor", "variance_weight", "mean_weight")
    for name in names:
        given = getattr(settings, name)
        for amount in given.values() if name == "smoothing" and isinstance(given, Mapping) else [given]:
            if not is_number(amount) or not 0 <= amount < np.inf:
                raise BayesError(f"{name}={amount!r}: give a number, 0 or more")


def build_emissions(
    settings: HiddenMarkovModel,
    schema: Schema,
    values: Mapping[str, Sequence[Value]],
    scales: Mapping[str, ColumnScale],
) -> tuple[Emission, ...]:
    """Build the emissions of all columns before they are estimated."""
    gaussian, poisson, multinomial = (
        tuple(n for n in schema.measured if _setting(settings.numeric, n, schema, "gaussian") == kind)
        for kind in NUMERIC
    )
    emissions: list[Emission] = []
    for name in schema.coded:
        smoothing = _setting(settings.smoothing, name, schema, 1.0)
        emissions.append(CategoricalEmission((name,), tuple(values.get(name, ())), smoothing, settings.unseen))
    prior = GaussianPrior(settings.variance_floor, settings.variance_weight, settings.mean_weight)
    if gaussian and settings.covariance in ("full", "tied"):
        emissions.append(MultivariateGaussianEmission(gaussian, scales, prior, settings.covariance == "tied"))
    elif gaussian:
        emissions.append(GaussianEmission(gaussian, scales, prior, settings.covariance == "spherical"))
    if poisson:
        emissions.append(PoissonEmission(poisson, scales))
    if multinomial:
        smoothing = _setting(settings.smoothing, multinomial[0], schema, 1.0)
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
            what = f"{step_name(sequences, at)} is labeled {cell_at(sequences.labels, at)!r}"
            raise BayesError(f"{what}, which is no state ({list_values(states)})")
        hidden = np.concatenate([[0], np.cumsum(codes < 0)])
        return cls(sequences, codes, np.asarray(hidden[sequences.starts[1:]] == hidden[sequences.starts[:-1]]))

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
            raise BayesError(
                f"n_states={given}, but the labels name {len(seen.values)} states: leave n_states out, or name all "
                "states in states="
            )
        return tuple(sort_values(seen.values))
    if given is None:
        raise BayesError(
            "how many states are there? Give n_states, a number or several to choose from, or the states of the "
            "positions as y"
        )
    return tuple(range(given))

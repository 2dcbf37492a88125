"""What is believed of hidden states, and the sums it is made of: counted from labels, expected without them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from bayeskit.data.block import Block
from bayeskit.data.schema import Schema, as_classes
from bayeskit.data.sequences import Sequences
from bayeskit.data.vocabulary import Value, Vocabulary, sort_values
from bayeskit.errors import BayesError, BayesWarning
from bayeskit.estimate.emissions.emission import Emission, Scale, Sums, add
from bayeskit.estimate.emissions.joint_normals import JointNormals
from bayeskit.estimate.emissions.normals import Normals, SpreadPrior
from bayeskit.estimate.emissions.rates import CountShares, Rates
from bayeskit.estimate.emissions.symbols import Symbols
from bayeskit.estimate.smoothing import is_number
from bayeskit.estimate.state_moves import MoveRules, Stays, stays_of
from bayeskit.models.base.settings import one_of
from bayeskit.sequence.forward_backward import Counted, Lattice, Observed
from bayeskit.tally.plan import Plan, Request
from bayeskit.tally.tally import Tally
from bayeskit.tally.transitions import Transitions
from bayeskit.typing import Bools, Floats, Ints


class StateSums(NamedTuple):
    """Starts (states), free moves (states, states), and the sums of each emission."""

    starts: Floats
    moves: Floats
    emissions: tuple[Sums, ...]

    def plus(self, other: StateSums) -> StateSums:
        """Both sides together."""
        emissions = tuple(add(a, b) for a, b in zip(self.emissions, other.emissions, strict=True))
        return StateSums(self.starts + other.starts, self.moves + other.moves, emissions)

    @classmethod
    def of(cls, counted: Counted) -> StateSums:
        """Those that a lattice expects."""
        return cls(counted.starts, counted.moves, counted.emissions)

    def arrays(self) -> list[Floats]:
        """All of them, one after the other."""
        return [self.starts, self.moves, *(array for sums in self.emissions for array in sums)]


@dataclass(frozen=True, eq=False)
class HiddenBeliefs:
    """Start, moves and emissions, and the logarithm of their prior density."""

    start: Floats
    moves: Floats
    emissions: tuple[Emission, ...]
    log_prior: float

    def lattice(self, stays: Stays, n_threads: int) -> Lattice:
        """Sequences over these states."""
        return Lattice(self.start, self.moves, self.emissions, stays, n_threads)


def counting_plan(emissions: Sequence[Emission]) -> Plan:
    """What is to be counted of labelled sequences."""
    asked: dict[str, list[str]] = {}
    for emission in emissions:
        for request in emission.requests():
            asked.setdefault(request.kind, []).extend(request.columns)
    return Plan(*(Request(kind, tuple(names)) for kind, names in asked.items()), Transitions.asked(1))


@dataclass(frozen=True, eq=False)
class StateFrame:
    """The states, what they may do, and the columns that they emit, before anything is believed."""

    rules: MoveRules
    stays: Stays
    emissions: tuple[Emission, ...]
    smoothing: float  # of moves
    start_smoothing: float

    @property
    def n_states(self) -> int:
        """How many states there are."""
        return len(self.stays.least)

    def of_tally(self, tally: Tally) -> StateSums:
        """The sums of labelled sequences."""
        counted = tally.statistics[Transitions.kind]
        assert isinstance(counted, Transitions)
        starts, moves = counted.starts().astype(np.float64), counted.moves().astype(np.float64)
        free = self.stays.free_moves(moves, starts)
        return StateSums(starts, free, tuple(emission.of_tally(tally) for emission in self.emissions))

    def nothing(self) -> StateSums:
        """No sums."""
        k = self.n_states
        emissions = tuple(tuple(np.zeros(s) for s in emission.shapes(k)) for emission in self.emissions)
        return StateSums(np.zeros(k), np.zeros((k, k)), emissions)

    def of_arrays(self, arrays: Sequence[Floats]) -> StateSums:
        """The sums of :meth:`StateSums.arrays`."""
        k = self.n_states
        starts, moves, *rest = arrays
        emissions, at = [], 0
        for emission in self.emissions:
            n = len(emission.shapes(k))
            emissions.append(tuple(rest[at : at + n]))
            at += n
        return StateSums(starts, moves, tuple(emissions))

    def shapes(self) -> list[tuple[int, ...]]:
        """Of the arrays of sums."""
        k = self.n_states
        return [(k,), (k, k), *(shape for emission in self.emissions for shape in emission.shapes(k))]

    def believe(self, sums: StateSums) -> HiddenBeliefs:
        """The most probable parameters under their priors."""
        start = self.rules.start(sums.starts, self.start_smoothing)
        moves = self.rules.moves(sums.moves, self.smoothing)
        emissions = tuple(e.believe(s) for e, s in zip(self.emissions, sums.emissions, strict=True))
        log_prior = self.rules.log_prior(start, moves, self.smoothing, self.start_smoothing)
        return HiddenBeliefs(start, moves, emissions, log_prior + sum(e.log_prior() for e in emissions))

    def n_parameters(self, beliefs: HiddenBeliefs) -> int:
        """Free ones of all."""
        return self.rules.n_parameters() + sum(emission.n_parameters() for emission in beliefs.emissions)


NUMERIC = ("gaussian", "poisson", "multinomial")
COVARIANCE = ("diagonal", "spherical", "full", "tied")


class FrameSettings(Protocol):
    """What a model was told of its states."""

    states: Any
    smoothing: Any
    transition_smoothing: float
    start_smoothing: float
    numeric: Any
    covariance: str
    variance_floor: float
    variance_weight: float
    mean_weight: float
    start: Any
    transitions: Any
    min_stay: Any
    unseen: str


def check_frame(settings: FrameSettings) -> None:
    """Refuse settings that mean nothing."""
    one_of("covariance", settings.covariance, COVARIANCE)
    one_of("unseen", settings.unseen, ("ignore", "smooth", "error"))
    for kind in settings.numeric.values() if isinstance(settings.numeric, Mapping) else [settings.numeric]:
        one_of("numeric", kind, NUMERIC)
    amounts = settings.smoothing.values() if isinstance(settings.smoothing, Mapping) else [settings.smoothing]
    amount_names = ("transition_smoothing", "start_smoothing", "variance_floor", "variance_weight", "mean_weight")
    named = [
        *(("smoothing", amount) for amount in amounts),
        *((name, getattr(settings, name)) for name in amount_names),
    ]
    for name, amount in named:
        if not is_number(amount) or not 0 <= amount < np.inf:
            raise BayesError(f"{name}={amount!r}: give a number, 0 or more", culprit=amount)


def state_frame(
    settings: FrameSettings,
    schema: Schema,
    states: Sequence[Value],
    values: Mapping[str, Sequence[Value]],
    scales: Mapping[str, Scale],
) -> StateFrame:
    """The frame of columns with these roles, symbols and scales."""
    names = {
        kind: [n for n in schema.measured() if _setting(settings.numeric, n, schema, "gaussian") == kind]
        for kind in NUMERIC
    }
    emissions: list[Emission] = [
        Symbols((name,), tuple(values.get(name, ())), _setting(settings.smoothing, name, schema, 1.0), settings.unseen)
        for name in schema.coded()
    ]
    prior = SpreadPrior(settings.variance_floor, settings.variance_weight, settings.mean_weight)
    if columns := tuple(names["gaussian"]):
        if settings.covariance in ("full", "tied"):
            emissions.append(JointNormals(columns, scales, prior, settings.covariance == "tied"))
        else:
            emissions.append(Normals(columns, scales, prior, settings.covariance == "spherical"))
    if columns := tuple(names["poisson"]):
        emissions.append(Rates(columns, scales))
    if columns := tuple(names["multinomial"]):
        total = sum(scales[name].mean for name in columns)
        emissions.append(CountShares(columns, _setting(settings.smoothing, columns[0], schema, 1.0), total))
    stays = stays_of(settings.min_stay, states)
    order = _order(settings.states, states)
    rules = MoveRules.of(settings.start, settings.transitions, order)
    back = [order.index(state) for state in states]
    rules = MoveRules(rules.fixed_start[back], rules.fixed[np.ix_(back, back)], rules.ties[np.ix_(back, back)])
    return StateFrame(rules, stays, tuple(emissions), settings.transition_smoothing, settings.start_smoothing)


def _order(declared: Any, states: Sequence[Value]) -> list[Value]:
    """The states as the settings list them: that is the order of left to right, and of rows of transitions."""
    if declared is None:
        return list(states)
    listed = [state for state in declared if state in states]
    return [*listed, *(state for state in states if state not in listed)]


def _setting(setting: Any, name: str, schema: Schema, default: Any) -> Any:
    """A setting that columns may have for themselves."""
    if not isinstance(setting, Mapping):
        return setting
    return {schema.find(key): value for key, value in setting.items()}.get(name, default)


UNSEEN = -2  # a label that is no state
SEVERAL = 8  # of what is listed


@dataclass(frozen=True, eq=False)
class StateLabels:
    """The code of each position's state, −1 where it is hidden, None where all are.

    ``whole`` marks the sequences without a hidden one.
    """

    sequences: Sequences
    codes: Ints | None
    whole: Bools

    @classmethod
    def of(cls, sequences: Sequences, states: Sequence[Value]) -> StateLabels:
        """The labels of sequences; one that names no state is refused."""
        if sequences.labels is None:
            return cls(sequences, None, sequences.lengths == 0)
        codes = sequences.coded(sequences.labels, Vocabulary(states), name="state")
        if (codes == UNSEEN).any():
            raise _no_state(sequences, int(np.argmax(codes == UNSEEN)), states)
        hidden = np.concatenate([[0], np.cumsum(codes < 0)])
        return cls(sequences, codes, np.asarray(hidden[sequences.starts[1:]] == hidden[sequences.starts[:-1]]))

    @property
    def labelled(self) -> Sequences:
        """The sequences that are labelled throughout, but for empty ones."""
        return self.sequences.take(self.whole & (self.sequences.lengths > 0))

    @property
    def hidden(self) -> Ints:
        """The numbers of the others."""
        return np.flatnonzero(~self.whole)

    def tell_forbidden(self, rules: MoveRules) -> None:
        """Say where labelled sequences begin or go where it is forbidden: such moves have probability 0, and count
        for nothing."""
        if self.codes is None:
            return
        lengths, starts = self.sequences.lengths, self.sequences.starts
        own = np.flatnonzero(np.repeat(self.whole, lengths))
        begins = np.isin(own, starts[:-1][lengths > 0])
        moves = rules.fixed[self.codes[np.maximum(own - 1, 0)], self.codes[own]]
        bad = own[np.where(begins, rules.fixed_start[self.codes[own]], moves) == 0]
        if len(bad):
            i, step = self.sequences.place(int(bad[0]))
            warnings.warn(
                f"{len(bad):,} labelled steps begin or go where start= or transitions= forbid it, the first being step "
                f"{step} of {self.sequences.name(i - 1)}: they do not count as moves. Change the labels, or allow them",
                BayesWarning,
                stacklevel=4,
            )

    def observed(self, block: Block) -> Observed:
        """The others, with what is known of them, of the block of all."""
        which = ~self.whole
        starts = np.concatenate([[0], np.cumsum(self.sequences.lengths[which])])
        if self.codes is None:  # those that are whole are empty
            return Observed(block, starts)
        rows = np.repeat(which, self.sequences.lengths)
        known = self.codes[rows] + 1
        codes = known.astype(np.uint8 if known.max(initial=0) < 256 else np.uint16) if known.any() else None
        return Observed(block if which.all() else block.take(rows), starts, codes)


def states_of(sequences: Sequences, n_states: Any, declared: Any) -> tuple[Value, ...]:
    """The names of the states: as declared, as labels show them, or numbers; sorted."""
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


def _no_state(sequences: Sequences, at: int, states: Sequence[Value]) -> BayesError:
    column = sequences.labels
    assert column is not None
    label = column[at].as_py() if hasattr(column[at], "as_py") else column[at]
    i, step = sequences.place(at)
    listed = ", ".join(map(str, states[:SEVERAL])) + (", …" if len(states) > SEVERAL else "")
    return BayesError(
        f"step {step} of {sequences.name(i - 1)} is labelled {label!r}, which is no state ({listed})",
        culprit=label,
        place=(i, step),
    )

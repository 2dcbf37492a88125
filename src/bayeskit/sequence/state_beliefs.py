"""What is believed of hidden states, and the sums it is made of: counted from labels, expected without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bayeskit.estimate.emissions.emission import Emission, Sums, add
from bayeskit.estimate.state_moves import MoveRules, Stays
from bayeskit.sequence.lattice import Counted, Lattice
from bayeskit.tally.plan import Plan, Request
from bayeskit.tally.tally import Tally
from bayeskit.tally.transitions import Transitions
from bayeskit.typing import Floats


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

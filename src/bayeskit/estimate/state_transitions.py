"""Start and transition probabilities of hidden states, with fixed, forbidden or tied entries and minimum stays.

    P(first = j) = (n_j + a) / (N + a·K)          P(j | i) = (n_ij + a) / (N_i + a·K)

are posterior modes under Dirichlet priors. A transition may be fixed to a number (0 forbids it) or tied to others of
the same name, which share one probability; the free ones of a row share the rest. A state without transitions and
without smoothing has a uniform row.

Minimum stays: a state that lasts at least m steps is a chain of m copies with the same emission. Only the last copy may
stay or leave, so the length of a stay is at least m and then geometric.

Formula: P(first state), P(next state ∣ state), fixed, forbidden or tied
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.errors import BayesError, TooLarge
from bayeskit.estimate.information import weighted_log_ratio
from bayeskit.settings import is_integer
from bayeskit.tolerance import SLACK, SUMS_TO_ONE
from bayeskit.typing import Bools, Floats, Ints

FREE, FIXED = -1, -2
MOST_COPIES = 8_192  # limit of all copies; transition tables have its square


@dataclass(frozen=True, eq=False)
class TransitionRules:
    """Constraints on start (n_states,) and transitions (n_states, n_states).

    ``fixed`` holds fixed values and NaN elsewhere; ``ties`` a number for each name, FREE or FIXED.
    """

    fixed_start: Floats
    fixed: Floats
    ties: Ints

    @classmethod
    def of(cls, start: Any, moves: Any, states: Sequence[Any]) -> TransitionRules:
        """Read settings: ``moves`` is None, "left-to-right", "ordered", or rows of None (free), numbers and names.

        >>> rules = TransitionRules.of(None, [["stay", "leave"], ["leave", "stay"]], ["a", "b"])
        >>> rules.moves(np.array([[8.0, 2.0], [4.0, 6.0]]), 0.0).tolist()             # stay 14 of 20
        [[0.7, 0.3], [0.3, 0.7]]
        >>> TransitionRules.of(None, "left-to-right", range(3)).moves(np.zeros((3, 3)), 1.0).tolist()
        [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]
        """
        k = len(states)
        if isinstance(moves, str):
            return cls._in_order(start, moves, states)
        cells = (
            [[None] * k] * k
            if moves is None
            else [_cells(row, "a row of transitions") for row in _cells(moves, "transitions")]
        )
        if len(cells) != k or any(len(row) != k for row in cells):
            raise BayesError(f"transitions are {k} rows of {k} cells, one for each state")
        names: dict[str, int] = {}
        fixed, ties = np.full((k, k), np.nan), np.full((k, k), FREE, dtype=np.int64)
        for i, row in enumerate(cells):
            for j, cell in enumerate(row):
                if isinstance(cell, str):
                    ties[i, j] = names.setdefault(cell, len(names))
                elif cell is not None and not (isinstance(cell, float) and np.isnan(cell)):
                    fixed[i, j] = _probability(cell, f"transitions from {states[i]!r} to {states[j]!r}")
                    ties[i, j] = FIXED
        rules = cls(_fixed_start(start, states), fixed, ties)
        rules._check(states)
        full = (ties == FIXED).all(axis=1)
        fixed[full] /= fixed[full].sum(axis=1, keepdims=True)
        return rules

    @classmethod
    def _in_order(cls, start: Any, moves: str, states: Sequence[Any]) -> TransitionRules:
        k = len(states)
        step = np.arange(k)[None, :] - np.arange(k)[:, None]
        allowed = {"left-to-right": (step == 0) | (step == 1), "ordered": step >= 0}
        if moves not in allowed:
            raise BayesError(
                f'transitions={moves!r}: give "left-to-right" (stay, or go to the next state), "ordered" (to any later '
                "one), or rows of None, numbers and names",
            )
        fixed = np.where(allowed[moves], np.nan, 0.0)
        first = start if start is not None or moves == "ordered" else [1.0, *[0.0] * (k - 1)]
        return cls(_fixed_start(first, states), fixed, np.where(np.isnan(fixed), FREE, FIXED))

    def _check(self, states: Sequence[Any]) -> None:
        held = np.nansum(self.fixed, axis=1)
        full = (self.ties == FIXED).all(axis=1)
        bad = np.flatnonzero(np.where(full, np.abs(held - 1) > SLACK, held > 1 + SUMS_TO_ONE))
        if len(bad):
            raise BayesError(f"the fixed transitions from {states[bad[0]]!r} sum to {held[bad[0]]:g}, not to 1")
        named = np.flatnonzero((self.ties >= 0).any(axis=1))
        if not len(named):
            return
        rows = [np.sort(self.ties[i]).tolist() for i in named]
        alike = all(row == rows[0] for row in rows) and np.ptp(held[named]) <= SUMS_TO_ONE
        if not alike or FREE in rows[0]:
            raise BayesError(
                "rows of transitions with tied ones are made of the same names, each as often, and of numbers, but for "
                "their order: then one set of probabilities serves them all"
            )

    # -- estimates -----------------------------------------------------------------------------------

    def start(self, counts: Floats, smoothing: float) -> Floats:
        """Start probabilities, shape (n_states,)."""
        first = _shared(counts[None], np.isnan(self.fixed_start)[None], self.fixed_start[None], smoothing)
        return first[0]

    def moves(self, counts: Floats, smoothing: float) -> Floats:
        """Estimate the transition matrix, shape (n_states, n_states)."""
        out = _shared(counts, self.ties == FREE, np.where(self.ties == FIXED, self.fixed, 0.0), smoothing)
        named = (self.ties >= 0).any(axis=1)
        if named.any():
            groups = self.ties[named]
            tied = groups >= 0
            sums = np.bincount(groups[tied], counts[named][tied] + smoothing)
            often = np.bincount(groups[tied], minlength=len(sums)) / named.sum()  # per row
            whole = sums.sum()
            share = sums / whole if whole > 0 else often / often.sum()
            rest = 1 - np.nansum(self.fixed[named], axis=1)
            values = share / np.maximum(often, 1)
            out[named] = np.where(tied, rest[:, None] * values[np.maximum(groups, 0)], out[named])
        return out

    def log_prior(self, start: Floats, moves: Floats, smoothing: float, start_smoothing: float) -> float:
        """Return the log prior density of the free entries, up to a constant."""
        weight = np.where(self.ties != FIXED, smoothing, 0.0)
        first = np.where(np.isnan(self.fixed_start), start_smoothing, 0.0)
        return float(weighted_log_ratio(weight, moves, 1.0).sum() + weighted_log_ratio(first, start, 1.0).sum())

    def n_parameters(self) -> int:
        """Return the number of free entries."""
        free = (self.ties == FREE).sum(axis=1)
        names = len(np.unique(self.ties[self.ties >= 0]))
        first = int(np.isnan(self.fixed_start).sum())
        return int(np.maximum(free - 1, 0).sum()) + max(names - 1, 0) + max(first - 1, 0)


@dataclass(frozen=True, eq=False)
class MinimumStays:
    """Minimum stays: a state that lasts at least m steps is a chain of m copies."""

    least: Ints  # minimum stay of each state

    @cached_property
    def owner(self) -> Ints:
        """State of each copy."""
        return np.repeat(np.arange(len(self.least)), self.least)

    @cached_property
    def first(self) -> Ints:
        """First copy of each state."""
        return np.concatenate([[0], np.cumsum(self.least)[:-1]]).astype(np.int64)

    @cached_property
    def last(self) -> Ints:
        """Last copy of each state."""
        return self.first + self.least - 1

    @cached_property
    def plain(self) -> bool:
        """True if no state has more than one copy."""
        return bool((self.least == 1).all())

    def log_start(self, start: Floats) -> Floats:
        """Return the log start probabilities of the copies."""
        out = np.full(len(self.owner), -np.inf)
        out[self.first] = logspace.log(start)
        return out

    def log_moves(self, moves: Floats) -> Floats:
        """Return the log transition matrix of the copies.

        >>> np.exp(MinimumStays(np.array([2, 1])).log_moves(np.array([[0.5, 0.5], [1.0, 0.0]]))).tolist()
        [[0.0, 1.0, 0.0], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]
        """
        out = np.full((len(self.owner),) * 2, -np.inf)
        logs = logspace.log(moves)
        out[np.ix_(self.last, self.first)] = logs
        longer = self.least > 1
        out[self.last[longer], self.first[longer]] = -np.inf
        out[self.last, self.last] = np.diagonal(logs)
        forced = np.setdiff1d(np.arange(len(self.owner)), self.last)
        out[forced, forced + 1] = 0.0
        return out

    def counted_moves(self, counts: Floats) -> Floats:
        """Convert transition counts of copies to free transitions of states, shape (n_states, n_states)."""
        if self.plain:
            return counts
        out = counts[np.ix_(self.last, self.first)].copy()
        at = np.arange(len(self.least))
        out[at, at] = counts[self.last, self.last]
        return out

    def free_moves(self, moves: Floats, starts: Floats) -> Floats:
        """Subtract forced stays from transition counts of states."""
        if self.plain:
            return moves
        out = moves.copy()
        at = np.arange(len(self.least))
        visits = starts + moves.sum(axis=0) - moves[at, at]
        out[at, at] = np.maximum(moves[at, at] - (self.least - 1) * visits, 0.0)
        return out

    def summed(self, of_copies: Floats) -> Floats:
        """Sum over the copies of each state; the last axis becomes n_states."""
        return of_copies if self.plain else np.add.reduceat(of_copies, self.first, axis=-1)


def read_minimum_stays(setting: Any, states: Sequence[Any]) -> MinimumStays:
    """Read the setting ``min_stay``: one minimum for all states, or some by name."""
    given = setting if isinstance(setting, Mapping) else dict.fromkeys(states, setting)
    _check_states(given, states, "min_stay")
    least = [given.get(state, 1) for state in states]
    bad = [n for n in least if not is_integer(n) or n < 1]
    if bad:
        raise BayesError(f"min_stay={bad[0]!r}: a state lasts a whole number of steps, 1 or more")
    copies = sum(map(int, least))
    if copies > MOST_COPIES:
        raise TooLarge(
            f"{len(states):,} states that last {max(least):,} steps at least are walked as {copies:,}, more than "
            f"{MOST_COPIES:,}: take fewer states, or a shorter min_stay"
        )
    return MinimumStays(np.array(least, dtype=np.int64))


def stationary_distribution(moves: Floats) -> Floats:
    """Return the stationary distribution of a transition matrix; NaN if it depends on the start.

    >>> stationary_distribution(np.array([[0.9, 0.1], [0.3, 0.7]])).round(6).tolist()
    [0.75, 0.25]
    """
    k = len(moves)
    equations = np.vstack([moves.T - np.eye(k), np.ones(k)])
    if np.linalg.matrix_rank(equations[:-1]) < k - 1:
        return np.full(k, np.nan)
    stationary = np.linalg.lstsq(equations, np.append(np.zeros(k), 1.0), rcond=None)[0]
    return np.maximum(stationary, 0.0)


def _shared(counts: Floats, free: Bools, fixed: Floats, smoothing: float) -> Floats:
    """Distribute the remaining probability over free entries by their counts, evenly if there are none."""
    held = np.where(free, 0.0, fixed)
    grown = np.where(free, counts + smoothing, 0.0)
    totals, n_free = grown.sum(axis=1, keepdims=True), free.sum(axis=1, keepdims=True)
    even = free / np.maximum(n_free, 1)
    share = np.divide(grown, totals, out=even.astype(np.float64), where=totals > 0)
    return np.where(free, (1 - held.sum(axis=1, keepdims=True)) * share, held)


def _fixed_start(start: Any, states: Sequence[Any]) -> Floats:
    if start is None:
        return np.full(len(states), np.nan)
    if isinstance(start, Mapping):
        _check_states(start, states, "start")
        start = [start.get(state) for state in states]
    cells = _cells(start, "start")
    if len(cells) != len(states):
        raise BayesError(f"start has {len(cells)} probabilities for {len(states)} states")
    fixed = np.array(
        [np.nan if c is None else _probability(c, f"start in {s!r}") for c, s in zip(cells, states, strict=True)]
    )
    held, full = np.nansum(fixed), not np.isnan(fixed).any()
    if abs(held - 1) > SLACK if full else held > 1 + SUMS_TO_ONE:
        raise BayesError(f"the fixed probabilities of the start sum to {held:g}, not to 1")
    return fixed / held if full else fixed


def _check_states(given: Mapping[Any, Any], states: Sequence[Any], setting: str) -> None:
    unknown = [state for state in given if state not in states]
    if unknown:
        raise BayesError(f"{setting} names {unknown[0]!r}, which is not a state")


def _cells(given: Any, what: str) -> Sequence[Any]:
    """Return a list of cells or rows."""
    cells = given.tolist() if isinstance(given, np.ndarray) and given.ndim else given
    if isinstance(cells, (str, bytes, Mapping)) or not isinstance(cells, Sequence):
        raise BayesError(f"{what}: {given!r} is not a list of probabilities, None and names")
    return cells


def _probability(cell: Any, what: str) -> float:
    if isinstance(cell, bool) or not isinstance(cell, (int, float, np.number)) or not 0 <= float(cell) <= 1:
        raise BayesError(f"{what}: {cell!r} is not a probability")
    return float(cell)

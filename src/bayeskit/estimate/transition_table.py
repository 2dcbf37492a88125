"""Transition probabilities of a Markov chain of order k, from counts of runs.

    P(x | u_1..u_k) = (n(u_1..u_k, x) + a_x) / (n(u_1..u_k) + Σ a)

With back-off it is an m-estimate towards the shorter context u_2..u_k, down to the empty context and then to uniform. A
context without transitions and without smoothing has a uniform distribution.

Formula: P(symbol ∣ the k before it), of counts of runs
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit.data.vocabulary import Value, positions
from bayeskit.estimate.smoothing import Automatic, BackOff, Smoothing, backed_off, smoothed
from bayeskit.memory import Need, check_memory
from bayeskit.tally.plan import Recoding
from bayeskit.tally.transitions import Transitions, run_keys
from bayeskit.typing import Counts, Floats, Ints

Pair = tuple[Floats, Floats]  # counts of a run and of its context


@dataclass(frozen=True)
class RunCounts:
    """Counts of runs of one length and of their contexts, sorted by key."""

    counted: Transitions
    keys: Ints
    context_keys: Ints
    totals: Counts

    @classmethod
    def of(cls, counted: Transitions) -> RunCounts:
        """Build from a transition statistic."""
        n = counted.n_classes
        contexts, inverse = np.unique(run_keys(counted.runs[:, :-1], n), return_inverse=True)
        totals = np.zeros(len(contexts), dtype=counted.counts.dtype)
        np.add.at(totals, inverse, counted.counts)
        return cls(counted, run_keys(counted.runs, n), contexts, totals)

    def ends(self, runs: Ints) -> Ints:
        """Return the last symbols of longer runs, as many as this level counts."""
        return runs[:, runs.shape[1] - self.counted.order - 1 :]

    def counts(self, runs: Ints) -> Pair:
        """Return the counts of runs and of their contexts, looked up by their last symbols."""
        ends, n = self.ends(runs), self.counted.n_classes
        contexts = _look_up(self.context_keys, self.totals, run_keys(ends[:, :-1], n))
        return _look_up(self.keys, self.counted.counts, run_keys(ends, n)), contexts


@dataclass(frozen=True)
class TransitionTable:
    """Estimated transition probabilities of a chain.

    >>> counted = Transitions.of(np.array([0, 1, 1, 1, 0]), np.array([0, 5]), 2)
    >>> from bayeskit.estimate.smoothing import Laplace
    >>> table = TransitionTable.of(counted, ("a", "b"), ("a", "b"), Laplace())
    >>> table.probabilities(np.array([[-1, 0], [1, 1], [1, 0]])).round(4).tolist()   # (1+1)/(1+2), (2+1)/(3+2), …
    [0.6667, 0.6, 0.4]
    """

    symbols: tuple[Value, ...]
    levels: tuple[RunCounts, ...]  # shortest runs first; only the longest without back-off
    pseudo: Floats  # pseudo-count of each symbol
    weights: tuple[float, ...]  # m of each level with back-off

    @classmethod
    def of(
        cls,
        counted: Transitions,
        classes: Sequence[Value],
        symbols: Sequence[Value],
        smoothing: Smoothing,
        memory_limit: float | None = None,
    ) -> TransitionTable:
        """Estimate from counts of these classes; ``symbols`` may contain more."""
        counted = counted.recode(Recoding(positions(symbols, classes), {}))
        if isinstance(smoothing, BackOff):
            levels = (*(RunCounts.of(counted.shorter(k)) for k in range(counted.order)), RunCounts.of(counted))
            return cls(tuple(symbols), levels, np.zeros(len(symbols)), _weights(smoothing, levels, len(symbols)))
        level = RunCounts.of(counted)
        rows = np.zeros((1, len(symbols)))
        if isinstance(smoothing, Automatic) or getattr(smoothing, "prior", "") == "marginal":
            rows = _dense(level, len(symbols), memory_limit)
        return cls(tuple(symbols), (level,), smoothing.pseudo_counts(list(symbols), rows), ())

    @property
    def order(self) -> int:
        """Number of symbols in a context."""
        return self.levels[-1].counted.order

    def probabilities(self, runs: Ints) -> Floats:
        """Return P(last symbol | context) of runs, shape (n, order + 1); −1 marks the start of a sequence."""
        return self.estimate([level.counts(runs) for level in self.levels], runs[:, -1])

    def estimate(self, counts: Sequence[Pair], last: Ints) -> Floats:
        """Return P(last symbol | context) from the counts of each level."""
        p = uniform = np.full(len(last), 1.0 / max(len(self.symbols), 1))
        for m, (n, total) in zip(self.weights, counts, strict=False):
            p = backed_off(n, total, m, p)
        if not self.weights:
            p = smoothed(*counts[-1], self.pseudo[last], self.pseudo.sum())
        return np.where(np.isnan(p), uniform, p)

    def next_probabilities(self, contexts: Ints) -> Floats:
        """Return P(symbol | context), shape (n_contexts, n_symbols), for contexts of shape (n_contexts, order)."""
        n = len(self.symbols)
        runs = np.column_stack([np.repeat(contexts, n, axis=0), np.tile(np.arange(n), len(contexts))])
        return self.probabilities(runs).reshape(len(contexts), n)


def _weights(smoothing: BackOff, levels: Sequence[RunCounts], n_symbols: int) -> tuple[float, ...]:
    """Choose m of each level by leave-one-out likelihood of its counts."""
    weights: list[float] = []
    for level in levels:
        runs = level.counted.runs
        lower = np.full(len(runs), 1 / max(n_symbols, 1))
        for m, shorter in zip(weights, levels, strict=False):
            n, total = shorter.counts(runs)
            lower = backed_off(np.maximum(n - 1, 0), np.maximum(total - 1, 0), m, lower)
        n, total = level.counts(runs)
        weights.append(smoothing.weight(n, total, lower))
    return tuple(weights)


def _dense(level: RunCounts, n_symbols: int, memory_limit: float | None) -> Floats:
    """Return dense counts, shape (n_contexts, n_symbols)."""
    what = f"a table of {len(level.context_keys):,} contexts and {n_symbols:,} symbols"
    check_memory(Need(what, 8.0 * len(level.context_keys) * n_symbols, "Give the smoothing as a number."), memory_limit)
    table = np.zeros((len(level.context_keys), n_symbols))
    runs = level.counted.runs
    rows = np.searchsorted(level.context_keys, run_keys(runs[:, :-1], level.counted.n_classes))
    table[rows, runs[:, -1]] = level.counted.counts
    return table


def _look_up(keys: Ints, counts: Counts, wanted: Ints) -> Floats:
    if not len(keys):
        return np.zeros(len(wanted))
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, counts[at], 0).astype(np.float64)

"""Baum–Welch: the states behind sequences without labels, or with some, by EM from several starts.

Each round the sums are expected under what is believed, and what is believed is made of the sums: ln P(sequences) +
ln P(parameters) rises from round to round. Labelled sequences count in every round as they are; a label at one position
leaves only its state open there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from bayeskit.errors import BayesError, BayesWarning
from bayeskit.estimate.emissions.symbols import Symbols
from bayeskit.estimate.information import weighed_log_ratio
from bayeskit.sequence.forward_backward import Impossible, Observed
from bayeskit.sequence.parameters import HiddenBeliefs, StateFrame, StateSums
from bayeskit.tolerance import ROUNDING
from bayeskit.typing import Floats, Ints

Tell = Callable[[str, int, int], object]
SAMPLE = 20_000  # rows by which a start is chosen
LLOYD = 8  # rounds of nearest centres


class Training(NamedTuple):
    """How Baum–Welch went: ln P(sequences) + ln P(parameters) in each round of the best start, ln P(sequences) in the
    last, whether it arrived or was interrupted, and where each start ended."""

    log_posterior: tuple[float, ...]
    log_likelihood: float
    converged: bool
    interrupted: bool = False
    ends: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class BaumWelch:
    """What is learnt from: sequences whose states are hidden, and the sums of those that are labelled."""

    frame: StateFrame
    observed: Observed
    counted: StateSums
    max_rounds: int
    tol: float
    n_threads: int

    def best(self, starts: int, seed: int | None, tell: Tell) -> tuple[StateSums, HiddenBeliefs, Training]:
        """(Expected sums, beliefs, how it went) of the most probable end. An interruption ends it with what it has."""
        found: tuple[StateSums, HiddenBeliefs, Training] | None = None
        ends: list[float] = []
        for i, child in enumerate(np.random.SeedSequence(seed).spawn(starts)):
            name = f"start {i + 1} of {starts}" if starts > 1 else "rounds"
            begin = self.begin(np.random.default_rng(child), i)
            climb = self.climb(begin, partial(self._tell, tell, name))
            ends.append(climb[2].log_posterior[-1])
            if found is None or ends[-1] > found[2].log_posterior[-1]:
                found = climb
            if climb[2].interrupted:
                break
        assert found is not None
        sums, beliefs, training = found
        return sums, beliefs, training._replace(ends=tuple(ends))

    def _tell(self, tell: Tell, name: str, done: int) -> None:
        tell(name, done, self.max_rounds)

    def climb(self, beliefs: HiddenBeliefs, tell: Callable[[int], object]) -> tuple[StateSums, HiddenBeliefs, Training]:
        """Rounds from one start until the gain is below ``tol`` of the whole."""
        sums, history, likelihood = self.frame.nothing(), list[float](), -np.inf
        converged = interrupted = False
        try:
            for done in range(self.max_rounds):
                expected, likelihood, value = self.expect(beliefs)
                if history and not value > history[-1]:  # what is lost is rounding, or a variance held at its floor
                    converged = value >= history[-1] - ROUNDING * abs(history[-1])
                    break
                history.append(value)
                sums = expected
                beliefs = self.frame.believe(self.counted.plus(sums))
                tell(done + 1)
                if len(history) > 1 and history[-1] - history[-2] < self.tol * abs(history[-1]):
                    converged = True
                    break
        except KeyboardInterrupt:
            if not history:
                raise
            warnings.warn(
                f"the fit was interrupted after {len(history)} rounds, and holds what it has reached",
                BayesWarning,
                stacklevel=6,
            )
            interrupted = True
        return sums, beliefs, Training(tuple(history), likelihood, converged, interrupted)

    def expect(self, beliefs: HiddenBeliefs) -> tuple[StateSums, float, float]:
        """(expected sums, ln P of the sequences, the same with that of the labelled ones and of the parameters)"""
        counted = beliefs.lattice(self.frame.stays, self.n_threads).counted(self.observed)
        likelihood = float(counted.log_likelihoods.sum())
        return StateSums.of(counted), likelihood, likelihood + self._labelled(beliefs) + beliefs.log_prior

    def _labelled(self, beliefs: HiddenBeliefs) -> float:
        """ln P(labelled sequences, their states), but for what is the same whatever is believed."""
        own = self.counted
        total = weighed_log_ratio(own.starts, beliefs.start, 1.0).sum()
        total += weighed_log_ratio(own.moves, beliefs.moves, 1.0).sum()
        for emission, sums in zip(beliefs.emissions, own.emissions, strict=True):
            total += emission.log_likelihood_of(sums)
        return float(total)

    # -- where to begin --------------------------------------------------------------------------------

    def begin(self, rng: np.random.Generator, i: int) -> HiddenBeliefs:
        """What a start believes: what labels say where there are some, else states by rows that are like each other."""
        block, k = self.observed.block, self.frame.n_states
        labels = self.observed.labels
        known = np.zeros(0, np.int64) if labels is None else np.flatnonzero(labels)
        guided = bool(self.counted.starts.sum() or len(known))
        n_rows = len(known) if guided else block.n_rows
        rows = np.sort(rng.choice(n_rows, SAMPLE, replace=False)) if n_rows > SAMPLE else np.arange(n_rows)
        rows = known[rows] if guided else rows
        if guided:
            shares = np.zeros((len(rows), k))
            assert labels is not None or not len(rows)
            if labels is not None:
                shares[np.arange(len(rows)), labels[rows].astype(np.int64) - 1] = 1.0
        else:
            shares = self._by_position(rows, rng) if self._in_order() else self._by_likeness(rows, rng)
        scale = 1.0 if guided else block.n_rows / max(len(rows), 1)
        part = block.take(rows)
        emissions = tuple(
            tuple(scale * array for array in emission.of_block(part, shares, self.n_threads))
            for emission in self.frame.emissions
        )
        steady = 0.5 * np.eye(k) + 0.5 * rng.dirichlet(np.ones(k), k)
        sums = StateSums(rng.dirichlet(np.ones(k)), steady * (k if guided else block.n_rows), emissions)
        if guided:
            sums = self.counted.plus(sums)
            if i:  # other starts leave what labels say a little
                noise = rng.dirichlet(np.ones(k), k)
                sums = sums._replace(moves=sums.moves + noise * (1 + sums.moves.sum() / k))
        return self.frame.believe(sums)

    def _in_order(self) -> bool:
        """Whether states can only be left for later ones."""
        held = self.frame.rules.fixed
        below = np.tril_indices(len(held), -1)
        return len(held) > 1 and bool((held[below] == 0).all())

    def _by_position(self, rows: Ints, rng: np.random.Generator) -> Floats:
        """States by how far into its sequence a row is, and a little of all."""
        k, starts = self.frame.n_states, self.observed.starts
        of = np.searchsorted(starts, rows, side="right") - 1
        far = (rows - starts[of]) / np.maximum(np.diff(starts)[of], 1)
        shares = np.full((len(rows), k), 0.1 / k)
        shares[np.arange(len(rows)), np.minimum((far * k).astype(np.int64), k - 1)] += 0.9
        return shares * rng.uniform(0.5, 1.5, shares.shape)

    def _by_likeness(self, rows: Ints, rng: np.random.Generator) -> Floats:
        """Rows by the nearest of k that lie apart, where there are numbers; symbols by chance, a share for each."""
        k, block = self.frame.n_states, self.observed.block
        shares = np.ones((len(rows), k))
        numbers = [
            name for emission in self.frame.emissions if not isinstance(emission, Symbols) for name in emission.names
        ]
        if numbers:
            x = np.column_stack([_standard(block.floats[name][rows]) for name in numbers])
            nearest = _nearest(x, k, rng)
            shares *= 0.1 / k
            shares[np.arange(len(rows)), nearest] += 0.9
        for emission in self.frame.emissions:
            if isinstance(emission, Symbols):
                chances = rng.dirichlet(np.ones(k), len(emission.values) + 2)
                shares *= chances[block.codes[emission.name][rows]] + 0.05
        return shares / shares.sum(axis=1, keepdims=True)


def _standard(x: Floats) -> Floats:
    """Less the mean, over the deviation; 0 where a number is missing."""
    there = ~np.isnan(x)
    if not there.any():
        return np.zeros(len(x))
    deviation = x[there].std()
    return np.where(there, (x - x[there].mean()) / (deviation or 1.0), 0.0)


def _nearest(x: Floats, k: int, rng: np.random.Generator) -> Ints:
    """The nearest of k centres: first rows that lie apart, then, in a few rounds, the means of those nearest."""
    if not len(x):
        return np.zeros(0, np.int64)
    centres = x[rng.integers(len(x))][None]
    while len(centres) < k:
        away = _distances(x, centres).min(axis=1)
        total = away.sum()
        at = rng.choice(len(x), p=away / total) if total > 0 else rng.integers(len(x))
        centres = np.vstack([centres, x[at]])
    nearest = _distances(x, centres).argmin(axis=1)
    for _ in range(LLOYD):
        sizes = np.bincount(nearest, minlength=k)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, x)
        centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
        nearest = _distances(x, centres).argmin(axis=1)
    return np.asarray(nearest)


def _distances(x: Floats, centres: Floats) -> Floats:
    """Squared (rows, centres)."""
    return np.maximum((x**2).sum(axis=1)[:, None] - 2 * x @ centres.T + (centres**2).sum(axis=1), 0.0)


def refuse_impossible(problem: Impossible, name: str, step: int) -> BayesError:
    """What is said of a sequence that no path of states can have."""
    return BayesError(
        f"{name} is impossible from step {step} on: no path of states has a probability above zero there. Smooth the "
        "estimates, or allow more transitions",
        culprit=problem.sequence,
        place=step,
    )

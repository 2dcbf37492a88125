"""Count transitions: runs of k + 1 consecutive classes, with start marks; k is the order.

The classes of the tally are the states of a hidden Markov model, or the symbols of a chain. They stand at the
positions of sequences, and a sequence begins with k marks, so that starts are counted as what follows these. A
position without a label breaks the runs that it would be part of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bayeskit.errors import BayesError, NotLearned, SchemaMismatch
from bayeskit.memory import Need
from bayeskit.tally.plan import Recoding, Request, Space, check_counts, check_file, format_times, new_codes
from bayeskit.tally.statistic import BlockCounts, CountArrays, Statistic, register
from bayeskit.tolerance import ROUNDING
from bayeskit.typing import Array, Counts, Floats, Ints

CLASSES = "(classes)"  # what the request names: the classes themselves, and no column


@register
@dataclass(frozen=True, eq=False)
class Transitions(CountArrays, Statistic):
    """``counts`` of each of the ``runs`` (n_runs, order + 1) that occur, sorted; −1 is the start mark.

    >>> counted = Transitions.of(np.array([0, 1, 1, 1]), np.array([0, 3, 4]), 2)
    >>> counted.runs.tolist(), counted.counts.tolist()
    ([[-1, 0], [-1, 1], [0, 1], [1, 1]], [1, 1, 1, 1])
    >>> counted.starts().tolist(), counted.moves().tolist()
    ([1, 1], [[0, 1], [0, 1]])
    """

    kind = "transitions"
    counts_classes = True
    local_only = True
    order: int
    n_classes: int
    runs: Ints
    counts: Counts

    @property
    def request(self) -> Request:
        """Return the request that this statistic answers."""
        return self.request_for(self.order)

    @classmethod
    def request_for(cls, order: int = 1) -> Request:
        """Return the request for runs of an order."""
        return Request(cls.kind, (CLASSES,), {"order": order})

    @classmethod
    def empty(cls, request: Request, space: Space) -> Self:
        """Return zero counts."""
        order = _order(request)
        return cls(order, space.n_classes, np.zeros((0, order + 1), np.int64), np.zeros(0, space.dtype))

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Count a block of whole sequences."""
        block = counter.block
        if block.sequence_starts is None:
            raise BayesError("rows make up no sequences, so nothing follows anything: give bayeskit.Sequences")
        if block.responsibilities is not None:
            raise BayesError("shares of classes do not say what follows what")
        return cls.of(
            counter.labels.astype(np.int64),
            block.sequence_starts,
            counter.space.n_classes,
            _order(request),
            block.weights,
        )

    @classmethod
    def of(
        cls,
        path: Ints,
        starts: Ints,
        n_classes: int,
        order: int = 1,
        weights: Floats | None = None,
    ) -> Self:
        """The classes of all positions, negative where there is none; sequence i has those from ``starts[i]`` to
        ``starts[i + 1]``. ``weights`` of the positions are the same within a sequence."""
        runs, here = runs_of(path, starts, order)
        if weights is not None:
            first = weights[np.minimum(starts[:-1], max(len(weights) - 1, 0))] if len(weights) else weights
            if (weights != np.repeat(first, np.diff(starts))).any():
                raise BayesError("the steps of one sequence have different weights: give each sequence one weight")
            weights = weights[here]
        keys, inverse = _distinct(runs, n_classes)
        counts = np.bincount(inverse, weights, minlength=len(keys)) if len(keys) else np.zeros(0)
        return cls(order, n_classes, keys, counts.astype(np.int64 if weights is None else np.float64)).tidy()

    # -- reading -------------------------------------------------------------------------------------

    def starts(self) -> Counts:
        """Return the number of sequences that start with each class, (n_classes,)."""
        begins = (self.runs[:, :-1] < 0).all(axis=1)
        return _sum(self.runs[begins, -1], self.counts[begins], self.n_classes)

    def moves(self) -> Counts:
        """Return the transition counts (n_classes, n_classes), for any order."""
        n = self.n_classes
        later = self.runs[:, -2] >= 0
        pairs = self.runs[later, -2] * n + self.runs[later, -1]
        return _sum(pairs, self.counts[later], n * n).reshape(n, n)

    def shorter(self, order: int) -> Self:
        """Return the counts at a lower order."""
        keys, inverse = _distinct(self.runs[:, self.order - order :], self.n_classes)
        return replace(self, order=order, runs=keys, counts=_sum(inverse, self.counts, len(keys)))

    # -- algebra -------------------------------------------------------------------------------------

    def tidy(self) -> Self:
        """Drop runs with zero counts."""
        counted = self.counts != 0
        return self if counted.all() else replace(self, runs=self.runs[counted], counts=self.counts[counted])

    def recode(self, recoding: Recoding) -> Self:
        """Return the counts under other classes."""
        place = np.append(new_codes(recoding.classes, self.n_classes), -1)  # run codes of -1 stay start marks
        known_runs = ((self.runs < 0) | (place[self.runs] >= 0)).all(axis=1)  # a class that goes was in no run
        n_classes = len(recoding.classes)
        keys, inverse = _distinct(place[self.runs[known_runs]], n_classes)
        return replace(self, n_classes=n_classes, runs=keys, counts=_sum(inverse, self.counts[known_runs], len(keys)))

    def align(self, other: Self) -> tuple[Self, Self]:
        """Return both sides over the union of their runs."""
        if self.order != other.order:
            raise SchemaMismatch(f"one side counted runs of order {self.order}, the other of order {other.order}")
        keys, inverse = _distinct(np.concatenate([self.runs, other.runs]), self.n_classes)
        ours, theirs = np.split(inverse, [len(self.runs)])
        return (
            replace(self, runs=keys, counts=_sum(ours, self.counts, len(keys))),
            replace(self, runs=keys, counts=_sum(theirs, other.counts, len(keys))),
        )

    def not_learned(self, other: Self, name: str, cell: tuple[int, ...], space: Space, key: Any) -> NotLearned:
        """Return an error that names the run with too few counts."""
        return NotLearned(
            f"{_format_run(self.runs[cell], space)} was learned {format_times(self.counts[cell])} and cannot be "
            f"forgotten {format_times(other.counts[cell])}; nothing was changed"
        )

    def restrict(self, names: Sequence[str]) -> Self | None:
        """Return the statistic unchanged: classes stay."""
        return self

    def memory_used(self) -> Need | None:
        """Return twice the size of runs and counts, to allow for one addition."""
        return Need(
            f"counting {len(self.runs):,} runs of {self.order + 1} in a row",
            16.0 * (self.runs.size + self.counts.size),
            "Take a smaller order.",
        )

    # -- files ---------------------------------------------------------------------------------------

    @classmethod
    def from_parts(cls, request: Request, header: Any, arrays: list[Array], space: Space) -> Self:
        """Read sorted runs of valid classes, with start marks only before classes, and positive counts."""
        order: Any = request.options.get("order")
        known = type(order) is int and order >= 1 and request.columns == (CLASSES,)
        check_file(known, "the transitions have other settings than a chain has")
        runs, counts = arrays
        fits = runs.dtype == np.int64 and runs.shape == (len(runs), order + 1)
        check_file(fits, "the transitions do not fit their order")
        check_counts(counts, (len(runs),), space)
        check_file((counts > 0).all(), "the tally holds counts that are negative or no numbers")
        marks = runs < 0
        within = runs.min(initial=0) >= -1 and runs.max(initial=-1) < space.n_classes
        check_file(within and not marks[:, -1].any(), "the transitions name classes that are not there")
        in_order = not (marks[:, 1:] & ~marks[:, :-1]).any() and _rises(runs)
        check_file(in_order, "the transitions are not in order")
        return cls(order, space.n_classes, runs, counts)

    def check(self, space: Space, class_counts: Counts, others: Mapping[str, Statistic]) -> None:
        """Check that no class ends more runs than it has steps, and no run continues more often than it occurs."""
        slack = 1 + ROUNDING * space.weighted
        ends = _sum(self.runs[:, -1], self.counts, self.n_classes)
        check_file((ends <= class_counts * slack).all(), "the transitions have more positions than the classes")
        begun = (self.runs[:, :-1] >= 0).any(axis=1)  # runs of marks alone go on with any class
        keys, inverse = _distinct(np.concatenate([self.runs[begun, :-1], self.runs[:, 1:]]), self.n_classes)
        into = _sum(inverse[begun.sum() :], self.counts, len(keys))
        out_of = _sum(inverse[: begun.sum()], self.counts[begun], len(keys))
        check_file((out_of <= into * slack).all(), "the transitions do not fit together")


def runs_of(path: Ints, starts: Ints, order: int) -> tuple[Ints, Ints]:
    """(runs (n, order + 1) that end at a position, that position); −1 is the mark before a sequence. A position
    without a class, negative in the path, is part of no run.

    >>> runs, here = runs_of(np.array([5, 7, -1, 5]), np.array([0, 4]), 1)
    >>> runs.tolist(), here.tolist()
    ([[-1, 5], [5, 7]], [0, 1])
    """
    if order < 1:
        raise BayesError(f"order={order}: give a whole number from 1")
    n, step = len(path), np.arange(len(path)) - np.repeat(starts[:-1], np.diff(starts))
    runs = np.empty((n, order + 1), dtype=np.int64)
    whole = path >= 0
    runs[:, order] = path
    for back in range(1, order + 1):
        before = np.full(n, -1, dtype=np.int64)
        before[back:] = path[: n - back] if back <= n else ()
        begun = step >= back
        whole &= ~begun | (before >= 0)
        runs[:, order - back] = np.where(begun, before, -1)
    here = np.flatnonzero(whole)
    return runs[here], here


def run_keys(runs: Ints, n_classes: int) -> Ints:
    """Encode each run as one sortable number; raise an error if it exceeds 64 bits."""
    base = n_classes + 1
    if base ** runs.shape[1] >= 2**63:
        raise BayesError(f"runs of {runs.shape[1]} of {n_classes:,} are too many to be counted: take a smaller order")
    keys = np.zeros(len(runs), dtype=np.int64)
    for column in runs.T:
        keys *= base
        keys += column + 1
    return keys


def _distinct(runs: Ints, n_classes: int) -> tuple[Ints, Ints]:
    """Return (the distinct runs, sorted; the index of each run among them)."""
    _, first, inverse = np.unique(run_keys(runs, n_classes), return_index=True, return_inverse=True)
    return np.ascontiguousarray(runs[first]), inverse


def _rises(runs: Ints) -> bool:
    before, after = runs[:-1], runs[1:]
    differs = before != after
    at = np.argmax(differs, axis=1)
    rows = np.arange(len(before))
    return bool((differs.any(axis=1) & (before[rows, at] < after[rows, at])).all())


def _sum(index: Ints, counts: Counts, size: int) -> Counts:
    """Sum counts by code, in their dtype."""
    total = np.zeros(size, dtype=counts.dtype)
    np.add.at(total, index, counts)
    return total


def _order(request: Request) -> int:
    return int(request.options.get("order", 1))


def _format_run(run: Ints, space: Space) -> str:
    """Format a run for a message."""
    named = [repr(space.classes[code]) for code in run.tolist() if code >= 0]
    start = "at the start " if run[0] < 0 else ""
    return start + (f"{', '.join(named[:-1])} and then {named[-1]}" if len(named) > 1 else named[0])

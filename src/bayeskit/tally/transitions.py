"""Count transitions: runs of k + 1 consecutive classes, with start marks; k is the order.

The classes of the tally are the states of a hidden Markov model, or the symbols of a chain. They stand at the
positions of sequences, and a sequence begins with k marks, so that starts are counted as what follows these. A
position without a label breaks the runs that it would be part of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bayeskit.errors import BadFile, BayesError, NotLearnt, SchemaMismatch
from bayeskit.memory import Need
from bayeskit.tally.plan import Request
from bayeskit.tally.space import Recoding, Space, format_times, subtract_counts
from bayeskit.tally.statistic import Parts, Statistic, register
from bayeskit.tolerance import ROUNDING
from bayeskit.typing import Array, Counts, Floats, Ints

if TYPE_CHECKING:
    from bayeskit.tally.block_counts import BlockCounts
    from bayeskit.tally.tally import Tally

CLASSES = "(classes)"  # what the request names: the classes themselves, and no column


@register
@dataclass(frozen=True, eq=False)
class Transitions(Statistic):
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
        return Request(self.kind, (CLASSES,), {"order": self.order})

    @classmethod
    def asked(cls, order: int = 1) -> Request:
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
        return _summed(self.runs[begins, -1], self.counts[begins], self.n_classes)

    def moves(self) -> Counts:
        """Return the transition counts (n_classes, n_classes), for any order."""
        n = self.n_classes
        later = self.runs[:, -2] >= 0
        pairs = self.runs[later, -2] * n + self.runs[later, -1]
        return _summed(pairs, self.counts[later], n * n).reshape(n, n)

    def shorter(self, order: int) -> Self:
        """Return the counts at a lower order."""
        keys, inverse = _distinct(self.runs[:, self.order - order :], self.n_classes)
        return replace(self, order=order, runs=keys, counts=_summed(inverse, self.counts, len(keys)))

    # -- algebra -------------------------------------------------------------------------------------

    def tidy(self) -> Self:
        """Drop runs with zero counts."""
        counted = self.counts != 0
        return self if counted.all() else replace(self, runs=self.runs[counted], counts=self.counts[counted])

    def recode(self, recoding: Recoding) -> Self:
        """Return the counts under other classes."""
        old = recoding.classes
        place = np.full(self.n_classes + 1, -2, dtype=np.int64)
        place[old[old >= 0]] = np.flatnonzero(old >= 0)
        place[-1] = -1
        runs = place[self.runs]
        known_runs = (runs >= -1).all(axis=1)  # a class that goes was in no run that was counted
        keys, inverse = _distinct(runs[known_runs], len(old))
        return replace(self, n_classes=len(old), runs=keys, counts=_summed(inverse, self.counts[known_runs], len(keys)))

    def _with(self, other: Self, counts: Counts) -> tuple[Ints, Counts, Counts]:
        """Return (the union of runs, counts here, counts there)."""
        if self.order != other.order:
            raise SchemaMismatch(f"one side counted runs of order {self.order}, the other of order {other.order}")
        keys, inverse = _distinct(np.concatenate([self.runs, other.runs]), self.n_classes)
        mine, theirs = inverse[: len(self.runs)], inverse[len(self.runs) :]
        return keys, _summed(mine, self.counts, len(keys)), _summed(theirs, counts, len(keys))

    def plus(self, other: Self) -> Self:
        """Add the sequences of both sides."""
        keys, a, b = self._with(other, other.counts)
        return replace(self, runs=keys, counts=a + b)

    def minus(self, other: Self, space: Space, tolerance: float) -> Self:
        """Subtract sequences; raise an error for a run with too few counts."""
        keys, a, b = self._with(other, other.counts)
        left = subtract_counts(a, b, tolerance)
        if (left < 0).any():
            at = int(np.argmax(left < 0))
            raise NotLearnt(
                f"{_named(keys[at], space)} was learnt {format_times(a[at])} and cannot be forgotten "
                f"{format_times(b[at])}; nothing was changed"
            )
        return replace(self, runs=keys, counts=left).tidy()

    def as_float(self) -> Self:
        """Return the counts as sums of weights."""
        return replace(self, counts=self.counts.astype(np.float64))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Transitions)
            and self._same_runs(other)
            and self.counts.dtype == other.counts.dtype
            and np.array_equal(self.counts, other.counts)
        )

    def _same_runs(self, other: Transitions) -> bool:
        return self.order == other.order and np.array_equal(self.runs, other.runs)

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

    def to_parts(self) -> Parts:
        """Return runs and counts."""
        return {}, [self.runs, self.counts]

    @classmethod
    def from_parts(cls, request: Request, header: Any, arrays: list[Array], space: Space) -> Self:
        """Read sorted runs of valid classes, with start marks only before classes, and positive counts."""
        order = request.options.get("order")
        if type(order) is not int or order < 1 or request.columns != (CLASSES,) or len(arrays) != 2:
            raise BadFile("the transitions have other settings than a chain has")
        runs, counts = arrays
        if runs.dtype != np.int64 or runs.ndim != 2 or runs.shape[1] != order + 1 or counts.shape != runs.shape[:1]:
            raise BadFile("the transitions do not fit their order")
        if counts.dtype != space.dtype or (counts <= 0).any():
            raise BadFile("the tally holds counts that are negative or no numbers")
        marks = runs < 0
        if runs.min(initial=0) < -1 or runs.max(initial=-1) >= space.n_classes or marks[:, -1].any():
            raise BadFile("the transitions name classes that are not there")
        if (marks[:, 1:] & ~marks[:, :-1]).any() or not _rises(runs):
            raise BadFile("the transitions are not in order")
        return cls(order, space.n_classes, runs, counts)

    def check(self, tally: Tally) -> None:
        """Check that no class ends more runs than it has steps, and no run continues more often than it occurs."""
        slack = 1 + ROUNDING * tally.weighted
        ends = _summed(self.runs[:, -1], self.counts, self.n_classes)
        if (ends > tally.class_counts * slack).any():
            raise BadFile("the transitions have more positions than the classes")
        begun = (self.runs[:, :-1] >= 0).any(axis=1)  # runs of marks alone go on with any class
        keys, inverse = _distinct(np.concatenate([self.runs[begun, :-1], self.runs[:, 1:]]), self.n_classes)
        into = _summed(inverse[begun.sum() :], self.counts, len(keys))
        out_of = _summed(inverse[: begun.sum()], self.counts[begun], len(keys))
        if (out_of > into * slack).any():
            raise BadFile("the transitions do not fit together")


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


def _summed(index: Ints, counts: Counts, size: int) -> Counts:
    """Sum counts by code, in their dtype."""
    total = np.zeros(size, dtype=counts.dtype)
    np.add.at(total, index, counts)
    return total


def _order(request: Request) -> int:
    return int(request.options.get("order", 1))


def _named(run: Ints, space: Space) -> str:
    """Format a run for a message."""
    named = [repr(space.classes[code]) for code in run.tolist() if code >= 0]
    start = "at the start " if run[0] < 0 else ""
    return start + (f"{', '.join(named[:-1])} and then {named[-1]}" if len(named) > 1 else named[0])

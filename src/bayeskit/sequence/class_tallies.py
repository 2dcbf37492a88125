"""What was counted of the sequences of each class: a value with + and −, as a tally is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.data.sequences import Sequences
from bayeskit.data.vocabulary import Value, sort_values
from bayeskit.errors import BayesError, NotLearnt
from bayeskit.tally.space import times
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import GONE


@dataclass(frozen=True)
class ClassTallies:
    """The tally of each class's sequences, and how many these are or what they weigh; classes are sorted."""

    tallies: Mapping[Value, Tally]
    counts: Mapping[Value, Any]

    @classmethod
    def of(
        cls, sequences: Sequences, labels: Sequence[Value], count: Callable[[Value, Sequences], Tally]
    ) -> ClassTallies:
        """Sequences with their classes; ``count(class, sequences)`` counts those of one."""
        weights = np.ones(len(labels), np.int64) if sequences.weights is None else sequences.weights
        tallies, counts = {}, {}
        for label in sort_values(dict.fromkeys(labels)):
            of_class = np.array([one == label for one in labels], dtype=bool)
            tallies[label] = count(label, sequences.take(of_class))
            counts[label] = weights[of_class].sum().item()
        return cls(tallies, counts)

    def __add__(self, other: ClassTallies) -> ClassTallies:
        """The sequences of both sides."""
        a, b = self.tallies, other.tallies
        both = {c: a[c] + b[c] if c in a and c in b else (a if c in a else b)[c] for c in sort_values({**a, **b})}
        return ClassTallies(both, {c: self.counts.get(c, 0) + other.counts.get(c, 0) for c in both})

    def __sub__(self, other: ClassTallies) -> ClassTallies:
        """This side without the other, whose sequences must all have been counted here; classes may go."""
        gone = GONE * sum(self.counts.values())
        left = {c: self.counts.get(c, 0) - other.counts.get(c, 0) for c in {**self.counts, **other.counts}}
        for c, n in left.items():
            if n < -gone:
                raise NotLearnt(
                    f"class {c!r} was learnt {times(self.counts.get(c, 0))} and cannot be forgotten "
                    f"{times(other.counts[c])}; nothing was changed",
                    culprit=c,
                )
        tallies = {c: held - other.tallies[c] if c in other.tallies else held for c, held in self.tallies.items()}
        remaining = [c for c in self.tallies if left[c] > gone]
        if not remaining:
            raise BayesError("forgetting these sequences would leave nothing to believe; start a new model instead")
        return ClassTallies({c: tallies[c] for c in remaining}, {c: left[c] for c in remaining})

    def check(self) -> None:
        """Refuse a class of which there is not one step."""
        empty = [c for c, tally in self.tallies.items() if not tally.n_rows]
        if empty:
            raise BayesError(
                f"the sequences of class {empty[0]!r} are all empty, so there is nothing to believe of it",
                culprit=empty[0],
            )

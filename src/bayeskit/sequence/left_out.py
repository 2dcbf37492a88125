"""Sequences that chains have learnt, each scored by the chains made without it, in closed form.

A sequence takes its own runs from the counts of its class alone; the symbols, and what smoothing was chosen, stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.sequences import Sequences
from bayeskit.data.vocabulary import Value
from bayeskit.errors import NotLearnt
from bayeskit.estimate.markov import Level
from bayeskit.estimate.prior import log_prior_without
from bayeskit.sequence.markov_chain import MarkovChain, summed
from bayeskit.tally.transitions import run_keys, runs_of
from bayeskit.typing import Array, Floats, Ints


@dataclass(frozen=True)
class SequencesLeftOut:
    """Scores of sequences without themselves: what :func:`bayeskit.evaluate.leave_one_out.leave_one_out` asks for."""

    sequences: Sequences
    chains: Sequence[MarkovChain]  # one a class, over the same symbols
    classes: Sequence[Value]
    class_counts: Array
    prior: Any

    def log_prior(self, label: int, unit: float) -> Floats:
        """ln P(class) without ``unit`` sequences of a class."""
        return log_prior_without(self.prior, self.classes, self.class_counts, label, unit)

    def scores(self, block: Block) -> Floats:
        """ln P(sequence, class) (sequences, classes), each without itself."""
        assert block.labels is not None
        labels = block.labels.astype(np.int64)
        units = np.ones(block.n_rows) if block.weights is None else np.minimum(block.weights, 1.0)
        scores = np.column_stack([chain.log_likelihood(self.sequences) for chain in self.chains])
        for label, chain in enumerate(self.chains):
            of_class = np.flatnonzero(labels == label)
            if len(of_class):
                scores[of_class, label] = self._without_itself(chain, of_class, units[of_class])
        pairs, which = np.unique(np.column_stack([labels, units]), axis=0, return_inverse=True)
        priors = np.array([self.log_prior(int(label), float(unit)) for label, unit in pairs])
        return np.asarray(scores + priors.reshape(len(pairs), -1)[which.ravel()])

    def _without_itself(self, chain: MarkovChain, of_class: Ints, units: Floats) -> Floats:
        """ln P of the sequences of a class by its chain, the counts of each taken away from it."""
        sequences = self.sequences.take(of_class)
        runs, here = runs_of(chain.codes(sequences), sequences.starts, chain.order)
        of = np.searchsorted(sequences.starts, here, side="right") - 1
        counts = []
        for level in chain.believed.levels:
            n, total = level.counts(runs)
            own_n, own_total = _own_counts(level, runs, of)
            n, total = n - units[of] * own_n, total - units[of] * own_total
            if (n < -0.5).any():
                raise NotLearnt(
                    f"{self.sequences.name(int(of_class[of[np.argmin(n)]]))} was not learnt: leave-one-out scores the "
                    "sequences that the model was fitted on, each once"
                )
            counts.append((np.maximum(n, 0.0), np.maximum(total, 0.0)))
        terms = np.zeros(sequences.n_rows)
        terms[here] = logspace.log(chain.believed.estimated(counts, runs[:, -1]))
        return summed(terms, sequences.starts)


def _own_counts(level: Level, runs: Ints, of: Ints) -> tuple[Floats, Floats]:
    """How often each run, and its context, stands in its own sequence."""
    ends, n = level.ends(runs), level.counted.n_classes
    return _times(of, run_keys(ends, n)), _times(of, run_keys(ends[:, :-1], n))


def _times(of: Ints, keys: Ints) -> Floats:
    """How often each key occurs among those of the same sequence."""
    order = np.lexsort((keys, of))
    if not len(order):
        return np.zeros(0)
    changed = (of[order][1:] != of[order][:-1]) | (keys[order][1:] != keys[order][:-1])
    group = np.concatenate([[0], np.cumsum(changed)])
    times = np.empty(len(order))
    times[order] = np.bincount(group)[group]
    return times

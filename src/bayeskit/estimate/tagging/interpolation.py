"""P(state | the two before it), by deleted interpolation (Brants 2000, "TnT").

Formula: P(c ∣ a, b) = l₁ P(c) + l₂ P(c ∣ b) + l₃ P(c ∣ a, b)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.tally.tags import TagCounts
from bayeskit.typing import Floats, Ints


class TrigramTable(NamedTuple):
    """ln P(c | a, b) of states; state S marks the start as a or b, and the end as c.

    ``pairs`` (S + 1, S + 1) holds ln P(c | b) for every c not seen after (a, b). ``contexts`` (S + 1, S + 1) is the
    number i of the pair (a, b), or -1. Pair i was followed by ``successors[indptr[i]:indptr[i + 1]]``: a hash table of
    a power of two of slots, addressed by :func:`first_slot`, in which -1 marks a free slot.
    """

    pairs: Floats
    contexts: npt.NDArray[np.int32]
    indptr: Ints
    successors: npt.NDArray[np.int32]
    logs: Floats


def interpolation(counts: TagCounts) -> Floats:
    """The weights (l₁, l₂, l₃): each triple, left out once, votes by its count for the order that foretells it best.

    Between equals the shorter one has the vote: it needs less to be known.
    """
    n, (a, b, c) = counts.triple_counts.astype(np.float64), counts.triples().T
    size = len(counts.states) + 1
    contexts, context = np.unique(a * size + b, return_inverse=True)
    pairs, pair = np.unique(b * size + c, return_inverse=True)
    before = np.bincount(context, n, len(contexts))[context]
    middle, last = np.bincount(b, n, size)[b], np.bincount(c, n, size)[c]
    foretold = [(last, n.sum()), (np.bincount(pair, n, len(pairs))[pair], middle), (n, before)]
    shares = [np.divide(count - 1, all_ - 1, out=np.zeros(len(n)), where=all_ > 1) for count, all_ in foretold]
    votes = np.bincount(np.argmax(shares, axis=0), n, 3)
    weights: Floats = votes / votes.sum()
    return weights


def log_transitions(counts: TagCounts) -> TrigramTable:
    """ln P(c | a, b) of all that was seen after (a, b), and ln P without l₃'s term for the rest.

    >>> from bayeskit.data.text.word_list import Words
    >>> from bayeskit.tally.tags import State
    >>> path = np.array([0, 1, 0, 1])
    >>> seen = TagCounts.of(Words.of("ab"), path, [State("D"), State("N")], path, np.array([0, 2, 4]))
    >>> made = log_transitions(seen)
    >>> made.contexts.tolist(), made.indptr.tolist(), made.successors.tolist()
    ([[-1, 0, -1], [-1, -1, -1], [1, -1, 2]], [0, 2, 4, 6], [2, -1, -1, 1, 0, -1])
    """
    weights, n = interpolation(counts), counts.triple_counts.astype(np.float64)
    (a, b, c), size = counts.triples().T, len(counts.states) + 1
    table = np.zeros((size, size))
    np.add.at(table, (b, c), n)
    ends = table.sum(axis=0)
    table *= weights[1] / np.maximum(table.sum(axis=1, keepdims=True), 1)
    table += weights[0] * ends / ends.sum()
    contexts, context = np.unique(a * size + b, return_inverse=True)
    numbers = np.full((size, size), -1, dtype=np.int32)
    numbers[contexts // size, contexts % size] = np.arange(len(contexts))
    seen = table[b, c] + weights[2] * n / np.bincount(context, n, len(contexts))[context]
    indptr, slots = _slots(context, c, len(contexts))
    successors, logs = np.full(indptr[-1], -1, dtype=np.int32), np.zeros(indptr[-1])
    successors[slots], logs[slots] = c, logspace.log(seen)
    return TrigramTable(logspace.log(table), numbers, indptr, successors, logs)


def _slots(context: Ints, states: Ints, n_contexts: int) -> tuple[Ints, Ints]:
    """Twice as many slots for each context as it has states, and the slot of each: the next that is free."""
    counts = np.bincount(context, minlength=n_contexts)
    sizes = 1 << np.ceil(np.log2(2 * counts)).astype(np.int64)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    slots, free = np.empty(len(context), dtype=np.int64), np.ones(indptr[-1], dtype=bool)
    waiting, probe = np.arange(len(context)), first_slot(states)
    while len(waiting):
        at = indptr[context[waiting]] + (probe[waiting] & sizes[context[waiting]] - 1)
        wanted, first = np.unique(at, return_index=True)
        placed = first[free[wanted]]
        slots[waiting[placed]] = at[placed]
        free[at[placed]] = False
        waiting = np.delete(waiting, placed)
        probe[waiting] += 1
    return indptr, slots


def first_slot(states: Ints) -> Ints:
    """Hash states: the slot of a pair's table that is probed first, modulo the table's size."""
    return (states * 2654435769 & 0xFFFFFFFF) >> 16

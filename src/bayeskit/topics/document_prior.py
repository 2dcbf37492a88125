"""The Dirichlet prior of documents over topics, fitted to how often documents have each topic (Minka 2000).

Formula: α_k ← α_k Σ_d (ψ(n_dk + α_k) − ψ(α_k)) / Σ_d (ψ(n_d + A) − ψ(A)),  A = Σ_k α_k

A difference of ψ is a sum of fractions, ψ(n + α) − ψ(α) = Σ_{i<n} 1 / (α + i): all that is needed of the documents is
how many of them have more than i tokens of a topic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.typing import Floats, Ints

LEAST, MOST = 1e-4, 1e3  # of α_k: a topic that no document has could still be had
STEPS = 5


@dataclass(frozen=True)
class TopicCounts:
    """How many parts, documents or words, have more than i tokens of topic k: ``more[indptr[k] + i]``.

    >>> counts = TopicCounts.of(np.array([0, 2, 3]), np.array([1, 1, 0], np.uint16), 2)
    >>> counts.indptr.tolist(), counts.more.tolist(), counts.i.tolist()
    ([0, 1, 3], [1, 1, 1], [0, 0, 1])
    """

    indptr: Ints
    more: Ints

    @classmethod
    def of(cls, start: Ints, topics: npt.NDArray[np.uint16], n_topics: int) -> TopicCounts:
        """From the topics of tokens, those of part p being start[p] to start[p + 1]."""
        ends, histogram = kernels.topic_histograms(start, topics, n_topics)
        most = np.diff(ends) - 1  # tokens that a part has at most
        indptr = np.concatenate([[0], np.cumsum(most)])
        having = np.delete(histogram, ends[:-1])  # parts with 1, 2, … tokens
        sums = np.concatenate([[0], np.cumsum(having)])
        return cls(indptr, np.repeat(sums[indptr[1:]], most) - sums[:-1])

    @property
    def i(self) -> Ints:
        """The number that is exceeded."""
        return np.arange(len(self.more)) - np.repeat(self.indptr[:-1], np.diff(self.indptr))

    @property
    def topic(self) -> Ints:
        """The topic of each number."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))


def optimised(alpha: Floats, counts: TopicCounts, lengths: Ints, steps: int = STEPS) -> Floats:
    """The prior after some steps of the fixed point.

    >>> rng = np.random.default_rng(0)
    >>> shares = rng.dirichlet([2.0, 0.5], 3000)
    >>> topics = (rng.random((3000, 20)) > shares[:, :1]).astype(np.uint16)
    >>> counts = TopicCounts.of(np.arange(0, 60_001, 20), topics.ravel(), 2)
    >>> optimised(np.ones(2), counts, np.full(3000, 20), steps=200).round(1).tolist()
    [2.0, 0.5]
    """
    i, topic = counts.i, counts.topic
    longer = np.cumsum(np.bincount(lengths, minlength=1)[::-1])[::-1][1:]  # documents of more than i words
    each = np.arange(len(longer))
    for _ in range(steps):
        gained = np.bincount(topic, counts.more / (alpha[topic] + i), len(alpha))
        alpha = np.clip(alpha * gained / (longer / (alpha.sum() + each)).sum(), LEAST, MOST)
    return alpha

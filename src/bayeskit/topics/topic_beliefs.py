"""What counts make believe of topics: P(word | topic), and the shares of topics in a document."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.topics.corpus import Corpus
from bayeskit.typing import Floats, Ints, Singles

SWEEPS, BURN_IN = 50, 10  # of fold-in
TOKENS_AT_A_TIME = 1 << 16


@dataclass(frozen=True, eq=False)
class TopicBeliefs:
    """P(word | topic) = (n_wk + β) / (n_k + V β) from a table (words, topics), and the prior of documents.

    >>> believed = TopicBeliefs(np.array([[3, 0], [0, 1]], np.int32), np.ones(2), 1.0)
    >>> believed.topic_words.tolist()
    [[0.8, 0.2], [0.3333333333333333, 0.6666666666666666]]
    """

    table: npt.NDArray[np.int32]
    alpha: Floats
    beta: float

    @property
    def n_topics(self) -> int:
        return len(self.alpha)

    @cached_property
    def totals(self) -> Ints:
        """Tokens of each topic."""
        return np.asarray(self.table.sum(axis=0, dtype=np.int64))

    @property
    def topic_words(self) -> Floats:
        """P(word | topic) as (topics, words)."""
        return np.ascontiguousarray(((self.table + self.beta) / (self.totals + self.beta * len(self.table))).T)

    @cached_property
    def likelihood(self) -> Singles:
        """The same as the kernels take it: (words, topics), filled up with zeros to a multiple of 8."""
        out = np.zeros((len(self.table), -(-self.n_topics // 8) * 8), np.float32)
        np.divide(
            self.table + np.float32(self.beta),
            (self.totals + self.beta * len(self.table)).astype(np.float32),
            out=out[:, : self.n_topics],
        )
        return out

    def shares(self, corpus: Corpus, seed: int, n_threads: int, sweeps: int = SWEEPS) -> Floats:
        """(documents, topics): what part of each document has each topic; the prior's shares where it has no words."""
        return kernels.fold_in_topics(
            corpus.start, corpus.words, self.likelihood, self.alpha, seed, sweeps, BURN_IN, n_threads
        )

    def log_tokens(self, corpus: Corpus, shares: Floats) -> Floats:
        """ln Σ_k P(k | document) P(word | k) of each token."""
        out, documents = np.empty(corpus.n_tokens), corpus.documents
        for first in range(0, corpus.n_tokens, TOKENS_AT_A_TIME):
            part = slice(first, first + TOKENS_AT_A_TIME)
            given = self.likelihood[corpus.words[part], : self.n_topics]
            out[part] = logspace.log(np.einsum("ik,ik->i", given, shares[documents[part]]))
        return out

    def left_to_right(self, corpus: Corpus, seed: int, n_particles: int, n_threads: int) -> Floats:
        """ln P(words) of each document, word by word (Wallach et al. 2009)."""
        return kernels.left_to_right(
            corpus.start, corpus.words, self.likelihood, self.alpha, seed, n_particles, n_threads
        )

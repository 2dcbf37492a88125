"""ln P(words, topics): what the sampler climbs, and a bar shows (Griffiths and Steyvers 2004).

Formula: ln P(words, topics) = Σ_d ln Π_k Γ(n_dk + α_k)/Γ(α_k) · Γ(A)/Γ(n_d + A) + the same of topics over words

Ratios of Γ are products, Γ(n + a)/Γ(a) = Π_{i<n} (a + i): counts of counts are all that is needed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.topics.corpus import Corpus
from bayeskit.topics.document_prior import TopicCounts
from bayeskit.typing import Floats, Ints


def log_rising(a: float, n: Ints) -> float:
    """Σ ln Γ(n + a)/Γ(a) over several n.

    >>> round(float(np.exp(log_rising(2.0, np.array([3, 1])))))       # 2·3·4 times 2
    48
    """
    more = np.cumsum(np.bincount(n, minlength=1)[::-1])[::-1][1:]
    return float(more @ logspace.log(a + np.arange(len(more))))


def log_documents(counts: TopicCounts, lengths: Ints, alpha: Floats) -> float:
    """ln P(topics): of the documents' topics under their prior."""
    log_rises = float(counts.more @ logspace.log(alpha[counts.topic] + counts.i))
    return log_rises - log_rising(float(alpha.sum()), lengths)


def log_words(table: Ints, beta: float) -> float:
    """ln P(words | topics) of a table (words, topics) of counts."""
    return log_rising(beta, table.ravel()) - log_rising(beta * len(table), table.sum(axis=0))


def word_topics(corpus: Corpus, topics: npt.NDArray[np.uint16], n_topics: int) -> npt.NDArray[np.int32]:
    """(words, topics): how often each word has each topic."""
    cells = corpus.words.astype(np.int64) * n_topics + topics
    return np.bincount(cells, minlength=corpus.n_words * n_topics).reshape(corpus.n_words, n_topics).astype(np.int32)


class JointLikelihood:
    """ln P(words, topics) of a corpus, for one assignment after the other; ``base`` counts what was seen before.

    The six words of the course, a a b and c c b, all in one topic of two (α = β = 1):

    >>> corpus = Corpus(np.array([0, 3, 6]), np.array([0, 0, 1, 1, 2, 2], np.uint32), 3)
    >>> whole = JointLikelihood(corpus, 1.0)(np.zeros(6, np.uint16), np.ones(2))
    >>> round(float(1 / np.exp(whole)))             # (2·3·4 / 1·2·3)² · (3·4·5·6·7·8) / (2·2·2)
    40320
    """

    def __init__(self, corpus: Corpus, beta: float, base: npt.NDArray[np.int32] | None = None) -> None:
        self.corpus, self.beta, self.base = corpus, beta, base
        if base is None:
            self.order = np.argsort(corpus.words, kind="stable")
            self.start = np.searchsorted(corpus.words[self.order], np.arange(corpus.n_words + 1)).astype(np.int64)
        else:
            self.before = log_words(base.astype(np.int64), beta)

    def __call__(self, topics: npt.NDArray[np.uint16], alpha: Floats, counts: TopicCounts | None = None) -> float:
        """Of these topics, ``counts`` being those of the documents."""
        counts = counts or TopicCounts.of(self.corpus.start, topics, len(alpha))
        return log_documents(counts, self.corpus.lengths, alpha) + self._of_words(topics, len(alpha))

    def _of_words(self, topics: npt.NDArray[np.uint16], n_topics: int) -> float:
        if self.base is not None:
            table = (word_topics(self.corpus, topics, n_topics) + self.base).astype(np.int64)
            return log_words(table, self.beta) - self.before
        counts = TopicCounts.of(self.start, topics[self.order], n_topics)
        log_rises = float(counts.more @ logspace.log(self.beta + counts.i))
        return log_rises - log_rising(self.beta * self.corpus.n_words, np.bincount(topics, minlength=n_topics))

"""The story that topics tell of a document: shares of topics, then for each word a topic, and a word of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayeskit.errors import BayesError
from bayeskit.memory import Need, check_memory
from bayeskit.models.base.settings import whole_number
from bayeskit.topics.topic_beliefs import TopicBeliefs
from bayeskit.typing import Array, Floats


class SampledDocuments(NamedTuple):
    """Documents as lists of words, the topic of each word, and the shares that they were drawn from."""

    documents: list[list[str]]
    topics: list[list[int]]
    shares: Floats


def sample_documents(
    believed: TopicBeliefs, names: Array, n: int, length: Any, rng: np.random.Generator, limit: Any
) -> SampledDocuments:
    """Draw documents; ``length`` is the number of words of each, or one number for all."""
    whole_number("n", n, 0)
    lengths = np.asarray(length)
    if lengths.dtype.kind not in "iu" or (lengths < 0).any() or lengths.ndim > 1:
        raise BayesError(f"length={length!r}: give whole numbers of words, from 0 on", culprit=length)
    lengths = np.broadcast_to(lengths, n) if lengths.ndim == 0 else lengths
    if len(lengths) != n:
        raise BayesError(f"length has {len(lengths)} numbers for {n} documents")
    need = 128.0 * float(lengths.sum(dtype=np.float64)) + 8.0 * n * believed.n_topics  # a word, its topic and two draws
    check_memory(Need(f"{n:,} documents of {int(lengths.max(initial=0)):,} words", need, ("Draw fewer.",)), limit)
    shares = rng.dirichlet(believed.alpha, n)
    of_words = np.cumsum(believed.topic_words, axis=1)
    documents, topics = [], []
    for share, size in zip(shares, lengths.tolist(), strict=True):
        topic_of_word = np.minimum(np.searchsorted(np.cumsum(share), rng.random(size), "right"), believed.n_topics - 1)
        drawn = rng.random(size)
        words = [
            min(int(np.searchsorted(of_words[k], u, "right")), len(names) - 1)
            for k, u in zip(topic_of_word, drawn, strict=True)
        ]
        documents.append([str(names[w]) for w in words])
        topics.append(topic_of_word.tolist())
    return SampledDocuments(documents, topics, shares)

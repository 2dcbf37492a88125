"""The topics of a document, each with the words that speak for it.

A word of topic k in a document has that topic with P(k ∣ word, document) ∝ P(k ∣ document) P(word ∣ k).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit.data.sheet import Figure, Grid, Readable, Sheet
from bayeskit.drawable import Drawable
from bayeskit.topics.corpus import Corpus
from bayeskit.topics.topic_beliefs import TopicBeliefs
from bayeskit.typing import Array, Floats


@dataclass(frozen=True)
class WordOfTopic:
    """A word of a document: how often it stands there, and how much of that is expected to be of the topic."""

    word: str
    count: int
    of_topic: float


@dataclass(frozen=True)
class ShareOfTopic:
    """A topic of a document: its share, and the words that speak for it, the strongest first."""

    topic: int
    share: float
    words: tuple[WordOfTopic, ...]


@dataclass(frozen=True, repr=False)
class DocumentTopics(Readable, Drawable):
    """The topics of a document, largest first; words that the model does not know are left out."""

    topics: tuple[ShareOfTopic, ...]
    n_words: int

    @property
    def sheet(self) -> Sheet:
        """A line a topic."""
        if not self.n_words:
            return Sheet("no word that the model knows: the shares are those of any document", (self._grid(),))
        return Sheet(f"{self.n_words:,} known word{'s' * (self.n_words != 1)}", (self._grid(),))

    def _grid(self) -> Grid:
        words = [", ".join(_shown(word) for word in one.words) for one in self.topics]
        return Grid({
            "topic": [one.topic for one in self.topics],
            "share": [Figure(f"{100 * one.share:.1f} %") for one in self.topics],
            "words that speak for it": words,
        })  # fmt: skip


def _shown(word: WordOfTopic) -> str:
    return word.word if word.count == 1 else f"{word.word} ×{word.count}"


def document_topics(
    believed: TopicBeliefs, corpus: Corpus, shares: Floats, names: Array, n_words: int, least: float
) -> list[DocumentTopics]:
    """The topics of each document with a share of at least ``least``, and up to ``n_words`` words of each."""
    out = []
    for d in range(len(corpus)):
        words, counts = np.unique(corpus.words[corpus.start[d] : corpus.start[d + 1]], return_counts=True)
        masses = believed.likelihood[words, : believed.n_topics].astype(np.float64) * shares[d]
        expected = masses / masses.sum(axis=1, keepdims=True) * counts[:, None]  # (words, topics)
        largest = [k for k in np.argsort(-shares[d], kind="stable") if shares[d, k] >= least]
        topics = []
        for k in largest:
            order = np.argsort(-expected[:, k], kind="stable")[:n_words]
            spoken = [i for i in order if expected[i, k] > counts[i] / 2]  # more likely of this topic than of others
            words_for_topic = tuple(
                WordOfTopic(str(names[words[i]]), int(counts[i]), float(expected[i, k])) for i in spoken
            )
            topics.append(ShareOfTopic(int(k), float(shares[d, k]), words_for_topic))
        out.append(DocumentTopics(tuple(topics), int(counts.sum())))
    return out

"""Documents that a model holds with the topics of their words: they can leave, and join those of another model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bayeskit.errors import BadFile, BayesError, NotLearnt
from bayeskit.topics.corpus import Corpus
from bayeskit.topics.joint_likelihood import word_topics
from bayeskit.topics.random_streams import digest, stream
from bayeskit.typing import Array, Bools, Ints


@dataclass(frozen=True, eq=False)
class Assignments:
    """A corpus and the topic of each token. Documents have ids, by which models of one origin know them again.

    ``origin`` stands for the first fit: models that were continued from it have the same topics under the same numbers.
    ``forgotten`` are the ids of documents that were held once.
    """

    corpus: Corpus
    topics: npt.NDArray[np.uint16]
    n_topics: int
    origin: int
    ids: Ints
    forgotten: Ints

    @classmethod
    def first(cls, corpus: Corpus, topics: npt.NDArray[np.uint16], n_topics: int) -> Assignments:
        """Those of a fit."""
        origin = digest(corpus.start, corpus.words, topics, n_topics) >> 1
        return cls(corpus, topics, n_topics, origin, _ids(origin, len(corpus)), np.zeros(0, np.int64))

    @property
    def table(self) -> npt.NDArray[np.int32]:
        """(words, topics): how often each word has each topic."""
        return word_topics(self.corpus, self.topics, self.n_topics)

    def with_more(self, corpus: Corpus, topics: npt.NDArray[np.uint16]) -> Assignments:
        """More documents beside those held, whose topics stay."""
        batch = digest(self.origin, self.ids, self.forgotten, corpus.start, corpus.words, topics)
        return Assignments(
            self.corpus + corpus,
            np.concatenate([self.topics, topics]),
            self.n_topics,
            self.origin,
            np.concatenate([self.ids, _ids(batch, len(corpus))]),
            self.forgotten,
        )

    def without(self, corpus: Corpus) -> Assignments:
        """These documents less, each found by its words; the one learnt last where several have the same."""
        held = self.corpus.contents()
        last_first = np.lexsort((-np.arange(len(held)), held))
        asked = np.argsort(corpus.contents(), kind="stable")
        keys, listed = corpus.contents()[asked], held[last_first]
        at = np.searchsorted(listed, keys) + np.arange(len(keys)) - np.searchsorted(keys, keys)
        is_held = at < len(held)
        rows = last_first[np.where(is_held, at, 0)] if len(held) else np.zeros(len(at), np.int64)
        is_held = _same(self.corpus, rows, corpus, asked, is_held)
        if not is_held.all():
            row = int(asked[~is_held].min())
            raise NotLearnt(
                f"document {row} is not among the {len(held):,} that the model holds, or not so often; "
                "nothing was changed",
                place=row,
            )
        return self._keeping(~np.isin(np.arange(len(held)), rows))

    def merged(self, other: Assignments) -> Assignments:
        """The documents of both, those that both hold once; what one has forgotten is gone."""
        if self.origin != other.origin:
            raise BayesError(
                "these models were not continued from one parent: topic 1 of one is not topic 1 of the other. "
                "Fit one model, save it, and let both learn from there"
            )
        ours = self._keeping(~np.isin(self.ids, other.forgotten))
        theirs = other._keeping(~np.isin(other.ids, np.concatenate([self.forgotten, self.ids])))
        return Assignments(
            ours.corpus + theirs.corpus,
            np.concatenate([ours.topics, theirs.topics]),
            self.n_topics,
            self.origin,
            np.concatenate([ours.ids, theirs.ids]),
            np.union1d(self.forgotten, other.forgotten),
        )

    def _keeping(self, keep: Bools) -> Assignments:
        start, words, where = self.corpus.taken(keep)
        gone = np.union1d(self.forgotten, self.ids[~keep])
        corpus = Corpus(start, words, self.corpus.n_words)
        return Assignments(corpus, self.topics[where], self.n_topics, self.origin, self.ids[keep], gone)

    # -- in a file ----------------------------------------------------------------------------------------------------

    def arrays(self) -> list[Array]:
        """What a file holds."""
        topics = self.topics.astype(np.uint32)
        return [self.corpus.start, self.corpus.words, topics, self.ids, self.forgotten]

    @classmethod
    def checked(cls, arrays: list[Array], origin: object, n_words: int, n_topics: int) -> Assignments:
        """From arrays of unknown origin: refused unless they fit together."""
        start, words, topics, ids, forgotten = arrays
        kinds = [start.dtype == ids.dtype == forgotten.dtype == np.int64, words.dtype == topics.dtype == np.uint32]
        flat = all(array.ndim == 1 for array in arrays)
        fits = all(kinds) and flat and len(start) == len(ids) + 1 and len(words) == len(topics)
        fits = fits and start[0] == 0 and start[-1] == len(words) and bool((start[1:] >= start[:-1]).all())
        fits = fits and (not len(words) or (words.max() < n_words and topics.max() < n_topics))
        if not fits or type(origin) is not int or not 0 <= origin < 2**63:
            raise BadFile("the documents that the model holds do not fit together")
        corpus = Corpus(start, words, n_words)
        return cls(corpus, topics.astype(np.uint16), n_topics, origin, ids, forgotten)


def _same(a: Corpus, a_rows: Ints, b: Corpus, b_rows: Ints, may: Bools) -> Bools:
    """Which of these pairs of documents have the very same words, of those that may."""
    same = may.copy()
    same[may] = a.lengths[a_rows[may]] == b.lengths[b_rows[may]]
    ours, theirs = a.take(a_rows[same]), b.take(b_rows[same])
    apart = np.zeros(len(ours), bool)
    apart[ours.documents[ours.words != theirs.words]] = True
    same[same] = ~apart
    return same


def _ids(batch: int, n: int) -> Ints:
    """Of n documents that were learnt together."""
    return (stream(batch, n) >> np.uint64(1)).astype(np.int64)

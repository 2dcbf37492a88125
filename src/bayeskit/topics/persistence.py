"""Fitted state of a topic model: counts of words by topic, kept assignments, and their form in a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bayeskit.data.text.word_list import Words
from bayeskit.errors import BadFile, BayesError, NotLearnt
from bayeskit.memory import Need, check_memory
from bayeskit.storage.model_file import State
from bayeskit.topics.corpus import Corpus, digest, random_stream
from bayeskit.topics.sampler import LEAST, MOST, SampledTopics, count_word_topics
from bayeskit.typing import Array, Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Assignments:
    """Corpus and the topic of each token. Documents have ids, by which models of one origin recognize them.

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
    def from_fit(cls, corpus: Corpus, topics: npt.NDArray[np.uint16], n_topics: int) -> Assignments:
        """Create the assignments of a first fit."""
        origin = digest(corpus.start, corpus.words, topics, n_topics) >> 1
        return cls(corpus, topics, n_topics, origin, _document_ids(origin, len(corpus)), np.zeros(0, np.int64))

    @property
    def table(self) -> npt.NDArray[np.int32]:
        """Return counts of shape (n_words, n_topics)."""
        return count_word_topics(self.corpus, self.topics, self.n_topics)

    def append(self, corpus: Corpus, topics: npt.NDArray[np.uint16]) -> Assignments:
        """Append documents; the topics of others stay."""
        batch = digest(self.origin, self.ids, self.forgotten, corpus.start, corpus.words, topics)
        return Assignments(
            self.corpus + corpus,
            np.concatenate([self.topics, topics]),
            self.n_topics,
            self.origin,
            np.concatenate([self.ids, _document_ids(batch, len(corpus))]),
            self.forgotten,
        )

    def without(self, corpus: Corpus) -> Assignments:
        """Remove documents, found by their words; of equal documents the last one learned."""
        held = self.corpus.hash_documents()
        last_first = np.lexsort((-np.arange(len(held)), held))
        asked = np.argsort(corpus.hash_documents(), kind="stable")
        keys, listed = corpus.hash_documents()[asked], held[last_first]
        at = np.searchsorted(listed, keys) + np.arange(len(keys)) - np.searchsorted(keys, keys)
        is_held = at < len(held)
        rows = last_first[np.where(is_held, at, 0)] if len(held) else np.zeros(len(at), np.int64)
        is_held = _have_same_words(self.corpus, rows, corpus, asked, is_held)
        if not is_held.all():
            row = int(asked[~is_held].min())
            raise NotLearnt(
                f"document {row} is not among the {len(held):,} that the model holds, or not so often; "
                "nothing was changed",
            )
        return self._select(~np.isin(np.arange(len(held)), rows))

    def merge(self, other: Assignments) -> Assignments:
        """Return the documents of both; shared ones count once, and forgotten ones are gone."""
        if self.origin != other.origin:
            raise BayesError(
                "these models were not continued from one parent: topic 1 of one is not topic 1 of the other. "
                "Fit one model, save it, and let both learn from there"
            )
        ours = self._select(~np.isin(self.ids, other.forgotten))
        theirs = other._select(~np.isin(other.ids, np.concatenate([self.forgotten, self.ids])))
        return Assignments(
            ours.corpus + theirs.corpus,
            np.concatenate([ours.topics, theirs.topics]),
            self.n_topics,
            self.origin,
            np.concatenate([ours.ids, theirs.ids]),
            np.union1d(self.forgotten, other.forgotten),
        )

    def _select(self, keep: Bools) -> Assignments:
        start, words, where = self.corpus.take_tokens(keep)
        gone = np.union1d(self.forgotten, self.ids[~keep])
        corpus = Corpus(start, words, self.corpus.n_words)
        return Assignments(corpus, self.topics[where], self.n_topics, self.origin, self.ids[keep], gone)

    # -- persistence --------------------------------------------------------------------------------------------------

    def arrays(self) -> list[Array]:
        """Return the arrays of a file."""
        topics = self.topics.astype(np.uint32)
        return [self.corpus.start, self.corpus.words, topics, self.ids, self.forgotten]

    @classmethod
    def from_arrays(cls, arrays: list[Array], origin: object, n_words: int, n_topics: int) -> Assignments:
        """Restore from untrusted arrays; raise an error unless they are consistent."""
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


def _have_same_words(a: Corpus, a_rows: Ints, b: Corpus, b_rows: Ints, may: Bools) -> Bools:
    """Return which pairs of documents have the same words, among those that may."""
    same = may.copy()
    same[may] = a.lengths[a_rows[may]] == b.lengths[b_rows[may]]
    ours, theirs = a.take(a_rows[same]), b.take(b_rows[same])
    apart = np.zeros(len(ours), bool)
    apart[ours.documents[ours.words != theirs.words]] = True
    same[same] = ~apart
    return same


def _document_ids(batch: int, n: int) -> Ints:
    """Return ids for n documents learned together."""
    return (random_stream(batch, n) >> np.uint64(1)).astype(np.int64)


HEADER = ("names", "n_words", "seed", "log_likelihood", "documents", "origin")


@dataclass(frozen=True, eq=False)
class FittedTopics:
    """Fitted state: counts of shape (n_words, n_topics), names of the words, prior and kept assignments."""

    names: Words | tuple[str, ...] | None
    table: npt.NDArray[np.int32]
    alpha: Floats
    seed: int
    log_likelihood: float = 0.0
    n_documents: int = 0
    assignments: Assignments | None = None

    @classmethod
    def empty(cls, names: Words | tuple[str, ...] | None, n_words: int, alpha: Floats, seed: int) -> Self:
        """Return the state before the first document."""
        return cls(names, np.zeros((n_words, len(alpha)), np.int32), alpha, seed)

    def append(
        self, sampled: SampledTopics, table: npt.NDArray[np.int32], n_documents: int, assignments: Assignments | None
    ) -> Self:
        """Return the state with more documents."""
        return replace(
            self, table=table, alpha=sampled.alpha, log_likelihood=sampled.log_likelihood,
            n_documents=self.n_documents + n_documents, assignments=assignments,
        )  # fmt: skip

    def with_assignments(self, assignments: Assignments) -> Self:
        """Return the state of exactly these documents."""
        return replace(self, table=assignments.table, n_documents=len(assignments.corpus), assignments=assignments)

    def with_names(self, names: tuple[str, ...]) -> Self:
        """Return the state with names for the words."""
        return replace(self, names=names)

    @property
    def n_words(self) -> int:
        """Number of known words."""
        return len(self.table)

    @property
    def word_names(self) -> npt.NDArray[np.object_]:
        """Names of the words; x0, x1, … if there are none."""
        listed = [f"x{i}" for i in range(self.n_words)] if self.names is None else list(self.names)
        return np.array(listed, dtype=object)

    def to_state(self) -> State:
        """Return the state as plain data and arrays."""
        header: dict[str, Any] = {
            "names": list(self.names) if isinstance(self.names, tuple) else None,
            "n_words": self.n_words,
            "seed": f"{self.seed:016x}",
            "log_likelihood": self.log_likelihood,
            "documents": self.n_documents,
            "origin": None if self.assignments is None else self.assignments.origin,
        }
        words = [self.names.data, self.names.offsets] if isinstance(self.names, Words) else _empty_words()
        if self.assignments is not None:
            return State(header, [self.alpha, *words, *self.assignments.arrays()])
        cells = np.flatnonzero(self.table)
        return State(header, [self.alpha, *words, cells, self.table.ravel()[cells].astype(np.uint32)])

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore from :meth:`to_state`; raise an error for anything else."""
        held = len(state.arrays) == 8
        state.holds(8 if held else 5, *HEADER)
        n_words, seed, value, n = (state.header[name] for name in ("n_words", "seed", "log_likelihood", "documents"))
        whole = all(type(x) is int and 0 <= x < 2**31 for x in (n_words, n))
        if not whole or type(seed) is not str or type(value) not in (int, float) or abs(value) > 1e150:
            raise BadFile("what the topic model says of itself are no such numbers")
        alpha = state.numbers(0, *state.arrays[0].shape)
        if alpha.ndim != 1 or not len(alpha) or not ((alpha >= LEAST / 100) & (alpha <= MOST * 1000)).all():
            raise BadFile("the prior of the documents is none")
        check_memory(Need("the table of words by topics", 4.0 * n_words * len(alpha)), None)
        names = _checked_names(state, n_words)
        assignments = None
        if held:
            assignments = Assignments.from_arrays(state.arrays[3:], state.header["origin"], n_words, len(alpha))
            table = assignments.table
        else:
            table = _checked_table(state.arrays[3], state.arrays[4], n_words, len(alpha))
        if not table.any() or (assignments is not None and n != len(assignments.corpus)):
            raise BadFile("the topic model has learnt nothing, or not what it says")
        return cls(names, table, alpha, int(seed, 16), float(value), n, assignments)


def _empty_words() -> list[Array]:
    return [np.zeros(0, np.uint8), np.zeros(1, np.int64)]


def _checked_names(state: State, n_words: int) -> Words | tuple[str, ...] | None:
    listed = state.header["names"]
    if listed is not None:
        if not isinstance(listed, list) or len(listed) != n_words or not all(isinstance(one, str) for one in listed):
            raise BadFile("the names of the words do not fit the counts")
        return tuple(listed)
    words = Words.checked(state.arrays[1], state.arrays[2])
    if len(words) not in (0, n_words):
        raise BadFile("the words do not fit the counts")
    return words if len(words) else None


def _checked_table(cells: Array, counts: Array, n_words: int, n_topics: int) -> npt.NDArray[np.int32]:
    """Return counts of shape (n_words, n_topics) from nonzero cells."""
    fits = cells.dtype == np.int64 and counts.dtype == np.uint32 and cells.ndim == 1 and cells.shape == counts.shape
    fits = fits and len(cells) > 0 and cells[0] >= 0 and cells[-1] < n_words * n_topics
    fits = fits and bool((cells[1:] > cells[:-1]).all()) and int(counts.min()) > 0
    if not fits or int(counts.sum(dtype=np.int64)) > 2**30:
        raise BadFile("the counts of words by topics do not fit together")
    table = np.zeros(n_words * n_topics, np.int32)
    table[cells] = counts
    return table.reshape(n_words, n_topics)

"""Collapsed Gibbs sampling of topics, the prior fitted between sweeps, and the state that a fit leaves.

Formula: α_k ← α_k Σ_d (ψ(n_dk + α_k) − ψ(α_k)) / Σ_d (ψ(n_d + A) − ψ(A)),  A = Σ_k α_k
Formula: ln P(words, topics) = Σ_d ln Π_k Γ(n_dk + α_k)/Γ(α_k) · Γ(A)/Γ(n_d + A) + the same of topics over words

Differences of the digamma function are sums of fractions, ψ(n + α) − ψ(α) = Σ_{i<n} 1 / (α + i), and ratios of the
gamma function are products, Γ(n + a)/Γ(a) = Π_{i<n} (a + i). So both formulas need only counts of counts: how many
documents have more than i tokens of a topic.

References: Griffiths and Steyvers 2004 (sampler and joint likelihood), Minka 2000 (fixed point of the prior).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.data.text.word_list import Words, union
from bayeskit.errors import BadFile, BayesError, NotLearned
from bayeskit.memory import Need, check_memory
from bayeskit.progress import Bar
from bayeskit.storage.model_file import State
from bayeskit.topics.corpus import Corpus, digest, random_stream
from bayeskit.typing import Array, Bools, Floats, Ints

# Bounds of α_k: never zero, so that unused topics can return.
LEAST, MOST = 1e-4, 1e3
# Steps of the fixed point of the prior between sweeps.
STEPS = 5
# Sweeps between updates of the prior and of the likelihood.
EVERY = 10
# Tokens sampled in a call, so that an interrupt takes effect within about a second.
TOKENS_A_CALL = 10_000_000
TOKENS_A_SHARD, MOST_SHARDS = 25_000, 16
# Below so many tokens, shards save no time.
EXACT_BELOW = 2_000
Topics = npt.NDArray[np.uint16]


@dataclass(frozen=True)
class TopicCounts:
    """Counts of counts: ``more[indptr[k] + i]`` parts have more than i tokens of topic k.

    A part is a document or a word.

    >>> counts = TopicCounts.of(np.array([0, 2, 3]), np.array([1, 1, 0], np.uint16), 2)
    >>> counts.indptr.tolist(), counts.more.tolist(), counts.i.tolist()
    ([0, 1, 3], [1, 1, 1], [0, 0, 1])
    """

    indptr: Ints
    more: Ints

    @classmethod
    def of(cls, start: Ints, topics: Topics, n_topics: int) -> TopicCounts:
        """Count the topics of tokens; part p has tokens start[p] to start[p + 1]."""
        ends, histogram = kernels.topic_histograms(start, topics, n_topics)
        most = np.diff(ends) - 1  # maximum number of tokens in a part
        indptr = np.concatenate([[0], np.cumsum(most)])
        having = np.delete(histogram, ends[:-1])  # parts with 1, 2, … tokens
        sums = np.concatenate([[0], np.cumsum(having)])
        return cls(indptr, np.repeat(sums[indptr[1:]], most) - sums[:-1])

    @property
    def i(self) -> Ints:
        """i of each entry."""
        return np.arange(len(self.more)) - np.repeat(self.indptr[:-1], np.diff(self.indptr))

    @property
    def topic(self) -> Ints:
        """Topic of each entry."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))


def optimize_prior(alpha: Floats, counts: TopicCounts, lengths: Ints, steps: int = STEPS) -> Floats:
    """Return the Dirichlet prior after some steps of Minka's fixed point.

    >>> rng = np.random.default_rng(0)
    >>> shares = rng.dirichlet([2.0, 0.5], 3000)
    >>> topics = (rng.random((3000, 20)) > shares[:, :1]).astype(np.uint16)
    >>> counts = TopicCounts.of(np.arange(0, 60_001, 20), topics.ravel(), 2)
    >>> optimize_prior(np.ones(2), counts, np.full(3000, 20), steps=200).round(1).tolist()
    [2.0, 0.5]
    """
    i, topic = counts.i, counts.topic
    longer = np.cumsum(np.bincount(lengths, minlength=1)[::-1])[::-1][1:]  # documents of more than i words
    each = np.arange(len(longer))
    for _ in range(steps):
        gained = np.bincount(topic, counts.more / (alpha[topic] + i), len(alpha))
        alpha = np.clip(alpha * gained / (longer / (alpha.sum() + each)).sum(), LEAST, MOST)
    return alpha


def log_rising_factorial(a: float, n: Ints) -> float:
    """Return Σ ln Γ(n + a)/Γ(a) over several n.

    >>> round(float(np.exp(log_rising_factorial(2.0, np.array([3, 1])))))       # 2·3·4 times 2
    48
    """
    more = np.cumsum(np.bincount(n, minlength=1)[::-1])[::-1][1:]
    return float(more @ logspace.log(a + np.arange(len(more))))


def log_topics_likelihood(counts: TopicCounts, lengths: Ints, alpha: Floats) -> float:
    """Return ln P(topics) under the prior of the documents."""
    log_rises = float(counts.more @ logspace.log(alpha[counts.topic] + counts.i))
    return log_rises - log_rising_factorial(float(alpha.sum()), lengths)


def log_words_likelihood(table: Ints, beta: float) -> float:
    """Return ln P(words | topics) from counts of shape (n_words, n_topics)."""
    return log_rising_factorial(beta, table.ravel()) - log_rising_factorial(beta * len(table), table.sum(axis=0))


def count_word_topics(corpus: Corpus, topics: Topics, n_topics: int) -> npt.NDArray[np.int32]:
    """Return counts of shape (n_words, n_topics)."""
    cells = corpus.words.astype(np.int64) * n_topics + topics
    return np.bincount(cells, minlength=corpus.n_words * n_topics).reshape(corpus.n_words, n_topics).astype(np.int32)


class JointLikelihood:
    """Compute ln P(words, topics) of a corpus for successive assignments; ``base`` holds earlier counts.

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
            self.before = log_words_likelihood(base.astype(np.int64), beta)

    def __call__(self, topics: Topics, alpha: Floats, counts: TopicCounts | None = None) -> float:
        """Return ln P(words, topics); ``counts`` are the topic counts of the documents, if known."""
        n_topics = len(alpha)
        counts = counts or TopicCounts.of(self.corpus.start, topics, n_topics)
        of_topics = log_topics_likelihood(counts, self.corpus.lengths, alpha)
        if self.base is not None:
            table = (count_word_topics(self.corpus, topics, n_topics) + self.base).astype(np.int64)
            return of_topics + (log_words_likelihood(table, self.beta) - self.before)
        counts = TopicCounts.of(self.start, topics[self.order], n_topics)
        log_rises = float(counts.more @ logspace.log(self.beta + counts.i))
        totals = np.bincount(topics, minlength=n_topics)
        return of_topics + (log_rises - log_rising_factorial(self.beta * self.corpus.n_words, totals))


def n_shards(n_tokens: int) -> int:
    """Return the number of shards of a corpus: a power of two.

    >>> [n_shards(n) for n in (10_000, 60_000, 400_000, 10**9)]
    [1, 2, 16, 16]
    """
    most = min(n_tokens // TOKENS_A_SHARD, MOST_SHARDS)
    return 1 << max(most.bit_length() - 1, 0)


def sample_topics(
    corpus: Corpus, topics: Topics, alpha: Floats, base: npt.NDArray[np.int32] | None = None, *, fit_alpha: bool,
    seed: int, n_sweeps: int, beta: float, exact: bool, n_threads: int, progress: Any,
) -> tuple[Topics, Floats, float]:  # fmt: skip
    """Run collapsed Gibbs sampling from given topics; ``base`` holds counts of earlier documents, which stay fixed.

    Documents are taken in shards, a number that follows from the corpus alone: one seed gives one result for any
    number of threads. ``exact``: a token is drawn given all others, in one shard and one document after the other;
    small corpora are sampled so in any case.

    Returns the topics of tokens, the prior of the documents, and ln P(words, topics).
    """
    exact = exact or corpus.n_tokens < EXACT_BELOW
    shards = 1 if exact else n_shards(corpus.n_tokens)
    at_once = max(1, min(EVERY, TOKENS_A_CALL // max(corpus.n_tokens, 1)))
    likelihood = JointLikelihood(corpus, beta, base)
    value = likelihood(topics, alpha)
    done = 0
    with Bar(progress) as bar:
        # A function is called as progress(sweep, n_sweeps, log_likelihood).
        def tell() -> None:
            if callable(progress):
                progress(done, n_sweeps, value)
            else:
                bar("sweeps", done, n_sweeps, f"log likelihood a word {value / max(corpus.n_tokens, 1):.4f}")

        while done < n_sweeps:
            until = min(n_sweeps, done - done % EVERY + EVERY)
            while done < until:
                n = min(at_once, until - done)
                topics = kernels.sample_topics(
                    corpus.start, corpus.words, topics, corpus.n_words, base, alpha, beta, seed, done, n, shards,
                    bool(exact), n_threads,
                )  # fmt: skip
                done += n
                tell()
            counts = TopicCounts.of(corpus.start, topics, len(alpha))
            if fit_alpha and done < n_sweeps:
                alpha = optimize_prior(alpha, counts, corpus.lengths)
            if progress or done == n_sweeps:
                value = likelihood(topics, alpha, counts)
                tell()
    return topics, alpha, value


# -- fitted state -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Assignments:
    """Corpus and the topic of each token. Documents have ids, by which models of one origin recognize them.

    ``origin`` stands for the first fit: models that were continued from it have the same topics under the same numbers.
    ``forgotten`` are the ids of documents that were held once.
    """

    corpus: Corpus
    topics: Topics
    n_topics: int
    origin: int
    ids: Ints
    forgotten: Ints

    @classmethod
    def from_fit(cls, corpus: Corpus, topics: Topics, n_topics: int) -> Assignments:
        """Create the assignments of a first fit."""
        origin = digest(corpus.start, corpus.words, topics, n_topics) >> 1
        return cls(corpus, topics, n_topics, origin, _document_ids(origin, len(corpus)), np.zeros(0, np.int64))

    @property
    def table(self) -> npt.NDArray[np.int32]:
        """Return counts of shape (n_words, n_topics)."""
        return count_word_topics(self.corpus, self.topics, self.n_topics)

    def append(self, corpus: Corpus, topics: Topics) -> Assignments:
        """Append documents; the topics of others stay."""
        batch = digest(self.origin, self.ids, self.forgotten, corpus.start, corpus.words, topics)
        return self._append(corpus, topics, _document_ids(batch, len(corpus)))

    def _append(self, corpus: Corpus, topics: Topics, ids: Ints) -> Assignments:
        return replace(
            self,
            corpus=self.corpus + corpus,
            topics=np.concatenate([self.topics, topics]),
            ids=np.concatenate([self.ids, ids]),
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
            raise NotLearned(
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
        both = ours._append(theirs.corpus, theirs.topics, theirs.ids)
        return replace(both, forgotten=np.union1d(self.forgotten, other.forgotten))

    def recode(self, new: Ints, n_words: int) -> Assignments:
        """Return the same documents with other word numbers: the new number of each old one."""
        corpus = Corpus(self.corpus.start, new[self.corpus.words].astype(np.uint32), n_words)
        return replace(self, corpus=corpus)

    def _select(self, keep: Bools) -> Assignments:
        topics = self.topics[keep[self.corpus.documents]]
        gone = np.union1d(self.forgotten, self.ids[~keep])
        return replace(self, corpus=self.corpus.take(keep), topics=topics, ids=self.ids[keep], forgotten=gone)

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
    """Mark the pairs of documents that have the same words, among those in ``may``."""
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

    def with_assignments(self, assignments: Assignments) -> Self:
        """Return the state of exactly these documents."""
        return replace(self, table=assignments.table, n_documents=len(assignments.corpus), assignments=assignments)

    def forget(self, corpus: Corpus, declared: Collection[str]) -> Self:
        """Return the state without these documents, and without the words of texts that only they had."""
        assert self.assignments is not None
        return self.with_assignments(self.assignments.without(corpus))._drop_words(declared)

    def merge(self, other: FittedTopics, declared: Collection[str]) -> Self:
        """Return the state of the documents of both, in the words that they have."""
        ours, theirs, names = self.assignments, other.assignments, self.names
        assert ours is not None
        assert theirs is not None
        if isinstance(names, Words) and isinstance(other.names, Words) and ours.origin == theirs.origin:
            names, *new = union(names, other.names)
            ours, theirs = (side.recode(to, len(names)) for side, to in zip((ours, theirs), new, strict=True))
        return replace(self, names=names).with_assignments(ours.merge(theirs))._drop_words(declared)

    def _drop_words(self, declared: Collection[str]) -> Self:
        """Drop words without counts, unless they are declared; columns of a matrix stay."""
        keep = (self.table > 0).any(axis=1)
        if keep.all() or not isinstance(self.names, Words) or self.assignments is None:
            return self
        keep |= self.names.are_in(Words.of(declared))
        kept = self.assignments.recode(np.cumsum(keep) - 1, int(keep.sum()))
        return replace(self, names=self.names.take(keep), table=self.table[keep], assignments=kept)

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
        named = self.names if isinstance(self.names, Words) else Words.of([])
        words: list[Array] = [named.data, named.offsets]
        if (held := self.assignments) is not None:
            corpus, topics = held.corpus, held.topics.astype(np.uint32)
            documents: list[Array] = [corpus.start, corpus.words, topics, held.ids, held.forgotten]
            return State(header, [self.alpha, *words, *documents])
        cells = np.flatnonzero(self.table)
        return State(header, [self.alpha, *words, cells, self.table.ravel()[cells].astype(np.uint32)])

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore from :meth:`to_state`; raise an error for anything else."""
        held = len(state.arrays) == 8
        state.holds(8 if held else 5, "names", "n_words", "seed", "log_likelihood", "documents", "origin")
        n_words, seed, value, n = (state.header[name] for name in ("n_words", "seed", "log_likelihood", "documents"))
        whole = all(type(x) is int and 0 <= x < 2**31 for x in (n_words, n))
        if not whole or type(seed) is not str or type(value) not in (int, float) or abs(value) > 1e150:
            raise BadFile("the numbers in the header of the topic model are not valid")
        alpha = state.numbers(0, *state.arrays[0].shape)
        if alpha.ndim != 1 or not len(alpha) or not ((alpha >= LEAST / 100) & (alpha <= MOST * 1000)).all():
            raise BadFile("the prior of the documents is out of range")
        check_memory(Need("the table of words by topics", 4.0 * n_words * len(alpha)), None)
        names = _checked_names(state, n_words)
        assignments = None
        if held:
            assignments = Assignments.from_arrays(state.arrays[3:], state.header["origin"], n_words, len(alpha))
            table = assignments.table
        else:
            table = _checked_table(state.arrays[3], state.arrays[4], n_words, len(alpha))
        if not table.any() or (assignments is not None and n != len(assignments.corpus)):
            raise BadFile("the topic model has no counts, or another number of documents than stated")
        return cls(names, table, alpha, int(seed, 16), float(value), n, assignments)


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

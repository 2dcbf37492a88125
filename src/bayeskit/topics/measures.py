"""Estimates and measures of fitted topics: word probabilities, top words, coherence, topics of documents, draws.

Formula: relevance = λ ln P(w ∣ k) + (1 − λ) ln (P(w ∣ k) / P(w))  (Sievert and Shirley 2014)
Formula: NPMI(a, b) = ln (P(a, b) / P(a) P(b)) / −ln P(a, b), by documents; the mean over pairs of top words
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.data.text.documents import Documents
from bayeskit.drawable import Drawable, draw
from bayeskit.errors import BayesError
from bayeskit.memory import Need, check_memory
from bayeskit.models.base.estimator import clone, seed_of
from bayeskit.models.base.rules import check_integer, one_of
from bayeskit.settings import is_integer
from bayeskit.tables import Figure, Grid, Readable, Sheet, Table
from bayeskit.topics.corpus import Corpus, CountMatrix, random_stream, read_form
from bayeskit.typing import Array, Floats, Ints, Singles

SWEEPS, BURN_IN = 50, 10  # sweeps of fold-in
TOKENS_AT_A_TIME = 1 << 16


@dataclass(frozen=True, eq=False)
class TopicDistributions:
    """P(word | topic) = (n_wk + β) / (n_k + V β) from counts of shape (n_words, n_topics), and the document prior.

    >>> distributions = TopicDistributions(np.array([[3, 0], [0, 1]], np.int32), np.ones(2), 1.0)
    >>> distributions.topic_words.tolist()
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
        """Number of tokens of each topic."""
        return np.asarray(self.table.sum(axis=0, dtype=np.int64))

    @property
    def topic_words(self) -> Floats:
        """P(word | topic), shape (n_topics, n_words)."""
        return np.ascontiguousarray(((self.table + self.beta) / (self.totals + self.beta * len(self.table))).T)

    @cached_property
    def likelihood(self) -> Singles:
        """P(word | topic) as the kernels read it: (n_words, n_topics padded to a multiple of 8)."""
        out = np.zeros((len(self.table), -(-self.n_topics // 8) * 8), np.float32)
        np.divide(
            self.table + np.float32(self.beta),
            (self.totals + self.beta * len(self.table)).astype(np.float32),
            out=out[:, : self.n_topics],
        )
        return out

    def shares(self, corpus: Corpus, seed: int, n_threads: int, sweeps: int = SWEEPS) -> Floats:
        """Return topic shares, shape (n_documents, n_topics); the prior's shares for documents without words."""
        return kernels.fold_in_topics(
            corpus.start, corpus.words, self.likelihood, self.alpha, seed, sweeps, BURN_IN, n_threads
        )

    def log_tokens(self, corpus: Corpus, shares: Floats) -> Floats:
        """Return ln Σ_k P(k | document) P(word | k) of each token."""
        out, documents = np.empty(corpus.n_tokens), corpus.documents
        for first in range(0, corpus.n_tokens, TOKENS_AT_A_TIME):
            part = slice(first, first + TOKENS_AT_A_TIME)
            given = self.likelihood[corpus.words[part], : self.n_topics]
            out[part] = logspace.log(np.einsum("ik,ik->i", given, shares[documents[part]]))
        return out

    def left_to_right(self, corpus: Corpus, seed: int, n_particles: int, n_threads: int) -> Floats:
        """Return ln P(words) of each document by the left-to-right estimator (Wallach et al. 2009)."""
        return kernels.left_to_right(
            corpus.start, corpus.words, self.likelihood, self.alpha, seed, n_particles, n_threads
        )


ORDERS = ("probability", "lift", "relevance")
WEIGHT = 0.6  # best in a user study (Sievert and Shirley 2014)


class TopWord(NamedTuple):
    """Word of a topic with P(word | topic) and its lift P(word | topic) / P(word)."""

    word: str
    probability: float
    lift: float


def word_scores(distributions: TopicDistributions, by: str = "probability", weight: float = WEIGHT) -> Floats:
    """Score words by topic, shape (n_topics, n_words); −∞ for words that a topic does not have.

    >>> distributions = TopicDistributions(np.array([[60, 20], [3, 0], [37, 80]], np.int32), np.ones(2), 0.01)
    >>> [int(word_scores(distributions, by)[0].argmax()) for by in ORDERS]
    [0, 1, 0]
    """
    one_of("by", by, ORDERS)
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight <= 1:
        raise BayesError(f"weight={weight!r}: λ of the relevance is a number from 0 to 1")
    log_p = logspace.log(distributions.topic_words)
    if by == "probability":
        scores = log_p
    else:
        lift = log_p - logspace.log(word_shares(distributions))
        scores = lift if by == "lift" else weight * log_p + (1 - weight) * lift
    return np.asarray(np.where(distributions.table.T > 0, scores, -np.inf))


def word_shares(distributions: TopicDistributions) -> Floats:
    """Return P(word), shape (n_words,)."""
    totals = distributions.totals + distributions.beta * len(distributions.table)
    return np.asarray(totals / totals.sum() @ distributions.topic_words)


def top_words(distributions: TopicDistributions, n: int, by: str = "probability", weight: float = WEIGHT) -> list[Ints]:
    """Return up to n top words of each topic, as word numbers."""
    check_integer("n", n, 1)
    scores = word_scores(distributions, by, weight)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
    return [words[np.isfinite(scores[k, words])] for k, words in enumerate(order)]


def npmi(together: Floats, n: int) -> Floats:
    """Return NPMI, shape (n_words, n_words), from co-document counts: 1 always together, −1 never.

    >>> npmi(np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 1.0]]), 4)[0].tolist()
    [1.0, 1.0, -1.0]
    """
    alone = np.diag(together)
    log_both = logspace.log(together / n)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = (log_both - logspace.log(np.outer(alone, alone) / n**2)) / -log_both
    value = np.where(together >= n, 1.0, value)  # in every document: ln P is 0
    return np.where(together > 0, value, -1.0)


def coherence(matrix: Any, top: Sequence[Ints]) -> Floats:
    """Return the mean NPMI of the pairs of each topic's top words; NaN for fewer than two words."""
    out = np.full(len(top), np.nan)
    used = np.unique(np.concatenate([np.zeros(0, np.int64), *top]))
    has = (matrix[:, used] > 0).astype(np.float64).tocsc()
    for k, words in enumerate(top):
        if len(words) > 1:
            columns = has[:, np.searchsorted(used, words)]
            together = np.asarray((columns.T @ columns).todense())
            out[k] = npmi(together, matrix.shape[0])[np.triu_indices(len(words), 1)].mean()
    return out


class TopicTable(Table, Drawable):
    """Table of topics: shares of all tokens and top words with their probabilities."""

    def __init__(self, topics: Sequence[int], shares: Sequence[float], words: Sequence[Sequence[TopWord]]) -> None:
        lines = [" ".join(one.word for one in topic_words) for topic_words in words]
        super().__init__({"topic": list(topics), "share": [round(share, 4) for share in shares], "words": lines})
        self.topics, self.shares, self.words = tuple(topics), tuple(shares), tuple(map(tuple, words))

    def chart(self, kind: Literal["words", "shares"] = "words") -> Any:
        """Draw the words of each topic, or the shares of the topics."""
        return draw(self, kind=kind)


@dataclass(frozen=True)
class TopicWord:
    """Word of a document: its count, and the expected number of tokens of the topic."""

    word: str
    count: int
    of_topic: float


@dataclass(frozen=True)
class TopicShare:
    """Topic of a document: its share and its words, strongest first."""

    topic: int
    share: float
    words: tuple[TopicWord, ...]


@dataclass(frozen=True, repr=False)
class DocumentTopics(Readable, Drawable):
    """Topics of a document, largest first. Unknown words are ignored."""

    topics: tuple[TopicShare, ...]
    n_words: int

    @property
    def sheet(self) -> Sheet:
        """One line per topic."""
        head = f"{self.n_words:,} known word{'s' * (self.n_words != 1)}"
        if not self.n_words:
            head = "no word that the model knows: the shares are those of any document"
        words = [[word.word + f" ×{word.count}" * (word.count > 1) for word in one.words] for one in self.topics]
        grid = Grid({
            "topic": [one.topic for one in self.topics],
            "share": [Figure(f"{100 * one.share:.1f} %") for one in self.topics],
            "words of the topic": [", ".join(listed) for listed in words],
        })  # fmt: skip
        return Sheet(head, (grid,))


def document_topics(
    distributions: TopicDistributions, corpus: Corpus, shares: Floats, names: Array, n_words: int, least: float
) -> list[DocumentTopics]:
    """Return the topics of each document with a share of at least ``least`` and up to ``n_words`` words each."""
    out = []
    for d in range(len(corpus)):
        words, counts = np.unique(corpus.words[corpus.start[d] : corpus.start[d + 1]], return_counts=True)
        masses = distributions.likelihood[words, : distributions.n_topics].astype(np.float64) * shares[d]
        expected = masses / masses.sum(axis=1, keepdims=True) * counts[:, None]  # (words, topics)
        largest = [k for k in np.argsort(-shares[d], kind="stable") if shares[d, k] >= least]
        topics = []
        for k in largest:
            order = np.argsort(-expected[:, k], kind="stable")[:n_words]
            # More likely from this topic than from others
            chosen = [i for i in order if expected[i, k] > counts[i] / 2]
            listed = (TopicWord(str(names[words[i]]), int(counts[i]), float(expected[i, k])) for i in chosen)
            topics.append(TopicShare(int(k), float(shares[d, k]), tuple(listed)))
        out.append(DocumentTopics(tuple(topics), int(counts.sum())))
    return out


class SampledDocuments(NamedTuple):
    """Documents as lists of words, the topic of each word, and the topic shares."""

    documents: list[list[str]]
    topics: list[list[int]]
    shares: Floats


def sample_documents(
    distributions: TopicDistributions, names: Array, n: int, length: Any, rng: np.random.Generator, limit: Any
) -> SampledDocuments:
    """Draw documents; ``length`` is the number of words of each, or one number for all."""
    check_integer("n", n, 0)
    lengths = np.asarray(length)
    if lengths.dtype.kind not in "iu" or (lengths < 0).any() or lengths.ndim > 1:
        raise BayesError(f"length={length!r}: give whole numbers of words, from 0 on")
    lengths = np.broadcast_to(lengths, n) if lengths.ndim == 0 else lengths
    if len(lengths) != n:
        raise BayesError(f"length has {len(lengths)} numbers for {n} documents")
    # Bytes of a word, its topic and two draws
    need = 128.0 * float(lengths.sum(dtype=np.float64)) + 8.0 * n * distributions.n_topics
    check_memory(Need(f"{n:,} documents of {int(lengths.max(initial=0)):,} words", need, "Draw fewer."), limit)
    shares = rng.dirichlet(distributions.alpha, n)
    of_words = np.cumsum(distributions.topic_words, axis=1)
    documents, topics = [], []
    for share, size in zip(shares, lengths.tolist(), strict=True):
        topic_of_word = np.minimum(
            np.searchsorted(np.cumsum(share), rng.random(size), "right"), distributions.n_topics - 1
        )
        drawn = rng.random(size)
        words = [
            min(int(np.searchsorted(of_words[k], u, "right")), len(names) - 1)
            for k, u in zip(topic_of_word, drawn, strict=True)
        ]
        documents.append([str(names[w]) for w in words])
        topics.append(topic_of_word.tolist())
    return SampledDocuments(documents, topics, shares)


@dataclass(frozen=True, repr=False)
class TopicChoice(Readable, Drawable):
    """Best number of topics, and the perplexity of all candidates."""

    n_topics: int
    table: Table

    @property
    def sheet(self) -> Sheet:
        """One line per candidate."""
        return Sheet(f"{self.n_topics} topics", ("", self.table.grid))


def choose_n_topics(model: Any, X: Any, numbers: Iterable[int], held_out: float) -> TopicChoice:
    """Fit every number of topics on a training part and compare held-out perplexities."""
    tried = list(numbers) if isinstance(numbers, Iterable) else []
    if not tried or any(not is_integer(k) or k < 1 for k in tried):
        raise BayesError(f"numbers={numbers!r}: give whole numbers of topics from 1 on, such as range(5, 50, 5)")
    if not isinstance(held_out, float) or not 0 < held_out < 1:
        raise BayesError(f"held_out={held_out!r}: give the share of documents to hold out, such as 0.2")
    train, test, words = _parts(X, seed_of(model.random_state) or 0, held_out)
    fits = (clone(model).set_params(n_topics=int(k)).fit(train, words=words) for k in tried)
    perplexities = [fit.perplexity(test) for fit in fits]
    best = int(np.argmin(perplexities))
    return TopicChoice(int(tried[best]), Table({"n_topics": tried, "perplexity": perplexities}))


def _parts(X: Any, seed: int, held_out: float) -> tuple[Any, Any, list[str] | None]:
    """Split documents into training and test parts; return the word names if they are counts."""
    form = read_form(X)
    if isinstance(form, CountMatrix):
        counts = form.counts.tocsr() if hasattr(form.counts, "tocsr") else form.counts
        n, take = counts.shape[0], counts.__getitem__
    else:
        texts = Documents.of(form)
        n, take = len(texts), texts.take
    n_test = round(held_out * n)
    if not 0 < n_test < n:
        raise BayesError(f"of {n} documents, {held_out:g} cannot be held out: give more of them")
    order = np.argsort(random_stream(seed, n), kind="stable")
    train, test = take(np.sort(order[n_test:])), take(np.sort(order[:n_test]))
    return train, test, form.names if isinstance(form, CountMatrix) else None

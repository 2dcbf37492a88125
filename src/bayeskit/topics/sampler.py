"""Collapsed Gibbs sampling of topics, with the Dirichlet prior of the documents fitted between sweeps.

Formula: α_k ← α_k Σ_d (ψ(n_dk + α_k) − ψ(α_k)) / Σ_d (ψ(n_d + A) − ψ(A)),  A = Σ_k α_k
Formula: ln P(words, topics) = Σ_d ln Π_k Γ(n_dk + α_k)/Γ(α_k) · Γ(A)/Γ(n_d + A) + the same of topics over words

Differences of the digamma function are sums of fractions, ψ(n + α) − ψ(α) = Σ_{i<n} 1 / (α + i), and ratios of the
gamma function are products, Γ(n + a)/Γ(a) = Π_{i<n} (a + i). So both formulas need only counts of counts: how many
documents have more than i tokens of a topic.

References: Griffiths and Steyvers 2004 (sampler and joint likelihood), Minka 2000 (fixed point of the prior).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.errors import BayesError
from bayeskit.topics.corpus import Corpus
from bayeskit.typing import Floats, Ints

LEAST, MOST = 1e-4, 1e3  # bounds of α_k; never zero, so that unused topics can return
STEPS = 5


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
    def of(cls, start: Ints, topics: npt.NDArray[np.uint16], n_topics: int) -> TopicCounts:
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


def count_word_topics(corpus: Corpus, topics: npt.NDArray[np.uint16], n_topics: int) -> npt.NDArray[np.int32]:
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

    def __call__(self, topics: npt.NDArray[np.uint16], alpha: Floats, counts: TopicCounts | None = None) -> float:
        """Return ln P(words, topics); ``counts`` are the topic counts of the documents, if known."""
        counts = counts or TopicCounts.of(self.corpus.start, topics, len(alpha))
        return log_topics_likelihood(counts, self.corpus.lengths, alpha) + self._words_log_likelihood(
            topics, len(alpha)
        )

    def _words_log_likelihood(self, topics: npt.NDArray[np.uint16], n_topics: int) -> float:
        if self.base is not None:
            table = (count_word_topics(self.corpus, topics, n_topics) + self.base).astype(np.int64)
            return log_words_likelihood(table, self.beta) - self.before
        counts = TopicCounts.of(self.start, topics[self.order], n_topics)
        log_rises = float(counts.more @ logspace.log(self.beta + counts.i))
        return log_rises - log_rising_factorial(
            self.beta * self.corpus.n_words, np.bincount(topics, minlength=n_topics)
        )


Topics = npt.NDArray[np.uint16]

EVERY = 10  # sweeps between updates of the prior and of the likelihood
TOKENS_A_CALL = 10_000_000  # so that an interrupt takes effect within about a second
TOKENS_A_SHARD, MOST_SHARDS = 25_000, 16
EXACT_BELOW = 2_000  # tokens; below this, shards save no time
PATIENCE = 0.5  # seconds before a progress bar is shown


def n_shards(n_tokens: int) -> int:
    """Return the number of shards of a corpus: a power of two.

    >>> [n_shards(n) for n in (10_000, 60_000, 400_000, 10**9)]
    [1, 2, 16, 16]
    """
    most = min(n_tokens // TOKENS_A_SHARD, MOST_SHARDS)
    return 1 << max(most.bit_length() - 1, 0)


@dataclass(frozen=True)
class SampledTopics:
    """Topics of tokens, the prior of the documents, and ln P(words, topics)."""

    topics: Topics
    alpha: Floats
    log_likelihood: float


@dataclass(frozen=True)
class TopicSampler:
    """Collapsed Gibbs sampler.

    Documents are taken in shards, a number that follows from the corpus alone: one seed gives one result for any
    number of threads. ``exact``: a token is drawn given all others, in one shard and one document after the other;
    small corpora are sampled so in any case.
    """

    seed: int
    n_sweeps: int
    beta: float
    exact: bool = False
    n_threads: int = 1
    progress: Any = None

    def run(
        self,
        corpus: Corpus,
        topics: Topics,
        alpha: Floats,
        fit_alpha: bool,
        base: npt.NDArray[np.int32] | None = None,
    ) -> SampledTopics:
        """Run all sweeps from given topics; ``base`` holds counts of earlier documents, which stay fixed."""
        exact = self.exact or corpus.n_tokens < EXACT_BELOW
        shards = 1 if exact else n_shards(corpus.n_tokens)
        at_once = max(1, min(EVERY, TOKENS_A_CALL // max(corpus.n_tokens, 1)))
        likelihood = JointLikelihood(corpus, self.beta, base)
        value = likelihood(topics, alpha)
        done = 0
        with SweepBar(self.progress, self.n_sweeps, corpus.n_tokens) as tell:
            while done < self.n_sweeps:
                until = min(self.n_sweeps, done - done % EVERY + EVERY)
                while done < until:
                    n = min(at_once, until - done)
                    topics = kernels.sample_topics(
                        corpus.start, corpus.words, topics, corpus.n_words, base, alpha, self.beta, self.seed, done, n,
                        shards, exact, self.n_threads,
                    )  # fmt: skip
                    done += n
                    tell(done, value)
                counts = TopicCounts.of(corpus.start, topics, len(alpha))
                if fit_alpha and done < self.n_sweeps:
                    alpha = optimize_prior(alpha, counts, corpus.lengths)
                if tell.is_heard or done == self.n_sweeps:
                    value = likelihood(topics, alpha, counts)
                    tell(done, value)
        return SampledTopics(topics, alpha, value)


def check_progress(progress: Any) -> None:
    """Check that ``progress`` is True, False, None or a function."""
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise BayesError(f"progress={progress!r}: give True for a bar, or a function of sweep, of and log likelihood")


class SweepBar:
    """Call ``progress(sweep, of, log_likelihood)``, or show a progress bar on stderr if it is True."""

    def __init__(self, progress: bool | Callable[[int, int, float], Any] | None, n_sweeps: int, n_tokens: int) -> None:
        self.progress, self.of, self.n_tokens = progress, n_sweeps, n_tokens
        self.started = time.monotonic()
        self.bar: Any = None
        self.task: Any = None

    @property
    def is_heard(self) -> bool:
        """True if progress is shown or reported."""
        return bool(self.progress)

    def __enter__(self) -> SweepBar:
        return self

    def __exit__(self, *problem: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, done: int, log_likelihood: float) -> None:
        if callable(self.progress):
            self.progress(done, self.of, log_likelihood)
        elif self.progress and time.monotonic() - self.started > PATIENCE:
            self._show(done, f"log likelihood a word {log_likelihood / max(self.n_tokens, 1):.4f}")

    def _show(self, done: int, text: str) -> None:
        if self.bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            console = Console(file=sys.stderr)
            columns = (TextColumn("sweeps"), BarColumn(bar_width=16), MofNCompleteColumn())
            description = TextColumn("{task.description}", markup=False)
            self.bar = Progress(
                *columns, TimeRemainingColumn(compact=True), description, console=console, transient=True,
                disable=not console.is_terminal,
            )  # fmt: skip
            self.bar.start()
            self.task = self.bar.add_task(text, total=self.of)
        self.bar.update(self.task, completed=done, description=text)

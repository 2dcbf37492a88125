"""Sweeps of the sampler, steps of the prior between them, and a bar that shows how far they have come."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.errors import BayesError
from bayeskit.topics.corpus import Corpus
from bayeskit.topics.document_prior import TopicCounts, optimised
from bayeskit.topics.joint_likelihood import JointLikelihood
from bayeskit.typing import Floats

Topics = npt.NDArray[np.uint16]

EVERY = 10  # sweeps between steps of the prior, and between likelihoods
TOKENS_A_CALL = 10_000_000  # so that an interrupt is heard within a second or so
TOKENS_A_SHARD, MOST_SHARDS = 25_000, 16
EXACT_BELOW = 2_000  # tokens: there is no time to be won
PATIENCE = 0.5  # seconds before a bar is shown


def n_shards(n_tokens: int) -> int:
    """Into how many parts documents are cut: a power of two, so that threads have as many of them each.

    >>> [n_shards(n) for n in (10_000, 60_000, 400_000, 10**9)]
    [1, 2, 16, 16]
    """
    most = min(n_tokens // TOKENS_A_SHARD, MOST_SHARDS)
    return 1 << max(most.bit_length() - 1, 0)


@dataclass(frozen=True)
class Sampled:
    """Topics of tokens, the prior that goes with them, and ln P(words, topics)."""

    topics: Topics
    alpha: Floats
    log_likelihood: float


@dataclass(frozen=True)
class Sampler:
    """How the topics of a corpus are drawn.

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
    ) -> Sampled:
        """Sweep over a corpus from given topics on; ``base`` counts what was seen before, and stays."""
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
                    alpha = optimised(alpha, counts, corpus.lengths)
                if tell.is_heard or done == self.n_sweeps:
                    value = likelihood(topics, alpha, counts)
                    tell(done, value)
        return Sampled(topics, alpha, value)


def check_progress(progress: Any) -> None:
    """Refuse what is neither True for a bar nor a function."""
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise BayesError(f"progress={progress!r}: give True for a bar, or a function of sweep, of and log likelihood")


class SweepBar:
    """Calls ``progress(sweep, of, log_likelihood)``, or shows a bar on stderr where it is True."""

    def __init__(self, progress: bool | Callable[[int, int, float], Any] | None, n_sweeps: int, n_tokens: int) -> None:
        self.progress, self.of, self.n_tokens = progress, n_sweeps, n_tokens
        self.started = time.monotonic()
        self.bar: Any = None
        self.task: Any = None

    @property
    def is_heard(self) -> bool:
        """Whether anyone looks."""
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

"""TopicModel: latent Dirichlet allocation (Blei, Ng and Jordan 2003), sampled.

Formula: P(words, topics) = Π_d Dirichlet(α) · Π_k Dirichlet(β), topics drawn token by token given all others
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.text.word_list import WordLimits, Words
from bayeskit.errors import BayesError, BayesWarning, format_setting, with_article
from bayeskit.estimate.smoothing import is_number
from bayeskit.memory import Need, check_memory
from bayeskit.models.base import rules
from bayeskit.models.base.available import available_if
from bayeskit.models.base.estimator import Transforms, as_wanted, check_is_fitted, clone, seed_of
from bayeskit.progress import check_progress
from bayeskit.settings import is_integer
from bayeskit.storage.model_file import Saved
from bayeskit.tables import Records
from bayeskit.threads import thread_count
from bayeskit.topics import measures
from bayeskit.topics.corpus import Corpus, DocumentReader, check_names, integers_below, random_stream
from bayeskit.topics.measures import WEIGHT, TopicDistributions, TopWord
from bayeskit.topics.sampler import LEAST, MOST, Assignments, FittedTopics, count_word_topics, sample_topics
from bayeskit.typing import Floats

METHODS = ("completion", "left_to_right")
# Largest numbers of particles and topics, as in native/bindings/topics.cpp.
MOST_PARTICLES, MOST_TOPICS = 1_024, 65_535
MOST_SWEEPS = 1_000_000
# Initial prior of documents.
ALPHA = 0.1
SMALLEST_BETA, LARGEST_BETA = 1e-5, 1e3
NO_ASSIGNMENTS = "it holds no documents. Fit it with keep_assignments=True"


if_assignments_are_kept = available_if(lambda model: bool(model.keep_assignments), NO_ASSIGNMENTS)


@dataclass(eq=False, repr=False)
class TopicModel(Transforms):
    """Latent Dirichlet allocation by collapsed Gibbs sampling.

    A document is a mixture of topics, and a topic is a distribution over words. Documents are texts, or a matrix of
    counts such as ``TokenCounter`` makes.

    Parameters
    ----------
    n_topics : int, default=20
        Number of topics; :meth:`choose_topics` compares several.
    n_sweeps : int, default=300
        Number of passes over all words. The chain has not converged after a hundred.
    alpha : "auto", float or array-like of shape (n_topics,), default="auto"
        Dirichlet prior of documents over topics. "auto" fits it while sampling; numbers are fixed.
    beta : float, default=0.01
        Dirichlet prior of topics over words; smaller values give topics of fewer words.
    seed_words : dict or list of lists, optional
        Words that guide topics, ``{topic: words}``; each counts as seen ``seed_weight`` times.
    seed_weight : int, default=50
    keep_assignments : bool, default=False
        Keep the documents and the topics of their words, for ``forget`` and ``merge``.
    exact : bool, default=False
        Draw each word given all others, one after the other. By default documents are drawn in shards that do not see
        each other's changes within a sweep, which is two to four times as fast and as good. Below 2,000 words it is
        always exact.
    tokenizer : Tokenizer, optional
        By default words of two or more letters without scikit-learn's English stop words.
    min_df, max_df : int or float, default=1, 1.0
        Keep words that occur in so many documents (a share if float).
    max_features : int, optional
        Keep only the most frequent words.
    random_state : int, default=0
        Seed. The result does not depend on the number of threads.
    progress : bool or callable, optional
        True for a progress bar, or a function of sweep, number of sweeps and ln P(words, topics).
    n_threads : int, optional
    memory_limit : int or str, optional

    Attributes
    ----------
    alpha_ : ndarray of shape (n_topics,)
        Prior of documents over topics.
    words_ : ndarray of shape (n_words,)
    topic_words_ : ndarray of shape (n_topics, n_words)
        P(word | topic).
    topic_shares_ : ndarray of shape (n_topics,)
        Share of each topic in all words.
    log_likelihood_ : float
        ln P(words, topics) at the end of sampling.
    n_documents_, n_tokens_ : int

    References
    ----------
    Blei, Ng and Jordan 2003; Griffiths and Steyvers 2004.

    Examples
    --------
    >>> texts = ["ball goal match", "goal ball ball team", "vote law party", "law party vote vote"] * 5
    >>> model = TopicModel(2, n_sweeps=50).fit(texts)
    >>> sorted(sorted(topic) for topic in model.top_words(3))
    [['ball', 'goal', 'match'], ['law', 'party', 'vote']]
    >>> model.transform(["vote vote law"]).round(1).max().item()
    1.0
    """

    n_topics: int = 20
    n_sweeps: int = 300
    alpha: Any = "auto"
    beta: float = 0.01
    seed_words: Any = None
    seed_weight: int = 50
    keep_assignments: bool = False
    exact: bool = False
    tokenizer: Tokenizer | None = None
    min_df: float = 1
    max_df: float = 1.0
    max_features: int | None = None
    random_state: Any = 0
    progress: Any = None
    n_threads: int | None = None
    memory_limit: Any = None

    # -- learning -----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, words: Iterable[str] | None = None) -> Self:
        """Fit topics to documents.

        Parameters
        ----------
        X : texts, or counts of shape (n_documents, n_words)
        y : None, optional
            Ignored.
        words : iterable of str, optional
            Names of the columns of counts.

        Returns
        -------
        TopicModel
            The model itself.

        Raises
        ------
        BayesError
            If a setting is invalid, or no document has a word to learn from.
        TooLarge
            If the fit needs more than ``memory_limit``.
        """
        self._check_settings()
        corpus, names = self._reader().learn(X, words)
        seed = seed_of(self.random_state)
        seed = int(np.random.SeedSequence().entropy) & (2**64 - 1) if seed is None else seed  # type: ignore[arg-type]
        alpha = np.full(self.n_topics, ALPHA if isinstance(self.alpha, str) else self.alpha, dtype=np.float64)
        fitted = FittedTopics(names, np.zeros((corpus.n_words, self.n_topics), np.int32), alpha, seed)
        return self._sample(fitted, corpus, isinstance(self.alpha, str))

    def partial_fit(self, X: Any, y: Any = None, words: Iterable[str] | None = None) -> Self:
        """Learn more documents; earlier topics, the prior and the vocabulary stay.

        Parameters
        ----------
        X, y, words
            As in :meth:`fit`.

        Returns
        -------
        TopicModel
            The model itself.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, words)
        self._check_settings()
        if self.n_topics != (n_topics := len(self._fitted.alpha)):
            raise BayesError(
                f"the model has {n_topics} topics",
                hint=f"set {format_setting('n_topics', n_topics)} again, or fit anew",
            )
        return self._sample(self._fitted, self._read_known(X), False)

    @if_assignments_are_kept
    def forget(self, X: Any) -> Self:
        """Remove kept documents from the counts, and from the vocabulary the words that only they had.

        Everything else stays: the topics of other documents and the prior, and of the vocabulary seed words and the
        columns of a matrix of counts.

        Parameters
        ----------
        X : documents

        Returns
        -------
        TopicModel
            The model itself.

        Raises
        ------
        BayesError
            If a document is not kept. The model stays unchanged.
        """
        self.kept_documents()
        left = self._fitted.forget(self._read_known(X), self._declared_words())
        if not left.table.any():
            raise BayesError.forgets_all("documents")
        return self._become(left)

    @if_assignments_are_kept
    def merge(self, other: Any) -> Self:
        """Return a new model of the documents of two models that were continued from one parent.

        Documents of the parent count once, and documents forgotten by either model are gone.

        Parameters
        ----------
        other : TopicModel

        Returns
        -------
        TopicModel

        Raises
        ------
        BayesError
            If the other model was not continued from the same parent.
        """
        self.kept_documents()
        if type(other) is not TopicModel:
            raise BayesError(f"a TopicModel merges with another one, not with {with_article(type(other).__name__)}")
        check_is_fitted(other, "documents")
        if not other.keep_assignments:
            raise BayesError(f"the other model cannot be merged: {NO_ASSIGNMENTS}")
        other.kept_documents()
        return clone(self)._restore(self._fitted.merge(other._fitted, self._declared_words()))

    def __add__(self, other: object) -> Self:
        return self.merge(other) if isinstance(other, TopicModel) else NotImplemented

    def __radd__(self, other: object) -> Self:
        """Support ``sum(models)``, which starts from 0."""
        return self if other == 0 else NotImplemented

    # -- documents ----------------------------------------------------------------------------------------------------

    @as_wanted
    def transform(self, X: Any) -> Floats:
        """Return the share of each topic in each document.

        The result depends only on the seed and the document. A document without known words has the
        shares of the prior.

        Parameters
        ----------
        X : documents

        Returns
        -------
        ndarray of shape (n_documents, n_topics)
        """
        return self._distributions.shares(self._read_known(X), self._fitted.seed, thread_count(self.n_threads))

    def explain(self, X: Any, n_words: int = 6, least: float = 0.05) -> Records[measures.DocumentTopics]:
        """Return the topics of each document with the words that support them.

        Parameters
        ----------
        X : documents
        n_words : int, default=6
            Maximum number of words per topic.
        least : float, default=0.05
            Minimum share of a topic.

        Returns
        -------
        Records of DocumentTopics
        """
        rules.check_integer("n_words", n_words, 0)
        if not is_number(least) or not 0 <= least <= 1:
            raise BayesError(f"least={least!r}: give a share from 0 to 1")
        corpus = self._read_known(X)
        shares = self._distributions.shares(corpus, self._fitted.seed, thread_count(self.n_threads))
        return Records(measures.document_topics(self._distributions, corpus, shares, self.words_, n_words, least))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return topic0, topic1, …: the columns of :meth:`transform`.

        Parameters
        ----------
        input_features : None, optional
            Ignored.

        Returns
        -------
        ndarray of shape (n_topics,)
        """
        return np.array([f"topic{k}" for k in range(self._distributions.n_topics)], dtype=object)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean ln P(word) by document completion; larger is better.

        Parameters
        ----------
        X : documents
        y : None, optional
            Ignored.

        Returns
        -------
        float
        """
        return -float(logspace.log(self.perplexity(X)))

    def perplexity(self, X: Any, method: str = "completion", n_particles: int = 20) -> float:
        """Return exp(−mean ln P(word)) of held-out documents; smaller is better.

        Parameters
        ----------
        X : documents
        method : {"completion", "left_to_right"}, default="completion"
            "completion" infers the topics of a document from one half of its words and predicts the other half.
            "left_to_right" predicts each word from those before it (Wallach et al. 2009).
        n_particles : int, default=20
            Particles of "left_to_right".

        Returns
        -------
        float
        """
        rules.one_of("method", method, METHODS)
        rules.check_integer("n_particles", n_particles, 1, MOST_PARTICLES)
        corpus = self._read_known(X)
        seed, n_threads, distributions = self._fitted.seed, thread_count(self.n_threads), self._distributions
        if method == "completion":
            first, second = corpus.halves()
            logs = distributions.log_tokens(second, distributions.shares(first, seed, n_threads))
        else:
            logs, second = distributions.left_to_right(corpus, seed, n_particles, n_threads), corpus
        if not second.n_tokens:
            raise BayesError("no document has words enough that the model knows: there is nothing to predict")
        return float(logspace.exp(-logs.sum() / second.n_tokens))

    def coherence(self, X: Any, n: int = 10) -> Floats:
        """Return the coherence of each topic: mean NPMI of its top words in documents.

        Parameters
        ----------
        X : documents
        n : int, default=10
            Number of top words.

        Returns
        -------
        ndarray of shape (n_topics,)
            NaN for a topic with fewer than two words.
        """
        corpus = self._read_known(X)
        if not corpus.n_tokens:
            raise BayesError("no document has a word that the model knows: words have no company there")
        return measures.coherence(corpus.matrix(), measures.top_words(self._distributions, n))

    def choose_topics(self, X: Any, numbers: Iterable[int], held_out: float = 0.2) -> measures.TopicChoice:
        """Compare numbers of topics by held-out perplexity, with the settings of this model.

        Parameters
        ----------
        X : documents
        numbers : iterable of int
        held_out : float, default=0.2
            Share of documents to hold out.

        Returns
        -------
        TopicChoice

        Examples
        --------
        >>> texts = ["ball goal match", "goal ball ball team", "vote law party", "law party vote vote"] * 10
        >>> TopicModel(n_sweeps=30).choose_topics(texts, [1, 2]).n_topics
        2
        """
        return measures.choose_n_topics(self, X, numbers, held_out)

    # -- topics -------------------------------------------------------------------------------------------------------

    def top_words(self, n: int = 10, by: str = "probability", weight: float = WEIGHT) -> list[list[str]]:
        """Return the top words of each topic.

        Parameters
        ----------
        n : int, default=10
        by : {"probability", "lift", "relevance"}, default="probability"
            P(w | k), P(w | k) / P(w), or the weighted mean of their logarithms (Sievert and Shirley 2014).
        weight : float, default=0.6
            Weight of ln P(w | k) in the relevance.

        Returns
        -------
        list of list of str
        """
        names, top = self.words_, measures.top_words(self._distributions, n, by, weight)
        return [[str(word) for word in names[words]] for words in top]

    def topic(self, k: int, n: int = 10, by: str = "probability", weight: float = WEIGHT) -> list[TopWord]:
        """Return the top words of one topic with probability and lift.

        Parameters
        ----------
        k : int
            Topic.
        n, by, weight
            As in :meth:`top_words`.

        Returns
        -------
        list of TopWord
        """
        distributions = self._distributions
        if not is_integer(k) or not 0 <= k < distributions.n_topics:
            raise BayesError(f"topic {k!r} is not one of 0 to {distributions.n_topics - 1}")
        words = measures.top_words(distributions, n, by, weight)[k]
        p = distributions.topic_words[k, words]
        lift = p / measures.word_shares(distributions)[words]
        return [TopWord(str(w), *pair) for w, *pair in zip(self.words_[words], p.tolist(), lift.tolist(), strict=True)]

    def table(self, n: int = 10, by: str = "relevance", weight: float = WEIGHT) -> measures.TopicTable:
        """Return a table of the topics, largest first: share of all words, and top words.

        Parameters
        ----------
        n, by, weight
            As in :meth:`top_words`.

        Returns
        -------
        TopicTable
        """
        shares = self.topic_shares_
        order = np.argsort(-shares, kind="stable").tolist()
        return measures.TopicTable(order, shares[order].tolist(), [self.topic(k, n, by, weight) for k in order])

    def sample(self, n: int = 1, length: Any = 50, random_state: Any = None) -> measures.SampledDocuments:
        """Draw documents from the model.

        Parameters
        ----------
        n : int, default=1
            Number of documents.
        length : int or array-like of shape (n,), default=50
            Number of words of each document.
        random_state : int, optional

        Returns
        -------
        SampledDocuments
        """
        rng = np.random.default_rng(seed_of(random_state))
        return measures.sample_documents(self._distributions, self.words_, n, length, rng, self.memory_limit)

    def name_words(self, words: Iterable[str]) -> Self:
        """Name the words of a model that was fitted on counts.

        Parameters
        ----------
        words : iterable of str

        Returns
        -------
        TopicModel
            The model itself.
        """
        if isinstance(self._fitted.names, Words):
            raise BayesError("the model was fitted on texts, and their words have names")
        return self._become(replace(self._fitted, names=check_names(words, self._fitted.n_words)))

    @property
    def words_(self) -> npt.NDArray[np.object_]:
        """Names of the words, shape (n_words,)."""
        return self._fitted.word_names

    @property
    def alpha_(self) -> Floats:
        """Prior of documents over topics, shape (n_topics,)."""
        return self._fitted.alpha

    @property
    def topic_words_(self) -> Floats:
        """P(word | topic), shape (n_topics, n_words)."""
        return self._distributions.topic_words

    @property
    def components_(self) -> Floats:
        """Counts of words by topic plus ``beta``, shape (n_topics, n_words), as in scikit-learn."""
        return np.ascontiguousarray(self._distributions.table.T + self.beta)

    @property
    def topic_shares_(self) -> Floats:
        """Share of each topic in all words, shape (n_topics,)."""
        counts = self._fitted.table.sum(axis=0)
        return np.asarray(counts / max(counts.sum(), 1))

    @property
    def log_likelihood_(self) -> float:
        """ln P(words, topics) at the end of sampling."""
        return self._fitted.log_likelihood

    @property
    def n_documents_(self) -> int:
        """Number of documents learned."""
        return self._fitted.n_documents

    @property
    def n_tokens_(self) -> int:
        """Number of tokens learned."""
        return int(self._fitted.table.sum())

    @property
    def n_features_in_(self) -> int:
        """Number of known words."""
        return self._fitted.n_words

    # -- internals ----------------------------------------------------------------------------------------------------

    _rules: ClassVar[rules.Rules] = {
        "n_topics": rules.integer(1, MOST_TOPICS),
        "n_sweeps": rules.integer(1, MOST_SWEEPS),
        "seed_weight": rules.integer(1, 1_000_000),
        "keep_assignments": rules.flag,
        "exact": rules.flag,
        "n_threads": rules.threads,
        "memory_limit": rules.optional(rules.memory),
    }

    def _check_settings(self) -> None:
        super()._check_settings()
        _check_alpha(self.alpha, self.n_topics)
        if not is_number(self.beta) or not SMALLEST_BETA <= self.beta <= LARGEST_BETA:
            raise BayesError(f"beta={self.beta!r}: give a number from {SMALLEST_BETA:g} to {LARGEST_BETA:g}")
        if self.tokenizer is not None and not isinstance(self.tokenizer, Tokenizer):
            raise BayesError(f"tokenizer={self.tokenizer!r}: give a Tokenizer, or None")
        if self.tokenizer is not None and self.tokenizer.hash_bits is not None:
            raise BayesError("topics are known by their words: a tokenizer with hash_bits has none")
        WordLimits.of(self).check()
        if not isinstance(self.random_state, np.random.RandomState | np.random.Generator):
            seed_of(self.random_state)
        read_seed_words(self.seed_words, self.n_topics)
        check_progress(self.progress, "sweep, of and log likelihood")

    def _reader(self) -> DocumentReader:
        return DocumentReader(self.tokenizer, WordLimits.of(self), thread_count(self.n_threads))

    def _read_known(self, X: Any) -> Corpus:
        """Read documents with the known words."""
        return self._reader().known(X, self._fitted.names, self._fitted.n_words)

    def _sample(self, before: FittedTopics, corpus: Corpus, fit_alpha: bool) -> Self:
        """Sample the topics of new documents, given the earlier counts."""
        n_topics, n_threads = len(before.alpha), thread_count(self.n_threads)
        what = f"{corpus.n_tokens:,} words, and {corpus.n_words:,} by {n_topics:,} topics,"
        n_bytes = 24.0 * corpus.n_tokens + float(corpus.n_words) * n_topics * (12 + 4 * n_threads)
        hint = "Keep fewer words (min_df, max_features), or ask for fewer topics."
        check_memory(Need(what, n_bytes, hint), self.memory_limit)
        seeds = self._seeds(before)
        base = before.table if before.n_documents else None
        base = seeds if base is None else base if seeds is None else base + seeds
        seed = before.seed ^ before.n_documents
        topics = integers_below(n_topics, random_stream(seed, corpus.n_tokens)).astype(np.uint16)
        if seeds is not None:
            owned = seeds[corpus.words] > 0
            topics = np.where(owned.any(axis=1), owned.argmax(axis=1), topics).astype(np.uint16)
        topics, alpha, log_likelihood = sample_topics(
            corpus, topics, before.alpha, base, fit_alpha=fit_alpha, seed=seed, n_sweeps=self.n_sweeps, beta=self.beta,
            exact=self.exact, n_threads=n_threads, progress=self.progress,
        )  # fmt: skip
        assignments = None
        if self.keep_assignments and not before.n_documents:
            assignments = Assignments.from_fit(corpus, topics, n_topics)
        elif self.keep_assignments:
            assignments = self.kept_documents().append(corpus, topics)
        table = before.table + count_word_topics(corpus, topics, n_topics)
        learned = table, alpha, before.seed, log_likelihood, before.n_documents + len(corpus), assignments
        return self._become(FittedTopics(before.names, *learned))

    def _seeds(self, fitted: FittedTopics) -> npt.NDArray[np.int32] | None:
        """Return pseudo-counts of seed words, shape (n_words, n_topics); None without seed words."""
        lists = read_seed_words(self.seed_words, len(fitted.alpha))
        if not lists:
            return None
        if fitted.names is None:
            raise BayesError("seed words need the names of the words: fit(X, words=names)")
        known = {str(word): i for i, word in enumerate(fitted.word_names.tolist())}
        table = np.zeros(fitted.table.shape, np.int32)
        unknown: list[str] = []
        for topic, words in lists.items():
            columns = [known[word] for word in words if word in known]
            if words and not columns:
                first_words = ", ".join(map(repr, words[:3]))
                raise BayesError(f"no document has a seed word of topic {topic} ({first_words})")
            unknown += [word for word in words if word not in known]
            table[columns, topic] = self.seed_weight
        if unknown:
            more = f" and {len(unknown) - 3:,} more" if len(unknown) > 3 else ""
            some = ", ".join(map(repr, unknown[:3]))
            warnings.warn(f"no document has the seed words {some}{more}: they are left out", BayesWarning, stacklevel=4)
        return table

    def _declared_words(self) -> set[str]:
        """Return the seed words, which stay in the vocabulary without documents."""
        return {word for words in read_seed_words(self.seed_words, self.n_topics).values() for word in words}

    def kept_documents(self) -> Assignments:
        """Return the kept documents with the topics of their words.

        Returns
        -------
        Assignments

        Raises
        ------
        BayesError
            If the model was fitted without ``keep_assignments``.
        """
        if self._fitted.assignments is None:
            raise BayesError("the model holds no documents, as it was fitted without keep_assignments: fit it anew")
        return self._fitted.assignments

    def _become(self, fitted: FittedTopics) -> Self:
        self._state = fitted
        vars(self).pop("_distributions", None)
        return self

    @property
    def _fitted(self) -> FittedTopics:
        """The fitted state."""
        self._check_is_fitted()
        return self._state

    @cached_property
    def _distributions(self) -> TopicDistributions:
        """Computed on first use, and again when the counts have changed."""
        with warnings.catch_warnings():
            # Fit has already warned about unknown seed words.
            warnings.simplefilter("ignore")
            seeds = self._seeds(self._fitted)
        table = self._fitted.table if seeds is None else self._fitted.table + seeds
        return TopicDistributions(table, self._fitted.alpha, self.beta)

    # -- persistence --------------------------------------------------------------------------------------------------

    def _to_saved(self) -> Saved:
        """Return the content of a model file."""
        return Saved(type(self).__name__, self._settings_for_file(), None, self._fitted.to_state())

    @classmethod
    def _of_saved(cls, saved: Saved) -> Self:
        """Restore the model from a file."""
        model = cls._with_settings(saved.settings)
        model._check_settings()
        fitted = FittedTopics.from_state(saved.wrapped())
        if len(fitted.alpha) != model.n_topics or (model.keep_assignments and fitted.assignments is None):
            raise BayesError("the settings do not fit what was learned")
        return model._restore(fitted)

    def _restore(self, fitted: FittedTopics) -> Self:
        """Restore the fitted state."""
        self._become(fitted)
        # Raises an error for invalid seed words.
        _ = self._distributions
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_distributions"}

    def __sklearn_is_fitted__(self) -> bool:
        return "_state" in vars(self)

    def _check_is_fitted(self) -> None:
        check_is_fitted(self, "documents")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.sparse = tags.input_tags.positive_only = True
        return tags


def _check_alpha(alpha: Any, n_topics: int) -> None:
    if isinstance(alpha, str):
        if alpha != "auto":
            raise BayesError(f'alpha={alpha!r}: give "auto", a number, or one for each topic')
        return
    try:
        if isinstance(alpha, range):
            raise TypeError
        given = np.asarray(alpha, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        given = np.array(np.nan)
    if given.ndim > 1 or (given.ndim == 1 and len(given) != n_topics):
        raise BayesError(f"alpha has the shape {given.shape}: give one number, or one for each of {n_topics} topics")
    if isinstance(alpha, bool) or not ((given >= LEAST) & (given <= MOST)).all():
        raise BayesError(f'alpha={alpha!r}: give "auto", or numbers from {LEAST:g} to {MOST:g}')


def read_seed_words(seed_words: Any, n_topics: int) -> dict[int, list[str]]:
    """Read seed words by topic, from a mapping or a list of lists.

    >>> read_seed_words([["ball", "goal"], ["vote"]], 3)
    {0: ['ball', 'goal'], 1: ['vote']}
    """
    if seed_words is None:
        return {}
    is_listed = isinstance(seed_words, Sequence) and not isinstance(seed_words, str)
    if not isinstance(seed_words, Mapping) and not is_listed:
        raise BayesError(f"seed_words={seed_words!r}: give topic → words, or a list of lists of words")
    pairs = seed_words.items() if isinstance(seed_words, Mapping) else enumerate(seed_words)
    lists: dict[int, list[str]] = {}
    for topic, words in pairs:
        whole = is_integer(topic)
        if not whole or not 0 <= topic < n_topics:
            raise BayesError(f"seed_words names topic {topic!r}, and there are 0 to {n_topics - 1}")
        if isinstance(words, str) or not isinstance(words, Iterable):
            raise BayesError(f"the seed words of topic {topic} are {words!r}: give a list of words")
        lists[int(topic)] = [str(word) for word in words]
    return lists

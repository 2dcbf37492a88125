"""TopicModel: latent Dirichlet allocation (Blei, Ng and Jordan 2003), sampled.

Formula: P(words, topics) = Π_d Dirichlet(α) · Π_k Dirichlet(β), topics drawn token by token given all others
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.sheet import Records
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.text.word_list import Words
from bayeskit.errors import BayesError, BayesWarning, with_article
from bayeskit.estimate.smoothing import is_number
from bayeskit.memory import Need, check_memory
from bayeskit.models.base.available import available_if
from bayeskit.models.base.estimator import check_is_fitted, clone
from bayeskit.models.base.estimator_kinds import Transforms, as_wanted
from bayeskit.models.base.settings import one_of, seed_of, whole_number
from bayeskit.models.base.storage import Stored
from bayeskit.remedy import Remedy
from bayeskit.storage.model_file import Saved
from bayeskit.threads import thread_count
from bayeskit.topics.corpus import Corpus, DocumentReader, below, checked_names, stream
from bayeskit.topics.measures import (
    WEIGHT,
    DocumentTopics,
    SampledDocuments,
    TopicBeliefs,
    TopicChoice,
    TopicTable,
    TopWord,
    choose_number,
    coherence,
    document_topics,
    sample_documents,
    top_words,
    word_shares,
)
from bayeskit.topics.persistence import Assignments, LearntTopics
from bayeskit.topics.sampler import LEAST, MOST, Sampler, check_progress, word_topics
from bayeskit.typing import Floats

METHODS = ("completion", "left_to_right")
MOST_PARTICLES = 1_024  # as in native/bindings/topics.cpp
ALPHA = 0.1  # where the prior of documents begins
NO_ASSIGNMENTS = "it holds no documents. Fit it with keep_assignments=True"


def _holds(model: Any) -> bool:
    return bool(model.keep_assignments)


@dataclass(eq=False, repr=False)
class TopicModel(Stored, Transforms):
    """Latent Dirichlet allocation: finds topics in documents, and says of a document which topics it has.

    A document is a mixture of topics, a topic a distribution over words; the topic of each word is drawn by collapsed
    Gibbs sampling. Documents are texts, or a matrix of counts (documents, words) such as `TokenCounter` makes.

    Parameters
    ----------
    n_topics: how many topics there are; :meth:`choose_topics` compares several numbers.
    n_sweeps: how often all words are drawn anew. The chain is far from settled after a hundred.
    alpha: "auto" fits the prior of documents over topics, one number for each topic, while it samples; a number (for
        each topic) or a list of them is held.
    beta: the prior of topics over words: the smaller, the fewer words a topic has.
    seed_words: words that guide topics, topic → words; each counts as seen ``seed_weight`` times before.
    keep_assignments: whether the documents and the topics of their words are held: for ``forget`` and ``merge``.
    exact: draw each word given all others, one after the other. Otherwise documents are drawn in parts that do not see
        each other's changes within a sweep, and four at a time: two to four times as fast, and as good.
        Below 2,000 words it is exact in any case.
    tokenizer: how texts are cut; a :class:`Tokenizer`, or None for words of two letters or more without scikit-learn's
        list of English stop words.
    min_df, max_df, max_features: which words of texts are kept: those in so many documents (a share where it is a
        float), and the most frequent of them.
    random_state: the same seed gives the same model for any number of threads.
    progress: True for a bar with the likelihood, or a function of sweep, number of sweeps and ln P(words, topics).

    Attributes
    ----------
    alpha_: the prior of documents. words_: the words, by column. topic_words_: P(word | topic) (topics, words).
    topic_shares_: of all words. log_likelihood_: ln P(words, topics) when sampling ended.
    n_documents_, n_tokens_: what was learnt.

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
        """Learn topics of documents: texts, or counts (documents, words) with the names of the ``words``."""
        self._check_settings()
        corpus, names = self._reader().learn(X, words)
        seed = seed_of(self.random_state)
        seed = int(np.random.SeedSequence().entropy) & (2**64 - 1) if seed is None else seed  # type: ignore[arg-type]
        learnt = LearntTopics.nothing(names, corpus.n_words, self._first_alpha(), seed)
        return self._learn(learnt, corpus, isinstance(self.alpha, str))

    def partial_fit(self, X: Any, y: Any = None, words: Iterable[str] | None = None) -> Self:
        """Learn more documents. The topics of those learnt before, the prior and the words that are known stay."""
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, words)
        self._check_settings()
        self._check_number()
        corpus = self._known(X)
        return self._learn(self._learnt, corpus, False)

    @available_if(_holds, NO_ASSIGNMENTS)
    def forget(self, X: Any) -> Self:
        """Unlearn documents that are held: their words leave the counts, and all else stays as it is.

        One that is not held is refused, and nothing changes.
        """
        corpus = self._known(X)
        left = self.held_documents().without(corpus)
        if not left.corpus.n_tokens:
            raise BayesError("forgetting these documents would leave nothing to believe; start a new model instead")
        return self._become(self._learnt.holding(left))

    @available_if(_holds, NO_ASSIGNMENTS)
    def merge(self, other: Any) -> Self:
        """A new model of the documents of both, which were continued from one parent: the parent and both changes.

        Documents of the parent count once, and what one side has forgotten is gone; both sides stay as they are.
        """
        held = self.held_documents()
        if type(other) is not TopicModel:
            raise BayesError(f"a TopicModel merges with another one, not with {with_article(type(other).__name__)}")
        check_is_fitted(other, "documents")
        if not other.keep_assignments:
            raise BayesError(f"the other model cannot be merged: {NO_ASSIGNMENTS}")
        return clone(self)._restore(self._learnt.holding(held.merged(other.held_documents())))

    def __add__(self, other: object) -> Self:
        return self.merge(other) if isinstance(other, TopicModel) else NotImplemented

    def __radd__(self, other: object) -> Self:
        """``sum(models)`` starts from 0."""
        return self if other == 0 else NotImplemented

    # -- documents ----------------------------------------------------------------------------------------------------

    @as_wanted
    def transform(self, X: Any) -> Floats:
        """(documents, topics): the share of each topic in each document.

        Topics are drawn by the seed and the words of a document alone: it has the same shares in any company. One
        without any known word has those of the prior.
        """
        return self._believed.shares(self._known(X), self._learnt.seed, thread_count(self.n_threads))

    def explain(self, X: Any, n_words: int = 6, least: float = 0.05) -> Records[DocumentTopics]:
        """The topics of each document that have a share of ``least`` or more, with the words that speak for them."""
        whole_number("n_words", n_words, 0)
        if not is_number(least) or not 0 <= least <= 1:
            raise BayesError(f"least={least!r}: give a share from 0 to 1", culprit=least)
        corpus = self._known(X)
        shares = self._believed.shares(corpus, self._learnt.seed, thread_count(self.n_threads))
        return Records(document_topics(self._believed, corpus, shares, self.words_, n_words, least))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """topic0, topic1, …: the columns of :meth:`transform`."""
        self._check_is_fitted()
        return np.array([f"topic{k}" for k in range(self._believed.n_topics)], dtype=object)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of ln P(word) by document completion: the larger, the better."""
        return -float(logspace.log(self.perplexity(X)))

    def perplexity(self, X: Any, method: str = "completion", n_particles: int = 20) -> float:
        """e to the mean −ln P(word) of documents that were not learnt: the smaller, the better.

        "completion": topics of a document by one half of its words, which predict the other. "left_to_right": the
        whole document, each word given those before it (Wallach et al. 2009), by so many particles.
        """
        one_of("method", method, METHODS)
        whole_number("n_particles", n_particles, 1, MOST_PARTICLES)
        corpus = self._known(X)
        seed, n_threads, believed = self._learnt.seed, thread_count(self.n_threads), self._believed
        if method == "completion":
            first, second = corpus.halves()
            logs = believed.log_tokens(second, believed.shares(first, seed, n_threads))
        else:
            logs, second = believed.left_to_right(corpus, seed, n_particles, n_threads), corpus
        if not second.n_tokens:
            raise BayesError("no document has words enough that the model knows: there is nothing to predict")
        return float(logspace.exp(-logs.sum() / second.n_tokens))

    def coherence(self, X: Any, n: int = 10) -> Floats:
        """(topics,): how far the ``n`` top words of each topic stand in the same documents of ``X`` (mean NPMI).

        NaN of a topic that has no two words.
        """
        corpus = self._known(X)
        if not corpus.n_tokens:
            raise BayesError("no document has a word that the model knows: words have no company there")
        return coherence(corpus.matrix(), top_words(self._believed, n))

    def choose_topics(self, X: Any, numbers: Iterable[int], held_out: float = 0.2) -> TopicChoice:
        """Compare numbers of topics by the perplexity of documents that are held out, with the settings of this model.

        >>> texts = ["ball goal match", "goal ball ball team", "vote law party", "law party vote vote"] * 10
        >>> TopicModel(n_sweeps=30).choose_topics(texts, [1, 2]).n_topics
        2
        """
        return choose_number(self, X, numbers, held_out)

    # -- topics -------------------------------------------------------------------------------------------------------

    def top_words(self, n: int = 10, by: str = "probability", weight: float = WEIGHT) -> list[list[str]]:
        """The words that stand for each topic: "probability" P(w | k), "lift" P(w | k) / P(w), or "relevance".

        Relevance is the mean of their logarithms, that of the probability weighing ``weight`` (Sievert and Shirley).
        """
        names = self.words_
        return [[str(word) for word in names[words]] for words in top_words(self._believed, n, by, weight)]

    def topic(self, k: int, n: int = 10, by: str = "probability", weight: float = WEIGHT) -> list[TopWord]:
        """The top words of one topic with P(word | topic) and lift."""
        believed = self._believed
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 0 <= k < believed.n_topics:
            raise BayesError(f"topic {k!r} is not one of 0 to {believed.n_topics - 1}", culprit=k)
        words = top_words(believed, n, by, weight)[k]
        p = believed.topic_words[k, words]
        lift = p / word_shares(believed)[words]
        return [TopWord(str(w), *pair) for w, *pair in zip(self.words_[words], p.tolist(), lift.tolist(), strict=True)]

    def table(self, n: int = 10, by: str = "relevance", weight: float = WEIGHT) -> TopicTable:
        """A line a topic, the largest first: its share of all words, and the words that stand for it."""
        shares = self.topic_shares_
        order = np.argsort(-shares, kind="stable").tolist()
        return TopicTable(order, shares[order].tolist(), [self.topic(k, n, by, weight) for k in order])

    def sample(self, n: int = 1, length: Any = 50, random_state: Any = None) -> SampledDocuments:
        """Draw documents as the model says they come about: shares, then for each word a topic and a word of it."""
        rng = np.random.default_rng(seed_of(random_state))
        return sample_documents(self._believed, self.words_, n, length, rng, self.memory_limit)

    def name_words(self, words: Iterable[str]) -> Self:
        """Give the words of a matrix of counts their names."""
        self._check_is_fitted()
        if isinstance(self._learnt.names, Words):
            raise BayesError("the model was fitted on texts, and their words have names")
        return self._become(self._learnt.named(checked_names(words, self._learnt.n_words)))

    @property
    def words_(self) -> npt.NDArray[np.object_]:
        """The words, by column."""
        self._check_is_fitted()
        return self._learnt.word_names

    @property
    def alpha_(self) -> Floats:
        """The prior of documents over topics."""
        self._check_is_fitted()
        return self._learnt.alpha

    @property
    def topic_words_(self) -> Floats:
        """P(word | topic) (topics, words)."""
        return self._believed.topic_words

    @property
    def components_(self) -> Floats:
        """Counts of words by topic with their prior (topics, words), as scikit-learn's model has them."""
        return np.ascontiguousarray(self._believed.table.T + self.beta)

    @property
    def topic_shares_(self) -> Floats:
        """The share of each topic in all words."""
        counts = self._learnt_table.sum(axis=0)
        return counts / max(counts.sum(), 1)

    @property
    def log_likelihood_(self) -> float:
        """ln P(words, topics) when sampling ended."""
        self._check_is_fitted()
        return self._learnt.log_likelihood

    @property
    def n_documents_(self) -> int:
        """How many documents were learnt."""
        self._check_is_fitted()
        return self._learnt.n_documents

    @property
    def n_tokens_(self) -> int:
        """How many words were learnt, each as often as it stood."""
        return int(self._learnt_table.sum())

    @property
    def n_features_in_(self) -> int:
        """How many words are known."""
        self._check_is_fitted()
        return self._learnt.n_words

    # -- inside -------------------------------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        """Refuse settings that mean nothing; called before any work."""
        check_settings(self)
        thread_count(self.n_threads)

    def _check_number(self) -> None:
        if self.n_topics != len(self._learnt.alpha):
            raise BayesError(
                f"the model has {len(self._learnt.alpha)} topics: set ", Remedy("n_topics", len(self._learnt.alpha)),
                " again, or fit anew", culprit=self.n_topics,
            )  # fmt: skip

    def _first_alpha(self) -> Floats:
        if isinstance(self.alpha, str):
            return np.full(self.n_topics, ALPHA)
        given = np.asarray(self.alpha, dtype=np.float64)
        return np.full(self.n_topics, float(given)) if given.ndim == 0 else given.copy()

    def _reader(self) -> DocumentReader:
        return DocumentReader(
            self.tokenizer, (self.min_df, self.max_df, self.max_features), thread_count(self.n_threads)
        )

    def _known(self, X: Any) -> Corpus:
        """Documents by the words that are known."""
        self._check_is_fitted()
        return self._reader().known(X, self._learnt.names, self._learnt.n_words)

    def _learn(self, before: LearntTopics, corpus: Corpus, fit_alpha: bool) -> Self:
        """Sample the topics of new documents, beside what was learnt before."""
        check_memory(self._need(corpus), self.memory_limit)
        n_topics = len(before.alpha)
        seeds = self._seeds(before)
        base = before.table if before.n_documents else None
        base = seeds if base is None else base if seeds is None else base + seeds
        draws = below(n_topics, stream(before.seed ^ before.n_documents, corpus.n_tokens))
        topics = draws.astype(np.uint16)
        if seeds is not None:
            owned = seeds[corpus.words] > 0
            topics = np.where(owned.any(axis=1), owned.argmax(axis=1), topics).astype(np.uint16)
        sampler = Sampler(
            before.seed ^ before.n_documents, self.n_sweeps, self.beta, self.exact, thread_count(self.n_threads),
            self.progress,
        )  # fmt: skip
        sampled = sampler.run(corpus, topics, before.alpha, fit_alpha, base)
        if self.keep_assignments:
            held = before.assignments
            if held is None and before.n_documents:
                raise BayesError("the model holds no documents, as it was fitted without keep_assignments: fit it anew")
            more = (
                Assignments.first(corpus, sampled.topics, n_topics)
                if held is None
                else held.with_more(corpus, sampled.topics)
            )
            return self._become(before.after(sampled, more.table, len(corpus), more))
        table = before.table + word_topics(corpus, sampled.topics, n_topics)
        return self._become(before.after(sampled, table, len(corpus), None))

    def _need(self, corpus: Corpus) -> Need:
        cells = float(corpus.n_words) * self.n_topics
        what = f"{corpus.n_tokens:,} words, and {corpus.n_words:,} by {self.n_topics:,} topics,"
        help_ = ("Keep fewer words (min_df, max_features), or ask for fewer topics.",)
        return Need(what, 24.0 * corpus.n_tokens + cells * (12 + 4 * thread_count(self.n_threads)), help_)

    def _seeds(self, learnt: LearntTopics) -> npt.NDArray[np.int32] | None:
        lists = seed_lists(self.seed_words, len(learnt.alpha))
        if not lists:
            return None
        if learnt.names is None:
            raise BayesError("seed words need the names of the words: fit(X, words=names)")
        known = {str(word): i for i, word in enumerate(learnt.word_names.tolist())}
        return seed_table(lists, self.seed_weight, known, len(learnt.alpha))

    def held_documents(self) -> Assignments:
        """The documents that are held, with the topics of their words."""
        self._check_is_fitted()
        if self._learnt.assignments is None:
            raise BayesError("the model holds no documents, as it was fitted without keep_assignments: fit it anew")
        return self._learnt.assignments

    def _become(self, learnt: LearntTopics) -> Self:
        self._learnt = learnt
        vars(self).pop("_beliefs", None)
        return self

    @property
    def _learnt_table(self) -> npt.NDArray[np.int32]:
        self._check_is_fitted()
        return self._learnt.table

    @property
    def _believed(self) -> TopicBeliefs:
        self._check_is_fitted()
        return self._beliefs

    @cached_property
    def _beliefs(self) -> TopicBeliefs:
        """Made when they are first asked for, and made anew when the counts have changed."""
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # seed words that no document has were told of in the fit
            seeds = self._seeds(self._learnt)
        table = self._learnt.table if seeds is None else self._learnt.table + seeds
        return TopicBeliefs(table, self._learnt.alpha, self.beta)

    # -- in a file ----------------------------------------------------------------------------------------------------

    def _to_saved(self) -> Saved:
        """What a file holds of the fitted model."""
        return Saved(type(self).__name__, self._written_settings(), None, self._learnt.to_state())

    @classmethod
    def _of_saved(cls, saved: Saved) -> Self:
        """The fitted model of what a file holds."""
        model = cls._with_settings(saved.settings)
        model._check_settings()
        learnt = LearntTopics.of_state(saved.wrapped())
        if len(learnt.alpha) != model.n_topics or (model.keep_assignments and learnt.assignments is None):
            raise BayesError("the settings do not fit what was learnt")
        return model._restore(learnt)

    def _restore(self, learnt: LearntTopics) -> Self:
        """Become the fitted model of what was learnt."""
        self._become(learnt)
        _ = self._beliefs  # seed words that do not fit are refused
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_beliefs"}

    def __sklearn_is_fitted__(self) -> bool:
        return "_learnt" in vars(self)

    def _check_is_fitted(self) -> None:
        check_is_fitted(self, "documents")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.sparse = tags.input_tags.positive_only = True
        return tags


MOST_TOPICS = 65_535  # as in native/bindings/topics.cpp
MOST_SWEEPS = 1_000_000
SMALLEST_BETA, LARGEST_BETA = 1e-5, 1e3


def check_settings(model: Any) -> None:
    """Refuse settings that mean nothing."""
    whole_number("n_topics", model.n_topics, 1, MOST_TOPICS)
    whole_number("n_sweeps", model.n_sweeps, 1, MOST_SWEEPS)
    whole_number("seed_weight", model.seed_weight, 1, 1_000_000)
    _check_alpha(model.alpha, model.n_topics)
    if not _is_number(model.beta) or not SMALLEST_BETA <= model.beta <= LARGEST_BETA:
        raise BayesError(f"beta={model.beta!r}: give a number from {SMALLEST_BETA:g} to {LARGEST_BETA:g}")
    for name in ("keep_assignments", "exact"):
        if not isinstance(getattr(model, name), (bool, np.bool_)):
            raise BayesError(f"{name}={getattr(model, name)!r}: give True or False")
    if model.tokenizer is not None and not isinstance(model.tokenizer, Tokenizer):
        raise BayesError(f"tokenizer={model.tokenizer!r}: give a Tokenizer, or None")
    if model.tokenizer is not None and model.tokenizer.hash_bits is not None:
        raise BayesError("topics are known by their words: a tokenizer with hash_bits has none")
    _check_limits(model)
    seed_of(model.random_state) if not isinstance(
        model.random_state, np.random.RandomState | np.random.Generator
    ) else None
    seed_lists(model.seed_words, model.n_topics)
    check_progress(model.progress)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _check_alpha(alpha: Any, n_topics: int) -> None:
    if isinstance(alpha, str):
        if alpha != "auto":
            raise BayesError(f'alpha={alpha!r}: give "auto", a number, or one for each topic', culprit=alpha)
        return
    try:
        given = np.asarray(alpha, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.array(np.nan)
    if given.ndim > 1 or (given.ndim == 1 and len(given) != n_topics):
        raise BayesError(f"alpha has the shape {given.shape}: give one number, or one for each of {n_topics} topics")
    if isinstance(alpha, bool) or not ((given >= LEAST) & (given <= MOST)).all():
        raise BayesError(f'alpha={alpha!r}: give "auto", or numbers from {LEAST:g} to {MOST:g}', culprit=alpha)


def _check_limits(model: Any) -> None:
    for name in ("min_df", "max_df"):
        limit = getattr(model, name)
        share = isinstance(limit, float) and 0 <= limit <= 1
        if not share and (isinstance(limit, (float, bool)) or not isinstance(limit, Integral) or limit < 1):
            raise BayesError(f"{name}={limit!r}: give a number of documents from 1 on, or a share from 0.0 to 1.0")
    if model.max_features is not None:
        whole_number("max_features", model.max_features, 1, 2**31)


def seed_lists(seed_words: Any, n_topics: int) -> dict[int, list[str]]:
    """Topic → its words, from a mapping or from a list of lists.

    >>> seed_lists([["ball", "goal"], ["vote"]], 3)
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
        whole = isinstance(topic, (int, np.integer)) and not isinstance(topic, bool)
        if not whole or not 0 <= topic < n_topics:
            raise BayesError(f"seed_words names topic {topic!r}, and there are 0 to {n_topics - 1}", culprit=topic)
        if isinstance(words, str) or not isinstance(words, Iterable):
            raise BayesError(f"the seed words of topic {topic} are {words!r}: give a list of words", culprit=words)
        lists[int(topic)] = [str(word) for word in words]
    return lists


def seed_table(
    lists: Mapping[int, list[str]], weight: int, known: Mapping[str, int], n_topics: int
) -> npt.NDArray[np.int32] | None:
    """(words, topics): how often each seed word counts as seen in its topic; None where there are none."""
    if not lists:
        return None
    table = np.zeros((len(known), n_topics), np.int32)
    unknown: list[str] = []
    for topic, words in lists.items():
        columns = [known[word] for word in words if word in known]
        if words and not columns:
            first_words = ", ".join(map(repr, words[:3]))
            raise BayesError(f"no document has a seed word of topic {topic} ({first_words})", culprit=words[0])
        unknown += [word for word in words if word not in known]
        table[columns, topic] = weight
    if unknown:
        more = f" and {len(unknown) - 3:,} more" if len(unknown) > 3 else ""
        some = ", ".join(map(repr, unknown[:3]))
        warnings.warn(f"no document has the seed words {some}{more}: they are left out", BayesWarning, stacklevel=4)
    return table

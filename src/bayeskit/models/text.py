"""TextClassifier: raw documents in, classes and probabilities out, by any of the naive Bayes recipes for text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.encode import Block
from bayeskit.data.files import FileSource
from bayeskit.data.schema import Schema, Target, Text
from bayeskit.data.source import Source, is_source, naming_the_file
from bayeskit.data.table import Table
from bayeskit.data.text_files import FolderSource, TextColumn
from bayeskit.data.tokenizer import Tokenizer
from bayeskit.data.tokens import count_documents
from bayeskit.errors import BadFile, BayesError, TooLarge
from bayeskit.estimate.prior import class_prior
from bayeskit.estimate.smoothing import is_number
from bayeskit.estimate.text_weights import pseudo_counts
from bayeskit.io import State
from bayeskit.models import text_fitting as fitting
from bayeskit.models.base import Scores, TallyClassifier
from bayeskit.models.base.available import available_where
from bayeskit.models.base.estimator import clone
from bayeskit.models.base.settings import one_of
from bayeskit.models.text_explain import WordsForAndAgainst, explain_documents, telling_words
from bayeskit.models.text_generative import draw_documents, log_coefficient, log_length
from bayeskit.models.text_left_out import TextLeftOut
from bayeskit.models.text_reading import (
    LabelledDocuments,
    content_hash,
    mass_tally,
    read_all,
    source_of,
)
from bayeskit.models.text_recipes import (
    COLUMN,
    RECIPES,
    EvidenceParameters,
    PlainParameters,
    Recipe,
    evidence_parameters,
    plain_weights,
    stored_values,
    values_of,
)
from bayeskit.models.text_similarity import TextSimilarity
from bayeskit.models.text_state import state_of, take_state
from bayeskit.remedy import Remedy, Setting
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import ColumnWords, WordCounts, selected

LARGEST_TABLE = 1 << 29  # words times classes


def _is_tallied(model: TextClassifier) -> bool:
    """Whether the recipe is a function of what was counted."""
    return model.recipe != "nbsvm"


def _is_generative(model: TextClassifier) -> bool:
    return model.recipe in RECIPES and RECIPES[model.recipe].generative


class TextClassifier(TextSimilarity, TallyClassifier):
    """Naive Bayes for documents: strings in a list, a series or an Arrow column.

    Parameters
    ----------
    recipe: "auto" (weighted evidence; chooses unigrams or bigrams and its own smoothing), "fast" (the same with
        everything fixed), "weighted" (the same on the n-grams given), "multinomial", "set_of_words" (Bernoulli,
        absent words counted), "complement", "wcnb" (complement, weights normalised), "twcnb" (all transforms of Rennie
        et al. 2003), "tfidf" (multinomial on cosine-normalised tf-idf), "nbsvm" (Wang and Manning 2012).
    smoothing: pseudo-count of every word: a number, a mapping that gives some words their own (others 1), "auto" for
        the one under which the counts predict each other best, or a rule such as ``Lidstone(0.1)``. None is 1, and
        for weighted evidence the better one of 1 and 0.3.
    prior: "empirical", "uniform" (off), a mapping from class to probability, or a smoothing of the class counts. None
        is "empirical", and "uniform" for "wcnb", "twcnb" and "nbsvm", whose weights it would drown.
    pattern, ngrams, lowercase, stop_words, hash_bits: what a word is, see ``Tokenizer``; ``ngrams=None`` is (1, 1), and
        for "auto" the better one of (1, 1) and (1, 2).
    min_df, max_df, max_features: words in fewer or more documents are left out (a whole number of documents or a
        share), and all but the most frequent ones. The vocabulary is then held.
    column: the name of the text column where documents come in a table.
    C, beta: of "nbsvm": the inverse penalty, and how much of the linear weights is kept (the rest is their mean).
    schema, undecidable, ties, random_state, n_threads: as for ``NaiveBayes``.

    Scores of "complement", "wcnb" and "twcnb" are scores, not joint probabilities: what ``predict_proba`` makes of them
    is not calibrated. That of "auto", "fast" and "weighted" is, by leave-one-out.

    Examples
    --------
    >>> from bayeskit.datasets import load_worked_example
    >>> sports = load_worked_example("sports")
    >>> model = TextClassifier("multinomial", pattern="words1").fit(sports["text"], sports["tag"])
    >>> model.predict(["A very close game"]).tolist()
    ['sports']
    >>> print(model.explain(["A very close game"])[0])
    sports against not sports: log odds +1.5760, of which +0.4055 without words
    word   count   evidence
    game       1    1.01523
    close      1  -0.776529
    very       1   0.609766
    a          1   0.322083
    """

    def __init__(
        self,
        recipe: str = "auto",
        smoothing: Any = None,
        prior: Any = None,
        pattern: Any = "words",
        ngrams: tuple[int, int] | None = None,
        lowercase: bool = True,
        stop_words: Any = None,
        hash_bits: int | None = None,
        min_df: int | float = 1,
        max_df: int | float = 1.0,
        max_features: int | None = None,
        column: str | None = None,
        C: float = 1.0,
        beta: float = 0.25,
        schema: Schema | None = None,
        undecidable: str = "prior",
        ties: str = "first",
        random_state: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.recipe = recipe
        self.smoothing = smoothing
        self.prior = prior
        self.pattern = pattern
        self.ngrams = ngrams
        self.lowercase = lowercase
        self.stop_words = stop_words
        self.hash_bits = hash_bits
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.column = column
        self.C = C
        self.beta = beta
        self.schema = schema
        self.undecidable = undecidable
        self.ties = ties
        self.random_state = random_state
        self.n_threads = n_threads

    def check_settings(self) -> None:
        super().check_settings()
        one_of("recipe", self.recipe, tuple(RECIPES))
        if self._is_weighted and self.smoothing is not None and (not is_number(self.smoothing) or self.smoothing <= 0):
            raise BayesError(
                Setting.given("smoothing", self.smoothing), ": weighted evidence takes one number over 0, or None"
            )
        self._tokenizer()

    def plan(self, schema: Schema) -> Plan:
        return Plan(words=(COLUMN,))

    # -- learning ------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from documents ``X`` with classes ``y`` (values, or the name of a column of ``X``)."""
        self.check_settings()
        return self._refit(self._labelled(X, y, sample_weight))

    def fit_source(self, source: Any, target: str | None = None, engine: Any = None) -> Self:
        """Learn from a folder with one sub-folder a class, or from files whose column ``column`` holds the text.

        Recipes of counts read in parts and hold no more than the vocabulary; the others hold all documents.
        """
        self.check_settings()
        return self._refit(self._labelled_source(source, target), engine)

    def _refit(self, source: Source, engine: Any = None) -> Self:
        """Learn anew; where that fails, the model is still as it was."""
        fresh = clone(self)
        fresh._learn(source, engine)
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        for name in [name for name in vars(fresh) if name.endswith("_")]:
            setattr(self, name, getattr(fresh, name))
        return self

    def _learn(self, source: Source, engine: Any) -> None:
        schema = self._schema_for(source)
        if self._recipe.learns == "counts":
            self._fit_tally(self._count_new(source, schema, engine))
            return
        read = self._read_all(source, engine)
        if self._is_weighted:
            tally, self.weights_, self.candidates_ = fitting.evidence(self, read, schema)
        elif self.recipe == "nbsvm":
            tally, self.linear_ = fitting.linear(self, read, schema)
        else:
            tally, self.held_ = fitting.frequencies(self, read, schema)
        self._fit_tally(tally)

    def _collect(self, source: Source, schema: Schema, plan: Plan, engine: Any = None) -> Tally:
        if self._recipe.learns == "counts":
            return super()._collect(source, schema, plan, engine)
        return self._more(self._read_all(source, engine))

    def _read_all(self, source: Source, engine: Any) -> LabelledDocuments:
        if engine is not None:
            raise BayesError(f'recipe="{self.recipe}" looks at every document, and an engine only counts: fit it here')
        with naming_the_file(source):
            return read_all(source)

    @available_where(_is_tallied)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more documents; new words and classes may appear at any time.

        A vocabulary that was cut (``min_df`` and the like, bigrams of "auto", tf-idf recipes) is held, and so are
        idf and the fitted weights.
        """
        if self._recipe.learns != "counts" and not self._is_fitted():
            return self.fit(X, y, sample_weight)
        return super().partial_fit(X, y, classes, sample_weight)

    @available_where(_is_tallied)
    def learn_source(self, source: Any, target: str | None = None, engine: Any = None) -> Self:
        """Learn more documents of a folder or of files; see ``fit_source`` and ``partial_fit``."""
        return super().learn_source(source, target, engine)

    @available_where(_is_tallied)
    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Unlearn documents that were learnt. idf and fitted weights are held."""
        return super().forget(X, y, sample_weight)

    @available_where(_is_tallied)
    def forget_source(self, source: Any, target: str | None = None, engine: Any = None) -> Self:
        """Unlearn documents of a folder or of files."""
        return super().forget_source(source, target, engine)

    def _more(self, read: LabelledDocuments) -> Tally:
        """The tally of further documents, in the values of the first fit."""
        role = self.schema_.columns[COLUMN]
        tokenizer = role.tokenizer if isinstance(role, Text) else self._tokenizer()
        held = self._held_words()
        rows = count_documents(read.texts, tokenizer, held, self._threads())
        idf = self.held_.idf(rows.words) if hasattr(self, "held_") else None
        values = stored_values(self._recipe, values_of(self._recipe.learns, rows, idf))
        return mass_tally(self.schema_, rows, values, read, held is not None)[0]

    def _held_words(self) -> Any:
        if hasattr(self, "held_"):
            return self.held_.words
        return self.words_ if self.counted_.pruned else None

    @available_where(_is_tallied)
    def merge(self, other: TallyClassifier) -> Self:
        """A new model of the documents of both; settings, idf and fitted weights are those of this one."""
        return super().merge(other)

    @available_where(_is_tallied)
    def fit_tally(self, tally: Tally) -> Self:
        """Learn from counts alone."""
        return self._fit_tally(tally)

    def _fit_tally(self, tally: Tally) -> Self:
        if self._is_weighted and not hasattr(self, "weights_"):
            raise BayesError(f'recipe="{self.recipe}" fits weights on documents: call fit, or another recipe on counts')
        if self._recipe.learns.endswith("tfidf") and not hasattr(self, "held_"):
            raise BayesError(f'recipe="{self.recipe}" needs document frequencies: call fit with documents')
        return super().fit_tally(self._chosen(tally))

    def _chosen(self, tally: Tally) -> Tally:
        """The tally with the words that the settings allow; a vocabulary once cut is held."""
        if COLUMN not in tally.words:
            raise BayesError(f"the tally has no words of a column {COLUMN!r}: it is not of a TextClassifier")
        counted = tally.words[COLUMN]
        if self._is_fitted() and self.counted_.pruned:
            keep = np.asarray(self.words_.index.find(counted.words.data, counted.words.offsets)) >= 0
        elif counted.pruned or (self.min_df, self.max_df, self.max_features) == (1, 1.0, None):
            return tally
        else:
            keep = selected(counted, self.min_df, self.max_df, self.max_features)
        kept = counted.keep(keep)
        return tally if kept is counted else tally.with_statistic(ColumnWords({COLUMN: kept}))

    def held_state(self) -> State | None:
        return state_of(self)

    def restore(self, tally: Tally, state: State | None) -> Self:
        self.check_settings()
        take_state(self, tally, state)
        self._fit_tally(tally)
        if len(self.params_.table) != len(self.words_):
            raise BadFile("the weights of words are not those of the words that its settings keep")
        if np.isnan(self.params_.table).any() or np.isnan(self.params_.constant).any():
            raise BadFile("what was counted gives scores that are no numbers")
        return self

    def _with_tally(self, tally: Tally, **settings: Any) -> Self:
        other: Self = clone(self).set_params(**settings)
        for name in ("weights_", "held_", "candidates_", "linear_"):
            if hasattr(self, name):
                setattr(other, name, getattr(self, name))
        return other._fit_tally(tally)

    # -- believing and saying ------------------------------------------------------------------------

    def estimate(self, tally: Tally) -> PlainParameters | EvidenceParameters:
        counted = tally.words[COLUMN]
        if len(counted.words) * len(tally.classes) > LARGEST_TABLE:
            raise TooLarge(
                f"{len(counted.words):,} words of {len(tally.classes):,} classes make a table of over 4 GB: give ",
                Remedy("hash_bits"),
                Remedy("min_df", clause=", {} or max_features=", without=""),
            )
        setting = self._recipe.prior if self.prior is None else self.prior
        log_prior = logspace.log(class_prior(setting, tally.classes, tally.class_counts))
        if self._is_weighted:
            return evidence_parameters(counted, tally.classes, log_prior, self.weights_)
        pseudo = self._pseudo(counted.words, counted)
        if self._recipe.formula != "multinomial" and not pseudo.all():
            word = counted.words[int(np.flatnonzero(pseudo == 0)[0])]
            raise BayesError(
                Setting("recipe", self.recipe),
                f" needs smoothing over 0 for every word, and {word!r} has none: a word that "
                f"{'every document' if self.recipe == 'set_of_words' else 'no other class'} has would weigh infinitely",
            )
        idf = self.held_.idf(counted.words) if self._recipe.scores == "tfidf" else None
        if self.recipe == "nbsvm":
            return PlainParameters(log_prior, counted.words, self.linear_, "presence", None, pseudo)
        weights = plain_weights(self._recipe, counted, tally.class_counts.astype(np.float64), pseudo)
        return PlainParameters(log_prior, counted.words, weights, self._recipe.scores, idf, pseudo)

    def _pseudo(self, words: Any, counted: WordCounts | None = None) -> npt.NDArray[np.float64]:
        smoothing = 1.0 if self.smoothing is None else self.smoothing
        counts = np.zeros((len(words), 1)) if counted is None or smoothing != "auto" else counted.table()
        return pseudo_counts(smoothing, words, counts)

    def log_joint(self, params: Any, block: Block) -> Scores:
        scores: Scores = params.scores(block.tokens[COLUMN], self._threads())
        return scores

    def decision_function(self, X: Any) -> Scores:
        """Scores (documents, classes), or (documents,) of the second class against the first where there are two."""
        scores = self.predict_joint_log_proba(X)
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    @available_where(_is_tallied)
    def predict_proba(self, X: Any) -> Scores:
        """P(class | document) (documents, classes); a document without known words gets the prior.

        Not calibrated for "complement", "wcnb" and "twcnb", and absent for "nbsvm": use ``decision_function``.
        """
        return super().predict_proba(X)

    @available_where(_is_tallied)
    def predict_log_proba(self, X: Any) -> Scores:
        """ln P(class | document) (documents, classes)."""
        return super().predict_log_proba(X)

    @available_where(_is_generative)
    def document_log_likelihood(self, X: Any, coefficient: bool = True, length: bool = False) -> Scores:
        """ln P(document | class) (documents, classes).

        For "multinomial" with the multinomial coefficient ℓ!/Πn! and, where ``length``, P(ℓ), which is the same
        for all classes: Poisson with the mean number of words. A set of words has neither.
        """
        parts = []
        for block, scores in self._score(X):
            rows = block.tokens[COLUMN]
            scores = scores - self.params_.log_prior
            if self.recipe == "multinomial":
                scores = scores + coefficient * log_coefficient(rows)[:, None]
                scores = scores + length * log_length(rows, self.counted_)[:, None]
            parts.append(scores)
        return np.concatenate(parts)

    @available_where(_is_generative)
    def score_samples(self, X: Any) -> Scores:
        """ln P(document), with length term and multinomial coefficient; known words alone."""
        likelihood = self.document_log_likelihood(X, coefficient=True, length=True)
        return np.asarray(logspace.log_sum_exp(likelihood + self.params_.log_prior))

    @available_where(_is_generative)
    def sample(self, n: int = 1, random_state: Any = None) -> tuple[list[str], npt.NDArray[Any]]:
        """Documents drawn from the model and their classes: one coin a word, or a length and then words."""
        self._check_is_fitted()
        rng = np.random.default_rng(random_state if random_state is not None else self.random_state)
        labels = rng.choice(len(self.classes_), size=n, p=logspace.exp(self.params_.log_prior))
        return draw_documents(self.params_, self.counted_, self.recipe, labels, rng), self.classes_[labels]

    @available_where(_is_tallied)
    def left_out(self) -> TextLeftOut:
        """Scores of learnt documents under the estimates made without them; see ``leave_one_out_scores``."""
        self._check_is_fitted()
        return TextLeftOut(self)

    @available_where(_is_tallied)
    def leave_one_out_scores(self, X: Any, y: Any, sample_weight: Any = None) -> Scores:
        """Scores (documents, classes) of the learnt documents, each by the model without it, to the last count.

        For tf-idf recipes the idf of the others is held and the own vector made with df − 1; for weighted evidence
        the weights are held, which makes it a little optimistic.
        """
        left_out = self.left_out()
        source = self._labelled(X, y, sample_weight)
        return np.concatenate([left_out.scores(block) for block in self.encoder().blocks(source)])

    # -- reading -------------------------------------------------------------------------------------

    def explain(self, X: Any, against: Any = None) -> list[WordsForAndAgainst]:
        """For each document the words for and against its class, summing to the log odds.

        ``against`` names the class to compare with; by default it is the runner-up.
        """
        self._check_is_fitted()
        return explain_documents(self, X, against)

    def telling_words(self, n: int = 10) -> Table:
        """The ``n`` words of each class that say most for it in an average document of the class.

        ``evidence`` is the word's weight for the class less its mean weight for the others; words are ranked by it
        times their share of the class.
        """
        self._check_is_fitted()
        return telling_words(self, n)

    def column_table(self, column: str) -> Table:
        """The most telling words of each class."""
        return self.telling_words()

    @property
    def words_(self) -> Any:
        """The vocabulary, sorted."""
        return self.tally_.words[COLUMN].words

    @property
    def counted_(self) -> WordCounts:
        """What was counted: words by class, and the lengths of documents."""
        counted: WordCounts = self.tally_.words[COLUMN]
        return counted

    # -- inside --------------------------------------------------------------------------------------

    @property
    def _recipe(self) -> Recipe:
        return RECIPES[self.recipe]

    @property
    def _is_weighted(self) -> bool:
        return self.recipe in RECIPES and self._recipe.formula == "weighted"

    def _tokenizer(self, ngrams: tuple[int, int] | None = None) -> Tokenizer:
        runs = ngrams or self.ngrams or (1, 1)
        return Tokenizer(self.pattern, runs, self.lowercase, self.stop_words, self.hash_bits)

    def _schema_for(self, source: Source) -> Schema:
        if self.schema is not None:
            return super()._schema_for(source)
        return Schema({COLUMN: Text(self._tokenizer())}, Target(source.target or "class"), named=False)

    def _labelled(self, X: Any, y: Any, sample_weight: Any) -> Source:
        if is_source(X):
            return self._labelled_source(X, y)
        if y is None:
            raise BayesError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        return source_of(X, y, sample_weight, self.column)

    def _labelled_source(self, source: Any, target: str | None) -> Source:
        if isinstance(source, (str, Path)) and target is None and Path(source).expanduser().is_dir():
            return FolderSource.of_classes(source, self.schema_.target.name if self._is_fitted() else "class")
        source = super()._labelled_source(source, target)
        return TextColumn.of(source, self.column) if isinstance(source, FileSource) else source

    def _score(self, X: Any) -> Iterator[tuple[Block, Scores]]:
        self._check_is_fitted()
        texts = X if is_source(X) else {COLUMN: source_of(X, column=self.column).columns[COLUMN]}
        for block, scores in super()._score(texts):
            if self.ties == "random":  # drawn by what the document says
                block = replace(block, codes={COLUMN: content_hash(block.tokens[COLUMN])})
            yield block, scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.input_tags.sparse = False
        tags.input_tags.categorical = False
        tags.input_tags.one_d_array = True
        return tags

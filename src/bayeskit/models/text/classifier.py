"""TextClassifier: classes and probabilities of raw documents, by any of the naive Bayes recipes for text."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np

from bayeskit import logspace
from bayeskit.arrow_arrays import cut, is_arrow
from bayeskit.data.advice import SCRIPT_SAMPLE, script_advice
from bayeskit.data.block import Block
from bayeskit.data.io.files import FileSource
from bayeskit.data.missing_labels import LabeledRows
from bayeskit.data.schema import Schema, Target, Text
from bayeskit.data.source import Source, first_rows, in_one_state, is_source
from bayeskit.data.text.folders import COLUMN, FolderSource, TextColumn
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.text.word_list import WordLimits
from bayeskit.errors import BadFile, BayesError, BayesWarning, TooLarge, format_setting
from bayeskit.estimate.formulas import WrittenFactor
from bayeskit.estimate.prior import check_prior, class_prior
from bayeskit.evaluate.diagnosis import Diagnosis
from bayeskit.evaluate.metrics import cosine_similarity, cosine_to_centroids
from bayeskit.explain.work import AveragedWork, Work
from bayeskit.export.scoring_form import ScoringForm
from bayeskit.models.base import Classifier, rules
from bayeskit.models.base.available import available_if, conditional_property
from bayeskit.models.base.estimator import clone
from bayeskit.models.base.left_out import LeftOutRows
from bayeskit.models.base.persistence import classifier_form, refuse_random_ties
from bayeskit.models.base.scoring import stacked
from bayeskit.models.logistic_form import LogisticForm, words_form
from bayeskit.models.text import documents, explanations, recipe
from bayeskit.models.text.recipe import LeftOutBatch, Recipe, TextParameters, TrainingSource
from bayeskit.models.text.weighted_evidence import AutomaticRecipe, Best, WeightedEvidence
from bayeskit.storage.model_file import State
from bayeskit.tables import Records, Table, table_by_class
from bayeskit.tally.plan import Plan
from bayeskit.tally.rows import StoredDocuments
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import WordCounts
from bayeskit.tolerance import GONE
from bayeskit.typing import Array, Floats

# Words times classes: a table of 4 GB.
LARGEST_TABLE = 1 << 29
# Cells times classes that leave-one-out holds at a time.
LEFT_OUT_CELLS = 1 << 22

_BUILT_IN = (
    recipe.Multinomial(),
    recipe.SetOfWords(),
    recipe.Complement(),
    recipe.NormalizedComplement(),
    recipe.NormalizedMultinomial(),
    recipe.TransformedComplement(),
    recipe.TfIdf(),
    recipe.NaiveBayesSVM(),
    Best(),
    WeightedEvidence("weighted"),
    AutomaticRecipe("auto"),
    WeightedEvidence("fast", a_values=(1.0,), g_values=(1.0,)),
)
RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in _BUILT_IN}
"""The recipes by name. Add your own: models and model files can then use it."""


def _recipe_has(flag: str) -> Callable[[Any], bool]:
    """Check a flag of the recipe of a model; an unknown recipe is refused by the constructor settings instead."""

    def check(model: TextClassifier) -> bool:
        known = isinstance(model.recipe, str) and model.recipe in RECIPES
        return not known or bool(getattr(model._recipe, flag))

    return check


if_generative = available_if(
    _recipe_has("is_generative"), "the scores of this recipe are not the probability of a document"
)
if_left_out = available_if(
    _recipe_has("has_leave_one_out"),
    "the scores of this recipe without a document have no closed form: use bayeskit.cross_validate",
)
if_linear = available_if(
    _recipe_has("is_linear"), "with this recipe the weight of a word depends on the other words of its document"
)
if_updates = available_if(
    _recipe_has("can_update"), "this recipe is not a function of counts: fit it again on all documents"
)


def _fitted_part(name: str, doc: str, attribute: str = "") -> conditional_property:
    """Return a property for a fitted part of the recipe, absent for recipes without it."""

    def part(model: TextClassifier) -> Any:
        recipe = vars(model).get("recipe_")
        if not hasattr(recipe, name):
            reason = "it is not fitted yet" if recipe is None else f"recipe={recipe.name!r} fits no {name}"
            raise AttributeError(f"TextClassifier has no {attribute or f'{name}_'}: {reason}")
        return getattr(recipe, name)

    return conditional_property(part, doc=doc)


@dataclass(eq=False, repr=False)
class TextClassifier(Classifier):
    """Naive Bayes classifier of documents.

    Documents are strings in a list, a series, an Arrow column or a column of a table; ``fit_source`` reads files and
    folders.

    Parameters
    ----------
    recipe : str, default="auto"
        How words are weighted:

        - "auto": "best" from 500 documents on with at most 300 classes, else "weighted" on unigrams or bigrams.
        - "best": weighted evidence pooled with a logistic regression on folds.
        - "weighted": weighted evidence, which chooses its own smoothing.
        - "fast": weighted evidence with fixed settings.
        - "multinomial": multinomial naive Bayes.
        - "set_of_words": Bernoulli naive Bayes, which counts absent words.
        - "complement", "wcnb", "twcnb": complement naive Bayes, with normalized weights, and with all transforms of
          Rennie et al. (2003).
        - "wnb": multinomial with normalized weights.
        - "tfidf": multinomial on cosine-normalized tf-idf.
        - "nbsvm": Wang and Manning (2012), with margins calibrated on folds.
    smoothing : float, mapping, str or smoothing rule, default=None
        Pseudo-count of every word: a number, a mapping that gives some words their own (others 1), "auto" for the
        number under which the counts predict each other best, or a rule such as ``Lidstone(0.1)`` or ``MEstimate(m)``.
        None is 1, and for weighted evidence the better one of 1 and 0.3.
    prior : str, mapping or smoothing rule, default=None
        "empirical", "uniform", a mapping from class to probability, or a smoothing of the class counts. None is
        "empirical", and "uniform" for "wcnb", "wnb", "twcnb" and "nbsvm", whose weights are too small beside any other.
    pattern, lowercase, stop_words, hash_bits
        Definition of a word, see :class:`Tokenizer`. ``pattern=None`` is "words_and_emoji", and
        "words_and_punctuation" for "best".
    ngrams : (int, int), default=None
        Shortest and longest n-gram of words. None is (1, 1), and for "auto" and "best" the better one of (1, 1) and
        (1, 2).
    min_df, max_df : int or float, default=1 and 1.0
        Words in fewer or more documents (a count, or a share if a float) are left out. The vocabulary is then fixed.
    max_features : int, default=None
        Keep only so many words, the most frequent ones.
    column : str, default=None
        Name of the text column if documents come in a table.
    C, beta : float, default=1.0 and 0.25
        Of "nbsvm": the inverse penalty, and the share of the linear weights (the rest is their mean).
    schema, undecidable, ties, random_state, n_threads, unlabeled
        As for :class:`NaiveBayes`.
    characters : (int, int) or "auto", default=None
        Shortest and longest character n-gram counted inside each word, beside the words, such as (3, 5). "auto"
        (recipes "best" and "auto") tries words, pairs of words and these on folds.
    memory_limit : float, default=4e9
        Bytes that a fit may take beside the texts. If all documents take more, "best" and weighted evidence count all
        documents, fit their weights on a random sample and warn; "tfidf", "twcnb" and "nbsvm" raise. The other recipes
        hold no documents.
    keep_rows : bool, default=False
        Keep the documents in the model and in its file, so that ``forget(…, refit=True)`` can fit again what stays
        fixed otherwise. Documents that were never learned are then refused.

    Attributes
    ----------
    words_ : sequence of str
        The vocabulary, sorted.
    recipe_ : Recipe
        The fitted recipe; for "auto" the chosen one.
    weights_, candidates_, linear_, held_
        Fitted parts of weighted evidence, "best", "nbsvm" and the tf-idf recipes; absent for others.

    Notes
    -----
    Scores of "complement", "wcnb", "wnb" and "twcnb" are not joint probabilities, and ``predict_proba`` is not
    calibrated for them. It is calibrated by leave-one-out for "auto", "fast" and "weighted", and on folds for "best"
    and "nbsvm".

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

    recipe: str = "auto"
    smoothing: Any = None
    prior: Any = None
    pattern: Any = None
    ngrams: tuple[int, int] | None = None
    lowercase: bool = True
    stop_words: Any = None
    hash_bits: int | None = None
    min_df: int | float = 1
    max_df: int | float = 1.0
    max_features: int | None = None
    column: str | None = None
    C: float = 1.0
    beta: float = 0.25
    characters: Any = None
    memory_limit: float | None = field(default=4e9, kw_only=True)
    keep_rows: bool = field(default=False, kw_only=True)

    # Settings of tables that documents do not have.
    roles: ClassVar[Any] = None  # type: ignore[misc]
    domains: ClassVar[Any] = None  # type: ignore[misc]
    unseen: ClassVar[Literal["ignore", "smooth", "error"]] = "ignore"  # type: ignore[misc]
    temperature: ClassVar[float] = 1.0  # type: ignore[misc]

    _rows_are: ClassVar[str] = "documents"

    _rules: ClassVar[rules.Rules] = {
        "recipe": lambda name, value: rules.one_of(name, value, tuple(RECIPES)),
        "keep_rows": rules.flag,
        "prior": rules.optional(check_prior),
    }

    def _check_settings(self) -> None:
        """Refuse settings that do not fit together."""
        super()._check_settings()
        if isinstance(self.characters, str) and not (self.characters == "auto" and self.recipe in ("best", "auto")):
            raise BayesError(
                f'characters={self.characters!r}: "auto" is for recipes "best" and "auto", which try them on folds.',
                hint="Give the shortest and the longest run inside a word, such as (3, 5)",
            )
        WordLimits.of(self).check(least=0)
        RECIPES[self.recipe].check_settings(self)
        self.tokenizer()

    def tokenizer(self, ngrams: tuple[int, int] | None = None, pattern: str | None = None) -> Tokenizer:
        """Return the tokenizer of the settings.

        Parameters
        ----------
        ngrams : (int, int), optional
            Replace the n-grams of the settings.
        pattern : str, optional
            Pattern to use if the setting is None.

        Returns
        -------
        Tokenizer
        """
        if self.pattern is not None or pattern is None:
            pattern = self._recipe.default_pattern if self.pattern is None else self.pattern
        # "auto" counts no character n-grams before the fit.
        characters = None if isinstance(self.characters, str) else self.characters
        given = self.ngrams if ngrams is None else ngrams
        ngrams = (1, 1) if given is None else given
        return Tokenizer(pattern, ngrams, self.lowercase, self.stop_words, self.hash_bits, characters)

    @property
    def _recipe(self) -> Recipe:
        """The fitted recipe, or the unfitted one of the settings if the setting has changed."""
        fitted: Recipe | None = vars(self).get("recipe_")
        return fitted if fitted is not None and self.recipe in (fitted.name, "auto") else RECIPES[self.recipe]

    def _prior_setting(self) -> Any:
        return self._recipe.default_prior if self.prior is None else self.prior

    # -- fitting -------------------------------------------------------------------------------------

    def _plan(self, schema: Schema) -> Plan:
        """Plan to count the words of the text column."""
        return Plan(words=(COLUMN,))

    def fit_source(self, source: Any, target: str | None = None, engine: Any = None) -> Self:
        """Fit on a folder with one sub-folder per class, or on files whose column ``column`` holds the text.

        Recipes of counts read in parts and hold only the vocabulary; the others hold all documents.

        Parameters
        ----------
        source : path, paths or source
        target : str, optional
            Name of the class column; not needed for a folder.
        engine : Engine, optional
            Counts the words, such as ``Processes(2)``.

        Returns
        -------
        self

        Raises
        ------
        BayesError
            If the recipe looks at every document and an engine is given.
        TooLarge
            If the fit needs more than ``memory_limit``.
        """
        return super().fit_source(source, target, engine)

    def _fit_checked(self, source: Source) -> Self:
        with in_one_state(source):
            schema = self._schema_for(source)
            self._advise_script(source, schema)
            training = self._training(source, schema, None)
            recipe, tally = RECIPES[self.recipe].fit(training)
            tally = training.with_documents(tally)
        # If this fails, the model is unchanged.
        fresh = clone(self)._fit_recipe(recipe, tally)
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self.__dict__.update({name: value for name, value in vars(fresh).items() if name.endswith("_")})
        if not len(self.words_):
            role: Any = self.schema_.columns[COLUMN]
            pattern = format_setting("pattern", role.tokenizer.pattern)
            problem = f"no document has a word by {pattern}, and every answer is the prior:"
            warnings.warn(BayesWarning(problem, hint="see pattern= and stop_words="), stacklevel=2)
        return self

    def _advise_script(self, source: Source, schema: Schema) -> None:
        """Warn of documents that words cannot be read from, or whose emoji are left out."""
        role, batch = schema.columns.get(COLUMN), first_rows(source)
        if not isinstance(role, Text) or batch is None or COLUMN not in batch.columns:
            return
        some = cut(batch.columns[COLUMN], 0, min(batch.n_rows, SCRIPT_SAMPLE))
        pattern = self._recipe.default_pattern if self.pattern is None else self.pattern
        advised = script_advice(some.to_pylist() if is_arrow(some) else some.tolist(), pattern)
        if advised is not None and not self._has_advised(str(advised)):
            warnings.warn(advised, stacklevel=4)

    @if_updates
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add documents; new words and classes may appear at any time.

        A pruned vocabulary (``min_df`` and the like, bigrams of "auto" and "best", tf-idf recipes) stays fixed, and so
        do idf and fitted weights.

        Parameters
        ----------
        X : documents
        y : array-like of shape (n_documents,), or the name of a column of ``X``
        classes : array-like, optional
            Classes to declare ahead, as in scikit-learn.
        sample_weight : array-like of shape (n_documents,), optional

        Returns
        -------
        self
        """
        self._check_settings()
        if self._is_fitted() or self._recipe.counts_words:
            return super().partial_fit(X, y, classes, sample_weight)
        return self.fit(X, y, sample_weight)

    learn_source = if_updates(Classifier.learn_source)
    forget = if_updates(Classifier.forget)
    forget_source = if_updates(Classifier.forget_source)
    merge = if_updates(Classifier.merge)

    @if_updates
    def fit_tally(self, tally: Tally) -> Self:
        """Fit on counts alone, such as the ``tally_`` of another model.

        Parameters
        ----------
        tally : Tally

        Returns
        -------
        self

        Raises
        ------
        BayesError
            If the recipe fits anything on documents, or the tally is not one of documents.
        """
        return self._fit_recipe(self._recipe, tally)

    def _check_refit(self, refit: bool) -> None:
        if StoredDocuments.kind not in self.tally_.statistics:
            super()._check_refit(refit)

    def _drop_rows(self, left: Tally, refit: bool) -> Self:
        if refit and isinstance(kept := left.statistics.get(StoredDocuments.kind), StoredDocuments):
            return self._fit_checked(documents.stored_source(kept, left))
        return self._fit_recipe(self._recipe.forget_names(left), left)

    def _begin(self, tally: Tally) -> Self:
        return self.fit_tally(tally)

    def _fit_recipe(self, recipe: Recipe, tally: Tally) -> Self:
        """Fit on counts with a fitted recipe, such as the ``recipe_`` of another model."""
        if self.recipe not in (recipe.name, "auto"):
            raise BayesError(f"recipe={self.recipe!r} cannot use what {recipe.name!r} has fitted")
        before, known = dict(vars(self)), self.counted_ if self._is_fitted() else None
        self.recipe_: Any = recipe
        try:
            limited = documents.limit_tally(tally, known, self) if isinstance(tally, Tally) else tally
            return Classifier.fit_tally(self, limited)
        except BaseException:
            self.__dict__ = before
            raise

    def _collect(self, source: Source, schema: Schema, plan: Plan) -> Tally:
        known = self.counted_ if self._is_fitted() else None
        training = self._training(source, schema, known)
        return training.with_documents(self._recipe.count_more(training))

    def _training(self, source: Source, schema: Schema, known: WordCounts | None) -> TrainingSource:
        count = partial(super()._collect, source, schema, self._plan(schema))
        return TrainingSource(source, schema, self, known, count)

    def _with_tally(self, tally: Tally, **settings: Any) -> Self:
        other: Self = clone(self).set_params(**settings)
        return other._fit_recipe(self._recipe, tally)

    def _with_words(self, keep: Any) -> Self:
        """Build the model of some of the words from the same counts."""
        return self._with_tally(documents.restrict_tally(self.tally_, np.asarray(keep, dtype=bool)))

    @property
    def fixed_(self) -> tuple[str, ...]:
        """The parts that stay fixed when documents are added, removed or merged, such as "vocabulary" or "idf"."""
        parts = self.recipe_.fixed_parts(self.counted_)
        limited = self.min_df not in (0, 1) or self.max_df != 1.0 or self.max_features is not None
        return ("vocabulary", *parts) if limited and "vocabulary" not in parts else parts

    # -- persistence ---------------------------------------------------------------------------------

    def _settings_to_save(self) -> dict[str, Any]:
        """Return the settings for a file; "auto" is saved as the recipe it chose, unless it can choose again."""
        chosen = {"recipe": self._recipe.name} if self._is_fitted() and not self.keep_rows else {}
        return super()._settings_to_save() | chosen

    def _state_to_save(self) -> State | None:
        """Return the fitted part of the recipe for a file."""
        return self.recipe_.to_state()

    def _restore(self, tally: Tally, state: State | None) -> Self:
        """Restore a fitted model from a file."""
        self._check_settings()
        if COLUMN not in tally.words or set(tally.schema.columns) != {COLUMN}:
            raise BadFile("the counts are not those of documents")
        if self.keep_rows != (StoredDocuments.kind in tally.statistics):
            raise BadFile("the documents that the settings ask for are not there, or others are")
        recipe = RECIPES[self.recipe]
        if state is None and not recipe.counts_words:
            raise BadFile(f"a model of recipe {self.recipe!r} holds fitted weights beside counts")
        self._fit_recipe(recipe.from_state(state, tally), tally)
        if len(self.params_.table) != len(self.words_):
            raise BadFile("the weights of words are not those of the words that its settings keep")
        if np.isnan(self.params_.table).any() or np.isnan(self.params_.constant).any():
            raise BadFile("the counts give scores that are not numbers")
        return self

    # -- estimates and scores ------------------------------------------------------------------------

    def _estimate(self, tally: Tally) -> TextParameters:
        """Estimate the parameters from a tally."""
        n_words, n_classes = len(tally.words[COLUMN].words), len(tally.classes)
        if n_words * n_classes > LARGEST_TABLE:
            raise TooLarge(
                f"{n_words:,} words of {n_classes:,} classes make a table of over 4 GB:",
                hint="give hash_bits=, min_df= or max_features=",
            )
        log_prior = logspace.log(class_prior(self._prior_setting(), tally.classes, tally.class_counts))
        return self._recipe.estimate(tally, log_prior, self)

    def _log_joint(self, params: Any, block: Block) -> Floats:
        """Score a block of documents (documents, classes), straight from the text where the recipe can."""
        texts, role, n_threads = block.texts.get(COLUMN), self.schema_.columns[COLUMN], self._threads()
        scores: Floats | None = None
        if texts is not None and isinstance(role, Text):
            scores = params.text_scores(texts, role.tokenizer, n_threads)
        return params.scores(block.tokens[COLUMN], n_threads) if scores is None else scores

    def decision_function(self, X: Any) -> Floats:
        """Compute decision scores.

        Parameters
        ----------
        X : documents

        Returns
        -------
        ndarray of shape (n_documents, n_classes), or (n_documents,) with two classes
            With two classes, the score of the second minus that of the first.
        """
        scores = self.predict_joint_log_proba(X)
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    @if_generative
    def predict_column_log_proba(self, X: Any) -> dict[str, Floats]:
        """Compute ln P(words | class) of each document, without the multinomial coefficient.

        Parameters
        ----------
        X : documents

        Returns
        -------
        dict of str to ndarray of shape (n_documents, n_classes)
            The only key is "text". With ln P(class) it sums to ``predict_joint_log_proba``.
        """
        return {COLUMN: stacked([self._log_words(block) for block, _ in self._score(X)], len(self.classes_))}

    def _log_words(self, block: Block) -> Floats:
        """Score documents without the class prior, which may be 0 for some class."""
        params: Any = self.params_
        return self._log_joint(replace(params, log_prior=np.zeros_like(params.log_prior)), block)

    @if_generative
    def document_log_likelihood(self, X: Any, coefficient: bool = True, length: bool = False) -> Floats:
        """Compute ln P(document | class).

        Parameters
        ----------
        X : documents
        coefficient : bool, default=True
            For "multinomial", include the multinomial coefficient ℓ!/Πn!.
        length : bool, default=False
            For "multinomial", include P(ℓ), a Poisson distribution with the mean number of words of all classes.

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
        """
        parts = []
        for block, _ in self._score(X):
            scores = self._log_words(block)
            for term in self.recipe_.shared_terms(block.tokens[COLUMN], self.counted_, coefficient, length):
                scores = scores + term[:, None]
            parts.append(scores)
        return np.concatenate(parts)

    @if_generative
    def score_samples(self, X: Any) -> Floats:
        """Compute ln P(document) of the known words, with length and multinomial coefficient.

        Parameters
        ----------
        X : documents

        Returns
        -------
        ndarray of shape (n_documents,)
        """
        likelihood = self.document_log_likelihood(X, coefficient=True, length=True)
        return np.asarray(logspace.log_sum_exp(likelihood + self.params_.log_prior))

    @if_generative
    def sample(self, n: int = 1, random_state: Any = None) -> tuple[list[str], Array]:
        """Sample documents from the model.

        Parameters
        ----------
        n : int, default=1
        random_state : int or Generator, optional

        Returns
        -------
        documents : list of str
        classes : ndarray of shape (n,)
        """
        rng = np.random.default_rng(random_state if random_state is not None else self.random_state)
        labels = rng.choice(len(self.classes_), size=n, p=logspace.exp(self.params_.log_prior))
        return self.recipe_.sample(self.params_, self.counted_, labels, rng), self.classes_[labels]

    @if_left_out
    def _left_out(self) -> TextLeftOut:
        """Return an object that scores training documents without themselves."""
        return TextLeftOut(self, self.tally_)

    @if_left_out
    def leave_one_out_scores(self, X: Any, y: Any, sample_weight: Any = None) -> Floats:
        """Score each training document by the model fitted without it.

        For tf-idf recipes the idf of the others is fixed and the own vector made with df − 1; for weighted evidence
        the weights are fixed, which makes the scores slightly optimistic.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
        """
        left_out = self._left_out()
        source = self._labeled(X, y, sample_weight)
        return np.concatenate([left_out.scores(block) for block in self._encoder().blocks(source)])

    # -- fitted attributes ---------------------------------------------------------------------------

    @property
    def words_(self) -> Any:
        """The vocabulary, sorted."""
        return self.tally_.words[COLUMN].words

    @property
    def counted_(self) -> WordCounts:
        """Counts of words by class, and the lengths of documents."""
        return self.tally_.words[COLUMN]

    weights_ = _fitted_part("weights", 'Fitted weights of evidence (recipes "auto", "best", "weighted" and "fast").')
    candidates_ = _fitted_part("candidates", "Table of the candidates that were tried (recipes as for ``weights_``).")
    held_ = _fitted_part("frequencies", 'Document frequencies of the first fit (recipes "tfidf" and "twcnb").', "held_")
    linear_ = _fitted_part("linear", 'Fitted linear part (recipes "best" and "nbsvm").')

    @conditional_property
    def n_parameters_(self) -> int:
        """Number of free parameters of the class prior and of the words (generative recipes)."""
        recipe = vars(self).get("recipe_")
        if recipe is None or not recipe.is_generative:
            reason = "it is not fitted yet" if recipe is None else f"recipe={recipe.name!r} is not generative"
            raise AttributeError(f"TextClassifier has no n_parameters_: {reason}")
        n_classes = len(self.tally_.classes)
        return n_classes - 1 + n_classes * recipe.n_word_parameters(len(self.words_))

    # -- explanations --------------------------------------------------------------------------------

    def explain(  # type: ignore[override]  # words instead of columns
        self, X: Any, against: Any = None
    ) -> Records[explanations.WordsForAndAgainst]:
        """List the words for and against the class of each document; they sum to the log odds.

        Parameters
        ----------
        X : documents
        against : class value, optional
            Class to compare with; the runner-up by default.

        Returns
        -------
        list of WordsForAndAgainst
        """
        return explanations.explain_documents(self, self._score(X), against)

    @if_generative
    def work(self, row: Any) -> Work | AveragedWork:
        """Write out the posterior of one document: every word with its counts, and the products.

        Parameters
        ----------
        row : str, or documents with one document

        Returns
        -------
        Work

        Examples
        --------
        >>> from bayeskit.datasets import load_worked_example
        >>> sports = load_worked_example("sports")
        >>> model = TextClassifier("multinomial", pattern="words1").fit(sports["text"], sports["tag"])
        >>> work = model.work("A very close game")
        """
        return super().work([row] if isinstance(row, str) else row)

    def _write_factors(self, block: Block) -> list[WrittenFactor]:
        """Return the factors of the first document."""
        return self.recipe_.factors(block.tokens[COLUMN], self.tally_, self.params_)

    def telling_words(self, n: int = 10) -> explanations.TellingWords:
        """List the most characteristic words of each class.

        Parameters
        ----------
        n : int, default=10
            Words per class.

        Returns
        -------
        Table
            Class, word, count and evidence: the weight of the word for the class minus its mean weight for the others.
            Words are ranked by evidence times count.
        """
        return explanations.telling_words(self, n)

    def _column_table(self, column: str) -> Table:
        """Tabulate P(word | class) with counts; for a recipe that is not generative, the most characteristic words.

        The counts are occurrences, and for "set_of_words" documents that have the word.
        """
        if not self.recipe_.is_generative:
            return self.telling_words()
        counts, shares = self.recipe_.counts_and_probabilities(self.tally_, self.params_)
        target, classes = self.schema_.target.name, self.tally_.classes
        return table_by_class("word", self.words_.tolist(), counts.T, shares.T, target, classes)

    def diagnose(self, X: Any, y: Any, sample_weight: Any = None) -> Diagnosis:
        """Find pairs of words that are dependent within the classes, their cost, and how to reduce it.

        The 200 words with the highest information gain are examined, if at least five documents have them. Documents
        are scored by a model with the same settings without them; this model is unchanged.

        Parameters
        ----------
        X : documents
        y : array-like of shape (n_documents,), or the name of a column of ``X``
        sample_weight : array-like of shape (n_documents,), optional

        Returns
        -------
        Diagnosis

        Raises
        ------
        BayesError
            If all documents are of one class.
        """
        return explanations.diagnose_documents(self, X, y, sample_weight)

    def similarity(self, X: Any, other: Any = None) -> Floats:
        """Compute the cosine similarity of documents.

        Parameters
        ----------
        X : documents
        other : documents, optional
            By default ``X``.

        Returns
        -------
        ndarray of shape (n_documents, n_other)
        """
        a = self.document_values(X)
        return cosine_similarity(a, a if other is None else self.document_values(other))

    def centroid_similarity(self, X: Any) -> Floats:
        """Compute the cosine similarity of documents to the centroid of each class.

        Parameters
        ----------
        X : documents

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
        """
        return cosine_to_centroids(self.document_values(X), self.recipe_.value_sums(self.counted_))

    def document_values(self, X: Any) -> Any:
        """Compute the values that the recipe learns from, such as counts or tf-idf.

        Parameters
        ----------
        X : documents

        Returns
        -------
        CSR matrix of shape (n_documents, n_words)
        """
        parts = []
        for block in self._encoder().blocks(documents.documents_source(X, column=self.column)):
            rows = block.tokens[COLUMN]
            parts.append(documents.values_matrix(rows, self.recipe_.values(rows)))
        from scipy.sparse import vstack

        return parts[0] if len(parts) == 1 else vstack(parts, format="csr")

    # -- export --------------------------------------------------------------------------------------

    def _scoring_form(self) -> ScoringForm:
        """Return the weights of words as plain numbers, for SQL, ONNX and web pages."""
        refuse_random_ties(self)
        if self.hash_bits is not None:
            raise BayesError(f"hash_bits={self.hash_bits!r}: hashed words have no names to look up")
        base, term = self.params_.words_term(COLUMN)
        return classifier_form(self, base, [term])

    @if_linear
    def to_logistic(self) -> LogisticForm:
        """Return the same model as a linear classifier: an intercept and a weight for each word.

        Returns
        -------
        LogisticForm

        Examples
        --------
        >>> from bayeskit.datasets import load_worked_example
        >>> sports = load_worked_example("sports")
        >>> form = TextClassifier("multinomial", pattern="words1").fit(sports["text"], sports["tag"]).to_logistic()
        >>> weights = dict(zip(form.features, form.weights[0].round(6).tolist()))
        >>> round(float(form.intercept[0]), 6), weights["game"]          # ln 3/2, and ln (3/25)/(1/23)
        (0.405465, 1.015231)
        """
        base, term = self.params_.words_term(COLUMN)
        prior, weights = self._tempered(base), self._tempered(term.weights)
        opened = partial(documents.documents_source, column=self.column)
        return words_form(self.classes_, self._encoder(), prior, replace(term, weights=weights), opened)

    # -- reading -------------------------------------------------------------------------------------

    def _schema_for(self, source: Source) -> Schema:
        if self.schema is not None:
            return super()._schema_for(source)
        return Schema({COLUMN: Text(self.tokenizer())}, Target(source.target or "class"), named=False)

    def _labeled(self, X: Any, y: Any, sample_weight: Any) -> Source:
        if is_source(X):
            return self._labeled_source(X, y)
        self._require_y(y)
        return self._with_labels(documents.documents_source(X, y, sample_weight, self.column))

    def _labeled_source(self, source: Any, target: str | None, engine: Any = None) -> Source:
        if isinstance(source, (str, Path)) and target is None and Path(source).expanduser().is_dir():
            folder = FolderSource.of_classes(source, self.schema_.target.name if self._is_fitted() else "class")
            return folder if engine is None else super()._labeled_source(folder, None, engine)
        rows = super()._labeled_source(source, target)
        plain = rows.source if isinstance(rows, LabeledRows) else rows
        if isinstance(plain, FileSource):
            rows = self._with_labels(plain := TextColumn.of(plain, self.column))
        return rows if engine is None else super()._labeled_source(plain, None, engine)

    def _score(self, X: Any) -> Iterator[tuple[Block, Floats]]:
        self._check_is_fitted()
        texts = X if is_source(X) else {COLUMN: documents.documents_source(X, column=self.column).columns[COLUMN]}
        for block, scores in super()._score(texts):
            if self.ties == "random":
                # Random ties are drawn by the content of the document.
                block = replace(block, codes={COLUMN: documents.content_hash(block.tokens[COLUMN])})
            yield block, scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.input_tags.sparse = False
        tags.input_tags.categorical = False
        tags.input_tags.one_d_array = True
        return tags


class TextLeftOut(LeftOutRows):
    """Score training documents, each by the model without it."""

    def scores(self, block: Block) -> Floats:
        """Score a block (documents, classes); −∞ for a class that only the document itself has."""
        counts = self.tally.class_counts.astype(np.float64)
        labels, unit = self.labels_and_units(block)
        rows = block.tokens[COLUMN]
        scores = np.empty((block.n_rows, len(counts)))
        step = max(1, LEFT_OUT_CELLS * max(block.n_rows, 1) // max(len(rows.ids) * len(counts), 1))
        for start in range(0, block.n_rows, step):
            part = np.arange(start, min(start + step, block.n_rows))
            batch = LeftOutBatch(rows.take(part), labels[part], unit[part])
            scores[part] = self.model.recipe_.left_out_scores(self.tally, self.model.params_, batch)
        scores += self.log_priors(labels, unit)
        alone = counts[labels] - unit <= GONE * counts.sum()
        scores[np.flatnonzero(alone), labels[alone]] = -np.inf
        return scores

"""TextClassifier: raw documents in, classes and probabilities out, by any of the naive Bayes recipes for text."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from bayeskit import logspace
from bayeskit.data.schema import Schema, Text
from bayeskit.data.source import Source, in_one_state
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.errors import BadFile, BayesError, BayesWarning, TooLarge
from bayeskit.estimate.prior import class_prior
from bayeskit.evaluate.diagnosis import Diagnosis
from bayeskit.export.scoring_form import ScoringForm
from bayeskit.models.base.estimator import clone
from bayeskit.models.base.exporting import Exported, refuse_random_ties, whole_form
from bayeskit.models.base.settings import one_of
from bayeskit.models.logistic.form import LogisticForm, words_form
from bayeskit.models.text.document_classifier import DocumentClassifier, TextLeftOut
from bayeskit.models.text.parameters import Parameters
from bayeskit.models.text.reading import source_of
from bayeskit.models.text.recipe import CONDITIONAL, ParameterCount, Recipe, RecipeAttribute, Training, by_recipe
from bayeskit.models.text.recipes import RECIPES
from bayeskit.models.text.word_choice import check_limits, limits_of, tally_of_words, tally_within_limits
from bayeskit.remedy import Remedy, Setting
from bayeskit.storage.model_file import Saved, State
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import WordCounts
from bayeskit.typing import Floats

LARGEST_TABLE = 1 << 29  # words times classes
CHOOSE_CHARACTERS = (("auto", "best"), ("auto", "auto"))  # characters= and recipe=
CHOOSES, CHOSE_BEFORE = "auto", "weighted"  # the recipe that becomes another, and the one that it was in older files


@by_recipe(*CONDITIONAL)
@dataclass(eq=False, repr=False)
class TextClassifier(Exported, DocumentClassifier):
    """Naive Bayes for documents: strings in a list, a series or an Arrow column.

    Parameters
    ----------
    recipe: "auto" ("best" from 500 documents on, of at most 300 classes, else "weighted" on unigrams or bigrams),
        "best" (weighted evidence with a logistic regression over it, pooled on folds), "weighted" (weighted evidence,
        which chooses its own smoothing), "fast" (the same with everything fixed), "multinomial", "set_of_words"
        (Bernoulli, absent words counted), "complement", "wcnb" (complement, weights normalised), "twcnb" (all
        transforms of Rennie et al. 2003), "tfidf" (multinomial on cosine-normalised tf-idf), "nbsvm" (Wang and
        Manning 2012, its margins calibrated on folds).
    smoothing: pseudo-count of every word: a number, a mapping that gives some words their own (others 1), "auto" for
        the one under which the counts predict each other best, or a rule such as ``Lidstone(0.1)`` or
        ``MEstimate(m)``. None is 1, and for weighted evidence the better one of 1 and 0.3.
    prior: "empirical", "uniform" (off), a mapping from class to probability, or a smoothing of the class counts. None
        is "empirical", and "uniform" for "wcnb", "twcnb" and "nbsvm", whose weights it would drown.
    pattern, ngrams, lowercase, stop_words, hash_bits: what a word is, see ``Tokenizer``; ``pattern=None`` is "words",
        and for "best" "words_and_punctuation"; ``ngrams=None`` is (1, 1), and for "auto" and "best" the better one of
        (1, 1) and (1, 2).
    characters: shortest and longest run of characters counted inside each word, beside the words, such as (3, 5);
        "auto" (recipes "best" and "auto") tries words, pairs of words and these on folds. None: none.
    min_df, max_df, max_features: words in fewer or more documents are left out (a whole number of documents or a
        share), and all but the most frequent ones. The vocabulary is then held.
    column: the name of the text column where documents come in a table.
    C, beta: of "nbsvm": the inverse penalty, and how much of the linear weights is kept (the rest is their mean).
    schema, undecidable, ties, random_state, n_threads, unlabelled: as for ``NaiveBayes``.
    memory_limit: bytes that a fit may take beside the texts; None is 2 GB. Where all documents in their words take
        more, "best" and weighted evidence count all and fit their weights on a part that is drawn at random, and say
        so; "tfidf", "twcnb" and "nbsvm" refuse. The others hold no documents.

    Scores of "complement", "wcnb" and "twcnb" are scores, not joint probabilities: what ``predict_proba`` makes of them
    is not calibrated. That of "auto", "fast" and "weighted" is, by leave-one-out, and that of "best" and "nbsvm" on
    folds.

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
    schema: Schema | None = None
    undecidable: str = "prior"
    ties: str = "first"
    random_state: Any = None
    n_threads: int | None = None
    unlabelled: str = "error"
    characters: Any = None
    memory_limit: Any = 4e9

    weights_ = RecipeAttribute("weights")
    candidates_ = RecipeAttribute("candidates")
    held_ = RecipeAttribute("frequencies")
    linear_ = RecipeAttribute("linear")
    n_parameters_ = ParameterCount()

    @property
    def absent_by_recipe(self) -> Mapping[str, str]:
        """Methods that the recipe cannot honour, and why."""
        return self._recipe.absent if isinstance(self.recipe, str) and self.recipe in RECIPES else {}

    def _check_settings(self) -> None:
        super()._check_settings()
        one_of("recipe", self.recipe, tuple(RECIPES))
        if isinstance(self.characters, str) and (self.characters, self.recipe) not in CHOOSE_CHARACTERS:
            raise BayesError(
                Setting.given("characters", self.characters),
                ': "auto" is for recipes "best" and "auto", which try them on folds. Give the shortest and the longest '
                "run inside a word, such as (3, 5)",
            )
        check_limits(limits_of(self))
        RECIPES[self.recipe].check(self)
        self.tokenizer()

    def tokenizer(self, ngrams: tuple[int, int] | None = None, pattern: str | None = None) -> Tokenizer:
        """What a word is; ``ngrams`` in place of those of the settings, ``pattern`` where they have none."""
        runs = ngrams or self.ngrams or (1, 1)
        own = self._recipe.pattern if pattern is None else pattern
        inside = None if isinstance(self.characters, str) else self.characters  # "auto" is none before a fit
        return Tokenizer(
            own if self.pattern is None else self.pattern, runs, self.lowercase, self.stop_words, self.hash_bits, inside
        )

    # -- learning ------------------------------------------------------------------------------------

    def fit_source(self, source: Any, target: str | None = None, engine: Any = None) -> Self:
        """Learn from a folder with one sub-folder a class, or from files whose column ``column`` holds the text.

        Recipes of counts read in parts and hold no more than the vocabulary; the others hold all documents.
        """
        self._check_settings()
        source = self._labelled_source(source, target, engine)
        with in_one_state(source):
            training = self._training(source, self._schema_for(source), None)
            learnt = RECIPES[self.recipe].learn(training)
        fresh = clone(self)._fit_recipe(*learnt)  # where it fails, this one is as it was
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self.__dict__.update({name: value for name, value in vars(fresh).items() if name.endswith("_")})
        if not len(self.words_):
            self._tell_no_words()
        return self

    def _tell_no_words(self) -> None:
        """Warn of a model that knows no word."""
        role = self.schema_.columns[COLUMN]
        pattern = role.tokenizer.pattern if isinstance(role, Text) else self.pattern
        warnings.warn(
            BayesWarning(
                "no document has a word by ",
                Setting("pattern", pattern),
                ", and every answer is the prior: see ",
                Remedy("pattern"),
                Remedy("stop_words", clause=" and {}", without=""),
            ),
            stacklevel=3,
        )

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more documents; new words and classes may appear at any time.

        A vocabulary that was cut (``min_df`` and the like, bigrams of "auto" and "best", tf-idf recipes) is held, and
        so are idf and the fitted weights.
        """
        self._check_settings()
        if self._is_fitted() or self._recipe.plain_counts:
            return super().partial_fit(X, y, classes, sample_weight)
        return self.fit(X, y, sample_weight)

    def fit_tally(self, tally: Tally) -> Self:
        """Learn from counts alone."""
        return self._fit_recipe(self._recipe, tally)

    def _fit_recipe(self, recipe: Recipe, tally: Tally) -> Self:
        """Learn from counts under what a recipe has fitted before, such as the ``recipe_`` of another model."""
        if self.recipe not in (recipe.name, CHOOSES):
            raise BayesError(Setting.given("recipe", self.recipe), f" cannot go by what {recipe.name!r} has fitted")
        before, known = dict(vars(self)), self.counted_ if self._is_fitted() else None
        self.recipe_ = recipe
        try:
            return super().fit_tally(tally_within_limits(tally, known, self) if isinstance(tally, Tally) else tally)
        except BaseException:
            self.__dict__ = before
            raise

    def _collect(self, source: Source, schema: Schema, plan: Plan) -> Tally:
        known = self.counted_ if self._is_fitted() else None
        return self._recipe.count(self._training(source, schema, known))

    def _training(self, source: Source, schema: Schema, known: WordCounts | None) -> Training:
        count = partial(super()._collect, source, schema, self.plan(schema))
        return Training(source, schema, self, known, count)

    def _with_tally(self, tally: Tally, **settings: Any) -> Self:
        other: Self = clone(self).set_params(**settings)
        return other._fit_recipe(self._recipe, tally)

    def _with_words(self, keep: Any) -> Self:
        """A new model of these words alone (a mask over ``words_``), from the same counts: nothing is read again."""
        self._check_is_fitted()
        return self._with_tally(tally_of_words(self.tally_, np.asarray(keep, dtype=bool)))

    def _settings_to_save(self) -> dict[str, Any]:
        chosen = {"recipe": self._recipe.name} if self._is_fitted() else {}  # of "auto" the one that it chose
        return super()._settings_to_save() | chosen

    @classmethod
    def _of_saved(cls, saved: Saved) -> Self:
        if saved.settings.get("recipe") == CHOOSES:
            saved = replace(saved, settings={**saved.settings, "recipe": CHOSE_BEFORE})
        return super()._of_saved(saved)

    def _held_state(self) -> State | None:
        return self.recipe_.state()

    def _restore(self, tally: Tally, state: State | None) -> Self:
        self._check_settings()
        if COLUMN not in tally.words or set(tally.schema.columns) != {COLUMN}:
            raise BadFile("the counts are not those of documents")
        try:
            recipe = RECIPES[self.recipe].from_state(state, tally)
        except BadFile:
            raise
        except (KeyError, TypeError, ValueError) as problem:
            raise BadFile(f"fitted weights cannot be read: {problem}") from None
        self._fit_recipe(recipe, tally)
        if len(self.params_.table) != len(self.words_):
            raise BadFile("the weights of words are not those of the words that its settings keep")
        if np.isnan(self.params_.table).any() or np.isnan(self.params_.constant).any():
            raise BadFile("what was counted gives scores that are no numbers")
        return self

    # -- believing and saying ------------------------------------------------------------------------

    @property
    def _recipe(self) -> Recipe:
        """The recipe with what it has fitted; another one, where the setting has changed, has fitted nothing."""
        fitted: Recipe | None = vars(self).get("recipe_")
        return fitted if fitted is not None and self.recipe in (fitted.name, CHOOSES) else RECIPES[self.recipe]

    def estimate(self, tally: Tally) -> Parameters:
        n_words, n_classes = len(tally.words[COLUMN].words), len(tally.classes)
        if n_words * n_classes > LARGEST_TABLE:
            raise TooLarge(
                f"{n_words:,} words of {n_classes:,} classes make a table of over 4 GB: give ",
                Remedy("hash_bits"),
                Remedy("min_df", clause=", {} or max_features=", without=""),
            )
        log_prior = logspace.log(class_prior(self._recipe.prior_or(self.prior), tally.classes, tally.class_counts))
        return self._recipe.estimate(tally, log_prior, self)

    def _prior_setting(self) -> Any:
        return self._recipe.prior_or(self.prior)

    def _scoring_form(self) -> ScoringForm:
        """What words say, as plain numbers."""
        self._check_is_fitted()
        refuse_random_ties(self)
        if not hasattr(self, "predict_proba"):
            raise BayesError(
                Setting.given("recipe", self.recipe), " has margins and no probabilities to carry elsewhere"
            )
        if self.hash_bits is not None:
            raise BayesError(Setting.given("hash_bits", self.hash_bits), ": words in buckets have no names to look up")
        base, term = self.params_.words_term(COLUMN)
        return whole_form(self, base, [term])

    def to_logistic(self) -> LogisticForm:
        """The same model as a linear boundary over words: an intercept and a weight for each word.

        >>> from bayeskit.datasets import load_worked_example
        >>> sports = load_worked_example("sports")
        >>> form = TextClassifier("multinomial", pattern="words1").fit(sports["text"], sports["tag"]).to_logistic()
        >>> weights = dict(zip(form.features, form.weights[0].round(6).tolist()))
        >>> round(float(form.intercept[0]), 6), weights["game"]          # ln 3/2, and ln (3/25)/(1/23)
        (0.405465, 1.015231)
        """
        self._check_is_fitted()
        base, term = self.params_.words_term(COLUMN)
        prior, weights = self._tempered(base), self._tempered(term.weights)
        opened = partial(source_of, column=self.column)
        return words_form(self.classes_, self._encoder(), prior, replace(term, weights=weights), opened)

    def decision_function(self, X: Any) -> Floats:
        """Scores (documents, classes), or (documents,) of the second class against the first where there are two."""
        scores = self.predict_joint_log_proba(X)
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    def diagnose(self, X: Any, y: Any, sample_weight: Any = None) -> Diagnosis:
        """The pairs of words that come together within the classes, what they cost, and what helps.

        Looked at are the 200 words that tell most of the class, in at least five documents. Documents are scored by a
        model of the same settings without them; this model stays as it is.
        """
        from bayeskit.models.text.words_together import diagnose_documents

        return diagnose_documents(self, X, y, sample_weight)

    def _left_out(self) -> TextLeftOut:
        """Scores of learnt documents under the estimates made without them; see ``leave_one_out_scores``."""
        self._check_is_fitted()
        return TextLeftOut(self.recipe_, self.tally_, self.params_, self._recipe.prior_or(self.prior))

    def leave_one_out_scores(self, X: Any, y: Any, sample_weight: Any = None) -> Floats:
        """Scores (documents, classes) of the learnt documents, each by the model without it, to the last count.

        For tf-idf recipes the idf of the others is held and the own vector made with df − 1; for weighted evidence
        the weights are held, which makes it a little optimistic.
        """
        left_out = self._left_out()
        source = self._labelled(X, y, sample_weight)
        return np.concatenate([left_out.scores(block) for block in self._encoder().blocks(source)])

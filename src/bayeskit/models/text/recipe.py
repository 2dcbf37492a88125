"""A recipe: what is learnt of documents, what is believed of their words, and what it can honour.

A recipe is a frozen object. That of :mod:`bayeskit.models.text.recipes` holds nothing; ``learn`` and ``from_state``
give one that also holds what was fitted on documents, such as weights of evidence or document frequencies. The methods
of a classifier that depend on its recipe, and what they say where it cannot honour them, stand at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import getattr_static
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np

from bayeskit.data.schema import Schema
from bayeskit.data.source import Source, engine_of, naming_the_file
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.text.tokens import TokenRows
from bayeskit.data.text.word_list import Words
from bayeskit.errors import BadFile, BayesError
from bayeskit.estimate.formulas import WrittenFactor
from bayeskit.estimate.words import weights as word_weights
from bayeskit.estimate.words.left_out import LeftOutDocuments, LeftOutWords
from bayeskit.estimate.words.weights import WordWeights
from bayeskit.memory import memory_allowed
from bayeskit.models.base.available import Conditional
from bayeskit.models.text.parameters import Parameters, WordParameters
from bayeskit.models.text.reading import LabelledDocuments, read_all
from bayeskit.remedy import Remedy, Setting
from bayeskit.storage.model_file import State
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import WordCounts
from bayeskit.typing import Array, Floats

Model = TypeVar("Model", bound=type)

DRAWING = ("document_log_likelihood", "score_samples", "sample", "work", "predict_column_log_proba")
LEAVING_OUT = ("_left_out", "leave_one_out", "leave_one_out_scores")
PROBABILITIES = ("predict_proba", "predict_log_proba")
TALLYING = ("partial_fit", "learn_source", "forget", "forget_source", "merge", "fit_tally")
CONDITIONAL = (*DRAWING, *LEAVING_OUT, *PROBABILITIES, *TALLYING, "to_logistic")
"""Methods of a TextClassifier that a recipe may name as absent."""


class Settings(Protocol):
    """The settings of a TextClassifier that recipes go by."""

    recipe: str
    smoothing: Any
    ngrams: tuple[int, int] | None
    characters: Any
    min_df: int | float
    max_df: int | float
    max_features: int | None
    C: float
    beta: float
    n_threads: int | None
    memory_limit: Any

    def tokenizer(self, ngrams: tuple[int, int] | None = None, pattern: str | None = None) -> Tokenizer:
        """What a word is; ``pattern`` where the setting is None."""
        ...


@dataclass(frozen=True)
class Training:
    """Labelled documents as a recipe may take them: counted in parts by an engine, or all of them in memory.

    ``known`` is what was counted before, None in a first fit.
    """

    source: Source
    schema: Schema
    settings: Settings
    known: WordCounts | None
    count: Callable[[], Tally]

    def read(self) -> LabelledDocuments:
        """All documents at once, which an engine cannot give; they are read once."""
        return self._documents

    @cached_property
    def _documents(self) -> LabelledDocuments:
        if engine_of(self.source) is not None:
            raise BayesError.needs_rows(
                f'recipe="{self.settings.recipe}"',
                "looks at every document",
                ", or pass ",
                Remedy("recipe", "multinomial"),
            )
        with naming_the_file(self.source):
            return read_all(self.source, limit=memory_allowed(self.settings.memory_limit))


@dataclass(frozen=True)
class Leaving:
    """Learnt documents scored without themselves; ``unit`` (documents,) of each leaves the counts of its class."""

    rows: TokenRows
    labels: Array
    unit: Floats

    def with_values(self, learnt: Floats, values: Floats) -> LeftOutDocuments:
        """The same with the value of each cell that was learnt, and the one that it is scored by."""
        taken = learnt * np.repeat(self.unit, np.diff(self.rows.indptr))
        return LeftOutDocuments(self.rows.indptr, self.rows.ids, taken, values, self.labels, self.unit)


class Recipe:
    """A recipe over plain word counts, which need one reading in parts and can be moved; others override more.

    A new one gives at least ``name`` and :meth:`weigh`. With :meth:`_left_out` it has exact leave-one-out.
    """

    name: str
    prior: ClassVar[Any] = "empirical"
    """The class prior where the setting is None."""
    smoothing: ClassVar[Any] = 1.0
    """The pseudo-count of a word where the setting is None."""
    pattern: ClassVar[str] = "words"
    """What a word is where the setting is None."""
    plain_counts: ClassVar[bool] = True
    """The tally holds plain counts: documents are counted in parts, by any engine, and shared among classes by EM."""
    generative: ClassVar[bool] = False
    """Scores are ln P(document, class), and documents can be drawn; see :class:`GenerativeRecipe`."""
    probabilities: ClassVar[bool] = True
    """The softmax of scores is meant as probabilities."""
    weights_by_em: ClassVar[bool] = False
    """Documents without labels teach weights, see ``estimate/words/unlabelled_em.py``, instead of counts."""
    sum_over_words: ClassVar[bool] = False
    """A score is a constant and a weight for each word, however the others are."""
    parameters: ClassVar[type[WordParameters]] = WordParameters
    infinite: ClassVar[str] = ""
    """Which word would weigh infinitely without smoothing: one that … has; empty where none does."""

    @property
    def absent(self) -> Mapping[str, str]:
        """Methods of the classifier that this recipe cannot honour, and why."""
        absent: dict[str, str] = {}
        if not self.generative:
            absent |= dict.fromkeys(DRAWING, "its scores are not the probability of a document")
        if not self.sum_over_words:
            absent["to_logistic"] = "what a word says hangs on the other words of its document, or is no log odds"
        if type(self).left_out is Recipe.left_out:
            absent |= dict.fromkeys(LEAVING_OUT, "it has no closed form without a document: cross-validate")
        return absent

    # -- learning ------------------------------------------------------------------------------------

    def check(self, settings: Settings) -> None:
        """Refuse settings that mean nothing to the recipe."""
        return

    def learn(self, training: Training) -> tuple[Recipe, Tally]:
        """(the recipe with what it fitted, the tally) of the first documents."""
        return self, training.count()

    def count(self, training: Training) -> Tally:
        """The tally of more documents, in the values of the first ones."""
        return training.count()

    def values(self, rows: TokenRows) -> Floats:
        """What is learnt of each cell of some documents: these are summed by class."""
        return rows.counts.astype(np.float64)

    def learnt(self, counted: WordCounts) -> Floats:
        """Σ of the learnt values (words, classes)."""
        return counted.table().astype(np.float64)

    # -- believing -----------------------------------------------------------------------------------

    def prior_or(self, setting: Any) -> Any:
        """The class prior that the setting asks for, or the recipe's own."""
        return self.prior if setting is None else setting

    def weigh(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """The weight of each word for each class, from counts and pseudo-counts."""
        raise TypeError(f"recipe {self.name!r} does not weigh words")

    def estimate(self, tally: Tally, log_prior: Floats, settings: Settings) -> Parameters:
        """What is believed, a pure function of the tally and of what the recipe holds."""
        counted = tally.words[COLUMN]
        pseudo = self.pseudo_counts(settings, counted.words, counted)
        if self.infinite and not pseudo.all():
            word = counted.words[int(np.flatnonzero(pseudo == 0)[0])]
            raise BayesError(
                Setting("recipe", self.name),
                f" needs smoothing over 0 for every word, and {word!r} has none: a word that "
                f"{self.infinite} has would weigh infinitely",
            )
        weights = self.weigh(counted, tally.class_counts.astype(np.float64), pseudo)
        return self.believed(log_prior, counted.words, weights, pseudo)

    def believed(self, log_prior: Floats, words: Words, weights: WordWeights, pseudo: Floats) -> WordParameters:
        """The weights, and by which values documents are scored."""
        return self.parameters(log_prior, words, weights, pseudo)

    def pseudo_counts(self, settings: Settings, words: Words, counted: WordCounts | None = None) -> Floats:
        """α_w of each word (words,)."""
        smoothing = self.smoothing if settings.smoothing is None else settings.smoothing
        counts = np.zeros((len(words), 1)) if counted is None or smoothing != "auto" else counted.table()
        return word_weights.pseudo_counts(smoothing, words, counts)

    # -- leaving out ---------------------------------------------------------------------------------

    def left_out(self, tally: Tally, params: Any, leaving: Leaving) -> Floats:
        """Scores without prior (documents, classes), each document taken out of what was counted."""
        raise TypeError(f"recipe {self.name!r} leaves no document out")

    def words_left(self, tally: Tally, params: Any, documents: LeftOutDocuments) -> LeftOutWords:
        """The learnt sums without each document."""
        counted = tally.words[COLUMN]
        having = counted.totals("documents").astype(np.float64)
        return LeftOutWords(self.learnt(counted), params.pseudo, documents, having)

    # -- storage -------------------------------------------------------------------------------------

    def state(self) -> State | None:
        """What the recipe holds, for a file; None where the counts are all."""
        return None

    def from_state(self, state: State | None, tally: Tally) -> Self:
        """The recipe that holds what :meth:`state` wrote, everything checked; :class:`BadFile` for anything else."""
        if state is not None:
            raise BadFile(f"a model of recipe {self.name!r} holds nothing beside counts")
        return self


class GenerativeRecipe(Recipe):
    """A recipe that says how documents come about."""

    generative = True

    def n_free(self, n_words: int) -> int:
        """Free parameters of the words in each class: all but one of a distribution over them."""
        return max(n_words - 1, 0)

    def shared_terms(self, rows: TokenRows, counted: WordCounts, coefficient: bool, length: bool) -> tuple[Floats, ...]:
        """Parts of ln P(document ∣ class) that are the same for all classes (documents,), and not in the scores."""
        return ()

    def counts_and_shares(self, tally: Tally, params: Any) -> tuple[Array, Floats]:
        """What was counted of each word in each class, and P(word | class), both (words, classes)."""
        raise TypeError(f"recipe {self.name!r} has no probabilities of words")

    def written_out(self, rows: TokenRows, tally: Tally, params: Any) -> list[WrittenFactor]:
        """The factors of the first document, as counts and what is added to them."""
        raise TypeError(f"recipe {self.name!r} writes no documents out")

    def draw(self, params: Any, counted: WordCounts, labels: Array, rng: np.random.Generator) -> list[str]:
        """A document of each class that is asked for."""
        raise TypeError(f"recipe {self.name!r} draws no documents")


class RecipeMethod(Conditional):
    """A method that is there unless ``model.absent_by_recipe`` names it."""

    def __init__(self, name: str, method: Any) -> None:
        self.name, self.method = name, method
        self.__doc__ = method.__doc__

    def __get__(self, model: Any, kind: type | None = None) -> Any:
        if model is not None and (why := model.absent_by_recipe.get(self.name)) is not None:
            raise AttributeError(f"{type(model).__name__} has no {self.name}: with recipe={model.recipe!r}, {why}")
        return self.method.__get__(model, kind)


class RecipeAttribute(Conditional):
    """What the fitted recipe holds under a name of its own, where it does."""

    def __init__(self, held: str) -> None:
        self.held = held

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, kind: type | None = None) -> Any:
        if model is None:
            return self
        recipe = vars(model).get("recipe_")
        if not hasattr(recipe, self.held):
            why = "nothing is fitted yet" if recipe is None else f"recipe={recipe.name!r} fits no {self.held}"
            raise AttributeError(f"{type(model).__name__} has no {self.name}: {why}")
        return getattr(recipe, self.held)


class ParameterCount(Conditional):
    """Free parameters of the class prior and of the words, where the recipe says how documents come about."""

    def __get__(self, model: Any, kind: type | None = None) -> Any:
        if model is None:
            return self
        recipe = vars(model).get("recipe_")
        if not isinstance(recipe, GenerativeRecipe):
            why = "nothing is fitted yet" if recipe is None else f"recipe={recipe.name!r} is no distribution over words"
            raise AttributeError(f"{type(model).__name__} has no n_parameters_: {why}")
        n_classes = len(model.tally_.classes)
        return n_classes - 1 + n_classes * recipe.n_free(len(model.words_))


def by_recipe(*names: str) -> Callable[[Model], Model]:
    """Let ``model.absent_by_recipe``, from method to reason, rule over these methods of a class, inherited or not."""

    def ruled(kind: Model) -> Model:
        for name in names:
            setattr(kind, name, RecipeMethod(name, getattr_static(kind, name)))
        return kind

    return ruled

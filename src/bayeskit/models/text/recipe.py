"""Base classes of the text recipes: how words are weighted and how documents are scored by these weights.

A recipe is a frozen object. An unfitted one holds only its settings; ``fit`` and ``from_state`` return a copy that also
holds what was fitted on documents, such as word weights or document frequencies. Its parameters score documents:

    score_c = ln P(c) + constant_c + Σ_w value_w · table[w, c]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from bayeskit import kernels
from bayeskit.data.schema import Schema
from bayeskit.data.source import Source, engine_of, naming_the_file
from bayeskit.data.text.documents import Documents
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.text.tokens import TokenRows
from bayeskit.data.text.word_list import Words
from bayeskit.data.vocabulary import Vocabulary, positions
from bayeskit.errors import BadFile, BayesError, format_setting
from bayeskit.estimate.word_weights import (
    BernoulliWeights,
    LeftOutDocuments,
    LeftOutWords,
    WordWeights,
    pseudo_counts,
)
from bayeskit.export.scoring_form import WordsTerm
from bayeskit.memory import memory_allowed
from bayeskit.models.text.documents import LabeledDocuments, read_documents
from bayeskit.storage.model_file import State
from bayeskit.tally.rows import StoredDocuments
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import WordCounts
from bayeskit.typing import Array, Floats, Ints

if TYPE_CHECKING:
    from bayeskit.models.text.classifier import TextClassifier


# Weights beyond this overflow when they are summed; no fit produces them.
LARGEST_WEIGHT = 1e15


def check_weight(number: Any) -> float:
    """Return a number read from a model file; refuse anything but a finite weight."""
    if type(number) not in (int, float) or not abs(number) < LARGEST_WEIGHT:
        raise BadFile(f"{number!r} is not a weight")
    return float(number)


def check_weights(array: Array, *shape: int) -> None:
    """Refuse an array read from a model file unless it has this shape and holds finite weights."""
    if array.shape != shape or array.dtype.kind != "f" or not (np.abs(array) < LARGEST_WEIGHT).all():
        raise BadFile("the fitted weights do not fit the model, or are not numbers")


# -- parameters ------------------------------------------------------------------------------------------


class TextParameters(ABC):
    """Fitted parameters of a text model: score documents and explain the scores."""

    log_prior: Floats
    vocabulary: Words

    @property
    def words(self) -> Mapping[str, Words]:
        """The vocabulary by column, for the encoder."""
        return {COLUMN: self.vocabulary}

    @property
    def vocabularies(self) -> Mapping[str, Vocabulary]:
        """Vocabularies of coded columns, for the encoder: text models have none."""
        return {}

    @property
    @abstractmethod
    def constant(self) -> Floats:
        """Scores of a document before its words are added (n_classes,)."""

    @property
    @abstractmethod
    def table(self) -> Floats:
        """Weight of one occurrence of each word (words, classes)."""

    @abstractmethod
    def scores_without_words(self, rows: TokenRows) -> Floats:
        """Compute the scores before any word is added (documents, classes)."""

    @abstractmethod
    def scores(self, rows: TokenRows, n_threads: int) -> Floats:
        """Compute the scores of documents given as counted words (documents, classes)."""

    def text_scores(self, texts: Documents, tokenizer: Tokenizer, n_threads: int) -> Floats | None:
        """Compute the scores in one pass over the text; None if its words must be counted first."""
        return None

    @abstractmethod
    def contributions(self, rows: TokenRows) -> Floats:
        """Compute the addend of each cell to the score (cells, classes)."""

    def contribution_parts(self, rows: TokenRows) -> tuple[Floats, ...]:
        """Split the contributions of cells into named addends (cells, classes); empty if there is one only."""
        return ()

    def words_term(self, name: str) -> tuple[Floats, WordsTerm]:
        """Export the scores as (base (n_classes,), sum over words)."""
        raise BayesError(
            "this recipe weights a word by the other words of its document, so it cannot be exported as a sum over "
            "words"
        )


@dataclass(frozen=True)
class WordParameters(TextParameters):
    """Parameters of a sum over words; the value of a word is its count in the document."""

    log_prior: Floats
    vocabulary: Words
    weights: WordWeights
    pseudo: Floats

    def values(self, rows: TokenRows) -> Floats:
        """Compute the value of each cell (cells,)."""
        return rows.counts.astype(np.float64)

    @property
    def constant(self) -> Floats:
        """Scores of a document before its words are added (n_classes,)."""
        return np.asarray(self.log_prior + self.weights.constant)

    @property
    def table(self) -> Floats:
        """Weight of one occurrence of each word (words, classes)."""
        return self.weights.table

    def scores_without_words(self, rows: TokenRows) -> Floats:
        """Compute the scores before any word is added; a Bernoulli model counts all words as absent."""
        return np.tile(self.constant, (len(rows.lengths), 1))

    def scores(self, rows: TokenRows, n_threads: int) -> Floats:
        """Compute the scores of documents (documents, classes)."""
        out = self.scores_without_words(rows)
        kernels.score_rows(rows.indptr, rows.ids, self.values(rows), self.table, out, n_threads)
        return out

    def words_term(self, name: str) -> tuple[Floats, WordsTerm]:
        """Export the scores as (base (n_classes,), sum over words)."""
        return self.constant, WordsTerm(name, tuple(self.vocabulary.tolist()), self.table)

    def contributions(self, rows: TokenRows) -> Floats:
        """Compute the addend of each cell to the score (cells, classes)."""
        return np.asarray(self.values(rows)[:, None] * self.table[rows.ids])


@dataclass(frozen=True)
class PresenceParameters(WordParameters):
    """Parameters of a sum over distinct words: a word counts once, however often it occurs."""

    def values(self, rows: TokenRows) -> Floats:
        """Return 1 for each cell (cells,)."""
        return np.ones(len(rows.ids))

    def words_term(self, name: str) -> tuple[Floats, WordsTerm]:
        """Export the scores; each distinct word counts once."""
        base, term = super().words_term(name)
        return base, replace(term, presence=True)


@dataclass(frozen=True)
class BernoulliParameters(PresenceParameters):
    """Parameters of a Bernoulli model, in which words may be certain without smoothing."""

    weights: BernoulliWeights

    @cached_property
    def presence_table(self) -> Floats:
        """Addend of a present word to :meth:`scores_without_words` (words, classes): ln p for certain words."""
        if not len(self.weights.certain):
            return self.table
        table = self.table.copy()
        table[self.weights.certain] = self.weights.present
        return table

    def scores_without_words(self, rows: TokenRows) -> Floats:
        """Sum the scores of absent words; of the certain words only those that the document lacks."""
        scores = super().scores_without_words(rows)
        if len(self.weights.certain):
            position = np.full(len(self.vocabulary), -1)
            position[self.weights.certain] = np.arange(len(self.weights.certain))
            scores += _sum_over_lacking(rows, position, self.weights.absent)
        return scores

    def scores(self, rows: TokenRows, n_threads: int) -> Floats:
        """Compute the scores of documents (documents, classes)."""
        out = self.scores_without_words(rows)
        kernels.score_rows(rows.indptr, rows.ids, self.values(rows), self.presence_table, out, n_threads)
        return out

    def contributions(self, rows: TokenRows) -> Floats:
        """Compute the addend of each cell to the score (cells, classes)."""
        return np.asarray(self.presence_table[rows.ids])

    def words_term(self, name: str) -> tuple[Floats, WordsTerm]:
        """Export the scores; refuse words that are certain."""
        if len(self.weights.certain):
            word = self.vocabulary[int(self.weights.certain[0])]
            raise BayesError(
                f"every document of a class has {word!r}, so without smoothing a document that lacks it is impossible, "
                "and a sum over present words cannot express this.",
                hint="Smooth the estimates.",
            )
        return super().words_term(name)


def _sum_over_lacking(rows: TokenRows, position: Ints, absent: Floats) -> Floats:
    """Sum ``absent`` (k, classes) over those of k words that each document lacks; word w is number ``position[w]``."""
    from scipy.sparse import csr_matrix

    documents = np.repeat(np.arange(len(rows.lengths)), np.diff(rows.indptr))
    words = position[rows.ids]
    is_one = words >= 0
    shape = (len(rows.lengths), len(absent))
    present = csr_matrix((np.ones(is_one.sum()), (documents[is_one], words[is_one])), shape=shape)
    impossible = np.isneginf(absent)
    finite = np.where(impossible, 0.0, absent)
    n_impossible = impossible.sum(axis=0) - present @ impossible.astype(np.float64)
    return np.where(n_impossible > 0, -np.inf, finite.sum(axis=0) - present @ finite)


# -- recipes ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainingSource:
    """Labeled documents for a recipe: counted in parts by an engine, or read into memory at once.

    ``known`` are the counts of earlier documents, None in the first fit.
    """

    source: Source
    schema: Schema
    settings: TextClassifier
    known: WordCounts | None
    count: Callable[[], Tally]

    @cached_property
    def documents(self) -> LabeledDocuments:
        """All documents in memory; refused for an engine, which only counts."""
        if engine_of(self.source) is not None:
            raise BayesError(
                f"{format_setting('recipe', self.settings.recipe)} looks at every document, and an engine only counts: "
                f"fit without engine=, on rows that this machine can read, or pass "
                f"{format_setting('recipe', 'multinomial')}"
            )
        with naming_the_file(self.source):
            return read_documents(self.source, limit=memory_allowed(self.settings.memory_limit))

    def with_documents(self, tally: Tally) -> Tally:
        """Return the tally of these documents, with the documents themselves if the model keeps them."""
        if not self.settings.keep_rows:
            return tally
        read = self.documents
        labels = positions(read.classes, tally.classes)[read.labels].astype(np.uint32)
        return tally.with_statistic(StoredDocuments(COLUMN, read.texts, labels, read.weights))


@dataclass(frozen=True)
class LeftOutBatch:
    """Training documents to score without themselves; ``unit`` (documents,) is the weight each one removes."""

    rows: TokenRows
    labels: Array
    unit: Floats

    def with_values(self, learned: Floats, values: Floats) -> LeftOutDocuments:
        """Attach the value of each cell in the counts and its value in the score."""
        removed = learned * np.repeat(self.unit, np.diff(self.rows.indptr))
        return LeftOutDocuments(self.rows.indptr, self.rows.ids, removed, values, self.labels, self.unit)


class Recipe:
    """A recipe over plain word counts, which are read in parts and can be updated; others override more.

    A new recipe defines at least ``name`` and :meth:`word_weights`. With ``score_left_out`` or :meth:`left_out_scores`
    it has exact leave-one-out.
    """

    name: str = ""
    default_prior: ClassVar[Any] = "empirical"
    """The class prior if the setting is None."""
    default_smoothing: ClassVar[Any] = 1.0
    """The pseudo-count of a word if the setting is None."""
    default_pattern: ClassVar[str] = "words"
    """The token pattern if the setting is None."""
    counts_words: ClassVar[bool] = True
    """The tally holds plain counts: any engine can collect it, and EM can split documents among classes."""
    is_generative: ClassVar[bool] = False
    """Scores are ln P(document, class), and documents can be sampled; see :class:`GenerativeRecipe`."""
    has_probabilities: ClassVar[bool] = True
    """The softmax of scores estimates P(class | document)."""
    learns_by_weighted_em: ClassVar[bool] = False
    """Unlabeled documents train word weights (see ``estimate/weighted_evidence.py``) instead of counts."""
    is_linear: ClassVar[bool] = False
    """A score is a constant plus one weight per word, whatever the other words are."""
    can_update: ClassVar[bool] = True
    """Documents can be added, removed and merged after the fit."""
    parameters: ClassVar[type[WordParameters]] = WordParameters
    infinite: ClassVar[str] = ""
    """Without smoothing, a word that "no other class" has would get an infinite weight; empty if none would."""
    score_left_out: ClassVar[Callable[..., Floats]]
    """The formula of the scores from value sums without each document."""

    @property
    def has_leave_one_out(self) -> bool:
        """True if the scores without one document have a closed form."""
        return hasattr(self, "score_left_out") or type(self).left_out_scores is not Recipe.left_out_scores

    # -- fitting -------------------------------------------------------------------------------------

    def check_settings(self, settings: TextClassifier) -> None:
        """Refuse settings that the recipe does not support."""

    def fit(self, training: TrainingSource) -> tuple[Recipe, Tally]:
        """Fit on the first documents; return the fitted recipe and the tally."""
        return self, training.count()

    def count_more(self, training: TrainingSource) -> Tally:
        """Count further documents in the same values as the first ones."""
        return training.count()

    def forget_names(self, tally: Tally) -> Self:
        """Return the fitted recipe without the words and classes that the tally does not have."""
        return self

    def fixed_parts(self, counted: WordCounts) -> tuple[str, ...]:
        """List what stays fixed when documents are added or removed."""
        return ("vocabulary",) if counted.pruned else ()

    def values(self, rows: TokenRows) -> Floats:
        """Compute the value of each cell that is summed by class (cells,)."""
        return rows.counts.astype(np.float64)

    def value_sums(self, counted: WordCounts) -> Floats:
        """Return the sums of the values by class (words, classes)."""
        return counted.table().astype(np.float64)

    # -- estimates -----------------------------------------------------------------------------------

    def word_weights(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """Compute the weight of each word for each class from counts and pseudo-counts."""
        raise NotImplementedError(f"recipe {self.name!r} has no word weights")

    def estimate(self, tally: Tally, log_prior: Floats, settings: TextClassifier) -> TextParameters:
        """Compute the parameters, a pure function of the tally and of the fitted recipe."""
        counted = tally.words[COLUMN]
        pseudo = self.pseudo_counts(settings, counted.words, counted)
        if self.infinite and not pseudo.all():
            word = counted.words[int(np.flatnonzero(pseudo == 0)[0])]
            raise BayesError(
                f"{format_setting('recipe', self.name)} needs smoothing over 0 for every word, and {word!r} has none: "
                f"a word that {self.infinite} has would weigh infinitely"
            )
        weights = self.word_weights(counted, tally.class_counts.astype(np.float64), pseudo)
        return self.parameters(log_prior, counted.words, weights, pseudo)

    def pseudo_counts(self, settings: TextClassifier, words: Words, counted: WordCounts | None = None) -> Floats:
        """Compute the pseudo-count of each word (words,)."""
        smoothing = self.default_smoothing if settings.smoothing is None else settings.smoothing
        counts = np.zeros((len(words), 1)) if counted is None or smoothing != "auto" else counted.table()
        return pseudo_counts(smoothing, words, counts)

    # -- leave-one-out -------------------------------------------------------------------------------

    def left_out_scores(self, tally: Tally, params: Any, batch: LeftOutBatch) -> Floats:
        """Compute scores without prior (documents, classes), each document removed from the counts."""
        return self.score_left_out(self.left_out_words(tally, params, batch, params.values(batch.rows)))

    def left_out_words(self, tally: Tally, params: Any, batch: LeftOutBatch, values: Floats) -> LeftOutWords:
        """Return the value sums without each document; ``values`` (cells,) are those by which it is scored."""
        counted = tally.words[COLUMN]
        documents = batch.with_values(self.values(batch.rows), values)
        n_documents = counted.totals("documents").astype(np.float64)
        return LeftOutWords(self.value_sums(counted), params.pseudo, documents, n_documents)

    # -- persistence ---------------------------------------------------------------------------------

    def to_state(self) -> State | None:
        """Return the fitted part for a file; None if the counts are all there is."""
        return None

    def from_state(self, state: State | None, tally: Tally) -> Self:
        """Restore the fitted recipe from :meth:`to_state`; raise BadFile if anything does not fit."""
        if state is not None:
            raise BadFile(f"a model of recipe {self.name!r} holds nothing beside counts")
        return self


class GenerativeRecipe(Recipe):
    """A recipe that models P(document | class).

    It also defines ``sample``, ``factors`` and ``counts_and_probabilities``, as :class:`Multinomial` does.
    """

    is_generative = True

    def n_word_parameters(self, n_words: int) -> int:
        """Count the free word parameters of each class: one less than the words of a distribution."""
        return max(n_words - 1, 0)

    def shared_terms(self, rows: TokenRows, counted: WordCounts, coefficient: bool, length: bool) -> tuple[Floats, ...]:
        """Return the terms of ln P(document | class) that are equal for all classes (documents,)."""
        return ()

"""Text recipes: how words are weighted and how documents are scored by these weights.

A recipe is a frozen object. An unfitted one holds only its settings; ``fit`` and ``from_state`` return a copy that also
holds what was fitted on documents, such as word weights or document frequencies. Its parameters score documents:

    score_c = ln P(c) + constant_c + Σ_w value_w · table[w, c]

Here are the base classes and the recipes of the literature: multinomial, Bernoulli, complement (Rennie et al. 2003),
tf-idf and naive Bayes SVM.

The tf-idf recipes keep the document frequencies of the first fit. A tally stores only positive cells, and a tf-idf may
be 0 (a word of every document), so they add 1 for presence to the values that are summed and subtract it again before
anything is estimated.

"nbsvm" is a linear support vector machine on words weighted by their naive Bayes log-count ratio (S. Wang and C. D.
Manning, "Baselines and Bigrams: Simple, Good Sentiment and Topic Classification", 2012). With presence indicators f and
classes y = ±1: p = α + Σ_{y=1} f, q = α + Σ_{y=−1} f, r = ln((p/∥p∥₁) / (q/∥q∥₁)). The machine is trained on r ∘ f, and
its weights w are interpolated with their mean magnitude: w' = (1 − β) w̄ + β w. This is the mean of two classifiers,
naive Bayes w̄ (r·f + ln(N₊/N₋)) and the machine w·(r ∘ f) + b, so the constant is the same mean of theirs. With more
than two classes there is one machine per class, against the rest. Margins m become probabilities softmax(s m + b): the
scale s and a bias for each class are fitted on folds, on margins of documents by machines trained without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.schema import Schema
from bayeskit.data.source import Source, engine_of, naming_the_file
from bayeskit.data.text.documents import Documents
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.text.tokens import TokenRows
from bayeskit.data.text.word_list import Words
from bayeskit.data.vocabulary import Vocabulary, positions
from bayeskit.errors import BadFile, BayesError, format_setting
from bayeskit.estimate import word_weights as weights
from bayeskit.estimate.formulas import WrittenFactor
from bayeskit.estimate.smoothing import is_number, smoothed
from bayeskit.estimate.temperature import fit_scale_and_bias
from bayeskit.estimate.word_weights import BernoulliWeights, LeftOutDocuments, LeftOutWords, WordWeights
from bayeskit.export.scoring_form import WordsTerm
from bayeskit.memory import memory_allowed
from bayeskit.models.text import documents
from bayeskit.models.text.documents import LabeledDocuments, WordSums, document_frequency, select_words
from bayeskit.storage.model_file import State
from bayeskit.tally.rows import RowBatch, StoredDocuments
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import WordCounts
from bayeskit.tolerance import ROUNDING
from bayeskit.typing import Array, Floats, Ints

if TYPE_CHECKING:
    from bayeskit.models.text.classifier import TextClassifier

# Weights beyond this overflow when they are summed; no fit produces them.
LARGEST_WEIGHT = 1e15
# As many folds, up to three, as hold out so many documents.
FOLDS, HELD_OUT = 3, 4_000
SEED = 0


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


class TextParameters:
    """Fitted parameters of a text model: score documents and explain the scores.

    A subclass has ``constant`` (scores before words are added, (n_classes,)), ``table`` (weight of one occurrence of
    each word, (n_words, n_classes)), ``scores_without_words(rows)`` and ``scores(rows, n_threads)``, both
    (n_documents, n_classes), and ``contributions(rows)``, the addend of each cell, (n_cells, n_classes).
    """

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

    def text_scores(self, texts: Documents, tokenizer: Tokenizer, n_threads: int) -> Floats | None:
        """Compute the scores in one pass over the text; None if its words must be counted first."""
        return None

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

    @property
    def cell_table(self) -> Floats:
        """Addend to :meth:`scores_without_words` of a cell of value 1 (words, classes)."""
        return self.table

    def scores_without_words(self, rows: TokenRows) -> Floats:
        """Compute the scores before any word is added; a Bernoulli model counts all words as absent."""
        return np.tile(self.constant, (len(rows.lengths), 1))

    def scores(self, rows: TokenRows, n_threads: int) -> Floats:
        """Compute the scores of documents (documents, classes)."""
        out = self.scores_without_words(rows)
        kernels.score_rows(rows.indptr, rows.ids, self.values(rows), self.cell_table, out, n_threads)
        return out

    def words_term(self, name: str) -> tuple[Floats, WordsTerm]:
        """Export the scores as (base (n_classes,), sum over words)."""
        return self.constant, WordsTerm(name, tuple(self.vocabulary.tolist()), self.table)

    def contributions(self, rows: TokenRows) -> Floats:
        """Compute the addend of each cell to the score (cells, classes)."""
        return np.asarray(self.values(rows)[:, None] * self.cell_table[rows.ids])


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
    def cell_table(self) -> Floats:
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
        return self._read()

    @cached_property
    def weighted_documents(self) -> LabeledDocuments:
        """All documents in memory; one with class probabilities is a weighted document of each class."""
        return self._read(shares=True)

    def _read(self, *, shares: bool = False) -> LabeledDocuments:
        if engine_of(self.source) is not None:
            raise BayesError(
                f"{format_setting('recipe', self.settings.recipe)} looks at every document, and an engine only counts: "
                f"fit without engine=, on rows that this machine can read, or pass "
                f"{format_setting('recipe', 'multinomial')}"
            )
        with naming_the_file(self.source):
            return documents.read_documents(
                self.source, limit=memory_allowed(self.settings.memory_limit), shares=shares
            )

    @cached_property
    def distinct_documents(self) -> LabeledDocuments:
        """All documents in memory, with copies joined, to fit weights on documents left out."""
        return self.documents.join_copies()

    def with_documents(self, tally: Tally) -> Tally:
        """Return the tally of these documents, with the documents themselves if the model keeps them."""
        if not self.settings.keep_rows:
            return tally
        read = self.documents
        labels = positions(read.classes, tally.classes)[read.labels].astype(np.uint32)
        return tally.with_statistic(StoredDocuments((COLUMN,), (RowBatch({COLUMN: read.texts}, labels, read.weights),)))


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

    Attributes
    ----------
    default_prior, default_smoothing, default_pattern
        Class prior, pseudo-count of a word and token pattern if the setting is None.
    counts_words : bool
        The tally holds plain counts: any engine can collect it, and EM can split documents among classes.
    is_generative : bool
        Scores are ln P(document, class), and documents can be sampled; see :class:`GenerativeRecipe`.
    has_probabilities : bool
        The softmax of scores estimates P(class | document).
    learns_by_weighted_em : bool
        Unlabeled documents train word weights (see ``estimate/weighted_evidence.py``) instead of counts.
    is_linear : bool
        A score is a constant plus one weight per word, whatever the other words are.
    can_update : bool
        Documents can be added, removed and merged after the fit.
    parameters : type
        Class of the parameters.
    infinite : str
        Without smoothing, a word that "no other class" has would get an infinite weight; empty if none would.
    score_left_out : function
        Formula of the scores from value sums without each document.
    """

    name: str = ""
    default_prior: ClassVar[Any] = "empirical"
    default_smoothing: ClassVar[Any] = 1.0
    default_pattern: ClassVar[str] = "words_and_emoji"
    counts_words: ClassVar[bool] = True
    is_generative: ClassVar[bool] = False
    has_probabilities: ClassVar[bool] = True
    learns_by_weighted_em: ClassVar[bool] = False
    is_linear: ClassVar[bool] = False
    can_update: ClassVar[bool] = True
    parameters: ClassVar[type[WordParameters]] = WordParameters
    infinite: ClassVar[str] = ""
    score_left_out: ClassVar[Callable[..., Floats]]

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
        """Compute the weights of words from their counts."""
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
        return weights.pseudo_counts(smoothing, words, counts)

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

    def from_state(self, state: Any, tally: Tally) -> Self:
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


# -- recipes of the literature ---------------------------------------------------------------------------


class Multinomial(GenerativeRecipe):
    """Multinomial model: ln P(c) + Σ f ln θ_c, each word drawn independently given the class."""

    name = "multinomial"
    is_linear = True
    score_left_out = staticmethod(LeftOutWords.multinomial)

    def word_weights(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """Return ln θ."""
        return weights.multinomial_of(counted, pseudo)

    def shared_terms(self, rows: TokenRows, counted: WordCounts, coefficient: bool, length: bool) -> tuple[Floats, ...]:
        """Return ln(ℓ!/Πn!) and ln P(ℓ)."""
        orders = (weights.log_coefficient(rows),) if coefficient else ()
        return (*orders, weights.log_length(rows, counted)) if length else orders

    def counts_and_probabilities(self, tally: Tally, params: Any) -> tuple[Array, Floats]:
        """Return occurrences and θ."""
        return tally.words[COLUMN].table(), logspace.exp(params.table)

    def factors(self, rows: TokenRows, tally: Tally, params: Any) -> list[WrittenFactor]:
        """Return a factor for each word, to the power of its count."""
        return weights.bag_factors(rows, tally.words[COLUMN], params.pseudo)

    def sample(self, params: Any, counted: WordCounts, labels: Any, rng: np.random.Generator) -> list[str]:
        """Sample a length, then words."""
        return weights.sample_bags(params.vocabulary, params.table, counted, labels, rng)


class SetOfWords(GenerativeRecipe):
    """Bernoulli model: each word is present or absent, and absent words count."""

    name = "set_of_words"
    is_linear = True
    parameters = BernoulliParameters

    def n_word_parameters(self, n_words: int) -> int:
        """Count one probability for each word."""
        return n_words

    def word_weights(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """Return ln p − ln(1 − p), with the sum over all absent words as constant."""
        return weights.set_of_words(counted.table("documents").astype(np.float64), class_counts, pseudo)

    def left_out_scores(self, tally: Tally, params: Any, batch: LeftOutBatch) -> Floats:
        """Score with p of the other documents."""
        present = params.values(batch.rows)
        documents = tally.words[COLUMN].table("documents").astype(np.float64)
        words = LeftOutWords(documents, params.pseudo, batch.with_values(present, present))
        return words.set_of_words(tally.class_counts.astype(np.float64))

    def counts_and_probabilities(self, tally: Tally, params: Any) -> tuple[Array, Floats]:
        """Return the documents that have the word, and p."""
        documents, alpha = tally.words[COLUMN].table("documents"), params.pseudo[:, None]
        return documents, smoothed(documents, tally.class_counts, alpha, 2 * alpha)

    def factors(self, rows: TokenRows, tally: Tally, params: Any) -> list[WrittenFactor]:
        """Return a factor for each word of the vocabulary, present or absent."""
        return weights.set_factors(rows, tally.words[COLUMN], tally.class_counts, params.pseudo)

    def sample(self, params: Any, counted: WordCounts, labels: Any, rng: np.random.Generator) -> list[str]:
        """Sample the presence of each word."""
        return weights.sample_sets(params.vocabulary, params.table, labels, rng)


class Complement(Recipe):
    """Complement naive Bayes: ln P(c) − Σ f ln θ_c̄, with θ_c̄ from all other classes."""

    name = "complement"
    is_linear = True
    has_probabilities = False
    infinite = "no other class"
    formula: ClassVar[Callable[..., WordWeights]] = staticmethod(weights.complement)
    score_left_out = staticmethod(LeftOutWords.complement)

    def word_weights(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """Return −ln θ_c̄, normalized by some recipes."""
        return self.formula(self.value_sums(counted), pseudo)


class NormalizedComplement(Complement):
    """Complement with the weights of each class divided by Σ|ln θ_c̄|."""

    name = "wcnb"
    # The normalized weights are so small that any other prior would outweigh them.
    default_prior = "uniform"
    formula = staticmethod(weights.normalized_complement)
    score_left_out = staticmethod(LeftOutWords.normalized_complement)


class NormalizedMultinomial(Recipe):
    """Multinomial with the weights of each class divided by Σ|ln θ_c|."""

    name = "wnb"
    is_linear = True
    has_probabilities = False
    infinite = "no document of a class"
    default_prior = "uniform"
    score_left_out = staticmethod(LeftOutWords.normalized_multinomial)

    def word_weights(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """Return ln θ, normalized."""
        return weights.normalized_multinomial(self.value_sums(counted), pseudo)


@dataclass(frozen=True)
class DocumentFrequencies:
    """Document frequencies at the first fit, and the number of documents."""

    words: Words
    documents: Floats
    n_documents: float

    def of(self, words: Words) -> Floats:
        """Return the document frequency of each word (words,); 0 if unknown."""
        at = np.asarray(self.words.index.find(words.data, words.offsets))
        return np.where(at >= 0, self.documents[np.maximum(at, 0)], 0.0)

    def idf(self, words: Words) -> Floats:
        """Compute ln(N / df) of each word (words,)."""
        return weights.inverse_document_frequency(self.of(words), self.n_documents)


@dataclass(frozen=True)
class TfIdfParameters(WordParameters):
    """Parameters whose word values are tf-idf, under the idf of the first fit."""

    idf: Floats

    def values(self, rows: TokenRows) -> Floats:
        """Compute the tf-idf of each cell (cells,)."""
        return weights.tf_idf(rows.counts.astype(np.float64), rows.ids, rows.indptr, self.idf)

    def words_term(self, name: str) -> tuple[Floats, WordsTerm]:
        """Refuse: the value of a word depends on the other words of its document."""
        return TextParameters.words_term(self, name)


@dataclass(frozen=True, eq=False)
class TfIdfRecipe(Recipe):
    """Base of recipes that fix the document frequencies at the first fit."""

    frequencies: DocumentFrequencies | None = None
    counts_words = False
    tf_idf: ClassVar[Callable[..., Floats]] = staticmethod(weights.tf_idf)
    """Compute the values of cells from (counts, ids, indptr, idf)."""

    @property
    def fitted_frequencies(self) -> DocumentFrequencies:
        """The document frequencies, which counts alone do not determine."""
        if self.frequencies is None:
            raise BayesError(f'recipe="{self.name}" needs document frequencies: call fit with documents')
        return self.frequencies

    def fit(self, training: TrainingSource) -> tuple[Recipe, Tally]:
        """Fit the document frequencies and count under them; the vocabulary stays fixed from then on."""
        read = training.weighted_documents
        rows, _ = documents.all_rows(read, training.settings)
        n = float(len(read.labels) if read.weights is None else read.weights.sum())
        recipe = replace(self, frequencies=DocumentFrequencies(rows.words, document_frequency(rows, read.weights), n))
        return recipe, WordSums.of(rows, recipe.values(rows) + 1.0, read).tally(training.schema, read, True)

    def values(self, rows: TokenRows) -> Floats:
        """Compute the tf-idf of each cell (n_cells,)."""
        idf = self.fitted_frequencies.idf(rows.words)
        return self.tf_idf(rows.counts.astype(np.float64), rows.ids, rows.indptr, idf)

    def forget_names(self, tally: Tally) -> Self:
        """Drop the document frequencies of words that no document has any more."""
        held = self.fitted_frequencies
        present = held.words.are_in(tally.words[COLUMN].words)
        words, documents = held.words.take(present), held.documents[present]
        return replace(self, frequencies=replace(held, words=words, documents=documents))

    def fixed_parts(self, counted: WordCounts) -> tuple[str, ...]:
        """Vocabulary and idf stay fixed."""
        return "vocabulary", "idf"

    def count_more(self, training: TrainingSource) -> Tally:
        """Count further documents in the fixed vocabulary."""
        return documents.count_values(training, self.fitted_frequencies.words, lambda rows: self.values(rows) + 1.0)

    def value_sums(self, counted: WordCounts) -> Floats:
        """Return the sums of tf-idf by class (words, classes), which only documents with frequencies have."""
        _ = self.fitted_frequencies
        return np.maximum(super().value_sums(counted) - counted.table("documents"), 0.0)

    def to_state(self) -> State | None:
        """Return the document frequencies."""
        held = self.fitted_frequencies
        return State({"n": held.n_documents}, [held.words.data, held.words.offsets, held.documents])

    def from_state(self, state: Any, tally: Tally) -> Self:
        """Restore document frequencies that fit their words."""
        data, offsets, documents = state.arrays
        words, n = Words.checked(data, offsets), check_weight(state.header["n"])
        check_weights(documents, len(words))
        if (documents <= 0).any() or (documents > n * (1 + ROUNDING)).any():
            raise BadFile("the document frequencies do not fit their words")
        return replace(self, frequencies=DocumentFrequencies(words, documents, n))


@dataclass(frozen=True, eq=False)
class TfIdf(TfIdfRecipe):
    """Multinomial model on f · ln(N/df), normalized to length one."""

    name = "tfidf"

    def word_weights(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """Return ln θ; a word of every document has idf 0 and weight 0, even without smoothing."""
        sums = self.value_sums(counted)
        made = weights.multinomial(sums, pseudo)
        made.table[(sums.sum(axis=1) == 0) & (pseudo == 0)] = 0.0
        return made

    def estimate(self, tally: Tally, log_prior: Floats, settings: Any) -> TextParameters:
        """Add the idf by which documents are scored."""
        params = super().estimate(tally, log_prior, settings)
        return TfIdfParameters(**vars(params), idf=self.fitted_frequencies.idf(params.vocabulary))

    def left_out_scores(self, tally: Tally, params: Any, batch: LeftOutBatch) -> Floats:
        """Keep the idf of the other documents fixed, and value the own document with df − 1."""
        rows, words, held = batch.rows, tally.words[COLUMN].words, self.fitted_frequencies
        idf = weights.inverse_document_frequency(held.of(words) - 1, held.n_documents - 1)
        values = weights.tf_idf(rows.counts.astype(np.float64), rows.ids, rows.indptr, idf)
        return self.left_out_words(tally, params, batch, values).multinomial()


@dataclass(frozen=True, eq=False)
class TransformedComplement(TfIdfRecipe, NormalizedComplement):
    """Normalized complement on ln(1 + f) · ln(N/df) of length one: all transforms of Rennie et al. 2003."""

    name = "twcnb"
    is_linear = False
    tf_idf = staticmethod(weights.log_tf_idf)


# -- naive Bayes SVM ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MarginMap:
    """Map margins to log probabilities, up to a constant shared by all classes: s m + b.

    ``log_loss`` is that on folds of the training documents.
    """

    scale: float
    bias: Floats
    log_loss: float


@dataclass(frozen=True, eq=False)
class NaiveBayesSVM(Recipe):
    """Naive Bayes SVM, fitted on all documents at once; ``linear`` are its weights before calibration."""

    linear: WordWeights | None = None
    calibration: MarginMap | None = None
    name = "nbsvm"
    # The constant of the machine already accounts for the class frequencies.
    default_prior = "uniform"
    counts_words = False
    is_linear = True
    can_update = False
    parameters = PresenceParameters
    infinite = "no other class"

    def check_settings(self, settings: Any) -> None:
        """Refuse a penalty or an interpolation weight out of range."""
        C, beta = settings.C, settings.beta
        if not is_number(C) or not 0 < C < inf:
            raise BayesError(f"C={C!r}: give a number over 0")
        if not is_number(beta) or not 0 <= beta <= 1:
            raise BayesError(f"beta={beta!r}: give a number from 0 to 1")

    def fit(self, training: TrainingSource) -> tuple[Recipe, Tally]:
        """Fit and calibrate the machines; the tally counts the documents of each class that have a word."""
        read, settings = training.distinct_documents, training.settings
        rows, pruned = documents.all_rows(read, settings)
        if not len(rows.words):
            raise BayesError(
                f"{format_setting('recipe', self.name)} weighs words, and no document has one:",
                hint="see pattern=, stop_words= and min_df=",
            )
        pseudo = self.pseudo_counts(settings, rows.words)
        weighed = replace(read, weights=read.importance)
        linear = WordWeights(*fit_machines(rows, weighed, pseudo, settings.C, settings.beta))
        held_out, scores = margins_on_folds(rows, weighed, pseudo, settings.C, settings.beta)
        importance = read.importance[held_out]
        found = fit_scale_and_bias(scores, read.labels[held_out], importance, settings._threads())
        fitted = replace(self, linear=linear, calibration=MarginMap(*found))
        return fitted, WordSums.of(rows, self.values(rows), read).tally(training.schema, read, pruned)

    def values(self, rows: TokenRows) -> Floats:
        """Return 1 for each cell (cells,)."""
        return np.ones(len(rows.ids))

    def word_weights(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """Return the calibrated weights of the machines."""
        if self.linear is None or self.calibration is None:
            raise BayesError(f'recipe="{self.name}" fits weights on documents: call fit')
        scale = self.calibration.scale
        return WordWeights(scale * self.linear.table, scale * self.linear.constant + self.calibration.bias)

    def to_state(self) -> State | None:
        """Return the weights and their calibration."""
        assert self.linear is not None
        assert self.calibration is not None
        header = {"scale": self.calibration.scale, "log_loss": self.calibration.log_loss}
        return State(header, [self.linear.table, self.linear.constant, self.calibration.bias])

    def from_state(self, state: Any, tally: Tally) -> Self:
        """Restore weights of the words and classes that were counted."""
        table, constant, bias = state.arrays
        k = len(tally.classes)
        check_weights(table, len(tally.words[COLUMN].words), k)
        check_weights(constant, k)
        check_weights(bias, k)
        scale, loss = check_weight(state.header["scale"]), check_weight(state.header["log_loss"])
        if scale < 0:
            raise BadFile(f"the scale of margins is {scale}, below 0")
        return replace(self, linear=WordWeights(table, constant), calibration=MarginMap(scale, bias, loss))


def margins_on_folds(
    rows: TokenRows, read: LabeledDocuments, pseudo: Floats, C: float, beta: float
) -> tuple[Ints, Floats]:
    """Return (documents, their margins (documents, classes) by machines trained without them).

    Each class is spread evenly over three folds; the only document of a class is never held out.
    """
    n = len(read.labels)
    fold = assign_folds(read.labels)
    parts = [np.flatnonzero(fold == f) for f in range(min(FOLDS, -(-FOLDS * HELD_OUT // n)))]
    margins = []
    for held_out in parts:
        rest = np.setdiff1d(np.arange(n), held_out)
        weights = None if read.weights is None else read.weights[rest]
        others = replace(read, labels=read.labels[rest], weights=weights)
        known = document_frequency(rows.take(rest)) > 0
        if not known.any():
            # Only held-out documents have words.
            margins.append(np.zeros((len(held_out), len(read.classes))))
            continue
        table, constant = fit_machines(select_words(rows.take(rest), known), others, pseudo[known], C, beta)
        margins.append(documents.values_matrix(select_words(rows.take(held_out), known)) @ table + constant)
    return np.concatenate(parts), np.concatenate(margins)


def assign_folds(labels: Ints) -> Ints:
    """Assign a fold to each document (documents,), −1 to the only one of its class.

    >>> assign_folds(np.array([0, 0, 0, 1, 1, 2])).tolist()
    [1, 2, 0, 0, 1, -1]
    """
    order = np.random.default_rng(SEED).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    sizes = np.bincount(labels)
    place = np.arange(len(labels)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    fold = np.empty(len(labels), dtype=np.int64)
    fold[order] = np.where(np.repeat(sizes, sizes) > 1, place % FOLDS, -1)
    return fold


def fit_machines(
    rows: TokenRows, read: LabeledDocuments, pseudo: Floats, C: float, beta: float
) -> tuple[Floats, Floats]:
    """Train the machines and return (table (words, classes), constant (n_classes,)) of the margins."""
    from sklearn.svm import LinearSVC

    k = len(read.classes)
    if k < 2:
        raise BayesError(f"nbsvm needs two classes at least, and there is only {read.classes[0]!r}")
    present = documents.values_matrix(rows)
    table, constant = np.zeros((len(rows.words), k)), np.zeros(k)
    for c in range(1, 2) if k == 2 else range(k):
        own = read.labels == c
        ratio = weights.log_count_ratio(present, own, pseudo)
        scaled = present.copy()
        scaled.data = ratio[present.indices]
        machine = LinearSVC(C=float(C), random_state=0, max_iter=10_000).fit(scaled, own, read.weights)
        w = machine.coef_[0]
        mean = np.abs(w).mean()
        size = own.mean() if read.weights is None else np.average(own, weights=read.weights)
        table[:, c] = ratio * ((1 - beta) * mean + beta * w)
        constant[c] = (1 - beta) * mean * logspace.log(size / (1 - size)) + beta * machine.intercept_[0]
    return table, constant

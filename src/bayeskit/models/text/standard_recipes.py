"""Recipes of the literature: multinomial, Bernoulli, complement (Rennie et al. 2003), tf-idf and naive Bayes SVM.

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

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar, Self

import numpy as np

from bayeskit import logspace
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokens import TokenRows
from bayeskit.data.text.word_list import Words
from bayeskit.errors import BadFile, BayesError, format_setting
from bayeskit.estimate import word_weights as weights
from bayeskit.estimate.formulas import WrittenFactor
from bayeskit.estimate.smoothing import is_number, smoothed
from bayeskit.estimate.temperature import fit_scale_and_bias
from bayeskit.estimate.word_weights import LeftOutWords, WordWeights, inverse_document_frequency
from bayeskit.export.scoring_form import WordsTerm
from bayeskit.models.text import documents
from bayeskit.models.text.documents import LabeledDocuments, WordSums, document_frequency, select_words
from bayeskit.models.text.recipe import (
    BernoulliParameters,
    GenerativeRecipe,
    LeftOutBatch,
    PresenceParameters,
    Recipe,
    TextParameters,
    TrainingSource,
    WordParameters,
    check_weight,
    check_weights,
)
from bayeskit.models.text.weighted_evidence import FOLDS, HELD_OUT
from bayeskit.storage.model_file import State
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import WordCounts
from bayeskit.threads import thread_count
from bayeskit.tolerance import ROUNDING
from bayeskit.typing import Array, Floats, Ints


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
        return inverse_document_frequency(self.of(words), self.n_documents)


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
        read = training.documents
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
        """Return the sums of tf-idf by class (words, classes)."""
        return np.maximum(super().value_sums(counted) - counted.table("documents"), 0.0)

    def estimate(self, tally: Tally, log_prior: Floats, settings: Any) -> TextParameters:
        """Estimate from sums that were made under the fitted frequencies."""
        _ = self.fitted_frequencies
        return super().estimate(tally, log_prior, settings)

    def to_state(self) -> State | None:
        """Return the document frequencies."""
        held = self.fitted_frequencies
        return State({"n": held.n_documents}, [held.words.data, held.words.offsets, held.documents])

    def from_state(self, state: State | None, tally: Tally) -> Self:
        """Restore document frequencies that fit their words."""
        if state is None:
            raise BadFile(f"a model of recipe {self.name!r} holds frequencies beside counts")
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
        idf = inverse_document_frequency(held.of(words) - 1, held.n_documents - 1)
        values = weights.tf_idf(rows.counts.astype(np.float64), rows.ids, rows.indptr, idf)
        return self.left_out_words(tally, params, batch, values).multinomial()


@dataclass(frozen=True, eq=False)
class TransformedComplement(TfIdfRecipe, NormalizedComplement):
    """Normalized complement on ln(1 + f) · ln(N/df) of length one: all transforms of Rennie et al. 2003."""

    name = "twcnb"
    is_linear = False
    tf_idf = staticmethod(weights.log_tf_idf)


# -- naive Bayes SVM ---------------------------------------------------------------------------------------------------

SEED = 0


@dataclass(frozen=True)
class MarginMap:
    """Map margins to log probabilities, up to a constant shared by all classes: s m + b."""

    scale: float
    bias: Floats
    log_loss: float
    """The log loss on folds of the training documents."""


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
        read, settings = training.documents, training.settings
        rows, pruned = documents.all_rows(read, settings)
        if not len(rows.words):
            raise BayesError(
                f"{format_setting('recipe', self.name)} weighs words, and no document has one:",
                hint="see pattern=, stop_words= and min_df=",
            )
        pseudo = self.pseudo_counts(settings, rows.words)
        linear = WordWeights(*fit_machines(rows, read, pseudo, settings.C, settings.beta))
        held_out, scores = margins_on_folds(rows, read, pseudo, settings.C, settings.beta)
        importance = np.ones(len(held_out)) if read.weights is None else read.weights[held_out]
        found = fit_scale_and_bias(scores, read.labels[held_out], importance, thread_count(settings.n_threads))
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

    def from_state(self, state: State | None, tally: Tally) -> Self:
        """Restore weights of the words and classes that were counted."""
        if state is None:
            raise BadFile(f"a model of recipe {self.name!r} holds linear weights beside counts")
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

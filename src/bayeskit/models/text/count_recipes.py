"""Recipes that are a function of word sums: multinomial, Bernoulli, complement (Rennie et al. 2003) and tf-idf.

The tf-idf recipes keep the document frequencies of the first fit. A tally stores only positive cells, and a tf-idf may
be 0 (a word of every document), so they add 1 for presence to the values that are summed and subtract it again before
anything is estimated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bayeskit import logspace
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokens import TokenRows
from bayeskit.data.text.word_list import Words
from bayeskit.errors import BadFile, BayesError
from bayeskit.estimate.formulas import WrittenFactor
from bayeskit.estimate.smoothing import smoothed
from bayeskit.estimate.words import leave_one_out, weights
from bayeskit.estimate.words.leave_one_out import LeftOutDocuments
from bayeskit.estimate.words.weights import WordWeights, inverse_document_frequency
from bayeskit.export.scoring_form import WordsTerm
from bayeskit.models.text.bounded_fit import all_rows
from bayeskit.models.text.documents import count_values, document_frequency, value_tally
from bayeskit.models.text.recipe import (
    BernoulliParameters,
    GenerativeRecipe,
    LeftOutBatch,
    Recipe,
    TextParameters,
    TrainingSource,
    WordParameters,
    check_weight,
    check_weights,
)
from bayeskit.storage.model_file import State
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import WordCounts
from bayeskit.tolerance import ROUNDING
from bayeskit.typing import Array, Floats


class Multinomial(GenerativeRecipe):
    """Multinomial model: ln P(c) + Σ f ln θ_c, each word drawn independently given the class."""

    name = "multinomial"
    is_linear = True

    def word_weights(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """Return ln θ."""
        return weights.multinomial_of(counted, pseudo)

    def left_out_scores(self, tally: Tally, params: Any, batch: LeftOutBatch) -> Floats:
        """Score with θ of the other documents."""
        return self.left_out_words(tally, params, _with_counts(batch)).multinomial()

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
        class_counts = tally.class_counts.astype(np.float64)
        return leave_one_out.set_of_words(documents, class_counts, params.pseudo, batch.with_values(present, present))

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

    def word_weights(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """Return −ln θ_c̄."""
        return weights.complement(self.value_sums(counted), pseudo)

    def left_out_scores(self, tally: Tally, params: Any, batch: LeftOutBatch) -> Floats:
        """Score with θ_c̄ of the other documents."""
        return self.left_out_words(tally, params, _with_counts(batch)).complement()


class NormalizedComplement(Recipe):
    """Complement with the weights of each class divided by Σ|ln θ_c̄|."""

    name = "wcnb"
    is_linear = True
    # The normalized weights are so small that any other prior would outweigh them.
    default_prior = "uniform"
    has_probabilities = False
    infinite = "no other class"

    def word_weights(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """Return −ln θ_c̄ / Σ|ln θ_c̄|."""
        return weights.normalized_complement(self.value_sums(counted), pseudo)

    def left_out_scores(self, tally: Tally, params: Any, batch: LeftOutBatch) -> Floats:
        """Score with θ_c̄ of the other documents."""
        words = self.left_out_words(tally, params, _with_counts(batch))
        return words.normalized_complement(self.value_sums(tally.words[COLUMN]))


def _with_counts(batch: LeftOutBatch) -> LeftOutDocuments:
    """Learn and score by word counts."""
    counts = batch.rows.counts.astype(np.float64)
    return batch.with_values(counts, counts)


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
    """Base of recipes that fix the document frequencies at the first fit; subclasses define :meth:`values`."""

    frequencies: DocumentFrequencies | None = None
    counts_words = False

    @property
    def fitted_frequencies(self) -> DocumentFrequencies:
        """The document frequencies, which counts alone do not determine."""
        if self.frequencies is None:
            raise BayesError(f'recipe="{self.name}" needs document frequencies: call fit with documents')
        return self.frequencies

    def fit(self, training: TrainingSource) -> tuple[Recipe, Tally]:
        """Fit the document frequencies and count under them; the vocabulary stays fixed from then on."""
        read = training.documents
        rows, _ = all_rows(read, training.settings)
        n = float(len(read.labels) if read.weights is None else read.weights.sum())
        recipe = replace(self, frequencies=DocumentFrequencies(rows.words, document_frequency(rows, read.weights), n))
        return recipe, value_tally(training.schema, rows, recipe.values(rows) + 1.0, read, True)

    def count_more(self, training: TrainingSource) -> Tally:
        """Count further documents in the fixed vocabulary."""
        return count_values(training, self.fitted_frequencies.words, lambda rows: self.values(rows) + 1.0)

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
        check_weights(documents)
        if documents.shape != (len(words),) or (documents <= 0).any() or (documents > n * (1 + ROUNDING)).any():
            raise BadFile("the document frequencies do not fit their words")
        return replace(self, frequencies=DocumentFrequencies(words, documents, n))


@dataclass(frozen=True, eq=False)
class TfIdf(TfIdfRecipe):
    """Multinomial model on f · ln(N/df), normalized to length one."""

    name = "tfidf"

    def values(self, rows: TokenRows) -> Floats:
        """Compute f · ln(N/df), normalized to length one."""
        idf = self.fitted_frequencies.idf(rows.words)
        return weights.tf_idf(rows.counts.astype(np.float64), rows.ids, rows.indptr, idf)

    def word_weights(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """Return ln θ; a word of every document has idf 0 and weight 0, even without smoothing."""
        sums = self.value_sums(counted)
        made = weights.multinomial(sums, pseudo)
        made.table[(sums.sum(axis=1) == 0) & (pseudo == 0)] = 0.0
        return made

    def make_parameters(self, log_prior: Floats, words: Words, weights: WordWeights, pseudo: Floats) -> WordParameters:
        """Add the idf by which documents are scored."""
        return TfIdfParameters(log_prior, words, weights, pseudo, self.fitted_frequencies.idf(words))

    def left_out_scores(self, tally: Tally, params: Any, batch: LeftOutBatch) -> Floats:
        """Keep the idf of the other documents fixed, and value the own document with df − 1."""
        rows, words, held = batch.rows, tally.words[COLUMN].words, self.fitted_frequencies
        idf = inverse_document_frequency(held.of(words) - 1, held.n_documents - 1)
        values = weights.tf_idf(rows.counts.astype(np.float64), rows.ids, rows.indptr, idf)
        return self.left_out_words(tally, params, batch.with_values(self.values(rows), values)).multinomial()


@dataclass(frozen=True, eq=False)
class TransformedComplement(TfIdfRecipe):
    """Normalized complement on ln(1 + f) · ln(N/df) of length one: all transforms of Rennie et al. 2003."""

    name = "twcnb"
    # The normalized weights are so small that any other prior would outweigh them.
    default_prior = "uniform"
    has_probabilities = False
    infinite = "no other class"

    def values(self, rows: TokenRows) -> Floats:
        """Compute ln(1 + f) · ln(N/df), normalized to length one."""
        idf = self.fitted_frequencies.idf(rows.words)
        return weights.log_tf_idf(rows.counts.astype(np.float64), rows.ids, rows.indptr, idf)

    def word_weights(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """Return −ln θ_c̄ / Σ|ln θ_c̄|."""
        return weights.normalized_complement(self.value_sums(counted), pseudo)

    def left_out_scores(self, tally: Tally, params: Any, batch: LeftOutBatch) -> Floats:
        """Score with θ_c̄ of the other documents, under the same idf."""
        documents = batch.with_values(self.values(batch.rows), params.values(batch.rows))
        words = self.left_out_words(tally, params, documents)
        return words.normalized_complement(self.value_sums(tally.words[COLUMN]))

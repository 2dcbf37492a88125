"""Recipes of tf-idf: the document frequencies of the first fit are held.

A tally's cells are over zero, and a tf-idf may be 0 (a word of every document). So 1 for its presence is added to
what is summed, and taken off again before anything is believed of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokens import TokenRows
from bayeskit.data.text.word_list import Words
from bayeskit.errors import BadFile, BayesError
from bayeskit.estimate.words import weights as word_weights
from bayeskit.estimate.words.weights import WordWeights, inverse_document_frequency
from bayeskit.export.scoring_form import WordsTerm
from bayeskit.models.text.held_documents import rows_that_fit
from bayeskit.models.text.parameters import Parameters, WordParameters
from bayeskit.models.text.reading import count_more, document_frequency, mass_tally
from bayeskit.models.text.recipe import Leaving, Recipe, Settings, Training
from bayeskit.models.text.state import check_numbers, finite
from bayeskit.storage.model_file import State
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import WordCounts
from bayeskit.tolerance import ROUNDING
from bayeskit.typing import Floats


@dataclass(frozen=True)
class DocumentFrequencies:
    """Document frequencies at the first fit: word → idf, and how many documents there were."""

    words: Words
    documents: Floats
    n_documents: float

    def of(self, words: Words) -> Floats:
        """Document frequency of these words; 0 where unknown."""
        at = np.asarray(self.words.index.find(words.data, words.offsets))
        return np.where(at >= 0, self.documents[np.maximum(at, 0)], 0.0)

    def idf(self, words: Words) -> Floats:
        """ln(N / df) of these words."""
        return inverse_document_frequency(self.of(words), self.n_documents)


@dataclass(frozen=True)
class TfIdfParameters(WordParameters):
    """The value of a word is its tf-idf, under the idf that is held."""

    idf: Floats

    def values(self, rows: TokenRows) -> Floats:
        """The value of each cell."""
        return word_weights.tf_idf(rows.counts.astype(np.float64), rows.ids, rows.indptr, self.idf)

    def words_term(self, name: str) -> tuple[Floats, WordsTerm]:
        """A word's value hangs on all others of its document."""
        return Parameters.words_term(self, name)


@dataclass(frozen=True, eq=False)
class HeldFrequencies(Recipe):
    """A recipe that learns under document frequencies; :meth:`values` says what it makes of them."""

    frequencies: DocumentFrequencies | None = None
    plain_counts = False

    @property
    def held(self) -> DocumentFrequencies:
        """The document frequencies; counts alone do not tell them."""
        if self.frequencies is None:
            raise BayesError(f'recipe="{self.name}" needs document frequencies: call fit with documents')
        return self.frequencies

    def learn(self, training: Training) -> tuple[Recipe, Tally]:
        """The document frequencies, and the tally under them; the vocabulary is held."""
        read = training.read()
        rows, _ = rows_that_fit(read, training.settings)
        n = float(len(read.labels) if read.weights is None else read.weights.sum())
        recipe = replace(self, frequencies=DocumentFrequencies(rows.words, document_frequency(rows, read.weights), n))
        return recipe, mass_tally(training.schema, rows, recipe.values(rows) + 1.0, read, True)

    def count(self, training: Training) -> Tally:
        """The tally of more documents in the held words."""
        return count_more(training, self.held.words, lambda rows: self.values(rows) + 1.0)

    def learnt(self, counted: WordCounts) -> Floats:
        """Σ of tf-idf (words, classes)."""
        return np.maximum(super().learnt(counted) - counted.table("documents"), 0.0)

    def estimate(self, tally: Tally, log_prior: Floats, settings: Settings) -> Parameters:
        """What is believed of sums that were made under the frequencies held."""
        _ = self.held  # where nobody holds any, the sums mean nothing
        return super().estimate(tally, log_prior, settings)

    def state(self) -> State | None:
        """The frequencies."""
        words = self.held.words
        return State({"n": self.held.n_documents}, [words.data, words.offsets, self.held.documents])

    def from_state(self, state: State | None, tally: Tally) -> Self:
        """Frequencies that fit their words."""
        if state is None:
            raise BadFile(f"a model of recipe {self.name!r} holds frequencies beside counts")
        data, offsets, documents = state.arrays
        words, n = Words.checked(data, offsets), finite(state.header["n"])
        check_numbers(documents)
        if documents.shape != (len(words),) or (documents <= 0).any() or (documents > n * (1 + ROUNDING)).any():
            raise BadFile("the document frequencies do not fit their words")
        return replace(self, frequencies=DocumentFrequencies(words, documents, n))


@dataclass(frozen=True, eq=False)
class TfIdf(HeldFrequencies):
    """Multinomial on f · ln(N/df) of length one."""

    name = "tfidf"

    def values(self, rows: TokenRows) -> Floats:
        """f · ln(N/df), of length one."""
        return word_weights.tf_idf(rows.counts.astype(np.float64), rows.ids, rows.indptr, self.held.idf(rows.words))

    def weigh(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """ln θ; a word of every document has idf 0 and says nothing, not even without smoothing."""
        learnt = self.learnt(counted)
        weights = word_weights.multinomial(learnt, pseudo)
        weights.table[(learnt.sum(axis=1) == 0) & (pseudo == 0)] = 0.0
        return weights

    def believed(self, log_prior: Floats, words: Words, weights: WordWeights, pseudo: Floats) -> WordParameters:
        """With the idf that documents are scored by."""
        return TfIdfParameters(log_prior, words, weights, pseudo, self.held.idf(words))

    def left_out(self, tally: Tally, params: Any, leaving: Leaving) -> Floats:
        """The idf of the others is held, and the own vector made with df − 1."""
        rows, words, held = leaving.rows, tally.words[COLUMN].words, self.held
        less = inverse_document_frequency(held.of(words) - 1, held.n_documents - 1)
        values = word_weights.tf_idf(rows.counts.astype(np.float64), rows.ids, rows.indptr, less)
        return self.words_left(tally, params, leaving.with_values(self.values(rows), values)).multinomial()


@dataclass(frozen=True, eq=False)
class TransformedComplement(HeldFrequencies):
    """Normalised complement on ln(1 + f) · ln(N/df) of length one: all transforms of Rennie et al. 2003."""

    name = "twcnb"
    prior = "uniform"  # weights below 1 would drown in any other
    probabilities = False
    infinite = "no other class"

    def values(self, rows: TokenRows) -> Floats:
        """ln(1 + f) · ln(N/df), of length one."""
        return word_weights.log_tf_idf(rows.counts.astype(np.float64), rows.ids, rows.indptr, self.held.idf(rows.words))

    def weigh(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """−ln θ_c̄ / Σ∣ln θ_c̄∣, under frequencies that counts alone do not tell."""
        return word_weights.normalised_complement(self.learnt(counted), pseudo)

    def left_out(self, tally: Tally, params: Any, leaving: Leaving) -> Floats:
        """The same with θ_c̄ of the other documents, all idf held."""
        documents = leaving.with_values(self.values(leaving.rows), params.values(leaving.rows))
        return self.words_left(tally, params, documents).normalised_complement(self.learnt(tally.words[COLUMN]))

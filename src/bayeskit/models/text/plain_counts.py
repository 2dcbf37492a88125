"""Recipes of plain word counts: multinomial, sets of words, complement and normalised complement."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokens import TokenRows
from bayeskit.estimate.formulas import WrittenFactor
from bayeskit.estimate.smoothing import smoothed
from bayeskit.estimate.words import left_out as words_left_out
from bayeskit.estimate.words import weights as word_weights
from bayeskit.estimate.words.generative import draw_bags, draw_sets, log_coefficient, log_length
from bayeskit.estimate.words.left_out import LeftOutDocuments
from bayeskit.estimate.words.weights import WordWeights
from bayeskit.estimate.words.written_out import written_bag, written_set
from bayeskit.models.text.parameters import CoinParameters
from bayeskit.models.text.recipe import GenerativeRecipe, Leaving, Recipe
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import WordCounts
from bayeskit.typing import Array, Floats


class Multinomial(GenerativeRecipe):
    """ln P(c) + Σ f ln θ_c: a word is drawn anew at every place of the document."""

    name = "multinomial"
    sum_over_words = True

    def weigh(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """ln θ."""
        return word_weights.multinomial_of(counted, pseudo)

    def left_out(self, tally: Tally, params: Any, leaving: Leaving) -> Floats:
        """The same with θ of the other documents."""
        return self.words_left(tally, params, _by_counts(leaving)).multinomial()

    def shared_terms(self, rows: TokenRows, counted: WordCounts, coefficient: bool, length: bool) -> tuple[Floats, ...]:
        """ln(ℓ!/Πn!), and ln P(ℓ)."""
        orders = (log_coefficient(rows),) if coefficient else ()
        return (*orders, log_length(rows, counted)) if length else orders

    def counts_and_shares(self, tally: Tally, params: Any) -> tuple[Array, Floats]:
        """Occurrences, and θ."""
        return tally.words[COLUMN].table(), logspace.exp(params.table)

    def written_out(self, rows: TokenRows, tally: Tally, params: Any) -> list[WrittenFactor]:
        """A factor for each word, to the power of how often it stands there."""
        return written_bag(rows, tally.words[COLUMN], params.pseudo)

    def draw(self, params: Any, counted: WordCounts, labels: Any, rng: np.random.Generator) -> list[str]:
        """A length, and then words."""
        return draw_bags(params.vocabulary, params.table, counted, labels, rng)


class SetOfWords(GenerativeRecipe):
    """Bernoulli: each word is there or not, and absent words count as well."""

    name = "set_of_words"
    sum_over_words = True
    parameters = CoinParameters

    def n_free(self, n_words: int) -> int:
        """A coin for each word."""
        return n_words

    def weigh(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """ln p − ln(1 − p), over the constant of all absent words."""
        return word_weights.set_of_words(counted.table("documents").astype(np.float64), class_counts, pseudo)

    def left_out(self, tally: Tally, params: Any, leaving: Leaving) -> Floats:
        """The same with p of the other documents."""
        present = params.values(leaving.rows)
        documents = tally.words[COLUMN].table("documents").astype(np.float64)
        class_counts = tally.class_counts.astype(np.float64)
        left = leaving.with_values(present, present)
        return words_left_out.set_of_words(documents, class_counts, params.pseudo, left)

    def counts_and_shares(self, tally: Tally, params: Any) -> tuple[Array, Floats]:
        """Documents that have the word, and p."""
        documents, alpha = tally.words[COLUMN].table("documents"), params.pseudo[:, None]
        return documents, smoothed(documents, tally.class_counts, alpha, 2 * alpha)

    def written_out(self, rows: TokenRows, tally: Tally, params: Any) -> list[WrittenFactor]:
        """A factor for each word of the vocabulary, there or not."""
        return written_set(rows, tally.words[COLUMN], tally.class_counts, params.pseudo)

    def draw(self, params: Any, counted: WordCounts, labels: Any, rng: np.random.Generator) -> list[str]:
        """One coin a word."""
        return draw_sets(params.vocabulary, params.table, labels, rng)


class Complement(Recipe):
    """ln P(c) − Σ f ln θ_c̄, with θ_c̄ from all other classes (Rennie et al. 2003)."""

    name = "complement"
    sum_over_words = True
    probabilities = False
    infinite = "no other class"

    def weigh(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """−ln θ_c̄."""
        return word_weights.complement(self.learnt(counted), pseudo)

    def left_out(self, tally: Tally, params: Any, leaving: Leaving) -> Floats:
        """The same with θ_c̄ of the other documents."""
        return self.words_left(tally, params, _by_counts(leaving)).complement()


class NormalisedComplement(Recipe):
    """Complement with each class's weights divided by Σ∣ln θ_c̄∣."""

    name = "wcnb"
    sum_over_words = True
    prior = "uniform"  # weights below 1 would drown in any other
    probabilities = False
    infinite = "no other class"

    def weigh(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """−ln θ_c̄ / Σ∣ln θ_c̄∣."""
        return word_weights.normalised_complement(self.learnt(counted), pseudo)

    def left_out(self, tally: Tally, params: Any, leaving: Leaving) -> Floats:
        """The same with θ_c̄ of the other documents."""
        words = self.words_left(tally, params, _by_counts(leaving))
        return words.normalised_complement(self.learnt(tally.words[COLUMN]))


def _by_counts(leaving: Leaving) -> LeftOutDocuments:
    """Counts are learnt, and scored by."""
    counts = leaving.rows.counts.astype(np.float64)
    return leaving.with_values(counts, counts)

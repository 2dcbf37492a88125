"""The named recipes for text: what is learnt of a document, what is believed of a word, how a document is scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.data.tokens import TokenRows
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.data.words import Words
from bayeskit.estimate import text_weights, word_evidence
from bayeskit.estimate.text_left_out import LeftOutDocuments, LeftOutWords
from bayeskit.estimate.text_left_out import set_of_words as set_of_words_left_out
from bayeskit.estimate.text_weights import WordWeights
from bayeskit.estimate.word_evidence import EvidenceWeights
from bayeskit.tally.words import WordCounts

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[Any]
COLUMN = "text"


@dataclass(frozen=True)
class Recipe:
    """``learns``: the values that are summed by class; ``scores``: those of a document to be scored.

    "counts" and "presence" are the document's own; "tfidf" and "log_tfidf" need document frequencies, which are
    held from the first fit on.
    """

    learns: str
    scores: str
    formula: str
    generative: bool = False  # its scores are logarithms of P(document, class)
    prior: str = "empirical"


RECIPES = {
    "multinomial": Recipe("counts", "counts", "multinomial", generative=True),
    "set_of_words": Recipe("counts", "presence", "set_of_words", generative=True),
    "complement": Recipe("counts", "counts", "complement"),
    "wcnb": Recipe("counts", "counts", "normalised_complement", prior="uniform"),
    "twcnb": Recipe("log_tfidf", "counts", "normalised_complement", prior="uniform"),
    "tfidf": Recipe("tfidf", "tfidf", "multinomial"),
    "nbsvm": Recipe("presence", "presence", "linear", prior="uniform"),
    "weighted": Recipe("mass", "mass", "weighted"),
    "auto": Recipe("mass", "mass", "weighted"),
    "fast": Recipe("mass", "mass", "weighted"),
}


@dataclass(frozen=True)
class HeldFrequencies:
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
        return text_weights.inverse_document_frequency(self.of(words), self.n_documents)


def values_of(kind: str, rows: TokenRows, idf: Floats | None) -> Floats:
    """The value of each cell of some documents."""
    counts = rows.counts.astype(np.float64)
    if kind == "presence":
        return np.ones(len(counts))
    if kind == "mass":
        return word_evidence.masses(rows.counts, rows.indptr)
    if kind == "tfidf" and idf is not None:
        return text_weights.tf_idf(counts, rows.ids, rows.indptr, idf)
    if kind == "log_tfidf" and idf is not None:
        return text_weights.log_tf_idf(counts, rows.ids, rows.indptr, idf)
    return counts


def stored_values(recipe: Recipe, values: Floats) -> Floats:
    """What is summed in a tally, whose cells are over zero: a tf-idf may be 0, so its presence is added."""
    return values + 1.0 if recipe.learns.endswith("tfidf") else values


def learnt_table(recipe: Recipe, counted: WordCounts) -> Floats:
    """Σ of the learnt values (words, classes), of what :func:`stored_values` put in."""
    table = counted.table().astype(np.float64)
    return np.maximum(table - counted.table("documents"), 0.0) if recipe.learns.endswith("tfidf") else table


class _WithWords:
    """What every kind of parameters says of its words."""

    vocabulary: Words

    @property
    def words(self) -> Mapping[str, Words]:
        """The vocabulary, by column, as the encoder asks for it."""
        return {COLUMN: self.vocabulary}

    @property
    def vocabularies(self) -> Mapping[str, Vocabulary]:
        """Text has no coded columns."""
        return {}


@dataclass(frozen=True)
class PlainParameters(_WithWords):
    """score_c = ln P(c) + constant_c + Σ value · table."""

    log_prior: Floats
    vocabulary: Words
    weights: WordWeights
    kind: str  # of the values
    idf: Floats | None = None
    pseudo: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def constant(self) -> Floats:
        """What words are added to."""
        return np.asarray(self.log_prior + self.weights.constant)

    @property
    def table(self) -> Floats:
        """What one occurrence of a word says (words, classes)."""
        return self.weights.table

    def without_words(self, rows: TokenRows) -> Floats:
        """The scores before any word (documents, classes): of a set of words, what all the absent ones say."""
        return np.tile(self.constant, (len(rows.lengths), 1))

    def scores(self, rows: TokenRows, n_threads: int) -> Floats:
        """(documents, classes)"""
        out = self.without_words(rows)
        kernels.score_rows(rows.indptr, rows.ids, values_of(self.kind, rows, self.idf), self.table, out, n_threads)
        return out

    def parts(self, rows: TokenRows) -> Floats:
        """What each cell adds to the score (cells, classes)."""
        return np.asarray(values_of(self.kind, rows, self.idf)[:, None] * self.table[rows.ids])


@dataclass(frozen=True)
class EvidenceParameters(_WithWords):
    """score_c = ln P(c) + b_c + u^−g Σ [(1 + ln tf) A + ln(tf) T]."""

    log_prior: Floats
    vocabulary: Words
    bias: Floats
    tables: tuple[Floats, Floats]
    g: float

    @property
    def constant(self) -> Floats:
        """What words are added to."""
        return np.asarray(self.log_prior + self.bias)

    def without_words(self, rows: TokenRows) -> Floats:
        """The scores before any word (documents, classes): the prior, and where there are words the fitted bias."""
        return np.where((np.diff(rows.indptr) == 0)[:, None], self.log_prior, self.constant)

    @property
    def table(self) -> Floats:
        """What a word says by being there, before the document's length is taken into account."""
        return self.tables[0]

    def scores(self, rows: TokenRows, n_threads: int) -> Floats:
        """(documents, classes)"""
        found = word_evidence.scores(rows.indptr, rows.ids, rows.counts, self.tables, self.g, self.constant, n_threads)
        found[np.diff(rows.indptr) == 0] = self.log_prior
        return found

    def parts(self, rows: TokenRows) -> Floats:
        """What each cell adds to the score (cells, classes)."""
        log_count = np.log(rows.counts.astype(np.float64))[:, None]
        scale = np.repeat(word_evidence.distinct_scale(rows.indptr, self.g), np.diff(rows.indptr))[:, None]
        return np.asarray(scale * ((1 + log_count) * self.tables[0][rows.ids] + log_count * self.tables[1][rows.ids]))


def plain_weights(recipe: Recipe, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
    """The weights of every recipe that has a closed form."""
    if recipe.formula == "set_of_words":
        return text_weights.set_of_words(counted.table("documents").astype(np.float64), class_counts, pseudo)
    if recipe.formula == "multinomial" and recipe.learns == "counts":
        return text_weights.multinomial_of(counted, pseudo)
    formula = getattr(text_weights, recipe.formula)
    learnt = learnt_table(recipe, counted)
    made: WordWeights = formula(learnt, pseudo)
    if recipe.learns == "tfidf":  # a word of every document has idf 0: it says nothing, not even without smoothing
        made.table[(learnt.sum(axis=1) == 0) & (pseudo == 0)] = 0.0
    return made


def evidence_parameters(
    counted: WordCounts, classes: tuple[Value, ...], log_prior: Floats, weights: EvidenceWeights
) -> EvidenceParameters:
    """What held weights make of the masses."""
    tables = word_evidence.evidence_tables(counted.table(), counted.totals("documents"), weights)
    bias = np.array([weights.bias.get(label, 0.0) for label in classes])
    return EvidenceParameters(log_prior, counted.words, bias, tables, weights.g)


def left_out_scores(
    recipe: Recipe,
    counted: WordCounts,
    class_counts: Floats,
    pseudo: Floats,
    rows: TokenRows,
    labels: Index,
    unit: Floats,
    held: HeldFrequencies | None,
) -> Floats:
    """Scores (documents, classes) without prior, each document taken out of the counts."""
    idf = None if held is None else held.idf(counted.words)
    learnt = np.ones(len(rows.ids)) if recipe.formula == "set_of_words" else values_of(recipe.learns, rows, idf)
    values = values_of(recipe.scores, rows, idf)
    if recipe.scores == "tfidf" and held is not None:  # the own vector is made with df − 1
        less = text_weights.inverse_document_frequency(held.of(counted.words) - 1, held.n_documents - 1)
        values = values_of("tfidf", rows, less)
    taken = learnt * np.repeat(unit, np.diff(rows.indptr))
    d = LeftOutDocuments(rows.indptr, rows.ids, taken, values, labels, unit)
    if recipe.formula == "set_of_words":
        return set_of_words_left_out(counted.table("documents").astype(np.float64), class_counts, pseudo, d)
    counts = learnt_table(recipe, counted)
    words = LeftOutWords(counts, pseudo, d, counted.totals("documents").astype(np.float64))
    if recipe.formula == "normalised_complement":
        return words.normalised_complement(counts)
    return words.complement() if recipe.formula == "complement" else words.multinomial()

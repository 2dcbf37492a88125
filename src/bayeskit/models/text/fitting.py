"""What a TextClassifier fits on whole documents, once: weights of evidence, document frequencies, linear weights."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bayeskit.data.schema import Schema, Text
from bayeskit.data.table import Table
from bayeskit.data.tokens import TokenRows
from bayeskit.errors import BayesError
from bayeskit.estimate import word_evidence
from bayeskit.estimate.text_weights import WordWeights
from bayeskit.estimate.word_evidence import EvidenceWeights
from bayeskit.models.text.linear import fit_linear
from bayeskit.models.text.reading import LabelledDocuments, document_frequency, mass_tally
from bayeskit.models.text.recipe import COLUMN, HeldFrequencies, stored_values, values_of
from bayeskit.models.text.vocabulary import candidate_rows
from bayeskit.remedy import Remedy, Setting
from bayeskit.tally.tally import Tally

if TYPE_CHECKING:
    from bayeskit.models.text.classifier import TextClassifier

A_VALUES, G_VALUES = (1.0, 0.3), (1.0, 0.5)


def evidence(model: TextClassifier, read: LabelledDocuments, schema: Schema) -> tuple[Tally, EvidenceWeights, Table]:
    """The tally of the best candidate, its weights, and all candidates."""
    fast = model.recipe == "fast"
    a_values = A_VALUES[:1] if fast else A_VALUES
    if model.smoothing is not None:
        a_values = (float(model.smoothing),)
    rows_of_class = np.bincount(read.labels, read.weights, minlength=len(read.classes))
    importance = np.ones(len(read.labels)) if read.weights is None else read.weights
    found, tallies = [], {}
    tries = (((1, 1), (1, 2)) if model.recipe == "auto" else ((1, 1),)) if model.ngrams is None else (model.ngrams,)
    limits = (model.min_df, model.max_df, model.max_features)
    for ngrams, rows, pruned in candidate_rows(read, model._tokenizer(), tries, limits, model._threads()):
        role = Text(model._tokenizer(ngrams))
        own = replace(schema, columns={COLUMN: role})
        tally, sums = mass_tally(own, rows, values_of("mass", rows, None), read, pruned)
        training = word_evidence.TrainingDocuments(
            rows.indptr, rows.ids, rows.counts, read.labels, importance, sums,
            document_frequency(rows, read.weights), word_evidence.log_prior_of(rows_of_class), read.classes,
        )  # fmt: skip
        tallies[ngrams] = tally
        g_values = G_VALUES[:1] if fast else G_VALUES
        found += [(w, ngrams) for w in word_evidence.fit_weights(training, a_values, g_values, model._threads())]
    weights, ngrams = word_evidence.best(found) if len(found) > 1 else found[0]
    listed = Table({
        "ngrams": [str(n) for _, n in found],
        "a": [w.a for w, _ in found],
        "g": [w.g for w, _ in found],
        "log loss": [w.log_loss for w, _ in found],
    })  # fmt: skip
    return tallies[ngrams], weights, listed


def _rows_of(model: TextClassifier, read: LabelledDocuments) -> tuple[TokenRows, bool]:
    """The documents in their words, and whether words were cut off."""
    limits = (model.min_df, model.max_df, model.max_features)
    tries = (model.ngrams or (1, 1),)
    ((_, rows, pruned),) = candidate_rows(read, model._tokenizer(), tries, limits, model._threads())
    return rows, pruned


def linear(model: TextClassifier, read: LabelledDocuments, schema: Schema) -> tuple[Tally, WordWeights]:
    rows, pruned = _rows_of(model, read)
    if not len(rows.words):
        raise BayesError(
            Setting("recipe", "nbsvm"),
            " weighs words, and no document has one: see ",
            Remedy("pattern"),
            Remedy("stop_words", clause=", {} and min_df=", without=""),
        )
    pseudo = model._pseudo(rows.words)
    linear = WordWeights(*fit_linear(rows, read, pseudo, model.C, model.beta))
    return mass_tally(schema, rows, values_of("presence", rows, None), read, pruned)[0], linear


def frequencies(model: TextClassifier, read: LabelledDocuments, schema: Schema) -> tuple[Tally, HeldFrequencies]:
    rows, _ = _rows_of(model, read)
    n = float(len(read.labels) if read.weights is None else read.weights.sum())
    held = HeldFrequencies(rows.words, document_frequency(rows, read.weights), n)
    values = stored_values(model._recipe, values_of(model._recipe.learns, rows, held.idf(rows.words)))
    return mass_tally(schema, rows, values, read, True)[0], held

"""Recipes "weighted" and "fast": about twenty weights of word evidence, fitted on leave-one-out scores.

The formulas are those of :mod:`bayeskit.estimate.weighted_evidence`. "weighted" tries smoothings and length
corrections on the n-grams given and takes the candidate with the least log loss; "fast" fits one candidate. "auto"
uses the same recipe, and also tries bigrams.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any, Self

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.schema import Text
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokens import TokenRows
from bayeskit.data.text.word_list import Words
from bayeskit.errors import BadFile, BayesError
from bayeskit.estimate import weighted_evidence
from bayeskit.estimate.smoothing import is_number
from bayeskit.estimate.weighted_evidence import BANDS, EvidenceWeights
from bayeskit.export.scoring_form import WordsTerm
from bayeskit.models.text.bounded_fit import BoundedReader
from bayeskit.models.text.documents import LabeledDocuments, count_values, is_character_ngram
from bayeskit.models.text.recipe import (
    LeftOutBatch,
    Recipe,
    TextParameters,
    TrainingSource,
    check_weight,
    check_weights,
)
from bayeskit.storage.model_file import State
from bayeskit.tables import Table
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import WordCounts
from bayeskit.threads import thread_count
from bayeskit.tolerance import GONE
from bayeskit.typing import Bools, Floats

Ngrams = tuple[int, int]
CANDIDATES = ("ngrams", "a", "g", "log loss")


@dataclass(frozen=True)
class EvidenceParameters(TextParameters):
    """Parameters of score_c = ln P(c) + b_c + u^−g Σ [(1 + ln tf) A + ln(tf) T]."""

    log_prior: Floats
    vocabulary: Words
    bias: Floats
    tables: tuple[Floats, Floats]
    g: float

    @property
    def constant(self) -> Floats:
        """Scores of a document before its words are added (n_classes,)."""
        return np.asarray(self.log_prior + self.bias)

    @property
    def table(self) -> Floats:
        """Weight of a word that occurs once, before the length correction (words, classes)."""
        return self.tables[0]

    def scores_without_words(self, rows: TokenRows) -> Floats:
        """Return the prior, plus the fitted bias if the document has words (documents, classes)."""
        return np.where((np.diff(rows.indptr) == 0)[:, None], self.log_prior, self.constant)

    def scores(self, rows: TokenRows, n_threads: int) -> Floats:
        """Compute the scores of documents (documents, classes)."""
        scores = weighted_evidence.evidence_scores(
            rows.indptr, rows.ids, rows.counts, self.tables, self.g, self.constant, n_threads
        )
        scores[np.diff(rows.indptr) == 0] = self.log_prior
        return scores

    def words_term(self, name: str) -> tuple[Floats, WordsTerm]:
        """Export the evidence of words and of their repetition; the bias applies to documents with known words."""
        first, repeated = self.tables
        words = tuple(self.vocabulary.tolist())
        return self.log_prior, WordsTerm(name, words, first, False, repeated, float(self.g), self.bias)

    def contributions(self, rows: TokenRows) -> Floats:
        """Compute the addend of each cell to the score (cells, classes)."""
        log_count = logspace.log(rows.counts.astype(np.float64))[:, None]
        scale = np.repeat(weighted_evidence.distinct_scale(rows.indptr, self.g), np.diff(rows.indptr))[:, None]
        return np.asarray(scale * ((1 + log_count) * self.tables[0][rows.ids] + log_count * self.tables[1][rows.ids]))


@dataclass(frozen=True, eq=False)
class WeightedEvidence(Recipe):
    """Weighted evidence; the best of several n-gram ranges, smoothings a and length corrections g is taken.

    With ``ignore_characters``, character n-grams are counted by masses of their own and are not evidence.
    """

    name: str
    ngram_candidates: tuple[Ngrams, ...] = ((1, 1),)
    a_values: tuple[float, ...] = (1.0, 0.3)
    g_values: tuple[float, ...] = (1.0, 0.5)
    weights: EvidenceWeights | None = None
    candidates: Table | None = None
    ignore_characters: bool = False
    counts_words = False
    learns_by_weighted_em = True

    @property
    def fitted_weights(self) -> EvidenceWeights:
        """The fitted weights, which counts alone do not determine."""
        if self.weights is None:
            raise BayesError(f'recipe="{self.name}" fits weights on documents: call fit, or another recipe on counts')
        return self.weights

    def check_settings(self, settings: Any) -> None:
        """Refuse a smoothing that is not one positive number or None."""
        smoothing = settings.smoothing
        if smoothing is not None and (not is_number(smoothing) or not 0 < smoothing < inf):
            raise BayesError(f"smoothing={smoothing!r}: weighted evidence takes one number over 0, or None")

    # -- fitting -------------------------------------------------------------------------------------

    def fit(self, training: TrainingSource) -> tuple[Recipe, Tally]:
        """Fit all candidates and keep the best one's weights and tally."""
        found = list(self._fit_candidates(training, training.documents))
        _, weights, tally = found[weighted_evidence.best_candidate([weights for _, weights, _ in found])]
        table = candidate_table([(str(ngrams), weights) for ngrams, weights, _ in found])
        return replace(self, weights=weights, candidates=table), tally

    def _fit_candidates(
        self, training: TrainingSource, read: LabeledDocuments
    ) -> Iterator[tuple[Ngrams, EvidenceWeights, Tally]]:
        """Yield (n-grams, weights, tally) of each candidate."""
        settings, n_threads = training.settings, thread_count(training.settings.n_threads)
        a_values = self.a_values if settings.smoothing is None else (float(settings.smoothing),)
        ngrams = self.ngram_candidates if settings.ngrams is None else (settings.ngrams,)
        tokenizers = [settings.tokenizer(n) for n in ngrams]
        reader = BoundedReader.of(read, tokenizers, settings, n_sampled=len(read.labels))
        for reading in reader.readings(lambda _: self):
            tally = reading.tally(replace(training.schema, columns={COLUMN: Text(reading.tokenizer)}), read)
            for weights in weighted_evidence.fit_weights(reading.documents, a_values, self.g_values, n_threads):
                yield reading.tokenizer.ngrams, weights, tally

    def count_more(self, training: TrainingSource) -> Tally:
        """Count further documents, in the known words if the vocabulary is pruned."""
        known = training.known
        return count_values(training, known.words if known is not None and known.pruned else None, self.values)

    def forget_names(self, tally: Tally) -> Self:
        """Drop the bias of classes without documents."""
        weights = self.fitted_weights
        bias = {label: weight for label, weight in weights.bias.items() if label in tally.classes}
        return replace(self, weights=replace(weights, bias=bias))

    def fixed_parts(self, counted: WordCounts) -> tuple[str, ...]:
        """The weights of evidence stay fixed."""
        return *super().fixed_parts(counted), "n-grams", "weights of evidence"

    def values(self, rows: TokenRows) -> Floats:
        """Compute the mass of each cell (cells,)."""
        ignored = self.ignored(rows.words)
        if ignored is None:
            return weighted_evidence.masses(rows.counts, rows.indptr)
        runs, none = ignored[rows.ids], np.zeros_like(rows.counts)
        both = (weighted_evidence.masses(np.where(kind, rows.counts, none), rows.indptr) for kind in (runs, ~runs))
        return np.asarray(sum(both))

    def ignored(self, words: Words) -> Bools | None:
        """Mark character n-grams if they are not evidence (words,); None if all words are."""
        return is_character_ngram(words) if self.ignore_characters else None

    # -- estimates -----------------------------------------------------------------------------------

    def estimate(self, tally: Tally, log_prior: Floats, settings: Any) -> TextParameters:
        """Apply the fitted weights to the masses."""
        counted, weights = tally.words[COLUMN], self.fitted_weights
        mass, ignored = counted.table(), self.ignored(counted.words)
        if ignored is not None:
            mass[ignored] = 0.0
        tables = weighted_evidence.evidence_tables(mass, counted.totals("documents"), weights)
        bias = np.array([weights.bias.get(label, 0.0) for label in tally.classes])
        return EvidenceParameters(log_prior, counted.words, bias, tables, weights.g)

    def left_out_scores(self, tally: Tally, params: Any, batch: LeftOutBatch) -> Floats:
        """Score by the masses without each document, under the same weights."""
        weights, counted, rows, labels = self.fitted_weights, tally.words[COLUMN], batch.rows, batch.labels
        documents, both = counted.totals("documents"), len(weights.repeated) > 1
        unit_of_cell = np.repeat(batch.unit, np.diff(rows.indptr))
        features = kernels.left_out_evidence(
            rows.indptr, rows.ids.astype(np.uint32), rows.counts.astype(np.uint32),
            self.values(rows) * unit_of_cell, labels.astype(np.uint32),
            counted.table().astype(np.float64), weighted_evidence.bands_of(documents), weights.a, both, 1,
        )  # fmt: skip
        theta = weights.effective.ravel()
        left = documents[rows.ids] - unit_of_cell > GONE * documents[rows.ids]
        known = np.bincount(np.repeat(np.arange(len(labels)), np.diff(rows.indptr)), left, minlength=len(labels))
        scale = np.maximum(known, 1.0) ** -weights.g
        scores = np.einsum("f,nfk->nk", theta, features) * scale[:, None] + params.bias
        # Only the prior is known of a document without known words.
        scores[known == 0] = 0.0
        return np.asarray(scores)

    # -- persistence ---------------------------------------------------------------------------------

    def to_state(self) -> State | None:
        """Return the weights and the table of candidates."""
        w, listed = self.fitted_weights, self.candidates
        tried = [[] if listed is None else [_number(value) for value in listed[name]] for name in CANDIDATES]
        header = {"a": w.a, "g": w.g, "first": w.first, "log_loss": _number(w.log_loss)}
        bias = np.array(list(w.bias.values()), dtype=np.float64)
        return State({**header, "classes": list(w.bias), "tried": tried}, [w.bands, w.repeated, bias])

    def from_state(self, state: State | None, tally: Tally) -> Self:
        """Restore weights that fit together."""
        if state is None:
            raise BadFile(f"a model of recipe {self.name!r} holds weights beside counts")
        bands, repeated, bias = state.arrays
        labels, tried = list(state.header["classes"]), state.header["tried"]
        a, g, first = (check_weight(state.header[name]) for name in ("a", "g", "first"))
        kinds = len(repeated)
        check_weights(bands, kinds, BANDS)
        check_weights(repeated, kinds)
        check_weights(bias, len(labels))
        if kinds not in (1, 2) or len(set(labels)) < len(labels) or a <= 0 or not 0 <= g <= 10:
            raise BadFile("the weights of evidence do not fit together")
        listed = {name: [_cell(value) for value in column] for name, column in zip(CANDIDATES, tried, strict=True)}
        if len({len(column) for column in listed.values()}) != 1:
            raise BadFile("the list of candidates has columns of different lengths")
        by_class = dict(zip(labels, bias.tolist(), strict=True))
        weights = EvidenceWeights(a, g, first, bands, repeated, by_class, _cell(state.header["log_loss"]))
        return replace(self, weights=weights, candidates=Table(listed))


def candidate_table(tried: list[tuple[str, EvidenceWeights]]) -> Table:
    """List the n-grams and weights that were tried with their log loss."""
    return Table({
        "ngrams": [ngrams for ngrams, _ in tried],
        "a": [weights.a for _, weights in tried],
        "g": [weights.g for _, weights in tried],
        "log loss": [weights.log_loss for _, weights in tried],
    })  # fmt: skip


def _number(value: Any) -> Any:
    """Convert a cell of the candidate table for JSON: None if it is not finite."""
    return None if isinstance(value, float) and not isfinite(value) else value


def _cell(value: Any) -> Any:
    """Convert a cell of the candidate table from JSON: NaN for None."""
    if value is None:
        return float("nan")
    return value if isinstance(value, str) else check_weight(value)

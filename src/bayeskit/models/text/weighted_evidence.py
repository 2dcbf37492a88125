"""Recipes "weighted", "fast", "best" and "auto", which weight the evidence of words.

About twenty weights are fitted on leave-one-out scores, by the formulas of :mod:`bayeskit.estimate.weighted_evidence`.
"weighted" tries smoothings and length corrections and takes the candidate with the least log loss; "fast" fits one
candidate. "best" pools two scores on folds: weighted evidence, and a logistic regression on tf-idf words that is fitted
with the evidence as offset. Both scores are sums over the words of a document, and so is their pool. "auto" chooses
between "best" and weighted evidence of words or bigrams by the number of documents and classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.data.schema import Text
from bayeskit.data.text.documents import Documents
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokenizer import EXPRESSIONS, Tokenizer
from bayeskit.data.text.tokens import TokenRows, cut_of
from bayeskit.data.text.word_list import Words
from bayeskit.data.vocabulary import Value, are_names, blank_names
from bayeskit.errors import BadFile, BayesError
from bayeskit.estimate import weighted_evidence
from bayeskit.estimate.smoothing import is_number
from bayeskit.estimate.weighted_evidence import BANDS, EvidenceWeights, LinearDocuments, LinearFit
from bayeskit.estimate.word_weights import document_parts, smooth_idf
from bayeskit.export.scoring_form import WordShares, WordsTerm
from bayeskit.models.text import documents
from bayeskit.models.text.recipe import (
    FOLDS,
    HELD_OUT,
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
from bayeskit.tolerance import GONE
from bayeskit.typing import Array, Bools, Floats, Ints, Singles

Ngrams = tuple[int, int]
CANDIDATES = ("ngrams", "a", "g", "log loss")
# "auto" takes "best" from so many documents on and up to so many classes; see the measurements in docs/text.md.
LEAST_DOCUMENTS, MOST_CLASSES = 500, 300
# The few weights of the evidence are fitted on so many documents at most, and on so many documents times classes (but
# a thousand documents at least).
EVIDENCE_SAMPLE, EVIDENCE_CELLS, LEAST_SAMPLE = 5_000, 3 << 16, 1_000
# Exponents g of the length correction that are tried.
LENGTH_CORRECTIONS = (1.0, 0.5)
# More features are used if they lower the loss of the evidence by a tenth, or at all and the pooled loss on a third of
# the documents by a hundredth; with characters="auto" if they lower the pooled loss on folds by a hundredth.
EVIDENCE_GAIN, POOLED_GAIN = 0.9, 0.99
# Shares of the evidence that are tried as offset of the regression.
OFFSETS = (1.0, 0.5)
# Lengths of n-grams that are tried, relative to :data:`NGRAM_LENGTH`.
STRETCHES = (1.0, 1.4)
# Offsets and stretches are tried up to this number of cells times classes.
FEW_CELLS = 1 << 21
# Factor on the idf of character n-grams.
CHARACTER_IDF = 0.4
# Character n-grams that characters="auto" tries.
AUTOMATIC, CHARACTERS = "auto", (3, 5)
# Words times classes up to which more features are tried: six tables of half a GB.
LARGEST_TRIED = 1 << 26


# -- parameters --------------------------------------------------------------------------------------------------


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


@dataclass(frozen=True)
class PooledParameters(EvidenceParameters):
    """Parameters of score_c = ln P(c) + b_c + v₁ u^−g Σ [(1 + ln tf) A + ln(tf) T] + v₂ Σ x W.

    ``pooled`` (words, 2 + 3 classes) has a row for each word, as the kernel reads it: 1 for an n-gram, its idf, v₁ A,
    v₂ idf W (of an n-gram times the length of n-grams) and v₁ T. ``tables`` are its parts v₁ A and v₁ T.
    """

    pooled: Floats

    @classmethod
    def of(cls, log_prior: Floats, vocabulary: Words, bias: Floats, g: float, pooled: Floats) -> PooledParameters:
        """Build the parameters; the tables are views of ``pooled``."""
        k = len(log_prior)
        return cls(log_prior, vocabulary, bias, (pooled[:, 2 : 2 + k], pooled[:, -k:]), g, pooled)

    def __reduce__(self) -> Any:
        return PooledParameters.of, (self.log_prior, self.vocabulary, self.bias, self.g, self.pooled)

    @property
    def linear(self) -> Floats:
        """The table v₂ idf W (words, classes)."""
        k = len(self.log_prior)
        return self.pooled[:, 2 + k : -k]

    @property
    def table(self) -> Floats:
        """Weight of a word that is the only one of its kind in a document (words, classes)."""
        linear, idf = self.linear, self.pooled[:, 1:2]
        return np.asarray(self.tables[0] + np.divide(linear, idf, out=np.zeros(linear.shape), where=idf > 0))

    def scores(self, rows: TokenRows, n_threads: int) -> Floats:
        """Compute the scores of documents (documents, classes)."""
        return kernels.score_words(
            rows.indptr, rows.ids, rows.counts, self.pooled, self.g, self.log_prior, self.constant, n_threads
        )

    def text_scores(self, texts: Documents, tokenizer: Tokenizer, n_threads: int) -> Floats | None:
        """Compute the scores in one pass over the text; None if the tokenizer is not native."""
        if (cut := cut_of(tokenizer, texts)) is None:
            return None
        return kernels.score_documents(
            texts.data, texts.offsets, cut, self.vocabulary.index,
            self.pooled, self.g, self.log_prior, self.constant, n_threads,
        )  # fmt: skip

    def words_term(self, name: str) -> tuple[Floats, WordsTerm]:
        """Export the evidence of words and repetitions, and the linear part by the word's share of the length."""
        base, term = super().words_term(name)
        return base, replace(term, shares=WordShares(self.pooled[:, 1], self.pooled[:, 0] != 0, self.linear))

    def contributions(self, rows: TokenRows) -> Floats:
        """Compute the addend of each cell to the score (cells, classes)."""
        return np.asarray(sum(self.contribution_parts(rows)))

    def contribution_parts(self, rows: TokenRows) -> tuple[Floats, ...]:
        """Split the contributions into evidence and linear part (cells, classes)."""
        several, idf = self.pooled[rows.ids, 0] != 0, self.pooled[rows.ids, 1]
        shares = weighted_evidence.length_shares(rows.counts, idf, several, rows.indptr)
        return super().contributions(rows), np.asarray(shares[:, None] * self.linear[rows.ids])


# -- weighted evidence --------------------------------------------------------------------------------------------


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
        settings, read = training.settings, training.distinct_documents
        n_threads = settings._threads()
        a_values = self.a_values if settings.smoothing is None else (float(settings.smoothing),)
        ngrams = self.ngram_candidates if settings.ngrams is None else (settings.ngrams,)
        tokenizers = [settings.tokenizer(n) for n in ngrams]
        reader = documents.BoundedReader.of(read, tokenizers, settings, n_sampled=len(read.labels))
        found: list[tuple[str, EvidenceWeights]] = []
        tallies: list[Tally] = []
        for reading in reader.readings(lambda _: self):
            fitted = weighted_evidence.fit_weights(reading.documents, a_values, self.g_values, n_threads)
            found += [(str(reading.tokenizer.ngrams), weights) for weights in fitted]
            tallies += [reading.tally(training)] * len(fitted)
        best = weighted_evidence.best_candidate([weights for _, weights in found])
        return replace(self, weights=found[best][1], candidates=candidate_table(found)), tallies[best]

    def count_more(self, training: TrainingSource) -> Tally:
        """Count further documents, in the known words if the vocabulary is pruned."""
        words = training.known.words if training.known is not None and training.known.pruned else None
        return documents.count_values(training, words, self.values)

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
        return documents.is_character_ngram(words) if self.ignore_characters else None

    # -- estimates -----------------------------------------------------------------------------------

    def estimate(self, tally: Tally, log_prior: Floats, settings: Any) -> EvidenceParameters:
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

    def to_state(self) -> State:
        """Return the weights and the table of candidates."""
        w, listed = self.fitted_weights, self.candidates
        tried = [[] if listed is None else [_number(value) for value in listed[name]] for name in CANDIDATES]
        header = {"a": w.a, "g": w.g, "first": w.first, "log_loss": _number(w.log_loss)}
        bias = np.array(list(w.bias.values()), dtype=np.float64)
        return State({**header, "classes": list(w.bias), "tried": tried}, [w.bands, w.repeated, bias])

    def from_state(self, state: Any, tally: Tally) -> Self:
        """Restore weights that fit together."""
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


# -- the linear part and its fit ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class LinearWeights:
    """The fitted linear part: words with idf and weights (words, classes), constants and ln P(class) of the fit.

    ``shares`` are the factors of the evidence and of the linear part in the score, and ``log_loss`` is that of the
    pooled scores on folds of the training documents. ``tried`` lists the kinds of features that were tried with the log
    loss of each on the same folds. ``n_drawn`` is the number of sampled documents, None if all were used.
    """

    words: Words
    idf: Floats
    table: Singles
    constant: Floats
    log_prior: Floats
    classes: tuple[Value | None, ...]
    shares: tuple[float, float]
    log_loss: float
    tried: tuple[tuple[str, float], ...] = ()
    n_drawn: int | None = None

    def pack(self) -> npt.NDArray[np.uint32]:
        """Return the table for a file as the bits of its floats; of two classes only the second, minus the first."""
        kept = self.table[:, 1:] if len(self.classes) == 2 else self.table
        return np.ascontiguousarray(kept).view(np.uint32)

    @staticmethod
    def unpack(bits: Array, n_classes: int) -> Singles:
        """Restore the table (words, classes) that :meth:`pack` wrote."""
        if bits.dtype != np.uint32 or bits.ndim != 2 or bits.shape[1] != (1 if n_classes == 2 else n_classes):
            raise BadFile("the weights of the linear part do not fit their classes")
        table = bits.view(np.float32)
        return np.concatenate([-table, table], axis=1) if n_classes == 2 else table


@dataclass(frozen=True)
class _PooledFitting:
    """Fit the linear part over the leave-one-out scores of the evidence, and pool both on folds."""

    reading: documents.DocumentReading
    weights: EvidenceWeights
    order: Ints
    n_threads: int

    def is_better(self, other: _PooledFitting) -> bool:
        """Return True if this lowers the loss of another fit of the same documents, in fewer words, enough."""
        if self.weights.log_loss < EVIDENCE_GAIN * other.weights.log_loss:
            return True
        return self.weights.log_loss < other.weights.log_loss and self.trial_loss < POOLED_GAIN * other.trial_loss

    @cached_property
    def trial_loss(self) -> float:
        """The log loss of both parts on the first fold, fitted on the others."""
        labels, importance = self.reading.documents.labels, self.reading.documents.importance
        linear = self._documents(self._idf())
        out, counted, fitted = self._score_fold(linear, linear.start(), 1.0, np.sort(self.order[::FOLDS]))
        return weighted_evidence.pool_scores(counted, fitted, labels[out], importance[out], self.n_threads)[2]

    def _idf(self) -> Floats:
        d, words = self.reading.documents, self.reading.rows.words
        idf = smooth_idf(d.documents, float(self.reading.class_counts.sum()))
        if self.reading.tokenizer.characters is not None:
            idf = np.where(documents.is_character_ngram(words), CHARACTER_IDF * idf, idf)
        return idf

    def _documents(self, idf: Floats) -> LinearDocuments:
        d, rows = self.reading.documents, self.reading.rows
        several = documents.is_ngram(rows.words)
        x = np.empty(len(rows.ids), np.float32)
        for some, cells in document_parts(rows.indptr):
            indptr = rows.indptr[some.start : some.stop + 1] - cells.start
            x[cells] = weighted_evidence.linear_values(rows.counts[cells], rows.ids[cells], indptr, idf, several)
        return LinearDocuments(
            rows.indptr, rows.ids.view(np.uint32), x, d.labels.astype(np.uint32),
            weighted_evidence.costs(d.importance), len(rows.words), len(d.classes),
        )  # fmt: skip

    def fit(self) -> LinearWeights:
        """Return the fit with the least log loss on folds, of several offsets and stretches if documents are few."""
        d, rows, idf = self.reading.documents, self.reading.rows, self._idf()
        linear, several = self._documents(idf), documents.is_ngram(rows.words)
        scores = weighted_evidence.left_out_scores(d, self.weights, None, self.n_threads)
        few = len(rows.ids) * len(d.classes) <= FEW_CELLS
        found: list[LinearWeights] = []
        for stretch in STRETCHES if few and several.any() else STRETCHES[:1]:
            longer = np.where(several, np.float32(stretch), np.float32(1))
            stretched = replace(linear, values=linear.values * longer[linear.ids]) if stretch != 1 else linear
            for offset in OFFSETS if few else OFFSETS[:1]:
                fit = stretched.fit(offset * scores, self.order, stretched.start())
                held_out, counted, fitted = self._fold_scores(stretched, fit, offset)
                pooled = weighted_evidence.pool_scores(
                    counted, fitted, d.labels[held_out], d.importance[held_out], self.n_threads
                )
                table = fit.by_class(fit.table)
                table[:-1] *= longer[:, None]
                weights, constant = table[:-1].astype(np.float32), table[-1]
                found.append(
                    LinearWeights(rows.words, idf, weights, constant, d.log_prior, d.classes, pooled[:2], pooled[2])
                )
        best = min(found, key=lambda fit: fit.log_loss)
        return replace(best, n_drawn=len(d.labels)) if self.reading.is_sample else best

    def _fold_scores(self, linear: LinearDocuments, fit: LinearFit, offset: float) -> Iterator[Array]:
        """Return (documents, scores by the evidence, scores by the linear part), fitted without the fold."""
        n = len(self.order)
        n_folds = min(FOLDS, n, -(-FOLDS * HELD_OUT // n))
        parts = [self._score_fold(linear, fit, offset, np.sort(self.order[f::FOLDS])) for f in range(n_folds)]
        return map(np.concatenate, zip(*parts, strict=True))

    def _score_fold(
        self, linear: LinearDocuments, fit: LinearFit, offset: float, held_out: Ints
    ) -> tuple[Ints, Floats, Floats]:
        d, rows = self.reading.documents, self.reading.rows
        is_out = np.zeros(len(self.order), dtype=bool)
        is_out[held_out] = True
        weight_out = np.where(is_out, d.weights, 0.0)
        removed = documents.add_by_class(rows, d.mass, d.labels, weight_out, np.zeros_like(d.class_mass))
        rest = replace(
            d,
            class_mass=np.maximum(d.class_mass - removed, 0.0),
            documents=np.maximum(d.documents - documents.document_frequency(rows, weight_out), 0.0),
        )
        del removed
        scores = weighted_evidence.left_out_scores(rest, self.weights, is_out, self.n_threads)
        matrix = linear.matrix(held_out)
        fitted = linear.fit(offset * scores, self.order[~is_out[self.order]], fit.without(matrix, held_out))
        return held_out, scores[held_out], fitted.scores(matrix)


@dataclass(frozen=True, eq=False)
class Best(WeightedEvidence):
    """Weighted evidence pooled with a linear part; ``linear`` is None before the fit and for a single class."""

    name: str = "best"
    linear: LinearWeights | None = None
    default_pattern = "words_and_punctuation"
    has_leave_one_out = False

    # -- fitting -------------------------------------------------------------------------------------

    def fit(self, training: TrainingSource) -> tuple[Recipe, Tally]:
        """Fit both parts on words, and on n-grams of words and characters if they lower the loss enough."""
        settings, read = training.settings, training.distinct_documents
        n_threads, rng = settings._threads(), np.random.default_rng(0)
        a = 1.0 if settings.smoothing is None else float(settings.smoothing)
        on_folds = settings.characters == AUTOMATIC and len(read.classes) > 1
        n_sampled = min(EVIDENCE_SAMPLE, max(LEAST_SAMPLE, EVIDENCE_CELLS // len(read.classes)))
        chosen: _PooledFitting | None = None
        pooled: LinearWeights | None = None
        tried: list[tuple[str, EvidenceWeights]] = []
        tried_features: list[tuple[str, float]] = []
        tokenizers = self._tokenizers(settings, read, n_threads)
        reader = documents.BoundedReader.of(read, tokenizers, settings, n_sampled=n_sampled)
        for reading in reader.readings(self._for_tokenizer):
            tokenizer, near = reading.tokenizer, None
            if chosen is None:
                n_held = len(reading.documents.labels)
                sample, order = np.sort(rng.permutation(n_held)[:n_sampled]), rng.permutation(n_held)
            elif len(reading.rows.words) * len(read.classes) > LARGEST_TRIED:
                break
            else:
                near = chosen.weights
            sampled = reading.documents.take(sample)
            candidates = weighted_evidence.fit_weights(sampled, (a,), LENGTH_CORRECTIONS, n_threads, near)
            weights = candidates[weighted_evidence.best_candidate(candidates)]
            tried += [(f"{tokenizer.ngrams}" + " and characters" * bool(tokenizer.characters), c) for c in candidates]
            fitting = _PooledFitting(reading, weights, order, n_threads)
            if on_folds:
                fit = fitting.fit()
                tried_features.append((reading.features, fit.log_loss))
                if pooled is None or fit.log_loss < POOLED_GAIN * pooled.log_loss:
                    chosen, pooled = fitting, fit
            elif chosen is None or fitting.is_better(chosen):
                chosen = fitting
        assert chosen is not None
        if len(read.classes) > 1:
            pooled = replace(pooled or chosen.fit(), tried=tuple(tried_features))
        reading, weights = chosen.reading, chosen.weights
        recipe = self._for_tokenizer(reading.tokenizer)
        recipe = replace(recipe, weights=weights, candidates=candidate_table(tried), linear=pooled)
        return recipe, reading.tally(training)

    def _for_tokenizer(self, tokenizer: Tokenizer) -> Best:
        """Return the recipe whose evidence ignores the character n-grams of a tokenizer."""
        return replace(self, ignore_characters=tokenizer.characters is not None)

    def _tokenizers(self, settings: Any, read: documents.LabeledDocuments, n_threads: int) -> list[Tokenizer]:
        """List the tokenizers to try: words, pairs, and character n-grams if asked for and not too many."""
        tokenizer = settings.tokenizer(None, self.default_pattern)
        tries = [tokenizer] if settings.ngrams else [replace(tokenizer, ngrams=n) for n in ((1, 1), (1, 2))]
        if settings.characters == AUTOMATIC and tokenizer.pattern in EXPRESSIONS:
            richest = replace(tries[-1], characters=CHARACTERS)
            if not documents.has_many_character_ngrams(read, richest, n_threads):
                tries.append(richest)
        return tries

    def forget_names(self, tally: Tally) -> Self:
        """Drop words that no document has any more, and blank classes without documents."""
        recipe, linear = super().forget_names(tally), self.linear
        if linear is None:
            return recipe
        present = linear.words.are_in(tally.words[COLUMN].words)
        linear = replace(
            linear,
            words=linear.words.take(present),
            idf=linear.idf[present],
            table=linear.table[present],
            classes=blank_names(linear.classes, tally.classes),
        )
        return replace(recipe, linear=linear)

    def fixed_parts(self, counted: WordCounts) -> tuple[str, ...]:
        """Both parts and their shares stay fixed."""
        return *super().fixed_parts(counted), "idf", "linear weights"

    # -- estimates -----------------------------------------------------------------------------------

    def estimate(self, tally: Tally, log_prior: Floats, settings: Any) -> EvidenceParameters:
        """Pool the evidence of the current masses with the fitted linear part, which has no new words and classes."""
        counted, linear = super().estimate(tally, log_prior, settings), self.linear
        if linear is None:
            return counted
        words, k = counted.vocabulary, len(tally.classes)
        first, second = linear.shares
        at = np.array([linear.classes.index(c) if c in linear.classes else len(linear.classes) for c in tally.classes])
        offset = (first - 1.0) * np.append(linear.log_prior, 0.0)[at]
        offset = offset + first * counted.bias + second * np.append(linear.constant, 0.0)[at]
        where = np.asarray(linear.words.index.find(words.data, words.offsets))
        known, old = where >= 0, at < len(linear.classes)
        idf, weights = np.zeros(len(words)), np.zeros((len(words), k))
        idf[known] = linear.idf[where[known]]
        weights[np.ix_(known, old)] = second * linear.table[where[known]][:, at[old]]
        several = documents.is_ngram(words)
        lengths = np.where(several, weighted_evidence.NGRAM_LENGTH, 1.0) * idf
        pooled = np.empty((len(words), 2 + 3 * k))
        pooled[:, 0], pooled[:, 1] = several, idf
        np.multiply(first, counted.tables[0], out=pooled[:, 2 : 2 + k])
        np.multiply(lengths[:, None], weights, out=pooled[:, 2 + k : -k])
        np.multiply(first, counted.tables[1], out=pooled[:, -k:])
        return PooledParameters.of(log_prior, words, offset, counted.g, pooled)

    # -- persistence ---------------------------------------------------------------------------------

    def to_state(self) -> State:
        """Return the weights of both parts."""
        evidence = super().to_state()
        header: dict[str, Any] = {"evidence": evidence.header}
        arrays = [*evidence.arrays]
        if self.linear is not None:
            w = self.linear
            header |= {"shares": list(w.shares), "log_loss": w.log_loss, "linear_classes": list(w.classes)}
            header |= {"features": [list(pair) for pair in w.tried]} if w.tried else {}
            header |= {} if w.n_drawn is None else {"drawn": w.n_drawn}
            arrays += [w.words.data, w.words.offsets, w.idf, w.pack(), w.constant, w.log_prior]
        return State(header, arrays)

    def from_state(self, state: Any, tally: Tally) -> Self:
        """Restore weights of both parts that fit together."""
        if len(state.arrays) not in (3, 9):
            raise BadFile(f"a model of recipe {self.name!r} needs weights beside counts")
        role = tally.schema.columns[COLUMN]
        has_characters = isinstance(role, Text) and role.tokenizer.characters is not None
        recipe = super().from_state(State(state.header["evidence"], state.arrays[:3]), tally)
        recipe = replace(recipe, ignore_characters=has_characters)
        if len(state.arrays) == 3:
            return recipe
        data, offsets, idf, bits, constant, log_prior = state.arrays[3:]
        words, classes = Words.checked(data, offsets), tuple(state.header["linear_classes"])
        first, second = (check_weight(share) for share in state.header["shares"])
        k = len(classes)
        table = LinearWeights.unpack(bits, k)
        check_weights(idf, len(words))
        check_weights(table, len(words), k)
        for array in (constant, log_prior):
            check_weights(array, k)
        if k < 2 or not are_names(classes) or (idf < 0).any():
            raise BadFile("the weights of the linear part do not fit together")
        loss = check_weight(state.header["log_loss"])
        tried = tuple((name, check_weight(lost)) for name, lost in state.header.get("features", ()))
        if not all(isinstance(name, str) for name, _ in tried):
            raise BadFile("the names of the features that were tried are not texts")
        n_drawn = state.header.get("drawn")
        if n_drawn is not None and (type(n_drawn) is not int or n_drawn < 1):
            raise BadFile(f"{n_drawn!r} is not a number of documents")
        linear = LinearWeights(words, idf, table, constant, log_prior, classes, (first, second), loss, tried, n_drawn)
        return replace(recipe, linear=linear)


class AutomaticRecipe(WeightedEvidence):
    """Choose "best" or weighted evidence when the documents are read; the fitted recipe is the chosen one."""

    has_leave_one_out = False

    def fit(self, training: TrainingSource) -> tuple[Recipe, Tally]:
        """Choose a recipe and fit it."""
        read = training.distinct_documents
        is_large = len(read.labels) >= LEAST_DOCUMENTS and 2 <= len(read.classes) <= MOST_CLASSES
        return self._chosen(is_large).fit(training)

    def from_state(self, state: Any, tally: Tally) -> Any:
        """Restore the recipe that was chosen, of a model that keeps its documents to choose again."""
        return self._chosen("evidence" in state.header).from_state(state, tally)

    @staticmethod
    def _chosen(is_best: bool) -> WeightedEvidence:
        return Best() if is_best else WeightedEvidence("weighted", ngram_candidates=((1, 1), (1, 2)))

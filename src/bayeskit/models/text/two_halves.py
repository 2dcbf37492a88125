"""Two halves fitted on documents: weighted evidence, a linear half over its scores, and the weights that pool them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bayeskit.data.text.tokens import TokenRows
from bayeskit.estimate.words import linear_half, weighted_evidence
from bayeskit.estimate.words.linear_half import LinearDocuments, LinearFit
from bayeskit.estimate.words.weighted_evidence import EvidenceWeights, TrainingDocuments
from bayeskit.estimate.words.weights import document_parts, smooth_idf
from bayeskit.models.text.reading import LabelledDocuments, class_sums, document_frequency, has_space
from bayeskit.models.text.weighted import Ngrams, training_documents

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
SAMPLE = 5_000  # documents on which the weights of evidence are fitted
LENGTHS = (1.0, 0.5)  # corrections for the length of documents, of which the better one is taken
GAIN = 0.9  # runs of two words are kept where they bring the loss of the evidence below this part of it
FOLDS, HELD_OUT = 3, 4_000  # as many folds as hold out so many documents


@dataclass(frozen=True)
class Reading:
    """Documents read in some n-grams, with the masses of their words."""

    ngrams: Ngrams
    rows: TokenRows
    pruned: bool
    masses: Floats
    documents: TrainingDocuments

    @classmethod
    def of(cls, ngrams: Ngrams, rows: TokenRows, pruned: bool, read: LabelledDocuments) -> Reading:
        """Sum the masses of words by class."""
        masses = weighted_evidence.masses(rows.counts, rows.indptr)
        sums = class_sums(rows, masses, read.labels, len(read.classes), read.weights)
        return cls(ngrams, rows, pruned, masses, training_documents(rows, read, sums))

    def candidates(self, a: float, n_threads: int, sample: Index) -> list[EvidenceWeights]:
        """Weights of evidence, fitted on a sample of the documents under the masses of all."""
        return weighted_evidence.fit_weights(self.documents.take(sample), (a,), LENGTHS, n_threads)


@dataclass(frozen=True)
class Halves:
    """What was fitted: idf (words,), W (words, classes) with its constant, v₁ and v₂, and their log loss on folds."""

    idf: Floats
    table: npt.NDArray[np.float32]
    constant: Floats
    shares: tuple[float, float]
    log_loss: float


def fit_halves(reading: Reading, weights: EvidenceWeights, rng: np.random.Generator, n_threads: int) -> Halves:
    """The linear half over the leave-one-out scores of the evidence, and the pool of both on folds."""
    d, rows = reading.documents, reading.rows
    runs = has_space(rows.words)
    idf = smooth_idf(d.documents, float(d.importance.sum()))
    x = np.empty(len(rows.ids), np.float32)
    for some, cells in document_parts(rows.indptr):
        indptr = rows.indptr[some.start : some.stop + 1] - cells.start
        x[cells] = linear_half.values(rows.counts[cells], rows.ids[cells], indptr, idf, runs if runs.any() else None)
    linear = LinearDocuments(
        rows.indptr, rows.ids.view(np.uint32), x, d.labels.astype(np.uint32),
        linear_half.costs(d.importance), len(rows.words), len(d.classes),
    )  # fmt: skip
    order = rng.permutation(len(d.labels))
    fit = linear.fit(
        weighted_evidence.left_out_scores(d, reading.masses, weights, None, n_threads), order, linear.start()
    )
    held_out, counted, fitted = _on_folds(reading, weights, linear, fit, order, n_threads)
    importance = d.importance[held_out]
    first, second, loss = linear_half.pool(counted, fitted, d.labels[held_out], importance, n_threads)
    table = fit.by_class(fit.table)
    return Halves(idf, table[:-1].astype(np.float32), table[-1], (first, second), loss)


def _on_folds(
    reading: Reading, weights: EvidenceWeights, linear: LinearDocuments, fit: LinearFit, order: Index, n_threads: int
) -> tuple[Index, Floats, Floats]:
    """(documents, their scores by the evidence, by the linear half), each by what was fitted without its fold."""
    n = len(order)
    n_folds = min(FOLDS, n, -(-FOLDS * HELD_OUT // n))
    parts = [_fold(reading, weights, linear, fit, order, np.sort(order[f::FOLDS]), n_threads) for f in range(n_folds)]
    held_out, counted, fitted = (np.concatenate(part) for part in zip(*parts, strict=True))
    return held_out, counted, fitted


def _fold(
    reading: Reading,
    weights: EvidenceWeights,
    linear: LinearDocuments,
    fit: LinearFit,
    order: Index,
    held_out: Index,
    n_threads: int,
) -> tuple[Index, Floats, Floats]:
    d, rows = reading.documents, reading.rows.take(held_out)
    is_out = np.zeros(len(order), dtype=bool)
    is_out[held_out] = True
    by = np.repeat(d.importance[held_out], np.diff(rows.indptr))
    masses = reading.masses[np.repeat(is_out, np.diff(d.indptr))] * by
    taken = class_sums(rows, masses, d.labels[held_out], len(d.classes), None)
    rest = replace(
        d,
        class_mass=np.maximum(d.class_mass - taken, 0.0),
        documents=np.maximum(d.documents - document_frequency(rows, d.importance[held_out]), 0.0),
    )
    scores = weighted_evidence.left_out_scores(rest, reading.masses, weights, is_out, n_threads)
    documents = linear.matrix(held_out)
    fitted = linear.fit(scores, order[~is_out[order]], fit.without(documents, held_out))
    return held_out, scores[held_out], fitted.scores(documents)

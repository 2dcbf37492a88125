"""Two halves fitted on documents: weighted evidence, a linear half over its scores, and the weights that pool them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bayeskit.estimate.words import linear_half, weighted_evidence
from bayeskit.estimate.words.linear_half import LinearDocuments, LinearFit
from bayeskit.estimate.words.weighted_evidence import EvidenceWeights
from bayeskit.estimate.words.weights import document_parts, smooth_idf
from bayeskit.models.text.candidate_words import Reading
from bayeskit.models.text.reading import class_sums, document_frequency, has_space, is_inside
from bayeskit.typing import Floats, Ints, Singles

SAMPLE = 5_000  # documents on which the weights of evidence are fitted
LENGTHS = (1.0, 0.5)  # corrections for the length of documents, of which the better one is taken
GAIN = 0.9  # runs of two words are kept where they bring the loss of the evidence below this part of it
FOLDS, HELD_OUT = 3, 4_000  # as many folds as hold out so many documents
OFFSETS = (1.0, 0.5)  # of the scores of the evidence, over which the linear half is fitted
STRETCHES = (1.0, 1.4)  # of runs of words, while it is fitted
FEW_CELLS = 1 << 21  # words of all documents times classes up to which these are tried
INSIDE = 0.4  # of the idf of runs of characters


@dataclass(frozen=True)
class Halves:
    """What was fitted: idf (words,), W (words, classes) with its constant, v₁ and v₂, and their log loss on folds."""

    idf: Floats
    table: Singles
    constant: Floats
    shares: tuple[float, float]
    log_loss: float


def evidence_candidates(reading: Reading, a: float, n_threads: int, sample: Ints) -> list[EvidenceWeights]:
    """Weights of evidence, fitted on a sample of the documents under the masses of all."""
    return weighted_evidence.fit_weights(reading.documents.take(sample), (a,), LENGTHS, n_threads)


def fit_halves(reading: Reading, weights: EvidenceWeights, order: Ints, n_threads: int) -> Halves:
    """The linear half over the leave-one-out scores of the evidence, and the pool of both on folds.

    Of few and short documents it is fitted over the whole and over half of these scores, with shorter and with longer
    runs of words: the least log loss on folds is taken.
    """
    d, rows = reading.documents, reading.rows
    runs = has_space(rows.words)
    idf = smooth_idf(d.documents, float(reading.class_counts.sum()))
    if reading.tokenizer.characters is not None:
        idf = np.where(is_inside(rows.words), INSIDE * idf, idf)
    x = np.empty(len(rows.ids), np.float32)
    for some, cells in document_parts(rows.indptr):
        indptr = rows.indptr[some.start : some.stop + 1] - cells.start
        x[cells] = linear_half.values(rows.counts[cells], rows.ids[cells], indptr, idf, runs if runs.any() else None)
    linear = LinearDocuments(
        rows.indptr, rows.ids.view(np.uint32), x, d.labels.astype(np.uint32),
        linear_half.costs(d.importance), len(rows.words), len(d.classes),
    )  # fmt: skip
    scores = weighted_evidence.left_out_scores(d, weights, None, n_threads)
    few = len(rows.ids) * len(d.classes) <= FEW_CELLS
    found: list[Halves] = []
    for stretch in STRETCHES if few and runs.any() else STRETCHES[:1]:
        longer = np.where(runs, np.float32(stretch), np.float32(1))
        stretched = replace(linear, values=linear.values * longer[linear.ids]) if stretch != 1 else linear
        for offset in OFFSETS if few else OFFSETS[:1]:
            fit = stretched.fit(offset * scores, order, stretched.start())
            held_out, counted, fitted = _on_folds(reading, weights, stretched, fit, order, offset, n_threads)
            pooled = linear_half.pool(counted, fitted, d.labels[held_out], d.importance[held_out], n_threads)
            table = fit.by_class(fit.table)
            table[:-1] *= longer[:, None]
            found.append(Halves(idf, table[:-1].astype(np.float32), table[-1], pooled[:2], pooled[2]))
    return min(found, key=lambda halves: halves.log_loss)


def _on_folds(
    reading: Reading,
    weights: EvidenceWeights,
    linear: LinearDocuments,
    fit: LinearFit,
    order: Ints,
    offset: float,
    n_threads: int,
) -> tuple[Ints, Floats, Floats]:
    """(documents, their scores by the evidence, by the linear half), each by what was fitted without its fold."""
    n = len(order)
    n_folds = min(FOLDS, n, -(-FOLDS * HELD_OUT // n))
    folds = [np.sort(order[f::FOLDS]) for f in range(n_folds)]
    parts = [_fold(reading, weights, linear, fit, order, held_out, offset, n_threads) for held_out in folds]
    held_out, counted, fitted = (np.concatenate(part) for part in zip(*parts, strict=True))
    return held_out, counted, fitted


def _fold(
    reading: Reading,
    weights: EvidenceWeights,
    linear: LinearDocuments,
    fit: LinearFit,
    order: Ints,
    held_out: Ints,
    offset: float,
    n_threads: int,
) -> tuple[Ints, Floats, Floats]:
    d, rows = reading.documents, reading.rows
    is_out = np.zeros(len(order), dtype=bool)
    is_out[held_out] = True
    weight_out = np.where(is_out, d.importance, 0.0)
    taken = class_sums(rows, d.mass, d.labels, weight_out, np.zeros_like(d.class_mass))
    rest = replace(
        d,
        class_mass=np.maximum(d.class_mass - taken, 0.0),
        documents=np.maximum(d.documents - document_frequency(rows, weight_out), 0.0),
    )
    del taken
    scores = weighted_evidence.left_out_scores(rest, weights, is_out, n_threads)
    documents = linear.matrix(held_out)
    fitted = linear.fit(offset * scores, order[~is_out[order]], fit.without(documents, held_out))
    return held_out, scores[held_out], fitted.scores(documents)

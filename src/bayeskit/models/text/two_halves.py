"""Two halves fitted on documents: weighted evidence, a linear half over its scores, and the weights that pool them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.text.tokens import TokenRows
from bayeskit.estimate.words import linear_half, weighted_evidence
from bayeskit.estimate.words.linear_half import LinearDocuments, LinearFit
from bayeskit.estimate.words.weighted_evidence import EvidenceWeights, TrainingDocuments
from bayeskit.estimate.words.weights import document_parts, smooth_idf
from bayeskit.models.text.reading import LabelledDocuments, class_sums, document_frequency, has_space, is_inside
from bayeskit.models.text.weighted import WeightedEvidence, training_documents

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
SAMPLE = 5_000  # documents on which the weights of evidence are fitted
LENGTHS = (1.0, 0.5)  # corrections for the length of documents, of which the better one is taken
GAIN = 0.9  # runs of two words are kept where they bring the loss of the evidence below this part of it
FOLDS, HELD_OUT = 3, 4_000  # as many folds as hold out so many documents
OFFSETS = (1.0, 0.5)  # of the scores of the evidence, over which the linear half is fitted
STRETCHES = (1.0, 1.4)  # of runs of words, while it is fitted
FEW_CELLS = 1 << 21  # words of all documents times classes up to which these are tried
INSIDE = 0.4  # of the idf of runs of characters


@dataclass(frozen=True)
class Reading:
    """Documents read in some words, with the masses that are summed of them, and what evidence is fitted on."""

    tokenizer: Tokenizer
    rows: TokenRows
    pruned: bool
    masses: Floats
    documents: TrainingDocuments

    @classmethod
    def of(
        cls, tokenizer: Tokenizer, rows: TokenRows, pruned: bool, read: LabelledDocuments, evidence: WeightedEvidence
    ) -> Reading:
        """Sum the masses of words by class."""
        masses, silent = evidence.values(rows), evidence.silent(rows.words)
        mass = masses if silent is None else np.where(silent[rows.ids], 0.0, masses)
        sums = class_sums(rows, mass, read.labels, len(read.classes), read.weights)
        return cls(tokenizer, rows, pruned, masses, training_documents(rows, mass, read, sums))

    def candidates(self, a: float, n_threads: int, sample: Index) -> list[EvidenceWeights]:
        """Weights of evidence, fitted on a sample of the documents under the masses of all."""
        return weighted_evidence.fit_weights(self.documents.take(sample), (a,), LENGTHS, n_threads)

    @property
    def features(self) -> str:
        """What is read, in words."""
        pairs, runs = self.tokenizer.ngrams[1] > 1, self.tokenizer.characters is not None
        return "words" + ", pairs" * pairs + ", characters" * runs


@dataclass(frozen=True)
class Halves:
    """What was fitted: idf (words,), W (words, classes) with its constant, v₁ and v₂, and their log loss on folds."""

    idf: Floats
    table: npt.NDArray[np.float32]
    constant: Floats
    shares: tuple[float, float]
    log_loss: float


def fit_halves(reading: Reading, weights: EvidenceWeights, order: Index, n_threads: int) -> Halves:
    """The linear half over the leave-one-out scores of the evidence, and the pool of both on folds.

    Of few and short documents it is fitted over the whole and over half of these scores, with shorter and with longer
    runs of words: the least log loss on folds is taken.
    """
    d, rows = reading.documents, reading.rows
    runs = has_space(rows.words)
    idf = smooth_idf(d.documents, float(d.importance.sum()))
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
    order: Index,
    offset: float,
    n_threads: int,
) -> tuple[Index, Floats, Floats]:
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
    order: Index,
    held_out: Index,
    offset: float,
    n_threads: int,
) -> tuple[Index, Floats, Floats]:
    d, rows = reading.documents, reading.rows.take(held_out)
    is_out = np.zeros(len(order), dtype=bool)
    is_out[held_out] = True
    by = np.repeat(d.importance[held_out], np.diff(rows.indptr))
    masses = d.mass[np.repeat(is_out, np.diff(d.indptr))] * by
    taken = class_sums(rows, masses, d.labels[held_out], len(d.classes), None)
    rest = replace(
        d,
        class_mass=np.maximum(d.class_mass - taken, 0.0),
        documents=np.maximum(d.documents - document_frequency(rows, d.importance[held_out]), 0.0),
    )
    scores = weighted_evidence.left_out_scores(rest, weights, is_out, n_threads)
    documents = linear.matrix(held_out)
    fitted = linear.fit(offset * scores, order[~is_out[order]], fit.without(documents, held_out))
    return held_out, scores[held_out], fitted.scores(documents)

"""Weighted evidence for text: a naive Bayes whose words are weighed by about twenty weights fitted on leave-one-out.

Mass of word w in document d: t = ln(1 + tf) / ‖ln(1 + tf)‖. n_cw sums it over the documents of class c, n_w over
all, s_c is the class's share of all mass. With pseudo-mass a for each word, shared out like s_c, the log odds are

    λᴹ_cw = ln[(n_cw / s_c + a) / (n_w + a)]         λᶜ_cw = −ln[((n_w − n_cw) / (1 − s_c) + a) / (n_w + a)]

the second one for more than two classes only. A document with u distinct known words scores

    ln P(c) + b_c + u^−g Σ_w [ (1 + ln tf) (θ₀ Σ_m λᵐ + Σ_m θ_{m,band(w)} λᵐ) + ln(tf) Σ_m θ_{m,tf} λᵐ ]

where the band of a word is by its document frequency. θ and b minimise the mean log loss of the training documents,
each scored without itself, with a small penalty; so the probabilities are calibrated by the same fit.

Formula: weighted evidence of words, and the fit of its weights
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.vocabulary import Value
from bayeskit.estimate.words.weights import cosine_normalized, document_of_cell, document_parts
from bayeskit.threads import one_blas_thread
from bayeskit.tolerance import GONE, LEAST_SHARE, NO_INFORMATION, POSITIVE
from bayeskit.typing import Array, Bools, Bytes, Floats

BANDS = 8
FEATURES = BANDS + 1  # the bands, and Σ ln(tf) λ
PENALTY, FIRST_PENALTY = 10.0, 0.001
STEPS = 60
AS_GOOD = 1e-4  # of log loss: of fits that are as good the simplest is taken
LARGEST = 1 << 26  # numbers held as features; of more documents than fit, evenly spaced ones are taken
CHUNK = 1 << 16  # words at a time


@dataclass(frozen=True)
class EvidenceWeights:
    """a, g, θ and b. ``bands`` (kinds, 8) and ``repeated`` (kinds,): for λᴹ, and for λᶜ where there are two kinds."""

    a: float = 1.0
    g: float = 1.0
    first: float = 1.0
    bands: Floats = field(default_factory=lambda: np.zeros((1, BANDS)))
    repeated: Floats = field(default_factory=lambda: np.zeros(1))
    bias: dict[Value, float] = field(default_factory=dict)
    log_loss: float = np.nan  # leave-one-out, on the training documents

    @property
    def effective(self) -> Floats:
        """θ of each feature (kinds, 9): bands, and repetition."""
        return np.concatenate([self.bands + self.first, self.repeated[:, None]], axis=1)


def masses(counts: Array, indptr: Array) -> Floats:
    """t of each cell: ln(1 + tf), every document of length one."""
    made = np.empty(len(counts))
    for rows, cells in document_parts(indptr):
        starts = indptr[rows.start : rows.stop + 1] - cells.start
        made[cells] = cosine_normalized(np.log1p(counts[cells].astype(np.float64)), starts)
    return made


def bands_of(documents: Floats) -> Bytes:
    """min(7, ⌊log₂(max(df, 2)) / 1.5⌋).

    >>> bands_of(np.array([1.0, 2.0, 3.0, 8.0, 1e6])).tolist()
    [0, 0, 1, 2, 7]
    """
    return np.minimum(BANDS - 1, np.log2(np.maximum(documents, 2.0)) / 1.5).astype(np.uint8)


def words_log_odds(mass: Floats, a: float, both: bool = False, totals: Floats | None = None) -> list[Floats]:
    """[λᴹ] or [λᴹ, λᶜ] of words with these masses (words, classes); ``totals`` are those of all words, of which these
    may be some."""
    totals = mass.sum(axis=0) if totals is None else totals
    share = totals / max(float(totals.sum()), POSITIVE)
    of_word = mass.sum(axis=1, keepdims=True)
    middle = np.log(of_word + a)
    found = [np.log(mass / np.maximum(share, LEAST_SHARE) + a) - middle]
    if both:
        others = np.maximum(of_word - mass, 0.0)
        found.append(middle - np.log(others / np.maximum(1 - share, LEAST_SHARE) + a))
    return found


def evidence_tables(class_mass: Floats, documents: Floats, weights: EvidenceWeights) -> tuple[Floats, Floats]:
    """(A, T) (words, classes): what a word says by being there, and more by every ln(tf)."""
    both, totals, bands = len(weights.repeated) > 1, class_mass.sum(axis=0), bands_of(documents)
    evidence, repeated = np.empty_like(class_mass), np.empty_like(class_mass)
    for start in range(0, len(class_mass), CHUNK):
        part = slice(start, start + CHUNK)
        odds = words_log_odds(class_mass[part], weights.a, both, totals)
        evidence[part] = sum(
            (weights.first + own[bands[part]])[:, None] * lam for own, lam in zip(weights.bands, odds, strict=True)
        )
        repeated[part] = sum(own * lam for own, lam in zip(weights.repeated, odds, strict=True))
    return evidence, repeated


@dataclass(frozen=True)
class TrainingDocuments:
    """What weights are fitted on: word ids[k] stands counts[k] times, k in indptr[d]:indptr[d + 1]."""

    indptr: Array
    ids: Array
    counts: Array
    labels: Array
    importance: Floats
    class_mass: Floats  # (words, classes)
    documents: Floats  # that have the word (words,)
    log_prior: Floats
    classes: tuple[Value, ...]
    bands: Bytes  # of the words (words,)
    mass: Floats  # of each cell, as it is summed in class_mass

    def take(self, rows: Array) -> TrainingDocuments:
        """These documents alone, under the masses of all."""
        sizes = np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        cells = np.arange(indptr[-1]) + np.repeat(self.indptr[rows] - indptr[:-1], sizes)
        each = {name: getattr(self, name)[cells] for name in ("ids", "counts", "mass")}
        return replace(self, indptr=indptr, labels=self.labels[rows], importance=self.importance[rows], **each)


def n_features(n_classes: int) -> int:
    """Numbers that are held of a document: features times classes, of both λ where there are more than two classes."""
    return FEATURES * (1 + (n_classes > 2)) * n_classes


def most_documents(n_classes: int) -> int:
    """Documents that weights are fitted on."""
    return LARGEST // n_features(n_classes)


def fit_weights(
    d: TrainingDocuments, a_values: tuple[float, ...], g_values: tuple[float, ...], n_threads: int = 1
) -> list[EvidenceWeights]:
    """Weights for every (a, g), each with its leave-one-out log loss."""
    n_classes = len(d.classes)
    if n_classes < 2:
        return [EvidenceWeights(a_values[0], g_values[0])]
    both = n_classes > 2
    d = _at_most(d, most_documents(n_classes))
    labels = d.labels.astype(np.uint32)
    mass = d.mass * np.repeat(np.minimum(d.importance, 1.0), np.diff(d.indptr))
    known = np.add.reduceat(np.append(d.documents[d.ids] > 1, 0), d.indptr[:-1]) * (np.diff(d.indptr) > 0)
    found = []
    for a in a_values:
        features = kernels.left_out_evidence(
            d.indptr.astype(np.int64), d.ids.astype(np.uint32), d.counts.astype(np.uint32), mass, labels,
            d.class_mass, d.bands, a, both, n_threads,
        )  # fmt: skip
        for g in g_values:
            scale = np.maximum(known, 1.0) ** -g
            found.append(_fitted(features, scale, labels, d, a, g, n_threads))
    return found


def left_out_scores(
    d: TrainingDocuments,
    weights: EvidenceWeights,
    held_out: Bools | None = None,
    n_threads: int = 1,
) -> Floats:
    """Scores of documents (documents, classes) with prior and bias, each by the masses without itself.

    ``held_out`` marks documents that ``class_mass`` and ``documents`` do not have: they are scored by all of these.
    """
    unit = np.minimum(d.importance, 1.0)
    if held_out is not None:
        unit = np.where(held_out, 0.0, unit)
    labels = d.labels.astype(np.uint32, copy=False)
    scores = np.empty((len(labels), len(d.classes)))
    for rows, cells in document_parts(d.indptr):
        indptr = d.indptr[rows.start : rows.stop + 1] - cells.start
        of_cell, having = np.repeat(unit[rows], np.diff(indptr)), d.documents[d.ids[cells]]
        sums = kernels.left_out_scores(
            indptr, d.ids[cells].astype(np.uint32), d.counts[cells].astype(np.uint32), d.mass[cells] * of_cell,
            labels[rows], d.class_mass, d.bands, weights.effective, weights.a, n_threads,
        )  # fmt: skip
        known = np.bincount(document_of_cell(indptr), having - of_cell > GONE * having, minlength=len(sums))
        scores[rows] = sums * (np.maximum(known, 1.0) ** -weights.g)[:, None]
    return scores + d.log_prior + np.array([weights.bias.get(label, 0.0) for label in d.classes])


def best(candidates: list[tuple[EvidenceWeights, Any]]) -> tuple[EvidenceWeights, Any]:
    """The smallest log loss; of those within 1e-4 the largest a, then g = 1, then the first."""
    least = min(weights.log_loss for weights, _ in candidates)
    near = [pair for pair in candidates if not pair[0].log_loss > least + AS_GOOD]
    return max(near, key=lambda pair: (pair[0].a, pair[0].g == 1.0))


def _fitted(
    features: Floats, scale: Floats, labels: Array, d: TrainingDocuments, a: float, g: float, n_threads: int
) -> EvidenceWeights:
    from scipy.optimize import minimize

    n_features, k = features.shape[1:]
    in_band = np.arange(n_features) % FEATURES < BANDS
    n, importance = float(d.importance.sum()), np.ascontiguousarray(d.importance)
    by_row = importance * scale**2 / (n * k)
    squares = np.concatenate([
        [by_row @ np.square(features[:, in_band].sum(axis=1)).sum(axis=1)],
        by_row @ np.einsum("nfk,nfk->nf", features, features),
    ])  # fmt: skip
    size = np.sqrt(squares)
    speaks = size > NO_INFORMATION  # a feature that says nothing has no weight
    unit = np.where(speaks, 1 / np.where(speaks, size, 1.0), 0.0)
    penalty = np.concatenate([[FIRST_PENALTY], np.ones(n_features + k)]) * (PENALTY / n)

    def effective(v: Floats) -> Floats:
        theta = v[: n_features + 1] * unit
        return np.ascontiguousarray(theta[1:] + theta[0] * in_band)

    def loss(v: Floats) -> tuple[float, Floats]:
        bias = d.log_prior + v[n_features + 1 :]
        total, by_weight, by_bias = kernels.softmax_loss(
            features, scale, importance, effective(v), bias, labels, n_threads
        )
        slopes = np.concatenate([[by_weight[in_band].sum()], by_weight]) * unit
        return total / n + float(penalty @ (v * v)) / 2, np.concatenate([slopes, by_bias]) / n + penalty * v

    start = np.zeros(1 + n_features + k)
    start[0] = 1.0
    with one_blas_thread():
        v = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x
    bias = v[n_features + 1 :]
    left_out = kernels.softmax_loss(features, scale, importance, effective(v), d.log_prior + bias, labels, n_threads)[0]
    theta = v[: n_features + 1] * unit
    table = theta[1:].reshape(-1, FEATURES)
    named = dict(zip(d.classes, bias.tolist(), strict=True))
    return EvidenceWeights(a, g, float(theta[0]), table[:, :BANDS].copy(), table[:, BANDS].copy(), named, left_out / n)


def _at_most(d: TrainingDocuments, limit: int) -> TrainingDocuments:
    n = len(d.labels)
    if n <= limit:
        return d
    return d.take(np.linspace(0, n - 1, limit).astype(np.int64))


def scores(
    indptr: Array, ids: Array, counts: Array, tables: tuple[Floats, Floats], g: float, constant: Floats, n_threads: int
) -> Floats:
    """Scores (documents, classes) of documents given by their known words."""
    log_count = np.log(counts.astype(np.float64))
    out = np.zeros((len(indptr) - 1, len(constant)))
    kernels.score_rows(indptr, ids, 1.0 + log_count, tables[0], out, n_threads)
    kernels.score_rows(indptr, ids, log_count, tables[1], out, n_threads)
    out *= distinct_scale(indptr, g)[:, None]
    return out + constant


def distinct_scale(indptr: Array, g: float) -> Floats:
    """u^−g of each document, u the number of its distinct known words, at least 1."""
    return np.maximum(np.diff(indptr), 1).astype(np.float64) ** -g


def log_prior_of(class_counts: Array) -> Floats:
    """ln(n_c / n)."""
    return logspace.log(class_counts / class_counts.sum())

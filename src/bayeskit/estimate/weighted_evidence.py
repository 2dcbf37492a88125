"""Weighted evidence of words, the logistic regression fitted over it, and EM for documents without labels.

Weighted evidence is naive Bayes with about twenty weights. The mass of word w in document d is
t = ln(1 + tf) / ‖ln(1 + tf)‖; n_cw sums it over the documents of class c, n_w over all documents, and s_c is the share
of the class in all mass. With pseudo-mass a of each word, split like s_c, the log odds are

    λᴹ_cw = ln[(n_cw / s_c + a) / (n_w + a)]         λᶜ_cw = −ln[((n_w − n_cw) / (1 − s_c) + a) / (n_w + a)]

λᶜ is used for more than two classes only. A document with u distinct known words has the score

    ln P(c) + b_c + u^−g Σ_w [ (1 + ln tf) (θ₀ Σ_m λᵐ + Σ_m θ_{m,band(w)} λᵐ) + ln(tf) Σ_m θ_{m,tf} λᵐ ]

The band of a word follows from its document frequency. θ and b minimize the mean log loss of the training documents,
each scored without itself, plus a small penalty. The same fit calibrates the probabilities.

The logistic regression has x = (1 + ln tf)(1 + ln((1 + N) / (1 + df))), normalized to length 1 over single words and to
length ½ over n-grams, and a constant 1. W minimizes

    ∥W∥²/2 + C Σ_i −ln softmax_{y_i}(o_i + W x_i),    C = 30,

with offsets o_i: the scores of weighted evidence for each training document without itself. The factors v of both parts
minimize the log loss of softmax(v₁ o + v₂ W x) on documents that neither part was fitted on.

EM for few labeled documents uses x normalized to length 1, with df over all documents. With N_cw = Σ x over the labeled
documents of c + λ Σ P(c | d) x over the others, and n_w and s_c as above,

    M-step   W_cw = ln[(N_cw / s_c + a) / (n_w + a)]
    E-step   P(c | d) = softmax_c(β x·W_c + ln prior_c)

β is fitted once, to the labeled documents left out one at a time; the prior is given. With ``balance``, the columns of
the posteriors are rescaled to the prior after each E-step.

Formula: weighted evidence of words, and the fit of its weights
Formula: logistic regression of words over given scores; weights of two halves
Formula: EM for documents
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.data.text.word_list import take_ranges
from bayeskit.data.vocabulary import Value
from bayeskit.estimate.word_weights import cosine_normalized, document_of_cell, document_parts, sums_by_document
from bayeskit.threads import one_blas_thread
from bayeskit.tolerance import GONE, LEAST_SHARE, NO_INFORMATION, POSITIVE, STEP_GAIN
from bayeskit.typing import Array, Bools, Bytes, Floats, Ints, Singles

# Bands of document frequency, and the features of a document: one for each band, and Σ ln(tf) λ.
BANDS = 8
FEATURES = BANDS + 1
# Penalty on the weights of bands and repetition and on the bias, and the factor on that of θ₀.
PENALTY, FIRST_PENALTY = 10.0, 0.001
STEPS = 60
# Candidates within this log loss of the best are equally good; the simplest of them is taken.
AS_GOOD = 1e-4
# Most numbers held as features; of more documents, evenly spaced ones are taken.
LARGEST = 1 << 26
# Words processed at a time.
CHUNK = 1 << 16
# Inverse penalty C of the regression, and the largest C times weight of a document.
COST, MOST_COST = 30.0, 100.0
# Length of the n-grams of a document.
NGRAM_LENGTH = 0.5
STOP, ROUNDS, SEED = 0.05, 50, 1
# Penalty on the factors of both parts, away from one.
FACTOR_PENALTY = 1.0
BALANCE_ROUNDS = 3
# Bounds of ln β.
BETAS = np.log([0.01, 1000.0])


@dataclass(frozen=True)
class EvidenceWeights:
    """The weights a, g, θ and b; ``bands`` (kinds, 8) and ``repeated`` (kinds,) are those of λᴹ and, if used, λᶜ."""

    a: float = 1.0
    g: float = 1.0
    first: float = 1.0
    bands: Floats = field(default_factory=lambda: np.zeros((1, BANDS)))
    repeated: Floats = field(default_factory=lambda: np.zeros(1))
    bias: dict[Value, float] = field(default_factory=dict)
    log_loss: float = np.nan
    """Leave-one-out log loss of the training documents."""
    scaled: Floats | None = field(default=None, compare=False, repr=False)
    """θ and b for features of unit size, where the fit of similar weights may start."""

    @property
    def effective(self) -> Floats:
        """θ of each feature (kinds, 9): bands and repetition."""
        return np.concatenate([self.bands + self.first, self.repeated[:, None]], axis=1)


def masses(counts: Array, indptr: Array) -> Floats:
    """Compute the mass t of each cell (n_cells,)."""
    made = np.empty(len(counts))
    for rows, cells in document_parts(indptr):
        starts = indptr[rows.start : rows.stop + 1] - cells.start
        made[cells] = cosine_normalized(np.log1p(counts[cells].astype(np.float64)), starts)
    return made


def bands_of(documents: Floats) -> Bytes:
    """Compute the band min(7, ⌊log₂(max(df, 2)) / 1.5⌋) of each word (n_words,).

    >>> bands_of(np.array([1.0, 2.0, 3.0, 8.0, 1e6])).tolist()
    [0, 0, 1, 2, 7]
    """
    return np.minimum(BANDS - 1, np.log2(np.maximum(documents, 2.0)) / 1.5).astype(np.uint8)


def words_log_odds(mass: Floats, a: float, both: bool = False, totals: Floats | None = None) -> list[Floats]:
    """Compute [λᴹ] or [λᴹ, λᶜ] of words from their masses (n_words, n_classes).

    ``totals`` (n_classes,) are the masses of all words, if ``mass`` has only some of them.
    """
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
    """Compute (A, T), both (n_words, n_classes): the evidence of a word, and the evidence added by each ln(tf)."""
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
    """Documents to fit weights on: word ids[k] occurs counts[k] times, k in indptr[d]:indptr[d + 1].

    ``class_mass`` (n_words, n_classes), ``documents`` (n_words,), the number that have the word, and ``bands``
    (n_words,) are those of all documents; ``mass`` (n_cells,) is that of each cell, as summed in ``class_mass`` with
    ``weights`` (n_documents,). ``importance`` are the weights relative to a mean of one.
    """

    indptr: Array
    ids: Array
    counts: Array
    labels: Array
    weights: Floats
    importance: Floats
    class_mass: Floats
    documents: Floats
    log_prior: Floats
    classes: tuple[Value, ...]
    bands: Bytes
    mass: Floats

    def take(self, rows: Array) -> TrainingDocuments:
        """Select documents; the masses of all documents stay."""
        indptr, cells = take_ranges(self.indptr, rows)
        each = {name: getattr(self, name)[cells] for name in ("ids", "counts", "mass")}
        each |= {name: getattr(self, name)[rows] for name in ("labels", "weights", "importance")}
        return replace(self, indptr=indptr, **each)


def n_features(n_classes: int) -> int:
    """Count the numbers held for a document: features times classes, of both λ for more than two classes."""
    return FEATURES * (1 + (n_classes > 2)) * n_classes


def most_documents(n_classes: int) -> int:
    """Return the largest number of documents that weights are fitted on."""
    return LARGEST // n_features(n_classes)


def fit_weights(
    d: TrainingDocuments,
    a_values: tuple[float, ...],
    g_values: tuple[float, ...],
    n_threads: int = 1,
    start: EvidenceWeights | None = None,
) -> list[EvidenceWeights]:
    """Fit weights for every (a, g), each with its leave-one-out log loss; each fit starts at the one before."""
    n_classes = len(d.classes)
    if n_classes < 2:
        return [EvidenceWeights(a_values[0], g_values[0])]
    both = n_classes > 2
    if len(d.labels) > (limit := most_documents(n_classes)):
        d = d.take(np.linspace(0, len(d.labels) - 1, limit).astype(np.int64))
    labels = d.labels.astype(np.uint32)
    # A document leaves with its whole weight.
    of_cell, having = np.repeat(d.weights, np.diff(d.indptr)), d.documents[d.ids]
    mass = d.mass * of_cell
    left = having - of_cell > GONE * having
    known = np.add.reduceat(np.append(left, 0), d.indptr[:-1]) * (np.diff(d.indptr) > 0)
    found = []
    for a in a_values:
        features = kernels.left_out_evidence(
            d.indptr.astype(np.int64), d.ids.astype(np.uint32), d.counts.astype(np.uint32), mass, labels,
            d.class_mass, d.bands, a, both, n_threads,
        )  # fmt: skip
        for g in g_values:
            scale = np.maximum(known, 1.0) ** -g
            start = _fit_candidate(features, scale, labels, d, a=a, g=g, n_threads=n_threads, near=start)
            found.append(start)
    return found


def left_out_scores(
    d: TrainingDocuments, weights: EvidenceWeights, held_out: Bools | None = None, n_threads: int = 1
) -> Floats:
    """Compute scores with prior and bias (n_documents, n_classes), each document by the masses without itself.

    ``held_out`` marks documents that ``class_mass`` and ``documents`` do not include.
    """
    unit = d.weights if held_out is None else np.where(held_out, 0.0, d.weights)
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


def best_candidate(candidates: Sequence[EvidenceWeights]) -> int:
    """Return the position of the least log loss; of those within 1e-4 the largest a, then g = 1, then the first."""
    least = min(weights.log_loss for weights in candidates)
    near = [i for i, weights in enumerate(candidates) if not weights.log_loss > least + AS_GOOD]
    return max(near, key=lambda i: (candidates[i].a, candidates[i].g == 1.0))


def _fit_candidate(
    features: Floats,
    scale: Floats,
    labels: Array,
    d: TrainingDocuments,
    *,
    a: float,
    g: float,
    n_threads: int,
    near: EvidenceWeights | None,
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
    # A feature that is 0 everywhere has no weight.
    is_used = size > NO_INFORMATION
    unit = np.where(is_used, 1 / np.where(is_used, size, 1.0), 0.0)
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
    if near is not None and near.scaled is not None:
        start = near.scaled
    with one_blas_thread():
        v = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS, "ftol": STEP_GAIN}).x
    bias = v[n_features + 1 :]
    left_out = kernels.softmax_loss(features, scale, importance, effective(v), d.log_prior + bias, labels, n_threads)[0]
    theta = v[: n_features + 1] * unit
    table = theta[1:].reshape(-1, FEATURES)
    named = dict(zip(d.classes, bias.tolist(), strict=True))
    bands, repeated = table[:, :BANDS].copy(), table[:, BANDS].copy()
    return EvidenceWeights(a, g, float(theta[0]), bands, repeated, named, left_out / n, v)


def evidence_scores(
    indptr: Array, ids: Array, counts: Array, tables: tuple[Floats, Floats], g: float, constant: Floats, n_threads: int
) -> Floats:
    """Score documents given by their known words (n_documents, n_classes)."""
    log_count = np.log(counts.astype(np.float64))
    out = np.zeros((len(indptr) - 1, len(constant)))
    kernels.score_rows(indptr, ids, 1.0 + log_count, tables[0], out, n_threads)
    kernels.score_rows(indptr, ids, log_count, tables[1], out, n_threads)
    out *= distinct_scale(indptr, g)[:, None]
    return out + constant


def distinct_scale(indptr: Array, g: float) -> Floats:
    """Compute u^−g of each document, u the number of its distinct known words, at least 1 (n_documents,)."""
    return np.maximum(np.diff(indptr), 1).astype(np.float64) ** -g


# -- logistic regression over the evidence ---------------------------------------------------------------------------


def linear_values(counts: Array, ids: Array, indptr: Array, idf: Floats, is_ngram: Bools) -> Floats:
    """Compute x of each cell (n_cells,); ``is_ngram`` (n_words,) marks n-grams of several words."""
    raw, ngram = (1.0 + np.log(counts.astype(np.float64))) * idf[ids], is_ngram[ids]
    return raw * _inverse_lengths(raw, ngram, indptr) * np.where(ngram, NGRAM_LENGTH, 1.0)


def length_shares(counts: Array, idf: Floats, ngram: Bools, indptr: Array) -> Floats:
    """Compute (1 + ln tf) / ∥(1 + ln tf) idf∥ of each cell, single words and n-grams apart; all are (n_cells,)."""
    by = 1.0 + np.log(counts.astype(np.float64))
    return by * _inverse_lengths(by * idf, ngram, indptr)


def _inverse_lengths(values: Floats, ngram: Bools, indptr: Array) -> Floats:
    """Compute 1 / ∥values∥ for each cell, over the cells of the same kind in its document; 0 if they are all 0."""
    document, square = document_of_cell(indptr), values * values
    sums = [sums_by_document(np.where(kind, square, 0.0), indptr) for kind in (~ngram, ngram)]
    words, ngrams = (np.divide(1.0, np.sqrt(total), out=np.zeros(len(total)), where=total > 0) for total in sums)
    return np.where(ngram, ngrams[document], words[document])


def costs(importance: Floats) -> Singles:
    """Compute C times the weight of each document (n_documents,); all are scaled down if the largest exceeds 100.

    >>> costs(np.array([0.5, 1.0])).tolist(), costs(np.array([1e8, 2e8])).tolist()
    ([15.0, 30.0], [50.0, 100.0])
    """
    largest = COST * float(importance.max(initial=0.0))
    return np.asarray(COST * importance * (MOST_COST / max(largest, MOST_COST)), dtype=np.float32)


def width_of(n_classes: int) -> int:
    """Return the width of a row of the kernel's tables: 1 for two classes, their log odds."""
    return 1 if n_classes == 2 else -(-n_classes // 8) * 8


@dataclass(frozen=True)
class LinearDocuments:
    """Values of the words of documents, as the kernel reads them; ``costs`` (n_documents,) are C times weight."""

    indptr: Ints
    ids: npt.NDArray[np.uint32]
    values: Singles
    labels: npt.NDArray[np.uint32]
    costs: Singles
    n_words: int
    n_classes: int

    def start(self) -> LinearFit:
        """Return a fit without weights."""
        width = width_of(self.n_classes)
        table, beta = (np.zeros((rows, width), np.float32) for rows in (self.n_words + 1, len(self.labels)))
        return LinearFit(table, beta, self.n_classes)

    def fit(self, offsets: Floats, visited: Ints, before: LinearFit) -> LinearFit:
        """Fit the weights over offsets (n_documents, n_classes), starting from another fit."""
        table, beta, _ = kernels.fit_ridge_logistic(
            self.indptr, self.ids, self.values, self._pack(offsets), self.labels, self.costs, self.n_classes, visited,
            before.table, before.beta, SEED, STOP, ROUNDS,
        )  # fmt: skip
        return LinearFit(table, beta, self.n_classes)

    def _pack(self, offsets: Floats) -> Singles:
        if self.n_classes == 2:
            return np.ascontiguousarray((offsets[:, 1:] - offsets[:, :1]).astype(np.float32))
        packed = np.zeros((len(offsets), width_of(self.n_classes)), np.float32)
        packed[:, : self.n_classes] = offsets
        return packed

    def matrix(self, rows: Array) -> Any:
        """Return some documents as a CSR matrix of words and the constant."""
        from scipy.sparse import csr_matrix

        indptr = np.concatenate([[0], np.cumsum(np.diff(self.indptr)[rows] + 1)])
        ids, values = (np.empty(indptr[-1], kind) for kind in (np.int32, np.float32))
        for some, cells in document_parts(indptr):
            sizes = np.diff(indptr[some.start : some.stop + 1]) - 1
            is_word = np.ones(cells.stop - cells.start, dtype=bool)
            is_word[indptr[some.start + 1 : some.stop + 1] - 1 - cells.start] = False
            at = np.arange(sizes.sum()) + np.repeat(self.indptr[rows[some]] - (np.cumsum(sizes) - sizes), sizes)
            words, numbers = np.full(len(is_word), self.n_words, np.int32), np.ones(len(is_word), np.float32)
            words[is_word], numbers[is_word] = self.ids[at], self.values[at]
            ids[cells], values[cells] = words, numbers
        return csr_matrix((values, ids, indptr), shape=(len(rows), self.n_words + 1))


@dataclass(frozen=True)
class LinearFit:
    """W = Σ x beta' as the kernel stores it, the constant last, and the dual variables beta of the documents."""

    table: Singles
    beta: Singles
    n_classes: int

    def without(self, documents: Any, rows: Array) -> LinearFit:
        """Remove documents, given as the matrix of these rows, from W."""
        beta = self.beta.copy()
        beta[rows] = 0
        return LinearFit(np.ascontiguousarray(self.table - documents.T @ self.beta[rows]), beta, self.n_classes)

    def scores(self, documents: Any) -> Floats:
        """Compute W x (n_documents, n_classes)."""
        return self.by_class(documents @ self.table)

    def by_class(self, packed: Any) -> Floats:
        """Convert rows of the kernel to one number per class (n_rows, n_classes)."""
        if self.n_classes == 2:
            return packed.astype(np.float64) * np.array([-0.5, 0.5])
        return np.asarray(packed[:, : self.n_classes], dtype=np.float64)


def pool_scores(
    counted: Floats, fitted: Floats, labels: Array, importance: Floats, n_threads: int = 1
) -> tuple[float, float, float]:
    """Fit the factors of both parts; return (v₁, v₂, mean log loss of v₁ counted + v₂ fitted).

    ``counted`` and ``fitted`` are scores (n_documents, n_classes) of documents that neither part was fitted on. A small
    penalty keeps the factors near one; neither is negative.
    """
    from scipy.optimize import minimize

    features = np.ascontiguousarray(np.stack([counted, fitted], axis=1))
    n, own, none = max(float(importance.sum()), 1.0), labels.astype(np.uint32), np.zeros(counted.shape[1])
    ones, importance = np.ones(len(labels)), np.ascontiguousarray(importance)

    def loss(v: Floats) -> tuple[float, Floats]:
        total, slopes, _ = kernels.softmax_loss(features, ones, importance, v, none, own, n_threads)
        away = v - 1.0
        return total / n + FACTOR_PENALTY * float(away @ away) / (2 * n), slopes / n + FACTOR_PENALTY * away / n

    with one_blas_thread():
        v = minimize(loss, np.ones(2), jac=True, method="L-BFGS-B").x
        # With so few documents that folds lack classes, the better fit of a part may be reversed.
        if v.min() < 0:
            v = minimize(loss, np.ones(2), jac=True, method="L-BFGS-B", bounds=[(0, None)] * 2).x
    total = kernels.softmax_loss(features, ones, importance, np.ascontiguousarray(v), none, own, n_threads)[0]
    return float(v[0]), float(v[1]), total / n


# -- EM for documents without labels ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class DocumentEM:
    """Weights (n_words, n_classes), β and the log prior after the last round."""

    weights: Floats
    beta: float
    log_prior: Floats

    def log_joint(self, x: Any) -> Floats:
        """Compute β x·W + ln prior of documents x (n_documents, n_words)."""
        return self.beta * (x @ self.weights) + self.log_prior


@dataclass(frozen=True)
class EMRound:
    """One E-step: mean log evidence of the unlabeled documents, and the number that changed their class."""

    number: int
    log_evidence: float
    changed: int


def sublinear_tf_idf(counts: Array, ids: Array, indptr: Array, idf: Floats) -> Floats:
    """Compute (1 + ln tf) · idf, each document normalized to length 1 (n_cells,)."""
    return cosine_normalized((1 + np.log(counts.astype(np.float64))) * idf[ids], indptr)


def left_out_evidence(x: Any, labels: Array, mass: Floats, a: float) -> Floats:
    """Compute x·W' of labeled documents (CSR), each without itself, up to a constant (n_documents, n_classes)."""
    k, n = mass.shape[1], x.shape[0]
    document = np.repeat(np.arange(n), np.diff(x.indptr))
    own = np.zeros((n, k))
    own[np.arange(n), labels] = 1.0
    length = np.bincount(document, x.data, minlength=n)
    totals = mass.sum(axis=0) - own * length[:, None]
    share = np.maximum(totals / np.maximum(totals.sum(axis=1, keepdims=True), POSITIVE), LEAST_SHARE)
    scores = np.zeros((n, k))
    for c in range(k):
        left = np.maximum(mass[x.indices, c] - own[document, c] * x.data, 0.0)
        scores[:, c] = np.bincount(document, x.data * np.log(left / share[document, c] + a), minlength=n)
    return scores


def fit_beta(evidence: Floats, labels: Array, log_prior: Floats) -> float:
    """Find the β with the least log loss −Σ ln softmax(β · evidence + ln prior)."""
    from scipy.optimize import minimize_scalar

    def loss(log_beta: float) -> float:
        scores = np.exp(log_beta) * evidence + log_prior
        return -float(logspace.log_posterior_of(scores, labels).mean())

    return float(np.exp(minimize_scalar(loss, bounds=tuple(BETAS), method="bounded").x))


def balance_posteriors(p: Floats, prior: Floats) -> Floats:
    """Rescale columns of posteriors to the prior and rows to one, three times (n_documents, n_classes)."""
    for _ in range(BALANCE_ROUNDS):
        p = p * (prior * len(p) / np.maximum(p.sum(axis=0), POSITIVE))
        p = p / np.maximum(p.sum(axis=1, keepdims=True), POSITIVE)
    return p


def fit_em(
    labeled: Any,
    labels: Array,
    unlabeled: Any,
    prior: Floats,
    *,
    a: float = 1.0,
    weight: float = 0.3,
    rounds: int = 8,
    balance: bool = True,
    tell: Callable[[EMRound], None] | None = None,
) -> tuple[DocumentEM, list[EMRound]]:
    """Fit labeled and unlabeled documents (CSR matrices of x); return the fit and its rounds."""
    n = len(labels)
    member = np.zeros((n, len(prior)))
    member[np.arange(n), labels] = 1.0
    given = np.asarray(labeled.T @ member)
    log_prior = logspace.log(prior)
    beta = fit_beta(left_out_evidence(labeled, labels, given, a), labels, log_prior)
    model = DocumentEM(words_log_odds(given, a)[0], beta, log_prior)
    history: list[EMRound] = []
    before = np.full(unlabeled.shape[0], -1)
    for number in range(1, rounds + 1 if unlabeled.shape[0] else 1):
        p, evidence = logspace.normalize(model.log_joint(unlabeled))
        p = balance_posteriors(p, prior) if balance else p
        chosen = p.argmax(axis=1)
        history.append(EMRound(number, float(evidence.mean()), int((chosen != before).sum())))
        if tell is not None:
            tell(history[-1])
        before = chosen
        mass = given + weight * np.asarray(unlabeled.T @ p)
        model = DocumentEM(words_log_odds(mass, a)[0], beta, log_prior)
    return model, history

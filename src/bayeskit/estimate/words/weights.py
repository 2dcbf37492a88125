"""What each word says of each class: the weights of the naive Bayes recipes for text.

All tables are (words, classes), and a document's score is

    score_c = constant_c + Σ_w value_w · table[w, c]

n_cw is how often word w stands in class c, α_w its pseudo-count, N_c = Σ_w n_cw and A = Σ_w α_w.

Formula: weights of words: multinomial, complement, normalised, set of words; tf-idf
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.text.tokens import TokenRows
from bayeskit.data.text.word_list import Words
from bayeskit.errors import BayesError
from bayeskit.estimate.columns.poisson import log_poisson
from bayeskit.estimate.formulas import Given, Share, WrittenFactor
from bayeskit.estimate.smoothing import (
    MLE,
    MOST,
    Automatic,
    Dirichlet,
    Laplace,
    Lidstone,
    MEstimate,
    as_smoothing,
    is_number,
    smoothed,
)
from bayeskit.tally.words import WordCounts
from bayeskit.tolerance import GONE, POSITIVE
from bayeskit.typing import Array, Bools, Floats

CELLS = 1 << 20  # of documents and words, at a time


@dataclass(frozen=True)
class WordWeights:
    """table (words, classes) and constant (classes,) of a score."""

    table: Floats
    constant: Floats


def multinomial(counts: Floats, pseudo: Floats) -> WordWeights:
    """ln θ_cw = ln (n_cw + α_w) − ln (N_c + A): a word is drawn anew at every place of the document.

    >>> logspace.exp(multinomial(np.array([[2.0, 0.0], [1.0, 3.0]]), np.ones(2)).table).round(6).tolist()
    [[0.6, 0.2], [0.4, 0.8]]
    """
    with np.errstate(invalid="ignore"):
        table = logspace.log(counts + pseudo[:, None]) - logspace.log(counts.sum(axis=0) + pseudo.sum())
    return WordWeights(_no_nan(table), np.zeros(counts.shape[1]))


def multinomial_of(counted: WordCounts, pseudo: Floats) -> WordWeights:
    """:func:`multinomial` of a tally, which keeps no zeros: logarithms are taken only of the cells that are there."""
    log_totals = logspace.log(counted.n_tokens + pseudo.sum())
    word, alpha = counted.word_of_cell, logspace.log(pseudo)
    with np.errstate(invalid="ignore"):
        table = alpha[:, None] - log_totals
        table[word, counted.classes] = logspace.log(counted.counts + pseudo[word]) - log_totals[counted.classes]
    return WordWeights(table if np.isfinite(log_totals).all() else _no_nan(table), np.zeros(counted.n_classes))


def complement(counts: Floats, pseudo: Floats) -> WordWeights:
    """−ln θ_c̄w, with θ_c̄w the smoothed share of the word in all *other* classes (Rennie et al. 2003).

    A score, not the logarithm of a probability.

    >>> logspace.exp(-complement(np.array([[2.0, 0.0], [1.0, 3.0]]), np.ones(2)).table).round(6).tolist()
    [[0.2, 0.6], [0.8, 0.4]]
    """
    others = counts.sum(axis=1, keepdims=True) - counts
    return WordWeights(-multinomial(others, pseudo).table, np.zeros(counts.shape[1]))


def normalized_complement(counts: Floats, pseudo: Floats) -> WordWeights:
    """Complement weights divided by Σ_w ∣ln θ_c̄w∣, so that no class gains by having larger ones.

    >>> normalized_complement(np.array([[2.0, 0.0], [1.0, 3.0]]), np.ones(2)).table.sum(axis=0).round(6).tolist()
    [1.0, 1.0]
    """
    weights = complement(counts, pseudo)
    size = np.abs(weights.table).sum(axis=0)
    return WordWeights(weights.table / np.where(size > 0, size, 1.0), weights.constant)


@dataclass(frozen=True)
class BernoulliWeights(WordWeights):
    """Weights of words that are there or not, ln p − ln(1 − p) over the constant Σ ln(1 − p).

    Without smoothing, a word that every document of a class has is ``certain`` there: a document that lacks it is
    impossible. Such words are out of the constant, for all classes; ``present`` and ``absent`` (certain words, classes)
    are their ln p and ln(1 − p).
    """

    certain: Array
    present: Floats
    absent: Floats


def set_of_words(documents: Floats, n_documents: Floats, pseudo: Floats) -> BernoulliWeights:
    """Bernoulli: a word is there or not, p_cw = (documents of c with w + α_w) / (documents of c + 2 α_w).

    Absent words count as well: Σ_w ln(1 − p_cw) is the constant, and a word that is present puts
    ln p − ln(1 − p) in its place. So a score costs as much as the words present.
    """
    alpha = pseudo[:, None]
    log_total = logspace.log(n_documents + 2 * alpha)
    there, lacking = logspace.log(documents + alpha), logspace.log(without(documents, n_documents) + alpha)
    is_certain = np.isneginf(lacking).any(axis=1)
    certain, plain = np.flatnonzero(is_certain), ~is_certain
    constant = (lacking[plain] - log_total[plain]).sum(axis=0)
    with np.errstate(invalid="ignore"):  # −∞ − −∞: a class without any document
        table = _no_nan(there - lacking)
        present, absent = (_no_nan(logs[certain] - log_total[certain]) for logs in (there, lacking))
    return BernoulliWeights(table, np.asarray(constant), certain, present, absent)


def without(documents: Floats, n_documents: Floats) -> Floats:
    """How many documents lack each word; what weights leave by rounding is none."""
    lacking = n_documents - documents
    return np.where(lacking <= GONE * n_documents, 0.0, lacking)


def log_count_ratio(present: Any, own: Bools, pseudo: Floats) -> Floats:
    """Compute r = ln((p/∥p∥₁) / (q/∥q∥₁)) of each word (words,) (Wang and Manning 2012).

    ``present`` (documents, words) is a sparse matrix of ones, ``own`` (documents,) marks the documents of the class; p
    and q are the smoothed document frequencies in the class and in the rest.
    """
    p = pseudo + np.asarray(present[own].sum(axis=0)).ravel()
    q = pseudo + np.asarray(present[~own].sum(axis=0)).ravel()
    return np.asarray(logspace.log_odds(logspace.log(p / p.sum()), logspace.log(q / q.sum())))


def pseudo_counts(smoothing: Any, words: Words, counts: Array) -> Floats:
    """α_w of each word (words,): one number for all, or a mapping that gives some words their own.

    >>> pseudo_counts({"game": 5.0}, Words.of(["a", "game"]), np.zeros((2, 1))).tolist()
    [1.0, 5.0]
    """
    if isinstance(smoothing, Mapping):
        for word, alpha in smoothing.items():
            if not is_number(alpha) or not 0 <= alpha <= MOST:
                raise BayesError(f"smoothing gives {word!r} {alpha!r}; a pseudo-count is a number from 0 to {MOST:g}")
        pseudo = np.ones(len(words))
        given = list(smoothing)
        where = words.positions(given)
        pseudo[where[where >= 0]] = [float(smoothing[word]) for word, at in zip(given, where, strict=True) if at >= 0]
        return pseudo
    rule = as_smoothing(smoothing)
    by_counts = isinstance(rule, MEstimate) and rule.prior == "marginal"  # a document left out would change it
    if not isinstance(rule, (MLE, Laplace, Lidstone, Dirichlet, MEstimate, Automatic)) or by_counts:
        raise BayesError(
            f"smoothing={smoothing!r} is no rule for words: give a number, a mapping from word to number, "
            "MLE(), Laplace(), Lidstone(a), MEstimate(m), Dirichlet(beta) or 'auto'"
        )
    named = words.tolist() if isinstance(rule, (Dirichlet, MEstimate)) else range(len(words))
    return np.asarray(rule.pseudo_counts(named, np.ascontiguousarray(counts.T)), dtype=np.float64)


# -- values of the words of documents: word ids[k] stands counts[k] times, k in indptr[d]:indptr[d + 1] --------


def document_of_cell(indptr: Array) -> Array:
    """The document of each cell."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def document_parts(indptr: Array) -> Iterator[tuple[slice, slice]]:
    """Runs of documents with their cells, so many that what is made of each cell on the way stays small.

    >>> list(document_parts(np.array([0, 2, 2, 5])))
    [(slice(0, 3, None), slice(0, 5, None))]
    """
    start, n = 0, len(indptr) - 1
    while start < n:
        stop = max(start + 1, int(np.searchsorted(indptr, indptr[start] + CELLS, side="right")) - 1)
        yield slice(start, stop), slice(int(indptr[start]), int(indptr[stop]))
        start = stop


def sums_by_document(values: Floats, indptr: Array) -> Floats:
    """Σ of the values of each document (documents,)."""
    return np.asarray(np.bincount(document_of_cell(indptr), values, minlength=len(indptr) - 1), dtype=np.float64)


def cosine_normalized(values: Floats, indptr: Array) -> Floats:
    """Values divided by the length √Σv² of their document; an empty document stays so."""
    length = np.sqrt(sums_by_document(values * values, indptr))
    return values / np.where(length > 0, length, 1.0)[document_of_cell(indptr)]


def inverse_document_frequency(documents: Floats, n_documents: float) -> Floats:
    """ln(N / df): 0 for a word that every document has.

    >>> inverse_document_frequency(np.array([1.0, 5.0]), 5).round(6).tolist()
    [1.609438, 0.0]
    """
    with np.errstate(divide="ignore"):
        return np.where(documents > 0, np.log(n_documents / np.maximum(documents, POSITIVE)), 0.0)


def smooth_idf(documents: Floats, n_documents: float) -> Floats:
    """1 + ln((1 + N) / (1 + df)): 1 for a word that every document has.

    >>> smooth_idf(np.array([1.0, 5.0]), 5).round(6).tolist()
    [2.098612, 1.0]
    """
    return 1 + np.log((1 + n_documents) / (1 + documents))


def tf_idf(counts: Floats, ids: Array, indptr: Array, idf: Floats) -> Floats:
    """#(t, d) · ln(N / df), cosine-normalised."""
    return cosine_normalized(counts * idf[ids], indptr)


def log_tf_idf(counts: Floats, ids: Array, indptr: Array, idf: Floats) -> Floats:
    """ln(1 + #(t, d)) · ln(N / df), cosine-normalised: the transforms of Rennie et al. 2003."""
    return cosine_normalized(np.log1p(counts) * idf[ids], indptr)


def _no_nan(table: Floats) -> Floats:
    """−∞ − −∞, a class without anything and no smoothing: impossible."""
    return np.where(np.isnan(table), -np.inf, table)


def log_coefficient(rows: TokenRows) -> Floats:
    """ln(ℓ! / Π n!): in how many orders the known words of a document can stand."""
    from scipy.special import gammaln

    counts = rows.counts.astype(np.float64)
    return np.asarray(
        gammaln(sums_by_document(counts, rows.indptr) + 1) - sums_by_document(gammaln(counts + 1), rows.indptr)
    )


def mean_length(counted: WordCounts) -> float:
    """Known words of an average document, over all classes."""
    return float(counted.counts.sum() / max(float(counted.n_documents.sum()), POSITIVE))


def log_length(rows: TokenRows, counted: WordCounts) -> Floats:
    """ln P(ℓ): Poisson, the same for all classes."""
    return log_poisson(sums_by_document(rows.counts.astype(np.float64), rows.indptr), mean_length(counted))


def sample_bags(
    vocabulary: Words, log_shares: Floats, counted: WordCounts, labels: Array, rng: np.random.Generator
) -> list[str]:
    """One document a label: a length, and words of the class in random order."""
    words = np.array(vocabulary.tolist(), dtype=object)
    drawn = []
    for label in labels:
        shares = logspace.exp(log_shares[:, label])
        length = rng.poisson(mean_length(counted)) if len(words) else 0
        ids = rng.choice(len(words), size=length, p=shares / shares.sum()) if length else np.zeros(0, np.int64)
        drawn.append(" ".join(words[ids]))
    return drawn


def sample_sets(vocabulary: Words, log_odds: Floats, labels: Array, rng: np.random.Generator) -> list[str]:
    """One document a label: each word by its own coin."""
    words = np.array(vocabulary.tolist(), dtype=object)
    heads = (rng.random(len(words)) < 1 / (1 + logspace.exp(-log_odds[:, label])) for label in labels)
    return [" ".join(words[np.flatnonzero(there)]) for there in heads]


ABSENT = 40  # absent words that have a factor each; more are one


def bag_factors(rows: TokenRows, counted: WordCounts, pseudo: Floats, column: str = "") -> list[WrittenFactor]:
    """((n_cw + α_w) / (N_c + A))^f for each word of the first document; unknown words are left out."""
    counts, totals, whole = counted.table(), counted.n_tokens, float(pseudo.sum())
    factors = []
    for k in range(int(rows.indptr[0]), int(rows.indptr[1])):
        word, times, added = int(rows.ids[k]), int(rows.counts[k]), float(pseudo[rows.ids[k]])
        shares = zip(counts[word].tolist(), totals.tolist(), strict=True)
        of_class = tuple(Share(n, total, added, whole, times) for n, total in shares)
        factors.append(WrittenFactor(column, rows.words[word], of_class))
    return factors


def set_factors(rows: TokenRows, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> list[WrittenFactor]:
    """(documents with w + α) / (documents + 2 α) of each word that is there, and 1 − that of each that is not."""
    documents, totals = counted.table("documents").astype(np.float64), class_counts.astype(np.float64)
    there = np.zeros(len(documents), dtype=bool)
    there[rows.ids[int(rows.indptr[0]) : int(rows.indptr[1])]] = True
    lacking = np.flatnonzero(~there)
    few = len(lacking) <= ABSENT
    factors = []
    for word in [*np.flatnonzero(there).tolist(), *(lacking.tolist() if few else ())]:
        counts = documents[word] if there[word] else totals - documents[word]
        shares = zip(counts.tolist(), totals.tolist(), strict=True)
        a = float(pseudo[word])
        of_class = tuple(Share(n, total, a, 2 * a) for n, total in shares)
        factors.append(WrittenFactor("", counted.words[word], of_class, absent=not there[word]))
    if not few:
        without = smoothed(totals - documents[lacking], totals, pseudo[lacking, None], 2 * pseudo[lacking, None])
        log_p, name = logspace.log(without).sum(axis=0).tolist(), f"Π over {len(lacking):,} words"
        of_class_given = tuple(Given(p, name) for p in log_p)
        factors.append(WrittenFactor("", f"({len(lacking):,} other words)", of_class_given, absent=True))
    return factors

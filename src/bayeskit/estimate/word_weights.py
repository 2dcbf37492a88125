"""Word weights of the naive Bayes recipes for text, and scores of training documents left out.

All tables are (words, classes), and a document's score is

    score_c = constant_c + Σ_w value_w · table[w, c]

n_cw is the number of occurrences of word w in class c, α_w its pseudo-count, N_c = Σ_w n_cw and A = Σ_w α_w.

To leave out a document of class y, its values are subtracted from the counts of y. A word that only this document has
then no longer exists: it leaves the document and A. Otherwise the formula of the recipe is unchanged. The cost is
O(cells · classes).

Formula: weights of words: multinomial, complement, normalized, set of words; tf-idf
Formula: weights of words without one document
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
from bayeskit.estimate.columns.moments import log_poisson
from bayeskit.estimate.formulas import Given, Share, WrittenFactor
from bayeskit.estimate.smoothing import COUNT_RULES, MOST, Dirichlet, MEstimate, as_smoothing, is_number, smoothed
from bayeskit.tally.words import WordCounts
from bayeskit.tolerance import GONE, POSITIVE
from bayeskit.typing import Array, Bools, Floats

# Cells (pairs of a document and a word of it) that are processed at a time.
CELLS = 1 << 20


@dataclass(frozen=True)
class WordWeights:
    """Table (n_words, n_classes) and constant (n_classes,) of a score."""

    table: Floats
    constant: Floats


def multinomial(counts: Floats, pseudo: Floats) -> WordWeights:
    """Compute ln θ_cw = ln (n_cw + α_w) − ln (N_c + A).

    >>> logspace.exp(multinomial(np.array([[2.0, 0.0], [1.0, 3.0]]), np.ones(2)).table).round(6).tolist()
    [[0.6, 0.2], [0.4, 0.8]]
    """
    with np.errstate(invalid="ignore"):
        table = logspace.log(counts + pseudo[:, None]) - logspace.log(counts.sum(axis=0) + pseudo.sum())
    return WordWeights(_no_nan(table), np.zeros(counts.shape[1]))


def multinomial_of(counted: WordCounts, pseudo: Floats) -> WordWeights:
    """Compute :func:`multinomial` from a tally, which stores only nonzero cells."""
    log_totals = logspace.log(counted.n_tokens + pseudo.sum())
    word, alpha = counted.word_of_cell, logspace.log(pseudo)
    with np.errstate(invalid="ignore"):
        table = alpha[:, None] - log_totals
        table[word, counted.classes] = logspace.log(counted.counts + pseudo[word]) - log_totals[counted.classes]
    return WordWeights(table if np.isfinite(log_totals).all() else _no_nan(table), np.zeros(counted.n_classes))


def normalized_multinomial(counts: Floats, pseudo: Floats) -> WordWeights:
    """Divide the multinomial weights by Σ_w ∣ln θ_cw∣, so that the weights of all classes have the same total.

    >>> normalized_multinomial(np.array([[2.0, 0.0], [1.0, 3.0]]), np.ones(2)).table.sum(axis=0).round(6).tolist()
    [-1.0, -1.0]
    """
    return _normalized(multinomial(counts, pseudo))


def complement(counts: Floats, pseudo: Floats) -> WordWeights:
    """Compute −ln θ_c̄w, with θ_c̄w the smoothed share of the word in all other classes (Rennie et al. 2003).

    The result is a score, not the logarithm of a probability.

    >>> logspace.exp(-complement(np.array([[2.0, 0.0], [1.0, 3.0]]), np.ones(2)).table).round(6).tolist()
    [[0.2, 0.6], [0.8, 0.4]]
    """
    others = counts.sum(axis=1, keepdims=True) - counts
    return WordWeights(-multinomial(others, pseudo).table, np.zeros(counts.shape[1]))


def normalized_complement(counts: Floats, pseudo: Floats) -> WordWeights:
    """Divide the complement weights by Σ_w ∣ln θ_c̄w∣, so that the weights of all classes have the same total.

    >>> normalized_complement(np.array([[2.0, 0.0], [1.0, 3.0]]), np.ones(2)).table.sum(axis=0).round(6).tolist()
    [1.0, 1.0]
    """
    return _normalized(complement(counts, pseudo))


def _normalized(weights: WordWeights) -> WordWeights:
    size = np.abs(weights.table).sum(axis=0)
    return WordWeights(weights.table / np.where(size > 0, size, 1.0), weights.constant)


@dataclass(frozen=True)
class BernoulliWeights(WordWeights):
    """Bernoulli weights ln p − ln(1 − p), with the constant Σ ln(1 − p).

    Without smoothing, a word that every document of a class has is ``certain``: a document of this class without it is
    impossible. Such words are left out of the constant of all classes; ``present`` and ``absent`` (certain words,
    classes) are their ln p and ln(1 − p).
    """

    certain: Array
    present: Floats
    absent: Floats


def set_of_words(documents: Floats, n_documents: Floats, pseudo: Floats) -> BernoulliWeights:
    """Compute Bernoulli weights from p_cw = (documents of c with w + α_w) / (documents of c + 2 α_w).

    The constant Σ_w ln(1 − p_cw) counts every word as absent, and a present word adds ln p − ln(1 − p). So the cost
    of a score depends only on the present words.
    """
    alpha = pseudo[:, None]
    log_total = logspace.log(n_documents + 2 * alpha)
    there, lacking = logspace.log(documents + alpha), logspace.log(without(documents, n_documents) + alpha)
    is_certain = np.isneginf(lacking).any(axis=1)
    certain, plain = np.flatnonzero(is_certain), ~is_certain
    constant = (lacking[plain] - log_total[plain]).sum(axis=0)
    # −∞ − −∞: a class without any document.
    with np.errstate(invalid="ignore"):
        table = _no_nan(there - lacking)
        present, absent = (_no_nan(logs[certain] - log_total[certain]) for logs in (there, lacking))
    return BernoulliWeights(table, np.asarray(constant), certain, present, absent)


def without(documents: Floats, n_documents: Floats) -> Floats:
    """Count the documents without each word; a remainder due to rounding counts as 0."""
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
    """Compute α_w of each word (n_words,): one number for all, or a mapping with numbers for some words.

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
    # A marginal prior would change with every document that is left out.
    by_counts = isinstance(rule, MEstimate) and rule.prior == "marginal"
    if not isinstance(rule, COUNT_RULES) or by_counts:
        raise BayesError(
            f"smoothing={smoothing!r} is not a rule for words: give a number, a mapping from word to number, "
            "MLE(), Laplace(), Lidstone(a), MEstimate(m), Dirichlet(beta) or 'auto'"
        )
    named = words.tolist() if isinstance(rule, (Dirichlet, MEstimate)) else range(len(words))
    return np.asarray(rule.pseudo_counts(named, np.ascontiguousarray(counts.T)), dtype=np.float64)


# -- values of the words of documents: word ids[k] occurs counts[k] times, k in indptr[d]:indptr[d + 1] --------------


def document_of_cell(indptr: Array) -> Array:
    """Return the document of each cell (n_cells,)."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def document_parts(indptr: Array) -> Iterator[tuple[slice, slice]]:
    """Yield (documents, cells) as slices of at most :data:`CELLS` cells, or of one document.

    >>> list(document_parts(np.array([0, 2, 2, 5])))
    [(slice(0, 3, None), slice(0, 5, None))]
    """
    start, n = 0, len(indptr) - 1
    while start < n:
        stop = max(start + 1, int(np.searchsorted(indptr, indptr[start] + CELLS, side="right")) - 1)
        yield slice(start, stop), slice(int(indptr[start]), int(indptr[stop]))
        start = stop


def sums_by_document(values: Floats, indptr: Array) -> Floats:
    """Sum the values of each document (n_documents,)."""
    return np.asarray(np.bincount(document_of_cell(indptr), values, minlength=len(indptr) - 1), dtype=np.float64)


def cosine_normalized(values: Floats, indptr: Array) -> Floats:
    """Divide values by the length √Σv² of their document."""
    length = np.sqrt(sums_by_document(values * values, indptr))
    return values / np.where(length > 0, length, 1.0)[document_of_cell(indptr)]


def inverse_document_frequency(documents: Floats, n_documents: float) -> Floats:
    """Compute ln(N / df), which is 0 for a word that every document has.

    >>> inverse_document_frequency(np.array([1.0, 5.0]), 5).round(6).tolist()
    [1.609438, 0.0]
    """
    with np.errstate(divide="ignore"):
        return np.where(documents > 0, np.log(n_documents / np.maximum(documents, POSITIVE)), 0.0)


def smooth_idf(documents: Floats, n_documents: float) -> Floats:
    """Compute 1 + ln((1 + N) / (1 + df)), which is 1 for a word that every document has.

    >>> smooth_idf(np.array([1.0, 5.0]), 5).round(6).tolist()
    [2.098612, 1.0]
    """
    return 1 + np.log((1 + n_documents) / (1 + documents))


def tf_idf(counts: Floats, ids: Array, indptr: Array, idf: Floats) -> Floats:
    """Compute #(t, d) · ln(N / df), cosine-normalized."""
    return cosine_normalized(counts * idf[ids], indptr)


def log_tf_idf(counts: Floats, ids: Array, indptr: Array, idf: Floats) -> Floats:
    """Compute ln(1 + #(t, d)) · ln(N / df), cosine-normalized (Rennie et al. 2003)."""
    return cosine_normalized(np.log1p(counts) * idf[ids], indptr)


def _no_nan(table: Floats) -> Floats:
    """Replace NaN by −∞: it is −∞ − −∞ of a class without any words and no smoothing."""
    return np.where(np.isnan(table), -np.inf, table)


def log_coefficient(rows: TokenRows) -> Floats:
    """Compute the log multinomial coefficient ln(ℓ! / Π n!) of the known words of each document (n_documents,)."""
    from scipy.special import gammaln

    counts = rows.counts.astype(np.float64)
    return np.asarray(
        gammaln(sums_by_document(counts, rows.indptr) + 1) - sums_by_document(gammaln(counts + 1), rows.indptr)
    )


def mean_length(counted: WordCounts) -> float:
    """Return the mean number of known words of a document, over all classes."""
    return float(counted.counts.sum() / max(float(counted.n_documents.sum()), POSITIVE))


def log_length(rows: TokenRows, counted: WordCounts) -> Floats:
    """Compute ln P(ℓ) of each document by a Poisson distribution that all classes share (n_documents,)."""
    return log_poisson(sums_by_document(rows.counts.astype(np.float64), rows.indptr), mean_length(counted))


def sample_bags(
    vocabulary: Words, log_shares: Floats, counted: WordCounts, labels: Array, rng: np.random.Generator
) -> list[str]:
    """Sample one document for each label: a length, then words of the class."""
    words = np.array(vocabulary.tolist(), dtype=object)
    drawn = []
    for label in labels:
        shares = logspace.exp(log_shares[:, label])
        length = rng.poisson(mean_length(counted)) if len(words) else 0
        ids = rng.choice(len(words), size=length, p=shares / shares.sum()) if length else np.zeros(0, np.int64)
        drawn.append(" ".join(words[ids]))
    return drawn


def sample_sets(vocabulary: Words, log_odds: Floats, labels: Array, rng: np.random.Generator) -> list[str]:
    """Sample one document for each label: the presence of each word."""
    words = np.array(vocabulary.tolist(), dtype=object)
    heads = (rng.random(len(words)) < 1 / (1 + logspace.exp(-log_odds[:, label])) for label in labels)
    return [" ".join(words[np.flatnonzero(there)]) for there in heads]


# -- documents left out --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LeftOutDocuments:
    """Training documents to leave out.

    ``taken`` (n_cells,) is subtracted from the counts of the own class, and ``unit`` (n_documents,) from its number of
    documents; ``values`` (n_cells,) are those of the score.
    """

    indptr: Array
    ids: Array
    taken: Floats
    values: Floats
    labels: Array
    unit: Floats


class LeftOutWords:
    """Counts (n_words, n_classes) and pseudo-counts (n_words,) without one document at a time.

    A word is gone with its last document: by its counts, or by ``documents`` (n_words,), the number of documents that
    have the word, if values may be 0, such as tf-idf.
    """

    def __init__(self, counts: Floats, pseudo: Floats, d: LeftOutDocuments, documents: Floats | None = None) -> None:
        self.d, self.counts, self.pseudo = d, counts, pseudo
        self.document = document_of_cell(d.indptr)
        # (n_cells, n_classes)
        self.n = counts[d.ids]
        own = (np.arange(len(d.ids)), d.labels[self.document])
        self.n[own] = np.maximum(self.n[own] - d.taken, 0.0)
        self.word_total = counts.sum(axis=1)
        if documents is None:
            having, leaving = self.word_total[d.ids], d.taken
        else:
            having, leaving = documents[d.ids], d.unit[self.document]
        self.gone = having - leaving <= GONE * having
        self.values = np.where(self.gone, 0.0, d.values)
        totals = counts.sum(axis=0)
        self.totals = np.repeat(totals[None], len(d.labels), axis=0)
        rows = (np.arange(len(d.labels)), d.labels)
        left = self.totals[rows] - sums_by_document(d.taken, d.indptr)
        self.totals[rows] = np.where(np.abs(left) <= GONE * totals.max(initial=0.0), 0.0, left)
        self.pseudo_total = pseudo.sum() - self.by_document(np.where(self.gone, pseudo[d.ids], 0.0))
        self.n_words = len(counts) - self.by_document(self.gone.astype(np.float64))
        self.alpha = pseudo[d.ids][:, None]

    def by_document(self, cells: Floats) -> Floats:
        """Sum (n_cells,) or (n_cells, n_classes) over the cells of each document."""
        if cells.ndim == 1:
            return sums_by_document(cells, self.d.indptr)
        from scipy.sparse import csr_matrix

        n = len(self.d.indptr) - 1
        rows = csr_matrix((np.ones(len(cells)), np.arange(len(cells)), self.d.indptr), shape=(n, len(cells)))
        return np.asarray(rows @ cells)

    def weighted_sum(self, logs: Floats) -> Floats:
        """Compute Σ value · log over the words of each document that still exist."""
        return self.by_document(np.where((self.values == 0)[:, None], 0.0, logs) * self.values[:, None])

    def multinomial(self) -> Floats:
        """Compute Σ value · (ln(n' + α) − ln(N' + A')) (n_documents, n_classes)."""
        length = self.by_document(self.values)[:, None]
        total = np.where(length > 0, logspace.log(self.totals + self.pseudo_total[:, None]), 0.0)
        with np.errstate(invalid="ignore"):
            scores = self.weighted_sum(logspace.log(self.n + self.alpha)) - length * total
        return _no_nan(scores)

    def _others(self) -> tuple[Floats, Floats]:
        """Return (n', N') of all other classes."""
        of_word = np.maximum(self.word_total[self.d.ids] - self.d.taken, 0.0)[:, None]
        return np.maximum(of_word - self.n, 0.0), self.totals.sum(axis=1, keepdims=True) - self.totals

    def complement(self) -> Floats:
        """Compute −Σ value · ln θ' of the other classes (n_documents, n_classes)."""
        others, total = self._others()
        length = self.by_document(self.values)[:, None]
        log_total = np.where(length > 0, logspace.log(total + self.pseudo_total[:, None]), 0.0)
        return length * log_total - self.weighted_sum(logspace.log(others + self.alpha))

    def normalized_complement(self) -> Floats:
        """Divide :meth:`complement` by Σ_w ∣ln θ'∣ over the words that still exist (n_documents, n_classes)."""
        others, total = self._others()
        return self.complement() / self._total_weight(self.word_total[:, None] - self.counts, others, total)

    def normalized_multinomial(self) -> Floats:
        """Divide :meth:`multinomial` by Σ_w ∣ln θ'∣ over the words that still exist (n_documents, n_classes)."""
        return self.multinomial() / self._total_weight(self.counts, self.n, self.totals)

    def _total_weight(self, counts: Floats, left: Floats, total: Floats) -> Floats:
        """Return Σ_w ∣ln θ'∣ from all counts, and the counts of cells and the totals without the document."""
        whole = logspace.log(counts + self.pseudo[:, None]).sum(axis=0)
        before = logspace.log(np.maximum(counts[self.d.ids], 0.0) + self.alpha)
        after = np.where(self.gone[:, None], 0.0, logspace.log(left + self.alpha))
        rest = total + self.pseudo_total[:, None]
        # Without any word there is nothing to normalize.
        log_total = np.where(rest > 0, logspace.log(rest), 0.0)
        size = self.n_words[:, None] * log_total - (whole + self.by_document(after - before))
        return np.where(size > 0, size, 1.0)

    def set_of_words(self, n_documents: Floats) -> Floats:
        """Compute Bernoulli scores (n_documents, n_classes); the counts are the documents that have each word."""
        d, pseudo, alpha = self.d, self.pseudo, self.pseudo[:, None]
        absent, impossible = _log_absent(without(self.counts, n_documents) + alpha, n_documents + 2 * alpha)
        present = _log_share(self.n + self.alpha, n_documents + 2 * self.alpha)
        scores = absent.sum(axis=0) + self.by_document(np.where(self.gone[:, None], 0.0, present) - absent[d.ids])
        scores[impossible.sum(axis=0) > self.by_document(impossible[d.ids].astype(np.float64))] = -np.inf
        # The own class has one document less.
        for label, unit in {*zip(d.labels.tolist(), d.unit.tolist(), strict=True)}:
            rows = (d.labels == label) & (d.unit == unit)
            cells = rows[self.document]
            n = np.array(max(float(n_documents[label]) - unit, 0.0))
            own_absent, own_impossible = _log_absent(without(self.counts[:, label], n) + pseudo, n + 2 * pseudo)
            ids, of_cell = d.ids[cells], self.document[cells]
            own_present = _log_share(self.n[cells, label] + pseudo[ids], n + 2 * pseudo[ids])
            change = np.where(self.gone[cells], 0.0, own_present) - own_absent[ids]
            sums, lacked = (
                np.bincount(of_cell, values, minlength=len(d.labels)) for values in (change, own_impossible[ids])
            )
            own = np.where(own_impossible.sum() > lacked, -np.inf, own_absent.sum() + sums)
            scores[rows, label] = own[rows]
        return np.asarray(scores)


def _log_share(part: Floats, whole: Floats) -> Floats:
    """Compute ln(part / whole); −∞ if both are 0."""
    with np.errstate(invalid="ignore"):
        return _no_nan(logspace.log(part) - logspace.log(whole))


def _log_absent(lacking: Floats, whole: Floats) -> tuple[Floats, Bools]:
    """Return (ln of the share of documents without each word, or 0 if no document lacks it; mask of these words)."""
    logs = _log_share(lacking, whole)
    impossible = np.isneginf(logs)
    return np.where(impossible, 0.0, logs), impossible


# -- factors of a written-out posterior --------------------------------------------------------------------------------

# Absent words that are shown as a factor each; more are combined into one factor.
ABSENT = 40


def bag_factors(rows: TokenRows, counted: WordCounts, pseudo: Floats, column: str = "") -> list[WrittenFactor]:
    """Write ((n_cw + α_w) / (N_c + A))^f of each known word of the first document."""
    counts, totals, whole = counted.table(), counted.n_tokens, float(pseudo.sum())
    factors = []
    for k in range(int(rows.indptr[0]), int(rows.indptr[1])):
        word, times, added = int(rows.ids[k]), int(rows.counts[k]), float(pseudo[rows.ids[k]])
        shares = zip(counts[word].tolist(), totals.tolist(), strict=True)
        of_class = tuple(Share(n, total, added, whole, times) for n, total in shares)
        factors.append(WrittenFactor(column, rows.words[word], of_class))
    return factors


def set_factors(rows: TokenRows, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> list[WrittenFactor]:
    """Write (documents with w + α) / (documents + 2 α) of each present word, and 1 − that of each absent word."""
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

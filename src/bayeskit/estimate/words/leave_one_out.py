"""Scores of documents under the word weights that a fit without each of them would make.

A document of class y takes its values t from the counts of y. With n'_cw, N'_c the counts without it, a word
that only it has is gone, from the document and from A = Σα. Everything else is the recipe's formula; each
costs O(cells · classes).

Formula: weights of words without one document
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit import logspace
from bayeskit.estimate.words.weights import document_of_cell, sums_by_document, without
from bayeskit.tolerance import GONE
from bayeskit.typing import Array, Bools, Floats


@dataclass(frozen=True)
class LeftOutDocuments:
    """Documents with what they take away and what they are scored by.

    ``taken`` (cells,) leaves the counts of the own class and ``unit`` (documents,) its documents; ``values``
    (cells,) are those of the score.
    """

    indptr: Array
    ids: Array
    taken: Floats
    values: Floats
    labels: Array
    unit: Floats


class LeftOutWords:
    """Counts (words, classes) and pseudo-counts (words,) without one document.

    A word is gone with its last document. Counts tell; where values may be 0, as a tf-idf, ``documents`` says how many
    have the word.
    """

    def __init__(self, counts: Floats, pseudo: Floats, d: LeftOutDocuments, documents: Floats | None = None) -> None:
        self.d, self.pseudo = d, pseudo
        self.document = document_of_cell(d.indptr)
        self.n = counts[d.ids]  # (cells, classes)
        self.full = self.n.copy()
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
        """Sums over the cells of each document, of (cells,) or (cells, classes)."""
        if cells.ndim == 1:
            return sums_by_document(cells, self.d.indptr)
        from scipy.sparse import csr_matrix

        n = len(self.d.indptr) - 1
        rows = csr_matrix((np.ones(len(cells)), np.arange(len(cells)), self.d.indptr), shape=(n, len(cells)))
        return np.asarray(rows @ cells)

    def weighed(self, logs: Floats) -> Floats:
        """Σ value · log over the words of each document; a word that is gone says nothing."""
        return self.by_document(np.where((self.values == 0)[:, None], 0.0, logs) * self.values[:, None])

    # -- the formulas --------------------------------------------------------------------------------

    def multinomial(self) -> Floats:
        """Σ value · (ln(n' + α) − ln(N' + A'))."""
        length = self.by_document(self.values)[:, None]
        total = np.where(length > 0, logspace.log(self.totals + self.pseudo_total[:, None]), 0.0)
        with np.errstate(invalid="ignore"):
            scores = self.weighed(logspace.log(self.n + self.alpha)) - length * total
        return np.where(np.isnan(scores), -np.inf, scores)

    def _others(self) -> tuple[Floats, Floats]:
        """(n', N') of all other classes."""
        of_word = np.maximum(self.word_total[self.d.ids] - self.d.taken, 0.0)[:, None]
        return np.maximum(of_word - self.n, 0.0), self.totals.sum(axis=1, keepdims=True) - self.totals

    def complement(self) -> Floats:
        """−Σ value · ln θ' of the other classes."""
        others, total = self._others()
        length = self.by_document(self.values)[:, None]
        log_total = np.where(length > 0, logspace.log(total + self.pseudo_total[:, None]), 0.0)
        return length * log_total - self.weighed(logspace.log(others + self.alpha))

    def normalized_complement(self, counts: Floats) -> Floats:
        """The same divided by Σ_w ∣ln θ'∣ over all words that are left."""
        others, total = self._others()
        all_others = self.word_total[:, None] - counts
        whole = logspace.log(all_others + self.pseudo[:, None]).sum(axis=0)
        before = logspace.log(np.maximum(self.word_total[self.d.ids][:, None] - self.full, 0.0) + self.alpha)
        after = np.where(self.gone[:, None], 0.0, logspace.log(others + self.alpha))
        left = total + self.pseudo_total[:, None]
        log_total = np.where(left > 0, logspace.log(left), 0.0)  # without any word there is nothing to share out
        size = self.n_words[:, None] * log_total - (whole + self.by_document(after - before))
        return self.complement() / np.where(size > 0, size, 1.0)


def set_of_words(documents: Floats, n_documents: Floats, pseudo: Floats, d: LeftOutDocuments) -> Floats:
    """Bernoulli scores, absent words counted, without the document (documents, classes)."""
    words, alpha = LeftOutWords(documents, pseudo, d), pseudo[:, None]
    absent, impossible = _absent(without(documents, n_documents) + alpha, n_documents + 2 * alpha)
    present = _log_share(words.n + words.alpha, n_documents + 2 * words.alpha)
    scores = absent.sum(axis=0) + words.by_document(np.where(words.gone[:, None], 0.0, present) - absent[d.ids])
    scores[impossible.sum(axis=0) > words.by_document(impossible[d.ids].astype(np.float64))] = -np.inf
    for label, unit in {*zip(d.labels.tolist(), d.unit.tolist(), strict=True)}:  # the own class has a document less
        rows = (d.labels == label) & (d.unit == unit)
        cells = rows[words.document]
        n = np.array(max(float(n_documents[label]) - unit, 0.0))
        own_absent, own_impossible = _absent(without(documents[:, label], n) + pseudo, n + 2 * pseudo)
        ids, of_cell = d.ids[cells], words.document[cells]
        own_present = _log_share(words.n[cells, label] + pseudo[ids], n + 2 * pseudo[ids])
        change = np.where(words.gone[cells], 0.0, own_present) - own_absent[ids]
        sums, lacked = (
            np.bincount(of_cell, values, minlength=len(d.labels)) for values in (change, own_impossible[ids])
        )
        own = np.where(own_impossible.sum() > lacked, -np.inf, own_absent.sum() + sums)
        scores[rows, label] = own[rows]
    return np.asarray(scores)


def _log_share(part: Floats, whole: Floats) -> Floats:
    """ln(part / whole); impossible where there is no whole."""
    with np.errstate(invalid="ignore"):
        logs = logspace.log(part) - logspace.log(whole)
    return np.where(np.isnan(logs), -np.inf, logs)


def _absent(lacking: Floats, whole: Floats) -> tuple[Floats, Bools]:
    """(ln of the share that lacks each word, 0 where none does; where none does)."""
    logs = _log_share(lacking, whole)
    impossible = np.isneginf(logs)
    return np.where(impossible, 0.0, logs), impossible

"""What naive Bayes leaves unexplained: a logistic regression on tf-idf words, over scores that it is given.

Of a document with counts tf, x = (1 + ln tf)(1 + ln((1 + N) / (1 + df))): single words together of length one, runs of
several of length ½, and a constant 1. W minimises

    ∥W∥²/2 + C Σ_i −ln softmax_{y_i}(o_i + W x_i),    C = 30,

over offsets o_i, the scores that each training document gets from naive Bayes without itself. So W learns what those
scores lack. The weights v of the two halves minimise the log loss of softmax(v₁ o + v₂ W x) on documents that neither
half has seen: they are the calibration.

Formula: logistic regression of words over given scores; weights of two halves
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.estimate.words.weights import document_of_cell, document_parts, sums_by_document
from bayeskit.typing import Array, Bools, Floats, Ints, Singles

COST = 30.0
MOST_COST = 100.0  # of a document: beyond it the folds take more rounds than there are, and 32 bits lose digits
RUNS = 0.5  # the length of runs of several words
STOP, ROUNDS, SEED = 0.05, 50, 1
PENALTY = 1.0  # of the weights of the halves, away from one


def values(counts: Array, ids: Array, indptr: Array, idf: Floats, runs: Bools | None) -> Floats:
    """x of each cell; ``runs`` (words,) says which words are runs of several, None where none is."""
    raw = (1.0 + np.log(counts.astype(np.float64))) * idf[ids]
    square, document = raw * raw, document_of_cell(indptr)
    if runs is None:
        return np.asarray(raw * _inverse_root(sums_by_document(square, indptr))[document])
    run = runs[ids]
    of_runs = sums_by_document(np.where(run, square, 0.0), indptr)
    of_words = sums_by_document(np.where(run, 0.0, square), indptr)
    scales = np.stack([_inverse_root(of_words), RUNS * _inverse_root(of_runs)])
    return np.asarray(raw * scales[run.astype(np.intp), document])


def shares(counts: Array, lengths: Floats, runs: Bools, indptr: Array) -> Floats:
    """(1 + ln tf) / ∥(1 + ln tf) idf∥ of each cell, single words and runs each by themselves; all are (cells,)."""
    by, document = 1.0 + np.log(counts.astype(np.float64)), document_of_cell(indptr)
    square = np.square(by * lengths)
    of_words, of_runs = (sums_by_document(np.where(part, square, 0.0), indptr) for part in (~runs, runs))
    return by * np.where(runs, _inverse_root(of_runs)[document], _inverse_root(of_words)[document])


def _inverse_root(square: Floats) -> Floats:
    return np.where(square > 0, 1.0 / np.sqrt(np.where(square > 0, square, 1.0)), 0.0)


def costs(importance: Floats) -> Singles:
    """C times the weight of each document; where one would be over 100, all in proportion to that.

    >>> costs(np.array([0.5, 1.0])).tolist(), costs(np.array([1e8, 2e8])).tolist()
    ([15.0, 30.0], [50.0, 100.0])
    """
    largest = COST * float(importance.max(initial=0.0))
    return np.asarray(COST * importance * (MOST_COST / max(largest, MOST_COST)), dtype=np.float32)


def width_of(n_classes: int) -> int:
    """Numbers in a row of the kernel's tables: of two classes one, their log odds."""
    return 1 if n_classes == 2 else -(-n_classes // 8) * 8


@dataclass(frozen=True)
class LinearDocuments:
    """Documents in the values of their words, as the kernel reads them; ``costs`` (documents,) are C times weight."""

    indptr: Ints
    ids: npt.NDArray[np.uint32]
    values: Singles
    labels: npt.NDArray[np.uint32]
    costs: Singles
    n_words: int
    n_classes: int

    def start(self) -> LinearFit:
        """No weights yet."""
        width = width_of(self.n_classes)
        table, beta = (np.zeros((rows, width), np.float32) for rows in (self.n_words + 1, len(self.labels)))
        return LinearFit(table, beta, self.n_classes)

    def fit(self, offsets: Floats, visited: Ints, before: LinearFit) -> LinearFit:
        """The weights over these offsets (documents, classes), from where another fit has ended."""
        table, beta, _ = kernels.fit_ridge_logistic(
            self.indptr, self.ids, self.values, self._packed(offsets), self.labels, self.costs, self.n_classes, visited,
            before.table, before.beta, SEED, STOP, ROUNDS,
        )  # fmt: skip
        return LinearFit(table, beta, self.n_classes)

    def _packed(self, offsets: Floats) -> Singles:
        if self.n_classes == 2:
            return np.ascontiguousarray((offsets[:, 1:] - offsets[:, :1]).astype(np.float32))
        packed = np.zeros((len(offsets), width_of(self.n_classes)), np.float32)
        packed[:, : self.n_classes] = offsets
        return packed

    def matrix(self, rows: Array) -> Any:
        """Some documents by words and the constant (CSR)."""
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
    """W = Σ x beta' as the kernel keeps it, the constant last, and the dual variables beta of the documents."""

    table: Singles
    beta: Singles
    n_classes: int

    def without(self, documents: Any, rows: Array) -> LinearFit:
        """Take documents, a matrix of these rows, out of W."""
        beta = self.beta.copy()
        beta[rows] = 0
        return LinearFit(np.ascontiguousarray(self.table - documents.T @ self.beta[rows]), beta, self.n_classes)

    def scores(self, documents: Any) -> Floats:
        """W x (documents, classes)."""
        return self.by_class(documents @ self.table)

    def by_class(self, packed: Any) -> Floats:
        """Rows of the kernel as rows of classes, which sum to zero."""
        if self.n_classes == 2:
            return packed.astype(np.float64) * np.array([-0.5, 0.5])
        return np.asarray(packed[:, : self.n_classes], dtype=np.float64)


def pool(
    counted: Floats, fitted: Floats, labels: Array, importance: Floats, n_threads: int = 1
) -> tuple[float, float, float]:
    """(v₁, v₂, mean log loss) of v₁ counted + v₂ fitted, scores (documents, classes) that have not seen the labels.

    A small penalty keeps the weights near one where few documents tell; none is below zero.
    """
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    features = np.ascontiguousarray(np.stack([counted, fitted], axis=1))
    n, own, none = max(float(importance.sum()), 1.0), labels.astype(np.uint32), np.zeros(counted.shape[1])
    ones, importance = np.ones(len(labels)), np.ascontiguousarray(importance)

    def loss(v: Floats) -> tuple[float, Floats]:
        total, slopes, _ = kernels.softmax_loss(features, ones, importance, v, none, own, n_threads)
        away = v - 1.0
        return total / n + PENALTY * float(away @ away) / (2 * n), slopes / n + PENALTY * away / n

    with threadpool_limits(1, user_api="blas"):
        v = minimize(loss, np.ones(2), jac=True, method="L-BFGS-B").x
        if v.min() < 0:  # of documents so few that folds lack their classes: a half may be silent, and not reversed
            v = minimize(loss, np.ones(2), jac=True, method="L-BFGS-B", bounds=[(0, None)] * 2).x
    total = kernels.softmax_loss(features, ones, importance, np.ascontiguousarray(v), none, own, n_threads)[0]
    return float(v[0]), float(v[1]), total / n

"""Accuracy, log loss, F measure and similarity measures.

Formula: precision, recall, F, log loss, Brier
Formula: micro and macro averages
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bayeskit import logspace
from bayeskit.errors import BayesError, with_article
from bayeskit.evaluate.ranking_curves import break_even as break_even
from bayeskit.tables import Table
from bayeskit.tolerance import GONE, LEAST_PROBABILITY
from bayeskit.typing import Array, Bools, Floats

LOG_LEAST = float(logspace.log(LEAST_PROBABILITY))


def f_measure(precision: Any, recall: Any, alpha: float = 1.0) -> Any:
    """Compute F_α = (1 + α) P R / (α P + R).

    Parameters
    ----------
    precision, recall : float
    alpha : float, default=1
        Weight of recall.

    Returns
    -------
    float
        0 if both are 0, NaN if one is undefined.

    Examples
    --------
    >>> f_measure(0.5, 0.25), round(f_measure(0.5, 0.25, alpha=4), 6)
    (0.3333333333333333, 0.277778)
    """
    if not alpha >= 0:
        raise BayesError(f"alpha={alpha!r}: it is the square of β and at least 0 (1 weighs precision and recall alike)")
    p, r = np.asarray(precision, dtype=np.float64), np.asarray(recall, dtype=np.float64)
    below = alpha * p + r
    with np.errstate(invalid="ignore", divide="ignore"):
        f = np.where(below == 0, 0.0, (1 + alpha) * p * r / below)
    return f if f.ndim else float(f)


def precision_recall(confusion: Array) -> tuple[Floats, Floats]:
    """Compute precision and recall of each class from a confusion matrix (true, predicted).

    Entries are NaN for classes that were never predicted, or have no rows.

    >>> precision, recall = precision_recall(np.array([[3, 1], [0, 0]]))
    >>> precision.tolist(), recall.tolist()
    ([1.0, 0.0], [0.75, nan])
    """
    right = np.diagonal(confusion)
    with np.errstate(invalid="ignore", divide="ignore"):
        return right / confusion.sum(axis=0), right / confusion.sum(axis=1)


def f_by_class(confusion: Array, alpha: float = 1.0) -> Floats:
    """Compute F_α = (1 + α) right / (α true + predicted) of each class from a confusion matrix.

    It is 0 for a class that has rows and was never predicted. It is NaN for a class without rows and predictions.

    >>> f_by_class(np.array([[3, 1, 0], [2, 0, 0], [0, 0, 0]])).tolist()
    [0.6666666666666666, 0.0, nan]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        below = alpha * confusion.sum(axis=1) + confusion.sum(axis=0)
        return (1 + alpha) * np.diagonal(confusion) / below


def brier(probabilities: Floats, labels: Array) -> Floats:
    """Compute Σ_c (P(c) − [c is true])² of each row from probabilities (n_rows, n_classes) and codes (n_rows,).

    >>> brier(np.array([[0.75, 0.25], [0.0, 1.0]]), np.array([0, 0])).tolist()
    [0.125, 2.0]
    """
    true = np.zeros_like(probabilities)
    true[np.arange(len(labels)), labels] = 1.0
    return ((probabilities - true) ** 2).sum(axis=1)


def log_loss(log_true: Floats, weights: Floats | None = None) -> float:
    """Compute −mean ln P(true class) from these logarithms, with probabilities clipped at 1e-15.

    >>> round(log_loss(np.log([0.5, 0.25])), 6), round(log_loss(np.array([-1000.0, 0.0])), 4)
    (1.039721, 17.2694)
    """
    total = float(len(log_true)) if weights is None else float(weights.sum())
    return _nats(clip_log(log_true), weights) / total + 0.0


def clip_log(log_probabilities: Floats) -> Floats:
    """Clip logarithms of probabilities at ln 1e-15, as every log loss of the package does."""
    return np.maximum(log_probabilities, LOG_LEAST)


def _nats(log_true: Floats, weights: Floats | None) -> float:
    """Compute −Σ w ln P(true class)."""
    return -float((log_true if weights is None else weights * log_true).sum())


@dataclass(frozen=True)
class Measures:
    """Accuracy, log loss (nats) and Brier score (0 to 2)."""

    accuracy: float
    log_loss: float
    brier: float


class Scoreboard:
    """Accumulate sums over rows and compute the measures at the end.

    A *lost* row counts as wrong and has no log loss: its class was not available in training. ``clipped`` is the number
    of other rows whose true class has a probability below 1e-15.

    >>> board = Scoreboard(2)
    >>> true, p = np.array([0, 1]), np.array([[0.75, 0.25], [0.5, 0.5]])
    >>> board.add(true, np.array([0, 0]), np.log([0.75, 0.5]), brier(p, true))
    >>> found = board.measures()
    >>> found.accuracy, round(found.log_loss, 6), found.brier
    (0.5, 0.490415, 0.3125)
    """

    def __init__(self, n_classes: int) -> None:
        self.confusion = np.zeros((n_classes, n_classes))
        self.weight = 0.0
        self.lost = 0.0
        self.clipped = 0
        self._loss = 0.0
        self._brier = 0.0

    def add(
        self,
        labels: Array,
        chosen: Array,
        log_true: Floats,
        brier: Floats,
        weights: Floats | None = None,
        lost: Bools | None = None,
    ) -> None:
        """Add rows with true and predicted classes, ln P(true class) and Brier scores."""
        n = len(self.confusion)
        self.confusion += np.bincount(labels.astype(np.intp) * n + chosen, weights, minlength=n * n).reshape(n, n)
        if lost is not None and lost.any():
            self.lost += float(lost.sum() if weights is None else weights[lost].sum())
            log_true = np.where(lost, 0.0, log_true)
        low = log_true < LOG_LEAST
        self.clipped += int((low if weights is None else low & (weights > 0)).sum())
        self._loss += _nats(clip_log(log_true), weights)
        self.weight += len(labels) if weights is None else float(weights.sum())
        self._brier += float((brier if weights is None else weights * brier).sum())

    def add_shares(self, shares: Floats, labels: Array, weights: Floats | None, lost: Bools) -> None:
        """Add rows that are all predicted by the same shares of the classes, such as those of a majority baseline."""
        each = np.tile(shares, (len(labels), 1))
        log_true = logspace.log(each[np.arange(len(labels)), labels])
        self.add(labels, each.argmax(axis=1), log_true, brier(each, labels), weights, lost)

    def measures(self) -> Measures:
        """Return the means over all rows; the log loss excludes lost rows, NaN if no others exist."""
        if not self.weight:
            raise BayesError("there are no rows to score, or all have weight zero")
        kept = self.weight - self.lost
        loss = self._loss / kept if kept > GONE * self.weight else float("nan")
        accuracy = float(np.trace(self.confusion)) / self.weight
        return Measures(accuracy, loss + 0.0, max(self._brier / self.weight, 0.0))


def cosine_similarity(a: Any, b: Any) -> Floats:
    """Compute cosines of rows of ``a`` and rows of ``b`` (sparse), shape (n_rows_a, n_rows_b).

    Empty rows have cosine 0.

    >>> from scipy.sparse import csr_matrix
    >>> one, others = csr_matrix([[1.0, 1.0, 0.0]]), csr_matrix([[1.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    >>> cosine_similarity(one, others).round(4).tolist()
    [[0.7071, 0.0]]
    """
    from sklearn.metrics.pairwise import cosine_similarity as cosine

    return np.asarray(cosine(a, b))


def cosine_to_centroids(rows: Any, sums: Array) -> Floats:
    """Compute cosines of documents and class sums, given ``sums`` of shape (n_words, n_classes)."""
    from scipy.sparse import csr_matrix

    return cosine_similarity(rows, csr_matrix(sums.T.astype(np.float64)))


class Averages(NamedTuple):
    """Micro and macro averages of precision, recall and F_α."""

    micro_precision: float
    micro_recall: float
    micro_f: float
    macro_precision: float
    macro_recall: float
    macro_f: float


def averages(confusion: Any, alpha: float = 1.0) -> Averages:
    """Compute micro and macro averages from a confusion matrix (true class by predicted class).

    ``confusion`` is an array, the ``confusion`` table of an :class:`bayeskit.Evaluation`, or the evaluation itself.
    F_α is 0 for a class without correct predictions. With one label per row, all micro averages equal the accuracy.

    >>> found = averages(np.array([[8, 2], [1, 9]]))
    >>> round(found.micro_f, 4), round(found.macro_precision, 4), round(found.macro_recall, 4)
    (0.85, 0.8535, 0.85)
    """
    counts = _counts(confusion)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
        raise BayesError(f"a confusion table is square and counts, not of shape {counts.shape}")
    if not (np.isfinite(counts) & (counts >= 0)).all():
        raise BayesError("a confusion table counts rows: none of its numbers is missing, infinite or below 0")
    right, chosen, true = np.diag(counts), counts.sum(axis=0), counts.sum(axis=1)
    micro = _ratio(right.sum(), chosen.sum()), _ratio(right.sum(), true.sum())
    macro = _ratio(right, chosen), _ratio(right, true)
    return Averages(*(float(np.mean(m)) for p, r in (micro, macro) for m in (p, r, f_measure(p, r, alpha))))


def _counts(confusion: Any) -> Floats:
    """Return the counts of an array, of a table, or of an evaluation."""
    confusion = getattr(confusion, "counts", confusion)
    if isinstance(confusion, Table):
        confusion = [confusion[name] for name in confusion.column_names[confusion.keys :]]
        confusion = np.transpose(confusion)
    try:
        return np.asarray(confusion, dtype=np.float64)
    except (TypeError, ValueError):
        raise BayesError(
            f"a confusion table is square and counts: give an array, or the confusion of an Evaluation, not "
            f"{with_article(type(confusion).__name__)}"
        ) from None


def _ratio(a: Any, b: Any) -> Any:
    return np.where(b > 0, a / np.where(b > 0, b, 1.0), 0.0)

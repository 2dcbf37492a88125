"""Measures that the text literature reports: micro and macro averages, precision/recall break-even.

Formula: micro and macro averages
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.data.table import Table
from bayeskit.errors import BayesError, with_article
from bayeskit.evaluate.evaluation import Evaluation
from bayeskit.evaluate.metrics import f_measure
from bayeskit.evaluate.ranking import break_even as break_even
from bayeskit.typing import Array, Floats


@dataclass(frozen=True)
class Averages:
    """Precision, recall and F_α over classes: of the pooled decisions (micro), and as plain means (macro)."""

    micro_precision: float
    micro_recall: float
    micro_f: float
    macro_precision: float
    macro_recall: float
    macro_f: float


def averages(confusion: Any, alpha: float = 1.0) -> Averages:
    """Averages over a confusion table: rows by true class (down) and chosen class (across).

    ``confusion`` is an array, the ``confusion`` of an :class:`bayeskit.Evaluation`, or that record itself.

    F_α = (1 + α) P R / (α P + R) of each class; 0 where a class is never chosen rightly. Where every row is put in one
    class, micro precision, recall and F are all the accuracy.

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
    precision, recall = _ratio(right, chosen), _ratio(right, true)
    pooled = _ratio(right.sum(), chosen.sum()), _ratio(right.sum(), true.sum())
    return Averages(
        float(pooled[0]), float(pooled[1]), float(f_measure(*pooled, alpha)),
        float(precision.mean()), float(recall.mean()), float(np.mean(f_measure(precision, recall, alpha))),
    )  # fmt: skip


def _counts(confusion: Any) -> Floats:
    """The counts alone, of a table or a record that names the classes."""
    if isinstance(confusion, Evaluation):
        confusion = confusion.counts
    elif isinstance(confusion, Table):
        confusion = [confusion[name] for name in confusion.column_names[confusion.keys :]]
        confusion = np.transpose(confusion)
    try:
        return np.asarray(confusion, dtype=np.float64)
    except (TypeError, ValueError):
        raise BayesError(
            f"a confusion table is square and counts: give an array, or the confusion of an Evaluation, not "
            f"{with_article(type(confusion).__name__)}"
        ) from None


def break_even_by_class(labels: Array, scores: Floats, classes: Array) -> Floats:
    """:func:`break_even` of each class, from scores (rows, classes): for softmax scores, the probabilities."""
    labels = np.asarray(labels)
    return np.array([break_even(labels == label, scores[:, i]) for i, label in enumerate(classes)])


def _ratio(a: Any, b: Any) -> Any:
    return np.where(b > 0, a / np.where(b > 0, b, 1.0), 0.0)

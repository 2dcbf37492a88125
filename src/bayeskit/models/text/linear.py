"""nbsvm: a linear support vector machine on words weighed by their naive Bayes log-count ratio.

S. Wang and C. D. Manning, "Baselines and Bigrams: Simple, Good Sentiment and Topic Classification", 2012.
Of present words f and classes y = ±1: p = α + Σ_{y=1} f, q = α + Σ_{y=−1} f, r = ln((p/∥p∥₁) / (q/∥q∥₁)). The
machine is trained on r ∘ f, and its weights w are drawn towards their mean magnitude: w' = (1 − β) w̄ + β w. That is
a mean of two classifiers, naive Bayes w̄ (r·f + ln(N₊/N₋)) and the machine w·(r ∘ f) + b, so the constant is the same
mean of theirs. More classes: one machine each, against the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.tokens import TokenRows
from bayeskit.errors import BayesError
from bayeskit.models.text.reading import LabelledDocuments

Floats = npt.NDArray[np.float64]


def fit_linear(
    rows: TokenRows, read: LabelledDocuments, pseudo: Floats, C: float, beta: float
) -> tuple[Floats, Floats]:
    """(table (words, classes), constant (classes,)) of the scores."""
    from sklearn.svm import LinearSVC

    k = len(read.classes)
    if k < 2:
        raise BayesError(f"nbsvm needs two classes at least, and there is {read.classes[0]!r} alone")
    present = rows.matrix(np.float64)
    present.data[:] = 1.0
    table, constant = np.zeros((len(rows.words), k)), np.zeros(k)
    for c in range(1, 2) if k == 2 else range(k):
        own = read.labels == c
        ratio = log_count_ratio(present, own, pseudo)
        scaled = present.copy()
        scaled.data = ratio[present.indices]
        machine = LinearSVC(C=C, random_state=0, max_iter=10_000).fit(scaled, own, read.weights)
        w = machine.coef_[0]
        mean = np.abs(w).mean()
        size = own.mean() if read.weights is None else np.average(own, weights=read.weights)
        table[:, c] = ratio * ((1 - beta) * mean + beta * w)
        constant[c] = (1 - beta) * mean * np.log(size / (1 - size)) + beta * machine.intercept_[0]
    return table, constant


def log_count_ratio(present: Any, own: npt.NDArray[np.bool_], pseudo: Floats) -> Floats:
    """r = ln((p/∥p∥₁) / (q/∥q∥₁)) of each word."""
    p = pseudo + np.asarray(present[own].sum(axis=0)).ravel()
    q = pseudo + np.asarray(present[~own].sum(axis=0)).ravel()
    return np.asarray(np.log(p / p.sum()) - np.log(q / q.sum()))

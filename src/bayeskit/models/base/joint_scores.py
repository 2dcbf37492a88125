"""What a model can say that knows P(x, class), not P(class | x) alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayeskit import logspace
from bayeskit.models.base.classifier import Classifier, Scores, stacked


class LogLikelihood(NamedTuple):
    """Sums over rows: ln P(x, y) and ln P(y | x)."""

    joint: float
    conditional: float


class KnowsJoint(Classifier):
    """A classifier whose ``log_joint`` is ln P(x, class)."""

    def predict_joint_log_proba(self, X: Any) -> Scores:
        """ln P(x, class) of each row (rows, classes); −∞ where impossible."""
        return stacked([scores for _, scores in self._score(X)], len(self.classes_))

    def score_samples(self, X: Any) -> Scores:
        """ln p(x) of each row."""
        parts = [logspace.log_sum_exp(scores) for _, scores in self._score(X)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def log_likelihood(self, X: Any, y: Any, sample_weight: Any = None) -> LogLikelihood:
        """Σ ln P(x, y) and Σ ln P(y | x) over the rows; −∞ where a row has a class that is not known."""
        source = self._labelled(X, y, sample_weight)
        labels, weights = self.label_codes(source, None)
        rows = source if self.drops_unlabelled else X
        scores = np.column_stack([self.predict_joint_log_proba(rows), np.full(len(labels), -np.inf)])
        joint, tempered = scores[np.arange(len(labels)), labels], self.tempered(scores)
        conditional = logspace.log_posterior_of(tempered, labels)
        conditional[np.isneginf(joint)] = -np.inf
        keep = slice(None) if weights is None else weights > 0
        w = np.ones(len(labels)) if weights is None else weights
        return LogLikelihood(float(joint[keep] @ w[keep]), float(conditional[keep] @ w[keep]))

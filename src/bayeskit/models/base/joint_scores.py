"""What a model can say that knows P(x, class), not P(class | x) alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayeskit import logspace
from bayeskit.data.reader import in_order
from bayeskit.errors import BayesError
from bayeskit.estimate.prior import written_prior
from bayeskit.explain.work import Work, build_work
from bayeskit.models.base.available import available_if
from bayeskit.models.base.classifier import Classifier, stacked
from bayeskit.typing import Floats


class LogLikelihood(NamedTuple):
    """Sums over rows: ln P(x, y) and ln P(y | x)."""

    joint: float
    conditional: float


class KnowsJoint(Classifier):
    """A classifier whose ``log_joint`` is ln P(x, class)."""

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """ln P(x, class) of each row (rows, classes); −∞ where impossible."""
        return stacked([scores for _, scores in self._score(X)], len(self.classes_))

    def score_samples(self, X: Any) -> Floats:
        """ln p(x) of each row."""
        parts = [logspace.log_sum_exp(scores) for _, scores in self._score(X)]
        return np.concatenate(parts) if parts else np.zeros(0)

    @available_if("_written_factors", "it is no product of one factor for each column")
    def work(self, row: Any) -> Work:
        """The posterior of one row as it is worked by hand: every factor with its counts, the products, their shares.

        The record prints as text, is a table in a notebook, and has ``latex()``.
        """
        blocks = list(self._score(row))
        if len(blocks) != 1 or blocks[0][0].n_rows != 1:
            n = sum(block.n_rows for block, _ in blocks)
            raise BayesError(f"work shows one row at a time, and there are {n:,}: pass one of them")
        block, scores = blocks[0]
        factors = self._written_factors(block)
        prior = written_prior(self._prior_setting(), self.tally_.classes, self.tally_.class_counts)
        spoken = {factor.column for factor in factors}
        silent = [name for name in self.schema_.used if name not in spoken] if self._rows_are == "rows" else []
        return build_work(self, block, scores, prior, factors, silent)

    def _prior_setting(self) -> Any:
        """The class prior as it was asked for."""
        return self.prior

    @available_if("_written_factors", "it is no product of one factor for each column")
    def predict_column_log_proba(self, X: Any) -> dict[str, Floats]:
        """ln P(x_j | class) of each column (rows, classes), in a structured model given its parents too.

        With ln P(class) they sum to ``predict_joint_log_proba``; 0 where a cell is missing or says nothing.
        """
        parts: dict[str, list[Floats]] = {name: [] for name in self.schema_.used} if self._is_fitted() else {}
        for block, _ in self._score(X):
            for name, term in self._log_terms(self.params_, block).items():
                parts[name].append(term)
        return {name: stacked(part, len(self.classes_)) for name, part in parts.items()}

    def log_likelihood(self, X: Any, y: Any, sample_weight: Any = None) -> LogLikelihood:
        """Σ ln P(x, y) and Σ ln P(y | x) over the rows; −∞ where a row has a class that is not known."""
        X = in_order(X)
        source = self._labelled(X, y, sample_weight)
        labels, weights = self._label_codes(source, None)
        rows = source if self._drops_unlabelled else X
        scores = np.column_stack([self.predict_joint_log_proba(rows), np.full(len(labels), -np.inf)])
        joint, tempered = scores[np.arange(len(labels)), labels], self._tempered(scores)
        conditional = logspace.log_posterior_of(tempered, labels)
        conditional[np.isneginf(joint)] = -np.inf
        keep = slice(None) if weights is None else weights > 0
        w = np.ones(len(labels)) if weights is None else weights
        return LogLikelihood(float(joint[keep] @ w[keep]), float(conditional[keep] @ w[keep]))

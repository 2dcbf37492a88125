"""Leave-one-out of a TextClassifier: each learnt document scored by the model without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.data.encode import Block
from bayeskit.data.tokens import TokenRows
from bayeskit.errors import NotLearnt
from bayeskit.estimate.prior import class_prior
from bayeskit.estimate.value_table import GONE
from bayeskit.estimate.word_evidence import bands_of, masses
from bayeskit.models.text.recipe import COLUMN, left_out_scores

if TYPE_CHECKING:
    from bayeskit.models.text.classifier import TextClassifier

Floats = npt.NDArray[np.float64]
CELLS = 1 << 22  # of documents and classes, at a time


class TextLeftOut:
    """Scores of documents that the model has learnt, each without itself."""

    def __init__(self, model: TextClassifier) -> None:
        self.model = model
        self.counts = model.tally_.class_counts.astype(np.float64)

    def scores(self, block: Block) -> Floats:
        """Scores (documents, classes); −∞ for a class that only the document shows."""
        labels = block.labels
        if labels is None or (labels >= len(self.counts)).any():
            raise NotLearnt("a document to leave out has a class that was never learnt")
        labels = labels.astype(np.int64)
        unit = np.ones(block.n_rows) if block.weights is None else np.minimum(block.weights, 1.0)
        rows = block.tokens[COLUMN]
        found = np.empty((block.n_rows, len(self.counts)))
        step = max(1, CELLS * max(block.n_rows, 1) // max(len(rows.ids) * len(self.counts), 1))
        for start in range(0, block.n_rows, step):
            part = np.arange(start, min(start + step, block.n_rows))
            found[part] = self._of(rows.take(part), labels[part], unit[part])
        found += self._priors(labels, unit)
        alone = self.counts[labels] - unit <= GONE * self.counts.sum()
        found[np.flatnonzero(alone), labels[alone]] = -np.inf
        return found

    def log_prior(self, label: int, unit: float) -> Floats:
        """ln P(class) without ``unit`` documents of a class."""
        counts = self.counts.copy()
        counts[label] -= unit
        model = self.model
        prior = model._recipe.prior if model.prior is None else model.prior
        return np.asarray(logspace.log(class_prior(prior, model.tally_.classes, counts)))

    def _priors(self, labels: Any, unit: Floats) -> Floats:
        found = np.empty((len(labels), len(self.counts)))
        for label, u in {*zip(labels.tolist(), unit.tolist(), strict=True)}:
            found[(labels == label) & (unit == u)] = self.log_prior(label, u)
        return found

    def _of(self, rows: TokenRows, labels: Any, unit: Floats) -> Floats:
        model = self.model
        if model._is_weighted:
            return self._evidence(rows, labels, unit)
        held = getattr(model, "held_", None)
        return left_out_scores(
            model._recipe, model.counted_, self.counts, model.params_.pseudo, rows, labels, unit, held
        )  # fmt: skip

    def _evidence(self, rows: TokenRows, labels: Any, unit: Floats) -> Floats:
        """Weighted evidence with the weights held."""
        weights, counted = self.model.weights_, self.model.counted_
        documents = counted.totals("documents")
        both = len(weights.repeated) > 1
        features = kernels.left_out_evidence(
            rows.indptr, rows.ids.astype(np.uint32), rows.counts.astype(np.uint32),
            masses(rows.counts, rows.indptr) * np.repeat(unit, np.diff(rows.indptr)), labels.astype(np.uint32),
            counted.table().astype(np.float64), bands_of(documents), weights.a, both, 1,
        )  # fmt: skip
        theta = np.concatenate([weights.bands + weights.first, weights.repeated[:, None]], axis=1).ravel()
        left = documents[rows.ids] - np.repeat(unit, np.diff(rows.indptr)) > GONE * documents[rows.ids]
        known = np.bincount(np.repeat(np.arange(len(labels)), np.diff(rows.indptr)), left, minlength=len(labels))
        scale = np.maximum(known, 1.0) ** -weights.g
        found = np.einsum("f,nfk->nk", theta, features) * scale[:, None] + self.model.params_.bias
        found[known == 0] = 0.0  # nothing is known of such a document but the prior
        return np.asarray(found)

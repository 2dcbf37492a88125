"""Leave-one-out of a TextClassifier: each learnt document scored by the model without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.encode import Block
from bayeskit.data.text_files import COLUMN
from bayeskit.errors import NotLearnt
from bayeskit.estimate.prior import log_prior_without
from bayeskit.models.text.parameters import Parameters
from bayeskit.models.text.recipe import Leaving, Recipe
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import GONE

Floats = npt.NDArray[np.float64]
CELLS = 1 << 22  # of documents and classes, at a time


class TextLeftOut:
    """Scores of documents that the model has learnt, each without itself."""

    def __init__(self, recipe: Recipe, tally: Tally, params: Parameters, prior: Any) -> None:
        self.recipe, self.tally, self.params = recipe, tally, params
        self.prior = prior
        self.counts = tally.class_counts.astype(np.float64)

    def scores(self, block: Block) -> Floats:
        """Scores (documents, classes); −∞ for a class that only the document shows."""
        labels = block.labels
        if labels is None or (labels >= len(self.counts)).any():
            raise NotLearnt("a document to leave out has a class that was never learnt")
        labels = labels.astype(np.int64)
        unit = np.ones(block.n_rows) if block.weights is None else np.minimum(block.weights, 1.0)
        rows = block.tokens[COLUMN]
        scores = np.empty((block.n_rows, len(self.counts)))
        step = max(1, CELLS * max(block.n_rows, 1) // max(len(rows.ids) * len(self.counts), 1))
        for start in range(0, block.n_rows, step):
            part = np.arange(start, min(start + step, block.n_rows))
            leaving = Leaving(rows.take(part), labels[part], unit[part])
            scores[part] = self.recipe.left_out(self.tally, self.params, leaving)
        scores += self._priors(labels, unit)
        alone = self.counts[labels] - unit <= GONE * self.counts.sum()
        scores[np.flatnonzero(alone), labels[alone]] = -np.inf
        return scores

    def log_prior(self, label: int, unit: float) -> Floats:
        """ln P(class) without ``unit`` documents of a class."""
        return log_prior_without(self.prior, self.tally.classes, self.counts, label, unit)

    def _priors(self, labels: Any, unit: Floats) -> Floats:
        scores = np.empty((len(labels), len(self.counts)))
        for label, u in {*zip(labels.tolist(), unit.tolist(), strict=True)}:
            scores[(labels == label) & (unit == u)] = self.log_prior(label, u)
        return scores

"""How probable documents are as draws, and new ones drawn: of recipes that say how documents come about."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.text_files import COLUMN
from bayeskit.models.text.document_classifier import DocumentClassifier
from bayeskit.models.text.recipe import GenerativeRecipe

Floats = npt.NDArray[np.float64]


class DrawsDocuments(DocumentClassifier):
    """Likelihoods and drawing, where the recipe is generative."""

    def document_log_likelihood(self, X: Any, coefficient: bool = True, length: bool = False) -> Floats:
        """ln P(document | class) (documents, classes).

        For "multinomial" with the multinomial coefficient ℓ!/Πn! and, where ``length``, P(ℓ), which is the same
        for all classes: Poisson with the mean number of words. A set of words has neither.
        """
        self._check_is_fitted()
        parts, recipe = [], cast(GenerativeRecipe, self.recipe_)
        for block, scores in self._score(X):
            scores = scores - self.params_.log_prior
            for term in recipe.shared_terms(block.tokens[COLUMN], self.counted_, coefficient, length):
                scores = scores + term[:, None]
            parts.append(scores)
        return np.concatenate(parts)

    def score_samples(self, X: Any) -> Floats:
        """ln P(document), with length term and multinomial coefficient; known words alone."""
        likelihood = self.document_log_likelihood(X, coefficient=True, length=True)
        return np.asarray(logspace.log_sum_exp(likelihood + self.params_.log_prior))

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[list[str], npt.NDArray[Any]]:
        """Documents drawn from the model and their classes: one coin a word, or a length and then words."""
        self._check_is_fitted()
        rng = np.random.default_rng(random_state if random_state is not None else self.random_state)
        labels = rng.choice(len(self.classes_), size=n, p=logspace.exp(self.params_.log_prior))
        recipe = cast(GenerativeRecipe, self.recipe_)
        return recipe.draw(self.params_, self.counted_, labels, rng), self.classes_[labels]

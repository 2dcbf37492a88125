"""The base of classifiers around one other classifier."""

from __future__ import annotations

from typing import Any

from bayeskit.errors import BadFile, BayesError
from bayeskit.models.base.estimator import PredictsClasses, clone
from bayeskit.models.base.persistence import Composite
from bayeskit.models.naive_bayes import NaiveBayes


class Wrapper(Composite, PredictsClasses):
    """A classifier around one other classifier: the setting ``_part``, fitted as ``_part`` with "_"."""

    @property
    def _drops_unlabeled(self) -> bool:
        return getattr(getattr(self, self._part), "_drops_unlabeled", False)

    def _inner(self, needs: str) -> Any:
        """Return an unfitted copy of the classifier; ``needs`` ends the message if it has no probabilities."""
        model = getattr(self, self._part)
        inner = NaiveBayes() if model is None else clone(model)
        if not hasattr(inner, "predict_proba"):
            raise BayesError(f"{type(inner).__name__} has no predict_proba: {needs}")
        return inner

    def _fitted_inner(self, parts: dict[str, Any], needs: str) -> Any:
        """Return the classifier of a file."""
        inner = parts[self._part]
        if not hasattr(inner, "predict_proba") or not hasattr(inner, "classes_"):
            raise BadFile(f"{type(inner).__name__} has no predict_proba: {needs}")
        return inner

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        model = getattr(self, self._part)
        inner = NaiveBayes() if model is None else model
        if hasattr(inner, "__sklearn_tags__"):
            tags.input_tags = inner.__sklearn_tags__().input_tags
        return tags

"""The base of classifiers around one other classifier."""

from __future__ import annotations

from typing import Any, ClassVar

from bayeskit.errors import BayesError
from bayeskit.evaluate.cross_validation import fit_wrapped
from bayeskit.models.base.estimator import PredictsClasses, clone
from bayeskit.models.base.persistence import Composite
from bayeskit.models.naive_bayes import NaiveBayes


class Wrapper(Composite, PredictsClasses):
    """A classifier around one other classifier: the setting ``_part``, fitted as ``_part`` with "_"."""

    @property
    def _drops_unlabeled(self) -> bool:
        return getattr(getattr(self, self._part), "_drops_unlabeled", False)

    _needs: ClassVar[str] = ""  # ends the message about a classifier without probabilities

    def _model(self) -> Any:
        model = getattr(self, self._part)
        return NaiveBayes() if model is None else model

    def _fit_inner(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Return a fitted copy of the classifier."""
        self._require_y(y)
        inner = self._with_probabilities(clone(self._model()))
        fit_wrapped(inner, X, y, sample_weight)
        return inner

    def _with_probabilities(self, inner: Any) -> Any:
        """Raise an error if a classifier has no probabilities; else return it."""
        if not hasattr(inner, "predict_proba"):
            raise BayesError(f"{type(inner).__name__} has no predict_proba: {self._needs}")
        return inner

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), self._model()
        if hasattr(inner, "__sklearn_tags__"):
            tags.input_tags = inner.__sklearn_tags__().input_tags
        return tags

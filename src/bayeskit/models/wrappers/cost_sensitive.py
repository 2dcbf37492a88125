"""A classifier that decides by cost instead of by probability alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bayeskit.data.vocabulary import canonical
from bayeskit.decisions import Costs, Decisions, decide
from bayeskit.errors import BadFile, BayesError
from bayeskit.evaluate.cross_validation import fit_wrapped
from bayeskit.models.base.estimator import PredictsClasses, check_is_fitted, clone
from bayeskit.models.base.persistence import Composite
from bayeskit.models.naive_bayes import NaiveBayes
from bayeskit.storage.model_file import Saved, State
from bayeskit.typing import Array, Floats


@dataclass(eq=False, repr=False)
class CostSensitive(Composite, PredictsClasses):
    """Classifier that predicts the decision with the lowest expected cost.

    Parameters
    ----------
    classifier: a classifier with ``predict_proba`` (cloned in fit), None for a ``NaiveBayes``.
    costs: ``{true class: {decision: cost}}``, a matrix in the order of the sorted classes, a ``Costs``, or None.
    reject_cost: what it costs to abstain; ``predict`` then says ``reject_label``.
    reject_label: what stands for a rejected row.

    >>> X, y = [["a"], ["a"], ["a"], ["b"]] * 5, ["ham", "ham", "spam", "spam"] * 5
    >>> careful = CostSensitive(costs={"ham": {"spam": 10}, "spam": {"ham": 1}}).fit(X, y)
    >>> careful.predict([["a"], ["b"]]).tolist()
    ['ham', 'ham']
    >>> careful.classifier_.predict([["a"], ["b"]]).tolist()
    ['ham', 'spam']
    """

    classifier: Any = None
    costs: Any = None
    reject_cost: float | None = None
    reject_label: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier; the costs are checked against its classes."""
        if y is None:
            raise BayesError("CostSensitive requires y to be passed, but the target y is None")
        inner = NaiveBayes() if self.classifier is None else clone(self.classifier)
        if not hasattr(inner, "predict_proba"):
            raise BayesError(f"{type(inner).__name__} has no predict_proba: costs need probabilities")
        fit_wrapped(inner, X, y, sample_weight)
        return self._become(inner, Costs.of(self.costs, np.asarray(inner.classes_).tolist()))

    def _become(self, inner: Any, costs: Costs) -> Self:
        self.classifier_, self.costs_, self.classes_ = inner, costs, inner.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(inner, name):
                setattr(self, name, getattr(inner, name))
            elif hasattr(self, name):
                delattr(self, name)
        return self

    @property
    def _drops_unlabelled(self) -> bool:
        """Return True if the classifier drops unlabeled rows."""
        return getattr(self.classifier, "_drops_unlabelled", False)

    def predict_proba(self, X: Any) -> Floats:
        """The classifier's P(class | x): costs change what is decided, not what is believed."""
        self._check_is_fitted()
        return np.asarray(self.classifier_.predict_proba(X))

    def decide(self, X: Any, top_k: int | None = None, capacity: int | None = None, action: Any = None) -> Decisions:
        """Decisions with their expected losses (see :func:`bayeskit.decisions`)."""
        p = self.predict_proba(X)
        labels = np.asarray(self.classes_).tolist()
        return decide(p, self.costs_, self.reject_cost, top_k, capacity, classes=labels, action=action)

    def predict(self, X: Any) -> Array:
        """Predict the decision with the lowest expected cost for each row."""
        decisions = self.decide(X)
        labels = decisions.labels
        if decisions.rejected.any() and self.reject_label is not None:
            labels = np.array([self.reject_label if r else v for v, r in zip(labels, decisions.rejected, strict=True)])
        return labels if labels.dtype == object else labels.astype(np.asarray(labels).dtype)

    # -- persistence -----------------------------------------------------------------------------------

    def _fitted_parts(self) -> dict[str, Any]:
        """Return the fitted classifier."""
        return {"classifier": self.classifier_}

    @classmethod
    def _part_names(cls, saved: Saved) -> tuple[str, ...]:
        """Return the name of the classifier part."""
        return ("classifier",)

    def _settings_to_save(self) -> dict[str, Any]:
        """The settings; costs that were read from a file are those that the classes have been matched with."""
        costs = self.costs
        if isinstance(costs, Costs):
            held = self.costs_
            costs = {
                c: dict(zip(held.decisions, row, strict=True))
                for c, row in zip(held.classes, held.matrix.tolist(), strict=True)
            }
        return super()._settings_to_save() | {"costs": costs}

    def _held_state(self) -> State:
        """The costs, one row a class."""
        return State({"decisions": list(self.costs_.decisions)}, [self.costs_.matrix])

    def _restore_parts(self, parts: dict[str, Any], state: State) -> Self:
        """Restore a fitted model from a file."""
        state.holds(1, "decisions")
        inner = parts["classifier"]
        if not hasattr(inner, "predict_proba") or not hasattr(inner, "classes_"):
            raise BadFile(f"{type(inner).__name__} has no predict_proba: costs need probabilities")
        classes = tuple(np.asarray(inner.classes_).tolist())
        matrix = state.numbers(0, len(classes), len(state.header["decisions"]))
        decisions = tuple(map(canonical, state.header["decisions"]))
        if not decisions or None in decisions or len({*decisions}) < len(decisions):
            raise BadFile("the decisions are not there, or one of them twice")
        costs = Costs(classes, decisions, matrix)
        decide(np.full((1, len(classes)), 1 / len(classes)), costs, self.reject_cost, classes=classes)  # may refuse
        return self._become(inner, costs)

    def _check_is_fitted(self) -> None:
        check_is_fitted(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classifier_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = NaiveBayes() if self.classifier is None else self.classifier
        if hasattr(inner, "__sklearn_tags__"):
            tags.input_tags = inner.__sklearn_tags__().input_tags
        return tags

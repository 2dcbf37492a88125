"""A classifier that decides by cost instead of by probability alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from bayeskit.data.vocabulary import canonical
from bayeskit.decisions import Costs, Decisions, decide
from bayeskit.errors import BadFile
from bayeskit.models.wrappers.wrapper import Wrapper
from bayeskit.storage.container import ValueList
from bayeskit.storage.model_file import Numbers, State
from bayeskit.typing import Array, Floats


@dataclass(eq=False, repr=False)
class CostSensitive(Wrapper):
    """Classifier that predicts the decision with the lowest expected cost.

    Parameters
    ----------
    classifier : classifier, default=None
        A classifier with ``predict_proba``, cloned in fit; None for a ``NaiveBayes``.
    costs : mapping, array-like or Costs, default=None
        ``{true class: {decision: cost}}``, or a matrix in the order of the sorted classes; None for equal costs.
    reject_cost : float, default=None
        Cost of abstaining; ``predict`` then returns ``reject_label``.
    reject_label : object, default=None
        Label of a rejected row.

    Attributes
    ----------
    classifier_ : classifier
        The fitted classifier.
    costs_ : Costs
        The costs, in the order of its classes.

    Examples
    --------
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

    _part: ClassVar[str] = "classifier"
    _needs: ClassVar[str] = "costs need probabilities"
    _fitted_attribute: ClassVar[str] = "classifier_"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier, and check the costs against its classes.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`NaiveBayes.fit`.

        Returns
        -------
        self
        """
        inner = self._fit_inner(X, y, sample_weight)
        return self._become(inner, Costs.of(self.costs, np.asarray(inner.classes_).tolist()))

    def _become(self, inner: Any, costs: Costs) -> Self:
        self.classifier_, self.costs_, self.classes_ = inner, costs, inner.classes_
        self._copy_features(inner)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return P(class | x) of the classifier; costs change decisions, not probabilities.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return np.asarray(self.classifier_.predict_proba(X))

    def decide(self, X: Any, top_k: int | None = None, capacity: int | None = None, action: Any = None) -> Decisions:
        """Decide for each row, with expected losses.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)
        top_k : int, optional
            Also return the k decisions with the lowest loss, best first.
        capacity : int, optional
            Maximum number of rows that get the ``action``: those that gain most by it.
        action : object, optional
            Decision that ``capacity`` limits; by default the second of two.

        Returns
        -------
        Decisions
            See :func:`bayeskit.decisions.decide`.
        """
        p = self.predict_proba(X)
        labels = np.asarray(self.classes_).tolist()
        return decide(p, self.costs_, self.reject_cost, top_k, capacity, classes=labels, action=action)

    def predict(self, X: Any) -> Array:
        """Predict the decision with the lowest expected cost for each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        decisions = self.decide(X)
        labels = decisions.labels
        if decisions.rejected.any() and self.reject_label is not None:
            labels = np.array([self.reject_label if r else v for v, r in zip(labels, decisions.rejected, strict=True)])
        return labels if labels.dtype == object else labels.astype(np.asarray(labels).dtype)

    # -- persistence -----------------------------------------------------------------------------------

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

    def _state_to_save(self) -> State:
        return State.of(decisions=list(self.costs_.decisions), costs=self.costs_.matrix)

    def _restore_parts(self, parts: dict[str, Any], state: State) -> Self:
        inner = self._with_probabilities(parts["classifier"])
        classes = tuple(np.asarray(inner.classes_).tolist())
        held = state.read({"decisions": (list, ValueList), "costs": Numbers((len(classes), None))})
        numbers = Numbers((len(classes), len(held["decisions"]))).check(held["costs"])
        decisions = tuple(map(canonical, held["decisions"]))
        if not decisions or None in decisions or len({*decisions}) < len(decisions):
            raise BadFile("the decisions are not there, or one of them twice")
        costs = Costs(classes, decisions, numbers)
        decide(np.full((1, len(classes)), 1 / len(classes)), costs, self.reject_cost, classes=classes)  # may raise
        return self._become(inner, costs)

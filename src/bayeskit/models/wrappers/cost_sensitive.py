"""A classifier that decides by cost instead of by probability alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

import numpy as np

from bayeskit import logspace
from bayeskit.data.reader import in_order
from bayeskit.data.vocabulary import canonical
from bayeskit.decisions import Costs, Decisions, decide
from bayeskit.errors import BadFile, BayesError
from bayeskit.estimate.smoothing import is_number
from bayeskit.models.base import rules
from bayeskit.models.base.available import conditional_property
from bayeskit.models.base.class_weight import weigh_classes
from bayeskit.models.wrappers.calibrated import honest_scores
from bayeskit.models.wrappers.wrapper import Wrapper
from bayeskit.nearest import did_you_mean
from bayeskit.storage.container import ValueList
from bayeskit.storage.model_file import Numbers, State
from bayeskit.tolerance import NOISE
from bayeskit.typing import Array, Bools, Floats

MOST_ROWS = 100_000  # left-out rows that a threshold is chosen on


def threshold(p: Floats, positive: Bools, weights: Floats, precision: float | None, recall: float | None) -> float:
    """Return a probability above which rows reach a precision, with the highest recall, or a recall.

    >>> p, positive = np.array([0.9, 0.8, 0.6, 0.4, 0.1]), np.array([True, True, False, True, False])
    >>> threshold(p, positive, np.ones(5), 0.75, None), threshold(p, positive, np.ones(5), None, 0.6)
    (0.25, 0.7)
    """
    order = np.argsort(-p, kind="stable")
    p, hits, taken = p[order], np.cumsum((weights * positive)[order]), np.cumsum(weights[order])
    reached = hits / taken if precision is not None else hits / hits[-1]
    wanted = cast(float, recall if precision is None else precision)
    # Rows of one probability are taken together.
    ends = np.append(p[1:] < p[:-1], True)
    enough = np.flatnonzero(ends & (reached >= wanted - NOISE))
    if not len(enough):
        best = reached[ends].max()
        raise BayesError(
            f"precision={wanted!r} is not reached at any threshold; the highest on left-out rows is {best:.4g}"
        )
    last = enough[-1] if precision is not None else enough[0]
    below = p[last + 1] if last + 1 < len(p) else 0.0
    return float(np.clip((p[last] + below) / 2, NOISE, 1 - NOISE))


@dataclass(eq=False, repr=False)
class CostSensitive(Wrapper):
    """Classifier that predicts the decision with the lowest expected cost.

    Of two classes the costs can be chosen for a wanted ``precision`` or ``recall`` of one of them, on rows that the
    classifier has not learned from: by leave-one-out in closed form where it has that, else on five folds.

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
    precision, recall : float, default=None
        Take the threshold with the highest recall among those with at least this precision of ``positive``, or the
        highest threshold with at least this recall. One of them, instead of ``costs``.
    positive : class label, default=None
        The class that they speak of; None for the rarer of the two.

    Attributes
    ----------
    classifier_ : classifier
        The fitted classifier.
    costs_ : Costs
        The costs, in the order of its classes.
    threshold_ : float
        With ``precision`` or ``recall``: the probability above which ``positive`` is predicted.

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
    precision: float | None = None
    recall: float | None = None
    positive: Any = None

    _part: ClassVar[str] = "classifier"
    _needs: ClassVar[str] = "costs need probabilities"
    _fitted_attribute: ClassVar[str] = "classifier_"
    _rules: ClassVar[rules.Rules] = {
        "classifier": rules.optional(rules.classifier),
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None, class_weight: Any = None) -> Self:
        """Fit the classifier, and check the costs against its classes.

        Parameters
        ----------
        X, y, sample_weight, class_weight
            As for :meth:`NaiveBayes.fit`.

        Returns
        -------
        self
        """
        self._check_settings()
        if class_weight is not None:
            sample_weight = weigh_classes(X, y, sample_weight, class_weight)
        if hasattr(self.classifier, "_observe"):
            raise BayesError("CostSensitive decides for rows, and a HiddenMarkovModel has a state for every step")
        vars(self).pop("positive_", None)
        if self.precision is None and self.recall is None:
            inner = self._fit_inner(X, y, sample_weight)
            return self._become(inner, Costs.of(self.costs, np.asarray(inner.classes_).tolist()))
        self._check_goal()
        X = in_order(X)
        inner = self._fit_inner(X, y, sample_weight)
        return self._become(inner, self._costs_of_goal(inner, X, y, sample_weight))

    def _check_goal(self) -> None:
        """Refuse a wanted precision or recall that cannot be, or that goes beside costs."""
        if self.precision is not None and self.recall is not None:
            raise BayesError("precision= and recall= are both given: one threshold reaches one of them")
        if self.costs is not None:
            raise BayesError("costs= and a wanted precision or recall are both given: leave out one of them")
        name, wanted = ("recall", self.recall) if self.precision is None else ("precision", self.precision)
        if not is_number(wanted) or not 0 < cast(float, wanted) <= 1:
            raise BayesError(f"{name}={wanted!r}: give a share above 0, up to 1")

    def _costs_of_goal(self, inner: Any, X: Any, y: Any, sample_weight: Any) -> Costs:
        """Return the costs under which decisions reach the wanted precision or recall on left-out rows."""
        classes = np.asarray(inner.classes_).tolist()
        if len(classes) != 2:
            raise BayesError(
                f"precision= and recall= choose between two classes, and there are {len(classes)}: give costs="
            )
        rows = honest_scores(inner, X, y, sample_weight, None, MOST_ROWS, 0)
        weights = np.ones(len(rows.labels)) if rows.weights is None else rows.weights
        sizes = np.bincount(rows.labels, weights, minlength=2)
        if not sizes.all():
            raise BayesError("a wanted precision or recall needs two rows of each class")
        if self.positive is not None and self.positive not in classes:
            raise BayesError(f"positive={self.positive!r} is not a class{did_you_mean(self.positive, classes)}")
        which = int(np.argmin(sizes)) if self.positive is None else classes.index(self.positive)
        p = logspace.normalize(rows.scores)[0][:, which]
        least = threshold(p, rows.labels == which, weights, self.precision, self.recall)
        one, other = classes[which], classes[1 - which]
        self.positive_ = one
        return Costs.of({other: {one: least}, one: {other: 1 - least}}, classes)

    @conditional_property
    def threshold_(self) -> float:
        """The probability above which ``positive`` is predicted, where a precision or recall was asked for."""
        if "positive_" not in vars(self):
            raise AttributeError("CostSensitive has no threshold_: neither precision nor recall was asked for")
        which = np.asarray(self.classes_).tolist().index(self.positive_)
        return float(self.costs_.matrix[1 - which, which])

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
        chosen = {"positive": self.positive_} if "positive_" in vars(self) else {}
        return super()._settings_to_save() | {"costs": costs} | chosen

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
        if self.precision is not None or self.recall is not None:
            self.positive_ = self.positive
        return self._become(inner, costs)

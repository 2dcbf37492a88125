"""ROC, precision-recall and lift curves.

Formula: ROC, precision and recall, average precision, break-even, lift
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.vocabulary import Value
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError
from bayeskit.tables import Readable, Sheet, Table
from bayeskit.typing import Bools, Floats


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Membership, score and weight of rows; rows of weight 0 or without a score are dropped.

    >>> rows = ScoredRows.of([True, False, True], [0.9, 0.2, float("nan")], None)
    >>> rows.truth.tolist(), rows.scores.tolist(), rows.weights.tolist()
    ([True, False], [0.9, 0.2], [1.0, 1.0])
    """

    truth: Bools
    scores: Floats
    weights: Floats

    @classmethod
    def of(cls, truth: Any, scores: Any, sample_weight: Any, what: str = "score") -> ScoredRows:
        """Validate one score and one answer per row; ``what`` names the scores in errors."""
        true, numbers = _answers(truth), _numbers(scores, f"{what}s")
        if true.ndim != 1 or true.shape != numbers.shape:
            raise BayesError(f"one {what} a row: {true.shape} and {numbers.shape} do not fit")
        weights = np.ones(len(numbers)) if sample_weight is None else _numbers(sample_weight, "weights")
        if weights.shape != numbers.shape or (weights < 0).any() or not np.isfinite(weights).all():
            raise BayesError("one weight for each row, none below 0")
        known = (weights > 0) & ~np.isnan(numbers)  # NaN is said where a row is impossible under every class
        if not known.any():
            raise BayesError(f"there are no rows to score, or none with {what}s that are numbers")
        return cls(true[known], numbers[known], weights[known])


def check_class_rows(probabilities: Any, truth: Any) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Validate probabilities (n_rows, n_classes) and return them with the codes of the true classes."""
    p = _numbers(probabilities, "probabilities")
    codes = np.asarray(truth)
    if p.ndim != 2 or codes.shape != p.shape[:1]:
        raise BayesError(f"one row of probabilities for each true class: {p.shape} and {codes.shape} do not fit")
    known = codes.dtype.kind in "iub" and (not len(codes) or (codes.min() >= 0 and codes.max() < p.shape[1]))
    if len(codes) and not known:
        raise BayesError(f"true classes are their places among the {p.shape[1]} columns of probabilities, from 0")
    return p, codes.astype(np.intp)


def _numbers(given: Any, what: str) -> Floats:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise BayesError(f"{what} are numbers, one for each row, and these are not") from None


def _answers(given: Any) -> Bools:
    """Return booleans from booleans or from 1 and 0."""
    array = np.asarray(given)
    if array.dtype == np.bool_:
        return array
    if array.dtype.kind in "iuf":
        neither = (array != 0) & (array != 1)
    else:
        neither = np.array([not isinstance(v, bool | int | np.bool_) or v not in (0, 1) for v in array.ravel()])
    if neither.any():
        row = int(np.flatnonzero(neither)[0])
        value = array.ravel()[row : row + 1].tolist()[0]
        raise BayesError(
            f"row {row} is {value!r}, which is neither true nor false: compare labels with the class that is meant, "
            "as labels == label",
        )
    return array.astype(np.bool_)


SHOWN = 11  # points of a curve that are printed


class _Curve(Readable, Drawable):
    """Points of a curve by decreasing threshold."""

    of: Value
    thresholds: Floats

    @property
    def headline(self) -> str:
        """Describe the curve in one line."""
        raise NotImplementedError

    @property
    def table(self) -> Table:
        """Return the points as a table."""
        points = {f.name.replace("_", " "): getattr(self, f.name) for f in fields(self) if not f.compare}  # type: ignore[arg-type]
        return Table({"threshold": points.pop("thresholds"), **points})

    @property
    def sheet(self) -> Sheet:
        """Return the printable form: the headline and a few points."""
        at = np.unique(np.linspace(0, len(self.thresholds) - 1, SHOWN).round().astype(np.int64))
        table = self.table
        return Sheet(self.headline, (Table({n: [table[n][i] for i in at] for n in table.column_names}).grid,))


@dataclass(frozen=True, repr=False)
class RocCurve(_Curve):
    """ROC curve of one class.

    Attributes
    ----------
    of : class label
    thresholds : ndarray of shape (n_points,)
        Decreasing; the first is infinite.
    false_positive_rate, true_positive_rate : ndarray of shape (n_points,)
    area : float
        AUC; NaN if all rows or no rows are of the class.

    Examples
    --------
    >>> from bayeskit import roc_curve
    >>> roc_curve([False, False, True, True], [0.1, 0.4, 0.35, 0.8]).area
    0.75
    """

    of: Value
    false_positive_rate: Floats = field(compare=False)
    true_positive_rate: Floats = field(compare=False)
    thresholds: Floats = field(compare=False)
    area: float

    @property
    def headline(self) -> str:
        return f"ROC of {self.of!r}: a row of the class scores higher than another with probability {self.area:.4f}"


@dataclass(frozen=True, repr=False)
class PrecisionRecall(_Curve):
    """Precision-recall curve of one class.

    Attributes
    ----------
    of : class label
    thresholds : ndarray of shape (n_points,)
        Decreasing; the first is infinite.
    precision, recall : ndarray of shape (n_points,)
        The first point is (1, 0).
    average_precision, break_even : float
        NaN if no row is of the class.

    Examples
    --------
    >>> from bayeskit import precision_recall_curve
    >>> precision_recall_curve([False, False, True, True], [0.1, 0.4, 0.35, 0.8]).break_even
    0.5
    """

    of: Value
    precision: Floats = field(compare=False)
    recall: Floats = field(compare=False)
    thresholds: Floats = field(compare=False)
    average_precision: float
    break_even: float
    share: float

    @property
    def headline(self) -> str:
        even = f"precision and recall meet at {self.break_even:.4f}"
        return f"Precision and recall of {self.of!r}: average precision {self.average_precision:.4f}; {even}"


@dataclass(frozen=True, repr=False)
class LiftCurve(_Curve):
    """Lift curve of one class.

    Attributes
    ----------
    of : class label
    taken : ndarray of shape (n_points,)
        Share of the rows with the highest scores.
    found : ndarray of shape (n_points,)
        Share of the class among these rows.
    lift : ndarray of shape (n_points,)
        found / taken; the first point repeats the second.

    Examples
    --------
    >>> from bayeskit import lift_curve
    >>> lift_curve([False, False, True, True], [0.1, 0.4, 0.35, 0.8]).found_at(0.25)
    0.5
    """

    of: Value
    taken: Floats = field(compare=False)
    found: Floats = field(compare=False)
    lift: Floats = field(compare=False)
    thresholds: Floats = field(compare=False)
    share: float

    def found_at(self, taken: float) -> float:
        """Return the share of the class that is found in the rows with the highest scores.

        Parameters
        ----------
        taken : float
            Share of the rows, from 0 to 1; ties at the cut count by their share.

        Returns
        -------
        float
        """
        return float(np.interp(taken, self.taken, self.found))

    @property
    def headline(self) -> str:
        return f"Lift of {self.of!r}: the best-scored tenth of the rows holds {self.found_at(0.1):.1%} of the class"


def roc_curve(truth: Any, scores: Any, sample_weight: Any = None, of: Value = True) -> RocCurve:
    """Compute the ROC curve.

    Parameters
    ----------
    truth : array-like of bool, shape (n_rows,)
        True for rows of the class.
    scores : array-like of shape (n_rows,)
    sample_weight : array-like of shape (n_rows,), optional
    of : class label, optional
        Name of the class, for titles.

    Returns
    -------
    RocCurve

    Examples
    --------
    >>> curve = roc_curve([False, False, True, True], [0.1, 0.4, 0.35, 0.8])
    >>> curve.false_positive_rate.tolist(), curve.true_positive_rate.tolist(), curve.area
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0], 0.75)
    """
    steps = _Steps(truth, scores, sample_weight)
    fpr, tpr = _shares(steps.others), _shares(steps.of_class)
    return RocCurve(of, fpr, tpr, np.append(np.inf, steps.thresholds), float(np.diff(fpr) @ (tpr[1:] + tpr[:-1])) / 2)


def precision_recall_curve(truth: Any, scores: Any, sample_weight: Any = None, of: Value = True) -> PrecisionRecall:
    """Compute the precision-recall curve.

    Parameters
    ----------
    truth : array-like of bool, shape (n_rows,)
        True for rows of the class.
    scores : array-like of shape (n_rows,)
    sample_weight : array-like of shape (n_rows,), optional
    of : class label, optional
        Name of the class, for titles.

    Returns
    -------
    PrecisionRecall

    Examples
    --------
    >>> curve = precision_recall_curve([False, False, True, True], [0.1, 0.4, 0.35, 0.8])
    >>> curve.precision.round(3).tolist(), curve.recall.tolist(), round(curve.average_precision, 4), curve.break_even
    ([1.0, 1.0, 0.5, 0.667, 0.5], [0.0, 0.5, 0.5, 1.0, 1.0], 0.8333, 0.5)
    """
    steps = _Steps(truth, scores, sample_weight)
    precision, recall = steps.of_class / (steps.of_class + steps.others), _shares(steps.of_class)
    average = float((np.diff(recall) * precision).sum())
    share = float(precision[-1])
    precision = np.append(1.0, precision) if recall[-1] > 0 else np.full(len(recall), np.nan)
    even = steps.break_even
    return PrecisionRecall(of, precision, recall, np.append(np.inf, steps.thresholds), average, even, share)


def lift_curve(truth: Any, scores: Any, sample_weight: Any = None, of: Value = True) -> LiftCurve:
    """Compute the lift curve.

    Parameters
    ----------
    truth : array-like of bool, shape (n_rows,)
        True for rows of the class.
    scores : array-like of shape (n_rows,)
    sample_weight : array-like of shape (n_rows,), optional
    of : class label, optional
        Name of the class, for titles.

    Returns
    -------
    LiftCurve

    Examples
    --------
    >>> curve = lift_curve([False, False, True, True], [0.1, 0.4, 0.35, 0.8])
    >>> curve.taken.tolist(), curve.found.tolist(), curve.lift[1:].round(3).tolist()
    ([0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0], [2.0, 1.0, 1.333, 1.0])
    """
    steps = _Steps(truth, scores, sample_weight)
    taken, found = _shares(steps.of_class + steps.others), _shares(steps.of_class)
    lift = found[1:] / taken[1:]
    share = float(steps.of_class[-1] / (steps.of_class[-1] + steps.others[-1]))
    return LiftCurve(of, taken, found, np.append(lift[0], lift), np.append(np.inf, steps.thresholds), share)


def break_even(truth: Any, scores: Any, sample_weight: Any = None) -> float:
    """Compute the break-even point of one class, where precision equals recall.

    As many rows are selected as belong to the class, the best scored first; ties at the cut count by their share. The
    result is NaN if no row belongs to the class.

    >>> break_even(np.array([True, False, True, False]), np.array([0.9, 0.8, 0.7, 0.1]))
    0.5
    """
    return _Steps(truth, scores, sample_weight).break_even


class _Steps:
    """Cumulative weights after each distinct score, in decreasing order."""

    def __init__(self, truth: Any, scores: Any, sample_weight: Any) -> None:
        rows = ScoredRows.of(truth, scores, sample_weight)
        order = np.argsort(-rows.scores, kind="stable")
        ranked = rows.scores[order]
        last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)  # infinite scores are ties, too
        self.thresholds = ranked[last]
        self.of_class = np.cumsum((rows.weights * rows.truth)[order])[last]
        self.others = np.cumsum((rows.weights * ~rows.truth)[order])[last]

    @property
    def break_even(self) -> float:
        """Return the precision among the best-scored rows that weigh as much as the class."""
        wanted = self.of_class[-1]
        taken, found = np.append(0.0, self.of_class + self.others), np.append(0.0, self.of_class)
        return float(np.interp(wanted, taken, found) / wanted) if wanted > 0 else float("nan")


def _shares(sums: Floats) -> Floats:
    """Scale cumulative sums to 0..1; NaN if the total is 0."""
    return np.append(0.0, sums) / sums[-1] if sums[-1] > 0 else np.full(len(sums) + 1, np.nan)

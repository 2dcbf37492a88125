"""ROC, precision-recall and lift curves.

Formula: ROC, precision and recall, average precision, break-even, lift
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.vocabulary import Value
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError
from bayeskit.tables.sheet import Readable, Sheet
from bayeskit.tables.table import Table
from bayeskit.typing import Bools, Floats


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Which rows came true, the score of each and its weight; rows of weight 0 and rows without a score are left out.

    >>> rows = ScoredRows.of([True, False, True], [0.9, 0.2, float("nan")], None)
    >>> rows.truth.tolist(), rows.scores.tolist(), rows.weights.tolist()
    ([True, False], [0.9, 0.2], [1.0, 1.0])
    """

    truth: Bools
    scores: Floats
    weights: Floats

    @classmethod
    def of(cls, truth: Any, scores: Any, sample_weight: Any, what: str = "score") -> ScoredRows:
        """Of what was given, once it is one number a row and one answer; ``what`` the numbers are called."""
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


def classed_rows(probabilities: Any, truth: Any) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Probabilities (rows, classes), and the place of the true class of each row among them."""
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
    """True or false for each row, as booleans or as 1 and 0."""
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
            culprit=value,
        )
    return array.astype(np.bool_)


SHOWN = 11  # points of a curve that are printed


class _Curve(Readable, Drawable):
    """Points by falling threshold, all of them plain arrays."""

    of: Value
    thresholds: Floats

    @property
    def headline(self) -> str:
        """The curve in a sentence."""
        raise NotImplementedError

    @property
    def table(self) -> Table:
        """Point by point."""
        raise NotImplementedError

    @property
    def sheet(self) -> Sheet:
        """The headline and a few of the points."""
        at = np.unique(np.linspace(0, len(self.thresholds) - 1, SHOWN).round().astype(np.int64))
        table = self.table
        return Sheet(self.headline, (Table({n: [table[n][i] for i in at] for n in table.column_names}).grid,))


@dataclass(frozen=True, repr=False)
class RocCurve(_Curve):
    """``false_positive_rate`` and ``true_positive_rate`` after each threshold, the first of them infinite; ``area``.

    The area is NaN where all rows are of the class, or none is.
    """

    of: Value
    false_positive_rate: Floats = field(compare=False)
    true_positive_rate: Floats = field(compare=False)
    thresholds: Floats = field(compare=False)
    area: float

    @property
    def headline(self) -> str:
        return f"ROC of {self.of!r}: a row of the class scores higher than another with probability {self.area:.4f}"

    @property
    def table(self) -> Table:
        names = ("threshold", "false positive rate", "true positive rate")
        return Table(
            dict(zip(names, (self.thresholds, self.false_positive_rate, self.true_positive_rate), strict=True))
        )


@dataclass(frozen=True, repr=False)
class PrecisionRecall(_Curve):
    """``precision`` and ``recall`` after each threshold, from (1, 0) on; ``average_precision`` and ``break_even``.

    All are NaN where no row is of the class.
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

    @property
    def table(self) -> Table:
        return Table({"threshold": self.thresholds, "precision": self.precision, "recall": self.recall})


@dataclass(frozen=True, repr=False)
class LiftCurve(_Curve):
    """``taken``, the share of the rows taken; ``found``, the share of the class among them; ``lift`` = found / taken.

    The lift before the first row is that of the first rows.
    """

    of: Value
    taken: Floats = field(compare=False)
    found: Floats = field(compare=False)
    lift: Floats = field(compare=False)
    thresholds: Floats = field(compare=False)
    share: float

    def found_at(self, taken: float) -> float:
        """The share of the class in the best-scored ``taken`` of the rows; those of one score by their share."""
        return float(np.interp(taken, self.taken, self.found))

    @property
    def headline(self) -> str:
        return f"Lift of {self.of!r}: the best-scored tenth of the rows holds {self.found_at(0.1):.1%} of the class"

    @property
    def table(self) -> Table:
        return Table({"threshold": self.thresholds, "taken": self.taken, "found": self.found, "lift": self.lift})


def roc_curve(truth: Any, scores: Any, sample_weight: Any = None, of: Value = True) -> RocCurve:
    """The ROC of the rows whose ``truth`` is true, from the ``scores`` of all.

    >>> curve = roc_curve([False, False, True, True], [0.1, 0.4, 0.35, 0.8])
    >>> curve.false_positive_rate.tolist(), curve.true_positive_rate.tolist(), curve.area
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0], 0.75)
    """
    steps = _Steps(truth, scores, sample_weight)
    fpr, tpr = _shares(steps.others), _shares(steps.of_class)
    return RocCurve(of, fpr, tpr, np.append(np.inf, steps.thresholds), float(np.diff(fpr) @ (tpr[1:] + tpr[:-1])) / 2)


def precision_recall_curve(truth: Any, scores: Any, sample_weight: Any = None, of: Value = True) -> PrecisionRecall:
    """Precision and recall of the rows whose ``truth`` is true, from the ``scores`` of all.

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
    """The lift of the rows whose ``truth`` is true, from the ``scores`` of all.

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
    """Where precision equals recall, of one class: as many rows chosen as belong to it, the best scored first.

    ``truth`` says which rows belong to the class; NaN where none does. Rows of equal score at the cut count by their
    share.

    >>> break_even(np.array([True, False, True, False]), np.array([0.9, 0.8, 0.7, 0.1]))
    0.5
    """
    return _Steps(truth, scores, sample_weight).break_even


class _Steps:
    """Sums of weight after each distinct score, the best first."""

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
        """The share of the class in as much weight, the best scored first, as the class has."""
        wanted = self.of_class[-1]
        taken, found = np.append(0.0, self.of_class + self.others), np.append(0.0, self.of_class)
        return float(np.interp(wanted, taken, found) / wanted) if wanted > 0 else float("nan")


def _shares(sums: Floats) -> Floats:
    """From 0 to 1; NaN where there is nothing to share."""
    return np.append(0.0, sums) / sums[-1] if sums[-1] > 0 else np.full(len(sums) + 1, np.nan)

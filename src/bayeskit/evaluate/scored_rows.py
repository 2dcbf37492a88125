"""Rows with a score, what came true of them, and their weights: checked once, where they enter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.errors import BayesError
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

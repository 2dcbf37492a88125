"""Compare two fitted models on the same rows: difference of the log loss, and McNemar's test of the decisions.

Formula: McNemar's test
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.errors import BayesError
from bayeskit.evaluate.evaluation import Evaluation
from bayeskit.evaluate.metrics import clip_log
from bayeskit.typing import Floats

STANDARD_ERRORS = 1.96  # of a 95 % interval


@dataclass(frozen=True)
class PairedScores:
    """Differences between two models on the same rows.

    Attributes
    ----------
    log_loss_difference, low, high : float
        Mean difference of the log loss, second model minus first, with its 95 % interval; negative favors the second.
    changed : int
        Rows that the models put in different classes.
    only_first, only_second : int
        Rows that only the first, or only the second, puts in the true class.
    p_value : float
        Exact McNemar test of ``only_first`` against ``only_second``; 1 if both are 0.
    """

    rows: int
    log_loss_difference: float
    low: float
    high: float
    changed: int
    only_first: int
    only_second: int
    p_value: float

    @property
    def sentence(self) -> str:
        """Say which model is better, if the difference is significant."""
        if self.high < 0 or self.low > 0:
            return f"The {'second' if self.high < 0 else 'first'} model has the lower log loss."
        return "The rows do not tell which model has the lower log loss."


def compare_evaluations(first: Evaluation, second: Evaluation) -> PairedScores:
    """Compare the evaluations of two models on the same rows; weights of rows are ignored.

    >>> from bayeskit import NaiveBayes, datasets
    >>> days = datasets.load_worked_example("tennis")
    >>> old, new = (NaiveBayes(smoothing=a).fit(days, "play").leave_one_out(days, "play") for a in (0.1, 1.0))
    >>> found = compare_evaluations(old, new)
    >>> found.rows, found.changed, found.p_value, found.log_loss_difference < 0
    (14, 1, 1.0, True)
    """
    from scipy.stats import binomtest

    if _labels(first) != _labels(second):
        raise BayesError("the evaluations are of different rows: evaluate both models on the same data")
    losses = _losses(second) - _losses(first)
    said, others = _decisions(first), _decisions(second)
    truth = np.array(_labels(first), dtype=object)
    right, also = said == truth, others == truth
    only_first, only_second = int((right & ~also).sum()), int((also & ~right).sum())
    n, mean = len(losses), float(losses.mean())
    error = STANDARD_ERRORS * float(losses.std(ddof=1)) / n**0.5 if n > 1 else float("inf")
    p_value = binomtest(only_first, only_first + only_second).pvalue if only_first + only_second else 1.0
    changed = int((said != others).sum())
    return PairedScores(n, mean, mean - error, mean + error, changed, only_first, only_second, float(p_value))


def _labels(evaluation: Evaluation) -> list[object]:
    """Return the true class of each row."""
    return [evaluation.classes[code] for code in evaluation._truth()]


def _decisions(evaluation: Evaluation) -> npt.NDArray[np.object_]:
    """Return the most probable class of each row."""
    return np.array(evaluation.classes, dtype=object)[evaluation.probabilities.argmax(axis=1)]


def _losses(evaluation: Evaluation) -> Floats:
    """Return the log loss of each row, clipped like the mean."""
    truth = evaluation._truth()
    return -clip_log(logspace.log(evaluation.probabilities[np.arange(len(truth)), truth]))

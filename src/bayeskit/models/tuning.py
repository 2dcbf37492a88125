"""Choosing a number by leaving each row out: how well are the classes of the rows predicted without them?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.source import Source
from bayeskit.models.naive_left_out import NaiveLeftOut

if TYPE_CHECKING:
    from bayeskit.models.naive_bayes import NaiveBayes

ALPHAS = np.logspace(-3, 3, 13)
STEPS = 10  # golden-section steps between the neighbours of the best of these


def best_smoothing(model: NaiveBayes, source: Source) -> float:
    """The α with the least leave-one-out log loss −Σ w ln P(class | row) on the rows the model has learnt."""
    from sklearn.base import clone

    start = model.left_out()
    blocks = [(block, start.numbers(block)) for block in model.encoder().blocks(source)]

    def loss(log_alpha: float) -> float:
        other = clone(model).set_params(smoothing=float(logspace.exp(log_alpha))).fit_tally(model.tally_)
        left_out = NaiveLeftOut(other)
        total = 0.0
        for block, gaussians in blocks:
            scores = left_out.values(block) + gaussians
            labels: npt.NDArray[np.int64] = np.asarray(block.labels, dtype=np.int64)
            log_p = scores[np.arange(block.n_rows), labels] - logspace.log_sum_exp(scores)
            known = np.isfinite(log_p)  # a class that only one row shows is lost for every α
            total -= float((log_p * (1.0 if block.weights is None else block.weights))[known].sum())
        return total

    grid = np.log(ALPHAS)
    losses = [loss(log_alpha) for log_alpha in grid]
    best = int(np.argmin(losses))
    return float(logspace.exp(_golden(loss, grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])))


def _golden(loss: object, low: float, high: float) -> float:
    """The minimum of a function between two points, by golden section."""
    assert callable(loss)
    ratio = (5**0.5 - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = loss(a), loss(b)
    for _ in range(STEPS):
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = loss(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = loss(b)
    return a if at_a <= at_b else b

"""Back-off: what was counted in a context is held to what the shorter context says.

    p_d(x | c, u_1..u_d) = (n(x, c, u_1..u_d) + m_d · p_{d−1}(x | c, u_1..u_{d−1})) / (n(c, u_1..u_d) + m_d)

with p_{−1} uniform: an m-estimate towards the shorter context. m_d is the one of a few numbers under which the
counts of a level predict each other best, leaving one row out at a time:

    m_d = argmax Σ n ln((n − 1 + m p'_{d−1}) / (N − 1 + m)),   p' without the row too

Formula: (n + m p_shorter) / (N + m), m by leave-one-out
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.errors import BayesError
from bayeskit.estimate.smoothing import MOST, is_number, smoothed
from bayeskit.typing import Array, Floats

CHOICES = (0.5, 2.0, 8.0, 32.0, 128.0, 512.0)


def backed_off(count: Any, total: Any, m: Any, shorter: Any) -> Any:
    """(n + m p) / (N + m), with p what the shorter context says; 0/0 is NaN.

    >>> float(backed_off(3, 4, 2, 0.5))
    0.6666666666666666
    """
    return smoothed(count, total, m * shorter, m)


@dataclass(frozen=True)
class BackOff:
    """Smoothing towards the shorter context, with weight ``m``; by default m is chosen for each column and level.

    Without parents there is no shorter context, and it is an m-estimate towards uniform.

    >>> BackOff(2).pseudo_counts(["rain", "sun"], np.array([[3, 1]]))
    array([1., 1.])
    """

    m: float | None = None

    def __post_init__(self) -> None:
        if self.m is not None and not (is_number(self.m) and 0 < self.m <= MOST):
            raise BayesError(
                f"BackOff: m is {self.m!r}; it is a number above 0, up to {MOST:g}, or None to have it chosen."
            )

    def pseudo_counts(self, values: Sequence[object], counts: Array) -> Floats:
        """m / number of values for each value."""
        n_values = max(len(values), 1)
        n = np.asarray(counts, dtype=np.float64)
        lower = np.full(n.shape, 1 / n_values)
        return np.full(len(values), self.weight(n, n.sum(axis=1, keepdims=True), lower) / n_values)

    def weight(self, n: Floats, total: Floats, lower: Floats) -> float:
        """m for counts n of values in contexts with these totals; ``lower`` is p' of the shorter context."""
        return float(self.weights(n, total, lower, [0])[0])

    def weights(self, n: Floats, total: Floats, lower: Floats, starts: Sequence[int]) -> Floats:
        """m for each group of values along the last axis; ``starts`` are where the groups begin."""
        if self.m is not None or not n.shape[-1]:
            return np.full(len(starts), float(self.m or 1.0))
        cells = np.nonzero(n >= 1)  # the others have no row to leave out
        seen = n[cells]
        rest, shorter = (np.broadcast_to(of_cell, n.shape)[cells] for of_cell in (total, lower))
        with np.errstate(invalid="ignore"):
            gains = logspace.log(backed_off(seen - 1, rest - 1, np.array(CHOICES)[:, None], shorter)) * seen
        group = np.searchsorted(starts, cells[-1], side="right") - 1
        scores = [np.bincount(group, gain, minlength=len(starts)) for gain in gains]
        best = np.argmax(np.nan_to_num(np.array(scores), nan=-np.inf), axis=0)
        return np.array(CHOICES)[best]

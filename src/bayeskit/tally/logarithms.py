"""Moments of ln x, for columns of numbers above zero. Anything else is refused when it is to be counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from bayeskit.errors import BayesError
from bayeskit.remedy import Remedy
from bayeskit.tally.moments import ColumnMoments
from bayeskit.tally.plan import Request
from bayeskit.tally.statistic import register
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit.tally.block_counts import BlockCounts


def logarithm(x: Floats) -> Floats:
    """ln x; NaN where there is none.

    >>> logarithm(np.array([1.0, 0.0, -2.0, np.nan])).tolist()
    [0.0, nan, nan, nan]
    """
    return np.log(np.where(x > 0, x, np.nan))


@register
class LogMoments(ColumnMoments):
    """The moments (classes, columns) of ln x."""

    kind = "logarithms"

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Refuses the first number that has no logarithm."""
        for name in request.columns:
            x = counter.block.floats[name]
            rows = np.flatnonzero(~np.isnan(x) & ~((x > 0) & (x < np.inf)))
            if len(rows):
                raise BayesError(
                    f"column {name!r} has {x[rows[0]]:g} in row {counter.block.start + rows[0]}, which has no logarithm"
                    ": log-normal columns hold numbers above zero. Take it otherwise: ",
                    Remedy("numeric", {name: "gaussian"}),
                    culprit=name,
                )
        logs = [logarithm(counter.block.floats[name]) for name in request.columns]
        return cls(request.columns, counter.moments(logs))

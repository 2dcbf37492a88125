"""Moments of columns of counts: whole numbers from 0. Anything else is refused when it is to be counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from bayeskit.errors import BayesError
from bayeskit.tally.moments import ColumnMoments
from bayeskit.tally.plan import Request
from bayeskit.tally.statistic import register
from bayeskit.typing import Array, Bools, Floats

if TYPE_CHECKING:
    from bayeskit.tally.block_counts import BlockCounts

LARGEST_COUNT = 2.0**53  # beyond it floats have no fractions, and are no counts either


def are_counts(x: Floats) -> Bools:
    """Which numbers are counts.

    >>> are_counts(np.array([0.0, 3.0, -1.0, 0.5, np.nan, 1e300])).tolist()
    [True, True, False, False, False, False]
    """
    counts: Array = (x >= 0) & (x <= LARGEST_COUNT) & (x == np.floor(x))
    return counts


@register
class CountMoments(ColumnMoments):
    """The moments (classes, columns) of columns of counts."""

    kind = "counts"

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Refuses the first number that is no count."""
        for name in request.columns:
            x = counter.block.floats[name]
            rows = np.flatnonzero(~np.isnan(x) & ~are_counts(x))
            if len(rows):
                raise BayesError(
                    f"column {name!r} has {x[rows[0]]:g} in row {counter.block.start + rows[0]}, which is no count (a "
                    'whole number from 0). Take it otherwise: numeric="gaussian", for all columns or for this one.'
                )
        return super().count(request, counter)

"""Rows drawn from a model: slots by their probabilities, then the values they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayeskit.data.schema import Numeric, Role
from bayeskit.data.vocabulary import Value
from bayeskit.typing import Array, Floats, Ints


def draw_slots(shares: Floats, rng: np.random.Generator) -> Ints:
    """One slot a row, by shares (rows, slots) that need not sum to one.

    >>> draw_slots(np.array([[0.0, 2.0], [1.0, 0.0]]), np.random.default_rng(0)).tolist()
    [1, 0]
    """
    cumulative = np.cumsum(shares, axis=1)
    slots = (rng.random(len(shares))[:, None] * cumulative[:, -1:] >= cumulative).sum(axis=1)
    return np.minimum(slots, max(shares.shape[1] - 1, 0))


def cells_of(values: Sequence[Value], role: Role, slots: Array, rng: np.random.Generator) -> Any:
    """The cells of slots, 0 being missing; inside an interval drawn evenly. Numbers without cuts are drawn as missing:
    nothing is known of where they lie."""
    import pyarrow as pa

    if isinstance(role, Numeric):
        if not values or not role.cuts:
            return pa.nulls(len(slots), pa.float64())
        edges = closed(role.cuts)
        numbers = rng.uniform(edges[np.maximum(slots - 1, 0)], edges[np.maximum(slots, 1)])
        return nulls_for_nan(np.where(slots == 0, np.nan, numbers))
    if not values:
        return pa.nulls(len(slots), pa.string())
    names = [None, *(map(str, values) if mixed(values) else values)]
    return pa.array(names).take(pa.array(slots))


def closed(cuts: Sequence[float]) -> Floats:
    """Cuts with an end on each side: an open interval is as wide as the others on average.

    It ends at zero where all cuts lie on one side of it. A single cut is taken for the middle: it says no more than
    the size of the numbers.

    >>> closed([10, 14, 20]).tolist(), closed([2, 12]).tolist(), closed([40]).tolist(), closed([0]).tolist()
    ([5.0, 10.0, 14.0, 20.0, 25.0], [0.0, 2.0, 12.0, 22.0], [0.0, 40.0, 80.0], [-1.0, 0.0, 1.0])
    """
    first, last = cuts[0], cuts[-1]
    width = (last - first) / (len(cuts) - 1) if len(cuts) > 1 else abs(first) or 1.0
    low, high = first - width, last + width
    ends = max(low, 0.0) if first > 0 else low, min(high, 0.0) if last < 0 else high
    return np.array([ends[0], *cuts, ends[1]], dtype=np.float64)


def mixed(values: Sequence[Any]) -> bool:
    """Whether strings and numbers stand side by side, which no Arrow column holds."""
    return len({isinstance(value, str) for value in values if value is not None}) > 1


def nulls_for_nan(numbers: Floats) -> Any:
    """An Arrow column with a missing cell for each NaN."""
    import pyarrow as pa

    return pa.array(numbers, from_pandas=True)

"""Draw rows from a model: slots by their probabilities, then values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bayeskit.data.schema import Numeric, Role
from bayeskit.data.vocabulary import Value
from bayeskit.typing import Array, Floats, Ints


def draw_slots(shares: Floats, rng: np.random.Generator) -> Ints:
    """Draw one slot per row by weights, shape (n_rows, n_slots), that need not sum to one.

    >>> draw_slots(np.array([[0.0, 2.0], [1.0, 0.0]]), np.random.default_rng(0)).tolist()
    [1, 0]
    """
    cumulative = np.cumsum(shares, axis=1)
    slots = (rng.random(len(shares))[:, None] * cumulative[:, -1:] >= cumulative).sum(axis=1)
    return np.minimum(slots, max(shares.shape[1] - 1, 0))


def k_means_plus_plus(
    n: int, k: int, distances: Callable[[int], Floats], rng: np.random.Generator, weights: Floats | None = None
) -> tuple[list[int], Ints]:
    """Choose up to ``k`` rows far from each other by k-means++ (Arthur and Vassilvitskii 2007).

    ``distances(row)`` returns squared distances to a row, shape (n,). Returns the chosen rows (fewer if there are not
    enough distinct ones) and the nearest of them for each row, shape (n,).

    >>> x = np.array([0.0, 0.1, 5.0, 5.1])
    >>> rows, nearest = k_means_plus_plus(4, 2, lambda row: (x - x[row]) ** 2, np.random.default_rng(0))
    >>> len(rows), nearest[0] == nearest[1] != nearest[2] == nearest[3]
    (2, np.True_)
    """
    chosen: list[int] = []
    away, nearest = np.full(n, np.inf), np.zeros(n, dtype=np.int64)
    chance = None if weights is None else weights / weights.sum()
    while len(chosen) < k:
        row = int(rng.integers(n) if chance is None else rng.choice(n, p=chance))
        apart = distances(row)
        nearest[apart < away] = len(chosen)
        away = np.minimum(away, apart)
        chosen.append(row)
        mass = away if weights is None else away * weights
        if not mass.sum() > 0:
            break
        chance = mass / mass.sum()
    return chosen, nearest


def cells_of(values: Sequence[Value], role: Role, slots: Array, rng: np.random.Generator) -> Any:
    """Return the cells of slots, 0 for missing, drawn uniformly inside an interval. Numbers without cuts are missing
    because their range is unknown."""
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
    try:
        cells = pa.array(names)
    except (pa.ArrowException, OverflowError):  # integers beyond 64 bits
        cells = pa.array([None, *map(str, values)])
    return cells.take(pa.array(slots))


def closed(cuts: Sequence[float]) -> Floats:
    """Return cuts with finite ends: an open interval gets the mean width of the others.

    It ends at zero if all cuts have the same sign. A single cut is taken as the middle.

    >>> closed([10, 14, 20]).tolist(), closed([2, 12]).tolist(), closed([40]).tolist(), closed([0]).tolist()
    ([5.0, 10.0, 14.0, 20.0, 25.0], [0.0, 2.0, 12.0, 22.0], [0.0, 40.0, 80.0], [-1.0, 0.0, 1.0])
    """
    first, last = cuts[0], cuts[-1]
    width = (last - first) / (len(cuts) - 1) if len(cuts) > 1 else abs(first) or 1.0
    low, high = first - width, last + width
    ends = max(low, 0.0) if first > 0 else low, min(high, 0.0) if last < 0 else high
    return np.array([ends[0], *cuts, ends[1]], dtype=np.float64)


def mixed(values: Sequence[Any]) -> bool:
    """Return True if values mix strings and numbers, which Arrow columns do not support."""
    return len({isinstance(value, str) for value in values if value is not None}) > 1


def nulls_for_nan(numbers: Floats) -> Any:
    """Return an Arrow column with NaN as null."""
    import pyarrow as pa

    return pa.array(numbers, from_pandas=True)

"""Rows drawn from a model: slots by their probabilities, then the values they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.schema import Numeric, Role
from bayeskit.data.vocabulary import Value

Floats = npt.NDArray[np.float64]


def draw_slots(shares: Floats, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """One slot a row, by shares (rows, slots) that need not sum to one.

    >>> draw_slots(np.array([[0.0, 2.0], [1.0, 0.0]]), np.random.default_rng(0)).tolist()
    [1, 0]
    """
    cumulative = np.cumsum(shares, axis=1)
    slots = (rng.random(len(shares))[:, None] * cumulative[:, -1:] >= cumulative).sum(axis=1)
    return np.asarray(np.minimum(slots, max(shares.shape[1] - 1, 0)))


def cells_of(values: Sequence[Value], role: Role, slots: npt.NDArray[Any], rng: np.random.Generator) -> Any:
    """The cells of slots, 0 being missing; inside an interval drawn evenly, an open one as wide as its neighbours."""
    import pyarrow as pa

    if not values:
        return pa.nulls(len(slots), pa.string())
    if isinstance(role, Numeric):
        edges = np.array(role.cuts or (0.0,))
        width = (edges[-1] - edges[0]) / (len(edges) - 1) if len(edges) > 1 else 1.0
        edges = np.concatenate([[edges[0] - width], edges, [edges[-1] + width]])
        numbers = rng.uniform(edges[np.maximum(slots - 1, 0)], edges[np.maximum(slots, 1)])
        return nulls_for_nan(np.where(slots == 0, np.nan, numbers))
    names = [None, *(map(str, values) if mixed(values) else values)]
    return pa.array(names).take(pa.array(slots))


def mixed(values: Sequence[Any]) -> bool:
    """Whether strings and numbers stand side by side, which no Arrow column holds."""
    return len({isinstance(value, str) for value in values if value is not None}) > 1


def nulls_for_nan(numbers: Floats) -> Any:
    """An Arrow column with a missing cell for each NaN."""
    import pyarrow as pa

    return pa.array(numbers, from_pandas=True)

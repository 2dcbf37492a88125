"""Decision regions of two numeric columns, with all other cells missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bayeskit.data.schema import Numeric, Schema
from bayeskit.data.source import Source
from bayeskit.data.vocabulary import Value
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError
from bayeskit.explain.densities import labeled_numbers
from bayeskit.tables import Figure, Grid, Readable, Sheet
from bayeskit.typing import Floats, Ints

Reader = Callable[[], Iterator[tuple[Floats, Ints, Floats]]]
STEPS = 64  # cells of the plane each way
POINTS = 400  # rows that are drawn one by one; more are counted in cells
BINS = 32  # of these cells each way


@dataclass(frozen=True, repr=False)
class DecisionRegions(Readable, Drawable):
    """Predicted class on a grid over two columns.

    ``x`` and ``y``: cell centers; ``chosen``: class codes (n_y, n_x), and their ``probability``; ``rows``: (x, y, class
    code, count) of the given rows, one by one or counted by cell.
    """

    columns: tuple[str, str]
    target: str
    classes: tuple[Value, ...]
    x: Floats
    y: Floats
    chosen: Ints
    probability: Floats
    rows: tuple[Floats, Floats, Ints, Floats]

    @property
    def counted(self) -> bool:
        """Return True if rows were counted by cell."""
        return bool((self.rows[3] != 1).any())

    @property
    def sheet(self) -> Sheet:
        """Return the printable form."""
        shares = np.bincount(self.chosen.ravel(), minlength=len(self.classes)) / self.chosen.size
        grid = Grid({self.target: list(self.classes), "of the plane": [Figure(f"{share:.1%}") for share in shares]})
        return Sheet(f"{self.target} by {self.columns[0]} and {self.columns[1]} alone", (grid,))


def decision_regions(model: Any, a: str, b: str, rows: Source) -> DecisionRegions:
    """Compute decision regions over the range of labeled rows."""
    schema, classes = model.schema_, model.tally_.classes
    for column in (a, b):
        if not isinstance(schema.columns[column], Numeric):
            role = schema.columns[column].name
            raise BayesError(f"column {column!r} is {role}: a plane has two numeric columns")
    if a == b:
        raise BayesError(f"column {a!r} twice: a plane has two columns")
    read = partial(labeled_numbers, schema, classes, (a, b), rows, "regions are drawn with rows")
    low, high, n = _ranges(read)
    if not n:
        raise BayesError(f"no row has both {a!r} and {b!r}: there is nothing to draw")
    x, y = _middles(low, high, STEPS)
    across, down = np.meshgrid(_possible(model, a, x), _possible(model, b, y))
    proba = model.predict_proba(_alone(schema, {a: across.ravel(), b: down.ravel()}))
    chosen = proba.argmax(axis=1).reshape(across.shape)
    probability = proba.max(axis=1).reshape(across.shape)
    points = _count_rows(read, len(classes), low, high) if n > POINTS else _all_rows(read)
    return DecisionRegions((a, b), schema.target.name, classes, x, y, chosen, probability, points)


def _alone(schema: Schema, columns: dict[str, Floats]) -> Any:
    """Return rows of these columns with all others missing."""
    import pyarrow as pa

    gaps = pa.nulls(len(next(iter(columns.values()))))
    return pa.table({name: columns.get(name, gaps) for name in schema.needed})


def _possible(model: Any, column: str, middles: Floats) -> Floats:
    """Round numbers of a count column to whole ones."""
    belief = getattr(model.params_, "by_column", {}).get(column)
    return np.maximum(np.round(middles), 0.0) if getattr(belief, "whole", False) else middles


def _middles(low: Floats, high: Floats, n: int) -> tuple[Floats, Floats]:
    """Return the centers of n cells along both columns."""
    first, second = ((edges[1:] + edges[:-1]) / 2 for edges in np.linspace(low, high, n + 1, axis=1))
    return first, second


def _ranges(read: Reader) -> tuple[Floats, Floats, int]:
    """Return the ends of both columns with a margin, and the number of rows that have both."""
    low, high, n = np.full(2, np.inf), np.full(2, -np.inf), 0
    for numbers, labels, _ in read():
        n += len(labels)
        low = np.minimum(low, numbers.min(axis=1, initial=np.inf))
        high = np.maximum(high, numbers.max(axis=1, initial=-np.inf))
    room = np.where(high > low, 0.04 * (high - low), 0.5)
    return low - room, high + room, n


def _all_rows(read: Reader) -> tuple[Floats, Floats, Ints, Floats]:
    numbers, labels, weights = zip(*read(), strict=True)
    x, y = np.concatenate(numbers, axis=1)
    return x, y, np.concatenate(labels), np.concatenate(weights)


def _count_rows(read: Reader, n_classes: int, low: Floats, high: Floats) -> tuple[Floats, Floats, Ints, Floats]:
    """Count rows by class and cell of the plane."""
    counts = np.zeros(n_classes * BINS * BINS)
    for numbers, labels, weights in read():
        cells = (numbers - low[:, None]) / (high - low)[:, None] * BINS
        across, down = np.clip(cells.astype(np.int64), 0, BINS - 1)
        counts += np.bincount((labels * BINS + down) * BINS + across, weights, minlength=len(counts))
    filled = np.flatnonzero(counts)
    x, y = _middles(low, high, BINS)
    label, down = np.divmod(filled // BINS, BINS)
    return x[filled % BINS], y[down], label, counts[filled]

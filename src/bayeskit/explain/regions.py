"""Decision regions of two numeric columns, with all other cells missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from bayeskit.data.cells import raise_unusable
from bayeskit.data.encoder import Encoder
from bayeskit.data.schema import Ignored, Numeric, Schema
from bayeskit.data.source import Source, for_schema
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError
from bayeskit.tables import Figure, Grid, Readable, Sheet
from bayeskit.tally.tally import Tally
from bayeskit.typing import Floats, Ints

STEPS = 64  # cells of the plane each way
POINTS = 400  # rows that are drawn one by one; more are counted in cells
BINS = 32  # of these cells each way


class Decides(Protocol):
    """Interface of a fitted model with decision regions."""

    @property
    def tally_(self) -> Tally: ...
    @property
    def schema_(self) -> Schema: ...
    @property
    def params_(self) -> Any: ...
    def predict_proba(self, X: Any) -> Floats: ...


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


def decision_regions(model: Decides, a: str, b: str, rows: Source) -> DecisionRegions:
    """Compute decision regions over the range of labeled rows."""
    schema, classes = model.schema_, model.tally_.classes
    for column in (a, b):
        if not isinstance(schema.columns[column], Numeric):
            role = schema.columns[column].name
            raise BayesError(f"column {column!r} is {role}: a plane has two numeric columns")
    if a == b:
        raise BayesError(f"column {a!r} twice: a plane has two columns")
    plane = replace(schema, columns={n: Numeric() if n in (a, b) else Ignored() for n in schema.columns})
    (low_x, high_x), (low_y, high_y), n = _ranges(plane, classes, a, b, rows)
    x, y = _middles(low_x, high_x, STEPS), _middles(low_y, high_y, STEPS)
    across, down = np.meshgrid(_possible(model, a, x), _possible(model, b, y))
    proba = model.predict_proba(_alone(schema, {a: across.ravel(), b: down.ravel()}))
    chosen = proba.argmax(axis=1).reshape(across.shape)
    probability = proba.max(axis=1).reshape(across.shape)
    points = _points(plane, classes, a, b, rows, (low_x, high_x, low_y, high_y), n > POINTS)
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


def _middles(low: float, high: float, n: int) -> Floats:
    edges = np.linspace(low, high, n + 1)
    return (edges[1:] + edges[:-1]) / 2


def _numbers(plane: Schema, classes: tuple[Value, ...], a: str, b: str, rows: Source) -> Iterator[Any]:
    """Yield (numbers of a, of b, classes, weights) of rows that have both, block by block."""
    encoder = Encoder(plane, classes=Vocabulary(classes))
    for block in encoder.blocks(for_schema(rows, plane, {}, classes)):
        if block.labels is None:
            raise BayesError("regions are drawn with rows and their classes: pass y, or the name of its column")
        raise_unusable(block.floats, block.start)
        first, second = block.floats[a], block.floats[b]
        labels = np.asarray(block.labels, dtype=np.int64)
        there = ~np.isnan(first) & ~np.isnan(second) & (labels < len(classes))
        weights = np.ones(len(first)) if block.weights is None else block.weights
        yield first[there], second[there], labels[there], weights[there]


def _ranges(
    plane: Schema, classes: tuple[Value, ...], a: str, b: str, rows: Source
) -> tuple[tuple[float, float], tuple[float, float], int]:
    """Return the range of both columns with a margin, and the number of rows that have both."""
    ends, n = np.array([[np.inf, -np.inf], [np.inf, -np.inf]]), 0
    for first, second, _, _ in _numbers(plane, classes, a, b, rows):
        if first.size:
            n += first.size
            for side, numbers in zip(ends, (first, second), strict=True):
                side[:] = min(side[0], numbers.min()), max(side[1], numbers.max())
    if not n:
        raise BayesError(f"no row has both {a!r} and {b!r}: there is nothing to draw")
    room = np.where(ends[:, 1] > ends[:, 0], 0.04 * (ends[:, 1] - ends[:, 0]), 0.5)
    (low_x, high_x), (low_y, high_y) = np.column_stack([ends[:, 0] - room, ends[:, 1] + room]).tolist()
    return (low_x, high_x), (low_y, high_y), n


def _points(
    plane: Schema, classes: tuple[Value, ...], a: str, b: str, rows: Source, within: Any, many: bool
) -> tuple[Floats, Floats, Ints, Floats]:
    low_x, high_x, low_y, high_y = within
    if not many:
        parts = list(_numbers(plane, classes, a, b, rows))
        x, y, labels, weights = (np.concatenate([part[i] for part in parts]) for i in range(4))
        return x, y, labels, weights
    counts = np.zeros(len(classes) * BINS * BINS)
    for first, second, labels, weights in _numbers(plane, classes, a, b, rows):
        across = np.clip(((first - low_x) / (high_x - low_x) * BINS).astype(np.int64), 0, BINS - 1)
        down = np.clip(((second - low_y) / (high_y - low_y) * BINS).astype(np.int64), 0, BINS - 1)
        counts += np.bincount((labels * BINS + down) * BINS + across, weights, minlength=len(counts))
    filled = np.flatnonzero(counts)
    x, y = _middles(low_x, high_x, BINS), _middles(low_y, high_y, BINS)
    label, down = np.divmod(filled // BINS, BINS)
    return x[filled % BINS], y[down], label, counts[filled]

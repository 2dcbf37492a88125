"""Class-conditional densities and mean images of numeric columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.encoder import Encoder
from bayeskit.data.schema import Ignored, Schema
from bayeskit.data.source import Source, for_schema
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.drawable import Drawable, draw
from bayeskit.errors import BayesError
from bayeskit.explain.informative import Columnwise
from bayeskit.tables import Figure, Grid, Readable, Sheet, Table
from bayeskit.typing import Array, Floats

FINE = 2001  # numbers at which densities are asked
ENDS = 400  # quantiles of a class: the line goes a little beyond the outermost
BINS = 40  # of the histogram of rows


@dataclass(frozen=True, repr=False)
class ClassDensities(Readable, Drawable):
    """Joint densities P(class) p(x | class) of a numeric column.

    ``line``: numbers (n_numbers,); ``densities``: p(x | class) (n_classes, n_numbers), or probabilities for counts
    (``whole``); ``prior``: P(class); ``regions``: (from, to, class) decided by this column alone; ``mistake``: the
    probability that this decision is wrong under the model; ``edges`` and ``counts`` (n_classes, n_bins): histogram of
    the given rows.
    """

    column: str
    target: str
    classes: tuple[Value, ...]
    prior: Floats
    line: Floats
    densities: Floats
    regions: tuple[tuple[float, float, Value], ...]
    mistake: float
    whole: bool = False
    edges: Floats | None = None
    counts: Floats | None = None

    @property
    def joint(self) -> Floats:
        """Return P(class) p(x | class), shape (n_classes, n_numbers)."""
        return self.prior[:, None] * self.densities

    @property
    def boundaries(self) -> tuple[float, ...]:
        """Return the decision boundaries."""
        return tuple(low for low, _, _ in self.regions[1:])

    @property
    def sheet(self) -> Sheet:
        """Return the printable form."""
        low, high, label = zip(*self.regions, strict=True)
        grid = Grid(
            {"from": [Figure(f"{x:.6g}") for x in low], "to": [Figure(f"{x:.6g}") for x in high], "decided": label}
        )
        head = f"{self.target} by {self.column} alone: P(mistake) {self.mistake:.4f}"
        return Sheet(head, (grid,))


class DensityTable(Table, Drawable):
    """Parameters of the density of a column in each class; ``densities`` is drawn."""

    def __init__(self, table: Table, densities: ClassDensities) -> None:
        super().__init__({name: table.arrow.column(name) for name in table.column_names}, table.keys)
        self.densities = densities

    def chart(self) -> Any:
        """Draw the class densities and decision regions."""
        return draw(self.densities)


def class_densities(model: Columnwise, column: str, rows: Source | None = None) -> ClassDensities:
    """Compute the densities of a numeric column, with a histogram of labeled ``rows`` if given."""
    tally, params = model.tally_, model.params_
    belief = params.by_column.get(column)
    if belief is None or column in belief.values or column in belief.words:
        what = "is ignored" if belief is None else "has values and no density: draw table(column)"
        raise BayesError(f"column {column!r} {what}")
    if column in params.silent:
        raise BayesError(f"column {column!r} tells nothing of any class: there is nothing to draw")
    prior, classes = np.asarray(logspace.exp(params.log_prior)), tally.classes
    points = model._column_points(params, column, ENDS)
    low, high = _ends(points)
    line = _whole_numbers(low, high) if belief.whole else np.linspace(low, high, FINE)
    log_p = model._column_scores(params, column, line)  # (numbers, classes)
    densities = np.asarray(logspace.exp(log_p)).T
    joint = prior[:, None] * densities
    right = mass(joint.max(axis=0), line, belief.whole) / (mass(joint.sum(axis=0), line, belief.whole) or 1.0)
    regions = _regions(model, column, line, joint, classes, belief.whole)
    drawn = ClassDensities(
        column, tally.schema.target.name, classes, prior, line, densities, regions, max(0.0, 1.0 - right), belief.whole
    )
    return drawn if rows is None else _with_histogram(drawn, tally.schema, rows)


def _ends(points: Floats) -> tuple[float, float]:
    """Return the ends of the grid: the outermost quantiles and a margin."""
    inner, outer = np.quantile(points, [0.02, 0.98], axis=1), (points.min(axis=1), points.max(axis=1))
    room = (outer[1] - outer[0]) * 0.35
    low = float((np.minimum(outer[0], inner[0]) - room).min())
    high = float((np.maximum(outer[1], inner[1]) + room).max())
    return (low, high) if high > low else (low - 1.0, high + 1.0)


def _whole_numbers(low: float, high: float) -> Floats:
    """Return a grid of whole numbers, in larger steps for a wide range."""
    first, last = max(np.floor(low), 0.0), np.ceil(high)
    step = max(1.0, np.ceil((last - first) / FINE))
    return np.arange(first, last + step, step)


def _regions(
    model: Columnwise, column: str, line: Floats, joint: Floats, classes: tuple[Value, ...], whole: bool
) -> tuple[tuple[float, float, Value], ...]:
    """Return the intervals of the most probable class, with boundaries found by bisection."""
    best = joint.argmax(axis=0)
    cuts = []
    for at in np.flatnonzero(np.diff(best)):
        a, b = int(best[at]), int(best[at + 1])
        low, high = float(line[at]), float(line[at + 1])
        cuts.append(((low + high) / 2 if whole else _border(model, column, low, high, a), classes[b]))
    starts = [-np.inf, *(cut for cut, _ in cuts)]
    labels = [classes[int(best[0])], *(label for _, label in cuts)]
    return tuple(zip(starts, [*starts[1:], np.inf], labels, strict=True))


def _border(model: Columnwise, column: str, low: float, high: float, a: int) -> float:
    """Return the number up to which class ``a``, the best one at ``low``, stays the best."""
    prior = model.params_.log_prior
    for _ in range(50):
        middle = (low + high) / 2
        scores = prior + model._column_scores(model.params_, column, np.array([middle]))[0]
        low, high = (middle, high) if int(np.argmax(scores)) == a else (low, middle)
    return (low + high) / 2


def _with_histogram(drawn: ClassDensities, schema: Schema, rows: Source) -> ClassDensities:
    """Add a histogram of the rows of each class, in two passes."""
    low, high, n = np.inf, -np.inf, 0
    for numbers, _, _ in _numbers(drawn, schema, rows):
        if numbers.size:
            low, high, n = min(low, float(numbers.min())), max(high, float(numbers.max())), n + numbers.size
    if not n:
        return drawn
    if drawn.whole and high - low < 2 * BINS:
        edges = np.arange(np.floor(low), np.ceil(high) + 2) - 0.5
    else:
        bins = int(np.clip(np.sqrt(n), 8, BINS))
        edges = np.linspace(low, high if high > low else low + 1.0, bins + 1)
    counts = np.zeros((len(drawn.classes), len(edges) - 1))
    for numbers, labels, weights in _numbers(drawn, schema, rows):
        for c in range(len(drawn.classes)):
            of_class = labels == c
            part = None if weights is None else weights[of_class]
            counts[c] += np.histogram(numbers[of_class], edges, weights=part)[0]
    return replace(drawn, edges=edges, counts=counts)


def _numbers(drawn: ClassDensities, schema: Schema, rows: Source) -> Iterator[tuple[Floats, Array, Floats | None]]:
    """Yield (present numbers, their classes, their weights) block by block."""
    column = drawn.column
    alone = replace(schema, columns={n: r if n == column else Ignored() for n, r in schema.columns.items()})
    encoder = Encoder(alone, classes=Vocabulary(drawn.classes))
    for block in encoder.blocks(for_schema(rows, alone, {}, drawn.classes)):
        if block.labels is None:
            raise BayesError("the histogram takes rows with their classes: pass y, or the name of its column")
        there = np.isfinite(block.floats[column])
        weights = None if block.weights is None else block.weights[there]
        yield block.floats[column][there], np.asarray(block.labels)[there], weights


def mass(density: Floats, line: Floats, whole: bool) -> float:
    """Sum over whole numbers, or integrate over an equally spaced grid.

    >>> mass(np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.5, 1.0]), whole=False)
    1.0
    """
    if whole:
        return float(density.sum())
    return float((density.sum() - (density[0] + density[-1]) / 2) * (line[1] - line[0]))


def mistake_by_class(record: ClassDensities) -> Mapping[Value, float]:
    """Return the share of each class in P(mistake)."""
    best = record.joint.argmax(axis=0)
    wrong = {}
    for c, label in enumerate(record.classes):
        lost = np.where(best == c, 0.0, record.joint[c])
        wrong[label] = mass(lost, record.line, record.whole)
    return wrong


@dataclass(frozen=True)
class ClassImages(Drawable):
    """Images of shape (n_classes, height, width) of a quantity of each column, such as its class mean.

    Unknown pixels are NaN; ``signed`` selects a diverging color scale.
    """

    target: str
    classes: tuple[Value, ...]
    what: str
    pixels: Floats = field(compare=False)
    signed: bool = False


def class_images(
    schema: Schema,
    classes: Sequence[Value],
    by_column: Mapping[str, Floats],
    shape: Any,
    what: str,
    signed: bool = False,
) -> ClassImages:
    """Arrange numbers by column, each (n_classes,), as images; columns are pixels in row-major order."""
    columns = list(schema.columns)
    if not (isinstance(shape, tuple) and len(shape) == 2 and all(isinstance(n, (int, np.integer)) for n in shape)):
        raise BayesError(f"shape={shape!r}: give (height, width) of the images, such as (28, 28)")
    if shape[0] * shape[1] != len(columns) or min(shape) < 1:
        raise BayesError(f"shape={shape!r} has {shape[0] * shape[1]:,} pixels, and the table {len(columns):,} columns")
    gap = np.full(len(classes), np.nan)
    pixels = np.array([by_column.get(name, gap) for name in columns]).T.reshape(len(classes), *shape)
    return ClassImages(schema.target.name, tuple(classes), what, pixels, signed)

"""Class-conditional densities and mean images of numeric columns, and decision regions of two columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.cells import raise_unusable
from bayeskit.data.encoder import Encoder
from bayeskit.data.reader import read_table
from bayeskit.data.schema import Ignored, Numeric, Schema
from bayeskit.data.source import Source, for_schema
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.drawable import Drawable, draw
from bayeskit.errors import BayesError, with_article
from bayeskit.estimate.columns.coded import CodedColumns, Histogram
from bayeskit.estimate.mistake import table_mistake
from bayeskit.estimate.sampling import closed
from bayeskit.tables import Figure, Grid, Readable, Sheet, Table
from bayeskit.typing import Floats, Ints

FINE = 2001  # numbers at which densities are asked
ENDS = 400  # quantiles of a class: the line goes a little beyond the outermost
STEP = 1e-4  # of the range: distance of the two sides of a step
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


def class_densities(model: Any, column: str, rows: Source | None = None) -> ClassDensities:
    """Compute the densities of a numeric column, with a histogram of labeled ``rows`` if given."""
    tally, params = model.tally_, model.params_
    belief = params.by_column.get(column)
    if isinstance(belief, CodedColumns) and isinstance(table := belief.tables[column], Histogram) and table.used:
        return _histogram_densities(model, column, table, rows)
    if belief is None or column in belief.values or column in belief.words:
        what = "is ignored" if belief is None else "has values and no density: draw table(column)"
        raise BayesError(f"column {column!r} {what}")
    if column in params.unused:
        raise BayesError(f"column {column!r} tells nothing of any class: there is nothing to draw")
    prior, classes = np.asarray(logspace.exp(params.log_prior)), tally.classes
    low, high = _ends(model._column_points(params, column, ENDS))
    line = _integer_grid(low, high) if belief.whole else np.linspace(low, high, FINE)
    log_p = model._column_scores(params, column, line)  # (numbers, classes)
    densities = np.asarray(logspace.exp(log_p)).T
    joint = prior[:, None] * densities
    right = mass(joint.max(axis=0), line, belief.whole) / (mass(joint.sum(axis=0), line, belief.whole) or 1.0)
    regions = _regions(model, column, line, joint, classes, belief.whole)
    drawn = ClassDensities(
        column, tally.schema.target.name, classes, prior, line, densities, regions, max(0.0, 1.0 - right), belief.whole
    )
    return drawn if rows is None else _with_histogram(drawn, tally.schema, rows)


def _histogram_densities(model: Any, column: str, table: Histogram, rows: Source | None) -> ClassDensities:
    """Return the steps of a histogram: P(interval | class) divided by the width of the interval."""
    if not table.cuts:
        raise BayesError(f"column {column!r} has one interval: there is nothing to draw")
    prior, classes, edges = np.asarray(logspace.exp(model.params_.log_prior)), model.tally_.classes, closed(table.cuts)
    shares = table.probabilities[:, 1:-1]
    found = table_mistake(shares, prior, classes, table.values, table.cuts)
    beside = (edges[-1] - edges[0]) * STEP
    line = np.sort(np.concatenate([edges[:1] - beside, edges[:-1] + beside, edges[1:] - beside, edges[-1:] + beside]))
    heights = np.pad(shares / np.diff(edges), ((0, 0), (1, 1)))
    at = np.searchsorted(edges, line)
    drawn = ClassDensities(
        column, model.tally_.schema.target.name, classes, prior, line, heights[:, at], found.regions, found.probability
    )
    return drawn if rows is None else _with_histogram(drawn, model.tally_.schema, rows)


def _ends(points: Floats) -> tuple[float, float]:
    """Return the ends of the grid: the outermost quantiles and a margin."""
    inner, outer = np.quantile(points, [0.02, 0.98], axis=1), (points.min(axis=1), points.max(axis=1))
    room = (outer[1] - outer[0]) * 0.35
    low = float((np.minimum(outer[0], inner[0]) - room).min())
    high = float((np.maximum(outer[1], inner[1]) + room).max())
    return (low, high) if high > low else (low - 1.0, high + 1.0)


def _integer_grid(low: float, high: float) -> Floats:
    """Return a grid of whole numbers, in larger steps for a wide range."""
    first, last = max(np.floor(low), 0.0), np.ceil(high)
    step = max(1.0, np.ceil((last - first) / FINE))
    return np.arange(first, last + step, step)


def _regions(
    model: Any, column: str, line: Floats, joint: Floats, classes: tuple[Value, ...], whole: bool
) -> tuple[tuple[float, float, Value], ...]:
    """Return the intervals of the most probable class, with boundaries found by bisection."""
    best = joint.argmax(axis=0)
    at = np.flatnonzero(np.diff(best))
    low, high = line[at], line[at + 1]
    for _ in range(0 if whole or not len(at) else 50):
        middle = (low + high) / 2
        scores = model.params_.log_prior + model._column_scores(model.params_, column, middle)
        stays = scores.argmax(axis=1) == best[at]
        low, high = np.where(stays, middle, low), np.where(stays, high, middle)
    ends = [-np.inf, *((low + high) / 2).tolist(), np.inf]
    return tuple(zip(ends[:-1], ends[1:], [classes[c] for c in best[[0, *(at + 1)]]], strict=True))


def _with_histogram(drawn: ClassDensities, schema: Schema, rows: Source) -> ClassDensities:
    """Add a histogram of the rows of each class, in two passes."""
    read = partial(labeled_numbers, schema, drawn.classes, [drawn.column], rows, "the histogram takes rows")
    low, high, n = np.inf, -np.inf, 0
    for numbers, _, _ in read():
        low, high = numbers.min(initial=low), numbers.max(initial=high)
        n += numbers.size
    if not n:
        return drawn
    if drawn.whole and high - low < 2 * BINS:
        edges = np.arange(np.floor(low), np.ceil(high) + 2) - 0.5
    else:
        bins = int(np.clip(np.sqrt(n), 8, BINS))
        edges = np.linspace(low, high if high > low else low + 1.0, bins + 1)
    counts = np.zeros((len(drawn.classes), len(edges) - 1))
    for (numbers,), labels, weights in read():
        for c in range(len(drawn.classes)):
            counts[c] += np.histogram(numbers[labels == c], edges, weights=weights[labels == c])[0]
    return replace(drawn, edges=edges, counts=counts)


def labeled_numbers(
    schema: Schema, classes: tuple[Value, ...], columns: Sequence[str], rows: Source, what: str
) -> Iterator[tuple[Floats, Ints, Floats]]:
    """Yield numbers (n_columns, n_rows), class codes and weights of rows with all the columns, block by block."""
    others = {name: Ignored() for name in schema.columns if name not in columns}
    alone = schema.with_numbers({name: {"cuts": None} for name in columns}).replace(others)
    encoder = Encoder(alone, classes=Vocabulary(classes))
    for block in encoder.blocks(for_schema(rows, alone, {}, classes)):
        if block.labels is None:
            raise BayesError(f"{what} with their classes: pass y, or the name of its column")
        raise_unusable(block.floats, block.start)
        numbers, labels = np.stack([block.floats[name] for name in columns]), block.labels.astype(np.int64)
        there = ~np.isnan(numbers).any(axis=0) & (labels < len(classes))
        weights = np.ones(len(labels)) if block.weights is None else block.weights
        yield numbers[:, there], labels[there], weights[there]


def mass(density: Floats, line: Floats, whole: bool) -> float:
    """Sum over whole numbers, or integrate over an equally spaced grid.

    >>> mass(np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.5, 1.0]), whole=False)
    1.0
    """
    if whole:
        return float(density.sum())
    return float((density.sum() - (density[0] + density[-1]) / 2) * (line[1] - line[0]))


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


Reader = Callable[[], Iterator[tuple[Floats, Ints, Floats]]]
STEPS = 64  # cells of the plane each way
POINTS = 400  # rows that are drawn one by one; more are counted in cells
PLANE_BINS = 32  # of these cells each way


@dataclass(frozen=True, repr=False)
class DecisionRegions(Readable, Drawable):
    """Predicted class on a grid over two columns.

    ``x`` and ``y``: cell centers; ``chosen``: class codes (n_y, n_x), and their ``probability``; ``rows``: (x, y, class
    code, count) of the given rows, one by one or counted by cell; ``others``: what was done with all other columns.
    """

    columns: tuple[str, str]
    target: str
    classes: tuple[Value, ...]
    x: Floats
    y: Floats
    chosen: Ints
    probability: Floats
    rows: tuple[Floats, Floats, Ints, Floats]
    others: str = "left out"

    @property
    def counted(self) -> bool:
        """Return True if rows were counted by cell."""
        return bool((self.rows[3] != 1).any())

    @property
    def sheet(self) -> Sheet:
        """Return the printable form."""
        shares = np.bincount(self.chosen.ravel(), minlength=len(self.classes)) / self.chosen.size
        grid = Grid({self.target: list(self.classes), "of the plane": [Figure(f"{share:.1%}") for share in shares]})
        return Sheet(f"{self.target} by {self.columns[0]} and {self.columns[1]}, other columns {self.others}", (grid,))


def decision_regions(
    classifier: Any, a: str | int, b: str | int, X: Any, y: Any = None, fixed: Mapping[Any, Any] | str | None = None
) -> DecisionRegions:
    """Compute which class a fitted classifier predicts where in the plane of two numeric columns.

    Parameters
    ----------
    classifier : classifier
        Any classifier with ``predict`` and ``classes_``, such as those of scikit-learn.
    a, b : str or int
        The columns of the plane, by name or position.
    X : table or array of shape (n_rows, n_columns)
        Rows that the plane must cover. The classifier is asked with rows in the same form.
    y : str or array-like of shape (n_rows,), optional
        The class column, or the labels.
    fixed : mapping or "missing", optional
        Values of other columns, by name or position. By default numbers have their median and all other columns their
        most frequent value. With "missing", which our classifiers of tables take, all other columns are missing, and
        ``X`` and ``y`` are anything that ``fit`` takes.

    Returns
    -------
    DecisionRegions

    Raises
    ------
    BayesError
        For columns that are unknown, equal or not numeric, rows without both, and a classifier that takes no missing
        cells with ``fixed="missing"``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X[:, 2:], y)
    >>> regions = decision_regions(tree, 0, 1, X[:, 2:], y)
    >>> regions.columns, sorted({int(c) for c in regions.chosen.flat})
    (('0', '1'), [0, 1])
    """
    if not hasattr(classifier, "classes_"):
        raise BayesError(f"{with_article(type(classifier).__name__)} without classes_: fit the classifier first")
    if isinstance(fixed, str):
        return _regions_alone(classifier, a, b, X, y, fixed)
    given = read_table(X, y)
    table: Any = given.data
    is_array, is_frame = isinstance(table, np.ndarray), hasattr(table, "iloc")
    names = list(range(table.shape[1]) if is_array else getattr(table, "columns", table))
    for column in (a, b, *(fixed or {})):
        if column not in names:
            raise BayesError(f"there is no column {column!r} (columns: {', '.join(map(str, names))})")
    if a == b:
        raise BayesError(f"column {a!r} twice: a plane has two columns")
    by_name = {name: table[:, name] if is_array else np.asarray(table[name]) for name in names}
    cells = [by_name[a], by_name[b]]
    for column, numbers in zip((a, b), cells, strict=True):
        if numbers.dtype.kind not in "iuf":
            raise BayesError(f"column {column!r} has no numbers: a plane has two numeric columns")
    classes = tuple(np.asarray(classifier.classes_).tolist())
    labels = np.array([classes.index(label) if label in classes else -1 for label in given.listed_labels().tolist()])
    plane = np.array(cells, dtype=np.float64)
    there = np.isfinite(plane).all(axis=0) & (labels >= 0)

    def read() -> Iterator[tuple[Floats, Ints, Floats]]:
        yield plane[:, there], labels[there], np.ones(int(there.sum()))

    if not there.any():
        raise BayesError(f"no row has both {a!r} and {b!r} and a class of the classifier: there is nothing to draw")
    low, high, n = _ranges(read)
    x, y_middles = _middles(low, high, STEPS)
    across, down = np.meshgrid(x, y_middles)
    middle = {name: fixed[name] if fixed and name in fixed else _typical_value(by_name[name]) for name in names}
    values = {n: across.ravel() if n == a else down.ravel() if n == b else middle[n] for n in names}
    asked: Any
    if is_array:
        asked = np.empty((across.size, len(names)), dtype=table.dtype)
        for name in names:
            asked[:, name] = values[name]
    elif is_frame:
        asked = table.iloc[np.zeros(across.size, dtype=int)].reset_index(drop=True)
        for name in names:
            asked[name] = values[name]
    else:
        asked = {name: np.broadcast_to(value, across.size).tolist() for name, value in values.items()}
        asked = asked if isinstance(table, dict) else type(table)(asked)  # of polars
    if hasattr(classifier, "predict_proba"):
        proba = np.asarray(classifier.predict_proba(asked))
        chosen, probability = proba.argmax(axis=1), proba.max(axis=1)
    else:
        predicted = np.asarray(classifier.predict(asked)).tolist()
        chosen, probability = np.array([classes.index(label) for label in predicted]), np.ones(across.size)
    points = _count_rows(read, len(classes), low, high) if n > POINTS else _all_rows(read)
    shape, columns = across.shape, (str(a), str(b))
    target = str(getattr(y, "name", None) or given.target)
    return DecisionRegions(
        columns, target, classes, x, y_middles, chosen.reshape(shape), probability.reshape(shape), points, "fixed"
    )


def _typical_value(column: Any) -> Any:
    """Return the median of numbers, and the most frequent of other values."""
    if column.dtype.kind in "iuf":
        return np.nanmedian(column).astype(column.dtype)
    values, counts = np.unique(column[[cell == cell and cell is not None for cell in column]], return_counts=True)
    return values[counts.argmax()] if len(values) else None


def _regions_alone(model: Any, first: str | int, second: str | int, X: Any, y: Any, fixed: str) -> DecisionRegions:
    """Compute the decision regions of a model of tables, with all other columns missing."""
    if fixed != "missing":
        raise BayesError(f'fixed={fixed!r}: give a mapping from column to value, or "missing"')
    if not (hasattr(model, "_log_terms") and hasattr(model, "_labeled")):
        name = type(model).__name__
        raise BayesError(f'{name} takes no missing cells, as fixed="missing" asks', hint="leave fixed= out")
    schema, classes, rows = model.schema_, model.tally_.classes, model._labeled(X, y, None)
    a, b = schema.find(first), schema.find(second)
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
    counts = np.zeros(n_classes * PLANE_BINS * PLANE_BINS)
    for numbers, labels, weights in read():
        cells = (numbers - low[:, None]) / (high - low)[:, None] * PLANE_BINS
        across, down = np.clip(cells.astype(np.int64), 0, PLANE_BINS - 1)
        counts += np.bincount((labels * PLANE_BINS + down) * PLANE_BINS + across, weights, minlength=len(counts))
    filled = np.flatnonzero(counts)
    x, y = _middles(low, high, PLANE_BINS)
    label, down = np.divmod(filled // PLANE_BINS, PLANE_BINS)
    return x[filled % PLANE_BINS], y[down], label, counts[filled]

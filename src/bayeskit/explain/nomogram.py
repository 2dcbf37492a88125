"""Nomograms: points for each value, and the probability by the total of the points.

The log odds of two classes are a sum over the columns. Points are rescaled log odds: in each column the smallest value
has 0 points, and the column with the largest range reaches 100.

    ln P(a | x) / P(b | x) = offset + total / scale

Možina, Demšar, Kattan, Zupan, "Nomograms for visualization of naive Bayesian classifier", 2004.

Formula: nomograms
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.cells import raise_unusable
from bayeskit.data.encoder import Encoder
from bayeskit.data.frames import open_source
from bayeskit.data.schema import Ignored, Schema
from bayeskit.data.source import for_schema
from bayeskit.data.vocabulary import Value
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError
from bayeskit.explain.evidence import class_position, format_cell, format_probability, plain_cells
from bayeskit.explain.informative import check_no_texts
from bayeskit.explain.nomogram_layout import lay_out_nomogram, svg
from bayeskit.printable import printable
from bayeskit.tables import ROWS, WIDTH, Picture, Readable, Sheet, left_out
from bayeskit.tolerance import RANK
from bayeskit.typing import Array, Floats

GRID = 30  # numbers at most at which a measured column is shown
FINE = 401  # numbers at which it is asked where a ruler turns
LONGEST = 100.0  # points of the column that reaches furthest


@dataclass(frozen=True)
class Axis:
    """Points of one column: ``values`` with their ``log_odds`` and ``points``.

    ``is_number`` marks a grid of numbers; ``missing_points`` are the points of a missing cell. Points are infinite for
    a value that rules out one of the classes.
    """

    column: str
    values: tuple[Value, ...]
    log_odds: tuple[float, ...]
    points: tuple[float, ...]
    missing_points: float
    is_number: bool

    @property
    def most(self) -> float:
        """Return the largest finite number of points."""
        return max((p for p in self.points if np.isfinite(p)), default=0.0)


@dataclass(frozen=True)
class RowPoints:
    """Points of one row: ``cells`` as (column, value, points), and their ``total``."""

    cells: tuple[tuple[str, Value | None, float], ...]
    total: float


@dataclass(frozen=True, repr=False)
class Nomogram(Readable, Drawable):
    """Points of each column, and the probability of ``predicted`` against ``against`` by their total.

    ``axes`` are sorted by decreasing range; ``scale``: points per nat of log odds; ``offset``: log odds at a total of
    0; ``totals``: pairs (total, P(predicted) among the two classes); ``guessed``: numeric columns whose range was taken
    from the model because no rows were given; ``row``: the points of one row, if given.
    """

    target: str
    predicted: Value
    against: Value
    axes: tuple[Axis, ...]
    scale: float
    offset: float
    totals: tuple[tuple[float, float], ...]
    guessed: tuple[str, ...] = ()
    row: RowPoints | None = None

    def probability(self, total: float) -> float:
        """Return P(predicted) among the two classes for a total of points."""
        odds = self.offset + total / self.scale
        if not np.isfinite(odds):  # some value rules out one of the two classes, or both
            return float("nan") if np.isnan(odds) else float(odds > 0)
        return float(logspace.exp(logspace.log_normalize(np.array([[odds, 0.0]]))[0][0, 0]))

    @property
    def most(self) -> float:
        """Return the largest possible total."""
        return sum(axis.most for axis in self.axes)

    @property
    def sheet(self) -> Sheet:
        """Return the printable form."""
        width = max((len(axis.column) for axis in self.axes), default=0)
        lines = []
        for axis in self.axes[:ROWS]:
            low, high = np.argmin(axis.points), np.argmax(axis.points)
            ends = " … ".join(f"{format_cell(axis.values[i])} {axis.points[i]:.0f}" for i in (low, high))
            lines.append(printable(f"  {axis.column:{width}}  {ends}", keep="")[:WIDTH])
        lines += [f"  {line}" for line in left_out(len(self.axes) - ROWS, "columns")]
        lines.append(f"total to P({self.predicted})")
        lines += [f"  {total:8.1f}  {p:.3g}" for total, p in self.totals]
        if self.row is not None:
            p = format_probability(self.probability(self.row.total))
            lines.append(f"the row: {self.row.total:.1f} points, P {p}")
        picture, note = Picture(svg(lay_out_nomogram(self)), lines), [GUESSED] if self.guessed else []
        return Sheet(f"points for {self.predicted} against {self.against}", (picture, *note))


CHANCES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
GUESSED = (
    "Rulers of numbers go where 95 % of each class are expected; nomogram(X=rows) keeps them to the range of rows."
)


def nomogram(model: Any, predicted: Any = None, against: Any = None, X: Any = None, row: Any = None) -> Nomogram:
    """Build the nomogram of a fitted model for two classes; rows ``X`` set the ranges of numeric columns."""
    check_no_texts(model.tally_)
    a, b = _pair(model, predicted, against)
    tally, params = model.tally_, model.params_
    names = [name for name in tally.schema.used if name not in params.silent]
    ranges = _ranges(model, names, X)
    cells = {} if row is None else _cells_of_row(model, names, row)
    columns = [_log_odds(model, name, a, b, ranges.get(name), cells.get(name)) for name in names]
    lows, highs = zip(*(_ends(odds) for _, _, odds, _ in columns), strict=True) if columns else ((), ())
    reach = max((high - low for low, high in zip(lows, highs, strict=True)), default=0.0)
    scale = LONGEST / reach if reach > 0 else 1.0
    axes = []
    for (name, values, odds, gap), low in zip(columns, lows, strict=True):
        points = tuple(float(p) for p in (odds - low) * scale)
        is_number = name not in params.by_column[name].values
        axes.append(Axis(name, tuple(values), tuple(odds.tolist()), points, float((gap - low) * scale), is_number))
    axes.sort(key=lambda axis: -axis.most)
    prior = model._tempered(params.log_prior)
    offset = float(logspace.log_odds(prior[a], prior[b])) + sum(lows)
    guessed = tuple(axis.column for axis in axes if axis.is_number and axis.column not in ranges)
    target, pair = tally.schema.target.name, (tally.classes[a], tally.classes[b])
    made = Nomogram(target, *pair, tuple(axes), scale, offset, (), guessed)
    return replace(made, totals=_totals(made), row=_points_of_row(made, cells, a, b) if cells else None)


def _totals(made: Nomogram) -> tuple[tuple[float, float], ...]:
    """Return (total, probability) pairs within reach, with the ends if there are too few."""
    odds = logspace.log_odds(logspace.log(CHANCES), logspace.log(1 - np.array(CHANCES)))
    totals = ((float(w) - made.offset) * made.scale for w in odds)
    within = [(total, p) for total, p in zip(totals, CHANCES, strict=True) if 0 <= total <= made.most]
    ends = [(total, made.probability(total)) for total in dict.fromkeys((0.0, made.most))]
    return tuple(within if len(within) > 1 else sorted(within + ends))


def _pair(model: Any, predicted: Any, against: Any) -> tuple[int, int]:
    classes, prior = model.tally_.classes, model.params_.log_prior
    if len(classes) < 2:
        raise BayesError("there is one class only: there are no odds to draw")
    order = [1, 0] if len(classes) == 2 else np.argsort(-prior, kind="stable").tolist()
    a = order[0] if predicted is None else class_position(predicted, classes)
    b = next(c for c in order if c != a) if against is None else class_position(against, classes)
    if a == b:
        raise BayesError(f"class {classes[a]!r} against itself: name two classes")
    if not np.isfinite(prior[[a, b]]).all():
        raise BayesError(f"the prior rules out {classes[a if np.isinf(prior[a]) else b]!r}: there are no odds to draw")
    return a, b


def _ranges(model: Any, names: Sequence[str], X: Any) -> dict[str, tuple[float, float]]:
    """Return the minimum and maximum of numeric columns in rows ``X``, or in the training data if known."""
    tally, params = model.tally_, model.params_
    measured = [name for name in names if name not in params.by_column[name].values]
    ranges = {}
    for name in measured:
        if name in tally.values and (numbers := tally.values[name].values).size:
            ranges[name] = (float(numbers.min()), float(numbers.max()))
    return ranges if X is None else ranges | _ranges_of_rows(tally.schema, measured, X)


def _ranges_of_rows(schema: Schema, measured: Sequence[str], X: Any) -> dict[str, tuple[float, float]]:
    """Return the minimum and maximum of these columns in rows that may lack some of them."""
    source = open_source(X)
    there = [name for name in measured if not source.named or name in source.kinds]
    schema = replace(schema, columns={n: r if n in there else Ignored() for n, r in schema.columns.items()})
    ranges: dict[str, tuple[float, float]] = {}
    for block in Encoder(schema).blocks(for_schema(source, schema, {}, ())):
        raise_unusable(block.floats, block.start)
        for name in there:
            numbers = block.floats[name][~np.isnan(block.floats[name])]
            if numbers.size:
                low, high = ranges.get(name, (np.inf, -np.inf))
                ranges[name] = (min(low, float(numbers.min())), max(high, float(numbers.max())))
    return ranges


def _cells_of_row(model: Any, names: Sequence[str], row: Any) -> dict[str, tuple[Value | None, Floats]]:
    """Return the cell of each column in one row, and its term in the class scores."""
    encoder, source = model._encoder(), model._with_all_columns(open_source(row))
    where = encoder.schema.locate(list(source.kinds), source.named)
    batches = [batch for batch in source.batches() if batch.n_rows]
    if sum(batch.n_rows for batch in batches) != 1:
        raise BayesError("row= takes one row, such as a mapping from column to value")
    (block,) = (block for block in encoder.blocks(source) if block.n_rows)
    raise_unusable(block.floats, block.start)
    terms, values = model._log_terms(model.params_, block), encoder.columns(batches[0], where)
    return {name: (plain_cells(values[name])[0], model._tempered(terms[name])[0]) for name in names}


def _points_of_row(made: Nomogram, cells: Mapping[str, tuple[Value | None, Floats]], a: int, b: int) -> RowPoints:
    """Return the unrounded points of a row; their total gives the probability of the model."""
    listed = []
    for axis in made.axes:
        value, scores = cells[axis.column]
        low, _ = _ends(np.array(axis.log_odds))
        odds = float(logspace.log_odds(scores[a], scores[b]))
        listed.append((axis.column, value, (odds - low) * made.scale))
    return RowPoints(tuple(listed), sum(points for _, _, points in listed))


def _log_odds(
    model: Any, name: str, a: int, b: int, between: tuple[float, float] | None, cell_of_row: Any
) -> tuple[str, list[Value], Floats, float]:
    """Return (column, values or grid of numbers, their log odds, log odds of a missing cell)."""
    params = model.params_
    belief = params.by_column[name]

    def odds_at(cells: Array) -> Floats:
        scores = model._tempered(model._column_scores(params, name, cells))
        return logspace.log_odds(scores[:, a], scores[:, b])

    if name in belief.values:
        values = belief.labels(name)
        odds = odds_at(np.arange(len(values) + 1))
        odds = np.where(np.isnan(odds), 0.0, odds)  # impossible under both: it says nothing of the two
        return name, values, odds[1:], float(odds[0])
    low, high = between or _expected(model._column_points(params, name, 200)[[a, b]])
    if cell_of_row is not None and isinstance(number := cell_of_row[0], (int, float)) and np.isfinite(number):
        low, high = min(low, float(number)), max(high, float(number))
    step = round_step(low, high)
    grid = np.arange(np.ceil(low / step - RANK), np.floor(high / step + RANK) + 1) * step
    line = np.linspace(low, high, FINE)
    odds = odds_at(line)
    turns = line[1:-1][np.diff(np.sign(np.diff(odds))) != 0]  # where more becomes less: the ends of what is reached
    turns = np.round(turns / step * 10) * step / 10
    ends = [low, high] if between is not None or len(grid) < 2 else []
    grid = np.unique(np.concatenate([grid, turns, ends])) + 0.0  # no −0
    grid = np.unique(np.round(grid)) if belief.whole else grid[np.append(True, np.diff(grid) > RANK * step)]
    return name, grid.tolist(), odds_at(grid), 0.0


def _expected(points: Floats) -> tuple[float, float]:
    """Return the range of the central 95 % of two classes, given quantiles (n_classes, n)."""
    tails = np.quantile(points, [0.025, 0.975], axis=1)
    return float(tails[0].min()), float(tails[1].max())


def round_step(low: float, high: float, n: int = GRID) -> float:
    """Return 1, 2 or 5 times a power of ten that cuts the range into fewer than n parts.

    >>> round_step(171.6, 235.4, 10), round_step(0, 1, 30), round_step(3, 3)
    (10.0, 0.05, 1.0)
    """
    if not high > low:
        return 1.0
    size = 10.0 ** np.floor(np.log10((high - low) / n))
    return float(next(step for step in (size * k for k in (1, 2, 5, 10, 20)) if (high - low) / step < n))


def _ends(odds: Floats) -> tuple[float, float]:
    finite = odds[np.isfinite(odds)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)

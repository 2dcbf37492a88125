"""Nomograms: points for each value, and the probability by the total of the points.

The log odds of two classes are a sum over the columns. Points are rescaled log odds: in each column the smallest value
has 0 points, and the column with the largest range reaches 100.

    ln P(a | x) / P(b | x) = offset + total / scale

Možina, Demšar, Kattan, Zupan, "Nomograms for visualization of naive Bayesian classifier", 2004.

The page is laid out without overlapping labels. The position of a value is its number of points. Points of a numeric
column may rise and fall: ticks are above the line where they rise and below it where they fall. Labels without room are
dropped, their ticks stay. The SVG writer here and the Altair chart use the same layout.

Formula: nomograms
"""

from __future__ import annotations

import html
import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any, Literal

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
from bayeskit.printable import printable
from bayeskit.tables import ROWS, WIDTH, Picture, Readable, Sheet, left_out
from bayeskit.tolerance import RANK, ROUNDING
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
    names = [name for name in tally.schema.used if name not in params.unused]
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


GUTTER, SPAN, MARGIN = 160.0, 560.0, 30.0  # left of the rulers, along them and right of them, in pixels
FONT = 11.0
LETTER = 0.58 * FONT  # the width of most letters
LANE = 13.0  # from one line of names to the next
TICK = 5.0
GAP = 6.0  # between two names in a line
NAME = 22  # letters of a name beside a ruler, and at most of one along it
LANES = 3  # of names on each side of a ruler
ABOVE = (-1, 0)  # a lane: its side, −1 above and 1 below the ruler, and how far out it is
CLOSE = 3.0  # ticks without a name that are nearer to another are left out
AXES = 30  # rulers on a page
INK, FAINT, DOT = "#2a6f97", "#8a8a8a", "#c84a5f"

Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True)
class Tick:
    """A tick from ``y`` to ``end`` with its tooltip."""

    x: float
    y: float
    end: float
    column: str
    value: str
    points: float


@dataclass(frozen=True)
class Name:
    """A text label."""

    x: float
    y: float
    text: str
    anchor: Anchor = "middle"
    faint: bool = False


@dataclass
class NomogramLayout:
    """Elements of a nomogram page of ``width`` × ``height``.

    Lines (x, y, x2, y2), ticks, labels, rings for missing cells and dots for one row.
    """

    width: float = GUTTER + SPAN + MARGIN
    height: float = 0.0
    lines: list[tuple[float, float, float, float]] = field(default_factory=list)
    ticks: list[Tick] = field(default_factory=list)
    names: list[Name] = field(default_factory=list)
    rings: list[Tick] = field(default_factory=list)
    dots: list[Tick] = field(default_factory=list)


def lay_out_nomogram(nomogram: Nomogram) -> NomogramLayout:
    """Lay out a nomogram: points, one axis per column, total and probability."""
    page = NomogramLayout(height=16.0)
    _scale(page, "points", [(float(p), f"{p}") for p in range(0, 101, 10)], (0.0, 100.0))
    reaching = [axis for axis in nomogram.axes if axis.most >= 1 or not all(map(math.isfinite, axis.points))]
    for axis in reaching[:AXES]:
        _ruler(page, axis, nomogram)
    if short := [axis.column for axis in nomogram.axes if axis not in reaching]:
        _note(page, f"under one point: {join_names(short)}")
    if more := [axis.column for axis in reaching[AXES:]]:
        _note(page, f"not drawn: {join_names(more)}")
    if page.rings:
        page.height += 4.0
        y = page.height
        page.rings.append(Tick(GUTTER + SPAN - 56, y - FONT / 3, y, "", "missing", 0.0))
        page.names.append(Name(GUTTER + SPAN, y, "missing", "end", faint=True))
    if nomogram.most >= 1:
        _total(page, nomogram)
    page.height += 6.0
    return page


def _total(page: NomogramLayout, nomogram: Nomogram) -> None:
    """Add the axes of totals and probabilities."""
    page.height += 10.0
    first, last = nomogram.totals[0][0], nomogram.totals[-1][0]
    room = (last - first) / 12
    low, high = max(0.0, first - room), min(nomogram.most, last + room)
    row = nomogram.row if nomogram.row is not None and math.isfinite(nomogram.row.total) else None
    if row is not None:
        low, high = min(low, row.total - room), max(high, row.total + room)
    size = (high - low) / 12
    power = 10.0 ** math.floor(math.log10(size))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= size * (1 - RANK))  # a round number
    totals = [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
    _scale(page, "total points", [(total, f"{total:g}") for total in totals], (low, high))
    if row is not None:
        x, y = GUTTER + SPAN * (row.total - low) / (high - low or 1.0), page.height - 14.0
        page.dots.append(Tick(x, y, y, "total", f"{row.total:.1f}", row.total))
    by_size = sorted(nomogram.totals, key=lambda pair: abs(pair[1] - 0.5))  # 0.5 has the best claim to room
    _scale(page, f"P({nomogram.predicted})", [(t, f"{p:.3g}") for t, p in by_size], (low, high))


def _note(page: NomogramLayout, text: str) -> None:
    page.height += 6.0
    text = clip_name(text, int((SPAN + MARGIN) / LETTER))
    page.names.append(Name(GUTTER, page.height, text, "start", faint=True))
    page.height += LANE - 4


def join_names(names: Sequence[str], n: int = 6) -> str:
    """Join the first names and count the others.

    >>> join_names(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - n:,} more" if len(names) > n else ""
    return ", ".join(clip_name(name, NAME + 8) for name in names[:n]) + more


def clip_name(text: str, width: int = NAME) -> str:
    """Shorten a label and escape control characters."""
    text = printable(text, keep="")
    return text if len(text) <= width else f"{text[: width - 1 - width // 4]}…{text[-(width // 4) :]}"


def text_width(text: str) -> float:
    """Estimate the width of a text in pixels; East Asian characters count twice.

    >>> round(text_width("ab")), round(text_width("日本"))
    (13, 26)
    """
    return LETTER * sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


@dataclass
class _Names:
    """Labels along one axis, placed in lanes without overlaps."""

    taken: dict[tuple[int, int], list[tuple[float, float]]] = field(default_factory=dict)

    def place(self, x: float, text: str, lanes: Sequence[tuple[int, int]]) -> tuple[float, tuple[int, int]] | None:
        """Place a label for a tick at x in the first free lane; return (center, lane), or None."""
        half = text_width(text) / 2 + GAP / 2
        middle = min(max(x, GUTTER - 10 + half), GUTTER + SPAN + MARGIN - half)
        for side, out in lanes:
            needed = [((side, out), middle - half, middle + half)]
            needed += [((side, inner), x - 2, x + 2) for inner in range(out)]
            overlaps = (
                left < end and start < right for lane, left, right in needed for start, end in self.taken.get(lane, ())
            )
            if not any(overlaps):
                for lane, left, right in needed:
                    self.taken.setdefault(lane, []).append((left, right))
                return middle, (side, out)
        return None

    def lanes(self, side: int) -> int:
        """Return the number of lanes used on a side."""
        return max((out + 1 for one, out in self.taken if one == side), default=0)


def _scale(page: NomogramLayout, name: str, marks: Sequence[tuple[float, str]], between: tuple[float, float]) -> None:
    """Add an axis with labels above it."""
    page.height += LANE
    y, names, (low, high) = page.height, _Names(), between
    page.lines.append((GUTTER, y, GUTTER + SPAN, y))
    page.names.append(Name(GUTTER - 14, y + FONT / 3, clip_name(name), "end"))
    for points, text in marks:
        x = GUTTER + SPAN * (points - low) / (high - low or 1.0)
        page.ticks.append(Tick(x, y, y - TICK, name, text, points))
        if place := names.place(x, text, [ABOVE]):
            page.names.append(Name(place[0], y - TICK - 3, text))
    page.height += 14.0


@dataclass(frozen=True)
class _Mark:
    """A value on an axis: points, label and allowed lanes in order of preference (none: tick only)."""

    points: float
    text: str
    lanes: tuple[tuple[int, int], ...]
    side: int = -1


def _ruler(page: NomogramLayout, axis: Axis, nomogram: Nomogram) -> None:
    """Add the axis of one column."""
    names, placed, unnamed = _Names(), [], []
    for mark in _number_marks(axis) if axis.is_number else _value_marks(axis):
        x = GUTTER + SPAN * mark.points / 100
        place = names.place(x, mark.text, mark.lanes)
        placed.append((x, mark, place))
        if not place and not axis.is_number:
            unnamed.append(f"{clip_name(mark.text)} {mark.points:.1f}")
    page.height += 8 + LANE * max(names.lanes(-1), 0.4)
    y = page.height
    page.names.append(Name(GUTTER - 14, y + FONT / 3, clip_name(axis.column), "end"))
    if placed:
        page.lines.append((min(x for x, _, _ in placed), y, max(x for x, _, _ in placed), y))
    ticks: dict[int, list[float]] = {-1: [], 1: []}
    for x, mark, place in sorted(placed, key=lambda at: at[2] is None):  # ticks with a name have the first claim
        side, out = place[1] if place else (mark.side, 0)
        if place or not any(abs(x - other) < CLOSE for other in ticks[side]):
            end = y + side * (TICK + LANE * out)
            page.ticks.append(Tick(x, y, end, axis.column, mark.text, mark.points))
            ticks[side].append(x)
            if place:
                page.names.append(Name(place[0], end - 3 if side < 0 else end + FONT - 1, mark.text))
    if 0 <= axis.missing_points <= 100:
        x = GUTTER + SPAN * axis.missing_points / 100
        page.rings.append(Tick(x, y, y, axis.column, "missing", axis.missing_points))
    for column, value, points in nomogram.row.cells if nomogram.row is not None else ():
        if column == axis.column and -5 <= points <= 105:
            page.dots.append(Tick(GUTTER + SPAN * points / 100, y, y, column, format_cell(value), points))
    page.height += 10 + LANE * max(names.lanes(1), 0.2)
    for sign, label in ((1, nomogram.against), (-1, nomogram.predicted)):
        never = [format_cell(v) for v, p in zip(axis.values, axis.points, strict=True) if p == sign * math.inf]
        if never:
            _note(page, f"never in {clip_name(str(label))}: {join_names(never)}")
    if unnamed:
        _note(page, f"also {join_names(unnamed[::-1])}")


def _number_marks(axis: Axis) -> Iterator[_Mark]:
    """Yield marks of a numeric column: above the line where points rise, below where they fall."""
    pairs = [(float(v), p) for v, p in zip(axis.values, axis.points, strict=True) if math.isfinite(p)]
    rises = [after >= before for (_, before), (_, after) in pairwise(pairs)]
    rises = [*rises[:1], *rises] or [True]  # of each number, whether the points rise towards it; of the first, from it
    branches = list(accumulate((up != before for before, up in pairwise(rises)), initial=0))
    by_value = {v: (p, up, branch) for (v, p), up, branch in zip(pairs, rises, branches, strict=False)}
    named: dict[float, None] = {}
    for branch in range(2 * LANES):
        named |= dict.fromkeys(_round_numbers({v: p for v, (p, _, b) in by_value.items() if b == branch}))
    for value in (*named, *(v for v in by_value if v not in named)):
        points, up, branch = by_value[value]
        side = -1 if up else 1
        is_end = value in (pairs[0][0], pairs[-1][0])
        lanes = dict.fromkeys([(side, 0), (side, branch // 2)]) if value in named or is_end else {}
        yield _Mark(points, format_cell(value), tuple(lanes), side)


def _round_numbers(points: dict[float, float]) -> list[float]:
    """Return the labeled numbers of one branch: as many round numbers as have room.

    >>> _round_numbers({float(v): v - 172.0 for v in range(172, 222, 2)})
    [200.0, 180.0, 190.0, 210.0, 220.0]
    """
    if len(points) < 2:
        return list(points)
    step = max(b - a for a, b in pairwise(sorted(points)))
    unit = 10.0 ** math.floor(math.log10(step) + RANK)
    at = {round(v / unit): v for v in points if abs(v / step - round(v / step)) < ROUNDING}
    if not at:
        return []
    least, most = min(at), max(at)
    names, chosen = _Names(), list[float]()

    def take(multiples: list[int]) -> bool:
        """Label all of these numbers, or none of them."""
        before = {lane: [*taken] for lane, taken in names.taken.items()}
        for multiple in multiples:
            x = GUTTER + SPAN * points[at[multiple]] / 100 if multiple in at else math.nan
            if multiple not in at or not names.place(x, format_cell(at[multiple]), [ABOVE]):
                names.taken = before
                return False
        chosen.extend(at[multiple] for multiple in multiples)
        return True

    def fill(first: int, width: int) -> None:
        """Label numbers between two round ones in ten, five or two parts."""
        for parts in (10, 5, 2):
            size = width // parts
            if size and take([m for m in range(first + size, first + width, size) if least <= m <= most]):
                for start in range(first, first + width, size) if size >= 10 else ():
                    fill(start, size)
                return

    width = 10
    while width < most - least:
        width *= 10
    decades = range(least // width * width, most + width, width)
    for multiple in decades:
        take([multiple] if multiple in at else [])
    for multiple in decades:
        fill(multiple, width)
    return chosen


def _value_marks(axis: Axis) -> Iterator[_Mark]:
    """Yield marks of values; values with equal points share a label."""
    places: dict[float, list[str]] = {}
    for value, points in zip(axis.values, axis.points, strict=True):
        if math.isfinite(points):
            places.setdefault(round(points, 1), []).append(format_cell(value))
    lanes = tuple((side, out) for out in range(LANES) for side in (-1, 1))
    rising = sorted(places)
    for points in (*rising[:1], *rising[:0:-1]):  # the ends of the ruler have the first claim to a name
        yield _Mark(points, join_names(places[points], 2), lanes)


def svg(page: NomogramLayout) -> str:
    """Write the layout as SVG."""
    parts = [f"<path d='M{x:.1f} {y:.1f}L{x2:.1f} {y2:.1f}' stroke='{FAINT}'/>" for x, y, x2, y2 in page.lines]
    for tick in page.ticks:
        path = f"<path d='M{tick.x:.1f} {tick.y:.1f}V{tick.end:.1f}' stroke='{INK}' stroke-width='1.5'>"
        parts.append(f"{path}{_tip(tick)}</path>")
    for marks, look in ((page.rings, f"r='3.5' fill='none' stroke='{INK}'"), (page.dots, f"r='4.5' fill='{DOT}'")):
        parts += [f"<circle cx='{mark.x:.1f}' cy='{mark.y:.1f}' {look}>{_tip(mark)}</circle>" for mark in marks]
    for name in page.names:
        color = FAINT if name.faint else "currentColor"
        place = f"x='{name.x:.1f}' y='{name.y:.1f}' text-anchor='{name.anchor}' fill='{color}'"
        parts.append(f"<text {place}>{html.escape(printable(name.text, keep=''))}</text>")
    size = f"viewBox='0 0 {page.width:.0f} {page.height:.0f}' style='width:100%;max-width:{page.width:.0f}px'"
    return f"<svg {size} font-family='sans-serif' font-size='{FONT:.0f}' role='img'>{''.join(parts)}</svg>"


def _tip(tick: Tick) -> str:
    text = f"{tick.column} {tick.value}: {tick.points:.1f}"
    return f"<title>{html.escape(printable(text, keep=''))}</title>"

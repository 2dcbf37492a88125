"""Nomograms: a model on paper. Each value has points; the total of the points says the probability.

The log odds of one class against another are a sum over the columns, so points are log odds on another scale: in each
column the least value has 0, and the column that reaches furthest has 100.

    ln P(a | x) / P(b | x) = offset + total / scale

Možina, Demšar, Kattan, Zupan, "Nomograms for visualization of naive Bayesian classifier", 2004.

Formula: nomograms
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.sheet import WIDTH, Lines, Readable, Sheet
from bayeskit.data.table import Table
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError
from bayeskit.explain.evidence import class_position
from bayeskit.explain.informative import Columnwise, refuse_texts
from bayeskit.explain.phrases import cell
from bayeskit.printable import printable

Floats = npt.NDArray[np.float64]
GRID = 30  # numbers at most at which a measured column is shown
LONGEST = 100.0  # points of the column that reaches furthest


@dataclass(frozen=True)
class Axis:
    """The points of one ``column``: ``values`` with their ``log_odds`` and ``points``.

    ``is_number`` where the values are a grid of numbers; ``missing_points`` for a cell that is missing. Points are
    infinite where a value rules out one of the classes.
    """

    column: str
    values: tuple[Value, ...]
    log_odds: tuple[float, ...]
    points: tuple[float, ...]
    missing_points: float
    is_number: bool

    @property
    def table(self) -> Table:
        """Values and their points."""
        return Table({self.column: [cell(v) for v in self.values], "points": list(self.points)})


@dataclass(frozen=True, repr=False)
class Nomogram(Readable):
    """The points of each column, and what their total says of ``predicted`` against ``against``.

    ``axes`` (the furthest-reaching first), ``scale`` (points a nat of log odds), ``offset`` (log odds at a total of 0)
    and ``totals``: pairs (total, P(predicted) among the two classes) from almost surely not to almost surely.
    """

    target: str
    predicted: Value
    against: Value
    axes: tuple[Axis, ...]
    scale: float
    offset: float
    totals: tuple[tuple[float, float], ...]

    def probability(self, total: float) -> float:
        """P(predicted), among the two classes, of a row with this many points in total."""
        odds = self.offset + total / self.scale
        return float(logspace.exp(logspace.log_normalise(np.array([[odds, 0.0]]))[0][0, 0]))

    @property
    def sheet(self) -> Sheet:
        """The ends of each ruler, and the probabilities of totals."""
        lines = []
        width = max((len(axis.column) for axis in self.axes), default=0)
        for axis in self.axes:
            low, high = np.argmin(axis.points), np.argmax(axis.points)
            ends = (
                f"{cell(axis.values[low])} {axis.points[low]:.0f} … {cell(axis.values[high])} {axis.points[high]:.0f}"
            )
            lines.append(printable(f"  {axis.column:{width}}  {ends}", keep="")[:WIDTH])
        lines.append(f"total to P({self.predicted})")
        lines += [f"  {total:8.1f}  {p:.3g}" for total, p in self.totals]
        return Sheet(f"points for {self.predicted} against {self.against}", (Lines(lines),))


CHANCES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)


def nomogram(model: Columnwise, predicted: Any = None, against: Any = None) -> Nomogram:
    """The nomogram of a fitted model for one class against another."""
    refuse_texts(model.tally_)
    a, b = _pair(model, predicted, against)
    tally, params = model.tally_, model.params_
    columns = [_log_odds(model, name, a, b) for name in tally.schema.used if name not in params.silent]
    lows, highs = zip(*(_ends(odds) for _, _, odds, _ in columns), strict=True) if columns else ((), ())
    reach = max((high - low for low, high in zip(lows, highs, strict=True)), default=0.0)
    scale = LONGEST / reach if reach > 0 else 1.0
    axes = []
    for (name, values, odds, gap), low in zip(columns, lows, strict=True):
        points = tuple(float(p) for p in (odds - low) * scale)
        is_number = name not in params.by_column[name].values
        axes.append(Axis(name, tuple(values), tuple(odds.tolist()), points, float((gap - low) * scale), is_number))
    axes.sort(key=lambda axis: min(axis.points) - max(axis.points))
    prior = model.tempered(params.log_prior)
    offset = float(logspace.log_odds(prior[a], prior[b])) + sum(lows)
    wanted = logspace.log_odds(logspace.log(CHANCES), logspace.log(1 - np.array(CHANCES)))
    totals = tuple(((float(w) - offset) * scale, p) for w, p in zip(wanted, CHANCES, strict=True))
    classes = tally.classes
    return Nomogram(tally.schema.target.name, classes[a], classes[b], tuple(axes), scale, offset, totals)


def _pair(model: Columnwise, predicted: Any, against: Any) -> tuple[int, int]:
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


def _log_odds(model: Columnwise, name: str, a: int, b: int) -> tuple[str, list[Value], Floats, float]:
    """(column, its values or a grid of numbers, their log odds, the log odds of a missing cell)"""
    params = model.params_
    belief = params.by_column[name]
    if name in belief.values:
        values = belief.labels(name)
        scores = model.tempered(model.column_scores(params, name, np.arange(len(values) + 1)))
        odds = logspace.log_odds(scores[:, a], scores[:, b])
        odds = np.where(np.isnan(odds), 0.0, odds)  # impossible under both: it says nothing of the two
        return name, values, odds[1:], float(odds[0])
    ends = model.column_points(params, name, 200)[[a, b]]
    grid = round_numbers(float(ends.min()), float(ends.max()))
    grid = np.unique(np.round(grid)) if belief.whole else grid
    scores = model.tempered(model.column_scores(params, name, grid))
    return name, grid.tolist(), logspace.log_odds(scores[:, a], scores[:, b]), 0.0


def round_numbers(low: float, high: float, n: int = GRID) -> Floats:
    """Rising numbers of few digits from about low to high, at most n of them and at least two.

    >>> round_numbers(171.6, 235.4, 10).tolist()
    [170.0, 180.0, 190.0, 200.0, 210.0, 220.0, 230.0, 240.0]
    """
    if not high > low:
        return np.array([low, np.nextafter(low, np.inf)])
    size = 10.0 ** np.floor(np.log10((high - low) / n))
    for step in (size * k for k in (1, 2, 5, 10, 20)):
        first, last = np.floor(low / step), np.ceil(high / step)
        if last - first + 1 <= n:
            break
    return np.asarray(np.arange(first, last + 1) * step)


def _ends(odds: Floats) -> tuple[float, float]:
    finite = odds[np.isfinite(odds)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)

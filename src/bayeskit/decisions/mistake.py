"""How often will it be wrong? The probability of a mistake, from the model's own densities.

For one column the line falls into regions where one class or another is decided:

    P(mistake) = Σ_c P(c) · ∫ over the regions of the other classes  p(x | c) dx
    P(correct) = 1 − P(mistake)

Deciding for the class of largest P(c) p(x | c) everywhere makes the first as small as it can be. The areas are closed
forms; borders are those of quadratics where classes are normal, and found by halving where they are not.

Formula: P(mistake) over the regions
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf, isfinite
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.errors import BayesError, with_article
from bayeskit.estimate.columns.coded import CodedColumns
from bayeskit.estimate.columns.gaussian import GaussianColumns
from bayeskit.estimate.columns.histogram import Histogram
from bayeskit.estimate.columns.kernel import KernelColumns
from bayeskit.estimate.columns.student import StudentColumns
from bayeskit.estimate.smoothing import is_number
from bayeskit.tolerance import PARALLEL
from bayeskit.typing import Floats, Ints

FINE = 4000  # numbers of a line at which the best class is asked
HALVINGS = 60  # of a step between two of them
BEYOND = 8.0  # spreads beyond the outermost numbers, where nothing changes any more


@dataclass(frozen=True)
class Mistake:
    """P(mistake), what each true class adds to it, and the regions: (from, to, class), or (value, class) of a table."""

    probability: float
    by_class: dict[Any, float]
    regions: tuple[tuple[Any, ...], ...]

    @property
    def correct(self) -> float:
        """P(correct) = 1 − P(mistake)."""
        return 1 - self.probability


def mistake_probability(model: Any, boundaries: Sequence[float] | None = None) -> Mistake:
    """P(mistake) of a fitted model of one column, however many classes: ``NaiveBayes``, or ``GaussianBayes``.

    The column is a table of values, a histogram, normal, Student or a kernel density. ``boundaries`` cut a line of
    numbers elsewhere than where the model would; each part still goes to the class that is better there on the whole.

    >>> from bayeskit import NaiveBayes
    >>> model = NaiveBayes().fit({"x": [-2.0, 0.0, 0.0, 2.0]}, ["a", "a", "b", "b"])     # means −1, 1; variance 2
    >>> found = mistake_probability(model)
    >>> found.regions, round(found.probability, 6), round(found.correct, 6)              # Φ(−1/√2)
    (((-inf, 0.0, 'a'), (0.0, inf, 'b')), 0.23975, 0.76025)
    """
    if hasattr(model, "fit"):
        from sklearn.utils.validation import check_is_fitted  # loads slowly

        check_is_fitted(model)
    params: Any = getattr(model, "params_", None)
    if not hasattr(params, "normal") and not hasattr(params, "by_column"):
        who = with_article(type(model).__name__)
        raise BayesError(f"{who} has no density of one column by itself: P(mistake) is of NaiveBayes or GaussianBayes")
    classes, prior = np.asarray(model.classes_).tolist(), logspace.exp(params.log_prior)
    if hasattr(params, "normal"):  # multivariate, of one column
        _check_one([name for name in params.columns if name not in params.silent])
        i = int(np.flatnonzero(params.normal.spread.used)[0])
        mean, variance = params.normal.mean[:, i], np.array([c[i, i] for c in params.normal.covariance])
        return _of_line(Normals(mean, np.sqrt(variance)), prior, classes, boundaries)
    if params.words:
        raise BayesError(f"column {next(iter(params.words))!r} is text: P(mistake) is of a table or a line of numbers")
    _check_one(params.used)
    (name,) = params.used
    column = params.by_column[name]
    if isinstance(column, CodedColumns):
        if boundaries is not None:
            raise BayesError("boundaries cut a line of numbers; this column is a table of values")
        return _of_table(column.tables[name], prior, classes)
    return _of_line(_line_of(column, name), prior, classes, boundaries)


def _check_one(used: Sequence[str]) -> None:
    if len(used) != 1:
        raise BayesError(
            f"P(mistake) is integrated over one column; the model has {len(used)}. "
            "Use restrict([column]), or measure it on rows."
        )


def _of_table(table: Any, prior: Floats, classes: list[Any]) -> Mistake:
    """Values one by one; of a histogram, intervals of the number."""
    joint = prior[:, None] * table.probabilities[:, 1:-1]
    chosen = joint.argmax(axis=0)
    wrong = _wrong(joint, chosen)
    if isinstance(table, Histogram):
        regions: tuple[tuple[Any, ...], ...] = _merged(np.array([-inf, *table.cuts, inf]), chosen, classes)
    else:
        regions = tuple((value, classes[c]) for value, c in zip(table.values, chosen.tolist(), strict=True))
    return Mistake(sum(wrong), dict(zip(classes, wrong, strict=True)), regions)


# -- lines of numbers --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Normals:
    """A normal density for each class."""

    mean: Floats
    sd: Floats

    def below(self, edges: Floats) -> Floats:
        """P(x ≤ edge | class) (classes, edges)."""
        from scipy.special import ndtr

        return np.asarray(ndtr((edges[None] - self.mean[:, None]) / self.sd[:, None]))

    def log_density(self, x: Floats) -> Floats:
        """Up to a constant (classes, numbers)."""
        away = (x - self.mean[:, None]) / self.sd[:, None]
        return np.asarray(-logspace.log(self.sd)[:, None] - 0.5 * away * away)

    def cuts(self, prior: Floats) -> list[float]:
        """Where P(c) p(x | c) of any two classes are equal."""
        pairs = combinations(np.flatnonzero(prior > 0).tolist(), 2)
        return sorted({x for a, b in pairs for x in _crossings(prior[[a, b]], self.mean[[a, b]], self.sd[[a, b]])})


@dataclass(frozen=True)
class Line:
    """Densities of another kind: their logarithms, what lies below a number, and where the line is of interest."""

    log_density: Callable[[Floats], Floats]
    below: Callable[[Floats], Floats]
    ends: tuple[float, float]

    def cuts(self, prior: Floats) -> list[float]:
        """Where the best class changes, by a fine line and halving."""
        log_prior = logspace.log(prior)[:, None]

        def best(x: Floats) -> Ints:
            return np.asarray((log_prior + self.log_density(x)).argmax(axis=0))

        line = np.linspace(*self.ends, FINE)
        chosen = best(line)
        at = np.flatnonzero(np.diff(chosen))
        low, high, left = line[at], line[at + 1], chosen[at]
        for _ in range(HALVINGS if len(at) else 0):
            middle = (low + high) / 2
            stays = best(middle) == left
            low, high = np.where(stays, middle, low), np.where(stays, high, middle)
        return [float(cut) for cut in (low + high) / 2]


def _line_of(column: Any, name: str) -> Normals | Line:
    """The densities of a column of numbers."""
    if isinstance(column, GaussianColumns):
        i = column.names.index(name)
        return Normals(column.gaussian.mean[:, i], np.sqrt(column.gaussian.variance[:, i]))

    def log_density(x: Floats) -> Floats:
        return np.asarray(column.scores(name, x).T)

    if isinstance(column, KernelColumns):
        density = column.densities[name]
        bells = [bells for bells in density.classes if bells is not None]
        if len(bells) < len(density.classes):
            raise BayesError(f"column {name!r} has a class without numbers: P(mistake) needs a density of each")
        low, high = min(float(b.points[0]) for b in bells), max(float(b.points[-1]) for b in bells)
        wide = BEYOND * max(float(b.bandwidth) for b in bells)
        return Line(log_density, lambda edges: np.array([_below(b, edges) for b in bells]), (low - wide, high + wide))
    if isinstance(column, StudentColumns):
        from scipy.special import stdtr

        parts = column.parameters(name)
        location, scale, freedom = (parts[key][:, None] for key in ("location", "scale", "freedom"))
        wide = BEYOND * float(scale.max())
        ends = float(location.min()) - wide, float(location.max()) + wide
        return Line(log_density, lambda edges: np.asarray(stdtr(freedom, (edges[None] - location) / scale)), ends)
    raise BayesError(
        f"column {name!r} is {column.kind}: P(mistake) is of gaussian, student, kernel or histogram numbers, or of a "
        f"table of values; densities({name!r}) has it along a line"
    )


def _below(bells: Any, edges: Floats) -> Floats:
    """The share of a kernel density below each edge: that of every bell, by its count."""
    from scipy.special import ndtr

    shares = bells.counts / bells.counts.sum()
    return np.array([float(shares @ ndtr((edge - bells.points) / bells.bandwidth)) for edge in edges])


def _of_line(line: Normals | Line, prior: Floats, classes: list[Any], given: Sequence[float] | None) -> Mistake:
    cuts = line.cuts(prior) if given is None else _boundaries(given)
    edges = np.array([-inf, *cuts, inf])
    mass = prior[:, None] * np.diff(line.below(edges), axis=1)  # (classes, parts)
    chosen = mass.argmax(axis=0) if given is not None else _densest(line, prior, edges)
    wrong = _wrong(mass, chosen)
    return Mistake(sum(wrong), dict(zip(classes, wrong, strict=True)), _merged(edges, chosen, classes))


def _boundaries(given: Sequence[float]) -> list[float]:
    for i, cut in enumerate(given):
        if not is_number(cut) or not isfinite(cut):
            raise BayesError(f"boundaries[{i}] is {cut!r}: give finite numbers", culprit=cut, place=i)
    return sorted(float(cut) for cut in given)


def _wrong(mass: Floats, chosen: Ints) -> list[float]:
    """What each class has in the regions of others."""
    return [float(mass[c, chosen != c].sum()) for c in range(len(mass))]


def _merged(edges: Floats, chosen: Ints, classes: list[Any]) -> tuple[tuple[float, float, Any], ...]:
    """(from, to, class), neighbours of one class together."""
    regions: list[tuple[float, float, Any]] = []
    for low, high, c in zip(edges[:-1].tolist(), edges[1:].tolist(), chosen.tolist(), strict=True):
        if regions and regions[-1][2] == classes[c]:
            regions[-1] = (regions[-1][0], high, classes[c])
        else:
            regions.append((low, high, classes[c]))
    return tuple(regions)


def _crossings(prior: Floats, mean: Floats, sd: Floats) -> list[float]:
    """Where P(c) p(x | c) of two normal classes are equal: the real roots of a quadratic."""
    middle, (s0, s1) = float(mean.mean()), sd.tolist()
    m0, m1 = (mean - middle).tolist()
    a = 0.5 / s0**2 - 0.5 / s1**2
    b = m1 / s1**2 - m0 / s0**2
    c = 0.5 * (m0 / s0) ** 2 - 0.5 * (m1 / s1) ** 2 + float(logspace.log(s0 / s1) + logspace.log(prior[1] / prior[0]))
    if abs(a) < PARALLEL / min(s0, s1) ** 2:
        return [middle - c / b + 0.0] if b else []
    root = b * b - 4 * a * c
    if root <= 0:
        return []
    q = -0.5 * (b + np.copysign(np.sqrt(root), b))
    return sorted(float(middle + x) for x in {q / a, c / q if q else -q / a})


def _densest(line: Normals | Line, prior: Floats, edges: Floats) -> Ints:
    """The class with the largest P(c) p(x | c) in the middle of each part."""
    if isinstance(line, Normals):
        width = float(line.sd.max())
        first, last = float(line.mean.min()), float(line.mean.max())
    else:
        width, (first, last) = 0.0, line.ends
    low = edges[1:-1].min(initial=first) - width
    high = edges[1:-1].max(initial=last) + width
    inner = np.clip(edges, low, high)
    x = (inner[:-1] + inner[1:]) / 2
    return np.asarray((logspace.log(prior)[:, None] + line.log_density(x)).argmax(axis=0))

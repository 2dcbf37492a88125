"""Probability of a mistake from class densities of one column.

The line is divided into regions, each assigned to one class:

    P(mistake) = Σ_c P(c) · ∫ over the regions of the other classes  p(x | c) dx
    P(correct) = 1 − P(mistake)

Deciding for the class of the largest P(c) p(x | c) makes P(mistake) as small as possible (Duda, Hart and Stork,
"Pattern Classification", chapter 2). Areas have closed forms. Borders are roots of quadratics for normal classes and
are found by bisection otherwise.

Formula: P(mistake) over the regions
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from math import inf
from operator import itemgetter
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.tables import Grid, Readable, Sheet
from bayeskit.tolerance import PARALLEL
from bayeskit.typing import Floats, Ints

GRID_POINTS = 4000  # numbers at which the best class is computed
BISECTIONS = 60


@dataclass(frozen=True, repr=False)
class Mistake(Readable):
    """Probability of a mistake of a model of one column.

    Attributes
    ----------
    probability : float
        P(mistake).
    by_class : dict
        Share of ``probability`` that comes from rows of each true class.
    regions : tuple
        (from, to, class) along a line of numbers, or (value, class) of a table.
    """

    probability: float
    by_class: dict[Any, float]
    regions: tuple[tuple[Any, ...], ...]

    @property
    def sheet(self) -> Sheet:
        """Return the printable form."""
        names = ("from", "to", "decided") if len(self.regions[0]) == 3 else ("value", "decided")
        regions = dict(zip(names, map(list, zip(*self.regions, strict=True)), strict=True))
        shares = {"class": list(self.by_class), "P(mistake)": list(self.by_class.values())}
        return Sheet(f"P(mistake) {self.probability:.6g}", (Grid(regions), "", Grid(shares)))

    @property
    def correct(self) -> float:
        """P(correct) = 1 − P(mistake)."""
        return 1 - self.probability


def table_mistake(
    probabilities: Floats, prior: Floats, classes: list[Any], values: Sequence[Any], cuts: Sequence[float] | None
) -> Mistake:
    """Compute P(mistake) of a table of P(value | class), shape (n_classes, n_values).

    The values of a histogram are the intervals between its ``cuts``.

    >>> table = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> round(table_mistake(table, np.array([0.5, 0.5]), ["a", "b"], ["x", "y"], None).probability, 2)
    0.15
    """
    joint = prior[:, None] * probabilities
    chosen = joint.argmax(axis=0)
    wrong = _mistaken_mass(joint, chosen)
    by_class, labels = dict(zip(classes, wrong, strict=True)), [classes[c] for c in chosen]
    if cuts is None:
        return Mistake(sum(wrong), by_class, tuple(zip(values, labels, strict=True)))
    return Mistake(sum(wrong), by_class, _merge_regions(np.array([-inf, *cuts, inf]), labels))


@dataclass(frozen=True)
class NormalDensities:
    """A normal density for each class; both arrays have shape (n_classes,)."""

    mean: Floats
    sd: Floats

    def below(self, edges: Floats) -> Floats:
        """Return P(x ≤ edge | class), shape (n_classes, n_edges)."""
        from scipy.special import ndtr

        return np.asarray(ndtr((edges[None] - self.mean[:, None]) / self.sd[:, None]))

    def log_density(self, x: Floats) -> Floats:
        """Return ln p(x | class) up to a constant, shape (n_classes, n_numbers)."""
        away = (x - self.mean[:, None]) / self.sd[:, None]
        return np.asarray(-logspace.log(self.sd)[:, None] - 0.5 * away * away)

    def cuts(self, prior: Floats) -> list[float]:
        """Return the numbers where P(c) p(x | c) of two classes are equal."""
        pairs = combinations(np.flatnonzero(prior > 0).tolist(), 2)
        return sorted({x for a, b in pairs for x in _crossings(prior[[a, b]], self.mean[[a, b]], self.sd[[a, b]])})


@dataclass(frozen=True)
class LineDensities:
    """Densities of any kind: log densities, distribution functions, and the interval to search for borders."""

    log_density: Callable[[Floats], Floats]
    below: Callable[[Floats], Floats]
    ends: tuple[float, float]

    def cuts(self, prior: Floats) -> list[float]:
        """Find where the best class changes: on a grid, refined by bisection."""
        log_prior = logspace.log(prior)[:, None]

        def best(x: Floats) -> Ints:
            return np.asarray((log_prior + self.log_density(x)).argmax(axis=0))

        line = np.linspace(*self.ends, GRID_POINTS)
        chosen = best(line)
        at = np.flatnonzero(np.diff(chosen))
        low, high, left = line[at], line[at + 1], chosen[at]
        for _ in range(BISECTIONS if len(at) else 0):
            middle = (low + high) / 2
            stays = best(middle) == left
            low, high = np.where(stays, middle, low), np.where(stays, high, middle)
        return [float(cut) for cut in (low + high) / 2]


def line_mistake(
    line: NormalDensities | LineDensities, prior: Floats, classes: list[Any], boundaries: Sequence[float] | None = None
) -> Mistake:
    """Compute P(mistake) along a line of numbers.

    ``boundaries`` replace the borders of the densities; each part still goes to the class with the larger mass.

    >>> two = NormalDensities(np.array([-1.0, 1.0]), np.array([1.0, 1.0]))
    >>> round(line_mistake(two, np.array([0.5, 0.5]), ["a", "b"]).probability, 6)        # Φ(−1)
    0.158655
    """
    cuts = line.cuts(prior) if boundaries is None else sorted(boundaries)
    edges = np.array([-inf, *cuts, inf])
    mass = prior[:, None] * np.diff(line.below(edges), axis=1)  # shape (n_classes, n_parts)
    chosen = mass.argmax(axis=0) if boundaries is not None else _most_probable(line, prior, edges)
    wrong = _mistaken_mass(mass, chosen)
    by_class, labels = dict(zip(classes, wrong, strict=True)), [classes[c] for c in chosen]
    return Mistake(sum(wrong), by_class, _merge_regions(edges, labels))


def _mistaken_mass(mass: Floats, chosen: Ints) -> list[float]:
    """Return the mass that each class has in the regions of others."""
    return [float(mass[c, chosen != c].sum()) for c in range(len(mass))]


def _merge_regions(edges: Floats, labels: Sequence[Any]) -> tuple[tuple[float, float, Any], ...]:
    """Return (from, to, class), joining neighbors of the same class."""
    runs = [
        list(run)
        for _, run in groupby(zip(edges[:-1].tolist(), edges[1:].tolist(), labels, strict=True), itemgetter(2))
    ]
    return tuple((run[0][0], run[-1][1], run[0][2]) for run in runs)


def _crossings(prior: Floats, mean: Floats, sd: Floats) -> list[float]:
    """Return where P(c) p(x | c) of two normal classes are equal: the real roots of a quadratic."""
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


def _most_probable(line: NormalDensities | LineDensities, prior: Floats, edges: Floats) -> Ints:
    """Return the class with the largest P(c) p(x | c) in the middle of each part."""
    if isinstance(line, NormalDensities):
        width = float(line.sd.max())
        first, last = float(line.mean.min()), float(line.mean.max())
    else:
        width, (first, last) = 0.0, line.ends
    low = edges[1:-1].min(initial=first) - width
    high = edges[1:-1].max(initial=last) + width
    inner = np.clip(edges, low, high)
    x = (inner[:-1] + inner[1:]) / 2
    return np.asarray((logspace.log(prior)[:, None] + line.log_density(x)).argmax(axis=0))

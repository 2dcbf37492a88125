"""Kernel densities: a bell over every number that was seen.

    p(x | c) = 1 / (N_c h_c) Σ_v n_vc φ((x − v) / h_c)      φ the standard normal density

with Silverman's bandwidth of each class, from the counts alone:

    h_c = 0.9 · min(s_c, IQR_c / 1.349) · N_c^(−1/5)        s_c the standard deviation, n − 1 below

A class whose quartiles coincide has s_c in the place of the minimum; one without spread of its own has the spread of
all classes together. No h_c² is below the floor of the variances of the column (`estimate/variance.py`), 1 % of the
variance within the classes. A column without any spread, or without a value in some class, is left out for all classes.

The sum over all values is taken as it stands where there are few. Else ln Σ is computed, with its first two
derivatives, at the edges of bins, a sixteenth of the bandwidth wide among the values and wider beyond them, and read
from polynomials of degree five between these: within 1e-10 of the whole sum, relative to its size where that is more
than one.

Silverman, "Density Estimation for Statistics and Data Analysis", 1986.

Formula: kernel densities, Silverman's bandwidth
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.numbers import LARGEST
from bayeskit.estimate.variance import VarianceFloor
from bayeskit.tally.distinct import Values
from bayeskit.tolerance import GONE, SAME_WEIGHT
from bayeskit.typing import Array, Floats

FEW = 64  # values that are summed as they stand
SPREAD = 0.9, 1.349  # Silverman's factor, and the quartiles of a normal distribution in standard deviations
CELLS = 1 << 20  # terms of a sum held at a time
LOG_ROOT = 0.5 * np.log(2 * np.pi)

# In bandwidths: values further apart fall into runs of their own, so that ln Σ of a run is smooth; bins inside a run;
# how far the even bins go beyond it; and how many runs on each side of the nearest one can still be felt.
GAP, BIN, MARGIN, REACH = 2.5, 1 / 16, 9.0, 4
TAIL_BIN = 1 / 16  # of the logarithm of the distance: bins beyond a run


@dataclass(frozen=True, eq=False)
class Run:
    """Rising ``points`` near each other, with the logarithms of their counts, in units of the bandwidth."""

    points: Floats
    log_counts: Floats

    def __call__(self, x: Floats) -> Floats:
        """ln Σ n_v exp(−(x − v)² / 2): as it stands for few points, else by the bins."""
        if len(self.points) <= FEW:
            return self.total(x)
        before, after = self.points[0] - x, x - self.points[-1]
        log_sums = np.asarray(self._inside(x))
        for side, t in enumerate((before, after)):
            beyond = t > MARGIN
            if beyond.any():
                log_sums[beyond] = self._outside(t[beyond], side)
        return log_sums

    def total(self, x: Floats) -> Floats:
        """ln Σ n_v exp(−(x − v)² / 2), as it stands."""
        log_sums = np.empty(len(x))
        step = max(1, CELLS // len(self.points))
        for rows in (slice(i, i + step) for i in range(0, len(x), step)):
            away = x[rows, None] - self.points
            log_sums[rows] = logspace.log_sum_exp(self.log_counts - 0.5 * away * away)
        return log_sums

    def sums(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """ln Σ n_v exp(−(x − v)² / 2) and its first two derivatives."""
        away = x[:, None] - self.points
        terms = self.log_counts - 0.5 * away * away
        total = logspace.log_sum_exp(terms)
        share = logspace.exp(terms - total[:, None])
        mean = (share * away).sum(axis=1)
        return total, -mean, (share * (away - mean[:, None]) ** 2).sum(axis=1) - 1

    @cached_property
    def _inside(self) -> Any:
        """ln Σ along the run and a little beyond, as polynomials between bins."""
        from scipy.interpolate import PPoly

        low, high = self.points[0] - MARGIN, self.points[-1] + MARGIN
        edges = np.linspace(low, high, int(np.ceil((high - low) / BIN)) + 1)
        return PPoly(_polynomials(edges, self._windowed(edges)), edges)

    def _outside(self, t: Floats, side: int) -> Floats:
        """ln Σ at a distance t from the first point (side 0) or the last (side 1), beyond the margin."""
        tail, far = self._tails[side]
        log_t = np.log(np.minimum(t, far))
        return tail(log_t) - 0.5 * t * t

    @cached_property
    def _tails(self) -> tuple[tuple[Any, float], tuple[Any, float]]:
        return self._tail(self.points - self.points[0], self.log_counts), self._tail(
            self.points[-1] - self.points[::-1], self.log_counts[::-1]
        )

    @staticmethod
    def _tail(u: Floats, log_counts: Floats) -> tuple[Any, float]:
        """ln Σ n exp(−t u − u² / 2) as polynomials in ln t, and the t from which the outermost point is alone."""
        from scipy.interpolate import PPoly

        far = 2 * MARGIN + 40 / float(u[1])
        edges = np.linspace(np.log(MARGIN / 2), np.log(far), int(np.ceil(np.log(2 * far / MARGIN) / TAIL_BIN)) + 1)
        t = logspace.exp(edges)
        terms = log_counts - t[:, None] * u - 0.5 * u * u
        total = logspace.log_sum_exp(terms)
        share = logspace.exp(terms - total[:, None])
        mean = (share * u).sum(axis=1)
        spread = (share * (u - mean[:, None]) ** 2).sum(axis=1)
        return PPoly(_polynomials(edges, (total, -t * mean, -t * mean + t * t * spread)), edges), far

    def _windowed(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """The sums at rising numbers, from the points that can be felt there."""
        parts = []
        for some in np.array_split(x, max(1, len(x) // 64)):
            reach = 2 * MARGIN
            near = slice(*np.searchsorted(self.points, [some[0] - reach, some[-1] + reach]))
            parts.append(Run(self.points[near], self.log_counts[near]).sums(some))
        values, slopes, bends = (np.concatenate(part) for part in zip(*parts, strict=True))
        return values, slopes, bends


@dataclass(frozen=True, eq=False)
class Bells:
    """The density of one class: rising ``points`` with ``counts`` above zero, and the ``bandwidth``.

    >>> one = Bells(np.array([0.0]), np.array([3.0]), 1.0)                       # the normal density itself
    >>> bool(np.allclose(one.log_density(np.array([0.0, 2.0])), [-0.91893853, -2.91893853]))
    True
    """

    points: Floats
    counts: Floats
    bandwidth: float

    def log_density(self, x: Floats) -> Floats:
        """ln p of numbers; NaN has 0."""
        present = ~np.isnan(x)
        log_p = np.zeros(len(x))
        log_p[present] = self._log_sums((x[present] - self.origin) / self.bandwidth) - self.log_scale
        return log_p

    def direct(self, x: Floats) -> Floats:
        """ln p of numbers by the whole sum: what :meth:`log_density` is measured by."""
        return self._all.total((x - self.origin) / self.bandwidth) - self.log_scale

    def left_out(self, x: Floats, unit: Floats) -> Floats:
        """ln p of numbers that are among the points, without so much of the count of each; −∞ where nothing is left."""
        point_of_row = np.searchsorted(self.points, x)
        n = self.counts.sum()
        rest = np.where(n - unit > GONE * n, n - unit, 0.0)
        log_sums = np.empty(len(x))
        step = max(1, CELLS // len(self.points))
        for rows in (slice(i, i + step) for i in range(0, len(x), step)):
            away = (x[rows, None] - self.points) / self.bandwidth
            counts = np.tile(self.counts, (len(away), 1))
            left = counts[np.arange(len(away)), point_of_row[rows]] - unit[rows]
            counts[np.arange(len(away)), point_of_row[rows]] = np.where(left > GONE * n, left, 0.0)
            log_sums[rows] = logspace.log_sum_exp(logspace.log(counts) - 0.5 * away * away)
        scale = logspace.log(np.where(rest > 0, rest, 1.0)) + np.log(self.bandwidth) + LOG_ROOT
        return np.where(rest > 0, log_sums - scale, -np.inf)

    @property
    def log_scale(self) -> float:
        """ln N h √2π"""
        return float(logspace.log(self.counts.sum()) + np.log(self.bandwidth) + LOG_ROOT)

    @property
    def origin(self) -> float:
        """The number that bandwidths are counted from: values far from zero keep their digits."""
        return float(self.points[0])

    @cached_property
    def _all(self) -> Run:
        return Run((self.points - self.origin) / self.bandwidth, logspace.log(self.counts))

    @cached_property
    def _runs(self) -> tuple[list[Run], Floats]:
        """The runs, and the borders half-way between them."""
        whole = self._all
        if len(whole.points) <= FEW:
            return [whole], np.zeros(0)
        cut = np.flatnonzero(np.diff(whole.points) > GAP) + 1
        runs = [Run(p, n) for p, n in zip(np.split(whole.points, cut), np.split(whole.log_counts, cut), strict=True)]
        return runs, (whole.points[cut - 1] + whole.points[cut]) / 2

    def _log_sums(self, x: Floats) -> Floats:
        runs, borders = self._runs
        if len(runs) == 1:
            return runs[0](x)
        order = np.argsort(x, kind="stable")
        rising = x[order]
        nearest = np.searchsorted(borders, rising)
        total = np.full(len(x), -np.inf)
        for k, run in enumerate(runs):
            felt = slice(*np.searchsorted(nearest, [k - REACH, k + REACH + 1]))
            if felt.start < felt.stop:
                total[felt] = logspace.log_add_exp(total[felt], run(rising[felt]))
        log_sums = np.empty(len(x))
        log_sums[order] = total
        return log_sums


@dataclass(frozen=True, eq=False)
class KernelDensity:
    """The densities of one column: of each class, or None where the column is left out."""

    values: Values
    bandwidths: Floats
    used: bool
    classes: tuple[Bells | None, ...] = field(repr=False)

    def scores(self, x: Floats) -> Floats:
        """ln p(x | class) (numbers, classes): 0 for a missing number, and for a column that is left out.

        Numbers too large to be squared have NaN.
        """
        scores = np.zeros((len(x), len(self.classes)))
        if self.used:
            huge = np.abs(x) > LARGEST
            at = self.values.read(np.where(huge, np.nan, x))
            for c, bells in enumerate(self.classes):
                if bells is not None:
                    with np.errstate(over="ignore"):  # further away than a float can say: −∞
                        scores[:, c] = bells.log_density(at)
            scores[huge] = np.nan
        return scores

    def draw(self, labels: Array, rng: np.random.Generator) -> Floats:
        """A number for each row of these classes; NaN where the column is left out."""
        numbers = np.full(len(labels), np.nan)
        for c, bells in enumerate(self.classes):
            rows = np.flatnonzero(labels == c)
            if bells is not None and len(rows):
                which = rng.choice(len(bells.points), size=len(rows), p=bells.counts / bells.counts.sum())
                numbers[rows] = bells.points[which] + bells.bandwidth * rng.standard_normal(len(rows))
        return numbers

    def equally_probable(self, n: int) -> Floats:
        """Numbers that stand for equal parts of the probability of each class (classes, n).

        Each is a value at an even step of the counts, moved by a normal deviate from an even sequence.
        """
        from scipy.special import ndtri

        even = (np.arange(n) + 0.5) / n
        moved = ndtri((np.arange(n) * 0.6180339887498949 + 0.5) % 1.0)
        numbers = np.zeros((len(self.classes), n))
        for c, bells in enumerate(self.classes):
            if bells is not None:
                reached = np.searchsorted(np.cumsum(bells.counts) / bells.counts.sum(), even)
                numbers[c] = bells.points[np.minimum(reached, len(bells.points) - 1)] + bells.bandwidth * moved
        return numbers

    def restrict(self, classes: Array) -> KernelDensity:
        """The same for some of the classes, bandwidths held."""
        bells = tuple(self.classes[c] for c in classes)
        return replace(self, values=self.values.take(classes), bandwidths=self.bandwidths[classes], classes=bells)


def kernel_density(
    values: Values,
    class_counts: Array,
    bandwidths: Floats | None = None,
    floor: VarianceFloor | None = None,
) -> KernelDensity:
    """The densities from counted numbers, with Silverman's bandwidths, none below the floor, or those given.

    >>> x, labels = np.array([1.0, 2.0, 3.0, 4.0, 10.0]), np.array([0, 0, 0, 0, 1])
    >>> density = kernel_density(Values.of(x, labels, 2), np.array([4, 1]))
    >>> density.bandwidths.round(4).tolist()          # 0.9 · 1.291 · 4^(−1/5) and, without own spread, 0.9 · 3.5355
    [0.8806, 3.182]
    """
    points, counts = values.points, values.counts.astype(np.float64)
    n = counts.sum(axis=1)
    occurs = np.asarray(class_counts) > 0
    total = _spread(points, counts.sum(axis=0))
    used = bool(total > 0 and (n[occurs] > 0).all()) if bandwidths is None else bool((n[occurs] > 0).all())
    if not used:
        return KernelDensity(values, np.full(len(n), np.nan), False, (None,) * len(n))
    if bandwidths is None:
        least = (floor or VarianceFloor()).least(_within(points, counts), np.array(total**2))
        bandwidths = np.array([_bandwidth(points, row, total, float(np.sqrt(least))) for row in counts])
    bells = []
    for row, h in zip(counts, bandwidths, strict=True):
        occurring = row > 0 if row.any() else counts.sum(axis=0) > 0  # a class that no row shows is like all together
        bells.append(Bells(points[occurring], (row if row.any() else counts.sum(axis=0))[occurring], float(h)))
    return KernelDensity(values, bandwidths, True, tuple(bells))


def quantile(points: Floats, counts: Floats, share: float) -> float:
    """The least of the rising points at which at least this share has been counted."""
    reached = np.cumsum(counts) >= share * counts.sum() * (1 - SAME_WEIGHT)
    return float(points[int(np.argmax(reached))])


def _bandwidth(points: Floats, counts: Floats, total: float, least: float) -> float:
    n = float(counts.sum())
    spread = _spread(points, counts)
    if spread > 0:
        quartiles = quantile(points, counts, 0.75) - quantile(points, counts, 0.25)
        spread = min(spread, quartiles / SPREAD[1]) if quartiles > 0 else spread
    else:
        spread = total
    return float(max(SPREAD[0] * spread * max(n, 1.0) ** -0.2, least))


def _within(points: Floats, counts: Floats) -> Floats:
    """The variance within classes, pooled over them; NaN where no class has two values."""
    n = counts.sum(axis=1)
    if not (n >= 2).any():
        return np.array(np.nan)
    shares = (n - 1)[n > 1] / (n - 1)[n > 1].sum()  # before they meet the squares, whose sum could overflow
    return np.array(sum(share * _spread(points, row) ** 2 for share, row in zip(shares, counts[n > 1], strict=True)))


def _spread(points: Floats, counts: Floats) -> float:
    """The standard deviation with n − 1; zero where there are no two different values."""
    n = counts.sum()
    if n <= 1 or (counts > 0).sum() < 2:
        return 0.0
    scale = float(np.abs(points).max())  # squares must not overflow
    x = points / scale
    mean = (counts * x).sum() / n
    return float(np.sqrt((counts * (x - mean) ** 2).sum() / (n - 1))) * scale


def _polynomials(edges: Floats, known: tuple[Floats, Floats, Floats]) -> Floats:
    """Coefficients (6, bins), highest power first, of the quintics with these values and derivatives at the edges."""
    w = np.diff(edges)
    (f0, d0, c0), (f1, d1, c1) = ([k[i] for k in known] for i in (slice(None, -1), slice(1, None)))
    d0, d1, c0, c1 = d0 * w, d1 * w, c0 * w * w, c1 * w * w
    rise = f1 - f0
    a3 = 10 * rise - 6 * d0 - 4 * d1 - 1.5 * c0 + 0.5 * c1
    a4 = -15 * rise + 8 * d0 + 7 * d1 + 1.5 * c0 - c1
    a5 = 6 * rise - 3 * (d0 + d1) - 0.5 * (c0 - c1)
    return np.stack([a5 / w**5, a4 / w**4, a3 / w**3, 0.5 * c0 / w**2, d0 / w, f0])

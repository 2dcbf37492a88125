"""Columns of numbers with a kernel density in each class, with Gaussian kernels.

    p(x | c) = 1 / (N_c h_c) Σ_v n_vc φ((x − v) / h_c)      φ the standard normal density

with Silverman's bandwidth of each class, from the counts alone:

    h_c = 0.9 · min(s_c, IQR_c / 1.349) · N_c^(−1/5)        s_c the standard deviation, n − 1 below

If the quartiles of a class coincide, s_c replaces the minimum; a class with zero variance uses the spread of all
classes. No h_c² is below the variance floor of the column (`estimate/variance.py`), 1 % of the within-class variance. A
column that is constant, or has no value in some class, is left out for all classes.

For few values the sum is evaluated directly. Otherwise ln Σ and its first two derivatives are computed at bin edges, a
sixteenth of the bandwidth apart among the values and wider outside, and interpolated by quintic polynomials: the error
is within 1e-10, relative to the size of ln Σ if that exceeds one.

Silverman, "Density Estimation for Statistics and Data Analysis", 1986.

Formula: kernel densities, Silverman's bandwidth
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayeskit import logspace
from bayeskit.data.cells import LARGEST, raise_unusable
from bayeskit.estimate.columns.column import Columns, Leaving, LeftOutColumns, Settings, by_class
from bayeskit.estimate.sampling import nulls_for_nan
from bayeskit.estimate.variance import VarianceFloor, as_variance_floor
from bayeskit.tables import Table
from bayeskit.tally.distinct import Values
from bayeskit.tally.plan import Request
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import GONE, SAME_WEIGHT
from bayeskit.typing import Array, Bools, Floats

FEW = 64  # largest number of values summed directly
SPREAD = 0.9, 1.349  # Silverman's factor, and the quartiles of a normal distribution in standard deviations
CELLS = 1 << 20  # terms of a sum held at a time
LOG_ROOT = 0.5 * np.log(2 * np.pi)

# In bandwidths: values further apart fall into runs of their own, so that ln Σ of a run is smooth; bins inside a run;
# how far the even bins go beyond it; and how many runs on each side of the nearest one can still be felt.
GAP, BIN, MARGIN, REACH = 2.5, 1 / 16, 9.0, 4
TAIL_BIN = 1 / 16  # of the logarithm of the distance: bins beyond a run


@dataclass(frozen=True, eq=False)
class Run:
    """Group of nearby increasing ``points`` with the logarithms of their counts, in units of the bandwidth."""

    points: Floats
    log_counts: Floats

    def __call__(self, x: Floats) -> Floats:
        """Return ln Σ n_v exp(−(x − v)² / 2): directly for few points, else interpolated."""
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
        """Return ln Σ n_v exp(−(x − v)² / 2), evaluated directly."""
        log_sums = np.empty(len(x))
        step = max(1, CELLS // len(self.points))
        for rows in (slice(i, i + step) for i in range(0, len(x), step)):
            away = x[rows, None] - self.points
            log_sums[rows] = logspace.log_sum_exp(self.log_counts - 0.5 * away * away)
        return log_sums

    def sums(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Return ln Σ n_v exp(−(x − v)² / 2) and its first two derivatives."""
        away = x[:, None] - self.points
        terms = self.log_counts - 0.5 * away * away
        total = logspace.log_sum_exp(terms)
        share = logspace.exp(terms - total[:, None])
        mean = (share * away).sum(axis=1)
        return total, -mean, (share * (away - mean[:, None]) ** 2).sum(axis=1) - 1

    @cached_property
    def _inside(self) -> Any:
        """Return ln Σ along the run and its margin, as piecewise polynomials."""
        from scipy.interpolate import PPoly

        low, high = self.points[0] - MARGIN, self.points[-1] + MARGIN
        edges = np.linspace(low, high, int(np.ceil((high - low) / BIN)) + 1)
        return PPoly(_polynomials(edges, self._windowed(edges)), edges)

    def _outside(self, t: Floats, side: int) -> Floats:
        """Return ln Σ at a distance t from the first point (side 0) or the last (side 1), beyond the margin."""
        tail, far = self._tails[side]
        log_t = np.log(np.minimum(t, far))
        return tail(log_t) - 0.5 * t * t

    @cached_property
    def _tails(self) -> tuple[tuple[Any, float], tuple[Any, float]]:
        from_last = self.points[-1] - self.points[::-1], self.log_counts[::-1]
        return self._tail(self.points - self.points[0], self.log_counts), self._tail(*from_last)

    @staticmethod
    def _tail(u: Floats, log_counts: Floats) -> tuple[Any, float]:
        """Return ln Σ n exp(−t u − u² / 2) as polynomials in ln t, and the t beyond which only the outermost point
        matters."""
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
        """Return the sums at increasing numbers, from the points within reach."""
        parts = []
        for some in np.array_split(x, max(1, len(x) // 64)):
            reach = 2 * MARGIN
            near = slice(*np.searchsorted(self.points, [some[0] - reach, some[-1] + reach]))
            parts.append(Run(self.points[near], self.log_counts[near]).sums(some))
        values, slopes, bends = (np.concatenate(part) for part in zip(*parts, strict=True))
        return values, slopes, bends


@dataclass(frozen=True, eq=False)
class Bells:
    """Density of one class: increasing ``points`` with positive ``counts``, and the ``bandwidth``.

    >>> one = Bells(np.array([0.0]), np.array([3.0]), 1.0)                       # the normal density itself
    >>> bool(np.allclose(one.log_density(np.array([0.0, 2.0])), [-0.91893853, -2.91893853]))
    True
    """

    points: Floats
    counts: Floats
    bandwidth: float

    def log_density(self, x: Floats) -> Floats:
        """Return ln p of numbers; 0 for NaN."""
        present = ~np.isnan(x)
        log_p = np.zeros(len(x))
        log_p[present] = self._log_sums((x[present] - self.origin) / self.bandwidth) - self.log_scale
        return log_p

    def left_out(self, x: Floats, unit: Floats) -> Floats:
        """Return ln p of numbers among the points after reducing the count of each by ``unit``; −∞ if nothing is
        left."""
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
        """Return ln N h √2π."""
        return float(logspace.log(self.counts.sum()) + np.log(self.bandwidth) + LOG_ROOT)

    @property
    def origin(self) -> float:
        """Return the origin of the scaled numbers, which preserves digits of values far from zero."""
        return float(self.points[0])

    @cached_property
    def _all(self) -> Run:
        return Run((self.points - self.origin) / self.bandwidth, logspace.log(self.counts))

    @cached_property
    def _runs(self) -> tuple[list[Run], Floats]:
        """Return the runs and the midpoints between them."""
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
    """Densities of one column: one per class, or None if the column is left out."""

    values: Values
    bandwidths: Floats
    used: bool
    classes: tuple[Bells | None, ...] = field(repr=False)

    def scores(self, x: Floats) -> Floats:
        """Return ln p(x | class), shape (n_numbers, n_classes): 0 for a missing number or a column left out.

        Numbers too large to be squared give NaN.
        """
        scores = np.zeros((len(x), len(self.classes)))
        if self.used:
            huge = np.abs(x) > LARGEST
            at = self.values.read(np.where(huge, np.nan, x))
            for c, bells in enumerate(self.classes):
                if bells is not None:
                    with np.errstate(over="ignore"):  # overflow means −∞
                        scores[:, c] = bells.log_density(at)
            scores[huge] = np.nan
        return scores

    def draw(self, labels: Array, rng: np.random.Generator) -> Floats:
        """Draw a number for each row of these classes; NaN if the column is left out."""
        numbers = np.full(len(labels), np.nan)
        for c, bells in enumerate(self.classes):
            rows = np.flatnonzero(labels == c)
            if bells is not None and len(rows):
                which = rng.choice(len(bells.points), size=len(rows), p=bells.counts / bells.counts.sum())
                numbers[rows] = bells.points[which] + bells.bandwidth * rng.standard_normal(len(rows))
        return numbers

    def equally_probable(self, n: int) -> Floats:
        """Return numbers that represent equal parts of the probability of each class, shape (n_classes, n).

        Each is a quantile of the counts, shifted by a normal deviate from a low-discrepancy sequence.
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
        """Return the densities of some classes with unchanged bandwidths."""
        bells = tuple(self.classes[c] for c in classes)
        values = replace(self.values, counts=self.values.counts[classes])
        return replace(self, values=values, bandwidths=self.bandwidths[classes], classes=bells)


def kernel_density(values: Values, class_counts: Array, floor: VarianceFloor | None = None) -> KernelDensity:
    """Estimate densities from counted numbers, with Silverman's bandwidths, subject to the floor.

    >>> x, labels = np.array([1.0, 2.0, 3.0, 4.0, 10.0]), np.array([0, 0, 0, 0, 1])
    >>> density = kernel_density(Values.of(x, labels, 2), np.array([4, 1]))
    >>> density.bandwidths.round(4).tolist()          # 0.9 · 1.291 · 4^(−1/5) and, without own spread, 0.9 · 3.5355
    [0.8806, 3.182]
    """
    points, counts = values.points, values.counts.astype(np.float64)
    n = counts.sum(axis=1)
    occurs = np.asarray(class_counts) > 0
    total = _spread(points, counts.sum(axis=0))
    used = bool(total > 0 and (n[occurs] > 0).all())
    if not used:
        return KernelDensity(values, np.full(len(n), np.nan), False, (None,) * len(n))
    least = (floor or VarianceFloor()).least(_within(points, counts), np.array(total**2))
    bandwidths = np.array([_bandwidth(points, row, total, float(np.sqrt(least))) for row in counts])
    bells = []
    for row, h in zip(counts, bandwidths, strict=True):
        occurring = row > 0 if row.any() else counts.sum(axis=0) > 0  # a class without rows uses all classes
        bells.append(Bells(points[occurring], (row if row.any() else counts.sum(axis=0))[occurring], float(h)))
    return KernelDensity(values, bandwidths, True, tuple(bells))


def quantile(points: Floats, counts: Floats, share: float) -> float:
    """Return the smallest of the increasing points at which the cumulative share is reached."""
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
    """Return the pooled within-class variance; NaN if no class has two values."""
    n = counts.sum(axis=1)
    if not (n >= 2).any():
        return np.array(np.nan)
    shares = (n - 1)[n > 1] / (n - 1)[n > 1].sum()  # normalize first: the sum of squares could overflow
    return np.array(sum(share * _spread(points, row) ** 2 for share, row in zip(shares, counts[n > 1], strict=True)))


def _spread(points: Floats, counts: Floats) -> float:
    """Return the standard deviation with n − 1; zero without two distinct values."""
    n = counts.sum()
    if n <= 1 or (counts > 0).sum() < 2:
        return 0.0
    scale = float(np.abs(points).max())  # avoids overflow of squares
    x = points / scale
    mean = (counts * x).sum() / n
    return float(np.sqrt((counts * (x - mean) ** 2).sum() / (n - 1))) * scale


def _polynomials(edges: Floats, known: tuple[Floats, Floats, Floats]) -> Floats:
    """Return coefficients (6, n_bins), highest power first, of quintics with these values and derivatives at the
    edges."""
    w = np.diff(edges)
    (f0, d0, c0), (f1, d1, c1) = ([k[i] for k in known] for i in (slice(None, -1), slice(1, None)))
    d0, d1, c0, c1 = d0 * w, d1 * w, c0 * w * w, c1 * w * w
    rise = f1 - f0
    a3 = 10 * rise - 6 * d0 - 4 * d1 - 1.5 * c0 + 0.5 * c1
    a4 = -15 * rise + 8 * d0 + 7 * d1 + 1.5 * c0 - c1
    a5 = 6 * rise - 3 * (d0 + d1) - 0.5 * (c0 - c1)
    return np.stack([a5 / w**5, a4 / w**4, a3 / w**3, 0.5 * c0 / w**2, d0 / w, f0])


@dataclass(frozen=True, eq=False)
class KernelColumns(Columns):
    """Kernel density estimates of each column."""

    kind = "kernel"
    statistic = "distinct"
    names: tuple[str, ...]
    densities: Mapping[str, KernelDensity]
    powers: Mapping[str, float] | None = None  # exponents of the used columns

    @classmethod
    def request(cls, names: Sequence[str], settings: Settings) -> Request:
        """Return the request for distinct numbers, with the limit on how many are kept."""
        return Request(cls.statistic, tuple(names), {"max_values": int(settings.max_values)})

    @classmethod
    def estimate(cls, names: Sequence[str], tally: Tally, settings: Settings) -> Self:
        """Estimate densities with Silverman's bandwidths, none below the floor."""
        floor = as_variance_floor(settings.variance_floor)
        return cls(
            tuple(names), {n: kernel_density(tally.values[n], tally.class_counts, floor=floor) for n in names}
        )  # fmt: skip

    @cached_property
    def used(self) -> list[str]:
        """Return the columns that vary, with a number in every class."""
        return [name for name, density in self.densities.items() if density.used]

    def scores(self, name: str, cells: Array) -> Floats:
        """Return the log density."""
        log_p = self.densities[name].scores(np.asarray(cells, dtype=np.float64))
        return log_p if self.powers is None else logspace.power(log_p, self.powers.get(name, 1.0))

    def points(self, name: str, n: int) -> Floats:
        """Return the numbers of equal parts of the probability."""
        return self.densities[name].equally_probable(n)

    def table(self, name: str, tally: Tally) -> Table:
        """Return the count, the distinct numbers and the bandwidth of each class."""
        density = self.densities[name]
        counts = density.values.counts
        sizes = {"count": counts.sum(axis=1).tolist(), "distinct": (counts > 0).sum(axis=1).tolist()}
        return by_class(tally, {**sizes, "bandwidth": density.bandwidths.tolist()})

    def sample(self, name: str, labels: Array, rng: np.random.Generator) -> Any:
        """Draw observed numbers with Gaussian noise of the bandwidth."""
        return nulls_for_nan(self.densities[name].draw(labels, rng))

    def n_parameters(self) -> int:
        """Return the number of distinct values in all classes."""
        bells = (bells for density in self.densities.values() for bells in density.classes)
        return sum(0 if one is None else len(one.points) for one in bells)

    def powered(self, powers: Mapping[str, float]) -> Self:
        """Multiply log densities by the exponents."""
        return replace(self, powers=powers)

    def holding(self, all_rows: Self, classes: Array) -> Self:
        """Keep the bandwidths of all rows."""
        return replace(self, densities={n: density.restrict(classes) for n, density in all_rows.densities.items()})

    def left_out(self, tally: Tally, settings: Settings) -> LeftOutColumns:
        """Return the densities without each row; bandwidths stay fixed."""
        return LeftOutKernels({name: self.densities[name] for name in self.used})


@dataclass(frozen=True, eq=False)
class LeftOutKernels(LeftOutColumns):
    """Kernel densities without one row, with fixed bandwidths."""

    densities: Mapping[str, KernelDensity]
    _tables: dict[Bells, Floats] = field(default_factory=dict)  # of single rows removed from each point of a class

    def row_terms(self, leaving: Leaving) -> Iterator[tuple[str, Floats]]:
        """Yield each used column with ln p'(x | class) of the rows that stay."""
        rows, floats = leaving.rows, {name: leaving.block.floats[name] for name in self.densities}
        raise_unusable(floats, leaving.block.start)
        labels, unit = leaving.labels[rows], leaving.unit[rows]
        for name, density in self.densities.items():
            x = floats[name][rows]
            lacks = _lacks(density, x, labels, unit)
            if lacks.any():
                raise leaving.refuse(int(rows[np.argmax(lacks)]), name)
            yield name, self._scores(density, x, labels, unit)

    def _scores(self, density: KernelDensity, x: Floats, labels: Array, unit: Floats) -> Floats:
        """Return ln p'(x | class), (n_rows, n_classes); zero for all classes if the own one has no other value."""
        scores = density.scores(x)
        at, n = density.values.read(x), density.values.counts.sum(axis=1)
        present = ~np.isnan(x)
        for c, bells in enumerate(density.classes):
            rows = np.flatnonzero(present & (labels == c) if n[c] > 0 else present)  # without rows: all together
            if bells is not None and len(rows):
                scores[rows, c] = self._without(bells, at[rows], unit[rows])
        scores[present & (n[labels] - unit <= GONE * n[labels])] = 0.0
        return scores

    def _without(self, bells: Bells, x: Floats, unit: Floats) -> Floats:
        if not (unit == 1).all() or len(x) < len(bells.points):
            return bells.left_out(x, unit)
        if bells not in self._tables:
            self._tables[bells] = bells.left_out(bells.points, np.ones(len(bells.points)))
        return self._tables[bells][np.searchsorted(bells.points, x)]


def _lacks(density: KernelDensity, x: Floats, labels: Array, unit: Floats) -> Bools:
    """Return a mask (n_rows,) of numbers that were not counted so often in their class."""
    values = density.values
    at = values.read(x)
    slot = np.minimum(np.searchsorted(values.points, at), max(len(values.points) - 1, 0))
    if not len(values.points):
        return ~np.isnan(x)
    counted = values.counts[labels, slot] * (values.points[slot] == at)
    return ~np.isnan(x) & (counted < unit * (1 - GONE))

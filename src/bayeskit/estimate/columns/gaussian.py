"""Normal and log-normal columns.

Formula: normals of ln x
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.estimate.columns.column import (
    Columns,
    Leaving,
    LeftOutColumns,
    Row,
    Settings,
    by_class,
    number,
)
from bayeskit.estimate.columns.moments import MomentColumns, MomentEstimate, Parameters
from bayeskit.estimate.formulas import NormalDensity, WrittenFactor
from bayeskit.estimate.leave_one_out import ClosedGaussian, LeftOutGaussians, Without, numbers_in_steps
from bayeskit.estimate.sampling import nulls_for_nan
from bayeskit.estimate.variance import Gaussian, as_variance_floor, gaussian, log_peak, n_parameters, shared_variance
from bayeskit.tables import Table
from bayeskit.tally.moments import logarithm
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import LEAST_REST
from bayeskit.typing import Array, Bools, Floats


@dataclass(frozen=True, eq=False)
class GaussianColumns(Columns):
    """Means and variances (classes, columns), and the rule by which each column shares its variance."""

    kind = "gaussian"
    statistic = "moments"
    names: tuple[str, ...]
    gaussian: Gaussian
    rules: tuple[Any, ...]
    powers: Mapping[str, float] | None = None  # exponents of the used columns

    @classmethod
    def estimate(cls, names: Sequence[str], tally: Tally, settings: Settings) -> Self:
        """Estimate the columns of each variance rule together."""
        rules = tuple(settings._setting_for("variance", name, tally.schema) for name in names)
        shape = (len(tally.classes), len(rules))
        normal = Gaussian(np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(len(rules), dtype=bool))
        floor, moments = as_variance_floor(settings.variance_floor), tally.moments_of(names)
        for rule in dict.fromkeys(rules):
            index = [i for i, other in enumerate(rules) if other == rule]
            part = gaussian(moments.columns(index), rule, settings.ddof, tally.class_counts, floor)
            normal.mean[:, index], normal.variance[:, index] = part.mean, part.variance
            normal.used[index] = part.used
        return cls(tuple(names), normal, rules)

    @cached_property
    def used(self) -> list[str]:
        """Return the columns that vary, with a number in every class."""
        return [name for name, used in zip(self.names, self.gaussian.used, strict=True) if used]

    @cached_property
    def normal_form(self) -> tuple[Floats, Floats, Floats]:
        """Return (mean, precision, constant) of the used columns; the latter two are multiplied by the exponents."""
        mean, variance = (
            np.ascontiguousarray(part[:, self.gaussian.used]) for part in (self.gaussian.mean, self.gaussian.variance)
        )
        precision, constant = 1 / variance, log_peak(variance)
        if self.powers is None:
            return mean, precision, constant
        powers = np.array([self.powers[name] for name in self.used])
        return mean, precision * powers, constant * powers

    def add_scores(self, block: Block, scores: Floats, n_threads: int) -> None:
        """Call the kernel once for all columns."""
        if self.used:
            kernels.score_gaussian([block.floats[name] for name in self.used], *self.normal_form, scores, n_threads)

    def scores(self, name: str, cells: Array) -> Floats:
        """Return the log of the normal density; 0 for a missing number."""
        scores = np.zeros((len(cells), len(self.gaussian.mean)))
        if name in self.used:
            index = [self.used.index(name)]
            mean, precision, constant = (np.ascontiguousarray(part[:, index]) for part in self.normal_form)
            kernels.score_gaussian([np.asarray(cells, dtype=np.float64)], mean, precision, constant, scores, 1)
        return scores

    def write_factors(self, name: str, block: Block, tally: Tally) -> list[WrittenFactor]:
        """Return the density with mean and variance filled in."""
        x, i = float(block.floats[name][0]), self.names.index(name)
        if name not in self.used or np.isnan(x):
            return []
        mean, variance = self.gaussian.mean[:, i].tolist(), self.gaussian.variance[:, i].tolist()
        densities = tuple(NormalDensity(x, m, v) for m, v in zip(mean, variance, strict=True))
        return [WrittenFactor(name, f"{x:.6g}", densities)]

    def points(self, name: str, n: int) -> Floats:
        """Return quantiles in even steps."""
        from scipy.special import ndtri

        i = [self.names.index(name)]
        mean, spread = self.gaussian.mean[:, i], np.sqrt(self.gaussian.variance[:, i])
        return mean + spread * ndtri((np.arange(n) + 0.5) / n)

    def table(self, name: str, tally: Tally) -> Table:
        """Return mean and variance of each class."""
        i = self.names.index(name)
        mean, variance = (part[:, i].tolist() for part in (self.gaussian.mean, self.gaussian.variance))
        count = tally.moments_of([name]).n[:, 0].tolist()
        return by_class(tally, {"count": count, "mean": mean, "variance": variance})

    def sample(self, name: str, labels: Array, rng: np.random.Generator) -> Any:
        """Draw normal numbers."""
        i = self.names.index(name)
        spread = np.sqrt(self.gaussian.variance[labels, i])
        return nulls_for_nan(self.gaussian.mean[labels, i] + spread * rng.standard_normal(len(labels)))

    def n_parameters(self) -> int:
        """Return the number of means and of free variances."""
        rules = [rule for rule, used in zip(self.rules, self.gaussian.used, strict=True) if used]
        n_classes = len(self.gaussian.mean)
        return sum(n_parameters(rule, n_classes, rules.count(rule)) for rule in dict.fromkeys(rules))

    def one_cell(self, name: str, refuse_unseen: bool) -> Callable[[Any], Row]:
        """Return a scorer that computes as the kernel does."""
        if name not in self.used:
            return GaussianCell((), (), ())
        j = self.used.index(name)
        mean, precision, constant = (part[:, j] for part in self.normal_form)
        return GaussianCell(mean.tolist(), (0.5 * precision).tolist(), constant.tolist())

    def powered(self, powers: Mapping[str, float]) -> Self:
        """Multiply precisions and constants by the exponents."""
        return replace(self, powers=powers)

    def left_out(self, tally: Tally, settings: Settings) -> LeftOutColumns:
        """Group columns by variance rule and by whether they have a closed form."""
        by_rule: dict[Any, list[str]] = {}
        for name, rule in zip(self.names, self.rules, strict=True):
            by_rule.setdefault(rule, []).append(name)
        counts = tally.class_counts.astype(np.float64)
        parts: list[GaussianPart] = []
        for rule, names in by_rule.items():
            floor = as_variance_floor(settings.variance_floor)
            gaussians = LeftOutGaussians(tally.moments_of(names), counts, rule, settings.ddof, floor)
            closed = gaussians.closed()
            for index in (np.flatnonzero(closed), np.flatnonzero(~closed)):
                if len(index):
                    part = gaussians if len(index) == len(names) else gaussians.columns(index)
                    form = part.closed_form() if closed[index[0]] else None
                    parts.append(GaussianPart([names[i] for i in index], part, form))
        return LeftOutGaussianColumns(parts, self.used)


@dataclass(frozen=True, eq=False)
class GaussianPart:
    """Columns of one variance rule, and their closed form where they have one."""

    names: list[str]
    gaussians: LeftOutGaussians
    form: ClosedGaussian | None


@dataclass(frozen=True, eq=False)
class LeftOutGaussianColumns(LeftOutColumns):
    """Gaussian columns without one row."""

    parts: Sequence[GaussianPart]
    used: Sequence[str]

    def add_scores(self, leaving: Leaving, scores: Floats, n_threads: int) -> None:
        """Use the closed form where it is accurate, else double-double."""
        for part in self.parts:
            rows = leaving.stays
            if part.form is not None and leaving.whole:
                columns = [leaving.block.floats[name] for name in part.names]
                least = max(LEAST_REST, float(part.gaussians.floored_rest.max()))
                labels, form = leaving.labels, part.form.parts
                rows = kernels.score_gaussian_left_out(columns, labels, *form, least, scores, n_threads)
            if rows.any():
                exact = part.gaussians.scores
                for some, x in numbers_in_steps(leaving, np.flatnonzero(rows), part.names, part.gaussians.moments):
                    scores[some] += exact(x, leaving.labels[some], leaving.unit[some])

    def terms(self, leaving: Leaving) -> Mapping[str, Floats]:
        """Return the terms, computed in double-double."""
        shape = (leaving.block.n_rows, len(leaving.classes))
        terms = {name: np.zeros(shape) for name in self.used}
        for part in self.parts:
            for some, x in numbers_in_steps(leaving, leaving.rows, part.names):
                of_part = part.gaussians.terms(x, leaving.labels[some], leaving.unit[some])
                for j, name in enumerate(part.names):
                    if name in terms:
                        terms[name][some] = of_part[:, :, j]
        return terms


class GaussianCell:
    """The scores of a number under a normal distribution in each class."""

    def __init__(self, mean: Iterable[float], half: Iterable[float], constant: Iterable[float]) -> None:
        self.parts = list(zip(mean, half, constant, strict=True))
        self.missing: Row = (0.0,) * len(self.parts)

    def __call__(self, cell: Any) -> Row:
        x = number(cell)
        if x is None:
            return self.missing
        return tuple([k - h * ((x - m) * (x - m)) for m, h, k in self.parts])


class LogNormalColumns(MomentColumns):
    """Mean and variance of ln x in each class.

    >>> from bayeskit import NaiveBayes
    >>> prices = {"price": [1.0, np.e**2, np.e**4, np.e**6]}
    >>> print(NaiveBayes(numeric="lognormal").fit(prices, ["a", "a", "b", "b"]).table("price"))
    class  count   median  mean of ln  variance of ln
    a          2  2.71828           1               2
    b          2  148.413           5               2
    """

    kind = "lognormal"
    statistic = "logarithms"
    refusal = "has no logarithm"

    @classmethod
    def believe(cls, moments: Without, occurs: Bools, settings: Settings) -> MomentEstimate:
        """Estimate means and variances of the logarithms."""
        floor = as_variance_floor(settings.variance_floor)
        variance, used = shared_variance(
            moments.n, moments.squares, moments.total_squares, occurs, "class_feature", settings.ddof, floor
        )
        mean = np.where(moments.n > 0, moments.mean, moments.total_mean[..., None, :])
        return MomentEstimate({"mean": mean, "variance": variance}, used)

    @staticmethod
    def counted(x: Floats) -> Floats:
        """Return ln x."""
        return logarithm(x)

    @staticmethod
    def log_density(x: Floats, parameters: Parameters) -> Floats:
        """Return the log density of the log-normal distribution."""
        log_x, variance = logarithm(x), parameters["variance"]
        away = log_x - parameters["mean"]
        return -0.5 * (away * away / variance + logspace.log(2 * np.pi * variance)) - log_x

    @staticmethod
    def possible(x: Floats) -> Bools:
        """Return a mask of the numbers above zero."""
        return x > 0

    def points(self, name: str, n: int) -> Floats:
        """Return quantiles in even steps."""
        from scipy.special import ndtri

        mean, variance = (part[:, None] for part in self.parameters(name).values())
        return np.exp(mean + np.sqrt(variance) * ndtri((np.arange(n) + 0.5) / n))

    def figures(self, name: str, tally: Tally) -> dict[str, Floats]:
        """Return the median of each class, and mean and variance of the logarithms."""
        mean, variance = self.parameters(name).values()
        return {"median": np.exp(mean), "mean of ln": mean, "variance of ln": variance}

    def sample(self, name: str, labels: Array, rng: np.random.Generator) -> Any:
        """Draw numbers whose logarithm is normal."""
        mean, variance = (part[labels] for part in self.parameters(name).values())
        return nulls_for_nan(np.exp(mean + np.sqrt(variance) * rng.standard_normal(len(labels))))

"""Columns whose sufficient statistics are moments: normal, log-normal, Student and Poisson.

Formula: normals of ln x
Formula: the posterior predictive of a normal
Formula: the posterior predictive of a Poisson rate
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.data.cells import LARGEST
from bayeskit.errors import UnknownValue
from bayeskit.estimate.columns.column import (
    Columns,
    Leaving,
    LeftOutColumns,
    NotFastPath,
    Row,
    Settings,
    by_class,
    number,
)
from bayeskit.estimate.formulas import NormalDensity, WrittenFactor
from bayeskit.estimate.leave_one_out import LeftOutGaussians, Without, numbers_in_steps, terms_by_column, without
from bayeskit.estimate.sampling import nulls_for_nan
from bayeskit.estimate.variance import (
    Gaussian,
    as_variance_floor,
    gaussian,
    log_peak,
    n_parameters,
    pooled_variance,
    shared_variance,
    within_or_total,
)
from bayeskit.tables import Table
from bayeskit.tally.moments import LARGEST_COUNT, Moments, are_counts, logarithm
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import LEAST_REST
from bayeskit.typing import Array, Bools, Floats

Parameters = Mapping[str, Floats]
PRIOR_ROWS = 2.0  # weight of the prior of a Student variance
FEW = 1024  # counts below it are scored once and looked up


class MomentEstimate(NamedTuple):
    """Parameters by name (…, classes, columns), and which columns can be used (…, columns)."""

    parameters: Parameters
    used: Bools


@dataclass(frozen=True, eq=False)
class MomentColumns(Columns):
    """Parameters of each column by class, estimated from moments, and the exponents of the columns."""

    statistic = "moments"
    n_free: ClassVar[int] = 2  # parameters of each class
    refusal: ClassVar[str] = ""  # why a number is impossible
    names: tuple[str, ...]
    belief: MomentEstimate
    powers: Mapping[str, float] | None = None

    @classmethod
    @abstractmethod
    def from_moments(cls, moments: Without, occurs: Bools, settings: Settings) -> MomentEstimate:
        """Estimate parameters from moments; ``occurs`` (…, n_classes) marks the classes that have rows."""

    @staticmethod
    @abstractmethod
    def log_density(x: Floats, parameters: Parameters) -> Floats:
        """Return ln p(x), broadcast with the parameters; NaN for missing numbers."""

    @staticmethod
    def possible(x: Floats) -> Bools:
        """Return a mask of the numbers that can occur; the others are ignored like unseen values."""
        return np.ones(x.shape, dtype=bool)

    @staticmethod
    def counted(x: Floats) -> Floats:
        """Return the transformed numbers that enter the moments."""
        return x

    @classmethod
    def estimate(cls, names: Sequence[str], tally: Tally, settings: Settings) -> Self:
        """Estimate the parameters from the moments of each class."""
        moments = tally.moments_of(names)
        together = moments.pooled()
        of_class = moments.n.astype(np.float64), moments.mean(), moments.squared_deviations()
        parts = Without(*of_class, together.mean()[0], together.squared_deviations()[0])
        return cls(tuple(names), cls.from_moments(parts, tally.class_counts > 0, settings))

    @cached_property
    def used(self) -> list[str]:
        """Return the columns that vary, with a number in every class that occurs."""
        return [name for name, used in zip(self.names, self.belief.used, strict=True) if used]

    def parameters(self, name: str) -> dict[str, Floats]:
        """Return the parameters of one column by class."""
        j = self.names.index(name)
        return {key: np.ascontiguousarray(part[:, j]) for key, part in self.belief.parameters.items()}

    def scores(self, name: str, cells: Array) -> Floats:
        """Return ln p(x | class): 0 for a missing number, NaN for one too large to be squared."""
        x = np.asarray(cells, dtype=np.float64)
        if name not in self.used:
            return np.zeros((len(x), len(next(iter(self.belief.parameters.values())))))
        log_p = self.log_density(x[:, None], self._of[name])
        if self.powers is not None:
            log_p = log_p * self.powers[name]
        log_p[np.isnan(x) | ~self.possible(x)] = 0.0
        log_p[np.abs(x) > LARGEST] = np.nan
        return log_p

    def unseen(self, name: str, block: Block) -> Bools:
        """Return a mask of numbers that cannot occur."""
        x = block.floats[name]
        return ~np.isnan(x) & ~self.possible(x)

    @cached_property
    def _of(self) -> Mapping[str, Parameters]:
        return {name: self.parameters(name) for name in self.names}

    def one_cell(self, name: str, refuse_unseen: bool) -> Callable[[Any], Row]:
        """Return a scorer of one cell."""
        used = name in self.used

        def score(cell: Any) -> Row:
            x = number(cell)
            if x is None or not used:
                return ()
            if refuse_unseen and not self.possible(np.array(x)):
                raise NotFastPath
            return tuple(self.scores(name, np.array([x]))[0].tolist())

        return score

    def refuse_unseen(self, block: Block) -> None:
        """Raise an error for numbers that cannot occur."""
        for name in self.used:
            rows = np.flatnonzero(self.unseen(name, block))
            if len(rows):
                raise UnknownValue(
                    f"column {name!r} has {block.floats[name][rows[0]]:g} in row {block.start + rows[0]}, which "
                    f'{self.refusal}. Pass unseen="ignore" to leave the column out for such rows.'
                )

    def figures(self, name: str, tally: Tally) -> dict[str, Floats]:
        """Return what the table shows of each class beside its count."""
        return self.parameters(name)

    def table(self, name: str, tally: Tally) -> Table:
        """Return the count of each class and the figures of its distribution."""
        count = tally.moments_of([name]).n[:, 0].tolist()
        return by_class(tally, {"count": count, **{k: v.tolist() for k, v in self.figures(name, tally).items()}})

    def n_parameters(self) -> int:
        """Return the number of parameters of all classes and used columns."""
        return self.n_free * len(next(iter(self.belief.parameters.values()))) * len(self.used)

    def powered(self, powers: Mapping[str, float]) -> Self:
        """Multiply log densities by the exponents."""
        return replace(self, powers=powers)

    def left_out(self, tally: Tally, settings: Settings) -> LeftOutColumns:
        """Return the columns, estimated from the moments without each row."""
        return LeftOutMoments(self, tally.moments_of(self.names), tally.class_counts > 0, settings)


@dataclass(frozen=True, eq=False)
class LeftOutMoments(LeftOutColumns):
    """Moment columns without one row, in double-double."""

    columns: MomentColumns
    moments: Moments
    occurs: Bools
    settings: Settings

    def add_scores(self, leaving: Leaving, scores: Floats, n_threads: int) -> None:
        """Add the scores of batches of rows."""
        moments, counted = self.moments, self.columns.counted
        for rows, x in numbers_in_steps(leaving, leaving.rows, self.columns.names, moments, counted):
            for i, j in np.argwhere(~np.isnan(x) & ~self.columns.possible(x)):
                raise leaving.refuse(int(rows[i]), self.columns.names[j])
            scores[rows] += self._terms(x, leaving.labels[rows], leaving.unit[rows]).sum(axis=-1)

    def terms(self, leaving: Leaving) -> Mapping[str, Floats]:
        """Return the terms of the used columns."""
        return terms_by_column(leaving, [(self.columns.names, self._terms)], self.columns.used)

    def _terms(self, x: Floats, labels: Array, unit: Floats) -> Floats:
        """Return ln p'(x | class), (n_rows, n_classes, n_columns); 0 for missing and unused cells."""
        occurs = np.repeat(self.occurs[None], len(x), axis=0)
        left = without(self.moments, self.columns.counted(x), labels, unit)
        belief = self.columns.from_moments(left, occurs, self.settings)
        log_p = self.columns.log_density(x[:, None, :], belief.parameters)
        unused = np.isnan(x) | ~belief.used
        return np.where(unused[:, None, :], 0.0, log_p)


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
    def from_moments(cls, moments: Without, occurs: Bools, settings: Settings) -> MomentEstimate:
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


class StudentColumns(MomentColumns):
    """Normal columns with the uncertainty about mean and variance carried along: a Student distribution in each class.

    The mean of a class has a flat prior, its variance a prior worth two rows with the variance s_p² of the column
    within the classes. The posterior predictive of the next number is a Student distribution with

        ν_c   = n_c + 1                                             degrees of freedom
        μ_c   = x̄_c                                                 location
        σ_c²  = (Σ(x − x̄_c)² + 2 s_p²) / (n_c + 1) · (1 + 1/n_c)     squared scale

    so that a class of few numbers is wide and has heavy tails, and one of many is Gaussian. The first factor of σ_c² is
    never below the floor of the column's variances. If the classes have no spread within, s_p² is the total variance. A
    class with one number has that number as its location and 2 s_p² as its squared scale; a declared class without rows
    is like one number in the middle of all. A column that is constant, or in which a class that occurs has no number,
    is left out for all classes.

    Gelman, Carlin, Stern, Rubin, "Bayesian Data Analysis", 1995, chapter 3.

    >>> from bayeskit import NaiveBayes
    >>> model = NaiveBayes(numeric="student").fit({"x": [1.0, 2.0, 3.0, 7.0]}, ["a", "a", "a", "b"])
    >>> print(model.table("x"))                       # s_p² = 1: √((2 + 2)/4 · 4/3), √((0 + 2)/2 · 2)
    class  count  location    scale  freedom
    a          3         2   1.1547        4
    b          1         7  1.41421        2
    """

    kind = "student"

    @classmethod
    def from_moments(cls, moments: Without, occurs: Bools, settings: Settings) -> MomentEstimate:
        """Apply the formulas of the class."""
        pooled, total, used = pooled_variance(
            moments.n, moments.squares, moments.total_squares, occurs, settings.ddof
        )  # fmt: skip
        occurring = moments.n > 0
        n = np.where(occurring, moments.n, 1.0)
        location = np.where(occurring, moments.mean, moments.total_mean[..., None, :])
        expected = (np.where(occurring, moments.squares, 0.0) + PRIOR_ROWS * within_or_total(pooled, total)) / (n + 1)
        variance = np.maximum(expected, as_variance_floor(settings.variance_floor).least(pooled, total))
        scale = np.sqrt(np.where(used[..., None, :], variance * (1 + 1 / n), np.nan))
        return MomentEstimate({"location": location, "scale": scale, "freedom": n + 1}, used)

    @staticmethod
    def log_density(x: Floats, parameters: Parameters) -> Floats:
        """Return −ln B(½, ν/2) − ln(√ν σ) − (ν + 1)/2 · ln(1 + (x − μ)² / νσ²): B keeps its digits for many rows."""
        from scipy.special import betaln

        freedom = parameters["freedom"]
        width = np.sqrt(freedom) * parameters["scale"]
        with np.errstate(over="ignore"):
            away = (x - parameters["location"]) / width
            squares = away * away
        far = np.log1p(squares)
        beyond = np.isinf(squares)
        if beyond.any():  # a tail is never zero, however far
            far[beyond] = 2 * np.log(np.abs(away[beyond]))
        return -betaln(0.5, freedom / 2) - logspace.log(width) - (freedom + 1) / 2 * far

    def points(self, name: str, n: int) -> Floats:
        """Return quantiles in even steps."""
        from scipy.special import stdtrit

        location, scale, freedom = (part[:, None] for part in self.parameters(name).values())
        return location + scale * stdtrit(freedom, (np.arange(n) + 0.5) / n)

    def sample(self, name: str, labels: Array, rng: np.random.Generator) -> Any:
        """Draw Student numbers."""
        location, scale, freedom = (part[labels] for part in self.parameters(name).values())
        return nulls_for_nan(location + scale * rng.standard_t(freedom))


class PoissonColumns(MomentColumns):
    """Counts: Poisson in each class, with the uncertainty about the rate carried along.

    The rate of a class has a Gamma prior worth one row at the rate r of all classes together. With n_c counts that sum
    to S_c its posterior is Gamma(r + S_c, 1 + n_c), and the next count is negative binomial:

        P(x | c) = Γ(k + x) / (Γ(k) x!) · p^k (1 − p)^x,     k = r + S_c,   p = (1 + n_c) / (2 + n_c)

    Its mean is (r + S_c) / (1 + n_c); with many rows it is the Poisson distribution of that rate. No rate is zero, so
    no count rules a class out by itself. A declared class without rows has the prior alone. A column that is constant,
    or in which a class that occurs has no count, is left out for all classes. The parameters are k and 1 + n_c.

    Numbers that are not counts (negative, or with a fraction) are refused in learning. In prediction they are treated
    as values never seen: they are ignored, or refused by ``unseen="error"``.

    Gelman, Carlin, Stern, Rubin, "Bayesian Data Analysis", 1995, section 2.7.

    >>> from bayeskit import NaiveBayes
    >>> model = NaiveBayes(numeric="poisson").fit({"calls": [0, 1, 2, 9]}, ["a", "a", "a", "b"])
    >>> print(model.table("calls"))                             # r = 3: (3 + 3) / (1 + 3), (3 + 9) / (1 + 1)
    class  count  sum  rate
    a          3    3   1.5
    b          1    9     6
    """

    kind = "poisson"
    statistic = "counts"
    whole = True
    n_free = 1
    refusal = "is not a count"

    @classmethod
    def from_moments(cls, moments: Without, occurs: Bools, settings: Settings) -> MomentEstimate:
        """Apply the formulas of the class."""
        _, _, used = pooled_variance(moments.n, moments.squares, moments.total_squares, occurs, 0)
        sums = np.where(moments.n > 0, moments.n * moments.mean, 0.0)
        return MomentEstimate({"size": moments.total_mean[..., None, :] + sums, "rows": moments.n + 1}, used)

    @staticmethod
    def log_density(x: Floats, parameters: Parameters) -> Floats:
        """Return −ln(x B(k, x)) + k ln p + x ln(1 − p): −ln(x B(k, x)) is ln Γ(k + x)/(Γ(k) x!) with all its digits."""
        from scipy.special import betaln

        size, rows = parameters["size"], parameters["rows"]
        some = x > 0
        ways = np.where(some, -betaln(size, np.where(some, x, 1.0)) - np.log(np.where(some, x, 1.0)), 0.0)
        return ways - size * np.log1p(1 / rows) - x * np.log1p(rows)

    @staticmethod
    def possible(x: Floats) -> Bools:
        """Return a mask of the counts."""
        return are_counts(x)

    def scores(self, name: str, cells: Array) -> Floats:
        """Look small counts up."""
        x = np.asarray(cells, dtype=np.float64)
        small = (x >= 0) & (x < FEW) & (x == np.floor(x))
        if not small.any() or name not in self.used:
            return super().scores(name, x)
        if not small.all():
            scores = np.empty((len(x), len(self.belief.parameters["size"])))
            scores[small], scores[~small] = self.scores(name, x[small]), super().scores(name, x[~small])
            return scores
        return self._small(name)[x.astype(np.int64)]

    def _small(self, name: str) -> Floats:
        if name not in self._looked_up:
            self._looked_up[name] = super().scores(name, np.arange(FEW, dtype=np.float64))
        return self._looked_up[name]

    @cached_property
    def _looked_up(self) -> dict[str, Floats]:
        return {}

    def one_cell(self, name: str, refuse_unseen: bool) -> Callable[[Any], Row]:
        """Look small counts up."""
        score = super().one_cell(name, refuse_unseen)
        if name not in self.used:
            return score
        small: list[Row] = [tuple(row) for row in self._small(name).tolist()]

        def score_count(cell: Any) -> Row:
            x = number(cell)
            is_small = x is not None and 0 <= x < FEW and x.is_integer()
            return small[int(x)] if is_small else score(cell)  # type: ignore[arg-type]

        return score_count

    def points(self, name: str, n: int) -> Floats:
        """Return quantiles in even steps."""
        from scipy.stats import nbinom

        size, rows = (part[:, None] for part in self.parameters(name).values())
        return np.asarray(nbinom.ppf((np.arange(n) + 0.5) / n, size, rows / (rows + 1)))

    def figures(self, name: str, tally: Tally) -> dict[str, Floats]:
        """Return the sums of the counts and the expected rates."""
        size, rows = self.parameters(name).values()
        rate = np.where(self.belief.used[self.names.index(name)], size / rows, np.nan)
        return {"sum": tally.moments_of([name]).sum_hi[:, 0], "rate": rate}

    def sample(self, name: str, labels: Array, rng: np.random.Generator) -> Any:
        """Draw counts."""
        if name not in self.used:
            return nulls_for_nan(np.full(len(labels), np.nan))
        size, rows = (part[labels] for part in self.parameters(name).values())
        return nulls_for_nan(np.minimum(rng.negative_binomial(size, rows / (rows + 1)), LARGEST_COUNT) + 0.0)


def log_poisson(count: npt.ArrayLike, rate: float) -> Floats:
    """Return ln P(count) of a Poisson distribution with a known rate.

    >>> log_poisson([0, 2], 2.0).round(6).tolist()                       # e⁻², e⁻² 2² / 2!
    [-2.0, -1.306853]
    """
    from scipy.special import gammaln, xlogy

    n = np.asarray(count, dtype=np.float64)
    return xlogy(n, rate) - rate - gammaln(n + 1)


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
        counts, floor = tally.class_counts.astype(np.float64), as_variance_floor(settings.variance_floor)
        parts: list[LeftOutGaussians] = []
        for rule in dict.fromkeys(self.rules):
            names = tuple(name for name, other in zip(self.names, self.rules, strict=True) if other == rule)
            parts += LeftOutGaussians(names, tally.moments_of(names), counts, rule, settings.ddof, floor).split()
        return LeftOutGaussianColumns(parts, self.used)


@dataclass(frozen=True, eq=False)
class LeftOutGaussianColumns(LeftOutColumns):
    """Gaussian columns without one row."""

    parts: Sequence[LeftOutGaussians]
    used: Sequence[str]

    def add_scores(self, leaving: Leaving, scores: Floats, n_threads: int) -> None:
        """Add the scores of all columns of a part at once."""
        for part in self.parts:
            _add_gaussians(part, leaving, scores, n_threads)

    def terms(self, leaving: Leaving) -> Mapping[str, Floats]:
        """Return the terms, each column by itself where there is a closed form."""
        exact = [(part.names, part.terms) for part in self.parts if part.closed_form is None or not leaving.whole]
        terms = terms_by_column(leaving, exact, self.used)
        done = {name for names, _ in exact for name in names}
        for part in self.parts:
            for j, name in enumerate(part.names):
                if name in terms and name not in done:
                    _add_gaussians(part, leaving, terms[name], 1, slice(j, j + 1))
        return terms


def _add_gaussians(
    part: LeftOutGaussians, leaving: Leaving, scores: Floats, n_threads: int, which: slice = slice(None)
) -> None:
    """Add the scores of columns by the closed form where it is accurate, else in double-double."""
    rows, form, names = leaving.stays, part.closed_form, part.names[which]
    if form is not None and leaving.whole:
        columns = [leaving.block.floats[name] for name in names]
        least = max(LEAST_REST, float(part.floored_rest[:, which].max()))
        mean, precision, constant, rate, own, own_constant = (np.ascontiguousarray(array[:, which]) for array in form)
        rows = kernels.score_gaussian_left_out(
            columns, leaving.labels, mean, precision, constant, rate, own, own_constant, least, scores, n_threads
        )
    if rows.any():
        part = replace(part, names=names, moments=part.moments.columns(np.arange(len(part.names))[which]))
        for some, x in numbers_in_steps(leaving, np.flatnonzero(rows), names, part.moments):
            scores[some] += part.terms(x, leaving.labels[some], leaving.unit[some]).sum(axis=-1)


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

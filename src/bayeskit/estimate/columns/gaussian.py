"""Normal columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayeskit import kernels
from bayeskit.data.block import Block
from bayeskit.estimate.columns.column import Columns, Leaving, LeftOutColumns, Row, Settings, by_class, number
from bayeskit.estimate.formulas import NormalDensity, WrittenFactor
from bayeskit.estimate.leave_one_out import LeftOutGaussians, numbers_in_steps, terms_by_column
from bayeskit.estimate.sampling import nulls_for_nan
from bayeskit.estimate.variance import Gaussian, as_variance_floor, gaussian, log_peak, n_parameters
from bayeskit.tables import Table
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import LEAST_REST
from bayeskit.typing import Array, Floats


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
        """Use the closed form where it is accurate, else double-double."""
        for part in self.parts:
            rows, form = leaving.stays, part.closed_form
            if form is not None and leaving.whole:
                columns = [leaving.block.floats[name] for name in part.names]
                least = max(LEAST_REST, float(part.floored_rest.max()))
                rows = kernels.score_gaussian_left_out(columns, leaving.labels, *form, least, scores, n_threads)
            if rows.any():
                for some, x in numbers_in_steps(leaving, np.flatnonzero(rows), part.names, part.moments):
                    scores[some] += part.terms(x, leaving.labels[some], leaving.unit[some]).sum(axis=-1)

    def terms(self, leaving: Leaving) -> Mapping[str, Floats]:
        """Return the terms, computed in double-double."""
        return terms_by_column(leaving, ((part.names, part.terms) for part in self.parts), self.used)


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

"""Columns of numbers that are normal in each class, with the doubt about mean and variance carried along.

The mean of a class has a flat prior, its variance a prior worth two rows with the variance s_p² of the column within
the classes. What is to be expected of the next number is then a Student distribution with

    ν_c   = n_c + 1                                             degrees of freedom
    μ_c   = x̄_c                                                 location
    σ_c²  = (Σ(x − x̄_c)² + 2 s_p²) / (n_c + 1) · (1 + 1/n_c)     scale, squared

so that a class of few numbers is wide and has heavy tails, and one of many is the Gaussian. The first factor of σ_c² is
never below the floor of the column's variances. Where the classes have no spread within, s_p² is the total variance. A
class with one number has that number as its location and 2 s_p² as its squared scale; one that is declared and has no
rows is like one number in the middle of all. A column that is constant, or in which a class that occurs has no number,
is left out for all classes.

Gelman, Carlin, Stern, Rubin, "Bayesian Data Analysis", 1995, chapter 3.

Formula: the posterior predictive of a normal
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.estimate.columns.column import Settings
from bayeskit.estimate.columns.moments import MomentColumns, MomentEstimate, Parameters
from bayeskit.estimate.leave_one_out import Without
from bayeskit.estimate.sampling import nulls_for_nan
from bayeskit.estimate.variance import as_variance_floor, pooled_variance, within_or_total
from bayeskit.typing import Array, Bools, Floats

ROWS = 2.0  # what the prior of the variance is worth


class StudentColumns(MomentColumns):
    """Degrees of freedom, location and scale of each class.

    >>> from bayeskit import NaiveBayes
    >>> model = NaiveBayes(numeric="student").fit({"x": [1.0, 2.0, 3.0, 7.0]}, ["a", "a", "a", "b"])
    >>> print(model.table("x"))                       # s_p² = 1: √((2 + 2)/4 · 4/3), √((0 + 2)/2 · 2)
    class  count  location    scale  freedom
    a          3         2   1.1547        4
    b          1         7  1.41421        2
    """

    kind = "student"

    @classmethod
    def believe(cls, moments: Without, occurs: Bools, settings: Settings) -> MomentEstimate:
        """The formulas above."""
        pooled, total, used = pooled_variance(
            moments.n, moments.squares, moments.total_squares, occurs, settings.ddof
        )  # fmt: skip
        occurring = moments.n > 0
        n = np.where(occurring, moments.n, 1.0)
        location = np.where(occurring, moments.mean, moments.total_mean[..., None, :])
        expected = (np.where(occurring, moments.squares, 0.0) + ROWS * within_or_total(pooled, total)) / (n + 1)
        variance = np.maximum(expected, as_variance_floor(settings.variance_floor).least(pooled, total))
        scale = np.sqrt(np.where(used[..., None, :], variance * (1 + 1 / n), np.nan))
        return MomentEstimate({"location": location, "scale": scale, "freedom": n + 1}, used)

    @staticmethod
    def log_density(x: Floats, parameters: Parameters) -> Floats:
        """−ln B(½, ν/2) − ln(√ν σ) − (ν + 1)/2 · ln(1 + (x − μ)² / νσ²): B keeps its digits for many rows."""
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
        """Quantiles in even steps."""
        from scipy.special import stdtrit

        location, scale, freedom = (part[:, None] for part in self.parameters(name).values())
        return location + scale * stdtrit(freedom, (np.arange(n) + 0.5) / n)

    def sample(self, name: str, labels: Array, rng: np.random.Generator) -> Any:
        """Numbers as they are to be expected."""
        location, scale, freedom = (part[labels] for part in self.parameters(name).values())
        return nulls_for_nan(location + scale * rng.standard_t(freedom))

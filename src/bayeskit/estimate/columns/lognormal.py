"""Columns of numbers above zero whose logarithm is normal in each class: sizes, prices, times.

    ln p(x | c) = −½ (ln x − μ_c)² / σ_c² − ½ ln 2πσ_c² − ln x

with mean μ_c and variance σ_c² of ln x, each class its own, under the floor and the rules for few numbers of
:mod:`bayeskit.estimate.variance`. A column that is constant, or in which a class that occurs has no number, is left out
for all classes.

Numbers that are not above zero are refused in learning. When a model is asked of one it is as a value never seen: it
says nothing, and ``unseen="error"`` refuses it.

Formula: normals of ln x
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.errors import UnknownValue
from bayeskit.estimate.columns.column import Settings, by_class
from bayeskit.estimate.columns.of_moments import Belief, MomentColumns, Parameters
from bayeskit.estimate.columns.one_cell import Odd, Row, number
from bayeskit.estimate.left_out import Without
from bayeskit.estimate.sampling import nulls_for_nan
from bayeskit.estimate.variance import as_variance_floor, shared_variance
from bayeskit.tables.table import Table
from bayeskit.tally.moments import logarithm
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array, Bools, Floats


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

    @classmethod
    def believe(cls, moments: Without, occurs: Bools, settings: Settings) -> Belief:
        """As for a Gaussian, of logarithms."""
        floor = as_variance_floor(settings.variance_floor)
        variance, used = shared_variance(
            moments.n, moments.squares, moments.total_squares, occurs, "class_feature", settings.ddof, floor
        )
        mean = np.where(moments.n > 0, moments.mean, moments.total_mean[..., None, :])
        return Belief({"mean": mean, "variance": variance}, used)

    @staticmethod
    def counted(x: Floats) -> Floats:
        """ln x."""
        return logarithm(x)

    @staticmethod
    def log_density(x: Floats, parameters: Parameters) -> Floats:
        """The formula above."""
        log_x, variance = logarithm(x), parameters["variance"]
        away = log_x - parameters["mean"]
        return -0.5 * (away * away / variance + logspace.log(2 * np.pi * variance)) - log_x

    @staticmethod
    def possible(x: Floats) -> Bools:
        """Numbers above zero."""
        return x > 0

    def one_cell(self, name: str, refuse_unseen: bool) -> Callable[[Any], Row]:
        """A table of one cell; what ``unseen="error"`` refuses is for a table to say."""
        score = super().one_cell(name, refuse_unseen)
        if not refuse_unseen or name not in self.used:
            return score

        def score_possible(cell: Any) -> Row:
            x = number(cell)
            if x is not None and not x > 0:
                raise Odd
            return score(cell)

        return score_possible

    def refuse_unseen(self, block: Block) -> None:
        """Numbers without a logarithm."""
        for name in self.used:
            x = block.floats[name]
            rows = np.flatnonzero(~np.isnan(x) & ~self.possible(x))
            if len(rows):
                raise UnknownValue(
                    f"column {name!r} has {x[rows[0]]:g} in row {block.start + rows[0]}, which has no logarithm. "
                    'Pass unseen="ignore" to leave the column out for such rows.'
                )

    def points(self, name: str, n: int) -> Floats:
        """Quantiles in even steps."""
        from scipy.special import ndtri

        mean, variance = (part[:, None] for part in self.parameters(name).values())
        return np.exp(mean + np.sqrt(variance) * ndtri((np.arange(n) + 0.5) / n))

    def table(self, name: str, tally: Tally) -> Table:
        """The number in the middle of each class, mean and variance of the logarithms."""
        count, parameters = tally.moments_of([name]).n[:, 0].tolist(), self.parameters(name)
        mean, variance = parameters["mean"], parameters["variance"]
        figures = {"median": np.exp(mean).tolist(), "mean of ln": mean.tolist(), "variance of ln": variance.tolist()}
        return by_class(tally, {"count": count, **figures})

    def sample(self, name: str, labels: Array, rng: np.random.Generator) -> Any:
        """Numbers whose logarithm is normal."""
        mean, variance = (part[labels] for part in self.parameters(name).values())
        return nulls_for_nan(np.exp(mean + np.sqrt(variance) * rng.standard_normal(len(labels))))

    def n_parameters(self) -> int:
        """A mean and a variance a class."""
        return 2 * len(self.belief.parameters["mean"]) * len(self.used)

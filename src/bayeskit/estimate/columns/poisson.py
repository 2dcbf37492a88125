"""Columns of counts, how often something happens: Poisson in each class, with the doubt about the rate carried along.

The rate of a class has a Gamma prior worth one row at the rate r of all classes together. With n_c counts that sum to
S_c its posterior is Gamma(r + S_c, 1 + n_c), and the next count is negative binomial:

    P(x | c) = Γ(k + x) / (Γ(k) x!) · p^k (1 − p)^x,     k = r + S_c,   p = (1 + n_c) / (2 + n_c)

Its mean is (r + S_c) / (1 + n_c); with many rows it is the Poisson distribution of that rate. No rate is zero, so that
no count rules a class out by itself. A class that is declared and has no rows has the prior alone. A column that is
constant, or in which a class that occurs has no count, is left out for all classes.

Numbers that are no counts (negative, or with a fraction) are refused in learning. When a model is asked of one it is as
a value never seen: it is ignored, and ``unseen="error"`` refuses it.

Gelman, Carlin, Stern, Rubin, "Bayesian Data Analysis", 1995, section 2.7.

Formula: the posterior predictive of a Poisson rate
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.estimate.columns.column import Row, Settings, number
from bayeskit.estimate.columns.moments import MomentColumns, MomentEstimate, Parameters
from bayeskit.estimate.leave_one_out import Without
from bayeskit.estimate.sampling import nulls_for_nan
from bayeskit.estimate.variance import pooled_variance
from bayeskit.tally.moments import LARGEST_COUNT, are_counts
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array, Bools, Floats

FEW = 1024  # counts below it are scored once and looked up


class PoissonColumns(MomentColumns):
    """k and the rows behind it, 1 + n_c, of each class.

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
    refusal = "is no count"

    @classmethod
    def believe(cls, moments: Without, occurs: Bools, settings: Settings) -> MomentEstimate:
        """The formulas above."""
        _, _, used = pooled_variance(moments.n, moments.squares, moments.total_squares, occurs, 0)
        sums = np.where(moments.n > 0, moments.n * moments.mean, 0.0)
        return MomentEstimate({"size": moments.total_mean[..., None, :] + sums, "rows": moments.n + 1}, used)

    @staticmethod
    def log_density(x: Floats, parameters: Parameters) -> Floats:
        """−ln(x B(k, x)) + k ln p + x ln(1 − p), where ln Γ(k + x)/(Γ(k) x!) = −ln(x B(k, x)): it keeps its digits."""
        from scipy.special import betaln

        size, rows = parameters["size"], parameters["rows"]
        some = x > 0
        ways = np.where(some, -betaln(size, np.where(some, x, 1.0)) - np.log(np.where(some, x, 1.0)), 0.0)
        return ways - size * np.log1p(1 / rows) - x * np.log1p(rows)

    @staticmethod
    def possible(x: Floats) -> Bools:
        """Counts."""
        return are_counts(x)

    def scores(self, name: str, cells: Array) -> Floats:
        """Small counts are looked up."""
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
        """Small counts are looked up."""
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
        """Quantiles in even steps."""
        from scipy.stats import nbinom

        size, rows = (part[:, None] for part in self.parameters(name).values())
        return np.asarray(nbinom.ppf((np.arange(n) + 0.5) / n, size, rows / (rows + 1)))

    def figures(self, name: str, tally: Tally) -> dict[str, Floats]:
        """Return the sums of the counts and the expected rates."""
        size, rows = self.parameters(name).values()
        rate = np.where(self.belief.used[self.names.index(name)], size / rows, np.nan)
        return {"sum": tally.moments_of([name]).sum_hi[:, 0], "rate": rate}

    def sample(self, name: str, labels: Array, rng: np.random.Generator) -> Any:
        """Counts as they are to be expected."""
        if name not in self.used:
            return nulls_for_nan(np.full(len(labels), np.nan))
        size, rows = (part[labels] for part in self.parameters(name).values())
        return nulls_for_nan(np.minimum(rng.negative_binomial(size, rows / (rows + 1)), LARGEST_COUNT) + 0.0)


def log_poisson(count: npt.ArrayLike, rate: float) -> Floats:
    """ln P(count) where things happen at a rate that is known.

    >>> log_poisson([0, 2], 2.0).round(6).tolist()                       # e⁻², e⁻² 2² / 2!
    [-2.0, -1.306853]
    """
    from scipy.special import gammaln, xlogy

    n = np.asarray(count, dtype=np.float64)
    return xlogy(n, rate) - rate - gammaln(n + 1)

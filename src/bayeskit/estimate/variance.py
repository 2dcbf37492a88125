"""Estimate Gaussians from moments: means, and variances under four sharing rules.

With M_cf = Σ(x − mean_cf)² over the n_cf values of feature f in class c, and d = 0 (maximum
likelihood) or 1 (unbiased):

    "class_feature"   σ²_cf = M_cf / (n_cf − d)               each its own
    "feature"         σ²_f  = Σ_c M_cf / Σ_c (n_cf − d)       shared by the classes: a linear boundary
    "class"           σ²_c  = Σ_f M_cf / Σ_f (n_cf − d)       shared by the features
    "all"             σ²    = Σ_cf M_cf / Σ_cf (n_cf − d)     one for everything

Each variance is at least the floor of its feature, by default 1 % of the "feature" variance. If a feature is constant
within every class, its floor is 1 % of the total variance.

Formula: means, variances under four rules of sharing, their floor
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from bayeskit import logspace
from bayeskit.errors import BayesError
from bayeskit.estimate.smoothing import is_number
from bayeskit.tally.moments import Moments
from bayeskit.tolerance import NOISE, UNDERFLOW
from bayeskit.typing import Bools, Floats

VarianceRule = Literal["class_feature", "feature", "class", "all"]


@dataclass(frozen=True)
class VarianceFloor:
    """Set the smallest variance of a feature, as a share of its pooled within-class variance or its total variance.

    If the within-class variance is zero, "within" is a share of the total. The floor is at least 1e-9 of the total.

    Parameters
    ----------
    share : float, default=0.01
        Share of the variance, from 1e-9 to 1.
    of : {"within", "total"}, default="within"
        Reference variance.

    Examples
    --------
    >>> VarianceFloor(0.01).least(np.array([2.0, 0.0, np.nan]), np.array([4.0, 4.0, 4.0])).tolist()
    [0.02, 0.04, 0.04]
    >>> VarianceFloor(0.01, of="total").least(np.array([2.0]), np.array([4.0])).tolist()
    [0.04]
    """

    share: float = 0.01
    of: Literal["within", "total"] = "within"

    def __post_init__(self) -> None:
        if not is_number(self.share) or not NOISE <= self.share <= 1:
            raise BayesError(
                f"variance_floor={self.share!r}: give a share of the variance, a number from {NOISE:g} to 1; "
                "the default is 0.01"
            )
        if self.of not in ("within", "total"):
            raise BayesError(f'variance_floor of={self.of!r}: a share is "within" (of the classes) or of the "total"')

    def least(self, pooled: Floats, total: Floats) -> Floats:
        """Return the floor of features with these variances; an unknown pooled variance is NaN.

        Parameters
        ----------
        pooled : ndarray of shape (n_features,)
            Variances within the classes.
        total : ndarray of shape (n_features,)

        Returns
        -------
        ndarray of shape (n_features,)
        """
        if self.of == "total":
            return self.share * total
        return np.maximum(self.share * within_or_total(pooled, total), NOISE * total)


def as_variance_floor(setting: Any) -> VarianceFloor:
    """Convert the setting ``variance_floor``; a number is a share of the within-class variance.

    >>> as_variance_floor(0.05)
    VarianceFloor(share=0.05, of='within')
    """
    if isinstance(setting, VarianceFloor):
        return setting
    return VarianceFloor(float(setting) if is_number(setting) else setting)


def within_or_total(pooled: Floats, total: Floats) -> Floats:
    """Return the pooled within-class variance if positive, else the total variance."""
    return np.where(pooled > NOISE * total, pooled, total)  # NaN > 0 is False


@dataclass(frozen=True)
class Gaussian:
    """Means and variances, shape (n_classes, n_columns), and usable columns, shape (n_columns,).

    A column that is not used has NaN variances and is left out for all classes.
    """

    mean: Floats
    variance: Floats
    used: Bools


def gaussian(
    moments: Moments, rule: VarianceRule, ddof: int, class_counts: ArrayLike, floor: VarianceFloor | None = None
) -> Gaussian:
    """Estimate the Gaussian of each class and column under a sharing rule.

    A column is left out if it is constant, or if a class with rows (`class_counts` > 0) has no value in it. A class
    with fewer than two values gets the feature's pooled within-class variance if that is known and not zero, else its
    total variance. A class without rows gets the pooled mean and that variance. No variance is below the feature's
    floor.

    >>> income = np.array([[125.0], [100], [70], [120], [95], [60], [220], [85], [75], [90]])
    >>> cheat = [0, 0, 0, 0, 1, 0, 0, 1, 0, 1]
    >>> by_class = gaussian(Moments.of(income, cheat, n_classes=2), "class_feature", 1, [7, 3])
    >>> by_class.mean.ravel().tolist(), by_class.variance.ravel().tolist()
    ([110.0, 90.0], [2975.0, 25.0])
    >>> tied = gaussian(Moments.of(income, cheat, n_classes=2), "feature", 1, [7, 3])
    >>> tied.variance.ravel().tolist()                     # (6 · 2975 + 2 · 25) / (6 + 2)
    [2237.5, 2237.5]
    """
    if rule not in get_args(VarianceRule):
        raise BayesError(f"variance={rule!r} is not known. It is one of {', '.join(get_args(VarianceRule))}.")
    if ddof not in (0, 1):
        raise BayesError(f"ddof={ddof!r}: it is 0 (maximum likelihood) or 1 (unbiased).")
    n = moments.n.astype(np.float64)
    together = moments.pooled()
    squares, total = moments.squared_deviations(), together.squared_deviations()[0]
    occurs = np.asarray(class_counts) > 0
    variance, used = shared_variance(n, squares, total, occurs, rule, ddof, floor or VarianceFloor())
    mean = np.where(n > 0, moments.mean(), together.mean())
    return Gaussian(mean, variance, used)


def shared_variance(
    n: Floats,
    squares: Floats,
    total_squares: Floats,
    occurs: Bools,
    rule: VarianceRule,
    ddof: int,
    floor: VarianceFloor,
) -> tuple[Floats, Bools]:
    """Return variances, shape (…, n_classes, n_columns), and used columns, shape (…, n_columns), of any number of
    cases.

    `n` and `squares` are counts and Σ(x − mean)² by class; `total_squares` (…, n_columns) are sums about the overall
    mean; `occurs` (…, n_classes) marks the classes that have rows.
    """
    pooled, total, used = pooled_variance(n, squares, total_squares, occurs, ddof)
    # A class of weight below d has no variance estimate; for integer counts the condition changes no sum.
    freedom = np.where(n > ddof, n - ddof, 0.0)
    squares = np.where(n > ddof, squares, 0.0)
    several = n >= 2
    fallback = within_or_total(pooled, total)

    among = used[..., None, :]
    match rule:
        case "class_feature":
            shared = np.where(several, _variance(squares, freedom), np.nan)
        case "feature":
            shared = np.where(n > 0, pooled, np.nan)
        case "class":
            by_class = _variance((squares * among).sum(axis=-1), (freedom * among).sum(axis=-1))
            shared = np.where((several & among).any(axis=-1), by_class, np.nan)[..., None]
        case "all":
            one = _variance((squares * among).sum(axis=(-2, -1)), (freedom * among).sum(axis=(-2, -1)))
            shared = np.where((several & among).any(axis=(-2, -1)), one, np.nan)[..., None, None]
    shared = np.broadcast_to(shared, n.shape)
    variance = np.where(np.isnan(shared), fallback, shared)
    return np.where(among, np.maximum(variance, floor.least(pooled, total)), np.nan), used


def pooled_variance(
    n: Floats, squares: Floats, total_squares: Floats, occurs: Bools, ddof: int
) -> tuple[Floats, Floats, Bools]:
    """Return within-class variances (NaN if unknown) and total variances, (…, 1, n_columns), and used columns, (…,
    n_columns)."""
    total = _variance(total_squares, n.sum(axis=-2) - ddof)
    without_value = occurs[..., None] & (n <= 0)
    used = (total > UNDERFLOW) & ~without_value.any(axis=-2)
    freedom = np.where(n > ddof, n - ddof, 0.0)
    squares = np.where(n > ddof, squares, 0.0)
    pooled = np.where((n >= 2).any(axis=-2), _variance(squares.sum(axis=-2), freedom.sum(axis=-2)), np.nan)
    return pooled[..., None, :], total[..., None, :], used


def log_peak(variance: ArrayLike) -> Floats:
    """Return the log density of a normal at its mean, −½ ln 2πσ².

    >>> float(log_peak(1 / (2 * np.pi)))
    -0.0
    """
    return -0.5 * logspace.log(2 * np.pi * np.asarray(variance))


def n_parameters(rule: VarianceRule, n_classes: int, n_used: int) -> int:
    """Count the free parameters of the Gaussian part: a mean per class and feature, and the variances of the rule.

    >>> [n_parameters(rule, 2, 10) for rule in ("class_feature", "feature", "class", "all")]
    [40, 30, 22, 21]
    """
    variances = {"class_feature": n_classes * n_used, "feature": n_used, "class": n_classes, "all": 1}
    return n_classes * n_used + variances[rule] if n_used else 0


def _variance(squares: Any, freedom: Any) -> Floats:
    """Return squares / freedom, NaN without degrees of freedom."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(freedom) > 0, np.true_divide(squares, freedom), np.nan)

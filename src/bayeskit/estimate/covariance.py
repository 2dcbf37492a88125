"""Estimate multivariate normals: full, tied, diagonal or shrunk covariances.

With S_ij = Σ(x_i − mean_i)(x_j − mean_j) over the n_ij rows of a class where both columns are present, and d = 0
(maximum likelihood) or 1 (unbiased):

    "full"       Σ_ij = S_ij / (n_ij − d)                   each class its own
    "tied"       Σ_ij = Σ_c S_ij / Σ_c (n_ij − d)           one for all classes: a linear boundary
    "diagonal"   Σ_ij = 0 where i ≠ j                       naive Bayes
    shrunk       Σ_ij → (1 − λ) Σ_ij where i ≠ j            the variances stay

Variances follow `estimate/variance.py`, including the floor, so the same columns are left out. If the floor raises a
variance, the covariances stay and the correlations decrease. A correlation matrix that is singular, or indefinite
because of missing cells, is shrunk to the diagonal until its smallest eigenvalue is 1e-6.

Formula: multivariate normals: full, tied, diagonal, shrunk
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from bayeskit import logspace
from bayeskit.errors import BayesError
from bayeskit.estimate.variance import VarianceFloor, VarianceRule, shared_variance
from bayeskit.tally.moments import Moments, pairs
from bayeskit.tolerance import SINGULAR
from bayeskit.typing import Bools, Floats, Ints

CovarianceRule = Literal["full", "tied", "diagonal"]


@dataclass(frozen=True)
class Covariances:
    """Standard deviations (…, n_classes, n_columns) and correlations (…, n_classes, n_columns, n_columns) of each
    class.

    ``used`` (…, n_columns) marks used columns, ``lifted`` (…, n_classes) is the shrinkage of singular matrices,
    ``shrinkage`` (…, n_classes) that of all. Unused columns contain ones.
    """

    deviation: Floats
    correlation: Floats
    used: Bools
    lifted: Floats
    shrinkage: Floats


@dataclass(frozen=True)
class Normal:
    """Normal of each class: means, shape (n_classes, n_columns), and covariances."""

    mean: Floats
    spread: Covariances

    @property
    def covariance(self) -> Floats:
        """Return covariances, shape (n_classes, n_columns, n_columns); NaN for columns left out."""
        s, used = self.spread, self.spread.used
        covariance = s.correlation * s.deviation[:, :, None] * s.deviation[:, None, :]
        return np.where(used[:, None] & used[None, :], covariance, np.nan)


def normal(
    moments: Moments,
    products: Moments,
    class_counts: Floats,
    rule: CovarianceRule,
    ddof: int,
    shrinkage: float | None,
    floor: VarianceFloor | None = None,
) -> Normal:
    """Estimate the normal of each class; ``shrinkage`` None chooses the amount from the counts.

    >>> from bayeskit.tally.moments import count_products
    >>> x, y = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 2.0]]), np.zeros(3, dtype=np.uint8)
    >>> moments = Moments.of(x, y, 1)
    >>> products = count_products(list(x.T.copy()), y, 1, None, moments, 1)
    >>> normal(moments, products, np.array([3.0]), "full", 1, 0.0).covariance[0].round(12).tolist()
    [[4.0, 1.0], [1.0, 1.0]]
    >>> normal(moments, products, np.array([3.0]), "full", 1, 0.5).covariance[0].round(12).tolist()
    [[4.0, 0.5], [0.5, 1.0]]
    """
    if rule not in get_args(CovarianceRule):
        raise BayesError(f"covariance={rule!r} is not known. It is one of {', '.join(get_args(CovarianceRule))}.")
    n, spread = pairs(products)
    together = moments.pooled()
    amounts = np.full(len(n), np.nan if shrinkage is None else shrinkage)
    total, occurs = together.squared_deviations()[0], class_counts > 0
    counts, floor = n.astype(np.float64), floor or VarianceFloor()
    spreads = covariances(counts, spread, total, occurs, rule=rule, ddof=ddof, shrinkage=amounts, floor=floor)
    mean = np.where(moments.n > 0, moments.mean(), together.mean())
    return Normal(mean, spreads)


def covariances(
    n: Floats,
    spread: Floats,
    total_squares: Floats,
    occurs: Bools,
    *,
    rule: CovarianceRule,
    ddof: int,
    shrinkage: Floats,
    floor: VarianceFloor,
) -> Covariances:
    """Estimate covariances of any number of cases from n_ij and S_ij, shape (…, n_classes, n_columns, n_columns).

    ``total_squares`` (…, n_columns) are Σ(x − mean)² about the overall mean; ``occurs`` (…, n_classes) marks the
    classes that have rows; ``shrinkage`` (n_classes,) is NaN where it is chosen from the counts.
    """
    n_present, squares = _diagonal(n), _diagonal(spread)
    shared: VarianceRule = "feature" if rule == "tied" else "class_feature"
    variance, used = shared_variance(n_present, squares, total_squares, occurs, shared, ddof, floor)
    both = used[..., None, :, None] & used[..., None, None, :]
    deviation = np.where(used[..., None, :], np.sqrt(variance), 1.0)

    k = n.shape[-1]
    correlation = np.broadcast_to(np.eye(k), n.shape).copy()
    shrinkage = np.broadcast_to(shrinkage, n.shape[:-2])
    if rule != "diagonal":
        freedom = np.where(n > ddof, n - ddof, 0.0)
        known = np.where(n > ddof, spread, 0.0)
        pooled = _correlation(known.sum(axis=-3), freedom.sum(axis=-3))[..., None, :, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = known / freedom / (deviation[..., :, None] * deviation[..., None, :])
        several = (n >= 2) & (n_present >= 2)[..., :, None] & (n_present >= 2)[..., None, :] & (freedom > 0)
        estimated = np.where(several, apart, pooled) if rule == "full" else np.broadcast_to(pooled, n.shape)
        off = both & ~np.eye(k, dtype=bool)
        correlation = np.where(off, np.clip(estimated, -1.0, 1.0), correlation)
        rows = n_present.mean(axis=-1)
        if rule == "tied":
            rows = np.broadcast_to(rows.sum(axis=-1, keepdims=True), rows.shape)
        chosen = _from_counts(correlation, rows, used.sum(axis=-1)[..., None])
        shrinkage = np.where(np.isnan(shrinkage), chosen, shrinkage)
        correlation = np.where(off, correlation * (1 - shrinkage)[..., None, None], correlation)
    shrinkage = np.nan_to_num(shrinkage, nan=0.0)
    lifted = _lift(correlation) if rule != "diagonal" and k > 1 else np.zeros(n.shape[:-2])
    off_diagonal = ~np.eye(k, dtype=bool)
    correlation = np.where(off_diagonal, correlation * (1 - lifted)[..., None, None], correlation)
    return Covariances(deviation, correlation, used, lifted, np.array(shrinkage))


def _from_counts(correlation: Floats, rows: Floats, k: Ints) -> Floats:
    """Return the oracle approximating shrinkage of a correlation matrix R.

    λ = ((1 − 2/k) tr R² + k²) / ((n + 1 − 2/k)(tr R² − k)), at most 1 (Chen, Wiesel, Eldar and Hero 2010), over the
    used columns. It depends only on R and n, so it is the same after adding rows, removing rows and merging.
    """
    idle = correlation.shape[-1] - k
    square = (correlation**2).sum(axis=(-2, -1)) - idle
    k = np.maximum(k, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        amount = ((1 - 2 / k) * square + k**2) / ((rows + 1 - 2 / k) * (square - k))
    return np.where(np.isfinite(amount), np.clip(np.nan_to_num(amount), 0.0, 1.0), 1.0)


def _lift(correlation: Floats) -> Floats:
    """Return λ for which the smallest eigenvalue of (1 − λ) R + λ I reaches the minimum; zero if R is regular."""
    smallest = np.linalg.eigvalsh(correlation)[..., 0]
    return np.where(smallest < SINGULAR, (SINGULAR - smallest) / (1 - np.minimum(smallest, 0.5)), 0.0)


def _correlation(spread: Floats, freedom: Floats) -> Floats:
    """Return correlations of pooled sums, zero where they are unknown."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        covariance = spread / freedom
        deviation = np.sqrt(_diagonal(covariance))
        correlation = covariance / (deviation[..., :, None] * deviation[..., None, :])
    return np.where(np.isfinite(correlation), correlation, 0.0)


def _diagonal(square: Floats) -> Floats:
    return np.ascontiguousarray(np.diagonal(square, axis1=-2, axis2=-1))


def log_density(x: Floats, model: Normal, by_column: bool = False) -> Floats:
    """Return ln p(x | class), shape (n_rows, n_classes), or the terms of each column, (n_rows, n_classes, n_columns).

    Missing cells are marginalized out. The term of a column is ln p(x_j | preceding columns, class).
    """
    from scipy.linalg import solve_triangular

    spread, used = model.spread, model.spread.used
    n, (n_classes, k) = len(x), model.mean.shape
    scores = np.zeros((n, n_classes, k) if by_column else (n, n_classes))
    for there, rows in missing_patterns(~np.isnan(x) & used):
        columns = np.flatnonzero(there)
        if not len(columns):
            continue
        some = x[:, columns] if isinstance(rows, slice) else x[np.ix_(rows, columns)]
        for c in range(n_classes):
            factor = np.linalg.cholesky(spread.correlation[c][np.ix_(columns, columns)])
            constant = -logspace.log(np.sqrt(2 * np.pi) * np.diag(factor) * spread.deviation[c, columns])
            away = ((some - model.mean[c, columns]) / spread.deviation[c, columns]).T
            z = solve_triangular(factor, away, lower=True, check_finite=False)
            with np.errstate(over="ignore"):  # overflow means density zero
                terms = constant[:, None] - 0.5 * z * z
            if by_column:
                scores[np.arange(n)[rows][:, None], c, columns] = terms.T
            else:
                scores[rows, c] = terms.sum(axis=0)
    return scores


def missing_patterns(present: Bools) -> list[tuple[Bools, Any]]:
    """Return (present columns as a mask, rows with this pattern) of a mask of cells; a slice stands for all rows."""
    if not len(present):
        return []
    if (present == present[0]).all():
        return [(present[0], slice(None))]
    packed = np.packbits(present, axis=1)
    keys = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1])))[:, 0]
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(which, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(which))[:-1])
    return list(zip(present[first], groups, strict=True))

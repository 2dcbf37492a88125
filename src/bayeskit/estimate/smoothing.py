"""Smoothing of counts: MLE, Laplace, Lidstone, m-estimate, Dirichlet, back-off, and amounts chosen by leave-one-out.

Formula: (n + a) / (N + Σa): MLE, Laplace, Lidstone, m-estimate, Dirichlet MAP, automatic α
Formula: (n + m p_shorter) / (N + m), m by leave-one-out
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf
from numbers import Real
from typing import Any, Literal, Protocol, cast, runtime_checkable
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike

from bayeskit import logspace
from bayeskit.errors import BayesError, BayesWarning, UnknownValue
from bayeskit.nearest import did_you_mean
from bayeskit.tolerance import OFF_ONE, SLACK, TIE
from bayeskit.typing import Array, Floats


class _Unseen(Enum):
    UNSEEN = "unseen"

    def __repr__(self) -> str:
        return "UNSEEN"


UNSEEN = _Unseen.UNSEEN
"""Placeholder for values never seen; its count is 0 in every class."""
MOST = 1e100  # largest pseudo-count; larger sums overflow


@runtime_checkable
class Smoothing(Protocol):
    """Rule that computes pseudo-counts from the values of a column and their counts."""

    def pseudo_counts(self, values: Sequence[object], counts: Array) -> Floats:
        """Return pseudo-counts, shape (n_values,), from values and their counts, shape (n_classes, n_values)."""


def smoothed(count: Any, total: Any, pseudo: Any, pseudo_total: Any) -> Any:
    """Return (n + a) / (N + A) of numbers or arrays, the formula of every rule; 0/0 is NaN.

    It is the mean of a Beta or Dirichlet posterior with the pseudo-counts as hyperparameters.

    >>> float(smoothed(2, 2, 1, 2))
    0.75
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.true_divide(np.add(count, pseudo), np.add(total, pseudo_total))


def probabilities(counts: ArrayLike, pseudo: ArrayLike) -> Floats:
    """Return (n_vc + a_v) / (n_c + Σ a), the probability of each value in each class, shape (n_classes, n_values).

    A class without counts and without pseudo-counts has no distribution: its row is NaN.

    >>> probabilities([[2, 0], [0, 0]], [1.0, 1.0])
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    >>> probabilities([[2, 0], [0, 0]], [0.0, 0.0])
    array([[ 1.,  0.],
           [nan, nan]])
    """
    n, a = np.asarray(counts), np.asarray(pseudo, dtype=np.float64)
    return cast(Floats, smoothed(n, n.sum(axis=-1, keepdims=True), a, a.sum()))


class _Additive:
    """Rule that adds the same pseudo-count α to every value."""

    alpha: float

    def pseudo_counts(self, values: Sequence[object], counts: Array) -> Floats:
        """Return α for each value, shape (n_values,).

        Parameters
        ----------
        values : sequence of length n_values
        counts : ndarray of shape (n_classes, n_values)

        Returns
        -------
        ndarray of shape (n_values,)
        """
        return np.full(len(values), float(self.alpha))

    def probability(self, *, count: float, total: float, n_values: int) -> float:
        """Return (count + α) / (total + α · n_values).

        Parameters
        ----------
        count, total : float
        n_values : int

        Returns
        -------
        float
        """
        return float(smoothed(count, total, self.alpha, self.alpha * n_values))


@dataclass(frozen=True)
class Lidstone(_Additive):
    """Add the same pseudo-count α to every value: the posterior mean under a symmetric Dirichlet(α).

    Parameters
    ----------
    alpha : float
        Pseudo-count, at least 0.

    Examples
    --------
    >>> Lidstone(1).probability(count=2, total=2, n_values=2)   # (2 + 1) / (2 + 2)
    0.75
    >>> Lidstone(0.5).pseudo_counts(["rain", "sun", "snow"], np.zeros((2, 3)))
    array([0.5, 0.5, 0.5])
    """

    alpha: float

    def __post_init__(self) -> None:
        if not is_number(self.alpha) or not 0 <= self.alpha <= MOST:
            raise BayesError(f"smoothing={self.alpha!r}: it is a finite number from 0 to {MOST:g}.")


@dataclass(frozen=True)
class MLE(_Additive):
    """Add nothing: relative frequencies, which may be zero.

    Examples
    --------
    >>> MLE().probability(count=2, total=2, n_values=2)
    1.0
    """

    alpha = 0.0


@dataclass(frozen=True)
class Laplace(_Additive):
    """Add one to the count of every value: the rule of succession.

    Examples
    --------
    >>> Laplace().probability(count=0, total=15, n_values=3) * 18   # (0 + 1) / (15 + 3)
    1.0
    """

    alpha = 1.0


@dataclass(frozen=True)
class MEstimate:
    """Add m pseudo-counts in total, distributed by a prior p: a_v = m · p_v.

    Parameters
    ----------
    m : float
        Sum of all pseudo-counts, at least 0.
    prior : {"uniform", "marginal"} or mapping, default="uniform"
        Probability of each value. "marginal" takes the relative frequencies over all classes.

    Examples
    --------
    >>> MEstimate(4).probability(count=1, total=2, n_values=4)   # (1 + 4 · 1/4) / (2 + 4)
    0.3333333333333333
    >>> MEstimate(2, prior={"rain": 0.25, "sun": 0.75}).pseudo_counts(["sun", "rain"], np.zeros((1, 2)))
    array([1.5, 0.5])
    >>> MEstimate(8, prior="marginal").pseudo_counts(["sun", "rain"], np.array([[2, 0], [1, 1]]))
    array([6., 2.])

    References
    ----------
    Cestnik, "Estimating probabilities: a crucial task in machine learning", 1990.
    """

    m: float
    prior: Literal["uniform", "marginal"] | Mapping[Any, float] = "uniform"

    def __post_init__(self) -> None:
        if not is_number(self.m) or not 0 <= self.m <= MOST:
            raise BayesError(f"MEstimate(m={self.m!r}): m is a finite number from 0 to {MOST:g}.")
        if isinstance(self.prior, Mapping):
            object.__setattr__(self, "prior", _checked_prior(self.prior))
        elif not isinstance(self.prior, str) or self.prior not in ("uniform", "marginal"):
            raise BayesError(
                f"MEstimate(prior={self.prior!r}): the prior is 'uniform', 'marginal' "
                "or a mapping from each value to its probability."
            )

    def __hash__(self) -> int:
        return hash((self.m, _hashable(self.prior)))

    def pseudo_counts(self, values: Sequence[object], counts: Array) -> Floats:
        """Return m · p_v for each value, shape (n_values,); with a mapping the unseen value gets 0.

        Parameters
        ----------
        values : sequence of length n_values
        counts : ndarray of shape (n_classes, n_values)

        Returns
        -------
        ndarray of shape (n_values,)
        """
        if isinstance(self.prior, Mapping):
            share = _looked_up(self.prior, values, f"MEstimate({self.m}, prior={{…}})", "prior probability")
            return float(self.m) * share / sum(self.prior.values())
        seen = np.asarray(counts).sum(axis=0) if self.prior == "marginal" else np.zeros(len(values))
        if not seen.sum():  # uniform, or a marginal without counts
            seen = np.ones(len(values))
        return float(self.m) * probabilities(seen, 0.0)

    def probability(self, *, count: float, total: float, n_values: int) -> float:
        """Return (count + m / n_values) / (total + m), for the uniform prior.

        Parameters
        ----------
        count, total : float
        n_values : int

        Returns
        -------
        float
        """
        if self.prior != "uniform":
            raise BayesError(
                f"{self!r}.probability knows no values to look up: "
                "use pseudo_counts(values, counts), or the uniform prior."
            )
        return float(smoothed(count, total, self.m / n_values, self.m))


@dataclass(frozen=True)
class Dirichlet:
    """Use the posterior mode (MAP estimate) under a Dirichlet(β) prior: a_v = β_v − 1.

    Parameters
    ----------
    beta : float or mapping
        One hyperparameter for all values, or one for each value; at least 1, because below 1 the posterior may have no
        mode. β = 1 is the MLE, β = 2 is Laplace.

    Examples
    --------
    >>> Dirichlet(2).probability(count=2, total=2, n_values=2)   # (2 + 2 − 1) / (2 + 2 · (2 − 1))
    0.75
    >>> Dirichlet({"rain": 4, "sun": 1}).pseudo_counts(["rain", "sun"], np.zeros((1, 2)))
    array([3., 0.])
    """

    beta: float | Mapping[Any, float]

    def __post_init__(self) -> None:
        if isinstance(self.beta, Mapping):
            object.__setattr__(self, "beta", dict(self.beta))
        for value, beta in self.beta.items() if isinstance(self.beta, Mapping) else [(None, self.beta)]:
            of_value = "" if value is None else f" for value {value!r}"
            if not is_number(beta) or not 0 < beta <= MOST:
                raise BayesError(f"Dirichlet: β{of_value} is {beta!r}; it is a finite number from 1 to {MOST:g}.")
            if beta < 1:
                raise BayesError(
                    f"Dirichlet: β{of_value} is {beta!r}. Below 1 the density grows without bound where the "
                    "probability goes to 0, so a value without counts has no most probable estimate. "
                    f"Take the posterior mean instead, which always exists: Lidstone({beta!r})."
                )

    def __hash__(self) -> int:
        return hash(_hashable(self.beta))

    def pseudo_counts(self, values: Sequence[object], counts: Array) -> Floats:
        """Return β_v − 1 for each value, shape (n_values,); with a mapping the unseen value gets 0.

        Parameters
        ----------
        values : sequence of length n_values
        counts : ndarray of shape (n_classes, n_values)

        Returns
        -------
        ndarray of shape (n_values,)
        """
        if not isinstance(self.beta, Mapping):
            return np.full(len(values), float(self.beta) - 1)
        excess = {value: beta - 1 for value, beta in self.beta.items()}
        return _looked_up(excess, values, "Dirichlet", "β")

    def probability(self, *, count: float, total: float, n_values: int) -> float:
        """Return (count + β − 1) / (total + (β − 1) · n_values), for a single β.

        Parameters
        ----------
        count, total : float
        n_values : int

        Returns
        -------
        float
        """
        if isinstance(self.beta, Mapping):
            raise BayesError(
                f"{self!r}.probability knows no values to look up: use pseudo_counts(values, counts), or one β for all."
            )
        return Lidstone(self.beta - 1).probability(count=count, total=total, n_values=n_values)


@dataclass(frozen=True)
class Automatic:
    """Choose the α that maximizes the leave-one-out likelihood of the counts of a column.

        α = argmax Σ_vc n_vc ln((n_vc − 1 + α) / (n_c − 1 + α m)),   0.001 ≤ α ≤ 1000

    The sum is over the cells with n_vc ≥ 1; m is the number of values. α depends only on the counts, not on their
    order, so it is the same after adding rows, removing rows and merging. If every α is equally good, as for a column
    with one value, α is 1.

    >>> sharp = np.array([[40, 0, 0], [0, 25, 0]])       # the class decides the value: trust the counts
    >>> Automatic().alpha(sharp)
    0.001
    >>> blunt = np.array([[10, 11, 9], [10, 9, 11]])     # uninformative: shrink to uniform
    >>> Automatic().alpha(blunt)
    1000.0
    >>> round(Automatic().alpha(np.array([[5, 1, 0, 1], [0, 6, 1, 2]])), 3)
    1.139
    """

    def alpha(self, counts: Array) -> float:
        """Return the best α for counts, shape (n_classes, n_values)."""
        return _leave_one_out_alpha(np.asarray(counts, dtype=np.float64))

    def pseudo_counts(self, values: Sequence[object], counts: Array) -> Floats:
        """Return the best α for each value, shape (n_values,)."""
        return Lidstone(self.alpha(counts)).pseudo_counts(values, counts)


COUNT_RULES = (MLE, Laplace, Lidstone, MEstimate, Dirichlet, Automatic)  # without a shorter context


def as_smoothing(spec: object) -> Smoothing:
    """Convert a setting to a smoothing rule: a number is Lidstone's α, "auto" is `Automatic`.

    >>> as_smoothing(0.5), as_smoothing("auto"), as_smoothing(Laplace())
    (Lidstone(alpha=0.5), Automatic(), Laplace())
    """
    if is_number(spec):
        return Lidstone(cast(float, spec))
    if isinstance(spec, str) and spec in ("auto", "back-off"):
        return Automatic() if spec == "auto" else BackOff()
    if isinstance(spec, Smoothing) and not isinstance(spec, type):
        return spec
    raise BayesError(
        f"smoothing={spec!r} is not known. Pass a number (Lidstone's α: 0 for none, 1 for Laplace), 'auto', "
        "'back-off', or one of MLE(), Laplace(), Lidstone(alpha), MEstimate(m, prior), Dirichlet(beta), Automatic(), "
        f"BackOff(m){did_you_mean(spec, ('auto', 'back-off')) or '.'}"
    )


_LOG_ALPHA = np.linspace(np.log(1e-3), np.log(1e3), 257)  # features of the objective have widths of about 1


def _leave_one_out_alpha(counts: Floats) -> float:
    """Find every maximum between the points of a grid by bisection of the slope, and return the best."""
    n_values = counts.shape[1]
    counted = counts >= 1
    if n_values < 2 or not counted.any():
        return 1.0
    # Equal terms are grouped and sorted, so that the order of classes and values does not affect rounding.
    n, times = np.unique(counts[counted], return_counts=True)
    of_class = np.stack([counts.sum(axis=1), np.where(counted, counts, 0.0).sum(axis=1)])
    (total, weight), classes = np.unique(of_class[:, counted.any(axis=1)], axis=1, return_counts=True)
    n_weight, c_weight = n * times, weight * classes

    # Sum with NumPy instead of BLAS, whose order of addition may depend on the number of threads.
    def score(alpha: Floats) -> Floats:
        a = alpha[:, None]
        of_cells = logspace.log(n - 1 + a) * n_weight
        of_classes = logspace.log(total - 1 + a * n_values) * c_weight
        return np.asarray(of_cells.sum(axis=1) - of_classes.sum(axis=1))

    def slope(alpha: Floats) -> Floats:
        """Return the derivative with respect to ln α, without the terms that cancel (Σ n − Σ n)."""
        a = alpha[:, None]
        of_cells = (n - 1) / (n - 1 + a) * n_weight
        of_classes = (total - 1) / (total - 1 + a * n_values) * c_weight
        return np.asarray(of_classes.sum(axis=1) - of_cells.sum(axis=1))

    grid = np.exp(_LOG_ALPHA)
    # limits memory: a vocabulary has many distinct counts
    pieces = np.array_split(grid, 1 + grid.size * n.size // 2**20)
    rises = np.concatenate([slope(piece) for piece in pieces])
    if np.abs(rises).max() <= TIE * n_weight.sum():
        return 1.0
    tops = np.flatnonzero((rises[:-1] > 0) & (rises[1:] <= 0))
    low, high = _LOG_ALPHA[tops], _LOG_ALPHA[tops + 1]
    for _ in range(48):
        middle = (low + high) / 2
        up = slope(np.exp(middle)) > 0
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    candidates = np.concatenate([np.exp((low + high) / 2), [1e-3, 1e3]])
    return float(candidates[np.argmax(score(candidates))])


def is_number(x: object) -> bool:
    """Return True if x is a number that fits a float; 10**400 does not."""
    if not isinstance(x, Real) or isinstance(x, bool | np.bool_):
        return False
    try:
        float(x)
    except OverflowError:
        return False
    return True


def _hashable(setting: object) -> object:
    return frozenset(setting.items()) if isinstance(setting, Mapping) else setting


def _looked_up(table: Mapping[Any, float], values: Sequence[object], who: str, what: str) -> Floats:
    """Return the table's entry for each value; 0 for the unseen value."""
    missing = [value for value in values if value is not UNSEEN and value not in table]
    if missing:
        raise UnknownValue(
            f"{who} has no {what} for {', '.join(map(repr, missing[:5]))}{' …' if len(missing) > 5 else ''} "
            f"(it knows {', '.join(map(repr, list(table)[:5]))}{' …' if len(table) > 5 else ''}). "
            "Add the value to the mapping, or give one number for all."
        )
    return np.array([0.0 if value is UNSEEN else float(table[value]) for value in values])


def _checked_prior(prior: Mapping[Any, float]) -> dict[Any, float]:
    for value, p in prior.items():
        if not is_number(p) or not 0 <= p < inf:
            raise BayesError(f"MEstimate: the prior probability of {value!r} is {p!r}; it is at least 0.")
    total = float(sum(prior.values()))
    if not abs(total - 1) <= SLACK:
        raise BayesError(f"MEstimate: the prior probabilities sum to {total:.6g}, not to 1. Divide each by their sum.")
    if abs(total - 1) > OFF_ONE:
        sentence = f"MEstimate: the prior probabilities sum to {total:.9g}; they were normalized."
        warn(sentence, BayesWarning, stacklevel=4)  # reports the line that created the MEstimate
    return dict(prior)


CHOICES = (0.5, 2.0, 8.0, 32.0, 128.0, 512.0)


def backed_off(count: Any, total: Any, m: Any, shorter: Any) -> Any:
    """Return (n + m p) / (N + m), with p the probability in the shorter context; 0/0 is NaN.

    >>> float(backed_off(3, 4, 2, 0.5))
    0.6666666666666666
    """
    return smoothed(count, total, m * shorter, m)


@dataclass(frozen=True)
class BackOff:
    """Smooth towards the shorter context with weight ``m``.

    Without parents there is no shorter context; the rule is then an m-estimate towards uniform.

    Parameters
    ----------
    m : float, optional
        Weight of the shorter context, above 0. By default it is chosen for each column and level by leave-one-out
        likelihood.

    Examples
    --------
    >>> BackOff(2).pseudo_counts(["rain", "sun"], np.array([[3, 1]]))
    array([1., 1.])
    """

    m: float | None = None

    def __post_init__(self) -> None:
        if self.m is not None and not (is_number(self.m) and 0 < self.m <= MOST):
            raise BayesError(
                f"BackOff: m is {self.m!r}; it is a number above 0, up to {MOST:g}, or None to have it chosen."
            )

    def pseudo_counts(self, values: Sequence[object], counts: Array) -> Floats:
        """Return m / n_values for each value, shape (n_values,).

        Parameters
        ----------
        values : sequence of length n_values
        counts : ndarray of shape (n_classes, n_values)

        Returns
        -------
        ndarray of shape (n_values,)
        """
        n_values = max(len(values), 1)
        n = np.asarray(counts, dtype=np.float64)
        lower = np.full(n.shape, 1 / n_values)
        return np.full(len(values), self.weight(n, n.sum(axis=1, keepdims=True), lower) / n_values)

    def weight(self, n: Floats, total: Floats, lower: Floats) -> float:
        """Return m for counts n of values in contexts with these totals; ``lower`` is p' of the shorter context.

        Parameters
        ----------
        n : ndarray of shape (n_contexts, n_values, n_classes)
        total : ndarray of shape (n_contexts, 1, n_classes)
        lower : ndarray of shape (n_contexts, n_values, n_classes)

        Returns
        -------
        float
        """
        return float(self.weights(n, total, lower, [0])[0])

    def weights(self, n: Floats, total: Floats, lower: Floats, starts: Sequence[int]) -> Floats:
        """Return m for each group of values along the last axis; ``starts`` are the first positions of the groups.

        Parameters
        ----------
        n, total, lower : ndarray
            As for :meth:`weight`.
        starts : sequence of int

        Returns
        -------
        ndarray of shape (n_groups,)
        """
        if self.m is not None or not n.shape[-1]:
            return np.full(len(starts), float(self.m or 1.0))
        cells = np.nonzero(n >= 1)  # other cells have no row to leave out
        seen = n[cells]
        rest, shorter = (np.broadcast_to(of_cell, n.shape)[cells] for of_cell in (total, lower))
        with np.errstate(invalid="ignore"):
            gains = logspace.log(backed_off(seen - 1, rest - 1, np.array(CHOICES)[:, None], shorter)) * seen
        group = np.searchsorted(starts, cells[-1], side="right") - 1
        scores = [np.bincount(group, gain, minlength=len(starts)) for gain in gains]
        best = np.argmax(np.nan_to_num(np.array(scores), nan=-np.inf), axis=0)
        return np.array(CHOICES)[best]

"""Conjugate model of a normal with unknown mean and variance: normal-inverse-gamma."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite, lgamma, log, pi, sqrt
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from bayeskit.beliefs.beta_dirichlet import POINTS, Belief, BeliefCurves, Interval, LikelihoodCurve, tails
from bayeskit.errors import NotLearned
from bayeskit.estimate.smoothing import is_number
from bayeskit.tables import Sheet
from bayeskit.tally.moments import Moments
from bayeskit.typing import Floats

T = TypeVar("T")


class NormalHyperparameters(NamedTuple):
    """Hyperparameters of a normal-inverse-gamma: μ, κ, α, β."""

    location: float
    kappa: float
    shape: float
    scale: float


class NormalParameters(NamedTuple, Generic[T]):
    """One quantity for each parameter of a normal: its mean μ and its variance σ²."""

    mu: T
    sigma2: T


@dataclass(frozen=True)
class StudentT:
    """Student's t with ``df`` degrees of freedom, a location and a scale."""

    df: float
    location: float
    scale: float

    def density(self, x: ArrayLike) -> Any:
        """Return the density at x."""
        from scipy import stats

        return stats.t.pdf(np.asarray(x, dtype=np.float64), self.df, self.location, self.scale)

    def interval(self, level: float = 0.95) -> Interval:
        """Return the central interval with this probability."""
        from scipy import stats

        low, high = (stats.t.ppf(tail, self.df, self.location, self.scale) for tail in tails(level))
        return float(low), float(high)


@dataclass(frozen=True)
class NormalInverseGamma(Belief):
    """Normal model with unknown mean and variance: a normal-inverse-gamma prior and the observed values.

    σ² ~ InverseGamma(shape, scale) and μ | σ² ~ Normal(location, σ² / kappa). After n values with mean x̄:

        κn = κ0 + n                 μn = (κ0 μ0 + n x̄) / κn
        αn = α0 + n/2               βn = β0 + ½ Σ(x − x̄)² + ½ κ0 n (x̄ − μ0)² / κn

    The values are stored as n, Σx and Σx² in double-double precision, so forgetting an outlier restores the other
    digits.

    Parameters
    ----------
    location : float
        Prior mean of μ.
    kappa : float
        Weight of ``location``, in values.
    shape : float
        Half the weight of the prior of σ², in values.
    scale : float
        Scale of the prior of σ².
    seen : Moments, optional
        Observed values.

    Examples
    --------
    >>> belief = NormalInverseGamma(location=0, kappa=1, shape=1, scale=1).update([1.0, 2.0, 3.0])
    >>> belief.posterior                                    # 6/4, 1 + 3, 1 + 3/2, 1 + 2/2 + 12/8
    NormalHyperparameters(location=1.5, kappa=4, shape=2.5, scale=3.5)
    >>> belief.mle
    NormalParameters(mu=2.0, sigma2=0.6666666666666666)
    >>> belief.update([1e12]).forget([1e12]) == belief
    True
    """

    location: float
    kappa: float
    shape: float
    scale: float
    seen: Moments = field(default_factory=lambda: Moments.zeros(1, 1))

    def __post_init__(self) -> None:
        self._check_positive(kappa=self.kappa, shape=self.shape, scale=self.scale)
        if not is_number(self.location) or not isfinite(self.location):
            raise self._error(f"location is {self.location!r}; it is a finite number.")

    def __hash__(self) -> int:
        return hash((self.prior, self.n))

    @property
    def sheet(self) -> Sheet:
        """Posterior means and credible intervals, for display."""
        location, kappa, shape, scale = self.posterior
        mu, sigma2 = self.mean if shape > 0.5 else (None, inf)
        ends = self.credible_interval()
        head = f"normal-inverse-gamma({location:g}, {kappa:g}, {shape:g}, {scale:g}) after {self.n:,} values"
        return Sheet(head, (self._interval_grid({"μ": (mu, ends.mu), "σ²": (sigma2, ends.sigma2)}),))

    def __repr__(self) -> str:
        prior = ", ".join(f"{name}={number!r}" for name, number in self.prior._asdict().items())
        return f"NormalInverseGamma({prior}{f', n={self.n}' if self.n else ''})"

    @property
    def prior(self) -> NormalHyperparameters:
        """Hyperparameters of the prior."""
        return NormalHyperparameters(self.location, self.kappa, self.shape, self.scale)

    @property
    def posterior(self) -> NormalHyperparameters:
        """Hyperparameters of the posterior."""
        if not self.n:
            return self.prior
        n, mean = self.n, float(self.seen.mean()[0, 0])
        kappa = self.kappa + n
        moved = mean - self.location
        spread = float(self.seen.squared_deviations()[0, 0]) + self.kappa * n * moved * moved / kappa
        location = self.location + moved * (n / kappa)
        return NormalHyperparameters(location, kappa, self.shape + n / 2, self.scale + spread / 2)

    @property
    def n(self) -> int:
        """Number of observed values."""
        return int(self.seen.n[0, 0])

    def update(self, data: Iterable[float]) -> Self:
        """Return the posterior after adding values.

        Parameters
        ----------
        data : iterable of float

        Returns
        -------
        NormalInverseGamma
            A new object.
        """
        return replace(self, seen=self.seen + self._moments(data))

    def forget(self, data: Iterable[float]) -> Self:
        """Return the posterior after removing values.

        Parameters
        ----------
        data : iterable of float

        Returns
        -------
        NormalInverseGamma
            A new object.

        Raises
        ------
        NotLearned
            If the values cannot have been observed.
        """
        gone = self._moments(data)
        if gone.n[0, 0] > self.n:
            raise NotLearned(
                f"NormalInverseGamma.forget: {gone.n[0, 0]} values to forget, and only {self.n} were learned. "
                "Nothing was changed; forget what was learned."
            )
        if self.seen.lacks(gone).any():
            raise NotLearned(
                "NormalInverseGamma.forget: these values are not among those learned, for no values have "
                "the sum and the sum of squares left over. Nothing was changed; forget what was learned."
            )
        return replace(self, seen=self.seen - gone)

    def merge(self, other: Self) -> Self:
        """Return the posterior given the values of both.

        Parameters
        ----------
        other : NormalInverseGamma
            A belief with the same prior.

        Returns
        -------
        NormalInverseGamma
            A new object.

        Raises
        ------
        SchemaMismatch
            If the priors differ.
        """
        self._check_same_prior(self.prior, other.prior)
        return replace(self, seen=self.seen + other.seen)

    @property
    def of_mu(self) -> StudentT:
        """Marginal posterior of μ: Student's t with 2 αn degrees of freedom."""
        location, kappa, shape, scale = self.posterior
        return StudentT(2 * shape, location, sqrt(scale / (shape * kappa)))

    def likelihood(self) -> LikelihoodCurve:
        """Return the profile likelihood of μ, −n/2 · ln(Σ(x − μ)² / n) up to a constant, and its maximum.

        Returns
        -------
        LikelihoodCurve
        """
        best, variance = self.mle
        width = 4 * sqrt(variance / self.n)
        line = np.linspace(best - width, best + width, POINTS)
        log_likelihood = -self.n / 2 * np.log(variance + (line - best) ** 2)
        return LikelihoodCurve("μ", line, log_likelihood, best, -self.n / 2 * log(variance), self.n)

    def curves(self) -> BeliefCurves:
        """Return the prior, the likelihood and the posterior of μ, each with area one.

        Returns
        -------
        BeliefCurves
        """
        if not self.n:
            return self._curves_with([("prior", self)])
        curves = self._curves_with([("prior", replace(self, seen=Moments.zeros(1, 1))), ("posterior", self)])
        marks = (("mean", self.posterior.location),)
        squares = float(self.seen.squared_deviations()[0, 0])
        if not squares:  # all values are equal, and the likelihood has no maximum
            return replace(curves, marks=marks)
        profile = -self.n / 2 * np.log(squares / self.n + (curves.line - float(self.seen.mean()[0, 0])) ** 2)
        likelihood = np.exp(profile - profile.max())
        likelihood /= likelihood.sum() * (curves.line[1] - curves.line[0])
        prior, posterior = curves.curves
        return replace(curves, curves=(prior, ("likelihood", likelihood), posterior), marks=marks)

    def _curves_with(self, beliefs: Sequence[tuple[str, NormalInverseGamma]]) -> BeliefCurves:
        """Return the densities of μ under several beliefs, by name."""
        ends = np.array([belief.of_mu.interval(0.99) for _, belief in beliefs])
        low, high = self.of_mu.interval(0.9999)
        room = 3 * (high - low)
        line = np.linspace(max(ends[:, 0].min(), low - room), min(ends[:, 1].max(), high + room), 2 * POINTS - 1)
        return BeliefCurves("μ", line, tuple((name, belief.of_mu.density(line)) for name, belief in beliefs), n=self.n)

    @property
    def mle(self) -> NormalParameters[float]:
        """Maximum likelihood estimates, x̄ and Σ(x − x̄)² / n."""
        self._check_observed()
        squares = float(self.seen.squared_deviations()[0, 0])
        if not squares:
            raise self._error(
                "all values seen are equal, so the likelihood grows without bound as σ² goes to 0 and has no maximum. "
                "Use map or mean, which the prior keeps finite."
            )
        return NormalParameters(float(self.seen.mean()[0, 0]), squares / self.n)

    @property
    def map(self) -> NormalParameters[float]:
        """Joint mode of the posterior, μn and βn / (αn + 3/2)."""
        location, _, shape, scale = self.posterior
        return NormalParameters(location, scale / (shape + 1.5))

    @property
    def mean(self) -> NormalParameters[float]:
        """Posterior means, μn and βn / (αn − 1), the latter ∞ up to αn = 1."""
        location, _, shape, scale = self.posterior
        if shape <= 0.5:
            raise self._error(
                f"with shape {shape:g} μ has tails so heavy that it has no mean. Learn a value, take a shape above "
                "1/2, or use map."
            )
        return NormalParameters(location, scale / (shape - 1) if shape > 1 else inf)

    @property
    def variance(self) -> NormalParameters[float]:
        """Posterior variances of μ, βn / (κn (αn − 1)), and of σ², βn² / ((αn − 1)² (αn − 2)).

        Infinite up to αn = 1 and αn = 2.
        """
        _, kappa, shape, scale = self.posterior
        of_mu = scale / (kappa * (shape - 1)) if shape > 1 else inf
        of_sigma2 = (scale / (shape - 1)) ** 2 / (shape - 2) if shape > 2 else inf
        return NormalParameters(of_mu, of_sigma2)

    def density(self, mu: ArrayLike, sigma2: ArrayLike) -> Any:
        """Return the joint posterior density.

        Parameters
        ----------
        mu, sigma2 : float or array-like

        Returns
        -------
        float or ndarray
            0 for σ² ≤ 0.
        """
        from scipy import stats

        location, kappa, shape, scale = self.posterior
        spread = np.asarray(sigma2, dtype=np.float64)
        there = np.where(spread > 0, spread, 1.0)
        of_mu = stats.norm.pdf(np.asarray(mu, dtype=np.float64), location, np.sqrt(there / kappa))
        return np.where(spread > 0, of_mu * stats.invgamma.pdf(there, shape, scale=scale), 0.0)[()]

    def credible_interval(self, level: float = 0.95) -> NormalParameters[Interval]:
        """Return the central credible intervals of μ (Student's t) and σ² (inverse gamma), each by itself.

        Parameters
        ----------
        level : float, default=0.95

        Returns
        -------
        NormalParameters
            Intervals ``mu`` and ``sigma2``.
        """
        from scipy import stats

        _, _, shape, scale = self.posterior
        of_mu = self.of_mu.interval(level)
        low, high = (stats.invgamma.ppf(tail, shape, scale=scale) for tail in tails(level))
        return NormalParameters(of_mu, (float(low), float(high)))

    @property
    def predictive(self) -> StudentT:
        """Posterior predictive: Student's t with 2 αn degrees of freedom, centered at μn.

        >>> NormalInverseGamma(0, 1, 1, 1).predictive
        StudentT(df=2, location=0, scale=1.4142135623730951)
        """
        location, kappa, shape, scale = self.posterior
        return StudentT(2 * shape, location, sqrt(scale / shape * ((kappa + 1) / kappa)))

    @property
    def log_marginal_likelihood(self) -> float:
        """ln P(values) = log Γ(αn)/Γ(α0) + α0 log β0 − αn log βn + ½ log κ0/κn − n/2 · log 2π"""
        before, after = self.prior, self.posterior
        return (
            lgamma(after.shape)
            - lgamma(before.shape)
            + before.shape * log(before.scale)
            - after.shape * log(after.scale)
            + (log(before.kappa) - log(after.kappa) - self.n * log(2 * pi)) / 2
        )

    def _moments(self, data: Any) -> Moments:
        x: Floats = np.array(self._list(data), dtype=np.float64).reshape(-1, 1)
        for row in np.flatnonzero(~(np.abs(x) <= 1e150)):
            raise self._error(f"{x[row, 0]!r} at position {row} is missing or beyond 1e150. Leave it out.")
        return Moments.of(x, np.zeros(len(x)), n_classes=1)

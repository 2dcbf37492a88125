"""Conjugate models: their base class, and those of counted outcomes, Beta-Bernoulli and Dirichlet-categorical."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice
from math import inf, lgamma
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from bayeskit import logspace
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError, NotLearned, SchemaMismatch, UnknownValue
from bayeskit.estimate.smoothing import is_number, smoothed
from bayeskit.nearest import did_you_mean
from bayeskit.tables import ROWS, Grid, Readable, Sheet
from bayeskit.tolerance import GONE, OFF_ONE
from bayeskit.typing import Floats

B = TypeVar("B", bound="Belief")
POINTS = 201  # of a curve


@dataclass(frozen=True)
class BeliefCurves(Drawable):
    """Densities of a ``parameter`` along a ``line``, by name.

    ``marks`` are named points on the line, ``between`` are the bounds of the parameter, if it has any.
    """

    parameter: str
    line: Floats = field(compare=False, repr=False)
    curves: tuple[tuple[str, Floats], ...] = field(compare=False, repr=False)
    marks: tuple[tuple[str, float], ...] = ()
    n: float = 0
    between: tuple[float, float] | None = None


@dataclass(frozen=True)
class LikelihoodCurve(Drawable):
    """ln P(data | parameter) along a ``line``, highest at ``maximum``, where it is ``log_maximum``."""

    parameter: str
    line: Floats = field(compare=False, repr=False)
    log_likelihood: Floats = field(compare=False, repr=False)
    maximum: float
    log_maximum: float
    n: float

    @property
    def relative(self) -> Floats:
        """Likelihood divided by its maximum."""
        return np.exp(self.log_likelihood - self.log_maximum)


@dataclass(frozen=True)
class BeliefIntervals(Drawable):
    """Prior and posterior means and 95 % credible intervals of several parameters."""

    names: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...]
    n: float


class Beliefs(list[B], Drawable):
    """List of posteriors after each outcome; ``before`` is the prior."""

    def __init__(self, before: B, beliefs: Iterable[B]) -> None:
        super().__init__(beliefs)
        self.before = before

    def curves(self) -> Any:
        """Return the densities after 0, 1, 2, 4, 8, … outcomes."""
        after = [0, *(1 << k for k in range(len(self).bit_length()) if 1 << k < len(self)), len(self)]
        chosen = [(n, self[n - 1] if n else self.before) for n in dict.fromkeys(after)]
        some = [chosen[i] for i in np.unique(np.linspace(0, len(chosen) - 1, 6).round().astype(int))]
        last: Any = some[-1][1]
        return last._curves_with([(f"after {n}" if n else "before", belief) for n, belief in some])


Interval = tuple[float, float]


class Belief(Readable, Drawable, ABC):
    """Base of the conjugate models: a prior and sufficient statistics; every change returns a new object."""

    @property
    @abstractmethod
    def n(self) -> float:
        """Number of observations."""

    @abstractmethod
    def update(self, data: Any) -> Self:
        """Return the posterior after adding observations."""

    def sequence(self, data: Iterable[Any]) -> Beliefs[Self]:
        """Return the posteriors after each observation.

        Parameters
        ----------
        data : iterable
            Observations in order.

        Returns
        -------
        Beliefs
            List with one posterior per observation.
        """
        beliefs = accumulate(self._list(data), lambda belief, outcome: belief.update([outcome]), initial=self)
        return Beliefs(self, islice(beliefs, 1, None))

    def _list(self, data: Any) -> list[Any]:
        """Return observations as a list; reject a single one and a mapping, which has no order."""
        if isinstance(data, str | bytes | Mapping) or not isinstance(data, Iterable):
            raise self._error(f"{data!r} is not a list of outcomes. For a single one write [{data!r}].")
        return list(data)

    def _error(self, message: str) -> BayesError:
        return BayesError(f"{type(self).__name__}: {message}")

    def _interval_grid(self, numbers: Mapping[str, tuple[float | None, Interval]]) -> Grid:
        """Return the posterior mean and 95 % credible interval of each parameter."""
        means, intervals = zip(*numbers.values(), strict=True)
        low, high = zip(*intervals, strict=True)
        return Grid({"of": list(numbers), "mean": means, "95 % from": low, "to": high})

    def _check_positive(self, **hyperparameters: Any) -> None:
        for name, number in hyperparameters.items():
            if not is_number(number) or not 0 < number < inf:
                raise self._error(f"{name} is {number!r}; it is a finite number above 0.")

    def _check_same_prior(self, mine: object, theirs: object) -> None:
        if mine != theirs:
            raise SchemaMismatch(
                f"merge: the beliefs began with different priors, {mine} and {theirs}. "
                "Begin both with the same; update one by the other's data otherwise."
            )

    def _check_observed(self) -> None:
        if not self.n:
            raise self._error("nothing was seen, so there is no maximum of the likelihood. Use mean, or update first.")


def likelihood_ratio(log_one: float, log_other: float, one: str, other: str) -> float:
    """Return the ratio of two likelihoods; 0/0 raises an error."""
    if log_one == log_other == -inf:
        raise BayesError(f"what was seen is impossible under {one} and under {other} alike: their ratio is 0/0.")
    with np.errstate(over="ignore"):
        return float(logspace.exp(log_one - log_other))


def tails(level: float) -> list[float]:
    """Return the cumulative probabilities at the ends of the central interval of a level."""
    if not is_number(level) or not 0 < level < 1:
        raise BayesError(f"level={level!r}: the probability inside the interval lies between 0 and 1.")
    return [(1 - level) / 2, (1 + level) / 2]


class CountBelief(Belief):
    """Base of the models of counted outcomes: a Dirichlet prior over values and the count of each."""

    @property
    @abstractmethod
    def _prior(self) -> Mapping[Any, float]:
        """Hyperparameter of each value."""

    @property
    @abstractmethod
    def _counts(self) -> Mapping[Any, float]:
        """Count of each value."""

    @abstractmethod
    def _with_counts(self, counts: Mapping[Any, float]) -> Self:
        """Return the belief with other counts."""

    @property
    def n(self) -> float:
        """Number of observed outcomes."""
        return sum(self._counts.values())

    def update(self, data: Mapping[Any, float] | Iterable[Any]) -> Self:
        """Return the posterior after adding outcomes.

        Parameters
        ----------
        data : iterable, or dict
            Outcomes, or ``{outcome: count}``.

        Returns
        -------
        BetaBernoulli or DirichletCategorical
            A new object.

        Raises
        ------
        UnknownValue
            If an outcome has no prior.
        """
        return self._with_counts(_plus(self._counts, self._count(data)))

    def forget(self, data: Mapping[Any, float] | Iterable[Any]) -> Self:
        """Return the posterior after removing outcomes.

        Parameters
        ----------
        data : iterable, or dict
            Outcomes, or ``{outcome: count}``.

        Returns
        -------
        BetaBernoulli or DirichletCategorical
            A new object.

        Raises
        ------
        NotLearned
            If the outcomes were not observed.
        """
        return self._with_counts(_minus(self._counts, self._count(data)))

    def merge(self, other: Self) -> Self:
        """Return the posterior given the outcomes of both.

        Parameters
        ----------
        other : BetaBernoulli or DirichletCategorical
            A belief with the same prior.

        Returns
        -------
        BetaBernoulli or DirichletCategorical
            A new object.

        Raises
        ------
        SchemaMismatch
            If the priors differ.
        """
        self._check_same_prior(self._prior, other._prior)
        return self._with_counts(_plus(self._counts, other._counts))

    @property
    def log_marginal_likelihood(self) -> float:
        """ln P(outcomes) = ln B(n + β) − ln B(β), for the outcomes in their order.

        >>> one = BetaBernoulli().update([True, False])         # 1/2 · 1/3
        >>> round(float(np.exp(one.log_marginal_likelihood)), 6)
        0.166667
        """
        return _log_beta(_plus(self._counts, self._prior).values()) - _log_beta(self._prior.values())

    def _count(self, data: Any) -> dict[Any, float]:
        """Count each value in a list of outcomes or in a mapping from outcome to count."""
        counts: dict[Any, float] = dict.fromkeys(self._prior, 0)
        if isinstance(data, Mapping):
            for value, n in data.items():
                if not is_number(n) or not 0 <= n < inf:
                    raise self._error(f"the count of {value!r} is {n!r}; it is a finite number of at least 0.")
                counts[self._known(value)] += n
        else:
            for row, outcome in enumerate(self._list(data)):
                counts[self._known(outcome, f" at position {row}")] += 1
        return counts

    def _known(self, value: Any, place: str = "") -> Any:
        if isinstance(value, Hashable) and value in self._prior:
            return value
        raise UnknownValue(
            f"{type(self).__name__}: {value!r}{place} is not among its values ({_some(self._prior)}). "
            "Leave it out, or begin with a prior that holds it"
            f"{did_you_mean(value, self._prior) or '.'}"
        )

    def _check_mode(self, posterior: Mapping[Any, float]) -> None:
        for value, a in posterior.items():
            if a < 1:
                raise self._error(
                    f"the hyperparameter of {value!r} is {a:g} after the data. Below 1 the density grows without bound "
                    "where its probability goes to 0, so there is no mode. Use mean instead."
                )
        if all(a == 1 for a in posterior.values()):
            raise self._error(
                "every distribution is as probable as any other (all hyperparameters are 1), so there is no mode. "
                "Use mean, or update first."
            )


@dataclass(frozen=True)
class BetaBernoulli(CountBelief):
    """Beta-Bernoulli model: a Beta(heads, tails) prior and the counts of observed flips.

    P(θ | flips) = Beta(seen_heads + heads, seen_tails + tails)

    Parameters
    ----------
    heads, tails : float, default=1
        Hyperparameters of the prior, above 0; (1, 1) is uniform.
    seen_heads, seen_tails : float, default=0
        Counts of observed flips. Flips are True and False, or 1 and 0.

    Examples
    --------
    >>> coin = BetaBernoulli(1, 1).update({True: 51, False: 49})
    >>> coin.mle, coin.map, round(coin.mean, 6)             # 51/100, 51/100, 52/102
    (0.51, 0.51, 0.509804)
    >>> coin.forget([True]).update([True]) == coin
    True
    >>> [round(end, 3) for end in coin.credible_interval(0.95)]
    [0.413, 0.606]
    """

    heads: float = 1
    tails: float = 1
    seen_heads: float = 0
    seen_tails: float = 0

    def __post_init__(self) -> None:
        self._check_positive(heads=self.heads, tails=self.tails)
        self._count(self._counts)

    @property
    def posterior(self) -> tuple[float, float]:
        """Hyperparameters of the posterior: (seen_heads + heads, seen_tails + tails)."""
        return self.seen_heads + self.heads, self.seen_tails + self.tails

    @property
    def mle(self) -> float:
        """Maximum likelihood estimate, seen_heads / n."""
        self._check_observed()
        return float(smoothed(self.seen_heads, self.n, 0, 0))

    @property
    def map(self) -> float:
        """Mode of the posterior, (a1 + b1 − 1) / (a1 + b1 − 1 + a0 + b0 − 1)."""
        self._check_mode({"heads": self.posterior[0], "tails": self.posterior[1]})
        return float(smoothed(self.seen_heads, self.n, self.heads - 1, self.heads + self.tails - 2))

    @property
    def mean(self) -> float:
        """Posterior mean, (a1 + b1) / (a1 + b1 + a0 + b0)."""
        return float(smoothed(self.seen_heads, self.n, self.heads, self.heads + self.tails))

    @property
    def variance(self) -> float:
        """Posterior variance, mean · (1 − mean) / (a1 + b1 + a0 + b0 + 1)."""
        a, b = self.posterior
        return float(a / (a + b) * (b / (a + b)) / (a + b + 1))

    def density(self, x: ArrayLike) -> Any:
        """Return the posterior density.

        Parameters
        ----------
        x : float or array-like
            Probabilities of heads.

        Returns
        -------
        float or ndarray
            0 outside [0, 1].

        Examples
        --------
        >>> BetaBernoulli(2, 1).density([0.0, 0.5, 1.0]).round(6).tolist()   # 2 θ
        [0.0, 1.0, 2.0]
        """
        from scipy import stats

        return stats.beta.pdf(np.asarray(x, dtype=np.float64), *self.posterior)

    def credible_interval(self, level: float = 0.95) -> Interval:
        """Return the central credible interval of θ.

        Parameters
        ----------
        level : float, default=0.95

        Returns
        -------
        (float, float)
        """
        from scipy import special  # loads in a tenth of the time of scipy.stats

        low, high = (special.betaincinv(*self.posterior, tail) for tail in tails(level))
        return float(low), float(high)

    @property
    def predictive(self) -> dict[bool, float]:
        """Probability of either outcome of the next flip.

        >>> BetaBernoulli().update([1, 1]).predictive            # (2 + 1) / (2 + 2)
        {True: 0.75, False: 0.25}
        """
        return {True: self.mean, False: float(smoothed(self.seen_tails, self.n, self.tails, self.heads + self.tails))}

    def log_likelihood(self, theta: ArrayLike) -> Any:
        """Return ln P(flips | θ) = a1 ln θ + a0 ln(1 − θ), for the flips in their order.

        Parameters
        ----------
        theta : float or array-like

        Returns
        -------
        float or ndarray

        Examples
        --------
        >>> seven = BetaBernoulli().update({True: 7, False: 3})
        >>> round(float(seven.log_likelihood(0.7) - seven.log_likelihood(0.5)), 6)   # as probable as 2.276932 to 1
        0.822829
        """
        try:
            x = np.asarray(theta, dtype=np.float64)
        except (TypeError, ValueError):
            x = np.array(np.nan)
        if not ((x >= 0) & (x <= 1)).all():
            raise self._error(f"θ is {theta!r}; a probability lies between 0 and 1.")
        of_heads = self.seen_heads * logspace.log(x) if self.seen_heads else np.zeros(x.shape)
        return (of_heads + (self.seen_tails * logspace.log(1 - x) if self.seen_tails else 0.0))[()]

    def likelihood_ratio(self, one: float, other: float) -> float:
        """Return P(flips | one) / P(flips | other) of two values of θ.

        Parameters
        ----------
        one, other : float

        Returns
        -------
        float

        Examples
        --------
        >>> round(BetaBernoulli().update({True: 7, False: 3}).likelihood_ratio(0.7, 0.5), 6)
        2.276932
        """
        logs = float(self.log_likelihood(one)), float(self.log_likelihood(other))
        return likelihood_ratio(*logs, f"θ = {one!r}", f"{other!r}")

    def likelihood(self) -> LikelihoodCurve:
        """Return the likelihood of θ and its maximum.

        Returns
        -------
        LikelihoodCurve
        """
        line = np.linspace(0, 1, POINTS)
        best = self.mle
        top = float(self.log_likelihood(best))
        return LikelihoodCurve("θ, the probability of heads", line, self.log_likelihood(line), best, top, self.n)

    def curves(self) -> BeliefCurves:
        """Return the prior, the likelihood and the posterior of θ, each with area one.

        Returns
        -------
        BeliefCurves
        """
        before, likelihood = replace(self, seen_heads=0, seen_tails=0), replace(self, heads=1, tails=1)
        after = [("likelihood", likelihood), ("posterior", self)] if self.n else []
        return replace(self._curves_with([("prior", before), *after]), marks=(("mean", self.mean),))

    def _curves_with(self, beliefs: Sequence[tuple[str, BetaBernoulli]]) -> BeliefCurves:
        """Return the densities of θ under several beliefs, by name."""
        line = np.linspace(0, 1, POINTS)
        line[[0, -1]] = 0.0005, 0.9995  # below 1, a hyperparameter makes the density infinite at the end
        curves = tuple((name, np.asarray(belief.density(line))) for name, belief in beliefs)
        return BeliefCurves("θ, the probability of heads", line, curves, n=self.n, between=(0.0, 1.0))

    @property
    def sheet(self) -> Sheet:
        """Posterior mean and credible interval, for display."""
        a, b = self.posterior
        grid = self._interval_grid({"θ": (self.mean, self.credible_interval())})
        return Sheet(f"Beta({a:g}, {b:g}) after {self.n:g} flips", (grid,))

    @property
    def _prior(self) -> dict[Any, float]:
        return {True: self.heads, False: self.tails}

    @property
    def _counts(self) -> dict[Any, float]:
        return {True: self.seen_heads, False: self.seen_tails}

    def _with_counts(self, counts: Mapping[Any, float]) -> Self:
        return replace(self, seen_heads=counts[True], seen_tails=counts[False])


@dataclass(frozen=True)
class DirichletCategorical(CountBelief):
    """Dirichlet-categorical model: a Dirichlet(β) prior and the counts of observed values.

    P(θ | counts) = Dirichlet(n + β)

    Parameters
    ----------
    beta : dict
        Hyperparameter of every possible value, above 0.
    seen : dict, optional
        Counts of observed values.

    Examples
    --------
    >>> die = DirichletCategorical({face: 2 for face in range(1, 7)}).update([6, 6, 3])
    >>> die.posterior
    {1: 2, 2: 2, 3: 3, 4: 2, 5: 2, 6: 4}
    >>> die.map[6] * 9, die.mean[6] * 15                    # (2 + 2 − 1) / (3 + 6), (2 + 2) / (3 + 12)
    (3.0, 4.0)
    >>> die.forget([3]) == DirichletCategorical({face: 2 for face in range(1, 7)}).update({6: 2})
    True
    """

    beta: Mapping[Any, float]
    seen: Mapping[Any, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.beta, Mapping) or len(self.beta) < 2:
            raise self._error(
                f"beta is {self.beta!r}; it maps each of at least two values to a positive number. For one number b "
                "write dict.fromkeys(values, b)."
            )
        self._check_positive(**{f"beta[{value!r}]": b for value, b in self.beta.items()})
        seen = self._count(self.seen)
        # Own copies, and a count for each value: equal beliefs compare equal however they were reached.
        object.__setattr__(self, "beta", dict(self.beta))
        object.__setattr__(self, "seen", seen)

    def __hash__(self) -> int:
        return hash((frozenset(self.beta.items()), frozenset(self.seen.items())))

    @property
    def posterior(self) -> dict[Any, float]:
        """Hyperparameters of the posterior: n_v + β_v."""
        return _plus(self.seen, self.beta)

    def marginal(self, value: object) -> BetaBernoulli:
        """Return the marginal Beta distribution of one value against all others.

        Parameters
        ----------
        value : object

        Returns
        -------
        BetaBernoulli

        Examples
        --------
        >>> DirichletCategorical({"a": 1, "b": 1, "c": 1}).update(["a", "b"]).marginal("a")
        BetaBernoulli(heads=1, tails=2, seen_heads=1, seen_tails=1)
        """
        heads = self.beta[self._known(value)]
        seen = self.seen[value]
        tails = sum(b for other, b in self.beta.items() if other != value)
        return BetaBernoulli(heads, tails, seen, self.n - seen)

    @property
    def mle(self) -> dict[Any, float]:
        """Maximum likelihood estimate, n_v / N."""
        self._check_observed()
        return {value: self.marginal(value).mle for value in self.beta}

    @property
    def map(self) -> dict[Any, float]:
        """Mode of the posterior, (n_v + β_v − 1) / (N + Σβ − m), m values in all."""
        self._check_mode(self.posterior)
        everything = sum(self.beta.values()) - len(self.beta)
        return {v: float(smoothed(self.seen[v], self.n, b - 1, everything)) for v, b in self.beta.items()}

    @property
    def mean(self) -> dict[Any, float]:
        """Posterior mean, (n_v + β_v) / (N + Σβ)."""
        return {value: self.marginal(value).mean for value in self.beta}

    @property
    def variance(self) -> dict[Any, float]:
        """Posterior variance, mean_v · (1 − mean_v) / (N + Σβ + 1)."""
        return {value: self.marginal(value).variance for value in self.beta}

    def density(self, p: Mapping[Any, float] | Sequence[float]) -> float:
        """Return the posterior density at one distribution.

        Parameters
        ----------
        p : dict, or sequence of float
            Probability of each value; a sequence has the order of β.

        Returns
        -------
        float

        Examples
        --------
        >>> round(DirichletCategorical({"a": 1, "b": 1, "c": 1}).density([0.2, 0.3, 0.5]), 6)   # 2!
        2.0
        """
        point = self._point(p, "density")
        if (point < 0).any() or abs(point.sum() - 1) > OFF_ONE:
            return 0.0
        powers = np.array(list(self.posterior.values()), dtype=np.float64) - 1
        at = np.where(powers == 0, 1.0, point)  # p⁰ is 1 for p = 0 too
        return float(logspace.exp(powers @ logspace.log(at) - _log_beta(self.posterior.values())))

    def credible_interval(self, level: float = 0.95) -> dict[Any, Interval]:
        """Return the central credible interval of the probability of each value by itself.

        Parameters
        ----------
        level : float, default=0.95

        Returns
        -------
        dict
            ``{value: (float, float)}``.
        """
        return {value: self.marginal(value).credible_interval(level) for value in self.beta}

    @property
    def predictive(self) -> dict[Any, float]:
        """Probability of each value of the next outcome: the posterior mean."""
        return self.mean

    def log_likelihood(self, p: Mapping[Any, float] | Sequence[float]) -> float:
        """Return ln P(outcomes | p) = Σ n_v ln p_v, for the outcomes in their order.

        Parameters
        ----------
        p : dict, or sequence of float
            Probability of each value, as in :meth:`density`.

        Returns
        -------
        float

        Examples
        --------
        >>> die = DirichletCategorical({"a": 1, "b": 1, "c": 1}).update(["a", "a", "b"])
        >>> round(float(logspace.exp(die.log_likelihood([0.5, 0.25, 0.25]))), 6)         # ½ · ½ · ¼
        0.0625
        """
        point = self._point(p, "log_likelihood")
        if not (point >= 0).all() or abs(point.sum() - 1) > OFF_ONE:
            raise BayesError(f"{self._of('log_likelihood')}: {point.tolist()} are not probabilities that sum to one.")
        counts = np.array([self.seen[value] for value in self.beta], dtype=np.float64)
        there = counts > 0
        return float(counts[there] @ logspace.log(point[there]))

    def likelihood_ratio(self, one: Any, other: Any) -> float:
        """Return P(outcomes | one) / P(outcomes | other) of two distributions.

        Parameters
        ----------
        one, other : dict, or sequence of float
            As in :meth:`density`.

        Returns
        -------
        float
        """
        return likelihood_ratio(self.log_likelihood(one), self.log_likelihood(other), "the first", "the second")

    def _point(self, p: Mapping[Any, float] | Sequence[float], who: str) -> Floats:
        """Return the probabilities of a distribution in the order of β."""
        if isinstance(p, Mapping):
            if p.keys() != self.beta.keys():
                lacking, unknown = [v for v in self.beta if v not in p], [v for v in p if v not in self.beta]
                problem = f"no probability of {lacking[0]!r}" if lacking else f"{unknown[0]!r} is none of its values"
                raise UnknownValue(f"{self._of(who)}: {problem}. Give one for each value ({_some(self.beta)}).")
            p = [p[value] for value in self.beta]
        try:
            point = np.asarray(p, dtype=np.float64)
        except (TypeError, ValueError):
            raise BayesError(f"{self._of(who)}: {p!r} are not numbers. Give one for each value.") from None
        if point.shape != (len(self.beta),):
            raise BayesError(f"{self._of(who)}: {point.size} probabilities for {len(self.beta)} values.")
        return point

    @staticmethod
    def _of(method: str) -> str:
        return f"DirichletCategorical.{method}"

    def likelihood(self, value: Any) -> LikelihoodCurve:
        """Return the likelihood of the probability of one value against all others, and its maximum.

        Parameters
        ----------
        value : object

        Returns
        -------
        LikelihoodCurve

        Examples
        --------
        >>> DirichletCategorical({"a": 1, "b": 1, "c": 1}).update(["a", "a", "b"]).likelihood("a").maximum    # 2/3
        0.6666666666666666
        """
        n = self.seen[self._known(value)]
        curve = BetaBernoulli().update({True: n, False: self.n - n}).likelihood()
        return replace(curve, parameter=f"the probability of {value}")

    def curves(self) -> BeliefIntervals:
        """Return prior and posterior means and 95 % credible intervals of each value.

        Returns
        -------
        BeliefIntervals
        """
        return self._curves_with([("posterior", self)])

    def _curves_with(self, beliefs: Sequence[tuple[str, DirichletCategorical]]) -> BeliefIntervals:
        """Return the means and credible intervals of each value under several beliefs."""
        last = beliefs[-1][1]
        before, after, ends = replace(last, seen={}).mean, last.mean, last.credible_interval()
        names = tuple(map(str, after))
        return BeliefIntervals(names, tuple(before.values()), tuple(after.values()), tuple(ends.values()), last.n)

    @property
    def sheet(self) -> Sheet:
        """Posterior means and credible intervals, for display."""
        coins = {f"P({value})": self.marginal(value) for value in islice(self.beta, ROWS)}
        grid = self._interval_grid({name: (coin.mean, coin.credible_interval()) for name, coin in coins.items()})
        head = f"Dirichlet over {len(self.beta):,} values after {self.n:g} outcomes"
        return Sheet(head, (replace(grid, more=len(self.beta) - len(coins)),))

    @property
    def _prior(self) -> Mapping[Any, float]:
        return self.beta

    @property
    def _counts(self) -> Mapping[Any, float]:
        return self.seen

    def _with_counts(self, counts: Mapping[Any, float]) -> Self:
        return replace(self, seen=counts)


def _some(values: Iterable[Any]) -> str:
    first = list(islice(values, 9))
    return ", ".join(map(repr, first[:8])) + ", …" * (len(first) > 8)


def _plus(a: Mapping[Any, float], b: Mapping[Any, float]) -> dict[Any, float]:
    return {value: n + b[value] for value, n in a.items()}


def _minus(a: Mapping[Any, float], b: Mapping[Any, float]) -> dict[Any, float]:
    noise = GONE * sum(a.values())  # rounding error of fractional counts
    left = {value: n - b[value] for value, n in a.items()}
    left = {value: 0 if isinstance(n, float) and abs(n) <= noise else n for value, n in left.items()}
    for value, n in left.items():
        if n < 0:
            raise NotLearned(
                f"forget: {b[value]} of {value!r} to forget, and only {a[value]} were learned. "
                "Nothing was changed; forget what was learned."
            )
    return left


def _log_beta(hyperparameters: Iterable[float]) -> float:
    """Return the log of the multivariate Beta function, Π Γ(a) / Γ(Σ a)."""
    a = list(hyperparameters)
    return sum(map(lgamma, a)) - lgamma(sum(a))

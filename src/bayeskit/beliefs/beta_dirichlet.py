"""Conjugate models of counted outcomes: Beta-Bernoulli and Dirichlet-categorical."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import inf, lgamma
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bayeskit import logspace
from bayeskit.beliefs.belief import (
    POINTS,
    BeliefCurves,
    BeliefIntervals,
    Beliefs,
    Interval,
    LikelihoodCurve,
    _listed,
    believed,
    positive,
    ratio,
    same_prior,
    sequence,
    some,
    tails,
)
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError, NotLearnt, UnknownValue
from bayeskit.estimate.smoothing import is_number, smoothed
from bayeskit.nearest import did_you_mean
from bayeskit.tables.sheet import ROWS, Readable, Sheet
from bayeskit.tolerance import GONE, OFF_ONE
from bayeskit.typing import Floats


@dataclass(frozen=True)
class BetaBernoulli(Readable, Drawable):
    """Beta-Bernoulli model: a Beta(heads, tails) prior and the counts of observed flips.

    P(θ | flips) = Beta(seen_heads + heads, seen_tails + tails)

    The hyperparameters `heads` and `tails` are positive; (1, 1) holds every coin equally likely. Flips are
    True and False, or 1 and 0, one by one or as a mapping to counts.

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
        positive("BetaBernoulli", heads=self.heads, tails=self.tails)
        _counted(self._counts, (True, False), "BetaBernoulli")

    @property
    def posterior(self) -> tuple[float, float]:
        """The hyperparameters after the data: (seen_heads + heads, seen_tails + tails)."""
        return self.seen_heads + self.heads, self.seen_tails + self.tails

    @property
    def n(self) -> float:
        """Return the number of observed flips."""
        return self.seen_heads + self.seen_tails

    def update(self, data: Mapping[Any, float] | Iterable[Any]) -> Self:
        """Return the posterior after adding these flips."""
        return self._seen(_plus(self._counts, _counted(data, (True, False), "BetaBernoulli")))

    def forget(self, data: Mapping[Any, float] | Iterable[Any]) -> Self:
        """Return the posterior after removing these flips; raise if they were not observed."""
        return self._seen(_minus(self._counts, _counted(data, (True, False), "BetaBernoulli")))

    def merge(self, other: Self) -> Self:
        """Return the posterior given the flips of both, which must have the same prior."""
        same_prior((self.heads, self.tails), (other.heads, other.tails))
        return self._seen(_plus(self._counts, other._counts))

    def sequence(self, data: Iterable[Any]) -> Beliefs[Self]:
        """Return the posteriors after each flip in turn."""
        return sequence(self, data)

    @property
    def mle(self) -> float:
        """seen_heads / n"""
        some("BetaBernoulli", self.n)
        return float(smoothed(self.seen_heads, self.n, 0, 0))

    @property
    def map(self) -> float:
        """The mode of the posterior: (a1 + b1 − 1) / (a1 + b1 − 1 + a0 + b0 − 1)."""
        _has_mode("BetaBernoulli", {"heads": self.posterior[0], "tails": self.posterior[1]})
        return float(smoothed(self.seen_heads, self.n, self.heads - 1, self.heads + self.tails - 2))

    @property
    def mean(self) -> float:
        """(a1 + b1) / (a1 + b1 + a0 + b0)"""
        return float(smoothed(self.seen_heads, self.n, self.heads, self.heads + self.tails))

    @property
    def variance(self) -> float:
        """mean · (1 − mean) / (a1 + b1 + a0 + b0 + 1)"""
        a, b = self.posterior
        return float(a / (a + b) * (b / (a + b)) / (a + b + 1))

    def density(self, x: ArrayLike) -> Any:
        """The posterior density at these probabilities of heads; 0 outside [0, 1].

        >>> BetaBernoulli(2, 1).density([0.0, 0.5, 1.0]).round(6).tolist()   # 2 θ
        [0.0, 1.0, 2.0]
        """
        from scipy import stats

        return stats.beta.pdf(np.asarray(x, dtype=np.float64), *self.posterior)

    def credible_interval(self, level: float = 0.95) -> Interval:
        """The middle interval that holds θ with this probability: equal tails on both sides."""
        from scipy import special  # loads in a tenth of the time of scipy.stats

        low, high = (special.betaincinv(*self.posterior, tail) for tail in tails(level))
        return float(low), float(high)

    @property
    def predictive(self) -> dict[bool, float]:
        """The probability of either outcome of the next flip.

        >>> BetaBernoulli().update([1, 1]).predictive            # (2 + 1) / (2 + 2)
        {True: 0.75, False: 0.25}
        """
        everything = self.heads + self.tails
        return {
            True: float(smoothed(self.seen_heads, self.n, self.heads, everything)),
            False: float(smoothed(self.seen_tails, self.n, self.tails, everything)),
        }

    @property
    def log_marginal_likelihood(self) -> float:
        """log P(flips) = log B(a1 + b1, a0 + b0) − log B(b1, b0), for the flips in the order they fell.

        >>> one = BetaBernoulli().update([True, False])         # 1/2 · 1/3
        >>> round(float(np.exp(one.log_marginal_likelihood)), 6)
        0.166667
        """
        return _log_beta(self.posterior) - _log_beta((self.heads, self.tails))

    def log_likelihood(self, theta: ArrayLike) -> Any:
        """ln P(flips | θ) = a1 ln θ + a0 ln(1 − θ), for the flips in the order they fell.

        >>> seven = BetaBernoulli().update({True: 7, False: 3})
        >>> round(float(seven.log_likelihood(0.7) - seven.log_likelihood(0.5)), 6)   # as probable as 2.276932 to 1
        0.822829
        """
        try:
            x = np.asarray(theta, dtype=np.float64)
        except (TypeError, ValueError):
            x = np.array(np.nan)
        if not ((x >= 0) & (x <= 1)).all():
            raise BayesError(f"BetaBernoulli: θ is {theta!r}; a probability lies between 0 and 1.")
        of_heads = self.seen_heads * logspace.log(x) if self.seen_heads else np.zeros(x.shape)
        return (of_heads + (self.seen_tails * logspace.log(1 - x) if self.seen_tails else 0.0))[()]

    def likelihood_ratio(self, one: float, other: float) -> float:
        """P(flips | one) / P(flips | other): how much better one θ explains the flips than another.

        >>> round(BetaBernoulli().update({True: 7, False: 3}).likelihood_ratio(0.7, 0.5), 6)
        2.276932
        """
        return ratio(float(self.log_likelihood(one)), float(self.log_likelihood(other)), f"θ = {one!r}", f"{other!r}")

    def likelihood(self) -> LikelihoodCurve:
        """The likelihood of each θ after the flips that were seen, and where it is highest."""
        line = np.linspace(0, 1, POINTS)
        best = self.mle
        top = float(self.log_likelihood(best))
        return LikelihoodCurve("θ, the probability of heads", line, self.log_likelihood(line), best, top, self.n)

    def curves(self) -> BeliefCurves:
        """The densities of θ before and after the flips, and the likelihood between them, scaled to an area of one."""
        before, likelihood = replace(self, seen_heads=0, seen_tails=0), replace(self, heads=1, tails=1)
        after = [("likelihood", likelihood), ("posterior", self)] if self.n else []
        return replace(self.curves_with([("prior", before), *after]), marks=(("mean", self.mean),))

    def curves_with(self, beliefs: Sequence[tuple[str, BetaBernoulli]]) -> BeliefCurves:
        """The densities of θ under several beliefs, by name."""
        line = np.linspace(0, 1, POINTS)
        line[[0, -1]] = 0.0005, 0.9995  # below 1, a hyperparameter makes the density infinite at the end
        curves = tuple((name, np.asarray(belief.density(line))) for name, belief in beliefs)
        return BeliefCurves("θ, the probability of heads", line, curves, n=self.n, between=(0.0, 1.0))

    @property
    def sheet(self) -> Sheet:
        """The posterior, and how sure it is of θ."""
        a, b = self.posterior
        return Sheet(
            f"Beta({a:g}, {b:g}) after {self.n:g} flips", (believed({"θ": (self.mean, self.credible_interval())}),)
        )

    @property
    def _counts(self) -> dict[Any, float]:
        return {True: self.seen_heads, False: self.seen_tails}

    def _seen(self, counts: Mapping[Any, float]) -> Self:
        return replace(self, seen_heads=counts[True], seen_tails=counts[False])


@dataclass(frozen=True)
class DirichletCategorical(Readable, Drawable):
    """Dirichlet-categorical model: a Dirichlet(β) prior and the counts of observed values.

    P(θ | counts) = Dirichlet(n + β)

    β maps every possible value to a positive number. What is known of all values at once is a mapping too.

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
            raise BayesError(
                f"DirichletCategorical: beta is {self.beta!r}; it maps each of at least two values to a "
                "positive number. For one number b write dict.fromkeys(values, b)."
            )
        positive("DirichletCategorical", **{f"beta[{value!r}]": b for value, b in self.beta.items()})
        seen = _counted(self.seen, self.beta, "DirichletCategorical")
        # Own copies, and a count for each value: equal beliefs compare equal however they were reached.
        object.__setattr__(self, "beta", dict(self.beta))
        object.__setattr__(self, "seen", seen)

    def __hash__(self) -> int:
        return hash((frozenset(self.beta.items()), frozenset(self.seen.items())))

    @property
    def posterior(self) -> dict[Any, float]:
        """The hyperparameters after the data: n_v + β_v."""
        return {value: self.seen[value] + b for value, b in self.beta.items()}

    @property
    def n(self) -> float:
        """Return the number of observed outcomes."""
        return sum(self.seen.values())

    def update(self, data: Mapping[Any, float] | Iterable[Any]) -> Self:
        """Return the posterior after adding outcomes: a list of values or a mapping from value to count."""
        return replace(self, seen=_plus(self.seen, self._counted(data)))

    def forget(self, data: Mapping[Any, float] | Iterable[Any]) -> Self:
        """Return the posterior after removing these outcomes; raise if they were not observed."""
        return replace(self, seen=_minus(self.seen, self._counted(data)))

    def merge(self, other: Self) -> Self:
        """Return the posterior given the outcomes of both, which must have the same prior."""
        same_prior(self.beta, other.beta)
        return replace(self, seen=_plus(self.seen, other.seen))

    def sequence(self, data: Iterable[Any]) -> Beliefs[Self]:
        """Return the posteriors after each outcome in turn."""
        return sequence(self, data)

    def marginal(self, value: object) -> BetaBernoulli:
        """Return the marginal Beta distribution of one value against all others.

        >>> DirichletCategorical({"a": 1, "b": 1, "c": 1}).update(["a", "b"]).marginal("a")
        BetaBernoulli(heads=1, tails=2, seen_heads=1, seen_tails=1)
        """
        heads = self.beta[_known(value, self.beta, "DirichletCategorical")]
        seen = self.seen[value]
        tails = sum(b for other, b in self.beta.items() if other != value)
        return BetaBernoulli(heads, tails, seen, self.n - seen)

    @property
    def mle(self) -> dict[Any, float]:
        """n_v / N"""
        some("DirichletCategorical", self.n)
        return {value: self.marginal(value).mle for value in self.beta}

    @property
    def map(self) -> dict[Any, float]:
        """The mode of the posterior: (n_v + β_v − 1) / (N + Σβ − m), m values in all."""
        _has_mode("DirichletCategorical", self.posterior)
        everything = sum(self.beta.values()) - len(self.beta)
        return {v: float(smoothed(self.seen[v], self.n, b - 1, everything)) for v, b in self.beta.items()}

    @property
    def mean(self) -> dict[Any, float]:
        """(n_v + β_v) / (N + Σβ)"""
        return {value: self.marginal(value).mean for value in self.beta}

    @property
    def variance(self) -> dict[Any, float]:
        """mean_v · (1 − mean_v) / (N + Σβ + 1)"""
        return {value: self.marginal(value).variance for value in self.beta}

    def density(self, p: Mapping[Any, float] | Sequence[float]) -> float:
        """The posterior density at one distribution: a mapping, or probabilities in the order of β.

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
        """For each value the middle interval that holds its probability at this level, values one by one."""
        return {value: self.marginal(value).credible_interval(level) for value in self.beta}

    @property
    def predictive(self) -> dict[Any, float]:
        """The probability of each value at the next throw: the posterior mean."""
        return self.mean

    @property
    def log_marginal_likelihood(self) -> float:
        """log P(outcomes) = log B(n + β) − log B(β), for the outcomes in the order they fell."""
        return _log_beta(self.posterior.values()) - _log_beta(self.beta.values())

    def log_likelihood(self, p: Mapping[Any, float] | Sequence[float]) -> float:
        """ln P(outcomes | p) = Σ n_v ln p_v, for the outcomes in the order they fell; p as :meth:`density` takes it.

        >>> die = DirichletCategorical({"a": 1, "b": 1, "c": 1}).update(["a", "a", "b"])
        >>> round(float(logspace.exp(die.log_likelihood([0.5, 0.25, 0.25]))), 6)         # ½ · ½ · ¼
        0.0625
        """
        point = self._point(p, "log_likelihood")
        if not (point >= 0).all() or abs(point.sum() - 1) > OFF_ONE:
            raise BayesError(
                f"DirichletCategorical.log_likelihood: {point.tolist()} are no probabilities that sum to one."
            )
        counts = np.array([self.seen[value] for value in self.beta], dtype=np.float64)
        there = counts > 0
        return float(counts[there] @ logspace.log(point[there]))

    def likelihood_ratio(self, one: Any, other: Any) -> float:
        """P(outcomes | one) / P(outcomes | other) of two distributions."""
        return ratio(self.log_likelihood(one), self.log_likelihood(other), "the first", "the second")

    def _point(self, p: Mapping[Any, float] | Sequence[float], who: str) -> Floats:
        """A distribution over the values, in the order of β."""
        if isinstance(p, Mapping):
            if p.keys() != self.beta.keys():
                lacking, unknown = [v for v in self.beta if v not in p], [v for v in p if v not in self.beta]
                problem = f"no probability of {lacking[0]!r}" if lacking else f"{unknown[0]!r} is none of its values"
                raise UnknownValue(f"{self._of(who)}: {problem}. Give one for each value ({_some(self.beta)}).")
            p = [p[value] for value in self.beta]
        try:
            point = np.asarray(p, dtype=np.float64)
        except (TypeError, ValueError):
            raise BayesError(f"{self._of(who)}: {p!r} are no numbers. Give one for each value.") from None
        if point.shape != (len(self.beta),):
            raise BayesError(f"{self._of(who)}: {point.size} probabilities for {len(self.beta)} values.")
        return point

    @staticmethod
    def _of(method: str) -> str:
        return f"DirichletCategorical.{method}"

    def likelihood(self, value: Any) -> LikelihoodCurve:
        """The likelihood of each probability of one value against all others, and where it is highest.

        >>> DirichletCategorical({"a": 1, "b": 1, "c": 1}).update(["a", "a", "b"]).likelihood("a").maximum    # 2/3
        0.6666666666666666
        """
        n = self.seen[_known(value, self.beta, self._of("likelihood"))]
        curve = BetaBernoulli().update({True: n, False: self.n - n}).likelihood()
        return replace(curve, parameter=f"the probability of {value}")

    def curves(self) -> BeliefIntervals:
        """Return prior and posterior means and 95 % credible intervals of each value."""
        return self.curves_with([("posterior", self)])

    def curves_with(self, beliefs: Sequence[tuple[str, DirichletCategorical]]) -> BeliefIntervals:
        """Return the means and credible intervals of each value under several beliefs."""
        last = beliefs[-1][1]
        before, after, ends = replace(last, seen={}).mean, last.mean, last.credible_interval()
        names = tuple(map(str, after))
        return BeliefIntervals(names, tuple(before.values()), tuple(after.values()), tuple(ends.values()), last.n)

    @property
    def sheet(self) -> Sheet:
        """The posterior, and how sure it is of each value."""
        coins = {f"P({value})": self.marginal(value) for value in islice(self.beta, ROWS)}
        grid = believed({name: (coin.mean, coin.credible_interval()) for name, coin in coins.items()})
        head = f"Dirichlet over {len(self.beta):,} values after {self.n:g} outcomes"
        return Sheet(head, (replace(grid, more=len(self.beta) - len(coins)),))

    def _counted(self, data: Mapping[Any, float] | Iterable[Any]) -> dict[Any, float]:
        return _counted(data, self.beta, "DirichletCategorical")


def _counted(data: Any, values: Iterable[Any], who: str) -> dict[Any, float]:
    """Count each value in a list of outcomes or in a mapping from outcome to count."""
    counts: dict[Any, float] = dict.fromkeys(values, 0)
    if isinstance(data, Mapping):
        for value, n in data.items():
            if not is_number(n) or not 0 <= n < inf:
                raise BayesError(f"{who}: the count of {value!r} is {n!r}; it is a finite number of at least 0.")
            counts[_known(value, counts, who)] += n
    else:
        for row, outcome in enumerate(_listed(data, who)):
            counts[_known(outcome, counts, who, f" at position {row}")] += 1
    return counts


def _some(values: Iterable[Any]) -> str:
    first = list(islice(values, 9))
    return ", ".join(map(repr, first[:8])) + ", …" * (len(first) > 8)


def _known(value: Any, known: Mapping[Any, float], who: str, place: str = "") -> Any:
    if isinstance(value, Hashable) and value in known:
        return value
    raise UnknownValue(
        f"{who}: {value!r}{place} is not among its values ({_some(known)}). "
        "Leave it out, or begin with a prior that holds it"
        f"{did_you_mean(value, known) or '.'}"
    )


def _plus(a: Mapping[Any, float], b: Mapping[Any, float]) -> dict[Any, float]:
    return {value: n + b[value] for value, n in a.items()}


def _minus(a: Mapping[Any, float], b: Mapping[Any, float]) -> dict[Any, float]:
    noise = GONE * sum(a.values())  # of counts that are no whole numbers
    left = {value: n - b[value] for value, n in a.items()}
    left = {value: 0 if isinstance(n, float) and abs(n) <= noise else n for value, n in left.items()}
    for value, n in left.items():
        if n < 0:
            raise NotLearnt(
                f"forget: {b[value]} of {value!r} to forget, and only {a[value]} were learnt. "
                "Nothing was changed; forget what was learnt."
            )
    return left


def _has_mode(who: str, posterior: Mapping[Any, float]) -> None:
    for value, a in posterior.items():
        if a < 1:
            raise BayesError(
                f"{who}: the hyperparameter of {value!r} is {a:g} after the data. Below 1 the density grows "
                "without bound where its probability goes to 0, so there is no mode. Use mean instead."
            )
    if all(a == 1 for a in posterior.values()):
        raise BayesError(
            f"{who}: every distribution is as probable as any other (all hyperparameters are 1), "
            "so there is no mode. Use mean, or update first."
        )


def _log_beta(hyperparameters: Iterable[float]) -> float:
    """log of the multivariate Beta function, Π Γ(a) / Γ(Σ a)."""
    a = list(hyperparameters)
    return sum(map(lgamma, a)) - lgamma(sum(a))

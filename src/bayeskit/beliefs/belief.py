"""Shared parts of all beliefs: validation, sequences of updates, and the curves that charts draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from bayeskit import logspace
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError, SchemaMismatch
from bayeskit.estimate.smoothing import is_number
from bayeskit.tables.sheet import Grid
from bayeskit.typing import Floats


class Updatable(Protocol):
    """A belief that turns into another one by an outcome."""

    def update(self, data: list[Any], /) -> Self:
        """Return the posterior after adding these outcomes."""
        ...


B = TypeVar("B", bound=Updatable)
POINTS = 201  # of a curve


@dataclass(frozen=True)
class BeliefCurves(Drawable):
    """Densities of a ``parameter`` along a ``line``, by name; ``marks``: named places on the line; ``between``: where
    the parameter may be, where that has ends."""

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
        """The likelihood as a share of its maximum."""
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
        """The belief after 0, 1, 2, 4, 8, … outcomes, as curves of the parameter."""
        after = [0, *(1 << k for k in range(len(self).bit_length()) if 1 << k < len(self)), len(self)]
        chosen = [(n, self[n - 1] if n else self.before) for n in dict.fromkeys(after)]
        some = [chosen[i] for i in np.unique(np.linspace(0, len(chosen) - 1, 6).round().astype(int))]
        last: Any = some[-1][1]
        return last.curves_with([(f"after {n}" if n else "before", belief) for n, belief in some])


Interval = tuple[float, float]


def positive(who: str, **hyperparameters: Any) -> None:
    for name, number in hyperparameters.items():
        if not is_number(number) or not 0 < number < inf:
            raise BayesError(f"{who}: {name} is {number!r}; it is a finite number above 0.")


def _listed(data: Any, who: str) -> list[Any]:
    """Outcomes in order; a lone one, or a mapping, which has no order, is no list of outcomes."""
    if isinstance(data, str | bytes | Mapping) or not isinstance(data, Iterable):
        raise BayesError(f"{who}: {data!r} is no list of outcomes. For a single one write [{data!r}].")
    return list(data)


def sequence(belief: B, data: Iterable[Any]) -> Beliefs[B]:
    """Return the posteriors after each outcome in turn."""
    beliefs, before = [], belief
    for outcome in _listed(data, type(belief).__name__):
        belief = belief.update([outcome])
        beliefs.append(belief)
    return Beliefs(before, beliefs)


def same_prior(mine: object, theirs: object) -> None:
    if mine != theirs:
        raise SchemaMismatch(
            f"merge: the beliefs began with different priors, {mine} and {theirs}. "
            "Begin both with the same; update one by the other's data otherwise."
        )


def some(who: str, n: float) -> None:
    if not n:
        raise BayesError(
            f"{who}: nothing was seen, so there is no maximum of the likelihood. Use mean, or update first."
        )


def ratio(log_one: float, log_other: float, one: str, other: str) -> float:
    """The ratio of two likelihoods; 0/0 is refused."""
    if log_one == log_other == -inf:
        raise BayesError(f"what was seen is impossible under {one} and under {other} alike: their ratio is 0/0.")
    with np.errstate(over="ignore"):
        return float(logspace.exp(log_one - log_other))


def believed(numbers: Mapping[str, tuple[float | None, Interval]]) -> Grid:
    """Return the posterior mean and 95 % credible interval of each parameter."""
    means, intervals = zip(*numbers.values(), strict=True)
    ends = {"95 % from": [low for low, _ in intervals], "to": [high for _, high in intervals]}
    return Grid({"of": list(numbers), "mean": means, **ends})


def tails(level: float) -> list[float]:
    if not is_number(level) or not 0 < level < 1:
        raise BayesError(f"level={level!r}: the probability inside the interval lies between 0 and 1.")
    return [(1 - level) / 2, (1 + level) / 2]

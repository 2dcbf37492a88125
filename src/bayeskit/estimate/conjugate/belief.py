"""What every belief checks and does alike, whatever its family."""

from collections.abc import Iterable, Mapping
from math import inf
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from bayeskit import logspace
from bayeskit.errors import BayesError, SchemaMismatch
from bayeskit.estimate.conjugate.belief_curves import Beliefs
from bayeskit.estimate.smoothing import is_number
from bayeskit.remedy import Setting
from bayeskit.tables.sheet import Grid

Interval = tuple[float, float]


class Updatable(Protocol):
    """A belief that turns into another one by an outcome."""

    def update(self, data: list[Any], /) -> Self:
        """The belief after these outcomes too."""
        ...


B = TypeVar("B", bound=Updatable)


def positive(who: str, **hyperparameters: Any) -> None:
    for name, number in hyperparameters.items():
        if not is_number(number) or not 0 < number < inf:
            raise BayesError(f"{who}: {name} is {number!r}; it is a finite number above 0.")


def listed(data: Any, who: str) -> list[Any]:
    """Outcomes in order; a lone one, or a mapping, which has no order, is no list of outcomes."""
    if isinstance(data, str | bytes | Mapping) or not isinstance(data, Iterable):
        raise BayesError(f"{who}: {data!r} is no list of outcomes. For a single one write [{data!r}].")
    return list(data)


def sequence(belief: B, data: Iterable[Any]) -> Beliefs[B]:
    """The belief after each outcome in turn."""
    beliefs, before = [], belief
    for outcome in listed(data, type(belief).__name__):
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
    """What is believed of each unknown number: its mean, where it has one, and where it lies with 95 % probability."""
    means, intervals = zip(*numbers.values(), strict=True)
    ends = {"95 % from": [low for low, _ in intervals], "to": [high for _, high in intervals]}
    return Grid({"of": list(numbers), "mean": means, **ends})


def tails(level: float) -> list[float]:
    if not is_number(level) or not 0 < level < 1:
        raise BayesError(Setting.given("level", level), ": the probability inside the interval lies between 0 and 1.")
    return [(1 - level) / 2, (1 + level) / 2]

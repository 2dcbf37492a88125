"""Base of the conjugate models: validation, sequences of updates, and the curves that charts draw."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Self, TypeVar

import numpy as np

from bayeskit import logspace
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError, SchemaMismatch
from bayeskit.estimate.smoothing import is_number
from bayeskit.tables import Grid, Readable
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
        beliefs: list[Self] = []
        belief = self
        for outcome in self._list(data):
            belief = belief.update([outcome])
            beliefs.append(belief)
        return Beliefs(self, beliefs)

    def _list(self, data: Any) -> list[Any]:
        """Return observations as a list; reject a single one and a mapping, which has no order."""
        if isinstance(data, str | bytes | Mapping) or not isinstance(data, Iterable):
            raise self._error(f"{data!r} is no list of outcomes. For a single one write [{data!r}].")
        return list(data)

    def _error(self, message: str) -> BayesError:
        return BayesError(f"{type(self).__name__}: {message}")

    def _check_positive(self, **hyperparameters: Any) -> None:
        for name, number in hyperparameters.items():
            if not is_number(number) or not 0 < number < inf:
                raise self._error(f"{name} is {number!r}; it is a finite number above 0.")

    def _check_observed(self) -> None:
        if not self.n:
            raise self._error("nothing was seen, so there is no maximum of the likelihood. Use mean, or update first.")


def check_same_prior(mine: object, theirs: object) -> None:
    """Raise an error unless two beliefs have the same prior."""
    if mine != theirs:
        raise SchemaMismatch(
            f"merge: the beliefs began with different priors, {mine} and {theirs}. "
            "Begin both with the same; update one by the other's data otherwise."
        )


def likelihood_ratio(log_one: float, log_other: float, one: str, other: str) -> float:
    """Return the ratio of two likelihoods; 0/0 raises an error."""
    if log_one == log_other == -inf:
        raise BayesError(f"what was seen is impossible under {one} and under {other} alike: their ratio is 0/0.")
    with np.errstate(over="ignore"):
        return float(logspace.exp(log_one - log_other))


def interval_grid(numbers: Mapping[str, tuple[float | None, Interval]]) -> Grid:
    """Return the posterior mean and 95 % credible interval of each parameter."""
    means, intervals = zip(*numbers.values(), strict=True)
    ends = {"95 % from": [low for low, _ in intervals], "to": [high for _, high in intervals]}
    return Grid({"of": list(numbers), "mean": means, **ends})


def tails(level: float) -> list[float]:
    """Return the cumulative probabilities at the ends of the central interval of a level."""
    if not is_number(level) or not 0 < level < 1:
        raise BayesError(f"level={level!r}: the probability inside the interval lies between 0 and 1.")
    return [(1 - level) / 2, (1 + level) / 2]

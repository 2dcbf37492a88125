"""Curves of a parameter: what was believed, what the data say and what is believed then, and how it came about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from bayeskit.drawable import Drawable
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from collections.abc import Iterable

B = TypeVar("B")
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
    """What is believed of each of several numbers: means before and after, and where each lies with 95 %."""

    names: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...]
    n: float


class Beliefs(list[B], Drawable):
    """Beliefs after each outcome in turn, with the one ``before`` them; a list to all who take it for one."""

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

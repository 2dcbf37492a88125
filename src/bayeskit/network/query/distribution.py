"""The answer to ``P(vote | sex = F)``: the probability of every value of a variable."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from bayeskit.data.table import Table
from bayeskit.data.vocabulary import Value
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError
from bayeskit.nearest import nearest
from bayeskit.typing import Floats


@dataclass(frozen=True, eq=False)
class Distribution(Drawable):
    """P(variable = value | condition) of each value.

    >>> die = Distribution("eyes", (1, 2, 3, 4, 5, 6), np.full(6, 1 / 6))
    >>> die.mean, round(die.standard_deviation, 6), round(die[3], 6)
    (3.5, 1.707825, 0.166667)
    """

    variable: str
    values: tuple[Value, ...]
    probabilities: Floats

    def __getitem__(self, value: Value) -> float:
        if value not in self.values:
            raise BayesError(f"{self.variable!r} has no value {value!r}: {nearest(value, self.values)}")
        return float(self.probabilities[self.values.index(value)])

    def table(self) -> Table:
        """A row a value."""
        values = [str(value) if isinstance(value, bool) else value for value in self.values]
        return Table({self.variable: values, "probability": self.probabilities.tolist()})

    @property
    def mean(self) -> float:
        """Σ value · P(value), of a variable of numbers."""
        return float(self._numbers @ self.probabilities)

    @property
    def standard_deviation(self) -> float:
        """The root of the mean squared distance to the mean."""
        return sqrt(float((self._numbers - self.mean) ** 2 @ self.probabilities))

    @property
    def _numbers(self) -> Floats:
        if not all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in self.values):
            raise BayesError(f"{self.variable!r} has no mean, for its values are no numbers: {list(self.values)[:6]}")
        return np.array(self.values, dtype=np.float64)

"""What the ensemble weighs, and where each term stands: columns, chains, forests, line, prior."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayeskit.typing import Floats

STIFF = 8.0  # penalty on the exponents of columns: their left-out terms are honest, but the exponents overfit


class WeighedTerms(NamedTuple):
    """How many terms there are of each kind; the prior is the last of all."""

    columns: int
    chains: int  # 2, or 0 without chains: the geometric and the arithmetic mean
    forests: int  # 4, or 0 without forests: both means of each
    line: int  # 1, or 0 without the line

    @classmethod
    def of(cls, n_columns: int, n_members: int, n_chains: int, n_trees: int, line: bool) -> WeighedTerms:
        """The terms of so many members, chains and trees."""
        return cls(n_columns if n_members else 0, 2 if n_chains else 0, 4 if n_trees else 0, int(line))

    @property
    def size(self) -> int:
        """All terms."""
        return sum(self) + 1

    @property
    def of_columns(self) -> slice:
        """Where the columns stand."""
        return slice(0, self.columns)

    @property
    def of_chains(self) -> slice:
        """Where the chains stand."""
        return slice(self.columns, self.columns + self.chains)

    @property
    def of_forests(self) -> slice:
        """Where the forests stand."""
        return slice(self.of_chains.stop, self.of_chains.stop + self.forests)

    @property
    def light(self) -> list[int]:
        """The terms without columns and chains: forests, line and prior."""
        return list(range(self.of_forests.start, self.size))

    def centre(self, beta: float) -> Floats:
        """Where the exponents start, and stay near: each kind has the same share, and its terms share it equally.

        ``beta`` is the temperature of the columns and the prior alone.

        >>> WeighedTerms(3, 2, 4, 1).centre(0.8).round(3).tolist()
        [0.2, 0.2, 0.2, 0.125, 0.125, 0.062, 0.062, 0.062, 0.062, 0.25, 1.0]
        """
        kinds = sum(n > 0 for n in self)
        shares = [beta / kinds if i == 0 else 1 / (kinds * n) for i, n in enumerate(self) for _ in range(n)]
        return np.array([*shares, 1.0])

    def penalty(self) -> Floats:
        """Of each exponent, on its squared distance from where it starts."""
        return np.array([STIFF] * self.columns + [1.0] * (self.size - self.columns))

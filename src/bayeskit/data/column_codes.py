"""How one column is coded for models that read missing as a value: codes 0 … V − 1, and V for what is unknown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit.data.vocabulary import Value, positions
from bayeskit.typing import Array, Ints


@dataclass(frozen=True)
class ColumnCodes:
    """How one column is coded: its values, and whether missing is one of them."""

    values: tuple[Value, ...] | None  # None for a number; the intervals of given cuts are 0, 1, …
    missing: bool

    @property
    def size(self) -> int:
        """Number of values of a coded column, at least one; 0 for a number."""
        return 0 if self.values is None else max(len(self.values) + self.missing, 1)

    def shift(self, codes: Array) -> Array:
        """The encoder's codes (0 missing, 1 … V, V + 1 unseen) as those of the model."""
        if self.missing:
            return codes
        unknown = self.size
        return np.where(codes == 0, unknown, np.minimum(codes - 1, unknown)).astype(np.min_scalar_type(unknown))

    def codes_in(self, other: ColumnCodes) -> Ints:
        """The code that another coding has for each of ours, −1 where it has none.

        >>> ColumnCodes(("rain", "sun"), True).codes_in(ColumnCodes(("hail", "sun"), True)).tolist()
        [0, -1, 2]
        """
        among = positions(self.values or (), other.values or ())
        among[among >= 0] += other.missing
        return np.concatenate([[0 if other.missing else -1], among]) if self.missing else among

"""Handle rows that are impossible under every class."""

from __future__ import annotations

import warnings

import numpy as np

from bayeskit.errors import BayesError, UndecidableWarning
from bayeskit.typing import Array, Floats


def refuse_no_numbers(scores: Floats, start: int, classes: Array) -> None:
    """Raise an error if scores, shape (n_rows, n_classes), contain NaN or +∞; −∞ is probability zero."""
    wrong = np.isnan(scores) | np.isposinf(scores)
    if wrong.any():
        row, label = np.argwhere(wrong)[0]
        raise BayesError(
            f"row {start + row} has no score for class {classes.tolist()[label]!r}: counts, weights or settings are so "
            "extreme that sums leave the range of floats. Scale weights and numbers; look at smoothing and priors."
        )


class Impossible:
    """Rows that are impossible under every class: fill them as the setting says, and warn once."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.count = 0
        self.first = -1

    def settle(self, result: Floats, evidence: Floats, start: int, prior: Floats) -> None:
        """Fill the rows whose evidence is zero."""
        rows = np.flatnonzero(np.isneginf(evidence))
        if not len(rows):
            return
        if self.answer == "error":
            raise BayesError.impossible(start + int(rows[0]))
        self.first = self.first if self.count else start + int(rows[0])
        self.count += len(rows)
        result[rows] = np.nan if self.answer == "nan" else prior

    def tell(self) -> None:
        """Warn about these rows, once."""
        if self.count:
            what = "NaN" if self.answer == "nan" else "the class priors"
            rows = "row is" if self.count == 1 else "rows are"
            warnings.warn(
                f"{self.count} {rows} impossible under every class (the first is row {self.first}) and got {what}. "
                "Smoothing keeps probabilities above zero.",
                UndecidableWarning,
                stacklevel=4,
            )

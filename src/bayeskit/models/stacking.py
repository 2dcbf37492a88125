"""What a model says of rows, put together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bayeskit.data.vocabulary import Value

Scores = npt.NDArray[np.float64]


class LogLikelihood(NamedTuple):
    """Sums over rows: ln P(x, y) and ln P(y | x)."""

    joint: float
    conditional: float


def class_array(classes: tuple[Value, ...]) -> npt.NDArray[Any]:
    """Class labels as an array of their own type; as objects where NumPy would round them.

    >>> class_array((1, 2**80)).tolist() == [1, 2**80]
    True
    """
    array = np.array(classes)
    return array if array.tolist() == list(classes) else np.array(classes, dtype=object)


def room_for(X: Any, n_classes: int) -> Scores | None:
    """Where the scores of all rows will stand; None where their number is not known before they are read."""
    shape = getattr(X, "shape", None)
    return np.empty((shape[0], n_classes)) if shape and isinstance(shape[0], int) else None


def stacked(parts: list[Scores], n_classes: int) -> Scores:
    """The scores of all blocks (rows, classes)."""
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros((0, n_classes))

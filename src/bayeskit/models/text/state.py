"""Numbers of a recipe that come from a file: refused where no fit could have made them."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.errors import BadFile
from bayeskit.typing import Array

LARGEST = 1e15  # of a weight: beyond it scores are no numbers


def finite(number: Any) -> float:
    """A number that a weight can be."""
    if type(number) not in (int, float) or not abs(number) < LARGEST:
        raise BadFile(f"{number!r} is no weight")
    return float(number)


def check_numbers(array: Array) -> None:
    """Refuse an array that holds anything but such numbers."""
    if array.dtype.kind != "f" or not (np.abs(array) < LARGEST).all():
        raise BadFile("a fitted weight is no number")

"""Checks of single settings, for models and functions alike."""

from __future__ import annotations

from typing import cast

import numpy as np

from bayeskit.errors import BayesError
from bayeskit.nearest import did_you_mean


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse a setting that is not one of the words for it."""
    if not isinstance(value, str) or value not in allowed:
        words = f"{', '.join(map(repr, allowed))}{did_you_mean(value, allowed)}"
        raise BayesError(f"{name}={value!r} is not one of {words}")


def is_whole(value: object) -> bool:
    """Return True for an integer that is no boolean."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_whole_number(name: str, value: object, least: int, most: int | None = None) -> None:
    """Refuse what is no whole number within bounds.

    >>> check_whole_number("steps", 1.5, 1)
    Traceback (most recent call last):
    ...
    bayeskit.errors.BayesError: steps=1.5: give a whole number from 1
    """
    if not is_whole(value) or not least <= cast(int, value) or (most is not None and cast(int, value) > most):
        bounds = f"from {least:,}" if most is None else f"from {least:,} to {most:,}"
        raise BayesError(f"{name}={value!r}: give a whole number {bounds}")

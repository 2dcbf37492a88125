"""Checks of single settings, for models and functions alike."""

from __future__ import annotations

from typing import TypeGuard

import numpy as np

from bayeskit.errors import BayesError
from bayeskit.nearest import did_you_mean


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise an error unless a setting is one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        words = f"{', '.join(map(repr, allowed))}{did_you_mean(value, allowed)}"
        raise BayesError(f"{name}={value!r} is not one of {words}")


def is_integer(value: object) -> TypeGuard[int]:
    """Return True for an integer that is not a boolean."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_integer(name: str, value: object, least: int, most: int | None = None) -> None:
    """Raise an error unless a setting is a whole number within bounds.

    >>> check_integer("steps", 1.5, 1)
    Traceback (most recent call last):
    ...
    bayeskit.errors.BayesError: steps=1.5: give a whole number from 1
    """
    if not is_integer(value) or value < least or (most is not None and value > most):
        bounds = f"from {least:,}" if most is None else f"from {least:,} to {most:,}"
        raise BayesError(f"{name}={value!r}: give a whole number {bounds}")

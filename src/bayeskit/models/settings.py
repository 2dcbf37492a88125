"""Settings that several models share, read and refused in one way."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.errors import BayesError


def seed_of(random_state: Any) -> int | None:
    """A whole number from what scikit-learn calls a random state; None for a fresh draw."""
    if random_state is None:
        return None
    if isinstance(random_state, (int, np.integer)):
        return int(random_state) & (2**64 - 1)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    raise BayesError(f"random_state={random_state!r}: give a whole number, a NumPy generator, or None")


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse a setting that is not one of the words for it."""
    if not isinstance(value, str) or value not in allowed:
        raise BayesError(f"{name}={value!r} is not one of {', '.join(map(repr, allowed))}")

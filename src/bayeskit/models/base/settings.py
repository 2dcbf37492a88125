"""Settings that several models share, read and refused in one way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from bayeskit.data.schema import Numeric, Schema
from bayeskit.errors import BayesError
from bayeskit.estimate.smoothing import Automatic, BackOff, as_smoothing, is_number
from bayeskit.nearest import did_you_mean
from bayeskit.remedy import Setting

COLDEST, HOTTEST = 1e-6, 1e6


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
        words = f" is not one of {', '.join(map(repr, allowed))}{did_you_mean(value, allowed)}"
        raise BayesError(Setting.given(name, value), words, culprit=value)


def whole_number(name: str, value: object, least: int, most: int | None = None) -> None:
    """Refuse what is no whole number within bounds.

    >>> whole_number("steps", 1.5, 1)
    Traceback (most recent call last):
    ...
    bayeskit.errors.BayesError: steps=1.5: give a whole number from 1
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not least <= cast(int, value) or (most is not None and cast(int, value) > most):
        bounds = f"from {least:,}" if most is None else f"from {least:,} to {most:,}"
        raise BayesError(f"{name}={value!r}: give a whole number {bounds}", culprit=value)


def check_temperature(temperature: object) -> None:
    """Refuse a temperature beyond what any data asks for: scores divided by it would leave the range of floats."""
    if not is_number(temperature) or not COLDEST <= cast(float, temperature) <= HOTTEST:
        raise BayesError(
            f"temperature={temperature!r}: it is a number above 0 (from {COLDEST:g} to {HOTTEST:g}), "
            "1 where scores are taken as is"
        )


def held_choices(smoothing: Any, cuts: Any, schema: Schema) -> tuple[str, ...]:
    """Which of cut points and smoothing were chosen by looking at the classes of the rows.

    >>> held_choices("auto", "mdl", Schema({"age": Numeric((27.5,))})), held_choices(1.0, 10, Schema({}))
    (('cuts', 'smoothing'), ())
    """
    ways = cuts.values() if isinstance(cuts, Mapping) else [cuts]
    by_class = any(
        "mdl" in ((way,) if isinstance(way, str) else way[:1] if isinstance(way, tuple) else ()) for way in ways
    )
    cut = any(isinstance(role, Numeric) and role.cuts for role in schema.columns.values())
    amounts = [as_smoothing(one) for one in (smoothing.values() if isinstance(smoothing, Mapping) else [smoothing])]
    fitted = any(isinstance(one, Automatic) or (isinstance(one, BackOff) and one.m is None) for one in amounts)
    smoothed = bool(schema.coded() or schema.texts())
    return ("cuts",) * (by_class and cut) + ("smoothing",) * (fitted and smoothed)

"""Rules for settings: what the value of a setting may be.

A model lists its rules by name in ``_rules``; :meth:`Estimator._check_settings` applies them, those of base classes
first. A rule is a function of the setting's name and value that raises :class:`BayesError`. A value is compared only
after its type is known, so that arrays and foreign objects are refused like any other value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, isfinite
from typing import Any, cast

import numpy as np

from bayeskit.errors import BayesError
from bayeskit.estimate.smoothing import is_number
from bayeskit.settings import check_integer as check_integer
from bayeskit.settings import is_integer as is_integer
from bayeskit.settings import one_of as one_of
from bayeskit.threads import thread_count

Rule = Callable[[str, Any], object]
Rules = Mapping[str, Rule]
COLDEST, HOTTEST = 1e-6, 1e6  # temperatures


def words(*allowed: str) -> Rule:
    """Return the rule of one of some words."""
    return lambda name, value: one_of(name, value, allowed)


def integer(least: int, most: int | None = None, word: str | None = None) -> Rule:
    """Return the rule of a whole number within bounds, or of a word."""

    def check(name: str, value: Any) -> None:
        if word is not None and isinstance(value, str):
            one_of(name, value, (word,))
        else:
            check_integer(name, value, least, most)

    return check


def number(message: str, least: float = -inf, most: float = inf, word: str | None = None) -> Rule:
    """Return the rule of a finite number within bounds, or of a word, with the message of its error.

    >>> number("give a share", 0, 1)("tol", 2)
    Traceback (most recent call last):
    ...
    bayeskit.errors.BayesError: tol=2: give a share
    """

    def check(name: str, value: Any) -> None:
        if isinstance(value, str) and value == word:
            return
        if not is_number(value) or not least <= value <= most or not isfinite(value):
            raise BayesError(f"{name}={value!r}: {message}")

    return check


def flag(name: str, value: object) -> None:
    """Raise an error unless a setting is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise BayesError(f"{name}={value!r}: it is True or False")


def flag_or(word: str) -> Rule:
    """Return the rule of True, False or a word."""

    def check(name: str, value: object) -> None:
        if not isinstance(value, (bool, np.bool_)) and not (isinstance(value, str) and value == word):
            raise BayesError(f'{name}={value!r}: it is True, False or "{word}"')

    return check


def degrees(name: str, value: object) -> None:
    """Refuse a ``ddof`` other than 0 and 1."""
    if not is_integer(value) or value not in (0, 1):
        raise BayesError(f"{name}={value!r}: it is 1 (unbiased) or 0 (maximum likelihood)")


def optional(rule: Rule) -> Rule:
    """Return the rule of None, or of a value that another rule allows."""
    return lambda name, value: None if value is None else rule(name, value)


def by_column(rule: Rule) -> Rule:
    """Return the rule of one value, or of a mapping from column to values, each of which another rule allows."""

    def check(name: str, value: object) -> None:
        for one in value.values() if isinstance(value, Mapping) else (value,):
            rule(name, one)

    return check


def instance(kind: type | tuple[type, ...], message: str) -> Rule:
    """Return the rule of an object of a class, with the message of its error."""

    def check(name: str, value: object) -> None:
        if not isinstance(value, kind):
            raise BayesError(f"{name}={value!r}: {message}")

    return check


def function(name: str, value: object) -> None:
    """Raise an error unless a setting is callable."""
    if not callable(value):
        raise BayesError(f"{name}={value!r}: give a function")


def classifier(name: str, value: object) -> None:
    """Raise an error unless a setting can be fitted and cloned."""
    if isinstance(value, type) or not (hasattr(value, "fit") and hasattr(value, "get_params")):
        raise BayesError(f"{name}={value!r}: give a classifier, such as NaiveBayes()")


def temperature(name: str, value: object) -> None:
    """Refuse a temperature beyond what any data asks for: scores divided by it would leave the range of floats."""
    if not is_number(value) or not COLDEST <= cast(float, value) <= HOTTEST:
        raise BayesError(f"{name}={value!r}: give a number from {COLDEST:g} to {HOTTEST:g}; 1 by default")


def memory(name: str, value: object) -> None:
    """Refuse a limit that is not a positive number of bytes."""
    if not is_number(value) or not cast(float, value) > 0:
        raise BayesError(f"{name}={value!r} bytes", hint="give a number above 0, or None for 2 GB")


def threads(_: str, value: object) -> None:
    """Raise an error unless a setting is a number of threads."""
    thread_count(value)


def structure(name: str, value: object) -> None:
    """Raise an error unless a setting maps columns to their parents."""
    if not isinstance(value, Mapping):
        raise BayesError(f"{name}={value!r}: give a mapping from each column to a list of its parents, or None")


SCORING: Rules = {
    "undecidable": words("prior", "nan", "error"),
    "ties": words("first", "random"),
    "n_threads": threads,
    "temperature": temperature,
}
"""Rules of the settings by which log scores become probabilities and classes."""

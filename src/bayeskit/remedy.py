"""Hints as data, formatted as an argument in Python and as an option on the command line.

A message is a sequence of parts: text, settings and hints. ``str`` formats each for Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Self


class Open(Enum):
    """Placeholder for a value that the reader chooses."""

    OPEN = "…"


OPEN = Open.OPEN


@dataclass(frozen=True)
class Setting:
    """A setting in a message, with its value or a placeholder.

    shown: the value as displayed, if it differs from its Python form.
    clause: text that is shown only with the setting, with {} in its place.
    without: text for readers without such a setting, such as at a terminal; None if there is an option.
    short: the value alone, as a second choice after the setting.

    >>> print(Setting("memory_limit", 2e9, shown="2 GB"))
    memory_limit=2 GB
    """

    setting: str
    value: Any = OPEN
    shown: str | None = None
    clause: str = "{}"
    without: str | None = None
    short: bool = False

    def __str__(self) -> str:
        if self.short:
            return self.clause.replace("{}", _written(self.chosen))
        value = _written(self.value) if self.shown is None else self.shown
        return self.clause.replace("{}", f"{self.setting}={value}")

    @classmethod
    def given(cls, setting: str, value: Any) -> Self:
        """Return a setting with its value.

        >>> print(Setting.given("prior", "odd"))
        prior='odd'
        """
        return cls(setting, value, shown=repr(value))

    @property
    def chosen(self) -> Any:
        """Return the value, or that of the single column in a mapping."""
        return next(iter(self.value.values())) if isinstance(self.value, Mapping) else self.value


@dataclass(frozen=True)
class Remedy(Setting):
    """A setting that fixes the problem.

    >>> print(Remedy("roles", {"year": "categorical"}), Remedy("unseen", "ignore"), Remedy("memory_limit"))
    roles={'year': "categorical"} unseen="ignore" memory_limit=
    >>> print("or", Remedy("roles", {"year": "ignore"}, short=True))
    or "ignore"
    >>> print(Remedy("cuts", clause="cut numbers more coarsely ({}) or", without=""))
    cut numbers more coarsely (cuts=) or
    """


@dataclass(frozen=True)
class OtherModel:
    """A model that supports the request, by class name.

    >>> print(OtherModel("NaiveBayes"))
    NaiveBayes
    """

    name: str

    def __str__(self) -> str:
        return self.name


Piece = str | Setting | OtherModel
"""Part of a message."""


def _written(value: Any) -> str:
    if value is OPEN:
        return ""
    if isinstance(value, str):
        return f'"{value}"' if value.isprintable() and not {'"', "\\"} & set(value) else repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_written(item)}" for key, item in value.items()) + "}"
    return repr(value)

"""What would help, as data: Python words it as an argument, the command line as an option, a page as it likes.

A message is a row of parts: text, settings that it names, remedies among them. ``str`` words each for Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Self


class Open(Enum):
    """The value of a setting that the reader is to choose."""

    OPEN = "…"


OPEN = Open.OPEN


@dataclass(frozen=True)
class Setting:
    """A setting with its value, or for the reader to choose one, as a message names it.

    shown: the value as a person reads it, where that is not how Python writes it.
    clause: the words that stand or fall with the setting, with {} in its place.
    without: the words for a reader who has no such setting, such as at a terminal; None where there is an option.
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
        """A setting as it was given.

        >>> print(Setting.given("prior", "odd"))
        prior='odd'
        """
        return cls(setting, value, shown=repr(value))

    @property
    def chosen(self) -> Any:
        """The value, or that of the one column that a mapping names."""
        return next(iter(self.value.values())) if isinstance(self.value, Mapping) else self.value


@dataclass(frozen=True)
class Remedy(Setting):
    """A setting that would help.

    >>> print(Remedy("roles", {"year": "categorical"}), Remedy("unseen", "ignore"), Remedy("memory_limit"))
    roles={'year': "categorical"} unseen="ignore" memory_limit=
    >>> print("or", Remedy("roles", {"year": "ignore"}, short=True))
    or "ignore"
    >>> print(Remedy("cuts", clause="cut numbers more coarsely ({}) or", without=""))
    cut numbers more coarsely (cuts=) or
    """


@dataclass(frozen=True)
class OtherModel:
    """A model that would do, by the name of its class.

    >>> print(OtherModel("NaiveBayes"))
    NaiveBayes
    """

    name: str

    def __str__(self) -> str:
        return self.name


Piece = str | Setting | OtherModel
"""A piece of a message."""


def _written(value: Any) -> str:
    if value is OPEN:
        return ""
    if isinstance(value, str):
        return f'"{value}"' if value.isprintable() and not {'"', "\\"} & set(value) else repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_written(item)}" for key, item in value.items()) + "}"
    return repr(value)

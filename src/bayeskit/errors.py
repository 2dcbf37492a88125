"""Errors and warnings: a message that states the value and its place, and a hint how to fix it.

Messages contain names of columns, values and files; control characters in them are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Self

from bayeskit.printable import printable

# includes abbreviations read letter by letter: an NBTree, an ndarray
_SPOKEN_VOWEL = re.compile("[AEIOaeio]|[FHLMNRSX][A-Z]|nd")


def with_article(name: str) -> str:
    """Return the name of a class or type with its article.

    Parameters
    ----------
    name : str

    Returns
    -------
    str

    Examples
    --------
    >>> [with_article(name) for name in ("AODE", "NBTree", "TAN", "NaiveBayes", "int", "uint8")]
    ['an AODE', 'an NBTree', 'a TAN', 'a NaiveBayes', 'an int', 'a uint8']
    """
    return ("an " if _SPOKEN_VOWEL.match(name) else "a ") + name


def format_setting(name: str, value: Any) -> str:
    """Format a constructor setting as Python code for an error message.

    Parameters
    ----------
    name : str
    value : object

    Returns
    -------
    str

    Examples
    --------
    >>> print(format_setting("roles", {"year": "categorical"}), format_setting("unseen", "ignore"))
    roles={'year': "categorical"} unseen="ignore"
    """
    return f"{name}={_format_value(value)}"


def _format_value(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"' if value.isprintable() and not {'"', "\\"} & set(value) else repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_format_value(item)}" for key, item in value.items()) + "}"
    return repr(value)


def join_hint(text: str, hint: str) -> str:
    """Append a hint to a message as one sentence.

    Parameters
    ----------
    text, hint : str

    Returns
    -------
    str

    Examples
    --------
    >>> join_hint("the file is empty", "give another"), join_hint("it is empty.", "Give another.")
    ('the file is empty: give another', 'it is empty. Give another.')
    """
    if not hint:
        return text
    if hint.startswith("\n"):
        return text + hint
    return f"{text} {hint}" if text.endswith((".", ":", ";", ",", "?")) else f"{text}: {hint}"


class Message(Exception):
    """A message that states what is wrong and where, and a hint how to fix it."""

    def __init__(self, message: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = printable(message), printable(hint)

    def __str__(self) -> str:
        return join_hint(self.message, self.hint)

    @property
    def is_about_setting(self) -> bool:
        """True if a setting is at fault: the message starts with ``name=``."""
        return re.match(r"[a-z_]+=", self.message) is not None


class BayesError(Message, ValueError):
    """Bad input. The call that raised it changed nothing.

    >>> error = BayesError("the file is empty", hint="give another")
    >>> print(error)
    the file is empty: give another
    >>> error.hint
    'give another'
    """

    def within(self, place: str) -> Self:
        """Return the same error with a place before the message, such as a file."""
        return type(self)(f"{place}: {self.message}", hint=self.hint)

    @classmethod
    def takes_no_texts(cls, model: str, columns: Sequence[str]) -> Self:
        """Return the error of a model that does not support text columns."""
        which = f"column{'s' * (len(columns) > 1)} {', '.join(map(repr, columns))}"
        ignore = format_setting("roles", dict.fromkeys(columns, "ignore"))
        return cls(f"{model} takes no texts", hint=f"leave {which} out with {ignore}, or take NaiveBayes")

    @classmethod
    def needs_rows(cls, model: str, why: str, alternative: str = "") -> Self:
        """Return the error of a model that needs rows when an engine only provides counts."""
        hint = f"fit without engine=, on rows that this machine can read{alternative}"
        return cls(f"{model} {why}, and an engine only counts", hint=hint)

    @classmethod
    def not_installed(cls, what: str, missing: ImportError, extra: str) -> Self:
        """Return the error of a library that cannot be imported, with the extra that installs it.

        >>> print(BayesError.not_installed("ONNX files are written by onnx", ImportError("No module"), "onnx"))
        ONNX files are written by onnx, which cannot be imported (No module): pip install '.[onnx]' in bayeskit's folder
        """
        where = f"pip install '.[{extra}]' in bayeskit's folder"
        return cls(f"{what}, which cannot be imported ({missing})", hint=where)

    @classmethod
    def forgets_all(cls, rows: str) -> Self:
        """Return the error of forgetting everything that a model has learned."""
        return cls(f"forgetting these {rows} would leave the model without data", hint="start a new model instead")

    @classmethod
    def impossible(cls, row: int, when: str = "") -> Self:
        """Return the error of a row that has probability zero under every class."""
        return cls(
            f"row {row} is impossible under every class{when} (probability zero)",
            hint=f"smooth the estimates, or pass {format_setting('undecidable', 'prior')}",
        )


class SchemaMismatch(BayesError):
    """Columns, roles or cut points of two objects differ."""


class NotLearned(BayesError):
    """Rows to forget are not among the learned rows."""


class UnknownValue(BayesError):
    """A value outside a declared domain, or unseen in training with ``unseen="error"``."""


class Unlabeled(BayesError):
    """Rows without a label where labels are required."""

    is_partial = False  # whether only the rows read so far were counted


class NotScalar(BayesError, TypeError):
    """A cell contains a list, a mapping or another object that is not a scalar."""


class BadFile(BayesError):
    """Bytes that are not bayeskit data, or are damaged."""


class Locked(BayesError):
    """Another process is changing the file and did not finish before the timeout."""


class QueryError(BayesError):
    """A query that cannot be parsed or answered."""


class TooLarge(BayesError):
    """The work needs more memory than allowed; the message contains the amount."""


class LostParts(BayesError):
    """Parts of the data that workers did not count exactly once."""


class BayesWarning(Message, UserWarning):
    """Information that is not an error."""


class UndecidableWarning(BayesWarning):
    """Rows that are impossible under every class."""


class UnseenWarning(BayesWarning):
    """Values at prediction that were never seen in training and are left out."""


class AdviceWarning(BayesWarning):
    """Advice from the values of a column, with the ``roles=`` that follows it."""


def import_extra(module: str, what: str, extra: str) -> Any:
    """Import a module that an extra of bayeskit installs; the error for a missing one names ``what`` needs it.

    Parameters
    ----------
    module : str
    what : str
    extra : str

    Returns
    -------
    module
    """
    try:
        return import_module(module)
    except ImportError as missing:
        raise BayesError.not_installed(what, missing, extra) from missing

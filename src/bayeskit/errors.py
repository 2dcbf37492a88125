"""What can go wrong, said so that a person can act on it: culprit, place, remedy.

Messages name columns, values and files; as text they hold no character that would steer a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Self

from bayeskit.printable import printable
from bayeskit.remedy import OtherModel, Piece, Remedy, Setting, _written

_SPOKEN_VOWEL = re.compile("[AEIOaeio]|[FHLMNRSX][A-Z]|nd")  # letters spelt out too: en-bee-tree, en-dee-array


def with_article(name: str) -> str:
    """The name of a class or kind as a sentence has it.

    >>> [with_article(name) for name in ("AODE", "NBTree", "TAN", "NaiveBayes", "int", "uint8")]
    ['an AODE', 'an NBTree', 'a TAN', 'a NaiveBayes', 'an int', 'a uint8']
    """
    return ("an " if _SPOKEN_VOWEL.match(name) else "a ") + name


def format_setting(name: str, value: Any) -> str:
    """Format a constructor setting as Python code for an error message.

    >>> print(format_setting("roles", {"year": "categorical"}), format_setting("unseen", "ignore"))
    roles={'year': "categorical"} unseen="ignore"
    """
    return f"{name}={_written(value)}"


def join_hint(text: str, hint: str) -> str:
    """Append a hint to a message as one sentence.

    >>> join_hint("the file is empty", "give another"), join_hint("it is empty.", "Give another.")
    ('the file is empty: give another', 'it is empty. Give another.')
    """
    if not hint:
        return text
    return f"{text} {hint}" if text.endswith((".", ":", ";", ",", "?")) else f"{text}: {hint}"


class Message:
    """Text, settings and remedies one after another, and whom and where they are about.

    culprit: what is wrong, such as a column and its value. place: where it stands, such as a row or a file.
    """

    args: tuple[Any, ...]

    def __init__(self, *parts: Piece, hint: str = "", culprit: Any = None, place: Any = None) -> None:
        super().__init__(*parts)
        self.hint, self.culprit, self.place = hint, culprit, place

    def __str__(self) -> str:
        return self.worded(str)

    @property
    def message(self) -> str:
        """The text without the hint."""
        return printable("".join(map(str, self.args)))

    @property
    def remedies(self) -> tuple[Remedy | OtherModel, ...]:
        """What would help, as data."""
        return tuple(part for part in self.args if isinstance(part, (Remedy, OtherModel)))

    def worded(self, words: Callable[[Setting | OtherModel], str]) -> str:
        """The message with settings and models in the words of a reader; ``str`` gives those of Python."""
        text = "".join(words(p) if isinstance(p, (Setting, OtherModel)) else str(p) for p in self.args)
        return join_hint(printable(text), printable(self.hint))


class BayesError(Message, ValueError):
    """Bad input. Nothing was changed by the call that raised it.

    >>> error = BayesError("column 'year' holds codes: pass ", Remedy("roles", {"year": "categorical"}), culprit="year")
    >>> print(error)
    column 'year' holds codes: pass roles={'year': "categorical"}
    >>> error.culprit, error.remedies[0].value
    ('year', {'year': 'categorical'})
    """

    def within(self, place: str) -> Self:
        """The same with the place before it, such as a file."""
        return self._with(f"{place}: ", *self.args, place=place if self.place is None else (place, self.place))

    def followed_by(self, text: str) -> Self:
        """The same with more text in the place of the last full stop."""
        *before, last = self.args or ("",)
        return self._with(*before, *([last.removesuffix(".")] if isinstance(last, str) else [last]), text)

    def without(self, *settings: str) -> Self:
        """The same without these remedies, and without the words that stand or fall with them.

        >>> text = Remedy("types", {"zip": "string"}, clause=", or read it as text: {}")
        >>> print(BayesError("mend the cell", text, ".").without("types"))
        mend the cell.
        """
        kept = (part for part in self.args if not (isinstance(part, Remedy) and part.setting in settings))
        return self._with(*kept)

    def _with(self, *parts: Piece, place: Any = None) -> Self:
        place = self.place if place is None else place
        return type(self)(*parts, hint=self.hint, culprit=self.culprit, place=place)

    @classmethod
    def takes_no_texts(cls, model: str, columns: Sequence[str]) -> Self:
        """A model that does not read columns of texts."""
        which = f"column{'s' * (len(columns) > 1)} {', '.join(map(repr, columns))}"
        ignore = format_setting("roles", dict.fromkeys(columns, "ignore"))
        return cls(f"{model} takes no texts", hint=f"leave {which} out with {ignore}, or take NaiveBayes")

    @classmethod
    def needs_rows(cls, model: str, why: str, alternative: str = "") -> Self:
        """Return the error of a model that must see rows while an engine only counts them."""
        hint = f"fit without engine=, on rows that this machine can read{alternative}"
        return cls(f"{model} {why}, and an engine only counts", hint=hint)

    @classmethod
    def not_installed(cls, what: str, missing: ImportError, extra: str) -> Self:
        """A library cannot be imported that an extra brings. Extras are installed where bayeskit was: in its folder.

        >>> print(BayesError.not_installed("ONNX files are written by onnx", ImportError("No module"), "onnx"))
        ONNX files are written by onnx, which cannot be imported (No module): pip install '.[onnx]' in bayeskit's folder
        """
        where = f"pip install '.[{extra}]' in bayeskit's folder"
        return cls(f"{what}, which cannot be imported ({missing}): {where}", culprit=missing.name)

    @classmethod
    def impossible(cls, row: int, when: str = "") -> Self:
        """Refuse a row that has probability zero under every class."""
        return cls(
            f"row {row} is impossible under every class{when} (probability zero)",
            hint=f"smooth the estimates, or pass {format_setting('undecidable', 'prior')}",
        )


class SchemaMismatch(BayesError):
    """Columns, roles or cut points of two sides do not fit together."""


class NotLearnt(BayesError):
    """Forgetting asked for more than was learnt."""


class UnknownValue(BayesError):
    """A value outside a declared domain, or unseen in training under ``unseen="error"``."""


class Unlabelled(BayesError):
    """Rows that have no label, where each needs one."""

    is_partial = False  # whether only the rows read so far were counted


class NotScalar(BayesError, TypeError):
    """A cell holds a list, a mapping or another object that is no single value."""


class BadFile(BayesError):
    """Bytes that are no bayeskit data, or damaged."""


class Locked(BayesError):
    """Someone else is changing the file, and did not end while it was waited for."""


class QueryError(BayesError):
    """A query that cannot be read or answered."""


class TooLarge(BayesError):
    """The work would take more memory than allowed; the message holds the figure."""


class LostParts(BayesError):
    """Parts of the data that workers did not count exactly once."""


class BayesWarning(Message, UserWarning):
    """Something worth knowing that is no error."""


class UndecidableWarning(BayesWarning):
    """Rows that are impossible under every class."""


class AdviceWarning(BayesWarning):
    """What the values of a column suggest, with the ``roles=`` that would follow it."""

"""What can go wrong, said so that a person can act on it: culprit, place, remedy.

Messages name columns, values and files; as text they hold no character that would steer a terminal.
"""

from bayeskit.printable import printable


class BayesError(ValueError):
    """Bad input. Nothing was changed by the call that raised it."""

    def __str__(self) -> str:
        return printable(super().__str__())


class SchemaMismatch(BayesError):
    """Columns, roles or cut points of two sides do not fit together."""


class NotLearnt(BayesError):
    """Forgetting asked for more than was learnt."""


class UnknownValue(BayesError):
    """A value outside a declared domain, or unseen in training under ``unseen="error"``."""


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


class BayesWarning(UserWarning):
    """Something worth knowing that is no error."""

    def __str__(self) -> str:
        return printable(super().__str__())


class UndecidableWarning(BayesWarning):
    """Rows that are impossible under every class."""


class AdviceWarning(BayesWarning):
    """What the values of a column suggest, with the ``roles=`` that would follow it."""

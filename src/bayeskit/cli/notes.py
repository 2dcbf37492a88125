"""Notes on standard error, which ``--strict`` makes errors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any

from bayeskit.cli.options import option
from bayeskit.errors import BayesError
from bayeskit.printable import printable

OPTION = option("--strict", None, "Make every note on the data an error.", False)


class Strictness:
    """The state of ``--strict`` for the running command."""

    on = False


def note(text: str) -> None:
    """Print a note; raise it as an error if the command has ``--strict``."""
    if Strictness.on:
        raise BayesError(text.removesuffix("."), hint="without --strict this is a note")
    print(printable("bayes: note: " + " ".join(text.split("\n"))), file=sys.stderr)


def with_strict(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--strict`` to the options of a command."""

    @wraps(command)
    def strict_command(*, strict: bool, **chosen: Any) -> None:
        Strictness.on = strict
        try:
            command(**chosen)
        finally:
            Strictness.on = False

    parameters = [*signature(command).parameters.values()]
    added = Parameter("strict", Parameter.KEYWORD_ONLY, default=OPTION, annotation=bool)
    strict_command.__signature__ = signature(command).replace(parameters=[*parameters, added])  # type: ignore[attr-defined]
    strict_command.__annotations__ = {**command.__annotations__, "strict": bool}
    return strict_command

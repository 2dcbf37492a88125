"""Remedies as the command line has them: the option of each setting, and what helps where there is none."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any

from bayeskit.cli.commands.fit.from_tables import MODELS
from bayeskit.errors import Message
from bayeskit.remedy import OPEN, OtherModel, Setting

OPTIONS = {
    "roles": "--role",
    "domains": "--domain",
    "types": "--type",
    "missing": "--empty",
    "encoding": "--encoding",
    "target": "--target",
    "column": "--text",
    "delimiter": "--delimiter",
    "columns": "--columns",
    "decimal": "--decimal",
    "comment": "--comment",
    "engine": "--processes",
    "sql": "--sql",
    "sample_weight": "--weight",
    "unseen": "--unseen",
    "numeric": "--numeric",
    "prior": "--prior",
    "smoothing": "--smoothing",
    "variance": "--variance",
    "ddof": "--ddof",
    "memory_limit": "--memory-limit",
    "timeout": "--wait",
    "recipe": "--recipe",
    "pattern": "--pattern",
    "hash_bits": "--hash-bits",
    "characters": "--characters",
    "folds": "--folds",
    "level": "--level",
    "probability": "--probability",
    "count": "--count",
    "n_topics": "--topics",
}
"""The option that passes a setting; a test sees that each is one of some command."""

FLAGS = {"unlabelled": "--drop-unlabelled"}
"""The option that stands for the one value of a setting which is a remedy."""

INSTEAD = {
    "schema": "Fit both with the same --role",
    "structure": "fit one model on the rows of both",
    "tree": "fit one model on the rows of both",
    "undecidable": " with --smoothing 1",
    "timeout": "Wait for it, or end it",
}
"""What helps at a terminal where a setting has no option, or the command that runs has not that option."""

UNITS = {"timeout": "SECONDS", "domains": "COLUMN=A,B,..."}
"""What is typed after an option whose value the reader chooses, where that is not plain."""


def in_options(message: object, whose: Callable[[str], str] = lambda option: "") -> str:
    """A message with its remedies as options; ``whose`` says of an option which command has it, if not this one.

    >>> from bayeskit.errors import AdviceWarning
    >>> from bayeskit.remedy import Remedy
    >>> in_options(AdviceWarning("to leave it out, pass ", Remedy("roles", {"the year": "ignore"})))
    "to leave it out, pass --role 'the year=ignore'"
    """
    return message.worded(lambda part: words(part, whose)) if isinstance(message, Message) else str(message)


def words(part: Setting | OtherModel, whose: Callable[[str], str] = lambda option: "") -> str:
    """A setting or a model as it is typed.

    >>> from bayeskit.remedy import Remedy
    >>> words(Remedy("missing", ["not known", ""])), words(Remedy("unseen", "ignore"), lambda option: " (of bayes fit)")
    ("--empty 'not known' --empty ''", '--unseen ignore (of bayes fit)')
    >>> words(Remedy("roles", {"year": "ignore"}, short=True)), words(Remedy("memory_limit")), words(OtherModel("TAN"))
    ('ignore', '--memory-limit', '--model tan')
    >>> words(Remedy("schema", clause="Pass the schema_ of one as {}"))
    'Fit both with the same --role'
    """
    if isinstance(part, OtherModel):
        name = next((name for name, model in MODELS.items() if model == part.name), None)
        return str(part) if name is None else f"--model {name}{whose('--model')}"
    if part.without is not None:
        return part.without
    if part.short:
        return part.clause.replace("{}", str(part.chosen))
    if (flag := FLAGS.get(part.setting)) is not None:
        return part.clause.replace("{}", flag + whose(flag))
    option = OPTIONS.get(part.setting)
    if option is None or (part.setting in INSTEAD and whose(option)):
        return INSTEAD.get(part.setting, str(part))
    if part.shown is not None:
        values = [part.shown]
    elif part.value is OPEN:
        values = [UNITS.get(part.setting, "")]
    else:
        values = [shlex.quote(value) for value in _typed(part.value)]
    return part.clause.replace("{}", " ".join(f"{option} {value}".rstrip() for value in values) + whose(option))


def _typed(value: Any) -> list[str]:
    """What stands after the option, each time that it is given."""
    if isinstance(value, Mapping):
        return [f"{name}={item}" for name, item in value.items()]
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]

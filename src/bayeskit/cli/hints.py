"""Messages of the library in terms of the command line: settings become options, classes become ``--model`` names."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from bayeskit.cli.options import MODELS
from bayeskit.errors import Message, join_hint
from bayeskit.printable import printable

_SAME_NAME = (
    "encoding target delimiter columns decimal comment cuts unseen numeric prior smoothing variance ddof edges "
    "memory_limit recipe pattern hash_bits characters ngrams folds level probability count score search max_parents"
)
OPTIONS = {name: f"--{name.replace('_', '-')}" for name in _SAME_NAME.split()} | {
    "sql": "--query",
    "roles": "--role",
    "domains": "--domain",
    "types": "--type",
    "missing": "--empty",
    "column": "--text",
    "engine": "--processes",
    "sample_weight": "--weight",
    "timeout": "--wait",
    "n_topics": "--topics",
    "unlabeled": "--drop-unlabeled",
    "keep_rows": "--keep-rows",
    "required": "--require",
    "forbidden": "--forbid",
    "tiers": "--tier",
    "equivalent_sample_size": "--ess",
}
"""The option that passes a setting."""

FLAGS = {"--drop-unlabeled", "--keep-rows"}
"""Options without a value."""

NO_OPTION = {
    "schema": "fit both with the same --role, or one model on the rows of both",
    "structure": "fit one model on the rows of both",
    "tree": "fit one model on the rows of both",
    "undecidable": "fit it with --smoothing 1",
}
"""The hint at a terminal where the setting that helps in Python has no option."""

METAVARS = {"timeout": "SECONDS", "domains": "COLUMN=A,B,..."}
"""The value to type after an option where the hint gives none and it is not obvious."""

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_PAIRS = ((r"\{", r"\}"), (r"\[", r"\]"), (r"\(", r"\)"))
_BRACKETS = "|".join(rf"""{a}(?:[^{a}{b}'"]|{_QUOTED})*{b}""" for a, b in _PAIRS)
VALUE = rf"{_QUOTED}|{_BRACKETS}|-?\d[\w.+-]*\b|-?(?:inf|nan|None|True|False)\b|"
"""A Python literal after ``name=``, or nothing."""
_SETTING = re.compile(rf"(?<!\w\()\b({'|'.join(OPTIONS)})=({VALUE})")  # not an argument in parentheses
_MODEL = re.compile(rf"\b({'|'.join(sorted(set(MODELS.values())))})\b")


def with_options(message: object, where: Callable[[str], str] = lambda option: "") -> str:
    """Return a message with its settings as options; ``where`` names the command of an option that this one lacks.

    >>> from bayeskit.errors import AdviceWarning, format_setting
    >>> with_options(AdviceWarning("year holds codes", hint=f"pass {format_setting('roles', {'the year': 'ignore'})}"))
    "year holds codes: pass --role 'the year=ignore'"
    >>> with_options(AdviceWarning("the structures differ", hint="fit the other with structure=first.structure_"))
    'the structures differ: fit one model on the rows of both'
    """
    if not isinstance(message, Message):
        return str(message)
    hint = message.hint.replace(" to open_source", "")
    for name, instead in NO_OPTION.items():
        if re.search(rf"\b{name}=", hint):
            hint = f"{instead[0].upper()}{instead[1:]}." if hint.endswith(".") else instead
    hint = _MODEL.sub(lambda found: _model_option(found[0]) + where("--model"), hint)
    text = join_hint(message.message, printable(hint))
    return _SETTING.sub(lambda found: option(found[1], found[2], where), text)


def option(setting: str, value: str, where: Callable[[str], str] = lambda option: "") -> str:
    """Return a setting with its Python value as an option is typed.

    >>> option("missing", "['not known', '']"), option("unseen", '"ignore"', lambda option: " (of bayes fit)")
    ("--empty 'not known'", '--unseen ignore (of bayes fit)')
    >>> option("cuts", "('frequency', 5)"), option("cuts", "{'age': [18, 65]}"), option("ngrams", "(1, 2)")
    ('--cuts frequency:5', '--cuts age=18,65', '--ngrams 1-2')
    >>> option("roles", "{'year': \\"ignore\\"}"), option("memory_limit", "")
    ('--role year=ignore', '--memory-limit')
    >>> option("missing", '"em"'), option("required", "('age', 'mass')")
    ('--missing em', "--require 'age -> mass'")
    """
    name = OPTIONS[setting]
    if setting == "missing" and value.strip("'\"") in (
        "drop",
        "em",
    ):  # of learn_network; elsewhere texts of empty cells
        name = "--missing"
    if name == "--empty":
        from bayeskit.data.io.csv import MISSING

        value = repr([text for text in _values(value) if text not in MISSING])  # the option adds to these
    values = [] if name in FLAGS else [shlex.quote(each) for each in _values(value)] if value else []
    if not value and setting in METAVARS:
        values = [METAVARS[setting]]
    return " ".join(f"{name} {each}" for each in values or [""]).strip() + where(name)


def _values(text: str) -> list[str]:
    """Return the words to type after an option, one each time it is given."""
    try:
        value: Any = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return [text]
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(end, str) for end in value):
        return [" -> ".join(value)]  # an arc
    if isinstance(value, Mapping):
        return [f"{name}={_word(item)}" for name, item in value.items()]
    return [_word(item) for item in value] if isinstance(value, list) else [_word(value)]


def _word(value: Any) -> str:
    """Return a value as it is typed: points with commas, a method with its number, a range."""
    if isinstance(value, list):
        return ",".join(map(_word, value))
    if isinstance(value, tuple):
        return (":" if isinstance(next(iter(value), None), str) else "-").join(map(_word, value))
    return "..." if value is ... else str(value)


def _model_option(name: str) -> str:
    return f"--model {next(short for short, model in MODELS.items() if model == name)}"

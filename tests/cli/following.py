"""Follow the advice that a message prints: shared by the tests that do."""

import ast
import inspect
import re
import shlex
import warnings
from pathlib import Path

import numpy as np

import bayeskit as bk
from bayeskit.cli.hints import OPTIONS, VALUE
from bayeskit.errors import BayesError, BayesWarning, Message, UnseenWarning


def said(attempt, **settings) -> Message:
    """The error or the advice of an attempt, which must give one."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            attempt(**settings)
        except BayesError as problem:
            return problem
    (advice,) = [one.message for one in told if issubclass(one.category, BayesWarning)]
    return advice


OPEN = object()  # a setting whose value the reader is to choose


def advised(message, name):
    """Return the values that a message prints for a setting, OPEN where it prints none."""
    printed = re.findall(rf"\b{name}=({VALUE})", str(message))
    return [ast.literal_eval(value) if value else OPEN for value in printed]


def follow(attempt, *names, chosen=None, **given):
    """Follow each piece of advice of an attempt's message: pass what was printed, and then the attempt succeeds."""
    message = said(attempt, **given)
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("error", BayesWarning)
            warnings.simplefilter("ignore", UnseenWarning)  # of unseen="ignore", which such advice names
            if inspect.isclass(getattr(bk, name, None)):
                assert name in str(message)
                attempt(**{**given, "kind": getattr(bk, name)})
                continue
            assert re.search(rf"\b{name}\b", str(message)), f"{message} does not name {name}"
            value = chosen[name] if chosen and name in chosen else advised(message, name)[-1]
            attempt(**{**given, name: value})
    return message


def typed(text: str) -> list[str]:
    """The options of a message with their values, as a person would copy them."""
    words = shlex.split(" ".join(text.split()).replace("'s ", "s "), posix=True)
    found = []
    for i, word in enumerate(words):
        option = word.strip(",.;:()")
        if option in OPTIONS.values() or option in ("--model", "--held-out", "--smoothing", "--numeric", "--text"):
            found += [option] + ([words[i + 1].rstrip(",.;)")] if option != "--held-out" else [])
    return found


def rows(**columns):
    """A table of sixty rows with a class, whose other columns give no cause for advice."""
    rng = np.random.default_rng(0)
    return {"x": rng.normal(size=60).round(3), **columns}, np.resize(["p", "q", "q"], 60)


def limited(kind, memory_limit):
    """The limit of memory, for models that have one."""
    return {} if kind is bk.NaiveBayes else {"memory_limit": memory_limit}


def fitting(data, y, kind=bk.NaiveBayes):
    """An attempt at a fit."""

    def attempt(kind=kind, **settings):
        return kind(**settings).fit(data, y)

    return attempt


TEXTS = {
    "an identifier": [f"k{i}" for i in range(60)],
    "long strings": [f"{i % 20:064}x" for i in range(60)],
    "nearly unique strings": [f"k{i % 57}" for i in range(60)],
    "free text": [f"the {i} cats and {i % 7} dogs sat on mat {i}" for i in range(60)],
}


def file_of(name, **columns):
    table = {"x": [i * 0.37 % 11 for i in range(300)], **columns, "y": [*"pqq"] * 100}
    lines = [",".join(table)]
    rows = zip(*table.values(), strict=True)
    lines += [",".join(f'"{cell}"' if "," in str(cell) else str(cell) for cell in cells) for cells in rows]
    Path(name).write_text("\n".join(lines) + "\n")
    return name

"""Which advice the package can give, and how a test follows it: shared by the tests that do."""

import ast
import shlex
import warnings
from functools import cache
from pathlib import Path

import numpy as np

import bayeskit as bk
from bayeskit.cli.remedies import OPTIONS
from bayeskit.errors import BayesError, BayesWarning, Message
from bayeskit.remedy import OPEN, OtherModel

SOURCES = Path(bk.__file__).parent
HELPERS = {"data/advice.py: by_role", "data/advice.py: _better_as"}  # that word what their callers advise
OPTION = ("--", "bayes fit", "bayes predict", "bayes ask", "bayes inspect")
NO_ADVICE = {  # that name an option, and advise none
    "cli/commands/ask.py: _show_values: --json",
    "cli/commands/evaluate.py: _show_confusion: --json",
    "cli/commands/inspect.py: _show_structure: --json",
    "cli/commands/predict.py: command: --costs --reject",
    "cli/commands/predict.py: command: --proba --costs --reject",
    "cli/commands/fit/from_tables.py: _model: --model",
    "cli/remedies.py: words: --model",
    "cli/texts.py: open_unlabelled: --text --whole-file",
    "cli/texts.py: refuse_text: --text",
    "kernels/__init__.py: _chosen: --force-reinstall --no-cache-dir",  # followed by whoever has a compiler
}


# -- where advice is given ---------------------------------------------------------------------------


@cache
def places() -> frozenset[str]:
    """``file: function: setting`` for every remedy, model and option that some message names."""
    found = set()

    def look(node, file, where, documented):
        for child in ast.iter_child_nodes(node):
            here = where
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                here = child.name if isinstance(child, ast.FunctionDef) else where
            elif not where and isinstance(child, (ast.Assign, ast.AnnAssign)):
                here = ast.unparse(child.targets[0] if isinstance(child, ast.Assign) else child.target)
            if isinstance(child, ast.Call) and ast.unparse(child.func) in ("Remedy", "OtherModel"):
                found.add(f"{file}: {here}: {child.args[0].value}")
            elif isinstance(child, ast.Call) and ast.unparse(child.func) in ("by_role", "_better_as"):
                found.add(f"{file}: {here}: roles")
            elif isinstance(child, ast.Constant) and isinstance(child.value, str) and " " in child.value.strip():
                named = [word.strip(".,:;()") for word in child.value.split() if word.startswith("--")]
                if named and not (isinstance(node, ast.Expr) or "help" in documented) and here:
                    found.add(f"{file}: {here}: {' '.join(named)}")
            inside = documented | ({child.arg} if isinstance(child, ast.keyword) else set())
            look(child, file, here, inside)

    for path in sorted(SOURCES.rglob("*.py")):
        look(ast.parse(path.read_text()), path.relative_to(SOURCES).as_posix(), "", frozenset())
    return frozenset(p for p in found if p.rpartition(":")[0] not in HELPERS and p not in NO_ADVICE)


FOLLOWED: dict[str, str] = {}  # place → the test that follows it


def follows(*where: str):
    """The test follows what these places advise: ``file: function: setting``."""

    def register(test):
        for place in where:
            assert FOLLOWED.setdefault(place, test.__name__) == test.__name__, f"{place} is followed twice"
        return test

    return register


# -- how it is followed ------------------------------------------------------------------------------


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


def follow(attempt, *names, chosen=None, model=None, **given):
    """Follow each remedy of an attempt's message in turn: what was advised is passed, and then all is well."""
    message = said(attempt, **given)
    advised = [one.name if isinstance(one, OtherModel) else one.setting for one in message.remedies]
    assert set(names) == set(advised), f"{message}: {advised}"
    for remedy in message.remedies:
        with warnings.catch_warnings():
            warnings.simplefilter("error", BayesWarning)
            if isinstance(remedy, OtherModel):
                attempt(**{**given, "kind": getattr(bk, remedy.name)})
                continue
            open_ = remedy.value is OPEN or "name" in (remedy.value if isinstance(remedy.value, dict) else ())
            value = chosen[remedy.setting] if open_ else remedy.value
            assert open_ or str(remedy.value) or str(remedy)  # what is closed can be pasted
            attempt(**{**given, remedy.setting: value})
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

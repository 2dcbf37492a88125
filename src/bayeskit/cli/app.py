"""Run all commands; report user errors in one line without a traceback."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Iterable
from importlib import import_module
from typing import Any, NoReturn

import typer

from bayeskit import __version__
from bayeskit.cli.hints import with_options
from bayeskit.cli.notes import note, with_strict
from bayeskit.cli.options import COMPLETED_PREFIX, SKIPPED, option
from bayeskit.errors import BayesError, BayesWarning, QueryError, UndecidableWarning
from bayeskit.printable import printable
from bayeskit.storage.files import hide_secrets

COMMANDS = (
    "fit", "predict", "rank", "tag", "topics", "evaluate", "compare", "drift", "diagnose", "explain", "inspect", "ask",
    "learn", "learn-network", "forget", "merge", "export", "page", "report", "play", "serve", "demo",
)  # fmt: skip
"""Modules of ``cli.commands`` (with ``_`` for ``-``), each with a function ``command``, in the order of the help."""

WITHOUT_DATA = ("inspect", "merge", "export", "page", "play", "serve", "demo")
"""Commands that read no rows, and so have no notes for ``--strict``."""

OTHER_NAMES = {
    "train": "fit", "build": "fit", "classify": "predict", "score": "evaluate", "test": "evaluate", "eval": "evaluate",
    "show": "inspect", "info": "inspect", "describe": "inspect", "update": "learn", "add": "learn", "remove": "forget",
    "unlearn": "forget", "why": "explain", "query": "ask", "convert": "export", "sort": "rank",
}  # fmt: skip
"""Commands of other programs, and ours that do the same."""

WrongCommand: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
"""Exception that typer raises for an invalid command; its module depends on the version."""


def _version(wanted: bool) -> None:
    if wanted:
        print(f"bayes {__version__}")
        raise typer.Exit


def bayes(
    version: bool = option("--version", None, "Print the version and exit.", False, callback=_version, is_eager=True),
) -> None:
    """Fit Bayesian classifiers to files, evaluate and explain them, and keep them up to date.

    \b
    Start with
      bayes fit birds.csv --target species -o birds.bayes
      bayes predict birds.bayes new.csv
    or with the demonstration
      bayes demo
    """


def build_app(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """Return the program with some of the commands; the modules of the others are not imported."""
    app = typer.Typer(
        name="bayes",
        no_args_is_help=True,
        add_completion=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    )
    app.callback()(bayes)
    for name in names:
        command = import_module(f"bayeskit.cli.commands.{name.replace('-', '_')}").command
        app.command(name=name)(command if name in WITHOUT_DATA else with_strict(command))
    return app


def run() -> None:
    """Run the command line; exit 0 on success, 1 for unusable data or models, 2 for an invalid command.

    A reader that closes the pipe early, such as ``head``, is success.
    """
    if os.environ.get("_BAYES_COMPLETE") == "complete_bash":
        _join_words_at_colons()
    SKIPPED.lines = None
    first = next(iter(sys.argv[1:]), "")
    if first == "help":  # bayes help fit
        sys.argv[1:] = [*sys.argv[2:3], "--help"]
        first = sys.argv[1]
    elif first in OTHER_NAMES:
        _say(f"bayes: there is no command {first!r}: use bayes {OTHER_NAMES[first]}")
        sys.exit(2)
    names = [name for name in COMMANDS if first == name] if first in (*COMMANDS, "--version") else COMMANDS
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _Notes()
            warnings.simplefilter("always", BayesWarning)
            ended = build_app(names)(prog_name="bayes", standalone_mode=False)
        if ended:  # such as by an interrupt
            sys.exit(ended)
        sys.stdout.flush()
        if SKIPPED.note:
            _say(f"bayes: note: {SKIPPED.note}")
    except BrokenPipeError:  # what is left does not fit into a pipe that is closed
        _end_of_pipe()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # which typer reports as a failure
            _end_of_pipe()
        raise
    except WrongCommand as problem:
        text = io.StringIO()
        problem.show(text)
        print(printable(_without_secrets(text.getvalue())), end="", file=sys.stderr)
        sys.exit(problem.exit_code)
    except QueryError as problem:  # of several lines, with a mark below the place
        print(f"bayes: {with_options(problem, _command_with)}", file=sys.stderr)
        sys.exit(1)
    except (BayesError, OSError, MemoryError, typer.Abort) as problem:
        message = "there is not enough memory for this" if isinstance(problem, MemoryError) else "ended"
        if isinstance(problem, OSError):
            message = f"{problem.filename}: " * bool(problem.filename) + (problem.strerror or str(problem))
        elif isinstance(problem, BayesError):
            message = with_options(problem, _command_with)
        _say(f"bayes: {message}")
        sys.exit(2 if message.startswith("--") else 1)  # a message about an option starts with it


def _join_words_at_colons() -> None:
    """Undo that Bash splits ``sql:d`` at the colon: it completes ``d``, and ``choice`` offers what follows ``sql:``."""
    words, at = os.environ["COMP_WORDS"].split("\n"), int(os.environ["COMP_CWORD"])
    colon = next((i for i in (at, at - 1) if 0 < i < len(words) and words[i] == ":"), None)
    if colon is not None:
        os.environ["COMP_WORDS"] = "\n".join([*words[: colon - 1], *words[colon + 1 : at + 1]])
        os.environ["COMP_CWORD"] = str(colon - 1)
        os.environ[COMPLETED_PREFIX] = words[colon - 1] + ":"


def _end_of_pipe() -> NoReturn:
    """Exit with success, and let Python close standard output without an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def options() -> dict[str, set[str]]:
    """Return the options of each command."""
    commands: Any = getattr(typer.main.get_command(build_app()), "commands")  # noqa: B009 - of a group, which mypy does not know
    return {name: {option for param in command.params for option in param.opts} for name, command in commands.items()}


def _command_with(option: str) -> str:
    """Name the command that has an option, in parentheses, where the running one lacks it."""
    known, command = options(), next(iter(sys.argv[1:]), "")
    if option in ("--role", "--type") and command not in ("fit", "ask", "compare", "learn-network"):
        return " (of bayes fit)"  # a fitted model has decided that
    if option in known.get(command, {option}):
        return ""
    return f" (of bayes {next(name for name, of_command in known.items() if option in of_command)})"


class _Notes:
    """Print warnings of bayeskit as one line each on stderr, each only once."""

    def __init__(self) -> None:
        self.undecidable = 0
        self.notes: set[str] = set()

    def __call__(self, message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        if issubclass(category, UndecidableWarning):
            self.undecidable += 1
            if self.undecidable == 2:
                note("there are more such rows further on")
            if self.undecidable > 1:
                return
        if issubclass(category, BayesWarning) or "compiled core" in str(message):
            text = with_options(message, _command_with)
            if text not in self.notes:
                note(text)
            self.notes.add(text)


def _without_secrets(message: str) -> str:
    """Return a message without passwords from the command line."""
    for word in sys.argv[1:]:
        for quoted in (word, repr(word)[1:-1]):
            message = message.replace(quoted, hide_secrets(word)) if hide_secrets(word) != word else message
    return message


def _say(line: str) -> None:
    print(printable(" ".join(line.split("\n"))), file=sys.stderr)

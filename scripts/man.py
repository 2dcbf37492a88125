"""Manual pages of ``bayes`` and its commands, generated from the help: ``make man`` writes them to build/man/man1."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import typer

from bayeskit import __version__
from bayeskit.cli.app import build_app

FOLDER = Path(__file__).parents[1] / "build" / "man" / "man1"


def roff(text: str) -> str:
    """Escape what roff would read as a request or as another sign."""
    text = (
        text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("^", "\\(ha").replace("~", "\\(ti")
    )
    return re.sub(r"^\.", r"\\&.", text, flags=re.MULTILINE)


def description(help_text: str) -> list[str]:
    """Return the paragraphs below the first sentence; those after a line with ``\\b`` keep their line breaks."""
    lines = []
    for part in help_text.strip().split("\n\n")[1:]:
        body = part.strip("\n")
        if body.startswith("\b"):
            title, *examples = body.splitlines()[1:]
            lines += [
                f".SH {roff(title.strip().rstrip(':').upper())}",
                ".nf",
                *map(roff, map(str.strip, examples)),
                ".fi",
            ]
        else:
            lines += [".PP", roff(" ".join(body.split()))]
    return lines


def synopsis(name: str, command: Any) -> str:
    """Return how the command is called."""
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    words = [(one.metavar or one.name.upper()) + ("..." if one.nargs == -1 else "") for one in arguments]
    return " ".join([name, "[OPTIONS]", *words, *(["COMMAND [ARGS]..."] if hasattr(command, "commands") else [])])


def options(command: Any) -> list[str]:
    """Return arguments and options with their help and default."""
    lines = []
    for param in command.params:
        if param.param_type_name == "argument":
            head = param.metavar or param.name.upper()
        else:
            value = "" if param.is_flag else f" {param.metavar or 'VALUE'}"
            head = ", ".join([*param.opts, *param.secondary_opts]) + value
        shown = param.show_default and not isinstance(param.default, (bool, list, type(None), type(...)))
        default = f" [default: {param.default}]" if shown else ""
        lines += [".TP", f"\\fB{roff(head)}\\fR", roff((param.help or "") + default)]
    return lines


def page(name: str, command: Any) -> str:
    """Return one manual page."""
    first, *_ = (command.help or "").strip().split("\n\n")
    lines = [
        f'.TH "{roff(name.replace(" ", "-")).upper()}" 1 "" "bayeskit {__version__}" "User Commands"',
        ".SH NAME", f"{roff(name.replace(' ', '-'))} \\- {roff(' '.join(first.split()).rstrip('.'))}",
        ".SH SYNOPSIS", f"\\fB{roff(synopsis(name, command))}\\fR",
        ".SH DESCRIPTION", roff(" ".join(first.split())), *description(command.help or ""),
        ".SH OPTIONS", *options(command),
    ]  # fmt: skip
    if commands := getattr(command, "commands", {}):
        lines.append(".SH COMMANDS")
        for one, inner in commands.items():
            lines += [".TP", f"\\fBbayes\\-{roff(one)}\\fR(1)", roff(inner.help.strip().partition("\n")[0])]
    else:
        lines += [
            ".SH EXIT STATUS",
            "0 if all went well, 1 if the data or the model will not do, 2 if the command is wrong.",
        ]
        lines += [".SH SEE ALSO", "\\fBbayes\\fR(1)"]
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """Return the manual pages by file name."""
    program: Any = typer.main.get_command(build_app())
    commands = {f"bayes-{name}.1": page(f"bayes {name}", command) for name, command in program.commands.items()}
    return {"bayes.1": page("bayes", program), **commands}


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if sys.argv[1:] else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in pages().items():
        (folder / file).write_text(text, encoding="utf-8")
    print(f"man -M {folder.parent} bayes-fit")

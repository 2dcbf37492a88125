"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, Parquet or JSON lines, also .gz and .zst: a file, a folder, a 'glob', or - for stdin.",
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A .bayes file, or - for stdin.")]
Target = Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="The column that holds the class.")]
Text = Annotated[
    str | None,
    typer.Option("--text", metavar="COLUMN", help="The column that holds the text, where the model is of documents."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]

Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--role", metavar="COLUMN=ROLE", help="Take a column as categorical, numeric, text or ignore. May be repeated."
    ),
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type", metavar="COLUMN=TYPE", help="Read a column as string, float, integer or boolean. May be repeated."
    ),
]
Delimiter = Annotated[
    str | None, typer.Option(metavar="CHAR", help="Between the cells of a CSV file; by default seen from its header.")
]
Encoding = Annotated[str | None, typer.Option(metavar="NAME", help="Of text that is not UTF-8, such as cp1252.")]
Empty = Annotated[
    list[str] | None,
    typer.Option(
        "--empty", metavar="TEXT", help="A text that means an empty cell of a CSV file, instead of the usual ones."
    ),
]
Wait = Annotated[
    float, typer.Option(metavar="SECONDS", min=0, help="How long to wait for someone else who changes the model.")
]


def pairs(option: str, given: Sequence[str] | None) -> dict[str, str]:
    """``name=value`` texts as a mapping.

    >>> pairs("--role", ["zip=categorical", "a=b=ignore"])
    {'zip': 'categorical', 'a=b': 'ignore'}
    """
    found = {}
    for text in given or ():
        name, sign, value = text.rpartition("=")
        if not sign or not name:
            raise typer.BadParameter(f"{text!r} is no COLUMN=…", param_hint=option)
        found[name] = value
    return found

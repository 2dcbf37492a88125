"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

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
DropUnlabelled = Annotated[
    bool, typer.Option("--drop-unlabelled", help="Leave rows without a class out, and say how many.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]

Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        metavar="COLUMN=ROLE",
        help="Take a column as categorical, numeric, text, ignore or parts of a date. May be repeated.",
    ),
]
Wait = Annotated[
    float, typer.Option(metavar="SECONDS", min=0, help="How long to wait for someone else who changes the model.")
]


@dataclass(frozen=True)
class Reading:
    """How a file of rows is read: the options of every command that reads one."""

    column_type: Annotated[
        list[str] | None,
        typer.Option(
            "--type", metavar="COLUMN=TYPE", help="Read a column as string, float, integer or boolean. May be repeated."
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option(
            "--delimiter", metavar="CHAR", help="Between the cells of a CSV file; by default seen from its header."
        ),
    ] = None
    encoding: Annotated[
        str | None, typer.Option("--encoding", metavar="NAME", help="Of text that is not UTF-8, such as cp1252.")
    ] = None
    empty: Annotated[
        list[str] | None,
        typer.Option(
            "--empty", metavar="TEXT", help="A text that means an empty cell of a CSV file, instead of the usual ones."
        ),
    ] = None


AS_IT_IS = Reading()


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take groups of options: a parameter that is a dataclass stands for its fields.

    >>> @grouped
    ... def read(data: str, reading: Reading) -> None:
    ...     print(data, reading.encoding)
    >>> list(signature(read).parameters)
    ['data', 'column_type', 'delimiter', 'encoding', 'empty']
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    options: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if name in groups:
            kinds = get_type_hints(groups[name], include_extras=True)
            listed = [(option.name, kinds[option.name], option.default) for option in fields(groups[name])]
        else:
            listed = [(name, hints[name], parameter.default)]
        for option, kind, value in listed:
            options.append(Parameter(option, Parameter.KEYWORD_ONLY, default=value, annotation=kind))

    @wraps(command)
    def taking(**chosen: Any) -> None:
        for name, kind in groups.items():
            chosen[name] = kind(**{option.name: chosen.pop(option.name) for option in fields(kind)})
        command(**chosen)

    taking.__annotations__ = {option.name: option.annotation for option in options}
    taking.__signature__ = Signature(options)  # type: ignore[attr-defined]
    return taking


def given(options: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The options of a group that were given: the names of each, the long one first, and its value."""
    kinds = get_type_hints(type(options), include_extras=True)
    for field in fields(options):
        (option,) = (note for note in kinds[field.name].__metadata__ if hasattr(note, "param_decls"))
        if (value := getattr(options, field.name)) not in (None, field.default):
            yield (option.default, *option.param_decls), value  # typer takes the first name for a default at first


def typed(options: Any) -> list[str]:
    """The options of a group that were given, as they are typed.

    >>> typed(Reading(delimiter=";", empty=["?", "none"]))
    ['--delimiter', ';', '--empty', '?', '--empty', 'none']
    """
    words = []
    for names, value in given(options):
        if isinstance(value, bool):  # --yes/--no
            words.append(names[-1].split("/")[0 if value else -1])
            continue
        for one in value if isinstance(value, list) else [value]:
            words += [names[-1], str(one)]
    return words


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

"""Arguments and options that several commands share."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="CSV, Parquet or JSON lines, also .gz and .zst: files, folders, a 'glob', or - for stdin.",
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A .bayes file, or - for stdin.")]
Target = Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="The column that holds the class.")]
Text = Annotated[
    str | None,
    typer.Option("--text", metavar="COLUMN", help="The column that holds the text, where the model is of documents."),
]
Weight = Annotated[
    str | None,
    typer.Option("--weight", metavar="COLUMN", help="The column that says how often each row counts."),
]
DropUnlabelled = Annotated[
    bool, typer.Option("--drop-unlabelled", help="Leave rows without a class out, and say how many.")
]


def among(*words: str) -> Callable[[], list[str]]:
    """Return a function that completes an option in a shell."""
    return lambda: list(words)


WholeFile = Annotated[
    bool, typer.Option("--whole-file", help="Of documents: each file is one, of any ending, and not each of its lines.")
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
    """Options for reading a file of rows."""

    sql: Annotated[
        str | None,
        typer.Option(
            "--sql", metavar="QUERY", help="The rows of a SELECT, where DATA is a database: a file or postgresql://..."
        ),
    ] = None
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
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The first line of a CSV file is a row: columns are c1, c2, ...")
    ] = False
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="A,B,...", help="Names of the columns of a CSV file without a header."),
    ] = None
    decimal: Annotated[
        str | None, typer.Option("--decimal", metavar="CHAR", help="A comma, where numbers have one: 1,5.")
    ] = None
    comment: Annotated[
        str | None,
        typer.Option("--comment", metavar="TEXT", help="Lines of a CSV file that start so are left out, such as '#'."),
    ] = None

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings for opening files in Python."""
        return {
            "delimiter": "\t" if self.delimiter == "\\t" else self.delimiter,
            "encoding": self.encoding,
            "missing": self.empty or None,
            "header": False if self.no_header else None,
            "columns": None if self.columns is None else next(csv.reader([self.columns]), []),
            "decimal": self.decimal,
            "comment": self.comment,
        }


AS_IT_IS = Reading()


@dataclass(frozen=True)
class Rows:
    """Options that select rows or documents and the columns to copy."""

    keep: Annotated[
        list[str] | None, typer.Option("--keep", metavar="COLUMN", help="Copy a column of the data. May be repeated.")
    ] = None
    keep_all: Annotated[bool, typer.Option("--keep-all", help="Copy all columns of the data.")] = False
    unreadable: Annotated[
        str,
        typer.Option(
            "--unreadable",
            autocompletion=among("error", "missing"),
            metavar="error|missing",
            help="What a cell is that does not fit its column, such as a word among numbers.",
        ),
    ] = "error"
    text: Text = None
    whole_file: WholeFile = False
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="No notes on stderr: rows written, cells unread, rows of another kind."),
    ] = False

    def __post_init__(self) -> None:
        if self.unreadable not in ("error", "missing"):
            raise typer.BadParameter(f"{self.unreadable!r} is neither error nor missing", param_hint="--unreadable")


ALL_ROWS = Rows()


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Expand dataclass parameters of a command into one option per field.

    >>> @grouped
    ... def read(data: str, reading: Reading) -> None:
    ...     print(data, reading.encoding)
    >>> list(signature(read).parameters)
    ['data', 'sql', 'column_type', 'delimiter', 'encoding', 'empty', 'no_header', 'columns', 'decimal', 'comment']
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
    """Yield the given options of a group: their names, the long one first, and the value."""
    kinds = get_type_hints(type(options), include_extras=True)
    for field in fields(options):
        (option,) = (note for note in kinds[field.name].__metadata__ if hasattr(note, "param_decls"))
        if (value := getattr(options, field.name)) not in (None, field.default):
            yield (option.default, *option.param_decls), value  # typer takes the first name for a default at first


def typed(options: Any) -> list[str]:
    """Return the given options of a group as they are typed.

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
    """Parse ``name=value`` texts to a mapping.

    >>> pairs("--role", ["zip=categorical", "a=b=ignore"])
    {'zip': 'categorical', 'a=b': 'ignore'}
    >>> pairs("--role", ["=ignore"])                            # a column without a name, such as a saved index
    {'': 'ignore'}
    """
    values = {}
    for text in given or ():
        name, sign, value = text.rpartition("=")
        if not sign:
            raise typer.BadParameter(f"{text!r} is no COLUMN=…", param_hint=option)
        values[name] = value
    return values

"""Arguments and options that several commands share."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

MODELS = {  # what --model may say, and the class that is fitted
    "naive": "NaiveBayes",
    "tan": "TAN",
    "aode": "AODE",
    "kdb": "KDB",
    "joint": "FullJointBayes",
    "gaussian": "GaussianBayes",
    "subclass": "SubclassBayes",
    "nbtree": "NBTree",
    "best": "BayesClassifier",
    "exponents": "DiscriminativeWeights",
}


def option(names: str, metavar: str | None, text: str, **settings: Any) -> Any:
    """Declare an option by its names, placeholder and help."""
    return typer.Option(*names.split(), metavar=metavar, help=text, **settings)


def choice(names: str, text: str, *choices: str, metavar: str | None = None) -> Any:
    """Declare an option with a fixed set of values, which a shell completes; other values are an error."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in choices:
            raise typer.BadParameter(f"{value!r} is none of {', '.join(choices)}")
        return value

    settings = {"autocompletion": lambda: list(choices), "callback": check}
    return option(names, metavar or "|".join(choices), text, **settings)


Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="CSV, Parquet or JSON lines, also .gz and .zst: files, folders, a 'glob', or - for stdin.",
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A .bayes file, or - for stdin.")]
Target = Annotated[str, option("--target -t", "COLUMN", "Column with the class.")]
Text = Annotated[str | None, option("--text", "COLUMN", "Column with the text, for models of documents.")]
Weight = Annotated[str | None, option("--weight", "COLUMN", "Column with the weight of each row.")]
DropUnlabeled = Annotated[bool, option("--drop-unlabeled", None, "Skip rows without a class, and print how many.")]


WholeFile = Annotated[bool, option("--whole-file", None, "Documents: each file is one document, whatever its ending.")]
Json = Annotated[bool, option("--json", None, "Print one JSON object instead of tables.")]

Roles = Annotated[
    list[str] | None,
    option(
        "--role",
        "COLUMN=ROLE",
        "Role of a column: categorical, numeric, text, ignore or parts of a date. May be repeated.",
    ),
]


@dataclass(frozen=True)
class Reading:
    """Options for reading a file of rows."""

    sql: Annotated[
        str | None, option("--sql", "QUERY", "SELECT statement, if DATA is a database: a file or postgresql://...")
    ] = None
    column_type: Annotated[
        list[str] | None,
        option("--type", "COLUMN=TYPE", "Type of a column: string, float, integer or boolean. May be repeated."),
    ] = None
    delimiter: Annotated[
        str | None, option("--delimiter", "CHAR", "Delimiter of a CSV file; by default detected from the header.")
    ] = None
    encoding: Annotated[
        str | None, option("--encoding", "NAME", "Encoding of text that is not UTF-8, such as cp1252.")
    ] = None
    empty: Annotated[
        list[str] | None,
        option("--empty", "TEXT", "Text that marks a missing cell of CSV or JSON lines, instead of the usual ones."),
    ] = None
    no_header: Annotated[bool, option("--no-header", None, "The CSV file has no header: columns are c1, c2, ...")] = (
        False
    )
    columns: Annotated[str | None, option("--columns", "A,B,...", "Column names of a CSV file without a header.")] = (
        None
    )
    decimal: Annotated[str | None, option("--decimal", "CHAR", "Decimal point of numbers, such as ',' for 1,5.")] = None
    comment: Annotated[
        str | None, option("--comment", "TEXT", "Skip lines of a CSV file that start with this, such as '#'.")
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
class RowOptions:
    """Options that select rows or documents and the columns to copy."""

    keep: Annotated[
        list[str] | None, option("--keep", "COLUMN", "Copy a column of the data as it is. May be repeated.")
    ] = None
    keep_all: Annotated[bool, option("--keep-all", None, "Copy all columns of the data.")] = False
    unreadable: Annotated[
        str,
        choice(
            "--unreadable",
            "How to treat a cell that does not fit its column, such as a word among numbers.",
            "error",
            "missing",
        ),
    ] = "error"
    text: Text = None
    whole_file: WholeFile = False
    quiet: Annotated[
        bool, option("--quiet -q", None, "Print no notes on stderr (rows written, unreadable cells, drift).")
    ] = False


ALL_ROWS = RowOptions()


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

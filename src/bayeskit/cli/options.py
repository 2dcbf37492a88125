"""Arguments and options that several commands share."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from itertools import pairwise
from typing import Any, dataclass_transform, get_type_hints

import typer
from typer.models import OptionInfo

from bayeskit.errors import BayesError

MODELS = {  # what --model may say, and the class that is fitted
    "naive": "NaiveBayes",
    "tan": "TAN",
    "aode": "AODE",
    "kdb": "KDB",
    "joint": "FullJointBayes",
    "gaussian": "GaussianBayes",
    "subclass": "SubclassBayes",
    "nbtree": "NBTree",
    "network": "NetworkClassifier",
    "best": "BayesClassifier",
    "exponents": "DiscriminativeWeights",
}

NETWORK_ENDINGS = (".bif", ".xml", ".xmlbif", ".net", ".dsc")  # as in network/formats.py, which imports NumPy


def option(names: str, metavar: str | None, text: str, default: Any = None, **settings: Any) -> Any:
    """Declare an option by its names, placeholder, help and default; ``...`` is the default of a required one."""
    return typer.Option(default, *names.split(), metavar=metavar, help=text, **settings)


def choice(names: str, text: str, values: str, default: str | None = None, metavar: str | None = None) -> Any:
    """Declare an option with a fixed set of values, which a shell completes; other values are an error."""
    choices = values.split()

    def check(value: str | None) -> str | None:
        if value is not None and value not in choices:
            raise typer.BadParameter(f"{value!r} is none of {', '.join(choices)}")
        return value

    settings = {"autocompletion": lambda: choices, "callback": check}
    return option(names, metavar or "|".join(choices), text, default, **settings)


@dataclass_transform(frozen_default=True)
def option_group(group: type) -> Any:
    """Make a dataclass of declared options, for the commands that take all of them; see :func:`grouped`."""
    for name, declared in list(vars(group).items()):
        if isinstance(declared, OptionInfo):
            setattr(group, name, field(default=declared.default, metadata={"option": declared}))
    return dataclass(frozen=True)(group)


def argument(metavar: str, text: str, default: Any = ...) -> Any:
    """Declare an argument by its placeholder, help and default."""
    return typer.Argument(default, metavar=metavar, help=text)


DATA = argument("DATA", "CSV, Parquet or JSON lines, also .gz and .zst: files, folders, a 'glob', or - for stdin.")
MODEL = argument("MODEL", "A .bayes file, or - for stdin.")
TARGET = option("--target -t", "COLUMN", "Column with the class.", ...)
TEXT = option("--text", "COLUMN", "Column with the text, for models of documents.")
WEIGHT = option("--weight", "COLUMN", "Column with the weight of each row.")
GROUP = option("--group", "COLUMN", "Column that says which rows belong together; not learned from.")
DROP_UNLABELED = option("--drop-unlabeled", None, "Skip rows without a class, and print how many.", False)
WHOLE_FILE = option("--whole-file", None, "Documents: each file is one document, whatever its ending.", False)
JSON = option("--json", None, "Print one JSON object instead of tables.", False)
ROLES = option(
    "--role", "COLUMN=ROLE", "Role of a column: categorical, numeric, text, ignore or parts of a date. May be repeated."
)


@option_group
class Reading:
    """Options for reading a file of rows."""

    sql: str | None = option("--sql", "QUERY", "SELECT statement, if DATA is a database: a file or postgresql://...")
    column_type: list[str] | None = option(
        "--type", "COLUMN=TYPE", "Type of a column: string, float, integer or boolean. May be repeated."
    )
    delimiter: str | None = option(
        "--delimiter", "CHAR", "Delimiter of a CSV file; by default detected from the header."
    )
    encoding: str | None = option("--encoding", "NAME", "Encoding of text that is not UTF-8, such as cp1252.")
    empty: list[str] | None = option(
        "--empty", "TEXT", "Text that marks a missing cell of CSV or JSON lines, instead of the usual ones."
    )
    no_header: bool = option("--no-header", None, "The CSV file has no header: columns are c1, c2, ...", False)
    columns: str | None = option("--columns", "A,B,...", "Column names of a CSV file without a header.")
    decimal: str | None = option("--decimal", "CHAR", "Decimal point of numbers, such as ',' for 1,5.")
    comment: str | None = option("--comment", "TEXT", "Skip lines of a CSV file that start with this, such as '#'.")

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


@option_group
class RowOptions:
    """Options that select rows or documents and the columns to copy."""

    keep: list[str] | None = option("--keep", "COLUMN", "Copy a column of the data as it is. May be repeated.")
    keep_all: bool = option("--keep-all", None, "Copy all columns of the data.", False)
    unreadable: str = choice(
        "--unreadable",
        "How to treat a cell that does not fit its column, such as a word among numbers.",
        "error missing",
        "error",
    )
    text: str | None = TEXT
    whole_file: bool = WHOLE_FILE
    quiet: bool = option("--quiet -q", None, "Print no notes on stderr (rows written, unreadable cells, drift).", False)


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
        kinds = get_type_hints(groups[name]) if name in groups else hints
        defaults = {name: parameter.default}
        if name in groups:
            defaults = {option.name: option.metadata["option"] for option in fields(groups[name])}
        options += [Parameter(n, Parameter.KEYWORD_ONLY, default=d, annotation=kinds[n]) for n, d in defaults.items()]

    @wraps(command)
    def taking(**chosen: Any) -> None:
        for name, kind in groups.items():
            chosen[name] = kind(**{option.name: chosen.pop(option.name) for option in fields(kind)})
        command(**chosen)

    taking.__annotations__ = {option.name: option.annotation for option in options}
    taking.__signature__ = Signature(options)  # type: ignore[attr-defined]
    return taking


def set_options(options: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the given options of a group: their names, the long one first, and the value."""
    for declared in fields(options):
        if (value := getattr(options, declared.name)) not in (None, declared.default):
            yield declared.metadata["option"].param_decls, value


def typed(options: Any) -> list[str]:
    """Return the given options of a group as they are typed.

    >>> typed(Reading(delimiter=";", empty=["?", "none"]))
    ['--delimiter', ';', '--empty', '?', '--empty', 'none']
    """
    words = []
    for names, value in set_options(options):
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


def arcs_of(name: str, given: Sequence[str] | None) -> list[tuple[str, str]]:
    """Parse arcs, also several in a row.

    >>> arcs_of("--require", ["age -> blood pressure", "a→b -> c"])
    [('age', 'blood pressure'), ('a', 'b'), ('b', 'c')]
    """
    arcs: list[tuple[str, str]] = []
    for text in given or ():
        ends = [end.strip() for end in re.split(r"->|→", text)]
        if len(ends) < 2 or not all(ends):
            raise BayesError(f"{name} {text!r} is no arc: write it as 'parent -> child', in quotes")
        arcs += pairwise(ends)
    return arcs


def listed_names(text: str) -> list[str]:
    """Split a list of names; those with a comma stand in double quotes.

    >>> listed_names('age, "weight, kg"')
    ['age', 'weight, kg']
    """
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), []) if name.strip()]

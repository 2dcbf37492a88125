"""Arguments and options that several commands share."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from itertools import pairwise
from typing import Any, dataclass_transform, get_type_hints

import typer
from typer.models import OptionInfo

from bayeskit.errors import BayesError
from bayeskit.nearest import did_you_mean

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
    "fast": "BayesClassifier",
    "exponents": "DiscriminativeWeights",
    "logistic": "LogisticRegression",
    "student": "NaiveBayes",
    "cuts": "NaiveBayes",
    "calibrated": "Calibrated",
}

COMPLETED_PREFIX = "_BAYES_COMPLETED_PREFIX"
"""Environment variable: the beginning of a value, to its last colon, that a shell does not complete again."""


def option(names: str, metavar: str | None, text: str, default: Any = None, **settings: Any) -> Any:
    """Declare an option by its names, placeholder, help and default; ``...`` is the default of a required one."""
    return typer.Option(default, *names.split(), metavar=metavar, help=text, **settings)


def choice(
    names: str,
    text: str,
    values: str,
    default: Any = None,
    metavar: str | None = None,
    elsewhere: Mapping[str, str] | None = None,
) -> Any:
    """Declare an option with a fixed set of values, which a shell completes; other values are an error.

    ``elsewhere``: what to say of values that only another command takes.
    """
    choices = values.split()

    def check(value: str | None) -> str | None:
        if value is not None and elsewhere is not None and value in elsewhere:
            raise typer.BadParameter(f"{value!r} is {elsewhere[value]}")
        if value is not None and value not in choices:
            raise typer.BadParameter(f"{value!r} is none of {', '.join(choices)}{did_you_mean(value, choices)}")
        return value

    def completed() -> list[str]:
        prefix = os.environ.get(COMPLETED_PREFIX, "")
        return [value.removeprefix(prefix) for value in choices if value.startswith(prefix)]

    settings = {"autocompletion": completed, "callback": check}
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


DATA = argument(
    "DATA", "CSV, Parquet or JSON lines, also .gz, .zst, .bz2 and .xz: files, folders, a 'glob', or - for stdin."
)
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


IGNORE = option("--ignore", "COLUMN", "Leave a column out, as --role COLUMN=ignore does. May be repeated.")


class SkippedLines:
    """The lines that the running command skipped."""

    lines: Any = None

    def counter(self) -> Any:
        """Return the object that counts them."""
        if self.lines is None:
            from bayeskit.data.io.streams import BadLines

            self.lines = BadLines()
        return self.lines

    @property
    def note(self) -> str:
        """Return their number and the first of them in words; nothing if there are none."""
        if self.lines is None or not self.lines.rows:
            return ""
        n = len(self.lines.rows)
        return f"{n:,} {'line was' if n == 1 else 'lines were'} skipped, such as {self.lines.first}"


SKIPPED = SkippedLines()


@option_group
class Reading:
    """Options for reading a file of rows."""

    query: str | None = option(
        "--query", "QUERY", "SELECT statement, if DATA is a database: a file or postgresql://..."
    )
    column_type: list[str] | None = option(
        "--type", "COLUMN=TYPE", "Type of a column: string, float, integer or boolean. May be repeated."
    )
    delimiter: str | None = option(
        "--delimiter", "CHAR", "Delimiter of a CSV file; by default detected from the header."
    )
    encoding: str | None = option("--encoding", "NAME", "Encoding of text that is not UTF-8, such as cp1252.")
    empty: list[str] | None = option(
        "--empty", "TEXT", "Text that marks a missing cell of CSV or JSON lines, beside the usual ones."
    )
    only_empty: bool = option("--only-empty", None, "Only the texts of --empty mark a missing cell.", False)
    no_header: bool = option("--no-header", None, "The CSV file has no header: columns are c1, c2, ...", False)
    columns: str | None = option("--columns", "A,B,...", "Column names of a CSV file without a header.")
    decimal: str | None = option("--decimal", "CHAR", "Decimal point of numbers, such as ',' for 1,5.")
    bad_lines: str = choice(
        "--bad-lines",
        "What to do with a line of a CSV file that has more or fewer cells than the header; skipped ones are counted.",
        "error skip",
        "error",
    )
    comment: str | None = option("--comment", "TEXT", "Skip lines of a CSV file that start with this, such as '#'.")

    def _missing(self) -> list[str] | None:
        """Return the texts of missing cells; None for the usual ones."""
        if not (self.empty or self.only_empty):
            return None
        from bayeskit.data.io.csv import MISSING

        return [*(() if self.only_empty else MISSING), *(self.empty or ())]

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings for opening files in Python."""
        return {
            "delimiter": "\t" if self.delimiter == "\\t" else self.delimiter,
            "encoding": self.encoding,
            "missing": self._missing(),
            "header": False if self.no_header else None,
            "columns": None if self.columns is None else next(csv.reader([self.columns]), []),
            "bad_lines": None if self.bad_lines == "error" else SKIPPED.counter(),
            "decimal": self.decimal,
            "comment": self.comment,
        }


@option_group
class RowOptions:
    """Options that select rows or documents and the columns to copy."""

    keep: list[str] | None = option(
        "--keep", "COLUMN", "Copy columns of the data as they are, such as id or id,name. May be repeated."
    )
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
    >>> list(signature(read).parameters)                          # doctest: +ELLIPSIS
    ['data', 'query', 'column_type', 'delimiter', 'encoding', 'empty', 'only_empty', 'no_header', ...]
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
            raise typer.BadParameter(f"{text!r} is not a COLUMN=…", param_hint=option)
        values[name] = value
    return values


def roles_of(role: Sequence[str] | None, ignore: Sequence[str] | None) -> dict[str, str]:
    """Parse ``--role`` and ``--ignore`` to a mapping.

    >>> roles_of(["zip=categorical"], ["id", "year, month"])
    {'zip': 'categorical', 'id': 'ignore', 'year, month': 'ignore'}
    """
    return pairs("--role", role) | dict.fromkeys(ignore or (), "ignore")


def arcs_of(name: str, given: Sequence[str] | None) -> list[tuple[str, str]]:
    """Parse arcs, also several in a row.

    >>> arcs_of("--require", ["age -> blood pressure", "a→b -> c"])
    [('age', 'blood pressure'), ('a', 'b'), ('b', 'c')]
    """
    arcs: list[tuple[str, str]] = []
    for text in given or ():
        ends = [end.strip() for end in re.split(r"->|→", text)]
        if len(ends) < 2 or not all(ends):
            raise BayesError(f"{name} {text!r} is not an arc: write it as 'parent -> child', in quotes")
        arcs += pairwise(ends)
    return arcs


def listed_names(text: str) -> list[str]:
    """Split a list of names; those with a comma stand in double quotes.

    >>> listed_names('age, "weight, kg"')
    ['age', 'weight, kg']
    """
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), []) if name.strip()]

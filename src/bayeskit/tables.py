"""Print tables in terminals and notebooks: grids, sheets, Arrow tables and tables of probabilities."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Literal, Self, SupportsIndex, TypeVar, overload

import numpy as np

from bayeskit.arrow_arrays import arrow_array
from bayeskit.drawable import Drawable, draw
from bayeskit.lazy import pa
from bayeskit.printable import printable
from bayeskit.typing import Array, Floats

ROWS = 50  # of a table or a list that are shown
COLUMNS = 50  # of a table that are shown
LONGEST = 200  # characters of a cell that are shown
WIDTH = 80  # of a line of text
LEFT = ' style="text-align:left"'


def class_header(target: str, others: Iterable[str]) -> str:
    """Return the target's name as the header of a column of classes, distinct from the headers beside it.

    >>> class_header("species", ["rows", "share"]), class_header("rows", ["rows", "share"])
    ('species', 'rows (class)')
    """
    others = set(others)
    while target in others:
        target = f"{target} (class)"
    return target


class Figure(str):
    """A formatted number, aligned right."""


@dataclass(frozen=True)
class Grid:
    """Columns of equal length by name; ``more`` counts omitted rows.

    >>> print(Grid({"sky": ["rain", "sun"], "share": [Figure("25 %"), Figure("75 %")]}, more=3).text)
    sky   share
    rain   25 %
    sun    75 %
    … 3 more
    """

    columns: Mapping[str, Sequence[Any]]
    more: int = 0

    @property
    def text(self) -> str:
        """Return text for a terminal: words left-aligned, numbers right-aligned."""
        lines = []
        for cells, is_words in self._cells:
            width = max(map(len, cells))
            lines.append([cell.ljust(width) if is_words else cell.rjust(width) for cell in cells])
        return "\n".join(["  ".join(row).rstrip() for row in zip(*lines, strict=True)] + self._left_out)

    @property
    def html(self) -> str:
        """Return the HTML."""
        columns = [(LEFT if is_words else "", [html.escape(cell) for cell in cells]) for cells, is_words in self._cells]
        head, *rows = zip(*([(style, cell) for cell in cells] for style, cells in columns), strict=True)
        parts = ["<table><thead><tr>", *(f"<th{style}>{cell}</th>" for style, cell in head), "</tr></thead><tbody>"]
        for row in rows:
            parts += ["<tr>", *(f"<td{style}>{cell}</td>" for style, cell in row), "</tr>"]
        return "".join([*parts, "</tbody></table>", *(f"<p>{line}</p>" for line in self._left_out)])

    @cached_property
    def _cells(self) -> list[tuple[list[str], bool]]:
        """Return for each visible column its name and cells as text, and whether they are words."""
        cells = []
        for name, values in islice(self.columns.items(), COLUMNS):
            first = list(islice(values, ROWS))
            is_words = any(isinstance(value, str) and not isinstance(value, Figure) for value in first)
            cells.append(([_clipped(printable(name, keep="")), *map(_cell, first)], is_words))
        return cells or [([""], True)]

    @property
    def _left_out(self) -> list[str]:
        n_rows = len(next(iter(self.columns.values()), ()))
        return left_out(max(n_rows - ROWS, 0) + self.more) + left_out(len(self.columns) - COLUMNS, "columns")


@dataclass(frozen=True)
class Items:
    """A list of sentences."""

    sentences: Sequence[str]


@dataclass(frozen=True)
class Preformatted:
    """Preformatted lines, such as those of a tree."""

    lines: Sequence[str]


@dataclass(frozen=True)
class Picture:
    """A picture for HTML (``html``, already escaped) and its replacement in a terminal."""

    html: str
    lines: Sequence[str]


@dataclass(frozen=True)
class Sheet:
    """A title and its content: paragraphs, grids, items, lines; an empty paragraph is a blank line.

    >>> sheet = Sheet("rain <or> sun", ("", Items(["rain is likely", "sun is not"])))
    >>> print(sheet.text)
    rain <or> sun
    <BLANKLINE>
      rain is likely
      sun is not
    >>> sheet.html
    '<p><b>rain &lt;or&gt; sun</b></p><ul><li>rain is likely</li><li>sun is not</li></ul>'
    """

    title: str
    parts: tuple[str | Grid | Items | Preformatted | Picture, ...] = ()

    @property
    def text(self) -> str:
        """Return the text for a terminal."""
        return "\n".join([printable(self.title, keep=""), *map(_text, self.parts)])

    @property
    def html(self) -> str:
        """Return the HTML."""
        return f"<p><b>{escaped(self.title)}</b></p>" + "".join(map(_html, self.parts))


class Readable:
    """A base class for objects with a sheet, which print as text and render as HTML in notebooks."""

    @property
    def sheet(self) -> Sheet:
        """Return the sheet to display."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.sheet.text

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.sheet.html


class SheetText(str):
    """The text of a sheet: a string that notebooks render as HTML."""

    sheet: Sheet

    def __new__(cls, sheet: Sheet) -> SheetText:
        made = super().__new__(cls, sheet.text)
        made.sheet = sheet
        return made

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.sheet.html


R = TypeVar("R", bound=Readable)


class Records(tuple[R, ...]):
    """A sequence of records that displays the first ones; a slice is again such a sequence."""

    @overload
    def __getitem__(self, at: SupportsIndex) -> R: ...
    @overload
    def __getitem__(self, at: slice) -> Self: ...
    def __getitem__(self, at: SupportsIndex | slice) -> R | Self:
        return type(self)(super().__getitem__(at)) if isinstance(at, slice) else super().__getitem__(at)

    def __str__(self) -> str:
        return "\n".join([*(str(record) for record in self[:ROWS]), *left_out(len(self) - ROWS)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        more = (f"<p>{line}</p>" for line in left_out(len(self) - ROWS))
        return "".join([*(record._repr_html_() for record in self[:ROWS]), *more])


def left_out(n: int, what: str = "") -> list[str]:
    """Return the line that counts omitted items, empty if there are none.

    >>> left_out(19_950), left_out(2, "columns"), left_out(0)
    (['… 19,950 more'], ['… 2 more columns'], [])
    """
    return [f"… {n:,} more {what}".rstrip()] if n > 0 else []


def escaped(text: str) -> str:
    """Escape untrusted text for HTML.

    >>> print(escaped("<b>\\x1b[2J"))
    &lt;b&gt;\\x1b[2J
    """
    return html.escape(printable(text, keep=""))


def _text(part: str | Grid | Items | Preformatted | Picture) -> str:
    if isinstance(part, str):
        return textwrap.fill(printable(part, keep=""), WIDTH, break_on_hyphens=False, break_long_words=False)
    if isinstance(part, Items):
        return "\n".join(f"  {line}" for line in _first(part.sentences))
    return part.text if isinstance(part, Grid) else "\n".join(_first(part.lines))


def _html(part: str | Grid | Items | Preformatted | Picture) -> str:
    if isinstance(part, str):
        return f"<p>{escaped(part)}</p>" if part else ""
    if isinstance(part, Items):
        return f"<ul>{''.join(f'<li>{html.escape(line)}</li>' for line in _first(part.sentences))}</ul>"
    if isinstance(part, Preformatted):
        return f"<pre>{html.escape(_text(part))}</pre>"
    return part.html


def _first(lines: Sequence[str]) -> Iterable[str]:
    return [*(printable(line, keep="") for line in lines[:ROWS]), *left_out(len(lines) - ROWS)]


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else _clipped(printable(str(value), keep=""))


def _clipped(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _storable(name: str) -> str:
    """Return a name that Arrow can store; lone surrogates are escaped."""
    return name.encode("utf-8", "backslashreplace").decode()


class Table:
    """A table with columns of equal length that prints as text and HTML and exports Arrow data.

    ``pyarrow.table(t)``, ``polars.from_arrow(t)`` and ``t.to_pandas()`` convert it. The first ``keys`` columns
    identify a row. Control characters in names and cells print as escapes such as ``\\x1b``. A long table shows its
    first 50 rows and the number of the others.

    >>> print(Table({"sky": ["rain", "sun"], "P(sky | yes)": [0.25, 0.75]}))
    sky   P(sky | yes)
    rain          0.25
    sun           0.75
    """

    def __init__(self, columns: Mapping[str, Any], keys: int = 1) -> None:
        self.keys = keys
        self.arrow: pa.Table = pa.table({_storable(name): _column(values) for name, values in columns.items()})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.arrow.__arrow_c_stream__(requested_schema)

    @property
    def column_names(self) -> list[str]:
        """Return the column names, in order."""
        return list(self.arrow.column_names)

    def __getitem__(self, name: str) -> list[Any]:
        """Return one column as a list."""
        return list(self.arrow.column(name).to_pylist())

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def to_pandas(self) -> Any:
        """Return a pandas frame."""
        return self.arrow.to_pandas()

    @property
    def grid(self) -> Grid:
        """Return the visible part: the first rows, and how many more there are."""
        first_rows = self.arrow.slice(0, ROWS)
        columns = {name: first_rows.column(name).to_pylist() for name in self.column_names}
        return Grid(columns, more=len(self) - len(first_rows))

    def __str__(self) -> str:
        return self.grid.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.grid.html


def _column(values: Any) -> Any:
    """Convert a list of mixed types to texts; return anything else unchanged."""
    if isinstance(values, np.ndarray):
        return arrow_array(values)
    if not isinstance(values, list):
        return values
    try:
        return arrow_array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return arrow_array([None if value is None else str(value) for value in values])


class ProbabilityTable(Table, Drawable):
    """A table of P(``variable`` = value | context).

    Beside the printed columns it has ``values``, ``contexts`` as text, and ``shares`` of shape (n_contexts, n_values),
    NaN for an unknown context. ``given`` names the variable of the contexts, "" if there is only one context.

    >>> p = np.array([[0.25, 0.75], [0.5, 0.5]])
    >>> table = ProbabilityTable({"sky": ["rain", "sun"], "P(sky | no)": [0.25, 0.75], "P(sky | yes)": [0.5, 0.5]},
    ...                          variable="sky", values=["rain", "sun"], given="play", contexts=["no", "yes"], shares=p)
    >>> type(table.chart("heat")).__name__
    'LayerChart'
    """

    def __init__(
        self,
        columns: Mapping[str, Any],
        keys: int = 1,
        *,
        variable: str,
        values: Sequence[Any],
        given: str,
        contexts: Sequence[Any],
        shares: Floats,
    ) -> None:
        super().__init__(columns, keys)
        self.variable, self.values = variable, tuple(values)
        self.given, self.contexts = given, tuple(contexts)
        self.shares = np.asarray(shares, dtype=np.float64)

    def chart(self, kind: Literal["bars", "heat"] | None = None) -> Any:
        """Draw grouped bars or a heat map; without a ``kind``, whichever fits."""
        return draw(self, kind=kind)


def table_by_class(
    column: str,
    values: Sequence[Any],
    counts: Array,
    shares: Floats,
    target: str,
    classes: Sequence[Any],
) -> ProbabilityTable:
    """Return P(value | class) of a column with its counts, both (n_classes, n_values)."""
    columns: dict[str, Any] = {column: list(values)}
    columns |= {f"count | {c}": counts[i].tolist() for i, c in enumerate(classes)}
    columns |= {f"P({column} | {c})": shares[i].tolist() for i, c in enumerate(classes)}
    return ProbabilityTable(
        columns, variable=column, values=list(values), given=target, contexts=list(classes), shares=shares
    )

"""Print tables, lines and JSON records; format counts and sizes."""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any

from bayeskit.memory import memory_size
from bayeskit.printable import printable, printable_json
from bayeskit.tables import ROWS, Figure


def plural(count: int | float, word: str) -> str:
    """Format a number with its noun.

    >>> plural(1, "row"), plural(1234, "row"), plural(2, "class")
    ('1 row', '1,234 rows', '2 classes')
    """
    ending = "" if count == 1 else "es" if word.endswith("s") else "s"
    return f"{count:,} {word}{ending}" if isinstance(count, int) else f"{count:,.6g} {word}{ending}"


WIDTH = 80
WIDEST_LINE = 100  # of a sentence: longer ones are hard to read
WIDEST = 28  # of the name of a column, and at which a text is cut where not all fits in a terminal
GAP = 2
UNBOUNDED = 1_000_000  # lines and columns are broken here, not by the console


class Page:
    """Output of a command: standard output, or stderr if the data goes there (``output`` is ``-``).

    All readable output is printed here; control characters in names and values are escaped.
    """

    def __init__(self, as_json: bool = False, stream: IO[str] | None = None, output: str | None = None) -> None:
        from rich.console import Console

        self.as_json = as_json
        self.stream = stream or (sys.stderr if output == "-" else sys.stdout)
        terminal = Console(file=self.stream)
        self.cuts = terminal.is_terminal  # what is too wide; a pipe gets all of it
        self.width = terminal.width if terminal.is_terminal else WIDTH
        self.console = Console(file=self.stream, width=UNBOUNDED, highlight=False, soft_wrap=True)

    def line(self, text: str = "", style: str | None = None) -> None:
        """Print a line of text, wrapped between words."""
        if self.as_json:
            return
        width = min(self.width, WIDEST_LINE)
        for part in textwrap.wrap(printable(text), width, break_on_hyphens=False, subsequent_indent="  ") or [""]:
            self.console.print(part, style=style, markup=False)

    def heading(self, text: str) -> None:
        """Print a bold line and a blank one below it."""
        self.line(text, style="bold")
        self.line()

    def sentences(self, texts: Iterable[str]) -> None:
        """Print texts one below the other, each wrapped between words."""
        for text in texts:
            self.line(text)

    def lines(self, texts: Sequence[str]) -> None:
        """Print lines unchanged, such as those of a tree."""
        if not self.as_json:
            for text in texts:
                self.console.print(printable(text, keep=""), markup=False)

    def command(self, what: str, words: Sequence[str]) -> None:
        """Print a command to copy, on one line, quoted for a shell."""
        if not self.as_json:
            self.console.print(f"{what}\n  {' '.join(map(_quoted, words))}", markup=False)

    def table(self, columns: Mapping[str, Sequence[Any]], title: str | None = None, keys: int = 1) -> None:
        """Print columns by name; those that do not fit follow below, with the first ``keys`` repeated."""
        from rich.table import Table
        from rich.text import Text

        if self.as_json:
            return
        cells = {name: [_cell(value) for value in values] for name, values in columns.items()}
        wide = {name: max(map(len, (*_head(name, WIDEST), *values))) for name, values in cells.items()}
        if self.cuts:
            wide = _narrowed(wide, self.width, keys)
        numeric = {
            name: all(not isinstance(v, str) or isinstance(v, Figure) for v in values)
            for name, values in columns.items()
        }
        for i, names in enumerate(_fitting(wide, self.width, keys)):
            if title and i == 0:
                self.console.print(printable(title, keep=""), style="bold", markup=False)
            elif i:
                self.console.print("")
            table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="dim", show_edge=False)
            for name in names:
                justify: Any = "right" if numeric[name] else "left"
                head = Text("\n".join(_head(name, wide[name])))
                table.add_column(head, justify=justify, vertical="bottom", no_wrap=True)
            for row in zip(*(cells[name] for name in names), strict=True):
                table.add_row(*(Text(_clip(cell, wide[name])) for name, cell in zip(names, row, strict=True)))
            self.console.print(table)

    def sheet(self, sheet: Any) -> None:
        """Print a sheet: its title, sentences, tables and lines."""
        self.line(sheet.title, style="bold")
        for part in sheet.parts:
            if isinstance(part, str):
                self.line(part)
            elif hasattr(part, "columns"):
                self.grid(part)
            elif hasattr(part, "sentences"):
                self.sentences(part.sentences)
            else:
                self.lines(part.lines[:ROWS])
                self.more(len(part.lines) - ROWS, "lines")

    def grid(self, grid: Any, limit: int | None = None, what: str = "") -> None:
        """Print the first rows of a grid and the number of the others; without a limit, up to three more rows."""
        n = len(next(iter(grid.columns.values()), ()))
        shown = (n if n <= ROWS + 3 else ROWS) if limit is None else min(n, limit)
        self.table({name: values[:shown] for name, values in grid.columns.items()})
        self.more(n - shown + grid.more, what)

    def more(self, count: int, what: str = "") -> None:
        """Print how many entries a table leaves out, if any."""
        if count > 0:
            self.line(f"… and {count:,} more{what and ' '}{what}: --json has them all", style="dim")

    def saved(self, output: str, n_bytes: int) -> None:
        """Print where the model was written."""
        self.line(f"model written to {'stdout' if output == '-' else output} ({memory_size(n_bytes)})", style="bold")

    def json(self, record: Any) -> None:
        """Print the whole record if the command has ``--json``."""
        if self.as_json:
            print(printable_json(json.dumps(plain(record), ensure_ascii=False, allow_nan=False)), file=self.stream)


def _fitting(wide: Mapping[str, int], width: int, keys: int) -> list[list[str]]:
    """Split the names of columns into parts that fit the width; each part starts with the keys."""
    first, rest = list(wide)[:keys], list(wide)[keys:]
    free = width - sum(wide[name] for name in first) - GAP * (len(first) - 1)
    parts, room = [first.copy()], free
    for name in rest:
        if room < GAP + wide[name] and len(parts[-1]) > keys:
            parts, room = [*parts, first.copy()], free
        parts[-1].append(name)
        room -= GAP + wide[name]
    return parts


def _narrowed(wide: Mapping[str, int], width: int, keys: int) -> dict[str, int]:
    """Return the column widths at which texts are cut so that all columns fit, but not below a readable width; a key
    and one column always fit side by side.

    >>> _narrowed({"city": 60, "rows": 5, "share": 6}, 80, 1)
    {'city': 60, 'rows': 5, 'share': 6}
    >>> _narrowed({"column": 12, "holds": 200, "missing": 7}, 80, 1)
    {'column': 12, 'holds': 57, 'missing': 7}
    """
    for limit in range(min(max(wide.values(), default=0), width), WIDEST, -1):
        if sum(min(w, limit) for w in wide.values()) + GAP * (len(wide) - 1) <= width:
            return {name: min(w, limit) for name, w in wide.items()}
    most = max(min(WIDEST, (width - GAP * keys) // (keys + 1)), 1)
    return {name: min(w, most) for name, w in wide.items()}


def _head(name: str, width: int) -> list[str]:
    """Split the name of a column into lines; a long word is broken.

    >>> _head("P(bill_length_mm | Chinstrap, flipper_length_mm)", 18)
    ['P(bill_length_mm |', 'Chinstrap,', 'flipper_length_mm)']
    """
    return textwrap.wrap(printable(name), width, break_on_hyphens=False) or [""]


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if type(value) is int else " ".join(printable(str(value)).split())


def _clip(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _quoted(word: str) -> str:
    r"""Quote a word for a shell; control characters byte by byte.

    >>> print(_quoted("two words"), _quoted("a\x1b'b"))
    'two words' $'a\x1b\x27b'
    """
    if printable(word, keep="") == word:
        return shlex.quote(word)
    plain = (chr(b) if 32 <= b < 127 and b not in b"\\'" else f"\\x{b:02x}" for b in os.fsencode(word))
    return f"$'{''.join(plain)}'"


def columns_of(table: Any) -> dict[str, list[Any]]:
    """Return the columns of a table by name."""
    return {name: table[name] for name in table.column_names}


def records_of(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a table as mappings."""
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns_of(table).values(), strict=True)]


def table_record(table: Any) -> list[dict[str, Any]]:
    """Return a table as plain data whose keys do not depend on its names.

    >>> from bayeskit.tables import Table
    >>> table_record(Table({"P(sky | yes)": [0.2, 0.8]}))
    [{'name': 'P(sky | yes)', 'values': [0.2, 0.8]}]
    """
    return [{"name": name, "values": values} for name, values in columns_of(table).items()]


def setting_value(value: Any) -> Any:
    """Return a setting of a model as plain data; a model as its name and settings, other objects as text.

    >>> setting_value({"year": "ignore"}), setting_value(("width", 5)), setting_value(str)
    ([{'name': 'year', 'value': 'ignore'}], ['width', 5], 'str')
    """
    if isinstance(value, Mapping):
        return [{"name": setting_value(name), "value": setting_value(item)} for name, item in value.items()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [setting_value(item) for item in value]
    if isinstance(value, type):
        return value.__name__
    if hasattr(value, "get_params"):
        settings = {name: setting_value(item) for name, item in value.get_params(deep=False).items()}
        return {"model": type(value).__name__, "settings": settings}
    if value is None or isinstance(value, (bool, int, float, str)) or hasattr(value, "tolist"):
        return value
    return str(value)


def short(number: float) -> Figure:
    """Round a number to four digits."""
    return Figure(f"{number:.4g}")


def plain(record: Any) -> Any:
    """Convert a record to JSON types: NumPy scalars to plain ones, non-finite numbers to null."""
    if isinstance(record, Mapping):
        return {str(key): plain(value) for key, value in record.items()}
    if isinstance(record, (list, tuple)):
        return [plain(value) for value in record]
    if hasattr(record, "tolist"):
        return plain(record.tolist())
    if isinstance(record, float) and not math.isfinite(record):
        return None if math.isnan(record) else "inf" if record > 0 else "-inf"
    return record

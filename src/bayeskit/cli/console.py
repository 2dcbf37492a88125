"""What a command prints: tables that fit in 80 columns, in colour where there is a terminal, or one JSON object."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import IO, Any

WIDTH = 80
WIDEST = 28  # of a text in a table
GAP = 2


class Figure(str):
    """A number that is written already: it stands at the right of its column."""


class Page:
    """Where a command prints its tables: standard output, or stderr where standard output holds something else."""

    def __init__(self, as_json: bool = False, stream: IO[str] | None = None) -> None:
        from rich.console import Console

        self.as_json = as_json
        self.stream = stream or sys.stdout
        terminal = Console(file=self.stream)
        self.width = min(terminal.width, 100) if terminal.is_terminal else WIDTH
        self.console = Console(file=self.stream, width=self.width, highlight=False, soft_wrap=True)

    def line(self, text: str = "", style: str | None = None) -> None:
        """A line of text, broken between words where it is too long."""
        import textwrap

        if self.as_json:
            return
        lines = textwrap.wrap(text, self.width, break_on_hyphens=False, subsequent_indent="  ") or [""]
        for part in lines:
            self.console.print(part, style=style, markup=False)

    def command(self, what: str, words: Sequence[str]) -> None:
        """A command to be copied, whole in a line of its own, quoted as a shell needs it."""
        import shlex

        if not self.as_json:
            self.console.print(f"{what}\n  {shlex.join(words)}", markup=False)

    def table(self, columns: Mapping[str, Sequence[Any]], title: str | None = None) -> None:
        """Columns by name; those that do not fit beside each other follow below, the first one repeated."""
        from rich.table import Table
        from rich.text import Text

        if self.as_json:
            return
        cells = {name: [_cell(value) for value in values] for name, values in columns.items()}
        numeric = {
            name: all(not isinstance(v, str) or isinstance(v, Figure) for v in values)
            for name, values in columns.items()
        }
        for i, names in enumerate(_fitting(cells, self.width)):
            if title and i == 0:
                self.console.print(title, style="bold", markup=False)
            elif i:
                self.console.print("")
            shown = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="dim", show_edge=False)
            for name in names:
                justify: Any = "right" if numeric[name] else "left"
                shown.add_column(Text(_clip(name)), justify=justify, no_wrap=True)
            for row in zip(*(cells[name] for name in names), strict=True):
                shown.add_row(*(Text(cell) for cell in row))
            self.console.print(shown)

    def json(self, record: Any) -> None:
        """The whole record, where the command was asked for JSON."""
        if self.as_json:
            print(json.dumps(plain(record), ensure_ascii=False, allow_nan=False), file=self.stream)


def _fitting(cells: Mapping[str, Sequence[str]], width: int) -> list[list[str]]:
    """The names of columns that fit beside each other, part by part; each part starts with the first column."""
    wide = {name: max(map(len, (_clip(name), *values))) for name, values in cells.items()}
    first, *rest = wide
    parts, room = [[first]], width - wide[first]
    for name in rest:
        if room < GAP + wide[name] and len(parts[-1]) > 1:
            parts.append([first])
            room = width - wide[first]
        parts[-1].append(name)
        room -= GAP + wide[name]
    return parts


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if type(value) is int else _clip(str(value))


def _clip(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def percent(share: float) -> Figure:
    """A share as a person reads it.

    >>> percent(0.9796)
    '98.0%'
    """
    return Figure("–" if math.isnan(share) else f"{share:.1%}")


def short(number: float) -> Figure:
    """A number to four digits."""
    return Figure(f"{number:.4g}")


def plain(record: Any) -> Any:
    """A record as JSON has it: NumPy's scalars are plain, what is no finite number is null."""
    if isinstance(record, Mapping):
        return {str(key): plain(value) for key, value in record.items()}
    if isinstance(record, (list, tuple)):
        return [plain(value) for value in record]
    if hasattr(record, "tolist"):
        return plain(record.tolist())
    if isinstance(record, float) and not math.isfinite(record):
        return None if math.isnan(record) else "inf" if record > 0 else "-inf"
    return record

"""Notes on standard error: what a person should know of rows that were answered all the same."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from bayeskit.cli.wording import plural
from bayeskit.printable import printable

if TYPE_CHECKING:
    from bayeskit.data.files.unreadable import Unreadable


def note(text: str) -> None:
    """A line on standard error."""
    sys.stdout.flush()  # it follows what it is about, where both go to one place
    print(printable(f"bayes: note: {text}"), file=sys.stderr)


def unreadable_cells(cells: Unreadable) -> str:
    """How many cells could not be read, and in which columns.

    >>> from bayeskit.data.files.unreadable import Unreadable
    >>> unreadable_cells(Unreadable({"age": 1, "height": 2}, {"age": "old", "height": "tall"}))
    "3 cells could not be read and count as missing: 1 of age, such as 'old'; 2 of height, such as 'tall'"
    """
    columns = "; ".join(f"{count:,} of {name}, such as {cells.first[name]!r}" for name, count in cells.counts.items())
    what = plural(cells.total, "cell")
    return f"{what} could not be read and {'counts' if cells.total == 1 else 'count'} as missing: {columns}"

"""Print notes on standard error about rows with problems."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bayeskit.cli.console import plural
from bayeskit.printable import printable

if TYPE_CHECKING:
    from bayeskit.data.io.streams import Unreadable
    from bayeskit.evaluate.drift import Shift

SHOWN = 5  # columns named in a note


def note(text: str) -> None:
    """Print a line on standard error."""
    sys.stdout.flush()  # keeps the order if both go to the same terminal
    print(printable(f"bayes: note: {text}"), file=sys.stderr)


def unreadable_cells(cells: Unreadable) -> str:
    """Count the unreadable cells and name their columns.

    >>> from bayeskit.data.io.streams import Unreadable
    >>> unreadable_cells(Unreadable({"age": 1, "height": 2}, {"age": "old", "height": "tall"}))
    "3 cells could not be read and count as missing: 1 of age, such as 'old'; 2 of height, such as 'tall'"
    """
    columns = "; ".join(f"{count:,} of {name}, such as {cells.first[name]!r}" for name, count in cells.counts.items())
    what = plural(cells.total, "cell")
    return f"{what} could not be read and {'counts' if cells.total == 1 else 'count'} as missing: {columns}"


def drift_from_training(shifts: Sequence[Shift]) -> str:
    """Name the columns that differ from training.

    >>> from bayeskit.evaluate.drift import Shift
    >>> drift_from_training([Shift("age", "missing", 40, 100, 0.25)])
    'these rows are unlike those of the training: age is missing in 40% of the rows (25% there)'
    >>> drift_from_training([Shift("sex", "unseen", 30, 100, 0.001)])[45:]
    'sex has a value never seen there in 30% of the cells (0% expected)'
    """
    columns = [_shift(shift) for shift in shifts[:SHOWN]]
    if len(shifts) > SHOWN:
        columns.append(f"and {len(shifts) - SHOWN:,} more")
    return f"these rows are unlike those of the training: {'; '.join(columns)}"


def _shift(shift: Shift) -> str:
    if shift.what == "missing":
        return f"{shift.column} is missing in {shift.share:.0%} of the rows ({shift.expected:.0%} there)"
    return (
        f"{shift.column} has a value never seen there in {shift.share:.0%} of the cells ({shift.expected:.0%} expected)"
    )

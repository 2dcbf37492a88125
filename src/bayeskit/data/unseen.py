"""Values at prediction that were never seen in training: count them, and warn once for each call."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from bayeskit.arrow_arrays import Column, is_arrow
from bayeskit.data.vocabulary import Value, canonical
from bayeskit.errors import UnseenWarning
from bayeskit.nearest import did_you_mean
from bayeskit.typing import Codes

LISTED = 3  # columns with an example each
MOST_KNOWN = 10_000  # values among which similar ones are looked for


class UnseenValues:
    """The number of cells of each column whose value is unknown, with the first such value.

    >>> unseen, column = UnseenValues(), np.array(["Sunny", "rain"], dtype=object)
    >>> unseen.add("sky", np.array([3, 1]), 3, column, ["rain", "sunny"])
    >>> print(unseen.message)
    1 cell holds a value never seen in training, which is left out: 'Sunny' in column 'sky' (did you mean sunny?)
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.examples: dict[str, tuple[Value | None, Sequence[Value]]] = {}

    def add(self, name: str, codes: Codes, unseen: int, column: Column, known: Sequence[Value]) -> None:
        """Count the cells of a block that have the code of unknown values."""
        if not len(codes) or codes.max() < unseen:
            return
        rows = codes == unseen
        self.counts[name] = self.counts.get(name, 0) + int(np.count_nonzero(rows))
        if name not in self.examples:
            cell = column[int(np.argmax(rows))]
            self.examples[name] = (canonical(cell.as_py() if is_arrow(column) else cell), known)

    @property
    def message(self) -> str:
        """The number of cells, and an example of each column with similar known values."""
        n = sum(self.counts.values())
        examples = []
        for name, (value, known) in list(self.examples.items())[:LISTED]:
            near = did_you_mean(value, known) if len(known) <= MOST_KNOWN and _is_name(value) else ""
            examples.append(f"{value!r} in column {name!r}" + (f" ({near.removeprefix('; ')})" if near else ""))
        if len(self.examples) > LISTED:
            examples.append(f"… ({len(self.examples)} columns in all)")
        hold = "cell holds a value" if n == 1 else "cells hold values"
        which = "which is" if n == 1 else "which are"
        return f"{n:,} {hold} never seen in training, {which} left out: {', '.join(examples)}"

    def warn(self) -> None:
        """Warn if there were any."""
        if self.counts:
            warning = UnseenWarning(f"{self.message};", hint='to refuse such rows, pass unseen="error"')
            warnings.warn(warning, stacklevel=5)


def _is_name(value: Value | None) -> bool:
    """Tell a name, which may be misspelled, from an identifier or a sentence."""
    text = str(value)
    return len(text) <= 30 and not any(map(str.isdigit, text))


@contextmanager
def without_unseen_warnings() -> Iterator[None]:
    """Do not warn: rows that are held out have values of their own as a matter of course."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenWarning)
        yield

"""Find and count rows without a label; reject them or leave them out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np

from bayeskit.arrow_arrays import Column, is_arrow
from bayeskit.data.cells import factor_values
from bayeskit.data.source import Batch, Narrowing, ReadThrough, Responsibilities, engine_of, first_rows
from bayeskit.errors import BayesWarning, Unlabeled
from bayeskit.typing import Bools

PLACES = 5  # places that a message names
HINT = 'label or drop such rows, or pass unlabeled="drop" to leave them out'


def without_label(labels: Column | Responsibilities | None) -> Bools | None:
    """Return a mask of unlabeled rows, by the rule that reads labels; None if every row has a label.

    >>> without_label(np.array([1.0, np.nan])).tolist(), without_label(np.array([1, 2]))
    ([False, True], None)
    """
    if labels is None or isinstance(labels, Responsibilities):
        return None
    if is_arrow(labels) or labels.dtype.kind not in "biuf":
        factor = factor_values(labels, "class", 0)
        gaps = [factor.low + i for i, value in enumerate(factor.values) if value is None]
        missing = np.isin(np.asarray(factor.indices, dtype=np.int64), gaps)
    else:
        missing = np.isnan(labels) if labels.dtype.kind == "f" else np.zeros(1, dtype=bool)
    return missing if missing.any() else None


@dataclass
class Gaps:
    """The number of unlabeled rows of a pass, and the places of the first ones: (file or None, row)."""

    n_rows: int = 0
    n_missing: int = 0
    places: list[tuple[str | None, int]] = field(default_factory=list)
    is_warned_of: bool = False

    def add(self, n_rows: int, missing: Bools | None, start: int, file: str | None = None) -> None:
        """Add the rows of a batch."""
        self.n_rows += n_rows
        if missing is not None:
            rows = np.flatnonzero(missing)
            self.n_missing += len(rows)
            self.places += [(file, start + row) for row in rows[: PLACES - len(self.places)].tolist()]

    def sentence(self, source: Any = None) -> str:
        """Format the count and places of unlabeled rows; files with lines report line numbers.

        >>> gaps = Gaps()
        >>> gaps.add(4, np.array([False, True, False, True]), 0)
        >>> gaps.sentence()
        '2 of 4 rows have no label (rows 1, 3)'
        """
        word, numbers = "row", [(file, row) for file, row in self.places]
        if (lines_of := getattr(source, "lines_of", None)) is not None:
            by_file = [(file, [row for _, row in rows]) for file, rows in groupby(self.places, lambda place: place[0])]
            lines = [(file, lines_of(file, rows)) for file, rows in by_file]
            if all(numbers_of is not None for _, numbers_of in lines):
                word, numbers = "line", [(file, line) for file, numbers_of in lines for line in numbers_of]
        several = len({file for file, _ in numbers}) > 1
        named = [f"{file} {number:,}" if several else f"{number:,}" for file, number in numbers]
        where = f"{word}{'s' * (self.n_missing > 1)} {', '.join(named)}"
        if self.n_missing == 1:
            return f"{where} has no label"
        more = ", …" if self.n_missing > len(named) else ""
        return f"{self.n_missing:,} of {self.n_rows:,} rows have no label ({where}{more})"


def refusal(missing: Bools, start: int) -> Unlabeled:
    """Build the error for the unlabeled rows of one label column."""
    gaps = Gaps()
    gaps.add(len(missing), missing, start)
    error = Unlabeled(gaps.sentence(), hint=HINT)
    error.is_partial = True
    return error


def refusal_of_all(source: Any, problem: Unlabeled) -> Unlabeled:
    """Re-scan the source and build an error that counts every unlabeled row."""
    if not problem.is_partial or engine_of(source) is not None:
        return problem
    rows = source.reading({source.target: None}) if isinstance(source, Narrowing) and source.target else source
    gaps = Gaps()
    for batch in rows.batches():
        gaps.add(batch.n_rows, without_label(batch.labels), batch.start, getattr(source, "here", None))
    if not gaps.n_missing:  # such as where only one reading was to be had
        return problem
    name = getattr(source, "name", None)
    column = f" in column {source.target!r}" if source.target else ""
    of_all = Unlabeled(f"{gaps.sentence(source)}{column}", hint=HINT)
    return of_all if name is None else of_all.within(name)


@dataclass(frozen=True)
class LabeledRows(ReadThrough):
    """The labeled rows of a source, numbered consecutively; the first pass warns how many are left out.

    >>> from bayeskit.data.frames import open_source
    >>> source = LabeledRows(open_source({"x": [1.0, 2.0, 3.0]}, ["a", None, "b"]))
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     [batch.columns["x"].tolist() for batch in source.batches()], str(told[0].message)
    ([[1.0, 3.0]], 'row 1 has no label: left out')
    """

    gaps: Gaps = field(default_factory=Gaps)
    is_part: bool = False  # such may have no labeled rows, and whoever has all parts says how many are left out

    @property
    def here(self) -> str | None:
        """Return the location for error messages: rows are numbered among labeled rows."""
        inner = getattr(self.source, "here", None)
        return inner if not self.gaps.n_missing else "rows with a label" if inner is None else f"{inner}, labeled rows"

    @property
    def engine(self) -> Any:
        """Return the engine whose workers read the rows, None if they are read here."""
        return engine_of(self.source)

    def look(self) -> Batch | None:
        """Return some of the first rows."""
        return first_rows(self.source) if self.engine is not None else next(iter(self.batches()), None)

    def batches(self) -> Iterator[Batch]:
        """Yield all labeled rows."""
        gaps, n_kept, start = Gaps(), 0, 0
        for batch in self.source.batches():
            missing = without_label(batch.labels)
            gaps.add(batch.n_rows, missing, batch.start, getattr(self.source, "here", None))
            self.gaps.n_missing = max(self.gaps.n_missing, gaps.n_missing)
            start = start if batch.start else 0  # files number their rows from 0 on
            labeled = replace(batch if missing is None else batch.take(np.flatnonzero(~missing)), start=start)
            start += labeled.n_rows
            n_kept += labeled.n_rows
            if labeled.n_rows:
                yield labeled
        if self.is_part:
            return
        if gaps.n_rows and not n_kept:
            raise self.none_labeled(gaps.n_rows)
        if gaps.n_missing and not self.gaps.is_warned_of:
            self.gaps.is_warned_of = True
            place = "" if self.name is None else f"{self.name}: "
            warnings.warn(BayesWarning(f"{place}{gaps.sentence(self.source)}: left out"), stacklevel=2)

    def none_labeled(self, n_rows: int) -> Unlabeled:
        """Build the error for rows that all lack a label."""
        none = Unlabeled(f"none of the {n_rows:,} rows has a label")
        return none if self.name is None else none.within(self.name)


def tell_dropped(missing: Bools) -> None:
    """Warn how many rows are left out."""
    gaps = Gaps()
    gaps.add(len(missing), missing, 0)
    warnings.warn(BayesWarning(f"{gaps.sentence()}: left out"), stacklevel=4)

"""What workers send back: the tally of each part with its number and its rows, so that none is counted twice or lost.

Tallies travel as data, never as running sums: a task that was tried twice gives the same record again, and a part
whose record comes twice, or not at all, is refused and not merged around.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bayeskit.data.missing_labels import LabelledRows
from bayeskit.data.schema import Schema
from bayeskit.data.source import Batch, Source, for_schema, naming_the_file
from bayeskit.engines import local
from bayeskit.engines.merging import merged
from bayeskit.errors import BayesWarning, LostParts
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally

SHOWN = 5  # parts that a message names


@dataclass(frozen=True)
class Counted:
    """The tally of one part, or of several: (number, rows) of each, rows without a label."""

    parts: tuple[tuple[int, int], ...]
    tally: bytes
    unlabelled: int = 0

    @classmethod
    def together(cls, records: Sequence[Counted]) -> Counted:
        """The records of several parts as one, in the order of their numbers: a node of the tree."""
        if len(records) == 1:
            return records[0]
        ordered = sorted(records, key=lambda record: record.parts)
        tally = merged([Tally.from_bytes(record.tally) for record in ordered])
        return cls(
            tuple(part for record in ordered for part in record.parts),
            tally.to_bytes(),
            sum(record.unlabelled for record in ordered),
        )


@dataclass(frozen=True)
class Task:
    """What every worker is told: how rows are read and what is counted of them."""

    schema: Schema
    plan: Plan
    n_threads: int = 1
    memory_limit: float | None = None
    max_categories: int | None = None
    drops_unlabelled: bool = False

    def count(self, number: int, part: Source) -> Counted:
        """The record of one part, which may have no rows."""
        rows = RowsRead(for_schema(part, self.schema, {}, ()))
        source: Any = LabelledRows(rows, is_part=True) if self.drops_unlabelled else rows
        with naming_the_file(source):
            tally = local.collect_part(
                source,
                self.schema,
                self.plan,
                n_threads=self.n_threads,
                memory_limit=self.memory_limit,
                max_categories=self.max_categories,
            )
        unlabelled = source.gaps.n_missing if self.drops_unlabelled else 0
        return Counted(((number, rows.n_rows),), tally.to_bytes(), unlabelled)


class RowsRead:
    """A source that says how many rows were read of it."""

    def __init__(self, source: Source) -> None:
        self.source, self.n_rows = source, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    def batches(self) -> Iterator[Batch]:
        """Its rows."""
        self.n_rows = 0
        for batch in self.source.batches():
            self.n_rows += batch.n_rows
            yield batch


@dataclass(frozen=True)
class Ledger:
    """The parts that were handed out: their names and rows as far as these are known, and the rows of all of them.

    ``passes`` are the rows that earlier readings of the same data have found.
    """

    names: Sequence[str] | None
    rows: Sequence[int | None] | None = None
    total: int | None = None
    passes: list[int] | None = None

    @classmethod
    def of(cls, parts: Sequence[Any], passes: list[int]) -> Ledger:
        """Of files and tables: what is known of each part before it is read."""
        return cls(list(map(part_name, parts)), [getattr(part, "n_rows", None) for part in parts], None, passes)

    def close(self, records: Sequence[Counted], task: Task, source: Any) -> Tally:
        """The tally of all parts, in the order of their numbers; refused where a part came twice or is lost."""
        parts = [part for record in records for part in record.parts]
        self._check_numbers([number for number, _ in parts])
        self._check_rows(dict(parts))
        nothing = Counted((), Tally.empty(task.schema, task.plan).to_bytes())
        whole = Counted.together(records) if records else nothing
        tally = Tally.from_bytes(whole.tally)
        if task.max_categories is not None:
            local.check_categories(tally.space, task.max_categories)
        _tell(whole, sum(rows for _, rows in parts), source)
        return local.settled(tally)

    def _check_numbers(self, numbers: Sequence[int]) -> None:
        seen = Counter(numbers)
        if twice := sorted(number for number, times in seen.items() if times > 1):
            raise LostParts(f"{self._named(twice)} came back more than once: nothing was counted", culprit=twice)
        n = len(self.names) if self.names is not None else max(seen, default=-1) + 1
        if lost := [number for number in range(n) if number not in seen]:
            raise LostParts(
                f"{self._named(lost)} of {n:,} did not come back from the workers: nothing was counted. Run it again.",
                culprit=lost,
            )
        if strange := [number for number in seen if number >= n]:
            raise LostParts(f"{self._named(strange)} came back and was never handed out", culprit=strange)

    def _check_rows(self, rows: dict[int, int]) -> None:
        for number, expected in enumerate(self.rows or ()):
            if expected is not None and rows[number] != expected:
                raise LostParts(
                    f"{self._named([number])} has {expected:,} rows, and a worker has read {rows[number]:,}: it was "
                    "changed meanwhile, or was not read to its end. Nothing was counted; run it again.",
                    culprit=number,
                )
        read = sum(rows.values())
        if self.total is not None and read != self.total:
            raise LostParts(f"the workers counted {read:,} rows of {self.total:,}: nothing was counted. Run it again.")
        if self.passes is not None:
            if self.passes and self.passes[-1] != read:
                raise LostParts(
                    f"the data changed between two readings: {self.passes[-1]:,} rows, then {read:,}. Learn from a "
                    "snapshot of it.",
                )
            self.passes.append(read)

    def _named(self, numbers: Sequence[int]) -> str:
        names = [str(n) if self.names is None or n >= len(self.names) else f"{n} ({self.names[n]})" for n in numbers]
        more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
        return f"part{'s' * (len(names) > 1)} {', '.join(names[:SHOWN])}{more}"


def part_name(part: Any) -> str:
    """A part as a person would call it."""
    if not (files := getattr(part, "files", ())):
        return f"rows from {getattr(part, 'first_row', 0):,} on"
    name, groups = str(getattr(files[0], "place", files[0]).name), getattr(files[0], "row_groups", None)
    if groups:
        last = f" to {groups[-1]}" if len(groups) > 1 else ""
        name = f"{name}, row group{'s' * bool(last)} {groups[0]}{last}"
    return name + (f" and {len(files) - 1} more" if len(files) > 1 else "")


def _tell(whole: Counted, n_rows: int, source: Any) -> None:
    """Warn of rows that were left out."""
    if whole.unlabelled:
        if whole.unlabelled == n_rows:
            raise source.none_labelled(n_rows)
        have = "row has" if whole.unlabelled == 1 else "rows have"
        warnings.warn(BayesWarning(f"{whole.unlabelled:,} of {n_rows:,} {have} no label: left out"), stacklevel=4)

"""Records of counted parts, and merging them into one tally.

Tallies are sent as data, never as running sums: a task that was tried twice gives the same record again. A part whose
record comes twice, or not at all, raises an error."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import Any

from bayeskit import __version__
from bayeskit.data.frames import is_cluster_frame
from bayeskit.data.missing_labels import LabeledRows
from bayeskit.data.schema import Schema
from bayeskit.data.source import Batch, Source, for_schema, naming_the_file
from bayeskit.engines import local
from bayeskit.engines.engine import as_remote_source
from bayeskit.errors import BayesError, BayesWarning, LostParts
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally

FAN_IN = 256  # tallies that a node of the tree adds
NODE_BYTES = 1 << 28  # of the tallies of a node
SMALL = {"families", "moments", "counts", "sample"}  # statistics of single columns, which have no large tally


def groups(n: int, fan_in: int = FAN_IN) -> list[range]:
    """Split ``n`` items into runs of similar length, for the nodes of one level of a merge tree.

    >>> groups(10, 4)
    [range(0, 3), range(3, 6), range(6, 10)]
    """
    count = -(-n // fan_in)
    borders = [n * i // count for i in range(count + 1)] if count else [0]
    return [range(start, stop) for start, stop in pairwise(borders)]


SHOWN = 5  # parts that a message names


@dataclass(frozen=True)
class Counted:
    """The tally of one or more parts: (number, rows) of each, and unlabeled rows."""

    parts: tuple[tuple[int, int], ...]
    tally: bytes
    unlabeled: int = 0

    @classmethod
    def merge(cls, records: Sequence[Counted]) -> Counted:
        """Merge the records of several parts, in order of their numbers."""
        if len(records) == 1:
            return records[0]
        ordered = sorted(records, key=lambda record: record.parts)
        tally = Tally.total([Tally.from_bytes(record.tally) for record in ordered])
        return cls(
            tuple(part for record in ordered for part in record.parts),
            tally.to_bytes(),
            sum(record.unlabeled for record in ordered),
        )


class MergeTree:
    """Add the tallies of parts as they arrive, and hold few of them.

    Neighbors are added in pairs, then pairs of pairs: the result does not depend on the order of arrival.
    """

    def __init__(self) -> None:
        self._waiting: dict[tuple[int, int], tuple[tuple[tuple[int, int], ...], int, Tally]] = {}

    def add(self, record: Counted) -> None:
        """Add the record of one part."""
        level, place = 0, record.parts[0][0]
        part = record.parts, record.unlabeled, Tally.from_bytes(record.tally)
        while (other := self._waiting.pop((level, place ^ 1), None)) is not None:
            first, second = sorted((part, other), key=itemgetter(0))
            part = first[0] + second[0], first[1] + second[1], Tally.total([first[2], second[2]])
            level, place = level + 1, place // 2
        self._waiting[level, place] = part

    def records(self) -> list[Counted]:
        """Return the records that are left, one at most for each power of two."""
        left = [self._waiting.pop(key) for key in sorted(self._waiting)]
        return [Counted(parts, tally.to_bytes(), unlabeled) for parts, unlabeled, tally in left]


@dataclass(frozen=True)
class Task:
    """The instructions for every worker: how to read rows and what to count."""

    schema: Schema
    plan: Plan
    memory_limit: float | None = None
    max_categories: int | None = None
    drops_unlabeled: bool = False
    version: str = __version__

    def count(self, number: int, part: Source) -> Counted:
        """Count one part, which may be empty."""
        if self.version != __version__:
            raise BayesError(
                f"a worker has bayeskit {__version__}, and this program {self.version}",
                hint="install the same version in the Python of every worker",
            )
        rows = RowsRead(for_schema(part, self.schema, {}, ()))
        source: Any = LabeledRows(rows, is_part=True) if self.drops_unlabeled else rows
        with naming_the_file(source):
            tally = local.collect_part(
                source,
                self.schema,
                self.plan,
                memory_limit=self.memory_limit,
                max_categories=self.max_categories,
            )
        unlabeled = source.gaps.n_missing if self.drops_unlabeled else 0
        return Counted(((number, rows.n_rows),), tally.to_bytes(), unlabeled)


class RowsRead:
    """A source that records how many rows were read."""

    def __init__(self, source: Source) -> None:
        self.source, self.n_rows = source, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    def batches(self) -> Iterator[Batch]:
        """Yield its rows."""
        self.n_rows = 0
        for batch in self.source.batches():
            self.n_rows += batch.n_rows
            yield batch


def fan_in(task: Task, first_rows: Callable[[], Source], most: int) -> int:
    """Return how many tallies a node of the tree adds, by the size of that of the first rows."""
    if {request.kind for request in task.plan} <= SMALL:
        return most
    try:
        size = len(task.count(0, first_rows()).tally)
    except BayesError:  # which the worker that reads the rows names with its place
        return most
    return min(max(NODE_BYTES // size, 2), most)


class RemoteEngine(ABC):
    """An engine whose workers count the parts of a frame or of files."""

    max_categories: int | None

    def owns(self, data: Any) -> Source | None:
        """Return a source for files, tables in memory and frames of this cluster; None for anything else."""
        return None if is_cluster_frame(data) else as_remote_source(data, self)

    def collect(
        self, source: Any, schema: Schema, plan: Plan, *, n_threads: int = 1, memory_limit: float | None = None
    ) -> Tally:
        """Count on the workers, one thread per task; the tally equals that of a local fit."""
        drops = isinstance(source, LabeledRows)
        task = Task(schema, plan, memory_limit, self.max_categories, drops)
        ledger, records = self.count(task, source.source if drops else source)
        return ledger.close(records, task, source)

    @abstractmethod
    def count(self, task: Task, rows: Any) -> tuple[Ledger, list[Counted]]:
        """Count all parts of a source that this engine owns."""


@dataclass(frozen=True)
class Ledger:
    """The parts that were distributed: their names and rows if known, and the total number of rows.

    ``passes`` holds the numbers of rows of earlier passes over the same data.
    """

    names: Sequence[str] | None
    rows: Sequence[int | None] | None = None
    total: int | None = None
    passes: list[int] | None = None

    @classmethod
    def of(cls, parts: Sequence[Any], passes: list[int]) -> Ledger:
        """Record the known properties of each part before it is read."""
        return cls(list(map(part_name, parts)), [getattr(part, "n_rows", None) for part in parts], None, passes)

    def close(self, records: Sequence[Counted], task: Task, source: Any) -> Tally:
        """Merge the tallies of all parts in order; raise an error if a part is duplicated or lost."""
        parts = [part for record in records for part in record.parts]
        self._check_numbers([number for number, _ in parts])
        self._check_rows(dict(parts))
        nothing = Counted((), Tally.empty(task.schema, task.plan).to_bytes())
        whole = Counted.merge(records) if records else nothing
        tally = Tally.from_bytes(whole.tally)
        if task.max_categories is not None:
            local.check_categories(tally.space, task.max_categories)
        tell_unlabeled(whole.unlabeled, sum(rows for _, rows in parts), source)
        return local.check_totals(tally)

    def _check_numbers(self, numbers: Sequence[int]) -> None:
        seen = Counter(numbers)
        if twice := sorted(number for number, times in seen.items() if times > 1):
            raise LostParts(f"{self._named(twice)} came back more than once: nothing was counted")
        n = len(self.names) if self.names is not None else max(seen, default=-1) + 1
        if lost := [number for number in range(n) if number not in seen]:
            raise LostParts(
                f"{self._named(lost)} of {n:,} did not come back from the workers: nothing was counted. Run it again.",
            )
        if strange := [number for number in seen if number >= n]:
            raise LostParts(f"{self._named(strange)} came back and was never handed out")

    def _check_rows(self, rows: dict[int, int]) -> None:
        for number, expected in enumerate(self.rows or ()):
            if expected is not None and rows[number] != expected:
                raise LostParts(
                    f"{self._named([number])} has {expected:,} rows, and a worker has read {rows[number]:,}: it was "
                    "changed meanwhile, or was not read to its end. Nothing was counted; run it again.",
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
    """Return the display name of a part."""
    if not (files := getattr(part, "files", ())):
        return getattr(part, "name", None) or f"rows from {getattr(part, 'first_row', 0):,} on"
    name, groups = str(getattr(files[0], "place", files[0]).name), getattr(files[0], "row_groups", None)
    if groups:
        last = f" to {groups[-1]}" if len(groups) > 1 else ""
        name = f"{name}, row group{'s' * bool(last)} {groups[0]}{last}"
    return name + (f" and {len(files) - 1} more" if len(files) > 1 else "")


def tell_unlabeled(unlabeled: int, n_rows: int, source: Any) -> None:
    """Warn about rows that were left out."""
    if unlabeled:
        if unlabeled == n_rows:
            raise source.none_labeled(n_rows)
        have = "row has" if unlabeled == 1 else "rows have"
        warnings.warn(BayesWarning(f"{unlabeled:,} of {n_rows:,} {have} no label: left out"), stacklevel=4)

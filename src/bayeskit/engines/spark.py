"""Count the partitions of a Spark frame, or files given as paths, on Spark executors."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property, partial
from io import StringIO
from typing import Any

from bayeskit.data.frames import arrow_kind, is_cluster_frame
from bayeskit.data.schema import Kind
from bayeskit.data.source import Source
from bayeskit.engines.engine import (
    LOOK,
    MAX_CATEGORIES,
    ArrivingBatches,
    ClusterFrame,
    FirstRows,
    RemoteSource,
    Work,
    check_names,
)
from bayeskit.engines.records import FAN_IN, Counted, Ledger, RemoteEngine, Task, fan_in
from bayeskit.errors import BayesError, LostParts, import_extra
from bayeskit.lazy import pa

MapBatches = Callable[[Iterator[Any]], Iterator[Any]]  # from record batches to record batches
BYTES = 1 << 27  # of files, for one task
RECORD = "parts array<bigint>, rows array<bigint>, tally binary, unlabeled bigint, error binary"


@dataclass(frozen=True)
class Spark(RemoteEngine):
    """Count on the executors of a Spark session.

    Frames are counted by partition. Files are passed as paths, which every executor must be able to read. Every
    executor needs bayeskit installed.

    Parameters
    ----------
    session : SparkSession, optional
        The current session by default.
    parts : int, optional
        Number of tasks for files; by default it depends on their size.
    max_categories : int or None
        Raise an error for a column with more values.
    """

    session: Any = None
    parts: int | None = None
    max_categories: int | None = MAX_CATEGORIES

    def __post_init__(self) -> None:
        if self.session is None:
            object.__setattr__(self, "session", _current_session())
        elif not hasattr(self.session, "createDataFrame"):
            raise BayesError(f"Spark({self.session!r}): give a SparkSession, or nothing for the current one")

    def owns(self, data: Any) -> Source | None:
        """Return a source for Spark frames, files and tables in memory, None for anything else."""
        if isinstance(data, SparkFrame):
            return data
        is_own = is_cluster_frame(data) and type(data).__module__.startswith("pyspark.")
        return SparkFrame.of(data, self) if is_own else super().owns(data)

    def count(self, task: Task, rows: Any) -> tuple[Ledger, list[Counted]]:
        """Count all partitions of a frame, or all parts of files."""
        if isinstance(rows, SparkFrame):
            frame, total = rows.watched()
            records = frame.mapInArrow(counting_rows(task, rows.columns_read, rows.target, rows.weight), RECORD)
            most, of_a_node = rows.most_parts, fan_in(task, rows.first_rows, FAN_IN)
            counted = self._run(records, most, of_a_node)
            # Within a tree a stage that is tried again may report its rows twice; then the numbers of parts tell alone.
            read = None if most > of_a_node else int(total.get["rows"])
            return Ledger(None, None, read, rows.passes), counted
        parts = rows.parts(self._n_parts(rows), task.schema)
        numbers = self.session.range(0, len(parts), 1, max(len(parts), 1))
        of_a_node = fan_in(task, partial(FirstRows, parts[0]), FAN_IN)
        counted = self._run(numbers.mapInArrow(counting_parts(task, parts), RECORD), len(parts), of_a_node)
        return Ledger.of(parts, rows.passes), counted

    def _n_parts(self, rows: RemoteSource) -> int:
        if self.parts is not None:
            return self.parts
        cores = getattr(context_of(self.session), "defaultParallelism", 8)
        return max(rows.n_bytes // BYTES, int(cores))

    def _run(self, records: Any, most: int, of_a_node: int) -> list[Counted]:
        """Return the records of at most so many parts; more than those of a node are merged in a tree first."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
        from pyspark.sql import functions as sql

        span = of_a_node
        while most > of_a_node:
            node = sql.floor(sql.element_at("parts", 1) / sql.lit(span))
            records = records.groupBy(node).applyInArrow(merging, RECORD)
            most, span = -(-most // of_a_node), span * of_a_node
        try:
            table = records.toArrow()
        except (PySparkException, Py4JError, OSError) as problem:  # a task that failed as often as Spark tries
            raise lost_parts(str(problem)) from problem
        rows = table.to_pylist()
        failed = min((row for row in rows if row["error"] is not None), key=lambda row: row["parts"], default=None)
        if failed is not None:
            raise pickle.loads(failed["error"])
        return [_record(row) for row in rows]

    def map_rows(self, frame: Any, work: Work, new: Mapping[str, pa.DataType]) -> Any:
        """Add columns computed by ``work`` from the rows; ``work`` is sent to each worker once."""
        from pyspark.sql.pandas.types import from_arrow_type
        from pyspark.sql.types import StructField, StructType

        check_names([*frame.columns, *new])
        fields = [StructField(name, from_arrow_type(kind)) for name, kind in new.items()]
        context = context_of(self.session)
        sent = work if context is None else context.broadcast(work)
        return numbered(frame).mapInArrow(adding(sent, frame.columns), StructType([*frame.schema.fields, *fields]))


@dataclass(frozen=True)
class SparkFrame(ClusterFrame):
    """A Spark frame."""

    @classmethod
    def of(cls, frame: Any, engine: Spark) -> SparkFrame:
        """Wrap a frame; raise an error for a streaming one."""
        if frame.isStreaming:
            raise BayesError("a stream has no end: learn from its batches, by foreachBatch")
        check_names(list(frame.columns))
        return cls(frame, engine)

    @cached_property
    def head(self) -> Mapping[str, Kind]:
        """Return the kinds of all columns, by the types sent to workers."""
        from pyspark.sql.pandas.types import to_arrow_type

        kinds: dict[str, Kind] = {}
        for column in self.frame.schema.fields:
            try:
                kinds[column.name] = arrow_kind(to_arrow_type(column.dataType))
            except Exception:  # a type that no worker can be sent: an error only where the column is used
                kinds[column.name] = "object"
        return kinds

    def first(self, names: list[str]) -> Any:
        """Return some of the first rows."""
        return self.frame.select(*map(quoted, names)).limit(LOOK).toArrow()

    def watched(self) -> tuple[Any, Any]:
        """Return (the columns that are read, an observation of how many rows Spark sent)."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as sql

        total = Observation()
        frame = numbered(self.frame.select(*map(quoted, self.columns_read)))
        return frame.observe(total, sql.count(sql.lit(1)).alias("rows")), total

    @cached_property
    def most_parts(self) -> int:
        """Return the number of partitions, or the most there may be, as far as the plan tells."""
        session = self.frame.sparkSession
        plan = StringIO()
        with redirect_stdout(plan):
            self.frame.explain()
        if "Exchange" in plan.getvalue() or context_of(session) is None:  # Spark decides when it has seen the rows
            return int(session.conf.get("spark.sql.shuffle.partitions"))
        return int(self.frame.rdd.getNumPartitions())


def lost_parts(text: str) -> LostParts:
    """Build the error of a job that Spark gave up, with its cause in Python if there is one.

    >>> print(lost_parts("Job aborted\\nTraceback (most recent call last):\\n  ...\\nOSError: no such file"))
    Spark did not count every part, so nothing was learned: OSError: no such file
    """
    causes = re.findall(r"^(?!org\.|java)([\w.]+(?:Error|Exception): (?!Caused by).*)", text, re.MULTILINE)
    aborted = re.search(r"Job aborted[^\n]*", text)
    why = causes[-1] if causes else aborted[0] if aborted else text.strip().split("\n")[0]
    missing = re.search(r"No module named '?(bayeskit|pyarrow|pandas|numpy)\b", why)
    hint = missing and (
        f"install {missing[1]} in the Python of every executor (spark.pyspark.python), or send them an environment by "
        "spark.archives"
    )
    return LostParts(f"Spark did not count every part, so nothing was learned: {why[:300]}", hint=hint or "")


def context_of(session: Any) -> Any:
    """Return the context of a session whose driver is this process; None for a remote one."""
    from pyspark.errors import PySparkException

    try:
        return session.sparkContext
    except (AttributeError, PySparkException):
        return None


def quoted(name: str) -> str:
    """Quote a column name for Spark.

    >>> quoted("a.b"), quoted("tick`tock")
    ('`a.b`', '`tick``tock`')
    """
    return f"`{name.replace('`', '``')}`"


def numbered(frame: Any) -> Any:
    """Rename columns to plain names, since Spark cannot send names with a backtick to Python."""
    return frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))


def counting_rows(task: Task, names: Sequence[str], target: str | None, weight: str | None) -> MapBatches:
    """Build the function that counts a partition of a frame on an executor."""

    def count(arriving: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()
        named = (batch.rename_columns(list(names)) for batch in arriving)
        part = ArrivingBatches(number, named, tuple(names), target, weight)
        yield _row_of(task, number, part)
        for _ in arriving:  # what is left after an error, so that Spark can end its task in peace
            pass

    return count


def counting_parts(task: Task, parts: Sequence[Source]) -> MapBatches:
    """Build the function that counts parts of files on an executor."""

    def count(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield _row_of(task, number, parts[number])

    return count


def merging(records: pa.Table) -> pa.Table:
    """Merge the records of some hundreds of parts, as a node of the tree."""
    rows = records.to_pylist()
    failed = [row for row in rows if row["error"] is not None]
    if failed:
        return pa.Table.from_pylist(failed[:1], schema=records.schema)
    return pa.Table.from_batches([_batch(Counted.merge([_record(row) for row in rows]), None)])


def adding(work: Any, names: Sequence[str]) -> MapBatches:
    """Build the function that adds columns to rows on an executor."""

    def add(arriving: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        made = work.value if hasattr(work, "value") else work
        for batch in arriving:
            if batch.num_rows:
                more = made(pa.Table.from_batches([batch]).rename_columns(list(names)))
                yield pa.RecordBatch.from_arrays([*batch.columns, *more.values()], [*names, *more])

    return add


def _row_of(task: Task, number: int, part: Source) -> pa.RecordBatch:
    """Return the record of a part, or its error: raising would make Spark retry in vain."""
    try:
        return _batch(task.count(number, part), None)
    except BayesError as problem:
        return _batch(Counted(((number, 0),), b""), pickle.dumps(problem))


def _batch(record: Counted, error: bytes | None) -> pa.RecordBatch:
    columns = {
        "parts": pa.array([[number for number, _ in record.parts]], pa.list_(pa.int64())),
        "rows": pa.array([[rows for _, rows in record.parts]], pa.list_(pa.int64())),
        "tally": pa.array([record.tally], pa.binary()),
        "unlabeled": pa.array([record.unlabeled], pa.int64()),
        "error": pa.array([error], pa.binary()),
    }
    return pa.RecordBatch.from_pydict(columns)


def _record(row: Mapping[str, Any]) -> Counted:
    parts = tuple(zip(row["parts"], row["rows"], strict=True))
    return Counted(parts, row["tally"], row["unlabeled"])


def _current_session() -> Any:
    pyspark = import_extra("pyspark.sql", "such frames are read by pyspark", "spark")
    session = pyspark.SparkSession.getActiveSession()
    if session is None:
        raise BayesError("there is no Spark session: pass one, as in Spark(session)")
    return session

"""Spark: its executors count the parts of a frame, or of files that are handed to them as paths."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from typing import TYPE_CHECKING, Any

from bayeskit.data.frames import arrow_kind, is_cluster_frame
from bayeskit.data.missing_labels import LabelledRows
from bayeskit.data.schema import Kind, Schema
from bayeskit.data.source import Source
from bayeskit.engines.cluster_frame import LOOK, ArrivingBatches, ClusterFrame, Work, check_names, refuse_absent
from bayeskit.engines.engine import MAX_CATEGORIES, RemoteSource, as_remote_source
from bayeskit.engines.records import FAN_IN, Counted, Ledger, Task
from bayeskit.errors import BayesError, LostParts
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally

if TYPE_CHECKING:
    import pyarrow as pa

BYTES = 1 << 27  # of files, for one task
RECORD = "parts array<bigint>, rows array<bigint>, tally binary, unlabelled bigint, error binary"


@dataclass(frozen=True)
class Spark:
    """Counts where a Spark session runs; the current one unless given.

    Frames are counted partition by partition. Files are handed out as paths, which every executor must be able to read,
    in ``parts`` tasks (by their size unless given): that is cheaper than through Spark's own rows. A column of more
    than ``max_categories`` values is refused. Every executor needs bayeskit, and nothing else of it than counting.
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
        """Frames of Spark, files, and tables in memory."""
        if isinstance(data, SparkFrame):
            return data
        if is_cluster_frame(data):
            return SparkFrame.of(data, self) if type(data).__module__.startswith("pyspark.") else None
        return as_remote_source(data, self)

    def collect(
        self, source: Any, schema: Schema, plan: Plan, *, n_threads: int = 1, memory_limit: float | None = None
    ) -> Tally:
        """Count on the workers, one thread per task; the tally equals that of a local fit."""
        drops = isinstance(source, LabelledRows)
        rows = source.source if drops else source
        task = Task(schema, plan, 1, memory_limit, self.max_categories, drops)
        if isinstance(rows, SparkFrame):
            frame, total = rows.watched()
            records = frame.mapInArrow(counting_rows(task, rows.columns, rows.target, rows.weight), RECORD)
            counted = self._run(records, rows.may_have_many_parts)
            # Within a tree a stage that is tried again may report its rows twice; then the numbers of parts tell alone.
            read = None if rows.may_have_many_parts else int(total.get["rows"])
            return Ledger(None, None, read, rows.passes).close(counted, task, source)
        parts = rows.parts(self._n_parts(rows))
        numbers = self.session.range(0, len(parts), 1, max(len(parts), 1))
        counted = self._run(numbers.mapInArrow(counting_parts(task, parts), RECORD), len(parts) > FAN_IN)
        return Ledger.of(parts, rows.passes).close(counted, task, source)

    def _n_parts(self, rows: RemoteSource) -> int:
        if self.parts is not None:
            return self.parts
        cores = getattr(context_of(self.session), "defaultParallelism", 8)
        return max(rows.n_bytes // BYTES, int(cores))

    def _run(self, records: Any, in_a_tree: bool) -> list[Counted]:
        """The records, those of many parts after nodes of a tree have merged some hundreds each."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
        from pyspark.sql import functions as sql

        if in_a_tree:
            node = sql.floor(sql.element_at("parts", 1) / sql.lit(FAN_IN))
            records = records.groupBy(node).applyInArrow(merging, RECORD)
        try:
            table = records.toArrow()
        except (PySparkException, Py4JError, OSError) as problem:  # a task that failed as often as Spark tries
            told = re.search(r"Job aborted[^\n]*", str(problem))
            why = (told[0] if told else str(problem).strip().split("\n")[0])[:300]
            raise LostParts(f"Spark did not count every part, so nothing was learnt: {why}") from problem
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
    """A frame of Spark."""

    @classmethod
    def of(cls, frame: Any, engine: Spark) -> SparkFrame:
        """A frame that has an end."""
        if frame.isStreaming:
            raise BayesError("a stream has no end: learn from its batches, by foreachBatch")
        check_names(list(frame.columns))
        return cls(frame, engine)

    @cached_property
    def head(self) -> Mapping[str, Kind]:
        """Kinds of all columns, as their types are sent to the workers."""
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
        """(the columns that are read, what knows after the reading how many rows Spark has sent)"""
        from pyspark.sql import Observation
        from pyspark.sql import functions as sql

        total = Observation()
        frame = numbered(self.frame.select(*map(quoted, self.columns)))
        return frame.observe(total, sql.count(sql.lit(1)).alias("rows")), total

    @cached_property
    def may_have_many_parts(self) -> bool:
        """Whether there are more partitions than one machine should merge, as far as Spark tells without running it."""
        session = self.frame.sparkSession
        plan = StringIO()
        with redirect_stdout(plan):
            self.frame.explain()
        if "Exchange" in plan.getvalue() or context_of(session) is None:  # Spark decides when it has seen the rows
            return int(session.conf.get("spark.sql.shuffle.partitions")) > FAN_IN
        return int(self.frame.rdd.getNumPartitions()) > FAN_IN


def context_of(session: Any) -> Any:
    """The context of a session whose driver is this process; None of a remote one."""
    from pyspark.errors import PySparkException

    try:
        return session.sparkContext
    except (AttributeError, PySparkException):
        return None


def quoted(name: str) -> str:
    """A column's name as Spark reads it, whatever characters it has.

    >>> quoted("a.b"), quoted("tick`tock")
    ('`a.b`', '`tick``tock`')
    """
    return f"`{name.replace('`', '``')}`"


def numbered(frame: Any) -> Any:
    """The same frame with plain names, since Spark sends no column to Python whose name has a backtick."""
    return frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))


def counting_rows(
    task: Task, names: Sequence[str], target: str | None, weight: str | None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What an executor does with a partition of a frame."""

    def count(arriving: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()
        named = (batch.rename_columns(list(names)) for batch in arriving)
        part = ArrivingBatches(number, named, tuple(names), target, weight)
        yield _row_of(task, number, part)
        for _ in arriving:  # what is left after an error, so that Spark can end its task in peace
            pass

    return count


def counting_parts(
    task: Task, parts: Sequence[Source]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What an executor does with the numbers of parts of files."""

    def count(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield _row_of(task, number, parts[number])

    return count


def merging(records: pa.Table) -> pa.Table:
    """A node of the tree: the records of some hundreds of parts as one."""
    import pyarrow as pa

    rows = records.to_pylist()
    failed = [row for row in rows if row["error"] is not None]
    if failed:
        return pa.Table.from_pylist(failed[:1], schema=records.schema)
    return pa.Table.from_batches([_batch(Counted.together([_record(row) for row in rows]), None)])


def adding(work: Any, names: Sequence[str]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What an executor does with rows that get more columns."""

    def add(arriving: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        made = work.value if hasattr(work, "value") else work
        for batch in arriving:
            if batch.num_rows:
                more = made(pa.Table.from_batches([batch]).rename_columns(list(names)))
                yield pa.RecordBatch.from_arrays([*batch.columns, *more.values()], [*names, *more])

    return add


def _row_of(task: Task, number: int, part: Source) -> pa.RecordBatch:
    """The record of a part, or what it was refused for: Spark would try again what no trial can mend."""
    try:
        return _batch(task.count(number, part), None)
    except BayesError as problem:
        return _batch(Counted(((number, 0),), b""), pickle.dumps(problem))


def _batch(record: Counted, error: bytes | None) -> pa.RecordBatch:
    import pyarrow as pa

    columns = {
        "parts": pa.array([[number for number, _ in record.parts]], pa.list_(pa.int64())),
        "rows": pa.array([[rows for _, rows in record.parts]], pa.list_(pa.int64())),
        "tally": pa.array([record.tally], pa.binary()),
        "unlabelled": pa.array([record.unlabelled], pa.int64()),
        "error": pa.array([error], pa.binary()),
    }
    return pa.RecordBatch.from_pydict(columns)


def _record(row: Mapping[str, Any]) -> Counted:
    parts = tuple(zip(row["parts"], row["rows"], strict=True))
    return Counted(parts, row["tally"], row["unlabelled"])


def _current_session() -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError as problem:
        raise refuse_absent("pyspark", "spark", problem) from None
    session = SparkSession.getActiveSession()
    if session is None:
        raise BayesError("there is no Spark session: pass one, as in Spark(session)")
    return session

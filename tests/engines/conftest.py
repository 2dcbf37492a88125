"""The engines that one body of tests runs on: each is a way from parts of a table to a source that it owns.

A new engine joins by a function from parts (Arrow tables, some without rows) and a folder to ``(data, engine)``, which
``fit_source(data, target, engine=engine)`` takes, and a line in ``WAYS``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bayeskit.engines import Dask, Processes, Spark, sql
from bayeskit.engines.engine import open_on
from tests.databases import database
from tests.engines import clusters


@dataclass(frozen=True)
class Way:
    """An engine, and how parts of a table reach it."""

    name: str
    place: Callable[[list[pa.Table], Any], tuple[Any, Any]]
    cluster: str | None = None  # what must be started for it: its tests run in one process
    counts_alone: bool = False  # a database that counts itself: no words, no row that an error could name

    def source(self, parts, folder, target=None, weight=None):
        """A source that the engine owns."""
        data, engine = self.place(parts, folder)
        return open_on(engine, data, target, weight)


def in_memory(parts, folder):
    return pa.concat_tables(parts), None


def in_files(parts, folder):
    """A folder of Parquet files, one for each part, of row groups of at most three rows."""
    for i, part in enumerate(parts):
        pq.write_table(part, folder / f"part-{i:03}.parquet", row_group_size=3)
    return folder


@cache
def two_processes():
    return Processes(2)


def on_processes(parts, folder):
    return in_files(parts, folder), two_processes()


def dask_frame(parts, folder):
    """A Dask frame with a partition for each part."""
    client = clusters.dask_client()
    import dask.dataframe as dd
    import pandas as pd

    plain = {
        pa.bool_(): pd.BooleanDtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.string(): pd.StringDtype("pyarrow"),
    }
    # These would be objects, which Dask turns into texts when the frame is made.
    objects = (pa.types.is_date, pa.types.is_decimal, pa.types.is_binary, pa.types.is_time)
    arrow = {field.type for field in parts[0].schema if any(is_object(field.type) for is_object in objects)}
    types = plain | {kind: pd.ArrowDtype(kind) for kind in arrow}
    frames = [part.to_pandas(types_mapper=types.get) for part in parts]
    return dd.from_map(lambda i: frames[i], range(len(frames)), meta=frames[0].iloc[:0]), Dask(client)


def dask_files(parts, folder):
    return in_files(parts, folder), Dask(clusters.dask_client())


def spark_frame(parts, folder):
    """A Spark frame with partitions for each part; one without rows has an empty one."""
    session = clusters.spark_session()
    empty = session.createDataFrame(next((p for p in parts if p.num_rows), parts[0])).where("days < 0")
    frames = [session.createDataFrame(part) if part.num_rows else empty for part in parts]
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.union(frame)
    return whole, Spark(session)


def spark_files(parts, folder):
    return in_files(parts, folder), Spark(clusters.spark_session())


def from_database(kind, push):
    """A table of a database, whose rows are streamed, or counted there."""

    def place(parts, folder):
        there = database(kind)
        there.load("way", pa.concat_tables(parts))
        return sql("SELECT * FROM way", there.source_of_rows(), push=push), None

    return place


WAYS = [
    Way("local", in_memory),
    Way("processes", on_processes),
    Way("duckdb", from_database("duckdb", push=False)),
    Way("duckdb counts", from_database("duckdb", push=True), counts_alone=True),
    Way("postgres", from_database("postgres", push=False)),
    Way("postgres counts", from_database("postgres", push=True), counts_alone=True),
    Way("dask-frame", dask_frame, "dask"),
    Way("dask-files", dask_files, "dask"),
    Way("spark-frame", spark_frame, "spark"),
    Way("spark-files", spark_files, "spark"),
]


def _param(way):
    marks = [pytest.mark.xdist_group(way.cluster), getattr(pytest.mark, way.cluster)] if way.cluster else []
    return pytest.param(way, id=way.name, marks=marks)


@pytest.fixture(params=[_param(way) for way in WAYS])
def way(request):
    """Each engine."""
    return request.param

"""Processes, Dask and Spark, beside our engine on one core and beside Spark's own naive Bayes.

Every time is CPU of all processes that take part (workers, the JVM); for `Processes` the wall clock as well.
``BAYESKIT_BENCH_ROWS=20000 BAYESKIT_BENCH_PROCESS_ROWS=40000`` tries the whole.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

TITLE = "Engines"
ROWS = int(os.environ.get("BAYESKIT_BENCH_ROWS", 2_000_000))
PROCESS_ROWS = int(os.environ.get("BAYESKIT_BENCH_PROCESS_ROWS", 100_000_000))
PART_ROWS = 10_000_000  # of the file that is read again and again for `Processes`
VALUES = (2, 3, 4, 5, 8, 12, 20, 40, 80, 150, 400, 1000)
NUMBERS = 8
CLASSES = 4
NOTE = (
    "20 columns: 12 strings of 2 to 1,000 values, 8 numbers, some cells missing; 4 classes; Parquet in row groups of "
    "250,000 rows. Naive Bayes of all columns. Times are CPU seconds of all processes, the JVM and its Python workers "
    "among them, after all have started and have run once; MLlib's is that of its two fits (string index, one-hot and "
    "multinomial; Gaussian). `Processes`: the same 10,000,000 rows read again and again; the line of CPU is what two "
    "free cores would reach in wall time, whatever else the machine does."
)


def table(n: int, seed: int = 0) -> Any:
    """Rows as a table of Arrow."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, n).astype(np.int8)
    columns: dict[str, Any] = {}
    for i, size in enumerate(VALUES):
        codes = ((rng.zipf(1.4, n) + labels * (i % 3)) % size).astype(np.int16)
        values = pa.array([f"value-{j}" for j in range(size)])
        gaps = rng.random(n) < 0.02 if i % 4 == 0 else None
        columns[f"s{i}"] = pa.DictionaryArray.from_arrays(pa.array(codes, mask=gaps), values)
    for i in range(NUMBERS):
        numbers = rng.normal(labels * 0.1 * i, 1.0 + i).round(3)
        columns[f"x{i}"] = pa.array(numbers, mask=rng.random(n) < 0.02 if i % 4 == 0 else None)
    names = pa.array([f"class-{c}" for c in range(CLASSES)])
    columns["y"] = pa.DictionaryArray.from_arrays(pa.array(labels), names)
    made = pa.table(columns)
    plain = [f.with_type(pa.string()) if pa.types.is_dictionary(f.type) else f for f in made.schema]
    return made.cast(pa.schema(plain))


def write(path: Path, n: int, first: int = 0) -> None:
    """Rows as a Parquet file, made a million at a time, each with a seed from ``first`` on."""
    import pyarrow.parquet as pq

    writer = None
    for seed, start in enumerate(range(0, n, 1_000_000), first):
        part = table(min(1_000_000, n - start), seed)
        writer = writer or pq.ParquetWriter(path, part.schema)
        writer.write_table(part, row_group_size=250_000)
    assert writer is not None
    writer.close()


def cpu() -> float:
    """CPU seconds of this process and of all below it, those that have ended among them."""
    import psutil

    me, total = psutil.Process(), 0.0
    for process in [me, *me.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def least(work: Callable[[], Any], rounds: int, clock: Callable[[], float] = cpu) -> float:
    """The least cost of some rounds, after one that does not count."""
    work()
    costs = []
    for _ in range(rounds):
        start = clock()
        work()
        costs.append(clock() - start)
    return min(costs)


def model() -> Any:
    from bayeskit import NaiveBayes

    return NaiveBayes(numeric="gaussian", n_threads=1)


@contextmanager
def spark_session() -> Iterator[Any]:
    """Two cores, on the loopback."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": "4",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        session.stop()


def mllib(frame: Any) -> None:
    """Spark's own: the strings by index, one-hot and multinomial, the numbers by Gaussians."""
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import OneHotEncoder, StringIndexer, VectorAssembler

    strings, numbers = [f"s{i}" for i in range(len(VALUES))], [f"x{i}" for i in range(NUMBERS)]
    coded, hot = [f"{name}_code" for name in strings], [f"{name}_hot" for name in strings]
    label = StringIndexer(inputCol="y", outputCol="label")
    Pipeline(
        stages=[
            label,
            StringIndexer(inputCols=strings, outputCols=coded, handleInvalid="keep"),
            OneHotEncoder(inputCols=coded, outputCols=hot),
            VectorAssembler(inputCols=hot, outputCol="features"),
            NaiveBayes(modelType="multinomial"),
        ]
    ).fit(frame)
    assembler = VectorAssembler(inputCols=numbers, outputCol="features")
    Pipeline(stages=[label, assembler, NaiveBayes(modelType="gaussian")]).fit(frame.na.fill(0.0, numbers))


def spark(file: Path) -> list[Any]:
    from bench import Row

    from bayeskit.engines import Spark

    with spark_session() as session:
        frame = session.read.parquet(str(file))
        theirs = least(lambda: mllib(frame), 1)
        on_files = least(lambda: model().fit_source(file, "y", engine=Spark(session)), 2)
        on_frame = least(lambda: model().fit(frame, "y"), 2)
    peer = "MLlib, two fits"
    return [
        Row(f"Spark on Parquet files, {ROWS:,} rows", peer, 6, on_files, theirs),
        Row(f"Spark on a frame, {ROWS:,} rows", peer, 3, on_frame, theirs),
    ]


def dask(file: Path) -> list[Any]:
    from bench import Row
    from distributed import Client, LocalCluster

    from bayeskit.engines import Dask

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1") as cluster,
        Client(cluster) as client,
    ):
        ours = least(lambda: model().fit_source(file, "y", engine=Dask(client)), 4)
        local = least(lambda: model().fit_source(file, "y"), 4)
    return [Row(f"Dask on Parquet, two workers, {ROWS:,} rows", "one core, no engine", 1 / 1.7, ours, local)]


def processes(folder: Path) -> list[Any]:
    from bench import Row

    from bayeskit.engines import Processes

    rows = folder / "rows"
    rows.mkdir()
    write(rows / "0.parquet", min(PART_ROWS, PROCESS_ROWS))
    for i in range(1, PROCESS_ROWS // PART_ROWS):
        os.link(rows / "0.parquet", rows / f"{i}.parquet")
    engine, wall, spent = Processes(2), [float("inf")] * 2, [float("inf")] * 2
    for _ in range(2):
        for side, on in enumerate((engine, None)):
            start, before = time.perf_counter(), cpu()
            model().fit_source(rows, "y", engine=on)
            wall[side] = min(wall[side], time.perf_counter() - start)
            spent[side] = min(spent[side], cpu() - before)
    what = f"Processes(2), {PROCESS_ROWS:,} rows"
    return [
        Row(f"{what}, wall time", "one process", 1.7, *wall),
        Row(f"{what}, CPU of all by two", "one process", 1.7, spent[0] / 2, spent[1]),
    ]


def run() -> list[Any]:
    """All lines of the table."""
    warnings.simplefilter("ignore")
    rows: list[Any] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "rows.parquet", ROWS)
        for part in (lambda: dask(folder / "rows.parquet"), lambda: spark(folder / "rows.parquet")):
            rows += part()
            print(*rows[-2:], sep="\n", flush=True)
        if PROCESS_ROWS:
            rows += processes(folder)
            print(*rows[-2:], sep="\n", flush=True)
    return rows

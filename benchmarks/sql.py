"""Databases: streaming beside our own reader, scoring queries beside our own scores, counts inside the database.

CPU seconds of all processes that work, the server's among them, best of three by turns. Twenty columns: twelve texts of
2 to 1,000 values, eight numbers, 2 % of all cells missing, four classes; one thread each.

    python benchmarks/sql.py [ROWS]
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bayeskit import NaiveBayes
from bayeskit.engines import sql

SERVICES = Path(__file__).parent.parent / "scripts" / "services"
VALUES = (2, 3, 5, 8, 12, 20, 30, 50, 80, 150, 400, 1000)
TICK = os.sysconf("SC_CLK_TCK")


def rows(n: int, seed: int = 0) -> pa.Table:
    """The table that is counted and scored."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    columns: dict[str, Any] = {"id": pa.array(np.arange(n))}
    for j, v in enumerate(VALUES):
        codes = (rng.integers(0, max(v * 2 // 3, 1), n) + y * (v // 4 + 1)) % v
        names = pa.array([f"value {i} of {j}" for i in range(v)])
        columns[f"s{j}"] = pa.DictionaryArray.from_arrays(pa.array(codes, mask=rng.random(n) < 0.02), names).cast(
            pa.string()
        )
    for j in range(8):
        columns[f"x{j}"] = pa.array(rng.normal(size=n) * (1 + j) + y * j * 0.3, mask=rng.random(n) < 0.02)
    columns["class"] = pa.array(np.array(["a", "b", "c", "d"])[y])
    return pa.table(columns)


def here() -> float:
    return time.process_time()


class Server:
    """PostgreSQL in a folder of its own, and the CPU seconds of all its processes."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="bayes-bench-"))
        self.folder.chmod(0o755)
        command = [SERVICES, "start", "postgres", self.folder / "server"]
        self.uri = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        pid_file = self.folder / "server" / "data" / "postmaster.pid"
        self.pid = int(pid_file.read_text().split()[0])

    def cpu(self) -> float:
        """Of those that run and of those that have ended, and of this process."""
        total = 0.0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if stat.parent.name == str(self.pid):
                total += sum(map(int, fields[11:15])) / TICK
            elif fields[1] == str(self.pid):
                total += sum(map(int, fields[11:13])) / TICK
        return total + here()

    def stop(self) -> None:
        subprocess.run([SERVICES, "stop", "postgres", self.folder / "server"], check=True, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def best(work: dict[str, tuple[Callable[[], Any], Callable[[], float]]], times: int = 3) -> dict[str, float]:
    """CPU seconds of each piece of work, by turns."""
    found: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(times):
        for name, (do, clock) in work.items():
            before = clock()
            do()
            found[name].append(clock() - before)
    return {name: min(seconds) for name, seconds in found.items()}


def show(title: str, n: int, seconds: dict[str, float]) -> None:
    first = next(iter(seconds.values()))
    print(f"\n{title}, {n:,} rows")
    for name, spent in seconds.items():
        print(f"  {name:46} {spent:7.2f} CPU s  {n / spent / 1e6:6.3f} Mrows/CPU s  {spent / first:5.2f} of the first")


def bar(what: str, reached: float, least: float) -> bool:
    """Say whether a figure reaches what it should; whether it does not."""
    print(f"  {what}: {reached:.3g}, at least {least:g}{'' if reached >= least else ' (missed)'}")
    return reached < least


def main() -> None:
    import adbc_driver_postgresql.dbapi as adbc
    import duckdb

    warnings.simplefilter("ignore")
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    table = rows(n)
    folder = Path(tempfile.mkdtemp(prefix="bayes-bench-"))
    parquet = folder / "rows.parquet"
    pq.write_table(table, parquet)
    model = NaiveBayes(numeric="gaussian", roles={"id": "ignore"}, n_threads=1)
    duck = duckdb.connect()
    duck.execute("SET threads = 1")
    duck.register("given", table)
    duck.execute("CREATE TABLE t AS SELECT * FROM given")
    fitted = model.fit_source(parquet, "class")

    def learn(source: Any) -> Callable[[], Any]:
        return lambda: NaiveBayes(numeric="gaussian", roles={"id": "ignore"}, n_threads=1).fit_source(source(), "class")

    def of_duck(query: str, push: bool = False) -> Callable[[], Any]:
        return learn(lambda: sql(query, duck, push=push))

    learning = best({
        "our Parquet reader": (learn(lambda: parquet), here),
        "the same file through DuckDB": (of_duck(f"SELECT * FROM read_parquet('{parquet}')"), here),
        "a table of DuckDB, streamed": (of_duck("SELECT * FROM t"), here),
        "a table of DuckDB, counted there": (of_duck("SELECT * FROM t", True), here),
    })  # fmt: skip
    show("Learning", n, learning)
    reader, through_duckdb, *_ = learning.values()
    missed = bar("DuckDB's stream of the file beside our Parquet reader", through_duckdb / reader, 2.0)

    kept = duckdb.connect(folder / "rows.duckdb")
    kept.execute("SET threads = 1")
    kept.register("given", table)
    kept.execute("CREATE TABLE t AS SELECT * FROM given")
    kept.execute("CHECKPOINT")
    query = fitted.to_sql("t", "duckdb", "id").query
    scoring = best({
        "ours, Parquet streamed": (lambda: fitted.predict_proba(parquet), here),
        "DuckDB, one query, a database file": (lambda: kept.execute(query).to_arrow_table(), here),
        "DuckDB, one query, a table in memory": (lambda: duck.execute(query).to_arrow_table(), here),
    })  # fmt: skip
    show("Scoring", n, scoring)
    ours, in_file, in_memory = scoring.values()
    for where, spent in (("a database file", in_file), ("a table in memory", in_memory)):
        missed += bar(f"DuckDB scoring query, {where}, beside our own rows per CPU second", ours / spent, 0.3)

    few = min(n, 200_000)
    part = table.slice(0, few)
    lite = sqlite3.connect(":memory:")
    lite.execute(f"CREATE TABLE t ({', '.join(part.column_names)})")
    marks = ", ".join("?" * part.num_columns)
    lite.executemany(f"INSERT INTO t VALUES ({marks})", zip(*(c.to_pylist() for c in part.columns), strict=True))
    server = Server()
    try:
        with adbc.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("t", part, mode="create")
            cursor.execute("ANALYZE t")
            cursor.execute("SELECT PG_TOTAL_RELATION_SIZE('t')")
            size = cursor.fetchone()[0]
            cursor.execute("SET max_parallel_workers_per_gather = 0")

            def ask(text: str) -> Callable[[], Any]:
                return lambda: (cursor.execute(text), cursor.fetch_arrow_table())

            in_lite, in_postgres = (fitted.to_sql("t", dialect, "id").query for dialect in ("sqlite", "postgres"))
            scoring = best({
                "SQLite, one query": (lambda: lite.execute(in_lite).fetchall(), here),
                "PostgreSQL, one query": (ask(in_postgres), server.cpu),
            })  # fmt: skip
            show("Scoring", few, scoring)
            for name, spent in scoring.items():
                missed += bar(f"{name}: thousand rows per CPU second", few / spent / 1e3, 30)

            def of_postgres(push: bool) -> Callable[[], Any]:
                return learn(lambda: sql("SELECT * FROM t", server.uri, push=push))

            show("Learning", few, best({
                "a table of PostgreSQL, streamed": (of_postgres(False), server.cpu),
                "a table of PostgreSQL, counted there": (of_postgres(True), server.cpu),
            }))  # fmt: skip
            brought = answers(server.uri)
            print(f"  bytes that leave the server: {brought:,} of {size:,} ({brought / size:.3%})")
            missed += bar("bytes of the table for each byte that leaves the server", size / brought, 100)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"\n{missed} bars missed")


def answers(uri: str) -> int:
    """Bytes of all answers to the queries of a count inside the database."""
    source = sql("SELECT * FROM t", uri, push=True)
    inner, brought = source.database.table, []
    source.database.table = lambda query: brought.append(inner(query)) or brought[-1]  # type: ignore[method-assign]
    NaiveBayes(numeric="gaussian", roles={"id": "ignore"}).fit_source(source, "class")
    return sum(int(answer.nbytes) for answer in brought)


if __name__ == "__main__":
    main()

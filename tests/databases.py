"""Databases that tests really run against, each behind the same few methods; one that is missing is skipped."""

import atexit
import os
import shutil
import sqlite3
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from tests.engines import clusters

SERVICES = Path(__file__).parent.parent / "scripts" / "services"

SECRET = "hUsh9"
MISTYPED = [
    spelling.replace("PW", SECRET)
    for spelling in (
        "postgresql:ann:PW@host/shop",
        "postgresql:/ann:PW@host/shop",
        "postgres//ann:PW@host/shop",
        "postgresql//ann:PW@host/shop?table=days",
        "postgresql;//ann:PW@host",
        "postgresql ://ann:PW@host/shop",
        " postgresql://ann:PW@127.0.0.1:1/shop?table=days",
        "PostgreSQL://ann:PW@host/shop?table=days",
        "postgressql://ann:PW@host/shop",
        "postgresql+psycopg://ann:PW@host/shop",
        "postgresql:///ann:PW@host/shop",
        "postgresql://ann:PW",
        "postgresql://ann:PW@",
        "postgresql://ann@host:PW/shop",
        "postgresql://ann:a/PW@host/shop",
        "postgresql://ann:PW@127.0.0.1:1/shop?table=days&x=%zz",
        "postgresql://host/shop?passwrod=PW",
        "postgresql://127.0.0.1:1/shop?Password=PW&table=days",
        "postgresql:ann:PW",
        "postgresql\\ann:PW@host",
        "postgresql://ann:PW@host/shop.duckdb",
        "postgres:ann:PW@host/shop.db",
        "jdbc:postgresql://host/shop?user=ann&password=PW",
        "jdbc:postgresql:ann:PW@host",
        "mysql://ann:PW@host/shop",
        "https://ann:PW@host/rows.csv",
        "//ann:PW@host/shop",
        "ann:PW@host/shop",
        "shop.duckdb?password=PW",
        "host=127.0.0.1 password=PW dbname=shop",
        "host=127.0.0.1 PASSWORD = 'my PW'",
    )
]
"""Addresses as a hasty hand writes them, each with the password in it."""


class DuckDB:
    dialect = "duckdb"

    def __init__(self):
        duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install '.[sql]'")
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")

    def load(self, name, table):
        self.connection.register("given", table)
        self.connection.execute(f'CREATE OR REPLACE TABLE "{name}" AS SELECT * FROM given')
        self.connection.unregister("given")

    def execute(self, statement):
        self.connection.execute(statement)

    def rows(self, query):
        return self.connection.execute(query).fetchall()

    def source_of_rows(self):
        """What ``sql`` is told."""
        return self.connection

    def close(self):
        self.connection.close()


class SQLite:
    dialect = "sqlite"

    def __init__(self):
        self.connection = sqlite3.connect(":memory:")
        if self.connection.execute("SELECT sqlite_version()").fetchone()[0] < "3.35":
            pytest.skip("this SQLite is older than 3.35")

    def load(self, name, table):
        columns = ", ".join('"' + field.name.replace('"', '""') + '"' for field in table.schema)
        self.connection.execute(f'DROP TABLE IF EXISTS "{name}"')
        self.connection.execute(f'CREATE TABLE "{name}" ({columns})')
        cells = zip(*(column.to_pylist() for column in table.columns), strict=True)
        marks = ", ".join("?" * table.num_columns)
        self.connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', cells)

    def execute(self, statement):
        self.connection.execute(statement)

    def rows(self, query):
        return self.connection.execute(query).fetchall()

    def close(self):
        self.connection.close()


class PostgreSQL:
    """A server of its own in a temporary folder, which the project's script starts: not as root, and on no port."""

    dialect = "postgres"

    def __init__(self):
        adbc = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="ADBC is missing: pip install '.[sql]'")
        self.folder = Path(tempfile.mkdtemp(prefix="bayes-postgres-"))
        self.folder.chmod(0o755)
        started = subprocess.run(
            [SERVICES, "start", "postgres", self.folder / "server"], capture_output=True, text=True
        )
        if started.returncode:
            shutil.rmtree(self.folder, ignore_errors=True)
            if os.environ.get("BAYESKIT_SERVICES") == "needed":
                pytest.fail(f"PostgreSQL does not start: {started.stderr}")
            pytest.skip(f"PostgreSQL does not start here: {started.stderr.strip().splitlines()[-1]}")
        self.uri = started.stdout.strip()
        self.connection = adbc.connect(self.uri, autocommit=True)

    def load(self, name, table):
        self.execute(f'DROP TABLE IF EXISTS "{name}"')
        with self.connection.cursor() as cursor:
            cursor.adbc_ingest(name, table, mode="create")

    def execute(self, statement):
        with self.connection.cursor() as cursor:
            cursor.execute(statement)

    def rows(self, query):
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()

    def source_of_rows(self):
        """What ``sql`` is told."""
        return self.uri

    def close(self):
        self.connection.close()
        subprocess.run([SERVICES, "stop", "postgres", self.folder / "server"], check=True, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)


class SparkSQL:
    """The session that all tests of Spark share."""

    dialect = "spark"

    def __init__(self):
        self.session = clusters.spark_session()

    def load(self, name, table):
        self.session.createDataFrame(table).createOrReplaceTempView(f"`{name}`")

    def rows(self, query):
        return [tuple(row) for row in self.session.sql(query).collect()]

    def close(self):
        """It ends with the program."""


@cache
def database(name):
    """The one database of a kind that all tests of a process share."""
    made = DATABASES[name]()
    atexit.register(made.close)
    return made


DATABASES = {kind.dialect: kind for kind in (DuckDB, PostgreSQL, SQLite, SparkSQL)}

"""Rows of queries: the same values from every database, nothing secret in what is told, and clear errors."""

import sqlite3
import traceback
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.data.io.sql import Address
from bayeskit.engines import sql
from tests.databases import MISTYPED, SECRET, database
from tests.tallies import agree

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install '.[sql]'")
DAYS = pa.table(
    {"sky": ["sun", "rain", None, "sun"], "wind": [1.5, 2.5, 3.5, None], "play": ["yes", "no", "no", "yes"]}
)


@pytest.fixture
def shop(tmp_path):
    """A file of DuckDB with a table of days."""
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", DAYS)
        connection.execute("CREATE TABLE days AS SELECT * FROM given")
    return path


@pytest.fixture
def corner_shop(tmp_path):
    """The same in SQLite."""
    path = tmp_path / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE days (sky TEXT, wind REAL, play TEXT)")
        connection.executemany("INSERT INTO days VALUES (?, ?, ?)", zip(*DAYS.to_pydict().values(), strict=True))
    connection.close()
    return path


def expected():
    return bk.NaiveBayes(numeric="gaussian").fit(DAYS, "play").tally_


def test_a_query_is_learned_forgotten_scored_and_evaluated(shop):
    rows = sql("SELECT * FROM days", shop)
    model = bk.NaiveBayes(numeric="gaussian").fit(rows, "play")
    assert model.tally_ == expected()
    assert model.predict_proba(rows).tolist() == model.predict_proba(DAYS).tolist()
    assert model.score(rows, "play") == model.score(DAYS, "play")
    assert [e.predicted for e in model.explain(rows)] == [e.predicted for e in model.explain(DAYS)]
    assert model.leave_one_out(rows, "play").log_loss == model.leave_one_out(DAYS, "play").log_loss
    windy = sql("SELECT * FROM days WHERE wind > 3", shop)
    model.forget_source(windy, "play").learn_source(windy, "play")
    assert model.tally_ == expected()


def test_sqlite_is_read_from_its_file_or_from_a_connection_to_it(corner_shop):
    assert bk.NaiveBayes(numeric="gaussian").fit(sql("SELECT * FROM days", corner_shop), "play").tally_ == expected()
    with sqlite3.connect(corner_shop) as connection:
        assert bk.NaiveBayes(numeric="gaussian").fit(sql("SELECT * FROM days", connection), "play").tally_ == expected()
    connection.close()


def test_sqlite_does_not_count_itself(corner_shop):
    with pytest.raises(bk.BayesError, match="SQLite adds whole numbers up in 64 bits"):
        sql("SELECT * FROM days", corner_shop, push=True)


def test_a_file_of_sqlite_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(bk.BayesError, match="there is no file"):
        sql("SELECT 1", tmp_path / "nothing.sqlite")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("cells", [(1.23456781, 1.23456782, "text"), (2**53 + 1, 2**53, 0.5), (1, b"1", "1")])
def test_values_that_the_driver_of_sqlite_would_change_are_refused(cells, tmp_path):
    with sqlite3.connect(tmp_path / "mixed.sqlite") as connection:
        connection.execute("CREATE TABLE mixed (x, y)")
        connection.executemany("INSERT INTO mixed VALUES (?, ?)", [(cell, "ab"[i % 2]) for i, cell in enumerate(cells)])
    connection.close()
    with pytest.raises(bk.BayesError, match="column 'x' holds values of several types"):
        bk.NaiveBayes(numeric="gaussian").fit(sql("SELECT * FROM mixed", tmp_path / "mixed.sqlite"), "y")
    there = sql("SELECT CAST(x AS TEXT) AS x, y FROM mixed", tmp_path / "mixed.sqlite")
    assert bk.NaiveBayes(numeric="gaussian").fit(there, "y").tally_.n_rows == 3


def test_a_database_in_memory_of_sqlite3_is_refused():
    with sqlite3.connect(":memory:") as connection, pytest.raises(bk.BayesError, match="is in memory"):
        sql("SELECT 1", connection)
    connection.close()


def test_a_table_of_postgres_is_named_in_its_address():
    there = database("postgres")
    there.load("the days", DAYS)
    assert bk.NaiveBayes(numeric="gaussian").fit(f'{there.uri}&table="the days"', "play").tally_ == expected()


def test_a_connection_of_adbc_is_taken_where_it_keeps_to_one_snapshot():
    import adbc_driver_postgresql.dbapi as adbc

    there = database("postgres")
    there.load("days", DAYS)
    with adbc.connect(there.uri) as connection:
        assert bk.NaiveBayes(numeric="gaussian").fit(sql("SELECT * FROM days", connection), "play").tally_ == expected()
        connection.rollback()
        with pytest.raises(bk.BayesError, match="reads at the isolation 'read committed'"):
            bk.NaiveBayes(numeric="gaussian").fit(sql("SELECT * FROM days", connection, push=True), "play")
        connection.rollback()
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        assert (
            bk.NaiveBayes(numeric="gaussian").fit(sql("SELECT * FROM days", connection, push=True), "play").tally_
            == expected()
        )


TYPES = """
SELECT * FROM (VALUES
    (CAST(1.15 AS NUMERIC(10, 2)), CAST(123456789012345678.25 AS NUMERIC(30, 2)), TRUE, CAST('2024-05-01' AS DATE),
     CAST('2024-05-01 10:00' AS TIMESTAMP), CAST('2024-05-01 10:00+02' AS TIMESTAMPTZ), 9007199254740993, 'a'),
    (CAST(2.35 AS NUMERIC(10, 2)), CAST(2.5 AS NUMERIC(30, 2)), FALSE, CAST('2024-05-02' AS DATE),
     CAST('2024-05-01 10:00' AS TIMESTAMP), NULL, 9007199254740992, 'b')
) AS t(price, large, ill, day, moment, instant, id, class)
"""
ROLES = dict.fromkeys(["price", "large", "day", "moment", "instant", "id"], "categorical")


@pytest.mark.parametrize("push", [False, True])
@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_decimals_dates_truths_and_large_numbers_are_the_same_values_everywhere(kind, push):
    there = database(kind)
    found = bk.NaiveBayes(roles=ROLES).fit(sql(TYPES, there.source_of_rows(), push=push), "class").tally_
    here = {
        "price": [Decimal("1.15"), Decimal("2.35")],
        "large": [Decimal("123456789012345678.25"), Decimal("2.5")],
        "ill": [True, False],
        "day": [date(2024, 5, 1), date(2024, 5, 2)],
        "moment": [datetime(2024, 5, 1, 10), datetime(2024, 5, 1, 10)],
        "instant": [datetime(2024, 5, 1, 8, tzinfo=UTC), None],
        "id": [2**53 + 1, 2**53],
    }
    expected = {name: {str(bk.data.vocabulary.canonical(cell)) for cell in cells} for name, cells in here.items()}
    values = {name: {str(value) for value in family.values} for name, family in found.families.items()}
    assert values == {name: cells - {"None"} for name, cells in expected.items()}


@pytest.mark.parametrize("push", [False, True])
def test_a_padded_text_and_an_enum_are_texts(push):
    there = database("postgres")
    there.execute("DROP TABLE IF EXISTS padded")
    there.execute("DROP TYPE IF EXISTS mood")
    there.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    there.execute("CREATE TABLE padded (code CHAR(5), mood mood, class TEXT)")
    there.execute("INSERT INTO padded VALUES ('ab', 'sad', 'x'), ('abc', 'ok', 'y')")
    model = bk.NaiveBayes(numeric="gaussian").fit(sql("SELECT * FROM padded", there.uri, push=push), "class")
    assert (model.tally_.families["code"].values, model.tally_.families["mood"].values) == (
        ("ab", "abc"),
        ("ok", "sad"),
    )


@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_a_count_inside_the_database_does_not_fold_case(kind):
    there = database(kind)
    collation = "NOCASE" if kind == "duckdb" else "folded"
    if kind == "postgres":
        rule = "provider = icu, locale = 'und-u-ks-level2', deterministic = false"
        there.execute(f"CREATE COLLATION IF NOT EXISTS folded ({rule})")
    there.execute("DROP TABLE IF EXISTS folds")
    there.execute(f"CREATE TABLE folds (sky TEXT COLLATE {collation}, class TEXT COLLATE {collation})")
    there.execute("INSERT INTO folds VALUES ('Sun', 'A'), ('sun', 'a'), ('SUN', 'a')")
    model = bk.NaiveBayes(numeric="gaussian").fit(
        sql("SELECT * FROM folds", there.source_of_rows(), push=True), "class"
    )
    assert (model.tally_.classes, model.tally_.families["sky"].values) == (("A", "a"), ("SUN", "Sun", "sun"))


def test_exact_sums_inside_the_database_can_be_forgotten_far_from_zero():
    """At a mean of 10^6 deviations plain sums of doubles lose a fifth of the variance."""
    rng = np.random.default_rng(0)
    table = pa.table(
        {"x": 1e6 + rng.normal(size=3000), "y": rng.normal(size=3000) * 1e-8, "class": rng.choice(["a", "b"], 3000)}
    )
    for kind in ("duckdb", "postgres"):
        there = database(kind)
        there.load("far", table)
        here = bk.NaiveBayes(numeric="gaussian").fit(table, "class")
        pushed = bk.NaiveBayes(numeric="gaussian").fit(
            sql("SELECT * FROM far", there.source_of_rows(), push=True), "class"
        )
        assert agree(pushed.tally_, here.tally_)
        assert pushed.table("x")["variance"] == here.table("x")["variance"]
        left = pushed.forget(table.slice(0, 2990), "class")
        assert agree(left.tally_, bk.NaiveBayes(numeric="gaussian").fit(table.slice(2990), "class").tally_)


def test_nothing_but_counts_leaves_the_server():
    there = database("postgres")
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "x": rng.normal(size=20_000),
            "s": rng.choice(["u", "v", "w"], 20_000),
            "class": rng.choice(["a", "b"], 20_000),
        }
    )
    there.load("many", table)
    source = sql("SELECT * FROM many", there.uri, push=True)
    brought = []
    inner = source.database.table
    source.database.table = lambda query: brought.append(inner(query)) or brought[-1]
    bk.NaiveBayes(numeric="gaussian").fit(source, "class")
    assert sum(answer.nbytes for answer in brought) < 0.01 * table.nbytes


# -- what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query", ["DROP TABLE days", "SELECT 1; SELECT 2", "INSERT INTO days VALUES (1)", "PRAGMA x", ""]
)
def test_only_one_select_is_run(shop, query):
    with pytest.raises(bk.BayesError, match=r"is not a SELECT|cannot be read as DuckDB"):
        sql(query, shop)
    assert duckdb.connect(str(shop), read_only=True).execute("SELECT COUNT(*) FROM days").fetchall() == [(4,)]


@pytest.mark.parametrize(
    "statement",
    ["INSERT INTO days SELECT * FROM days RETURNING *", "DELETE FROM days RETURNING *", "UPDATE days SET wind = 0"],
)
@pytest.mark.parametrize("push", [False, True])
def test_a_query_that_would_write_within_is_not_run(shop, statement, push):
    with duckdb.connect(str(shop)) as connection:
        with pytest.raises(bk.BayesError, match="is not a SELECT: rows are read, and nothing else is done"):
            bk.NaiveBayes(numeric="gaussian").fit(
                sql(f"WITH d AS ({statement}) SELECT * FROM d", connection, push=push), "play"
            )
        assert connection.execute("SELECT COUNT(*), MAX(wind) FROM days").fetchall() == [(4, 3.5)]


def test_an_unknown_table_or_column_is_told_with_the_database(shop):
    with pytest.raises(bk.BayesError, match=r"shop.duckdb: Catalog Error: Table with name nothing does not exist"):
        bk.NaiveBayes(numeric="gaussian").fit(sql("SELECT * FROM nothing", shop), "play")
    with pytest.raises(bk.BayesError, match="no target column 'plya'"):
        bk.NaiveBayes(numeric="gaussian").fit(sql("SELECT * FROM days", shop), "plya")


def test_two_columns_of_one_name_are_refused(shop):
    with pytest.raises(bk.BayesError, match="more than one column named sky"):
        bk.NaiveBayes(numeric="gaussian").fit(
            sql("SELECT sky, wind AS sky, play FROM days", duckdb.connect(str(shop), read_only=True)), "play"
        )


@pytest.mark.parametrize("place", ["shop", "corner_shop"])
def test_two_columns_that_are_one_to_a_database_that_folds_names_are_refused(place, request):
    """Both would be read from the first."""
    rows = sql('SELECT sky AS "x", wind AS "X", play FROM days', request.getfixturevalue(place))
    with pytest.raises(bk.BayesError, match="more than one column named x or X"):
        bk.NaiveBayes(numeric="gaussian").fit(rows, "play")


def test_a_table_that_changes_between_two_readings_is_refused(shop):
    connection = duckdb.connect(str(shop))
    source = sql("SELECT * FROM days", connection).with_target("play")
    assert sum(batch.n_rows for batch in source.batches()) == 4
    connection.execute("INSERT INTO days VALUES ('sun', 1, 'yes')")
    with pytest.raises(bk.BayesError, match="the rows changed between two readings, 4 and then 5"):
        list(source.batches())


class Interrupted(bk.NaiveBayes):
    """A model between whose two readings someone changes the table: for its cut points, and for its counts."""

    def _count_new(self, source, schema):
        type(self).change()
        return super()._count_new(source, schema)


CHANGES = ["UPDATE moving SET x = -x", "DELETE FROM moving WHERE x > 50", "INSERT INTO moving SELECT * FROM moving"]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("push", [False, True], ids=["streamed", "counted there"])
@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_a_fit_of_two_readings_is_of_the_rows_that_there_were_at_the_first(kind, push, change, monkeypatch):
    there = database(kind)
    rows = pa.table({"x": np.arange(100.0) ** 2 % 97, "play": np.arange(100) % 3})
    there.load("moving", rows)
    other = there.connection.cursor() if kind == "duckdb" else there
    monkeypatch.setattr(Interrupted, "change", staticmethod(lambda: other.execute(change)), raising=False)
    settings = {"numeric": "histogram", "cuts": 4}
    source = sql("SELECT * FROM moving", there.source_of_rows(), push=push)
    found = Interrupted(**settings).fit(source, "play")
    expected = bk.NaiveBayes(**settings).fit(rows, "play")
    assert found.schema_ == expected.schema_
    assert agree(found.tally_, expected.tally_)
    assert there.rows("SELECT COUNT(*), SUM(x) FROM moving") != [(100, sum(rows["x"].to_pylist()))]  # it did change
    other.execute("DELETE FROM moving")  # no transaction of ours is left open


@pytest.mark.parametrize("push", [False, True], ids=["streamed", "counted there"])
def test_a_transaction_of_ones_own_stays_open(shop, push):
    connection = duckdb.connect(str(shop))
    connection.execute("BEGIN")
    connection.execute("INSERT INTO days VALUES ('hail', 9, 'no')")
    assert (
        bk.NaiveBayes(numeric="gaussian").fit(sql("SELECT * FROM days", connection, push=push), "play").tally_.n_rows
        == 5
    )
    connection.execute("COMMIT")
    assert connection.execute("SELECT COUNT(*) FROM days").fetchall() == [(5,)]
    connection.close()


def test_a_file_of_sqlite_is_read_in_one_state(tmp_path, monkeypatch):
    path = tmp_path / "moving.sqlite"
    rows = pa.table({"x": np.arange(100.0) ** 2 % 97, "play": np.arange(100) % 3})
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("CREATE TABLE moving (x REAL, play INTEGER)")
    writer.executemany("INSERT INTO moving VALUES (?, ?)", zip(*rows.to_pydict().values(), strict=True))
    monkeypatch.setattr(
        Interrupted, "change", staticmethod(lambda: writer.execute("UPDATE moving SET x = -x")), raising=False
    )
    settings = {"numeric": "histogram", "cuts": 4}
    found = Interrupted(**settings).fit(sql("SELECT * FROM moving", path), "play")
    assert agree(found.tally_, bk.NaiveBayes(**settings).fit(rows, "play").tally_)
    assert writer.execute("SELECT MIN(x) FROM moving").fetchone()[0] < 0
    writer.close()


def test_a_connection_that_is_lost_half_way_is_an_error_and_nothing_is_learned():
    there = database("postgres")
    n = 200_000
    there.load("long", pa.table({"x": np.arange(n) * 1.0, "text": ["word " * 20] * n, "class": np.arange(n) % 2}))
    source = sql("SELECT * FROM long", there.uri).with_target("class")
    source.database.connection.adbc_connection.set_options()
    rows = source.batches()
    next(rows)
    reading = "query LIKE 'COPY%long%' AND pid <> PG_BACKEND_PID()"
    assert there.rows(f"SELECT PG_TERMINATE_BACKEND(pid) FROM pg_stat_activity WHERE {reading}") == [(True,)]
    with pytest.raises(bk.BayesError, match=r"(?i)terminat|connection|closed"):
        for _ in rows:
            pass


@pytest.mark.filterwarnings("ignore::bayeskit.AdviceWarning")
def test_a_column_like_an_id_is_refused_inside_the_database(shop):
    connection = duckdb.connect(str(shop))
    connection.execute("CREATE TABLE many AS SELECT 'row ' || range AS id, range % 2 AS class FROM range(1000)")
    with pytest.raises(bk.BayesError, match="column 'id' has more than 100 values"):
        bk.NaiveBayes(numeric="gaussian").fit(
            sql("SELECT * FROM many", connection, push=True, max_categories=100), "class"
        )


# -- what is secret -------------------------------------------------------------------------------------


UNESCAPED = "s3cr%t/w'rd"


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ann:{UNESCAPED}@127.0.0.1:1/shop?table=days",
        "postgresql://ann:s3cr%25t%2Fw%27rd@127.0.0.1:1/shop?table=days",
        "postgresql://127.0.0.1:1/shop?table=days&user=ann&password=s3cr%25t%2Fw%27rd",
        "postgresql://ann:s3cr?t@127.0.0.1:1/shop?table=days",
        "postgresql://ann:s3cr/x?t@127.0.0.1:1/shop?table=days",
        "POSTGRESQL://ann:s3cr@127.0.0.1:1/shop?table=days",
        "postgresql+psycopg2://ann:s3cr@127.0.0.1:1/shop?table=days",
        "host=127.0.0.1 password=s3cr dbname=shop",
    ],
)
def test_a_password_never_reaches_a_message_a_traceback_or_a_name(address, tmp_path):
    with pytest.raises(bk.BayesError) as told:
        bk.NaiveBayes(numeric="gaussian").fit(address, "play")
    whole = "".join(traceback.format_exception(told.value, chain=True)) + repr(vars(told.value))
    shown = whole.replace(address, "")  # the line of this test itself
    for secret in (UNESCAPED, "s3cr%25t", "s3cr"):
        assert secret not in str(told.value)
        assert secret not in shown.replace("UNESCAPED", "")
    assert told.value.__context__ is None
    if address.startswith("postgresql://"):
        assert "s3cr" not in repr(Address.of(address))
        return
    with pytest.raises(bk.BayesError, match="is not a database") as told:
        sql("SELECT 1", address)
    assert "s3cr" not in str(told.value)


def fit_from(address):
    bk.NaiveBayes(numeric="gaussian").fit(address, "play")


def read_files(address):
    from bayeskit.data.io.files import FileSource

    FileSource.of(address)


def read_query(address):
    list(sql("SELECT 1 AS x", address).batches())


@pytest.mark.parametrize("address", MISTYPED)
@pytest.mark.parametrize("work", [fit_from, read_files, read_query, bk.load], ids=lambda work: work.__name__)
def test_a_mistyped_address_is_told_without_its_password(work, address):
    with pytest.raises(bk.BayesError) as told:
        work(address)
    error = told.value
    frames = "".join(traceback.format_exception(error, chain=True))
    assert SECRET not in " ".join([str(error), repr(error.args), repr(vars(error)), frames])


def test_a_source_and_its_database_are_shown_without_a_password():
    there = database("postgres")
    there.load("days", DAYS)
    uri = there.uri.replace("bayes@", f"bayes:{SECRET}@")
    for source in (sql("SELECT * FROM days", uri), sql("SELECT * FROM days", uri, push=True).with_target("play")):
        shown = [repr(source), str(source), source.name, source.here, repr(source.database), repr(source.head)]
        assert SECRET not in " ".join(shown)


def test_a_password_never_reaches_a_model_file(tmp_path):
    there = database("postgres")
    there.load("days", DAYS)
    uri = there.uri.replace("bayes@", "bayes:hush-hush@") + "&table=days"
    model = bk.NaiveBayes(numeric="gaussian").fit(uri, "play")
    model.save(tmp_path / "days.bayes")
    assert b"hush" not in (tmp_path / "days.bayes").read_bytes()
    assert "hush" not in repr(model)
    with pytest.raises(bk.BayesError) as told:
        model.fit(uri.replace("table=days", "table=nothing"), "play")
    assert "hush" not in str(told.value)


def test_an_address_where_files_are_read_is_refused_without_what_is_secret():
    from bayeskit.data.io.files import FileSource

    with pytest.raises(bk.BayesError, match="postgresql://host/shop is a database, and files are read here"):
        FileSource.of("postgresql://ann:hush@host/shop")

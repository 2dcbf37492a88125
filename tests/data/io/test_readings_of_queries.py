"""Rows of a query that are read more than once: in whatever order they come, and whatever others do to the table."""

import sqlite3
from contextlib import ExitStack, closing

import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.data.io.sql import SqlSource
from bayeskit.engines import sql
from tests.databases import database

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.BayesWarning")
duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install 'bayeskit[sql]'")
N = 240


def rows():
    """Two columns that tell of the class, and its documents."""
    rng = np.random.default_rng(5)
    play = rng.choice(["no", "yes"], N)
    x = rng.integers(0, 8, N) + 3.0 * (play == "yes")
    sky = np.where(rng.random(N) < 0.7, np.where(play == "yes", "sun", "rain"), rng.choice(["sun", "rain", "fog"], N))
    return pa.table({"x": x, "sky": sky, "play": play})


TABLE = rows()
FITS = {
    "naive": bk.NaiveBayes(numeric="gaussian"),
    "cuts": bk.NaiveBayes(numeric="histogram", cuts="mdl"),
    "kinds": bk.NaiveBayes(numeric="auto"),
    "kernel": bk.NaiveBayes(numeric="kernel"),
    "TAN": bk.TAN(),
    "KDB": bk.KDB(k=1, selective=True),
    "AODE": bk.AODE(weights="log-linear"),
    "subclass": bk.SubclassBayes(n_subclasses=2, random_state=0),
    "NBTree": bk.NBTree(),
    "exponents": bk.DiscriminativeWeights(),
    "logistic": bk.LogisticRegression(),
    "calibrated": bk.Calibrated(),
    "best": bk.BayesClassifier(random_state=0),
}


def probabilities(model):
    return np.asarray(model.predict_proba(TABLE.drop_columns(["play"])))


def fitted(name, source):
    return bk.models.base.clone(FITS[name]).fit(source, "play")


@pytest.fixture(scope="module")
def shuffled():
    """A query whose rows come in another order at each reading."""
    with duckdb.connect() as connection:
        connection.register("given", TABLE)
        connection.execute("CREATE TABLE days AS SELECT * FROM given")
        yield lambda: sql("SELECT * FROM days ORDER BY RANDOM()", connection)


IN_ANY_ORDER = [name for name in FITS if name not in ("best", "subclass", "NBTree", "KDB", "calibrated")]  # which draw


@pytest.mark.parametrize("name", IN_ANY_ORDER)
def test_rows_that_come_in_another_order_at_each_reading_give_the_same_model(name, shuffled):
    expected = probabilities(fitted(name, TABLE))
    np.testing.assert_allclose(probabilities(fitted(name, shuffled())), expected, atol=1e-4)


def test_labels_and_scores_are_those_of_the_same_rows(shuffled):
    model = bk.NaiveBayes().fit(TABLE, "play")
    assert model.score(shuffled(), "play") == model.score(TABLE, "play")
    for found, expected in zip(
        model.log_likelihood(shuffled(), "play"), model.log_likelihood(TABLE, "play"), strict=True
    ):
        assert found == pytest.approx(expected, rel=1e-12)
    tuned = bk.NaiveBayes().tune(TABLE, "play")
    assert bk.NaiveBayes().tune(shuffled(), "play").temperature == pytest.approx(tuned.temperature, rel=1e-6)


def test_an_explanation_shows_the_cells_that_it_explains(shuffled):
    model = bk.NaiveBayes().fit(TABLE, "play")

    def shown(data):
        return sorted(
            (repr([(c.column, c.value) for c in e.contributions]), round(e.log_odds, 9)) for e in model.explain(data)
        )

    assert shown(shuffled()) == shown(TABLE)


# -- a table that changes meanwhile ------------------------------------------------------------------


def postgres_source(place, begin=None, **settings):
    import adbc_driver_postgresql.dbapi as adbc

    there = database("postgres")
    there.load("moving", TABLE)
    if begin is None:
        return sql("SELECT * FROM moving", there.uri), there.execute
    connection = place.enter_context(closing(adbc.connect(there.uri, **settings)))
    if begin:
        with connection.cursor() as cursor:
            cursor.execute(begin)
    return sql("SELECT * FROM moving", connection), there.execute


def sqlite_source(place, folder, own=False, **settings):
    import adbc_driver_sqlite.dbapi as adbc

    path = folder / "moving.sqlite"
    writer = place.enter_context(closing(sqlite3.connect(path, isolation_level=None)))
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("CREATE TABLE moving (x REAL, sky TEXT, play TEXT)")
    writer.executemany("INSERT INTO moving VALUES (?, ?, ?)", zip(*TABLE.to_pydict().values(), strict=True))
    there = place.enter_context(closing(adbc.connect(str(path), **settings))) if own else path
    return sql("SELECT * FROM moving", there), writer.execute


def duckdb_source(place):
    there = database("duckdb")
    there.load("moving", TABLE)
    return sql("SELECT * FROM moving", there.connection), there.connection.cursor().execute


KEPT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
PLACES = {
    "duckdb": lambda place, folder: duckdb_source(place),
    "postgres": lambda place, folder: postgres_source(place),
    "a connection to postgres": lambda place, folder: postgres_source(place, "", autocommit=True),
    "a transaction of postgres": lambda place, folder: postgres_source(place, KEPT),
    "a transaction of postgres that sees changes": lambda place, folder: postgres_source(place, ""),
    "sqlite": sqlite_source,
    "a connection to sqlite": lambda place, folder: sqlite_source(place, folder, True, autocommit=True),
    "a transaction of sqlite": lambda place, folder: sqlite_source(place, folder, True),
}
READ_ONCE = ("naive", "kernel", "AODE", "subclass", "exponents", "logistic", "calibrated", "best")
UNSEEN = "UPDATE moving SET x = -x, play = CASE WHEN x > 5 THEN 'no' ELSE 'yes' END"  # as many rows as before


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("place", PLACES)
def test_a_fit_is_of_one_state_of_the_table_or_refused(place, name, tmp_path, monkeypatch):
    inner, readings = SqlSource.batches, []
    with ExitStack() as stack:
        source, execute = PLACES[place](stack, tmp_path)

        def batches(self):
            yield from inner(self)
            readings.append(1)
            if len(readings) == 1:
                execute(UNSEEN)

        monkeypatch.setattr(SqlSource, "batches", batches)
        if place == "a transaction of postgres that sees changes" and name not in READ_ONCE:
            with pytest.raises(bk.BayesError, match="rows could change between two readings of a fit"):
                fitted(name, source)
            return
        found = probabilities(fitted(name, source))
        np.testing.assert_allclose(found, probabilities(fitted(name, TABLE)), atol=1e-12)
        execute("DELETE FROM moving")  # no transaction of ours is left open


def test_documents_of_a_query_are_of_one_state(tmp_path, monkeypatch):
    table = pa.table({"text": ["good film", "bad film", "dull", "fine play"] * 10, "class": ["+", "-", "-", "+"] * 10})
    there = database("postgres")
    for recipe in ("multinomial", "tfidf", "auto"):
        there.load("films", table)
        inner, readings = SqlSource.batches, []

        def batches(self, inner=inner, readings=readings):
            yield from inner(self)
            readings.append(1)
            if len(readings) == 1:
                there.execute("UPDATE films SET text = text || ' more'")

        with monkeypatch.context() as patched:
            patched.setattr(SqlSource, "batches", batches)
            found = bk.TextClassifier(recipe, column="text").fit(sql("SELECT * FROM films", there.uri), "class")
        expected = bk.TextClassifier(recipe, column="text").fit(table, "class")
        texts = ["good play", "dull film", "more"]
        np.testing.assert_allclose(found.predict_proba(texts), expected.predict_proba(texts), atol=1e-9)

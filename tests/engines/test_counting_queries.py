"""Counting inside a database: queries that change their rows, and collations that fold texts."""

import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.engines import sql
from tests.databases import database

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.AdviceWarning")

DRAWN = {
    "duckdb": [
        "SELECT * FROM draws USING SAMPLE 40%",
        "SELECT * FROM draws TABLESAMPLE 40%",
        "SELECT * FROM draws WHERE random() < 0.5",
        "SELECT * FROM draws ORDER BY random() LIMIT 100",
        "SELECT * FROM (SELECT * FROM draws TABLESAMPLE 40% REPEATABLE (1)) ORDER BY random() LIMIT 100",
        "SELECT * FROM drawn_view",
    ],
    "postgres": [
        "SELECT * FROM draws TABLESAMPLE BERNOULLI (40)",
        "SELECT * FROM draws WHERE random() < 0.5",
        "SELECT * FROM draws ORDER BY random() LIMIT 100",
        "SELECT * FROM drawn_view",
    ],
}


@pytest.mark.parametrize(("kind", "query"), [(kind, query) for kind, queries in DRAWN.items() for query in queries])
def test_counting_refuses_a_query_that_gives_other_rows_each_time(kind, query):
    there = database(kind)
    labels = ["a", "b", "c", "d"] * 500
    there.execute("DROP VIEW IF EXISTS drawn_view")
    there.load("draws", pa.table({"x": list(range(2_000)), "v": labels[::-1], "y": labels}))
    there.execute("CREATE VIEW drawn_view AS SELECT * FROM draws WHERE random() < 0.5")
    model = bk.NaiveBayes(numeric="gaussian")
    with pytest.raises(bk.BayesError, match=r"other rows each time|draws its rows") as refused:
        model.fit(sql(query, there.source_of_rows(), push=True), "y")
    assert "without push=True" in refused.value.hint
    assert not hasattr(model, "tally_")


@pytest.mark.parametrize("role", ["categorical", "numeric"])
def test_counting_keeps_texts_apart_under_a_collation_without_case(role):
    duckdb = pytest.importorskip("duckdb")
    table = pa.table({"v": ["a", "A", "a", None], "x": [1.0, 2.0, 3.0, 4.0], "y": ["no", "No", "NO", "no"]})
    connection = duckdb.connect()
    connection.execute("SET default_collation = 'NOCASE'")
    connection.register("given", table)
    connection.execute("CREATE TABLE days AS SELECT * FROM given")
    model = bk.NaiveBayes(numeric="gaussian", roles={"x": role}).fit(
        sql("SELECT * FROM days", connection, push=True), "y"
    )
    assert model.tally_ == bk.NaiveBayes(numeric="gaussian", roles={"x": role}).fit(table, "y").tally_
    assert model.tally_.classes == ("NO", "No", "no")
    assert model.tally_.families["v"].values == ("A", "a")

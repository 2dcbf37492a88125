"""Queries of wide tables and many classes: within the limits of a database, or refused before they are sent."""

import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from tests.databases import database as shared
from tests.export.test_scores import NEAR

pytestmark = pytest.mark.slow


def table_of(columns, n):
    return pa.table({**columns, "key": pa.array(range(n))})


def check(model, rows, labels, dialect):
    there = shared(dialect)
    model.fit(rows.drop("key"), labels)
    there.load("wide", rows)
    found = sorted(there.rows(model.to_sql("wide", dialect=dialect, keys="key").query))
    assert np.abs(np.array([row[2:] for row in found]) - model.predict_proba(rows)).max() < NEAR


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "sqlite"])
def test_a_query_of_many_numbers_nests_sums_and_functions(dialect):
    rng = np.random.default_rng(0)
    rows = table_of({f"n{i}": rng.normal(size=12) for i in range(150)}, 12)
    check(bk.NaiveBayes(numeric="gaussian"), rows, ["u", "v", "w"] * 4, dialect)


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "sqlite"])
def test_a_query_of_many_classes_nests_functions(dialect):
    rows = table_of({"x": ["a", "b", "c"] * 100, "n": np.random.default_rng(0).normal(size=300)}, 300)
    check(bk.NaiveBayes(numeric="gaussian"), rows, [f"c{i:03}" for i in range(150)] * 2, dialect)


@pytest.mark.parametrize(("dialect", "most"), [("postgres", "1,664"), ("sqlite", "2,000")])
def test_a_query_with_more_columns_than_a_database_takes_is_refused(dialect, most):
    rng = np.random.default_rng(0)
    model = bk.NaiveBayes(numeric="gaussian").fit({f"n{i}": rng.normal(size=8) for i in range(600)}, ["u", "v"] * 4)
    with pytest.raises(bk.BayesError, match=f"takes {most}") as refused:
        model.to_sql("wide", dialect=dialect, keys="key")
    assert "fewer columns" in refused.value.hint


def test_a_lookup_table_of_postgres_is_written_as_arrays():
    values = [f"v{i}" for i in range(500)]
    model = bk.NaiveBayes(numeric="gaussian").fit({"x": values * 2}, ["a"] * 500 + ["b"] * 500)
    query = model.to_sql("t", dialect="postgres", keys="key").query
    assert "VALUES" not in query
    assert len(query) < 40_000

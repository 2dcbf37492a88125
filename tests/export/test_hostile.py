"""Names, values and model files cannot say more than they are: whatever is in them, a query only reads."""

import re
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.data.io.sql_syntax import DIALECTS
from tests.export.test_scores import NEAR

sqlglot = pytest.importorskip("sqlglot", reason="sqlglot is not installed: pip install '.[sql]'")

NAMES = [
    'a"b',
    "select",
    "back`tick",
    "x.y",
    "größe ☃",
    "it's",
    "semi; DROP TABLE victim; --",
    "\\",
    "a/*b",
    "ends */ DROP TABLE victim; /*",
    "two\nlines -- \r\n",
    "$1",
    "%s",
]
VALUES = [
    "'; DROP TABLE victim; --", "\\'; DROP TABLE victim; --", '"', "`", "\\", "\\\\", "''", "'", "a\nb", "a\tb", "--",
    "/*", "*/", "", "NULL", "null", "☃", "ß", "$$", "${x}", "{{x}}", "%(x)s", "?", ":x", "\r\n", "e'\\x27'", "\x7f",
    "x\x00y",
]  # fmt: skip
PER_TABLE = 4  # columns: names are tried in groups


def hostile_rows(names, dialect, n=90):
    rng = np.random.default_rng(1)
    values = [value for value in VALUES if "\x00" not in value or dialect == "duckdb"]
    y = rng.integers(0, 2, n)
    columns = {
        name: pa.array([values[(i * 7 + j + y[i]) % len(values)] for i in range(n)]) for j, name in enumerate(names)
    }
    return pa.table(columns), np.array(["no'; --", 'yes"\\'], dtype=object)[y]


def hostile_groups(dialect):
    """Names by the handful; all of them at once in Spark, whose queries take seconds."""
    return [NAMES] if dialect == "spark" else [NAMES[i : i + PER_TABLE] for i in range(0, len(NAMES), PER_TABLE)]


def test_nothing_in_a_name_or_a_value_is_more_than_it_is(database):
    database.load("victim", pa.table({"x": [1]}))
    for names in hostile_groups(database.dialect):
        rows, labels = hostile_rows(names, database.dialect)
        model = bk.NaiveBayes().fit(rows, labels)
        keyed = rows.append_column("key", pa.array(range(rows.num_rows)))
        database.load("hostile", keyed)
        record = model.to_sql("hostile", dialect=database.dialect, keys="key")
        found = sorted(database.rows(record.query))
        assert np.abs(np.array([row[2:] for row in found]) - model.predict_proba(rows)).max() < NEAR
        assert [row[1] for row in found] == model.predict(rows).tolist()
    assert database.rows("SELECT x FROM victim") == [(1,)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_query_is_one_select_whatever_the_model_file_holds(dialect, tmp_path):
    names = [name for name in NAMES if "\x00" not in name]
    rows, labels = hostile_rows(names, "duckdb")
    bk.NaiveBayes().fit(rows, labels).save(tmp_path / "stranger.bayes")
    model = bk.load(tmp_path / "stranger.bayes")
    query = model.to_sql('my"";table', dialect=dialect, keys="key; --", evidence=True).query
    statements = sqlglot.parse(query, read=dialect)
    assert len(statements) == 1
    assert isinstance(statements[0], sqlglot.exp.Select)
    doing = (sqlglot.exp.DDL, sqlglot.exp.DML, sqlglot.exp.Command)
    assert not [
        node for node in statements[0].walk() if isinstance(node, doing) and not isinstance(node, sqlglot.exp.Query)
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_column_and_class_has_a_comment_that_nothing_in_a_name_ends(dialect):
    names = ["body mass (g)", "*/ 1 /*", "-- a\nb", "?:x%s'\""]
    rows = {name: ["u", "v", "u", "u"] for name in names} | {"age": [1.5, 2.5, 4.0, 7.0]}
    model = bk.NaiveBayes(numeric="gaussian").fit(rows, ["no */", "yes", "no */", "yes"])
    query = model.to_sql("t", dialect=dialect, keys="key").query
    comments = re.findall(r"/\* ([\w .,()=<>-]*) \*/", query)
    of_columns = ["body mass (g) (text)", "__ 1 __ (text)", "-- a_b (text)", "__x_s__ (text)", "age (number)"]
    assert comments[:6] == ["key key", *of_columns]
    assert [text for text in comments if text.startswith("score")] == ["score of no __", "score of yes"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_texts_hold_no_character_that_a_setting_could_read_as_an_escape(dialect):
    """Backslashes escape in some databases under some settings; so none stands in a query at all."""
    rows, labels = hostile_rows(["a"], "duckdb")
    labels = [label.strip("\\") for label in labels]  # a class names a column, too, and names have no escapes
    query = bk.NaiveBayes().fit(rows, labels).to_sql("t", dialect=dialect, keys="key").query
    assert "\\" not in query
    assert "\x00" not in query


def test_a_name_in_which_spark_would_put_a_variable_is_refused():
    model = bk.NaiveBayes().fit({"${env:HOME}": ["a", "b"]}, ["${x}", "y"])
    assert "p_$x}" in model.to_sql("t", keys="key").query
    with pytest.raises(bk.BayesError, match="Spark would replace"):
        model.to_sql("t", dialect="spark", keys="key")


@pytest.mark.parametrize("name", ["", "a\x00b"])
def test_a_name_that_no_database_can_hold_is_refused(name):
    model = bk.NaiveBayes().fit({"x": ["a", "b"]}, [0, 1])
    with pytest.raises(bk.BayesError, match="is not a name that a database can hold"):
        model.to_sql("t", keys="key", columns={"x": name})


@pytest.mark.parametrize("dialect", DIALECTS)
def test_columns_that_are_one_to_a_database_are_given_other_names(dialect):
    model = bk.NaiveBayes().fit({"x": ["a", "b"], "X": ["b", "b"]}, [0, 1])
    if dialect == "postgres":
        assert '"t"."X"' in model.to_sql("t", dialect=dialect, keys="key").query
        return
    with pytest.raises(bk.BayesError, match="takes 'x' and 'X' for one column: say by columns="):
        model.to_sql("t", dialect=dialect, keys="key")
    assert "x_2" in model.to_sql("t", dialect=dialect, keys="key", columns={"X": "x_2"}).query


def test_case_is_not_folded_by_a_collation(database):
    if database.dialect == "spark":
        pytest.skip("a temporary view has no collations")
    model = bk.NaiveBayes().fit({"sky": ["Sun", "sun", "SUN", "sun"]}, ["a", "b", "a", "b"])
    folding = {
        "duckdb": "CREATE OR REPLACE TABLE folding (id INT, sky VARCHAR COLLATE NOCASE)",
        "sqlite": "CREATE TABLE folding (id INT, sky TEXT COLLATE NOCASE)",
        "postgres": "CREATE TABLE folding (id INT, sky TEXT COLLATE folded)",
    }
    if database.dialect == "postgres":
        rule = "provider = icu, locale = 'und-u-ks-level2', deterministic = false"
        database.execute(f"CREATE COLLATION IF NOT EXISTS folded ({rule})")
    database.execute("DROP TABLE IF EXISTS folding")
    database.execute(folding[database.dialect])
    database.execute("INSERT INTO folding VALUES (0, 'sun'), (1, 'Sun'), (2, 'sUn')")
    assert database.rows("SELECT COUNT(*) FROM folding WHERE sky = 'SUN'") == [(3,)]  # the table folds
    found = sorted(database.rows(model.to_sql("folding", dialect=database.dialect, keys="id").query))
    expected = model.predict_proba({"sky": ["sun", "Sun", "sUn"]})
    assert np.abs(np.array([row[2:] for row in found]) - expected).max() < NEAR


def test_numbers_where_texts_were_learned_are_refused(database):
    """By the database, or row by row where it has no types."""
    model = bk.NaiveBayes().fit({"code": ["1", "2", "1", "2"]}, ["a", "b", "a", "b"])
    database.load("numbers", pa.table({"id": [0, 1], "code": [1, 2]}))
    query = model.to_sql("numbers", dialect=database.dialect, keys="id").query
    if database.dialect == "sqlite":
        assert sorted(database.rows(query)) == [(0, None, None, None), (1, None, None, None)]
    else:
        with pytest.raises(Exception, match=r"(?i)encode|collat"):
            database.rows(query)


def test_texts_where_numbers_were_learned_are_refused(database):
    model = bk.NaiveBayes(roles={"code": "categorical"}).fit({"code": [1, 2, 1, 2]}, ["a", "b", "a", "b"])
    database.load("texts", pa.table({"id": [0], "code": ["1"]}))
    query = model.to_sql("texts", dialect=database.dialect, keys="id").query
    if database.dialect in ("sqlite", "spark"):
        assert database.rows(query) == [(0, None, None, None)]
    else:
        with pytest.raises(Exception, match=r"(?i)operator|no function matches"):
            database.rows(query)


def test_an_infinite_number_makes_no_scores(database):
    model = bk.NaiveBayes().fit({"x": [1.0, 2.0, 5.0, 6.0]}, ["a", "a", "b", "b"])
    database.load("wild", pa.table({"id": [0, 1, 2, 3, 4], "x": [np.inf, -1e200, np.nan, None, 1e-170]}))
    found = sorted(database.rows(model.to_sql("wild", dialect=database.dialect, keys="id").query))
    assert [row[1:] for row in found[:2]] == [(None, None, None)] * 2
    assert np.abs(np.array([row[2:] for row in found[2:4]]) - 0.5).max() < NEAR  # missing: the prior
    assert np.abs(np.array(found[4][2:]) - model.predict_proba({"x": [1e-170]})).max() < NEAR


def test_unseen_values_are_refused_row_by_row_where_the_model_refuses_them(database):
    if database.dialect == "spark":
        pytest.skip("asked of the others: Spark's queries take seconds")
    rows = {"sky": ["sun", "rain", "sun", "rain"], "wind": ["w", "w", "s", "s"]}
    for model in (bk.NaiveBayes(unseen="error"), bk.TAN(unseen="error")):
        model.fit(rows, ["a", "b", "a", "b"])
        asked = pa.table({"id": [0, 1, 2], "sky": ["hail", "sun", None], "wind": ["w", "w", "w"]})
        database.load("asked", asked)
        found = sorted(database.rows(model.to_sql("asked", dialect=database.dialect, keys="id").query))
        assert [row[1] is None for row in found] == [True, False, False]


def test_truths_and_large_whole_numbers_are_compared_exactly(database):
    if database.dialect == "spark":
        pytest.skip("asked of the others: Spark's queries take seconds")
    large = [2**53, 2**53 + 1, 2**53, 2**53 + 1]
    rows = pa.table({"number": large, "ill": [True, False, True, True]})
    model = bk.NaiveBayes(roles={"number": "categorical"}).fit(rows, [0, 1, 0, 1])
    database.load("large", rows.append_column("id", pa.array([0, 1, 2, 3])))
    found = sorted(database.rows(model.to_sql("large", dialect=database.dialect, keys="id").query))
    assert np.abs(np.array([row[2:] for row in found]) - model.predict_proba(rows)).max() < NEAR
    assert [row[1] for row in found] == model.predict(rows).tolist()


@pytest.mark.parametrize("name", ["cells", "SCORES", "best", "_best", "l0", "_l0", "powers", "t", "r"])
def test_a_table_may_be_named_like_a_step_of_the_query(database, name):
    if database.dialect == "spark" and name != "l0":
        pytest.skip("asked of the others: Spark's queries take seconds")
    rows = pa.table({"s": [f"v{i % 30}" for i in range(90)], "x": np.arange(90.0)})
    model = bk.NaiveBayes().fit(rows, ["ab"[i % 3 == 0] for i in range(90)])
    database.load(name, rows.append_column("id", pa.array(range(90))))
    found = sorted(database.rows(model.to_sql(f'"{name}"', dialect=database.dialect, keys="id").query))
    assert np.abs(np.array([row[2:] for row in found]) - model.predict_proba(rows)).max() < NEAR


@pytest.mark.parametrize("n", [2, 200], ids=["told apart by CASE", "looked up"])
def test_a_double_is_not_taken_for_a_whole_number_that_it_cannot_hold(database, n):
    """2^53 + 1 is not a double: a database that compares as doubles would take 2^53 for it."""
    if database.dialect == "spark":
        pytest.skip("asked of the others: Spark's queries take seconds")
    learned = pa.table({"number": pa.array([2**53 + 1 + i % n for i in range(3 * n)], pa.int64())})
    model = bk.NaiveBayes(roles={"number": "categorical"}).fit(learned, ["ab"[i % n == 0] for i in range(3 * n)])
    asked = pa.table({"number": pa.array([2.0**53, 1.0, None])})
    database.load("doubles", asked.append_column("id", pa.array(range(3))))
    found = sorted(database.rows(model.to_sql("doubles", dialect=database.dialect, keys="id").query))
    expected = model.predict_proba(asked)
    assert found[0][2] is None or np.abs(np.array(found[0][2:]) - expected[0]).max() < NEAR
    assert np.abs(np.array([row[2:] for row in found[1:]], dtype=float) - expected[1:]).max() < NEAR


@pytest.mark.parametrize("n", [2, 200], ids=["told apart by CASE", "looked up"])
@pytest.mark.parametrize("dtype", ["uint64", "float64"])
def test_whole_numbers_beyond_64_bits_are_compared_exactly(database, dtype, n):
    if database.dialect == "spark":
        pytest.skip("asked of the others: Spark's queries take seconds")
    if dtype == "uint64" and database.dialect != "duckdb":
        pytest.skip("asked of DuckDB, which has such numbers")
    step, kind = 1 if dtype == "uint64" else 2**12, partial(np.array, dtype=dtype)
    rows = pa.table({"number": pa.array(kind([2**63 + step * (i % n) for i in range(3 * n)]))})
    model = bk.NaiveBayes(roles={"number": "categorical"}).fit(rows, ["ab"[i % n == 0] for i in range(3 * n)])
    asked = pa.table({"number": pa.array(kind([2**63, 2**63 + step, 2**63 + step * n, 3]))})
    database.load("beyond", asked.append_column("id", pa.array(range(4))))
    found = sorted(database.rows(model.to_sql("beyond", dialect=database.dialect, keys="id").query))
    assert np.abs(np.array([row[2:] for row in found]) - model.predict_proba(asked)).max() < NEAR


@pytest.mark.parametrize("n", [2, 200], ids=["told apart by CASE", "looked up"])
def test_what_is_no_number_is_missing_among_whole_numbers_too(database, n):
    if database.dialect == "spark":
        pytest.skip("asked of the others: Spark's queries take seconds")
    rows = pa.table({"k": pa.array([float(i % n) for i in range(3 * n)] + [np.nan] * n)})
    model = bk.NaiveBayes(roles={"k": "categorical"}, missing="value").fit(rows, ["a"] * 3 * n + ["b"] * n)
    asked = pa.table({"k": pa.array([np.nan, 1.0, -7.0, None])})
    database.load("gaps", asked.append_column("id", pa.array(range(4))))
    found = sorted(database.rows(model.to_sql("gaps", dialect=database.dialect, keys="id").query))
    assert np.abs(np.array([row[2:] for row in found]) - model.predict_proba(asked)).max() < NEAR


def test_truths_among_many_whole_numbers_are_ones(database):
    if database.dialect == "spark":
        pytest.skip("asked of the others: Spark's queries take seconds")
    values = np.array([True, *range(2, 200)] * 2, dtype=object)
    model = bk.NaiveBayes(roles={"k": "categorical"}).fit({"k": values}, ["a", "b"] * 199)
    database.load("truths", pa.table({"id": [0, 1], "k": [1, 2]}))
    found = sorted(database.rows(model.to_sql("truths", dialect=database.dialect, keys="id").query))
    assert np.abs(np.array([row[2:] for row in found]) - model.predict_proba({"k": [1, 2]})).max() < NEAR


def test_a_class_that_sqlite_would_round_is_refused():
    model = bk.NaiveBayes().fit({"k": ["a", "b"]}, np.array([2**63 + 5, 2**63 + 6], dtype=np.uint64))
    assert str(2**63 + 5) in model.to_sql("t", dialect="duckdb", keys="id").query
    with pytest.raises(bk.BayesError, match="class 9223372036854775813 is beyond the whole numbers of SQLite"):
        model.to_sql("t", dialect="sqlite", keys="id")

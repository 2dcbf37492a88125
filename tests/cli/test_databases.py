"""Models from databases and into them, at the command line."""

import json
import subprocess
import sys

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.datasets import load_worked_example
from tests.databases import database

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install 'bayeskit[sql]'")
DAYS = load_worked_example("tennis")


@pytest.fixture
def folder(tmp_path):
    """A database with a table of days, and a model of them."""
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.register("given", DAYS)
        connection.execute("CREATE TABLE days AS SELECT ROW_NUMBER() OVER () AS day, * FROM given")
    bk.NaiveBayes().fit(DAYS, "play").save(tmp_path / "days.bayes")
    return tmp_path


def bayes(folder, *words, fails=False):
    """What a command prints, on both streams where it fails."""
    run = subprocess.run([sys.executable, "-m", "bayeskit.cli", *words], cwd=folder, capture_output=True, text=True)
    assert bool(run.returncode) == fails, run.stderr
    return run.stderr if fails else run.stdout


QUERY = "SELECT outlook, temperature, humidity, wind, play FROM days"


def test_a_query_is_fitted_learnt_forgotten_evaluated_and_predicted(folder):
    told = bayes(folder, "fit", "shop.duckdb", "--sql", QUERY, "-t", "play", "-o", "there.bayes")
    assert "shop.duckdb: 14 rows, 2 classes of play" in told
    assert bk.load(folder / "there.bayes").tally_ == bk.load(folder / "days.bayes").tally_
    windy = ["shop.duckdb", "--sql", f"{QUERY} WHERE wind = 'strong'"]
    assert "14 − 6 = 8 rows" in bayes(folder, "forget", "there.bayes", *windy)
    assert "8 + 6 = 14 rows" in bayes(folder, "learn", "there.bayes", *windy)
    assert "accuracy" in bayes(folder, "evaluate", "there.bayes", "shop.duckdb", "--sql", QUERY)
    assert bayes(folder, "predict", "there.bayes", "shop.duckdb", "--sql", QUERY).count("\n") == 15


def test_a_database_counts_itself_on_wish(folder):
    bayes(folder, "fit", "shop.duckdb", "--sql", QUERY, "-t", "play", "-o", "there.bayes", "--push")
    assert bk.load(folder / "there.bayes").tally_ == bk.load(folder / "days.bayes").tally_


def test_a_table_of_postgres_is_fitted_by_its_address_and_its_password_is_not_shown(folder):
    there = database("postgres")
    there.load("days", DAYS)
    address = there.uri.replace("bayes@", "bayes:hush-hush@") + "&table=days"
    told = bayes(folder, "fit", address, "-t", "play", "-o", "there.bayes")
    assert "14 rows" in told
    assert "hush" not in told
    assert bk.load(folder / "there.bayes").tally_ == bk.load(folder / "days.bayes").tally_
    for words in (
        ["fit", address, "-t", "plya"],
        ["predict", "days.bayes", address, "--columns", "a"],
        ["fit", address, "--text", "wind", "-t", "play"],
    ):
        assert "hush" not in bayes(folder, *words, fails=True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["fit", "shop.duckdb", "-t", "play"], "which table of shop.duckdb?: --sql 'SELECT * FROM …'"),
        (["fit", "days.csv", "--sql", "SELECT 1", "-t", "play"], "--sql asks a database"),
        (["fit", "shop.duckdb", "--sql", "DROP TABLE days", "-t", "play"], "is no SELECT"),
        (["fit", "shop.duckdb", "--sql", QUERY, "--decimal", ",", "-t", "play"], "cast them in --sql"),
        (["fit", "shop.duckdb", "other.csv", "--sql", QUERY, "-t", "play"], "name it alone"),
        (["export", "days.bayes"], "give one of --sql, --onnx and --json"),
        (["export", "days.bayes", "--sql", "duckdb", "--table", "days"], "a query needs"),
        (["export", "days.bayes", "--sql", "oracle", "--table", "days", "--key", "day"], "dialect='oracle'"),
        (["export", "days.bayes", "--json", "--key", "day"], "it goes with --sql"),
    ],
)  # fmt: skip
def test_what_will_not_do_is_said(folder, words, told):
    assert told in " ".join(bayes(folder, *words, fails=True).replace("│", " ").split())


def test_a_model_that_cannot_be_carried_says_why(folder):
    bk.AODE().fit(DAYS, "play").save(folder / "aode.bayes")
    said = bayes(folder, "export", "aode.bayes", "--json", fails=True)
    assert "AODE cannot be carried elsewhere: what it says of a row is no sum over columns" in said


def test_an_exported_query_scores_the_table(folder):
    bayes(
        folder,
        "export",
        "days.bayes",
        "--sql",
        "duckdb",
        "--table",
        "days",
        "--key",
        "day",
        "--evidence",
        "-o",
        "days.sql",
    )
    with duckdb.connect(str(folder / "shop.duckdb"), read_only=True) as shop:
        found = sorted(shop.execute((folder / "days.sql").read_text("utf-8")).fetchall())
    expected = bk.load(folder / "days.bayes").predict_proba(DAYS)
    assert np.abs(np.array([row[2:4] for row in found]) - expected).max() < 1e-12


def test_numbers_and_onnx_are_written_to_files_or_to_standard_output(folder):
    assert json.loads(bayes(folder, "export", "days.bayes", "--json"))["classes"] == ["no", "yes"]
    bayes(folder, "export", "days.bayes", "--onnx", "-o", "days.onnx")
    assert (folder / "days.onnx").read_bytes() == bk.load(folder / "days.bayes").to_onnx()

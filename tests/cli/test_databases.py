"""Models from databases and into them, at the command line."""

import numpy as np
import pytest
from pyarrow.csv import write_csv

import bayeskit as bk
from bayeskit.cli import main
from bayeskit.datasets import load_worked_example
from tests.databases import MISTYPED, SECRET, database

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install '.[sql]'")
DAYS = load_worked_example("tennis")


@pytest.fixture
def folder(here):
    """A database with a table of days, and a model of them."""
    with duckdb.connect("shop.duckdb") as connection:
        connection.register("given", DAYS)
        connection.execute("CREATE TABLE days AS SELECT ROW_NUMBER() OVER () AS day, * FROM given")
    bk.NaiveBayes().fit(DAYS, "play").save("days.bayes")
    return here


QUERY = "SELECT outlook, temperature, humidity, wind, play FROM days"


def test_a_query_is_fitted_learned_forgotten_evaluated_and_predicted(folder, bayes):
    told = bayes("fit", "shop.duckdb", "--query", QUERY, "-t", "play", "-o", "there.bayes").out
    assert "shop.duckdb: 14 rows, 2 classes of play" in told
    assert bk.load(folder / "there.bayes").tally_ == bk.load(folder / "days.bayes").tally_
    windy = ["shop.duckdb", "--query", f"{QUERY} WHERE wind = 'strong'"]
    assert "14 − 6 = 8 rows" in bayes("forget", "there.bayes", *windy).out
    assert "8 + 6 = 14 rows" in bayes("learn", "there.bayes", *windy).out
    assert "accuracy" in bayes("evaluate", "there.bayes", "shop.duckdb", "--query", QUERY).out
    assert bayes("predict", "there.bayes", "shop.duckdb", "--query", QUERY).out.count("\n") == 15


def test_models_are_compared_on_a_query_and_on_a_pipe(folder, bayes):
    words = ("-t", "play", "--models", "naive,tree", "--folds", 3, "--json")
    asked = bayes("compare", "shop.duckdb", "--query", QUERY, *words).json
    piped = bayes("compare", "-", *words, stdin=(folder / "tennis.csv").read_bytes()).json
    read = bayes("compare", "tennis.csv", *words).json
    assert asked["rows"] == piped["rows"] == read["rows"] == [14]
    assert asked["log_loss"] == piped["log_loss"] == read["log_loss"]


def test_a_database_counts_itself_on_wish(folder, bayes):
    bayes("fit", "shop.duckdb", "--query", QUERY, "-t", "play", "-o", "there.bayes", "--push")
    assert bk.load(folder / "there.bayes").tally_ == bk.load(folder / "days.bayes").tally_


def test_a_table_of_postgres_is_fitted_by_its_address_and_its_password_is_not_shown(folder, bayes):
    there = database("postgres")
    there.load("days", DAYS)
    address = there.uri.replace("bayes@", "bayes:hush-hush@") + "&table=days"
    said = bayes("fit", address, "-t", "play", "-o", "there.bayes")
    told = said.out + said.err
    assert "14 rows" in told
    assert "hush" not in told
    assert bk.load(folder / "there.bayes").tally_ == bk.load(folder / "days.bayes").tally_
    for words in (
        ["fit", address, "-t", "plya"],
        ["predict", "days.bayes", address, "--columns", "a"],
        ["fit", address, "extra.csv", "-t", "play"],
    ):
        assert "hush" not in bayes(*words, code=1).err


COMMANDS = [
    ["fit", "ADDRESS", "-t", "play"],
    ["fit", "ADDRESS", "-t", "play", "--push", "--query", "SELECT 1 AS play"],
    ["fit", "days.csv", "-t", "play", "-o", "ADDRESS/x"],
    ["predict", "days.bayes", "ADDRESS"],
    ["learn", "days.bayes", "ADDRESS"],
    ["forget", "days.bayes", "ADDRESS", "days.bayes"],
    ["evaluate", "days.bayes", "ADDRESS"],
    ["inspect", "ADDRESS"],
    ["explain", "ADDRESS", "days.csv"],
    ["topics", "fit", "ADDRESS"],
    ["ADDRESS"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_mistyped_address_is_told_without_its_password(folder, bayes, words, monkeypatch, capfd):
    write_csv(DAYS, "days.csv")
    for address in MISTYPED:
        monkeypatch.setattr("sys.argv", ["bayes", *(word.replace("ADDRESS", address) for word in words)])
        with pytest.raises(SystemExit):
            main()
        said = capfd.readouterr()
        assert SECRET not in said.out + said.err, address
        assert "Traceback" not in said.err
    assert not [path for path in folder.rglob("*") if SECRET in path.name]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["fit", "shop.duckdb", "-t", "play"], "which table of shop.duckdb? Give a query: --query 'SELECT * FROM …'"),
        (["fit", "days.csv", "--query", "SELECT 1", "-t", "play"], "--query asks a database"),
        (["fit", "shop.duckdb", "--query", "DROP TABLE days", "-t", "play"], "is not a SELECT"),
        (["fit", "shop.duckdb", "--query", QUERY, "--decimal", ",", "-t", "play"], "cast them in --query"),
        (["fit", "shop.duckdb", "other.csv", "--query", QUERY, "-t", "play"], "name it alone"),
        (["export", "days.bayes"], "Missing option '--to'"),
        (["export", "days.bayes", "--to", "sql:duckdb", "--table", "days"], "a query needs"),
        (["export", "days.bayes", "--to", "sql:oracle", "--table", "days", "--key", "day"], "'sql:oracle' is none of"),
        (["export", "days.bayes", "--to", "json", "--key", "day"], "it goes with --to sql"),
    ],
)  # fmt: skip
def test_what_will_not_do_is_said(folder, bayes, words, told):
    wrong_command = "goes with" in told or told.startswith(("Missing", "a query", "'sql:oracle'", "--query"))
    said = bayes(*words, code=2 if wrong_command else 1).err
    assert told in " ".join(said.replace("│", " ").split())


def test_a_model_that_cannot_be_carried_says_why(folder, bayes):
    bk.BayesClassifier(n_trees=2).fit(DAYS, "play").save(folder / "trees.bayes")
    said = bayes("export", "trees.bayes", "--to", "json", code=1).err
    assert "BayesClassifier cannot be carried elsewhere: its score is not a sum over columns" in said
    bk.AODE().fit(DAYS, "play").save(folder / "aode.bayes")
    into = ["--to", "sql:duckdb", "--table", "days", "--key", "day"]
    assert "see to_onnx and to_json" in bayes("export", "aode.bayes", *into, code=1).err
    assert bayes("export", "aode.bayes", "--to", "json").json["terms"][0]["kind"] == "averaged"


def test_an_exported_query_scores_the_table(folder, bayes):
    into = ["--to", "sql:duckdb", "--table", "days", "--key", "day", "--evidence"]
    bayes("export", "days.bayes", *into, "-o", "days.sql")
    with duckdb.connect(str(folder / "shop.duckdb"), read_only=True) as shop:
        found = sorted(shop.execute((folder / "days.sql").read_text("utf-8")).fetchall())
    expected = bk.load(folder / "days.bayes").predict_proba(DAYS)
    assert np.abs(np.array([row[2:4] for row in found]) - expected).max() < 1e-12


def test_numbers_and_onnx_are_written_to_files_or_to_standard_output(folder, bayes):
    assert bayes("export", "days.bayes", "--to", "json").json["classes"] == ["no", "yes"]
    bayes("export", "days.bayes", "--to", "onnx", "-o", "days.onnx")
    assert (folder / "days.onnx").read_bytes() == bk.load(folder / "days.bayes").to_onnx()


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["export", "days.bayes", "--to", "json"], "m.json"),
        (["export", "days.bayes", "--to", "onnx"], "m.onnx"),
        (["export", "days.bayes", "--to", "sql:sqlite", "--table", "days", "--key", "day"], "m.sql"),
        (["page", "days.bayes"], "m.html"),
    ],
)
def test_an_export_replaces_its_like_and_no_other_file(folder, bayes, words, output):
    bayes(*words, "-o", output)
    made = (folder / output).read_bytes()
    bayes(*words, "-o", output)
    assert (folder / output).read_bytes() == made
    (folder / "notes").write_text("of a year")
    assert "notes is there already and is not a file of this command" in bayes(*words, "-o", "notes", code=1).err
    assert (folder / "notes").read_text() == "of a year"
    assert "days.bayes is a model" in bayes(*words, "-o", "days.bayes", code=1).err.replace(
        "is read by this command", "is a model"
    )

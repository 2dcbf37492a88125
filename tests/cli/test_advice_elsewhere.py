"""Advice on sequences, engines, databases, memory, pictures and folds is followed and succeeds."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import bayeskit as bk
from bayeskit.errors import AdviceWarning, BayesError
from tests.cli.following import advised, follow, rows, said

# -- sequences, topics, engines and databases --------------------------------------------------------

DAYS = (
    "town,day,wet,sky\nOslo,1,yes,rain\nOslo,2,yes,rain\nOslo,3,no,dry\nBern,1,no,dry\nBern,2,no,dry\nBern,3,yes,rain\n"
)
WORDS = "word,letter,pitch,language\n" + "".join(
    f"{word},{letter},{0.5 * i + len(word)},{language}\n"
    for language, words in {"it": ("sole", "luna", "mare"), "en": ("wind", "rain", "then")}.items()
    for word in words
    for i, letter in enumerate(word)
)


def test_rows_that_follow_one_another(bayes):
    Path("days.csv").write_text(DAYS)
    told = " ".join(bayes("fit", "days.csv", "-t", "sky", "--order", "day", code=2).err.split())
    assert "belongs with --sequence" in told
    told = " ".join(bayes("fit", "days.csv", "--sequence", "town", "--order", "day", code=2).err.split())
    assert "give --states K" in told
    bayes("fit", "days.csv", "--sequence", "town", "--order", "day", "--states", "2", "--role", "sky=ignore")
    Path("words.csv").write_text(WORDS)
    words = ["fit", "words.csv", "--sequence", "word", "-t", "language", "-o", "w.bayes"]
    assert "give --states K" in bayes(*words, code=1).err
    bayes(*words, "--states", "1")
    told = bayes("evaluate", "w.bayes", "words.csv", code=1).err
    assert "use --folds 10, or --held-out" in told
    bayes("evaluate", "w.bayes", "words.csv", "--folds", "2")
    assert "--column CLASS" in bayes("inspect", "w.bayes").out
    bayes("inspect", "w.bayes", "--column", "it")


def test_symbols_never_seen_columns_that_do_not_vary_and_numbers_of_topics():
    def online(unseen="error"):
        model = bk.HiddenMarkovModel(unseen=unseen).fit([["a", "b"], ["b", "a"]], [["u", "v"], ["v", "u"]])
        return model.online().update("c")

    follow(online, "unseen")
    rows = [[{"x": 1.0, "z": 0.5}, {"x": 1.0, "z": 2.0}], [{"x": 3.0, "z": 1.0}, {"x": 5.0, "z": 0.0}]] * 3

    def classes(roles=None):
        return bk.SequenceClassifier(bk.HiddenMarkovModel(1, roles=roles)).fit(rows, ["p", "q"] * 3)

    follow(classes, "roles")
    model = bk.TopicModel(2, n_sweeps=2).fit(["a cat sat", "the dog ran"]).set_params(n_topics=3)
    (n_topics,) = advised(said(lambda: model.partial_fit(["a dog sat"])), "n_topics")
    model.set_params(n_topics=n_topics).partial_fit(["a dog sat"])


@pytest.mark.slow
def test_models_that_must_see_rows_are_told_of_those_that_need_counts_alone(here, monkeypatch):
    from bayeskit.engines import Processes

    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "x": rng.normal(size=60),
            "sky": rng.choice(["sun", "rain", "fog"], 60),
            "w": [1.0, 2.0] * 30,
            "y": [*"pq"] * 30,
        }
    )
    pa.parquet.write_table(table, "rows.parquet")
    roles = {"w": "ignore"}

    def attempt(kind=bk.NaiveBayes, max_categories=None, roles=(), sample_weight=None, **settings):
        source = bk.open_source("rows.parquet", "y", sample_weight)
        engine = Processes(1, max_categories=max_categories)
        others = {} if sample_weight else {"w": "ignore"}
        return kind(roles=others | dict(roles), **settings).fit_source(source, engine=engine)

    for kind in (bk.NBTree, bk.SubclassBayes, bk.BayesClassifier):
        assert "NaiveBayes" in str(said(attempt, kind=kind))
        attempt(bk.NaiveBayes)
    for kind, settings, mended in (
        (bk.AODE, {"weights": "log-linear"}, {"weights": "equal"}),
        (bk.KDB, {"selective": True}, {"selective": False}),
    ):
        ((name, value),) = mended.items()
        assert value in advised(said(attempt, kind=kind, **settings), name)
        attempt(kind, **mended)
    message = said(attempt, max_categories=2)
    assert {"sky": "ignore"} in advised(message, "roles")
    assert "max_categories" in str(message)
    attempt(max_categories=2, roles={"sky": "ignore"})
    attempt(max_categories=None)
    way = advised(said(attempt, sample_weight="w", kind=bk.TAN, cuts=("random", 4)), "cuts")[-1]
    attempt(bk.TAN, sample_weight="w", cuts=(way, 4))
    monkeypatch.setattr("bayeskit.estimate.cuts.FIT", 5)
    assert "cuts=" in str(said(attempt, kind=bk.TAN))
    attempt(bk.TAN, cuts={"x": [0.0]})
    with pytest.raises(BayesError, match="name the column that holds them") as problem:
        bk.NaiveBayes(roles=roles).fit("rows.parquet", "y", sample_weight=[1.0] * 60)
    assert "sample_weight=" in str(problem.value)
    bk.NaiveBayes().fit("rows.parquet", "y", sample_weight="w")

    def documents(recipe="best"):
        return bk.TextClassifier(recipe, column="sky").fit_source("rows.parquet", "y", engine=Processes(1))

    follow(documents, "recipe")


@pytest.mark.slow
def test_models_and_rows_of_databases(bayes):
    duckdb = pytest.importorskip("duckdb", reason="the extra sql is not installed")
    data, y = rows(sky=[*"ab"] * 30)

    def export(numeric="kernel"):
        return bk.NaiveBayes(numeric=numeric).fit(data, y).to_sql("t", keys="id")

    follow(export, "numeric")
    with duckdb.connect("shop.duckdb") as shop:
        shop.sql("CREATE TABLE days AS SELECT i AS id, i % 3 AS x, CASE i % 2 WHEN 0 THEN 'p' ELSE 'q' END AS y "
                 "FROM range(40) t(i)")  # fmt: skip
    assert "--query" in bayes("fit", "shop.duckdb", "-t", "y", code=1).err
    bayes(
        "fit", "shop.duckdb", "-t", "y", "--query", "SELECT x, y FROM days", "--role", "x=categorical", "-o", "m.bayes"
    )
    assert "give the file of one" in bayes("fit", "birds.csv", "-t", "species", "--query", "SELECT 1", code=2).err
    assert "Missing option '--to'" in bayes("export", "m.bayes", code=2).err
    assert "it goes with --to sql" in bayes("export", "m.bayes", "--to", "json", "--table", "days", code=2).err
    bayes("export", "m.bayes", "--to", "sql:duckdb", "--table", "days", "--key", "id")
    told = bayes("fit", "birds.csv", "-t", "species", "-m", "joint", "--plot", "p.png", code=2).err
    assert "bayes evaluate and bayes explain have, with --plot" in told
    bayes("explain", "m.bayes", "--plot", "p.svg")


def test_a_column_without_a_picture_is_left_for_the_evidence_of_a_row(bayes):
    pytest.importorskip("altair", reason="the extra charts is not installed")
    fit = ("fit", "birds.csv", "-t", "species", "-m", "gaussian", "--no-scores", "-o", "m.bayes")
    bayes(*fit, *(word for name in ("year", "island", "sex") for word in ("--role", f"{name}=ignore")))
    told = bayes("inspect", "m.bayes", "--column", "body_mass_g", "--plot", "p.svg", code=1).err
    assert "bayes explain draws why a row of DATA is put in its class, with --plot" in " ".join(told.split())
    bayes("explain", "m.bayes", "birds.csv", "--plot", "p.svg")
    assert Path("p.svg").stat().st_size > 1000


@pytest.mark.slow
def test_a_frame_of_a_cluster_is_brought_here_or_counted_there():
    frames = pytest.importorskip("dask.dataframe", reason="the extra dask is not installed")
    data, y = rows(sky=[*"ab"] * 30)
    there = frames.from_pandas(pd.DataFrame(data | {"y": y}), npartitions=2)
    with pytest.raises(BayesError, match="lie on other machines") as problem:
        bk.cross_validate(bk.NaiveBayes(), there, "y")
    assert "NaiveBayes" in str(problem.value)
    assert ".compute()" in str(problem.value)
    bk.cross_validate(bk.NaiveBayes(), there.compute(), "y")
    bk.NaiveBayes().fit(there, "y")


# -- documents, pictures and folds -------------------------------------------------------------------


def test_documents_that_take_more_memory_than_is_allowed():
    rare, labels = [" ".join(f"w{i}x{j}" for j in range(40)) + " the" for i in range(60)], ["x", "y", "y"] * 20

    def words(memory_limit=6e5, **settings):
        return bk.TextClassifier("best", memory_limit=memory_limit, **settings).fit(rare, labels)

    follow(words, "memory_limit", "hash_bits", "min_df", chosen={"memory_limit": 1e7, "hash_bits": 4, "min_df": 2})
    words(max_features=5)

    def many(recipe="best", memory_limit=1e6):
        return bk.TextClassifier(recipe, memory_limit=memory_limit).fit(
            ["a cat sat", "the dog", "oh"] * 2000, labels * 100
        )

    assert "drawn at random" in str(follow(many, "memory_limit", chosen={"memory_limit": 1e7}))

    def machine(recipe="nbsvm", memory_limit=1e6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AdviceWarning)  # that the other recipe draws
            return many(recipe, memory_limit)

    follow(machine, "memory_limit", "recipe", chosen={"memory_limit": 1e7})

    def text(recipe="best", memory_limit=1e3):
        return many(recipe, memory_limit)

    follow(text, "recipe", "memory_limit", chosen={"memory_limit": 1e7})


def test_a_nomogram_of_what_is_impossible_is_drawn_after_smoothing():
    pytest.importorskip("altair", reason="the extra charts is not installed")
    x, y = {"x": [*"uuvv"]}, [*"ppqq"]

    def attempt(smoothing=0):
        return bk.NaiveBayes(smoothing=smoothing).fit(x, y).nomogram().chart()

    follow(attempt, "smoothing")


@pytest.mark.filterwarnings("ignore:there is one class only")
def test_a_fold_of_one_class_is_learned_by_the_model_that_is_named():
    from sklearn.linear_model import LogisticRegression

    x, y = np.random.default_rng(0).normal(size=(10, 2)), [*"aaaaaaaaab"]

    def attempt(kind=LogisticRegression):
        return bk.cross_validate(kind(), x, y, folds=5)

    follow(attempt, "NaiveBayes")

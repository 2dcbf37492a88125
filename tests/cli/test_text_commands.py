"""The commands on documents: folders of classes, columns of tables, lines as they come."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

import bayeskit as bk

TEXTS = {
    "good": ["sun and sea", "a calm sea", "sun, sun and wine", "the sea\nand the sun"],
    "bad": ["rain and wind", "more wind", "cold rain, \"really\" cold", "wind and fog"],
}  # fmt: skip
ROWS = [(text, label) for label, texts in TEXTS.items() for text in texts]


@pytest.fixture
def texts(here):
    """A folder ``weather`` of classes, and the same documents as tables."""
    for label, documents in TEXTS.items():
        (here / "weather" / label).mkdir(parents=True)
        for i, text in enumerate(documents):
            (here / "weather" / label / f"{i}.txt").write_text(text)
    frame = pd.DataFrame(ROWS, columns=["body", "kind"])
    frame.insert(0, "id", range(len(frame)))
    frame.to_csv("mail.csv", index=False)
    frame.to_csv("mail.csv.gz", index=False)
    frame.to_parquet("mail.parquet")
    frame.to_json("mail.jsonl", orient="records", lines=True)
    return frame


@pytest.fixture
def mail(bayes, texts):
    """mail.bayes, of the column ``body``."""
    bayes(
        "fit", "mail.csv", "--text", "body", "-t", "kind", "--recipe", "multinomial", "-o", "mail.bayes", "--no-scores"
    )
    return "mail.bayes"


def fitted(texts, recipe="multinomial", **settings):
    return bk.TextClassifier(recipe, **settings).fit(texts["body"], texts["kind"])


def test_a_folder_of_one_sub_folder_a_class_is_learned_and_told(bayes, texts):
    told = bayes("fit", "weather", "-o", "w.bayes")
    assert told.out.startswith("weather: 8 documents, 2 classes of class\nrecipe weighted, chosen by auto: ")
    assert "of 8 tried" in " ".join(told.out.split())
    for words in ("leave-one-out", "a little optimistic", "most informative words", "model written to w.bayes"):
        assert words in told.out
    assert told.err == ""
    assert max(map(len, told.out.splitlines())) <= 80
    model = bk.load("w.bayes")
    assert model.recipe == "weighted"  # a file names the one that was chosen
    assert model.tally_.n_rows == 8
    assert model.schema_.target.name == "class"
    named = bayes("fit", "weather", "--recipe", "complement", "--json").json
    assert named["documents"] == 8
    assert named["classes"] == [{"class": "bad", "rows": 4}, {"class": "good", "rows": 4}]
    assert {word["word"] for word in named["words_of_classes"][1]["words"]} >= {"sun", "sea"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mail.csv", "mail.csv.gz", "mail.parquet", "mail.jsonl"])
@pytest.mark.parametrize("recipe", ["multinomial", "tfidf", "fast", "nbsvm"])
def test_a_text_column_of_any_table_gives_the_model_of_the_library(bayes, texts, name, recipe):
    bayes("fit", name, "--text", "body", "-t", "kind", "--recipe", recipe, "-o", "m.bayes")
    model, expected = bk.load("m.bayes"), fitted(texts, recipe)
    assert model.tally_.words == expected.tally_.words
    assert np.array_equal(
        model.predict_joint_log_proba(["sun", "wind"]), expected.predict_joint_log_proba(["sun", "wind"])
    )


def test_scores_are_those_of_leaving_each_document_out(bayes, texts):
    found = bayes("fit", "mail.csv", "--text", "body", "-t", "kind", "--recipe", "multinomial", "--json").json
    exact = fitted(texts).leave_one_out(texts["body"], texts["kind"])
    assert found["leave_one_out"]["log_loss"] == pytest.approx(exact.log_loss, abs=1e-12)
    assert found["leave_one_out"]["accuracy"] == exact.accuracy


def test_settings_of_documents_reach_the_model(bayes, texts):
    bayes(
        "fit", "weather", "--recipe", "multinomial", "--pattern", "words1", "--ngrams", "1-2", "--hash-bits", "8",
        "--smoothing", "0.5", "--prior", "uniform", "--no-scores",
    )  # fmt: skip
    model = bk.load("model.bayes")
    assert (model.pattern, model.ngrams, model.hash_bits) == ("words1", (1, 2), 8)
    assert (model.smoothing, model.prior) == (0.5, "uniform")
    bayes("fit", "weather", "--recipe", "multinomial", "--ngrams", "2", "--no-scores")
    assert bk.load("model.bayes").ngrams == (1, 2)


def test_runs_of_characters_are_counted_or_tried_and_told(bayes, texts):
    told = bayes("fit", "weather", "--recipe", "multinomial", "--characters", "3-4", "--no-scores")
    assert "runs of 3 to 4 characters" in told.out
    assert bk.load("model.bayes").characters == (3, 4)
    tried = bayes("fit", "weather", "--recipe", "best", "--characters", "auto", "--json").json["features"]
    assert [one["features"] for one in tried] == ["words", "words, pairs", "words, pairs, characters"]
    assert tried[0]["log loss"] > 0
    told = bayes("fit", "weather", "--recipe", "best", "--characters", "auto").out
    assert "log loss on folds" in " ".join(told.split())
    assert bayes("fit", "weather", "--json").json["features"] is None


def test_predict_takes_a_table_a_folder_and_lines(bayes, mail, texts, here):
    model = fitted(texts)
    expected = model.predict(texts["body"]).tolist()
    rows = list(csv.DictReader(io.StringIO(bayes("predict", mail, "mail.csv", "--keep", "id").out)))
    assert [row["predicted"] for row in rows] == expected
    assert [row["id"] for row in rows] == [str(i) for i in range(8)]
    assert np.allclose([float(row["probability"]) for row in rows], model.predict_proba(texts["body"]).max(axis=1))

    rows = list(csv.DictReader(io.StringIO(bayes("predict", mail, "weather").out)))
    assert [row["file"] for row in rows] == [f"{label}/{i}.txt" for label in ("bad", "good") for i in range(4)]
    assert [row["predicted"] for row in rows] == ["bad"] * 4 + ["good"] * 4

    said = bayes("predict", mail, "-", "--json", stdin=b"the sun\r\n\nrain \xff wind").out.splitlines()
    assert [json.loads(line)["predicted"] for line in said] == ["good", "bad", "bad"]
    assert json.loads(said[1])["probability"] == 0.5
    (here / "new.txt").write_text("the sun\nwind\n")
    assert [line.split(",")[0] for line in bayes("predict", mail, "new.txt").out.splitlines()] == [
        "predicted",
        "good",
        "bad",
    ]
    bayes("predict", mail, "-", "--text", "body", "--proba", "-o", "p.parquet", stdin=Path("mail.csv").read_bytes())
    said = parquet.read_table("p.parquet")
    assert said.column_names == ["predicted", "p_bad", "p_good"]
    assert np.allclose(np.column_stack([said["p_bad"], said["p_good"]]), model.predict_proba(texts["body"]))


@pytest.mark.slow
def test_a_line_is_answered_before_the_next_one_comes(mail):
    command = [sys.executable, "-m", "bayeskit.cli", "predict", mail, "-", "--json"]
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        for line, label in ((b"sun\n", "good"), (b"rain\n", "bad"), (b"the sea\n", "good")):
            process.stdin.write(line)
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["predicted"] == label
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait() == 0


def test_evaluate_scores_documents_by_leave_one_out_folds_and_as_new_ones(bayes, mail, texts):
    found = bayes("evaluate", mail, "mail.csv", "--folds", "4", "--json").json["evaluations"]
    exact = fitted(texts).leave_one_out(texts["body"], texts["kind"])
    assert [e["method"] for e in found] == ["leave-one-out", "4-fold cross-validation"]
    assert found[0]["accuracy"] == exact.accuracy
    assert found[0]["log_loss"] == pytest.approx(exact.log_loss, abs=1e-12)
    new = bayes("evaluate", mail, "mail.parquet", "--held-out", "--json").json["evaluations"][0]
    assert new["accuracy"] == fitted(texts).score(texts["body"], texts["kind"])
    assert "8 documents of mail.csv" in bayes("evaluate", mail, "mail.csv").out

    bayes("fit", "weather", "--recipe", "nbsvm", "-o", "w.bayes")
    assert "--folds 10, or --held-out" in bayes("evaluate", "w.bayes", "weather", code=1).err
    assert "are not probabilities" not in bayes("evaluate", "w.bayes", "weather", "--folds", "2").out
    assert "1.0" in str(
        bayes("evaluate", "w.bayes", "weather", "--held-out", "--json").json["evaluations"][0]["accuracy"]
    )


def test_explain_lists_words_that_sum_to_the_log_odds(bayes, mail, texts):
    found = bayes("explain", mail, "mail.csv", "--row", "0", "--row", "4", "--json").json["rows"]
    scores = fitted(texts).predict_joint_log_proba(texts["body"])
    for row in found:
        total = row["without_words"] + sum(word["log_odds"] for word in row["words"])
        sign = 1 if row["predicted"] == "good" else -1
        assert total == pytest.approx(row["log_odds"], abs=1e-9)
        assert total == pytest.approx(sign * (scores[row["row"], 1] - scores[row["row"], 0]), abs=1e-9)
    told = bayes("explain", mail, "-", stdin=b"the sun shines")
    assert "row 0: good with probability" in told.out
    assert "words that the model does not know, and that say nothing: 1" in told.out
    assert "no word that the model knows" in bayes("explain", mail, "-", stdin=b"xyzzy").out
    assert bayes("explain", mail, "weather", "--row", "1").out.startswith("bad/1.txt: bad")
    assert "most informative words" in bayes("explain", mail).out
    assert bayes("explain", mail, "--json").json["words_of_classes"][0]["words"]


def test_inspect_shows_recipe_words_and_the_telling_ones(bayes, mail):
    told = bayes("inspect", mail)
    assert "mail.bayes: TextClassifier of kind, 8 documents" in told.out
    assert "recipe='multinomial'" in told.out
    assert "words: " in told.out
    assert "P(word | bad)" in bayes("inspect", mail, "--column", "body").out
    assert "P(word | bad)" in bayes("inspect", mail, "--column", "text").out


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["multinomial", "auto", "twcnb"])
def test_documents_are_learned_forgotten_and_merged(bayes, texts, here, recipe):
    texts.iloc[::2].to_csv("half.csv", index=False)
    texts.iloc[1::2].to_csv("rest.csv", index=False)
    for name in ("half", "rest", "mail"):
        bayes(
            "fit",
            f"{name}.csv",
            "--text",
            "body",
            "-t",
            "kind",
            "--recipe",
            recipe,
            "-o",
            f"{name}.bayes",
            "--no-scores",
        )
    before = (here / "half.bayes").read_bytes()
    assert "half.bayes: 4 + 4 = 8 rows" in bayes("learn", "half.bayes", "rest.csv").out
    if recipe == "multinomial":
        assert bk.load("half.bayes").tally_ == bk.load("mail.bayes").tally_
        assert "4 + 8 = 12 rows" in bayes("merge", "rest.bayes", "half.bayes", "-o", "x.bayes").out
    bayes("forget", "half.bayes", "rest.csv")
    again = bk.load("half.bayes")
    (here / "before.bayes").write_bytes(before)
    assert np.allclose(again.predict_proba(["sun", "fog"]), bk.load("before.bayes").predict_proba(["sun", "fog"]))


MISTAKES = [
    (["fit", "nowhere", "--text", "body", "-t", "kind"], 1, "there is no file or folder 'nowhere'"),
    (["fit", "mail.csv", "--text", "nothing", "-t", "kind"], 1, "'nothing' is not there (columns: id, body)"),
    (["fit", "mail.csv", "--text", "bdy", "-t", "kind"], 1, "(columns: id, body); did you mean body?"),
    (["fit", "mail.csv", "--text", "kind", "-t", "kind"], 1, "is the class and cannot be the text, too"),
    (["fit", "weather", "--memory-limit", "1e-6"], 1, "more than --memory-limit 1 kB: give more of it"),
    (["fit", "weather", "--memory-limit", "1e-8"], 1, "the texts take more than --memory-limit 10 bytes"),
    (["fit", "weather", "--pattern", ""], 2, "matches no character"),
    (["fit", "mail.csv", "--text", "body", "-t", "nothing"], 1, "no target column 'nothing'"),
    (["fit", "mail.csv", "--text", "body"], 2, "--target: it is missing: name the column"),
    (["fit", "mail.csv", "-t", "kind", "--recipe", "fast"], 2, "is for documents"),
    (["fit", "weather", "--numeric", "kernel"], 2, "is for tables"),
    (["fit", "weather", "--recipe", "odd"], 2, "--recipe odd is not one of"),
    (["fit", "weather", "--ngrams", "two"], 2, "LOW-HIGH"),
    (["fit", "weather", "--characters", "some"], 2, "LOW-HIGH"),
    (["fit", "weather", "--characters", "1-2"], 2, "of 2 to 16"),
    (["fit", "weather", "--characters", "auto", "--recipe", "fast"], 2, "is for recipes"),
    (["fit", "weather", "--ngrams", "2-1"], 2, "--ngrams 2-1: give the shortest, from 1 on"),
    (["fit", "weather", "--hash-bits", "99"], 2, "--hash-bits 99: give a whole number"),
    (["fit", "weather", "--pattern", "(", "--recipe", "multinomial"], 2, "not a regular expression"),
    (["fit", "weather/good"], 1, "has no sub-folders"),
    (["fit", "lonely"], 1, "holds no file"),
    (["fit", "weather", "--smoothing", "lots"], 2, "neither a number nor auto"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("words", "code", "said"), MISTAKES, ids=lambda case: str(case)[:40])
def test_a_mistake_is_told_in_one_line_with_a_remedy_and_a_code(refused, texts, here, words, code, said):
    (here / "lonely" / "class").mkdir(parents=True)
    refused(words, code, said)


def test_mistakes_with_a_model_are_told(bayes, mail, texts, model):
    bayes("fit", "weather", "--recipe", "nbsvm", "-o", "w.bayes")
    for words, said in (
        (["predict", "w.bayes", "mail.csv"], "which column of mail.csv holds the text? --text COLUMN (id, body, kind)"),
        (["predict", mail, "birds.csv"], "column 'body' is not there"),
        (["predict", mail, "mail.csv", "--keep", "age"], "mail.csv has no column 'age' to keep"),
        (["predict", mail, "weather", "--keep", "age"], "has no column 'age' to keep"),
        (["predict", mail, "nowhere.txt"], "there is no file or folder 'nowhere.txt'"),
        (["predict", model, "birds.csv", "--text", "island"], "--text is for models of documents"),
        (["learn", "w.bayes", "weather"], "recipe nbsvm cannot learn more"),
        (["explain", mail, "-", "--row", "3"], "standard input has 0 rows"),
        (["merge", mail, model, "-o", "x.bayes"], "a TextClassifier merges with another one"),
        (["ask", mail, "P(kind = good)"], "a TextClassifier holds no tables to ask of"),
    ):
        told = bayes(*words, code=2 if said.startswith("--") else 1)
        assert said in told.err, words
        assert len(told.err.strip().splitlines()) == 1


def test_documents_of_a_new_class_are_no_rows_to_leave_out(bayes, mail, texts, here):
    (here / "other" / "fog").mkdir(parents=True)
    (here / "other" / "fog" / "0.txt").write_text("fog and mist")
    assert "These are not the rows that the model learned" in bayes("evaluate", mail, "other").out
    told = bayes("evaluate", mail, "other", "--leave-one-out", code=1).err
    assert "was fitted on. If the rows are new to the model, use --held-out." in " ".join(told.split())


def test_documents_beyond_the_memory_are_drawn_and_told(bayes, here):
    for label, words in (("good", "sun and sea"), ("bad", "rain and wind")):
        (here / "many" / label).mkdir(parents=True)
        for i in range(300):
            (here / "many" / label / f"{i}.txt").write_text(f"{words} {' '.join(str(i))}")
    told = bayes("fit", "many", "--memory-limit", "4.6e-4")
    assert "all 600 documents are counted, and weights are fitted on 500 of them, drawn at random" in told.err
    assert "give --memory-limit" in told.err
    assert "600 documents, 2 classes" in told.out
    assert "fitted on 500 documents drawn at random" in " ".join(told.out.split())
    assert json.loads(bayes("fit", "many", "--memory-limit", "4.6e-4", "--json").out)["drawn"] == 500
    assert json.loads(bayes("fit", "many", "--json").out)["drawn"] is None


def test_a_text_column_beside_others_is_a_role(bayes, texts):
    bayes("fit", "mail.csv", "-t", "kind", "--role", "body=text", "--role", "id=ignore", "-o", "both.bayes")
    rows = list(csv.DictReader(io.StringIO(bayes("predict", "both.bayes", "mail.csv").out)))
    assert [row["predicted"] for row in rows] == ["good"] * 4 + ["bad"] * 4
    assert "body" in bayes("inspect", "both.bayes").out
    assert "row 0: good" in bayes("explain", "both.bayes", "mail.csv").out


def test_kept_documents_are_forgotten_with_a_new_fit(bayes, here):
    lines = [f"{text},{kind}" for text, kind in [("a good film", "p"), ("a bad film", "n"), ("good fun", "p")] * 6]
    gone = ["zqword indeed,n", "zqword again,p"]
    (here / "all.csv").write_text("\n".join(["text,kind", *lines, *gone]))
    (here / "rest.csv").write_text("\n".join(["text,kind", *lines]))
    (here / "gone.csv").write_text("\n".join(["text,kind", *gone]))
    fit = ["--text", "text", "-t", "kind", "-o"]
    bayes("fit", "all.csv", *fit, "light.bayes")
    assert "--keep-rows" in bayes("forget", "light.bayes", "gone.csv", "--refit", code=1).err
    bayes("fit", "all.csv", "--keep-rows", *fit, "kept.bayes")
    bayes("fit", "rest.csv", *fit, "rest.bayes")
    assert "20 − 2 = 18 rows" in bayes("forget", "kept.bayes", "gone.csv", "--refit").out
    assert b"zqword" not in (here / "kept.bayes").read_bytes()
    said = [bayes("predict", model, "all.csv", "--proba").out for model in ("kept.bayes", "rest.bayes")]
    assert said[0] == said[1]
    assert "not learned" in bayes("forget", "kept.bayes", "gone.csv", code=1).err

"""bayes fit: what it says of columns, scores and models, and the settings that reach the model."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as pacsv
from pyarrow import parquet

import bayeskit as bk
from bayeskit.datasets import load_penguins, load_worked_example
from bayeskit.inner_model import reader_of

BIRDS = load_penguins()


def test_fit_says_what_columns_were_taken_for_scores_and_where_the_model_went(bayes):
    told = bayes("fit", "--numeric", "gaussian", "birds.csv", "--target", "species", "-o", "birds.bayes")
    assert re.search(r"^birds\.csv: 344 rows, 3 classes of species$", told.out, re.M)
    assert re.search(r"^island +categorical +3: Biscoe, Dream, Torgersen +0$", told.out, re.M)
    assert re.search(r"^bill_length_mm +numeric +43\.92 ± 5\.46 +2$", told.out, re.M)
    assert re.search(r"^Adelie +152 +44\.2%$", told.out, re.M)
    exact = bk.load("birds.bayes").leave_one_out(BIRDS, "species")
    assert f"accuracy           {exact.accuracy:.1%}" in told.out
    assert "44.2%" in told.out
    assert "most informative columns" in told.out
    assert "advice:\n  column 'year' holds a few whole numbers only" in told.out
    assert "--role year=categorical" in told.out
    assert "model written to birds.bayes" in told.out
    assert told.err == ""


def test_fit_as_json_holds_the_same_figures(bayes):
    found = bayes("fit", "birds.csv", "-t", "species", "--role", "year=categorical", "--json").json
    model = bk.NaiveBayes(roles={"year": "categorical"}).fit(BIRDS, "species")
    exact = model.leave_one_out(BIRDS, "species")
    assert found["rows"] == 344
    assert [(c["class"], c["rows"]) for c in found["classes"]] == [("Adelie", 152), ("Chinstrap", 68), ("Gentoo", 124)]
    assert found["leave_one_out"]["log_loss"] == pytest.approx(exact.log_loss, abs=1e-12)
    assert found["leave_one_out"]["baseline"]["accuracy"] == exact.baseline.accuracy
    assert found["model"] == "model.bayes"
    assert [c["role"] for c in found["columns"] if c["column"] == "year"] == ["categorical"]
    assert bk.load("model.bayes").tally_ == model.tally_


def test_suggest_shows_what_best_reaches_beside_the_scores(bayes):
    words = ("fit", "birds.csv", "-t", "species", "--ignore", "year")
    plain, told = bayes(*words, "-o", "a.bayes").out, bayes(*words, "-o", "b.bayes", "--suggest").out
    best = bk.BayesClassifier(roles={"year": "ignore"}).fit(BIRDS, "species").left_out_
    naive = bk.load("a.bayes")
    scores = naive.leave_one_out(BIRDS, "species")
    assert re.search(rf"^accuracy +{scores.accuracy:.1%} +{best['accuracy'][0]:.1%}$", told, re.M)
    assert re.search(r"^The fit of best takes \d+\.\d s of CPU", told, re.M)
    assert bk.load("b.bayes").tally_ == naive.tally_
    assert "The fit of best" not in plain
    found = bayes(*words, "--suggest", "--json").json["best"]
    assert found["log_loss"] == pytest.approx(best["log loss"][0], abs=1e-12)


def test_suggest_tries_no_large_table_and_no_other_model(bayes, monkeypatch):
    monkeypatch.setattr("bayeskit.cli.commands.fit.MOST_TRIED", (343, 100))
    assert (
        "It was not tried: the table has more than 343 rows"
        in bayes("fit", "birds.csv", "-t", "species", "--suggest").out
    )
    assert (
        "goes with --model naive alone"
        in bayes("fit", "birds.csv", "-t", "species", "-m", "tan", "--suggest", code=2).err
    )


def harmful(folder):
    """A table in which one column makes naive Bayes worse than the majority, and the other one is good."""
    rng = np.random.default_rng(0)
    answer = np.where(rng.random(400) < 0.7, "no", "yes")
    tails = rng.normal(size=400) * np.where(rng.random(400) < 0.05, 50, 0.5)
    columns = {
        "a bad": np.where(answer == "yes", rng.normal(size=400), tails),
        "good": rng.normal(size=400) + (answer == "yes"),
        "y": answer,
    }
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (folder / "harm.csv").write_text("\n".join(lines), encoding="utf-8")


def test_fit_says_loudly_that_a_model_is_worse_than_none_which_column_does_it_and_what_to_do(bayes, here):
    harmful(here)
    told = bayes("fit", "--numeric", "gaussian", "harm.csv", "-t", "y", "--prior", "empirical", "-o", "harm.bayes")
    said = " ".join(told.out.split())
    assert (
        "WORSE THAN THE MAJORITY CLASS: always predicting the most frequent class has a higher accuracy, 64.2%" in said
    )
    assert re.search(r"Column 'a bad' is the main cause: without it the accuracy is 72\.2%", said)
    command = re.search(r"^without it:\n  (.*)$", told.out, re.M)[1]
    assert command == "bayes fit harm.csv -t y --numeric gaussian --prior empirical -o harm.bayes --ignore 'a bad'"
    again = bayes(*shlex.split(command)[1:])
    assert "WORSE" not in again.out
    assert max(len(line) for line in told.out.splitlines() if not line.startswith("  bayes")) <= 80
    record = json.loads(bayes("fit", "--numeric", "gaussian", "harm.csv", "-t", "y", "--json").out)["leave_one_out"]
    assert record["worse_than_majority"]
    assert record["harmful_column"]["column"] == "a bad"
    exact = bk.load("harm.bayes").leave_one_out("harm.csv", "y")
    assert record["harmful_column"]["without"] == {"accuracy": exact.accuracy, "log_loss": exact.log_loss}


def test_fit_says_that_probabilities_are_worse_than_the_class_shares_and_no_column_does_it(bayes, here):
    rng = np.random.default_rng(0)
    answer = np.where(rng.random(200) < 0.5, "no", "yes")
    x = rng.normal(size=200) + 1.2 * (answer == "yes")
    rows = [",".join([*map(str, [x_i] * 30), y_i]) for x_i, y_i in zip(x, answer, strict=True)]
    (here / "same.csv").write_text("\n".join([",".join([*(f"x{i}" for i in range(30)), "y"]), *rows]), encoding="utf-8")
    said = " ".join(bayes("fit", "--numeric", "gaussian", "same.csv", "-t", "y").out.split())
    assert "WORSE THAN THE CLASS FREQUENCIES: predicting them for every row has a lower log loss, 0.69" in said
    assert "No single column is the cause" in said
    assert "without it:" not in said


def test_fit_is_quiet_about_a_good_model(bayes):
    assert "WORSE" not in bayes("fit", "birds.csv", "-t", "species").out
    assert not json.loads(bayes("fit", "birds.csv", "-t", "species", "--json").out)["leave_one_out"][
        "worse_than_majority"
    ]


@pytest.mark.slow
def test_best_prints_its_scores_with_what_they_are_worth_and_naive_prints_the_way_to_it(bayes):
    told = bayes("fit", "birds.csv", "-t", "species", "--role", "year=ignore", "--model", "best", "-o", "best.bayes")
    assert re.search(r"^BayesClassifier +98\.8%", told.out, re.M)
    assert re.search(r"^NaiveBayes +98\.3%", told.out, re.M)
    assert re.search(r"^majority +44\.2%", told.out, re.M)
    assert "a little optimistic" in told.out
    assert "most important columns" in told.out
    model = bk.load("best.bayes")
    assert isinstance(model, bk.BayesClassifier)
    before = model.predict_proba(BIRDS)
    bayes("forget", "best.bayes", "birds.csv", "-o", "none.bayes", code=1)
    assert np.array_equal(bk.load("best.bayes").predict_proba(BIRDS), before)
    assert "held-out rows" in bayes("evaluate", "best.bayes", "half.csv", "--held-out").out
    assert "2-fold cross-validation" in bayes("evaluate", "best.bayes", "half.csv", "--folds", 2).out
    told = bayes("evaluate", "best.bayes", "half.csv")
    assert "are among them: the scores are too good" in " ".join((told.out + told.err).split())
    told = bayes("evaluate", "best.bayes", "birds.csv", code=1).err
    assert "use --folds 10, or --held-out if the rows are new to the model" in told
    assert (
        "has no such setting"
        in bayes("fit", "birds.csv", "-t", "species", "-m", "best", "--prior", "uniform", code=2).err
    )


def test_the_way_to_a_stronger_model_is_the_same_command_and_runs(bayes, here):
    (here / "my birds.csv").write_text((here / "half.csv").read_text().replace(",", ";").replace("sex", "the sex"))
    words = [
        "fit", "my birds.csv", "-t", "species", "--role", "year=ignore", "--role", "the sex=ignore", "--delimiter", ";",
        "--type", "body_mass_g=float", "--empty", "", "--empty", "NA", "--unseen", "error", "-o", "my birds.bayes",
    ]  # fmt: skip
    said = bayes(*words, "--smoothing", "2", "--no-scores").out.splitlines()
    command = shlex.split(said[said.index("stronger:") + 1])
    assert sorted(command) == sorted(["bayes", *words, "-m", "best"])
    bayes(*command[1:], "--no-scores")
    chosen = reader_of(bk.load("my birds.bayes"))
    assert (chosen.roles, chosen.unseen) == ({"year": "ignore", "the sex": "ignore"}, "error")


def test_no_stronger_model_is_named_where_there_is_none(bayes, here):
    (here / "one.csv").write_text("a,b,y\n" + "u,3.5,p\nv,4.5,p\n" * 9)
    assert "stronger" not in bayes("fit", "one.csv", "-t", "y").out
    assert "stronger" not in bayes("fit", "birds.csv", "-t", "species", "--role", "island=text", "--no-scores").out
    assert "stronger" not in bayes("fit", "birds.csv", "-t", "species", "-m", "tan", "--no-scores").out


def test_advice_names_options_and_these_help(bayes, here):
    rows = (f"{'not known' if i % 50 == 7 else i % 60};{i % 40},{i % 7};{'pq'[i % 2]}\n" for i in range(300))
    (here / "ages.csv").write_text("age;size;y\n" + "".join(rows))
    told = bayes("fit", "ages.csv", "-t", "y", "--no-scores", "--json").json["advice"]
    assert len(told) == 2
    assert "text in some cells ('not known')" in told[0]
    assert told[0].endswith("pass --empty 'not known'")
    assert "column 'size' holds numbers with a comma" in told[1]
    found = bayes("fit", "ages.csv", "-t", "y", "--no-scores", "--empty", "not known", "--json").json
    assert [(c["role"], c["missing"]) for c in found["columns"]] == [("numeric", 6), ("categorical", 0)]


def test_values_with_commas_are_quoted_in_a_list(bayes, here):
    (here / "towns.csv").write_text("town,y\n" + '"Paris, Texas",p\nOslo,q\n"Paris, Texas",q\n' * 9)
    assert "2: 'Paris, Texas', Oslo " in bayes("fit", "towns.csv", "-t", "y", "-o", "towns.bayes").out
    assert "2: 'Paris, Texas', Oslo " in bayes("inspect", "towns.bayes").out


def test_second_choices_are_translated_too(bayes, here):
    (here / "dates.csv").write_text("joined,y\n" + "2024-01-05,p\n2024-02-05,q\n" * 15)
    told = bayes("fit", "dates.csv", "-t", "y", code=1).err
    assert "--role joined=month,weekday takes parts" in told
    assert "numeric (seconds since 1970), categorical and ignore" in told
    assert '"' not in told
    (here / "old.csv").write_bytes(b"town,y\n" + "Köln,p\nBonn,q\n".encode("latin-1"))
    assert (
        "would read 'Köln': if that is right, pass --encoding cp1252" in bayes("fit", "old.csv", "-t", "y", code=1).err
    )


def test_settings_reach_the_model(bayes):
    bayes(
        "fit", "birds.csv", "-t", "species", "--smoothing", "auto", "--prior", "uniform", "--numeric", "histogram",
        "--unseen", "smooth", "--role", "year=ignore", "--type", "sex=string", "--no-scores",
    )  # fmt: skip
    model = bk.load("model.bayes")
    assert (model.smoothing, model.prior, model.numeric, model.unseen) == ("auto", "uniform", "histogram", "smooth")
    assert model.roles == {"year": "ignore"}


def test_fit_by_the_book(bayes, here):
    table = load_worked_example("melon")
    pacsv.write_csv(table, "melon.csv")
    told = bayes("fit", "--numeric", "gaussian", "melon.csv", "-t", "sweet", "-o", "m.bayes", "--no-scores").out
    assert "--role color=categorical --role weight=categorical" in " ".join(told.split())
    words = ["--domain", "color=0,1,2,3", "--domain", "weight=0,1,2,3,4", "--prior", "laplace", "--smoothing", "1"]
    bayes("fit", "melon.csv", "-t", "sweet", "-o", "m.bayes", *words)
    Path("q.csv").write_text("color,weight\n0,1\n")
    told = bayes("explain", "m.bayes", "q.csv", "--work").out
    assert "= 1/98 = 0.0102041" in told
    assert "= 1/49 = 0.0204082" in told
    pacsv.write_csv(load_worked_example("tax"), "tax.csv")
    told = bayes("fit", "--numeric", "gaussian", "tax.csv", "-t", "evade", "-o", "t.bayes", "--no-scores").out
    assert "column 'tid' numbers the rows, like an identifier" in " ".join(told.split())
    fit = ("fit", "tax.csv", "-t", "evade", "-o", "t.bayes", "--no-scores", "--role", "tid=ignore")
    bayes(*fit, "--numeric", "gaussian", "--variance", "feature", "--ddof", "0")
    assert "1790" in bayes("inspect", "t.bayes", "--column", "taxable_income").out
    bayes(*fit, "--cuts", "taxable_income=80,100")
    assert "80 – 100" in bayes("inspect", "t.bayes", "--column", "taxable_income").out
    bayes(*fit, "--cuts", "4")
    assert bk.load("t.bayes").numeric == "histogram"
    bayes(*fit, "--model", "tan", "--cuts", "frequency:3", "--domain", "refund=yes,no")
    assert bk.load("t.bayes").schema_.columns["refund"].domain == ("yes", "no")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--domain", "outlook"], "is not a COLUMN="),
        (["--domain", "outlook="], "names no values"),
        (["--domain", "sky=a,b"], "no column 'sky'"),
        (["--domain", "outlook=sunny,rain"], "outside its declared domain (sunny, rain). Add it to --domain"),
        (["--domain", "outlook=sunny,rain,overcast", "-m", "gaussian"], "Invalid value for --domain"),
        (["--cuts", "4", "--numeric", "kernel"], "goes with --numeric histogram"),
        (["--cuts", "4", "--cuts", "outlook=3"], "give one for all columns"),
        (["--cuts", "frequency:x"], "is not a way to cut"),
        (["--cuts", "best"], '--cuts best: it is "mdl"'),
        (["--prior", "jeffreys"], "empirical, uniform, laplace"),
        (["--ddof", "2"], "--ddof 2: it is 1"),
        (["--variance", "none"], "Invalid value for '--variance'"),
        (["--variance", "all", "-m", "tan"], "Invalid value for --variance"),
    ],
)
def test_what_is_no_book_is_refused(bayes, words, told):
    code = 2 if "Invalid" in told or "COLUMN=" in told or "names" in told or "goes" in told or "way" in told else 1
    code = 2 if "for all columns" in told or "laplace" in told or told.startswith("--") else code
    said = bayes("fit", "tennis.csv", "-t", "play", *words, code=code)
    assert told in " ".join(said.err.split())


@pytest.mark.slow
def test_wide_tables_are_cut_short_and_told(bayes, here):
    names = [f"column{i}" for i in range(40)]
    table = pa.table({**{n: ["a", "b"] * 20 for n in names}, "y": [f"class{i % 20}" for i in range(40)]})
    parquet.write_table(table, "wide.parquet")
    told = bayes("fit", "wide.parquet", "-t", "y")
    assert "… and 28 more columns" in told.out
    assert "… and 8 more classes" in told.out
    assert len(bayes("fit", "wide.parquet", "-t", "y", "--json").json["columns"]) == 40


def test_an_m_estimate_shares_pseudo_counts_out(bayes):
    bayes("fit", "tennis.csv", "-t", "play", "--smoothing", "m:6", "--no-scores", "-o", "m.bayes")
    told = bayes("inspect", "m.bayes", "--column", "outlook").out
    assert "0.1818" in told  # P(overcast | no): (0 + 6/3) / (5 + 6)
    assert "such as m:3" in bayes("fit", "tennis.csv", "-t", "play", "--smoothing", "m:x", code=2).err
    bayes("fit", "tennis.csv", "-t", "play", "--smoothing", "m:-1", code=2)

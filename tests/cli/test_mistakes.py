"""A mistake is told with what it is, where, and what helps; files and models stay as they were."""

from pathlib import Path

import numpy as np
import pytest
from pyarrow import csv, parquet

import bayeskit as bk
from bayeskit.datasets import load_penguins

BIRDS = load_penguins()

MISTAKES = [
    (["fit", "no.csv", "-t", "species"], 1, "there is no file or folder 'no.csv'"),
    (["fit", "birds.csv", "-t", "specie"], 1, "there is no target column 'specie' in birds.csv (columns: species"),
    (["fit", "birds.csv", "-t", "species", "--role", "yaer=ignore"], 1, "there is no column 'yaer'"),
    (["fit", "birds.csv", "-t", "species", "--role", "year=odd"], 2, "(roles: categorical, numeric, number, text, ig"),
    (["fit", "birds.csv", "-t", "species", "--type", "yaer=string"], 2, "--type names 'yaer'"),
    (["fit", "birds.csv", "-t", "sex"], 1, "birds.csv: 11 of 344 rows have no label (lines 5, 10,"),
    (["fit", "birds.csv", "-t", "species", "-o", "no/such/place.bayes"], 1, "written: there is no such folder"),
    (["fit", "birds.csv", "-t", "species", "--prior", "odd"], 2, "'odd' is none of empirical, uniform, laplace"),
    (["fit", "birds.csv", "-t", "species", "--ignore", "species"], 1, "column 'species' is the target: --role is for"),
    (["serve", "asia.bif"], 1, "asia.bif is a network, and only .bayes files are served"),
    (["predict", "birds.csv", "birds.csv"], 1, "this is not bayeskit data"),
    (["predict", "no.bayes", "birds.csv"], 1, "there is no file 'no.bayes'"),
    (["merge", "no.bayes", "other.bayes", "-o", "x.bayes"], 1, "there is no file 'no.bayes'"),
    (["fit", "birds.csv"], 2, "--target: it is missing: name the column"),
    (["fit", "birds.csv", "-t", "species", "--role", "year"], 2, "is not a COLUMN="),
    (["fit", "birds.csv", "-t", "species", "--smoothing", "lots"], 2, "neither a number nor auto"),
    (["evaluate", "m.bayes", "birds.csv", "--folds", "1"], 2, "--folds"),
    (["merge", "a.bayes", "-o", "x.bayes"], 2, "two models at least"),
    (["inspect"], 2, "Missing argument"),
    (["nosuch"], 2, "No such command 'nosuch'"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("words", "code", "said"), MISTAKES, ids=lambda case: str(case)[:40])
def test_a_mistake_is_told_in_one_line_with_a_remedy_and_a_code(refused, words, code, said):
    refused(words, code, said)


@pytest.mark.slow
def test_mistakes_with_a_model_leave_it_as_it_was(bayes, model, here):
    before = Path(model).read_bytes()
    (here / "bad.csv").write_text((here / "half.csv").read_text() + "Adelie,Dream,oak,1,2,3,male,2007\n")
    for words, said in (
        (["learn", model, "bad.csv"], "bad.csv, line 174: column 'bill_length_mm' holds 'oak'"),
        (["forget", model, "bad.csv"], "bad.csv, line 174"),
        (["learn", model, "tennis.csv"], "there is no target column 'species' in tennis.csv"),
        (["forget", model, "birds.csv"], "would leave the model without data"),
        (
            ["explain", model, "birds.csv", "--row", "999"],
            "birds.csv has 344 rows, counted from 0: there is no row 999",
        ),
        (["explain", model, "birds.csv", "--against", "Emu"], "there is no class 'Emu'"),
        (["inspect", model, "--column", "age"], "there is no column 'age'"),
        (["predict", model, "birds.csv", "--keep", "age"], "birds.csv has no column 'age' to keep"),
        (["predict", model, "birds.csv", "-o", "said.odd"], "the name's ending says the format"),
        (["predict", model, "birds.csv", "--costs", "no.csv"], "there is no file 'no.csv'"),
        (["predict", model, "birds.csv", "--costs", "tennis.csv"], "tennis.csv, line 2: a cost is not a number"),
        (["rank", model, "birds.csv", "--class", "Emperor"], "there is no class 'Emperor' (there are: 'Adelie', "),
        (["predict", model, "tennis.csv"], "tennis.csv: columns island, "),
    ):
        assert said in bayes(*words, code=2 if "-o" in words else 1).err
    bayes("learn", model, "half.csv")
    told = bayes("forget", model, "rest.csv", "-o", "once.bayes") and bayes("forget", "once.bayes", "rest.csv", code=1)
    assert "cannot" in told.err
    bayes("forget", model, "half.csv")
    assert (
        bk.load(model).tally_.families
        == bk.NaiveBayes(roles={"year": "categorical"}).fit(BIRDS, "species").tally_.families
    )
    assert before[:5] == b"BAYES"


def test_an_output_never_replaces_data_or_what_is_read(bayes, model, here):
    (here / "link.csv").symlink_to("birds.csv")
    (here / "costs.csv").write_text("decision,Adelie,Chinstrap,Gentoo\nAdelie,0,1,1\n")
    for name in ("birds.csv", "link.csv", "./birds.csv", here / "birds.csv"):
        told = bayes("fit", "birds.csv", "-t", "species", "-o", name, code=1).err
        assert (
            f"{name} is there already and is not a model: nothing is written over it. Name another file with -o" in told
        )
    parquet.write_table(csv.read_csv(here / "rest.csv"), here / "rest.parquet")
    for words in (
        ["fit", "birds.csv", "-t", "species", "--text", "island", "-o", "birds.csv"],
        ["learn", model, "half.csv", "-o", "half.csv"],
        ["forget", model, "half.csv", "-o", "rest.csv"],
        ["merge", model, model, "-o", "birds.csv"],
        ["predict", model, "birds.csv", "-o", "birds.csv"],
        ["predict", model, "birds.csv", "-o", "link.csv"],
        ["predict", model, "b*.csv", "-o", "birds.csv"],
        ["predict", model, ".", "-o", "birds.csv"],
        ["predict", model, "birds.csv", "-o", model, "--json"],
        ["predict", model, "birds.csv", "--costs", "costs.csv", "-o", "costs.csv"],
        ["rank", model, "birds.csv", "--class", "Gentoo", "-o", "birds.csv"],
        ["predict", model, "half.csv", "-o", "rest.csv"],
        ["rank", model, "half.csv", "--class", "Gentoo", "-o", "rest.csv"],
        ["predict", model, "half.csv", "-o", "rest.parquet"],
        ["export", model, "--to", "json", "-o", "rest.csv"],
        ["fit", "birds.csv", "-t", "species", "-o", "."],
    ):
        before = {file.name: file.read_bytes() for file in here.iterdir()}
        told = bayes(*words, code=1).err
        assert words[words.index("-o") + 1] in told
        assert "nothing is written over it" in told or "would be lost" in told or "it is a folder" in told
        assert {file.name: file.read_bytes() for file in here.iterdir()} == before


def test_models_replace_models_and_predictions_replace_predictions(bayes, model, here):
    (here / "empty.bayes").touch()
    for output in (model, "empty.bayes"):
        bayes("fit", "half.csv", "-t", "species", "-o", output, "--no-scores")
        assert bk.load(output).tally_.n_rows == 172
    bayes("merge", model, model, "-o", model)
    assert bk.load(model).tally_.n_rows == 344
    for data, rows in (("birds.csv", 344), ("half.csv", 172)):
        bayes("predict", model, data, "-o", "said.csv")
        assert len((here / "said.csv").read_text().splitlines()) == rows + 1


def test_files_that_are_no_tables_are_named_for_what_they_are(bayes, model, here):
    (here / "asia.bif").write_text("network asia {\n}\nvariable smoke {\n  type discrete [ 2 ] { yes, no };\n}\n")
    np.savez("arrays.npz", x=np.arange(9))
    np.save("array.npy", np.arange(9))
    (here / "odd.csv").write_bytes(bytes(range(256)) * 9)
    for name, what in (
        ("asia.bif", "a Bayesian network, for bayes ask"),
        ("arrays.npz", "a file of NumPy arrays"),
        ("array.npy", "a NumPy array"),
        ("odd.csv", "a binary file"),
        (model, "a model of bayeskit"),
    ):
        for words in (["fit", name, "-t", "species"], ["predict", model, name], ["ask", name, "P(a = b)"]):
            if words[0] != "ask" or name in ("odd.csv", "arrays.npz"):
                told = bayes(*words, code=1).err
                assert f"{name} is {what}, and no table: give a CSV, Parquet or JSON lines file" in told


@pytest.mark.parametrize("encoding", [None, "utf-16", "utf-16-le"])
def test_wide_characters_are_no_binary_file(bayes, here, encoding):
    (here / "wide.csv").write_bytes((here / "birds.csv").read_text().encode(encoding or "utf-16"))
    told = bayes("fit", "wide.csv", "-t", "species", "--no-scores", *(["--encoding", encoding] if encoding else []))
    assert "344 rows" in told.out


def test_a_misspelled_name_is_told_with_what_it_may_have_meant(bayes, model):
    for words, meant in (
        (["fit", "birds.csv", "-t", "specie"], "species"),
        (["fit", "birds.csv", "-t", "Species"], "species"),
        (["fit", "birds.csv", "-t", "species", "--role", "yaer=ignore"], "year"),
        (["inspect", model, "--column", "ilsand"], "island"),
        (["rank", model, "birds.csv", "--class", "gentoo"], "Gentoo"),
    ):
        assert f"did you mean {meant}?" in bayes(*words, code=1).err
    for words in (["fit", "birds.csv", "-t", "zzz"], ["fit", "birds.csv", "-t", "sex", "--role", "year=ignore"]):
        assert "did you mean" not in bayes(*words, code=1).err


def test_models_that_do_not_fit_together_are_named(bayes, model):
    bayes("fit", "birds.csv", "-t", "species", "--role", "year=ignore", "-o", "other.bayes", "--no-scores")
    told = bayes("merge", model, "other.bayes", "-o", "x.bayes", code=1)
    assert "birds.bayes and other.bayes: the two sides do not fit: column 'year' is categorical on one" in told.err
    assert "Fit both with the same --role" in told.err


def test_rows_impossible_under_every_class_are_noted_once(bayes, here):
    (here / "a.csv").write_text("a,b,y\nu,u,p\nv,v,q\n")
    (here / "b.csv").write_text("a,b\nu,v\n")
    bayes("fit", "a.csv", "-t", "y", "--smoothing", "0", "--no-scores")
    told = bayes("predict", "model.bayes", "b.csv")
    assert told.err.count("impossible under every class") == 1
    assert told.err.startswith("bayes: note: 1 row is impossible")


def test_models_whose_cuts_or_values_differ_are_told_in_plain_words(bayes, model):
    for data in ("half", "birds"):
        bayes("fit", f"{data}.csv", "-t", "species", "-m", "tan", "-o", f"{data}.tan", "--no-scores")
    told = bayes("merge", "half.tan", "birds.tan", "-o", "x.bayes", code=1).err
    assert "column 'bill_length_mm' is numeric with the cuts 41.4, 50.65 on one and" in told
    assert "on the other. Fit both with the same --role, or one model on the rows of both." in told
    declared = bk.NaiveBayes(domains={"island": ["Dream", "Mars"]}, roles={"year": "categorical"})
    declared.fit(BIRDS.filter([place == "Dream" for place in BIRDS["island"].to_pylist()]), "species").save("d.bayes")
    told = bayes("merge", model, "d.bayes", "-o", "x.bayes", code=1).err
    assert "column 'island' is categorical on one and categorical with the values 'Dream', 'Mars' on the other" in told

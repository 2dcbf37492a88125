"""``--plot FILE`` draws what a command says, in the form that the name's ending says, and refuses before the work."""

import sys

import pytest

import bayeskit as bk
from bayeskit.datasets import load_worked_example

pytestmark = pytest.mark.slow
STARTS = {".png": b"\x89PNG", ".svg": b"<svg", ".html": b"<!DOCTYPE html>"}


@pytest.fixture
def models(here):
    bk.TAN(roles={"year": "ignore"}).fit(bk.datasets.load_penguins(), "species").save("tan.bayes")
    bk.NaiveBayes(roles={"year": "ignore"}).fit(bk.datasets.load_penguins(), "species").save("naive.bayes")
    sports = load_worked_example("sports")
    bk.TextClassifier("multinomial").fit(sports["text"], sports["tag"]).save("sports.bayes")
    (here / "one.txt").write_text("a very close game\n")
    bk.BayesianNetwork([("rain", "wet")], {"rain": 0.2, "wet": {True: 0.9, False: 0.1}}).save("net.bayes")
    joint = {"sky": ["sun", "rain"], "probability": [0.3, 0.7]}
    bk.JointDistribution.from_table(joint, "probability").save("joint.bayes")
    return here


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("fit birds.csv -t species --role year=ignore", "fit.svg"),
        ("fit birds.csv -t species --role year=ignore -m tan", "fit.png"),
        ("evaluate naive.bayes birds.csv", "scores.svg"),
        ("explain naive.bayes birds.csv --row 3 --row 200", "why.png"),
        ("explain naive.bayes", "model.html"),
        ("explain sports.bayes one.txt", "words.svg"),
        ("explain sports.bayes", "words.svg"),
        ("inspect naive.bayes --column bill_length_mm", "column.svg"),
        ("inspect naive.bayes --column island", "column.svg"),
        ("inspect naive.bayes", "classes.svg"),
        ("inspect tan.bayes", "tree.svg"),
        ("inspect net.bayes", "net.svg"),
        ("inspect net.bayes --column wet", "node.svg"),
        ("inspect joint.bayes", "joint.svg"),
        ("inspect joint.bayes --column sky", "joint.svg"),
        ("ask birds.csv P(species|island=Dream)", "ask.svg"),
        ("ask naive.bayes P(species|island=Dream)", "ask.svg"),
        ("rank naive.bayes birds.csv --class Gentoo -n 20", "rank.svg"),
    ],
    ids=lambda words: words.partition(" -")[0],
)
def test_a_command_draws_what_it_says(command, file, bayes, models):
    told = bayes(*command.split(" "), "--plot", file)
    assert f"drawn in {file}" in told.out + told.err
    assert (models / file).read_bytes().startswith(STARTS[file[file.index(".") :]])


def test_json_stays_json_and_the_file_is_drawn_all_the_same(bayes, models):
    told = bayes("explain", "naive.bayes", "--json", "--plot", "model.svg")
    assert "columns" in told.json
    assert (models / "model.svg").exists()


@pytest.mark.parametrize(
    ("command", "file", "why", "code"),
    [
        ("explain naive.bayes", "why.gif", "one of .png, .svg, .html", 2),
        ("explain naive.bayes", "nowhere/why.png", "there is no such folder", 1),
        ("evaluate naive.bayes birds.csv", "birds.csv.png/x.png", "there is no such folder", 1),
        ("ask birds.csv P(species=Gentoo)", "ask.png", "one number has no picture", 1),
        ("ask birds.csv E(body_mass_g)", "ask.png", "one number has no picture", 1),
        ("fit birds.csv -t species -m joint", "fit.png", "--model joint has no picture", 2),
    ],
    ids=lambda words: str(words).partition(" ")[0],
)
def test_what_cannot_be_drawn_is_refused_with_a_reason(command, file, why, code, bayes, models):
    told = bayes(*command.split(" "), "--plot", file, code=code)
    assert why in told.err
    assert not (models / file).exists()


def test_without_altair_the_extra_is_named_before_anything_is_read(bayes, models, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    told = bayes("explain", "naive.bayes", "--plot", "why.png", code=1)
    assert "pip install '.[charts]'" in told.err
    assert told.out == ""


def test_without_the_library_that_makes_pictures_the_extra_is_named_before_anything_is_read(bayes, models, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    for file in ("why.png", "why.svg", "why.html"):
        told = bayes("explain", "naive.bayes", "--plot", file, code=1)
        assert "pip install '.[charts]'" in told.err
        assert told.out == ""


def test_comparisons_diagnoses_and_topics_are_drawn(bayes, models):
    for i, command in enumerate(
        [
            "compare birds.csv -t species --role year=ignore --models naive,tan",
            "diagnose naive.bayes birds.csv",
            "topics one.txt -k 2 --min-df 1 --max-df 1 --sweeps 5 -o topics.bayes",
            "inspect topics.bayes",
        ]
    ):
        told = bayes(*command.split(" "), "--plot", f"{i}.svg")
        assert f"drawn in {i}.svg" in told.out
        assert (models / f"{i}.svg").read_bytes().startswith(b"<svg")

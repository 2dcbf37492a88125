"""Decisions on the command line: by costs, with a way out, and the rows most likely to be of a class first."""

import csv
import io
import json

import numpy as np
import pytest
from pyarrow import parquet

import bayeskit as bk
from bayeskit.datasets import load_penguins
from bayeskit.decisions import decide

BIRDS = load_penguins()


def fitted():
    return bk.NaiveBayes(roles={"year": "categorical"}).fit(BIRDS, "species")


def test_predict_decides_by_costs_and_abstains_where_that_is_cheaper(bayes, model, here):
    (here / "costs.csv").write_text("class,Adelie,Chinstrap,Gentoo\nGentoo,1,1,0\nAdelie,0,40,1\nChinstrap,1,0,1\n")
    costs = {"Adelie": {"Chinstrap": 40, "Gentoo": 1}, "Chinstrap": {"Adelie": 1, "Gentoo": 1}}
    costs["Gentoo"] = {"Adelie": 1, "Chinstrap": 1}
    expected = decide(fitted().predict_proba(BIRDS), costs, 0.1, classes=fitted().classes_.tolist())
    told = bayes("predict", model, "birds.csv", "--costs", "costs.csv", "--reject", "0.1", "--keep", "species")
    rows = list(csv.DictReader(io.StringIO(told.out)))
    assert list(rows[0]) == ["species", "decision", "expected_cost"]
    assert [row["decision"] or None for row in rows] == expected.labels.tolist()
    assert [float(row["expected_cost"]) for row in rows] == pytest.approx(expected.expected_loss)
    assert 0 < expected.rejected.sum() < 50
    lines = bayes("predict", model, "birds.csv", "--reject", "0.1", "--proba", "--json").out.splitlines()
    sure = fitted().predict_proba(BIRDS).max(axis=1) >= 0.9
    assert [json.loads(line)["decision"] is not None for line in lines] == sure.tolist()


def test_decisions_that_are_no_classes_may_stand_in_the_costs(bayes, here):
    (here / "n.csv").write_text("a,y\np,1\np,1\nq,2\nq,2\n")
    bayes("fit", "n.csv", "-t", "y", "-o", "n.bayes")
    (here / "costs.csv").write_text("class,1,2,look\n1,0,9,1\n2,9,0,1\n")
    told = bayes("predict", "n.bayes", "n.csv", "--costs", "costs.csv", "-o", "said.parquet")
    assert set(parquet.read_table("said.parquet")["decision"].to_pylist()) == {"look"}, told


def test_rank_puts_the_most_probable_rows_first(bayes, model):
    p = fitted().predict_proba(BIRDS)[:, 1]
    order = np.argsort(-p, kind="stable")
    rows = list(csv.DictReader(io.StringIO(bayes("rank", model, "birds.csv", "--class", "Chinstrap").out)))
    assert [int(row["row"]) for row in rows] == order.tolist()
    assert [float(row["p_Chinstrap"]) for row in rows] == pytest.approx(p[order])
    told = bayes("rank", model, "birds.csv", "--class", "Chinstrap", "-n", "3", "--keep", "island", "--json")
    best = [json.loads(line) for line in told.out.splitlines()]
    assert [row["row"] for row in best] == order[:3].tolist()
    assert [row["island"] for row in best] == [BIRDS["island"][int(i)].as_py() for i in order[:3]]


# -- mistakes --------------------------------------------------------------------------------------------


def test_costs_of_other_classes_are_told_with_their_file(bayes, model, here):
    (here / "odd.csv").write_text("class,Adelie,Emperor\nAdelie,0,1\nEmperor,1,0\n")
    told = bayes("predict", model, "birds.csv", "--costs", "odd.csv", code=1)
    assert told.err.startswith("bayes: odd.csv: the costs name ['Emperor'], which are not classes")


def test_costs_need_not_name_every_pair(bayes, model, here):
    whole = "class,Adelie,Chinstrap,Gentoo\nAdelie,0,40,1\nChinstrap,1,0,1\nGentoo,1,1,0\n"
    (here / "whole.csv").write_text(whole)
    (here / "part.csv").write_text("class,Adelie,Chinstrap,Gentoo\nAdelie,,40,\n")
    words = ["predict", model, "birds.csv", "--costs"]
    assert bayes(*words, "part.csv").out == bayes(*words, "whole.csv").out
    (here / "ask.csv").write_text("class,Adelie,Chinstrap,Gentoo,ask\nAdelie,,40,,1\n")
    told = bayes(*words, "ask.csv", code=1).err
    assert "ask.csv: the costs do not say what deciding 'ask' costs for class 'Chinstrap'" in told

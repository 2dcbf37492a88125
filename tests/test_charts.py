"""Charts are drawn from records alone, and hold what the records say."""

import math

import pytest

import bayeskit as bk
from bayeskit import datasets
from bayeskit.charts.evidence import evidence_chart, nomogram_chart


def penguins():
    birds = datasets.load_penguins()
    return birds, bk.NaiveBayes(roles={"year": "ignore"}).fit(birds, "species")


def test_the_bars_are_the_contributions_and_their_sum(tmp_path):
    birds, model = penguins()
    record = model.explain(birds.slice(60, 1))[0]
    chart = evidence_chart(record)
    bars = {row["what"]: row["log_odds"] for row in chart.data.values}
    assert bars.pop("together") == record.log_odds
    assert sum(bars.values()) == pytest.approx(record.log_odds)
    chart.save(tmp_path / "evidence.png")
    assert (tmp_path / "evidence.png").read_bytes().startswith(b"\x89PNG")


def test_probability_zero_is_named_and_has_no_bar():
    table = datasets.load_worked_example("computer")
    model = bk.NaiveBayes(smoothing=0).fit(table, "buys_computer")
    chart = evidence_chart(model.explain(table.slice(2, 1))[0])
    assert "rules it out" in chart.title.subtitle
    assert all(math.isfinite(row["log_odds"]) for row in chart.data.values)


def test_the_rulers_are_those_of_the_nomogram(tmp_path):
    _, model = penguins()
    record = model.nomogram("Gentoo", "Adelie")
    chart = nomogram_chart(record)
    drawn = chart.vconcat[0].layer[0].data.values
    assert {mark["column"] for mark in drawn} <= {axis.column for axis in record.axes}
    for axis in record.axes:
        marks = {mark["points"] for mark in drawn if mark["column"] == axis.column}
        assert marks <= set(axis.points)
    chart.save(tmp_path / "nomogram.svg")
    assert "<svg" in (tmp_path / "nomogram.svg").read_text()


def test_columns_that_do_not_tell_two_classes_apart_are_not_drawn():
    model = bk.NaiveBayes().fit({"x": ["u", "v", "u", "v"]}, ["a", "a", "b", "b"])
    with pytest.raises(bk.BayesError, match="nothing to draw"):
        nomogram_chart(model.nomogram())

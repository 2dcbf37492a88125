"""Charts are drawn from records alone, and hold what the records say."""

import html
import io
import json
import math
import re
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import bayeskit as bk
from bayeskit import datasets
from bayeskit.charts.evidence import evidence_chart, nomogram_chart
from bayeskit.charts.style import offline
from tests.charts.drawn import head_of, rows_of

EVIL = "</script><b>&"


def penguins():
    birds = datasets.load_penguins()
    return birds, bk.NaiveBayes(roles={"year": "ignore"}).fit(birds, "species")


def test_the_bars_are_the_contributions_and_their_sum(tmp_path):
    birds, model = penguins()
    record = model.explain(birds.slice(60, 1))[0]
    chart = evidence_chart(record)
    drawn = [row for row in rows_of(chart) if "what" in row]
    bars = {row["what"]: row["log_odds"] for row in drawn}
    assert bars.pop("together") == record.log_odds
    assert sum(bars.values()) == pytest.approx(record.log_odds)
    for before, after in pairwise(drawn[:-1]):  # each bar starts where the one above it ends
        assert after["low"] == before["high"]
    assert drawn[-1]["low"] == 0
    assert drawn[-2]["high"] == pytest.approx(drawn[-1]["high"], rel=1e-5)
    chart.save(tmp_path / "evidence.png")
    assert (tmp_path / "evidence.png").read_bytes().startswith(b"\x89PNG")


def test_probability_zero_is_named_and_has_no_bar():
    table = datasets.load_worked_example("computer")
    model = bk.NaiveBayes(smoothing=0).fit(table, "buys_computer")
    chart = evidence_chart(model.explain(table.slice(2, 1))[0])
    assert "rules it out" in head_of(chart)
    assert all(math.isfinite(row.get("log_odds", 0)) for row in rows_of(chart))


def test_the_rulers_are_those_of_the_nomogram(tmp_path):
    _, model = penguins()
    record = model.nomogram("Gentoo", "Adelie")
    chart = nomogram_chart(record)
    drawn = [mark for mark in json.loads(chart.vconcat[0].layer[1].data.values) if mark["column"] != "points"]
    assert {mark["column"] for mark in drawn} >= {axis.column for axis in record.axes if axis.most >= 1}
    for axis in record.axes:
        marks = {mark["points"] for mark in drawn if mark["column"] == axis.column}
        assert marks <= {*axis.points, *(round(points, 1) for points in axis.points)}
    chart.save(tmp_path / "nomogram.svg")
    assert "<svg" in (tmp_path / "nomogram.svg").read_text()


def test_columns_that_do_not_tell_two_classes_apart_are_not_drawn():
    model = bk.NaiveBayes().fit({"x": ["u", "v", "u", "v"]}, ["a", "a", "b", "b"])
    with pytest.raises(bk.BayesError, match="nothing to draw"):
        nomogram_chart(model.nomogram())
    certain = bk.NaiveBayes(smoothing=0).fit({"x": list("uuvv")}, list("aabb"))
    with pytest.raises(bk.BayesError, match=r"column 'x' rules out one of the two classes.*smoothing=1"):
        nomogram_chart(certain.nomogram())


def test_the_evidence_of_words_is_drawn_as_well(tmp_path):
    model = bk.TextClassifier("multinomial").fit(["a close game", "the election was over"], ["sport", "politics"])
    record = model.explain(["a very close game together"])[0]
    chart = evidence_chart(record)
    bars = {row["what"]: row["log_odds"] for row in rows_of(chart) if "what" in row}
    assert bars.pop("together") == pytest.approx(record.total)
    assert sum(bars.values()) == pytest.approx(record.total)
    chart.save(tmp_path / "words.png")
    long = bk.TextClassifier("multinomial", pattern="words1").fit(
        [" ".join(f"w{i}" for i in range(40)), "other"], ["a", "b"]
    )
    drawn = rows_of(evidence_chart(long.explain([" ".join(f"w{i}" for i in range(40))])[0]))
    assert [row["what"] for row in drawn if "what" in row][-2:] == ["(and 20 more)", "together"]


def test_what_is_no_explanation_of_one_row_is_refused():
    birds, model = penguins()
    with pytest.raises(bk.BayesError, match="draw one of them"):
        evidence_chart(model.explain(birds.slice(0, 2)))
    with pytest.raises(bk.BayesError, match="not NaiveBayes"):
        evidence_chart(model)
    with pytest.raises(bk.BayesError, match="not Explanation"):
        nomogram_chart(model.explain(birds.slice(0, 1))[0])


def hostile_charts(evil=EVIL):
    """Charts of all kinds whose columns, values and classes are HTML, or another name."""
    rng = np.random.default_rng(0)
    y = np.array([evil, "a", "b"])[np.arange(60) % 3]
    table = {
        evil: np.array([evil, "u", "v"])[rng.integers(0, 3, 60)],
        "n": rng.normal(size=60),
        f"n{evil}": rng.normal(size=60),
    }
    table["other"] = table[evil]
    model = bk.NaiveBayes().fit(table, y)
    words = bk.TextClassifier("multinomial", pattern=r"\S+").fit([evil, "b c"], [evil, "y"])
    scores, tan = model.leave_one_out(table, y), bk.TAN().fit(table, y)
    yield model.explain({name: column[:1] for name, column in table.items()})[0]
    yield model.nomogram(evil, "a", row={evil: evil})
    yield words.explain([f"{evil} {evil}"])[0]
    yield words.telling_words()
    yield from (
        model.table(evil),
        model.table(f"n{evil}"),
        model.densities(f"n{evil}", table, y),
        model.column_importance(),
    )
    yield from (scores, scores.roc(evil), scores.precision_recall(evil), scores.lift(evil), scores.reliability(evil))
    yield bk.decision_regions(model, "n", f"n{evil}", table, y, "missing")
    yield from (tan.table(evil), tan.describe_structure(), tan.dependence(), model.select(table, y))
    yield bk.NBTree(min_rows=2, min_gain=0).fit(table, y).describe_structure()
    yield bk.BayesianNetwork(
        [(evil, "w")], {evil: {evil: 0.5, "b": 0.5}, "w": {evil: {"p": 0.9, "q": 0.1}, "b": {"p": 0.1, "q": 0.9}}}
    )
    joint = bk.JointDistribution.from_table({evil: [evil, "b"], "probability": [0.5, 0.5]}, "probability")
    yield from (joint, joint.conditional(evil))
    yield from (bk.Hypotheses({evil: 0.5, "b": 0.5}), bk.DirichletCategorical({evil: 1, "b": 2}))
    yield bk.Costs.of({evil: {"spam": 10}}, [evil, "spam"])
    yield bk.compare({evil: bk.NaiveBayes(), "b": bk.NaiveBayes()}, {evil: (table, y)}, folds=2)


@pytest.mark.slow
def test_no_text_of_the_data_can_be_read_as_html():
    n = 0
    for record in hostile_charts():
        spec = json.dumps(record.chart().to_dict())
        assert not set("<>&") & set(spec), type(record).__name__
        n += 1
    assert n >= 26
    heat = bk.NaiveBayes().fit({EVIL: [EVIL, "b"] * 4}, [EVIL, "a"] * 4).table(EVIL).chart("heat")
    assert not set("<>&") & set(json.dumps(heat.to_dict()))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:column .* holds long strings:bayeskit.errors.AdviceWarning")
@pytest.mark.parametrize(
    "name",
    ["constructor", '"]; datum.value + datum.label \\u0041 ${x}', "é🦊" * 150],
    ids=["of every object", "an expression", "long"],
)
def test_a_chart_is_drawn_whatever_its_columns_values_and_classes_are_called(name):
    for record in hostile_charts(name):
        chart = record.chart()
        assert len(chart.to_json(indent=None).encode()) < 100_000, type(record).__name__
        drawn = io.StringIO()
        chart.save(drawn, format="svg")
        shown = html.unescape(drawn.getvalue())
        assert name[:5] in shown, type(record).__name__
        width = float(re.findall(r'\bwidth="([\d.]+)', shown)[0])
        assert width < 1300, type(record).__name__


def test_what_would_steer_a_terminal_or_turn_the_writing_around_is_shown_in_a_chart():
    model = bk.NaiveBayes().fit({"a\u202eb": ["\x1b[2J", "\n"] * 4}, ["\x9bm", "y"] * 4)
    for record in (model.table("a\u202eb"), model.explain({"a\u202eb": ["\x1b[2J"]})[0], model.column_importance()):
        spec = json.dumps(record.chart().to_dict(), ensure_ascii=False)
        assert not set("\x1b\u202e\x9b\n") & set(spec)
        control = r"(?<!\\)(\\\\)*\\(u001b|u009b|u202e|n)"  # what JSON itself would turn into such a character
        assert not re.search(control, spec)


def test_without_the_library_that_makes_pictures_a_chart_is_not_written_and_the_extra_is_named(monkeypatch, tmp_path):
    birds, model = penguins()
    chart = evidence_chart(model.explain(birds.slice(60, 1))[0])
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    for name in ("why.png", "why.svg", "why.html"):
        with pytest.raises(bk.BayesError, match=r"made by vl-convert.*pip install '\.\[charts\]' in"):
            chart.save(tmp_path / name)
    chart.save(tmp_path / "why.json")
    assert [file.name for file in tmp_path.iterdir()] == ["why.json"]


def test_without_altair_a_chart_is_refused_by_the_name_of_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)  # importing it is an ImportError
    birds, model = penguins()
    record = model.explain(birds.slice(60, 1))[0]
    for ask in (lambda: evidence_chart(record), lambda: nomogram_chart(model.nomogram("Gentoo", "Adelie"))):
        with pytest.raises(bk.BayesError, match=r"drawn by Altair.*pip install '\.\[charts\]' in"):
            ask()


def test_charts_are_an_extra_and_no_dependency_of_the_rest():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {"altair", "vl-convert-python"}
    assert {re.split("[<>=]", need)[0] for need in project["optional-dependencies"]["charts"]} == named
    assert named.isdisjoint(re.split("[<>=]", need)[0] for need in project["dependencies"])


def test_a_notebook_gets_all_that_draws_a_chart():
    birds, model = penguins()
    record = model.explain(birds.slice(60, 1))[0]
    both = offline(evidence_chart(record) | nomogram_chart(model.nomogram("Gentoo", "Adelie", X=birds))["vconcat"][1])
    for chart in (evidence_chart(record), nomogram_chart(model.nomogram("Gentoo", "Adelie")), both):
        bundle = chart._repr_mimebundle_()
        assert bundle["text/html"].startswith("<iframe")
        assert "src=" not in bundle["text/html"].partition("srcdoc=")[0]
        assert "cdn.jsdelivr.net/npm/vega@" not in bundle["text/html"]
        assert "<svg" in bundle["image/svg+xml"]
        assert len(bundle["text/plain"]) < 200
    assert offline(both).to_dict() == both.to_dict()

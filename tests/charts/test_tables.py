"""Tables, joint distributions and summaries are drawn with the numbers that they hold, and cut where they are long."""

from dataclasses import replace

import numpy as np
import pytest

import bayeskit as bk
from bayeskit import datasets
from bayeskit.network.answers import Distribution
from tests.charts.drawn import check, head_of, rows_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def birds():
    return datasets.load_penguins()


@pytest.fixture(scope="module")
def model(birds):
    return bk.NaiveBayes(roles={"year": "ignore"}).fit(birds, "species")


def test_a_column_is_drawn_as_bars_and_as_a_map_of_its_probabilities(model, tmp_path):
    table = model.table("island")
    for kind in (None, "bars", "heat"):
        rows = rows_of(check(table.chart(kind), tmp_path))
        drawn = sorted(row.get("P", row.get("v")) for row in rows)
        wanted = sorted(p for label in model.classes_ for p in table[f"P(island | {label})"])
        assert drawn == pytest.approx(wanted, abs=1e-4)
    with pytest.raises(bk.BayesError, match="'bars' or as 'heat'"):
        table.chart("pie")


def test_tables_of_other_models_are_drawn_too(birds, tmp_path):
    ignored = {"year": "ignore"}
    for kind in (bk.TAN, bk.KDB, bk.NBTree):
        check(kind(roles=ignored).fit(birds, "species").table("island").chart(), tmp_path)
    sprinkler = bk.BayesianNetwork([("rain", "wet")], {"rain": 0.2, "wet": {True: 0.9, False: 0.1}})
    assert {row["P"] for row in rows_of(check(sprinkler.table("wet").chart("bars"), tmp_path))} == {0.9, 0.1}
    check(sprinkler.table("rain").chart(), tmp_path)


def test_two_hundred_values_are_cut_to_those_that_are_most_probable(tmp_path):
    rng = np.random.default_rng(0)
    values = [f"a category with a very long name, number {i}" for i in rng.integers(0, 250, 5000)]
    table = bk.NaiveBayes(roles={"a": "categorical"}).fit({"a": values}, rng.integers(0, 3, 5000)).table("a")
    for kind in ("bars", "heat"):
        chart = check(table.chart(kind), tmp_path)
        assert "most probable of 250 values" in head_of(chart)
        assert len(rows_of(chart)) <= 41 * 3
    assert "the others have up to" in head_of(chart)


def test_many_classes_make_a_map_of_the_first(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 200, 4000)
    model = bk.NaiveBayes().fit({"a": (y % 7).astype(str)}, y)
    assert "first 40 of 200 contexts" in head_of(check(model.table("a").chart(), tmp_path))
    assert "39 largest of 200 classes" in head_of(
        check(model.leave_one_out({"a": (y % 7).astype(str)}, y).chart(), tmp_path)
    )


def test_a_column_that_tells_nothing_is_refused():
    model = bk.NaiveBayes(smoothing=0).fit({"x": [None, None, "u"], "n": [1.0, 2.0, 3.0]}, ["a", "a", "b"])
    with pytest.raises(bk.BayesError, match="tells nothing of any class"):
        model.table("x").chart()


def test_the_confusion_is_that_of_the_evaluation(birds, model, tmp_path):
    scores = model.leave_one_out(birds, "species")
    drawn = {(row["r"], row["c"]): row["v"] for row in rows_of(check(scores.chart(), tmp_path))}
    assert drawn == {(i, j): scores.counts[i, j] for i in range(3) for j in range(3)}
    many = replace(scores, counts=scores.counts * 12_345)  # to the last row
    drawn = {(row["r"], row["c"]): row["v"] for row in rows_of(many.chart())}
    assert drawn == {(i, j): many.counts[i, j] for i in range(3) for j in range(3)}


def test_the_bits_are_those_of_the_columns(model, tmp_path):
    drawn = {
        row["name"]: row["number"]
        for row in rows_of(check(model.column_importance().chart(), tmp_path))
        if "name" in row
    }
    assert drawn == pytest.approx({c.column: c.bits for c in model.column_importance().columns}, abs=1e-5)


def test_a_joint_distribution_is_a_bar_for_each_cell(tmp_path):
    with pytest.warns(bk.BayesWarning, match="normalized"):
        joint = bk.JointDistribution.from_table(datasets.load_worked_example("wealth"), "probability")
    drawn = {row["name"]: row["number"] for row in rows_of(check(joint.chart(), tmp_path))}
    assert len(drawn) == 8
    assert drawn["male · <=40.5 · poor"] == pytest.approx(
        joint.probability("P(gender = male and hours_worked = '<=40.5' and wealth = poor)"), abs=1e-5
    )
    many = bk.JointDistribution.from_data({"a": np.arange(500) % 100, "b": np.arange(500) // 100})
    assert "40 most probable of 500 cells" in head_of(check(many.chart(), tmp_path))
    check(joint.conditional("wealth", "gender").chart(), tmp_path)
    check(joint.distribution("P(wealth | gender = female)").chart(), tmp_path)


def test_other_records_have_their_picture_too(birds, model, tmp_path):
    patient = bk.Hypotheses({"cancer": 0.008, "healthy": 0.992}).update({"cancer": 0.98, "healthy": 0.03})
    drawn = {row["name"]: (row["number"], row["tick"]) for row in rows_of(check(patient.chart(), tmp_path))}
    assert drawn["cancer"] == pytest.approx((0.2085, 0.008), abs=1e-4)
    check(bk.Costs.of({"ham": {"spam": 10}}, ["ham", "spam"]).chart(), tmp_path)
    check(bk.decisions.decide(model.predict_proba(birds), classes=list(model.classes_)).chart(), tmp_path)
    check(model.select(birds, "species").chart(), tmp_path)
    check(Distribution("eyes", tuple(range(300)), np.full(300, 1 / 300)).chart(), tmp_path)
    with pytest.raises(bk.BayesError, match="a dict has no picture"):
        bk.charts.draw({})

"""Curves, calibration and comparisons are drawn from their records; what they lack is told."""

import numpy as np
import pytest

import bayeskit as bk
from bayeskit import datasets
from bayeskit.charts.scores import rank_chart, scatter_chart
from bayeskit.evaluate.learning_curve import learning_curve
from bayeskit.evaluate.ranking_curves import lift_curve, precision_recall_curve, roc_curve
from bayeskit.evaluate.reliability import reliability
from tests.charts.drawn import check, head_of, rows_of

pytestmark = pytest.mark.slow


def test_a_roc_of_a_million_rows_is_thinned_and_keeps_its_area(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.random(1_000_000) < 0.3
    curve = roc_curve(truth, rng.normal(size=1_000_000) + truth, of="spam")
    chart = check(curve.chart(), tmp_path)
    points = [row for row in rows_of(chart) if "class" in row]
    assert len(points) <= 160
    x, y = np.array([(row["x"], row["y"]) for row in points]).T
    assert ((y[1:] + y[:-1]) / 2 * np.diff(x)).sum() == pytest.approx(curve.area, abs=1e-3)
    assert f"AUC {curve.area:.3f}" in head_of(chart)


def test_precision_and_recall_meet_where_the_worked_example_says(tmp_path):
    truth = [True, True, False, True, False, False, True, False]  # worked example 39
    chart = check(precision_recall_curve(truth, np.arange(8, 0, -1), of="+").chart(), tmp_path)
    (mark,) = (row for row in rows_of(chart) if "name" in row)
    assert (mark["x"], mark["y"]) == (0.75, 0.75)
    check(lift_curve(truth, np.arange(8, 0, -1), of="+").chart(), tmp_path)


def test_constant_scores_are_a_line_and_one_class_alone_is_refused(tmp_path):
    check(roc_curve([True, False], [0.5, 0.5]).chart(), tmp_path)
    check(lift_curve([True, False], [0.5, 0.5]).chart(), tmp_path)
    for truth, kind in ((True, roc_curve), (False, precision_recall_curve), (False, lift_curve)):
        with pytest.raises(bk.BayesError, match=r"alone, or none|no row is of class"):
            kind([truth] * 3, [0.1, 0.2, 0.3]).chart()


def test_reliability_is_drawn_bin_by_bin(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    record = reliability(np.clip(1.5 * p - 0.25, 0, 1), rng.random(2000) < p)
    chart = check(record.chart(), tmp_path)
    assert "(inconsistent)" in head_of(chart)
    points = [row for row in rows_of(chart) if "rows" in row]
    assert [row["seen"] for row in points] == pytest.approx(record.seen, abs=1e-3)
    certain = reliability([0.0, 1.0, 1.0], [False, True, True])
    check(certain.chart(), tmp_path)
    model = bk.NaiveBayes().fit({"x": p}, p > 0.5)
    check(model.leave_one_out({"x": p}, p > 0.5).brier_parts().chart(), tmp_path)


def test_learning_curves_have_a_line_for_each_model(tmp_path):
    birds = datasets.load_penguins().drop_columns(["year"])
    curve = learning_curve({"naive": bk.NaiveBayes(), "tan": bk.TAN()}, birds, "species", sizes=[20, 200], repeats=2)
    drawn = [row["y"] for row in rows_of(check(curve.chart(), tmp_path)) if "class" in row and "y2" not in row]
    assert drawn == pytest.approx(curve.means().ravel(), abs=1e-4)
    assert "Log loss" in head_of(check(curve.chart("log_loss"), tmp_path))
    with pytest.raises(bk.BayesError, match="it is one of accuracy, log_loss"):
        curve.chart("brier")


def test_a_comparison_is_a_scatter_over_sets_and_bars_on_one(tmp_path):
    birds = datasets.load_penguins().drop_columns(["year"])
    one = bk.compare(["naive", "tree"], birds, "species")
    drawn = {row["name"]: row["number"] for row in rows_of(check(one.chart(), tmp_path))}
    assert drawn == pytest.approx(dict(zip(one.models, one.accuracy[0], strict=True)), abs=1e-5)
    check(one.chart("naive", "tree"), tmp_path)
    with pytest.raises(bk.BayesError, match="'nave' is none of"):
        one.chart("nave")
    chart = scatter_chart(["a", "b", "c"], [0.5, 0.9, 0.7], [0.6, 0.8, 0.1 + 0.6], ("tree", "naive"), "accuracy")
    assert "naive against tree on 3 data sets (wins: 1, ties: 1, losses: 1)" in head_of(check(chart, tmp_path))
    assert "below the line" in head_of(scatter_chart(["a"], [1], [2], ("x", "y"), "log loss", higher_is_better=False))
    with pytest.raises(bk.BayesError, match="nothing to draw"):
        scatter_chart(["a"], [np.nan], [1.0], ("x", "y"), "accuracy")


def test_ranked_rows_are_a_line(tmp_path):
    chart = check(rank_chart(np.sort(np.random.default_rng(0).random(100_000))[::-1], "spam"), tmp_path)
    assert "among 100,000" in head_of(chart)
    check(rank_chart([0.5], "spam"), tmp_path)
    with pytest.raises(bk.BayesError, match="there are no rows"):
        rank_chart([], "spam")

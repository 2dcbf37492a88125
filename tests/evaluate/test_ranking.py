"""ROC, precision and recall, lift: scikit-learn's figures, with weights and ties."""

import numpy as np
import pytest
from sklearn import metrics

import bayeskit as bk
from bayeskit.errors import BayesError


def scored(n=300, digits=1, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.3
    return truth, (truth + rng.normal(size=n)).round(digits), rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize("digits", [0, 1, 9])
@pytest.mark.parametrize("weighed", [False, True])
def test_every_figure_is_that_of_scikit_learn(digits, weighed):
    truth, scores, weights = scored(digits=digits)
    w = weights if weighed else None
    roc = bk.roc_curve(truth, scores, w)
    keep = np.ones(len(truth), bool) if w is None else weights > 0
    w = None if w is None else weights[keep]
    fpr, tpr, at = metrics.roc_curve(truth[keep], scores[keep], sample_weight=w, drop_intermediate=False)
    np.testing.assert_allclose(roc.false_positive_rate, fpr, atol=1e-12)
    np.testing.assert_allclose(roc.true_positive_rate, tpr, atol=1e-12)
    np.testing.assert_array_equal(roc.thresholds, at)
    assert roc.area == pytest.approx(metrics.roc_auc_score(truth[keep], scores[keep], sample_weight=w))
    curve = bk.precision_recall_curve(truth[keep], scores[keep], w)
    precision, recall, at = metrics.precision_recall_curve(truth[keep], scores[keep], sample_weight=w)
    np.testing.assert_allclose(curve.precision, precision[::-1], atol=1e-12)
    np.testing.assert_allclose(curve.recall, recall[::-1], atol=1e-12)
    np.testing.assert_array_equal(curve.thresholds[1:], at[::-1])
    average = metrics.average_precision_score(truth[keep], scores[keep], sample_weight=w)
    assert curve.average_precision == pytest.approx(average)


def test_lift_is_what_the_best_rows_hold_against_chance():
    truth, scores, _ = scored(digits=9)
    curve = bk.lift_curve(truth, scores)
    order = np.argsort(-scores)
    for k in (1, 30, 150, 300):
        assert curve.found[k] == pytest.approx(truth[order[:k]].mean() * k / truth.sum())
        assert curve.lift[k] == pytest.approx(truth[order[:k]].mean() / truth.mean())
    assert curve.found_at(0.1) == pytest.approx(truth[order[:30]].sum() / truth.sum())
    assert curve.share == truth.mean()


def test_precision_meets_recall_at_the_break_even():
    truth, scores, _ = scored(digits=9)
    curve = bk.precision_recall_curve(truth, scores)
    at = np.argmin(np.abs(curve.precision - curve.recall))
    assert curve.break_even == pytest.approx(curve.recall[at])
    even = bk.precision_recall_curve(truth, scores, np.full(300, 2.0))
    assert even.break_even == pytest.approx(curve.break_even)


def test_constant_scores_say_nothing_and_have_one_step():
    truth = [True, False, False, True]
    assert bk.roc_curve(truth, [0.5] * 4).area == 0.5
    assert bk.lift_curve(truth, [0.5] * 4).lift.tolist() == [1.0, 1.0]
    assert bk.precision_recall_curve(truth, [0.5] * 4).average_precision == 0.5


def test_infinite_scores_are_ties_as_others_are():
    for truth in ([True, False, True, False], [False, True, False, True]):
        assert bk.roc_curve(truth, [-np.inf] * 4).area == bk.roc_curve(truth, [np.inf] * 4).area == 0.5
    assert len(bk.lift_curve([True, False, True], [np.inf, np.inf, 0.0]).taken) == 3


def test_one_class_alone_has_no_area():
    for truth in ([True] * 3, [False] * 3):
        assert np.isnan(bk.roc_curve(truth, [0.1, 0.2, 0.3]).area)
    assert np.isnan(bk.precision_recall_curve([False] * 3, [0.1, 0.2, 0.3]).average_precision)
    assert np.isnan(bk.precision_recall_curve([False] * 3, [0.1, 0.2, 0.3], [1.0] * 3).break_even)
    assert np.isnan(bk.lift_curve([False] * 3, [0.1, 0.2, 0.3]).found_at(0.5))
    assert bk.precision_recall_curve([True] * 3, [0.1, 0.2, 0.3]).average_precision == 1.0


def test_an_evaluation_has_the_curves_of_each_class():
    birds = bk.datasets.load_penguins()
    found = bk.NaiveBayes(roles={"year": "ignore"}).fit(birds, "species").leave_one_out(birds, "species")
    for i, label in enumerate(found.classes):
        area = metrics.roc_auc_score(found.truth == i, found.probabilities[:, i])
        assert found.roc(label).area == pytest.approx(area)
        assert found.precision_recall(label).of == found.lift(label).of == label
    with pytest.raises(BayesError, match="which class"):
        found.roc()
    two = bk.NaiveBayes().fit({"x": [0.0, 1.0, 2.0, 3.0]}, list("abab"))
    assert two.leave_one_out({"x": [0.0, 1.0, 2.0, 3.0]}, list("abab")).roc().of == "b"


@pytest.mark.parametrize("curve", [bk.roc_curve, bk.precision_recall_curve, bk.lift_curve])
def test_what_cannot_be_ranked_is_refused_and_the_rest_prints(curve):
    for bad in (([True], [1.0, 2.0]), ([], []), ([True], [np.nan]), ([True], [1.0], [-1.0]), ([True], ["a"])):
        with pytest.raises(BayesError):
            curve(*bad)
    for labels in (["a", "b"], np.array(["a", "b"], dtype=object), [2, 0], [np.nan, 1.0], [True, None]):
        with pytest.raises(BayesError, match="neither true nor false"):
            curve(labels, [0.1, 0.2])
    assert len(curve(np.array([True, False], dtype=object), [0.1, 0.2]).thresholds) == 3
    text = str(curve(*scored()[:2]))
    assert text.count("\n") <= 12
    assert len(curve(*scored()[:2]).table) > 20

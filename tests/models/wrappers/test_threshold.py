"""CostSensitive finds the threshold for a wanted precision or recall on rows that were left out."""

import numpy as np
import pytest

from bayeskit import BayesError, CostSensitive, LogisticRegression, NaiveBayes, load

RNG = np.random.default_rng(3)
ILL = RNG.random(60) < 0.3
X = np.round(RNG.normal(ILL[:, None] * 1.2, 1.0, (60, 2)), 1)
Y = np.where(ILL, "ill", "well")


def left_out_probabilities():
    """P(ill) of each row by the model that was fitted without it."""
    keep = ~np.eye(len(Y), dtype=bool)
    return np.array(
        [NaiveBayes().fit(X[rows], Y[rows]).predict_proba(X[i : i + 1])[0, 0] for i, rows in enumerate(keep)]
    )


@pytest.fixture(scope="module")
def thresholds():
    """(precision, recall) of the left-out rows above each of their probabilities."""
    p = left_out_probabilities()
    measured = {}
    for least in np.unique(p):
        taken = p >= least
        measured[least] = (ILL[taken].mean(), (ILL & taken).sum() / ILL.sum())
    return p, measured


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [0.5, 0.7, 0.8])
def test_a_wanted_precision_gets_the_highest_recall_of_all_thresholds(wanted, thresholds):
    p, measured = thresholds
    model = CostSensitive(precision=wanted).fit(X, Y)
    taken = p > model.threshold_
    best = max(recall for precision, recall in measured.values() if precision >= wanted)
    assert ILL[taken].mean() >= wanted
    assert (ILL & taken).sum() / ILL.sum() == best


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [0.5, 0.8, 1.0])
def test_a_wanted_recall_gets_the_highest_threshold(wanted, thresholds):
    p, measured = thresholds
    model = CostSensitive(recall=wanted).fit(X, Y)
    highest = max(least for least, (_, recall) in measured.items() if recall >= wanted)
    assert ((p > model.threshold_) == (p >= highest)).all()


def test_rows_above_the_threshold_are_predicted_also_after_saving(tmp_path):
    model = CostSensitive(recall=0.8, positive="ill").fit(X, Y)
    expected = np.where(model.predict_proba(X)[:, 0] > model.threshold_, "ill", "well")
    np.testing.assert_array_equal(model.predict(X), expected)
    model.save(tmp_path / "m.bayes")
    again = load(tmp_path / "m.bayes", CostSensitive)
    np.testing.assert_array_equal(again.predict(X), expected)
    assert again.threshold_ == model.threshold_


def test_the_other_class_can_be_named_and_a_model_without_leave_one_out_is_judged_on_folds():
    model = CostSensitive(LogisticRegression(), precision=0.9, positive="well").fit(X, Y)
    expected = np.where(model.predict_proba(X)[:, 1] > model.threshold_, "well", "ill")
    np.testing.assert_array_equal(model.predict(X), expected)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"precision": 0.9, "recall": 0.9}, "both given"),
        ({"precision": 0.9, "costs": [[0, 1], [1, 0]]}, "both given"),
        ({"precision": 1.5}, "a share above 0"),
        ({"recall": "high"}, "a share above 0"),
        ({"recall": 0.5, "positive": "Ill"}, "did you mean ill"),
    ],
)
def test_goals_that_cannot_be_are_refused(settings, problem):
    with pytest.raises(BayesError, match=problem):
        CostSensitive(**settings).fit(X, Y)


def test_a_precision_that_no_threshold_reaches_is_refused_with_the_highest():
    noise = ["a", "b"] * 10
    with pytest.raises(BayesError, match="the highest on left-out rows is"):
        CostSensitive(precision=0.99).fit({"x": ["u"] * 20}, noise)


def test_three_classes_are_refused():
    with pytest.raises(BayesError, match="there are 3"):
        CostSensitive(recall=0.5).fit({"x": ["u"] * 6}, ["a", "b", "c"] * 2)

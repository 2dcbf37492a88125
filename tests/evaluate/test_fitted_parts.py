"""Errors of foreign classifiers during evaluation name the fold and give a hint."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC

import bayeskit as bk
from bayeskit.errors import BayesError
from bayeskit.evaluate.learning_curve import generative_vs_discriminative

RNG = np.random.default_rng(0)
X = RNG.normal(size=(10, 2))
LONELY = np.array(list("aaaaaaaaab"))  # one fold holds the only "b": the others are of one class
CALLS = {
    "cross-validation": lambda model: bk.cross_validate(model, X, LONELY, folds=5),
    "calibration": lambda model: bk.Calibrated(model).fit(X, LONELY),
    "comparison": lambda model: bk.compare({"theirs": model}, X, LONELY),
    "leave-one-out": lambda model: bk.compare({"theirs": model}, X, LONELY, folds="leave-one-out"),
    "learning curve": lambda model: bk.learning_curve(model, X, LONELY, X, LONELY, sizes=[2, 10]),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_single_class_in_the_training_rows_is_reported_with_a_hint(call):
    with pytest.raises(BayesError, match="LogisticRegression cannot learn a single class, and ") as refused:
        CALLS[call](LogisticRegression())
    assert "every row is of class 'a'" in str(refused.value)
    assert "NaiveBayes" in str(refused.value)


def test_the_fold_is_named():
    with pytest.raises(BayesError, match=r"without fold \d of 5 every row"):
        bk.cross_validate(LogisticRegression(), X, LONELY, folds=5)


@pytest.mark.filterwarnings("ignore:there is one class only")
@pytest.mark.parametrize("wrapper", [bk.Encoded, bk.Calibrated, bk.CostSensitive])
def test_one_class_is_refused_in_our_words_by_every_wrapper(wrapper):
    with pytest.raises(BayesError, match="LogisticRegression cannot learn a single class, and here every row"):
        wrapper(LogisticRegression()).fit(X, ["a"] * 10)
    with pytest.raises(BayesError, match=r"cannot learn a single class, and without fold \d of 5"):
        bk.cross_validate(wrapper(LogisticRegression()), X, LONELY, folds=5)


@pytest.mark.parametrize("call", [bk.cross_validate, bk.learning_curve, lambda *a: bk.compare(["naive"], *a[-2:])])
def test_no_rows_are_said_to_be_none(call):
    with pytest.raises(BayesError, match="there are no rows"):
        call(bk.NaiveBayes(), {"x": []}, [])


def test_a_learning_curve_leaves_rows_without_a_label_out_where_the_model_does():
    y = ["a", "b", None, "a", "b", "a", "b", "a", "b", "a"]
    with pytest.warns(bk.BayesWarning, match="label"):
        curve = bk.learning_curve(bk.NaiveBayes(unlabeled="drop"), X, y, sizes=[2, 5])
    assert curve.test_rows == 3


def test_our_models_learn_one_class_and_lose_the_other():
    assert bk.cross_validate(bk.NaiveBayes(), X, LONELY, folds=5).n_lost == 1


def test_other_refusals_name_the_model_and_what_helps():
    table = {"sky": ["sun", "rain"] * 5, "wind": [1.0, None] * 5}
    with pytest.raises(BayesError, match=r"could not convert string.*Encoded\(LogisticRegression"):
        bk.cross_validate(LogisticRegression(), np.array([["u"], ["v"]] * 5, dtype=object), LONELY, folds=2)
    with pytest.raises(BayesError, match=r"KNeighborsClassifier cannot learn.*Omit sample_weight"):
        bk.cross_validate(KNeighborsClassifier(), X, np.array(list("ababababab")), 2, sample_weight=np.ones(10))
    y = ["go", "stay"] * 5
    assert bk.cross_validate(bk.Encoded(LogisticRegression()), table, y, folds=5).accuracy == 1.0


@pytest.mark.parametrize("model", [LinearSVC(), SVC()], ids=str)
def test_a_classifier_without_probabilities_is_refused_before_anything_is_learned(model):
    y = np.array(list("ababababab"))
    for call in (bk.cross_validate, bk.learning_curve):
        with pytest.raises(BayesError, match="has no predict_proba"):
            call(model, X, y)


@pytest.mark.filterwarnings("ignore:there is one class only")
def test_a_class_that_no_row_showed_is_no_certain_success():
    x = np.arange(108.0)[:, None]
    y = np.array(["a"] * 100 + ["b"] * 8)
    records = generative_vs_discriminative(x, y, sizes=[4], repeats=1, models={"nb": bk.NaiveBayes()})
    share = 2 / 33  # of the class never learned among the rows held out
    assert records[0]["error"] == pytest.approx(share)
    assert records[0]["log_loss"] == pytest.approx(-share * np.log(1e-15))


@pytest.mark.parametrize("call", [bk.cross_validate, bk.learning_curve])
def test_a_network_without_fit_is_refused_with_the_classifier_to_use(call):
    days = bk.datasets.load_worked_example("tennis")
    with pytest.raises(BayesError, match="BayesianNetwork has no fit") as refused:
        call(bk.learn_network(days), days, "play")
    assert "NetworkClassifier" in refused.value.hint

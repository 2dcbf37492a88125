"""Calibrated probabilities: the curves are scikit-learn's, fed by rows that the model has not learned."""

import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import bayeskit as bk
from bayeskit.errors import BadFile, BayesError
from bayeskit.estimate.calibration import fit_beta, fit_isotonic, fit_sigmoid
from bayeskit.evaluate.cross_validation import stratified_folds
from bayeskit.models import from_bytes, to_bytes
from bayeskit.models.wrappers.calibrated import METHODS, Calibrated, HonestScores

N = 400


def copied(n=N, n_classes=2, seed=0):
    """Columns that repeat each other: naive Bayes is far too sure."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    x = y + rng.normal(size=n) * 1.5
    return np.stack([x + rng.normal(size=n) * 0.2 for _ in range(6)], axis=1), y


def test_naive_bayes_that_counts_evidence_six_times_is_mended():
    X, y = copied(2000)
    new, truth = copied(4000, seed=1)
    plain = bk.NaiveBayes(numeric="gaussian").fit(X, y)
    assert bk.calibration_error(plain.predict_proba(new), truth) > 0.15
    for method in ("isotonic", "sigmoid", "beta", "temperature"):
        model = bk.Calibrated(bk.NaiveBayes(numeric="gaussian"), method).fit(X, y)
        assert bk.calibration_error(model.predict_proba(new), truth) < 0.05
        assert model.method_ == "leave-one-out"


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", ["isotonic", "sigmoid", "temperature"])
def test_the_curves_are_those_of_scikit_learn_where_it_has_one(method, n_classes):
    X, y = copied(n_classes=n_classes)
    given = LogisticRegression(C=0.01).fit(X[:100], y[:100])  # it has a decision function: log odds, or one a class
    peer = CalibratedClassifierCV(FrozenEstimator(given), method=method).fit(X[100:], y[100:])
    model = bk.Calibrated(method=method, capped=False)
    said = given.predict_log_proba(X[100:])
    rows = HonestScores(said, y[100:].astype(np.intp), None, "given")
    ours = model._learn(given, rows)
    if n_classes == 2 or method == "temperature":
        np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=2e-4)
    else:  # its curves go over the decision function of a class, ours over the log odds: each is monotone
        for c, curve in enumerate(ours.maps_):
            odds = said[:, c] - np.log1p(-np.exp(said[:, c]))
            if method == "isotonic":
                theirs = CalibratedClassifierCV(FrozenEstimator(_Binary(odds)), method="isotonic")
                theirs.fit(np.arange(len(odds))[:, None], y[100:] == c)
                np.testing.assert_allclose(
                    curve(odds), theirs.predict_proba(np.arange(len(odds))[:, None])[:, 1], atol=1e-9
                )


class _Binary:
    """A classifier whose decision function is given."""

    _estimator_type = "classifier"

    def __init__(self, odds):
        self.odds, self.classes_ = odds, np.array([False, True])

    def fit(self, X, y):
        return self

    def decision_function(self, X):
        return self.odds[X[:, 0].astype(int)]

    def predict(self, X):
        return self.decision_function(X) > 0

    def __sklearn_tags__(self):
        return LogisticRegression().__sklearn_tags__()

    def __sklearn_is_fitted__(self):
        return True

    def get_params(self, deep=True):
        return {"odds": self.odds}


def test_the_curve_is_learned_from_scores_of_rows_left_out_one_by_one():
    X, y = copied(60)
    model = bk.Calibrated(bk.NaiveBayes(numeric="gaussian"), method="temperature").fit(X, y)
    left_out = np.array(
        [
            bk.NaiveBayes(numeric="gaussian")
            .fit(np.delete(X, i, 0), np.delete(y, i))
            .predict_log_proba(X[i : i + 1])[0]
            for i in range(60)
        ]
    )
    again = bk.Calibrated(method="temperature")._learn(
        model.model_, HonestScores(left_out, y.astype(np.intp), None, "")
    )
    assert model.temperature_ == pytest.approx(again.temperature_, rel=1e-5)


def test_a_model_without_leave_one_out_is_calibrated_by_folds():
    X, y = copied()
    model = bk.Calibrated(LogisticRegression(), "sigmoid", capped=False).fit(X, y)
    assert model.method_ == "5 folds"
    folds = stratified_folds(y, 5, 0)
    peer = CalibratedClassifierCV(LogisticRegression(), method="sigmoid", ensemble=False, cv=folds).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=2e-4)
    assert bk.Calibrated(folds=3).fit(X, y).method_ == "3 folds"


def test_a_row_of_weight_two_is_the_row_twice():
    X, y = copied(150)
    weights = np.random.default_rng(3).integers(0, 3, 150)
    twice = np.repeat(np.arange(150), weights)
    for method in ("isotonic", "sigmoid", "beta", "temperature"):
        weighed = bk.Calibrated(method=method).fit(X, y, sample_weight=weights)
        repeated = bk.Calibrated(method=method).fit(X[twice], y[twice])
        np.testing.assert_allclose(weighed.predict_proba(X), repeated.predict_proba(X), rtol=1e-4)


def test_no_probability_claims_more_than_the_rows_show():
    X, y = [[0.0], [0.1], [9.0], [9.1]] * 10, ["a", "a", "b", "b"] * 10
    p = bk.Calibrated().fit(X, y).predict_proba(X)
    assert p.max() == pytest.approx(41 / 42)
    assert p.min() == pytest.approx(1 / 42)
    assert bk.Calibrated(capped=False).fit(X, y).predict_proba(X).max() == 1.0


def test_probabilities_of_exactly_0_and_1_have_their_place_on_the_curve():
    sky = ["sun"] * 10 + ["rain"] * 10 + ["sun", "rain"]
    play = ["yes"] * 10 + ["no"] * 10 + ["yes", "no"]
    for method in ("isotonic", "sigmoid", "beta", "temperature"):
        model = bk.Calibrated(bk.NaiveBayes(smoothing=0), method).fit({"sky": sky}, play)
        assert set(model.model_.predict_proba({"sky": ["sun", "rain"]}).ravel()) == {0.0, 1.0}
        p = model.predict_proba({"sky": ["sun", "rain"]})
        assert ((p > 0) & (p < 1)).all()
        assert p[0, 1] > 0.85
        assert p[1, 0] > 0.85


def test_constant_scores_give_the_shares_of_the_classes():
    model = bk.Calibrated().fit({"x": ["a"] * 40}, ["yes"] * 10 + ["no"] * 30)
    assert model.predict_proba({"x": ["a"]})[0].round(2).tolist() == [0.74, 0.26]


def test_one_class_and_few_rows_have_an_answer():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bk.BayesWarning)
        one = bk.Calibrated().fit({"x": [1.0, 2.0, 3.0]}, ["a", "a", "a"])
        assert one.predict_proba({"x": [5.0]}).tolist() == [[1.0]]
        pair = bk.Calibrated().fit({"x": [1.0, 2.0]}, ["a", "b"])  # each row alone shows its class
        assert pair.maps_ == ()
        np.testing.assert_array_equal(pair.predict_proba({"x": [5.0]}), pair.model_.predict_proba({"x": [5.0]}))
        three = bk.Calibrated(bk.NaiveBayes(), folds=9).fit({"x": ["a", "b", "b"]}, ["a", "b", "b"])
        assert three.method_ == "3 folds"
        assert np.isfinite(three.predict_proba({"x": ["a", "b"]})).all()


def test_a_class_that_is_never_right_keeps_the_least_that_rows_allow():
    X, y = copied(90, 3)
    y = np.where(y == 2, np.where(np.arange(90) < 88, 1, 2), y)
    y[0] = 2
    model = bk.Calibrated().fit(X, y)
    assert (model.predict_proba(X) > 0).all()


def test_equal_probabilities_are_decided_by_the_score_behind_them():
    said, seen = np.log([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]]), np.array([0, 1, 0, 1])
    inner = bk.NaiveBayes().fit({"x": ["a", "b"] * 2 + ["a", "a", "b", "b"]}, list("yyyynnnn"))
    model = bk.Calibrated(capped=False)._learn(inner, HonestScores(said, seen, None, "given"))
    rows = {"x": ["a", "b"]}
    assert (model.predict_proba(rows) == 0.5).all()
    assert model.predict(rows).tolist() == inner.predict(rows).tolist() == ["n", "n"]
    other = bk.NaiveBayes().fit({"x": ["a", "a", "a", "b", "a", "b", "b", "b"]}, list("yyyynnnn"))
    model = bk.Calibrated(capped=False)._learn(other, HonestScores(said, seen, None, "given"))
    assert (model.predict_proba(rows) == 0.5).all()
    assert model.predict(rows).tolist() == ["y", "n"]


def test_the_curve_needs_no_more_rows_than_asked_for():
    X, y = copied(5000)
    few = bk.Calibrated(max_rows=500).fit(X, y)
    assert 400 < few.n_calibrated_ < 600
    assert few.model_.tally_.n_rows == 5000


def test_what_it_cannot_do_is_absent_and_says_why():
    model = bk.Calibrated().fit(*copied(50))
    for name in ("partial_fit", "forget", "merge", "leave_one_out"):
        with pytest.raises(AttributeError, match="curve"):
            getattr(model, name)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"method": "isotone"}, "did you mean isotonic"),
        ({"folds": 1}, "folds=1"),
        ({"max_rows": 0}, "max_rows=0"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(settings, why):
    with pytest.raises(BayesError, match=why):
        bk.Calibrated(**settings).fit(*copied(20))


def test_what_has_no_probabilities_is_refused():
    from sklearn.linear_model import Perceptron

    with pytest.raises(BayesError, match="Perceptron has no predict_proba"):
        bk.Calibrated(Perceptron()).fit(*copied(20))


def test_a_file_with_a_curve_that_falls_is_refused():
    model = bk.Calibrated().fit(*copied(50))
    model.maps_[0].share[:] = model.maps_[0].share[::-1].copy()
    with pytest.raises(BadFile, match="does not rise"):
        from_bytes(to_bytes(model))


def test_the_curves_are_shown():
    model = bk.Calibrated().fit(*copied(200))
    assert model.table().column_names == ["classifier says", "calibrated, 1"]
    assert "isotonic" in model.describe_structure().sentence
    assert "divided by" in bk.Calibrated(method="temperature").fit(*copied(200)).describe_structure().sentence


def test_beta_contains_the_sigmoid_and_is_no_worse_by_likelihood():
    rng = np.random.default_rng(0)
    odds = rng.normal(size=500) * 4
    seen = rng.random(500) < 1 / (1 + np.exp(-np.where(odds > 0, odds, odds / 4)))
    loss = {
        fit.__name__: -np.log(np.where(seen, p := fit(odds, seen, None)(odds), 1 - p)).mean()
        for fit in (fit_sigmoid, fit_beta)
    }
    assert loss["fit_beta"] < loss["fit_sigmoid"]
    assert fit_isotonic(odds, seen, None)(np.array([-50.0])) <= fit_isotonic(odds, seen, None)(np.array([50.0]))


def test_slopes_that_would_fall_are_none():
    odds = np.linspace(-3, 3, 100)
    falling = fit_beta(odds, odds < 0, None)
    assert min(falling.of_log, falling.of_rest) >= 0


@pytest.mark.parametrize("inner", [bk.NaiveBayes(), bk.NaiveBayes(smoothing=0), bk.TAN(), bk.AODE()], ids=repr)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("capped", [True, False])
@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
def test_an_explanation_sums_to_the_calibrated_odds(inner, method, capped):
    birds = bk.datasets.load_penguins().drop_columns(["year"])
    model = Calibrated(inner, method, capped=capped).fit(birds, "species")
    classes, p, chosen = model.classes_.tolist(), model.predict_proba(birds), model.predict(birds)
    for i, record in enumerate(model.explain(birds)):
        assert record.predicted == chosen[i]
        a, b = classes.index(record.predicted), classes.index(record.against)
        assert record.probability == pytest.approx(p[i, a], rel=1e-9)
        if p[i, b] > 0:
            parts = record.prior_log_odds + sum(c.log_odds for c in record.contributions)
            assert parts == pytest.approx(record.log_odds, abs=1e-9)
            assert record.log_odds == pytest.approx(np.log(p[i, a] / p[i, b]), abs=1e-9)


def test_a_temperature_scales_every_contribution():
    birds = bk.datasets.load_penguins().drop_columns(["year"])
    model = Calibrated(method="temperature", capped=False).fit(birds, "species")
    for cool, warm in zip(model.explain(birds), model.model_.explain(birds), strict=True):
        assert [c.log_odds * model.temperature_ for c in cool.contributions] == pytest.approx(
            [c.log_odds for c in warm.contributions], abs=1e-9
        )
        assert cool.prior_log_odds * model.temperature_ == pytest.approx(warm.prior_log_odds)


def test_a_classifier_without_terms_has_no_explanation_through_the_curve():
    model = Calibrated(bk.LogisticRegression())
    assert not hasattr(model, "explain")
    with pytest.raises(AttributeError, match="does not say what each column adds"):
        model.explain([])

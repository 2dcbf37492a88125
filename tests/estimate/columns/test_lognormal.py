"""Log-normal columns: against SciPy, against Gaussians of logarithms, and against refitting."""

import numpy as np
import pytest
from scipy import stats

import bayeskit as bk
from bayeskit.errors import BayesError, UnknownValue

RNG = np.random.default_rng(5)
Y = np.repeat(["a", "b", "c"], [30, 12, 4])
X = {"x": np.exp(RNG.normal(size=46) + (Y == "b")), "z": np.exp(3 + 0.2 * RNG.normal(size=46))}
LOGS = {name: np.log(column) for name, column in X.items()}


def test_scores_are_those_of_scipy():
    model = bk.NaiveBayes(numeric="lognormal").fit(X, Y)
    at = np.array([0.01, 1.0, 7.5, 1e9])
    scores = model._column_scores(model.params_, "x", at)
    for c, label in enumerate("abc"):
        logs = LOGS["x"][label == Y]
        expected = stats.lognorm(s=logs.std(ddof=1), scale=np.exp(logs.mean())).logpdf(at)
        np.testing.assert_allclose(scores[:, c], expected, rtol=1e-12)


def test_the_posterior_is_that_of_gaussians_of_logarithms():
    new = {name: column * 1.5 for name, column in X.items()}
    logs = {name: np.log(column) for name, column in new.items()}
    ours = bk.NaiveBayes(numeric="lognormal").fit(X, Y).predict_proba(new)
    np.testing.assert_allclose(ours, bk.NaiveBayes(numeric="gaussian").fit(LOGS, Y).predict_proba(logs), rtol=1e-10)


def test_leave_one_out_equals_refitting_without_the_row():
    table = {"x": X["x"].copy(), "z": X["z"]}
    table["x"][3] = np.nan
    model = bk.NaiveBayes(numeric="lognormal").fit(table, Y)
    left_out = model.leave_one_out(table, Y).probabilities
    for row in (0, 3, 29, 40, 45):
        rest = np.arange(46) != row
        refitted = bk.NaiveBayes(numeric="lognormal").fit({n: c[rest] for n, c in table.items()}, Y[rest])
        expected = refitted.predict_proba({n: c[[row]] for n, c in table.items()})[0]
        np.testing.assert_allclose(left_out[row], expected, rtol=1e-9)


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_numbers_without_a_logarithm_are_refused_in_learning_and_say_nothing_in_asking(bad):
    with pytest.raises(BayesError, match="row 1, which has no logarithm"):
        bk.NaiveBayes(numeric="lognormal").fit({"x": [1.0, bad, 2.0]}, ["a", "b", "a"])
    model = bk.NaiveBayes(numeric="lognormal").fit(X, Y)
    odd = {"x": [bad], "z": [np.nan]}
    np.testing.assert_allclose(model.predict_proba(odd)[0], np.array([30, 12, 4]) / 46)
    assert "left out" in str(model.explain(odd))
    for form in (odd, {"x": bad, "z": None}):
        with pytest.raises(UnknownValue, match="no logarithm"):
            bk.NaiveBayes(numeric="lognormal", unseen="error").fit(X, Y).predict_proba(form)


def test_what_is_drawn_has_the_logarithms_that_were_learned():
    model = bk.NaiveBayes(numeric="lognormal").fit(X, Y)
    rows, labels = model.sample(20_000, random_state=0)
    logs = np.log(np.asarray(rows["x"], dtype=float)[labels == "a"])
    assert abs(logs.mean() - LOGS["x"][Y == "a"].mean()) < 0.05
    points = model._column_points(model.params_, "x", 1001)[0]
    np.testing.assert_allclose(np.median(points), np.exp(LOGS["x"][Y == "a"].mean()), rtol=1e-6)


def test_a_file_keeps_it(tmp_path):
    model = bk.NaiveBayes(numeric="lognormal").fit(X, Y)
    model.save(tmp_path / "sizes.bayes")
    assert np.array_equal(bk.load(tmp_path / "sizes.bayes").predict_proba(X), model.predict_proba(X))

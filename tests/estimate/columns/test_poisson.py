"""Counts: the posterior predictive of a Poisson rate, against SciPy, and what is not a count."""

import numpy as np
import pytest
from scipy import stats

import bayeskit as bk

RNG = np.random.default_rng(12)
Y = np.repeat(["a", "b", "c"], [40, 5, 2])
X = {"x": RNG.poisson(np.where(Y == "a", 2.0, 7.0)), "z": RNG.poisson(3000.0, 47)}


def by_hand(x, y, at):
    """ln P(at | class) by the formulas of the documentation."""
    rate = x.mean()
    parts = [x[y == c] for c in np.unique(y)]
    laws = [stats.nbinom(rate + part.sum(), (1 + len(part)) / (2 + len(part))) for part in parts]
    return np.column_stack([law.logpmf(at) for law in laws])


def test_scores_are_those_of_the_posterior_predictive():
    model = bk.NaiveBayes(numeric="poisson").fit(X, Y)
    at = {"x": np.arange(30), "z": np.arange(2000, 5000, 100)}
    expected = np.log(np.array([40, 5, 2]) / 47) + by_hand(X["x"], Y, at["x"]) + by_hand(X["z"], Y, at["z"])
    np.testing.assert_allclose(model.predict_joint_log_proba(at), expected, rtol=1e-9)


def test_probabilities_of_all_counts_sum_to_one():
    model = bk.NaiveBayes(numeric="poisson").fit({"x": X["x"]}, Y)
    np.testing.assert_allclose(np.exp(model._column_scores(model.params_, "x", np.arange(3000))).sum(axis=0), 1.0)


def test_a_class_that_shows_only_zeros_is_not_ruled_out_by_a_one():
    model = bk.NaiveBayes(numeric="poisson").fit({"x": [0, 0, 0, 1, 3]}, ["a", "a", "a", "b", "b"])
    assert model.table("x")["rate"] == pytest.approx([0.8 / 4, 4.8 / 3])
    assert (model.predict_proba({"x": [1, 50]}) > 0).all()


@pytest.mark.parametrize("value", [-1, 2.5, 2.0**54])
def test_what_is_no_count_is_refused_in_learning_and_nothing_changes(value):
    model = bk.NaiveBayes(numeric="poisson").fit(X, Y)
    before = model.predict_joint_log_proba(X)
    rows = {"x": [1.0, value, None], "z": [1, 2, 3]}
    for learn in (model.partial_fit, model.forget, bk.NaiveBayes(numeric="poisson").fit):
        with pytest.raises(
            bk.BayesError, match=r"column 'x' has \S+ in row 1, which is not a count.*numeric=\"gaussian\""
        ):
            learn(rows, ["a", "b", "c"])
    assert np.array_equal(model.predict_joint_log_proba(X), before)


def test_what_is_no_count_says_nothing_when_a_model_is_asked():
    model = bk.NaiveBayes(numeric="poisson").fit({"x": X["x"]}, Y)
    scores = model.predict_joint_log_proba({"x": [0.5, -3.0, None, 2.0**60]})
    assert np.array_equal(scores, np.repeat(model.params_.log_prior[None], 4, axis=0))
    assert model.explain({"x": [0.5]})[0].contributions[0].state == "unseen"
    strict = bk.NaiveBayes(numeric="poisson", unseen="error").fit({"x": X["x"]}, Y)
    with pytest.raises(
        bk.BayesError, match=r"column 'x' has 0.5 in row 1, which is not a count. Pass unseen=\"ignore\""
    ):
        strict.predict({"x": [1, 0.5]})
    with pytest.raises(bk.BayesError, match=r"column 'x' has 1e\+200 in row 0"):
        model.predict({"x": [1e200]})


def test_a_row_that_is_no_count_was_never_learned():
    model = bk.NaiveBayes(numeric="poisson").fit({"x": X["x"]}, Y)
    with pytest.raises(bk.BayesError, match="row 0 was never learned: its value of column 'x'"):
        model.leave_one_out({"x": [X["x"][0] + 0.5, *X["x"][1:]]}, Y)


def test_a_column_that_is_constant_or_lacks_counts_of_a_class_says_nothing():
    flat = bk.NaiveBayes(numeric="poisson").fit({"x": [3, 3, 3], "o": [0, 0, 0]}, ["a", "a", "b"])
    assert flat.params_.unused == {"x", "o"}
    assert np.array_equal(flat.predict_joint_log_proba({"x": [4], "o": [1]})[0], flat.params_.log_prior)
    assert flat.sample(2, 0)[0]["x"] == [None, None]
    assert np.isnan(flat.table("x")["rate"]).all()
    empty = bk.NaiveBayes(numeric="poisson").fit({"x": [1, 2, None], "z": [1, 2, 4]}, ["a", "a", "b"])
    assert empty.params_.unused == {"x"}
    assert empty.n_parameters_ == 1 + 2


def test_a_declared_class_without_rows_has_the_prior():
    schema = bk.NaiveBayes().fit({"x": [1, 2, 6]}, ["a", "a", "b"]).schema_
    schema = type(schema)(schema.columns, type(schema.target)(schema.target.name, ("a", "b", "c")), schema.named)
    model = bk.NaiveBayes(numeric="poisson", schema=schema, prior="uniform").fit({"x": [1, 2, 6]}, ["a", "a", "b"])
    assert model.table("x")["rate"] == pytest.approx([2.0, 4.5, 3.0])


def test_a_weight_of_two_is_the_row_twice():
    twice = bk.NaiveBayes(numeric="poisson").fit({n: np.repeat(c, 2) for n, c in X.items()}, np.repeat(Y, 2))
    heavy = bk.NaiveBayes(numeric="poisson").fit(X, Y, sample_weight=np.full(47, 2.0))
    np.testing.assert_allclose(heavy.predict_joint_log_proba(X), twice.predict_joint_log_proba(X), rtol=1e-10)


def test_a_file_keeps_counts_beside_other_numbers(tmp_path):
    model = bk.NaiveBayes(numeric={"x": "poisson"}).fit(X, Y)
    assert model.table("z").column_names == ["class", "count", "mean", "variance"]
    model.save(tmp_path / "model.bayes")
    loaded = bk.load(tmp_path / "model.bayes")
    assert np.array_equal(loaded.predict_joint_log_proba(X), model.predict_joint_log_proba(X))
    assert loaded.partial_fit(X, Y).table("x")["count"] == [80, 10, 4]


def test_a_nomogram_shows_counts_alone():
    axis = bk.NaiveBayes(numeric="poisson").fit({"x": X["x"]}, Y).nomogram("a", "b").axes[0]
    assert all(value >= 0 and value == round(value) for value in axis.values)


def test_exponents_weigh_such_columns():
    model = bk.DiscriminativeWeights(bk.NaiveBayes(numeric="poisson")).fit(X, Y)
    np.testing.assert_allclose(model.contributions(X).sum(axis=2), model.predict_joint_log_proba(X), rtol=1e-12)


def test_a_column_that_falls_silent_says_so():
    model = bk.NaiveBayes(numeric="poisson").fit({"x": [1, 2, 4]}, ["a", "a", "b"])
    with pytest.warns(bk.BayesWarning, match="column 'x' is left out from now on, for all classes: class 'c' has rows"):
        model.partial_fit({"x": [None]}, ["c"])

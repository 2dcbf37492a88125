"""Worked examples 1, 34, 4, 36 and 9, through the public interface."""

import numpy as np
import pytest
from scipy import stats
from sklearn.dummy import DummyClassifier

import bayeskit as bk


def test_1_one_positive_test_is_not_cancer_and_two_are():
    patient = bk.Hypotheses({"cancer": 0.008, "healthy": 0.992})
    positive = {"cancer": 0.98, "healthy": 0.03}
    once = patient.update(positive)
    joint = {name: once.posterior[name] * np.exp(once.log_evidence) for name in once.names}
    assert joint == pytest.approx({"cancer": 0.00784, "healthy": 0.02976}, rel=1e-12)
    assert once.map == "healthy"
    assert once.posterior["cancer"] == pytest.approx(0.2085, abs=5e-5)
    assert once.update(positive).map == "cancer"


def test_34_the_map_hypothesis_says_plus_the_optimal_vote_minus_and_gibbs_plus_four_times_in_ten():
    def says(label):
        return DummyClassifier(strategy="constant", constant=label).fit([[0], [0]], ["+", "-"])

    members = {"h1": says("+"), "h2": says("-"), "h3": says("-")}
    optimal = bk.BayesOptimalClassifier(members, weights={"h1": 0.4, "h2": 0.3, "h3": 0.3}, prefit=True).fit()
    assert optimal.map_.predict([[0]])[0] == "+"
    assert optimal.predict([[0]])[0] == "-"
    assert optimal.predict_proba([[0]])[0] == pytest.approx([0.4, 0.6])
    gibbs = bk.GibbsClassifier(members, weights=[0.4, 0.3, 0.3], prefit=True, random_state=0).fit()
    assert (gibbs.predict(np.zeros((20_000, 1))) == "+").mean() == pytest.approx(0.4, abs=0.01)


def test_4_the_posterior_after_each_flip_is_a_beta():
    flips = [True, False, True, True]
    prior = bk.BetaBernoulli(2, 3)
    grid = np.linspace(0.01, 0.99, 99)
    for n, belief in enumerate(prior.sequence(flips), 1):
        heads = sum(flips[:n])
        np.testing.assert_allclose(belief.density(grid), stats.beta.pdf(grid, 2 + heads, 3 + n - heads))
        assert belief.map == pytest.approx((heads + 1) / (heads + 1 + n - heads + 2))
    both = prior.update(flips[:2]).merge(prior.update(flips[2:]))
    assert both == prior.update(flips)
    assert both.forget(flips[2:]) == prior.update(flips[:2])


def test_36_gaussian_naive_bayes_with_shared_variances_is_a_logistic_function():
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.3
    X = rng.normal(size=(300, 4)) * [1, 2, 0.1, 30] + y[:, None] * [0.5, -1, 0.1, 10] + [0, 5, 1, 1000]
    model = bk.NaiveBayes(variance="feature", ddof=0).fit(X, y)
    pi = y.mean()
    m1, m0 = X[y].mean(axis=0), X[~y].mean(axis=0)
    variance = (((X[y] - m1) ** 2).sum(axis=0) + ((X[~y] - m0) ** 2).sum(axis=0)) / len(X)
    w = (m1 - m0) / variance
    w0 = np.log(pi / (1 - pi)) + ((m0**2 - m1**2) / (2 * variance)).sum()
    form = model.to_logistic()
    np.testing.assert_allclose(form.weights[0], w, rtol=1e-9)
    assert form.intercept[0] == pytest.approx(w0, rel=1e-9)
    expected = 1 / (1 + np.exp(-(form.intercept[0] + X @ form.weights[0])))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, atol=1e-12)
    np.testing.assert_allclose(form.predict_proba(X), model.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("n", [1, 4, 9])
def test_9_logistic_regression_has_one_parameter_a_column_and_one_more(n):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, n)), np.arange(60) % 2
    assert bk.LogisticRegression().fit(X, y).n_parameters_ == n + 1
    assert bk.NaiveBayes(numeric="gaussian").fit(X, y).n_parameters_ == 4 * n + 1

"""Linear regression: least squares, ridge, and honest intervals."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression as Peer
from sklearn.linear_model import Ridge

import bayeskit as bk
from bayeskit.datasets import load_penguins

X, Y = load_diabetes(return_X_y=True)


def test_maximum_likelihood_is_least_squares():
    ours, theirs = bk.LinearRegression().fit(X, Y), Peer().fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    assert ours.intercept_ == pytest.approx(theirs.intercept_)
    sigma = np.sqrt(np.mean((Y - ours.predict(X)) ** 2))
    assert ours.log_likelihood_ == pytest.approx(stats.norm.logpdf(Y, ours.predict(X), sigma).sum())
    better = stats.norm.logpdf(Y, (X + 1e-4) @ ours.coef_ + ours.intercept_, sigma).sum()
    assert better < ours.log_likelihood_


@pytest.mark.parametrize("penalty", [0.01, 1.0, 100.0])
def test_map_under_a_gaussian_prior_is_ridge_regression(penalty):
    ours = bk.LinearRegression(penalty, scale=False).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, Ridge(alpha=penalty).fit(X, Y).coef_, rtol=1e-8)


def test_a_weight_is_the_row_so_many_times():
    w = np.random.default_rng(0).integers(0, 3, len(Y))
    a = bk.LinearRegression(1.0).fit(X, Y, sample_weight=w)
    b = bk.LinearRegression(1.0).fit(np.repeat(X, w, axis=0), np.repeat(Y, w))
    np.testing.assert_allclose(a.predict_interval(X), b.predict_interval(X), rtol=1e-8)


def test_the_interval_of_least_squares_is_the_textbooks():
    x, y = np.arange(6.0), np.array([1.0, 2.5, 2.0, 4.5, 5.0, 5.5])
    fit = stats.linregress(x, y)
    residual = y - fit.intercept - fit.slope * x
    s = np.sqrt((residual**2).sum() / 4)
    at = 7.0
    half = stats.t.ppf(0.975, 4) * s * np.sqrt(1 + 1 / 6 + (at - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum())
    low, high = bk.LinearRegression().fit(x[:, None], y).predict_interval([[at]])[0]
    assert (low, high) == pytest.approx((fit.intercept + fit.slope * at - half, fit.intercept + fit.slope * at + half))


@pytest.mark.slow
@pytest.mark.parametrize("penalty", [0.0, 5.0])
def test_intervals_hold_what_they_promise(penalty):
    rng, inside = np.random.default_rng(0), []
    for _ in range(300):
        w = rng.normal(size=3) * 0.5
        rows = rng.normal(size=(13, 3))
        y = rows @ w + rng.normal(size=13)
        low, high = bk.LinearRegression(penalty, scale=False).fit(rows[:12], y[:12]).predict_interval(rows[12:], 0.8)[0]
        inside.append(low < y[12] < high)
    assert np.mean(inside) == pytest.approx(0.8, abs=0.06)


def test_the_evidence_is_the_density_of_the_targets_with_the_weights_integrated_out():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 3))
    y = rows @ [1.0, 0.3, 0.0] + rng.normal(size=40)
    model = bk.LinearRegression("evidence", scale=False).fit(rows, y)
    centered, target = rows - rows.mean(axis=0), y - y.mean()
    project = np.linalg.svd(np.eye(40) - 1 / 40)[0][:, :39]  # the level is unknown and flat

    def log_evidence(penalty):
        cov = np.eye(39) + project.T @ centered @ centered.T @ project / penalty
        z = project.T @ target
        return -0.5 * np.linalg.slogdet(cov)[1] - 39 / 2 * np.log(z @ np.linalg.solve(cov, z))

    lambdas = np.logspace(-2, 3, 400)
    best = lambdas[np.argmax([log_evidence(penalty) for penalty in lambdas])]
    assert model.penalty_ == pytest.approx(best, rel=0.03)


def test_mixed_columns_and_gaps():
    birds = load_penguins().to_pandas().drop(columns="year").dropna(subset="body_mass_g")
    model = bk.LinearRegression(1.0).fit(birds, "body_mass_g")
    assert model.score(birds.drop(columns="body_mass_g"), birds["body_mass_g"]) > 0.85
    assert "species=Gentoo" in model.features_


def test_collinear_columns_are_said_and_the_predictions_are_still_least_squares():
    twice = np.column_stack([X, X[:, 0] + X[:, 1]])
    with pytest.warns(bk.BayesWarning, match=r"collinear.*penalty"):
        model = bk.LinearRegression().fit(twice, Y)
    np.testing.assert_allclose(model.predict(twice), Peer().fit(X, Y).predict(X), rtol=1e-6)
    assert model.df_ == len(Y) - 11


def test_numbers_that_are_none_are_refused():
    with pytest.raises(bk.BayesError, match="row 1"):
        bk.LinearRegression().fit([[1.0], [2.0]], [1.0, np.nan])
    with pytest.raises(bk.BayesError, match="penalty"):
        bk.LinearRegression(-1).fit(X, Y)
    with pytest.raises(bk.BayesError, match="leave nothing"):
        bk.LinearRegression().fit([[1.0], [2.0]], [1.0, 2.0]).predict_interval([[1.0]])

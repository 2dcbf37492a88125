"""GaussianBayes: against SciPy, scikit-learn's discriminant analyzes, and refitting."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayeskit as bk
from bayeskit.datasets import load_penguins
from bayeskit.estimate.leave_one_out import NormalsLeftOut

RULES = ["full", "tied", "diagonal", "shrunk"]


def correlated(n=60, k=3, seed=0, gaps=0.0, classes="ab"):
    rng = np.random.default_rng(seed)
    y = np.array(list(classes))[rng.integers(0, len(classes), n)]
    mix = rng.normal(size=(len(classes), k, k))
    which = np.array([classes.index(c) for c in y])
    X = np.einsum("nij,nj->ni", mix[which], rng.normal(size=(n, k))) + which[:, None] * 0.7
    X[rng.random((n, k)) < gaps] = np.nan
    return X, y


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([bk.GaussianBayes(), bk.GaussianBayes(covariance="tied", shrinkage="auto")])
def test_the_checks_of_scikit_learn_pass(estimator, check):
    check(estimator)


def test_the_density_is_that_of_scipy():
    X, y = correlated()
    model = bk.GaussianBayes().fit(X, y)
    for c, label in enumerate("ab"):
        own = X[y == label]
        expected = multivariate_normal(own.mean(axis=0), np.cov(own.T)).logpdf(X) + np.log((y == label).mean())
        np.testing.assert_allclose(model.predict_joint_log_proba(X)[:, c], expected, rtol=1e-10)
        np.testing.assert_allclose(model.covariances_[c], np.cov(own.T), rtol=1e-12)


def test_missing_cells_are_marginalized():
    X, y = correlated()
    model = bk.GaussianBayes().fit(X, y)
    holes = X.copy()
    holes[::2, 1] = np.nan
    holes[::3, 0] = np.nan
    holes[0] = np.nan
    joint = model.predict_joint_log_proba(holes)
    for i, row in enumerate(holes):
        there = ~np.isnan(row)
        for c in range(2):
            expected = model.params_.log_prior[c]
            if there.any():
                part = multivariate_normal(model.means_[c][there], model.covariances_[c][np.ix_(there, there)])
                expected += part.logpdf(row[there])
            assert joint[i, c] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_it_equals_the_quadratic_and_the_linear_discriminant_of_scikit_learn(load):
    X, y = load(return_X_y=True)
    theirs = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    ddof = int(np.allclose(theirs.covariance_[0], np.cov(X[y == 0].T)))  # releases differ
    ours = bk.GaussianBayes(ddof=ddof).fit(X, y)
    np.testing.assert_allclose(ours.covariances_, theirs.covariance_, rtol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)
    linear = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    tied = bk.GaussianBayes(covariance="tied", ddof=0).fit(X, y)
    np.testing.assert_allclose(tied.predict_proba(X), linear.predict_proba(X), atol=1e-8)


def test_a_diagonal_covariance_is_naive_bayes_gaps_and_all():
    X, y = correlated(gaps=0.2)
    naive = bk.NaiveBayes().fit(X, y)
    for model in (bk.GaussianBayes("diagonal"), bk.GaussianBayes("shrunk", shrinkage=1)):
        joint = model.fit(X, y).predict_joint_log_proba(X)
        np.testing.assert_allclose(joint, naive.predict_joint_log_proba(X), rtol=1e-10)
    np.testing.assert_allclose(
        bk.NaiveBayes().fit_tally(model.tally_).predict_proba(X), naive.predict_proba(X), rtol=1e-12
    )


def test_the_automatic_shrinkage_is_the_published_formula():
    X, y = correlated(n=25, k=4, classes="a")
    with pytest.warns(bk.BayesWarning, match="one class"):
        model = bk.GaussianBayes("shrunk").fit(X, y)
    R, p, n = np.corrcoef(X.T), 4, 25
    square = np.trace(R @ R)
    rho = ((1 - 2 / p) * square + p**2) / ((n + 1 - 2 / p) * (square - p))
    assert model.params_.normal.spread.shrinkage[0] == pytest.approx(min(rho, 1))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("gaps", [0.0, 0.15])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_equals_refitting(rule, gaps, weighted):
    X, y = correlated(n=24, gaps=gaps, classes="abc", seed=3)
    w = np.random.default_rng(1).choice([0.5, 1.0, 2.5], len(y)) if weighted else None
    model = bk.GaussianBayes(rule, shrinkage=0.3 if rule == "shrunk" else None).fit(X, y, w)
    found = model.leave_one_out(X, y, w)
    for i in range(len(y)):
        if weighted:
            left = w.copy()
            left[i] -= min(w[i], 1.0)
            other = bk.GaussianBayes(**model.get_params()).fit(X, y, left)
        else:
            keep = np.arange(len(y)) != i
            other = bk.GaussianBayes(**model.get_params()).fit(X[keep], y[keep])
        np.testing.assert_allclose(found.probabilities[i], other.predict_proba(X[[i]])[0], rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("rule", ["full", "tied"])
def test_the_short_way_of_leaving_out_equals_the_long_one(rule, monkeypatch):
    X, y = correlated(n=80, classes="abc")
    model = bk.GaussianBayes(rule).fit(X, y)
    assert model._left_out()._short is not None
    short = model.leave_one_out(X, y).probabilities
    monkeypatch.setattr(NormalsLeftOut, "_short", None)
    np.testing.assert_allclose(model.leave_one_out(X, y).probabilities, short, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
def test_a_row_that_takes_its_class_along_is_scored_by_the_others():
    X, y = correlated(n=20, classes="ab")
    X, y = np.vstack([X, [[9.0, 9.0, 9.0]]]), np.append(y, "z")
    found = bk.GaussianBayes().fit(X, y).leave_one_out(X, y).probabilities[-1]
    assert found[2] == 0
    np.testing.assert_allclose(found[:2], bk.GaussianBayes().fit(X[:-1], y[:-1]).predict_proba(X[-1:])[0], rtol=1e-8)


def test_a_row_that_was_never_learned_is_refused():
    X, y = correlated()
    model = bk.GaussianBayes().fit(X, y)
    strange = X.copy()
    strange[4, 1] = 1e6
    with pytest.raises(bk.BayesError, match="row 4 was never learned"):
        model.leave_one_out(strange, y)


@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
def test_the_explanation_sums_to_the_log_odds_and_telescopes():
    X, y = correlated(gaps=0.1)
    frame = pd.DataFrame(X, columns=["p", "q", "r"])
    model = bk.GaussianBayes().fit(frame, y)
    posterior = model.predict_log_proba(frame)
    for record in model.explain(frame):
        a, b = "ab".index(record.predicted), "ab".index(record.against)
        parts = record.prior_log_odds + sum(c.log_odds for c in record.contributions)
        assert parts == pytest.approx(posterior[record.row, a] - posterior[record.row, b], abs=1e-9)
        first = frame.iloc[[record.row]].assign(q=np.nan, r=np.nan)
        alone = model.predict_log_proba(first)[0]
        assert record.prior_log_odds + record.contributions[0].log_odds == pytest.approx(alone[a] - alone[b], abs=1e-9)


def test_samples_have_the_means_and_covariances_of_the_model():
    X, y = correlated()
    model = bk.GaussianBayes().fit(X, y)
    drawn, labels = model.sample(40_000, random_state=0)
    cells = drawn.to_pandas().to_numpy()
    for c, label in enumerate("ab"):
        own = cells[labels == label]
        scale = np.sqrt(np.diag(model.covariances_[c]))
        np.testing.assert_allclose((own.mean(axis=0) - model.means_[c]) / scale, 0, atol=0.04)
        np.testing.assert_allclose((np.cov(own.T) - model.covariances_[c]) / np.outer(scale, scale), 0, atol=0.06)


@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
def test_forgetting_an_outlier_of_a_billion_leaves_the_covariance():
    X, y = correlated()
    model = bk.GaussianBayes().fit(np.vstack([X, [[1e9, -1e9, 3.0]]]), np.append(y, "a"))
    model.forget([[1e9, -1e9, 3.0]], ["a"])
    np.testing.assert_allclose(model.covariances_, bk.GaussianBayes().fit(X, y).covariances_, rtol=1e-12)


def test_the_covariance_survives_a_mean_of_a_hundred_million_standard_deviations():
    X, y = correlated()
    near, far = bk.GaussianBayes().fit(np.round(X * 2**20) / 2**20, y), bk.GaussianBayes()
    far.fit(np.round(X * 2**20) / 2**20 + 2.0**27, y)
    np.testing.assert_allclose(far.covariances_, near.covariances_, rtol=1e-12)


def test_expected_counts_are_taken_like_weights():
    from bayeskit.data.source import Responsibilities

    X, y = correlated(gaps=0.1)
    share = np.random.default_rng(2).dirichlet([1, 1], len(y))
    soft = bk.GaussianBayes().fit(X, Responsibilities(("a", "b"), share))
    hard = bk.GaussianBayes().fit(np.vstack([X, X]), ["a"] * len(y) + ["b"] * len(y), np.concatenate(list(share.T)))
    np.testing.assert_allclose(soft.covariances_, hard.covariances_, rtol=1e-12)


def test_it_saves_and_loads(tmp_path):
    X, y = correlated(gaps=0.1)
    model = bk.GaussianBayes("shrunk", shrinkage=0.25).fit(X, y)
    model.save(tmp_path / "model.bayes")
    again = bk.load(tmp_path / "model.bayes")
    assert again.tally_ == model.tally_
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    again.forget(X[:5], y[:5])
    assert again.tally_ == bk.GaussianBayes("shrunk", shrinkage=0.25).fit(X, y).forget(X[:5], y[:5]).tally_


def test_a_file_whose_products_do_not_fit_is_refused():
    X, y = correlated()
    tally = bk.GaussianBayes().fit(X, y).tally_
    header, arrays = tally.to_parts()
    arrays[-6] = arrays[-6] + 1
    with pytest.raises(bk.BayesError, match="products"):
        bk.Tally.from_parts(header, arrays)


@pytest.mark.parametrize("rule", RULES)
def test_tuning_fixes_the_shrinkage_with_the_least_loss(rule):
    X, y = correlated(n=30, k=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bk.BayesWarning)
        model = bk.GaussianBayes(rule).tune(X, y)
        model.set_params(temperature=1.0)
        losses = {a: bk.GaussianBayes(rule, a).fit(X, y).leave_one_out(X, y).log_loss for a in (0.0, 0.1, 0.5, 1.0)}
    if rule == "diagonal":
        assert model.shrinkage is None
    else:
        assert model.leave_one_out(X, y).log_loss <= min(losses.values()) + 1e-12


def test_tables_and_parameters_can_be_read():
    X, y = correlated()
    model = bk.GaussianBayes().fit(pd.DataFrame(X, columns=["p", "q", "r"]), y)
    assert model.table("p")["mean"] == pytest.approx([X[y == c, 0].mean() for c in "ab"])
    assert model.correlations("a")["q"][0] == pytest.approx(np.corrcoef(X[y == "a"].T)[0, 1])
    assert model.n_parameters_ == 1 + 2 * 3 + 2 * 6
    assert bk.GaussianBayes("tied").fit(X, y).n_parameters_ == 1 + 2 * 3 + 6


def test_weights_too_light_for_a_variance_make_no_spike():
    X = {"year": [2000.0, 2003.0, 2002.0], "size": [None, None, None]}
    model = bk.GaussianBayes("tied").fit(X, ["b", "b", "a"], [0.25, 0.5, 3.0])
    total = np.cov(X["year"], aweights=[0.25, 0.5, 3.0], ddof=0) * 3.75 / 2.75
    assert model.table("year")["variance"] == pytest.approx([0.01 * total] * 2)
    joint = model.predict_joint_log_proba({"year": [2000.0], "size": [None]})
    assert (joint > -1000).all()
    before = model.set_params(variance_floor=bk.VarianceFloor(1e-9, of="total")).fit_tally(model.tally_)
    assert (before.predict_joint_log_proba({"year": [2000.0], "size": [None]}) < -1e8).all()


@pytest.mark.parametrize("rule", RULES)
def test_a_floor_lifts_variances_and_leaves_the_covariances(rule):
    rng = np.random.default_rng(5)
    y = np.repeat(["a", "b"], 40)
    X = rng.normal(size=(80, 2)) @ [[1.0, 0.6], [0.0, 0.8]]
    X[y == "a", 0] *= 0.01  # a ten-thousandth of the other variance
    model = bk.GaussianBayes(rule, shrinkage=0 if rule == "shrunk" else None).fit(X, y)
    within = 39 * (X[y == "a"].var(axis=0, ddof=1) + X[y == "b"].var(axis=0, ddof=1)) / 78
    if rule == "tied":
        np.testing.assert_allclose(model.table("x0")["variance"], within[0])
    else:
        assert model.table("x0")["variance"][0] == pytest.approx(0.01 * within[0])
    if rule in ("full", "shrunk"):
        np.testing.assert_allclose(model.covariances_[0, 0, 1], np.cov(X[y == "a"].T)[0, 1])


# -- bad input ---------------------------------------------------------------------------------------


def test_columns_that_are_no_numbers_are_refused_with_a_remedy():
    with pytest.raises(
        bk.BayesError,
        match=r"'island' is categorical .and 1 more.: leave them out with .*'island': .ignore., 'sex': .ignore.",
    ):
        bk.GaussianBayes(roles={"year": "ignore"}).fit(load_penguins(), "species")
    roles = dict.fromkeys(["island", "sex"], "ignore")
    frame = load_penguins().to_pandas().drop(columns="year")
    assert bk.GaussianBayes(roles=roles).fit(frame, "species").score(frame, "species") > 0.98


def test_a_singular_covariance_is_said_and_still_answers():
    X, y = correlated(n=40)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    with pytest.warns(bk.BayesWarning, match="singular over 4 columns"):
        model = bk.GaussianBayes().fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bk.GaussianBayes("shrunk").fit(X, y)


@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
def test_odd_columns_and_classes_have_a_defined_answer():
    X, y = correlated(n=30)
    odd = np.column_stack([X, np.full(30, 5.0), np.full(30, np.nan), (y == "a").astype(float)])
    odd = np.vstack([odd, odd[:1]])
    y = np.append(y, "alone")
    model = bk.GaussianBayes().fit(odd, y)
    assert model.params_.unused == {"x3", "x4"} or len(model.params_.unused) == 2
    assert np.isfinite(model.predict_proba(odd)).all()
    wide = bk.GaussianBayes("shrunk").fit(np.random.default_rng(0).normal(size=(10, 40)), list("ab") * 5)
    assert np.isfinite(wide.predict_proba(np.zeros((1, 40)))).all()


def test_too_many_columns_are_refused_with_the_figure():
    with pytest.raises(bk.BayesError, match=r"200 columns have 40,000 products, 1.92 MB"):
        bk.GaussianBayes(memory_limit=10**6).fit(np.zeros((2, 200)), [0, 1])


@pytest.mark.parametrize(
    "settings",
    [
        {"covariance": "round"},
        {"shrinkage": 2},
        {"shrinkage": "much"},
        {"shrinkage": True},
        {"ddof": 2},
        {"memory_limit": 0},
        {"variance_floor": 0},
    ],
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(bk.BayesError, match=next(iter(settings))):
        bk.GaussianBayes(**settings).fit([[1.0], [2.0]], [0, 1])


def test_another_models_tally_is_refused():
    X, y = correlated()
    with pytest.raises(bk.BayesError, match="products"):
        bk.GaussianBayes().fit_tally(bk.NaiveBayes().fit(X, y).tally_)

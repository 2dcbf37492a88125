"""Logistic regression against scikit-learn's, against the formulas, and against its generative twin."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import bayeskit as bk
from bayeskit.datasets import load_penguins

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize("penalty", [0.1, 1.0, 30.0])
@pytest.mark.parametrize(("X", "y"), [IRIS, CANCER], ids=["three classes", "two classes"])
def test_map_weights_are_those_of_scikit_learn_with_c_the_inverse_of_lambda(X, y, penalty):
    ours = bk.LogisticRegression(penalty, scale=False, tol=1e-9).fit(X, y)
    theirs = Peer(C=1 / penalty, solver="newton-cholesky", tol=1e-12, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)


def test_the_prior_in_deviations_is_the_prior_after_standardizing():
    X, y = CANCER
    ours = bk.LogisticRegression(2.0, tol=1e-9).fit(X, y)
    theirs = Peer(C=0.5, solver="newton-cholesky", tol=1e-12).fit(StandardScaler().fit_transform(X), y)
    np.testing.assert_allclose(
        ours.predict_proba(X), theirs.predict_proba(StandardScaler().fit_transform(X)), atol=1e-6
    )


def test_units_of_a_column_do_not_matter():
    X, y = IRIS
    units = np.array([1e6, 1e-6, 1.0, 1e3])
    far = X * units + np.array([1e9, 0, 5, -1e5])
    np.testing.assert_allclose(
        bk.LogisticRegression(tol=1e-9).fit(far, y).predict_proba(far),
        bk.LogisticRegression(tol=1e-9).fit(X, y).predict_proba(X),
        atol=1e-6,
    )


def test_maximum_conditional_likelihood_is_unpenalized():
    X, y = CANCER[0][:, :3], CANCER[1]
    ours = bk.LogisticRegression(0).fit(X, y)
    theirs = Peer(C=np.inf, solver="newton-cholesky", tol=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    assert ours.n_parameters_ == 4


def test_lbfgs_and_newton_end_at_the_same_place():
    X, y = IRIS
    a, b = (bk.LogisticRegression(1.0, solver=s, tol=1e-8).fit(X, y) for s in ("newton", "lbfgs"))
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-5)


def test_a_sparse_matrix_gives_the_same_model_and_stays_sparse():
    rng = np.random.default_rng(0)
    X = rng.random((300, 30)) * (rng.random((300, 30)) < 0.2)
    y = (X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=300) > 0.3).astype(int)
    dense = bk.LogisticRegression(tol=1e-9).fit(X, y)
    thin = bk.LogisticRegression(tol=1e-9).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(thin.predict_proba(sparse.csc_matrix(X)), dense.predict_proba(X), atol=1e-6)


def test_a_weight_is_the_row_so_many_times():
    X, y = IRIS
    w = np.random.default_rng(0).integers(0, 4, len(y))
    a = bk.LogisticRegression(tol=1e-9).fit(X, y, sample_weight=w)
    b = bk.LogisticRegression(tol=1e-9).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-6)


def test_mixed_columns_are_one_hot_and_a_gap_stands_at_the_average():
    birds = load_penguins().to_pandas().drop(columns="year")
    X, y = birds.drop(columns="species"), birds["species"]
    ours = bk.LogisticRegression(1.0, scale=False, tol=1e-9).fit(X, y)
    numbers = X.select_dtypes("number")
    coded = [numbers.fillna(numbers.mean()).to_numpy()]
    for name in ("island", "sex"):
        there = X[name].notna()
        hot = OneHotEncoder(sparse_output=False).fit(X.loc[there, [name]])
        table = np.tile(hot.transform(X.loc[there, [name]]).mean(axis=0), (len(X), 1))
        table[there.to_numpy()] = hot.transform(X.loc[there, [name]])
        coded.append(table)
    matrix = np.column_stack(coded)
    theirs = Peer(C=1.0, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(matrix, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(matrix), atol=1e-6)
    assert "island=Dream" in ours.features_
    other = X.assign(island="Atlantis")
    np.testing.assert_allclose(
        ours.predict_proba(other), ours.predict_proba(X.assign(island=pd.Series([None] * len(X), dtype=object)))
    )


def test_reference_coding_leaves_the_first_value_out_and_predicts_alike():
    X = {"sky": ["sun", "rain", "hail", "sun"] * 20, "wind": [0.1, 0.9, 0.3, 0.7] * 20}
    y = np.random.default_rng(0).integers(0, 2, 80)
    full, reference = (bk.LogisticRegression(1e-6, coding=c).fit(X, y) for c in ("full", "reference"))
    assert reference.coef_[0, reference.features_.index("sky=hail")] == 0
    np.testing.assert_allclose(full.predict_proba(X), reference.predict_proba(X), atol=1e-4)
    assert bk.LogisticRegression(0).fit(X, y).n_parameters_ == 4  # intercept, wind, two skies


def test_the_evidence_is_laplaces_integral_over_the_weights():
    rng = np.random.default_rng(1)
    x = rng.normal(size=200)
    y = (rng.random(200) < 1 / (1 + np.exp(-1.5 * x))).astype(int)
    model = bk.LogisticRegression("evidence", scale=False).fit(x[:, None], y)
    grid = np.linspace(-1, 4, 201)
    inner = np.linspace(-1.5, 1.5, 61)
    z = grid[:, None, None] * x + inner[None, :, None]
    log_likelihood = -np.logaddexp(0, np.where(y == 1, -z, z)).sum(axis=2)

    def evidence(penalty):
        log_p = log_likelihood + 0.5 * np.log(penalty) - 0.5 * penalty * grid[:, None] ** 2
        return np.logaddexp.reduce(log_p.ravel())

    lambdas = np.logspace(-2, 1.5, 40)
    best = lambdas[np.argmax([evidence(penalty) for penalty in lambdas])]
    assert model.penalty_ == pytest.approx(best, rel=0.25)


def test_cross_validation_takes_the_penalty_with_the_least_log_loss():
    X, y = IRIS
    model = bk.LogisticRegression("cv", random_state=1).fit(X, y)
    assert model.penalty_ == min(model.path_, key=lambda pair: pair[1])[0]


def test_it_starts_from_its_generative_twin():
    X, y = IRIS
    model = bk.LogisticRegression().fit(X, y)
    twin = bk.NaiveBayes(numeric="gaussian", variance="feature").fit(X, y)
    np.testing.assert_allclose(model.twin_.predict_proba(X), twin.predict_proba(X))


def test_a_large_table_is_solved_by_way_of_a_sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120_000, 3))
    y = (rng.random(120_000) < 1 / (1 + np.exp(-X[:, 0] + 0.5))).astype(int)
    theirs = Peer(C=1.0, solver="newton-cholesky", tol=1e-12).fit(X, y)
    np.testing.assert_allclose(bk.LogisticRegression(scale=False).fit(X, y).coef_, theirs.coef_, rtol=1e-4, atol=1e-5)


def test_the_gradient_of_the_loss_is_its_slope():
    from bayeskit.estimate.conditional_likelihood import LogisticLoss

    rng = np.random.default_rng(0)
    M, labels = rng.normal(size=(40, 3)) + 5, rng.integers(0, 3, 40)
    loss = LogisticLoss(M, labels, 3, rng.random(40), M.mean(axis=0), M.std(axis=0)).with_penalty(0.5, True)
    theta, eps = rng.normal(size=12), 1e-6
    slope = [(loss.value(theta + eps * e) - loss.value(theta - eps * e)) / (2 * eps) for e in np.eye(12)]
    np.testing.assert_allclose(loss.gradient(theta), slope, rtol=1e-5, atol=1e-6)
    bend = [(loss.gradient(theta + eps * e) - loss.gradient(theta - eps * e)) / (2 * eps) for e in np.eye(12)]
    np.testing.assert_allclose(loss.hessian(theta), bend, rtol=1e-4, atol=1e-5)


def test_separable_classes_are_said_under_maximum_likelihood_with_the_remedy():
    with pytest.raises(bk.BayesError, match=r"perfectly separable.*penalty"):
        bk.LogisticRegression(0).fit([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1])
    with pytest.raises(bk.BayesError, match=r"c=b grows without bound.*penalty"):
        bk.LogisticRegression(0).fit({"c": ["a"] * 5 + ["b"] * 5}, [0] * 5 + [0, 1, 0, 1, 0])
    assert bk.LogisticRegression(1).fit([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1]).score([[0.0]], [0]) == 1


def test_rare_events_are_not_taken_for_separable():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5000, 2)), (rng.random(5000) < 0.002).astype(int)
    assert np.isfinite(bk.LogisticRegression(0).fit(X, y).coef_).all()


def test_collinear_columns_are_named():
    X, y = CANCER[0][:, :3], CANCER[1]
    with pytest.raises(bk.BayesError, match=r"x\d: collinear.*penalty"):
        bk.LogisticRegression(0).fit(np.column_stack([X, X[:, 0] - 2 * X[:, 1]]), y)
    assert bk.LogisticRegression(1).fit(np.column_stack([X, X[:, 0]]), y).coef_.shape == (1, 4)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"penalty": -1}, "penalty=-1"),
        ({"penalty": "lasso"}, "penalty='lasso'"),
        ({"penalty": np.nan}, "penalty=nan"),
        ({"coding": "dummy"}, "coding="),
        ({"solver": "sgd"}, "solver="),
        ({"cv": 1, "penalty": "cv"}, "cv=1"),
        ({"max_iter": 0}, "max_iter=0"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings, words):
    with pytest.raises(bk.BayesError, match=words):
        bk.LogisticRegression(**settings).fit(*IRIS)


def test_one_class_has_no_log_odds():
    with pytest.raises(bk.BayesError, match="one class only"):
        bk.LogisticRegression().fit([[1.0], [2.0]], ["a", "a"])
    with pytest.raises(bk.BayesError, match="one class only"):
        bk.LogisticRegression().fit(sparse.csr_matrix([[1.0], [2.0]]), ["a", "a"])


def test_naive_bayes_of_any_table_is_its_logistic_form_to_1e_12_gaps_and_unseen_values_too():
    birds = load_penguins().to_pandas().drop(columns="year")
    X, y = birds.drop(columns="species"), birds["species"]
    model = bk.NaiveBayes(variance="feature").fit(X, y)
    strange = X.copy()
    strange.loc[::7, "island"] = "Atlantis"
    for rows in (X, strange):
        np.testing.assert_allclose(model.to_logistic().predict_proba(rows), model.predict_proba(rows), atol=1e-12)
    boxed = bk.NaiveBayes(numeric="histogram", cuts=4).fit(X, y)
    np.testing.assert_allclose(boxed.to_logistic().predict_proba(X), boxed.predict_proba(X), atol=1e-12)


def test_a_variance_of_its_own_in_each_class_has_no_logistic_form():
    with pytest.raises(bk.BayesError, match='variance="feature"'):
        bk.NaiveBayes().fit(*IRIS).to_logistic()
    with pytest.raises(bk.BayesError, match="Smooth"):
        bk.NaiveBayes(smoothing=0).fit({"a": ["x", "y"]}, [0, 1]).to_logistic()


def test_densities_that_are_not_linear_in_log_odds_have_no_logistic_form():
    model = bk.NaiveBayes(numeric="kernel").fit({"x": [1.0, 2.0, 4.0, 8.0]}, ["a", "a", "b", "b"])
    with pytest.raises(
        bk.BayesError, match=r"column 'x' is kernel: its log odds are not linear: leave it out by restrict"
    ):
        model.to_logistic()

"""NaiveBayes is a scikit-learn estimator: it passes the checks, and works where estimators work."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayeskit as bk
from bayeskit.datasets import load_penguins

SETTINGS = [
    bk.NaiveBayes(),
    bk.NaiveBayes(smoothing="auto", variance="feature", ddof=0, prior="uniform"),
    bk.NaiveBayes(numeric="histogram", cuts=5, missing="value", unseen="smooth"),
    bk.NaiveBayes(ties="random", random_state=0, prior=bk.Laplace(), variance="all"),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(SETTINGS)
def test_the_checks_of_scikit_learn_pass(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def penguins():
    frame = load_penguins().to_pandas()
    return frame.drop(columns=["species", "year"]), frame["species"]


@pytest.fixture(scope="module")
def model(penguins):
    return bk.NaiveBayes().fit(*penguins)


def test_it_is_a_classifier_with_its_tags(model):
    assert is_classifier(model)
    tags = model.__sklearn_tags__()
    assert (tags.input_tags.categorical, tags.input_tags.allow_nan, tags.input_tags.string) == (True, True, False)


def test_clones_take_the_settings_and_leave_what_was_learned():
    settings = {
        "smoothing": {"sky": bk.Dirichlet({"sun": 2, "rain": 1}), "size": "auto"},
        "prior": {"a": 0.5, "b": 0.5},
        "cuts": {"size": [1.0, 2.0]},
        "roles": {"sky": bk.Categorical(("rain", "sun"))},
        "schema": bk.Schema({"sky": bk.Categorical()}),
        "random_state": 3,
    }
    model = bk.NaiveBayes(**settings)
    assert {name: clone(model).get_params()[name] for name in settings} == settings
    assert not hasattr(clone(bk.NaiveBayes().fit([[1.0], [2.0]], [0, 1])), "tally_")


def test_the_defaults_are_plain_values():
    assert all(value is None or isinstance(value, (str, int, float)) for value in bk.NaiveBayes().get_params().values())


def test_it_pickles_and_goes_through_joblib(model, penguins, tmp_path):
    X, _ = penguins
    joblib.dump(model, tmp_path / "model")
    for back in (
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "model"),
        clone(model).fit_tally(model.tally_),
    ):
        np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
        assert back.tally_ == model.tally_


def test_joblib_workers_say_the_same(model, penguins):
    X, _ = penguins
    parts = joblib.Parallel(n_jobs=2, prefer="threads")(
        joblib.delayed(model.predict_proba)(X[i : i + 50]) for i in range(0, len(X), 50)
    )
    np.testing.assert_allclose(np.vstack(parts), model.predict_proba(X), rtol=1e-12)


def test_cross_validation_takes_raw_frames(penguins):
    X, y = penguins
    assert cross_val_score(bk.NaiveBayes(), X, y, cv=5).mean() > 0.95
    assert cross_val_predict(bk.NaiveBayes(), X, y, method="predict_proba").shape == (344, 3)


def test_a_grid_search_chooses_among_settings(penguins):
    X, y = penguins
    grid = {
        "smoothing": [0.01, 1.0, "auto", bk.MEstimate(2)],
        "numeric": ["gaussian", "histogram"],
    }
    search = GridSearchCV(bk.NaiveBayes(), grid, cv=3, scoring="neg_log_loss", error_score="raise").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.score(X, y) > 0.95


def test_it_works_in_pipelines(penguins):
    X, y = load_iris(return_X_y=True)
    scaled = make_pipeline(StandardScaler(), bk.NaiveBayes(ddof=0)).fit(X, y)
    plain = bk.NaiveBayes(ddof=0).fit(X, y)
    np.testing.assert_allclose(scaled.predict_proba(X), plain.predict_proba(X), atol=1e-9)
    frame, species = penguins
    drop = FunctionTransformer(lambda table: table.drop(columns="island"))
    assert make_pipeline(drop, bk.NaiveBayes()).fit(frame, species).score(frame, species) > 0.9


def test_it_works_in_meta_estimators(penguins):
    X, y = load_iris(return_X_y=True)
    for meta in (
        CalibratedClassifierCV(bk.NaiveBayes(), method="sigmoid"),
        BaggingClassifier(bk.NaiveBayes(), n_estimators=3, random_state=0),
        OneVsRestClassifier(bk.NaiveBayes()),
        VotingClassifier([("a", bk.NaiveBayes()), ("b", LogisticRegression(max_iter=1000))], voting="soft"),
    ):
        proba = meta.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        assert meta.score(X, y) > 0.8
    frame, species = penguins
    calibrated = CalibratedClassifierCV(bk.NaiveBayes(), cv=3).fit(frame, species)
    assert calibrated.score(frame, species) > 0.95


def test_importances_are_found_by_permuting_raw_columns(model, penguins):
    found = permutation_importance(model, *penguins, n_repeats=2, random_state=0)
    assert found.importances_mean.shape == (6,)


def test_set_output_and_names_are_those_of_the_frame(model, penguins):
    X, _ = penguins
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    assert model.n_features_in_ == X.shape[1]
    assert model.classes_.tolist() == ["Adelie", "Chinstrap", "Gentoo"]


def test_changing_a_setting_after_the_fit_is_checked_when_asked(model, penguins):
    X, _ = penguins
    changed = pickle.loads(pickle.dumps(model)).set_params(ties="last")
    with pytest.raises(bk.BayesError, match="ties"):
        changed.predict(X)


def test_fitting_again_starts_anew(penguins):
    X, y = penguins
    model = bk.NaiveBayes().fit(pd.DataFrame({"other": [1.0, 2.0]}), [0, 1])
    model.fit(X, y)
    assert model.classes_.tolist() == ["Adelie", "Chinstrap", "Gentoo"]
    assert model.tally_ == bk.NaiveBayes().fit(X, y).tally_
    model.fit(np.eye(2), [0, 1])
    assert not hasattr(model, "feature_names_in_")

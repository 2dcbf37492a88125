"""One encoder for scikit-learn's models: a raw table becomes a matrix, and nothing else changes."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import Perceptron
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import bayeskit as bk
from bayeskit.errors import BayesError

X = {"sky": ["sun", "rain", "sun", "hail"] * 10, "wind": list(np.random.default_rng(0).normal(3.0, 2.0, 40))}
Y = ["go", "stay", "go", "stay"] * 10


def test_the_matrix_is_that_of_scikit_learns_encoders():
    matrix = bk.Encoded().fit(X, Y).matrix(X)
    wind = StandardScaler().fit_transform(np.array(X["wind"])[:, None])
    sky = OneHotEncoder(sparse_output=False).fit_transform(np.array(X["sky"])[:, None])
    np.testing.assert_allclose(matrix, np.hstack([wind, sky]))
    tree = DecisionTreeClassifier(random_state=0).fit(matrix, Y)
    np.testing.assert_array_equal(bk.Encoded().fit(X, Y).predict(X), tree.predict(matrix))


def test_missing_and_unseen_cells_stand_at_the_average():
    model = bk.Encoded().fit(X, Y)
    row = model.matrix({"sky": ["snow", None], "wind": [None, float("nan")]})
    np.testing.assert_allclose(row, np.tile([0.0, 0.25, 0.25, 0.5], (2, 1)))


def test_boosting_is_told_which_columns_are_categories():
    model = bk.Encoded(HistGradientBoostingClassifier(), coding="codes").fit(X, Y)
    assert model.model_.categorical_features == [False, True]
    assert model.matrix({"sky": ["hail", "snow", None], "wind": [1.0, None, 2.0]})[:, 1].tolist()[0] == 0.0
    assert np.isnan(model.matrix({"sky": ["snow", None], "wind": [1.0, 2.0]})[:, 1]).all()
    assert (model.predict(X) == Y).all()


def test_weights_files_and_rows_without_a_label_are_taken(tmp_path):
    import pyarrow as pa
    import pyarrow.csv

    table = pa.table({**X, "play": Y})
    pa.csv.write_csv(table, tmp_path / "days.csv")
    expected = bk.Encoded().fit(X, Y).predict_proba(X)
    file = bk.Encoded().fit(str(tmp_path / "days.csv"), "play")
    np.testing.assert_allclose(file.predict_proba(table.drop(["play"])), expected)
    weighed = bk.Encoded().fit(X, Y, sample_weight=[1.0] * 40)
    np.testing.assert_allclose(weighed.predict_proba(X), expected)
    with pytest.warns(bk.BayesWarning):
        dropped = bk.Encoded(unlabeled="drop").fit(X, [*Y[:39], None])
    assert dropped._drops_unlabeled


def test_what_has_no_probabilities_has_none_here():
    assert not hasattr(bk.Encoded(Perceptron()), "predict_proba")
    model = bk.Encoded(Perceptron()).fit(X, Y)
    assert not hasattr(model, "predict_proba")
    assert model.score(X, Y) > 0.9
    assert hasattr(bk.Encoded(), "predict_proba") == hasattr(bk.Encoded().fit(X, Y), "predict_proba")


def test_bad_settings_are_refused():
    with pytest.raises(BayesError, match="coding='onehot'"):
        bk.Encoded(coding="onehot").fit(X, Y)
    with pytest.raises(BayesError, match="y is None"):
        bk.Encoded().fit(X, None)

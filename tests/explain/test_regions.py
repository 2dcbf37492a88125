"""Decision regions say at each place what the model predicts there, from any number of rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import bayeskit as bk
from bayeskit import datasets
from tests.charts.drawn import check, rows_of


def test_each_place_has_the_class_that_is_predicted_there():
    birds = datasets.load_penguins()
    for model in (bk.NaiveBayes(roles={"year": "ignore"}), bk.TAN(roles={"year": "ignore"})):
        model.fit(birds, "species")
        record = bk.decision_regions(model, "bill_length_mm", "flipper_length_mm", birds, "species", "missing")
        for i, j in [(0, 0), (31, 7), (63, 63), (12, 50)]:
            place = {"bill_length_mm": [record.x[j]], "flipper_length_mm": [record.y[i]]}
            assert record.classes[record.chosen[i, j]] == model.predict(place)[0]
            assert record.probability[i, j] == pytest.approx(model.predict_proba(place).max())
        assert len(record.rows[0]) == 342  # two birds were not measured
        assert "Gentoo" in str(record)


def test_many_rows_are_counted_in_cells_and_none_is_lost():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 20_000)
    rows = {"a": rng.normal(size=20_000) + y, "b": rng.normal(size=20_000)}
    record = bk.decision_regions(bk.NaiveBayes().fit(rows, y), "a", "b", rows, y, "missing")
    assert record.counted
    assert record.rows[3].sum() == 20_000
    assert np.bincount(record.rows[2], record.rows[3]).tolist() == np.bincount(y).tolist()


@pytest.mark.slow
def test_the_plane_is_drawn_and_counts_are_asked_at_whole_numbers(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3_000)
    rows = {"a": rng.normal(size=3_000), "n": rng.poisson(2 + 4 * y)}
    model = bk.NaiveBayes(numeric={"n": "poisson"}).fit(rows, y)
    record = bk.decision_regions(model, "a", "n", rows, y, fixed="missing")
    assert set(record.chosen[:, 32].tolist()) == {0, 1}  # a count decides, wherever between two counts it is asked
    chart = check(record.chart(), tmp_path)
    assert sum(row.get("rows", 0) for row in rows_of(chart)) == pytest.approx(3_000)


def test_a_plane_needs_two_numeric_columns_and_rows():
    table = {"sky": ["sun", "rain"] * 3, "x": [1.0, 2.0, 2.5, 3.0, 5.0, 4.0], "n": [1.0, 2.0] * 3}
    model = bk.NaiveBayes().fit(table, ["a", "b"] * 3)
    with pytest.raises(bk.BayesError, match="'sky' is categorical"):
        bk.decision_regions(model, "sky", "x", table, ["a", "b"] * 3, "missing")
    with pytest.raises(bk.BayesError, match="'x' twice"):
        bk.decision_regions(model, "x", "x", table, ["a", "b"] * 3, "missing")
    with pytest.raises(bk.BayesError, match="no row has both"):
        bk.decision_regions(model, "x", "n", table | {"n": [np.nan] * 6}, ["a", "b"] * 3, "missing")


def test_missing_columns_are_for_models_that_read_them():
    table, y = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0]]), [0, 1, 1]
    tree = DecisionTreeClassifier().fit(table, y)
    with pytest.raises(bk.BayesError, match="DecisionTreeClassifier takes no missing cells"):
        bk.decision_regions(tree, 0, 1, table, y, "missing")
    with pytest.raises(bk.BayesError, match="fixed='median': give a mapping"):
        bk.decision_regions(tree, 0, 1, table, y, "median")


def test_the_regions_of_any_classifier_are_its_predictions_with_other_columns_fixed():
    X, y = load_iris(return_X_y=True)
    for classifier in (SVC(), DecisionTreeClassifier(random_state=0), bk.NaiveBayes(numeric="gaussian")):
        record = bk.decision_regions(classifier.fit(X, y), 2, 0, X, y, fixed={1: 3.0})
        for i, j in [(0, 0), (31, 7), (63, 63)]:
            place = np.array([[record.y[i], 3.0, record.x[j], np.median(X[:, 3])]])
            assert record.classes[record.chosen[i, j]] == classifier.predict(place)[0]
        assert len(record.rows[0]) == 150
        assert "other columns fixed" in str(record)


def test_a_frame_is_asked_with_its_names_and_most_frequent_values():
    birds = datasets.load_penguins().to_pandas().dropna()
    columns = ["bill_length_mm", "flipper_length_mm", "sex"]
    model = bk.NaiveBayes(numeric="gaussian").fit(birds[columns], birds["species"])
    record = bk.decision_regions(model, *columns[:2], birds[columns], birds["species"])
    most = birds["sex"].mode()[0]
    place = dict(zip(columns, ([record.x[9]], [record.y[40]], [most]), strict=True))
    assert record.probability[40, 9] == pytest.approx(model.predict_proba(place).max())
    assert record.target == "species"


def test_a_plane_of_any_classifier_needs_two_numeric_columns_and_rows_of_its_classes():
    X, y = load_iris(return_X_y=True)
    tree, frame = DecisionTreeClassifier().fit(X, y), pd.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"]})
    with pytest.raises(bk.BayesError, match="column 1 twice"):
        bk.decision_regions(tree, 1, 1, X, y)
    with pytest.raises(bk.BayesError, match="no column 9"):
        bk.decision_regions(tree, 0, 9, X, y)
    with pytest.raises(bk.BayesError, match="'b' has no numbers"):
        bk.decision_regions(tree, "a", "b", frame, [0, 1])
    with pytest.raises(bk.BayesError, match=r"\[2, 3\]: one label a row"):
        bk.decision_regions(tree, "a", "a2", frame.assign(a2=0.0), [0, 1, 2])
    with pytest.raises(bk.BayesError, match="nothing to draw"):
        bk.decision_regions(tree, 0, 1, X, np.full(150, 7))


@pytest.mark.parametrize("form", ["arrow", "polars", "columns", "target by name"])
def test_regions_are_the_same_in_every_form_of_the_table(form):
    birds = datasets.load_penguins().drop(["year"])
    model = bk.NaiveBayes().fit(birds, "species")
    frame = birds.drop(["species"]).to_pandas()
    expected = bk.decision_regions(model, "bill_length_mm", "flipper_length_mm", frame, birds["species"].to_pylist())
    X = birds if form == "target by name" else birds.drop(["species"])
    X = pl.DataFrame(X.to_pydict()) if form == "polars" else X.to_pydict() if form == "columns" else X
    y = "species" if form == "target by name" else birds["species"]
    found = bk.decision_regions(model, "bill_length_mm", "flipper_length_mm", X, y)
    np.testing.assert_array_equal(found.chosen, expected.chosen)
    np.testing.assert_allclose(found.probability, expected.probability, rtol=1e-12)


def test_regions_of_a_classifier_that_is_not_fitted_are_refused():
    with pytest.raises(bk.BayesError, match="an SVC without classes_: fit the classifier first"):
        bk.decision_regions(SVC(), 0, 1, [[1.0, 2.0], [2.0, 1.0]], [0, 1])

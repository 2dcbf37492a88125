"""Decision regions say at each place what the model predicts there, from any number of rows."""

import numpy as np
import pytest

import bayeskit as bk
from bayeskit import datasets
from tests.charts.drawn import check, rows_of


def test_each_place_has_the_class_that_is_predicted_there():
    birds = datasets.load_penguins()
    for model in (bk.NaiveBayes(roles={"year": "ignore"}), bk.TAN(roles={"year": "ignore"})):
        model.fit(birds, "species")
        record = model.regions("bill_length_mm", "flipper_length_mm", birds, "species")
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
    record = bk.NaiveBayes().fit(rows, y).regions("a", "b", rows, y)
    assert record.counted
    assert record.rows[3].sum() == 20_000
    assert np.bincount(record.rows[2], record.rows[3]).tolist() == np.bincount(y).tolist()


@pytest.mark.slow
def test_the_plane_is_drawn_and_counts_are_asked_at_whole_numbers(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3_000)
    rows = {"a": rng.normal(size=3_000), "n": rng.poisson(2 + 4 * y)}
    record = bk.NaiveBayes(numeric={"n": "poisson"}).fit(rows, y).regions("a", "n", rows, y)
    assert set(record.chosen[:, 32].tolist()) == {0, 1}  # a count decides, wherever between two counts it is asked
    chart = check(record.chart(), tmp_path)
    assert sum(row.get("rows", 0) for row in rows_of(chart)) == pytest.approx(3_000)


def test_a_plane_needs_two_numeric_columns_and_rows():
    table = {"sky": ["sun", "rain"] * 3, "x": [1.0, 2.0, 2.5, 3.0, 5.0, 4.0], "n": [1.0, 2.0] * 3}
    model = bk.NaiveBayes().fit(table, ["a", "b"] * 3)
    with pytest.raises(bk.BayesError, match="'sky' is categorical"):
        model.regions("sky", "x", table, ["a", "b"] * 3)
    with pytest.raises(bk.BayesError, match="'x' twice"):
        model.regions("x", "x", table, ["a", "b"] * 3)
    with pytest.raises(bk.BayesError, match="no row has both"):
        model.regions("x", "n", table | {"n": [np.nan] * 6}, ["a", "b"] * 3)

"""The points of a row sum to a total whose probability is the model's own."""

import numpy as np
import pytest

import bayeskit as bk
from bayeskit import datasets


@pytest.mark.parametrize("numeric", ["gaussian", "student", "kernel", "histogram"])
def test_the_total_of_a_row_has_the_probability_of_the_model(numeric):
    birds = datasets.load_penguins()
    model = bk.NaiveBayes(numeric=numeric, roles={"year": "ignore"}, temperature=1.5).fit(birds, "species")
    rng = np.random.default_rng(0)
    for row in rng.integers(0, 344, 6).tolist():
        one = birds.slice(row, 1)
        for a, b in ((0, 2), (1, 0)):
            points = model.nomogram(model.classes_[a], model.classes_[b], X=birds, row=one)
            p = model.predict_proba(one)[0]
            assert points.probability(points.row.total) == pytest.approx(p[a] / (p[a] + p[b]), rel=1e-9)
            assert points.row.total == pytest.approx(sum(value for _, _, value in points.row.cells))


def test_a_row_of_random_values_missing_and_unseen_ones_is_added_up_as_well():
    rng = np.random.default_rng(1)
    table = {f"c{i}": rng.choice(["u", "v", "w"], 60) for i in range(5)}
    model = bk.NaiveBayes(unseen="smooth").fit(table, rng.integers(0, 2, 60))
    for _ in range(20):
        row = {name: rng.choice(["u", "v", "w", "new", None]) for name in table}
        points = model.nomogram(row=row)
        assert points.probability(points.row.total) == pytest.approx(model.predict_proba(row)[0, 1], rel=1e-9)
        rulers = {axis.column: dict(zip(axis.values, axis.points, strict=True)) for axis in points.axes}
        for column, value, own in points.row.cells:
            assert own == pytest.approx(rulers[column].get(value, own))


def test_a_value_that_rules_a_class_out_leaves_no_doubt():
    table = datasets.load_worked_example("tennis")
    model = bk.NaiveBayes(smoothing=0).fit(table, "play")
    points = model.nomogram(row={"outlook": "overcast", "wind": "strong"})
    assert points.probability(points.row.total) == 1.0
    assert model.nomogram("no", "yes", row={"outlook": "overcast"}).probability(-np.inf) == 0.0
    assert "the row:" in str(model.nomogram(row={"outlook": "sunny"}))


def test_a_number_beyond_the_rows_lengthens_its_ruler():
    birds = datasets.load_penguins()
    model = bk.NaiveBayes(roles={"year": "ignore"}).fit(birds, "species")
    points = model.nomogram("Gentoo", "Adelie", X=birds, row={"body_mass_g": 8000})
    (mass,) = (axis for axis in points.axes if axis.column == "body_mass_g")
    assert max(mass.values) >= 8000


def test_several_rows_are_refused():
    birds = datasets.load_penguins()
    model = bk.NaiveBayes(roles={"year": "ignore"}).fit(birds, "species")
    with pytest.raises(bk.BayesError, match="row= takes one row"):
        model.nomogram(row=birds.slice(0, 2))

"""Drift of whole columns: units that change are found, and samples of the same rows are not."""

import numpy as np
import pytest
from scipy import stats

import bayeskit as bk
from bayeskit.evaluate.drift import LEVEL, drift

KINDS = ["gaussian", "kernel", "auto", "histogram"]


def rows(rng, n, scale=1.0, shift=0.0):
    y = rng.choice(["a", "b"], n)
    number = (rng.normal(size=n) + (y == "a") + 10 + shift) * scale
    return {"number": number, "word": rng.choice(["x", "y", "z"], n, p=[0.5, 0.3, 0.2])}, y


@pytest.mark.parametrize("numeric", KINDS)
def test_another_unit_is_drift_and_the_other_column_is_not(numeric):
    rng = np.random.default_rng(0)
    model = bk.NaiveBayes(numeric=numeric).fit(*rows(rng, 500))
    report = drift(model, rows(rng, 200, scale=0.001)[0])
    assert [column.column for column in report.drifted] == ["number"]


@pytest.mark.parametrize("numeric", KINDS)
def test_rows_of_the_same_kind_hardly_ever_drift(numeric):
    rng = np.random.default_rng(1)
    model = bk.NaiveBayes(numeric=numeric).fit(*rows(rng, 500))
    found = [bool(drift(model, rows(rng, 100)[0]).drifted) for _ in range(40)]
    assert sum(found) <= 2


def test_the_index_and_the_test_of_counts_by_hand():
    model = bk.NaiveBayes().fit({"sky": ["sun"] * 30 + ["rain"] * 70}, ["a", "b"] * 50)
    (column,) = drift(model, {"sky": ["sun"] * 60 + ["rain"] * 40}).columns
    p, q = np.array([30.5, 70.5]) / 101, np.array([60.5, 40.5]) / 101
    assert column.psi == pytest.approx(((q - p) * np.log(q / p)).sum())
    wanted = stats.chi2_contingency([[30, 60], [70, 40]], correction=False).pvalue
    assert column.p_value == pytest.approx(wanted)


def test_few_rows_with_unseen_values_drift_and_few_common_ones_do_not(recwarn):
    rng = np.random.default_rng(3)
    countries = ["Germany", "France", "Spain", "Italy"]
    model = bk.NaiveBayes().fit({"country": rng.choice(countries, 600)}, rng.choice(["a", "b"], 600))
    (column,) = drift(model, {"country": ["Germny"] * 5 + ["France"] * 5}).columns
    assert column.has_drifted
    assert column.p_value == pytest.approx(stats.fisher_exact([[0, 5], [600, 5]]).pvalue)
    assert not drift(model, {"country": ["Spain", "France", "Italy"]}).drifted
    assert not recwarn.list


@pytest.mark.parametrize("numeric", ["lognormal", {"x": "lognormal"}])
def test_the_means_of_a_log_normal_column_are_geometric(numeric):
    rng = np.random.default_rng(4)
    x = np.exp(rng.normal(5, 1, 400))
    model = bk.NaiveBayes(numeric=numeric).fit({"x": x}, rng.choice(["a", "b"], 400))
    (column,) = drift(model, {"x": 2 * x}).columns
    assert column.means == pytest.approx((stats.gmean(x), 2 * stats.gmean(x)))


def test_the_index_of_moments_is_the_divergence_of_two_normals():
    rng = np.random.default_rng(2)
    x, z = rng.normal(3, 2, 400), rng.normal(4, 1, 300)
    model = bk.NaiveBayes(numeric="gaussian").fit({"x": x}, rng.choice(["a", "b"], 400))
    (column,) = drift(model, {"x": z}).columns
    p, q = stats.norm(x.mean(), x.std()), stats.norm(z.mean(), z.std())
    grid = np.linspace(-30, 40, 200_001)
    divergence = ((q.pdf(grid) - p.pdf(grid)) * (q.logpdf(grid) - p.logpdf(grid))).sum() * (grid[1] - grid[0])
    assert column.psi == pytest.approx(divergence, rel=1e-6)
    assert column.means == pytest.approx((x.mean(), z.mean()))


def test_missing_and_unseen_cells_are_counted():
    model = bk.NaiveBayes().fit({"sky": ["sun", "rain"] * 50}, ["a", "b"] * 50)
    (column,) = drift(model, {"sky": ["sun"] * 10 + [None] * 20 + ["hail"] * 10}).columns
    assert (column.missing, column.unseen) == (0.5, 0.25)
    assert column.has_drifted


def test_p_values_are_corrected_for_the_number_of_columns():
    rng = np.random.default_rng(3)
    X = {f"c{i}": rng.choice(["x", "y"], 300) for i in range(20)}
    model = bk.NaiveBayes().fit(X, rng.choice(["a", "b"], 300))
    report = drift(model, {name: rng.choice(["x", "y"], 300) for name in X})
    assert min(column.p_value for column in report.columns) > LEVEL


@pytest.mark.parametrize("model", [bk.TAN(), bk.AODE(), bk.BayesClassifier(random_state=0), bk.Calibrated()])
def test_other_models_compare_as_well(model):
    birds = bk.datasets.load_penguins().to_pandas().drop(columns="year")
    model.fit(birds, "species")
    later = birds.sample(100, random_state=0).assign(body_mass_g=lambda rows: rows.body_mass_g / 1000)
    report = drift(model, later, "species")
    assert "body_mass_g" in [column.column for column in report.drifted]
    assert report.log_loss > 0
    assert sum(report.now) == pytest.approx(1)


def test_a_model_without_counts_is_refused():
    with pytest.raises(bk.BayesError, match="keeps no counts"):
        drift(bk.LinearRegression().fit({"x": [1.0, 2.0, 3.0]}, [0.0, 1.0, 1.0]), {"x": [1.0]})

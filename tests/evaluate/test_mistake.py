"""P(mistake) against numeric integration and against a search over boundaries."""

import numpy as np
import pytest
from scipy import integrate, stats

import bayeskit as bk
from bayeskit.evaluate.generative_discriminative import CASES, generative_vs_discriminative, simulated_grid


def gaussians(m0, s0, m1, s1, prior):
    half = np.sqrt(0.5)
    x = [m0 - s0 * half, m0 + s0 * half, m1 - s1 * half, m1 + s1 * half]  # these means and variances
    return bk.NaiveBayes(prior={"a": prior, "b": 1 - prior}).fit({"x": x}, ["a", "a", "b", "b"])


PAIRS = [(0, 1, 2, 1, 0.5), (0, 1, 1, 3, 0.3), (0, 2, 0, 0.5, 0.5), (1e6, 1, 1e6 + 1, 2, 0.8), (0, 1, 0.1, 1.01, 0.99)]


@pytest.mark.parametrize("numbers", PAIRS)
def test_p_mistake_is_the_integral_of_the_smaller_joint_density(numbers):
    m0, s0, m1, s1, prior = numbers
    found = bk.mistake_probability(gaussians(*numbers))

    def smaller(x):
        return min(prior * stats.norm.pdf(x, m0, s0), (1 - prior) * stats.norm.pdf(x, m1, s1))

    edges = [r[0] for r in found.regions[1:]]
    low, high = min(m0 - 12 * s0, m1 - 12 * s1), max(m0 + 12 * s0, m1 + 12 * s1)
    total = integrate.quad(smaller, low, high, points=[*edges, m0, m1], limit=500)[0]
    assert found.probability == pytest.approx(total, rel=1e-6)
    assert sum(found.by_class.values()) == pytest.approx(found.probability)
    assert found.regions[0][0] == -np.inf
    assert found.regions[-1][1] == np.inf


def test_the_regions_are_what_the_model_predicts_and_no_other_boundary_is_better():
    model = gaussians(0, 1, 2, 1.5, 0.4)
    found = bk.mistake_probability(model)
    for low, high, label in found.regions:
        x = np.linspace(max(low, -20), min(high, 20), 7)[1:-1]
        assert set(model.predict({"x": x})) == {label}
    for cut in np.linspace(-3, 5, 33):
        assert bk.mistake_probability(model, [cut]).probability >= found.probability - 1e-12


def test_a_table_of_values_is_summed():
    tally = bk.Tally.from_counts({"v": {"a": {"x": 8, "y": 2}, "b": {"x": 3, "y": 7}}})
    found = bk.mistake_probability(bk.NaiveBayes(smoothing=0).fit_tally(tally))
    assert found.probability == pytest.approx(0.5 * 0.2 + 0.5 * 0.3)
    assert found.regions == (("x", "a"), ("y", "b"))


def test_more_columns_or_classes_are_refused():
    with pytest.raises(bk.BayesError, match="one column and two classes"):
        bk.mistake_probability(bk.NaiveBayes().fit([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [0, 0, 1, 1]))


@pytest.mark.slow
def test_naive_bayes_leads_with_few_rows_and_logistic_regression_where_columns_depend():
    records = simulated_grid(sizes=(16, 512), repeats=6)
    error = {(r["case"], r["model"], r["rows"]): r["error"] for r in records}
    hold, differ, depend = CASES
    shared, own, logistic = "naive Bayes, shared variance", "naive Bayes", "logistic regression"
    assert error[hold, shared, 16] < error[hold, own, 16]
    assert error[hold, logistic, 512] == pytest.approx(error[hold, shared, 512], abs=0.01)
    assert error[differ, own, 512] < error[differ, logistic, 512] - 0.1
    assert error[depend, logistic, 512] < error[depend, own, 512] - 0.1


def test_the_comparison_by_training_size_is_a_list_of_records():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 3)) + y[:, None]
    records = generative_vs_discriminative(X, y, sizes=[10, 100], repeats=3)
    assert [(r["model"], r["rows"]) for r in records] == [
        ("naive Bayes", 10), ("logistic regression", 10), ("naive Bayes", 100), ("logistic regression", 100)
    ]  # fmt: skip
    assert all(0 <= r["error"] <= 0.6 and r["repeats"] == 3 for r in records)
    assert records == generative_vs_discriminative(X, y, sizes=[10, 100], repeats=3)
    with pytest.raises(bk.BayesError, match="sizes"):
        generative_vs_discriminative(X, y, sizes=[1000])
    with pytest.raises(bk.BayesError, match="two classes"):
        generative_vs_discriminative(X, np.zeros(200))


def test_densities_that_are_not_normal_are_refused_by_name():
    model = bk.NaiveBayes(numeric="kernel").fit({"x": [1.0, 2.0, 4.0, 8.0]}, ["a", "a", "b", "b"])
    with pytest.raises(bk.BayesError, match="column 'x' is kernel"):
        bk.mistake_probability(model)

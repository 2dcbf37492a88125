"""P(mistake) against numeric integration and against a search over boundaries."""

import numpy as np
import pytest
from scipy import integrate, stats
from sklearn.exceptions import NotFittedError

import bayeskit as bk
from bayeskit.evaluate.learning_curve import generative_vs_discriminative


def gaussians(m0, s0, m1, s1, prior):
    half = np.sqrt(0.5)
    x = [m0 - s0 * half, m0 + s0 * half, m1 - s1 * half, m1 + s1 * half]  # these means and variances
    return bk.NaiveBayes(numeric="gaussian", prior={"a": prior, "b": 1 - prior}).fit({"x": x}, ["a", "a", "b", "b"])


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


def three(rng, **settings):
    x = np.concatenate([rng.normal(-2, 1, 60), rng.normal(0.5, 0.6, 90), rng.normal(3, 2, 50)]).round(2)
    return bk.NaiveBayes(**{"numeric": "gaussian", **settings}).fit({"x": x}, ["a"] * 60 + ["b"] * 90 + ["c"] * 50)


LINES = [{}, {"variance": "feature"}, {"numeric": "student"}, {"numeric": "kernel"}, {"prior": "uniform"}]


@pytest.mark.parametrize("settings", LINES, ids=str)
def test_three_classes_and_every_density_against_integration(settings):
    model = three(np.random.default_rng(1), **settings)
    found = bk.mistake_probability(model)
    line = np.linspace(-60, 60, 600_001)
    joint = np.exp(model.params_.log_prior + model._column_scores(model.params_, "x", line))
    assert found.correct == pytest.approx(joint.max(axis=1).sum() * (line[1] - line[0]), abs=2e-5)
    assert found.probability + found.correct == 1
    assert sum(found.by_class.values()) == pytest.approx(found.probability)
    for low, high, label in found.regions:
        x = np.linspace(max(low, -15), min(high, 15), 7)[1:-1]
        assert set(model.predict({"x": x})) == {label}
    assert found.probability <= bk.mistake_probability(model, [-1.0, 1.5]).probability


def test_regions_of_a_histogram_are_intervals_of_the_number():
    model = three(np.random.default_rng(1), numeric="histogram", cuts=[-1.0, 0.0, 1.0, 2.0])
    found = bk.mistake_probability(model)
    table = model.table("x")
    prior = np.exp(model.params_.log_prior)
    joint = np.array([[p * q for q in table[f"P(x | {c})"]] for c, p in zip("abc", prior, strict=True)])
    assert found.correct == pytest.approx(joint.max(axis=0).sum())
    assert found.regions[0][0] == -np.inf
    assert {region[1] for region in found.regions} <= {-1.0, 0.0, 1.0, 2.0, np.inf}
    assert all(a[1] == b[0] and a[2] != b[2] for a, b in zip(found.regions, found.regions[1:], strict=False))


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal"])
def test_one_column_of_gaussian_bayes(covariance):
    x = {"x": [-2.0, 0.0, 0.0, 2.0, 5.0, 9.0]}
    y = ["a", "a", "b", "b", "c", "c"]
    found = bk.mistake_probability(bk.GaussianBayes(covariance).fit(x, y))
    variance = "feature" if covariance == "tied" else "class_feature"
    same = bk.mistake_probability(bk.NaiveBayes(variance=variance).fit(x, y))
    assert found.probability == pytest.approx(same.probability)
    assert [r[2] for r in found.regions] == [r[2] for r in same.regions]


def test_more_columns_and_other_models_are_refused():
    X, y = [[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [0, 0, 1, 1]
    for model in (bk.NaiveBayes(), bk.GaussianBayes("diagonal")):
        with pytest.raises(bk.BayesError, match=r"over one column; the model has 2\. Use restrict"):
            bk.mistake_probability(model.fit(X, y))
    with pytest.raises(bk.BayesError, match="a TAN has no density of one column by itself"):
        bk.mistake_probability(bk.TAN(roles="categorical").fit(X, y))
    counts = bk.NaiveBayes(numeric="poisson").fit({"n": [1, 2, 3, 9]}, y)
    with pytest.raises(bk.BayesError, match=r"'n' is poisson.*densities\('n'\)"):
        bk.mistake_probability(counts)
    with pytest.raises(bk.BayesError, match="cut a line of numbers"):
        bk.mistake_probability(bk.NaiveBayes().fit({"s": [*"aabb"]}, y), [1.0])


@pytest.mark.slow
def test_naive_bayes_leads_with_few_rows_and_logistic_regression_where_columns_depend():
    rng = np.random.default_rng(0)

    def draw(case, n):
        y = np.arange(n) % 2
        X = rng.normal(size=(n, 8))
        if case == "variances differ":
            X *= np.where(y == 1, 2.0, 0.7)[:, None]
        if case == "columns depend":
            X[:, 4:] = X[:, :4] + 0.3 * X[:, 4:]
            X[:, :4] += 0.35 * (2 * y - 1)[:, None]
            return X, y
        return X + 0.35 * (2 * y - 1)[:, None], y

    shared, own, logistic = "naive Bayes, shared variance", "naive Bayes", "logistic regression"
    models = {
        shared: bk.NaiveBayes(numeric="gaussian", variance="feature"),
        own: bk.NaiveBayes(numeric="gaussian"),
        logistic: bk.LogisticRegression(),
    }
    hold, differ, depend = "assumptions hold", "variances differ", "columns depend"
    error = {}
    for case in (hold, differ, depend):
        curve = bk.learning_curve(models, *draw(case, 1024), *draw(case, 4000), sizes=[16, 512], repeats=6)
        for name, accuracy in zip(models, curve.means(), strict=True):
            error[case, name, 16], error[case, name, 512] = 1 - accuracy
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


def test_what_has_no_densities_is_refused():
    with pytest.raises(NotFittedError):
        bk.mistake_probability(bk.NaiveBayes())
    fitted = bk.LogisticRegression().fit({"x": [0.0, 1.0, 2.0, 3.0]}, list("aabb"))
    for model in (fitted, 5):
        with pytest.raises(bk.BayesError, match=r"an? \w+ has no density of one column by itself"):
            bk.mistake_probability(model)


@pytest.mark.parametrize("wrong", ["a", float("nan"), float("inf"), None])
def test_boundaries_are_finite_numbers(wrong):
    model = bk.NaiveBayes().fit({"x": [-2.0, 0.0, 0.0, 2.0]}, list("aabb"))
    with pytest.raises(bk.BayesError, match=r"boundaries\[1\] is .*: give finite numbers"):
        bk.mistake_probability(model, [0.5, wrong])

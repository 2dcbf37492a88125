"""Kernel densities against SciPy, brute force and refitting with the bandwidth held."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

import bayeskit as bk
from bayeskit.estimate.columns.kernel import kernel_density, quantile
from bayeskit.estimate.variance import VarianceFloor
from bayeskit.tally.distinct import Values

TINY = VarianceFloor(1e-9, of="total")
pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
SHAPES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "two humps": lambda rng, n: np.r_[rng.normal(size=n // 2), rng.normal(30, 0.5, n - n // 2)],
    "heavy tails": lambda rng, n: rng.standard_cauchy(n),
    "skewed": lambda rng, n: np.exp(2 * rng.normal(size=n)),
    "far from zero": lambda rng, n: 1e6 + rng.normal(size=n),
    "whole numbers": lambda rng, n: rng.integers(0, 300, n).astype(float),
    "an outlier": lambda rng, n: np.r_[rng.normal(size=n - 1), 1e6],
    "mostly one value": lambda rng, n: np.where(rng.random(n) < 0.6, 5.0, rng.normal(size=n)),
    "tiny": lambda rng, n: 1e-200 * rng.normal(size=n),
}


def by_hand(points, counts, h, x):
    """ln Σ n φ((x − v) / h) / (N h), term by term."""
    with np.errstate(divide="ignore"):
        terms = np.log(counts) - 0.5 * ((x[:, None] - points) / h) ** 2
    return special.logsumexp(terms, axis=1) - np.log(counts.sum() * h * np.sqrt(2 * np.pi))


def density_of(x, floor=None):
    return kernel_density(Values.of(x, np.zeros(len(x), int), 1), np.array([len(x)]), floor=floor)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [20, 1500])
def test_the_bins_are_within_their_error_of_the_whole_sum(shape, n):
    rng = np.random.default_rng(4)
    x = SHAPES[shape](rng, n)
    found = density_of(x)
    h = found.bandwidths[0]
    spread = x.max() - x.min()
    asked = np.concatenate(
        [
            rng.uniform(x.min() - spread, x.max() + spread, 400),
            rng.choice(x, 200),
            rng.choice(x, 300) + 8 * h * rng.normal(size=300),
            x.max() + h * 10.0 ** rng.uniform(-2, 6, 200),
            x.min() - h * 10.0 ** rng.uniform(-2, 6, 200),
        ]
    )
    points, counts = np.unique(x, return_counts=True)
    exact = by_hand(points, counts, h, asked)
    error = np.abs(found.scores(asked)[:, 0] - exact) / np.maximum(1, np.abs(exact))
    assert error.max() < 1e-10


def test_the_density_is_that_of_scipy_with_the_same_bandwidth():
    x = np.random.default_rng(1).gamma(2.0, size=700)
    found = density_of(x)
    theirs = stats.gaussian_kde(x, bw_method=found.bandwidths[0] / x.std(ddof=1))
    asked = np.linspace(-1, 12, 60)
    np.testing.assert_allclose(np.exp(found.scores(asked)[:, 0]), theirs(asked), rtol=1e-8, atol=1e-14)


@pytest.mark.parametrize("shape", ["normal", "skewed", "mostly one value"])
def test_the_bandwidth_is_silvermans(shape):
    x = SHAPES[shape](np.random.default_rng(2), 900)
    low, high = (np.quantile(x, q, method="inverted_cdf") for q in (0.25, 0.75))
    expected = 0.9 * min(x.std(ddof=1), (high - low) / 1.349) * 900**-0.2
    assert density_of(x, floor=TINY).bandwidths[0] == pytest.approx(expected, rel=1e-12)
    assert density_of(x).bandwidths[0] == pytest.approx(max(expected, 0.1 * x.std(ddof=1)), rel=1e-12)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=40), st.floats(0.01, 0.99))
def test_quantiles_are_those_of_the_counts(x, share):
    points, counts = np.unique(np.array(x, dtype=float), return_counts=True)
    if abs(share * len(x) - round(share * len(x))) > 1e-6:
        expected = np.quantile(x, share, method="inverted_cdf")
        assert quantile(points, counts.astype(float), share) == expected


def test_the_density_integrates_to_one():
    found = density_of(SHAPES["two humps"](np.random.default_rng(3), 400))
    whole, _ = integrate.quad(lambda t: np.exp(found.scores(np.array([t]))[0, 0]), -30, 60, limit=500)
    assert whole == pytest.approx(1, abs=1e-6)


def test_corners_of_spread():
    X = {"x": [1.0, 1.0, 1.0, 2.0, 3.0, 5.0]}
    table = bk.NaiveBayes(numeric="kernel").fit(X, ["a", "a", "a", "b", "b", "b"]).table("x")
    assert table["bandwidth"][0] == pytest.approx(0.9 * np.std(X["x"], ddof=1) * 3**-0.2)  # that of all classes
    assert table["distinct"] == [1, 3]
    constant = bk.NaiveBayes(numeric="kernel").fit({"x": [1.0, 1.0], "z": ["u", "v"]}, ["a", "b"])
    assert constant.explain({"x": 1.0, "z": "u"})[0].contributions[0].state == "unused"
    empty = bk.NaiveBayes(numeric="kernel").fit({"x": [1.0, 2.0, None], "z": ["u", "v", "u"]}, ["a", "a", "b"])
    assert empty.explain({"x": 1.0, "z": "u"})[0].contributions[0].state == "unused"


def test_values_that_nearly_coincide_have_the_floor_of_all_classes():
    x = np.r_[np.full(50, 3.0), 3.0 + 1e-12, np.linspace(0, 1e6, 50)]
    y = ["a"] * 51 + ["b"] * 50
    h = bk.NaiveBayes(numeric="kernel").fit({"x": x}, y).table("x")["bandwidth"]
    within = 49 * np.var(x[51:], ddof=1) / (50 + 49)
    assert h[0] == pytest.approx(np.sqrt(0.01 * within))
    model = bk.NaiveBayes(numeric="kernel", variance_floor=bk.VarianceFloor(1e-9, "total")).fit({"x": x}, y)
    assert model.table("x")["bandwidth"][0] == pytest.approx(np.sqrt(1e-9) * np.std(x, ddof=1))


def test_missing_numbers_say_nothing_and_infinite_ones_are_refused():
    X = {"x": np.random.default_rng(0).normal(size=30)}
    model = bk.NaiveBayes(numeric="kernel").fit(X, ["a", "b"] * 15)
    np.testing.assert_allclose(model.predict_proba({"x": [np.nan]})[0], [0.5, 0.5])
    for ask in (model.predict_proba, lambda r: model.partial_fit(r, ["a"])):
        with pytest.raises(bk.BayesError, match="infinity"):
            ask({"x": [np.inf]})


def test_two_humps_are_seen_where_a_gaussian_is_blind():
    rng = np.random.default_rng(0)
    y = np.repeat(["middle", "sides"], 300)
    x = np.where(y == "middle", rng.normal(size=600), rng.choice([-5, 5], 600) + rng.normal(size=600))
    scores = {
        how: bk.NaiveBayes(numeric=how).fit({"x": x}, y).leave_one_out({"x": x}, y) for how in ("gaussian", "kernel")
    }
    assert scores["kernel"].log_loss < scores["gaussian"].log_loss
    assert scores["kernel"].accuracy > 0.97


def held(model, rows, y, i, weights):
    """Log joint of row i by the densities of the other rows, with the bandwidths of all: sums written out."""
    classes = model.classes_.tolist()
    w = np.array(weights, dtype=float)
    w[i] = max(w[i] - 1, 0)
    labels = np.array([classes.index(label) for label in y])
    n = np.array([w[labels == c].sum() for c in range(len(classes))])
    with np.errstate(divide="ignore"):
        score = np.log(n / n.sum())
    for name in model.schema_.used:
        x = np.array([np.nan if row[name] is None else row[name] for row in rows])
        h = np.array(model.table(name)["bandwidth"])
        there = ~np.isnan(x) & (w > 0)
        counts = np.array([w[there & (labels == c)].sum() for c in range(len(classes))])
        if np.isnan(x[i]) or np.isnan(h).any() or (counts[n > 0] == 0).any():
            continue
        for c in np.flatnonzero(n > 0):
            mine = there & (labels == c)
            score[c] += by_hand(x[mine], w[mine], h[c], x[[i]])[0]
    return score


@pytest.mark.slow
@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 25), st.booleans())
def test_leave_one_out_equals_refitting_with_the_bandwidth_held(seed, n, weighted):
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], n).tolist()
    rows = [{name: None if rng.random() < 0.2 else float(rng.integers(0, 9)) for name in ("u", "v")} for _ in range(n)]
    for row, label in zip(rows, y, strict=True):  # constant within a class
        row["spike"] = None if rng.random() < 0.2 else 3.0 if label == "a" else float(rng.normal())
    weights = rng.choice([0.5, 1.0, 2.0], n) if weighted else np.ones(n)
    told = {"sample_weight": weights} if weighted else {}
    X = {name: np.array([row[name] for row in rows], dtype=float) for name in ("u", "v", "spike")}
    model = bk.NaiveBayes(numeric="kernel").fit(X, y, **told)
    blocks = model._encoder().blocks(model._labeled(X, y, told.get("sample_weight")))
    found = np.concatenate([model._left_out().scores(block) for block in blocks])
    for i in range(n):
        np.testing.assert_allclose(found[i], held(model, rows, y, i, weights), rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_leave_one_out_of_many_values_equals_the_sums_written_out():
    rng = np.random.default_rng(6)
    y = rng.choice(["a", "b"], 900)
    X = {"u": rng.standard_cauchy(900).round(3)}
    model = bk.NaiveBayes(numeric="kernel").fit(X, y)
    found = model.leave_one_out(X, y)
    rows = [{"u": v} for v in X["u"].tolist()]
    for i in [int(np.argmax(X["u"])), int(np.argmin(X["u"])), *rng.integers(0, 900, 20)]:
        expected = special.softmax(held(model, rows, y.tolist(), i, np.ones(900)))
        np.testing.assert_allclose(found.probabilities[i], expected, rtol=0, atol=1e-9)


def test_past_the_limit_leave_one_out_reads_rows_with_fewer_digits_too():
    rng = np.random.default_rng(6)
    X, y = {"u": rng.normal(size=500)}, rng.choice(["a", "b"], 500)
    model = bk.NaiveBayes(numeric="kernel", max_values=32).fit(X, y)
    assert model.tally_.values["u"].level > 0
    coarse = {"u": model.tally_.values["u"].read(X["u"])}
    plain = bk.NaiveBayes(numeric="kernel").fit(coarse, y)
    np.testing.assert_allclose(
        model.leave_one_out(X, y).probabilities, plain.leave_one_out(coarse, y).probabilities, atol=1e-12
    )
    with pytest.raises(bk.errors.NotLearned, match="row 0 was never learned"):
        model.leave_one_out({"u": np.r_[77.0, X["u"][1:]]}, y)


def test_samples_are_drawn_from_the_density():
    x = np.repeat([0.0, 10.0], [30, 70]) + np.random.default_rng(0).normal(size=100)
    model = bk.NaiveBayes(numeric="kernel").fit({"x": x}, ["a"] * 100)
    drawn = np.array(model.sample(20_000, random_state=1)[0]["x"])
    assert (drawn > 5).mean() == pytest.approx(0.7, abs=0.02)
    h = model.table("x")["bandwidth"][0]
    assert drawn.var() == pytest.approx(x.var() + h * h, rel=0.05)


def test_mutual_information_of_a_kernel_density_equals_its_integral():
    rng = np.random.default_rng(8)
    y = rng.choice(["a", "b"], 300, p=[0.4, 0.6])
    x = rng.normal(size=300) + 2 * (y == "a")
    model = bk.NaiveBayes(numeric="kernel").fit({"x": x}, y)
    p, grid = np.array(model.table()["P(class)"]), np.linspace(-8, 11, 40_001)
    density = np.exp(model._column_scores(model.params_, "x", grid))
    mixed = density @ p
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.nan_to_num(density * np.log2(density / mixed[:, None])) @ p
    assert model.column_importance().columns[0].bits == pytest.approx(part.sum() * (grid[1] - grid[0]), abs=2e-3)

"""TAN, AODE, k-DB and the full joint without each of their rows: against refitting, and what is chosen by it."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings

import bayeskit as bk
import bayeskit.data.source

from .conftest import CHAIN, PARENTS, rows_with_gaps, table, two_classes

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")


def refitted(model, rows, i):
    """Scores of row i, in the classes of all, by the same model without it."""
    rest = rows[:i] + rows[i + 1 :]
    other = model.__class__(**model.get_params()).fit(*table(rest))
    scores = np.full(2, -np.inf)
    at = [["p", "q"].index(label) for label in other.classes_]
    scores[at] = other.predict_joint_log_proba(table([rows[i]])[0])[0]
    return scores


LEFT_OUT = [
    bk.TAN(smoothing=1.0, parents=PARENTS),
    bk.TAN(smoothing=bk.BackOff(3), parents=PARENTS, prior=bk.Laplace()),
    bk.KDB(parents=CHAIN, smoothing=0.5, prior="uniform"),
    bk.KDB(parents=CHAIN, smoothing=bk.BackOff(1)),
    bk.AODE(smoothing=1.0),
    bk.AODE(2, smoothing=bk.BackOff(2), prior={"p": 0.3, "q": 0.7}),
    bk.NetworkClassifier([("a", "class"), ("b", "class"), ("a", "b"), ("class", "d")], smoothing=bk.BackOff(2)),
    bk.NetworkClassifier([("a", "class"), ("class", "b"), ("b", "d")], smoothing=0.5),
    bk.FullJointBayes(),
    bk.FullJointBayes(smoothing=1, domains={"a": [*"uvw"], "b": [*"uvw"], "d": [*"uvwxy"]}),
]


@pytest.mark.slow
@pytest.mark.parametrize("model", LEFT_OUT, ids=lambda m: f"{type(m).__name__} {m.smoothing}")
@settings.get_profile("few")
@given(rows_with_gaps)
def test_leaving_one_out_is_refitting_without_the_row(model, rows):
    two_classes(rows)
    given_prior = isinstance(model.prior, dict)
    assume(not given_prior or min(sum(r[-1] == c for r in rows) for c in "pq") > 1)
    assume(all(sum(r[i] is not None for r in rows) > 1 for i in range(3)))
    X, y = table(rows)
    model.fit(X, y)
    block = next(iter(model._encoder().blocks(bk.open_source(X, y))))
    found = model._left_out().scores(block)
    wanted = np.array([refitted(model, rows, i) for i in range(len(rows))])
    np.testing.assert_allclose(np.exp(found), np.exp(wanted), rtol=1e-9, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("model", [bk.TAN(), bk.AODE(), bk.KDB(2)], ids=str)
def test_tuning_fits_a_temperature_that_makes_probabilities_honest(model):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 400)
    bits = (rng.random((400, 3)) < np.where(y == 1, 0.7, 0.3)[:, None]).astype(int)
    X = np.repeat(bits, 6, axis=1) ^ (rng.random((400, 18)) < 0.15)  # the same evidence over and over
    model = model.set_params(roles="categorical").tune(X[:200], y[:200])
    tuned = model.log_likelihood(X[200:], y[200:]).conditional
    assert model.temperature > 1.05
    assert tuned > model.set_params(temperature=1.0).log_likelihood(X[200:], y[200:]).conditional
    naive = bk.NaiveBayes(roles="categorical").tune(X[:200], y[:200])
    assert 1.5 < naive.temperature < 8
    proba = naive.predict_proba(X[200:])
    np.testing.assert_allclose(np.exp(naive.predict_log_proba(X[200:])), proba)


def test_log_linear_weights_leave_useless_parents_aside():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 3, (600, 6))
    y = (X[:, 0] + X[:, 1] >= 3).astype(int) ^ (rng.random(600) < 0.05)
    equal, weighted = (bk.AODE(weights=w, roles="categorical").fit(X[:400], y[:400]) for w in ("equal", "log-linear"))
    assert weighted.exponents_.argsort()[-2:].tolist() in ([0, 1], [1, 0])
    better = weighted.log_likelihood(X[400:], y[400:]).conditional
    assert better > equal.log_likelihood(X[400:], y[400:]).conditional
    before = weighted.exponents_.copy()
    assert np.array_equal(weighted.partial_fit(X[400:], y[400:]).exponents_, before)


def test_selective_kdb_leaves_noise_and_needless_parents_out():
    rng = np.random.default_rng(3)
    a, b, noise = rng.integers(0, 2, (3, 500))
    X = {"a": a, "b": b, **{f"n{i}": rng.integers(0, 4, 500) for i in range(4)}, "z": noise}
    y = (a | b) ^ (rng.random(500) < 0.02)
    model = bk.KDB(3, selective=True, roles="categorical").fit(X, y)
    assert {"a", "b"} <= set(model.parents_)
    assert model.score(X, y) > 0.95

    def loss(other):
        block = next(iter(other._encoder().blocks(bk.open_source(X, y))))
        scores = other._left_out().scores(block)
        return (np.logaddexp.reduce(scores, axis=1) - scores[np.arange(500), y.astype(int)]).sum()

    order = list(bk.KDB(3, roles="categorical").fit(X, y).parents_.items())
    tried = {
        (k, n): loss(bk.KDB(parents={c: p[:k] for c, p in order[:n]}, roles="categorical").fit(X, y))
        for k, n in itertools.product(range(4), (len(model.parents_), 7))
        if n == 7
    }
    assert loss(model) <= min(tried.values()) + 1e-9


def test_columns_that_are_not_selected_have_no_part():
    rng = np.random.default_rng(3)
    X = {"a": rng.integers(0, 2, 300), **{f"n{i}": rng.integers(0, 30, 300) for i in range(4)}}
    model = bk.KDB(1, selective=True, roles="categorical", smoothing=0.01).fit(X, X["a"])
    assert list(model.parents_) == ["a"]
    assert np.isfinite(model.predict_proba({**X, "n0": np.full(300, 99)})).all()
    with pytest.raises(bk.BayesError, match="no part"):
        model.table("n0")


def test_what_is_held_while_a_row_is_left_out_is_said():
    rng = np.random.default_rng(0)
    X, y = {"a": rng.choice(list("uv"), 60), "n": np.arange(60.0)}, np.arange(60) // 30
    said = {
        bk.TAN(): ("structure", "cuts", "smoothing"),
        bk.TAN(smoothing=1.0, parents={}, cuts=4): (),
        bk.AODE(weights="log-linear", cuts=("mdl", 5)): ("weights", "cuts", "smoothing"),
        bk.NBTree(smoothing=1.0): ("structure", "cuts"),
        bk.FullJointBayes(smoothing=1.0): ("cuts",),
        bk.KDB(smoothing=bk.BackOff(2), cuts={"n": [10.0]}): ("structure",),
        bk.NaiveBayes(numeric="gaussian"): (),
        bk.NaiveBayes(numeric="gaussian", smoothing="auto"): ("smoothing",),
    }
    for model, held in said.items():
        found = model.fit(X, y).leave_one_out(X, y)
        assert found.held == held
        assert any("have seen" in note or "has seen" in note for note in found.notes) == bool(held)
    assert "Structure, cuts and smoothing have seen the row" in str(bk.TAN().fit(X, y).leave_one_out(X, y))


@pytest.mark.slow
def test_random_classes_show_why_it_is_said():
    rng = np.random.default_rng(1)
    X, y = rng.choice(list("uvw"), (50, 40)), np.arange(50) % 2
    model = bk.TAN()
    assert model.fit(X, y).leave_one_out(X, y).accuracy > 0.8
    assert bk.cross_validate(model, X, y).accuracy < 0.7

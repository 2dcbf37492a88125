"""Repeated and weighted rows, and tables with more columns than rows: BayesClassifier judges itself honestly."""

from time import process_time

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

import bayeskit as bk
from bayeskit.estimate.repeats import join_copies

N, N_NEW = 1_000, 4_000


def draw(n, seed):
    """Rows of numbers and categories whose classes follow a logistic model with an interaction."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    X["sky"] = rng.choice(["sun", "rain", "fog"], n)
    X["flag"] = rng.random(n) < 0.3
    z = X.a + 0.7 * X.b * np.where(X.sky == "fog", -1, 1) + 1.2 * X.flag - 1
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-z)), "yes", "no")


@pytest.fixture(scope="module")
def rows():
    return draw(N, 1)


@pytest.fixture(scope="module")
def new():
    return draw(N_NEW, 2)


def fit(X, y, **kwargs):
    return bk.BayesClassifier(n_threads=1).fit(X, y, **kwargs)


def loss_of(model, new, weights=None):
    X, y = new
    return log_loss(y, model.predict_proba(X), labels=list(model.classes_), sample_weight=weights)


def left_out(model):
    return model.left_out_["log loss"][0]


def is_honest(model, loss):
    return 1 / 1.3 <= left_out(model) / loss <= 1.3


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
def test_rows_that_all_repeat_are_the_rows(rows, new, k):
    X, y = rows
    once, repeated = fit(X, y), fit(pd.concat([X] * k), np.tile(y, k))
    assert np.array_equal(repeated.predict_proba(new[0]), once.predict_proba(new[0]))
    assert is_honest(repeated, loss_of(repeated, new))


@pytest.mark.slow
@pytest.mark.parametrize("weight", [2.0, 1_000.0, 2e5])
def test_equal_weights_change_nothing(rows, new, weight):
    X, y = rows
    weighted = fit(X, y, sample_weight=np.full(N, weight))
    assert np.array_equal(weighted.predict_proba(new[0]), fit(X, y).predict_proba(new[0]))


@pytest.mark.slow
def test_a_bootstrap_sample_is_the_distinct_rows_with_weights(rows, new):
    X, y = rows
    drawn = np.random.default_rng(3).integers(0, N, N)
    distinct, times = np.unique(drawn, return_counts=True)
    sample = fit(X.iloc[drawn], y[drawn])
    weighted = fit(X.iloc[distinct], y[distinct], sample_weight=times)
    assert loss_of(sample, new) <= 1.05 * loss_of(weighted, new)
    assert is_honest(sample, loss_of(sample, new))


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_some_rows_again_do_no_harm(rows, new, share):
    X, y = rows
    again = np.r_[0:N, 0 : int(share * N)]
    model = fit(X.iloc[again], y[again])
    weighted = fit(X, y, sample_weight=np.where(np.arange(N) < share * N, 2.0, 1.0))
    assert loss_of(model, new) <= 1.05 * loss_of(weighted, new)
    assert is_honest(model, loss_of(model, new))


@pytest.mark.slow
def test_oversampling_a_class_is_weighting_it(rows, new):
    X, y = rows
    order = np.r_[0:N, np.repeat(np.flatnonzero(y == "yes"), 2)]
    weights = np.where(y == "yes", 3.0, 1.0)
    repeated, weighted = fit(X.iloc[order], y[order]), fit(X, y, sample_weight=weights)
    assert loss_of(repeated, new) <= 1.05 * loss_of(weighted, new)
    assert is_honest(weighted, loss_of(weighted, new, np.where(new[1] == "yes", 3.0, 1.0)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_heavy_weights_of_a_rare_class_raise_its_probability(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24_000, 6))
    y = (rng.random(24_000) < 1 / (1 + np.exp(5.9 - 1.5 * X[:, 0] - X[:, 1]))).astype(int)
    weights = np.where(y[:4_000], 99.0, 1.0)
    ours = fit(X[:4_000], y[:4_000], sample_weight=weights).predict_proba(X[4_000:])[:, 1].mean()
    theirs = LogisticRegression().fit(X[:4_000], y[:4_000], sample_weight=weights)
    assert ours == pytest.approx(theirs.predict_proba(X[4_000:])[:, 1].mean(), rel=0.1)


@pytest.mark.slow
def test_more_columns_than_rows_are_judged_honestly():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2_150)
    X = rng.normal(size=(2_150, 1_000))
    X[:, :30] += 0.75 * y[:, None]
    model, fast = fit(X[:150], y[:150]), bk.BayesClassifier(fast=True, n_threads=1).fit(X[:150], y[:150])
    loss = loss_of(model, (X[150:], y[150:]))
    assert loss <= 1.05 * loss_of(fast, (X[150:], y[150:]))
    assert is_honest(model, loss)


@pytest.mark.slow
def test_five_thousand_columns_take_seconds():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 152)
    X = rng.normal(size=(152, 5_000))
    X[:, :30] += y[:, None]
    start = process_time()
    fit(X[:150], y[:150])
    assert process_time() - start < 10


@pytest.mark.slow
def test_small_tables_are_judged_honestly():
    ours, truth = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1_060, 12))
        y = X[:, :3].sum(axis=1) + rng.normal(size=1_060) > 0
        model = fit(X[:60], y[:60])
        ours.append(left_out(model))
        truth.append(loss_of(model, (X[60:], y[60:])))
    assert 1 / 1.15 < np.mean(ours) / np.mean(truth) < 1.15


def test_repeats_of_few_possible_rows_are_observations():
    rng = np.random.default_rng(4)
    columns = [rng.integers(0, 2, 1_000) for _ in range(7)]
    rows, weights = join_copies(columns, rng.integers(0, 3, 1_000), None)
    assert len(rows) == 1_000
    assert weights is None
    truth_table = [np.tile([0, 0, 1, 1], 100), np.tile([0, 1, 0, 1], 100)]
    assert len(join_copies(truth_table, np.tile([0, 1, 1, 0], 100), None)[0]) == 400


def test_a_table_of_few_possible_rows_read_twice_is_the_table():
    rng = np.random.default_rng(4)
    columns, labels = [rng.integers(0, 2, 1_000) for _ in range(7)], rng.integers(0, 3, 1_000)
    rows, weights = join_copies([np.tile(cells, 2) for cells in columns], np.tile(labels, 2), None)
    assert rows.tolist() == list(range(1_000))
    assert weights is None


def test_copies_of_weighted_rows_add_their_weights():
    numbers = np.random.default_rng(5).normal(size=200)
    order = np.r_[0:200, 0:80]
    rows, weights = join_copies([numbers[order]], np.zeros(280, dtype=int), np.full(280, 0.5))
    assert rows.tolist() == list(range(200))
    assert weights[:80] == pytest.approx(2 * weights[199])
    assert weights.mean() == pytest.approx(1.0)


def test_missing_cells_and_both_zeros_are_equal():
    numbers = np.array([0.0, -0.0, np.nan, np.nan, 1.5, 1.5])
    rows, weights = join_copies([numbers] * 5, np.zeros(6, dtype=int), None)
    assert rows.tolist() == [0, 2, 4]
    assert weights is None

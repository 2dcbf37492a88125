"""Where the ensemble splits: numbers of which most are equal, and values that are singled out."""

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk
from bayeskit import kernels
from bayeskit.models import from_bytes, to_bytes
from bayeskit.models.ensemble.structure import ChainSteps
from bayeskit.models.ensemble.training_rows import cut_points
from bayeskit.tally.coded_trees import ColumnCodes


def test_cuts_are_drawn_among_all_rows_unless_one_value_has_more_than_half_of_them():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=1000).round(1)
    points, how_many = cut_points(numbers)
    np.testing.assert_array_equal(points, np.sort(numbers))
    assert how_many == 9
    numbers[:501] = 3.0
    points, how_many = cut_points(numbers)
    np.testing.assert_array_equal(points, np.unique(numbers))
    assert how_many == 32
    numbers[:501] = np.nan  # missing is not a number
    assert len(cut_points(numbers)[0]) == 499
    assert len(cut_points(np.full(4, np.nan))[0]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("fast", [True, False])
def test_the_few_numbers_beside_the_one_that_most_rows_have_are_told_apart(fast):
    """As gains of capital are: nearly always nothing, and else the exact amount says it."""
    rng = np.random.default_rng(0)
    gain = np.where(rng.random(4000) < 0.9, 0.0, 100.0 * rng.integers(1, 12, 4000))
    y = np.where(gain == 0, rng.random(4000) < 0.1, gain % 200 == 0)
    X = pd.DataFrame({"gain": gain, "other": rng.normal(size=4000)})
    model = bk.BayesClassifier(fast=fast, n_chains=16).fit(X[:3000], y[:3000])
    some = X[3000:][gain[3000:] > 0]
    assert model.score(some, y[3000:][gain[3000:] > 0]) > 0.95


@pytest.mark.parametrize("singled", [[3], [0, 2], [4, 1, 2]])
def test_a_step_on_singled_out_codes_is_one_on_the_groups_written_out(singled):
    rng = np.random.default_rng(len(singled))
    x, other = rng.integers(0, 5, 200).astype(np.uint8), rng.integers(0, 2, 200).astype(np.uint8)
    labels = np.where(rng.random(200) < 0.2, other, (x == singled[0]) ^ other).astype(np.uint32)
    table = np.zeros(6, dtype=np.uint8)
    table[singled], table[5] = np.arange(1, len(singled) + 1), len(singled) + 1
    cuts = np.full((2, 3), np.nan)
    cuts[0, : len(singled)] = singled
    steps = (np.array([0, 2]), np.array([0, 1], dtype=np.int32), np.array([4.0, 1.0]))
    prior, asked = np.array([0.4, 0.6]), np.arange(0, 200, 3)
    sizes, whole = (np.array([5, 2]), np.array([len(singled) + 1, 2])), np.full((2, 3), np.nan)
    new = [np.array([0, 1, 2, 3, 4, 5], dtype=np.uint8), np.array([0, 1, 0, 1, 0, 1], dtype=np.uint8)]
    said = []
    for size, first, fresh, where in ((sizes[0], x, new[0], cuts), (sizes[1], table[x], table[new[0]], whole)):
        columns = [first, other]
        logs, sums, learned = kernels.count_chains(columns, size, labels, 2, None, asked, *steps, where, prior, 1)
        said.append((logs, sums, *kernels.score_chains([fresh, new[1]], size, columns, 200.0, prior, learned, 1)))
    for ours, theirs in zip(*said, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert said[0][2][5] == pytest.approx(np.log((200 * prior + 1) / 202))  # a value never seen ends the chain


def test_values_that_are_singled_out_stay_so_whatever_their_codes_become():
    before = {"sky": ColumnCodes(("rain", "snow", "sun"), True), "size": ColumnCodes(None, False)}
    cuts = np.array([[0, 2, np.nan], [0.5, 2, np.nan], [1, 3, np.nan]])
    steps = ChainSteps(np.array([0, 3]), np.array([0, 1, 0], dtype=np.int32), np.ones(3), cuts)
    now = {"sky": ColumnCodes(("fog", "snow", "sun"), False), "size": ColumnCodes(None, False)}
    found = steps.recoded(before, now).cuts
    np.testing.assert_array_equal(found, [[-1, 1, np.nan], [0.5, 2, np.nan], [-1, 2, np.nan]])
    np.testing.assert_array_equal(steps.cuts, cuts)


def test_a_value_that_was_forgotten_leaves_the_structure_and_comes_back_as_a_new_one():
    rng = np.random.default_rng(0)
    sky, wind = rng.choice(["cloud", "fog", "rain", "snow", "sun"], 300), rng.choice(["no", "some", "strong"], 300)
    X = pd.DataFrame({"sky": sky, "wind": wind})
    y = np.where((sky == "fog") ^ (wind == "some"), "stay", "go")
    model = bk.BayesClassifier(n_members=2, n_chains=8).fit(X, y)
    assert np.isfinite(model.structure_.steps.cuts[:, 0]).any()
    fog = sky == "fog"
    model.forget(X[fog], y[fog])
    assert model.structure_.codes["sky"].values == ("cloud", None, "rain", "snow", "sun")
    again = from_bytes(to_bytes(model))
    assert again.structure_ == model.structure_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    said = bk.BayesClassifier(structure=model.structure_).fit(X, y).predict_proba(X)
    for back in (model, again):
        np.testing.assert_allclose(back.partial_fit(X[fog], y[fog]).predict_proba(X), said, rtol=1e-9)
    early = pd.DataFrame({"sky": ["a new one"], "wind": ["calm"]})  # its codes come before all others
    more = model.partial_fit(early, ["go"]).predict_proba(X)
    whole = bk.BayesClassifier(structure=model.structure_).fit(pd.concat([X, early]), [*y, "go"]).predict_proba(X)
    np.testing.assert_allclose(more, whole, rtol=1e-9)

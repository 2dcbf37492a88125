"""Forests and line: nothing leaks into rows left out, and a model without its rows says the same."""

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk
from bayeskit.datasets import load_penguins
from bayeskit.errors import BadFile
from bayeskit.models import from_bytes, to_bytes
from bayeskit.models.ensemble.parameters import from_leaves
from bayeskit.models.ensemble.structure import ScoreTerms
from bayeskit.tally.coded_trees import CodedTrees, Leaves

SMALL = {"n_members": 2, "n_chains": 4, "n_trees": 6, "n_threads": 1}


@pytest.fixture(scope="module")
def penguins():
    frame = load_penguins().to_pandas()
    return frame.drop(columns=["species", "year"]), frame["species"]


def test_permuted_labels_leak_nothing():
    rng = np.random.default_rng(0)
    n = 1500
    X = pd.DataFrame(rng.normal(size=(n, 6))).assign(word=rng.choice(list("abcdefgh"), n)).rename(columns=str)
    y = rng.permutation(np.repeat(["a", "b", "c"], n // 3))
    model = bk.BayesClassifier(n_members=4, n_chains=8, n_trees=20, n_threads=1).fit(X, y)
    accuracy, loss = model.left_out_["accuracy"][0], model.left_out_["log loss"][0]
    assert abs(accuracy - 1 / 3) < 4 * np.sqrt(2 / 9 / n)
    assert loss == pytest.approx(np.log(3), abs=0.03)


def test_a_model_that_forgets_its_rows_says_the_same_as_one_that_has_them(penguins):
    X, y = penguins
    with_rows = bk.BayesClassifier(**SMALL, fast=True).fit(X, y)
    without = bk.BayesClassifier(**SMALL, keep_rows=False).fit(X, y)
    assert "rows" not in without.tally_.statistics
    np.testing.assert_array_equal(without.predict_proba(X), with_rows.predict_proba(X))
    again = from_bytes(to_bytes(without))
    np.testing.assert_array_equal(again.predict_proba(X), without.predict_proba(X))
    assert again.structure_ == without.structure_
    for name in ("partial_fit", "forget", "merge", "learn_source", "forget_source"):
        assert not hasattr(again, name)
        assert hasattr(with_rows, name)
    record = again.explain(X.iloc[[0]])[0]
    assert record.prior_log_odds + sum(part.log_odds for part in record.contributions) == pytest.approx(record.log_odds)


def test_no_row_stands_in_a_file_without_rows(penguins):
    X, y = penguins
    X = X.assign(body_mass_g=X["body_mass_g"] + 0.123456789)
    data = to_bytes(bk.BayesClassifier(**SMALL, keep_rows=False).fit(X, y))
    with_rows = to_bytes(bk.BayesClassifier(**SMALL, fast=True).fit(X, y))
    column = X["body_mass_g"].dropna().to_numpy()
    assert column[:3].tobytes() in with_rows
    assert column[:3].tobytes() not in data


def test_the_light_form_has_no_members_and_says_so(penguins):
    X, y = penguins
    model = bk.BayesClassifier(fast=True, n_trees=6).fit(X, y)
    assert model.describe_structure().table.column_names == ["column", "importance"]
    assert "without members and chains" in " ".join(model.report().split())
    assert "two forests of 6 trees and a line" in model.describe_structure().sentence
    assert len(model.structure_.exponents) == ScoreTerms(0, 0, 4, 1).size


def test_a_new_class_has_its_prior_in_the_line_and_rows_that_go_take_their_class_along(penguins):
    X, y = penguins
    model = bk.BayesClassifier(**SMALL).fit(X[y != "Gentoo"], y[y != "Gentoo"])
    model.partial_fit(X[y == "Gentoo"], y[y == "Gentoo"])
    assert model.score(X, y) > 0.9
    assert model.forget(X[y == "Gentoo"], y[y == "Gentoo"]).classes_.tolist() == ["Adelie", "Chinstrap"]


@pytest.mark.parametrize("setting", [{"fast": "no"}, {"keep_rows": 1}, {"n_trees": -1}])
def test_settings_that_mean_nothing_are_refused_by_name(setting):
    with pytest.raises(bk.BayesError, match=next(iter(setting))):
        bk.BayesClassifier(**setting).fit([[1.0], [2.0]], [0, 1])


@pytest.fixture(scope="module")
def leaves(penguins):
    X, y = penguins
    return bk.BayesClassifier(**SMALL, keep_rows=False).fit(X, y).tally_


def test_trees_of_a_file_whose_nodes_have_two_above_them_are_refused(leaves):
    trees, n = leaves.statistics["leaves"].trees, 3001  # sums over such nodes double at each step, up to infinity
    header, arrays = trees.to_parts()
    nodes = np.zeros((n, 2), dtype=np.uint32)
    nodes[: n - 2, 0] = np.arange(1, n - 1)
    shared = [*arrays[:2], np.array([0, n]), nodes, np.full(n, -1), np.zeros((0, 8), dtype=np.uint32)]
    with pytest.raises(BadFile, match="not trees"):
        CodedTrees.from_parts(trees.coding, header, shared)
    assert CodedTrees.from_parts(trees.coding, header, arrays) == trees


def test_counts_of_leaves_that_no_memory_holds_are_refused_before_they_are_made(leaves, monkeypatch):
    statistic = leaves.statistics["leaves"]
    header, arrays = statistic.to_parts()
    assert Leaves.from_parts(statistic.request, header, arrays, leaves.space) == statistic
    monkeypatch.setattr("bayeskit.memory.memory_of_the_machine", lambda: 16.0 * len(arrays[3]))
    with pytest.raises(bk.BayesError, match="would take"):
        Leaves.from_parts(statistic.request, header, arrays, leaves.space)


def test_leaves_heavier_than_single_precision_are_refused_without_rows_as_with_them(penguins):
    model = bk.BayesClassifier(**SMALL, keep_rows=False).fit(*penguins)
    held, tally = model.tally_.statistics["leaves"], model.tally_
    heavy = Leaves(held.trees, held.counts * 1e60)
    with pytest.raises(bk.BayesError, match="single precision"):
        from_leaves(heavy, tally.class_counts * 1e60, tally.classes, model.structure_, 1)


def test_a_structure_with_members_needs_the_rows(penguins):
    whole = bk.BayesClassifier(n_members=2, n_chains=2, n_trees=3, n_threads=1).fit(*penguins)
    with pytest.raises(bk.BayesError, match="need the rows"):
        bk.BayesClassifier(structure=whole.structure_, keep_rows=False).fit(*penguins)
    fast = bk.BayesClassifier(fast=True, n_trees=3, n_threads=1).fit(*penguins)
    model = bk.BayesClassifier(structure=fast.structure_, keep_rows=False).fit(*penguins)
    loaded = from_bytes(to_bytes(model))
    np.testing.assert_array_equal(loaded.predict_proba(penguins[0]), model.predict_proba(penguins[0]))

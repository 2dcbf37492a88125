"""Boosting and the boosted forest: taken where rows left out gain, held when rows change, safe to read from a file."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk
from bayeskit.models import from_bytes, to_bytes
from bayeskit.models.ensemble.structure import OF_BOOSTING
from bayeskit.models.ensemble.trees import Booster
from bayeskit.storage.container import pack, unpack

SMALL = {"n_members": 1, "n_chains": 2, "n_trees": 4, "n_threads": 1}


@pytest.fixture(scope="module")
def steps():
    """Sums of many thresholds: neither few deep trees nor a line tell them well."""
    rng = np.random.default_rng(0)
    n = 900
    X = pd.DataFrame(rng.normal(size=(n, 6)).round(2), columns=list("abcdef")).assign(word=rng.choice(list("pqrst"), n))
    X.loc[rng.random(n) < 0.05, "a"] = np.nan
    total = sum(np.where(X[name] > 0.3, 1, -1) for name in "abcdef") + np.where(X["word"].isin(["p", "s"]), 2, -1)
    return X, np.digitize(total, [-2, 2]).astype(str)


@pytest.fixture(scope="module")
def model(steps):
    return bk.BayesClassifier(**SMALL).fit(*steps)


def test_it_is_taken_where_rows_left_out_gain_and_is_worth_it_on_new_rows(steps, monkeypatch):
    X, y = steps
    boosted = bk.BayesClassifier(**SMALL).fit(X[:600], y[:600])
    monkeypatch.setattr(Booster, "correct", lambda *_: None)
    plain = bk.BayesClassifier(**SMALL).fit(X[:600], y[:600])
    assert boosted.structure_.boosting is not None
    assert plain.structure_.boosting is None
    assert "small boosted trees" in " ".join(boosted.report().split())
    losses = [_loss(fitted, X[600:], y[600:]) for fitted in (boosted, plain)]
    assert losses[0] < losses[1] - 0.05


def products(n, seed):
    """The class is told by the sign of a sum of products."""
    X = pd.DataFrame(np.random.default_rng(seed).normal(size=(n, 6)).round(2), columns=list("abcdef"))
    return X, np.where(X["a"] * X["b"] + X["c"] * X["d"] + 0.3 * X["e"] > 0, "in", "out")


@pytest.mark.slow
def test_a_boosted_forest_is_pooled_from_1_000_rows_on_and_is_worth_it(monkeypatch):
    X, y = products(1_200, 0)
    pooled, few = (bk.BayesClassifier(**SMALL).fit(X[:n], y[:n]) for n in (1_200, 990))
    again = bk.BayesClassifier(**SMALL | {"n_threads": 3}).fit(X, y)
    monkeypatch.setattr(Booster, "fit_forest", lambda *_: None)
    plain, same = (bk.BayesClassifier(**SMALL).fit(X[:n], y[:n]) for n in (1_200, 990))
    assert same.structure_ == few.structure_
    assert len(pooled.structure_.boosting) > len(plain.structure_.boosting)
    new = products(2_000, 1)
    assert _loss(pooled, *new) < _loss(plain, *new) - 0.01
    assert again.structure_ == pooled.structure_
    assert "boosting" in pooled.fixed_
    np.testing.assert_array_equal(from_bytes(to_bytes(pooled)).predict_proba(X), pooled.predict_proba(X))
    for record in pooled.explain(X[:3]):
        total = record.prior_log_odds + sum(part.log_odds for part in record.contributions)
        assert total == pytest.approx(record.log_odds, abs=1e-9)
    more = pooled.predict_proba(X)
    pooled.partial_fit(new[0][:50], new[1][:50]).forget(new[0][:50], new[1][:50])
    np.testing.assert_allclose(pooled.predict_proba(X), more, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("keep_rows", [True, False])
def test_weights_and_files_with_a_boosted_forest(keep_rows):
    X, y = products(1_200, 0)
    weights = np.random.default_rng(0).integers(1, 4, len(y)) / 3
    model = bk.BayesClassifier(**SMALL, keep_rows=keep_rows).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(from_bytes(to_bytes(model)).predict_proba(X), model.predict_proba(X))
    assert _loss(model, *products(2_000, 1)) < 0.25


@pytest.mark.slow
def test_scores_of_rows_left_out_are_those_of_new_rows_and_copies_leave_together():
    X, y = products(1_200, 0)
    copies, labels, groups = pd.concat([X, X]), np.concatenate([y, y]), [*X.index, *X.index]
    models = [
        bk.BayesClassifier(**SMALL).fit(X, y),
        bk.BayesClassifier(**SMALL).fit(copies, labels),
        bk.BayesClassifier(n_trees=4, n_threads=1).fit(copies, labels, groups=groups),
    ]
    for model in models:
        assert model.left_out_["log loss"][0] == pytest.approx(_loss(model, *products(2_000, 1)), abs=0.04)


def _loss(model, X, y):
    said = model.predict_log_proba(X)
    return -said[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean()


def test_nothing_is_boosted_where_there_is_nothing_to_learn(steps):
    X, y = steps
    model = bk.BayesClassifier(**SMALL).fit(X, np.random.default_rng(0).permutation(y))
    assert model.structure_.boosting is None


def test_the_number_of_threads_changes_no_bit(steps, model):
    X, y = steps
    again = bk.BayesClassifier(**SMALL | {"n_threads": 3}).fit(X, y)
    assert again.structure_ == model.structure_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_it_is_held_while_rows_come_and_go(steps, model):
    X, y = steps
    first = bk.BayesClassifier(**SMALL).fit(X[:700], y[:700])
    before, held = first.predict_proba(X), first.structure_
    assert held.boosting is not None
    other = bk.BayesClassifier(structure=held, n_threads=1).fit(X[700:], y[700:])
    merged = first.merge(other).predict_proba(X)
    more = first.partial_fit(X[700:], y[700:])
    whole = bk.BayesClassifier(structure=held, n_threads=1).fit(X, y)
    np.testing.assert_allclose(more.predict_proba(X), whole.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(merged, whole.predict_proba(X), atol=1e-12)
    assert more.structure_ == held
    np.testing.assert_allclose(more.forget(X[700:], y[700:]).predict_proba(X), before, atol=1e-12)
    assert held != replace(held, boosting=None) != model.structure_


def test_a_class_that_it_never_saw_gets_nothing_from_it(steps):
    X, y = steps
    model = bk.BayesClassifier(**SMALL).fit(X[y != "1"], y[y != "1"])
    part = model.structure_.boosting
    assert part is not None
    codes = np.zeros((3, len(model.structure_.trees.columns)), dtype=np.uint8)
    told, as_learned = part.scores(codes, ("0", "1", "2"), 1), part.scores(codes, ("0", "2"), 1)
    np.testing.assert_array_equal(told, np.column_stack([as_learned[:, 0], np.zeros(3), as_learned[:, 1]]))
    assert np.isfinite(model.partial_fit(X[y == "1"], y[y == "1"]).predict_proba(X)).all()


def test_explanations_sum_to_the_log_odds_and_what_is_unknown_ends_above_the_leaves(steps, model):
    X, _ = steps
    odd = pd.DataFrame({"a": [None, 0.1], "b": [5.0, None], "word": ["never seen", "p"]}).reindex(columns=X.columns)
    for record in model.explain(pd.concat([X[:5], odd])):
        total = record.prior_log_odds + sum(part.log_odds for part in record.contributions)
        assert total == pytest.approx(record.log_odds, abs=1e-9)


@pytest.mark.parametrize("keep_rows", [True, False])
def test_a_file_gives_the_same_model_and_a_hostile_one_is_refused_or_is_a_model(steps, keep_rows):
    X, y = steps
    weights = np.random.default_rng(0).integers(1, 4, len(y)) / 2
    model = bk.BayesClassifier(**SMALL, keep_rows=keep_rows).fit(X, y, sample_weight=weights)
    assert model.structure_.boosting is not None
    data = to_bytes(model)
    again = from_bytes(data)
    assert again.structure_ == model.structure_
    assert to_bytes(again) == data
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    refused = 0
    for seed in range(150):
        rng, (header, arrays) = np.random.default_rng(seed), unpack(data)
        at = int(rng.integers(len(arrays) - OF_BOOSTING, len(arrays)))
        array = arrays[at].copy()
        match rng.integers(4):
            case 0:
                odd = [np.nan, np.inf, 1e308, -1e12] if array.dtype.kind == "f" else [-1, 2**31, 2**32 - 1, 7]
                with np.errstate(over="ignore"):
                    array.ravel()[rng.integers(array.size)] = np.array(odd).astype(array.dtype)[rng.integers(4)]
            case 1:
                array = array[: len(array) // 2]
            case 2:
                with np.errstate(invalid="ignore"):
                    array = array.astype(rng.choice(["<i8", "<f8", "|u1", "<u4"]))
            case _:
                classes = [[], ["0"], ["0", "0", "1"], None, [[1], 2, 3], ["0", "1", "2", "3"]]
                header["state"]["held"]["boosting"] = {"classes": classes[rng.integers(6)]}
        arrays = [*arrays[:at], array, *arrays[at + 1 :]]
        try:
            odd_model = from_bytes(pack(header, arrays))
        except bk.BayesError:
            refused += 1
        else:
            assert np.isfinite(odd_model.predict_proba(X[:50])).all()
    assert refused > 60

"""Explanations and importance of BayesClassifier: the order of columns does not matter."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import RFE, SelectFromModel

import bayeskit as bk
from bayeskit.explain.evidence import average_increments, column_orders
from bayeskit.models import from_bytes, to_bytes

SMALL = {"n_members": 2, "n_chains": 3, "n_trees": 4, "n_threads": 1}


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 6)), columns=list("fbdace"))
    X["sky"] = rng.choice(["sun", "rain"], n)
    return X, np.where(X.a + X.b * X.c + (X.sky == "sun") > 0, "yes", "no")


@pytest.mark.parametrize("n_columns", [3, 7])
def test_explanations_do_not_depend_on_the_order_of_columns(n_columns):
    X, y = table()
    X = X[["b", "sky", "a", "c", "d", "e", "f"][:n_columns]]
    there, back = (
        bk.BayesClassifier(**SMALL).fit(X[names], y).explain(X[names][:5]) for names in (X.columns, X.columns[::-1])
    )
    for one, other in zip(there, back, strict=True):
        assert one.log_odds == other.log_odds
        odds = {part.column: part.log_odds for part in one.contributions}
        assert odds == {part.column: part.log_odds for part in other.contributions}
        assert one.prior_log_odds + sum(odds.values()) == pytest.approx(one.log_odds, abs=1e-12)


def test_an_explanation_says_how_many_orders_were_averaged():
    X, y = table()
    model = bk.BayesClassifier(**SMALL).fit(X, y)
    why = model.explain(X[:1])[0]
    assert why.n_orders == 8
    assert "averaged over 8 orders of the columns" in str(why)
    assert bk.NaiveBayes().fit(X, y).explain(X[:1])[0].n_orders == 1
    assert "orders" not in str(bk.NaiveBayes().fit(X, y).explain(X[:1])[0])


def test_few_columns_are_averaged_over_all_orders():
    worth = {frozenset("a"): 1.0, frozenset("b"): 2.0, frozenset("ab"): 7.0}
    found = average_increments(np.zeros((1, 1)), lambda known: np.array([[worth[known]]]), ["b", "a"])
    assert {name: float(part[0, 0]) for name, part in found.items()} == {"b": 4.0, "a": 3.0}  # Shapley values
    assert len(column_orders("abcd")) == 24


def test_drawn_orders_come_in_reversed_pairs():
    names = [f"x{i}" for i in range(12)]
    orders = column_orders(names)
    assert len(orders) == 8
    assert all(orders[i] == orders[i + 1][::-1] for i in range(0, 8, 2))
    assert orders == column_orders(names[::-1])
    assert len(column_orders([f"x{i}" for i in range(500)])) == 2


def test_importance_is_sorted_and_has_a_chart():
    X, y = table()
    model = bk.BayesClassifier(fast=True, n_trees=10).fit(X, y)
    rises = model.importance_["importance"]
    assert rises == sorted(rises, reverse=True)
    assert sorted(model.importance_["column"]) == sorted(X.columns)
    pytest.importorskip("altair")
    assert "a" in str(model.importance_.chart().to_dict())
    again = from_bytes(to_bytes(model))
    assert str(again.importance_) == str(model.importance_)
    np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)


@pytest.mark.parametrize("seed", [0, 2, 3, 4])
def test_importance_finds_the_columns_that_tell_the_class(seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(600, 40)), columns=[f"x{i:02d}" for i in range(40)])
    y = rng.random(600) < 1 / (1 + np.exp(-1.5 * X.x10 - X.x20 - 0.7 * X.x30))
    model = bk.BayesClassifier(fast=True, n_trees=20).fit(X, y)
    assert model.importance_["column"][:3] == ["x10", "x20", "x30"]


def test_feature_importances_are_shares_in_the_order_of_the_columns():
    X, y = table()
    model = bk.BayesClassifier(fast=True, n_trees=10, roles={"b": "ignore"}).fit(X, y)
    shares = dict(zip(X.columns, model.feature_importances_, strict=True))
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["b"] == 0
    assert max(shares, key=shares.get) == model.importance_["column"][0]
    with pytest.raises(AttributeError, match="not fitted"):
        _ = bk.BayesClassifier().feature_importances_


def test_scikit_learn_selects_columns_by_importance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 5))
    y = X[:, 3] > 0
    model = bk.BayesClassifier(fast=True, n_trees=10)
    assert SelectFromModel(model).fit(X, y).get_support().tolist() == [False, False, False, True, False]
    assert RFE(model, n_features_to_select=1).fit(X, y).ranking_[3] == 1

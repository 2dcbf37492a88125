"""Decisions: expected loss, Chow's rule, top-k, ranking, capacity, costs by name."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import bayeskit as bk
from bayeskit.decisions import Costs, decide, rank
from bayeskit.errors import BayesError

MAIL = {"ham": {"spam": 10}, "spam": {"ham": 1}}


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 4), st.integers(2, 4), st.integers(0, 10_000))
def test_no_decision_has_a_smaller_expected_loss(n_classes, n_decisions, seed):
    rng = np.random.default_rng(seed)
    p, costs = rng.dirichlet(np.ones(n_classes), 20), rng.random((n_classes, n_decisions))
    given_ = {c: {f"d{a}": costs[c, a] for a in range(n_decisions)} for c in range(n_classes)}
    said = decide(p, given_)
    by_hand = np.array(
        [[sum(p[i, c] * costs[c, a] for c in range(n_classes)) for a in range(n_decisions)] for i in range(20)]
    )
    np.testing.assert_allclose(said.losses, by_hand)
    np.testing.assert_allclose(said.expected_loss, by_hand.min(axis=1))
    assert said.labels.tolist() == [f"d{a}" for a in by_hand.argmin(axis=1)]


def test_without_costs_the_most_probable_class_is_decided():
    p = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    said = decide(p, classes=["a", "b", "c"])
    assert said.labels.tolist() == [["a", "b", "c"][i] for i in p.argmax(axis=1)]
    np.testing.assert_allclose(said.expected_loss, 1 - p.max(axis=1))


def test_chows_rule_rejects_where_the_best_decision_costs_more_than_asking():
    p = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    said = decide(p, reject_cost=0.3)
    assert (said.rejected == (p.max(axis=1) < 0.7)).all()
    assert [label is None for label in said.labels] == said.rejected.tolist()
    assert said.total_loss < decide(p).total_loss
    assert not decide(p, reject_cost=1).rejected.any()


def test_top_k_are_the_k_most_probable_in_order():
    p = np.random.default_rng(0).dirichlet(np.ones(4), 20)
    np.testing.assert_array_equal(decide(p, top_k=2).top, np.argsort(-p, axis=1)[:, :2])


def test_capacity_goes_to_the_rows_that_gain_most_and_no_other_choice_is_better():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(2), 7)
    costs = np.array([[0.0, 1.0], [5.0, 0.5]])
    for capacity in (0, 2, 5, 7):
        said = decide(p, costs, capacity=capacity)
        losses = p @ costs
        choices = (set(c) for k in range(capacity + 1) for c in combinations(range(7), k))
        best = min(sum(losses[i, int(i in acted)] for i in range(7)) for acted in choices)
        assert said.total_loss == pytest.approx(best)
        assert said.acted.sum() <= capacity


def test_capacity_with_several_decisions_needs_the_action_named():
    p = np.random.default_rng(0).dirichlet(np.ones(3), 9)
    with pytest.raises(bk.BayesError, match="action"):
        decide(p, capacity=2)
    said = decide(p, capacity=2, action=0)
    assert (said.labels == 0).sum() == said.acted.sum() <= 2


def test_ranking_puts_the_most_probable_first():
    p = np.array([[0.4, 0.6], [0.1, 0.9], [0.8, 0.2]])
    assert rank(p, "spam", classes=["ham", "spam"])["row"] == [1, 0, 2]


def test_costs_are_matched_by_name_whatever_their_order(tmp_path):
    file = tmp_path / "costs.csv"
    file.write_text("class,spam,ham\nspam,0,1\nham,10,0\n")
    p = [[0.2, 0.8], [0.05, 0.95]]
    by_file = decide(p, bk.read_costs(file), classes=["ham", "spam"])
    by_name = decide(p, MAIL, classes=["ham", "spam"])
    assert by_file.labels.tolist() == by_name.labels.tolist() == ["ham", "spam"]
    np.testing.assert_allclose(by_file.expected_loss, by_name.expected_loss)
    file.write_text("class,0,1\n0,0,10\n1,1,0\n")
    assert decide(p, bk.read_costs(file), classes=[0, 1]).labels.tolist() == [0, 1]


BAD_FILES = ["", "class\n", "class,a\nx,1,2\n", "class,a\nx,one\n", "class,a\nx,1\nx,2\n", "class,a\nx,inf\n"]


def test_costs_that_are_not_told_are_one_for_a_mistake(tmp_path):
    labels = ["ham", "news", "spam"]
    whole = [[0, 1, 10], [1, 0, 1], [1, 1, 0.5]]
    assert Costs.of({"ham": {"spam": 10}, "spam": {"spam": 0.5}}, labels).matrix.tolist() == whole
    file = tmp_path / "costs.csv"
    file.write_text("class,spam,ham,news\nham,10,,\nspam,0.5,1, \n")
    of_file = Costs.of(bk.read_costs(file), labels)
    assert of_file.decisions == ("spam", "ham", "news")
    assert of_file.matrix[:, [1, 2, 0]].tolist() == whole
    with pytest.raises(BayesError, match="do not say what deciding 'ask' costs for class 'news'"):
        Costs.of({"ham": {"ask": 1}, "spam": {"ask": 1}}, labels)


@pytest.mark.parametrize("text", BAD_FILES)
def test_a_file_that_holds_no_costs_is_refused(tmp_path, text):
    file = tmp_path / "costs.csv"
    file.write_text(text)
    with pytest.raises(bk.BayesError):
        bk.read_costs(file)


@pytest.mark.parametrize(
    ("posterior", "settings", "words"),
    [
        ([[0.5, 0.6]], {}, "row 0 of the posterior sums to 1.1"),
        ([[0.5, 0.5], [1.5, -0.5]], {}, "row 1"),
        ([[np.nan, 1.0]], {}, "row 0"),
        ([["a", "b"]], {}, "no numbers"),
        ([[0.5, 0.5]], {"costs": [[0, 1]]}, r"shape \(1, 2\)"),
        ([[0.5, 0.5]], {"costs": {"x": {0: 1}}}, "not classes"),
        ([[0.5, 0.5]], {"costs": {0: {"wait": 1}}}, "do not say"),
        ([[0.5, 0.5]], {"costs": [[0, np.inf], [1, 0]]}, "infinite"),
        ([[0.5, 0.5]], {"reject_cost": -1}, "reject_cost"),
        ([[0.5, 0.5]], {"top_k": 3}, "top_k"),
        ([[0.5, 0.5]], {"capacity": -1}, "capacity"),
        ([[0.5, 0.5]], {"capacity": 1, "action": "wait"}, "no decision 'wait'"),
        ([[0.5, 0.5]], {"classes": ["a"]}, "shape"),
    ],
)
def test_input_that_means_nothing_is_refused(posterior, settings, words):
    with pytest.raises(bk.BayesError, match=words):
        decide(posterior, **settings)


def test_probabilities_within_a_thousandth_are_normalized_and_that_is_said():
    with pytest.warns(bk.BayesWarning, match="normalized"):
        assert decide({"a": 0.5004, "b": 0.4999}).labels.tolist() == ["a"]


def test_a_cost_sensitive_classifier_costs_less_than_a_plain_one():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    X = rng.normal(size=(4000, 2)) + y[:, None]
    costs = np.array([[0.0, 1.0], [8.0, 0.0]])
    plain = LogisticRegression().fit(X[:2000], y[:2000])
    careful = bk.CostSensitive(LogisticRegression(), costs).fit(X[:2000], y[:2000])
    paid = [costs[y[2000:], m.predict(X[2000:])].mean() for m in (plain, careful)]
    assert paid[1] < 0.7 * paid[0]
    np.testing.assert_allclose(careful.predict_proba(X), plain.predict_proba(X))
    assert careful.decide(X[2000:], capacity=10).acted.sum() == 10


def test_a_cost_sensitive_classifier_abstains_with_its_own_word():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = bk.CostSensitive(bk.NaiveBayes(), reject_cost=0.05, reject_label="ask").fit(X, names)
    said = model.predict(X)
    assert 0 < (said == "ask").sum() < 40
    assert (said[said != "ask"] == names[said != "ask"]).mean() > 0.97
    with pytest.raises(bk.BayesError, match="not classes"):
        bk.CostSensitive(costs={"rose": {"setosa": 1}}).fit(X, names)

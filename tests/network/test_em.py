"""Tables and hidden nodes learned from incomplete rows."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit import BayesError, BayesianNetwork
from bayeskit.errors import TooLarge
from bayeskit.network.em import expected_counts, fit_tables
from tests.network.conftest import random_network


def brute_force(network, codes, weights):
    """Return expected counts of families and the log-likelihood by listing all states."""
    cards = [len(network.states[node]) for node in network.nodes]
    index = {node: v for v, node in enumerate(network.nodes)}
    families = [[index[p] for p in network.parents[node]] + [v] for v, node in enumerate(network.nodes)]
    counts = [np.zeros([cards[v] for v in family]) for family in families]
    total = 0.0
    for row, weight in zip(codes, weights, strict=True):
        worlds = [
            w
            for w in itertools.product(*map(range, cards))
            if all(r < 0 or r == s for r, s in zip(row, w, strict=True))
        ]
        joint = [
            np.prod([network.array(network.nodes[f[-1]])[tuple(w[v] for v in f)] for f in families]) for w in worlds
        ]
        total += weight * np.log(sum(joint))
        for world, p in zip(worlds, joint, strict=True):
            for count, family in zip(counts, families, strict=True):
                count[tuple(world[v] for v in family)] += weight * p / sum(joint)
    return [c.reshape(-1, c.shape[-1]) for c in counts], total


@given(seed=st.integers(0, 10**6))
def test_expected_counts_equal_those_by_enumeration(seed):
    network = random_network(seed, 5, zeros=0.0)
    rng = np.random.default_rng(seed)
    cards = np.array([len(network.states[node]) for node in network.nodes])
    codes = np.where(rng.random((6, 5)) < 0.5, -1, rng.integers(0, 100, (6, 5)) % cards)
    weights = rng.integers(1, 4, 6).astype(float)
    ours, likelihood = expected_counts(network, codes, weights)
    theirs, expected = brute_force(network, codes, weights)
    assert likelihood == pytest.approx(expected, abs=1e-9)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


@given(seed=st.integers(0, 10**6), n_hidden=st.integers(0, 2))
def test_the_likelihood_never_falls(seed, n_hidden):
    rng = np.random.default_rng(seed)
    data = {name: [str(v) if rng.random() < 0.8 else None for v in rng.integers(0, 3, 60)] for name in "abc"}
    data = {name: [*cells, "0", "1", "2"] for name, cells in data.items()}
    edges = [("a", "b"), ("b", "c")] + ([("h", "a"), ("h", "c")] if n_hidden else [])
    network = fit_tables(
        edges, data, hidden={"h": n_hidden + 1} if n_hidden else None, random_state=seed, max_rounds=30
    )
    path = network.em_.log_likelihoods
    assert all(b >= a - 1e-9 * abs(a) for a, b in itertools.pairwise(path))


def test_two_nodes_have_the_analytic_answer():
    rows = {"a": ["1"] * 6 + ["0"] * 4 + [None] * 10, "b": ["1"] * 4 + ["0"] * 2 + ["1"] + ["0"] * 3 + ["1"] * 10}
    network = fit_tables([("b", "a")], rows, tol=1e-14, max_rounds=500)
    assert network.query("P(b = 1)") == pytest.approx(15 / 20)  # b is always observed
    assert network.query("P(a = 1 | b = 1)") == pytest.approx(4 / 5)  # missing children say nothing of the table
    turned = fit_tables([("a", "b")], rows, tol=1e-14, max_rounds=2000)
    assert turned.query("P(a = 1 | b = 1)") == pytest.approx(4 / 5, abs=1e-4)


def test_complete_rows_give_the_counted_tables():
    rows = {"a": ["x", "x", "y", "y"], "b": ["u", "v", "v", "v"]}
    network = fit_tables([("a", "b")], rows)
    counted = BayesianNetwork.from_data([("a", "b")], rows, smoothing=0)
    assert network.query("P(b = v | a = x)") == pytest.approx(counted.query("P(b = v | a = x)"))
    assert network.em_.converged


def test_a_hidden_cause_explains_dependent_columns():
    rng = np.random.default_rng(0)
    cause = rng.random(2000) < 0.4
    data = {n: np.where(rng.random(2000) < 0.85, cause, ~cause) for n in "abc"}
    network = fit_tables([("h", "a"), ("h", "b"), ("h", "c")], data, hidden={"h": 2}, n_starts=3)
    shares = sorted(network.posterior()["h"].values())
    assert shares[0] == pytest.approx(0.4, abs=0.06)
    agree = network.predict(data, "h") == cause
    assert max(agree.mean(), 1 - agree.mean()) > 0.85


def test_hidden_nodes_must_be_new_and_have_states():
    rows = {"a": ["x", "y"]}
    with pytest.raises(BayesError, match="'a', which is a column"):
        fit_tables([], rows, hidden={"a": 2})
    for states in (0, -1, 10**9, 2.5, None, [], ["p", "p"]):
        with pytest.raises(BayesError, match=r"hidden=.'h': .*give a number of states from 1 to 1,000"):
            fit_tables([("h", "a")], rows, hidden={"h": states})
    with pytest.raises(BayesError, match="hidden='h': give the states of each hidden node"):
        fit_tables([("h", "a")], rows, hidden="h")


def test_tables_beyond_the_memory_limit_are_refused():
    edges = [(f"h{i}", "a") for i in range(4)]
    with pytest.raises(TooLarge, match=r"given its 4 parents .* has 2,000,000,000,000 numbers"):
        fit_tables(edges, {"a": ["x", "y"]}, hidden={f"h{i}": 1000 for i in range(4)})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_starts": -1}, "n_starts=-1: give a whole number from 0"),
        ({"max_rounds": 0}, "max_rounds=0: give a whole number from 1"),
        ({"tol": -0.1}, "tol=-0.1: give a number of at least 0"),
        ({"pseudo_count": float("nan")}, "pseudo_count=nan: give a number of at least 0"),
        ({"random_state": -1}, "random_state=-1"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(BayesError, match=message):
        fit_tables([], {"a": ["x", "y", None]}, **settings)

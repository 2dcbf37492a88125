"""Networks by hand: what is accepted, what is refused and with which words, what is shown, what is refused for size."""

import time

import numpy as np
import pytest
from hypothesis import given

import bayeskit as bk
from bayeskit.errors import BayesError, BayesWarning, QueryError, SchemaMismatch, TooLarge, UnknownValue

from .conftest import networks, random_network

RAIN = {"rain": {"y": 0.2, "n": 0.8}, "wet": {"y": {"y": 0.9, "n": 0.1}, "n": {"y": 0.1, "n": 0.9}}}


def rain(**changes):
    return bk.BayesianNetwork([("rain", "wet")], RAIN | changes)


def test_tables_may_be_mappings_numbers_or_arrays():
    as_arrays = bk.BayesianNetwork(
        [("rain", "wet")],
        {"rain": [[0.2, 0.8]], "wet": np.array([[0.9, 0.1], [0.1, 0.9]])},
        states={"rain": ["y", "n"], "wet": ["y", "n"]},
    )
    assert as_arrays == rain()
    assert bk.BayesianNetwork([], {"a": 0.25}) == bk.BayesianNetwork([], {"a": {True: 0.25, False: 0.75}})
    lists = {"wet": {"y": [0.9, 0.1], "n": [0.1, 0.9]}}
    assert bk.BayesianNetwork([("rain", "wet")], RAIN | lists, states={"wet": ["y", "n"]}) == rain()
    assert rain().array("wet").tolist() == [[0.9, 0.1], [0.1, 0.9]]


@pytest.mark.parametrize(
    ("edges", "changes", "error", "what"),
    [
        ([("rain", "wet"), ("wet", "rain")], {}, BayesError, r"in a circle: (rain → wet → rain|wet → rain → wet)"),
        ([("rain", "rain")], {}, BayesError, "in a circle: rain → rain"),
        ([("rian", "wet")], {}, SchemaMismatch, "'rian', which has no table: did you mean rain"),
        ([("rain", "wet")] * 2, {}, BayesError, "appears twice"),
        (["rainwet"], {}, BayesError, "an edge is"),
        ([("rain", "wet")], {"rain": {"y": 0.2, "n": 0.7}}, BayesError, "table of 'rain' sums to 0.9, not to one"),
        (
            [("rain", "wet")],
            {"wet": RAIN["wet"] | {"n": {"y": 0.5, "n": 0.6}}},
            BayesError,
            "'wet' given rain = n sums to 1.1",
        ),
        ([("rain", "wet")], {"wet": {"y": {"y": 0.9, "n": 0.1}}}, BayesError, "says nothing for rain = n"),
        ([("rain", "wet")], {"wet": RAIN["wet"] | {"yes": {"y": 1}}}, UnknownValue, "'rain' has no state 'yes'.*'wet'"),
        ([("rain", "wet")], {"wet": {("y", "n"): {"y": 1}}}, BayesError, "one state of each of rain"),
        ([("rain", "wet")], {"wet": 0.5}, BayesError, "one number, but it has parents"),
        ([("rain", "wet")], {"rain": {"y": -0.5, "n": 1.5}}, BayesError, "finite and not negative"),
        ([("rain", "wet")], {"rain": {"y": float("nan"), "n": 1}}, BayesError, "finite and not negative"),
        ([("rain", "wet")], {"rain": {"y": "half", "n": 1}}, BayesError, "not a number"),
        ([("rain", "wet")], {"rain": {}}, BayesError, "names no states"),
        ([("rain", "wet")], {"rain": [0.5, 0.5]}, BayesError, "names no states"),
        ([("rain", "wet")], {"rain": None}, BayesError, "names no states"),
        ([("rain", "wet")], {"rain": {None: 1.0}}, BayesError, "missing is none"),
    ],
)
def test_a_bad_network_is_refused_with_its_place(edges, changes, error, what):
    with pytest.raises(error, match=what):
        bk.BayesianNetwork(edges, RAIN | changes)


def test_nothing_is_no_network():
    with pytest.raises(BayesError, match="at least one node"):
        bk.BayesianNetwork([], {})


def test_a_table_that_nearly_sums_to_one_is_normalized_and_said():
    with pytest.warns(BayesWarning, match=r"one row .* normalized; the farthest off, 'rain' sums to 0\.9995"):
        n = rain(rain={"y": 0.2, "n": 0.7995})
    assert sum(n.posterior()["rain"].values()) == pytest.approx(1, abs=1e-15)


def test_unknown_names_in_evidence_are_refused_with_the_nearest():
    n = rain()
    with pytest.raises(SchemaMismatch, match="no node 'wte': did you mean wet"):
        n.posterior({"wte": "y"})
    with pytest.raises(UnknownValue, match="'wet' has no state 'x'"):
        n.posterior({"wet": "x"})
    with pytest.raises(UnknownValue, match="column 'wet' has in row 1 a value that is not a state"):
        n.posterior({"wet": ["y", "x"]})
    with pytest.raises(SchemaMismatch, match="no node 'wte'"):
        n.posterior({"wte": ["y"]})
    with pytest.raises(BayesError, match="not negative"):
        n.posterior({"wet": {"y": -1}})
    with pytest.raises(SchemaMismatch, match="no node"):
        n.predict_proba({"wet": ["y"]}, "snow")
    with pytest.raises(QueryError, match="no column 'snow'"):
        n.query("P(snow = y)")


def test_a_missing_finding_says_nothing():
    n = rain()
    assert n.posterior({"wet": None, "rain": float("nan")}) == n.posterior()
    assert n.predict_proba({"wet": ["y", None]}, "rain")[1].tolist() == pytest.approx([0.2, 0.8])
    assert n.predict_proba({"else": [1, 2]}, "rain").tolist() == pytest.approx(np.array([[0.2, 0.8]] * 2))
    assert n.predict({"wet": ["y", "n"]}, "rain").tolist() == ["y", "n"]


def test_views_show_the_factors_the_tables_and_the_graph():
    n = rain()
    assert "P(rain) P(wet | rain)" in str(n)
    assert repr(n) == "<BayesianNetwork of 2 nodes, 1 edges, 3 parameters>"
    table = n.table("wet")
    assert table.column_names == ["rain", "P(wet = y | rain)", "P(wet = n | rain)"]
    assert table["rain"] == ["y", "n"]
    assert n.to_dot() == 'digraph {\n  "rain";\n  "wet";\n  "rain" -> "wet";\n}'
    odd = bk.BayesianNetwork([], {'a "b"\\': 0.5})
    assert odd.to_dot().splitlines()[1] == '  "a \\"b\\"\\\\";'


@given(networks(6))
def test_the_joint_distribution_of_a_network_is_the_product_of_its_tables(n):
    joint = bk.JointDistribution.from_network(n)
    row, p = joint.argmax()
    product = 1.0
    for node in n.nodes:
        at = [n.states[name].index(row[name]) for name in (*n.parents[node], node)]
        product *= n.array(node)[tuple(at)]
    assert p == pytest.approx(product, rel=1e-12)
    assert sum(joint.table()["probability"]) == pytest.approx(1, abs=1e-12)


def grid(k):
    """k × k booleans, each with its neighbors above and to the left as parents: no small tree exists."""
    names = [f"{i}.{j}" for i in range(k) for j in range(k)]
    edges = [(f"{i}.{j}", f"{i + 1}.{j}") for i in range(k - 1) for j in range(k)]
    edges += [(f"{i}.{j}", f"{i}.{j + 1}") for i in range(k) for j in range(k - 1)]
    n_parents = {name: sum(child == name for _, child in edges) for name in names}
    tables = {name: np.full((2,) * (n_parents[name] + 1), 0.5) for name in names}
    return bk.BayesianNetwork(edges, tables, states=dict.fromkeys(names, (0, 1)))


def test_a_tree_that_would_need_a_hundred_gigabytes_is_refused_at_once_with_the_figure():
    n = grid(20)
    assert n.cost().bytes > 100e9
    start = time.process_time()
    with pytest.raises(TooLarge, match=r"would take \d+ (GB|TB), more than the 4\.29 GB allowed"):
        n.posterior({"0.0": 1})
    assert time.process_time() - start < 10  # tens of milliseconds on a quiet machine
    assert n.query('P("1.1" = 1 | "0.0" = 0)') == pytest.approx(0.5)  # what the question needs is small


def test_the_limit_can_be_set():
    n = grid(6)
    cost = n.cost()
    n.memory_limit = cost.bytes - 1
    with pytest.raises(TooLarge, match="nothing was started"):
        n.posterior()
    n.memory_limit = cost.bytes
    assert n.posterior()["0.0"] == {0: 0.5, 1: 0.5}
    assert str(cost).endswith("in all")
    small = grid(6)
    small.memory_limit = 100
    with pytest.raises(TooLarge, match="the tables of this question would take"):
        small.query('P("5.5" = 1)')


def test_a_node_with_too_many_parents_is_refused():
    names = [f"n{i}" for i in range(40)]
    with pytest.raises(BayesError, match="40 parents"):
        bk.BayesianNetwork([(n, "x") for n in names], dict.fromkeys(names, 0.5) | {"x": {(True,) * 40: 0.5}})


def test_nodes_of_one_state_are_certain():
    n = bk.BayesianNetwork([("one", "two")], {"one": {"only": 1.0}, "two": {"only": {"a": 0.3, "b": 0.7}}})
    assert n.posterior({"two": "a"})["one"] == {"only": 1.0}
    assert n.posterior({"one": "only"}, nodes=["two", "one"]) == {"two": {"a": 0.3, "b": 0.7}, "one": {"only": 1.0}}
    assert n.log_evidence({"one": {"only": 0.5}, "two": "a"}) == pytest.approx(np.log(0.15))
    assert n.n_parameters_ == 1


def test_parts_without_connection_are_one_network():
    n = bk.BayesianNetwork([], {"a": 0.25, "b": 0.5, "c": 0.75})
    assert n.posterior({"a": True})["c"][True] == 0.75
    assert n.log_evidence({"a": True, "b": False}) == pytest.approx(np.log(0.125))
    assert n.d_separated("a", "b")


def test_a_query_uses_only_the_ancestors_of_what_it_names():
    """Barren nodes are pruned: a table that would be too large below the question does no harm."""
    n = grid(14)
    n.memory_limit = 100_000
    assert n.query('P("2.2" = 0)') == pytest.approx(0.5)
    with pytest.raises(TooLarge):
        n.query('P("13.13" = 0)')


def test_states_of_several_types_are_drawn_and_shown():
    n = bk.BayesianNetwork(
        [("a", "b")], {"a": {1: 0.5, "x": 0.5}, "b": {1: {True: 0.1, 2: 0.9}, "x": {True: 0.2, 2: 0.8}}}
    )
    assert set(n.sample(50, random_state=0)["a"]) == {"1", "x"}
    assert n.table("b")["a"] == ["1", "x"]
    assert n.posterior({"a": "x"})["b"] == pytest.approx({True: 0.2, 2: 0.8})
    assert bk.JointDistribution.from_network(n).sample(3, random_state=0)["a"]


def test_the_same_network_is_equal_and_another_is_not():
    assert random_network(5, 4) == random_network(5, 4)
    assert random_network(5, 4) != random_network(6, 4)

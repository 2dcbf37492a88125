"""Interventions, equivalence classes and conversion of graphs."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit import BayesError, BayesianNetwork, learn_network, structural_distance
from bayeskit.network.equivalence import adjacency, class_of
from tests.network.conftest import random_network
from tests.network.test_structure import all_graphs, random_table

DRUG = BayesianNetwork(
    [("age", "drug"), ("age", "well"), ("drug", "well")],
    {
        "age": 0.5,
        "drug": {True: 0.2, False: 0.7},
        "well": {(True, True): 0.6, (True, False): 0.3, (False, True): 0.9, (False, False): 0.8},
    },
)


def test_an_intervention_is_the_truncated_product():
    treated = DRUG.do(drug=True)
    assert treated.query("P(well)") == pytest.approx(0.5 * 0.6 + 0.5 * 0.9)
    assert DRUG.query("P(well | drug)") != pytest.approx(treated.query("P(well)"))
    assert treated.query("P(age)") == 0.5


@given(seed=st.integers(0, 10**6))
def test_adjusting_for_a_backdoor_set_gives_the_effect_of_the_intervention(seed):
    network = random_network(seed, 5, zeros=0.0)
    cause, effect = network.nodes[0], network.nodes[-1]
    for z in network.adjustment_sets(cause, effect):
        value = network.states[cause][0]
        expected = network.do({cause: value}).posterior()[effect]
        adjusted = dict.fromkeys(network.states[effect], 0.0)
        for states in itertools.product(*(network.states[n] for n in z)):
            findings = dict(zip(z, states, strict=True))
            weight = np.exp(network.log_evidence(findings))
            for state, p in network.posterior({**findings, cause: value}, [effect])[effect].items():
                adjusted[state] += weight * p
        assert adjusted == pytest.approx(expected, abs=1e-9)


def test_backdoor_sets_leave_out_descendants_and_colliders():
    assert DRUG.adjustment_sets("drug", "well") == [("age",)]
    assert DRUG.adjustment_sets("age", "well") == [()]
    assert DRUG.adjustment_sets("well", "drug") == []


def test_bad_interventions_are_refused():
    with pytest.raises(BayesError, match="sets no node"):
        DRUG.do()
    with pytest.raises(BayesError, match="no node 'dug'"):
        DRUG.do(dug=True)


def test_classes_are_those_with_the_same_independences():
    names = list("abcd")
    graphs = list(all_graphs(names))
    classes = {}
    for edges in graphs:
        classes.setdefault(class_of(adjacency(names, edges)).tobytes(), []).append(edges)
    assert (len(graphs), len(classes)) == (543, 185)  # published numbers of DAGs and classes of four nodes
    for members in classes.values():
        in_all = np.all([adjacency(names, edges) for edges in members], axis=0)
        partial = class_of(adjacency(names, members[0]))
        np.testing.assert_array_equal(partial & ~partial.T, in_all)


def test_distances_count_edges_of_the_classes():
    assert structural_distance(DRUG, DRUG) == 0
    fewer = BayesianNetwork([("age", "drug")], {"age": 0.5, "drug": {True: 0.2, False: 0.7}, "well": 0.5})
    assert structural_distance(DRUG, fewer) == 2
    assert structural_distance(DRUG, fewer.cpdag(), skeleton=True) == 2


def test_a_structure_that_fits_gains_nothing():
    data = random_table(4, 5, 400)
    network = learn_network(data)
    assert network.structure_gain(data) == pytest.approx(0.0, abs=1e-9)
    empty = BayesianNetwork.from_data([], data)
    assert empty.structure_gain(data) > 0.01


def test_networkx_and_back_is_the_same_network():
    pytest.importorskip("networkx")
    again = BayesianNetwork.from_networkx(DRUG.to_networkx())
    assert again == DRUG
    graph = DRUG.to_networkx()
    del graph.nodes["age"]["table"]
    with pytest.raises(BayesError, match="has no states"):
        BayesianNetwork.from_networkx(graph)


def test_arcs_learned_with_missing_cells_by_em():
    rng = np.random.default_rng(0)
    a = rng.random(1500) < 0.4
    b = a ^ (rng.random(1500) < 0.1)
    c = b ^ (rng.random(1500) < 0.1)
    data = {
        n: [None if rng.random() < 0.15 else str(v) for v in cells] for n, cells in {"a": a, "b": b, "c": c}.items()
    }
    network = learn_network(data, missing="em")
    assert sorted(map(sorted, network.edges)) == [["a", "b"], ["b", "c"]]
    assert network.em_.converged

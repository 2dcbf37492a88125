"""Every answer against listing all combinations of states, on random networks."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.errors import QueryError
from bayeskit.network import junction_tree
from bayeskit.network.junction_tree import JunctionTree

from .conftest import Brute, as_likelihoods, findings, networks, random_network, seeds

NEAR = {"rtol": 1e-12, "atol": 1e-12}


@pytest.mark.slow
@given(networks(), seeds, st.integers(0, 4))
def test_posteriors_equal_enumeration(n, seed, how_many):
    found = findings(np.random.default_rng(seed), n, how_many)
    brute = Brute(n)
    joint = brute.with_findings(as_likelihoods(n, found))
    if joint.sum() == 0:
        with pytest.raises(QueryError, match="probability 0"):
            n.posterior(found)
        with pytest.raises(QueryError, match="probability 0"):
            n.posterior(found, nodes=n.nodes[:1])
        assert n.log_evidence(found) == -np.inf
        return
    by_elimination = {node: n.posterior(found, nodes=[node])[node] for node in n.nodes}
    assert "tree" not in vars(n)
    by_tree = n.posterior(found)
    assert "tree" in vars(n)
    for node in n.nodes:
        expected = brute.marginal(joint, node) / joint.sum()
        np.testing.assert_allclose(list(by_tree[node].values()), expected, **NEAR)
        np.testing.assert_allclose(list(by_elimination[node].values()), expected, **NEAR)
    assert n.log_evidence(found) == pytest.approx(np.log(joint.sum()), rel=1e-12, abs=1e-12)


@settings.get_profile("few")
@given(seeds)
def test_posteriors_equal_enumeration_on_twelve_nodes(seed):
    n = random_network(seed, 12)
    found = findings(np.random.default_rng(seed), n, 3)
    brute = Brute(n)
    joint = brute.with_findings(as_likelihoods(n, found))
    assume(joint.sum() > 0)
    for node, p in n.posterior(found).items():
        np.testing.assert_allclose(list(p.values()), brute.marginal(joint, node) / joint.sum(), **NEAR)


@pytest.mark.slow
@given(networks(6), seeds)
def test_rows_of_evidence_give_what_each_gives_alone(n, seed):
    rng = np.random.default_rng(seed)
    drawn = n.sample(17, random_state=seed)
    columns = rng.choice(list(n.nodes), min(3, len(n.nodes)), replace=False).tolist()
    rows = {c: [None if rng.random() < 0.3 else v for v in drawn[c]] for c in columns}
    together = n.posterior(rows, n_threads=1)
    threaded = n.posterior(rows, n_threads=3)
    log_evidence = n.log_evidence(rows)
    for i in range(17):
        one = {c: rows[c][i] for c in columns}
        for node, p in n.posterior(one).items():
            np.testing.assert_allclose(together[node][i], list(p.values()), **NEAR)
            np.testing.assert_array_equal(together[node][i], threaded[node][i])
        assert log_evidence[i] == pytest.approx(n.log_evidence(one), rel=1e-12, abs=1e-12)


@given(networks(6), seeds)
def test_soft_rows_give_what_each_gives_alone(n, seed):
    rng = np.random.default_rng(seed)
    records = [dict(findings(rng, n, 2)) for _ in range(3)]
    brute = Brute(n)
    joints = [brute.with_findings(as_likelihoods(n, list(r.items()))) for r in records]
    assume(all(j.sum() > 0 for j in joints) and any(isinstance(f, dict) for r in records for f in r.values()))
    together = n.posterior(records)
    for i, joint in enumerate(joints):
        for node in n.nodes:
            np.testing.assert_allclose(together[node][i], brute.marginal(joint, node) / joint.sum(), **NEAR)


@given(networks(), seeds, st.integers(0, 3))
def test_the_most_probable_explanation_is_the_largest_cell(n, seed, how_many):
    found = findings(np.random.default_rng(seed), n, how_many)
    joint = Brute(n).with_findings(as_likelihoods(n, found))
    assume(joint.sum() > 0)
    states, log_probability = n.most_probable(found)
    cell = tuple(n.states[node].index(states[node]) for node in n.nodes)
    assert joint[cell] == pytest.approx(joint.max(), rel=1e-12)
    assert log_probability == pytest.approx(np.log(joint.max()), rel=1e-12, abs=1e-12)


@given(networks(6), seeds)
def test_numbers_that_underflow_are_taken_in_logarithms(n, seed):
    rng = np.random.default_rng(seed)
    brute = Brute(n)
    node = n.nodes[0]
    size = len(n.states[node])
    faint = dict(zip(n.states[node], (10.0 ** rng.uniform(-300, -250, size)).tolist(), strict=True))
    strong = dict(zip(n.states[node], [1 / p for p in faint.values()], strict=True))
    found = [(other, n.most_probable().states[other]) for other in n.nodes[1:3]]
    expected = brute.with_findings(as_likelihoods(n, found))
    for nodes in (None, list(n.nodes)):
        fresh = bk.BayesianNetwork.of_arrays(n.parents, n.states, dict(zip(n.nodes, n._tables, strict=True)))
        p = fresh.posterior([(node, faint), *found, (node, strong)], nodes=nodes)
        for other in n.nodes:
            np.testing.assert_allclose(
                list(p[other].values()), brute.marginal(expected, other) / expected.sum(), rtol=1e-9, atol=1e-12
            )


@given(networks(6), seeds)
def test_the_logarithmic_path_says_the_same(n, seed):
    found = findings(np.random.default_rng(seed), n, 2)
    likelihoods = as_likelihoods(n, found)
    brute = Brute(n)
    joint = brute.with_findings(likelihoods)
    assume(joint.sum() > 0)
    tree: JunctionTree = n.tree
    tables, log_evidence = tree._in_logs({n.nodes.index(node): p for node, p in likelihoods.items()})
    assert log_evidence == pytest.approx(np.log(joint.sum()), rel=1e-11, abs=1e-11)
    for v, node in enumerate(n.nodes):
        p = tree._marginal(tables[tree.homes[v]], tree.homes[v], v)
        np.testing.assert_allclose(p, brute.marginal(joint, node) / joint.sum(), rtol=1e-11, atol=1e-12)


def test_two_thousand_findings_for_and_two_thousand_against_cancel():
    flips = [f"flip{i}" for i in range(400)]
    towards = {True: {"h": 1e-6, "t": 1 - 1e-6}, False: {"h": 1 - 1e-6, "t": 1e-6}}
    n = bk.BayesianNetwork([("coin", f) for f in flips], {"coin": 0.25} | dict.fromkeys(flips, towards))
    evidence = {f: "h" if i % 2 else "t" for i, f in enumerate(flips)}
    assert n.posterior(evidence)["coin"][True] == pytest.approx(0.25, rel=1e-9)
    assert n.posterior(evidence, nodes=["coin"])["coin"][True] == pytest.approx(0.25, rel=1e-9)
    assert n.log_evidence(evidence) == pytest.approx(200 * np.log(1e-6) + 200 * np.log1p(-1e-6), rel=1e-12)
    assert n.query("P(coin | " + ", ".join(f"{f} = {v}" for f, v in evidence.items()) + ")") == pytest.approx(0.25)


@given(networks(7), seeds)
def test_d_separation_means_independence_in_every_table(n, seed):
    rng = np.random.default_rng(seed)
    assume(len(n.nodes) >= 2)
    a, b = rng.choice(list(n.nodes), 2, replace=False).tolist()
    given_ = [c for c in n.nodes if c not in (a, b) and rng.random() < 0.4]
    if n.d_separated(a, b, given_):
        joint = bk.JointDistribution.from_network(n)
        assert joint.mutual_information(a, b, given_) < 1e-12


@given(networks(7))
def test_given_its_blanket_a_node_knows_nothing_of_the_rest(n):
    node = n.nodes[0]
    blanket = n.markov_blanket(node)
    for other in n.nodes:
        if other != node and other not in blanket:
            assert n.d_separated(node, other, blanket)


def test_d_separation_finds_colliders_and_their_descendants():
    n = bk.BayesianNetwork(
        [("a", "c"), ("b", "c"), ("c", "d")],
        {"a": 0.5, "b": 0.5, "c": dict.fromkeys([(x, y) for x in (1, 0) for y in (1, 0)], 0.5), "d": {1: 0.5, 0: 0.5}},
    )
    assert n.d_separated("a", "b")
    assert not n.d_separated("a", "b", ["c"])
    assert not n.d_separated("a", "b", ["d"])
    assert n.d_separated("a", "d", "c")
    assert n.markov_blanket("a") == ["b", "c"]


def test_contradictions_name_the_fewest_findings_that_cannot_hold_together():
    n = bk.BayesianNetwork(
        [("rain", "wet"), ("hose", "wet")],
        {
            "rain": 0.2, "hose": 0.1, "cat": 0.5,
            "wet": {(True, True): 1.0, (True, False): 1.0, (False, True): 1.0, (False, False): 0.0},
        },
    )  # fmt: skip
    evidence = {"cat": True, "rain": False, "hose": False, "wet": True}
    for ask in (n.posterior, n.most_probable, lambda e: n.sample(3, e), lambda e: n.posterior(e, nodes=["cat"])):
        with pytest.raises(
            QueryError, match="rain = False and hose = False and wet = True cannot hold together"
        ) as said:
            ask(evidence)
        assert "cat" not in str(said.value)
    with pytest.raises(QueryError, match=r"row 1: .*rain = False and hose = False and wet = True"):
        n.posterior({"rain": [True, False], "hose": [False, False], "wet": [True, True]})
    with pytest.raises(QueryError, match="rain = True and rain = False"):
        n.posterior([("rain", True), ("rain", False)])
    with pytest.raises(QueryError, match="is impossible"):
        n.posterior({"rain": {True: 0, False: 0}})
    assert n.posterior([("rain", True), ("rain", True)])["rain"] == {True: 1.0, False: 0.0}


def test_samples_given_evidence_follow_the_posterior():
    n = random_network(3, 6, zeros=0.1)
    found = {n.nodes[0]: n.most_probable().states[n.nodes[0]]}
    for evidence in (None, found):
        drawn = n.sample(20_000, evidence, random_state=0)
        for node, p in n.posterior(evidence).items():
            for state, expected in p.items():
                share = np.mean([value == state for value in drawn[node]])
                assert abs(share - expected) < 0.02
    assert n.sample(5, random_state=1).to_pandas().equals(n.sample(5, random_state=1).to_pandas())


@given(networks(7), seeds)
def test_predictions_need_no_column_and_pass_over_others(n, seed):
    rows = n.sample(5, random_state=seed).to_pandas()
    target = n.nodes[0]
    some = rows[[c for c in rows if c != n.nodes[-1]]].assign(unrelated=1)
    p = n.predict_proba(some, target)
    for i, row in enumerate(some.to_dict("records")):
        evidence = {k: v for k, v in row.items() if k in n.nodes and k != target}
        np.testing.assert_allclose(p[i], list(n.posterior(evidence)[target].values()), **NEAR)
    assert n.predict(some, target).tolist() == [n.states[target][k] for k in p.argmax(axis=1)]


@given(networks(9))
def test_cliques_cover_every_family_and_hang_together(n):
    cliques = junction_tree.find_cliques(n._graph, n._cards, n.memory_limit)
    for v, parents in enumerate(n._graph.parents):
        family = sum(1 << u for u in (v, *parents))
        assert any(family & ~members == 0 for members in cliques.members)
        holding = [i for i, members in enumerate(cliques.members) if members >> v & 1]
        tops = [i for i in holding if i == 0 or not cliques.members[cliques.parents[i]] >> v & 1]
        assert len(tops) == 1  # connected: only one of them has a parent without v
    assert all(p < i for i, p in enumerate(cliques.parents))
    for i, a in enumerate(cliques.members):
        assert not any(a & ~b == 0 for j, b in enumerate(cliques.members) if i != j)

"""Arcs learned from data: scores, searches, constraints and tests of independence."""

import signal
import threading
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from bayeskit import (
    BayesError,
    BayesianNetwork,
    BayesWarning,
    learn_network,
    pc,
    read_bif,
    structural_distance,
    structure_score,
)
from bayeskit.estimate.family_scores import SCORES, family_score
from bayeskit.network.graph import DirectedGraph


def random_table(seed, n_nodes, n_rows, most_values=3):
    """Return columns in which each depends on some of those before it."""
    rng = np.random.default_rng(seed)
    columns = []
    for _ in range(n_nodes):
        size = int(rng.integers(2, most_values + 1))
        cells = rng.integers(0, size, n_rows)
        for parent in columns:
            if rng.random() < 0.5:
                cells = np.where(rng.random(n_rows) < 0.5, parent % size, cells)
        columns.append(cells)
    return {f"x{i}": [f"v{c}" for c in cells] for i, cells in enumerate(columns)}


def direct_score(data, edges, score, size=1.0):
    """Return the score by its definition, counting with dictionaries."""
    names, n = list(data), len(next(iter(data.values())))
    total = 0.0
    for child in names:
        parents = [a for a, b in edges if b == child]
        states = sorted(set(data[child]))
        contexts = list(product(*(sorted(set(data[p])) for p in parents)))
        q, r = len(contexts), len(states)
        counts = {(c, s): 0 for c in contexts for s in states}
        for row in range(n):
            counts[tuple(data[p][row] for p in parents), data[child][row]] += 1
        for context in contexts:
            cells = [counts[context, s] for s in states]
            if score in ("bdeu", "k2"):
                a = size / (q * r) if score == "bdeu" else 1.0
                total += gammaln(a * r) - gammaln(a * r + sum(cells)) + sum(gammaln(a + k) - gammaln(a) for k in cells)
            else:
                total += sum(k * np.log(k / sum(cells)) for k in cells if k)
        total -= {"bic": 0.5 * np.log(n), "aic": 1.0}.get(score, 0.0) * q * (r - 1)
    return total


def all_graphs(names):
    """Yield the edges of every acyclic graph of some nodes."""
    pairs = list(combinations(range(len(names)), 2))
    for ways in product((None, 0, 1), repeat=len(pairs)):
        arcs = [pair[::-1] if way else pair for pair, way in zip(pairs, ways, strict=True) if way is not None]
        parents = [[a for a, b in arcs if b == v] for v in range(len(names))]
        if not DirectedGraph(parents).cycle():
            yield [(names[a], names[b]) for a, b in arcs]


@pytest.mark.parametrize("score", SCORES)
@given(seed=st.integers(0, 10**6), n_rows=st.integers(1, 300))
def test_scores_of_searches_follow_the_definition(score, seed, n_rows):
    data = random_table(seed, 5, n_rows)
    net = learn_network(data, score=score, search="tabu", max_parents=2)
    assert net.search_.value == pytest.approx(direct_score(data, net.edges, score), abs=1e-8)
    assert structure_score(net, data, score).score == pytest.approx(net.search_.value, abs=1e-8)


def test_counts_by_bitmaps_tables_and_sorting_agree():
    rng = np.random.default_rng(0)
    data = {f"x{i}": [f"v{c}" for c in rng.integers(0, size, 400)] for i, size in enumerate((3, 70, 130, 200))}
    edges = [("x0", "x1"), ("x2", "x3"), ("x1", "x3")]  # x3 has 70 · 130 · 200 cells
    net = learn_network(data, start=edges, required=edges, search="hill_climb")
    assert set(edges) <= set(net.edges)
    assert net.search_.value == pytest.approx(structure_score(net, data).score, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("n_nodes", [4, 5])
def test_exact_search_finds_the_best_of_all_graphs(n_nodes):
    data = random_table(n_nodes, n_nodes, 60)
    rows = {name: np.unique(cells, return_inverse=True)[1] for name, cells in data.items()}
    sizes = {name: int(codes.max()) + 1 for name, codes in rows.items()}

    def score(edges):
        total = 0.0
        for child in rows:
            names = [a for a, b in edges if b == child] + [child]
            shape = [sizes[name] for name in names]
            counts = np.bincount(np.ravel_multi_index([rows[name] for name in names], shape), minlength=np.prod(shape))
            total += family_score(counts.reshape(-1, shape[-1]), "bdeu")
        return total

    best = max(map(score, all_graphs(list(data))))
    assert learn_network(data, search="exact", max_parents=4).search_.value == pytest.approx(best, abs=1e-9)


@given(seed=st.integers(0, 10**6))
def test_order_search_is_between_tabu_and_exact(seed):
    data = random_table(seed, 7, 200)
    tabu, order, exact = (
        learn_network(data, search=s, random_state=seed).search_.value for s in ("tabu", "order", "exact")
    )
    assert tabu <= order + 1e-6
    assert order <= exact + 1e-6


def test_the_same_seed_gives_the_same_network():
    data = random_table(3, 8, 150)
    assert learn_network(data, random_state=4).edges == learn_network(data, random_state=4).edges


@given(seed=st.integers(0, 10**6), search=st.sampled_from(["order", "tabu", "hill_climb", "exact"]))
def test_constraints_hold(seed, search):
    data = random_table(seed, 6, 120)
    required, forbidden = [("x4", "x1")], [("x0", "x2"), ("x2", "x0")]
    tiers = [["x4", "x5"], ["x0", "x3"]]
    net = learn_network(data, search=search, required=required, forbidden=forbidden, tiers=tiers, max_parents=2)
    assert set(required) <= set(net.edges)
    assert not set(forbidden) & set(net.edges)
    assert not any(a in tiers[1] and b in tiers[0] for a, b in net.edges)
    assert all(len(parents) <= 2 for parents in net.parents.values())


def test_a_start_is_never_made_worse():
    data = random_table(8, 6, 200)
    start = learn_network(data, search="exact")
    again = learn_network(data, search="hill_climb", start=start)
    assert again.search_.value == pytest.approx(start.search_.value)


def test_samples_of_a_network_give_its_posteriors_back():
    alarm = BayesianNetwork(
        [("burglary", "alarm"), ("earthquake", "alarm"), ("alarm", "john"), ("alarm", "mary")],
        {
            "burglary": 0.1,
            "earthquake": 0.2,
            "alarm": {(True, True): 0.95, (True, False): 0.94, (False, True): 0.29, (False, False): 0.01},
            "john": {True: 0.9, False: 0.05},
            "mary": {True: 0.7, False: 0.01},
        },
    )
    learned = learn_network(alarm.sample(20_000, random_state=0))
    assert structural_distance(alarm, learned) == 0
    for query in ("P(burglary | john and mary)", "P(earthquake | alarm)", "P(burglary | alarm and earthquake)"):
        assert learned.query(query) == pytest.approx(alarm.query(query), abs=0.03)


def test_a_tree_has_the_largest_mutual_information():
    data = random_table(5, 5, 200)
    net = learn_network(data, search="tree")
    assert len(net.edges) == 4
    assert all(len(parents) <= 1 for parents in net.parents.values())
    fit = structure_score(net, data, "log_likelihood").score
    trees = [g for g in all_graphs(list(data)) if len(g) == 4 and len({b for _, b in g}) == 4]
    some = np.random.default_rng(0).choice(len(trees), 40, replace=False)
    assert all(structure_score(trees[i], data, "log_likelihood").score <= fit + 1e-9 for i in some)


def test_tan_has_the_target_above_every_column():
    data = random_table(5, 5, 200)
    net = learn_network(data, search="tan", target="x2")
    assert all("x2" in net.parents[name] for name in data if name != "x2")
    assert not net.parents["x2"]


def test_pc_finds_a_collider_and_leaves_a_chain_undirected():
    rng = np.random.default_rng(1)
    a, b = rng.random((2, 3000)) < 0.5
    noise = rng.random(3000) < 0.1
    found = pc({"a": a, "b": b, "c": (a | b) ^ noise})
    assert sorted(found.arcs) == [("a", "c"), ("b", "c")]
    middle = a ^ noise
    found = pc({"a": a, "m": middle, "z": middle ^ (rng.random(3000) < 0.2)})
    assert not found.arcs
    assert sorted(found.edges) == [("a", "m"), ("m", "z")]


def test_pc_on_samples_of_a_network_recovers_its_class(networks_folder):
    asia = read_bif(networks_folder / "asia.bif")
    found = pc(asia.sample(50_000, random_state=0), alpha=0.001)
    assert structural_distance(asia, found, skeleton=True) <= 2  # asia → tub is too rare, either is deterministic


def test_numbers_are_cut_into_intervals():
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    net = learn_network({"x": x, "y": x + rng.normal(size=500) / 4, "z": rng.normal(size=500)})
    assert [set(edge) for edge in net.edges] == [{"x", "y"}]
    assert len(net.states["x"]) == 5
    assert max(net.posterior({"x": 2.0})["y"].values()) > 0.7


@pytest.mark.parametrize("search", ["tabu", "order", "exact"])
@pytest.mark.parametrize("score", ["bdeu", "bic"])
def test_the_first_of_equal_columns_is_the_parent_of_what_depends_on_them(search, score):
    rng = np.random.default_rng(3)
    state = rng.integers(0, 3, 2000)
    below = {f"child{i}": np.where(rng.random(2000) < 0.8, state, rng.integers(0, 3, 2000)) for i in range(4)}
    for first, second in (("state", "code"), ("code", "state")):
        rows = {first: state, **below, second: (state + 1) % 3}
        for seed in range(3):
            net = learn_network(rows, search=search, score=score, roles="categorical", random_state=seed)
            assert {frozenset(edge) for edge in net.edges} == {frozenset((first, name)) for name in (*below, second)}
            assert (first, second) in net.edges
            assert structure_score(net, rows, score, roles="categorical").score == pytest.approx(net.search_.value)
    tiers = [["code"], ["state"]]
    assert ("code", "state") in learn_network(rows, search=search, roles="categorical", tiers=tiers).edges


def test_incomplete_rows_are_counted_in_a_warning():
    data = random_table(0, 3, 50)
    data["x0"][7] = None
    with pytest.warns(BayesWarning, match="1 of 50 rows have a missing cell"):
        learn_network(data)


def test_constant_columns_and_few_rows_are_answered():
    data = {**random_table(0, 6, 3), "same": ["v"] * 3}
    net = learn_network(data)
    assert not any("same" in edge for edge in net.edges)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"score": "bde"}, "score='bde' is not one of 'bdeu'"),
        ({"search": "ordr"}, "did you mean order"),
        ({"max_parents": 9}, "max_parents=9: give a whole number from 0 to 7"),
        ({"required": [("x0", "x9")]}, "'x9', which is not a column"),
        ({"required": [("x0", "x1"), ("x1", "x0")]}, "run in a circle"),
        ({"required": [("x0", "x1")], "forbidden": [("x0", "x1")]}, "required, and forbidden by forbidden="),
        ({"required": [("x1", "x0")], "tiers": [["x0"], ["x1"]]}, "required, and forbidden by tiers="),
        ({"required": [3]}, r"required=3: an arc is \(parent, child\)"),
        ({"tiers": 3}, "tiers=3: give groups of columns"),
        ({"tiers": [["x0"], ["x0"]]}, "twice, in tier 1 and in tier 2"),
        ({"start": [("x0", "x1"), ("x1", "x0")]}, "run in a circle"),
        ({"target": "x0"}, 'a target goes with search="tan"'),
        ({"equivalent_sample_size": 0}, "give a number above 0"),
        ({"required": [("x0", "x2"), ("x1", "x2")], "max_parents": 1}, "has 2 required parents"),
        ({"roles": {"x0": "text"}}, "holds text"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(BayesError, match=message):
        learn_network(random_table(0, 3, 20), **settings)


def test_columns_that_make_no_node_are_refused():
    data = random_table(0, 2, 1001)
    with pytest.raises(BayesError, match=r"'id' has 1,001 values.*roles"):
        learn_network({**data, "id": [f"n{i}" for i in range(1001)]})
    with pytest.raises(BayesError, match="'empty' has no value"):
        learn_network({**data, "empty": [None] * 1001})
    with pytest.raises(BayesError, match="at most 22 columns"):
        learn_network(random_table(0, 23, 10), search="exact")


def test_an_interrupted_search_returns_the_best_network_so_far():
    def interrupt(*_):
        raise KeyboardInterrupt

    data = wide_table()
    net = learn_network(data, progress=interrupt, n_restarts=10**6)
    assert not net.search_.finished
    assert net.search_.value == pytest.approx(structure_score(net, data).score)


def wide_table():
    rng = np.random.default_rng(0)
    return {f"x{i}": rng.integers(0, 3, 3000).astype(str) for i in range(60)}


def test_ctrl_c_returns_the_best_network_so_far():
    """The signal arrives while the kernel runs, so that Python raises its exception before any line of ours."""
    timers = []

    def press_later(*_):
        if not timers:
            timers.append(threading.Timer(0.02, signal.raise_signal, [signal.SIGINT]))
            timers[0].start()

    data = wide_table()
    net = learn_network(data, progress=press_later, n_restarts=10**6)
    assert not net.search_.finished
    assert net.search_.value == pytest.approx(structure_score(net, data).score)


@pytest.mark.slow
def test_progress_never_falls():
    done = []
    rng = np.random.default_rng(0)
    data = {"x0": rng.integers(0, 4, 10_000)}
    for i in range(1, 150):
        data[f"x{i}"] = np.where(rng.random(10_000) < 0.6, data[f"x{i - 1 - int(rng.integers(0, min(i, 5)))}"], i % 4)
    learn_network(data, roles="categorical", max_parents=5, progress=lambda stage, at, of: done.append(at / of))
    assert min(done) < 0.2
    assert max(done) > 0.3
    assert done == sorted(done)


def test_a_description_length_is_bits_for_data_and_model():
    data = random_table(0, 4, 100)
    scored = structure_score([("x0", "x1")], data, "bic")
    assert (scored.bits_for_data + scored.bits_for_model) * np.log(2) == pytest.approx(-scored.score)

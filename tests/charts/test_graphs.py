"""Graphs lie in layers without overlaps, carry the bits of their arcs, and say the tables of their nodes."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit import datasets
from bayeskit.charts.graphs import GAP, layered
from bayeskit.explain.structure import Arc, Node, StructureDescription, StructureGraph
from bayeskit.tables import Table
from tests.charts.drawn import check, head_of, rows_of

ALARM = [("C", "W"), ("C", "B"), ("S", "B"), ("B", "A")]
TABLES = {
    "C": 0.8, "S": 0.02, "W": {True: 0.9, False: 0.01}, "A": {True: 0.7, False: 0.1},
    "B": {(True, True): 0.9, (True, False): 0.2, (False, True): 0.9, (False, False): 0.01},
}  # fmt: skip


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 14))
    widths = draw(st.lists(st.floats(20, 150), min_size=n, max_size=n))
    pairs = list(combinations(range(n), 2))
    return widths, draw(st.lists(st.sampled_from(pairs), unique=True, max_size=24)) if pairs else []


@given(graphs())
def test_arcs_lead_down_and_no_two_nodes_overlap(graph):
    widths, arcs = graph
    plan = layered(widths, arcs)
    assert all(plan.layer[start] < plan.layer[end] for start, end in arcs)
    for a, b in combinations(range(len(widths)), 2):
        if plan.layer[a] == plan.layer[b]:
            assert abs(plan.x[a] - plan.x[b]) >= (widths[a] + widths[b]) / 2 + GAP - 1e-6
    assert all(x - w / 2 + 1e-6 >= 0 and x + w / 2 <= plan.width + 1e-6 for x, w in zip(plan.x, widths, strict=True))
    for (start, end), way in zip(arcs, plan.ways, strict=True):
        assert [level for _, level in way] == list(range(plan.layer[start], plan.layer[end] + 1))


def test_a_tree_is_drawn_without_crossings():
    arcs = [(0, 3), (0, 1), (1, 6), (3, 2), (3, 4), (1, 5)]
    plan = layered([30] * 7, arcs)
    lines = [(plan.layer[a], plan.x[a], plan.x[b]) for a, b in arcs]
    for (level, ax, bx), (other, cx, dx) in combinations(lines, 2):
        assert level != other or (ax - cx) * (bx - dx) >= 0


def test_a_star_of_many_children_stands_in_rows_and_no_arc_runs_through_a_node():
    widths, arcs = [60.0] + [90.0] * 60, [(0, child) for child in range(1, 61)]
    plan = layered(widths, arcs)
    assert plan.width < 1200
    assert 4 <= plan.n_layers <= 10
    for way in plan.ways:
        for x, level in way[1:-1]:
            beside = [v for v in range(1, 61) if plan.layer[v] == level]
            assert all(abs(plan.x[v] - x) > widths[v] / 2 for v in beside)
    few = layered([60.0] * 6, [(0, child) for child in range(1, 6)])
    assert few.n_layers == 2


RNG = np.random.default_rng(0)
WIDE_GRAPHS = {
    "sixty parents of one child": [(i, 60) for i in range(60)],
    "sixty pairs": [(i, i + 60) for i in range(60)],
    "thirty parents and thirty children": sorted({(int(a), 30 + int(b)) for a, b in RNG.integers(0, 30, (70, 2))}),
    "parents of eight children each": [((i - 1) // 8, i) for i in range(1, 61)],
    "leaves of parents of their own": [(0, i) for i in range(1, 31)] + [(i, i + 30) for i in range(1, 31)],
}


@pytest.mark.parametrize("kind", WIDE_GRAPHS)
def test_wide_layers_stand_in_rows_whoever_their_parents_are(kind):
    arcs = WIDE_GRAPHS[kind]
    widths = [90.0] * (max(max(arc) for arc in arcs) + 1)
    plan = layered(widths, arcs)
    assert plan.width < 1300
    assert all(plan.layer[start] < plan.layer[end] for start, end in arcs)
    for way in plan.ways:
        for x, level in way[1:-1]:
            beside = [v for v in range(len(widths)) if plan.layer[v] == level]
            assert all(abs(plan.x[v] - x) > widths[v] / 2 for v in beside)


def test_nodes_with_more_children_than_parents_stand_right_above_them():
    plan = layered([30] * 6, [(0, 1), (1, 2), (2, 3), (4, 3), (5, 2)])
    assert plan.layer == [0, 1, 2, 3, 2, 1]


@pytest.mark.slow
def test_a_star_of_sixty_children_fits_a_page(tmp_path):
    children = [f"symptom {i}" for i in range(60)]
    tables = {"illness": 0.1} | {child: {True: 0.5 + i / 200, False: 0.1} for i, child in enumerate(children)}
    chart = check(bk.BayesianNetwork([("illness", child) for child in children], tables).chart(), tmp_path)
    assert chart.width < 1200


def test_the_bits_of_an_arc_are_its_information_given_the_other_parents():
    network = bk.BayesianNetwork(ALARM, TABLES)
    joint = bk.JointDistribution.from_network(network)
    table = network.describe_structure().table
    found = dict(zip(zip(table["parent"], table["child"], strict=True), table["bits"], strict=True))
    assert found["C", "W"] == pytest.approx(joint.mutual_information("C", "W") / np.log(2))
    assert found["S", "B"] == pytest.approx(joint.mutual_information("S", "B", given="C") / np.log(2))


@pytest.mark.slow
def test_a_network_is_drawn_with_its_tables(tmp_path):
    chart = check(bk.BayesianNetwork(ALARM, TABLES).chart(), tmp_path)
    rows = rows_of(chart)
    assert {row["short"] for row in rows if "short" in row} == set(TABLES)
    lines = [value for row in rows for key, value in row.items() if key.startswith("t") and value]
    assert any("True · True: True 0.9, False 0.1" in str(line) for line in lines)
    widths = {row["arc"]: row["w"] for row in rows if "arc" in row}
    assert widths["C → W"] == max(widths.values()) > min(widths.values())


@pytest.mark.slow
def test_tan_kdb_and_nbtree_are_drawn(tmp_path):
    birds = datasets.load_penguins()
    for model in (bk.TAN(roles={"year": "ignore"}), bk.KDB(k=2, roles={"year": "ignore"})):
        drawn = rows_of(check(model.fit(birds, "species").describe_structure().chart(), tmp_path))
        assert {row["short"] for row in drawn if "short" in row} == set(model.schema_.used)
        assert len({row["arc"] for row in drawn if "arc" in row}) == sum(map(len, model.parents_.values()))
    tree = bk.NBTree(roles={"year": "ignore"}).fit(birds, "species").describe_structure()
    drawn = rows_of(check(tree.chart(), tmp_path))
    assert sum(row.get("leaf", False) for row in drawn) == len(tree.table)


@pytest.mark.slow
def test_a_large_graph_is_cut_to_its_strongest_arcs(tmp_path):
    rng = np.random.default_rng(0)
    nodes = tuple(Node(f"a node with a long name {i}", ("a line " * 30,) * 20) for i in range(600))
    arcs = tuple(
        Arc(int(a), int(a + b), float(rng.random()))
        for a, b in rng.integers(1, 5, (590, 2)) + [[i, 0] for i in range(590)]
    )
    chart = check(StructureGraph("many", nodes, arcs).chart(), tmp_path)
    assert "of 600 nodes" in head_of(chart)


@pytest.mark.slow
@pytest.mark.parametrize(("n_nodes", "n_arcs"), [(120, 600), (60, 500), (30, 300)])
def test_a_dense_graph_is_cut_to_its_strongest_arcs(tmp_path, n_nodes, n_arcs):
    rng = np.random.default_rng(0)
    nodes = tuple(Node(f"a node with a long name {i}", ("a line " * 30,) * 20) for i in range(n_nodes))
    pairs = sorted({tuple(sorted(map(int, rng.choice(n_nodes, 2, replace=False)))) for _ in range(n_arcs)})
    chart = check(StructureGraph("many", nodes, tuple(Arc(*p, float(rng.random())) for p in pairs)).chart(), tmp_path)
    names = {row["arc"] for row in rows_of(chart) if "arc" in row}
    assert (f"of {len(pairs)} arcs" in head_of(chart)) == (n_nodes > 30)
    assert len(names) > 100


@pytest.mark.slow
def test_structures_that_are_lists_are_bars_or_maps(tmp_path):
    birds = datasets.load_penguins()
    logistic = bk.LogisticRegression(roles={"year": "ignore"}).fit(birds, "species")
    check(logistic.describe_structure().chart(), tmp_path)
    aode = bk.AODE(roles={"year": "ignore"}).fit(birds, "species")
    assert "->" not in head_of(check(aode.describe_structure().chart(), tmp_path))
    weights = bk.DiscriminativeWeights(bk.NaiveBayes(roles={"year": "ignore"})).fit(birds, "species")
    check(weights.describe_structure().chart(), tmp_path)


def test_what_has_nothing_to_show_is_refused():
    with pytest.raises(bk.BayesError, match="nothing to draw"):
        StructureGraph("none", (), ()).chart()
    with pytest.raises(bk.BayesError, match="nothing to draw"):
        StructureDescription("words alone", Table({"a": ["u", "v"]})).chart()

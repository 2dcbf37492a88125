"""Pages of Bayesian networks: posteriors of the browser equal to those of Python."""

import os
from pathlib import Path

import numpy as np
import pytest

import bayeskit as bk
from tests.network.conftest import random_network
from tests.report.test_pages import EVIL, TURNED, payload_of

ANSWERS = """([data, cases]) => {
    const tree = new bayeskitPage.JunctionTree(data.nodes, data.cliques);
    return cases.map((findings) => {
        const of = new Map(findings);
        return [tree.propagate(of), tree.mostProbable(of)];
    });
}"""
CASES = 200


def alarm():
    return bk.BayesianNetwork(
        [("burglary", "alarm"), ("earthquake", "alarm"), ("alarm", "john"), ("alarm", "mary")],
        {
            "burglary": 0.001, "earthquake": 0.002,
            "alarm": {(True, True): 0.95, (True, False): 0.94, (False, True): 0.29, (False, False): 0.001},
            "john": {True: 0.9, False: 0.05}, "mary": {True: 0.7, False: 0.01},
        },
    )  # fmt: skip


def random_findings(network, rng):
    """Return findings of a few nodes, some of them soft, as Python and as the page has them."""
    nodes = rng.choice(len(network.nodes), rng.integers(0, 1 + min(5, len(network.nodes))), replace=False)
    given, coded = {}, []
    for v in sorted(nodes.tolist()):
        states = network.states[network.nodes[v]]
        likelihood = rng.random(len(states)) if rng.random() < 0.4 else np.eye(len(states))[rng.integers(len(states))]
        given[network.nodes[v]] = dict(zip(states, likelihood.tolist(), strict=True))
        coded.append([v, likelihood.tolist()])
    return given, coded


def check(page, network, n):
    """Compare posteriors, evidence and most probable explanations of random findings."""
    rng = np.random.default_rng(0)
    cases = [random_findings(network, rng) for _ in range(n)]
    found = page.evaluate(ANSWERS, [payload_of(network.page()), [coded for _, coded in cases]])
    for (given, _), (answer, best) in zip(cases, found, strict=True):
        try:
            expected = network.posterior(given)
        except bk.BayesError:
            assert answer["posteriors"] is None
            assert best is None
            continue
        for states, shares in zip(expected.values(), answer["posteriors"], strict=True):
            np.testing.assert_allclose(shares, list(states.values()), rtol=0, atol=1e-12)
        assert answer["logEvidence"] == pytest.approx(network.log_evidence(given), rel=1e-12, abs=1e-12)
        explanation = network.most_probable(given)
        assert best["logProbability"] == pytest.approx(explanation.log_probability, rel=1e-12, abs=1e-12)
        whole = [(node, network.states[node][k]) for node, k in zip(network.nodes, best["states"], strict=True)]
        hard = [(node, {state: given[node][state]}) for node, state in whole if node in given]
        log_probability = network.log_evidence([*whole, *hard])
        assert log_probability == pytest.approx(explanation.log_probability, rel=1e-9, abs=1e-9)


@pytest.fixture
def page(opened, tmp_path):
    alarm().page(tmp_path / "page.html")
    return opened("page.html")[0]


@pytest.mark.slow
def test_the_browser_gives_the_posteriors_of_random_networks(page):
    for seed in range(20):
        check(page, random_network(seed, 2 + seed % 7), CASES // 20)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*normalized")
@pytest.mark.parametrize("name", ["alarm", "child", "insurance"])
def test_the_browser_gives_the_posteriors_of_published_networks(page, name):
    folder = os.environ.get("BAYESKIT_DATA")
    if not folder or not Path(folder, "networks").is_dir():
        pytest.skip("BAYESKIT_DATA names no folder with networks")
    check(page, bk.read_bif(Path(folder, "networks", f"{name}.bif")), 20)


@pytest.mark.slow
def test_a_click_observes_a_state_and_another_takes_it_back(page):
    card = page.get_by_role("region", name="john")
    card.get_by_role("button", name="True").click()
    page.get_by_role("region", name="mary").get_by_role("button", name="True").click()
    expected = alarm().posterior({"john": True, "mary": True})["burglary"]
    bars = page.get_by_role("region", name="burglary").locator(".figure")
    assert bars.all_inner_texts() == [f"{100 * p:.1f}%" for p in expected.values()]
    page.reload()
    assert bars.all_inner_texts() == [f"{100 * p:.1f}%" for p in expected.values()]
    page.get_by_role("button", name="Most probable explanation").click()
    best = alarm().most_probable({"john": True, "mary": True}).states
    marked = page.locator(".name", has_text="★").all_inner_texts()
    assert marked == [f"★ {state}" for state in best.values()]
    page.get_by_role("button", name="Clear all").click()
    assert bars.all_inner_texts() == ["0.1%", "99.9%"]


@pytest.mark.slow
def test_contradictory_findings_name_what_to_take_back(opened, tmp_path):
    network = bk.BayesianNetwork([("a", "b")], {"a": 0.5, "b": {True: 1.0, False: 0.0}})
    network.page(tmp_path / "page.html")
    page, _ = opened("page.html#a=True&b=False")
    alert = page.get_by_role("alert")
    assert "contradict" in alert.inner_text()
    alert.get_by_role("button", name="a", exact=True).click()
    assert page.get_by_role("alert").count() == 0
    shares = page.get_by_role("region", name="a", exact=True).locator(".figure").all_inner_texts()
    assert shares == ["0.0%", "100.0%"]


def test_a_network_with_a_large_junction_tree_has_a_page_without_a_form():
    states = {name: list(range(60)) for name in "abc"}
    uniform = np.full(60, 1 / 60)
    table = np.broadcast_to(uniform, (60, 60, 60))
    network = bk.BayesianNetwork([("a", "c"), ("b", "c")], {"a": uniform, "b": uniform, "c": table}, states)
    html = network.page().html
    assert "and a page computes up to" in html
    assert "<script" not in html


@pytest.mark.slow
def test_names_of_nodes_and_states_are_text(opened, tmp_path):
    states = {EVIL: [EVIL, TURNED], TURNED: ["__proto__", "b,c%"]}
    table = np.array([[0.9, 0.1], [0.2, 0.8]])
    network = bk.BayesianNetwork([(EVIL, TURNED)], {EVIL: np.array([0.3, 0.7]), TURNED: table}, states)
    network.page(tmp_path / "page.html")
    page, asked = opened("page.html")
    page.locator("button.bar").nth(3).click()
    page.reload()
    shown = page.locator(".nodes .figure").all_inner_texts()
    expected = network.posterior({TURNED: "b,c%"})
    assert shown == [f"{100 * p:.1f}%" for shares in expected.values() for p in shares.values()]
    assert page.title() == "BayesianNetwork: bayeskit"
    assert page.locator("main img, main script").count() == 0
    assert "\u202e" not in page.inner_text("main")
    assert asked == []

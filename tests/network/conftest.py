"""Random networks, and the answers to everything by listing every combination of states."""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from bayeskit import BayesianNetwork

DATA = os.environ.get("BAYESKIT_DATA")
NETWORKS = (
    "alarm",
    "andes",
    "asia",
    "cancer",
    "child",
    "earthquake",
    "hailfinder",
    "insurance",
    "pigs",
    "sachs",
    "survey",
)


@pytest.fixture
def networks_folder() -> Path:
    if not DATA or not Path(DATA, "networks").is_dir():
        pytest.skip("BAYESKIT_DATA names no folder with networks")
    return Path(DATA, "networks")


def random_network(seed: int, n_nodes: int, zeros: float = 0.2, most_parents: int = 3) -> BayesianNetwork:
    """Any graph, one to four states a node, and tables in which some probabilities are zero."""
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 5 if n_nodes <= 7 else 3, n_nodes)
    cards[rng.random(n_nodes) < 0.9] += cards[rng.random(n_nodes) < 0.9].size > n_nodes
    names = [f"n{i}" for i in rng.permutation(n_nodes)]
    edges, tables = [], {}
    for i, name in enumerate(names):
        parents = rng.choice(i, min(i, int(rng.integers(0, most_parents + 1))), replace=False)
        edges += [(names[p], name) for p in parents]
        p = rng.random((*cards[parents], cards[i])) + 0.01
        p[rng.random(p.shape) < zeros] = 0
        empty = p.sum(axis=-1) == 0
        p[empty, rng.integers(0, cards[i])] = 1
        tables[name] = p / p.sum(axis=-1, keepdims=True)
    order = rng.permutation(names).tolist()
    states = {name: [f"s{k}" for k in range(card)] for name, card in zip(names, cards, strict=True)}
    return BayesianNetwork(edges, {name: tables[name] for name in order}, states)


class Brute:
    """The joint distribution of a network as one array, an axis a node."""

    def __init__(self, n: BayesianNetwork) -> None:
        self.n = n
        shape = [len(n.states[node]) for node in n.nodes]
        self.joint = np.ones(shape)
        for cell in itertools.product(*map(range, shape)):
            at = dict(zip(n.nodes, cell, strict=True))
            for node in n.nodes:
                self.joint[cell] *= n.array(node)[(*(at[p] for p in n.parents[node]), at[node])]

    def with_findings(self, found: dict[str, np.ndarray]) -> np.ndarray:
        """P(all, findings) for a likelihood of each state of some nodes."""
        joint = self.joint.copy()
        for node, likelihood in found.items():
            shape = [1] * joint.ndim
            shape[self.n.nodes.index(node)] = -1
            joint = joint * likelihood.reshape(shape)
        return joint

    def marginal(self, joint: np.ndarray, node: str) -> np.ndarray:
        axis = self.n.nodes.index(node)
        return joint.sum(axis=tuple(i for i in range(joint.ndim) if i != axis))


seeds = st.integers(0, 2**32 - 1)


@st.composite
def networks(draw, largest: int = 8):
    return random_network(draw(seeds), draw(st.integers(1, largest)), draw(st.sampled_from([0.0, 0.2, 0.5])))


def findings(rng: np.random.Generator, n: BayesianNetwork, how_many: int) -> list[tuple[str, object]]:
    """Findings on any nodes, the same node perhaps twice: hard ones, soft ones."""
    chosen = rng.choice(list(n.nodes), how_many)
    found = []
    for node in chosen.tolist():
        states = n.states[node]
        if rng.random() < 0.5:
            found.append((node, states[rng.integers(0, len(states))]))
        else:
            likelihood = rng.random(len(states)) * (rng.random(len(states)) < 0.8) * 10.0 ** rng.integers(-3, 4)
            found.append((node, dict(zip(states, likelihood.tolist(), strict=True))))
    return found


def as_likelihoods(n: BayesianNetwork, found: list[tuple[str, object]]) -> dict[str, np.ndarray]:
    """The product of the findings on each node, written down independently."""
    product: dict[str, np.ndarray] = {}
    for node, finding in found:
        states = n.states[node]
        one = [finding.get(s, 0.0) if isinstance(finding, dict) else float(s == finding) for s in states]
        product[node] = product.get(node, np.ones(len(states))) * np.array(one)
    return product

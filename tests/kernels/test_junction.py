"""Posteriors of networks: the kernel of the junction tree against its reference."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bayeskit import kernels
from bayeskit.network.graph import DirectedGraph
from bayeskit.network.junction_tree import JunctionTree
from bayeskit.network.variable_elimination import Factorization

from . import reference
from .conftest import same, seeds, thread_counts


def random_tree(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    """The arrays of the junction tree of a random network of n variables."""
    graph = DirectedGraph([rng.choice(i, min(i, int(rng.integers(0, 3))), replace=False).tolist() for i in range(n)])
    cards = rng.integers(1, 5, n).tolist()
    tables = []
    for v in range(n):
        p = rng.random((int(np.prod([cards[u] for u in graph.parents[v]])), cards[v])) + 1e-3
        p[rng.random(p.shape) < 0.2] = 0
        p[p.sum(axis=1) == 0, 0] = 1
        tables.append(p / p.sum(axis=1, keepdims=True))
    t = JunctionTree(Factorization(graph, cards, tables))
    return t._cliques, t._potentials, t._floors, t._down, t._variables, t._states


@given(seeds, st.sampled_from([0, 1, 3, 4, 8, 9, 30]), st.integers(1, 9), thread_counts)
def test_propagated_posteriors_equal_their_reference(seed: int, rows: int, n: int, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n)
    cards = tree[4][:, 1]
    observed, queried = rng.integers(0, n, rng.integers(0, 4)), rng.permutation(n)[: rng.integers(0, n + 1)]
    found = rng.random((rows, int(cards[observed].sum())))
    found[rng.random(found.shape) < 0.3] = 0
    found *= 10.0 ** rng.choice([0, -150, 100], size=(rows, 1))
    ours = kernels.propagate(*tree, observed, found, queried, n_threads)
    theirs = reference.propagate(*tree, observed, found, queried, 1)
    possible = np.isfinite(theirs[1])
    np.testing.assert_array_equal(np.isfinite(ours[1]), possible)
    np.testing.assert_allclose(ours[1][possible], theirs[1][possible], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours[0][possible], theirs[0][possible], rtol=1e-12, atol=1e-14)
    assert np.isnan(ours[0][~possible]).all()
    same(ours, kernels.propagate(*tree, observed, found, queried, 1))
    for i in range(min(rows, 2)):  # the same bits for a row alone
        alone = kernels.propagate(*tree, observed, found[i : i + 1], queried, 1)
        same(alone, [part[i : i + 1] for part in ours])

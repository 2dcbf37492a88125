"""Equivalence classes of networks: what the data can and cannot tell about the direction of an arc.

Two graphs with the same adjacencies and the same colliders a → c ← b (a and b not adjacent) have the same
independences. The class is written as a CPDAG: an arc is directed if all graphs of the class agree on it.

Meek, "Causal inference and causal explanation with background knowledge", 1995. Tsamardinos, Brown and Aliferis, "The
max-min hill-climbing Bayesian network structure learning algorithm", 2006 (structural Hamming distance).

Formula: CPDAG, structural Hamming distance
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from bayeskit.errors import BayesError, SchemaMismatch
from bayeskit.typing import Bools

Edge = tuple[str, str]


class PartialGraph(NamedTuple):
    """A graph with directed arcs (parent, child) and undirected edges (a, b), a before b.

    Attributes
    ----------
    nodes : tuple of str
    arcs : list of (parent, child)
    edges : list of (a, b)

    Examples
    --------
    >>> print(PartialGraph(("a", "b", "c"), [("a", "b")], [("b", "c")]))
    a → b
    b — c
    """

    nodes: tuple[str, ...]
    arcs: list[Edge]
    edges: list[Edge]

    def __str__(self) -> str:
        lines = [f"{a} → {b}" for a, b in self.arcs] + [f"{a} — {b}" for a, b in self.edges]
        return "\n".join(lines) or "no arcs"


def adjacency(nodes: Sequence[str], edges: Iterable[Edge]) -> Bools:
    """Return the matrix of a directed graph, shape (n_nodes, n_nodes): [parent, child]."""
    at = {node: i for i, node in enumerate(nodes)}
    matrix = np.zeros((len(nodes), len(nodes)), dtype=bool)
    for a, b in edges:
        matrix[at[a], at[b]] = True
    return matrix


def orient(graph: Bools) -> Bools:
    """Direct further edges by Meek's first three rules; an edge that stands in both directions is undirected.

    Parameters
    ----------
    graph : ndarray of bool, shape (n_nodes, n_nodes)
        Changed in place and returned.
    """
    near = graph | graph.T
    changed = True
    while changed:
        changed = False
        for a, b in np.argwhere(graph & graph.T):
            if not (graph[a, b] and graph[b, a]):
                continue
            into_a, into_b = graph[:, a] & ~graph[a], graph[:, b] & ~graph[b]
            from_a, beside_a = graph[a] & ~graph[:, a], graph[a] & graph[:, a]
            if (
                (into_a & ~near[b]).any()  # c → a — b, and c and b are not adjacent: no new collider
                or (from_a & into_b).any()  # a → c → b: no cycle
                or any(not near[c, d] for c, d in combinations(np.flatnonzero(beside_a & into_b), 2))
            ):
                graph[b, a] = False
                changed = True
    return graph


def class_of(graph: Bools) -> Bools:
    """Return the CPDAG of a directed graph, shape (n_nodes, n_nodes); undirected edges stand in both directions.

    >>> chain, collider = np.zeros((3, 3), bool), np.zeros((3, 3), bool)
    >>> chain[0, 1] = chain[1, 2] = collider[0, 1] = collider[2, 1] = True
    >>> int(class_of(chain).sum()), int(class_of(collider).sum())          # two undirected edges; two arcs
    (4, 2)
    """
    near = graph | graph.T
    partial = near.copy()
    for child in range(len(graph)):
        for a, b in combinations(np.flatnonzero(graph[:, child]), 2):
            if not near[a, b]:
                partial[child, a] = partial[child, b] = False
    return orient(partial)


def partial_graph(nodes: Sequence[str], graph: Bools) -> PartialGraph:
    """Return a matrix in which undirected edges stand in both directions as names."""
    pairs = [(int(a), int(b)) for a, b in np.argwhere(graph)]
    arcs = [(nodes[a], nodes[b]) for a, b in pairs if not graph[b, a]]
    return PartialGraph(tuple(nodes), arcs, [(nodes[a], nodes[b]) for a, b in pairs if graph[b, a] and a < b])


def structural_distance(a: object, b: object, *, skeleton: bool = False) -> int:
    """Return the structural Hamming distance: how many edges differ between two equivalence classes.

    An edge that is missing, added, or directed in another way counts as one.

    Parameters
    ----------
    a, b : BayesianNetwork or PartialGraph
        With the same nodes; the order of the nodes does not matter.
    skeleton : bool, default=False
        Compare adjacencies alone, without directions.

    Returns
    -------
    int

    Examples
    --------
    >>> from bayeskit import BayesianNetwork
    >>> rain = {"rain": 0.3, "wet": {True: 0.9, False: 0.1}}
    >>> a = BayesianNetwork([("rain", "wet")], rain)
    >>> b = BayesianNetwork([("wet", "rain")], {"wet": 0.34, "rain": {True: 0.79, False: 0.05}})
    >>> structural_distance(a, b)                                 # both arrows fit the same data
    0
    """
    (names, left), (others, right) = _class(a), _class(b)
    if sorted(names) != sorted(others):
        odd = sorted(set(names) ^ set(others))
        raise SchemaMismatch(f"the two networks have different nodes: {', '.join(odd[:5])}")
    order = [others.index(name) for name in names]
    right = right[np.ix_(order, order)]
    if skeleton:
        left, right = left | left.T, right | right.T
    differs = left != right
    return int(np.triu(differs | differs.T).sum())


def _class(graph: object) -> tuple[tuple[str, ...], Bools]:
    """Return the nodes and the CPDAG of a network or partial graph."""
    if isinstance(graph, PartialGraph):
        return graph.nodes, adjacency(graph.nodes, graph.arcs) | (
            (undirected := adjacency(graph.nodes, graph.edges)) | undirected.T
        )
    nodes, edges = getattr(graph, "nodes", None), getattr(graph, "edges", None)
    if nodes is None or edges is None:
        raise BayesError(f"{graph!r} is not a network; give a BayesianNetwork or the result of its cpdag()")
    return tuple(nodes), class_of(adjacency(nodes, edges))

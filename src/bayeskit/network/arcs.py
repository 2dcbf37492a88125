"""A network as nodes and arcs: I(child; parent | the other parents) of each arc, and the table of each node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayeskit.data.table import Table
from bayeskit.errors import BayesError
from bayeskit.estimate.information import NATS_IN_A_BIT, conditional_information
from bayeskit.explain.structure import Arc, Node, StructureDescription, StructureGraph

if TYPE_CHECKING:
    from bayeskit.network.network import BayesianNetwork

LARGEST = 100_000  # cells of a family whose information is computed
MOST = 80  # nodes of a network whose arcs are weighed
LINES = 12  # of the table of a node


def describe_network(n: BayesianNetwork) -> StructureDescription:
    """The arcs of a network, the strongest first, and its graph."""
    bits = arc_bits(n) if len(n.nodes) <= MOST else {}
    edges = sorted(n.edges, key=lambda edge: -bits.get(edge, 0.0))
    columns = {"parent": [a for a, _ in edges], "child": [b for _, b in edges]}
    table = Table({**columns, "bits": [bits.get(edge) for edge in edges]} if bits else columns, keys=2)
    at = {node: i for i, node in enumerate(n.nodes)}
    arcs = tuple(Arc(at[a], at[b], bits.get((a, b))) for a, b in n.edges)
    nodes = tuple(Node(node, _lines(n, node)) for node in n.nodes)
    head = f"A network of {len(nodes):,} nodes: what each hangs on"
    return StructureDescription(head, table, (), StructureGraph(head, nodes, arcs))


def arc_bits(n: BayesianNetwork) -> dict[tuple[str, str], float]:
    """I(child; parent | the child's other parents) in bits of each arc, where its family is not too large."""
    bits = {}
    at = {node: i for i, node in enumerate(n.nodes)}
    for child in n.nodes:
        parents = n.parents[child]
        sizes = [len(n.states[name]) for name in (*parents, child)]
        if not parents or float(np.prod(sizes)) > LARGEST:
            continue
        try:
            table, _ = n.joint_table([at[name] for name in (*parents, child)], {})
        except BayesError:  # it would take more memory than the network may use
            continue
        joint = np.asarray(table).reshape(sizes)
        for i, parent in enumerate(parents):
            others = [k for k in range(len(parents)) if k != i]
            cells = joint.transpose(*others, i, len(parents)).reshape(-1, sizes[i], sizes[-1])
            bits[parent, child] = float(conditional_information(cells)[0]) / NATS_IN_A_BIT
    return bits


def _lines(n: BayesianNetwork, node: str) -> tuple[str, ...]:
    """The table of a node in words: a line for each context."""
    table = n.table(node)
    lines = []
    for context, shares in list(zip(table.contexts, table.shares, strict=True))[:LINES]:
        distribution = ", ".join(f"{value} {p:.3g}" for value, p in list(zip(table.values, shares, strict=True))[:4])
        lines.append(f"{context}: {distribution}" if n.parents[node] else distribution)
    more = len(table.contexts) - LINES
    return tuple([*lines[:-1], f"and {more + 1:,} more contexts"] if more > 0 else lines)

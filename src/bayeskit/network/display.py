"""A network to look at: text, tables, and Graphviz text that needs no Graphviz."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from bayeskit.data.probability_table import ProbabilityTable
from bayeskit.data.sheet import ROWS, Grid, Sheet, left_out

if TYPE_CHECKING:
    from bayeskit.network.network import BayesianNetwork


def sheet(n: BayesianNetwork) -> Sheet:
    """The factorisation, and the states and parents of each node."""
    first = n.nodes[:ROWS]
    factors = [f"P({node}{' | ' if n.parents[node] else ''}{', '.join(n.parents[node])})" for node in first]
    more = len(n.nodes) - len(first)
    columns = {
        "node": first,
        "states": [", ".join(map(str, n.states[node])) for node in first],
        "parents": [", ".join(n.parents[node]) for node in first],
    }
    return Sheet(repr(n)[1:-1], (" ".join(factors + left_out(more)), "", Grid(columns, more)))


def table(n: BayesianNetwork, node: str) -> ProbabilityTable:
    """P(node | parents), a row a context, a column a state; counts beside them where rows were counted."""
    parents = n.parents[node]
    contexts = list(itertools.product(*(n.states[p] for p in parents)))
    columns: dict[str, list[object]] = {p: [_plain(c[i]) for c in contexts] for i, p in enumerate(parents)}
    if n.tally_ is not None:
        columns["count"] = n.tally_.contexts(node).tolist()
    given = f" | {', '.join(parents)}" if parents else ""
    p = n.array(node).reshape(-1, len(n.states[node]))
    for i, state in enumerate(n.states[node]):
        columns[f"P({node} = {state}{given})"] = p[:, i].tolist()
    named = [" · ".join(map(str, context)) or "all" for context in contexts]
    heading = " · ".join(parents) or "nothing"
    return ProbabilityTable(
        columns, variable=node, values=n.states[node], given=heading, contexts=named, shares=np.asarray(p)
    )


def _plain(value: object) -> object:
    return str(value) if isinstance(value, bool) else value


def dot(n: BayesianNetwork) -> str:
    """The graph in the language of Graphviz."""
    lines = [f"  {_quoted(node)};" for node in n.nodes]
    lines += [f"  {_quoted(parent)} -> {_quoted(child)};" for parent, child in n.edges]
    return "\n".join(["digraph {", *lines, "}"])


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

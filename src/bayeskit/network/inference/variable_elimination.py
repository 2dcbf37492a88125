"""Variable elimination: one question, and only the part of the network that bears on it.

Variables that are no ancestors of what is asked or found say nothing (they are *barren*), and parts that the findings
cut off from the question only scale the answer. Of the rest, variables are summed out in min-fill order; what
that costs is known before it starts.

Zhang and Poole, "Exploiting causal independence in Bayesian network inference", 1996.

Formula: elimination order and its cost; variable elimination
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bayeskit import logspace
from bayeskit.network.graph import Graph, as_set, bits, join, reach
from bayeskit.network.inference.elimination import CELL, MEMORY_LIMIT, check_cost, min_fill, table_size
from bayeskit.network.inference.factor import Factor, Underflow, combine
from bayeskit.typing import Floats


def eliminate(
    graph: Graph,
    cards: Sequence[int],
    tables: Sequence[Floats],
    keep: Sequence[int],
    likelihoods: Mapping[int, Floats],
    memory_limit: int = MEMORY_LIMIT,
    with_evidence: bool = True,
) -> tuple[Floats, float]:
    """P(keep, findings) as a table over ``keep`` with its largest cell 1, and the log of what it was divided by.

    ``likelihoods`` holds one for each state of the variables something is known of. Without ``with_evidence`` the
    parts that bear neither on ``keep`` nor on whether the findings are possible are left out, and only proportions mean
    anything.
    """
    hard = {v: int(np.argmax(p)) for v, p in likelihoods.items() if np.count_nonzero(p) == 1 and v not in keep}
    relevant = graph.ancestors(as_set(keep) | as_set(likelihoods))
    variables = [v for v in keep if cards[v] > 1]
    near = _graph_of_factors(graph, cards, relevant, as_set(hard))
    part = as_set(v for v in bits(relevant) if cards[v] > 1 and v not in hard)
    if not with_evidence:
        part &= reach(near, as_set(variables) | _may_contradict(graph, tables, relevant, likelihoods))
    gone = part & ~as_set(variables)
    elimination = min_fill(near, cards, gone)
    cells = sum(table_size(nodes, cards) for nodes in elimination.cliques) + table_size(as_set(variables), cards)
    check_cost(2 * CELL * cells, memory_limit, "the tables of this question")
    question = (graph, cards, tables, part, relevant, likelihoods, hard)
    try:
        return _laid_out(
            _sum_out(_factors(*question, log=False), elimination.order, variables, False), keep, cards, False
        )
    except Underflow:
        return _laid_out(_sum_out(_factors(*question, log=True), elimination.order, variables, True), keep, cards, True)


def _may_contradict(graph: Graph, tables: Sequence[Floats], relevant: int, likelihoods: Mapping[int, Floats]) -> int:
    """The variables of tables with a zero, whose findings could turn out impossible: they cannot be left out."""
    unsure = as_set(v for v, likelihood in likelihoods.items() if not np.any(likelihood > 0))
    for v in bits(relevant):
        if not np.all(tables[v] > 0):
            unsure |= as_set((v, *graph.parents[v]))
    return unsure


def _graph_of_factors(graph: Graph, cards: Sequence[int], relevant: int, hard: int) -> list[int]:
    near = [0] * len(graph)
    for v in bits(relevant):
        family = (u for u in (v, *graph.parents[v]) if cards[u] > 1)
        join(near, as_set(family) & ~hard)
    return near


def _factors(
    graph: Graph,
    cards: Sequence[int],
    tables: Sequence[Floats],
    part: int,
    relevant: int,
    likelihoods: Mapping[int, Floats],
    hard: Mapping[int, int],
    log: bool,
) -> list[Factor]:
    """The conditional tables and findings that bear on the question, at the values that are known."""
    factors = []
    for v in bits(relevant):
        family = [u for u in (*graph.parents[v], v) if cards[u] > 1]
        free = as_set(family) & ~as_set(hard)
        if free & part == free:
            whole = Factor.of(family, tables[v].reshape([cards[u] for u in family]), log)
            factors.append(whole.at(hard))
    for v, likelihood in likelihoods.items():
        soft = cards[v] > 1 and v not in hard
        if soft and part >> v & 1:
            factors.append(Factor.of((v,), likelihood, log))
        elif not soft:
            factors.append(Factor.of((), np.asarray(likelihood.max()), log))
    return factors


def _sum_out(factors: list[Factor], order: Sequence[int], keep: Sequence[int], log: bool) -> Factor:
    for v in order:
        joined = [factor for factor in factors if v in factor.variables]
        rest = {u for factor in joined for u in factor.variables} - {v}
        factors = [factor for factor in factors if v not in factor.variables]
        factors.append(combine(joined, sorted(rest), log))
    return combine(factors, keep, log)


def _laid_out(answer: Factor, keep: Sequence[int], cards: Sequence[int], log: bool) -> tuple[Floats, float]:
    """The table with one axis for each of ``keep``, in that order."""
    table = np.asarray(logspace.exp(answer.table)) if log else answer.table
    missing = [v for v in keep if v not in answer.variables]
    axes = sorted([*answer.variables, *missing])
    table = table.reshape([cards[v] for v in axes])
    return table.transpose([axes.index(v) for v in keep]), answer.log_scale

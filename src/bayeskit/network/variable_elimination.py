"""Variable elimination: answer one query from the part of the network that bears on it.

Variables that are neither ancestors of a queried nor of an observed variable are *barren* and are dropped; parts that
the evidence separates from the query only scale the answer. The other variables are summed out in min-fill order, and
the cost is known before any table is built.

*Min-fill* eliminates next the variable whose neighbors lack the fewest connections among themselves, a connection
weighted by the size of the table over its two ends; ties go to the smallest table. The tables met on the way are the
cliques of a chordal graph, and their sizes are the cost. For a network that is queried often, several orders are tried
with weights perturbed by a fixed random sequence.

A factor stores its table divided by the largest cell, and the logarithm of that divisor. If the smallest positive cells
could still underflow in a product, the computation restarts with ``log=True`` and tables of logarithms.

References: Kjærulff, "Triangulation of graphs: algorithms giving small total state space", 1990; Zhang and Poole,
"Exploiting causal independence in Bayesian network inference", 1996.

Formula: elimination order and its cost; variable elimination
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from random import Random
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.errors import TooLarge
from bayeskit.memory import memory_size
from bayeskit.network.graph import DirectedGraph, Nodes, as_set, bits, join, reach
from bayeskit.tolerance import UNDERFLOW
from bayeskit.typing import Floats

CELL = 8  # bytes of a float64
BEYOND = 1 << 36  # more cells than any machine holds
MEMORY_LIMIT = 4 << 30  # default limit in bytes


@dataclass(frozen=True)
class Elimination:
    """Elimination order, and the clique that each variable forms when it is eliminated."""

    order: tuple[int, ...]
    cliques: tuple[Nodes, ...]


def table_size(nodes: Nodes, cards: Sequence[int]) -> int:
    """Return the number of cells of a table over these variables.

    >>> table_size(0b101, [2, 9, 3])
    6
    """
    return prod(cards[v] for v in bits(nodes))


def min_fill(
    near: Sequence[Nodes], cards: Sequence[int], gone: Nodes, shaken: Sequence[float] | None = None
) -> Elimination:
    """Find a min-fill elimination order of the variables ``gone`` in a graph given by neighbors.

    >>> chain = [0b010, 0b101, 0b010]                       # 0 – 1 – 2
    >>> min_fill(chain, [2, 2, 2], 0b111).cliques
    (3, 6, 4)
    """
    adjacent = list(near)
    groups = [(c, as_set(v for v, n in enumerate(cards) if n == c)) for c in sorted(set(cards))]

    def rank(v: int) -> tuple[float, int, int]:
        around, fill, size = adjacent[v], 0, cards[v]
        for c, group in groups:
            size *= c ** (around & group).bit_count()
        rest = 0 if hopeless else around
        while rest:  # bits() inlined, since this is the hot loop
            low = rest & -rest
            rest ^= low
            u = low.bit_length() - 1
            lacking = around & ~adjacent[u] ^ low
            if lacking and alike:
                fill += lacking.bit_count()
            elif lacking:
                fill += cards[u] * sum(c * (lacking & group).bit_count() for c, group in groups)
        return fill if shaken is None else fill * shaken[v], size, v

    alike, hopeless = len(groups) == 1, False
    key = {v: rank(v) for v in bits(gone)}
    heap = list(key.values())
    heapq.heapify(heap)
    order, cliques = [], []
    while key:
        best = heapq.heappop(heap)
        v = best[2]
        if key.get(v) != best:
            continue  # an outdated entry
        del key[v]
        around = touched = adjacent[v]
        order.append(v)
        cliques.append(around | 1 << v)
        hopeless = hopeless or best[1] > BEYOND  # only an estimate of the cost is needed from here on
        for u in bits(around):
            adjacent[u] &= ~(1 << v)
        for u in bits(around if best[0] or hopeless else 0):
            new = around & ~adjacent[u] & ~(1 << u)
            for w in bits(new):
                touched |= adjacent[u] & adjacent[w]  # common neighbors lack one connection less
                adjacent[w] |= 1 << u
            adjacent[u] |= new
        for u in bits(touched & gone):
            if u in key:
                now = rank(u)
                if now != key[u]:
                    key[u] = now
                    heapq.heappush(heap, now)
    return Elimination(tuple(order), tuple(cliques))


def perturbations(n: int, tries: int) -> Iterator[list[float]]:
    """Yield fixed random weights around one for n variables."""
    generator = Random(0)
    for _ in range(tries):
        yield [0.75 + generator.random() / 2 for _ in range(n)]


def check_cost(n_bytes: int, memory_limit: int, what: str) -> None:
    """Raise an error if the tables would exceed the memory limit."""
    if n_bytes > memory_limit:
        limit = f"more than the {memory_size(memory_limit)} allowed; nothing was started."
        hint = "Raise memory_limit= (in bytes), ask for fewer variables, or give more evidence."
        raise TooLarge(f"{what} would take {memory_size(n_bytes)}, {limit}", hint=hint)


class Factorization(NamedTuple):
    """P(x) = Π P(x_v | parents of v): the graph, the number of states of each variable, and the table of each.

    ``tables[v]`` has shape (n_contexts, n_states).
    """

    graph: DirectedGraph
    cards: Sequence[int]
    tables: Sequence[Floats]


class Underflow(Exception):
    """Raised if a product may underflow: restart in log space."""


@dataclass(frozen=True)
class PotentialTable:
    """Table with one axis per variable, in ascending order; the true cells are table · e^log_scale."""

    variables: tuple[int, ...]
    table: Floats
    log_scale: float = 0.0

    @classmethod
    def of(cls, variables: Sequence[int], table: Floats, log: bool = False) -> PotentialTable:
        """Build with axes in ascending order."""
        order = np.argsort(variables)
        table = logspace.log(table) if log else table
        return cls(tuple(sorted(variables)), table.transpose(order))

    def at(self, states: Mapping[int, int]) -> PotentialTable:
        """Return the slice of the table at given values."""
        index = tuple(states.get(v, slice(None)) for v in self.variables)
        return PotentialTable(tuple(v for v in self.variables if v not in states), self.table[index], self.log_scale)


def combine(factors: Sequence[PotentialTable], keep: Sequence[int], log: bool = False) -> PotentialTable:
    """Multiply factors and sum over every variable that is not kept."""
    variables = sorted({v for factor in factors for v in factor.variables})
    if not log:
        smallest = 1.0
        for factor in factors:
            smallest *= smallest_positive(factor.table)
        if smallest < UNDERFLOW:
            raise Underflow
    product: Floats | float = 0.0 if log else 1.0
    for factor in factors:
        shape = [1] * len(variables)
        for v, n in zip(factor.variables, factor.table.shape, strict=True):
            shape[variables.index(v)] = n
        spread = factor.table.reshape(shape)
        product = product + spread if log else product * spread
    return _sum_out_axes(np.asarray(product), variables, keep, sum(f.log_scale for f in factors), log)


def _sum_out_axes(
    product: Floats, variables: Sequence[int], keep: Sequence[int], log_scale: float, log: bool
) -> PotentialTable:
    axes = [i for i, v in enumerate(variables) if v in keep]
    lost = [i for i in range(len(variables)) if i not in axes]
    if log:
        shape = [product.shape[i] for i in axes]
        flat = product.transpose([*axes, *lost]).reshape(*shape, -1)
        product = logspace.log_sum_exp(flat)
    elif lost:
        product = product.sum(axis=tuple(lost))
    top = float(product.max())
    if log:
        if np.isfinite(top):
            product, log_scale = product - top, log_scale + top
    elif top > 0:
        product, log_scale = product / top, log_scale + float(logspace.log(top))
    return PotentialTable(tuple(variables[i] for i in axes), np.asarray(product), log_scale)


def smallest_positive(table: Floats) -> float:
    """Return the smallest positive cell, 1 if there is none."""
    return float(np.min(table, where=table > 0, initial=1.0))


def project(variables: Sequence[int], onto: Sequence[int], cards: Sequence[int]) -> npt.NDArray[np.int32]:
    """Map each cell of a table over ``variables`` to the cell of the table over ``onto``.

    >>> project((0, 1), (1,), [2, 3]).tolist()
    [0, 1, 2, 0, 1, 2]
    """
    stride, step = {}, 1
    for v in reversed(onto):
        stride[v] = step
        step *= cards[v]
    cells = np.zeros(1, dtype=np.int32)
    for v in variables:
        cells = (cells[:, None] + np.arange(cards[v], dtype=np.int32) * stride.get(v, 0)).reshape(-1)
    return cells


def eliminate(
    factorization: Factorization,
    keep: Sequence[int],
    likelihoods: Mapping[int, Floats],
    memory_limit: int = MEMORY_LIMIT,
    with_evidence: bool = True,
) -> tuple[Floats, float]:
    """Return P(keep, findings) as a table with its largest cell 1, and the log of its scale.

    ``likelihoods`` holds the likelihood of each state of the observed variables. Without ``with_evidence`` the parts
    that bear neither on ``keep`` nor on whether the findings are possible are left out; then only the proportions of
    the table are valid.
    """
    graph, cards, tables = factorization
    hard = {v: int(np.argmax(p)) for v, p in likelihoods.items() if np.count_nonzero(p) == 1 and v not in keep}
    relevant = graph.ancestors(as_set(keep) | as_set(likelihoods))
    variables = [v for v in keep if cards[v] > 1]
    near = [0] * len(graph)
    for v in bits(relevant):
        join(near, as_set(u for u in (v, *graph.parents[v]) if cards[u] > 1) & ~as_set(hard))
    part = as_set(v for v in bits(relevant) if cards[v] > 1 and v not in hard)
    if not with_evidence:
        # Findings may contradict each other only where a table has a zero.
        unsure = as_set(v for v, likelihood in likelihoods.items() if not np.any(likelihood > 0))
        for v in bits(relevant):
            if not np.all(tables[v] > 0):
                unsure |= as_set((v, *graph.parents[v]))
        part &= reach(near, as_set(variables) | unsure)
    elimination = min_fill(near, cards, part & ~as_set(variables))
    cells = sum(table_size(nodes, cards) for nodes in elimination.cliques) + table_size(as_set(variables), cards)
    check_cost(2 * CELL * cells, memory_limit, "the tables of this question")

    def factors(log: bool) -> list[PotentialTable]:
        """Return the conditional tables and likelihoods that bear on the query, sliced at known values."""
        found = []
        for v in bits(relevant):
            family = [u for u in (*graph.parents[v], v) if cards[u] > 1]
            free = as_set(family) & ~as_set(hard)
            if free & part == free:
                whole = PotentialTable.of(family, tables[v].reshape([cards[u] for u in family]), log)
                found.append(whole.at(hard))
        for v, likelihood in likelihoods.items():
            soft = cards[v] > 1 and v not in hard
            if soft and part >> v & 1:
                found.append(PotentialTable.of((v,), likelihood, log))
            elif not soft:
                found.append(PotentialTable.of((), np.asarray(likelihood.max()), log))
        return found

    try:
        answer = _sum_out(factors(log=False), elimination.order, variables, log=False)
        table = answer.table
    except Underflow:
        answer = _sum_out(factors(log=True), elimination.order, variables, log=True)
        table = np.asarray(logspace.exp(answer.table))
    axes = sorted([*answer.variables, *(v for v in keep if v not in answer.variables)])
    table = table.reshape([cards[v] for v in axes])
    return table.transpose([axes.index(v) for v in keep]), answer.log_scale


def _sum_out(factors: list[PotentialTable], order: Sequence[int], keep: Sequence[int], log: bool) -> PotentialTable:
    for v in order:
        joined = [factor for factor in factors if v in factor.variables]
        rest = {u for factor in joined for u in factor.variables} - {v}
        factors = [factor for factor in factors if v not in factor.variables]
        factors.append(combine(joined, sorted(rest), log))
    return combine(factors, keep, log)

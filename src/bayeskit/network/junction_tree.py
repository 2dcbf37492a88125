"""Junction tree: a network compiled once for posteriors of many rows of evidence.

The moral graph is made chordal by min-fill, and its cliques form a tree in which the cliques of each variable are
connected. Messages go up to the root and down again; then every clique's table is proportional to P(its variables,
evidence). The kernel `propagate` does that for all rows; rows that could underflow are repeated in log space.

Lauritzen and Spiegelhalter, "Local computations with probabilities on graphical structures", 1988.

Formula: messages over a junction tree
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.network import variable_elimination as ve
from bayeskit.network.graph import DirectedGraph, Nodes, as_set, bits
from bayeskit.tolerance import UNDERFLOW
from bayeskit.typing import Array, Floats, Ints

SMALL = 4096  # cells; smaller trees are not optimized further
HOPELESS = 4  # times the memory limit; other orders are not tried


@dataclass(frozen=True)
class Cliques:
    """Cliques of a chordal graph as a tree: members, parent and separator of each, parents first."""

    members: list[Nodes]
    parents: list[int]
    separators: list[Nodes]

    def cells(self, cards: Sequence[int]) -> int:
        """Return the number of cells of all tables."""
        return sum(ve.table_size(nodes, cards) for nodes in self.members)

    def bytes_needed(self, cards: Sequence[int]) -> int:
        """Return the bytes needed to compile and query the tree."""
        sizes = [ve.table_size(nodes, cards) for nodes in self.members]
        smallest: dict[int, int] = {}
        for nodes, size in zip(self.members, sizes, strict=True):
            for v in bits(nodes):
                smallest[v] = min(size, smallest.get(v, size))
        maps = sum(sizes[p] for p in self.parents[1:]) + sum(smallest.values())
        return sum(sizes) * ve.CELL * 2 + maps * 4


def clique_tree(elimination: ve.Elimination) -> Cliques:
    """Return the maximal cliques of an elimination as a junction tree."""
    when = {v: i for i, v in enumerate(elimination.order)}
    inside: dict[int, int] = {}  # clique in which each variable was eliminated
    members: list[Nodes] = []
    above: list[Nodes] = []  # separator of each clique
    waiting: dict[int, list[int]] = {}  # cliques by the first variable of their separator
    for v, nodes in zip(elimination.order, elimination.cliques, strict=True):
        clique = next((k for k in waiting.get(v, ()) if above[k] == nodes), None)
        if clique is None:
            clique = len(members)
            members.append(nodes)
            above.append(0)
        inside[v], above[clique] = clique, nodes & ~(1 << v)
        if above[clique]:
            waiting.setdefault(min(bits(above[clique]), key=when.__getitem__), []).append(clique)
    parents = [inside[min(bits(rest), key=when.__getitem__)] if rest else -1 for rest in above]
    return _parents_first(members, parents)


def _parents_first(members: list[Nodes], parents: list[int]) -> Cliques:
    roots = [i for i, p in enumerate(parents) if p < 0]
    children: dict[int, list[int]] = {}
    for i, p in enumerate(parents):
        if p >= 0:
            children.setdefault(p, []).append(i)
    order = [roots[0]]
    children.setdefault(roots[0], []).extend(roots[1:])  # disconnected parts have empty separators
    for i in order:
        order.extend(children.get(i, ()))
    place = {i: k for k, i in enumerate(order)}
    up = [-1, *(place[parents[i]] if parents[i] >= 0 else 0 for i in order[1:])]
    sets = [members[i] for i in order]
    return Cliques(sets, up, [0, *(sets[k] & sets[up[k]] for k in range(1, len(sets)))])


def find_cliques(graph: DirectedGraph, cards: Sequence[int], memory_limit: int) -> Cliques:
    """Return the cliques of the whole network: the smallest of several elimination orders.

    More than one is tried where the first is neither small already nor hopelessly beyond the limit.
    """
    every = (1 << len(graph)) - 1
    near = graph.moral(every)
    best = clique_tree(ve.min_fill(near, cards, every))
    cells = best.cells(cards)
    if cells > SMALL and best.bytes_needed(cards) < HOPELESS * memory_limit:
        for shaken in ve.perturbations(len(graph), max(2, min(12, 2000 // len(graph)))):
            other = clique_tree(ve.min_fill(near, cards, every, shaken))
            if other.cells(cards) < cells:
                best, cells = other, other.cells(cards)
    return best


class JunctionTree:
    """Junction tree of a network, compiled once."""

    def __init__(self, factorization: ve.Factorization, memory_limit: int = ve.MEMORY_LIMIT) -> None:
        graph, cards, tables = factorization
        self.cliques = find_cliques(graph, cards, memory_limit)
        ve.check_cost(self.cliques.bytes_needed(cards), memory_limit, "the junction tree of this network")
        self.cards = list(cards)
        shared = [list(bits(nodes)) for nodes in self.cliques.separators]
        self.variables = [  # of each table: the separator first, varying slowest
            [*separator, *bits(nodes & ~as_set(separator))]
            for nodes, separator in zip(self.cliques.members, shared, strict=True)
        ]
        self.sizes = [ve.table_size(nodes, cards) for nodes in self.cliques.members]
        by_size = sorted(range(len(self.sizes)), key=self.sizes.__getitem__)
        self.homes = [next(i for i in by_size if self.cliques.members[i] >> v & 1) for v in range(len(cards))]
        families = [(*graph.parents[v], v) for v in range(len(graph))]
        place = [next(i for i in by_size if not as_set(f) & ~self.cliques.members[i]) for f in families]
        self._parts = list(zip(place, tables, families, strict=True))  # clique, conditional table, variables
        self._every, self._numbers = list(range(len(cards))), np.arange(len(cards))
        separator_sizes = [ve.table_size(nodes, cards) for nodes in self.cliques.separators]
        self._cliques = np.array([*zip(self.sizes, self.cliques.parents, separator_sizes, strict=True)], np.int64)
        self._variables = np.array([*zip(self.homes, cards, strict=True)], np.int64)
        parents = self.cliques.parents
        down = [self._project(parents[i], shared[i]) for i in range(1, len(parents))]
        self._down = np.concatenate([np.zeros(0, np.int32), *down])
        self._states = np.concatenate([self._project(self.homes[v], (v,)) for v in range(len(cards))])
        self._potentials, self._floors = self._products()

    def _project(self, i: int, onto: Sequence[int]) -> Array:
        """Map each cell of a clique to the cell of the table over some of its variables."""
        return ve.project(self.variables[i], onto, self.cards)

    def _products(self) -> tuple[Floats, Floats]:
        """Multiply the conditional tables into clique potentials; the floor is 0 where digits may be lost."""
        parts = [np.ones(size) for size in self.sizes]
        bound = np.ones(len(parts))
        for i, table, family in self._parts:
            parts[i] *= table.reshape(-1)[self._project(i, family)]
            bound[i] *= ve.smallest_positive(table)
        floors = [ve.smallest_positive(p) if below > UNDERFLOW else 0.0 for p, below in zip(parts, bound, strict=True)]
        return np.concatenate(parts), np.array(floors)

    @cached_property
    def _log_potentials(self) -> list[Floats]:
        parts = [np.zeros(size) for size in self.sizes]
        for i, table, family in self._parts:
            parts[i] += logspace.log(table).reshape(-1)[self._project(i, family)]
        return parts

    def propagate(
        self, observed: Sequence[int], likelihoods: Floats, queried: Sequence[int], n_threads: int = 1
    ) -> tuple[Floats, Floats]:
        """Return posteriors, shape (n_rows, states of the queried variables), and log P(evidence), shape (n_rows,).

        ``likelihoods`` (rows, states of the observed variables, one after another) holds what was found.
        A row that is impossible has log evidence −inf and posteriors NaN.
        """
        every = len(queried) == len(self.cards) and queried == self._every
        wanted = self._numbers if every else np.array(queried, dtype=np.int64)
        posteriors, log_evidence, safe = kernels.propagate(
            self._cliques, self._potentials, self._floors, self._down, self._variables, self._states,
            np.array(observed, dtype=np.int64), np.ascontiguousarray(likelihoods, dtype=np.float64), wanted, n_threads,
        )  # fmt: skip
        for row in () if safe.all() else np.flatnonzero(~safe).tolist():
            of_row = dict(zip(observed, self.split(likelihoods[row], observed), strict=True))
            tables, log_evidence[row] = self._in_logs(of_row)
            for v, p in zip(queried, self.split(posteriors[row], queried), strict=True):
                p[:] = self._marginal(tables[self.homes[v]], self.homes[v], v)
        return posteriors, log_evidence

    def propagate_families(
        self, observed: Sequence[int], likelihoods: Floats, n_threads: int = 1
    ) -> tuple[Floats, Floats]:
        """Return P(node and its parents | evidence), shape (n_rows, cells of all families), and log P(evidence).

        The cells of a family are those of its table, families in the order of their nodes.
        """
        variables, states = self._family_variables
        wanted = np.arange(len(self.cards), len(variables))
        posteriors, log_evidence, safe = kernels.propagate(
            self._cliques, self._potentials, self._floors, self._down, variables, states,
            np.array(observed, dtype=np.int64), np.ascontiguousarray(likelihoods, dtype=np.float64), wanted, n_threads,
        )  # fmt: skip
        for row in np.flatnonzero(~safe).tolist():
            of_row = dict(zip(observed, self.split(likelihoods[row], observed), strict=True))
            tables, log_evidence[row] = self._in_logs(of_row)
            logs = [logspace.log_sum_exp(self._by(tables[i], i, family)) for i, _, family in self._parts]
            posteriors[row] = np.concatenate([logspace.exp(x - logspace.log_sum_exp(x)) for x in logs])
        return posteriors, log_evidence

    @cached_property
    def _family_variables(self) -> tuple[Ints, Array]:
        """Return the variables of the kernel, and after them each family as one variable with many states."""
        homes = np.array([(i, table.size) for i, table, _ in self._parts], np.int64)
        states = [self._project(i, family) for i, _, family in self._parts]
        return np.concatenate([self._variables, homes]), np.concatenate([self._states, *states])

    def split(self, posteriors: Floats, queried: Sequence[int]) -> list[Floats]:
        """Split posteriors or likelihoods of some variables into views of shape (..., n_states), one for each."""
        ends = itertools.accumulate(self.cards[v] for v in queried)
        return [posteriors[..., end - self.cards[v] : end] for v, end in zip(queried, ends, strict=True)]

    def _marginal(self, log_table: Floats, i: int, v: int) -> Floats:
        logs = logspace.log_sum_exp(self._by(log_table, i, (v,)))
        with np.errstate(invalid="ignore"):  # an impossible row gives NaN
            return logspace.exp(logs - logspace.log_sum_exp(logs))

    def _by(self, table: Floats, i: int, onto: Sequence[int]) -> Floats:
        """Group the cells of a clique by some of its variables."""
        order = np.argsort(self._project(i, onto), kind="stable")
        return table[order].reshape(ve.table_size(as_set(onto), self.cards), -1)

    def collect(self, likelihoods: dict[int, Floats], best: bool = False) -> tuple[list[Floats], list[Floats]]:
        """Send all messages up to the root, in log space; ``best`` takes maxima instead of sums."""
        tables = [part.copy() for part in self._log_potentials]
        for v, likelihood in likelihoods.items():
            i = self.homes[v]
            tables[i] += logspace.log(likelihood)[self._project(i, (v,))]
        messages: list[Floats] = [np.zeros(1)] * len(tables)
        for i in range(len(tables) - 1, 0, -1):
            p, by = self.cliques.parents[i], tables[i].reshape(self._cliques[i, 2], -1)
            messages[i] = by.max(axis=1) if best else logspace.log_sum_exp(by)
            tables[p] += messages[i][self._project(p, list(bits(self.cliques.separators[i])))]
        return tables, messages

    def _in_logs(self, likelihoods: dict[int, Floats]) -> tuple[list[Floats], float]:
        """Propagate in log space; return all log tables and log P(evidence)."""
        tables, messages = self.collect(likelihoods)
        log_evidence = float(logspace.log_sum_exp(tables[0]))
        for i in range(1, len(tables)):
            separator = list(bits(self.cliques.separators[i]))
            down = logspace.log_sum_exp(self._by(tables[self.cliques.parents[i]], self.cliques.parents[i], separator))
            with np.errstate(invalid="ignore"):
                down = np.where(np.isneginf(messages[i]), -np.inf, down - messages[i])
            tables[i] = (tables[i].reshape(len(down), -1) + down[:, None]).reshape(-1)
        return tables, log_evidence

    def most_probable(self, likelihoods: dict[int, Floats]) -> tuple[list[int], float]:
        """Return the most probable state of each variable together, and log P(states, findings)."""
        tables, _ = self.collect(likelihoods, best=True)
        states = [-1] * len(self.cards)
        for i, table in enumerate(tables):
            by = table.reshape(self._cliques[i, 2], -1)
            at = 0
            for v in bits(self.cliques.separators[i]):
                at = at * self.cards[v] + states[v]
            cell = at * by.shape[1] + int(by[at].argmax())
            for v in reversed(self.variables[i]):
                cell, states[v] = divmod(cell, self.cards[v])
        return states, float(tables[0].max())

    def sample(self, likelihoods: dict[int, Floats], n: int, rng: np.random.Generator) -> Ints:
        """Draw states, shape (n, n_variables), from P(all | findings)."""
        tables, _ = self.collect(likelihoods)
        drawn = np.zeros((n, len(self.cards)), dtype=np.int64)
        for i, table in enumerate(tables):
            by = table.reshape(self._cliques[i, 2], -1)
            at = np.zeros(n, dtype=np.int64)
            for v in bits(self.cliques.separators[i]):
                at = at * self.cards[v] + drawn[:, v]
            cell = at * by.shape[1] + _draw(by, at, rng)
            for v in reversed(self.variables[i]):
                cell, drawn[:, v] = np.divmod(cell, self.cards[v])
        return drawn


def _draw(log_rows: Floats, at: Ints, rng: np.random.Generator) -> Ints:
    """Draw a column for each of ``at`` from unnormalized log rows."""
    used, which = np.unique(at, return_inverse=True)
    top = log_rows[used].max(axis=1, keepdims=True)
    return draw_columns(logspace.exp(log_rows[used] - np.where(np.isneginf(top), 0.0, top)), which, rng)


def draw_columns(rows: Floats, which: Ints, rng: np.random.Generator) -> Ints:
    """Draw a column for each of ``which`` by the weights of that row.

    >>> draw_columns(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0, 1, 0]), np.random.default_rng(0)).tolist()
    [1, 0, 1]
    """
    steps = np.cumsum(rows, axis=1)
    steps /= steps[:, -1:]
    # One search for all: row r of the steps is lifted to r..r+1. Of a draw on a step the next column is taken.
    lifted = steps + np.arange(len(steps))[:, None]
    cells = np.searchsorted(lifted.reshape(-1), which + rng.random(len(which)), side="right")
    last_positive = rows.shape[1] - 1 - np.argmax(rows[:, ::-1] > 0, axis=1)
    return np.minimum(cells - which * rows.shape[1], last_positive[which])

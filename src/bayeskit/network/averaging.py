"""Average over structures: how sure the data is of each arc.

Friedman, Goldszmidt and Wyner, "Data analysis with Bayesian networks: a bootstrap approach", 1999; Koivisto and Sood,
"Exact Bayesian structure discovery in Bayesian networks", 2004.

Formula: P(arc ∣ data) over structures
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np

from bayeskit import logspace
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError
from bayeskit.estimate.family_scores import family_score
from bayeskit.estimate.smoothing import is_number
from bayeskit.network.coded_table import CodedTable, read_rows
from bayeskit.network.equivalence import class_of
from bayeskit.network.graph import DirectedGraph
from bayeskit.network.network import BayesianNetwork
from bayeskit.network.structure import ALLOWED, Score, Search, SearchSettings, search_arcs
from bayeskit.network.variable_elimination import MEMORY_LIMIT
from bayeskit.progress import Bar, check_progress
from bayeskit.tables import Table
from bayeskit.typing import Floats

MOST_EXACT = 12  # nodes


@dataclass(eq=False, repr=False)
class ArcStrengths(Drawable):
    """Share of structures in which two nodes are adjacent, and in which the arc leads from a to b.

    Attributes
    ----------
    nodes : list of str
    probabilities : ndarray of shape (n_nodes, n_nodes)
        P(parent → child | data).
    method : str

    Examples
    --------
    >>> from bayeskit import arc_strengths
    >>> table = {"rain": ["yes", "no"] * 20, "wet": ["yes", "no"] * 19 + ["no", "yes"], "coin": [*"hhtt"] * 10}
    >>> strengths = arc_strengths(table, method="exact")
    >>> strengths.table["parent"][0], strengths.table["child"][0], round(strengths.table["strength"][0], 2)
    ('rain', 'wet', 1.0)
    """

    nodes: list[str]
    probabilities: Floats
    method: str
    rows: CodedTable = field(repr=False)

    @property
    def table(self) -> Table:
        """Return pairs of nodes, strongest first, with the share of structures that connect them."""
        both = self.probabilities + self.probabilities.T
        pairs = sorted(combinations(range(len(self.nodes)), 2), key=lambda pair: -both[pair])
        turned = [(a, b) if self.probabilities[a, b] >= self.probabilities[b, a] else (b, a) for a, b in pairs]
        shown = [(a, b) for a, b in turned if both[a, b] > 0]
        return Table(
            {
                "parent": [self.nodes[a] for a, _ in shown],
                "child": [self.nodes[b] for _, b in shown],
                "strength": [float(both[pair]) for pair in shown],
                "direction": [float(self.probabilities[pair] / both[pair]) for pair in shown],
            },
            keys=2,
        )

    def __str__(self) -> str:
        return str(self.table)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    def network(self, threshold: float = 0.5, smoothing: Any = 1.0) -> BayesianNetwork:
        """Return the averaged network: arcs stronger than a threshold, in their more frequent direction.

        Arcs are added from the strongest down; one that would close a cycle is turned, or left out.

        Parameters
        ----------
        threshold : float, default=0.5
        smoothing : float, str or smoothing, default=1.0
            Of the tables.

        Returns
        -------
        BayesianNetwork
        """
        if not is_number(threshold) or not 0 <= threshold < 1:
            raise BayesError(f"threshold={threshold!r}: give a number from 0 to below 1")
        at = {name: v for v, name in enumerate(self.nodes)}
        parents: list[list[int]] = [[] for _ in self.nodes]
        table = self.table
        for a, b, strength in zip(table["parent"], table["child"], table["strength"], strict=True):
            if strength <= threshold:
                break
            for parent, child in ((at[a], at[b]), (at[b], at[a])):
                parents[child].append(parent)
                if not DirectedGraph(parents).cycle():
                    break
                parents[child].pop()
        named = {name: [self.nodes[p] for p in parents[v]] for v, name in enumerate(self.nodes)}
        return BayesianNetwork.of_tally(self.rows.tally(named, MEMORY_LIMIT), smoothing, MEMORY_LIMIT)


def arc_strengths(
    data: Any,
    *,
    method: Literal["bootstrap", "exact"] = "bootstrap",
    n_samples: int = 100,
    score: Score = "bdeu",
    search: Search = "order",
    max_parents: int = 3,
    equivalent_sample_size: float = 1.0,
    roles: Any = None,
    domains: Any = None,
    cuts: Any = ("frequency", 5),
    random_state: int = 0,
    progress: Any = None,
) -> ArcStrengths:
    """Estimate how sure the data is of each arc.

    Parameters
    ----------
    data : table
        Rows with missing cells are left out.
    method : {"bootstrap", "exact"}, default="bootstrap"
        "bootstrap" learns a network from each of ``n_samples`` resamples of the rows; an edge whose direction the data
        leaves open counts half in each. "exact" sums over all structures of up to 12 nodes, with equal prior
        probability of all orders of the nodes.
    n_samples : int, default=100
    score, search, max_parents, equivalent_sample_size, roles, domains, cuts
        As in :func:`learn_network`; "exact" takes "bdeu" or "k2".
    random_state : int, default=0
    progress : bool or callable, optional

    Returns
    -------
    ArcStrengths

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a = rng.random(200) < 0.5
    >>> print(arc_strengths({"a": a, "b": a ^ (rng.random(200) < 0.1)}, n_samples=20))
    parent  child  strength  direction
    a       b             1        0.5
    """
    check_progress(progress)
    if not isinstance(n_samples, (int, np.integer)) or n_samples < 1:
        raise BayesError(f"n_samples={n_samples!r}: give a whole number of at least 1")
    settings = SearchSettings(score, search, max_parents, equivalent_sample_size, random_state=random_state)
    rows = read_rows(data, roles, domains, cuts)
    if method == "exact":
        return ArcStrengths(rows.names, _exact(rows, settings), "all structures", rows)
    if method != "bootstrap":
        raise BayesError(f"method={method!r} is not one of bootstrap, exact")
    n = len(rows.names)
    arcs, start = np.full((n, n), ALLOWED, np.uint8), np.zeros((n, n), np.uint8)
    rng = np.random.default_rng(random_state)
    shares = np.zeros((n, n))
    with Bar(progress) as bar:
        for sample in range(n_samples):
            drawn = rng.integers(0, rows.n_complete, rows.n_complete)
            resampled = replace(rows)
            resampled.complete = [column[drawn] for column in rows.complete]
            graph, report = search_arcs(resampled, start, arcs, replace(settings, random_state=sample))
            if not report.finished:
                raise KeyboardInterrupt
            partial = class_of(graph)
            shares += np.where(partial & partial.T, 0.5, partial)
            bar("samples", sample + 1, n_samples)
    return ArcStrengths(rows.names, shares / n_samples, f"{n_samples} bootstrap samples", rows)


def _exact(rows: CodedTable, settings: SearchSettings) -> Floats:
    """Return P(parent → child | data), summed over all orders and all parent sets that fit them."""
    n = len(rows.names)
    if n > MOST_EXACT:
        raise BayesError(f'method="exact" takes at most {MOST_EXACT} columns, and there are {n}', hint='"bootstrap"')
    if settings.score not in ("bdeu", "k2"):
        raise BayesError(f'score={settings.score!r}: method="exact" needs a probability, "bdeu" or "k2"')
    every = 1 << n
    families = np.full((n, every), -np.inf)
    for child in range(n):
        others = [v for v in range(n) if v != child]
        for size in range(settings.max_parents + 1):
            for parents in combinations(others, size):
                counts = rows.counts((*parents, child)).reshape(-1, rows.n_values[child])
                families[child, sum(1 << p for p in parents)] = family_score(
                    counts, settings.score, settings.equivalent_sample_size
                )
    within = np.stack([_sum_over_subsets(family, range(n)) for family in families])
    sets = np.arange(every)
    sizes = np.array([bin(s).count("1") for s in range(every)])
    before, after = np.full(every, -np.inf), np.full(every, -np.inf)
    before[0] = after[every - 1] = 0.0
    for size in range(n):
        for child in range(n):  # sums over orders: first upwards, then downwards
            up = sets[(sizes == size) & (sets >> child & 1 == 0)]
            before[up | 1 << child] = logspace.log_add_exp(before[up | 1 << child], before[up] + within[child, up])
    for size in range(n - 1, -1, -1):
        for child in range(n):
            down = sets[(sizes == size) & (sets >> child & 1 == 0)]
            after[down] = logspace.log_add_exp(after[down], after[down | 1 << child] + within[child, down])
    probabilities = np.zeros((n, n))
    for child in range(n):
        free = sets[sets >> child & 1 == 0]
        outside = before[free] + after[free | 1 << child]
        for parent in range(n):
            if parent != child:
                with_arc = np.where(sets >> parent & 1 == 1, families[child], -np.inf)
                inside = _sum_over_subsets(with_arc, range(n))
                total = float(logspace.log_sum_exp(outside + inside[free])) - before[every - 1]
                probabilities[parent, child] = float(logspace.exp(np.array(total)))
    return probabilities


def _sum_over_subsets(logs: Floats, members: Sequence[int]) -> Floats:
    """Return for every set the log of the sum over its subsets."""
    out = logs.copy()
    sets = np.arange(len(logs))
    for v in members:
        having = sets[sets >> v & 1 == 1]
        out[having] = logspace.log_add_exp(out[having], out[having ^ 1 << v])
    return out

"""Learn a Bayesian network from data: its arcs by search or by tests of independence, then its tables.

Teyssier and Koller, "Ordering-based search", 2005; Silander and Myllymäki, "A simple approach for finding the globally
optimal Bayesian network structure", 2006; Chow and Liu, "Approximating discrete probability distributions with
dependence trees", 1968; Colombo and Maathuis, "Order-independent constraint-based causal structure learning", 2014.

Formula: learning the arcs of a network
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np

from bayeskit import kernels
from bayeskit.data.schema import Numeric
from bayeskit.errors import BayesError, BayesWarning, SchemaMismatch
from bayeskit.estimate.family_scores import SCORES, family_score, log_likelihood
from bayeskit.estimate.information import NATS_IN_A_BIT
from bayeskit.estimate.smoothing import is_number
from bayeskit.estimate.trees import best_tree
from bayeskit.nearest import nearest
from bayeskit.network.coded_table import CodedTable, read_arcs, read_rows
from bayeskit.network.em import fill_in, fit_rows
from bayeskit.network.equivalence import PartialGraph, adjacency, orient, partial_graph
from bayeskit.network.graph import DirectedGraph
from bayeskit.network.network import BayesianNetwork
from bayeskit.network.variable_elimination import MEMORY_LIMIT
from bayeskit.progress import Bar, check_progress
from bayeskit.settings import check_integer, one_of
from bayeskit.tables import Grid, Sheet
from bayeskit.typing import Array, Bools

Edge = tuple[str, str]

Score = Literal["bdeu", "bic", "aic", "k2", "log_likelihood"]
Search = Literal["order", "tabu", "hill_climb", "exact", "tree", "tan", "none"]
SEARCHES = ("order", "tabu", "hill_climb", "exact", "tree", "tan")
EM_ROUNDS = 20  # of structural EM
MOST_PARENTS = 7
MOST_EXACT = 22  # nodes
TABU_LENGTH, PATIENCE = 30, 30  # graphs that are not visited again; steps without a better graph
CANDIDATES = 10  # parents of a node that the order search considers
ALLOWED, FORBIDDEN, REQUIRED = 1, 0, 2  # as the kernel reads them


class StructureScore(NamedTuple):
    """Score of a network's structure on data, in nats, and the code lengths behind BIC in bits.

    ``bits_for_data`` is the data's code length given the tables, ``bits_for_model`` that of the tables: their sum is
    the description length, −BIC in bits.
    """

    score: float
    log_likelihood: float
    n_parameters: int
    n_rows: int

    def __str__(self) -> str:
        what = ("score", "log-likelihood", "parameters", "bits for the data", "bits for the model")
        values = [*self[:3], self.bits_for_data, self.bits_for_model]
        return Sheet(f"Score of a structure on {self.n_rows:,} rows", (Grid({"": what, "value": values}),)).text

    @property
    def bits_for_data(self) -> float:
        """Return −log2 P(data | tables)."""
        return -self.log_likelihood / NATS_IN_A_BIT

    @property
    def bits_for_model(self) -> float:
        """Return ½ log2(n_rows) for each parameter."""
        return 0.5 * float(np.log2(max(self.n_rows, 1))) * self.n_parameters


class SearchReport(NamedTuple):
    """Result of a search: the score of the network that was found, and the work that it took."""

    score: str
    value: float
    n_rows: int
    n_families: int
    finished: bool


@dataclass(frozen=True)
class SearchSettings:
    """Settings of a search for arcs, checked when they are made."""

    score: str = "bdeu"
    search: str = "order"
    max_parents: int = 3
    equivalent_sample_size: float = 1.0
    n_restarts: int = 100
    random_state: int = 0

    def __post_init__(self) -> None:
        one_of("score", self.score, SCORES)
        one_of("search", self.search, (*SEARCHES, "none"))
        check_integer("max_parents", self.max_parents, 0, MOST_PARENTS)
        check_integer("n_restarts", self.n_restarts, 0, 10**6)
        check_integer("random_state", self.random_state, 0, 2**63 - 1)
        if not is_number(self.equivalent_sample_size) or not 0 < self.equivalent_sample_size < 1e9:
            raise BayesError(f"equivalent_sample_size={self.equivalent_sample_size!r}: give a number above 0")


def read_constraints(
    names: Sequence[str],
    required: Iterable[Edge],
    forbidden: Iterable[Edge],
    tiers: Sequence[Iterable[str]],
    max_parents: int,
) -> Array:
    """Return what is allowed of each arc, shape (n_nodes, n_nodes): 0 forbidden, 1 allowed, 2 required.

    An arc from a later tier to an earlier one is forbidden. Columns in no tier are free.
    """
    at = {name: i for i, name in enumerate(names)}
    arcs = np.full((len(names), len(names)), ALLOWED, dtype=np.uint8)
    level: dict[str, int] = {}
    if not isinstance(tiers, Iterable) or not all(isinstance(tier, Iterable) for tier in tiers):
        raise BayesError(f"tiers={tiers!r}: give groups of columns, [['age', 'sex'], ['drug'], ['well']]")
    for number, tier in enumerate(tiers):
        for name in [tier] if isinstance(tier, str) else tier:
            if name not in at:
                raise SchemaMismatch(f"tiers= names {name!r}, which is not a column: {nearest(name, names)}")
            if level.setdefault(name, number) != number:
                raise BayesError(f"tiers= names {name!r} twice, in tier {level[name] + 1} and in tier {number + 1}")
    for a in level:
        for b in level:
            if level[a] > level[b]:
                arcs[at[a], at[b]] = FORBIDDEN
    for a, b in read_arcs(forbidden, names, "forbidden"):
        arcs[at[a], at[b]] = FORBIDDEN
    for a, b in (needed := read_arcs(required, names, "required")):
        if arcs[at[a], at[b]] == FORBIDDEN:
            by = "tiers=" if level.get(a, 0) > level.get(b, 0) else "forbidden="
            raise BayesError(f"the arc {a!r} → {b!r} is required, and forbidden by {by}: drop one of them")
        arcs[at[a], at[b]] = REQUIRED
    _check_acyclic(names, needed, "the required arcs")
    n_required = (arcs == REQUIRED).sum(axis=0)
    if n_required.max(initial=0) > max_parents:
        child = names[int(n_required.argmax())]
        raise BayesError(
            f"{child!r} has {n_required.max()} required parents, and max_parents={max_parents}: raise max_parents"
        )
    return arcs


def _check_acyclic(names: Sequence[str], edges: Sequence[Edge], what: str) -> None:
    at = {name: i for i, name in enumerate(names)}
    parents: list[list[int]] = [[] for _ in names]
    for a, b in edges:
        parents[at[b]].append(at[a])
    if cycle := DirectedGraph(parents).cycle():
        ring = " → ".join(names[v] for v in [*cycle, cycle[0]])
        raise BayesError(f"{what} run in a circle: {ring}. Turn or drop one of them.")


def learn_network(
    data: Any,
    *,
    score: Score = "bdeu",
    search: Search = "order",
    target: str | None = None,
    max_parents: int = 3,
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    tiers: Sequence[Iterable[str]] = (),
    start: Any = None,
    equivalent_sample_size: float = 1.0,
    n_restarts: int = 100,
    smoothing: Any = 1.0,
    roles: Any = None,
    domains: Any = None,
    cuts: Any = ("frequency", 5),
    random_state: int = 0,
    missing: Literal["drop", "em"] = "drop",
    progress: Any = None,
    memory_limit: int = MEMORY_LIMIT,
) -> BayesianNetwork:
    """Learn the arcs and the tables of a Bayesian network. Arrows of a learned network show dependence, not cause: see
    :meth:`BayesianNetwork.cpdag` for those that the data determines.

    Parameters
    ----------
    data : table
    score : {"bdeu", "bic", "aic", "k2", "log_likelihood"}, default="bdeu"
        All are sums over families, and larger is better.
    search : {"order", "tabu", "hill_climb", "exact", "tree", "tan"}, default="order"
        "order" climbs over orders of the nodes from the result of "tabu" and is never worse. "exact" finds the best
        network of up to 22 nodes. "tree" is Chow and Liu's tree, "tan" a tree below a target.
    target : str, optional
        The class of "tan".
    max_parents : int, default=3
        Of any node; at most 7.
    required, forbidden : iterable of (parent, child), optional
    tiers : sequence of sequences of str, optional
        Groups of columns in the order of time: no arc leads from a later group to an earlier one.
    start : BayesianNetwork or iterable of (parent, child), optional
        Where the search starts; an empty graph by default.
    equivalent_sample_size : float, default=1.0
        Of BDeu.
    n_restarts : int, default=100
        Of "order".
    smoothing : float, str or smoothing, default=1.0
        Of the tables.
    roles, domains : mapping, optional
        As in :meth:`BayesianNetwork.from_data`.
    cuts : default=("frequency", 5)
        How numbers are cut into intervals: five of equal frequency.
    random_state : int, default=0
        Breaks ties between equal scores and draws the restarts. Of columns that are copies of each other, the first is
        the parent of the others and of what depends on them.
    missing : {"drop", "em"}, default="drop"
        "drop" searches on the rows without missing cells, with a warning that counts the others, and counts each row in
        the tables whose cells it has. "em" alternates between tables estimated by EM from all rows, and a search on
        rows whose missing cells are filled in with their most probable values.
    progress : bool or callable, optional
        True shows a bar; a function is called with (stage, done, of). Ctrl-C ends the search with the best network so
        far.
    memory_limit : int, default=4 GiB

    Returns
    -------
    BayesianNetwork
        With ``search_``, a :class:`SearchReport`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.random(500) < 0.3
    >>> wet = np.where(rain, rng.random(500) < 0.9, rng.random(500) < 0.1)
    >>> slippery = np.where(wet, rng.random(500) < 0.8, rng.random(500) < 0.05)
    >>> net = learn_network({"rain": rain, "wet": wet, "slippery": slippery})
    >>> print(net.cpdag())                                # dependence has no direction here
    rain — wet
    wet — slippery
    """
    settings = SearchSettings(score, search, max_parents, equivalent_sample_size, n_restarts, random_state)
    one_of("missing", missing, ("drop", "em"))
    if missing == "em" and search in ("tree", "tan"):
        raise BayesError(f'search={search!r} drops incomplete rows; missing="em" goes with the other searches')
    if (target is not None) != (search == "tan"):
        raise BayesError(f'target={target!r} and search={search!r}: a target goes with search="tan", and only there')
    check_progress(progress)
    rows = read_rows(data, roles, domains, cuts)
    names = rows.names
    arcs = read_constraints(names, required, forbidden, tiers, max_parents)
    if search == "exact" and len(names) > MOST_EXACT:
        raise BayesError(
            f"search='exact' takes at most {MOST_EXACT} columns, and there are {len(names)}", hint="search='order'"
        )
    if missing == "em":
        return structural_em(rows, arcs, _start(names, start, arcs, max_parents), settings, progress, memory_limit)
    if rows.n_complete < rows.codes.shape[1]:
        warnings.warn(
            f"{rows.codes.shape[1] - rows.n_complete:,} of {rows.codes.shape[1]:,} rows have a missing cell and were "
            'left out of the search for arcs. missing="em" uses them.',
            BayesWarning,
            stacklevel=2,
        )
    if not rows.n_complete:
        raise BayesError("every row has a missing cell, and arcs are searched on complete rows", hint='missing="em"')
    if search in ("tree", "tan"):
        if (arcs != ALLOWED).any() or start is not None:
            what = "required or forbidden arcs, tiers or a start"
            raise BayesError(f"search={search!r} takes no {what}", hint='search="order"')
        graph = _tree(rows, target)
        settings = replace(settings, search="none", max_parents=MOST_PARENTS)
    else:
        graph = _start(names, start, arcs, max_parents)
    graph, report = search_arcs(rows, graph, arcs, settings, progress)
    network = BayesianNetwork.of_tally(rows.tally(rows.parents(graph), memory_limit), smoothing, memory_limit)
    network.search_ = report
    return network


def _start(names: Sequence[str], start: Any, arcs: Array, max_parents: int) -> Array:
    """Return the start graph with all required arcs, shape (n_nodes, n_nodes)."""
    edges = read_arcs(() if start is None else getattr(start, "edges", start), names, "start")
    graph = (adjacency(names, edges) | (arcs == REQUIRED)).astype(np.uint8)
    if (bad := np.argwhere((graph > 0) & (arcs == FORBIDDEN))).size:
        raise BayesError(f"start= has the forbidden arc {names[bad[0][0]]!r} → {names[bad[0][1]]!r}")
    if graph.sum(axis=0).max(initial=0) > max_parents:
        child = names[int(graph.sum(axis=0).argmax())]
        raise BayesError(f"start= gives {child!r} more than max_parents={max_parents} parents")
    _check_acyclic(names, [(names[a], names[b]) for a, b in np.argwhere(graph)], "the arcs of start=")
    return graph


def search_arcs(
    rows: CodedTable, start: Array, arcs: Array, settings: SearchSettings, progress: Any = None
) -> tuple[Bools, SearchReport]:
    """Search for arcs on the complete rows, with columns in an order drawn by the seed, which breaks ties.

    Ctrl-C ends the search with the best graph so far, and ``report.finished`` is False.

    Returns
    -------
    graph : ndarray of bool, shape (n_nodes, n_nodes)
    report : SearchReport
    """
    n = len(rows.names)
    order = np.random.default_rng(settings.random_state).permutation(n)
    back = np.argsort(order)

    def shuffled(matrix: Array) -> Array:
        return np.ascontiguousarray(matrix[np.ix_(order, order)])

    with Bar(progress) as bar:

        def proceed(done: float, best: float) -> bool:
            bar("arcs", round(1000 * done), 1000, f"score {best:,.1f}" if best else "")
            return True  # the kernel ends the search at a KeyboardInterrupt

        graph, value, n_families, finished = kernels.learn_structure(
            [rows.complete[v] for v in order], rows.n_values[order], settings.score,
            float(settings.equivalent_sample_size), shuffled(arcs), shuffled(start.astype(np.uint8)),
            settings.max_parents, settings.search, settings.random_state, TABU_LENGTH, PATIENCE,
            min(CANDIDATES, max(n - 1, 1)), settings.n_restarts, proceed,
        )  # fmt: skip
    report = SearchReport(settings.score, value, rows.n_complete, n_families, finished)
    graph = graph[np.ix_(back, back)].astype(bool)
    if settings.search != "none":
        _prefer_first_copies(rows, graph, arcs)
    return graph, report


def _prefer_first_copies(rows: CodedTable, graph: Bools, arcs: Array) -> None:
    """Make the first of neighbors that are copies of each other the parent of the others and of their children.

    The score stays the same: copies have the same counts in every family. Columns with constraints are left alone.
    """
    free = ((arcs == ALLOWED).all(axis=0) & (arcs == ALLOWED).all(axis=1)).tolist()
    for a in range(len(graph)):
        seen: set[int] = set()
        while later := {b for b in np.flatnonzero(graph[a] | graph[:, a]).tolist() if b > a} - seen:
            seen.add(b := min(later))
            if not (free[a] and free[b] and _are_copies(rows, a, b)):
                continue
            if graph[b, a]:
                graph[[a, b]] = graph[[b, a]]
                graph[:, [a, b]] = graph[:, [b, a]]
            moved = graph[b] & ~graph[a]  # an arc from a to a child of its child b closes no cycle
            graph[a] |= moved
            graph[b] &= ~moved


def _are_copies(rows: CodedTable, a: int, b: int) -> bool:
    """Return True if the values of two columns tell each other; a few rows show it of most that do not."""
    if rows.n_values[a] != rows.n_values[b]:
        return False
    for n in (256, rows.n_complete):
        together = rows.counts((a, b), {v: rows.complete[v][:n] for v in (a, b)}) > 0
        if together.sum(axis=0).max() > 1 or together.sum(axis=1).max() > 1:
            return False
    return True


def structural_em(
    rows: CodedTable, arcs: Array, start: Array, settings: SearchSettings, progress: Any, memory_limit: int
) -> BayesianNetwork:
    """Alternate between EM of the tables and a search on completed rows, until the arcs stay the same."""
    graph = start.astype(bool)
    seen: list[Bools] = []
    report: SearchReport | None = None
    while True:
        network = fit_rows(rows, rows.parents(graph), pseudo_count=1.0, memory_limit=memory_limit, progress=progress)
        network.search_ = report
        interrupted = report is not None and not report.finished
        if interrupted or len(seen) >= EM_ROUNDS or any((graph == other).all() for other in seen):
            return network
        seen.append(graph)
        completed = replace(rows)
        completed.complete = fill_in(network, rows.codes)
        graph, report = search_arcs(completed, graph.astype(np.uint8), arcs, settings, progress)


def _tree(rows: CodedTable, target: str | None) -> Bools:
    """Return Chow and Liu's tree of the columns, given the target where there is one, with arcs from the target."""
    names = rows.names
    if target is not None and target not in names:
        raise SchemaMismatch(f"target={target!r} is not a column: {nearest(target, names)}")
    others = [v for v, name in enumerate(names) if name != target]
    given = [names.index(target)] if target is not None else []
    weights = np.zeros((len(others), len(others)))
    for i, j in combinations(range(len(others)), 2):
        weights[i, j] = weights[j, i] = max(_dependence(rows, others[i], others[j], given), 0.0)
    tree = best_tree([names[v] for v in others], weights, weights.sum(axis=0).tolist())
    edges = [(parent, child) for child, parent in tree.items()]
    return adjacency(names, edges + [(names[given[0]], names[v]) for v in others] if given else edges)


def _dependence(rows: CodedTable, a: int, b: int, given: Sequence[int]) -> float:
    """Return n · I(a; b | given) in nats from the counts of complete rows."""
    return _g_statistic(rows.counts((*given, a, b)).reshape(-1, rows.n_values[a], rows.n_values[b])) / 2


def structure_score(
    network: Any,
    data: Any,
    score: Score = "bdeu",
    *,
    equivalent_sample_size: float = 1.0,
    roles: Any = None,
    domains: Any = None,
    cuts: Any = ("frequency", 5),
) -> StructureScore:
    """Score the arcs of a network on complete rows of data.

    Parameters
    ----------
    network : BayesianNetwork or iterable of (parent, child)
    data : table
    score : {"bdeu", "bic", "aic", "k2", "log_likelihood"}, default="bdeu"
    equivalent_sample_size : float, default=1.0
    roles, domains, cuts
        As in :func:`learn_network`.

    Returns
    -------
    StructureScore

    Examples
    --------
    >>> rows = {"rain": ["y", "y", "n", "n"] * 10, "wet": ["y", "y", "n", "y"] * 10}
    >>> round(structure_score([("rain", "wet")], rows, "bic").score, 2)
    -47.12
    >>> structure_score([("rain", "wet")], rows, "bic").n_parameters
    3
    """
    one_of("score", score, SCORES)
    if isinstance(network, BayesianNetwork):
        roles = _with_cuts(network, roles)
    rows = read_rows(data, roles, domains, cuts)
    edges = read_arcs(getattr(network, "edges", network), rows.names, "network")
    _check_acyclic(rows.names, edges, "the arcs")
    graph = adjacency(rows.names, edges)
    total = fit = 0.0
    n_parameters = 0
    for child in range(len(rows.names)):
        counts = rows.counts((*np.flatnonzero(graph[:, child]), child)).reshape(-1, rows.n_values[child])
        total += family_score(counts, score, equivalent_sample_size)
        fit += log_likelihood(counts)
        n_parameters += counts.shape[0] * (counts.shape[1] - 1)
    return StructureScore(total, fit, n_parameters, rows.n_complete)


def _with_cuts(network: BayesianNetwork, roles: Any) -> Any:
    """Return the roles of columns, those of numbers with the network's cut points unless declared otherwise."""
    cuts = {name: Numeric(points) for name, points in network.cuts.items()}
    return roles if isinstance(roles, str) else {**cuts, **(roles or {})}


def structure_gain(network: BayesianNetwork, data: Any, **settings: Any) -> float:
    """Return how many bits per row a newly learned structure would save; see ``BayesianNetwork.structure_gain``."""
    roles = _with_cuts(network, settings.pop("roles", None))
    found = learn_network(data, roles=roles, start=network, **settings)
    by = {k: settings[k] for k in ("equivalent_sample_size", "domains", "cuts") if k in settings}
    now = structure_score(network, data, settings.get("score", "bdeu"), roles=roles, **by)
    return float((found.search_.value - now.score) / (now.n_rows * NATS_IN_A_BIT))


def pc(
    data: Any,
    *,
    alpha: float = 0.01,
    max_given: int = 3,
    roles: Any = None,
    domains: Any = None,
    cuts: Any = ("frequency", 5),
    progress: Any = None,
) -> PartialGraph:
    """Find the equivalence class of the network by tests of independence: the PC-stable algorithm with G² tests.

    Two columns stay adjacent while no set of neighbors makes them independent. Colliders and Meek's rules then direct
    edges. The order of the columns does not change the adjacencies. Where tests contradict each other, an arc that was
    directed first stays.

    Parameters
    ----------
    data : table
        Rows with missing cells are left out.
    alpha : float, default=0.01
        Significance level of each test.
    max_given : int, default=3
        Largest set of columns to condition on.
    roles, domains, cuts
        As in :func:`learn_network`.
    progress : bool or callable, optional

    Returns
    -------
    PartialGraph
        Turn it into a network with ``BayesianNetwork.from_data`` after you have chosen directions.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.random((2, 1000)) < 0.5
    >>> print(pc({"a": a, "b": b, "either": np.where(rng.random(1000) < 0.9, a | b, a)}))
    a → either
    b → either
    """
    if not isinstance(alpha, float) or not 0 < alpha < 1:
        raise BayesError(f"alpha={alpha!r}: give a number between 0 and 1")
    check_integer("max_given", max_given, 0, MOST_PARENTS)
    check_progress(progress)
    rows = read_rows(data, roles, domains, cuts)
    if not rows.n_complete:
        raise BayesError("every row has a missing cell, and independence is tested on complete rows")
    n = len(rows.names)
    near = ~np.eye(n, dtype=bool)
    separators: dict[tuple[int, int], tuple[int, ...]] = {}
    with Bar(progress) as bar:
        for size in range(max_given + 1):
            frozen = near.copy()
            pairs = np.argwhere(np.triu(frozen))
            for done, (a, b) in enumerate(pairs):
                bar(f"given {size}", done, len(pairs))
                found = _separator(rows, int(a), int(b), frozen, size, alpha)
                if found is not None:
                    near[a, b] = near[b, a] = False
                    separators[int(a), int(b)] = found
            if near.sum(axis=0).max(initial=0) <= size:
                break
    graph = near.copy()
    for c in range(n):
        for a, b in combinations(np.flatnonzero(near[:, c]), 2):
            if not near[a, b] and c not in separators[int(a), int(b)] and graph[a, c] and graph[b, c]:
                graph[c, a] = graph[c, b] = False
    return partial_graph(rows.names, orient(graph))


def _separator(rows: CodedTable, a: int, b: int, near: Bools, size: int, alpha: float) -> tuple[int, ...] | None:
    """Return neighbors that make two columns independent, or None."""
    for side, other in ((a, b), (b, a)):
        around = [v for v in np.flatnonzero(near[:, side]).tolist() if v != other]
        for given in combinations(around, size):
            if independence_test(rows.counts((*given, a, b)).reshape(-1, rows.n_values[a], rows.n_values[b])) > alpha:
                return given
        if size == 0:
            break
    return None


def independence_test(counts: Array) -> float:
    """Return the p-value of the G² test of a and b given contexts; degrees of freedom follow what occurs.

    Parameters
    ----------
    counts : ndarray of shape (n_contexts, values of a, values of b)

    >>> round(independence_test(np.array([[[20, 10], [10, 20]]])), 4)
    0.0091
    """
    from scipy.special import chdtrc

    rows, columns = (counts.sum(axis=2) > 0).sum(axis=1), (counts.sum(axis=1) > 0).sum(axis=1)
    free = ((rows - 1).clip(0) * (columns - 1).clip(0)).sum()
    return float(chdtrc(free, max(_g_statistic(counts), 0.0))) if free else 1.0


def _g_statistic(counts: Array) -> float:
    """Return G² = 2 n I(a; b | context) of counts, shape (n_contexts, values of a, values of b)."""
    return 2 * (log_likelihood(counts.reshape(-1, counts.shape[2])) - log_likelihood(counts.sum(axis=1)))

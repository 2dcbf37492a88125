"""Learn a Bayesian network from data: its arcs by search or by tests of independence, then its tables.

Teyssier and Koller, "Ordering-based search", 2005; Silander and Myllymäki, "A simple approach for finding the globally
optimal Bayesian network structure", 2006; Chow and Liu, "Approximating discrete probability distributions with
dependence trees", 1968; Colombo and Maathuis, "Order-independent constraint-based causal structure learning", 2014.

Formula: learning the arcs of a network
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy
from scipy.stats import chi2

from bayeskit import kernels
from bayeskit.data.block import Block
from bayeskit.data.encoder import Encoder
from bayeskit.data.frames import open_source
from bayeskit.data.schema import NO_TARGET, Numeric, Schema, infer
from bayeskit.data.vocabulary import Vocabulary
from bayeskit.engines import local
from bayeskit.errors import BayesError, BayesWarning, SchemaMismatch, format_setting
from bayeskit.estimate.cuts import check_cuts, learn_cuts
from bayeskit.estimate.family_scores import SCORES, family_score, log_likelihood
from bayeskit.estimate.information import NATS_IN_A_BIT
from bayeskit.estimate.trees import best_tree
from bayeskit.nearest import did_you_mean, nearest
from bayeskit.network.equivalence import PartialGraph, adjacency, orient, partial_graph
from bayeskit.network.graph import DirectedGraph
from bayeskit.network.learning import NetworkTally, plan_of
from bayeskit.network.network import BayesianNetwork
from bayeskit.network.variable_elimination import MEMORY_LIMIT
from bayeskit.progress import Bar, check_progress
from bayeskit.tally.plan import declared_values
from bayeskit.typing import Array, Bools, Ints

Edge = tuple[str, str]

SEARCHES = ("order", "tabu", "hill_climb", "exact", "tree", "tan")
MOST_VALUES = 1000  # of a column
MOST_PARENTS = 7
MOST_EXACT = 22  # nodes
MOST_TREE = 2**24  # cells of all pairs that are counted for a tree
TABU = {"tabu_length": 10, "patience": 15}
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


@dataclass(eq=False)
class CodedRows:
    """Rows read once as codes: for counting tables, searching arcs and testing independence."""

    schema: Schema
    encoder: Encoder
    blocks: list[Block]

    @cached_property
    def names(self) -> list[str]:
        """Return the columns."""
        return self.schema.used

    @cached_property
    def n_values(self) -> Ints:
        """Return the number of values of each column, shape (n_columns,)."""
        return np.array([len(self.values(name)) for name in self.names], dtype=np.int64)

    def values(self, name: str) -> Sequence[Any]:
        """Return the values of a column, or its intervals."""
        known, role = self.encoder.vocabularies.get(name), self.schema.columns[name]
        if isinstance(role, Numeric) and role.cuts is not None:
            return range(len(role.cuts) + 1)
        return declared_values(self.schema, name) if known is None else known.values

    @cached_property
    def codes(self) -> Ints:
        """Return the values of the cells, shape (n_columns, n_rows); −1 is missing."""
        parts = [np.stack([block.codes[name] for name in self.names]).astype(np.int32) - 1 for block in self.blocks]
        return np.concatenate(parts, axis=1)

    @cached_property
    def complete(self) -> list[Array]:
        """Return the columns of rows without missing cells, as uint16 (n_complete,) each."""
        rows = (self.codes >= 0).all(axis=0)
        return [np.ascontiguousarray(column[rows], dtype=np.uint16) for column in self.codes]

    @property
    def n_complete(self) -> int:
        """Return the number of rows without missing cells."""
        return len(self.complete[0])

    def counts(self, names: Sequence[int], columns: Sequence[Array] | None = None) -> Array:
        """Count combinations of values of some columns, shape (values of each column …)."""
        shape = tuple(int(self.n_values[v]) for v in names)
        columns = self.complete if columns is None else columns
        cells = np.ravel_multi_index([columns[v] for v in names], shape) if names else np.zeros(self.n_complete, int)
        return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)

    def tally(self, parents: Mapping[str, Sequence[str]], memory_limit: int) -> NetworkTally:
        """Count every column with its parents; rows are left out of the tables that need a missing cell."""
        above = {node: tuple(parents[node]) for node in self.names}
        counted = local.count_blocks(self.blocks, self.encoder, plan_of(above), memory_limit)
        return NetworkTally(counted, above).checked()


def read_rows(data: Any, roles: Any = None, domains: Any = None, cuts: Any = ("frequency", 5)) -> CodedRows:
    """Read a table as codes; numbers are cut into intervals."""
    check_cuts(cuts)
    source = open_source(data)
    schema = replace(infer(source.kinds, roles=roles, domains=domains, named=source.named), target=NO_TARGET)
    if schema.texts:
        raise SchemaMismatch(f"column {schema.texts[0]!r} holds text, and a network has tables of values: ignore it")
    if schema.measured:
        schema = learn_cuts(schema, source, dict.fromkeys(schema.measured, cuts))
    encoder = Encoder(schema, classes=Vocabulary(schema.target.domain or ()), grow=True)
    rows = CodedRows(schema, encoder, list(encoder.blocks(source)))
    for name, size in zip(rows.names, rows.n_values, strict=True):
        if size == 0:
            raise BayesError(f"column {name!r} has no value in any row; ignore it, or declare its values in domains=")
        if size > MOST_VALUES:
            raise BayesError(
                f"column {name!r} has {size:,} values; a node of a learned network has at most {MOST_VALUES:,}",
                hint=f"leave it out with {format_setting('roles', {name: 'ignore'})}, or group its values",
            )
    return rows


def read_arcs(arcs: Iterable[Any], names: Sequence[str], setting: str) -> list[Edge]:
    """Check arcs (parent, child) given by the user."""
    checked = []
    for arc in arcs:
        if isinstance(arc, str) or len(arc) != 2:
            raise BayesError(f"{setting}={arc!r}: an arc is (parent, child)")
        for node in arc:
            if node not in names:
                raise SchemaMismatch(
                    f"{setting}={tuple(arc)!r} names {node!r}, which is no column: {nearest(node, names)}"
                )
        if arc[0] == arc[1]:
            raise BayesError(f"{setting}={tuple(arc)!r}: a node is no parent of itself")
        checked.append((arc[0], arc[1]))
    return checked


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
    for number, tier in enumerate(tiers):
        for name in [tier] if isinstance(tier, str) else tier:
            if name not in at:
                raise SchemaMismatch(f"tiers= names {name!r}, which is no column: {nearest(name, names)}")
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


def _one_of(setting: str, value: Any, known: Sequence[str]) -> None:
    if value not in known:
        raise BayesError(f"{setting}={value!r} is not one of {', '.join(known)}{did_you_mean(value, known)}")


def _check_number(setting: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        raise BayesError(f"{setting}={value!r}: give a whole number from {least} to {most}")


def learn_network(
    data: Any,
    *,
    score: str = "bdeu",
    search: str = "order",
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
    progress: Any = None,
    memory_limit: int = MEMORY_LIMIT,
) -> BayesianNetwork:
    """Learn the arcs and the tables of a Bayesian network.

    The search uses the rows without missing cells; a warning counts the others. The tables then use all rows, each row
    in the tables whose cells it has. Arrows of a learned network show dependence, not cause: see
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
    required, forbidden : iterable of (parent, child)
    tiers : sequence of sequences of str
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
        Breaks ties between equal scores and draws the restarts.
    progress : bool or callable, optional
        True shows a bar; a function is called with (stage, done, of). Ctrl-C ends the search with the best network so
        far.
    memory_limit : int

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
    _one_of("score", score, SCORES)
    _one_of("search", search, SEARCHES)
    _check_number("max_parents", max_parents, 0, MOST_PARENTS)
    _check_number("n_restarts", n_restarts, 0, 10**6)
    _check_number("random_state", random_state, 0, 2**63 - 1)
    if not isinstance(equivalent_sample_size, (int, float)) or not 0 < equivalent_sample_size < 1e9:
        raise BayesError(f"equivalent_sample_size={equivalent_sample_size!r}: give a number above 0")
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
    if rows.n_complete < rows.codes.shape[1]:
        warnings.warn(
            f"{rows.codes.shape[1] - rows.n_complete:,} of {rows.codes.shape[1]:,} rows have a missing cell and were "
            "left out of the search for arcs. learn_network_em uses them.",
            BayesWarning,
            stacklevel=2,
        )
    if not rows.n_complete:
        raise BayesError(
            "every row has a missing cell, and arcs are searched on complete rows", hint="learn_network_em"
        )
    if search in ("tree", "tan"):
        if (arcs != ALLOWED).any() or start is not None:
            what = "required or forbidden arcs, tiers or a start"
            raise BayesError(f"search={search!r} takes no {what}", hint='search="order"')
        graph, search, max_parents = _tree(rows, target), "none", MOST_PARENTS
    else:
        graph = _start(names, start, arcs, max_parents)
    graph, report = _search(
        rows, graph, arcs, score, equivalent_sample_size, search, max_parents, n_restarts, random_state, progress
    )
    parents = {name: [names[p] for p in np.flatnonzero(graph[:, v])] for v, name in enumerate(names)}
    network = BayesianNetwork.of_tally(rows.tally(parents, memory_limit), smoothing, memory_limit)
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


def _search(
    rows: CodedRows, start: Array, arcs: Array, score: str, equivalent_sample_size: float, search: str,
    max_parents: int, n_restarts: int, seed: int, progress: Any,
) -> tuple[Bools, SearchReport]:  # fmt: skip
    """Run the kernel on columns in an order drawn by the seed, which breaks ties."""
    n = len(rows.names)
    order = np.random.default_rng(seed).permutation(n)
    back = np.argsort(order)

    def shuffled(matrix: Array) -> Array:
        return np.ascontiguousarray(matrix[np.ix_(order, order)])

    interrupted = False
    with Bar(progress) as bar:

        def proceed(done: float, best: float) -> bool:
            nonlocal interrupted
            try:
                bar("arcs", round(1000 * done), 1000, f"score {best:,.1f}" if best else "")
            except KeyboardInterrupt:
                interrupted = True
            return not interrupted

        graph, value, n_families, finished = kernels.learn_structure(
            [rows.complete[v] for v in order], rows.n_values[order], score, float(equivalent_sample_size),
            shuffled(arcs), shuffled(start.astype(np.uint8)), max_parents, search, seed,
            TABU["tabu_length"], TABU["patience"], min(CANDIDATES, max(n - 1, 1)), n_restarts, proceed,
        )  # fmt: skip
    report = SearchReport(score, value, rows.n_complete, n_families, finished)
    return graph[np.ix_(back, back)].astype(bool), report


def _tree(rows: CodedRows, target: str | None) -> Bools:
    """Return Chow and Liu's tree of the columns, given the target where there is one, with arcs from the target."""
    names = rows.names
    if target is not None and target not in names:
        raise SchemaMismatch(f"target={target!r} is no column: {nearest(target, names)}")
    others = [v for v, name in enumerate(names) if name != target]
    given = [names.index(target)] if target is not None else []
    weights = np.zeros((len(others), len(others)))
    for i, j in combinations(range(len(others)), 2):
        weights[i, j] = weights[j, i] = max(_dependence(rows, others[i], others[j], given), 0.0)
    tree = best_tree([names[v] for v in others], weights, weights.sum(axis=0).tolist())
    edges = [(parent, child) for child, parent in tree.items()]
    return adjacency(names, edges + [(names[given[0]], names[v]) for v in others] if given else edges)


def _dependence(rows: CodedRows, a: int, b: int, given: Sequence[int]) -> float:
    """Return n · I(a; b | given) in nats from the counts of complete rows."""
    counts = rows.counts((*given, a, b)).reshape(-1, rows.n_values[a], rows.n_values[b])
    margins = [xlogy(t, t).sum() for t in (counts, counts.sum(axis=1), counts.sum(axis=2), counts.sum(axis=(1, 2)))]
    return float(margins[0] - margins[1] - margins[2] + margins[3])


def structure_score(
    network: Any,
    data: Any,
    score: str = "bdeu",
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
    _one_of("score", score, SCORES)
    if isinstance(network, BayesianNetwork) and network.tally_ is not None:
        schema = network.tally_.schema
        roles = {**{n: role for n, role in schema.columns.items() if n in network.cuts}, **(roles or {})}
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
    _check_number("max_given", max_given, 0, MOST_PARENTS)
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


def _separator(rows: CodedRows, a: int, b: int, near: Bools, size: int, alpha: float) -> tuple[int, ...] | None:
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
    rows, columns, total = counts.sum(axis=2), counts.sum(axis=1), counts.sum(axis=(1, 2))
    terms = [xlogy(t, t).sum() for t in (counts, rows, columns, total)]
    free = (((rows > 0).sum(axis=1) - 1).clip(0) * ((columns > 0).sum(axis=1) - 1).clip(0)).sum()
    return float(chi2.sf(2 * (terms[0] - terms[1] - terms[2] + terms[3]), free)) if free else 1.0

"""BayesianNetwork: a directed graph of conditional probability tables with exact inference.

Formula: P(x) = Π P(x_i ∣ parents)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from bayeskit import logspace
from bayeskit.data.vocabulary import Value
from bayeskit.drawable import Drawable
from bayeskit.errors import BadFile, BayesError, SchemaMismatch
from bayeskit.estimate.information import NATS_IN_A_BIT, conditional_information
from bayeskit.explain.structure import Arc, Node, StructureDescription, StructureGraph
from bayeskit.memory import memory_size
from bayeskit.nearest import nearest
from bayeskit.network import inputs, learning, persistence
from bayeskit.network.answers import Distribution, answer_from_network, conditional_table, distribution_from_network
from bayeskit.network.equivalence import PartialGraph, adjacency, class_of, partial_graph
from bayeskit.network.graph import DirectedGraph, as_set, bits
from bayeskit.network.inputs import EvidenceReader, Findings, contradiction_error, read_single_row
from bayeskit.network.junction_tree import JunctionTree, draw_columns, find_cliques
from bayeskit.network.query import Domain, parse
from bayeskit.network.variable_elimination import MEMORY_LIMIT, Factorization, eliminate
from bayeskit.storage.model_file import Saved, save_new
from bayeskit.tables import ROWS, Grid, ProbabilityTable, Readable, Sheet, Table, left_out
from bayeskit.threads import thread_count
from bayeskit.typing import Array, Floats, Ints

LARGEST = 100_000  # maximum number of cells of a family for arc information
MOST = 80  # maximum number of nodes for arc information
LINES = 12  # maximum number of lines of a node's table


class MostProbableExplanation(NamedTuple):
    """Most probable state of every node together, and ln P(states, evidence)."""

    states: dict[str, Value]
    log_probability: float


class JunctionTreeCost(NamedTuple):
    """Size of a junction tree, known before it is built."""

    cliques: int
    largest: int
    cells: int
    bytes: int

    def __str__(self) -> str:
        return f"{self.cliques} cliques, the largest of {self.largest:,} cells, {memory_size(self.bytes)} in all"


class BayesianNetwork(Readable, Drawable):
    """Bayesian network: P(x_1 … x_n) = Π P(x_i | parents of x_i), with exact inference.

    Parameters
    ----------
    edges : iterable of (parent, child)
    tables : dict
        For each node ``{state: p}``, or ``{context: {state: p}}`` for a node with parents; the context is the parent's
        state, or a tuple of states in the order of the edges. A number p stands for ``{True: p, False: 1 − p}``. Arrays
        of shape (*parents, n_states) are accepted if ``states`` declares the states.
    states : dict, optional
        States of each node.
    memory_limit : int, default=4 GiB
        Work that needs more bytes raises an error before it starts.

    Attributes
    ----------
    nodes : tuple of str
    parents : dict
    states : dict

    Examples
    --------
    >>> n = BayesianNetwork(
    ...     [("cold", "sneezes"), ("hay_fever", "sneezes")],
    ...     {"cold": 0.1, "hay_fever": 0.2,
    ...      "sneezes": {(True, True): 0.95, (True, False): 0.9, (False, True): 0.8, (False, False): 0.05}})
    >>> round(n.posterior({"sneezes": True})["cold"][True], 4)
    0.3358
    >>> round(n.query("P(cold | sneezes and hay_fever)"), 4)     # explained away
    0.1166
    """

    def __init__(
        self,
        edges: Iterable[tuple[str, str]],
        tables: Mapping[str, Any],
        states: Mapping[str, Sequence[Any]] | None = None,
        *,
        memory_limit: int = MEMORY_LIMIT,
    ) -> None:
        parents = inputs.read_parents(edges, tables)
        for node in states or {}:
            if node not in parents:
                raise SchemaMismatch(f"states= names {node!r}, which is not a node: {nearest(node, parents)}")
        known = {n: inputs.read_states(n, t, bool(parents[n]), (states or {}).get(n)) for n, t in tables.items()}
        cards, cost = {node: len(values) for node, values in known.items()}, 0
        for node in tables:
            cost = inputs.check_table_size(node, parents[node], cards, cost, memory_limit)
        arrays = {node: inputs.read_table(node, table, parents[node], known) for node, table in tables.items()}
        tables = inputs.normalize_tables(arrays, parents, known)
        self._set(parents, known, tables, memory_limit=memory_limit)

    def _set(
        self,
        parents: Mapping[str, Sequence[str]],
        states: Mapping[str, tuple[Value, ...]],
        tables: Mapping[str, Floats],
        cuts: Mapping[str, tuple[float, ...]] | None = None,
        counts: learning.NetworkTally | None = None,
        memory_limit: int = MEMORY_LIMIT,
    ) -> None:
        self.nodes = tuple(tables)
        self.parents = {node: tuple(parents[node]) for node in self.nodes}
        self.states = {node: tuple(states[node]) for node in self.nodes}
        self.cuts = dict(cuts or {})
        self.tally_ = counts
        self.memory_limit = memory_limit
        self._reader = EvidenceReader(self.nodes, self.states, self.cuts)
        index = self._reader.index
        self._graph = DirectedGraph([[index[p] for p in self.parents[node]] for node in self.nodes])
        self._cards = [len(self.states[node]) for node in self.nodes]
        self._tables = [tables[node] for node in self.nodes]
        self._factorization = Factorization(self._graph, self._cards, self._tables)

    @classmethod
    def of_arrays(cls, *arrays: Any, **settings: Any) -> Self:
        """Build a network from parents, states and valid tables, shape (n_contexts, n_states), as ``_set`` does.

        Parameters
        ----------
        *arrays, **settings
            As for the constructor: parents, states, tables and cut points.

        Returns
        -------
        BayesianNetwork
        """
        self = cls.__new__(cls)
        self._set(*arrays, **settings)
        return self

    # -- learning ------------------------------------------------------------------------------------

    @classmethod
    def from_data(
        cls,
        edges: Iterable[tuple[str, str]],
        data: Any,
        *,
        smoothing: Any = 1.0,
        roles: Any = None,
        domains: Mapping[str, Iterable[Any]] | None = None,
        sample_weight: Any = None,
        engine: Any = None,
        memory_limit: int = MEMORY_LIMIT,
    ) -> Self:
        """Learn the tables of a network with given edges: P(v | context) = (n + a) / (N + Σa).

        A row with a missing cell is skipped in the tables that need the cell.

        Parameters
        ----------
        edges : iterable of (parent, child)
        data : table
            Or a Spark or Dask frame, which is counted where it is.
        smoothing : float, str or smoothing, default=1.0
        roles : dict, optional
            "ignore" leaves a column out. Numbers need cut points, ``roles={"age": Numeric(cuts=(25, 50))}``, or
            "categorical".
        domains : dict, optional
            Values of columns.
        sample_weight : array-like of shape (n_rows,), or name of a column, optional
        engine : Processes, Spark or Dask, optional
            Where to count, as for :meth:`NaiveBayes.fit_source`.
        memory_limit : int, default=4 GiB

        Returns
        -------
        BayesianNetwork

        Examples
        --------
        >>> rows = {"rain": ["y", "y", "n", "n"], "wet": ["y", "y", "y", "n"]}
        >>> n = BayesianNetwork.from_data([("rain", "wet")], rows, smoothing=0)
        >>> n.query("P(rain = y | wet = y)")
        0.6666666666666666
        """
        source = learning.open_rows(data, sample_weight, engine)
        counts = learning.count(edges, source, roles, domains, memory_limit)
        return cls.of_tally(counts, smoothing, memory_limit)

    @classmethod
    def of_tally(cls, counts: learning.NetworkTally, smoothing: Any, memory_limit: int) -> Self:
        """Build a network from counts.

        Parameters
        ----------
        counts : NetworkTally
        smoothing : float or smoothing rule
        memory_limit : int, default=4 GiB

        Returns
        -------
        BayesianNetwork
        """
        tables = counts.estimate(smoothing)
        n = cls.of_arrays(counts.parents, counts.display_states, tables, counts.cuts, counts, memory_limit)
        n.smoothing = smoothing
        return n

    smoothing: Any = None
    search_: Any = None  # report of the search that found the arcs
    em_: Any = None  # report of EM, where it estimated the tables

    def learn(self, data: Any, sample_weight: Any = None, engine: Any = None) -> Self:
        """Return a new network that has also counted these rows.

        Parameters
        ----------
        data : table
            May have new values.
        sample_weight : array-like of shape (n_rows,), optional
        engine : Processes, Spark or Dask, optional

        Returns
        -------
        BayesianNetwork
        """
        old = self._counted("learn")
        return self._with_tally(old + old.count_rows(data, sample_weight, engine, self.memory_limit))

    def forget(self, data: Any, sample_weight: Any = None, engine: Any = None) -> Self:
        """Return a new network without these rows, which must have been counted.

        Parameters
        ----------
        data : table
        sample_weight : array-like of shape (n_rows,), optional
        engine : Processes, Spark or Dask, optional

        Returns
        -------
        BayesianNetwork
        """
        old = self._counted("forget")
        return self._with_tally(old - old.count_rows(data, sample_weight, engine, self.memory_limit))

    def merge(self, other: BayesianNetwork) -> Self:
        """Return a new network of the rows of both, with this one's smoothing.

        Parameters
        ----------
        other : BayesianNetwork
            With the same edges.

        Returns
        -------
        BayesianNetwork
        """
        return self._with_tally(self._counted("merge") + other._counted("merge"))

    def _with_tally(self, counts: learning.NetworkTally) -> Self:
        """Return a network of other counts with the same settings."""
        return self.of_tally(counts, self.smoothing, self.memory_limit)

    def __add__(self, other: object) -> Self:
        return self.merge(other) if isinstance(other, BayesianNetwork) else NotImplemented

    def _counted(self, what: str) -> learning.NetworkTally:
        if self.tally_ is None:
            raise BayesError(f"{what}: this network was written, not counted; make one with from_data first")
        return self.tally_

    # -- persistence ---------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the network to a ``.bayes`` file for :func:`bayeskit.load`.

        A counted network keeps its counts, so it can learn and forget after loading.

        Parameters
        ----------
        path : str or Path

        Examples
        --------
        >>> import tempfile
        >>> from bayeskit import load
        >>> n = BayesianNetwork([("cold", "sneezes")], {"cold": 0.1, "sneezes": {True: 0.9, False: 0.05}})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     n.save(f"{folder}/cold.bayes")
        ...     load(f"{folder}/cold.bayes") == n
        True
        """
        save_new(path, self._to_saved())

    def _to_saved(self) -> Saved:
        """Return the content of a model file."""
        persistence.check_class(self, BayesianNetwork)
        return persistence.network_content(self)

    @classmethod
    def _of_saved(cls, saved: Saved) -> Self:
        """Restore the network from a file."""
        if saved.tally is not None:
            if saved.state is not None or saved.settings.keys() != {"smoothing"}:
                raise BadFile("a counted network holds counts and their smoothing, and nothing else")
            return cls.of_tally(persistence.restore_counts(saved.counted()), saved.settings["smoothing"], MEMORY_LIMIT)
        return cls.of_arrays(*persistence.restore_tables(saved.wrapped()))

    # -- inference -----------------------------------------------------------------------------------

    def posterior(
        self, evidence: Any = None, nodes: Sequence[str] | None = None, *, n_threads: int | None = None
    ) -> dict[str, Any]:
        """Return P(node | evidence) of all nodes, or of some.

        Parameters
        ----------
        evidence : dict, list of pairs, or table, optional
            One row: ``{node: state}``, or ``{node: {state: likelihood}}`` for soft evidence. A table has a column per
            node; missing cells are ignored.
        nodes : sequence of str, optional
        n_threads : int, optional

        Returns
        -------
        dict
            ``{node: {state: p}}`` for one row, ``{node: ndarray of shape (n_rows, n_states)}`` for a table.
        """
        find = self._reader.find
        wanted = list(range(len(self.nodes))) if nodes is None else [find(node) for node in _as_list(nodes)]
        findings = read_single_row(evidence)
        if findings is None:
            parts = [self._rows(*rows, wanted, n_threads) for rows in self._reader.rows(evidence)]
            return {self.nodes[v]: np.concatenate([p[k] for p in parts]) for k, v in enumerate(wanted)}
        likelihood_of = self._reader.read(findings)
        if nodes is not None and "tree" not in vars(self):
            listed = [p for v in wanted for p in self._eliminated(v, likelihood_of, findings).tolist()]
        else:
            likelihoods = np.concatenate([*likelihood_of.values()] if likelihood_of else [np.zeros(0)])[None]
            posteriors, log_evidence = self.tree.propagate(list(likelihood_of), likelihoods, wanted)
            if log_evidence[0] == -np.inf:
                raise self._contradiction(findings)
            listed = posteriors[0].tolist()
        p = iter(listed)
        return {self.nodes[v]: {state: next(p) for state in self.states[self.nodes[v]]} for v in wanted}

    def query(self, text: str) -> float:
        """Return P(event | condition) of a query such as ``"P(wet | rain = y and not cold)"``.

        Parameters
        ----------
        text : str

        Returns
        -------
        float
        """
        return answer_from_network(self, parse(text))

    def distribution(self, text: str) -> Distribution:
        """Return the distribution of a node, for a query such as ``"P(tub | dysp = yes or xray = yes)"``.

        Parameters
        ----------
        text : str
            ``E(node | …)`` checks that the values are numbers.

        Returns
        -------
        Distribution
        """
        return distribution_from_network(self, parse(text))

    def log_evidence(self, evidence: Any = None, *, n_threads: int | None = None) -> Any:
        """Return ln P(evidence), −∞ if it is impossible.

        Parameters
        ----------
        evidence : optional
            As in :meth:`posterior`.
        n_threads : int, optional

        Returns
        -------
        float, or ndarray of shape (n_rows,) for a table
        """
        findings = read_single_row(evidence)
        if findings is None:
            rows, threads = self._reader.rows(evidence), thread_count(n_threads)
            return np.concatenate([self.tree.propagate(v, likelihoods, [], threads)[1] for _, v, likelihoods in rows])
        return self._joint_table([], self._reader.read(findings))[1]

    def _joint_table(self, nodes: Sequence[int], likelihoods: Mapping[int, Floats]) -> tuple[Floats, float]:
        """Return P(nodes, findings) as a table, and the log of its scale; nodes by number."""
        table, log_scale = eliminate(self._factorization, nodes, likelihoods, self.memory_limit)
        total = float(table.sum())
        return table / (total or 1.0), log_scale + float(logspace.log(total))

    def most_probable(self, evidence: Any = None) -> MostProbableExplanation:
        """Return the most probable explanation: the most probable states of all nodes together.

        Parameters
        ----------
        evidence : dict or list of pairs, optional

        Returns
        -------
        MostProbableExplanation
        """
        findings = self._one(evidence, "most_probable")
        states, log_probability = self.tree.most_probable(self._reader.read(findings))
        if log_probability == -np.inf:
            raise self._contradiction(findings)
        found = {node: self.states[node][s] for node, s in zip(self.nodes, states, strict=True)}
        return MostProbableExplanation(found, log_probability)

    def predict_proba(self, data: Any, target: str, *, n_threads: int | None = None) -> Floats:
        """Return P(target | the other cells of each row).

        Parameters
        ----------
        data : table
            Any cell or column may be missing; columns that are not nodes are ignored.
        target : str
        n_threads : int, optional

        Returns
        -------
        ndarray of shape (n_rows, n_states)
        """
        v = self._reader.find(target)
        parts = [self._rows(*rows, [v], n_threads)[0] for rows in self._reader.rows(data, ignore=[target])]
        return np.concatenate([np.zeros((0, self._cards[v])), *parts])

    def predict(self, data: Any, target: str) -> Array:
        """Return the most probable state of the target in each row; ties go to the first state.

        Parameters
        ----------
        data : table
        target : str

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        best = self.predict_proba(data, target).argmax(axis=1)
        return np.array(self.states[target])[best]

    def sample(self, n: int, evidence: Any = None, random_state: Any = None) -> Table:
        """Draw rows from the network, or exactly from P(everything | evidence).

        Parameters
        ----------
        n : int
        evidence : dict or list of pairs, optional
        random_state : int, optional

        Returns
        -------
        Table
        """
        rng = np.random.default_rng(random_state)
        findings = self._one(evidence, "sample")
        likelihoods = self._reader.read(findings)
        if likelihoods:
            if self.log_evidence(findings) == -np.inf:
                raise self._contradiction(findings)
            drawn = self.tree.sample(likelihoods, n, rng)
        else:
            drawn = self._forward(n, rng)
        return Table({node: [*map(self.states[node].__getitem__, drawn[:, v])] for v, node in enumerate(self.nodes)})

    # -- the graph -----------------------------------------------------------------------------------

    def d_separated(self, a: str, b: str, given: Iterable[str] = ()) -> bool:
        """Return True if a and b are independent given some nodes, whatever the tables.

        Parameters
        ----------
        a, b : str
        given : iterable of str, optional

        Returns
        -------
        bool
        """
        find = self._reader.find
        return self._graph.d_separated(find(a), find(b), as_set(find(g) for g in _as_list(given)))

    def markov_blanket(self, node: str) -> list[str]:
        """Return the parents, the children and the children's other parents of a node.

        Parameters
        ----------
        node : str

        Returns
        -------
        list of str
        """
        return [self.nodes[v] for v in bits(self._graph.markov_blanket(self._reader.find(node)))]

    def do(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> BayesianNetwork:
        """Return the network after an intervention that sets some nodes, whatever their parents (Pearl's do).

        The arrows are taken as causes. Data alone cannot confirm that: see :meth:`cpdag` for the arrows that
        independences determine, and even these assume that no common cause is left out.

        Parameters
        ----------
        values : mapping of str to state, optional
            Or as keywords: ``do(sprinkler=True)``.

        Returns
        -------
        BayesianNetwork

        Examples
        --------
        >>> n = BayesianNetwork([("rain", "wet"), ("rain", "umbrella")],
        ...                     {"rain": 0.3, "wet": {True: 0.9, False: 0.1}, "umbrella": {True: 0.8, False: 0.1}})
        >>> round(n.query("P(rain | umbrella)"), 3), n.do(umbrella=True).query("P(rain)")
        (0.774, 0.3)
        """
        wanted = {**(values or {}), **named}
        if not wanted:
            raise BayesError("do() sets no node: do(x=value), or do({'x': value})")
        parents, tables = dict(self.parents), dict(zip(self.nodes, self._tables, strict=True))
        for node, value in wanted.items():
            likelihood = self._reader.likelihood(self._reader.find(node), value)
            if np.count_nonzero(likelihood) != 1:
                raise BayesError(f"do({node}={value!r}): an intervention sets one state")
            parents[node], tables[node] = (), (likelihood > 0).astype(np.float64)[None]
        return BayesianNetwork.of_arrays(parents, self.states, tables, self.cuts, None, self.memory_limit)

    def adjustment_sets(self, cause: str, effect: str, most: int = 4) -> list[tuple[str, ...]]:
        """Return the smallest sets of nodes that satisfy the backdoor criterion (Pearl 1993).

        Given such a set Z, P(effect | do(cause)) = Σ_z P(effect | cause, z) P(z) if the arrows are causes.

        Parameters
        ----------
        cause, effect : str
        most : int, default=4
            Largest size that is tried.

        Returns
        -------
        list of tuple of str
            All sets of the smallest size that serves; an empty tuple means that nothing needs adjusting, an empty list
            that no set of up to ``most`` nodes serves.

        Examples
        --------
        >>> n = BayesianNetwork([("age", "drug"), ("age", "well"), ("drug", "well")],
        ...     {"age": 0.5, "drug": {True: 0.2, False: 0.7},
        ...      "well": {(True, True): 0.6, (True, False): 0.3, (False, True): 0.9, (False, False): 0.8}})
        >>> n.adjustment_sets("drug", "well")
        [('age',)]
        """
        x, y = self._reader.find(cause), self._reader.find(effect)
        graph = self._graph
        cut = DirectedGraph(
            [[p for p in above if p != x] for above in graph.parents]
        )  # arrows out of the cause removed
        related = graph.ancestors(1 << x | 1 << y)
        usable = [
            v for v in bits(related) if v not in (x, y) and not graph.ancestors(1 << v) >> x & 1
        ]  # no descendant of the cause
        for size in range(min(most, len(usable)) + 1):
            found = [z for z in itertools.combinations(usable, size) if cut.d_separated(x, y, as_set(z))]
            if found:
                return [tuple(self.nodes[v] for v in z) for z in found]
        return []

    def structure_gain(self, data: Any, **settings: Any) -> float:
        """Return how many bits per row a newly learned structure would save on data.

        Parameters
        ----------
        data : table
        **settings
            Of :func:`learn_network`, such as ``score`` and ``max_parents``.

        Returns
        -------
        float
            (best score found − score of the present arcs) / rows, in bits. About 0 while the structure still fits.
        """
        from bayeskit.network.structure import structure_gain

        return structure_gain(self, data, **settings)

    def to_networkx(self) -> Any:
        """Return a ``networkx.DiGraph`` with the nodes' ``states`` and ``table`` (*parents, n_states) as attributes.

        Returns
        -------
        networkx.DiGraph
        """
        import networkx as nx

        graph = nx.DiGraph()
        for node in self.nodes:
            graph.add_node(node, states=self.states[node], table=self.array(node), parents=self.parents[node])
        graph.add_edges_from(self.edges)
        return graph

    @classmethod
    def from_networkx(cls, graph: Any) -> Self:
        """Build a network from a ``networkx.DiGraph`` whose nodes have ``states`` and ``table``.

        Parameters
        ----------
        graph : networkx.DiGraph
            As :meth:`to_networkx` makes it. ``parents`` gives the order of a table's axes, by default the edges'.

        Returns
        -------
        BayesianNetwork
        """
        for node, known in graph.nodes(data=True):
            if "table" not in known or "states" not in known:
                raise BayesError(f"node {node!r} of the graph has no states= and table=: set them as node attributes")
        parents = {
            node: tuple(known.get("parents", graph.predecessors(node))) for node, known in graph.nodes(data=True)
        }
        for node, above in parents.items():
            if sorted(above) != sorted(graph.predecessors(node)):
                raise BayesError(f"node {node!r} of the graph has parents= {above}, and other edges")
        edges = [(p, node) for node, above in parents.items() for p in above]
        return cls(edges, dict(graph.nodes(data="table")), dict(graph.nodes(data="states")))

    @property
    def edges(self) -> list[tuple[str, str]]:
        """(parent, child) of every arrow."""
        return [(parent, child) for child in self.nodes for parent in self.parents[child]]

    @property
    def n_parameters_(self) -> int:
        """Number of free parameters: Σ contexts · (states − 1)."""
        return sum(prod(len(self.states[p]) for p in self.parents[n]) * (len(self.states[n]) - 1) for n in self.nodes)

    def cpdag(self) -> PartialGraph:
        """Return the equivalence class: arcs whose direction the independences determine, and undirected edges.

        Returns
        -------
        PartialGraph
        """
        return partial_graph(self.nodes, class_of(adjacency(self.nodes, self.edges)))

    def table(self, node: str) -> ProbabilityTable:
        """Return P(node | parents), one row per context.

        Parameters
        ----------
        node : str

        Returns
        -------
        ProbabilityTable
        """
        name = self.nodes[self._reader.find(node)]
        parents, states = self.parents[name], self.states[name]
        contexts = itertools.product(*(self.states[p] for p in parents))
        given = dict(zip(parents, zip(*contexts, strict=True), strict=True))
        counts = None if self.tally_ is None else self.tally_.contexts(name).tolist()
        return conditional_table(name, states, given, self.array(name).reshape(-1, len(states)), counts)

    def array(self, node: str) -> Floats:
        """Return P(node | parents) as an array of shape (*parents, n_states).

        Parameters
        ----------
        node : str

        Returns
        -------
        ndarray
        """
        at = self._reader.find(node)
        shape = [len(self.states[p]) for p in (*self.parents[node], node)]
        return self._tables[at].reshape(shape).copy()

    def describe_structure(self) -> StructureDescription:
        """Return the arcs with their information I(child; parent | other parents) in bits, and the graph.

        Returns
        -------
        StructureDescription
        """
        bits = _arc_bits(self) if len(self.nodes) <= MOST else {}
        edges = sorted(self.edges, key=lambda edge: -bits.get(edge, 0.0))
        columns = {"parent": [a for a, _ in edges], "child": [b for _, b in edges]}
        table = Table({**columns, "bits": [bits.get(edge) for edge in edges]} if bits else columns, keys=2)
        at = self._reader.index
        arcs = tuple(Arc(at[a], at[b], bits.get((a, b))) for a, b in self.edges)
        nodes = tuple(Node(node, _lines(self, node)) for node in self.nodes)
        head = f"Dependencies of {len(nodes):,} nodes"
        return StructureDescription(head, table, (), StructureGraph(head, nodes, arcs))

    def to_dot(self) -> str:
        """Return the graph as Graphviz text.

        Returns
        -------
        str
        """
        lines = [f"  {_quoted(node)};" for node in self.nodes]
        lines += [f"  {_quoted(parent)} -> {_quoted(child)};" for parent, child in self.edges]
        return "\n".join(["digraph {", *lines, "}"])

    def page(self, path: str | Path | None = None) -> Any:
        """Return a self-contained HTML page on which a click observes a state, and the browser computes posteriors.

        Parameters
        ----------
        path : str or Path, optional
            File to write.

        Returns
        -------
        ModelPage
            A notebook shows it; ``html`` is the document.

        Examples
        --------
        >>> n = BayesianNetwork([("cold", "sneezes")], {"cold": 0.1, "sneezes": {True: 0.9, False: 0.05}})
        >>> n.page().html[:15]
        '<!doctype html>'
        """
        return import_module("bayeskit.report.page").model_page(self, path)

    @property
    def sheet(self) -> Sheet:
        """Factorization, states and parents, for display."""
        first = self.nodes[:ROWS]
        factors = [f"P({node}{' | ' if self.parents[node] else ''}{', '.join(self.parents[node])})" for node in first]
        more = len(self.nodes) - len(first)
        columns = {
            "node": first,
            "states": [", ".join(map(str, self.states[node])) for node in first],
            "parents": [", ".join(self.parents[node]) for node in first],
        }
        return Sheet(repr(self)[1:-1], (" ".join(factors + left_out(more)), "", Grid(columns, more)))

    def __repr__(self) -> str:
        facts = f"{len(self.nodes)} nodes, {len(self.edges)} edges, {self.n_parameters_:,} parameters"
        return f"<BayesianNetwork of {facts}>"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, BayesianNetwork)
            and self.parents == other.parents
            and self.states == other.states
            and all(np.array_equal(self.array(node), other.array(node)) for node in self.nodes)
        )

    __hash__ = None  # type: ignore[assignment]

    # -- junction tree -------------------------------------------------------------------------------

    def cost(self) -> JunctionTreeCost:
        """Return the size of the junction tree without building it.

        Returns
        -------
        JunctionTreeCost
        """
        cliques = find_cliques(self._graph, self._cards, self.memory_limit)
        sizes = [prod(self._cards[v] for v in bits(nodes)) for nodes in cliques.members]
        return JunctionTreeCost(len(sizes), max(sizes), sum(sizes), cliques.bytes_needed(self._cards))

    @cached_property
    def tree(self) -> JunctionTree:
        """Junction tree, compiled on first use."""
        return JunctionTree(self._factorization, self.memory_limit)

    # -- internals -----------------------------------------------------------------------------------

    @cached_property
    def _domains(self) -> dict[str, Domain]:
        """Domains of the nodes for the query language."""
        return {node: Domain(node, self.states[node], self.cuts.get(node)) for node in self.nodes}

    def _one(self, evidence: Any, what: str) -> Findings:
        findings = read_single_row(evidence)
        if findings is None:
            raise BayesError(f"{what} takes the evidence of one row: a mapping from node to state")
        return findings

    def _eliminated(self, v: int, likelihoods: Mapping[int, Floats], findings: Findings) -> Floats:
        table, _ = eliminate(self._factorization, [v], likelihoods, self.memory_limit, with_evidence=False)
        if not table.any():
            raise self._contradiction(findings)
        return table / table.sum()

    def _rows(
        self, start: int, observed: list[int], likelihoods: Floats, wanted: list[int], n_threads: int | None
    ) -> list[Floats]:
        posteriors, log_evidence = self.tree.propagate(observed, likelihoods, wanted, thread_count(n_threads))
        if np.isneginf(log_evidence).any():
            row = int(np.argmin(log_evidence))
            findings: Findings = []
            for v, p in zip(observed, self.tree.split(likelihoods[row], observed), strict=True):
                node, at = self.nodes[v], np.flatnonzero(p)
                if len(at) == 1:
                    findings.append((node, self.states[node][at[0]]))
                elif not np.array_equal(p, np.ones(len(p))):
                    findings.append((node, dict(zip(self.states[node], p.tolist(), strict=True))))
            raise self._contradiction(findings, f"row {start + row}: ")
        return self.tree.split(posteriors, wanted)

    def _contradiction(self, findings: Findings, place: str = "") -> Exception:
        return contradiction_error(findings, lambda some: self.log_evidence(some) > -np.inf, place)

    def _forward(self, n: int, rng: np.random.Generator) -> Ints:
        drawn = np.zeros((n, len(self.nodes)), dtype=np.int64)
        for v in self._graph.order:
            context = np.zeros(n, dtype=np.int64)
            for parent in self._graph.parents[v]:
                context = context * self._cards[parent] + drawn[:, parent]
            drawn[:, v] = draw_columns(self._tables[v], context, rng)
        return drawn


def _as_list(names: Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _arc_bits(n: BayesianNetwork) -> dict[tuple[str, str], float]:
    """Return I(child; parent | other parents) in bits of each arc whose family is not too large."""
    bits = {}
    for child in n.nodes:
        parents = n.parents[child]
        sizes = [len(n.states[name]) for name in (*parents, child)]
        if not parents or float(np.prod(sizes)) > LARGEST:
            continue
        try:
            table, _ = n._joint_table([n._reader.index[name] for name in (*parents, child)], {})
        except BayesError:  # exceeds the memory limit
            continue
        for i, parent in enumerate(parents):
            others = [k for k in range(len(parents)) if k != i]
            cells = table.transpose(*others, i, len(parents)).reshape(-1, sizes[i], sizes[-1])
            bits[parent, child] = float(conditional_information(cells)[0]) / NATS_IN_A_BIT
    return bits


def _lines(n: BayesianNetwork, node: str) -> tuple[str, ...]:
    """Format the table of a node, one line per context."""
    table = n.table(node)
    lines = []
    for context, shares in list(zip(table.contexts, table.shares, strict=True))[:LINES]:
        distribution = ", ".join(f"{value} {p:.3g}" for value, p in list(zip(table.values, shares, strict=True))[:4])
        lines.append(f"{context}: {distribution}" if n.parents[node] else distribution)
    more = len(table.contexts) - LINES
    return tuple([*lines[:-1], f"and {more + 1:,} more contexts"] if more > 0 else lines)


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

"""Learn tables, arcs and hidden nodes from incomplete rows by expectation-maximization.

The E-step computes P(family | observed cells) of every row exactly on the junction tree and adds it up as expected
counts; the M-step estimates the tables from them. The log-likelihood never falls. Structural EM alternates between
completed counts and a search for arcs.

Dempster, Laird and Rubin, "Maximum likelihood from incomplete data via the EM algorithm", 1977; Friedman, "Learning
belief networks in the presence of missing values and hidden variables", 1997.

Formula: EM of a network
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError
from bayeskit.estimate.cuts import labels
from bayeskit.estimate.smoothing import is_number
from bayeskit.network.coded_table import MOST_VALUES, CodedTable, read_arcs, read_rows
from bayeskit.network.equivalence import Edge
from bayeskit.network.inputs import check_table_size, read_parents
from bayeskit.network.network import BayesianNetwork
from bayeskit.network.variable_elimination import MEMORY_LIMIT
from bayeskit.progress import Bar, check_progress
from bayeskit.settings import check_integer, is_integer
from bayeskit.threads import thread_count
from bayeskit.typing import Array, Floats, Ints

CHUNK = 4096  # distinct rows whose families are completed at once
CELLS = 1 << 24  # numbers of a chunk


class EMReport(NamedTuple):
    """Result of EM: the log-likelihood of the observed cells after each round, and whether it converged."""

    log_likelihoods: list[float]
    converged: bool


@dataclass
class _Incomplete:
    """Distinct rows with their weights: codes (n_distinct, n_nodes), −1 for missing."""

    codes: Ints
    weights: Floats

    def chunks(self, size: int) -> Iterator[tuple[Ints, Floats]]:
        for at in range(0, len(self.codes), size):
            yield self.codes[at : at + size], self.weights[at : at + size]


def expected_counts(
    network: BayesianNetwork, codes: Ints, weights: Floats, n_threads: int | None = None
) -> tuple[list[Floats], float]:
    """Return Σ weight · P(node, parents | observed cells) of each family, and the log-likelihood of the rows.

    Parameters
    ----------
    network : BayesianNetwork
    codes : ndarray of shape (n_rows, n_nodes)
        State of each node in its order, −1 if it is missing.
    weights : ndarray of shape (n_rows,)

    Returns
    -------
    counts : list of ndarray
        Shape (n_contexts, n_states) of each node.
    log_likelihood : float
    """
    tree = network.tree
    sizes = [table.size for table in network._tables]
    counts = [np.zeros(size) for size in sizes]
    total = 0.0
    cards = np.array(network._cards)
    observed = list(range(len(cards)))
    choices = [np.vstack([np.eye(card), np.ones(card)]) for card in cards]  # −1 picks the last row
    step = max(1, min(CHUNK, CELLS // (sum(sizes) + int(cards.sum()))))
    for part, by in _Incomplete(codes, weights).chunks(step):
        likelihoods = np.concatenate([choices[v][part[:, v]] for v in observed], axis=1)
        posteriors, evidence = tree.propagate_families(observed, likelihoods, thread_count(n_threads))
        if np.isneginf(evidence).any():
            row = int(np.flatnonzero(np.isneginf(evidence))[0])
            raise BayesError(f"a row is impossible under the network: {part[row].tolist()}", hint="smoothing above 0")
        total += float(by @ evidence)
        summed = by @ posteriors
        for v, end in enumerate(np.cumsum(sizes)):
            counts[v] += summed[end - sizes[v] : end]
    return [c.reshape(-1, card) for c, card in zip(counts, cards, strict=True)], total


def fit_tables(
    edges: Iterable[Edge],
    data: Any,
    *,
    hidden: Mapping[str, Any] | None = None,
    pseudo_count: float = 0.0,
    n_starts: int = 1,
    max_rounds: int = 200,
    tol: float = 1e-5,
    roles: Any = None,
    domains: Any = None,
    cuts: Any = ("frequency", 5),
    random_state: int = 0,
    n_threads: int | None = None,
    progress: Any = None,
    memory_limit: int = MEMORY_LIMIT,
) -> BayesianNetwork:
    """Estimate the tables of a network from incomplete rows by EM.

    Parameters
    ----------
    edges : iterable of (parent, child)
    data : table
        Any cell may be missing; missing cells must not depend on their own value (missing at random).
    hidden : mapping of str to int or sequence, optional
        Nodes that no column shows, with their number of states or their states.
    pseudo_count : float, default=0.0
        Added to the expected count of every cell of a table; 0 is maximum likelihood.
    n_starts : int, default=1
        Random starts besides the one from the available cells; the one with the highest likelihood wins. With hidden
        nodes every start is random.
    max_rounds : int, default=200
    tol : float, default=1e-5
        EM stops when a round raises the log-likelihood by less than this times its size.
    roles, domains, cuts
        As in :func:`learn_network`.
    random_state : int, default=0
    n_threads : int, optional
    progress : bool or callable, optional
    memory_limit : int, default=4 GiB

    Returns
    -------
    BayesianNetwork
        With ``em_``, an :class:`EMReport`.

    Examples
    --------
    >>> rows = {"rain": ["y", "y", "n", "n", None], "wet": ["y", "y", "n", "y", "y"]}
    >>> net = fit_tables([("rain", "wet")], rows)
    >>> round(net.query("P(rain = y)"), 3)             # the fifth row counts as rain with probability 2/3
    0.533
    """
    check_progress(progress)
    check_integer("n_starts", n_starts, 0, 10**6)
    check_integer("max_rounds", max_rounds, 1, 10**6)
    check_integer("random_state", random_state, 0, 2**63 - 1)
    for setting, number in (("pseudo_count", pseudo_count), ("tol", tol)):
        if not is_number(number) or not 0 <= number < np.inf:
            raise BayesError(f"{setting}={number!r}: give a number of at least 0")
    if hidden is not None and not isinstance(hidden, Mapping):
        raise BayesError(f"hidden={hidden!r}: give the states of each hidden node, {{'cause': 2}}")
    rows = read_rows(data, roles, domains, cuts)
    names = [*rows.names, *(hidden or {})]
    return fit_rows(
        rows,
        read_parents(read_arcs(edges, names, "edges"), names),
        hidden,
        pseudo_count=pseudo_count,
        n_starts=n_starts,
        max_rounds=max_rounds,
        tol=tol,
        random_state=random_state,
        n_threads=n_threads,
        progress=progress,
        memory_limit=memory_limit,
    )


def fit_rows(
    rows: CodedTable,
    parents: Mapping[str, Sequence[str]],
    hidden: Mapping[str, Any] | None = None,
    *,
    pseudo_count: float = 0.0,
    n_starts: int = 0,
    max_rounds: int = 200,
    tol: float = 1e-5,
    random_state: int = 0,
    n_threads: int | None = None,
    progress: Any = None,
    memory_limit: int = MEMORY_LIMIT,
) -> BayesianNetwork:
    """Estimate the tables of a network from coded rows; see :func:`fit_tables`."""
    incomplete, states, cuts = _distinct(rows, hidden or {})
    cards, cost = {node: len(values) for node, values in states.items()}, 0
    for node in states:
        cost = check_table_size(node, parents[node], cards, cost, memory_limit)
    rng = np.random.default_rng(random_state)
    best: tuple[BayesianNetwork, EMReport] | None = None
    with Bar(progress) as bar:
        for start in range(max(n_starts, 1) if hidden else 1 + n_starts):
            tables = _start_tables(parents, states, incomplete, rng, at_random=bool(hidden) or start > 0)
            path: list[float] = []
            while True:
                network = BayesianNetwork.of_arrays(parents, states, tables, cuts, None, memory_limit)
                counts, likelihood = expected_counts(network, incomplete.codes, incomplete.weights, n_threads)
                converged = bool(path) and likelihood - path[-1] <= tol * max(abs(likelihood), 1.0)
                path.append(likelihood)
                bar(f"start {start + 1}", len(path), max_rounds, f"log-likelihood {likelihood:,.2f}")
                if converged or len(path) > max_rounds:
                    break
                tables = {node: _estimate(table, pseudo_count) for node, table in zip(states, counts, strict=True)}
            if best is None or path[-1] > best[1].log_likelihoods[-1]:
                best = network, EMReport(path, converged)
    assert best is not None
    network, network.em_ = best
    return network


def fill_in(network: BayesianNetwork, codes: Ints) -> list[Array]:
    """Return the columns with each missing cell replaced by its most probable value, as uint16 (n_rows,) each.

    Parameters
    ----------
    network : BayesianNetwork
    codes : ndarray of shape (n_nodes, n_rows)
        −1 is missing.
    """
    filled = codes.copy()
    every = list(range(len(codes)))
    rows = np.flatnonzero((codes < 0).any(axis=0))
    choices = [np.vstack([np.eye(card), np.ones(card)]) for card in network._cards]
    for at in range(0, len(rows), CHUNK):
        part = rows[at : at + CHUNK]
        likelihoods = np.concatenate([choices[v][codes[v, part]] for v in every], axis=1)
        posteriors, _ = network.tree.propagate(every, likelihoods, every)
        for v, p in enumerate(network.tree.split(posteriors, every)):
            filled[v, part] = np.where(codes[v, part] < 0, p.argmax(axis=1), codes[v, part])
    return [np.ascontiguousarray(column, dtype=np.uint16) for column in filled]


def _distinct(
    rows: CodedTable, hidden: Mapping[str, Any]
) -> tuple[_Incomplete, dict[str, tuple[Value, ...]], dict[str, tuple[float, ...]]]:
    """Return distinct rows, the states of all nodes and the cut points."""
    cuts = {n: c for n in rows.names if (c := getattr(rows.schema.columns[n], "cuts", None)) is not None}
    states: dict[str, tuple[Value, ...]] = {
        n: tuple(labels(cuts[n])) if n in cuts else tuple(rows.values(n)) for n in rows.names
    }
    for name, values in hidden.items():
        if name in states:
            raise BayesError(f"hidden= names {name!r}, which is a column: rename it")
        listed = range(max(values, 0)) if is_integer(values) else list(values) if isinstance(values, Sequence) else []
        if not 0 < len(listed) <= MOST_VALUES or any(value in listed[:i] for i, value in enumerate(listed)):
            hint = f"give a number of states from 1 to {MOST_VALUES:,}, or that many different states"
            raise BayesError(f"hidden={{{name!r}: {values!r}}} declares no states", hint=hint)
        states[name] = tuple(listed)
    distinct, counts = np.unique(rows.codes.T, axis=0, return_counts=True)
    unknown = np.full((len(distinct), len(hidden)), -1, dtype=distinct.dtype)
    return _Incomplete(np.hstack([distinct, unknown]), counts.astype(np.float64)), states, cuts


def _start_tables(
    parents: Mapping[str, Sequence[str]],
    states: Mapping[str, Sequence[Value]],
    rows: _Incomplete,
    rng: np.random.Generator,
    at_random: bool,
) -> dict[str, Floats]:
    """Return tables from the rows that have all cells of a family, or drawn at random."""
    names = list(states)
    at = {name: v for v, name in enumerate(names)}
    tables = {}
    for node in names:
        members = [*(at[p] for p in parents[node]), at[node]]
        shape = [len(states[names[v]]) for v in members]
        if at_random:
            table: Array = rng.dirichlet(np.ones(shape[-1]), size=int(np.prod(shape[:-1])))
        else:
            full = (rows.codes[:, members] >= 0).all(axis=1)
            cells = np.ravel_multi_index(list(rows.codes[full][:, members].T), shape)
            counted: Floats = np.bincount(cells, rows.weights[full], int(np.prod(shape))).astype(np.float64)
            table = _estimate(counted.reshape(-1, shape[-1]), 1.0)
        tables[node] = table
    return tables


def _estimate(counts: Floats, pseudo_count: float) -> Floats:
    """Return probabilities, uniform where nothing was counted."""
    raised = counts + pseudo_count
    total = raised.sum(axis=1, keepdims=True)
    return np.where(total > 0, raised / np.where(total > 0, total, 1.0), 1.0 / counts.shape[1])

"""Read conditional probability tables and evidence as users write them.

A table is a distribution {state: probability} for a node without parents, and {context: distribution} for one with
parents. The context is the parent's state, or a tuple of states in the order of the edges. One number p stands for
{True: p, False: 1 − p}. Tables become arrays of shape (n_contexts, n_states).

A finding is a state, or a mapping {state: likelihood} for *soft* evidence, of which only proportions matter. Findings
on the same node multiply. Rows of evidence are a frame; missing cells are ignored. Findings become likelihoods of the
states of the observed nodes.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from bayeskit.data.encoder import Encoder
from bayeskit.data.frames import open_source
from bayeskit.data.schema import Categorical, Numeric, Role, Schema
from bayeskit.data.source import by_name
from bayeskit.data.vocabulary import Value, Vocabulary, canonical
from bayeskit.errors import BayesError, BayesWarning, QueryError, SchemaMismatch, TooLarge, UnknownValue
from bayeskit.estimate.smoothing import is_number
from bayeskit.memory import format_integer, memory_size
from bayeskit.nearest import nearest
from bayeskit.network.graph import DirectedGraph
from bayeskit.network.variable_elimination import CELL
from bayeskit.tolerance import OFF_ONE, SLACK, SUMS_TO_ONE, UNDERFLOW
from bayeskit.typing import Floats

MOST_PARENTS = 30
COPIES = 4  # peak memory of reading and normalizing tables, in copies of all tables


def is_pair(edge: Any) -> bool:
    """Return True for two names."""
    pair = not isinstance(edge, str) and isinstance(edge, Sized) and len(edge) == 2
    return pair and all(isinstance(node, Hashable) for node in edge)


def read_parents(edges: Iterable[Any], nodes: Iterable[str], what: str = "table") -> dict[str, list[str]]:
    """Return the parents of each node in the order of the edges; reject unknown nodes, duplicate edges and cycles."""
    parents: dict[str, list[str]] = {node: [] for node in nodes}
    if not isinstance(edges, Iterable):
        raise BayesError(f"edges={edges!r}: give pairs (parent, child)")
    for edge in edges:
        if not is_pair(edge):
            raise BayesError(f"an edge is (parent, child), not {edge!r}")
        name = f"the edge {edge[0]!r} → {edge[1]!r}"
        for node in edge:
            if node not in parents:
                raise SchemaMismatch(f"{name} names {node!r}, which has no {what}: {nearest(node, parents)}")
        if edge[0] in parents[edge[1]]:
            raise BayesError(f"{name} appears twice")
        parents[edge[1]].append(edge[0])
    if not parents:
        raise BayesError("a network needs at least one node")
    names = list(parents)
    index = {node: i for i, node in enumerate(names)}
    cycle = DirectedGraph([[index[p] for p in parents[node]] for node in names]).cycle()
    if cycle:
        ring = " → ".join(names[v] for v in [*cycle, cycle[0]])
        raise BayesError(f"the edges run in a circle: {ring}. Turn or drop one of them.")
    return parents


def check_table_size(
    node: str, parents: Sequence[str], cards: Mapping[str, int], before: int, memory_limit: int
) -> int:
    """Return the bytes needed for the tables so far and one more; raise an error above the limit.

    A short text can declare a table of any size, so the size is checked before memory is allocated.

    >>> check_table_size("wet", ["rain", "sprinkler"], {"wet": 2, "rain": 2, "sprinkler": 3}, 0, 1000)
    384
    >>> check_table_size("wet", ["rain", "sprinkler"], {"wet": 2, "rain": 2, "sprinkler": 3}, 800, 1000)
    Traceback (most recent call last):
    ...
    bayeskit.errors.TooLarge: the table of 'wet' given its 2 parents (rain, sprinkler) has 12 numbers; with the tables
    before it that takes 1.18 kB, more than memory_limit=1000 (1 kB); nothing was started. Give it fewer parents or
    states, or raise memory_limit= (in bytes).
    """
    n_cells = prod(cards[name] for name in (*parents, node))
    need = before + COPIES * CELL * n_cells
    if need <= memory_limit:
        return need
    listed = ", ".join(parents[:4]) + (", …" if len(parents) > 4 else "")
    given = f" given its {len(parents)} parent{'s' * (len(parents) > 1)} ({listed})" if parents else ""
    numbers = f"{n_cells:,}" if n_cells < 10**15 else format_integer(n_cells)
    table, size = f"the table of {node!r}{given} has {numbers} numbers", memory_size(need)
    limit = f"more than memory_limit={memory_limit} ({memory_size(memory_limit)}); nothing was started."
    what = f"{table}; with the tables before it that takes {size}, {limit}"
    raise TooLarge(what, hint="Give it fewer parents or states, or raise memory_limit= (in bytes).")


def read_states(node: str, table: Any, has_parents: bool, declared: Sequence[Any] | None) -> tuple[Value, ...]:
    """Return the states of a node: declared, or in the order of first mention in its table."""
    if declared is not None:
        states = [canonical(value) for value in declared]
    elif is_number(table):
        states = [True, False]
    elif isinstance(table, Mapping) and table:
        rows = [{True: 0, False: 0} if is_number(row) else row for row in (table.values() if has_parents else [table])]
        named = (canonical(state) for row in rows if isinstance(row, Mapping) for state in row)
        states = list(dict.fromkeys(named))
    else:
        way = f"write {{state: probability}}, or declare states={{{node!r}: [...]}}"
        raise BayesError(f"the table of {node!r} names no states: {way}")
    if not states or None in states or len(set(states)) < len(states):
        raise BayesError(f"the states of {node!r} are {states}: at least one, each once, and missing is none")
    return tuple(value for value in states if value is not None)


def read_table(node: str, given: Any, parents: Sequence[str], states: Mapping[str, tuple[Value, ...]]) -> Floats:
    """Convert a table to an array of shape (n_contexts, n_states), the last parent varying fastest."""
    n_states, shape = len(states[node]), [len(states[p]) for p in parents]
    if len(parents) > MOST_PARENTS:
        raise BayesError(f"node {node!r} has {len(parents)} parents; at most {MOST_PARENTS} can have a table")
    if isinstance(given, Mapping) and parents:
        table = np.full((prod(shape), n_states), np.nan)
        for context, row in given.items():
            table[_context(node, context, parents, states)] = _distribution(node, row, states[node], context)
        unsaid = np.flatnonzero(np.isnan(table).any(axis=1))
        if len(unsaid):
            missing = _context_text(parents, states, int(unsaid[0]))
            raise BayesError(f"the table of {node!r} says nothing for {missing}: give a row")
        return table
    if isinstance(given, Mapping) or is_number(given):
        if parents:
            way = f"give a row for each state of {', '.join(parents)}"
            raise BayesError(f"the table of {node!r} is one number, but it has parents: {way}")
        return _distribution(node, given, states[node], None)[None]
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise BayesError(f"the table of {node!r} is not a table of numbers: {str(given)[:60]}") from None
    if array.shape not in ((*shape, n_states), (prod(shape), n_states)):
        axes = f"{(*shape, n_states)} of {', '.join((*parents, node))}"
        raise BayesError(f"the table of {node!r} has shape {array.shape}, not {axes}")
    return array.reshape(-1, n_states).copy()


def _context(node: str, context: Any, parents: Sequence[str], states: Mapping[str, tuple[Value, ...]]) -> int:
    named = context if isinstance(context, tuple) else (context,)
    if len(named) != len(parents):
        way = f"give one state of each of {', '.join(parents)}"
        raise BayesError(f"the table of {node!r} has a row for {context!r}: {way}")
    at = 0
    for parent, value in zip(parents, named, strict=True):
        at = at * len(states[parent]) + position(parent, value, states[parent], f"in the table of {node!r}")
    return at


def position(node: str, value: Any, states: Sequence[Value], place: str) -> int:
    """Return the index of a value among the states of a node, comparing as text if necessary."""
    plain = canonical(value)
    for i, state in enumerate(states):
        if state == plain and isinstance(state, str) == isinstance(plain, str):
            return i
    for i, state in enumerate(states):
        if str(state) == str(plain):
            return i
    raise UnknownValue(f"{node!r} has no state {value!r} ({place}): {nearest(value, states)}")


def _distribution(node: str, row: Any, states: Sequence[Value], context: Any) -> Floats:
    place = f"in the table of {node!r}" + ("" if context is None else f" for {context!r}")
    if is_number(row):
        if not set(states) <= {True, False}:
            raise BayesError(f"{place} is one number: give a probability for each of the states {list(states)}")
        return np.array([row if state else 1 - row for state in states], dtype=np.float64)
    p = np.zeros(len(states))
    if not isinstance(row, Mapping):
        if np.shape(row) != p.shape:
            raise BayesError(f"{place} there is {row!r} where {len(states)} probabilities belong: {list(states)}")
        return np.asarray(row, dtype=np.float64)
    for state, share in row.items():
        if not is_number(share):
            raise BayesError(f"{place} the probability of {state!r} is {share!r}, which is not a number")
        p[position(node, state, states, place)] = share
    return p


def normalize_tables(
    tables: Mapping[str, Floats], parents: Mapping[str, Sequence[str]], states: Mapping[str, tuple[Value, ...]]
) -> dict[str, Floats]:
    """Normalize tables whose rows sum to one within 1e-3; warn once about deviations."""
    worst: tuple[float, str] = (0.0, "")
    n_off, done = 0, {}
    for node, table in tables.items():

        def where(row: int, node: str = node) -> str:
            context = _context_text(parents[node], states, row)
            return f"{node!r}" + (f" given {context}" if context else "")

        bad = np.flatnonzero(~(np.isfinite(table) & (table >= 0)).all(axis=1))
        if len(bad):
            what = f"the table of {where(int(bad[0]))} holds {table[bad[0]].tolist()}"
            raise BayesError(f"{what}: probabilities are finite and not negative")
        sums = table.sum(axis=1)
        off = np.abs(sums - 1)
        row = int(off.argmax())
        if off.max() > SLACK:
            listed = table[row].tolist()
            raise BayesError(f"the table of {where(row)} sums to {sums[row]:.6g}, not to one ({listed}); correct it")
        if off.max() > OFF_ONE:
            n_off += int((off > OFF_ONE).sum())
            worst = max(worst, (float(off[row]), f"{where(row)} sums to {sums[row]:.9g}"))
        scale = np.where(off > SUMS_TO_ONE, sums, 1.0)
        done[node] = np.ascontiguousarray(table / scale[:, None])
    if n_off:
        rows = "one row of the tables was" if n_off == 1 else f"{n_off} rows of the tables were"
        warnings.warn(f"{rows} normalized; the farthest off, {worst[1]}", BayesWarning, stacklevel=4)
    return done


def _context_text(parents: Sequence[str], states: Mapping[str, tuple[Value, ...]], row: int) -> str:
    """Describe the context of a row of a table."""
    context = next(itertools.islice(itertools.product(*(states[p] for p in parents)), row, None))
    return ", ".join(f"{p} = {value}" for p, value in zip(parents, context, strict=True))


Findings = list[tuple[str, Any]]
ROWS = 4096  # rows at a time, to bound the memory of likelihoods


@dataclass(frozen=True)
class EvidenceReader:
    """Read findings on nodes; nodes with cut points accept numbers."""

    nodes: tuple[str, ...]
    states: Mapping[str, tuple[Value, ...]]
    cuts: Mapping[str, tuple[float, ...]]

    @cached_property
    def index(self) -> dict[str, int]:
        """Number of each node."""
        return {node: i for i, node in enumerate(self.nodes)}

    @cached_property
    def _certain(self) -> list[dict[Value, Floats]]:
        """One-hot likelihoods by state, for each node."""
        return [dict(zip(self.states[n], np.eye(len(self.states[n])), strict=True)) for n in self.nodes]

    def find(self, node: object) -> int:
        """Return the number of a node; raise an error with suggestions for an unknown one."""
        at = self.index.get(node) if isinstance(node, str) else None
        if at is None:
            raise SchemaMismatch(f"there is no node {node!r}: {nearest(node, self.nodes)}")
        return int(at)

    def state(self, node: str, value: Any) -> int:
        """Return the state of a value; a number falls into its interval if the node has cut points."""
        if node in self.cuts and is_number(value):
            return int(np.searchsorted(self.cuts[node], float(value), side="left"))
        return position(node, value, self.states[node], "in the evidence")

    def likelihood(self, v: int, finding: Any) -> Floats:
        """Return the likelihood of each state given one finding."""
        try:
            return self._certain[v][finding]
        except (KeyError, TypeError):
            pass
        node = self.nodes[v]
        if not isinstance(finding, Mapping):
            return self._certain[v][self.states[node][self.state(node, finding)]]
        soft = np.zeros(len(self.states[node]))
        for value, share in finding.items():
            if not is_number(share) or not 0 <= share < float("inf"):
                raise BayesError(f"the likelihood of {node} = {value} is {share!r}; it is finite and not negative")
            soft[self.state(node, value)] = share
        return soft

    def read(self, findings: Findings) -> dict[int, Floats]:
        """Return the likelihoods of one row; findings on the same node multiply."""
        likelihoods: dict[int, Floats] = {}
        for node, finding in findings:
            if finding is None or finding != finding:  # a missing cell
                continue
            v = self.find(node)
            likelihood = self.likelihood(v, finding)
            likelihoods[v] = self._both(node, likelihoods[v], likelihood) if v in likelihoods else likelihood
        return likelihoods

    def _both(self, node: str, first: Floats, second: Floats) -> Floats:
        with np.errstate(over="ignore", under="ignore"):
            product = first * second
        lost = (product < UNDERFLOW) & (first > 0) & (second > 0)
        if lost.any() or np.isinf(product).any():
            raise BayesError(f"the likelihoods of {node!r} multiply to numbers beyond a float: scale their maxima to 1")
        return product

    def rows(self, data: Any, *, ignore: Sequence[str] | None = None) -> Iterator[tuple[int, list[int], Floats]]:
        """Yield (first row, observed nodes, likelihoods) of a frame, some rows at a time.

        Columns that are not nodes are refused; with ``ignore``, they and the columns that it names are passed over.
        """
        if isinstance(data, list) and any(isinstance(f, Mapping) for record in data for f in record.values()):
            yield self._soft_rows(data)
            return
        source = open_source(data)
        names = [name for name in source.kinds if ignore is None or (name in self.index and name not in ignore)]
        observed = [self.find(name) for name in names]
        if not names:
            yield from ((b.start, [], np.zeros((b.n_rows, 0))) for b in source.batches())
            return
        choices = [np.vstack([np.ones(len(self._certain[v])), *self._certain[v].values()]) for v in observed]
        roles: dict[str, Role] = {n: Numeric(self.cuts[n]) if n in self.cuts else Categorical() for n in names}
        vocabularies = {name: Vocabulary(self.states[name]) for name in names if name not in self.cuts}
        for block in Encoder(Schema(roles), vocabularies).blocks(by_name(source)):
            codes = [block.codes[name] for name in names]
            for name, column in zip(names, codes, strict=True):
                for row in np.flatnonzero(column > len(self.states[name]))[:1].tolist():
                    what = f"column {name!r} has in row {block.start + row} a value that is not a state of the node"
                    known = nearest("", self.states[name])
                    raise UnknownValue(f"{what}; {known}. Correct the cell, or empty it: a missing cell says nothing.")
            for at in range(0, block.n_rows, ROWS):
                parts = [table[column[at : at + ROWS]] for table, column in zip(choices, codes, strict=True)]
                yield block.start + at, observed, np.concatenate(parts, axis=1)

    def _soft_rows(self, records: Sequence[Mapping[str, Any]]) -> tuple[int, list[int], Floats]:
        observed = sorted({self.find(node) for record in records for node in record})
        unsaid = [np.ones(len(self._certain[v])) for v in observed]
        likelihoods = [self.read(list(record.items())) for record in records]
        rows = [[row.get(v, ones) for v, ones in zip(observed, unsaid, strict=True)] for row in likelihoods]
        return 0, observed, np.array([np.concatenate(row) for row in rows])


def read_single_row(evidence: Any) -> Findings | None:
    """Return findings on a single row as pairs; None if the evidence is a frame."""
    if evidence is None:
        return []
    if isinstance(evidence, Mapping):
        one_row = all(isinstance(value, (str, Mapping)) or np.ndim(value) == 0 for value in evidence.values())
        return list(evidence.items()) if one_row else None
    if isinstance(evidence, (list, tuple)) and all(isinstance(f, tuple) and len(f) == 2 for f in evidence):
        return list(evidence)
    return None


def contradiction_error(findings: Findings, possible: Callable[[Findings], bool], place: str = "") -> QueryError:
    """Build the error for contradictory findings, naming a minimal subset."""
    last = next(i for i in range(1, len(findings) + 1) if not possible(findings[:i]))
    culprits = findings[:last]
    for finding in findings[: last - 1]:
        fewer = [f for f in culprits if f is not finding]
        if not possible(fewer):
            culprits = fewer
    listed = " and ".join(f"{node} {f'like {f}' if isinstance(f, Mapping) else f'= {f}'}" for node, f in culprits)
    what = "is impossible" if len(culprits) == 1 else "cannot hold together"
    return QueryError(f"{place}the evidence has probability 0: {listed} {what}. Change or drop a finding.")

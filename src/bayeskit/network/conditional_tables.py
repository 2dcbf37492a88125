"""Read conditional probability tables as users write them into arrays of shape (n_contexts, n_states).

A table is a distribution {state: probability} for a node without parents, and {context: distribution} for one with
parents. The context is the parent's state, or a tuple of states in the order of the edges. One number p stands for
{True: p, False: 1 − p}.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from bayeskit.data.vocabulary import Value, canonical
from bayeskit.errors import BayesError, BayesWarning, SchemaMismatch, TooLarge, UnknownValue
from bayeskit.estimate.smoothing import is_number
from bayeskit.nearest import nearest
from bayeskit.network.graph import DirectedGraph
from bayeskit.network.variable_elimination import CELL, format_bytes, format_integer
from bayeskit.tolerance import OFF_ONE, SLACK, SUMS_TO_ONE
from bayeskit.typing import Floats

MOST_PARENTS = 30
COPIES = 4  # peak memory of reading and normalizing tables, in copies of all tables


def read_parents(edges: Iterable[tuple[str, str]], nodes: Iterable[str]) -> dict[str, list[str]]:
    """Return the parents of each node in the order of the edges; reject unknown nodes, duplicate edges and cycles."""
    parents: dict[str, list[str]] = {node: [] for node in nodes}
    for edge in edges:
        if isinstance(edge, str) or len(edge) != 2:
            raise BayesError(f"an edge is (parent, child), not {edge!r}")
        for node in edge:
            if node not in parents:
                raise SchemaMismatch(
                    f"the edge {edge[0]!r} → {edge[1]!r} names {node!r}, which has no table: {nearest(node, parents)}"
                )
        if edge[0] in parents[edge[1]]:
            raise BayesError(f"the edge {edge[0]!r} → {edge[1]!r} is there twice")
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

    Too many are refused: the product of all numbers of states is what a small text can claim.

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
    if before + COPIES * CELL * n_cells <= memory_limit:
        return before + COPIES * CELL * n_cells
    listed = ", ".join(parents[:4]) + (", …" if len(parents) > 4 else "")
    given = f" given its {len(parents)} parent{'s' * (len(parents) > 1)} ({listed})" if parents else ""
    numbers = f"{n_cells:,}" if n_cells < 10**15 else format_integer(n_cells)
    raise TooLarge(
        f"the table of {node!r}{given} has {numbers} numbers; with the tables before it that takes "
        f"{format_bytes(before + COPIES * CELL * n_cells)}, more than memory_limit={memory_limit} "
        f"({format_bytes(memory_limit)}); nothing was started.",
        hint="Give it fewer parents or states, or raise memory_limit= (in bytes).",
    )


def read_states(node: str, table: Any, has_parents: bool, declared: Sequence[Any] | None) -> tuple[Value, ...]:
    """Return the states of a node: declared, or in the order of first mention in its table."""
    if declared is not None:
        states = [canonical(value) for value in declared]
    elif is_number(table):
        states = [True, False]
    elif isinstance(table, Mapping) and table:
        rows = list(table.values()) if has_parents else [table]
        states = []
        for row in rows:
            states += (
                [True, False] if is_number(row) else [canonical(s) for s in row] if isinstance(row, Mapping) else []
            )
        states = list(dict.fromkeys(states))
    else:
        raise BayesError(
            f"the table of {node!r} names no states: write {{state: probability}}, or declare them as "
            f"states={{{node!r}: [...]}} and give the numbers in that order"
        )
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
            missing = next(itertools.islice(itertools.product(*(states[p] for p in parents)), int(unsaid[0]), None))
            raise BayesError(
                f"the table of {node!r} says nothing for {_context_text(parents, missing)}; give a row for it"
            )
        return table
    if isinstance(given, Mapping) or is_number(given):
        if parents:
            raise BayesError(
                f"the table of {node!r} is one number, but it has parents ({', '.join(parents)}): "
                "give a row for each of their states"
            )
        return _distribution(node, given, states[node], None)[None]
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise BayesError(f"the table of {node!r} is no table of numbers: {str(given)[:60]}") from None
    if array.shape not in ((*shape, n_states), (prod(shape), n_states)):
        raise BayesError(
            f"the table of {node!r} has shape {array.shape}, not {(*shape, n_states)}: "
            f"one axis for each of {', '.join((*parents, node))}, its own states last"
        )
    return array.reshape(-1, n_states).copy()


def _context(node: str, context: Any, parents: Sequence[str], states: Mapping[str, tuple[Value, ...]]) -> int:
    named = context if isinstance(context, tuple) else (context,)
    if len(named) != len(parents):
        raise BayesError(
            f"the table of {node!r} has a row for {context!r}; a row is for one state of each of {', '.join(parents)}"
        )
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
            raise BayesError(
                f"one number is a boolean's probability, but {node!r} has the states {list(states)}: "
                f"write {{state: probability}} {place}"
            )
        return np.array([row if state else 1 - row for state in states], dtype=np.float64)
    p = np.zeros(len(states))
    if not isinstance(row, Mapping):
        if np.shape(row) != p.shape:
            raise BayesError(f"{place} there is {row!r} where {len(states)} probabilities belong: {list(states)}")
        return np.asarray(row, dtype=np.float64)
    for state, share in row.items():
        if not is_number(share):
            raise BayesError(f"{place} the probability of {state!r} is {share!r}, which is no number")
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
            contexts = itertools.product(*(states[p] for p in parents[node]))
            context = next(itertools.islice(contexts, row, None))
            return f"{node!r}" + (f" given {_context_text(parents[node], context)}" if context else "")

        bad = np.flatnonzero(~(np.isfinite(table) & (table >= 0)).all(axis=1))
        if len(bad):
            raise BayesError(
                f"the table of {where(int(bad[0]))} holds {table[bad[0]].tolist()}: "
                "probabilities are finite and not negative"
            )
        sums = table.sum(axis=1)
        off = np.abs(sums - 1)
        if off.max() > SLACK:
            row = int(off.argmax())
            raise BayesError(
                f"the table of {where(row)} sums to {sums[row]:.6g}, not to one ({table[row].tolist()}); mend it"
            )
        if off.max() > OFF_ONE:
            row = int(off.argmax())
            n_off += int((off > OFF_ONE).sum())
            worst = max(worst, (float(off[row]), f"{where(row)} sums to {sums[row]:.9g}"))
        scale = np.where(off > SUMS_TO_ONE, sums, 1.0)
        done[node] = np.ascontiguousarray(table / scale[:, None])
    if n_off:
        rows = "one row of the tables was" if n_off == 1 else f"{n_off} rows of the tables were"
        warnings.warn(f"{rows} normalised; the farthest off, {worst[1]}", BayesWarning, stacklevel=4)
    return done


def _context_text(parents: Sequence[str], context: Sequence[Any]) -> str:
    return ", ".join(f"{p} = {value}" for p, value in zip(parents, context, strict=True))

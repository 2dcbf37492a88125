"""Tables from data: each child counted with its parents, kept as a tally with + and −, and turned into probabilities.

The counting is one call of the kernel a table and block: the parents' codes in mixed radix are the class, the child's
codes the value. Slot 0 of each axis is a missing cell; it is dropped, so a row counts in the tables whose cells it has.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.data.encode import Block, Encoder
from bayeskit.data.schema import Numeric, Schema, infer
from bayeskit.data.source import Source, open_source
from bayeskit.data.vocabulary import Value, Vocabulary, positions, sort_values, union
from bayeskit.errors import BayesError, BayesWarning, NotLearnt, SchemaMismatch, TooLarge
from bayeskit.estimate.cuts import labels
from bayeskit.estimate.smoothing import as_smoothing, probabilities
from bayeskit.network.elimination import MEMORY_LIMIT
from bayeskit.network.nearest import nearest
from bayeskit.network.tables import parents_of, tables_cost

Counts = npt.NDArray[Any]
CANCELLED = 1e-9  # of the total weight: what a subtraction of float weights may leave behind


@dataclass(frozen=True, eq=False)
class NetworkTally:
    """Counts (parents…, states) of each node, over the states of its schema's columns."""

    schema: Schema
    parents: Mapping[str, tuple[str, ...]]
    states: Mapping[str, tuple[Value, ...]]
    counts: Mapping[str, Counts]

    @property
    def cuts(self) -> dict[str, tuple[float, ...]]:
        """Cut points of the columns that have them."""
        roles = self.schema.columns.items()
        return {name: role.cuts for name, role in roles if isinstance(role, Numeric) and role.cuts is not None}

    @property
    def shown_states(self) -> dict[str, tuple[Value, ...]]:
        """States as a person reads them: intervals by their ends."""
        cuts = self.cuts
        return {n: tuple(labels(cuts[n])) if n in cuts else values for n, values in self.states.items()}

    def contexts(self, node: str) -> Counts:
        """Rows counted in each context of a node, (contexts,)."""
        return np.asarray(self.counts[node].reshape(-1, len(self.states[node])).sum(axis=1))

    def estimate(self, smoothing: Any) -> dict[str, npt.NDArray[np.float64]]:
        """P(node | parents) as arrays (contexts, states), by any smoothing; uniform where nothing was counted."""
        rule = as_smoothing(smoothing)
        tables, unseen = {}, []
        for node, counts in self.counts.items():
            flat = counts.reshape(-1, counts.shape[-1])
            table = probabilities(flat, rule.pseudo_counts(self.states[node], flat))
            empty = np.asarray(np.isnan(table).any(axis=1))
            table[empty] = 1 / table.shape[1]
            if empty.any():
                unseen.append(f"{node} ({int(empty.sum())} of {len(empty)})")
            tables[node] = table
        if unseen:
            shown = ", ".join(unseen[:5]) + (", …" if len(unseen) > 5 else "")
            warnings.warn(
                f"no row shows some contexts of {shown}: their rows are uniform. Any smoothing above 0 says the same.",
                BayesWarning,
                stacklevel=4,
            )
        return tables

    def count_more(self, data: Any, weights: Any = None, memory_limit: int = MEMORY_LIMIT) -> NetworkTally:
        """The same counted in other rows, with the same roles and cut points."""
        return _collect(open_source(data, weights=weights), self.schema, self.parents, memory_limit)

    def __add__(self, other: NetworkTally) -> NetworkTally:
        """All rows of both sides, states aligned by name."""
        ours, theirs = self._aligned(other)
        counts = {node: ours.counts[node] + theirs.counts[node] for node in ours.counts}
        return NetworkTally(self.schema, self.parents, ours.states, counts)

    def __sub__(self, other: NetworkTally) -> NetworkTally:
        """The rows of this side without those of the other, which must all have been counted here."""
        ours, theirs = self._aligned(other)
        counts = {}
        for node, have in ours.counts.items():
            left = have - theirs.counts[node]
            if left.dtype.kind == "f":
                left[np.abs(left) <= CANCELLED * max(float(have.sum()), 1.0)] = 0
            if (left < 0).any():
                raise NotLearnt(
                    f"the table of {node!r} would count {_cell(ours, node, left)} less often than never; "
                    "these rows were not all learnt, and nothing was changed"
                )
            counts[node] = left
        kept = NetworkTally(self.schema, self.parents, ours.states, counts)
        if not any(c.any() for c in counts.values()):
            raise BayesError("forgetting these rows would leave nothing to believe; start a new network instead")
        return kept._tidy()

    def _aligned(self, other: NetworkTally) -> tuple[NetworkTally, NetworkTally]:
        if dict(self.parents) != dict(other.parents) or self.cuts != other.cuts:
            raise SchemaMismatch("the two networks have different edges or cut points, so their counts do not add up")
        states = {node: union(values, other.states[node]) for node, values in self.states.items()}
        return self._take(states), other._take(states)

    def _tidy(self) -> NetworkTally:
        """Without the states that no row shows any more and no domain declares."""
        states = {}
        for node, values in self.states.items():
            declared = _declared(self.schema, node)
            n = self.counts[node].reshape(-1, len(values)).sum(axis=0)
            other = sum(self._along(child, node) for child in self.counts if node in self.parents[child])
            states[node] = tuple(v for v, k in zip(values, n + other, strict=True) if k > 0 or v in declared)
        return self._take({node: values or self.states[node] for node, values in states.items()})

    def _along(self, child: str, parent: str) -> Counts:
        """Rows of a child's table by the state of one parent."""
        axis = self.parents[child].index(parent)
        return np.asarray(self.counts[child].sum(axis=tuple(i for i in range(self.counts[child].ndim) if i != axis)))

    def _take(self, states: Mapping[str, tuple[Value, ...]]) -> NetworkTally:
        """The same counts over other states; new ones have none."""
        counts = {}
        for node, have in self.counts.items():
            for axis, name in enumerate((*self.parents[node], node)):
                index = positions(states[name], self.states[name])
                have = np.take(have, np.maximum(index, 0), axis=axis)
                have[(slice(None),) * axis + (index < 0,)] = 0
            counts[node] = have
        return NetworkTally(self.schema, self.parents, dict(states), counts)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, NetworkTally)
            and dict(self.parents) == dict(other.parents)
            and dict(self.states) == dict(other.states)
            and all(np.array_equal(c, other.counts[n]) for n, c in self.counts.items())
        )

    __hash__ = None  # type: ignore[assignment]


def count(
    edges: Sequence[tuple[str, str]],
    data: Any,
    roles: Any = None,
    domains: Mapping[str, Iterable[Any]] | None = None,
    weights: Any = None,
    memory_limit: int = MEMORY_LIMIT,
) -> NetworkTally:
    """The tally of all columns of some data, each with its parents."""
    source = open_source(data, weights=weights)
    schema = infer(source.kinds, roles=roles, domains=domains, named=source.named)
    plain = schema.measured()
    if plain:
        raise SchemaMismatch(
            f"column {plain[0]!r} holds numbers, and a table needs values: declare where to cut it, "
            f'roles={{{plain[0]!r}: Numeric(cuts=(…))}}, or take each number as a value: "categorical" (or "ignore" it)'
        )
    for edge in edges:
        for node in edge:
            if node not in schema.used:
                raise SchemaMismatch(
                    f"the edge {edge} names {node!r}, which is no column: {nearest(node, schema.used)}"
                )
    found = parents_of(edges, schema.used)
    return _collect(source, schema, {node: tuple(p) for node, p in found.items()}, memory_limit)


def _collect(source: Source, schema: Schema, parents: Mapping[str, tuple[str, ...]], memory_limit: int) -> NetworkTally:
    encoder = Encoder(schema, grow=True)
    running: dict[str, Counts] = {}
    for block in encoder.blocks(source):
        sizes = {node: len(_values(encoder, node)) + 1 for node in parents}
        cost = 0
        for node, own in parents.items():
            cost = tables_cost(node, own, sizes, cost, memory_limit)
        for node, own in parents.items():
            new = _count_block(block, node, own, sizes)
            running[node] = _grown(running[node], new) if node in running else new
    if not running:
        raise BayesError("there are no rows to count")
    states = {node: _values(encoder, node) for node in parents}
    order = {node: tuple(sort_values(values)) for node, values in states.items()}
    empty = [node for node, values in states.items() if not values]
    if empty:
        raise BayesError(f"column {empty[0]!r} has no value in any row; ignore it, or declare its values in domains=")
    counts = {node: table[(slice(1, None),) * table.ndim] for node, table in running.items()}
    return NetworkTally(schema, parents, states, counts)._take(order)


def _count_block(block: Block, node: str, parents: tuple[str, ...], sizes: Mapping[str, int]) -> Counts:
    shape = [sizes[p] for p in parents]
    if prod(shape) > 2**32 - 1:
        raise TooLarge(
            f"the {len(parents)} parents of {node!r} have {prod(shape):,} combinations, and only {2**32 - 1:,} can "
            "be told apart: give it fewer parents"
        )
    context = np.zeros(block.n_rows, dtype=np.uint32)
    for parent in parents:
        context *= np.uint32(sizes[parent])
        context += block.codes[parent]
    table = kernels.count_codes([block.codes[node]], [sizes[node]], context, prod(shape), block.weights, 1)[0]
    return table.reshape(*shape, sizes[node])


def _values(encoder: Encoder, node: str) -> tuple[Value, ...]:
    role = encoder.schema.columns[node]
    if isinstance(role, Numeric):
        return tuple(range(len(role.cuts or ()) + 1))
    return tuple(encoder.vocabularies.get(node, Vocabulary()).values)


def _declared(schema: Schema, node: str) -> tuple[Value, ...]:
    role = schema.columns[node]
    if isinstance(role, Numeric):
        return tuple(range(len(role.cuts or ()) + 1))
    return getattr(role, "domain", None) or ()


def _grown(old: Counts, new: Counts) -> Counts:
    """old + new, where new has at least as many values on every axis."""
    if old.shape != new.shape:
        old = np.pad(old, [(0, b - a) for a, b in zip(old.shape, new.shape, strict=True)])
    return old + new


def _cell(tally: NetworkTally, node: str, left: Counts) -> str:
    at = np.argwhere(left < 0)[0]
    names = (*tally.parents[node], node)
    return ", ".join(f"{name} = {tally.shown_states[name][i]}" for name, i in zip(names, at, strict=True))

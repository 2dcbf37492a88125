"""Learn tables from data: count each node with its parents and estimate probabilities.

Formula: P(child ∣ parents) from counts
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayeskit.data.block import Block
from bayeskit.data.encoder import Encoder
from bayeskit.data.schema import NO_TARGET, Numeric, Schema, infer
from bayeskit.data.source import Source, engine_of
from bayeskit.data.vocabulary import Value
from bayeskit.engines import local
from bayeskit.engines.engine import open_on
from bayeskit.errors import BayesError, BayesWarning, SchemaMismatch
from bayeskit.estimate.cuts import labels
from bayeskit.estimate.smoothing import as_smoothing, probabilities
from bayeskit.network.inputs import read_parents
from bayeskit.tally.counts import ContextCounts
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally
from bayeskit.typing import Counts, Floats


@dataclass(frozen=True)
class NetworkTally:
    """Counts of a network: values of each column, and of each node given its parents."""

    tally: Tally
    parents: Mapping[str, tuple[str, ...]]

    @property
    def states(self) -> Mapping[str, tuple[Value, ...]]:
        """Sorted values of each node."""
        return {node: tuple(self.tally.space.values[node]) for node in self.parents}

    @property
    def counts(self) -> Mapping[str, Counts]:
        """Counts of each node, shape (*parents, n_states), over rows without missing cells."""
        contexts = self.tally.statistics[ContextCounts.kind]
        assert isinstance(contexts, ContextCounts)
        return {names[-1]: table[0] for names, table in contexts.tables.items()}

    @property
    def cuts(self) -> dict[str, tuple[float, ...]]:
        """Cut points by column."""
        roles = self.tally.schema.columns.items()
        return {name: role.cuts for name, role in roles if isinstance(role, Numeric) and role.cuts is not None}

    @property
    def display_states(self) -> dict[str, tuple[Value, ...]]:
        """States for display, intervals by their ends."""
        cuts = self.cuts
        return {n: tuple(labels(cuts[n])) if n in cuts else values for n, values in self.states.items()}

    def contexts(self, node: str) -> Counts:
        """Return the number of rows in each context of a node, shape (n_contexts,)."""
        return self.counts[node].reshape(-1, len(self.states[node])).sum(axis=1)

    def estimate(self, smoothing: Any) -> dict[str, Floats]:
        """Estimate P(node | parents), shape (n_contexts, n_states); uniform for contexts without rows."""
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
            listed = ", ".join(unseen[:5]) + (", …" if len(unseen) > 5 else "")
            what = f"no row shows some contexts of {listed}: their rows are uniform, as with any smoothing above 0"
            warnings.warn(what, BayesWarning, stacklevel=4)
        return tables

    def count_rows(self, data: Any, weights: Any, engine: Any, memory_limit: int) -> NetworkTally:
        """Count other rows with the same roles and cut points."""
        return _collect(open_rows(data, weights, engine), self.tally.schema, self.parents, memory_limit)

    def __add__(self, other: NetworkTally) -> NetworkTally:
        """Add the rows of both, aligning states by name."""
        self._check_same_edges(other)
        return NetworkTally(self.tally + other.tally, self.parents)

    def __sub__(self, other: NetworkTally) -> NetworkTally:
        """Subtract rows that were counted here."""
        self._check_same_edges(other)
        left = NetworkTally(self.tally - other.tally, self.parents)
        if not any(table.any() for table in left.counts.values()):
            raise BayesError.forgets_all("rows")
        return left.checked()

    def checked(self) -> NetworkTally:
        """Return the counts; raise an error for a column without values."""
        for node, values in self.states.items():
            if not values:
                raise BayesError(f"column {node!r} has no value in any row: ignore it, or give its values in domains=")
        return self

    def _check_same_edges(self, other: NetworkTally) -> None:
        if dict(self.parents) != dict(other.parents) or self.cuts != other.cuts:
            raise SchemaMismatch("the two networks have different edges or cut points, so their counts do not add up")


def count(edges: Iterable[Any], source: Source, roles: Any, domains: Any, memory_limit: int) -> NetworkTally:
    """Count all columns of data, each with its parents."""
    schema = infer(source.kinds, roles=roles, domains=domains, named=source.named)
    plain = schema.measured
    if plain:
        way = f'cut it, roles={{{plain[0]!r}: Numeric(cuts=(…))}}, or take it as "categorical" or "ignore"'
        raise SchemaMismatch(f"column {plain[0]!r} holds numbers, and a table needs values: {way}")
    parents = {node: tuple(above) for node, above in read_parents(edges, schema.used, "column").items()}
    return _collect(source, replace(schema, target=NO_TARGET), parents, memory_limit)


def _collect(source: Source, schema: Schema, parents: Mapping[str, tuple[str, ...]], memory_limit: int) -> NetworkTally:
    return NetworkTally(collect(source, schema, _plan(parents), memory_limit), parents).checked()


def open_rows(data: Any, weights: Any = None, engine: Any = None) -> Source:
    """Open data to be counted on this machine, by an engine, or on the cluster of a frame."""
    return open_on(engine, data, None, weights)


def collect(source: Source, schema: Schema, plan: Plan, memory_limit: int) -> Tally:
    """Count a plan with the engine that owns the source, or on this machine."""
    return (engine_of(source) or local).collect(source, schema, plan, memory_limit=memory_limit)


def count_blocks(
    blocks: list[Block], encoder: Encoder, parents: Mapping[str, tuple[str, ...]], memory_limit: int
) -> NetworkTally:
    """Count rows that are encoded already, each column with its parents."""
    return NetworkTally(local.count_blocks(blocks, encoder, _plan(parents), memory_limit), parents).checked()


def _plan(parents: Mapping[str, tuple[str, ...]]) -> Plan:
    """Return the plan that counts each node with its parents."""
    return Plan(contexts=tuple((*above, node) for node, above in parents.items()), families=tuple(parents))

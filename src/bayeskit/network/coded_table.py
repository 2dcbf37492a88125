"""Read a table as codes: for counting tables, searching arcs, testing independence and EM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit.data.block import Block
from bayeskit.data.encoder import Encoder
from bayeskit.data.frames import open_source
from bayeskit.data.schema import NO_TARGET, Numeric, Schema, infer
from bayeskit.data.vocabulary import Vocabulary
from bayeskit.errors import BayesError, SchemaMismatch, format_setting, with_article
from bayeskit.estimate.cuts import check_cuts, learn_cuts
from bayeskit.nearest import nearest
from bayeskit.network.equivalence import Edge
from bayeskit.network.inputs import is_pair
from bayeskit.network.learning import NetworkTally, count_blocks
from bayeskit.tally.plan import declared_values
from bayeskit.typing import Array, Bools, Ints

MOST_VALUES = 1000  # of a column


@dataclass(eq=False)
class CodedTable:
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

    def counts(self, names: Sequence[int], columns: Mapping[int, Array] | None = None) -> Array:
        """Count combinations of values of some columns, shape (values of each column …)."""
        shape = tuple(int(self.n_values[v]) for v in names)
        cells = (
            np.ravel_multi_index([(columns or self.complete)[v] for v in names], shape)
            if names
            else np.zeros(self.n_complete, int)
        )
        return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)

    def parents(self, graph: Bools) -> dict[str, list[str]]:
        """Return the parents of each column in a graph, shape (n_columns, n_columns): [parent, child]."""
        return {name: [self.names[p] for p in np.flatnonzero(graph[:, v])] for v, name in enumerate(self.names)}

    def tally(self, parents: Mapping[str, Sequence[str]], memory_limit: int) -> NetworkTally:
        """Count every column with its parents; rows are left out of the tables that need a missing cell."""
        above = {node: tuple(parents[node]) for node in self.names}
        return count_blocks(self.blocks, self.encoder, above, memory_limit)


def read_rows(data: Any, roles: Any = None, domains: Any = None, cuts: Any = ("frequency", 5)) -> CodedTable:
    """Read a table as codes; numbers are cut into intervals."""
    check_cuts(cuts)
    source = open_source(data)
    schema = replace(infer(source.kinds, roles=roles, domains=domains, named=source.named), target=NO_TARGET)
    if schema.texts:
        raise SchemaMismatch(f"column {schema.texts[0]!r} holds text, and a network has tables of values: ignore it")
    if schema.measured:
        schema = learn_cuts(schema, source, dict.fromkeys(schema.measured, cuts))
    encoder = Encoder(schema, classes=Vocabulary(schema.target.domain or ()), grow=True)
    rows = CodedTable(schema, encoder, list(encoder.blocks(source)))
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
    if not isinstance(arcs, Iterable) or isinstance(arcs, (str, Mapping)):
        hint = "pass the edges of its to_network()" if hasattr(arcs, "to_network") else "give pairs (parent, child)"
        raise BayesError(f"{setting}= takes arcs, not {with_article(type(arcs).__name__)}", hint=hint)
    checked = []
    for arc in arcs:
        if not is_pair(arc):
            raise BayesError(f"{setting}={arc!r}: an arc is (parent, child)")
        for node in arc:
            if node not in names:
                raise SchemaMismatch(
                    f"{setting}={tuple(arc)!r} names {node!r}, which is not a column: {nearest(node, names)}"
                )
        if arc[0] == arc[1]:
            raise BayesError(f"{setting}={tuple(arc)!r}: a node is not a parent of itself")
        checked.append((arc[0], arc[1]))
    return checked

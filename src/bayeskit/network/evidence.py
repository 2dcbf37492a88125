"""Evidence: convert findings to likelihoods of the states of observed nodes.

A finding is a state, or a mapping {state: likelihood} for *soft* evidence, of which only proportions matter. Findings
on the same node multiply. Rows of evidence are a frame; missing cells are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit.data.encoder import Encoder
from bayeskit.data.frames import open_source
from bayeskit.data.schema import Categorical, Numeric, Role, Schema
from bayeskit.data.source import by_name
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.errors import BayesError, QueryError, SchemaMismatch, UnknownValue
from bayeskit.estimate.smoothing import is_number
from bayeskit.nearest import nearest
from bayeskit.network.conditional_tables import position
from bayeskit.tolerance import UNDERFLOW
from bayeskit.typing import Floats

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
        at = self.index.get(node)  # type: ignore[call-overload]
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
            raise BayesError(
                f"the likelihoods found for {node!r} multiply to numbers beyond a float; only their proportions "
                "matter, so scale each to have a maximum of 1"
            )
        return product

    def rows(self, data: Any, *, ignore: Sequence[str] | None = None) -> Iterator[tuple[int, list[int], Floats]]:
        """Yield (first row, observed nodes, likelihoods) of a frame, some rows at a time.

        Columns that are no nodes are refused; where ``ignore`` is given, they and the columns it names are passed over.
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
        for block in self._encoder(names).blocks(by_name(source)):
            codes = [block.codes[name] for name in names]
            self._refuse_unknown(names, codes, data, block.start)
            for at in range(0, block.n_rows, ROWS):
                parts = [table[column[at : at + ROWS]] for table, column in zip(choices, codes, strict=True)]
                yield block.start + at, observed, np.concatenate(parts, axis=1)

    def _soft_rows(self, records: Sequence[Mapping[str, Any]]) -> tuple[int, list[int], Floats]:
        observed = sorted({self.find(node) for record in records for node in record})
        unsaid = [np.ones(len(self._certain[v])) for v in observed]
        likelihoods = [self.read(list(record.items())) for record in records]
        rows = [[row.get(v, ones) for v, ones in zip(observed, unsaid, strict=True)] for row in likelihoods]
        return 0, observed, np.array([np.concatenate(row) for row in rows])

    def _encoder(self, names: Sequence[str]) -> Encoder:
        roles: dict[str, Role] = {n: Numeric(self.cuts[n]) if n in self.cuts else Categorical() for n in names}
        vocabularies = {name: Vocabulary(self.states[name]) for name in names if name not in self.cuts}
        return Encoder(Schema(roles), vocabularies)

    def _refuse_unknown(self, names: Sequence[str], codes: Sequence[Any], data: Any, start: int) -> None:
        for name, column in zip(names, codes, strict=True):
            rows = np.flatnonzero(column > len(self.states[name]))
            if len(rows):
                row = start + int(rows[0])
                raise UnknownValue(
                    f"column {name!r} has in row {row} a value that is no state of the node; "
                    f"{nearest('', self.states[name])}. Mend the cell, or empty it: a missing cell says nothing."
                )


def read_single_row(evidence: Any) -> Findings | None:
    """Return findings on a single row as pairs; None if the evidence is a frame."""
    if evidence is None:
        return []
    if isinstance(evidence, Mapping):
        for value in evidence.values():
            if not (isinstance(value, (str, Mapping)) or np.ndim(value) == 0):
                return None
        return list(evidence.items())
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

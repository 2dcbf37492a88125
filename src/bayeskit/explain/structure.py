"""Structure learned by a model and dependence between columns, as records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bayeskit.drawable import Drawable
from bayeskit.estimate.information import NATS_IN_A_BIT, dependence
from bayeskit.tables import ROWS, Figure, Grid, Preformatted, Readable, Sheet, Table
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import POSITIVE
from bayeskit.typing import Bools, Floats


@dataclass(frozen=True)
class Node:
    """A node of a graph: name, further ``lines`` of text, and whether it is a leaf."""

    name: str
    lines: tuple[str, ...] = ()
    is_leaf: bool = False


@dataclass(frozen=True)
class Arc:
    """An arc between two nodes given by index, with ``bits`` of information if known and a ``label``."""

    start: int
    end: int
    bits: float | None = None
    label: str = ""


@dataclass(frozen=True)
class StructureGraph(Drawable):
    """A directed acyclic graph with a title."""

    title: str
    nodes: tuple[Node, ...]
    arcs: tuple[Arc, ...]
    remark: str = ""


@dataclass(frozen=True, repr=False)
class StructureDescription(Readable, Drawable):
    """Structure of a model: a ``sentence``, a ``table``, and ``lines`` if it is a tree.

    ``graph`` holds nodes and arcs if the structure is more than a list.
    """

    sentence: str
    table: Table
    lines: tuple[str, ...] = ()
    graph: StructureGraph | None = None

    @property
    def sheet(self) -> Sheet:
        """Return the printable form."""
        return Sheet(self.sentence, (Preformatted(self.lines) if self.lines else self.table.grid,))


def graph_of_columns(
    title: str, parents: Mapping[str, tuple[str, ...]], bits: Mapping[tuple[str, str], float], remark: str = ""
) -> StructureGraph:
    """Build the graph of columns and their parents; isolated columns are nodes, too.

    >>> graph = graph_of_columns("a tree", {"a": (), "b": ("a",)}, {("a", "b"): 0.25})
    >>> [(graph.nodes[arc.start].name, graph.nodes[arc.end].name, arc.bits) for arc in graph.arcs]
    [('a', 'b', 0.25)]
    """
    at = {name: i for i, name in enumerate(parents)}
    arcs = tuple(Arc(at[p], at[name], bits.get((p, name))) for name, above in parents.items() for p in above)
    lines = {
        name: tuple(f"{p} → {name}: {bits[p, name]:.3g} bits" for p in above if (p, name) in bits)
        for name, above in parents.items()
    }
    return StructureGraph(title, tuple(Node(name, lines[name]) for name in parents), arcs, remark)


def tree_lines(parents: Mapping[str, str | None], remarks: Mapping[str, str]) -> tuple[str, ...]:
    r"""Format a forest as lines, each column below its parent, with a remark.

    >>> print("\n".join(tree_lines({"a": None, "b": "a", "c": "b", "d": "a"}, {"b": "0.2 nats"})))
    a
    ├ b  0.2 nats
    │ └ c
    └ d
    """
    children: dict[str | None, list[str]] = {}
    for name, parent in parents.items():
        children.setdefault(parent, []).append(name)
    lines: list[str] = []
    left = [(name, "", "") for name in reversed(children.get(None, []))]
    while left:
        name, mark, below = left.pop()
        remark = remarks.get(name)
        lines.append(f"{mark}{name}" + (f"  {remark}" if remark else ""))
        for i, child in enumerate(reversed(children.get(name, []))):
            left.append((child, below + ("├ " if i else "└ "), below + ("│ " if i else "  ")))
    return tuple(lines)


@dataclass(frozen=True, repr=False)
class DependenceGraph(Readable, Drawable):
    """Conditional mutual information of all pairs of columns in bits, shape (n_columns, n_columns).

    ``by_chance``: its expectation for columns that are independent given the class; ``exceeds_chance``: True for pairs
    that exceed it. Both have the same shape.
    """

    columns: tuple[str, ...]
    given: str
    bits: Floats = field(compare=False)
    by_chance: Floats = field(compare=False)
    exceeds_chance: Bools = field(compare=False)

    @property
    def pairs(self) -> list[tuple[str, str, float]]:
        """Return (column, column, bits) of the pairs that exceed chance, strongest first."""
        return [(self.columns[i], self.columns[j], float(self.bits[i, j])) for i, j in self._ordered_pairs(True)]

    def _ordered_pairs(self, only_dependent: bool = False) -> list[tuple[int, int]]:
        """Return the indices of pairs of columns, strongest first."""
        some = self.exceeds_chance if only_dependent else np.ones_like(self.bits)
        pairs = zip(*(part.tolist() for part in np.nonzero(np.triu(some, 1))), strict=True)
        return sorted(pairs, key=lambda pair: (-self.bits[pair], self.columns[pair[0]], self.columns[pair[1]]))

    @property
    def sheet(self) -> Sheet:
        """Return the printable form."""
        pairs, n = self._ordered_pairs(), len(self.pairs)
        of_all = f"{n:,} of {len(pairs):,} pairs of columns" if n else "no two columns"
        head = f"{of_all} depend on each other more than by chance, given {self.given}"
        if not pairs:
            return Sheet(head)
        first = pairs[:ROWS]
        columns: dict[str, list[str]] = {
            "column": [self.columns[i] for i, _ in first],
            "and": [self.columns[j] for _, j in first],
            "bits": [Figure(f"{self.bits[pair]:.4f}") for pair in first],
            "by chance": [Figure(f"{self.by_chance[pair]:.4f}") for pair in first],
            "significant": ["yes" if self.exceeds_chance[pair] else "no" for pair in first],
        }
        return Sheet(head, (Grid(columns, more=len(pairs) - len(first)),))


def pair_dependence(tally: Tally) -> DependenceGraph:
    """Compute the dependence of all pairs of columns from their counts."""
    found = dependence(tally.pairs)
    n = np.maximum(found.totals, POSITIVE) * NATS_IN_A_BIT
    columns, given = tuple(tally.pairs.columns), tally.schema.target.name
    return DependenceGraph(columns, given, found.gains / n, found.freedom / 2 / n, found.exceeds_chance)

"""Structure learned by a model and dependence between columns, as records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bayeskit.drawable import Drawable
from bayeskit.estimate.information import NATS_IN_A_BIT, dependence
from bayeskit.tables import ROWS, Figure, Grid, Preformatted, Readable, Sheet, Table
from bayeskit.tally.tally import Tally
from bayeskit.typing import Floats


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
    """Conditional mutual information of all pairs of columns in bits, shape (n_columns, n_columns)."""

    columns: tuple[str, ...]
    given: str
    bits: Floats = field(compare=False)

    @property
    def pairs(self) -> list[tuple[str, str, float]]:
        """Return (column, column, bits) of dependent pairs, strongest first."""
        rows, others = np.nonzero(np.triu(self.bits, 1) > 0)
        pairs = [(self.columns[i], self.columns[j], float(self.bits[i, j])) for i, j in zip(rows, others, strict=True)]
        return sorted(pairs, key=lambda pair: (-pair[2], pair[:2]))

    @property
    def sheet(self) -> Sheet:
        """Return the printable form."""
        pairs = self.pairs
        if not pairs:
            return Sheet(f"no two columns depend on each other, given {self.given}")
        first = pairs[:ROWS]
        names, others, bits = zip(*first, strict=True)
        columns: dict[str, list[str]] = {
            "column": [*names],
            "and": [*others],
            "bits": [Figure(f"{b:.4f}") for b in bits],
        }
        head = f"{len(pairs):,} pairs of columns depend on each other, given {self.given}"
        return Sheet(head, (Grid(columns, more=len(pairs) - len(first)),))


def pair_dependence(tally: Tally) -> DependenceGraph:
    """Compute the dependence of all pairs of columns from their counts."""
    columns = tuple(tally.pairs.columns)
    nats = dependence(tally.pairs) / max(float(np.sum(tally.class_counts)), 1.0)
    return DependenceGraph(columns, tally.schema.target.name, nats / NATS_IN_A_BIT)

"""Structure learned by a model and dependence between columns, as records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bayeskit.drawable import Drawable
from bayeskit.estimate.information import NATS_IN_A_BIT, dependence
from bayeskit.tables.sheet import ROWS, Figure, Grid, Lines, Readable, Sheet
from bayeskit.tables.table import Table
from bayeskit.tally.tally import Tally
from bayeskit.typing import Floats


@dataclass(frozen=True)
class Node:
    """A place in a graph: its name, ``lines`` that say more of it, and whether it is where something ends."""

    name: str
    lines: tuple[str, ...] = ()
    is_leaf: bool = False


@dataclass(frozen=True)
class Arc:
    """From one node to another, by their places in the list; ``bits`` of information where known, and a ``label``."""

    start: int
    end: int
    bits: float | None = None
    label: str = ""


@dataclass(frozen=True)
class StructureGraph(Drawable):
    """Nodes and arcs without a cycle, and what is seen in them."""

    title: str
    nodes: tuple[Node, ...]
    arcs: tuple[Arc, ...]
    remark: str = ""


@dataclass(frozen=True, repr=False)
class StructureDescription(Readable, Drawable):
    """What joins the columns or divides the rows: a ``sentence``, a ``table``, and where it is a tree its ``lines``.

    ``graph``: the same as nodes and arcs, where it is more than a list.
    """

    sentence: str
    table: Table
    lines: tuple[str, ...] = ()
    graph: StructureGraph | None = None

    @property
    def sheet(self) -> Sheet:
        """The sentence, and the tree or else the table."""
        return Sheet(self.sentence, (Lines(self.lines) if self.lines else self.table.grid,))


def graph_of_columns(
    title: str, parents: Mapping[str, tuple[str, ...]], bits: Mapping[tuple[str, str], float], remark: str = ""
) -> StructureGraph:
    """The graph of columns that hang on others: those that hang on none, and on which none hangs, are nodes as well.

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
    """A forest in lines, each column below its parent, with a remark behind it.

    >>> print("\\n".join(tree_lines({"a": None, "b": "a", "c": "b", "d": "a"}, {"b": "0.2 nats"})))
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
    """``bits`` of I(column; column | ``given``) between all ``columns`` (columns, columns)."""

    columns: tuple[str, ...]
    given: str
    bits: Floats = field(compare=False)

    @property
    def pairs(self) -> list[tuple[str, str, float]]:
        """(column, column, bits) of the pairs that depend on each other, the strongest first."""
        rows, others = np.nonzero(np.triu(self.bits, 1) > 0)
        pairs = [(self.columns[i], self.columns[j], float(self.bits[i, j])) for i, j in zip(rows, others, strict=True)]
        return sorted(pairs, key=lambda pair: (-pair[2], pair[:2]))

    @property
    def sheet(self) -> Sheet:
        """The pairs."""
        pairs = self.pairs
        if not pairs:
            return Sheet(f"no two columns depend on each other, given {self.given}")
        first = pairs[:ROWS]
        columns: dict[str, list[str]] = {
            "column": [a for a, _, _ in first],
            "and": [b for _, b, _ in first],
            "bits": [Figure(f"{bits:.4f}") for _, _, bits in first],
        }
        head = f"{len(pairs):,} pairs of columns depend on each other, given {self.given}"
        return Sheet(head, (Grid(columns, more=len(pairs) - len(first)),))


def pair_dependence(tally: Tally) -> DependenceGraph:
    """From the counts of all pairs; pairs are in the order of the columns that were counted."""
    columns = tuple(tally.pairs.columns)
    nats = dependence(tally.pairs) / max(float(np.sum(tally.class_counts)), 1.0)
    return DependenceGraph(columns, tally.schema.target.name, nats / NATS_IN_A_BIT)

"""The structure of a model beyond naive Bayes: which columns hang together, and how its rows are divided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bayeskit.data.sheet import Lines, Readable, Sheet
from bayeskit.data.table import Table


@dataclass(frozen=True, repr=False)
class StructureDescription(Readable):
    """What joins the columns or divides the rows: a ``sentence``, a ``table``, and where it is a tree its ``lines``."""

    sentence: str
    table: Table
    lines: tuple[str, ...] = ()

    @property
    def sheet(self) -> Sheet:
        """The sentence, and the tree or else the table."""
        return Sheet(self.sentence, (Lines(self.lines) if self.lines else self.table.grid,))


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

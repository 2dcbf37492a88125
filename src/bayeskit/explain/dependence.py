"""Which pairs of columns say the same of a row although its class is known: I(X; Z | class), in bits.

Naive Bayes takes it for nothing. What chance gives is no dependence: it is taken for nothing here too.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bayeskit.data.sheet import ROWS, Figure, Grid, Readable, Sheet
from bayeskit.drawable import Drawable
from bayeskit.estimate.information import NATS_IN_A_BIT, dependence
from bayeskit.tally.tally import Tally
from bayeskit.typing import Floats


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

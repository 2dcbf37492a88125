"""What one column says of the classes in each leaf of a tree, and without one of its rows.

    P(v | leaf, c) = (n(v, leaf, c) + a_v) / (n(leaf, c) + A)

with a_v = α for each value (Lidstone), or a_v = m · P(v | c), what the whole class says (back-off).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayeskit import logspace
from bayeskit.estimate.back_off import BackOff, backed_off
from bayeskit.estimate.smoothing import Lidstone, smoothed
from bayeskit.typing import Array, Floats


@dataclass(frozen=True)
class LeafTable:
    """Counts (leaves, classes, values) of one column, and how they are smoothed: by α, or by m towards the class."""

    counts: Floats
    alpha: float | None
    m: float

    @classmethod
    def of(cls, counts: Floats, smoothing: Lidstone | BackOff) -> LeafTable:
        """The table of counts; m is chosen where it is not given."""
        if isinstance(smoothing, Lidstone):
            return cls(counts, float(smoothing.alpha), 0.0)
        whole = counts.sum(axis=0)
        n_values = max(counts.shape[2], 1)
        # without the row, as the counts of the leaves leave it out too
        total = np.maximum(whole.sum(axis=1, keepdims=True) - 1, 0.0)
        lower = smoothed(np.maximum(whole - 1, 0.0), total, 1.0, n_values)
        spread = np.broadcast_to(lower, counts.shape)
        return cls(counts, None, smoothing.weight(counts, counts.sum(axis=2, keepdims=True), spread))

    @cached_property
    def _whole(self) -> Floats:
        """Counts of the classes (classes, values)."""
        return self.counts.sum(axis=0)

    @cached_property
    def probabilities(self) -> Floats:
        """P(value | leaf, class), (leaves, classes, values)."""
        n_values, total = max(self.counts.shape[2], 1), self.counts.sum(axis=2, keepdims=True)
        if self.alpha is not None:
            return smoothed(self.counts, total, self.alpha, self.alpha * n_values)
        of_class = smoothed(self._whole, self._whole.sum(axis=1, keepdims=True), 1.0, n_values)
        return backed_off(self.counts, total, self.m, of_class)

    @cached_property
    def log_table(self) -> Floats:
        """ln P as scores (leaves, slots, classes): nothing is said of missing (first) and unseen (last) cells."""
        n_leaves, n_classes, n_values = self.counts.shape
        table = np.zeros((n_leaves, n_values + 2, n_classes))
        table[:, 1 : n_values + 1] = np.swapaxes(logspace.log(self.probabilities), 1, 2)
        return table

    def left_out(self, leaf: int, slots: Array, labels: Array, at_home: Floats, unit: float) -> Floats:
        """ln P'(cell | leaf, own class) of rows that are gone from their class, and by ``at_home`` from this leaf.

        Cells that say nothing have 0.
        """
        n_values = self.counts.shape[2]
        says = (slots > 0) & (slots <= n_values)
        value = np.where(says, slots.astype(np.int64) - 1, 0)
        n = np.maximum(self.counts[leaf][labels, value] - at_home, 0.0)
        total = np.maximum(self.counts[leaf].sum(axis=1)[labels] - at_home, 0.0)
        if self.alpha is not None:
            share = smoothed(n, total, self.alpha, self.alpha * max(n_values, 1))
        else:
            whole = np.maximum(self._whole[labels, value] - unit, 0.0)
            rest = np.maximum(self._whole.sum(axis=1)[labels] - unit, 0.0)
            share = backed_off(n, total, self.m, smoothed(whole, rest, 1.0, max(n_values, 1)))
        return np.where(says, logspace.log(np.where(says, share, 1.0)), 0.0)

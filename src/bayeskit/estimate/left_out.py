"""What the estimates would be without one row: closed forms of refitting.

A row of class y leaves by taking its unit u (1, or its weight where that is less) from the counts that
contain it, all of them counts of class y. For a value v of one column

    own class      P'(v | y) = (n_vy − u + a_v) / (N_y − u + A)
    other classes  P'(v | c) = (n_vc + a_v) / (N_c + A)

with a_v and A as smoothing would give them without the row. A value that only this row has becomes an unseen
one. Smoothing chosen from the counts ("auto") is held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.estimate.smoothing import UNSEEN, Automatic, Lidstone, MEstimate, Smoothing
from bayeskit.estimate.value_table import ValueTable
from bayeskit.estimate.variance import VarianceRule, shared_variance
from bayeskit.tally import double_double as dd
from bayeskit.tally.families import Family
from bayeskit.tally.moments import Moments

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[Any]
GONE = 1e-9  # of a column's total: what is left of a weight that was taken away


@dataclass(frozen=True)
class LeftOutValues:
    """One coded column without one of its cells. Slots as in :class:`ValueTable`."""

    table: ValueTable
    counts: Floats  # (classes, slots)
    smoothing: Smoothing
    declared: bool  # a declared value stays, whoever leaves

    @classmethod
    def of(cls, table: ValueTable, family: Family, smoothing: Smoothing, declared: bool) -> LeftOutValues:
        """The column of a family whose table is known."""
        counts = np.concatenate([family.counts, np.zeros((len(family.counts), 1))], axis=1).astype(np.float64)
        if isinstance(smoothing, Automatic):
            smoothing = Lidstone(float(np.nan_to_num(np.nanmax(table.pseudo, initial=0.0))))
        return cls(table, np.where(np.isnan(table.pseudo), 0.0, counts), smoothing, declared)

    def scores(self, slots: Index, labels: Index, unit: Floats) -> tuple[Floats, Floats]:
        """(ln P' in every class but the own (cells, classes), ln P' in the own class (cells,)).

        Cells of a column that says nothing without them have 0 everywhere.
        """
        pseudo, total, gone = self._pseudo(slots, unit)
        counts = np.where(gone[:, None], 0.0, self.counts.T[slots])
        sums = self.counts.sum(axis=1)
        rows = np.arange(len(slots))
        own_sum = sums[labels] - unit
        own_sum[np.abs(own_sum) <= GONE * sums[labels]] = 0
        own_count = np.where(gone, 0.0, np.maximum(counts[rows, labels] - unit, 0.0))
        with np.errstate(invalid="ignore", divide="ignore"):
            others = (counts + pseudo[:, None]) / (sums + total[:, None])
            own = (own_count + pseudo) / (own_sum + total)
        silent = np.isnan(self.table.pseudo[slots]) | (own_sum + total <= 0)
        if np.isnan(self.table.pseudo[-1]):
            silent |= gone
        if not self.table.used:
            silent[:] = True
        others = np.where(silent[:, None], 0.0, logspace.log(np.nan_to_num(others, nan=1.0)))
        return others, np.where(silent, 0.0, logspace.log(np.nan_to_num(own, nan=1.0)))

    def _pseudo(self, slots: Index, unit: Floats) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
        """(pseudo-count of the cell's value, their total, whether the value is gone) without the cell."""
        takes_part = ~np.isnan(self.table.pseudo)
        of_value = self.counts.sum(axis=0)[slots]
        gone = takes_part[slots] & (of_value - unit <= GONE * of_value)
        if self.declared:
            gone &= slots == 0
        pseudo = np.nan_to_num(self.table.pseudo)[slots]
        total = np.full(len(slots), np.nansum(self.table.pseudo))
        if isinstance(self.smoothing, MEstimate) and self.smoothing.prior == "marginal":
            left = self.counts.sum() - unit
            with np.errstate(invalid="ignore", divide="ignore"):
                pseudo = np.where(left > 0, self.smoothing.m * (of_value - unit) / left, 0.0)
        if takes_part[-1] and gone.any():  # unseen="smooth": the others, and the one that stands for all unseen
            for slot in np.unique(slots[gone]):
                keep = takes_part.copy()
                keep[slot] = False
                names = [n for n, k in zip((None, *self.table.values, UNSEEN), keep, strict=True) if k]
                fresh = self.smoothing.pseudo_counts(names, self.counts[:, keep])
                cells = gone & (slots == slot)
                pseudo[cells], total[cells] = fresh[-1], fresh.sum()
        return pseudo, total, gone


@dataclass(frozen=True)
class LeftOutGaussians:
    """Measured columns of one variance rule without one of their rows."""

    moments: Moments
    class_counts: Floats
    rule: VarianceRule
    ddof: int

    def scores(self, x: Floats, labels: Index, unit: Floats) -> Floats:
        """ln p'(x | class) summed over the columns (rows, classes), the row itself taken from its class."""
        return np.asarray(self.terms(x, labels, unit).sum(axis=-1))

    def terms(self, x: Floats, labels: Index, unit: Floats) -> Floats:
        """ln p'(x | class) of each column (rows, classes, columns); 0 where the cell is missing."""
        present = ~np.isnan(x)
        left = self.moments.take(labels) - _one_value(np.where(present, x, 0.0), np.where(present, unit[:, None], 0.0))
        together = self.moments.pooled().take(np.zeros(len(x), dtype=np.int64))
        total = (
            together - _one_value(np.where(present, x, 0.0), np.where(present, unit[:, None], 0.0))
        ).squared_deviations()
        own = (np.arange(len(x)), labels)
        n, squares, mean = (
            np.repeat(part[None], len(x), axis=0)
            for part in (self.moments.n.astype(np.float64), self.moments.squared_deviations(), self.moments.mean())
        )
        n[own], squares[own], mean[own] = left.n, left.squared_deviations(), left.mean()
        occurs = np.repeat((self.class_counts > 0)[None], len(x), axis=0)
        variance, _ = shared_variance(n, squares, total, occurs, self.rule, self.ddof)
        with np.errstate(invalid="ignore"):
            terms = -0.5 * ((x[:, None, :] - mean) ** 2 / variance + np.log(2 * np.pi * variance))
        return np.nan_to_num(terms, nan=0.0, neginf=-np.inf)


def _one_value(x: Floats, unit: Floats) -> Moments:
    """The moments of one value each, with its weight: (rows, columns)."""
    zero = np.zeros_like(x)
    weighted = dd.multiply((unit, zero), (x, zero))
    return Moments(unit, *weighted, *dd.multiply(weighted, (x, zero)), zero)

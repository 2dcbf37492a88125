"""P(value | class) of coded columns without one row.

A row of class y takes its unit u (1, or its weight where that is less) from the counts that contain it, all of them
counts of class y. Without it a value v has

    own class      P'(v | y) = (n_vy − u + a_v) / (N_y − u + A)
    other classes  P'(v | c) = (n_vc + a_v) / (N_c + A)

with a_v and A as smoothing would give them without the row. A value that only this row has becomes an unseen
one. Smoothing chosen from the counts ("auto") is held.

Formula: P(value ∣ class) without one row
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.estimate.smoothing import UNSEEN, Automatic, Lidstone, MEstimate, Smoothing, smoothed
from bayeskit.estimate.value_table import ValueTable
from bayeskit.tolerance import GONE
from bayeskit.typing import Array, Bools, Floats


@dataclass(frozen=True, eq=False)
class LeftOutValue:
    """What is known of a coded column whose rows leave in turn."""

    table: ValueTable
    counts: Array  # (classes, slots but the last): what was learnt
    smoothing: Smoothing
    declared: bool  # a declared value stays, whoever leaves

    @property
    def marginal_m(self) -> float | None:
        """m where pseudo-counts follow the counts of the values, else None."""
        smoothing = self.smoothing
        return smoothing.m if isinstance(smoothing, MEstimate) and smoothing.prior == "marginal" else None

    def pseudo_without(self, slot: int) -> Floats:
        """Pseudo-counts of the other slots once a value is gone."""
        smoothing: Any = self.smoothing
        if isinstance(smoothing, Automatic):
            smoothing = Lidstone(float(np.nan_to_num(np.nanmax(self.table.pseudo, initial=0.0))))
        keep = ~np.isnan(self.table.pseudo)
        keep[slot] = False
        names = [n for n, k in zip((None, *self.table.values, UNSEEN), keep, strict=True) if k]
        counts = np.append(self.counts, np.zeros((len(self.counts), 1)), axis=1)
        return np.asarray(smoothing.pseudo_counts(names, counts[:, keep]))


class LeftOutValues:
    """Coded columns, each without one of its cells. Their slots, as in :class:`ValueTable`, stand in one row: those of
    a column begin at its place in ``starts``."""

    def __init__(self, columns: Sequence[LeftOutValue]) -> None:
        self.columns = columns
        widths = [len(column.table.pseudo) for column in columns]
        self.starts = np.cumsum([0, *widths])
        ends = self.starts[1:] - 1
        self.learnt = np.zeros((self.starts[-1], len(columns[0].counts)))  # (slots, classes): what was counted
        self.learnt[np.delete(np.arange(self.starts[-1]), ends)] = np.concatenate([c.counts for c in columns], axis=1).T
        pseudo = np.concatenate([column.table.pseudo for column in columns])
        self.absent = np.isnan(pseudo)  # slots that take no part
        self.pseudo = np.where(self.absent, 0.0, pseudo)
        self.counts = np.where(self.absent[:, None], 0.0, self.learnt)
        self.sums = np.repeat(np.add.reduceat(self.counts, self.starts[:-1]), widths, axis=0)
        self.total = np.repeat(np.add.reduceat(self.pseudo, self.starts[:-1]), widths)
        self.of_value = self.counts.sum(axis=1)
        self.unseen_is_absent = np.repeat(self.absent[ends], widths)
        self.unused = np.repeat([not column.table.used for column in columns], widths)
        self.may_go = ~self.absent & np.repeat([not column.declared for column in columns], widths)
        self.may_go[self.starts[:-1]] = ~self.absent[self.starts[:-1]]  # a missing cell is no declared value
        self.may_go[ends] = False  # no row was learnt with the slot of all that is unseen

    def lacks(self, slots: Array, labels: Array, unit: Floats) -> Bools:
        """Cells that cannot have been learnt: there are not as many of them in the class."""
        lacking: Bools = self.learnt[slots, labels] < unit * (1 - GONE)
        return lacking

    def scores(self, slots: Array, labels: Array, unit: Floats) -> tuple[Floats, Floats]:
        """(ln P' in every class but the own (cells, classes), ln P' in the own class (cells,)).

        Cells of a column that says nothing without them have 0 everywhere.
        """
        pseudo, total, gone, silent = self._without(slots, unit)
        counts = np.where(gone[:, None], 0.0, self.counts[slots])
        rows = np.arange(len(slots))
        own_count, own_sum = _less(counts[rows, labels], self.sums[slots, labels], unit)
        others = smoothed(counts, self.sums[slots], pseudo[:, None], total[:, None])
        of_own_class = smoothed(own_count, own_sum, pseudo, total)
        silent |= own_sum + total <= 0
        return np.where(silent[:, None], 0.0, _log(others)), np.where(silent, 0.0, _log(of_own_class))

    def tables(self) -> list[Floats]:
        """ln P' of all slots without a whole row of each class, as :meth:`scores` has them: (labels, slots, classes) of
        each column. NaN in the own class where it has no row with the value."""
        pseudo, total, gone, silent = self._without(np.arange(len(self.pseudo)), np.ones(len(self.pseudo)))
        pseudo, total, gone, silent = pseudo[:, None], total[:, None], gone[:, None], silent[:, None]
        counts = np.where(gone, 0.0, self.counts)
        own_count, own_sum = _less(counts, self.sums, 1.0)
        log_own = np.where(self.learnt < 1 - GONE, np.nan, _log(smoothed(own_count, own_sum, pseudo, total)))
        each, mute = np.arange(counts.shape[1]), silent | (own_sum + total <= 0)
        tables = np.tile(_log(smoothed(counts, self.sums, pseudo, total)), (len(each), 1, 1))
        tables[mute.T] = 0.0
        tables[each, :, each] = np.where(mute & ~np.isnan(log_own), 0.0, log_own).T
        return [np.ascontiguousarray(part) for part in np.split(tables, self.starts[1:-1], axis=1)]

    def _without(self, slots: Array, unit: Floats) -> tuple[Floats, Floats, Bools, Bools]:
        """(pseudo-count of the cell's value, their total, whether the value is gone, whether the slot says nothing)
        without the cell."""
        of_value, pseudo, total = self.of_value[slots], self.pseudo[slots], self.total[slots]
        gone = self.may_go[slots] & (of_value - unit <= GONE * of_value)
        silent = self.absent[slots] | self.unused[slots] | (gone & self.unseen_is_absent[slots])
        for column, start, end in zip(self.columns, self.starts, self.starts[1:], strict=False):
            if (m := column.marginal_m) is not None:
                cells = (slots >= start) & (slots < end)
                left = self.sums[start].sum() - unit[cells]
                with np.errstate(invalid="ignore", divide="ignore"):
                    share = np.maximum(of_value[cells] - unit[cells], 0.0) / left
                pseudo[cells] = np.where(left > 0, m * share, 0.0)
        if (afresh := gone & ~silent).any():  # unseen="smooth": the others, and the one that stands for all unseen
            for slot in np.unique(slots[afresh]):
                place = int(np.searchsorted(self.starts, slot, side="right")) - 1
                fresh, cells = self.columns[place].pseudo_without(int(slot - self.starts[place])), slots == slot
                pseudo[cells & gone], total[cells & gone] = fresh[-1], fresh.sum()
        return pseudo, total, gone, silent


def _less(counts: Floats, sums: Floats, unit: Any) -> tuple[Floats, Floats]:
    """Counts of the own class and their sum without a row; none below 0: a table of all cells asks of some that no
    row has."""
    left = sums - unit
    return np.maximum(counts - unit, 0.0), np.where(left <= GONE * sums, 0.0, left)


def _log(p: Floats) -> Floats:
    """ln p; 0 where there is no distribution."""
    return logspace.log(np.where(np.isnan(p), 1.0, p))

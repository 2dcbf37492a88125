"""What the estimates would be without one row: closed forms of refitting.

A row of class y leaves by taking its unit u (1, or its weight where that is less) from the counts that
contain it, all of them counts of class y. For a value v of one column

    own class      P'(v | y) = (n_vy − u + a_v) / (N_y − u + A)
    other classes  P'(v | c) = (n_vc + a_v) / (N_c + A)

with a_v and A as smoothing would give them without the row. A value that only this row has becomes an unseen
one. Smoothing chosen from the counts ("auto") is held.

Formula: what the estimates are without one row
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.estimate.kernel_density import Bells, KernelDensity
from bayeskit.estimate.smoothing import UNSEEN, Automatic, Lidstone, MEstimate, Smoothing
from bayeskit.estimate.value_table import ValueTable
from bayeskit.estimate.variance import NOISE, VarianceFloor, VarianceRule, shared_variance
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
        own_sum[own_sum <= GONE * sums[labels]] = 0  # below: a table of all cells asks of some that no row has
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
        known = slots < len(takes_part) - 1  # no row was learnt with the slot of all that is unseen
        gone = known & takes_part[slots] & (of_value - unit <= GONE * of_value)
        if self.declared:
            gone &= slots == 0
        pseudo = np.nan_to_num(self.table.pseudo)[slots]
        total = np.full(len(slots), np.nansum(self.table.pseudo))
        if isinstance(self.smoothing, MEstimate) and self.smoothing.prior == "marginal":
            left = self.counts.sum() - unit
            with np.errstate(invalid="ignore", divide="ignore"):
                pseudo = np.where(left > 0, self.smoothing.m * np.maximum(of_value - unit, 0.0) / left, 0.0)
        if takes_part[-1] and gone.any():  # unseen="smooth": the others, and the one that stands for all unseen
            for slot in np.unique(slots[gone]):
                keep = takes_part.copy()
                keep[slot] = False
                names = [n for n, k in zip((None, *self.table.values, UNSEEN), keep, strict=True) if k]
                fresh = self.smoothing.pseudo_counts(names, self.counts[:, keep])
                cells = gone & (slots == slot)
                pseudo[cells], total[cells] = fresh[-1], fresh.sum()
        return pseudo, total, gone


LEAST = 1e-3  # of a class's spread must be left without a row, for the closed form to keep its digits
FAR = 1e5  # standard deviations from zero: beyond, only double-double knows the mean without a row


@dataclass(frozen=True)
class ClosedGaussian:
    """Gaussians with a variance of their own, and what the own class of a row is without it (classes, columns).

    With d = x − mean, n and M = Σ(x − mean)² of the own class, and ddof δ, without x

        mean' = mean − d / (n − 1)        x − mean' = d n / (n − 1)
        M'    = M − d² n / (n − 1)        = M (1 − rate · d²) = M · rest
        σ²'   = M' / (n − 1 − δ)          = σ² · growth · rest,   growth = (n − δ) / (n − 1 − δ)

        ln p'(x) = own_constant − own_precision d² / (2 rest) − ln(rest) / 2

    as `kernels.score_gaussian_left_out` computes it.
    """

    mean: Floats
    precision: Floats
    constant: Floats
    rate: Floats
    own_precision: Floats
    own_constant: Floats

    @property
    def parts(self) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
        """All six, in the order of the kernel."""
        return self.mean, self.precision, self.constant, self.rate, self.own_precision, self.own_constant


@dataclass(frozen=True)
class LeftOutGaussians:
    """Measured columns of one variance rule without one of their rows."""

    moments: Moments
    class_counts: Floats
    rule: VarianceRule
    ddof: int
    floor: VarianceFloor

    def columns(self, index: Any) -> LeftOutGaussians:
        """The same for some of the columns."""
        return replace(self, moments=self.moments.columns(index))

    def closed(self) -> npt.NDArray[np.bool_]:
        """Columns of which the closed form is exact for all rows but those with too little rest (columns,).

        Every class has a variance of its own, well above the floor whichever row leaves; a class that would not have
        one without one of its values (fewer than four of them) has no rate.
        """
        n, mean, squares = self.moments.n, self.moments.mean(), self.moments.squared_deviations()
        if self.rule != "class_feature" or n.dtype.kind == "f":
            return np.zeros(n.shape[1], dtype=bool)
        total = self.moments.pooled().squared_deviations()
        with np.errstate(invalid="ignore", divide="ignore"):
            above = (squares / n > 10 / LEAST * NOISE * total / n.sum(axis=0)) & (self.floored_rest() < 0.5)
            near = np.abs(mean) < FAR * np.sqrt(squares / n)
        fit: npt.NDArray[np.bool_] = ((n >= 2) & above & near).all(axis=0)
        return fit

    def floored_rest(self) -> Floats:
        """What must be left of the spread of each class for the floor not to touch it, whichever row leaves."""
        n, squares = self.moments.n, self.moments.squared_deviations()
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(2 * highest_floor(self.moments, self.ddof, self.floor) * (n - self.ddof) / squares)

    def closed_form(self) -> ClosedGaussian:
        """The parameters of columns that are :meth:`closed`."""
        n, mean, squares = (
            np.ascontiguousarray(a, dtype=np.float64)
            for a in (self.moments.n, self.moments.mean(), self.moments.squared_deviations())
        )
        variance = squares / (n - self.ddof)
        n = np.where(n < 4, np.nan, n)
        own = variance * (n - self.ddof) / (n - 1 - self.ddof)
        return ClosedGaussian(
            mean,
            1 / variance,
            -0.5 * logspace.log(2 * np.pi * variance),
            n / ((n - 1) * squares),
            (n / (n - 1)) ** 2 / own,
            -0.5 * logspace.log(2 * np.pi * own),
        )

    def lacks(self, x: Floats, labels: Index, unit: Floats) -> npt.NDArray[np.bool_]:
        """Which cells of rows (rows, columns) cannot have been among the values of their class."""
        return self.moments.take(labels).lacks(_cells(x, unit))

    def scores(self, x: Floats, labels: Index, unit: Floats) -> Floats:
        """ln p'(x | class) summed over the columns (rows, classes), the row itself taken from its class."""
        return np.asarray(self.terms(x, labels, unit).sum(axis=-1))

    def terms(self, x: Floats, labels: Index, unit: Floats) -> Floats:
        """ln p'(x | class) of each column (rows, classes, columns); 0 where the cell is missing."""
        cells = _cells(x, unit)
        left = self.moments.take(labels) - cells
        together = self.moments.pooled().take(np.zeros(len(x), dtype=np.int64))
        total = (together - cells).squared_deviations()
        own = (np.arange(len(x)), labels)
        n, squares, mean = (
            np.repeat(part[None], len(x), axis=0)
            for part in (self.moments.n.astype(np.float64), self.moments.squared_deviations(), self.moments.mean())
        )
        n[own], squares[own], mean[own] = left.n, left.squared_deviations(), left.mean()
        occurs = np.repeat((self.class_counts > 0)[None], len(x), axis=0)
        variance, _ = shared_variance(n, squares, total, occurs, self.rule, self.ddof, self.floor)
        with np.errstate(invalid="ignore", over="ignore"):
            terms = -0.5 * ((x[:, None, :] - mean) ** 2 / variance + np.log(2 * np.pi * variance))
        return np.nan_to_num(terms, nan=0.0, neginf=-np.inf)


@dataclass(frozen=True)
class LeftOutKernel:
    """A kernel density without one of its values, the bandwidths held."""

    density: KernelDensity

    @cached_property
    def _tables(self) -> dict[int, Floats]:
        return {}

    def lacks(self, x: Floats, labels: Index, unit: Floats) -> npt.NDArray[np.bool_]:
        """Which numbers (rows,) were not counted in their class, or not so often."""
        values = self.density.values
        at = values.read(x)
        slot = np.minimum(np.searchsorted(values.points, at), max(len(values.points) - 1, 0))
        if not len(values.points):
            return ~np.isnan(x)
        counted = values.counts[labels, slot] * (values.points[slot] == at)
        return np.asarray(~np.isnan(x) & (counted < unit * (1 - GONE)))

    def scores(self, x: Floats, labels: Index, unit: Floats) -> Floats:
        """ln p'(x | class) (rows, classes); zero for all classes where the own one has no other value."""
        scores = self.density.scores(x)
        at, n = self.density.values.read(x), self.density.values.counts.sum(axis=1)
        present = ~np.isnan(x)
        for c, bells in enumerate(self.density.classes):
            rows = np.flatnonzero(present & (labels == c) if n[c] > 0 else present)  # without rows: all together
            if bells is not None and len(rows):
                scores[rows, c] = self._without(c, bells, at[rows], unit[rows])
        scores[present & (n[labels] - unit <= GONE * n[labels])] = 0.0
        return scores

    def _without(self, c: int, bells: Bells, x: Floats, unit: Floats) -> Floats:
        if not (unit == 1).all() or len(x) < len(bells.points):
            return bells.left_out(x, unit)
        if c not in self._tables:
            self._tables[c] = bells.left_out(bells.points, np.ones(len(bells.points)))
        return self._tables[c][np.searchsorted(bells.points, x)]


def highest_floor(moments: Moments, ddof: int, floor: VarianceFloor) -> Floats:
    """A bound of the floor of each column without any one row: no sum is larger then, and its freedom is one less."""
    freedom, n = (moments.n - ddof).sum(axis=0), moments.n.sum(axis=0) - ddof
    squares, total = moments.squared_deviations().sum(axis=0), moments.pooled().squared_deviations()[0]
    with np.errstate(invalid="ignore", divide="ignore"):
        highest = floor.least(squares / (freedom - 1), total / (n - 1))
    return np.where((freedom > 1) & (n > 1), highest, np.inf)


def _cells(x: Floats, unit: Floats) -> Moments:
    """The moments of one value each, with the weight of its row: (rows, columns); nothing where it is missing."""
    whole = bool((unit == 1).all())
    present = ~np.isnan(x)
    x, unit = np.where(present, x, 0.0), np.where(present, unit[:, None], 0.0)
    zero = np.zeros_like(x)
    weighted = dd.multiply((unit, zero), (x, zero))
    n = unit.astype(np.int64) if whole else unit  # whole counts keep all digits of a difference
    return Moments(n, *weighted, *dd.multiply(weighted, (x, zero)), zero)

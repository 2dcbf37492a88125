"""Compute AODE's tables: conditional probabilities given a class and a parent, from counts of pairs.

Formula: the mean over all parents: AODE
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bayeskit import logspace
from bayeskit.data.vocabulary import Value
from bayeskit.errors import format_setting
from bayeskit.estimate.formulas import Given, Share, Written
from bayeskit.estimate.smoothing import BackOff, Smoothing, backed_off, smoothed
from bayeskit.memory import Need, check_memory
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import GONE
from bayeskit.typing import Array, Bools, Floats, Ints


@dataclass(frozen=True)
class OneDependence:
    """Log tables of every column with and without a parent. Slots of a column: missing, its values, unseen.

    ``alone`` (n_classes, n_all_values) is P(x | c); ``given[p]`` (n_classes, n_values of p, n_all_values) is P(x | c,
    x_p). The values of all columns are concatenated.
    """

    tally: Tally
    values: dict[str, tuple[Value, ...]]
    used: tuple[bool, ...]  # False if some class has no distribution: the column is left out
    pseudo_alone: Floats  # shape (n_all_values,)
    pseudo_given: tuple[Floats, ...]  # per parent, shape (n_all_values,): pseudo-counts, or m of back-off
    backs_off: bool
    alone: Floats
    given: tuple[Floats, ...]

    @property
    def sizes(self) -> list[int]:
        """Return the number of slots of each column."""
        return [len(values) + 2 for values in self.values.values()]

    @cached_property
    def _slots(self) -> Ints:
        """Return the slot of each value among the slots of all columns."""
        starts = np.cumsum([0, *self.sizes])
        slots = [start + 1 + np.arange(size - 2) for start, size in zip(starts, self.sizes, strict=False)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *slots])

    @cached_property
    def _speaks(self) -> Bools:
        """Return a mask of the values that belong to used columns."""
        return np.repeat(self.used, [len(values) for values in self.values.values()])

    @cached_property
    def present(self) -> Bools:
        """Return a mask of the slots that are values of used columns."""
        is_value = np.zeros(sum(self.sizes), dtype=bool)
        is_value[self._slots] = self._speaks
        return is_value

    @cached_property
    def seen(self) -> Floats:
        """Return the count of each slot over all classes."""
        slot_counts = np.zeros(sum(self.sizes))
        counts = [self.tally.families[name].present.sum(axis=0) for name in self.values]
        slot_counts[self._slots] = np.concatenate([np.zeros(0), *counts])
        return slot_counts

    @cached_property
    def base(self) -> Floats:
        """Return ln P(x | c), shape (n_slots, n_classes), 0 for missing and unused slots."""
        table = np.zeros((sum(self.sizes), len(self.tally.classes)))
        table[self._slots] = np.where(self._speaks[:, None], logspace.log(np.nan_to_num(self.alone.T, nan=1.0)), 0.0)
        return table

    @cached_property
    def tables(self) -> list[Floats]:
        """Return ln P(x | c, x_p) of each parent, shape (own slots · all slots, n_classes)."""
        log_tables, n_slots = [], sum(self.sizes)
        for size, given in zip(self.sizes, self.given, strict=True):
            table = np.zeros((size, n_slots, len(self.tally.classes)))
            logs = logspace.log(np.nan_to_num(given, nan=1.0))
            table[1:-1, self._slots] = np.where(self._speaks[:, None], logs.transpose(1, 2, 0), 0.0)
            log_tables.append(table.reshape(size * n_slots, table.shape[2]))
        return log_tables

    def left_out(self, unit: float) -> OneDependence:
        """Return the tables with one row of this weight removed from each cell's own class."""
        alone = _alone(self.tally, self.pseudo_alone, unit)
        given = tuple(
            _conditional_table(_counts(self.tally, p), self._starts, pseudo, alone, self.backs_off, unit)
            for p, pseudo in zip(self.values, self.pseudo_given, strict=True)
        )
        return replace(self, alone=alone, given=given)

    @property
    def _starts(self) -> Ints:
        return _column_starts(self.tally)

    def _where(self, column: str) -> slice:
        first = int(self._starts[list(self.values).index(column)])
        return slice(first, first + len(self.values[column]))

    def shares(self, column: str) -> Floats:
        """Return P(x | c) of one column, shape (n_classes, n_values); NaN if it is left out."""
        p = self.alone[:, self._where(column)]
        return p if self.used[list(self.values).index(column)] else np.full(p.shape, np.nan)

    def conditional_shares(self, parent: str, slots: Array, column: str, labels: Array) -> Floats:
        """Return P(x | c, x_p) of one column, shape (n_rows, n_values), for these parent slots and classes."""
        table = self.given[list(self.values).index(parent)][:, :, self._where(column)]
        return table[labels, slots - 1]

    def write_factor(
        self, column: str, value: int, parent: str | None = None, given: int = 0
    ) -> list[tuple[int, Written]]:
        """Return P(value | class) or, with a parent, P(value | class, its value) as counts and pseudo-counts.

        With each class stands 1, or 0 if the parent's value has no rows in it, so that it is left out of the
        condition. Values are given by index.
        """
        here = self._where(column)
        if parent is None or parent == column:
            n, pseudo = self.tally.families[column].present, self.pseudo_alone[here]
            shorter = None
        else:
            n = self.tally.pairs.table(parent, column)[:, given + 1, 1:]
            pseudo = self.pseudo_given[list(self.values).index(parent)][here]
            shorter = self.write_factor(column, value)
        written = []
        for label, counts in enumerate(n.astype(np.float64)):
            count, total, added = float(counts[value]), float(counts.sum()), float(pseudo[value])
            alone = float(self.alone[label, here][value])
            if shorter is not None and total <= 0:
                written.append(shorter[label])
            elif shorter is not None and self.backs_off:
                written.append((1, Share(count, total, added * alone, added)))
            elif total + pseudo.sum() <= 0:
                written.append((0, Given(float(logspace.log(alone)))))
            else:
                written.append((int(shorter is not None), Share(count, total, added, float(pseudo.sum()))))
        return written


def one_dependence(tally: Tally, smoothing: Smoothing, memory_limit: float | None = None) -> OneDependence:
    """Estimate all tables under a smoothing: pseudo-counts, or back-off to the table without the parent."""
    values = {name: family.values for name, family in tally.families.items()}
    n_slots, n_classes = sum(len(v) + 2 for v in values.values()), len(tally.classes)
    what = f"tables of {len(values)} columns ({n_slots:,} values) as parents of each other in {n_classes} classes"
    hint = (
        f"Leave columns with many values out ({format_setting('roles', {'name': 'ignore'})}), or use TAN or "
        "NaiveBayes; or raise memory_limit=."
    )
    check_memory(Need(what, 32.0 * n_slots * n_slots * n_classes, hint), memory_limit)
    families, backs_off = tally.families.values(), isinstance(smoothing, BackOff)
    parts = [smoothing.pseudo_counts(family.values, family.present) for family in families]
    used = tuple(
        bool(len(added)) and not ((n.sum(axis=1) + added.sum() <= 0) & (tally.class_counts > 0)).any()
        for n, added in zip((family.present for family in families), parts, strict=True)
    )
    pseudo, starts = np.concatenate([np.zeros(0), *parts]), _column_starts(tally)
    alone = _alone(tally, pseudo, 0.0)
    short = _alone(tally, pseudo, 1.0) if backs_off else alone
    given, chosen = [], []
    for parent in values:
        n = _counts(tally, parent)
        chosen.append(_conditional_pseudo_counts(smoothing, values, n, starts, short))
        given.append(_conditional_table(n, starts, chosen[-1], alone, backs_off, 0.0))
    return OneDependence(tally, values, used, pseudo, tuple(chosen), backs_off, alone, tuple(given))


def _column_starts(tally: Tally) -> Ints:
    """Return the first value of each column among the values of all columns, and the number of all values."""
    return np.cumsum([0, *(len(family.values) for family in tally.families.values())])


def _counts(tally: Tally, parent: str) -> Floats:
    """Return counts, shape (n_classes, n_values of the parent, n_all_values)."""
    shape = (len(tally.classes), len(tally.families[parent].values))
    parts = [
        np.zeros((*shape, len(family.values))) if name == parent else tally.pairs.table(parent, name)[:, 1:, 1:]
        for name, family in tally.families.items()
    ]
    return np.concatenate(parts, axis=2).astype(np.float64)


def _totals(n: Floats, starts: Ints) -> Floats:
    """Return the sums over the values of each column, repeated for each value."""
    lengths = np.diff(starts)
    sums = np.add.reduceat(n, starts[:-1][lengths > 0], axis=-1) if n.shape[-1] else n
    return np.repeat(sums, lengths[lengths > 0], axis=-1)


def _alone(tally: Tally, pseudo: Floats, unit: float) -> Floats:
    """Return P(x | c), shape (n_classes, n_all_values); uniform for a class without counts."""
    starts = _column_starts(tally)
    parts = [np.zeros((len(tally.classes), 0)), *(family.present for family in tally.families.values())]
    n = np.concatenate(parts, axis=1).astype(np.float64)
    less, added = _less(_totals(n, starts), unit), _totals(pseudo, starts)
    shares = smoothed(np.maximum(n - unit, 0.0), less, pseudo, added)
    nowhere = 1 / np.maximum(_totals(np.ones(starts[-1]), starts), 1) if not unit else np.nan
    return np.where(less + added > 0, shares, nowhere)


def _conditional_pseudo_counts(
    smoothing: Smoothing, values: dict[str, tuple[Value, ...]], n: Floats, starts: Ints, short: Floats
) -> Floats:
    """Return the pseudo-counts of each value given this parent, or the m of its column."""
    columns = [(v, int(first)) for v, first in zip(values.values(), starts, strict=False) if v]
    if isinstance(smoothing, BackOff):
        firsts = [first for _, first in columns]
        m = smoothing.weights(n, _totals(n, starts), np.broadcast_to(short[:, None], n.shape), firsts)
        return np.repeat(m, [len(v) for v, _ in columns])
    flat = n.reshape(n.shape[0] * n.shape[1], n.shape[2])
    parts = (smoothing.pseudo_counts(v, flat[:, first : first + len(v)]) for v, first in columns)
    return np.concatenate([np.zeros(0), *parts])


def _conditional_table(n: Floats, starts: Ints, pseudo: Floats, alone: Floats, backs_off: bool, unit: float) -> Floats:
    """Return P(x | c, x_p), shape (n_classes, n_values of the parent, n_all_values), with ``unit`` removed from each
    cell."""
    less, counts, lower = _less(_totals(n, starts), unit), np.maximum(n - unit, 0.0), alone[:, None]
    if backs_off:
        return backed_off(counts, np.maximum(less, 0.0), pseudo, lower)
    return np.where(less > 0, smoothed(counts, less, pseudo, _totals(pseudo, starts)), lower)


def _less(total: Floats, unit: float) -> Floats:
    return np.where(np.abs(total - unit) <= GONE * total, 0.0, total - unit)

"""Class chains: contexts that grow by one column at a time, and how their candidates are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.models.ensemble.learnt_rows import LearntRows
from bayeskit.tally.coded_trees import ColumnCodes
from bayeskit.typing import Bytes, Floats, Ints

Codes = dict[str, ColumnCodes]
STEPS, TOGETHER, MOST_CUTS = 24, 12, 3  # of a chain: its length, the columns it chooses a step from, the cuts of each
PART = 5_000  # rows that choose a chain, about


@dataclass(frozen=True)
class Steps:
    """The steps of class chains, those of chain b from ``start[b]`` to ``start[b + 1]``."""

    start: Ints
    column: npt.NDArray[np.int32]
    m: Floats
    cuts: Floats  # (steps, most cuts), NaN where there is none; of a coded column the codes that are singled out

    @classmethod
    def of(cls, learnt: list[Any]) -> Steps:
        """Those of chains that were learnt, some together."""
        lengths = [np.diff(some[0]) for some in learnt]
        start = np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, dtype=np.int64), *lengths]))])
        parts = [np.concatenate([some[i] for some in learnt]) for i in (1, 2, 3)] if learnt else None
        if parts is None:
            parts = [np.zeros(0, dtype=np.int32), np.zeros(0), np.zeros((0, MOST_CUTS))]
        return cls(start.astype(np.int64), *parts)

    def __len__(self) -> int:
        return len(self.start) - 1

    def some(self, first: int, last: int) -> tuple[Ints, npt.NDArray[np.int32], Floats, Floats]:
        """Start, column, m and cuts of some chains."""
        start = self.start[first : last + 1]
        own = slice(start[0], start[-1])
        return start - start[0], self.column[own], self.m[own], self.cuts[own]

    def recoded(self, before: Codes, now: Codes) -> Steps:
        """The same values singled out in other codes, −1 for one that is no longer there."""
        cuts = self.cuts.copy()
        for i, (name, how) in enumerate(before.items()):
            if how.values is not None and how != now[name]:
                places = (self.column == i)[:, None] & ~np.isnan(cuts)
                cuts[places] = how.codes_in(now[name])[cuts[places].astype(np.int64)]
        return Steps(self.start, self.column, self.m, cuts)


def draw_chains(
    rows: LearntRows, n_chains: int, rng: np.random.Generator
) -> tuple[Bytes, npt.NDArray[np.int32], Floats]:
    """Parts (chains, rows), candidate columns (chains, steps, together) and their cuts (…, most cuts), NaN for none.

    Every other chain tells all values of a coded column apart. For the others, its cuts are one to three codes: their
    values are singled out, and the rest stay together.
    """
    n_rows, n_columns = len(rows.labels), len(rows.columns)
    together = min(n_columns, TOGETHER)
    parts = (rng.random((n_chains, n_rows)) < min(0.5, PART / n_rows)).astype(np.uint8)
    drawn = rng.random((n_chains, STEPS, n_columns)).argsort(axis=2, kind="stable")[:, :, :together]
    candidates = np.ascontiguousarray(drawn, dtype=np.int32)
    how_many, where = rng.integers(1, MOST_CUTS + 1, candidates.shape), rng.random((*candidates.shape, MOST_CUTS))
    cuts = np.full((*candidates.shape, MOST_CUTS), np.nan)
    for i, (among, how) in enumerate(zip(rows.cut_points, rows.codes.values(), strict=True)):
        mine = candidates == i
        most = how_many[mine]
        if among is None:
            at = np.floor(where[mine] * how.size)
            most = np.where(np.nonzero(mine)[0] % 2, np.minimum(most, how.size - 2), 0)
        else:
            numbers = among[0]
            if len(numbers) < 2:
                continue
            ranks = 1 + np.floor(where[mine] * (len(numbers) - 1)).astype(np.int64)
            at = numbers[ranks - 1] / 2 + numbers[ranks] / 2
            at[at >= numbers[-1]] = np.nan
        at[np.arange(MOST_CUTS) >= most[:, None]] = np.nan
        at.sort(axis=1)
        at[:, 1:][at[:, 1:] == at[:, :-1]] = np.nan
        cuts[mine] = at
    return parts, candidates, cuts

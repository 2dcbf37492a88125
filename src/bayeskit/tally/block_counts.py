"""Count one block of rows, sharing intermediate results between statistics.

Rows have labels and perhaps weights, or belong to all classes by shares; here, and in the few statistics that read
rows in their own way, stand both paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bayeskit import kernels
from bayeskit.data.block import Block
from bayeskit.data.numbers import raise_unusable
from bayeskit.errors import BayesError
from bayeskit.tally.moments import Moments
from bayeskit.tally.plan import Plan, Request
from bayeskit.tally.space import Space
from bayeskit.tally.statistic import Statistic, statistic_of
from bayeskit.typing import Codes, Counts, Floats


@dataclass(eq=False)
class BlockCounts:
    """A block, its space, and the statistics counted so far."""

    block: Block
    space: Space
    plan: Plan
    n_threads: int = 1
    _counted: dict[Request, Statistic] = field(default_factory=dict)

    def statistic(self, request: Request) -> Statistic:
        """Return the requested statistic, counted once."""
        if request not in self._counted:
            self._counted[request] = statistic_of(request.kind).count(request, self)
        return self._counted[request]

    @property
    def class_counts(self) -> Counts:
        """Return the number of rows of each class."""
        return self._counts[0]

    def table(self, name: str) -> Counts:
        """Return the counts (n_classes, n_slots) of a coded column."""
        return self._counts[1][name]

    @cached_property
    def _counts(self) -> tuple[Counts, dict[str, Counts]]:
        """Return class counts and single-column counts from one kernel call."""
        wanted = (name for request in self.plan for name in statistic_of(request.kind).single_columns(request))
        names = list(dict.fromkeys(wanted))
        ones = np.zeros(self.block.n_rows, dtype=np.uint8)
        columns, sizes = [self.block.codes[name] for name in names], [self.space.slots[name] for name in names]
        rows, *tables = self.by_class([ones, *columns], [1, *sizes])
        return rows[:, 0], dict(zip(names, tables, strict=True))

    @property
    def labels(self) -> Codes:
        """Return the class of each labeled row."""
        if self.block.labels is None:
            raise BayesError("rows without labels cannot be counted by class")
        return self.block.labels

    def by_class(self, columns: Sequence[Codes], sizes: Sequence[int]) -> list[Counts]:
        """Return the counts (n_classes, n_codes) of each column of codes."""
        shares = self.block.responsibilities
        if shares is not None:
            return kernels.count_responsibilities(columns, sizes, shares, self.n_threads)
        n_classes, weights = self.space.n_classes, self.block.weights
        return kernels.count_codes(columns, sizes, self.labels, n_classes, weights, self.n_threads)

    def moments(self, columns: Sequence[Floats]) -> Moments:
        """Return moments (n_classes, n_columns) of numbers; raise an error for infinite or huge ones."""
        shares = self.block.responsibilities
        if shares is not None:
            sums = kernels.moments_responsibilities(columns, shares, self.n_threads)
        else:
            n_classes, weights = self.space.n_classes, self.block.weights
            sums = kernels.moments(columns, self.labels, n_classes, weights, self.n_threads)
        if not sums[-1]:
            raise_unusable(self.block.floats, self.block.start)
        return Moments(*sums[:-1])

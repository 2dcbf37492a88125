"""Count the distinct numbers of a column, the sufficient statistic of a kernel density estimate.

A column of many different numbers would grow without end. So past ``max_values`` all of them are read with fewer
digits: the last bits of the mantissa are dropped, one more bit at a time, until they fit. What is dropped depends on
the set of numbers alone, so the order in which tallies are merged cannot matter.

Formula: distinct values with counts
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bayeskit.data.cells import LARGEST, raise_unusable
from bayeskit.errors import NotLearned, SchemaMismatch, TooLarge
from bayeskit.tally.plan import (
    Recoding,
    Request,
    Space,
    arrays_of,
    check_counts,
    check_file,
    check_measured,
    spread_counts,
    take_codes,
)
from bayeskit.tally.statistic import BlockCounts, CountArrays, Parts, TableStatistic, register
from bayeskit.typing import Array, Counts, Floats

TOP = 63  # at this level there is only the sign
MAX_VALUES = 4096  # unless a plan says otherwise
LEAST, MOST = 16, 1 << 20  # values that a column may always have, and that it may be allowed


@dataclass(frozen=True, eq=False)
class Values(CountArrays):
    """Sorted ``values`` (n_values,), their ``counts`` (n_classes, n_values) and the number of dropped bits (``level``).

    >>> few = Values.of(np.array([1.0, 2.0, 1.0, np.nan]), np.array([0, 0, 1, 1]), 2)
    >>> few.values.tolist(), few.counts.tolist(), few.level
    ([1.0, 2.0], [[1, 1], [1, 0]], 0)
    >>> many = Values.of(np.arange(100) / 100 + 1, np.zeros(100, dtype=int), 1, max_values=16)
    >>> len(many.values), many.level, many.values[:3].tolist(), many.points[:3].tolist()
    (16, 48, [1.0, 1.0625, 1.125], [1.03125, 1.09375, 1.15625])
    """

    values: Floats
    counts: Counts
    level: int
    max_values: int

    @classmethod
    def of(
        cls,
        x: Floats,
        labels: Array,
        n_classes: int,
        weights: Floats | None = None,
        max_values: int = 4096,
    ) -> Self:
        """Count numbers of rows by class; NaN is missing, and rows of weight 0 are ignored."""
        there = ~np.isnan(x) if weights is None else ~np.isnan(x) & (weights > 0)
        distinct, which = np.unique(x[there] + 0.0, return_inverse=True)  # −0 is 0
        w = None if weights is None else weights[there]
        cells = labels[there].astype(np.intp) * len(distinct) + which
        counts = np.bincount(cells, w, minlength=n_classes * len(distinct)).reshape(n_classes, len(distinct))
        return cls(distinct, counts.astype(np.int64 if w is None else np.float64), 0, max_values).within_limit()

    @classmethod
    def of_responsibilities(cls, x: Floats, shares: Floats, max_values: int = 4096) -> Self:
        """Count numbers of rows with class shares of shape (n_rows, n_classes)."""
        there = ~np.isnan(x) & (shares > 0).any(axis=1)
        distinct, which = np.unique(x[there] + 0.0, return_inverse=True)
        counts = [np.bincount(which, share, minlength=len(distinct)) for share in shares[there].T]
        table = np.array(counts, dtype=np.float64).reshape(shares.shape[1], len(distinct))
        return cls(distinct, table, 0, max_values).within_limit()

    @property
    def points(self) -> Floats:
        """Return the midpoints of the intervals that the rounded values stand for."""
        return self.values if not self.level else _half_way(self.values, self.level)

    def read(self, x: Floats) -> Floats:
        """Round numbers to the precision of this column; NaN stays NaN."""
        return x if not self.level else np.where(np.isnan(x), x, _half_way(_dropped(x + 0.0, self.level), self.level))

    def plus(self, other: Self) -> Self:
        """Add the numbers of both sides, whose classes are aligned."""
        return super().plus(other).within_limit()

    def not_learned(self, other: Self, name: str, cell: tuple[int, ...], space: Space, key: Any) -> NotLearned:
        """Return an error that names the number with too few counts."""
        c, i = cell
        return NotLearned(
            f"column {key!r} had {self.values[i]:g} not as often in class {space.classes[c]!r} as it is to be "
            "forgotten; nothing was changed"
        )

    def recode(self, recoding: Recoding) -> Self:
        """Return the counts under other classes, without the numbers that no row shows any more."""
        counts = take_codes(self.counts, recoding.classes, 0)
        counted = (counts > 0).any(axis=0)
        return replace(self, values=self.values[counted], counts=counts[:, counted])

    def align(self, other: Self) -> tuple[Self, Self]:
        """Return both sides over the same values, at the precision of the coarser one."""
        if self.max_values != other.max_values:
            raise SchemaMismatch(
                f"the two sides keep up to {self.max_values} and {other.max_values} values of a column: "
                "learn both with the same max_values"
            )
        level = max(self.level, other.level)
        a, b = self._at(level), other._at(level)
        values = np.union1d(a.values, b.values)
        ours, theirs = (replace(s, values=values, counts=spread_counts(s.values, s.counts, values)) for s in (a, b))
        return ours, theirs

    def _at(self, level: int) -> Self:
        """Return the numbers with this many bits dropped."""
        if level == self.level:
            return self
        values, which = np.unique(_dropped(self.values, level), return_inverse=True)
        counts = np.zeros((len(self.counts), len(values)), dtype=self.counts.dtype)
        np.add.at(counts.T, which, self.counts.T)
        return type(self)(values, counts, level, self.max_values)

    def within_limit(self) -> Self:
        """Drop bits until the number of values is within the limit."""
        level = self.level
        while level < TOP and len(np.unique(_dropped(self.values, level))) > self.max_values:
            level += 1
        return self._at(level)


def _dropped(x: Floats, level: int) -> Floats:
    """Truncate numbers toward zero; dropping bits at once or one by one gives the same result."""
    keep = np.uint64((2**64 - 1) ^ (2**level - 1))
    return (np.ascontiguousarray(x).view(np.uint64) & keep).view(np.float64) + 0.0


def _half_way(x: Floats, level: int) -> Floats:
    half = np.uint64(1 << (level - 1))
    return (np.ascontiguousarray(x).view(np.uint64) | half).view(np.float64)


@register
@dataclass(frozen=True, eq=False)
class DistinctValues(TableStatistic[Values]):
    """The distinct numbers of each column. Addition may drop bits; subtraction never restores them."""

    kind = "distinct"
    refuse_beyond: int | None = None  # more numbers of a column are refused, where none may lose a digit

    @property
    def request(self) -> Request:
        """Return the request: the columns and the limit on distinct numbers."""
        options = {"max_values": min(v.max_values for v in self.tables.values())}
        if self.refuse_beyond is not None:
            options["refuse_beyond"] = self.refuse_beyond
        return Request(self.kind, tuple(self.tables), options)

    def with_tables(self, tables: Mapping[str, Values]) -> Self:
        """Replace the tables; raise an error for too many numbers."""
        for name, values in tables.items():
            if self.refuse_beyond is not None and len(values.values) > self.refuse_beyond:
                raise TooLarge(
                    f"column {name!r} has more than {self.refuse_beyond:,} different numbers, too many to learn where "
                    "to cut it while its rows are elsewhere",
                    hint=f"give the points, cuts={{{name!r}: [...]}}, or learn from a sample of the rows",
                )
        return replace(self, tables=tables)

    @classmethod
    def empty(cls, request: Request, space: Space) -> Self:
        """Return zero counts."""
        counts = np.zeros((space.n_classes, 0), space.dtype)
        nothing = {name: Values(np.zeros(0), counts, 0, _most(request)) for name in request.columns}
        return cls(nothing, request.options.get("refuse_beyond"))

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Count the numbers of a block."""
        block, n_classes, most = counter.block, counter.space.n_classes, _most(request)
        raise_unusable({name: block.floats[name] for name in request.columns}, block.start)
        if block.responsibilities is not None:
            shares = block.responsibilities
            columns = {n: Values.of_responsibilities(block.floats[n], shares, most) for n in request.columns}
        else:
            by = counter.labels, n_classes, block.weights, most
            columns = {name: Values.of(block.floats[name], *by) for name in request.columns}
        return cls({}, request.options.get("refuse_beyond")).with_tables(columns)

    def to_parts(self) -> Parts:
        """Return the dropped bits of each column, and its numbers with their counts."""
        return {"levels": [values.level for values in self.tables.values()]}, arrays_of(self)

    @classmethod
    def from_parts(cls, request: Request, header: Any, arrays: list[Array], space: Space) -> Self:
        """Read sorted numbers of the stated precision, each with a positive count."""
        most, beyond = _most(request), request.options.get("refuse_beyond")
        check_measured(request, space)
        fits = all(
            type(limit) is int and LEAST <= limit <= MOST for limit in (most, most if beyond is None else beyond)
        )
        check_file(fits, "the distinct values of a column do not fit its header")
        tables = zip(cls.read_tables(request, arrays, 2).items(), header["levels"], strict=True)
        return cls({name: _read_values(level, most, held, space) for (name, held), level in tables}, beyond)

    def class_totals(self) -> Iterable[Counts]:
        """Return how many numbers each class has in each column."""
        return (values.counts.sum(axis=1) for values in self.tables.values())


def _most(request: Request) -> Any:
    return request.options.get("max_values", MAX_VALUES)


def _read_values(level: Any, most: int, arrays: list[Array], space: Space) -> Values:
    """Check the numbers and counts of one column."""
    values, counts = arrays
    fits = type(level) is int and 0 <= level <= TOP and values.ndim == 1 and values.dtype == np.float64
    check_file(fits and len(values) <= most, "the distinct values of a column do not fit its header")
    check_counts(counts, (space.n_classes, len(values)), space)
    finite = (np.abs(values) <= LARGEST).all() and np.isfinite(counts).all()
    rising = (np.diff(values) > 0).all() and np.array_equal(_dropped(values, level), values)
    valid = finite and rising and (counts > 0).any(axis=0).all()
    check_file(valid, "the distinct values of a column are not sorted, or their counts are impossible")
    return Values(values, counts, level, most)

"""Statistics: counts of rows by class that can be added and subtracted.

A new statistic is one class, registered by name; docs/add_a_statistic.md writes one step by step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from bayeskit import kernels
from bayeskit.data.block import Block
from bayeskit.data.cells import raise_unusable
from bayeskit.errors import BayesError, NotLearned
from bayeskit.memory import Need
from bayeskit.tally import plan
from bayeskit.tally.plan import EqualFields, Plan, Recoding, Request, Space, check_counts, check_file, take_codes
from bayeskit.tally.row_hash import RowHasher
from bayeskit.tolerance import ROUNDING
from bayeskit.typing import Array, Bools, Codes, Counts, Floats

Parts = tuple[dict[str, Any], list[Array]]
"""A plain header and arrays, as a file holds them."""


class Statistic(EqualFields, ABC):
    """All columns of one kind. Arrays are in the codes of the tally's space: classes, and slots of values."""

    kind: ClassVar[str]
    by_column_set: ClassVar[bool] = False  # counts sets of columns instead of single ones
    may_hold_nan: ClassVar[bool] = False  # arrays may hold NaN for a missing cell
    counts_classes: ClassVar[bool] = False  # counts the classes themselves, and no column
    local_only: ClassVar[bool] = False  # holds rows, which only an engine on this machine can count

    @property
    @abstractmethod
    def request(self) -> Request:
        """Return the request that this statistic answers."""

    @classmethod
    @abstractmethod
    def empty(cls, request: Request, space: Space) -> Self:
        """Return zero counts, neutral under :meth:`plus`."""

    @classmethod
    @abstractmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Count a block, whose rows have labels or shares of classes."""

    @abstractmethod
    def recode(self, recoding: Recoding) -> Self:
        """Return the same counts in other codes; new codes have none."""

    @abstractmethod
    def plus(self, other: Self) -> Self:
        """Add a statistic in the same codes; its columns may stand in another order."""

    @abstractmethod
    def minus(self, other: Self, space: Space, tolerance: float) -> Self:
        """Subtract a statistic; raise :class:`NotLearned` where it cannot be part of this one."""

    def as_float(self) -> Self:
        """Return the counts as sums of weights."""
        weighted: Self = plan.cast_counts(self, np.float64)
        return weighted

    @abstractmethod
    def restrict(self, names: Sequence[str]) -> Self | None:
        """Return the counts of these columns alone; None where nothing is left."""

    def to_parts(self) -> Parts:
        """Return a plain header and arrays for a file."""
        return {}, plan.arrays_of(self)

    @classmethod
    @abstractmethod
    def from_parts(cls, request: Request, header: Any, arrays: list[Array], space: Space) -> Self:
        """Read :meth:`to_parts`, checking every shape and number; raise :class:`BadFile` for anything else."""

    @classmethod
    def single_columns(cls, request: Request) -> Sequence[str]:
        """Return coded columns to count alone by class, in the one pass that all statistics share."""
        return ()

    @classmethod
    def column_sets(cls, request: Request) -> Sequence[tuple[str, ...]]:
        """Return sets of coded columns whose combinations to count by class, in the same pass."""
        return ()

    @classmethod
    def memory_needed(cls, request: Request, space: Space) -> Need | None:
        """Return the memory that counting takes, where it is known before."""
        return None

    def memory_used(self) -> Need | None:
        """Return the memory taken so far, where it was not known before."""
        return None

    def occurring_values(self, column: str) -> Bools | None:
        """Return which values of a coded column occur in some row; None where this is not known."""
        return None

    def check(self, space: Space, class_counts: Counts, others: Mapping[str, Statistic]) -> None:
        """Raise :class:`BadFile` where the counts of a file contradict the other statistics."""
        for totals in self.class_totals():
            fits = (totals <= class_counts * (1 + ROUNDING)).all()
            check_file(fits, f"the {self.kind} of the tally have more rows than its classes")

    def class_totals(self) -> Iterable[Counts]:
        """Return numbers of rows of each class that cannot exceed the class counts."""
        return ()

    def check_sums(self) -> None:
        """Raise an error for sums that overflowed during counting."""
        return


T = TypeVar("T")


def margin(table: Counts) -> Counts:
    """Sum a table over all columns but the last: (n_classes, n_slots)."""
    return np.asarray(table.sum(axis=tuple(range(1, table.ndim - 1))))


@dataclass(eq=False)
class BlockCounts:
    """A block, its space, and the statistics counted so far."""

    block: Block
    space: Space
    plan: Plan
    n_threads: int = 1
    hasher: RowHasher = field(default_factory=lambda: RowHasher(()))
    _counted: dict[Request, Statistic] = field(default_factory=dict)

    def statistic(self, request: Request) -> Statistic:
        """Return the requested statistic, counted once."""
        if request not in self._counted:
            self._counted[request] = statistic_of(request.kind).count(request, self)
        return self._counted[request]

    @cached_property
    def counts(self) -> tuple[Counts, dict[str, Counts], dict[tuple[str, ...], Counts]]:
        """Return the class counts, and counts (n_classes, n_slots …) of columns and of sets, from one kernel call."""
        kinds = [(statistic_of(request.kind), request) for request in self.plan]
        sets = dict.fromkeys(one for kind, request in kinds for one in kind.column_sets(request))
        alone = dict.fromkeys(name for kind, request in kinds for name in kind.single_columns(request))
        unit = self.block.weights is None and self.block.responsibilities is None
        within = {names[-1]: names for names in sets if unit}  # sums of weights would be rounded otherwise
        names = {
            name: at for at, name in enumerate(dict.fromkeys([*alone, *(name for one in sets for name in one)]), 1)
        }
        wanted = [*sets, *((name,) for name in alone if name not in within)]
        columns = [np.zeros(self.block.n_rows, dtype=np.uint8), *(self.block.codes[name] for name in names)]
        sizes = [1, *(self.space.slots[name] for name in names)]
        rows, *found = self.by_class(columns, sizes, [[0], *([names[name] for name in one] for one in wanted)])
        tables = {one: t.reshape(-1, *(self.space.slots[n] for n in one)) for one, t in zip(wanted, found, strict=True)}
        singles = {name: tables[name,] if name not in within else margin(tables[within[name]]) for name in alone}
        return rows[:, 0], singles, {one: tables[one] for one in sets}

    @property
    def labels(self) -> Codes:
        """Return the class of each labeled row."""
        if self.block.labels is None:
            raise BayesError("rows without labels cannot be counted by class")
        return self.block.labels

    def by_class(
        self, columns: Sequence[Codes], sizes: Sequence[int], sets: Sequence[Sequence[int]] | None = None
    ) -> list[Counts]:
        """Return the counts (n_classes, n_cells) of each column of codes, or of each set of columns."""
        shares = self.block.responsibilities
        if shares is not None:
            return kernels.count_responsibilities(columns, sizes, shares, self.n_threads, sets)
        n_classes, weights = self.space.n_classes, self.block.weights
        return kernels.count_codes(columns, sizes, self.labels, n_classes, weights, self.n_threads, sets)

    def moments(self, columns: Sequence[Floats]) -> tuple[Array, ...]:
        """Return the parts of moments (n_classes, n_columns); raise an error for infinite or huge numbers."""
        shares = self.block.responsibilities
        if shares is not None:
            *sums, usable = kernels.moments_responsibilities(columns, shares, self.n_threads)
        else:
            n_classes, weights = self.space.n_classes, self.block.weights
            *sums, usable = kernels.moments(columns, self.labels, n_classes, weights, self.n_threads)
        if not usable:
            raise_unusable(self.block.floats, self.block.start)
        return tuple(sums)


class CountArrays(EqualFields):
    """A dataclass with arrays of counts; addition and subtraction align the cells of both sides first.

    A subclass gives :meth:`align` where two sides can have different cells, and the error for counts that would become
    negative.
    """

    count_fields: ClassVar[tuple[str, ...]] = ("counts",)

    def align(self, other: Self) -> tuple[Self, Self]:
        """Return both sides over the same cells."""
        return self, other

    def tidy(self) -> Self:
        """Drop cells without counts, where that is needed."""
        return self

    @abstractmethod
    def not_learned(self, other: Self, name: str, cell: tuple[int, ...], space: Space, key: Any) -> NotLearned:
        """Return the error for a cell of the field ``name`` with more counts in ``other``, which is aligned."""

    def plus(self, other: Self) -> Self:
        """Add the counts of both sides."""
        a, b = self.align(other)
        return replace(a, **{name: getattr(a, name) + getattr(b, name) for name in self.count_fields})  # type: ignore[type-var]

    def minus(self, other: Self, space: Space, tolerance: float, key: Any = None) -> Self:
        """Subtract counts; raise :class:`NotLearned` where there are too few."""
        a, b = self.align(other)
        left = {}
        for name in self.count_fields:
            left[name] = plan.subtract_counts(getattr(a, name), getattr(b, name), tolerance)
            if (left[name] < 0).any():
                raise a.not_learned(b, name, plan.first_negative(left[name]), space, key)
        return replace(a, **left).tidy()  # type: ignore[type-var]


@dataclass(frozen=True, eq=False)
class ColumnStatistic(Statistic):
    """A statistic that holds all of its columns in one object."""

    columns: tuple[str, ...]

    @property
    def request(self) -> Request:
        """Return the request for these columns."""
        return Request(self.kind, self.columns)

    @abstractmethod
    def select(self, columns: tuple[str, ...]) -> Self:
        """Return the counts of these columns, in this order."""

    def restrict(self, names: Sequence[str]) -> Self | None:
        """Return the counts of these columns alone."""
        columns = tuple(name for name in self.columns if name in names)
        return self.select(columns) if columns else None


@dataclass(frozen=True, eq=False)
class TableStatistic(Statistic, Generic[T]):
    """A statistic with one table for each column, or for each set of columns.

    A table is a dataclass with ``count_fields``, ``recode``, ``plus`` and ``minus``.
    """

    count_fields = ("tables",)
    tables: Mapping[Any, T]

    @property
    def request(self) -> Request:
        """Return the request for these columns."""
        return Request(self.kind, tuple(self.tables))

    def with_tables(self, tables: Mapping[Any, T]) -> Self:
        """Return the same statistic with other tables."""
        return replace(self, tables=tables)

    def recode(self, recoding: Recoding) -> Self:
        """Recode every table."""
        return self.with_tables({key: self._recode(key, table, recoding) for key, table in self.tables.items()})

    def plus(self, other: Self) -> Self:
        """Add the tables by key."""
        pairs: Any = {key: (table, other.tables[key]) for key, table in self.tables.items()}
        return self.with_tables(
            {key: a + b if isinstance(a, np.ndarray) else a.plus(b) for key, (a, b) in pairs.items()}
        )

    def minus(self, other: Self, space: Space, tolerance: float) -> Self:
        """Subtract the tables by key."""
        return self.with_tables(
            {key: self._subtract(key, table, other.tables[key], space, tolerance) for key, table in self.tables.items()}
        )

    def restrict(self, names: Sequence[str]) -> Self | None:
        """Keep the tables whose columns all stay."""
        keys = [key for key in self.tables if {*(key if self.by_column_set else (key,))} <= {*names}]
        return self.with_tables({key: self.tables[key] for key in keys}) if keys else None

    @classmethod
    def read_tables(cls, request: Request, arrays: list[Array], size: int) -> dict[Any, list[Array]]:
        """Return the arrays of a file by key, ``size`` for each table."""
        fits = len(arrays) == size * len(request.columns)
        check_file(fits, f"the arrays of the {cls.kind} do not fit their columns")
        return {key: arrays[i * size : (i + 1) * size] for i, key in enumerate(request.columns)}

    def _recode(self, key: Any, table: Any, recoding: Recoding) -> Any:
        return table.recode(recoding)

    def _subtract(self, key: Any, table: Any, other: Any, space: Space, tolerance: float) -> Any:
        return table.minus(other, space, tolerance, key)


class ArrayStatistic(TableStatistic[Counts]):
    """A statistic whose tables are arrays of counts, (n_classes, …).

    A subclass gives :meth:`shape`, :meth:`count` and, where the other axes are values of columns, :meth:`value_axes`.
    """

    @classmethod
    @abstractmethod
    def shape(cls, key: Any, space: Space) -> tuple[int, ...]:
        """Return the shape of a table without its first axis, the classes."""

    def value_axes(self, key: Any, recoding: Recoding) -> Sequence[Array]:
        """Return the old index of each new one, −1 for a new one, for every axis but the classes."""
        return ()

    def not_learned(self, key: Any, table: Counts, other: Counts, cell: tuple[int, ...], space: Space) -> NotLearned:
        """Return the error for a cell that would become negative."""
        return NotLearned(
            f"column {key!r} was not counted so often{space.in_class(cell[0])} in the {self.kind}; nothing was changed"
        )

    @classmethod
    def empty(cls, request: Request, space: Space) -> Self:
        """Return tables of zeros."""
        return cls({key: np.zeros((space.n_classes, *cls.shape(key, space)), space.dtype) for key in request.columns})

    @classmethod
    def from_parts(cls, request: Request, header: Any, arrays: list[Array], space: Space) -> Self:
        """Read one table of counts for each column."""
        tables = {key: table for key, (table,) in cls.read_tables(request, arrays, 1).items()}
        for key, table in tables.items():
            check_counts(table, (space.n_classes, *cls.shape(key, space)), space)
        return cls(tables)

    def _recode(self, key: Any, table: Counts, recoding: Recoding) -> Counts:
        for axis, index in enumerate(self.value_axes(key, recoding), start=1):
            table = take_codes(table, index, axis)
        return take_codes(table, recoding.classes, 0)

    def _subtract(self, key: Any, table: Counts, other: Counts, space: Space, tolerance: float) -> Counts:
        left = plan.subtract_counts(table, other, tolerance)
        if (left < 0).any():
            raise self.not_learned(key, table, other, plan.first_negative(left), space)
        return left


_KINDS: dict[str, type[Statistic]] = {}
S = TypeVar("S", bound=type[Statistic])


def register(statistic: S) -> S:
    """Make a statistic known by its kind, to plans and to files. A file can name registered kinds only."""
    if _KINDS.setdefault(statistic.kind, statistic) is not statistic:
        raise BayesError(f"another statistic is registered as {statistic.kind!r}")
    return statistic


def check_movable(requests: Iterable[Request]) -> None:
    """Raise an error for a plan that asks for rows, before another engine counts."""
    rows = [request.kind for request in requests if statistic_of(request.kind).local_only]
    if rows:
        raise BayesError(
            f"this model needs the {rows[0]} themselves, which only this machine can hold",
            hint="fit without engine=, or use a model that needs counts alone, such as NaiveBayes",
        )


def statistic_of(kind: str, refuse: Callable[[str], BayesError] = BayesError) -> type[Statistic]:
    """Return the statistic that is registered under a name."""
    if kind not in _KINDS:
        raise refuse(f"there is no statistic {kind!r} (known: {', '.join(sorted(_KINDS))})")
    return _KINDS[kind]

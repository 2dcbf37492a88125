"""Statistics: counts of rows by class that can be added and subtracted.

A new statistic is one class, registered by name; docs/add_a_statistic.md writes one step by step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from bayeskit.errors import BayesError, NotLearned
from bayeskit.memory import Need
from bayeskit.tally.plan import (
    EqualFields,
    Recoding,
    Request,
    Space,
    are_equal,
    check_counts,
    check_file,
    first_negative,
    subtract_counts,
    take_codes,
)
from bayeskit.typing import Array, Bools, Counts

if TYPE_CHECKING:
    from bayeskit.tally.tally import BlockCounts, Tally

Parts = tuple[dict[str, Any], list[Array]]
"""A plain header and arrays, as a file holds them."""


class Statistic(ABC):
    """All columns of one kind. Arrays are in the codes of the tally's space: classes, and slots of values."""

    kind: ClassVar[str]
    by_column_set: ClassVar[bool] = False  # counts sets of columns instead of single ones
    may_hold_nan: ClassVar[bool] = False  # arrays may hold NaN for a missing cell
    counts_classes: ClassVar[bool] = False  # counts the classes themselves, and no column
    local_only: ClassVar[bool] = False  # holds rows, which only an engine on this machine can count

    __hash__ = None  # type: ignore[assignment]

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

    @abstractmethod
    def as_float(self) -> Self:
        """Return the counts as sums of weights."""

    @abstractmethod
    def restrict(self, names: Sequence[str]) -> Self | None:
        """Return the counts of these columns alone; None where nothing is left."""

    @abstractmethod
    def to_parts(self) -> Parts:
        """Return a plain header and arrays for a file."""

    @classmethod
    @abstractmethod
    def from_parts(cls, request: Request, header: Any, arrays: list[Array], space: Space) -> Self:
        """Read :meth:`to_parts`, checking every shape and number; raise :class:`BadFile` for anything else."""

    @classmethod
    def single_columns(cls, request: Request) -> Sequence[str]:
        """Return coded columns to count alone by class, in the one pass that all statistics share."""
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

    def check(self, tally: Tally) -> None:
        """Raise :class:`BadFile` where the counts of a file contradict the other statistics."""
        return

    def check_sums(self) -> None:
        """Raise an error for sums that overflowed during counting."""
        return


T = TypeVar("T")


class CountArrays(EqualFields):
    """A dataclass with arrays of counts; addition and subtraction align the cells of both sides first.

    The fields named in ``count_fields`` hold counts, the others say of what. A subclass gives :meth:`align` where two
    sides can have different cells, and the error for counts that would become negative.
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
        return a._with_counts({name: getattr(a, name) + getattr(b, name) for name in self.count_fields})

    def minus(self, other: Self, space: Space, tolerance: float, key: Any = None) -> Self:
        """Subtract counts; raise :class:`NotLearned` where there are too few."""
        a, b = self.align(other)
        left = {}
        for name in self.count_fields:
            left[name] = subtract_counts(getattr(a, name), getattr(b, name), tolerance)
            if (left[name] < 0).any():
                raise a.not_learned(b, name, first_negative(left[name]), space, key)
        return a._with_counts(left).tidy()

    def as_float(self) -> Self:
        """Return the counts as sums of weights."""
        return self._with_counts({name: getattr(self, name).astype(np.float64) for name in self.count_fields})

    def _with_counts(self, counts: Mapping[str, Counts]) -> Self:
        return replace(self, **counts)  # type: ignore[type-var]


@dataclass(frozen=True, eq=False)
class TableStatistic(Statistic, Generic[T]):
    """A statistic with one table for each column, or for each set of columns.

    A table has ``recode``, ``plus``, ``minus``, ``as_float`` and ``to_arrays``.
    """

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
        return self.with_tables({key: self._add(table, other.tables[key]) for key, table in self.tables.items()})

    def minus(self, other: Self, space: Space, tolerance: float) -> Self:
        """Subtract the tables by key."""
        return self.with_tables(
            {key: self._subtract(key, table, other.tables[key], space, tolerance) for key, table in self.tables.items()}
        )

    def as_float(self) -> Self:
        """Convert every table."""
        return self.with_tables({key: self._as_float(table) for key, table in self.tables.items()})

    def restrict(self, names: Sequence[str]) -> Self | None:
        """Keep the tables whose columns all stay."""
        keys = [key for key in self.tables if {*(key if self.by_column_set else (key,))} <= {*names}]
        return self.with_tables({key: self.tables[key] for key in keys}) if keys else None

    def to_parts(self) -> Parts:
        """Return the arrays of each table, one after another."""
        return {}, [array for table in self.tables.values() for array in self._to_arrays(table)]

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and isinstance(other, TableStatistic)
            and self.tables.keys() == other.tables.keys()
            and all(are_equal(table, other.tables[key]) for key, table in self.tables.items())
        )

    def _recode(self, key: Any, table: Any, recoding: Recoding) -> Any:
        return table.recode(recoding)

    def _add(self, table: Any, other: Any) -> Any:
        return table.plus(other)

    def _subtract(self, key: Any, table: Any, other: Any, space: Space, tolerance: float) -> Any:
        return table.minus(other, space, tolerance, key)

    def _as_float(self, table: Any) -> Any:
        return table.as_float()

    def _to_arrays(self, table: Any) -> list[Array]:
        arrays: list[Array] = table.to_arrays()
        return arrays


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
        check_file(len(arrays) == len(request.columns), f"the {cls.kind} do not fit their columns")
        for key, table in zip(request.columns, arrays, strict=True):
            check_counts(table, (space.n_classes, *cls.shape(key, space)), space)
        return cls(dict(zip(request.columns, arrays, strict=True)))

    def _recode(self, key: Any, table: Counts, recoding: Recoding) -> Counts:
        for axis, index in enumerate(self.value_axes(key, recoding), start=1):
            table = take_codes(table, index, axis)
        return take_codes(table, recoding.classes, 0)

    def _add(self, table: Counts, other: Counts) -> Counts:
        return table + other

    def _subtract(self, key: Any, table: Counts, other: Counts, space: Space, tolerance: float) -> Counts:
        left = subtract_counts(table, other, tolerance)
        if (left < 0).any():
            raise self.not_learned(key, table, other, first_negative(left), space)
        return left

    def _as_float(self, table: Counts) -> Counts:
        return table.astype(np.float64)

    def _to_arrays(self, table: Counts) -> list[Array]:
        return [table]


_KINDS: dict[str, type[Statistic]] = {}
S = TypeVar("S", bound=type[Statistic])


def register(statistic: S) -> S:
    """Make a statistic known by its kind, to plans and to files. A file can name registered kinds only."""
    if _KINDS.setdefault(statistic.kind, statistic) is not statistic:
        raise BayesError(f"another statistic is registered as {statistic.kind!r}")
    return statistic


def check_movable(plan: Iterable[Request]) -> None:
    """Raise an error for a plan that asks for rows, before another engine counts."""
    rows = [request.kind for request in plan if statistic_of(request.kind).local_only]
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

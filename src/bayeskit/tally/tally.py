"""The tally of a model: counts and statistics of rows by class, with addition and subtraction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import lt
from typing import Any, Self, TypeVar

import numpy as np

from bayeskit import kernels
from bayeskit.data.block import Block
from bayeskit.data.cells import raise_unusable
from bayeskit.data.schema import NO_TARGET, Schema
from bayeskit.data.vocabulary import Value, canonical, declared_first, sort_values, union
from bayeskit.errors import BadFile, BayesError, SchemaMismatch
from bayeskit.memory import check_memory
from bayeskit.storage.container import ValueList, pack, unpack
from bayeskit.tally.distinct import DistinctValues, Values
from bayeskit.tally.families import Families, Family, from_tables
from bayeskit.tally.joints import Joint, Joints
from bayeskit.tally.matching import check_forgettable, check_one_kind, check_same, check_same_kind, joint_target
from bayeskit.tally.moments import ColumnMoments, LogMoments, Moments
from bayeskit.tally.pairs import Pairs
from bayeskit.tally.plan import Plan, Recoding, Request, Space, declared_values, subtract_counts, take_codes
from bayeskit.tally.products import Products
from bayeskit.tally.statistic import Parts, Statistic, statistic_of
from bayeskit.tally.words import ColumnWords, WordCounts
from bayeskit.tolerance import GONE
from bayeskit.typing import Array, Bools, Codes, Counts, Floats

LARGEST = 2**53  # rows
T = TypeVar("T", bound="Tally")


def tally_to_parts(tally: Tally) -> Parts:
    """Return (plain header, arrays): the class counts first, then those of each statistic."""
    statistics, arrays = [], [tally.class_counts]
    for statistic in tally.statistics.values():
        details, more = statistic.to_parts()
        statistics.append([statistic.request.to_json(), details, len(more)])
        arrays += more
    header = {
        "schema": tally.schema.to_json(),
        "classes": [] if tally.schema.target == NO_TARGET else list(tally.classes),
        "values": [[name, list(values)] for name, values in tally.space.values.items()],
        "statistics": statistics,
    }
    return header, arrays


def tally_from_parts(
    make: Callable[[Space, Counts, Mapping[str, Statistic]], T], header: Any, arrays: list[Array]
) -> T:
    """Restore the tally of :func:`tally_to_parts`; raise :class:`BadFile` for inconsistent parts."""
    try:
        space, requests = _outline(header, arrays)
        statistics, at, used = {}, 1, {*space.schema.used}
        for request, details, n_arrays in requests:
            kind = statistic_of(request.kind, BadFile)
            named = request.columns and all(isinstance(part, tuple) == kind.by_column_set for part in request.columns)
            known = kind.counts_classes or set(request.names) <= used
            if not named or request.kind in statistics or not known:
                raise BadFile("the tally's statistics do not fit its schema")
            parts = arrays[at : at + n_arrays]
            if not kind.may_hold_nan:
                _check_finite(*parts)
            statistics[request.kind] = kind.from_parts(request, details, parts, space)
            at += n_arrays
        # Lists of values are made only now, when all arrays are known to have their sizes.
        values = {n: _rising(listed, declared_values(space.schema, n)) for n, listed in space.values.items()}
        classes = _rising(space.classes)
        check_one_kind(classes)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise BadFile(f"this is no tally: {problem!r}") from None
    tally = make(Space(space.schema, classes, values, space.weighted), arrays[0], statistics)
    for statistic in statistics.values():
        statistic.check(tally)
    _check_tidy(tally)
    return tally


def _outline(header: Any, arrays: list[Array]) -> tuple[Space, list[tuple[Request, Any, int]]]:
    """Return the space with undecoded values and the requests, enough to check the size of every array."""
    schema = Schema.from_json(header["schema"])
    values = {str(name): listed for name, listed in header["values"]}
    requests = [(Request.from_json(asked), details, n_arrays) for asked, details, n_arrays in header["statistics"]]
    if len(values) < len(header["values"]) or not values.keys() <= set(schema.coded):
        raise BadFile("the tally's values do not fit its schema")
    if any(type(n) is not int or n < 0 for _, _, n in requests) or len(arrays) != 1 + sum(n for _, _, n in requests):
        raise BadFile("the tally's arrays do not fit its header")
    rows, classes = arrays[0], header["classes"]
    if schema.target == NO_TARGET and classes == []:
        classes = ("",)
    _check_finite(rows)
    if rows.dtype not in (np.int64, np.float64) or rows.shape != (len(classes),):
        raise BadFile("the tally's class counts do not fit its classes")
    total = rows.sum(dtype=np.float64)
    if rows.min(initial=0) < 0 or not np.isfinite(total) or (rows.dtype.kind == "i" and total > LARGEST):
        raise BadFile("the tally counts more rows than there can be, or fewer than none")
    return Space(schema, classes, values, rows.dtype.kind == "f"), requests


def _check_finite(*arrays: Array) -> None:
    """Check for NaN and infinity by the extremes, without copying an array."""
    for array in arrays:
        if array.dtype.kind == "f" and array.size and not (np.isfinite(array.min()) and np.isfinite(array.max())):
            raise BadFile("the tally holds counts that are negative or no numbers")


def _rising(listed: Any, declared: tuple[Value, ...] = ()) -> tuple[Value, ...]:
    """Return values of a file in declared order, or distinct and sorted; long lists were checked as bytes."""
    values = tuple(listed)
    if isinstance(listed, ValueList) or (declared and values == declared):
        return values
    if {*map(type, values)} == {str}:
        canonical("".join(values))  # refuses what is no text
        rise = all(map(lt, values, values[1:]))
    else:
        if None in [canonical(value) for value in values]:
            raise BadFile("a class or value is missing")
        rise = sort_values(dict.fromkeys(values)) == list(values)
    if not rise:
        raise BadFile("classes or values are not sorted, or stand there twice")
    return values


def _check_tidy(tally: Tally) -> None:
    """Raise an error for undeclared values and classes without rows, or for absent declared ones."""
    for name, values in tally.space.values.items():
        declared = declared_values(tally.schema, name)
        if (declared and tuple(values) != declared) or (not declared and not tally.occurring_values(name).all()):
            raise BadFile("the tally has values that were never counted, or lacks some that are declared")
    shown_classes = [label for label, n in zip(tally.classes, tally.class_counts, strict=True) if n > 0]
    if {*(tally.schema.target.domain or ()), *shown_classes} != {*tally.classes}:
        raise BadFile("the tally has classes that were never counted, or lacks some that are declared")


@dataclass(frozen=True, eq=False, repr=False)
class Tally:
    """Row counts by class, and the statistics of the columns by kind.

    Tallies with the same schema can be added and subtracted.

    Parameters
    ----------
    space : Space
        Schema, classes and values.
    class_counts : ndarray of shape (n_classes,)
    statistics : mapping of str to Statistic

    >>> a = Tally.from_counts({"sky": {"yes": {"sun": 3}, "no": {"sun": 1, "rain": 2}}})
    >>> b = Tally.from_counts({"sky": {"maybe": {"hail": 1}}})
    >>> (a + b).classes, (a + b).space.values["sky"]
    (('maybe', 'no', 'yes'), ('hail', 'rain', 'sun'))
    >>> (a + b) - b == a
    True
    """

    space: Space
    class_counts: Counts
    statistics: Mapping[str, Statistic]

    @classmethod
    def of(cls, space: Space, class_counts: Counts, *statistics: Statistic) -> Self:
        """Build a tally of some statistics, with sorted classes and values, dropping those without rows."""
        check_one_kind(space.classes)
        return cls(space, class_counts, {statistic.kind: statistic for statistic in statistics}).tidy()

    @classmethod
    def empty(cls, schema: Schema, plan: Plan) -> Self:
        """Return a tally without rows, neutral under +."""
        names = {name for request in plan for name in request.names} & {*schema.coded}
        space = Space(schema, (), {name: () for name in schema.coded if name in names})
        nothing = (statistic_of(request.kind).empty(request, space) for request in plan)
        return cls.of(space, np.zeros(0, dtype=np.int64), *nothing)

    @classmethod
    def of_block(cls, block: Block, space: Space, plan: Plan, n_threads: int, memory_limit: float | None) -> Self:
        """Count the requests of a plan in one block, in the codes of the space."""
        kinds = [(request, statistic_of(request.kind)) for request in plan]
        for request, kind in kinds:
            if (need := kind.memory_needed(request, space)) is not None:
                check_memory(need, memory_limit)
        counter = BlockCounts(block, space, plan, n_threads)
        counted = {request.kind: counter.statistic(request) for request, _ in kinds}
        return cls(space, counter.class_counts, counted)

    @property
    def schema(self) -> Schema:
        """Return the schema."""
        return self.space.schema

    @property
    def classes(self) -> tuple[Value, ...]:
        """Return the classes, sorted."""
        return tuple(self.space.classes)

    @property
    def n_rows(self) -> int | float:
        """Return the number of rows counted, or their total weight."""
        total: int | float = self.class_counts.sum().item()
        return total

    @property
    def weighted(self) -> bool:
        """Return True if counts are sums of weights."""
        return self.space.weighted

    @property
    def plan(self) -> Plan:
        """Return the plan that was counted."""
        return Plan(*(statistic.request for statistic in self.statistics.values()))

    def __repr__(self) -> str:
        columns = {name for request in self.plan for name in request.names}
        return f"<Tally of {self.n_rows:,} rows, {len(self.classes)} classes, {len(columns)} columns>"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tally)
            and self.schema == other.schema
            and self.classes == other.classes
            and dict(self.space.values) == dict(other.space.values)
            and self.class_counts.dtype == other.class_counts.dtype
            and np.array_equal(self.class_counts, other.class_counts)
            and dict(self.statistics) == dict(other.statistics)
        )

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Tally) -> Tally:
        """Add the counts of both sides."""
        a, b = self._align(other)
        return a.plus(b).tidy()

    def plus(self, other: Tally) -> Tally:
        """Add the rows of a tally with the same codes, without sorting."""
        a, b = (side.as_float() for side in (self, other)) if self.weighted != other.weighted else (self, other)
        statistics = {kind: statistic.plus(b.statistics[kind]) for kind, statistic in a.statistics.items()}
        return Tally(a.space, a.class_counts + b.class_counts, statistics)

    def __sub__(self, other: Tally) -> Tally:
        """Subtract the rows of the other side, all of which must have been counted here.

        Counts do not identify rows: that no count becomes negative is necessary, not sufficient.
        """
        a, b = self._align(other)
        if a.weighted != b.weighted:
            a, b = a.as_float(), b.as_float()
        tolerance = GONE * float(a.class_counts.sum()) if a.weighted else 0
        counts = subtract_counts(a.class_counts, b.class_counts, tolerance)
        check_forgettable(a.space, a.class_counts, b.class_counts, counts)
        left = {k: statistic.minus(b.statistics[k], a.space, tolerance) for k, statistic in a.statistics.items()}
        return Tally(a.space, counts, left).tidy()

    def _align(self, other: Tally) -> tuple[Tally, Tally]:
        """Return both sides over the same classes and values."""
        check_same(self.schema, other.schema)
        asked = {request.kind: request for request in other.plan}
        ours = self.plan
        if len(ours) != len(asked) or not all(r.kind in asked and r.is_for(asked[r.kind]) for r in ours):
            raise SchemaMismatch(
                "the two sides counted different things: learn both with the same model and settings "
                "(a structure that was learned must be given to the other side too)"
            )
        classes = union(self.classes, other.classes)
        check_one_kind(classes)
        values = {}
        for name, mine in self.space.values.items():
            check_same_kind(name, mine, other.space.values[name])
            declared = declared_values(self.schema, name)
            values[name] = declared_first(declared, union(mine, other.space.values[name]))
        schema = replace(self.schema, target=joint_target(self.schema.target, other.schema.target))
        return self.recode(schema, classes, values), other.recode(schema, classes, values)

    def tidy(self) -> Self:
        """Sort classes and values, declared values in declared order; drop undeclared ones without rows."""
        classes = [label for label, n in zip(self.space.classes, self.class_counts, strict=False) if n > 0]
        values = {}
        for name, held in self.space.values.items():
            there = [value for value, marked in zip(held, self.occurring_values(name).tolist(), strict=False) if marked]
            values[name] = declared_first(declared_values(self.schema, name), there)
        return self.recode(self.schema, union(self.schema.target.domain or (), classes), values)

    def occurring_values(self, name: str) -> Bools:
        """Return a mask of the values of a coded column that occur in some row."""
        occurring = np.zeros(self.space.slots[name] - 1, dtype=bool)
        for statistic in self.statistics.values():
            mask = statistic.occurring_values(name)
            if mask is not None:
                occurring[: len(mask)] |= mask
        return occurring

    def recode(self, schema: Schema, classes: Iterable[Value], values: Mapping[str, Any]) -> Self:
        """Return the counts over other classes and values, matched by name; new ones are zero."""
        space = Space(schema, tuple(classes), values, self.weighted)
        return self._recoded(space, Recoding.by_name(self.space, space))

    def grown(self, space: Space) -> Self:
        """Return the counts in a space to which codes were appended."""
        space = replace(space, weighted=self.weighted)
        if space.n_classes == self.space.n_classes and space.slots == self.space.slots:
            return replace(self, space=space)
        return self._recoded(space, Recoding.appended(self.space, space))

    def _recoded(self, space: Space, recoding: Recoding) -> Self:
        statistics = {kind: statistic.recode(recoding) for kind, statistic in self.statistics.items()}
        return type(self)(space, take_codes(self.class_counts, recoding.classes, 0), statistics)

    def with_classes(self, index: Any, classes: Iterable[Value]) -> Self:
        """Return the counts under other classes: each is the old class of this index, or new for −1."""
        space = replace(self.space, classes=tuple(classes))
        return self._recoded(space, Recoding.of_classes(index, self.space))

    def with_schema(self, schema: Schema) -> Self:
        """Return the counts with another schema."""
        return replace(self, space=replace(self.space, schema=schema))

    def with_statistic(self, statistic: Statistic) -> Self:
        """Replace the statistic of the same kind."""
        return replace(self, statistics={**self.statistics, statistic.kind: statistic})

    def as_float(self) -> Self:
        """Return the counts as sums of weights."""
        statistics = {kind: statistic.as_float() for kind, statistic in self.statistics.items()}
        return type(self)(replace(self.space, weighted=True), self.class_counts.astype(np.float64), statistics)

    def restrict(self, names: Iterable[str]) -> Self:
        """Return the counts of these columns only."""
        schema = self.schema.restrict(names)
        left = {kind: statistic.restrict(list(schema.columns)) for kind, statistic in self.statistics.items()}
        values = {name: values for name, values in self.space.values.items() if name in schema.columns}
        statistics = {kind: statistic for kind, statistic in left.items() if statistic is not None}
        return type(self)(replace(self.space, schema=schema, values=values), self.class_counts, statistics)

    def to_parts(self) -> Parts:
        """Return (plain header, arrays) for a file."""
        return tally_to_parts(self)

    @classmethod
    def from_parts(cls, header: Any, arrays: list[Array]) -> Self:
        """Restore the tally of :meth:`to_parts`; check every shape and count."""
        return tally_from_parts(cls, header, arrays)

    def to_bytes(self) -> bytes:
        """Serialize to bytes for :meth:`from_bytes`; equal tallies give equal bytes."""
        return pack(*self.to_parts())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Restore a tally from :meth:`to_bytes`; raise an error for damaged or foreign bytes."""
        header, arrays = unpack(data)
        with np.errstate(all="ignore"):  # what overflows is found, and refused
            return cls.from_parts(header, arrays)

    # -- statistics by name --------------------------------------------------------------------------

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[str, Mapping[Any, Mapping[Any, int | float]]],
        class_counts: Mapping[Any, int | float] | None = None,
        target: str = "class",
        domains: Mapping[str, Iterable[Any]] | None = None,
    ) -> Self:
        """Build a tally from tables ``{column: {class: {value: count}}}``.

        Without ``class_counts`` a class has as many rows as its fullest column has cells; fewer cells in
        another column are missing ones, and so are those counted under ``None``. ``domains`` declares all values of
        a column, in their order.
        """
        return cls.of(*from_tables(counts, class_counts, target, domains))

    @cached_property
    def families(self) -> dict[str, Family]:
        """Return the value counts of each coded column by class."""
        match self.statistics.get(Families.kind):
            case Families(tables=tables):
                return {name: Family(tuple(self.space.values[name]), table) for name, table in tables.items()}
        return {}

    @property
    def moment_columns(self) -> tuple[str, ...]:
        """Return the columns that have moments."""
        match self.statistics.get(ColumnMoments.kind):
            case ColumnMoments(columns=columns):
                return columns
        return ()

    @property
    def moments(self) -> Moments:
        """Return n, Σx and Σx² of the numeric columns."""
        match self.statistics.get(ColumnMoments.kind):
            case ColumnMoments(moments=moments):
                return moments
        return Moments.zeros(self.space.n_classes, 0, self.space.weighted)

    @property
    def summed(self) -> tuple[str, ...]:
        """Return the columns that have moments in any statistic."""
        held = [s.columns for s in self.statistics.values() if isinstance(s, ColumnMoments)]
        return tuple(name for columns in held for name in columns)

    @property
    def logged(self) -> tuple[str, ...]:
        """Return the columns with moments of their logarithms."""
        return tuple(name for s in self.statistics.values() if isinstance(s, LogMoments) for name in s.columns)

    def moments_of(self, columns: Sequence[str]) -> Moments:
        """Return n, Σx and Σx² of these columns, (n_classes, n_columns), from any statistic."""
        for statistic in self.statistics.values():
            if isinstance(statistic, ColumnMoments) and set(columns) <= set(statistic.columns):
                return statistic.of(columns)
        raise KeyError(*columns)

    @property
    def products(self) -> Moments | None:
        """Return Σx·y of all pairs of the numeric columns."""
        match self.statistics.get(Products.kind):
            case Products(moments=products):
                return products
        return None

    @property
    def values(self) -> Mapping[str, Values]:
        """Return the distinct numbers of columns and their counts by class."""
        match self.statistics.get(DistinctValues.kind):
            case DistinctValues(tables=columns):
                return columns
        return {}

    @property
    def words(self) -> Mapping[str, WordCounts]:
        """Return the word counts of text columns."""
        match self.statistics.get(ColumnWords.kind):
            case ColumnWords(tables=columns):
                return columns
        return {}

    @property
    def pairs(self) -> Pairs:
        """Return the counts of all pairs of some coded columns."""
        match self.statistics.get(Pairs.kind):
            case Pairs() as pairs:
                return pairs
        return Pairs((), (), np.zeros((self.space.n_classes, 0), self.space.dtype))

    @property
    def joints(self) -> Mapping[tuple[str, ...], Joint]:
        """Return the joint counts of sets of coded columns."""
        match self.statistics.get(Joints.kind):
            case Joints(tables=tables):
                return tables
        return {}

    def prune(self, min_count: float = 1, min_documents: float = 1) -> Self:
        """Drop rare words without reading any text again; forgetting ignores dropped words."""
        match self.statistics.get(ColumnWords.kind):
            case ColumnWords() as words:
                return self.with_statistic(words.prune(min_count, min_documents))
        return self


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

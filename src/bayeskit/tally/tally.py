"""The tally of a model: counts and statistics of rows by class, with addition and subtraction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import lt
from typing import Any, Self, TypeVar

import numpy as np

from bayeskit.data.block import Block
from bayeskit.data.schema import NO_TARGET, Categorical, Ignored, Numeric, Role, Schema, Target, as_domain
from bayeskit.data.vocabulary import Value, canonical, declared_first, sort_values, union
from bayeskit.errors import BadFile, BayesError, NotLearned, SchemaMismatch
from bayeskit.memory import check_memory
from bayeskit.storage.container import ValueList, pack, unpack
from bayeskit.tables import Grid, Readable, Sheet, class_header
from bayeskit.tally.counts import Families, Family, Joint, Joints, Pairs
from bayeskit.tally.distinct import DistinctValues, Values
from bayeskit.tally.moments import ColumnMoments, LogMoments, Moments, Products
from bayeskit.tally.plan import (
    Plan,
    Recoding,
    Request,
    Space,
    are_equal,
    check_file,
    declared_values,
    format_times,
    subtract_counts,
    take_codes,
)
from bayeskit.tally.row_hash import RowHash, RowHasher, combine_hashes
from bayeskit.tally.statistic import BlockCounts, Parts, Statistic, statistic_of
from bayeskit.tally.words import ColumnWords, WordCounts
from bayeskit.tolerance import GONE
from bayeskit.typing import Array, Bools, Counts

LARGEST = 2**53  # rows
UNNAMED = Target().name
SEVERAL = 8  # cuts or values that a message lists
S = TypeVar("S", bound=Statistic)


def _outline(header: Any, arrays: list[Array]) -> tuple[Space, list[tuple[Request, Any, int]]]:
    """Return the space with undecoded values and the requests, enough to check the size of every array."""
    schema = Schema.from_json(header["schema"])
    values = {str(name): listed for name, listed in header["values"]}
    requests = [(Request.from_json(asked), details, n_arrays) for asked, details, n_arrays in header["statistics"]]
    fits = len(values) == len(header["values"]) and values.keys() <= set(schema.coded)
    check_file(fits, "the tally's values do not fit its schema")
    sizes = [n for _, _, n in requests]
    fits = all(type(n) is int and n >= 0 for n in sizes) and len(arrays) == 1 + sum(sizes)
    check_file(fits, "the tally's arrays do not fit its header")
    rows, classes = arrays[0], header["classes"]
    if schema.target == NO_TARGET and classes == []:
        classes = ("",)
    _check_finite(rows)
    fits = rows.dtype in (np.int64, np.float64) and rows.shape == (len(classes),)
    check_file(fits, "the tally's class counts do not fit its classes")
    total = rows.sum(dtype=np.float64)
    fits = rows.min(initial=0) >= 0 and np.isfinite(total) and (rows.dtype.kind == "f" or total <= LARGEST)
    check_file(fits, "the tally counts more rows than there can be, or fewer than none")
    return Space(schema, classes, values, rows.dtype.kind == "f"), requests


def _check_finite(*arrays: Array) -> None:
    """Check for NaN and infinity by the extremes, without copying an array."""
    for array in arrays:
        if array.dtype.kind == "f" and array.size and not (np.isfinite(array.min()) and np.isfinite(array.max())):
            raise BadFile("the tally holds counts that are negative or no numbers")


def _rising(listed: Any, declared: tuple[Value, ...] = ()) -> tuple[Value, ...]:
    """Return values of a file in declared order, or distinct and sorted; long lists were checked as bytes."""
    values = tuple(listed)
    if declared:
        rise = values == declared
    elif isinstance(listed, ValueList):
        return values
    elif {*map(type, values)} == {str}:
        canonical("".join(values))  # refuses what is not text
        rise = all(map(lt, values, values[1:]))
    else:
        rise = None not in map(canonical, values) and sort_values(dict.fromkeys(values)) == list(values)
    check_file(rise, "classes or values are missing, not sorted, not those that are declared, or appear twice")
    return values


@dataclass(frozen=True, eq=False, repr=False)
class Tally(Readable):
    """Row counts by class, and the statistics of the columns by kind.

    Tallies with the same schema can be added and subtracted.

    Parameters
    ----------
    space : Space
        Schema, classes and values.
    class_counts : ndarray of shape (n_classes,)
    statistics : mapping of str to Statistic
    row_hash : RowHash or None
        Identifies the rows in any order; None if it is not known. Equality ignores it.

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
    row_hash: RowHash | None = None

    @classmethod
    def of(cls, space: Space, class_counts: Counts, *statistics: Statistic) -> Self:
        """Build a tally of some statistics, with sorted classes and values, dropping those without rows.

        Parameters
        ----------
        space : Space
        class_counts : ndarray of shape (n_classes,)
        *statistics : Statistic

        Returns
        -------
        Tally
        """
        check_one_kind(space.classes)
        return cls(space, class_counts, {statistic.kind: statistic for statistic in statistics}).tidy()

    @classmethod
    def empty(cls, schema: Schema, plan: Plan) -> Self:
        """Return a tally without rows, neutral under +.

        Parameters
        ----------
        schema : Schema
        plan : Plan

        Returns
        -------
        Tally
        """
        counted = {*plan.names}
        space = Space(schema, (), {name: () for name in schema.coded if name in counted})
        nothing = (statistic_of(request.kind).empty(request, space) for request in plan)
        return cls.of(space, np.zeros(0, dtype=np.int64), *nothing)

    @classmethod
    def of_block(
        cls,
        block: Block,
        space: Space,
        plan: Plan,
        n_threads: int,
        memory_limit: float | None,
        hasher: RowHasher | None = None,
    ) -> Self:
        """Count the requests of a plan in one block, in the codes of the space.

        Parameters
        ----------
        block : Block
        space : Space
        plan : Plan
        n_threads : int
        memory_limit : float or None
        hasher : RowHasher, optional
            The hasher of the rows of all blocks.

        Returns
        -------
        Tally
        """
        kinds = [(request, statistic_of(request.kind)) for request in plan]
        for request, kind in kinds:
            if (need := kind.memory_needed(request, space)) is not None:
                check_memory(need, memory_limit)
        counter = BlockCounts(block, space, plan, n_threads, hasher or RowHasher(plan.names))
        counted = {request.kind: counter.statistic(request) for request, _ in kinds}
        return cls(space, counter.counts[0], counted)

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

    @property
    def sheet(self) -> Sheet:
        """The rows of each class and the roles of the columns, as tables."""
        title = f"Tally of {self.n_rows:,} rows, {len(self.classes)} classes, {len(self.plan.names)} columns"
        header = class_header(self.schema.target.name or "class", ["rows"])
        classes = Grid({header: [str(c) for c in self.classes], "rows": self.class_counts.tolist()})
        return Sheet(title, (classes, "", *self.schema.sheet.parts))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return False
        sides = ((t.schema, t.classes, t.space.values, t.class_counts, t.statistics) for t in (self, other))
        return are_equal(*sides)

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Tally) -> Tally:
        """Add the counts of both sides."""
        return Tally.total([self, other])

    @staticmethod
    def total(tallies: Sequence[Tally]) -> Tally:
        """Sum tallies in order; values are aligned once, not at each addition.

        Parameters
        ----------
        tallies : sequence of Tally

        Returns
        -------
        Tally

        Examples
        --------
        >>> days = [Tally.from_counts({"sky": {"yes": {sky: 1}}}) for sky in ("sun", "rain", "sun")]
        >>> Tally.total(days) == days[0] + days[1] + days[2]
        True
        """
        return reduce(Tally.plus, _align(tallies)).tidy()

    def plus(self, other: Tally) -> Tally:
        """Add the rows of a tally with the same codes, without sorting.

        Parameters
        ----------
        other : Tally

        Returns
        -------
        Tally
        """
        a, b = (side.as_float() for side in (self, other)) if self.weighted != other.weighted else (self, other)
        statistics = {kind: statistic.plus(b.statistics[kind]) for kind, statistic in a.statistics.items()}
        row_hash = combine_hashes((a.row_hash, a.class_counts.any()), (b.row_hash, b.class_counts.any()))
        return Tally(a.space, a.class_counts + b.class_counts, statistics, row_hash)

    def __sub__(self, other: Tally) -> Tally:
        """Subtract the rows of the other side, all of which must have been counted here.

        Counts do not identify rows: that no count becomes negative is necessary, not sufficient.
        """
        a, b = _align([self, other])
        if a.weighted != b.weighted:
            a, b = a.as_float(), b.as_float()
        tolerance = GONE * float(a.class_counts.sum()) if a.weighted else 0
        counts = subtract_counts(a.class_counts, b.class_counts, tolerance)
        check_forgettable(a.space, a.class_counts, b.class_counts, counts)
        left = {k: statistic.minus(b.statistics[k], a.space, tolerance) for k, statistic in a.statistics.items()}
        known = a.row_hash is not None and b.row_hash is not None
        return Tally(a.space, counts, left, a.row_hash - b.row_hash if known else None).tidy()  # type: ignore[operator]

    def tidy(self) -> Self:
        """Sort classes and values, declared values in declared order; drop undeclared ones without rows.

        Returns
        -------
        Tally
        """
        classes = [label for label, n in zip(self.space.classes, self.class_counts, strict=False) if n > 0]
        values = {}
        for name, held in self.space.values.items():
            there = [value for value, marked in zip(held, self.occurring_values(name).tolist(), strict=False) if marked]
            values[name] = declared_first(declared_values(self.schema, name), there)
        return self.recode(self.schema, union(self.schema.target.domain or (), classes), values)

    def occurring_values(self, name: str) -> Bools:
        """Return a mask of the values of a coded column that occur in some row.

        Parameters
        ----------
        name : str

        Returns
        -------
        ndarray of shape (n_values,)
        """
        occurring = np.zeros(self.space.slots[name] - 1, dtype=bool)
        for statistic in self.statistics.values():
            mask = statistic.occurring_values(name)
            if mask is not None:
                occurring[: len(mask)] |= mask
        return occurring

    def recode(self, schema: Schema, classes: Iterable[Value], values: Mapping[str, Any]) -> Self:
        """Return the counts over other classes and values, matched by name; new ones are zero.

        Parameters
        ----------
        schema : Schema
        classes : iterable
        values : mapping from str to values
            Of each coded column.

        Returns
        -------
        Tally
        """
        space = Space(schema, tuple(classes), values, self.weighted)
        return self._recoded(space, Recoding.by_name(self.space, space))

    def grown(self, space: Space) -> Self:
        """Return the counts in a space to which codes were appended.

        Parameters
        ----------
        space : Space

        Returns
        -------
        Tally
        """
        space = replace(space, weighted=self.weighted)
        if space.n_classes == self.space.n_classes and space.slots == self.space.slots:
            return replace(self, space=space)
        return self._recoded(space, Recoding.appended(self.space, space))

    def _recoded(self, space: Space, recoding: Recoding) -> Self:
        statistics = {kind: statistic.recode(recoding) for kind, statistic in self.statistics.items()}
        return type(self)(space, take_codes(self.class_counts, recoding.classes, 0), statistics, self.row_hash)

    def with_classes(self, index: Any, classes: Iterable[Value]) -> Self:
        """Return the counts under other classes: each is the old class of this index, or new for −1.

        Parameters
        ----------
        index : array-like of int
        classes : iterable

        Returns
        -------
        Tally
        """
        space = replace(self.space, classes=tuple(classes))
        return replace(self._recoded(space, Recoding.of_classes(index, self.space)), row_hash=None)

    def with_schema(self, schema: Schema) -> Self:
        """Return the counts with another schema.

        Parameters
        ----------
        schema : Schema

        Returns
        -------
        Tally
        """
        return replace(self, space=replace(self.space, schema=schema))

    def with_statistic(self, statistic: Statistic) -> Self:
        """Replace the statistic of the same kind.

        Parameters
        ----------
        statistic : Statistic

        Returns
        -------
        Tally
        """
        return replace(self, statistics={**self.statistics, statistic.kind: statistic})

    def as_float(self) -> Self:
        """Return the counts as sums of weights.

        Returns
        -------
        Tally
        """
        statistics = {kind: statistic.as_float() for kind, statistic in self.statistics.items()}
        return type(self)(
            replace(self.space, weighted=True), self.class_counts.astype(np.float64), statistics, self.row_hash
        )

    def restrict(self, names: Iterable[str]) -> Self:
        """Return the counts of these columns only.

        Parameters
        ----------
        names : iterable of str

        Returns
        -------
        Tally
        """
        schema = self.schema.restrict(names)
        left = {kind: statistic.restrict(list(schema.columns)) for kind, statistic in self.statistics.items()}
        values = {name: values for name, values in self.space.values.items() if name in schema.columns}
        statistics = {kind: statistic for kind, statistic in left.items() if statistic is not None}
        return type(self)(replace(self.space, schema=schema, values=values), self.class_counts, statistics)

    def to_parts(self) -> Parts:
        """Return (plain header, arrays) for a file: the class counts first, then those of each statistic.

        Returns
        -------
        Parts
        """
        statistics, arrays = [], [self.class_counts]
        for statistic in self.statistics.values():
            details, more = statistic.to_parts()
            statistics.append([statistic.request.to_json(), details, len(more)])
            arrays += more
        header = {
            "schema": self.schema.to_json(),
            "classes": [] if self.schema.target == NO_TARGET else list(self.classes),
            "values": [[name, list(values)] for name, values in self.space.values.items()],
            "statistics": statistics,
        }
        return header | ({} if self.row_hash is None else {"row_hash": self.row_hash.to_json()}), arrays

    @classmethod
    def from_parts(cls, header: Any, arrays: list[Array]) -> Self:
        """Restore the tally of :meth:`to_parts`; raise :class:`BadFile` for inconsistent parts.

        Parameters
        ----------
        header : object
        arrays : list of ndarray

        Returns
        -------
        Tally

        Raises
        ------
        BadFile
            For inconsistent parts.
        """
        try:
            space, requests = _outline(header, arrays)
            statistics, at, used = {}, 1, {*space.schema.used}
            for request, details, n_arrays in requests:
                kind = statistic_of(request.kind, BadFile)
                sets = [isinstance(part, tuple) for part in request.columns]
                named = sets and all(is_set == kind.by_column_set for is_set in sets)
                known = kind.counts_classes or set(request.names) <= used
                fits = named and known and request.kind not in statistics
                check_file(fits, "the tally's statistics do not fit its schema")
                parts = arrays[at : at + n_arrays]
                if not kind.may_hold_nan:
                    _check_finite(*parts)
                statistics[request.kind] = kind.from_parts(request, details, parts, space)
                at += n_arrays
            # Lists of values are made only now, when all arrays are known to have their sizes.
            values = {n: _rising(listed, declared_values(space.schema, n)) for n, listed in space.values.items()}
            space = Space(space.schema, _rising(space.classes), values, space.weighted)
            check_one_kind(space.classes)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as problem:
            raise BadFile(f"this is not a tally: {problem!r}") from None
        row_hash = RowHash.from_json(header["row_hash"]) if "row_hash" in header else None
        tally = cls(space, arrays[0], statistics, row_hash)
        for statistic in statistics.values():
            statistic.check(space, tally.class_counts, statistics)
        counted = all(declared_values(tally.schema, n) or tally.occurring_values(n).all() for n in values)
        shown = {label for label, n in zip(tally.classes, arrays[0].tolist(), strict=True) if n > 0}
        tidy = counted and shown | {*(tally.schema.target.domain or ())} == {*tally.classes}
        check_file(tidy, "the tally has classes or values that were never counted, or lacks some that are declared")
        return tally

    def to_bytes(self) -> bytes:
        """Serialize to bytes for :meth:`from_bytes`; equal tallies give equal bytes.

        Returns
        -------
        bytes
        """
        return pack(*self.to_parts())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Restore a tally from :meth:`to_bytes`; raise an error for damaged or foreign bytes.

        Parameters
        ----------
        data : bytes

        Returns
        -------
        Tally

        Raises
        ------
        BadFile
            For damaged or foreign bytes.
        """
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

        Parameters
        ----------
        counts : mapping
        class_counts : mapping from class to number, default=None
        target : str, default="class"
        domains : mapping from str to values, default=None

        Returns
        -------
        Tally

        Raises
        ------
        BayesError
            For counts without classes, a column of ``domains`` without counts, and more cells than rows.
        """
        labels = {canonical(c) for table in counts.values() for c in table} | {canonical(c) for c in class_counts or ()}
        if None in labels or not labels:
            raise BayesError("a table of counts needs classes, and a missing label is none")
        classes = tuple(sort_values(label for label in labels if label is not None))
        declared = {name: as_domain(values, name) for name, values in (domains or {}).items()}
        if unknown := [name for name in declared if name not in counts]:
            raise BayesError(f"domains declares the values of column {unknown[0]!r}, which has no counts")
        families = {name: _family_of(name, table, classes, declared.get(name)) for name, table in counts.items()}
        cells = np.array(
            [family.counts.sum(axis=1) for family in families.values()] or [np.zeros(len(classes), np.int64)]
        )
        rows = cells.max(axis=0)
        if class_counts is not None:
            given = {canonical(c): n for c, n in class_counts.items()}
            rows = _numbers([given.get(c, 0) for c in classes], "the class counts")
            if (cells > rows).any():
                column = list(families)[int(np.argmax((cells > rows).any(axis=1)))]
                raise BayesError(f"column {column!r} has more cells than the class counts have rows")
        for family, present in zip(families.values(), cells, strict=False):
            family.counts[:, 0] += rows - present
        weighted = rows.dtype.kind == "f" or any(family.counts.dtype.kind == "f" for family in families.values())
        schema = Schema({name: Categorical(declared.get(name)) for name in families}, Target(target))
        space = Space(schema, classes, {name: family.values for name, family in families.items()}, weighted)
        tables = {name: family.counts.astype(space.dtype) for name, family in families.items()}
        return cls.of(space, rows.astype(space.dtype), Families(tables))

    def get(self, kind: type[S]) -> S | None:
        """Return the statistic of a kind, None if it was not counted.

        Parameters
        ----------
        kind : type
            The class of a statistic, such as ``Families``.

        Returns
        -------
        statistic or None
        """
        found = self.statistics.get(kind.kind)
        return found if isinstance(found, kind) else None

    @cached_property
    def families(self) -> dict[str, Family]:
        """Return the value counts of each coded column by class."""
        tables = found.tables if (found := self.get(Families)) else {}
        return {name: Family(tuple(self.space.values[name]), table) for name, table in tables.items()}

    @property
    def moment_columns(self) -> tuple[str, ...]:
        """Return the columns that have moments."""
        return found.columns if (found := self.get(ColumnMoments)) else ()

    @property
    def moments(self) -> Moments:
        """Return n, Σx and Σx² of the numeric columns."""
        found = self.get(ColumnMoments)
        return found.moments if found else Moments.zeros(self.space.n_classes, 0, self.space.weighted)

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
        """Return n, Σx and Σx² of these columns, (n_classes, n_columns), from any statistic.

        Parameters
        ----------
        columns : sequence of str

        Returns
        -------
        Moments
        """
        for statistic in self.statistics.values():
            if isinstance(statistic, ColumnMoments) and set(columns) <= set(statistic.columns):
                return statistic.of(columns)
        raise KeyError(*columns)

    @property
    def products(self) -> Moments | None:
        """Return Σx·y of all pairs of the numeric columns."""
        return found.moments if (found := self.get(Products)) else None

    @property
    def values(self) -> Mapping[str, Values]:
        """Return the distinct numbers of columns and their counts by class."""
        return found.tables if (found := self.get(DistinctValues)) else {}

    @property
    def words(self) -> Mapping[str, WordCounts]:
        """Return the word counts of text columns."""
        return found.tables if (found := self.get(ColumnWords)) else {}

    @property
    def pairs(self) -> Pairs:
        """Return the counts of all pairs of some coded columns."""
        return self.get(Pairs) or Pairs((), (), np.zeros((self.space.n_classes, 0), self.space.dtype))

    @property
    def joints(self) -> Mapping[tuple[str, ...], Joint]:
        """Return the joint counts of sets of coded columns."""
        return found.tables if (found := self.get(Joints)) else {}

    def prune(self, min_count: float = 1, min_documents: float = 1) -> Self:
        """Drop rare words without reading any text again; forgetting ignores dropped words.

        Parameters
        ----------
        min_count : float, default=1
            Least number of occurrences of a word.
        min_documents : float, default=1
            Least number of documents with a word.

        Returns
        -------
        Tally
        """
        words = self.get(ColumnWords)
        return self.with_statistic(words.prune(min_count, min_documents)) if words else self


def _align(tallies: Sequence[Tally]) -> Iterator[Tally]:
    """Return all sides over the same classes and values, one after another."""
    first, schema = tallies[0], tallies[0].schema
    asked = {request.kind: request for request in first.plan}
    for other in tallies[1:]:
        check_same(schema, other.schema)
        if len(other.plan) != len(asked) or not all(r.kind in asked and r.is_for(asked[r.kind]) for r in other.plan):
            raise SchemaMismatch(
                "the two sides counted different things: learn both with the same model and settings "
                "(a structure that was learned must be given to the other side too)"
            )
        schema = replace(schema, target=joint_target(schema.target, other.schema.target))
    classes = reduce(union, _distinct(tally.classes for tally in tallies))
    check_one_kind(classes)
    values = {}
    for name in first.space.values:
        lists = _distinct(tuple(tally.space.values[name]) for tally in tallies)
        shown = [listed for listed in lists if listed]
        for listed in shown[1:]:
            check_same_kind(name, shown[0], listed)
        values[name] = declared_first(declared_values(schema, name), reduce(union, lists))
    return (tally.recode(schema, classes, values) for tally in tallies)


def _distinct(lists: Iterable[tuple[Value, ...]]) -> list[tuple[Value, ...]]:
    """Return the distinct lists of values; True and 1 are equal, but not the same."""
    return list({(values, tuple(map(type, values))): values for values in lists}.values())


def _family_of(
    name: str,
    table: Mapping[Any, Mapping[Any, int | float]],
    classes: tuple[Value, ...],
    domain: tuple[Value, ...] | None,
) -> Family:
    rows = {canonical(label): {canonical(v): n for v, n in row.items()} for label, row in table.items()}
    counted = sort_values({v: None for row in rows.values() for v in row if v is not None})
    values = declared_first(domain or (), counted)
    if domain is not None and len(values) > len(domain):
        raise BayesError(f"column {name!r} has counts of {values[len(domain)]!r}, outside its declared domain")
    listed = [[rows.get(label, {}).get(value, 0) for value in (None, *values)] for label in classes]
    return Family(values, _numbers(listed, f"column {name!r}"))


def _numbers(values: list[Any], where: str) -> Counts:
    array = np.array(values)
    if array.dtype.kind not in "iuf" or not (array >= 0).all() or not np.isfinite(array).all():
        raise BayesError(f"{where}: counts are finite numbers and not negative, got {values}")
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64)


def check_same(a: Schema, b: Schema) -> None:
    """Raise an error for two schemas that differ; column order does not matter."""
    if len({a.target.name, b.target.name, UNNAMED}) > 2:
        raise SchemaMismatch(
            f"the two sides do not fit: one learned the target {a.target.name!r}, the other {b.target.name!r}. "
            "Learn both on the same target."
        )
    for name in {**a.columns, **b.columns}:
        ours, theirs = a.columns.get(name), b.columns.get(name)
        if _unordered(ours) != _unordered(theirs):
            raise SchemaMismatch(
                f"the two sides do not fit: column {name!r} is {_describe_role(ours)} on one and "
                f"{_describe_role(theirs)} on the other.",
                hint="Fit the other with the schema of the first: schema=a.schema_.",
            )


def _unordered(role: Role | None) -> Role | None:
    """Return a role with its declared values sorted, for comparison."""
    if isinstance(role, Categorical) and role.domain is not None:
        return replace(role, domain=tuple(sort_values(role.domain)))
    return role


def _describe_role(role: Role | None) -> str:
    """Return a role in words, with its cuts, kind or values."""
    if role is None:
        return "absent"
    name: str = "ignored" if isinstance(role, Ignored) else role.name
    if isinstance(role, Numeric) and role.cuts is not None:
        return f"{name} with the cuts {_listed([f'{cut:g}' for cut in role.cuts])}"
    if isinstance(role, Numeric) and role.kind is not None:
        return f"{name} taken as {role.kind}"
    if isinstance(role, Categorical) and role.domain is not None:
        return f"{name} with the values {_listed(list(map(repr, role.domain)))}"
    return name


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:SEVERAL]) + (", …" if len(words) > SEVERAL else "") if words else "none"


def joint_target(a: Target, b: Target) -> Target:
    """Merge two targets: the given name, and the declared classes of both."""
    return Target(b.name if a.name == UNNAMED else a.name, union(a.domain or (), b.domain or ()) or None)


def check_one_kind(classes: Iterable[Value]) -> None:
    """Raise an error for classes that mix strings and numbers."""
    first = {isinstance(label, str): label for label in classes}
    if len(first) > 1:
        raise SchemaMismatch(
            f"classes are all strings or all numbers, not both: {first[False]!r} and {first[True]!r}. "
            "Give them the same type."
        )


def check_same_kind(name: str, ours: Sequence[Value], theirs: Sequence[Value]) -> None:
    """Raise an error for strings on one side and numbers on the other: '1' and 1 are two values."""
    if ours and theirs and {isinstance(v, str) for v in ours}.isdisjoint(isinstance(v, str) for v in theirs):
        raise SchemaMismatch(
            f"column {name!r} holds the {type(ours[0]).__name__} {ours[0]!r} on one side and the "
            f"{type(theirs[0]).__name__} {theirs[0]!r} on the other: give it the same type"
        )


def check_forgettable(space: Space, have: Counts, less: Counts, left: Counts) -> None:
    """Raise an error for forgetting more rows of a class than were learned."""
    if (left < 0).any():
        c = int(np.argmin(left))
        rows = "these rows were" if space.schema.target == NO_TARGET else f"class {space.classes[c]!r} was"
        raise NotLearned(
            f"{rows} learned {format_times(have[c])} and cannot be forgotten {format_times(less[c])}; "
            "nothing was changed"
        )

"""Counts of a column's values by class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bayeskit.data.schema import Categorical, Schema, Target, as_domain
from bayeskit.data.vocabulary import Value, canonical, declared_first, sort_values
from bayeskit.errors import BayesError, NotLearned
from bayeskit.tally.plan import EqualFields, Recoding, Request, Space, check_file, format_times
from bayeskit.tally.statistic import ArrayStatistic, BlockCounts, Statistic, register
from bayeskit.tolerance import ROUNDING
from bayeskit.typing import Array, Bools, Counts


@dataclass(frozen=True, eq=False)
class Family(EqualFields):
    """Counts of one column, (n_classes, 1 + n_values): slot 0 holds missing cells, slot i + 1 the i-th value.

    >>> Family(("rain", "sun"), np.array([[0, 2, 1]])).present.tolist()
    [[2, 1]]
    """

    values: tuple[Value, ...]
    counts: Counts

    @property
    def present(self) -> Counts:
        """Return the counts of present cells, (n_classes, n_values)."""
        return self.counts[:, 1:]

    @property
    def missing(self) -> Counts:
        """Return the number of missing cells by class."""
        return self.counts[:, 0]

    def keep(self, values: Bools) -> Family:
        """Keep only the marked values."""
        marked = tuple(value for value, keep in zip(self.values, values, strict=True) if keep)
        return Family(marked, self.counts[:, np.concatenate([[True], values])])


@register
class Families(ArrayStatistic):
    """Value counts of each coded column, (n_classes, n_slots)."""

    kind = "families"

    @classmethod
    def single_columns(cls, request: Request) -> Sequence[str]:
        """Return all columns, which are counted in the shared pass."""
        return request.columns

    @classmethod
    def shape(cls, key: str, space: Space) -> tuple[int, ...]:
        """Return one cell for each slot of the column."""
        check_file(key in space.slots, "the tally's counts do not fit its columns")
        return (space.slots[key],)

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Take the tables of the shared pass."""
        return cls({name: counter.counts[1][name] for name in request.columns})

    def value_axes(self, key: str, recoding: Recoding) -> Sequence[Array]:
        """Return the slots of the column."""
        return (recoding.slots[key],)

    def not_learned(self, key: str, table: Counts, other: Counts, cell: tuple[int, ...], space: Space) -> NotLearned:
        """Build an error that names the value with too few counts."""
        value = f"{space.values[key][cell[1] - 1]!r}" if cell[1] else "a missing cell"
        return NotLearned(
            f"column {key!r} had {value} {format_times(table[cell])}{space.in_class(cell[0])} and cannot "
            f"forget it {format_times(other[cell])}; nothing was changed"
        )

    def occurring_values(self, column: str) -> Bools | None:
        """Return which values have a count above zero."""
        return np.asarray(self.tables[column][:, 1:].any(axis=0)) if column in self.tables else None

    def check(self, space: Space, class_counts: Counts, others: Mapping[str, Statistic]) -> None:
        """Check that the counts of every column sum to the class counts."""
        for table in self.tables.values():
            apart = np.abs(table.sum(axis=1, dtype=np.float64) - class_counts)  # floats cannot wrap around
            fits = (apart <= (ROUNDING * class_counts if space.weighted else 0)).all()
            check_file(fits, "the counts of a column do not sum to those of the classes")


def from_tables(
    counts: Mapping[str, Mapping[Any, Mapping[Any, int | float]]],
    class_counts: Mapping[Any, int | float] | None,
    target: str,
    domains: Mapping[str, Iterable[Any]] | None = None,
) -> tuple[Space, Counts, Families]:
    """Return (space, class counts, families) from tables ``{column: {class: {value: count}}}``.

    Without ``class_counts`` a class has as many rows as its fullest column has cells; fewer cells in another column
    are missing ones, and so are those counted under ``None``.
    """
    labels = {canonical(c) for table in counts.values() for c in table} | {canonical(c) for c in class_counts or ()}
    if None in labels or not labels:
        raise BayesError("a table of counts needs classes, and a missing label is none")
    classes = tuple(sort_values(label for label in labels if label is not None))
    declared = {name: as_domain(values, name) for name, values in (domains or {}).items()}
    if unknown := [name for name in declared if name not in counts]:
        raise BayesError(f"domains declares the values of column {unknown[0]!r}, which has no counts")
    families = {name: _family_of(name, table, classes, declared.get(name)) for name, table in counts.items()}
    cells = np.array([family.counts.sum(axis=1) for family in families.values()] or [np.zeros(len(classes), np.int64)])
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
    return space, rows.astype(space.dtype), Families(tables)


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

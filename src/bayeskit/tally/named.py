"""A tally's statistics under the names that people know: ``tally.families["sky"]``, ``tally.moments``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayeskit.tally.distinct import DistinctValues, Values
from bayeskit.tally.families import Families, Family, from_tables
from bayeskit.tally.joints import Joint, Joints
from bayeskit.tally.logarithms import LogMoments
from bayeskit.tally.moments import ColumnMoments, Moments
from bayeskit.tally.pairs import Pairs
from bayeskit.tally.products import Products
from bayeskit.tally.space import Space
from bayeskit.tally.statistic import Statistic
from bayeskit.tally.words import ColumnWords, WordCounts
from bayeskit.typing import Counts


class NamedStatistics:
    """Views of what was counted; empty where it was not."""

    space: Space
    class_counts: Counts
    statistics: Mapping[str, Statistic]

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[str, Mapping[Any, Mapping[Any, int | float]]],
        class_counts: Mapping[Any, int | float] | None = None,
        target: str = "class",
        domains: Mapping[str, Iterable[Any]] | None = None,
    ) -> Self:
        """A tally from tables ``{column: {class: {value: count}}}``.

        Without ``class_counts`` a class has as many rows as its fullest column has cells; fewer cells in
        another column are missing ones, and so are those counted under ``None``. ``domains`` declares all values of
        a column, in their order.
        """
        return cls.of(*from_tables(counts, class_counts, target, domains))

    @classmethod
    def of(cls, space: Space, class_counts: Counts, *statistics: Statistic) -> Self:
        """The tally of some statistics."""
        raise TypeError(f"{cls.__name__} is no tally")

    def with_statistic(self, statistic: Statistic) -> Self:
        """The same with one statistic in place of that of its kind."""
        raise TypeError(f"{type(self).__name__} is no tally")

    @cached_property
    def families(self) -> dict[str, Family]:
        """The values of each coded column and their counts by class."""
        match self.statistics.get(Families.kind):
            case Families(tables=tables):
                return {name: Family(tuple(self.space.values[name]), table) for name, table in tables.items()}
        return {}

    @property
    def moment_columns(self) -> tuple[str, ...]:
        """The columns that have moments."""
        match self.statistics.get(ColumnMoments.kind):
            case ColumnMoments(columns=columns):
                return columns
        return ()

    @property
    def moments(self) -> Moments:
        """n, Σx and Σx² of the measured columns."""
        match self.statistics.get(ColumnMoments.kind):
            case ColumnMoments(moments=moments):
                return moments
        return Moments.zeros(self.space.n_classes, 0, self.space.weighted)

    @property
    def summed(self) -> tuple[str, ...]:
        """The columns that have moments, in whichever statistic."""
        held = [s.columns for s in self.statistics.values() if isinstance(s, ColumnMoments)]
        return tuple(name for columns in held for name in columns)

    @property
    def logged(self) -> tuple[str, ...]:
        """The columns of whose logarithms the moments are."""
        return tuple(name for s in self.statistics.values() if isinstance(s, LogMoments) for name in s.columns)

    def moments_of(self, columns: Sequence[str]) -> Moments:
        """n, Σx and Σx² of these columns (classes, columns), whichever statistic holds them."""
        for statistic in self.statistics.values():
            if isinstance(statistic, ColumnMoments) and set(columns) <= set(statistic.columns):
                return statistic.of(columns)
        raise KeyError(*columns)

    @property
    def products(self) -> Moments | None:
        """Σx·y of all pairs of the measured columns."""
        match self.statistics.get(Products.kind):
            case Products(products=products):
                return products
        return None

    @property
    def values(self) -> Mapping[str, Values]:
        """The distinct numbers of columns and their counts by class."""
        match self.statistics.get(DistinctValues.kind):
            case DistinctValues(columns=columns):
                return columns
        return {}

    @property
    def words(self) -> Mapping[str, WordCounts]:
        """The words of columns of text."""
        match self.statistics.get(ColumnWords.kind):
            case ColumnWords(columns=columns):
                return columns
        return {}

    @property
    def pairs(self) -> Pairs:
        """All pairs of some coded columns."""
        match self.statistics.get(Pairs.kind):
            case Pairs() as pairs:
                return pairs
        return Pairs((), (), np.zeros((self.space.n_classes, 0), self.space.dtype))

    @property
    def joints(self) -> Mapping[tuple[str, ...], Joint]:
        """Sets of coded columns that were counted together."""
        match self.statistics.get(Joints.kind):
            case Joints(tables=tables):
                return tables
        return {}

    def prune(self, min_count: float = 1, min_documents: float = 1) -> Self:
        """Without the words seen less often: nothing is read again. Forgetting then does not look for them."""
        match self.statistics.get(ColumnWords.kind):
            case ColumnWords() as words:
                return self.with_statistic(words.prune(min_count, min_documents))
        return self

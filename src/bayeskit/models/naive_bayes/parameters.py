"""What naive Bayes believes: the class prior, and what the columns of each kind say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, TypeVar

from bayeskit.data.text.word_list import Words
from bayeskit.data.vocabulary import Vocabulary
from bayeskit.estimate.columns.coded import CodedColumns
from bayeskit.estimate.columns.column import Columns
from bayeskit.estimate.value_table import ValueTable
from bayeskit.typing import Floats

K = TypeVar("K", bound=Columns)


@dataclass(frozen=True)
class NaiveParameters:
    """What a naive Bayes model believes: the class prior, and the columns of each kind in the order of their scores."""

    log_prior: Floats
    kinds: tuple[Columns, ...] = ()

    @cached_property
    def by_column(self) -> Mapping[str, Columns]:
        """The kind that each column is of."""
        return {name: kind for kind in self.kinds for name in kind.names}

    @cached_property
    def words(self) -> Mapping[str, Words]:
        """The known words of each text."""
        return {name: words for kind in self.kinds for name, words in kind.words.items()}

    @cached_property
    def vocabularies(self) -> Mapping[str, Vocabulary]:
        """Codes of the values as the tables have them."""
        return {name: Vocabulary(values) for kind in self.kinds for name, values in kind.values.items()}

    @cached_property
    def used(self) -> tuple[str, ...]:
        """Columns that speak, in the order of their scores."""
        return tuple(name for kind in self.kinds for name in kind.used)

    @cached_property
    def silent(self) -> frozenset[str]:
        """Columns that tell nothing of any class, and are left out."""
        return frozenset(self.by_column).difference(self.used)

    def of_kind(self, kind: type[K]) -> K | None:
        """All columns of a kind; None where there are none."""
        return next((columns for columns in self.kinds if isinstance(columns, kind)), None)

    def with_kind(self, columns: Columns) -> Self:
        """The same with other beliefs about the columns of one kind."""
        return replace(self, kinds=tuple(columns if type(k) is type(columns) else k for k in self.kinds))

    @property
    def tables(self) -> Mapping[str, ValueTable]:
        """The value table of each coded column."""
        coded = self.of_kind(CodedColumns)
        return {} if coded is None else coded.tables

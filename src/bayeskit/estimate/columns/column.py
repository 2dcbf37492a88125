"""Columns of a naive model: the interface of every kind, and scores of one cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from bayeskit.data.block import Block
from bayeskit.data.numbers import LARGEST
from bayeskit.data.schema import Schema
from bayeskit.data.text.word_list import Words
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError, NotLearnt
from bayeskit.estimate.formulas import Given, WrittenFactor
from bayeskit.tables.table import Table
from bayeskit.tally.plan import Request
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array, Bools, Floats

Row = tuple[float, ...]
WIDEST = 2**63  # integers below it in size are read as 64 bits


class Odd(Exception):
    """A record that is not for here: it is scored as a table, which also says what is wrong with it."""


def number(cell: Any) -> float | None:
    """A cell as a float, None where it is missing.

    >>> number(3), number(None), number(float("nan"))
    (3.0, None, None)
    """
    kind = type(cell)
    if kind is float:
        if -LARGEST <= cell <= LARGEST:
            return float(cell)
        if cell != cell:
            return None
        raise Odd
    if cell is None:
        return None
    if kind is str or not -WIDEST < cell < WIDEST:
        raise Odd
    return float(cell)


class Settings(Protocol):
    """What a model was told, for all columns or for one."""

    missing: str
    unseen: str
    ddof: int
    max_values: int
    variance_floor: Any

    def _setting_for(self, setting: str, name: str, schema: Schema) -> Any:
        """A setting that columns may have for themselves."""
        ...


@dataclass(frozen=True, eq=False)
class Leaving:
    """Labelled rows that each leave what was counted, in turn."""

    block: Block
    labels: Array
    unit: Floats  # what leaves with each row: one, or its weight where that is less
    stays: Bools  # rows that leave something of their class behind; the others are not asked of here
    whole: bool  # all rows leave as a whole, and all stay
    classes: Sequence[Value]

    @property
    def rows(self) -> Array:
        """Where the rows stand whose class stays."""
        return np.flatnonzero(self.stays)

    def refuse(self, row: int, column: str) -> NotLearnt:
        """What is said of a row that cannot have been learnt."""
        return NotLearnt(never(self.block.start + row, column, self.classes[self.labels[row]]))


class LeftOutColumns(Protocol):
    """The columns of one kind, each row scored by the estimates made without it."""

    def add_scores(self, leaving: Leaving, scores: Floats, n_threads: int) -> None:
        """Add ln P'(cell | class) of all columns to the scores (rows, classes) of the rows that stay."""
        ...

    def terms(self, leaving: Leaving) -> Mapping[str, Floats]:
        """The same column by column (rows, classes); zero for rows that do not stay."""
        ...


class Columns(Protocol):
    """All columns of one kind. The methods up to :meth:`_left_out` are each kind's own; those after it have a default.

    A column that is not used says nothing, and is left out for all classes.
    """

    kind: ClassVar[str]
    statistic: ClassVar[str]  # what is counted of such columns
    smoothed: ClassVar[bool] = False  # True where the setting ``smoothing`` changes the belief
    whole: ClassVar[bool] = False  # True where only whole numbers are possible
    names: tuple[str, ...]

    @classmethod
    def estimate(cls, names: Sequence[str], tally: Tally, settings: Settings) -> Self:
        """What is believed of these columns."""
        ...

    @property
    def used(self) -> Sequence[str]:
        """The columns that speak."""
        ...

    def add_scores(self, block: Block, scores: Floats, n_threads: int) -> None:
        """Add ln P(cell | class) of all used columns to the scores (rows, classes), in one go."""
        ...

    def scores(self, name: str, cells: Array) -> Floats:
        """ln P(cell | class) of codes or numbers of one column (cells, classes); zero where it says nothing."""
        ...

    def table(self, name: str, tally: Tally) -> Table:
        """What a person reads of a column."""
        ...

    def sample(self, name: str, labels: Array, rng: np.random.Generator) -> Any:
        """A cell for each row of these classes; missing where the column is not used."""
        ...

    def n_parameters(self) -> int:
        """Free parameters of all columns."""
        ...

    def left_out(self, tally: Tally, settings: Settings) -> LeftOutColumns:
        """The same without one row of those that were counted."""
        ...

    @classmethod
    def request(cls, names: Sequence[str], settings: Settings) -> Request:
        """What is to be counted."""
        return Request(cls.statistic, tuple(names))

    @property
    def values(self) -> Mapping[str, tuple[Value, ...]]:
        """The values of coded columns, in the order of their codes."""
        return {}

    @property
    def words(self) -> Mapping[str, Words]:
        """The known words of texts."""
        return {}

    def labels(self, name: str) -> list[Value]:
        """The values of a coded column as a person reads them."""
        return list(self.values[name])

    def points(self, name: str, n: int) -> Floats:
        """Numbers of a measured column that are equally probable in each class (classes, n)."""
        raise BayesError(f"column {name!r} ({self.kind}) is no line of numbers")

    def cells(self, name: str, block: Block) -> Array:
        """The cells of a block as :meth:`scores` takes them."""
        return block.floats[name]

    def term(self, name: str, block: Block, n_threads: int) -> Floats:
        """What one column adds to the scores of a block."""
        return self.scores(name, self.cells(name, block))

    def written(self, name: str, block: Block, tally: Tally) -> list[WrittenFactor]:
        """P(cell | class) of the first row of a block as it comes about; nothing where it says nothing."""
        x = float(block.floats[name][0])
        if name not in self.used or np.isnan(x) or self.unseen(name, block)[0]:
            return []
        log_p = self.term(name, block, 1)[0]
        return [WrittenFactor(name, f"{x:.6g}", tuple(Given(float(p), f"{self.kind} at {x:.6g}") for p in log_p))]

    def unseen(self, name: str, block: Block) -> Bools:
        """Which numbers of a measured column cannot occur, and say as little as a value that was never seen."""
        return np.zeros(block.n_rows, dtype=bool)

    def one_cell(self, name: str, refuse_unseen: bool) -> Callable[[Any], Row] | None:
        """Scores one plain cell to the same bits as :meth:`add_scores`; None where only tables are scored."""
        return None

    def refuse_unseen(self, block: Block) -> None:
        """Refuse, where ``unseen="error"``, cells that say nothing because they are not possible; codes are known."""
        return

    def holding(self, all_rows: Self, classes: Array) -> Self:
        """The same, estimated without some classes, with what all rows have chosen and leaving rows out holds."""
        return self

    def powered(self, powers: Mapping[str, float]) -> Self:
        """The same with each column's probabilities taken to a power."""
        raise no_terms(self)


def never(row: int, column: str, label: object) -> str:
    """What is said of a row that cannot have been learnt."""
    return (
        f"row {row} was never learnt: its value of column {column!r} is not among those of class {label!r}. "
        "Leave-one-out scores the rows that the model was fitted on."
    )


def no_terms(columns: Columns) -> BayesError:
    """Kinds that are scored as a whole when rows are left out."""
    names = ", ".join(columns.names)
    return BayesError(f'{columns.kind} columns have no terms of their own yet ({names}): use "gaussian" or "histogram"')


def by_class(tally: Tally, columns: Mapping[str, Any]) -> Table:
    """A line for each class, under the target's name; told apart from the names beside it."""
    header = tally.schema.target.name
    taken = {"count", "mean", "variance", *columns}
    return Table({f"{header} (class)" if header in taken else header: list(tally.classes), **columns})

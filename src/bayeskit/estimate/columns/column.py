"""Columns of a naive model: the interface of every kind, and scores of one cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from bayeskit.data.block import Block
from bayeskit.data.cells import LARGEST
from bayeskit.data.schema import Schema
from bayeskit.data.text.word_list import Words
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError, NotLearned
from bayeskit.estimate.formulas import Given, WrittenFactor
from bayeskit.estimate.sampling import mixed
from bayeskit.tables import ProbabilityTable, Table, class_header
from bayeskit.tally.plan import Request
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array, Bools, Floats

Row = tuple[float, ...]
WIDEST = 2**63  # integers below it in size are read as 64 bits


class NotFastPath(Exception):
    """A record that the fast path does not score: it is scored as a table, which also reports what is wrong."""


def number(cell: Any) -> float | None:
    """Return a cell as a float, None where it is missing.

    >>> number(3), number(None), number(float("nan"))
    (3.0, None, None)
    """
    kind = type(cell)
    if kind is float:
        if -LARGEST <= cell <= LARGEST:
            return float(cell)
        if cell != cell:
            return None
        raise NotFastPath
    if cell is None:
        return None
    if kind is str or not -WIDEST < cell < WIDEST:
        raise NotFastPath
    return float(cell)


class Settings(Protocol):
    """The settings of a model, for all columns or for one."""

    @property
    def missing(self) -> str: ...
    @property
    def unseen(self) -> str: ...

    ddof: int
    max_values: int
    variance_floor: Any

    def _setting_for(self, setting: str, name: str, schema: Schema) -> Any:
        """Return a setting that a column may override."""


@dataclass(frozen=True, eq=False)
class Leaving:
    """Labeled rows that are left out of the counts, one at a time."""

    block: Block
    labels: Array
    unit: Floats  # weight that is removed with each row: one, or its own weight if that is less
    stays: Bools  # rows whose class has other rows; the rest are not scored here
    whole: bool  # every row has the unit one, and its class has other rows
    classes: Sequence[Value]

    @property
    def rows(self) -> Array:
        """Return the indices of the rows whose class has other rows."""
        return np.flatnonzero(self.stays)

    def refuse(self, row: int, column: str) -> NotLearned:
        """Return the error for a row that cannot have been learned."""
        return not_learned(self.block.start + row, column, self.classes[self.labels[row]])


class LeftOutColumns:
    """The columns of one kind, where each row is scored by the estimates made without it.

    A kind gives :meth:`row_terms`, or both of the other methods.
    """

    def row_terms(self, leaving: Leaving) -> Iterator[tuple[str, Floats]]:
        """Yield each used column with ln P'(cell | class), shape (n_rows, n_classes), of the rows ``leaving.rows``."""
        raise NotImplementedError

    def add_scores(self, leaving: Leaving, scores: Floats, n_threads: int) -> None:
        """Add ln P'(cell | class) of all columns to the scores (n_rows, n_classes) of the rows that stay."""
        for _, term in self.row_terms(leaving):
            scores[leaving.rows] += term

    def terms(self, leaving: Leaving) -> Mapping[str, Floats]:
        """Return ln P'(cell | class) by column, (n_rows, n_classes); zero for rows that do not stay."""
        terms = {}
        for name, term in self.row_terms(leaving):
            terms[name] = np.zeros((leaving.block.n_rows, len(leaving.classes)))
            terms[name][leaving.rows] = term
        return terms


class Columns(Protocol):
    """All columns of one kind. Every kind gives the methods up to :meth:`left_out`; the others have a default.

    A column that is not used is left out for all classes.
    """

    kind: ClassVar[str]
    statistic: ClassVar[str]  # the kind of statistic that such columns need
    smoothed: ClassVar[bool] = False  # True where the setting ``smoothing`` changes the estimate
    whole: ClassVar[bool] = False  # True where only whole numbers are possible
    names: tuple[str, ...]

    @classmethod
    def estimate(cls, names: Sequence[str], tally: Tally, settings: Settings) -> Self:
        """Estimate the parameters of these columns."""

    @property
    def used(self) -> Sequence[str]:
        """Return the columns that are used."""

    def scores(self, name: str, cells: Array) -> Floats:
        """Return ln P(cell | class) of codes or numbers of one column, (n_cells, n_classes); zero if not used."""

    def table(self, name: str, tally: Tally) -> Table:
        """Return the parameters of a column as a table for people."""

    def sample(self, name: str, labels: Array, rng: np.random.Generator) -> Any:
        """Draw a cell for each row of these classes; missing if the column is not used."""

    def n_parameters(self) -> int:
        """Return the number of free parameters of all columns."""

    def left_out(self, tally: Tally, settings: Settings) -> LeftOutColumns:
        """Return the same columns with leave-one-out scores."""

    def add_scores(self, block: Block, scores: Floats, n_threads: int) -> None:
        """Add ln P(cell | class) of all used columns to the scores, (n_rows, n_classes)."""
        for name in self.used:
            scores += self.scores(name, self.cells(name, block))

    @classmethod
    def request(cls, names: Sequence[str], settings: Settings) -> Request:
        """Return the statistic to count."""
        return Request(cls.statistic, tuple(names))

    @property
    def values(self) -> Mapping[str, tuple[Value, ...]]:
        """Return the values of coded columns, in the order of their codes."""
        return {}

    @property
    def words(self) -> Mapping[str, Words]:
        """Return the known words of text columns."""
        return {}

    def labels(self, name: str) -> list[Value]:
        """Return the values of a coded column in readable form."""
        return list(self.values[name])

    def points(self, name: str, n: int) -> Floats:
        """Return equally probable numbers of a measured column in each class, (n_classes, n)."""
        raise BayesError(f"column {name!r} ({self.kind}) is not a line of numbers")

    def cells(self, name: str, block: Block) -> Array:
        """Return the cells of a block as :meth:`scores` takes them."""
        return block.floats[name]

    def term(self, name: str, block: Block, n_threads: int) -> Floats:
        """Return the contribution of one column to the scores of a block."""
        return self.scores(name, self.cells(name, block))

    def write_factors(self, name: str, block: Block, tally: Tally) -> list[WrittenFactor]:
        """Return P(cell | class) of the first row of a block with its arithmetic; empty if the cell is not used."""
        x = float(block.floats[name][0])
        if name not in self.used or np.isnan(x) or self.unseen(name, block)[0]:
            return []
        log_p = self.term(name, block, 1)[0]
        return [WrittenFactor(name, f"{x:.6g}", tuple(Given(float(p), f"{self.kind} at {x:.6g}") for p in log_p))]

    def unseen(self, name: str, block: Block) -> Bools:
        """Return a mask of numbers that cannot occur; they are ignored like unseen values."""
        return np.zeros(block.n_rows, dtype=bool)

    def one_cell(self, name: str, refuse_unseen: bool) -> Callable[[Any], Row] | None:
        """Return a scorer of one plain cell, bit-equal to :meth:`add_scores`; None if only tables are scored."""
        return None

    def refuse_unseen(self, block: Block) -> None:
        """Raise an error for impossible numbers, for ``unseen="error"``; codes are checked elsewhere."""
        return

    def holding(self, all_rows: Self, classes: Array) -> Self:
        """Return the columns, estimated without some classes, with the choices that were made with all rows."""
        return self

    def powered(self, powers: Mapping[str, float]) -> Self:
        """Return the columns with probabilities raised to a power for each column."""
        raise no_terms(self)


def not_learned(row: int, column: str, label: object) -> NotLearned:
    """Return the error for a row that cannot have been learned."""
    return NotLearned(
        f"row {row} was never learned: its value of column {column!r} is not among those of class {label!r}. "
        "Leave-one-out scores the rows that the model was fitted on."
    )


def no_terms(columns: Columns) -> BayesError:
    """Return the error for kinds of columns without separate terms."""
    names = ", ".join(columns.names)
    return BayesError(f'{columns.kind} columns have no terms of their own yet ({names}): use "gaussian" or "histogram"')


def probability_table(name: str, values: list[Any], counts: Array, shares: Floats, tally: Tally) -> ProbabilityTable:
    """Return values with their counts and P(value | class), both of shape (n_classes, n_values)."""
    columns: dict[str, Any] = {name: [v if v is None else str(v) for v in values] if mixed(values) else values}
    columns |= {f"count | {c}": n.tolist() for c, n in zip(tally.classes, counts, strict=True)}
    columns |= {f"P({name} | {c})": p.tolist() for c, p in zip(tally.classes, shares, strict=True)}
    target = tally.schema.target.name
    return ProbabilityTable(
        columns, variable=name, values=values, given=target, contexts=tally.classes, shares=shares
    )  # fmt: skip


def by_class(tally: Tally, columns: Mapping[str, Any]) -> Table:
    """Return a table with one line for each class; the header of the classes differs from the other headers."""
    return Table({class_header(tally.schema.target.name, columns): list(tally.classes), **columns})

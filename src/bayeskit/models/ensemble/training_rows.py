"""Rows in the codes of the ensemble: 0 … V − 1, missing as a value if it occurs, V for an unknown value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.cells import raise_unusable
from bayeskit.data.schema import Schema
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError
from bayeskit.estimate.repeats import join_copies
from bayeskit.models.ensemble.texts import Texts, numbers_of
from bayeskit.tally.coded_trees import ColumnCodes
from bayeskit.tally.plan import Plan
from bayeskit.tally.rows import RowBatch, StoredRows
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array, Floats, Ints

# Range of weights whose sums single precision holds with room to spare.
LIGHTEST, HEAVIEST = 1e-30, 1e30
# A column of more values than this that has fewer rows than this for each is left out if it tells nothing.
MANY_VALUES, FEW_ROWS = 7, 500
# Rows on which columns are tested for telling something together with another one, whose numbers are in so many
# intervals.
MOST_TESTED, COARSE = 20_000, 5


@dataclass(frozen=True)
class TrainingRows:
    """All training rows in memory: columns in the order of their names, labels as codes.

    Copies of a row are joined to one row of their weight (:mod:`bayeskit.estimate.repeats`), and weights are
    relative: their mean is one. ``position`` is where each row stands among the rows of the tally, and
    ``silent`` are the columns that were left out. Rows of one of the ``groups`` are left out together.
    """

    codes: dict[str, ColumnCodes]
    columns: list[Array]
    labels: npt.NDArray[np.uint32]
    classes: tuple[Value, ...]
    weights: Floats | None
    position: Ints
    silent: tuple[str, ...] = ()
    groups: Ints | None = None

    @cached_property
    def cells(self) -> dict[str, Array]:
        """The columns by name."""
        return dict(zip(self.codes, self.columns, strict=True))

    @cached_property
    def cut_points(self) -> list[tuple[Floats, int] | None]:
        """The cut points of each numeric column, None for a coded one."""
        kinds = self.codes.values()
        return [cut_points(c) if how.values is None else None for c, how in zip(self.columns, kinds, strict=True)]

    def drop_uninformative(self) -> TrainingRows:
        """Leave out columns of many values without information about the class, alone or given another column.

        They stay if all are such columns.
        """
        n_rows = len(self.labels)
        silent = tuple(
            name
            for name, cells in self.cells.items()
            if self.codes[name].size > max(MANY_VALUES, n_rows / FEW_ROWS)
            and is_uninformative(cells, self.labels)
            and self._is_uninformative_beside_others(name)
        )
        if not silent or len(silent) == len(self.codes):
            return self
        return replace(self.select([name for name in self.codes if name not in silent]), silent=silent)

    def _is_uninformative_beside_others(self, name: str) -> bool:
        """Return True if a column has no information about the class given any other column."""
        some = slice(None, None, -(-len(self.labels) // MOST_TESTED))
        cells, labels = self.cells[name][some], self.labels[some]
        for other, column in self.cells.items():
            if other == name or self.codes[other].size > MANY_VALUES:
                continue
            beside = column[some]
            if self.codes[other].values is None:
                beside = np.searchsorted(np.nanquantile(beside, np.arange(1, COARSE) / COARSE), beside)
            if not is_uninformative(cells, labels, beside):
                return False
        return True

    def select(self, names: Iterable[str]) -> TrainingRows:
        """Take some of the columns, in this order."""
        cells = self.cells
        codes = {name: self.codes[name] for name in names}
        return replace(self, codes=codes, columns=[cells[name] for name in codes])

    def take(self, rows: Array) -> TrainingRows:
        """Take some of the rows."""
        return replace(
            self,
            columns=[cells[rows] for cells in self.columns],
            labels=self.labels[rows],
            weights=None if self.weights is None else self.weights[rows],
            position=self.position[rows],
            groups=None if self.groups is None else self.groups[rows],
        )

    def unit(self, rows: Array) -> Floats:
        """Return the weight of rows (n_rows,)."""
        return np.ones(len(rows)) if self.weights is None else self.weights[rows]

    @property
    def n(self) -> float:
        """Number of rows, or the sum of their weights."""
        return float(len(self.labels) if self.weights is None else self.weights.sum())

    @property
    def n_effective(self) -> float:
        """Effective number of rows, (Σw)² / Σw²: the number of rows if all weights are equal."""
        return float(len(self.labels) if self.weights is None else self.n**2 / (self.weights**2).sum())

    @property
    def class_weights(self) -> Floats:
        """Number or weight of the rows of each class (n_classes,)."""
        return np.bincount(self.labels, self.weights, minlength=len(self.classes)).astype(np.float64)


def cut_points(column: Floats) -> tuple[Floats, int]:
    """Return the sorted numbers between which cuts are drawn, and the number of cuts.

    Cuts are drawn at ranks of the rows and make n^(1/3) intervals. If one value takes more than half of the rows, most
    ranks would fall on it; then √n cuts are drawn at ranks of the distinct numbers.

    >>> cut_points(np.array([0.0, 5, 0, 7, 0, 0, 2, 0]))
    (array([0., 2., 5., 7.]), 3)
    """
    numbers, n = np.sort(column[~np.isnan(column)]), len(column)
    # Only the median can be the value of more than half of the rows.
    middle = numbers[len(numbers) // 2 :][:1]
    if 2 * np.count_nonzero(numbers == middle) > len(numbers):
        return np.unique(numbers), max(2, round(n**0.5))
    return numbers, max(2, round(n ** (1 / 3))) - 1


def is_uninformative(cells: Array, labels: npt.NDArray[np.uint32], beside: Array | None = None) -> bool:
    """Return True if the class of a row is predicted no better by the other rows of the same value than without them.

    The other rows are smoothed by several m, towards their classes, or towards those of the rows with the same value
    of another column, ``beside``. A gain counts if it is beyond 1.5 standard errors, or four beside another column, of
    which there may be many.

    >>> labels = np.arange(120, dtype=np.uint32) % 2
    >>> is_uninformative(np.arange(120) // 2, labels), is_uninformative(np.arange(120) // 4 * 2 + labels, labels)
    (True, False)
    >>> half = np.arange(120) // 60
    >>> is_uninformative(half ^ labels, labels), is_uninformative(half ^ labels, labels, half)
    (True, False)
    """
    share, errors = (np.bincount(labels)[labels] - 0.5) / len(labels), 1.5 if beside is None else 4.0
    if beside is not None:
        own, others = _left_out_counts(beside, labels)
        share = (own + share) / (others + 1)
        cells = cells.astype(np.int64) * (int(beside.max(initial=0)) + 1) + beside
    own, others = _left_out_counts(cells, labels)
    for m in (1.0, 10.0, 100.0):
        gains = logspace.log((own + m * share) / (others + m)) - logspace.log(share)
        if gains.sum() > errors * np.sqrt(len(labels)) * gains.std():
            return False
    return True


def _left_out_counts(cells: Array, labels: npt.NDArray[np.uint32]) -> tuple[Ints, Ints]:
    """Count the other rows of the same value: those of the same class, and all of them (n_rows,)."""
    n_classes = int(labels.max(initial=0)) + 1
    _, pair, counts = np.unique(cells.astype(np.int64) * n_classes + labels, return_inverse=True, return_counts=True)
    return counts[pair] - 1, np.bincount(cells)[cells] - 1


def plan_of(schema: Schema) -> Plan:
    """Plan to keep the rows, and to count what naive Bayes needs for tables and summaries."""
    if not schema.used:
        raise BayesError("every column is ignored: there is nothing to learn from")
    return Plan(families=schema.coded, moments=schema.measured, rows=schema.used, words=schema.texts)


def rows_of(tally: Tally) -> RowBatch:
    """Return the rows that a tally holds."""
    match tally.statistics.get(StoredRows.kind):
        case StoredRows() as rows:
            return rows.all_rows
    raise BayesError("BayesClassifier learns from rows, and these counts have none: fit on rows")


def training_rows(tally: Tally, texts: Texts) -> TrainingRows:
    """Code the rows of a tally for the ensemble: missing is a value if it occurs, and texts are their log odds."""
    rows = rows_of(tally)
    codes, columns = {}, []
    read = {name: cells for name, cells in rows.cells.items() if name not in texts}
    read |= numbers_of(texts, rows.cells, is_new=False)
    # Random draws go by position: sorted names make the model independent of the order of columns.
    for name in sorted(read):
        cells = read[name]
        if cells.dtype.kind == "f":
            codes[name] = ColumnCodes(None, bool(np.isnan(cells).any()))
            columns.append(np.ascontiguousarray(cells))
        else:
            codes[name] = ColumnCodes(tuple(tally.space.values[name]), bool((cells == 0).any()))
            columns.append(codes[name].shift(cells).astype(np.min_scalar_type(codes[name].size)))
    if rows.weights is not None and len(rows.weights):
        check_range(float(rows.weights.min()), float(rows.weights.sum()))
    position, weights = join_copies(columns, rows.labels, rows.weights)
    labels = rows.labels.astype(np.uint32)
    if len(position) < len(labels):
        columns, labels = [cells[position] for cells in columns], labels[position]
    return TrainingRows(codes, columns, labels, tally.classes, weights, position)


def block_columns(block: Block, codes: Mapping[str, ColumnCodes], texts: Texts) -> list[Array]:
    """Code the columns of new rows like the training rows; refuse infinity, which means unknown here."""
    raise_unusable(block.floats, block.start)
    found, floats = [], {**block.floats, **numbers_of(texts, block.texts, is_new=True)}
    for name, how in codes.items():
        if how.values is None:
            found.append(np.ascontiguousarray(floats[name]))
        else:
            coded = how.shift(block.codes[name])
            found.append(np.minimum(coded, how.size).astype(np.min_scalar_type(how.size)))
    return found


def check_range(least: float, total: float) -> None:
    """Refuse weights that single precision cannot hold."""
    if least < LIGHTEST or not total <= HEAVIEST:
        raise BayesError(
            f"weights from {least:g} on that sum to {total:g}: BayesClassifier counts in single precision, for "
            f"weights from {LIGHTEST:g} on that sum to {HEAVIEST:g} at most; scale them"
        )

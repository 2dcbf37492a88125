"""Rows in the codes of the ensemble: 0 … V − 1, missing as a value if it occurs, V for an unknown value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bayeskit.data.block import Block
from bayeskit.data.column_codes import ColumnCodes
from bayeskit.data.numbers import raise_unusable
from bayeskit.data.schema import Schema
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError
from bayeskit.remedy import OtherModel, Remedy
from bayeskit.tally.plan import Plan
from bayeskit.tally.rows import Part, Rows
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array, Floats

LIGHTEST, HEAVIEST = 1e-30, 1e30  # what counts of 32 bits hold with room to spare


@dataclass(frozen=True)
class TrainingRows:
    """All rows to learn from, in memory: columns in the schema's order, labels as codes."""

    codes: dict[str, ColumnCodes]
    columns: list[Array]
    labels: npt.NDArray[np.uint32]
    classes: tuple[Value, ...]
    weights: Floats | None

    def __post_init__(self) -> None:
        if self.weights is not None and len(self.weights):
            check_range(float(self.weights.min()), float(self.weights.sum()))

    @property
    def cells(self) -> dict[str, Array]:
        """Columns by name."""
        return dict(zip(self.codes, self.columns, strict=True))

    @cached_property
    def cut_points(self) -> list[tuple[Floats, int] | None]:
        """`cut_points` of each column of numbers, None for one of codes."""
        kinds = self.codes.values()
        return [cut_points(c) if how.values is None else None for c, how in zip(self.columns, kinds, strict=True)]

    def unit(self, rows: Array) -> Floats:
        """What is taken away where these rows are left out: one of each, or all of a lighter one."""
        return np.ones(len(rows)) if self.weights is None else np.minimum(self.weights[rows], 1.0)

    @property
    def n(self) -> float:
        """Rows, or the sum of their weights."""
        return float(len(self.labels) if self.weights is None else self.weights.sum())

    @property
    def class_weights(self) -> Floats:
        """Rows of each class, weighed."""
        return np.bincount(self.labels, self.weights, minlength=len(self.classes)).astype(np.float64)


def cut_points(column: Floats) -> tuple[Floats, int]:
    """Sorted numbers between which cuts are drawn, and how many are: n^(1/3) intervals at ranks of the rows.

    Where one value takes more than half of the rows, most ranks would fall on it, and the other rows would stay
    together. There the ranks are those of the distinct numbers, √n of them.

    >>> cut_points(np.array([0.0, 5, 0, 7, 0, 0, 2, 0]))
    (array([0., 2., 5., 7.]), 3)
    """
    numbers, n = np.sort(column[~np.isnan(column)]), len(column)
    middle = numbers[len(numbers) // 2 :][:1]  # a value of more than half of the rows is this one
    if 2 * np.count_nonzero(numbers == middle) > len(numbers):
        return np.unique(numbers), max(2, round(n**0.5))
    return numbers, max(2, round(n ** (1 / 3))) - 1


def plan_of(schema: Schema) -> Plan:
    """What the ensemble is made of: its rows; and what naive Bayes counts, shown in tables and summaries."""
    if texts := schema.texts():
        which = f"column {texts[0]!r} is a text" if len(texts) == 1 else f"{', '.join(map(repr, texts))} are texts"
        raise BayesError(
            f"{which}, which BayesClassifier does not read: pass ",
            Remedy("roles", dict.fromkeys(texts, "ignore")),
            " or ",
            Remedy("roles", dict.fromkeys(texts, "categorical"), short=True),
            ", or use ",
            OtherModel("NaiveBayes"),
            culprit=texts[0],
        )
    if not schema.used:
        raise BayesError("every column is ignored: there is nothing to learn from")
    return Plan(families=schema.coded(), moments=schema.measured(), rows=schema.used)


def rows_of(tally: Tally) -> Part:
    """The rows that a tally holds."""
    match tally.statistics.get(Rows.kind):
        case Rows() as rows:
            return rows.whole
    raise BayesError("BayesClassifier learns from rows, and these counts have none: fit on rows")


def training_rows(tally: Tally) -> TrainingRows:
    """The rows of a tally as the ensemble codes them: missing is a value where it occurs."""
    rows = rows_of(tally)
    codes, columns = {}, []
    for name in tally.schema.used:
        cells = rows.cells[name]
        if cells.dtype.kind == "f":
            codes[name] = ColumnCodes(None, bool(np.isnan(cells).any()))
            columns.append(np.ascontiguousarray(cells))
        else:
            codes[name] = ColumnCodes(tuple(tally.space.values[name]), bool((cells == 0).any()))
            columns.append(codes[name].shift(cells).astype(np.min_scalar_type(codes[name].size)))
    weights = None if rows.weights is None or (rows.weights == 1).all() else rows.weights
    return TrainingRows(codes, columns, rows.labels.astype(np.uint32), tally.classes, weights)


def block_columns(block: Block, codes: Mapping[str, ColumnCodes]) -> list[Array]:
    """The columns of new rows, coded as they were learnt; infinity, which here means unknown, is refused."""
    raise_unusable(block.floats, block.start)
    found = []
    for name, how in codes.items():
        if how.values is None:
            found.append(np.ascontiguousarray(block.floats[name]))
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

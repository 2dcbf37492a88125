"""Columns whose sufficient statistics are moments."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from bayeskit.data.block import Block
from bayeskit.data.cells import LARGEST
from bayeskit.errors import UnknownValue
from bayeskit.estimate.columns.column import (
    Columns,
    Leaving,
    LeftOutColumns,
    NotFastPath,
    Row,
    Settings,
    by_class,
    number,
)
from bayeskit.estimate.leave_one_out import Without, numbers_in_steps, without
from bayeskit.tables import Table
from bayeskit.tally.moments import Moments
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array, Bools, Floats

Parameters = Mapping[str, Floats]


class MomentEstimate(NamedTuple):
    """Parameters by name (…, classes, columns), and which columns can be used (…, columns)."""

    parameters: Parameters
    used: Bools


@dataclass(frozen=True, eq=False)
class MomentColumns(Columns):
    """Parameters of each column by class, estimated from moments, and the exponents of the columns."""

    statistic = "moments"
    n_free: ClassVar[int] = 2  # parameters of each class
    refusal: ClassVar[str] = ""  # why a number is impossible
    names: tuple[str, ...]
    belief: MomentEstimate
    powers: Mapping[str, float] | None = None

    @classmethod
    @abstractmethod
    def believe(cls, moments: Without, occurs: Bools, settings: Settings) -> MomentEstimate:
        """Estimate parameters from moments; ``occurs`` (…, n_classes) marks the classes that have rows."""

    @staticmethod
    @abstractmethod
    def log_density(x: Floats, parameters: Parameters) -> Floats:
        """Return ln p(x), broadcast with the parameters; NaN for missing numbers."""

    @staticmethod
    def possible(x: Floats) -> Bools:
        """Return a mask of the numbers that can occur; the others are ignored like unseen values."""
        return np.ones(x.shape, dtype=bool)

    @staticmethod
    def counted(x: Floats) -> Floats:
        """Return the transformed numbers that enter the moments."""
        return x

    @classmethod
    def estimate(cls, names: Sequence[str], tally: Tally, settings: Settings) -> Self:
        """Estimate the parameters from the moments of each class."""
        moments = tally.moments_of(names)
        together = moments.pooled()
        of_class = moments.n.astype(np.float64), moments.mean(), moments.squared_deviations()
        parts = Without(*of_class, together.mean()[0], together.squared_deviations()[0])
        return cls(tuple(names), cls.believe(parts, tally.class_counts > 0, settings))

    @cached_property
    def used(self) -> list[str]:
        """Return the columns that vary, with a number in every class that occurs."""
        return [name for name, used in zip(self.names, self.belief.used, strict=True) if used]

    def parameters(self, name: str) -> dict[str, Floats]:
        """Return the parameters of one column by class."""
        j = self.names.index(name)
        return {key: np.ascontiguousarray(part[:, j]) for key, part in self.belief.parameters.items()}

    def scores(self, name: str, cells: Array) -> Floats:
        """Return ln p(x | class): 0 for a missing number, NaN for one too large to be squared."""
        x = np.asarray(cells, dtype=np.float64)
        if name not in self.used:
            return np.zeros((len(x), len(next(iter(self.belief.parameters.values())))))
        log_p = self.log_density(x[:, None], self._of[name])
        if self.powers is not None:
            log_p = log_p * self.powers[name]
        log_p[np.isnan(x) | ~self.possible(x)] = 0.0
        log_p[np.abs(x) > LARGEST] = np.nan
        return log_p

    def unseen(self, name: str, block: Block) -> Bools:
        """Return a mask of numbers that cannot occur."""
        x = block.floats[name]
        return ~np.isnan(x) & ~self.possible(x)

    @cached_property
    def _of(self) -> Mapping[str, Parameters]:
        return {name: self.parameters(name) for name in self.names}

    def one_cell(self, name: str, refuse_unseen: bool) -> Callable[[Any], Row]:
        """Return a scorer of one cell."""
        used = name in self.used

        def score(cell: Any) -> Row:
            x = number(cell)
            if x is None or not used:
                return ()
            if refuse_unseen and not self.possible(np.array(x)):
                raise NotFastPath
            return tuple(self.scores(name, np.array([x]))[0].tolist())

        return score

    def refuse_unseen(self, block: Block) -> None:
        """Raise an error for numbers that cannot occur."""
        for name in self.used:
            rows = np.flatnonzero(self.unseen(name, block))
            if len(rows):
                raise UnknownValue(
                    f"column {name!r} has {block.floats[name][rows[0]]:g} in row {block.start + rows[0]}, which "
                    f'{self.refusal}. Pass unseen="ignore" to leave the column out for such rows.'
                )

    def figures(self, name: str, tally: Tally) -> dict[str, Floats]:
        """Return what the table shows of each class beside its count."""
        return self.parameters(name)

    def table(self, name: str, tally: Tally) -> Table:
        """Return the count of each class and the figures of its distribution."""
        count = tally.moments_of([name]).n[:, 0].tolist()
        return by_class(tally, {"count": count, **{k: v.tolist() for k, v in self.figures(name, tally).items()}})

    def n_parameters(self) -> int:
        """Return the number of parameters of all classes and used columns."""
        return self.n_free * len(next(iter(self.belief.parameters.values()))) * len(self.used)

    def powered(self, powers: Mapping[str, float]) -> Self:
        """Multiply log densities by the exponents."""
        return replace(self, powers=powers)

    def left_out(self, tally: Tally, settings: Settings) -> LeftOutColumns:
        """Return the columns, estimated from the moments without each row."""
        return LeftOutMoments(self, tally.moments_of(self.names), tally.class_counts > 0, settings)


@dataclass(frozen=True, eq=False)
class LeftOutMoments(LeftOutColumns):
    """Moment columns without one row, in double-double."""

    columns: MomentColumns
    moments: Moments
    occurs: Bools
    settings: Settings

    def add_scores(self, leaving: Leaving, scores: Floats, n_threads: int) -> None:
        """Add the scores of batches of rows."""
        moments, counted = self.moments, self.columns.counted
        for rows, x in numbers_in_steps(leaving, leaving.rows, self.columns.names, moments, counted):
            impossible = np.argwhere(~np.isnan(x) & ~self.columns.possible(x))
            for i, j in impossible:
                raise leaving.refuse(int(rows[i]), self.columns.names[j])
            scores[rows] += self._terms(x, leaving.labels[rows], leaving.unit[rows]).sum(axis=-1)

    def terms(self, leaving: Leaving) -> Mapping[str, Floats]:
        """Return the terms of the used columns."""
        terms = {name: np.zeros((leaving.block.n_rows, len(leaving.classes))) for name in self.columns.used}
        for rows, x in numbers_in_steps(leaving, leaving.rows, self.columns.names):
            of_rows = self._terms(x, leaving.labels[rows], leaving.unit[rows])
            for name, term in terms.items():
                term[rows] = of_rows[:, :, self.columns.names.index(name)]
        return terms

    def _terms(self, x: Floats, labels: Array, unit: Floats) -> Floats:
        """Return ln p'(x | class), (n_rows, n_classes, n_columns); 0 for missing and unused cells."""
        occurs = np.repeat(self.occurs[None], len(x), axis=0)
        belief = self.columns.believe(
            without(self.moments, self.columns.counted(x), labels, unit), occurs, self.settings
        )
        log_p = self.columns.log_density(x[:, None, :], belief.parameters)
        unused = np.isnan(x) | ~belief.used
        return np.where(unused[:, None, :], 0.0, log_p)

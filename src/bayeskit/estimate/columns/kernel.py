"""Columns of numbers with a kernel density in each class (`estimate/kernel_density.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayeskit import logspace
from bayeskit.data.cells import raise_unusable
from bayeskit.estimate.columns.column import Columns, Leaving, LeftOutColumns, Settings, by_class
from bayeskit.estimate.kernel_density import Bells, KernelDensity, kernel_density
from bayeskit.estimate.sampling import nulls_for_nan
from bayeskit.estimate.variance import as_variance_floor
from bayeskit.tables import Table
from bayeskit.tally.plan import Request
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import GONE
from bayeskit.typing import Array, Bools, Floats


@dataclass(frozen=True, eq=False)
class KernelColumns(Columns):
    """Kernel density estimates of each column."""

    kind = "kernel"
    statistic = "distinct"
    names: tuple[str, ...]
    densities: Mapping[str, KernelDensity]
    powers: Mapping[str, float] | None = None  # exponents of the used columns

    @classmethod
    def request(cls, names: Sequence[str], settings: Settings) -> Request:
        """Return the request for distinct numbers, with the limit on how many are kept."""
        return Request(cls.statistic, tuple(names), {"max_values": int(settings.max_values)})

    @classmethod
    def estimate(cls, names: Sequence[str], tally: Tally, settings: Settings) -> Self:
        """Estimate densities with Silverman's bandwidths, none below the floor."""
        floor = as_variance_floor(settings.variance_floor)
        return cls(
            tuple(names), {n: kernel_density(tally.values[n], tally.class_counts, floor=floor) for n in names}
        )  # fmt: skip

    @cached_property
    def used(self) -> list[str]:
        """Return the columns that vary, with a number in every class."""
        return [name for name, density in self.densities.items() if density.used]

    def scores(self, name: str, cells: Array) -> Floats:
        """Return the log density."""
        log_p = self.densities[name].scores(np.asarray(cells, dtype=np.float64))
        return log_p if self.powers is None else logspace.power(log_p, self.powers.get(name, 1.0))

    def points(self, name: str, n: int) -> Floats:
        """Return the numbers of equal parts of the probability."""
        return self.densities[name].equally_probable(n)

    def table(self, name: str, tally: Tally) -> Table:
        """Return the count, the distinct numbers and the bandwidth of each class."""
        density = self.densities[name]
        counts = density.values.counts
        sizes = {"count": counts.sum(axis=1).tolist(), "distinct": (counts > 0).sum(axis=1).tolist()}
        return by_class(tally, {**sizes, "bandwidth": density.bandwidths.tolist()})

    def sample(self, name: str, labels: Array, rng: np.random.Generator) -> Any:
        """Draw observed numbers with Gaussian noise of the bandwidth."""
        return nulls_for_nan(self.densities[name].draw(labels, rng))

    def n_parameters(self) -> int:
        """Return the number of distinct values in all classes."""
        bells = (bells for density in self.densities.values() for bells in density.classes)
        return sum(0 if one is None else len(one.points) for one in bells)

    def powered(self, powers: Mapping[str, float]) -> Self:
        """Multiply log densities by the exponents."""
        return replace(self, powers=powers)

    def holding(self, all_rows: Self, classes: Array) -> Self:
        """Keep the bandwidths of all rows."""
        return replace(self, densities={n: density.restrict(classes) for n, density in all_rows.densities.items()})

    def left_out(self, tally: Tally, settings: Settings) -> LeftOutColumns:
        """Return the densities without each row; bandwidths stay fixed."""
        return LeftOutKernels({name: self.densities[name] for name in self.used})


@dataclass(frozen=True, eq=False)
class LeftOutKernels(LeftOutColumns):
    """Kernel densities without one row, with fixed bandwidths."""

    densities: Mapping[str, KernelDensity]
    _tables: dict[Bells, Floats] = field(default_factory=dict)  # of single rows removed from each point of a class

    def row_terms(self, leaving: Leaving) -> Iterator[tuple[str, Floats]]:
        """Yield each used column with ln p'(x | class) of the rows that stay."""
        rows, floats = leaving.rows, {name: leaving.block.floats[name] for name in self.densities}
        raise_unusable(floats, leaving.block.start)
        labels, unit = leaving.labels[rows], leaving.unit[rows]
        for name, density in self.densities.items():
            x = floats[name][rows]
            lacks = _lacks(density, x, labels, unit)
            if lacks.any():
                raise leaving.refuse(int(rows[np.argmax(lacks)]), name)
            yield name, self._scores(density, x, labels, unit)

    def _scores(self, density: KernelDensity, x: Floats, labels: Array, unit: Floats) -> Floats:
        """Return ln p'(x | class), (n_rows, n_classes); zero for all classes if the own one has no other value."""
        scores = density.scores(x)
        at, n = density.values.read(x), density.values.counts.sum(axis=1)
        present = ~np.isnan(x)
        for c, bells in enumerate(density.classes):
            rows = np.flatnonzero(present & (labels == c) if n[c] > 0 else present)  # without rows: all together
            if bells is not None and len(rows):
                scores[rows, c] = self._without(bells, at[rows], unit[rows])
        scores[present & (n[labels] - unit <= GONE * n[labels])] = 0.0
        return scores

    def _without(self, bells: Bells, x: Floats, unit: Floats) -> Floats:
        if not (unit == 1).all() or len(x) < len(bells.points):
            return bells.left_out(x, unit)
        if bells not in self._tables:
            self._tables[bells] = bells.left_out(bells.points, np.ones(len(bells.points)))
        return self._tables[bells][np.searchsorted(bells.points, x)]


def _lacks(density: KernelDensity, x: Floats, labels: Array, unit: Floats) -> Bools:
    """Return a mask (n_rows,) of numbers that were not counted so often in their class."""
    values = density.values
    at = values.read(x)
    slot = np.minimum(np.searchsorted(values.points, at), max(len(values.points) - 1, 0))
    if not len(values.points):
        return ~np.isnan(x)
    counted = values.counts[labels, slot] * (values.points[slot] == at)
    return ~np.isnan(x) & (counted < unit * (1 - GONE))

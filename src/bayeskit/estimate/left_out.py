"""What moments, and the Gaussians of them, would be without one row: closed forms of refitting.

Formula: what the estimates are without one row
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bayeskit import logspace
from bayeskit.data.numbers import raise_unusable
from bayeskit.estimate.columns.column import Leaving
from bayeskit.estimate.variance import VarianceFloor, VarianceRule, log_peak, shared_variance
from bayeskit.tally import double_double as dd
from bayeskit.tally.moments import Moments
from bayeskit.tolerance import LEAST_REST, NOISE
from bayeskit.typing import Array, Bools, Floats

CELLS = 1 << 20  # rows × classes × columns of the exact path at a time
FAR = 1e5  # standard deviations from zero: beyond, only double-double knows the mean without a row


@dataclass(frozen=True)
class ClosedGaussian:
    """Gaussians with a variance of their own, and what the own class of a row is without it (classes, columns).

    With d = x − mean, n and M = Σ(x − mean)² of the own class, and ddof δ, without x

        mean' = mean − d / (n − 1)        x − mean' = d n / (n − 1)
        M'    = M − d² n / (n − 1)        = M (1 − rate · d²) = M · rest
        σ²'   = M' / (n − 1 − δ)          = σ² · growth · rest,   growth = (n − δ) / (n − 1 − δ)

        ln p'(x) = own_constant − own_precision d² / (2 rest) − ln(rest) / 2

    as `kernels.score_gaussian_left_out` computes it.
    """

    mean: Floats
    precision: Floats
    constant: Floats
    rate: Floats
    own_precision: Floats
    own_constant: Floats

    @property
    def parts(self) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
        """All six, in the order of the kernel."""
        return self.mean, self.precision, self.constant, self.rate, self.own_precision, self.own_constant


@dataclass(frozen=True)
class LeftOutGaussians:
    """Measured columns of one variance rule without one of their rows."""

    moments: Moments
    class_counts: Floats
    rule: VarianceRule
    ddof: int
    floor: VarianceFloor

    def columns(self, index: Any) -> LeftOutGaussians:
        """The same for some of the columns."""
        return self if len(index) == self.moments.shape[1] else replace(self, moments=self.moments.columns(index))

    @cached_property
    def mean(self) -> Floats:
        """Of each class (classes, columns)."""
        return self.moments.mean()

    @cached_property
    def _squares(self) -> Floats:
        """Σ(x − mean)² of each class, and of all values together (classes + 1, columns)."""
        return self.moments.with_total().squared_deviations()

    @property
    def squares(self) -> Floats:
        """Σ(x − mean)² of each class (classes, columns)."""
        return self._squares[:-1]

    @property
    def total_squares(self) -> Floats:
        """Σ(x − mean)² of all values together (columns,)."""
        return self._squares[-1]

    def closed(self) -> Bools:
        """Columns of which the closed form is exact for all rows but those with too little rest (columns,).

        Every class has a variance of its own, well above the floor whichever row leaves; a class that would not have
        one without one of its values (fewer than four of them) has no rate.
        """
        n = self.moments.n
        if self.rule != "class_feature" or n.dtype.kind == "f":
            return np.zeros(n.shape[1], dtype=bool)
        mean, squares, total = self.mean, self.squares, self.total_squares
        with np.errstate(invalid="ignore", divide="ignore"):
            above = (squares / n > 10 / LEAST_REST * NOISE * total / n.sum(axis=0)) & (self.floored_rest < 0.5)
            near = np.abs(mean) < FAR * np.sqrt(squares / n)
        fit: Bools = ((n >= 2) & above & near).all(axis=0)
        return fit

    @cached_property
    def floored_rest(self) -> Floats:
        """What must be left of the spread of each class for the floor not to touch it, whichever row leaves."""
        n, squares = self.moments.n, self.squares
        highest = highest_floor(n, squares, self.total_squares, self.ddof, self.floor)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # beyond all numbers is never left
            return 2 * highest * (n - self.ddof) / squares

    def closed_form(self) -> ClosedGaussian:
        """The parameters of columns that are :meth:`closed`."""
        n, mean, squares = (
            np.ascontiguousarray(a, dtype=np.float64) for a in (self.moments.n, self.mean, self.squares)
        )
        variance = squares / (n - self.ddof)
        n = np.where(n < 4, np.nan, n)
        own_variance = variance * (n - self.ddof) / (n - 1 - self.ddof)
        return ClosedGaussian(
            mean,
            1 / variance,
            log_peak(variance),
            n / ((n - 1) * squares),
            (n / (n - 1)) ** 2 / own_variance,
            log_peak(own_variance),
        )

    def scores(self, x: Floats, labels: Array, unit: Floats) -> Floats:
        """ln p'(x | class) summed over the columns (rows, classes), the row itself taken from its class."""
        return self.terms(x, labels, unit).sum(axis=-1)

    def terms(self, x: Floats, labels: Array, unit: Floats) -> Floats:
        """ln p'(x | class) of each column (rows, classes, columns); 0 where the cell is missing."""
        n, mean, squares, total_mean, total = without(self.moments, x, labels, unit)
        mean = np.where(n > 0, mean, total_mean[:, None, :])  # as in `gaussian`, for a class that no row shows
        occurs = np.repeat((self.class_counts > 0)[None], len(x), axis=0)
        variance, _ = shared_variance(n, squares, total, occurs, self.rule, self.ddof, self.floor)
        with np.errstate(invalid="ignore", over="ignore"):
            terms = -0.5 * ((x[:, None, :] - mean) ** 2 / variance + logspace.log(2 * np.pi * variance))
        return np.nan_to_num(terms, nan=0.0, neginf=-np.inf)


class Without(NamedTuple):
    """Moments by row: those of its class lack the row itself. Of classes (rows, classes, columns), then of all values
    together (rows, columns)."""

    n: Floats
    mean: Floats  # NaN where there is no value
    squares: Floats  # Σ(x − mean)²
    total_mean: Floats
    total_squares: Floats


def without(moments: Moments, x: Floats, labels: Array, unit: Floats) -> Without:
    """The moments without each of these rows (rows, columns) in turn, in double-double."""
    cells = _cells(x, unit)
    left = moments.take(labels) - cells
    together = moments.pooled().take(np.zeros(len(x), dtype=np.int64)) - cells
    in_class = (np.arange(len(x)), labels)
    n, mean, squares = (
        np.repeat(part[None], len(x), axis=0)
        for part in (moments.n.astype(np.float64), moments.mean(), moments.squared_deviations())
    )
    n[in_class], mean[in_class], squares[in_class] = left.n, left.mean(), left.squared_deviations()
    return Without(n, mean, squares, together.mean(), together.squared_deviations())


def numbers_in_steps(
    leaving: Leaving,
    rows: Array,
    names: Sequence[str],
    learnt: Moments | None = None,
    counted: Callable[[Floats], Floats] = np.asarray,
) -> Iterator[tuple[Array, Floats]]:
    """Some rows at a time with their numbers (rows, columns); what cannot have been learnt is refused.

    ``counted`` is what of a number went into the moments ``learnt``.
    """
    floats = {name: leaving.block.floats[name] for name in names}
    if learnt is not None:
        raise_unusable(floats, leaving.block.start)
    step = max(1, CELLS // (len(leaving.classes) * len(names)))
    for some in np.split(rows, range(step, len(rows), step)):
        x = np.column_stack([column[some] for column in floats.values()])
        if learnt is not None:
            lacks = learnt.take(leaving.labels[some]).lacks(_cells(counted(x), leaving.unit[some]))
            if lacks.any():
                i, j = np.argwhere(lacks)[0]
                raise leaving.refuse(int(some[i]), names[j])
        yield some, x


def highest_floor(n: Array, squares: Floats, total: Floats, ddof: int, floor: VarianceFloor) -> Floats:
    """A bound of the floor of each column without any one row: no sum is larger then, and its freedom is one less.

    ``n`` and ``squares`` are of classes (classes, columns), ``total`` the squares of all values together (columns,).
    """
    freedom, rows = (n - ddof).sum(axis=0), n.sum(axis=0) - ddof
    with np.errstate(invalid="ignore", divide="ignore"):
        highest = floor.least(squares.sum(axis=0) / (freedom - 1), total / (rows - 1))
    return np.where((freedom > 1) & (rows > 1), highest, np.inf)


def _cells(x: Floats, unit: Floats) -> Moments:
    """The moments of one value each, with the weight of its row: (rows, columns); nothing where it is missing."""
    whole = bool((unit == 1).all())
    present = ~np.isnan(x)
    x, unit = np.where(present, x, 0.0), np.where(present, unit[:, None], 0.0)
    zero = np.zeros_like(x)
    weighted = dd.multiply((unit, zero), (x, zero))
    n = unit.astype(np.int64) if whole else unit  # whole counts keep all digits of a difference
    return Moments(n, *weighted, *dd.multiply(weighted, (x, zero)), zero)

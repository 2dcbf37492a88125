"""Compute exact leave-one-out estimates of coded, numeric and jointly normal columns, in closed form.

Formula: what the estimates are without one row
Formula: P(value ∣ class) without one row
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.cells import raise_unusable
from bayeskit.errors import NotLearned
from bayeskit.estimate.columns.column import Leaving, not_learned
from bayeskit.estimate.covariance import CovarianceRule, Normal, covariances
from bayeskit.estimate.prior import log_prior_without
from bayeskit.estimate.smoothing import UNSEEN, Automatic, Lidstone, MEstimate, Smoothing, smoothed
from bayeskit.estimate.variance import VarianceFloor, VarianceRule, log_peak, shared_variance
from bayeskit.tally import double_double as dd
from bayeskit.tally.moments import Moments, pairs, products_of_rows
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import GONE, LEAST_REST, NOISE, SINGULAR
from bayeskit.typing import Array, Bools, Floats

if TYPE_CHECKING:
    from bayeskit.estimate.columns.coded import ValueTable

CELLS = 1 << 20  # rows × classes × columns of the exact path at a time
# In standard deviations from zero: beyond, the mean without a row needs double-double.
FAR = 1e5


@dataclass(frozen=True)
class LeftOutGaussians:
    """Numeric columns of one variance rule, with leave-one-out scores."""

    names: tuple[str, ...]
    moments: Moments
    class_counts: Floats
    rule: VarianceRule
    ddof: int
    floor: VarianceFloor

    def split(self) -> list[LeftOutGaussians]:
        """Return the columns with a closed form and those without one."""
        if self.closed.all() or not self.closed.any():
            return [self]
        names = np.array(self.names, dtype=object)
        parts = ((tuple(names[part]), np.flatnonzero(part)) for part in (self.closed, ~self.closed))
        return [replace(self, names=some, moments=self.moments.columns(index)) for some, index in parts]

    @cached_property
    def mean(self) -> Floats:
        """Return the mean of each class, shape (n_classes, n_columns)."""
        return self.moments.mean()

    @cached_property
    def _squares(self) -> Floats:
        """Return Σ(x − mean)² of each class and of all values together, shape (n_classes + 1, n_columns)."""
        return self.moments.with_total().squared_deviations()

    @cached_property
    def closed(self) -> Bools:
        """Return a mask, shape (n_columns,), of columns with an exact closed form for all rows with enough remaining
        variance.

        Every class has its own variance, well above the floor whichever row is left out; a class with fewer than four
        values has no rate.
        """
        n = self.moments.n
        if self.rule != "class_feature" or n.dtype.kind == "f":
            return np.zeros(n.shape[1], dtype=bool)
        mean, squares, total = self.mean, self._squares[:-1], self._squares[-1]
        with np.errstate(invalid="ignore", divide="ignore"):
            above = (squares / n > 10 / LEAST_REST * NOISE * total / n.sum(axis=0)) & (self.floored_rest < 0.5)
            near = np.abs(mean) < FAR * np.sqrt(squares / n)
        return np.asarray(((n >= 2) & above & near).all(axis=0))

    @cached_property
    def floored_rest(self) -> Floats:
        """Return the share of each class's sum of squares that must remain for the floor not to apply."""
        n, squares = self.moments.n, self._squares[:-1]
        highest = highest_floor(n, squares, self._squares[-1], self.ddof, self.floor)
        # overflow means that the floor always applies
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return 2 * highest * (n - self.ddof) / squares

    @cached_property
    def closed_form(self) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats] | None:
        """Return the mean, precision and constant of each class, and the rate, own precision and own constant.

        All have the shape (n_classes, n_columns). With d = x − mean, n and M = Σ(x − mean)² of the own class of a row,
        and ddof δ, without x

            mean' = mean − d / (n − 1)        x − mean' = d n / (n − 1)
            M'    = M − d² n / (n − 1)        = M (1 − rate · d²) = M · rest
            σ²'   = M' / (n − 1 − δ)          = σ² · growth · rest,   growth = (n − δ) / (n − 1 − δ)

            ln p'(x) = own_constant − own_precision d² / (2 rest) − ln(rest) / 2

        as `kernels.score_gaussian_left_out` computes it; None where some column has no such form.
        """
        if not self.closed.all():
            return None
        parts = (self.moments.n, self.mean, self._squares[:-1])
        n, mean, squares = (np.ascontiguousarray(a, dtype=np.float64) for a in parts)
        variance = squares / (n - self.ddof)
        n = np.where(n < 4, np.nan, n)
        own_variance = variance * (n - self.ddof) / (n - 1 - self.ddof)
        with np.errstate(over="ignore"):
            own = n / ((n - 1) * squares), (n / (n - 1)) ** 2 / own_variance, log_peak(own_variance)
            precision = 1 / variance
        if np.isinf(precision).any():  # of numbers around 1e-160
            return None
        return mean, precision, log_peak(variance), *own

    def terms(self, x: Floats, labels: Array, unit: Floats) -> Floats:
        """Return ln p'(x | class) of each column without the row itself, (n_rows, n_classes, n_columns); 0 for missing
        cells."""
        n, mean, squares, total_mean, total = without(self.moments, x, labels, unit)
        mean = np.where(n > 0, mean, total_mean[:, None, :])  # as in `gaussian`, for a class without rows
        occurs = np.repeat((self.class_counts > 0)[None], len(x), axis=0)
        variance, _ = shared_variance(n, squares, total, occurs, self.rule, self.ddof, self.floor)
        with np.errstate(invalid="ignore", over="ignore"):
            terms = -0.5 * ((x[:, None, :] - mean) ** 2 / variance + logspace.log(2 * np.pi * variance))
        return np.nan_to_num(terms, nan=0.0, neginf=-np.inf)


class Without(NamedTuple):
    """Moments by row, without the row itself: of classes (n_rows, n_classes, n_columns), then of all values together
    (n_rows, n_columns)."""

    n: Floats
    mean: Floats  # NaN without values
    squares: Floats  # Σ(x − mean)²
    total_mean: Floats
    total_squares: Floats


def without(moments: Moments, x: Floats, labels: Array, unit: Floats) -> Without:
    """Return the moments without each of these rows, shape (n_rows, n_columns), in double-double."""
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
    learned: Moments | None = None,
    counted: Callable[[Floats], Floats] = np.asarray,
) -> Iterator[tuple[Array, Floats]]:
    """Yield batches of rows with their numbers, shape (n_rows, n_columns); raise an error for rows never learned.

    ``counted`` returns the part of a number that enters the moments ``learned``.
    """
    floats = {name: leaving.block.floats[name] for name in names}
    if learned is not None:
        raise_unusable(floats, leaving.block.start)
    step = max(1, CELLS // (len(leaving.classes) * len(names)))
    for some in np.split(rows, range(step, len(rows), step)):
        x = np.column_stack([column[some] for column in floats.values()])
        if learned is not None:
            lacks = learned.take(leaving.labels[some]).lacks(_cells(counted(x), leaving.unit[some]))
            if lacks.any():
                i, j = np.argwhere(lacks)[0]
                raise leaving.refuse(int(some[i]), names[j])
        yield some, x


def terms_by_column(leaving: Leaving, parts: Iterable[Any], used: Sequence[str]) -> dict[str, Floats]:
    """Return ln P'(x | class) of the used columns, (n_rows, n_classes), from pairs of names
    and a function of (numbers, labels, weights) that returns the terms of rows, (n_rows, n_classes, n_columns)."""
    terms = {name: np.zeros((leaving.block.n_rows, len(leaving.classes))) for name in used}
    for names, terms_of in parts:
        for rows, x in numbers_in_steps(leaving, leaving.rows, names):
            of_part = terms_of(x, leaving.labels[rows], leaving.unit[rows])
            for j, name in enumerate(names):
                if name in terms:
                    terms[name][rows] = of_part[:, :, j]
    return terms


def highest_floor(n: Array, squares: Floats, total: Floats, ddof: int, floor: VarianceFloor) -> Floats:
    """Return an upper bound of the floor of each column without any one row.

    ``n`` and ``squares`` are of classes (n_classes, n_columns), ``total`` the squares of all values together
    (n_columns,).
    """
    freedom, rows = (n - ddof).sum(axis=0), n.sum(axis=0) - ddof
    with np.errstate(invalid="ignore", divide="ignore"):
        highest = floor.least(squares.sum(axis=0) / (freedom - 1), total / (rows - 1))
    return np.where((freedom > 1) & (rows > 1), highest, np.inf)


def _cells(x: Floats, unit: Floats) -> Moments:
    """Return the moments of single values with the weights of their rows, shape (n_rows, n_columns); zero for missing
    cells."""
    whole = bool((unit == 1).all())
    present = ~np.isnan(x)
    x, unit = np.where(present, x, 0.0), np.where(present, unit[:, None], 0.0)
    zero = np.zeros_like(x)
    weighted = dd.multiply((unit, zero), (x, zero))
    n = unit.astype(np.int64) if whole else unit  # integer counts keep differences exact
    return Moments(n, *weighted, *dd.multiply(weighted, (x, zero)), zero)


@dataclass(frozen=True, eq=False)
class LeftOutValue:
    """State of a coded column during leave-one-out."""

    table: ValueTable
    counts: Array  # shape (n_classes, n_slots − 1)
    smoothing: Smoothing
    declared: bool  # declared values stay when their rows are left out

    @property
    def marginal_m(self) -> float | None:
        """Return m if pseudo-counts depend on the counts of the values, else None."""
        smoothing = self.smoothing
        return smoothing.m if isinstance(smoothing, MEstimate) and smoothing.prior == "marginal" else None

    def pseudo_without(self, slot: int) -> Floats:
        """Return pseudo-counts of the other slots after a value has vanished."""
        smoothing: Any = self.smoothing
        if isinstance(smoothing, Automatic):
            smoothing = Lidstone(float(np.nan_to_num(np.nanmax(self.table.pseudo, initial=0.0))))
        keep = ~np.isnan(self.table.pseudo)
        keep[slot] = False
        names = [n for n, k in zip((None, *self.table.values, UNSEEN), keep, strict=True) if k]
        counts = np.append(self.counts, np.zeros((len(self.counts), 1)), axis=1)
        return np.asarray(smoothing.pseudo_counts(names, counts[:, keep]))


class LeftOutValues:
    """Coded columns, each without one of its cells. Their slots, as in :class:`ValueTable`, are concatenated; those of
    a column begin at its entry in ``starts``."""

    def __init__(self, columns: Sequence[LeftOutValue]) -> None:
        self.columns = columns
        widths = [len(column.table.pseudo) for column in columns]
        self.starts = np.cumsum([0, *widths])
        ends = self.starts[1:] - 1
        self.learned = np.zeros((self.starts[-1], len(columns[0].counts)))  # counts, shape (n_slots, n_classes)
        self.learned[np.delete(np.arange(self.starts[-1]), ends)] = np.concatenate(
            [c.counts for c in columns], axis=1
        ).T
        pseudo = np.concatenate([column.table.pseudo for column in columns])
        self.absent = np.isnan(pseudo)  # unused slots
        self.pseudo = np.where(self.absent, 0.0, pseudo)
        self.counts = np.where(self.absent[:, None], 0.0, self.learned)
        self.sums = np.repeat(np.add.reduceat(self.counts, self.starts[:-1]), widths, axis=0)
        self.total = np.repeat(np.add.reduceat(self.pseudo, self.starts[:-1]), widths)
        self.of_value = self.counts.sum(axis=1)
        self.unseen_is_absent = np.repeat(self.absent[ends], widths)
        self.unused = np.repeat([not column.table.used for column in columns], widths)
        self.may_go = ~self.absent & np.repeat([not column.declared for column in columns], widths)
        self.may_go[self.starts[:-1]] = ~self.absent[self.starts[:-1]]  # a missing cell is not a declared value
        self.may_go[ends] = False  # no row has the slot of unseen values

    def lacks(self, slots: Array, labels: Array, unit: Floats) -> Bools:
        """Return a mask of cells that cannot have been learned: their count in the class is too small."""
        return np.asarray(self.learned[slots, labels] < unit * (1 - GONE))

    def scores(self, slots: Array, labels: Array, unit: Floats) -> tuple[Floats, Floats]:
        """Return ln P' in all classes but the own, shape (n_cells, n_classes), and ln P' in the own class, shape
        (n_cells,).

        Cells of a column that is unused without them are 0.
        """
        pseudo, total, gone, omitted = self._without(slots, unit)
        counts = np.where(gone[:, None], 0.0, self.counts[slots])
        rows = np.arange(len(slots))
        own_count, own_sum = _less(counts[rows, labels], self.sums[slots, labels], unit)
        others = smoothed(counts, self.sums[slots], pseudo[:, None], total[:, None])
        of_own_class = smoothed(own_count, own_sum, pseudo, total)
        omitted |= own_sum + total <= 0
        return np.where(omitted[:, None], 0.0, _log(others)), np.where(omitted, 0.0, _log(of_own_class))

    def tables(self) -> list[Floats]:
        """Return ln P' of all slots without a whole row of each class, shape (n_labels, n_slots, n_classes) per column.
        NaN in the own class if it has no row with the value."""
        pseudo, total, gone, omitted = self._without(np.arange(len(self.pseudo)), np.ones(len(self.pseudo)))
        pseudo, total, gone, omitted = pseudo[:, None], total[:, None], gone[:, None], omitted[:, None]
        counts = np.where(gone, 0.0, self.counts)
        own_count, own_sum = _less(counts, self.sums, 1.0)
        log_own = np.where(self.learned < 1 - GONE, np.nan, _log(smoothed(own_count, own_sum, pseudo, total)))
        each, no_evidence = np.arange(counts.shape[1]), omitted | (own_sum + total <= 0)
        tables = np.tile(_log(smoothed(counts, self.sums, pseudo, total)), (len(each), 1, 1))
        tables[no_evidence.T] = 0.0
        tables[each, :, each] = np.where(no_evidence & ~np.isnan(log_own), 0.0, log_own).T
        return [np.ascontiguousarray(part) for part in np.split(tables, self.starts[1:-1], axis=1)]

    def _without(self, slots: Array, unit: Floats) -> tuple[Floats, Floats, Bools, Bools]:
        """Return the pseudo-count of the cell's value, their total, a mask of vanished values and a mask of unused
        slots, without the cell."""
        of_value, pseudo, total = self.of_value[slots], self.pseudo[slots], self.total[slots]
        gone = self.may_go[slots] & (of_value - unit <= GONE * of_value)
        omitted = self.absent[slots] | self.unused[slots] | (gone & self.unseen_is_absent[slots])
        for column, start, end in zip(self.columns, self.starts, self.starts[1:], strict=False):
            if (m := column.marginal_m) is not None:
                cells = (slots >= start) & (slots < end)
                left = self.sums[start].sum() - unit[cells]
                with np.errstate(invalid="ignore", divide="ignore"):
                    share = np.maximum(of_value[cells] - unit[cells], 0.0) / left
                pseudo[cells] = np.where(left > 0, m * share, 0.0)
        if (returns_to_prior := gone & ~omitted).any():  # unseen="smooth": the other values and the unseen slot
            for slot in np.unique(slots[returns_to_prior]):
                place = int(np.searchsorted(self.starts, slot, side="right")) - 1
                fresh, cells = self.columns[place].pseudo_without(int(slot - self.starts[place])), slots == slot
                pseudo[cells & gone], total[cells & gone] = fresh[-1], fresh.sum()
        return pseudo, total, gone, omitted


def _less(counts: Floats, sums: Floats, unit: Any) -> tuple[Floats, Floats]:
    """Return counts of the own class and their sum without a row, clipped at 0 for cells without rows."""
    left = sums - unit
    return np.maximum(counts - unit, 0.0), np.where(left <= GONE * sums, 0.0, left)


def _log(p: Floats) -> Floats:
    """Return ln p; 0 if there is no distribution."""
    return logspace.log(np.where(np.isnan(p), 1.0, p))


SEVERAL = 2  # rows needed for a class-specific variance


@dataclass(frozen=True, eq=False)
class NormalsLeftOut:
    """Leave-one-out scores of learned, labeled rows, shape (n_rows, n_classes).

    The ``normal`` is estimated from the tally with ``rule``, ``ddof`` and ``floor``, over ``tally.moment_columns``.
    """

    tally: Tally
    normal: Normal
    prior: Any
    rule: CovarianceRule
    ddof: int
    floor: VarianceFloor

    @property
    def products(self) -> Moments:
        """Return the products of all pairs of columns."""
        assert self.tally.products is not None
        return self.tally.products

    def scores(self, block: Block) -> Floats:
        """Return ln P(x, class) of each row under the estimates made without it."""
        if block.labels is None or (block.labels >= len(self.tally.classes)).any():
            raise NotLearned("a row to leave out has a class that was never learned")
        labels = np.asarray(block.labels, dtype=np.int64)
        unit = np.ones(block.n_rows) if block.weights is None else np.minimum(block.weights, 1.0)
        x = np.column_stack([block.floats[name] for name in self.tally.moment_columns])
        raise_unusable({name: block.floats[name] for name in self.tally.moment_columns}, block.start)
        scores = np.empty((block.n_rows, len(self.tally.classes)))
        long = np.ones(block.n_rows, dtype=bool)
        if self._short is not None:
            long = self._short_way(self._short, x, labels, unit, scores)
        rows = np.flatnonzero(long)
        step = max(1, CELLS // (len(self.tally.classes) * x.shape[1] ** 2))
        for some in np.split(rows, range(step, len(rows), step)) if len(rows) else ():
            self._refuse_unlearned(x[some], labels[some], unit[some], block.start + some)
            scores[some] = self._long_way(x[some], labels[some], unit[some])
        for label in np.unique(labels):
            for u in np.unique(unit[labels == label]):
                scores[(labels == label) & (unit == u)] += self.log_prior(int(label), float(u))
        return scores

    def log_prior(self, label: int, unit: float) -> Floats:
        """Return ln P(class) without ``unit`` rows of a class; a class without other rows is impossible."""
        return log_prior_without(self.prior, self.tally.classes, self.tally.class_counts, label, unit)

    @cached_property
    def _short(self) -> _Short | None:
        """Return the constants of the closed form if it applies: complete, regular, not shrunk."""
        spread, counts = self.normal.spread, self.tally.class_counts.astype(np.float64)
        n, moments = self.products.n, self.tally.moments
        plain = self.rule != "diagonal" and not spread.shrinkage.any() and not spread.lifted.any()
        if not plain or not spread.used.all() or not (n == self.tally.class_counts[:, None]).all():
            return None
        squares, total = moments.squared_deviations(), moments.pooled().squared_deviations()[0]
        freedom = counts - self.ddof
        enough = (freedom > 1.5) & (counts >= SEVERAL) if self.rule == "full" else counts > self.ddof + 1
        with np.errstate(invalid="ignore", divide="ignore"):
            above = squares / counts[:, None] > 10 / LEAST_REST * NOISE * total / counts.sum()
            near = np.abs(moments.mean()) < FAR * np.sqrt(squares / counts[:, None])
        if not enough.all() or not above.all() or not near.all():
            return None
        factor = np.asarray(np.linalg.cholesky(spread.correlation), dtype=np.float64)
        smallest = np.linalg.eigvalsh(spread.correlation)[:, 0]
        log_det = logspace.log(np.diagonal(factor, axis1=1, axis2=2) * spread.deviation).sum(axis=1)
        tied = self.rule == "tied"
        together = np.full(len(counts), freedom.sum()) if tied else freedom
        floor = highest_floor(moments.n, squares, total, self.ddof, self.floor)
        least = np.maximum(2 * SINGULAR / smallest, (2 * floor / spread.deviation**2).max(axis=1))
        if not (least < 0.5).all():
            return None
        return _Short(tied, counts, together, factor, log_det, np.maximum(LEAST_REST, least))

    def _short_way(self, short: _Short, x: Floats, labels: Array, unit: Floats, scores: Floats) -> Array:
        """Fill the scores of the rows for which the closed form applies; return the others."""
        spread, mean = self.normal.spread, self.normal.mean
        rows, k = np.arange(len(x)), x.shape[1]
        away = ((x - center) / deviation for center, deviation in zip(mean, spread.deviation, strict=True))
        # whitened, shape (n_classes, n_rows, n_columns)
        z = np.stack([np.linalg.solve(factor, d.T).T for factor, d in zip(short.factor, away, strict=True)])
        q = (z * z).sum(axis=2).T
        n, freedom = short.counts[labels], short.freedom[labels]
        a = unit * n / (n - unit) / freedom  # of Σ
        own_distance = q[rows, labels]
        rest = 1 - a * own_distance
        long: Array = ~(rest > short.least[labels]) | ~(n - unit > SEVERAL) | np.isnan(x).any(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            grown = freedom / (freedom - unit)  # Σ' = grown · (Σ − a d dᵀ)
            half_log = 0.5 * k * logspace.log(grown) + 0.5 * logspace.log(np.where(long, 1.0, rest))
            base = -0.5 * k * logspace.log(2 * np.pi)
            if short.tied:
                across = np.einsum("crk,rk->rc", z, z[labels, rows])
                distance = (q + a[:, None] * across**2 / rest[:, None]) / grown[:, None]
                log_densities = base - short.log_det - half_log[:, None] - 0.5 * distance
            else:
                log_densities = base - short.log_det - 0.5 * q
            lost = (n / (n - unit)) ** 2 * own_distance / rest / grown
            log_densities[rows, labels] = base - short.log_det[labels] - half_log - 0.5 * lost
        scores[~long] = log_densities[~long]
        return long

    def _refuse_unlearned(self, x: Floats, labels: Array, unit: Floats, at: Array) -> None:
        k = x.shape[1]
        cells = products_of_rows(x, unit).columns(np.arange(k) * (k + 1))
        lacks = self.tally.moments.take(labels).lacks(cells)
        if lacks.any():
            i, j = np.argwhere(lacks)[0]
            raise not_learned(at[i], self.tally.moment_columns[j], self.tally.classes[labels[i]])

    def _long_way(self, x: Floats, labels: Array, unit: Floats) -> Floats:
        """Re-estimate the covariances without each row and return the row's density under them."""
        k, at_label = x.shape[1], (np.arange(len(x)), labels)
        cells = products_of_rows(x, unit)
        diagonal = np.arange(k) * (k + 1)
        left = self.products.take(labels) - cells
        together = self.tally.moments.pooled().take(np.zeros(len(x), dtype=np.int64))
        together = together - cells.columns(diagonal)
        total = together.squared_deviations()
        n, spread = pairs(self.products)
        n, spread = (np.repeat(part.astype(np.float64)[None], len(x), axis=0) for part in (n, spread))
        n[at_label], spread[at_label] = pairs(left)
        mean = np.repeat(self.normal.mean[None], len(x), axis=0)
        mean[at_label] = left.columns(diagonal).mean()
        mean = np.where(np.diagonal(n, axis1=-2, axis2=-1) > 0, mean, together.mean()[:, None, :])
        counts = np.repeat(self.tally.class_counts.astype(np.float64)[None], len(x), axis=0)
        counts[at_label] -= unit
        occurs = counts > GONE * self.tally.n_rows
        shrinkage, floor = self.normal.spread.shrinkage, self.floor
        made = covariances(n, spread, total, occurs, rule=self.rule, ddof=self.ddof, shrinkage=shrinkage, floor=floor)
        present = (~np.isnan(x) & made.used)[:, None, :]
        both = present[..., :, None] & present[..., None, :]
        correlation = np.where(both, made.correlation, np.eye(k))
        with np.errstate(invalid="ignore"):
            d = np.where(present, (x[:, None, :] - mean) / made.deviation, 0.0)
        d = np.where(occurs[:, :, None], d, 0.0)
        factor = np.linalg.cholesky(correlation)
        z = np.linalg.solve(factor, d[..., None])[..., 0]
        constant = logspace.log(np.sqrt(2 * np.pi) * np.diagonal(factor, axis1=-2, axis2=-1) * made.deviation)
        return (-0.5 * z * z - np.where(present, constant, 0.0)).sum(axis=-1)


@dataclass(frozen=True)
class _Short:
    """Constants of the closed form for each class: rows, degrees of freedom, factors, determinants, and the share of
    its matrix that must remain without a row to be regular and above the floor."""

    tied: bool
    counts: Floats
    freedom: Floats
    factor: Floats
    log_det: Floats
    least: Floats

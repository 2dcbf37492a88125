"""Subclasses of one class by EM: a mixture of naive Bayes models.

Expected counts make the model of each subclass, and the models share each row among the subclasses, in turns (Dempster,
Laird and Rubin 1977). The start is k-means++: rows far from those already taken (Arthur and Vassilvitskii 2007).

Rows are matrices here, numbers centred and in standard deviations, values as indicators, so that a round is a few
products of matrices whatever the columns are.

Formula: mixtures inside a class
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.estimate.columns.column import Settings
from bayeskit.estimate.columns.gaussian import GaussianColumns
from bayeskit.estimate.sampling import k_means_plus_plus
from bayeskit.estimate.smoothing import as_smoothing
from bayeskit.estimate.variance import Gaussian, VarianceRule, as_variance_floor, shared_variance
from bayeskit.tally.moments import Moments
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import CONVERGED
from bayeskit.typing import Array, Floats

NARROW = 1e-3  # of the variance within the class: no subclass is narrower
SPACED = 1 / (2 * np.pi)  # of the squared gap between numbers: a normal of this variance is 1 / gap high
DENSE = 1 << 22  # rows × values of indicators that are held as they are; more are held as the ones among them


@dataclass(frozen=True)
class Parts:
    """What is believed of subclasses: their log shares, log tables (subclasses, slots), means and variances."""

    log_shares: Floats
    log_tables: Floats
    mean: Floats
    variance: Floats  # NaN where a column says nothing


@dataclass(frozen=True)
class Mixture:
    """Rows shared among subclasses (rows, subclasses), how likely they are then, and what is believed."""

    shares: Floats
    log_likelihood: float
    parts: Parts


@dataclass(frozen=True)
class Cells:
    """Rows as matrices: indicators of slots (rows, slots), the numbers that are there (rows, columns), and weights.

    Slots of a coded column are a missing cell and its values; those that take no part have no pseudo-count.
    """

    settings: Settings
    rule: VarianceRule
    slots: Any
    column_of: Array  # the coded column of each slot
    pseudo: Floats  # (slots,): NaN where a slot takes no part
    numbers: Floats  # 0 where missing
    present: Floats
    gaps: Floats  # the smallest between two numbers of each column, 0 where there are none
    weights: Floats

    @classmethod
    def of(cls, settings: Settings, rule: VarianceRule, block: Block, tally: Tally, gaps: Mapping[str, float]) -> Cells:
        """All rows of a block that was counted; the ``rule`` is for the variances of all columns."""
        weights = np.ones(block.n_rows) if block.weights is None else block.weights
        pseudo, column_of = [], []
        for j, (name, family) in enumerate(tally.families.items()):
            smoothing = as_smoothing(settings._setting_for("smoothing", name, tally.schema))
            first = 0 if settings.missing == "value" and bool(family.missing.any()) else 1
            values = (None, *family.values)[first:]
            added = smoothing.pseudo_counts(values, family.counts[:, first:]) if values else np.zeros(0)
            pseudo.append(np.concatenate([np.full(first, np.nan), added]))
            column_of.append(np.full(len(pseudo[-1]), j))
        floats = list(block.floats.values())
        x = np.column_stack(floats) if floats else np.zeros((block.n_rows, 0))
        present = ~np.isnan(x)
        n = np.maximum(weights @ present, 1.0)
        with np.errstate(over="ignore"):
            x = np.where(present, x - (weights @ np.where(present, x, 0.0)) / n, 0.0)
            spread = np.sqrt(weights @ (x / np.maximum(np.abs(x).max(axis=0, initial=0.0), 1.0)) ** 2 / n)
            spread *= np.maximum(np.abs(x).max(axis=0, initial=0.0), 1.0)
        scale = np.where(spread > 0, spread, 1.0)
        return cls(
            settings,
            rule,
            _indicators(list(block.codes.values()), [len(part) for part in pseudo], block.n_rows),
            np.concatenate([np.zeros(0, dtype=np.int64), *column_of]).astype(np.int64),
            np.concatenate([np.zeros(0), *pseudo]),
            x / scale,
            present.astype(np.float64),
            np.array([gaps.get(name, 0.0) for name in block.floats]) / scale,
            weights,
        )

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return len(self.weights)

    def take(self, rows: Array) -> Cells:
        """These rows alone."""
        return replace(
            self,
            slots=self.slots[rows],
            numbers=self.numbers[rows],
            present=self.present[rows],
            weights=self.weights[rows],
        )

    def mixture(self, k: int, rng: np.random.Generator, restarts: int, rounds: int) -> Mixture:
        """The most likely of some mixtures of ``k`` subclasses, each grown from another start."""
        grown = [self._grown(self._start(k, rng), rounds) for _ in range(restarts if k > 1 else 1)]
        return max(grown, key=lambda mixture: mixture.log_likelihood)

    def log_density(self, parts: Parts) -> Floats:
        """ln p(x) of each row under a mixture, but for the scale of the numbers."""
        return logspace.log_sum_exp(self._log_joint(parts))

    def _grown(self, shares: Floats, rounds: int) -> Mixture:
        before = -np.inf
        for _ in range(rounds):
            parts = self._believed(shares)
            joint = self._log_joint(parts)
            shares, evidence = logspace.normalise(joint)
            likelihood = float(self.weights @ evidence)
            if shares.shape[1] == 1 or likelihood - before <= CONVERGED * abs(likelihood):
                break
            before = likelihood
        return Mixture(shares, likelihood, parts)

    def _believed(self, shares: Floats) -> Parts:
        """The model of the expected counts."""
        parts = (shares * self.weights[:, None]).T
        size = parts.sum(axis=1)
        counts = np.asarray((self.slots.T @ parts.T).T)
        n, sums, squares = parts @ self.present, parts @ self.numbers, parts @ self.numbers**2
        total = n.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(n > 0, sums / n, 0.0)
            middle = np.where(total > 0, sums.sum(axis=0) / total, 0.0)
        squares, all_squares = squares - n * mean**2, squares.sum(axis=0) - total * middle**2
        occurs, floor = np.ones(len(size), dtype=bool), as_variance_floor(self.settings.variance_floor)
        spreads = (np.maximum(squares, 0.0), np.maximum(all_squares, 0.0))
        variance, _ = shared_variance(n, *spreads, occurs, self.rule, self.settings.ddof, floor)
        least = least_variance(spreads[1] / np.maximum(total, 1.0), self.gaps)
        return Parts(logspace.log(size / size.sum()), self._log_tables(counts), mean, np.maximum(variance, least))

    def _log_tables(self, counts: Floats) -> Floats:
        """ln P(value | subclass) of each slot; 0 where it takes no part, or its column has no distribution."""
        pseudo, n_columns = np.nan_to_num(self.pseudo), int(self.column_of.max(initial=-1)) + 1
        counts = np.where(np.isnan(self.pseudo), 0.0, counts) + pseudo
        totals = np.zeros((len(counts), n_columns))
        if n_columns:
            totals = np.add.reduceat(counts, np.searchsorted(self.column_of, np.arange(n_columns)), axis=1)
        empty = np.asarray((totals <= 0).any(axis=0))
        silent = np.isnan(self.pseudo) | empty[self.column_of]
        return np.where(silent, 0.0, logspace.log(counts / np.where(totals > 0, totals, 1.0)[:, self.column_of]))

    def _log_joint(self, parts: Parts) -> Floats:
        """ln P(subclass, x) (rows, subclasses): −½ (x² π − 2 x μπ + μ²π + ln 2πσ²) of numbers with precision π."""
        never = np.isneginf(parts.log_tables)  # whose product with "not this slot" is no number
        joint = parts.log_shares + np.asarray(self.slots @ np.where(never, 0.0, parts.log_tables).T)
        if never.any():
            joint[np.asarray(self.slots @ never.T.astype(np.float64)) > 0] = -np.inf
        if self.numbers.shape[1]:
            precision = np.nan_to_num(1 / parts.variance)
            constant = np.nan_to_num(logspace.log(2 * np.pi * parts.variance)) + parts.mean**2 * precision
            joint += self.numbers @ (parts.mean * precision).T
            joint -= 0.5 * (self.numbers**2 @ precision.T + self.present @ constant.T)
        return np.ascontiguousarray(joint)

    def _start(self, k: int, rng: np.random.Generator) -> Floats:
        """Each row with the nearest of ``k`` rows that are far from each other."""
        n = self.n_rows
        _, nearest = k_means_plus_plus(n, k, self._distances, rng, self.weights)
        shares = np.full((n, k), 0.05 / k)
        shares[np.arange(n), nearest] += 0.95
        shares = shares[:, : int(nearest.max()) + 1]
        return shares / shares.sum(axis=1, keepdims=True)

    def _distances(self, row: int) -> Floats:
        """Squared distance to one row: one for each other value, numbers in standard deviations; gaps are near."""
        spread = np.maximum(self.weights @ self.numbers**2 / self.weights.sum(), 0.0)
        both = self.present * self.present[row]
        apart = both * (self.numbers - self.numbers[row]) ** 2 / np.where(spread > 0, spread, np.inf)
        one = np.asarray(self.slots[[row]].todense() if hasattr(self.slots, "todense") else self.slots[[row]])[0]
        value = one * ~np.isnan(self.pseudo)  # a slot of a missing cell is no value, unless it counts as one
        asked = np.isin(self.column_of, self.column_of[value > 0]) & ~np.isnan(self.pseudo)
        return apart.sum(axis=1) + self.slots @ (asked - value)


def _indicators(codes: list[Array], sizes: list[int], n_rows: int) -> Any:
    """One for the slot of each cell (rows, slots): an array, or a sparse matrix where that would be large."""
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    if n_rows * starts[-1] <= DENSE:
        slots = np.zeros((n_rows, int(starts[-1])))
        for start, column in zip(starts, codes, strict=False):
            slots[np.arange(n_rows), start + column.astype(np.int64)] = 1.0
        return slots
    from scipy.sparse import csr_array

    where = np.column_stack([start + column.astype(np.int64) for start, column in zip(starts, codes, strict=False)])
    pointers = np.arange(n_rows + 1) * len(codes)
    return csr_array((np.ones(where.size), where.ravel(), pointers), shape=(n_rows, int(starts[-1])))


def smallest_gaps(block: Block) -> dict[str, float]:
    """The smallest difference of two numbers of each column that has different ones: 1 for whole numbers."""
    distinct = {name: np.unique(numbers[~np.isnan(numbers)]) for name, numbers in block.floats.items()}
    return {name: float(np.diff(numbers).min()) for name, numbers in distinct.items() if len(numbers) > 1}


def least_variance(of_class: Floats, gaps: Floats) -> Floats:
    """The least variance of a subclass: a share of its class's, and while that is wider, a normal 1 / gap high.

    All of a column of whole numbers may be one of them, and no density says more of a number than that.
    """
    return np.maximum(NARROW * of_class, np.minimum(SPACED * gaps**2, of_class))


def widened(normal: GaussianColumns, of_class: Moments, gaps: Mapping[str, float]) -> GaussianColumns:
    """The same with no variance under the least of its class: moments of the class of each subclass are given."""
    with np.errstate(invalid="ignore", divide="ignore"):
        class_variance = np.nan_to_num(of_class.squared_deviations() / of_class.n, nan=0.0, posinf=0.0)
    least = least_variance(class_variance, np.array([gaps.get(name, 0.0) for name in normal.names]))
    known = normal.gaussian
    wider = Gaussian(known.mean, np.maximum(known.variance, least), known.used)
    return replace(normal, gaussian=wider)


def by_class(tally: Tally, owner: Array, n_classes: int) -> Moments:
    """The moments of the class of each subclass: (subclasses, columns)."""
    totals = [tally.moments.take(np.flatnonzero(owner == c)).pooled() for c in range(n_classes)]
    parts = [totals[c] for c in owner]
    whole = Moments.zeros(len(owner), tally.moments.shape[1], weighted=tally.weighted)
    for i, part in enumerate(parts):
        whole = whole + part.take(np.where(np.arange(len(owner)) == i, 0, -1))
    return whole

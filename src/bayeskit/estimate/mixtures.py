"""Mixtures of naive Bayes models within each class: EM, and the number of parts.

The parts of a class are fitted by EM (Dempster, Laird and Rubin 1977): expected counts give the model of each part, and
the models give the responsibilities of the parts for each row. The start is k-means++ (Arthur and Vassilvitskii 2007).
Rows are matrices here, numbers centered and in standard deviations, values as indicators, so that an iteration is a few
matrix products for any mix of columns.

The number of parts of each class maximizes the log-loss score of held-out rows,

    Σ_r ln P(c_r ∣ x_r).

The likelihood of a class alone, ln p(x ∣ class), is no guide: more parts may describe a class better and separate it
from the others worse. So mixtures of several sizes are fitted to each class on all folds but one and score the rows of
that fold. The sizes are searched class after class, starting at one part each. More parts must gain two nats, and all
of them together more than two standard errors over one part each, which is naive Bayes.

Formula: mixtures inside a class
Formula: the number of parts of each class, by Σ ln P(class ∣ row) of held-out rows
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.estimate.columns.column import Settings
from bayeskit.estimate.columns.moments import GaussianColumns
from bayeskit.estimate.repeats import join_copies, relative_weights
from bayeskit.estimate.sampling import k_means_plus_plus
from bayeskit.estimate.smoothing import as_smoothing
from bayeskit.estimate.variance import Gaussian, VarianceRule, as_variance_floor, shared_variance
from bayeskit.tally.moments import Moments
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import CONVERGED, LEAST_PROBABILITY
from bayeskit.typing import Array, Floats, Ints

NARROW = 1e-3  # of the variance within the class: no subclass is narrower
SPACED = 1 / (2 * np.pi)  # of the squared gap between numbers: a normal of this variance is 1 / gap high
DENSE = 1 << 22  # rows × values of indicators that are held as they are; more are held as the ones among them


@dataclass(frozen=True)
class Parts:
    """Parameters of the subclasses: log shares, log tables (n_subclasses, n_slots), means and variances."""

    log_shares: Floats
    log_tables: Floats
    mean: Floats
    variance: Floats  # NaN for unused columns


@dataclass(frozen=True)
class Mixture:
    """Responsibilities (n_rows, n_subclasses), their log-likelihood, and the parameters."""

    shares: Floats
    log_likelihood: float
    parts: Parts


@dataclass(frozen=True)
class Cells:
    """Rows as matrices: indicators of slots (n_rows, n_slots), present numbers (n_rows, n_columns), and weights.

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
        """Build from the rows of a counted block; ``rule`` is the variance rule of all columns."""
        weights = np.ones(block.n_rows) if block.weights is None else block.weights
        pseudo = []
        for name, family in tally.families.items():
            smoothing = as_smoothing(settings._setting_for("smoothing", name, tally.schema))
            first = 0 if settings.missing == "value" and bool(family.missing.any()) else 1
            values = (None, *family.values)[first:]
            added = smoothing.pseudo_counts(values, family.counts[:, first:]) if values else np.zeros(0)
            pseudo.append(np.concatenate([np.full(first, np.nan), added]))
        floats = list(block.floats.values())
        x = np.column_stack(floats) if floats else np.zeros((block.n_rows, 0))
        present = ~np.isnan(x)
        n = np.maximum(weights @ present, 1.0)
        with np.errstate(over="ignore"):
            x = np.where(present, x - (weights @ np.where(present, x, 0.0)) / n, 0.0)
            spread = np.sqrt(weights @ (x / np.maximum(np.abs(x).max(axis=0, initial=0.0), 1.0)) ** 2 / n)
            spread *= np.maximum(np.abs(x).max(axis=0, initial=0.0), 1.0)
        scale = np.where(spread > 0, spread, 1.0)
        codes, sizes = [block.codes[name] for name in tally.families], [len(part) for part in pseudo]
        slots = _indicators(codes, sizes, block.n_rows), np.repeat(np.arange(len(sizes)), sizes)
        numbers = (
            x / scale,
            present.astype(np.float64),
            np.array([gaps.get(name, 0.0) for name in block.floats]) / scale,
        )
        return cls(settings, rule, *slots, np.concatenate([np.zeros(0), *pseudo]), *numbers, weights)

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self.weights)

    def take(self, rows: Array) -> Cells:
        """Return these rows only."""
        of_rows = ("slots", "numbers", "present", "weights")
        return replace(self, **{name: getattr(self, name)[rows] for name in of_rows})

    def join_copies(self, labels: Array, columns: list[Array]) -> tuple[Ints, Cells]:
        """Return the rows that stand for all, with their copies' weights; ``columns`` are the cells as read.

        Their weights have the same total.
        """
        rows, relative = join_copies(columns, labels, self.weights)
        if len(rows) == self.n_rows:
            return rows, self
        weights = (np.ones(len(rows)) if relative is None else relative) * (self.weights.sum() / len(rows))
        return rows, replace(self.take(rows), weights=weights)

    def relative(self) -> Cells:
        """Return the same rows with weights relative to a mean of one."""
        relative = relative_weights(self.weights)
        return replace(self, weights=np.ones(self.n_rows) if relative is None else relative)

    def shares(self, parts: Parts) -> Floats:
        """Return P(subclass | x) of each row (n_rows, n_subclasses)."""
        return logspace.normalize(self._log_joint(parts))[0]

    def mixture(self, k: int, rng: np.random.Generator, restarts: int, rounds: int) -> Mixture:
        """Fit ``k`` subclasses from several starts and return the most likely mixture."""
        fitted = [self._run_em(self._start(k, rng), rounds) for _ in range(restarts if k > 1 else 1)]
        return max(fitted, key=lambda mixture: mixture.log_likelihood)

    def log_density(self, parts: Parts) -> Floats:
        """Return ln p(x) of each row under a mixture, up to the scale of the numbers."""
        return logspace.log_sum_exp(self._log_joint(parts))

    def _run_em(self, shares: Floats, rounds: int) -> Mixture:
        before = -np.inf
        for _ in range(rounds):
            parts = self._estimate(shares)
            joint = self._log_joint(parts)
            shares, evidence = logspace.normalize(joint)
            likelihood = float(self.weights @ evidence)
            if shares.shape[1] == 1 or likelihood - before <= CONVERGED * abs(likelihood):
                break
            before = likelihood
        return Mixture(shares, likelihood, parts)

    def _estimate(self, shares: Floats) -> Parts:
        """M-step: estimate the parameters from the expected counts."""
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
        """Return ln P(value | subclass) of each slot; 0 for unused slots and columns without a distribution."""
        pseudo, n_columns = np.nan_to_num(self.pseudo), int(self.column_of.max(initial=-1)) + 1
        counts = np.where(np.isnan(self.pseudo), 0.0, counts) + pseudo
        totals = np.zeros((len(counts), n_columns))
        if n_columns:
            totals = np.add.reduceat(counts, np.searchsorted(self.column_of, np.arange(n_columns)), axis=1)
        empty = np.asarray((totals <= 0).any(axis=0))
        silent = np.isnan(self.pseudo) | empty[self.column_of]
        return np.where(silent, 0.0, logspace.log(counts / np.where(totals > 0, totals, 1.0)[:, self.column_of]))

    def _log_joint(self, parts: Parts) -> Floats:
        """Return ln P(subclass, x), (n_rows, n_subclasses): −½ (x² π − 2 x μπ + μ²π + ln 2πσ²) with precision π."""
        never = np.isneginf(parts.log_tables)  # whose product with "not this slot" is not a number
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
        """Assign each row to the nearest of ``k`` rows chosen by k-means++."""
        n = self.n_rows
        _, nearest = k_means_plus_plus(n, k, self._distances, rng, self.weights)
        shares = np.full((n, k), 0.05 / k)
        shares[np.arange(n), nearest] += 0.95
        shares = shares[:, : int(nearest.max()) + 1]
        return shares / shares.sum(axis=1, keepdims=True)

    def _distances(self, row: int) -> Floats:
        """Return squared distances to one row: 1 for each other value, numbers in standard units, 0 for missing."""
        spread = np.maximum(self.weights @ self.numbers**2 / self.weights.sum(), 0.0)
        both = self.present * self.present[row]
        apart = both * (self.numbers - self.numbers[row]) ** 2 / np.where(spread > 0, spread, np.inf)
        one = np.asarray(self.slots[[row]].todense() if hasattr(self.slots, "todense") else self.slots[[row]])[0]
        value = one * ~np.isnan(self.pseudo)  # a slot of a missing cell is not a value, unless it counts as one
        asked = np.isin(self.column_of, self.column_of[value > 0]) & ~np.isnan(self.pseudo)
        return apart.sum(axis=1) + self.slots @ (asked - value)


def _indicators(codes: list[Array], sizes: list[int], n_rows: int) -> Any:
    """Return indicators (n_rows, n_slots) of the slot of each cell; sparse if they are many."""
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
    """Return the smallest difference of two numbers of each column that varies: 1 for whole numbers."""
    distinct = {name: np.unique(numbers[~np.isnan(numbers)]) for name, numbers in block.floats.items()}
    return {name: float(np.diff(numbers).min()) for name, numbers in distinct.items() if len(numbers) > 1}


def least_variance(of_class: Floats, gaps: Floats) -> Floats:
    """Return the least variance of a subclass: a share of that of its class, or of a normal 1 / gap high if less.

    A subclass may hold one whole number only, and no density is higher than the probability of one number.
    """
    return np.maximum(NARROW * of_class, np.minimum(SPACED * gaps**2, of_class))


def widen_variances(normal: GaussianColumns, of_class: Moments, gaps: Mapping[str, float]) -> GaussianColumns:
    """Raise variances to the least variance; ``of_class`` holds the moments of the class of each subclass."""
    with np.errstate(invalid="ignore", divide="ignore"):
        class_variance = np.nan_to_num(of_class.squared_deviations() / of_class.n, nan=0.0, posinf=0.0)
    least = least_variance(class_variance, np.array([gaps.get(name, 0.0) for name in normal.names]))
    known = normal.gaussian
    wider = Gaussian(known.mean, np.maximum(known.variance, least), known.used)
    return replace(normal, gaussian=wider)


def by_class(tally: Tally, owner: Array, n_classes: int) -> Moments:
    """Return the moments of the class of each subclass, (n_subclasses, n_columns)."""
    totals = [tally.moments.take(np.flatnonzero(owner == c)).pooled() for c in range(n_classes)]
    parts = [totals[c] for c in owner]
    whole = Moments.zeros(len(owner), tally.moments.shape[1], weighted=tally.weighted)
    for i, part in enumerate(parts):
        whole = whole + part.take(np.where(np.arange(len(owner)) == i, 0, -1))
    return whole


NUMBERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # of subclasses that are tried
MOST_ROWS = 5000  # of all classes, by which the numbers are chosen
ROWS = 8  # of a class for each part at least
GAIN = 2.0  # nats of all rows that more parts must gain
ERRORS = 2.0  # standard errors that the gain over one part each must exceed
ROUNDS = 5  # over the classes
STARTS = 1  # of EM in each fold
STEPS = 40  # of EM in each fold at most


@dataclass(frozen=True)
class HeldOutDensities:
    """ln p(x | class, number) of held-out rows, by class and number; their ln P(class), classes and weights."""

    densities: Sequence[Mapping[int, Floats]]
    log_prior: Floats  # (rows, classes)
    labels: Array
    weights: Floats

    def best(self) -> tuple[list[int], list[dict[int, float]]]:
        """Return the number of parts of each class, and the mean ln P(class | row) for each number tried."""
        least = [min(of) for of in self.densities]
        numbers = list(least)
        totals: list[dict[int, float]] = [{} for _ in numbers]
        for _ in range(ROUNDS):
            before = list(numbers)
            for c, of in enumerate(self.densities):
                trials = {k: [*numbers[:c], k, *numbers[c + 1 :]] for k in of}
                scores = {k: float(self.weights @ self._log_posterior(trial)) for k, trial in trials.items()}
                numbers[c] = min(k for k in scores if scores[k] >= max(scores.values()) - GAIN)
                totals[c] = {k: total / float(self.weights.sum()) for k, total in scores.items()}
            if numbers == before:
                break
        return numbers if self._is_sure(numbers, least) else least, totals

    def _is_sure(self, numbers: Sequence[int], least: Sequence[int]) -> bool:
        """Return True if the gain over one part each exceeds two standard errors."""
        gains = self._log_posterior(numbers) - self._log_posterior(least)
        mean = self.weights @ gains / self.weights.sum()
        return bool(self.weights @ gains > ERRORS * np.sqrt(self.weights**2 @ (gains - mean) ** 2))

    def _log_posterior(self, numbers: Sequence[int]) -> Floats:
        """Return ln P(class | row) for these numbers of parts."""
        scores = self.log_prior + np.column_stack([of[k] for of, k in zip(self.densities, numbers, strict=True)])
        log_p = np.nan_to_num(logspace.log_posterior_of(scores, self.labels), nan=-np.inf)
        return np.maximum(log_p, logspace.log(LEAST_PROBABILITY))


def numbers_to_try(most: int, n_rows: int, folds: int) -> tuple[int, ...]:
    """Return the numbers of parts to try for a class: at least eight rows for each part.

    >>> numbers_to_try(8, 40, 3), numbers_to_try(8, 15, 3)
    ((1, 2, 3, 4), (1,))
    """
    return tuple(k for k in NUMBERS if k == 1 or (k <= most and ROWS * k <= n_rows and 2 * folds <= n_rows))


def score_test_rows(
    cells: Cells,
    labels: Array,
    tried: Sequence[Sequence[int]],
    rngs: Sequence[np.random.Generator],
    folds: int,
    prior: Callable[[Floats], Floats],
    tell: Callable[[int, int, int], object],
) -> HeldOutDensities:
    """Fit mixtures of all sizes on the rows of all folds but one, and score the rows of that fold."""
    by_class = [np.flatnonzero(labels == c) for c in range(len(tried))]
    share = min(1.0, MOST_ROWS / len(labels))
    fold_of = np.full(len(labels), -1)
    for rows, rng in zip(by_class, rngs, strict=True):
        some = rng.permutation(rows)[: max(int(np.ceil(share * len(rows))), min(2 * folds, len(rows)))]
        fold_of[some] = np.arange(len(some)) % folds
    sampled = np.flatnonzero(fold_of >= 0)
    cells, labels, fold_of = cells.take(sampled), labels[sampled], fold_of[sampled]
    parts = [(np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)) for fold in range(folds)]
    log_prior = np.zeros((len(labels), len(tried)))
    for learned, rest in parts:
        counts = np.bincount(labels[learned], cells.weights[learned], minlength=len(tried)).astype(np.float64)
        log_prior[rest] = logspace.log(prior(counts))
    rests = [cells.take(rest) for _, rest in parts]
    densities: list[dict[int, Floats]] = []
    for c, (numbers, rng) in enumerate(zip(tried, rngs, strict=True)):
        cells_of_class = [cells.take(learned[labels[learned] == c]) for learned, _ in parts]
        densities.append({})
        for done, k in enumerate(numbers, 1):
            density = np.full(len(labels), -np.inf)
            for learned_here, (_, rest), held in zip(cells_of_class, parts, rests, strict=True):
                if n := learned_here.n_rows:
                    density[rest] = held.log_density(learned_here.mixture(min(k, n), rng, STARTS, STEPS).parts)
            densities[c][k] = density
            tell(c, done, len(numbers))
    return HeldOutDensities(densities, log_prior, labels, cells.weights)

"""Trees of the ensemble: two forests, and boosting of the remaining error.

Forests: trees grown on samples of the rows, whose leaves are counted on all rows. A tree of the first forest takes the
best cut of some columns, one of the second the best of random cuts. A pure leaf of a few rows would be overconfident;
counted on all rows, with back-off to the nodes above, it is not. A training row is scored only by trees that it did not
grow, its own count removed from its path.

Boosting: small trees that lower the log loss of the score of all other parts. They start from leave-one-out scores.
Every fold has its own trees, grown on the rows of the other folds; a training row is scored by those of its fold, and a
new row by the mean of all folds. Boosting is kept only if the leave-one-out scores gain clearly. It stays fixed when
rows are added or removed, like the linear part.

Boosted forest: the same from the prior on, without the other parts. Two exponents pool it with their score, if that
gains clearly. Its trees stand beside those of boosting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.data.vocabulary import Value, positions
from bayeskit.estimate.temperature import fit_exponents, fit_temperature, log_capped
from bayeskit.models.ensemble.linear import MOST_CLASSES, assign_folds
from bayeskit.models.ensemble.training_rows import TrainingRows
from bayeskit.tally.coded_trees import UNKNOWN, CodedTrees, Trees, tree_columns
from bayeskit.typing import Bytes, Floats, Ints, Singles

# Share of the rows that grow a tree (the others are scored by it as out-of-bag rows), and pseudo-rows that the parent
# node adds to a node; both come from the trial that docs/quality.md describes.
SHARE, BACK_OFF = 0.65, 0.5
# About so many rows grow a tree at most, which bounds time and memory.
MOST_GROWN = 100_000
# Cut points of numbers are taken from about so many rows.
MOST_CUT = 200_000
# Folds of groups of rows that are left out together.
GROUP_FOLDS = 5
# Bytes that the smoothed leaves of all trees may take.
ROOM = 2e8


def number_of_trees(n_rows: int, n_classes: int) -> int:
    """Choose the number of trees of each forest: fewer if trees have many leaves or leaves many classes."""
    trees = 100 if n_rows <= 5_000 else 50 if n_rows <= 20_000 else 25
    most = ROOM / (8.0 * max(n_classes, 1) * max(min(n_rows, MOST_GROWN), 1))
    return int(max(4, min(trees, most)))


def forests_of(n_trees: int) -> Iterator[tuple[int, int]]:
    """Return (first, last) tree of each forest."""
    half = n_trees // 2
    return iter([(0, half), (half, n_trees)])


def grow_forests(
    rows: TrainingRows, n_trees: int, rng: np.random.Generator, n_threads: int
) -> tuple[CodedTrees, Bytes, Bytes]:
    """Grow both forests; return (trees, codes of the rows, rows that grew each tree (trees, rows))."""
    n_rows = len(rows.labels)
    some = slice(None, None, -(-n_rows // MOST_CUT) if n_rows else 1)
    columns = tree_columns({name: cells[some] for name, cells in rows.cells.items()}, rows.codes)
    empty: Trees = (
        np.zeros(1, np.int64),
        np.zeros((0, 2), np.uint32),
        np.zeros(0, np.int32),
        np.zeros((0, 4), np.uint64),
    )
    reader = CodedTrees(rows.codes, columns, empty)
    codes = reader.codes(rows.cells, reader.tables(rows.codes), n_threads)
    kinds = np.array([column.categorical for column in columns], dtype=np.uint8)
    parts = np.empty((2 * n_trees, n_rows), dtype=np.uint8)
    group = np.arange(n_rows) if rows.groups is None else rows.groups
    for part in parts:
        part[:] = (rng.random(int(group.max(initial=-1)) + 1) < min(SHARE, MOST_GROWN / max(n_rows, 1)))[group]
    seeds = rng.integers(0, 2**63, 2 * n_trees).astype(np.uint64)
    n_tried = max(2, isqrt(len(columns)))
    grown = [
        kernels.grow_trees(
            codes, kinds, rows.labels, len(rows.classes), rows.weights, parts[some_trees], seeds[some_trees], n_tried,
            at_random, n_threads,
        )
        for some_trees, at_random in ((slice(0, n_trees), False), (slice(n_trees, None), True))
    ]  # fmt: skip
    return CodedTrees(rows.codes, columns, _side_by_side(*grown)), codes, parts


def _side_by_side(first: Trees, second: Trees) -> Trees:
    start = np.concatenate([first[0], first[0][-1] + second[0][1:]])
    subset = np.where(second[2] < 0, second[2], second[2] + np.int32(len(first[3])))
    nodes, sets = np.concatenate([first[1], second[1]]), np.concatenate([first[3], second[3]])
    return start, nodes, np.concatenate([first[2], subset]), sets


def count_leaves(trees: CodedTrees, codes: Bytes, rows: TrainingRows, n_threads: int) -> Floats:
    """Count the rows that end at each node (nodes, classes)."""
    return kernels.count_leaves(codes, rows.labels, len(rows.classes), rows.weights, trees.arrays, n_threads)


def total_leaves(trees: CodedTrees, counts: Any, n_threads: int) -> Floats:
    """Sum the rows that end at each node or below it (nodes, classes)."""
    return kernels.total_leaves(trees.arrays, np.ascontiguousarray(counts, dtype=np.float64), n_threads)


def group_folds(rows: TrainingRows) -> Ints | None:
    """Assign the groups of rows to folds, whose rows are left out of the counts together; None without groups."""
    if rows.groups is None:
        return None
    return assign_folds(rows.labels, GROUP_FOLDS, np.random.default_rng(0), rows.groups)


def left_out_totals(trees: CodedTrees, codes: Bytes, rows: TrainingRows, n_threads: int) -> Floats:
    """Sum the rows at or below each node, without each fold of groups if there are any (folds, nodes, classes)."""
    fold, totals = group_folds(rows), []
    for k in range(1 if fold is None else int(fold.max()) + 1):
        counted = rows if fold is None else rows.take(fold != k)
        counts = count_leaves(trees, codes if fold is None else codes[fold != k], counted, n_threads)
        totals.append(total_leaves(trees, counts, n_threads))
    return np.stack(totals)


@dataclass(frozen=True)
class LeftOutForests:
    """Training rows and the trees that they did not grow, their own counts removed from their paths.

    With groups of rows, ``fold`` (n_rows,) is the fold whose rows are removed, and ``totals`` has an entry for each.

    ``parts`` (n_trees, n_rows) marks the rows that grew each tree, None for given trees; ``totals`` (n_folds,
    n_nodes, n_classes) counts the rows at or below each node, and ``log_prior`` (n_rows, n_classes) is that without the
    row.
    """

    trees: CodedTrees
    codes: Bytes
    parts: Bytes | None
    totals: Floats
    labels: npt.NDArray[np.uint32]
    taken: Floats
    log_prior: Floats
    n: float
    fold: Ints | None = None

    def every(self, step: int, unknown: Sequence[str] = ()) -> LeftOutForests:
        """Take every ``step``-th row, with some columns unknown."""
        codes = self.codes[::step].copy()
        codes[:, [column.name in unknown for column in self.trees.columns]] = UNKNOWN
        parts = None if self.parts is None else np.ascontiguousarray(self.parts[:, ::step])
        return replace(
            self,
            codes=codes,
            parts=parts,
            labels=np.ascontiguousarray(self.labels[::step]),
            taken=np.ascontiguousarray(self.taken[::step]),
            log_prior=np.ascontiguousarray(self.log_prior[::step]),
            fold=None if self.fold is None else self.fold[::step],
        )

    def means(self, n_threads: int) -> list[Floats]:
        """Compute both means of each forest (n_rows, n_classes), over trees that a row did not grow."""
        means, prior = [], logspace.exp(self.log_prior)
        for first, last in forests_of(len(self.trees)):
            inside = None if self.parts is None else self.parts[first:last]
            logs, sums = np.empty_like(prior), np.empty_like(prior)
            for k, totals in enumerate(self.totals):
                own = np.arange(len(prior)) if self.fold is None else np.flatnonzero(self.fold == k)
                logs[own], sums[own] = kernels.leave_out_leaves(
                    self.codes[own], self.labels[own], self.taken[own],
                    None if inside is None else np.ascontiguousarray(inside[:, own]), self.trees.some(first, last),
                    totals[self.trees.nodes_of(first, last)], prior[own], self.n, BACK_OFF, n_threads,
                )  # fmt: skip
            outside = np.full(len(prior), last - first) if inside is None else (inside == 0).sum(axis=0)
            none, n_trees = outside == 0, np.maximum(outside, 1)[:, None]
            logs[none], sums[none] = self.log_prior[none], prior[none]
            means += _normalized(logs / n_trees, sums / n_trees)
        return means


def ready_leaves(trees: CodedTrees, totals: Floats, prior: Floats, n: float, n_threads: int) -> Singles:
    """Smooth the class probabilities of every node (nodes, classes)."""
    return kernels.smooth_leaves(trees.arrays, totals, prior, n, BACK_OFF, n_threads)


def means_of(trees: CodedTrees, values: Singles, codes: Bytes, n_threads: int) -> list[Floats]:
    """Compute the geometric and the arithmetic mean of each forest (n_rows, n_classes)."""
    means = []
    for first, last in forests_of(len(trees)):
        own = values[trees.nodes_of(first, last)]
        logs, sums = kernels.score_leaves(codes, trees.some(first, last), own, n_threads)
        means += _normalized(logs / (last - first), sums / (last - first))
    return means


def _normalized(log_mean: Floats, mean: Floats) -> list[Floats]:
    return [logspace.log_normalize(log_mean)[0], logspace.log(mean)]


# Numbers of folds up to and above MANY rows.
FOLDS, FEWER_FOLDS, MANY = 5, 3, 3_000
# A tree tries half of the columns, within these bounds: the time of a tree grows with the columns.
LEAST_TRIED, MOST_TRIED = 8, 500
# Most rounds, and rounds without a gain after which a fold stops.
ROUNDS, PATIENCE = 300, 15
# Boosting is kept if its gain in log-likelihood (nats, over all rows) exceeds LEAST_GAIN plus a quarter of its standard
# error, or plus all of it for fewer rows than FEW. The rule comes from the trial that docs/quality.md describes.
LEAST_GAIN, FEW = 2.0, 1_000
# There is no boosted forest if the rows left out, from which it learns, are a smaller share of all rows than this: on
# training parts of "connect-4" it gained .030 nats for 12,000 rows, .006 for 35,000, and lost .002 for 43,000.
LEAST_SHARE = 0.5
# Nor for more classes: it gained nothing on training parts of "letter" (26 classes) and doubled the time of the fit.
MOST_FOREST_CLASSES = 20
# Where the exponents of the other parts and of the boosted forest start.
POOL_START = (0.5, 0.5)


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """Boosted trees of all folds, and the values that their nodes add to the scores (nodes, classes)."""

    classes: tuple[Value | None, ...]
    trees: Trees
    values: Singles

    def scores(self, codes: Bytes, classes: Any, n_threads: int) -> Floats:
        """Compute the added scores (n_rows, n_classes); 0 for a class that was never seen."""
        sums = kernels.add_leaves(np.ascontiguousarray(codes), self.trees, self.values, n_threads)
        at = positions(classes, self.classes)
        scores = np.zeros((len(codes), len(at)))
        scores[:, at >= 0] = sums[:, at[at >= 0]]
        return scores

    def scaled(self, by: float) -> BoostedTrees:
        """Multiply the values by a factor."""
        return replace(self, values=(self.values * by).astype(np.float32))

    def __add__(self, other: BoostedTrees) -> BoostedTrees:
        """Put the trees of both side by side; both have the same classes."""
        return replace(
            self, trees=_side_by_side(self.trees, other.trees), values=np.concatenate([self.values, other.values])
        )

    def __len__(self) -> int:
        return len(self.trees[0]) - 1


@dataclass(frozen=True, eq=False)
class BoostedForest:
    """Trees boosted from the prior on, and the exponents that pool them with the scores of the other parts.

    ``scores`` (n_rows, n_classes) are those of the prior and the trees for rows left out. Trees and scores are raised
    to their exponent, ``share``, already.
    """

    trees: BoostedTrees
    scores: Floats
    share: float
    share_of_others: float


@dataclass(frozen=True)
class Booster:
    """Rows left out that boosting learns from: their positions, and their codes in the columns of the trees."""

    rows: TrainingRows
    asked: Ints
    trees: CodedTrees
    codes: Bytes
    rng: np.random.Generator
    n_threads: int

    @property
    def labels(self) -> npt.NDArray[np.uint32]:
        """The labels of the rows."""
        return self.rows.labels[self.asked]

    @property
    def weights(self) -> Floats | None:
        """The weights of the rows, whose mean is one."""
        weights = self.rows.weights
        return None if weights is None else weights[self.asked] / weights[self.asked].mean()

    def correct(self, scores: Floats) -> tuple[BoostedTrees, Floats] | None:
        """Boost what scores (n_rows, n_classes) leave; return (trees, boosted scores), or None if the gain is small."""
        if not 2 <= scores.shape[1] <= MOST_CLASSES:
            return None
        trees, boosted = self._boost(scores)
        return (trees, boosted) if _is_gain(scores, boosted, self.labels, self.weights) else None

    def fit_forest(self, log_prior: Floats, others: Floats) -> BoostedForest | None:
        """Boost from the prior on, and pool with the scores of the others; None for too few rows or a small gain."""
        n_rows, n_classes = others.shape
        if n_rows < max(FEW, LEAST_SHARE * len(self.rows.labels)) or not 2 <= n_classes <= MOST_FOREST_CLASSES:
            return None
        labels, weights = self.labels, self.weights
        by = fit_temperature(others, labels, weights)
        trees, scores = self._boost(log_prior)
        both = np.stack([logspace.log_normalize(part)[0] for part in (by * others, scores)], axis=2)
        pool = fit_exponents(both.astype(np.float32), labels, weights, np.array(POOL_START), self.n_threads)
        if not _is_gain(both[:, :, 0], both @ pool, labels, weights):
            return None
        share = float(pool[1])
        return BoostedForest(trees.scaled(share), share * scores, share, float(by * pool[0]))

    def _boost(self, scores: Floats) -> tuple[BoostedTrees, Floats]:
        """Boost scores on folds; return the mean of the trees of all folds, and the scores of rows left out."""
        columns, rows, labels = self.trees.columns, self.rows, self.labels
        groups = None if rows.groups is None else rows.groups[self.asked]
        n_folds = FOLDS if len(labels) <= MANY else FEWER_FOLDS
        fold = assign_folds(labels, n_folds, self.rng, groups).astype(np.uint8)
        n_folds = int(fold.max(initial=0)) + 1
        n_tried = min(max(len(columns) // 2, min(LEAST_TRIED, len(columns)), 1), MOST_TRIED)
        kinds = np.array([column.categorical for column in columns], dtype=np.uint8)
        start, nodes, subset, sets, values, boosted = kernels.boost_trees(
            self.codes, kinds, labels, self.weights, np.ascontiguousarray(scores),
            fold, n_folds, int(self.rng.integers(0, 2**63)), n_tried, ROUNDS,
            PATIENCE, self.n_threads,
        )  # fmt: skip
        return BoostedTrees(rows.classes, (start, nodes, subset, sets), values).scaled(1 / n_folds), boosted


def _is_gain(before: Floats, after: Floats, labels: Any, weights: Floats | None) -> bool:
    """Return True if the log-likelihood rises by more than chance explains."""
    n_rows, n_classes = before.shape
    own = np.arange(n_rows), labels

    def log_proba(scores: Floats) -> Floats:
        return log_capped(logspace.log_normalize(np.ascontiguousarray(scores))[0][own], n_rows, n_classes)

    gains = (log_proba(after) - log_proba(before)) * (1.0 if weights is None else weights)
    error = float(np.sqrt(n_rows) * gains.std()) if n_rows else 0.0
    return float(gains.sum()) > LEAST_GAIN + (1.0 if n_rows < FEW else 0.25) * error

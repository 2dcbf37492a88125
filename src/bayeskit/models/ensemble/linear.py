"""The linear part of the ensemble: multinomial logistic regression on values and numbers, fitted on folds.

Its features are one-hot values, standardized numbers (clipped at 4), and their normal scores: the quantile of a
number's rank under a normal distribution. A training row is scored by the fold that has not seen it, and a new row by
the mean of the coefficients of all folds.

Formula: P(class ∣ x) ∝ exp(Σ_j w_j(class) x_j), the mean over folds
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.data.cells import LARGEST
from bayeskit.data.vocabulary import Value, positions
from bayeskit.models.ensemble.training_rows import TrainingRows
from bayeskit.tally.coded_trees import CodedTrees
from bayeskit.threads import one_blas_thread
from bayeskit.typing import Array, Bytes, Floats, Ints

CODES = 256
# The variance of the normal prior on the coefficients, the bound to which standardized numbers are clipped, and the
# numbers of folds up to and above MANY rows come from the trial that docs/quality.md describes.
VARIANCE, FARTHEST = 3.0, 4.0
FOLDS, FEWER_FOLDS, MANY = 5, 2, 5_000
# A fold is fitted on a sample of at most so many rows.
MOST_FITTED = 10_000
# The features of so many rows are computed once and kept for all folds.
MOST_READ = 20_000
# The linear part and boosting are left out for more classes.
MOST_CLASSES = 100
# Most coefficients: one-hot columns of many values are left out of the linear part beyond it.
MOST_CELLS = 10_000
# Most iterations of the fit, and the relative gain below which it stops; no comparison was made.
ROUNDS, ENOUGH = 60, 1e-4


@dataclass(frozen=True, eq=False)
class LinearPart:
    """Coefficients (n_features, n_classes) of the intercept, standardized numbers, tables of codes, and one-hot values.

    ``numbers`` are the columns that are standardized, ``hot`` the one-hot columns of the trees. Table i of ``tables``
    (n_tables, n_codes), normal scores or the indicator of a missing value, reads column ``read[i]`` of the trees.
    """

    classes: tuple[Value | None, ...]
    numbers: tuple[str, ...]
    center: Floats
    spread: Floats
    read: Ints
    tables: Floats
    coefficients: Floats
    hot: tuple[int, ...]

    def features(self, cells: Mapping[str, Any], codes: Bytes, trees: CodedTrees) -> tuple[Bytes, Ints, Floats]:
        """Return (one-hot codes, positions of their coefficients, numbers) of rows."""
        first_table = 1 + len(self.numbers)
        n_numbers = first_table + len(self.tables)
        numbers = np.empty((len(codes), n_numbers))
        numbers[:, 0] = 1
        if self.numbers:
            deviations = (np.array([cells[name] for name in self.numbers]).T - self.center) / self.spread
            deviations[~np.isfinite(deviations)] = 0.0
            np.clip(deviations, -FARTHEST, FARTHEST, out=numbers[:, 1:first_table])
        numbers[:, first_table:] = self.tables[np.arange(len(self.tables)), codes[:, self.read]]
        place = np.cumsum([n_numbers, *(trees.columns[j].size for j in self.hot)]).astype(np.int64)
        return np.ascontiguousarray(codes[:, list(self.hot)]), place, numbers

    def log_shares(
        self, cells: Mapping[str, Any], codes: Bytes, trees: CodedTrees, classes: Any, log_prior: Floats, n_threads: int
    ) -> Floats:
        """Compute ln P(class | x) of the linear part (n_rows, n_classes); unseen classes get their prior."""
        scores = kernels.score_line(*self.features(cells, codes, trees), self.coefficients, n_threads)
        return self.in_classes(scores, classes, log_prior)

    def in_classes(self, scores: Floats, classes: Any, log_prior: Floats) -> Floats:
        """Normalize scores of the fitted classes to ln P of the current classes (n_rows, n_classes)."""
        at = positions(classes, self.classes)
        known = at >= 0
        shares = logspace.log_normalize(np.ascontiguousarray(scores[:, at[known]]))[0] if known.any() else scores[:, :0]
        if known.all():
            return np.asarray(shares)
        logs = np.empty((len(scores), len(at)))
        logs[:, ~known] = log_prior[~known]
        logs[:, known] = shares + logspace.log(np.maximum(logspace.exp(log_prior[known]).sum(), 0.0))
        return logs

    def arrays(self) -> list[Array]:
        """Return the fitted arrays."""
        return [self.center, self.spread, self.read, self.tables, self.coefficients]


def fit_line(
    rows: TrainingRows, asked: Ints, trees: CodedTrees, codes: Bytes, rng: np.random.Generator, n_threads: int
) -> tuple[LinearPart, Floats]:
    """Fit on folds; return the linear part and ln P(class | x) (asked, classes) by the fold without each row."""
    n_rows, n_classes = len(rows.labels), len(rows.classes)
    line = _features_of(rows, trees, codes)
    n_folds = FOLDS if n_rows <= MANY else FEWER_FOLDS
    fold = assign_folds(rows.labels, n_folds, rng, rows.groups)
    scores, coefficients = np.zeros((len(asked), n_classes)), []
    features = _reader(line, rows, trees, codes)
    for k in range(int(fold.max(initial=0)) + 1):
        others = np.flatnonzero(fold != k)
        if len(others) > MOST_FITTED:
            others = np.sort(rng.choice(others, MOST_FITTED, replace=False))
        coefficients.append(_fit_coefficients(rows, others, *features(others), n_threads))
        mine = np.flatnonzero(fold[asked] == k)
        scores[mine] = kernels.score_line(*features(asked[mine]), coefficients[-1], n_threads)
    mean = np.mean(coefficients, axis=0)
    return replace(line, coefficients=mean), np.asarray(logspace.log_normalize(scores)[0])


def assign_folds(
    labels: npt.NDArray[np.uint32], n_folds: int, rng: np.random.Generator, groups: Ints | None = None
) -> Ints:
    """Assign a random fold to each row (n_rows,), spreading each class evenly; the rows of a group stay together."""
    if groups is not None:
        _, first, group = np.unique(groups, return_index=True, return_inverse=True)
        return assign_folds(labels[first], n_folds, rng)[group]
    shuffled, fold = rng.permutation(len(labels)), np.empty(len(labels), dtype=np.int64)
    fold[shuffled[np.argsort(labels[shuffled], kind="stable")]] = np.arange(len(labels)) % max(n_folds, 1)
    return fold


def _reader(
    line: LinearPart, rows: TrainingRows, trees: CodedTrees, codes: Bytes
) -> Callable[[Ints], tuple[Bytes, Ints, Floats]]:
    """Return a function that computes the features of some rows; few rows are computed once for all folds."""
    if len(rows.labels) > MOST_READ:
        return lambda some: line.features({name: c[some] for name, c in rows.cells.items()}, codes[some], trees)
    hot, place, numbers = line.features(rows.cells, codes, trees)
    return lambda some: (hot[some], place, numbers[some])


def _features_of(rows: TrainingRows, trees: CodedTrees, codes: Bytes) -> LinearPart:
    """Choose the features of rows, without coefficients yet."""
    names, center, spread, read, tables = [], [], [], [], []
    for name, how in rows.codes.items():
        if how.values is None:
            numbers = rows.cells[name]
            there = numbers[~np.isnan(numbers)]
            largest = float(np.abs(there).max(initial=0.0)) or 1.0
            # Scale first: squares may overflow.
            deviation = float((there / largest).std()) * largest if len(there) else 0.0
            if deviation > 1 / LARGEST:
                names.append(name)
                center.append(float((there / largest).mean()) * largest)
                spread.append(deviation)
    for j, column in enumerate(trees.columns):
        if not column.categorical:
            size = column.size
            counts = np.bincount(codes[:, j], minlength=CODES).astype(np.float64)
            absent = np.zeros(CODES)
            if column.missing:
                gap = int(column.table[0]) if len(column.table) else size - 1
                absent[gap], counts[gap] = counts[gap] > 0, 0
            for table in (_normal_scores(counts[:size]), absent):
                if table.any():
                    read.append(j)
                    tables.append(table)
    return LinearPart(
        rows.classes,
        tuple(names),
        np.array(center),
        np.array(spread),
        np.array(read, dtype=np.int64),
        np.array(tables).reshape(len(tables), CODES),
        np.zeros((0, len(rows.classes))),
        _one_hot(trees, 1 + len(names) + len(tables), len(rows.classes)),
    )


def _one_hot(trees: CodedTrees, n_numbers: int, n_classes: int) -> tuple[int, ...]:
    """Choose the one-hot columns, those of few values first, while there are at most `MOST_CELLS` coefficients."""
    by_size = sorted(trees.hot_columns, key=lambda j: trees.columns[j].size)
    n_features = n_numbers + np.cumsum([trees.columns[j].size for j in by_size])
    return tuple(sorted(by_size[: int((n_features * n_classes <= MOST_CELLS).sum())]))


def _normal_scores(counts: Floats) -> Floats:
    """Compute the normal quantile of the middle rank of each code (codes,); 0 for codes without rows."""
    from scipy.special import ndtri

    scores, total = np.zeros(CODES), counts.sum()
    if np.count_nonzero(counts) > 1:
        middle = (np.cumsum(counts) - counts / 2) / total
        scores[: len(counts)] = np.where(counts > 0, np.clip(ndtri(middle), -FARTHEST, FARTHEST), 0.0)
    return scores


def _fit_coefficients(
    rows: TrainingRows, which: Ints, hot: Bytes, place: Ints, numbers: Floats, n_threads: int
) -> Floats:
    """Fit the MAP coefficients (features, classes), with a normal prior on all but the intercept."""
    from scipy.optimize import minimize

    labels, shape = rows.labels[which], (int(place[-1]), len(rows.classes))
    if not len(which) or shape[1] < 2:
        return np.zeros(shape)
    weights = None if rows.weights is None else rows.weights[which] / rows.weights[which].mean()
    precision = np.full((shape[0], 1), 1 / VARIANCE)
    precision[0] = 0

    def loss(flat: Floats) -> tuple[float, Floats]:
        coefficients = flat.reshape(shape)
        value, slope = kernels.line_loss(hot, place, numbers, labels, weights, coefficients, n_threads)
        pulled = precision * coefficients
        return value + 0.5 * float((pulled * coefficients).sum()), (slope + pulled).ravel()

    start, options = np.zeros(shape[0] * shape[1]), {"maxiter": ROUNDS, "ftol": ENOUGH}
    # Threads of BLAS cost far more than they save in vectors of this length.
    with one_blas_thread():
        best = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)  # type: ignore[call-overload]
    return np.asarray(best.x, dtype=np.float64).reshape(shape)

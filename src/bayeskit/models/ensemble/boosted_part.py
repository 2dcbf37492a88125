"""Boosting of what is left: small trees that lower the log loss of all that was weighed before.

They start from the scores of rows left out. Every fold has trees of its own, grown on the rows of the others; a learnt
row is judged by those of its fold, and a new one by the mean of all folds. What they add is taken only where rows left
out gain clearly by it. Trees and what they add are held when rows come and go, like the line.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.vocabulary import Value, positions
from bayeskit.estimate.temperature import log_capped
from bayeskit.models.ensemble.learnt_rows import LearntRows
from bayeskit.models.ensemble.linear_part import MOST_CLASSES, folds_by_class
from bayeskit.tally.coded_trees import CodedTrees, Trees
from bayeskit.typing import Array, Bytes, Floats, Ints, Singles

FOLDS, FEWER_FOLDS, MANY = 5, 3, 3_000  # fewer folds above so many rows
FEW = 1_000  # rows below which a gain may more easily be chance
LEAST_TRIED = 8  # columns of a tree, where half of them are fewer
ROUNDS, PATIENCE = 300, 15
LEAST_GAIN = 2.0  # nats of all rows together


@dataclass(frozen=True, eq=False)
class BoostedPart:
    """Trees of all folds, and what their nodes add to the score of each class (nodes, classes)."""

    classes: tuple[Value, ...]
    trees: Trees
    values: Singles

    def scores(self, codes: Bytes, classes: Any, n_threads: int) -> Floats:
        """What is added (rows, classes): nothing to a class that was never seen."""
        sums = kernels.add_leaves(np.ascontiguousarray(codes), self.trees, self.values, n_threads)
        at = positions(classes, self.classes)
        told = np.zeros((len(codes), len(at)))
        told[:, at >= 0] = sums[:, at[at >= 0]]
        return told

    def raised(self, by: float) -> BoostedPart:
        """The same trees, which add so many times as much."""
        return replace(self, values=(self.values * by).astype(np.float32))

    def __len__(self) -> int:
        return len(self.trees[0]) - 1

    def arrays(self) -> list[Array]:
        """All that is held."""
        return [*self.trees, self.values]


def fit_boosting(
    rows: LearntRows,
    asked: Ints,
    trees: CodedTrees,
    codes: Bytes,
    scores: Floats,
    rng: np.random.Generator,
    n_threads: int,
) -> tuple[BoostedPart, Floats] | None:
    """(trees, scores of the asked rows left out with what these add) where that is worth it.

    ``codes`` and ``scores`` are those of the asked rows.
    """
    labels, n_rows, n_classes = rows.labels[asked], len(asked), scores.shape[1]
    if not 2 <= n_classes <= MOST_CLASSES:
        return None
    weights = None if rows.weights is None else rows.weights[asked] / rows.weights[asked].mean()
    n_folds = min(FOLDS if n_rows <= MANY else FEWER_FOLDS, n_rows)
    n_tried = max(len(trees.columns) // 2, min(LEAST_TRIED, len(trees.columns)), 1)
    kinds = np.array([column.categorical for column in trees.columns], dtype=np.uint8)
    start, nodes, subset, sets, values, told = kernels.boost_trees(
        codes, kinds, labels, weights, np.ascontiguousarray(scores),
        folds_by_class(labels, n_folds, rng).astype(np.uint8), n_folds, int(rng.integers(0, 2**63)), n_tried, ROUNDS,
        PATIENCE, n_threads,
    )  # fmt: skip
    if not _is_gain(scores, told, labels, weights):
        return None
    return BoostedPart(rows.classes, (start, nodes, subset, sets), values).raised(1 / n_folds), told


def _is_gain(before: Floats, after: Floats, labels: Any, weights: Floats | None) -> bool:
    """Whether the log loss of all rows falls by more than chance, which may do much where rows are few."""
    n_rows, n_classes = before.shape
    own = np.arange(n_rows), labels

    def said(scores: Floats) -> Floats:
        return log_capped(logspace.log_normalise(np.ascontiguousarray(scores))[0][own], n_rows, n_classes)

    gains = (said(after) - said(before)) * (1.0 if weights is None else weights)
    error = float(np.sqrt(n_rows) * gains.std()) if n_rows else 0.0
    return float(gains.sum()) > LEAST_GAIN + (1.0 if n_rows < FEW else 0.25) * error

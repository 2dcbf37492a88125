"""Scores of rows by a model that has not learnt them: each left out exactly where the model can, else by folds."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.errors import BayesWarning
from bayeskit.evaluate.cross_validation import fit_on, labelled_table, posterior_over, stratified_folds
from bayeskit.evaluate.leave_one_out import is_last_of_class
from bayeskit.models.base.estimator import clone
from bayeskit.models.base.settings import seed_of
from bayeskit.typing import Floats


@dataclass(frozen=True, eq=False)
class HonestScores:
    """Log scores (rows, classes), the classes of the rows as places, their weights, and where they come from.

    Rows that alone show their class are left out: no model without them can know it.
    """

    scores: Floats
    labels: npt.NDArray[np.intp]
    weights: Floats | None
    method: str


def honest_scores(
    model: Any, X: Any, y: Any, sample_weight: Any, folds: int | None, max_rows: int, random_state: Any
) -> HonestScores:
    """Of at most about ``max_rows`` of the rows that a fitted model has learnt; ``folds`` asks for them where given."""
    if folds is None and hasattr(model, "leave_one_out"):
        return _left_out(model, X, y, sample_weight, max_rows, random_state)
    return _folded(model, X, y, sample_weight, folds or 5, random_state)


def _left_out(model: Any, X: Any, y: Any, sample_weight: Any, max_rows: int, random_state: Any) -> HonestScores:
    left_out, counts = model._left_out(), model.tally_.class_counts.astype(np.float64)
    share = max_rows / max(float(counts.sum()), 1.0)
    rng = np.random.default_rng(seed_of(random_state)) if share < 1 else None
    scores, labels, weighing = [np.zeros((0, len(counts)))], [np.zeros(0, dtype=np.intp)], [np.zeros(0)]
    is_weighed = False
    for block in model._blocks_learnt(X, y, sample_weight):
        asked = np.ones(block.n_rows, dtype=bool) if rng is None else rng.random(block.n_rows) < share
        if block.weights is not None:
            asked &= block.weights > 0
        part = block if asked.all() else block.take(np.flatnonzero(asked))
        if not part.n_rows:
            continue
        part_labels = np.asarray(part.labels, dtype=np.intp)
        unit = None if part.weights is None else np.minimum(part.weights, 1.0)
        of_part = model._tempered(left_out.scores(part))
        of_part[np.isneginf(logspace.largest_of_rows(of_part))] = logspace.log(counts)
        alone = is_last_of_class(counts, part_labels, unit)
        stays: Any = slice(None) if alone is None else ~alone
        is_weighed |= part.weights is not None
        scores.append(of_part[stays])
        labels.append(part_labels[stays])
        weighing.append((np.ones(part.n_rows) if part.weights is None else part.weights)[stays])
    weighed = np.concatenate(weighing) if is_weighed else None
    return HonestScores(np.concatenate(scores), np.concatenate(labels), weighed, "leave-one-out")


def _folded(model: Any, X: Any, y: Any, sample_weight: Any, folds: int, random_state: Any) -> HonestScores:
    given = labelled_table(X, y, sample_weight, getattr(model, "_drops_unlabelled", False))
    classes = tuple(np.asarray(model.classes_).tolist())
    places = np.array([classes.index(label) for label in given.classes], dtype=np.intp)
    folds = min(folds, given.n_rows)
    scores = np.zeros((given.n_rows, len(classes)))
    stays = np.ones(given.n_rows, dtype=bool) if given.weights is None else given.weights > 0
    if folds < 2:
        return HonestScores(scores[:0], places[:0], None, "no rows to spare")
    splits = stratified_folds(given.codes, folds, (seed_of(random_state) or 0) % 2**32)
    for i, (train, test) in enumerate(splits, 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesWarning)
            fitted = fit_on(clone(model), given, train, f"without fold {i} of {folds}")
            scores[test] = posterior_over(fitted, given.table.take(test), classes)[0]
        stays[test] &= np.isin(given.codes[test], given.codes[train])
    weights = None if given.weights is None else given.weights[stays]
    return HonestScores(scores[stays], places[given.codes][stays], weights, f"{folds} folds")

"""Log scores of rows, and what they are as probabilities."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayeskit.kernels.twins.checks import (
    Codes,
    Floats,
    check_cells,
    check_codes,
    check_labels,
    check_matrix,
    check_threads,
    length,
    same_number,
)


def score_codes(columns: Sequence[Codes], tables: Sequence[Floats], scores: Floats, n_threads: int) -> None:
    """Add ``table[code]`` of each column, in order, to scores (rows, classes), in place.

    >>> scores = np.zeros((2, 2))
    >>> table = np.array([[0.0, 0.0], [-1.0, -2.0]])  # (size, classes)
    >>> score_codes([np.array([1, 0], dtype=np.uint8)], [table], scores, 1)
    >>> scores.tolist()
    [[-1.0, -2.0], [0.0, 0.0]]
    """
    check_matrix("scores", scores, length(columns, n_threads, "codes", len(scores)))
    same_number(columns, tables=tables)
    for j, table in enumerate(tables):
        check_cells(f"table {j}", table, "float64", None, scores.shape[1])
    check_codes(columns, [len(table) for table in tables])
    for column, table in zip(columns, tables, strict=True):
        scores += table[column]


def score_gaussian(
    columns: Sequence[Floats],
    mean: Floats,
    precision: Floats,
    constant: Floats,
    scores: Floats,
    n_threads: int,
) -> None:
    """Add constant - precision (x - mean)² / 2 of each column, in order, to scores (rows, classes), in place.

    The parameters are (classes, columns). A NaN cell adds nothing.

    >>> scores = np.zeros((2, 1))
    >>> one = np.array([[1.0]])
    >>> score_gaussian([np.array([3.0, np.nan])], one, one, one, scores, 1)
    >>> scores.tolist()  # 1 - (3 - 1)² / 2
    [[-1.0], [0.0]]
    """
    check_matrix("scores", scores, length(columns, n_threads, "floats", len(scores)))
    for name, array in (("mean", mean), ("precision", precision), ("constant", constant)):
        check_cells(name, array, "float64", scores.shape[1], len(columns))
    with np.errstate(over="ignore", invalid="ignore"):
        for j, column in enumerate(columns):
            x = column[:, None]
            term = constant[:, j] - 0.5 * precision[:, j] * (x - mean[:, j]) ** 2
            scores += np.where(np.isnan(x), 0.0, term)


def score_codes_left_out(
    columns: Sequence[Codes], tables: Sequence[Floats], labels: Codes, scores: Floats, n_threads: int
) -> None:
    """As `score_codes`, with a table for each label: ``table[label, code]`` of (labels, size, classes).

    >>> scores = np.zeros((1, 2))
    >>> table = np.array([[[0.0, 0.0], [-1.0, -2.0]], [[0.0, 0.0], [-3.0, -4.0]]])
    >>> score_codes_left_out([np.array([1], dtype=np.uint8)], [table], np.array([1], dtype=np.uint8), scores, 1)
    >>> scores.tolist()
    [[-3.0, -4.0]]
    """
    check_matrix("scores", scores, length(columns, n_threads, "codes", len(scores)))
    n = scores.shape[1]
    check_labels(labels, n, len(scores))
    same_number(columns, tables=tables)
    for j, table in enumerate(tables):
        check_cells(f"table {j}", table, "float64", n, None, n)
    check_codes(columns, [table.shape[1] for table in tables])
    for column, table in zip(columns, tables, strict=True):
        scores += table[labels, column]


def best_classes(scores: Floats, tolerance: float, n_threads: int) -> NDArray[np.int64]:
    """The first class of each row (rows, classes) within ``tolerance · max(1, |best|)`` of the best score.

    >>> best_classes(np.array([[1.0, 3.0, 3.0], [2.0, 2.0 + 1e-15, 0.0]]), 1e-12, 1)
    array([1, 0])
    """
    check_threads(n_threads)
    check_matrix("scores", scores, len(scores))
    best = scores.max(axis=1)
    with np.errstate(invalid="ignore"):
        within = scores >= (best - tolerance * np.maximum(1.0, np.abs(best)))[:, None]
    within[np.isneginf(best)] = True
    chosen: NDArray[np.int64] = within.argmax(axis=1)
    return chosen


def judge(
    scores: Floats, labels: Codes, tolerance: float, n_threads: int
) -> tuple[Floats, Floats, NDArray[np.int64], Floats, Floats]:
    """`normalise` and `best_classes` of scores (rows, classes), and how good they are for rows of these labels:
    the log probability of the label and the Brier score Σ (p - [own])² of each row.

    >>> _, _, best, log_true, brier = judge(np.log([[0.1, 0.3]]), np.array([0], dtype=np.uint8), 1e-12, 1)
    >>> best.tolist(), np.exp(log_true).round(6).tolist(), brier.round(6).tolist()
    ([1], [0.25], [1.125])
    """
    probabilities, evidence = normalise(scores, n_threads)
    check_labels(labels, scores.shape[1], len(scores))
    at_label = np.arange(len(scores)), labels
    best = scores.max(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):  # by the distance to the best: the evidence may be −4e9
        log_true = np.where(np.isneginf(best), np.nan, scores[at_label] - best) + np.log(probabilities.max(axis=1))
    brier = (probabilities**2).sum(axis=1) - 2 * probabilities[at_label] + 1
    return probabilities, evidence, best_classes(scores, tolerance, n_threads), log_true, brier


def normalise(scores: Floats, n_threads: int, out: Floats | None = None) -> tuple[Floats, Floats]:
    """Probabilities (rows, classes) of log scores, and the log of each row's sum (rows,).

    A row of -inf alone gives NaN probabilities and evidence -inf. ``out`` is where the probabilities go.

    >>> probabilities, evidence = normalise(np.log([[0.1, 0.3]]), 1)
    >>> probabilities.round(6).tolist(), np.exp(evidence).round(6).tolist()
    ([[0.25, 0.75]], [0.4])
    """
    check_threads(n_threads)
    check_matrix("scores", scores, len(scores))
    if out is not None:
        check_matrix("out", out, *scores.shape)
    top = scores.max(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        shifted = np.exp(scores - np.where(np.isneginf(top), 0.0, top)[:, None])
        total = shifted.sum(axis=1)
        out = np.divide(shifted, total[:, None], out=out)
        return out, top + np.log(np.where(np.isneginf(top), 1.0, total))

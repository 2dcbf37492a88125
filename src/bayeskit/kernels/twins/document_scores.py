"""Scores of documents by two sums over their words, in NumPy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bayeskit.kernels.twins.checks import Floats, check_cells, check_threads
from bayeskit.kernels.twins.tokens import Cut, token_rows
from bayeskit.kernels.twins.word_lists import Bytes, Ids, Offsets, WordIndex


def score_words(
    indptr: Offsets, ids: Ids, counts: Ids, table: Floats, g: float, log_prior: Floats, constant: Floats, n_threads: int
) -> Floats:
    """constant + u^−g Σ [(1 + ln n) A + ln(n) T] + Σ (1 + ln n) B / length of each document (documents, classes).

    Word ``ids[k]`` stands ``counts[k]`` times, k from ``indptr[d]`` to ``indptr[d + 1]``, and u are its different
    words. A row of ``table`` (words, 2 + 3 classes) is 1 for a run of several words and 0 for a single one, the word's
    length, A, B and T. The length of a document is √Σ ((1 + ln n) length)², single words and runs each by themselves.
    Without any word a document has ``log_prior``.

    >>> table = np.array([[0.0, 2.0, 0.5, -0.5, 4.0, 0.0, 1.0, 1.0]])
    >>> nothing = np.zeros(2)
    >>> score_words(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.int32), table, 1.0, nothing, nothing, 1)
    array([[ 2.5, -0.5]])
    """
    check_threads(n_threads)
    check_cells("log_prior", log_prior, "float64", None)
    k, n = len(log_prior), len(indptr) - 1
    check_cells("constant", constant, "float64", k)
    check_cells("table", table, "float64", None, 2 + 3 * k)
    check_cells("ids", ids, "int32", None)
    check_cells("counts", counts, "int32", len(ids))
    check_cells("indptr", indptr, "int64", None)
    if n < 0 or indptr[0] < 0 or indptr[-1] > len(ids) or (np.diff(indptr) < 0).any():
        raise ValueError("indptr does not fit the ids")
    if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < len(table):
        raise ValueError(f"ids reach from {ids.min()} to {ids.max()}, beyond the table's {len(table)} rows")
    if len(counts) and int(counts.min()) < 1:
        raise ValueError(f"counts hold {counts.min()}")
    if k < 1:
        raise ValueError("table is of no classes")
    scores = np.tile(log_prior, (n, 1))
    for d in np.flatnonzero(np.diff(indptr)):
        cells = slice(indptr[d], indptr[d + 1])
        rows, log_count = table[ids[cells]], np.log(counts[cells].astype(np.float64))
        by, u = 1.0 + log_count, float(len(rows))
        said = by @ rows[:, 2 : 2 + k] + log_count @ rows[:, 2 + 2 * k :]
        scores[d] = constant + u**-g * said
        is_run = rows[:, 0] != 0
        for part in (~is_run, is_run):
            total = float(np.square(by * rows[:, 1])[part].sum())
            if total > 0:
                scores[d] += by[part] @ rows[part, 2 + k : 2 + 2 * k] / np.sqrt(total)
    return scores


def score_documents(
    data: Bytes,
    offsets: Offsets,
    cut: Cut,
    known: WordIndex,
    table: Floats,
    g: float,
    log_prior: Floats,
    constant: Floats,
    n_threads: int,
) -> npt.NDArray[np.float64]:
    """:func:`score_words` of documents that are cut into these words; others say nothing."""
    if len(table) != len(known):
        raise ValueError(f"table has {len(table)} rows, not one for each of {len(known)} words")
    rows = token_rows(data, offsets, cut, known, False, n_threads)
    return score_words(rows.indptr, rows.ids, rows.counts, table, g, log_prior, constant, n_threads)

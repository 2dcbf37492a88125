"""Rows scored by every column as the parent of all others."""

from collections.abc import Sequence

import numpy as np

from bayeskit.kernels.twins.checks import (
    Codes,
    Floats,
    check_cells,
    check_codes,
    check_matrix,
    length,
    same_number,
)


def score_parents(
    columns: Sequence[Codes], sizes: Sequence[int], tables: Sequence[Floats], base: Floats, n_threads: int
) -> Floats:
    """Scores (rows, columns, classes) with each column as the parent of all others.

    ``base`` (all slots, classes) is where a parent's value begins, ``tables[p]`` (own slots · all slots,
    classes) what each value of another column adds to each of its own.

    >>> a, b = np.array([1], dtype=np.uint8), np.array([0], dtype=np.uint8)
    >>> base = np.array([[0.0], [-1.0], [-2.0]])                            # a: two slots, b: one
    >>> tables = [np.array([[0.0], [0], [7], [0], [0], [-5]]), np.array([[0.0], [-3], [0]])]
    >>> score_parents([a, b], [2, 1], tables, base, 1).tolist()             # −1 − 5, and −2 − 3
    [[[-6.0], [-5.0]]]
    """
    n = length(columns, n_threads, "codes")
    total = _check_parents(columns, sizes, tables, base)
    starts = np.cumsum([0, *sizes[:-1]])
    out = np.empty((n, len(columns), base.shape[1]))
    for p, column in enumerate(columns):
        parent = column.astype(np.int64)
        score = base[starts[p] + parent]
        for j, other in enumerate(columns):
            if j != p:
                score = score + tables[p][parent * total + starts[j] + other]
        out[:, p] = score
    return out


def score_aode(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    tables: Sequence[Floats],
    base: Floats,
    log_weights: Floats,
    scores: Floats,
    n_threads: int,
) -> None:
    """The logarithm of the weighted mean of `score_parents` over the columns, into scores (rows, classes).

    ``log_weights`` (all slots,) of −inf leave a parent out; a row without any has −inf everywhere.

    >>> a, scores = np.array([1, 0], dtype=np.uint8), np.zeros((2, 1))
    >>> score_aode([a], [2], [np.zeros((4, 1))], np.array([[0.0], [-1.0]]), np.array([-np.inf, 0.0]), scores, 1)
    >>> scores.tolist()
    [[-1.0], [-inf]]
    """
    check_matrix("scores", scores, length(columns, n_threads, "codes", len(scores)))
    total = _check_parents(columns, sizes, tables, base)
    check_cells("log_weights", log_weights, "float64", total)
    if not columns:
        scores[:] = -np.inf
        return
    starts = np.cumsum([0, *sizes[:-1]])
    row_weights = np.stack([log_weights[s + column] for s, column in zip(starts, columns, strict=True)], axis=1)
    terms = score_parents(columns, sizes, tables, base, 1) + row_weights[:, :, None]
    terms[np.isneginf(row_weights)] = -np.inf
    top = terms.max(axis=1)
    top[np.isneginf(top)] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.exp(terms - top[:, None]).sum(axis=1) / np.exp(row_weights).sum(axis=1)[:, None]
        scores[:] = np.where(mean > 0, top + np.log(mean), -np.inf)


def _check_parents(columns: Sequence[Codes], sizes: Sequence[int], tables: Sequence[Floats], base: Floats) -> int:
    check_codes(columns, sizes)
    same_number(columns, tables=tables)
    total = sum(sizes)
    check_matrix("base", base, total)
    for p, table in enumerate(tables):
        check_cells(f"table {p}", table, "float64", sizes[p] * total, base.shape[1])
    return total

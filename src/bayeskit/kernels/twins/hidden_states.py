"""Hidden states of sequences: what is believed of each row, and what is expected to be counted.

``logs`` (rows, states) are ln P(row | state), up to a number of the row; with ``codes`` they are (symbols, states),
and row t is the symbol ``codes[t]``. ``labels`` say what is known of the state of a row: label l leaves those states
open that ``allowed[l]`` marks. Sequence i has the rows ``starts[i]`` to ``starts[i + 1]``. Where the first of them goes
on with one that has begun, ``before`` is ln P(state) of the row before it; where the last goes on, ``after`` is the
logarithm of what follows it, given its last state.

``normals`` are columns of numbers that are normal in each state (states, columns): ``logs`` are then made of them, and
have no rows of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bayeskit.kernels.twins.checks import check_cells, check_kind, check_matrix, check_threads, length

Floats = npt.NDArray[np.float64]
Offsets = npt.NDArray[np.int64]
Codes = npt.NDArray[Any]
Normals = tuple[list[Floats], Floats, Floats, Floats, Floats]  # columns; mean, precision, constant; centre
MOST_STATES = 65536


class Span(NamedTuple):
    """One sequence: which it is, its rows, and their logarithms (rows, states)."""

    i: int
    rows: slice
    logs: Floats


def filter_states(
    logs: Floats,
    codes: Codes | None,
    labels: Codes | None,
    allowed: npt.NDArray[np.uint8] | None,
    normals: tuple[list[Floats], Floats, Floats, Floats, Floats] | None,
    starts: Offsets,
    log_start: Floats,
    log_transition: Floats,
    before: Floats | None,
    every: bool,
    n_threads: int,
) -> tuple[Floats, Offsets, Floats]:
    """(ln P of each sequence, its first row that no path can have, or -1, and ln P(state | the rows up to this one)):
    of every row, or of the last one of each sequence.

    >>> rain, umbrella = np.log([[0.7, 0.3], [0.3, 0.7]]), np.log([[0.9, 0.2], [0.1, 0.8]])
    >>> log_likelihood, _, filtered = filter_states(umbrella, np.array([0, 0], np.uint8), None, None, None,
    ...     np.array([0, 2]), np.log([0.5, 0.5]), rain, None, True, 1)
    >>> np.exp(log_likelihood).round(4).tolist(), np.exp(filtered[:, 0]).round(6).tolist()
    ([0.3515], [0.818182, 0.883357])
    """
    spans, k = checked(
        logs, codes, labels, allowed, normals, starts, log_start, log_transition, before, None, n_threads
    )
    likelihoods, impossible = np.zeros(len(spans)), np.full(len(spans), -1, np.int64)
    filtered = np.zeros((int(starts[-1]) if every else len(spans), k))
    for span in spans:
        first = before if span.i == 0 else None
        if not len(span.logs):
            filtered[slice(0, 0) if every else span.i] = log_start if first is None else first
            continue
        alpha, likelihoods[span.i], impossible[span.i] = forward(span, log_start, log_transition, first)
        if impossible[span.i] >= 0:
            alpha[impossible[span.i] - span.rows.start if every else 0 :] = np.nan
        filtered[span.rows if every else span.i] = alpha if every else alpha[-1]
    return likelihoods, impossible, filtered


def count_states(
    logs: Floats,
    codes: Codes | None,
    labels: Codes | None,
    allowed: npt.NDArray[np.uint8] | None,
    normals: tuple[list[Floats], Floats, Floats, Floats, Floats] | None,
    starts: Offsets,
    log_start: Floats,
    log_transition: Floats,
    before: Floats | None,
    after: Floats | None,
    by_row: bool,
    n_threads: int,
) -> tuple[Floats, Offsets, Floats, Floats, Floats, Floats]:
    """(ln P of each sequence, its first impossible row, or -1, expected starts, expected transitions, P(state) of each
    row or summed by symbol, and the logarithm of what begins with the first row, given the state before it).

    Sequences that are impossible count for nothing.

    >>> rain, umbrella = np.log([[0.7, 0.3], [0.3, 0.7]]), np.log([[0.9, 0.2], [0.1, 0.8]])
    >>> posteriors = count_states(umbrella, np.array([0, 0], np.uint8), None, None, None,
    ...     np.array([0, 2]), np.log([0.5, 0.5]), rain, None, None, True, 1)[4]
    >>> posteriors[:, 0].round(6).tolist()                                      # 621 / 703 on both days
    [0.883357, 0.883357]
    """
    spans, k = checked(
        logs, codes, labels, allowed, normals, starts, log_start, log_transition, before, after, n_threads
    )
    if codes is None and normals is None and not by_row:
        raise ValueError("symbols are counted by their codes, or numbers are summed")
    likelihoods, impossible = np.zeros(len(spans)), np.full(len(spans), -1, np.int64)
    first, transitions, follows = np.zeros(k), np.zeros((k, k)), np.zeros(k)
    posteriors = np.zeros((int(starts[-1]), k))
    for span in spans:
        if not len(span.logs):
            continue
        begun, ends = before if span.i == 0 else None, after if span.i == len(spans) - 1 else None
        alpha, likelihoods[span.i], impossible[span.i] = forward(span, log_start, log_transition, begun)
        if impossible[span.i] >= 0:
            posteriors[span.rows] = np.nan
            continue
        beta, coming = np.zeros(k) if ends is None else ends, np.zeros(k)
        for t in range(len(span.logs) - 1, -1, -1):
            posteriors[span.rows.start + t] = _shares(alpha[t] + beta)
            past = alpha[t - 1] if t else begun
            if past is None:
                first += posteriors[span.rows.start]
                break
            pairs = log_transition + (span.logs[t] + beta)
            transitions += _shares(past[:, None] + pairs)
            coming = log_sums(pairs, axis=1)
            beta = coming - coming.max()
        if begun is not None:
            follows = beta
    if by_row:
        return likelihoods, impossible, first, transitions, posteriors, follows
    if normals is not None:
        numbers = np.stack(weigh_numbers(normals[0], normals[4], np.nan_to_num(posteriors), 1))
        return likelihoods, impossible, first, transitions, numbers, follows
    symbols = np.zeros(logs.shape)
    assert codes is not None
    possible = ~np.isnan(posteriors).any(axis=1)
    np.add.at(symbols, codes[possible].astype(np.int64), posteriors[possible])
    return likelihoods, impossible, first, transitions, symbols, follows


def weigh_numbers(
    columns: Sequence[Floats], centre: Floats, shares: Floats, n_threads: int
) -> tuple[Floats, Floats, Floats]:
    """Σ s, Σ s (x − centre) and Σ s (x − centre)² of rows by their shares, where a number is there: (states, columns).

    >>> weights, first, second = weigh_numbers([np.array([1.0, np.nan, 4.0])], np.array([2.0]),
    ...     np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]]), 1)
    >>> weights.tolist(), first.tolist(), second.tolist()
    ([[1.5], [0.5]], [[0.0], [1.0]], [[3.0], [2.0]])
    """
    check_matrix("shares", shares, len(shares))
    length(columns, n_threads, "floats", len(shares))
    check_cells("centre", centre, "float64", len(columns))
    if not columns:
        empty = np.zeros((shares.shape[1], 0))
        return empty, empty.copy(), empty.copy()
    away = np.column_stack(columns) - centre
    there = ~np.isnan(away)
    away = np.where(there, away, 0.0)
    return shares.T @ there.astype(np.float64), shares.T @ away, shares.T @ away**2


class NormalRow:
    """Columns of numbers that are normal in each state (states, columns), one row at a time.

    >>> both, top = NormalRow(np.array([[0.0], [1.0]]), np.ones((2, 1)), np.zeros((2, 1))).score([1.0])
    >>> both[1].tolist(), top, both[0].round(6).tolist()
    ([-0.5, 0.0], 0.0, [0.606531, 1.0])
    """

    def __init__(self, mean: Floats, precision: Floats, constant: Floats) -> None:
        check_cells("mean", mean, "float64", None, mean.shape[-1] if mean.ndim == 2 else 1)
        if not 1 <= len(mean) <= MOST_STATES:
            raise ValueError(f"mean has {len(mean)} states, not from 1 to {MOST_STATES}")
        for name, table in (("precision", precision), ("constant", constant)):
            check_cells(name, table, "float64", *mean.shape)
        self.tables = mean.copy(), precision.copy(), constant.copy()

    def score(self, cells: Sequence[float]) -> tuple[Floats, float]:
        """((e^(ln P − top), ln P(row | state)) (2, states), top the largest); NaN is left out."""
        mean, precision, constant = self.tables
        if len(cells) != mean.shape[1]:
            raise ValueError(f"a row has {mean.shape[1]} cells")
        terms = constant - 0.5 * precision * (np.array(cells, dtype=np.float64) - mean) ** 2
        logs = np.where(np.isnan(terms), 0.0, terms).sum(axis=1)
        top = float(logs.max())
        return np.stack([np.exp(logs - (top if top > -np.inf else 0.0)), logs]), top


def forward(span: Span, log_start: Floats, log_transition: Floats, before: Floats | None) -> tuple[Floats, float, int]:
    """(ln P(state | the rows up to this one), ln P of all, the first impossible row or -1)"""
    alpha, total = np.full(span.logs.shape, -np.inf), 0.0
    past = None if before is None else before - log_sums(before, axis=0)
    for t, row in enumerate(span.logs):
        now = (log_start if past is None else log_sums(past[:, None] + log_transition, axis=0)) + row
        whole = float(log_sums(now, axis=0))
        if whole == -np.inf:
            return alpha, -np.inf, span.rows.start + t
        alpha[t] = past = now - whole
        total += whole
    return alpha, total, -1


def log_sums(logs: Floats, axis: int) -> Floats:
    """ln Σ e^x along an axis; minus infinity where all are."""
    top = logs.max(axis=axis, keepdims=True)
    with np.errstate(divide="ignore"):
        sums = np.log(np.exp(logs - np.where(np.isfinite(top), top, 0.0)).sum(axis=axis))
    return np.asarray(sums + np.where(np.isfinite(top), top, 0.0).squeeze(axis))


def _shares(logs: Floats) -> Floats:
    """e^x over their sum."""
    shares = np.exp(logs - logs.max())
    return np.asarray(shares / shares.sum())


def checked(
    logs: Floats,
    codes: Codes | None,
    labels: Codes | None,
    allowed: npt.NDArray[np.uint8] | None,
    normals: tuple[list[Floats], Floats, Floats, Floats, Floats] | None,
    starts: Offsets,
    log_start: Floats,
    log_transition: Floats,
    before: Floats | None,
    after: Floats | None,
    n_threads: int,
) -> tuple[list[Span], int]:
    """(the sequences with their logarithms, how many states), if all of it fits together."""
    check_threads(n_threads)
    check_cells("logs", logs, "float64", None, logs.shape[-1] if logs.ndim == 2 else 1)
    k = logs.shape[1]
    if not 1 <= k <= MOST_STATES:
        raise ValueError(f"logs have {k} states, not from 1 to {MOST_STATES}")
    check_cells("log_transition", log_transition, "float64", k, k)
    for name, cells in (("log_start", log_start), ("before", before), ("after", after)):
        if cells is not None:
            check_cells(name, cells, "float64", k)
    if normals is not None:
        logs, codes = _of_normals(normals, logs, codes), None
    n = len(logs) if codes is None else len(codes)
    if codes is not None:
        _check_codes("codes", codes, n, len(logs))
    if (labels is None) != (allowed is None):
        raise ValueError("labels and what they allow come together")
    if labels is not None and allowed is not None:
        check_cells("allowed", allowed, "uint8", None, k)
        _check_codes("labels", labels, n, len(allowed))
    check_cells("starts", starts, "int64", None)
    if not len(starts) or starts[0] != 0 or starts[-1] != n or (np.diff(starts) < 0).any():
        raise ValueError(f"starts do not fit the {n} rows")
    rows = logs if codes is None else logs[codes.astype(np.int64)]
    if labels is not None and allowed is not None:
        rows = np.where(allowed[labels.astype(np.int64)] != 0, rows, -np.inf)
    spans = [slice(int(a), int(b)) for a, b in pairwise(starts)]
    return [Span(i, span, rows[span]) for i, span in enumerate(spans)], k


def _of_normals(normals: Normals, logs: Floats, codes: Codes | None) -> Floats:
    """ln P(row | state) of columns of numbers; NaN is left out."""
    columns, mean, precision, constant, centre = normals
    if codes is not None or len(logs):
        raise ValueError("rows of numbers have no symbols and no logs beside them")
    if not len(columns):
        raise ValueError("there is no column of numbers")
    length(columns, 1, "floats")
    for name, table in (("mean", mean), ("precision", precision), ("constant", constant)):
        check_cells(name, table, "float64", logs.shape[1], len(columns))
    check_cells("centre", centre, "float64", len(columns))
    terms = constant - 0.5 * precision * (np.column_stack(columns)[:, None, :] - mean) ** 2
    return np.asarray(np.where(np.isnan(terms), 0.0, terms).sum(axis=2))


def _check_codes(name: str, codes: Codes, n: int, size: int) -> None:
    check_kind(name, codes, "codes")
    if codes.shape != (n,):
        raise ValueError(f"{name} have shape {codes.shape}, not ({n},)")
    if n and int(codes.max()) >= size:
        raise ValueError(f"{name} reach beyond the {size} there are")

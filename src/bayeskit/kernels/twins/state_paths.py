"""Codess of hidden states: the best one, the k best ones, and paths drawn at random given what was observed.

What all of them take stands in :mod:`bayeskit.kernels.twins.hidden_states`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bayeskit.kernels.twins.checks import check_cells
from bayeskit.kernels.twins.hidden_states import Codes, Floats, Offsets, checked, forward

MOST_PATHS = 65536


def best_states(
    logs: Floats,
    codes: Codes | None,
    labels: Codes | None,
    allowed: npt.NDArray[np.uint8] | None,
    normals: tuple[list[Floats], Floats, Floats, Floats, Floats] | None,
    starts: Offsets,
    log_start: Floats,
    log_transition: Floats,
    before: Floats | None,
    last: int,
    keep: bool,
    n_threads: int,
) -> tuple[Codes | None, Floats, Floats, int]:
    """(the most probable path, ln P(path, rows) of each sequence, that of the best paths to each state of the last row,
    the state before the first row or -1). Of equal ones the last state wins, and the first one at the end of a path.

    Here ``before`` holds what an earlier call gave third, and ``last`` is the last state where the sequence goes on.

    >>> rain, umbrella = np.log([[0.7, 0.3], [0.3, 0.7]]), np.log([[0.9, 0.2], [0.1, 0.8]])
    >>> path, score, _, _ = best_states(umbrella, np.array([0, 0, 1, 0, 0], np.uint8), None, None, None,
    ...     np.array([0, 5]), np.log([0.5, 0.5]), rain, None, -1, True, 1)
    >>> path.tolist(), float(np.exp(score[0]).round(6))
    ([0, 0, 1, 0, 0], 0.011574)
    """
    spans, k = checked(
        logs, codes, labels, allowed, normals, starts, log_start, log_transition, before, None, n_threads
    )
    _check_last(last, k)
    path, came_from = _empty_path(starts, k), -1
    scores, ends = np.zeros(len(spans)), np.zeros(k)
    for span in spans:
        if not len(span.logs):
            continue
        begun = before if span.i == 0 else None
        best = np.empty((len(span.logs) + 1, k))
        best[0] = -np.inf if begun is None else begun
        for t, row in enumerate(span.logs):
            steps = best[t][:, None] + log_transition
            best[t + 1] = (log_start if t == 0 and begun is None else steps.max(axis=0)) + row
        scores[span.i] = best[-1].max()
        state = int(best[-1].argmax())
        if span.i == len(spans) - 1:
            ends, state = best[-1], last if last >= 0 else state
        for t in range(len(span.logs) - 1, -1, -1):
            path[span.rows.start + t] = state
            if t == 0 and begun is None:
                break
            steps = best[t] + log_transition[:, state]
            state = k - 1 - int(steps[::-1].argmax())
        else:
            came_from = state
    return path if keep else None, scores, ends, came_from if keep else -1


def draw_states(
    logs: Floats,
    codes: Codes | None,
    labels: Codes | None,
    allowed: npt.NDArray[np.uint8] | None,
    normals: tuple[list[Floats], Floats, Floats, Floats, Floats] | None,
    starts: Offsets,
    log_start: Floats,
    log_transition: Floats,
    before: Floats | None,
    last: int,
    uniforms: Floats,
    n_threads: int,
) -> tuple[Codes, Floats, int]:
    """(a path drawn from P(path | rows), ln P of each sequence, the state before the first row or -1).

    ``uniforms`` (rows + 1) are numbers from 0 to 1: ``uniforms[t + 1]`` draws the state of row t, the first one that
    before the first row.

    >>> rain, umbrella = np.log([[0.7, 0.3], [0.3, 0.7]]), np.log([[0.9, 0.2], [0.1, 0.8]])
    >>> path, _, _ = draw_states(umbrella, np.array([0, 0], np.uint8), None, None, None,
    ...     np.array([0, 2]), np.log([0.5, 0.5]), rain, None, -1, np.array([0.5, 0.95, 0.9]), 1)
    >>> path.tolist()                                     # .9 is more than .8834, and .95 than P(rain | dry next)
    [1, 1]
    """
    spans, k = checked(
        logs, codes, labels, allowed, normals, starts, log_start, log_transition, before, None, n_threads
    )
    _check_last(last, k)
    check_cells("uniforms", uniforms, "float64", int(starts[-1]) + 1)
    path, came_from, likelihoods = _empty_path(starts, k), -1, np.zeros(len(spans))
    for span in spans:
        begun = before if span.i == 0 else None
        if not len(span.logs):
            continue
        alpha, likelihoods[span.i], impossible = forward(span, log_start, log_transition, begun)
        if impossible >= 0:
            continue
        forced = last if span.i == len(spans) - 1 else -1
        state = forced if forced >= 0 else _drawn(alpha[-1], uniforms[span.rows.stop])
        for t in range(len(span.logs) - 1, -1, -1):
            path[span.rows.start + t] = state
            past = alpha[t - 1] if t else begun
            if past is None:
                break
            state = _drawn(past + log_transition[:, state], uniforms[span.rows.start + t])
        else:
            came_from = state
    return path, likelihoods, came_from


def k_best_states(
    logs: Floats,
    codes: Codes | None,
    labels: Codes | None,
    allowed: npt.NDArray[np.uint8] | None,
    normals: tuple[list[Floats], Floats, Floats, Floats, Floats] | None,
    starts: Offsets,
    log_start: Floats,
    log_transition: Floats,
    k: int,
    n_threads: int,
) -> tuple[Codes, Floats]:
    """(the k most probable paths (k, rows), their ln P(path, rows) (sequences, k)), −∞ where there are fewer.

    >>> rain, umbrella = np.log([[0.7, 0.3], [0.3, 0.7]]), np.log([[0.9, 0.2], [0.1, 0.8]])
    >>> paths, scores = k_best_states(umbrella, np.array([0, 1], np.uint8), None, None, None,
    ...     np.array([0, 2]), np.log([0.5, 0.5]), rain, 3, 1)
    >>> paths.tolist(), np.exp(scores).round(4).tolist()
    ([[0, 1], [1, 1], [0, 0]], [[0.108, 0.056, 0.0315]])
    """
    spans, n_states = checked(
        logs, codes, labels, allowed, normals, starts, log_start, log_transition, None, None, n_threads
    )
    if not 1 <= k <= MOST_PATHS:
        raise ValueError(f"k is {k}, not from 1 to {MOST_PATHS}")
    paths = np.zeros((k, int(starts[-1])), _path_type(n_states))
    scores = np.full((len(spans), k), -np.inf)
    for span in spans:
        if not len(span.logs):
            scores[span.i, 0] = 0.0
            continue
        best = np.full((n_states, k), -np.inf)
        best[:, 0] = log_start + span.logs[0]
        came = []
        for row in span.logs[1:]:
            steps = (best[:, :, None] + log_transition[:, None, :]).reshape(n_states * k, n_states)
            order = np.argsort(-steps, axis=0, kind="stable")[:k].T  # of equals the first state, and the better path
            came.append(order)
            best = np.take_along_axis(steps.T, order, axis=1) + row[:, None]
        order = np.argsort(-best.ravel(), kind="stable")[:k]
        for rank, at in enumerate(order.tolist()):
            scores[span.i, rank] = best.ravel()[at]
            if best.ravel()[at] == -np.inf:
                continue
            for t in range(len(span.logs) - 1, -1, -1):
                paths[rank, span.rows.start + t] = at // k
                if t:
                    at = int(came[t - 1][at // k, at % k])
    return paths, scores


def _path_type(k: int) -> str:
    return "uint8" if k <= 256 else "uint16"


def _empty_path(starts: Offsets, k: int) -> Codes:
    return np.zeros(int(starts[-1]), _path_type(k))


def _check_last(last: int, k: int) -> None:
    if not -1 <= last < k:
        raise ValueError("last is no state")


def _drawn(logs: Floats, uniform: float) -> int:
    """A state drawn by its weight; the first one where a last state was given that no path ends in."""
    if logs.max() == -np.inf:
        return 0
    weights = np.exp(logs - logs.max())
    reached = np.cumsum(weights)
    possible = np.flatnonzero(weights > 0)
    return int(
        possible[min(int(np.searchsorted(reached[possible], uniform * reached[-1], "right")), len(possible) - 1)]
    )

"""Logistic regression with a ridge penalty on words, over scores that are given: dual coordinate descent."""

import numpy as np
from numpy.typing import NDArray

from bayeskit.kernels.twins.checks import Floats, check_cells, check_labels
from bayeskit.kernels.twins.scoring import normalise
from bayeskit.kernels.twins.topics import mixed

Singles = NDArray[np.float32]
STEPS, CLOSE = 25, 1e-3
LEAST = 1e-30  # of q C: below it a document moves no score


def fit_ridge_logistic(
    start: NDArray[np.int64],
    words: NDArray[np.uint32],
    values: Singles,
    offsets: Singles,
    labels: NDArray[np.uint32],
    costs: Singles,
    n_classes: int,
    visited: NDArray[np.int64],
    table: Singles,
    beta: Singles,
    seed: int,
    stop: float,
    most_rounds: int,
) -> tuple[Singles, Singles, int]:
    """(table, beta, rounds): W that minimises ∥W∥²/2 − Σ_i cost_i ln softmax_{y_i}(offset_i + W x_i).

    x_i are the values of the words of document i, from ``start[i]`` to ``start[i + 1]``, and a constant 1, whose
    weights are the last row of the table. W = Σ_i x_i beta_i' with beta_i = cost_i (e_{y_i} − p_i): the documents
    ``visited`` come one after the other, in each round in another order, and beta_i is made the best for all others
    given; until in a round Σ∣change∣ is at most ``stop`` of Σ∣beta∣. ``table`` and ``beta`` are where it starts. Rows
    of classes have their number rounded up to a multiple of 8 as width; of two classes the width is 1, the log odds of
    the second against the first, and ∥w∥²/2 is the penalty of these.

    >>> one = np.ones((1, 1), np.float32)
    >>> table, beta, rounds = fit_ridge_logistic(
    ...     np.array([0, 1]), np.zeros(1, np.uint32), one[0], 0 * one, np.ones(1, np.uint32), one[0], 2,
    ...     np.zeros(1, np.int64), np.zeros((2, 1), np.float32), 0 * one, 0, 0.0, 1)
    >>> table.astype(float).round(3).tolist()
    [[0.337], [0.337]]
    """
    n, width = len(labels), 1 if n_classes == 2 else -(-n_classes // 8) * 8
    if not 2 <= n_classes <= 65535 or not 0 <= most_rounds <= 1000:
        raise ValueError(f"n_classes is {n_classes} and most_rounds {most_rounds}")
    check_labels(labels, n_classes, n)
    check_cells("table", table, "float32", None, width)
    check_cells("words", words, "uint32", None)
    check_cells("visited", visited, "int64", None)
    for name, array, dtype, shape in (
        ("start", start, "int64", (n + 1,)), ("values", values, "float32", words.shape),
        ("offsets", offsets, "float32", (n, width)), ("costs", costs, "float32", (n,)),
        ("beta", beta, "float32", (n, width)),
    ):  # fmt: skip
        check_cells(name, array, dtype, *shape)
    if not len(table) or (len(words) and int(words.max()) >= len(table) - 1):
        raise ValueError("a word has no row in the table, or the constant has none")
    if (np.diff(start) < 0).any() or start[0] < 0 or start[-1] > len(words):
        raise ValueError("the words of a document start behind their end")
    if len(visited) and (visited.min() < 0 or visited.max() >= n):
        raise ValueError("visited names a document that is not there")
    table, beta, order = table.copy(), beta.copy(), visited.copy()
    solve = _best_odds if n_classes == 2 else _best_scores
    k = 1 if n_classes == 2 else n_classes
    for rounds in range(1, most_rounds + 1):
        change, size, seed = 0.0, 0.0, _shuffle(order, seed)
        for i in order:
            at = np.append(words[start[i] : start[i + 1]], len(table) - 1)
            x = np.append(values[start[i] : start[i + 1]], np.float32(1))
            score = (offsets[i] + x @ table[at])[:k].astype(np.float64)
            best = solve(score, beta[i, :k].astype(np.float64), int(labels[i]), float(x @ x), float(costs[i]))
            by = best - beta[i, :k]
            beta[i, :k] = best
            np.add.at(table, (at[:, None], np.arange(k)), x[:, None] * by)
            change, size = change + float(np.abs(by).sum()), size + float(np.abs(best).sum())
        if not change > stop * size:
            return table, beta, rounds
    return table, beta, most_rounds


def _shuffle(order: NDArray[np.int64], stream: int) -> int:
    """Put the documents into another order (Fisher and Yates), by a stream of numbers that goes on from here."""
    for left in range(len(order), 1, -1):
        stream = (stream + 0x9E3779B97F4A7C15) % 2**64
        at = (mixed(stream) >> 32) * left >> 32
        order[left - 1], order[at] = order[at], order[left - 1]
    return stream


def _best_odds(score: Floats, beta: Floats, label: int, q: float, cost: float) -> Floats:
    """C σ(−s) where s = z + q C σ(−s), for the log odds of the own class; with the sign of those of the second."""
    sign = 1.0 if label else -1.0
    z = float(sign * (score - q * beta)[0])
    low, high = z, z + q * cost
    for _ in range(60):
        s = (low + high) / 2
        low, high = (low, s) if s - z > q * cost * _wrong(s) else (s, high)
    return np.array([sign * cost * _wrong((low + high) / 2)])


def _wrong(s: float) -> float:
    """σ(−s)."""
    return float(normalise(np.array([[s, 0.0]]), 1)[0][0, 1])


def _best_scores(score: Floats, beta: Floats, label: int, q: float, cost: float) -> Floats:
    """C (e_y − p) where s = z + q C (e_y − p), p = softmax(s), by damped Newton steps."""
    z, s, own = score - q * beta, score, np.eye(len(score))[label]
    reach = max(q * cost, LEAST)
    for _ in range(STEPS):
        p = normalise(s[None], 1)[0][0]
        hessian = np.eye(len(s)) / reach + np.diag(p) - np.outer(p, p)
        d = np.linalg.solve(hessian, (z - s) / reach + own - p)
        spread = np.ptp(d)
        s = s + d * (np.log1p(spread) / spread if spread > 1e-4 else 1.0)
        if not spread > CLOSE:
            break
    return np.asarray(cost * (own - normalise(s[None], 1)[0][0]))

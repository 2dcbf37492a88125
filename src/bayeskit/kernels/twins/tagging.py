"""Tags for the words of sentences: candidates by a tree of beliefs, and the best path through them."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bayeskit.kernels.twins.checks import check_cells, check_threads

Floats = npt.NDArray[np.float64]
Offsets = npt.NDArray[np.int64]
Ids = npt.NDArray[np.int32]


def tree_candidates(
    depth: Ids, weight: Floats, indptr: Offsets, states: Ids, counts: Floats, base: Floats, within: float
) -> tuple[Offsets, Ids, Floats]:
    """(indptr, states, scores) of what each node of a tree believes, the states far below its best left out.

    Nodes stand in depth-first order, those of depth 0 below the base. A node that has counts c of n believes
    P = (c + m · P_parent) / (n + m), m its weight, and P_parent where n + m is nothing. Kept are the states with
    ln P ≥ max ln P − ``within``, by rising state, and their scores ln P − ln P_base.

    >>> indptr, states, scores = tree_candidates(np.array([0, 1], np.int32), np.array([1.0, 1.0]), np.array([0, 1, 2]),
    ...     np.array([0, 1], np.int32), np.array([3.0, 1.0]), np.array([0.5, 0.5]), 7.0)
    >>> indptr.tolist(), states.tolist(), np.exp(scores).round(4).tolist()
    ([0, 2, 4], [0, 1, 0, 1], [1.75, 0.25, 0.875, 1.125])
    """
    n, n_states = _check_tree(depth, weight, indptr, states, counts, base)
    beliefs = np.empty((n_deepest(depth) + 2, n_states))
    beliefs[0] = base
    ends, kept, scores = np.zeros(n + 1, np.int64), [], []
    with np.errstate(divide="ignore"):
        log_base = np.log(base)
        for i in range(n):
            own = slice(indptr[i], indptr[i + 1])
            total = counts[own].sum() + weight[i]
            belief = beliefs[depth[i] + 1]
            if total > 0:
                np.multiply(beliefs[depth[i]], weight[i], out=belief)
                belief[states[own]] += counts[own]
                belief /= total
            else:
                belief[:] = beliefs[depth[i]]
            logs = np.log(belief)
            some = np.flatnonzero(logs >= logs.max() - within)
            kept.append(some.astype(np.int32))
            scores.append((logs - log_base)[some])
            ends[i + 1] = ends[i] + len(some)
    return ends, np.concatenate([np.zeros(0, np.int32), *kept]), np.concatenate([np.zeros(0), *scores])


def n_deepest(depth: Ids) -> int:
    """The depth of the deepest node, -1 where there is none."""
    return int(depth.max(initial=-1))


def _check_tree(
    depth: Ids, weight: Floats, indptr: Offsets, states: Ids, counts: Floats, base: Floats
) -> tuple[int, int]:
    check_cells("depth", depth, "int32", None)
    n = len(depth)
    check_cells("weight", weight, "float64", n)
    check_cells("indptr", indptr, "int64", n + 1)
    check_cells("states", states, "int32", None)
    check_cells("counts", counts, "float64", len(states))
    check_cells("base", base, "float64", None)
    if n and (depth[0] != 0 or (depth < 0).any() or (np.diff(depth) > 1).any()):
        raise ValueError("depth is no depth-first order")
    check_indptr("indptr", indptr, len(states))
    if len(states) and not 0 <= int(states.min()) <= int(states.max()) < len(base):
        raise ValueError(f"states reach beyond the {len(base)} of the base")
    return n, len(base)


def check_indptr(name: str, indptr: Offsets, size: int) -> None:
    """Refuse offsets that do not cut ``size`` cells into parts."""
    if indptr[0] != 0 or indptr[-1] != size or (np.diff(indptr) < 0).any():
        raise ValueError(f"{name} does not fit the {size} cells")


def slot_of(states: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Where a state is looked for first among the slots of a pair, modulo their number."""
    return (states * 2654435769 & 0xFFFFFFFF) >> 16


class Transitions(NamedTuple):
    """ln P(c | a, b) of states, the mark of the start as a or b, and that of the end as c, being state S.

    ``pairs`` (S + 1, S + 1) holds it for what was not seen after (a, b), by b and c; ``contexts`` (S + 1, S + 1) the
    number of the pair (a, b), or -1, and the pair i was followed by ``successors[indptr[i]:indptr[i + 1]]``: slots by
    :func:`slot_of`, a power of two of them, those that are free holding -1.
    """

    pairs: Floats
    contexts: Ids
    indptr: Offsets
    successors: Ids
    logs: Floats


def best_tags(
    first: Offsets,
    last: Offsets,
    starts: Offsets,
    states: Ids,
    scores: Floats,
    pairs: Floats,
    contexts: Ids,
    indptr: Offsets,
    successors: Ids,
    logs: Floats,
    n_threads: int,
) -> tuple[Ids, Floats]:
    """The most probable states of the words of each sentence, and the score of the path; the first of equals.

    Word i may be in ``states[first[i]:last[i]]``, which score ``scores``; sentence s has the words starts[s] to
    starts[s + 1]; the rest is :class:`Transitions`.

    >>> flat = np.log(np.full((3, 3), 1 / 3))
    >>> path, score = best_tags(np.array([0, 0]), np.array([2, 2]), np.array([0, 2]), np.array([0, 1], np.int32),
    ...     np.log([0.4, 0.6]), flat, np.full((3, 3), -1, np.int32), np.array([0]), np.zeros(0, np.int32),
    ...     np.zeros(0), 1)
    >>> path.tolist(), np.exp(score).round(4).tolist()
    ([1, 1], [0.0133])
    """
    check_threads(n_threads)
    _check_words(first, last, starts, states, scores)
    _check_transitions(pairs, contexts, indptr, successors, logs, states)
    end = len(pairs) - 1
    rows = [
        {c: log for c, log in zip(successors[a:b].tolist(), logs[a:b].tolist(), strict=True) if c >= 0}
        for a, b in pairwise(indptr.tolist())
    ]

    def log_of(a: int, b: int, c: int) -> float:
        row = contexts[a, b]
        found = rows[row].get(c) if row >= 0 else None
        return float(pairs[b, c]) if found is None else found

    path, totals = np.zeros(len(first), np.int32), np.zeros(len(starts) - 1)
    for s in range(len(starts) - 1):
        if starts[s] == starts[s + 1]:
            totals[s] = log_of(end, end, end)
            continue
        before = {(end, end): 0.0}
        came: list[dict[tuple[int, int], int]] = []
        for i in range(starts[s], starts[s + 1]):
            own = slice(first[i], last[i])
            now: dict[tuple[int, int], float] = {}
            came_from: dict[tuple[int, int], int] = {}
            for (a, b), score in before.items():
                for c, gain in zip(states[own].tolist(), scores[own].tolist(), strict=True):
                    reached = score + log_of(a, b, c) + gain
                    if (b, c) not in now or reached > now[b, c]:
                        now[b, c], came_from[b, c] = reached, a
            before = now
            came.append(came_from)
        ending = {pair: score + log_of(*pair, end) for pair, score in before.items()}
        a, b = max(sorted(ending), key=ending.__getitem__)
        totals[s] = ending[a, b]
        for i in range(starts[s + 1] - 1, starts[s] - 1, -1):
            path[i] = b
            a, b = came[i - starts[s]][a, b], a
    return path, totals


def _check_words(first: Offsets, last: Offsets, starts: Offsets, states: Ids, scores: Floats) -> None:
    check_cells("first", first, "int64", None)
    check_cells("last", last, "int64", len(first))
    check_cells("starts", starts, "int64", None)
    check_cells("states", states, "int32", None)
    check_cells("scores", scores, "float64", len(states))
    if not len(starts):
        raise ValueError("starts is empty")
    check_indptr("starts", starts, len(first))
    if len(first) and not (int(first.min()) >= 0 and int(last.max()) <= len(states) and bool((first < last).all())):
        raise ValueError("a word has no candidates, or some beyond the list")


def _check_transitions(
    pairs: Floats, contexts: Ids, indptr: Offsets, successors: Ids, logs: Floats, states: Ids
) -> None:
    check_cells("pairs", pairs, "float64", None, len(pairs))
    check_cells("contexts", contexts, "int32", len(pairs), len(pairs))
    check_cells("indptr", indptr, "int64", None)
    check_cells("successors", successors, "int32", None)
    check_cells("logs", logs, "float64", len(successors))
    if not len(pairs) or not len(indptr):
        raise ValueError("pairs or indptr is empty")
    check_indptr("indptr", indptr, len(successors))
    sizes = np.diff(indptr)
    if (sizes & (sizes - 1)).any():
        raise ValueError("the slots of a pair of states are no power of two")
    if not -1 <= int(contexts.min()) <= int(contexts.max()) < len(indptr) - 1:
        raise ValueError("contexts reach beyond indptr")
    if len(states) and not 0 <= int(states.min()) <= int(states.max()) < len(pairs) - 1:
        raise ValueError(f"states reach beyond the {len(pairs) - 1} of the pairs")

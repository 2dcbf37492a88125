"""Hidden states of sequences, in logarithms throughout; tags of words.

``chain`` stands for the arguments that all kernels of sequences take: logs, codes, labels, allowed, normals, starts,
log_start and log_transition.
"""

from itertools import pairwise

import numpy as np

from .tables import weigh_numbers


def sequences_of(logs, codes, labels, allowed, normals, starts, **_):
    """ln P(row | state) of the rows of each sequence: (first row, (rows, states))."""
    if normals is not None:
        columns, mean, precision, constant, _ = normals
        terms = constant - 0.5 * precision * (np.column_stack(columns)[:, None, :] - mean) ** 2
        logs, codes = np.where(np.isnan(terms), 0.0, terms).sum(axis=2), None
    rows = logs if codes is None else logs[codes.astype(np.int64)]
    if labels is not None:
        rows = np.where(allowed[labels.astype(np.int64)] != 0, rows, -np.inf)
    return [(int(a), rows[a:b]) for a, b in pairwise(starts)]


def log_sums(logs, axis):
    """ln Σ e^x along an axis; −inf where all are."""
    with np.errstate(divide="ignore"):
        return np.logaddexp.reduce(logs, axis=axis)


def forward(rows, log_start, log_transition, before):
    """(ln P(state | rows so far), ln P of all rows, the first impossible row or −1)."""
    alpha, total = np.full(rows.shape, -np.inf), 0.0
    past = None if before is None else before - log_sums(before, 0)
    for t, row in enumerate(rows):
        now = row + (log_start if past is None else log_sums(past[:, None] + log_transition, 0))
        whole = float(log_sums(now, 0))
        if whole == -np.inf:
            return alpha, -np.inf, t
        alpha[t] = past = now - whole
        total += whole
    return alpha, total, -1


def filter_states(*, before, every, n_threads, **chain):
    sequences, k = sequences_of(**chain), len(chain["log_start"])
    likelihoods, impossible = np.zeros(len(sequences)), np.full(len(sequences), -1, np.int64)
    filtered = np.zeros((int(chain["starts"][-1]) if every else len(sequences), k))
    for i, (first, rows) in enumerate(sequences):
        begun = before if i == 0 else None
        if not len(rows):
            filtered[slice(0, 0) if every else i] = chain["log_start"] if begun is None else begun
            continue
        alpha, likelihoods[i], bad = forward(rows, chain["log_start"], chain["log_transition"], begun)
        if bad >= 0:
            impossible[i] = first + bad
            alpha[bad if every else 0 :] = np.nan
        filtered[slice(first, first + len(rows)) if every else i] = alpha if every else alpha[-1]
    return likelihoods, impossible, filtered


def count_states(*, before, after, by_row, n_threads, **chain):
    sequences, k, transition = sequences_of(**chain), len(chain["log_start"]), chain["log_transition"]
    likelihoods, impossible = np.zeros(len(sequences)), np.full(len(sequences), -1, np.int64)
    starts, moves, follows = np.zeros(k), np.zeros((k, k)), np.zeros(k)
    posteriors = np.zeros((int(chain["starts"][-1]), k))
    for i, (first, rows) in enumerate(sequences):
        begun = before if i == 0 else None
        beta = np.zeros(k) if after is None or i < len(sequences) - 1 else after
        alpha, likelihoods[i], bad = forward(rows, chain["log_start"], transition, begun)
        if bad >= 0:
            impossible[i], posteriors[first : first + len(rows)] = first + bad, np.nan
            continue
        for t in range(len(rows) - 1, -1, -1):
            posteriors[first + t] = _shares(alpha[t] + beta)
            past = alpha[t - 1] if t else begun
            if past is None:
                starts += posteriors[first]
                break
            pairs = transition + (rows[t] + beta)
            moves += _shares(past[:, None] + pairs)
            beta = log_sums(pairs, 1)
            beta = beta - beta.max()
        if begun is not None and len(rows):
            follows = beta
    emissions = posteriors
    if not by_row and chain["normals"] is not None:
        columns, center = chain["normals"][0], chain["normals"][4]
        emissions = np.stack(weigh_numbers(columns, center, np.nan_to_num(posteriors), 1))
    elif not by_row:
        emissions = np.zeros(chain["logs"].shape)
        np.add.at(emissions, chain["codes"], np.nan_to_num(posteriors))
    return likelihoods, impossible, starts, moves, emissions, follows


def _shares(logs):
    shares = np.exp(logs - logs.max())
    return shares / shares.sum()


def best_states(*, before, last, keep, n_threads, **chain):
    sequences, k, transition = sequences_of(**chain), len(chain["log_start"]), chain["log_transition"]
    path, came_from = np.zeros(int(chain["starts"][-1]), _path_type(k)), -1
    scores, ends = np.zeros(len(sequences)), np.zeros(k)
    for i, (first, rows) in enumerate(sequences):
        if not len(rows):
            continue
        best = [before if i == 0 else None]
        for row in rows:
            best.append(
                row + (chain["log_start"] if best[-1] is None else (best[-1][:, None] + transition).max(axis=0))
            )
        scores[i], state = best[-1].max(), int(best[-1].argmax())
        if i == len(sequences) - 1:
            ends, state = best[-1], last if last >= 0 else state
        for t in range(len(rows) - 1, -1, -1):
            path[first + t] = state
            if best[t] is None:
                break
            state = k - 1 - int((best[t] + transition[:, state])[::-1].argmax())  # of equals the last
        else:
            came_from = state
    return path if keep else None, scores, ends, came_from if keep else -1


def draw_states(*, before, last, uniforms, n_threads, **chain):
    sequences, k, transition = sequences_of(**chain), len(chain["log_start"]), chain["log_transition"]
    path, came_from, likelihoods = np.zeros(int(chain["starts"][-1]), _path_type(k)), -1, np.zeros(len(sequences))
    for i, (first, rows) in enumerate(sequences):
        begun = before if i == 0 else None
        alpha, likelihoods[i], bad = forward(rows, chain["log_start"], transition, begun)
        if bad >= 0 or not len(rows):
            continue
        forced = i == len(sequences) - 1 and last >= 0
        state = last if forced else _drawn(alpha[-1], uniforms[first + len(rows)])
        for t in range(len(rows) - 1, -1, -1):
            path[first + t] = state
            past = alpha[t - 1] if t else begun
            if past is None:
                break
            state = _drawn(past + transition[:, state], uniforms[first + t])
        else:
            came_from = state
    return path, likelihoods, came_from


def _drawn(logs, uniform):
    """The state that a uniform number draws; 0 if no state is possible."""
    weights = _shares(logs) if logs.max() > -np.inf else np.zeros(len(logs))
    possible = np.flatnonzero(weights)
    at = np.searchsorted(np.cumsum(weights)[possible], uniform * weights.sum(), "right") if len(possible) else 0
    return int(possible[min(int(at), len(possible) - 1)]) if len(possible) else 0


def k_best_states(*, k, n_threads, **chain):
    sequences, n_states = sequences_of(**chain), len(chain["log_start"])
    paths = np.zeros((k, int(chain["starts"][-1])), _path_type(n_states))
    scores = np.full((len(sequences), k), -np.inf)
    for i, (first, rows) in enumerate(sequences):
        # The k best paths to each state as (−score, path reversed): of equals the first state at every step.
        best = (
            [[(0.0, ())]] if not len(rows) else [[(-(chain["log_start"] + rows[0])[s], (s,))] for s in range(n_states)]
        )
        for row in rows[1:]:
            best = [
                sorted(
                    ((p - chain["log_transition"][way[-1], s], way) for ways in best for p, way in ways),
                    key=lambda one: one[0],
                )[:k]
                for s in range(n_states)
            ]
            best = [[(p - row[s], (*way, s)) for p, way in ways] for s, ways in enumerate(best)]
        ranked = sorted((one for ways in best for one in ways), key=lambda one: one[0])[:k]
        for rank, (p, way) in enumerate(ranked):
            scores[i, rank] = -p
            if p < np.inf:
                paths[rank, first : first + len(rows)] = way
    return paths, scores


def _path_type(k):
    return "uint8" if k <= 256 else "uint16"


class NormalRow:
    """
    >>> both, top = NormalRow(np.array([[0.0], [1.0]]), np.ones((2, 1)), np.zeros((2, 1))).score([1.0])
    >>> both[1].tolist(), top, both[0].round(6).tolist()
    ([-0.5, 0.0], 0.0, [0.606531, 1.0])
    """

    def __init__(self, mean, precision, constant):
        self.mean, self.precision, self.constant = mean, precision, constant

    def score(self, cells):
        terms = self.constant - 0.5 * self.precision * (np.array(cells, dtype=np.float64) - self.mean) ** 2
        logs = np.where(np.isnan(terms), 0.0, terms).sum(axis=1)
        top = float(logs.max())
        return np.stack([np.exp(logs - (top if top > -np.inf else 0.0)), logs]), top


def tree_candidates(depth, weight, indptr, states, counts, base, within):
    """
    >>> indptr, states, scores = tree_candidates(np.array([0, 1], np.int32), np.array([1.0, 1.0]), np.array([0, 1, 2]),
    ...     np.array([0, 1], np.int32), np.array([3.0, 1.0]), np.array([0.5, 0.5]), 7.0)
    >>> indptr.tolist(), states.tolist(), np.exp(scores).round(4).tolist()
    ([0, 2, 4], [0, 1, 0, 1], [1.75, 0.25, 0.875, 1.125])
    """
    above, ends, kept, scores = {-1: base}, [0], [], []
    for i, level in enumerate(depth.tolist()):
        own = slice(indptr[i], indptr[i + 1])
        count = np.bincount(states[own], counts[own], len(base))
        total = count.sum() + weight[i]
        above[level] = (count + weight[i] * above[level - 1]) / total if total > 0 else above[level - 1]
        with np.errstate(divide="ignore"):
            logs = np.log(above[level])
            some = np.flatnonzero(logs >= logs.max() - within)
            kept += some.tolist()
            scores += (logs - np.log(base))[some].tolist()
        ends.append(len(kept))
    return np.array(ends, dtype=np.int64), np.array(kept, dtype=np.int32), np.array(scores, dtype=np.float64)


def best_tags(first, last, starts, states, scores, pairs, contexts, indptr, successors, logs, n_threads):
    """
    >>> flat = np.log(np.full((3, 3), 1 / 3))
    >>> path, score = best_tags(np.array([0, 0]), np.array([2, 2]), np.array([0, 2]), np.array([0, 1], np.int32),
    ...     np.log([0.4, 0.6]), flat, np.full((3, 3), -1, np.int32), np.array([0]), np.zeros(0, np.int32),
    ...     np.zeros(0), 1)
    >>> path.tolist(), np.exp(score).round(4).tolist()
    ([1, 1], [0.0133])
    """
    end = len(pairs) - 1

    def log_of(a, b, c):
        slots = slice(indptr[contexts[a, b]], indptr[contexts[a, b] + 1]) if contexts[a, b] >= 0 else slice(0)
        found = np.flatnonzero(successors[slots] == c)
        return float(logs[slots][found[0]] if len(found) else pairs[b, c])

    path, totals = np.zeros(len(first), np.int32), np.zeros(len(starts) - 1)
    for s, (begin, stop) in enumerate(pairwise(starts.tolist())):
        best = {(end, end): (0.0, ())}  # of the last two states: (score, path)
        for i in range(begin, stop):
            now = {}
            for (a, b), (score, way) in best.items():
                for j in range(first[i], last[i]):
                    c = int(states[j])
                    reached = score + log_of(a, b, c) + float(scores[j])
                    if (b, c) not in now or reached > now[b, c][0]:
                        now[b, c] = reached, (*way, c)
            best = now
        ending = {pair: score + log_of(*pair, end) for pair, (score, _) in best.items()}
        chosen = max(sorted(ending), key=ending.__getitem__)
        totals[s], path[begin:stop] = ending[chosen], best[chosen][1]
    return path, totals

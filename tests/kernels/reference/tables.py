"""Codes, counts, moments and cut points of columns."""

import itertools
import math
from fractions import Fraction

import numpy as np

SIZE_LIMIT = 1e150
UNIT = 2**1100


def int_ranges(columns, n_threads):
    """
    >>> [ends.tolist() for ends in int_ranges([np.array([3, 1, 2]), np.array([7, 7, 7])], 1)]
    [[1, 7], [3, 7]]
    """
    low, high = [int(column.min()) for column in columns], [int(column.max()) for column in columns]
    return np.array(low, dtype=np.int64), np.array(high, dtype=np.int64)


def lookup_codes(columns, lo, tables, unseen, n_threads):
    """
    >>> table = np.array([1, 0, 2], dtype=np.uint32)  # 10 -> 1, 12 -> 2
    >>> lookup_codes([np.array([10, 12, 99])], np.array([10]), [table], np.array([3], dtype=np.uint32), 1)
    [array([1, 2, 3], dtype=uint8)]
    """
    coded = []
    for column, low, table, other in zip(columns, lo.tolist(), tables, unseen.tolist(), strict=True):
        places = [int(x) - low for x in column]
        codes = [int(table[at]) if 0 <= at < len(table) else other for at in places]
        coded.append(np.array(codes, dtype=np.min_scalar_type(max(int(table.max(initial=0)), other))))
    return coded


def hash_numbers(columns, factors, n_threads):
    """
    >>> hash_numbers([np.array([0.0, -0.0])], np.array([3], dtype=np.uint64), 1).tolist()
    [0, 0]
    """
    if not columns:
        return np.zeros(0, np.uint64)
    cells = np.stack(columns, axis=1) + 0.0
    bits = np.where(np.isnan(cells), np.nan, cells).view(np.uint64)
    return ((bits ^ bits >> np.uint64(32)) * factors).sum(axis=1, dtype=np.uint64)


def bin_codes(columns, cuts, n_threads):
    """
    >>> bin_codes([np.array([0.5, 1.0, 1.5, np.nan])], [np.array([1.0])], 1)
    [array([1, 1, 2, 0], dtype=uint8)]
    """
    return [
        np.where(np.isnan(x), 0, 1 + np.searchsorted(at, x, side="left")).astype(np.min_scalar_type(len(at) + 1))
        for x, at in zip(columns, cuts, strict=True)
    ]


def in_sets(columns, sizes, sets):
    """
    >>> in_sets([np.array([0, 1]), np.array([2, 1])], [2, 3], [[1], [0, 1]])
    [(array([2, 1]), 3), (array([2, 4]), 6)]
    """
    shapes = [[sizes[j] for j in one] for one in sets]
    cells = [np.ravel_multi_index([columns[j] for j in one], s) for one, s in zip(sets, shapes, strict=True)]
    return list(zip(cells, map(math.prod, shapes), strict=True))


def count_codes(columns, sizes, labels, n_classes, weights, n_threads, sets=None):
    """
    >>> codes, labels = np.array([1, 2, 1], dtype=np.uint8), np.array([0, 0, 1], dtype=np.uint8)
    >>> count_codes([codes], [3], labels, 2, None, 1)[0].tolist()
    [[0, 1, 1], [0, 1, 0]]
    """
    if sets is not None:
        columns, sizes = zip(*in_sets(columns, sizes, sets), strict=True) if len(sets) else ((), ())
    tables = [np.zeros((n_classes, size), np.int64 if weights is None else np.float64) for size in sizes]
    for column, table in zip(columns, tables, strict=True):
        np.add.at(table, (labels, column), 1 if weights is None else weights)
    return tables


def count_responsibilities(columns, sizes, responsibilities, n_threads, sets=None):
    """
    >>> shares = np.array([[1.0, 0.0], [0.25, 0.75]])
    >>> count_responsibilities([np.array([1, 1], dtype=np.uint8)], [2], shares, 1)[0].tolist()
    [[0.0, 1.25], [0.0, 0.75]]
    """
    if sets is not None:
        columns, sizes = zip(*in_sets(columns, sizes, sets), strict=True) if len(sets) else ((), ())
    tables = [np.zeros((responsibilities.shape[1], size)) for size in sizes]
    for column, table in zip(columns, tables, strict=True):
        np.add.at(table.T, column, responsibilities)
    return tables


def count_pairs(columns, sizes, labels, n_classes, n_threads):
    """
    >>> a, b = np.array([0, 1, 1], dtype=np.uint8), np.array([1, 0, 1], dtype=np.uint8)
    >>> count_pairs([a, b], [2, 2], np.array([0, 0, 1], dtype=np.uint8), 2, 1).tolist()
    [[0, 1, 1, 0], [0, 0, 0, 1]]
    """
    pairs = list(itertools.combinations(range(len(columns)), 2))
    tables = count_codes(columns, sizes, labels, n_classes, None, n_threads, pairs)
    return np.concatenate([np.zeros((n_classes, 0), np.int64), *tables], axis=1)


def factor_codes(columns, sizes):
    """
    >>> [part.tolist() for part in factor_codes([np.array([3, 1, 3], np.uint8), np.zeros(3, np.uint8)], [4, 1])]
    [[0, 1, 0], [0, 1]]
    """
    n = len(columns[0]) if columns else 0
    return _numbered(
        list(zip(*(column.tolist() for column in columns), strict=True)) if columns else [()] * n, "uint32"
    )


def factor_strings(cells, most_others):
    """
    >>> [part.tolist() for part in factor_strings(np.array(["sun", "rain", None, "sun"], dtype=object), 10)]
    [[0, 1, 2, 0], [0, 1, 2]]
    """
    keys = [cell if type(cell) is str else id(cell) for cell in cells]
    return None if len({key for key in keys if type(key) is int}) > most_others else _numbered(keys, "int32")


def _numbered(keys, dtype):
    """Number keys in the order of their first appearance; also return the rows where that is."""
    first = {}
    for row, key in enumerate(keys):
        first.setdefault(key, row)
    number = {key: i for i, key in enumerate(first)}
    return np.array([number[key] for key in keys], dtype=dtype), np.array(list(first.values()), dtype=np.int64)


def context_codes(parents, child, child_size, steps, n_nodes, n_threads):
    """
    >>> sky, wind = np.array([1, 2, 0], dtype=np.uint8), np.array([1, 1, 0], dtype=np.uint8)
    >>> step = np.array([[-1, 0, 1]], dtype=np.int32)      # missing: no node; 1 and 2: a node each
    >>> context_codes([sky], wind, 2, [step], 3, 1).tolist()
    [3, 5, 0]
    """
    out = []
    for row in range(len(child)):
        node, at, first = 0, 0, 1  # first: the number of the first node of the next level
        for d, (column, step) in enumerate(zip(parents, steps, strict=True)):
            at = step[at, column[row]]
            if at < 0:
                break
            node = first + at
            first += len(steps[d + 1]) if d + 1 < len(steps) else 0
        out.append(node * child_size + int(child[row]))
    return np.array(out, dtype=np.uint32)


def score_missing(columns, sizes, parents, steps, tables, gone, scores, most_cells, n_threads):
    """Sum over every combination of values of the missing cells.

    >>> sky, wind = np.array([0], np.uint8), np.array([1], np.uint8)
    >>> step = np.array([[-1, 0, 1, -1]], np.int32)
    >>> own = np.log([[1.0], [0.25], [0.75], [1.0]])                       # P(sky = 1), P(sky = 2)
    >>> given = np.log(np.array([1, 0.5, 1, 1, 0.2, 1, 1, 0.6, 1])[:, None])   # P(wind = 1) by context
    >>> scores = np.zeros((1, 1))
    >>> parents = [np.array([], np.int64), np.array([0])]
    >>> score_missing([sky, wind], [4, 3], parents, [[], [step]], [[own], [given]], None, scores, 99, 1)
    >>> round(float(np.exp(scores[0, 0])), 12)                             # 0.25 · 0.2 + 0.75 · 0.6
    0.5
    """
    for r in range(len(scores)):
        codes = [int(column[r]) for column in columns]
        missing = [j for j, code in enumerate(codes) if code in (0, sizes[j] - 1)]
        lost = [0 if gone is None or j not in missing else int(gone[j][r]) for j in range(len(codes))]
        wanted = {j for j in range(len(codes)) if j not in missing}
        for j in reversed(range(len(codes))):
            wanted |= {int(p) for p in parents[j]} if j in wanted else set()
        free = [j for j in missing if j in wanted]
        terms = []
        for values in itertools.product(*(range(1, sizes[j] - 1) for j in free)):
            now = dict(enumerate(codes)) | dict(zip(free, values, strict=True))
            if any(now[j] == lost[j] for j in free):
                continue
            total = np.zeros(scores.shape[1])
            for j in sorted(wanted):
                known = next((d for d, p in enumerate(parents[j]) if p in missing), len(parents[j]))
                case = len(parents[j]) + 2 + known if lost[j] else 0 if j in missing else 1 + known
                above = [np.array([now[int(p)]]) for p in parents[j]]
                row = context_codes(above, np.array([now[j]]), sizes[j], steps[j], 0, 1)[0]
                total = total + tables[j][case if len(tables[j]) > 1 else 0][row]
            terms.append(total)
        scores[r] += np.logaddexp.reduce(terms, axis=0) if terms else -np.inf


def moments(columns, labels, n_classes, weights, n_threads):
    """Sum exactly, as integers.

    >>> x, labels = np.array([1.0, 2.0, np.nan, 1e20, 3.0]), np.array([0, 0, 0, 1, 1], dtype=np.uint8)
    >>> n, high, low, square, _, _, usable = moments([x], labels, 2, None, 1)
    >>> n.tolist(), high.tolist(), low.tolist(), square.tolist(), usable
    ([[2], [2]], [[3.0], [1e+20]], [[0.0], [3.0]], [[5.0], [1e+40]], True)
    """
    own = np.eye(n_classes)[labels] * (1.0 if weights is None else weights[:, None])
    n, *rest = moments_responsibilities(columns, own.reshape(len(labels), n_classes), n_threads)
    return n.astype(np.int64) if weights is None else n, *rest


def moments_responsibilities(columns, responsibilities, n_threads):
    """
    >>> n, high, *_ = moments_responsibilities([np.array([2.0, 4.0])], np.array([[1.0, 0.0], [0.5, 0.5]]), 1)
    >>> n.tolist(), high.tolist()
    ([[1.5], [0.5]], [[4.0], [2.0]])
    """
    shape = responsibilities.shape[1], len(columns)
    parts = [np.zeros(shape) for _ in range(6)]
    for j, column in enumerate(columns):
        finite = np.isfinite(column)
        x = _scaled(column[finite])
        for k in range(shape[0]):
            w = _scaled(responsibilities[finite, k])
            sums = [sum(a * b**power for a, b in zip(w, x, strict=True) if a) for power in (0, 1, 2)]
            exact = [Fraction(total, UNIT ** (1 + power)) for power, total in enumerate(sums)]
            halves = [(float(total), float(total - Fraction(float(total)))) for total in exact]
            for part, value in zip(parts, (halves[0][0], *halves[1], *halves[2], halves[0][1]), strict=True):
                part[k, j] = value
    usable = not any((np.abs(column) > SIZE_LIMIT).any() for column in columns)
    return (*parts, usable)


def _scaled(x):
    """Floats as integers, in units of 2^-1100: sums and products are exact."""
    return [top * (UNIT // bottom) for top, bottom in map(float.as_integer_ratio, x.tolist())]


def weigh_numbers(columns, center, shares, n_threads):
    """
    >>> weights, first, second = weigh_numbers([np.array([1.0, np.nan, 4.0])], np.array([2.0]),
    ...     np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]]), 1)
    >>> weights.tolist(), first.tolist(), second.tolist()
    ([[1.5], [0.5]], [[0.0], [1.0]], [[3.0], [2.0]])
    """
    away = np.array(columns).reshape(len(columns), len(shares)).T - center
    return tuple(shares.T @ np.where(np.isnan(away), 0.0, away**power) for power in (0, 1, 2))


def mdl_cuts(columns, labels, n_classes, weights, n_threads):
    """
    >>> mdl_cuts([np.arange(12.0)], np.repeat(np.array([0, 1], dtype=np.uint8), 6), 2, None, 1)
    [array([5.5])]
    """
    cuts = []
    for column in columns:
        w = np.ones(len(labels)) if weights is None else weights
        rows = np.flatnonzero(~np.isnan(column) & (w > 0))
        rows = rows[np.argsort(column[rows], kind="stable")]
        one_hot = np.eye(n_classes)[labels[rows]] * w[rows, None]
        cuts.append(np.array(sorted(_mdl(column[rows], one_hot)), dtype=np.float64))
    return cuts


def _mdl(x, y):
    """Cut sorted numbers with the weights (rows, classes) of their labels."""
    at = 1 + np.flatnonzero(x[1:] != x[:-1])
    k, total, entropy = (y.sum(axis=0) > 0).sum(), y.sum(), _spread(y.sum(axis=0))
    if not len(at) or k < 2:
        return []
    before = y.cumsum(axis=0)
    both = np.array([_spread(before[i - 1]) + _spread(before[-1] - before[i - 1]) for i in at])
    cut = int(at[np.argmax(both <= both.min() + 1e-10 * total)])
    delta = np.log(3.0**k - 2) - k * entropy / total
    for side in (y[:cut].sum(axis=0), y[cut:].sum(axis=0)):
        delta += (side > 0).sum() * _spread(side) / side.sum()
    gain = entropy - _spread(y[:cut].sum(axis=0)) - _spread(y[cut:].sum(axis=0))
    if not gain > np.log(max(total - 1, 1.0)) + delta:
        return []
    middle = x[cut - 1] + (x[cut] - x[cut - 1]) / 2
    return [middle if middle < x[cut] else x[cut - 1], *_mdl(x[:cut], y[:cut]), *_mdl(x[cut:], y[cut:])]


def _spread(counts):
    """N · Ent in nats."""
    some = counts[counts > 1e-12]
    return float((some * np.log(some.sum() / some)).sum())


def frequency_cuts(columns, intervals, tolerance, n_threads):
    """
    >>> frequency_cuts([np.array([1.0, 2.0, np.nan, 3.0, 10.0, 20.0, 30.0])], [3], 1e-9, 1)
    [array([ 2.5, 15. ])]
    """
    cuts = []
    for column, k in zip(columns, intervals, strict=True):
        x = np.sort(column[~np.isnan(column)])
        k = min(k, max(len(x), 1))  # more intervals would be empty
        places = np.ceil(np.arange(1.0, k) * (len(x) / k) - tolerance * len(x))
        left = np.unique(x[np.clip(places, 1, len(x)).astype(np.int64) - 1]) if len(x) > 1 else x[:0]
        left = left[left < x[-1:]]
        right = x[np.searchsorted(x, left, side="right")]
        middle = left + (right - left) / 2
        cuts.append(np.where(middle < right, middle, left))
    return cuts

"""Back-off, class chains and trees by brute force: contexts are compared row by row, and trees walked row by row."""

import itertools

import numpy as np

LEAST = 5 - 1e-9
BACKOFF_M = (0.5, 2.0, 8.0, 32.0, 128.0, 512.0)
CHAIN_M = (1.0, 4.0, 16.0)


def learn_backoff(codes, sizes, parents, columns, labels, n_classes, weights, asked, n_threads, m=None):
    """(mean ln P of the asked rows, each left out (asked, classes, columns); m of each family (families, levels))."""
    log_p = np.zeros((len(asked), n_classes, len(columns)))
    grid = np.zeros((len(columns) * len(codes), parents.shape[2] + 1))
    for at, i in enumerate(columns):
        for j in range(len(codes)):
            family, held = at * len(codes) + j, None if m is None else m[at * len(codes) + j]
            p, chosen = _left_out_backoff(codes[j], i, sizes[j, i], parents[j, i], labels, n_classes, weights, held)
            log_p[:, :, at] += np.log(p[asked]) / len(codes)
            grid[family, : len(chosen)] = chosen
    return log_p, grid


def _levels(cells, new, i, above, labels, n_classes, weights):
    """At each level: counts of new rows' contexts (rows,), by class, and by class with the same value."""
    same = np.ones((new.shape[1], cells.shape[1]), dtype=bool)
    own = np.eye(n_classes)[labels] * weights[:, None]
    same_value = new[i][:, None] == cells[i]
    for u in [None, *(u for u in above if u >= 0)]:
        same &= True if u is None else new[u][:, None] == cells[u]
        yield same @ weights, same @ own, (same & same_value) @ own


def _left_out_backoff(cells, i, size, above, labels, n_classes, weights, held):
    weights = np.ones(len(labels)) if weights is None else weights
    taken, rows = weights, np.arange(len(labels))
    inside = np.ones(len(labels), dtype=bool)
    full, chosen = np.full((len(labels), n_classes), 1 / size), []
    left_out = full
    own = full[rows, labels]
    for total, n, of_value in _levels(cells, cells, i, above, labels, n_classes, weights):
        inside &= total >= LEAST
        used = inside & (total - taken >= LEAST)
        a, b = of_value[rows, labels] - taken, n[rows, labels] - taken
        grid = BACKOFF_M if held is None else (held[len(chosen)],)
        gains = [(weights * np.log((a + m * own) / (b + m)))[used].sum() for m in grid]
        m = grid[int(np.argmax(gains))]
        chosen.append(m)
        own = np.where(used, (a + m * own) / (b + m), own)
        full = np.where(inside[:, None], (of_value + m * full) / (n + m), full)
        left_out = np.where(used[:, None], full, left_out)
        left_out[used, labels[used]] = own[used]
    return left_out, chosen


def score_backoff(codes, new, sizes, parents, columns, labels, n_classes, weights, grid):
    """Mean ln P(x | class, parents) of new rows (rows, classes, columns), from the rows that were learned."""
    weights = np.ones(len(labels)) if weights is None else weights
    log_p = np.zeros((new.shape[2], n_classes, len(columns)))
    for at, i in enumerate(columns):
        for j in range(len(codes)):
            p, inside = np.full((new.shape[2], n_classes), 1 / sizes[j, i]), np.ones(new.shape[2], dtype=bool)
            levels = _levels(codes[j], new[j], i, parents[j, i], labels, n_classes, weights)
            for m, (total, n, of_value) in zip(grid[at * len(codes) + j], levels, strict=False):
                inside &= total >= LEAST
                p = np.where(inside[:, None], (of_value + m * p) / (n + m), p)
            log_p[:, :, at] += np.where((new[j, i] < sizes[j, i])[:, None], np.log(p), 0.0) / len(codes)
    return log_p


def learn_chains(columns, sizes, labels, n_classes, weights, asked, parts, candidates, cuts, prior, n_threads):
    """(Σ ln h, Σ h (asked, classes), steps of each chain as (column, m, cuts))."""
    w = np.ones(len(labels)) if weights is None else weights
    start, chains = _left_out_prior(labels, n_classes, w, prior), []
    for part, choices, where in zip(parts.astype(bool), candidates, cuts, strict=True):
        y, g = labels[part], start[part]
        same, steps = np.ones((part.sum(), part.sum()), dtype=bool), []
        for some, their_cuts in zip(choices, where, strict=True):
            best, chosen = 1e-9, None
            for column, cut in zip(some, their_cuts, strict=True):
                refined = same & _agree(_values(columns[column], sizes[column], cut)[part])
                if refined.sum() == same.sum():
                    continue
                for m in CHAIN_M:
                    after = _step(refined, y, n_classes, w[part], g, m)
                    own = np.arange(len(y)), y
                    gain = float(w[part] @ np.log(after[own] / g[own]))
                    if gain > best:
                        best, chosen = gain, (refined, after, (int(column), m, cut))
            if chosen is not None:
                same, g = chosen[:2]
                steps.append(chosen[2])
        chains.append(steps)
    return *_count(columns, sizes, labels, n_classes, w, asked, chains, start, ~parts[:, asked].astype(bool)), chains


def count_chains(columns, sizes, labels, n_classes, weights, asked, start, column, m, cuts, prior, n_threads):
    """(Σ ln h, Σ h (asked, classes)) of chains whose steps are given."""
    w = np.ones(len(labels)) if weights is None else weights
    chains = [list(zip(column[a:b], m[a:b], cuts[a:b], strict=True)) for a, b in itertools.pairwise(start)]
    everywhere = np.ones((len(chains), len(asked)), dtype=bool)
    begin = _left_out_prior(labels, n_classes, w, prior)
    return _count(columns, sizes, labels, n_classes, w, asked, chains, begin, everywhere)


def _count(columns, sizes, labels, n_classes, w, asked, chains, start, outside):
    log_sum, sums = np.zeros((len(asked), n_classes)), np.zeros((len(asked), n_classes))
    for steps, judged in zip(chains, outside, strict=True):
        same, g = np.ones((len(labels), len(labels)), dtype=bool), start
        for column, m, cut in steps:
            same = same & _agree(_values(columns[column], sizes[column], cut))
            g = _step(same, labels, n_classes, w, g, m)
        h = (w.sum() * g[asked] + 1) / (w.sum() + n_classes)
        log_sum += np.where(judged[:, None], np.log(h), 0.0)
        sums += np.where(judged[:, None], h, 0.0)
    return log_sum, sums


def score_chains(columns, sizes, learned_columns, labels, weights, prior, chains):
    """(Σ ln h, Σ h) of new rows, from the rows that were learned; a context never seen ends a chain."""
    w, n = np.ones(len(labels)) if weights is None else weights, len(columns[0])
    own = np.eye(len(prior))[labels] * w[:, None]
    log_sum, sums = np.zeros((n, len(prior))), np.zeros((n, len(prior)))
    for steps in chains:
        same, g = np.ones((n, len(labels)), dtype=bool), np.tile(prior, (n, 1))
        for column, m, cut in steps:
            new, old = (_values(some[column], sizes[column], cut) for some in (columns, learned_columns))
            same = same & (new[:, None] == old)
            counts = same @ own
            seen = same.any(axis=1)[:, None]
            g = np.where(seen, (counts + m * g) / (counts.sum(axis=1, keepdims=True) + m), g)
        h = (w.sum() * g + 1) / (w.sum() + len(prior))
        log_sum += np.log(h)
        sums += h
    return log_sum, sums


def _left_out_prior(labels, n_classes, w, prior):
    counts = np.tile(prior * (w.sum() + n_classes), (len(labels), 1)) - np.eye(n_classes)[labels] * w[:, None]
    return counts / (w.sum() - w + n_classes)[:, None]


def _step(same, labels, n_classes, w, g, m):
    """(n(class, context) + m g) / (n(context) + m) of each row, left out (rows, classes)."""
    own = np.eye(n_classes)[labels] * w[:, None]
    counts = same @ own - own
    return (counts + m * g) / (counts.sum(axis=1, keepdims=True) + m)


def _agree(values):
    return values[:, None] == values


def _values(column, size, cuts):
    """The value by which a step divides rows: a code, which cut a code equals, or the number of cuts below."""
    if column.dtype.kind == "u":
        known, codes = column < size, column.astype(np.int64)
        which = codes if np.isnan(cuts[0]) else ((codes[:, None] == cuts) * np.arange(1, 4)).max(axis=1)
        return np.where(known, which, -1)
    below = np.where(np.isnan(column), 4, (column[:, None] > cuts).sum(axis=1))
    return np.where(column == np.inf, 5, below)


IS_SET, UNKNOWN = 1 << 31, 255


def walk(trees, t, row, unknown=UNKNOWN):
    """The nodes of tree t that a row of codes passes, the root first."""
    start, nodes, subset, sets = trees
    at, path = 0, [0]
    while True:
        left, split = (int(part) for part in nodes[start[t] + at])
        code = int(row[split % IS_SET >> 8]) if left else unknown
        if not left or code == unknown:
            return path
        if split >= IS_SET:
            goes_left = int(sets[subset[start[t] + at], code >> 6]) >> (code & 63) & 1
        else:
            goes_left = code <= split & 255
        at = left if goes_left else left + 1
        path.append(at)


def _ends(trees, t, codes):
    return np.array([trees[0][t] + walk(trees, t, row)[-1] for row in codes], dtype=np.int64)


def count_leaves(codes, labels, n_classes, weights, trees, n_threads):
    """
    >>> trees = (np.array([0, 3]), np.array([[1, 4], [0, 0], [0, 0]], dtype=np.uint32),      # column 0 at most 4
    ...          np.full(3, -1, dtype=np.int32), np.zeros((0, 4), dtype=np.uint64))
    >>> codes, labels = np.array([[3], [4], [9], [255]], dtype=np.uint8), np.array([0, 0, 1, 1], dtype=np.uint32)
    >>> count_leaves(codes, labels, 2, None, trees, 1).tolist()
    [[0.0, 1.0], [2.0, 0.0], [0.0, 1.0]]
    """
    counts = np.zeros((len(trees[1]), n_classes))
    for t in range(len(trees[0]) - 1):
        np.add.at(counts, (_ends(trees, t, codes), labels), 1.0 if weights is None else weights)
    return counts


def total_leaves(trees, counts, n_threads):
    totals = counts.copy()
    for t in range(len(trees[0]) - 1):
        for at in range(trees[0][t + 1] - 1, trees[0][t] - 1, -1):
            if left := int(trees[1][at, 0]):
                totals[at] += totals[trees[0][t] + left] + totals[trees[0][t] + left + 1]
    return totals


def smooth_leaves(trees, totals, prior, n, m, n_threads):
    g = np.tile(prior, (len(totals), 1))
    for t in range(len(trees[0]) - 1):
        for at in range(trees[0][t], trees[0][t + 1]):
            if left := int(trees[1][at, 0]):
                for child in (trees[0][t] + left, trees[0][t] + left + 1):
                    g[child] = (totals[child] + m * g[at]) / (totals[child].sum() + m)
    return ((n * g + 1) / (n + totals.shape[1])).astype(np.float32)


def leave_out_leaves(codes, labels, taken, parts, trees, totals, prior, n, m, n_threads):
    log_sum, sums = np.zeros(prior.shape), np.zeros(prior.shape)
    for t in range(len(trees[0]) - 1):
        for r in range(len(codes)):
            if parts is not None and parts[t, r]:
                continue
            g = prior[r]
            for at in walk(trees, t, codes[r])[1:]:
                counts = totals[trees[0][t] + at].copy()
                size = max(counts.sum() - taken[r], 0.0)
                counts[labels[r]] -= taken[r]
                g = (counts + m * g) / (size + m)
            h = (n * np.maximum(g, 0.0) + 1) / (n + totals.shape[1])
            log_sum[r] += np.log(h)
            sums[r] += h
    return log_sum, sums


def score_leaves(codes, trees, values, n_threads):
    found = [values[_ends(trees, t, codes)].astype(np.float64) for t in range(len(trees[0]) - 1)]
    none = np.zeros((len(codes), values.shape[1]))
    return sum((np.log(h) for h in found), none), sum(found, none)


def add_leaves(codes, trees, values, n_threads):
    found = [values[_ends(trees, t, codes)].astype(np.float64) for t in range(len(trees[0]) - 1)]
    return sum(found, np.zeros((len(codes), values.shape[1])))


def check_grown_tree(codes, categorical, labels, weights, trees, t, at_random):
    """Assert that a tree of ``grow_trees`` divides its rows until they are pure, where at its best."""
    w = np.ones(len(labels)) if weights is None else weights
    paths = [walk(trees, t, row, unknown=None) for row in codes]
    for at in range(trees[0][t + 1] - trees[0][t]):
        rows = np.array([r for r, path in enumerate(paths) if at in path], dtype=np.int64)
        left, split = (int(part) for part in trees[1][trees[0][t] + at])
        if not left:
            assert len(set(labels[rows])) < 2 or len({row.tobytes() for row in codes[rows]}) == 1
            continue
        column = split % IS_SET >> 8
        side = np.array([left in paths[r] for r in rows])
        assert 0 < side.sum() < len(rows)
        assert (split >= IS_SET) == bool(categorical[column])
        if not at_random:
            found = _entropy(labels[rows], w[rows], side)
            x = codes[rows, column]
            best = [min(_entropy(labels[rows], w[rows], x <= cut) for cut in np.unique(x)[:-1])]
            if categorical[column]:  # the best first values, in the order of their share of one of the classes
                best = [_best_prefix(x, labels[rows], w[rows], k) for k in np.unique(labels[rows])]
            assert min(abs(found - one) for one in best) < 1e-9 * max(w.sum(), 1.0)


def _best_prefix(x, labels, w, k):
    share = {v: w[(x == v) & (labels == k)].sum() / w[x == v].sum() for v in np.unique(x)}
    order = sorted(share, key=lambda v: -share[v])
    return min(_entropy(labels, w, np.isin(x, order[:i])) for i in range(1, len(order)))


def _entropy(labels, w, side):
    """Σ over both sides of N · Ent."""
    total = 0.0
    for rows in (side, ~side):
        counts = np.bincount(labels[rows], w[rows])
        counts = counts[counts > 0]
        total += float((counts * np.log(counts.sum() / counts)).sum())
    return total


def splitmix64(seed):
    """The stream of 64-bit numbers from which the compiled core draws (Steele, Lea and Flood 2014)."""
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) % 2**64
        z = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        yield z ^ (z >> 31)


def first_boosted_values(codes, labels, weights, offset, folds, k, seed, trees):
    """−0.1 G / (H + 1) of every node of the first tree of fold k, which is grown on 80 % of the other folds' rows."""
    w = np.ones(len(labels)) if weights is None else weights
    p = np.exp(offset - np.logaddexp.reduce(offset, axis=1, keepdims=True))
    gradient = (p - np.eye(offset.shape[1])[labels]) * w[:, None]
    curvature = p * (1 - p) * w[:, None]
    draw, sums = splitmix64((seed + k) % 2**64), np.zeros((2, trees[0][k + 1] - trees[0][k], offset.shape[1]))
    for r in range(len(labels)):
        if folds[r] != k and next(draw) < int(0.8 * 2.0**64):
            for at in walk(trees, k, codes[r]):
                sums[:, at] += gradient[r], curvature[r]
    return -0.1 * sums[0] / (sums[1] + 1.0)


def topic_histograms(start, topics, n_topics):
    """
    >>> [part.tolist() for part in topic_histograms(np.array([0, 2, 3]), np.array([1, 1, 0], np.uint16), 2)]
    [[0, 2, 5], [1, 1, 1, 0, 1]]
    """
    documents = [topics[a:b] for a, b in itertools.pairwise(start)]
    each = [np.bincount([int((d == k).sum()) for d in documents], minlength=1) for k in range(n_topics)]
    each = [np.zeros(1, np.int64) if not documents else one for one in each]
    return np.cumsum([0, *(len(one) for one in each)]), np.concatenate(each)

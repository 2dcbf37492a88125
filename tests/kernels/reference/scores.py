"""Scores of rows, losses with their gradients, and messages over a tree of tables."""

import numpy as np


def score_codes(columns, tables, scores, n_threads):
    """
    >>> scores = np.zeros((2, 2))
    >>> score_codes([np.array([1, 0], dtype=np.uint8)], [np.array([[0.0, 0.0], [-1.0, -2.0]])], scores, 1)
    >>> scores.tolist()
    [[-1.0, -2.0], [0.0, 0.0]]
    """
    for column, table in zip(columns, tables, strict=True):
        scores += table[column]


def score_codes_left_out(columns, tables, labels, scores, n_threads):
    """
    >>> scores = np.zeros((1, 2))
    >>> table = np.array([[[0.0, 0.0], [-1.0, -2.0]], [[0.0, 0.0], [-3.0, -4.0]]])
    >>> score_codes_left_out([np.array([1], dtype=np.uint8)], [table], np.array([1], dtype=np.uint8), scores, 1)
    >>> scores.tolist()
    [[-3.0, -4.0]]
    """
    for column, table in zip(columns, tables, strict=True):
        scores += table[labels, column]


def score_gaussian(columns, mean, precision, constant, scores, n_threads):
    """
    >>> scores, one = np.zeros((2, 1)), np.array([[1.0]])
    >>> score_gaussian([np.array([3.0, np.nan])], one, one, one, scores, 1)
    >>> scores.tolist()  # 1 - (3 - 1)² / 2
    [[-1.0], [0.0]]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        for j, column in enumerate(columns):
            term = constant[:, j] - 0.5 * precision[:, j] * (column[:, None] - mean[:, j]) ** 2
            scores += np.where(np.isnan(column)[:, None], 0.0, term)


def score_gaussian_left_out(
    columns, labels, mean, precision, constant, rate, own_precision, own_constant, least, scores, n_threads
):
    """
    >>> scores, one = np.zeros((2, 1)), np.array([[1.0]])
    >>> x, label = np.array([3.0, 1.0]), np.zeros(2, dtype=np.uint8)
    >>> score_gaussian_left_out([x], label, one, one, one, one / 16, one, one, 0.8, scores, 1)
    array([ True, False])
    >>> scores.tolist()  # the second lies at the mean: 1 - 0 / 2 - log(1) / 2
    [[0.0], [1.0]]
    """
    added, smallest, rows = np.zeros_like(scores), np.ones(len(scores)), np.arange(len(scores))
    with np.errstate(all="ignore"):
        for j, x in enumerate(columns):
            square = np.where(np.isnan(x), 0.0, (x - mean[labels, j]) ** 2)
            rest = 1.0 - rate[labels, j] * square
            term = constant[:, j] - 0.5 * precision[:, j] * (x[:, None] - mean[:, j]) ** 2
            own = own_constant[labels, j] - 0.5 * own_precision[labels, j] * square / rest - 0.5 * np.log(rest)
            term[rows, labels] = own
            added += np.where(np.isnan(x)[:, None], 0.0, term)
            smallest = np.minimum(smallest, rest)
    left = ~(smallest >= least)
    scores[~left] += added[~left]
    return left


def normalize(scores, n_threads, out=None):
    """
    >>> probabilities, evidence = normalize(np.log([[0.1, 0.3]]), 1)
    >>> probabilities.round(6).tolist(), np.exp(evidence).round(6).tolist()
    ([[0.25, 0.75]], [0.4])
    """
    top = scores.max(axis=1)
    shift = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.exp(scores - shift[:, None])
        total = shares.sum(axis=1)
        return np.divide(shares, total[:, None], out=out), shift + np.log(total)


def best_classes(scores, tolerance, n_threads):
    """
    >>> best_classes(np.array([[1.0, 3.0, 3.0], [2.0, 2.0 + 1e-15, 0.0]]), 1e-12, 1)
    array([1, 0])
    """
    best = scores.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        within = scores >= best - tolerance * np.maximum(1.0, np.abs(best))
    return np.where(np.isneginf(best), True, within).argmax(axis=1)


def judge(scores, labels, tolerance, n_threads):
    """
    >>> _, _, best, log_true, brier = judge(np.log([[0.1, 0.3]]), np.array([0], dtype=np.uint8), 1e-12, 1)
    >>> best.tolist(), np.exp(log_true).round(6).tolist(), brier.round(6).tolist()
    ([1], [0.25], [1.125])
    """
    probabilities, evidence = normalize(scores, 1)
    best, own = scores.max(axis=1), (np.arange(len(scores)), labels)
    with np.errstate(invalid="ignore", divide="ignore"):  # relative to the best: the evidence may be −4e9
        log_true = np.where(np.isneginf(best), np.nan, scores[own] - best) + np.log(probabilities.max(axis=1))
    brier = ((probabilities - np.eye(scores.shape[1])[labels]) ** 2).sum(axis=1)
    return probabilities, evidence, best_classes(scores, tolerance, 1), log_true, brier


def score_parents(columns, sizes, tables, base, n_threads):
    """
    >>> a, b = np.array([1], dtype=np.uint8), np.array([0], dtype=np.uint8)
    >>> base = np.array([[0.0], [-1.0], [-2.0]])                            # a: two slots, b: one
    >>> tables = [np.array([[0.0], [0], [7], [0], [0], [-5]]), np.array([[0.0], [-3], [0]])]
    >>> score_parents([a, b], [2, 1], tables, base, 1).tolist()             # −1 − 5, and −2 − 3
    [[[-6.0], [-5.0]]]
    """
    starts, total = np.cumsum([0, *sizes]), sum(sizes)
    out = np.zeros((len(columns[0]) if columns else 0, len(columns), base.shape[1]))
    for p, column in enumerate(columns):
        parent = column.astype(np.int64)
        out[:, p] = base[starts[p] + parent]
        for j, other in enumerate(columns):
            if j != p:
                out[:, p] += tables[p][parent * total + starts[j] + other]
    return out


def score_aode(columns, sizes, tables, base, log_weights, scores, n_threads):
    """
    >>> a, scores = np.array([1, 0], dtype=np.uint8), np.zeros((2, 1))
    >>> score_aode([a], [2], [np.zeros((4, 1))], np.array([[0.0], [-1.0]]), np.array([-np.inf, 0.0]), scores, 1)
    >>> scores.tolist()
    [[-1.0], [-inf]]
    """
    starts = np.cumsum([0, *sizes])
    weights = np.array([np.exp(log_weights[s + c]) for s, c in zip(starts, columns, strict=False)]).reshape(
        len(columns), len(scores)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = np.exp(score_parents(columns, sizes, tables, base, 1))
        mean = (weights.T[:, :, None] * joint).sum(axis=1) / weights.sum(axis=0)[:, None] if columns else 0 * scores
        scores[:] = np.where(mean > 0, np.log(mean), -np.inf)


def exponent_loss(factors, labels, weights, exponents, n_threads):
    """
    >>> factors = np.array([[[1.0], [0.0]]], dtype=np.float32)
    >>> loss, gradient = exponent_loss(factors, np.zeros(1, np.uint32), None, np.zeros(1), 1)
    >>> round(loss, 4), gradient.tolist()
    (0.6931, [-0.5])
    """
    w = np.ones(len(labels)) if weights is None else weights
    loss, slope = _log_loss(factors.astype(np.float64) @ exponents, labels, w)
    return loss, np.einsum("rk,rkt->t", slope, factors.astype(np.float64))


def score_line(codes, place, numbers, coefficients, n_threads):
    """
    >>> codes, place, numbers = np.array([[0], [1], [2]], dtype=np.uint8), np.array([1, 3]), np.array([[1.0], [2], [3]])
    >>> score_line(codes, place, numbers, np.array([[1.0], [10], [20]]), 1).ravel().tolist()
    [11.0, 22.0, 3.0]
    """
    return _features(codes, place, numbers, len(coefficients)) @ coefficients


def line_loss(codes, place, numbers, labels, weights, coefficients, n_threads):
    """
    >>> loss, gradient = line_loss(np.zeros((1, 0), np.uint8), np.array([1]), np.ones((1, 1)),
    ...                            np.zeros(1, np.uint32), None, np.zeros((1, 2)), 1)
    >>> round(loss, 4), gradient.tolist()
    (0.6931, [[-0.5, 0.5]])
    """
    features, w = (
        _features(codes, place, numbers, len(coefficients)),
        np.ones(len(codes)) if weights is None else weights,
    )
    loss, slope = _log_loss(features @ coefficients, labels, w)
    return loss, features.T @ slope


def softmax_loss(features, scale, importance, weights, bias, labels, n_threads):
    """
    >>> loss, by_weight, by_bias = softmax_loss(np.array([[[1.0, -1.0]]]), np.ones(1), np.ones(1), np.zeros(1),
    ...                                         np.zeros(2), np.zeros(1, np.uint32), 1)
    >>> round(loss, 6), by_weight.tolist(), by_bias.tolist()
    (0.693147, [-1.0], [-0.5, 0.5])
    """
    scores = np.einsum("f,nfk->nk", weights, features) * scale[:, None] + bias
    loss, slope = _log_loss(scores, labels, importance)
    return loss, np.einsum("nk,nfk->f", slope * scale[:, None], features), slope.sum(axis=0)


def _log_loss(scores, labels, weights):
    """Σ w (ln Σ_k exp s_k − s_y), and its slopes by the scores (rows, classes)."""
    p, evidence = normalize(scores, 1) if len(scores) else (scores, np.zeros(0))
    own = np.arange(len(scores)), labels
    slope = p.copy()
    slope[own] -= 1
    return float(weights @ (evidence - scores[own])), slope * weights[:, None]


def _features(codes, place, numbers, n_features):
    """Numbers and one-hot values (rows, features)."""
    features = np.zeros((len(codes), n_features))
    features[:, : numbers.shape[1]] = numbers
    for row, code in zip(features, codes, strict=True):
        for j, at in enumerate(place[:-1] + code):
            row[at if at < place[j + 1] else slice(0)] = 1
    return features


def propagate(cliques, potentials, floors, to_separator, variables, states, observed, likelihoods, queried, n_threads):
    """Multiply all tables into one over the joint states of the tree's cells, and sum.

    >>> one = np.array([[2, -1, 1], [4, 0, 2]])            # P(a), and below it P(b | a)
    >>> tables = np.array([0.25, 0.75, 0.5, 0.5, 0.1, 0.9])
    >>> homes, states = np.array([[0, 2], [1, 2]]), np.array([0, 1, 0, 1, 0, 1], dtype=np.int32)
    >>> tree = one, tables, np.full(2, 0.1), np.array([0, 1], dtype=np.int32), homes, states
    >>> seen = np.array([[1.0, 0.0]])                       # b is 0: P(a | b = 0) = 0.125, 0.075 / 0.2
    >>> p, log_evidence = propagate(*tree, np.array([1]), seen, np.array([0]), 1)
    >>> p.round(6).tolist(), np.exp(log_evidence).round(6).tolist()
    ([[0.625, 0.375]], [0.2])
    """
    size, parent, separator = cliques.T
    tables = np.split(potentials, np.cumsum(size)[:-1])
    below = [None, *np.split(to_separator, np.cumsum(size[parent[1:]])[:-1])]  # of a cell of the parent
    state_of = np.split(states, np.cumsum(size[variables[:, 0]])[:-1])
    # Every assignment of one cell to each table, such that a cell agrees with its parent's cell on their separator.
    assignments = [(cell,) for cell in range(size[0])]
    for i in range(1, len(size)):
        own = np.arange(size[i]) // (size[i] // separator[i])
        assignments = [(*a, c) for a in assignments for c in np.flatnonzero(own == below[i][a[parent[i]]])]
    cells = np.array(assignments, dtype=np.int64).reshape(len(assignments), len(size))
    weight = np.prod([tables[i][cells[:, i]] for i in range(len(size))], axis=0)
    posteriors, log_evidence = [], []
    for row in likelihoods:
        scale = row.max(initial=0.0) or 1.0  # so that nothing underflows
        joint, first = weight.copy(), 0
        for v in observed:
            joint *= (row / scale)[first : first + variables[v, 1]][state_of[v][cells[:, variables[v, 0]]]]
            first += variables[v, 1]
        marginals = [np.bincount(state_of[v][cells[:, variables[v, 0]]], joint, variables[v, 1]) for v in queried]
        with np.errstate(divide="ignore", invalid="ignore"):
            posteriors.append(np.concatenate([np.zeros(0), *(m / m.sum() for m in marginals)]))
            log_evidence.append(np.log(joint.sum()) + len(observed) * np.log(scale))
    width = int(variables[queried, 1].sum())
    return np.array(posteriors).reshape(len(likelihoods), width), np.array(log_evidence).reshape(len(likelihoods))

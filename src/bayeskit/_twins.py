"""The kernels in NumPy: oracle of the compiled ones in the tests, stand-in where there is no compiler.

A *code column* is a contiguous array of uint8, uint16 or uint32: 0 is a missing cell, 1..V are values.
Labels are class codes 0..C-1 in the same types. Number columns may be strided views. All columns of one
call have the same length. ``n_threads`` is checked and otherwise not used here.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._chain_twins import count_chains, learn_chains, score_chains
from bayeskit._ensemble_twins import exponent_loss, learn_backoff, score_backoff
from bayeskit._junction_twin import propagate
from bayeskit._twins_checks import (
    Codes,
    Floats,
    Integers,
    check_cells,
    check_codes,
    check_labels,
    check_matrix,
    check_threads,
    check_weights,
    length,
    same_number,
)
from bayeskit._twins_joints import context_codes, count_pairs, factor_codes, mdl_cuts, score_aode, score_parents
from bayeskit._twins_sums import weighted_sums

__all__ = [  # the others stand here
    "context_codes",
    "count_chains",
    "count_pairs",
    "exponent_loss",
    "factor_codes",
    "learn_backoff",
    "learn_chains",
    "mdl_cuts",
    "propagate",
    "score_aode",
    "score_backoff",
    "score_chains",
    "score_parents",
]

Moments = tuple[NDArray[np.int64] | Floats, Floats, Floats, Floats, Floats, Floats, bool]

LIMIT = 1e150  # beyond it a square may overflow, and the sums have no meaning


def int_ranges(columns: Sequence[Integers], n_threads: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Smallest and largest value of each integer column: arrays (columns,).

    >>> low, high = int_ranges([np.array([3, 1, 2]), np.array([7, 7, 7])], 1)
    >>> low.tolist(), high.tolist()
    ([1, 7], [3, 7])
    """
    if length(columns, n_threads, "integers") == 0 and columns:
        raise ValueError("an empty column has no range")
    ends = [(int(column.min()), int(column.max())) for column in columns]
    for j, (_, high) in enumerate(ends):
        if high > np.iinfo(np.int64).max:
            raise ValueError(f"column {j} has {high}, beyond a 64-bit signed integer")
    both = np.array(ends, dtype=np.int64).reshape(len(ends), 2)
    return both[:, 0].copy(), both[:, 1].copy()


def lookup_codes(
    columns: Sequence[Integers],
    lo: NDArray[np.int64],
    tables: Sequence[NDArray[np.uint32]],
    unseen: NDArray[np.uint32],
    n_threads: int,
) -> list[Codes]:
    """Code of each integer: ``table[x - lo]``, and ``unseen`` for an x outside the table.

    >>> table = np.array([1, 0, 2], dtype=np.uint32)  # 10 -> 1, 12 -> 2
    >>> lookup_codes([np.array([10, 12, 99])], np.array([10]), [table], np.array([3], dtype=np.uint32), 1)
    [array([1, 2, 3], dtype=uint8)]
    """
    length(columns, n_threads, "integers")
    same_number(columns, lo=lo, tables=tables, unseen=unseen)
    check_cells("lo", lo, "int64", len(columns))
    check_cells("unseen", unseen, "uint32", len(columns))
    for j, table in enumerate(tables):
        check_cells(f"table {j}", table, "uint32", None)
    coded: list[Codes] = []
    for column, low, table, other in zip(columns, lo, tables, unseen, strict=True):
        largest = max(int(table.max(initial=0)), int(other))
        padded = np.append(table, other).astype(np.min_scalar_type(largest))
        value = column.astype(np.int64)
        index = value.view(np.uint64) - np.uint64(int(low) % 2**64)  # modulo 2**64, so it cannot overflow
        inside = (value >= low) & (index < len(table))
        if column.dtype == np.uint64:
            inside &= column <= np.uint64(np.iinfo(np.int64).max)
        coded.append(padded[np.where(inside, index, len(table)).astype(np.intp)])
    return coded


def factor_strings(cells: NDArray[np.object_], most_others: int) -> tuple[NDArray[np.int32], NDArray[np.int64]] | None:
    """Indices of Python objects in the order they are first met, and the rows where that is.

    Strings are told apart by their characters, anything else by identity; None where there are more than
    `most_others` of those.

    >>> indices, first = factor_strings(np.array(["sun", "rain", None, "sun"], dtype=object), 10)
    >>> indices.tolist(), first.tolist()
    ([0, 1, 2, 0], [0, 1, 2])
    """
    if cells.dtype != object or cells.ndim != 1:
        raise TypeError("cells is no one-dimensional array of objects")
    keys = [cell if type(cell) is str else id(cell) for cell in cells]
    index = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    if sum(type(key) is int for key in index) > most_others:
        return None
    indices = np.fromiter(map(index.__getitem__, keys), dtype=np.int32, count=len(keys))
    first = np.empty(len(index), dtype=np.int64)
    first[indices[::-1]] = np.arange(len(keys))[::-1]  # where an index stands twice, the last assignment stays
    return indices, first


def count_codes(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    labels: Codes,
    n_classes: int,
    weights: Floats | None,
    n_threads: int,
) -> list[NDArray[Any]]:
    """Rows of each class with each code: arrays (classes, size), or their weights summed in row order.

    >>> codes, labels = np.array([1, 2, 1], dtype=np.uint8), np.array([0, 0, 1], dtype=np.uint8)
    >>> count_codes([codes], [3], labels, 2, None, 1)[0].tolist()
    [[0, 1, 1], [0, 1, 0]]
    """
    check_labels(labels, n_classes, length(columns, n_threads, "codes", len(labels)))
    check_weights(weights, len(labels))
    check_codes(columns, sizes)
    tables = []
    for column, size in zip(columns, sizes, strict=True):
        cell = labels.astype(np.intp) * size + column
        table = np.bincount(cell, weights, minlength=n_classes * size)
        tables.append(table.astype(np.int64 if weights is None else np.float64).reshape(n_classes, size))
    return tables


def count_responsibilities(
    columns: Sequence[Codes], sizes: Sequence[int], responsibilities: Floats, n_threads: int
) -> list[Floats]:
    """Responsibilities of each class summed by code, in row order: arrays (classes, size).

    >>> shares = np.array([[1.0, 0.0], [0.25, 0.75]])
    >>> count_responsibilities([np.array([1, 1], dtype=np.uint8)], [2], shares, 1)[0].tolist()
    [[0.0, 1.25], [0.0, 0.75]]
    """
    check_matrix("responsibilities", responsibilities, length(columns, n_threads, "codes", len(responsibilities)))
    check_codes(columns, sizes)
    tables = []
    for column, size in zip(columns, sizes, strict=True):
        counts = [np.bincount(column, share, minlength=size) for share in responsibilities.T]
        tables.append(np.array(counts, dtype=np.float64).reshape(responsibilities.shape[1], size))
    return tables


def moments(
    columns: Sequence[Floats], labels: Codes, n_classes: int, weights: Floats | None, n_threads: int
) -> Moments:
    """n, Σx (high, low), Σx² (high, low), the low part of n as (classes, columns), and whether they can be used.

    Sums are double-double: high + low holds about 32 digits. A NaN cell is left out. Any |x| over 1e150
    makes the sums unusable. With weights: Σw, Σwx and Σwx².

    >>> x, labels = np.array([1.0, 2.0, np.nan, 1e20, 3.0]), np.array([0, 0, 0, 1, 1], dtype=np.uint8)
    >>> n, high, low, square, _, _, usable = moments([x], labels, 2, None, 1)
    >>> n.tolist(), high.tolist(), low.tolist(), square.tolist(), usable
    ([[2], [2]], [[3.0], [1e+20]], [[0.0], [3.0]], [[5.0], [1e+40]], True)
    """
    check_labels(labels, n_classes, length(columns, n_threads, "floats", len(labels)))
    check_weights(weights, len(labels))
    by_class = np.argsort(labels, kind="stable")
    groups = np.split(by_class, np.cumsum(np.bincount(labels, minlength=n_classes))[:-1])
    x = _matrix(columns, len(labels))
    with np.errstate(over="ignore", invalid="ignore"):  # sums too large for a float: as the kernel, without a word
        parts = [weighted_sums(x[rows], np.ones(len(rows)) if weights is None else weights[rows]) for rows in groups]
    n, *sums = (np.array(part).reshape(n_classes, len(columns)) for part in zip(*parts, strict=True))
    count = n.astype(np.int64) if weights is None else n
    return count, sums[0], sums[1], sums[2], sums[3], sums[4], _usable(x)


def moments_responsibilities(columns: Sequence[Floats], responsibilities: Floats, n_threads: int) -> Moments:
    """As `moments`, every row counted in each class by its responsibility: arrays (classes, columns).

    >>> n, high, *_ = moments_responsibilities([np.array([2.0, 4.0])], np.array([[1.0, 0.0], [0.5, 0.5]]), 1)
    >>> n.tolist(), high.tolist()
    ([[1.5], [0.5]], [[4.0], [2.0]])
    """
    check_matrix("responsibilities", responsibilities, length(columns, n_threads, "floats", len(responsibilities)))
    x = _matrix(columns, len(responsibilities))
    parts = [weighted_sums(x, share) for share in responsibilities.T]
    n, *sums = (np.array(part).reshape(len(parts), len(columns)) for part in zip(*parts, strict=True))
    return n, sums[0], sums[1], sums[2], sums[3], sums[4], _usable(x)


def bin_codes(columns: Sequence[Floats], cuts: Sequence[Floats], n_threads: int) -> list[Codes]:
    """Code of the interval of each number: 1 + how many cuts lie below it; 0 for NaN.

    >>> bin_codes([np.array([0.5, 1.0, 1.5, np.nan])], [np.array([1.0])], 1)
    [array([1, 1, 2, 0], dtype=uint8)]
    """
    length(columns, n_threads, "floats")
    same_number(columns, cuts=cuts)
    coded: list[Codes] = []
    for j, (column, at) in enumerate(zip(columns, cuts, strict=True)):
        check_cells(f"the cuts of column {j}", at, "float64", None)
        if not np.all(at[:-1] <= at[1:]) or np.isnan(at).any():
            raise ValueError(f"the cuts of column {j} are not sorted")
        code = np.where(np.isnan(column), 0, 1 + np.searchsorted(at, column, side="left"))
        coded.append(code.astype(np.min_scalar_type(len(at) + 1)))
    return coded


def score_codes(columns: Sequence[Codes], tables: Sequence[Floats], scores: Floats, n_threads: int) -> None:
    """Add ``table[code]`` of each column, in order, to scores (rows, classes), in place.

    >>> scores = np.zeros((2, 2))
    >>> table = np.array([[0.0, 0.0], [-1.0, -2.0]])  # (size, classes)
    >>> score_codes([np.array([1, 0], dtype=np.uint8)], [table], scores, 1)
    >>> scores.tolist()
    [[-1.0, -2.0], [0.0, 0.0]]
    """
    check_matrix("scores", scores, length(columns, n_threads, "codes", len(scores)))
    same_number(columns, tables=tables)
    for j, table in enumerate(tables):
        check_cells(f"table {j}", table, "float64", None, scores.shape[1])
    check_codes(columns, [len(table) for table in tables])
    for column, table in zip(columns, tables, strict=True):
        scores += table[column]


def score_gaussian(
    columns: Sequence[Floats],
    mean: Floats,
    precision: Floats,
    constant: Floats,
    scores: Floats,
    n_threads: int,
) -> None:
    """Add constant - precision (x - mean)² / 2 of each column, in order, to scores (rows, classes), in place.

    The parameters are (classes, columns). A NaN cell adds nothing.

    >>> scores = np.zeros((2, 1))
    >>> one = np.array([[1.0]])
    >>> score_gaussian([np.array([3.0, np.nan])], one, one, one, scores, 1)
    >>> scores.tolist()  # 1 - (3 - 1)² / 2
    [[-1.0], [0.0]]
    """
    check_matrix("scores", scores, length(columns, n_threads, "floats", len(scores)))
    for name, array in (("mean", mean), ("precision", precision), ("constant", constant)):
        check_cells(name, array, "float64", scores.shape[1], len(columns))
    with np.errstate(over="ignore", invalid="ignore"):
        for j, column in enumerate(columns):
            x = column[:, None]
            term = constant[:, j] - 0.5 * precision[:, j] * (x - mean[:, j]) ** 2
            scores += np.where(np.isnan(x), 0.0, term)


def score_codes_left_out(
    columns: Sequence[Codes], tables: Sequence[Floats], labels: Codes, scores: Floats, n_threads: int
) -> None:
    """As `score_codes`, with a table for each label: ``table[label, code]`` of (labels, size, classes).

    >>> scores = np.zeros((1, 2))
    >>> table = np.array([[[0.0, 0.0], [-1.0, -2.0]], [[0.0, 0.0], [-3.0, -4.0]]])
    >>> score_codes_left_out([np.array([1], dtype=np.uint8)], [table], np.array([1], dtype=np.uint8), scores, 1)
    >>> scores.tolist()
    [[-3.0, -4.0]]
    """
    check_matrix("scores", scores, length(columns, n_threads, "codes", len(scores)))
    n = scores.shape[1]
    check_labels(labels, n, len(scores))
    same_number(columns, tables=tables)
    for j, table in enumerate(tables):
        check_cells(f"table {j}", table, "float64", n, None, n)
    check_codes(columns, [table.shape[1] for table in tables])
    for column, table in zip(columns, tables, strict=True):
        scores += table[labels, column]


def score_gaussian_left_out(
    columns: Sequence[Floats],
    labels: Codes,
    mean: Floats,
    precision: Floats,
    constant: Floats,
    rate: Floats,
    own_precision: Floats,
    own_constant: Floats,
    least: float,
    scores: Floats,
    n_threads: int,
) -> NDArray[np.bool_]:
    """As `score_gaussian`, but in the class of its label a row is scored without itself, in place.

    Without x there is ``rest = 1 - rate (x - mean)²`` left of the spread of its class; the class then adds
    ``own_constant - own_precision (x - mean)² / (2 rest) - log(rest) / 2``. Rows where some ``rest`` is under
    ``least``, or no number, are left as they were: the result marks them (rows,).

    >>> scores, one = np.zeros((2, 1)), np.array([[1.0]])
    >>> x, label = np.array([3.0, 1.0]), np.zeros(2, dtype=np.uint8)
    >>> score_gaussian_left_out([x], label, one, one, one, one / 16, one, one, 0.8, scores, 1)
    array([ True, False])
    >>> scores.tolist()  # the second lies at the mean: 1 - 0 / 2 - log(1) / 2
    [[0.0], [1.0]]
    """
    check_matrix("scores", scores, length(columns, n_threads, "floats", len(scores)))
    check_labels(labels, scores.shape[1], len(scores))
    parts = {"mean": mean, "precision": precision, "constant": constant}
    parts |= {"rate": rate, "own_precision": own_precision, "own_constant": own_constant}
    for name, array in parts.items():
        check_cells(name, array, "float64", scores.shape[1], len(columns))
    added = np.zeros_like(scores)
    smallest = np.ones(len(scores))
    rows = np.arange(len(scores))
    with np.errstate(all="ignore"):
        for j, x in enumerate(columns):
            present = ~np.isnan(x)
            square = np.where(present, (x - mean[labels, j]) ** 2, 0.0)
            rest = 1.0 - rate[labels, j] * square
            term = constant[:, j] - 0.5 * precision[:, j] * (x[:, None] - mean[:, j]) ** 2
            term[rows, labels] = own_constant[labels, j] - 0.5 * own_precision[labels, j] * square / rest
            term[rows, labels] -= 0.5 * np.log(rest)
            added += np.where(present[:, None], term, 0.0)
            smallest = np.minimum(smallest, rest)
    left: NDArray[np.bool_] = ~(smallest >= least)
    scores[~left] += added[~left]
    return left


def best_classes(scores: Floats, tolerance: float, n_threads: int) -> NDArray[np.int64]:
    """The first class of each row (rows, classes) within ``tolerance · max(1, |best|)`` of the best score.

    >>> best_classes(np.array([[1.0, 3.0, 3.0], [2.0, 2.0 + 1e-15, 0.0]]), 1e-12, 1)
    array([1, 0])
    """
    check_threads(n_threads)
    check_matrix("scores", scores, len(scores))
    best = scores.max(axis=1)
    with np.errstate(invalid="ignore"):
        within = scores >= (best - tolerance * np.maximum(1.0, np.abs(best)))[:, None]
    within[np.isneginf(best)] = True
    chosen: NDArray[np.int64] = within.argmax(axis=1)
    return chosen


def judge(
    scores: Floats, labels: Codes, tolerance: float, n_threads: int
) -> tuple[Floats, Floats, NDArray[np.int64], Floats, Floats]:
    """`normalise` and `best_classes` of scores (rows, classes), and how good they are for rows of these labels:
    the log probability of the label and the Brier score Σ (p - [own])² of each row.

    >>> _, _, best, log_true, brier = judge(np.log([[0.1, 0.3]]), np.array([0], dtype=np.uint8), 1e-12, 1)
    >>> best.tolist(), np.exp(log_true).round(6).tolist(), brier.round(6).tolist()
    ([1], [0.25], [1.125])
    """
    probabilities, evidence = normalise(scores, n_threads)
    check_labels(labels, scores.shape[1], len(scores))
    own = np.arange(len(scores)), labels
    best = scores.max(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):  # by the distance to the best: the evidence may be −4e9
        log_true = np.where(np.isneginf(best), np.nan, scores[own] - best) + np.log(probabilities.max(axis=1))
    brier = (probabilities**2).sum(axis=1) - 2 * probabilities[own] + 1
    return probabilities, evidence, best_classes(scores, tolerance, n_threads), log_true, brier


def normalise(scores: Floats, n_threads: int, out: Floats | None = None) -> tuple[Floats, Floats]:
    """Probabilities (rows, classes) of log scores, and the log of each row's sum (rows,).

    A row of -inf alone gives NaN probabilities and evidence -inf. ``out`` is where the probabilities go.

    >>> probabilities, evidence = normalise(np.log([[0.1, 0.3]]), 1)
    >>> probabilities.round(6).tolist(), np.exp(evidence).round(6).tolist()
    ([[0.25, 0.75]], [0.4])
    """
    check_threads(n_threads)
    check_matrix("scores", scores, len(scores))
    if out is not None:
        check_matrix("out", out, *scores.shape)
    top = scores.max(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        shifted = np.exp(scores - np.where(np.isneginf(top), 0.0, top)[:, None])
        total = shifted.sum(axis=1)
        out = np.divide(shifted, total[:, None], out=out)
        return out, top + np.log(np.where(np.isneginf(top), 1.0, total))


def left_out_evidence(
    start: NDArray[np.int64],
    words: NDArray[np.uint32],
    counts: NDArray[np.uint32],
    mass: Floats,
    labels: NDArray[np.uint32],
    class_mass: Floats,
    bands: NDArray[np.uint8],
    a: float,
    both: bool,
    n_threads: int,
) -> Floats:
    """What the words of each document say of each class, without the document: (documents, features, classes).

    Words of document i stand from ``start[i]`` to ``start[i + 1]``: which word, how often, and its mass t.
    ``class_mass`` n_cw (words, classes) is Σ t over the documents of a class; here the document is taken out of it.
    Features 0–7 are Σ (1 + ln count) λ over the words of each band, 8 is Σ ln(count) λ, with
    λ = ln(n_cw/s_c + a) and s_c the class's share of all mass; where ``both``, 9–17 are the same with
    λ = −ln((n_w − n_cw)/(1 − s_c) + a). Each is centred over the classes of a document.

    >>> one = np.ones(2, np.uint32)
    >>> left_out_evidence(np.array([0, 1, 2]), 0 * one, one, np.ones(2), np.array([0, 1], np.uint32),
    ...                   np.array([[1.0, 1.0]]), np.zeros(1, np.uint8), 1.0, False, 1)[:, 0].round(6).tolist()
    [[-0.346574, 0.346574], [0.346574, -0.346574]]
    """
    check_threads(n_threads)
    check_matrix("class_mass", class_mass, len(class_mass))
    n, (n_words, k) = len(labels), class_mass.shape
    check_labels(labels, k, n)
    check_cells("start", start, "int64", n + 1)
    check_cells("words", words, "uint32", None)
    check_cells("counts", counts, "uint32", len(words))
    check_cells("mass", mass, "float64", len(words))
    check_cells("bands", bands, "uint8", n_words)
    if (np.diff(start) < 0).any() or (n and (start[0] < 0 or start[-1] > len(words))):
        raise ValueError("the words of a document start behind their end")
    if len(words) and (int(words.max()) >= n_words or not counts.all()):
        raise ValueError(f"word {words.max()} is none of {n_words}, or counted 0 times")
    if n_words and bands.max() > 7:
        raise ValueError("a band is beyond 7")
    features = np.zeros((n, 18 if both else 9, k))
    word_mass, totals = class_mass.sum(axis=1), class_mass.sum(axis=0)
    for i, own in enumerate(labels):
        at = slice(start[i], start[i + 1])
        taken = np.zeros((len(words[at]), k))
        taken[:, own] = mass[at]
        left = totals.sum() - mass[at].sum()
        share = (totals - taken.sum(axis=0)) / left if left > 0 else np.zeros(k)
        of_class = np.maximum(class_mass[words[at]] - taken, 0)
        others = np.maximum((word_mass[words[at]] - mass[at])[:, None] - of_class, 0)
        odds = [np.log(of_class / np.maximum(share, 1e-9) + a), -np.log(others / np.maximum(1 - share, 1e-9) + a)]
        log_count = np.log(np.minimum(counts[at], 0xFFFFFF).astype(np.float64))[:, None]
        for kind, logs in enumerate(odds[: 2 if both else 1]):
            np.add.at(features[i, 9 * kind :], bands[words[at]], (1 + log_count) * logs)
            features[i, 9 * kind + 8] = (log_count * logs).sum(axis=0)
    return np.asarray(features - features.mean(axis=2, keepdims=True))


def softmax_loss(
    features: Floats,
    scale: Floats,
    importance: Floats,
    weights: Floats,
    bias: Floats,
    labels: NDArray[np.uint32],
    n_threads: int,
) -> tuple[float, Floats, Floats]:
    """−Σ importance · ln softmax(scale · Σ_k weight_k feature_k + bias)[label], and its slopes by weight and bias.

    Features are (documents, features, classes); scale and importance have one number a document.

    >>> loss, by_weight, by_bias = softmax_loss(np.array([[[1.0, -1.0]]]), np.ones(1), np.ones(1), np.zeros(1),
    ...                                         np.zeros(2), np.zeros(1, np.uint32), 1)
    >>> round(loss, 6), by_weight.tolist(), by_bias.tolist()
    (0.693147, [-1.0], [-0.5, 0.5])
    """
    check_threads(n_threads)
    check_cells("features", features, "float64", None, None, None)
    if features.shape[2] == 0:
        raise ValueError(f"features has shape {features.shape}, not (documents, features, 1 class or more)")
    n, f, k = features.shape
    check_labels(labels, k, n)
    sizes = {"scale": (scale, n), "importance": (importance, n), "weights": (weights, f), "bias": (bias, k)}
    for name, (array, size) in sizes.items():
        check_cells(name, array, "float64", size)
    p, evidence = normalise(scores := np.einsum("f,nfk->nk", weights, features) * scale[:, None] + bias, 1)
    rows = np.arange(n)
    loss = float(((evidence - scores[rows, labels]) * importance).sum())
    p[rows, labels] -= 1
    p *= importance[:, None]
    return loss, np.einsum("nk,nfk->f", p * scale[:, None], features), p.sum(axis=0)


def _usable(x: Floats) -> bool:
    return not bool(np.any(np.abs(x) > LIMIT))


def _matrix(columns: Sequence[Floats], n: int) -> Floats:
    return np.stack(columns, axis=1) if len(columns) else np.zeros((n, 0))

"""Weighted evidence of words: the leave-one-out features of documents, and the loss of weights on them."""

import numpy as np
from numpy.typing import NDArray

from bayeskit.kernels.twins.checks import (
    Floats,
    check_cells,
    check_labels,
    check_matrix,
    check_threads,
)
from bayeskit.kernels.twins.scoring import normalise


def _check_evidence(
    start: NDArray[np.int64],
    words: NDArray[np.uint32],
    counts: NDArray[np.uint32],
    mass: Floats,
    labels: NDArray[np.uint32],
    class_mass: Floats,
    bands: NDArray[np.uint8],
) -> tuple[int, int]:
    """(documents, classes)"""
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
    return n, k


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
    n, k = _check_evidence(start, words, counts, mass, labels, class_mass, bands)
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


def left_out_scores(
    start: NDArray[np.int64],
    words: NDArray[np.uint32],
    counts: NDArray[np.uint32],
    mass: Floats,
    labels: NDArray[np.uint32],
    class_mass: Floats,
    bands: NDArray[np.uint8],
    weights: Floats,
    a: float,
    n_threads: int,
) -> Floats:
    """The features of :func:`left_out_evidence` times given weights, in single precision: (documents, classes).

    ``weights`` (kinds, 9) are those of the bands and of repetition; there are two kinds of more than two classes. A
    mass of 0 takes nothing out: so are documents scored that ``class_mass`` does not hold.

    >>> one = np.ones(2, np.uint32)
    >>> left_out_scores(np.array([0, 1, 2]), 0 * one, one, np.ones(2), np.array([0, 1], np.uint32),
    ...                 np.array([[1.0, 1.0]]), np.zeros(1, np.uint8), np.ones((1, 9)), 1.0, 1).round(3).tolist()
    [[-0.347, 0.347], [0.347, -0.347]]
    """
    kinds = 2 if class_mass.ndim == 2 and class_mass.shape[1] > 2 else 1
    features = left_out_evidence(start, words, counts, mass, labels, class_mass, bands, a, kinds == 2, n_threads)
    check_cells("weights", weights, "float64", kinds, 9)
    return np.asarray(np.einsum("f,nfk->nk", weights.ravel(), features))


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

"""Good arguments for the kernels of documents: tokens, words, topics, and scores by words."""

from collections.abc import Callable

import numpy as np

from bayeskit import kernels

from .conftest import codes
from .draw import Arguments, Draw


def left_out_evidence(d: Draw) -> Arguments:
    lengths = d.rng.integers(0, 5, d.n)
    start, n_words = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), 12
    cells = int(lengths.sum())
    each = {
        "words": d.whole(n_words, cells, "uint32"),
        "counts": 1 + d.whole(9, cells, "uint32"),
        "mass": d.rng.random(cells),
    }
    by = {"class_mass": d.rng.random((n_words, d.n_classes)), "bands": d.whole(8, n_words, "uint8")}
    return {"start": start, **each, "labels": d.wide_labels, **by, "a": 0.5, "both": bool(d.rng.random() < 0.5)}


def left_out_scores(d: Draw) -> Arguments:
    made = left_out_evidence(d)
    del made["both"]
    return made | {"weights": d.normal(2 if d.n_classes > 2 else 1, 9)}


def fit_ridge_logistic(d: Draw) -> Arguments:
    k, n_words = max(d.n_classes, 2), 12
    width = 1 if k == 2 else -(-k // 8) * 8
    lengths = d.rng.integers(0, 5, d.n)
    start, cells = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), int(lengths.sum())
    each = {"words": d.whole(n_words, cells, "uint32"), "values": d.rng.random(cells, np.float32)}
    zeros = {"table": np.zeros((n_words + 1, width), np.float32), "beta": np.zeros((d.n, width), np.float32)}
    by = {"offsets": d.normal(d.n, width).astype(np.float32), "labels": d.whole(k, d.n, "uint32")}
    run = {"visited": d.rng.permutation(d.n)[: d.n // 2 + 1], "seed": 7, "stop": 0.05, "most_rounds": 4}
    return {"start": start, **each, **by, "costs": 30 * d.rng.random(d.n, np.float32), "n_classes": k, **zeros, **run}


def text_alphabet(d: Draw) -> Arguments:
    return {"data": d.documents[0]}


def token_rows(d: Draw) -> Arguments:
    known = kernels.WordIndex(*d.words) if d.rng.random() < 0.5 else None
    data, offsets = d.documents
    return {"data": data, "offsets": offsets, "cut": d.cut, "known": known, "in_order": bool(d.rng.random() < 0.5)}


def token_classes(d: Draw) -> Arguments:
    data, offsets = d.documents
    labels = codes(d.rng, len(offsets) - 1, d.n_classes)
    return {"data": data, "offsets": offsets, "labels": labels, "n_classes": d.n_classes, "cut": d.cut}


def hash_texts(d: Draw) -> Arguments:
    data, offsets = d.documents
    return {"data": data, "offsets": offsets}


def union_words(d: Draw) -> Arguments:
    (a, a_offsets), (b, b_offsets) = d.words, d.words
    return {"a_data": a, "a_offsets": a_offsets, "b_data": b, "b_offsets": b_offsets}


def word_index(d: Draw) -> Arguments:
    data, offsets = d.words
    return {"data": data, "offsets": offsets}


def score_rows(d: Draw) -> Arguments:
    lengths = d.rng.integers(0, 5, d.n)
    indptr, cells, n_words = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), int(lengths.sum()), 12
    each = {"ids": d.whole(n_words, cells, "int32"), "values": d.normal(cells)}
    return {"indptr": indptr, **each, "table": d.normal(n_words, d.n_classes), "scores": d.scores}


def tokens_of_documents(d: Draw, n_words: int) -> Arguments:
    lengths = d.rng.integers(0, 9, min(d.n, 40))
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return {"start": start, "words": d.whole(n_words, int(start[-1]), "uint32")}


def sample_topics(d: Draw) -> Arguments:
    n_topics, n_words = int(d.rng.choice([1, 2, 9, 128, 140])), int(d.rng.choice([1, 3, 12]))
    tokens = tokens_of_documents(d, n_words)
    base = d.whole(3, (n_words, n_topics), "int32") if d.rng.random() < 0.3 else None
    prior = {"n_words": n_words, "base": base, "alpha": d.rng.random(n_topics) + 0.01, "beta": 0.05}
    run = {"seed": int(d.rng.integers(2**32)), "sweep": 3, "n_sweeps": 2, "n_shards": int(d.rng.integers(1, 5))}
    topics = d.whole(n_topics, len(tokens["words"]), "uint16")
    return tokens | {"topics": topics} | prior | run | {"exact": bool(d.rng.random() < 0.5)}


def topic_histograms(d: Draw) -> Arguments:
    tokens = tokens_of_documents(d, 1)
    return {"start": tokens["start"], "topics": d.whole(5, len(tokens["words"]), "uint16"), "n_topics": 5}


def topics_given(d: Draw) -> Arguments:
    n_topics, n_words = int(d.rng.choice([1, 2, 9, 30])), 12
    likelihood = np.zeros((n_words, -(-n_topics // 8) * 8), np.float32)
    likelihood[:, :n_topics] = d.rng.random((n_words, n_topics))
    by = {"likelihood": likelihood, "alpha": d.rng.random(n_topics) + 0.01, "seed": int(d.rng.integers(2**32))}
    return tokens_of_documents(d, n_words) | by


def fold_in_topics(d: Draw) -> Arguments:
    return topics_given(d) | {"n_sweeps": 3, "burn_in": 1}


def left_to_right(d: Draw) -> Arguments:
    return topics_given(d) | {"n_particles": 2}


def pooled_words(d: Draw, n_words: int) -> Arguments:
    """A table of words, some of which are runs, and what it is added to."""
    table = d.normal(n_words, 2 + 3 * d.n_classes)
    table[:, 0], table[:, 1] = d.rng.random(n_words) < 0.5, np.abs(table[:, 1])
    return {"table": table, "g": 0.5, "log_prior": d.normal(d.n_classes), "constant": d.normal(d.n_classes)}


def score_words(d: Draw) -> Arguments:
    lengths = d.rng.integers(0, 5, d.n)
    indptr, cells = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), int(lengths.sum())
    each = {"ids": d.whole(12, cells, "int32"), "counts": d.whole(9, cells, "int32") + np.int32(1)}
    return {"indptr": indptr, **each, **pooled_words(d, 12)}


def score_documents(d: Draw) -> Arguments:
    (data, offsets), known = d.documents, kernels.WordIndex(*d.words)
    return {"data": data, "offsets": offsets, "cut": d.cut, "known": known, **pooled_words(d, len(known))}


GOOD: dict[str, Callable[[Draw], Arguments]] = {
    "WordIndex": word_index,
    "fit_ridge_logistic": fit_ridge_logistic,
    "fold_in_topics": fold_in_topics,
    "hash_texts": hash_texts,
    "left_out_evidence": left_out_evidence,
    "left_out_scores": left_out_scores,
    "left_to_right": left_to_right,
    "sample_topics": sample_topics,
    "score_documents": score_documents,
    "score_rows": score_rows,
    "score_words": score_words,
    "text_alphabet": text_alphabet,
    "token_classes": token_classes,
    "token_rows": token_rows,
    "topic_histograms": topic_histograms,
    "union_words": union_words,
}

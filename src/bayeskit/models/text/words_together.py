"""Diagnosis of classifiers of documents: words that come together within the classes, and count twice."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from bayeskit.errors import BayesError, BayesWarning
from bayeskit.estimate.information import LEAST_BITS, LEVEL, by_chi_squared, information_gain
from bayeskit.evaluate.diagnosis import LEAST_LOG, MEASURED, Cure, Dependence, Diagnosis
from bayeskit.evaluate.reliability import Reliability
from bayeskit.models.base.estimator import clone
from bayeskit.typing import Array, Floats

WORDS = 200  # that tell most of the class
DOCUMENTS = 5  # that have a word, at least


def diagnose_documents(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Diagnosis:
    """The record of a classifier of documents: words that come together within the classes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesWarning)
        fitted = clone(model).fit(X, y, sample_weight)
        whole = fitted.leave_one_out(X, y, sample_weight)
    if len(fitted.classes_) < 2:
        raise BayesError("all documents are of one class: there is nothing to tell apart")
    gain = information_gain(fitted.counted_.table("documents"), fitted.tally_.class_counts)
    often = fitted.counted_.table("documents").sum(axis=1) >= DOCUMENTS
    best = np.argsort(np.where(often, -gain, np.inf), kind="stable")[: min(WORDS, int(often.sum()))]
    words = np.asarray(fitted.words_, dtype=object)[best]
    tables, n_rows = _word_tables(fitted, X, y, sample_weight, best)
    n_pairs = len(best) * (len(best) - 1) // 2
    information, found = np.zeros((len(best), len(best))), []
    for i in range(len(best)):
        for j in range(i + 1, len(best)):
            surprise = by_chi_squared(tables[i, j])
            if surprise.p_value <= LEVEL / n_pairs and surprise.bits >= LEAST_BITS:
                information[i, j] = information[j, i] = surprise.bits
                found.append(Dependence(str(words[i]), str(words[j]), surprise.bits, surprise.p_value))
    found.sort(key=lambda pair: -pair.bits)
    places = dict(zip(words, best, strict=True))
    loss = _finite(whole.log_loss)
    alone = {}
    for word in dict.fromkeys(word for pair in found[:MEASURED] for word in (pair.first, pair.second)):
        kept = np.ones(len(gain), dtype=bool)
        kept[places[word]] = False
        alone[word] = fitted._with_words(kept).leave_one_out(X, y, sample_weight)
    pairs = [
        _word_cost(pair, alone, loss, whole.reliability()) if i < MEASURED else pair for i, pair in enumerate(found)
    ]
    cures = [Cure("as it is", "leave it as it is", loss, whole.calibration_error, repr(model))]
    if dropped := {pair.drop for pair in pairs if pair.drop is not None}:
        word = min(dropped, key=lambda w: _finite(alone[w].log_loss))
        scores = _finite(alone[word].log_loss), alone[word].calibration_error
        cures.append(Cure("drop", f"leave {word!r} out", *scores, f"TextClassifier(stop_words=[{word!r}])", word))
    if pairs and model.recipe != "weighted":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesWarning)
            other = (
                clone(model).set_params(recipe="weighted").fit(X, y, sample_weight).leave_one_out(X, y, sample_weight)
            )
        scores = _finite(other.log_loss), other.calibration_error
        cures.append(Cure("weighted", "weigh the evidence of words", *scores, "TextClassifier('weighted')"))
    curve = whole.reliability()
    cures[1:] = sorted(cures[1:], key=lambda cure: cure.log_loss)
    return Diagnosis(
        "words", tuple(map(str, words)), information, tuple(pairs), n_pairs, loss, curve, tuple(cures), n_rows
    )


def _word_tables(model: Any, X: Any, y: Any, sample_weight: Any, words: Array) -> tuple[Floats, int]:
    """(Documents without and with each pair of words (words, words, classes, 2, 2), how many were looked at)"""
    from scipy.sparse import csr_matrix

    n_classes, n = len(model.tally_.classes), len(words)
    both, alone, total = np.zeros((n, n, n_classes)), np.zeros((n, n_classes)), np.zeros(n_classes)
    for block in model._blocks_learnt(X, y, sample_weight):
        (rows,) = block.tokens.values()
        shape = (len(rows.lengths), len(rows.words))
        cells = csr_matrix((np.ones(len(rows.ids)), rows.ids, rows.indptr), shape=shape)
        chosen = cells[:, words]
        chosen.data[:] = 1.0
        labels = np.asarray(block.labels)
        for c in range(n_classes):
            part = chosen[labels == c]
            both[:, :, c] += (part.T @ part).toarray()
            alone[:, c] += np.asarray(part.sum(axis=0)).ravel()
            total[c] += part.shape[0]
    tables = np.empty((n, n, n_classes, 2, 2))
    tables[..., 1, 1] = both
    tables[..., 1, 0] = alone[:, None] - both
    tables[..., 0, 1] = alone[None] - both
    tables[..., 0, 0] = total - alone[:, None] - alone[None] + both
    return tables, int(total.sum())


def _word_cost(pair: Dependence, alone: dict[str, Any], loss: float, now: Reliability) -> Dependence:
    drop = min((pair.first, pair.second), key=lambda word: _finite(alone[word].log_loss))
    without = _finite(alone[drop].log_loss)
    curve = alone[drop].reliability()
    gap = (now.said_in_all - now.seen_in_all) - (curve.said_in_all - curve.seen_in_all)
    better = without < loss
    return replace(
        pair,
        cost=loss - without,
        overconfidence=float(gap),
        drop=drop if better else None,
        without=without if better else None,
    )


def _finite(loss: float) -> float:
    return min(loss, -LEAST_LOG)

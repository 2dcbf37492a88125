"""Cross-validation: rows predicted by models fitted on the other folds. For models without a closed form, too."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.capabilities import HasJoint, TakesSequences, can, reader_of
from bayeskit.data.encoder import encode_labels
from bayeskit.data.reader import read_table
from bayeskit.data.source import open_source
from bayeskit.data.vocabulary import Vocabulary, positions, sort_values
from bayeskit.errors import BayesError, BayesWarning
from bayeskit.evaluate.evaluation import Evaluation, finished
from bayeskit.evaluate.metrics import Floats, Scoreboard, brier
from bayeskit.remedy import Setting

Index = npt.NDArray[np.intp]


def cross_validate(
    model: Any, X: Any, y: Any, folds: int = 10, sample_weight: Any = None, random_state: int = 0
) -> Evaluation:
    """The record of rows each predicted by a copy of the model fitted on the other folds.

    Folds hold the classes in equal shares, shuffled by ``random_state``. ``model`` is any classifier with ``fit``
    and ``predict_proba``; it is not changed. The baseline is the majority class of the other folds.

    >>> from bayeskit import NaiveBayes, datasets
    >>> birds = datasets.load_penguins()
    >>> found = cross_validate(NaiveBayes(roles={"year": "ignore"}), birds, "species", folds=5)
    >>> found.method, round(found.accuracy, 3), round(found.baseline.accuracy, 3)
    ('5-fold cross-validation', 0.98, 0.442)
    """
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    table = read_table(*(model.read_sequences(X, y) if can(model, TakesSequences) else (X, y)))
    if getattr(model, "drops_unlabelled", False):
        table, sample_weight = table.labelled(sample_weight)
    n_rows, labels = table.n_rows, table.labels
    assert labels is not None
    if not isinstance(folds, (int, np.integer)) or not 2 <= folds <= n_rows:
        raise BayesError(
            Setting.given("folds", folds), f": give a whole number from 2 to the number of rows ({n_rows})"
        )
    vocabulary = Vocabulary()
    codes = encode_labels(labels, vocabulary, 0, grow=True).astype(np.intp)
    classes = tuple(sort_values(vocabulary.values))
    codes = positions(vocabulary.values, classes)[codes]
    weights = open_source(np.zeros((n_rows, 1)), weights=sample_weight).weights  # type: ignore[attr-defined]
    board, baseline = Scoreboard(len(classes)), Scoreboard(len(classes))
    probabilities = np.zeros((n_rows, len(classes)))
    n_undecidable = 0
    splitter = StratifiedKFold(int(folds), shuffle=True, random_state=random_state)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        splits = list(splitter.split(np.zeros(n_rows), codes)) if _may_split(codes, folds) else _dealt(codes, folds)
    for train, test in splits:
        w = None if weights is None else weights[train]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesWarning)  # what is worth knowing of a fold stands in the record
            weighed = {} if w is None else {"sample_weight": w}
            fitted = clone(model).fit(table.take(train), labels.take(train), **weighed)
            log_posterior, evidence = _posterior(fitted, table.take(test), classes)
            chosen = positions(fitted.predict(table.take(test)).tolist(), classes)
        n_undecidable += int(np.isneginf(evidence).sum())
        probabilities[test] = logspace.exp(log_posterior)
        counts = np.bincount(codes[train], w, minlength=len(classes)).astype(np.float64)
        truth = np.arange(len(test)), codes[test]
        lost = counts[codes[test]] == 0
        tested = None if weights is None else weights[test]
        board.add(codes[test], chosen, log_posterior[truth], brier(probabilities[test], codes[test]), tested, lost)
        share = np.tile(counts / counts.sum(), (len(test), 1))
        guess, true = share.argmax(axis=1), logspace.log(share[truth])
        baseline.add(codes[test], guess, true, brier(share, codes[test]), tested, lost)
    method = f"{folds}-fold cross-validation"
    return finished(method, table.target, classes, board, baseline, probabilities, n_undecidable)


def _posterior(model: Any, X: Any, classes: tuple[Any, ...]) -> tuple[Floats, Floats]:
    """(ln P(class) over all classes, evidence): a class that the other folds do not show has −∞."""
    known = positions(model.classes_.tolist(), classes)
    if can(model, HasJoint) and reader_of(model) is model:
        scores = model.predict_joint_log_proba(X) / getattr(model, "temperature", 1.0)
        log_posterior, evidence = logspace.log_normalise(scores)
        impossible = np.isneginf(evidence)
        if impossible.any():
            log_posterior[impossible] = logspace.log_normalise(model.params_.log_prior[None])[0]
    else:
        log_posterior = log_probabilities(model, X)
        evidence = np.zeros(len(log_posterior))
    whole = np.full((len(log_posterior), len(classes)), -np.inf)
    whole[:, known] = log_posterior
    return whole, evidence


def log_probabilities(model: Any, part: Any) -> Floats:
    """ln P(class | x) of some rows (rows, classes): as the model says it, or of its probabilities where it cannot."""
    with np.errstate(divide="ignore"):  # the logarithm of 0, which some take themselves
        if hasattr(model, "predict_log_proba"):
            return np.asarray(model.predict_log_proba(part), dtype=np.float64)
        return np.asarray(logspace.log(np.asarray(model.predict_proba(part))))


def _may_split(codes: npt.NDArray[Any], folds: int) -> bool:
    return bool(np.bincount(codes).max() >= folds)


def _dealt(codes: npt.NDArray[Any], folds: int) -> list[tuple[Index, Index]]:
    """Folds where no class has a row for each: the rows by class, dealt out in turn."""
    fold = np.empty(len(codes), dtype=np.intp)
    fold[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % folds
    return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(folds)]

"""Cross-validation: rows predicted by models fitted on the other folds. For models without a closed form, too."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.capabilities import TakesSequences, can
from bayeskit.data.vocabulary import positions
from bayeskit.errors import BayesWarning
from bayeskit.evaluate.evaluation import Evaluation, finished
from bayeskit.evaluate.fitted_parts import check_probabilities, fitted_on
from bayeskit.evaluate.folds import check_folds, labelled_table, posterior_over, stratified_folds
from bayeskit.evaluate.metrics import Scoreboard, brier


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

    check_probabilities(model)
    if can(model, TakesSequences):
        X, y = model.read_sequences(X, y)
    given = labelled_table(X, y, sample_weight, getattr(model, "drops_unlabelled", False))
    table, codes, classes, weights = given.table, given.codes, given.classes, given.weights
    folds = check_folds(folds, given.n_rows)
    board, baseline = Scoreboard(len(classes)), Scoreboard(len(classes))
    probabilities = np.zeros((given.n_rows, len(classes)))
    n_undecidable = 0
    for i, (train, test) in enumerate(stratified_folds(codes, folds, random_state), 1):
        w = None if weights is None else weights[train]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesWarning)  # what is worth knowing of a fold stands in the record
            fitted = fitted_on(clone(model), given, train, f"without fold {i} of {folds}")
            log_posterior, evidence = posterior_over(fitted, table.take(test), classes)
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
    rows = (probabilities, n_undecidable, (), codes, weights)
    return finished(method, table.target, classes, board, baseline, *rows)

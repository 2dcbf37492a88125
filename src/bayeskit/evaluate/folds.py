"""Folds: rows dealt out by class, and what a model says of a part of them over all classes there are."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.capabilities import HasJoint, can, reader_of
from bayeskit.data.encoder import encode_labels
from bayeskit.data.reader import NO_ROWS, WholeTable, read_table
from bayeskit.data.source import as_weights
from bayeskit.data.vocabulary import Value, Vocabulary, positions, sort_values
from bayeskit.errors import BayesError
from bayeskit.remedy import Setting
from bayeskit.typing import Floats

Index = npt.NDArray[np.intp]


@dataclass(frozen=True)
class LabelledTable:
    """All rows of a table, the class of each as its place among the sorted classes, and their weights."""

    table: WholeTable
    codes: Index
    classes: tuple[Value, ...]
    weights: Floats | None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.table.n_rows

    def part(self, rows: Index) -> LabelledTable:
        """Some of the rows; the classes stay all of them."""
        labels = self.labels(rows)
        table = WholeTable(self.table.take(rows), len(rows), labels, self.table.target)
        return LabelledTable(
            table, self.codes[rows], self.classes, None if self.weights is None else self.weights[rows]
        )

    def labels(self, rows: Index) -> Any:
        """The labels of some rows as they were given."""
        assert self.table.labels is not None
        return self.table.labels.take(rows)

    def weighed(self, rows: Index) -> dict[str, Any]:
        """The weights of some rows as an argument of ``fit``; nothing where there are none."""
        return {} if self.weights is None else {"sample_weight": self.weights[rows]}


def labelled_table(X: Any, y: Any, sample_weight: Any = None, drop: bool = False) -> LabelledTable:
    """A table with its classes in order; with ``drop``, rows without a label are left out."""
    table = read_table(X, y)
    if drop:
        table, sample_weight = table.labelled(sample_weight)
    if not table.n_rows:
        raise BayesError(NO_ROWS)
    vocabulary = Vocabulary()
    codes = encode_labels(table.labels, vocabulary, 0, grow=True).astype(np.intp)
    classes = tuple(sort_values(vocabulary.values))
    return LabelledTable(
        table, positions(vocabulary.values, classes)[codes], classes, as_weights(sample_weight, table.n_rows)
    )


def check_folds(folds: Any, n_rows: int) -> int:
    """The number of folds, where there are as many rows."""
    if isinstance(folds, bool) or not isinstance(folds, (int, np.integer)) or not 2 <= folds <= n_rows:
        raise BayesError(
            Setting.given("folds", folds), f": give a whole number from 2 to the number of rows ({n_rows})"
        )
    return int(folds)


def stratified_folds(codes: Index, folds: int, random_state: int = 0) -> list[tuple[Index, Index]]:
    """(rows to learn, rows to test) of each fold: the classes in equal shares, shuffled by ``random_state``.

    >>> [test.tolist() for _, test in stratified_folds(np.array([0, 0, 1, 1]), 2)]
    [[1, 2], [0, 3]]
    """
    if np.bincount(codes).max() < folds:
        return _dealt(codes, folds)
    from sklearn.model_selection import StratifiedKFold

    splitter = StratifiedKFold(folds, shuffle=True, random_state=random_state)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return list(splitter.split(np.zeros(len(codes)), codes))


def _dealt(codes: Index, folds: int) -> list[tuple[Index, Index]]:
    """Folds where no class has a row for each: the rows by class, dealt out in turn."""
    fold = np.empty(len(codes), dtype=np.intp)
    fold[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % folds
    return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(folds)]


def posterior_over(model: Any, X: Any, classes: tuple[Value, ...]) -> tuple[Floats, Floats]:
    """(ln P(class) over all classes, evidence): a class that the model has not learnt has −∞."""
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

"""Accuracy against how much was learnt: by number of rows, and by number of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.reader import read_table
from bayeskit.data.table import Table
from bayeskit.errors import BayesError
from bayeskit.estimate.information import information_gain


def learning_curve(
    model: Any, X: Any, y: Any, X_test: Any, y_test: Any, sizes: Sequence[int], repeats: int = 1, random_state: Any = 0
) -> Table:
    """Accuracy on the test rows after so many training rows, drawn at random: mean and spread over the repeats.

    Every draw holds the smaller ones before it, as if rows came one by one.
    """
    from sklearn.base import clone

    learning, test = read_table(X, y), read_table(X_test, y_test)
    labels, truth = learning.listed_labels(), test.listed_labels()
    if max(sizes) > len(labels) or min(sizes) < 1:
        raise BayesError(f"sizes reach from {min(sizes)} to {max(sizes)}, and there are {len(labels)} training rows")
    rng = np.random.default_rng(random_state)
    right = np.zeros((len(sizes), repeats))
    for r in range(repeats):
        order = rng.permutation(len(labels))
        for i, size in enumerate(sizes):
            rows = order[:size]
            fitted = clone(model).fit(learning.take(rows), labels[rows].tolist())
            right[i, r] = np.mean(np.asarray(fitted.predict(test.data), dtype=object) == truth)
    columns = {"rows": list(sizes), "accuracy": right.mean(axis=1).tolist()}
    return Table(columns | ({"spread": right.std(axis=1).tolist()} if repeats > 1 else {}))


def vocabulary_curve(models: Mapping[str, Any], X_test: Any, y_test: Any, sizes: Sequence[int]) -> Table:
    """Accuracy of fitted text classifiers with fewer and fewer words: those that say most of the class are kept.

    Words are ranked by information gain on the training documents, as McCallum and Nigam (1998) did for Bernoulli
    against multinomial. Nothing is read again but the test documents: every model is made anew from its counts.
    """
    test = read_table(X_test, y_test)
    truth = test.listed_labels()
    columns: dict[str, list[Any]] = {"words": list(sizes)}
    for name, model in models.items():
        counted = model.counted_
        gain = information_gain(counted.table("documents"), model.tally_.class_counts)
        rank = np.empty(len(gain), dtype=np.int64)
        rank[np.argsort(-gain, kind="stable")] = np.arange(len(gain))
        accuracies = []
        for size in sizes:
            kept: npt.NDArray[np.bool_] = rank < size
            fewer = model.with_words(kept)
            accuracies.append(float(np.mean(np.asarray(fewer.predict(test.data), dtype=object) == truth)))
        columns[name] = accuracies
    return Table(columns)

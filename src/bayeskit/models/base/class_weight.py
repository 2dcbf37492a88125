"""Weights of rows from weights of their classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayeskit.data.cells import factor_values
from bayeskit.data.frames import label_column, open_source
from bayeskit.data.source import as_weights
from bayeskit.errors import BayesError
from bayeskit.estimate.smoothing import is_number
from bayeskit.nearest import did_you_mean


def weigh_classes(X: Any, y: Any, sample_weight: Any, class_weight: Any) -> Any:
    """Return row weights times the weights of their classes; rows without a label keep their weight.

    >>> weigh_classes(None, ["ham", "ham", "ham", "spam"], None, "balanced").tolist()
    [0.6666666666666666, 0.6666666666666666, 0.6666666666666666, 2.0]
    >>> weigh_classes(None, ["ham", "spam"], [1, 3], {"spam": 5}).tolist()
    [1.0, 15.0]
    """
    balanced = isinstance(class_weight, str) and class_weight == "balanced"
    if not balanced and not isinstance(class_weight, Mapping):
        raise BayesError(f'class_weight={class_weight!r}: give "balanced" or a mapping from class to weight')
    if isinstance(sample_weight, str):
        raise BayesError("class_weight= multiplies weights of rows given as values, not those of a column")
    labels = getattr(open_source(X, y), "labels", None) if isinstance(y, str) or y is None else y
    if labels is None:
        raise BayesError(
            "class_weight= needs the labels of data in memory;",
            hint="of files, write the weights into a column and pass sample_weight= with its name",
        )
    factor = factor_values(label_column(labels)[0], "class", 0)
    codes = np.asarray(factor.indices).astype(np.int64) - factor.low
    weights = as_weights(sample_weight, len(codes))
    weights = np.ones(len(codes)) if weights is None else weights
    if balanced:
        totals = np.bincount(codes, weights, minlength=len(factor.values))
        present = [i for i, value in enumerate(factor.values) if value is not None and totals[i] > 0]
        factors = np.ones(len(factor.values))
        factors[present] = totals[present].sum() / (len(present) * totals[present])
        return weights * factors[codes]
    for label, weight in class_weight.items():
        if label not in factor.values:
            raise BayesError(f"class_weight= names {label!r}, which no row has{did_you_mean(label, factor.values)}")
        if not is_number(weight) or not 0 <= weight < float("inf"):
            raise BayesError(f"class_weight= gives {label!r} the weight {weight!r}: give a number of at least 0")
    factors = np.array([class_weight.get(value, 1.0) for value in factor.values], dtype=np.float64)
    return weights * factors[codes]

"""Look inside models that wrap another model."""

from __future__ import annotations

from typing import Any


def reader_of(model: Any) -> Any:
    """Return the innermost model, which has the columns; None if rows are a matrix without names.

    >>> from bayeskit import CostSensitive
    >>> type(reader_of(CostSensitive().fit({"x": ["a", "b"]}, [0, 1]))).__name__
    'NaiveBayes'
    """
    while hasattr(model, "_reads_by"):
        model = model._reads_by()
    return model

"""``bayes rank MODEL DATA --class spam``: the rows most likely to be of a class, first."""

from __future__ import annotations

from typing import Any

from bayeskit.data.table import Table
from bayeskit.decide import rank
from bayeskit.errors import BayesError


def rank_rows(model: Any, X: Any, label: Any, limit: int | None = None) -> Table:
    """Rows of ``X`` by P(label | row), the most probable first, at most ``limit`` of them.

    >>> from bayeskit import NaiveBayes
    >>> model = NaiveBayes().fit({"word": ["win", "win", "hello", "hello"]}, ["spam", "spam", "ham", "spam"])
    >>> print(rank_rows(model, {"word": ["hello", "win"]}, "spam", limit=1))
    row  P(spam)
      1  0.84375
    """
    if limit is not None and limit < 1:
        raise BayesError(f"limit={limit}: give at least one row")
    ranked = rank(model.predict_proba(X), label, classes=model.classes_.tolist())
    return ranked if limit is None else Table({name: ranked[name][:limit] for name in ranked.column_names})

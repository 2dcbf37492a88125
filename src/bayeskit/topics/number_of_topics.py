"""How many topics there are: by the perplexity of documents that are held out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from bayeskit.data.sheet import Readable, Sheet
from bayeskit.data.table import Table
from bayeskit.data.text.documents import Documents
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError
from bayeskit.models.base.estimator import clone
from bayeskit.models.base.settings import seed_of
from bayeskit.topics.corpus import is_matrix
from bayeskit.topics.random_streams import stream


@dataclass(frozen=True, repr=False)
class TopicChoice(Readable, Drawable):
    """The number of topics with the least perplexity, and that of all that were tried."""

    n_topics: int
    table: Table

    @property
    def sheet(self) -> Sheet:
        """A line a number."""
        return Sheet(f"{self.n_topics} topics", ("", self.table.grid))


def choose_number(model: Any, X: Any, numbers: Iterable[int], held_out: float) -> TopicChoice:
    """Fit each number of topics on most documents, and judge it by the others."""
    tried = list(numbers)
    if not tried or any(isinstance(k, bool) or not isinstance(k, Integral) or k < 1 for k in tried):
        raise BayesError(f"numbers={tried!r}: give whole numbers of topics from 1 on, such as range(5, 50, 5)")
    if not isinstance(held_out, float) or not 0 < held_out < 1:
        raise BayesError(f"held_out={held_out!r}: give the share of documents to hold out, such as 0.2")
    train, test = _parts(X, seed_of(model.random_state) or 0, held_out)
    perplexities = [clone(model).set_params(n_topics=int(k)).fit(train).perplexity(test) for k in tried]
    best = int(np.argmin(perplexities))
    return TopicChoice(int(tried[best]), Table({"n_topics": tried, "perplexity": perplexities}))


def _parts(X: Any, seed: int, held_out: float) -> tuple[Any, Any]:
    """(documents to learn from, documents to judge by)"""
    if is_matrix(X):
        from scipy.sparse import csr_matrix

        X = X.tocsr() if hasattr(X, "tocsr") else csr_matrix(np.asarray(X))
        n = X.shape[0]
    else:
        X = Documents.of(X)
        n = len(X)
    n_test = round(held_out * n)
    if not 0 < n_test < n:
        raise BayesError(f"of {n} documents, {held_out:g} cannot be held out: give more of them")
    order = np.argsort(stream(seed, n), kind="stable")
    train, test = np.sort(order[n_test:]), np.sort(order[:n_test])
    return (X[train], X[test]) if is_matrix(X) else (X.take(train), X.take(test))

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
from bayeskit.topics.document_forms import CountMatrix, form_of
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
    tried = list(numbers) if isinstance(numbers, Iterable) else []
    if not tried or any(isinstance(k, bool) or not isinstance(k, Integral) or k < 1 for k in tried):
        raise BayesError(f"numbers={numbers!r}: give whole numbers of topics from 1 on, such as range(5, 50, 5)")
    if not isinstance(held_out, float) or not 0 < held_out < 1:
        raise BayesError(f"held_out={held_out!r}: give the share of documents to hold out, such as 0.2")
    train, test, words = _parts(X, seed_of(model.random_state) or 0, held_out)
    fits = (clone(model).set_params(n_topics=int(k)).fit(train, words=words) for k in tried)
    perplexities = [fit.perplexity(test) for fit in fits]
    best = int(np.argmin(perplexities))
    return TopicChoice(int(tried[best]), Table({"n_topics": tried, "perplexity": perplexities}))


def _parts(X: Any, seed: int, held_out: float) -> tuple[Any, Any, list[str] | None]:
    """(documents to learn from, documents to judge by, the names of the words where they are counted)"""
    form = form_of(X)
    if isinstance(form, CountMatrix):
        counts = form.counts.tocsr() if hasattr(form.counts, "tocsr") else form.counts
        n, take = counts.shape[0], counts.__getitem__
    else:
        texts = Documents.of(form)
        n, take = len(texts), texts.take
    n_test = round(held_out * n)
    if not 0 < n_test < n:
        raise BayesError(f"of {n} documents, {held_out:g} cannot be held out: give more of them")
    order = np.argsort(stream(seed, n), kind="stable")
    train, test = take(np.sort(order[n_test:])), take(np.sort(order[:n_test]))
    return train, test, form.names if isinstance(form, CountMatrix) else None

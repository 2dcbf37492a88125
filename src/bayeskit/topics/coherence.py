"""Whether the top words of a topic stand in the same documents: normalised pointwise mutual information.

Formula: NPMI(a, b) = ln (P(a, b) / P(a) P(b)) / −ln P(a, b), by documents; the mean over pairs of top words
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.typing import Floats, Ints


def npmi(together: Floats, n: int) -> Floats:
    """(words, words) from the number of documents, of n, that have both: 1 always together, −1 never.

    >>> npmi(np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 1.0]]), 4)[0].tolist()
    [1.0, 1.0, -1.0]
    """
    alone = np.diag(together)
    log_both = logspace.log(together / n)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = (log_both - logspace.log(np.outer(alone, alone) / n**2)) / -log_both
    value = np.where(together >= n, 1.0, value)  # in every document: ln P is 0
    return np.where(together > 0, value, -1.0)


def coherence(matrix: Any, top: Sequence[Ints]) -> Floats:
    """The mean NPMI of the pairs of each topic's top words, by counts (documents, words) as CSR; NaN without a pair."""
    out = np.full(len(top), np.nan)
    used = np.unique(np.concatenate([np.zeros(0, np.int64), *top]))
    has = (matrix[:, used] > 0).astype(np.float64).tocsc()
    for k, words in enumerate(top):
        if len(words) > 1:
            columns = has[:, np.searchsorted(used, words)]
            together = np.asarray((columns.T @ columns).todense())
            out[k] = npmi(together, matrix.shape[0])[np.triu_indices(len(words), 1)].mean()
    return out

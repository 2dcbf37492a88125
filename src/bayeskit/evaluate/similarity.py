"""Cosine similarity of documents, and of documents to class centroids."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.typing import Array, Floats


def cosine_similarity(a: Any, b: Any) -> Floats:
    """cos of every row of ``a`` to every row of ``b`` (sparse matrices over the same words): (rows of a, rows of b).

    An empty row has cosine 0 to everything.

    >>> from scipy.sparse import csr_matrix
    >>> one, others = csr_matrix([[1.0, 1.0, 0.0]]), csr_matrix([[1.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    >>> cosine_similarity(one, others).round(4).tolist()
    [[0.7071, 0.0]]
    """
    from sklearn.metrics.pairwise import cosine_similarity as cosine

    return np.asarray(cosine(a, b))


def cosine_to_centroids(rows: Any, sums: Array) -> Floats:
    """cos of every document to the sum of each class's documents, ``sums`` (words, classes)."""
    from scipy.sparse import csr_matrix

    return cosine_similarity(rows, csr_matrix(sums.T.astype(np.float64)))

"""How alike documents are, in the values that a recipe learns: to each other and to the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.text_files import COLUMN
from bayeskit.evaluate.similarity import cosine_similarity, cosine_to_centroids
from bayeskit.models.text.document_classifier import DocumentClassifier
from bayeskit.models.text.reading import source_of, values_matrix

Floats = npt.NDArray[np.float64]


class TextSimilarity(DocumentClassifier):
    """Cosines of documents."""

    def similarity(self, X: Any, other: Any = None) -> Floats:
        """Cosine of the word counts of documents (documents, documents of ``other``, by default of ``X``)."""
        a = self.document_values(X)
        return cosine_similarity(a, a if other is None else self.document_values(other))

    def centroid_similarity(self, X: Any) -> Floats:
        """Cosine of documents to the summed words of each class (documents, classes), in the recipe's values."""
        return cosine_to_centroids(self.document_values(X), self.recipe_.learnt(self.counted_))

    def document_values(self, X: Any) -> Any:
        """Documents by words (CSR, words in the order of ``words_``), in the values that the recipe learns."""
        self._check_is_fitted()
        parts = []
        for block in self.encoder().blocks(source_of(X, column=self.column)):
            rows = block.tokens[COLUMN]
            parts.append(values_matrix(rows, self.recipe_.values(rows)))
        from scipy.sparse import vstack

        return parts[0] if len(parts) == 1 else vstack(parts, format="csr")

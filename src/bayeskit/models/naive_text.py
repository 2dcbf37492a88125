"""A text column inside naive Bayes: its words are drawn one by one, given the class (multinomial)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.data.table import Table
from bayeskit.data.tokens import TokenRows
from bayeskit.data.words import Words
from bayeskit.estimate.text_left_out import LeftOutDocuments, LeftOutWords
from bayeskit.estimate.text_weights import WordWeights, multinomial_of, pseudo_counts
from bayeskit.tally.words import WordCounts

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TextTable:
    """ln P(word | class) of a column (words, classes), and the pseudo-counts in it (words,)."""

    vocabulary: Words
    weights: WordWeights
    pseudo: Floats

    def add_scores(self, rows: TokenRows, scores: Floats, n_threads: int) -> None:
        """Σ count · ln P(word | class) of each document; unknown words and missing documents add nothing."""
        values = rows.counts.astype(np.float64)
        kernels.score_rows(rows.indptr, rows.ids, values, self.weights.table, scores, n_threads)

    def left_out(self, rows: TokenRows, counted: WordCounts, labels: npt.NDArray[np.int64], unit: Floats) -> Floats:
        """The same under the counts without the document itself, of this class and weight."""
        values = rows.counts.astype(np.float64)
        taken = values * np.repeat(unit, np.diff(rows.indptr))
        documents = LeftOutDocuments(rows.indptr, rows.ids, taken, values, labels, unit)
        return LeftOutWords(counted.table().astype(np.float64), self.pseudo, documents).multinomial()

    def table(self, column: str, classes: tuple[Any, ...], counted: WordCounts) -> Table:
        """Counts and probabilities of the words by class."""
        counts, shares = counted.table(), logspace.exp(self.weights.table)
        columns: dict[str, Any] = {column: self.vocabulary.tolist()}
        columns |= {f"count | {c}": counts[:, i].tolist() for i, c in enumerate(classes)}
        columns |= {f"P({column} | {c})": shares[:, i].tolist() for i, c in enumerate(classes)}
        return Table(columns)


def text_table(counted: WordCounts, smoothing: Any) -> TextTable:
    """P(w | c) = (n_cw + α) / (N_c + αm) over the m words seen in any class."""
    pseudo = pseudo_counts(smoothing, counted.words, counted.table())
    return TextTable(counted.words, multinomial_of(counted, pseudo), pseudo)

"""Documents as draws: how probable a length and an order are, and drawing new ones."""

from __future__ import annotations

import numpy as np

from bayeskit import logspace
from bayeskit.data.text.tokens import TokenRows
from bayeskit.data.text.word_list import Words
from bayeskit.estimate.columns.poisson import log_poisson
from bayeskit.estimate.words.weights import sums_by_document
from bayeskit.tally.words import WordCounts
from bayeskit.tolerance import POSITIVE
from bayeskit.typing import Array, Floats


def log_coefficient(rows: TokenRows) -> Floats:
    """ln(ℓ! / Π n!): in how many orders the known words of a document can stand."""
    from scipy.special import gammaln

    counts = rows.counts.astype(np.float64)
    return np.asarray(
        gammaln(sums_by_document(counts, rows.indptr) + 1) - sums_by_document(gammaln(counts + 1), rows.indptr)
    )


def mean_length(counted: WordCounts) -> float:
    """Known words of an average document, over all classes."""
    return float(counted.counts.sum() / max(float(counted.n_documents.sum()), POSITIVE))


def log_length(rows: TokenRows, counted: WordCounts) -> Floats:
    """ln P(ℓ): Poisson, the same for all classes."""
    return log_poisson(sums_by_document(rows.counts.astype(np.float64), rows.indptr), mean_length(counted))


def draw_bags(
    vocabulary: Words, log_shares: Floats, counted: WordCounts, labels: Array, rng: np.random.Generator
) -> list[str]:
    """One document a label: a length, and words of the class in random order."""
    words = np.array(vocabulary.tolist(), dtype=object)
    drawn = []
    for label in labels:
        shares = logspace.exp(log_shares[:, label])
        length = rng.poisson(mean_length(counted)) if len(words) else 0
        ids = rng.choice(len(words), size=length, p=shares / shares.sum()) if length else np.zeros(0, np.int64)
        drawn.append(" ".join(words[ids]))
    return drawn


def draw_sets(vocabulary: Words, log_odds: Floats, labels: Array, rng: np.random.Generator) -> list[str]:
    """One document a label: each word by its own coin."""
    words = np.array(vocabulary.tolist(), dtype=object)
    heads = (rng.random(len(words)) < 1 / (1 + logspace.exp(-log_odds[:, label])) for label in labels)
    return [" ".join(words[np.flatnonzero(there)]) for there in heads]

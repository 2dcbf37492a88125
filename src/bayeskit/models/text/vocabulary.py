"""Which words a document is read in: unigrams, runs of words seen twice, limits on document frequency."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from bayeskit.data.tokenizer import Tokenizer
from bayeskit.data.tokens import TokenRows, count_documents
from bayeskit.errors import BayesError
from bayeskit.models.text.reading import LabelledDocuments, document_frequency, has_space, with_words
from bayeskit.tally.words import choose_words

Limits = tuple[int | float, int | float, int | None]


def candidate_rows(
    read: LabelledDocuments, tokenizer: Tokenizer, tries: Sequence[tuple[int, int]], limits: Limits, n_threads: int
) -> Iterator[tuple[tuple[int, int], TokenRows, bool]]:
    """(n-grams, documents in their words, whether words were cut off) for each try.

    Where both (1, 1) and (1, 2) are tried the text is read once: runs of two words count where two documents have
    them.
    """
    if list(tries) == [(1, 1), (1, 2)] and tokenizer.hash_bits is None and tokenizer.pattern not in ("char", "char_wb"):
        both = count_documents(read.texts, replace(tokenizer, ngrams=(1, 2)), None, n_threads)
        single = ~has_space(both.words)
        frequency = document_frequency(both)
        for ngrams, keep in (((1, 1), single), ((1, 2), single | (frequency >= 2))):
            rows = with_words(both, keep)
            cut, pruned = _within(rows, read, limits)
            yield ngrams, cut, pruned or ngrams == (1, 2)
        return
    for ngrams in tries[:1]:
        rows = count_documents(read.texts, replace(tokenizer, ngrams=ngrams), None, n_threads)
        yield ngrams, *_within(rows, read, limits)


def _within(rows: TokenRows, read: LabelledDocuments, limits: Limits) -> tuple[TokenRows, bool]:
    if limits == (1, 1.0, None):
        return rows, False
    counts = np.bincount(rows.ids, rows.counts, minlength=len(rows.words))
    keep = choose_words(document_frequency(rows), counts, float(len(read.labels)), *limits)
    if len(keep) and not keep.any():
        raise BayesError("After pruning, no terms remain: lower min_df or raise max_df")
    return with_words(rows, keep), True

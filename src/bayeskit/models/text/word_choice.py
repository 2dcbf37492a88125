"""Which words a document is read in: unigrams, runs of words seen twice, limits on document frequency."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.text.tokens import TokenRows, count_documents
from bayeskit.errors import BayesError
from bayeskit.models.text.reading import LabelledDocuments, document_frequency, has_space, with_words
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import ColumnWords, WordCounts, choose_words, selected
from bayeskit.threads import thread_count

if TYPE_CHECKING:
    from bayeskit.models.text.recipe import Settings

Limits = tuple[int | float, int | float, int | None]
NO_LIMITS: Limits = (1, 1.0, None)


def rows_within_limits(read: LabelledDocuments, settings: Settings) -> tuple[TokenRows, bool]:
    """The documents in their words, and whether words were cut off."""
    tokenizer, n_threads = settings.tokenizer(), thread_count(settings.n_threads)
    ((_, rows, pruned),) = candidate_rows(read, tokenizer, (tokenizer.ngrams,), limits_of(settings), n_threads)
    return rows, pruned


def limits_of(settings: Settings) -> Limits:
    """On the number of documents that have a word, and on the number of words."""
    return settings.min_df, settings.max_df, settings.max_features


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
    if limits == NO_LIMITS:
        return rows, False
    counts = np.bincount(rows.ids, rows.counts, minlength=len(rows.words))
    keep = choose_words(document_frequency(rows), counts, float(len(read.labels)), *limits)
    if len(keep) and not keep.any():
        raise BayesError("After pruning, no terms remain: lower min_df or raise max_df")
    return with_words(rows, keep), True


def tally_within_limits(tally: Tally, known: WordCounts | None, settings: Settings) -> Tally:
    """The tally with the words that the settings allow; a vocabulary once cut is held: ``known`` has its words."""
    if COLUMN not in tally.words:
        raise BayesError(f"the tally has no words of a column {COLUMN!r}: it is not of a TextClassifier")
    counted, limits = tally.words[COLUMN], limits_of(settings)
    if known is not None and known.pruned:
        return tally_of_words(tally, np.asarray(known.words.index.find(counted.words.data, counted.words.offsets)) >= 0)
    if counted.pruned or limits == NO_LIMITS:
        return tally
    return tally_of_words(tally, selected(counted, *limits))


def tally_of_words(tally: Tally, keep: npt.NDArray[np.bool_]) -> Tally:
    """The tally of some of its words alone."""
    counted = tally.words[COLUMN]
    kept = counted.keep(keep)
    return tally if kept is counted else tally.with_statistic(ColumnWords({COLUMN: kept}))

"""Which words a document is read in: unigrams, runs of words seen twice, limits on document frequency."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.text.tokens import TokenRows, count_documents
from bayeskit.data.text.word_list import Words
from bayeskit.errors import BayesError, TooLarge
from bayeskit.models.text.reading import LabelledDocuments, document_frequency, has_space, is_inside, with_words
from bayeskit.remedy import Remedy
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import ColumnWords, WordCounts, choose_words, selected
from bayeskit.threads import thread_count
from bayeskit.typing import Array, Bools, Ints

if TYPE_CHECKING:
    from bayeskit.models.text.recipe import Settings

Limits = tuple[int | float, int | float, int | None]
NO_LIMITS: Limits = (1, 1.0, None)
MOST_RUNS = 1 << 26  # of characters in all documents: about 60 bytes each while a model is fitted


def rows_within_limits(read: LabelledDocuments, settings: Settings) -> tuple[TokenRows, bool]:
    """The documents in their words, and whether words were cut off."""
    tokenizer, n_threads = settings.tokenizer(), thread_count(settings.n_threads)
    ((_, rows, pruned),) = candidate_rows(read, (tokenizer,), limits_of(settings), n_threads)
    return rows, pruned


def limits_of(settings: Settings) -> Limits:
    """On the number of documents that have a word, and on the number of words."""
    return settings.min_df, settings.max_df, settings.max_features


def candidate_rows(
    read: LabelledDocuments, tries: Sequence[Tokenizer], limits: Limits, n_threads: int
) -> Iterator[tuple[Tokenizer, TokenRows, bool]]:
    """(tokenizer, documents in its words, whether words were cut off) for each try, of which the last reads most.

    Several tries read the text once: runs of words and of characters count where two documents have them. In buckets
    words have no names to be told apart by, and the first is tried alone.
    """
    most = tries[-1]
    if tried_alone(tries):
        refuse_many_runs(read, tries[0], n_threads)
        yield tries[0], *_within(count_documents(read.texts, tries[0], None, n_threads), read, limits)
        return
    refuse_many_runs(read, most, n_threads)
    rows = count_documents(read.texts, most, None, n_threads)
    inside = is_inside(rows.words) if most.characters else np.zeros(len(rows.words), dtype=bool)
    spaced, twice = has_space(rows.words), document_frequency(rows) >= 2
    for tokenizer in tries:
        pairs, runs = tokenizer.ngrams[1] > 1, tokenizer.characters is not None
        keep = ~(spaced | inside) | (twice & ((spaced & pairs) | (inside & runs)))
        cut, pruned = _within(with_words(rows, keep), read, limits)
        if tokenizer is most:
            del rows  # half of what is held while weights are fitted
        yield tokenizer, cut, pruned or pairs or runs


def tried_alone(tries: Sequence[Tokenizer]) -> bool:
    """Whether there is but the first to try."""
    most = tries[-1]
    return len(tries) == 1 or most.hash_bits is not None or most.pattern in ("char", "char_wb")


def refuse_many_runs(read: LabelledDocuments, tokenizer: Tokenizer, n_threads: int) -> None:
    """Refuse runs of characters that take too much memory, which their words tell before it is taken."""
    if has_many_runs(read, tokenizer, n_threads):
        raise TooLarge(
            f"the words of {len(read.labels):,} documents have over {MOST_RUNS:,} runs of characters, which may take "
            "4 GB to fit: leave ",
            Remedy("characters", clause="{} out"),
            ", or give ",
            Remedy("recipe", "multinomial"),
        )


def has_many_runs(read: LabelledDocuments, tokenizer: Tokenizer, n_threads: int) -> bool:
    """Whether the documents may have too many distinct runs of characters, summed over them."""
    if tokenizer.characters is None:
        return False
    words = replace(tokenizer, ngrams=(1, 1), characters=None, hash_bits=None)
    rows = count_documents(read.texts, words, None, n_threads)
    return int(runs_of(rows.words, *tokenizer.characters)[rows.ids].sum()) > MOST_RUNS


def runs_of(words: Words, shortest: int, longest: int) -> Ints:
    """Runs of characters of each word, at most: a character has a byte or more."""
    length = np.diff(words.offsets)
    return np.asarray(sum(np.maximum(length + 3 - size, 0) for size in range(shortest, longest + 1)))


def _within(rows: TokenRows, read: LabelledDocuments, limits: Limits) -> tuple[TokenRows, bool]:
    if limits == NO_LIMITS:
        return rows, False
    counts = np.bincount(rows.ids, rows.counts, minlength=len(rows.words))
    keep = words_within(document_frequency(rows), counts, len(read.labels), limits)
    return (rows, False) if keep is None else (with_words(rows, keep), True)


def words_within(documents: Array, counts: Array, n_documents: int, limits: Limits) -> Bools | None:
    """Which words the limits keep, by the documents that have them and by their occurrences; None: there are none."""
    if limits == NO_LIMITS:
        return None
    return _some(choose_words(documents, counts, float(n_documents), *limits))


def _some(keep: Bools) -> Bools:
    if len(keep) and not keep.any():
        raise BayesError("After pruning, no terms remain: lower min_df or raise max_df")
    return keep


def check_limits(limits: Limits) -> None:
    """Refuse limits that are no numbers of documents or words."""
    for name, limit in zip(("min_df", "max_df"), limits, strict=False):
        is_share = isinstance(limit, float) and 0 <= limit <= 1
        is_count = isinstance(limit, Integral) and not isinstance(limit, bool) and limit >= 0
        if not is_share and not is_count:
            asked = "give a number of documents from 1 on, or a share from 0.0 to 1.0"
            raise BayesError(f"{name}={limit!r}: {asked}", culprit=limit)
    most = limits[2]
    if most is not None and (not isinstance(most, Integral) or isinstance(most, bool) or most < 1):
        raise BayesError(f"max_features={most!r}: give a whole number from 1 on, or None", culprit=most)


def tally_within_limits(tally: Tally, known: WordCounts | None, settings: Settings) -> Tally:
    """The tally with the words that the settings allow; a vocabulary once cut is held: ``known`` has its words."""
    if COLUMN not in tally.words:
        raise BayesError(f"the tally has no words of a column {COLUMN!r}: it is not of a TextClassifier")
    counted, limits = tally.words[COLUMN], limits_of(settings)
    if known is not None and known.pruned:
        return tally_of_words(tally, np.asarray(known.words.index.find(counted.words.data, counted.words.offsets)) >= 0)
    if counted.pruned or limits == NO_LIMITS:
        return tally
    return tally_of_words(tally, _some(selected(counted, *limits)))


def tally_of_words(tally: Tally, keep: Bools) -> Tally:
    """The tally of some of its words alone."""
    counted = tally.words[COLUMN]
    kept = counted.keep(keep)
    return tally if kept is counted else tally.with_statistic(ColumnWords({COLUMN: kept}))

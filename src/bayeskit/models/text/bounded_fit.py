"""Read labeled documents in one or more candidate vocabularies, under a memory limit.

All documents are held as counted words if that fits into memory. Otherwise all documents are summed by class in parts,
and weights are fitted on a random sample that fits. The size of a fit is estimated before any memory is taken, from
the number of cells (pairs of a document and a distinct word of it), documents, words and classes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.schema import Schema
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.text.tokens import TokenRows, count_documents
from bayeskit.data.text.word_list import WordLimits, Words, union
from bayeskit.errors import AdviceWarning, BayesError, TooLarge, format_setting
from bayeskit.estimate import weighted_evidence
from bayeskit.estimate.weighted_evidence import TrainingDocuments, most_documents, n_features
from bayeskit.memory import memory_allowed, memory_size
from bayeskit.models.text.documents import (
    LabeledDocuments,
    WordSums,
    document_frequency,
    document_lengths,
    is_character_ngram,
    is_ngram,
    select_words,
)
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import ColumnWords, WordCounts
from bayeskit.threads import thread_count
from bayeskit.typing import Array, Bools, Floats, Ints

if TYPE_CHECKING:
    from bayeskit.models.text.classifier import TextClassifier


# Each distinct character n-gram of a document takes about 60 bytes while a model is fitted: 4 GB in all.
MOST_CHARACTER_NGRAMS = 1 << 26
# Estimated bytes of a cell, a document, a document and class, and a feature of a sampled document.
CELL_BYTES, DOCUMENT_BYTES, SCORE_BYTES, FEATURE_BYTES = 40, 64, 32, 16
# Estimated bytes of a word, and of a word and class.
WORD_BYTES, WEIGHT_BYTES = 100, 64
# If fewer documents than this fit, the fit is refused.
LEAST_SAMPLE = 500
# A sample takes this share of the free memory if n-grams are still to be tried, which need tables of their own.
SAMPLE_SHARE = 0.6
# Bytes of text that are counted at a time.
PART_BYTES = 1 << 22
SAMPLE_SEED = 2


# -- limits on the vocabulary ----------------------------------------------------------------------------


NO_LIMITS = WordLimits()


def word_limits(settings: TextClassifier) -> WordLimits:
    """Return the limits on words of a classifier."""
    return WordLimits(settings.min_df, settings.max_df, settings.max_features)


def _select(limits: WordLimits, documents: Array, counts: Array, n_documents: float) -> Bools:
    """Mark the words to keep (n_words,); refuse limits that leave no word."""
    keep = limits.choose(documents, counts, float(n_documents))
    if len(keep) and not keep.any():
        raise BayesError("After pruning, no terms remain: lower min_df or raise max_df")
    return keep


def limit_tally(tally: Tally, known: WordCounts | None, settings: TextClassifier) -> Tally:
    """Restrict a tally to the words that the settings allow, or to those of a vocabulary that was pruned before."""
    if COLUMN not in tally.words:
        raise BayesError(f"the tally has no words of a column {COLUMN!r}: it is not of a TextClassifier")
    counted, limits = tally.words[COLUMN], word_limits(settings)
    if known is not None and known.pruned:
        return restrict_tally(tally, np.asarray(known.words.index.find(counted.words.data, counted.words.offsets)) >= 0)
    if counted.pruned or limits == NO_LIMITS:
        return tally
    totals = counted.totals("documents"), counted.totals("counts"), float(counted.n_documents.sum())
    return restrict_tally(tally, _select(limits, *totals))


def restrict_tally(tally: Tally, keep: Bools) -> Tally:
    """Restrict a tally to the marked words."""
    counted = tally.words[COLUMN]
    kept = counted.keep(keep)
    return tally if kept is counted else tally.with_statistic(ColumnWords({COLUMN: kept}))


# -- character n-grams -----------------------------------------------------------------------------------


def has_many_character_ngrams(read: LabeledDocuments, tokenizer: Tokenizer, n_threads: int) -> bool:
    """Return True if the documents may have too many distinct character n-grams in all."""
    if tokenizer.characters is None:
        return False
    words = replace(tokenizer, ngrams=(1, 1), characters=None, hash_bits=None)
    rows = count_documents(read.texts, words, None, n_threads)
    return int(_most_character_ngrams(rows.words, *tokenizer.characters)[rows.ids].sum()) > MOST_CHARACTER_NGRAMS


def _refuse_many_character_ngrams(read: LabeledDocuments, tokenizer: Tokenizer, n_threads: int) -> None:
    if has_many_character_ngrams(read, tokenizer, n_threads):
        raise TooLarge(
            f"the words of {len(read.labels):,} documents have over {MOST_CHARACTER_NGRAMS:,} runs of characters, "
            "which may take 4 GB to fit:",
            hint=f"leave characters= out, or give {format_setting('recipe', 'multinomial')}",
        )


def _most_character_ngrams(words: Words, shortest: int, longest: int) -> Ints:
    """Bound the number of character n-grams of each word (words,): a character has one byte or more."""
    length = np.diff(words.offsets)
    return np.asarray(sum(np.maximum(length + 3 - size, 0) for size in range(shortest, longest + 1)))


# -- reading ---------------------------------------------------------------------------------------------


def all_rows(read: LabeledDocuments, settings: TextClassifier, bounded: bool = True) -> tuple[TokenRows, bool]:
    """Count the words of all documents; also return True if the vocabulary is pruned.

    If ``bounded``, documents that need more than the memory limit are refused.
    """
    reader = BoundedReader.of(read, [settings.tokenizer()], settings)
    if bounded:
        reader.check_all_fit()
    ((_, rows, pruned),) = reader.candidate_rows()
    return rows, pruned


class ValueRule(Protocol):
    """The values that a recipe sums for each word, and the words that it ignores as evidence."""

    def values(self, rows: TokenRows) -> Floats:
        """Compute the value of each cell (cells,)."""
        ...

    def ignored(self, words: Words) -> Bools | None:
        """Mark words that are counted but are no evidence (words,); None if all are evidence."""
        ...


@dataclass(frozen=True)
class DocumentReading:
    """Documents read in one vocabulary: sums over all of them, and the documents held to fit weights on."""

    tokenizer: Tokenizer
    rows: TokenRows
    pruned: bool
    sums: WordSums
    documents: TrainingDocuments
    class_counts: Floats
    is_sample: bool = False

    @classmethod
    def of(
        cls,
        tokenizer: Tokenizer,
        rows: TokenRows,
        pruned: bool,
        read: LabeledDocuments,
        rule: ValueRule,
        whole: tuple[LabeledDocuments, WordSums] | None = None,
    ) -> DocumentReading:
        """Build a reading of all documents, or of a sample ``read`` of the documents and sums in ``whole``."""
        mass, ignored = rule.values(rows), rule.ignored(rows.words)
        everything, sums = whole or (read, WordSums.of(rows, mass, read))
        class_mass = sums.values
        if ignored is not None:
            mass, class_mass = np.where(ignored[rows.ids], 0.0, mass), np.where(ignored[:, None], 0.0, class_mass)
        class_counts, n_documents = everything.class_counts, sums.documents.sum(axis=1)
        log_prior = logspace.log(class_counts / class_counts.sum())
        importance = np.ones(len(read.labels)) if read.weights is None else read.weights
        documents = TrainingDocuments(
            rows.indptr, rows.ids, rows.counts, read.labels, importance, class_mass, n_documents,
            log_prior, read.classes, weighted_evidence.bands_of(n_documents), mass,
        )  # fmt: skip
        return cls(tokenizer, rows, pruned, sums, documents, class_counts, whole is not None)

    def tally(self, schema: Schema, read: LabeledDocuments) -> Tally:
        """Build the tally of all documents."""
        return self.sums.tally(schema, read, self.pruned)

    @property
    def features(self) -> str:
        """Name the kinds of features, such as "words, pairs"."""
        pairs, characters = self.tokenizer.ngrams[1] > 1, self.tokenizer.characters is not None
        return "words" + ", pairs" * pairs + ", characters" * characters


class _Sizes(NamedTuple):
    """The vocabulary of the first tokenizer, whether it is pruned, and a bound on the cells of each document."""

    words: Words
    pruned: bool
    cells: Ints


@dataclass(frozen=True)
class BoundedReader:
    """Read documents by several tokenizers, of which the last one reads most, within a memory limit.

    ``n_sampled`` is the number of documents whose evidence features are held at most while weights are fitted.
    """

    read: LabeledDocuments
    tokenizers: Sequence[Tokenizer]
    limits: WordLimits
    memory_limit: float | None
    n_threads: int
    n_sampled: int = 0

    @classmethod
    def of(
        cls, read: LabeledDocuments, tokenizers: Sequence[Tokenizer], settings: TextClassifier, n_sampled: int = 0
    ) -> BoundedReader:
        """Take limits and threads from the settings of a classifier."""
        n_threads = thread_count(settings.n_threads)
        return cls(read, tokenizers, word_limits(settings), settings.memory_limit, n_threads, n_sampled)

    def readings(self, rule: Callable[[Tokenizer], ValueRule]) -> Iterator[DocumentReading]:
        """Yield a reading for each tokenizer; later ones whose tables do not fit are left out."""
        if self.surely_fits(self.tokenizers[-1]) and (yield from self._readings_of_all(rule)):
            return
        tokenizers = self.tokenizers[:1] if self._reads_first_only else self.tokenizers
        sizes = self.measure(tokenizers)
        sample = self._draw_sample(sizes, 1.0 if len(tokenizers) == 1 else SAMPLE_SHARE)
        if len(sample) < len(self.read.labels):
            self._warn_of_sample(len(sample), sizes)
            yield from self._sampled_readings(tokenizers, sizes, self.read.take(sample), rule)
        else:
            yield from self._readings_of_all(rule)

    def _readings_of_all(self, rule: Callable[[Tokenizer], ValueRule]) -> Generator[DocumentReading, None, bool]:
        """Yield readings of all documents as long as they fit; return True if the first one does."""
        is_read = False
        for tokenizer, rows, pruned in self.candidate_rows():
            if not self._fits(rows):
                break
            yield DocumentReading.of(tokenizer, rows, pruned, self.read, rule(tokenizer))
            is_read = True
        return is_read

    def candidate_rows(self) -> Iterator[tuple[Tokenizer, TokenRows, bool]]:
        """Yield (tokenizer, documents in its words, whether words were pruned) for each tokenizer.

        The text is read once for all tokenizers. N-grams of words and characters count if two documents have them.
        """
        read, n_threads = self.read, self.n_threads
        most = self.tokenizers[-1]
        if self._reads_first_only:
            first = self.tokenizers[0]
            _refuse_many_character_ngrams(read, first, n_threads)
            yield first, *self._limit_words(count_documents(read.texts, first, None, n_threads))
            return
        _refuse_many_character_ngrams(read, most, n_threads)
        rows = count_documents(read.texts, most, None, n_threads)
        inside = is_character_ngram(rows.words) if most.characters else np.zeros(len(rows.words), dtype=bool)
        several, twice = is_ngram(rows.words), document_frequency(rows) >= 2
        for tokenizer in self.tokenizers:
            pairs, characters = tokenizer.ngrams[1] > 1, tokenizer.characters is not None
            own = ~(several | inside) | (several & pairs) | (inside & characters)
            keep = own & (twice | ~(several | inside))
            # The lengths are those by this tokenizer, which alone counts the documents that are forgotten.
            lengths = document_lengths(rows, own)
            cut, pruned = self._limit_words(replace(select_words(rows, keep), lengths=lengths))
            if tokenizer is most:
                # Half of the memory that is held while weights are fitted.
                del rows
            yield tokenizer, cut, pruned or pairs or characters

    def _limit_words(self, rows: TokenRows) -> tuple[TokenRows, bool]:
        """Restrict documents to the words within the limits; also return True if there are limits."""
        if self.limits == NO_LIMITS:
            return rows, False
        counts = np.bincount(rows.ids, rows.counts, minlength=len(rows.words))
        return select_words(rows, _select(self.limits, document_frequency(rows), counts, len(self.read.labels))), True

    def check_all_fit(self) -> None:
        """Refuse documents that need more than the memory limit."""
        if self.surely_fits(self.tokenizers[-1]):
            return
        sizes = self.measure(self.tokenizers)
        if (needed := self.bytes_needed(sizes)) > self.limit:
            raise TooLarge(
                f"{len(sizes.cells):,} documents in their words take {memory_size(needed)}, more than "
                f"memory_limit={memory_size(self.limit)}:",
                hint=f"give more of it (memory_limit=), or {format_setting('recipe', 'auto')}, which counts all and "
                "fits weights on a part",
            )

    @property
    def _reads_first_only(self) -> bool:
        """True if only the first tokenizer is used: hashed words do not show which of them are n-grams."""
        most = self.tokenizers[-1]
        return len(self.tokenizers) == 1 or most.hash_bits is not None or most.pattern in ("char", "char_wb")

    # -- memory --------------------------------------------------------------------------------------

    @cached_property
    def limit(self) -> float:
        """Bytes that the fit may take."""
        return memory_allowed(self.memory_limit)

    def document_bytes(self, n_cells: npt.ArrayLike, n_documents: npt.ArrayLike) -> Floats:
        """Estimate the bytes of documents as counted words, with their scores and the features of some."""
        n_classes = len(self.read.classes)
        n_sampled = min(self.n_sampled, most_documents(n_classes))
        features = FEATURE_BYTES * n_features(n_classes) * np.minimum(n_documents, n_sampled)
        each = (DOCUMENT_BYTES + SCORE_BYTES * n_classes) * np.asarray(n_documents, np.float64)
        return np.asarray(CELL_BYTES * np.asarray(n_cells, np.float64) + each + features)

    def word_bytes(self, n_words: int) -> float:
        """Estimate the bytes of the tables of words."""
        return float(n_words) * (WORD_BYTES + WEIGHT_BYTES * len(self.read.classes))

    def _fits(self, rows: TokenRows) -> bool:
        taken = self.document_bytes(len(rows.ids), len(rows.lengths)) + self.word_bytes(len(rows.words))
        return bool(taken <= self.limit)

    def surely_fits(self, tokenizer: Tokenizer) -> bool:
        """Return True if the documents fit whatever their words are: a word has one byte or more."""
        shortest, longest = tokenizer.ngrams
        n_grams = longest - shortest + 1
        if tokenizer.characters is not None:
            n_grams += 3 * (tokenizer.characters[1] - tokenizer.characters[0] + 1)
        return bool(self.document_bytes(n_grams * len(self.read.texts.data), len(self.read.labels)) <= self.limit)

    def measure(self, tokenizers: Sequence[Tokenizer]) -> _Sizes:
        """Count the words of the first tokenizer in parts, and bound the n-grams that the others add."""
        read, first, most = self.read, tokenizers[0], tokenizers[-1]
        words, totals = Words.of([]), np.zeros((2, 0))
        cells = np.zeros(len(read.labels), np.int64)
        for part in read.texts.parts(PART_BYTES):
            texts = read.texts.part(part)
            rows = count_documents(texts, first, None, self.n_threads)
            cells[part] = np.diff(rows.indptr)
            if longer := most.ngrams[1] - first.ngrams[1]:
                plain = replace(first, characters=None)
                single = rows if plain == first else count_documents(texts, plain, None, self.n_threads)
                cells[part] += longer * single.lengths
            if most.characters is not None and first.characters is None:
                inside = _most_character_ngrams(rows.words, *most.characters)[rows.ids]
                cells[part] += np.diff(np.concatenate([[0], np.cumsum(inside)])[rows.indptr])
            words, before, now = union(words, rows.words)
            sums = np.zeros((2, len(words)))
            sums[:, before] = totals
            sums[0, now] += document_frequency(rows)
            sums[1, now] += np.bincount(rows.ids, rows.counts, minlength=len(rows.words))
            totals = sums
        if pruned := self.limits != NO_LIMITS:
            words = words.take(_select(self.limits, totals[0], totals[1], len(read.labels)))
        return _Sizes(words, pruned, cells)

    def bytes_needed(self, sizes: _Sizes) -> float:
        """Estimate the bytes of all documents and words."""
        return float(self.document_bytes(sizes.cells.sum(), len(sizes.cells))) + self.word_bytes(len(sizes.words))

    def _draw_sample(self, sizes: _Sizes, share: float) -> Ints:
        """Draw documents that fit beside the word tables into a share of the free memory; all of them if they fit."""
        n, tables = len(sizes.cells), self.word_bytes(len(sizes.words))
        if self.bytes_needed(sizes) <= self.limit:
            return np.arange(n)
        order = np.random.default_rng(SAMPLE_SEED).permutation(n)
        taken = self.document_bytes(np.cumsum(sizes.cells[order]), np.arange(1, n + 1))
        least = min(n, LEAST_SAMPLE)
        if tables + taken[least - 1] > self.limit:
            raise TooLarge(
                f"{len(sizes.words):,} words of {len(self.read.classes):,} classes and {least:,} documents take "
                f"{memory_size(tables + taken[least - 1])} to fit, more than memory_limit={memory_size(self.limit)}:",
                hint="give more of it (memory_limit=), or fewer words (hash_bits=, min_df= or max_features=)",
            )
        n_drawn = int(np.searchsorted(taken, share * (self.limit - tables), side="right"))
        return np.sort(order[: max(n_drawn, least)])

    def _warn_of_sample(self, n_drawn: int, sizes: _Sizes) -> None:
        warnings.warn(
            AdviceWarning(
                f"all {len(sizes.cells):,} documents are counted, and weights are fitted on {n_drawn:,} of them, drawn "
                f"at random: all take {memory_size(self.bytes_needed(sizes))}, more than "
                f"memory_limit={memory_size(self.limit)}.",
                hint="For more of them give memory_limit=",
            ),
            stacklevel=2,
        )

    # -- samples -------------------------------------------------------------------------------------

    def _sampled_readings(
        self,
        tokenizers: Sequence[Tokenizer],
        sizes: _Sizes,
        sample: LabeledDocuments,
        rule: Callable[[Tokenizer], ValueRule],
    ) -> Iterator[DocumentReading]:
        """Yield readings of a sample, with sums over all documents; n-grams count if two of the sample have them."""
        for tokenizer in tokenizers:
            words, is_first = sizes.words, tokenizer is tokenizers[0]
            if not is_first:
                words = self._add_ngrams(words, tokenizer, sample)
                n = len(sample.labels)
                cells = float(sizes.cells.sum()) * n / len(sizes.cells)
                if self.word_bytes(len(words)) + self.document_bytes(cells, n) > self.limit:
                    return
            own = rule(tokenizer)
            rows = count_documents(sample.texts, tokenizer, words, self.n_threads)
            sums = self._sum_all(tokenizer, words, own.values)
            pruned = sizes.pruned or not is_first
            yield DocumentReading.of(tokenizer, rows, pruned, sample, own, (self.read, sums))

    def _add_ngrams(self, words: Words, tokenizer: Tokenizer, sample: LabeledDocuments) -> Words:
        """Add the n-grams of words and characters that two documents of the sample have."""
        rows = count_documents(sample.texts, tokenizer, None, self.n_threads)
        several = is_ngram(rows.words)
        if tokenizer.characters is not None:
            several |= is_character_ngram(rows.words)
        words = union(words, rows.words.take(several & (document_frequency(rows) >= 2)))[0]
        if self.limits == NO_LIMITS:
            return words
        counted = self._sum_all(tokenizer, words, lambda rows: rows.counts.astype(np.float64))
        totals = counted.documents.sum(axis=1), counted.values.sum(axis=1)
        return words.take(_select(self.limits, *totals, len(self.read.labels)))

    def _sum_all(self, tokenizer: Tokenizer, words: Words, values: Callable[[TokenRows], Floats]) -> WordSums:
        """Sum cell values over all documents, in parts."""
        read = self.read
        sums = WordSums.zeros(words, len(read.classes), len(read.labels))
        for part in read.texts.parts(PART_BYTES):
            rows = count_documents(read.texts.part(part), tokenizer, words, self.n_threads)
            sums.add(rows, values(rows), read, part)
        return sums

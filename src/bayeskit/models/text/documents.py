"""Documents in memory: read them under a memory limit, count their words, and sum the counts by class.

All documents are held as counted words if that fits into memory. Otherwise all documents are summed by class in parts,
and weights are fitted on a random sample that fits. The size of a fit is estimated before any memory is taken, from
the number of cells (pairs of a document and a distinct word of it), documents, words and classes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.encoder import encode_labels
from bayeskit.data.frames import MemorySource, collected, columns_of, open_source
from bayeskit.data.schema import Schema, Text
from bayeskit.data.source import Responsibilities, Source, as_weights
from bayeskit.data.text.documents import Documents
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.text.tokens import TokenRows, count_documents
from bayeskit.data.text.word_list import WordLimits, Words, union, unpack_words
from bayeskit.data.vocabulary import Value, Vocabulary, positions, sort_values
from bayeskit.errors import AdviceWarning, BayesError, TooLarge, format_setting, with_article
from bayeskit.estimate import weighted_evidence
from bayeskit.estimate.repeats import join_equal_documents, relative_weights
from bayeskit.estimate.weighted_evidence import TrainingDocuments
from bayeskit.estimate.word_weights import document_parts
from bayeskit.lazy import pa
from bayeskit.memory import memory_allowed, memory_size
from bayeskit.tally.plan import Space
from bayeskit.tally.row_hash import mix_bits
from bayeskit.tally.rows import StoredDocuments
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import ColumnWords, WordCounts, length_moments
from bayeskit.typing import Array, Bools, Floats, Ints

if TYPE_CHECKING:
    from bayeskit.models.text.classifier import TextClassifier
    from bayeskit.models.text.recipe import TrainingSource
    from bayeskit.models.text.weighted_evidence import WeightedEvidence

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


def text_column(X: Any, name: str | None = None) -> Any:
    """Return the documents of ``X``: itself, or the named or only column of a table."""
    if X is None:
        raise BayesError("there are no documents: X is None")
    X = collected(X)
    if isinstance(X, (str, bytes)):
        raise BayesError("one document is a list of one: pass [text]. (A string alone would be read letter by letter.)")
    if isinstance(X, (set, frozenset)):
        raise BayesError(
            f"{with_article(type(X).__name__)} has no order, so that no label belongs to a document: pass a list"
        )
    records = isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(cell, Mapping) for cell in X)
    is_table = hasattr(X, "columns") or hasattr(X, "column_names") or (not hasattr(X, "ndim") and hasattr(X, "keys"))
    if records or is_table:
        names, columns, _, _ = columns_of(X)
        if name is None and len(names) == 1:
            name = names[0]
        if name not in columns:
            raise BayesError(
                f"which column holds the text? column={name!r}, and the columns are {', '.join(names)}. "
                "Pass the column itself, or its name as column="
            )
        return columns[name]
    if getattr(X, "ndim", 1) == 2 and X.shape[1] == 1 and not hasattr(X, "tocsr"):
        X = X[:, 0]
    if hasattr(X, "tocsr"):
        raise BayesError("documents are expected, not a matrix of counts: MultinomialNB and ComplementNB take those")
    if isinstance(X, (np.ndarray, pa.Array, pa.ChunkedArray)):
        return X
    if type(X).__module__.partition(".")[0] in ("pandas", "polars"):
        return X.to_arrow() if hasattr(X, "to_arrow") else X.to_numpy(dtype=object)
    if not isinstance(X, Iterable):
        raise BayesError(
            f"documents are strings in a list, series or column, not {with_article(type(X).__name__)}: pass [text]"
        )
    cells = list(X)
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    return column


def refuse_plain_text(X: Any, y: str) -> None:
    """Raise an error for one label where documents are not a table with a column of this name."""
    one = isinstance(X, str) and not X.startswith(("postgresql://", "postgres://"))
    one = one and not set(X) & set("*?[") and not Path(X).expanduser().exists()
    if one or (isinstance(X, (list, tuple)) and X and all(isinstance(text, str) for text in X)):
        given = f"X is not a file, but the text {X[:40]!r}" if isinstance(X, str) else "X is a list of texts"
        raise BayesError(
            f"y={y!r} is one label, and {given}", hint="pass lists of equal length: fit([text, ...], [label, ...])"
        )


def documents_source(X: Any, y: Any = None, weights: Any = None, column: str | None = None) -> MemorySource:
    """Build a source of one text column; labels may be the name of a column beside it."""
    target = None
    if isinstance(y, str):
        refuse_plain_text(X, y)
        table: Any = open_source(X, y)
        X, target, y = table.columns, y, table.labels
    documents = text_column(X, column)
    n = len(documents)
    return MemorySource({COLUMN: documents}, n, False, target, y, as_weights(weights, n))


def stored_source(kept: StoredDocuments, tally: Tally) -> MemorySource:
    """Build the source of the documents that a tally keeps."""
    rows = kept.all_rows
    stored = rows.cells[COLUMN]
    texts = np.array(unpack_words(stored.data, stored.offsets), dtype=object)
    texts[stored.missing] = None
    labels = np.array(tally.classes, dtype=object)[rows.labels]
    return MemorySource({COLUMN: texts}, len(labels), False, tally.schema.target.name, labels, rows.weights)


@dataclass(frozen=True)
class LabeledDocuments:
    """Documents of positive weight in memory, with labels as codes of sorted classes."""

    texts: Documents
    labels: Ints
    weights: Floats | None
    classes: tuple[Value, ...]

    @property
    def class_counts(self) -> Floats:
        """Number or total weight of the documents of each class (n_classes,)."""
        return np.bincount(self.labels, self.weights, minlength=len(self.classes)).astype(np.float64)

    def take(self, rows: Array) -> LabeledDocuments:
        """Select documents; the classes stay the same."""
        weights = None if self.weights is None else self.weights[rows]
        return LabeledDocuments(self.texts.take(rows), self.labels[rows], weights, self.classes)

    @property
    def importance(self) -> Floats:
        """Weights relative to a mean of one (n_documents,), by which documents count where weights are fitted."""
        relative = relative_weights(self.weights)
        return np.ones(len(self.labels)) if relative is None else relative

    def join_copies(self) -> LabeledDocuments:
        """Replace equal documents of a class by one with the sum of their weights.

        A document that is left out while its copy stays is not left out at all.
        """
        data, at = self.texts.data, self.texts.offsets.tolist()
        digests = b"".join(blake2b(data[a:b].data, digest_size=8).digest() for a, b in pairwise(at))
        kinds = (2 * self.labels + self.texts.missing).astype(np.uint64)
        keys = mix_bits(np.frombuffer(digests, np.uint64) + mix_bits(kinds))
        joined = join_equal_documents(keys, np.diff(self.texts.offsets), self.weights)
        return self if joined is None else replace(self.take(joined[0]), weights=joined[1])


def read_documents(source: Source, limit: float = inf, *, shares: bool = False) -> LabeledDocuments:
    """Read all documents of a source into memory, at most ``limit`` bytes of text.

    If ``shares``, a document with class probabilities is one document of each class, weighted by its probability.
    """
    known, n_bytes = Vocabulary(), 0
    texts, labels, weights = [], [], []
    for batch in source.batches():
        if isinstance(batch.labels, Responsibilities):
            if not shares:
                raise BayesError("this recipe needs one label for each document, not class probabilities")
            batch = batch.with_one_label()
        codes = encode_labels(batch.labels, known, batch.start, grow=True).astype(np.int64)
        part = Documents.of(batch.columns[COLUMN], COLUMN, batch.start)
        if batch.weights is not None:
            kept = np.flatnonzero(batch.weights > 0)
            part, codes = part.take(kept), codes[kept]
            weights.append(batch.weights[kept])
        if (n_bytes := n_bytes + len(part.data)) > limit:
            raise TooLarge(
                f"the texts take more than memory_limit={memory_size(limit)}, and are held while weights are fitted:",
                hint="give more memory_limit=, or "
                f"{format_setting('recipe', 'multinomial')}, which reads them in parts",
            )
        texts.append(part)
        labels.append(codes)
    if not sum(map(len, labels)):
        raise BayesError("there are no documents: Found array with 0 sample(s) while a minimum of 1 is required.")
    codes = np.concatenate(labels)
    in_order = tuple(sort_values({known.values[i] for i in np.unique(codes)}))
    codes = positions(known.values, in_order)[codes]
    return LabeledDocuments(Documents.concatenate(texts), codes, np.concatenate(weights) if weights else None, in_order)


def select_words(rows: TokenRows, keep: Bools) -> TokenRows:
    """Restrict documents to some of their words, in parts that keep temporary arrays small."""
    if keep.all():
        return rows
    new, sizes = (np.cumsum(keep) - 1).astype(rows.ids.dtype), np.zeros(len(rows.lengths), np.int64)
    for some, cells in document_parts(rows.indptr):
        starts = rows.indptr[some.start : some.stop + 1] - cells.start
        sizes[some] = np.diff(np.concatenate([[0], np.cumsum(keep[rows.ids[cells]])])[starts])
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    ids, counts = np.empty(indptr[-1], rows.ids.dtype), np.empty(indptr[-1], rows.counts.dtype)
    for some, cells in document_parts(rows.indptr):
        known, at = keep[rows.ids[cells]], slice(indptr[some.start], indptr[some.stop])
        ids[at], counts[at] = new[rows.ids[cells][known]], rows.counts[cells][known]
    return replace(rows, words=rows.words.take(keep), indptr=indptr, ids=ids, counts=counts)


def values_matrix(rows: TokenRows, values: Floats | None = None) -> Any:
    """Build the CSR matrix (documents, words) of one value, by default 1, for each cell."""
    from scipy.sparse import csr_matrix

    values = np.ones(len(rows.ids)) if values is None else values
    made = csr_matrix((values, rows.ids, rows.indptr), shape=(len(rows.lengths), len(rows.words)))
    made.sort_indices()
    return made


def content_hash(rows: TokenRows) -> npt.NDArray[np.uint64]:
    """Hash the words and counts of each document (documents,)."""
    cells = (rows.ids.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    cells = (cells ^ (cells >> np.uint64(29))) * (rows.counts.astype(np.uint64) * np.uint64(2) + np.uint64(1))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(cells, dtype=np.uint64)])
    return np.asarray(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]])


def document_frequency(rows: TokenRows, weights: Floats | None = None) -> Floats:
    """Count the documents, or sum their weights, that have each word (words,)."""
    sums = np.zeros(len(rows.words))
    for some, cells in document_parts(rows.indptr):
        sizes = np.diff(rows.indptr[some.start : some.stop + 1])
        np.add.at(sums, rows.ids[cells], 1.0 if weights is None else np.repeat(weights[some], sizes))
    return sums


def document_lengths(rows: TokenRows, counted: Bools) -> Ints:
    """Count the tokens of each document (documents,) that are among the marked words."""
    lengths = np.zeros(len(rows.lengths), np.int64)
    for some, cells in document_parts(rows.indptr):
        starts = rows.indptr[some.start : some.stop + 1] - cells.start
        sums = np.cumsum(rows.counts[cells] * counted[rows.ids[cells]], dtype=np.int64)
        lengths[some] = np.diff(np.concatenate([[0], sums])[starts])
    return lengths


def is_ngram(words: Words) -> Bools:
    """Mark the n-grams of two or more words (words,)."""
    found = np.zeros(len(words), dtype=bool)
    found[np.searchsorted(words.offsets, np.flatnonzero(words.data == ord(" ")), side="right") - 1] = True
    return found


def is_character_ngram(words: Words) -> Bools:
    """Mark the character n-grams that ``Tokenizer(characters=…)`` cuts inside words (words,)."""
    first, last = words.offsets[:-1], words.offsets[1:] - 1
    long = last > first
    marked = np.append(words.data, 0) == ord("-")
    return np.asarray(long & (marked[first] | marked[last]) & ~is_ngram(words))


def add_by_class(rows: TokenRows, values: Floats | None, labels: Array, weights: Floats | None, sums: Floats) -> Floats:
    """Add the value of each cell, or 1, to ``sums`` (words, classes); parts give the same bits as the whole."""
    n_classes, flat = np.int64(sums.shape[1]), sums.reshape(-1)
    for some, cells in document_parts(rows.indptr):
        sizes = np.diff(rows.indptr[some.start : some.stop + 1])
        keys = rows.ids[cells] * n_classes + np.repeat(labels[some], sizes)
        by = np.ones(len(keys)) if values is None else values[cells]
        np.add.at(flat, keys, by if weights is None else by * np.repeat(weights[some], sizes))
    return sums


@dataclass(frozen=True)
class WordSums:
    """Sums over documents: word values, and documents that have the word, both (words, classes).

    ``lengths`` (documents,) are numbers of tokens.
    """

    words: Words
    values: Floats
    documents: Floats
    lengths: Floats

    @classmethod
    def zeros(cls, words: Words, n_classes: int, n_documents: int) -> WordSums:
        """Return empty sums."""
        shape = (len(words), n_classes)
        return cls(words, np.zeros(shape), np.zeros(shape), np.zeros(n_documents))

    @classmethod
    def of(cls, rows: TokenRows, values: Floats, read: LabeledDocuments) -> WordSums:
        """Sum over all documents."""
        sums = cls.zeros(rows.words, len(read.classes), len(read.labels))
        return sums.add(rows, values, read, slice(0, len(read.labels)))

    def add(self, rows: TokenRows, values: Floats, read: LabeledDocuments, some: slice) -> WordSums:
        """Add a contiguous slice of the documents."""
        labels, weights = read.labels[some], None if read.weights is None else read.weights[some]
        add_by_class(rows, values, labels, weights, self.values)
        add_by_class(rows, None, labels, weights, self.documents)
        self.lengths[some] = np.where(read.texts.missing[some], np.nan, rows.lengths)
        return self

    def tally(self, schema: Schema, read: LabeledDocuments, pruned: bool) -> Tally:
        """Build a tally that holds these values instead of word counts."""
        k = len(read.classes)
        moments = length_moments(self.lengths, read.labels.astype(np.uint32), k, read.weights)
        moments = replace(moments, n=moments.n.astype(np.float64))
        keys = np.flatnonzero(self.documents)
        counted = WordCounts.of_keys(
            self.words, keys, self.values.ravel()[keys], self.documents.ravel()[keys], k, moments, pruned=pruned
        )  # fmt: skip
        space = Space(schema, read.classes, {}, weighted=True)
        return Tally.of(space, read.class_counts, ColumnWords({COLUMN: counted}))


def count_values(training: TrainingSource, words: Words | None, values: Callable[[TokenRows], Floats]) -> Tally:
    """Build the tally of further documents from cell values, in a fixed vocabulary or, if None, in their own words."""
    read, role = training.weighted_documents, training.schema.columns[COLUMN]
    tokenizer = role.tokenizer if isinstance(role, Text) else training.settings.tokenizer()
    rows = count_documents(read.texts, tokenizer, words, training.settings._threads())
    return WordSums.of(rows, values(rows), read).tally(training.schema, read, words is not None)


# -- limits on the vocabulary ----------------------------------------------------------------------------


def _select(limits: WordLimits, totals: Any, n_documents: float) -> Bools:
    """Mark the words to keep (n_words,); refuse limits that leave no word."""
    keep = limits.choose(totals, float(n_documents))
    if len(keep) and not keep.any():
        raise BayesError("After pruning, no terms remain: lower min_df or raise max_df")
    return keep


def limit_tally(tally: Tally, known: WordCounts | None, settings: TextClassifier) -> Tally:
    """Restrict a tally to the words that the settings allow, or to those of a vocabulary that was pruned before."""
    if COLUMN not in tally.words:
        raise BayesError(f"the tally has no words of a column {COLUMN!r}: it is not of a TextClassifier")
    counted, limits = tally.words[COLUMN], WordLimits.of(settings)
    if known is not None and known.pruned:
        return restrict_tally(tally, np.asarray(known.words.index.find(counted.words.data, counted.words.offsets)) >= 0)
    if counted.pruned or limits == WordLimits():
        return tally
    totals = counted.totals("documents"), counted.totals("counts")
    return restrict_tally(tally, _select(limits, totals, float(counted.n_documents.sum())))


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


Sampled = tuple[LabeledDocuments, WordSums] | None
Rule = Callable[[Tokenizer], Any]  # the recipe to use with a tokenizer


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

    def tally(self, training: TrainingSource) -> Tally:
        """Build the tally of all documents."""
        schema = replace(training.schema, columns={COLUMN: Text(self.tokenizer)})
        return self.sums.tally(schema, training.distinct_documents, self.pruned)

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
        n_threads = settings._threads()
        return cls(read, tokenizers, WordLimits.of(settings), settings.memory_limit, n_threads, n_sampled)

    def readings(self, rule: Rule) -> Iterator[DocumentReading]:
        """Yield a reading for each tokenizer; later ones whose tables do not fit are left out."""
        if self.surely_fits(self.tokenizers[-1]) and (yield from self._readings_of_all(rule)):
            return
        tokenizers = self.tokenizers[:1] if self._reads_first_only else self.tokenizers
        sizes = self.measure(tokenizers)
        sample = self._draw_sample(sizes, 1.0 if len(tokenizers) == 1 else SAMPLE_SHARE)
        if len(sample) < len(self.read.labels):
            warnings.warn(
                AdviceWarning(
                    f"all {len(sizes.cells):,} documents are counted, and weights are fitted on {len(sample):,} of "
                    f"them, drawn at random: all take {memory_size(self.bytes_needed(sizes))}, more than "
                    f"memory_limit={memory_size(self.limit)}.",
                    hint="For more of them give memory_limit=",
                ),
                stacklevel=2,
            )
            yield from self._sampled_readings(tokenizers, sizes, self.read.take(sample), rule)
        else:
            yield from self._readings_of_all(rule)

    def _reading(
        self,
        tokenizer: Tokenizer,
        rows: TokenRows,
        pruned: bool,
        rule: WeightedEvidence,
        sampled: Sampled = None,
    ) -> DocumentReading:
        """Build a reading of all documents, or of a sample, given with the sums over all documents."""
        mass, ignored = rule.values(rows), rule.ignored(rows.words)
        read, sums = sampled or (self.read, WordSums.of(rows, mass, self.read))
        class_mass, class_counts, n_documents = sums.values, self.read.class_counts, sums.documents.sum(axis=1)
        if ignored is not None:
            mass, class_mass = np.where(ignored[rows.ids], 0.0, mass), np.where(ignored[:, None], 0.0, class_mass)
        log_prior = logspace.log(class_counts / class_counts.sum())
        weights = np.ones(len(read.labels)) if read.weights is None else read.weights
        documents = TrainingDocuments(
            rows.indptr, rows.ids, rows.counts, read.labels, weights, read.importance, class_mass, n_documents,
            log_prior, read.classes, weighted_evidence.bands_of(n_documents), mass,
        )  # fmt: skip
        return DocumentReading(tokenizer, rows, pruned, sums, documents, class_counts, sampled is not None)

    def _readings_of_all(self, rule: Rule) -> Generator[DocumentReading, None, bool]:
        """Yield readings of all documents as long as they fit; return True if the first one does."""
        is_read = False
        for tokenizer, rows, pruned in self.candidate_rows():
            taken = self.document_bytes(len(rows.ids), len(rows.lengths)) + self.word_bytes(len(rows.words))
            if taken > self.limit:
                break
            yield self._reading(tokenizer, rows, pruned, rule(tokenizer))
            is_read = True
        return is_read

    def candidate_rows(self) -> Iterator[tuple[Tokenizer, TokenRows, bool]]:
        """Yield (tokenizer, documents in its words, whether words were pruned) for each tokenizer.

        The text is read once for all tokenizers. N-grams of words and characters count if two documents have them.
        """
        most = self.tokenizers[0 if self._reads_first_only else -1]
        if has_many_character_ngrams(self.read, most, self.n_threads):
            raise TooLarge(
                f"the words of {len(self.read.labels):,} documents have over {MOST_CHARACTER_NGRAMS:,} runs of "
                "characters, which may take 4 GB to fit:",
                hint=f"leave characters= out, or give {format_setting('recipe', 'multinomial')}",
            )
        rows = count_documents(self.read.texts, most, None, self.n_threads)
        if self._reads_first_only:
            yield most, *self._limit_words(rows)
            return
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
        if self.limits == WordLimits():
            return rows, False
        return select_words(rows, _select(self.limits, rows.totals(), len(self.read.labels))), True

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
        n_sampled = min(self.n_sampled, weighted_evidence.most_documents(n_classes))
        features = FEATURE_BYTES * weighted_evidence.n_features(n_classes) * np.minimum(n_documents, n_sampled)
        each = (DOCUMENT_BYTES + SCORE_BYTES * n_classes) * np.asarray(n_documents, np.float64)
        return np.asarray(CELL_BYTES * np.asarray(n_cells, np.float64) + each + features)

    def word_bytes(self, n_words: int) -> float:
        """Estimate the bytes of the tables of words."""
        return float(n_words) * (WORD_BYTES + WEIGHT_BYTES * len(self.read.classes))

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
        words, totals = Words.of([]), np.zeros((2, 0), np.int64)
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
            words, totals = rows.add_totals(words, totals)
        if pruned := self.limits != WordLimits():
            words = words.take(_select(self.limits, totals, len(read.labels)))
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

    # -- samples -------------------------------------------------------------------------------------

    def _sampled_readings(
        self,
        tokenizers: Sequence[Tokenizer],
        sizes: _Sizes,
        sample: LabeledDocuments,
        rule: Rule,
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
            yield self._reading(tokenizer, rows, pruned, own, (sample, sums))

    def _add_ngrams(self, words: Words, tokenizer: Tokenizer, sample: LabeledDocuments) -> Words:
        """Add the n-grams of words and characters that two documents of the sample have."""
        rows = count_documents(sample.texts, tokenizer, None, self.n_threads)
        several = is_ngram(rows.words)
        if tokenizer.characters is not None:
            several |= is_character_ngram(rows.words)
        words = union(words, rows.words.take(several & (document_frequency(rows) >= 2)))[0]
        if self.limits == WordLimits():
            return words
        counted = self._sum_all(tokenizer, words, lambda rows: rows.counts.astype(np.float64))
        totals = counted.documents.sum(axis=1), counted.values.sum(axis=1)
        return words.take(_select(self.limits, totals, len(self.read.labels)))

    def _sum_all(self, tokenizer: Tokenizer, words: Words, values: Callable[[TokenRows], Floats]) -> WordSums:
        """Sum cell values over all documents, in parts."""
        read = self.read
        sums = WordSums.zeros(words, len(read.classes), len(read.labels))
        for part in read.texts.parts(PART_BYTES):
            rows = count_documents(read.texts.part(part), tokenizer, words, self.n_threads)
            sums.add(rows, values(rows), read, part)
        return sums

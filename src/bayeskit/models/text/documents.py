"""Labeled documents in memory, and sums of their words by class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.encoder import encode_labels
from bayeskit.data.frames import MemorySource, collected, columns_of
from bayeskit.data.schema import Schema, Text
from bayeskit.data.source import Responsibilities, Source, as_weights
from bayeskit.data.text.documents import Documents
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokens import TokenRows, count_documents
from bayeskit.data.text.word_list import Words
from bayeskit.data.vocabulary import Value, Vocabulary, positions, sort_values
from bayeskit.errors import BayesError, TooLarge, format_setting, with_article
from bayeskit.estimate.word_weights import document_parts
from bayeskit.memory import memory_size
from bayeskit.nearest import did_you_mean
from bayeskit.tally.plan import Space
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import ColumnWords, WordCounts, length_moments
from bayeskit.threads import thread_count
from bayeskit.typing import Array, Bools, Floats, Ints

if TYPE_CHECKING:
    from bayeskit.models.text.recipe import TrainingSource


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
    if type(X).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow"):
        return _to_arrow(X)
    if isinstance(X, np.ndarray):
        return X
    if not isinstance(X, Iterable):
        raise BayesError(
            f"documents are strings in a list, series or column, not {with_article(type(X).__name__)}: pass [text]"
        )
    cells = list(X)
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    return column


def _to_arrow(column: Any) -> Any:
    """Convert a column of a data frame library to Arrow or NumPy."""
    import pyarrow as pa

    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return column
    if hasattr(column, "to_arrow"):
        return column.to_arrow()
    return column.to_numpy(dtype=object)


def documents_source(X: Any, y: Any = None, weights: Any = None, column: str | None = None) -> MemorySource:
    """Build a source of one text column; labels may be the name of a column beside it."""
    target = None
    if isinstance(y, str):
        names, columns, _, _ = columns_of(X)
        if y not in columns:
            known = f"(columns: {', '.join(names)}){did_you_mean(y, names)}"
            raise BayesError(f"there is no target column {y!r} {known}")
        target, y = y, columns[y]
        others = [name for name in names if name != target]
        X = {name: columns[name] for name in others}
    documents = text_column(X, column)
    n = len(documents)
    return MemorySource({COLUMN: documents}, n, False, target, y, as_weights(weights, n))


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


def read_documents(source: Source, classes: tuple[Value, ...] = (), limit: float = inf) -> LabeledDocuments:
    """Read all documents of a source into memory, at most ``limit`` bytes of text.

    ``classes`` are kept even if no document has them.
    """
    known, n_bytes = Vocabulary(classes), 0
    texts, labels, weights = [], [], []
    for batch in source.batches():
        if isinstance(batch.labels, Responsibilities):
            raise BayesError("this recipe needs one label for each document")
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
    shown = {known.values[i] for i in np.unique(codes)} | set(classes)
    in_order = tuple(sort_values(shown))
    codes = positions(known.values, in_order)[codes]
    return LabeledDocuments(_concatenate(texts), codes, np.concatenate(weights) if weights else None, in_order)


def _concatenate(parts: list[Documents]) -> Documents:
    """Concatenate documents."""
    if len(parts) == 1:
        return parts[0]
    shifts = np.cumsum([0, *(len(part.data) for part in parts)])
    offsets = [part.offsets[:-1] + shift for part, shift in zip(parts, shifts, strict=False)]
    return Documents(
        np.concatenate([part.data for part in parts]),
        np.concatenate([*offsets, shifts[-1:]]),
        np.concatenate([part.missing for part in parts]),
        sum(part.replaced for part in parts),
    )


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


def values_matrix(rows: TokenRows, values: Floats) -> Any:
    """Build the CSR matrix (documents, words) of one value for each cell."""
    from scipy.sparse import csr_matrix

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
    """Sums over documents: word values, and documents that have the word, both (words, classes)."""

    words: Words
    values: Floats
    documents: Floats
    lengths: Floats
    """Number of tokens of each document (documents,)."""

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
    read, role = training.documents, training.schema.columns[COLUMN]
    tokenizer = role.tokenizer if isinstance(role, Text) else training.settings.tokenizer()
    rows = count_documents(read.texts, tokenizer, words, thread_count(training.settings.n_threads))
    return WordSums.of(rows, values(rows), read).tally(training.schema, read, words is not None)

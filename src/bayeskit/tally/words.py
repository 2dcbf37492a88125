"""Counts of words by class: occurrences, documents that have the word, and the lengths of documents.

Most words stand in few classes, so only the cells that are not zero are kept, word by word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from bayeskit import kernels
from bayeskit.data.schema import Text
from bayeskit.data.text.tokens import ByClass, Tokenizer, TokenRows, count_classes, count_documents
from bayeskit.data.text.word_list import Words, union
from bayeskit.errors import NotLearned
from bayeskit.tally.moments import Moments
from bayeskit.tally.plan import (
    EqualFields,
    Recoding,
    Request,
    Space,
    arrays_of,
    check_file,
    is_identity,
    new_codes,
    spread_counts,
    subtract_counts,
)
from bayeskit.tally.statistic import BlockCounts, Parts, TableStatistic, register
from bayeskit.tolerance import ROUNDING
from bayeskit.typing import Array, Bools, Counts, Floats, Ints

N_ARRAYS = 6 + len(fields(Moments))  # of a column in a file
LARGEST = 2**53  # occurrences of all words


@dataclass(frozen=True, eq=False)
class WordCounts(EqualFields):
    """Word w has in class ``classes[k]`` the cells ``counts[k]`` and ``documents[k]``, k in indptr[w]:indptr[w + 1].

    ``counts`` are occurrences, ``documents`` are documents that have the word at least once; ``lengths`` holds, for
    each class, how many documents there are, Σ of their tokens and Σ of the squares (one column).
    ``pruned`` says that words were taken out: those are then not looked for when documents are forgotten.

    >>> from bayeskit.data.text.tokens import Tokenizer, count_documents
    >>> texts = count_documents(["the cat, the hat", "a hat", "cat"], Tokenizer())
    >>> counted = WordCounts.of_rows(texts, np.array([0, 1, 1], np.uint8), 2)
    >>> list(counted.words), counted.table().tolist(), counted.table("documents").tolist()
    (['cat', 'hat', 'the'], [[1, 1], [1, 1], [2, 0]], [[1, 1], [1, 1], [1, 0]])
    >>> counted.n_documents.tolist(), counted.n_tokens.tolist()
    ([1, 2], [4, 2])
    """

    count_fields = ("counts", "documents", "lengths")
    words: Words
    indptr: Ints
    classes: Ints  # rising within a word
    counts: Counts
    documents: Counts
    lengths: Moments
    pruned: bool = False

    @classmethod
    def zeros(cls, n_classes: int, weighted: bool = False) -> Self:
        """Return zero counts, neutral under :meth:`plus`."""
        none = np.zeros(0, np.float64 if weighted else np.int64)
        start, classes = np.zeros(1, np.int64), np.zeros(0, np.int64)
        return cls(Words.of([]), start, classes, none, none, Moments.zeros(n_classes, 1, weighted))

    @classmethod
    def of_classes(cls, counted: ByClass, lengths: Moments) -> Self:
        """Build from the counts of the kernel."""
        words = Words(counted.word_data, counted.word_offsets)
        return cls(words, counted.indptr, counted.classes.astype(np.int64), counted.counts, counted.documents, lengths)

    @classmethod
    def of_rows(cls, rows: TokenRows, labels: Array, n_classes: int, weights: Floats | None = None) -> Self:
        """Count documents with one class each, and weights."""
        where = np.repeat(np.arange(len(rows.lengths)), np.diff(rows.indptr))
        keys = rows.ids.astype(np.int64) * n_classes + labels[where]
        cells, cell = np.unique(keys, return_inverse=True)
        columns = np.column_stack([rows.counts, np.ones(len(rows.counts), np.int64)])
        if weights is not None:
            columns = columns * weights[where, None]
        sums = np.zeros((len(cells), 2), dtype=columns.dtype)
        np.add.at(sums, cell, columns)
        lengths = length_moments(rows.lengths, labels, n_classes, weights)
        return cls.of_keys(rows.words, cells, sums[:, 0].copy(), sums[:, 1].copy(), n_classes, lengths)

    @classmethod
    def of_responsibilities(cls, rows: TokenRows, responsibilities: Floats, lengths: Moments) -> Self:
        """Count documents with class shares of shape (n_documents, n_classes)."""
        n_classes = responsibilities.shape[1]
        matrix = rows.matrix(np.float64)
        counts = np.asarray(matrix.T @ responsibilities).ravel()
        matrix.data[:] = 1.0
        documents = np.asarray(matrix.T @ responsibilities).ravel()
        keys = np.flatnonzero(documents)
        return cls.of_keys(rows.words, keys, counts[keys], documents[keys], n_classes, lengths)

    @classmethod
    def of_keys(
        cls,
        words: Words,
        keys: Ints,
        counts: Counts,
        documents: Counts,
        n_classes: int,
        lengths: Moments,
        *,
        pruned: bool = False,
    ) -> Self:
        """Build from cells sorted by ``word · n_classes + class``; drop cells and words without a document.

        So are cells whose count a subtraction has canceled: :meth:`plus` needs both over zero.
        """
        keep = (documents > 0) & (counts > 0)
        if not keep.all():
            keys, counts, documents = keys[keep], counts[keep], documents[keep]
        word, label = np.divmod(keys, max(n_classes, 1))
        sizes = np.bincount(word, minlength=len(words))
        if not (sizes > 0).all():
            words, sizes = words.take(sizes > 0), sizes[sizes > 0]
        indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(words, indptr, label, counts, documents, lengths, pruned)

    # -- reading -------------------------------------------------------------------------------------

    @property
    def n_classes(self) -> int:
        """Return the number of classes."""
        return self.lengths.shape[0]

    @property
    def n_documents(self) -> Counts:
        """Return the number of documents of each class, without missing ones."""
        return self.lengths.n[:, 0]

    @property
    def n_tokens(self) -> Counts:
        """Return the number of tokens of each class."""
        summed = np.bincount(self.classes, self.counts, self.n_classes)
        return summed if self.counts.dtype.kind == "f" else summed.astype(np.int64)

    def table(self, part: str = "counts") -> Counts:
        """Return ``counts`` or ``documents`` as a dense array of shape (n_words, n_classes)."""
        cells: Counts = getattr(self, part)
        dense = np.zeros((len(self.words), self.n_classes), dtype=cells.dtype)
        dense[self.word_of_cell, self.classes] = cells
        return dense

    def totals(self, part: str = "counts") -> Counts:
        """Return ``counts`` or ``documents`` of each word, summed over classes."""
        cells: Counts = getattr(self, part)
        if not len(self.words):
            return cells[:0]
        return np.add.reduceat(cells, self.indptr[:-1])

    @property
    def word_of_cell(self) -> Ints:
        """Return the word index of each cell."""
        return np.repeat(np.arange(len(self.words)), np.diff(self.indptr))

    # -- algebra -------------------------------------------------------------------------------------

    def recode(self, recoding: Recoding) -> Self:
        """Return the counts under other classes; words have no codes in the space."""
        class_index, n_new = recoding.classes, len(recoding.classes)
        if is_identity(class_index[: self.n_classes], self.n_classes):
            return replace(self, lengths=self.lengths.take(class_index))
        label, word = new_codes(class_index, self.n_classes)[self.classes], self.word_of_cell
        known_cells = label >= 0
        keys = word[known_cells] * n_new + label[known_cells]
        order = np.argsort(keys, kind="stable")
        cells = (keys[order], self.counts[known_cells][order], self.documents[known_cells][order])
        return self.of_keys(self.words, *cells, n_new, self.lengths.take(class_index), pruned=self.pruned)

    def plus(self, other: WordCounts) -> Self:
        """Add the documents of both sides, over the same classes."""
        words, ours, theirs = union(self.words, other.words)
        counts, documents = (
            self._matrix(part, ours, len(words)) + other._matrix(part, theirs, len(words))
            for part in ("counts", "documents")
        )  # cells are over zero, so both have the same
        indptr, classes = (part.astype(np.int64) for part in (documents.indptr, documents.indices))
        lengths, pruned = self.lengths + other.lengths, self.pruned or other.pruned
        return type(self)(words, indptr, classes, counts.data, documents.data, lengths, pruned)

    def _matrix(self, part: str, places: Ints, n_words: int) -> Any:
        """Return ``counts`` or ``documents`` as a CSR matrix (n_words, n_classes) with words at new positions."""
        from scipy.sparse import csr_matrix

        indptr = np.zeros(n_words + 1, dtype=np.int64)
        indptr[places + 1] = np.diff(self.indptr)
        made = csr_matrix((getattr(self, part), self.classes, np.cumsum(indptr)), shape=(n_words, self.n_classes))
        made.has_sorted_indices = made.has_canonical_format = True
        return made

    def minus(self, other: WordCounts, space: Space, tolerance: float, key: str) -> Self:
        """Subtract documents; raise :class:`NotLearned` if they cannot be part of this side."""
        if self.pruned:
            other = other.keep(self.words.index.find(other.words.data, other.words.offsets) >= 0)
        words, keys, mine, theirs = self._aligned(other)
        left = []
        for what, a, b in zip(("occurrences", "documents"), mine, theirs, strict=True):
            rest = subtract_counts(a, b, tolerance)
            if (rest < 0).any():
                k = int(np.argmax(rest < 0))
                word, label = words[int(keys[k]) // self.n_classes], space.classes[int(keys[k]) % self.n_classes]
                raise NotLearned(
                    f"column {key!r} had {a[k]:g} {what} of {word!r} in class {label!r} and cannot forget {b[k]:g}; "
                    "nothing was changed"
                )
            left.append(rest)
        if self.lengths.lacks(other.lengths).any():
            raise NotLearned(
                f"column {key!r}: documents of these lengths were not learned in these classes; nothing was changed"
            )
        lengths = self.lengths - other.lengths
        return self.of_keys(words, keys, left[0], left[1], self.n_classes, lengths, pruned=self.pruned)

    def _aligned(self, other: WordCounts) -> tuple[Words, Ints, tuple[Counts, Counts], tuple[Counts, Counts]]:
        """Return (words, cells, own counts and documents, the other's) over the union of cells."""
        words, ours, theirs = union(self.words, other.words)
        n = max(self.n_classes, 1)
        a = ours[self.word_of_cell] * n + self.classes
        b = theirs[other.word_of_cell] * n + other.classes
        both = np.sort(np.concatenate([a, b]), kind="stable")  # two rising runs: merged in one pass
        keys = both[np.concatenate([[True], both[1:] != both[:-1]])] if len(both) else both
        sides = []
        for at, side in ((a, self), (b, other)):
            sides.append((spread_counts(at, side.counts, keys), spread_counts(at, side.documents, keys)))
        return words, keys, sides[0], sides[1]

    # -- choosing words ------------------------------------------------------------------------------

    def keep(self, words: Bools) -> Self:
        """Keep only the marked words."""
        if words.all():
            return self
        cells = words[self.word_of_cell]
        keys = (self.word_of_cell * max(self.n_classes, 1) + self.classes)[cells]
        return self.of_keys(
            self.words, keys, self.counts[cells], self.documents[cells], self.n_classes, self.lengths, pruned=True
        )

    def prune(self, min_count: float = 1, min_documents: float = 1) -> Self:
        """Drop rare words to free memory, without reading any text again.

        A word that appears again is counted from then on; forgetting ignores dropped words.
        """
        return self.keep((self.totals("counts") >= min_count) & (self.totals("documents") >= min_documents))

    # -- in and out ----------------------------------------------------------------------------------

    @classmethod
    def from_arrays(cls, arrays: Sequence[Array], space: Space, pruned: bool) -> Self:
        """Restore the counts from the arrays of a file and check them."""
        data, offsets, indptr, classes, counts, documents, *sums = arrays
        n_classes, dtype = space.n_classes, space.dtype
        words, lengths = Words.checked(data, offsets), Moments.of_parts(sums, (n_classes, 1), dtype)
        fits = indptr.dtype == classes.dtype == np.int64 and counts.dtype == documents.dtype == dtype
        fits = fits and counts.ndim == 1 and classes.shape == documents.shape == counts.shape
        fits = fits and indptr.shape == (len(words) + 1,) and indptr[0] == 0 and indptr[-1] == len(counts)
        rising = fits and (indptr[1:] > indptr[:-1]).all()  # a difference could wrap around
        within = rising and ((classes >= 0) & (classes < n_classes)).all()
        check_file(within, "the counts of words do not fit together")
        made = cls(words, indptr, classes, counts, documents, lengths, pruned)
        keys = made.word_of_cell * max(n_classes, 1) + classes
        sound = (np.diff(keys) > 0).all() and (documents > 0).all() and (counts > 0).all()
        check_file(sound, "the counts of words are not sorted, negative or no numbers")
        most = lengths.n[classes, 0] * (1 + ROUNDING * space.weighted)
        fits = (documents <= most).all() and counts.sum(dtype=np.float64) <= LARGEST
        check_file(fits, "words were counted in more documents than there are")
        often = space.weighted or (counts >= documents).all()
        check_file(often, "a word was counted less often than there are documents that have it")
        return made


def length_moments(lengths: Array, labels: Array, n_classes: int, weights: Floats | None = None) -> Moments:
    """Return the number of documents, Σ and Σ² of their tokens by class; NaN is a missing document."""
    floats = np.ascontiguousarray(lengths, dtype=np.float64)
    return Moments(*kernels.moments([floats], labels, n_classes, weights, 1)[:-1])


@register
class ColumnWords(TableStatistic[WordCounts]):
    """Word counts of each text column, each with its own open vocabulary."""

    kind = "words"

    @classmethod
    def empty(cls, request: Request, space: Space) -> Self:
        """Return zero counts."""
        return cls({name: WordCounts.zeros(space.n_classes, space.weighted) for name in request.columns})

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Count the words of a block by class in one pass; weights and class shares are counted by document."""
        return cls({name: _words_of(name, counter) for name in request.columns})

    def prune(self, min_count: float, min_documents: float) -> Self:
        """Drop rare words."""
        return self.with_tables({name: words.prune(min_count, min_documents) for name, words in self.tables.items()})

    def to_parts(self) -> Parts:
        """Return which columns were pruned, and the arrays of each column."""
        return {"pruned": [words.pruned for words in self.tables.values()]}, arrays_of(self)

    @classmethod
    def from_parts(cls, request: Request, header: Any, arrays: list[Array], space: Space) -> Self:
        """Read the arrays of text columns with :meth:`WordCounts.from_arrays`."""
        check_file({*request.columns} <= {*space.schema.texts}, "the tally's words do not fit its columns of text")
        held = zip(cls.read_tables(request, arrays, N_ARRAYS).items(), header["pruned"], strict=True)
        return cls({name: WordCounts.from_arrays(parts, space, bool(pruned)) for (name, parts), pruned in held})

    def class_totals(self) -> Iterable[Counts]:
        """Return the number of documents of each class in each column."""
        return (words.n_documents for words in self.tables.values())


def _words_of(name: str, counter: BlockCounts) -> WordCounts:
    """Count the words of one column of a block."""
    block, texts, n_classes = counter.block, counter.block.texts[name], counter.space.n_classes
    role = counter.space.schema.columns[name]
    tokenizer = role.tokenizer if isinstance(role, Text) else Tokenizer()
    if block.labels is not None and block.weights is None:
        by_class = count_classes(texts, block.labels, n_classes, tokenizer, counter.n_threads)
        lengths = np.where(texts.missing, np.nan, by_class.lengths)
        return WordCounts.of_classes(by_class, Moments(*counter.moments([lengths])))
    rows = count_documents(texts, tokenizer, None, counter.n_threads)
    moments = Moments(*counter.moments([np.where(texts.missing, np.nan, rows.lengths)]))
    if block.responsibilities is not None:
        return WordCounts.of_responsibilities(rows, block.responsibilities, moments)
    return replace(WordCounts.of_rows(rows, counter.labels, n_classes, block.weights), lengths=moments)

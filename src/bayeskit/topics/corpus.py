"""Documents as lists of tokens: what topics are sampled for, from text or from any matrix of counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.text.documents import Documents
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.text.tokens import TokenRows, count_documents
from bayeskit.data.text.word_list import Words
from bayeskit.errors import BayesError, TooLarge
from bayeskit.tally.words import choose_words
from bayeskit.topics.random_streams import STEP, mixed
from bayeskit.typing import Array, Bools, Ints

MOST_TOKENS = 2**30  # that the kernels can count
MOST_WORDS = 2**31


@dataclass(frozen=True, eq=False)
class Corpus:
    """Document d has the words ``words[start[d]:start[d + 1]]``, by number and in rising order, repeated as they are.

    >>> corpus = Corpus.of_counts(np.array([0, 2, 3]), np.array([0, 2, 1]), np.array([2, 1, 1]), 3)
    >>> corpus.start.tolist(), corpus.words.tolist(), corpus.n_words
    ([0, 3, 4], [0, 0, 2, 1], 3)
    """

    start: Ints
    words: npt.NDArray[np.uint32]
    n_words: int

    @classmethod
    def of_counts(cls, indptr: Array, ids: Array, counts: Array, n_words: int) -> Corpus:
        """From counts of words by document; ids rise within a document."""
        ends = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        if ends[-1] > MOST_TOKENS:
            raise TooLarge(f"the documents have {ends[-1]:,} words, more than the {MOST_TOKENS:,} that can be sampled")
        return cls(ends[indptr].astype(np.int64), np.repeat(ids.astype(np.uint32), counts), n_words)

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def n_tokens(self) -> int:
        """Words, each as often as it stands."""
        return len(self.words)

    @property
    def lengths(self) -> Ints:
        """Words of each document."""
        return np.diff(self.start)

    @property
    def documents(self) -> Ints:
        """The document of each token."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def of_tokens(self, chosen: Bools) -> Corpus:
        """The same documents with some of their tokens."""
        start = np.concatenate([[0], np.cumsum(chosen)])[self.start]
        return Corpus(start.astype(np.int64), self.words[chosen], self.n_words)

    def take(self, rows: Array) -> Corpus:
        """These documents alone, in this order."""
        return Corpus(*self.taken(rows)[:2], self.n_words)

    def taken(self, rows: Array) -> tuple[Ints, npt.NDArray[np.uint32], Ints]:
        """(start, words, where these tokens stood) of some documents."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        lengths = self.lengths[rows]
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        where = np.arange(start[-1]) + np.repeat(self.start[:-1][rows] - start[:-1], lengths)
        return start, self.words[where], where

    def __add__(self, other: Corpus) -> Corpus:
        start = np.concatenate([self.start, other.start[1:] + self.start[-1]])
        return Corpus(start, np.concatenate([self.words, other.words]), self.n_words)

    def halves(self) -> tuple[Corpus, Corpus]:
        """Two parts of each document, whichever others there are: every token falls to one by its place."""
        at = (np.arange(self.n_tokens) - np.repeat(self.start[:-1], self.lengths)).astype(np.uint64)
        first = (mixed(at + np.uint64(1)) & np.uint64(1)).astype(bool)
        return self.of_tokens(first), self.of_tokens(~first)

    def contents(self) -> npt.NDArray[np.uint64]:
        """A number that stands for the words of each document: those of the same words have the same."""
        at = (np.arange(self.n_tokens) - np.repeat(self.start[:-1], self.lengths)).astype(np.uint64)
        sums = np.cumsum(mixed(self.words + np.uint64(STEP) * (at + np.uint64(1))), dtype=np.uint64)
        ends: npt.NDArray[np.uint64] = np.concatenate([np.zeros(1, np.uint64), sums])[self.start]
        return np.subtract(ends[1:], ends[:-1])

    def matrix(self) -> Any:
        """Counts as SciPy's CSR matrix (documents, words)."""
        from scipy.sparse import csr_matrix

        made = csr_matrix((np.ones(self.n_tokens, np.int64), self.words.astype(np.int64), self.start), self.shape)
        made.sum_duplicates()
        return made

    @property
    def shape(self) -> tuple[int, int]:
        """(documents, words)"""
        return len(self), self.n_words


# -- text -------------------------------------------------------------------------------------------------------------


def read_texts(
    documents: Any,
    tokenizer: Tokenizer,
    known: Words | None,
    limits: tuple[float, float, int | None] = (1, 1.0, None),
    n_threads: int = 1,
) -> tuple[Corpus, Words]:
    """The tokens of texts, and their words: those known, or all within the limits min_df, max_df and max_features."""
    texts = Documents.of(documents)
    if texts.missing.any():
        row = int(np.argmax(texts.missing))
        raise BayesError(f"document {row} is missing: give an empty string instead", place=row)
    rows = count_documents(texts, tokenizer, known, n_threads)
    if known is None:
        rows = _within(rows, limits)
    return Corpus.of_counts(rows.indptr, rows.ids, rows.counts, len(rows.words)), rows.words


def _within(rows: TokenRows, limits: tuple[float, float, int | None]) -> TokenRows:
    """The words within limits alone."""
    n = len(rows.words)
    documents = np.bincount(rows.ids, minlength=n)
    counts = np.bincount(rows.ids, rows.counts, n).astype(np.int64)
    keep = choose_words(documents, counts, len(rows.lengths), *limits)
    return rows if keep.all() else rows.among(rows.words.take(keep))


# -- counts -----------------------------------------------------------------------------------------------------------


def read_counts(X: Any, n_words: int | None = None) -> Corpus:
    """The tokens of a matrix of counts (documents, words): any sparse matrix of SciPy, or an array."""
    matrix = _as_csr(X)
    if n_words is not None and matrix.shape[1] != n_words:
        raise BayesError(f"the documents have counts of {matrix.shape[1]:,} words, and the model knows {n_words:,}")
    if matrix.shape[1] > MOST_WORDS:
        raise TooLarge(f"the documents have counts of {matrix.shape[1]:,} words, more than {MOST_WORDS:,}")
    counts = matrix.data
    bad = ~(counts >= 0) | (counts > MOST_TOKENS) if counts.dtype != bool else np.zeros(len(counts), bool)
    bad |= counts != np.where(bad, 0, counts).astype(np.int64)
    if bad.any():
        at = int(np.argmax(bad))
        row, column = int(np.searchsorted(matrix.indptr, at, "right")) - 1, int(matrix.indices[at])
        raise BayesError(
            f"the count of word {column} in document {row} is {counts[at]}: counts are whole numbers from 0 on",
            culprit=counts[at],
            place=(row, column),
        )
    return Corpus.of_counts(matrix.indptr, matrix.indices, counts.astype(np.int64), matrix.shape[1])


def _as_csr(X: Any) -> Any:
    """A CSR matrix of numbers with rising indices, each once."""
    from scipy.sparse import csr_matrix

    try:
        dense = None if hasattr(X, "tocsr") else np.asarray(X)
        if dense is not None and dense.dtype.kind in "OUS":
            dense = dense.astype(np.float64)
        matrix = csr_matrix(X.tocsr() if dense is None else dense)
    except (TypeError, ValueError) as problem:
        raise BayesError(f"this is no matrix of counts: {problem}") from None
    if matrix.dtype.kind not in "biuf":
        raise BayesError(f"counts are whole numbers, and these are {matrix.dtype}", culprit=str(matrix.dtype))
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix

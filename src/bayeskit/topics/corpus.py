"""Documents as lists of tokens, read from texts or from a matrix of word counts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bayeskit.arrow_arrays import is_arrow
from bayeskit.data.frames import collected, columns_of, kind_of
from bayeskit.data.text.documents import Documents
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.text.tokens import count_documents
from bayeskit.data.text.word_list import WordLimits, Words, take_ranges
from bayeskit.errors import BayesError, TooLarge
from bayeskit.tally.row_hash import mix_bits
from bayeskit.typing import Array, Bools, Ints

STEP = 0x9E3779B97F4A7C15
MASK = 2**64 - 1


def random_stream(seed: int, n: int) -> npt.NDArray[np.uint64]:
    """Return the first n pseudo-random 64-bit numbers of a seed, independent of library versions.

    >>> random_stream(7, 2).tolist() == random_stream(7, 3)[:2].tolist()
    True
    """
    return mix_bits(np.uint64(seed & MASK) + np.uint64(STEP) * np.arange(1, n + 1, dtype=np.uint64))


def integers_below(limit: int, numbers: npt.NDArray[np.uint64]) -> Ints:
    """Map random numbers to integers in [0, limit) for limits of at most 32 bits."""
    return ((numbers >> np.uint64(32)) * np.uint64(limit) >> np.uint64(32)).astype(np.int64)


def digest(*parts: npt.NDArray[np.generic] | int) -> int:
    """Return a 64-bit hash of arrays and numbers."""
    hashed = hashlib.blake2b(digest_size=8)
    for part in parts:
        hashed.update(part.to_bytes(8, "little") if isinstance(part, int) else np.ascontiguousarray(part).tobytes())
    return int.from_bytes(hashed.digest(), "little")


NUMBERS = ("integer", "float", "boolean")


class CountMatrix(NamedTuple):
    """Counts of shape (n_documents, n_words), sparse or dense, and the names of the words if known."""

    counts: Any
    names: list[str] | None


def read_form(X: Any) -> CountMatrix | Any:
    """Return the counts in ``X``, or the texts in a form that :class:`Documents` takes.

    >>> read_form({"text": ["a vote", "a law"]}).tolist()
    ['a vote', 'a law']
    >>> read_form({"vote": [1, 0], "law": [0, 2]}).names
    ['vote', 'law']
    """
    X = collected(X)
    if hasattr(X, "tocsr"):
        return CountMatrix(X, None)
    if _is_table(X):
        return _read_table(X)
    if getattr(X, "ndim", 1) == 2:
        texts = X.dtype.kind in "US" or (X.dtype.kind == "O" and any(isinstance(cell, str) for cell in X.flat))
        if not texts:
            return CountMatrix(X, None)
        if X.shape[1] != 1:
            raise _ambiguous_columns_error([f"{j}" for j in range(X.shape[1])])
        return X[:, 0]
    return CountMatrix(np.asarray(X), None) if _is_listed_matrix(X) else X


def _is_table(X: Any) -> bool:
    records = isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(cell, Mapping) for cell in X)
    return records or isinstance(X, Mapping) or hasattr(X, "columns") or hasattr(X, "column_names")


def _read_table(X: Any) -> CountMatrix | Any:
    """Read a table whose columns are all counts, or that has one column of text."""
    if type(X).__module__.partition(".")[0] == "pandas" and all(kind.kind in "biuf" for kind in X.dtypes):
        sparse = all(hasattr(kind, "subtype") and not kind.fill_value for kind in X.dtypes)
        counts = X.sparse.to_coo() if sparse and X.shape[1] else X.to_numpy()
        return CountMatrix(counts, [str(name) for name in X.columns])
    names, columns, n, _ = columns_of(X)
    listed = [columns[name] for name in names]
    if all(kind_of(column) in NUMBERS for column in listed):
        cells = [column.to_numpy(zero_copy_only=False) if is_arrow(column) else column for column in listed]
        return CountMatrix(np.column_stack(cells) if cells else np.zeros((n, 0)), names)
    if len(listed) != 1:
        raise _ambiguous_columns_error(names)
    return listed[0]


def _ambiguous_columns_error(names: list[str]) -> BayesError:
    return BayesError(
        f"which column holds the texts? There are {len(names)}: {', '.join(names)}. Give one of them alone; counts of "
        "words are numbers in all columns",
    )


def _is_listed_matrix(X: Any) -> bool:
    first = X[0] if isinstance(X, (list, tuple)) and len(X) else None
    return isinstance(first, (list, tuple, np.ndarray)) and all(isinstance(x, (int, float, np.number)) for x in first)


MOST_TOKENS = 2**30  # limit of the kernels
MOST_WORDS = 2**31


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents as sorted word numbers: document d has ``words[start[d]:start[d + 1]]``.

    >>> corpus = Corpus.of_counts(np.array([0, 2, 3]), np.array([0, 2, 1]), np.array([2, 1, 1]), 3)
    >>> corpus.start.tolist(), corpus.words.tolist(), corpus.n_words
    ([0, 3, 4], [0, 0, 2, 1], 3)
    """

    start: Ints
    words: npt.NDArray[np.uint32]
    n_words: int

    @classmethod
    def of_counts(cls, indptr: Array, ids: Array, counts: Array, n_words: int) -> Corpus:
        """Build from counts of words by document; ids are sorted within a document."""
        ends = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        if ends[-1] > MOST_TOKENS:
            raise TooLarge(f"the documents have {ends[-1]:,} words, more than the {MOST_TOKENS:,} that can be sampled")
        return cls(ends[indptr].astype(np.int64), np.repeat(ids.astype(np.uint32), counts), n_words)

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return len(self.words)

    @property
    def lengths(self) -> Ints:
        """Number of tokens of each document."""
        return np.diff(self.start)

    @property
    def documents(self) -> Ints:
        """Document of each token."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def select_tokens(self, chosen: Bools) -> Corpus:
        """Return the documents with a subset of their tokens."""
        start = np.concatenate([[0], np.cumsum(chosen)])[self.start]
        return Corpus(start.astype(np.int64), self.words[chosen], self.n_words)

    def take(self, rows: Array) -> Corpus:
        """Return these documents, in this order."""
        start, where = take_ranges(self.start, rows)
        return Corpus(start, self.words[where], self.n_words)

    def __add__(self, other: Corpus) -> Corpus:
        start = np.concatenate([self.start, other.start[1:] + self.start[-1]])
        return Corpus(start, np.concatenate([self.words, other.words]), self.n_words)

    def halves(self) -> tuple[Corpus, Corpus]:
        """Split each document in two parts, deterministically by token position."""
        at = (np.arange(self.n_tokens) - np.repeat(self.start[:-1], self.lengths)).astype(np.uint64)
        first = (mix_bits(at + np.uint64(1)) & np.uint64(1)).astype(bool)
        return self.select_tokens(first), self.select_tokens(~first)

    def hash_documents(self) -> npt.NDArray[np.uint64]:
        """Hash each document; equal documents have equal hashes."""
        at = (np.arange(self.n_tokens) - np.repeat(self.start[:-1], self.lengths)).astype(np.uint64)
        sums = np.cumsum(mix_bits(self.words + np.uint64(STEP) * (at + np.uint64(1))), dtype=np.uint64)
        ends: npt.NDArray[np.uint64] = np.concatenate([np.zeros(1, np.uint64), sums])[self.start]
        return np.subtract(ends[1:], ends[:-1])

    def matrix(self) -> Any:
        """Return counts as a SciPy CSR matrix, shape (n_documents, n_words)."""
        from scipy.sparse import csr_matrix

        shape = len(self), self.n_words
        made = csr_matrix((np.ones(self.n_tokens, np.int64), self.words.astype(np.int64), self.start), shape)
        made.sum_duplicates()
        return made


# -- text -------------------------------------------------------------------------------------------------------------


def read_texts(
    documents: Any,
    tokenizer: Tokenizer,
    known: Words | None,
    limits: WordLimits | None = None,
    n_threads: int = 1,
) -> tuple[Corpus, Words]:
    """Tokenize texts; keep known words, or all words within the limits min_df, max_df and max_features."""
    texts = Documents.of(documents)
    if texts.missing.any():
        row = int(np.argmax(texts.missing))
        raise BayesError(f"document {row} is missing: give an empty string instead")
    rows = count_documents(texts, tokenizer, known, n_threads)
    if limits is not None and not (keep := limits.choose(rows.totals(), len(rows.lengths))).all():
        rows = rows.restrict_to(rows.words.take(keep))
    return Corpus.of_counts(rows.indptr, rows.ids, rows.counts, len(rows.words)), rows.words


# -- counts -----------------------------------------------------------------------------------------------------------


def read_counts(X: Any, n_words: int | None = None) -> Corpus:
    """Read a matrix of counts, shape (n_documents, n_words): sparse or array."""
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
        )
    return Corpus.of_counts(matrix.indptr, matrix.indices, counts.astype(np.int64), matrix.shape[1])


def _as_csr(X: Any) -> Any:
    """Convert to a canonical CSR matrix."""
    from scipy.sparse import csr_matrix

    try:
        dense = None if hasattr(X, "tocsr") else np.asarray(X)
        if dense is not None and dense.dtype.kind in "OUS":
            dense = dense.astype(np.float64)
        matrix = csr_matrix(X.tocsr() if dense is None else dense)
    except (TypeError, ValueError) as problem:
        raise BayesError(f"this is not a matrix of counts: {problem}") from None
    if matrix.dtype.kind not in "biuf":
        raise BayesError(f"counts are whole numbers, and these are {matrix.dtype}")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


Names = Words | tuple[str, ...] | None
"""The words of texts, names that were given to columns, or nothing."""


@dataclass(frozen=True)
class DocumentReader:
    """Read documents: tokenizer (None for words of two or more letters without stop words) and word limits."""

    tokenizer: Tokenizer | None
    limits: WordLimits
    n_threads: int

    def learn(self, X: Any, words: Iterable[str] | None = None) -> tuple[Corpus, Names]:
        """Read training documents and the names of their words."""
        form = read_form(X)
        names: Names = None
        if isinstance(form, CountMatrix):
            corpus, given = read_counts(form.counts), form.names if words is None else words
            names = None if given is None else check_names(given, corpus.n_words)
        elif words is not None:
            raise BayesError("words names the columns of a matrix, and these are texts: leave it out")
        else:
            corpus, names = read_texts(form, self._cut, None, self.limits, self.n_threads)
        if not len(corpus):
            raise BayesError("there are no documents to learn from")
        if not corpus.n_tokens:
            raise BayesError(
                f"none of the {len(corpus):,} documents has a word to learn from: empty vocabulary; perhaps they hold "
                "stop words only, or stand in fewer or more documents than was asked for"
            )
        return corpus, names

    def known(self, X: Any, names: Names, n_words: int) -> Corpus:
        """Read documents with the words that a model knows."""
        form = read_form(X)
        if isinstance(form, CountMatrix):
            return read_counts(form.counts, n_words)
        if not isinstance(names, Words):
            raise BayesError(
                "the model was fitted on counts of words: give counts, as the same TokenCounter makes them"
            )
        return read_texts(form, self._cut, names, n_threads=self.n_threads)[0]

    @property
    def _cut(self) -> Tokenizer:
        return Tokenizer(stop_words="english") if self.tokenizer is None else self.tokenizer


def check_names(words: Iterable[str], n: int) -> tuple[str, ...]:
    """Check the names of n words."""
    names = () if isinstance(words, str) else tuple(str(word) for word in words)
    if len(names) != n:
        raise BayesError(f"the matrix has {n:,} columns, and words names {len(names):,}")
    return names

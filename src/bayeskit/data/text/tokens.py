"""Text → tokens → counts: how often each word stands in each document or class.

The named patterns run natively; any other expression, and callables, run in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.data.text.documents import Documents
from bayeskit.data.text.tokenizer import PATTERNS, Tokenizer
from bayeskit.data.text.unicode import unicode_tables
from bayeskit.data.text.word_list import Words
from bayeskit.kernels.twins import tokens as token_twins
from bayeskit.kernels.twins.tokens import ByClass, Cut
from bayeskit.kernels.twins.word_lists import WordIndex, packed
from bayeskit.typing import Array, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["Documents", "TokenRows", "Tokenizer", "TokensWhenAsked", "Words", "count_classes", "count_documents"]


@dataclass(frozen=True, eq=False)
class TokenRows:
    """Counts of words by document: word ``ids[k]`` stands ``counts[k]`` times, k in indptr[d]:indptr[d + 1].

    ``lengths`` are the tokens of each document, unknown ones included; ``replaced`` counts what was no UTF-8.
    """

    words: Words
    indptr: Ints
    ids: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    lengths: Ints
    replaced: int = 0
    in_order: bool = True  # ids rise within a document

    def matrix(self, dtype: Any = np.int64) -> csr_matrix:
        """The same as SciPy's CSR matrix (documents, words)."""
        from scipy.sparse import csr_matrix

        shape = (len(self.lengths), len(self.words))
        indptr = self.indptr if self.indptr[-1] > np.iinfo(np.int32).max else self.indptr.astype(np.int32)
        made = csr_matrix((self.counts.astype(dtype), self.ids, indptr), shape=shape)
        if not self.in_order:
            made = made.copy()
            made.sort_indices()
        made.has_sorted_indices = made.has_canonical_format = True
        return made

    def among(self, words: Words) -> TokenRows:
        """The same documents by the numbers of another list; words that it does not have are left out."""
        numbers = words.index.find(self.words.data, self.words.offsets)[self.ids]
        known = numbers >= 0
        indptr = np.concatenate([[0], np.cumsum(known)])[self.indptr]
        ids = numbers[known].astype(np.int32)
        return TokenRows(words, indptr, ids, self.counts[known], self.lengths, self.replaced, self.in_order)

    def take(self, rows: Array) -> TokenRows:
        """These documents alone."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        sizes = np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        where = np.arange(indptr[-1]) + np.repeat(self.indptr[:-1][rows] - indptr[:-1], sizes)
        return TokenRows(self.words, indptr, self.ids[where], self.counts[where], self.lengths[rows], 0, self.in_order)


class TokensWhenAsked(Mapping[str, TokenRows]):
    """The words of some columns, counted when they are first asked for: some scores come from the text itself."""

    def __init__(self, count: Mapping[str, Callable[[], TokenRows]]) -> None:
        self._count, self._rows = count, dict[str, TokenRows]()

    def __getitem__(self, column: str) -> TokenRows:
        if column not in self._rows:
            self._rows[column] = self._count[column]()
        return self._rows[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._count)

    def __len__(self) -> int:
        return len(self._count)


def count_documents(
    documents: Any, tokenizer: Tokenizer, words: Words | None = None, n_threads: int = 1, in_order: bool = True
) -> TokenRows:
    """How often each word stands in each document.

    Without ``words`` the vocabulary is what the documents show; with it, other words are left out.

    >>> rows = count_documents(["The cat. The hat!", "a hat"], Tokenizer())
    >>> list(rows.words), rows.matrix().toarray().tolist()
    (['cat', 'hat', 'the'], [[1, 1, 2], [0, 1, 0]])
    """
    texts = Documents.of(documents)
    cut = cut_of(tokenizer, texts)
    if cut is not None:
        index = None if words is None else words.index
        counted = kernels.token_rows(texts.data, texts.offsets, cut, index, in_order, n_threads)
    else:
        known = None if words is None else WordIndex(words.data, words.offsets)
        counted = token_twins.rows_of(texts.data, texts.offsets, tokenizer.analyser(), known, in_order)
    vocabulary = Words(counted[0], counted[1]) if words is None else words
    return TokenRows(vocabulary, *counted[2:6], counted[6] + texts.replaced, in_order)


def count_classes(
    documents: Documents, labels: Array, n_classes: int, tokenizer: Tokenizer, n_threads: int = 1
) -> ByClass:
    """How often each word stands in each class, and in how many of its documents, in one pass over the text."""
    cut = cut_of(tokenizer, documents)
    if cut is not None:
        return ByClass(*kernels.token_classes(documents.data, documents.offsets, labels, n_classes, cut, n_threads))
    rows = token_twins.rows_of(documents.data, documents.offsets, tokenizer.analyser(), None)
    return token_twins.classes_of(rows, labels, n_classes)


def cut_of(tokenizer: Tokenizer, documents: Documents) -> Cut | None:
    """The tokenizer in the kernels' terms for these documents; None where they do not know its pattern."""
    if tokenizer.pattern not in PATTERNS:
        return None
    stop = packed(sorted(word.encode() for word in tokenizer.stop_words or ()))
    number, bits = PATTERNS.index(str(tokenizer.pattern)), tokenizer.hash_bits or 0
    inside = tokenizer.characters or (0, 0)
    return Cut(number, *tokenizer.ngrams, tokenizer.lowercase, bits, *stop, unicode_tables(documents.data), *inside)

"""Split texts into tokens: Unicode classes and the tokenizer's word rules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.data.text.documents import Documents
from bayeskit.data.text.tokenizer import EMOJI, NUMBERS, Analyse, Tokenizer
from bayeskit.data.text.word_list import Words, pack_words, take_ranges, union, unpack_words
from bayeskit.typing import Array, Bools, Bytes, Ints

N_CODE_POINTS = 0x110000
WORD, SPACE, CASED, IGNORABLE, PICTURE = 1, 2, 4, 8, 16
SIGMA, FINAL_SIGMA, LINE_END = 0x3A3, 0x3C2, 0x0A
_ALL = np.arange(N_CODE_POINTS, dtype="<u4")


class UnicodeTables(NamedTuple):
    """Unicode properties of each code point in the running interpreter, for non-ASCII text.

    The bits of ``kinds`` are 1 word, 2 space, 4 cased and not ignorable, 8 case-ignorable, 16 emoji where each is a
    word. ``lower`` is the lower case, or 0x110000 + the row of ``expansions`` (n_rows, 3): code points, then zeros.
    """

    kinds: Bytes
    lower: npt.NDArray[np.uint32]
    expansions: npt.NDArray[np.uint32]


def unicode_tables(data: Bytes, with_emoji: bool = False) -> UnicodeTables | None:
    """Return the Unicode tables that these bytes need, None for ASCII; with emoji, each of these is a word."""
    alphabet = kernels.text_alphabet(data)
    return _tables(alphabet == 2, with_emoji) if alphabet else None


def word_runs() -> list[int]:
    """Return where runs of word characters (``\\w``) begin and end, by turns, as differences of code points."""
    is_word = (_tables(False).kinds & WORD) > 0
    return np.diff(np.flatnonzero(np.diff(is_word)) + 1, prepend=0).tolist()


@cache
def _tables(with_sigma: bool, with_emoji: bool = False) -> UnicodeTables:
    if with_emoji:
        plain = _tables(with_sigma)
        return plain._replace(kinds=plain.kinds | _kinds(_text(_ALL), {f"{EMOJI}+": PICTURE}))
    if with_sigma:
        plain = _tables(False)
        return plain._replace(kinds=plain.kinds | _sigma_kinds())
    text = _text(_ALL)
    lower, expansions = _lower(text)
    return UnicodeTables(_kinds(text, {r"\w+": WORD, r"\s+": SPACE}), lower, expansions)


def _kinds(text: str, bits: Mapping[str, int]) -> Bytes:
    """Return the bits of the expressions that match each character."""
    kinds = np.zeros(N_CODE_POINTS, dtype=np.uint8)
    for expression, bit in bits.items():
        for run in re.finditer(expression, text):
            kinds[run.start() : run.end()] |= bit
    return kinds


def _lower(text: str) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Return the lower case of each code point; multi-character results are 0x110000 + the row in expansions."""
    lowered = text.replace("İ", "i").replace("Σ", "σ").lower()
    if len(lowered) == len(text):
        lower, longer = _numbers(lowered).astype(np.uint32), ["İ"]
    else:
        # A Unicode version with more such letters: convert one by one.
        single = [character.lower() for character in text]
        longer = [character for character, low in zip(text, single, strict=True) if len(low) > 1]
        lower = np.array([ord(low[0]) for low in single], dtype=np.uint32)
    expansions = np.zeros((len(longer), 3), dtype=np.uint32)
    for row, character in enumerate(longer):
        points = [ord(low) for low in character.lower()]
        expansions[row, : len(points)] = points
        lower[ord(character)] = N_CODE_POINTS + row
    return lower, expansions


def _sigma_kinds() -> Bytes:
    """Find cased and case-ignorable characters by their effect on a Σ, since no module lists them."""
    kinds = np.zeros(N_CODE_POINTS, dtype=np.uint8)
    cased = _makes_final([_ALL])
    kinds[cased] = CASED
    kinds[_makes_final([np.full_like(_ALL, ord("A")), _ALL]) & ~cased] = IGNORABLE
    return kinds


def _makes_final(before: list[npt.NDArray[np.uint32]]) -> Bools:
    """Return True where a Σ after these characters is the last letter of a word."""
    lines = np.stack([*before, np.full_like(_ALL, SIGMA), np.full_like(_ALL, LINE_END)], axis=1)
    lines[ord("İ"), len(before) - 1] = ord("I")  # of the same kind, and one character when lower-cased
    lowered = _numbers(_text(lines.ravel()).lower()).reshape(lines.shape)
    return lowered[:, -2] == FINAL_SIGMA


def _text(points: npt.NDArray[np.uint32]) -> str:
    return points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def _numbers(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


__all__ = ["Documents", "TokenRows", "Tokenizer", "TokensWhenAsked", "Words", "count_classes", "count_documents"]


class Cut(NamedTuple):
    """Tokenizer settings in the form that the kernels take.

    ``hash_bits`` is 0 for words by name, ``tables`` None for ASCII text, and ``longest_inside`` 0 without character
    n-grams inside words.
    """

    pattern: int
    shortest: int
    longest: int
    lowercase: bool
    hash_bits: int
    stop_data: Bytes
    stop_offsets: Ints
    tables: UnicodeTables | None = None
    shortest_inside: int = 0
    longest_inside: int = 0


class TokenCounts(NamedTuple):
    """Counts by document in CSR form: word ``ids[k]`` occurs ``counts[k]`` times, k in indptr[d]:indptr[d + 1].

    ``lengths`` (n_documents,) counts all tokens, also unknown ones; ``replaced`` counts ill-formed stretches of UTF-8
    that are read as U+FFFD.
    """

    word_data: Bytes
    word_offsets: Ints
    indptr: Ints
    ids: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    lengths: Ints
    replaced: int


class ByClass(NamedTuple):
    """Counts by class: class, occurrences and documents of word w, k in indptr[w]:indptr[w + 1]; classes rise."""

    word_data: Bytes
    word_offsets: Ints
    indptr: Ints
    classes: npt.NDArray[np.int32]
    counts: Ints
    documents: Ints
    lengths: Ints
    replaced: int


@dataclass(frozen=True, eq=False)
class TokenRows:
    """Counts of words by document: word ``ids[k]`` occurs ``counts[k]`` times, k in indptr[d]:indptr[d + 1].

    ``lengths`` (n_documents,) counts all tokens, also unknown ones; ``replaced`` counts ill-formed stretches of UTF-8.
    With ``in_order``, ids rise within a document.
    """

    words: Words
    indptr: Ints
    ids: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    lengths: Ints
    replaced: int = 0
    in_order: bool = True

    def matrix(self, dtype: Any = np.int64) -> Any:
        """Return a SciPy CSR matrix of shape (n_documents, n_words)."""
        from scipy.sparse import csr_matrix

        shape = (len(self.lengths), len(self.words))
        indptr = self.indptr if self.indptr[-1] > np.iinfo(np.int32).max else self.indptr.astype(np.int32)
        made = csr_matrix((self.counts.astype(dtype), self.ids, indptr), shape=shape)
        if not self.in_order:
            made = made.copy()
            made.sort_indices()
        made.has_sorted_indices = made.has_canonical_format = True
        return made

    def totals(self) -> Ints:
        """Count the documents and the occurrences of each word (2, n_words)."""
        n = len(self.words)
        return np.stack([np.bincount(self.ids, minlength=n), np.bincount(self.ids, self.counts, n).astype(np.int64)])

    def add_totals(self, words: Words, totals: Ints) -> tuple[Words, Ints]:
        """Return the words of both, and their totals with those of these documents added (2, n_words)."""
        both, before, now = union(words, self.words)
        sums = np.zeros((2, len(both)), dtype=np.int64)
        sums[:, before] = totals
        sums[:, now] += self.totals()
        return both, sums

    def restrict_to(self, words: Words) -> TokenRows:
        """Return the counts indexed by another word list; words not in it are dropped."""
        numbers = words.index.find(self.words.data, self.words.offsets)[self.ids]
        known = numbers >= 0
        indptr = np.concatenate([[0], np.cumsum(known)])[self.indptr]
        ids = numbers[known].astype(np.int32)
        return TokenRows(words, indptr, ids, self.counts[known], self.lengths, self.replaced, self.in_order)

    def take(self, rows: Array) -> TokenRows:
        """Return the documents at these indices."""
        indptr, where = take_ranges(self.indptr, rows)
        return TokenRows(self.words, indptr, self.ids[where], self.counts[where], self.lengths[rows], 0, self.in_order)


class TokensWhenAsked(Mapping[str, TokenRows]):
    """Word counts of text columns, computed on first use: some scores need only the text."""

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
    """Count each word in each document.

    Without ``words`` the vocabulary is taken from the documents; otherwise words not in it are dropped.

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
        known = None if words is None else unpack_words(words.data, words.offsets)
        counted = count_tokens(texts.data, texts.offsets, tokenizer.analyzer(), known, in_order)
    vocabulary = Words(counted[0], counted[1]) if words is None else words
    return TokenRows(vocabulary, *counted[2:6], counted[6] + texts.replaced, in_order)


def count_classes(
    documents: Documents, labels: Array, n_classes: int, tokenizer: Tokenizer, n_threads: int = 1
) -> ByClass:
    """Count occurrences and documents of each word by class, in one pass over the text."""
    cut = cut_of(tokenizer, documents)
    if cut is not None:
        return ByClass(*kernels.token_classes(documents.data, documents.offsets, labels, n_classes, cut, n_threads))
    rows = count_tokens(documents.data, documents.offsets, tokenizer.analyzer(), None)
    return sum_by_class(rows, labels, n_classes)


def cut_of(tokenizer: Tokenizer, documents: Documents) -> Cut | None:
    """Return the tokenizer settings for the kernels, None if they do not support its pattern."""
    if tokenizer.pattern not in NUMBERS:
        return None
    stop = pack_words(sorted(word.encode() for word in tokenizer.stop_words or ()))
    tables = unicode_tables(documents.data, with_emoji=tokenizer.pattern == "words_and_emoji")
    number, bits = NUMBERS[str(tokenizer.pattern)], tokenizer.hash_bits or 0
    inside = tokenizer.characters or (0, 0)
    return Cut(number, *tokenizer.ngrams, tokenizer.lowercase, bits, *stop, tables, *inside)


def sum_by_class(rows: TokenCounts, labels: Array, n_classes: int) -> ByClass:
    """Sum document counts by class."""
    documents = np.repeat(np.arange(len(rows.indptr) - 1), np.diff(rows.indptr))
    cells = rows.ids.astype(np.int64) * n_classes + labels[documents].astype(np.int64)
    occurring, where = np.unique(cells, return_inverse=True)
    counts = np.bincount(where, rows.counts, len(occurring)).astype(np.int64)
    n_words = len(rows.word_offsets) - 1
    indptr = np.searchsorted(occurring, np.arange(n_words + 1) * n_classes).astype(np.int64)
    classes = (occurring % max(n_classes, 1)).astype(np.int32)
    with_word = np.bincount(where, minlength=len(occurring)).astype(np.int64)
    return ByClass(
        rows.word_data, rows.word_offsets, indptr, classes, counts, with_word, rows.lengths, rows.replaced
    )  # fmt: skip


def count_tokens(
    data: Bytes, offsets: Ints, analyze: Analyse, known: list[bytes] | None, in_order: bool = True
) -> TokenCounts:
    """Count the tokens that a function finds in each document; words not in ``known`` are dropped."""
    replaced = 0
    indptr, lengths = [0], []
    words: dict[bytes, int] = {word: i for i, word in enumerate(known or ())}
    ids: list[int] = []
    counts: list[int] = []
    for raw in unpack_words(data, offsets):
        text = raw.decode("utf-8", "replace")
        replaced += text.count("�") - raw.count(b"\xef\xbf\xbd")
        tokens = [token.encode("utf-8", "replace") for token in analyze(text)]
        if known is None:
            for token in tokens:
                words.setdefault(token, len(words))
        count_of = Counter(words[token] for token in tokens if token in words)
        ids += count_of.keys()
        counts += count_of.values()
        lengths.append(len(tokens))
        indptr.append(len(ids))
    starts = np.array(indptr, dtype=np.int64)
    column, count = np.array(ids, dtype=np.int32), np.array(counts, dtype=np.int32)
    listed: list[bytes] = [] if known is not None else sorted(words)
    if known is None:
        rank = np.empty(len(words), dtype=np.int32)
        rank[[words[word] for word in listed]] = np.arange(len(words), dtype=np.int32)
        column = rank[column]
    if in_order:
        order = np.lexsort((column, np.repeat(np.arange(len(lengths)), np.diff(starts))))
        column, count = column[order], count[order]
    return TokenCounts(*pack_words(listed), starts, column, count, np.array(lengths, dtype=np.int64), replaced)

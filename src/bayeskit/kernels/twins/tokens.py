"""The token kernels in Python: the oracle of the compiled ones, their stand-in, and the path of custom patterns.

Documents and lists of words are bytes with offsets: the i-th is ``data[offsets[i]:offsets[i + 1]]``, in UTF-8.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bayeskit.kernels.twins.checks import check_cells, check_threads
from bayeskit.kernels.twins.word_lists import Bytes, Ids, Offsets, WordIndex, checked, packed, unpacked

Analyse = Callable[[str], Sequence[str]]

EXPRESSIONS = (r"(?u)\b\w\w+\b", r"(?u)\b\w+\b", r"(?u)\w+|[^\w\s]")  # patterns 0, 1 and 2
CHAR, CHAR_WB = 3, 4
_WIDE_SPACE = re.compile(r"\s\s+")


class UnicodeTables(NamedTuple):
    """What the running interpreter knows of each code point, for text beyond ASCII."""

    kinds: npt.NDArray[np.uint8]  # bits: 1 word, 2 space, 4 cased and not ignorable, 8 case-ignorable
    lower: npt.NDArray[np.uint32]  # lower case, or 0x110000 + row of expansions
    expansions: npt.NDArray[np.uint32]  # (rows, 3): code points, then zeros


class Cut(NamedTuple):
    """How documents are cut into tokens, in the kernels' own terms."""

    pattern: int
    shortest: int
    longest: int
    lowercase: bool
    hash_bits: int  # 0: words by name
    stop_data: Bytes
    stop_offsets: Offsets
    tables: UnicodeTables | None = None  # none: every byte is ASCII
    shortest_inside: int = 0  # runs of characters inside each word, beside the words; 0: none
    longest_inside: int = 0


class Rows(NamedTuple):
    """Counts by document: word ``ids[k]`` stands ``counts[k]`` times, k from ``indptr[d]`` to ``indptr[d + 1]``."""

    word_data: Bytes
    word_offsets: Offsets
    indptr: Offsets
    ids: Ids
    counts: Ids
    lengths: npt.NDArray[np.int64]  # tokens of each document, unknown ones included
    replaced: int  # ill-formed stretches of UTF-8 read as U+FFFD


class ByClass(NamedTuple):
    """Counts by class, k from ``indptr[w]`` to ``indptr[w + 1]``: class, occurrences, documents that have the word."""

    word_data: Bytes
    word_offsets: Offsets
    indptr: Offsets
    classes: Ids  # rising within a word
    counts: npt.NDArray[np.int64]
    documents: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    replaced: int


def analyser(
    pattern: int | str | Analyse,
    shortest: int,
    longest: int,
    lowercase: bool,
    stop: frozenset[str],
    hash_bits: int,
    inside: tuple[int, int] = (0, 0),
) -> Analyse:
    """From a document to its tokens, runs of them and buckets included."""
    if pattern == CHAR:
        cut: Analyse = lambda text: _char_runs(text, shortest, longest)  # noqa: E731
    elif pattern == CHAR_WB:
        cut = lambda text: _padded_runs(text, shortest, longest)  # noqa: E731
    else:
        find = pattern if callable(pattern) else re.compile(
            EXPRESSIONS[pattern] if isinstance(pattern, int) else pattern
        ).findall  # fmt: skip

        def cut(text: str) -> Sequence[str]:
            tokens = find(text)
            words = [token for token in tokens if token not in stop] if stop else list(tokens)
            runs = _word_runs(words, shortest, longest)
            return [*runs, *(run for word in words for run in _runs_inside(word, *inside))] if inside[1] else runs

    def analyse(text: str) -> Sequence[str]:
        tokens = cut(text.lower() if lowercase else text)
        return [bucket(token.encode("utf-8", "replace"), hash_bits) for token in tokens] if hash_bits else tokens

    return analyse


def _word_runs(tokens: list[str], shortest: int, longest: int) -> list[str]:
    if longest == 1:
        return tokens
    runs = tokens[:] if shortest == 1 else []
    for n in range(max(2, shortest), min(longest, len(tokens)) + 1):
        runs += [" ".join(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]
    return runs


def _runs_inside(word: str, shortest: int, longest: int) -> list[str]:
    """Runs of characters of a word whose beginning and end are one each, "-" where it goes on; the whole is none.

    >>> _runs_inside("sun", 3, 4)
    ['su-', '-sun-', '-un', 'sun-', '-sun']
    """
    n = len(word)
    return [
        ("-" if i else "") + word[max(i - 1, 0) : i + size - 1] + ("-" if i + size < n + 2 else "")
        for size in range(shortest, min(longest, n + 1) + 1)
        for i in range(n + 3 - size)
    ]


def _char_runs(text: str, shortest: int, longest: int) -> list[str]:
    text = _WIDE_SPACE.sub(" ", text)
    lengths = range(shortest, min(longest, len(text)) + 1)
    return [text[i : i + n] for n in lengths for i in range(len(text) - n + 1)]


def _padded_runs(text: str, shortest: int, longest: int) -> list[str]:
    runs = []
    for word in text.split():
        padded = f" {word} "
        for n in range(shortest, longest + 1):
            runs += [padded[i : i + n] for i in range(max(1, len(padded) - n + 1))]
            if len(padded) <= n:
                break  # a short word counts once
    return runs


def text_alphabet(data: Bytes) -> int:
    """What the bytes need of Unicode: 0 nothing (ASCII), 1 its tables, 2 also those for a capital sigma.

    >>> [text_alphabet(packed([text.encode()])[0]) for text in ("a", "é", "ΟΔΟΣ")]
    [0, 1, 2]
    """
    raw = data.tobytes()
    return 0 if raw.isascii() else 1 + (b"\xce\xa3" in raw)


def token_rows(
    data: Bytes, offsets: Offsets, cut: Cut, known: WordIndex | None, in_order: bool, n_threads: int
) -> Rows:
    """Words and their counts in each document; with ``known`` the ids are its own, and other words are left out.

    Within a document words come by rising id, or without ``in_order`` as they are met first.

    >>> cut = Cut(0, 1, 1, True, 0, *packed([]))
    >>> rows = token_rows(*packed([b"The cat. The hat!", b"", b"a hat"]), cut, None, True, 1)
    >>> unpacked(rows.word_data, rows.word_offsets), rows.indptr.tolist(), rows.ids.tolist(), rows.counts.tolist()
    ([b'cat', b'hat', b'the'], [0, 3, 3, 4], [0, 1, 2, 1], [1, 1, 2, 1])
    """
    check_threads(n_threads)
    checked("documents", data, offsets)
    return rows_of(data, offsets, _analyser_of(cut), known, in_order)


def token_classes(
    data: Bytes, offsets: Offsets, labels: npt.NDArray[Any], n_classes: int, cut: Cut, n_threads: int
) -> ByClass:
    """Occurrences of each word in each class, and in how many of its documents it stands.

    >>> cut = Cut(0, 1, 1, True, 0, *packed([]))
    >>> labels = np.array([0, 1, 1], dtype=np.uint8)
    >>> by_class = token_classes(*packed([b"The cat. The hat!", b"", b"a hat"]), labels, 2, cut, 1)
    >>> by_class.indptr.tolist(), by_class.classes.tolist(), by_class.counts.tolist(), by_class.documents.tolist()
    ([0, 1, 3, 4], [0, 0, 1, 0], [1, 1, 1, 2], [1, 1, 1, 1])
    """
    check_threads(n_threads)
    checked("documents", data, offsets)
    check_cells("labels", labels, labels.dtype.name if labels.dtype.kind == "u" else "uint32", len(offsets) - 1)
    if len(labels) and int(labels.max()) >= n_classes:
        raise ValueError(f"labels hold {labels.max()}, beyond the {n_classes} classes")
    return classes_of(token_rows(data, offsets, cut, None, True, 1), labels, n_classes)


def classes_of(rows: Rows, labels: npt.NDArray[Any], n_classes: int) -> ByClass:
    """Counts by document as counts by class."""
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


def rows_of(data: Bytes, offsets: Offsets, analyse: Analyse, known: WordIndex | None, in_order: bool = True) -> Rows:
    """:func:`token_rows` by any function from a document to its tokens."""
    replaced = 0
    indptr, lengths = [0], []
    words: dict[bytes, int] = {} if known is None else known.known
    ids: list[int] = []
    counts: list[int] = []
    for raw in unpacked(data, offsets):
        text = raw.decode("utf-8", "replace")
        replaced += text.count("�") - raw.count(b"\xef\xbf\xbd")
        tokens = [token.encode("utf-8", "replace") for token in analyse(text)]
        count_of: Counter[int] = Counter()
        for token in tokens:
            if token in words:
                count_of[words[token]] += 1
            elif known is None:
                words[token] = len(words)
                count_of[len(words) - 1] += 1
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
    return Rows(*packed(listed), starts, column, count, np.array(lengths, dtype=np.int64), replaced)


def _analyser_of(cut: Cut) -> Analyse:
    if not 1 <= cut.shortest <= cut.longest:
        raise ValueError("runs of tokens are from 1 on, the longest last")
    stop = frozenset(word.decode("utf-8", "replace") for word in checked("stop words", cut.stop_data, cut.stop_offsets))
    inside = (cut.shortest_inside, cut.longest_inside)
    if any(inside) and not (cut.pattern < len(EXPRESSIONS) and 2 <= inside[0] <= inside[1] <= 16):
        raise ValueError("runs of characters beside words are of 2 to 16, the longest last")
    return analyser(cut.pattern, cut.shortest, cut.longest, cut.lowercase, stop, cut.hash_bits, inside)


_MASK = 2**64 - 1
_SECRETS = (0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3)


def _fold(a: int, b: int) -> int:
    product = a * b
    return (product & _MASK) ^ (product >> 64)


def hash_word(word: bytes) -> int:
    """64 bits of a word, the same on every machine: bucket numbers are written in model files."""
    seed = _SECRETS[0] ^ (len(word) * _SECRETS[2] & _MASK)
    for i in range(0, max(len(word), 1), 16):
        piece = word[i : i + 16].ljust(16, b"\0")
        first, second = int.from_bytes(piece[:8], "little"), int.from_bytes(piece[8:], "little")
        seed = _fold(first ^ _SECRETS[1], second ^ seed)
    return seed


def bucket(word: bytes, bits: int) -> str:
    """The name of the bucket that a word falls into, of 2^bits.

    >>> bucket(b"game", 16)
    '#...'
    """
    return f"#{hash_word(word) >> (64 - bits):0{-(-bits // 4)}x}"

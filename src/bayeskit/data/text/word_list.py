"""Store a sorted list of distinct words in one byte buffer, without a Python object per word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from bayeskit import kernels
from bayeskit.errors import BadFile
from bayeskit.typing import Array, Bytes, Ints

CHUNK = 1 << 16  # words checked at a time


class Words:
    """Distinct words in code point order; word i is ``data[offsets[i]:offsets[i + 1]]``, in UTF-8.

    >>> words = Words.of(["great", "a", "game"])
    >>> list(words), words[1], len(words)
    (['a', 'game', 'great'], 'game', 3)
    >>> words.positions(["game", "chess"]).tolist()
    [1, -1]
    """

    def __init__(self, data: Bytes, offsets: Ints) -> None:
        self.data, self.offsets = data, offsets

    @classmethod
    def of(cls, words: Iterable[str]) -> Words:
        """Build a list of the distinct words, sorted."""
        return cls(*pack_words(sorted({word.encode("utf-8", "replace") for word in words})))

    @classmethod
    def checked(cls, data: Array, offsets: Array) -> Words:
        """Build a list from untrusted arrays; raise an error unless they are valid UTF-8, distinct and sorted."""
        fits = (
            data.dtype == np.uint8
            and offsets.dtype == np.int64
            and data.ndim == offsets.ndim == 1
            and len(offsets) > 0
            and offsets[0] == 0
            and offsets[-1] == len(data)
            and bool((offsets[1:] > offsets[:-1]).all())  # a difference could wrap around
        )
        if not fits:
            raise BadFile("a list of words has offsets that do not fit its bytes")
        for start in range(0, len(offsets) - 1, CHUNK):
            _check_text(data, offsets[start : start + CHUNK + 2])  # two words more: parts overlap by one
        return cls(data, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> str:
        i = range(len(self))[i]
        return self.data[self.offsets[i] : self.offsets[i + 1]].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        listed = ", ".join(self[i] for i in range(min(len(self), 5)))
        return f"<{len(self):,} words: {listed}{', …' if len(self) > 5 else ''}>"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Words)
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.data, other.data)
        )

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {"data": self.data, "offsets": self.offsets}  # the index is made anew: it is of this process alone

    def tolist(self) -> list[str]:
        """Return all words as strings."""
        raw, at = self.data.tobytes(), self.offsets.tolist()
        return [raw[a:b].decode() for a, b in pairwise(at)]

    @cached_property
    def index(self) -> kernels.WordIndex:
        """Return the index of words for the kernels."""
        return kernels.WordIndex(self.data, self.offsets)

    def positions(self, words: Sequence[str]) -> Ints:
        """Return the position of each of ``words``, -1 if absent."""
        known = {word: i for i, word in enumerate(self.tolist())}
        return np.array([known.get(word, -1) for word in words], dtype=np.int64)

    def take(self, index: Array) -> Words:
        """Return some of the words, by rising position or by mask."""
        index = np.flatnonzero(index) if index.dtype == bool else index
        starts, lengths = self.offsets[index], (self.offsets[1:] - self.offsets[:-1])[index]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        where = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        return Words(self.data[where], offsets)


def _check_text(data: Bytes, offsets: Ints) -> None:
    """Raise an error for words that are not valid UTF-8 or not in code point order."""
    raw, at = data[offsets[0] : offsets[-1]].tobytes(), (offsets - offsets[0]).tolist()
    listed = [raw[a:b] for a, b in pairwise(at)]
    try:
        raw.decode()
    except UnicodeDecodeError:
        raise BadFile("a list of words holds bytes that are no text") from None
    if any(word[0] & 0xC0 == 0x80 for word in listed):
        raise BadFile("a list of words cuts a letter in two")
    if any(a >= b for a, b in pairwise(listed)):
        raise BadFile("a list of words is not sorted")


def pack_words(words: Iterable[bytes]) -> tuple[Bytes, Ints]:
    """Concatenate byte strings; return the bytes and where each string starts, (n_words + 1,)."""
    listed = list(words)
    offsets = np.zeros(len(listed) + 1, dtype=np.int64)
    np.cumsum([len(word) for word in listed], out=offsets[1:])
    return np.frombuffer(b"".join(listed), dtype=np.uint8), offsets


def unpack_words(data: Bytes, offsets: Ints) -> list[bytes]:
    """Split the bytes that :func:`pack_words` made."""
    raw, at = data.tobytes(), offsets.tolist()
    return [raw[a:b] for a, b in pairwise(at)]


def union(a: Words, b: Words) -> tuple[Words, Ints, Ints]:
    """Return (all words of both, positions of the words of a, positions of those of b).

    >>> both, a, b = union(Words.of(["a", "game"]), Words.of(["chess", "game"]))
    >>> list(both), a.tolist(), b.tolist()
    (['a', 'chess', 'game'], [0, 2], [1, 2])
    """
    data, offsets, first, second = kernels.union_words(a.data, a.offsets, b.data, b.offsets)
    return Words(data, offsets), first, second

"""Sorted lists of distinct words in one byte buffer, without a Python object per word, and limits on their number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from bayeskit import kernels
from bayeskit.errors import BadFile, BayesError
from bayeskit.settings import is_integer
from bayeskit.typing import Array, Bools, Bytes, Ints

# Words checked at a time.
CHUNK = 1 << 16


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
            # A difference could wrap around.
            and bool((offsets[1:] > offsets[:-1]).all())
        )
        if not fits:
            raise BadFile("a list of words has offsets that do not fit its bytes")
        for start in range(0, len(offsets) - 1, CHUNK):
            # Two more words: parts overlap by one.
            _check_text(data, offsets[start : start + CHUNK + 2])
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
        # The index belongs to this process and is made again.
        return {"data": self.data, "offsets": self.offsets}

    def tolist(self) -> list[str]:
        """Return all words as strings."""
        return [raw.decode() for raw in unpack_words(self.data, self.offsets)]

    @cached_property
    def index(self) -> kernels.WordIndex:
        """Return the index of words for the kernels."""
        return kernels.WordIndex(self.data, self.offsets)

    def positions(self, words: Sequence[str]) -> Ints:
        """Return the position of each of ``words``, -1 if absent."""
        known = {word: i for i, word in enumerate(self.tolist())}
        return np.array([known.get(word, -1) for word in words], dtype=np.int64)

    def are_in(self, others: Words) -> Bools:
        """Mark the words that are among others (n_words,)."""
        return np.asarray(others.index.find(self.data, self.offsets)) >= 0

    def take(self, index: Array) -> Words:
        """Return some of the words, by rising position or by mask."""
        offsets, where = take_ranges(self.offsets, index)
        return Words(self.data[where], offsets)


def _check_text(data: Bytes, offsets: Ints) -> None:
    """Raise an error for words that are not valid UTF-8 or not in code point order."""
    some = data[offsets[0] : offsets[-1]]
    listed = unpack_words(some, offsets - offsets[0])
    try:
        some.tobytes().decode()
    except UnicodeDecodeError:
        raise BadFile("a list of words holds bytes that are not text") from None
    if any(word[0] & 0xC0 == 0x80 for word in listed):
        raise BadFile("a list of words cuts a letter in two")
    if any(a >= b for a, b in pairwise(listed)):
        raise BadFile("a list of words is not sorted")


def take_ranges(offsets: Ints, index: Array) -> tuple[Ints, Ints]:
    """Return the offsets of some ranges, by position or mask, and the position of each of their cells.

    >>> [array.tolist() for array in take_ranges(np.array([0, 2, 5, 6]), np.array([1, 0]))]
    [[0, 3, 5], [2, 3, 4, 0, 1]]
    """
    index = np.flatnonzero(index) if index.dtype == bool else index
    lengths = np.diff(offsets)[index]
    taken = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return taken, np.arange(taken[-1]) + np.repeat(offsets[:-1][index] - taken[:-1], lengths)


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


class WordLimits(NamedTuple):
    """Limits on document frequencies (counts, or shares if float) and on the number of words.

    >>> WordLimits(min_df=2, max_features=1).choose(np.array([[3, 1, 2], [4, 9, 5]]), 3).tolist()
    [False, False, True]
    """

    min_df: int | float = 1
    max_df: int | float = 1.0
    max_features: int | None = None

    @classmethod
    def of(cls, settings: Any) -> WordLimits:
        """Take the limits from the settings of a model."""
        return cls(settings.min_df, settings.max_df, settings.max_features)

    def check(self, least: int = 1) -> None:
        """Refuse limits that are not numbers of documents, from ``least`` on, or of words."""
        for name, limit in (("min_df", self.min_df), ("max_df", self.max_df)):
            is_share = isinstance(limit, float) and 0 <= limit <= 1
            if not is_share and not (is_integer(limit) and limit >= least):
                raise BayesError(f"{name}={limit!r}: give a number of documents from 1 on, or a share from 0.0 to 1.0")
        if self.max_features is not None and not (is_integer(self.max_features) and self.max_features >= 1):
            raise BayesError(f"max_features={self.max_features!r}: give a whole number from 1 on, or None")

    def choose(self, totals: Any, n_documents: float, ties: Literal["stable", "quicksort"] = "stable") -> Bools:
        """Mark the words to keep (n_words,), by document frequency and then by total count.

        Parameters
        ----------
        totals : array-like of shape (2, n_words)
            Documents that have the word, and occurrences.
        n_documents : float
        ties : {"stable", "quicksort"}, default="stable"
            With "stable", words of equal count are kept in their order; "quicksort" is the order of scikit-learn.
        """
        documents, counts = totals
        low, high = (df * n_documents if isinstance(df, float) else df for df in self[:2])
        keep = (documents >= low) & (documents <= high)
        if self.max_features is not None and int(keep.sum()) > self.max_features:
            order = np.argsort(-counts[keep], kind=ties)[: self.max_features]
            keep[np.flatnonzero(keep)] = np.isin(np.arange(int(keep.sum())), order)
        return np.asarray(keep)

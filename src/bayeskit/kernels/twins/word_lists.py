"""Lists of words: in order, found, as one, and documents of them scored.

Documents and lists of words are bytes with offsets: the i-th is ``data[offsets[i]:offsets[i + 1]]``, in UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from bayeskit.kernels.twins.checks import check_cells, check_threads

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]
Ids = npt.NDArray[np.int32]


class WordIndex:
    """Where each word of a list stands.

    >>> WordIndex(*packed([b"a", b"game"])).find(*packed([b"game", b"chess"])).tolist()
    [1, -1]
    """

    def __init__(self, data: Bytes, offsets: Offsets) -> None:
        words = checked("words", data, offsets)
        self.known = {word: i for i, word in enumerate(words)}
        if len(self.known) < len(words):
            raise ValueError("a word stands in the list twice")

    def find(self, data: Bytes, offsets: Offsets) -> npt.NDArray[np.int64]:
        """Where each of these words stands; -1 where it does not."""
        return np.array([self.known.get(word, -1) for word in checked("words", data, offsets)], dtype=np.int64)

    def __len__(self) -> int:
        return len(self.known)


def packed(words: Iterable[bytes]) -> tuple[Bytes, Offsets]:
    """Byte strings one after another, and where each begins."""
    listed = list(words)
    offsets = np.zeros(len(listed) + 1, dtype=np.int64)
    np.cumsum([len(word) for word in listed], out=offsets[1:])
    return np.frombuffer(b"".join(listed), dtype=np.uint8), offsets


def unpacked(data: Bytes, offsets: Offsets) -> list[bytes]:
    """The byte strings that :func:`packed` wrote."""
    raw, at = data.tobytes(), offsets.tolist()
    return [raw[a:b] for a, b in pairwise(at)]


def checked(name: str, data: Bytes, offsets: Offsets) -> list[bytes]:
    """The same of arrays that may come from anywhere."""
    check_cells(f"{name}: data", data, "uint8", None)
    check_cells(f"{name}: offsets", offsets, "int64", None)
    if not len(offsets) or offsets[0] < 0 or offsets[-1] > len(data):
        raise ValueError(f"{name}: the offsets do not fit the {len(data)} bytes")
    if (np.diff(offsets) < 0).any():
        raise ValueError(f"{name}: an offset is below the one before")
    return unpacked(data, offsets)


def union_words(
    a_data: Bytes, a_offsets: Offsets, b_data: Bytes, b_offsets: Offsets
) -> tuple[Bytes, Offsets, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Two sorted lists as one, and where the words of each stand in it."""
    a, b = checked("first words", a_data, a_offsets), checked("second words", b_data, b_offsets)
    both = sorted({*a, *b})
    rank = {word: i for i, word in enumerate(both)}
    first, second = (np.array([rank[word] for word in side], dtype=np.int64) for side in (a, b))
    return *packed(both), first, second


def score_rows(
    indptr: Offsets,
    ids: Ids,
    values: npt.NDArray[np.float64],
    table: npt.NDArray[np.float64],
    scores: npt.NDArray[np.float64],
    n_threads: int,
) -> None:
    """Add Σ_k values[k] · table[ids[k]] to the scores of each document; a value of zero adds nothing.

    >>> scores = np.zeros((1, 2))
    >>> score_rows(np.array([0, 2]), np.array([0, 2], np.int32), np.array([1.0, 2.0]), np.eye(3, 2), scores, 1)
    >>> scores.tolist()
    [[1.0, 0.0]]
    """
    check_threads(n_threads)
    check_cells("scores", scores, "float64", None, None)
    check_cells("indptr", indptr, "int64", len(scores) + 1)
    check_cells("ids", ids, "int32", None)
    check_cells("values", values, "float64", len(ids))
    check_cells("table", table, "float64", None, scores.shape[1])
    if indptr[0] < 0 or indptr[-1] > len(ids) or (np.diff(indptr) < 0).any():
        raise ValueError("indptr does not fit the ids")
    if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < len(table):
        raise ValueError(f"ids reach from {ids.min()} to {ids.max()}, beyond the table's {len(table)} rows")
    for d in range(len(scores)):
        part = slice(indptr[d], indptr[d + 1])
        speaking = values[part] != 0
        scores[d] += (values[part][speaking, None] * table[ids[part][speaking]]).sum(axis=0)

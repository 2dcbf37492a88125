"""Random numbers that depend on a seed and on what they are for, and on no library's version."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from bayeskit.typing import Ints

STEP = 0x9E3779B97F4A7C15
MASK = 2**64 - 1


def mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """A 64-bit mixer: neighbouring numbers lead to unrelated ones (Steele, Lea and Flood 2014)."""
    x = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def stream(seed: int, n: int) -> npt.NDArray[np.uint64]:
    """The first n numbers of a seed.

    >>> stream(7, 2).tolist() == stream(7, 3)[:2].tolist()
    True
    """
    return mixed(np.uint64(seed & MASK) + np.uint64(STEP) * np.arange(1, n + 1, dtype=np.uint64))


def below(limit: int, numbers: npt.NDArray[np.uint64]) -> Ints:
    """Whole numbers from 0 on, below a limit of 32 bits at most."""
    return ((numbers >> np.uint64(32)) * np.uint64(limit) >> np.uint64(32)).astype(np.int64)


def digest(*parts: npt.NDArray[np.generic] | int) -> int:
    """64 bits that stand for arrays and numbers: other contents, other bits."""
    hashed = hashlib.blake2b(digest_size=8)
    for part in parts:
        hashed.update(part.to_bytes(8, "little") if isinstance(part, int) else np.ascontiguousarray(part).tobytes())
    return int.from_bytes(hashed.digest(), "little")

"""What can come into a kernel: arrays of every type, order and length, with gaps.

BAYESKIT_CORE names a folder with another build of the core, which is then the one under test (`make sanitize`).
"""

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

if watched := os.environ.get("BAYESKIT_CORE"):
    (built,) = Path(watched).glob("_core*.so")
    spec = importlib.util.spec_from_file_location("bayeskit._core", built)
    assert spec is not None
    assert spec.loader is not None
    sys.modules["bayeskit._core"] = core = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)

INTEGERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
CODES = ["uint8", "uint16", "uint32"]

sizes = st.sampled_from([0, 1, 2, 3, 63, 64, 65, 1030])
few = st.integers(0, 6)
seeds = st.integers(0, 2**32 - 1)
thread_counts = st.integers(1, 4)
class_counts = st.sampled_from([1, 2, 3, 4, 5, 8, 9, 17, 40])


def strided(matrix: np.ndarray, how: int) -> list[np.ndarray]:
    """The columns of a matrix as views of each kind of memory order, with the same values."""
    n, k = matrix.shape
    if how == 0:
        return [np.ascontiguousarray(matrix)[:, j] for j in range(k)]
    if how == 1:
        return [np.asfortranarray(matrix)[:, j] for j in range(k)]
    if how == 2:  # backwards
        return [np.ascontiguousarray(matrix[::-1])[::-1, j] for j in range(k)]
    wide = np.zeros((n, 2 * k + 1), dtype=matrix.dtype)
    wide[:, 1::2] = matrix
    return [wide[:, 2 * j + 1] for j in range(k)]


def floats(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    x = rng.normal(size=(n, k)) * 10.0 ** rng.integers(-8, 9, size=(n, k))
    x[rng.random((n, k)) < 0.1] = np.nan
    x[rng.random((n, k)) < 0.1] = -0.0
    return x


def codes(rng: np.random.Generator, n: int, size: int) -> np.ndarray:
    return rng.integers(0, size, n).astype(rng.choice(CODES))


def same(ours: Any, theirs: Any) -> None:
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype == np.asarray(b).dtype

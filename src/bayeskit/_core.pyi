"""The compiled kernels (native/). Each is described, with an example, at its twin in `bayeskit._twins`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit._twins import Codes, Floats, Integers, Moments

def int_ranges(columns: Sequence[Integers], n_threads: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def lookup_codes(
    columns: Sequence[Integers],
    lo: NDArray[np.int64],
    tables: Sequence[NDArray[np.uint32]],
    unseen: NDArray[np.uint32],
    n_threads: int,
) -> list[Codes]: ...
def factor_strings(
    cells: NDArray[np.object_], most_others: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]] | None: ...
def count_codes(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    labels: Codes,
    n_classes: int,
    weights: Floats | None,
    n_threads: int,
) -> list[NDArray[Any]]: ...
def count_responsibilities(
    columns: Sequence[Codes], sizes: Sequence[int], responsibilities: Floats, n_threads: int
) -> list[Floats]: ...
def moments(
    columns: Sequence[Floats], labels: Codes, n_classes: int, weights: Floats | None, n_threads: int
) -> Moments: ...
def moments_responsibilities(columns: Sequence[Floats], responsibilities: Floats, n_threads: int) -> Moments: ...
def bin_codes(columns: Sequence[Floats], cuts: Sequence[Floats], n_threads: int) -> list[Codes]: ...
def count_pairs(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    labels: Codes,
    n_classes: int,
    weights: Floats | None,
    n_threads: int,
) -> NDArray[Any]: ...
def factor_codes(columns: Sequence[Codes], sizes: Sequence[int]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
def context_codes(
    parents: Sequence[Codes],
    child: Codes,
    child_size: int,
    steps: Sequence[NDArray[np.int32]],
    n_nodes: int,
    n_threads: int,
) -> NDArray[np.uint32]: ...
def score_aode(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    tables: Sequence[Floats],
    base: Floats,
    log_weights: Floats,
    scores: Floats,
    n_threads: int,
) -> None: ...
def score_parents(
    columns: Sequence[Codes], sizes: Sequence[int], tables: Sequence[Floats], base: Floats, n_threads: int
) -> Floats: ...
def mdl_cuts(
    columns: Sequence[Floats], labels: Codes, n_classes: int, weights: Floats | None, n_threads: int
) -> list[Floats]: ...
def score_codes(columns: Sequence[Codes], tables: Sequence[Floats], scores: Floats, n_threads: int) -> None: ...
def score_gaussian(
    columns: Sequence[Floats],
    mean: Floats,
    precision: Floats,
    constant: Floats,
    scores: Floats,
    n_threads: int,
) -> None: ...
def normalise(scores: Floats, n_threads: int) -> tuple[Floats, Floats]: ...

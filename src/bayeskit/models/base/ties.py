"""The class with the best score, where floats cannot tell and where two classes tie.

Scores within 1e-12 · max(1, |score|) of the best are a tie: sums in floats lose over a third of exact ties.

Formula: which scores are a tie
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.data.block import Block
from bayeskit.estimate.sampling import mix_bits
from bayeskit.models.base.settings import seed_of
from bayeskit.tolerance import TIE
from bayeskit.typing import Array, Floats, Ints


def first_best(scores: Floats, n_threads: int = 1) -> Ints:
    """The position of the best class in each row (rows, classes), the first of a tie.

    >>> first_best(np.array([[0.1 + 0.2, 0.3]])).tolist()                # 0.30000000000000004 and 0.3
    [0]
    """
    return kernels.best_classes(np.ascontiguousarray(scores), TIE, n_threads)


def best_class(scores: Floats, block: Block, random: bool, seed: int, n_threads: int = 1) -> Ints:
    """The position of the best class in each row (rows, classes): the first of a tie, or one drawn.

    A draw depends on the seed and the row's content alone, so neither order nor batches matter.
    """
    if not random:
        return first_best(scores, n_threads)
    best = scores.max(axis=1)
    within = scores >= (best - TIE * np.maximum(1.0, np.abs(best)))[:, None]
    within[np.isneginf(best)] = True
    chosen: Ints = within.argmax(axis=1)
    rows = np.flatnonzero(within.sum(axis=1) > 1)
    if len(rows):
        order = within[rows].cumsum(axis=1)
        pick = (_row_hash(block, rows, seed) % order[:, -1].astype(np.uint64)).astype(np.int64) + 1
        chosen[rows] = (order == pick[:, None]).argmax(axis=1)
    return chosen


def tie_seed(model: Any) -> int:
    """The seed of the draws of a fitted model: its whole number, or one drawn when it is first asked after a fit.

    So one model says the same of equal rows in every call, and two fits without a seed draw anew.
    """
    if model.ties != "random":
        return 0
    if isinstance(model.random_state, (int, np.integer)):
        return seed_of(model.random_state) or 0
    fitted, seed = getattr(model, "tie_seed_", (None, 0))
    if fitted is not model.params_:
        drawn = seed_of(model.random_state)
        seed = secrets.randbits(64) if drawn is None else drawn
        model.tie_seed_ = (model.params_, seed)
    return int(seed)


def _row_hash(block: Block, rows: Array, seed: int) -> npt.NDArray[np.uint64]:
    state = np.full(len(rows), seed, dtype=np.uint64)
    contents = [column[rows].astype(np.uint64) for column in block.codes.values()]
    for column in block.floats.values():  # one zero, and one NaN
        numbers = column[rows] + 0.0
        contents.append(np.where(np.isnan(numbers), np.uint64(1), numbers.view(np.uint64)))
    for tokens in block.tokens.values():
        cells = _mix(tokens.ids.astype(np.uint64) << np.uint64(32) | tokens.counts.astype(np.uint64))
        sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(cells)])  # modulo 2**64; any order of the words
        contents.append((sums[tokens.indptr[1:]] - sums[tokens.indptr[:-1]])[rows])
    for content in contents:
        state = _mix(state ^ content)
    return _mix(state)


def _mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    return mix_bits(x + np.uint64(0x9E3779B97F4A7C15))

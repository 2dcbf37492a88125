"""Cut points: where a number's range is divided into intervals.

Formula: cut points
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from bayeskit import kernels
from bayeskit.errors import BayesError
from bayeskit.tolerance import RANK
from bayeskit.typing import Array, Floats, Ints


def equal_width(low: float, high: float, n_bins: int) -> tuple[float, ...]:
    """The n − 1 cuts that divide low..high into n intervals of equal width; none where low equals high.

    >>> equal_width(0, 10, 4)
    (2.5, 5.0, 7.5)
    """
    if n_bins < 1:
        raise BayesError(f"a histogram needs at least one interval, not {n_bins}")
    cuts = [float(low + (high - low) * i / n_bins) for i in range(1, n_bins)] if high > low else []
    return tuple(cut for cut, before in zip(cuts, [low, *cuts], strict=False) if before < cut < high)


def equal_frequency(x: Floats, n_bins: int, weights: Floats | None = None) -> tuple[float, ...]:
    """The cuts that divide numbers into n intervals with as many of them in each as ties allow.

    >>> equal_frequency(np.array([1.0, 2.0, 3.0, 10.0, 20.0, 30.0]), 3)
    (2.5, 15.0)
    """
    if n_bins < 1:
        raise BayesError(f"cutting needs at least one interval, not {n_bins}")
    if weights is None:
        return tuple(kernels.frequency_cuts([x], [n_bins], RANK, 1)[0].tolist())
    x, shares = _sorted(x, weights)
    total = shares[-1] if shares is not None and len(x) else 0.0
    return at_ranks(x, np.arange(1, n_bins) * (total / n_bins), shares)


def random(x: Floats, n_bins: int, rng: np.random.Generator, weights: Floats | None = None) -> tuple[float, ...]:
    """Cuts at n − 1 random ranks of the numbers: they know nothing of the class.

    >>> len(random(np.arange(100.0), 5, np.random.default_rng(0)))
    4
    """
    if n_bins < 1:
        raise BayesError(f"cutting needs at least one interval, not {n_bins}")
    x, shares = _sorted(x, weights)
    if len(x) < 2:
        return ()
    ranks = rng.integers(1, len(x), size=n_bins - 1).astype(np.float64)
    return at_ranks(x, np.sort(ranks) if shares is None else shares[np.sort(ranks).astype(np.int64) - 1], shares)


def random_of_distinct(x: Floats, counts: Ints, n_bins: int, rng: np.random.Generator) -> tuple[float, ...]:
    """The same cuts from rising distinct numbers and how often each occurs.

    >>> rows = np.array([1.0, 2.0, 2.0, 5.0, 5.0, 5.0])
    >>> drawn = random_of_distinct(np.array([1.0, 2.0, 5.0]), np.array([1, 2, 3]), 4, np.random.default_rng(1))
    >>> drawn == random(rows, 4, np.random.default_rng(1))
    True
    """
    if (total := int(counts.sum())) < 2:
        return ()
    ranks = rng.integers(1, total, size=n_bins - 1).astype(np.float64)
    return at_ranks(x, np.sort(ranks), np.cumsum(counts).astype(np.float64))


def mdl(x: Floats, labels: Array, n_classes: int, weights: Floats | None = None) -> tuple[float, ...]:
    """Cuts that tell the classes apart, as many as pay for their description (Fayyad and Irani, 1993).

    >>> ages, buys = np.array([20.0, 21, 22, 23, 24, 30, 31, 32, 33, 34]), np.repeat([0, 1], 5)
    >>> mdl(ages, buys, 2)
    (27.0,)
    """
    points = kernels.mdl_cuts([x], np.ascontiguousarray(labels, dtype=np.uint32), n_classes, weights, 1)[0]
    return tuple(points.tolist())


def at_ranks(x: Floats, ranks: Floats, shares: Floats | None = None) -> tuple[float, ...]:
    """Cuts after the values at ranks of sorted numbers, half way to the next; ``shares`` are cumulative weights.

    >>> at_ranks(np.array([1.0, 2.0, 4.0, 4.0, 9.0]), np.array([1, 2, 3]))    # the third lies within the fours
    (1.5, 3.0, 6.5)
    """
    if len(x) < 2 or not len(ranks):
        return ()
    places = _places(ranks, len(x)) if shares is None else np.searchsorted(shares, ranks - RANK * shares[-1])
    left = np.unique(x[np.minimum(places, len(x) - 1)])
    left = left[left < x[-1]]
    return _between(left, x[np.searchsorted(x, left, side="right")])


def _places(ranks: Floats, n: int) -> Ints:
    """Where n sorted numbers reach these ranks; one that falls on a border is there, whatever the last digit says."""
    return np.maximum(np.ceil(ranks - RANK * n), 1).astype(np.int64) - 1


def _between(left: Floats, right: Floats) -> tuple[float, ...]:
    """Half way between numbers and the next ones."""
    middle = left + (right - left) / 2
    return tuple(np.where(middle < right, middle, left).tolist())


def _sorted(x: Floats, weights: Floats | None) -> tuple[Floats, Floats | None]:
    """The numbers that are there in order, and their cumulative weights."""
    if weights is None:
        x = np.sort(x)  # missing cells come last
        return x[: np.searchsorted(x, np.nan)], None
    rows = np.flatnonzero(~np.isnan(x) & (weights > 0))
    rows = rows[np.argsort(x[rows], kind="stable")]
    return x[rows], np.cumsum(weights[rows])


def given(cuts: object, column: str) -> tuple[float, ...]:
    """Cut points as a user wrote them.

    >>> given([20, 27.5], "age")
    (20.0, 27.5)
    """
    try:
        return tuple(float(cut) for cut in cuts)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise BayesError(
            f"cuts={cuts!r} for column {column!r}: give a number of intervals, or a list of rising numbers"
        ) from None


def labels(cuts: Sequence[float]) -> list[str]:
    """Readable names of the intervals, a value on a cut belonging to the left one.

    >>> labels([20.0, 27.5])
    ['≤ 20', '20 – 27.5', '> 27.5']
    """
    if not cuts:
        return ["any"]
    middle = [f"{a:g} – {b:g}" for a, b in pairwise(cuts)]
    return [f"≤ {cuts[0]:g}", *middle, f"> {cuts[-1]:g}"]

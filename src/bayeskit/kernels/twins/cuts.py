"""Cut points by minimum description length (Fayyad and Irani)."""

from collections.abc import Sequence

import numpy as np

from bayeskit.kernels.twins.checks import (
    Codes,
    Floats,
    check_labels,
    check_weights,
    length,
)


def mdl_cuts(
    columns: Sequence[Floats], labels: Codes, n_classes: int, weights: Floats | None, n_threads: int
) -> list[Floats]:
    """Cut points of each column by minimum description length (Fayyad and Irani), rising.

    Of a set S of N rows and k classes the cut with the least N₁Ent(S₁) + N₂Ent(S₂) is made, and both sides are
    cut again, as long as N Gain > ln(N − 1) + ln(3^k − 2) − (k Ent(S) − k₁Ent(S₁) − k₂Ent(S₂)).

    >>> x, labels = np.arange(12.0), np.repeat(np.array([0, 1], dtype=np.uint8), 6)
    >>> mdl_cuts([x], labels, 2, None, 1)
    [array([5.5])]
    """
    check_labels(labels, n_classes, length(columns, n_threads, "floats", len(labels)))
    check_weights(weights, len(labels))
    if weights is not None and not np.isfinite(weights).all():
        raise ValueError("weights holds what is no finite number")
    weight = np.ones(len(labels)) if weights is None else _on_a_grid(weights)
    cuts = []
    for i, column in enumerate(columns):
        if (np.abs(column) > 1e150).any():
            raise ValueError(f"column {i} holds a number beyond 1e150")
        rows = np.flatnonzero(~np.isnan(column) & (weight > 0))
        rows = rows[np.argsort(column[rows], kind="stable")]
        shares = np.zeros((len(rows) + 1, n_classes))
        shares[np.arange(1, len(rows) + 1), labels[rows]] = weight[rows]
        cuts.append(np.array(sorted(_mdl(column[rows], shares.cumsum(axis=0), 0, len(rows))), dtype=np.float64))
    return cuts


def _on_a_grid(weights: Floats) -> Floats:
    """Weights as multiples of a power of two so small that it hardly matters and so large that sums are exact."""
    grid = np.ldexp(1.0, int(np.frexp(weights.max(initial=0.0) * len(weights))[1]) - 52)
    return np.rint(weights / grid) * grid if grid > 0 else weights


def _mdl(x: Floats, before: Floats, first: int, last: int) -> list[float]:
    """The cuts of sorted rows first..last; `before` (rows + 1, classes) are the weights before each."""
    at = first + 1 + np.flatnonzero(x[first + 1 : last] != x[first : last - 1])
    here = before[last] - before[first]
    if not len(at) or (here > 0).sum() < 2:
        return []
    left = before[at] - before[first]
    right = np.maximum(here - left, 0.0)
    sides = [_spread(side) for side in (left, right)]
    both, total = sides[0] + sides[1], here.sum()
    best = int(np.argmax(both <= both.min() + 1e-10 * total))
    k, entropy = (here > 0).sum(), _spread(here[None])[0]
    delta = k * np.log(3) + np.log1p(-2 * 3.0**-k) - k * entropy / total
    for side, spread in zip((left, right), sides, strict=True):
        delta += (side[best] > 0).sum() * spread[best] / side[best].sum()
    if not entropy - both[best] > np.log(max(total - 1, 1.0)) + delta:
        return []
    cut, (a, b) = int(at[best]), x[at[best] - 1 : at[best] + 1]
    middle = a + (b - a) / 2
    return [float(middle if middle < b else a), *_mdl(x, before, first, cut), *_mdl(x, before, cut, last)]


def _spread(counts: Floats) -> Floats:
    """N · Ent of counts (cases, classes), in nats."""
    total = counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.where(counts > 0, counts * np.log(counts), 0.0).sum(axis=1)
        outer = np.where(total > 0, total * np.log(total), 0.0)
    return np.asarray(outer - inner)

"""Is it more than chance? Columns that are independent given the class have some information in common all the same.

From n rows, 2 n I(X; Z | C) is χ² distributed with Σ_c (|X|_c − 1)(|Z|_c − 1) degrees of freedom where cells are well
filled. Where they are not, one column is shuffled within the classes, which keeps everything but the dependence; a
Gamma distribution of the same mean and variance then says how surprising the real information is.

Formula: the G test of I(X; Z ∣ C), by χ² and by shuffling within classes
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayeskit import kernels
from bayeskit.estimate.information import NATS_IN_A_BIT, conditional_information
from bayeskit.tolerance import POSITIVE
from bayeskit.typing import Array

FILLED = 5.0  # rows a cell, on average, from which on χ² is trusted
SHUFFLES = 60
LEVEL = 0.01  # of a test over all pairs
LEAST_BITS = 0.005  # of a pair that is worth a word
MOST_SHUFFLED = 5_000  # rows


@dataclass(frozen=True)
class Surprise:
    """``bits`` of information beyond what chance gives, ``by_chance`` bits, and how surprising the whole is."""

    bits: float
    by_chance: float
    p_value: float


def by_chi_squared(counts: Array) -> Surprise:
    """From a table (classes, values, values).

    >>> xor = np.array([[[25, 0], [0, 25]], [[0, 25], [25, 0]]])
    >>> surprise = by_chi_squared(xor)
    >>> round(surprise.bits + surprise.by_chance, 6), surprise.p_value < 1e-20
    (1.0, True)
    """
    from scipy.special import chdtrc

    gain, freedom = (float(part) for part in conditional_information(counts))
    n = max(float(np.sum(counts)), POSITIVE)
    p_value = float(chdtrc(freedom, 2 * gain)) if freedom else 1.0
    chance = freedom / 2 / n / NATS_IN_A_BIT
    return Surprise(max(gain / n / NATS_IN_A_BIT - chance, 0.0), chance, p_value)


def is_well_filled(counts: Array) -> bool:
    """Whether χ² can be trusted: five rows a cell that could be filled."""
    n = np.asarray(counts)
    cells = ((n.sum(axis=2) > 0).sum(axis=1) * (n.sum(axis=1) > 0).sum(axis=1)).sum()
    return bool(n.sum() >= FILLED * cells)


def by_shuffling(
    first: Array,
    second: Array,
    sizes: tuple[int, int],
    labels: Array,
    n_classes: int,
    rng: np.random.Generator,
) -> Surprise:
    """From the codes of two columns (rows,), 0 where a cell is missing, shuffled within the classes.

    >>> rng = np.random.default_rng(0)
    >>> x, z, c = (rng.integers(1, 9, 200) for _ in range(2)), None, rng.integers(0, 2, 200)
    >>> a, b = x
    >>> by_shuffling(a, b, (9, 9), c, 2, rng).p_value > 0.01
    True
    >>> by_shuffling(a, a, (9, 9), c, 2, rng).p_value < 1e-6
    True
    """
    from scipy.special import gammaincc

    there = np.flatnonzero((first > 0) & (second > 0))
    if len(there) > MOST_SHUFFLED:
        there = np.sort(rng.permutation(there)[:MOST_SHUFFLED])
    a, b, c = first[there], second[there], np.ascontiguousarray(labels[there].astype(np.uint32))
    order = np.argsort(c, kind="stable")
    a, b, c = a[order], b[order], c[order]

    def information(others: Array) -> float:
        cells = (a.astype(np.uint32) * sizes[1] + others.astype(np.uint32)).astype(np.uint32)
        table = kernels.count_codes([cells], [sizes[0] * sizes[1]], c, n_classes, None, 1)[0]
        return float(conditional_information(np.asarray(table).reshape(n_classes, *sizes))[0])

    n = max(len(there), 1)
    seen = information(b)
    shuffled = np.array([information(b[np.lexsort((rng.random(len(c)), c))]) for _ in range(SHUFFLES)])
    mean, variance = float(shuffled.mean()), float(shuffled.var(ddof=1))
    if not variance > 0:
        p_value = 1.0 if seen <= mean else 0.0
    else:
        p_value = float(gammaincc(mean**2 / variance, seen * mean / variance))
    chance = mean / n / NATS_IN_A_BIT
    return Surprise(max(seen / n / NATS_IN_A_BIT - chance, 0.0), chance, p_value)

"""Compute entropy, mutual information and tests of independence.

Formula: entropy, mutual information I(X; Y), I(X; Y ∣ C), I(class; word)
Formula: the G test of I(X; Z ∣ C), by χ² and by shuffling within classes
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.tally.counts import Family, Pairs
from bayeskit.tolerance import CHANCE, NO_INFORMATION, POSITIVE
from bayeskit.typing import Array, Bools, Floats, Ints

NATS_IN_A_BIT: float = float(logspace.log(2.0))
WIDEST = 4_000_000  # cells of the largest table of a pair
STACKED = 1 << 18  # cells of tables processed together


def weighted_log_ratio(weight: Floats, above: Any, below: Any) -> Floats:
    """Return w ln(a / b) elementwise, 0 where w is 0.

    >>> weighted_log_ratio(np.array([0.5, 0.0]), np.array([2.0, 0.0]), np.array([1.0, 0.0])).round(6).tolist()
    [0.346574, 0.0]
    """
    ratio = np.divide(above, below, out=np.ones(weight.shape), where=weight > 0)
    return weight * logspace.log(ratio)


def entropy(p: Array) -> float:
    """Return the entropy H of probabilities that sum to one.

    >>> round(entropy(np.array([0.5, 0.5, 0.0])) / NATS_IN_A_BIT, 6)
    1.0
    """
    p = p[p > 0]
    return float(-np.sum(p * logspace.log(p)))


def mutual_information(counts: Array) -> float:
    """Return the mutual information of the rows and columns of a contingency table.

    >>> round(mutual_information(np.array([[5, 0], [0, 5]])), 6), mutual_information(np.array([[4, 2], [2, 1]]))
    (0.693147, 0.0)
    """
    n = np.asarray(counts, dtype=np.float64)
    total = n.sum()
    if total <= 0:
        return 0.0
    outer = n.sum(axis=1, keepdims=True) * n.sum(axis=0, keepdims=True)
    information = float(weighted_log_ratio(n, n * total, outer).sum() / total)
    return information if information > NO_INFORMATION else 0.0


def information_about_class(family: Family) -> float:
    """Return I(X; Y) of a column and the class, over the rows where the column is present."""
    return mutual_information(family.present)


def information_of_values(p: Floats, prior: Floats) -> Floats:
    """Return the term of each value in I(X; class), Σ_c P(v, c) ln P(v | c) / P(v), from P(v | c) (n_values, n_classes)
    and P(c).

    >>> information_of_values(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.5, 0.5])).round(6).tolist()
    [0.346574, 0.346574]
    """
    joint = p * prior
    return weighted_log_ratio(joint, p, joint.sum(axis=1, keepdims=True)).sum(axis=1)


def information_gain(documents: Array, class_counts: Array) -> Floats:
    """Return I(class; word present) of each word from ``documents``, shape (n_words, n_classes), and documents per
    class.

    >>> information_gain(np.array([[2, 0], [1, 1], [2, 2]]), np.array([2, 2])).round(6).tolist()
    [0.693147, 0.0, 0.0]
    """
    total = float(np.sum(class_counts))
    share = class_counts / total
    gain = np.zeros(len(documents))
    for joint in (documents / total, (class_counts - documents) / total):
        gain += weighted_log_ratio(joint, joint, joint.sum(axis=1, keepdims=True) * share).sum(axis=1)
    return np.maximum(gain, 0.0)


def information_of_cells(p: Floats, both: Ints, a: Ints, b: Ints, given: Ints | None = None) -> float:
    """Return I(a; b | given) of listed cells with probabilities p above 0.

    The other arguments, each of shape (n_cells,), group the cells by (a, b, given), by a, by b, and by given.

    >>> x, y = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> xor, cells = x ^ y, np.arange(4)
    >>> information_of_cells(np.full(4, 0.25), cells, x, xor), information_of_cells(np.full(4, 0.25), x, x, x) > 0.69
    (0.0, True)
    """
    log_ratio = np.zeros(len(p))
    for group, sign in ((both, 1), (given, 1), (a, -1), (b, -1)):
        if group is not None:
            _, which = np.unique(group, return_inverse=True)
            log_ratio += sign * logspace.log(np.bincount(which, weights=p))[which]
    return max(0.0, float(np.sum(p * log_ratio)))


def conditional_information(counts: Array) -> tuple[Floats, Floats]:
    """Return (n · I(X; Z | Y), degrees of freedom) of tables, shape (…, n_classes, n_values of X, n_values of Z).

    >>> xor = np.array([[[25, 0], [0, 25]], [[0, 25], [25, 0]]])
    >>> gain, freedom = conditional_information(xor)
    >>> round(float(gain) / 100, 6), float(freedom)
    (0.693147, 2.0)
    """
    n = np.asarray(counts, dtype=np.float64)
    x, z = n.sum(axis=-1, keepdims=True), n.sum(axis=-2, keepdims=True)
    product, total = x * z, x.sum(axis=-2, keepdims=True)
    gain = weighted_log_ratio(n, n * total, product).reshape(*n.shape[:-3], -1).sum(axis=-1)
    free_x, free_z = (np.maximum((side > 0).sum(axis=(-2, -1)) - 1.0, 0.0) for side in (x, z))
    return np.maximum(gain, 0.0), np.asarray((free_x * free_z).sum(axis=-1))


def present(table: Array) -> Array:
    """Return the cells where both columns are present, of a pair's counts, shape (n_classes, n_slots, n_slots)."""
    return table[:, 1:, 1:]


@dataclass(frozen=True)
class PairInformation:
    """I(X; Z | Y) of all pairs of columns, in arrays of shape (n_columns, n_columns).

    ``gains``: n · I in nats; ``freedom``: degrees of freedom; ``totals``: rows that have both columns, n.
    """

    gains: Floats
    freedom: Floats
    totals: Floats

    @property
    def exceeds_chance(self) -> Bools:
        """Return True where n · I exceeds its expectation for independent columns, half a nat per degree of freedom."""
        return np.asarray(self.gains > self.freedom / 2 + CHANCE)


def dependence(pairs: Pairs) -> PairInformation:
    """Compute n · I(X; Z | Y) of all pairs from their counts."""
    gains, degrees, totals = np.zeros((3, len(pairs.columns), len(pairs.columns)))
    alike: dict[tuple[int, ...], list[tuple[int, int, Array]]] = {}
    for (i, a), (j, b) in combinations(enumerate(pairs.columns), 2):
        table = present(pairs.table(min(a, b), max(a, b)))
        alike.setdefault(table.shape, []).append((i, j, table))
    for shape, tables in alike.items():  # process tables of equal shape together
        step = max(STACKED // max(int(np.prod(shape)), 1), 1)
        for start in range(0, len(tables), step):
            rows, columns, counts = zip(*tables[start : start + step], strict=True)
            stacked = np.stack(counts)
            gain, freedom = conditional_information(stacked)
            found = gain, freedom, stacked.sum(axis=(1, 2, 3), dtype=np.float64)
            for matrix, values in zip((gains, degrees, totals), found, strict=True):
                matrix[rows, columns] = matrix[columns, rows] = values
    return PairInformation(gains, degrees, totals)


def pair_information(
    columns: Sequence[Array],
    sizes: Sequence[int],
    labels: npt.NDArray[np.uint32],
    n_classes: int,
    weights: Floats | None,
    n_threads: int,
) -> Floats:
    """Return I(x; u | class) in nats of all pairs, (n_columns, n_columns), minus its expectation df / 2n.

    >>> x, y = np.array([0, 0, 1, 1] * 5), np.array([0, 1, 0, 1] * 5)                    # x XOR y is the class
    >>> gains = pair_information([x, y], [2, 2], (x ^ y).astype(np.uint32), 2, None, 1)
    >>> round(float(gains[0, 1]), 6), round(float(np.log(2) - 2 / 40), 6)
    (0.643147, 0.643147)
    """
    n_columns = len(columns)
    total = float(len(labels) if weights is None else weights.sum())
    gains = np.zeros((n_columns, n_columns))
    for i in range(n_columns):
        # A pair with too many values for a table counts as independent.
        others = [j for j in range(i) if sizes[i] * sizes[j] * n_classes <= WIDEST]
        first = columns[i].astype(np.uint32)
        cells = [first * np.uint32(sizes[j]) + columns[j].astype(np.uint32) for j in others]
        widths = [sizes[i] * sizes[j] for j in others]
        tables = kernels.count_codes(cells, widths, labels, n_classes, weights, n_threads) if others else []
        for size in sorted({sizes[j] for j in others}):  # process tables of equal shape together
            alike = [at for at, j in enumerate(others) if sizes[j] == size]
            counts = np.stack([tables[at] for at in alike]).reshape(len(alike), n_classes, sizes[i], size)
            partners = np.array(others)[alike]
            gain, freedom = conditional_information(counts)
            gains[i, partners] = gains[partners, i] = (gain - freedom / 2) / total
    return gains


FILLED = 5.0  # mean rows per cell from which χ² is valid
SHUFFLES = 60
LEVEL = 0.01  # significance level over all pairs
LEAST_BITS = 0.005  # smallest information worth reporting
MOST_SHUFFLED = 5_000  # rows


@dataclass(frozen=True)
class Surprise:
    """Information in ``bits`` above its expectation ``by_chance``, and its p-value."""

    bits: float
    by_chance: float
    p_value: float


def by_chi_squared(counts: Array) -> Surprise:
    """Test a table, shape (n_classes, n_values, n_values), by the χ² distribution.

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
    """Return True if χ² is valid: five rows per possible cell."""
    n = np.asarray(counts)
    cells = ((n.sum(axis=2) > 0).sum(axis=1) * (n.sum(axis=1) > 0).sum(axis=1)).sum()
    return bool(n.sum() >= FILLED * cells)


def by_shuffling(
    first: Array, second: Array, sizes: tuple[int, int], labels: Array, n_classes: int, rng: np.random.Generator
) -> Surprise:
    """Test the codes of two columns, shape (n_rows,), 0 for missing, by permutation within the classes.

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
    p_value = float(gammaincc(mean**2 / variance, seen * mean / variance)) if variance > 0 else float(seen <= mean)
    chance = mean / n / NATS_IN_A_BIT
    return Surprise(max(seen / n / NATS_IN_A_BIT - chance, 0.0), chance, p_value)

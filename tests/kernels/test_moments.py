"""Sums of numbers and of their squares, in double-double: against their reference and against exact fractions."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import kernels

from . import reference
from .conftest import class_counts, codes, few, floats, seeds, sizes, strided, thread_counts


def near_sums(ours: Any, theirs: Any, scale: np.ndarray, squares: np.ndarray) -> None:
    """Double-double sums that agree to about 30 digits of what was summed."""
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-15)
    assert np.asarray(ours[0]).dtype == np.asarray(theirs[0]).dtype
    assert ours[-1] == theirs[-1]
    assert np.all(np.abs((ours[0] - theirs[0]) + (ours[5] - theirs[5])) <= 1e-29 * np.abs(theirs[0]))
    for high, whole in ((1, scale), (3, squares)):
        gap = (ours[high] - theirs[high]) + (ours[high + 1] - theirs[high + 1])
        assert np.all(np.abs(gap) <= 1e-29 * whole)
        assert np.array_equal(ours[high], ours[high] + ours[high + 1])  # normalized


def scales(x: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    magnitude = np.nan_to_num(np.abs(x))
    return np.abs(shares).T @ magnitude, np.abs(shares).T @ magnitude**2


@given(seeds, sizes, few, class_counts, st.integers(0, 3), st.booleans(), thread_counts)
def test_moments_equal_their_reference(
    seed: int, n: int, k: int, n_classes: int, how: int, weighted: bool, n_threads: int
) -> None:
    rng = np.random.default_rng(seed)
    x, labels = floats(rng, n, k), codes(rng, n, n_classes)
    weights = rng.random(n) * 3 if weighted else None
    columns = strided(x, how)
    ours = kernels.moments(columns, labels, n_classes, weights, n_threads)
    theirs = reference.moments(columns, labels, n_classes, weights, 1)
    shares = np.eye(n_classes)[labels] * (1.0 if weights is None else weights[:, None])
    near_sums(ours, theirs, *scales(x, shares))


@given(seeds, sizes, few, class_counts, st.integers(0, 3), thread_counts)
def test_moments_by_responsibility_equal_their_reference(
    seed: int, n: int, k: int, n_classes: int, how: int, n_threads: int
) -> None:
    rng = np.random.default_rng(seed)
    x, shares = floats(rng, n, k), rng.random((n, n_classes))
    columns = strided(x, how)
    ours = kernels.moments_responsibilities(columns, shares, n_threads)
    near_sums(ours, reference.moments_responsibilities(columns, shares, 1), *scales(x, shares))


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=60), st.integers(0, 3))
@settings(max_examples=50)
def test_moments_hold_the_exact_sums(values: list[float], weight: int) -> None:
    x, labels = np.array(values), np.zeros(len(values), dtype=np.uint8)
    weights = np.full(len(values), float(weight))
    for module in (kernels, reference):
        for by, factor in ((None, 1), (weights, weight)):
            _, high, low, square_high, square_low, _, usable = module.moments([x], labels, 1, by, 1)
            assert usable
            for power, parts in ((1, (high, low)), (2, (square_high, square_low))):
                exact = factor * sum(Fraction(v) ** power for v in values)
                whole = factor * sum(abs(Fraction(v)) ** power for v in values)
                found = sum(Fraction(part.item()) for part in parts)
                assert abs(found - exact) <= whole * Fraction(1, 10**30) + Fraction(1, 10**300)


@pytest.mark.parametrize("value", [1e151, -1e151, np.inf, -np.inf])
def test_a_huge_value_makes_the_moments_unusable(value: float) -> None:
    x, labels = np.arange(100.0), np.zeros(100, dtype=np.uint8)
    x[70] = value
    for module in (kernels, reference):
        assert module.moments([x], labels, 1, None, 1)[-1] is False
        assert module.moments([x], labels, 1, np.ones(100), 1)[-1] is False
        assert module.moments([np.array([1e150, np.nan])], labels[:2], 1, None, 1)[-1] is True


@pytest.mark.slow
def test_the_variance_survives_a_mean_of_a_billion_standard_deviations() -> None:
    rng = np.random.default_rng(0)
    x = 1e9 + rng.normal(size=200_000)
    labels = np.zeros(len(x), dtype=np.uint8)
    n, high, low, square_high, square_low, *_ = (
        np.asarray(part).item() for part in kernels.moments([x], labels, 1, None, 2)
    )
    exact = sum(Fraction(v) ** 2 for v in x.tolist()) - sum(map(Fraction, x.tolist())) ** 2 / n
    found = Fraction(square_high) + Fraction(square_low) - (Fraction(high) + Fraction(low)) ** 2 / n
    assert abs(found / exact - 1) < 1e-12

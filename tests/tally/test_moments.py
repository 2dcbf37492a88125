"""Moments against exact fractions, and the laws of + and −."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import kernels
from bayeskit.errors import SchemaMismatch
from bayeskit.tally import double_double as dd
from bayeskit.tally.moments import Moments

numbers = st.floats(-1e6, 1e6) | st.floats(-1e150, 1e150).filter(lambda x: x == 0 or abs(x) > 1e-100)
columns = st.lists(numbers, min_size=1, max_size=12)


def of(values, classes=None, n_classes=1):
    x = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    return Moments.of(x, np.zeros(len(x)) if classes is None else classes, n_classes)


def exact_squared_deviations(values):
    x = [Fraction(float(v)) for v in values]
    mean = sum(x) / len(x)
    return sum((v - mean) ** 2 for v in x)


def close(a, b):
    """Equal counts, and sums equal to 30 digits of what went into them."""
    scale = np.maximum(np.abs(a.square_hi), np.abs(b.square_hi))
    left = Fraction(a.square_hi.item()) + Fraction(a.square_lo.item())
    right = Fraction(b.square_hi.item()) + Fraction(b.square_lo.item())
    return a.n.tolist() == b.n.tolist() and abs(left - right) <= Fraction(scale.item()) * Fraction(1, 10**30)


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
def test_two_sum_is_exact(a, b):
    s, e = dd.two_sum(np.float64(a), np.float64(b))
    assert Fraction(float(s)) + Fraction(float(e)) == Fraction(a) + Fraction(b)


@given(st.floats(1e-140, 1e308), st.floats(1e-140, 1e160))
def test_two_prod_is_exact_also_where_splitting_would_overflow(a, b):
    if a * b < 1e308:
        p, e = dd.two_prod(np.float64(a), np.float64(b))
        assert Fraction(float(p)) + Fraction(float(e)) == Fraction(a) * Fraction(b)


@given(st.floats(1, 1e150), st.floats(-1, 1), st.integers(1, 10**9))
def test_division_and_multiplication_keep_thirty_digits(hi, share, n):
    pair = dd.two_sum(np.float64(hi), np.float64(hi * share * 2**-53))
    exact = Fraction(float(pair[0])) + Fraction(float(pair[1]))
    quotient = dd.divide(pair, (np.float64(n), np.float64(0)))
    product = dd.multiply(pair, pair)
    for got, want in ((quotient, exact / n), (product, exact * exact)):
        assert abs(Fraction(float(got[0])) + Fraction(float(got[1])) - want) <= want / 10**30


@given(columns)
def test_mean_and_squared_deviations_are_those_of_exact_fractions(values):
    m = of(values)
    mean = float(sum(Fraction(v) for v in values) / len(values))
    size = max(abs(v) for v in values)
    assert m.mean()[0, 0] == pytest.approx(mean, rel=1e-15, abs=1e-30 * size)
    exact = float(exact_squared_deviations(values))
    assert m.squared_deviations()[0, 0] == pytest.approx(exact, rel=1e-12, abs=2e-24 * len(values) * size**2)


@pytest.mark.parametrize("far", [0.0, 1e3, 1e6, 1e9])
def test_variance_holds_twelve_digits_a_billion_standard_deviations_from_zero(far):
    values = np.random.default_rng(7).normal(far, 1.0, size=2000)
    assert of(values).squared_deviations()[0, 0] == pytest.approx(float(exact_squared_deviations(values)), rel=1e-12)


@pytest.mark.parametrize("size", [1e-120, 0.1, 1e9 / 3, 1e150])
def test_a_constant_has_no_spread_at_all(size):
    assert of([size] * 1001).squared_deviations()[0, 0] == 0.0


def test_values_of_1e150_do_not_overflow():
    m = of([1e150, -1e150, 0.9e150] * 100)
    assert m.squared_deviations()[0, 0] == pytest.approx(
        float(exact_squared_deviations([1.0, -1.0, 0.9] * 100)) * 1e300, rel=1e-14
    )


def test_forgetting_an_outlier_of_1e12_leaves_no_trace():
    values = np.random.default_rng(3).normal(50.0, 10.0, size=1000)
    clean = of(values)
    forgotten = (clean + of([1e12])) - of([1e12])
    np.testing.assert_allclose(forgotten.mean(), clean.mean(), rtol=4e-15)
    np.testing.assert_allclose(forgotten.squared_deviations(), clean.squared_deviations(), rtol=4e-13)
    together = of([1e12, *values]) - of([1e12])
    np.testing.assert_allclose(together.mean(), clean.mean(), rtol=4e-15)


@given(columns, columns)
@settings(deadline=None)
def test_counting_two_halves_is_counting_the_whole(one, other):
    assert close(of(one) + of(other), of(one + other))
    assert of(one) + of(other) == of(other) + of(one)


@given(columns, columns)
@settings(deadline=None)
def test_forgetting_undoes_learning(one, other):
    both = of(one) + of(other)
    left = both - of(other)
    assert left.n.tolist() == of(one).n.tolist()
    assert not (left.n < 0).any()
    assert not both.lacks(of(other)).any()
    error = abs(Fraction(left.sum_hi.item()) + Fraction(left.sum_lo.item()) - sum(map(Fraction, one)))
    assert error <= sum(abs(Fraction(v)) for v in one + other) / 10**30


@given(columns)
def test_the_empty_one_is_neutral_and_nothing_is_left_of_all(values):
    m = of(values)
    assert m + Moments.zeros(1, 1) == m
    assert m - m == Moments.zeros(1, 1)


def test_taking_away_more_than_there_is_shows():
    few, many = of([1.0, 2.0]), of([1.0, 2.0, 3.0])
    assert ((few - many).n < 0).all()
    assert few.lacks(many).all()
    assert few.lacks(of([2.5])).all(), "1.0 and 2.0 without 2.5 would have a negative spread"
    assert few.lacks(of([1.5, 2.5])).all(), "as many values, but others"
    assert not few.lacks(of([2.0])).any()


def test_float_weights_that_cancel_to_nothing_are_nothing():
    def weighted(n, s, q):
        return Moments(*(np.array([[v]]) for v in (n, s, 0.0, q, 0.0, 0.0)))

    m = weighted(0.1 + 0.2, 0.1 + 0.2, 0.1 + 0.2) - weighted(0.3, 0.3, 0.3)
    assert m == Moments.zeros(1, 1, weighted=True)
    assert m.n.dtype == np.float64


def test_a_constant_under_weights_that_are_no_binary_fractions_has_no_spread():
    x, w = np.full(10, 7.3), np.full(10, 0.1)
    m = Moments(*kernels.moments([x], np.zeros(10, dtype=np.uint8), 1, w, 1)[:-1])
    assert m.squared_deviations()[0, 0] == 0.0


def test_missing_cells_are_not_counted():
    m = of([[1.0, np.nan], [3.0, 5.0]])
    assert m.n.tolist() == [[2, 1]]
    assert m.mean().tolist() == [[2.0, 5.0]]
    assert np.isnan(Moments.zeros(1, 1).mean()).all()


def test_take_and_columns_align_and_pooled_forgets_the_class():
    m = of([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]], classes=[0, 1, 1], n_classes=2)
    assert m.take([1, -1, 0]).n.tolist() == [[2, 2], [0, 0], [1, 1]]
    assert m.take([1, -1, 0]).mean()[[0, 2]].tolist() == [[2.5, 25.0], [1.0, 10.0]]
    assert Moments.zeros(0, 2).take([-1, -1]) == Moments.zeros(2, 2)
    assert m.columns([1]).mean().tolist() == [[10.0], [25.0]]
    assert m.pooled() == of([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    assert m.pooled().shape == (1, 2)


def test_sides_of_different_shape_are_refused_and_not_stretched():
    with pytest.raises(SchemaMismatch, match="take and columns"):
        Moments.zeros(1, 2) + Moments.zeros(3, 2)
    with pytest.raises(SchemaMismatch):
        Moments.zeros(1, 2) - Moments.zeros(1, 1)


@pytest.mark.parametrize("mean", [0.0, 1e3, 1e6, 1e9])
def test_variances_under_any_weights_keep_twelve_digits_far_from_zero(mean):
    rng = np.random.default_rng(1)
    x, w = mean + rng.normal(size=500), rng.random(500)
    m = Moments(*kernels.moments([x], np.zeros(500, dtype=np.uint8), 1, w, 1)[:-1])
    xs, ws = [Fraction(v) for v in x.tolist()], [Fraction(v) for v in w.tolist()]
    center = sum(a * b for a, b in zip(ws, xs, strict=True)) / sum(ws)
    exact = sum(a * (b - center) ** 2 for a, b in zip(ws, xs, strict=True))
    assert abs(Fraction(float(m.squared_deviations()[0, 0])) / exact - 1) < Fraction(1, 10**12)


def test_many_classes_are_pooled_as_exactly_as_few():
    rng = np.random.default_rng(0)
    x = rng.normal(size=3000) * 10.0 ** rng.uniform(-3, 9, 3000)
    for n_classes in (33, 64, 1000):
        pooled = of(x, np.arange(3000) % n_classes, n_classes).pooled()
        assert pooled.n.tolist() == [[3000]]
        total, squares = sum(map(Fraction, x.tolist())), sum(Fraction(v) ** 2 for v in x.tolist())
        for hi, lo, exact in ((pooled.sum_hi, pooled.sum_lo, total), (pooled.square_hi, pooled.square_lo, squares)):
            assert abs(Fraction(hi.item()) + Fraction(lo.item()) - exact) <= abs(exact) * Fraction(1, 10**25)

"""Distinct values with counts: + and −, fewer digits past the limit, whatever the order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.tally.distinct import Values
from bayeskit.tally.plan import Recoding

numbers = st.floats(-1e150, 1e150) | st.integers(-40, 40).map(lambda k: k / 8) | st.just(-0.0)
some = st.lists(st.tuples(numbers, st.integers(0, 2)), max_size=60)


def counted(pairs, max_values=16):
    x = np.array([v for v, _ in pairs], dtype=float)
    return Values.of(x, np.array([c for _, c in pairs], dtype=int), 3, max_values=max_values)


def bits(values):
    return values.values.tobytes(), values.counts.tobytes(), values.level


@pytest.mark.slow
@given(some, some, some)
def test_the_order_of_merging_does_not_matter(a, b, c):
    whole = bits(counted(a + b + c))
    one, two, three = counted(a), counted(b), counted(c)
    orders = (
        one.plus(two).plus(three),
        three.plus(two.plus(one)),
        two.plus(three).plus(one),
        counted(c + a).plus(two),
    )
    for merged in orders:
        assert bits(merged) == whole


@given(some)
def test_no_more_values_are_kept_than_allowed_and_no_bit_more_is_dropped_than_needed(pairs):
    found = counted(pairs)
    assert len(found.values) <= 16
    assert found.counts.sum() == len(pairs)
    assert (np.diff(found.values) > 0).all()
    x = np.array([v for v, _ in pairs], dtype=float)
    if found.level:
        finer = x.view(np.uint64) & np.uint64((2**64 - 1) ^ (2 ** (found.level - 1) - 1))
        assert len(np.unique(finer.view(np.float64) + 0.0)) > 16
    else:
        assert set(found.values) == set(x.tolist())


@given(some, some)
def test_subtracting_what_was_added_leaves_the_counts(a, b):
    left = counted(a).plus(counted(b)).minus(counted(b), None, 0.0).recode(Recoding(np.arange(3), {}))
    coarse = counted(a)._at(left.level)
    assert left.values.tolist() == coarse.values.tolist()
    assert left.counts.tolist() == coarse.counts.tolist()


@given(some)
def test_numbers_are_read_as_the_points_that_stand_for_them(pairs):
    found = counted(pairs)
    x = np.array([v for v, _ in pairs], dtype=float)
    assert set(found.read(x).tolist()) == set(found.points.tolist())
    assert np.isnan(found.read(np.array([np.nan]))).all()


def test_values_keep_their_place_within_half_a_step():
    x = np.random.default_rng(0).normal(1e6, 1, 20_000)
    found = Values.of(x, np.zeros(len(x), int), 1, max_values=1024)
    step = np.diff(found.values).min()
    assert 512 < len(found.values) <= 1024
    assert np.abs(found.read(x) - x).max() <= step / 2 * (1 + 1e-9)


@settings(max_examples=30)
@given(some.filter(lambda pairs: len(pairs) > 0), st.booleans())
def test_a_tally_with_values_round_trips_through_bytes(pairs, weighted):
    weight = {"sample_weight": np.arange(1, len(pairs) + 1) / 4} if weighted else {}
    X = {"x": [v for v, _ in pairs]}
    with pytest.warns() if len({c for _, c in pairs}) == 1 else _quiet():
        model = bk.NaiveBayes(numeric="kernel", max_values=16).fit(X, [c for _, c in pairs], **weight)
    back = bk.Tally.from_bytes(model.tally_.to_bytes())
    assert back == model.tally_
    assert back.to_bytes() == model.tally_.to_bytes()


def _quiet():
    from contextlib import nullcontext

    return nullcontext()


def test_sides_that_keep_another_number_of_values_do_not_merge():
    X, y = {"x": [1.0, 2.0, 3.0]}, ["a", "b", "a"]
    a = bk.NaiveBayes(numeric="kernel", max_values=16).fit(X, y)
    with pytest.raises(bk.errors.SchemaMismatch, match="up to 16 and 32 values"):
        a.merge(bk.NaiveBayes(numeric="kernel", max_values=32).fit(X, y))
    with pytest.raises(bk.errors.SchemaMismatch, match="counted different things"):
        a.merge(bk.NaiveBayes(numeric="gaussian").fit(X, y))


def test_forgetting_a_number_that_was_not_there_is_refused_by_name():
    model = bk.NaiveBayes(numeric="kernel").fit({"x": [1.0, 2.0, 3.0]}, ["a", "b", "a"])
    before = model.tally_.to_bytes()
    with pytest.raises(bk.errors.NotLearned, match="column 'x' had 2 not as often in class 'a'"):
        model.forget({"x": [2.0]}, ["a"])
    assert model.tally_.to_bytes() == before


@pytest.mark.parametrize("bad", [15, 0, -1, 2.5, "many", None, 2**21])
def test_a_number_of_values_that_means_nothing_is_refused(bad):
    with pytest.raises(bk.BayesError, match="max_values"):
        bk.NaiveBayes(numeric="kernel", max_values=bad).fit({"x": [1.0, 2.0]}, ["a", "b"])


def test_soft_labels_are_counted_by_their_shares():
    from bayeskit.data.source import Responsibilities

    shares = np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]])
    model = bk.NaiveBayes(numeric="kernel").fit({"x": [1.0, 2.0, 1.0]}, Responsibilities(("a", "b"), shares))
    found = model.tally_.values["x"]
    assert found.values.tolist() == [1.0, 2.0]
    assert found.counts.tolist() == [[0.75, 1.0], [1.25, 0.0]]

"""Trees and the line: compiled kernels against their references, and both against formulas written out."""

import math

import numpy as np
import pytest

from bayeskit import kernels

from . import reference
from .arguments import good_arguments

NAMES = (
    "count_leaves", "total_leaves", "smooth_leaves", "leave_out_leaves", "score_leaves", "add_leaves", "score_line",
    "line_loss",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(40))
def test_kernels_equal_their_reference(name, seed):
    arguments = good_arguments(name, seed)
    ours, theirs = getattr(kernels, name)(**arguments), getattr(reference, name)(**arguments)
    ours, theirs = (found if isinstance(found, tuple) else (found,) for found in (ours, theirs))
    for a, b in zip(ours, theirs, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-6 if name == "smooth_leaves" else 1e-9, atol=1e-9)


def trees_of(rng, n=60, at_random=False):
    codes = np.column_stack([rng.integers(0, 12, n), rng.integers(0, 5, n), rng.integers(0, 3, n)]).astype(np.uint8)
    labels = rng.integers(0, 3, n).astype(np.uint32)
    parts = (rng.random((4, n)) < 0.65).astype(np.uint8)
    seeds, categorical = rng.integers(0, 2**63, 4).astype(np.uint64), np.array([0, 1, 1], dtype=np.uint8)
    trees = kernels.grow_trees(codes, categorical, labels, 3, None, parts, seeds, 2, at_random, 1)
    return codes, labels, parts, trees


@pytest.mark.parametrize("at_random", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_leaves_are_pure_where_columns_can_tell_the_rows_apart(seed, at_random):
    codes, labels, parts, trees = trees_of(np.random.default_rng(seed), at_random=at_random)
    for t, part in enumerate(parts):
        inside = part.astype(bool)
        one = tree(trees, t)
        ends = kernels.count_leaves(codes[inside], labels[inside], 3, None, one, 1)
        for leaf in np.flatnonzero(np.count_nonzero(ends, axis=1) > 1):
            here = [row for row in codes[inside] if end_of(one, row) == leaf]
            assert len({tuple(row) for row in here}) == 1  # rows that no column can tell apart


@pytest.mark.parametrize("seed", range(5))
def test_a_row_left_out_is_a_recount_without_it(seed):
    rng = np.random.default_rng(seed)
    codes, labels, parts, trees = trees_of(rng)
    weights = rng.integers(1, 4, 60) / 2
    counts, n, m = kernels.count_leaves(codes, labels, 3, weights, trees, 1), float(weights.sum()), 0.5
    taken, prior = np.minimum(weights, 1.0), rng.dirichlet(np.ones(3), 60)
    totals = kernels.total_leaves(trees, counts, 1)
    _, sums = kernels.leave_out_leaves(codes, labels, taken, parts, trees, totals, prior, n, m, 1)
    for r in range(0, 60, 7):
        less = weights.copy()
        less[r] -= taken[r]
        again = kernels.total_leaves(trees, kernels.count_leaves(codes, labels, 3, less, trees, 1), 1)
        expected = np.zeros(3)
        for t in np.flatnonzero(parts[:, r] == 0):
            values = kernels.smooth_leaves(tree(trees, t), part_of(again, trees, t), prior[r], n, m, 1)
            expected += values[end_of(tree(trees, t), codes[r])]
        np.testing.assert_allclose(sums[r], expected, rtol=1e-6, atol=1e-12)


def test_a_tree_of_one_cut_is_the_formula():
    trees = (
        np.array([0, 3]),
        np.array([[1, 4], [0, 0], [0, 0]], dtype=np.uint32),
        np.full(3, -1, dtype=np.int32),
        np.zeros((0, 4), dtype=np.uint64),
    )
    totals, prior = np.array([[2.0, 3], [2, 1], [0, 2]]), np.array([0.4, 0.6])
    values = kernels.smooth_leaves(trees, totals, prior, 5.0, 0.5, 1)
    g = (2 + 0.5 * 0.4) / (3 + 0.5)
    assert values[1, 0] == pytest.approx((5 * g + 1) / 7)
    logs, sums = kernels.score_leaves(np.array([[4], [255]], dtype=np.uint8), trees, values, 1)
    assert sums[0, 0] == values[1, 0]
    assert logs[0, 0] == pytest.approx(math.log(values[1, 0]))
    np.testing.assert_allclose(sums[1], (5 * prior + 1) / 7, rtol=1e-6)  # a code that is not known ends the walk


@pytest.mark.parametrize("at_random", [False, True])
def test_any_number_of_threads_gives_the_same_trees(at_random):
    rng = np.random.default_rng(0)
    codes, labels = rng.integers(0, 200, (500, 6)).astype(np.uint8), rng.integers(0, 4, 500).astype(np.uint32)
    parts, seeds = (rng.random((9, 500)) < 0.65).astype(np.uint8), np.arange(9, dtype=np.uint64)
    kinds = np.array([0, 1, 0, 1, 0, 0], dtype=np.uint8)
    one, three = (kernels.grow_trees(codes, kinds, labels, 4, None, parts, seeds, 2, at_random, t) for t in (1, 3))
    for a, b in zip(one, three, strict=True):
        np.testing.assert_array_equal(a, b)


def wide_and_narrow(rng, n, n_classes):
    """Columns of few codes and of many, one of which holds cells that are not known."""
    sizes = np.array([2, 3, 8, 9, 40, 200, 256])
    codes = (rng.random((n, len(sizes))) ** 2 * sizes).astype(np.uint8)
    labels = (codes[:, 1] + codes[:, 3] // 3 + rng.integers(0, n_classes, n)) % n_classes
    return codes, np.array([1, 0, 1, 1, 0, 1, 0], dtype=np.uint8), labels.astype(np.uint32)


@pytest.mark.parametrize("at_random", [False, True])
@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("n_classes", [2, 7, 70])
def test_trees_of_wide_and_narrow_columns_divide_where_at_their_best(n_classes, weighed, at_random):
    rng = np.random.default_rng(n_classes)
    codes, kinds, labels = wide_and_narrow(rng, 250, n_classes)
    weights = rng.integers(1, 9, 250) / 3 if weighed else None
    parts, seeds = (rng.random((2, 250)) < 0.65).astype(np.uint8), np.arange(2, dtype=np.uint64)
    arguments = codes, kinds, labels, n_classes, weights, parts, seeds, 3, at_random, 1
    trees = kernels.grow_trees(*arguments)
    for t, part in enumerate(parts.astype(bool)):
        some = None if weights is None else weights[part]
        reference.check_grown_tree(codes[part], kinds, labels[part], some, trees, t, at_random)


@pytest.mark.parametrize("seed", range(40))
def test_grown_trees_are_grown_until_pure_where_at_their_best(seed):
    given = good_arguments("grow_trees", seed)
    trees = kernels.grow_trees(**given)
    assert len(trees[0]) == len(given["parts"]) + 1
    for t, part in enumerate(given["parts"].astype(bool)):
        weights = None if given["weights"] is None else given["weights"][part]
        rows = given["codes"][part], given["categorical"], given["labels"][part], weights
        reference.check_grown_tree(*rows, trees, t, given["at_random"])


@pytest.mark.parametrize("seed", range(40))
def test_boosted_trees_add_the_formula_and_judge_rows_by_the_model_of_their_fold(seed):
    given = good_arguments("boost_trees", seed) | {"patience": 1}
    *trees, values, kept = kernels.boost_trees(**given)
    trees, offset, folds, n_folds = tuple(trees), given["offset"], given["folds"], given["n_folds"]
    n_rounds = (len(trees[0]) - 1) // n_folds
    expected = offset.copy()
    for t in range(n_rounds * n_folds):
        own = folds == t % n_folds
        expected[own] += reference.add_leaves(given["codes"][own], tree(trees, t), part_of(values, trees, t), 1)
    np.testing.assert_allclose(kept, expected, rtol=1e-6, atol=1e-6)
    for k in range(n_folds if n_rounds else 0):
        rows = given["codes"], given["labels"], given["weights"], offset, folds, k, given["seed"]
        first = reference.first_boosted_values(*rows, trees)
        np.testing.assert_allclose(part_of(values, trees, k), first, rtol=1e-5, atol=1e-6)
    assert log_loss(kept, given) <= log_loss(offset, given)


def log_loss(scores, given):
    own = scores[np.arange(len(scores)), given["labels"]]
    weights = np.ones(len(scores)) if given["weights"] is None else given["weights"]
    return float(weights @ (np.logaddexp.reduce(scores, axis=1) - own))


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_many_rows_in_trees_equal_their_reference(n_classes, weighed, n_threads):
    """Rows of a class that share a prior, and rows that end above the leaves."""
    rng = np.random.default_rng(n_classes)
    codes, kinds, labels = wide_and_narrow(rng, 200, n_classes)
    parts, seeds = (rng.random((5, 200)) < 0.65).astype(np.uint8), np.arange(5, dtype=np.uint64)
    trees = kernels.grow_trees(codes, kinds, labels, n_classes, None, parts, seeds, 3, False, 1)
    codes[rng.random(codes.shape) < 0.02] = 255
    weights = rng.integers(1, 4, 200) / 2 if weighed else None
    counts = kernels.count_leaves(codes, labels, n_classes, weights, trees, n_threads)
    np.testing.assert_array_equal(counts, reference.count_leaves(codes, labels, n_classes, weights, trees, 1))
    totals = kernels.total_leaves(trees, counts, n_threads)
    taken = np.ones(200) if weights is None else np.minimum(weights, 1.0)
    prior = rng.dirichlet(np.ones(n_classes), n_classes)[labels]
    for inside in (parts, None):
        arguments = codes, labels, taken, inside, trees, totals, prior, 200.0, 0.5
        ours, theirs = kernels.leave_out_leaves(*arguments, n_threads), reference.leave_out_leaves(*arguments, 1)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    values = kernels.smooth_leaves(trees, totals, prior[0], 200.0, 0.5, 1)
    ours, theirs = (
        kernels.score_leaves(codes, trees, values, n_threads),
        reference.score_leaves(codes, trees, values, 1),
    )
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def tree(trees, t):
    own = slice(trees[0][t], trees[0][t + 1])
    return np.array([0, own.stop - own.start]), trees[1][own].copy(), trees[2][own].copy(), trees[3]


def part_of(counts, trees, t):
    return counts[trees[0][t] : trees[0][t + 1]].copy()


def end_of(one, row):
    counts = kernels.count_leaves(row[None].copy(), np.zeros(1, dtype=np.uint32), 1, None, one, 1)
    return int(counts.argmax())


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan, np.inf])
def test_rows_without_weight_grow_no_tree(weight):
    codes, labels = np.arange(4, dtype=np.uint8)[:, None], np.zeros(4, dtype=np.uint32)
    parts, seeds = np.ones((1, 4), dtype=np.uint8), np.array([7], dtype=np.uint64)
    weights = np.array([weight, weight, 1.0, 1.0])
    with pytest.raises(ValueError, match="above zero"):
        kernels.grow_trees(codes, np.zeros(1, np.uint8), labels, 2, weights, parts, seeds, 1, False, 1)

"""The ensemble's kernels against their references: tables of counts that would be large, large groups, weighed rows."""

import numpy as np
import pytest

from bayeskit import kernels

from . import reference


def same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def same_steps(learned, chains):
    """What was learned has these steps (column, m, cuts) in each chain."""
    assert learned[0].tolist() == np.cumsum([0, *map(len, chains)]).tolist()
    steps = [step for chain in chains for step in chain]
    assert learned[1].tolist() == [step[0] for step in steps]
    assert learned[2].tolist() == [step[1] for step in steps]
    np.testing.assert_array_equal(learned[3], np.array([step[2] for step in steps]).reshape(len(steps), 3))


def weights_of(rng, n, weighted):
    return rng.integers(1, 7, n) / 2 if weighted else None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "largest"), [(40, 2_000_000), (300, 6), (300, 40)])
def test_back_off_counts_codes_of_any_size(n, largest, weighted):
    rng = np.random.default_rng(n + largest)
    values = np.sort(rng.choice(largest, 6, replace=False))
    codes = values[rng.integers(0, 6, (2, 3, n))].astype(np.uint32)
    sizes = np.full((2, 3), largest)
    parents = np.array([[[1, 2], [2, -1], [-1, -1]], [[2, 1], [-1, -1], [1, -1]]], dtype=np.int32)
    labels = rng.integers(0, 4, n).astype(np.uint32)
    weights, asked = weights_of(rng, n, weighted), np.arange(0, n, 3)
    args = (codes, sizes, parents, np.arange(3), labels, 4, weights, asked)
    ours, theirs = kernels.learn_backoff(*args, 2), reference.learn_backoff(*args, 1)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(ours[1][0], theirs[1])
    new = values[rng.integers(0, 6, (2, 3, 700))].astype(np.uint32)
    new[rng.random(new.shape) < 0.1] = largest  # never seen
    for some in (new, np.ascontiguousarray(new[:, :, :20])):  # checked before, and on the way
        scored = kernels.score_backoff(some, sizes, parents, np.arange(3), 4, ours[1], 1)
        expected = reference.score_backoff(codes, some, sizes, parents, np.arange(3), labels, 4, weights, ours[1][0])
        np.testing.assert_allclose(scored, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n_values", "n_classes"), [(3, 2), (5, 3), (2_000, 12)])
def test_chains_divide_large_groups_and_columns_of_many_values(n_values, n_classes, weighted):
    rng = np.random.default_rng(n_values)
    n = 400
    columns = [rng.integers(0, n_values, n).astype(np.uint16), rng.integers(0, 3, n).astype(np.uint8)]
    columns += [rng.normal(size=n), np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))]
    sizes = np.array([n_values, 3, 0, 0])
    labels = ((columns[2] > 0) + rng.integers(0, n_classes - 1, n)).astype(np.uint32)
    candidates = np.stack([np.stack([rng.permutation(4) for _ in range(6)]) for _ in range(3)]).astype(np.int32)
    cuts = np.full((*candidates.shape, 3), np.nan)
    numbers = candidates >= 2
    cuts[numbers] = np.sort(rng.normal(size=(int(numbers.sum()), 3)), axis=1)
    cuts[candidates == 1, 0] = np.where(rng.random(int((candidates == 1).sum())) < 0.5, np.nan, 1.0)
    parts = (rng.random((3, n)) < 0.5).astype(np.uint8)
    weights, asked, prior = weights_of(rng, n, weighted), np.arange(n), np.full(n_classes, 1 / n_classes)
    args = (columns, sizes, labels, n_classes, weights, asked, parts, candidates, cuts, prior)
    log_sum, sums, learned = kernels.learn_chains(*args, 2)
    expected = reference.learn_chains(*args, 1)
    same((log_sum, sums), expected[:2])
    same_steps(learned, expected[2])
    counted = kernels.count_chains(columns, sizes, labels, n_classes, weights, asked, *learned[:4], prior, 2)
    same(counted[:2], reference.count_chains(columns, sizes, labels, n_classes, weights, asked, *learned[:4], prior, 1))
    new = [np.ascontiguousarray(column[:50][::-1]) for column in columns]
    scored = kernels.score_chains(
        new, sizes, columns, float(n if weights is None else weights.sum()), prior, learned, 1
    )
    by_rows = reference.score_chains(new, sizes, columns, labels, weights, prior, expected[2])
    np.testing.assert_allclose(scored, by_rows, rtol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 4, 5, 8, 9, 13])
def test_a_line_of_any_number_of_classes_equals_its_reference(n_classes, weighted):
    rng = np.random.default_rng(n_classes)
    n = 150
    codes = rng.integers(0, 5, (n, 3)).astype(np.uint8)  # the last column has four values: 4 says nothing
    numbers, place = rng.normal(size=(n, 11)), np.array([11, 16, 21, 25])
    numbers[rng.random(numbers.shape) < 0.2] = 0
    coefficients = rng.normal(size=(25, n_classes))
    labels, weights = rng.integers(0, n_classes, n).astype(np.uint32), weights_of(rng, n, weighted)
    args = (codes, place, numbers, labels, weights, coefficients)
    ours, theirs = kernels.line_loss(*args, 2), reference.line_loss(*args, 1)
    assert ours[0] == pytest.approx(theirs[0], rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-9, atol=1e-11)
    scored = [k.score_line(codes, place, numbers, coefficients, 2) for k in (kernels, reference)]
    np.testing.assert_allclose(*scored, rtol=1e-12, atol=1e-12)

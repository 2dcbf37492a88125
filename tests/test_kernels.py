"""Every kernel against its NumPy twin, on whatever arrays can come: types, strides, gaps, empty, bad."""

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import _token_twins, _twins, kernels
from bayeskit.network.graph import Graph
from bayeskit.network.junction_tree import JunctionTree

NAMES = [name for name in kernels.__all__ if name not in ("NATIVE", "WordIndex")]
INTEGERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
CODES = ["uint8", "uint16", "uint32"]

sizes = st.sampled_from([0, 1, 2, 3, 63, 64, 65, 1030])
few = st.integers(0, 6)
seeds = st.integers(0, 2**32 - 1)
thread_counts = st.integers(1, 4)
class_counts = st.sampled_from([1, 2, 3, 4, 5, 8, 9, 17, 40])


def strided(matrix: np.ndarray, how: int) -> list[np.ndarray]:
    """The columns of a matrix as views of each kind of memory order, with the same values."""
    n, k = matrix.shape
    if how == 0:
        return [np.ascontiguousarray(matrix)[:, j] for j in range(k)]
    if how == 1:
        return [np.asfortranarray(matrix)[:, j] for j in range(k)]
    if how == 2:  # backwards
        return [np.ascontiguousarray(matrix[::-1])[::-1, j] for j in range(k)]
    wide = np.zeros((n, 2 * k + 1), dtype=matrix.dtype)
    wide[:, 1::2] = matrix
    return [wide[:, 2 * j + 1] for j in range(k)]


def floats(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    x = rng.normal(size=(n, k)) * 10.0 ** rng.integers(-8, 9, size=(n, k))
    x[rng.random((n, k)) < 0.1] = np.nan
    x[rng.random((n, k)) < 0.1] = -0.0
    return x


def codes(rng: np.random.Generator, n: int, size: int) -> np.ndarray:
    return rng.integers(0, size, n).astype(rng.choice(CODES))


def same(ours: Any, theirs: Any) -> None:
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype == np.asarray(b).dtype


def near_sums(ours: Any, theirs: Any, scale: np.ndarray, squares: np.ndarray) -> None:
    """Double-double sums that agree to about 30 digits of what was summed."""
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-15)
    assert np.asarray(ours[0]).dtype == np.asarray(theirs[0]).dtype
    assert ours[-1] == theirs[-1]
    assert np.all(np.abs((ours[0] - theirs[0]) + (ours[5] - theirs[5])) <= 1e-29 * np.abs(theirs[0]))
    for high, whole in ((1, scale), (3, squares)):
        gap = (ours[high] - theirs[high]) + (ours[high + 1] - theirs[high + 1])
        assert np.all(np.abs(gap) <= 1e-29 * whole)
        assert np.array_equal(ours[high], ours[high] + ours[high + 1])  # normalised


def scales(x: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    magnitude = np.nan_to_num(np.abs(x))
    return np.abs(shares).T @ magnitude, np.abs(shares).T @ magnitude**2


@given(seeds, sizes, few, st.integers(0, 3), st.sampled_from(INTEGERS), thread_counts)
def test_ranges_equal_their_twin(seed: int, n: int, k: int, how: int, dtype: str, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    ends = (0, 2) if dtype == "bool" else (np.iinfo(dtype).min, min(int(np.iinfo(dtype).max), 2**63 - 1))
    columns = strided(rng.integers(*ends, size=(n, k), dtype="int64").astype(dtype), how)
    if n == 0 and k:
        with pytest.raises(ValueError, match="empty"):
            kernels.int_ranges(columns, n_threads)
    else:
        same(kernels.int_ranges(columns, n_threads), _twins.int_ranges(columns, 1))


@given(seeds, sizes, few, st.integers(0, 3), st.sampled_from(INTEGERS), thread_counts)
def test_looked_up_codes_equal_their_twin(seed: int, n: int, k: int, how: int, dtype: str, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    ends = (0, 2) if dtype == "bool" else (max(-40, int(np.iinfo(dtype).min)), 100)
    matrix = rng.integers(*ends, size=(n, k)).astype(dtype)
    if dtype != "bool" and n:
        far = [np.iinfo(dtype).min, np.iinfo(dtype).max]
        matrix[rng.integers(0, n, 3)] = np.array(far, dtype=dtype)[rng.integers(0, 2)]
    columns = strided(matrix, how)
    low = rng.choice(np.array([-20, 0, -(2**63), 2**63 - 1, 1], dtype=np.int64), k)
    top = int(rng.choice([200, 60000, 2**32 - 1]))
    tables = [rng.integers(0, top, rng.integers(0, 120), dtype=np.uint32) for _ in range(k)]
    unseen = rng.integers(0, top, k, dtype=np.uint32)
    same(
        kernels.lookup_codes(columns, low, tables, unseen, n_threads),
        _twins.lookup_codes(columns, low, tables, unseen, 1),
    )


@given(seeds, sizes, few, class_counts, st.booleans(), thread_counts)
def test_counts_equal_their_twin(seed: int, n: int, k: int, n_classes: int, weighted: bool, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    spans = [int(rng.choice([1, 2, 7, 200, 5000])) for _ in range(k)]
    columns = [codes(rng, n, min(span, 256)) for span in spans]
    labels = codes(rng, n, n_classes)
    weights = rng.random(n) if weighted else None
    same(
        kernels.count_codes(columns, spans, labels, n_classes, weights, n_threads),
        _twins.count_codes(columns, spans, labels, n_classes, weights, 1),
    )


@given(seeds, sizes, few, class_counts, thread_counts)
def test_counted_responsibilities_equal_their_twin(seed: int, n: int, k: int, n_classes: int, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    spans = [int(rng.choice([1, 2, 7, 200])) for _ in range(k)]
    columns = [codes(rng, n, span) for span in spans]
    shares = rng.dirichlet(np.ones(n_classes), n).reshape(n, n_classes)
    same(
        kernels.count_responsibilities(columns, spans, shares, n_threads),
        _twins.count_responsibilities(columns, spans, shares, 1),
    )


@given(seeds, sizes, few, class_counts, st.booleans(), thread_counts)
def test_counted_pairs_equal_their_twin(
    seed: int, n: int, k: int, n_classes: int, weighted: bool, n_threads: int
) -> None:
    rng = np.random.default_rng(seed)
    spans = [int(rng.choice([1, 2, 7, 90])) for _ in range(k)]
    columns, labels = [codes(rng, n, span) for span in spans], codes(rng, n, n_classes)
    weights = rng.random(n) if weighted else None
    ours = kernels.count_pairs(columns, spans, labels, n_classes, weights, n_threads)
    same([ours], [_twins.count_pairs(columns, spans, labels, n_classes, weights, 1)])


@given(seeds, sizes, few)
def test_distinct_rows_equal_their_twin(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    spans = [int(rng.choice([1, 2, 7, 200, 2**31])) for _ in range(k)]
    columns = [codes(rng, n, min(span, 250)) for span in spans]
    same(kernels.factor_codes(columns, spans), _twins.factor_codes(columns, spans))


@given(seeds, sizes, st.integers(0, 3), thread_counts)
def test_contexts_equal_their_twin(seed: int, n: int, k: int, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    spans, nodes = [int(rng.choice([1, 3, 90])) for _ in range(k + 1)], [1, *(int(m) for m in rng.integers(0, 9, k))]
    columns = [codes(rng, n, span) for span in spans]
    shapes = zip(nodes[:-1], nodes[1:], spans[:-1], strict=True)
    steps = [rng.integers(-1, max(b, 0), (a, s)).astype(np.int32) for a, b, s in shapes]
    args = columns[:-1], columns[-1], spans[-1], steps, sum(nodes)
    same([kernels.context_codes(*args, n_threads)], [_twins.context_codes(*args, 1)])


@given(seeds, st.sampled_from([0, 1, 127, 129, 2100]), st.integers(1, 5), class_counts, thread_counts)
def test_scores_by_every_parent_equal_their_twin(seed: int, n: int, k: int, n_classes: int, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    spans = [int(rng.choice([1, 2, 7])) for _ in range(k)]
    columns, total = [codes(rng, n, span) for span in spans], sum(spans)
    tables = [-rng.exponential(size=(span * total, n_classes)) for span in spans]
    base = np.where(rng.random((total, n_classes)) < 0.1, -np.inf, -rng.exponential(size=(total, n_classes)))
    weights = rng.choice([0.0, 0.7, -np.inf], total)
    each = kernels.score_parents(columns, spans, tables, base, n_threads)
    np.testing.assert_allclose(each, _twins.score_parents(columns, spans, tables, base, 1), rtol=1e-13)
    ours, one, theirs = (np.zeros((n, n_classes)) for _ in range(3))
    kernels.score_aode(columns, spans, tables, base, weights, ours, n_threads)
    kernels.score_aode(columns, spans, tables, base, weights, one, 1)
    _twins.score_aode(columns, spans, tables, base, weights, theirs, 1)
    np.testing.assert_array_equal(ours, one)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("module", [kernels, _twins])
def test_contexts_and_parents_that_do_not_fit_are_refused(module: Any) -> None:
    a, step = np.array([0, 1], dtype=np.uint8), np.array([[-1, 0]], dtype=np.int32)
    for steps, nodes, error in (
        ([step], 1, ValueError),
        ([step + 1], 2, ValueError),
        ([step.astype(np.int64)], 2, TypeError),
        ([step[:, :1].copy()], 2, ValueError),
        ([], 2, ValueError),
    ):
        with pytest.raises(error):
            module.context_codes([a], a, 2, steps, nodes, 1)
    with pytest.raises(ValueError, match="column 0"):
        module.count_pairs([a, a], [1, 2], a, 2, None, 1)
    with pytest.raises(ValueError, match="column 1"):
        module.factor_codes([a, a], [2, 1])
    with pytest.raises(ValueError, match="table 0"):
        module.score_parents([a], [2], [np.zeros((3, 1))], np.zeros((2, 1)), 1)
    with pytest.raises(ValueError, match="log_weights"):
        module.score_aode([a], [2], [np.zeros((4, 1))], np.zeros((2, 1)), np.zeros(3), np.zeros((2, 1)), 1)


@given(seeds, sizes, few, class_counts, st.integers(0, 3), st.booleans(), thread_counts)
def test_cuts_equal_their_twin(
    seed: int, n: int, k: int, n_classes: int, how: int, weighted: bool, n_threads: int
) -> None:
    rng = np.random.default_rng(seed)
    labels = codes(rng, n, n_classes)
    x = rng.normal(size=(n, k)).round(int(rng.integers(0, 4))) + labels[:, None] * rng.integers(0, 3, k)
    x[rng.random((n, k)) < 0.1] = np.nan
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], n) if weighted else None
    same(
        kernels.mdl_cuts(strided(x, how), labels, n_classes, weights, n_threads),
        _twins.mdl_cuts(list(x.T), labels, n_classes, weights, 1),
    )


@settings(max_examples=40)
@given(seeds, st.integers(100, 6000), st.integers(1, 18), st.integers(2, 6), st.booleans(), thread_counts)
def test_cuts_of_many_rows_equal_their_twin(
    seed: int, n: int, k: int, n_classes: int, weighted: bool, n_threads: int
) -> None:
    rng = np.random.default_rng(seed)
    labels = codes(rng, n, n_classes)
    x = rng.normal(size=(n, k)) + labels[:, None] * rng.choice([0.0, 0.2, 1.0, 5.0], k)
    x = np.where(rng.random(k) < 0.3, np.exp(2 * x), x)  # skewed: most rows in few buckets
    x = np.where(rng.random(k) < 0.3, np.maximum(x, 0.5), x)  # a spike
    x = np.where(rng.random(k) < 0.3, x.round(1), x)
    x[rng.random((n, k)) < 0.05] = np.nan
    weights = rng.choice([0.0, 0.1, 0.3, 1.0, 7.5], n) if weighted else None
    same(
        kernels.mdl_cuts(strided(x, 1), labels, n_classes, weights, n_threads),
        _twins.mdl_cuts(list(x.T), labels, n_classes, weights, 1),
    )


@pytest.mark.parametrize("module", [kernels, _twins])
def test_cuts_refuse_infinity(module: Any) -> None:
    x, labels = np.array([1.0, 2.0, -np.inf]), np.array([0, 1, 1], dtype=np.uint8)
    with pytest.raises(ValueError, match="column 1 holds infinity"):
        module.mdl_cuts([np.zeros(3), x], labels, 2, None, 1)


@given(seeds, sizes, few, class_counts, st.integers(0, 3), st.booleans(), thread_counts)
def test_moments_equal_their_twin(
    seed: int, n: int, k: int, n_classes: int, how: int, weighted: bool, n_threads: int
) -> None:
    rng = np.random.default_rng(seed)
    x, labels = floats(rng, n, k), codes(rng, n, n_classes)
    weights = rng.random(n) * 3 if weighted else None
    columns = strided(x, how)
    ours = kernels.moments(columns, labels, n_classes, weights, n_threads)
    theirs = _twins.moments(columns, labels, n_classes, weights, 1)
    shares = np.eye(n_classes)[labels] * (1.0 if weights is None else weights[:, None])
    near_sums(ours, theirs, *scales(x, shares))


@given(seeds, sizes, few, class_counts, st.integers(0, 3), thread_counts)
def test_moments_by_responsibility_equal_their_twin(
    seed: int, n: int, k: int, n_classes: int, how: int, n_threads: int
) -> None:
    rng = np.random.default_rng(seed)
    x, shares = floats(rng, n, k), rng.random((n, n_classes))
    columns = strided(x, how)
    ours = kernels.moments_responsibilities(columns, shares, n_threads)
    near_sums(ours, _twins.moments_responsibilities(columns, shares, 1), *scales(x, shares))


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=60), st.integers(0, 3))
@settings(max_examples=50)
def test_moments_hold_the_exact_sums(values: list[float], weight: int) -> None:
    x, labels = np.array(values), np.zeros(len(values), dtype=np.uint8)
    weights = np.full(len(values), float(weight))
    for module in (kernels, _twins):
        for by, factor in ((None, 1), (weights, weight)):
            _, high, low, square_high, square_low, _, usable = module.moments([x], labels, 1, by, 1)
            assert usable
            for power, parts in ((1, (high, low)), (2, (square_high, square_low))):
                exact = factor * sum(Fraction(v) ** power for v in values)
                whole = factor * sum(abs(Fraction(v)) ** power for v in values)
                found = sum(Fraction(part.item()) for part in parts)
                assert abs(found - exact) <= whole * Fraction(1, 10**30) + Fraction(1, 10**300)


def random_tree(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    """The arrays of the junction tree of a random network of n variables."""
    graph = Graph([rng.choice(i, min(i, int(rng.integers(0, 3))), replace=False).tolist() for i in range(n)])
    cards = rng.integers(1, 5, n).tolist()
    tables = []
    for v in range(n):
        p = rng.random((int(np.prod([cards[u] for u in graph.parents[v]])), cards[v])) + 1e-3
        p[rng.random(p.shape) < 0.2] = 0
        p[p.sum(axis=1) == 0, 0] = 1
        tables.append(p / p.sum(axis=1, keepdims=True))
    t = JunctionTree(graph, cards, tables)
    return t._cliques, t._potentials, t._floors, t._down, t._variables, t._states


@given(seeds, st.sampled_from([0, 1, 3, 4, 8, 9, 30]), st.integers(1, 9), thread_counts)
def test_propagated_posteriors_equal_their_twin(seed: int, rows: int, n: int, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n)
    cards = tree[4][:, 1]
    observed, queried = rng.integers(0, n, rng.integers(0, 4)), rng.permutation(n)[: rng.integers(0, n + 1)]
    found = rng.random((rows, int(cards[observed].sum())))
    found[rng.random(found.shape) < 0.3] = 0
    found *= 10.0 ** rng.choice([0, -150, 100], size=(rows, 1))
    ours = kernels.propagate(*tree, observed, found, queried, n_threads)
    theirs = _twins.propagate(*tree, observed, found, queried, 1)
    possible = np.isfinite(theirs[1])
    np.testing.assert_array_equal(np.isfinite(ours[1]), possible)
    np.testing.assert_allclose(ours[1][possible], theirs[1][possible], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours[0][possible], theirs[0][possible], rtol=1e-12, atol=1e-14)
    assert np.isnan(ours[0][~possible]).all()
    np.testing.assert_array_equal(ours[2], theirs[2])
    same(ours, kernels.propagate(*tree, observed, found, queried, 1))
    for i in range(min(rows, 2)):  # the same bits for a row alone
        alone = kernels.propagate(*tree, observed, found[i : i + 1], queried, 1)
        if kernels.NATIVE:
            same(alone, [part[i : i + 1] for part in ours])


@pytest.mark.parametrize("value", [1e151, -1e151, np.inf, -np.inf])
def test_a_huge_value_makes_the_moments_unusable(value: float) -> None:
    x, labels = np.arange(100.0), np.zeros(100, dtype=np.uint8)
    x[70] = value
    for module in (kernels, _twins):
        assert module.moments([x], labels, 1, None, 1)[-1] is False
        assert module.moments([x], labels, 1, np.ones(100), 1)[-1] is False
        assert module.moments([np.array([1e150, np.nan])], labels[:2], 1, None, 1)[-1] is True


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


@given(seeds, sizes, few, st.integers(0, 3), thread_counts)
def test_binned_codes_equal_their_twin(seed: int, n: int, k: int, how: int, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = np.round(rng.normal(size=(n, k)), 1)
    matrix[rng.random((n, k)) < 0.1] = rng.choice([np.nan, np.inf, -np.inf])
    columns = strided(matrix, how)
    cuts = [np.sort(np.round(rng.normal(size=rng.choice([0, 1, 2, 5, 70, 254, 255])), 1)) for _ in range(k)]
    same(kernels.bin_codes(columns, cuts, n_threads), _twins.bin_codes(columns, cuts, 1))


@given(seeds, sizes, few, class_counts, thread_counts)
def test_scored_codes_equal_their_twin(seed: int, n: int, k: int, n_classes: int, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    tables = [rng.normal(size=(rng.choice([1, 2, 50, 256]), n_classes)) for _ in range(k)]
    for table in tables:
        table[rng.random(table.shape) < 0.1] = -np.inf
    columns = [codes(rng, n, len(table)) for table in tables]
    ours = rng.normal(size=(n, n_classes))
    theirs = ours.copy()
    kernels.score_codes(columns, tables, ours, n_threads)
    _twins.score_codes(columns, tables, theirs, 1)
    np.testing.assert_array_equal(ours, theirs)


@given(seeds, sizes, few, class_counts, st.integers(0, 3), thread_counts)
def test_gaussian_scores_equal_their_twin(seed: int, n: int, k: int, n_classes: int, how: int, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    columns = strided(floats(rng, n, k), how)
    mean, constant = rng.normal(size=(2, n_classes, k))
    precision = rng.random((n_classes, k))
    ours = rng.normal(size=(n, n_classes))
    theirs = ours.copy()
    kernels.score_gaussian(columns, mean, precision, constant, ours, n_threads)
    _twins.score_gaussian(columns, mean, precision, constant, theirs, 1)
    np.testing.assert_array_equal(ours, theirs)


@given(seeds, sizes, class_counts, thread_counts)
def test_probabilities_equal_their_twin(seed: int, n: int, n_classes: int, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, n_classes)) * 10.0 ** rng.integers(-3, 4, size=(n, 1))
    scores[rng.random(scores.shape) < 0.2] = -np.inf
    before = scores.copy()
    ours, theirs = kernels.normalise(scores, n_threads), _twins.normalise(scores, 1)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(scores, before)
    impossible = np.isneginf(scores).all(axis=1)
    assert np.isnan(ours[0][impossible]).all()
    assert np.isneginf(ours[1][impossible]).all()


@given(seeds, sizes, few, class_counts, thread_counts)
def test_left_out_scores_of_codes_equal_their_twin(seed: int, n: int, k: int, n_classes: int, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    spans = [int(rng.choice([1, 3, 40, 3000])) for _ in range(k)]
    columns = [codes(rng, n, min(span, 250)) for span in spans]
    tables = [rng.normal(size=(n_classes, span, n_classes)) for span in spans]
    labels = codes(rng, n, n_classes)
    ours = rng.normal(size=(n, n_classes))
    theirs = ours.copy()
    kernels.score_codes_left_out(columns, tables, labels, ours, n_threads)
    _twins.score_codes_left_out(columns, tables, labels, theirs, 1)
    np.testing.assert_array_equal(ours, theirs)


@given(seeds, sizes, st.sampled_from([0, 1, 5, 70, 130]), class_counts, st.integers(0, 3), thread_counts)
def test_left_out_scores_of_gaussians_equal_their_twin(
    seed: int, n: int, k: int, n_classes: int, how: int, n_threads: int
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, k))
    x[rng.random(x.shape) < 0.1] = np.nan
    x[rng.random(x.shape) < 0.01] = 1e9
    mean, constant, own_constant = rng.normal(size=(3, n_classes, k))
    precision, own_precision = rng.random((2, n_classes, k))
    rate = rng.random((n_classes, k)) * 0.02
    rate[rng.random(rate.shape) < 0.05 / max(k, 1)] = np.nan
    labels = codes(rng, n, n_classes)
    parts = labels, mean, precision, constant, rate, own_precision, own_constant, 1e-3
    ours = rng.normal(size=(n, n_classes))
    theirs = ours.copy()
    left = kernels.score_gaussian_left_out(strided(x, how), *parts, ours, n_threads)
    np.testing.assert_array_equal(left, _twins.score_gaussian_left_out(strided(x, how), *parts, theirs, 1))
    np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-11)


@given(seeds, sizes, class_counts, thread_counts)
def test_judged_scores_equal_their_twin(seed: int, n: int, n_classes: int, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(-3, 3, (n, n_classes)) + rng.choice([0, 1e-14, 1e-3], (n, n_classes))
    scores[rng.random(scores.shape) < 0.2] = -np.inf
    labels = codes(rng, n, n_classes)
    ours, theirs = kernels.judge(scores, labels, 1e-12, n_threads), _twins.judge(scores, labels, 1e-12, 1)
    np.testing.assert_array_equal(ours[2], theirs[2])
    np.testing.assert_array_equal(ours[2], kernels.best_classes(scores, 1e-12, n_threads))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)
        assert a.dtype == b.dtype


def everything(n_threads: int, n: int = 70_000) -> list[np.ndarray]:
    """Results of all kernels on one table, big enough for several parts."""
    rng = np.random.default_rng(7)
    x = floats(rng, n, 9)
    ints = rng.integers(-5, 60, (n, 9)).astype(np.int8)
    labels = rng.integers(0, 3, n).astype(np.uint8)
    weights, shares = rng.random(n), rng.random((n, 3))
    columns, numbers = [ints[:, j] for j in range(9)], [x[:, j] for j in range(9)]
    low, high = kernels.int_ranges(columns, n_threads)
    table = np.arange(1, 66, dtype=np.uint32)
    coded = kernels.lookup_codes(columns, low, [table] * 9, np.zeros(9, dtype=np.uint32), n_threads)
    out = [low, high, *coded]
    for by in (None, weights):
        out += kernels.count_codes(coded, [66] * 9, labels, 3, by, n_threads)
        out += [np.asarray(part) for part in kernels.moments(numbers, labels, 3, by, n_threads)]
    out += kernels.count_responsibilities(coded, [66] * 9, shares, n_threads)
    out += [np.asarray(part) for part in kernels.moments_responsibilities(numbers, shares, n_threads)]
    out += kernels.bin_codes(numbers, [np.linspace(-2, 2, 5)] * 9, n_threads)
    scores = np.zeros((n, 3))
    kernels.score_codes(coded, [rng.normal(size=(66, 3)) for _ in range(9)], scores, n_threads)
    out += [scores.copy()]
    kernels.score_gaussian(numbers, *rng.random((3, 3, 9)), scores, n_threads)
    left = np.zeros((n, 3))
    kernels.score_codes_left_out(coded, list(rng.normal(size=(9, 3, 66, 3))), labels, left, n_threads)
    flags = kernels.score_gaussian_left_out(numbers, labels, *rng.random((6, 3, 9)), 1e-3, left, n_threads)
    out += [left, flags, *kernels.judge(left, labels, 1e-12, n_threads)]
    out += [kernels.best_classes(left, 1e-12, n_threads)]
    return [*out, scores, *kernels.normalise(scores, n_threads)]


@pytest.mark.parametrize("n_threads", [2, 3, 8])
def test_any_number_of_threads_gives_the_same_bits(n_threads: int) -> None:
    for one, many in zip(everything(1), everything(n_threads), strict=True):
        assert one.tobytes() == many.tobytes()


@pytest.mark.skipif(not kernels.NATIVE, reason="needs the compiled core")
def test_machines_without_wide_registers_give_the_same_bits() -> None:
    script = (
        "import sys, hashlib; sys.path.insert(0, sys.argv[1]); import test_kernels as t;"
        "print([hashlib.sha256(part.tobytes()).hexdigest() for part in t.everything(2)])"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script, str(Path(__file__).parent)],
            env={**os.environ, "BAYESKIT_KERNELS": wanted},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for wanted in ("portable", "")
    }
    assert len(found) == 1


def test_a_row_scores_the_same_alone_and_in_any_place() -> None:
    rng = np.random.default_rng(3)
    n, n_classes = 131, 5
    x, coded = rng.normal(size=(n, 7)), rng.integers(0, 9, (n, 7)).astype(np.uint8)
    tables = [rng.normal(size=(9, n_classes)) for _ in range(7)]
    parameters = rng.random((3, n_classes, 7))

    def score(rows: np.ndarray) -> list[np.ndarray]:
        scores = np.zeros((len(rows), n_classes))
        kernels.score_codes([coded[rows, j].copy() for j in range(7)], tables, scores, 1)
        kernels.score_gaussian([x[rows, j] for j in range(7)], *parameters, scores, 1)
        return [scores, *kernels.normalise(scores, 1)]

    whole, shuffled = score(np.arange(n)), rng.permutation(n)
    for together, mixed in zip(whole, score(shuffled), strict=True):
        np.testing.assert_array_equal(together[shuffled], mixed)
    for row in range(n):
        for together, alone in zip(whole, score(np.array([row])), strict=True):
            np.testing.assert_array_equal(together[row], alone[0])


ONE = np.array([1], dtype=np.uint8)
X = np.array([1.0])


def grown(k: Any, **changes: Any) -> Any:
    """P(a) and below it P(b | a), with something changed."""
    arguments = {
        "cliques": np.array([[2, -1, 1], [4, 0, 2]]), "potentials": np.full(6, 0.5), "floors": np.full(2, 0.5),
        "to_separator": np.array([0, 1], np.int32), "variables": np.array([[0, 2], [1, 2]]),
        "states": np.array([0, 1, 0, 1, 0, 1], np.int32), "observed": np.array([1]), "likelihoods": np.ones((1, 2)),
        "queried": np.array([0]), "n_threads": 1,
    }  # fmt: skip
    return k.propagate(**(arguments | changes))


BAD: dict[str, tuple[str, Callable[[Any], object]]] = {
    "a code beyond its table": ("code 1", lambda k: k.count_codes([ONE], [1], ONE, 2, None, 1)),
    "a label beyond the classes": ("labels hold 1", lambda k: k.count_codes([ONE], [2], ONE, 1, None, 1)),
    "a label beyond, for moments": ("labels hold 1", lambda k: k.moments([X], ONE, 1, None, 1)),
    "unequal lengths": ("column 1", lambda k: k.count_codes([ONE, ONE[:0]], [2, 2], ONE, 2, None, 1)),
    "too few sizes": ("sizes", lambda k: k.count_codes([ONE], [], ONE, 2, None, 1)),
    "short weights": ("weights", lambda k: k.count_codes([ONE], [2], ONE, 2, X[:0], 1)),
    "no classes": ("n_classes", lambda k: k.moments([X], ONE, 0, None, 1)),
    "no threads": ("n_threads", lambda k: k.normalise(np.zeros((1, 2)), 0)),
    "scores without classes": ("scores", lambda k: k.normalise(np.zeros((3, 0)), 1)),
    "scores of one axis": ("scores", lambda k: k.normalise(np.zeros(3), 1)),
    "scores of another length": (
        "column 0",
        lambda k: k.score_codes([ONE], [np.zeros((2, 2))], np.zeros((3, 2)), 1),
    ),
    "a table of other classes": (
        "table 0",
        lambda k: k.score_codes([ONE], [np.zeros((2, 3))], np.zeros((1, 2)), 1),
    ),
    "a code beyond a table of scores": (
        "code 1",
        lambda k: k.score_codes([ONE], [np.zeros((1, 2))], np.zeros((1, 2)), 1),
    ),
    "means of another shape": (
        "mean",
        lambda k: k.score_gaussian([X], np.zeros((1, 2)), *np.zeros((2, 1, 1)), np.zeros((1, 1)), 1),
    ),
    "a table for too few labels": (
        "table 0",
        lambda k: k.score_codes_left_out([ONE], [np.zeros((1, 2, 2))], ONE, np.zeros((1, 2)), 1),
    ),
    "a label beyond, left out": (
        "labels hold 1",
        lambda k: k.score_codes_left_out([ONE], [np.zeros((1, 2, 1))], ONE, np.zeros((1, 1)), 1),
    ),
    "rates of another shape": (
        "rate",
        lambda k: k.score_gaussian_left_out(
            [X], 0 * ONE, *np.zeros((3, 1, 1)), np.zeros((2, 1)), *np.zeros((2, 1, 1)), 0.1, np.zeros((1, 1)), 1
        ),
    ),
    "a label beyond, judged": ("labels hold 1", lambda k: k.judge(np.zeros((1, 1)), ONE, 1e-12, 1)),
    "cuts out of order": ("not sorted", lambda k: k.bin_codes([X], [np.array([2.0, 1.0])], 1)),
    "too few tables": (
        "tables",
        lambda k: k.lookup_codes([ONE], np.zeros(1, dtype=np.int64), [], np.zeros(1, dtype=np.uint32), 1),
    ),
    "a tree without tables": ("table", lambda k: grown(k, cliques=np.zeros((0, 3), dtype=np.int64))),
    "a table before its parent": ("tree", lambda k: grown(k, cliques=np.array([[2, -1, 1], [4, 1, 2]]))),
    "a separator that does not divide": ("tree", lambda k: grown(k, cliques=np.array([[2, -1, 1], [4, 0, 3]]))),
    "too few potentials": ("potentials", lambda k: grown(k, potentials=np.zeros(5))),
    "a separator's cell that is not there": (
        "to_separator",
        lambda k: grown(k, to_separator=np.array([0, 2], np.int32)),
    ),
    "a negative cell": ("to_separator", lambda k: grown(k, to_separator=np.array([0, -1], np.int32))),
    "a state that is not there": ("states", lambda k: grown(k, states=np.array([0, 1, 0, 1, 0, 2], np.int32))),
    "a home that is not there": ("home", lambda k: grown(k, variables=np.array([[0, 2], [2, 2]]))),
    "an observed variable that is not there": ("observed", lambda k: grown(k, observed=np.array([2]))),
    "a queried variable that is not there": ("queried", lambda k: grown(k, queried=np.array([-1]))),
    "likelihoods of another width": ("likelihoods", lambda k: grown(k, likelihoods=np.zeros((1, 3)))),
    "an integer beyond 63 bits": (
        "beyond",
        lambda k: k.int_ranges([np.array([2**63], dtype=np.uint64)], 1),
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_by_name(what: str) -> None:
    message, call = BAD[what]
    for module in (kernels, _twins):
        with pytest.raises(ValueError, match=message):
            call(module)


@pytest.mark.parametrize("module", [kernels, _twins])
def test_other_types_are_refused(module: Any) -> None:
    for call in (
        lambda: module.count_codes([np.array([1])], [2], ONE, 2, None, 1),
        lambda: module.moments([np.array([1.0], dtype=np.float32)], ONE, 2, None, 1),
        lambda: module.int_ranges([X], 1),
    ):
        with pytest.raises(TypeError, match="column 0"):
            call()


def test_read_only_columns_are_read() -> None:
    x, labels = np.arange(4.0), np.zeros(4, dtype=np.uint8)
    x.flags.writeable = labels.flags.writeable = False
    assert kernels.moments([x], labels, 1, None, 1)[1].item() == 6.0


@pytest.mark.skipif(not kernels.NATIVE, reason="needs the compiled core")
def test_core_twins_and_stubs_have_the_same_functions() -> None:
    from bayeskit import _core

    stubs = Path(_twins.__file__).with_name("_core.pyi").read_text(encoding="utf-8")
    named = dict(re.findall(r"^def (\w+)\((.*?)\)\s*->", stubs, flags=re.MULTILINE | re.DOTALL))
    assert sorted(named) == NAMES
    for name in NAMES:
        home = _twins if hasattr(_twins, name) else _token_twins
        twin = list(inspect.signature(getattr(home, name)).parameters)
        assert re.findall(r"(\w+):", named[name]) == twin
        signature = getattr(_core, name).__nb_signature__[0][0]
        compiled = re.findall(r"(?:\(|, )(\w+):", signature)
        assert [parameter for parameter in compiled if parameter in twin] == twin


def test_one_module_imports_the_core() -> None:
    package = Path(_twins.__file__).parent
    importing = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"^\s*(from|import) .*\b_core\b", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    ]
    assert importing == ["kernels.py"]


def documents_by_words(seed: int, n: int, n_words: int, n_classes: int) -> tuple[Any, ...]:
    """start, words, counts, mass, labels and class masses of random documents."""
    rng = np.random.default_rng(seed)
    parts = [rng.permutation(n_words)[: rng.integers(0, min(n_words, 40) + 1)] for _ in range(n)]
    start = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    words = np.concatenate([*parts, np.zeros(0)]).astype(np.uint32)
    counts, mass = rng.integers(1, 6, len(words)).astype(np.uint32), rng.random(len(words))
    labels = rng.integers(0, n_classes, n).astype(np.uint32)
    class_mass = np.zeros((n_words, n_classes))
    np.add.at(class_mass, (words, np.repeat(labels, np.diff(start))), mass)
    return start, words, counts, mass, labels, class_mass


@settings(deadline=None)
@given(seeds, st.sampled_from([0, 1, 31, 33, 100]), st.sampled_from([1, 5, 200]), st.sampled_from([2, 3, 5, 20]))
def test_left_out_evidence_and_its_loss_equal_their_twins(seed: int, n: int, n_words: int, n_classes: int) -> None:
    start, words, counts, mass, labels, class_mass = documents_by_words(seed, n, n_words, n_classes)
    rng = np.random.default_rng(seed)
    bands = rng.integers(0, 8, n_words).astype(np.uint8)
    for both in (False, True):
        given_ = (start, words, counts, mass, labels, class_mass, bands, 10.0 ** rng.uniform(-3, 1), both)
        ours = kernels.left_out_evidence(*given_, 1)
        np.testing.assert_allclose(ours, _twins.left_out_evidence(*given_, 1), rtol=1e-9, atol=1e-9)
        assert np.array_equal(ours, kernels.left_out_evidence(*given_, 3))
        weights, bias = rng.normal(size=ours.shape[1]), rng.normal(size=n_classes)
        asked = (np.ascontiguousarray(ours), rng.random(n), rng.random(n), weights, bias, labels)
        for a, b in zip(kernels.softmax_loss(*asked, 1), _twins.softmax_loss(*asked, 1), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
        for a, b in zip(kernels.softmax_loss(*asked, 1), kernels.softmax_loss(*asked, 3), strict=True):
            assert np.array_equal(a, b)


@pytest.mark.parametrize("module", [kernels, _twins])
def test_documents_that_do_not_fit_are_refused(module: Any) -> None:
    start, words, counts, mass, labels, class_mass = documents_by_words(1, 9, 12, 3)
    bands, three = np.zeros(12, np.uint8), np.uint32(3)
    whole = [start, words, counts, mass, labels, class_mass, bands, 1.0, True, 1]
    wrong = [
        (0, start[:-1]),
        (0, start[::-1].copy()),
        (1, words + np.uint32(12)),
        (2, counts * np.uint32(0)),
        (3, mass[:-1]),
        (4, labels + three),
        (6, bands + np.uint8(8)),
        (6, bands[:-1]),
        (9, 0),
    ]
    for at, bad in wrong:
        with pytest.raises(ValueError):
            module.left_out_evidence(*[bad if i == at else part for i, part in enumerate(whole)])
    features, ones = np.zeros((9, 2, 3)), np.ones(9)
    for scale, weights, bias, own in [
        (8, 2, 3, labels),
        (9, 1, 3, labels),
        (9, 2, 2, labels),
        (9, 2, 3, labels + three),
    ]:
        with pytest.raises(ValueError):
            module.softmax_loss(features, np.ones(scale), ones, np.ones(weights), np.ones(bias), own, 1)


MIXED = ["sun", "rain", None, "sun", "ré", "日本", "re", 1, 1.5, float("nan"), "", "\udc80", "x" * 100, "sun "]


@given(st.lists(st.sampled_from(MIXED), max_size=60), st.integers(1, 3))
def test_strings_are_told_apart_by_their_characters_and_others_by_identity(cells: list[Any], stride: int) -> None:
    column = np.empty(len(cells) * stride, dtype=object)
    column[::stride] = cells
    ours, theirs = (module.factor_strings(column[::stride], 10) for module in (kernels, _twins))
    same(ours, theirs)
    assert [cells[first] for first in ours[1][ours[0]]] == cells or None in cells or float("nan") in cells


def test_too_many_objects_that_are_no_strings_are_left_to_others() -> None:
    cells = np.array([object() for _ in range(5)], dtype=object)
    for module in (kernels, _twins):
        assert module.factor_strings(cells, 4) is None
        assert module.factor_strings(cells, 5) is not None
        with pytest.raises(TypeError, match="objects"):
            module.factor_strings(np.zeros(3), 1)

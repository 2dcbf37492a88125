"""Columns to codes, codes to counts and to cut points: each kernel against its reference."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import kernels

from . import reference
from .conftest import INTEGERS, class_counts, codes, few, same, seeds, sizes, strided, thread_counts


@given(seeds, sizes, few, st.integers(0, 3), st.sampled_from(INTEGERS), thread_counts)
def test_ranges_equal_their_reference(seed: int, n: int, k: int, how: int, dtype: str, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    ends = (0, 2) if dtype == "bool" else (np.iinfo(dtype).min, min(int(np.iinfo(dtype).max), 2**63 - 1))
    columns = strided(rng.integers(*ends, size=(n, k), dtype="int64").astype(dtype), how)
    if n == 0 and k:
        with pytest.raises(ValueError, match="empty"):
            kernels.int_ranges(columns, n_threads)
    else:
        same(kernels.int_ranges(columns, n_threads), reference.int_ranges(columns, 1))


@given(seeds, sizes, few, st.integers(0, 3), st.sampled_from(INTEGERS), thread_counts)
def test_looked_up_codes_equal_their_reference(seed: int, n: int, k: int, how: int, dtype: str, n_threads: int) -> None:
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
    rises = rng.random() < 0.5  # then a table adds one number
    tables = [np.sort(table)[:1] + np.arange(len(table), dtype=np.uint32) if rises else table for table in tables]
    unseen = rng.integers(0, top, k, dtype=np.uint32)
    same(
        kernels.lookup_codes(columns, low, tables, unseen, n_threads),
        reference.lookup_codes(columns, low, tables, unseen, 1),
    )


@given(seeds, sizes, few, st.integers(0, 3), thread_counts)
def test_binned_codes_equal_their_reference(seed: int, n: int, k: int, how: int, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = np.round(rng.normal(size=(n, k)), 1)
    matrix[rng.random((n, k)) < 0.1] = rng.choice([np.nan, np.inf, -np.inf])
    columns = strided(matrix, how)
    cuts = [np.sort(np.round(rng.normal(size=rng.choice([0, 1, 2, 5, 70, 254, 255])), 1)) for _ in range(k)]
    same(kernels.bin_codes(columns, cuts, n_threads), reference.bin_codes(columns, cuts, 1))
    factors = rng.integers(0, 2**64, k, dtype=np.uint64)
    same(kernels.hash_numbers(columns, factors, n_threads), reference.hash_numbers(columns, factors, 1))


@given(seeds, sizes, few, class_counts, st.booleans(), thread_counts)
def test_counts_equal_their_reference(
    seed: int, n: int, k: int, n_classes: int, weighted: bool, n_threads: int
) -> None:
    rng = np.random.default_rng(seed)
    spans = [int(rng.choice([1, 2, 7, 200, 5000])) for _ in range(k)]
    columns = [codes(rng, n, min(span, 256)) for span in spans]
    labels = codes(rng, n, n_classes)
    weights = rng.random(n) if weighted else None
    same(
        kernels.count_codes(columns, spans, labels, n_classes, weights, n_threads),
        reference.count_codes(columns, spans, labels, n_classes, weights, 1),
    )


@given(seeds, sizes, few, class_counts, st.booleans(), thread_counts)
def test_counts_of_sets_equal_their_reference(
    seed: int, n: int, k: int, n_classes: int, weighted: bool, n_threads: int
) -> None:
    rng = np.random.default_rng(seed)
    spans = [int(rng.choice([1, 2, 7, 40])) for _ in range(k)]
    columns = [codes(rng, n, span) for span in spans]
    labels = codes(rng, n, n_classes)
    sets = [rng.integers(0, k, rng.integers(1, 4)).tolist() for _ in range(int(rng.integers(0, 4)) if k else 0)]
    weights = rng.random(n) if weighted else None
    shares = rng.dirichlet(np.ones(n_classes), n).reshape(n, n_classes)
    by = labels, n_classes, weights
    same(
        kernels.count_codes(columns, spans, *by, n_threads, sets),
        reference.count_codes(columns, spans, *by, 1, sets),
    )
    same(
        kernels.count_responsibilities(columns, spans, shares, n_threads, sets),
        reference.count_responsibilities(columns, spans, shares, 1, sets),
    )


@given(seeds, sizes, few, class_counts, thread_counts)
def test_counted_responsibilities_equal_their_reference(
    seed: int, n: int, k: int, n_classes: int, n_threads: int
) -> None:
    rng = np.random.default_rng(seed)
    spans = [int(rng.choice([1, 2, 7, 200])) for _ in range(k)]
    columns = [codes(rng, n, span) for span in spans]
    shares = rng.dirichlet(np.ones(n_classes), n).reshape(n, n_classes)
    same(
        kernels.count_responsibilities(columns, spans, shares, n_threads),
        reference.count_responsibilities(columns, spans, shares, 1),
    )


@given(seeds, sizes, few, class_counts, thread_counts)
def test_counted_pairs_equal_their_reference(seed: int, n: int, k: int, n_classes: int, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    spans = [int(rng.choice([1, 2, 7, 90])) for _ in range(k)]
    columns, labels = [codes(rng, n, span) for span in spans], codes(rng, n, n_classes)
    ours = kernels.count_pairs(columns, spans, labels, n_classes, n_threads)
    same([ours], [reference.count_pairs(columns, spans, labels, n_classes, 1)])


@given(seeds, sizes, few)
def test_distinct_rows_equal_their_reference(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    spans = [int(rng.choice([1, 2, 7, 200, 2**31])) for _ in range(k)]
    columns = [codes(rng, n, min(span, 250)) for span in spans]
    same(kernels.factor_codes(columns, spans), reference.factor_codes(columns, spans))


@given(seeds, sizes, st.integers(0, 3), thread_counts)
def test_contexts_equal_their_reference(seed: int, n: int, k: int, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    spans, nodes = [int(rng.choice([1, 3, 90])) for _ in range(k + 1)], [1, *(int(m) for m in rng.integers(0, 9, k))]
    columns = [codes(rng, n, span) for span in spans]
    shapes = zip(nodes[:-1], nodes[1:], spans[:-1], strict=True)
    steps = [rng.integers(-1, max(b, 0), (a, s)).astype(np.int32) for a, b, s in shapes]
    args = columns[:-1], columns[-1], spans[-1], steps, sum(nodes)
    same([kernels.context_codes(*args, n_threads)], [reference.context_codes(*args, 1)])


@given(seeds, sizes, few, class_counts, st.integers(0, 3), st.booleans(), thread_counts)
def test_cuts_equal_their_reference(
    seed: int, n: int, k: int, n_classes: int, how: int, weighted: bool, n_threads: int
) -> None:
    rng = np.random.default_rng(seed)
    labels = codes(rng, n, n_classes)
    x = rng.normal(size=(n, k)).round(int(rng.integers(0, 4))) + labels[:, None] * rng.integers(0, 3, k)
    x[rng.random((n, k)) < 0.1] = np.nan
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], n) if weighted else None
    same(
        kernels.mdl_cuts(strided(x, how), labels, n_classes, weights, n_threads),
        reference.mdl_cuts(list(x.T), labels, n_classes, weights, 1),
    )


@pytest.mark.slow
@settings(max_examples=40)
@given(seeds, st.integers(100, 6000), st.integers(1, 18), st.integers(2, 6), st.booleans(), thread_counts)
def test_cuts_of_many_rows_equal_their_reference(
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
        reference.mdl_cuts(list(x.T), labels, n_classes, weights, 1),
    )


@given(seeds, st.one_of(sizes, st.integers(1000, 6000)), few, st.integers(0, 3), thread_counts)
def test_cuts_by_frequency_equal_their_reference(seed: int, n: int, k: int, how: int, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, k))
    x = np.where(rng.random(k) < 0.3, np.exp(9 * x), x)  # skewed: most rows in few buckets
    x = np.where(rng.random(k) < 0.3, np.maximum(x, 0.5), x)  # a spike
    x = np.where(rng.random(k) < 0.4, x.round(int(rng.integers(0, 3))), x)
    x[rng.random((n, k)) < rng.choice([0.0, 0.1, 1.0], p=[0.5, 0.4, 0.1])] = np.nan
    intervals = [int(rng.choice([1, 2, 5, 10, 100, 2 * n + 1])) for _ in range(k)]
    same(
        kernels.frequency_cuts(strided(x, how), intervals, 1e-9, n_threads),
        reference.frequency_cuts(list(x.T), intervals, 1e-9, 1),
    )


@pytest.mark.parametrize("huge", [-np.inf, 2e150])
def test_cuts_refuse_numbers_beyond_the_limit(huge: float) -> None:
    x, labels = np.array([1.0, 2.0, huge]), np.array([0, 1, 1], dtype=np.uint8)
    with pytest.raises(ValueError, match="column 1 holds a number beyond 1e150"):
        kernels.mdl_cuts([np.zeros(3), x], labels, 2, None, 1)
    with pytest.raises(ValueError, match="column 1 holds a number beyond 1e150"):
        kernels.frequency_cuts([np.zeros(3), x], [2, 2], 1e-9, 1)


MIXED = ["sun", "rain", None, "sun", "ré", "日本", "re", 1, 1.5, float("nan"), "", "\udc80", "x" * 100, "sun "]


@given(st.lists(st.sampled_from(MIXED), max_size=60), st.integers(1, 3))
def test_strings_are_told_apart_by_their_characters_and_others_by_identity(cells: list[Any], stride: int) -> None:
    column = np.empty(len(cells) * stride, dtype=object)
    column[::stride] = cells
    ours, theirs = (module.factor_strings(column[::stride], 10) for module in (kernels, reference))
    same(ours, theirs)
    assert [cells[first] for first in ours[1][ours[0]]] == cells or None in cells or float("nan") in cells


def test_too_many_objects_that_are_no_strings_are_left_to_others() -> None:
    cells = np.array([object() for _ in range(5)], dtype=object)
    for module in (kernels, reference):
        assert module.factor_strings(cells, 4) is None
        assert module.factor_strings(cells, 5) is not None
    with pytest.raises(TypeError, match="objects"):
        kernels.factor_strings(np.zeros(3), 1)

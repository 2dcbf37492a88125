"""Scores of rows, also left out, and what is made of them: each kernel against its reference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeskit import kernels

from . import reference
from .arguments import GOOD
from .conftest import class_counts, codes, few, floats, seeds, sizes, strided, thread_counts
from .draw import Draw


@given(seeds, sizes, few, class_counts, thread_counts)
def test_scored_codes_equal_their_reference(seed: int, n: int, k: int, n_classes: int, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    tables = [rng.normal(size=(rng.choice([1, 2, 50, 256]), n_classes)) for _ in range(k)]
    for table in tables:
        table[rng.random(table.shape) < 0.1] = -np.inf
    columns = [codes(rng, n, len(table)) for table in tables]
    ours = rng.normal(size=(n, n_classes))
    theirs = ours.copy()
    kernels.score_codes(columns, tables, ours, n_threads)
    reference.score_codes(columns, tables, theirs, 1)
    np.testing.assert_array_equal(ours, theirs)


@given(seeds, sizes, few, class_counts, st.integers(0, 3), thread_counts)
def test_gaussian_scores_equal_their_reference(
    seed: int, n: int, k: int, n_classes: int, how: int, n_threads: int
) -> None:
    rng = np.random.default_rng(seed)
    columns = strided(floats(rng, n, k), how)
    mean, constant = rng.normal(size=(2, n_classes, k))
    precision = rng.random((n_classes, k))
    ours = rng.normal(size=(n, n_classes))
    theirs = ours.copy()
    kernels.score_gaussian(columns, mean, precision, constant, ours, n_threads)
    reference.score_gaussian(columns, mean, precision, constant, theirs, 1)
    np.testing.assert_array_equal(ours, theirs)


@given(seeds, thread_counts)
def test_summed_out_cells_equal_their_reference(seed: int, n_threads: int) -> None:
    arguments = GOOD["score_missing"](Draw(seed))
    for tables in arguments["tables"]:
        for table in tables:
            table[np.random.default_rng(seed).random(table.shape) < 0.1] = -np.inf
    theirs = arguments | {"scores": arguments["scores"].copy()}
    kernels.score_missing(**arguments, n_threads=n_threads)
    reference.score_missing(**theirs, n_threads=1)
    np.testing.assert_allclose(arguments["scores"], theirs["scores"], rtol=1e-12, atol=1e-12)


def test_missing_cells_that_hang_together_too_much_are_refused() -> None:
    columns, none = [np.zeros(1, np.uint8), np.ones(1, np.uint8)], np.array([], np.int64)
    step, tables = np.array([[-1, 0, 1, -1]], np.int32), [[np.zeros((4, 1))], [np.zeros((9, 1))]]
    arguments = columns, [4, 3], [none, np.array([0])], [[], [step]], tables, None, np.zeros((1, 1))
    with pytest.raises(ValueError, match="too large"):
        kernels.score_missing(*arguments, 1, 1)
    kernels.score_missing(*arguments, 2, 1)


@given(seeds, st.sampled_from([0, 1, 127, 129, 2100]), st.integers(1, 5), class_counts, thread_counts)
def test_scores_by_every_parent_equal_their_reference(
    seed: int, n: int, k: int, n_classes: int, n_threads: int
) -> None:
    rng = np.random.default_rng(seed)
    spans = [int(rng.choice([1, 2, 7])) for _ in range(k)]
    columns, total = [codes(rng, n, span) for span in spans], sum(spans)
    tables = [-rng.exponential(size=(span * total, n_classes)) for span in spans]
    base = np.where(rng.random((total, n_classes)) < 0.1, -np.inf, -rng.exponential(size=(total, n_classes)))
    weights = rng.choice([0.0, 0.7, -np.inf], total)
    each = kernels.score_parents(columns, spans, tables, base, n_threads)
    np.testing.assert_allclose(each, reference.score_parents(columns, spans, tables, base, 1), rtol=1e-13)
    ours, one, theirs = (np.zeros((n, n_classes)) for _ in range(3))
    kernels.score_aode(columns, spans, tables, base, weights, ours, n_threads)
    kernels.score_aode(columns, spans, tables, base, weights, one, 1)
    reference.score_aode(columns, spans, tables, base, weights, theirs, 1)
    np.testing.assert_array_equal(ours, one)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


@given(seeds, sizes, class_counts, thread_counts)
def test_probabilities_equal_their_reference(seed: int, n: int, n_classes: int, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, n_classes)) * 10.0 ** rng.integers(-3, 4, size=(n, 1))
    scores[rng.random(scores.shape) < 0.2] = -np.inf
    before = scores.copy()
    ours, theirs = kernels.normalize(scores, n_threads), reference.normalize(scores, 1)
    for module in (kernels, reference):
        room = np.empty_like(scores)
        assert module.normalize(scores, 1, room)[0] is room
        np.testing.assert_allclose(room, ours[0], rtol=1e-13)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(scores, before)
    impossible = np.isneginf(scores).all(axis=1)
    assert np.isnan(ours[0][impossible]).all()
    assert np.isneginf(ours[1][impossible]).all()


@pytest.mark.slow
@given(seeds, sizes, few, class_counts, thread_counts)
def test_left_out_scores_of_codes_equal_their_reference(
    seed: int, n: int, k: int, n_classes: int, n_threads: int
) -> None:
    rng = np.random.default_rng(seed)
    spans = [int(rng.choice([1, 3, 40, 3000])) for _ in range(k)]
    columns = [codes(rng, n, min(span, 250)) for span in spans]
    tables = [rng.normal(size=(n_classes, span, n_classes)) for span in spans]
    labels = codes(rng, n, n_classes)
    ours = rng.normal(size=(n, n_classes))
    theirs = ours.copy()
    kernels.score_codes_left_out(columns, tables, labels, ours, n_threads)
    reference.score_codes_left_out(columns, tables, labels, theirs, 1)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
@given(seeds, sizes, st.sampled_from([0, 1, 5, 70, 130]), class_counts, st.integers(0, 3), thread_counts)
def test_left_out_scores_of_gaussians_equal_their_reference(
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
    np.testing.assert_array_equal(left, reference.score_gaussian_left_out(strided(x, how), *parts, theirs, 1))
    np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-11)


@given(seeds, sizes, class_counts, thread_counts)
def test_judged_scores_equal_their_reference(seed: int, n: int, n_classes: int, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(-3, 3, (n, n_classes)) + rng.choice([0, 1e-14, 1e-3], (n, n_classes))
    scores[rng.random(scores.shape) < 0.2] = -np.inf
    labels = codes(rng, n, n_classes)
    ours, theirs = kernels.judge(scores, labels, 1e-12, n_threads), reference.judge(scores, labels, 1e-12, 1)
    np.testing.assert_array_equal(ours[2], theirs[2])
    np.testing.assert_array_equal(ours[2], kernels.best_classes(scores, 1e-12, n_threads))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)
        assert a.dtype == b.dtype


@given(seeds, sizes, class_counts, st.sampled_from([0, 1, 2, 3, 4, 7, 13, 16, 30]), st.booleans(), thread_counts)
def test_the_loss_of_exponents_equals_its_reference(
    seed: int, n: int, n_classes: int, n_terms: int, weighted: bool, n_threads: int
) -> None:
    rng = np.random.default_rng(seed)
    factors = (rng.normal(size=(n, n_classes, n_terms)) * 10.0 ** rng.integers(-3, 3)).astype(np.float32)
    labels = rng.integers(0, n_classes, n).astype(np.uint32)
    args = factors, labels, rng.random(n) if weighted else None, rng.random(n_terms)
    ours, theirs = kernels.exponent_loss(*args, n_threads), reference.exponent_loss(*args, 1)
    size = np.abs(factors).sum() + 1
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-12, atol=1e-14 * size)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-12, atol=1e-14 * size)
    one = kernels.exponent_loss(*args, 1)
    assert (one[0], one[1].tobytes()) == (ours[0], ours[1].tobytes())


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
        return [scores, *kernels.normalize(scores, 1)]

    whole, shuffled = score(np.arange(n)), rng.permutation(n)
    for together, mixed in zip(whole, score(shuffled), strict=True):
        np.testing.assert_array_equal(together[shuffled], mixed)
    for row in range(n):
        for together, alone in zip(whole, score(np.array([row])), strict=True):
            np.testing.assert_array_equal(together[row], alone[0])

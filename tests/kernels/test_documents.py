"""Evidence of the words of documents left out, and the loss of their weights, against their NumPy reference."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import kernels

from . import reference
from .conftest import seeds


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
def test_left_out_evidence_and_its_loss_equal_their_reference(seed: int, n: int, n_words: int, n_classes: int) -> None:
    start, words, counts, mass, labels, class_mass = documents_by_words(seed, n, n_words, n_classes)
    rng = np.random.default_rng(seed)
    bands = rng.integers(0, 8, n_words).astype(np.uint8)
    for both in (False, True):
        given_ = (start, words, counts, mass, labels, class_mass, bands, 10.0 ** rng.uniform(-3, 1), both)
        ours = kernels.left_out_evidence(*given_, 1)
        np.testing.assert_allclose(ours, reference.left_out_evidence(*given_, 1), rtol=1e-9, atol=1e-9)
        assert np.array_equal(ours, kernels.left_out_evidence(*given_, 3))
        weights, bias = rng.normal(size=ours.shape[1]), rng.normal(size=n_classes)
        asked = (np.ascontiguousarray(ours), rng.random(n), rng.random(n), weights, bias, labels)
        for a, b in zip(kernels.softmax_loss(*asked, 1), reference.softmax_loss(*asked, 1), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
        for a, b in zip(kernels.softmax_loss(*asked, 1), kernels.softmax_loss(*asked, 3), strict=True):
            assert np.array_equal(a, b)


@settings(deadline=None)
@given(seeds, st.sampled_from([0, 1, 31, 70]), st.sampled_from([1, 5, 200]), st.sampled_from([1, 2, 3, 5, 9, 20]))
def test_left_out_scores_are_the_features_times_their_weights(seed: int, n: int, n_words: int, n_classes: int) -> None:
    start, words, counts, mass, labels, class_mass = documents_by_words(seed, n, n_words, n_classes)
    rng = np.random.default_rng(seed)
    mass = np.where(np.repeat(rng.random(n) < 0.3, np.diff(start)), 0.0, mass)  # some are not in the counts
    bands, weights = rng.integers(0, 8, n_words).astype(np.uint8), rng.normal(size=(2 if n_classes > 2 else 1, 9))
    given_ = (start, words, counts, mass, labels, class_mass, bands, weights, 10.0 ** rng.uniform(-1, 1))
    ours = kernels.left_out_scores(*given_, 1)
    np.testing.assert_allclose(ours, reference.left_out_scores(*given_, 1), rtol=1e-4, atol=1e-3)
    assert np.array_equal(ours, kernels.left_out_scores(*given_, 3))


def ridge_arguments(seed: int, n: int, n_classes: int) -> list[Any]:
    start, words, _, mass, labels, _ = documents_by_words(seed, n, 60, n_classes)
    rng = np.random.default_rng(seed)
    width = 1 if n_classes == 2 else -(-n_classes // 8) * 8
    offsets, costs = rng.normal(size=(n, width)).astype(np.float32), 60 * rng.random(n, np.float32) + np.float32(0.1)
    zeros = [np.zeros((rows, width), np.float32) for rows in (61, n)]
    return [start, words, mass.astype(np.float32), offsets, labels, costs, n_classes, np.arange(n), *zeros]


@settings(deadline=None, max_examples=25)
@given(seeds, st.sampled_from([0, 1, 2, 40]), st.sampled_from([2, 3, 5, 9]), st.sampled_from([0, 1, 4]))
def test_ridge_logistic_counts_its_rounds_and_keeps_its_start(seed: int, n: int, n_classes: int, rounds: int) -> None:
    given_ = ridge_arguments(seed, n, n_classes)
    table, dual, done = kernels.fit_ridge_logistic(*given_, seed, -1.0, rounds + 1)
    assert done == (rounds + 1 if n else 1)
    assert np.isfinite(table).all()
    assert np.isfinite(dual).all()
    assert not given_[-1].any()
    assert not given_[-2].any()


@settings(deadline=None, max_examples=25)
@given(seeds, st.sampled_from([1, 2, 40]), st.sampled_from([2, 3, 5, 9]))
def test_many_rounds_of_ridge_logistic_lower_the_loss(seed: int, n: int, n_classes: int) -> None:
    """Dual ascent may raise the primal loss in a round, but it ends below the start."""
    given_ = ridge_arguments(seed, n, n_classes)
    fitted = kernels.fit_ridge_logistic(*given_, seed, -1.0, 200)[0]
    losses = [reference.ridge_loss(table.astype(np.float64), *given_[:7]) for table in (given_[-2], fitted)]
    assert losses[1] <= losses[0] * (1 + 1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("cost", [0.0, 1e-45, 1e-39, 1e-30])
def test_a_document_of_hardly_any_cost_changes_nothing(n_classes: int, cost: float) -> None:
    given_ = ridge_arguments(5, 40, n_classes)
    given_[5][::4] = cost
    ours = kernels.fit_ridge_logistic(*given_, 1, -1.0, 4)
    assert np.isfinite(ours[0]).all()
    assert np.abs(ours[1][::4]).max() <= 1e-29


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ridge_logistic_finds_the_minimum_that_a_general_solver_finds(n_classes: int) -> None:
    from scipy.optimize import minimize

    given_ = ridge_arguments(3, 40, n_classes)
    start, words, values = given_[:3]
    x = np.zeros((40, 61))
    x[np.repeat(np.arange(40), np.diff(start)), words] = values
    x[:, 60] = 1
    fitted, dual, _ = kernels.fit_ridge_logistic(*given_, 1, 1e-6, 1000)
    np.testing.assert_allclose(x.T @ dual, fitted, atol=1e-3)
    columns = 1 if n_classes == 2 else n_classes

    def loss(flat: np.ndarray) -> float:
        return reference.ridge_loss(flat.reshape(61, columns), *given_[:7])

    best = minimize(loss, np.zeros(61 * columns), method="L-BFGS-B", options={"maxiter": 500, "maxfun": 10**6})
    assert loss(fitted[:, :columns].ravel().astype(np.float64)) <= best.fun * (1 + 1e-5)


def test_documents_that_do_not_fit_are_refused() -> None:
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
            kernels.left_out_evidence(*[bad if i == at else part for i, part in enumerate(whole)])
    given_ = ridge_arguments(1, 9, 3)
    bad_ridge = [
        (0, given_[0][::-1].copy()),
        (1, given_[1] + np.uint32(60)),
        (3, given_[3][1:]),
        (4, given_[4] + three),
    ]
    bad_ridge += [(6, 1), (7, given_[7] + 1), (8, given_[8][:0]), (9, given_[9][:, :1].copy())]
    for at, bad in bad_ridge:
        with pytest.raises(ValueError):
            kernels.fit_ridge_logistic(*[bad if i == at else part for i, part in enumerate(given_)], 1, 0.05, 3)
    features, ones = np.zeros((9, 2, 3)), np.ones(9)
    for scale, weights, bias, own in [
        (8, 2, 3, labels),
        (9, 1, 3, labels),
        (9, 2, 2, labels),
        (9, 2, 3, labels + three),
    ]:
        with pytest.raises(ValueError):
            kernels.softmax_loss(features, np.ones(scale), ones, np.ones(weights), np.ones(bias), own, 1)

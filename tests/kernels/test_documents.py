"""Evidence of the words of documents left out, and the loss of their weights, against their NumPy twins."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import kernels
from bayeskit.kernels import twins

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
def test_left_out_evidence_and_its_loss_equal_their_twins(seed: int, n: int, n_words: int, n_classes: int) -> None:
    start, words, counts, mass, labels, class_mass = documents_by_words(seed, n, n_words, n_classes)
    rng = np.random.default_rng(seed)
    bands = rng.integers(0, 8, n_words).astype(np.uint8)
    for both in (False, True):
        given_ = (start, words, counts, mass, labels, class_mass, bands, 10.0 ** rng.uniform(-3, 1), both)
        ours = kernels.left_out_evidence(*given_, 1)
        np.testing.assert_allclose(ours, twins.left_out_evidence(*given_, 1), rtol=1e-9, atol=1e-9)
        assert np.array_equal(ours, kernels.left_out_evidence(*given_, 3))
        weights, bias = rng.normal(size=ours.shape[1]), rng.normal(size=n_classes)
        asked = (np.ascontiguousarray(ours), rng.random(n), rng.random(n), weights, bias, labels)
        for a, b in zip(kernels.softmax_loss(*asked, 1), twins.softmax_loss(*asked, 1), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
        for a, b in zip(kernels.softmax_loss(*asked, 1), kernels.softmax_loss(*asked, 3), strict=True):
            assert np.array_equal(a, b)


@pytest.mark.parametrize("module", [kernels, twins])
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

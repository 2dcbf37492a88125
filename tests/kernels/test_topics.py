"""Drawing topics: the kernels against their twins, and against all assignments of a corpus of six words."""

from itertools import product
from math import lgamma

import numpy as np
import pytest
from hypothesis import given, settings

from bayeskit import kernels
from bayeskit.kernels import twins

from .arguments import good_arguments
from .conftest import same, seeds, thread_counts


@pytest.mark.slow
@settings(max_examples=60 if kernels.NATIVE else 5)
@given(seeds, thread_counts)
def test_sampled_topics_equal_their_twin_for_any_number_of_threads(seed: int, n_threads: int) -> None:
    arguments = good_arguments("sample_topics", seed) | {"n_threads": 1}
    ours = kernels.sample_topics(**arguments)
    same([ours], [kernels.sample_topics(**arguments | {"n_threads": n_threads})])
    same([ours], [twins.sample_topics(**arguments)])


@pytest.mark.slow
@settings(max_examples=15 if kernels.NATIVE else 3)
@given(seeds, thread_counts)
def test_documents_by_themselves_equal_their_twins(seed: int, n_threads: int) -> None:
    arguments = good_arguments("fold_in_topics", seed) | {"n_threads": n_threads}
    same([kernels.fold_in_topics(**arguments)], [twins.fold_in_topics(**arguments)])
    arguments = good_arguments("left_to_right", seed) | {"n_threads": n_threads}
    np.testing.assert_allclose(kernels.left_to_right(**arguments), twins.left_to_right(**arguments), rtol=1e-12)
    arguments = good_arguments("topic_histograms", seed)
    same(kernels.topic_histograms(**arguments), twins.topic_histograms(**arguments))


@pytest.mark.parametrize("n_words", [4, 40])
def test_lists_that_grow_full_become_rows_as_in_the_twin(n_words: int) -> None:
    rng = np.random.default_rng(n_words)
    words = (rng.integers(0, n_words, 900) * rng.random(900)).astype(np.uint32)
    topics = (rng.integers(0, 150, 900) * rng.random(900) ** 2).astype(np.uint16)  # some words have few topics yet
    arguments = (np.arange(0, 901, 90), words, topics, n_words, None, np.full(150, 2.0), 0.5, 3, 0, 2, 2, False, 1)
    same([kernels.sample_topics(*arguments)], [twins.sample_topics(*arguments)])


def _log_joint(words: np.ndarray, documents: np.ndarray, topics: tuple[int, ...]) -> float:
    """ln P(words, topics) under α = β = 1, two topics and three words."""
    total = 0.0
    for d in (0, 1):
        own = [sum(1 for i, k in enumerate(topics) if documents[i] == d and k == j) for j in (0, 1)]
        total += lgamma(2) - lgamma(2 + sum(own)) + sum(lgamma(1 + n) for n in own)
    for j in (0, 1):
        of = [sum(1 for i, k in enumerate(topics) if words[i] == w and k == j) for w in (0, 1, 2)]
        total += lgamma(3) - lgamma(3 + sum(of)) + sum(lgamma(1 + n) for n in of)
    return total


@pytest.mark.slow
@pytest.mark.skipif(not kernels.NATIVE, reason="many draws: the twin is compared draw by draw")
def test_one_document_in_flight_samples_the_exact_posterior_of_six_words() -> None:
    words, documents = np.array([0, 0, 1, 2, 2, 1], np.uint32), np.array([0, 0, 0, 1, 1, 1])
    weights = {z: np.exp(_log_joint(words, documents, z)) for z in product((0, 1), repeat=6)}
    whole = sum(weights.values())
    assert whole == pytest.approx(131 / 181440)
    exact = np.array([[sum(w for z, w in weights.items() if z[i] == z[j]) / whole for j in range(6)] for i in range(6)])
    topics, n = np.zeros(6, np.uint16), 40_000
    together = np.zeros((6, 6))
    for sweep in range(n):
        topics = kernels.sample_topics(
            np.array([0, 3, 6]), words, topics, 3, None, np.ones(2), 1.0, 1, sweep, 1, 1, True, 1
        )
        together += topics[:, None] == topics
    assert np.abs(together / n - exact).max() < 0.015  # about four standard errors of a chain of this length

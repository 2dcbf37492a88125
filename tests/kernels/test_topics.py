"""Samplers of topics against sums over all assignments of a few words."""

from itertools import product
from math import lgamma

import numpy as np
import pytest
from hypothesis import given, settings

from bayeskit import kernels

from . import reference
from .arguments import good_arguments
from .conftest import same, seeds, thread_counts


@settings(max_examples=30)
@given(seeds, thread_counts)
def test_any_number_of_threads_draws_the_same(seed: int, n_threads: int) -> None:
    for name in ("sample_topics", "fold_in_topics", "left_to_right"):
        arguments = good_arguments(name, seed) | {"n_threads": 1}
        kernel = getattr(kernels, name)
        same([kernel(**arguments)], [kernel(**arguments | {"n_threads": n_threads})])
    arguments = good_arguments("topic_histograms", seed)
    same(kernels.topic_histograms(**arguments), reference.topic_histograms(**arguments))


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


def partitions(n: int) -> list[tuple[int, ...]]:
    """Every way to divide n tokens among topics, up to their names: the topic of each."""
    found = [(0,)]
    for _ in range(n - 1):
        found = [(*one, k) for one in found for k in range(max(one) + 2)]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("n_topics", [100, 150])  # the rows of words are summed whole, and as lists
def test_many_topics_are_sampled_from_the_exact_posterior(n_topics: int) -> None:
    words, alpha, beta, n_words = np.array([0, 0, 1, 1, 0], np.uint32), 0.02, 0.1, 2
    exact, whole = np.zeros((5, 5)), 0.0
    for topics in partitions(5):
        n_used = max(topics) + 1
        log_p = lgamma(n_topics + 1) - lgamma(n_topics + 1 - n_used)
        for k in range(n_used):
            of = [sum(1 for i, topic in enumerate(topics) if topic == k and words[i] == w) for w in range(n_words)]
            log_p += lgamma(alpha + sum(of)) - lgamma(alpha)
            log_p += sum(lgamma(beta + n) - lgamma(beta) for n in of)
            log_p += lgamma(n_words * beta) - lgamma(n_words * beta + sum(of))
        exact += np.exp(log_p) * (np.array(topics)[:, None] == np.array(topics))
        whole += np.exp(log_p)
    topics, together, n = np.zeros(5, np.uint16), np.zeros((5, 5)), 40_000
    for sweep in range(n):
        topics = kernels.sample_topics(
            np.array([0, 5]), words, topics, 2, None, np.full(n_topics, alpha), beta, 1, sweep, 1, 1, True, 1
        )
        together += topics[:, None] == topics
    assert np.abs(together / n - exact / whole).max() < 0.02


def _given_topics() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    """Words, likelihood, α, the exact shares of three topics, and the exact ln P of a document."""
    words, alpha = np.array([0, 1, 1, 2], np.uint32), np.array([0.5, 1.0, 0.2])
    likelihood = np.zeros((3, 8), np.float32)
    likelihood[:, :3] = np.random.default_rng(0).dirichlet(np.ones(3), 3).T
    shares, total = np.zeros(3), 0.0
    for topics in product(range(3), repeat=4):
        n = np.bincount(topics, minlength=3)
        log_p = sum(lgamma(a + c) - lgamma(a) for a, c in zip(alpha, n, strict=True))
        log_p += lgamma(alpha.sum()) - lgamma(alpha.sum() + 4) + np.log(likelihood[words, list(topics)]).sum()
        shares += np.exp(log_p) * (n + alpha) / (4 + alpha.sum())
        total += np.exp(log_p)
    return words, likelihood, alpha, shares / total, float(np.log(total))


def test_the_shares_of_a_document_are_those_of_all_assignments() -> None:
    words, likelihood, alpha, exact, _ = _given_topics()
    found = np.mean(
        [kernels.fold_in_topics(np.array([0, 4]), words, likelihood, alpha, s, 1000, 10, 1)[0] for s in range(20)],
        axis=0,
    )
    np.testing.assert_allclose(found, exact, atol=0.01)


def test_the_probability_of_a_document_is_that_of_all_assignments() -> None:
    words, likelihood, alpha, _, exact = _given_topics()
    found = [kernels.left_to_right(np.array([0, 4]), words, likelihood, alpha, s, 1000, 1)[0] for s in range(10)]
    assert np.mean(found) == pytest.approx(exact, abs=0.01)

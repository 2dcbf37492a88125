"""Formulas around topics against others' and against sums by hand."""

from itertools import product
from math import lgamma, log

import numpy as np
import pytest
from scipy.special import psi

from bayeskit import TopicModel
from bayeskit.topics.corpus import Corpus, integers_below, random_stream
from bayeskit.topics.measures import TopicDistributions, word_scores
from bayeskit.topics.sampler import JointLikelihood, TopicCounts, count_word_topics, optimize_prior


def some_tokens(seed=0, n_topics=4, n_words=6):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 9, 30)
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    corpus = Corpus(start, rng.integers(0, n_words, start[-1]).astype(np.uint32), n_words)
    return corpus, rng.integers(0, n_topics, start[-1]).astype(np.uint16)


def by_document(corpus, topics, n_topics):
    table = np.zeros((len(corpus), n_topics), int)
    np.add.at(table, (corpus.documents, topics), 1)
    return table


def test_one_step_of_the_prior_is_minkas():
    corpus, topics = some_tokens()
    alpha = np.array([0.2, 1.0, 3.0, 0.05])
    n = by_document(corpus, topics, 4)
    above = (psi(n + alpha) - psi(alpha)).sum(axis=0)
    below_ = (psi(n.sum(axis=1) + alpha.sum()) - psi(alpha.sum())).sum()
    found = optimize_prior(alpha, TopicCounts.of(corpus.start, topics, 4), corpus.lengths, steps=1)
    np.testing.assert_allclose(found, alpha * above / below_, rtol=1e-10)


@pytest.mark.parametrize("seen_before", [False, True])
def test_the_joint_likelihood_is_that_of_gamma_functions(seen_before):
    corpus, topics = some_tokens(1)
    alpha, beta = np.array([0.2, 1.0, 3.0, 0.05]), 0.3
    base = np.arange(24, dtype=np.int32).reshape(6, 4) % 3 if seen_before else np.zeros((6, 4), np.int32)
    n, w = by_document(corpus, topics, 4), count_word_topics(corpus, topics, 4)
    a = alpha.sum()
    expected = sum(
        lgamma(a) - lgamma(a + row.sum()) + sum(lgamma(x + y) - lgamma(y) for x, y in zip(row, alpha, strict=True))
        for row in n
    )
    for k in range(4):
        b = base[:, k] + beta
        expected += lgamma(b.sum()) - lgamma(b.sum() + w[:, k].sum())
        expected += sum(lgamma(x + y) - lgamma(y) for x, y in zip(w[:, k], b, strict=True))
    found = JointLikelihood(corpus, beta, base if seen_before else None)(topics, alpha)
    assert found == pytest.approx(expected, rel=1e-10)


def test_coherence_is_the_mean_npmi_of_pairs_by_hand():
    texts = ["sun sea", "sun sea", "sun", "rain"]
    model = TopicModel(1, n_sweeps=2).fit(texts)
    assert model.top_words(2) == [["sun", "sea"]]
    expected = log((2 / 4) / (3 / 4 * 2 / 4)) / -log(2 / 4)
    assert model.coherence(texts, n=2)[0] == pytest.approx(expected)
    assert np.isnan(model.coherence(texts, n=1)[0])  # no pair
    together = {("sun", "sea"): expected, ("sun", "rain"): -1.0, ("sea", "rain"): -1.0}
    assert model.coherence(texts, n=3)[0] == pytest.approx(np.mean(list(together.values())))
    assert TopicModel(1, n_sweeps=2).fit(["a1 b1"] * 3).coherence(["a1 b1"] * 3)[0] == pytest.approx(1)


def test_relevance_is_between_probability_and_lift():
    table = np.array([[60, 20], [3, 0], [37, 80]], np.int32)
    believed = TopicDistributions(table, np.ones(2), 0.01)
    p = (table + 0.01) / (table.sum(axis=0) + 0.03)
    word = (table.sum(axis=1) + 0.02) / (table.sum() + 0.06)
    expected = (0.3 * np.log(p) + 0.7 * np.log(p / word[:, None])).T
    found = word_scores(believed, "relevance", 0.3)
    np.testing.assert_allclose(found[table.T > 0], expected[table.T > 0], rtol=1e-6)
    assert found[1, 1] == -np.inf  # the word that it never had


def test_first_topics_are_spread_evenly():
    drawn = integers_below(7, random_stream(3, 70_000))
    counts = np.bincount(drawn, minlength=7)
    assert (drawn < 7).all()
    assert np.abs(counts - 10_000).max() < 500


def test_halves_of_a_document_do_not_depend_on_others():
    corpus, _ = some_tokens()
    first, second = corpus.halves()
    assert first.n_tokens + second.n_tokens == corpus.n_tokens
    own, _ = corpus.take(np.array([7])).halves()
    np.testing.assert_array_equal(own.words, first.take(np.array([7])).words)


def test_documents_of_the_same_words_are_known_by_their_contents():
    corpus = Corpus(np.array([0, 2, 4, 4, 6, 6]), np.array([0, 1, 0, 1, 0, 0], np.uint32), 2)
    a, b, nothing, c, none = corpus.hash_documents().tolist()
    assert a == b
    assert nothing == none == 0
    assert len({a, c, nothing}) == 3


def test_all_assignments_of_six_words_sum_to_the_probability_of_the_words():
    corpus = Corpus(np.array([0, 3, 6]), np.array([0, 0, 1, 1, 2, 2], np.uint32), 3)
    joint = JointLikelihood(corpus, 1.0)
    whole = sum(np.exp(joint(np.array(z, np.uint16), np.ones(2))) for z in product((0, 1), repeat=6))
    assert whole == pytest.approx(131 / 181440)

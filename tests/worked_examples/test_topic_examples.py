"""Worked example 33: two documents of three words each, two topics; shares by all 64 assignments."""

import numpy as np
import pytest

from bayeskit import TopicModel

DOCUMENTS = np.array([[2, 1, 0], [0, 1, 2]])  # a a b and c c b


@pytest.mark.slow
def test_33_the_sampler_approaches_the_exact_posterior_of_six_words():
    together = np.zeros((6, 6))
    n = 2_500
    for seed in range(n):
        model = TopicModel(2, n_sweeps=15, alpha=1.0, beta=1.0, random_state=seed, keep_assignments=True, n_threads=1)
        topics = model.fit(DOCUMENTS).kept_documents().topics  # of a a b, b c c
        together += topics[:, None] == topics
    together /= n
    found = together[0, 1], together[0, 2], together[2, 3], together[0, 4]
    assert found == pytest.approx((503 / 655, 0.629008, 0.561323, 0.368957), abs=0.04)  # four standard errors

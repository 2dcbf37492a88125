"""Log space against SciPy and against exact fractions."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import special

from bayeskit import kernels, logspace

scores = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.floats(-1e4, 1e4))


@given(scores, st.sampled_from([0, 1, -1]))
def test_log_sum_exp_is_scipys(a, axis):
    np.testing.assert_allclose(logspace.log_sum_exp(a, axis), special.logsumexp(a, axis=axis), rtol=1e-13, atol=1e-14)


def test_zero_probability_is_minus_infinity_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert logspace.log(0) == -np.inf
        assert logspace.log_sum_exp([-np.inf, -np.inf]) == -np.inf
        assert logspace.log_sum_exp([]) == -np.inf
        log_posterior, log_evidence = logspace.log_normalize(np.array([[-np.inf, -np.inf], [-np.inf, 3.0]]))
    np.testing.assert_array_equal(log_posterior, [[np.nan, np.nan], [-np.inf, 0.0]])
    np.testing.assert_array_equal(log_evidence, [-np.inf, 3.0])


def test_infinite_and_missing_scores_are_not_hidden():
    assert logspace.log_sum_exp([np.inf, 0.0]) == np.inf
    assert np.isnan(logspace.log_sum_exp([np.nan, 0.0]))


@given(scores)
def test_normalize_gives_probabilities_and_the_evidence(a):
    probabilities, evidence = logspace.normalize(a)
    np.testing.assert_allclose(probabilities, special.softmax(a, axis=1), rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(evidence, special.logsumexp(a, axis=1), rtol=1e-13, atol=1e-14)
    log_probabilities, log_evidence = logspace.log_normalize(a)
    np.testing.assert_allclose(np.exp(log_probabilities), probabilities, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(log_evidence, evidence, rtol=1e-13, atol=1e-14)


def test_a_row_impossible_under_every_class_has_no_posterior():
    probabilities, evidence = logspace.normalize(np.array([[-np.inf, -np.inf], [-np.inf, -5.0]]))
    np.testing.assert_array_equal(probabilities, [[np.nan, np.nan], [0.0, 1.0]])
    np.testing.assert_array_equal(evidence, [-np.inf, -5.0])


def test_two_thousand_flips_underflow_as_a_product_and_not_here():
    fair, loaded = 2000 * logspace.log(0.5), 1000 * logspace.log(0.4) + 1000 * logspace.log(0.6)
    assert np.exp(fair) == 0.0
    probabilities, _ = logspace.normalize(np.array([[fair, loaded]]))
    odds = (Fraction(6, 10) * Fraction(4, 10) / Fraction(1, 4)) ** 1000
    assert probabilities[0, 1] == pytest.approx(float(odds / (1 + odds)), rel=1e-9)


@given(scores, st.sampled_from([0.0, -4e9, 1e12]))
def test_log_posteriors_lose_nothing_to_scores_far_from_zero(a, away):
    a = a + away
    log_probabilities, _ = logspace.log_normalize(a)
    np.testing.assert_allclose(np.exp(log_probabilities).sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp(log_probabilities), logspace.normalize(a)[0], rtol=1e-11, atol=1e-300)
    labels = np.arange(len(a)) % a.shape[1]
    own = np.arange(len(a)), labels
    np.testing.assert_array_equal(logspace.log_posterior_of(a, labels), log_probabilities[own])
    log_true = kernels.judge(a, labels.astype(np.uint8), logspace.TIE, 1)[3]
    np.testing.assert_allclose(log_true, log_probabilities[own], rtol=1e-13, atol=1e-13)

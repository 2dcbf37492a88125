"""Worked examples 3, 35 and 37 against fractions and closed forms: a likelihood, evidence, three bells."""

from fractions import Fraction
from math import factorial, log, prod

import numpy as np
import pytest
from scipy.stats import norm

import bayeskit as bk
from bayeskit.datasets import load_worked_example


def test_3_the_likelihood_of_seven_heads_is_highest_at_their_share():
    coin = bk.BetaBernoulli().update({True: 7, False: 3})
    ratio = Fraction(7**7 * 3**3 * 2**10, 10**10)
    assert float(ratio) == pytest.approx(2.276932, abs=5e-7)
    assert coin.log_likelihood(0.7) - coin.log_likelihood(0.5) == pytest.approx(log(ratio), rel=1e-12)
    assert coin.likelihood_ratio(0.7, 0.5) == pytest.approx(float(ratio), rel=1e-12)
    grid = np.linspace(0.001, 0.999, 999)
    assert grid[np.argmax(coin.log_likelihood(grid))] == pytest.approx(0.7)
    assert coin.likelihood().maximum == coin.mle == 0.7


def averaged(counts):
    """P(these values in this order) under a uniform Dirichlet prior, as a fraction."""
    n, m = sum(counts), len(counts)
    return Fraction(factorial(m - 1) * prod(map(factorial, counts)), factorial(n + m - 1))


def test_35_the_evidence_that_a_column_depends_on_the_class():
    days = load_worked_example("tennis").to_pandas()
    expected = {"outlook": 0.732368, "temperature": -0.548566, "humidity": 0.714349, "wind": -0.112329}
    total = averaged(days["play"].value_counts().tolist())
    for column, figure in expected.items():
        table = days.groupby(["play", column]).size().unstack(fill_value=0)
        apart = prod(averaged(row) for row in table.to_numpy().tolist())
        total *= apart
        exact = log(apart / averaged(table.sum().tolist()))
        assert exact == pytest.approx(figure, abs=5e-7)
        belief = bk.DirichletCategorical(dict.fromkeys(table.columns, 1))
        ours = sum(belief.update(row.to_dict()).log_marginal_likelihood for _, row in table.iterrows())
        ours -= belief.update(table.sum().to_dict()).log_marginal_likelihood
        assert ours == pytest.approx(exact, rel=1e-12)
    assert log(total) == pytest.approx(-65.357526, abs=5e-7)
    model = bk.NaiveBayes().fit(days, "play")
    assert model.log_marginal_likelihood() == pytest.approx(log(total), rel=1e-12)


def test_37_three_bells_have_two_boundaries_and_a_mistake_in_closed_form():
    x = [-3.0, -1.0, *[-1.0, 1.0] * 2, 1.0, 3.0]  # means −2, 0 and 2, variance 1, priors ¼, ½ and ¼
    bells = bk.NaiveBayes(ddof=0).fit({"x": x}, ["low"] * 2 + ["middle"] * 4 + ["high"] * 2)
    boundary = 1 + log(2) / 2
    mistake = norm.cdf(boundary - 2) / 2 + norm.sf(boundary)
    assert (boundary, mistake) == pytest.approx((1.346574, 0.217429), abs=5e-7)
    record = bells.densities("x")
    assert record.boundaries == pytest.approx([-boundary, boundary], rel=1e-9)
    assert record.mistake == pytest.approx(mistake, abs=2e-6)

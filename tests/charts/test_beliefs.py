"""Beliefs are drawn as the densities that they are; the likelihood as a share of its maximum."""

import numpy as np
import pytest

import bayeskit as bk
from tests.charts.drawn import check, head_of, rows_of


def test_seven_heads_of_ten_are_most_likely_with_seven_tenths():
    coin = bk.BetaBernoulli().update({True: 7, False: 3})  # worked example 3
    curve = coin.likelihood()
    assert curve.maximum == 0.7
    assert curve.line[np.argmax(curve.log_likelihood)] == pytest.approx(0.7)
    assert np.exp(coin.log_likelihood(0.7) - coin.log_likelihood(0.5)) == pytest.approx(2.276932, abs=1e-6)
    assert coin.log_likelihood(0.7) == pytest.approx(7 * np.log(0.7) + 3 * np.log(0.3))
    assert bk.BetaBernoulli().update([True]).log_likelihood(1.0) == 0.0
    with pytest.raises(bk.BayesError, match="nothing was seen"):
        bk.BetaBernoulli().likelihood()


def test_the_curves_of_a_coin_are_its_densities_each_of_area_one():
    coin = bk.BetaBernoulli(2, 3).update({True: 7, False: 3})
    curves = dict(coin.curves().curves)
    line = coin.curves().line
    assert list(curves) == ["prior", "likelihood", "posterior"]
    assert curves["posterior"] == pytest.approx(coin.density(line))
    for density in curves.values():
        assert ((density[1:] + density[:-1]) / 2 * np.diff(line)).sum() == pytest.approx(1, abs=2e-3)
    product = curves["prior"] * curves["likelihood"]
    assert curves["posterior"] / curves["posterior"].max() == pytest.approx(product / product.max())


def test_beliefs_in_turn_are_a_list_that_knows_where_it_began():
    coin = bk.BetaBernoulli()
    steps = coin.sequence([True] * 40)
    assert steps.before == coin
    assert steps[:2] == [coin.update([True]), coin.update([True] * 2)]
    names = [name for name, _ in steps.curves().curves]
    assert names[0] == "before"
    assert names[-1] == "after 40"
    assert len(names) <= 6


@pytest.mark.slow
def test_all_beliefs_have_their_picture(tmp_path):
    rng = np.random.default_rng(0)
    coin = bk.BetaBernoulli(2, 2).update({True: 7, False: 3})
    assert "10 outcomes" in head_of(check(coin.chart(), tmp_path))
    check(bk.BetaBernoulli(0.5, 0.5).chart(), tmp_path)
    assert "maximum at 0.7" in head_of(check(coin.likelihood().chart(), tmp_path))
    check(bk.BetaBernoulli().sequence(rng.random(1000) < 0.7).chart(), tmp_path)
    bell = bk.NormalInverseGamma(0, 1, 1, 1)
    check(bell.chart(), tmp_path)
    check(bell.update(rng.normal(3, 1, 20)).chart(), tmp_path)
    check(bell.update([2.0, 2.0]).chart(), tmp_path)
    check(bell.update(rng.normal(3, 1, 20)).likelihood().chart(), tmp_path)
    check(bell.sequence(rng.normal(3, 1, 20)).chart(), tmp_path)
    die = bk.DirichletCategorical(dict.fromkeys(range(1, 7), 2)).update([6, 6, 3])
    drawn = {row["name"]: row["mean"] for row in rows_of(check(die.chart(), tmp_path))}
    assert drawn["6"] == pytest.approx(die.mean[6], abs=1e-4)
    check(die.sequence([1, 2]).chart(), tmp_path)
    many = bk.DirichletCategorical(dict.fromkeys(range(300), 1))
    assert "260 less probable values are not drawn" in head_of(check(many.chart(), tmp_path))

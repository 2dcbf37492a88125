"""Worked examples 1 and 34 without stand-ins, and 3, 35, 37 and 39, through the public interface."""

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.datasets import load_worked_example


def test_1_the_joint_of_hypothesis_and_evidence():
    once = bk.Hypotheses({"cancer": 0.008, "healthy": 0.992}).update({"cancer": 0.98, "healthy": 0.03})
    assert once.joint == pytest.approx({"cancer": 0.00784, "healthy": 0.02976}, rel=1e-12)


def test_34_three_hypotheses_vote_and_one_is_drawn():
    three = bk.Hypotheses({"h1": 0.4, "h2": 0.3, "h3": 0.3})
    votes = {"h1": {"+": 1, "-": 0}, "h2": {"+": 0, "-": 1}, "h3": {"+": 0, "-": 1}}
    assert votes[three.map]["+"] == 1
    assert three.predict(votes) == pytest.approx({"-": 0.6, "+": 0.4})
    assert three.gibbs(votes, 20_000, random_state=0).count("+") / 20_000 == pytest.approx(0.4, abs=0.01)


def test_37_three_normals_have_two_boundaries():
    half = np.sqrt(0.5)  # two numbers at ± half have variance one
    x = [mean + side * half for mean in (-2, 0, 2) for side in (-1, 1)]
    model = bk.NaiveBayes(prior={"left": 0.25, "middle": 0.5, "right": 0.25})
    found = bk.mistake_probability(model.fit({"x": x}, ["left", "left", "middle", "middle", "right", "right"]))
    assert [region[2] for region in found.regions] == ["left", "middle", "right"]
    assert [region[1] for region in found.regions[:2]] == pytest.approx([-1.346574, 1.346574], abs=5e-7)
    assert found.probability == pytest.approx(0.217429, abs=5e-7)
    assert found.correct == pytest.approx(1 - 0.217429, abs=5e-7)


def test_35_the_evidence_of_a_table_has_a_closed_form():
    model = bk.NaiveBayes(smoothing=bk.Laplace(), prior=bk.Laplace()).fit(load_worked_example("tennis"), "play")
    assert model.log_marginal_likelihood() == pytest.approx(-65.357526, abs=5e-7)
    factors = {"outlook": 0.732368, "temperature": -0.548566, "humidity": 0.714349, "wind": -0.112329}
    for name, expected in factors.items():
        table = model.table(name)
        prior = bk.DirichletCategorical(dict.fromkeys(table[name], 1))
        apart = [prior.update(dict(zip(table[name], table[f"count | {c}"], strict=True))) for c in ("no", "yes")]
        together = apart[0].merge(apart[1])
        factor = sum(belief.log_marginal_likelihood for belief in apart) - together.log_marginal_likelihood
        assert factor == pytest.approx(expected, abs=5e-7)


def test_3_the_likelihood_of_a_coin_is_a_curve():
    coin = bk.BetaBernoulli().update({True: 7, False: 3})
    assert coin.likelihood_ratio(0.7, 0.5) == pytest.approx(2.276932, abs=5e-7)
    assert coin.log_likelihood(0.7) - coin.log_likelihood(0.5) == pytest.approx(0.822829, abs=5e-7)
    curve = coin.likelihood()
    assert curve.maximum == 0.7
    assert curve.line[np.argmax(curve.log_likelihood)] == pytest.approx(0.7, abs=0.005)
    assert curve.relative.max() == pytest.approx(1)
    assert "0.7" in str(curve.chart().to_dict())


def test_39_precision_and_recall_meet():
    truth = [1, 1, 0, 1, 0, 0, 1, 0]
    curve = bk.precision_recall_curve(truth, np.linspace(0.9, 0.1, 8))
    assert curve.break_even == pytest.approx(0.75)
    assert (curve.precision[4], curve.recall[4]) == pytest.approx((0.75, 0.75))

"""Probabilities of one row by the names of the classes."""

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.datasets import load_worked_example


def test_probabilities_have_names_and_are_those_of_predict_proba():
    days = load_worked_example("tennis")
    day = {"outlook": "sunny", "temperature": "cool", "humidity": "high", "wind": "strong"}
    for model in (bk.NaiveBayes(smoothing=0), bk.TAN(), bk.FullJointBayes(smoothing=1)):
        model.fit(days, "play")
        assert model.probabilities(day) == dict(zip(["no", "yes"], model.predict_proba(day)[0], strict=True))
        joint = model.probabilities(day, joint=True)
        assert list(joint.values()) == pytest.approx(np.exp(model.predict_joint_log_proba(day)[0]))
    assert bk.NaiveBayes(smoothing=0).fit(days, "play").probabilities(day)["no"] == pytest.approx(0.795417, abs=1e-6)
    texts = load_worked_example("sports")
    mail = bk.TextClassifier("multinomial", pattern="words1").fit(texts["text"], texts["tag"])
    assert mail.probabilities(["A very close game"], joint=True)["sports"] == pytest.approx(54 / 1953125)


def test_probabilities_are_of_one_row():
    days = load_worked_example("tennis")
    with pytest.raises(bk.BayesError, match="there are 14: pass one of them"):
        bk.NaiveBayes().fit(days, "play").probabilities(days)

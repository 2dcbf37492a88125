"""Worked examples 7, 8 and 29: the full joint, and what columns say only together."""

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.datasets import load_worked_example


def test_7_and_8_the_full_joint_decides_one_row_and_says_that_it_cannot_decide_another():
    model = bk.FullJointBayes().fit(load_worked_example("abc"), "C")
    found = dict(zip(model.classes_, np.exp(model.predict_joint_log_proba({"A": "g", "B": "q"})[0]), strict=True))
    assert found == pytest.approx({"t": 1 / 5, "f": 1 / 10}, rel=1e-12)
    assert model.predict({"A": "g", "B": "q"}).tolist() == ["t"]
    assert np.isneginf(model.predict_joint_log_proba({"A": "m", "B": "q"})).all()
    with pytest.warns(bk.UndecidableWarning, match="row 0"):
        assert model.predict_proba({"A": "m", "B": "q"}).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize(
    "model", [bk.TAN(), bk.AODE(), bk.KDB(1), bk.FullJointBayes(), bk.TAN(smoothing=1.0), bk.AODE(smoothing=0)]
)
def test_29_two_bits_decide_together_what_neither_says_alone(model):
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    y = X[:, 0] ^ X[:, 1]
    assert model.set_params(roles="categorical").fit(X, y).score(X, y) == 1.0
    assert bk.NaiveBayes(roles="categorical").fit(X, y).score(X, y) == 0.5


def test_29_the_parity_of_five_bits_needs_four_parents():
    X = np.repeat((np.arange(32)[:, None] >> np.arange(5)) & 1, 3, axis=0)
    y = X.sum(axis=1) % 2
    for model in (bk.KDB(4), bk.FullJointBayes()):
        assert model.set_params(roles="categorical").fit(X, y).score(X, y) == 1.0
    for model in (bk.NaiveBayes(), bk.TAN(), bk.AODE(), bk.KDB(3)):
        assert model.set_params(roles="categorical").fit(X, y).score(X, y) == 0.5

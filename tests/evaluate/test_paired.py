"""Two models on the same rows: differences beside those computed by hand."""

import numpy as np
import pytest
from scipy.stats import binomtest

import bayeskit as bk
from bayeskit.datasets import load_penguins
from bayeskit.evaluate.paired import compare_evaluations

BIRDS = load_penguins().select(["island", "sex", "body_mass_g", "species"])
EVEN = BIRDS.filter([i % 2 == 0 for i in range(BIRDS.num_rows)])
ODD = BIRDS.filter([i % 2 == 1 for i in range(BIRDS.num_rows)])


def test_figures_are_those_of_the_rows():
    few, more = bk.NaiveBayes().fit(EVEN.select(["sex", "species"]), "species"), bk.NaiveBayes().fit(EVEN, "species")
    found = compare_evaluations(few.evaluate(ODD, "species"), more.evaluate(ODD, "species"))
    truth, X = np.array(ODD["species"].to_pylist()), ODD.drop_columns(["species"])
    code = np.searchsorted(more.classes_, truth)
    losses = [-np.log(m.predict_proba(X)[np.arange(len(truth)), code]) for m in (few, more)]
    gain = losses[1] - losses[0]
    assert found.log_loss_difference == pytest.approx(gain.mean(), abs=1e-12)
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * gain.std(ddof=1) / len(gain) ** 0.5)
    said = [np.asarray(m.predict(X)) for m in (few, more)]
    right = [one == truth for one in said]
    only = int((right[0] & ~right[1]).sum()), int((right[1] & ~right[0]).sum())
    assert (found.only_first, found.only_second, found.changed) == (*only, int((said[0] != said[1]).sum()))
    assert found.p_value == pytest.approx(binomtest(only[0], sum(only)).pvalue)
    assert found.sentence == "The second model has the lower log loss."


def test_models_with_different_classes():
    two = EVEN.filter([s != "Gentoo" for s in EVEN["species"].to_pylist()])
    old, new = bk.NaiveBayes().fit(two, "species"), bk.NaiveBayes().fit(EVEN, "species")
    found = compare_evaluations(old.evaluate(ODD, "species"), new.evaluate(ODD, "species"))
    assert found.only_second > 0
    assert found.log_loss_difference < 0


def test_other_rows_are_refused():
    model = bk.NaiveBayes().fit(EVEN, "species")
    with pytest.raises(bk.BayesError, match="different rows"):
        compare_evaluations(model.evaluate(ODD, "species"), model.evaluate(ODD.slice(1), "species"))

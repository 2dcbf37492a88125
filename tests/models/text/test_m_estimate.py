"""The m-estimate of words, m pseudo-counts shared out over the vocabulary, and how many parameters words have."""

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.datasets import load_worked_example

SPORTS = load_worked_example("sports")


def test_m_pseudo_counts_are_shared_out_evenly():
    model = bk.TextClassifier("multinomial", bk.MEstimate(14), pattern="words1").fit(SPORTS["text"], SPORTS["tag"])
    laplace = bk.TextClassifier("multinomial", pattern="words1").fit(SPORTS["text"], SPORTS["tag"])  # 14 words
    texts = ["A very close game"]
    np.testing.assert_allclose(model.predict_joint_log_proba(texts), laplace.predict_joint_log_proba(texts))
    left = model.leave_one_out(SPORTS["text"], SPORTS["tag"])
    assert left.log_loss == pytest.approx(laplace.leave_one_out(SPORTS["text"], SPORTS["tag"]).log_loss)


def test_a_prior_over_the_words_is_taken_and_one_from_the_counts_refused():
    words = {"a": 0.5, "b": 0.5}
    model = bk.TextClassifier("multinomial", bk.MEstimate(2, words), pattern="words1").fit(["a a", "b"], [0, 1])
    assert np.exp(model.document_log_likelihood(["b"]))[0].tolist() == pytest.approx([0.25, 2 / 3])
    with pytest.raises(bk.BayesError, match="is not a rule for words"):
        bk.TextClassifier("multinomial", bk.MEstimate(2, "marginal")).fit(["a b", "c d"], [0, 1])


def test_free_parameters_of_words():
    for recipe, of_words in (("multinomial", 13), ("set_of_words", 14)):
        model = bk.TextClassifier(recipe, pattern="words1").fit(SPORTS["text"], SPORTS["tag"])
        assert model.n_parameters_ == 1 + 2 * of_words
    with pytest.raises(AttributeError, match="complement"):
        _ = bk.TextClassifier("complement").fit(SPORTS["text"], SPORTS["tag"]).n_parameters_
    assert not hasattr(bk.TextClassifier("multinomial"), "n_parameters_")

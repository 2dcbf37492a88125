"""Settings and documents that mean nothing are refused with their culprit, or have an answer that is defined."""

import warnings

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.errors import BayesError, BayesWarning

TEXTS, LABELS = ["sun and sea", "calm sea", "rain and wind", "storm wind"], ["a", "a", "b", "b"]
RECIPES = ("best", "weighted", "multinomial", "tfidf", "nbsvm")


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_df": "x"}, r"min_df='x': give a number of documents"),
        ({"min_df": -1}, r"min_df=-1: give a number of documents"),
        ({"min_df": 1.5}, r"min_df=1.5: give a number of documents"),
        ({"max_df": True}, r"max_df=True: give a number of documents"),
        ({"max_features": 0}, r"max_features=0: give a whole number from 1 on, or None"),
        ({"max_features": 2.5}, r"max_features=2.5: give a whole number"),
        ({"min_df": 100}, r"After pruning, no terms remain: lower min_df or raise max_df"),
        ({"pattern": ""}, r"pattern='' matches no character"),
        ({"pattern": lambda text: [1, 2]}, r"pattern= gives 1, an int, for 'sun and sea': tokens are strings"),
        ({"pattern": lambda text: None}, r"pattern= gives None, a NoneType, for 'sun and sea': tokens are strings"),
    ],
)
def test_settings_that_mean_nothing_are_refused(recipe, settings, message):
    with pytest.raises(BayesError, match=message):
        bk.TextClassifier(recipe, **settings).fit(TEXTS, LABELS)


@pytest.mark.parametrize("recipe", ["best", "weighted", "fast", "auto"])
@pytest.mark.parametrize("smoothing", [float("nan"), float("inf"), 0, -1, "auto", True])
def test_smoothing_of_weighted_evidence_is_one_finite_number(recipe, smoothing):
    with pytest.raises(BayesError, match=r"smoothing=.*: weighted evidence takes one number over 0, or None"):
        bk.TextClassifier(recipe, smoothing=smoothing).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": 0}, r"C=0: give a number over 0"),
        ({"C": "1"}, r"C='1': give a number over 0"),
        ({"C": float("inf")}, r"C=inf: give a number over 0"),
        ({"beta": 1.5}, r"beta=1.5: give a number from 0 to 1"),
        ({"beta": None}, r"beta=None: give a number from 0 to 1"),
    ],
)
def test_numbers_of_nbsvm_are_checked(settings, message):
    with pytest.raises(BayesError, match=message):
        bk.TextClassifier("nbsvm", **settings).fit(TEXTS, LABELS)
    assert bk.TextClassifier("nbsvm", C=np.float32(0.5), beta=0).fit(TEXTS, LABELS).predict(["sea"]).tolist() == ["a"]


@pytest.mark.parametrize("kind", [set, frozenset])
def test_documents_without_an_order_have_no_labels(kind):
    with pytest.raises(BayesError, match=r"has no order, so that no label belongs to a document: pass a list"):
        bk.TextClassifier("multinomial").fit(kind(TEXTS), LABELS)


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["sun", "sea"], ["a", "b"]),
        (["sun", "sea", "fog"], ["a", "b", "c"]),
        (["x" * 10_000, "sun", "sea"], ["a", "b", "b"]),
    ],
)
def test_the_only_document_of_a_class_does_not_speak_against_it(texts, labels):
    model = bk.TextClassifier("best").fit(texts, labels)
    assert min(model.linear_.shares) >= 0
    prior = [labels.count(label) / len(labels) for label in labels]
    own = model.predict_proba(texts)[np.arange(len(texts)), np.searchsorted(model.classes_, labels)]
    assert (own >= np.array(prior) - 1e-6).all()


@pytest.mark.parametrize("recipe", ["weighted", "fast", "multinomial", "set_of_words", "complement", "tfidf", "twcnb"])
def test_a_model_without_any_word_says_so(recipe):
    with pytest.warns(BayesWarning, match=r"no document has a word by pattern=\"words\".*every answer is the prior"):
        model = bk.TextClassifier(recipe, pattern="words").fit(["😀 😀", "😡"], ["a", "b"])
    np.testing.assert_allclose(model.predict_proba(["😀", "sun"]), 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bk.TextClassifier(recipe).fit(["😀 😀", "😡"], ["a", "b"])

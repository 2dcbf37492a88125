"""Text models that are sums over words are linear boundaries: an intercept and a weight for each word."""

import numpy as np
import pytest

import bayeskit as bk

RNG = np.random.default_rng(0)
WORDS = np.array([f"w{i}" for i in range(40)])
TEXTS = [" ".join(RNG.choice(WORDS, RNG.integers(1, 20))) for _ in range(120)]
NEW = [*(" ".join(RNG.choice(WORDS, 12)) for _ in range(30)), "", "never seen", "w1 w1 w1 unknown"]
LINEAR = ("multinomial", "set_of_words", "complement", "wcnb", "wnb")


def fitted(recipe, n_classes, **settings):
    return bk.TextClassifier(recipe, **settings).fit(TEXTS, [f"c{i % n_classes}" for i in range(120)])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("recipe", LINEAR)
def test_the_form_has_the_log_odds_of_the_model(recipe, n_classes):
    model = fitted(recipe, n_classes)
    form = model.to_logistic()
    np.testing.assert_allclose(form.log_odds(NEW), model.decision_function(NEW), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(form.predict_proba(NEW), model.predict_proba(NEW), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("recipe", LINEAR)
def test_intercept_and_weights_are_the_boundary_over_counts(recipe, n_classes):
    model = fitted(recipe, n_classes)
    form = model.to_logistic()
    counter = bk.TokenCounter(vocabulary=form.features, binary=recipe == "set_of_words")
    z = form.intercept + counter.transform(NEW) @ form.weights.T
    odds = model.decision_function(NEW)
    np.testing.assert_allclose(z[:, 0] if n_classes == 2 else z, odds, rtol=1e-12, atol=1e-12)
    assert form.features == model.words_.tolist()
    assert len(form.table()) == 1 + len(model.words_)


@pytest.mark.parametrize("recipe", ["auto", "best", "fast", "weighted", "tfidf", "twcnb"])
def test_other_recipes_have_none_and_say_why(recipe):
    model = bk.TextClassifier(recipe)
    assert not hasattr(model, "to_logistic")
    with pytest.raises(AttributeError, match="depends on the other words"):
        _ = model.to_logistic


def test_a_probability_of_zero_has_no_weight():
    for recipe in ("multinomial", "set_of_words"):
        model = bk.TextClassifier(recipe, smoothing=0).fit(["sun sea", "fog sun", "fog", "sea"], [*"aabb"])
        with pytest.raises(bk.BayesError, match="Smooth the estimates"):
            model.to_logistic()


def test_texts_beside_columns_have_a_form_too():
    data = {"body": TEXTS, "sky": [*"uvw"] * 40, "x": RNG.normal(size=120)}
    labels = [*"pq"] * 60
    for variance, temperature in (("feature", 1.0), ("all", 2.0)):
        model = bk.NaiveBayes(roles={"body": "text"}, variance=variance, temperature=temperature).fit(data, labels)
        form = model.to_logistic()
        np.testing.assert_allclose(form.predict_proba(data), model.predict_proba(data), rtol=0, atol=1e-12)
    assert form.features[:2] == ["x", "sky=u"]
    assert "body=w1" in form.features
    assert {term.name for term in form.scoring_form("class").terms} == {"body", "sky", "x"}


def test_the_form_prints_as_its_weights():
    form = bk.TextClassifier("multinomial").fit(["fine day", "grey day"], ["a", "b"]).to_logistic()
    assert str(form).splitlines()[:2] == [
        "ln P(b) / P(a) is the intercept and the weights of what a row has",
        "feature      log odds of b",
    ]
    assert "fine" in repr(form)
    assert "<table>" in form._repr_html_()

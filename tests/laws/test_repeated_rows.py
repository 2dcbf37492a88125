"""A row that is repeated k times is a row of weight k, and an ensemble is judged without the copies of a row."""

import inspect

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

import bayeskit as bk

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
lawful = settings.get_profile("laws")


@lawful
@given(data=st.data(), k=st.integers(2, 4))
def test_rows_repeated_k_times_are_rows_of_weight_k(law, data, k):
    rows = law.rows(data, min_size=2)
    weights = [row["weight"] if law.weighted else 1.0 for row in rows]
    X, y = law.frame(rows), [row["label"] for row in rows]
    repeated = law.model().fit(law.frame(rows * k), y * k, sample_weight=weights * k if law.weighted else None)
    weighted = law.model().fit(X, y, sample_weight=np.multiply(weights, k))
    np.testing.assert_allclose(repeated.predict_log_proba(X), weighted.predict_log_proba(X), rtol=1e-9, atol=1e-9)


@lawful
@given(data=st.data(), k=st.sampled_from([2, 1024]))
def test_an_ensemble_of_all_rows_k_times_or_of_weight_k_is_that_of_the_rows(ensemble_law, data, k):
    drawn = ensemble_law.rows(data, min_size=4)
    # Rows that naive Bayes does not expect twice.
    rows = [drawn[i % len(drawn)] | {"size": i + 0.5, "year": 2000 + i, "label": "ab"[i % 2]} for i in range(60)]
    weights = np.array([row["weight"] if ensemble_law.weighted else 1.0 for row in rows])
    X, y = ensemble_law.frame(rows), [row["label"] for row in rows]
    once = ensemble_law.fit(rows)
    weighted = ensemble_law.model().fit(X, y, sample_weight=weights * k)
    assert np.array_equal(weighted.predict_log_proba(X), once.predict_log_proba(X))  # k is a power of two
    if not ensemble_law.weighted and k == 2:
        repeated = ensemble_law.model().fit(ensemble_law.frame(rows * k), y * k)
        assert np.array_equal(repeated.predict_log_proba(X), once.predict_log_proba(X))
        assert repeated.left_out_["log loss"][0] == once.left_out_["log loss"][0]


@lawful
@given(data=st.data(), k=st.integers(2, 4))
def test_rows_repeated_in_a_given_tree_are_rows_of_weight_k(tree_law, data, k):
    rows = tree_law.rows(data, min_size=2)
    weights = [row["weight"] if tree_law.weighted else 1.0 for row in rows]
    X, y = tree_law.frame(rows), [row["label"] for row in rows]
    given_weights = weights * k if tree_law.weighted else None
    repeated = tree_law.model().fit(tree_law.frame(rows * k), y * k, sample_weight=given_weights)
    weighted = tree_law.model().fit(X, y, sample_weight=np.multiply(weights, k))
    np.testing.assert_allclose(repeated.predict_log_proba(X), weighted.predict_log_proba(X), rtol=1e-9, atol=1e-9)


def draw_rows(n, seed):
    """Draw numbers and a category whose classes follow an interaction."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    X["sky"] = rng.choice(["sun", "rain", "fog"], n)
    z = X.a * np.where(X.sky == "fog", -1.5, 1.5) + X.b
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-z)), "yes", "no")


def draw_documents(n, seed):
    """Draw documents of three classes with words of their own frequencies."""
    words, shares = [f"w{i}" for i in range(120)], np.random.default_rng(0).dirichlet(np.full(120, 0.3), size=3)
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    texts = [" ".join(rng.choice(words, rng.integers(4, 12), p=0.5 * shares[c] + 0.5 / 120)) for c in y]
    return texts, np.array(list("abc"))[y]


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
def test_a_grown_tree_of_repeated_rows_is_that_of_weighted_rows(k):
    X, y = draw_rows(300, 1)
    repeated = bk.NBTree().fit(pd.concat([X] * k), np.tile(y, k))
    weighted = bk.NBTree().fit(X, y, sample_weight=np.full(300, float(k)))
    np.testing.assert_allclose(repeated.predict_proba(X), weighted.predict_proba(X), rtol=0, atol=1e-9)


FOREIGN = ("tree", "knn", "perceptron", "forest", "boosting")
WRAPPERS = {
    "Calibrated, sigmoid": bk.Calibrated(bk.TAN(), "sigmoid"),
    "Calibrated, temperature": bk.Calibrated(bk.NaiveBayes(), "temperature"),
    "CostSensitive": bk.CostSensitive(bk.NaiveBayes()),
    "BayesOptimalClassifier": bk.BayesOptimalClassifier({"naive": bk.NaiveBayes(), "tan": bk.TAN()}),
    "GibbsClassifier": bk.GibbsClassifier({"naive": bk.NaiveBayes(), "tan": bk.TAN()}, random_state=0),
    "Encoded": bk.Encoded(LogisticRegression()),
}
DROP_INS = [bk.BernoulliNB, bk.CategoricalNB, bk.ComplementNB, bk.GaussianNB, bk.MultinomialNB]


def test_every_classifier_that_takes_weights_is_in_a_law():
    public = (getattr(bk, name) for name in bk.__all__)
    able = (one for one in public if inspect.isclass(one) and hasattr(one, "fit") and hasattr(one, "predict_proba"))
    weighed = {one for one in able if "sample_weight" in inspect.signature(one.fit).parameters}
    named = map(bk.model_named, bk.model_names())
    tested = {*map(type, (*named, *WRAPPERS.values())), *DROP_INS, bk.TextClassifier, bk.SequenceClassifier}
    assert tested == weighed


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("drop_in", DROP_INS)
def test_repeated_rows_are_weighted_rows_for_drop_ins(drop_in, k):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 3, (60, 4)), rng.integers(0, 2, 60)
    repeated = drop_in().fit(np.tile(X, (k, 1)), np.tile(y, k))
    weighted = drop_in().fit(X, y, sample_weight=np.full(60, float(k)))
    np.testing.assert_allclose(repeated.predict_proba(X), weighted.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("k", [2, 3])
def test_repeated_sequences_are_weighted_sequences(k):
    rng = np.random.default_rng(1)
    walks = [rng.choice(["sun", "rain"], rng.integers(2, 6)).tolist() for _ in range(20)]
    y = ["ab"[i % 2] for i in range(20)]
    repeated = bk.SequenceClassifier(bk.MarkovChain()).fit(walks * k, y * k)
    weighted = bk.SequenceClassifier(bk.MarkovChain()).fit(walks, y, sample_weight=np.full(20, float(k)))
    np.testing.assert_allclose(repeated.predict_proba(walks), weighted.predict_proba(walks), rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", [*(name for name in bk.model_names() if name not in FOREIGN), *WRAPPERS])
def test_repeated_rows_are_weighted_rows_for_every_named_model_and_wrapper(name, k):
    X, y = draw_rows(300, 1)
    new, truth = draw_rows(1_000, 2)
    if name == "gaussian":
        X, new = X[list("abc")], new[list("abc")]
    model = WRAPPERS[name] if name in WRAPPERS else bk.model_named(name)
    repeated = clone(model).fit(pd.concat([X] * k), np.tile(y, k)).predict_proba(new)
    weighted = clone(model).fit(X, y, sample_weight=np.full(300, float(k))).predict_proba(new)
    assert log_loss(truth, repeated) <= 1.05 * log_loss(truth, weighted)
    if name not in ("best", "fast", "subclass"):
        np.testing.assert_allclose(repeated, weighted, rtol=0, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
def test_documents_repeated_k_times_are_documents_of_weight_k(recipe, k):
    texts, y = draw_documents(150, 1)
    new, truth = draw_documents(600, 2)
    repeated = bk.TextClassifier(recipe).fit(texts * k, np.tile(y, k)).predict_proba(new)
    weighted = bk.TextClassifier(recipe).fit(texts, y, sample_weight=np.full(150, float(k))).predict_proba(new)
    if recipe in ("nbsvm", "best", "auto"):
        assert log_loss(truth, repeated) <= 1.05 * log_loss(truth, weighted)
    else:
        np.testing.assert_allclose(repeated, weighted, rtol=0, atol=1e-9)

"""Averages, break-even, learning and vocabulary curves, similarity: against scikit-learn and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, fbeta_score, precision_score, recall_score

import bayeskit as bk
from bayeskit.errors import BayesError
from bayeskit.estimate.information import information_gain
from bayeskit.evaluate.learning_curve import learning_curve, vocabulary_curve
from bayeskit.evaluate.metrics import averages, break_even


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.25, 1.0, 4.0]))
def test_averages_are_those_of_scikit_learn(seed, alpha):
    rng = np.random.default_rng(seed)
    truth, guess = rng.integers(0, 4, 30), rng.integers(0, 4, 30)
    ours = averages(confusion_matrix(truth, guess, labels=range(4)), alpha)
    settings = {"labels": list(range(4)), "zero_division": 0}
    for kind in ("micro", "macro"):
        assert getattr(ours, f"{kind}_precision") == pytest.approx(
            precision_score(truth, guess, average=kind, **settings)
        )
        assert getattr(ours, f"{kind}_recall") == pytest.approx(recall_score(truth, guess, average=kind, **settings))
        theirs = fbeta_score(truth, guess, beta=np.sqrt(alpha), average=kind, **settings)
        assert getattr(ours, f"{kind}_f") == pytest.approx(theirs)


def test_at_break_even_precision_is_recall():
    rng = np.random.default_rng(0)
    truth, scores = rng.random(200) < 0.3, rng.random(200)
    chosen = scores >= np.sort(scores)[::-1][truth.sum() - 1]
    both = (truth & chosen).sum()
    assert break_even(truth, scores) == both / chosen.sum() == both / truth.sum()
    assert break_even(truth, truth.astype(float)) == 1.0
    assert break_even(truth, np.zeros(200)) == pytest.approx(truth.mean())
    assert np.isnan(break_even(np.zeros(3, bool), np.zeros(3)))


def test_tables_and_scores_that_do_not_fit_are_refused():
    with pytest.raises(BayesError, match="square"):
        averages(np.zeros((2, 3)))
    for bad in ([[np.nan, 1], [1, 1]], [[-1, 1], [1, 1]]):
        with pytest.raises(BayesError, match="counts rows"):
            averages(np.array(bad))
    with pytest.raises(BayesError, match="alpha=-1"):
        averages(np.eye(2), alpha=-1)
    with pytest.raises(BayesError, match="one score a row"):
        break_even(np.zeros(2, bool), np.zeros(3))


def test_information_gain_is_that_of_the_table_of_presence():
    from sklearn.metrics import mutual_info_score

    rng = np.random.default_rng(1)
    labels, present = rng.integers(0, 3, 90), rng.random(90) < 0.4
    documents = np.array([[(present & (labels == c)).sum() for c in range(3)]])
    assert information_gain(documents, np.bincount(labels))[0] == pytest.approx(mutual_info_score(labels, present))


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    shares = [np.random.default_rng(c).dirichlet(np.full(60, 0.3)) for c in range(2)]
    return [" ".join(f"word{w}" for w in rng.choice(60, 8, p=shares[c])) for c in y], ["ab"[c] for c in y]


def test_more_documents_teach_more(documents):
    texts, labels = documents
    parts = texts[:300], labels[:300], texts[300:], labels[300:]
    curve = learning_curve(bk.TextClassifier("multinomial"), *parts, sizes=[10, 50, 300], repeats=3)
    assert curve["rows"] == [10, 50, 300]
    assert curve["accuracy"][0] < curve["accuracy"][-1]
    assert len(curve["spread"]) == 3
    with pytest.raises(BayesError, match="sizes"):
        learning_curve(bk.TextClassifier("multinomial"), *parts, sizes=[10, 301])


def test_a_vocabulary_curve_equals_fits_on_these_words(documents):
    texts, labels = documents
    models = {r: bk.TextClassifier(r).fit(texts[:300], labels[:300]) for r in ("set_of_words", "multinomial")}
    curve = vocabulary_curve(models, texts[300:], labels[300:], [5, 60])
    for recipe, model in models.items():
        assert curve[recipe][1] == model.score(texts[300:], labels[300:])
    gain = information_gain(
        models["multinomial"].counted_.table("documents"), models["multinomial"].tally_.class_counts
    )
    best = {list(models["multinomial"].words_)[w] for w in np.argsort(-gain, kind="stable")[:5]}
    few = [" ".join(w for w in text.split() if w in best) for text in texts]
    refit = bk.TextClassifier("multinomial").fit(few[:300], labels[:300])
    assert curve["multinomial"][0] == refit.score(few[300:], labels[300:])

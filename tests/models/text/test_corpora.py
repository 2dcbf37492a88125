"""Real corpora from raw text: the same predictions and probabilities as CountVectorizer with scikit-learn's models."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

import bayeskit as bk

CORPORA = {  # every how manyth document is taken
    "20news_bydate": 1,
    "reuters_r52": 1,
    "webkb4_stemmed": 1,
    "trec_qc": 1,
    "sms_spam": 1,
    "spamassassin": 2,
    "imdb50k": 10,
}
RECIPES = {
    "multinomial": (MultinomialNB, {}),
    "set_of_words": (BernoulliNB, {}),
    "complement": (ComplementNB, {"prior": "uniform"}),
    "wcnb": (lambda alpha: ComplementNB(alpha=alpha, norm=True), {}),
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("BAYESKIT_DATA" not in os.environ, reason="BAYESKIT_DATA names no folder with text"),
]


@cache
def corpus(name):
    """(training documents, their classes, test documents, both counted by CountVectorizer)"""
    table = pq.read_table(Path(os.environ["BAYESKIT_DATA"]) / "text" / f"{name}.parquet")
    table = table.take(np.arange(0, table.num_rows, CORPORA[name]))
    train = np.arange(table.num_rows) % 5 > 0
    split = table["split"].to_pylist() if "split" in table.column_names else []
    if "train" in split:
        train = np.array(split) == "train"
    texts, labels = table["text"].to_pylist(), table["label"].to_pylist()
    learned = [text for text, own in zip(texts, train, strict=True) if own]
    test = [text for text, own in zip(texts, train, strict=True) if not own]
    counter = CountVectorizer()
    matrices = counter.fit_transform(learned), counter.transform(test)
    return learned, np.array(labels, dtype=object)[train].tolist(), test, *matrices


@pytest.mark.parametrize("alpha", [1.0, 0.1])
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", CORPORA)
def test_predictions_and_probabilities_are_those_of_scikit_learn(name, recipe, alpha):
    texts, labels, test, learned, unseen = corpus(name)
    made, settings = RECIPES[recipe]
    peer = made(alpha=alpha).fit(learned, labels)
    model = bk.TextClassifier(recipe, smoothing=alpha, **settings).fit(texts, labels)
    assert len(model.words_) == learned.shape[1]
    assert np.abs(model.predict_proba(test) - peer.predict_proba(unseen)).max() < 1e-9
    assert model.predict(test).tolist() == peer.predict(unseen).tolist()

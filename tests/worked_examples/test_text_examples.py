"""The worked examples on words, through the public interface, to the figures that fractions give."""

import re
from fractions import Fraction
from math import factorial, log, prod, sqrt

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.datasets import load_worked_example

DOCUMENT = "A very close game"


def words(text):
    return re.findall(r"\w+", text.lower())


@pytest.fixture(scope="module")
def sports():
    table = load_worked_example("sports")
    return table["text"].to_pylist(), table["tag"].to_pylist()


def counted(sports):
    """Class → words, and the vocabulary."""
    texts, tags = sports
    by_class = {c: [w for t, tag in zip(texts, tags, strict=True) if tag == c for w in words(t)] for c in set(tags)}
    return by_class, sorted({w for t in texts for w in words(t)})


def fitted(recipe, sports, **settings):
    """With one-letter words kept."""
    return bk.TextClassifier(recipe, pattern="words1", **settings).fit(*sports)


def by_class(model, scores):
    return dict(zip(model.classes_.tolist(), scores, strict=True))


def test_23_a_very_close_game_is_sports(sports):
    model = fitted("multinomial", sports)
    of_class, vocabulary = counted(sports)
    assert len(model.words_) == len(vocabulary) == 14
    found = by_class(model, np.exp(model.predict_joint_log_proba([DOCUMENT])[0]))
    for label, text in of_class.items():
        prior = Fraction(sports[1].count(label), 5)
        exact = prior * prod(Fraction(text.count(w) + 1, len(text) + 14) for w in words(DOCUMENT))
        assert exact == {"sports": Fraction(54, 1953125), "not sports": Fraction(8, 1399205)}[label]
        assert found[label] == pytest.approx(float(exact), rel=1e-12)
    assert model.predict([DOCUMENT]).tolist() == ["sports"]


def test_24_the_likelihood_has_a_multinomial_coefficient_and_a_length_term_apart(sports):
    model = fitted("multinomial", sports)
    likelihood = by_class(model, np.exp(model.document_log_likelihood([DOCUMENT])[0]))
    assert likelihood["sports"] == pytest.approx(432 / 390625, rel=1e-12)
    assert likelihood["not sports"] == pytest.approx(96 / 279841, rel=1e-12)
    plain = np.exp(model.document_log_likelihood([DOCUMENT], coefficient=False)[0])
    assert list(likelihood.values()) == pytest.approx(plain * factorial(4), rel=1e-12)
    mean = 20 / 5
    poisson = mean**4 * np.exp(-mean) / factorial(4)
    with_length = np.exp(model.document_log_likelihood([DOCUMENT], length=True)[0])
    assert with_length == pytest.approx(np.array(list(likelihood.values())) * poisson, rel=1e-9)
    prior = np.array([2 / 5, 3 / 5])
    assert np.exp(model.score_samples([DOCUMENT]))[0] == pytest.approx(with_length @ prior, rel=1e-9)


def test_25_in_a_set_of_words_absent_words_count(sports):
    model = fitted("set_of_words", sports)
    found = by_class(model, np.exp(model.predict_joint_log_proba([DOCUMENT])[0]))
    texts, tags = sports
    _, vocabulary = counted(sports)
    for label in ("sports", "not sports"):
        sets = [set(words(t)) for t, tag in zip(texts, tags, strict=True) if tag == label]
        exact = Fraction(len(sets), 5)
        for word in vocabulary:
            p = Fraction(sum(word in s for s in sets) + 1, len(sets) + 2)
            exact *= p if word in words(DOCUMENT) else 1 - p
        assert found[label] == pytest.approx(float(exact), rel=1e-12)
    assert f"{found['sports']:.5e}" == "2.93534e-04"
    assert f"{found['not sports']:.5e}" == "1.15871e-05"


def test_26_tf_idf_and_its_cosine_normalized_form(sports):
    model = fitted("tfidf", sports)
    idf = dict(zip(model.words_, model.params_.idf, strict=True))
    raw = {w: words(sports[0][0]).count(w) * idf[w] for w in words(sports[0][0])}
    assert {w: round(v, 6) for w, v in raw.items()} == {"a": 0.510826, "great": 1.609438, "game": 0.916291}
    length = sqrt(sum(v * v for v in raw.values()))
    row = model.document_values([sports[0][0]]).toarray()[0]
    shown = {w: round(float(v), 6) for w, v in zip(model.words_, row, strict=True) if v}
    assert shown == {"a": 0.265896, "great": 0.837747, "game": 0.476949}
    assert shown["a"] == round(raw["a"] / length, 6)


def test_27_complement_and_its_normalized_weights(sports):
    model = fitted("complement", sports)
    scores = by_class(model, model.predict_joint_log_proba([DOCUMENT])[0])
    assert {c: round(s, 6) for c, s in scores.items()} == {"sports": 10.644857, "not sports": 9.068841}
    normalized = fitted("wcnb", sports, prior="empirical")
    scores = by_class(normalized, normalized.predict_joint_log_proba([DOCUMENT])[0])
    assert {c: round(s, 6) for c, s in scores.items()} == {"sports": -0.219051, "not sports": -0.655601}
    of_class, vocabulary = counted(sports)
    others = of_class["not sports"]
    weights = {w: -log((others.count(w) + 1) / (len(others) + 14)) for w in vocabulary}
    score = log(3 / 5) + sum(weights[w] for w in words(DOCUMENT)) / sum(weights.values())
    assert scores["sports"] == pytest.approx(score, rel=1e-12)
    assert model.predict([DOCUMENT]).tolist() == normalized.predict([DOCUMENT]).tolist() == ["sports"]


def test_28_one_mention_of_san_francisco_counts_double_and_weight_normalization_takes_that_away():
    texts = ["boston weather weather weather"] * 3 + ["san francisco weather"] * 3
    labels = ["Boston"] * 3 + ["San Francisco"] * 3
    document = ["boston boston san francisco"]  # Boston twice, San Francisco once
    multinomial = bk.TextClassifier("multinomial").fit(texts, labels)
    assert multinomial.predict(document).tolist() == ["San Francisco"]
    evidence = {word: e for word, _, e in multinomial.explain(document)[0].words}
    assert evidence["san"] == evidence["francisco"] > 0
    for recipe in ("wcnb", "wnb"):
        assert bk.TextClassifier(recipe).fit(texts, labels).predict(document).tolist() == ["Boston"]

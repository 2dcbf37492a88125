"""Documents as tf-idf vectors, and their cosines, without any label."""

from math import log, sqrt

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer

import bayeskit as bk
from bayeskit.datasets import load_worked_example

SPORTS = load_worked_example("sports")
TEXTS = SPORTS["text"].to_pylist()
ONE_LETTER = {"token_pattern": r"(?u)\b\w+\b", "tf_idf": True}


def test_worked_example_26_without_a_class():
    counter = bk.TokenCounter(**ONE_LETTER)
    row = counter.fit_transform(TEXTS).toarray()[0]
    words = counter.get_feature_names_out().tolist()
    idf = dict(zip(words, counter.idf_.tolist(), strict=True))
    assert {w: round(idf[w], 6) for w in ("a", "great", "game")} == {"a": 0.510826, "great": 1.609438, "game": 0.916291}
    vector = {word: round(float(value), 6) for word, value in zip(words, row, strict=True) if value}
    assert vector == {"a": 0.265896, "great": 0.837747, "game": 0.476949}
    labeled = bk.TextClassifier("tfidf", pattern="words1").fit(TEXTS, SPORTS["tag"])
    np.testing.assert_allclose(counter.transform(TEXTS).toarray(), labeled.document_values(TEXTS).toarray())
    np.testing.assert_allclose(counter.similarity(TEXTS), labeled.similarity(TEXTS), atol=1e-12)


def test_the_cosine_is_that_of_the_definition():
    counter = bk.TokenCounter(**ONE_LETTER).fit(["a b", "a c", "c d"])
    idf = {"a": log(3 / 2), "b": log(3), "c": log(3 / 2), "d": log(3)}
    one, other = {"a": 2 * idf["a"], "b": idf["b"]}, {"a": idf["a"], "d": idf["d"]}
    length = sqrt(sum(v * v for v in one.values()) * sum(v * v for v in other.values()))
    expected = one["a"] * other["a"] / length
    assert counter.similarity(["a a b"], ["a d", "unknown"])[0] == pytest.approx([expected, 0.0])


def test_against_scikit_learns_transformer_with_ln_n_over_df():
    counts = bk.TokenCounter().fit_transform(TEXTS)
    theirs = TfidfTransformer(smooth_idf=False).fit(counts)
    np.testing.assert_allclose(bk.TokenCounter(tf_idf=True).fit(TEXTS).idf_, theirs.idf_ - 1)  # theirs adds one


@pytest.mark.parametrize("settings", [{}, {"binary": True}, {"min_df": 2}, {"vocabulary": ["game", "was", "clean"]}])
def test_parts_give_the_vectors_of_the_whole(settings):
    whole = bk.TokenCounter(tf_idf=True, **settings).fit(TEXTS)
    parts = bk.TokenCounter(tf_idf=True, **settings).fit(TEXTS[:4])
    parts.partial_fit(TEXTS[4:])
    np.testing.assert_array_equal(whole.idf_, parts.idf_)
    np.testing.assert_array_equal(whole.transform(TEXTS).toarray(), parts.transform(TEXTS).toarray())
    lengths = np.sqrt(whole.transform(TEXTS).power(2).sum(axis=1))
    assert set(np.asarray(lengths).round(12).ravel().tolist()) <= {0.0, 1.0}


def test_a_given_vocabulary_has_no_idf_before_documents_are_learned():
    with pytest.raises(NotFittedError):
        bk.TokenCounter(tf_idf=True, vocabulary=["game"]).transform(TEXTS)
    plain = bk.TokenCounter(vocabulary=["game"])
    assert plain.transform(TEXTS).sum() == 2
    with pytest.raises(AttributeError, match="no document is learned yet"):
        _ = plain.idf_


def test_counts_have_a_cosine_too():
    assert bk.TokenCounter().fit(["x", "cat dog"]).similarity(["cat cat"], ["cat dog"]).round(6).tolist() == [
        [0.707107]
    ]

"""Sets of words without smoothing: plain fractions, of which 0 and 1 are allowed."""

from fractions import Fraction
from math import prod

import numpy as np
import pytest

import bayeskit as bk

TEXTS = ["a b", "a c", "a b c", "b d", "b c", "d b e", "f", "f a"]
LABELS = ["p", "p", "p", "q", "q", "q", "r", "r"]  # a is certain in p, b in q, f in r
ASKED = [*TEXTS, "", "a", "b", "a b", "a b d", "a f", "f b", "unknown", "a a b", "a b c d e f"]


def fitted(texts=TEXTS, labels=LABELS, **settings):
    return bk.TextClassifier("set_of_words", pattern="words1", smoothing=0, **settings).fit(texts, labels)


def by_hand(texts, labels, document):
    """P(class) Π p or 1 − p, in fractions."""
    sets, there = [set(text.split()) for text in texts], set(document.split())
    vocabulary = set().union(*sets)
    joint = {}
    for label in sorted(set(labels)):
        own = [words for words, one in zip(sets, labels, strict=True) if one == label]
        p = {word: Fraction(sum(word in words for words in own), len(own)) for word in vocabulary}
        factors = (p[word] if word in there else 1 - p[word] for word in vocabulary)
        joint[label] = Fraction(len(own), len(labels)) * prod(factors)
    return joint


def test_scores_are_those_of_plain_fractions():
    joint = np.exp(fitted().predict_joint_log_proba(ASKED))
    for row, document in zip(joint, ASKED, strict=True):
        assert row == pytest.approx([float(p) for p in by_hand(TEXTS, LABELS, document).values()], rel=1e-12)


def test_a_document_impossible_in_every_class_is_undecidable():
    with pytest.warns(bk.UndecidableWarning):
        assert fitted().predict_proba([""])[0] == pytest.approx([3 / 8, 3 / 8, 2 / 8])
    with pytest.warns(bk.UndecidableWarning):
        assert np.isnan(fitted(undecidable="nan").predict_proba([""])).all()
    with pytest.raises(bk.BayesError, match="impossible under every class"):
        fitted(undecidable="error").predict([""])


@pytest.mark.filterwarnings("ignore::bayeskit.UndecidableWarning")
def test_leaving_a_document_out_is_refitting_without_it():
    scores = fitted().leave_one_out_scores(TEXTS, LABELS)
    for i, document in enumerate(TEXTS):
        others, labels = TEXTS[:i] + TEXTS[i + 1 :], LABELS[:i] + LABELS[i + 1 :]
        expected = fitted(others, labels).predict_joint_log_proba([document])[0]
        np.testing.assert_allclose(scores[i], expected, rtol=1e-12)


def test_learning_and_forgetting_give_the_fit_on_the_same_documents():
    model = fitted(TEXTS[:5], LABELS[:5]).partial_fit(TEXTS[5:], LABELS[5:]).forget(TEXTS[:1], LABELS[:1])
    again = fitted(TEXTS[1:], LABELS[1:])
    np.testing.assert_array_equal(model.predict_joint_log_proba(ASKED), again.predict_joint_log_proba(ASKED))


def test_evidence_sums_to_the_log_odds_and_a_certain_word_speaks_by_its_probabilities():
    model = fitted()
    for record, row in zip(model.explain(TEXTS), model.predict_joint_log_proba(TEXTS), strict=True):
        best, second = np.sort(row)[::-1][:2]
        assert record.total == pytest.approx(best - second)
        assert record.base + sum(evidence for _, _, evidence in record.words) == pytest.approx(record.total)
    (record,) = fitted(["a b", "a", "a b", "b"], [*"ppqq"]).explain(["a b"])
    assert {word: round(float(np.exp(evidence)), 9) for word, _, evidence in record.words} == {"a": 2.0, "b": 0.5}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("recipe", ["set_of_words", "multinomial"])
def test_words_of_one_class_alone_tell_infinitely_much(recipe):
    model = bk.TextClassifier(recipe, pattern="words1", smoothing=0).fit(["a b", "a c", "b d", "b c"], [*"ppqq"])
    table = model.telling_words(2)
    assert dict(zip(table["word"], table["evidence"], strict=True)).items() >= {"a": np.inf, "d": np.inf}.items()


def test_the_work_writes_the_fractions():
    text = str(fitted().work("a b"))
    assert "3/3" in text
    assert "2/3" in text
    assert "0/3" in text


def test_drawn_documents_have_the_certain_words_and_none_that_is_impossible():
    documents, labels = fitted().sample(50, random_state=0)
    certain = {"p": "a", "q": "b", "r": "f"}
    assert all(certain[label] in document.split() for document, label in zip(documents, labels, strict=True))
    assert not any("f" in document.split() for document in documents if "b" in document.split())


def test_words_that_nobody_is_certain_of_weigh_as_the_book_says():
    model = fitted(["a b", "c", "a c", "b"], [*"ppqq"])
    assert model.params_.table == pytest.approx(np.zeros((3, 2)))
    assert model.params_.constant == pytest.approx(np.log([1 / 2, 1 / 2]) + 3 * np.log(1 / 2))


def test_a_file_holds_the_same_model(tmp_path):
    fitted().save(tmp_path / "m.bayes")
    again = bk.load(tmp_path / "m.bayes")
    np.testing.assert_array_equal(again.predict_joint_log_proba(ASKED), fitted().predict_joint_log_proba(ASKED))


def test_weights_that_round_leave_certain_words_certain():
    weights = np.array([0.1, 0.2, 0.3, 0.7, 0.7, 0.7, 0.1, 0.3])
    model = bk.TextClassifier("set_of_words", pattern="words1", smoothing=0).fit(TEXTS, LABELS, sample_weight=weights)
    assert np.isneginf(model.predict_joint_log_proba(["b"])[0][[0, 2]]).all()


def test_what_a_sum_over_words_cannot_say_is_not_exported():
    with pytest.raises(bk.BayesError, match="every document of a class has 'a'"):
        fitted().to_json()
    few = fitted(["a b", "c", "a c", "b"], [*"ppqq"])
    assert few.to_json()

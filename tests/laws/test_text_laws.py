"""The laws of learning, forgetting, merging and saying, on documents: every recipe at its level."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bayeskit as bk

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
lawful = settings.get_profile("few")
COUNTED = ["multinomial", "set_of_words", "complement", "wcnb", "wnb"]
HELD = ["tfidf", "twcnb", "weighted", "best", "auto"]  # idf, weights and what goes with them are those of the first fit
words = st.sampled_from(["sun", "sea", "rain", "été", "wind", "fog", "ice", "a", "Straße", "x1"])
document = st.lists(words, max_size=8).map(" ".join)
rows = st.lists(st.tuples(document, st.sampled_from("abc")), min_size=1, max_size=10)


def fit(recipe, drawn, **settings):
    return model(recipe, **settings).fit([text for text, _ in drawn], [label for _, label in drawn])


def model(recipe, **settings):
    return bk.TextClassifier(recipe, pattern="words1", **settings)


def same(a, b, drawn, exact=True):
    texts = [text for text, _ in drawn]
    if exact:
        assert a.tally_ == b.tally_
    assert a.classes_.tolist() == b.classes_.tolist()
    np.testing.assert_allclose(a.predict_joint_log_proba(texts), b.predict_joint_log_proba(texts), rtol=1e-9, atol=1e-9)


def learn(fitted, drawn):
    return fitted.partial_fit([text for text, _ in drawn], [label for _, label in drawn])


def forget(fitted, drawn):
    return fitted.forget([text for text, _ in drawn], [label for _, label in drawn])


def copy(fitted):
    return fitted.with_prior(fitted.prior)


@pytest.mark.parametrize("recipe", COUNTED)
@lawful
@given(a=rows, b=rows)
def test_halves_in_any_order_and_merged_are_the_whole(recipe, a, b):
    whole = fit(recipe, a + b)
    same(learn(fit(recipe, a), b), whole, a + b)
    same(learn(fit(recipe, b), a), whole, a + b)
    same(fit(recipe, a) + fit(recipe, b), whole, a + b)
    same(fit(recipe, (a + b)[::-1]), whole, a + b)
    same(model(recipe).fit_tally(bk.Tally.from_bytes(whole.tally_.to_bytes())), whole, a + b)


@pytest.mark.parametrize("recipe", [*COUNTED, *HELD])
@lawful
@given(a=rows, b=rows)
def test_forgetting_undoes_learning(recipe, a, b):
    before = fit(recipe, a)
    after = forget(learn(copy(before), b), b)
    same(after, before, a + b, exact=recipe in COUNTED)


@pytest.mark.parametrize("recipe", [*COUNTED, *HELD])
@lawful
@given(a=rows, b=rows)
def test_merging_is_learning_the_documents_of_the_other(recipe, a, b):
    first = fit(recipe, a)
    if recipe in COUNTED:
        same(first.merge(fit(recipe, b)), learn(copy(first), b), a + b)
        return
    other = learn(copy(first), b)
    assert other.tally_.n_rows == len(a) + len(b)
    bits = first.tally_.to_bytes()
    merged = first.merge(first)
    assert merged.tally_.n_rows == 2 * len(a)
    assert first.tally_.to_bytes() == bits


@pytest.mark.parametrize("recipe", COUNTED)
@lawful
@given(a=rows)
def test_a_weight_of_two_is_the_document_twice(recipe, a):
    texts, labels = [text for text, _ in a], [label for _, label in a]
    twice = model(recipe).fit(texts, labels, sample_weight=[2] * len(a))
    same(twice, fit(recipe, a + a), a, exact=False)


@pytest.mark.parametrize("recipe", [*COUNTED, "tfidf", "twcnb", "weighted", "best"])
@lawful
@given(a=rows, b=rows)
def test_forgetting_what_was_not_learned_is_refused_and_changes_nothing(recipe, a, b):
    fitted = fit(recipe, a)
    bits = fitted.tally_.to_bytes()
    with pytest.raises(bk.BayesError, match="z"):
        forget(fitted, [(text, "z") for text, _ in b])
    assert fitted.tally_.to_bytes() == bits


@pytest.mark.parametrize("recipe", COUNTED)
@lawful
@given(a=rows)
def test_leave_one_out_equals_refitting(recipe, a):
    assume(len(a) > 1)
    texts, labels = [text for text, _ in a], [label for _, label in a]
    fitted = fit(recipe, a)
    scores = fitted.leave_one_out_scores(texts, labels)
    for i, (text, label) in enumerate(a):
        other = fit(recipe, a[:i] + a[i + 1 :])
        known = [fitted.classes_.tolist().index(c) for c in other.classes_]
        said = other.predict_joint_log_proba([text])[0]
        if label in other.classes_:
            np.testing.assert_allclose(scores[i, known], said, rtol=1e-9, atol=1e-9)
        else:
            assert np.isneginf(scores[i, fitted.classes_.tolist().index(label)])


@pytest.mark.parametrize("recipe", [*COUNTED, *HELD])
@lawful
@given(a=rows, b=rows)
def test_what_is_said_sums_up_and_does_not_depend_on_its_neighbors(recipe, a, b):
    fitted, texts = fit(recipe, a), [text for text, _ in b]
    p = fitted.predict_proba(texts)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    log_proba = fitted.predict_log_proba(texts)
    np.testing.assert_allclose(np.exp(log_proba).sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp(log_proba), p, rtol=1e-11, atol=1e-300)
    assert np.abs(fitted.predict_joint_log_proba(texts)).max() < 1e4  # eight words say no more, in nats
    alone = np.vstack([fitted.predict_joint_log_proba([text]) for text in texts])
    np.testing.assert_allclose(alone, fitted.predict_joint_log_proba(texts), rtol=1e-12, atol=1e-12)
    for record, scores in zip(fitted.explain(texts), fitted.predict_joint_log_proba(texts), strict=True):
        best, other = (fitted.tally_.classes.index(c) for c in (record.label, record.other))
        assert record.base + sum(e for _, _, e in record.words) == pytest.approx(scores[best] - scores[other], abs=1e-9)


@lawful
@given(a=rows)
def test_ties_are_drawn_by_what_a_document_says(a):
    twin = [(text, "ab"[label == "a"]) for text, label in a if label in "ab"]
    kept = [(text, label) for text, label in a if label in "ab"]
    assume(kept)
    texts = [text for text, _ in kept]
    drawn = fit("multinomial", kept + twin, ties="random", random_state=3)
    first = drawn.predict(texts)
    assert first.tolist() == drawn.predict(texts[::-1]).tolist()[::-1]
    assert first.tolist() == [drawn.predict([text])[0] for text in texts]

"""Documents that are held: they leave exactly, join those of another model, and lie in a file."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import BayesError, NaiveBayes, TopicModel, load
from bayeskit.errors import BadFile, NotLearned
from bayeskit.models import from_bytes, to_bytes

WORDS = ["ball", "goal", "law", "vote", "sun"]
texts = st.lists(st.lists(st.sampled_from(WORDS), min_size=0, max_size=6).map(" ".join), min_size=1, max_size=6)
FIRST = ["ball goal ball", "vote law", "sun ball", "goal goal", "law vote vote"]


def held(**settings):
    return TopicModel(2, n_sweeps=5, keep_assignments=True, **settings).fit(FIRST)


def same(a, b):
    np.testing.assert_array_equal(a.components_, b.components_)
    assert a.n_documents_ == b.n_documents_
    assert a.n_tokens_ == b.n_tokens_


@pytest.mark.slow
@settings(max_examples=25)
@given(texts)
def test_forgetting_undoes_learning(more):
    model, before = held(), held()
    same(model.partial_fit(more).forget(more), before)
    np.testing.assert_array_equal(model.kept_documents().topics, before.kept_documents().topics)


@pytest.mark.slow
@settings(max_examples=25)
@given(texts, texts)
def test_merging_adds_both_changes_to_the_parent(ours, theirs):
    parent, a, b = held(), held().partial_fit(ours), held(random_state=0).partial_fit(theirs)
    merged = a.merge(b)
    if ours != theirs:
        both = parent.components_ + (a.components_ - parent.components_) + (b.components_ - parent.components_)
        np.testing.assert_allclose(merged.components_, both, atol=1e-9)
        assert merged.n_documents_ == 5 + len(ours) + len(theirs)
    np.testing.assert_array_equal((a + b).components_, (b + a).components_)
    same(a.merge(parent), a)
    same(sum([parent, a]), a)


def test_what_one_side_has_forgotten_is_gone():
    parent, a, b = held(), held().forget(["sun ball"]), held().partial_fit(["vote sun"])
    merged = a.merge(b)
    assert merged.n_documents_ == 5
    assert merged.n_tokens_ == parent.n_tokens_ - 2 + 2
    with pytest.raises(NotLearned):
        merged.forget(["sun ball"])


def test_words_that_only_forgotten_documents_had_are_gone():
    first = [*FIRST, "zqword law", "zqword sun", "zqother"]
    fit = {"n_sweeps": 5, "keep_assignments": True}
    model = TopicModel(2, **fit).fit(first).forget(first[5:])
    assert model.words_.tolist() == sorted(WORDS)
    assert model.components_.shape == (2, 5)
    assert not [name for name in (b"zqword", b"zqother") if name in to_bytes(model)]
    same(from_bytes(to_bytes(model)), model)
    assert model.transform(["ball zqword"]).tolist() == model.transform(["ball"]).tolist()
    a, b = TopicModel(2, **fit).fit(first).forget(["zqother"]), TopicModel(2, **fit).fit(first).forget(["zqword law"])
    merged = a.merge(b)
    assert merged.words_.tolist() == [*sorted(WORDS), "zqword"]
    assert (merged.n_documents_, merged.n_tokens_) == (6, model.n_tokens_ + 2)
    np.testing.assert_array_equal(merged.components_, b.merge(a).components_)
    seeded = TopicModel(2, seed_words={0: ["zqword"]}, **fit).fit(first).forget(first[5:])  # it is declared
    assert "zqword" in seeded.words_


def test_counts_leave_with_their_document_and_nothing_else_changes():
    model = held()
    topics = model.kept_documents()
    gone = np.zeros((5, 2), int)
    np.add.at(gone, (topics.corpus.words[:3], topics.topics[:3]), 1)  # of the first document
    before = model.components_.copy()
    model.forget(["goal ball ball"])
    np.testing.assert_allclose(before - model.components_, gone.T)


def test_what_is_not_held_is_refused_and_nothing_changes():
    model, before = held(), held()
    for other in (["ball"], ["vote law", "vote law"], ["sun ball", "nothing known"]):
        with pytest.raises(NotLearned):
            model.forget(other)
        same(model, before)
    with pytest.raises(BayesError, match="without data"):
        model.forget(FIRST)
    same(model, before)
    model.forget([])
    same(model, before)


def test_models_of_two_fits_do_not_merge():
    with pytest.raises(BayesError, match="one parent"):
        held().merge(held(random_state=1))
    with pytest.raises(BayesError, match="another one"):
        held().merge(NaiveBayes())
    with pytest.raises(BayesError, match="keep_assignments"):
        held().merge(TopicModel(2, n_sweeps=2).fit(FIRST))


def test_a_model_without_documents_has_neither_method():
    model = TopicModel(2, n_sweeps=2).fit(FIRST)
    assert not hasattr(model, "forget")
    with pytest.raises(AttributeError, match="keep_assignments=True"):
        model.merge(model)
    with pytest.raises(BayesError, match="without keep_assignments"):
        model.set_params(keep_assignments=True).forget(FIRST[:1])


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("form", ["texts", "counts", "named"])
def test_a_file_gives_the_model_back(keep, form, tmp_path):
    counts = np.array([[3, 0, 1], [0, 2, 1], [1, 1, 4]])
    model = TopicModel(3, n_sweeps=5, keep_assignments=keep, seed_words=[["ball"]] if form == "texts" else None)
    data = {"texts": FIRST, "counts": counts, "named": counts}[form]
    model.fit(data, words=["z", "a", "ü"] if form == "named" else None)
    model.save(tmp_path / "topics.bayes")
    again = load(tmp_path / "topics.bayes")
    same(model, again)
    assert again.get_params() == model.get_params()
    assert again.words_.tolist() == model.words_.tolist()
    assert again.log_likelihood_ == model.log_likelihood_
    np.testing.assert_array_equal(again.alpha_, model.alpha_)
    np.testing.assert_array_equal(again.transform(data), model.transform(data))
    assert to_bytes(again) == to_bytes(model)
    same(again.partial_fit(data), model.partial_fit(data))
    if keep:
        same(again.forget(data), model.forget(data))


def test_children_of_a_file_merge(tmp_path):
    held().save(tmp_path / "parent.bayes")
    a, b = (load(tmp_path / "parent.bayes").partial_fit([text]) for text in ("ball ball", "law"))
    assert (a + b).n_tokens_ == held().n_tokens_ + 3


def test_damaged_files_are_refused():
    data = bytearray(to_bytes(held()))
    refused = 0
    for at in range(0, len(data), 7):
        spoilt = data.copy()
        spoilt[at] ^= 0x5A
        try:
            from_bytes(bytes(spoilt))
        except BadFile:
            refused += 1
    assert refused > 0.9 * len(range(0, len(data), 7))

"""A TextClassifier in a file: every recipe comes back as it was, and nothing but a sound model comes out of one."""

import hashlib
import struct
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.errors import BadFile, BayesError
from bayeskit.models import from_bytes, to_bytes
from bayeskit.models.text.classifier import RECIPES
from bayeskit.storage.container import pack, unpack

ANIMALS, WEATHER, LAW = (
    ["cat", "dog", "cow", "horse", "barks"],
    ["rain", "sun", "wind", "storm", "cold"],
    ["court", "vote", "judge"],
)
TALLIED = [recipe for recipe in RECIPES if recipe != "nbsvm"]


def documents(n=60, seed=0):
    rng = np.random.default_rng(seed)
    topics = {"animal": ANIMALS, "weather": WEATHER, "law": LAW}
    labels = rng.choice(list(topics), n).tolist()
    shared = ["the", "and", "été", "Straße"]
    texts = [" ".join(rng.choice(topics[label] + shared, rng.integers(0, 9))) for label in labels]
    return texts, labels


TEXTS, LABELS = documents()
NEW = [*documents(20, 1)[0], "", "never seen", "ÉTÉ in the court"]


@cache
def fitted(recipe):
    return bk.TextClassifier(recipe).fit(TEXTS, LABELS)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_loaded_model_gives_the_same_scores_to_the_bit(recipe, tmp_path):
    model = fitted(recipe)
    model.save(tmp_path / "m.bayes")
    again = bk.load(tmp_path / "m.bayes")
    assert type(again) is bk.TextClassifier
    chosen = {"recipe": "weighted"} if recipe == "auto" else {}  # a file names the recipe that was chosen
    assert again.get_params() == model.get_params() | chosen
    assert again.tally_ == model.tally_
    assert np.array_equal(again.predict_joint_log_proba(NEW), model.predict_joint_log_proba(NEW))
    assert again.predict(NEW).tolist() == model.predict(NEW).tolist()
    assert [str(e) for e in again.explain(NEW)] == [str(e) for e in model.explain(NEW)]
    assert to_bytes(again) == to_bytes(model)
    if hasattr(model, "candidates_"):
        assert str(again.candidates_) == str(model.candidates_)


@pytest.mark.parametrize("recipe", TALLIED)
def test_a_loaded_model_goes_on_learning_forgetting_and_merging(recipe):
    texts, labels = documents(30, 2)
    texts, labels = [*texts, "a star"], [*labels, "space"]  # a new word and a new class
    stayed = from_bytes(to_bytes(fitted(recipe)))
    again = from_bytes(to_bytes(stayed))
    stayed.partial_fit(texts, labels)
    again = from_bytes(to_bytes(again.partial_fit(texts, labels)))
    assert np.array_equal(again.predict_proba(NEW), stayed.predict_proba(NEW))
    if recipe != "best":  # its linear half has seen every document
        left_out = (model.leave_one_out_scores(texts, labels) for model in (again, stayed))
        assert np.array_equal(*left_out, equal_nan=True)
    again.forget(texts, labels)
    assert np.allclose(again.predict_proba(NEW), fitted(recipe).predict_proba(NEW), atol=1e-9)
    twice = again.merge(fitted(recipe))
    assert twice.tally_.n_rows == pytest.approx(2 * len(TEXTS))


@pytest.mark.parametrize(
    "given_",
    [
        {"min_df": 2, "max_df": 0.9, "max_features": 8},
        {"stop_words": ["and", "the"], "pattern": "words1", "ngrams": (1, 2)},
        {"stop_words": "english", "lowercase": False},
        {"hash_bits": 6},
        {"pattern": r"\b[a-z]+\b", "smoothing": {"cat": 0.5, "été": 2}, "prior": "uniform"},
        {"pattern": "char", "ngrams": (1, 3), "smoothing": bk.Lidstone(0.1), "ties": "random", "random_state": 3},
    ],
    ids=lambda given_: " ".join(given_),
)  # fmt: skip
@pytest.mark.parametrize("recipe", ["multinomial", "tfidf"])
def test_every_setting_is_kept(recipe, given_):
    model = bk.TextClassifier(recipe, **given_).fit(TEXTS, LABELS)
    again = from_bytes(to_bytes(model))
    assert np.array_equal(again.predict_joint_log_proba(NEW), model.predict_joint_log_proba(NEW))
    assert again.predict(NEW).tolist() == model.predict(NEW).tolist()
    more = (["a cat and a comet"], ["animal"])
    assert again.partial_fit(*more).tally_ == model.partial_fit(*more).tally_


def test_weights_of_documents_and_labels_of_other_types_are_kept():
    codes = [{"animal": 0, "weather": 1, "law": 2}[label] for label in LABELS]
    for recipe in ("multinomial", "auto", "twcnb"):
        model = bk.TextClassifier(recipe).fit(TEXTS, codes, sample_weight=np.linspace(0.1, 2, len(TEXTS)))
        again = from_bytes(to_bytes(model))
        assert again.classes_.dtype == model.classes_.dtype
        assert np.array_equal(again.predict_proba(NEW), model.predict_proba(NEW))


def test_what_cannot_be_saved_is_said(tmp_path):
    with pytest.raises(BayesError, match=r"pattern=.*cannot be saved"):
        bk.TextClassifier("multinomial", pattern=str.split).fit(TEXTS, LABELS).save(tmp_path / "m.bayes")
    assert not list(tmp_path.iterdir())


# -- what is refused -------------------------------------------------------------------------------------


def sealed(body):
    return bytes(body) + hashlib.sha256(body).digest()


def refused(data):
    """True where the bytes are refused as they should be; else the model must be a sound one."""
    try:
        model = from_bytes(data)
    except BayesError:
        return True
    assert not np.isnan(model.predict_joint_log_proba(NEW)).any()
    assert from_bytes(to_bytes(model)).tally_ == model.tally_
    return False


PACKED = {recipe: to_bytes(fitted(recipe)) for recipe in ("multinomial", "auto", "twcnb", "nbsvm")}


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([*PACKED]), st.data())
def test_bytes_altered_and_sealed_again_give_a_sound_model_or_a_refusal(recipe, data):
    body = bytearray(PACKED[recipe][:-32])
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    refused(sealed(body))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([*PACKED]), st.data())
def test_headers_altered_by_a_letter_and_sealed_again_are_never_another_error(recipe, data):
    body = bytearray(PACKED[recipe][:-32])
    end = 16 + struct.unpack_from("<Q", body, 8)[0]
    body[data.draw(st.integers(16, end - 1))] = data.draw(st.sampled_from([*b'0123456789"[]{},:nuletrfasi@-.']))
    refused(sealed(body))


@pytest.mark.parametrize("number", [-1, 2**53 + 2, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("recipe", PACKED)
def test_counts_and_offsets_that_cannot_be_are_refused(recipe, number):
    _, arrays = unpack(PACKED[recipe])
    for i, array in enumerate(arrays):
        if array.dtype.kind == "i" and array.size:
            for place in (0, -1):
                header, wrong = unpack(PACKED[recipe])
                wrong[i] = array.copy()
                wrong[i].flat[place] = number
                assert refused(pack(header, wrong)), (i, place)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -1e300, 1e300])
@pytest.mark.parametrize("recipe", PACKED)
def test_weights_and_sums_that_are_no_numbers_are_refused(recipe, number):
    header, arrays = unpack(PACKED[recipe])
    for i, array in enumerate(arrays):
        if array.dtype.kind == "f" and array.size:
            wrong = list(arrays)
            wrong[i] = array.copy()
            wrong[i].flat[-1] = number
            if not refused(pack(header, wrong)):  # squares of lengths are not looked at for scores
                assert np.isfinite(number), i


def test_a_state_that_does_not_fit_its_recipe_is_refused():
    for recipe, wrong in (("multinomial", "auto"), ("auto", "multinomial"), ("auto", "twcnb"), ("nbsvm", "tfidf")):
        header, arrays = unpack(PACKED[recipe])
        header["settings"]["recipe"] = wrong
        with pytest.raises(BadFile):
            from_bytes(pack(header, arrays))
    for held in ({}, {"a": 1}, [], None, {"a": True, "g": 1, "first": 1, "log_loss": 0, "classes": [], "tried": []}):
        header, arrays = unpack(PACKED["auto"])
        header["state"]["held"] = held
        with pytest.raises(BadFile):
            from_bytes(pack(header, arrays))
    for count in (-1, 99, True, "3", None):
        header, arrays = unpack(PACKED["auto"])
        header["state"]["arrays"] = count
        with pytest.raises(BadFile):
            from_bytes(pack(header, arrays))


def test_words_that_are_no_text_or_out_of_order_are_refused():
    from bayeskit.data.text.word_list import Words

    good = Words.of([f"é{i:06}" for i in range(70_000)])
    assert Words.checked(good.data, good.offsets) == good
    for place, byte in ((0, 0xFF), (0, 0x7A), (1, 0x41), (len(good.data) - 1, ord("/"))):
        data = good.data.copy()
        data[place] = byte
        with pytest.raises(BadFile):
            Words.checked(data, good.offsets)
    at = 65_536  # where one part ends
    swapped = good.data.copy().reshape(70_000, -1)
    swapped[[at - 1, at]] = swapped[[at, at - 1]]
    with pytest.raises(BadFile, match="not sorted"):
        Words.checked(swapped.ravel(), good.offsets)
    offsets = good.offsets.copy()
    offsets[1] += 1
    with pytest.raises(BadFile, match="cuts a letter"):
        Words.checked(good.data, offsets)

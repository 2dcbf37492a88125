"""Recipes of text as objects: what each can honor, and a new one from outside in one class."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import bayeskit as bk
from bayeskit.errors import BadFile, BayesError
from bayeskit.estimate.word_weights import multinomial
from bayeskit.models import from_bytes, to_bytes
from bayeskit.models.text.classifier import RECIPES
from bayeskit.models.text.recipe import PresenceParameters, Recipe
from bayeskit.storage.model_file import State

TEXTS = ["sun sun sea", "sea and sun", "rain and wind", "wind wind rain", "sun and wind"]
LABELS = ["good", "good", "bad", "bad", "good"]
NEW = ["sun sun sun", "rain sea", "and", "", "unheard of"]


class Binarised(Recipe):
    """Multinomial over sets of words: a word counts once a document."""

    name = "binarised"
    parameters = PresenceParameters

    def word_weights(self, counted, class_counts, pseudo):
        return multinomial(counted.table("documents").astype(float), pseudo)


@dataclass(frozen=True, eq=False)
class FirstWords(Binarised):
    """The same on the words of the first fit alone, which it holds."""

    name = "first_words"
    words: tuple[str, ...] = ()

    def fit(self, training):
        tally = training.count()
        return replace(self, words=tuple(tally.words["text"].words.tolist())), tally

    def word_weights(self, counted, class_counts, pseudo):
        weights = super().word_weights(counted, class_counts, pseudo)
        weights.table[[word not in self.words for word in counted.words.tolist()]] = 0.0
        return weights

    def to_state(self):
        return State({"words": list(self.words)}, [])

    def from_state(self, state, tally):
        if state is None or not all(isinstance(word, str) for word in state.header["words"]):
            raise BadFile("the first words are not words")
        return replace(self, words=tuple(state.header["words"]))


@pytest.fixture
def registered(monkeypatch):
    """Two recipes from outside, known until the test ends."""
    for recipe in (Binarised(), FirstWords()):
        monkeypatch.setitem(RECIPES, recipe.name, recipe)


def once(texts):
    """Documents in which every word stands once."""
    return [" ".join(dict.fromkeys(text.split())) for text in texts]


@pytest.mark.usefixtures("registered")
def test_a_recipe_from_outside_learns_forgets_merges_explains_and_is_saved():
    model = bk.TextClassifier("binarised").fit(TEXTS, LABELS)
    peer = bk.TextClassifier("multinomial").fit(once(TEXTS), LABELS)
    scores = peer.predict_joint_log_proba(once(NEW))
    np.testing.assert_allclose(model.predict_joint_log_proba(NEW), scores, rtol=1e-12)
    some, others = (bk.TextClassifier("binarised").fit(TEXTS[a:4:2], LABELS[a:4:2]) for a in (0, 1))
    grown = (some + others).partial_fit(TEXTS[4:], LABELS[4:])
    assert grown.tally_ == model.tally_
    assert grown.forget(["sun and wind"], ["good"]).tally_.n_rows == 4
    again = from_bytes(to_bytes(model))
    assert np.array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    told = model.explain(["sun sun rain"])[0]
    assert told.total == pytest.approx(told.base + sum(evidence for _, _, evidence in told.words))
    assert model.similarity(["sun sea"], ["sun"])[0, 0] == pytest.approx(1 / np.sqrt(2))
    with pytest.raises(AttributeError, match="no closed form"):
        _ = model.leave_one_out


@pytest.mark.usefixtures("registered")
def test_what_a_recipe_has_fitted_is_held_saved_and_handed_on():
    model = bk.TextClassifier("first_words").fit(TEXTS, LABELS)
    model = from_bytes(to_bytes(model.partial_fit(["snow"], ["bad"])))
    assert model.recipe_.words == ("and", "rain", "sea", "sun", "wind")
    assert "snow" in list(model.words_)
    assert model.predict_joint_log_proba(["snow"]) == pytest.approx(model.params_.log_prior[None])
    assert model.with_prior("uniform").recipe_ is model.recipe_
    wrong = bk.TextClassifier("binarised")
    with pytest.raises(BayesError, match="cannot use what 'first_words' has fitted"):
        wrong._fit_recipe(model.recipe_, model.tally_)
    assert not hasattr(wrong, "recipe_")


def test_a_file_that_names_an_unregistered_recipe_is_refused(monkeypatch):
    with monkeypatch.context() as known:
        known.setitem(RECIPES, "binarised", Binarised())
        data = to_bytes(bk.TextClassifier("binarised").fit(TEXTS, LABELS))
    with pytest.raises(BadFile, match="'binarised' is not one of 'multinomial'"):
        from_bytes(data)


CONDITIONAL = {
    "is_generative": (
        ["document_log_likelihood", "score_samples", "sample", "work", "predict_column_log_proba"],
        "not the probability of a document",
    ),
    "has_leave_one_out": (["_left_out", "leave_one_out", "leave_one_out_scores"], "no closed form"),
    "can_update": (
        ["partial_fit", "learn_source", "forget", "forget_source", "merge", "fit_tally"],
        "not a function of counts",
    ),
    "is_linear": (["to_logistic"], "depends on the other words"),
}


@pytest.mark.parametrize("flag", CONDITIONAL)
@pytest.mark.parametrize("name", RECIPES)
def test_every_unavailable_method_says_why_and_every_other_is_there(name, flag):
    recipe, model = RECIPES[name], bk.TextClassifier(name)
    assert recipe.name == name
    methods, reason = CONDITIONAL[flag]
    for method in methods:
        assert callable(getattr(bk.TextClassifier, method))
        if getattr(recipe, flag):
            assert callable(getattr(model, method))
        else:
            with pytest.raises(AttributeError, match=rf"TextClassifier has no {method}: .*{reason}"):
                getattr(model, method)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_that_is_registered_holds_nothing_and_learning_leaves_it_so(name):
    before = dict(vars(RECIPES[name]))
    model = bk.TextClassifier(name).fit(TEXTS, LABELS)
    assert vars(RECIPES[name]) == before
    assert model.recipe_.name == ("weighted" if name == "auto" else name)  # of so few documents
    held = {"weights_", "candidates_"} if model.recipe_.learns_by_weighted_em else set()
    held |= {"tfidf": {"held_"}, "twcnb": {"held_"}, "nbsvm": {"linear_"}, "best": {"linear_"}}.get(name, set())
    assert {a for a in ("weights_", "candidates_", "held_", "linear_") if hasattr(model, a)} == held
    lacking = {"nbsvm": "weights_", "best": "held_"}.get(name, "linear_")
    with pytest.raises(AttributeError, match=rf"no {lacking}: recipe='.*' fits no \w+"):
        getattr(model, lacking)
    with pytest.raises(AttributeError, match="no weights_: it is not fitted yet"):
        _ = bk.TextClassifier(name).weights_


@pytest.mark.parametrize("name", ["auto", "best", "fast", "weighted", "tfidf", "twcnb"])
def test_counts_alone_do_not_tell_what_a_recipe_fits_on_documents(name):
    tally, model = bk.TextClassifier(name).fit(TEXTS, LABELS).tally_, bk.TextClassifier(name)
    with pytest.raises(BayesError, match="call fit"):
        model.fit_tally(tally)
    assert not [attribute for attribute in vars(model) if attribute.endswith("_")]
    with pytest.raises(BayesError, match="takes a Tally, not dict"):
        model.fit_tally({})


@pytest.mark.parametrize(
    "ask",
    ["sample", "score_samples", "document_log_likelihood", "similarity", "centroid_similarity", "explain", "_left_out"],
)
def test_a_model_that_has_learned_nothing_says_so(ask):
    given = () if ask in ("sample", "_left_out") else (NEW,)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(bk.TextClassifier("multinomial"), ask)(*given)


def test_a_model_of_some_words_is_made_from_the_same_counts():
    model = bk.TextClassifier("multinomial").fit(TEXTS, LABELS)
    few = model._with_words([word in ("sun", "rain") for word in model.words_])
    peer = bk.TextClassifier("multinomial").fit(["sun sun", "sun", "rain", "rain", "sun"], LABELS)
    np.testing.assert_allclose(few.predict_proba(NEW), peer.predict_proba(NEW), rtol=1e-12)
    assert len(model.words_) == 5

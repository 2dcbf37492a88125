"""Arguments of the wrong form, and names of other libraries, are refused with what to pass instead."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.feather
import pytest
from sklearn.utils.class_weight import compute_sample_weight

from bayeskit import (
    AdviceWarning,
    BayesClassifier,
    BayesError,
    BayesOptimalClassifier,
    CostSensitive,
    GibbsClassifier,
    HiddenMarkovModel,
    LinearRegression,
    LogisticRegression,
    MarkovChain,
    NaiveBayes,
    SequenceClassifier,
    TextClassifier,
    load,
)

BIRDS = pd.DataFrame(
    {"sky": ["sun", "rain", "sun"] * 8, "wind": np.arange(24.0) % 7, "species": ["a", "b", "b", "a", "b", "b"] * 4}
)


def test_a_target_left_in_the_table_gives_a_warning_that_names_it():
    for y in (BIRDS["species"], BIRDS["species"].to_numpy(), BIRDS["species"].tolist()):
        with pytest.warns(AdviceWarning, match=r"'species' .* the model learns the answer from it|name of the target"):
            NaiveBayes().fit(BIRDS, y)


@pytest.mark.parametrize(
    ("y", "hint"), [(["species"], 'pass y="species"'), (2, 'pass y="species"'), (-1, 'pass y="species"')]
)
def test_a_list_or_position_in_place_of_the_name_of_the_target_is_refused_with_the_name(y, hint):
    with pytest.raises(BayesError) as refusal:
        NaiveBayes().fit(BIRDS, y)
    assert hint in str(refusal.value)


def test_a_column_of_several_levels_is_refused_with_its_name_as_text_which_works():
    frame = BIRDS.set_axis(pd.MultiIndex.from_tuples([("x", "sky"), ("x", "wind"), ("y", "species")]), axis=1)
    with pytest.raises(BayesError, match=r"pass y=\"\('y', 'species'\)\""):
        NaiveBayes().fit(frame, ("y", "species"))
    assert NaiveBayes().fit(frame, "('y', 'species')").classes_.tolist() == ["a", "b"]


def test_a_position_in_an_array_is_refused_with_how_to_take_the_labels_out():
    with pytest.raises(BayesError, match=r"X\[:, 2\]"):
        NaiveBayes().fit(np.zeros((5, 3)), 2)


def test_generators_are_refused_with_the_list_to_pass():
    with pytest.raises(BayesError, match=r"pass list\(X\)"):
        NaiveBayes().fit(({"sky": sky} for sky in "ab"), ["a", "b"])
    with pytest.raises(BayesError, match=r"pass list\(y\)"):
        NaiveBayes().fit({"sky": ["a", "b"]}, (label for label in "ab"))


@pytest.mark.parametrize("documents", ["a text", ["a text"]])
def test_one_text_with_one_label_is_refused_with_the_lists_to_pass(documents):
    with pytest.raises(BayesError, match=r"fit\(\[text, \.\.\.\], \[label, \.\.\.\]\)"):
        TextClassifier().fit(documents, "a")


@pytest.mark.parametrize(
    ("model", "peer", "told"),
    [
        (NaiveBayes, "n_jobs", "its name here is 'n_threads'"),
        (NaiveBayes, "alpha", "its name here is 'smoothing'"),
        (NaiveBayes, "cv", "cross_validate(model, X, y) takes folds="),
        (NaiveBayes, "class_weight", "pass class_weight= to fit"),
        (NaiveBayes, "verbose", "prints nothing"),
        (BayesClassifier, "verbose", "its name here is 'progress'"),
        (BayesClassifier, "n_estimators", "its name here is 'n_trees'"),
        (TextClassifier, "ngram_range", "its name here is 'ngrams'"),
    ],
)
def test_settings_of_other_libraries_are_answered_by_their_name_here(model, peer, told):
    with pytest.raises(TypeError) as refusal:
        model(**{peer: 1})
    assert told in str(refusal.value)
    with pytest.raises(BayesError) as refusal:
        model().set_params(**{peer: 1})
    assert told in str(refusal.value)


def test_no_advice_names_an_argument_that_fit_does_not_take():
    with pytest.raises(TypeError) as refusal:
        HiddenMarkovModel(class_weight="balanced")
    assert "to fit" not in str(refusal.value)


def test_classes_as_the_target_of_a_regression_are_refused_with_the_name_of_the_target():
    with pytest.raises(BayesError, match=r"column 'species' has 'a' in row 0.*take a classifier"):
        LinearRegression().fit(BIRDS, "species")


@pytest.mark.parametrize(
    "model",
    [
        NaiveBayes,
        LogisticRegression,
        CostSensitive,
        lambda: BayesOptimalClassifier([NaiveBayes(), LogisticRegression()], cv=2),
        lambda: GibbsClassifier([NaiveBayes(), LogisticRegression()], cv=2, random_state=0),
    ],
)
@pytest.mark.parametrize("class_weight", ["balanced", {"a": 5.0}])
def test_class_weights_equal_the_row_weights_of_scikit_learn(model, class_weight):
    X, y = BIRDS[["sky", "wind"]], BIRDS["species"]
    full = class_weight if class_weight == "balanced" else {"b": 1.0, **class_weight}
    weights = compute_sample_weight(full, y)
    by_class = model().fit(X, y, class_weight=class_weight)
    by_row = model().fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))
    by_name = model().fit(BIRDS, "species", class_weight=class_weight)
    np.testing.assert_array_equal(by_name.predict_proba(X), by_row.predict_proba(X))


def test_class_weights_of_texts_equal_row_weights():
    texts, y = ["a dog", "a cat", "rain and wind"], ["animal", "animal", "weather"]
    by_class = TextClassifier("multinomial").fit(texts, y, class_weight="balanced")
    by_row = TextClassifier("multinomial").fit(texts, y, sample_weight=compute_sample_weight("balanced", y))
    np.testing.assert_array_equal(by_class.predict_proba(texts), by_row.predict_proba(texts))


def test_class_weights_of_sequences_equal_their_row_weights():
    words, y = [list(word) for word in ("sole", "luna", "wind")], ["italian", "italian", "english"]
    by_class = SequenceClassifier().fit(words, y, class_weight="balanced")
    by_row = SequenceClassifier().fit(words, y, sample_weight=compute_sample_weight("balanced", y))
    np.testing.assert_array_equal(by_class.predict_proba(words), by_row.predict_proba(words))


@pytest.mark.parametrize(
    ("given", "problem"),
    [("even", 'give "balanced"'), ({"c": 2}, "no row has"), ({"a": -1}, "at least 0"), ({"a": "x"}, "at least 0")],
)
def test_class_weights_that_mean_nothing_are_refused(given, problem):
    with pytest.raises(BayesError, match=problem):
        NaiveBayes().fit(BIRDS, "species", class_weight=given)


def test_amounts_as_classes_get_advice_and_fractions_are_refused_with_it():
    rng = np.random.default_rng(0)
    X = BIRDS[["sky", "wind"]]
    with pytest.warns(AdviceWarning, match=r"pandas.qcut, or predict them by LinearRegression"):
        NaiveBayes().fit(X, rng.permutation(24) * 1000)
    with pytest.raises(BayesError, match=r"pandas.qcut, or predict them by LinearRegression"):
        NaiveBayes().fit(X, rng.normal(size=24))


def test_load_refuses_a_model_of_another_class(tmp_path):
    path = tmp_path / "m.bayes"
    NaiveBayes().fit(BIRDS, "species").save(path)
    assert isinstance(load(path, NaiveBayes), NaiveBayes)
    with pytest.raises(BayesError, match=r"m.bayes holds a NaiveBayes, not a TextClassifier"):
        load(path, TextClassifier)


def test_files_that_are_not_read_or_not_there_are_refused_in_their_own_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    BIRDS.to_csv("birds.csv", index=False)
    BIRDS.to_feather("birds.feather")
    with pytest.raises(BayesError, match=r"birds.feather is an Arrow file, .*what pyarrow.feather.read_table returns"):
        NaiveBayes().fit("birds.feather", "species")
    NaiveBayes().fit(pyarrow.feather.read_table("birds.feather"), "species")
    with pytest.raises(BayesError, match=r"there is no file or folder 'brids.csv' .*did you mean birds.csv\?"):
        NaiveBayes().fit("brids.csv", "species")
    with pytest.raises(BayesError, match=r"X is a list of texts .*\[Path\(…\), …\]"):
        NaiveBayes().fit(["birds.csv", "birds.csv"], "species")
    assert NaiveBayes().fit([Path("birds.csv"), Path("birds.csv")], "species").tally_.n_rows == 48
    with pytest.raises(BayesError, match=r"pass list\('abracadabra'\)"):
        MarkovChain().fit("abracadabra")
    with pytest.raises(BayesError, match="two classes, and there are 3"):
        CostSensitive(NaiveBayes(), precision=0.9).fit({"x": [1.0, 2.0, 3.0] * 4}, ["a", "b", "c"] * 4)

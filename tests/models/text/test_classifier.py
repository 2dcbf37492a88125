"""Documents: every recipe against scikit-learn, against refitting, and against bad input."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

import bayeskit as bk
from bayeskit.errors import BayesError, BayesWarning, NotLearned

COUNTED = ["multinomial", "set_of_words", "complement", "wcnb", "wnb"]
HELD = ["tfidf", "twcnb", "weighted", "fast", "auto"]
PLAIN = [*COUNTED, "tfidf", "twcnb"]
WORDS = [f"word{i}" for i in range(18)]


def corpus(n=60, seed=0, classes=("a", "b", "c")):
    """Documents whose words lean towards their class; some words stand in one document only."""
    rng = np.random.default_rng(seed)
    labels = [str(label) for label in rng.choice(classes, n)]
    labels[: len(classes)] = classes
    texts = []
    for i, label in enumerate(labels):
        shares = np.random.default_rng(classes.index(label)).dirichlet(np.full(len(WORDS), 0.3)) + 0.02
        drawn = [str(w) for w in rng.choice(WORDS, rng.integers(0, 15), p=shares / shares.sum())]
        texts.append(" ".join(drawn + ([f"only{i}"] * int(rng.integers(1, 3)) if i % 4 == 0 else [])))
    return texts, labels


@pytest.fixture(scope="module")
def real():
    """A real corpus that is always there: docstrings of the standard library by area."""
    import email.message
    import json
    import logging
    import pathlib
    import socket
    import threading
    import xml.dom.minidom

    texts, labels = [], []
    areas = {"text": [json, email.message, xml.dom.minidom], "system": [pathlib, logging, socket, threading]}
    for area, modules in areas.items():
        for module in modules:
            for thing in vars(module).values():
                for part in [thing, *(vars(thing).values() if isinstance(thing, type) else ())]:
                    doc = getattr(part, "__doc__", None)
                    if isinstance(doc, str):
                        texts.append(doc)
                        labels.append(area)
    return texts, labels


@pytest.mark.parametrize(
    ("recipe", "peer", "settings"),
    [
        ("multinomial", MultinomialNB(alpha=0.3), {"smoothing": 0.3}),
        ("set_of_words", BernoulliNB(alpha=0.3), {"smoothing": 0.3}),
        ("complement", ComplementNB(alpha=0.3), {"smoothing": 0.3, "prior": "uniform"}),
        ("wcnb", ComplementNB(alpha=0.3, norm=True), {"smoothing": 0.3, "prior": "uniform"}),
    ],
)
def test_recipes_equal_scikit_learn_on_a_real_corpus(real, recipe, peer, settings):
    texts, labels = real
    counts = CountVectorizer()
    peer.fit(counts.fit_transform(texts[::2]), labels[::2])
    model = bk.TextClassifier(recipe, **settings).fit(texts[::2], labels[::2])
    unseen = counts.transform(texts[1::2])
    np.testing.assert_allclose(model.predict_proba(texts[1::2]), peer.predict_proba(unseen), rtol=0, atol=1e-9)
    assert model.predict(texts[1::2]).tolist() == peer.predict(unseen).tolist()
    assert list(model.words_) == counts.get_feature_names_out().tolist()


@pytest.mark.slow
@pytest.mark.parametrize("recipe", PLAIN)
@pytest.mark.parametrize("smoothing", [1.0, 0.2])
def test_leave_one_out_equals_refitting_without_the_document(recipe, smoothing):
    texts, labels = corpus()
    model = bk.TextClassifier(recipe, smoothing=smoothing).fit(texts, labels)
    scores = model.leave_one_out_scores(texts, labels)
    for i in range(0, len(texts), 3):
        rest, theirs = texts[:i] + texts[i + 1 :], labels[:i] + labels[i + 1 :]
        if recipe in COUNTED:
            other = bk.TextClassifier(recipe, smoothing=smoothing).fit(rest, theirs)
        else:  # idf held; the own vector of tf-idf is made with df − 1
            other = clone_held(model).forget([texts[i]], [labels[i]])
        if recipe == "tfidf":
            continue
        np.testing.assert_allclose(scores[i], other.predict_joint_log_proba([texts[i]])[0], rtol=1e-9, atol=1e-9)


def clone_held(model):
    """The same fitted model, to be changed."""
    return model._with_tally(model.tally_)


def test_leave_one_out_of_tfidf_makes_the_own_vector_with_one_document_less():
    texts, labels = corpus()
    model = bk.TextClassifier("tfidf").fit(texts, labels)
    scores = model.leave_one_out_scores(texts, labels)
    words, n = list(model.words_), len(texts)
    df = {w: sum(w in t.split() for t in texts) for w in words}
    for i in range(0, n, 5):
        other = clone_held(model).forget([texts[i]], [labels[i]])
        known = [w for w in texts[i].split() if df[w] > 1]
        vector = {w: known.count(w) * np.log((n - 1) / (df[w] - 1)) for w in known}
        length = np.sqrt(sum(v * v for v in vector.values())) or 1.0
        table = {w: other.params_.table[j] for j, w in enumerate(other.words_)}
        score = other.params_.log_prior + sum((v / length * table[w] for w, v in vector.items()), np.zeros(3))
        np.testing.assert_allclose(scores[i], score, rtol=1e-9, atol=1e-9)


def test_a_word_that_every_document_has_is_not_gone_with_one_of_them():
    texts, labels = corpus(20)
    texts = [f"everywhere {text}" for text in texts]  # its idf is 0
    model = bk.TextClassifier("twcnb").fit(texts, labels)
    scores = model.leave_one_out_scores(texts, labels)
    for i in range(20):
        other = clone_held(model).forget([texts[i]], [labels[i]])
        np.testing.assert_allclose(scores[i], other.predict_joint_log_proba([texts[i]])[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("classes", [("a", "b"), ("a", "b", "c", "d")])
def test_leave_one_out_of_weighted_evidence_is_forgetting_with_the_weights_held(classes):
    texts, labels = corpus(80, classes=classes)
    model = bk.TextClassifier("weighted").fit(texts, labels)
    scores = model.leave_one_out_scores(texts, labels)
    bands = model.counted_.totals("documents")
    for i in range(0, len(texts), 7):
        other = clone_held(model).forget([texts[i]], [labels[i]])
        # bands are by the document frequency with the document: held, too
        at = other.words_.positions(texts[i].split())
        same = all(
            int(min(7, np.log2(max(bands[model.words_.positions([w])[0]], 2)) / 1.5))
            == int(min(7, np.log2(max(bands[model.words_.positions([w])[0]] - 1, 2)) / 1.5))
            for w, j in zip(texts[i].split(), at, strict=True)
            if j >= 0
        )
        if not same:
            continue
        prior = other.params_.log_prior
        ours = scores[i] - scores[i].mean()
        theirs = other.predict_joint_log_proba([texts[i]])[0]
        np.testing.assert_allclose(ours, theirs - theirs.mean(), rtol=1e-9, atol=1e-9)
        assert len(prior) == len(classes)


@pytest.mark.parametrize("recipe", [*PLAIN, "weighted", "fast", "auto"])
def test_forgetting_undoes_learning(recipe):
    texts, labels = corpus()
    model = bk.TextClassifier(recipe).fit(texts[:40], labels[:40])
    before = model.predict_joint_log_proba(texts)
    model.partial_fit(texts[40:], labels[40:])
    assert not np.allclose(model.predict_joint_log_proba(texts), before)
    model.forget(texts[40:], labels[40:])
    np.testing.assert_allclose(model.predict_joint_log_proba(texts), before, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("recipe", COUNTED)
def test_learning_in_parts_and_merging_equal_one_fit_to_the_bit(recipe):
    texts, labels = corpus()
    whole = bk.TextClassifier(recipe).fit(texts, labels)
    parts = bk.TextClassifier(recipe).partial_fit(texts[:20], labels[:20]).partial_fit(texts[20:], labels[20:])
    merged = bk.TextClassifier(recipe).fit(texts[:30], labels[:30]) + bk.TextClassifier(recipe).fit(
        texts[30:], labels[30:]
    )
    for other in (parts, merged):
        assert other.tally_ == whole.tally_
        assert np.array_equal(other.predict_joint_log_proba(texts), whole.predict_joint_log_proba(texts))


@pytest.mark.parametrize("recipe", ["tfidf", "twcnb", "weighted"])
def test_merging_with_held_settings_adds_the_documents(recipe):
    texts, labels = corpus()
    a = bk.TextClassifier(recipe).fit(texts[:30], labels[:30])
    more = clone_held(a).partial_fit(texts[30:], labels[30:])
    assert more.tally_.n_rows == 60
    assert np.isfinite(more.predict_proba(texts)).all()


@pytest.mark.parametrize("recipe", [*PLAIN, "weighted", "auto", "nbsvm"])
def test_an_explanation_sums_to_the_log_odds(recipe):
    texts, labels = corpus()
    model = bk.TextClassifier(recipe).fit(texts, labels)
    scores = np.sort(model.predict_joint_log_proba(texts), axis=1)
    for i, record in enumerate(model.explain(texts)):
        assert record.total == pytest.approx(scores[i, -1] - scores[i, -2], abs=1e-9)
        assert record.total == pytest.approx(record.base + sum(e for _, _, e in record.words), abs=1e-9)
        assert record.label == model.predict([texts[i]])[0]
    against = model.explain(texts[:1], against="b")[0]
    assert against.other == "b"
    told = model.telling_words(3)
    assert len(told["word"]) == 9


@pytest.mark.parametrize("recipe", [*PLAIN, "weighted", "auto"])
def test_a_weight_of_two_is_the_document_twice(recipe):
    texts, labels = corpus(30)
    twice = bk.TextClassifier(recipe, ngrams=(1, 1)).fit(texts + texts, labels + labels)
    weighted = bk.TextClassifier(recipe, ngrams=(1, 1)).fit(texts, labels, sample_weight=[2.0] * len(texts))
    np.testing.assert_allclose(weighted.predict_proba(texts), twice.predict_proba(texts), atol=1e-5)


@pytest.mark.parametrize("recipe", COUNTED)
def test_a_document_of_weight_zero_adds_no_word_and_no_class(recipe):
    texts, labels = corpus(30)
    model = bk.TextClassifier(recipe).fit([*texts, "never"], [*labels, "z"], sample_weight=[1.0] * 30 + [0.0])
    assert "z" not in model.classes_
    assert "never" not in list(model.words_)


def test_the_number_of_threads_changes_no_bit():
    texts, labels = corpus(300)
    one, three = (bk.TextClassifier(n_threads=n).fit(texts, labels) for n in (1, 3))
    assert np.array_equal(one.predict_proba(texts), three.predict_proba(texts))


def test_words_have_pseudo_counts_of_their_own():
    texts, labels = ["sun", "rain"], ["good", "bad"]
    model = bk.TextClassifier("multinomial", smoothing={"rain": 3.0}).fit(texts, labels)
    p = np.exp(model.params_.table)  # words rain, sun; classes bad, good
    np.testing.assert_allclose(p, [[4 / 5, 3 / 5], [1 / 5, 2 / 5]])


def test_the_prior_can_be_turned_off():
    texts, labels = ["sun", "sun", "rain"], ["good", "good", "bad"]
    model = bk.TextClassifier("multinomial").fit(texts, labels)
    assert model.predict_proba([""])[0].tolist() == pytest.approx([1 / 3, 2 / 3])
    assert model.with_prior("uniform").predict_proba([""])[0].tolist() == [0.5, 0.5]


def test_auto_chooses_by_leave_one_out_and_says_among_what():
    texts, labels = corpus(80)
    model = bk.TextClassifier().fit(texts, labels)
    losses = model.candidates_["log loss"]
    assert len(losses) == 8
    assert model.weights_.log_loss <= min(losses) + 1e-4
    fixed = bk.TextClassifier("weighted", smoothing=0.3, ngrams=(1, 2)).fit(texts, labels)
    assert fixed.weights_.a == 0.3


def test_weights_fitted_on_many_classes_give_probabilities_that_sum_to_one():
    texts, labels = corpus(80)
    p = bk.TextClassifier().fit(texts, labels).predict_proba(texts)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_new_words_and_classes_may_come_later():
    model = bk.TextClassifier("multinomial").fit(["sun sun", "rain"], ["good", "bad"])
    model.partial_fit(["hail storm"], ["worse"])
    assert model.predict(["hail"]).tolist() == ["worse"]
    held = bk.TextClassifier("multinomial", min_df=2).fit(["sun sea", "sun", "rain sea"], ["good", "good", "bad"])
    assert list(held.words_) == ["sea", "sun"]
    held.partial_fit(["hail hail", "hail"], ["bad", "bad"])
    assert list(held.words_) == ["sea", "sun"]


# -- what comes in ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, pl.Series, pa.array, pa.chunked_array])
def test_documents_come_in_any_column_of_strings(kind):
    texts, labels = corpus(30)
    given = kind([texts[:10], texts[10:]]) if kind is pa.chunked_array else kind(texts)
    model = bk.TextClassifier("multinomial").fit(given, labels)
    assert model.predict(given).tolist() == bk.TextClassifier("multinomial").fit(texts, labels).predict(texts).tolist()
    assert model.score(given, labels) > 0.5


def test_text_and_labels_may_be_columns_of_a_table():
    texts, labels = corpus(30)
    frame = pd.DataFrame({"id": range(30), "body": texts, "kind": labels})
    model = bk.TextClassifier("fast", column="body").fit(frame, "kind")
    assert model.table().column_names[0] == "kind" if hasattr(model.table(), "column_names") else True
    assert model.predict(frame[["body"]]).tolist() == model.predict(texts).tolist()
    with pytest.raises(BayesError, match="column="):
        bk.TextClassifier("fast").fit(frame, "kind")


@pytest.mark.parametrize("recipe", [*PLAIN, "auto", "fast"])
def test_a_document_without_known_words_gets_the_prior(recipe):
    texts, labels = corpus(60)
    model = bk.TextClassifier(recipe).fit(texts, labels)
    if recipe == "set_of_words":  # absence of every word says something
        assert np.isfinite(model.predict_proba(["", "unheard of"])).all()
        return
    p = model.predict_proba(["", "unheard of", None])
    prior = (
        np.full(3, 1 / 3)
        if recipe in ("wcnb", "wnb", "twcnb")
        else np.unique(labels, return_counts=True)[1] / len(labels)
    )
    np.testing.assert_allclose(p, np.tile(prior, (3, 1)))
    record = model.explain(["unheard of"])[0]
    assert record.words == ()
    assert record.n_unknown == 2
    assert "no known word" in str(record)


def test_documents_that_are_no_text_are_refused_with_their_row():
    with pytest.raises(BayesError, match=r"row 0.*text is expected"):
        bk.TextClassifier("multinomial").fit([1.5, 2.5], ["a", "b"])
    with pytest.raises(BayesError, match=r"row 1.*text is expected"):
        bk.TextClassifier("auto").fit(["words", 7], ["a", "b"])
    with pytest.raises(BayesError, match="list of one"):
        bk.TextClassifier().fit("a document", ["a"])
    with pytest.raises(BayesError, match="counts"):
        bk.TextClassifier().fit(CountVectorizer().fit_transform(["a few words"]), ["a"])
    with pytest.raises(BayesError, match="no documents"):
        bk.TextClassifier().fit([], [])


@pytest.mark.parametrize("recipe", [*PLAIN, "auto", "fast"])
def test_one_class_is_learned_and_said(recipe):
    with pytest.warns(BayesWarning, match="one class only"):
        model = bk.TextClassifier(recipe).fit(["sun sea", "sea"], ["good", "good"])
    assert model.predict(["rain"]).tolist() == ["good"]
    assert model.predict_proba(["sea"]).tolist() == [[1.0]]


@pytest.mark.parametrize("recipe", [*PLAIN, "auto", "fast"])
def test_documents_that_are_all_empty_leave_the_prior(recipe):
    with pytest.warns(BayesWarning, match="no document has a word"):
        model = bk.TextClassifier(recipe).fit(["", "", ""], ["a", "a", "b"])
    expected = [0.5, 0.5] if recipe in ("wcnb", "wnb", "twcnb") else [2 / 3, 1 / 3]
    np.testing.assert_allclose(model.predict_proba(["", "word"]), [expected] * 2)


def test_odd_characters_are_read_and_no_error():
    texts = ["nul\0nul and nul", "half \ud800 pair", "ok"]
    model = bk.TextClassifier("multinomial").fit(texts, ["a", "b", "b"])
    assert model.predict(["nul"]).tolist() == ["a"]
    assert model.predict(["pair \udfff"]).tolist() == ["b"]


def test_settings_that_mean_nothing_are_refused():
    for settings, message in [
        ({"recipe": "magic"}, "recipe"),
        ({"smoothing": -1, "recipe": "multinomial"}, "finite number from 0"),
        ({"smoothing": {"a": -1}, "recipe": "multinomial"}, "pseudo-count"),
        ({"smoothing": bk.MEstimate(2, "marginal"), "recipe": "multinomial"}, "rule for words"),
        ({"smoothing": 0, "recipe": "auto"}, "over 0"),
        ({"smoothing": 0, "recipe": "complement"}, "over 0"),
        ({"ngrams": (2, 1)}, "ngrams"),
        ({"pattern": "("}, "expression"),
    ]:
        with pytest.raises(BayesError, match=message):
            bk.TextClassifier(**settings).fit(["some words", "more words"], ["a", "b"])


def test_a_failed_fit_leaves_the_model_as_it_was():
    texts, labels = corpus(30)
    model = bk.TextClassifier("weighted").fit(texts, labels)
    before = model.predict_proba(texts)
    with pytest.raises(BayesError):
        model.fit([1, 2], ["a", "b"])
    with pytest.raises(NotLearned):
        model.forget(["never learned at all"], ["a"])
    assert np.array_equal(model.predict_proba(texts), before)


def test_what_a_recipe_cannot_honor_is_absent():
    linear = bk.TextClassifier("nbsvm")
    for name in ("partial_fit", "forget", "merge", "leave_one_out_scores", "fit_tally", "sample"):
        assert not hasattr(linear, name)
    for recipe in ("complement", "tfidf", "auto"):
        assert not hasattr(bk.TextClassifier(recipe), "sample")
        assert not hasattr(bk.TextClassifier(recipe), "score_samples")


def test_unsmoothed_words_can_make_a_document_impossible():
    model = bk.TextClassifier("multinomial", smoothing=0).fit(["sun", "rain"], ["a", "b"])
    assert model.predict(["sun"]).tolist() == ["a"]
    with pytest.warns(bk.UndecidableWarning):
        assert model.predict_proba(["sun rain"]).tolist() == [[0.5, 0.5]]


# -- drawing and likelihood ------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", ["multinomial", "set_of_words"])
def test_drawn_documents_are_classified_as_what_they_were_drawn_from(recipe):
    texts, labels = corpus(200)
    model = bk.TextClassifier(recipe).fit(texts, labels)
    drawn, classes = model.sample(300, random_state=0)
    assert set(classes) <= {"a", "b", "c"}
    assert (model.predict(drawn) == classes).mean() > 0.7
    assert model.sample(3, random_state=1)[0] == model.sample(3, random_state=1)[0]


def test_the_likelihoods_of_all_short_documents_sum_to_one():
    model = bk.TextClassifier("multinomial", pattern="words1").fit(["a b", "b b", "a"], ["x", "y", "y"])
    bags = ["", *("a " * i + "b " * j for i in range(25) for j in range(25) if i + j)]
    assert np.exp(model.score_samples(bags)).sum() == pytest.approx(1.0, abs=1e-6)
    sets = bk.TextClassifier("set_of_words", pattern="words1").fit(["a b", "b b", "a"], ["x", "y", "y"])
    assert np.exp(sets.score_samples(["", "a", "b", "a b"])).sum() == pytest.approx(1.0)


# -- similarity ------------------------------------------------------------------------------------------------


def test_similarity_is_the_cosine_of_word_counts():
    model = bk.TextClassifier("multinomial").fit(["sun sun sea", "rain"], ["good", "bad"])
    cosine = model.similarity(["sun sea", "rain", ""], ["sun", "rain"])
    np.testing.assert_allclose(cosine, [[1 / np.sqrt(2), 0], [0, 1], [0, 0]])
    to_classes = model.centroid_similarity(["sun", "rain"])  # bad, good
    np.testing.assert_allclose(to_classes, [[0, 2 / np.sqrt(5)], [1, 0]])
    np.testing.assert_allclose(np.diag(model.similarity(["sun sea", "rain"])), 1.0)


@pytest.mark.parametrize("recipe", ["tfidf", "twcnb", "weighted", "multinomial"])
def test_values_stand_under_their_own_words_and_survive_saving(recipe):
    texts, labels = ["zebra apple all", "all apple", "all mango mango"], ["x", "y", "y"]  # idf of "all" is 0
    model = bk.TextClassifier(recipe).fit(texts, labels)
    rows, words = model.document_values(["mango zebra", "zebra mango"]).toarray(), list(model.words_)
    np.testing.assert_allclose(rows[0], rows[1])
    assert {words[i] for i in np.flatnonzero(rows[0])} == {"mango", "zebra"}
    assert rows[0][words.index("mango")] != 0
    assert bk.Tally.from_bytes(model.tally_.to_bytes()) == model.tally_


# -- scikit-learn ----------------------------------------------------------------------------------------------


def test_it_is_a_scikit_learn_classifier_of_strings():
    texts, labels = corpus(90)
    model = bk.TextClassifier("fast")
    tags = model.__sklearn_tags__()
    assert not tags.input_tags.two_d_array
    assert tags.input_tags.string
    assert clone(model).get_params() == model.get_params()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cross_val_score(model, texts, labels, cv=3).mean() > 0.5


@pytest.mark.slow
def test_a_document_of_100_mb_is_learned_and_classified():
    long = "Storm and rain " * 7_000_000
    model = bk.TextClassifier("multinomial").fit([long, "sun and sea"], ["bad", "good"])
    assert model.counted_.n_tokens.tolist() == [21_000_000, 3]
    assert model.predict([long, "sea"]).tolist() == ["bad", "good"]


@pytest.mark.parametrize("wrong", [5, 2.5, object()])
def test_what_is_no_list_of_documents_is_refused(wrong):
    model = bk.TextClassifier().fit(["fine day", "grey day"], ["a", "b"])
    for call in (model.predict, model.work if hasattr(model, "work") else model.explain):
        with pytest.raises(bk.BayesError, match=r"documents are strings in a list, series or column, not an? "):
            call(wrong)
    with pytest.raises(bk.BayesError, match="documents are strings in a list"):
        bk.TextClassifier().fit(wrong, ["a"])


def test_the_weights_of_the_normalized_multinomial_have_equal_totals_in_all_classes():
    texts, labels = ["a a b", "b c", "c c a d"], ["x", "y", "y"]
    model = bk.TextClassifier("wnb", pattern="words1", smoothing=0.5, prior="empirical").fit(texts, labels)
    scores = dict(zip(model.classes_, model.predict_joint_log_proba(["a d a"])[0], strict=True))
    for label, joined in (("x", "a a b"), ("y", "b c c c a d")):
        words = joined.split()
        log_theta = {w: np.log((words.count(w) + 0.5) / (len(words) + 0.5 * 4)) for w in "abcd"}
        total = sum(abs(weight) for weight in log_theta.values())
        score = np.log(labels.count(label) / 3) + (2 * log_theta["a"] + log_theta["d"]) / total
        assert scores[label] == pytest.approx(score, rel=1e-12)
    with pytest.raises(bk.BayesError, match="needs smoothing over 0"):
        bk.TextClassifier("wnb", pattern="words1", smoothing=0).fit(texts, labels)

"""A text column beside others in naive Bayes."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

import bayeskit as bk
from bayeskit.data.frames import open_source
from bayeskit.datasets import load_docstrings

ROLES = {"body": "text"}


@pytest.fixture(scope="module")
def documents():
    table = load_docstrings()
    return table.take(np.arange(0, table.num_rows, 6))


@pytest.fixture
def mail():
    rng = np.random.default_rng(0)
    words = np.array(["cheap", "pills", "meeting", "noon", "report", "Größe", "now"])
    label = rng.integers(0, 3, 40)
    body = [" ".join(rng.choice(words[c : c + 5], rng.integers(0, 6))) if rng.random() < 0.9 else None for c in label]
    links = rng.normal(label, 1.0)
    sender = rng.choice(["known", "unknown"], 40).tolist()
    return pa.table({"body": body, "links": links, "sender": sender}), np.array(["a", "b", "c"])[label]


@pytest.mark.slow
def test_a_text_alone_is_multinomial_naive_bayes(documents):
    texts, areas = documents["text"].to_pylist(), documents["area"].to_pylist()
    ours = bk.NaiveBayes(roles=ROLES, smoothing=0.3).fit({"body": texts}, areas)
    vectorizer = CountVectorizer()
    theirs = MultinomialNB(alpha=0.3).fit(vectorizer.fit_transform(texts), areas)
    expected = theirs.predict_proba(vectorizer.transform(texts))
    np.testing.assert_allclose(ours.predict_proba({"body": texts}), expected, atol=1e-9)
    assert ours.n_parameters_ == len(ours.classes_) * (len(vectorizer.vocabulary_) - 1) + len(ours.classes_) - 1


def test_evidence_of_columns_adds_up(mail):
    X, y = mail
    whole = bk.NaiveBayes(roles=ROLES).fit(X, y)
    parts = [whole.restrict([name]) for name in X.column_names]
    joint = sum(part.predict_joint_log_proba(X) for part in parts) - 2 * whole.params_.log_prior
    np.testing.assert_allclose(whole.predict_joint_log_proba(X), joint)


@pytest.mark.parametrize("smoothing", [1.0, 0.2])
def test_leave_one_out_is_refitting_without_the_row(mail, smoothing):
    X, y = mail
    settings = {"roles": ROLES, "smoothing": smoothing}
    model = bk.NaiveBayes(**settings).fit(X, y)
    block = next(iter(model._encoder().blocks(open_source(X, y))))
    scores = model._left_out().scores(block)
    for i in range(0, X.num_rows, 3):
        rest = np.delete(np.arange(X.num_rows), i)
        refitted = bk.NaiveBayes(**settings).fit(X.take(rest), y[rest])
        np.testing.assert_allclose(scores[i], refitted.predict_joint_log_proba(X.slice(i, 1))[0], atol=1e-9)


def test_a_row_that_takes_its_class_along_is_scored_by_the_others():
    X, y = {"body": ["sun rain", "sun", "hail sun", "rain"]}, ["a", "a", "b", "a"]
    model = bk.NaiveBayes(roles=ROLES).fit(X, y)
    block = next(iter(model._encoder().blocks(open_source(X, y))))
    scores = model._left_out().scores(block)
    with pytest.warns(bk.BayesWarning, match="one class"):
        refitted = bk.NaiveBayes(roles=ROLES).fit({"body": ["sun rain", "sun", "rain"]}, ["a", "a", "a"])
    assert scores[2, 0] == pytest.approx(refitted.predict_joint_log_proba({"body": ["hail sun"]})[0, 0])
    assert np.isneginf(scores[2, 1])


def test_tuning_looks_at_the_words(mail):
    X, y = mail
    assert bk.NaiveBayes(roles=ROLES).tune(X.select(["body"]), y).smoothing != 1.0


def test_empty_missing_and_unknown_texts_say_nothing():
    model = bk.NaiveBayes(roles=ROLES).fit({"body": ["sun", "rain rain", "rain"]}, ["a", "b", "b"])
    for body in ("", None, "words never seen", "\0 \x00"):
        np.testing.assert_allclose(model.predict_proba(pa.table({"body": pa.array([body])})), [[1 / 3, 2 / 3]])


def test_numbers_where_text_is_expected_are_refused():
    with pytest.raises(bk.BayesError, match=r"'body' has '1' in row 0, an int where text is expected"):
        bk.NaiveBayes(roles=ROLES).fit({"body": [1, 2]}, ["a", "b"])


def test_a_random_tie_depends_on_the_words_and_not_on_their_order():
    model = bk.NaiveBayes(roles={"body": "text"}, ties="random", random_state=0)
    model.fit({"body": ["sun rain hail snow", "sun rain hail snow"]}, ["a", "b"])
    texts = ["sun rain", "rain sun", "hail", "snow hail", "hail snow", "sun snow rain"]
    chosen = model.predict({"body": texts})
    assert chosen[0] == chosen[1]
    assert chosen[3] == chosen[4]
    assert (model.predict({"body": texts[::-1]})[::-1] == chosen).all()


def test_drawn_texts_are_of_the_words_of_their_class(mail):
    X, y = mail
    rows, labels = bk.NaiveBayes(roles=ROLES, smoothing=0).fit(X, y).sample(30, random_state=1)
    seen = {c: set() for c in "abc"}
    for text, c in zip(X["body"].to_pylist(), y, strict=True):
        seen[c].update((text or "").lower().split())
    for text, label in zip(rows["body"], labels, strict=True):
        assert set(text.split()) <= seen[label]


def test_a_schema_with_a_tokenizer_is_written_and_read():
    role = bk.Text(bk.Tokenizer("char_wb", (2, 3), stop_words=["a"], hash_bits=12))
    schema = bk.Schema({"body": role})
    assert bk.Schema.from_json(schema.to_json()) == schema
    with pytest.raises(bk.BayesError, match="callable"):
        bk.Schema({"body": bk.Text(bk.Tokenizer(str.split))}).to_json()
    broken = schema.to_json()
    broken["columns"][0]["tokenizer"]["ngrams"] = [0, 1]
    with pytest.raises(bk.BayesError):
        bk.Schema.from_json(broken)


def test_long_strings_are_advised_to_be_read_as_text(documents):
    with pytest.warns(bk.AdviceWarning, match="roles={'body': \"text\"}"):
        bk.NaiveBayes().fit({"body": documents["text"]}, documents["area"])

"""TokenCounter beside CountVectorizer: the same vocabulary, the same matrix."""

import os
import pickle
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from bayeskit import BayesError, TokenCounter
from bayeskit.datasets import load_docstrings

SETTINGS = [
    {},
    {"lowercase": False},
    {"binary": True, "dtype": np.float32},
    {"ngram_range": (1, 2), "min_df": 2},
    {"ngram_range": (2, 3), "max_df": 0.01},
    {"stop_words": "english", "max_df": 0.2, "min_df": 0.001},
    {"max_features": 500},
    {"max_features": 500, "binary": True},
    {"analyzer": "char", "ngram_range": (1, 3), "min_df": 3},
    {"analyzer": "char_wb", "ngram_range": (2, 4), "max_features": 2000},
    {"token_pattern": r"(?u)\b\w+\b"},
    {"token_pattern": r"(?u)\w+|[^\w\s]"},
    {"token_pattern": r"\b[a-z]{3,}\b", "min_df": 5},
    {"tokenizer": str.split, "token_pattern": None},
    {"preprocessor": str.upper},
    {"strip_accents": "unicode"},
    {"analyzer": str.splitlines},
    {"vocabulary": ["file", "the", "a", "socket"]},
    {"vocabulary": {"socket": 0, "file": 1}, "binary": True},
]


def same(ours, theirs):
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    assert ours.has_sorted_indices
    theirs = theirs.copy()
    theirs.sort_indices()  # CountVectorizer leaves them as the words came
    for part in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(ours, part), getattr(theirs, part)), part


@pytest.fixture(scope="session")
def documents():
    return load_docstrings()["text"].to_pylist()[::4]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The parameter 'token_pattern'")
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_vocabulary_and_matrix_are_those_of_count_vectorizer(settings, documents):
    ours, theirs = TokenCounter(**settings), CountVectorizer(**settings)
    learned, new = documents[: len(documents) // 2], documents[len(documents) // 2 :]
    same(ours.fit_transform(learned), theirs.fit_transform(learned))
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert ours.vocabulary_ == {word: int(column) for word, column in theirs.vocabulary_.items()}
    same(ours.transform(new), theirs.transform(new))
    found = zip(ours.inverse_transform(ours.transform(new[:5])), theirs.inverse_transform(theirs.transform(new[:5])))  # noqa: B905
    assert all(sorted(a) == sorted(b) for a, b in found)
    assert ours.build_analyzer()(documents[0]) == theirs.build_analyzer()(documents[0])


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["20news_bydate", "reuters_r8", "sms_spam", "spamassassin", "imdb50k"])
def test_real_corpora_give_the_same_matrix(corpus):
    if "BAYESKIT_DATA" not in os.environ:
        pytest.skip("BAYESKIT_DATA, the folder of larger data, is not set")
    texts = pq.read_table(Path(os.environ["BAYESKIT_DATA"]) / "text" / f"{corpus}.parquet")["text"]
    texts = texts.take(np.arange(0, len(texts), max(1, len(texts) // 2000)))
    for settings in ({}, {"ngram_range": (1, 2), "min_df": 2}):
        theirs = CountVectorizer(**settings)
        same(TokenCounter(**settings).fit_transform(texts), theirs.fit_transform(texts.to_pylist()))


@pytest.mark.parametrize(
    "settings", [{}, {"min_df": 3}, {"max_features": 50}, {"binary": True, "max_df": 0.5}], ids=str
)
def test_learning_in_parts_is_learning_at_once(settings, documents):
    whole, parts = TokenCounter(**settings).fit(documents), TokenCounter(**settings)
    for start in range(0, len(documents), 400):
        parts.partial_fit(documents[start : start + 400])
    assert parts.vocabulary_ == whole.vocabulary_
    same(parts.transform(documents[:9]), whole.transform(documents[:9]))


def test_the_number_of_threads_changes_nothing(documents):
    same(*(TokenCounter(n_threads=n).fit_transform(documents) for n in (1, 4)))


def test_files_and_bytes_are_read(tmp_path):
    names = []
    for i, text in enumerate(["ein großer Fluß", "ein Wort"]):
        names.append(tmp_path / f"{i}.txt")
        names[-1].write_bytes(text.encode("latin-1"))
    settings = {"input": "filename", "encoding": "latin-1"}
    same(TokenCounter(**settings).fit_transform(names), CountVectorizer(**settings).fit_transform(names))
    raw = [b"gro\xdfer Flu\xdf", "Größe".encode()]
    for error in ("replace", "ignore"):
        ours, theirs = TokenCounter(decode_error=error), CountVectorizer(decode_error=error)
        same(ours.fit_transform(raw), theirs.fit_transform(raw))
        assert ours.vocabulary_ == theirs.vocabulary_
    with pytest.raises(BayesError, match=r"row 0 is not UTF-8.*decode_error"):
        TokenCounter().fit(raw)


def test_it_stands_in_a_pipeline_is_cloned_and_pickled(documents):
    labels = [len(text) % 2 for text in documents[:100]]
    model = make_pipeline(TokenCounter(n_threads=1), LogisticRegression()).fit(documents[:100], labels)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(documents[:50]), model.predict(documents[:50]))
    assert clone(model[0]).get_params() == model[0].get_params()
    tags = model[0].__sklearn_tags__().input_tags
    assert tags.string
    assert not tags.two_d_array


@pytest.mark.parametrize(
    ("settings", "documents", "says"),
    [
        ({}, "one string", "string object received"),
        ({}, ["a", None], "row 1 is missing"),
        ({}, [1, 2], "text is expected"),
        ({}, ["a", "b"], "empty vocabulary"),
        ({"min_df": 5}, ["some words"], "max_df corresponds to < documents than min_df"),
        ({"min_df": 2}, ["some words", "other things"], "no terms remain"),
        ({"min_df": -1}, ["some words"], "min_df"),
        ({"max_df": 1.5}, ["some words"], "max_df"),
        ({"max_features": 0}, ["some words"], "max_features"),
        ({"vocabulary": []}, ["some words"], "empty vocabulary"),
        ({"vocabulary": ["a", "a"]}, ["some words"], "Duplicate term"),
        ({"vocabulary": {"a": 1}}, ["some words"], "every index"),
        ({"input": "tape"}, ["some words"], "input"),
    ],
    ids=str,
)
def test_bad_input_is_refused_with_a_remedy(settings, documents, says):
    with pytest.raises(BayesError, match=says):
        TokenCounter(**settings).fit(documents)


def test_nothing_is_said_before_fitting():
    with pytest.raises(NotFittedError):
        TokenCounter().transform(["some words"])
    assert TokenCounter(vocabulary=["words"]).transform(["some words"]).toarray().tolist() == [[1]]


def test_buckets_bound_the_number_of_columns(documents):
    counter = TokenCounter(hash_bits=6)
    matrix = counter.fit_transform(documents)
    assert matrix.shape[1] <= 64
    assert matrix.sum() == CountVectorizer().fit_transform(documents).sum()
    assert all(name.startswith("#") for name in counter.get_feature_names_out())


def test_raw_tf_idf_is_not_divided_by_its_length():
    texts = ["a great game", "the election was over", "very clean match"]
    raw = TokenCounter(token_pattern=r"(?u)\b\w+\b", tf_idf=True, normalize=False).fit(texts)
    whole = TokenCounter(token_pattern=r"(?u)\b\w+\b", tf_idf=True).fit(texts)
    values, lengths = raw.transform(["game game over"]).toarray(), whole.transform(["game game over"]).toarray()
    assert sorted(values[values > 0]) == pytest.approx([np.log(3), 2 * np.log(3)])
    assert values / np.linalg.norm(values) == pytest.approx(lengths)


def test_documents_are_given_by_position_or_by_name():
    texts = ["a red hat", "the hat"]
    by_name = TokenCounter().fit_transform(raw_documents=texts)
    assert (by_name != TokenCounter().fit_transform(texts)).nnz == 0


@pytest.mark.parametrize("X", [["red hat"], [[1, 2]]])
def test_what_is_no_matrix_of_its_words_has_no_words(X):
    with pytest.raises(BayesError, match=r"X is not a matrix of counts|give one for each of the 3 words"):
        TokenCounter().fit(["red hat", "the hat"]).inverse_transform(X)

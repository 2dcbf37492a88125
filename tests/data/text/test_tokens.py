"""Tokens and their counts against Python's re and scikit-learn's CountVectorizer."""

import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from bayeskit import kernels
from bayeskit.data.text.documents import Documents
from bayeskit.data.text.tokenizer import EMOJI, PATTERNS, Tokenizer, bucket
from bayeskit.data.text.tokens import count_classes, count_documents, count_tokens, cut_of, sum_by_class
from bayeskit.data.text.word_list import Words, pack_words, union
from bayeskit.errors import BadFile, BayesError

EXPRESSIONS = {
    "words": r"(?u)\b\w\w+\b",
    "words1": r"(?u)\b\w+\b",
    "words_and_punctuation": r"(?u)\w+|[^\w\s]",
    "words_and_emoji": rf"(?u)\b\w\w+\b|{EMOJI}",
}
# Letters with a lower case of their own rules, marks that are not letters, all kinds of space, and plain words.
ODD = "ΣςσİIıßẞǅﬁAa_09 .'\u00ad\u0307\u02b0\u0345\t\n\u2028\x00\x1c\u00a0\u3000étÉ中𝔸𐐀ԱᏣ٣²Ⅷ\U000e0100\ufffd😀👍🏽☀❶🇫"
texts = st.lists(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(ODD), max_size=40), max_size=5)


def counted(documents, tokenizer, **kwargs):
    """Each document as {word: count}."""
    rows = count_documents(documents, tokenizer, **kwargs)
    words = rows.words.tolist()
    assert words == sorted(set(words))
    cells = [range(a, b) for a, b in zip(rows.indptr, rows.indptr[1:], strict=False)]
    return [{words[rows.ids[k]]: int(rows.counts[k]) for k in cell} for cell in cells]


def by_re(document, expression, lowercase=True):
    return Counter(re.findall(expression, document.lower() if lowercase else document))


@pytest.mark.slow
@pytest.mark.parametrize("pattern", EXPRESSIONS)
@given(documents=texts, lowercase=st.booleans())
def test_words_of_any_text_are_those_of_re_on_the_lower_cased_text(pattern, documents, lowercase):
    found = counted(documents, Tokenizer(pattern, lowercase=lowercase))
    assert found == [by_re(document, EXPRESSIONS[pattern], lowercase) for document in documents]


@given(text=st.text(st.sampled_from("ΣAa.\u00ad\u0345\u02b0 İ中\u0307'"), max_size=12))
def test_sigma_is_final_where_python_says_so(text):
    assert counted([text], Tokenizer("words1")) == [by_re(text, EXPRESSIONS["words1"])]


@pytest.mark.slow
def test_every_character_is_cut_and_lower_cased_as_python_does():
    every = [chr(i) for i in range(0x110000) if not 0xD800 <= i < 0xE000]
    documents = ["".join(every[i : i + 4096]) for i in range(0, len(every), 4096)]
    spaced = ["x ".join(every[i : i + 4096]) for i in range(0, len(every), 4096)]
    for pattern in ("words1", "words_and_punctuation"):
        for text, found in zip(spaced, counted(spaced, Tokenizer(pattern)), strict=True):
            assert found == by_re(text, EXPRESSIONS[pattern])
    assert counted(documents, Tokenizer()) == [by_re(text, EXPRESSIONS["words_and_emoji"]) for text in documents]


@given(
    documents=texts,
    analyzer=st.sampled_from(["word", "char", "char_wb"]),
    runs=st.sampled_from([(1, 1), (1, 2), (2, 2), (2, 4), (3, 3), (1, 5)]),
    stop=st.sampled_from([None, ["aa", "09"]]),
)
def test_runs_of_words_and_characters_are_those_of_count_vectorizer(documents, analyzer, runs, stop):
    stop = stop if analyzer == "word" else None
    theirs = CountVectorizer(analyzer=analyzer, ngram_range=runs, stop_words=stop).build_analyzer()
    tokenizer = Tokenizer("words" if analyzer == "word" else analyzer, runs, stop_words=stop)
    expected = [Counter(theirs(document)) for document in documents]
    assert counted(documents, tokenizer) == expected
    assert [Counter(tokenizer.tokens(document)) for document in documents] == expected


@given(raw=st.lists(st.binary(max_size=30), max_size=5), pattern=st.sampled_from(PATTERNS))
def test_bytes_that_are_no_utf8_are_replaced_as_python_does_and_counted(raw, pattern):
    documents = Documents.of(pa.array(raw, pa.binary()))
    mended = [data.decode("utf-8", "replace") for data in raw]
    assert counted(documents, Tokenizer(pattern, (1, 2))) == counted(mended, Tokenizer(pattern, (1, 2)))
    wrong = sum(text.count("�") - data.count("�".encode()) for text, data in zip(mended, raw, strict=True))
    assert count_documents(documents, Tokenizer(pattern)).replaced == wrong


@given(
    documents=texts,
    labels=st.lists(st.integers(0, 2), min_size=5, max_size=5),
    pattern=st.sampled_from(PATTERNS),
    runs=st.sampled_from([(1, 1), (1, 2)]),
    bits=st.sampled_from([None, 3, 20]),
    n_threads=st.integers(1, 3),
)
def test_the_compiled_tokenizer_equals_the_one_in_python(documents, labels, pattern, runs, bits, n_threads):
    cells = Documents.of(documents)
    tokenizer = Tokenizer(pattern, runs, hash_bits=bits, stop_words=["aa"])
    cut = cut_of(tokenizer, cells)
    label = np.array(labels[: len(documents)], dtype=np.uint8)
    for in_order in (True, False):
        ours = kernels.token_rows(cells.data, cells.offsets, cut, None, in_order, n_threads)
        theirs = count_tokens(cells.data, cells.offsets, tokenizer.analyzer(), None, in_order)
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))
    ours = kernels.token_classes(cells.data, cells.offsets, label, 3, cut, n_threads)
    theirs = sum_by_class(count_tokens(cells.data, cells.offsets, tokenizer.analyzer(), None), label, 3)
    assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def _long_texts(n, seed=0):
    rng = np.random.default_rng(seed)
    words = [f"w{i:x}" * (1 + i % 9) for i in range(5000)] + ["Größe", "ΟΔΟΣ", "été"]
    return [" ".join(rng.choice(words, size=rng.integers(0, 900))) for _ in range(n)]


@pytest.mark.slow
def test_the_number_of_threads_changes_nothing():
    documents = Documents.of(_long_texts(300))
    labels = np.random.default_rng(1).integers(0, 7, 300).astype(np.uint16)
    one, many = (count_documents(documents, Tokenizer(ngrams=(1, 2)), n_threads=n) for n in (1, 5))
    assert one.words == many.words
    assert all(np.array_equal(getattr(one, n), getattr(many, n)) for n in ("indptr", "ids", "counts", "lengths"))
    one, many = (count_classes(documents, labels, 7, Tokenizer(), n) for n in (1, 5))
    assert all(np.array_equal(a, b) for a, b in zip(one, many, strict=True))
    assert (one.counts >= one.documents).all()


def test_counts_by_class_are_sums_over_the_documents_of_the_class():
    documents, rng = _long_texts(200), np.random.default_rng(2)
    labels = rng.integers(0, 4, 200).astype(np.uint8)
    matrix = CountVectorizer().fit_transform(documents)
    found = count_classes(Documents.of(documents), labels, 4, Tokenizer())
    for c in range(4):
        own = found.classes == c
        words = np.repeat(np.arange(len(found.indptr) - 1), np.diff(found.indptr))[own]
        for cells, expected in ((found.counts, matrix), (found.documents, matrix.sign())):
            dense = np.zeros(matrix.shape[1], int)
            dense[words] = cells[own]
            assert np.array_equal(dense, np.asarray(expected[labels == c].sum(axis=0))[0])


@given(documents=texts, others=texts)
def test_known_words_keep_their_places_and_unknown_ones_are_left_out(documents, others):
    known = count_documents(documents, Tokenizer("words1")).words
    names, rows = known.tolist(), count_documents(others, Tokenizer("words1"), known)
    for d, text in enumerate(others):
        expected = {w: n for w, n in by_re(text, EXPRESSIONS["words1"]).items() if w in names}
        cells = range(rows.indptr[d], rows.indptr[d + 1])
        assert {names[rows.ids[k]]: rows.counts[k] for k in cells} == expected
        assert rows.lengths[d] == len(Tokenizer("words1").tokens(text))


def test_a_hash_is_never_taken_for_a_word():
    words = [f"{i:x}" for i in range(70_000)] + [f"{'long' * 5}{i:x}" for i in range(70_000)]
    rows = count_documents([" ".join(words)], Tokenizer("words1"))
    assert rows.words.tolist() == sorted(words)
    assert rows.counts.tolist() == [1] * len(words)


def test_words_beyond_the_inline_length_and_of_nothing_but_zero_bytes_stay_apart():
    runs = [b"\0" * n for n in range(1, 20)] + [b"a" * n for n in range(13, 18)] + [b"a" * 15 + b"\0"]
    index = kernels.WordIndex(*pack_words(runs))
    assert index.find(*pack_words([*runs, b"b"])).tolist() == [*range(len(runs)), -1]
    assert len(index) == len(runs)


@pytest.mark.slow
def test_a_document_of_100_mb_is_a_document():
    data = np.frombuffer(b"Word of " * 12_500_000, dtype=np.uint8)
    documents = Documents(data, np.array([0, len(data)], dtype=np.int64), np.zeros(1, dtype=bool))
    rows = count_documents(documents, Tokenizer())
    assert rows.words.tolist() == ["of", "word"]
    assert rows.counts.tolist() == [12_500_000] * 2


@pytest.mark.parametrize(
    "documents",
    [
        ["A game", None, ""],
        np.array(["A game", None, ""], dtype=object),
        pa.array(["A game", None, ""]),
        pa.chunked_array([["A game"], [None, ""]]),
        pa.array(["x", "A game", None, ""]).slice(1),
        pa.array(["A game", None, ""], pa.large_string()),
        pa.array(["A game", None, ""]).dictionary_encode(),
        pa.array([b"A game", None, b""]),
        ("A game", float("nan"), b""),
    ],
    ids=lambda d: type(d).__name__,
)
def test_documents_come_from_anything(documents):
    texts = Documents.of(documents)
    assert texts.tolist() == ["A game", "", ""]
    assert texts.missing.tolist() == [False, True, False]


def test_documents_come_from_pandas_and_polars():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for column in (pandas.Series(["A game", None]), pandas.Series(["A game", None], dtype=object)):
        assert Documents.of(column).missing.tolist() == [False, True]
    assert Documents.of(polars.Series(["A game", None])).tolist() == ["A game", ""]


def test_lone_surrogates_are_replaced_and_counted():
    texts = Documents.of(["a\ud800b", "\ud83d\ude00", "plain", "�"])
    assert texts.tolist() == ["a�b", "😀", "plain", "�"]
    assert texts.replaced == 1


@pytest.mark.parametrize(
    ("documents", "says"),
    [([1.5, 2.0], "not text|text is expected"), (["a", 7], "row 1"), ("abc", "string object received"), (7, "strings")],
)
def test_what_is_no_text_is_refused_with_its_place(documents, says):
    with pytest.raises(BayesError, match=says):
        Documents.of(documents)


@pytest.mark.parametrize(
    "wrong",
    [
        {"ngrams": (0, 1)},
        {"ngrams": (2, 1)},
        {"ngrams": 3},
        {"pattern": "("},
        {"pattern": "(a)(b)"},
        {"stop_words": "klingon"},
        {"stop_words": [1]},
        {"hash_bits": 0},
        {"hash_bits": 29},
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(wrong):
    with pytest.raises(BayesError):
        Tokenizer(**wrong)


def test_custom_patterns_and_callables_take_the_slow_path_with_the_same_counts():
    documents = ["The cat, the hat", "a-b c"]
    assert counted(documents, Tokenizer(r"\S+")) == [{"the": 2, "cat,": 1, "hat": 1}, {"a-b": 1, "c": 1}]
    assert counted(documents, Tokenizer(str.split)) == counted(documents, Tokenizer(r"\S+"))
    labels = np.array([0, 1], dtype=np.uint8)
    slow = count_classes(Documents.of(documents), labels, 2, Tokenizer(r"(?u)\b\w\w+\b"))
    fast = count_classes(Documents.of(documents), labels, 2, Tokenizer())
    assert all(np.array_equal(a, b) for a, b in zip(slow, fast, strict=True))


@pytest.mark.slow
@given(a=st.sets(st.text(max_size=20)), b=st.sets(st.text(max_size=20)))
def test_lists_of_words_join_in_order(a, b):
    both, first, second = union(Words.of(a - {""}), Words.of(b - {""}))
    assert both.tolist() == sorted((a | b) - {""})
    assert [both[i] for i in first] == sorted(a - {""})
    assert [both[i] for i in second] == sorted(b - {""})
    assert Words.checked(both.data, both.offsets) == both


@pytest.mark.parametrize(
    ("data", "offsets"),
    [(b"ba", [0, 1, 2]), (b"aa", [0, 1, 2]), (b"a", [0, 2]), (b"a", []), (b"\xff", [0, 1]), (b"a", [0, 0, 1])],
)
def test_damaged_lists_of_words_are_refused(data, offsets):
    with pytest.raises(BadFile):
        Words.checked(np.frombuffer(data, np.uint8), np.array(offsets, dtype=np.int64))


def test_buckets_are_the_same_for_ever():
    assert [bucket(word, 20) for word in (b"game", b"a", b"a word of more than sixteen bytes")] == PINNED


PINNED = ["#82b97", "#5d532", "#ebb10"]


@settings(max_examples=20)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 4), st.floats(-5, 5)), max_size=6), min_size=1, max_size=9),
    st.integers(1, 3),
)
def test_scores_of_rows_are_sums_of_table_rows(rows, n_threads):
    table = np.random.default_rng(0).normal(size=(5, 3))
    table[4] = -np.inf
    rows = [[(i, v if i < 4 else 0.0) for i, v in row] for row in rows]
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    ids = np.array([i for row in rows for i, _ in row], dtype=np.int32)
    values = np.array([v for row in rows for _, v in row], dtype=np.float64)
    scores, expected = np.ones((len(rows), 3)), np.ones((len(rows), 3))
    kernels.score_rows(indptr, ids, values, table, scores, n_threads)
    for d, row in enumerate(rows):
        for i, v in row:
            expected[d] += v * table[i] if v else 0
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError):
        kernels.score_rows(indptr, ids + 5, values, table, scores, 1) if len(ids) else (_ for _ in ()).throw(ValueError)

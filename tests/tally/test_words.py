"""Word counts: a value with + and −, by word and class, and nothing but the counts."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.data.frames import open_source
from bayeskit.data.source import Responsibilities
from bayeskit.data.text.tokens import Tokenizer, count_documents
from bayeskit.data.text.word_list import WordLimits
from bayeskit.engines import local
from bayeskit.errors import BadFile, NotLearned
from bayeskit.storage.container import pack, unpack
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import N_ARRAYS, WordCounts

WORDS = ["sun", "rain", "hail", "été", "a longer one than sixteen bytes", "x"]
rows = st.lists(
    st.tuples(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join) | st.none(), st.sampled_from("abc")),
    max_size=8,
)
some_rows = rows.filter(bool)


def tally_of(rows, weights=None, tokenizer=None, labels=None):
    texts = [text for text, _ in rows]
    source = open_source({"body": texts}, labels if labels is not None else [c for _, c in rows], weights)
    schema = bk.Schema({"body": bk.Text(tokenizer or Tokenizer("words1"))})
    return local.collect(source, schema, Plan(words=("body",)))


@given(some_rows)
def test_counts_are_those_of_a_loop(rows):
    tally = tally_of(rows)
    counted = tally.words["body"]
    occurrences, documents, lengths = Counter(), Counter(), {c: [] for c in tally.classes}
    for text, c in rows:
        found = (text or "").lower().split()
        occurrences.update((w, c) for w in found)
        documents.update((w, c) for w in set(found))
        if text is not None:
            lengths[c].append(len(found))
    words = counted.words.tolist()
    assert words == sorted({w for w, _ in occurrences})
    for part, expected in (("counts", occurrences), ("documents", documents)):
        table = counted.table(part)
        assert table.tolist() == [[expected[w, c] for c in tally.classes] for w in words]
        assert counted.totals(part).tolist() == table.sum(axis=1).tolist()
    assert counted.n_documents.tolist() == [len(lengths[c]) for c in tally.classes]
    assert counted.n_tokens.tolist() == [sum(lengths[c]) for c in tally.classes]
    assert counted.lengths.square_hi[:, 0].tolist() == [sum(n * n for n in lengths[c]) for c in tally.classes]


@pytest.mark.slow
@given(some_rows, some_rows, some_rows)
def test_adding_is_counting_together_in_any_order(a, b, c):
    one, two, three = tally_of(a), tally_of(b), tally_of(c)
    assert one + two == tally_of(a + b) == two + one
    assert (one + two) + three == one + (two + three)


@pytest.mark.slow
@given(some_rows, some_rows)
def test_subtracting_undoes_adding(a, b):
    assert (tally_of(a) + tally_of(b)) - tally_of(b) == tally_of(a)


@given(some_rows)
def test_bytes_bring_back_the_same_tally(rows):
    tally = tally_of(rows)
    assert Tally.from_bytes(tally.to_bytes()) == tally
    assert Tally.from_bytes(tally.to_bytes()).to_bytes() == tally.to_bytes()


@given(some_rows, st.data())
def test_a_weight_of_two_is_the_document_twice(rows, data):
    weights = data.draw(st.lists(st.sampled_from([0, 1, 2]), min_size=len(rows), max_size=len(rows)).filter(any))
    twice = tally_of([row for row, n in zip(rows, weights, strict=True) for _ in range(n)])
    weighted = tally_of(rows, weights)
    for part in ("counts", "documents"):
        assert np.array_equal(weighted.words["body"].table(part), twice.words["body"].table(part))
    assert np.array_equal(weighted.words["body"].n_documents, twice.words["body"].n_documents)


@given(some_rows)
def test_whole_responsibilities_are_labels(rows):
    classes = tuple(sorted({c for _, c in rows}))
    soft = Responsibilities(classes, np.array([[float(c == k) for k in classes] for _, c in rows]))
    a, b = tally_of(rows, labels=soft).words["body"], tally_of(rows).words["body"]
    assert a.words == b.words
    np.testing.assert_allclose(a.table(), b.table())
    np.testing.assert_allclose(a.table("documents"), b.table("documents"))
    np.testing.assert_allclose(a.n_documents, b.n_documents)


def test_forgetting_what_was_not_learned_is_refused_and_names_the_word():
    learned, other = tally_of([("sun sun", "a"), ("rain", "b")]), tally_of([("sun hail", "a")])
    with pytest.raises(NotLearned, match="'hail' in class 'a'"):
        learned - other
    with pytest.raises(NotLearned, match="lengths"):
        tally_of([("sun sun sun", "a"), ("sun sun sun", "a")]) - tally_of([("sun", "a")])


def test_buckets_merge_like_words():
    rows = [("sun rain", "a"), ("hail", "b"), ("sun x", "a")]
    hashed = [tally_of(part, tokenizer=Tokenizer(hash_bits=3)) for part in (rows[:1], rows[1:], rows)]
    assert hashed[0] + hashed[1] == hashed[2]
    assert len(hashed[2].words["body"].words) <= 8


def test_pruned_words_are_gone_and_not_looked_for_in_forgetting():
    rows = [("sun sun rain", "a"), ("sun", "b"), ("hail", "b")]
    pruned = tally_of(rows).prune(min_count=2)
    assert pruned.words["body"].words.tolist() == ["sun"]
    assert Tally.from_bytes(pruned.to_bytes()) == pruned
    assert (pruned - tally_of(rows[2:])).words["body"].table().tolist() == [[2, 1]]
    with pytest.raises(NotLearned):
        pruned - tally_of([("sun", "c")])
    again = pruned + tally_of([("rain rain", "a")])
    assert again.words["body"].words.tolist() == ["rain", "sun"]


def test_words_are_chosen_by_documents_and_occurrences():
    counted = tally_of([("sun sun sun rain", "a"), ("sun hail", "a"), ("rain hail hail x", "b")]).words["body"]
    assert counted.words.tolist() == ["hail", "rain", "sun", "x"]
    totals = (counted.totals("documents"), counted.totals("counts")), 3
    assert WordLimits(min_df=2).choose(*totals).tolist() == [True, True, True, False]
    assert WordLimits(max_df=0.5).choose(*totals).tolist() == [False, False, False, True]
    assert WordLimits(max_features=2).choose(*totals).tolist() == [True, False, True, False]
    assert WordLimits(1, 1.0, 1).choose(np.array([[1, 1], [3, 3]]), 2).tolist() == [True, False]


def test_damaged_counts_of_words_are_refused():
    header, arrays = unpack(tally_of([("sun rain", "a"), ("sun", "b")]).to_bytes())
    for change in (
        lambda a: a[-N_ARRAYS].__setitem__(0, ord("z")),
        lambda a: a[-N_ARRAYS + 1].__setitem__(1, 9),
        lambda a: a[-N_ARRAYS + 2].__setitem__(0, 1),
        lambda a: a[-N_ARRAYS + 3].__setitem__(0, 7),
        lambda a: a[-N_ARRAYS + 4].__setitem__(0, -1),
        lambda a: a[-N_ARRAYS + 5].__setitem__(0, 0),
        lambda a: a[-1].__setitem__((0, 0), np.nan),
        lambda a: a.pop(),
    ):
        copied = [array.copy() for array in arrays]
        change(copied)
        with pytest.raises(BadFile):
            Tally.from_bytes(pack(header, copied))


def test_rows_of_documents_are_counted_as_the_kernel_counts():
    texts, labels = ["sun sun rain", "", "hail sun"], np.array([1, 0, 1], dtype=np.uint8)
    by_rows = WordCounts.of_rows(count_documents(texts, Tokenizer()), labels, 2)
    assert by_rows.table().tolist() == [[0, 1], [0, 1], [0, 3]]
    assert by_rows.n_documents.tolist() == [1, 2]

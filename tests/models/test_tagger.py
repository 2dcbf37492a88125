"""The tagger: counts that come and go, words not seen, what bad sentences get, and real sentences."""

import os
import pickle
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.data.sentences import Sentences
from bayeskit.errors import BayesError, NotLearned, SchemaMismatch, TooLarge
from bayeskit.estimate.tagging import interpolation
from bayeskit.models import from_bytes, to_bytes

SENTENCES = [["The", "dog", "barks", "."], ["A", "cat", "sleeps"], ["Dogs", "bark", "at", "the", "cats"], ["Run", "!"]]
TAGS = [["D", "N", "V", "."], ["D", "N", "V"], ["N", "V", "P", "D", "N"], ["V", "."]]
FINE = [["DT", "NN", "VBZ", "."], ["DT", "NN", "VBZ"], ["NNS", "VBP", "IN", "DT", "NNS"], ["VB", "."]]
DATA = os.environ.get("BAYESKIT_DATA")

corpora = st.lists(
    st.lists(st.tuples(st.sampled_from(["a", "dog", "Dog", "runs", "x-1", "é"]), st.sampled_from("DNV")), max_size=5),
    min_size=1,
    max_size=8,
).filter(any)


def split(corpus):
    return [[word for word, _ in one] for one in corpus], [[tag for _, tag in one] for one in corpus]


@settings.get_profile("few")
@given(corpora, corpora, st.integers(0, 3))
def test_parts_merged_or_learned_one_by_one_are_the_whole(first, second, own):
    a, b = bk.Tagger(own_states=own).fit(*split(first)), split(second)
    same = bk.Tagger(own_states=a.own_states_)
    merged = a + bk.Tagger(own_states=a.own_states_).fit(*b)
    whole = same.fit(*split(first + second))
    assert merged.tally_ == whole.tally_
    assert pickle.loads(pickle.dumps(a)).partial_fit(*b).tally_ == whole.tally_
    assert merged.forget(*b).tally_ == a.tally_
    assert merged.predict(b[0]) == a.predict(b[0])


@settings.get_profile("few")
@given(corpora, st.integers(0, 3))
def test_a_file_holds_the_same_tagger(corpus, own):
    model = bk.Tagger(own_states=own).fit(*split(corpus))
    again = from_bytes(to_bytes(model))
    assert again.tally_ == model.tally_
    assert again.predict(split(corpus)[0]) == model.predict(split(corpus)[0])
    assert to_bytes(again) == to_bytes(model)


def by_the_book(model, sentence, within=7.0):
    """The best tags by the formula, over all paths, with dictionaries."""
    counts = model._counts
    states, table = counts.states, counts.pairs()
    words = {word: table[i] for i, word in enumerate(counts.words)}
    share = table.sum(axis=0) / table.sum()
    tags = sorted({s.tag for s in states})
    shares = np.array([sum(share[i] for i, s in enumerate(states) if s.tag == tag) for tag in tags])
    theta = shares.std(ddof=1) if len(tags) > 1 else 1.0

    def forms(word):
        shape = "u" if word[0].isupper() else "l" if word[0].islower() else "o"
        kind = shape, any(c.isdigit() for c in word), "-" in word
        return [(shape,), kind, *((*kind, word.lower()[-n:]) for n in range(1, min(len(word), 10) + 1))]

    def ending(word):
        belief = share
        for form in forms(word):
            rare = sum((c for w, c in words.items() if c.sum() <= 10 and form in forms(w)), np.zeros(len(states)))
            if not rare.sum():
                break
            belief = (rare / rare.sum() + theta * belief) / (1 + theta)
        return belief

    def belief_of(word):
        if word in words:
            return (words[word] + 0.5 * ending(word)) / (words[word].sum() + 0.5)
        if word.lower() in words:
            return (words[word.lower()] + ending(word)) / (words[word.lower()].sum() + 1)
        return ending(word)

    weights, n = interpolation(counts), len(states)
    seen = {tuple(t): c for t, c in zip(counts.triples().tolist(), counts.triple_counts.tolist(), strict=True)}

    def share_of(c, *before):
        k = len(before)
        among = {t: m for t, m in seen.items() if t[2 - k : 2] == before}
        return sum(m for t, m in among.items() if t[2] == c) / max(sum(among.values()), 1)

    def score(path):
        marked = (n, n, *path, n)
        steps = [
            weights[0] * share_of(c) + weights[1] * share_of(c, b) + weights[2] * share_of(c, a, b)
            for a, b, c in zip(marked, marked[1:], marked[2:], strict=False)
        ]
        believed = [belief_of(word) for word in sentence]
        if any(belief[s] < np.exp(-within) * belief.max() for belief, s in zip(believed, path, strict=True)):
            return -np.inf
        gains = [np.log(belief[s] / share[s]) for belief, s in zip(believed, path, strict=True)]
        with np.errstate(divide="ignore"):
            return np.log(steps).sum() + sum(gains)

    return max(score(path) for path in product(range(n), repeat=len(sentence))), score


@pytest.mark.parametrize("own", [0, 2])
@pytest.mark.parametrize("sentence", [["The", "cat", "barks"], ["DOGS", "Sleeps"], ["a", "x-9", "!"], ["ünder"]])
def test_the_tags_are_those_of_the_formula(own, sentence):
    model = bk.Tagger(own_states=own).fit(SENTENCES, TAGS, FINE)
    best, score = by_the_book(model, sentence)
    _, path, _ = model._path(Sentences.of([sentence], str.split))
    np.testing.assert_allclose(score(tuple(path.tolist())), best, rtol=1e-12)


def test_finer_tags_guide_and_coarse_ones_are_the_answer():
    model = bk.Tagger(own_states=0).fit(SENTENCES, TAGS, FINE)
    assert {state.fine for state in model._counts.states} == {tag for one in FINE for tag in one}
    assert {tag for one in model.predict(SENTENCES) for tag in one} <= set(model.classes_)
    with pytest.raises(BayesError, match="give fine= here too"):
        model.partial_fit(SENTENCES, TAGS)
    with pytest.raises(BayesError, match="leave out fine="):
        bk.Tagger().fit(SENTENCES, TAGS).forget(SENTENCES, TAGS, FINE)


def test_sentences_come_in_many_forms():
    model = bk.Tagger().fit(SENTENCES, TAGS)
    expected = model.predict(SENTENCES)
    column = pa.array(SENTENCES)
    assert model.predict(column) == model.predict(pa.chunked_array([column[:1], column[1:]])) == expected
    assert model.predict(column.cast(pa.large_list(pa.large_string()))) == expected
    assert model.predict(tuple(tuple(one) for one in SENTENCES)) == expected
    assert model.predict(pa.table({"s": column}).to_pandas()["s"]) == expected
    assert model.predict(["The dog barks."]) == [model.predict([SENTENCES[0]])[0]]
    assert bk.Tagger(tokenizer="spaces").fit(["The dog"], ["D N"]).predict(["The dog"]) == [["D", "N"]]
    assert model.predict([[], SENTENCES[1]]) == [[], expected[1]]
    assert model.predict([]) == []


def test_an_answer_depends_on_its_sentence_alone():
    model = bk.Tagger().fit(SENTENCES, TAGS)
    asked = [["Cats", "sleep"], ["The", "unknowable", "x-2"], [], ["CATS"], ["9"]]
    assert model.predict(asked) == [model.predict([one])[0] for one in asked]


def test_one_tag_one_word_and_words_all_seen_often_are_enough():
    assert bk.Tagger().fit([["a"]], [["X"]]).predict([["b", "a"]]) == [["X", "X"]]
    often = bk.Tagger(own_states=0).fit([["a", "b"]] * 20, [["X", "Y"]] * 20)
    assert often.predict([["a", "b"]]) == [["X", "Y"]]
    assert len(often.predict([["zz", "B"]])[0]) == 2  # no ending is known: the shares of the tags speak


@pytest.mark.parametrize(
    ("sentences", "tags", "said"),
    [
        ("a b", [["X"]], "come in a list"),
        ([["a", "b"]], [["X"]], "sentence 1 has 2 words and 1 tags"),
        ([["a"]], [["X"], ["Y"]], "1 sentences and tags of 2"),
        ([["a", ""]], [["X", "Y"]], "word 2 of sentence 1 is missing or empty"),
        ([["a", None]], [["X", "Y"]], "word 2 of sentence 1 is missing"),
        ([["a"]], [[None]], "tag 1 of sentence 1 is missing"),
        ([["a", 5]], [["X", "Y"]], "word 2 of sentence 1 is an int"),
        ([3], [["X"]], "sentence 1 is an int"),
        ([None], [["X"]], "sentence 1 is"),
        ([["\ud800"]], [["X"]], "surrogate"),
        (pa.array([1, 2]), [["X"]], "column of int64"),
        ([[]], [[]], "no words to learn from"),
    ],
)
def test_bad_sentences_are_told_by_their_place(sentences, tags, said):
    with pytest.raises(BayesError, match=said):
        bk.Tagger().fit(sentences, tags)


def test_what_was_not_learned_is_not_forgotten_and_nothing_changes():
    model = bk.Tagger(own_states=0).fit(SENTENCES, TAGS)
    before = to_bytes(model)
    with pytest.raises(NotLearned, match="'dog' was learned once as N"):
        model.forget([["dog", "dog"]], [["N", "N"]])
    with pytest.raises(NotLearned, match=r"tags in the order"):
        model.forget([["dog", "The"]], [["N", "D"]])
    with pytest.raises(BayesError, match="without data"):
        model.forget(SENTENCES, TAGS)
    assert to_bytes(model) == before


def test_models_with_other_states_do_not_merge():
    a, b = bk.Tagger(own_states=1).fit(SENTENCES, TAGS), bk.Tagger(own_states=["cat"]).fit(SENTENCES, TAGS)
    with pytest.raises(SchemaMismatch, match=r"own_states=first\.own_states_"):
        a + b
    assert bk.Tagger(own_states=a.own_states_).fit(SENTENCES, TAGS).merge(a).tally_.n_rows == 28


@pytest.mark.parametrize("settings", [{"own_states": -1}, {"own_states": "the"}, {"tokenizer": "no"}, {"n_threads": 0}])
def test_settings_that_mean_nothing_are_refused(settings):
    with pytest.raises(BayesError):
        bk.Tagger(**settings).fit(SENTENCES, TAGS)


def test_a_table_too_large_is_refused_before_it_is_made():
    with pytest.raises(TooLarge, match="own_states"):
        bk.Tagger(memory_limit=1000).fit(SENTENCES, TAGS, FINE)


@pytest.mark.skipif(not DATA, reason="BAYESKIT_DATA does not name the folder of data sets")
@pytest.mark.parametrize(("fine", "least"), [(True, 0.938), (False, 0.929)])
def test_english_words_are_tagged_as_well_as_they_should_be(fine, least):
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(Path(DATA or "") / "sequence" / "ud_english_ewt.parquet")
    train, test = (table.filter(pc.equal(table["split"], part)) for part in ("train", "test"))
    model = bk.Tagger().fit(train["tokens"], train["upos"], train["xpos"] if fine else None)
    report = model.report(test["tokens"], test["upos"])
    assert report.accuracy >= least
    assert model.score(test["tokens"], test["upos"]) == report.accuracy

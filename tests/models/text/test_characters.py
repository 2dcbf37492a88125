"""Runs of characters inside words: counted, chosen on folds, explained, kept in files, and refused where too many."""

import re

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.data.text.tokens import count_documents
from bayeskit.errors import BadFile, BayesError, TooLarge
from bayeskit.models import from_bytes, to_bytes
from bayeskit.models.text import documents as text_documents
from bayeskit.models.text.documents import is_character_ngram
from bayeskit.storage.container import pack, unpack

STEMS = ["walk", "talk", "jump", "paint", "climb", "visit", "order", "point", "frown", "whisk", "plant", "brush"]


def documents(n, seed=0):
    """Endings tell the class, and every word is rare."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(np.array(["past", "now"], dtype=object), n)
    ends = {"past": "ed", "now": "ing"}
    texts = [
        " ".join(f"{rng.choice(STEMS)}{rng.integers(0, 40):x}{ends[label]}" for _ in range(rng.integers(1, 4)))
        + " and so on"
        for label in labels
    ]
    return texts, labels


def fitted(n=240, recipe="best", **settings):
    return bk.TextClassifier(recipe, **settings).fit(*documents(n))


def by_hand(word, low, high):
    padded = f"<{word}>"
    runs = [padded[i : i + n] for n in range(low, high + 1) for i in range(len(padded) - n + 1)]
    marked = [("" if r[0] == "<" else "-") + r.strip("<>") + ("" if r[-1] == ">" else "-") for r in runs]
    return [m for m, r in zip(marked, runs, strict=True) if r != padded]


@pytest.mark.parametrize("pattern", ["words", "words1", "words_and_punctuation"])
@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2)])
def test_runs_stand_beside_the_words_as_they_are_cut_by_hand(pattern, ngrams):
    text = "Unseen ΟΔΟΣ, été: a re-do"
    plain = bk.Tokenizer(pattern, ngrams).tokens(text)
    words = bk.Tokenizer(pattern).tokens(text)
    tokens = bk.Tokenizer(pattern, ngrams, characters=(2, 4)).tokens(text)
    assert tokens == [*plain, *(run for word in words for run in by_hand(word, 2, 4))]
    rows = count_documents([text], bk.Tokenizer(pattern, ngrams, characters=(2, 4)))
    assert dict(zip(rows.words.tolist(), rows.counts.tolist(), strict=True)) == {
        token: tokens.count(token) for token in tokens
    }
    assert {w for w, run in zip(rows.words.tolist(), is_character_ngram(rows.words), strict=True) if run} == set(
        tokens
    ) - {*plain}


def test_long_documents_are_counted_to_the_last_run():
    text = " ".join(f"word{i:05d}" for i in range(4000))  # more than the room for runs that wait
    rows = count_documents([text, text], bk.Tokenizer(characters=(3, 16)))
    tokens = bk.Tokenizer(characters=(3, 16)).tokens(text)
    assert rows.lengths.tolist() == [len(tokens)] * 2
    assert len(rows.words) == len(set(tokens))


@pytest.mark.parametrize("given", [(1, 3), (4, 3), (2, 17), (2,), "all", 3, (2.5, 3), (True, 3), ("a", "b")])
def test_other_lengths_are_refused_by_name(given):
    with pytest.raises(BayesError, match="characters="):
        bk.TextClassifier("multinomial", characters=given).fit(["sun", "rain"], ["a", "b"])
    with pytest.raises(BayesError, match=re.escape("characters=(3, 5) counts inside words")):
        bk.Tokenizer("char", characters=(3, 5))


def test_auto_is_for_recipes_that_choose_on_folds():
    with pytest.raises(BayesError, match='"auto" is for recipes "best" and "auto"'):
        bk.TextClassifier("multinomial", characters="auto").fit(["sun", "rain"], ["a", "b"])


def test_endings_are_found_on_folds_and_are_said():
    texts, labels = documents(400, 1)
    plain, rich = fitted(), fitted(characters="auto")
    assert [name for name, _ in rich.linear_.tried] == ["words", "words, pairs", "words, pairs, characters"]
    assert rich.linear_.tried[2][1] == rich.linear_.log_loss == min(loss for _, loss in rich.linear_.tried)
    assert rich.schema_.columns["text"].tokenizer.characters == (3, 5)
    assert (rich.predict(texts) == labels).mean() > 0.97 > (plain.predict(texts) == labels).mean()
    assert plain.schema_.columns["text"].tokenizer.characters is None


def test_where_they_bring_nothing_they_are_not_read():
    rng = np.random.default_rng(0)
    labels = rng.choice(np.array(["a", "b"], dtype=object), 300)
    texts = [" ".join(rng.choice(["ab", "cd", "ef"] if label == "a" else ["ab", "gh", "ij"], 3)) for label in labels]
    model = bk.TextClassifier("best", characters="auto").fit(texts, labels)
    assert model.schema_.columns["text"].tokenizer.characters is None
    assert len(model.linear_.tried) == 3


@pytest.mark.parametrize("recipe", ["best", "multinomial", "set_of_words", "complement", "tfidf", "weighted", "nbsvm"])
def test_explanations_sum_and_files_answer_the_same(recipe):
    model = fitted(120, recipe, characters=(3, 4))
    texts, _ = documents(20, 5)
    asked = [*texts, "", "never-seen", "unseening"]
    scores = model.predict_joint_log_proba(asked)
    for record, of_classes in zip(model.explain(asked), scores, strict=True):
        chosen, other = (model.tally_.classes.index(c) for c in (record.label, record.other))
        total = record.base + sum(evidence for _, _, evidence in record.words)
        assert total == pytest.approx(of_classes[chosen] - of_classes[other], abs=1e-9)
    assert any(word.startswith("-") for word, _, _ in model.explain(["unseening"])[0].words)
    again = from_bytes(to_bytes(model))
    assert np.array_equal(again.predict_joint_log_proba(asked), scores)
    assert again.tokenizer().characters == (3, 4)


def test_counts_of_words_and_runs_move_and_come_back():
    model = fitted(characters="auto")
    before, (texts, labels) = to_bytes(model), documents(30, 9)
    expected = model.predict_proba(texts)
    model.partial_fit(texts, labels)
    assert not np.allclose(model.predict_proba(texts), expected, atol=1e-9)
    model.forget(texts, labels)
    np.testing.assert_allclose(model.predict_proba(texts), expected, atol=1e-9)
    merged = from_bytes(before).merge(from_bytes(before))
    assert merged.tally_.n_rows == pytest.approx(480)
    assert np.isfinite(merged.predict_proba(texts)).all()


def test_runs_are_no_evidence_by_counts():
    model = fitted(characters=(3, 4))
    record = model.explain(["unseening and"])[0]
    for (word, _, _), (by_counts, _) in zip(record.words, record.parts, strict=True):
        assert by_counts == 0 or not (word.startswith("-") or word.endswith("-"))


def test_the_evidence_is_that_of_a_fit_by_words_but_for_the_number_of_words():
    texts, labels = documents(150)
    with_runs, plain = (
        bk.TextClassifier("best", ngrams=(1, 1), characters=c).fit(texts, labels) for c in ((3, 4), None)
    )
    counted = {name: m.tally_.words["text"] for name, m in (("runs", with_runs), ("plain", plain))}
    at = np.flatnonzero(~is_character_ngram(counted["runs"].words))
    assert [counted["runs"].words[i] for i in at] == counted["plain"].words.tolist()
    np.testing.assert_allclose(counted["runs"].table()[at], counted["plain"].table(), atol=1e-12)


def test_any_number_of_threads_gives_the_same_model():
    one, three = (fitted(150, characters="auto", n_threads=n).set_params(n_threads=None) for n in (1, 3))
    assert to_bytes(one) == to_bytes(three)


def test_too_many_runs_are_refused_before_they_are_counted_and_not_tried(monkeypatch):
    texts, labels = documents(40)
    read = type("Read", (), {"texts": texts, "labels": labels})
    tokenizer = bk.Tokenizer("words_and_punctuation", characters=(3, 5))
    rows = count_documents(texts, tokenizer)
    monkeypatch.setattr(text_documents, "MOST_CHARACTER_NGRAMS", 3 * sum(map(len, texts)))
    assert not text_documents.has_many_character_ngrams(read, tokenizer, 1)
    monkeypatch.setattr(text_documents, "MOST_CHARACTER_NGRAMS", is_character_ngram(rows.words)[rows.ids].sum() - 1)
    assert text_documents.has_many_character_ngrams(read, tokenizer, 1)
    with pytest.raises(TooLarge, match=r"runs of characters, which may take 4 GB.*leave characters= out"):
        bk.TextClassifier("best", characters=(3, 5)).fit(texts, labels)
    model = bk.TextClassifier("best", characters="auto").fit(texts, labels)
    assert [name for name, _ in model.linear_.tried] == ["words", "words, pairs"]


def test_a_file_with_other_runs_than_can_be_is_refused():
    data = to_bytes(fitted(60, characters="auto"))
    for features in ([["words"]], [[1, 0.5]], [["words", "few"]], 3, [["words", float("1e300")]]):
        header, arrays = unpack(data)
        header["state"]["held"]["features"] = features
        with pytest.raises(BadFile):
            from_bytes(pack(header, arrays))
    header, arrays = unpack(to_bytes(fitted(60, characters=(3, 4))))
    for given in ([3], [1, 2], [3, 99], "34", {"a": 1}):
        header["tally"]["schema"]["columns"][0]["tokenizer"]["characters"] = given
        with pytest.raises(BayesError):
            from_bytes(pack(header, arrays))

"""P(word | class) of documents as a table with counts, and its picture."""

import numpy as np
import pytest

import bayeskit as bk

TEXTS, LABELS = ["a b b", "a c", "b c", "c"], ["p", "p", "q", "q"]


def table_of(recipe, texts=TEXTS, labels=LABELS, **settings):
    return bk.TextClassifier(recipe, pattern="words1", **settings).fit(texts, labels).table("text")


def test_of_a_bag_occurrences_and_their_shares():
    table = table_of("multinomial")
    assert table.column_names == ["word", "count | p", "count | q", "P(word | p)", "P(word | q)"]
    assert table["count | p"] == [2, 2, 1]
    assert table["count | q"] == [0, 1, 2]
    assert table["P(word | p)"] == pytest.approx([3 / 8, 3 / 8, 2 / 8])
    naive = bk.NaiveBayes(roles={"word": bk.Text(bk.Tokenizer("words1"))}).fit({"word": TEXTS}, LABELS)
    assert str(naive.table("word")) == str(table_of("multinomial"))


def test_of_a_set_documents_and_their_shares():
    table = table_of("set_of_words", smoothing=0)
    assert table["count | p"] == [2, 1, 1]
    assert table["count | q"] == [0, 1, 2]
    assert table["P(word | p)"] == [1.0, 0.5, 0.5]
    assert table["P(word | q)"] == [0.0, 0.5, 1.0]
    assert table_of("set_of_words")["P(word | p)"] == pytest.approx([3 / 4, 2 / 4, 2 / 4])


@pytest.mark.parametrize("recipe", ["multinomial", "set_of_words"])
def test_a_long_vocabulary_is_cut_and_the_rest_is_numbered(recipe):
    texts = [" ".join(f"w{i:04}" for i in range(600)), "w0001 w0002"]
    table = table_of(recipe, texts, ["p", "q"])
    assert len(table) == 600
    assert "550 more" in str(table)
    assert "550 more" in table._repr_html_()
    title = str(table.chart().to_dict()["title"])
    assert "most probable of 600 values" in title
    assert ("the others have" in title) == (recipe == "multinomial")  # coins of a set do not sum to one


@pytest.mark.parametrize("recipe", ["complement", "weighted", "tfidf"])
def test_recipes_without_probabilities_of_words_show_the_telling_ones(recipe):
    assert "evidence" in table_of(recipe).column_names


def test_without_a_column_it_is_the_class_prior():
    model = bk.TextClassifier("multinomial", pattern="words1").fit(TEXTS, LABELS)
    assert np.array_equal(model.table()["count"], [2, 2])

"""Long texts in explanations: a sentence shows the words that matter."""

import bayeskit as bk


def test_a_sentence_shows_the_words_of_a_long_text_that_matter():
    notes = ["ball goal team match the a of and", "vote law party court the a of and"] * 10
    model = bk.NaiveBayes(roles={"note": "text"}).fit({"note": notes}, ["sports", "law"] * 10)
    long = "the a of and " * 1200 + "goal goal goal match"
    explained = model.explain({"note": long})[0]
    sentence = explained.contributions[0].sentence
    assert len(sentence) < 150
    assert sentence.startswith("note (goal, match, ")
    assert len(str(explained)) < 400
    assert explained.contributions[0].value == long
    assert "goal, match" in str(explained.table)


def test_a_long_value_without_words_is_cut():
    model = bk.NaiveBayes().fit({"note": ["x" * 500, "y" * 500]}, ["a", "b"])
    assert len(model.explain({"note": "x" * 500})[0].contributions[0].sentence) < 150


def test_a_short_text_is_shown_whole():
    model = bk.NaiveBayes(roles={"note": "text"}).fit({"note": ["good day", "bad day"]}, ["a", "b"])
    assert "note good day makes a" in str(model.explain({"note": "good day"})[0])

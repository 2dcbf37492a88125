"""Documents scored by a table that has their words."""

import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.export.sql_terms import WordTable
from tests.export.test_scores import NEAR

FILMS = ["good good film", "bad film and bad", "a good one", "dull and bad", "good", "It's so, so good"]
SIGNS = ["+", "-", "+", "-", "+", "+"]
ASKED = ["good bad bad film", "unknown", "Dull dull dull good", "", "it's FILM"]


def load_words(database, model, documents, tokens):
    """A row for each token, and the documents themselves."""
    rows = [(i, word) for i, document in enumerate(documents) for word in tokens(document)]
    words = pa.table({"id": [i for i, _ in rows], "word": pa.array([word for _, word in rows], pa.string())})
    database.load("words", words)
    database.load("films", pa.table({"id": list(range(len(documents)))}))


@pytest.mark.parametrize("recipe", ["multinomial", "complement", "set_of_words", "nbsvm", "auto", "best"])
def test_the_database_weighs_words_as_the_model_does(database, recipe):
    if database.dialect == "spark" and recipe not in ("auto", "best"):
        pytest.skip("two recipes in Spark, whose queries take seconds")
    model = bk.TextClassifier(recipe, ngrams=(1, 2) if recipe == "best" else None).fit(FILMS, SIGNS)
    load_words(database, model, ASKED, model.schema_.columns["text"].tokenizer.tokens)
    record = model.to_sql("films", dialect=database.dialect, keys="id", words="words")
    found = sorted(database.rows(record.query))
    probabilities = np.array([row[2:] for row in found])
    assert np.abs(probabilities - model.predict_proba(ASKED)).max() < NEAR
    assert [row[1] for row in found] == model.predict(ASKED).tolist()


def test_a_count_may_stand_beside_the_word(database):
    if database.dialect == "spark":
        pytest.skip("asked of the others: Spark's queries take seconds")
    films = pa.table({"film": FILMS, "year": [1990.0, 1991.0, 1999.0, 2000.0, 2001.0, 1995.0]})
    model = bk.NaiveBayes(roles={"film": "text"}).fit(films, SIGNS)
    database.load("films", pa.table({"id": [7, 8], "year": [1994.0, None]}))
    bags = {"nr": [7, 7, 8, 8], "token": ["good", "bad", "film", "unknown"], "times": [1, 3, 2, 5]}
    database.load("bags", pa.table(bags))
    words = {"film": WordTable("bags", "token", "times", ("nr",))}
    record = model.to_sql("films", dialect=database.dialect, keys="id", words=words)
    probabilities = np.array([row[2:] for row in sorted(database.rows(record.query))])
    same = pa.table({"film": ["good bad bad bad", "film film unknown"], "year": [1994.0, None]})
    assert np.abs(probabilities - model.predict_proba(same)).max() < NEAR


def test_a_text_without_a_table_of_words_is_refused_by_name():
    model = bk.TextClassifier("multinomial").fit(FILMS, SIGNS)
    with pytest.raises(bk.BayesError, match="is text, and a query has no words: give words="):
        model.to_sql("films", keys="id")


def test_recipes_that_are_no_sum_over_words_are_refused():
    model = bk.TextClassifier("tfidf").fit(FILMS, SIGNS)
    with pytest.raises(bk.BayesError, match="by the other words of its document"):
        model.to_sql("films", keys="id", words="words")

"""EM around a classifier: with every row labeled it is the classifier, in every setting that it takes."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bayeskit as bk

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
TEXTS = ["sun sea sand", "sea sea wind", "sun ice", "rain fog", "fog wind rain ice", "rain", "sun fog", "ice ice sea"]
TAGS = ["good", "good", "good", "bad", "bad", "bad", "bad", "good"]
ASKED = ["sun", "rain sea", "fog ice ice", "", "unheard"]
TEXT_SETTINGS = [
    {},
    {"smoothing": 0.1},
    {"smoothing": 3.0, "prior": "uniform"},
    {"prior": {"good": 0.9, "bad": 0.1}},
    {"min_df": 2},
    {"max_features": 3, "ngrams": (1, 2)},
    {"pattern": "char", "ngrams": (2, 3)},
]


@settings.get_profile("slow laws")
@given(data=st.data())
def test_with_every_row_labeled_it_is_the_classifier(law, data):
    rows = law.rows(data, min_size=3)
    assume(len({row["label"] for row in rows}) > 1)
    X, y = law.frame(rows), [row["label"] for row in rows]
    alone, around = law.model().fit(X, y), bk.SemiSupervised(law.model(), folds=0).fit(X, y)
    assert np.array_equal(around.predict_proba(X), alone.predict_proba(X), equal_nan=True)
    assert around.predict(X).tolist() == alone.predict(X).tolist()


@pytest.mark.parametrize("changes", TEXT_SETTINGS, ids=str)
def test_with_every_document_labeled_it_is_the_classifier(recipe, changes):
    model = bk.TextClassifier(recipe, **changes)
    around = bk.SemiSupervised(model, folds=0).fit(TEXTS, TAGS)
    alone = model.fit(TEXTS, TAGS)
    assert around.predict(ASKED).tolist() == alone.predict(ASKED).tolist()
    if hasattr(alone, "predict_proba"):
        assert np.array_equal(around.predict_proba(ASKED), alone.predict_proba(ASKED))


@pytest.mark.parametrize("recipe", ["auto", "multinomial", "set_of_words"])
def test_every_setting_changes_what_unlabeled_documents_teach(recipe):
    some = [tag if i % 2 else None for i, tag in enumerate(TAGS)]
    answers = []
    for changes in TEXT_SETTINGS:
        model = bk.SemiSupervised(bk.TextClassifier(recipe, **changes), folds=0).fit(TEXTS, some)
        proba = model.predict_proba(ASKED)
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
        answers.append(tuple(proba.round(9).ravel().tolist()))
    assert len(set(answers)) == len(TEXT_SETTINGS)


@pytest.mark.parametrize("recipe", ["complement", "wcnb", "twcnb", "tfidf", "nbsvm"])
def test_recipes_without_probabilities_do_not_learn_from_unlabeled_documents(recipe):
    with pytest.raises(bk.BayesError, match='use "auto", "multinomial" or "set_of_words"'):
        bk.SemiSupervised(bk.TextClassifier(recipe)).fit(TEXTS, [*TAGS[:-1], None])


def test_rows_without_label_that_are_impossible_everywhere_are_shared_by_the_prior():
    X = {"x": ["u", "u", "v", "v"], "z": ["p", "p", "q", "p"]}
    model = bk.SemiSupervised(bk.NaiveBayes(smoothing=0), folds=0).fit(X, ["a", "a", "b", None])
    assert np.isfinite(model.predict_proba(X)).all()

"""Explanations: they name what ``predict`` says and sum to its odds, on every model, undecidable rows included."""

import json
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.charts.evidence import evidence_chart
from bayeskit.cli.console import plain

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
lawful = settings.get_profile("slow laws")
CHANGES = [{}, {"smoothing": 0}, {"smoothing": 0, "undecidable": "nan"}, {"smoothing": 0, "ties": "random"}]


def odds_of(model, X, i, label, other):
    said = model.predict_log_proba(X)[i] if hasattr(model, "predict_log_proba") else model.predict_joint_log_proba(X)[i]
    classes = model.classes_.tolist()
    with np.errstate(invalid="ignore"):
        return said[classes.index(label)] - said[classes.index(other)]


def is_near(a, b):
    return a == b or (math.isnan(a) and math.isnan(b)) or a == pytest.approx(b, rel=1e-9, abs=1e-7)


@lawful
@given(data=st.data())
def test_an_explained_row_is_the_predicted_one(any_law, data):
    law, known = any_law, any_law.model().get_params()
    changes = {name: value for name, value in data.draw(st.sampled_from(CHANGES)).items() if name in known}
    rows = law.rows(data, min_size=4, max_size=9)
    assume(len({row["label"] for row in rows}) > 1)
    try:
        model = law.fit(rows, **changes)
    except bk.BayesError:  # refuses to go without smoothing
        model = law.fit(rows)
    X = law.frame([{**row, "sky": row["sky"] and "new"} if i == 0 else row for i, row in enumerate(law.rows(data))])
    chosen, proba = model.predict(X), model.predict_proba(X)
    has_joint = hasattr(model, "predict_joint_log_proba")  # where it has not, nothing is impossible
    impossible = (
        np.isneginf(model.predict_joint_log_proba(X)).all(axis=1) if has_joint else np.zeros(len(X), dtype=bool)
    )
    for i, record in enumerate(model.explain(X)):
        assert record.predicted == chosen[i] != record.against
        at = model.classes_.tolist().index(record.predicted)
        np.testing.assert_allclose(record.probability, proba[i, at], rtol=1e-9)
        assert is_near(record.log_odds, odds_of(model, X, i, record.predicted, record.against))
        assert record.undecidable == impossible[i]
        total = record.prior_log_odds
        if not record.undecidable:
            total += sum(c.log_odds for c in record.contributions)
        assert is_near(total, record.log_odds) or changes.get("undecidable") == "nan"
        assert is_near(record.table["sum"][-1], record.log_odds)
        assert "nan" not in str(record)
        assert record._repr_html_()
        json.dumps(plain([record.log_odds, *(c.log_odds for c in record.contributions)]), allow_nan=False)
    used = [c.log_odds for c in record.contributions if c.state != "unused" and not record.undecidable]
    if np.isfinite([record.prior_log_odds, record.log_odds, *used]).any():
        json.dumps(evidence_chart(record).to_dict(), allow_nan=False)
    else:
        with pytest.raises(bk.BayesError, match="infinite before any evidence"):
            evidence_chart(record)


document = st.lists(st.sampled_from(["sun", "sea", "rain", "été", "new"]), max_size=5).map(" ".join)
labeled = st.lists(st.tuples(document, st.sampled_from("abc")), min_size=2, max_size=8)


@settings.get_profile("laws")
@given(changes=st.sampled_from(CHANGES), drawn=labeled, asked=st.lists(document, min_size=1, max_size=6))
def test_an_explained_document_is_the_predicted_one(recipe, changes, drawn, asked):
    assume(len({label for _, label in drawn}) > 1)
    if recipe not in ("multinomial", "tfidf"):  # refuse to go without
        changes = {name: value for name, value in changes.items() if name != "smoothing"}
    model = bk.TextClassifier(recipe, pattern="words1", **changes)
    try:
        model.fit([text.replace("new", "") for text, _ in drawn], [label for _, label in drawn])
    except bk.BayesError:
        assume(False)  # no words at all
    joint, chosen = model.predict_joint_log_proba(asked), model.predict(asked)
    for i, record in enumerate(model.explain(asked)):
        assert record.label == chosen[i] != record.other
        assert is_near(record.total, odds_of(model, asked, i, record.label, record.other))
        assert record.undecidable == np.isneginf(joint[i]).all()
        total = record.base if record.undecidable else record.base + sum(e for _, _, e in record.words)
        assert is_near(total, record.total) or changes.get("undecidable") == "nan"
        assert str(record)
        json.dumps(plain([record.total, record.base, record.words]), allow_nan=False)


def test_an_undecidable_document_is_explained_as_it_is_predicted():
    """Word by word every class is ruled out: the prior decides, and the sum is its odds."""
    model = bk.TextClassifier("multinomial", smoothing=0, pattern="words1")
    model.fit(["sun sea", "sun", "rain fog"], ["good", "good", "bad"])
    (record,) = model.explain(["sun rain"])
    assert model.predict(["sun rain"]).tolist() == [record.label] == ["good"]
    assert record.undecidable
    assert record.total == record.base == pytest.approx(math.log(2))
    assert {word: evidence for word, _, evidence in record.words} == {"sun": math.inf, "rain": -math.inf}
    assert str(record).startswith("good against bad: undecidable, impossible under every class; log odds +0.6931 by")


def test_what_is_undecidable_by_request_is_refused_or_nan_when_explained_too():
    X, y = {"x": ["u", "u", "v"], "z": ["p", "p", "q"]}, ["a", "a", "b"]
    row = {"x": "v", "z": "p"}
    with pytest.raises(bk.BayesError, match="row 0 is impossible under every class"):
        bk.NaiveBayes(smoothing=0, undecidable="error").fit(X, y).explain(row)
    model = bk.NaiveBayes(smoothing=0, undecidable="nan").fit(X, y)
    (record,) = model.explain(row)
    assert record.undecidable
    assert math.isnan(record.probability)
    assert math.isnan(record.log_odds)
    assert "it has no probabilities" in str(record)


def test_the_prior_of_an_undecidable_row_is_not_tempered():
    X, y = {"x": ["u", "u", "v"], "z": ["p", "p", "q"]}, ["a", "a", "b"]
    model = bk.NaiveBayes(smoothing=0, temperature=3.0).fit(X, y)
    (record,) = model.explain({"x": "v", "z": "p"})
    assert record.prior_log_odds == record.log_odds == pytest.approx(math.log(2))
    assert record.table["sum"] == pytest.approx([math.log(2)] * 3)

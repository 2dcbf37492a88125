"""Dates are taken by their parts where that is wished: each a column of its own, in every form, file and model."""

import json
import warnings
from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.data.cells import date_part
from bayeskit.data.schema import Schema
from bayeskit.errors import AdviceWarning, SchemaMismatch

N = 70
MOMENTS = [None if i == 9 else datetime(2023, 11, 3, 7) + timedelta(hours=37 * i) for i in range(N)]
SKY = ["sun", "rain"] * (N // 2)
Y = ["work" if moment is None or moment.weekday() < 5 else "rest" for moment in MOMENTS]
ROLES = {"when": bk.Date("month", "weekday")}
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def iso(moment):
    return None if moment is None else moment.isoformat(sep=" ")


FORMS = {
    "objects": lambda: np.array(MOMENTS, dtype=object),
    "list": lambda: MOMENTS,
    "numpy": lambda: np.array(MOMENTS, dtype="M8[us]"),
    "pandas": lambda: pd.Series(MOMENTS),
    "pandas in UTC": lambda: pd.Series(MOMENTS).dt.tz_localize("UTC"),
    "polars": lambda: pl.Series("when", MOMENTS),
    "arrow": lambda: pa.array(MOMENTS, pa.timestamp("ns")),
    "arrow elsewhere": lambda: pa.array(MOMENTS, pa.timestamp("us")).cast(pa.timestamp("us", "Asia/Tokyo")),
    "texts": lambda: [iso(moment) for moment in MOMENTS],
    "texts of a dictionary": lambda: pa.array([iso(moment) for moment in MOMENTS]).dictionary_encode(),
    "texts with a T": lambda: [None if moment is None else moment.isoformat() for moment in MOMENTS],
}


@pytest.mark.parametrize("form", FORMS)
def test_the_parts_are_those_that_python_names(form):
    column = bk.open_source({"when": FORMS[form]()}).columns["when"]
    wanted = {
        "year": lambda moment: moment.year,
        "month": lambda moment: moment.month,
        "day": lambda moment: moment.day,
        "weekday": lambda moment: DAYS[moment.weekday()],
        "hour": lambda moment: moment.hour,
    }
    for part, of in wanted.items():
        assert date_part(column, part, "when").to_pylist() == [None if m is None else of(m) for m in MOMENTS]


@pytest.mark.parametrize("form", FORMS)
def test_a_date_is_learned_by_its_parts_in_every_form(form):
    table = {"when": FORMS[form](), "sky": SKY}
    model = bk.NaiveBayes(roles=ROLES).fit(table, Y)
    assert model.schema_.used == ["when.month", "when.weekday", "sky"]
    assert model.tally_ == bk.NaiveBayes(roles=ROLES).fit({"when": MOMENTS, "sky": SKY}, Y).tally_
    assert model.tally_.families["when.weekday"].missing.sum() == 1
    assert model.predict({"when": "2024-02-03 10:00", "sky": "sun"}).tolist() == ["rest"]
    assert model.predict({"when": date(2024, 2, 2), "sky": "sun"}).tolist() == ["work"]


MODELS = [bk.NaiveBayes, bk.TAN, bk.AODE, bk.KDB, bk.FullJointBayes, bk.NBTree, bk.SubclassBayes, bk.BayesClassifier]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*MODELS, bk.LogisticRegression], ids=lambda kind: kind.__name__)
def test_every_model_takes_parts_as_it_takes_columns_of_them(kind):
    frame = pd.DataFrame({"when": pd.to_datetime(pd.Series(MOMENTS)), "sky": SKY})
    parts = pd.DataFrame(
        {"when.month": frame["when"].dt.month, "when.weekday": frame["when"].dt.strftime("%a"), "sky": SKY}
    )
    domains = {"when.month": range(1, 13), "when.weekday": DAYS}
    model = kind(roles=ROLES).fit(frame, Y)
    by_hand = kind(domains=domains).fit(parts, Y)
    assert np.array_equal(model.predict_proba(frame), by_hand.predict_proba(parts))
    assert model.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["when", "sky"]


def test_the_model_file_holds_the_parts(tmp_path):
    model = bk.NaiveBayes(roles={"when": "weekday, hour"}).fit({"when": MOMENTS, "sky": SKY}, Y)
    assert Schema.from_json(json.loads(json.dumps(model.schema_.to_json()))) == model.schema_
    model.roles = ROLES
    model.fit({"when": MOMENTS, "sky": SKY}, Y).save(tmp_path / "model.bayes")
    again = bk.load(tmp_path / "model.bayes")
    assert again.roles == ROLES
    assert again.predict({"when": ["2024-02-03"], "sky": ["sun"]}).tolist() == ["rest"]
    again.partial_fit({"when": MOMENTS, "sky": SKY}, Y).forget({"when": MOMENTS, "sky": SKY}, Y)
    assert again.tally_ == model.tally_
    assert (again + model).tally_.n_rows == 2 * N


def test_a_column_of_dates_may_be_absent_or_stand_by_position():
    model = bk.NaiveBayes(roles=ROLES).fit({"when": MOMENTS, "sky": SKY}, Y)
    nothing = model.predict_proba({"when": None, "sky": "sun"})
    assert np.array_equal(model.predict_proba({"sky": "sun"}), nothing)
    rows = [[moment, sky] for moment, sky in zip(MOMENTS, SKY, strict=True)]
    by_place = bk.NaiveBayes(roles={0: bk.Date("month", "weekday")}).fit(rows, Y)
    assert by_place.schema_.used == ["x0.month", "x0.weekday", "x1"]
    assert np.array_equal(by_place.predict_proba(rows), model.predict_proba({"when": MOMENTS, "sky": SKY}))
    assert model.restrict(["when"]).schema_.used == ["when.month", "when.weekday"]
    assert model.restrict(["when.month", "sky"]).schema_.used == ["when.month", "sky"]
    shown = model.explain({"when": "2024-02-03", "sky": "sun"})[0].contributions
    assert {c.column: c.value for c in shown} == {"when.month": 2, "when.weekday": "Sat", "sky": "sun"}


def test_what_is_no_date_is_named():
    model = bk.NaiveBayes(roles=ROLES).fit({"when": MOMENTS, "sky": SKY}, Y)
    with pytest.raises(SchemaMismatch, match=r"column 'when' has 'tomorrow' in row 1, which is not a date") as told:
        model.predict({"when": ["2024-05-01", "tomorrow"], "sky": ["sun", "sun"]})
    assert told.value.hint == "Correct or empty the cell."
    with pytest.raises(SchemaMismatch, match=r"column 'when' has 5 in row 0, which is not a date"):
        model.predict({"when": [5], "sky": ["sun"]})
    with pytest.raises(bk.BayesError, match="it takes some of year, month, day, weekday, hour, each once"):
        bk.Date("month", "week")
    with pytest.raises(bk.BayesError, match="each once"):
        bk.Date()
    with pytest.raises(SchemaMismatch, match=r"would become 'when\.month', which is there"):
        bk.NaiveBayes(roles=ROLES).fit({"when": MOMENTS, "when.month": SKY}, Y)
    with pytest.raises(SchemaMismatch, match=r"roles=.*month,weekday.*numeric"):
        bk.NaiveBayes().fit({"when": MOMENTS, "sky": SKY}, Y)


def test_parts_are_not_advised():
    with warnings.catch_warnings():
        warnings.simplefilter("error", AdviceWarning)
        bk.NaiveBayes(roles={"when": bk.Date("year")}).fit({"when": MOMENTS, "sky": SKY}, Y)

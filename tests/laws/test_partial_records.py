"""A record may say less than was learned: what is absent is missing, in every model and every form."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import bayeskit as bk
from bayeskit.errors import BayesWarning, SchemaMismatch
from bayeskit.evaluate.cross_validation import evaluate_test_set

N = 60
TABLE = {
    "sky": ["sun", "rain", "hail"] * 20,
    "size": [float(i * 13 % 17) for i in range(N)],
    "floor": [i * 5 % 3 for i in range(N)],
    "open": [i % 4 > 1 for i in range(N)],
}
LABELS = ["a", "b", "b", "a", "a"] * 12
ROLES = {"floor": "categorical"}
MODELS = {
    "NaiveBayes": bk.NaiveBayes(roles=ROLES),
    "kernel": bk.NaiveBayes(roles=ROLES, numeric="kernel"),
    "missing is a value": bk.NaiveBayes(roles=ROLES, missing="value"),
    "with a text": bk.NaiveBayes(roles={**ROLES, "sky": "text"}),
    "TAN": bk.TAN(roles=ROLES),
    "AODE": bk.AODE(roles=ROLES),
    "KDB": bk.KDB(roles=ROLES),
    "NetworkClassifier": bk.NetworkClassifier(roles=ROLES),
    "FullJointBayes": bk.FullJointBayes(roles=ROLES),
    "GaussianBayes": bk.GaussianBayes(roles={"sky": "ignore", "open": "ignore", "floor": "numeric"}),
    "SubclassBayes": bk.SubclassBayes(roles=ROLES, n_subclasses=2, restarts=1),
    "NBTree": bk.NBTree(roles=ROLES),
    "BayesClassifier": bk.BayesClassifier(roles=ROLES, fast=True),
    "DiscriminativeWeights": bk.DiscriminativeWeights(bk.NaiveBayes(roles=ROLES)),
}


@pytest.fixture(scope="module")
def fitted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesWarning)
        return {name: clone(model).fit(TABLE, LABELS) for name, model in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("known", [("size",), ("size", "sky"), ("floor", "size", "open")], ids=",".join)
def test_what_is_absent_from_a_record_is_missing(fitted, name, known):
    model, row = fitted[name], {column: TABLE[column][7] for column in known}
    whole = {column: row.get(column) for column in TABLE}
    wanted = model.predict_proba(pa.table({column: [value] for column, value in whole.items()}))
    forms = [row, [row], pd.Series(row), pd.Series(row, dtype=object), pl.LazyFrame({c: [v] for c, v in row.items()})]
    for form in forms:
        assert np.array_equal(model.predict_proba(form), wanted)
        assert model.predict(form).tolist() == model.predict([whole]).tolist()
    if hasattr(model, "explain"):
        assert model.explain(row)[0].log_odds == model.explain([whole])[0].log_odds


def test_a_row_of_a_frame_is_a_record(fitted):
    frame = pd.DataFrame(TABLE)
    for name in ("NaiveBayes", "BayesClassifier"):
        for i in (0, 5):
            assert np.array_equal(fitted[name].predict_proba(frame.iloc[i])[0], fitted[name].predict_proba(frame)[i])
    with pytest.raises(bk.BayesError, match="Expected 2D array, got 1D array"):
        fitted["NaiveBayes"].predict(frame["size"])


def test_a_lazy_frame_is_collected():
    lazy = pl.LazyFrame({**TABLE, "kind": LABELS})
    model = bk.NaiveBayes(roles=ROLES).fit(lazy, "kind")
    assert model.tally_ == bk.NaiveBayes(roles=ROLES).fit({**TABLE, "kind": LABELS}, "kind").tally_
    assert model.score(lazy, "kind") == model.score({**TABLE, "kind": LABELS}, "kind")
    assert bk.cross_validate(model, lazy, "kind", folds=3).n_rows == N
    texts = bk.TextClassifier("multinomial").fit(pl.LazyFrame({"text": ["sun", "rain"], "kind": ["a", "b"]}), "kind")
    assert texts.predict(pl.LazyFrame({"text": ["rain"]})).tolist() == ["b"]


def test_a_table_that_lacks_columns_is_told_once(fitted, tmp_path):
    model = fitted["NaiveBayes"]
    table = pa.table({"size": TABLE["size"], "note": ["x"] * N})
    with pytest.warns(
        BayesWarning, match=r"the data has no columns sky, floor, open: they are taken as missing"
    ) as said:
        model.predict(table)
    assert len(said) == 1
    path = tmp_path / "some.csv"
    pd.DataFrame(TABLE).drop(columns="sky").to_csv(path, index=False)
    with pytest.warns(BayesWarning, match=r"some\.csv has no column sky: it is taken as missing") as said:
        answers = model.predict_proba(path)
    assert len(said) == 1
    assert np.array_equal(answers, model.predict_proba({**TABLE, "sky": [None] * N}))
    labeled = bk.open_source({"size": TABLE["size"], "kind": LABELS}, "kind")
    with pytest.warns(BayesWarning, match="taken as missing"):
        assert evaluate_test_set(model, labeled).n_rows == N
    with pytest.warns(BayesWarning, match="taken as missing"):
        model.score({"size": TABLE["size"]}, LABELS)


def test_a_name_that_is_nearly_right_is_refused(fitted):
    for data in ({"Sky": "sun", "size": 1.0}, {"size": [1.0, 2.0], "sky ": ["sun", "rain"]}):
        with pytest.raises(
            SchemaMismatch, match=r"column 'sky' is missing from the data, which has 'Sky'|'sky '"
        ) as told:
            fitted["NaiveBayes"].predict(data)
        assert "'sky'" in str(told.value)
    with pytest.raises(SchemaMismatch, match="columns sky, size, floor, open missing from the data") as told:
        fitted["NaiveBayes"].predict({"color": "red"})
    assert all(name in str(told.value) for name in ("sky", "size", "floor", "open"))


def test_rows_that_are_learned_need_all_columns(fitted):
    model = clone(MODELS["NaiveBayes"]).fit(TABLE, LABELS)
    for way in (model.partial_fit, model.forget, model.leave_one_out):
        with pytest.raises(SchemaMismatch, match="columns sky, floor, open missing from the data"):
            way({"size": TABLE["size"]}, LABELS)


def test_models_that_put_an_average_in_its_place_refuse_what_is_absent():
    model = bk.LogisticRegression(roles=ROLES).fit(TABLE, LABELS)
    with pytest.raises(SchemaMismatch, match=r"column sky missing from the data.*pass an empty column"):
        model.predict({name: column for name, column in TABLE.items() if name != "sky"})
    assert model.predict({**TABLE, "sky": [None] * N}).shape == (N,)


def test_files_of_which_a_later_one_has_more_columns_are_refused(fitted, tmp_path):
    (tmp_path / "a.csv").write_text("size\n1\n")
    (tmp_path / "b.csv").write_text("size,sky\n1,sun\n")
    with pytest.raises(SchemaMismatch, match=r"b\.csv has a column 'sky', and .*a\.csv has not"):
        fitted["NaiveBayes"].predict(tmp_path)


LINES = [
    {"size": 3.0, "sky": "rain", "floor": 1, "open": True},
    {"size": 3.0},
    {"sky": "rain"},
    {"open": False, "floor": 2, "note": "x"},
    {"nothing": 1},
    {"size": None, "sky": "sun"},
]


@pytest.mark.parametrize("name", ["NaiveBayes", "BayesClassifier"])
def test_a_line_of_json_is_answered_alike_alone_and_among_others(fitted, name, tmp_path):
    model = fitted[name]
    path = tmp_path / "lines.jsonl"
    alone = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesWarning)
        for line in LINES:
            path.write_text(json.dumps(line) + "\n")
            alone.append(model.predict_proba(path)[0])
        for order in (range(len(LINES)), range(len(LINES) - 1, -1, -1)):
            path.write_text("".join(json.dumps(LINES[i]) + "\n" for i in order))
            assert np.array_equal(model.predict_proba(path), np.array([alone[i] for i in order]))
        whole = [{column: line.get(column) for column in TABLE} for line in LINES]
        assert np.array_equal(model.predict_proba(whole), alone)


def test_a_key_that_comes_late_is_read(fitted, tmp_path):
    path, model = tmp_path / "late.jsonl", fitted["NaiveBayes"]
    filler = json.dumps({"size": 1.0, "note": "x" * 1000}) + "\n"
    path.write_text(filler * 5000 + json.dumps({"sky": "hail", "floor": 2, "open": True}) + "\n")
    with pytest.warns(BayesWarning, match=r"late\.jsonl has no columns sky, floor, open in its first lines"):
        last = model.predict_proba(path)[-1]
    assert np.array_equal(last, model.predict_proba({"sky": "hail", "floor": 2, "open": True})[0])

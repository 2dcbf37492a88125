"""A row without a label is refused, or is as if it had never been there: in every model and every way to read it."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import bayeskit as bk
from bayeskit.errors import BayesWarning, Unlabeled
from bayeskit.evaluate.cross_validation import evaluate_test_set

ROWS = 60
LABELS = np.array(["yes", "no", "no", None, "yes"] * (ROWS // 5), dtype=object)
TABLE = {
    "sky": [("sun", "rain", "hail")[i * 7 % 3] for i in range(ROWS)],
    "size": [float(i * 13 % 17) + (i % 5) for i in range(ROWS)],
}
KNOWN = [i for i in range(ROWS) if LABELS[i] is not None]
ALONE = {name: [column[i] for i in KNOWN] for name, column in TABLE.items()}
MODELS = {
    "NaiveBayes": bk.NaiveBayes(),
    "TAN": bk.TAN(),
    "AODE": bk.AODE(weights="log-linear"),
    "KDB": bk.KDB(),
    "NetworkClassifier": bk.NetworkClassifier(),
    "FullJointBayes": bk.FullJointBayes(),
    "GaussianBayes": bk.GaussianBayes(roles={"sky": "ignore"}),
    "SubclassBayes": bk.SubclassBayes(max_subclasses=2),
    "NBTree": bk.NBTree(),
    "BayesClassifier": bk.BayesClassifier(fast=True),
    "LogisticRegression": bk.LogisticRegression(),
    "DiscriminativeWeights": bk.DiscriminativeWeights(),
}


def dropping(name):
    if name == "DiscriminativeWeights":
        return bk.DiscriminativeWeights(bk.NaiveBayes(unlabeled="drop"))
    return clone(MODELS[name]).set_params(unlabeled="drop")


def quietly(call):
    """What a call gives, and how often it says that rows were left out."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        answer = call()
    return answer, [str(w.message) for w in told if "no label" in str(w.message)]


@pytest.mark.parametrize("name", MODELS)
def test_rows_without_a_label_are_as_if_they_had_never_been_there(name):
    model, (alone, none) = dropping(name), quietly(lambda: clone(MODELS[name]).fit(ALONE, LABELS[KNOWN]))
    fitted, told = quietly(lambda: model.fit(TABLE, LABELS))
    assert told == ["12 of 60 rows have no label (rows 3, 8, 13, 18, 23, …): left out"]
    assert none == []
    assert np.array_equal(fitted.predict_proba(TABLE), alone.predict_proba(TABLE))
    score, told = quietly(lambda: fitted.score(TABLE, LABELS))
    assert score == alone.score(ALONE, LABELS[KNOWN])
    assert len(told) == 1


@pytest.mark.parametrize("name", MODELS)
def test_a_refusal_counts_all_rows_without_a_label_and_names_the_first(name):
    with pytest.raises(Unlabeled, match=r'12 of 60 rows have no label \(rows 3, 8, 13, 18, 23, …\).*unlabeled="drop"'):
        clone(MODELS[name]).fit(TABLE, LABELS)


FORMS = {
    "objects": LABELS,
    "list": LABELS.tolist(),
    "numbers with NaN": np.array([np.nan if label is None else float(label == "yes") for label in LABELS]),
    "pandas": pd.Series(LABELS, dtype="string"),
    "category": pd.Series(LABELS, dtype="category"),
    "nullable": pd.Series([None if label is None else label == "yes" for label in LABELS], dtype="boolean"),
    "arrow": pa.chunked_array([pa.array(LABELS[:20]), pa.array(LABELS[20:])]),
    "dictionary": pa.array(LABELS).dictionary_encode(),
    "dictionary with a null value": pa.DictionaryArray.from_arrays(
        pa.array([{"yes": 0, "no": 1, None: 2}[label] for label in LABELS]), pa.array(["yes", "no", None])
    ),
    "masked": np.ma.array([label == "yes" for label in LABELS], mask=[label is None for label in LABELS]),
}


@pytest.mark.parametrize("form", FORMS)
def test_missing_labels_are_found_in_every_form(form):
    model, told = quietly(lambda: bk.NaiveBayes(unlabeled="drop").fit(TABLE, FORMS[form]))
    assert told == ["12 of 60 rows have no label (rows 3, 8, 13, 18, 23, …): left out"]
    assert model.tally_.class_counts.tolist() == [24, 24]


def test_learning_forgetting_and_leaving_out_treat_such_a_row_alike():
    model = bk.NaiveBayes(unlabeled="drop")
    alone = bk.NaiveBayes().fit(ALONE, LABELS[KNOWN])
    with pytest.warns(BayesWarning, match="left out"):
        model.partial_fit(TABLE, LABELS)
    with pytest.warns(BayesWarning, match="left out"):
        model.partial_fit(TABLE, LABELS)
    with pytest.warns(BayesWarning, match="left out"):
        model.forget(TABLE, LABELS)
    assert model.tally_ == alone.tally_
    with pytest.warns(BayesWarning, match="left out"):
        scored = model.leave_one_out(TABLE, LABELS)
    assert scored == alone.leave_one_out(ALONE, LABELS[KNOWN])
    with pytest.warns(BayesWarning, match="left out"):
        likelihood = model.log_likelihood(TABLE, LABELS)
    assert likelihood == alone.log_likelihood(ALONE, LABELS[KNOWN])
    with pytest.warns(BayesWarning, match="left out"):
        folded = bk.cross_validate(model, TABLE, LABELS, folds=3)
    assert folded == bk.cross_validate(alone, ALONE, LABELS[KNOWN], folds=3)
    with pytest.warns(BayesWarning, match="left out"):
        costly = bk.cross_validate(bk.CostSensitive(model), TABLE, LABELS, folds=3)
    assert costly.accuracy == folded.accuracy
    with pytest.warns(BayesWarning, match="left out"):
        held = evaluate_test_set(model, bk.open_source(TABLE, LABELS))
    assert held.n_rows == len(KNOWN)


def test_weights_go_with_their_rows():
    weights = np.arange(1.0, ROWS + 1)
    with pytest.warns(BayesWarning, match="left out"):
        model = bk.NaiveBayes(unlabeled="drop").fit(TABLE, LABELS, weights)
    assert model.tally_ == bk.NaiveBayes().fit(ALONE, LABELS[KNOWN], weights[KNOWN]).tally_


def test_documents_without_a_label_are_left_out_as_well():
    texts, labels = ["sun and sea", "rain", "wind and rain", "sea"], ["good", None, "bad", "good"]
    for recipe in ("multinomial", "auto"):
        with pytest.warns(BayesWarning, match="row 1 has no label: left out"):
            model = bk.TextClassifier(recipe, unlabeled="drop").fit(texts, labels)
        assert model.tally_.n_rows == 3
        with pytest.raises(Unlabeled, match="row 1 has no label"):
            bk.TextClassifier(recipe).fit(texts, labels)


def write(folder, name):
    table = pa.table({**TABLE, "play": pa.array(LABELS, pa.string())})
    if name == "rows.parquet":
        pq.write_table(table, folder / name)
    elif name == "rows.jsonl":
        lines = table.to_pandas().to_json(orient="records", lines=True).splitlines()
        (folder / name).write_text("\n\n".join(lines) + "\n")
    else:
        cells = [f'"{sky}\n",{size},{label or ""}' for sky, size, label in zip(*TABLE.values(), LABELS, strict=True)]
        (folder / name).write_text("\n".join(["sky,size,play", "", *cells]) + "\n")
    return str(folder / name)


PLACES = {
    "rows.csv": "lines 9, 19, 29, 39, 49, …",  # a cell holds a line break, and the second line nothing
    "rows.jsonl": "lines 7, 17, 27, 37, 47, …",  # every other line is empty
    "rows.parquet": "rows 3, 8, 13, 18, 23, …",
}


@pytest.mark.parametrize("name", PLACES)
def test_a_file_is_told_by_its_lines(tmp_path, name):
    path = write(tmp_path, name)
    places = PLACES[name].replace("(", r"\(")
    with pytest.raises(Unlabeled, match=rf"{name}: 12 of 60 rows have no label \({places}\) in column 'play'"):
        bk.NaiveBayes().fit_source(path, "play")
    with pytest.warns(BayesWarning, match=rf"{name}: 12 of 60 rows have no label \({places}\): left out"):
        model = bk.NaiveBayes(unlabeled="drop").fit_source(path, "play")
    assert model.tally_.n_rows == len(KNOWN)


def test_rows_of_several_files_are_counted_together(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,\n3,b\n")
    (tmp_path / "b.csv").write_text("x,y\n1,\n2,b\n")
    with pytest.raises(Unlabeled, match=r"2 of 5 rows have no label \(lines .*a\.csv 3, .*b\.csv 2\) in column 'y'"):
        bk.NaiveBayes().fit_source(tmp_path, "y")


def test_a_row_that_is_told_of_stands_among_the_labeled_ones():
    table, labels = {"x": [1.0, 2.0, 3.0, 4.0]}, ["a", None, "a", "b"]
    with pytest.warns(BayesWarning, match="left out"):
        model = bk.NaiveBayes(unlabeled="drop").fit(table, labels)
    with pytest.raises(bk.BayesError, match=r"rows with a label: .*'oops' in row 1"):
        model.partial_fit({"x": [1.0, None, "oops"]}, ["a", None, "b"])


def test_rows_that_have_no_label_at_all_are_refused():
    for model in (bk.NaiveBayes(unlabeled="drop"), bk.TextClassifier("multinomial", unlabeled="drop")):
        with pytest.raises(Unlabeled, match="none of the 2 rows has a label"):
            model.fit(["a", "b"] if isinstance(model, bk.TextClassifier) else {"x": [1.0, 2.0]}, [None, None])


def test_the_setting_is_held_in_the_file(tmp_path):
    with pytest.warns(BayesWarning, match="left out"):
        bk.NaiveBayes(unlabeled="drop").fit(TABLE, LABELS).save(tmp_path / "model.bayes")
    assert bk.load(tmp_path / "model.bayes").unlabeled == "drop"


def test_a_setting_that_means_nothing_is_refused():
    with pytest.raises(bk.BayesError, match="unlabeled='ignore' is not one of 'error', 'drop'"):
        bk.NaiveBayes(unlabeled="ignore").fit(TABLE, LABELS)


def test_the_semi_supervised_keep_their_own_meaning():
    model = bk.SemiSupervised(bk.NaiveBayes(unlabeled="drop"), folds=0).fit(TABLE, LABELS)
    assert model.estimator_.tally_.n_rows == pytest.approx(ROWS)

"""An ONNX file says what the model says, to 1e-12, under onnxruntime."""

import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.export.names import probability_names
from tests.export.test_scores import BEYOND_SQL, LOG_NORMALS, MODELS, NEAR, WITHOUT_LOGARITHM, table_of, unanswered

pytest.importorskip("onnx", reason="onnx is not installed: pip install '.[onnx]'")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


def inputs(session, rows):
    """The columns as the file asks for them: "" and NaN where a cell is missing."""
    cells = {}
    for asked in session.get_inputs():
        column = rows[asked.name].to_pylist()
        if asked.type == "tensor(string)":
            cells[asked.name] = np.array([["" if cell is None else cell] for cell in column], dtype=object)
        else:
            kind = np.int64 if asked.type == "tensor(int64)" else np.float64
            cells[asked.name] = np.array([[np.nan if cell is None else cell] for cell in column], dtype=kind)
    return cells


def table_without_empty_texts():
    rows, labels = table_of()
    no_empty = pa.array(["dull" if cell == "" else cell for cell in rows["sky"].to_pylist()])  # "" is missing in ONNX
    return rows.set_column(0, "sky", no_empty), labels


def run(model, rows):
    session = onnxruntime.InferenceSession(model.to_onnx(), providers=["CPUExecutionProvider"])
    names = probability_names(model.classes_.tolist())
    predicted, *probabilities = session.run(["predicted", *names], inputs(session, rows))
    return predicted, np.stack(probabilities, axis=1)


@pytest.mark.parametrize("kind", MODELS)
def test_the_file_says_what_the_model_says(kind):
    rows, labels = table_without_empty_texts()
    model = MODELS[kind]().fit(rows, labels)
    strange = rows.slice(0, 2).set_column(0, "sky", pa.array(["hail", None]))
    asked = pa.concat_tables([rows.slice(0, 120), strange])
    said, probabilities = run(model, asked)
    assert probabilities.dtype == np.float64
    gaps = unanswered(model, asked)
    assert np.isnan(probabilities[gaps]).all()
    assert np.abs(probabilities - model.predict_proba(asked))[~gaps].max() < NEAR
    assert said[~gaps].tolist() == model.predict(asked)[~gaps].tolist()


@pytest.mark.filterwarnings("ignore::bayeskit.errors.UndecidableWarning")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", BEYOND_SQL)
def test_models_that_no_query_computes(kind, classes):
    rows, labels = table_without_empty_texts()
    labels = np.where(labels == "no", "yes", labels) if classes == 2 else labels
    model = BEYOND_SQL[kind]().fit(rows, labels)
    strange = rows.slice(0, 2).set_column(0, "sky", pa.array(["hail", None]))
    asked = pa.concat_tables([rows.slice(0, 120), strange, table_of(seed=1, n=100)[0]])
    asked = asked.set_column(0, "sky", pa.array([cell or None for cell in asked["sky"].to_pylist()]))
    said, probabilities = run(model, asked)
    gaps = unanswered(model, asked)
    assert np.abs(probabilities - model.predict_proba(asked))[~gaps].max() < NEAR
    assert said[~gaps].tolist() == model.predict(asked)[~gaps].tolist()
    assert not hasattr(model, "to_sql")


@pytest.mark.parametrize("given", [True, False])
def test_a_tree_leaves_branches_open_for_cells_that_are_missing_or_unseen(given):
    rng = np.random.default_rng(0)

    def rows(n, gaps):
        sky, wind = rng.choice(["sun", "rain", "snow"], n), rng.choice(["weak", "strong"], n)
        x, count = rng.normal(size=n), rng.integers(0, 6, n)
        labels = np.where((sky == "sun") ^ (x > 0.3), "yes", "no")
        if gaps:
            sky, wind = (np.where(rng.random(n) < 0.2, "hail", column) for column in (sky, wind))
            count = np.where(rng.random(n) < 0.2, 99, count)
        columns = {"sky": sky, "wind": wind, "x": x, "count": count}
        return pa.table({k: pa.array(v, mask=rng.random(n) < 0.2 * gaps) for k, v in columns.items()}), labels

    small = {"column": "x", "default": 0, "branches": [[0, 0], [2, 1]]}
    rain = {"column": "count", "default": 0, "branches": [[1, small], [4, 2]]}
    tree = {"column": "sky", "default": 1, "branches": [["rain", rain], ["sun", 3]]}
    settings = {"roles": {"count": "categorical"}, "cuts": [-0.5, 0.3]}
    model = bk.NBTree(**settings, tree=tree if given else None).fit(*rows(2000, gaps=0))
    assert model.n_leaves_ > 1
    asked = rows(10_000, gaps=1)[0]
    said, probabilities = run(model, asked)
    assert np.abs(probabilities - model.predict_proba(asked)).max() < 1e-9
    assert said.tolist() == model.predict(asked).tolist()


@pytest.mark.parametrize("kind", LOG_NORMALS)
def test_numbers_without_logarithm_add_nothing(kind):
    rows, labels = table_without_empty_texts()
    asked = rows.slice(0, len(WITHOUT_LOGARITHM))
    asked = asked.set_column(asked.column_names.index("length"), "length", pa.array(WITHOUT_LOGARITHM))
    model = MODELS[kind]().fit(rows, labels)
    said, probabilities = run(model, asked)
    assert np.abs(probabilities - model.predict_proba(asked)).max() < NEAR
    assert said.tolist() == model.predict(asked).tolist()


def test_codes_truths_and_numbers_with_fractions_are_inputs_of_doubles():
    rows = pa.table({"code": [1, 2, 3, 1], "dose": [0.5, 1.5, 0.5, 2.5], "ill": [True, False, True, True]})
    roles = {"code": "categorical", "dose": "categorical"}
    model = bk.NaiveBayes(roles=roles).fit(rows, [1, 2, 1, 2])
    asked = pa.table({"code": [1, 7, None, 2], "dose": [1.5, 9.0, None, 0.5], "ill": [None, True, False, True]})
    said, probabilities = run(model, asked)
    assert np.abs(probabilities - model.predict_proba(asked)).max() < NEAR
    assert said.tolist() == model.predict(asked).tolist()


def test_a_row_that_the_model_refuses_has_no_probabilities():
    rows = pa.table({"x": [1.0, 2.0, 5.0, 6.0], "sky": ["sun", "rain", "rain", "rain"]})
    for numeric in ("gaussian", "lognormal"):
        model = bk.NaiveBayes(unseen="error", numeric=numeric).fit(rows, ["a", "a", "b", "b"])
        asked = pa.table({"x": [np.inf, 1.0, 1.0, -1.0], "sky": ["sun", "hail", "sun", "sun"]})
        _, probabilities = run(model, asked)
        assert np.isnan(probabilities).all(axis=1).tolist() == [True, True, False, numeric == "lognormal"]


def test_a_text_is_refused_by_name():
    reviews = pa.table({"review": ["good film", "bad film"]})
    model = bk.NaiveBayes(roles={"review": "text"}).fit(reviews, ["+", "-"])
    with pytest.raises(bk.BayesError, match="column 'review' is text"):
        model.to_onnx()


def test_a_column_named_as_an_output_is_refused():
    model = bk.NaiveBayes().fit({"predicted": ["a", "b"]}, [0, 1])
    with pytest.raises(bk.BayesError, match="an input cannot be named 'predicted'"):
        model.to_onnx()


def test_it_is_written_as_a_whole(tmp_path):
    rows, labels = table_of()
    model = bk.NaiveBayes(roles={"code": "categorical"}).fit(rows, labels)
    content = model.to_onnx(tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == content


def test_whole_numbers_beyond_64_bits_are_refused():
    large = np.array([2**63 + 5, 2**63 + 6], dtype=np.uint64)
    of_values = bk.NaiveBayes(roles={"k": "categorical"}).fit({"k": large}, ["a", "b"])
    of_classes = bk.NaiveBayes().fit({"k": ["a", "b"]}, large)
    for model in (of_values, of_classes):
        with pytest.raises(bk.BayesError, match="holds 9223372036854775813, beyond the whole numbers of ONNX"):
            model.to_onnx()


@pytest.mark.filterwarnings("ignore::bayeskit.errors.UndecidableWarning")
def test_ties_of_calibrated_models_stay_ties_in_an_optimized_session():
    rows, labels = {"a": list("xxyy") * 20, "b": list("uuvv") * 20}, list("ppqq") * 20
    model = bk.Calibrated(bk.NaiveBayes(smoothing=0.0), method="sigmoid").fit(rows, labels)
    asked = pa.table({"a": ["x", "y"], "b": ["v", "u"]})
    said, _ = run(model, asked)
    assert said.tolist() == model.predict(asked).tolist()

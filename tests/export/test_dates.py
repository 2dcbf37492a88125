"""Parts of dates are columns of their own, computed outside."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit import logspace
from tests.export.test_json import probabilities
from tests.export.test_scores import NEAR, unanswered
from tests.report.test_pages import SCORES, coded, payload_of, saved

ROLES = {"when": "year,month,weekday,hour"}
MODELS = {
    "naive": lambda: bk.NaiveBayes(roles=ROLES),
    "tan": lambda: bk.TAN(roles=ROLES),
    "tree": lambda: bk.NBTree(roles=ROLES),
    "logistic": lambda: bk.LogisticRegression(roles=ROLES),
}


def dated(n=300):
    """Rows with moments, some missing; the same rows with the parts; classes."""
    rng = np.random.default_rng(0)
    moments = [dt.datetime(2023, 11, 5, 1) + dt.timedelta(hours=int(h)) for h in rng.integers(0, 9000, n)]
    labels = ["weekend" if (d.weekday() > 4) ^ (d.hour > 20) else "work" for d in moments]
    moments = [None if rng.random() < 0.1 else d for d in moments]
    x = pa.array(rng.normal(size=n))
    parts = {
        "when.year": [d and d.year for d in moments],
        "when.month": [d and d.month for d in moments],
        "when.weekday": [d and d.strftime("%a") for d in moments],
        "when.hour": [d and d.hour for d in moments],
    }
    return pa.table({"when": pa.array(moments, pa.timestamp("us")), "x": x}), pa.table({**parts, "x": x}), labels


@pytest.mark.parametrize("kind", ["naive", "logistic"])
def test_a_query_reads_parts_as_columns(database, kind):
    rows, parts, labels = dated()
    model = MODELS[kind]().fit(rows, labels)
    database.load("dated", parts.append_column("id", pa.array(range(len(labels)))))
    found = sorted(database.rows(model.to_sql("dated", dialect=database.dialect, keys="id").query))
    assert np.abs(np.array([row[2:] for row in found]) - model.predict_proba(rows)).max() < NEAR


@pytest.mark.parametrize("kind", MODELS)
def test_numbers_and_onnx_read_parts_as_columns(kind):
    pytest.importorskip("onnx", reason="onnx is not installed: pip install '.[onnx]'")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    from tests.export.test_onnx import run

    rows, parts, labels = dated()
    model = MODELS[kind]().fit(rows, labels)
    expected, answered = model.predict_proba(rows), ~unanswered(model, parts)
    found = np.array([probabilities(model.to_json(), row) for row in parts.to_pylist()])
    assert np.abs(found - expected)[answered].max() < 1e-9
    assert np.abs(run(model, parts)[1] - expected)[answered].max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["naive", "tan", "logistic"])
def test_a_page_has_a_control_for_each_part(opened, tmp_path, kind):
    rows, parts, labels = dated()
    model = MODELS[kind]().fit(rows, labels)
    page, _ = opened(saved(model, tmp_path))
    payload, cells = payload_of(model.page()), parts.to_pydict()
    asked = [coded(payload, cells, i) for i in np.flatnonzero(~unanswered(model, parts))]
    z = np.array(page.evaluate(SCORES, [payload["form"], asked]), dtype=float)
    expected = model.predict_log_proba(rows)[~unanswered(model, parts)]
    np.testing.assert_allclose(logspace.log_normalize(z)[0], expected, rtol=1e-12, atol=1e-12)

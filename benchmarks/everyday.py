"""Leave-one-out beside one prediction, and single records beside scikit-learn's one-row arrays."""

from __future__ import annotations

import tempfile

import numpy as np
from bench import Row, compare
from sklearn.naive_bayes import CategoricalNB, GaussianNB

import bayeskit as bk

TITLE = "Honest scores and single records"
NOTE = (
    "1,000,000 rows × 20 columns, 5 classes. `leave_one_out` is the whole record, against one `predict_proba` of the "
    "same rows: a ratio of 0.5 is twice its time. Single records: 100,000 calls of `predict_proba` with a dict, on a "
    "model loaded from its file, against scikit-learn's on arrays of one row."
)
ROWS, CALLS = 1_000_000, 100_000


def run() -> list[Row]:
    """All lines of the table."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, ROWS)
    codes = np.column_stack([rng.integers(0, s, ROWS) for s in range(2, 22)]).astype(np.int8)
    numbers = rng.normal(size=(ROWS, 20)) + y[:, None] * 0.1
    rows = []
    for work, data, roles in (("codes", codes, "categorical"), ("numbers", numbers, None)):
        model = bk.NaiveBayes(numeric="gaussian", roles=roles, n_threads=1).fit(data, y)
        rows.append(
            compare(
                f"leave_one_out of {work}",
                "one `predict_proba`",
                0.5,
                lambda m=model, d=data: m.leave_one_out(d, y),
                lambda m=model, d=data: m.predict_proba(d),
                7,
            )
        )
    names = [f"c{j}" for j in range(20)]
    for work, data, roles, theirs in (
        ("codes", codes, "categorical", CategoricalNB()),
        ("numbers", numbers, None, GaussianNB(var_smoothing=0)),
    ):
        some, labels = data[:20_000], y[:20_000]
        table = {name: some[:, j] for j, name in enumerate(names)}
        model = _loaded(bk.NaiveBayes(numeric="gaussian", roles=roles, ddof=0, n_threads=1).fit(table, labels))
        theirs.fit(some, labels)
        records = [dict(zip(names, row.tolist(), strict=True)) for row in some[:1000]]
        arrays = [some[i : i + 1] for i in range(1000)]
        ours = np.vstack([model.predict_proba(record) for record in records])
        np.testing.assert_allclose(ours, theirs.predict_proba(some[:1000]), atol=1e-10)
        rows.append(
            compare(
                f"{CALLS:,} records of {work}",
                f"`{type(theirs).__name__}`",
                3,
                lambda m=model, r=records: _each(m.predict_proba, r),
                lambda m=theirs, r=arrays: _each(m.predict_proba, r),
                2,
            )
        )
    return rows


def _loaded(model: bk.NaiveBayes) -> bk.NaiveBayes:
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model.bayes")
        return bk.load(f"{folder}/model.bayes")


def _each(predict: object, rows: list[object]) -> None:
    assert callable(predict)
    for i in range(CALLS):
        predict(rows[i % len(rows)])

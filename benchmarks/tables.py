"""Fit and predict on tables of a million rows, beside scikit-learn."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from bench import Row, compare
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import bayeskit as bk

TITLE = "Tables"
NOTE = (
    "1,000,000 rows × 20 columns, 5 classes. Codes: int8, 2 to 21 values a column; numbers: float64; strings: a pandas "
    "frame, once as pandas' `str` and once as Python objects. Probabilities agree with scikit-learn's to 1e-10. "
    "Two threads are timed by the clock on the wall, against one."
)
ROWS = 1_000_000


def run() -> list[Row]:
    """All lines of the table."""
    rng = np.random.default_rng(0)
    sizes = range(2, 22)
    y = rng.integers(0, 5, ROWS)
    codes = np.column_stack([rng.integers(0, s, ROWS) for s in sizes]).astype(np.int8)
    numbers = rng.normal(size=(ROWS, 20)) + y[:, None] * 0.1
    names = {f"c{j}": np.array([f"value {i}" for i in range(s)])[codes[:, j]] for j, s in enumerate(sizes)}
    strings, objects = pd.DataFrame(names), pd.DataFrame(names).astype(object)

    table, dense = (
        bk.NaiveBayes(roles="categorical", n_threads=1),
        bk.NaiveBayes(numeric="gaussian", ddof=0, n_threads=1),
    )
    their_table, their_dense = CategoricalNB(), GaussianNB(var_smoothing=0)
    drop_table, drop_dense = bk.CategoricalNB(), bk.GaussianNB(var_smoothing=0)
    rows = [
        compare("fit codes", "`CategoricalNB`", 20, lambda: table.fit(codes, y), lambda: their_table.fit(codes, y)),
        compare(
            "predict_proba codes",
            "same",
            6,
            lambda: table.predict_proba(codes),
            lambda: their_table.predict_proba(codes),
        ),
        compare("fit numbers", "`GaussianNB`", 10, lambda: dense.fit(numbers, y), lambda: their_dense.fit(numbers, y)),
        compare(
            "predict_proba numbers",
            "same",
            5,
            lambda: dense.predict_proba(numbers),
            lambda: their_dense.predict_proba(numbers),
        ),
    ]
    np.testing.assert_allclose(table.predict_proba(codes), their_table.predict_proba(codes), atol=1e-10)
    np.testing.assert_allclose(dense.predict_proba(numbers), their_dense.predict_proba(numbers), atol=1e-10)
    encode = make_pipeline(OrdinalEncoder(), CategoricalNB())
    plain = bk.NaiveBayes(n_threads=1)
    for name, frame in (("str", strings), ("object", objects)):
        work = f"fit strings ({name})"
        rows.append(
            compare(
                work,
                "`OrdinalEncoder` + `CategoricalNB`",
                5,
                lambda f=frame: plain.fit(f, y),
                lambda f=frame: encode.fit(f, y),
                2,
            )
        )
    rows += [
        compare(
            "drop-in `CategoricalNB` fit",
            "`CategoricalNB`",
            20,
            lambda: drop_table.fit(codes, y),
            lambda: their_table.fit(codes, y),
            3,
        ),
        compare(
            "drop-in `CategoricalNB` predict_proba",
            "same",
            6,
            lambda: drop_table.predict_proba(codes),
            lambda: their_table.predict_proba(codes),
            3,
        ),
        compare(
            "drop-in `GaussianNB` fit",
            "`GaussianNB`",
            10,
            lambda: drop_dense.fit(numbers, y),
            lambda: their_dense.fit(numbers, y),
            3,
        ),
        compare(
            "drop-in `GaussianNB` predict_proba",
            "same",
            5,
            lambda: drop_dense.predict_proba(numbers),
            lambda: their_dense.predict_proba(numbers),
            3,
        ),
    ]
    for work, data, roles in (("codes", codes, "categorical"), ("numbers", numbers, None)):
        two, one = (bk.NaiveBayes(numeric="gaussian", roles=roles, n_threads=n) for n in (2, 1))
        wall = time.perf_counter
        rows.append(
            compare(
                f"fit {work}, two threads",
                "one thread",
                1.6,
                lambda m=two, d=data: m.fit(d, y),
                lambda m=one, d=data: m.fit(d, y),
                9,
                wall,
            )
        )
        rows.append(
            compare(
                f"predict_proba {work}, two threads",
                "one thread",
                1.6,
                lambda m=two, d=data: m.predict_proba(d),
                lambda m=one, d=data: m.predict_proba(d),
                9,
                wall,
            )
        )
    return rows

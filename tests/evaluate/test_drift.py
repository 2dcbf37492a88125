"""Drift: said where new rows are unlike those of the training, and not where they are like them."""

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.data.encoder import EncodedRows
from bayeskit.evaluate.drift import Drift


def shifts(model, X, parts=1):
    drift = Drift(model.tally_, model._encoder().vocabularies)
    n = len(next(iter(X.values())))
    for rows in np.array_split(np.arange(n), parts):
        part = {name: [column[i] for i in rows] for name, column in X.items()}
        for block in model._encoder().blocks(bk.open_source(part)):
            drift.add(block)
    return drift.shifts()


def table(rng, n, values=5, missing=0.1):
    """A column of texts, one of numbers, and classes."""
    texts = [None if rng.random() < missing else f"v{rng.integers(values)}" for _ in range(n)]
    numbers = [None if rng.random() < missing else float(rng.normal()) for _ in range(n)]
    return {"text": texts, "number": numbers}, ["a", "b"] * (n // 2)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("n", [1, 4, 30, 300])
def test_rows_of_the_same_kind_are_not_remarkable(seed, n):
    rng = np.random.default_rng(seed)
    model = bk.NaiveBayes().fit(*table(rng, 200))
    assert shifts(model, table(rng, n)[0]) == []


def test_new_values_are_no_surprise_where_most_were_seen_once():
    rng = np.random.default_rng(0)
    X, y = table(rng, 400, values=2000)
    model = bk.NaiveBayes(roles={"text": "categorical"}).fit(X, y)
    assert shifts(model, table(rng, 400, values=2000)[0]) == []
    few = bk.NaiveBayes().fit(*table(rng, 400))
    assert [shift.what for shift in shifts(few, table(rng, 400, values=2000)[0])] == ["unseen"]


def test_more_missing_cells_and_new_values_are_told_with_their_shares():
    rng = np.random.default_rng(1)
    model = bk.NaiveBayes().fit(*table(rng, 200))
    X = table(rng, 100)[0]
    X["number"] = [None if i % 2 else x for i, x in enumerate(X["number"])]
    X["text"] = ["new" if i % 4 == 0 else x for i, x in enumerate(X["text"])]
    told = {shift.column: shift for shift in shifts(model, X)}
    assert told["number"].what == "missing"
    assert told["number"].count == sum(x is None for x in X["number"])
    assert told["text"].what == "unseen"
    assert (told["text"].count, told["text"].of) == (25, sum(x is not None for x in X["text"]))
    assert 0.05 < told["number"].expected < 0.15
    assert shifts(model, X, parts=7) == shifts(model, X)


@pytest.mark.parametrize("make", [bk.NaiveBayes, bk.TAN, bk.AODE, bk.KDB, bk.NBTree, bk.FullJointBayes])
def test_rows_that_are_encoded_get_the_answers_of_the_rows(make):
    rng = np.random.default_rng(2)
    model = make().fit(*table(rng, 100))
    rows = bk.open_source(table(rng, 40)[0])
    (block,) = model._encoder().blocks(rows)
    encoded = EncodedRows(rows, block)
    assert (model.predict(encoded) == model.predict(rows)).all()
    assert (model.predict_proba(encoded) == model.predict_proba(rows)).all()

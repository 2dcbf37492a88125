"""A column of Python objects has the type that its cells share in the first fit, and keeps it."""

import os
import warnings
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayeskit as bk
from bayeskit.data.cells import as_floats
from bayeskit.data.frames import columns_of, kind_of
from bayeskit.errors import SchemaMismatch

DATA = Path(os.environ.get("BAYESKIT_DATA", "nowhere")) / "tabular"

KINDS = {
    "whole numbers": ([1, None, 3], "integer"),
    "whole and broken numbers": ([1, 2.5, np.nan], "float"),
    "numbers of NumPy": ([np.int8(1), np.float32(2.5), None], "float"),
    "whole numbers of NumPy after many gaps": ([None] * 500 + [np.int64(3)], "integer"),
    "numbers beyond 64 bits": ([2**70, 1], "float"),
    "numbers that no float holds": ([2**60 + 1, 0.5], "float"),
    "decimals": ([Decimal("1.50"), None], "float"),
    "decimals beside floats": ([Decimal("1.5"), 2.0], "float"),
    "numbers beside pandas' NA": ([pd.NA, 7], "integer"),
    "truths": ([True, None, False], "boolean"),
    "truths of NumPy": ([np.bool_(True), np.nan], "boolean"),
    "truths beside numbers": ([True, 2], "object"),
    "numbers beside truths": ([2, True], "object"),
    "texts": (["a", None, "b"], "string"),
    "texts after a gap": ([np.nan, "b"], "string"),
    "texts of numbers": (["1", "2"], "string"),
    "numbers, then a text": ([1, 2, "three"], "object"),
    "dates": ([date(2024, 5, 1), None], "date"),
    "moments": ([pd.NaT, datetime(2024, 5, 1, 12)], "date"),
    "dates beside NaN": ([date(2024, 5, 1), np.nan], "date"),
    "nothing": ([None, np.nan], "null"),
}


@pytest.mark.parametrize("what", KINDS)
def test_a_column_of_objects_has_the_type_that_its_cells_share(what):
    cells, kind = KINDS[what]
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    forms = [column.reshape(-1, 1), pd.DataFrame({"x0": pd.Series(column, dtype=object)}), {"x0": column}]
    for form in forms:
        assert kind_of(columns_of(form)[1]["x0"]) == kind


@pytest.mark.parametrize(
    "cells",
    [
        [Decimal("0.1"), 2.5, None],
        [1, Decimal("2.50"), np.nan],
        [2**60 + 1, 0.5, pd.NA],
        [2**70, Decimal(1), None],
        [True, 2, None],
        [np.float32(0.5), Decimal(3), Decimal("NaN")],
    ],
    ids=str,
)
def test_numbers_of_several_types_are_read_as_numbers(cells):
    """However a cluster has cut the column into parts, some of which are of one type."""
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    assert np.array_equal(as_floats(column, "x", 0), [float(cells[0]), float(cells[1]), np.nan], equal_nan=True)


def table(n=60):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"size": rng.normal(size=n), "count": rng.integers(0, 50, n), "sky": rng.choice(list("abc"), n)}
    ).sort_index(axis=1)  # an ensemble draws columns by their names, an array has only their places
    frame.loc[::7, "size"] = np.nan
    return frame, np.where(frame["size"].fillna(0) + rng.normal(size=n) > 0, "yes", "no")


@pytest.mark.parametrize("model", [bk.NaiveBayes(), bk.TAN(), bk.BayesClassifier(fast=True)], ids=lambda m: repr(m)[:8])
def test_objects_say_what_the_frame_says(model):
    frame, y = table()
    of_frame = model.fit(frame, y).predict_proba(frame)
    objects = frame.astype(object)
    for form in (objects, objects.to_numpy()):
        assert np.array_equal(model.fit(form, y).predict_proba(form), of_frame)


def test_later_parts_are_read_by_what_the_first_fit_found():
    frame, y = table()
    model = bk.NaiveBayes().fit(frame.astype(object), y)
    part = pd.DataFrame({"size": ["0.5", None], "count": [3, 4.5], "sky": ["a", "z"]}, dtype=object)
    numbers = pd.DataFrame({"size": [0.5, None], "count": [3, 4.5], "sky": ["a", "z"]})
    assert np.array_equal(model.predict_proba(part), model.predict_proba(numbers))
    part.loc[1, "size"] = "huge"
    before = model.tally_
    for call in (lambda: model.predict(part), lambda: model.partial_fit(part, ["yes", "no"])):
        with pytest.raises(SchemaMismatch, match=r"column 'size' has 'huge' in row 1, which is not a number") as told:
            call()
        assert "column 'size' has 'huge' in row 1" in str(told.value)
    with pytest.raises(SchemaMismatch, match=r"column 'sky' holds the int 1.*in training it held the str 'a'"):
        model.predict(pd.DataFrame({"size": [1.0], "count": [1], "sky": np.array([1], dtype=object)}))
    assert model.tally_ is before


def test_dates_as_objects_are_taken_only_when_declared():
    days = {"day": np.array([date(2024, 5, 1), date(2024, 5, 2), None], dtype=object)}
    with pytest.raises(SchemaMismatch, match="column 'day' holds dates, which are used only if declared"):
        bk.NaiveBayes().fit(days, ["a", "b", "a"])
    model = bk.NaiveBayes(roles={"day": "categorical"}).fit(days, ["a", "b", "a"])
    assert model.tally_.families["day"].values == ("2024-05-01", "2024-05-02")


def test_an_array_of_objects_stays_one_in_cross_validation():
    frame, y = table()
    objects = frame.astype(object).to_numpy()
    assert bk.cross_validate(bk.NaiveBayes(), objects, y, folds=4) == bk.cross_validate(
        bk.NaiveBayes(), frame, y, folds=4
    )


def mixed(name, numbers):
    frame = pd.read_csv(DATA / f"{name}.csv.gz", na_values="?", skipinitialspace=True)
    target = frame.columns[-1]
    frame = frame.dropna(subset=[target]).head(3000)
    X = frame.drop(columns=target)
    assert len(X.select_dtypes("number").columns) == numbers
    return X, frame[target].astype(str)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="BAYESKIT_DATA has no tables")
@pytest.mark.parametrize(("name", "numbers"), [("crx", 6), ("adult", 6)])
def test_a_column_transformer_keeps_numbers_numbers_on_real_tables(name, numbers):
    X, y = mixed(name, numbers)
    measured = X.select_dtypes("number").columns.tolist()
    others = [column for column in X if column not in measured]
    steps = [("numbers", make_pipeline(SimpleImputer(), StandardScaler()), measured), ("others", "passthrough", others)]
    scores = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bk.AdviceWarning)
        for output in ("pandas", "default"):
            made = ColumnTransformer(steps, verbose_feature_names_out=False).set_output(transform=output)
            scores[output] = cross_val_score(make_pipeline(made, bk.NaiveBayes()), X, y, cv=4)
        rows = ColumnTransformer(steps).fit_transform(X)
        categories = cross_val_score(bk.NaiveBayes(roles="categorical"), rows, y, cv=4)
    assert rows.dtype == object
    assert np.array_equal(scores["pandas"], scores["default"])
    assert abs(scores["default"].mean() - categories.mean()) > 1e-3  # what it was when each number was a category

"""Columns are chosen by the exact leave-one-out log loss, which is that of a model of these columns alone."""

import os
import warnings
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayeskit as bk

DATA = Path(os.environ.get("BAYESKIT_DATA", "nowhere")) / "tabular"
N = 120


def table(seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], N)
    code = np.array(["abc".index(label) for label in y])
    size = code + rng.normal(size=N)
    size[::9] = np.nan
    return {
        "noise": rng.normal(size=N),
        "sky": np.where(rng.random(N) < 0.6, np.array(["sun", "rain", "hail"])[code], "sun").astype(object),
        "size": size,
        "again": size + rng.normal(size=N) / 10,
        "shade": rng.choice(["u", "v", "w", "x", "y"], N).astype(object),
        "floor": code // 2 + rng.integers(0, 2, N),
    }, y


SETTINGS = {
    "as it comes": {},
    "no smoothing": {"smoothing": 0},
    "automatic smoothing, one variance": {"smoothing": "auto", "variance": "feature"},
    "histograms": {"numeric": "histogram", "cuts": [0, 1]},
    "student, tempered": {"numeric": "student", "temperature": 2.0},
    "texts": {"roles": {"sky": "text", "floor": "categorical"}},
    "missing and unseen as values": {"missing": "value", "unseen": "smooth"},
}


def loss_of(model, columns, X, y, weights):
    return model.restrict(columns).leave_one_out({name: X[name] for name in columns}, y, weights).log_loss


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
@pytest.mark.parametrize("weights", [None, np.arange(N) % 4 / 2], ids=["plain", "weighted"])
@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_step_is_the_best_one_by_leave_one_out(setting, direction, weights):
    X, y = table()
    model = bk.NaiveBayes(**SETTINGS[setting]).fit(X, y, weights)
    chosen = bk.NaiveBayes(**SETTINGS[setting]).select(X, y, direction, weights)
    verb, losses = chosen.steps.column_names
    kept = [] if direction == "forward" else list(X)
    for name, loss in list(zip(chosen.steps[verb], chosen.steps[losses], strict=True))[1:]:
        others = [column for column in X if column not in kept] if direction == "forward" else kept
        sets = {n: [*kept, n] if direction == "forward" else [k for k in kept if k != n] for n in others}
        by_hand = {n: loss_of(model, columns, X, y, weights) for n, columns in sets.items() if columns}
        assert loss == pytest.approx(by_hand[name], rel=1e-9)
        if np.isfinite(loss):
            assert loss <= min(by_hand.values()) * (1 + 1e-9)
        kept = sets[name]
    assert set(kept) == set(chosen.columns)
    assert chosen.columns == tuple(name for name in X if name in kept)
    assert chosen.log_loss == pytest.approx(loss_of(model, list(chosen.columns), X, y, weights), rel=1e-9)
    assert chosen.log_loss <= chosen.steps[losses][0]


@pytest.mark.filterwarnings("ignore::bayeskit.errors.AdviceWarning")
def test_what_repeats_or_tells_nothing_is_left_out():
    X, y = table()
    chosen = bk.NaiveBayes().select(X, y)
    assert {"size", "again"} - {*chosen.left_out}
    assert len({"size", "again"} & {*chosen.columns}) == 1
    assert "noise" in chosen.left_out
    assert str(chosen).startswith(f"{len(chosen.columns)} of 6 columns: ")


def test_the_model_is_as_it_was_and_the_roles_make_the_chosen_one():
    X, y = table()
    model = bk.NaiveBayes(roles={"floor": "categorical"})
    chosen = model.select(X, y)
    assert not hasattr(model, "tally_")
    assert chosen.roles == {"floor": "categorical", **dict.fromkeys(chosen.left_out, "ignore")}
    fitted = bk.NaiveBayes(roles=chosen.roles).fit(X, y)
    assert tuple(fitted.schema_.used) == chosen.columns
    assert fitted.leave_one_out(X, y).log_loss == pytest.approx(chosen.log_loss, rel=1e-12)
    with pytest.raises(bk.BayesError, match="direction='sideways' is not one of 'forward', 'backward'"):
        model.select(X, y, "sideways")


@pytest.mark.filterwarnings("ignore::bayeskit.errors.AdviceWarning")
def test_a_table_is_reduced_in_its_own_form():
    X, y = table()
    chosen = bk.NaiveBayes().select(pd.DataFrame(X), y)
    names = list(chosen.columns)
    assert chosen.transform(pd.DataFrame(X)).columns.tolist() == names
    assert chosen.transform(pl.DataFrame(X)).columns == names
    assert list(chosen.transform(X)) == list(chosen.transform(pa.table(X))) == names
    numbers = np.column_stack([X["noise"], X["size"], X["floor"]])
    of_array = bk.NaiveBayes().select(numbers, y)
    assert of_array.transform(numbers).shape == (N, len(of_array.columns))
    assert bk.NaiveBayes(roles=of_array.roles).fit(numbers, y).schema_.used == list(of_array.columns)


def test_a_date_is_one_column_and_rows_without_a_label_are_dropped():
    moments = [datetime(2024, 1, 1) + timedelta(hours=7 * i) for i in range(N)]
    y = ["work" if moment.weekday() < 5 else "rest" for moment in moments]
    X = {"when": moments, "noise": table()[0]["noise"]}
    chosen = bk.NaiveBayes(roles={"when": bk.Date("month", "weekday")}).select(X, y)
    assert chosen.columns == ("when",)
    y[3] = None
    with pytest.warns(bk.BayesWarning, match="row 3 has no label: left out") as told:
        chosen = bk.NaiveBayes(roles={"when": "month,weekday"}, unlabeled="drop").select(X, y)
    assert len(told) == 1
    assert chosen.n_rows == N - 1


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="BAYESKIT_DATA has no tables")
def test_fewer_columns_predict_better_on_real_tables():
    better = 0
    for name in ("german", "crx", "cleve"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", bk.BayesWarning)
            frame = pd.read_csv(DATA / f"{name}.csv.gz", na_values="?").dropna(subset=["class"])
            frame["class"] = frame["class"].astype(str)
            all_columns = bk.cross_validate(bk.NaiveBayes(), frame, "class", folds=5)
            chosen = bk.NaiveBayes().select(frame, "class")
            some = bk.cross_validate(bk.NaiveBayes(roles=chosen.roles), frame, "class", folds=5)
        better += some.log_loss < all_columns.log_loss
    assert better == 3

"""TAN, AODE, k-DB and the full joint broken on purpose: a defined answer, or a refusal that says what to do."""

import math

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk
import bayeskit.data.source
from bayeskit.errors import NotLearned, TooLarge, UnknownValue

from .conftest import table

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")


MODELS = [
    bk.TAN(),
    bk.AODE(),
    bk.KDB(2),
    bk.KDB(3, selective=True),
    bk.NetworkClassifier(),
    bk.FullJointBayes(smoothing=1.0),
    bk.AODE(smoothing=0),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_odd_columns_have_a_defined_answer(model):
    n = 60
    y = np.array(["p", "q", "q"] * 20)
    X = pd.DataFrame(
        {
            "one": ["same"] * n,
            "gone": [None] * n,
            "class": y,
            "each": [f"id{i}" for i in range(n)],
            "number": np.arange(n) % 7,
            "constant": 3.5,
            "empty": np.nan,
            "bit": np.arange(n) % 2 == 0,
        }
    )
    model.set_params(roles=None).fit(X, y)
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    new = X.assign(each="never", one="other", gone="now")
    assert np.isfinite(model.predict_proba(new)).all()
    assert model.predict(X.drop(columns="class").assign(**{"class": y}))[0] == "p"
    assert np.isfinite(model._left_out().scores(next(iter(model._encoder().blocks(bk.open_source(X, y)))))).any()


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_class_with_one_row_and_more_columns_than_rows_are_learned(model):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (9, 30))
    y = ["p"] * 4 + ["q"] * 4 + ["lone"]
    model.set_params(roles="categorical", domains=None).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    if not isinstance(model, bk.FullJointBayes):  # under smoothing it has 3^30 rows to believe in
        assert model.predict(X).tolist()[8] == "lone"
    block = next(iter(model._encoder().blocks(bk.open_source(X, y))))
    assert np.isneginf(model._left_out().scores(block)[8, model.classes_.tolist().index("lone")])


@pytest.mark.slow
def test_ten_thousand_values_are_taken_or_refused_with_the_figure():
    n = 10_000
    X = {"id": [f"i{i}" for i in range(n)], "other": [f"o{i}" for i in range(n)], "bit": np.arange(n) % 2 == 0}
    y = np.arange(n) % 3
    with pytest.raises(TooLarge, match=r"4\.8 GB.*memory_limit=2 GB.*ignore"):
        bk.TAN().fit(X, y)
    with pytest.raises(TooLarge, match="GB"):
        bk.AODE().fit({"id": X["id"], "bit": X["bit"]}, y)
    one = bk.TAN().fit({"id": X["id"], "bit": X["bit"]}, y)
    assert one.predict({"id": X["id"][:3], "bit": X["bit"][:3]}).shape == (3,)
    with pytest.raises(TooLarge, match="memory_limit=1 MB"):
        bk.TAN(memory_limit=1_000_000).fit({"id": X["id"], "bit": X["bit"]}, y)
    with pytest.raises(TooLarge, match="contexts"):
        bk.KDB(parents={"other": ["id"]}, memory_limit=500_000_000).fit(X, y)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (bk.TAN(parents={"a": "b", "b": "a"}), "own ancestor"),
        (bk.TAN(parents={"a": ["b", "d"]}), "2 parents"),
        (bk.TAN(parents={"a": "nowhere"}), "nowhere"),
        (bk.TAN(root="nowhere"), "nowhere"),
        (bk.TAN(parents={"a": "b"}, roles={"b": "ignore"}), "'b'"),
        (bk.TAN(smoothing="none"), "smoothing"),
        (bk.TAN(smoothing=bk.BackOff), "smoothing"),
        (bk.TAN(cuts="up"), "cuts"),
        (bk.TAN(unseen="smooth"), "unseen"),
        (bk.TAN(temperature=0), "temperature"),
        (bk.TAN(memory_limit=-1), "memory_limit"),
        (bk.AODE(0), "min_count"),
        (bk.AODE(weights="best"), "weights"),
        (bk.KDB(-1), "k=-1"),
        (bk.KDB(1.5), "k=1.5"),
        (bk.KDB(selective="yes"), "selective"),
        (bk.FullJointBayes(smoothing="auto"), "one number"),
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(model, words):
    X, y = table([("u", "v", "x", "p"), ("v", "v", "y", "q")])
    with pytest.raises(bk.BayesError, match=words):
        model.fit(X, y)


def test_m_of_back_off_is_above_zero():
    for m in (0, -1, math.inf, math.nan, "2", True):
        with pytest.raises(bk.BayesError, match="BackOff"):
            bk.BackOff(m)


@pytest.mark.parametrize("model", [bk.TAN(), bk.AODE(), bk.KDB(parents={}), bk.FullJointBayes()], ids=str)
def test_a_tally_without_the_counts_is_refused(model):
    naive = bk.NaiveBayes().fit({"a": ["u", "v"], "n": [1.0, 2.0]}, ["p", "q"])
    with pytest.raises(bk.BayesError, match="fit on rows"):
        model.fit_tally(naive.tally_)


def test_values_never_seen_and_rows_never_learned_are_refused_by_name():
    X, y = table([("u", "v", "x", "p"), ("v", "v", "y", "q")])
    model = bk.TAN(unseen="error").fit(X, y)
    with pytest.raises(UnknownValue, match="'z'"):
        model.predict({"a": "z", "b": "v", "d": "x"})
    with pytest.raises(NotLearned):
        model.forget({"a": ["u"], "b": ["v"], "d": ["y"]}, ["p"])


EVERY = [*MODELS[:3], bk.FullJointBayes(), bk.NBTree(), bk.SubclassBayes(2), bk.BayesClassifier(), bk.Discretizer()]


@pytest.mark.parametrize("model", EVERY, ids=lambda m: type(m).__name__)
def test_a_table_without_rows_is_refused(model):
    empty = pd.DataFrame({"sky": pd.Series([], dtype=object), "n": pd.Series([], dtype=float)})
    with pytest.raises(bk.BayesError, match="no rows"):
        model.__class__(**model.get_params()).set_params(roles=None).fit(empty, [])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("model", [bk.KDB(2, selective=True), bk.NBTree(), bk.SubclassBayes(2)], ids=str)
def test_one_class_and_one_row_are_told_of_by_their_name(model):
    for rows in (1, 40):
        with pytest.warns(bk.BayesWarning, match=r"one class only \('p'\)"):
            model.fit({"a": list("uv" * 20)[:rows], "n": np.arange(rows) / 7}, ["p"] * rows)
        assert model.predict({"a": ["u"], "n": [0.5]}).tolist() == ["p"]


def test_a_discretizer_without_numbers_has_nothing_to_cut():
    tool = bk.Discretizer(output="codes").fit({"sky": list("uvw")}, list("pqp"))
    assert tool.transform({"sky": list("uvw")}).shape == (3, 0)
    with pytest.raises(bk.BayesError, match="'sky' is categorical"):
        tool.table("sky")
    with pytest.raises(bk.BayesError, match="beyond 1e150"):
        bk.Discretizer("width").fit({"n": [1.0, 1e200]})
    with pytest.raises(bk.BayesError, match="no rows"):
        bk.Discretizer("width").fit({"n": [1.0, 2.0]}).transform({"n": np.zeros(0)})

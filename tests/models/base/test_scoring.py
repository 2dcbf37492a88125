"""One record at a time: the same bits and the same refusals as a table of one row."""

import datetime as dt
import math
import pickle
import warnings
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.models.base import scoring

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
SETTINGS = [
    {},
    {"smoothing": 0},
    {"missing": "value", "unseen": "smooth"},
    {"unseen": "error"},
    {"numeric": {"size": "histogram"}, "cuts": {"size": [-1.0, 0.0, 2.5]}},
    {"numeric": {"size": "student"}},
    {"numeric": {"year": "poisson"}},
    {"numeric": {"year": "poisson"}, "unseen": "error"},
    {"ties": "random", "random_state": 3},
    {"roles": {"year": "categorical"}, "undecidable": "nan", "smoothing": 0},
    {"roles": {"dull": "categorical"}},
]
strange = st.sampled_from(
    ["", "été", "\ud800", "3", b"sun", math.inf, -math.inf, math.nan, 1e151, 2**63, 2**80, np.float64(1.5), np.int8(2),
     Decimal("1.5"), dt.date(2020, 1, 1), [1], ["sun"], {"a": 1}, np.array([1.0]), None]
)  # fmt: skip
record = st.fixed_dictionaries(
    {
        "sky": st.sampled_from(["sun", "rain", "hail", "never", None]) | strange,
        "flag": st.sampled_from([True, False, None, 0, 1, 1.0, 2]) | strange,
        "size": st.floats(-5, 5) | st.none() | st.integers(-4, 4) | st.booleans() | strange,
        "year": st.integers(1999, 2005) | st.none() | strange,
    },
    optional={"dull": st.just(1.0) | st.just(7), "extra": st.just("x") | strange, 5: st.just(1)},
)


def model(how):
    rng = np.random.default_rng(5)
    n = 60
    X = {
        "sky": rng.choice(["sun", "rain", "hail"], n).tolist(),
        "flag": (rng.random(n) < 0.5).tolist(),
        "size": rng.normal(size=n).tolist(),
        "year": rng.integers(2000, 2004, n).tolist(),
        "dull": [1.0] * n,
    }
    return bk.NaiveBayes(**how).fit(X, rng.choice(["a", "b", "c"], n))


def outcome(ask, given_):
    """What comes back: bits, or the error with its words; and the warnings on the way."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = ask(given_)
            said = found.dtype, found.shape, found.tobytes() if found.dtype.kind == "f" else found.tolist()
        except Exception as problem:
            said = type(problem), str(problem)
    return said, [str(w.message) for w in told if issubclass(w.category, bk.BayesWarning)]


@pytest.mark.slow
@pytest.mark.parametrize("how", SETTINGS, ids=str)
@settings(max_examples=60)
@given(row=record)
def test_a_record_gives_the_same_bits_and_errors_as_a_table_of_one_row(how, row):
    fitted = model(how)
    with pytest.MonkeyPatch.context() as patch:
        fast = outcome(fitted.predict_proba, row), outcome(fitted.predict, row)
        patch.setattr("bayeskit.models.base.classifier.record_scores", lambda *_: None)
        slow = outcome(fitted.predict_proba, row), outcome(fitted.predict, row)
    assert fast == slow


def test_plain_records_take_the_short_way():
    fitted = model({})
    row = {"sky": "sun", "flag": True, "size": 0.5, "year": 2001, "dull": 1.0}
    for plain in (row, {**row, "sky": None}, {**row, "size": 2}, {**row, "size": math.nan}):
        assert scoring.record_scores(fitted, plain) is not None
    assert scoring.record_scores(fitted, {**row, "sky": "never"}) is None  # the table warns of it
    assert scoring.record_scores(fitted, {"sky": "sun"}) is not None
    assert scoring.record_scores(fitted, {"sky": "sun", "hue": 1}) is None  # it may be a slip
    assert scoring.record_scores(fitted, {}) is None


def test_settings_that_change_after_the_fit_are_followed():
    fitted = model({})
    row = {"sky": "never", "flag": True, "size": 0.5, "year": 2001, "dull": 1.0}
    fitted.predict_proba(row)
    fitted.set_params(unseen="error")
    with pytest.raises(bk.errors.UnknownValue):
        fitted.predict_proba(row)
    with pytest.raises(bk.BayesError, match="undecidable"):
        fitted.set_params(unseen="ignore", undecidable="perhaps").predict_proba(row)


def test_learning_is_seen_at_once():
    fitted = model({})
    row = {"sky": "sun", "flag": True, "size": 0.5, "year": 2001, "dull": 1.0}
    before = fitted.predict_proba(row)
    fitted.partial_fit([row] * 30, ["a"] * 30)
    assert fitted.predict_proba(row)[0, 0] > before[0, 0]
    assert np.array_equal(fitted.predict_proba(row), fitted.predict_proba([row]))


def test_a_model_that_has_scored_records_can_be_pickled():
    fitted = model({})
    row = {"sky": "sun", "flag": True, "size": 0.5, "year": 2001, "dull": 1.0}
    said = fitted.predict_proba(row)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(row), said)


def test_a_model_that_has_learned_nothing_says_so():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        bk.NaiveBayes().predict_proba({"x": 1})

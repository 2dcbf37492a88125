"""One warning a call counts values never seen in training and suggests similar ones."""

import warnings

import numpy as np
import pyarrow as pa
import pytest

from bayeskit import (
    AODE,
    TAN,
    BayesClassifier,
    BayesError,
    BayesOptimalClassifier,
    Calibrated,
    LogisticRegression,
    NaiveBayes,
    SemiSupervised,
    UnseenWarning,
    compare,
    cross_validate,
    learning_curve,
)

TABLE = {"sky": ["sun", "rain", "sun", "snow"] * 6, "level": [1, 2, 1, 3] * 6, "play": ["yes", "no", "yes", "no"] * 6}
ROLES = {"level": "categorical"}


def unseen_warnings(call):
    """Return the messages of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in caught if issubclass(one.category, UnseenWarning)]


@pytest.mark.parametrize("model", [NaiveBayes, TAN, AODE, LogisticRegression, BayesClassifier])
def test_one_warning_counts_the_cells_and_suggests_known_values(model):
    fitted = model(roles=ROLES).fit(TABLE, "play")
    rows = {"sky": ["Sun", "rain", "hail", None], "level": [1, 9, 1, 2]}
    for method in ("predict", "predict_proba"):
        (message,) = unseen_warnings(lambda method=method: getattr(fitted, method)(rows))
        assert message.startswith("3 cells hold values never seen in training")
        assert "'Sun' in column 'sky' (did you mean sun?)" in message
        assert "9 in column 'level'" in message


@pytest.mark.parametrize("record", [{"sky": "Sun", "level": 1}, {"sky": "Sun"}])
def test_a_single_record_warns_as_a_table_does(record):
    fitted = NaiveBayes(roles=ROLES).fit(TABLE, "play")
    (message,) = unseen_warnings(lambda: fitted.predict_proba(record))
    assert message.startswith("1 cell holds a value never seen in training, which is left out: 'Sun'")


def test_the_whole_of_several_blocks_is_counted():
    fitted = NaiveBayes().fit({"sky": TABLE["sky"]}, TABLE["play"])
    sky = np.resize(["sun", "Sun"], 600_000)
    (message,) = unseen_warnings(lambda: fitted.predict_proba({"sky": pa.array(sky)}))
    assert message.startswith("300,000 cells")


def test_known_values_missing_cells_and_explicit_settings_give_no_warning():
    rows = {"sky": ["sun", None], "level": [1, 2]}
    assert not unseen_warnings(lambda: NaiveBayes(roles=ROLES).fit(TABLE, "play").predict(rows))
    odd = {"sky": ["Sun"], "level": [1]}
    smooth = NaiveBayes(roles=ROLES, unseen="smooth").fit(TABLE, "play")
    assert not unseen_warnings(lambda: smooth.predict(odd))
    with pytest.raises(BayesError, match="not seen in training"):
        NaiveBayes(roles=ROLES, unseen="error").fit(TABLE, "play").predict(odd)


def test_rows_held_out_by_cross_validation_give_no_warning():
    names = {"id": [f"n{i}" for i in range(24)], "play": TABLE["play"]}
    assert not unseen_warnings(lambda: cross_validate(NaiveBayes(), names, "play"))


NAMES = {"id": [f"n{i % 20}" for i in range(24)], "sky": TABLE["sky"]}


@pytest.mark.parametrize(
    "call",
    [
        lambda model, y: compare({"a": model, "b": TAN()}, NAMES, y, folds=2),
        lambda model, y: learning_curve(model, NAMES, y, sizes=[6, 12]),
        lambda model, y: SemiSupervised(model).fit(NAMES, [label if i % 3 else None for i, label in enumerate(y)]),
        lambda model, y: BayesOptimalClassifier([model, TAN()], weights="cross-validation", cv=2).fit(NAMES, y),
        lambda model, y: Calibrated(model, folds=2).fit(NAMES, y),
    ],
)
def test_comparisons_and_fits_that_hold_out_rows_give_no_warning(call):
    roles = {"id": "categorical"}
    assert not unseen_warnings(lambda: call(NaiveBayes(roles=roles), TABLE["play"]))


def test_a_calibrated_model_warns_as_its_model_does():
    fitted = Calibrated(NaiveBayes(roles=ROLES), folds=2).fit(TABLE, "play")
    for method in (fitted.predict, fitted.predict_proba):
        (message,) = unseen_warnings(lambda method=method: method({"sky": ["Sun"], "level": [1]}))
        assert message.startswith("1 cell holds")

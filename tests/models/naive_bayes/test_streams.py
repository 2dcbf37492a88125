"""Rows that are learned one by one wait until the model is used; nobody can tell."""

import copy
import dataclasses
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bayeskit import BayesError, NaiveBayes
from bayeskit.models import naive_bayes


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    return rng.normal(size=(200, 4)) + y[:, None], y


@pytest.fixture
def model(rows) -> NaiveBayes:
    X, y = rows
    return _stream(NaiveBayes(), X[:100], y[:100])


def _stream(model: NaiveBayes, X: np.ndarray, y: np.ndarray) -> NaiveBayes:
    model.partial_fit(X[:50], y[:50])
    for row in range(50, len(y)):
        model.partial_fit(X[row : row + 1], y[row : row + 1])
    return model


@pytest.mark.parametrize("settings", [{}, {"numeric": "gaussian"}, {"numeric": "poisson"}, {"numeric": "histogram"}])
@pytest.mark.parametrize("labels", [lambda y: y, lambda y: np.array(["no", "yes", "perhaps"])[y], lambda y: y * 1.0])
def test_learning_row_by_row_is_one_fit(rows, settings, labels):
    X, y = rows
    X, y = np.floor(np.abs(X)) + 1, labels(y)
    streamed = _stream(NaiveBayes(**settings), X, y)
    whole = NaiveBayes(schema=streamed.schema_, **settings).fit(X, y)
    assert streamed.tally_.n_rows == 200
    assert np.allclose(streamed.predict_proba(X), whole.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_more_rows_than_wait_are_all_counted(rows, monkeypatch):
    monkeypatch.setattr(naive_bayes, "MOST_WAITING", 7)
    assert _stream(NaiveBayes(), *rows).tally_.n_rows == 200


def test_rows_are_copied_when_they_are_learned(model, rows):
    X, y = rows[0][100:101].copy(), rows[1][100:101].copy()
    model.partial_fit(X, y)
    X[:], y[:] = 1e6, (y + 1) % 3
    assert np.abs(model.tally_.moments.mean()).max() < 10


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.array([[np.inf, 0, 0, 0]]), np.array([0])),
        (np.array([[1e200, 0, 0, 0]]), np.array([0])),
        (np.zeros((1, 3)), np.array([0])),
        (np.zeros((1, 4)), np.array([np.nan])),
        (np.zeros((1, 4)), np.array(["new"])),
        (np.zeros((2, 4)), np.array([0])),
    ],
)
def test_wrong_rows_are_refused_at_once_and_change_nothing(model, X, y):
    with pytest.raises(BayesError):
        model.partial_fit(X, y)
    assert model.tally_.n_rows == 100


def test_log_normal_columns_refuse_numbers_below_zero_at_once(rows):
    X, y = np.exp(rows[0]), rows[1]
    model = NaiveBayes(numeric="lognormal").partial_fit(X[:100], y[:100])
    with pytest.raises(BayesError):
        model.partial_fit(-X[100:101], y[100:101])
    assert model.partial_fit(X[100:101], y[100:101]).tally_.n_rows == 101


def test_new_classes_missing_cells_and_single_classes_are_learned(model, rows):
    X = np.full((1, 4), np.nan)
    assert model.partial_fit(X, np.array([0])).partial_fit(rows[0][:2], np.array([7, 7])).tally_.n_rows == 103
    assert model.classes_.tolist() == [0, 1, 2, 7]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_learn_apart(model, rows, copied):
    other = copied(model)
    model.partial_fit(rows[0][100:101], rows[1][100:101])
    assert (other.tally_.n_rows, model.tally_.n_rows) == (100, 101)


def test_waiting_rows_can_be_forgotten_and_merged(model, rows):
    X, y = rows[0][100:101], rows[1][100:101]
    assert model.partial_fit(X, y).forget(X, y).tally_.n_rows == 100
    assert model.partial_fit(X, y).merge(model).tally_.n_rows == 202


def test_a_new_fit_drops_waiting_rows(model, rows):
    assert model.fit(*rows).tally_.n_rows == 200


def test_settings_are_those_of_the_time_of_learning(model, rows):
    X, y = rows[0][100:101], rows[1][100:101]
    before = copy.deepcopy(model).partial_fit(X, y).params_.log_prior
    model.partial_fit(X, y).prior = "uniform"
    assert model.params_.log_prior.tolist() == before.tolist()
    assert np.allclose(model.partial_fit(X, y).params_.log_prior, -np.log(3))


def test_threads_that_predict_see_all_rows(model, rows):
    X, y = rows
    expected = _stream(NaiveBayes(), X, y).predict_proba(X)
    model.partial_fit(X[100:], y[100:])
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: model.predict_proba(X), range(16)):
            assert np.allclose(found, expected)
    assert model.tally_.n_rows == 200


def test_a_subclass_estimates_by_its_own_rule(rows):
    class Uniform(NaiveBayes):
        def _estimate(self, tally):
            return dataclasses.replace(super()._estimate(tally), log_prior=np.full(3, -np.log(3)))

    X, y = rows
    model = Uniform().fit(X[:100], y[:100]).partial_fit(X[100:101], y[100:101])
    assert model.params_.log_prior.tolist() == pytest.approx([-np.log(3)] * 3)
    assert model.tally_.n_rows == 101


def test_rows_without_columns_are_refused_and_change_nothing():
    model = NaiveBayes().fit({"a": ["x", "y"]}, [0, 1])
    with pytest.raises(BayesError):
        model.partial_fit(np.empty((3, 0)), np.array([0, 1, 0]))
    assert model.predict({"a": "x"}).tolist() == [0]


def test_a_wrong_setting_is_refused_when_rows_are_learned(rows):
    model = NaiveBayes(numeric="gaussian").fit(*rows)
    model.ddof = 7
    with pytest.raises(BayesError, match="ddof"):
        model.partial_fit(rows[0][:1], rows[1][:1])
    model.ddof = 1
    assert model.tally_.n_rows == 200


def test_a_prior_that_changes_later_does_not_change_what_was_learned(rows):
    X, y = rows
    prior = {0: 0.2, 1: 0.3, 2: 0.5}
    model = NaiveBayes(numeric="gaussian", prior=prior).fit(X[:100], y[:100]).partial_fit(X[:1], y[:1])
    prior.update({0: 0.8, 1: 0.1, 2: 0.1})
    assert np.exp(model.params_.log_prior).tolist() == pytest.approx([0.2, 0.3, 0.5])


def test_what_is_set_while_rows_wait_stays(rows):
    model = NaiveBayes(numeric="gaussian").fit(*rows)
    model.remark = "before"
    model.partial_fit(rows[0][:1], rows[1][:1])
    model.remark = "mine"
    assert model.tally_.n_rows == 201
    assert model.remark == "mine"

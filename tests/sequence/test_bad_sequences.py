"""Sequences that are empty, impossible, unknown, no numbers or do not fit: each has a defined answer."""

import numpy as np
import pytest

from bayeskit import HiddenMarkovModel
from bayeskit.errors import BayesError, UnknownValue

from .drawn_sequences import PLAIN


def test_empty_and_one_symbol_sequences(weather: HiddenMarkovModel) -> None:
    assert weather.log_likelihood([[], ["U"]]).round(6).tolist() == [0.0, round(float(np.log(0.55)), 6)]
    assert weather.predict([[], ["U"]]) == [[], ["rain"]]
    assert [one.shape for one in weather.predict_proba([[], ["U"]])] == [(0, 2), (1, 2)]
    assert weather.forecast([[]]).states[0, 0].tolist() == [0.5, 0.5]
    assert weather.best_paths([[]], 2)[0][0].probability == 1.0
    with pytest.raises(BayesError, match="every sequence is empty"):
        HiddenMarkovModel(2).fit([[], []])
    with pytest.raises(BayesError, match="every sequence is empty"):
        HiddenMarkovModel().fit([[]], [[]])
    assert HiddenMarkovModel().fit([["a"], []], [["s"], []]).predict([["a"]]) == [["s"]]


def test_a_state_never_reached_keeps_its_prior() -> None:
    model = HiddenMarkovModel(**PLAIN, states=["here", "never"]).fit([["a", "b"]], [["here", "here"]])
    assert model.transitions_[1].tolist() == [0.5, 0.5]
    assert model.table("x0")["a"] == [0.5, 0.5]
    numbers = HiddenMarkovModel(**PLAIN, states=["here", "never"]).fit([[1.0, 3.0]], [["here", "here"]])
    assert numbers.table("x0")["mean"][1] == 2.0
    assert numbers.table("x0")["variance"][1] == 1.0


def test_where_all_paths_are_impossible_it_is_said_where() -> None:
    model = HiddenMarkovModel(**PLAIN).fit([["a", "b"], ["a", "b"]], [["s", "t"], ["s", "t"]])
    assert model.log_likelihood([["a", "a"], ["a", "b"]]).tolist() == [-np.inf, 0.0]
    for ask in (model.predict, model.predict_proba, model.filter, model.decode, model.forecast, model.best_paths):
        with pytest.raises(BayesError, match="sequence 2 is impossible from step 2 on"):
            ask([["a", "b"], ["a", "a"]])
    with pytest.raises(BayesError, match="impossible"):
        model.sample_paths([["a", "a"]])
    with pytest.raises(BayesError, match="impossible"):
        list(model.posterior_blocks([["a", "a"]]))
    lenient = HiddenMarkovModel(**PLAIN, undecidable="nan").fit([["a", "b"]], [["s", "t"]])
    assert lenient.predict([["a", "b"], ["a", "a"]]) == [["s", "t"], [None, None]]
    assert np.isnan(lenient.predict_proba([["a", "a"]])[0]).all()
    with pytest.raises(BayesError, match="sequence 1 is impossible from step 2"):
        HiddenMarkovModel(2, transitions=[[1, 0], [0, 1]], states=["s", "t"]).fit([["a", "b", "c"]], [["s", "t", None]])


def test_unseen_symbols_have_a_meaning() -> None:
    words, tags = [["a", "b"], ["b", "a"]], [["s", "t"], ["t", "s"]]
    ignored = HiddenMarkovModel().fit(words, tags)
    assert ignored.log_likelihood([["a", "new"]])[0] == ignored.log_likelihood([["a", None]])[0]
    assert ignored.log_likelihood([["a"]])[0] == ignored.log_likelihood([["a", None]])[0]
    smoothed = HiddenMarkovModel(unseen="smooth").fit(words, tags)
    assert np.exp(smoothed.log_likelihood([["new"]])[0]) == pytest.approx(1 / 5)  # 1 / (2 + 3) in both states
    with pytest.raises(UnknownValue, match="new"):
        HiddenMarkovModel(unseen="error").fit(words, tags).predict([["new"]])
    with pytest.raises(UnknownValue, match="outside its declared domain"):
        HiddenMarkovModel(domains={"x0": ["a", "b"]}).fit([["c"]], [["s"]])


def test_numbers_that_are_missing_infinite_or_constant() -> None:
    model = HiddenMarkovModel(2, n_starts=1).fit([[1.0, None, 5.0, 5.2, float("nan"), 1.1] * 4])
    assert np.isfinite(model.log_likelihood([[float("nan"), 1.0]])[0])
    assert model.log_likelihood([[None, None]])[0] == pytest.approx(0.0)
    with pytest.raises(BayesError, match="infinite"):
        HiddenMarkovModel(2).fit([[1.0, float("inf")]])
    constant = HiddenMarkovModel(2, n_starts=1).fit([[3.0, 3.0, 3.0]])
    assert constant.log_likelihood([[3.0, 8.0]])[0] == pytest.approx(0.0)
    two = HiddenMarkovModel(2, variance_weight=0, n_starts=1).fit([[1.0, 1.0, 1.0, 9.0, 9.0, 9.0] * 3])
    assert (np.array(two.table("x0")["variance"]) > 0).all()
    with pytest.raises(BayesError, match="not a count"):
        HiddenMarkovModel(2, numeric="poisson").fit([[1.0, 2.5]])


def test_lengths_and_labels_that_do_not_fit_are_refused() -> None:
    with pytest.raises(BayesError):
        HiddenMarkovModel(2).fit(np.zeros(5), lengths=[2, 2])
    with pytest.raises(BayesError, match="not a state"):
        HiddenMarkovModel(states=["s"]).fit([["a", "b"]], [["s", "t"]])
    with pytest.raises(BayesError):
        HiddenMarkovModel().fit([["a", "b"]], [["s"]])
    with pytest.raises(BayesError, match="how many states"):
        HiddenMarkovModel().fit([["a", "b"]])
    with pytest.raises(BayesError, match="labels name 1"):
        HiddenMarkovModel(2).fit([["a", "b"]], [["s", "s"]])
    with pytest.raises(BayesError, match="no position has a state"):
        HiddenMarkovModel().fit([["a", "b"]], [[None, None]])


def test_more_sequences_of_counts_are_checked_too() -> None:
    model = HiddenMarkovModel(2, numeric="poisson", n_starts=1).fit([[1.0, 2.0, 5.0, 1.0]])
    with pytest.raises(BayesError, match="not a count"):
        model.partial_fit([[1.0, -2.0]])

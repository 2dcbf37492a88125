"""Hidden Markov models through the public interface: worked examples, laws of counting, threads and files."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bayeskit import HiddenMarkovModel, Sequences, load
from bayeskit.errors import BayesError, NotLearned
from tests.tallies import agree

from .drawn_sequences import PLAIN, drawn

SENTENCES = [["the", "dog", "barks"], ["the", "cat", "sleeps"], ["dogs", "bark"], ["the", "dog", "sleeps"]]
TAGS = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"], ["D", "N", "V"]]
ROLES = {"wind": "numeric"}  # a part whose cells are all missing does not tell


def test_weather_behind_an_umbrella(weather: HiddenMarkovModel) -> None:
    """Worked example 31."""
    rain = weather.states_.tolist().index("rain")
    one, two, five = [list("U")], [list("UU")], [list("UUNUU")]
    assert weather.predict_proba(one)[0][0, rain] == pytest.approx(9 / 11, abs=1e-12)
    assert np.exp(weather.log_likelihood(two)[0]) == pytest.approx(0.3515, abs=1e-12)
    np.testing.assert_allclose(weather.predict_proba(two)[0][:, rain], 621 / 703, atol=1e-12)
    np.testing.assert_allclose(weather.filter(two)[0][:, rain], [9 / 11, 621 / 703], atol=1e-12)
    assert weather.forecast(two).states[0, 0, rain] == pytest.approx(4593 / 7030, abs=1e-12)
    assert np.exp(weather.log_likelihood(five)[0]) == pytest.approx(0.0343037005, abs=1e-10)
    np.testing.assert_allclose(
        weather.predict_proba(five)[0][:, rain], [0.867339, 0.820419, 0.307484, 0.820419, 0.867339], atol=5e-7
    )
    (path,) = weather.decode(five)
    assert path.states == ["rain", "rain", "dry", "rain", "rain"]
    assert path.probability == pytest.approx(0.337386, abs=5e-7)


def test_tagged_sentences_by_counting() -> None:
    """Worked example 32."""
    model = HiddenMarkovModel(**PLAIN).fit(SENTENCES, TAGS)
    assert model.states_.tolist() == ["D", "N", "V"]
    assert model.start_.tolist() == [0.75, 0.25, 0]
    assert model.transitions_[0].tolist() == [0, 1, 0]
    assert model.transitions_[1].tolist() == [0, 0, 1]
    assert model.table("x0")["dog"] == [0, 0.5, 0]
    assert model.table("x0")["sleeps"] == [0, 0, 0.5]
    laplace = HiddenMarkovModel().fit(SENTENCES, TAGS)
    (path, *_) = laplace.best_paths([["the", "dog", "sleeps"]], 1)[0]
    assert path.states == ["D", "N", "V"]
    assert np.exp(path.log_joint) == pytest.approx(48 / 5929, abs=1e-12)
    shorter = HiddenMarkovModel().fit(SENTENCES[:3], TAGS[:3])
    assert laplace.forget(SENTENCES[3:], TAGS[3:]).tally_ == shorter.tally_


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 19))
@example(1424, 1)  # of a Σx² of 1.4e-6 that is left of a larger one, the last of its 32 digits are gone
def test_parts_are_the_whole_merged_and_forgotten_back(seed: int, cut: int) -> None:
    sequences, labels = drawn(np.random.default_rng(seed), 20, 8)
    whole = HiddenMarkovModel(roles=ROLES).fit(sequences, labels)
    a = HiddenMarkovModel(roles=ROLES).fit(sequences[:cut], labels[:cut])
    b = HiddenMarkovModel(roles=ROLES).fit(sequences[cut:], labels[cut:])
    for other in (a + b, b + a, sum([b, a]), HiddenMarkovModel(roles=ROLES).fit(sequences[::-1], labels[::-1])):
        assert agree(other.tally_, whole.tally_)
    learned = HiddenMarkovModel(roles=ROLES).partial_fit(sequences[:cut], labels[:cut])
    learned.partial_fit(sequences[cut:], labels[cut:])
    assert agree(learned.tally_, whole.tally_)
    np.testing.assert_allclose(learned.predict_proba(sequences)[0], whole.predict_proba(sequences)[0], rtol=1e-9)
    back = learned.forget(sequences[cut:], labels[cut:])
    assert agree(back.tally_ + b.tally_, whole.tally_)
    for kind in ("families", "transitions"):
        assert back.tally_.statistics[kind] == a.tally_.statistics[kind]
    left, counted = (model.tally_.statistics["moments"].moments for model in (back, a))
    assert left.n.tolist() == counted.n.tolist()
    np.testing.assert_allclose(left.sum_hi, counted.sum_hi, rtol=1e-12)
    np.testing.assert_allclose(left.square_hi, counted.square_hi, rtol=1e-12)
    np.testing.assert_allclose(back.predict_proba(sequences[:1])[0], a.predict_proba(sequences[:1])[0], rtol=1e-9)


def test_what_was_not_learned_cannot_be_forgotten_and_nothing_changes() -> None:
    model = HiddenMarkovModel().fit(SENTENCES, TAGS)
    before = model.tally_
    with pytest.raises(NotLearned):
        model.forget([["the", "the"]], [["D", "D"]])
    with pytest.raises(BayesError, match="without data"):
        model.forget(SENTENCES, TAGS)
    assert model.tally_ is before


def test_any_number_of_threads_gives_the_same_model() -> None:
    rng = np.random.default_rng(0)
    data = {"x": rng.normal(size=60_000), "w": rng.choice(list("abc"), 60_000)}
    starts = np.full(600, 100)
    one, four = (
        HiddenMarkovModel(3, n_starts=1, max_rounds=3, n_threads=t).fit(Sequences.of(data, starts)) for t in (1, 4)
    )
    assert one.training_ == four.training_
    assert one.transitions_.tobytes() == four.transitions_.tobytes()


def test_a_saved_model_is_the_model(tmp_path: Path, weather: HiddenMarkovModel) -> None:
    rng = np.random.default_rng(0)
    sequences, labels = drawn(rng, 10, 9)
    half = [[s if rng.random() < 0.5 else None for s in own] for own in labels]
    pairs = [[1.0, 2.0], [3.0, 4.0], [5.0, 5.0]]
    models = [
        (weather, [list("UUN")]),
        (HiddenMarkovModel(min_stay=2).fit(sequences, labels), sequences),
        (HiddenMarkovModel(max_rounds=3).fit(sequences, half), sequences),
        (HiddenMarkovModel(2, covariance="full", transitions="left-to-right", n_starts=1).fit([pairs]), [pairs[:2]]),
    ]
    for model, asked in models:
        model.save(tmp_path / "model.bayes")
        again = load(tmp_path / "model.bayes")
        np.testing.assert_array_equal(again.predict_proba(asked)[0], model.predict_proba(asked)[0])
        assert again.predict(asked) == model.predict(asked)
        assert again.tally_ == model.tally_
        assert (again.expected_statistics_ is None) == (model.expected_statistics_ is None)
        if model.expected_statistics_ is not None:
            assert again.training_ == model.training_


def test_a_fitted_model_is_fitted_again_to_other_columns():
    states = [["x", "y"], ["y", "x"]]
    model = HiddenMarkovModel().fit([["a", "b"], ["b", "a"]], states).fit([[1.5, 2.0], [2.5, 1.0]], states)
    assert list(model.schema_.measured) == ["x0"]
    assert model.table("x0")["mean"] == [1.25, 2.25]

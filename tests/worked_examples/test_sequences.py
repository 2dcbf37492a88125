"""Worked examples 31 and 32: weather behind an umbrella by all paths, and tagging by counting."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import bayeskit as bk

STAY = Fraction(7, 10)
UMBRELLA = {"rain": {"U": Fraction(9, 10), "N": Fraction(1, 10)}, "dry": {"U": Fraction(2, 10), "N": Fraction(8, 10)}}
SENTENCES = [sentence.split() for sentence in ("the dog barks", "the cat sleeps", "dogs bark", "the dog sleeps")]
TAGS = [list("DNV"), list("DNV"), list("NV"), list("DNV")]


@pytest.fixture(scope="module")
def weather():
    return bk.HiddenMarkovModel.from_tables(
        {"rain": 0.5, "dry": 0.5},
        {"rain": {"rain": 0.7, "dry": 0.3}, "dry": {"rain": 0.3, "dry": 0.7}},
        {state: {seen: float(p) for seen, p in row.items()} for state, row in UMBRELLA.items()},
    )


def paths(seen):
    """Every path with its probability, as fractions."""
    weights = {}
    for path in product(("rain", "dry"), repeat=len(seen)):
        p = Fraction(1, 2) * UMBRELLA[path[0]][seen[0]]
        for before, now, what in zip(path, path[1:], seen[1:], strict=False):
            p *= (STAY if now == before else 1 - STAY) * UMBRELLA[now][what]
        weights[path] = p
    return weights


def rain(weather, probabilities):
    return probabilities[:, weather.states_.tolist().index("rain")]


@pytest.mark.parametrize("seen", ["U", "UU", "UUNUU"])
def test_31_the_weather_is_what_all_paths_say(weather, seen):
    weights, sequence = paths(seen), [list(seen)]
    total = sum(weights.values())
    expected = [float(sum(p for path, p in weights.items() if path[t] == "rain") / total) for t in range(len(seen))]
    assert np.exp(weather.log_likelihood(sequence)[0]) == pytest.approx(float(total), rel=1e-12)
    assert rain(weather, weather.predict_proba(sequence)[0]) == pytest.approx(expected, rel=1e-12)
    best = weather.decode(sequence)[0]
    assert tuple(best.states) == max(weights, key=weights.get)
    assert best.probability == pytest.approx(float(max(weights.values()) / total), rel=1e-12)


def test_31_the_figures_of_the_course(weather):
    two = [["U", "U"]]
    assert rain(weather, weather.filter(two)[0]) == pytest.approx([9 / 11, 621 / 703], rel=1e-12)
    assert rain(weather, weather.forecast(two).states[0])[0] == pytest.approx(4593 / 7030, rel=1e-12)
    assert float(sum(paths("UUNUU").values())) == pytest.approx(0.0343037005, abs=1e-10)
    assert weather.decode([list("UUNUU")])[0].probability == pytest.approx(0.337386, abs=5e-7)


def test_32_tags_are_shares_of_counts():
    plain = bk.HiddenMarkovModel(smoothing=0, transition_smoothing=0, start_smoothing=0).fit(SENTENCES, TAGS)
    d, n, v = (plain.states_.tolist().index(tag) for tag in "DNV")
    assert plain.start_[d] == 3 / 4
    assert plain.transitions_[d, n] == plain.transitions_[n, v] == 1
    assert (plain.table("x0")["dog"][n], plain.table("x0")["sleeps"][v]) == (1 / 2, 1 / 2)


def test_32_smoothed_and_without_the_last_sentence():
    model = bk.HiddenMarkovModel().fit(SENTENCES, TAGS)
    best = model.decode([["the", "dog", "sleeps"]])[0]
    assert best.states == list("DNV")
    assert np.exp(best.log_joint) == pytest.approx(48 / 5929, rel=1e-12)
    assert model.forget(SENTENCES[3:], TAGS[3:]).tally_ == bk.HiddenMarkovModel().fit(SENTENCES[:3], TAGS[:3]).tally_

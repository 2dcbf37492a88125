"""Questions of data: counted in batches, with the rows behind the answer; and the command's words."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import bayeskit as bk
from bayeskit.cli.commands.ask import lines, network_of, of_data
from bayeskit.data import frames
from bayeskit.data.source import open_source
from bayeskit.datasets import load_worked_example
from bayeskit.errors import BayesError, QueryError
from bayeskit.network.query import answers
from bayeskit.network.query.grammar import parse

DATA = {
    "sky": ["sun", "sun", "rain", None, "rain", "sun"],
    "age": [10, 20, 30, 40, None, 60],
    "wet": [False, False, True, True, True, True],
    "n": [0, 1, 0, 1, 1, 1],
}


def ask_of(question, data=DATA):
    return answers.of_data(open_source(data), parse(question))


@pytest.mark.parametrize(
    ("question", "both", "condition", "left_out"),
    [
        ("P(wet)", 4, 6, 0),
        ("P(wet = true | sky = rain)", 2, 2, 1),
        ("P(sky = sun | age >= 20 and age < 61)", 2, 3, 2),
        ("P(age > 15 | not wet)", 1, 2, 1),
        ("P(n | wet)", 3, 4, 0),
        ("P(n = 1 or n = 0)", 6, 6, 0),
        ("P(age in {10, 60, 99})", 2, 5, 1),
        ("P(age != 10 | sky not in {rain})", 2, 3, 2),
    ],
)
def test_rows_are_counted_and_those_with_missing_cells_left_out(question, both, condition, left_out):
    found = ask_of(question)
    assert (found.n_both, found.n_condition, found.n_left_out, found.n_rows) == (both, condition, left_out, 6)
    assert found.probability == both / condition


def test_the_interval_is_jeffreys():
    low, high = ask_of("P(wet = true | sky in {rain, sun})").interval(0.9)
    assert (low, high) == pytest.approx(stats.beta(3.5, 2.5).interval(0.9), rel=1e-9)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 3, 100]))
def test_counting_in_batches_equals_the_joint_distribution(seed, block):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(
        {
            "a": rng.choice(list("xyz"), 40),
            "b": rng.integers(0, 4, 40),
            "c": rng.random(40).round(1),
            "d": rng.random(40) < 0.5,
        }
    )
    data.loc[0, ["a", "b"]] = ["x", 1]
    question = "P(a = x or c > 0.5 and not d | b in {1, 2} or b = 1)"
    before, frames.BLOCK = frames.BLOCK, block
    try:
        found = ask_of(question, data)
    finally:
        frames.BLOCK = before
    assert found.probability == pytest.approx(bk.JointDistribution.from_data(data).probability(question), rel=1e-12)


@pytest.mark.parametrize(
    ("question", "what"),
    [
        ("P(skye = sun)", "no column 'skye' .did you mean sky"),
        ("P(sky = snu)", "'sky' has no value 'snu' .did you mean sun"),
        ("P(sky > 3)", "> needs a column of numbers"),
        ("P(age > old)", "'old' is none"),
        ("P(age)", "other numbers than 0 and 1"),
        ("P(sky)", "'sky' alone is no statement"),
        ("P(sky = sun | age > 100)", "age > 100 has probability 0.*no row matches it"),
        ("P(sky = sun |)", "empty"),
    ],
)
def test_questions_that_cannot_be_answered_say_why(question, what):
    with pytest.raises(QueryError, match=what):
        ask_of(question)


def test_a_value_of_a_later_batch_is_known(monkeypatch):
    monkeypatch.setattr(frames, "BLOCK", 1)
    assert ask_of("P(sky = rain)").n_both == 2
    assert ask_of("P(not sky = rain)").n_both == 3


def test_no_rows_give_no_answer():
    with pytest.raises(QueryError, match="no row"):
        ask_of("P(a = x)", pd.DataFrame({"a": pd.Series([], dtype=str)}))
    with pytest.raises(QueryError, match="1 of 1 rows have a missing cell"):
        ask_of("P(a = x)", {"a": pd.Series([None], dtype="string")})


def test_the_answer_in_words_holds_the_rows_and_the_interval():
    said = lines(of_data(open_source(DATA), parse("P(wet = true | sky = rain)")))
    assert said == [
        "P(wet = true | sky = rain) = 1",
        "rows: 2 of the 2 that match the condition (5 in all)",
        f"95 % credible interval: {stats.beta(2.5, 0.5).ppf(0.025):.6g} to {stats.beta(2.5, 0.5).ppf(0.975):.6g}",
        "left out: 1 rows with a missing cell in a column that is asked for",
    ]
    table = lines(of_data(open_source({"a": ["x"], "probability": [1.0]}), parse("P(a = x)")))
    assert table[-1] == "rows were counted; to weigh them by 'probability', pass --probability probability"


def test_a_saved_naive_bayes_is_asked_as_a_network():
    tennis = load_worked_example("tennis")
    model = bk.NaiveBayes(smoothing=0).fit(tennis, "play")
    n = network_of(model)
    day = {"outlook": "sunny", "temperature": "cool", "humidity": "high", "wind": "strong"}
    condition = " and ".join(f"{k} = {v}" for k, v in day.items())
    assert n.query(f"P(play = no | {condition})") == pytest.approx(model.predict_proba(day)[0, 0], rel=1e-12)
    cut = bk.NaiveBayes(numeric="histogram", cuts=[30.0]).fit({"age": [20.0, 40.0, 50.0]}, ["a", "b", "b"])
    assert network_of(cut).query("P(class = a | age <= 30)") == pytest.approx(cut.predict_proba({"age": 20.0})[0, 0])
    assert network_of(n) is n
    with pytest.raises(BayesError, match="holds no tables"):
        network_of(object())
    with pytest.raises(QueryError, match="measured, not counted"):
        network_of(bk.NaiveBayes().fit({"x": [1.0, 2.0, 3.0, 4.0]}, ["a", "a", "b", "b"]))

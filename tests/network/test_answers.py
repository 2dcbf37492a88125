"""Questions of data: counted in batches, with the rows behind the answer; and the command's words."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import bayeskit as bk
from bayeskit.cli.commands.ask import lines as in_terminal
from bayeskit.data import frames
from bayeskit.data.frames import open_source
from bayeskit.datasets import load_worked_example
from bayeskit.errors import BayesError, QueryError
from bayeskit.network import ask
from bayeskit.network.ask import answer_from_data, lines, network_of
from bayeskit.network.query import parse

DATA = {
    "sky": ["sun", "sun", "rain", None, "rain", "sun"],
    "age": [10, 20, 30, 40, None, 60],
    "wet": [False, False, True, True, True, True],
    "n": [0, 1, 0, 1, 1, 1],
}


def ask_of(question, data=DATA, level=0.95):
    return answer_from_data(open_source(data), parse(question), level)


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
    assert [found[key] for key in ("matching", "of", "left_out", "rows")] == [both, condition, left_out, 6]
    assert found["probability"] == both / condition


def test_the_interval_is_jeffreys():
    interval = ask_of("P(wet = true | sky in {rain, sun})", level=0.9)["interval"]
    assert (interval["low"], interval["high"]) == pytest.approx(stats.beta(3.5, 2.5).interval(0.9), rel=1e-9)


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
    assert found["probability"] == pytest.approx(bk.JointDistribution.from_data(data).probability(question), rel=1e-12)


@pytest.mark.parametrize(
    ("question", "what"),
    [
        ("P(skye = sun)", "no column 'skye' .did you mean sky"),
        ("P(sky = snu)", "'sky' has no value 'snu' .did you mean sun"),
        ("P(sky > 3)", "> needs a column of numbers"),
        ("P(age > old)", "'old' is none"),
        ("P(wet | age)", "other numbers than 0 and 1"),
        ("P(wet | sky)", "'sky' alone is not a statement"),
        ("P(not sky)", "'sky' alone is not a statement"),
        ("E(sky)", "'sky' has no mean, for it holds no numbers .it is read as string.: ask P.sky"),
        ("E(wet)", "'wet' has no mean"),
        ("E(age | sky = hail)", "'sky' has no value 'hail'"),
        ("P(sky | sky is missing)", "no row matches it .1 of 6 rows have a missing cell"),
        ("P(sky = sun | age > 100)", "age > 100 has probability 0.*no row matches it"),
        ("P(sky = sun |)", "empty"),
    ],
)
def test_questions_that_cannot_be_answered_say_why(question, what):
    with pytest.raises(QueryError, match=what):
        ask_of(question)


@pytest.mark.parametrize(
    ("question", "counts", "condition", "left_out"),
    [
        ("P(sky)", {"sun": 3, "rain": 2}, 5, 1),
        ("P(sky | wet)", {"rain": 2, "sun": 1}, 3, 1),
        ("P(age | wet)", {30: 1, 40: 1, 60: 1}, 3, 1),
        ("P(sky | age is missing)", {"rain": 1, "sun": 0}, 1, 1),
        ("P(sky | age is not missing and n = 1)", {"sun": 2, "rain": 0}, 2, 1),
    ],
)
def test_a_column_alone_asks_for_the_share_of_each_value(question, counts, condition, left_out):
    shares = ask_of(question)
    assert [(one["value"], one["matching"]) for one in shares["distribution"]] == list(counts.items())
    assert [shares[key] for key in ("of", "left_out", "rows")] == [condition, left_out, 6]
    assert shares["distribution"][0]["probability"] == next(iter(counts.values())) / condition


@pytest.mark.parametrize(
    ("question", "both", "condition", "left_out"),
    [
        ("P(sky is missing)", 1, 6, 0),
        ("P(sky is not missing | wet)", 3, 4, 0),
        ("P(sky is missing or age IS MISSING)", 2, 6, 0),
        ("P(not sky is missing | age > 10)", 3, 4, 1),
        ("P(age > 15 | age is missing or age < 61)", 4, 6, 0),
        ("P(age != 10 | age is missing or age < 61)", 4, 6, 0),
        ("P(age not in {10} or age is missing)", 5, 6, 0),
        ("P(sky != sun or sky is missing)", 3, 6, 0),
    ],
)
def test_cells_may_be_asked_whether_they_are_missing(question, both, condition, left_out):
    answer = ask_of(question)
    assert [answer[key] for key in ("matching", "of", "left_out", "rows")] == [both, condition, left_out, 6]


@given(st.lists(st.tuples(st.none() | st.floats(-1e6, 1e6), st.sampled_from("xyz")), min_size=2), st.integers(1, 9))
def test_the_mean_is_that_of_the_rows_however_they_are_cut(cells, block):
    data = {"x": [x for x, _ in cells] + [1.5, 2.5, 0.0], "k": [k for _, k in cells] + ["x", "x", "z"]}
    numbers = np.array([x for x, k in zip(data["x"], data["k"], strict=True) if x is not None and k in "xy"])
    before, frames.BLOCK = frames.BLOCK, block
    try:
        answer = ask_of("E(x | k = x or not k = z)", data)
    finally:
        frames.BLOCK = before
    assert answer["of"] == len(numbers)
    assert answer["mean"] == pytest.approx(numbers.mean(), rel=1e-12, abs=1e-6)
    assert answer["standard_deviation"] == pytest.approx(numbers.std(ddof=1), rel=1e-9, abs=1e-6)
    assert answer["standard_error"] == pytest.approx(stats.sem(numbers), rel=1e-9, abs=1e-6)


def test_shares_in_batches_are_those_of_asking_for_each_value(monkeypatch):
    monkeypatch.setattr(frames, "BLOCK", 2)
    for question, each in (("P(sky | wet)", "P(sky = {} | wet)"), ("P(age | n = 1)", "P(age = {} | n = 1)")):
        shares = ask_of(question)
        for share in shares["distribution"]:
            alone = ask_of(each.format(share.pop("value")))
            assert share == {key: alone[key] for key in share}
            assert all(shares[key] == alone[key] for key in ("of", "left_out", "rows"))


def test_a_measured_column_has_too_many_numbers_to_list(monkeypatch):
    monkeypatch.setattr(ask, "LISTED", 3)
    with pytest.raises(QueryError, match=r"'age' has more than 3 different numbers to list: ask for its mean, E\(age"):
        ask_of("P(age)")
    assert ask_of("E(age)")["mean"] == 32


def test_distributions_and_means_are_told_in_words():
    record = answer_from_data(open_source(DATA), parse("P(sky | wet)"))
    assert lines(record) == [
        "P(sky | wet):",
        "rows: the 3 that match the condition (5 in all)",
        "left out: 1 rows with a missing cell in a column that is asked for",
    ]
    assert [one["matching"] for one in record["distribution"]] == [2, 1]
    assert lines(answer_from_data(open_source(DATA), parse("E(age)")))[:3] == [
        "E(age) = 32",
        "standard deviation: 19.2354; standard error of the mean: 8.60233",
        "rows: the 5 there are",
    ]
    assert lines(answer_from_data(open_source(DATA), parse("E(age | age > 50)")))[1] == (
        "rows: the 1 that match the condition (5 in all)"
    )


def test_a_value_of_a_later_batch_is_known(monkeypatch):
    monkeypatch.setattr(frames, "BLOCK", 1)
    assert ask_of("P(sky = rain)")["matching"] == 2
    assert ask_of("P(not sky = rain)")["matching"] == 3


def test_no_rows_give_no_answer():
    with pytest.raises(QueryError, match="no row"):
        ask_of("P(a = x)", pd.DataFrame({"a": pd.Series([], dtype=str)}))
    with pytest.raises(QueryError, match="1 of 1 rows have a missing cell"):
        ask_of("P(a = x)", {"a": pd.Series([None], dtype="string")})


def test_the_answer_in_words_holds_the_rows_and_the_interval():
    said = lines(answer_from_data(open_source(DATA), parse("P(wet = true | sky = rain)")))
    assert said == [
        "P(wet = true | sky = rain) = 1",
        "rows: 2 of the 2 that match the condition (5 in all)",
        f"95 % credible interval: {stats.beta(2.5, 0.5).ppf(0.025):.6g} to {stats.beta(2.5, 0.5).ppf(0.975):.6g}",
        "left out: 1 rows with a missing cell in a column that is asked for",
    ]
    table = in_terminal(answer_from_data(open_source({"a": ["x"], "probability": [1.0]}), parse("P(a = x)")))
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

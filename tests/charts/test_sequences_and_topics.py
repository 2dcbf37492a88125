"""States over time and topics, from plain arrays of any length."""

from types import SimpleNamespace

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.charts.sequences import state_evidence_chart, states_chart
from bayeskit.charts.words import topic_shares_chart, topic_words_chart
from tests.charts.drawn import check, head_of, rows_of

pytestmark = pytest.mark.slow


def test_states_are_layers_that_fill_the_whole_and_the_path_is_a_strip(tmp_path):
    rain = np.array([0.867339, 0.820419, 0.307484, 0.820419, 0.867339])  # worked example 31
    seen = ["umbrella", "umbrella", "none", "umbrella", "umbrella"]
    both = np.column_stack([1 - rain, rain])
    rows = rows_of(check(states_chart(["dry", "rain"], both, path=[1, 1, 0, 1, 1], observed=seen), tmp_path))
    layers = [row for row in rows if "y2" in row]
    assert [row["y2"] - row["y"] for row in layers if row["class"] == 1] == pytest.approx(rain, abs=1e-3)
    assert [(row["t"], row["t2"], row["class"]) for row in rows if "middle" in row] == [(0, 2, 1), (2, 3, 0), (3, 5, 1)]
    assert [row["what"] for row in rows if "what" in row] == seen


def test_long_sequences_of_many_states_are_drawn_in_parts(tmp_path):
    rng = np.random.default_rng(0)
    states = np.cumsum(rng.random(100_000) < 0.3) % 50
    chart = check(states_chart([f"s{i}" for i in range(50)], np.eye(50)[states], path=states.tolist()), tmp_path)
    assert "the mean of 625 steps" in head_of(chart)
    tops = [row["y2"] for row in rows_of(chart) if "y2" in row]
    assert max(tops) == pytest.approx(1)
    with pytest.raises(bk.BayesError, match="one probability for each step and state"):
        states_chart(["a"], np.ones((3, 2)))


def test_the_evidence_for_a_state_is_a_waterfall_from_the_past_to_the_future(tmp_path):
    record = SimpleNamespace(
        step=2, predicted="rain", against="dry", probability=0.87, past=0.5, observation={"umbrella": 1.5}, future=-0.1,
        log_odds=1.9,
    )  # fmt: skip
    bars = [row for row in rows_of(check(state_evidence_chart(record), tmp_path)) if "what" in row]
    assert [row["what"] for row in bars] == ["what went before", "umbrella now", "what came after", "together"]
    assert bars[-1]["high"] == pytest.approx(bars[-2]["high"]) == 1.9


def test_topics_are_drawn_with_their_words_and_shares(tmp_path):
    words = {f"topic {k}": [(f"w{k}{i}", 0.1 / (i + 1)) for i in range(40)] for k in range(30)}
    shares = np.arange(30.0) / np.arange(30.0).sum()
    chart = check(topic_words_chart(words, shares.tolist()), tmp_path)
    assert "the first 12 of 30" in head_of(chart)
    assert rows_of(chart)[0]["word"] == "w290"  # the largest first
    check(topic_words_chart(words), tmp_path)
    assert rows_of(check(topic_shares_chart(list(words), shares), tmp_path))[0]["name"] == "topic 29"
    many = np.random.default_rng(0).dirichlet(np.full(30, 0.2), 5000)
    assert "24 documents of 5,000" in head_of(check(topic_shares_chart(list(words), many), tmp_path))
    check(topic_shares_chart(list(words), many[:3], ["a", "b", "c"]), tmp_path)
    with pytest.raises(bk.BayesError, match="one share for each topic"):
        topic_shares_chart(["a"], [0.5, 0.5])

"""What a model of hidden states answers: sums over all paths, long sequences, one step at a time, draws."""

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import HiddenMarkovModel, Sequences
from bayeskit.errors import BayesError

from .drawn_sequences import PLAIN, drawn


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_mixed_columns_with_gaps_are_sums_over_all_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = HiddenMarkovModel().fit(*drawn(rng, 30, 6))
    ((sequence, *_), _) = drawn(rng, 1, 5)
    rows = []
    for row in sequence:
        logs = np.zeros(3)
        if row["sky"] is not None:
            logs += np.log(model.table("sky")[row["sky"]])
        if row["wind"] is not None:
            mean, variance = np.array(model.table("wind")["mean"]), np.array(model.table("wind")["variance"])
            logs += -0.5 * (np.log(2 * np.pi * variance) + (row["wind"] - mean) ** 2 / variance)
        rows.append(logs)
    paths = list(product(range(3), repeat=len(rows)))
    scores = np.array([
        np.log(model.start_[p[0]]) + sum(np.log(model.transitions_[a, b]) for a, b in pairwise(p))
        + sum(row[s] for row, s in zip(rows, p, strict=True)) for p in paths
    ])  # fmt: skip
    weights = np.exp(scores - scores.max())
    np.testing.assert_allclose(model.log_likelihood([sequence])[0], np.log(weights.sum()) + scores.max(), rtol=1e-9)
    posterior = np.array([[weights[[p[t] == s for p in paths]].sum() for s in range(3)] for t in range(len(rows))])
    np.testing.assert_allclose(model.predict_proba([sequence])[0], posterior / weights.sum(), atol=1e-9)
    best = model.best_paths([sequence], 4)[0]
    np.testing.assert_allclose([path.log_joint for path in best], -np.sort(-scores)[: len(best)], rtol=1e-9)
    names = model.states_.tolist()
    assert best[0].states == [names[s] for s in paths[int(scores.argmax())]]
    terms = model._log_terms(Sequences.of([sequence]))
    np.testing.assert_allclose(terms.sum(), model.log_likelihood([sequence])[0], rtol=1e-9)
    for step in range(len(rows)):
        explained = model.explain([sequence], step)
        a, b = names.index(explained.predicted), names.index(explained.against)
        odds = np.log(posterior[step, a] / posterior[step, b])
        np.testing.assert_allclose(explained.log_odds, odds, atol=1e-9)
        assert explained.probability >= explained.against_probability


def test_likelihoods_below_the_smallest_double() -> None:
    model = HiddenMarkovModel.from_tables(
        {"a": 1.0, "b": 0.0}, {"a": {"a": 0.5, "b": 0.5}, "b": {"b": 1.0}}, {"a": (0, 1e-4), "b": (100, 1e-4)}
    )
    sequence = [0.0] * 500 + [60.0] + [100.0] * 700
    assert np.isfinite(model.log_likelihood([sequence])[0])
    assert model.log_likelihood([sequence])[0] < -1e6
    path = model.predict([sequence])[0]
    assert path == ["a"] * 500 + ["b"] * 701
    np.testing.assert_allclose(model.predict_proba([sequence])[0][:500, 0], 1)


def faint() -> HiddenMarkovModel:
    """Two kinds of sequences: what has made one of them nearly certain may yet turn out to be impossible for it."""
    return HiddenMarkovModel.from_tables(
        {"a": 0.5, "b": 0.5},
        {"a": {"a": 1.0}, "b": {"b": 1.0}},
        {"a": {"u": 0.9, "v": 0.1}, "b": {"u": 0.001, "v": 0.1, "w": 0.899}},
    )


def test_a_state_that_has_faded_is_not_an_impossible_one() -> None:
    model, sequence = faint(), ["u"] * 400 + ["w", "u", "v"]
    whole = model.log_likelihood([sequence])[0]
    assert np.isfinite(whole)
    np.testing.assert_allclose(model._log_terms(Sequences.of([sequence])).sum(), whole, rtol=1e-12)
    now = model.online()
    for symbol, filtered in zip(sequence, model.filter([sequence])[0], strict=True):
        np.testing.assert_allclose(now.update(symbol), filtered, atol=1e-12)
    np.testing.assert_allclose(now.log_likelihood, whole, rtol=1e-12)
    far = HiddenMarkovModel.from_tables(
        {"a": 0.5, "b": 0.5}, {"a": {"a": 1.0}, "b": {"b": 1.0}}, {"a": (0.0, 1.0), "b": (1000.0, 1.0)}
    )
    numbers = [0.0, 0.0, 1000.0, 1000.0, 1000.0]
    np.testing.assert_allclose(
        far._log_terms(Sequences.of([numbers])).sum(), far.log_likelihood([numbers])[0], rtol=1e-12
    )
    explained = far.explain([numbers], 1)
    assert (explained.past, explained.observation["x0"], explained.future) == (-5e5, -5e5, 1.5e6)
    assert explained.log_odds == 5e5


def test_what_rules_a_state_out_is_said_of_each_part() -> None:
    model = HiddenMarkovModel.from_tables(
        {"a": 1.0, "b": 0.0},
        {"a": {"a": 0.5, "b": 0.5}, "b": {"b": 1.0}},
        {"a": {"u": 0.5, "v": 0.5}, "b": {"v": 1.0}},
    )
    first, second, last = (model.explain([["v", "u", "v"]], step) for step in range(3))
    assert (first.past, first.observation["x0"], first.future) == (np.inf, pytest.approx(np.log(0.5)), np.inf)
    assert "what comes after rules out b" in first.sentences
    assert second.observation["x0"] == np.inf
    assert second.future == pytest.approx(np.log(0.75))  # of v after a, and after b
    assert last.log_odds == pytest.approx(np.log(2))
    assert first.log_odds == second.log_odds == np.inf


def test_a_forecast_far_from_zero_keeps_its_spread() -> None:
    model = HiddenMarkovModel.from_tables(
        {"a": 0.5, "b": 0.5}, {s: {"a": 0.5, "b": 0.5} for s in "ab"}, {"a": (1e9, 1.0), "b": (1e9 + 2, 1.0)}
    )
    (variance,) = model.forecast([[1e9]]).columns["x0"]["variance"][0]
    assert variance == pytest.approx(2.0)


def test_long_sequences_in_pieces_are_the_whole() -> None:
    rng = np.random.default_rng(0)
    model = HiddenMarkovModel.from_tables(
        {"a": 0.5, "b": 0.5}, {"a": {"a": 0.9, "b": 0.1}, "b": {"a": 0.2, "b": 0.8}}, {"a": (0, 1), "b": (1, 2)}
    )
    sequences = [rng.normal(size=n).tolist() for n in (9_000, 3, 4_097, 50, 0)]
    whole = model.predict_proba(sequences)
    blocks: list[list[np.ndarray]] = [[] for _ in sequences]
    for part in model.posterior_blocks(sequences):
        assert part.step == sum(map(len, blocks[part.sequence]))
        blocks[part.sequence].append(part.probabilities)
    for i in range(4):
        np.testing.assert_array_equal(np.concatenate(blocks[i]), whole[i])
    import bayeskit.sequence.forward_backward as trellis

    before = trellis.LONG
    try:
        trellis.LONG = 100_000
        np.testing.assert_allclose(np.vstack(model.predict_proba(sequences)), np.vstack(whole), atol=1e-9)
        plain, paths = model.log_likelihood(sequences), model.predict(sequences)
        drawn_ = model.sample_paths(sequences, random_state=3)
    finally:
        trellis.LONG = before
    np.testing.assert_allclose(model.log_likelihood(sequences), plain, rtol=1e-12)
    assert model.predict(sequences) == paths
    assert model.sample_paths(sequences, random_state=3) == drawn_
    np.testing.assert_allclose(model.time_in_states(sequences)[0], whole[0].sum(axis=0))
    np.testing.assert_allclose(model._log_terms(Sequences.of(sequences))[:9_000].sum(), plain[0], rtol=1e-9)


def test_one_observation_at_a_time_is_the_filter() -> None:
    rng = np.random.default_rng(0)
    sequences, labels = drawn(rng, 30, 9)
    model = HiddenMarkovModel(min_stay={"a": 2}).fit(sequences, labels)
    now = model.online()
    for row, whole in zip(sequences[0], model.filter(sequences[:1])[0], strict=True):
        np.testing.assert_allclose(now.update(row), whole, atol=1e-12)
    np.testing.assert_allclose(now.log_likelihood, model.log_likelihood(sequences[:1])[0], rtol=1e-9)
    np.testing.assert_allclose(now.forecast(2), model.forecast(sequences[:1], 2).states[0, 1], atol=1e-12)
    now.restart()
    np.testing.assert_allclose(now.probabilities, model.start_)
    sharp = HiddenMarkovModel(**PLAIN).fit([["a", "b"]], [["s", "t"]]).online()
    sharp.update("a")
    before = sharp.probabilities
    with pytest.raises(BayesError, match="step 2 is impossible"):
        sharp.update("a")
    assert sharp.probabilities is before


@pytest.mark.parametrize(
    ("options", "rows", "bad"),
    [
        ({"roles": "categorical"}, [["a", "b", "a"]], [["a"], {"other": "a"}]),
        ({}, [[1.0, 2.0, 4.0]], ["abc", float("inf"), 1e200, [1.0], {"other": 1.0}]),
        ({}, [[[1.0, 2.0], [3.0, 5.0], [2.0, 2.0]]], [1.0, [1.0, 2.0], {"x0": "abc"}, {"x1": float("-inf")}]),
        ({"covariance": "full"}, [[[1.0, 2.0], [3.0, 5.0], [2.0, 2.0]]], [{"x0": "abc"}, {"x0": 1e200}]),
        ({"numeric": "poisson"}, [[1.0, 2.0, 4.0]], [1.5, -1, "abc"]),
        ({"numeric": "multinomial"}, [[[1, 2], [3, 5], [2, 2]]], [{"x0": 1.5}, {"x1": -1}]),
    ],
)
def test_what_is_no_observation_is_refused_and_nothing_changes(options: Any, rows: Any, bad: list[Any]) -> None:
    now = HiddenMarkovModel(1, n_starts=1, **options).fit(rows).online()
    cells = rows[0][0] if isinstance(rows[0][0], list) else [rows[0][0]]
    before = now.update({f"x{j}": cell for j, cell in enumerate(cells)})
    for observation in bad:
        with pytest.raises(BayesError):
            now.update(observation)
    assert now.probabilities is before
    assert now.n_steps == 1


def test_numbers_of_any_kind_are_one_observation_with_gaps_and_constant_columns() -> None:
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=60), np.full(60, 3.0), rng.normal(5, 2, 60)])
    rows[rng.random(60) < 0.2, 2] = np.nan
    model = HiddenMarkovModel(3, n_starts=1, max_rounds=5, min_stay=2).fit([rows])
    now, again = model.online(), model.online()
    for row, filtered in zip(rows, model.filter([rows])[0], strict=True):
        np.testing.assert_allclose(now.update({"x0": float(row[0]), "x1": 3, "x2": row[2]}), filtered, atol=1e-12)
        missing = None if np.isnan(row[2]) else np.float32(row[2]).item()
        again.update({"x0": np.float64(row[0]), "x2": missing})
    np.testing.assert_allclose(now.log_likelihood, model.log_likelihood([rows])[0], rtol=1e-9)
    np.testing.assert_allclose(again.log_likelihood, now.log_likelihood, rtol=1e-5)


def test_what_is_given_away_cannot_change_the_model(weather: HiddenMarkovModel) -> None:
    now = weather.online()
    now.probabilities[:] = 9
    assert weather.start_.tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="read-only"):
        now.update("U")[:] = 9


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.sample_paths([["U"]], n=-1),
        lambda model: model.sample_paths([["U"]], n=1.5),
        lambda model: model.sample(10**6, 10**7),
        lambda model: model.explain([["U"]], 0.5),
        lambda model: model.explain([["U"]], 0, sequence="first"),
        lambda model: model.online().forecast(0.5),
    ],
)
def test_arguments_that_mean_nothing_are_refused_by_name(weather: HiddenMarkovModel, ask: Any) -> None:
    with pytest.raises(BayesError):
        ask(weather)


def test_next_symbols_and_draws_follow_the_model(weather: HiddenMarkovModel) -> None:
    rain = 4593 / 7030
    np.testing.assert_allclose(
        weather.predict_next([list("UU")])[0], [1 - (rain * 0.9 + (1 - rain) * 0.2), rain * 0.9 + (1 - rain) * 0.2]
    )
    far = weather.forecast([list("UU")], 60).states[0, -1]
    np.testing.assert_allclose(far, weather.expected_time()["share in the long run"], atol=1e-9)
    sequences, states = weather.sample(300, 20, random_state=0, states=True)
    found = HiddenMarkovModel(**PLAIN).fit(sequences, states)
    np.testing.assert_allclose(found.transitions_, weather.transitions_, atol=0.03)
    np.testing.assert_allclose(found.table("x0")["U"], [0.2, 0.9], atol=0.03)
    paths = weather.sample_paths([list("UUNUU")], 4_000, random_state=0)[0]
    assert np.mean([path == ["rain", "rain", "dry", "rain", "rain"] for path in paths]) == pytest.approx(
        0.337, abs=0.03
    )
    with pytest.raises(BayesError, match="one column of symbols"):
        HiddenMarkovModel(1, n_starts=1).fit([[1.0, 2.0]]).predict_next([[1.0]])

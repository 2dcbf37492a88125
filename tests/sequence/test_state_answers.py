"""What a model of hidden states answers: sums over all paths, long sequences, one step at a time, draws."""

from itertools import pairwise, product

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
    terms = model.log_terms(Sequences.of([sequence]))
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
    import bayeskit.sequence.lattice as lattice

    before = lattice.LONG
    try:
        lattice.LONG = 100_000
        np.testing.assert_allclose(np.vstack(model.predict_proba(sequences)), np.vstack(whole), atol=1e-9)
        plain, paths = model.log_likelihood(sequences), model.predict(sequences)
        drawn_ = model.sample_paths(sequences, random_state=3)
    finally:
        lattice.LONG = before
    np.testing.assert_allclose(model.log_likelihood(sequences), plain, rtol=1e-12)
    assert model.predict(sequences) == paths
    assert model.sample_paths(sequences, random_state=3) == drawn_
    np.testing.assert_allclose(model.time_in_states(sequences)[0], whole[0].sum(axis=0))
    np.testing.assert_allclose(model.log_terms(Sequences.of(sequences))[:9_000].sum(), plain[0], rtol=1e-9)


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

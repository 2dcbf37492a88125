"""States that are found: what is believed of them rises, is found again, and goes on."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import HiddenMarkovModel
from bayeskit.errors import BayesError, BayesWarning

from .drawn_sequences import drawn


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"roles": "categorical", "smoothing": 0.5},
        {"numeric": "poisson"},
        {"numeric": "multinomial", "smoothing": 0.1},
        {"numeric": "multinomial", "smoothing": 0},
        {"covariance": "diagonal"},
        {"covariance": "spherical"},
        {"covariance": "full"},
        {"covariance": "tied"},
        {"covariance": "full", "mean_weight": 2.0},
        {"covariance": "diagonal", "mean_weight": 2.0, "transitions": "left-to-right"},
        {"roles": "categorical", "min_stay": 3},
        {"roles": "categorical", "transitions": [["s", "m", "m"], ["m", "s", "m"], ["m", "m", "s"]]},
        {"roles": "categorical", "transitions": [[0.9, None, None], [None, None, 0], [None, 0.2, None]]},
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_likelihood_and_prior_rise_from_round_to_round(options: dict[str, Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.choice([1, 4, 9], (12, 1, 2)) + np.zeros((12, 25, 2))).astype(float)
    if options.get("covariance"):
        counts += rng.normal(0, 0.3, counts.shape)
    if "transitions" not in options and "roles" not in options:
        counts[rng.random(counts.shape) < 0.15] = np.nan
    lengths = np.full(12, 25)
    data = np.where(np.isnan(counts), 0, counts).astype(int) if "roles" in options else counts
    model = HiddenMarkovModel(3, n_starts=1, max_rounds=40, tol=0, random_state=seed, **options)
    model.fit(data.reshape(-1, 2), lengths=lengths)
    assert model.training_ is not None
    history = np.array(model.training_.log_posterior)
    assert len(history) > 3
    assert (np.diff(history) > -1e-7 * np.abs(history[1:])).all()
    assert model.training_.converged or len(history) == 40  # a round that loses ends it, and is not in the history
    np.testing.assert_allclose(model.start_.sum(), 1)
    np.testing.assert_allclose(model.transitions_.sum(axis=1), 1)


def half_labeled(seed: int) -> tuple[HiddenMarkovModel, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    sequences, labels = drawn(rng, 30, 12)
    half = [[s if rng.random() < 0.4 else None for s in own] if i % 2 else own for i, own in enumerate(labels)]
    model = HiddenMarkovModel(max_rounds=30, tol=0, n_starts=2, states=["a", "b", "c"]).fit(sequences, half)
    return model, sequences, labels, half


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1_000))
def test_labels_of_some_positions_and_of_some_sequences_are_learned_together(seed: int) -> None:
    model, _, _, half = half_labeled(seed)
    assert model.training_ is not None
    history = np.array(model.training_.log_posterior)
    assert (np.diff(history) > -1e-7 * np.abs(history[1:])).all()
    counted = [own for own in half if None not in own]
    assert model.tally_.n_rows == sum(map(len, counted))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))  # how often it is right is not a law: seeds that stay
def test_half_of_the_labels_tell_nearly_as_much_as_all(seed: int) -> None:
    model, sequences, labels, _ = half_labeled(seed)
    full = HiddenMarkovModel().fit(sequences, labels)
    agree = np.mean([a == b for x, y in zip(model.predict(sequences), full.predict(sequences), strict=True)
                     for a, b in zip(x, y, strict=True)])  # fmt: skip
    assert agree > 0.85


def test_what_was_sampled_is_found_again() -> None:
    true = HiddenMarkovModel.from_tables(
        {"a": 0.6, "b": 0.4},
        {"a": {"a": 0.9, "b": 0.1}, "b": {"a": 0.2, "b": 0.8}},
        {"word": {"a": {"x": 0.7, "y": 0.2, "z": 0.1}, "b": {"x": 0.1, "y": 0.2, "z": 0.7}},
         "size": {"a": (0.0, 1.0), "b": (3.0, 0.5)}},
    )  # fmt: skip
    sequences, states = true.sample(60, 100, random_state=1, states=True)
    found = HiddenMarkovModel(2, n_starts=2).fit(sequences)
    order = np.argsort(found.table("size")["mean"])
    np.testing.assert_allclose(found.transitions_[np.ix_(order, order)], true.transitions_, atol=0.04)
    np.testing.assert_allclose(np.array(found.table("size")["mean"])[order], [0, 3], atol=0.1)
    np.testing.assert_allclose(np.array(found.table("size")["variance"])[order], [1, 0.5], atol=0.1)
    np.testing.assert_allclose(np.array(found.table("word")["x"])[order], [0.7, 0.1], atol=0.05)
    names = {found.states_.tolist()[order[0]]: "a", found.states_.tolist()[order[1]]: "b"}
    right = [names[s] == t for own, of in zip(found.predict(sequences), states, strict=True)
             for s, t in zip(own, of, strict=True)]  # fmt: skip
    assert np.mean(right) > 0.95
    assert found.log_likelihood(sequences).sum() > true.log_likelihood(sequences).sum() - 5


def test_the_number_of_states_is_chosen() -> None:
    true = HiddenMarkovModel.from_tables(
        {"a": 0.5, "b": 0.5}, {"a": {"a": 0.95, "b": 0.05}, "b": {"a": 0.05, "b": 0.95}}, {"a": (0, 1), "b": (4, 1)}
    )
    sequences = true.sample(12, 60, random_state=0)
    for choose_by in ("bic", "icl", "held-out"):
        model = HiddenMarkovModel([1, 2, 3], choose_by=choose_by, n_starts=1, max_rounds=30).fit(sequences)
        assert len(model.states_) == 2
        assert model.selection_["n_states"] == [1, 2, 3]
    with pytest.raises(BayesError, match="held out"):
        HiddenMarkovModel(range(1, 3), choose_by="held-out").fit(sequences[:1])


def test_an_interrupted_fit_holds_what_it_has_reached() -> None:
    def stop(stage: str, done: int, of: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.warns(BayesWarning, match="interrupted after 3 rounds"):
        model = HiddenMarkovModel(2, tol=0, progress=stop).fit([list("abacabadabac" * 5)])
    assert model.training_ is not None
    assert model.training_.interrupted
    assert len(model.predict([list("abac")])[0]) == 4


def test_more_sequences_go_on_from_what_is_believed() -> None:
    rng = np.random.default_rng(0)
    first, later = rng.normal(0, 1, (5, 40)).tolist(), rng.normal(3, 1, (5, 40)).tolist()
    model = HiddenMarkovModel(2, n_starts=1).fit(first)
    before = model.log_likelihood(later).sum()
    assert model.partial_fit(later).log_likelihood(later).sum() > before
    with pytest.raises(BayesError, match="not a state"):
        model.partial_fit([[1.0]], [["ill"]])
    with pytest.raises(BayesError, match="only models of labeled"):
        model.merge(model)


def test_shares_of_counts_with_gaps_are_found_again() -> None:
    """Counts fall on three cells by shares, and what fell on the first is often not told."""
    rng = np.random.default_rng(0)
    counts = rng.multinomial(30, [0.6, 0.3, 0.1], 4_000).astype(float)
    counts[rng.random(4_000) < 0.7, 0] = np.nan
    model = HiddenMarkovModel(1, numeric="multinomial", n_starts=1, tol=1e-9).fit([counts])
    found = [model.table(name)["share"][0] for name in ("x0", "x1", "x2")]
    np.testing.assert_allclose(found, [0.6, 0.3, 0.1], atol=0.01)
    counted = HiddenMarkovModel(numeric="multinomial").fit([counts], [["s"] * 4_000])
    found = [counted.table(name)["share"][0] for name in ("x0", "x1", "x2")]
    np.testing.assert_allclose(found, [0.6, 0.3, 0.1], atol=0.01)

"""What transitions may be: a minimum stay, one direction, fixed, forbidden or tied."""

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from bayeskit import HiddenMarkovModel
from bayeskit.errors import BayesError, BayesWarning


def test_a_state_lasts_its_minimum_and_all_paths_agree() -> None:
    rng = np.random.default_rng(2)
    words = [rng.choice(list("xyz"), 40).tolist() for _ in range(10)]
    model = HiddenMarkovModel(2, min_stay={0: 3}, n_starts=1, max_rounds=10).fit(words)
    (path,) = model.predict(words[:1])
    runs = [len(run) for run in "".join(map(str, path)).split("1") if run]
    assert all(run >= 3 for run in runs[:-1])
    short = words[0][:6]
    p, a, b = model.start_, model.transitions_, {v: model.table("x0")[v] for v in "xyz"}
    total = 0.0
    for path in product(range(2), repeat=6):
        chance, stay = p[path[0]] * b[short[0]][path[0]], 1
        for (before, now), word in zip(pairwise(path), short[1:], strict=True):
            free = before == 1 or stay >= 3
            chance *= (a[before, now] if free else float(before == now)) * b[word][now]
            stay = stay + 1 if before == now else 1
        total += chance
    assert np.exp(model.log_likelihood([short])[0]) == pytest.approx(total, rel=1e-9)
    visits = model.expected_time()["steps of a visit"]
    assert visits[0] == pytest.approx(3 + a[0, 0] / (1 - a[0, 0]))


def test_left_to_right_never_goes_back() -> None:
    rng = np.random.default_rng(0)
    rising = [np.repeat([0.0, 5.0, 10.0], rng.integers(4, 9, 3)) for _ in range(20)]
    model = HiddenMarkovModel(3, transitions="left-to-right", n_starts=1)
    model.fit([(x + rng.normal(0, 0.5, len(x))).tolist() for x in rising])
    assert model.transitions_[np.tril_indices(3, -1)].tolist() == [0, 0, 0]
    np.testing.assert_allclose(model.table("x0")["mean"], [0, 5, 10], atol=0.3)
    assert model.predict([[0.0, 5.0, 10.0]]) == [[0, 1, 2]]
    fixed = HiddenMarkovModel(2, start=[1, 0], transitions=[[0.5, None], [0, None]], roles="categorical").fit(
        [[1, 2, 2]]
    )
    assert fixed.transitions_[0, 0] == 0.5
    assert fixed.transitions_[1].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("settings_", "words"),
    [
        ({"transitions": [[0.5, 0.6], [None, None]]}, "sum to 1.1"),
        ({"transitions": [[0.5, 0.4], [None, None]]}, "sum to 0.9"),
        ({"transitions": [["a", "b"], ["a", None]]}, "same names"),
        ({"transitions": [[1]]}, "2 rows of 2"),
        ({"transitions": [["a", 2], ["b", "a"]]}, "not a probability"),
        ({"transitions": "round"}, "left-to-right"),
        ({"transitions": 3}, "not a list"),
        ({"transitions": {0: [0.5, 0.5], 1: [0.2, 0.8]}}, "not a list"),
        ({"transitions": [None, [0.2, 0.8]]}, "not a list"),
        ({"start": 3}, "not a list"),
        ({"min_stay": 10**6}, "shorter min_stay"),
        ({"start": [0.5, 0.2]}, "sum to 0.7"),
        ({"start": {"here": 1}}, "not a state"),
        ({"min_stay": 0}, "1 or more"),
        ({"min_stay": {"here": 2}}, "not a state"),
        ({"covariance": "round"}, "covariance"),
        ({"numeric": "kernel"}, "numeric"),
        ({"smoothing": -1}, "0 or more"),
        ({"max_rounds": 0}, "from 1"),
        ({"tol": 2}, "tol"),
        ({"choose_by": "aic"}, "choose_by"),
        ({"states": ["a", "b", "c"]}, "not as many"),
        ({"n_states": 10**9}, "more than 8,192"),
        ({"n_states": [2, 10**9]}, "several to choose from"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings_: dict[str, Any], words: str) -> None:
    with pytest.raises(BayesError, match=words):
        HiddenMarkovModel(**{"n_states": 2} | settings_).fit([[1.0, 2.0, 3.0]])


def test_fixed_probabilities_of_few_digits_are_made_to_sum_to_one() -> None:
    third = [0.3333, 0.3333, 0.3333]
    model = HiddenMarkovModel(3, start=third, transitions=[third] * 3, n_starts=1, max_rounds=2).fit([list("abacab")])
    np.testing.assert_allclose(model.transitions_.sum(axis=1), 1, rtol=1e-15)
    np.testing.assert_allclose(model.start_.sum(), 1, rtol=1e-15)
    above = HiddenMarkovModel(3, transitions=[[0.3334] * 3] * 3, n_starts=1, max_rounds=2).fit([list("abacab")])
    np.testing.assert_allclose(above.transitions_, 1 / 3, rtol=1e-15)


def test_labels_that_go_where_it_is_forbidden_are_told() -> None:
    words, tags = [["a", "b", "c"], ["a", "b"]], [["s", "t", "s"], ["t", "t"]]
    with pytest.warns(BayesWarning, match="2 labeled steps .* step 3 of sequence 1"):
        model = HiddenMarkovModel(states=["s", "t"], transitions="left-to-right").fit(words, tags)
    assert model.transitions_.tolist() == [[1 / 3, 2 / 3], [0, 1]]
    with pytest.warns(BayesWarning, match="1 labeled steps .* step 1 of sequence 1"):
        model.partial_fit([["a"]], [["t"]])

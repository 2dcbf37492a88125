"""Hidden Markov models through the public interface: worked examples, all paths, laws, and what is refused."""

from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import HiddenMarkovModel, Sequences, load
from bayeskit.errors import BayesError, BayesWarning, NotLearnt, UnknownValue

PLAIN: dict[str, Any] = {"smoothing": 0, "transition_smoothing": 0, "start_smoothing": 0}
SENTENCES = [["the", "dog", "barks"], ["the", "cat", "sleeps"], ["dogs", "bark"], ["the", "dog", "sleeps"]]
TAGS = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"], ["D", "N", "V"]]


@pytest.fixture
def weather() -> HiddenMarkovModel:
    return HiddenMarkovModel.from_tables(
        {"rain": 0.5, "dry": 0.5},
        {"rain": {"rain": 0.7, "dry": 0.3}, "dry": {"rain": 0.3, "dry": 0.7}},
        {"rain": {"U": 0.9, "N": 0.1}, "dry": {"U": 0.2, "N": 0.8}},
    )


def drawn(rng: np.random.Generator, n: int, length: int) -> tuple[list[Any], list[Any]]:
    """Labelled sequences of two columns with gaps."""
    sequences, labels = [], []
    for _ in range(n):
        states = rng.integers(0, 3, rng.integers(1, length))
        sequences.append(
            [
                {"sky": [None, "sun", "rain", "hail"][rng.integers(0, 4)], "wind": float(rng.normal(s, 0.5))}
                if rng.random() > 0.1
                else {"sky": "sun", "wind": None}
                for s in states
            ]
        )
        labels.append([["a", "b", "c"][s] for s in states])
    return sequences, labels


# -- worked examples -----------------------------------------------------------------------------------


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


# -- against all paths ---------------------------------------------------------------------------------


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


# -- laws of counting ----------------------------------------------------------------------------------


ROLES = {"wind": "numeric"}  # a part whose cells are all missing does not tell


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 19))
def test_parts_are_the_whole_merged_and_forgotten_back(seed: int, cut: int) -> None:
    sequences, labels = drawn(np.random.default_rng(seed), 20, 8)
    whole = HiddenMarkovModel(roles=ROLES).fit(sequences, labels)
    a = HiddenMarkovModel(roles=ROLES).fit(sequences[:cut], labels[:cut])
    b = HiddenMarkovModel(roles=ROLES).fit(sequences[cut:], labels[cut:])
    for other in (a + b, b + a, sum([b, a]), HiddenMarkovModel(roles=ROLES).fit(sequences[::-1], labels[::-1])):
        assert other.tally_.agrees(whole.tally_)
    learnt = HiddenMarkovModel(roles=ROLES).partial_fit(sequences[:cut], labels[:cut])
    learnt.partial_fit(sequences[cut:], labels[cut:])
    assert learnt.tally_.agrees(whole.tally_)
    np.testing.assert_allclose(learnt.predict_proba(sequences)[0], whole.predict_proba(sequences)[0], rtol=1e-9)
    back = learnt.forget(sequences[cut:], labels[cut:])
    assert back.tally_.agrees(a.tally_)
    np.testing.assert_allclose(back.predict_proba(sequences[:1])[0], a.predict_proba(sequences[:1])[0], rtol=1e-9)


def test_what_was_not_learnt_cannot_be_forgotten_and_nothing_changes() -> None:
    model = HiddenMarkovModel().fit(SENTENCES, TAGS)
    before = model.tally_
    with pytest.raises(NotLearnt):
        model.forget([["the", "the"]], [["D", "D"]])
    with pytest.raises(BayesError, match="nothing to believe"):
        model.forget(SENTENCES, TAGS)
    assert model.tally_ is before


# -- Baum-Welch ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"roles": "categorical", "smoothing": 0.5},
        {"numeric": "poisson"},
        {"numeric": "multinomial", "smoothing": 0.1},
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
        counts[rng.random(counts.shape) < 0.05] = np.nan
    lengths = np.full(12, 25)
    data = np.where(np.isnan(counts), 0, counts).astype(int) if "roles" in options else counts
    model = HiddenMarkovModel(3, n_starts=1, max_rounds=40, tol=0, random_state=seed, **options)
    model.fit(data.reshape(-1, 2), lengths=lengths)
    assert model.training_ is not None
    history = np.array(model.training_.log_posterior)
    assert len(history) > 3
    assert (np.diff(history) > -1e-7 * np.abs(history[1:])).all()
    np.testing.assert_allclose(model.start_.sum(), 1)
    np.testing.assert_allclose(model.transitions_.sum(axis=1), 1)


def half_labelled(seed: int) -> tuple[HiddenMarkovModel, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    sequences, labels = drawn(rng, 30, 12)
    half = [[s if rng.random() < 0.4 else None for s in own] if i % 2 else own for i, own in enumerate(labels)]
    model = HiddenMarkovModel(max_rounds=30, tol=0, n_starts=2, states=["a", "b", "c"]).fit(sequences, half)
    return model, sequences, labels, half


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1_000))
def test_labels_of_some_positions_and_of_some_sequences_are_learnt_together(seed: int) -> None:
    model, _, _, half = half_labelled(seed)
    assert model.training_ is not None
    history = np.array(model.training_.log_posterior)
    assert (np.diff(history) > -1e-7 * np.abs(history[1:])).all()
    counted = [own for own in half if None not in own]
    assert model.tally_.n_rows == sum(map(len, counted))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))  # how often it is right is no law: seeds that stay
def test_half_of_the_labels_tell_nearly_as_much_as_all(seed: int) -> None:
    model, sequences, labels, _ = half_labelled(seed)
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
    with pytest.raises(BayesError, match="no state"):
        model.partial_fit([[1.0]], [["ill"]])
    with pytest.raises(BayesError, match="only models of labelled"):
        model.merge(model)


# -- what transitions may be ---------------------------------------------------------------------------


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
        ({"transitions": [["a", 2], ["b", "a"]]}, "no probability"),
        ({"transitions": "round"}, "left-to-right"),
        ({"start": [0.5, 0.2]}, "sum to 0.7"),
        ({"start": {"here": 1}}, "no state"),
        ({"min_stay": 0}, "1 or more"),
        ({"min_stay": {"here": 2}}, "no state"),
        ({"covariance": "round"}, "covariance"),
        ({"numeric": "kernel"}, "numeric"),
        ({"smoothing": -1}, "0 or more"),
        ({"max_rounds": 0}, "1 or more"),
        ({"tol": 2}, "tol"),
        ({"choose_by": "aic"}, "choose_by"),
        ({"states": ["a", "b", "c"]}, "not as many"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings_: dict[str, Any], words: str) -> None:
    with pytest.raises(BayesError, match=words):
        HiddenMarkovModel(2, **settings_).fit([[1.0, 2.0, 3.0]])


# -- bad input -----------------------------------------------------------------------------------------


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
    with pytest.raises(BayesError, match="no count"):
        HiddenMarkovModel(2, numeric="poisson").fit([[1.0, 2.5]])


def test_lengths_and_labels_that_do_not_fit_are_refused() -> None:
    with pytest.raises(BayesError):
        HiddenMarkovModel(2).fit(np.zeros(5), lengths=[2, 2])
    with pytest.raises(BayesError, match="no state"):
        HiddenMarkovModel(states=["s"]).fit([["a", "b"]], [["s", "t"]])
    with pytest.raises(BayesError):
        HiddenMarkovModel().fit([["a", "b"]], [["s"]])
    with pytest.raises(BayesError, match="how many states"):
        HiddenMarkovModel().fit([["a", "b"]])
    with pytest.raises(BayesError, match="labels name 1"):
        HiddenMarkovModel(2).fit([["a", "b"]], [["s", "s"]])
    with pytest.raises(BayesError, match="no position has a state"):
        HiddenMarkovModel().fit([["a", "b"]], [[None, None]])


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


# -- long sequences, files, one step at a time -----------------------------------------------------------


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
        assert (again.expected_ is None) == (model.expected_ is None)
        if model.expected_ is not None:
            assert again.training_ == model.training_


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

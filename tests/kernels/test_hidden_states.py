"""Hidden states: the kernels against their references, against all paths, in parts, and where plain numbers fade."""

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bayeskit import kernels

from . import reference
from .arguments import good_arguments
from .conftest import same, seeds, thread_counts

KERNELS = ["filter_states", "count_states", "best_states", "k_best_states", "draw_states"]
few_states = st.sampled_from([1, 2, 3, 4])


def chain(rng: np.random.Generator, k: int, n: int, n_symbols: int = 3) -> dict[str, Any]:
    """One sequence of symbols."""
    tables = [np.log(rng.dirichlet(np.ones(k), size)) for size in (1, k)]
    logs = np.ascontiguousarray(np.log(rng.dirichlet(np.ones(n_symbols), k)).T)
    codes = rng.integers(0, n_symbols, n).astype(np.uint8)
    return {"logs": logs, "codes": codes, "labels": None, "allowed": None, "normals": None, "starts": np.array([0, n]),
            "log_start": tables[0][0], "log_transition": tables[1], "n_threads": 1}  # fmt: skip


def all_paths(given: dict[str, Any]) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """(every path, its ln P(path, rows))"""
    rows = given["logs"][given["codes"]]
    paths = list(product(range(rows.shape[1]), repeat=len(rows)))
    scores = [
        given["log_start"][p[0]] + sum(given["log_transition"][a, b] for a, b in pairwise(p))
        + sum(rows[t, s] for t, s in enumerate(p))
        for p in paths
    ]  # fmt: skip
    return paths, np.array(scores)


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
@example(seed=5519, n_threads=2)  # rows before one that no path can have
@example(seed=71332, n_threads=1)  # a last state that no path ends in
@settings(max_examples=40)
@given(seed=seeds, n_threads=thread_counts)
def test_the_kernels_equal_their_reference_for_any_number_of_threads(name: str, seed: int, n_threads: int) -> None:
    given = good_arguments(name, seed) | {"n_threads": 1}
    ours = getattr(kernels, name)(**given)
    again = getattr(kernels, name)(**given | {"n_threads": n_threads})
    theirs = getattr(reference, name)(**given)
    for one, many, expected in zip(ours, again, theirs, strict=True):
        if one is None:
            assert expected is None
            continue
        np.testing.assert_array_equal(one, many)
        if name in ("best_states", "k_best_states") and given["normals"] is None:
            np.testing.assert_array_equal(one, expected)
        elif np.asarray(one).dtype.kind == "f":
            # What is believed of a state without a hope differs in no digit that anyone sees: e^-600 and e^-700.
            visible = np.maximum(one, -600.0), np.maximum(expected, -600.0)
            np.testing.assert_allclose(*visible, rtol=1e-9, atol=1e-9)


@settings(max_examples=40)
@given(seed=seeds, n_threads=thread_counts)
def test_weighed_numbers_equal_their_reference_for_any_number_of_threads(seed: int, n_threads: int) -> None:
    given = good_arguments("weigh_numbers", seed) | {"n_threads": 1}
    ours = kernels.weigh_numbers(**given)
    same(ours, kernels.weigh_numbers(**given | {"n_threads": n_threads}))
    sizes = reference.weigh_numbers(**given | {"columns": [np.abs(column) for column in given["columns"]]})
    for one, expected, size in zip(ours, reference.weigh_numbers(**given), sizes, strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-9, atol=1e-10 * float(np.abs(size).max(initial=1.0)))


@settings(max_examples=40)
@given(seed=seeds)
def test_one_row_of_numbers_equals_its_reference(seed: int) -> None:
    given = good_arguments("NormalRow", seed)
    rng = np.random.default_rng(seed)
    cells = np.where(rng.random(given["mean"].shape[1]) < 0.2, np.nan, rng.normal(size=given["mean"].shape[1]) * 20)
    both, top = kernels.NormalRow(**given).score(cells.tolist())
    expected, largest = reference.NormalRow(**given).score(cells.tolist())
    np.testing.assert_allclose(both, expected, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(top, largest, rtol=1e-12)
    with pytest.raises(ValueError, match="cells"):
        kernels.NormalRow(**given).score([*cells.tolist(), 1.0])


@settings(max_examples=40)
@given(seeds, few_states, st.integers(1, 5))
def test_forward_and_backward_are_sums_over_all_paths(seed: int, k: int, n: int) -> None:
    given = chain(np.random.default_rng(seed), k, n)
    paths, scores = all_paths(given)
    weights = np.exp(scores)
    likelihood, impossible, first, moves, posteriors, _ = kernels.count_states(
        **given, before=None, after=None, by_row=True
    )
    np.testing.assert_allclose(np.exp(likelihood[0]), weights.sum(), rtol=1e-12)
    assert impossible.tolist() == [-1]
    shares = weights / weights.sum()
    expected, pairs = np.zeros((n, k)), np.zeros((k, k))
    for path, share in zip(paths, shares, strict=True):
        for t, s in enumerate(path):
            expected[t, s] += share
            if t:
                pairs[path[t - 1], s] += share
    np.testing.assert_allclose(posteriors, expected, atol=1e-12)
    np.testing.assert_allclose(first, expected[0], atol=1e-12)
    np.testing.assert_allclose(moves, pairs, atol=1e-12)
    symbols = kernels.count_states(**given, before=None, after=None, by_row=False)[4]
    by_symbol = np.zeros((3, k))
    np.add.at(by_symbol, given["codes"], expected)
    np.testing.assert_allclose(symbols, by_symbol, atol=1e-12)


@settings(max_examples=40)
@given(seeds, few_states, st.integers(1, 5), st.integers(1, 8))
def test_the_best_paths_are_the_best_of_all(seed: int, k: int, n: int, wanted: int) -> None:
    given = chain(np.random.default_rng(seed), k, n)
    paths, scores = all_paths(given)
    path, score, _, _ = kernels.best_states(**given, before=None, last=-1, keep=True)
    np.testing.assert_allclose(score[0], scores.max(), rtol=1e-12)
    np.testing.assert_allclose(scores[paths.index(tuple(path.tolist()))], scores.max(), rtol=1e-12)
    found, found_scores = kernels.k_best_states(**given, k=wanted)
    number = min(wanted, len(paths))
    np.testing.assert_allclose(found_scores[0, :number], -np.sort(-scores)[:number], rtol=1e-12)
    assert np.isneginf(found_scores[0, number:]).all()
    listed = [tuple(one.tolist()) for one in found[:number]]
    assert len(set(listed)) == number
    np.testing.assert_allclose([scores[paths.index(one)] for one in listed], found_scores[0, :number], rtol=1e-12)


def test_paths_are_drawn_as_often_as_they_are_probable() -> None:
    rng = np.random.default_rng(4)
    given = chain(rng, 2, 3)
    paths, scores = all_paths(given)
    shares = np.exp(scores) / np.exp(scores).sum()
    drawn = 4_000
    many = given | {"codes": np.tile(given["codes"], drawn), "starts": np.arange(drawn + 1) * 3}
    path, likelihoods, _ = kernels.draw_states(**many, before=None, last=-1, uniforms=rng.random(3 * drawn + 1))
    np.testing.assert_allclose(likelihoods, np.log(np.exp(scores).sum()), rtol=1e-12)
    numbers = path.reshape(drawn, 3) @ np.array([4, 2, 1])
    counts = np.bincount(numbers, minlength=8)
    spread = np.sqrt(drawn * shares * (1 - shares))
    assert (np.abs(counts - drawn * shares) < 4.5 * spread + 1).all()
    assert paths[0] == (0, 0, 0)


@settings(max_examples=20)
@given(seeds, st.sampled_from([2, 3, 6, 13]), st.floats(0.001, 0.999))
def test_a_sequence_in_two_parts_is_the_whole(seed: int, k: int, where: float) -> None:
    """Also over more steps than the kernels hold at a time."""
    rng, n = np.random.default_rng(seed), 1_600
    cut = max(1, int(where * n))
    given = chain(rng, k, n, 5)
    uniforms = rng.random(n + 1)

    def part(a: int, b: int) -> dict[str, Any]:
        return given | {"codes": given["codes"][a:b], "starts": np.array([0, b - a])}

    whole = kernels.count_states(**given, before=None, after=None, by_row=True)
    begin = kernels.filter_states(**part(0, cut), before=None, every=False)[2][0]
    later = kernels.count_states(**part(cut, n), before=begin, after=None, by_row=True)
    early = kernels.count_states(**part(0, cut), before=None, after=later[5], by_row=True)
    np.testing.assert_allclose(early[0] + later[0], whole[0], rtol=1e-12)
    np.testing.assert_allclose(np.concatenate([early[4], later[4]]), whole[4], atol=1e-10)
    np.testing.assert_allclose(early[3] + later[3], whole[3], rtol=1e-9)

    path, score, _, _ = kernels.best_states(**given, before=None, last=-1, keep=True)
    ends = kernels.best_states(**part(0, cut), before=None, last=-1, keep=False)[2]
    later_path, later_score, _, state = kernels.best_states(**part(cut, n), before=ends, last=-1, keep=True)
    early_path = kernels.best_states(**part(0, cut), before=None, last=state, keep=True)[0]
    same([np.concatenate([early_path, later_path])], [path])
    assert later_score == score

    path = kernels.draw_states(**given, before=None, last=-1, uniforms=uniforms)[0]
    later_path, _, state = kernels.draw_states(**part(cut, n), before=begin, last=-1, uniforms=uniforms[cut:])
    early_path = kernels.draw_states(**part(0, cut), before=None, last=state, uniforms=uniforms[: cut + 1])[0]
    same([np.concatenate([early_path, later_path])], [path])


def test_what_fades_from_plain_numbers_is_done_in_logarithms() -> None:
    """Two states without a way between them: the first 300 symbols speak for one, the next 400 for the other."""
    symbols = np.array([0] * 300 + [1] * 400, np.uint8)
    given: dict[str, Any] = {
        "logs": np.log([[0.9999, 0.0001], [0.0001, 0.9999]]), "codes": symbols, "labels": None,
        "allowed": None, "normals": None,
        "starts": np.array([0, 700]), "log_start": np.log([0.5, 0.5]),
        "log_transition": np.array([[0.0, -np.inf], [-np.inf, 0.0]]), "n_threads": 1,
    }  # fmt: skip
    log_likelihood, _, _, moves, posteriors, _ = kernels.count_states(**given, before=None, after=None, by_row=True)
    second = 300 * np.log(0.0001) + 400 * np.log(0.9999) + np.log(0.5)
    np.testing.assert_allclose(log_likelihood[0], second, rtol=1e-12)
    assert posteriors[:, 1].min() > 1 - 1e-12
    np.testing.assert_allclose(moves[1, 1], 699)
    assert kernels.filter_states(**given, before=None, every=True)[2][299, 1] < -2_000


def hard_chain(rng: np.random.Generator, k: int, n: int, lengths: int) -> dict[str, Any]:
    """Several sequences with transitions from likely to e^-2000 and never, and likelihoods that differ by as much."""
    moves = np.log(rng.dirichlet(np.ones(k), k)) - rng.choice([0.0, 0.0, 30.0, 200.0, 600.0, 2_000.0, np.inf], (k, k))
    moves[np.arange(k), (np.arange(k) + 1) % k] = np.log(0.5)  # a ring, so that every state can be reached
    start = np.log(rng.dirichlet(np.ones(k))) - rng.choice([0.0, 300.0, 1_000.0], k)
    logs = -rng.choice([1.0, 20.0, 300.0, 900.0, np.inf], (n, k), p=[0.5, 0.2, 0.15, 0.1, 0.05]) * rng.random((n, k))
    starts = np.linspace(0, n, lengths + 1).astype(np.int64)
    return {"logs": logs, "codes": None, "labels": None, "allowed": None, "normals": None, "starts": starts,
            "log_start": start, "log_transition": moves, "n_threads": 1}  # fmt: skip


@pytest.mark.slow
@settings(max_examples=40)
@given(seeds, st.sampled_from([2, 3, 5, 8, 9, 13, 50, 60]), st.sampled_from([2, 30, 400]))
def test_states_that_are_hard_to_reach_are_counted_as_in_logarithms(seed: int, k: int, n: int) -> None:
    given = hard_chain(np.random.default_rng(seed), k, n, 2)
    ours = kernels.count_states(**given, before=None, after=None, by_row=True)
    expected = reference.count_states(**given, before=None, after=None, by_row=True)
    for one, other in zip(ours, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)


def test_a_state_without_a_hope_is_not_reached_by_rounding() -> None:
    """A floor keeps what is possible above zero; what it alone speaks for is told as nothing."""
    logs = np.tile([0.0, -3_000.0], (50, 1))
    given: dict[str, Any] = {
        "logs": logs, "codes": None, "labels": None, "allowed": None, "normals": None, "starts": np.array([0, 50]),
        "log_start": np.array([0.0, -2_000.0]), "log_transition": np.array([[0.0, -1_000.0], [-1_000.0, 0.0]]),
        "n_threads": 1,
    }  # fmt: skip
    likelihood, _, _, moves, posteriors, _ = kernels.count_states(**given, before=None, after=None, by_row=True)
    np.testing.assert_allclose(likelihood, 0.0, atol=1e-12)
    assert not posteriors[:, 1].any()
    np.testing.assert_allclose(moves, [[49, 0], [0, 0]], atol=1e-60)


def test_one_row_below_the_smallest_double_is_no_trouble() -> None:
    logs = np.array([[-1e6, -1e6 - 1], [-3.0, -900.0], [-900.0, -3.0]])
    given: dict[str, Any] = {
        "logs": logs, "codes": None, "labels": None, "allowed": None, "normals": None, "starts": np.array([0, 3]),
        "log_start": np.log([0.5, 0.5]), "log_transition": np.log([[1 - 1e-12, 1e-12], [0.5, 0.5]]), "n_threads": 1,
    }  # fmt: skip
    ours = kernels.count_states(**given, before=None, after=None, by_row=True)
    expected = reference.count_states(**given, before=None, after=None, by_row=True)
    for one, other in zip(ours, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_the_first_impossible_row_is_named_and_counts_for_nothing() -> None:
    logs = np.zeros((6, 2))
    logs[4] = -np.inf
    given: dict[str, Any] = {
        "logs": logs, "codes": None, "labels": None, "allowed": None, "normals": None, "starts": np.array([0, 2, 6]),
        "log_start": np.log([0.5, 0.5]), "log_transition": np.log([[0.5, 0.5], [0.5, 0.5]]), "n_threads": 1,
    }  # fmt: skip
    likelihood, impossible, first, moves, posteriors, _ = kernels.count_states(
        **given, before=None, after=None, by_row=True
    )
    assert impossible.tolist() == [-1, 4]
    assert np.isneginf(likelihood[1])
    assert np.isnan(posteriors[2:]).all()
    np.testing.assert_allclose([first.sum(), moves.sum()], [1, 1])


def test_labels_leave_only_the_states_open_that_they_allow() -> None:
    rng = np.random.default_rng(0)
    given = chain(rng, 3, 4)
    known = given | {"labels": np.array([0, 2, 0, 1], np.uint8),
                     "allowed": np.array([[1, 1, 1], [1, 0, 0], [0, 1, 1]], np.uint8)}  # fmt: skip
    paths, scores = all_paths(given)
    open_ = np.array([path[1] > 0 and path[3] == 0 for path in paths])
    likelihood, _, _, _, posteriors, _ = kernels.count_states(**known, before=None, after=None, by_row=True)
    np.testing.assert_allclose(np.exp(likelihood[0]), np.exp(scores[open_]).sum(), rtol=1e-12)
    assert posteriors[1, 0] == 0
    np.testing.assert_allclose(posteriors[3], [1, 0, 0], rtol=1e-12)
    path, _, _, _ = kernels.best_states(**known, before=None, last=-1, keep=True)
    assert tuple(path.tolist()) == [p for p, o in zip(paths, open_, strict=True) if o][int(scores[open_].argmax())]


@pytest.mark.parametrize("k", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("kernel", ["filter_states", "count_states", "draw_states"])
def test_what_memory_held_before_is_not_read(kernel: str, k: int) -> None:
    """Rows of three states are read by fours: what stands after the last of a stretch once was what it had been."""
    rng, n = np.random.default_rng(0), 4_100  # a stretch has 4,096 rows of few states
    given = chain(rng, k, n)
    given |= {"logs": np.log(rng.dirichlet(np.ones(k), n)), "codes": None, "before": None}
    given |= {"count_states": {"after": None, "by_row": True}, "filter_states": {"every": True},
              "draw_states": {"last": -1, "uniforms": rng.random(n + 1)}}[kernel]  # fmt: skip
    answers = []
    for before in (0.0, np.nan):
        for size in (k * n + 3, k * n + 4, k * 4_096 + 3):
            held = [np.full(size, before) for _ in range(4)]
            del held
        answers.append([np.asarray(part).tobytes() for part in getattr(kernels, kernel)(**given)])
    assert answers[0] == answers[1]

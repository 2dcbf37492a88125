"""Tags of words: the kernels against their references, and the best path against all paths."""

from itertools import product
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit import kernels
from bayeskit.estimate.tagging import first_slot

from . import reference
from .arguments import good_arguments
from .conftest import same, seeds, thread_counts


@given(seeds)
def test_candidates_of_a_tree_equal_their_reference(seed: int) -> None:
    arguments = good_arguments("tree_candidates", seed)
    ours, theirs = kernels.tree_candidates(**arguments), reference.tree_candidates(**arguments)
    same(ours[:2], theirs[:2])
    np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-12, atol=1e-12)


def test_a_node_is_its_counts_over_its_parent_and_far_states_are_left_out() -> None:
    base = np.array([0.6, 0.3, 0.1])
    tree: dict[str, Any] = {
        "depth": np.array([0, 1, 1], np.int32), "weight": np.array([2.0, 1.0, 0.0]), "indptr": np.array([0, 1, 3, 3]),
        "states": np.array([1, 0, 2], np.int32), "counts": np.array([8.0, 3.0, 1.0]), "base": base,
    }  # fmt: skip
    indptr, states, scores = kernels.tree_candidates(**tree, within=50.0)
    top = (np.array([0, 8, 0]) + 2 * base) / 10
    below = (np.array([3, 0, 1]) + top) / 5
    believed = np.exp(scores) * base[states]
    np.testing.assert_allclose(believed, np.concatenate([top, below, top]))  # the last has no counts and no weight
    assert indptr.tolist() == [0, 3, 6, 9]
    near = kernels.tree_candidates(**tree, within=np.log(3.1))
    assert [near[1][a:b].tolist() for a, b in zip(near[0][:-1], near[0][1:], strict=True)] == [[1], [0, 2], [1]]


@settings(max_examples=40)
@given(seeds, thread_counts)
def test_best_tags_equal_their_reference_for_any_number_of_threads(seed: int, n_threads: int) -> None:
    arguments = good_arguments("best_tags", seed) | {"n_threads": 1}
    path, totals = kernels.best_tags(**arguments)
    same((path, totals), kernels.best_tags(**arguments | {"n_threads": n_threads}))
    same((path, totals), reference.best_tags(**arguments))


@settings(max_examples=40)
@given(seeds, st.integers(1, 5), st.integers(1, 4))
def test_the_best_path_is_the_best_of_all_paths(seed: int, n_words: int, n_states: int) -> None:
    rng = np.random.default_rng(seed)
    size = n_states + 1
    triples = np.log(rng.random((size, size, size)))
    pairs = np.log(rng.random((size, size)))
    listed = rng.random((size, size)) < 0.7
    contexts = np.where(listed, np.cumsum(listed.ravel()).reshape(size, size) - 1, -1).astype(np.int32)
    slots = 1 << int(np.ceil(np.log2(2 * size)))
    successors, logs = np.full((int(listed.sum()), slots), -1, np.int32), np.zeros((int(listed.sum()), slots))
    whole = np.broadcast_to(pairs, triples.shape).copy()  # [a, b, c]
    for a, b in np.argwhere(listed):
        for c in rng.permutation(size)[: rng.integers(0, size + 1)]:
            slot = int(first_slot(np.array([c]))[0]) % slots
            while successors[contexts[a, b], slot] >= 0:
                slot = (slot + 1) % slots
            successors[contexts[a, b], slot], logs[contexts[a, b], slot] = c, triples[a, b, c]
            whole[a, b, c] = triples[a, b, c]
    gains = np.log(rng.random((n_words, n_states)))
    path, (total,) = kernels.best_tags(
        np.arange(n_words) * n_states, (np.arange(n_words) + 1) * n_states, np.array([0, n_words]),
        np.tile(np.arange(n_states, dtype=np.int32), n_words), gains.ravel(), pairs, contexts,
        np.arange(len(logs) + 1) * slots, successors.ravel(), logs.ravel(), 1,
    )  # fmt: skip

    def score(states: tuple[int, ...]) -> float:
        marked = (n_states, n_states, *states, n_states)
        steps = sum(whole[marked[i : i + 3]] for i in range(len(states) + 1))
        return float(steps + sum(gains[i, s] for i, s in enumerate(states)))

    best = max(product(range(n_states), repeat=n_words), key=score)
    np.testing.assert_allclose(total, score(best), rtol=1e-12)
    np.testing.assert_allclose(score(tuple(path.tolist())), score(best), rtol=1e-12)

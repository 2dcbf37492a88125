"""The same bits for any number of threads and on any machine."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bayeskit import kernels

from .conftest import floats


def everything(n_threads: int, n: int = 70_000) -> list[np.ndarray]:
    """Results of all kernels on one table, big enough for several parts."""
    rng = np.random.default_rng(7)
    x = floats(rng, n, 9)
    ints = rng.integers(-5, 60, (n, 9)).astype(np.int8)
    labels = rng.integers(0, 3, n).astype(np.uint8)
    weights, shares = rng.random(n), rng.random((n, 3))
    columns, numbers = [ints[:, j] for j in range(9)], [x[:, j] for j in range(9)]
    low, high = kernels.int_ranges(columns, n_threads)
    table = np.arange(1, 66, dtype=np.uint32)
    coded = kernels.lookup_codes(columns, low, [table] * 9, np.zeros(9, dtype=np.uint32), n_threads)
    out = [low, high, *coded]
    for by in (None, weights):
        out += kernels.count_codes(coded, [66] * 9, labels, 3, by, n_threads)
        out += [np.asarray(part) for part in kernels.moments(numbers, labels, 3, by, n_threads)]
    out += kernels.count_responsibilities(coded, [66] * 9, shares, n_threads)
    out += [np.asarray(part) for part in kernels.moments_responsibilities(numbers, shares, n_threads)]
    out += kernels.bin_codes(numbers, [np.linspace(-2, 2, 5)] * 9, n_threads)
    scores = np.zeros((n, 3))
    kernels.score_codes(coded, [rng.normal(size=(66, 3)) for _ in range(9)], scores, n_threads)
    out += [scores.copy()]
    kernels.score_gaussian(numbers, *rng.random((3, 3, 9)), scores, n_threads)
    left = np.zeros((n, 3))
    kernels.score_codes_left_out(coded, list(rng.normal(size=(9, 3, 66, 3))), labels, left, n_threads)
    flags = kernels.score_gaussian_left_out(numbers, labels, *rng.random((6, 3, 9)), 1e-3, left, n_threads)
    out += [left, flags, *kernels.judge(left, labels, 1e-12, n_threads)]
    out += [kernels.best_classes(left, 1e-12, n_threads)]
    for n_classes, n_terms in ((3, 13), (5, 36), (2, 3)):
        terms = rng.normal(size=(3_000, n_classes, n_terms)).astype(np.float32)
        own = rng.integers(0, n_classes, 3_000).astype(np.uint32)
        loss = kernels.exponent_loss(terms, own, weights[:3_000], rng.random(n_terms), n_threads)
        out += [np.asarray(part) for part in loss]
    out += [*hidden_states(rng, coded[0], scores, n_threads), *topics_of_words(rng, n_threads)]
    few = [(column % 3).astype(np.uint16) for column in coded]
    arcs, none = np.ones((9, 9), dtype=np.uint8), np.zeros((9, 9), dtype=np.uint8)
    found = kernels.learn_structure(
        few, np.full(9, 3), "bdeu", 1.0, arcs, none, 3, "order", 0, 5, 5, 5, 3, lambda *_: True
    )
    out += [np.asarray(part) for part in found]
    return [*out, scores, *kernels.normalize(scores, n_threads)]


def hidden_states(rng: np.random.Generator, codes: np.ndarray, scores: np.ndarray, n_threads: int) -> list[np.ndarray]:
    """The kernels of hidden Markov models on many sequences and on one, on few states and on many."""
    out: list[np.ndarray] = []
    n = len(scores)
    out += kernels.weigh_numbers([scores[:, 0], scores[:, 1]], np.zeros(2), rng.random((n, 3)), n_threads)
    for k in (3, 11):
        both, top = kernels.NormalRow(*rng.random((3, k, 2))).score(scores[k, :2].tolist())
        out += [np.asarray(part) for part in (both, top)]
    for k, starts in ((3, np.arange(0, n + 1, 70)), (3, np.array([0, n])), (11, np.arange(0, n + 1, 7_000))):
        tables = [np.log(rng.dirichlet(np.ones(k), size)) for size in (1, k, 66)]
        chain = {"labels": None, "allowed": None, "normals": None, "starts": starts, "log_start": tables[0][0],
                 "log_transition": tables[1], "n_threads": n_threads}  # fmt: skip
        numbers = [scores[:, 0], scores[:, 1]], *(rng.random((3, k, 2))), np.zeros(2)
        summed = chain | {"normals": numbers, "logs": np.zeros((0, k)), "codes": None}
        out += kernels.count_states(**summed, before=None, after=None, by_row=False)
        for rows in ({"logs": tables[2], "codes": codes}, {"logs": np.ascontiguousarray(scores), "codes": None}):
            if rows["codes"] is None and k != scores.shape[1]:
                continue
            both = chain | rows
            out += kernels.count_states(**both, before=None, after=None, by_row=rows["codes"] is None)
            out += kernels.filter_states(**both, before=None, every=False)
            out += [np.asarray(part) for part in kernels.best_states(**both, before=None, last=-1, keep=True)]
            out += [
                np.asarray(p) for p in kernels.draw_states(**both, before=None, last=-1, uniforms=rng.random(n + 1))
            ]
    return out


def topics_of_words(rng: np.random.Generator, n_threads: int) -> list[np.ndarray]:
    """The samplers of topics, dense and sparse."""
    out: list[np.ndarray] = []
    start = np.arange(0, 601, 30)
    words, topics = rng.integers(0, 20, 600).astype(np.uint32), rng.integers(0, 9, 600).astype(np.uint16)
    for n_topics in (9, 100, 150):
        alpha, likelihood = np.full(n_topics, 0.3), np.zeros((20, -(-n_topics // 8) * 8), np.float32)
        likelihood[:, :n_topics] = rng.random((20, n_topics))
        out += [
            kernels.sample_topics(start, words, topics, 20, None, alpha, 0.1, 5, 0, 2, 4, False, n_threads),
            kernels.fold_in_topics(start, words, likelihood, alpha, 5, 2, 1, n_threads),
        ]
    return out


@pytest.mark.slow
@pytest.mark.parametrize("n_threads", [2, 3, 8])
def test_any_number_of_threads_gives_the_same_bits(n_threads: int) -> None:
    for one, many in zip(everything(1), everything(n_threads), strict=True):
        assert one.tobytes() == many.tobytes()


@pytest.mark.slow
def test_machines_without_wide_registers_give_the_same_bits() -> None:
    script = (
        "import sys, hashlib; sys.path.insert(0, sys.argv[1]); import kernels.test_bits as t;"
        "print([hashlib.sha256(part.tobytes()).hexdigest() for part in t.everything(2)])"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script, str(Path(__file__).parent.parent)],
            env={**os.environ, "BAYESKIT_KERNELS": wanted},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for wanted in ("portable", "avx2", "")
    }
    assert len(found) == 1

"""Good arguments for the kernels of sequences: hidden states, and tags of words."""

from collections.abc import Callable

import numpy as np

from bayeskit.estimate.tagging import first_slot

from .conftest import codes, floats, strided
from .draw import Arguments, Draw


def tree_candidates(d: Draw) -> Arguments:
    n_states = d.n_classes
    depth = np.zeros(d.n, np.int32)
    for i in range(1, d.n):
        depth[i] = d.rng.integers(0, min(depth[i - 1] + 1, 5) + 1)
    sizes = d.rng.integers(0, n_states + 1, d.n)
    states = [np.sort(d.rng.permutation(n_states)[:size]) for size in sizes]
    base = d.rng.random(n_states) + 1e-3
    return {
        "depth": depth,
        "weight": d.rng.choice([0.0, 0.5, 3.0], d.n),
        "indptr": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "states": np.concatenate([np.zeros(0, np.int32), *states]).astype(np.int32),
        "counts": d.rng.integers(1, 9, int(sizes.sum())).astype(np.float64),
        "base": base / base.sum(),
        "within": float(d.rng.choice([0.5, 7.0])),
    }


def best_tags(d: Draw) -> Arguments:
    n_states = d.n_classes
    size = n_states + 1
    cuts = np.sort(d.rng.integers(0, d.n + 1, d.k))
    sizes = d.rng.integers(1, n_states + 1, d.n)
    last = np.cumsum(sizes)
    states = [np.sort(d.rng.permutation(n_states)[:n]) for n in sizes]
    n_rows = int(d.rng.integers(0, 4))
    slots = 1 << int(np.ceil(np.log2(2 * size)))
    successors = np.full((n_rows, slots), -1, np.int32)
    for row in successors:
        for state in d.rng.permutation(size)[: d.rng.integers(0, size + 1)]:
            free = (int(first_slot(np.array([state]))[0]) + np.arange(slots)) % slots
            row[free[row[free] < 0][0]] = state
    return {
        "first": last - sizes,
        "last": last,
        "starts": np.concatenate([[0], cuts, [d.n]]).astype(np.int64),
        "states": np.concatenate([np.zeros(0, np.int32), *states]).astype(np.int32),
        "scores": d.rng.normal(size=int(sizes.sum())),
        "pairs": d.rng.normal(size=(size, size)),
        "contexts": d.whole(n_rows + 1, (size, size), "int32") - np.int32(1),
        "indptr": np.arange(n_rows + 1) * slots,
        "successors": successors.ravel(),
        "logs": d.rng.normal(size=n_rows * slots),
    }


def hidden_chain(d: Draw) -> Arguments:
    k, n_symbols = d.n_classes, int(d.rng.choice([1, 3, 40]))
    ends = np.sort(d.whole(d.n + 1, int(d.rng.integers(0, 6)), "int64"))
    chain = d.rng.random((k + 1, k)) * (d.rng.random((k + 1, k)) < d.rng.choice([0.6, 1.0]))
    with np.errstate(divide="ignore"):
        tables = np.log(chain)
    kind, known = str(d.rng.choice(["symbols", "rows", "numbers"])), d.rng.random() < 0.4
    logs = d.normal({"symbols": n_symbols, "rows": d.n, "numbers": 0}[kind], k) * float(d.rng.choice([1, 30, 900]))
    logs[d.rng.random(logs.shape) < 0.05] = -np.inf
    columns = strided(np.clip(floats(d.rng, d.n, 2), -50, 50), int(d.rng.integers(0, 4)))
    numbers = columns, d.normal(k, 2), d.rng.random((k, 2)), d.normal(k, 2), d.normal(2)
    return {
        "logs": logs,
        "codes": codes(d.rng, d.n, n_symbols) if kind == "symbols" else None,
        "labels": codes(d.rng, d.n, 3) if known else None,
        "allowed": (d.rng.random((3, k)) < 0.8).astype(np.uint8) if known else None,
        "normals": numbers if kind == "numbers" else None,
        "starts": np.concatenate([[0], ends, [d.n]]),
        "log_start": tables[0],
        "log_transition": tables[1:].copy(),
    }


def one_way(d: Draw) -> Arguments:
    chain = hidden_chain(d)
    return chain | {"before": d.normal(d.n_classes) if d.rng.random() < 0.5 else None}


def filter_states(d: Draw) -> Arguments:
    return one_way(d) | {"every": bool(d.rng.random() < 0.5)}


def count_states(d: Draw) -> Arguments:
    chain = one_way(d)
    after = d.normal(d.n_classes) if d.rng.random() < 0.5 else None
    return chain | {
        "after": after,
        "by_row": (chain["codes"] is None and chain["normals"] is None) or bool(d.rng.random() < 0.5),
    }


def best_states(d: Draw) -> Arguments:
    return one_way(d) | {"last": int(d.rng.integers(-1, d.n_classes)), "keep": bool(d.rng.random() < 0.8)}


def draw_states(d: Draw) -> Arguments:
    return one_way(d) | {"last": int(d.rng.integers(-1, d.n_classes)), "uniforms": d.rng.random(d.n + 1)}


def weigh_numbers(d: Draw) -> Arguments:
    return {"columns": d.numbers, "center": d.normal(d.k), "shares": d.rng.random((d.n, d.n_classes))}


def k_best_states(d: Draw) -> Arguments:
    return hidden_chain(d) | {"k": int(d.rng.integers(1, 5))}


def normal_row(d: Draw) -> Arguments:
    return {name: d.rng.random((d.n_classes, d.k)) for name in ("mean", "precision", "constant")}


GOOD: dict[str, Callable[[Draw], Arguments]] = {
    "NormalRow": normal_row,
    "best_states": best_states,
    "best_tags": best_tags,
    "count_states": count_states,
    "draw_states": draw_states,
    "filter_states": filter_states,
    "k_best_states": k_best_states,
    "tree_candidates": tree_candidates,
    "weigh_numbers": weigh_numbers,
}

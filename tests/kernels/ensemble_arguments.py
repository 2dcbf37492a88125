"""Good arguments for the kernels of the ensemble: back-off, chains, trees and lines."""

from collections.abc import Callable
from typing import Any

import numpy as np

from bayeskit import kernels

from .conftest import CODES
from .draw import Arguments, Draw


def families(d: Draw) -> Arguments:
    members, n_columns = int(d.rng.integers(1, 4)), max(d.k, 1)
    sizes = d.rng.integers(1, 5, (members, n_columns))
    cells = (d.rng.random((members, n_columns, d.n)) * sizes[:, :, None]).astype(d.rng.choice(CODES))
    above = d.rng.integers(-1, n_columns, (members, n_columns, int(d.rng.integers(0, 3)))).astype(np.int32)
    return {"codes": cells, "sizes": sizes, "parents": above, "columns": np.arange(n_columns)}


def learn_backoff(d: Draw) -> Arguments:
    shared, asked = families(d), d.rng.integers(0, max(d.n, 1), 4 if d.n else 0)
    held = d.rng.random((shared["codes"].shape[0] * shared["codes"].shape[1], shared["parents"].shape[2] + 1)) + 0.1
    rows = {"labels": d.wide_labels, "n_classes": d.n_classes, "weights": d.weights, "asked": asked}
    return shared | rows | {"m": held if d.rng.random() < 0.5 else None}


def score_backoff(d: Draw) -> Arguments:
    learning = learn_backoff(d)
    learned = kernels.learn_backoff(**learning, n_threads=1)[1]
    shared = {name: learning[name] for name in ("codes", "sizes", "parents", "columns", "n_classes")}
    return shared | {"learned": learned}


def chained(d: Draw) -> Arguments:
    sizes = np.array([*d.sizes, 0], dtype=np.int64)
    numbers = np.where(d.rng.random(d.n) < 0.1, np.inf, d.normal(d.n))
    asked = d.rng.integers(0, max(d.n, 1), 4 if d.n else 0)
    rows = {"labels": d.wide_labels, "n_classes": d.n_classes, "weights": d.weights, "asked": asked}
    prior = d.rng.random(d.n_classes) + 0.1
    return {"columns": [*d.columns, numbers], "sizes": sizes} | rows | {"prior": prior / prior.sum()}


def learn_chains(d: Draw) -> Arguments:
    shared, n_chains, together = chained(d), 3, 2
    candidates = d.whole(len(shared["columns"]), (n_chains, 4, together), "int32")
    cuts = np.where(d.rng.random((*candidates.shape, 3)) < 0.3, np.nan, d.rng.integers(0, 3, (*candidates.shape, 3)))
    return shared | {"parts": d.whole(2, (n_chains, d.n), "uint8"), "candidates": candidates, "cuts": cuts}


def count_chains(d: Draw) -> Arguments:
    shared = chained(d)
    start = np.array([0, 2, 2, 5])
    steps = {"column": d.whole(len(shared["columns"]), 5, "int32"), "m": d.rng.random(5) + 0.1}
    return shared | {"start": start, **steps, "cuts": d.rng.integers(0, 3, (5, 3)).astype(np.float64)}


def score_chains(d: Draw) -> Arguments:
    counting = count_chains(d)
    learned = kernels.count_chains(**counting, n_threads=1)[2]
    shared = {"columns": counting["columns"], "sizes": counting["sizes"], "learned_columns": counting["columns"]}
    return shared | {"n_learned": float(d.n), "prior": counting["prior"], "learned": learned}


def exponent_loss(d: Draw) -> Arguments:
    factors = d.normal(d.n, d.n_classes, d.k).astype(np.float32)
    return {"factors": factors, "labels": d.wide_labels, "weights": d.weights, "exponents": d.rng.random(d.k)}


def grow_trees(d: Draw) -> Arguments:
    n_trees = int(d.rng.integers(0, 4))
    return {
        "codes": d.whole(int(d.rng.choice([2, 5, 254])), (d.n, d.k), "uint8"),
        "categorical": d.whole(2, d.k, "uint8"),
        "labels": d.wide_labels,
        "n_classes": d.n_classes,
        "weights": d.weights,
        "parts": d.whole(2, (n_trees, d.n), "uint8"),
        "seeds": d.rng.integers(0, 2**64, n_trees, dtype=np.uint64),
        "n_tried": int(d.rng.integers(1, 4)),
        "at_random": bool(d.rng.random() < 0.5),
    }


def grown(d: Draw) -> tuple[Arguments, Any]:
    """Rows, some of whose codes are not known, and trees."""
    growing = grow_trees(d)
    trees = kernels.grow_trees(**growing, n_threads=1)
    asked = np.where(d.rng.random(growing["codes"].shape) < 0.05, np.uint8(255), growing["codes"])
    return growing | {"codes": asked}, trees


def count_leaves(d: Draw) -> Arguments:
    growing, trees = grown(d)
    return {name: growing[name] for name in ("codes", "labels", "n_classes", "weights")} | {"trees": trees}


def total_leaves(d: Draw) -> Arguments:
    counting = count_leaves(d)
    return {"trees": counting["trees"], "counts": kernels.count_leaves(**counting, n_threads=1)}


def smooth_leaves(d: Draw) -> Arguments:
    counted_leaves, prior = total_leaves(d), d.rng.random(d.n_classes) + 0.1
    totals = kernels.total_leaves(**counted_leaves, n_threads=1)
    return {"trees": counted_leaves["trees"], "totals": totals, "prior": prior / prior.sum(), "n": float(d.n), "m": 0.5}


def leave_out_leaves(d: Draw) -> Arguments:
    growing, trees = grown(d)
    counting = {name: growing[name] for name in ("codes", "labels", "n_classes", "weights")}
    counts = kernels.count_leaves(**counting, trees=trees, n_threads=1)
    totals, prior = kernels.total_leaves(trees, counts, 1), d.rng.random((d.n, d.n_classes)) + 0.1
    return {
        "codes": growing["codes"],
        "labels": growing["labels"],
        "taken": np.ones(d.n) if growing["weights"] is None else growing["weights"],
        "parts": growing["parts"] if d.rng.random() < 0.5 else None,
        "trees": trees,
        "totals": totals,
        "prior": prior / prior.sum(axis=1, keepdims=True),
        "n": float(d.n),
        "m": 0.5,
    }


def score_leaves(d: Draw) -> Arguments:
    growing, trees = grown(d)
    return {"codes": growing["codes"], "trees": trees, "values": d.rng.random((len(trees[1]), 3), dtype=np.float32)}


def score_line(d: Draw) -> Arguments:
    sizes, n_numbers = d.rng.integers(0, 5, d.k), int(d.rng.integers(0, 4))
    place = np.cumsum([n_numbers, *sizes]).astype(np.int64)
    rows = {"codes": d.whole(6, (d.n, d.k), "uint8"), "place": place, "numbers": d.normal(d.n, n_numbers)}
    return rows | {"coefficients": d.normal(int(place[-1]), d.n_classes)}


def line_loss(d: Draw) -> Arguments:
    return score_line(d) | {"labels": d.wide_labels, "weights": d.weights}


def boost_trees(d: Draw) -> Arguments:
    n_classes, n_folds = max(d.n_classes, 2), int(d.rng.integers(1, 4))
    return {
        "codes": d.whole(int(d.rng.choice([2, 5, 254])), (d.n, d.k), "uint8"),
        "categorical": d.whole(2, d.k, "uint8"),
        "labels": d.wide_labels,
        "weights": d.weights,
        "offset": d.normal(d.n, n_classes),
        "folds": d.whole(n_folds, d.n, "uint8"),
        "n_folds": n_folds,
        "seed": int(d.rng.integers(0, 2**63)),
        "n_tried": int(d.rng.integers(1, 4)),
        "most_rounds": int(d.rng.integers(0, 9)),
        "patience": 3,
    }


GOOD: dict[str, Callable[[Draw], Arguments]] = {
    "add_leaves": score_leaves,
    "boost_trees": boost_trees,
    "count_chains": count_chains,
    "count_leaves": count_leaves,
    "exponent_loss": exponent_loss,
    "grow_trees": grow_trees,
    "learn_backoff": learn_backoff,
    "learn_chains": learn_chains,
    "leave_out_leaves": leave_out_leaves,
    "line_loss": line_loss,
    "score_backoff": score_backoff,
    "score_chains": score_chains,
    "score_leaves": score_leaves,
    "score_line": score_line,
    "smooth_leaves": smooth_leaves,
    "total_leaves": total_leaves,
}

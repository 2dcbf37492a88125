"""Good arguments for the kernels of tables: codes, counts, moments, cuts, scores of rows and cliques of a network."""

from collections.abc import Callable

import numpy as np

from .conftest import INTEGERS, codes, strided
from .draw import Arguments, Draw


def int_ranges(d: Draw) -> Arguments:
    kind = d.rng.choice(INTEGERS)
    matrix = d.rng.integers(0, 2, (max(d.n, 1), d.k)).astype(kind)
    return {"columns": strided(matrix, int(d.rng.integers(0, 4)))}


def lookup_codes(d: Draw) -> Arguments:
    matrix = d.rng.integers(0, 120, (d.n, d.k)).astype(d.rng.choice(INTEGERS[1:]))
    tables = [d.whole(300, int(d.rng.integers(0, 100)), "uint32") for _ in range(d.k)]
    low, unseen = d.rng.integers(-5, 5, d.k), d.whole(400, d.k, "uint32")
    return {"columns": strided(matrix, int(d.rng.integers(0, 4))), "lo": low, "tables": tables, "unseen": unseen}


def factor_strings(d: Draw) -> Arguments:
    cells = np.array(["sun", "rain", "été", "", None, 1.5, "日本", ("a",)], dtype=object)
    return {"cells": cells[d.rng.integers(0, len(cells), d.n)], "most_others": int(d.rng.integers(0, 5))}


def counted(d: Draw) -> Arguments:
    by = {"labels": d.labels, "n_classes": d.n_classes, "weights": d.weights}
    return {"columns": d.columns, "sizes": d.sizes} | by


def count_pairs(d: Draw) -> Arguments:
    return {"columns": d.columns, "sizes": d.sizes, "labels": d.labels, "n_classes": d.n_classes}


def summed(d: Draw) -> Arguments:
    return {"columns": d.numbers, "labels": d.labels, "n_classes": d.n_classes, "weights": d.weights}


def count_responsibilities(d: Draw) -> Arguments:
    return {"columns": d.columns, "sizes": d.sizes, "responsibilities": d.rng.random((d.n, d.n_classes))}


def moments_responsibilities(d: Draw) -> Arguments:
    return {"columns": d.numbers, "responsibilities": d.rng.random((d.n, d.n_classes))}


def hash_numbers(d: Draw) -> Arguments:
    return {"columns": d.numbers, "factors": d.rng.integers(0, 2**64, d.k, dtype=np.uint64)}


def bin_codes(d: Draw) -> Arguments:
    cuts = [np.sort(d.normal(int(d.rng.choice([0, 1, 5, 50, 300])))) for _ in range(d.k)]
    return {"columns": d.numbers, "cuts": cuts}


def frequency_cuts(d: Draw) -> Arguments:
    return {"columns": d.numbers, "intervals": [int(d.rng.integers(1, 40)) for _ in range(d.k)], "tolerance": 1e-9}


def factor_codes(d: Draw) -> Arguments:
    return {"columns": d.columns, "sizes": d.sizes}


def context_codes(d: Draw) -> Arguments:
    nodes = [1, *(int(x) for x in d.rng.integers(1, 5, d.k))]
    steps = [
        d.rng.integers(-1, nodes[i + 1], (nodes[i], size)).astype(np.int32) for i, size in enumerate(d.sizes)
    ]  # fmt: skip
    child = {"child": codes(d.rng, d.n, 3), "child_size": 3}
    return {"parents": d.columns, **child, "steps": steps, "n_nodes": sum(nodes)}


def score_missing(d: Draw) -> Arguments:
    sizes = [int(size) for size in d.rng.integers(3, 6, d.k)]
    above = [d.rng.permutation(j)[: d.rng.integers(0, 3)].astype(np.int64) for j in range(d.k)]
    nodes = [[1, *(int(m) for m in d.rng.integers(1, 4, len(of)))] for of in above]
    steps = [
        [d.rng.integers(-1, n[i + 1], (n[i], sizes[p])).astype(np.int32) for i, p in enumerate(of)]
        for n, of in zip(nodes, above, strict=True)
    ]
    cases = [1 if d.rng.random() < 0.5 else 2 * len(of) + 3 for of in above]
    tables = [
        [-d.rng.exponential(size=(sum(n) * size, d.n_classes)) for _ in range(m)]
        for n, size, m in zip(nodes, sizes, cases, strict=True)
    ]
    gone = [codes(d.rng, d.n, size - 1) for size in sizes] if d.rng.random() < 0.5 else None
    columns = [codes(d.rng, d.n, size) for size in sizes]
    return {
        "columns": columns, "sizes": sizes, "parents": above, "steps": steps, "tables": tables, "gone": gone,
        "scores": d.scores, "most_cells": 10**6,
    }  # fmt: skip


def parents(d: Draw) -> Arguments:
    total = sum(d.sizes)
    tables = [-d.rng.exponential(size=(size * total, d.n_classes)) for size in d.sizes]
    return {"columns": d.columns, "sizes": d.sizes, "tables": tables, "base": d.normal(total, d.n_classes)}


def score_aode(d: Draw) -> Arguments:
    return parents(d) | {"log_weights": d.rng.choice([0.0, 0.7, -np.inf], sum(d.sizes)), "scores": d.scores}


def score_codes(d: Draw) -> Arguments:
    return {"columns": d.columns, "tables": [d.normal(s, d.n_classes) for s in d.sizes], "scores": d.scores}


def score_codes_left_out(d: Draw) -> Arguments:
    tables = [d.normal(d.n_classes, size, d.n_classes) for size in d.sizes]
    return {"columns": d.columns, "tables": tables, "labels": d.labels, "scores": d.scores}


def gaussians(d: Draw, *names: str) -> Arguments:
    return {name: d.rng.random((d.n_classes, d.k)) for name in names}


def score_gaussian(d: Draw) -> Arguments:
    return {"columns": d.numbers, **gaussians(d, "mean", "precision", "constant"), "scores": d.scores}


def score_gaussian_left_out(d: Draw) -> Arguments:
    names = "mean", "precision", "constant", "rate", "own_precision", "own_constant"
    own = {"columns": d.numbers, "labels": d.labels, "least": 0.1, "scores": d.scores}
    return own | gaussians(d, *names)


def best_classes(d: Draw) -> Arguments:
    return {"scores": d.scores, "tolerance": 1e-12}


def judge(d: Draw) -> Arguments:
    return {"scores": d.scores, "labels": d.labels, "tolerance": 1e-12}


def normalize(d: Draw) -> Arguments:
    return {"scores": d.scores, "out": np.empty((d.n, d.n_classes)) if d.rng.random() < 0.5 else None}


def softmax_loss(d: Draw) -> Arguments:
    each = {"scale": d.rng.random(d.n), "importance": d.rng.random(d.n), "labels": d.wide_labels}
    by = {"weights": d.normal(d.k), "bias": d.normal(d.n_classes)}
    return {"features": d.normal(d.n, d.k, d.n_classes)} | each | by


def propagate(d: Draw) -> Arguments:
    size, separator, above = [4], [1], [-1]
    for i in range(d.k):
        separator.append(int(d.rng.choice([1, 2])))
        size.append(separator[-1] * int(d.rng.choice([1, 2, 3])))
        above.append(int(d.rng.integers(0, i + 1)))
    down = [d.whole(s, size[p], "int32") for s, p in zip(separator[1:], above[1:], strict=True)]
    homes = d.rng.integers(0, len(size), 3)
    n_states = [int(d.rng.choice([s for s in (1, 2, 3, 4) if size[h] % s == 0])) for h in homes]
    states = [d.whole(s, size[h], "int32") for s, h in zip(n_states, homes, strict=True)]
    observed, queried = d.rng.integers(0, 3, 2), d.rng.integers(0, 3, int(d.rng.integers(0, 3)))
    tree = {
        "cliques": np.stack([size, above, separator], axis=1).astype(np.int64),
        "potentials": d.rng.random(sum(size)),
        "floors": d.rng.random(len(size)),
        "to_separator": np.concatenate([np.zeros(0, np.int32), *down]),
        "variables": np.stack([homes, n_states], axis=1).astype(np.int64),
        "states": np.concatenate(states),
    }
    likelihoods = d.rng.random((d.n, sum(n_states[v] for v in observed)))
    return tree | {"observed": observed, "likelihoods": likelihoods, "queried": queried}


def learn_structure(d: Draw) -> Arguments:
    sizes = np.array([min(size, 4) for size in d.sizes], dtype=np.int64)
    start = np.triu(d.rng.random((d.k, d.k)) < 0.3, 1).astype(np.uint8)
    most = int(start.sum(axis=0).max(initial=0)) + 1
    search = {"search": str(d.rng.choice(["none", "hill_climb", "tabu", "order", "exact"])), "seed": 3}
    settings = {"tabu_length": 5, "patience": 5, "n_candidates": 3, "n_restarts": 2, "proceed": lambda *_: True}
    return (
        {
            "columns": [d.rng.integers(0, size, d.n).astype(np.uint16) for size in sizes],
            "n_values": sizes,
            "score": str(d.rng.choice(["log_likelihood", "bic", "aic", "bdeu", "k2"])),
            "equivalent_sample_size": 1.0,
            "arcs": np.where(start, 2 - d.rng.integers(0, 2, start.shape), 1).astype(np.uint8),
            "start": start,
            "max_parents": most,
        }
        | search
        | settings
    )


GOOD: dict[str, Callable[[Draw], Arguments]] = {
    "best_classes": best_classes,
    "bin_codes": bin_codes,
    "context_codes": context_codes,
    "count_codes": counted,
    "count_pairs": count_pairs,
    "count_responsibilities": count_responsibilities,
    "factor_codes": factor_codes,
    "factor_strings": factor_strings,
    "frequency_cuts": frequency_cuts,
    "hash_numbers": hash_numbers,
    "int_ranges": int_ranges,
    "judge": judge,
    "learn_structure": learn_structure,
    "lookup_codes": lookup_codes,
    "mdl_cuts": summed,
    "moments": summed,
    "moments_responsibilities": moments_responsibilities,
    "normalize": normalize,
    "propagate": propagate,
    "score_aode": score_aode,
    "score_codes": score_codes,
    "score_codes_left_out": score_codes_left_out,
    "score_gaussian": score_gaussian,
    "score_gaussian_left_out": score_gaussian_left_out,
    "score_missing": score_missing,
    "score_parents": parents,
    "softmax_loss": softmax_loss,
}

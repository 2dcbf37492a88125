"""Good arguments for every kernel, drawn at random: what hostile ones are made from."""

from collections.abc import Callable
from typing import Any

import numpy as np

from bayeskit import kernels
from bayeskit.data.text.unicode import unicode_tables
from bayeskit.kernels.twins.tagging import slot_of
from bayeskit.kernels.twins.tokens import Cut
from bayeskit.kernels.twins.word_lists import packed

from .conftest import CODES, INTEGERS, codes, floats, strided

Arguments = dict[str, Any]
LENGTHS = [0, 1, 2, 7, 130, 300]
WORDS = [
    b"",
    b"a",
    b"game",
    b"The",
    b"\xc3\xa9t\xc3\xa9",
    b"\xce\xa3",
    b"a word of more than fifteen bytes",
    b"\xff\xc3",
    b" ",
    b"!",
]


class Draw:
    """Shapes and numbers of one call."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.n = int(self.rng.choice(LENGTHS))
        self.k = int(self.rng.integers(0, 6))
        self.n_classes = int(self.rng.choice([1, 2, 3, 5, 9]))
        self.sizes = [int(s) for s in self.rng.choice([1, 2, 3, 40], self.k)]

    @property
    def threads(self) -> int:
        return int(self.rng.integers(1, 5))

    @property
    def labels(self) -> np.ndarray:
        return codes(self.rng, self.n, self.n_classes)

    @property
    def wide_labels(self) -> np.ndarray:
        return self.rng.integers(0, self.n_classes, self.n).astype(np.uint32)

    @property
    def weights(self) -> np.ndarray | None:
        return self.rng.random(self.n) * 3 if self.rng.random() < 0.5 else None

    @property
    def columns(self) -> list[np.ndarray]:
        return [codes(self.rng, self.n, size) for size in self.sizes]

    @property
    def numbers(self) -> list[np.ndarray]:
        return strided(floats(self.rng, self.n, self.k), int(self.rng.integers(0, 4)))

    @property
    def scores(self) -> np.ndarray:
        return self.normal(self.n, self.n_classes)

    @property
    def documents(self) -> tuple[np.ndarray, np.ndarray]:
        texts = [b" ".join(self.rng.choice(np.array(WORDS, dtype=object), 6)) for _ in range(min(self.n, 40))]
        return packed(texts)

    @property
    def words(self) -> tuple[np.ndarray, np.ndarray]:
        chosen = self.rng.random(len(WORDS)) < 0.6
        return packed(sorted(word for word, is_in in zip(WORDS, chosen, strict=True) if is_in))

    @property
    def cut(self) -> Cut:
        shortest = int(self.rng.integers(1, 4))
        longest, bits = shortest + int(self.rng.integers(0, 3)), int(self.rng.choice([0, 0, 4, 20]))
        return Cut(
            int(self.rng.integers(0, 5)), shortest, longest, bool(self.rng.random() < 0.5), bits, *self.words, TABLES
        )

    def normal(self, *shape: int) -> np.ndarray:
        return self.rng.normal(size=shape)

    def whole(self, below: int, shape: Any, kind: str) -> np.ndarray:
        return self.rng.integers(0, max(below, 1), shape).astype(kind)


TABLES = unicode_tables(np.frombuffer("Σ".encode(), dtype=np.uint8))


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


def summed(d: Draw) -> Arguments:
    return {"columns": d.numbers, "labels": d.labels, "n_classes": d.n_classes, "weights": d.weights}


def count_responsibilities(d: Draw) -> Arguments:
    return {"columns": d.columns, "sizes": d.sizes, "responsibilities": d.rng.random((d.n, d.n_classes))}


def moments_responsibilities(d: Draw) -> Arguments:
    return {"columns": d.numbers, "responsibilities": d.rng.random((d.n, d.n_classes))}


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


def normalise(d: Draw) -> Arguments:
    return {"scores": d.scores, "out": np.empty((d.n, d.n_classes)) if d.rng.random() < 0.5 else None}


def left_out_evidence(d: Draw) -> Arguments:
    lengths = d.rng.integers(0, 5, d.n)
    start, n_words = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), 12
    cells = int(lengths.sum())
    each = {
        "words": d.whole(n_words, cells, "uint32"),
        "counts": 1 + d.whole(9, cells, "uint32"),
        "mass": d.rng.random(cells),
    }
    by = {"class_mass": d.rng.random((n_words, d.n_classes)), "bands": d.whole(8, n_words, "uint8")}
    return {"start": start, **each, "labels": d.wide_labels, **by, "a": 0.5, "both": bool(d.rng.random() < 0.5)}


def left_out_scores(d: Draw) -> Arguments:
    made = left_out_evidence(d)
    del made["both"]
    return made | {"weights": d.normal(2 if d.n_classes > 2 else 1, 9)}


def fit_ridge_logistic(d: Draw) -> Arguments:
    k, n_words = max(d.n_classes, 2), 12
    width = 1 if k == 2 else -(-k // 8) * 8
    lengths = d.rng.integers(0, 5, d.n)
    start, cells = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), int(lengths.sum())
    each = {"words": d.whole(n_words, cells, "uint32"), "values": d.rng.random(cells, np.float32)}
    zeros = {"table": np.zeros((n_words + 1, width), np.float32), "beta": np.zeros((d.n, width), np.float32)}
    by = {"offsets": d.normal(d.n, width).astype(np.float32), "labels": d.whole(k, d.n, "uint32")}
    run = {"visited": d.rng.permutation(d.n)[: d.n // 2 + 1], "seed": 7, "stop": 0.05, "most_rounds": 4}
    return {"start": start, **each, **by, "costs": 30 * d.rng.random(d.n, np.float32), "n_classes": k, **zeros, **run}


def softmax_loss(d: Draw) -> Arguments:
    each = {"scale": d.rng.random(d.n), "importance": d.rng.random(d.n), "labels": d.wide_labels}
    by = {"weights": d.normal(d.k), "bias": d.normal(d.n_classes)}
    return {"features": d.normal(d.n, d.k, d.n_classes)} | each | by


def text_alphabet(d: Draw) -> Arguments:
    return {"data": d.documents[0]}


def token_rows(d: Draw) -> Arguments:
    known = kernels.WordIndex(*d.words) if d.rng.random() < 0.5 else None
    data, offsets = d.documents
    return {"data": data, "offsets": offsets, "cut": d.cut, "known": known, "in_order": bool(d.rng.random() < 0.5)}


def token_classes(d: Draw) -> Arguments:
    data, offsets = d.documents
    labels = codes(d.rng, len(offsets) - 1, d.n_classes)
    return {"data": data, "offsets": offsets, "labels": labels, "n_classes": d.n_classes, "cut": d.cut}


def union_words(d: Draw) -> Arguments:
    (a, a_offsets), (b, b_offsets) = d.words, d.words
    return {"a_data": a, "a_offsets": a_offsets, "b_data": b, "b_offsets": b_offsets}


def word_index(d: Draw) -> Arguments:
    data, offsets = d.words
    return {"data": data, "offsets": offsets}


def score_rows(d: Draw) -> Arguments:
    lengths = d.rng.integers(0, 5, d.n)
    indptr, cells, n_words = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), int(lengths.sum()), 12
    each = {"ids": d.whole(n_words, cells, "int32"), "values": d.normal(cells)}
    return {"indptr": indptr, **each, "table": d.normal(n_words, d.n_classes), "scores": d.scores}


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
            free = (int(slot_of(np.array([state]))[0]) + np.arange(slots)) % slots
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


def tokens_of_documents(d: Draw, n_words: int) -> Arguments:
    lengths = d.rng.integers(0, 9, min(d.n, 40))
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return {"start": start, "words": d.whole(n_words, int(start[-1]), "uint32")}


def sample_topics(d: Draw) -> Arguments:
    n_topics, n_words = int(d.rng.choice([1, 2, 9, 128, 140])), int(d.rng.choice([1, 3, 12]))
    tokens = tokens_of_documents(d, n_words)
    base = d.whole(3, (n_words, n_topics), "int32") if d.rng.random() < 0.3 else None
    prior = {"n_words": n_words, "base": base, "alpha": d.rng.random(n_topics) + 0.01, "beta": 0.05}
    run = {"seed": int(d.rng.integers(2**32)), "sweep": 3, "n_sweeps": 2, "n_shards": int(d.rng.integers(1, 5))}
    topics = d.whole(n_topics, len(tokens["words"]), "uint16")
    return tokens | {"topics": topics} | prior | run | {"exact": bool(d.rng.random() < 0.5)}


def topic_histograms(d: Draw) -> Arguments:
    tokens = tokens_of_documents(d, 1)
    return {"start": tokens["start"], "topics": d.whole(5, len(tokens["words"]), "uint16"), "n_topics": 5}


def topics_given(d: Draw) -> Arguments:
    n_topics, n_words = int(d.rng.choice([1, 2, 9, 30])), 12
    likelihood = np.zeros((n_words, -(-n_topics // 8) * 8), np.float32)
    likelihood[:, :n_topics] = d.rng.random((n_words, n_topics))
    by = {"likelihood": likelihood, "alpha": d.rng.random(n_topics) + 0.01, "seed": int(d.rng.integers(2**32))}
    return tokens_of_documents(d, n_words) | by


def fold_in_topics(d: Draw) -> Arguments:
    return topics_given(d) | {"n_sweeps": 3, "burn_in": 1}


def left_to_right(d: Draw) -> Arguments:
    return topics_given(d) | {"n_particles": 2}


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
    learnt = kernels.learn_backoff(**learning, n_threads=1)[1]
    shared = {name: learning[name] for name in ("codes", "sizes", "parents", "columns", "n_classes")}
    return shared | {"learnt": learnt}


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
    learnt = kernels.count_chains(**counting, n_threads=1)[2]
    shared = {"columns": counting["columns"], "sizes": counting["sizes"], "learnt_columns": counting["columns"]}
    return shared | {"n_learnt": float(d.n), "prior": counting["prior"], "learnt": learnt}


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
        "taken": np.ones(d.n) if growing["weights"] is None else np.minimum(growing["weights"], 1.0),
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


def score_line(d: Draw) -> Arguments:
    sizes, n_numbers = d.rng.integers(0, 5, d.k), int(d.rng.integers(0, 4))
    place = np.cumsum([n_numbers, *sizes]).astype(np.int64)
    rows = {"codes": d.whole(6, (d.n, d.k), "uint8"), "place": place, "numbers": d.normal(d.n, n_numbers)}
    return rows | {"coefficients": d.normal(int(place[-1]), d.n_classes)}


def line_loss(d: Draw) -> Arguments:
    return score_line(d) | {"labels": d.wide_labels, "weights": d.weights}


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
    return {"columns": d.numbers, "centre": d.normal(d.k), "shares": d.rng.random((d.n, d.n_classes))}


def k_best_states(d: Draw) -> Arguments:
    return hidden_chain(d) | {"k": int(d.rng.integers(1, 5))}


GOOD: dict[str, Callable[[Draw], Arguments]] = {
    "WordIndex": word_index,
    "add_leaves": score_leaves,
    "best_classes": best_classes,
    "best_states": best_states,
    "best_tags": best_tags,
    "bin_codes": bin_codes,
    "boost_trees": boost_trees,
    "context_codes": context_codes,
    "count_chains": count_chains,
    "count_codes": counted,
    "count_leaves": count_leaves,
    "count_pairs": counted,
    "count_responsibilities": count_responsibilities,
    "count_states": count_states,
    "draw_states": draw_states,
    "exponent_loss": exponent_loss,
    "factor_codes": factor_codes,
    "factor_strings": factor_strings,
    "filter_states": filter_states,
    "fit_ridge_logistic": fit_ridge_logistic,
    "fold_in_topics": fold_in_topics,
    "frequency_cuts": frequency_cuts,
    "grow_trees": grow_trees,
    "int_ranges": int_ranges,
    "judge": judge,
    "k_best_states": k_best_states,
    "learn_backoff": learn_backoff,
    "learn_chains": learn_chains,
    "leave_out_leaves": leave_out_leaves,
    "left_out_evidence": left_out_evidence,
    "left_out_scores": left_out_scores,
    "left_to_right": left_to_right,
    "line_loss": line_loss,
    "lookup_codes": lookup_codes,
    "mdl_cuts": summed,
    "moments": summed,
    "moments_responsibilities": moments_responsibilities,
    "normalise": normalise,
    "propagate": propagate,
    "sample_topics": sample_topics,
    "score_aode": score_aode,
    "score_backoff": score_backoff,
    "score_chains": score_chains,
    "score_codes": score_codes,
    "score_codes_left_out": score_codes_left_out,
    "score_gaussian": score_gaussian,
    "score_gaussian_left_out": score_gaussian_left_out,
    "score_leaves": score_leaves,
    "score_line": score_line,
    "score_parents": parents,
    "score_rows": score_rows,
    "smooth_leaves": smooth_leaves,
    "softmax_loss": softmax_loss,
    "text_alphabet": text_alphabet,
    "token_classes": token_classes,
    "token_rows": token_rows,
    "topic_histograms": topic_histograms,
    "total_leaves": total_leaves,
    "tree_candidates": tree_candidates,
    "union_words": union_words,
    "weigh_numbers": weigh_numbers,
}
ALONE = {
    "WordIndex",
    "factor_codes",
    "factor_strings",
    "fit_ridge_logistic",
    "text_alphabet",
    "topic_histograms",
    "tree_candidates",
    "union_words",
}  # on one thread


def good_arguments(name: str, seed: int) -> Arguments:
    """What this kernel takes, with shapes that fit together."""
    draw = Draw(seed)
    made = GOOD[name](draw)
    return made if name in ALONE else made | {"n_threads": draw.threads}

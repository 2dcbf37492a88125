"""Types of the compiled kernels (native/), written by hand; :mod:`bayeskit.kernels` describes each of them.

`make check` compares names and arguments with the core.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.data.text.tokens import ByClass, Cut, TokenCounts
from bayeskit.typing import Array, Bools, Bytes, Codes, Floats, Ints, Singles

_Ids = NDArray[np.int32]
_UInts = NDArray[np.uint32]
_Hashes = NDArray[np.uint64]
_Seeds = NDArray[np.uint64]
_Topics = NDArray[np.uint16]
_Learned = tuple[Any, ...]
_Moments = tuple[Ints | Floats, Floats, Floats, Floats, Floats, Floats, bool]
_Trees = tuple[Ints, _UInts, _Ids, _Seeds]

class WordIndex:
    def __init__(self, data: Bytes, offsets: Ints) -> None: ...
    def find(self, data: Bytes, offsets: Ints) -> Ints: ...
    def __len__(self) -> int: ...

def text_alphabet(data: Bytes) -> int: ...
def token_rows(
    data: Bytes, offsets: Ints, cut: Cut, known: WordIndex | None, in_order: bool, n_threads: int
) -> TokenCounts: ...
def token_classes(data: Bytes, offsets: Ints, labels: Array, n_classes: int, cut: Cut, n_threads: int) -> ByClass: ...
def hash_texts(data: Bytes, offsets: Ints) -> _Hashes: ...
def union_words(a_data: Bytes, a_offsets: Ints, b_data: Bytes, b_offsets: Ints) -> tuple[Bytes, Ints, Ints, Ints]: ...
def score_rows(
    indptr: Ints,
    ids: _Ids,
    values: Floats,
    table: Floats,
    scores: Floats,
    n_threads: int,
) -> None: ...
def score_words(
    indptr: Ints, ids: _Ids, counts: _Ids, table: Floats, g: float, log_prior: Floats, constant: Floats, n_threads: int
) -> Floats: ...
def score_documents(
    data: Bytes,
    offsets: Ints,
    cut: Cut,
    known: WordIndex,
    table: Floats,
    g: float,
    log_prior: Floats,
    constant: Floats,
    n_threads: int,
) -> Floats: ...
def int_ranges(columns: Sequence[Array], n_threads: int) -> tuple[Ints, Ints]: ...
def lookup_codes(
    columns: Sequence[Array],
    lo: Ints,
    tables: Sequence[_UInts],
    unseen: _UInts,
    n_threads: int,
) -> list[Codes]: ...
def factor_strings(cells: Array, most_others: int) -> tuple[_Ids, Ints] | None: ...
def count_codes(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    labels: Codes,
    n_classes: int,
    weights: Floats | None,
    n_threads: int,
    sets: Sequence[Sequence[int]] | None = None,
) -> list[Array]: ...
def count_responsibilities(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    responsibilities: Floats,
    n_threads: int,
    sets: Sequence[Sequence[int]] | None = None,
) -> list[Floats]: ...
def moments(
    columns: Sequence[Floats], labels: Codes, n_classes: int, weights: Floats | None, n_threads: int
) -> _Moments: ...
def moments_responsibilities(columns: Sequence[Floats], responsibilities: Floats, n_threads: int) -> _Moments: ...
def hash_numbers(columns: Sequence[Floats], factors: _Hashes, n_threads: int) -> _Hashes: ...
def bin_codes(columns: Sequence[Floats], cuts: Sequence[Floats], n_threads: int) -> list[Codes]: ...
def tree_candidates(
    depth: _Ids, weight: Floats, indptr: Ints, states: _Ids, counts: Floats, base: Floats, within: float
) -> tuple[Ints, _Ids, Floats]: ...
def best_tags(
    first: Ints,
    last: Ints,
    starts: Ints,
    states: _Ids,
    scores: Floats,
    pairs: Floats,
    contexts: _Ids,
    indptr: Ints,
    successors: _Ids,
    logs: Floats,
    n_threads: int,
) -> tuple[_Ids, Floats]: ...

class NormalRow:
    def __init__(self, mean: Floats, precision: Floats, constant: Floats) -> None: ...
    def score(self, cells: Sequence[float]) -> tuple[Floats, float]: ...

def filter_states(
    logs: Floats,
    codes: Codes | None,
    labels: Codes | None,
    allowed: Bytes | None,
    normals: tuple[list[Floats], Floats, Floats, Floats, Floats] | None,
    starts: Ints,
    log_start: Floats,
    log_transition: Floats,
    before: Floats | None,
    every: bool,
    n_threads: int,
) -> tuple[Floats, Ints, Floats]: ...
def count_states(
    logs: Floats,
    codes: Codes | None,
    labels: Codes | None,
    allowed: Bytes | None,
    normals: tuple[list[Floats], Floats, Floats, Floats, Floats] | None,
    starts: Ints,
    log_start: Floats,
    log_transition: Floats,
    before: Floats | None,
    after: Floats | None,
    by_row: bool,
    n_threads: int,
) -> tuple[Floats, Ints, Floats, Floats, Floats, Floats]: ...
def weigh_numbers(
    columns: Sequence[Floats], center: Floats, shares: Floats, n_threads: int
) -> tuple[Floats, Floats, Floats]: ...
def best_states(
    logs: Floats,
    codes: Codes | None,
    labels: Codes | None,
    allowed: Bytes | None,
    normals: tuple[list[Floats], Floats, Floats, Floats, Floats] | None,
    starts: Ints,
    log_start: Floats,
    log_transition: Floats,
    before: Floats | None,
    last: int,
    keep: bool,
    n_threads: int,
) -> tuple[Codes | None, Floats, Floats, int]: ...
def draw_states(
    logs: Floats,
    codes: Codes | None,
    labels: Codes | None,
    allowed: Bytes | None,
    normals: tuple[list[Floats], Floats, Floats, Floats, Floats] | None,
    starts: Ints,
    log_start: Floats,
    log_transition: Floats,
    before: Floats | None,
    last: int,
    uniforms: Floats,
    n_threads: int,
) -> tuple[Codes, Floats, int]: ...
def k_best_states(
    logs: Floats,
    codes: Codes | None,
    labels: Codes | None,
    allowed: Bytes | None,
    normals: tuple[list[Floats], Floats, Floats, Floats, Floats] | None,
    starts: Ints,
    log_start: Floats,
    log_transition: Floats,
    k: int,
    n_threads: int,
) -> tuple[Codes, Floats]: ...
def sample_topics(
    start: Ints,
    words: _UInts,
    topics: _Topics,
    n_words: int,
    base: _Ids | None,
    alpha: Floats,
    beta: float,
    seed: int,
    sweep: int,
    n_sweeps: int,
    n_shards: int,
    exact: bool,
    n_threads: int,
) -> _Topics: ...
def topic_histograms(start: Ints, topics: _Topics, n_topics: int) -> tuple[Ints, Ints]: ...
def fold_in_topics(
    start: Ints,
    words: _UInts,
    likelihood: Singles,
    alpha: Floats,
    seed: int,
    n_sweeps: int,
    burn_in: int,
    n_threads: int,
) -> Floats: ...
def left_to_right(
    start: Ints, words: _UInts, likelihood: Singles, alpha: Floats, seed: int, n_particles: int, n_threads: int
) -> Floats: ...
def grow_trees(
    codes: Bytes,
    categorical: Bytes,
    labels: _UInts,
    n_classes: int,
    weights: Floats | None,
    parts: Bytes,
    seeds: _Seeds,
    n_tried: int,
    at_random: bool,
    n_threads: int,
) -> _Trees: ...
def count_leaves(
    codes: Bytes,
    labels: _UInts,
    n_classes: int,
    weights: Floats | None,
    trees: _Trees,
    n_threads: int,
) -> Floats: ...
def total_leaves(trees: _Trees, counts: Floats, n_threads: int) -> Floats: ...
def smooth_leaves(trees: _Trees, totals: Floats, prior: Floats, n: float, m: float, n_threads: int) -> Singles: ...
def leave_out_leaves(
    codes: Bytes,
    labels: _UInts,
    taken: Floats,
    parts: Bytes | None,
    trees: _Trees,
    totals: Floats,
    prior: Floats,
    n: float,
    m: float,
    n_threads: int,
) -> tuple[Floats, Floats]: ...
def score_leaves(codes: Bytes, trees: _Trees, values: Singles, n_threads: int) -> tuple[Floats, Floats]: ...
def add_leaves(codes: Bytes, trees: _Trees, values: Singles, n_threads: int) -> Floats: ...
def boost_trees(
    codes: Bytes,
    categorical: Bytes,
    labels: _UInts,
    weights: Floats | None,
    offset: Floats,
    folds: Bytes,
    n_folds: int,
    seed: int,
    n_tried: int,
    most_rounds: int,
    patience: int,
    n_threads: int,
) -> tuple[Ints, _UInts, _Ids, _Seeds, Singles, Floats]: ...
def score_line(codes: Bytes, place: Ints, numbers: Floats, coefficients: Floats, n_threads: int) -> Floats: ...
def line_loss(
    codes: Bytes,
    place: Ints,
    numbers: Floats,
    labels: _UInts,
    weights: Floats | None,
    coefficients: Floats,
    n_threads: int,
) -> tuple[float, Floats]: ...
def count_pairs(
    columns: Sequence[Codes], sizes: Sequence[int], labels: Codes, n_classes: int, n_threads: int
) -> Ints: ...
def factor_codes(columns: Sequence[Codes], sizes: Sequence[int]) -> tuple[_UInts, Ints]: ...
def context_codes(
    parents: Sequence[Codes],
    child: Codes,
    child_size: int,
    steps: Sequence[_Ids],
    n_nodes: int,
    n_threads: int,
) -> _UInts: ...
def score_aode(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    tables: Sequence[Floats],
    base: Floats,
    log_weights: Floats,
    scores: Floats,
    n_threads: int,
) -> None: ...
def score_parents(
    columns: Sequence[Codes], sizes: Sequence[int], tables: Sequence[Floats], base: Floats, n_threads: int
) -> Floats: ...
def mdl_cuts(
    columns: Sequence[Floats], labels: Codes, n_classes: int, weights: Floats | None, n_threads: int
) -> list[Floats]: ...
def frequency_cuts(
    columns: Sequence[Floats], intervals: Sequence[int], tolerance: float, n_threads: int
) -> list[Floats]: ...
def score_codes(columns: Sequence[Codes], tables: Sequence[Floats], scores: Floats, n_threads: int) -> None: ...
def score_missing(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    parents: Sequence[Ints],
    steps: Sequence[Sequence[_Ids]],
    tables: Sequence[Sequence[Floats]],
    gone: Sequence[Codes] | None,
    scores: Floats,
    most_cells: int,
    n_threads: int,
) -> None: ...
def score_gaussian(
    columns: Sequence[Floats], mean: Floats, precision: Floats, constant: Floats, scores: Floats, n_threads: int
) -> None: ...
def score_codes_left_out(
    columns: Sequence[Codes], tables: Sequence[Floats], labels: Codes, scores: Floats, n_threads: int
) -> None: ...
def score_gaussian_left_out(
    columns: Sequence[Floats],
    labels: Codes,
    mean: Floats,
    precision: Floats,
    constant: Floats,
    rate: Floats,
    own_precision: Floats,
    own_constant: Floats,
    least: float,
    scores: Floats,
    n_threads: int,
) -> Bools: ...
def best_classes(scores: Floats, tolerance: float, n_threads: int) -> Ints: ...
def judge(
    scores: Floats, labels: Codes, tolerance: float, n_threads: int
) -> tuple[Floats, Floats, Ints, Floats, Floats]: ...
def normalize(scores: Floats, n_threads: int, out: Floats | None = None) -> tuple[Floats, Floats]: ...
def left_out_evidence(
    start: Ints,
    words: _UInts,
    counts: _UInts,
    mass: Floats,
    labels: _UInts,
    class_mass: Floats,
    bands: Bytes,
    a: float,
    both: bool,
    n_threads: int,
) -> Floats: ...
def left_out_scores(
    start: Ints,
    words: _UInts,
    counts: _UInts,
    mass: Floats,
    labels: _UInts,
    class_mass: Floats,
    bands: Bytes,
    weights: Floats,
    a: float,
    n_threads: int,
) -> Floats: ...
def softmax_loss(
    features: Floats,
    scale: Floats,
    importance: Floats,
    weights: Floats,
    bias: Floats,
    labels: _UInts,
    n_threads: int,
) -> tuple[float, Floats, Floats]: ...
def fit_ridge_logistic(
    start: Ints,
    words: _UInts,
    values: Singles,
    offsets: Singles,
    labels: _UInts,
    costs: Singles,
    n_classes: int,
    visited: Ints,
    table: Singles,
    beta: Singles,
    seed: int,
    stop: float,
    most_rounds: int,
) -> tuple[Singles, Singles, int]: ...
def propagate(
    cliques: Ints,
    potentials: Floats,
    floors: Floats,
    to_separator: _Ids,
    variables: Ints,
    states: _Ids,
    observed: Ints,
    likelihoods: Floats,
    queried: Ints,
    n_threads: int,
) -> tuple[Floats, Floats, Bools]: ...
def learn_structure(
    columns: Sequence[Array],
    n_values: Ints,
    score: str,
    equivalent_sample_size: float,
    arcs: Array,
    start: Array,
    max_parents: int,
    search: str,
    seed: int,
    tabu_length: int,
    patience: int,
    n_candidates: int,
    n_restarts: int,
    proceed: Callable[[float, float], bool],
) -> tuple[Array, float, int, bool]: ...
def learn_backoff(
    codes: Codes,
    sizes: Ints,
    parents: _Ids,
    columns: Ints,
    labels: _UInts,
    n_classes: int,
    weights: Floats | None,
    asked: Ints,
    n_threads: int,
    m: Floats | None = None,
) -> tuple[Floats, _Learned]: ...
def score_backoff(
    codes: Codes,
    sizes: Ints,
    parents: _Ids,
    columns: Ints,
    n_classes: int,
    learned: _Learned,
    n_threads: int,
) -> Floats: ...
def learn_chains(
    columns: Sequence[Codes | Floats],
    sizes: Ints,
    labels: _UInts,
    n_classes: int,
    weights: Floats | None,
    asked: Ints,
    parts: Bytes,
    candidates: _Ids,
    cuts: Floats,
    prior: Floats,
    n_threads: int,
) -> tuple[Floats, Floats, _Learned]: ...
def count_chains(
    columns: Sequence[Codes | Floats],
    sizes: Ints,
    labels: _UInts,
    n_classes: int,
    weights: Floats | None,
    asked: Ints,
    start: Ints,
    column: _Ids,
    m: Floats,
    cuts: Floats,
    prior: Floats,
    n_threads: int,
) -> tuple[Floats, Floats, _Learned]: ...
def score_chains(
    columns: Sequence[Codes | Floats],
    sizes: Ints,
    learned_columns: Sequence[Codes | Floats],
    n_learned: float,
    prior: Floats,
    learned: _Learned,
    n_threads: int,
) -> tuple[Floats, Floats]: ...
def exponent_loss(
    factors: Singles, labels: _UInts, weights: Floats | None, exponents: Floats, n_threads: int
) -> tuple[float, Floats]: ...

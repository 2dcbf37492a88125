"""The compiled kernels (native/). Types are written by hand; `make check` compares the arguments with the core."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from bayeskit.kernels.twins.backoff import Learnt
from bayeskit.kernels.twins.checks import Codes, Floats, Integers
from bayeskit.kernels.twins.moments import Moments
from bayeskit.kernels.twins.tokens import ByClass, Cut, Rows
from bayeskit.kernels.twins.topics import Singles, Topics, WordIds
from bayeskit.kernels.twins.tree_growth import Trees
from bayeskit.kernels.twins.word_lists import Bytes, Ids, Offsets

class WordIndex:
    def __init__(self, data: Bytes, offsets: Offsets) -> None: ...
    def find(self, data: Bytes, offsets: Offsets) -> npt.NDArray[np.int64]: ...
    def __len__(self) -> int: ...

def text_alphabet(data: Bytes) -> int: ...
def token_rows(
    data: Bytes, offsets: Offsets, cut: Cut, known: WordIndex | None, in_order: bool, n_threads: int
) -> Rows: ...
def token_classes(
    data: Bytes, offsets: Offsets, labels: npt.NDArray[Any], n_classes: int, cut: Cut, n_threads: int
) -> ByClass: ...
def union_words(
    a_data: Bytes, a_offsets: Offsets, b_data: Bytes, b_offsets: Offsets
) -> tuple[Bytes, Offsets, npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
def score_rows(
    indptr: Offsets,
    ids: Ids,
    values: npt.NDArray[np.float64],
    table: npt.NDArray[np.float64],
    scores: npt.NDArray[np.float64],
    n_threads: int,
) -> None: ...
def score_words(
    indptr: Offsets, ids: Ids, counts: Ids, table: Floats, g: float, log_prior: Floats, constant: Floats, n_threads: int
) -> Floats: ...
def score_documents(
    data: Bytes,
    offsets: Offsets,
    cut: Cut,
    known: WordIndex,
    table: Floats,
    g: float,
    log_prior: Floats,
    constant: Floats,
    n_threads: int,
) -> npt.NDArray[np.float64]: ...
def int_ranges(columns: Sequence[Integers], n_threads: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def lookup_codes(
    columns: Sequence[Integers],
    lo: NDArray[np.int64],
    tables: Sequence[NDArray[np.uint32]],
    unseen: NDArray[np.uint32],
    n_threads: int,
) -> list[Codes]: ...
def factor_strings(
    cells: NDArray[np.object_], most_others: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]] | None: ...
def count_codes(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    labels: Codes,
    n_classes: int,
    weights: Floats | None,
    n_threads: int,
) -> list[NDArray[Any]]: ...
def count_responsibilities(
    columns: Sequence[Codes], sizes: Sequence[int], responsibilities: Floats, n_threads: int
) -> list[Floats]: ...
def moments(
    columns: Sequence[Floats], labels: Codes, n_classes: int, weights: Floats | None, n_threads: int
) -> Moments: ...
def moments_responsibilities(columns: Sequence[Floats], responsibilities: Floats, n_threads: int) -> Moments: ...
def bin_codes(columns: Sequence[Floats], cuts: Sequence[Floats], n_threads: int) -> list[Codes]: ...
def tree_candidates(
    depth: Ids, weight: Floats, indptr: Offsets, states: Ids, counts: Floats, base: Floats, within: float
) -> tuple[Offsets, Ids, Floats]: ...
def best_tags(
    first: Offsets,
    last: Offsets,
    starts: Offsets,
    states: Ids,
    scores: Floats,
    pairs: Floats,
    contexts: Ids,
    indptr: Offsets,
    successors: Ids,
    logs: Floats,
    n_threads: int,
) -> tuple[Ids, Floats]: ...

class NormalRow:
    def __init__(self, mean: Floats, precision: Floats, constant: Floats) -> None: ...
    def score(self, cells: Sequence[float]) -> tuple[Floats, float]: ...

def filter_states(
    logs: Floats,
    codes: Codes | None,
    labels: Codes | None,
    allowed: npt.NDArray[np.uint8] | None,
    normals: tuple[list[Floats], Floats, Floats, Floats, Floats] | None,
    starts: Offsets,
    log_start: Floats,
    log_transition: Floats,
    before: Floats | None,
    every: bool,
    n_threads: int,
) -> tuple[Floats, Offsets, Floats]: ...
def count_states(
    logs: Floats,
    codes: Codes | None,
    labels: Codes | None,
    allowed: npt.NDArray[np.uint8] | None,
    normals: tuple[list[Floats], Floats, Floats, Floats, Floats] | None,
    starts: Offsets,
    log_start: Floats,
    log_transition: Floats,
    before: Floats | None,
    after: Floats | None,
    by_row: bool,
    n_threads: int,
) -> tuple[Floats, Offsets, Floats, Floats, Floats, Floats]: ...
def weigh_numbers(
    columns: Sequence[Floats], centre: Floats, shares: Floats, n_threads: int
) -> tuple[Floats, Floats, Floats]: ...
def best_states(
    logs: Floats,
    codes: Codes | None,
    labels: Codes | None,
    allowed: npt.NDArray[np.uint8] | None,
    normals: tuple[list[Floats], Floats, Floats, Floats, Floats] | None,
    starts: Offsets,
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
    allowed: npt.NDArray[np.uint8] | None,
    normals: tuple[list[Floats], Floats, Floats, Floats, Floats] | None,
    starts: Offsets,
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
    allowed: npt.NDArray[np.uint8] | None,
    normals: tuple[list[Floats], Floats, Floats, Floats, Floats] | None,
    starts: Offsets,
    log_start: Floats,
    log_transition: Floats,
    k: int,
    n_threads: int,
) -> tuple[Codes, Floats]: ...
def sample_topics(
    start: Offsets,
    words: WordIds,
    topics: Topics,
    n_words: int,
    base: npt.NDArray[np.int32] | None,
    alpha: Floats,
    beta: float,
    seed: int,
    sweep: int,
    n_sweeps: int,
    n_shards: int,
    exact: bool,
    n_threads: int,
) -> Topics: ...
def topic_histograms(start: Offsets, topics: Topics, n_topics: int) -> tuple[Offsets, Offsets]: ...
def fold_in_topics(
    start: Offsets,
    words: WordIds,
    likelihood: Singles,
    alpha: Floats,
    seed: int,
    n_sweeps: int,
    burn_in: int,
    n_threads: int,
) -> Floats: ...
def left_to_right(
    start: Offsets, words: WordIds, likelihood: Singles, alpha: Floats, seed: int, n_particles: int, n_threads: int
) -> Floats: ...
def grow_trees(
    codes: NDArray[np.uint8],
    categorical: NDArray[np.uint8],
    labels: NDArray[np.uint32],
    n_classes: int,
    weights: Floats | None,
    parts: NDArray[np.uint8],
    seeds: NDArray[np.uint64],
    n_tried: int,
    at_random: bool,
    n_threads: int,
) -> Trees: ...
def count_leaves(
    codes: NDArray[np.uint8],
    labels: NDArray[np.uint32],
    n_classes: int,
    weights: Floats | None,
    trees: Trees,
    n_threads: int,
) -> Floats: ...
def total_leaves(trees: Trees, counts: Floats, n_threads: int) -> Floats: ...
def smooth_leaves(
    trees: Trees, totals: Floats, prior: Floats, n: float, m: float, n_threads: int
) -> NDArray[np.float32]: ...
def leave_out_leaves(
    codes: NDArray[np.uint8],
    labels: NDArray[np.uint32],
    taken: Floats,
    parts: NDArray[np.uint8] | None,
    trees: Trees,
    totals: Floats,
    prior: Floats,
    n: float,
    m: float,
    n_threads: int,
) -> tuple[Floats, Floats]: ...
def score_leaves(
    codes: NDArray[np.uint8], trees: Trees, values: NDArray[np.float32], n_threads: int
) -> tuple[Floats, Floats]: ...
def add_leaves(codes: NDArray[np.uint8], trees: Trees, values: NDArray[np.float32], n_threads: int) -> Floats: ...
def boost_trees(
    codes: NDArray[np.uint8],
    categorical: NDArray[np.uint8],
    labels: NDArray[np.uint32],
    weights: Floats | None,
    offset: Floats,
    folds: NDArray[np.uint8],
    n_folds: int,
    seed: int,
    n_tried: int,
    most_rounds: int,
    patience: int,
    n_threads: int,
) -> tuple[
    NDArray[np.int64], NDArray[np.uint32], NDArray[np.int32], NDArray[np.uint64], NDArray[np.float32], Floats
]: ...
def score_line(
    codes: NDArray[np.uint8], place: NDArray[np.int64], numbers: Floats, coefficients: Floats, n_threads: int
) -> Floats: ...
def line_loss(
    codes: NDArray[np.uint8],
    place: NDArray[np.int64],
    numbers: Floats,
    labels: NDArray[np.uint32],
    weights: Floats | None,
    coefficients: Floats,
    n_threads: int,
) -> tuple[float, Floats]: ...
def count_pairs(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    labels: Codes,
    n_classes: int,
    weights: Floats | None,
    n_threads: int,
) -> NDArray[Any]: ...
def factor_codes(columns: Sequence[Codes], sizes: Sequence[int]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
def context_codes(
    parents: Sequence[Codes],
    child: Codes,
    child_size: int,
    steps: Sequence[NDArray[np.int32]],
    n_nodes: int,
    n_threads: int,
) -> NDArray[np.uint32]: ...
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
) -> NDArray[np.bool_]: ...
def best_classes(scores: Floats, tolerance: float, n_threads: int) -> NDArray[np.int64]: ...
def judge(
    scores: Floats, labels: Codes, tolerance: float, n_threads: int
) -> tuple[Floats, Floats, NDArray[np.int64], Floats, Floats]: ...
def normalise(scores: Floats, n_threads: int, out: Floats | None = None) -> tuple[Floats, Floats]: ...
def left_out_evidence(
    start: NDArray[np.int64],
    words: NDArray[np.uint32],
    counts: NDArray[np.uint32],
    mass: Floats,
    labels: NDArray[np.uint32],
    class_mass: Floats,
    bands: NDArray[np.uint8],
    a: float,
    both: bool,
    n_threads: int,
) -> Floats: ...
def left_out_scores(
    start: NDArray[np.int64],
    words: NDArray[np.uint32],
    counts: NDArray[np.uint32],
    mass: Floats,
    labels: NDArray[np.uint32],
    class_mass: Floats,
    bands: NDArray[np.uint8],
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
    labels: NDArray[np.uint32],
    n_threads: int,
) -> tuple[float, Floats, Floats]: ...
def fit_ridge_logistic(
    start: NDArray[np.int64],
    words: NDArray[np.uint32],
    values: Singles,
    offsets: Singles,
    labels: NDArray[np.uint32],
    costs: Singles,
    n_classes: int,
    visited: NDArray[np.int64],
    table: Singles,
    beta: Singles,
    seed: int,
    stop: float,
    most_rounds: int,
) -> tuple[Singles, Singles, int]: ...
def propagate(
    cliques: NDArray[np.int64],
    potentials: Floats,
    floors: Floats,
    to_separator: NDArray[np.int32],
    variables: NDArray[np.int64],
    states: NDArray[np.int32],
    observed: NDArray[np.int64],
    likelihoods: Floats,
    queried: NDArray[np.int64],
    n_threads: int,
) -> tuple[Floats, Floats, NDArray[np.bool_]]: ...
def k_means(
    rows: Floats, first: NDArray[np.int64], uniforms: Floats, max_rounds: int, tolerance: float, n_threads: int
) -> tuple[Floats, NDArray[np.uint32], float]: ...
def learn_backoff(
    codes: Codes,
    sizes: NDArray[np.int64],
    parents: NDArray[np.int32],
    columns: NDArray[np.int64],
    labels: NDArray[np.uint32],
    n_classes: int,
    weights: Floats | None,
    asked: NDArray[np.int64],
    n_threads: int,
    m: Floats | None = None,
) -> tuple[Floats, Learnt]: ...
def score_backoff(
    codes: Codes,
    sizes: NDArray[np.int64],
    parents: NDArray[np.int32],
    columns: NDArray[np.int64],
    n_classes: int,
    learnt: Learnt,
    n_threads: int,
) -> Floats: ...
def learn_chains(
    columns: Sequence[Codes | Floats],
    sizes: NDArray[np.int64],
    labels: NDArray[np.uint32],
    n_classes: int,
    weights: Floats | None,
    asked: NDArray[np.int64],
    parts: NDArray[np.uint8],
    candidates: NDArray[np.int32],
    cuts: Floats,
    prior: Floats,
    n_threads: int,
) -> tuple[Floats, Floats, Learnt]: ...
def count_chains(
    columns: Sequence[Codes | Floats],
    sizes: NDArray[np.int64],
    labels: NDArray[np.uint32],
    n_classes: int,
    weights: Floats | None,
    asked: NDArray[np.int64],
    start: NDArray[np.int64],
    column: NDArray[np.int32],
    m: Floats,
    cuts: Floats,
    prior: Floats,
    n_threads: int,
) -> tuple[Floats, Floats, Learnt]: ...
def score_chains(
    columns: Sequence[Codes | Floats],
    sizes: NDArray[np.int64],
    learnt_columns: Sequence[Codes | Floats],
    n_learnt: float,
    prior: Floats,
    learnt: Learnt,
    n_threads: int,
) -> tuple[Floats, Floats]: ...
def exponent_loss(
    factors: NDArray[np.float32], labels: NDArray[np.uint32], weights: Floats | None, exponents: Floats, n_threads: int
) -> tuple[float, Floats]: ...

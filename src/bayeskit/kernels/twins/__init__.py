"""The kernels in NumPy, one file for each of native/ and named alike: oracle of the compiled ones in the tests,
stand-in where there is no compiler.

A *code column* is a contiguous array of uint8, uint16 or uint32: 0 is a missing cell, 1..V are values.
Labels are class codes 0..C-1 in the same types. Number columns may be strided views. All columns of one
call have the same length. ``n_threads`` is checked and otherwise not used here.
"""

from bayeskit.kernels.twins.aode import score_aode, score_parents
from bayeskit.kernels.twins.backoff import learn_backoff, score_backoff
from bayeskit.kernels.twins.bins import bin_codes
from bayeskit.kernels.twins.chains import count_chains, learn_chains, score_chains
from bayeskit.kernels.twins.counting import count_codes, count_responsibilities
from bayeskit.kernels.twins.cuts import mdl_cuts
from bayeskit.kernels.twins.exponents import exponent_loss
from bayeskit.kernels.twins.integers import int_ranges, lookup_codes
from bayeskit.kernels.twins.joints import context_codes, count_pairs, factor_codes
from bayeskit.kernels.twins.junction import propagate
from bayeskit.kernels.twins.left_out import score_gaussian_left_out
from bayeskit.kernels.twins.moments import moments, moments_responsibilities
from bayeskit.kernels.twins.scoring import (
    best_classes,
    judge,
    normalise,
    score_codes,
    score_codes_left_out,
    score_gaussian,
)
from bayeskit.kernels.twins.strings import factor_strings
from bayeskit.kernels.twins.tokens import text_alphabet, token_classes, token_rows
from bayeskit.kernels.twins.word_evidence import left_out_evidence, softmax_loss
from bayeskit.kernels.twins.word_lists import WordIndex, score_rows, union_words

__all__ = [
    "best_classes",
    "bin_codes",
    "context_codes",
    "count_chains",
    "count_codes",
    "count_pairs",
    "count_responsibilities",
    "exponent_loss",
    "factor_codes",
    "factor_strings",
    "int_ranges",
    "judge",
    "learn_backoff",
    "learn_chains",
    "left_out_evidence",
    "lookup_codes",
    "mdl_cuts",
    "moments",
    "moments_responsibilities",
    "normalise",
    "propagate",
    "score_aode",
    "score_backoff",
    "score_chains",
    "score_codes",
    "score_codes_left_out",
    "score_gaussian",
    "score_gaussian_left_out",
    "score_parents",
    "score_rows",
    "softmax_loss",
    "text_alphabet",
    "token_classes",
    "token_rows",
    "union_words",
    "WordIndex",
]

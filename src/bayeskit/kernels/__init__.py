"""The kernels: plain functions on arrays, compiled where the compiled core is there, else in NumPy.

This is the one place that imports the core. What each function does stands, with an example, at its twin
in `bayeskit.kernels.twins`. The environment variable ``BAYESKIT_KERNELS=twins`` asks for the NumPy ones, and
``BAYESKIT_KERNELS=portable`` for compiled ones without the instructions that only newer machines have;
the compiled results are the same bits either way.

>>> import numpy as np
>>> codes, labels = np.array([1, 2, 1], dtype=np.uint8), np.array([0, 0, 1], dtype=np.uint8)
>>> count_codes([codes], [3], labels, 2, None, 1)[0].tolist()
[[0, 1, 1], [0, 1, 0]]
"""

import os
import warnings
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayeskit._core import *  # noqa: F403

# ruff: noqa: F405
__all__ = [  # the one list: core and twins both have these names
    "NATIVE",
    "NormalRow",
    "add_leaves",
    "best_classes",
    "best_states",
    "best_tags",
    "bin_codes",
    "boost_trees",
    "context_codes",
    "count_chains",
    "count_codes",
    "count_leaves",
    "count_pairs",
    "count_responsibilities",
    "count_states",
    "draw_states",
    "exponent_loss",
    "factor_codes",
    "factor_strings",
    "filter_states",
    "fit_ridge_logistic",
    "fold_in_topics",
    "frequency_cuts",
    "grow_trees",
    "int_ranges",
    "judge",
    "k_best_states",
    "k_means",
    "learn_backoff",
    "learn_chains",
    "leave_out_leaves",
    "left_out_evidence",
    "left_out_scores",
    "left_to_right",
    "line_loss",
    "lookup_codes",
    "mdl_cuts",
    "moments",
    "moments_responsibilities",
    "normalise",
    "propagate",
    "sample_topics",
    "score_aode",
    "score_backoff",
    "score_chains",
    "score_codes",
    "score_codes_left_out",
    "score_documents",
    "score_gaussian",
    "score_gaussian_left_out",
    "score_leaves",
    "score_line",
    "score_parents",
    "score_rows",
    "score_words",
    "smooth_leaves",
    "softmax_loss",
    "text_alphabet",
    "token_classes",
    "token_rows",
    "topic_histograms",
    "total_leaves",
    "tree_candidates",
    "union_words",
    "weigh_numbers",
    "WordIndex",
]


def _chosen() -> str:
    """The module that does the work: the compiled core where it is there and wanted."""
    if os.environ.get("BAYESKIT_KERNELS") == "twins":
        return "bayeskit.kernels.twins"
    try:
        return import_module("bayeskit._core").__name__
    except ImportError:
        warnings.warn(
            "bayeskit runs without its compiled core: the results are the same, but slower to come. "
            "To get it, install bayeskit again where there is a C++20 compiler "
            "(pip install --force-reinstall --no-cache-dir bayeskit); "
            "BAYESKIT_KERNELS=twins in the environment silences this.",
            UserWarning,
            stacklevel=3,
        )
        return "bayeskit.kernels.twins"


_home = import_module(_chosen())
NATIVE: bool = _home.__name__ == "bayeskit._core"
globals().update({name: getattr(_home, name) for name in __all__ if name != "NATIVE"})
